"""R67: energies that were invoiced, on demand (Enedis SGE, flux R67, JSON).

All energies of one point, cause and period make one metered volume, by the distributor's and the supplier's time
classes. Periods follow one another: finMesure of one is dbtMesure of the next; both are days, and a period goes from
midnight to midnight in Paris.

* A negative energy takes back what was invoiced too much: the whole volume is then a regularisation.
* codeNature R is measured, E estimated and C regularised; another one is carried as unknown and noted.
* codeStatut I is an original, R corrects and A cancels; another one is noted and taken as an original. A correction is
  about the volume of the same point, direction and period.
* Both codes may be missing; the words, which are always there, are read then.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from msgspec import Struct, field

from adapters.common.codes import Unreadable
from adapters.common.outcome import Notes
from adapters.common.particulars import kept
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.ondemand import Calendar, Measures, Order, Quantity, Reader, Word, Words, active, instant
from adapters.fr_enedis.registers import REASONS
from energycomm.kernel.messages import KernelMessage, MeteredVolume
from energycomm.kernel.parts import Volume
from energycomm.kernel.vocabulary import Direction, Function, VolumeNature

NATURE: dict[str | None, VolumeNature] = {"R": "measured", "E": "estimated", "C": "regularised", "I": "unknown"}
"""codeNature -> how the energies were obtained."""

STATUS: dict[str | None, Function] = {"I": "original", "R": "replace", "A": "cancel"}
"""codeStatut -> function."""

CODES = {
    "Réel": "R",
    "Estimé": "E",
    "Régularisé": "C",
    "Inconnu": "I",
    "Initial": "I",
    "Rectificatif": "R",
    "Annulé": "A",
}
"""libelleNature or libelleStatut -> the code that it stands for."""

_PATH = "mesures/contexte/grandeur/calendrier/classeTemporelle/quantite"


class Amount(Struct, frozen=True):
    """One energy of a period."""

    dbtMesure: Word  # noqa: N815
    finMesure: Word  # noqa: N815
    quantite: Decimal
    codeNature: Word | None = None  # noqa: N815
    codeStatut: Word | None = None  # noqa: N815
    libelleNature: Words | None = None  # noqa: N815
    libelleStatut: Words | None = None  # noqa: N815
    dateCreation: Word | None = None  # noqa: N815

    @property
    def nature(self) -> str | None:
        """Its code; the one that its words stand for where there are only these."""
        return self.codeNature or CODES.get(self.libelleNature or "")

    @property
    def status(self) -> str | None:
        """See `nature`."""
        return self.codeStatut or CODES.get(self.libelleStatut or "")


class TimeClass(Struct, frozen=True):
    """The energies of one time class."""

    idClasseTemporelle: Word  # noqa: N815
    quantite: tuple[Amount, ...] = ()


class R67Calendar(Calendar[TimeClass], frozen=True, kw_only=True):
    """One calendar of energies."""

    identifier: Word | None = field(default=None, name="codeCalendrier")


class Setting(Struct, frozen=True):
    """Why the energies were invoiced."""

    grandeur: tuple[Quantity[R67Calendar], ...]
    etapeMetier: Word | None = None  # noqa: N815
    idMotifReleve: Word | None = None  # noqa: N815


class _Key(NamedTuple):
    """What the energies of one volume share."""

    sense: Direction
    start: str
    end: str
    nature: str | None
    status: str | None


class _Invoiced(Struct):
    """What belongs to one volume."""

    volumes: list[Volume] = field(default_factory=list)
    calendar: str | None = None
    beside: list[tuple[str, str | None]] = field(default_factory=list)


def digest(measures: Measures[Setting], order: Order, notes: Notes) -> list[KernelMessage]:
    """One metered volume per cause, direction, period, nature and status.

    Raises:
      Unreadable: a date does not exist, a calendar belongs to nobody, or there is no energy.
    """
    head = {**order.head, "created": order.created(measures.periode.dateFin)}
    messages: list[KernelMessage] = []
    for setting in measures.contexte:
        for key, found in _volumes(setting, notes).items():
            function = _function(key.status, notes)
            own = f"{measures.idPrm}:{key.sense}:{key.start[:10]}..{key.end[:10]}"
            particulars, left = kept([("etapeMetier", setting.etapeMetier), *dict.fromkeys(found.beside)])
            notes += left
            messages.append(
                MeteredVolume(
                    **head,
                    market_reason=setting.idMotifReleve,
                    reason=REASONS.get(setting.idMotifReleve or "", "invoicing"),
                    function=function,
                    correlation=None if function == "original" else own,
                    effective=instant(key.end, f"{_PATH}/finMesure"),
                    start=instant(key.start, f"{_PATH}/dbtMesure"),
                    nature=_nature(key.nature, found.volumes, notes),
                    reading_reference=own,
                    calendar=found.calendar,
                    volumes=tuple(found.volumes),
                    particulars=particulars,
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


def _volumes(setting: Setting, notes: Notes) -> dict[_Key, _Invoiced]:
    found: dict[_Key, _Invoiced] = {}
    for energy in active(setting, "codeGrille", notes):
        for amount in energy.item.quantite:
            if not amount.quantite.is_finite() or abs(amount.quantite) >= 10**18:
                expected = "an energy that a grid could carry"
                raise Unreadable(refusal("SYN_VALUE", _PATH, str(amount.quantite), expected))
            key = _Key(energy.sense, amount.dbtMesure, amount.finMesure, amount.nature, amount.status)
            invoiced = found.setdefault(key, _Invoiced())
            invoiced.volumes.append(
                Volume(
                    grid=energy.grid,
                    time_class=energy.item.idClasseTemporelle,
                    quantity=amount.quantite,
                    unit=energy.unit,
                    direction=energy.sense,
                )
            )
            invoiced.beside.append(("dateCreation", amount.dateCreation))
            if energy.grid == "distributor":
                invoiced.calendar = energy.calendar
    return found


READER = Reader("R67", Measures[Setting], digest)
