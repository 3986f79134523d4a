"""Writes simulated lives in the flows of Enedis: contract events, readings, invoices and affaires, in zip files with
the names and running numbers that Enedis gives them."""

from __future__ import annotations

import io
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from adapters.fr_enedis.simulator import (
    affairs,
    contract_events,
    invoices,
    large_points,
    ordered,
    readings,
    subscriptions,
)
from adapters.fr_enedis.simulator.codes import CONTRACT, GRD, OPERATOR, SUBSCRIPTION, SUPPLIER
from adapters.fr_enedis.simulator.drafting import Drafter, chance
from adapters.fr_enedis.simulator.mistakes import CURVES, FAULTS, MISTAKES
from energycomm.simulation.lives import Life, Situation
from energycomm.simulation.playing import Envelope, Play, Written
from energycomm.simulation.scenario import Scenario
from energycomm.simulation.staging import Draft, Mistake, Place

ZONE = "Europe/Paris"
SNAPSHOT_EVERY, SNAPSHOT_MINUTE = 7, 557
"""Days between two snapshots of the affaires, and their minute of the morning."""
INVOICE_DAY = 5
"""Day of the month on which the month before is invoiced."""
SIDE_BY_SIDE = 2
"""Days that are told both by a flux and by the one that follows it."""
Content = tuple[str, str, Sequence[Draft]]
"""Name and text of a member, and its messages."""


class Form(NamedTuple):
    """How one flux is written: start and end of a document, and the morning it is sent."""

    head: Callable[[str], str]
    tail: str
    days: int
    minute: int


FORMS: dict[str, Form] = {
    "C15": Form(contract_events.head, contract_events.TAIL, 1, 310),
    "R15": Form(readings.billing_head, readings.BILLING_TAIL, 1, 301),
    "R151": Form(readings.daily_head, readings.DAILY_TAIL, 2, 189),
    "R50": Form(subscriptions.curve_head, subscriptions.CURVE_TAIL, 2, 190),
    "C12": Form(large_points.terms_head, large_points.TERMS_TAIL, 1, 312),
    "R17": Form(large_points.reading_head, large_points.READING_TAIL, 1, 302),
}


