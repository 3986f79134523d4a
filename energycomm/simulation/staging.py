"""The place of a fault in a simulated life, and its consequences for later messages.

A market lists its mistakes; each says which message it spoils and what must come of it. Messages that are lost or late
are the same everywhere. The reasoning is the simulator's own: it knows what it left out or spoilt, and what builds on
that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from energycomm.kernel.verdicts import ErrorClass
from energycomm.simulation.edits import Edit
from energycomm.simulation.expectation import Outcome, State
from energycomm.simulation.lives import Life, Step

Target: TypeAlias = Literal["change", "reading", "start", "stop"]
"""The last change of data in the second supply, the last periodic reading, the second start, the first stop."""
Codes: TypeAlias = Mapping[str, tuple[str, ...]]
NONE: Codes = {}
NONE_AT_ALL: Mapping[str, Codes] = {}

LATE = 11
"""Days that a late document comes after its day."""
ORDER: tuple[str, ...] = ("late-start", "late-stop", "late-original")
LOST: Mapping[str, str] = {
    "lost-start": "what belongs to the supply, from its first message on",
    "lost-stop": "the start of the next supply",
    "lost-original": "its correction, which says all of it anew",
}
"""Message that never arrives -> what else tells what it said."""


class Draft(NamedTuple):
    """One CH message before it is written.

    Attributes:
      type: of the document it goes into; documents hold drafts of one type and one `group`.
      body: what the market's writer makes it of.
      access_point, reference, kinds: as the truth file tells them; None for kinds that are not foretold.
      group: what else parts documents: a reason in the header.
      begins: the beginning of a supply.
      outcome: what should become of it.
      spoil: edits the document, which holds this message alone.
    """

    type: str
    body: Any
    access_point: str | None
    reference: str
    kinds: tuple[str, ...] | None
    group: str = ""
    begins: bool = False
    outcome: Outcome = Outcome()
    spoil: Edit | None = None


class Mistake(NamedTuple):
    """One mistake of a market.

    Attributes:
      name: the error code that it brings about, or a name of its own.
      target: the message that is spoilt.
      edit: what is changed in its body; the body is left as it is and a changed one given.
      errors, warnings: codes by kind of Kernel message.
      error_class: whose fault it is.
      extra: the message itself stays right, and a changed copy comes two days later.
      refused: the CH message cannot be digested.
      document: changes the document, which then holds the message alone.
      type: type of the message at the target, where the market says the same thing by several.
      kinds: kinds of Kernel messages of the spoilt message, where they are others than those of the right one.
      rest: state of the Kernel messages that get no error.
      before: edit of an extra copy that is right and comes a day before the wrong one.
      previous: edit of the reading before the one that is touched; that reading stays right.
      told_by: see `Outcome`.
    """

    name: str
    target: Target
    edit: Callable[[Any], Any] | None = None
    errors: Codes = NONE
    warnings: Codes = NONE
    error_class: ErrorClass = "grid_operator"
    extra: bool = False
    refused: bool = False
    document: Edit | None = None
    type: str | None = None
    kinds: tuple[str, ...] | None = None
    rest: State = "accepted"
    before: Callable[[Any], Any] | None = None
    previous: Callable[[Any], Any] | None = None
    told_by: str | None = None

    def outcome(self) -> Outcome:
        """What should become of the message."""
        state: dict[str, State] = {"*": "refused"} if self.refused else dict.fromkeys(self.errors, "rejected")
        state.setdefault("*", self.rest)
        return Outcome(
            state=state,
            errors={kind: tuple(sorted(codes)) for kind, codes in self.errors.items()},
            warnings=dict(self.warnings),
            error_class=self.error_class,
            fault=self.name,
            freed_by="a corrected message" if self.refused or self.errors else None,
            told_by=self.told_by,
        )


class Market(NamedTuple):
    """What a market's faults depend on.

    Attributes:
      mistakes: its table.
      waits: kinds of Kernel messages that wait for the supply they belong to; the others are accepted at any time.
      by_contract: messages name their contract, so that a whole supply whose predecessor has no end waits for it; else
        only its start does.
      anchored: kinds that wait for any supply of the point and name no contract.
      orphans: message type -> warnings of what comes with a start that waits, where only that does.
      corrected: makes the correction of a reading of its draft; None where the market has none.
    """

    mistakes: Sequence[Mistake]
    waits: frozenset[str]
    by_contract: bool
    anchored: frozenset[str] = frozenset()
    orphans: Mapping[str, Codes] = NONE_AT_ALL
    corrected: Callable[[Draft], Draft] | None = None

    def playable(self) -> dict[str, tuple[str, ...]]:
        """Class of faults or error code -> the names of the mistakes that belong to it."""
        originals = self.corrected is not None
        order = tuple(name for name in ORDER if originals or not name.endswith("original"))
        lost = tuple(name for name in LOST if originals or not name.endswith("original"))
        product = tuple(row.name for row in self.mistakes if row.error_class == "product")
        grid_operator = tuple(row.name for row in self.mistakes if row.error_class != "product")
        single = {name: (name,) for name in (*order, *lost, *product, *grid_operator)}
        classes = {"wrong-order": order, "lost-message": lost, "grid_operator": grid_operator, "product": product}
        return {**classes, "duplicate-file": ("again",), **single}


class Late(NamedTuple):
    """A message that comes so many days later; written in its time, or `written` days after it."""

    days: int
    draft: Draft
    written: int = 0


Told: TypeAlias = tuple[list[Draft], list[Late]]
"""What is published in its time, and what comes later."""


class Stage:
    """The faulty part of one life.

    Args:
      life: with one of everything; its fault names a mistake.
      market: whose faults are played.
      readings: days on which the meter is read.
    """

    def __init__(self, life: Life, market: Market, readings: Sequence[int]) -> None:
        assert life.fault is not None
        self.name, self.market = life.fault, market
        self.row = next((row for row in market.mistakes if row.name == self.name), None)
        steps = life.steps
        self.stop = next(index for index, step in enumerate(steps) if step.leaves)
        self.restart = self.stop + 1
        quiet = [day for day in readings if steps[self.stop - 1].day < day < steps[self.stop].day]
        self._events: dict[str, Step] = {
            "change": [step for step in steps if not step.enters and not step.leaves][-1],
            "start": steps[self.restart],
            "stop": steps[self.stop],
            "first": steps[0],
        }
        self._readings = {"reading": readings[-1], "previous": readings[-2], "original": quiet[len(quiet) // 2]}
        self._restarted = steps[self.restart].day

    def event(self, step: Step, drafts: Sequence[Draft]) -> Told:
        """Play the fault on what is published of an event."""
        if self.row is not None:
            wanted = self.row.target != "reading" and step is self._events[self.row.target]
            return self._spoilt(drafts, wanted)
        what = self.name.partition("-")[2]
        touched = step is self._events["first" if what == "start" else "stop"]
        touched = touched and what in ("start", "stop")
        kept: list[Draft] = []
        late: list[Late] = []
        for draft in drafts:
            mine = touched and (draft.begins or what == "stop")
            if not mine:
                kept.append(self._fated(draft, step.day))
            elif self.name.startswith("late"):
                late.append(Late(LATE, draft._replace(outcome=Outcome(fault=self.name, error_class="ordering"))))
        return kept, late

    def reading(self, day: int, drafts: Sequence[Draft]) -> Told:
        """Play the fault on what is published of a reading."""
        if self.row is not None:
            if self.row.previous is not None and day == self._readings["previous"]:
                edit = self.row.previous
                drafts = [each._replace(body=edit(each.body)) if self._mine(each) else each for each in drafts]
            return self._spoilt(drafts, self.row.target == "reading" and day == self._readings["reading"])
        if self.name.endswith("-original") and day == self._readings["original"]:
            return self._original(drafts)
        return [self._fated(draft, day) for draft in drafts], []

    def _spoilt(self, drafts: Sequence[Draft], wanted: bool) -> Told:
        row, kept, late = self.row, list[Draft](), list[Late]()
        assert row is not None
        for draft in drafts:
            if not wanted or not self._mine(draft):
                kept.append(draft)
                continue
            body = draft.body if row.edit is None else row.edit(draft.body)
            kinds = None if row.refused else row.kinds or draft.kinds
            wrong = draft._replace(body=body, kinds=kinds, outcome=row.outcome(), spoil=row.document)
            if row.before is not None:
                right = draft._replace(body=row.before(draft.body), kinds=kinds, reference=f"{draft.reference} before")
                late.append(Late(1, right, written=1))
            if row.extra:
                kept.append(draft)
                late.append(Late(2, wrong._replace(reference=f"{draft.reference} again"), written=2))
            else:
                kept.append(wrong)
        return kept, late

    def _mine(self, draft: Draft) -> bool:
        """Whether a message at the target is of the type that the mistake is about."""
        assert self.row is not None
        return (self.row.type or draft.type) == draft.type

    def _original(self, drafts: Sequence[Draft]) -> Told:
        """The correction of a reading, the first of what is published, comes, and its original later or never."""
        assert self.market.corrected is not None
        kept: list[Draft] = []
        late: list[Late] = []
        for draft in drafts:
            if draft.type != drafts[0].type:
                kept.append(draft)
                continue
            right = self.market.corrected(draft)._replace(reference=f"{draft.reference} corrected")
            if self.name.startswith("late"):
                told = Outcome(fault=self.name, error_class="ordering")
                kept.append(right._replace(outcome=told))
                late.append(Late(LATE, draft._replace(outcome=told)))
            else:
                kept.append(right._replace(outcome=self._waiting(f"the original of {draft.reference}")))
        return kept, late

    def _fated(self, draft: Draft, day: int) -> Draft:
        """A message that is right, with what becomes of it because of what is missing."""
        first = day < self._restarted
        if self.name == "lost-start" and first:
            return draft._replace(
                outcome=self._waiting("the start of supply", self.market.waits | self.market.anchored)
            )
        if self.name == "lost-stop" and not first:
            return self._after_lost_stop(draft, day)
        return draft

    def _after_lost_stop(self, draft: Draft, day: int) -> Draft:
        end = "the end of the supply before"
        if self.market.by_contract:
            return draft._replace(outcome=self._waiting(end))
        if draft.begins:
            return draft._replace(outcome=self._waiting(end, frozenset(("StartOfSupply",))))
        warnings = self.market.orphans.get(draft.type) if day == self._restarted else None
        return draft._replace(outcome=Outcome(warnings=dict(warnings), fault=self.name)) if warnings else draft

    def _waiting(self, freed_by: str, waits: frozenset[str] | None = None) -> Outcome:
        state: dict[str, State] = dict.fromkeys(sorted(waits or self.market.waits), "quarantined")
        state["*"] = "accepted"
        told_by = LOST[self.name]
        return Outcome(state=state, error_class="missing", fault=self.name, freed_by=freed_by, told_by=told_by)
