"""The fold: the messages of one access point, judged one after the other in business order.

Each message is judged against what the earlier ones left, and what an accepted one does is there for the next. The
result depends on the set of messages alone, never on the order in which they arrived. A message that arrives late
makes the later ones be judged again (`energycomm.pipeline.reassessment`).
"""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct, field

from energycomm.kernel.family import FUNCTION_RANK, RANK
from energycomm.kernel.history import NO_HISTORY, History
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Action, Verdict
from energycomm.pipeline.effects import VERB_FUNCTIONS, Rows, Step, accept
from energycomm.pipeline.facts import history_of
from energycomm.pipeline.state import AccessPointState, dump_state

CHECKPOINT_EVERY = 12
"""Messages of an access point between two stored states that late messages can be judged from."""

APPLIED = frozenset(("accepted", "treated"))
"""States of a message whose effects hold."""


class Judge(Protocol):
    """What the fold needs of a rule engine."""

    def judge(self, message: KernelMessage, history: History) -> Verdict:
        """Validate, then qualify or reject."""

    def qualify(self, message: KernelMessage, history: History) -> tuple[Action, ...]:
        """What an accepted message asks for."""


class Entry(Struct):
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
    kind = type(message).__name__
    return (at, RANK.get(kind, 99), FUNCTION_RANK[message.function], micros(message.created), identity, position)


class Fold(Struct):
    """A walk through messages of one access point.

    Attributes:
      engine: the rules.
      state: changed as the walk goes on.
      access_point_id: id in the EIS.
      rows: domain rows that accepted messages write, without their ids.
      since_checkpoint: messages judged since the last stored state.
      checkpoints: (instant, state bytes) to store.
    """

    engine: Judge
    state: AccessPointState
    access_point_id: int
    rows: Rows
    since_checkpoint: int = 0
    checkpoints: list[tuple[int, bytes]] = field(default_factory=list)

    def judge(self, entry: Entry) -> Verdict:
        """Judge one message that comes after all earlier ones, and do what it says when it is accepted."""
        state = self.state
        if entry.at > state.at:
            if self.since_checkpoint >= CHECKPOINT_EVERY:
                self._checkpoint(entry.at)
            state.advance(entry.at)
        self.since_checkpoint += 1
        verdict = self.engine.judge(entry.message, history_of(state, entry.message, entry.at))
        entry.verdict = verdict
        if verdict.label == "accepted":
            self._apply(entry, verdict.actions)
        return verdict

    def replay(self, entry: Entry) -> None:
        """Walk past a message whose verdict stands: only what it did is done to the state again."""
        state = self.state
        if entry.at > state.at:
            if self.since_checkpoint >= CHECKPOINT_EVERY:
                self._checkpoint(entry.at)
            state.advance(entry.at)
        self.since_checkpoint += 1
        if entry.before in APPLIED:
            actions = self.engine.qualify(entry.message, history_of(state, entry.message, entry.at))
            self._apply(entry, actions)

    def _apply(self, entry: Entry, actions: tuple[Action, ...]) -> None:
        step = Step(self.state, entry.message, entry.at, entry.message_id, self.access_point_id, self.rows)
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
    verdict = engine.judge(entry.message, NO_HISTORY)
    entry.verdict = verdict
    if verdict.label == "accepted":
        step = Step(AccessPointState(), entry.message, entry.at, entry.message_id, 0, rows)
        for action in verdict.actions:
            function = VERB_FUNCTIONS.get(action.verb)
            if function is not None:
                function(step)
    return verdict
