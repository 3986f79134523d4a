"""The table of settings in docs/configuration.md, from the configuration's own declaration."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from energycomm.commands.config import shown
from energycomm.config import PREFIX, Config, KeySetting
from energycomm.tracker_settings import TrackerSetting
from energycomm.transport.settings import KINDS, ChannelSetting

_TABLES = {name: type(one.default) for name, one in Config.model_fields.items() if isinstance(one.default, BaseModel)}
"""Settings that have tables of their own."""

SECTIONS = {*_TABLES, "keys", "channels", "trackers"}


def reference() -> str:
    """The settings as Markdown: name, environment variable, default, meaning; then the tables."""
    defaults = Config.model_construct()
    lines = ["| setting | environment | default | meaning |", "|---|---|---|---|"]
    for name, field in Config.model_fields.items():
        default = "see below" if name in SECTIONS else _default(defaults, name)
        lines.append(f"| `{name}` | `{PREFIX}{name.upper()}` | {default} | {_meaning(field)} |")
    for name, model in _TABLES.items():
        lines += ["", f"`[{name}]` (environment: `{PREFIX}{name.upper()}__...`):", "", *_table(model)]
    lines += ["", "`[[keys]]`, one entry a key:", "", *_table(KeySetting)]
    lines += ["", "`[[trackers]]`, one entry a tracker of tickets:", "", *_table(TrackerSetting)]
    lines += ["", "`[[channels]]`, one entry a channel; every kind has these:", "", *_table(ChannelSetting)]
    for kind_model in KINDS:
        kind = get_args(kind_model.model_fields["kind"].annotation)[0]
        lines += [
            "",
            f'`[[channels]]` of `kind = "{kind}"`: {kind_model.__doc__}',
            "",
            *_table(kind_model, ChannelSetting),
        ]
    return "\n".join(lines) + "\n"


def _default(defaults: Config, name: str) -> str:
    if name == "rules":
        return "the shipped rules"
    value: Any = shown(defaults, name)
    return f"`{value}`" if value not in ([], "", None) else "none"


def _table(model: type[BaseModel], but: type[BaseModel] | None = None) -> list[str]:
    """The settings of a model, but those that another has already."""
    lines = ["| setting | default | meaning |", "|---|---|---|"]
    for name, field in model.model_fields.items():
        if but is not None and (name == "kind" or name in but.model_fields):
            continue
        empty = field.default is None or field.default in ((), {})
        default = "required" if field.is_required() else "none" if empty else f"`{field.default}`"
        lines.append(f"| `{name}` | {default} | {_meaning(field)} |")
    return lines


def _meaning(field: FieldInfo) -> str:
    words = field.description or ""
    if get_origin(field.annotation) is Literal:
        words += " One of " + ", ".join(f"`{choice}`" for choice in get_args(field.annotation)) + "."
    return words
