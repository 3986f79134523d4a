"""R64: indexes on demand (Enedis SGE, flux R64, JSON).

All indexes of one point, context and instant make one meter reading; its registers follow the distributor's and the
supplier's time classes. The totalising register (``cadranTotalisateur``) is their sum and is not carried.

* ``d`` is naive Paris time and the START of the day, as in all fluxes but R151.
* Values are in Wh. ``iv`` other than 0 marks a doubtful index.
* Only active energy (EA) is an index of the Kernel; another quantity is left out and noted.
* Labels are encoded in UTF-8 twice in real files; none of them enters a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct

from adapters.common.codes import Unreadable
from adapters.common.outcome import Notes
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.curves import direction
from adapters.fr_enedis.ondemand import Order, Reader, instant
from energycomm.kernel.messages import KernelMessage, MeterReading
from energycomm.kernel.parts import Register
from energycomm.kernel.vocabulary import Direction, Grid

Word = Annotated[str, Meta(min_length=1, max_length=64)]
Point = Annotated[str, Meta(min_length=1, max_length=40)]
Index = Annotated[int, Meta(ge=-(10**18) + 1, lt=10**18)]
GRID: dict[str | None, Grid] = {
    "Distributeur": "distributor",
    "Fournisseur": "supplier",
    "D": "distributor",
    "F": "supplier",
}
"""libelleGrille or codeGrille -> whose time classes they are."""


class Value(Struct, frozen=True):
    """One index: instant, value, doubt."""

    d: Word
    v: Index
    iv: Annotated[int, Meta(ge=0, le=9)] = 0


class TimeClass(Struct, frozen=True):
    """One register."""

    idClasseTemporelle: Word  # noqa: N815
    valeur: tuple[Value, ...] = ()
    codeCadran: Word | None = None  # noqa: N815


class Calendar(Struct, frozen=True):
    """One calendar of time classes."""

    idCalendrier: Word  # noqa: N815
    libelleGrille: Word | None = None  # noqa: N815
    codeGrille: Word | None = None  # noqa: N815
    classeTemporelle: tuple[TimeClass, ...] = ()  # noqa: N815


class Quantity(Struct, frozen=True):
    """One quantity."""

    grandeurPhysique: Word  # noqa: N815
    unite: Word
    grandeurMetier: Word | None = None  # noqa: N815
    calendrier: tuple[Calendar, ...] = ()


class Setting(Struct, frozen=True):
    """How the indexes were obtained."""

    grandeur: tuple[Quantity, ...]
    etapeMetier: Word | None = None  # noqa: N815
    contexteReleve: Word | None = None  # noqa: N815
    typeReleve: Word | None = None  # noqa: N815


class Period(Struct, frozen=True):
    """The period that was asked for."""

    dateDebut: Word  # noqa: N815
    dateFin: Word  # noqa: N815


class Measures(Struct, frozen=True):
    """The schema of one piece: all indexes of one point."""

    idPrm: Point  # noqa: N815
    periode: Period
    contexte: tuple[Setting, ...]


class ActiveEnergy(NamedTuple):
    """One time class of active energy: its content, its grid and calendar, its direction and unit."""

    item: Any
    grid: Grid
    calendar: str
    sense: Direction
    unit: str


def grid_of(name: str | None, calendar: str, path: str) -> Grid:
    """Whose time classes a calendar has: as its grid is called, else by the first letters of its identifier.

    Raises:
      Unreadable: neither tells (SYN_CODE).
    """
    found = GRID.get(name) or ("distributor" if calendar.startswith("DI") else None)
    found = found or ("supplier" if calendar.startswith("FC") else None)
    if found is None:
        raise Unreadable(refusal("SYN_CODE", path=path, value=name or calendar, expected="one of D, F"))
    return found


def digest(measures: Measures, order: Order, notes: Notes) -> list[KernelMessage]:
    """One meter reading per context and instant.

    Raises:
      Unreadable: a date does not exist, a calendar belongs to nobody, or there is no index.
    """
    head = {
        **order.head,
        "created": order.created(measures.periode.dateFin),
        "reason": "on-demand",
    }
    messages: list[KernelMessage] = []
    for setting in measures.contexte:
        for at, registers, calendars in _readings(setting, notes):
            messages.append(
                MeterReading(
                    **head,
                    market_reason=setting.etapeMetier,
                    effective=at,
                    qualification="periodic",
                    nature="read",
                    calendar=calendars.get("distributor"),
                    supplier_calendar=calendars.get("supplier"),
                    registers=tuple(registers),
                )
            )
    if not messages:
        raise Unreadable(refusal("SYN_MISSING", path="mesures/contexte/grandeur", expected="an index of EA"))
    return messages


def active(setting: Any, named: str, identifier: str, notes: Notes) -> Iterator[ActiveEnergy]:
    """The time classes of active energy, with what stands above them; another quantity is noted.

    Args:
      setting: of a piece of R64 or R67.
      named: the field of a calendar that a refusal points at.
      identifier: the field of a calendar that holds its identifier.
      notes: what was noticed.

    Raises:
      Unreadable: a calendar belongs to nobody.
    """
    path = "mesures/contexte/grandeur"
    for quantity in setting.grandeur:
        if quantity.grandeurPhysique != "EA":
            code = quantity.grandeurPhysique
            notes.append(refusal("NOTE_CODE_UNKNOWN", path=f"{path}/grandeurPhysique", value=code, expected="EA"))
            continue
        sense = direction(quantity.grandeurMetier, f"{path}/grandeurMetier", notes)
        for calendar in quantity.calendrier:
            name, key = calendar.codeGrille or calendar.libelleGrille, getattr(calendar, identifier)
            grid = grid_of(name, key, f"{path}/calendrier/{named}")
            for item in calendar.classeTemporelle:
                yield ActiveEnergy(item, grid, key, sense, quantity.unite)


def _readings(setting: Setting, notes: Notes) -> list[tuple[datetime, list[Register], dict[Grid, str]]]:
    found: dict[datetime, tuple[list[Register], dict[Grid, str]]] = {}
    for energy in active(setting, "libelleGrille", "idCalendrier", notes):
        for value in energy.item.valeur:
            at = instant(value.d, "mesures/contexte/grandeur/calendrier/classeTemporelle/valeur/d")
            registers, calendars = found.setdefault(at, ([], {}))
            calendars.setdefault(energy.grid, energy.calendar)
            registers.append(
                Register(
                    grid=energy.grid,
                    time_class=energy.item.idClasseTemporelle,
                    value=value.v,
                    unit=energy.unit,
                    direction=energy.sense,
                    doubtful=value.iv != 0,
                )
            )
    return [(at, *held) for at, held in found.items()]


READER = Reader("R64", Measures, digest)
