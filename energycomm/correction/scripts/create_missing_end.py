"""Makes the end of supply that the start of the next contract waits for.

A contract ends at the latest when the next one of the same supplier at the same access point begins: one supply period
at a time. The real end may have been earlier; the note says that it is deduced.
"""

from __future__ import annotations

from collections.abc import Mapping

from energycomm.correction.cases import APPLIED, Case
from energycomm.correction.deduced import head, whole_day
from energycomm.correction.script import Create, Script, Selection
from energycomm.kernel.messages import EndOfSupply

SCRIPT = Script(
    title="Create a missing end of supply",
    selection=Selection(kinds=("StartOfSupply",), waits_for=("EndOfSupply of the running",)),
    automatic=True,
)


def correct(case: Case, parameters: Mapping[str, str]) -> Create | None:
    """The end of the contract that still runs when the waiting one begins."""
    starts = [one for one in case.around if one.kind == "StartOfSupply" and one.at < case.at]
    running = [one for one in starts if one.state in APPLIED]
    if not running:
        return None
    last = running[-1]
    reference = last.message.contract_reference
    ends = [one for one in case.around if one.kind == "EndOfSupply" and (reference is not None or one.at > last.at)]
    if any(one.message.contract_reference == reference for one in ends):
        return None
    words = case.adapter.exit
    at = whole_day(case.zone, case.message.effective, words)
    message = EndOfSupply(
        **head(case.message, words, at, "end"),
        reason="termination",
        contract_reference=reference,
        contract_end=at,
        contract_status="terminated",
    )
    return Create(message, f"end of contract {reference or '(unnamed)'} deduced from the start of the next one")
