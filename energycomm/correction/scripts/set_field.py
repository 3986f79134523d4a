"""Sets, or removes, one field of the messages that an error code refuses.

For a value that is plainly wrong in many messages at once: a misspelt code, a unit, a stray attribute. The field is
named as in rules (`market_reason`, `power_unit`), the value as in Kernel JSON; an empty value removes the field. The
market should be asked to send the messages again all the same. It is never proposed: which value is right a person has
to know.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from energycomm.correction.cases import Case
from energycomm.correction.script import Modify, Parameter, Script, Selection
from energycomm.kernel.codec import decode_json, encode_json
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage

FIELDS = tuple(sorted({name for kind in KINDS.values() for name in kind.__struct_fields__}))
"""Every field that a message of some kind has."""

SCRIPT = Script(
    title="Set or remove one field",
    selection=Selection(states=("rejected", "ticketed", "delegated"), code_from="code"),
    parameters=(
        Parameter(name="code", help="error code of the messages"),
        Parameter(name="field", help="field of a Kernel message: market_reason", known=FIELDS),
        Parameter(name="value", help="its new value as JSON writes it, quotes left out; empty removes it", default=""),
        Parameter(name="only_if", help="touch it only where it has this value now", default=""),
    ),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The message with the field set."""
    name, value = parameters["field"], parameters["value"]
    if name not in type(case.message).__struct_fields__:
        return None
    content = msgspec.json.decode(encode_json(case.message))
    before = content.pop(name, None)
    if parameters["only_if"] and str(before) != parameters["only_if"]:
        return None
    for found in _readings(value):
        changed = decode_json(msgspec.json.encode(content | ({name: found} if value else {})))
        if isinstance(changed, KernelMessage):
            return Modify(changed, f"{name}: {before} -> {value or 'removed'}") if changed != case.message else None
    raise ValueError(f"{name} cannot be {value!r}")


def _readings(value: str) -> tuple[object, ...]:
    """A text as itself, and as the number or truth value that it may be."""
    try:
        return value, msgspec.json.decode(value)
    except msgspec.DecodeError:
        return (value,)
