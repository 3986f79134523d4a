"""Stuck messages in groups: number, first date, invoices that wait, error class and evidence."""

# ruff: noqa: S608 - statements are put together from words of our own, never from values

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct, structs
from sqlalchemy import Engine

from energycomm.correction.cases import STUCK, Case, Found, by_point, read_cases, stuck_ids
from energycomm.correction.evidence import WIDESPREAD, Evidence, evidence_of
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.kernel.instants import instant, local_day, micros
from energycomm.kernel.messages import GridCharge, GridInvoice, MeteredVolume, MeterReading
from energycomm.market.installed import Markets

Dimension = Literal["code", "codes", "access-point", "rule", "grid_operator", "type", "kind", "age", "class", "state"]

DAY = 86_400_000_000

AGES = ((1, "today"), (7, "this week"), (30, "this month"), (90, "three months"))
"""(days, words) of the groups by age; older ones are `older`."""


class Judged(Struct, frozen=True):
    """A stuck message with the evidence about it."""

    case: Case
    evidence: tuple[Evidence, ...]

    @property
    def error_class(self) -> str:
        """The class of the strongest evidence."""
        return self.evidence[0].error_class if self.evidence else "product"

    @property
    def classes(self) -> tuple[str, ...]:
        """Every class that there is evidence for."""
        return tuple(dict.fromkeys(one.error_class for one in self.evidence))


class Group(Struct, frozen=True, kw_only=True):
    """Stuck messages that have something in common.

    Attributes:
      key: what they have in common.
      messages: how many.
      occurrences: findings of severity error among them; of the code or rule only when grouped by one.
      access_points: at how many access points.
      oldest: when the first of them arrived.
      invoices: what cannot be checked or drawn because of them: grid invoices that they belong to, and access points'
        months with a measure that is stuck.
      classes: error class -> messages with evidence for it.
      evidence: the most frequent evidence, with the number of messages.
      examples: ids of some of them.
    """

    key: str
    messages: int
    occurrences: int
    access_points: int
    oldest: datetime
    invoices: int
    classes: dict[str, int]
    evidence: tuple[tuple[str, int], ...]
    examples: tuple[int, ...]


class Change(Struct, frozen=True, kw_only=True):
    """One group at two dates: messages then and now."""

    key: str
    then: int
    now: int

    @property
    def difference(self) -> int:
        """How many more."""
        return self.now - self.then


def judged_cases(engine: Engine, markets: Markets, at: datetime | None = None) -> list[Judged]:
    """All stuck messages with the evidence about them.

    Args:
      engine: the store.
      markets: the installed ones.
      at: as they stood at this instant; now when None. The history around them is that of today.
    """
    if at is None:
        return list(judging(engine, markets))
    cases = _cases_at(engine, markets, micros(at))
    points: dict[tuple[str, str | None], set[str | None]] = defaultdict(set)
    for case in cases:
        for found in case.findings:
            points[found.rule, found.value].add(case.identifier)
    widespread = {key: len(identifiers) for key, identifiers in points.items()}
    return [Judged(case.alone, evidence_of(case, widespread)) for case in cases]


def judging(engine: Engine, markets: Markets, ids: Sequence[int] | None = None) -> Iterator[Judged]:
    """Stuck messages with the evidence about them, read a slice at a time; what is around them is let go of.

    Args:
      engine: the store.
      markets: the installed ones.
      ids: of the messages; all that are stuck when None.
    """
    with reading(engine) as connection:
        rows = driver_of(connection).rows(_WIDESPREAD, (*STUCK, WIDESPREAD))
    widespread = {(rule, value): points for rule, value, points in rows}
    for some in by_point(engine, stuck_ids(engine) if ids is None else ids, 1, SLICE):
        for case in read_cases(engine, markets, some):
            yield Judged(case.alone, evidence_of(case, widespread))


SLICE = 400
"""Messages that are judged at once, and those of their last access point."""

_WIDESPREAD = (
    "SELECT f.rule, f.value, count(DISTINCT coalesce(k.access_point_id, 0)) FROM finding f "
    "JOIN kernel_message k ON k.id = f.message_id "
    f'WHERE f."current" AND f.value IS NOT NULL AND k.state IN ({", ".join("?" * len(STUCK))}) '
    "AND NOT EXISTS (SELECT 1 FROM kernel_message o WHERE o.corrects = k.id AND o.state <> 'withdrawn') "
    "GROUP BY f.rule, f.value HAVING count(DISTINCT coalesce(k.access_point_id, 0)) >= ?"
)
"""What a rule refuses at many access points: (rule, value, access points)."""


def _cases_at(engine: Engine, markets: Markets, at: int) -> list[Case]:
    """Messages that were stuck at an instant, with the findings they had then."""
    with reading(engine) as connection:
        driver = driver_of(connection)
        # What was accepted as it arrived, and has no change here, was not stuck.
        sql = "SELECT message_id, id, after FROM state_change WHERE at <= ? ORDER BY id"
        last = {row[0]: (row[1], row[2]) for row in driver.rows(sql, (at,))}
        ids = sorted(number for number, (_, state) in last.items() if state in STUCK)
        corrected = driver.matching(
            "SELECT corrects, received_at FROM kernel_message WHERE state <> 'withdrawn'", ids, "corrects"
        )
        gone = {row[0] for row in corrected if row[1] <= at}
        ids = [number for number in ids if number not in gone]
        columns = "message_id, change_id, error_code, rule, severity, error_class, field, value"
        sql = f"SELECT {columns} FROM finding WHERE true"
        found: dict[int, dict[int, list[Found]]] = defaultdict(lambda: defaultdict(list))
        for message_id, change_id, *rest in driver.matching(sql, ids, "message_id", "ORDER BY id"):
            if change_id <= last[message_id][0]:
                found[message_id][change_id].append(Found(*rest))
    cases = []
    for case in read_cases(engine, markets, ids):
        verdicts = found.get(case.id, {})
        findings = tuple(verdicts[max(verdicts)]) if verdicts else ()
        cases.append(structs.replace(case, state=last[case.id][1], findings=findings))
    return cases


