"""Lives of access points: who is supplied when, on which terms, through which meter. No market's words in here.

A life is planned at once from a random source of its own, so that a life does not change when others are added. It
is a list of steps in order of time; each step carries the situation that holds after it, which is all that the writer
of a market needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from energycomm.kernel.vocabulary import Reason
from energycomm.simulation.consumption import Draw, Load, Shape
from energycomm.simulation.meters import FOUR, ONE, TWO, Band, Meter, first_meter
from energycomm.simulation.people import Customer, Place, draw_customer, draw_place
from energycomm.simulation.scenario import Scenario

POWERS = (3, 6, 6, 6, 9, 9, 12, 15, 18, 24, 36)
ENTRIES: tuple[Reason, ...] = ("first-connection", "move-in", "supplier-switch")
EXITS: tuple[Reason, ...] = ("move-out", "supplier-switch")


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of the grid contract: subscribed power in kVA, and the time classes by hours and seasons."""

    power: int
    peak: bool
    seasonal: bool

    @property
    def supplier_bands(self) -> tuple[Band, ...]:
        """Registers of the supplier's grid."""
        return TWO if self.peak else ONE

    @property
    def distributor_bands(self) -> tuple[Band, ...]:
        """Registers of the grid operator's grid."""
        return FOUR if self.seasonal else self.supplier_bands


@dataclass(slots=True, eq=False)
class Supply:
    """One span of supply: from an entry to an exit.

    Attributes:
      number: running number over the access point, from 1.
      start, end: first day, and first day without us (None while it runs).
      entry, exit: why it began and ended.
    """

    number: int
    start: int
    entry: Reason
    end: int | None = None
    exit: Reason | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """All that holds of a supplied access point after a step."""

    supply: Supply
    customer: Customer
    sequence: int
    sequence_start: int
    terms: Terms
    meter: Meter
    level: int


@dataclass(slots=True)
class Step:
    """One event of a life. `minute` counts on the clock of the day; `before` is None at an entry."""

    day: int
    minute: int
    reason: Reason
    after: Situation
    before: Situation | None = None

    @property
    def enters(self) -> bool:
        """The step begins a supply."""
        return self.before is None

    @property
    def leaves(self) -> bool:
        """The step ends the supply."""
        return self.after.supply.end == self.day and not self.enters


@dataclass(slots=True)
class Life:
    """An access point and everything that happens to it.

    Attributes:
      number: running number over the simulation, from 0.
      place, load: where it is and what it draws.
      reading_day: day of the month of the periodic reading, 1 to 28.
      daily: it sends an index every day.
      fault: what goes wrong in this life, in the words of the market's simulator; None when nothing does.
    """

    number: int
    place: Place
    load: Draw
    reading_day: int
    daily: bool
    fault: str | None = None
    steps: list[Step] = field(default_factory=list)

    def situation(self, day: int) -> Situation | None:
        """The situation at the first minute of a day before anything happens on it; None when not supplied then."""
        found = None
        for step in self.steps:
            if step.day >= day:
                break
            found = None if step.leaves else step.after
        return found

    def supplied_through(self, day: int) -> Situation | None:
        """The situation at the end of a day; None when the day was not supplied."""
        return self.situation(day + 1)


class _Course:
    """The planning of one life, step after step."""

    def __init__(self, life: Life, rng: Random, days: int) -> None:
        self.life, self.rng, self.days = life, rng, days
        self.now: Situation | None = None
        self.supplies = 0
        self.meter: Meter | None = None
        self.terms = Terms(rng.choice(POWERS), rng.random() < 0.55, False)

    def serial(self) -> str:
        return f"{self.rng.randrange(10**13, 10**14)}"

    def enter(self, day: int, reason: Reason) -> None:
        rng, life = self.rng, self.life
        if self.meter is None:
            smart = life.daily or rng.random() < 0.85
            start = rng.randrange(20_000, 4_000_000 if reason == "first-connection" else 60_000_000)
            if not smart and rng.random() < 0.25:
                start = 10**8 - rng.randrange(50_000, 900_000)  # the register is about to pass through zero
            self.meter = first_meter(self.serial(), smart=smart, start=start, load=life.load, day=day)
            self.terms = replace(self.terms, seasonal=smart and rng.random() < 0.6)
        self.supplies += 1
        supply = Supply(self.supplies, day, reason)
        level = 2 if life.daily else int(self.meter.smart)
        after = Situation(supply, draw_customer(rng), 1, day, self.terms, self.meter, level)
        life.steps.append(Step(day, 0, reason, after))
        self.now = after

    def leave(self, day: int, reason: Reason) -> None:
        assert self.now is not None
        self.now.supply.end, self.now.supply.exit = day, reason
        self.life.steps.append(Step(day, 0, reason, self.now, self.now))
        self.terms, self.meter, self.now = self.now.terms, self.now.meter, None

    def change_terms(self, day: int) -> None:
        """Another subscribed power; on a smart meter now and then another tariff too."""
        assert self.now is not None
        terms = self.now.terms
        power = self.rng.choice([p for p in POWERS if p != terms.power])
        changed = replace(terms, power=power)
        if self.now.meter.smart and self.life.fault is None and self.rng.random() < 0.5:
            changed = replace(changed, peak=not terms.peak)
        self._sequence(day, 1, "contract-change", terms=changed)

    def change_meter(self, day: int) -> None:
        """A new meter, or on a smart one the finer calendar switched on."""
        assert self.now is not None
        rng, now = self.rng, self.now
        minute = rng.randrange(8 * 60, 17 * 60)
        if now.meter.smart and not now.terms.seasonal:
            self._sequence(day, minute, "meter-change", terms=replace(now.terms, seasonal=True))
            return
        meter = Meter(self.serial(), True, 6, rng.randrange(20_000, 60_000), self.life.load.until(day, minute))
        self._sequence(day, minute, "meter-change", meter=meter)

    def change_master_data(self, day: int) -> None:
        """Point data without a reading: the level of services goes up or down."""
        assert self.now is not None
        level = self.now.level
        if self.now.meter.smart and not self.life.daily:
            level = 2 if level < 2 else 1
        self._append(day, 3, "master-data-change", replace(self.now, level=level))

    def change_customer(self, day: int) -> None:
        """The same customer with other details: the telephone number."""
        assert self.now is not None
        customer = replace(self.now.customer, phone=f"07{self.rng.randrange(10**8):08d}")
        self._append(day, 4, "customer-change", replace(self.now, customer=customer))

    def _sequence(
        self, day: int, minute: int, reason: Reason, terms: Terms | None = None, meter: Meter | None = None
    ) -> None:
        assert self.now is not None
        now = self.now
        after = replace(
            now, sequence=now.sequence + 1, sequence_start=day, terms=terms or now.terms, meter=meter or now.meter
        )
        self._append(day, minute, reason, after)

    def _append(self, day: int, minute: int, reason: Reason, after: Situation) -> None:
        self.life.steps.append(Step(day, minute, reason, after, self.now))
        self.now = after


