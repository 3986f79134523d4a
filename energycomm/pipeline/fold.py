"""The fold: the messages of one access point, judged one after the other in business order.

Each message is judged against what the earlier ones left, and what an accepted one does is there for the next. The
result depends on the set of messages alone, never on the order in which they arrived. A message that arrives late
makes the later ones be judged again (`energycomm.pipeline.reassessment`).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol, TypeVar
from zoneinfo import ZoneInfo

from msgspec import Struct, field, structs

from energycomm.eis.fitting import storable
from energycomm.kernel.family import FUNCTION_RANK, KINDS, RANK, SIDE_RANK
from energycomm.kernel.history import NO_HISTORY, History
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import KernelMessage, MeterReading, StartOfSupply
from energycomm.kernel.verdicts import Action, Verdict
from energycomm.logs import Log
from energycomm.pipeline.effects import VERB_FUNCTIONS, Rows, Step, accept
from energycomm.pipeline.facts import Ahead, history_of
from energycomm.pipeline.state import MAX_AWAITED, AccessPointState, dump_state

log = Log()

CHECKPOINT_EVERY = 12
"""Messages of an access point between two stored states that late messages can be judged from."""

APPLIED = frozenset(("accepted", "treated"))
"""States of a message whose effects hold."""


class Judge(Protocol):
    """The operations of a rule engine that the fold needs."""

    @property
    def curve_tolerance(self) -> Decimal:
        """Percent by which a curve may differ from the indexes."""

    def judge(self, message: KernelMessage, history: History) -> Verdict:
        """Validate, then qualify or reject."""

    def qualify(self, message: KernelMessage, history: History) -> tuple[Action, ...]:
        """What an accepted message asks for."""


class Entry(Struct, gc=False):
    """One Kernel message on its way through the fold.

    Attributes:
      key: place in business order.
      message: the message.
      at: effective instant, microseconds since the epoch.
      message_id: id in the EIS.
      before: its state in the EIS before this fold; None when it is new.
      given_up: it waited too long and was rejected for that; it stays so unless it can be accepted now.
      verdict: set by the fold.
    """

    key: tuple[Any, ...]
    message: KernelMessage
    at: int
    message_id: int
    before: str | None = None
    given_up: bool = False
    verdict: Verdict | None = None


def business_key(message: KernelMessage, at: int, identity: bytes, position: int) -> tuple[Any, ...]:
    """Place of a message in business order: a total order that depends on content only.

    Args:
      message: the message.
      at: its effective instant in microseconds since the epoch.
      identity: 16 bytes, identity of its CH message.
      position: its number within the CH message.
    """
    kind = type(message)
    # Asking a message for what its kind has not would cost more than all the rest.
    side = SIDE_RANK.get(message.qualification, 0) if kind in _OF_A_SIDE else 0  # type: ignore[attr-defined]
    rank = RANK.get(kind.__name__, 99)
    return (at, rank, FUNCTION_RANK[message.function], side, micros(message.created), identity, position)


_OF_A_SIDE = frozenset(kind for kind in KINDS.values() if "qualification" in kind.__struct_fields__)


class Broken(Exception):
    """Judging a message, or applying its effects, failed: a fault of the program for this message only.

    Attributes:
      message_id: the message.
      fault: what broke, in words.
    """

    def __init__(self, entry: Entry, error: Exception) -> None:
        self.message_id, self.fault = entry.message_id, fault_words(error)
        super().__init__(f"message {self.message_id}: {self.fault}")


def fault_words(error: Exception) -> str:
    """What broke, for the record: the kind of error, its words and the place."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return storable(f"{type(error).__name__}: {error}", 300) + place


T = TypeVar("T")


def around_broken(walk: Callable[[dict[int, str]], T], known: Mapping[int, str] | None = None) -> T:
    """Do a walk again, around each message that broke it, until none does.

    Args:
      walk: given what broke so far by message id; must begin anew at each call.
      known: what broke before.
    """
    faults = dict(known or {})
    while True:
        try:
            return walk(faults)
        except Broken as broken:
            if broken.message_id in faults:
                raise
            log.error("message.broke", message=broken.message_id, fault=broken.fault, exc_info=broken.__cause__)
            faults[broken.message_id] = broken.fault


