"""Gives an entry with the reference of an ended contract the reference that its other messages have.

Who comes back to an access point gets a new contract reference. When the entry repeats the old one, it is refused, what
came with it is refused as coming after the exit, and everything that bears the new reference waits for a start. The new
reference is read from what waits; where two references wait, nothing is done.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from energycomm.correction.cases import APPLIED, Case, Neighbour
from energycomm.correction.script import Modify, Script, Selection
from energycomm.kernel.messages import StartOfSupply

SCRIPT = Script(
    title="An entry under the reference of an ended contract",
    selection=Selection(by_rules=True),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The message under the reference of those that wait for the entry."""
    old = case.message.contract_reference
    entered = _entry(case)
    if old is None or entered is None or not _ended(case, old, entered):
        return None
    waiting = {
        one.message.contract_reference
        for one in case.around
        if one.at >= entered and one.state not in APPLIED and (one.waits_for or "").startswith("StartOfSupply")
    } - {None, old}
    if len(waiting) != 1:
        return None
    (new,) = waiting
    return Modify(structs.replace(case.message, contract_reference=new), f"contract {old} ended: {new} waits for it")


def _entry(case: Case) -> int | None:
    """When the refused entry took effect that the message came with: its own instant, or that of one around it."""
    if isinstance(case.message, StartOfSupply):
        return case.at
    entries = [one for one in case.around if _is_refused_entry(one, case) and one.at <= case.at]
    return entries[-1].at if entries else None


def _is_refused_entry(one: Neighbour, case: Case) -> bool:
    same = one.message.contract_reference == case.message.contract_reference
    return one.kind == "StartOfSupply" and one.state not in APPLIED and same


def _ended(case: Case, reference: str, before: int) -> bool:
    return any(
        one.kind == "EndOfSupply"
        and one.state in APPLIED
        and one.at <= before
        and one.message.contract_reference == reference
        for one in case.around
    )
