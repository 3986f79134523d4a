"""Makes the start of supply that messages of a contract wait for.

When an entry is lost, all that belongs to its contract waits. The start is deduced: its contract from the reference
that the waiting messages bear, its instant from the first day of the contract where one of them states it, else from
the earliest of them. A start that did arrive and was refused is not replaced by one of ours: that one is to be
corrected. Where an earlier contract still runs, its end is missing too and has to be made first.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time

from energycomm.correction.cases import APPLIED, Case
from energycomm.correction.deduced import head, whole_day
from energycomm.correction.script import Create, Parameter, Script, Selection
from energycomm.kernel.counting import counted
from energycomm.kernel.instants import instant, local_day, micros
from energycomm.kernel.messages import AccessPointData, ContractTerms, KernelMessage, StartOfSupply

SCRIPT = Script(
    title="Create a missing start of supply",
    selection=Selection(waits_for=("StartOfSupply",)),
    parameters=(
        Parameter(
            name="supplier", help="supplier from then on; that of the waiting messages or the receiver", default=""
        ),
        Parameter(name="event", help="the market's code of the event; its usual entry", default=""),
    ),
    automatic=True,
)


def correct(case: Case, parameters: Mapping[str, str]) -> Create | None:
    """The start that the message waits for, once a contract: from the earliest message that waits."""
    reference = case.message.contract_reference
    waiting = case.around.awaiting("StartOfSupply")
    if any((one.at, one.id) < (case.at, case.id) and one.message.contract_reference == reference for one in waiting):
        return None
    fellows = [one for one in waiting if one.message.contract_reference == reference]
    starts = case.around.of("StartOfSupply")
    if any(one.message.contract_reference == reference for one in starts if reference or one.state not in APPLIED):
        return None
    if reference is None and any(one.message.contract_reference for one in waiting):
        return None
    ended = max((one.at for one in case.around.of("EndOfSupply") if one.at <= case.at), default=None)
    if any(one.state not in APPLIED and (ended or one.at) <= one.at <= case.at for one in starts):
        return None  # under another reference, perhaps, but it did arrive
    since = [one.message for one in fellows] + [case.message]
    words = case.adapter.entry
    at = whole_day(case.zone, _begin(case, since, ended), words)
    points = [one for one in [*since, *(other.message for other in case.around)] if isinstance(one, AccessPointData)]
    supplier = parameters["supplier"] or _stated([one.supplier for one in points]) or case.message.receiver
    event = {"market_reason": parameters["event"]} if parameters["event"] else {}
    message = StartOfSupply(
        **head(case.message, words, at, "start") | event,
        reason="move-in",
        contract_reference=reference,
        supplier=supplier,
        balance_responsible=_stated([one.balance_responsible for one in points]) or supplier,
        contract_start=local_day(case.zone, micros(at)),
    )
    return Create(
        message, f"start of contract {reference or '(unnamed)'} deduced from {counted(len(since), 'waiting message')}"
    )


def _begin(case: Case, since: list[KernelMessage], ended: int | None) -> datetime:
    """The first instant of the contract: as stated where that fits, else that of the earliest that needs it."""
    zone = case.message.effective.tzinfo
    earliest = min([case.at, *_orphans(case, ended)])
    stated = [
        datetime.combine(message.contract_start, time(), zone)
        for message in since
        if isinstance(message, ContractTerms) and message.contract_start is not None
    ]
    for begin in stated:
        if micros(begin) <= earliest and (ended is None or micros(begin) >= ended):
            return begin
    return instant(earliest).astimezone(zone)


def _orphans(case: Case, ended: int | None) -> list[int]:
    """Instants of refused measures that name no contract and lie after the end of the one before."""
    return [
        one.at
        for one in case.around
        if ended is not None and one.state == "rejected" and one.message.contract_reference is None and one.at > ended
    ]


def _stated(values: list[str | None]) -> str | None:
    return next((value for value in values if value), None)
