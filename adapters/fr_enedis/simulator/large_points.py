"""Points of C2 and C4 that stand beside simulated lives: their entry (C12), what each month is invoiced for (R17), and
their curves (R4x, and R63A, which follows it from a day on).

The power is a whole number of kW for each hour of the day, so that indexes, energies and curves agree to the kWh.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from adapters.fr_enedis.simulator.codes import BALANCE_RESPONSIBLE, CONTRACT, SUPPLIER
from adapters.fr_enedis.simulator.drafting import chance
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.staging import Draft

TARGETS = frozenset(("large-terms", "large-reading"))
"""Places of such a point that are told for the sake of a mistake."""
TERMS_TAIL, READING_TAIL = "  </Contrat>\n</C12>\n", "</Index_C2_C3_C4>\n"
CORRECTED_AFTER, WRONG_BY = 3, 40
"""Days between a wrong set and its correction, and the kWh that its index and energy lack."""
STEP = 10
"""Minutes of an interval of a curve."""
_PARIS = ZoneInfo("Europe/Paris")
_WINTER, _PEAK_MONTHS = (11, 12, 1, 2, 3), (12, 1, 2)
_PEAK_HOURS = (9, 10, 18, 19)
_OFF_PEAK_HOURS = (22, 23, 0, 1, 2, 3, 4, 5)


class Point(NamedTuple):
    """A point of C2 or C4.

    Attributes:
      number: of the life that it stands beside.
      start: day on which its supply begins.
      high: in high voltage (C2); in low voltage above 36 kVA (C4) otherwise.
    """

    number: int
    start: int
    high: bool

    @property
    def prm(self) -> str:
        """Its identifier: 14 digits that no other simulated point has."""
        return f"98{(self.number * 7_919 + 104_729) % 10**9:09d}{self.number % 1000:03d}"

    @property
    def segment(self) -> str:
        """As R17 names it."""
        return "C2" if self.high else "C4"

    @property
    def tariff(self) -> str:
        """Option_Tarifaire_TURPE."""
        return "HTALU5" if self.high else "BTSUPLU4"

    @property
    def powers(self) -> dict[str, int]:
        """Subscribed power by time class: in kW in high voltage, else in kVA; it never falls from class to class."""
        low = {"HPH": 110, "HCH": 110, "HPE": 120, "HCE": 130}
        return {"Pointe": 100, **low} if self.high else low

    def corrected(self, day: int) -> bool:
        """Whether what is told of a month on a day is wrong at first: every other month, of every other point."""
        return (self.number + day // 30) % 2 == 0


def point_of(number: int, *, faulty: bool) -> Point:
    """The point beside a life; beside a faulty one it is of C4."""
    return Point(number, 1 + number % 5, not faulty and number % 2 == 0)


# --- what it draws ---


def _hours(almanac: Almanac, day: int) -> Iterator[datetime]:
    """The starts of the hours of a day, 23 or 25 where the clock changes."""
    first, last = (datetime.fromisoformat(almanac.instant(n)).astimezone(UTC) for n in (day, day + 1))
    while first < last:
        yield first.astimezone(_PARIS)
        first += timedelta(hours=1)


def _power(point: Point, day: int, at: datetime) -> int:
    """kW in the hour that begins at an instant: more in the hours of work than beside them."""
    working = at.weekday() < 5 and 7 <= at.hour < 19
    return (55 if working else 15) + chance(point.number, day, 30 + at.hour, 20)


def _class(point: Point, at: datetime) -> str:
    """The time class of the hour that begins at an instant."""
    if point.high and at.month in _PEAK_MONTHS and at.hour in _PEAK_HOURS and at.weekday() < 6:
        return "Pointe"
    return f"H{'C' if at.hour in _OFF_PEAK_HOURS else 'P'}{'H' if at.month in _WINTER else 'E'}"


def _energies(almanac: Almanac, point: Point, first: int, last: int) -> dict[str, int]:
    """kWh by time class from the start of a day to that of another."""
    found = dict.fromkeys(point.powers, 0)
    for day in range(first, last):
        for at in _hours(almanac, day):
            found[_class(point, at)] += _power(point, day, at)
    return found


# --- C12 ---


def terms_head(created: str) -> str:
    """Start of a C12 document."""
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<C12>
  <En_Tete_Flux>
    <Identifiant_Flux>C12</Identifiant_Flux>
    <Libelle_Flux>Description contractuelle des PRM du segment C2-C4</Libelle_Flux>
    <Version_XSD>1.12.1</Version_XSD>
    <Identifiant_Emetteur>Enedis</Identifiant_Emetteur>
    <Identifiant_Destinataire>{SUPPLIER}</Identifiant_Destinataire>
    <Date_Creation>{created}</Date_Creation>
    <Mode_Generation>DELTA</Mode_Generation>
  </En_Tete_Flux>
  <Contrat>
    <Identifiant>{CONTRACT}</Identifiant>
    <Date_Debut>2015-01-01</Date_Debut>
    <Responsable_Equilibre>
      <Date_Debut>2015-01-01</Date_Debut>
      <Code_EIC>{BALANCE_RESPONSIBLE}</Code_EIC>
      <Raison_Sociale>EQUILIBRE SIMULE</Raison_Sociale>
    </Responsable_Equilibre>
    <Client_Contractant>
      <Code_EIC>{SUPPLIER}</Code_EIC>
      <Raison_Sociale>FOURNISSEUR SIMULE</Raison_Sociale>
    </Client_Contractant>
"""


