"""R15: readings with the event they belong to, new, corrected or cancelled (Enedis SGE, flux R15, version 2.3.2).

One ``PRM`` is one CH message. Each ``Donnees_Releve`` gives one meter reading of its classes with Classe_Mesure 1
(indexes) and one metered volume of those with 2 (consumption) and 3 to 6 (shares in collective self-consumption). The
two must never be
mixed: a volume read as an index spoils the chain of readings.

Statut_Releve: INITIAL is an original, RECTIFICATIF replaces, ANNULE cancels. ``correlation`` of the last two is
Id_Releve. That identifier alone does not always find what is corrected, since no public document says whether a
correction keeps the original's: the reading corrected is the one of the same point at the same instant
(``effective``), and the identifier, where it is the same, confirms it.

Assumed: a reading whose Motif_Releve is an exit event was taken before the event, one of an entry event after it, and
all others belong to the periodic round. The previous date of the reading is the start of its volumes' period.
"""

from __future__ import annotations

from typing import Any

from adapters.common.outcome import Digested, Notes
from adapters.common.particulars import kept
from adapters.common.reading import Fields, decimal, leaf, need, need_node, nodes, whole
from adapters.fr_enedis.header import Context
from adapters.fr_enedis.outcome import digester
from adapters.fr_enedis.registers import DIRECTION, ENTRIES, EXITS, GRIDS, NATURE, REASONS, register
from adapters.fr_enedis.times import civil_day, instant, needed_instant
from energycomm.kernel.messages import KernelMessage, MeteredVolume, MeterReading
from energycomm.kernel.parts import Register, Volume
from energycomm.kernel.vocabulary import Function, Qualification, Reason, VolumeNature

VERSIONS = ("2.3.2",)

FUNCTION: dict[str, Function] = {"INITIAL": "original", "RECTIFICATIF": "replace", "ANNULE": "cancel"}
CORRECTION: dict[Function, Reason] = {"replace": "correction", "cancel": "cancellation"}
VOLUME_NATURE: dict[str | None, VolumeNature] = {
    "REEL": "measured",
    "ESTIME": "estimated",
    "REGULARISE": "regularised",
    None: "unknown",
}
PURPOSE = {"2": None, "3": "autoproduced", "4": "alloproduced", "5": "autoconsumed", "6": "surplus"}
"""Classe_Mesure -> share in collective self-consumption; class 2 is the plain consumption."""
_PATH = "PRM/Donnees_Releve"


def refer(fields: Fields, context: Context) -> tuple[str, str | None]:
    """``PRM:Id_Releve``, with the status of a correction; ``first..last`` where there are several readings."""
    point = leaf(fields, "Id_PRM")
    releves = nodes(fields, "Donnees_Releve")
    names = [_name(releve) for releve in (releves[:1] if len(releves) < 2 else (releves[0], releves[-1]))]
    return f"{point or '-'}:{'..'.join(names) or '-'}", point


def _name(releve: Fields) -> str:
    identifier, status = leaf(releve, "Id_Releve") or "-", leaf(releve, "Statut_Releve")
    return identifier if status in ("INITIAL", None) else f"{identifier}:{status}"


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """Kernel messages of one ``PRM``: see the module.

    Raises:
      Unreadable: a needed element is missing, or a date does not exist.
    """
    reference, _ = refer(fields, context)
    point = need(fields, "Id_PRM", "PRM")
    need_node(fields, "Donnees_Releve", "PRM")
    messages: list[KernelMessage] = []
    for releve in fields["Donnees_Releve"]:
        _digest_reading(releve, reference, point, context, notes, messages)
    if len(messages) > 2:
        messages.sort(key=lambda message: message.effective)
    return Digested(reference, point, tuple(messages))


