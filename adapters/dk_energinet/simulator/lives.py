"""Writes simulated lives in the documents of the Danish hub: data of points with the starts of their supply, customers,
ends of supply told ahead and taken back, measures by the hour, quarter or month, sums and settlements of grid areas.

Most documents are of CIM, of every third life in JSON; measures of some lives, and what is said of an area now and
then, come in ebIX. A life whose mistake is made in another document is sent that document, right but for the mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import ClassVar

from adapters.dk_energinet.simulator import documents as hub
from adapters.dk_energinet.simulator.documents import (
    ACCOUNT,
    AMOUNTS,
    AREAS,
    ASK_AMOUNTS,
    ASK_MEASURES,
    ASK_POINT,
    ASK_SUMS,
    ASK_SWITCH,
    CONFIRMED,
    CUSTOMER,
    JSON,
    MEASURES,
    NO_MEASURES,
    NO_SUMS,
    NOTICE,
    OLD_AMOUNTS,
    OLD_MEASURES,
    OLD_RECEIVED,
    OLD_REMINDER,
    OLD_SUMS,
    POINT_CHANGED,
    POINT_KEPT,
    REJECTED,
    REMINDER,
    SUMS,
    Amount,
    Charge,
    Home,
    Span,
    access_point,
)
from adapters.dk_energinet.simulator.mistakes import FAULTS, MONTHLY, UNCONNECTED
from energycomm.simulation.lives import Life, Situation, Step
from energycomm.simulation.playing import DocumentPlay, Envelope, Written
from energycomm.simulation.staging import Draft

ZONE = "Europe/Copenhagen"
AHEAD = 2
"""Days before it that the end of a supply by another supplier is told."""
_PROCESSES = {
    "first-connection": "E02",
    "move-in": "E65",
    "supplier-switch": "E03",
    "move-out": "E66",
    "contract-change": "E32",
    "master-data-change": "E32",
    "customer-change": "E34",
    "meter-change": "E84",
}
_WRITTEN_AS = {MONTHLY: MEASURES, UNCONNECTED: MEASURES}
"""The simulation's names of types -> the hub's."""
_TOWNS = (("Eksempelby", "9990", "0851"), ("Prøvestrup", "9991", "0840"), ("Fiktivholm", "9992", "0787"))
_STREETS = ("Solsikkevej", "Kirkegade", "Nørregade", "Åvænget")
_ASKED = {ASK_MEASURES: "E30", ASK_SUMS: "D04", ASK_AMOUNTS: "D05", ASK_SWITCH: "E03"}
"""Copy of a request -> process of its header."""
_SUMS_ON, _REMINDED_ON, _SETTLED_ON = 5, 15, 10
"""Days of the month on which sums, reminders and settlements are sent."""


class DanishPlay(DocumentPlay):
    """Lives in Denmark."""

    zone = ZONE
    market = FAULTS
    suffixes: ClassVar[Mapping[str, str]] = {
        f"{label}{JSON}": ".json"
        for label in (
            ACCOUNT, CUSTOMER, NOTICE, MEASURES, SUMS, AMOUNTS, REMINDER, CONFIRMED,
            ASK_POINT, POINT_CHANGED, POINT_KEPT,
        )
    }  # fmt: skip

    # --- what is told ---

    def drafts(self, day: int) -> Iterator[Draft]:
        """What is told of a day; ends of supply by another supplier two days ahead, and what is said of grid areas."""
        for life, step in self.steps.get(day + AHEAD, ()):
            if step.leaves and step.reason == "supplier-switch":
                yield self._end(life, step)._replace(life=life.number, place=("event", step.day))
        yield from super().drafts(day)
        for life, step in self.steps.get(day - 1, ()):
            if _withdrawn(life, step):
                yield self._taken_back(life, step)._replace(life=life.number, place=("event", step.day))
        civil = self.almanac.civil(day)
        if civil.day == _SUMS_ON and day > _SUMS_ON:
            yield from self._areas(day)
        if civil.day == _SETTLED_ON:
            yield from self._settlements(day)
        if civil.day == _REMINDED_ON:
            yield from self._reminders(day)

    def event(self, life: Life, step: Step) -> Iterable[Draft]:
        """Data of the point or its customer; with the start of a supply both; the end of a supply."""
        if step.leaves:
            if step.reason != "supplier-switch":
                yield self._end(life, step)
        elif step.enters:
            if step.reason == "supplier-switch" and life.fault is None:
                yield self._confirmed(life, step)
            yield self._point(life, step.after, step.day, _PROCESSES[step.reason], starts=True)
            yield self._customer(life, step.after, step.day, _PROCESSES[step.reason])
        elif step.reason == "customer-change":
            yield self._customer(life, step.after, step.day, "E34")
            if _withdrawn(life, step):
                yield self._announced(life, step)
        else:
            if life.fault is None:
                yield from self._asked_by_the_grid_company(life, step)
            yield self._point(life, step.after, step.day, _PROCESSES[step.reason])

    def read(self, life: Life, day: int) -> Situation | None:
        """As everywhere; where a meter is read for whole months, on their first days."""
        if not _monthly(life):
            return super().read(life, day)
        situation = life.situation(day) if self.almanac.civil(day).day == 1 else None
        whole = situation is not None and situation.supply.start <= self._month_before(day)
        return situation if whole else None

    def reading(self, life: Life, situation: Situation, day: int) -> Iterable[Draft]:
        """The energy of the day or month before, and what is sent for the sake of a mistake in it."""
        if _monthly(life):
            yield self._month(life, day)
            return
        kind = self.mistaken(life, "reading", day)
        if kind == UNCONNECTED:  # the point is not connected, by what is told of the day before
            yield self._point(life, situation, day - 1, "E79", state="D03")
            yield self._hours(life, day)._replace(type=UNCONNECTED)
            return
        yield self._hours(life, day)
        if kind == MONTHLY:
            yield self._month(life, self.almanac.number(self.almanac.civil(day).replace(day=1)))._replace(type=MONTHLY)
        elif kind in (SUMS, AMOUNTS):
            yield self._own(kind, life, day)
        elif kind in _ASKED:
            yield self._copy(kind, life, day)
        elif kind == ASK_POINT:
            yield self._point_change(life, situation, day, "E32", _reference("Q", life, day))
        elif kind in (CONFIRMED, REJECTED, POINT_CHANGED, POINT_KEPT, NO_MEASURES, NO_SUMS, OLD_RECEIVED):
            yield self._answer(kind, life, day)
        elif kind in (REMINDER, NOTICE):
            yield self._about(kind, life, day)

    # --- what is sent ---

    def envelopes(self, day: int, drafts: list[Draft], late: list[Written]) -> Iterator[Envelope]:
        """As everywhere, under the hub's names of types; of every third life in JSON."""
        later = [(written, self._formed(draft)) for written, draft in late]
        yield from super().envelopes(day, [self._formed(draft) for draft in drafts], later)

    def document(self, drafts: Sequence[Draft], created: str, number: int) -> bytes:
        """A document of transactions of one process."""
        told = datetime.fromisoformat(created).astimezone(UTC)
        return hub.document(
            drafts[0].type,
            [draft.body for draft in drafts],
            created=f"{told:%Y-%m-%dT%H:%M:%SZ}",
            name=f"M-{number:08d}",
            process=drafts[0].group.split()[0],
            about=drafts[0].about or "",
        )

    def _formed(self, draft: Draft) -> Draft:
        label = _WRITTEN_AS.get(draft.type, draft.type)
        in_json = draft.life % 3 == 2 and draft.spoil is None and f"{label}{JSON}" in self.suffixes
        return draft._replace(type=f"{label}{JSON}" if in_json else label)

    # --- a point ---

    def _point(
        self, life: Life, situation: Situation, day: int, process: str, *, starts: bool = False, state: str = "E22"
    ) -> Draft:
        point, at = access_point(life.number), self._at(day)
        child = access_point(500_000_000 + life.number) if life.fault or life.number % 4 == 0 else None
        body = hub.characteristics(
            _reference("P", life, day),
            at,
            point,
            meter=situation.meter.serial,
            home=_home(life),
            grid_area=_area(life),
            capacity=situation.terms.power,
            state=state,
            supplied_from=at if starts else None,
            child=child,
        )
        kinds = ["AccessPointData", "MeterData"]
        kinds += (["StartOfSupply"] if starts else []) + (["PointRelations"] if child else [])
        return Draft(ACCOUNT, body, point, f"{process} {point} {self.almanac.iso(day)}", tuple(kinds), process)

    def _customer(self, life: Life, situation: Situation, day: int, process: str) -> Draft:
        point, who = access_point(life.number), situation.customer
        company = who.company_id is not None
        body = hub.customer(
            _reference("C", life, day),
            self._at(day),
            point,
            number=f"{int(who.company_id or 0) % 10**8:08d}" if company else f"0101{life.number % 10**6:06d}",
            name=who.company or f"{who.first_name} {who.surname.title()}",
            home=_home(life),
            phone=f"+45{who.phone[-8:]}",
            email=f"kunde{life.number}@example.dk",
        )
        reference = f"customer {process} {point} {self.almanac.iso(day)}"
        return Draft(CUSTOMER, body, point, reference, ("CustomerData",), process)

    def _end(self, life: Life, step: Step) -> Draft:
        return self._notice(life, step.day, _PROCESSES[step.reason], _reference("E", life, step.day))

    def _announced(self, life: Life, step: Step) -> Draft:
        """An end of supply that will be taken back on the next day."""
        return self._notice(life, step.day + AHEAD, "E20", _reference("E", life, step.day))

    def _taken_back(self, life: Life, step: Step) -> Draft:
        original = _reference("E", life, step.day)
        return self._notice(life, step.day + AHEAD, "E05", _reference("B", life, step.day), original)

    def _notice(self, life: Life, day: int, process: str, reference: str, original: str | None = None) -> Draft:
        point = access_point(life.number)
        body = hub.notice(reference, self._at(day), point, original)
        told = f"end {process} {point} {self.almanac.iso(day)}"
        return Draft(NOTICE, body, point, told, ("EndOfSupply",), process)

    def _confirmed(self, life: Life, step: Step) -> Draft:
        """The answer to the request that a switch to us began with."""
        point = access_point(life.number)
        body = hub.confirmation(_reference("A", life, step.day), f"EC-{life.number:06d}-{step.day}", point)
        reference = f"confirmed {point} {self.almanac.iso(step.day)}"
        return Draft(CONFIRMED, body, point, reference, ("RequestAnswer",), "E03")

    def _asked_by_the_grid_company(self, life: Life, step: Step) -> Iterator[Draft]:
        """The grid company asks for a change of its point, and it is granted; of every second life after a refusal."""
        process = _PROCESSES[step.reason]
        for attempt in (1, 2) if life.number % 2 else (1,):
            asked, at = _reference(f"U{attempt}", life, step.day), f"{attempt} {self.almanac.iso(step.day)}"
            yield self._point_change(life, step.after, step.day, process, asked)
            label = POINT_KEPT if attempt == 1 and life.number % 2 else POINT_CHANGED
            answered = _reference(f"V{attempt}", life, step.day)
            yield self._point_answer(label, life, answered, asked, at)._replace(group=process)

    def _point_change(self, life: Life, situation: Situation, day: int, process: str, reference: str) -> Draft:
        """The copy of what a grid company asks for."""
        point = access_point(life.number)
        body = hub.point_change(
            reference,
            self._at(day),
            point,
            meter=situation.meter.serial,
            home=_home(life),
            grid_area=_area(life),
            capacity=situation.terms.power,
        )
        return Draft(ASK_POINT, body, point, f"{ASK_POINT} {reference}", ("RequestStatus",), process)

    def _point_answer(self, label: str, life: Life, reference: str, asked: str, at: str) -> Draft:
        """What the hub says of it."""
        point = access_point(life.number)
        if label == POINT_CHANGED:
            body = hub.confirmation(reference, asked, point)
        else:
            body = hub.rejection(label, reference, asked, point, (("E86", "Oplysningerne passer ikke sammen"),))
        return Draft(label, body, point, f"{label} {point} {at}", ("RequestAnswer",))

    # --- energy ---

    def _energy(self, life: Life, start: int, minute: int, end: int, until: int) -> int:
        """Wh between two instants."""
        return sum(life.load.until(end, until)) - sum(life.load.until(start, minute))

    def _split(self, life: Life, day: int, count: int) -> list[int]:
        """The Wh of a day in equal intervals."""
        drawn = self._energy(life, day, 0, day + 1, 0)
        return [drawn * (n + 1) // count - drawn * n // count for n in range(count)]

    def _hours(self, life: Life, day: int) -> Draft:
        """The day before, by hours or, of every fourth life, by quarters; of some in ebIX."""
        point, minutes = access_point(life.number), 15 if life.number % 4 == 1 and life.fault is None else 60
        span = self._span(day - 1, day, "PT15M" if minutes == 15 else "PT1H")
        values = [_kwh(wh) for wh in self._split(life, day - 1, self._count(day - 1, day, minutes))]
        reference, told = _reference("S", life, day), f"measures {point} {self.almanac.iso(day)}"
        if life.fault is None and life.number % 6 == 4:
            body = hub.old_measures(reference, point, span, values)
            return Draft(OLD_MEASURES, body, point, told, ("MeasureSeries",), "E23")
        body = hub.measures(reference, point, span, values, self._at(day, 120))
        return Draft(MEASURES, body, point, told, ("MeasureSeries",), "E23")

    def _month(self, life: Life, day: int) -> Draft:
        """The month that ends with a day."""
        point, start = access_point(life.number), self._month_before(day)
        value = _kwh(self._energy(life, start, 0, day, 0))
        body = hub.measures(
            _reference("N", life, day), point, self._span(start, day, "P1M"), [value], self._at(day, 120)
        )
        told = f"month {point} {self.almanac.iso(start)}"
        return Draft(MEASURES, body, point, told, ("MeasureSeries",), "E23")

    # --- grid areas ---

    def _supplied(self, area: str, day: int) -> list[Life]:
        """Lives in an area that are supplied all day."""
        return [
            life for life in self.lives if _area(life) == area and life.situation(day) and life.supplied_through(day)
        ]

    def _areas(self, day: int) -> Iterator[Draft]:
        """The sums of the first day of the month, preliminary and fixed."""
        first, end = day - _SUMS_ON + 1, day - _SUMS_ON + 2
        span, count = self._span(first, end, "PT1H"), self._count(first, end, 60)
        for number, area in enumerate(AREAS):
            hours = [self._split(life, first, count) for life in self._supplied(area, first)]
            values = [_kwh(sum(wh)) for wh in zip(*hours, strict=True)] or ["0"] * count
            for run in ("D03", "D04"):
                reference = f"SUM-{area}-{day}-{run}"
                old = number == 1 and run == "D04"
                body = hub.old_sums(reference, area, span, values) if old else hub.sums(reference, area, span, values)
                label = OLD_SUMS if old else SUMS
                yield Draft(label, body, None, reference, ("AggregatedSeries",), run, life=-1 - number)

    def _settlements(self, day: int) -> Iterator[Draft]:
        """The month before for the first time, and the one before that corrected."""
        first = self.almanac.number(self.almanac.civil(day).replace(day=1))
        months = [self._month_before(self._month_before(first)), self._month_before(first), first]
        for (start, end), run in zip(pairwise(months), ("D32", "D05"), strict=True):
            if start >= 0:
                for number, area in enumerate(AREAS):
                    yield from self._settled(number, area, start, end, run)

    def _settled(self, number: int, area: str, start: int, end: int, run: str) -> Iterator[Draft]:
        """The tariff and the subscription by days, and the total of the tariff by the month; a correction finds a tenth
        more."""
        days = [self._supplied(area, day) for day in range(start, end)]
        factor = 11 if run == "D32" else 10
        energies = [
            sum(self._energy(life, day, 0, day + 1, 0) for life in there) * factor // 10
            for day, there in enumerate(days, start)
        ]
        variant = "D01" if run == "D32" else None
        by_day, by_month = self._span(start, end, "P1D"), self._span(start, end, "P1M")
        tariff = [_amount(_kwh(wh), hub.TARIFF_CHARGE) for wh in energies]
        fees = [_amount(str(len(there)), hub.SUBSCRIPTION) for there in days]
        total = [Amount(_decimal(sum(energies) * 125, 6))]
        head = f"SET-{area}-{start}-{run}"
        told: list[tuple[str, Span, Charge, list[Amount]]] = [
            ("T", by_day, hub.TARIFF_CHARGE, tariff),
            ("A", by_day, hub.SUBSCRIPTION, fees),
            ("M", by_month, hub.TARIFF_CHARGE, total),
        ]
        for kind, span, charge, values in told:
            reference = f"{head}-{kind}"
            old = kind == "A" and variant is None and number == 1
            if old:
                body = hub.old_amounts(reference, area, span, charge, values)
            else:
                body = hub.amounts(reference, area, span, charge, values, variant=variant)
            label = OLD_AMOUNTS if old else AMOUNTS
            yield Draft(label, body, None, reference, ("SettlementAmounts",), run, life=-1 - number)

    def _reminders(self, day: int) -> Iterator[Draft]:
        """Points whose measures of the day before did not come, in CIM one list of them, in ebIX one each."""
        late = [life for life in self.lives if life.fault is None and life.number % 5 == 0 and life.situation(day)]
        if not late:
            return
        at, civil = self._at(day - 1), self.almanac.iso(day)
        if self.almanac.civil(day).month % 3:
            body = hub.reminder(f"R-{day}", at, [access_point(life.number) for life in late])
            yield Draft(REMINDER, body, None, f"reminder {civil}", ("ReceivedRequest",), "E23", life=-day)
            return
        for life in late:
            body = hub.old_reminder(_reference("R", life, day), at, access_point(life.number))
            point = access_point(life.number)
            yield Draft(OLD_REMINDER, body, point, f"reminder {point} {civil}", ("ReceivedRequest",), "D26")

    # --- for the sake of a mistake in it ---

    def _own(self, label: str, life: Life, day: int) -> Draft:
        """The sums of a life's area on the day before, or what a tariff of theirs costs, by hours."""
        span, count = self._span(day - 1, day, "PT1H"), self._count(day - 1, day, 60)
        reference, values = _reference("G", life, day), self._split(life, day - 1, count)
        if label == SUMS:
            body = hub.sums(reference, _area(life), span, [_kwh(wh) for wh in values])
            return Draft(SUMS, body, None, f"sums {reference}", ("AggregatedSeries",), "D04")
        told = [_amount(_kwh(wh), hub.TARIFF_CHARGE) for wh in values]
        body = hub.amounts(reference, _area(life), span, hub.TARIFF_CHARGE, told)
        return Draft(AMOUNTS, body, None, f"amounts {reference}", ("SettlementAmounts",), "D05")

    def _copy(self, label: str, life: Life, day: int) -> Draft:
        """What we asked for, as it was sent: a month that is over."""
        end = self.almanac.number(self.almanac.civil(day).replace(day=1))
        point, reference = access_point(life.number), _reference("Q", life, day)
        start = self._at(self._month_before(end))
        body = hub.asked(label, reference, gsrn=point, start=start, end=self._at(end), grid_area=_area(life))
        return Draft(label, body, point, f"{label} {reference}", ("RequestStatus",), _ASKED[label])

    def _answer(self, label: str, life: Life, day: int) -> Draft:
        """The answer to a request."""
        point, reference, original = access_point(life.number), _reference("A", life, day), _reference("Q", life, day)
        about, why = None, (("E10", "Målepunktet findes ikke"), ("D05", "Målepunktet passer ikke"))
        if label in (CONFIRMED, POINT_CHANGED):
            body = hub.confirmation(reference, original, point)
        elif label == OLD_RECEIVED:
            body, about = hub.old_response(label, reference, original, code="E10"), hub.old_received(original)
        else:
            body = hub.rejection(label, reference, original, point, why)
        told = f"{label} {reference}"
        return Draft(label, body, point, told, ("RequestAnswer",), f"E03 {reference}", about=about)

    def _about(self, label: str, life: Life, day: int) -> Draft:
        """A reminder of a point, or the end of a supply that is announced and not yet taken back."""
        point, reference = access_point(life.number), _reference("R", life, day)
        if label == REMINDER:
            body = hub.reminder(reference, self._at(day - 1), [point])
            return Draft(REMINDER, body, point, f"reminder {reference}", ("ReceivedRequest",), "E23")
        return self._notice(life, day + AHEAD, "E20", reference)

    # --- times ---

    def _at(self, day: int, minute: int = 0) -> str:
        """An instant in universal time."""
        return f"{datetime.fromisoformat(self.almanac.instant(day, minute)).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"

    def _span(self, start: int, end: int, step: str) -> Span:
        return Span(self._at(start).replace(":00Z", "Z"), self._at(end).replace(":00Z", "Z"), step)

    def _count(self, start: int, end: int, minutes: int) -> int:
        """How many intervals there are between two midnights."""
        first, last = (datetime.fromisoformat(self.almanac.instant(day)) for day in (start, end))
        return int((last - first).total_seconds()) // (60 * minutes)

    def _month_before(self, day: int) -> int:
        """The first day of the month before that of a day."""
        civil = self.almanac.civil(day).replace(day=1)
        return self.almanac.number((civil - timedelta(days=1)).replace(day=1))


def _monthly(life: Life) -> bool:
    """Its meter is read for whole months."""
    return life.number % 4 == 3 and life.fault is None and not life.daily


def _withdrawn(life: Life, step: Step) -> bool:
    """With this step an end of supply is announced, which is taken back on the next day."""
    return step.reason == "customer-change" and life.fault is None


def _reference(kind: str, life: Life, day: int) -> str:
    return f"{kind}-{life.number:06d}-{day}"


def _area(life: Life) -> str:
    return AREAS[life.number % len(AREAS)]


def _home(life: Life) -> Home:
    city, postal_code, municipality = _TOWNS[life.number % len(_TOWNS)]
    return Home(_STREETS[life.number % len(_STREETS)], life.place.number, postal_code, city, municipality)


def _decimal(units: int, places: int) -> str:
    """A decimal of so many places; without a sign in this simulation."""
    return f"{units // 10**places}.{units % 10**places:0{places}d}"


def _kwh(wh: int) -> str:
    return _decimal(wh, 3)


def _amount(quantity: str, charge: Charge) -> Amount:
    """A quantity by its price."""
    whole, _, part = quantity.partition(".")
    price, _, cents = charge.price.partition(".")
    product = int(whole + part) * int(price + cents)
    return Amount(_decimal(product, len(part) + len(cents)), quantity, charge.price)