def terms(almanac: Almanac, point: Point, day: int, nature: str) -> Draft:
    """The situation of a point after an event: MES, its entry, or CPS, a change of its powers."""
    classes = "".join(
        f"""            <Classe_Temporelle_TURPE_Souscrite>
              <Libelle>{name}</Libelle>
              <Puissance_Souscrite>{power}</Puissance_Souscrite>
            </Classe_Temporelle_TURPE_Souscrite>
"""
        for name, power in point.powers.items()
    )
    voltage, domain, profile = ("20kV", "HTA", "ENT5") if point.high else ("230_400V", "BTSUP", "ENT4")
    body = f"""    <PRM>
      <Identifiant>{point.prm}</Identifiant>
      <Type_Evenement>
        <Contractuel>true</Contractuel>
        <Comptage>false</Comptage>
        <Reseau>false</Reseau>
        <Administratif>false</Administratif>
        <Date_Evenement>{almanac.iso(day)}</Date_Evenement>
        <Adresse_Postale>
          <Code_Postal>99100</Code_Postal>
          <Commune Code_INSEE="99100"/>
        </Adresse_Postale>
        <CAD>
          <Num_Depan_24>0900000000</Num_Depan_24>
        </CAD>
        <Situation_Contractuelle>
          <Synthese_Contractuelle>
            <Date_De_Premiere_Mise_En_Service>2015-06-01</Date_De_Premiere_Mise_En_Service>
          </Synthese_Contractuelle>
          <Date_Debut>{almanac.iso(point.start)}</Date_Debut>
          <Evenement>
            <Nature_Evenement>{nature}</Nature_Evenement>
          </Evenement>
          <Utilisateur_Reseau>
            <Personne_Morale>
              <Raison_Sociale>ATELIERS SIMULES {point.number}</Raison_Sociale>
              <Code_APE>2451Z</Code_APE>
            </Personne_Morale>
          </Utilisateur_Reseau>
          <Option_Tarifaire_TURPE_Souscrite>
            <Option_Tarifaire_TURPE>
              <Libelle>{point.tariff}</Libelle>
            </Option_Tarifaire_TURPE>
{classes}          </Option_Tarifaire_TURPE_Souscrite>
          <Profil>{profile}</Profil>
        </Situation_Contractuelle>
        <Alimentation>
          <Alimentation_Principale>
            <Tension_De_Livraison>{voltage}</Tension_De_Livraison>
            <Domaine_De_Tension>{domain}</Domaine_De_Tension>
          </Alimentation_Principale>
        </Alimentation>
      </Type_Evenement>
    </PRM>
"""
    kinds = (*(("StartOfSupply",) if nature == "MES" else ()), "AccessPointData", "ContractTerms", "CustomerData")
    reference = f"C12 {point.prm} {nature} {almanac.iso(day)}"
    return Draft("C12", body, point.prm, reference, kinds, life=point.number, place=("large-terms", day))


# --- R17 ---


