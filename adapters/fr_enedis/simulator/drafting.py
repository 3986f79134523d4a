"""From the steps and days of a life to the CH messages that Enedis sends about them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from adapters.fr_enedis.simulator import codes
from adapters.fr_enedis.simulator.drafts import (
    BillingReadingDraft,
    ChargeDraft,
    DailyReadingDraft,
    EventDraft,
    LineDraft,
    ReadingDraft,
    RegisterDraft,
)
from energycomm.kernel.vocabulary import Grid
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.lives import Life, Situation, Step, Terms
from energycomm.simulation.meters import Band, Meter

PRICES = {3: "0.45", 6: "0.58", 9: "0.71", 12: "0.84", 15: "0.97", 18: "1.10", 24: "1.36", 36: "1.88"}
"""Invented monthly price of the fixed part, in euro, by subscribed power."""


@dataclass(slots=True)
class Memory:
    """What the grid operator published of an access point last, and repeats in the next billing reading.

    Attributes:
      meter: the meter it was read on.
      indexes: raw indexes in Wh by grid and band.
      identifier, at, nature: of the reading.
      day: of the reading.
      running: numbers the readings of the access point.
      billed: kWh of the latest billing period.
      rolled: registers that passed through zero up to that reading: another reading of the instant says so too.
    """

    meter: Meter | None = None
    indexes: dict[tuple[Grid, Band], int] = field(default_factory=dict)
    identifier: str | None = None
    at: str | None = None
    nature: str | None = None
    day: int = 0
    running: int = 0
    billed: int = 0
    rolled: frozenset[tuple[Grid, Band]] = frozenset()


def chance(number: int, day: int, salt: int, sides: int) -> int:
    """A die of a life and day: whole number below `sides`, the same on every run."""
    mixed = (number * 2_654_435_761 + day * 40_503 + salt * 97_561) & 0xFFFFFFFF
    return ((mixed ^ (mixed >> 15)) * 2_246_822_519 >> 7) % sides


class Drafter:
    """Drafts CH messages. Keeps one `Memory` for each access point."""

    def __init__(self, almanac: Almanac) -> None:
        """Draft within the days of an almanac."""
        self.almanac = almanac
        self._memories: dict[int, Memory] = {}

    def memory(self, number: int) -> Memory:
        """What was published of an access point last; empty for one that nothing was published of."""
        return self._memories.setdefault(number, Memory())

    def forget(self, number: int) -> None:
        """Drop the memory of an access point that nothing more will be published of."""
        self._memories.pop(number, None)

    def _registers(
        self, life: Life, meter: Meter, terms: Terms, day: int, minute: int, memory: Memory | None
    ) -> tuple[list[RegisterDraft], list[RegisterDraft], dict[tuple[Grid, Band], int]]:
        """Registers of the grid operator's time classes (smart meters only) and ours, in kWh, and the raw indexes."""
        energy = life.load.until(day, minute)
        raw: dict[tuple[Grid, Band], int] = {}
        grids: list[list[RegisterDraft]] = []
        plan: tuple[tuple[Grid, tuple[Band, ...]], ...] = (
            ("distributor", terms.distributor_bands if meter.smart else ()),
            ("supplier", terms.supplier_bands),
        )
        for grid, bands in plan:
            registers = []
            for band in bands:
                index = meter.index(grid, band, energy)
                raw[grid, band] = index
                time_class = codes.TIME_CLASS[band]
                register = RegisterDraft(*time_class, meter.shown_kwh(index), digits=meter.digits)
                before = memory.indexes.get((grid, band)) if memory and memory.meter == meter else None
                if before is not None:
                    register.previous = meter.shown_kwh(before)
                    register.energy = index // 1000 - before // 1000
                    register.rollover = int(register.value < register.previous)
                registers.append(register)
            grids.append(registers)
        return grids[0], grids[1], raw

    def _remember(
        self, life: Life, meter: Meter, raw: dict[tuple[Grid, Band], int], day: int, at: str, nature: str
    ) -> str:
        memory = self.memory(life.number)
        memory.running += 1
        memory.meter, memory.indexes, memory.at, memory.day, memory.nature = meter, raw, at, day, nature
        memory.identifier = codes.reading_id(life.number, memory.running)
        return memory.identifier

    def _reading(self, life: Life, situation: Situation, day: int, minute: int, qualification: str) -> ReadingDraft:
        """A reading at an event, which the next billing reading will repeat as the previous one."""
        memory = self.memory(life.number)
        meter, terms = situation.meter, situation.terms
        distributor, supplier, raw = self._registers(life, meter, terms, day, minute, memory)
        at = self.almanac.instant(day, minute)
        registers = dict(zip(raw, [*distributor, *supplier], strict=True))
        for key, register in registers.items():
            register.rollover |= int(memory.at == at and key in memory.rolled)
        memory.rolled = frozenset(key for key, register in registers.items() if register.rollover)
        self._remember(life, meter, raw, day, at, "REEL")
        return ReadingDraft(
            qualification=qualification,
            at=at,
            distributor=codes.distributor_calendar(terms) if meter.smart else None,
            supplier=codes.supplier_calendar(terms),
            distributor_registers=distributor,
            supplier_registers=supplier,
        )

    def event(self, life: Life, step: Step, affaire: str | None) -> EventDraft:
        """The C15 message of a step."""
        after, almanac = step.after, self.almanac
        readings = []
        if step.reason in ("contract-change", "meter-change"):
            assert step.before is not None
            readings.append(self._reading(life, step.before, step.day, step.minute, "1"))
            readings.append(self._reading(life, after, step.day, step.minute + 1, "2"))
        elif step.leaves:
            readings.append(self._reading(life, after, step.day, step.minute, "1"))
        elif step.enters:
            self.memory(life.number).indexes = {}
            readings.append(self._reading(life, after, step.day, step.minute, "2"))
        nature = codes.NATURE.get(step.reason) or ("CFNE" if step.enters else "CFNS")
        at = almanac.instant(step.day, step.minute)
        prm = codes.prm_of(life.number)
        reference = codes.contract_reference(life.number, after.supply.number)
        smart = after.meter.smart
        return EventDraft(
            prm,
            life.number,
            f"C15 {prm} {nature} {at}",
            nature=nature,
            at=at,
            kind="TECHNIQUE" if nature == "CMAT" else "CONTRAT",
            affaire=affaire,
            readings=readings,
            place=life.place,
            customer=after.customer,
            reference_contract=reference,
            in_service=almanac.iso(after.supply.start),
            status="RESILIE" if step.leaves else "EN SERVICE",
            terminated=at if step.leaves else None,
            sequence=after.sequence,
            sequence_start=almanac.iso(after.sequence_start),
            tariff=codes.tariff_of(after.terms),
            power=f"{after.terms.power}.0",
            distributor=codes.distributor_calendar(after.terms) if smart else None,
            supplier=codes.supplier_calendar(after.terms),
            meter=after.meter.serial,
            removed=step.before.meter.serial if step.before and step.before.meter != after.meter else None,
            smart=smart,
            reading_day=life.reading_day,
            level=after.level,
            meter_type="CCB" if smart else "CEB",
        )

    def billing(self, life: Life, situation: Situation, day: int, motive: str) -> BillingReadingDraft:
        """The R15 message of a periodic reading, or of the reading at an exit."""
        memory = self.memory(life.number)
        meter, terms = situation.meter, situation.terms
        previous = (memory.identifier, memory.at, memory.nature)
        distributor, supplier, raw = self._registers(life, meter, terms, day, 0, memory)
        nature = "REEL"
        if not meter.smart and motive == "CYCL":
            nature = ("ESTIME", "ESTIME", "ESTIME", "REEL", "AUTO-RELEVE")[chance(life.number, day, 1, 5)]
        at = self.almanac.instant(day)
        memory.billed = sum(register.energy or 0 for register in supplier)
        identifier = self._remember(life, meter, raw, day, at, nature)
        registers = [*distributor, *supplier]
        memory.rolled = frozenset(key for key, register in zip(raw, registers, strict=True) if register.rollover)
        prm = codes.prm_of(life.number)
        return BillingReadingDraft(
            prm,
            life.number,
            f"R15 {identifier}",
            identifier=identifier,
            at=at,
            reference_contract=codes.contract_reference(life.number, situation.supply.number),
            sequence=situation.sequence,
            motive=motive,
            distributor=codes.distributor_calendar(terms) if meter.smart else None,
            supplier=codes.supplier_calendar(terms),
            distributor_registers=distributor,
            supplier_registers=supplier,
            meter=meter.serial,
            meter_type="CCB" if meter.smart else "CEB",
            level=situation.level,
            client=0 if situation.customer.company else 1,
            nature=None if nature == "ESTIME" and chance(life.number, day, 2, 20) == 0 else nature,
            consumption="ESTIME" if nature == "ESTIME" else "REEL",
            previous_identifier=previous[0],
            previous_at=previous[1],
            previous_nature=previous[2],
            next_reading=self.almanac.iso(day + 30) if motive == "CYCL" else None,
        )

    def correction(self, original: BillingReadingDraft) -> tuple[BillingReadingDraft, BillingReadingDraft]:
        """Take a reading apart: what was published first, three kWh short, and the correction that gives the truth.

        Both are of the same instant. The short reading is below nothing that was published before, as energies of a
        month are larger than that.
        """
        short = [replace(r, value=r.value - 3, energy=(r.energy or 0) - 3) for r in original.supplier_registers]
        first = replace(original, supplier_registers=short)
        right = replace(
            original,
            reference=f"{original.reference} RECTIFICATIF",
            status="RECTIFICATIF",
            correction="CORR_IDX",
            consumption="REGULARISE",
        )
        return first, right

    def daily(self, life: Life, situation: Situation, day: int) -> DailyReadingDraft:
        """The R151 message of a day: indexes at its end, in Wh."""
        meter, terms = situation.meter, situation.terms
        energy = life.load.until(day + 1, 0)
        classes = codes.TIME_CLASS

        def registers(grid: Grid, bands: tuple[Band, ...]) -> list[RegisterDraft]:
            return [RegisterDraft(*classes[band], meter.shown_wh(meter.index(grid, band, energy))) for band in bands]

        prm = codes.prm_of(life.number)
        iso = self.almanac.iso(day)
        return DailyReadingDraft(
            prm,
            life.number,
            f"R151 {prm} {iso}",
            day=iso,
            distributor=codes.distributor_calendar(terms),
            supplier=codes.supplier_calendar(terms),
            distributor_registers=registers("distributor", terms.distributor_bands),
            supplier_registers=registers("supplier", terms.supplier_bands),
            maximum_power=terms.power * (400 + chance(life.number, day, 3, 500)),
        )

    def charge(self, life: Life, situation: Situation, first: int, last: int, identifier: str) -> ChargeDraft:
        """The F15 line group of a month: management, metering, the fixed part, and the energy of the last reading."""
        almanac, terms = self.almanac, situation.terms
        start, end = almanac.iso(first), almanac.iso(last)
        power, tariff = f"{terms.power}.0", codes.tariff_of(terms)
        kwh = self.memory(life.number).billed

        def line(group: str, code: str, label: str, quantity: int, unit: str, mills: int, tax: str) -> LineDraft:
            return LineDraft(
                group, code, label, start, end, f"{quantity}.0", unit,
                f"{mills // 10000}.{mills % 10000:04d}", (quantity * mills + 50) // 100, tax, power, tariff,
            )  # fmt: skip

        fixed = int(PRICES[terms.power].replace(".", "")) * 100
        lines = [
            line("01", "CG", "Composante de gestion", 1, "MOIS", 13_100, "5.50"),
            line("01", "CC", "Composante de comptage", 1, "MOIS", 16_500, "5.50"),
            line("01", "CSFIXE", "Composante de soutirage, part fixe", terms.power, "KVA", fixed // 10, "5.50"),
            line("02", "CSVAR", "Composante de soutirage, part variable", kwh, "KWH", 478, "20.00"),
        ]
        prm = codes.prm_of(life.number)
        return ChargeDraft(
            prm,
            life.number,
            f"F15 {identifier}",
            identifier=identifier,
            billing="CYCL",
            reference_contract=codes.contract_reference(life.number, situation.supply.number),
            meter_type="CCB" if situation.meter.smart else "CEB",
            municipality=life.place.municipality,
            lines=lines,
            cents=sum(each.cents for each in lines),
        )
