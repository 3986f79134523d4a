"""Fills a missing field with the value of the last accepted message of the access point.

For fields that do not change by themselves: the tariff and power of a contract whose terms came incomplete, the balance
responsible party of an entry, the number of the meter in a reading. A value of the past may have been overtaken: read
the differences before you run it, and let the market send what it left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from energycomm.correction.cases import Case, Neighbour
from energycomm.correction.neighbours import nearest
from energycomm.correction.script import Modify, Parameter, Script, Selection
from energycomm.kernel.messages import MeterData

TOGETHER = {"subscribed_power": ("power_unit",), "power_unit": ("subscribed_power",)}
"""Field -> others that mean nothing without it, filled with it where they are missing too."""

NEVER = frozenset(("contract_reference", "access_point", "reference", "correlation", "sequence", "previous_reference"))
"""Fields that say which message this is."""

SCRIPT = Script(
    title="Fill missing fields from the history",
    selection=Selection(states=("rejected", "ticketed", "delegated")),
    parameters=(Parameter(name="field", help="fill this field only; every missing one that is refused", default=""),),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The message with the missing fields filled."""
    names = type(case.message).__struct_fields__
    refused = [one.field for one in case.findings if one.severity == "error" and one.error_class == "missing"]
    wanted = [name for name in dict.fromkeys(refused) if name in names and name not in NEVER]
    if parameters["field"]:
        wanted = [name for name in wanted if name == parameters["field"]]
    wanted += [other for name in wanted for other in TOGETHER.get(name, ())]
    filled: dict[str, Any] = {}
    for name in wanted:
        value = getattr(case.message, name) if name not in filled else filled[name]
        if value is None and (found := _known(case, name)) is not None:
            filled[name] = found
    if not filled:
        return None
    note = ", ".join(f"{name} = {value}" for name, value in filled.items())
    return Modify(structs.replace(case.message, **filled), f"filled from the history: {note}"[:400])


def _known(case: Case, name: str) -> Any:
    """The value in the nearest accepted message: of the same kind, else of any kind that has the field."""

    def same(one: Neighbour) -> Any:
        return getattr(one.message, name, None) if one.kind == case.kind else None

    def other(one: Neighbour) -> Any:
        gone = isinstance(one.message, MeterData) and one.message.action == "removed"
        return None if gone else getattr(one.message, name, None)

    found = nearest(case, same)
    return found if found is not None else nearest(case, other)
