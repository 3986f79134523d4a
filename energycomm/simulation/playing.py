"""Simulates a market that publishes plain documents: which document on which day in which file, and its truth.

A market gives a `Writer`: what an event and a reading are in its words, how a document is written, and which mistakes
are made. Faults befall lives (`staging`); duplicates befall files: one comes again, as it was or written anew, which
may not change what becomes of a message.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Protocol

from energycomm.simulation.almanac import Almanac
from energycomm.simulation.consumption import Shape
from energycomm.simulation.expectation import Truth, TruthFile
from energycomm.simulation.faults import FaultDraw
from energycomm.simulation.lives import Life, Situation, Step, plan_life
from energycomm.simulation.scenario import Scenario
from energycomm.simulation.staging import Draft, Market, Stage, Told

MINUTE = 300
"""Minute of the morning at which documents are written."""


class Writer(Protocol):
    """How a market says it."""

    zone: str
    market: Market
    suffixes: Mapping[str, str]
    """Type -> ending of its files, where it is not ``.xml``."""

    def event(self, life: Life, step: Step, almanac: Almanac) -> Sequence[Draft]:
        """What is published of one event."""

    def reading(self, life: Life, situation: Situation, day: int, almanac: Almanac) -> Sequence[Draft]:
        """What is published of the meter's registers at midnight at the start of a day."""

    def document(self, drafts: Sequence[Draft], created: str, number: int) -> bytes:
        """A document of drafts of one type and group; `number` makes its identifier."""


@dataclass(slots=True)
class Count:
    """What was written."""

    envelopes: int = 0
    messages: int = 0
    bytes: int = 0
    by_type: dict[str, int] = field(default_factory=dict)


class Play:
    """One scenario played by one writer into a folder."""

    def __init__(self, scenario: Scenario, writer: Writer, folder: Path, truth: TruthFile) -> None:
        self.scenario, self.writer, self.folder, self.truth = scenario, writer, folder, truth
        self.almanac = Almanac(writer.zone, scenario.first, scenario.days)
        self.count = Count()
        self._chance = Random(f"duplicates {scenario.seed}")  # noqa: S311 - simulated chance
        self._twice = scenario.faults.rate("duplicate-file")
        self._late: dict[int, list[tuple[int, list[Draft]]]] = defaultdict(list)
        shape = Shape(self.almanac, Random(f"weather {scenario.seed}"))  # noqa: S311 - simulated weather
        classes = {name: rows for name, rows in writer.market.playable().items() if name != "duplicate-file"}
        draw = FaultDraw(scenario.faults, classes, scenario.seed)
        self.lives = [plan_life(scenario, n, shape, draw.draw()) for n in range(scenario.access_points)]
        self._stages = {
            life.number: Stage(life, writer.market, self._read_days(life)) for life in self.lives if life.fault
        }
        self._steps: dict[int, list[tuple[Life, Step]]] = defaultdict(list)
        for life in self.lives:
            for step in life.steps:
                self._steps[step.day].append((life, step))

    def run(self) -> Count:
        """Write everything, in the order of the days on which it is sent."""
        for day in range(self.scenario.days):
            self._send(day, [], late=True)
            drafts: list[Draft] = []
            for life, step in self._steps.get(day, ()):
                told = self.writer.event(life, step, self.almanac)
                stage = self._stages.get(life.number)
                drafts += told if stage is None else self._staged(day, stage.event(step, told))
            for life in self.lives:
                situation = life.situation(day)
                if situation is None or not self._reads(life, day):
                    continue
                told = self.writer.reading(life, situation, day, self.almanac)
                stage = self._stages.get(life.number)
                drafts += told if stage is None else self._staged(day, stage.reading(day, told))
            self._send(day, drafts)
        for day in sorted(self._late):
            self._send(day, [], late=True)
        return self.count

    def _reads(self, life: Life, day: int) -> bool:
        """Whether the meter is read at the start of a day: not on the first of a supply, which has its own reading."""
        situation = life.situation(day)
        if situation is None or situation.supply.start >= day:
            return False
        return life.daily or self.almanac.civil(day).day == life.reading_day

    def _read_days(self, life: Life) -> list[int]:
        return [day for day in range(self.scenario.days) if self._reads(life, day)]

    def _staged(self, day: int, told: Told) -> list[Draft]:
        kept, late = told
        for one in late:
            self._late[day + one.days].append((day + one.written, [one.draft]))
        return kept

    def _send(self, day: int, drafts: list[Draft], *, late: bool = False) -> None:
        batches = self._late.pop(day, []) if late else [(day, drafts)]
        for written, batch in batches:
            parts: dict[tuple[str, ...], list[Draft]] = defaultdict(list)
            for draft in batch:
                alone = (draft.reference,) if draft.spoil is not None else ()
                parts[draft.type, draft.group, *alone].append(draft)
            for together in parts.values():
                for start in range(0, len(together), self.scenario.per_file):
                    self._file(written, day, together[start : start + self.scenario.per_file])

    def _file(self, written: int, sent: int, drafts: list[Draft]) -> None:
        created = self.almanac.instant(written + 1, MINUTE)
        content = self.writer.document(drafts, created, self.count.envelopes + 1)
        again: bytes | None = None
        spoil = drafts[0].spoil
        if spoil is not None:
            self._put(sent, drafts, spoil(content.decode()).encode(), None)
            return
        if self._twice and self._chance.random() < self._twice:
            again = content
            if self._chance.random() < 0.5:  # the same messages in a document that was written anew
                later = self.almanac.instant(written + 1, MINUTE + 7)
                again = self.writer.document(drafts, later, self.count.envelopes + 2)
        name = self._put(sent, drafts, content, None if again is None else f"copies {self.count.envelopes + 1}")
        if again is not None:
            self._put(sent, drafts, again, f"copies {int(name.split('_')[1])}")

    def _put(self, sent: int, drafts: list[Draft], content: bytes, twin: str | None) -> str:
        self.count.envelopes += 1
        stamp = self.almanac.stamp(sent + 1, MINUTE)
        kind = drafts[0].type
        name = f"{stamp}_{self.count.envelopes:06d}_{kind}{self.writer.suffixes.get(kind, '.xml')}"
        (self.folder / name).write_bytes(content)
        for position, draft in enumerate(drafts, 1):
            self.truth.write(
                Truth(
                    envelope=name,
                    member=name,
                    position=position,
                    type=draft.type,
                    access_point=draft.access_point,
                    reference=draft.reference,
                    outcome=draft.outcome,
                    kinds=None if draft.kinds is None else tuple(sorted(draft.kinds)),
                    twin=None if twin is None else f"{twin} {position}",
                )
            )
        self.count.messages += len(drafts)
        self.count.bytes += len(content)
        self.count.by_type[drafts[0].type] = self.count.by_type.get(drafts[0].type, 0) + len(drafts)
        return name


def play(scenario: Scenario, writer: Writer, folder: Path) -> Count:
    """Play a scenario into a folder: envelopes under ``envelopes/``, and ``truth.jsonl`` beside them.

    Raises:
      FileExistsError: the folder holds the envelopes of an earlier simulation.
    """
    envelopes = folder / "envelopes"
    envelopes.mkdir(parents=True, exist_ok=True)
    if any(envelopes.iterdir()):
        raise FileExistsError(f"{envelopes} is not empty")
    with (folder / "truth.jsonl").open("wb") as file:
        return Play(scenario, writer, envelopes, TruthFile(file)).run()