def reading_head(created: str) -> str:
    """Start of an R17 document."""
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<Index_C2_C3_C4>
  <En_Tete_Flux>
    <Identifiant_Flux>R17</Identifiant_Flux>
    <Libelle_Flux>Index et consommations des PRM des segments C2, C3 et C4</Libelle_Flux>
    <Version_XSD>1.9.1</Version_XSD>
    <Identifiant_Emetteur>Enedis</Identifiant_Emetteur>
    <Identifiant_Destinataire>{SUPPLIER}</Identifiant_Destinataire>
    <Date_Creation>{created}</Date_Creation>
    <Identifiant_Contrat>{CONTRACT}</Identifiant_Contrat>
    <Coordonnees_Emetteur>
      <Nom>RESEAU SIMULE</Nom>
    </Coordonnees_Emetteur>
    <Coordonnees_Destinataire>
      <Nom>FOURNISSEUR SIMULE</Nom>
    </Coordonnees_Destinataire>
  </En_Tete_Flux>
"""


def sets(almanac: Almanac, point: Point, day: int, *, corrected: bool) -> list[Draft]:
    """What the month that ends with the start of a day is invoiced for.

    Args:
      almanac: of the simulation.
      point: the point.
      day: the first of a month.
      corrected: whether it is wrong at first.

    Returns:
      The set alone; or `corrected` a set whose first class lacks some kWh, then the same one cancelled, and the right
      one.
    """
    first = max(point.start, almanac.number((almanac.civil(day) - timedelta(days=1)).replace(day=1)))
    drawn = _energies(almanac, point, first, day)
    lacking = next(name for name, energy in drawn.items() if energy > WRONG_BY)
    wrong = drawn | {lacking: drawn[lacking] - WRONG_BY}
    said = (("INITIAL", wrong), ("ANNULE", wrong), ("RECTIFICATIF", drawn)) if corrected else (("INITIAL", drawn),)
    return [_set(almanac, point, first, day, *one) for one in said]


def _set(almanac: Almanac, point: Point, first: int, day: int, status: str, told: Mapping[str, int]) -> Draft:
    """The set of the days from `first` to `day`; `told` is the energy of each class in kWh."""
    began = {name: 20_000 + chance(point.number, rank, 40, 50_000) for rank, name in enumerate(point.powers)}
    before = _energies(almanac, point, point.start, first)
    indexes, energies, peaks = "", "", ""
    for name, energy in told.items():
        old = began[name] + before[name]
        indexes += _in_class("Index_Par", name, _index(old, old + energy))
        energies += _in_class("Conso_Par", name, f"<Quantite_Mesure>{energy}</Quantite_Mesure>")
        peaks += _in_class("Conso_Par", name, f"<Quantite_Mesure>{75 if energy else 0}</Quantite_Mesure>")
    reason = "      <Motif_Rectif>MESURE_ERRONEE</Motif_Rectif>\n" if status != "INITIAL" else ""
    body = f"""  <Corps_PRM>
    <Id_PRM>{point.prm}</Id_PRM>
    <Num_Sous_Lot>SL{point.number:05d}{day:05d}</Num_Sous_Lot>
    <Date_Sous_Lot>{almanac.iso(day)}</Date_Sous_Lot>
    <Segment>{point.segment}</Segment>
    <Donnees_Releve>
      <Id_PRM>{point.prm}</Id_PRM>
      <Tarif_Souscrit>{point.tariff}</Tarif_Souscrit>
      <Type_Programmation_Compteur>{5 if point.high else 4}</Type_Programmation_Compteur>
      <Statut_Mesure>{status}</Statut_Mesure>
      <Nature_Mesure>REEL</Nature_Mesure>
{reason}      <Motif_Releve_Precedent>FACTURATION</Motif_Releve_Precedent>
      <Nature_Index_Precedents>REEL</Nature_Index_Precedents>
      <Motif_Releve_Nouveau>FACTURATION</Motif_Releve_Nouveau>
      <Nature_Index_Nouveaux>REEL</Nature_Index_Nouveaux>
      <Date_Debut_Mesure>{almanac.iso(first)}</Date_Debut_Mesure>
      <Date_Fin_Mesure>{almanac.iso(day)}</Date_Fin_Mesure>
      <Donnees_Par_Type_Mesure>
        <Type_Mesure>EA</Type_Mesure>
        <Unite_Mesure>kWh</Unite_Mesure>
{indexes}{energies}      </Donnees_Par_Type_Mesure>
      <Donnees_Par_Type_Mesure>
        <Type_Mesure>PA</Type_Mesure>
        <Unite_Mesure>kW</Unite_Mesure>
{peaks}      </Donnees_Par_Type_Mesure>
    </Donnees_Releve>
  </Corps_PRM>
