"""Sets, or removes, one field of the messages that an error code refuses.

For a value that is plainly wrong in many messages at once: a misspelt code, a unit, a stray attribute. The field is
named as in rules (`market_reason`, `power_unit`), the value as in Kernel JSON; an empty value removes the field. The
market should be asked to send the messages again all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from energycomm.correction.cases import APPLIED, Case
from energycomm.correction.script import Modify, Parameter, Script, Selection
from energycomm.kernel.codec import decode_json, encode_json
from energycomm.kernel.messages import KernelMessage

NEVER_SUGGESTED = frozenset(
    ("access_point", "contract_reference", "reference", "correlation", "request_reference", "sender", "receiver")
)
"""Fields that say which message this is and whose: no value of another message is right for them."""

NEARLY_ALL = 0.8
"""Share of the accepted messages that must agree on a value before it is suggested."""

SCRIPT = Script(
    title="Set or remove one field",
    selection=Selection(states=("rejected", "ticketed", "delegated")),
    parameters=(
        Parameter(name="code", help="error code of the messages"),
        Parameter(name="field", help="name of the field: market_reason"),
        Parameter(name="value", help="its new value as JSON writes it, quotes left out; empty removes it", default=""),
        Parameter(name="only_if", help="touch it only where it has this value now", default=""),
    ),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The message with the field set."""
    name, value = parameters["field"], parameters["value"]
    if parameters["code"] not in case.codes or name not in type(case.message).__struct_fields__:
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


def suggest(cases: Sequence[Case]) -> list[dict[str, str]]:
    """For the field that most findings name: the value that nearly all accepted messages have, and none at all."""
    refused: Counter[tuple[str, str, str]] = Counter()
    for case in cases:
        for one in case.findings:
            own = one.field in type(case.message).__struct_fields__ and one.field not in NEVER_SUGGESTED
            if own and one.severity == "error" and getattr(case.message, one.field) is not None:
                refused[one.code, one.field, str(getattr(case.message, one.field))] += 1
    found = []
    for (code, field, value), _ in refused.most_common(1):
        known = Counter(_accepted_values(cases, field))
        usual = [there for there, number in known.most_common(1) if number >= NEARLY_ALL * known.total()]
        found = [{"code": code, "field": field, "value": new, "only_if": value} for new in (*usual, "") if new != value]
    return found


def _accepted_values(cases: Sequence[Case], field: str) -> Iterator[str]:
    """What the accepted messages of the same kind around each of the cases have in a field."""
    for case in cases:
        for one in case.around:
            if one.state in APPLIED and one.kind == case.kind:
                value = getattr(one.message, field, None)
                if value is not None:
                    yield str(value)