def groups(cases: Iterable[Judged], by: Dimension, now: int) -> list[Group]:
    """The groups, the largest first; a message with several codes is in the group of each. No message is kept.

    Args:
      cases: what to group.
      by: what they have in common.
      now: the present, microseconds since the epoch, for ages.
    """
    tallies: dict[str, _Tally] = defaultdict(_Tally)
    keys = _KEYS[by]
    for one in cases:
        for key in keys(one, now):
            tallies[key].add(key, one, by)
    made = [tally.group(key) for key, tally in tallies.items()]
    return sorted(made, key=lambda group: (-group.messages, group.key))


def members(cases: Iterable[Judged], by: Dimension, now: int) -> dict[str, list[Judged]]:
    """The messages of each group; see `groups`."""
    found: dict[str, list[Judged]] = defaultdict(list)
    keys = _KEYS[by]
    for one in cases:
        for key in keys(one, now):
            found[key].append(one)
    return dict(found)


class _Tally:
    """What a group says of its messages, counted one by one."""

    def __init__(self) -> None:
        self.messages = self.occurrences = 0
        self.points: set[str] = set()
        self.oldest: int | None = None
        self.invoices: set[tuple[str, str]] = set()
        self.classes: Counter[str] = Counter()
        self.words: Counter[str] = Counter()
        self.examples: list[int] = []

    def add(self, key: str, one: Judged, by: Dimension) -> None:
        """Count a message of the group that bears a key."""
        case = one.case
        found = [finding for finding in case.findings if finding.severity == "error"]
        if by in ("code", "rule"):
            found = [finding for finding in found if key == (finding.code if by == "code" else finding.rule)]
        self.messages += 1
        self.occurrences += len(found)
        self.points.update(filter(None, [case.identifier]))
        self.oldest = case.received_at if self.oldest is None else min(self.oldest, case.received_at)
        self.invoices |= stakes(case)
        self.classes.update(one.classes)
        self.words.update(evidence.words for evidence in one.evidence)
        self.examples = sorted([*self.examples, case.id])[:EXAMPLES]

    def group(self, key: str) -> Group:
        """The group, once all its messages are counted."""
        return Group(
            key=key,
            messages=self.messages,
            occurrences=self.occurrences,
            access_points=len(self.points),
            oldest=instant(self.oldest or 0),
            invoices=len(self.invoices),
            classes=dict(self.classes.most_common()),
            evidence=tuple(self.words.most_common(3)),
            examples=tuple(self.examples),
        )


EXAMPLES = 5
"""Messages of a group that are named."""


def stakes(case: Case) -> set[tuple[str, str]]:
    """The invoices that wait for a message: a grid invoice by its number, or the month of an access point's measure."""
    message = case.message
    if isinstance(message, GridCharge | GridInvoice):
        return {("grid invoice", message.invoice)}
    if isinstance(message, MeterReading | MeteredVolume) and case.identifier is not None:
        return {(case.identifier, f"{local_day(case.zone, case.at):%Y-%m}")}
    return set()


def compare(then: Iterable[Group], now: Iterable[Group]) -> list[Change]:
    """Groups of two dates, those that grew most first."""
    before = {group.key: group.messages for group in then}
    after = {group.key: group.messages for group in now}
    keys = before.keys() | after.keys()
    changes = [Change(key=key, then=before.get(key, 0), now=after.get(key, 0)) for key in keys]
    return sorted(changes, key=lambda change: (-change.difference, change.key))


def _codes(one: Judged, _now: int) -> Sequence[str]:
    return one.case.codes or (_unjudged(one.case),)


def _unjudged(case: Case) -> str:
    """The key of a message that has no code: what it waits for, or that a rule broke."""
    return f"waits for {case.waits_for}" if case.waits_for else case.state


def _code_set(one: Judged, _now: int) -> Sequence[str]:
    return (" ".join(one.case.codes) or _unjudged(one.case),)


def _rules(one: Judged, _now: int) -> Sequence[str]:
    rules = {found.rule for found in one.case.findings if found.severity == "error"}
    return sorted(rules) or (_unjudged(one.case),)


def _age(one: Judged, now: int) -> Sequence[str]:
    days = (now - one.case.received_at) / DAY
    return (next((words for most, words in AGES if days < most), "older"),)


_KEYS: dict[Dimension, Callable[[Judged, int], Sequence[str]]] = {
    "code": _codes,
    "codes": _code_set,
    "rule": _rules,
    "age": _age,
    "access-point": lambda one, _: (one.case.identifier or "none",),
    "grid_operator": lambda one, _: (one.case.grid_operator or "unknown",),
    "type": lambda one, _: (f"{one.case.message.market} {one.case.message.market_type}",),
    "kind": lambda one, _: (one.case.kind,),
    "class": lambda one, _: one.classes or ("unknown",),
    "state": lambda one, _: (one.case.state,),
}

DIMENSIONS: tuple[Dimension, ...] = tuple(_KEYS)
"""What messages can be grouped by."""
