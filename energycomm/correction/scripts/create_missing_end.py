"""Makes the end of supply that the start of the next contract waits for.

A contract ends at the latest when the next one of the same supplier at the same access point begins: one supply period
at a time. The real end may have been earlier; the note says that it is deduced.
"""

from __future__ import annotations

from collections.abc import Mapping

from energycomm.correction.cases import APPLIED, Case
from energycomm.correction.script import Create, Script, Selection
from energycomm.kernel.messages import EndOfSupply

EXIT = {"FR": ("C15", "RES")}
"""Market -> message type and event of an exit that says no more than that supply ends."""

SCRIPT = Script(
    title="Create a missing end of supply",
    selection=Selection(kinds=("StartOfSupply",), waits_for=("EndOfSupply",)),
    automatic=True,
)


def correct(case: Case, parameters: Mapping[str, str]) -> Create | None:
    """The end of the contract that still runs when the waiting one begins."""
    starts = [one for one in case.around if one.kind == "StartOfSupply" and one.at < case.at]
    running = [one for one in starts if one.state in APPLIED]
    if not running:
        return None
    reference = running[-1].message.contract_reference
    ends = [one for one in case.around if one.kind == "EndOfSupply"]
    if any(one.message.contract_reference == reference for one in ends):
        return None
    market_type, event = EXIT.get(case.message.market, (case.message.market_type, case.message.market_reason))
    message = EndOfSupply(
        market=case.message.market,
        energy=case.message.energy,
        market_type=market_type,
        market_reason=event,
        reason="termination",
        reference=f"deduced end {case.identifier} {reference or ''}".strip(),
        created=case.message.effective,
        effective=case.message.effective,
        access_point=case.identifier,
        contract_reference=reference,
        sender=case.message.sender,
        receiver=case.message.receiver,
        sender_role=case.message.sender_role,
        receiver_role=case.message.receiver_role,
        grid_operator=case.message.grid_operator,
        contract_end=case.message.effective,
        contract_status="terminated",
    )
    return Create(message, f"end of contract {reference or '(unnamed)'} deduced from the start of the next one")
