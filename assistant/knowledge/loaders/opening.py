"""Which loader reads a place that somebody named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from assistant.config import AssistantConfig
from assistant.knowledge.loaders.contract import Loader
from assistant.knowledge.loaders.folder import Facts, FolderLoader
from assistant.knowledge.loaders.rules import RuleLoader, is_catalogue
from energycomm.errors import UserError
from energycomm.masking import conceal

EIS, REMOTES = "eis", "remotes"


def open_loaders(place: str, config: AssistantConfig, facts: Facts, source: str | None = None) -> Iterator[Loader]:
    """The loaders of a place.

    Args:
      place: a folder or file, `eis`, or `remotes`.
      config: names the remote sources.
      facts: what is known of all documents of the place.
      source: name of the source; made from the place when None.

    Raises:
      UserError: there is no such place.
    """
    path = Path(place)
    if place == EIS and not path.exists():
        from assistant.knowledge.loaders.eis import EisLoader
        from energycomm.config import load

        yield EisLoader(load(), source or EIS)
    elif place == REMOTES and not path.exists():
        yield from _remotes(config)
    elif not path.exists():
        raise UserError(f"There is no folder {place}.", "Name a folder or file that exists, `eis` or `remotes`.")
    else:
        yield _local(path, facts, source)


def _local(path: Path, facts: Facts, source: str | None) -> Loader:
    if path.is_dir() and is_catalogue(path):
        return RuleLoader(path, source or "rules")
    from assistant.knowledge.loaders.confluence import ConfluenceExport, is_confluence_export
    from assistant.knowledge.loaders.jira import JiraExport, is_jira_export

    if is_confluence_export(path):
        return ConfluenceExport(path, source, facts)
    if is_jira_export(path):
        return JiraExport(path, source, facts)
    return FolderLoader(path, source, facts)


def _remotes(config: AssistantConfig) -> Iterator[Loader]:
    from assistant.knowledge.loaders.confluence import ConfluenceLoader
    from assistant.knowledge.loaders.drive import DriveLoader
    from assistant.knowledge.loaders.jira import JiraLoader

    if not config.remotes:
        raise UserError("assistant.toml names no remote source.", "See docs/assistant.md, Remote sources.")
    for remote in config.remotes:
        token = conceal(os.environ.get(remote.token_env, "") if remote.token_env else "")
        if remote.kind == "confluence":
            yield ConfluenceLoader(remote.url, remote.scope, user=remote.user, token=token)
        elif remote.kind == "jira":
            yield JiraLoader(remote.url, remote.scope, user=remote.user, token=token)
        else:
            yield DriveLoader(remote.scope, token=token, url=remote.url or None)
