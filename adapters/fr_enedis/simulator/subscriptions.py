"""R50, and R64B and R63B, which follow R151 and R50 from a day on: what is measured each day, by subscription.

Both say the same of a day: an index is that of the midnight at its end, a power is the mean of its half hour.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from adapters.fr_enedis.simulator import codes
from adapters.fr_enedis.simulator.codes import CONTRACT, SUBSCRIPTION, SUPPLIER
from adapters.fr_enedis.simulator.drafting import Drafter
from energycomm.kernel.vocabulary import Grid
from energycomm.simulation.lives import Life, Situation
from energycomm.simulation.meters import Band
from energycomm.simulation.staging import Draft

CURVE_TAIL = "</R50>\n"
ORDERS = {"R63A": ("CdC", "7100001"), "R63B": ("CdC", "7100002"), "R64B": ("INDEX", "7100004")}
"""Flux -> the word of its data in file names, and the number of its order."""
_PARIS = ZoneInfo("Europe/Paris")
_HALF_HOUR = timedelta(minutes=30)


def curve_head(created: str) -> str:
    """Start of an R50 document."""
    return (
        "<?xml version='1.0' encoding='UTF-8'?>\n<R50><En_Tete_Flux><Identifiant_Flux>R50</Identifiant_Flux>"
        "<Libelle_Flux>Courbes de charge des PRM du segment C5 sur abonnement</Libelle_Flux>"
        "<Version_XSD>1.1.0</Version_XSD><Identifiant_Emetteur>ERDF</Identifiant_Emetteur>"
        f"<Identifiant_Destinataire>{SUPPLIER}</Identifiant_Destinataire><Date_Creation>{created}</Date_Creation>"
        f"<Identifiant_Contrat>{CONTRACT}</Identifiant_Contrat>"
        f"<Numero_Abonnement>{SUBSCRIPTION}</Numero_Abonnement><Pas_Publication>30</Pas_Publication></En_Tete_Flux>\n"
    )


def curve(drafter: Drafter, life: Life, day: int) -> Draft:
    """The R50 message of a day: each half hour is dated by its end."""
    values = "".join(
        f"<PDC><H>{end.isoformat()}</H><V>{watts}</V><IV>0</IV></PDC>\n" for end, watts in powers(drafter, life, day)
    )
    prm, iso = codes.prm_of(life.number), drafter.almanac.iso(day)
    day_of = f"<Donnees_Releve><Date_Releve>{iso}</Date_Releve>\n{values}</Donnees_Releve>"
    body = f"<PRM><Id_PRM>{prm}</Id_PRM>{day_of}</PRM>\n"
    return Draft("R50", body, prm, f"R50 {prm} {iso}", ("MeasureSeries",), life=life.number, place=("curve", day))


def following_curve(drafter: Drafter, life: Life, day: int) -> Draft:
    """What R63B says of a day: each half hour is dated by its end, on the clock."""
    points = [
        {"v": str(watts), "d": f"{end:%Y-%m-%d %H:%M:%S}", "p": "PT30M", "n": "B", "iv": 0}
        for end, watts in powers(drafter, life, day)
    ]
    quantity = {"grandeurMetier": "CONS", "grandeurPhysique": "PA", "unite": "W", "points": points}
    piece = {"etapeMetier": "BRUT", "modeCalcul": "MESURE", "grandeur": [quantity]}
    return _draft("R63B", "MeasureSeries", drafter, life, day, piece)


def following_indexes(drafter: Drafter, life: Life, situation: Situation, day: int) -> Draft:
    """What R64B says of the midnight at the end of a day: the indexes of both grids, in Wh."""
    meter, terms, energy = situation.meter, situation.terms, life.load.until(day + 1, 0)
    at = f"{drafter.almanac.iso(day + 1)} 00:00:00"

    def grid(kind: Grid, named: str, found: codes.Calendar, bands: Sequence[Band]) -> dict[str, Any]:
        classes = []
        for band in bands:
            each = codes.TIME_CLASS[band]
            value = {"d": at, "v": meter.shown_wh(meter.index(kind, band, energy)), "iv": 0}
            register = f"IDX_EAS_{'D' if kind == 'distributor' else 'F'}{each.rank}"
            classes.append(
                {
                    "idClasseTemporelle": each.code,
                    "libelleClasseTemporelle": each.label,
                    "codeCadran": register,
                    "valeur": [value],
                }
            )
        known = {"idCalendrier": found.code, "libelleCalendrier": found.label, "libelleGrille": named}
        return {**known, "classeTemporelle": classes}

    calendars = [
        grid("distributor", "Distributeur", codes.distributor_calendar(terms), terms.distributor_bands),
        grid("supplier", "Fournisseur", codes.supplier_calendar(terms), terms.supplier_bands),
    ]
    quantity = {"grandeurMetier": "CONS", "grandeurPhysique": "EA", "unite": "Wh", "calendrier": calendars}
    setting = {"etapeMetier": "BRUT", "contexteReleve": "COL", "typeReleve": "AQ", "grandeur": [quantity]}
    return _draft("R64B", "MeterReading", drafter, life, day, {"contexte": [setting]})


def document(flux: str, drafts: Sequence[Draft], number: int) -> str:
    """A file of R63A, R63B or R64B."""
    header = {
        "siDemandeur": "ACM",
        "typeDestinataire": "ACM",
        "idDestinataire": "GRD-F901",
        "codeFlux": flux,
        "idDemande": ORDERS[flux][1],
        "modePublication": "Q",
        "idPublication": f"CTR{number:09d}",
        "format": "JSON",
        "publicationCrp": "non",
    }
    pieces = ",\n".join(draft.body for draft in drafts)
    return f'{{"header": {json.dumps(header)},\n"mesures": [\n{pieces}\n]}}\n'


def name(flux: str, number: int, stamp: str) -> str:
    """Name of a file of R63A, R63B or R64B, without its ending."""
    data, order = ORDERS[flux]
    return f"ENEDIS_{flux}_Q_{data}_{order}_GRD-F901_{number:05d}_{stamp}"


def _draft(flux: str, kind: str, drafter: Drafter, life: Life, day: int, piece: dict[str, Any]) -> Draft:
    prm, iso = codes.prm_of(life.number), drafter.almanac.iso(day)
    period = {"dateDebut": f"{iso} 00:00:00", "dateFin": f"{drafter.almanac.iso(day + 1)} 00:00:00"}
    body = json.dumps({"idPrm": prm, "periode": period, **piece}, ensure_ascii=False)
    return Draft(flux, body, prm, f"{flux} {prm} {iso}", (kind,), life=life.number, place=("following", day))


def powers(drafter: Drafter, life: Life, day: int) -> Iterator[tuple[datetime, int]]:
    """End and mean power in W of each half hour of a day, which has 46 or 50 where the clock changes."""
    first, last = (datetime.fromisoformat(drafter.almanac.instant(n)).astimezone(UTC) for n in (day, day + 1))
    steps = (last - first) // _HALF_HOUR
    drawn = [sum(life.load.until(day, 1440 * n // steps)) for n in range(steps)]
    drawn.append(sum(life.load.until(day + 1, 0)))
    for number in range(1, steps + 1):
        yield (first + number * _HALF_HOUR).astimezone(_PARIS), 2 * (drawn[number] - drawn[number - 1])
