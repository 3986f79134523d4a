"""R64: indexes on demand (Enedis SGE, flux R64, JSON).

All indexes of one point, context and instant make one meter reading; its registers follow the distributor's and the
supplier's time classes. The totalising register (``cadranTotalisateur``) is a register of no time class: its index is
kept as a particular of the reading.

* ``d`` is naive Paris time and the START of the day, as in all fluxes but R151.
* Values are in Wh. ``iv`` other than 0 marks a doubtful index; null says nothing.
* Labels are encoded in UTF-8 twice in real files; none of them enters a message.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from adapters.common.codes import Unreadable
from adapters.common.outcome import Notes
from adapters.common.particulars import kept
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.ondemand import (
    ACTIVE,
    Calendar,
    Measures,
    Order,
    Quantity,
    Reader,
    Word,
    Words,
    active,
    instant,
)
from energycomm.kernel.messages import KernelMessage, MeterReading
from energycomm.kernel.parts import Register
from energycomm.kernel.vocabulary import Grid

Index = Annotated[int, Meta(ge=-(10**18) + 1, lt=10**18)]
_PATH = "mesures/contexte/grandeur"
_WHEN = f"{_PATH}/calendrier/classeTemporelle/valeur/d"


class Value(Struct, frozen=True):
    """One index: instant, value, doubt."""

    d: Word
    v: Index
    iv: Annotated[int, Meta(ge=0, le=15)] | None = 0


class TimeClass(Struct, frozen=True):
    """One register."""

    idClasseTemporelle: Word  # noqa: N815
    valeur: tuple[Value, ...] = ()
    codeCadran: Word | None = None  # noqa: N815


class R64Calendar(Calendar[TimeClass], frozen=True, kw_only=True):
    """One calendar of registers."""

    identifier: Word = field(name="idCalendrier")


class Total(Struct, frozen=True):
    """The register of no time class."""

    valeur: tuple[Value, ...] = ()
    codeCadran: Word | None = None  # noqa: N815


class R64Quantity(Quantity[R64Calendar], frozen=True, kw_only=True):
    """One quantity, with its total."""

    cadranTotalisateur: Total | None = None  # noqa: N815


class Setting(Struct, frozen=True):
    """How the indexes were obtained."""

    grandeur: tuple[R64Quantity, ...]
    etapeMetier: Word | None = None  # noqa: N815
    contexteReleve: Word | None = None  # noqa: N815
    typeReleve: Word | None = None  # noqa: N815
    motifReleve: Words | None = None  # noqa: N815


class _Reading(Struct):
    """What belongs to one instant."""

    registers: list[Register] = field(default_factory=list)
    calendars: dict[Grid, str] = field(default_factory=dict)
    beside: list[tuple[str, Any]] = field(default_factory=list)


def digest(measures: Measures[Setting], order: Order, notes: Notes) -> list[KernelMessage]:
    """One meter reading per context and instant.

    Raises:
      Unreadable: a date does not exist, a calendar belongs to nobody, or there is no index.
    """
    head = {**order.head, "created": order.created(measures.periode.dateFin), "reason": "on-demand"}
    messages: list[KernelMessage] = []
    for setting in measures.contexte:
        told = [(name, getattr(setting, name)) for name in ("contexteReleve", "typeReleve", "motifReleve")]
        for at, found in _readings(setting, notes).items():
            particulars, left = kept([*told, *found.beside])
            notes += left
            messages.append(
                MeterReading(
                    **head,
                    market_reason=setting.etapeMetier,
                    effective=at,
                    qualification="periodic",
                    nature="read",
                    calendar=found.calendars.get("distributor"),
                    supplier_calendar=found.calendars.get("supplier"),
                    registers=tuple(found.registers),
                    particulars=particulars,
                )
            )
    if not messages:
        raise Unreadable(refusal("SYN_MISSING", _PATH, expected="an index of EA"))
    return messages


def _readings(setting: Setting, notes: Notes) -> dict[datetime, _Reading]:
    found: dict[datetime, _Reading] = {}
    for energy in active(setting, "libelleGrille", notes):
        time_class = energy.item.idClasseTemporelle
        for value in energy.item.valeur:
            reading = found.setdefault(instant(value.d, _WHEN), _Reading())
            reading.calendars.setdefault(energy.grid, energy.calendar or "")
            reading.registers.append(
                Register(
                    grid=energy.grid,
                    time_class=time_class,
                    value=value.v,
                    unit=energy.unit,
                    direction=energy.sense,
                    doubtful=bool(value.iv),
                )
            )
            reading.beside.append((f"{energy.calendar}/{time_class}/codeCadran", energy.item.codeCadran))
    for quantity in setting.grandeur:
        total = quantity.cadranTotalisateur if quantity.grandeurPhysique == ACTIVE else None
        for value in total.valeur if total is not None else ():
            reading_then = found.get(instant(value.d, _WHEN))
            if total is not None and reading_then is not None:
                name = f"cadranTotalisateur/{total.codeCadran or quantity.grandeurMetier}"
                reading_then.beside += [(name, value.v), (f"{name}/iv", value.iv or None)]
    return found


READER = Reader("R64", Measures[Setting], digest)