def _walk(course: _Course, day: int) -> None:
    """Let chance lead a life from its first entry to the end of the simulation."""
    rng = course.rng
    course.enter(day, rng.choices(ENTRIES, (8, 40, 52))[0])
    while True:
        day += 3 + int(rng.expovariate(1 / 75))
        if day >= course.days:
            return
        if course.now is None:
            course.enter(day, rng.choices(ENTRIES[1:], (70, 30))[0])
            continue
        what = rng.choices(("terms", "point", "customer", "meter", "leave"), (25, 28, 6, 15, 26))[0]
        if what == "leave":
            course.leave(day, rng.choices(EXITS, (65, 35))[0])
            if course.rng.random() < 0.35:
                return
        else:
            _change(course, what, day)


def _change(course: _Course, what: str, day: int) -> None:
    changes = {
        "terms": course.change_terms,
        "point": course.change_master_data,
        "customer": course.change_customer,
        "meter": course.change_meter,
    }
    changes[what](day)


def _full(course: _Course, day: int) -> None:
    """A life with one of everything at a calm pace: the stage on which a fault is played.

    Supplied twice, from the first days to the end, with changes early in the first supply and in the second;
    long quiet stretches between them, so that a fault can be told from its surroundings. The meter is a smart one that
    tells seasons and hours apart.
    """
    rng, span = course.rng, course.days - 12 - day
    start = rng.randrange(40_000_000, 60_000_000)
    course.meter = first_meter(course.serial(), smart=True, start=start, load=course.life.load, day=day)
    course.terms = Terms(rng.choice(POWERS), peak=True, seasonal=True)
    course.enter(day, rng.choices(ENTRIES, (8, 40, 52))[0])
    for share, what in ((25, "terms"), (40, "point"), (45, "customer")):
        _change(course, what, day + span * share // 100)
    course.leave(day + span * 70 // 100, rng.choice(EXITS))
    course.enter(day + span * 72 // 100, "move-in")
    _change(course, "point", day + span * 85 // 100)


def plan_life(
    scenario: Scenario,
    number: int,
    shape: Shape,
    fault: str | None = None,
    *,
    daily: bool | None = None,
    supplied_from: int | None = None,
    drawn: Callable[[int, Load], Draw] | None = None,
) -> Life:
    """Plan the life of one access point.

    Args:
      scenario: of the whole simulation.
      number: of the access point, from 0.
      shape: course of consumption.
      fault: what will go wrong; such a life has one of everything.
      daily: whether it sends an index every day; None to leave it to chance.
      supplied_from: day of the only thing that happens, an entry; None for a whole life.
      drawn: what the access point draws instead of a plain load, from its number and that load.

    Returns:
      The life; its steps are in order of time, at least three days apart, and lie within the scenario's days.
    """
    rng = Random(f"life {scenario.seed} {number}")  # noqa: S311 - simulated lives
    load = Load(shape, rng.randrange(1_200_000, 5_500_000), rng.randint(52, 72))
    often = rng.random() < scenario.daily_share if daily is None else daily
    life = Life(
        number, draw_place(rng), load if drawn is None else drawn(number, load), rng.randint(1, 28), often, fault
    )
    course = _Course(life, rng, scenario.days)
    if supplied_from is not None:
        course.enter(supplied_from, "move-in")
    elif fault is not None:
        _full(course, rng.randint(0, 6))
    else:
        first = rng.randrange(0, 15) if rng.random() < 0.7 else rng.randrange(0, max(16, scenario.days // 2))
        if first < scenario.days:
            _walk(course, first)
    return life