def _digest_reading(
    releve: Fields, reference: str, point: str, context: Context, notes: Notes, messages: list[KernelMessage]
) -> None:
    identifier = need(releve, "Id_Releve", _PATH)
    function = FUNCTION[need(releve, "Statut_Releve", _PATH)]
    motive = releve.get("Motif_Releve")
    previous = instant(releve, "Date_Releve_Precedent", _PATH, notes)
    calendar = releve.get("Id_Calendrier_Distributeur")
    head: dict[str, Any] = {
        **context.head,
        "market_reason": motive,
        "reason": CORRECTION.get(function) or REASONS.get(motive or "", "periodic"),
        "reference": reference,
        "correlation": None if function == "original" else identifier,
        "function": function,
        "effective": needed_instant(releve, "Date_Releve", _PATH, notes),
        "access_point": point,
        "contract_reference": releve.get("Ref_Situation_Contractuelle"),
        "request_reference": releve.get("Id_Affaire"),
    }
    meter, registers, volumes, beside = _classes(releve)
    if registers or not volumes:
        qualification: Qualification = (
            "before-event" if motive in EXITS else "after-event" if motive in ENTRIES else "periodic"
        )
        messages.append(
            MeterReading(
                **head,
                reading_reference=identifier,
                qualification=qualification,
                nature=NATURE[releve.get("Nature_Index")],
                calendar=calendar,
                supplier_calendar=releve.get("Id_Calendrier"),
                meter=meter,
                previous_reference=releve.get("Id_Releve_Precedent"),
                previous_date=previous,
                previous_nature=None
                if "Nature_Index_Precedent" not in releve
                else NATURE[releve["Nature_Index_Precedent"]],
                correction_reason=releve.get("Motif_Rectif"),
                sequence=whole(releve, "Num_Sequence"),
                service_level=releve.get("Niveau_Ouverture_Services"),
                meter_type=releve.get("Type_Compteur"),
                next_reading=civil_day(releve, "Date_Theorique_Prochaine_Releve", _PATH),
                registers=registers,
            )
        )
    if volumes:
        messages.append(
            MeteredVolume(
                **head,
                start=previous,
                nature=VOLUME_NATURE[releve.get("Nature_Consommation")],
                reading_reference=identifier,
                calendar=calendar,
                correction_reason=releve.get("Motif_Rectif"),
                volumes=volumes,
                particulars=kept([*beside, *(() if registers else _of_reading(releve))])[0],
            )
        )


_READING = (
    "Num_Sequence",
    "Id_Calendrier",
    "Id_Releve_Precedent",
    "Nature_Index",
    "Nature_Index_Precedent",
    "Niveau_Ouverture_Services",
    "Type_Compteur",
    "Date_Theorique_Prochaine_Releve",
)
"""What a meter reading has fields for and an energy has none."""
_REGISTER = ("Num_Serie", "Rang_Cadran", "Nb_Chiffres_Cadran", "Valeur_Precedent", "Coefficient_Lecture")
"""What a register has fields for and an energy has none."""


def _of_reading(releve: Fields) -> list[tuple[str, str]]:
    """What a reading of energies alone says and their message has no field for."""
    return [(f"Donnees_Releve/{tag}", releve[tag]) for tag in _READING if tag in releve]


def _classes(
    releve: Fields,
) -> tuple[str | None, tuple[Register, ...], tuple[Volume, ...], list[tuple[str, str]]]:
    """The meter's serial number where there is one meter, its registers, the volumes, and what stands beside these."""
    indexes: list[tuple[Any, Fields]] = []
    volumes = []
    beside = []
    for tag, grid in GRIDS:
        for number, item in enumerate(releve.get(tag, ()), 1):
            if item["Classe_Mesure"] == "1":
                indexes.append((grid, item))
            else:
                place = f"{tag}[{number}]" if number > 1 else tag
                beside += [(f"{place}/{name}", item[name]) for name in _REGISTER if name in item]
                volumes.append(
                    Volume(
                        grid=grid,
                        time_class=item["Id_Classe_Temporelle"],
                        quantity=decimal(item["Valeur"]),
                        unit=item["Unite_Mesure"],
                        direction=DIRECTION[item["Sens_Mesure"]],
                        purpose=PURPOSE[item["Classe_Mesure"]],
                    )
                )
    serials = {item.get("Num_Serie") for _, item in indexes}
    several = len(serials) > 1
    registers = tuple(
        [
            register(grid, item, item.get("Valeur_Precedent"), item.get("Num_Serie") if several else None)
            for grid, item in indexes
        ]
    )
    return None if several or not serials else serials.pop(), registers, tuple(volumes), beside


DIGESTER = digester(digest, refer, VERSIONS[-1])
