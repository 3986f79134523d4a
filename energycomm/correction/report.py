"""What an analysis found, as sheets: the same columns whether they are printed, or written as CSV, XLSX or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from msgspec import Struct

from energycomm.correction.analysis import Change, Dimension, Group, Judged, compare, groups
from energycomm.correction.proposals import Proposal
from energycomm.kernel.instants import instant, legal, micros
from energycomm.texts.catalogues import translate

MOST_MESSAGES = 10_000
"""Messages that a report lists one by one; it says how many it leaves out."""

COMMAND = "command"
"""Name of the column whose cells are to be copied and run."""

GROUPS_HEAD = ("messages", "occurrences", "access points", "oldest", "invoices", "classes", "evidence")
CHANGES_HEAD = ("then", "now", "change")
PROPOSALS_HEAD = ("action", "parameters", "dry run", "expected", "what it does", COMMAND)
MESSAGES_HEAD = (
    "message",
    "access point",
    "kind",
    "market type",
    "state",
    "codes",
    "waits for",
    "class",
    "evidence",
    "grid operator",
    "effective",
    "received",
    "reference",
)
NAMES = ("groups", "changes", "proposals", *GROUPS_HEAD, *CHANGES_HEAD, *PROPOSALS_HEAD, *MESSAGES_HEAD)
"""Titles of sheets and names of their columns."""


class Sheet(Struct, frozen=True, kw_only=True):
    """One table of a report.

    Attributes:
      title: what it shows.
      head: names of its columns.
      rows: its rows.
      left_out: rows that there are besides.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    left_out: int = 0

    @property
    def cap(self) -> str:
        """How much of the whole it shows."""
        shown = len(self.rows)
        if not self.left_out:
            return f"all {shown}"
        return f"{shown} of {shown + self.left_out}; {self.left_out} are left out"


class Report(Struct, frozen=True, kw_only=True):
    """An analysis to be kept or sent.

    Attributes:
      made: when it was made.
      at: the day it tells of; the present when None.
      against: the day it is compared with.
      by: what the groups have in common.
      messages: how many are stuck.
      sheets: groups first, then what changed and what is proposed where that was asked for, messages last.
      classes: error class -> messages that it decides.
      ages: age -> messages.
    """

    made: datetime
    at: datetime | None
    against: datetime | None
    by: str
    messages: int
    sheets: tuple[Sheet, ...]
    classes: dict[str, int]
    ages: dict[str, int]

    def facts(self) -> list[tuple[str, str]]:
        """What a reader has to know of the report before its figures."""
        facts = [
            ("made", f"{self.made:%Y-%m-%d %H:%M %Z}"),
            ("as of", f"{self.at:%Y-%m-%d}" if self.at else "when it was made"),
            ("stuck messages", str(self.messages)),
            ("grouped by", self.by),
        ]
        if self.against is not None:
            facts.append(("compared with", f"{self.against:%Y-%m-%d}"))
        return facts + [(sheet.title, sheet.cap) for sheet in self.sheets]


def group_sheet(found: Sequence[Group], by: str, limit: int, zone: tzinfo | None = UTC, language: str = "en") -> Sheet:
    """The groups, the largest first; days are those of a zone, error classes are in a language."""
    rows = tuple(
        (
            one.key,
            one.messages,
            one.occurrences,
            one.access_points,
            one.oldest.astimezone(zone).date().isoformat(),
            one.invoices,
            ", ".join(f"{translate(name, language)} {number}" for name, number in one.classes.items()),
            one.evidence[0][0] if one.evidence else "",
        )
        for one in found[:limit]
    )
    return Sheet(title="groups", head=(by, *GROUPS_HEAD), rows=rows, left_out=max(len(found) - limit, 0))


def change_sheet(changes: Sequence[Change], by: str, limit: int) -> Sheet:
    """The groups of two days, those that grew most first."""
    rows = tuple((one.key, one.then, one.now, one.difference) for one in changes[:limit])
    return Sheet(title="changes", head=(by, *CHANGES_HEAD), rows=rows, left_out=max(len(changes) - limit, 0))


def proposal_sheet(proposals: Sequence[Proposal], by: str) -> Sheet:
    """What was tried on each group, and what it frees."""
    rows = tuple(
        (one.group, one.script or "ticket", one.settings, one.words, one.expected, one.title, one.command)
        for one in proposals
    )
    return Sheet(title="proposals", head=(by, *PROPOSALS_HEAD), rows=rows)


def message_sheet(cases: Sequence[Judged], most: int = MOST_MESSAGES) -> Sheet:
    """The stuck messages one by one, the oldest first."""
    ordered = sorted(cases, key=lambda one: (one.case.received_at, one.case.id))
    rows = tuple(
        (
            one.case.id,
            one.case.identifier or "",
            one.case.kind,
            f"{one.case.message.market} {one.case.message.market_type}",
            one.case.state,
            " ".join(one.case.codes),
            one.case.waits_for or "",
            translate(one.error_class, "en"),
            one.evidence[0].words if one.evidence else "",
            one.case.grid_operator or "",
            legal(instant(one.case.at), one.case.zone) if one.case.at else "",
            legal(instant(one.case.received_at).replace(microsecond=0), one.case.zone),
            one.case.message.reference,
        )
        for one in ordered[:most]
    )
    return Sheet(title="messages", head=MESSAGES_HEAD, rows=rows, left_out=max(len(ordered) - most, 0))


def report(
    cases: Sequence[Judged],
    by: Dimension,
    *,
    made: datetime,
    at: datetime | None = None,
    before: Sequence[Judged] | None = None,
    against: datetime | None = None,
    proposals: Sequence[Proposal] | None = None,
    limit: int = 50,
    most: int = MOST_MESSAGES,
) -> Report:
    """An analysis as sheets.

    Args:
      cases: the stuck messages.
      by: what groups have in common.
      made: the present, in legal time.
      at: the day the cases are of; the present when None.
      before: the stuck messages of an earlier day, to compare with.
      against: that day.
      proposals: what was tried, where it was asked for.
      limit: how many groups.
      most: how many messages are listed.
    """
    now = micros(at or made)
    found = groups(cases, by, now)
    sheets = [group_sheet(found, by, limit, made.tzinfo)]
    if before is not None and against is not None:
        sheets.append(change_sheet(compare(groups(before, by, micros(against)), found), by, limit))
    if proposals is not None:
        sheets.append(proposal_sheet(proposals, by))
    sheets.append(message_sheet(cases, most))
    decided: dict[str, int] = {}
    for one in cases:
        decided[one.error_class] = decided.get(one.error_class, 0) + 1
    return Report(
        made=made,
        at=at,
        against=against,
        by=by,
        messages=len(cases),
        sheets=tuple(sheets),
        classes=dict(sorted(decided.items(), key=lambda item: -item[1])),
        ages={group.key: group.messages for group in groups(cases, "age", now)},
    )