class FrenchPlay(Play):
    """Lives in France."""

    zone = ZONE
    market = FAULTS

    def __init__(self, scenario: Scenario) -> None:
        """Plan all lives of a scenario, and what is asked of Enedis in them."""
        self._series: dict[str, int] = defaultdict(int)
        self._invoices = 0
        self._charges: list[Draft] = []
        super().__init__(scenario)
        self.drafter = Drafter(self.almanac)
        self._large = [
            large_points.point_of(life.number, faulty=life.fault is not None)
            for life in self.lives
            if scenario.follow is not None or self._targets(life, large_points.TARGETS)
        ]
        self._affairs = {
            (life.number, day): affair for life in self.lives for day, affair in affairs.affairs_of(life).items()
        }
        self._open = [*self._affairs.values()]

    def read(self, life: Life, day: int) -> Situation | None:
        """The situation at a billing reading; daily indexes are another flux."""
        return life.situation(day) if self.almanac.civil(day).day == life.reading_day else None

    def places(self, life: Life) -> Mapping[str, Place]:
        """Also daily indexes and charges; the last day charged is that of a charge."""
        found = {**super().places(life)}
        quiet, stop, days = found["customer"][1], found["stop"][1], range(self.scenario.days)
        charged = [day - INVOICE_DAY for day in days[INVOICE_DAY:] if self._invoices_on(day)]
        invoiced = large_points.read_on(self.scenario.first, self.scenario.days)[-1]
        return {
            **found,
            "original": ("reading", next(day for day in days if quiet < day < stop and self.read(life, day))),
            "daily": ("daily", (quiet + stop) // 2),
            **{target: (target, (quiet + stop) // 2) for target in ordered.TARGETS},
            "large-reading": ("large-reading", invoiced),
            "large-terms": ("large-terms", invoiced + 1),
            "daily-end": ("daily", stop - 1),
            "daily-last": ("daily", days[-1]),
            "early-charge": ("charge", next(day for day in charged if life.steps[0].day < day < stop)),
            "charge": ("charge", charged[-1]),
        }

    def drafts(self, day: int) -> Iterator[Draft]:
        """Readings that are billed, events, daily indexes, charges, and snapshots of the affaires."""
        yield from self._billed(day)
        for life, step in self.steps[day]:
            affair = self._affairs.get((life.number, day))
            yield contract_events.event(self.drafter, life, step, affair.identifier if affair else None)
        for life in self.lives:
            situation = life.supplied_through(day) if life.daily else None
            if situation is not None:
                yield from self._daily(life, situation, day)
        for number, stage in self.stages.items():
            if self._targets(stage.life, ordered.TARGETS, day):
                yield from ordered.drafts(self.drafter, self.lives[number], day)
        for point in self._large:
            yield from self._large_point(point, day)
        if self._invoices_on(day):
            yield from self._charged(day - INVOICE_DAY)
        if day % SNAPSHOT_EVERY == SNAPSHOT_EVERY - 1:
            for affair in self._open:
                yield from affairs.snapshot(affair, self.almanac, day, SNAPSHOT_MINUTE)
            self._open = [affair for affair in self._open if day - affair.last <= affairs.SEEN]

    def envelopes(self, day: int, drafts: list[Draft], late: list[Written]) -> Iterator[Envelope]:
        """One of each flux; a document with a mistake travels alone. What is late comes with the rest of the day."""
        flows: dict[str, list[Draft]] = defaultdict(list)
        for draft in (*drafts, *(draft for _, draft in late)):
            flows[draft.type].append(draft)
        for flux, form in FORMS.items():
            together = [draft for draft in flows[flux] if draft.spoil is None]
            alone = ([draft] for draft in flows[flux] if draft.spoil is not None)
            yield from (self._flux(flux, form, day, part) for part in (together, *alone) if part)
        if flows["R4x"]:
            at = day + 2, 191
            name, created = self._name("R4Q", self.almanac.stamp(*at)), self.almanac.instant(*at)
            curves: list[Content] = [
                (f"{name}_{n:05d}.xml", large_points.curve_document(created, draft), [draft])
                for n, draft in enumerate(flows["R4x"], 1)
            ]
            yield self._envelope("R4x", name, self.almanac.stamp(*at), curves)
        for flux in subscriptions.ORDERS:
            if flows[flux]:
                yield self._following(flux, day, flows[flux])
        for flux in (ordered.CURVE, ordered.REPORT, ordered.NOTICE):
            for number in dict.fromkeys(draft.life for draft in flows[flux]):
                told = [draft for draft in flows[flux] if draft.life == number]
                stamp = self.almanac.stamp(day + 2, 250)
                name = ordered.name(flux, told, stamp)
                yield self._envelope(flux, name, stamp, [(f"{name}.json", ordered.document(flux, told), told)])
        self._charges += flows["F15"]
        if self._invoices_on(day):
            if self._charges:
                yield self._invoice(day, self._charges)
                self._charges = []
            yield from self._spoilt_invoices(day)
        for flux in ("X12", "X13"):
            if flows[flux]:
                yield self._snapshot(flux, day, flows[flux])

    def _daily(self, life: Life, situation: Situation, day: int) -> Iterator[Draft]:
        """R151; where other fluxes follow it, R50 too, and both fluxes side by side for some days."""
        after = self._after(day)
        stage = self.stages.get(life.number)
        if stage is not None and stage.name in CURVES and day == stage.places["daily"][1]:
            drawn = subscriptions.curve(self.drafter, life, day)
            yield drawn._replace(body=CURVES[stage.name](drawn.body), place=("daily", day))
        if after is None or after < SIDE_BY_SIDE:
            yield readings.daily(self.drafter, life, situation, day)
        if after is not None and after < SIDE_BY_SIDE:
            yield subscriptions.curve(self.drafter, life, day)
        if after is not None and after >= 0:
            yield subscriptions.following_indexes(self.drafter, life, situation, day)
            yield subscriptions.following_curve(self.drafter, life, day)

    def _after(self, day: int) -> int | None:
        """Days since other fluxes follow those of daily measures; None where none does."""
        return None if self.scenario.follow is None else day - self.almanac.number(self.scenario.follow)

    def _targets(self, life: Life, targets: frozenset[str], day: int | None = None) -> bool:
        """Whether the mistake of a life is played on one of some targets; with a day only on that of the target."""
        row = MISTAKES.get(life.fault or "")
        if row is None or row.target not in targets:
            return False
        return day is None or self.stages[life.number].places[row.target][1] == day

    def _large_point(self, point: large_points.Point, day: int) -> Iterator[Draft]:
        """C12 and R17; where other fluxes follow, R4x and R63A too, and both side by side for some days."""
        life, after = self.lives[point.number], self._after(day)
        if day == point.start:
            yield large_points.terms(self.almanac, point, day, "MES")
        if self._targets(life, frozenset(("large-terms",)), day):
            yield large_points.terms(self.almanac, point, day, "CPS")
        if day in large_points.read_on(self.scenario.first, self.scenario.days):
            corrected = life.fault is None and point.corrected(day)
            first, *rest = large_points.sets(self.almanac, point, day, corrected=corrected)
            for right in rest:
                later = day + large_points.CORRECTED_AFTER
                self.later(later, right, later)
            yield first
        if after is not None and day >= point.start:
            if after < SIDE_BY_SIDE:
                yield large_points.curve(self.almanac, point, day)
            if after >= 0:
                yield large_points.following_curve(self.almanac, point, day)

    def _invoices_on(self, day: int) -> bool:
        return self.almanac.civil(day).day == INVOICE_DAY

    def _billed(self, day: int) -> Iterator[Draft]:
        leaving = set()
        for life, step in self.steps[day]:
            if step.leaves:
                leaving.add(life.number)
                motive = "RES" if step.reason == "move-out" else "CFNS"
                yield from readings.billing(self.drafter, life, step.after, day, motive)
        for life in self.lives:
            situation = self.read(life, day)
            if situation is None or life.number in leaving:
                continue
            corrected = not life.daily and life.fault is None and chance(life.number, day, 8, 60) == 0
            first, *rest = readings.billing(self.drafter, life, situation, day, "CYCL", corrected=corrected)
            for right in rest:
                self.later(day + 3, right, day + 3)
            yield first

    def _charged(self, last: int) -> Iterator[Draft]:
        """What every access point is charged for the month that ends with a day."""
        first = self.almanac.number(self.almanac.civil(last).replace(day=1))
        running, invoice = len(self._charges), self._number(last)
        for life in self.lives:
            for step in life.steps:
                supply = step.after.supply
                start, end = max(first, supply.start), last if supply.end is None else min(last, supply.end - 1)
                if not step.enters or start > end:
                    continue
                # The terms of the last day charged, as they were when it began.
                situation = life.situation(end) if end > supply.start else life.supplied_through(end)
                assert situation is not None
                running += 1
                memory = self.drafter.memory(life.number)
                since, until = self.almanac.civil(supply.start), self.almanac.civil(end)
                consumed = [one for one in memory.consumed if since <= one.first and one.last <= until]
                memory.consumed = [one for one in memory.consumed if one.last > until]
                yield invoices.charge(self.almanac, life, situation, start, end, consumed, f"{invoice}{running:06d}")

    def _number(self, day: int) -> str:
        """The next invoice number: 13 digits."""
        self._invoices += 1
        self._invoiced = f"{self.almanac.iso(day).replace('-', '')[:6]}{self._invoices:07d}"
        return self._invoiced

    def _name(self, flux: str, stamp: str) -> str:
        """Name of the next envelope of a flux, without its ending."""
        self._series[flux] += 1
        number = f"{self._series[flux]:05d}"
        middle = {
            "C15": f"_{CONTRACT}_{GRD}_{number}",
            **dict.fromkeys(("C12", "R17"), f"_{CONTRACT}_{number}"),
            "R15": f"_{CONTRACT}_{GRD}_{number}",
            **dict.fromkeys(("R151", "R50"), f"_{CONTRACT}_{SUBSCRIPTION}_{number}_Q_00001_00001"),
            "F15": f"_{CONTRACT}_{GRD}_C_M_9_D_{number}",
        }.get(flux, f"_{number}")
        return f"{OPERATOR}_{flux}_{SUPPLIER}{middle}_{stamp}"

    def _envelope(self, flux: str, name: str, stamp: str, contents: Sequence[Content]) -> Envelope:
        texts = [(member, text.encode()) for member, text, _ in contents]
        members = [(member, drafts) for member, _, drafts in contents]
        content = zip_bytes(texts, stamp)

        def again(choice: float) -> Envelope:
            # The very same zip, or another zip of the same files: made a minute later, it has other bytes.
            copy = content if choice < 0.5 else zip_bytes(texts, f"{stamp[:-2]}59")
            return Envelope(f"{self._name(flux, stamp)}.zip", copy, members)

        return Envelope(f"{name}.zip", content, members, again)

    def _parts(self, drafts: list[Draft]) -> list[list[Draft]]:
        size = self.scenario.per_file
        return [drafts[n : n + size] for n in range(0, len(drafts), size)]

    def _flux(self, flux: str, form: Form, day: int, drafts: list[Draft]) -> Envelope:
        at = day + form.days, form.minute
        created, stamp = self.almanac.instant(*at), self.almanac.stamp(*at)
        name, parts = self._name(flux, stamp), self._parts(drafts)
        contents: list[Content] = []
        for n, part in enumerate(parts, 1):
            text = form.head(created) + "".join(draft.body for draft in part) + form.tail
            spoil = part[0].spoil
            contents.append((f"{name}_{n:05d}_{len(parts):05d}.xml", spoil(text) if spoil else text, part))
        return self._envelope(flux, name, stamp, contents)

    def _following(self, flux: str, day: int, drafts: list[Draft]) -> Envelope:
        stamp = self.almanac.stamp(day + 2, 240)
        self._series[flux] += 1
        name = subscriptions.name(flux, self._series[flux], stamp)
        text = subscriptions.document(flux, drafts, self._series[flux])
        return self._envelope(flux, name, stamp, [(f"{name}.json", text, drafts)])

    def _invoice(self, day: int, charges: list[Draft]) -> Envelope:
        stamp = self.almanac.stamp(day + 1, 311)
        name, parts = self._name("F15", stamp), self._parts(charges)
        start = invoices.detail_head(self.almanac.instant(day + 1, 311), self._invoiced, self.almanac.iso(day))
        contents = [self._general(name, day, charges, None)]
        for n, part in enumerate(parts, 1):
            text = start + "".join(draft.body for draft in part) + invoices.DETAIL_TAIL
            contents.append((f"{name}_FL_{n}_{len(parts)}.xml", text, part))
        return self._envelope("F15", name, stamp, contents)

    def _general(self, name: str, day: int, charges: Sequence[Draft], row: Mistake | None) -> Content:
        lines = [line for charge in charges for line in charge.about]
        created, dated, due = self.almanac.instant(day + 1, 311), self.almanac.iso(day), self.almanac.iso(day + 30)
        text = invoices.general_document(created, self._invoiced, dated, due, lines, len(charges))
        draft = Draft("F15", text, "", f"F15 {self._invoiced}", ("GridInvoice",))
        if row is not None:
            draft = row.spoilt(draft, row.edit)._replace(outcome=row.outcome())
        return f"{name}_FA.xml", draft.body, [draft]

    def _spoilt_invoices(self, day: int) -> Iterator[Envelope]:
        """Envelopes with nothing but a faulty general file, once in the second half of the simulation."""
        for life in self.lives if day > self.scenario.days // 2 else ():
            row = self.stages[life.number].row if life.number in self.stages else None
            if row is not None and row.target == "invoice":
                del self.stages[life.number]
                self._number(day)
                stamp = self.almanac.stamp(day + 1, 312)
                name = self._name("F15", stamp)
                yield self._envelope("F15", name, stamp, [self._general(name, day, (), row)])

    def _snapshot(self, flux: str, day: int, drafts: list[Draft]) -> Envelope:
        at = day, SNAPSHOT_MINUTE
        created, stamp = self.almanac.instant(*at)[:19], self.almanac.stamp(*at)
        name, bodies = self._name(flux, stamp), [draft.body for draft in drafts if draft.body]
        text = affairs.head(flux, created, len(bodies)) + "".join(bodies) + affairs.TAIL
        return self._envelope(flux, name, stamp, [(f"{name}.xml", text, drafts)])


def zip_bytes(members: Sequence[tuple[str, bytes]], stamp: str) -> bytes:
    """A zip of members, the same bytes whenever it is made. `stamp` is YYYYMMDDHHMMSS."""
    moment = tuple(int(stamp[a:b]) for a, b in ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name, moment)  # type: ignore[arg-type]
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()