"""
    kinds, reference = ("MeterReading", "MeteredVolume"), f"R17 {point.prm} {almanac.iso(day)} {status}"
    return Draft("R17", body, point.prm, reference, kinds, life=point.number, place=("large-reading", day))


def _in_class(what: str, name: str, value: str) -> str:
    tag, told = f"{what}_Classe_Temporelle", f"<Classe_Temporelle>{name}</Classe_Temporelle>"
    return f"        <{tag}>\n          {told}\n          {value}\n        </{tag}>\n"


def _index(old: int, new: int) -> str:
    return f"<Index><Index_Precedent>{old}</Index_Precedent><Index_Nouveau>{new}</Index_Nouveau></Index>"


# --- curves ---


def _steps(almanac: Almanac, point: Point, day: int) -> Iterator[tuple[datetime, int]]:
    """Start and kW of each interval of a day."""
    for hour in _hours(almanac, day):
        power = _power(point, day, hour)
        for minutes in range(0, 60, STEP):
            yield (hour.astimezone(UTC) + timedelta(minutes=minutes)).astimezone(_PARIS), power


def curve(almanac: Almanac, point: Point, day: int) -> Draft:
    """What R4x says of a day, in kW: each interval is dated by its start."""
    values = "".join(
        f'<Donnees_Point_Mesure Horodatage="{at.isoformat()}" Valeur_Point="{power}" Statut_Point="R"/>\n'
        for at, power in _steps(almanac, point, day)
    )
    body = f"""<Corps><Identifiant_PRM>{point.prm}</Identifiant_PRM>
<Donnees_Courbe><Horodatage_Debut>{almanac.instant(day)}</Horodatage_Debut>
<Horodatage_Fin>{almanac.instant(day, 1439, "59")}</Horodatage_Fin><Granularite>{STEP}</Granularite>
<Unite_Mesure>kW</Unite_Mesure><Grandeur_Metier>CONS</Grandeur_Metier><Grandeur_Physique>EA</Grandeur_Physique>
{values}</Donnees_Courbe></Corps>
"""
    return _measured("R4x", almanac, point, day, body)


def curve_document(created: str, draft: Draft) -> str:
    """A file of R4x: one point."""
    return (
        "<?xml version='1.0' encoding='UTF-8'?>\n<Courbe><Entete><Identifiant_Flux>R4x</Identifiant_Flux>"
        "<Libelle_Flux>Flux de courbes de charge R4x</Libelle_Flux><Identifiant_Emetteur>ENEDIS</Identifiant_Emetteur>"
        f"<Identifiant_Destinataire>{SUPPLIER}</Identifiant_Destinataire><Date_Creation>{created}</Date_Creation>"
        "<Frequence_Publication>Q</Frequence_Publication><Reference_Demande>50000505</Reference_Demande>"
        f"<Nature_De_Courbe_Demandee>Brute</Nature_De_Courbe_Demandee></Entete>\n{draft.body}</Courbe>\n"
    )


def following_curve(almanac: Almanac, point: Point, day: int) -> Draft:
    """What R63A says of a day, in W: each interval is dated by its start, on the clock."""
    points = [
        {"v": str(1000 * power), "d": f"{at:%Y-%m-%d %H:%M:%S}", "p": f"PT{STEP}M", "n": "R", "iv": 0}
        for at, power in _steps(almanac, point, day)
    ]
    quantity = {"grandeurMetier": "CONS", "grandeurPhysique": "PA", "unite": "W", "points": points}
    period = {"dateDebut": f"{almanac.iso(day)} 00:00:00", "dateFin": f"{almanac.iso(day + 1)} 00:00:00"}
    piece = {"idPrm": point.prm, "etapeMetier": "BRUT", "periode": period, "modeCalcul": "MESURE"}
    return _measured("R63A", almanac, point, day, json.dumps({**piece, "grandeur": [quantity]}))


def _measured(flux: str, almanac: Almanac, point: Point, day: int, body: str) -> Draft:
    reference = f"{flux} {point.prm} {almanac.iso(day)}"
    return Draft(flux, body, point.prm, reference, ("MeasureSeries",), life=point.number, place=("large-curve", day))


def read_on(first: date, days: int) -> Sequence[int]:
    """Days of a simulation on which the meters of large points are read: the first of each month, not the earliest
    days, of which they draw nothing yet."""
    return [day for day in range(10, days) if (first + timedelta(days=day)).day == 1]
