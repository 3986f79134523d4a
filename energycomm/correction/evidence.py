"""The error class of a stuck message, with the evidence found in the history of its access point."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from energycomm.correction.cases import APPLIED, Case, Found, Neighbour
from energycomm.kernel.counting import counted
from energycomm.kernel.family import FUNCTION_RANK, KINDS, RANK
from energycomm.kernel.instants import local_day
from energycomm.kernel.messages import KernelMessage, MeasureSeries, MeteredVolume, MeterReading
from energycomm.kernel.verdicts import ErrorClass
from energycomm.texts import wording

WIDESPREAD = 5
"""A rule that refuses one and the same value at so many access points may itself be wrong."""


EXPLAINS: Mapping[str, tuple[str, ...]] = {"CO-R07": ("CO-R05",)}
"""Error code -> codes that follow from it: an index in the wrong unit is below the one before, too."""

_PRECEDENCE: tuple[ErrorClass, ...] = ("grid_operator", "missing", "ordering", "product")


class Evidence(Struct, frozen=True):
    """One reason to think that a message is stuck through a fault of a class.

    Attributes:
      error_class: grid_operator, ordering, missing, product (ours).
      words: what was found.
      message_id: the message that shows it, where there is one.
    """

    error_class: ErrorClass
    words: str
    message_id: int | None = None


Widespread = Mapping[tuple[str, str | None], int]
"""(rule, value refused) -> at how many access points."""


def evidence_of(case: Case, widespread: Widespread | None = None) -> tuple[Evidence, ...]:
    """All evidence about a stuck message, the strongest first; its class is that of the first.

    Args:
      case: the message with what is around it.
      widespread: how often each rule refuses each value.
    """
    found: list[Evidence] = []
    if case.state == "engine_error":
        found.append(Evidence("product", case.why or wording("a rule broke")))
    found += _refused_with_it(case)
    if case.waits_for is not None:
        found += _missing(case, case.waits_for)
    found += _orphan(case)
    # Its codes stand beside the evidence wherever that is shown; which of its fields they are about does not.
    found += _declared(
        [one for one in case.findings if one.severity == "error"], _field, wording("refused for its {0}")
    )
    found += _out_of_order(case)
    found += _refused_everywhere(case, widespread or {})
    return tuple(dict.fromkeys(found))


def _refused_with_it(case: Case) -> list[Evidence]:
    """Another Kernel message of the same CH message is refused, and that is why this one is stuck: it waits for that
    one, or is refused for a part of the same errors. What the market sends again is the CH message."""
    awaited, codes = (case.waits_for or "").split(" ")[0], set(case.codes)
    found: list[Evidence] = []
    for one in case.companions:
        theirs = {finding.code for finding in one.findings}
        if theirs and (one.kind == awaited or (codes and codes < theirs)):
            found += _declared(
                one.findings, lambda two: two.code, wording("its {1} is refused by {0}"), one.id, one.kind
            )
    return found


def _missing(case: Case, waits_for: str) -> list[Evidence]:
    """What it waits for is nowhere, or came and was refused."""
    kind = waits_for.split()[0]
    # An original is of the kind and the instant of what corrects it.
    likely = case.around.of(kind) if kind in KINDS else case.around.of(case.kind, case.at)
    refused = [one for one in likely if _is_predecessor(one, kind, case)]
    if not refused:
        return [Evidence("missing", f"no {waits_for} has arrived")]
    return [Evidence("missing", f"{waits_for} has arrived and is not accepted", refused[0].id)]


def _is_predecessor(one: Neighbour, kind: str, case: Case) -> bool:
    if one.state in APPLIED:
        return False
    if kind not in KINDS:  # an original reading or volume
        return one.message.market_type == case.message.market_type and one.message.function == "original"
    if kind == "EndOfSupply":  # of the contract that runs, not of the one that waits
        return _ends_running(one, case)
    reference = case.message.contract_reference
    return reference is None or one.message.contract_reference == reference


def _ends_running(one: Neighbour, case: Case) -> bool:
    starts = [other for other in case.around.of("StartOfSupply") if other.state in APPLIED]
    running = [other for other in starts if other.at <= case.at]
    if not running:
        return False
    last = running[-1]
    return one.at > last.at and one.message.contract_reference in (None, last.message.contract_reference)


def _orphan(case: Case) -> list[Evidence]:
    """A measure that names no contract, while a contract's messages around it wait for their start."""
    measure = isinstance(case.message, MeterReading | MeteredVolume | MeasureSeries)
    if not measure or case.state == "quarantined" or case.message.contract_reference is not None:
        return []
    waiting = case.around.awaiting("StartOfSupply")
    return [Evidence("missing", "a contract whose start is missing would cover it", waiting[0].id)] if waiting else []


def _field(found: Found) -> str:
    return re.sub(r"\[\d+\]", "", found.field)


def _declared(
    errors: Sequence[Found], told: Callable[[Found], str], words: str, message_id: int | None = None, kind: str = ""
) -> list[Evidence]:
    """What the rules that refuse it say. A message with a mistake of the grid operator's is his to send again,
    whatever else is found in it; that our rules are wrong is the last thing to think."""
    named: dict[str, list[str]] = {}
    explained = {known for one in errors for known in EXPLAINS.get(one.code, ())}
    for one in errors:
        if one.code not in explained:
            named.setdefault(one.error_class, []).append(told(one))
    return [
        Evidence(name, words.format(", ".join(dict.fromkeys(named[name])), kind), message_id)
        for name in _PRECEDENCE
        if name in named
    ]


def _out_of_order(case: Case) -> list[Evidence]:
    """It arrived before messages that come before it in business order."""
    if not any(one.error_class == "ordering" for one in case.findings):
        return []
    mine = _order(case.message, case.at)
    for one in case.around:
        if one.received_at > case.received_at and one.at <= case.at and _order(one.message, one.at) < mine:
            day = local_day(case.zone, one.at)
            return [Evidence("ordering", f"it came before the {one.kind} of {day} that precedes it", one.id)]
    return []


def _order(message: KernelMessage, at: int) -> tuple[int, int, int]:
    return at, RANK.get(type(message).__name__, 99), FUNCTION_RANK[message.function]


def _refused_everywhere(case: Case, widespread: Widespread) -> list[Evidence]:
    found = []
    for one in case.findings:
        points = widespread.get((one.rule, one.value), 0)
        if one.severity == "error" and one.value is not None and points >= WIDESPREAD:
            shown = counted(points, "access point")
            found.append(Evidence("product", f"{one.code} refuses {one.field} = {one.value[:40]!r} at {shown}"))
    return found