class Fold(Struct):
    """A walk through messages of one access point.

    Attributes:
      engine: the rules.
      zone: the legal time of the access point's market.
      state: changed as the walk goes on.
      access_point_id: id in the EIS.
      rows: domain rows that accepted messages write, without their ids.
      since_checkpoint: messages judged since the last stored state.
      checkpoints: (instant, state bytes) to store.
      faults: messages that broke an earlier walk, with what broke: they are not judged and do nothing.
      ahead: what the messages of the walk say ahead of their turn.
      writes: domain rows are made; not where nobody stores them.
    """

    engine: Judge
    zone: ZoneInfo
    state: AccessPointState
    access_point_id: int
    rows: Rows
    since_checkpoint: int = 0
    checkpoints: list[tuple[int, bytes]] = field(default_factory=list)
    faults: dict[int, str] = field(default_factory=dict)
    ahead: Ahead = field(default_factory=Ahead)
    writes: bool = True

    def foresee(self, entries: Iterable[Entry]) -> None:
        """Take note of what messages of the walk say ahead of their turn: all of one instant are in one walk.

        Args:
          entries: the messages that the walk goes through.
        """
        taken_back, starts = self.ahead.taken_back, self.ahead.starts
        for entry in entries:
            message = entry.message
            if isinstance(message, MeterReading) and message.function != "cancel":
                self.ahead.readings.append((entry.at, message))
            if message.function == "cancel":
                if message.correlation is not None:
                    named = type(message).__name__, message.market_type, message.correlation
                    taken_back[entry.at] = taken_back.get(entry.at, frozenset()) | {named}
            elif isinstance(message, StartOfSupply):
                first, reference = self.ahead.first, message.contract_reference
                self.ahead.first = entry.at if first is None else min(first, entry.at)
                if reference is not None:
                    starts[reference] = min(entry.at, starts.get(reference, entry.at))

    def judge(self, entry: Entry) -> None:
        """Judge one message that comes after all earlier ones, and apply its effects when it is accepted.

        Raises:
          Broken: the message broke it; the walk is to begin anew.
        """
        self._reach(entry.at)
        fault = self.faults.get(entry.message_id)
        if fault is not None:
            entry.verdict = Verdict(label="engine_error", fault=fault)
            return
        try:
            verdict = self.engine.judge(entry.message, self._history(entry))
            entry.verdict = verdict
            if verdict.label == "accepted":
                self._apply(entry, verdict.actions)
            else:
                self._await(entry)
        except Exception as error:
            raise Broken(entry, error) from error

    def replay(self, entry: Entry) -> None:
        """Apply a message with a settled verdict: only its effects on the state are repeated.

        Raises:
          Broken: the message broke it; the walk is to begin anew.
        """
        self._reach(entry.at)
        if entry.before not in APPLIED:
            self._await(entry)
            return
        try:
            self._apply(entry, self.engine.qualify(entry.message, self._history(entry)))
        except Exception as error:
            raise Broken(entry, error) from error

    def known(self, entry: Entry) -> History:
        """The history before a message, without judging it."""
        if entry.at > self.state.at:
            self.state.advance(entry.at)
        return self._history(entry)

    def _history(self, entry: Entry) -> History:
        history = history_of(self.state, entry.message, entry.at, self.zone, self.ahead)
        if history.curve_wh is not None:
            return structs.replace(history, curve_tolerance=self.engine.curve_tolerance)
        return history

    def _await(self, entry: Entry) -> None:
        """Remember a message that came to nothing and names a contract that is not known, or none where none is."""
        reference = entry.message.contract_reference or ""
        if all(reference not in ("", period.reference) for period in self.state.periods):
            self.state.awaited.setdefault(reference, entry.at)
            if len(self.state.awaited) > MAX_AWAITED:
                del self.state.awaited[next(iter(self.state.awaited))]

    def _reach(self, at: int) -> None:
        if at > self.state.at:
            if self.since_checkpoint >= CHECKPOINT_EVERY:
                self._checkpoint(at)
            self.state.advance(at)
        self.since_checkpoint += 1

    def _apply(self, entry: Entry, actions: tuple[Action, ...]) -> None:
        rows = self.rows if self.writes else None
        step = Step(self.state, entry.message, entry.at, entry.message_id, self.access_point_id, rows, self.zone)
        for action in actions:
            function = VERB_FUNCTIONS.get(action.verb)
            if function is not None:
                function(step)
        accept(step)

    def _checkpoint(self, upto: int) -> None:
        # The state that is stored must have moved on, or the readings of its last instant would count as present.
        self.state.advance(upto)
        self.checkpoints.append((upto, dump_state(self.state)))
        self.since_checkpoint = 0


def judge_alone(engine: Judge, entry: Entry, rows: Rows) -> Verdict:
    """Judge a message that concerns no access point: there is no history, and nothing to remember."""
    written: Rows = {}
    try:
        verdict = engine.judge(entry.message, NO_HISTORY)
        if verdict.label == "accepted":
            step = Step(AccessPointState(), entry.message, entry.at, entry.message_id, None, written)
            for action in verdict.actions:
                function = VERB_FUNCTIONS.get(action.verb)
                if function is not None:
                    function(step)
    except Exception as error:
        log.error("message.broke", message=entry.message_id, exc_info=error)
        verdict, written = Verdict(label="engine_error", fault=fault_words(error)), {}
    entry.verdict = verdict
    add_rows(rows, written)
    return verdict


def add_rows(rows: Rows, more: Rows) -> None:
    """Domain rows beside those that are there already."""
    for table, added in more.items():
        rows.setdefault(table, []).extend(added)
