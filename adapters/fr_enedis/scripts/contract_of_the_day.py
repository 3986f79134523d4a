"""Names the contract that a message belongs to where it names none.

One supply runs at a time: what is measured, or changes, at an instant belongs to the contract that runs then. Where no
supply of ours runs then, nothing is done: the message is not ours, or its start is missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from energycomm.correction.cases import Case
from energycomm.correction.neighbours import supply_at
from energycomm.correction.script import Modify, Script, Selection

SCRIPT = Script(
    title="Name the contract that runs",
    selection=Selection(by_rules=True),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The message with the reference of the running contract."""
    start = supply_at(case)
    if case.message.contract_reference is not None or start is None or start.contract_reference is None:
        return None
    reference = start.contract_reference
    return Modify(structs.replace(case.message, contract_reference=reference), f"contract {reference} runs then")
