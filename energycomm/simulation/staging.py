"""Where in a faulty life its fault is played, and what it means to the rest of that life.

A market lists its mistakes; each says which message it spoils and what must come of it. Messages that are lost or late
are the same everywhere. The reasoning is the simulator's own: it knows what it left out or spoilt, and what builds on
that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from energycomm.kernel.verdicts import ErrorClass
from energycomm.simulation.edits import Edit
from energycomm.simulation.expectation import Outcome, State
from energycomm.simulation.lives import Life

Place: TypeAlias = tuple[str, int]
"""What a message tells of (``event``, ``reading``, or a market's own word), and its day."""
Codes: TypeAlias = Mapping[str, tuple[str, ...]] | str
"""Error codes by kind of Kernel message, ``kind/n`` for the n-th of its kind; or the kinds, separated by spaces, that
get the name of the mistake as their code."""
Kinds: TypeAlias = Mapping[str, frozenset[str]]
"""Message type -> kinds of Kernel messages; ``*`` for the types that are not named."""

NOT_TOLD: tuple[str, ...] = ()
"""Kinds of a spoilt message that are not foretold."""


class Draft(NamedTuple):
    """One CH message before it is written.

    Attributes:
      type: of the document it goes into; documents hold drafts of one type and one `group`.
      body: its text. One text may hold several CH messages: the first draft has it, the others have none.
      access_point, reference, kinds: as the truth file tells them; None for kinds that are not foretold.
      group: what else parts documents: a reason in the header.
      life: running number of the access point.
      place: where in the life it belongs.
      outcome: what should become of it.
      spoil: edits the document, which holds this message alone.
      twin: equal for messages of equal content, where the market repeats itself.
      about: what its document must know of it beside the text.
    """

    type: str
    body: str
    access_point: str | None
    reference: str
    kinds: tuple[str, ...] | None
    group: str = ""
    life: int = -1
    place: Place = ("", 0)
    outcome: Outcome = Outcome()
    spoil: Edit | None = None
    twin: str | None = None
    about: Any = None


class Mistake(NamedTuple):
    """One mistake of a market.

    Attributes:
      name: the error code that it brings about, or a name of its own.
      target: the message that is spoilt, by its name in the places of the market.
      edit: what is changed in its body.
      errors, warnings: codes of the Kernel messages.
      error_class: whose fault it is.
      extra: the message itself stays right, and a changed copy comes `later` days after it.
      refused: the CH message cannot be digested.
      document: changes the document, which then holds the message alone.
      type: type of the message at the target, where the market says the same thing by several.
      kinds: kinds of Kernel messages of the spoilt message, where they are others than those of the right one.
      rest: state of the Kernel messages that get no error.
      before: edit of an extra copy that is right and comes a day before the wrong one.
      previous: edit of the reading before the one that is touched; that reading stays right.
      cascade: what the rest of the life never gets to see when the message is refused: a target.
      parts: running numbers of the CH messages that are wrong, where a text holds several; empty for all.
      told_by: see `Outcome`.
    """

    name: str
    target: str
    edit: Edit | None = None
    errors: Codes = ""
    warnings: Codes = ""
    error_class: ErrorClass = "grid_operator"
    extra: bool = False
    later: int = 2
    refused: bool = False
    document: Edit | None = None
    type: str | None = None
    kinds: tuple[str, ...] | None = None
    rest: State = "accepted"
    before: Edit | None = None
    previous: Edit | None = None
    cascade: str | None = None
    parts: tuple[int, ...] = ()
    told_by: str | None = None

    def outcome(self) -> Outcome:
        """What should become of the message."""
        errors, warnings = self._codes(self.errors), self._codes(self.warnings)
        state: dict[str, State] = {"*": "refused"} if self.refused else dict.fromkeys(errors, "rejected")
        state.setdefault("*", self.rest)
        return Outcome(
            state=state,
            errors={kind: tuple(sorted(codes)) for kind, codes in errors.items()},
            warnings=warnings,
            error_class=self.error_class,
            fault=self.name,
            freed_by="a corrected message" if self.refused or errors else None,
            told_by=self.told_by,
        )

    def spoilt(self, draft: Draft, edit: Edit | None) -> Draft:
        """A message with an edit, and the kinds that are foretold of it."""
        kinds = None if self.refused else draft.kinds if self.kinds is None else self.kinds or None
        return draft._replace(body=draft.body if edit is None else edit(draft.body), kinds=kinds)

    def _codes(self, codes: Codes) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(codes.split(), (self.name,)) if isinstance(codes, str) else dict(codes)


def same(*codes: str, kinds: str) -> dict[str, tuple[str, ...]]:
    """The same codes for each of several kinds, which are separated by spaces."""
    return dict.fromkeys(kinds.split(), codes)


def by_name(told_by: Mapping[str, str], *tables: Iterable[Mistake]) -> dict[str, Mistake]:
    """All mistakes of a market by their names, each with what tells its right content."""
    return {row.name: row._replace(told_by=told_by.get(row.name)) for table in tables for row in table}


class Lost(NamedTuple):
    """A message that never arrives: its name in the places of the market, and what else tells what it said."""

    target: str
    told_by: str


LOST: Mapping[str, Lost] = {
    "lost-start": Lost("first", "what belongs to the supply, from its first message on"),
    "lost-stop": Lost("stop", "the start of the next supply"),
}
LOST_ORIGINAL: Mapping[str, Lost] = {"lost-original": Lost("original", "its correction, which says all of it anew")}
LATE: Mapping[str, str] = {"late-start": "first", "late-stop": "stop"}
LATE_ORIGINAL: Mapping[str, str] = {"late-original": "original"}


def _freed_by(life: Life, missing: str) -> str:
    return {"first": "the start of supply", "stop": "the end of the supply before"}[missing]


def places(life: Life, readings: Sequence[int]) -> dict[str, Place]:
    """The messages of a life with one of everything at which faults are played.

    Args:
      life: the life.
      readings: days on which its meter is read.

    Returns:
      ``first`` and ``start``, the starts of both supplies; ``stop``, the end of the first; ``early-change``,
      ``customer`` and ``change``, changes of the point in the first, of the customer, and of the point in the second
      supply; ``original``, a reading in the quiet stretch before the stop; ``previous`` and ``reading``, the last two.
    """
    steps = life.steps
    changes = [step.day for step in steps if not step.enters and not step.leaves]
    stop = next(index for index, step in enumerate(steps) if step.leaves)
    start = steps[stop + 1].day
    quiet = [day for day in readings if changes[2] < day < steps[stop].day]
    return {
        "first": ("event", steps[0].day),
        "early-change": ("event", changes[1]),
        "customer": ("event", changes[2]),
        "stop": ("event", steps[stop].day),
        "start": ("event", start),
        "change": ("event", changes[-1]),
        "original": ("reading", quiet[len(quiet) // 2]),
        "previous": ("reading", readings[-2]) if readings[-2] > start else ("event", start),
        "reading": ("reading", readings[-1]),
    }


class Market(NamedTuple):
    """What a market's faults depend on.

    Attributes:
      mistakes: its table.
      named: what waits for the supply that it names, all along a supply whose predecessor has no end.
      anchored: what waits for any supply of the point and names none.
      lost: messages that never arrive.
      late: fault -> name of the message that comes late, `delay` days after its day.
      original: type of the reading that is corrected.
      corrected: makes its correction, which is sent `corrected_after` days later.
      orphan: what becomes of a message that waits for nothing, though something is missing before it; None for
        acceptance.
      freed_by: what would free what waits: of a life, and the name of the message that is missing.
      daily: targets that need an index every day, which no other faulty life sends then; None to leave it to chance.
    """

    mistakes: Mapping[str, Mistake]
    named: Kinds
    anchored: Kinds
    lost: Mapping[str, Lost] = LOST
    late: Mapping[str, str] = LATE
    delay: int = 11
    original: str | None = None
    corrected: Callable[[Draft], Draft] | None = None
    corrected_after: int = 0
    orphan: Callable[[Stage, Draft], Outcome | None] = lambda *_: None
    freed_by: Callable[[Life, str], str] = _freed_by
    daily: frozenset[str] | None = None

    def playable(self) -> dict[str, tuple[str, ...]]:
        """Class of faults or error code -> the names of the mistakes that belong to it."""
        classes = {
            "wrong-order": tuple(self.late),
            "lost-message": tuple(self.lost),
            "grid_operator": tuple(row.name for row in self.mistakes.values() if row.error_class != "product"),
            "product": tuple(row.name for row in self.mistakes.values() if row.error_class == "product"),
        }
        single = {name: (name,) for names in classes.values() for name in names}
        return {**classes, "duplicate-file": ("again",), **single}

    def wants_daily(self, fault: str | None) -> bool | None:
        """Whether the life of a fault sends an index every day; None where chance decides."""
        if fault is None or self.daily is None:
            return None
        return fault in self.mistakes and self.mistakes[fault].target in self.daily


class Late(NamedTuple):
    """A message that comes so many days later; written in its time, or `written` days after it."""

    days: int
    draft: Draft
    written: int = 0


class Stage:
    """The faulty part of one life.

    Args:
      life: with one of everything; its fault names a mistake.
      market: whose faults are played.
      places: name of a target -> the message that it is.
    """

    def __init__(self, life: Life, market: Market, places: Mapping[str, Place]) -> None:
        assert life.fault is not None
        self.life, self.name, self.market, self.places = life, life.fault, market, places
        self.row = market.mistakes.get(self.name)
        self.lost = market.lost.get(self.name)
        self.restarted = places["start"][1]
        self.missing = self.row.cascade if self.row else self.lost.target if self.lost else None

    def play(self, draft: Draft) -> tuple[list[Draft], list[Late]]:
        """Play the fault on one message: what is published in its time, and what comes later."""
        draft = draft._replace(outcome=self._fate(draft) or draft.outcome)
        if self.row is not None:
            return self._spoilt(self.row, draft)
        target = self.lost.target if self.lost else self.market.late[self.name]
        if draft.place != self.places[target]:
            return [draft], []
        if target == "original":
            return self._original(draft) if draft.type == self.market.original else ([draft], [])
        if target != "stop" and "StartOfSupply" not in (draft.kinds or ()):
            return [draft], []
        return [], [] if self.lost else [Late(self.market.delay, draft._replace(outcome=self._disordered()))]

    def waiting(self, freed_by: str, kinds: Iterable[str]) -> Outcome:
        """What becomes of a message whose kinds wait for what is missing."""
        state: dict[str, State] = dict.fromkeys(sorted(kinds), "quarantined")
        state.setdefault("*", "accepted")
        return Outcome(state=state, error_class="missing", fault=self.name, freed_by=freed_by, told_by=self.told_by)

    @property
    def freed_by(self) -> str:
        """What would free the messages that wait."""
        assert self.missing is not None
        return self.market.freed_by(self.life, self.missing)

    @property
    def told_by(self) -> str | None:
        """What else tells what the missing message said."""
        return self.row.told_by if self.row else self.lost.told_by if self.lost else None

    def _fate(self, draft: Draft) -> Outcome | None:
        """What becomes of a message that is right because of what is missing; None for nothing."""
        if self.missing not in ("first", "start", "stop"):
            return None
        first, early = self.missing == "first", draft.place[1] < self.restarted
        if first != early:
            return None
        kinds = _of(self.market.named, draft.type) | (_of(self.market.anchored, draft.type) if first else frozenset())
        if kinds:
            return self.waiting(self.freed_by, kinds)
        return None if first else self.market.orphan(self, draft)

    def _spoilt(self, row: Mistake, draft: Draft) -> tuple[list[Draft], list[Late]]:
        mine = (row.type or draft.type) == draft.type
        if row.previous is not None and mine and draft.place == self.places["previous"]:
            return [row.spoilt(draft, row.previous)], []
        if not mine or draft.place != self.places.get(row.target):
            return [draft], []
        wrong = row.spoilt(draft, row.edit)._replace(outcome=row.outcome(), spoil=row.document)
        if not row.extra:
            return [wrong], []
        late = [Late(row.later, wrong._replace(reference=f"{draft.reference} again"), row.later)]
        if row.before is not None:
            right = row.spoilt(draft, row.before)._replace(reference=f"{draft.reference} before")
            late.append(Late(row.later - 1, right, row.later - 1))
        return [draft], late

    def _original(self, draft: Draft) -> tuple[list[Draft], list[Late]]:
        """The correction of a reading comes, and its original later or never."""
        market, late = self.market, list[Late]()
        assert market.corrected is not None
        told = self.waiting(f"the original of {draft.reference}", _of(market.named, draft.type))
        if self.lost is None:
            told = self._disordered()
            late.append(Late(market.delay, draft._replace(outcome=told)))
        right = market.corrected(draft)._replace(outcome=told)
        if not market.corrected_after:
            return [right], late
        return [], [*late, Late(market.corrected_after, right, market.corrected_after)]

    def _disordered(self) -> Outcome:
        return Outcome(fault=self.name, error_class="ordering")


def _of(kinds: Kinds, label: str) -> frozenset[str]:
    return kinds.get(label, kinds.get("*", frozenset()))
