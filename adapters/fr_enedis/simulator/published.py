"""What answers an order of a file (M023): R63 to R67 or C68 of its points, in zips, and the report that ends it.

A simulated point draws the same power all the time, which its digits tell. So indexes, energies, curves and invoiced
energies of one point agree, in whatever order it is asked for.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from lxml import etree

from energycomm.simulation.answering import Document

REFUSED = ("SGT570", "Les données du point ne sont pas disponibles.")
"""Why a point of an order has no data."""
REPORT = "CR.M023"
POINTS_PER_FILE = 2
"""So few that a small order has several files."""
_PARIS = ZoneInfo("Europe/Paris")
_HALF_HOUR = timedelta(minutes=30)
_BEGAN = date(2020, 1, 1)
"""Day on which the meters of the points were at zero."""
_ITC = "demandePublicationITC"


class Ordered(NamedTuple):
    """What was ordered.

    Attributes:
      flux: code of the flux that answers, and its word in file names.
      number: of the order.
      points: in their order.
      first, last: days; what the last one would tell is not asked for.
      fed: what is fed into the grid.
      written: when the answer is written, in legal time.
    """

    flux: tuple[str, str]
    number: str
    points: Sequence[str]
    first: date
    last: date
    fed: bool
    written: datetime

    @property
    def name(self) -> str:
        """What the names of all files begin with."""
        return f"{self.flux[0]}_P_{self.flux[1]}_{self.number}"


FLUXES = {
    "COURBES": ("R63", "CdC"),
    "INDEX": ("R64", "INDEX"),
    "ENERGIE": ("R65", "Energie"),
    "PMAX": ("R66", "Pmax"),
    "demandePublicationMesuresFacturantes": ("R67", "Mfact"),
    _ITC: ("C68", "ITC"),
}
"""What is asked for -> flux, and the word in file names."""


def ordered(request: etree._Element, number: str, at: datetime) -> Ordered | None:
    """What a request orders; None where it is no order of a file.

    Args:
      request: its body.
      number: of the order.
      at: when it is answered.
    """
    name = etree.QName(request).localname
    if not name.startswith("demandePublication"):
        return None

    def said(tag: str) -> str | None:
        return next((element.text for element in request.iter(f"{{*}}{tag}")), None)

    local = at.astimezone(_PARIS)
    first, last = said("dateDebut"), said("dateFin")
    return Ordered(
        FLUXES[said("mesuresTypeCode") or name],
        number,
        [element.text or "" for element in request.iter("{*}pointId")],
        date.fromisoformat(first) if first else local.date(),
        date.fromisoformat(last) if last else local.date(),
        said("sens") == "INJECTION",
        local,
    )


def has_data(point: str) -> bool:
    """Whether the market has data of a point; of one in seven it has none."""
    return not point.isdecimal() or int(point) % 7 != 6


def files(order: Ordered) -> list[Document]:
    """The zips of an order, numbered, and the report, which tells how many they are."""
    points = [point for point in order.points if has_data(point)]
    stamp = f"{order.written:%Y%m%d%H%M%S}"
    contents = _snapshots(order, points, stamp) if order.flux[0] == "C68" else _measures(order, points, stamp)
    found = [
        Document(f"ENEDIS_{order.name}_{number:05d}_{stamp}", content, ".zip", "data")
        for number, content in enumerate(contents, 1)
    ]
    return [*found, _report(order, len(found), stamp)]


def _measures(order: Ordered, points: Sequence[str], stamp: str) -> list[bytes]:
    """Zips with a file each."""
    found: list[bytes] = []
    for start in range(0, len(points), POINTS_PER_FILE):
        measured = [_measured(order, point) for point in points[start : start + POINTS_PER_FILE]]
        name = f"Enedis_{order.name}_{len(found) + 1:05d}_{stamp}.json"
        found.append(_archive([(name, _json({"header": _header(order), "mesures": measured}))]))
    return found


def _snapshots(order: Ordered, points: Sequence[str], stamp: str) -> list[bytes]:
    """One zip of zips, each with a point; none without points."""
    members = []
    for number, point in enumerate(points, 1):
        name = f"Enedis_{order.name}_{number:05d}_{stamp}"
        members.append((f"{name}.zip", _archive([(f"{name}.json", _json([_contract(point)]))])))
    return [_archive(members[start : start + 10]) for start in range(0, len(members), 10)]


def _report(order: Ordered, number: int, stamp: str) -> Document:
    """A stand-in of ours: the form of the report is not public."""
    outcomes: list[dict[str, str]] = []
    for point in order.points:
        refused = {"statut": "REFUSE", "codeMotif": REFUSED[0], "libelleMotif": REFUSED[1]}
        outcomes.append({"idPrm": point, **({"statut": "OK"} if has_data(point) else refused)})
    header = {key: _header(order)[key] for key in ("siDemandeur", "typeDestinataire", "idDestinataire", "idDemande")}
    said = {"header": {**header, "codeFlux": REPORT}, "nbFichiers": number, "points": outcomes}
    return Document(f"ENEDIS_{REPORT}_P_CR_{order.number}_00001_{stamp}", _json(said), ".json", "report")


def _header(order: Ordered) -> dict[str, str]:
    return {
        "siDemandeur": "ACM",
        "typeDestinataire": "ACM",
        "idDestinataire": "GRD-F901",
        "codeFlux": order.flux[0],
        "idDemande": order.number,
        "modePublication": "P",
        "idCanalContact": "Interne",
        "format": "JSON",
        "publicationCrp": "oui",
    }


# --- measures ---


def watts(point: str) -> int:
    """The power that a point draws or feeds all the time, in W: 100 to 599."""
    return 100 + sum(ord(sign) * place for place, sign in enumerate(point, 1)) % 500


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=_PARIS).astimezone(UTC)


def _hours(first: date, last: date) -> int:
    """Hours between two midnights: a day has 23 or 25 where the clock changes."""
    return (_midnight(last) - _midnight(first)) // timedelta(hours=1)


def _days(order: Ordered) -> list[date]:
    return [order.first + timedelta(days=number) for number in range((order.last - order.first).days)]


def _curve(order: Ordered, point: str) -> dict[str, Any]:
    """R63 of a Linky: each half hour is dated by its end, on the clock."""
    begin = _midnight(order.first)
    ends = [begin + number * _HALF_HOUR for number in range(1, 2 * _hours(order.first, order.last) + 1)]
    power = str(watts(point))
    points = [
        {"v": power, "d": f"{end.astimezone(_PARIS):%Y-%m-%d %H:%M:%S}", "p": "PT30M", "n": "B", "iv": 0}
        for end in ends
    ]
    quantity = {**_quantity(order, "PA", "W"), "points": points}
    return {"etapeMetier": "BRUT", "modeCalcul": "MESURE", "grandeur": [quantity]}


def _indexes(order: Ordered, point: str) -> dict[str, Any]:
    values = [
        {"d": f"{day} 00:00:00", "v": watts(point) * _hours(_BEGAN, day), "iv": 0}
        for day in [*_days(order), order.last]
    ]
    register = {
        "idClasseTemporelle": "BASE",
        "libelleClasseTemporelle": "Base",
        "codeCadran": "IDX_EAS_D1",
        "valeur": values,
    }
    calendar = {
        "idCalendrier": "DI000001",
        "libelleCalendrier": "Sans différenciation temporelle",
        "libelleGrille": "Distributeur",
        "classeTemporelle": [register],
    }
    quantity = {**_quantity(order, "EA", "Wh"), "calendrier": [calendar]}
    setting = {"etapeMetier": "BRUT", "contexteReleve": "COL", "typeReleve": "AQ", "grandeur": [quantity]}
    return {"contexte": [setting]}


def _energies(order: Ordered, point: str) -> dict[str, Any]:
    points = [{"v": str(watts(point) * _hours(day, day + timedelta(days=1))), "d": str(day)} for day in _days(order)]
    quantity = {**_quantity(order, "EA", "Wh"), "points": points}
    told = {"etapeMetier": "BRUT", "typeValeur": "GLOBALE", "modeCalcul": "DIFF.INDEX", "pas": "P1D"}
    return {**told, "grandeur": [quantity]}


def _peaks(order: Ordered, point: str) -> dict[str, Any]:
    points = [{"v": str(watts(point)), "d": f"{day} 13:47:29"} for day in _days(order)]
    quantity = {**_quantity(order, "PMA", "VA"), "points": points}
    return {"etapeMetier": "BRUT", "modeCalcul": "MESURE", "pas": "P1D", "grandeur": [quantity]}


def _invoiced(order: Ordered, point: str) -> dict[str, Any]:
    """R67: one energy for each calendar month, or part of one, that was ordered."""
    firsts = [day for day in _days(order) if day.day == 1 and day > order.first]
    bounds = [order.first, *firsts, order.last]
    quantities = [
        {
            "dateCreation": f"{last} 05:03:10",
            "dbtMesure": str(first),
            "finMesure": str(last),
            "quantite": watts(point) * _hours(first, last),
            "codeNature": "R",
            "libelleNature": "Réel",
            "codeStatut": "I",
            "libelleStatut": "Initial",
        }
        for first, last in pairwise(bounds)
    ]
    time_class = {"idClasseTemporelle": "BASE", "libelleClasseTemporelle": "Base", "quantite": quantities}
    calendar = {
        "codeGrille": "D",
        "libelleGrille": "Distributeur",
        "codeCalendrier": "DI000001",
        "libelleCalendrier": "Sans différenciation temporelle",
        "classeTemporelle": [time_class],
    }
    quantity = {**_quantity(order, "EA", "Wh"), "calendrier": [calendar]}
    reason = {"idMotifReleve": "CYCL", "libelleMotifReleve": "Relevé cyclique"}
    return {"contexte": [{"etapeMetier": "FACT", **reason, "grandeur": [quantity]}]}


def _quantity(order: Ordered, code: str, unit: str) -> dict[str, str]:
    return {"grandeurMetier": "PROD" if order.fed else "CONS", "grandeurPhysique": code, "unite": unit}


_PIECES: dict[str, Callable[[Ordered, str], dict[str, Any]]] = {
    "R63": _curve,
    "R64": _indexes,
    "R65": _energies,
    "R66": _peaks,
    "R67": _invoiced,
}


def _measured(order: Ordered, point: str) -> dict[str, Any]:
    period = {"dateDebut": f"{order.first} 00:00:00", "dateFin": f"{order.last} 00:00:00"}
    return {"idPrm": point, "periode": period, **_PIECES[order.flux[0]](order, point)}


# --- data of points ---


def _contract(point: str) -> dict[str, Any]:
    tariff = {
        "formuleTarifaireAcheminement": {"code": "BTINFCUST", "libelle": "Tarif BT<=36kVA Courte Utilisation"},
        "puissanceSouscrite": {"valeur": "6", "unite": "kVA"},
    }
    situation = {
        "dateDebut": str(_BEGAN),
        "segment": "C5",
        "informationsContractuelles": {"etatContractuel": "SERVC"},
        "structureTarifaire": tariff,
    }
    return {
        "idPrm": point,
        "donneesGenerales": {
            "adresseInstallationNonNormalisee": {"codePostal": "99100", "commune": "FICTIVILLE"},
            "typage": {"sensible": False},
        },
        "syntheseContractuelle": {"niveauOuvertureServices": {"code": "2"}},
        "situationComptage": {"dispositifComptage": {"typeComptage": "LINKY"}},
        "situationsContractuelles": [situation],
    }


# --- containers ---


def _json(said: object) -> bytes:
    return json.dumps(said, ensure_ascii=False).encode()


def _archive(members: Sequence[tuple[str, bytes]]) -> bytes:
    """A zip, the same bytes whenever it is made."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
