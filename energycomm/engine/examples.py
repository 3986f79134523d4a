"""Examples of rules: words turned into whole messages and histories."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from datetime import date
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from energycomm.kernel.family import KINDS
from energycomm.kernel.history import History, RegisterFacts
from energycomm.kernel.messages import KernelMessage

_NEUTRAL: dict[str, Any] = {
    "unit": "kWh",
    "currency": "EUR",
    "month": "2024-01",
    "time_class": "BASE",
    "reference": "EXAMPLE-1",
    "market_type": "EXAMPLE",
    "quantity": "1",
    "value": "1",
    "resolution": "30",
}
"""What a required field holds in an example that does not state it."""

DAY = date(2024, 1, 15)


class ExampleError(Exception):
    """An example that is no message: the reason, and what to change."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice


def example_message(
    content: Mapping[str, Any], kind: str, market: str, since: date | None, until: date | None
) -> KernelMessage:
    """A whole message of the fields that an example states; other required fields are filled neutrally.

    Args:
      content: stated fields, texts as written; lists of parts as lists of mappings.
      kind: the message kind.
      market: the market to put where none is stated.
      since: first day of the rule; the default effective day lies within its validity.
      until: last day of the rule.

    Raises:
      ExampleError: a field is unknown or its value is not of its type.
    """
    cls = KINDS[kind]
    day = DAY
    if since is not None and day < since:
        day = since
    if until is not None and day > until:
        day = until
    stated = dict(content)
    stated.setdefault("market", market)
    instant = stated.get("effective", f"{day}T00:00:00+01:00")
    stated.setdefault("effective", instant)
    stated.setdefault("created", instant)
    message: KernelMessage = _convert(_completed(stated, cls, ""), cls)
    return message


def example_history(content: Mapping[str, Any]) -> History:
    """The facts that an example states.

    Raises:
      ExampleError: a fact is unknown or its value is not of its type.
    """
    stated = dict(content)
    registers = stated.get("registers")
    if isinstance(registers, list):
        stated["registers"] = [_completed(item, RegisterFacts, "registers.") for item in registers]
    history: History = _convert(_completed(stated, History, "history."), History)
    return history


def _completed(stated: Any, struct: type[msgspec.Struct], where: str) -> Any:
    if not isinstance(stated, dict):
        raise ExampleError(
            f"{where.rstrip('.') or struct.__name__} is no mapping of fields", "Write `field: value` lines."
        )
    unknown = [name for name in stated if name not in struct.__struct_fields__]
    if unknown:
        import difflib

        close = [difflib.get_close_matches(name, struct.__struct_fields__, n=2) for name in unknown]
        meant = [" or ".join(names) for names in close if names]
        advice = f"Did you mean {', '.join(meant)}?" if meant else f"{struct.__name__} has no such field."
        told = ", ".join(f"{where}{name}" for name in unknown)
        raise ExampleError(f"the example states an unknown field {told}", advice)
    full: dict[str, Any] = {}
    for name, hint, required in _layout(struct):
        if name in stated:
            full[name] = _nested(stated[name], hint, f"{where}{name}.")
        elif required:
            full[name] = _neutral(name, hint)
    return full


@cache
def _layout(struct: type[msgspec.Struct]) -> tuple[tuple[str, Any, bool], ...]:
    """Name, annotation and necessity of every field of a structure."""
    hints = typing.get_type_hints(struct)
    return tuple((field.name, hints[field.name], field.required) for field in msgspec.structs.fields(struct))


def _nested(value: Any, hint: Any, where: str) -> Any:
    struct = _struct_in(hint)
    if struct is None or value is None:
        return value
    if isinstance(value, list):
        return [_completed(item, struct, where) for item in value]
    return _completed(value, struct, where)


def _struct_in(hint: Any) -> type[msgspec.Struct] | None:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint
    for inner in get_args(hint):
        found = _struct_in(inner)
        if found is not None:
            return found
    return None


def _neutral(name: str, hint: Any) -> Any:
    if name in _NEUTRAL:
        return _NEUTRAL[name]
    if get_origin(hint) is Literal:
        return get_args(hint)[0]
    if get_origin(hint) in (Union, types.UnionType):
        return _neutral(name, get_args(hint)[0])
    return {bool: "true", str: "X", date: DAY.isoformat()}.get(hint, "1")


def _convert(content: Any, cls: type[Any]) -> Any:
    try:
        return msgspec.convert(content, cls, strict=False)
    except msgspec.ValidationError as error:
        raise ExampleError(f"the example is no {cls.__name__}: {error}", "Correct the field's value.") from None
