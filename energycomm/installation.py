"""An installation of several suppliers as a whole: their configurations, of which no two share anything."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from energycomm.config import Config, load_all
from energycomm.errors import UserError
from energycomm.transport.settings import FolderSetting, PushSetting


def load_apart() -> tuple[Config, dict[str, Config]]:
    """The configuration of the installation and those of its suppliers, as `energycomm.config.load_all`.

    Raises:
      UserError: a value is wrong, or two suppliers share a folder, a key or a port; every such place is listed.
    """
    installation, suppliers = load_all()
    wrong = []
    for (one, its), (other, theirs) in combinations(suppliers.items(), 2):
        held = dict(_places(theirs))
        for what, place in _places(its):
            for again, same in held.items():
                if _meet(place, same):
                    wrong.append(f"{what} of {one} and {again} of {other}: {place}")
    if wrong:
        lines = "".join(f"\n  {line}" for line in wrong)
        raise UserError(f"Two suppliers share what each must have for itself.{lines}\n", "See docs/suppliers.md.")
    return installation, suppliers


def _places(config: Config) -> Iterator[tuple[str, Path | str]]:
    """Where a supplier's data and secrets are: folders and files, environment variables, ports; each with its name."""
    folder = config.folder.resolve()
    yield "spool", config.spool_folder.resolve()
    yield "archive of [retention]", config.archive_folder.resolve()
    if config.notify.folder is not None:
        yield "folder of [notify]", (folder / config.notify.folder).resolve()
    if any(isinstance(channel, PushSetting) for channel in config.channels) and config.push.serve and config.push.port:
        yield "port of [push]", f"{config.push.host}:{config.push.port}"
    for channel in config.channels:
        if isinstance(channel, FolderSetting):
            yield f"channel {channel.name}", (folder / channel.path).resolve()
    for key in config.keys:
        if key.key_file is not None:
            yield f"key {key.label}", (folder / key.key_file).resolve()
        if key.key_env is not None:
            yield f"key {key.label}", key.key_env


def _meet(one: Path | str, other: Path | str) -> bool:
    """Whether two places are the same, or one is inside the other."""
    if isinstance(one, Path) and isinstance(other, Path):
        return one.is_relative_to(other) or other.is_relative_to(one)
    return one == other
