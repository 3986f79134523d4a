"""The French market of a simulation: day after day, what Enedis publishes about all lives, as envelopes in a folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

from adapters.fr_enedis.simulator import affairs, contract_events, readings, requests
from adapters.fr_enedis.simulator.billing import Biller
from adapters.fr_enedis.simulator.delivery import Counts, Encrypt, Member, Post, truths_of, written
from adapters.fr_enedis.simulator.drafting import Drafter, chance
from adapters.fr_enedis.simulator.drafts import BillingReadingDraft, ChargeDraft, DailyReadingDraft, Draft, EventDraft
from adapters.fr_enedis.simulator.mistakes import MISTAKES, playable
from adapters.fr_enedis.simulator.stage import Flux, Stage, wants_daily
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.consumption import Shape
from energycomm.simulation.expectation import TruthFile
from energycomm.simulation.faults import FaultDraw
from energycomm.simulation.lives import Life, plan_life
from energycomm.simulation.scenario import Scenario

ZONE = "Europe/Paris"
SNAPSHOT_EVERY = 7
"""Days between two snapshots of the affaires."""
_D = TypeVar("_D", bound=Draft)


class Form(NamedTuple):
    """How one flux is written: start of a document, each message, end, and the minute of the morning it is sent."""

    head: Callable[[str], str]
    body: Callable[[Any], str]
    tail: str
    minute: int


FORMS: dict[str, Form] = {
    "C15": Form(contract_events.head, contract_events.event_xml, contract_events.TAIL, 310),
    "R15": Form(readings.billing_head, readings.billing_xml, readings.BILLING_TAIL, 301),
    "R151": Form(readings.daily_head, readings.daily_xml, readings.DAILY_TAIL, 189),
}


class Market:
    """Plays a scenario and writes its envelopes."""

    def __init__(self, scenario: Scenario, post: Post) -> None:
        """Plan all lives of `scenario`; envelopes go to `post`."""
        self.scenario = scenario
        self.post = post
        self.almanac = Almanac(ZONE, scenario.first, scenario.days)
        self.drafter = Drafter(self.almanac)
        self.biller = Biller(scenario, self.almanac, self.drafter, post)
        self.lives = self._plan()
        self._stages = {
            life.number: Stage(life, self.almanac, self.biller.charged) for life in self.lives if life.fault is not None
        }
        self._steps: dict[int, list[tuple[Life, int]]] = defaultdict(list)
        self._by_reading_day: dict[int, list[Life]] = defaultdict(list)
        self._daily = [life for life in self.lives if life.daily]
        self._affairs: dict[tuple[int, int], affairs.Affair] = {}
        self._open: list[affairs.Affair] = []
        self._late: dict[int, list[Draft]] = defaultdict(list)
        for life in self.lives:
            self._by_reading_day[life.reading_day].append(life)
            for index, step in enumerate(life.steps):
                self._steps[step.day].append((life, index))
            for index, affair in affairs.affairs_of(life).items():
                self._affairs[life.number, index] = affair
                self._open.append(affair)

    def _plan(self) -> list[Life]:
        scenario = self.scenario
        shape = Shape(self.almanac, Random(f"weather {scenario.seed}"))  # noqa: S311 - simulated weather
        draw = FaultDraw(scenario.faults, playable(), scenario.seed)
        lives = []
        for number in range(scenario.access_points):
            fault = draw.draw()
            daily = wants_daily(fault) if fault else None
            lives.append(plan_life(scenario, number, shape, fault, daily=daily))
        return lives

    def play(self) -> None:
        """Write all envelopes, in the order of the days on which they are sent."""
        for day in range(self.scenario.days):
            self._day(day)
        for day in sorted(self._late):
            self._publish_day(day, [], [], [])

    def _day(self, day: int) -> None:
        """What is published about one day, on the two mornings after it."""
        billing = self._billing(day)
        events = []
        for life, index in self._steps.pop(day, ()):
            affair = self._affairs.get((life.number, index))
            step = life.steps[index]
            event = self.drafter.event(life, step, affair.identifier if affair else None)
            events += self._played("C15", index, life, step.after.supply.number, day, event)
        daily = []
        for life in self._daily:
            situation = life.supplied_through(day)
            if situation is not None:
                reading = self.drafter.daily(life, situation, day)
                daily += self._played("R151", day, life, situation.supply.number, day, reading)
        self._publish_day(day, events, billing, daily)
        if self.almanac.civil(day).day == 5:
            self._invoice(day)
        if day % SNAPSHOT_EVERY == SNAPSHOT_EVERY - 1:
            self._snapshot(day)

    def _publish_day(
        self, day: int, events: list[EventDraft], billing: list[BillingReadingDraft], daily: list[DailyReadingDraft]
    ) -> None:
        late = self._late.pop(day, [])
        events += [draft for draft in late if isinstance(draft, EventDraft)]
        billing += [draft for draft in late if isinstance(draft, BillingReadingDraft)]
        daily += [draft for draft in late if isinstance(draft, DailyReadingDraft)]
        self._publish("C15", day + 1, events)
        self._publish("R15", day + 1, billing)
        self._publish("R151", day + 2, daily)

    def _played(self, flux: Flux, place: int, life: Life, supply: int, day: int, draft: _D) -> list[_D]:
        """The draft as it is published today: with its life's fault played on it, or not at all."""
        stage = self._stages.get(life.number)
        if stage is None:
            return [draft]
        draft.outcome = stage.fate(flux, supply, day)
        now, late = stage.play((flux, place), draft)
        for days, other in late:
            if isinstance(other, ChargeDraft):
                self.biller.later.append(other)
            else:
                self._late[day + days].append(other)
        return [] if now is None else [now]

    def _billing(self, day: int) -> list[BillingReadingDraft]:
        drafts: list[BillingReadingDraft] = []
        leaving = set()
        for life, index in self._steps.get(day, ()):
            step = life.steps[index]
            if step.leaves:
                leaving.add(life.number)
                motive = "RES" if step.reason == "move-out" else "CFNS"
                draft = self.drafter.billing(life, step.after, day, motive)
                draft.outcome = self._fate("R15", life, step.after.supply.number, day)
                drafts.append(draft)
        for life in self._by_reading_day[self.almanac.civil(day).day]:
            situation = life.situation(day)
            if situation is None or life.number in leaving:
                continue
            draft = self.drafter.billing(life, situation, day, "CYCL")
            if not life.daily and life.fault is None and chance(life.number, day, 8, 60) == 0:
                draft, right = self.drafter.correction(draft)
                self._late[day + 3].append(right)
            drafts += self._played("R15", day, life, situation.supply.number, day, draft)
        return drafts

    def _fate(self, flux: Flux, life: Life, supply: int, day: int) -> Any:
        stage = self._stages.get(life.number)
        return stage.fate(flux, supply, day) if stage else None

    def _invoice(self, day: int) -> None:
        """The invoice of the month before, and the faulty ones that are not of any access point."""

        def played(life: Life, supply: int, last: int, charge: ChargeDraft) -> list[ChargeDraft]:
            return self._played("F15", last, life, supply, last, charge)

        self.biller.invoice(day, self.lives, played)
        if day > self.scenario.days // 2:
            for life in self.lives:
                row = MISTAKES.get(life.fault or "")
                if row is not None and row.target == "invoice" and life.number in self._stages:
                    self.biller.general_only(day, row)
                    del self._stages[life.number]

    def _snapshot(self, day: int) -> None:
        """The affaires as they stand, those that closed lately included."""
        minute = 557
        shown: dict[str, list[Any]] = {"X12": [], "X13": []}
        for affair in self._open:
            draft = affairs.snapshot(affair, self.almanac, day, minute)
            if draft is not None:
                shown["X13" if affair.received else "X12"].append(draft)
        self._open = [affair for affair in self._open if day - affair.last <= affairs.SEEN]
        created, stamp = self.almanac.instant(day, minute)[:19], self.almanac.stamp(day, minute)
        for flux, drafts in shown.items():
            if drafts:
                envelope = self.post.name(flux, stamp)
                name = f"{envelope}.xml"
                bodies = written(drafts, requests.request_xml)
                content = requests.head(flux, created, len(drafts)) + "".join(bodies) + requests.TAIL
                self.post.send(
                    flux, envelope, stamp, [Member(name, content.encode(), truths_of(flux, envelope, name, drafts))]
                )

    def _publish(self, flux: str, day: int, drafts: Sequence[Any]) -> None:
        """Write the envelope of a flux with all drafts, split into members of at most so many access points."""
        together = [draft for draft in drafts if not draft.alone]
        for part in (together, *([draft] for draft in drafts if draft.alone)):
            if part:
                self._envelope(flux, day, part)

    def _envelope(self, flux: str, day: int, drafts: Sequence[Any]) -> None:
        form = FORMS[flux]
        created, stamp = self.almanac.instant(day, form.minute), self.almanac.stamp(day, form.minute)
        envelope = self.post.name(flux, stamp)
        size = self.scenario.per_file
        parts = [drafts[n : n + size] for n in range(0, len(drafts), size)]
        members = []
        for n, part in enumerate(parts, 1):
            name = f"{envelope}_{n:05d}_{len(parts):05d}.xml"
            content = form.head(created) + "".join(written(part, form.body)) + form.tail
            if part[0].alone:
                content = part[0].edit(content)
            members.append(Member(name, content.encode(), truths_of(flux, envelope, name, part)))
        self.post.send(flux, envelope, stamp, members)


def simulate_market(scenario: Scenario, folder: Path, encrypt: Encrypt | None = None) -> Counts:
    """Play a scenario into a folder: envelopes under ``envelopes/``, and ``truth.jsonl`` beside them.

    Args:
      scenario: what to play.
      folder: made when it does not exist; there must be no envelopes in it yet.
      encrypt: what makes encrypted envelopes of zips; None for plain zips.

    Returns:
      What was written.

    Raises:
      FileExistsError: the folder holds the envelopes of an earlier simulation.
    """
    envelopes = folder / "envelopes"
    envelopes.mkdir(parents=True, exist_ok=True)
    if any(envelopes.iterdir()):
        raise FileExistsError(f"{envelopes} is not empty")
    with (folder / "truth.jsonl").open("wb") as file:
        post = Post(envelopes, TruthFile(file), encrypt, scenario.faults.rate("duplicate-file"), scenario.seed)
        Market(scenario, post).play()
    return post.counts
