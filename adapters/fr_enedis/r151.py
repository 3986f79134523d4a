"""R151: daily indexes and highest powers by subscription (Enedis SGE, flux R151, version 1.2.0).

One ``PRM`` is one CH message, each of its ``Donnees_Releve`` (up to 20) one meter reading.

* Date_Releve is the day at whose END the indexes were read, where all other fluxes mean the start of a day. The
  reading's instant is midnight in Paris at the start of the next day, so that it meets the reading of the other
  fluxes.
* Units stand in the header: indexes in Wh, powers in VA, where C15 and R15 write kWh. They are carried as they are.
* Rogue calendars and time classes (INCONNU, DN999999) are carried as they are; rules judge them.
* Indice_Vraisemblance 1 is taken for doubtful. No public document says so for R151; for R50 one does.
* R64B continues R151: both tell the index of midnight of the same registers, and one of the two holds.
* There is no identifier of the reading, and no serial number. The indexes were read from afar: they are actual
  readings.
"""

from __future__ import annotations

from msgspec.structs import replace

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Notes
from adapters.common.reading import FLAGS, Fields, need, need_node, node, whole
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.header import Context
from adapters.fr_enedis.outcome import daily, digester
from adapters.fr_enedis.registers import DAILY, GRIDS
from adapters.fr_enedis.times import end_of_day
from energycomm.kernel.messages import MeterReading
from energycomm.kernel.parts import Register

VERSIONS = ("1.2.0", "V1")
"""The schema's number, and what real headers declare."""

ENTERING = ("Unite_Mesure_Index", "Unite_Mesure_Puissance")
VOLT_AMPERES = {"VA": 1, "W": 1, "kVA": 1000, "kW": 1000, None: 1}
"""Unit of the highest power -> VA; Linky meters count apparent power whatever the unit is called."""
_TOO_MUCH = 10**18
_PATH = "PRM/Donnees_Releve"


def version(fields: Fields, declared: str | None) -> str:
    """The declared one where it is one of the two names of the only version known."""
    return declared if declared in VERSIONS else VERSIONS[0]


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """One meter reading per day, in the order of the days.

    Raises:
      Unreadable: a needed element is missing, a date does not exist, or the header has no unit of the indexes.
    """
    reference, _ = daily(fields, context)
    point = need(fields, "Id_PRM", "PRM")
    need_node(fields, "Donnees_Releve", "PRM")
    unit = context.facts.get("Unite_Mesure_Index")
    if unit is None:
        raise Unreadable(refusal("SYN_MISSING", path="En_Tete_Flux/Unite_Mesure_Index", expected="Wh"))
    blank = context.blank(MeterReading)
    messages = [_reading(releve, unit, reference, point, blank, context) for releve in fields["Donnees_Releve"]]
    if len(messages) > 1:
        messages.sort(key=lambda message: message.effective)
    return Digested(reference, point, tuple(messages))


def _reading(
    releve: Fields, unit: str, reference: str, point: str, blank: MeterReading, context: Context
) -> MeterReading:
    written = need(releve, "Date_Releve", _PATH)
    try:
        effective = end_of_day(written)
    except ValueError:
        path = f"{_PATH}/Date_Releve"
        raise Unreadable(refusal("SYN_VALUE", path=path, value=written, expected="a day in 1900 to 2199")) from None
    registers = [
        Register(
            grid=grid,
            time_class=item["Id_Classe_Temporelle"],
            value=int(item["Valeur"]),
            unit=unit,
            rank=whole(item, "Rang_Cadran"),
            doubtful=FLAGS[item.get("Indice_Vraisemblance")],
        )
        for tag, grid in GRIDS
        for item in releve.get(tag, ())
    ]
    return replace(
        blank,
        reason="periodic",
        reference=reference,
        access_point=point,
        effective=effective,
        request_reference=releve.get("Id_Affaire"),
        qualification="periodic",
        nature="read",
        stream=DAILY,
        calendar=releve.get("Id_Calendrier_Distributeur"),
        supplier_calendar=releve.get("Id_Calendrier_Fournisseur"),
        maximum_power=_power(node(releve, "Puissance_Maximale").get("Valeur"), context),
        registers=tuple(registers),
    )


def _power(value: str | None, context: Context) -> int | None:
    """The highest power in VA."""
    if value is None:
        return None
    unit = context.facts.get("Unite_Mesure_Puissance")
    if unit not in VOLT_AMPERES:
        path = "En_Tete_Flux/Unite_Mesure_Puissance"
        raise Unreadable(refusal("SYN_CODE", path=path, value=unit, expected="VA, kVA, W or kW"))
    power = int(value) * VOLT_AMPERES[unit]
    if abs(power) >= _TOO_MUCH:
        path = f"{_PATH}/Puissance_Maximale/Valeur"
        raise Unreadable(refusal("SYN_VALUE", path=path, value=value, expected="a power that a grid could carry"))
    return power


DIGESTER = digester(digest, daily, version)
