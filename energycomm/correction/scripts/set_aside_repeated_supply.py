"""Sets aside a repeated start or end of supply.

A supply that runs cannot begin again, and one that has ended cannot end again. When the repeated message is of the
same contract and the same supplier, it says nothing new: it is set aside, with its reason, and can be taken back. A
start that names another supplier is left to a person.
"""

from __future__ import annotations

from collections.abc import Mapping

from energycomm.correction.cases import APPLIED, Case
from energycomm.correction.neighbours import supply_at
from energycomm.correction.script import Script, Selection, SetAside
from energycomm.kernel.messages import StartOfSupply

SCRIPT = Script(
    title="A start or end of supply that is repeated",
    selection=Selection(by_rules=True, kinds=("StartOfSupply", "EndOfSupply")),
)


def correct(case: Case, parameters: Mapping[str, str]) -> SetAside | None:
    """Set it aside where the history has its contract's start, or end, already."""
    message = case.message
    running = supply_at(case)
    if isinstance(message, StartOfSupply):
        if running is None or running.contract_reference != message.contract_reference:
            return None
        if message.supplier not in (None, running.supplier):
            return None
        return SetAside(f"the supply has run since {running.effective.astimezone(case.zone):%Y-%m-%d}")
    ends = [
        one
        for one in case.around
        if one.kind == "EndOfSupply"
        and one.state in APPLIED
        and one.at <= case.at
        and one.message.contract_reference == message.contract_reference
    ]
    if not ends or (running is not None and running.contract_reference == message.contract_reference):
        return None
    return SetAside(f"the supply ended on {ends[-1].message.effective.astimezone(case.zone):%Y-%m-%d}")
