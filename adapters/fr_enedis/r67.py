"""R67: energies that were invoiced, on demand (Enedis SGE, flux R67, JSON).

All energies of one point, cause and period make one metered volume, by the distributor's and the supplier's time
classes. Periods follow one another: finMesure of one is dbtMesure of the next; both are days, and a period goes from
midnight to midnight in Paris.

* A negative energy takes back what was invoiced too much: the whole volume is then a regularisation.
* codeNature R is measured and E estimated; another one is carried as unknown and noted.
* codeStatut I is an original. R (corrected) and A (cancelled) are assumed by analogy with R15; another one is noted and
  taken as an original. A correction is about the volume of the same point, direction and period.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from adapters.common.codes import Unreadable
from adapters.common.outcome import Notes
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.ondemand import Order, Reader, instant
from adapters.fr_enedis.r64 import Period, Point, Word, active
from adapters.fr_enedis.registers import REASONS
from energycomm.kernel.messages import KernelMessage, MeteredVolume
from energycomm.kernel.parts import Volume
from energycomm.kernel.vocabulary import Direction, Function, VolumeNature

NATURE: dict[str | None, VolumeNature] = {"R": "measured", "E": "estimated"}
"""codeNature -> how the energies were obtained."""

STATUS: dict[str | None, Function] = {"I": "original", "R": "replace", "A": "cancel"}
"""codeStatut -> function."""

_PATH = "mesures/contexte/grandeur/calendrier/classeTemporelle/quantite"


class Amount(Struct, frozen=True):
    """One energy of a period."""

    dbtMesure: Word  # noqa: N815
    finMesure: Word  # noqa: N815
    quantite: Annotated[Decimal, Meta()]
    codeNature: Word | None = None  # noqa: N815
    codeStatut: Word | None = None  # noqa: N815


class TimeClass(Struct, frozen=True):
    """The energies of one time class."""

    idClasseTemporelle: Word  # noqa: N815
    quantite: tuple[Amount, ...] = ()


class Calendar(Struct, frozen=True):
    """One calendar of time classes."""

    codeCalendrier: Word  # noqa: N815
    codeGrille: Word | None = None  # noqa: N815
    libelleGrille: Word | None = None  # noqa: N815
    classeTemporelle: tuple[TimeClass, ...] = ()  # noqa: N815


class Quantity(Struct, frozen=True):
    """One quantity."""

    grandeurPhysique: Word  # noqa: N815
    unite: Word
    grandeurMetier: Word | None = None  # noqa: N815
    calendrier: tuple[Calendar, ...] = ()


class Setting(Struct, frozen=True):
    """Why the energies were invoiced."""

    grandeur: tuple[Quantity, ...]
    etapeMetier: Word | None = None  # noqa: N815
    idMotifReleve: Word | None = None  # noqa: N815


class Measures(Struct, frozen=True):
    """The schema of one piece: all energies of one point."""

    idPrm: Point  # noqa: N815
    periode: Period
    contexte: tuple[Setting, ...]


class _Key(NamedTuple):
    """What the energies of one volume share."""

    sense: Direction
    start: str
    end: str
    nature: str | None
    status: str | None


def digest(measures: Measures, order: Order, notes: Notes) -> list[KernelMessage]:
    """One metered volume per cause, direction, period, nature and status.

    Raises:
      Unreadable: a date does not exist, a calendar belongs to nobody, or there is no energy.
    """
    head = {
        **order.head,
        "created": order.created(measures.periode.dateFin),
    }
    messages: list[KernelMessage] = []
    for setting in measures.contexte:
        for key, (volumes, calendar) in _volumes(setting, notes).items():
            function = _function(key.status, notes)
            own = f"{measures.idPrm}:{key.sense}:{key.start[:10]}..{key.end[:10]}"
            messages.append(
                MeteredVolume(
                    **head,
                    market_reason=setting.idMotifReleve,
                    reason=REASONS.get(setting.idMotifReleve or "", "invoicing"),
                    function=function,
                    correlation=None if function == "original" else own,
                    effective=instant(key.end, f"{_PATH}/finMesure"),
                    start=instant(key.start, f"{_PATH}/dbtMesure"),
                    nature=_nature(key.nature, volumes, notes),
                    reading_reference=own,
                    calendar=calendar,
                    volumes=tuple(volumes),
                )
            )
    if not messages:
        raise Unreadable(refusal("SYN_MISSING", path=_PATH, expected="an energy of EA"))
    return messages


def _function(status: str | None, notes: Notes) -> Function:
    found = STATUS.get(status)
    if found is None:
        notes.append(refusal("NOTE_CODE_UNKNOWN", path=f"{_PATH}/codeStatut", value=status, expected=", ".join("IRA")))
    return found or "original"


def _nature(code: str | None, volumes: list[Volume], notes: Notes) -> VolumeNature:
    if any(volume.quantity < 0 for volume in volumes):
        return "regularised"
    found = NATURE.get(code)
    if found is None:
        notes.append(refusal("NOTE_CODE_UNKNOWN", path=f"{_PATH}/codeNature", value=code, expected="R, E"))
    return found or "unknown"


def _volumes(setting: Setting, notes: Notes) -> dict[_Key, tuple[list[Volume], str | None]]:
    found: dict[_Key, tuple[list[Volume], str | None]] = {}
    for energy in active(setting, "codeGrille", "codeCalendrier", notes):
        for amount in energy.item.quantite:
            if not amount.quantite.is_finite() or abs(amount.quantite) >= 10**18:
                value = str(amount.quantite)
                expected = "an energy that a grid could carry"
                raise Unreadable(refusal("SYN_VALUE", path=_PATH, value=value, expected=expected))
            key = _Key(energy.sense, amount.dbtMesure, amount.finMesure, amount.codeNature, amount.codeStatut)
            volumes, known = found.get(key, ([], None))
            volumes.append(
                Volume(
                    grid=energy.grid,
                    time_class=energy.item.idClasseTemporelle,
                    quantity=amount.quantite,
                    unit=energy.unit,
                    direction=energy.sense,
                )
            )
            found[key] = (volumes, energy.calendar if energy.grid == "distributor" else known)
    return found


READER = Reader("R67", Measures, digest)
