"""Moves a milestone with a wrong time behind the milestone before it.

The milestones of a request are numbered, and each bears the time of the system that wrote it. When two systems disagree
by minutes, the later number has the earlier time and the earlier number is refused. It is put a second before the first
accepted one with a higher number, where the two are no further apart than the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from msgspec import structs

from energycomm.correction.cases import APPLIED, Case
from energycomm.correction.script import Parameter, Reorder, Script, Selection
from energycomm.kernel.messages import RequestStatus

SCRIPT = Script(
    title="Milestones in the order of their numbers",
    selection=Selection(by_rules=True, kinds=("RequestStatus",)),
    parameters=(Parameter(name="minutes", help="how far apart clocks may be", default="120"),),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Reorder | None:
    """The milestone before the one that overtook it."""
    message, most = case.message, timedelta(minutes=int(parameters["minutes"]))
    assert isinstance(message, RequestStatus)
    if message.milestone is None:
        return None
    later = [
        one.message.effective
        for one in case.around
        if isinstance(one.message, RequestStatus)
        and one.state in APPLIED
        and one.message.request == message.request
        and (one.message.milestone or 0) > message.milestone
        and one.message.effective <= message.effective
    ]
    if not later or message.effective - min(later) > most:
        return None
    at = min(later) - timedelta(seconds=1)
    return Reorder(structs.replace(message, effective=at), f"milestone {message.milestone} before the next one")
