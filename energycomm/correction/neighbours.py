"""Questions about the accepted messages around a stuck one, for correction scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from energycomm.correction.cases import APPLIED, Case, Neighbour
from energycomm.kernel.codec import decode_json, encode_json
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage, MeterReading, StartOfSupply
from energycomm.kernel.parts import Register
from energycomm.kernel.registers import WH_PER_UNIT, register_key
from energycomm.kernel.shape import items_of
from energycomm.kernel.verdicts import Refusal

_M = TypeVar("_M", bound=KernelMessage)


def accepted(case: Case, kind: type[_M], *, upto: int | None = None) -> list[_M]:
    """The accepted messages of a kind around a stuck one, in business time.

    Args:
      case: the stuck message.
      kind: which kind.
      upto: only those effective at or before this instant, microseconds since the epoch.
    """
    return [
        one.message
        for one in case.around
        if one.kind == kind.__name__ and one.state in APPLIED and (upto is None or one.at <= upto)
        if isinstance(one.message, kind)
    ]


def supply_at(case: Case) -> StartOfSupply | None:
    """The start of the supply that runs when the stuck message takes effect; None when none does."""
    running: StartOfSupply | None = None
    for one in case.around:
        if one.state not in APPLIED or one.at > case.at:
            continue
        if one.kind == "StartOfSupply" and isinstance(one.message, StartOfSupply):
            running = one.message
        elif one.kind == "EndOfSupply" and one.at < case.at:
            running = None
    return running


def indexes(case: Case, *, after: bool = False) -> dict[str, Register]:
    """The register of the accepted reading next to a stuck one, by what makes registers the same.

    Args:
      case: the stuck reading.
      after: those of the readings that follow, instead of those before.
    """
    found: dict[str, Register] = {}
    sides = [one for one in case.around if (one.at > case.at if after else one.at < case.at)]
    for one in reversed(sides) if after else sides:
        if one.kind != "MeterReading" or one.state not in APPLIED:
            continue
        if isinstance(one.message, MeterReading) and one.message.function != "cancel":
            found |= {register_key(register): register for register in one.message.registers}
    return found


def finest(register: Register) -> int | None:
    """An index in the finest unit of its kind; None when its unit is no unit of energy or volume."""
    return None if register.unit not in WH_PER_UNIT else register.value * WH_PER_UNIT[register.unit]


def nearest(case: Case, wanted: Callable[[Neighbour], Any]) -> Any:
    """What a question finds in the accepted message nearest in time, those before first; None when in none."""
    usable = [one for one in case.around if one.state in APPLIED]
    before = [one for one in reversed(usable) if one.at <= case.at]
    for one in [*before, *(one for one in usable if one.at > case.at)]:
        found = wanted(one)
        if found is not None:
            return found
    return None


def content_of(message: KernelMessage) -> dict[str, Any]:
    """A message as plain values, as Kernel JSON writes them, to be changed and given to `rebuilt`."""
    found: dict[str, Any] = msgspec.json.decode(encode_json(message))
    return found


def rebuilt(content: Mapping[str, Any]) -> KernelMessage:
    """The message of plain values.

    Raises:
      ValueError: they are none of a message.
    """
    message = decode_json(msgspec.json.encode(content))
    if isinstance(message, Refusal) or not isinstance(message, KernelMessage):
        raise ValueError(str(message))
    return message


def change_texts(content: dict[str, Any], fields: set[str], change: Callable[[str], str]) -> bool:
    """Change the texts of fields, named as findings name them (`contract_reference`, `register.time_class`).

    Args:
      content: of a message, from `content_of`; changed.
      fields: names of fields; all texts of the message when empty.
      change: what becomes of a text.

    Returns:
      Whether something changed.
    """
    places: list[tuple[dict[str, Any], str]] = []
    items = items_of(KINDS[content["kind"]])
    for name, value in content.items():
        if name in ("kind", "created", "effective"):
            continue
        if not fields or name in fields:
            places.append((content, name))
        prefix = items.get(name, name)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                places += [(part, inner) for inner in part if not fields or f"{prefix}.{inner}" in fields]
    changed = False
    for holder, name in places:
        value = holder[name]
        if isinstance(value, str) and (new := change(value)) != value:
            holder[name] = new
            changed = True
    return changed
