"""What the operator knows of an access point when it writes: its registers, and what it published last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import NamedTuple, TypeAlias

from adapters.fr_enedis.simulator import codes
from energycomm.kernel.vocabulary import Grid
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.lives import Life, Situation, Terms
from energycomm.simulation.meters import Band, Meter

RegisterKey: TypeAlias = tuple[Grid, Band]
_TAGS: dict[Grid, str] = {"distributor": "Classe_Temporelle_Distributeur", "supplier": "Classe_Temporelle"}


class Register(NamedTuple):
    """One register of a reading in kWh: an index, and where a previous one is known the energy since."""

    value: int
    digits: int
    previous: int | None = None
    energy: int | None = None
    rollover: bool = False


Registers: TypeAlias = dict[RegisterKey, Register]


class Consumed(NamedTuple):
    """Energy between two readings: the days, the terms, and kWh by time class."""

    first: date
    last: date
    terms: Terms
    energies: dict[str, int]


@dataclass(slots=True)
class Memory:
    """What the operator published of an access point last, and repeats in the next billing reading.

    Attributes:
      meter: the meter it was read on.
      indexes: raw indexes in Wh.
      identifier, at, nature: of the reading.
      running: numbers the readings of the access point.
      consumed: what readings told and no invoice charged yet.
      rolled: registers that passed through zero up to that reading: another reading of the instant says so too.
    """

    meter: Meter | None = None
    indexes: dict[RegisterKey, int] = field(default_factory=dict)
    identifier: str | None = None
    at: str | None = None
    nature: str | None = None
    running: int = 0
    consumed: list[Consumed] = field(default_factory=list)
    rolled: frozenset[RegisterKey] = frozenset()


def chance(number: int, day: int, salt: int, sides: int) -> int:
    """A die of a life and day: whole number below `sides`, the same on every run."""
    mixed = (number * 2_654_435_761 + day * 40_503 + salt * 97_561) & 0xFFFFFFFF
    return ((mixed ^ (mixed >> 15)) * 2_246_822_519 >> 7) % sides


class Drafter:
    """Keeps one `Memory` for each access point."""

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

    def read(
        self, life: Life, situation: Situation, day: int, minute: int, nature: str, *, event: bool = False
    ) -> tuple[Registers, str]:
        """Registers of the operator's grid (smart meters only) and of ours at an instant, and the reading's identifier.

        The next billing reading repeats them as the previous ones. A reading at an event says again what another
        reading of its instant said of a passage through zero.
        """
        memory, meter, at = self.memory(life.number), situation.meter, self.almanac.instant(day, minute)
        energy = life.load.until(day, minute)
        registers: Registers = {}
        indexes: dict[RegisterKey, int] = {}
        for key in _keys(situation.terms, smart=meter.smart):
            index = indexes[key] = meter.index(*key, energy)
            register = Register(meter.shown_kwh(index), meter.digits)
            before = memory.indexes.get(key) if memory.meter == meter else None
            if before is not None:
                shown = meter.shown_kwh(before)
                register = register._replace(
                    previous=shown, energy=index // 1000 - before // 1000, rollover=register.value < shown
                )
            if event and memory.at == at and key in memory.rolled:
                register = register._replace(rollover=True)
            registers[key] = register
        memory.rolled = frozenset(key for key, register in registers.items() if register.rollover)
        self._consume(memory, situation, day, registers)
        memory.running += 1
        memory.meter, memory.indexes, memory.at, memory.nature = meter, indexes, at, nature
        memory.identifier = codes.reading_id(life.number, memory.running)
        return registers, memory.identifier

    def _consume(self, memory: Memory, situation: Situation, day: int, registers: Registers) -> None:
        """Keep the energy since the reading before, to be charged: on the operator's grid where the meter has it."""
        measured = "distributor" if situation.meter.smart else "supplier"
        energies = {
            codes.TIME_CLASS[band].code: register.energy
            for (grid, band), register in registers.items()
            if grid == measured and register.energy is not None
        }
        if energies and memory.at is not None:
            first, last = date.fromisoformat(memory.at[:10]), self.almanac.civil(day) - timedelta(days=1)
            if first <= last:
                memory.consumed.append(Consumed(first, last, situation.terms, energies))


def _keys(terms: Terms, *, smart: bool) -> Iterable[RegisterKey]:
    if smart:
        yield from (("distributor", band) for band in terms.distributor_bands)
    yield from (("supplier", band) for band in terms.supplier_bands)


def calendars(situation: Situation, indent: str) -> str:
    """The two calendars of a situation, as C15 and R15 name them: the operator's on a smart meter only."""
    distributor, supplier = codes.distributor_calendar(situation.terms), codes.supplier_calendar(situation.terms)
    text = (
        f"{indent}<Id_Calendrier_Distributeur>{distributor.code}</Id_Calendrier_Distributeur>\n"
        f"{indent}<Libelle_Calendrier_Distributeur>{distributor.label}</Libelle_Calendrier_Distributeur>\n"
        if situation.meter.smart
        else ""
    )
    return (
        f"{text}{indent}<Id_Calendrier>{supplier.code}</Id_Calendrier>\n"
        f"{indent}<Libelle_Calendrier>{supplier.label}</Libelle_Calendrier>\n"
    )


def register_xml(key: RegisterKey, register: Register, indent: str, meter: str | None = None) -> str:
    """One register, written. A billing reading names the meter, repeats the previous index and tells the energy."""
    grid, band = key
    time_class, tag = codes.TIME_CLASS[band], _TAGS[grid]
    before = last = energy = ""
    if meter is not None:
        last = f"{indent}   <Num_Serie>{meter}</Num_Serie>\n"
        if register.previous is not None:
            before = f"{indent}   <Valeur_Precedent>{register.previous}</Valeur_Precedent>\n"
        if register.energy is not None:
            energy = f"""{indent}<{tag}>
{indent}   <Id_Classe_Temporelle>{time_class.code}</Id_Classe_Temporelle>
{indent}   <Libelle_Classe_Temporelle>{time_class.label}</Libelle_Classe_Temporelle>
{indent}   <Classe_Mesure>2</Classe_Mesure>
{indent}   <Unite_Mesure>kWh</Unite_Mesure>
{indent}   <Sens_Mesure>0</Sens_Mesure>
{indent}   <Valeur>{register.energy}</Valeur>
{indent}</{tag}>
"""
    return f"""{indent}<{tag}>
{indent}   <Id_Classe_Temporelle>{time_class.code}</Id_Classe_Temporelle>
{indent}   <Libelle_Classe_Temporelle>{time_class.label}</Libelle_Classe_Temporelle>
{indent}   <Rang_Cadran>{time_class.rank}</Rang_Cadran>
{indent}   <Classe_Mesure>1</Classe_Mesure>
{indent}   <Unite_Mesure>kWh</Unite_Mesure>
{indent}   <Sens_Mesure>0</Sens_Mesure>
{indent}   <Valeur>{register.value}</Valeur>
{before}{indent}   <Nb_Chiffres_Cadran>{register.digits}</Nb_Chiffres_Cadran>
{indent}   <Indicateur_Passage_A_Zero>{int(register.rollover)}</Indicateur_Passage_A_Zero>
{indent}   <Coefficient_Lecture>1.0</Coefficient_Lecture>
{last}{indent}</{tag}>
{energy}"""
