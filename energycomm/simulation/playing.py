"""Plays lives in a market: who says what on which day, in which envelope, and its truth.

The engine plans lives, plays faults on what is said of them (`staging`), keeps what is late, sends some envelopes
twice, and writes envelopes and truth. A market says what is told of a day, and what it is sent in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import ClassVar, NamedTuple, TypeAlias

from energycomm.simulation.almanac import Almanac
from energycomm.simulation.consumption import Draw, Load, Shape
from energycomm.simulation.expectation import Truth, TruthFile
from energycomm.simulation.faults import FaultDraw
from energycomm.simulation.lives import Life, Situation, Step, plan_life
from energycomm.simulation.scenario import Scenario
from energycomm.simulation.staging import Draft, Market, Place, Stage, places

MINUTE = 300
"""Minute of the morning at which documents are written."""
Seal: TypeAlias = Callable[[bytes], bytes]
"""Makes of an envelope what travels."""
Written: TypeAlias = tuple[int, Draft]
"""A message that comes late, and the day on which it was written."""


class Envelope(NamedTuple):
    """What is sent as one file.

    Attributes:
      name: of the file.
      content: its bytes.
      members: names of the members in it, each with its messages in their order.
      again: makes another envelope of the same messages; the number from 0 to 1 chooses whether it has the same bytes.
    """

    name: str
    content: bytes
    members: Sequence[tuple[str, Sequence[Draft]]]
    again: Callable[[float], Envelope] | None = None


@dataclass(slots=True)
class Count:
    """What was written."""

    envelopes: int = 0
    messages: int = 0
    bytes: int = 0
    by_type: dict[str, int] = field(default_factory=lambda: defaultdict(int))


class Play(ABC):
    """One scenario played in one market.

    Attributes:
      zone: legal time of the market.
      market: whose faults are played.
      almanac, lives: of the scenario.
      steps: what happens by day.
      count: what is written so far.
    """

    zone: ClassVar[str]
    market: ClassVar[Market]

    def __init__(self, scenario: Scenario) -> None:
        """Plan all lives of a scenario."""
        self.scenario = scenario
        self.almanac = Almanac(self.zone, scenario.first, scenario.days)
        self.count = Count()
        self._late: dict[int, list[Written]] = defaultdict(list)
        shape = Shape(self.almanac, Random(f"weather {scenario.seed}"))  # noqa: S311 - simulated weather
        classes = {name: rows for name, rows in self.market.playable().items() if name != "duplicate-file"}
        draw = FaultDraw(scenario.faults, classes, scenario.seed)
        self.lives: list[Life] = []
        self.steps: dict[int, list[tuple[Life, Step]]] = defaultdict(list)
        for number in range(scenario.access_points):
            fault = draw.draw()
            daily = self.market.wants_daily(fault)
            life = plan_life(scenario, number, shape, fault, daily=daily, drawn=self.drawn)
            self.lives.append(life)
            for step in life.steps:
                self.steps[step.day].append((life, step))
        self.stages = {life.number: Stage(life, self.market, self.places(life)) for life in self.lives if life.fault}

    def drawn(self, number: int, load: Load) -> Draw:
        """What an access point draws: a plain load; a play of people with habits says otherwise."""
        return load

    @abstractmethod
    def drafts(self, day: int) -> Iterator[Draft]:
        """What is told of a day."""

    @abstractmethod
    def envelopes(self, day: int, drafts: list[Draft], late: list[Written]) -> Iterator[Envelope]:
        """What is sent after a day; the next one is asked for when the one before is written.

        Args:
          day: the day.
          drafts: what is told of it.
          late: what comes late on that day.
        """

    def places(self, life: Life) -> Mapping[str, Place]:
        """The messages of a faulty life that faults may be played on."""
        return places(life, [day for day in range(self.scenario.days) if self.read(life, day)])

    def read(self, life: Life, day: int) -> Situation | None:
        """The situation of a life whose meter is read at the start of a day; None where it is not.

        It is not on the first day of a supply, which has a reading of its own.
        """
        periodic = life.daily or self.almanac.civil(day).day == life.reading_day
        return life.situation(day) if periodic else None

    def later(self, day: int, draft: Draft, written: int) -> None:
        """Send a message late: on a day, written on another."""
        self._late[day].append((written, draft))

    def write(self, folder: Path, truth: TruthFile, seal: Seal | None = None) -> Count:
        """Write everything, in the order of the days on which it is sent.

        Args:
          folder: of the envelopes.
          truth: where to write what should become of their messages.
          seal: makes of each envelope what travels.
        """
        self._folder, self._truth, self._seal = folder, truth, seal
        self._chance = Random(f"duplicates {self.scenario.seed}")  # noqa: S311 - simulated chance
        for day in range(self.scenario.days):
            self._send(day, [draft for told in self.drafts(day) for draft in self._staged(day, told)])
        for day in sorted(self._late):
            self._send(day, [])
        return self.count

    def _staged(self, day: int, draft: Draft) -> Iterable[Draft]:
        stage = self.stages.get(draft.life)
        if stage is None:
            return (draft,)
        kept, late = stage.play(draft)
        for one in late:
            self.later(day + one.days, one.draft, day + one.written)
        return kept

    def _send(self, day: int, drafts: list[Draft]) -> None:
        twice = self.scenario.faults.rate("duplicate-file")
        for envelope in self.envelopes(day, drafts, self._late.pop(day, [])):
            if envelope.again is None or not twice or self._chance.random() >= twice:
                self._write(envelope, None)
            else:
                self._write(envelope, envelope)
                self._write(envelope.again(self._chance.random()), envelope)

    def _write(self, envelope: Envelope, first: Envelope | None) -> None:
        """Write an envelope and its truth; `first` is the one that it repeats, or itself where it is repeated."""
        content = self._seal(envelope.content) if self._seal else envelope.content
        (self._folder / envelope.name).write_bytes(content)
        count = self.count
        count.envelopes += 1
        count.bytes += len(content)
        for number, (member, drafts) in enumerate(envelope.members):
            for position, draft in enumerate(drafts, 1):
                twin = f"{first.name} {first.members[number][0]} {position}" if first else None
                self._truth.write(
                    Truth(
                        envelope=envelope.name,
                        member=member,
                        position=position,
                        type=draft.type,
                        access_point=draft.access_point,
                        reference=draft.reference,
                        outcome=draft.outcome,
                        kinds=None if draft.kinds is None else tuple(sorted(draft.kinds)),
                        twin=draft.twin or twin,
                    )
                )
                count.messages += 1
                count.by_type[draft.type] += 1


class DocumentPlay(Play):
    """A market that publishes plain documents, each a file of its own.

    Duplicates befall files: one comes again, as it was or written anew.
    """

    suffixes: ClassVar[Mapping[str, str]] = {}
    """Type -> ending of its files, where it is not ``.xml``."""

    @abstractmethod
    def event(self, life: Life, step: Step) -> Iterable[Draft]:
        """What is published of one event."""

    @abstractmethod
    def reading(self, life: Life, situation: Situation, day: int) -> Iterable[Draft]:
        """What is published of the meter's registers at midnight at the start of a day."""

    @abstractmethod
    def document(self, drafts: Sequence[Draft], created: str, number: int) -> bytes:
        """A document of drafts of one type and group; `number` makes its identifier."""

    def mistaken(self, life: Life, target: str, day: int | None = None) -> str | None:
        """The type of message that a life is sent for the sake of its mistake at a target; with a day only on that of
        the target itself."""
        row = self.market.mistakes.get(life.fault or "")
        if row is None or row.target != target:
            return None
        return row.type if day in (None, self.stages[life.number].places[target][1]) else None

    def drafts(self, day: int) -> Iterator[Draft]:
        """Events, and then readings."""
        for life, step in self.steps[day]:
            for draft in self.event(life, step):
                yield draft._replace(life=life.number, place=("event", day))
        for life in self.lives:
            situation = self.read(life, day)
            if situation is not None:
                for draft in self.reading(life, situation, day):
                    yield draft._replace(life=life.number, place=("reading", day))

    def envelopes(self, day: int, drafts: list[Draft], late: list[Written]) -> Iterator[Envelope]:
        """A file for each type and group; what is late comes first, in the files of the days it was written on."""
        parts: dict[tuple[str, ...], list[Draft]] = defaultdict(list)
        for draft in drafts:
            alone = (draft.reference,) if draft.spoil is not None else ()
            parts[draft.type, draft.group, *alone].append(draft)
        size = self.scenario.per_file
        for written, together in [
            *((written, [draft]) for written, draft in late),
            *((day, p) for p in parts.values()),
        ]:
            for start in range(0, len(together), size):
                yield self._file(written, day, together[start : start + size])

    def _file(self, written: int, sent: int, drafts: Sequence[Draft], after: int = 0) -> Envelope:
        number = self.count.envelopes + 1
        kind, spoil = drafts[0].type, drafts[0].spoil
        content = self.document(drafts, self.almanac.instant(written + 1, MINUTE + after), number)
        stamp = self.almanac.stamp(sent + 1, MINUTE)
        name = f"{stamp}_{number:06d}_{kind}{self.suffixes.get(kind, '.xml')}"

        def again(choice: float) -> Envelope:
            anew = self._file(written, sent, drafts, 7)
            return anew if choice < 0.5 else anew._replace(content=content)

        if spoil is not None:
            return Envelope(name, spoil(content.decode()).encode(), [(name, drafts)])
        return Envelope(name, content, [(name, drafts)], again)


def play(scenario: Scenario, market: type[Play], folder: Path, seal: Seal | None = None) -> Count:
    """Play a scenario into a folder: envelopes under ``envelopes/``, and ``truth.jsonl`` beside them.

    Args:
      scenario: what to play.
      market: in which market.
      folder: made when it does not exist.
      seal: makes of each envelope what travels.

    Raises:
      FileExistsError: the folder holds the envelopes of an earlier simulation.
    """
    envelopes = folder / "envelopes"
    envelopes.mkdir(parents=True, exist_ok=True)
    if any(envelopes.iterdir()):
        raise FileExistsError(f"{envelopes} is not empty")
    with (folder / "truth.jsonl").open("wb") as file:
        return market(scenario).write(envelopes, TruthFile(file), seal)
