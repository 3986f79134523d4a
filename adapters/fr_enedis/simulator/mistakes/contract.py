"""Mistakes in C15: the events of a contract, and the spans of supply that they open and close."""

from __future__ import annotations

from adapters.fr_enedis.simulator.mistakes.row import HOLDER, METER, POINT, READING, STRANGER, TERMS, Mistake, same
from energycomm.simulation.edits import Edit, add, both, copied, drop, number, put, shift, swap

_FAR, _OLD = "2199-01-01", "2003-03-03"
_PERSON = "<Personne_{0}>{1}</Personne_{0}>"


def _holder(category: str, *people: str) -> Edit:
    """Give the holder of the contract another category and other names."""

    def edit(xml: str) -> str:
        start, end = xml.index("<Categorie>"), xml.index("<Coordonnees_Contact>")
        return f"{xml[:start]}<Categorie>{category}</Categorie>{''.join(people)}{xml[end:]}"

    return edit


def _physical(inner: str) -> str:
    return _PERSON.format("Physique", inner)


def _moral(inner: str) -> str:
    return _PERSON.format("Morale", f"{inner}<Activite>4711F</Activite>")


_NAME = "<Nom>EXEMPLE</Nom>"
_SIRET = "<Etablissement_Principal_Num_Siret>{}</Etablissement_Principal_Num_Siret>"
_ODD_METER = (
    "<Operation><Code_Operation>16</Code_Operation><Compteur><Type>CEB</Type>"
    "<Tension_Fonctionnement>230V</Tension_Fonctionnement><Num_Serie>00000000000001</Num_Serie></Compteur></Operation>"
)
_READING = (
    "<Releves><Donnees_Releve><Code_Qualification>2</Code_Qualification><Date_Releve>{}</Date_Releve>"
    "<Id_Calendrier>FC010001</Id_Calendrier><Nature_Index>REEL</Nature_Index><Classe_Temporelle>"
    "<Id_Classe_Temporelle>HCB</Id_Classe_Temporelle><Rang_Cadran>1</Rang_Cadran><Classe_Mesure>1</Classe_Mesure>"
    "<Unite_Mesure>kWh</Unite_Mesure><Sens_Mesure>0</Sens_Mesure><Valeur>12</Valeur>"
    "<Nb_Chiffres_Cadran>6</Nb_Chiffres_Cadran></Classe_Temporelle></Donnees_Releve></Releves>"
)


def _with_reading(xml: str) -> str:
    at = xml.split("<Date_Evenement>")[1].split("<")[0]
    return add("Id_Affaire", _READING.format(at))(xml)


def _dated(day: str) -> Edit:
    """Move an event to midnight of another day, in winter time, with all dates of the contract."""
    at = f"{day}T00:00:00+01:00"
    return both(
        put("Date_Evenement", at),
        put("Date_Mise_En_Service", day),
        put("Date_Debut_Num_Sequence", day),
        put("Date_Debut_Etat_Alimentation", day),
    )


def _other_reading_day(xml: str) -> str:
    return number("Jour_Fixe_Releve", lambda day: day % 28 + 1)(xml)


CONTRACT_EVENTS: tuple[Mistake, ...] = (
    Mistake("CO-D01", "point", shift("Date_Evenement", 800), same("CO-D01", "FR-D03")),
    Mistake("FR-D03", "point", shift("Date_Evenement", 200), same("FR-D03")),
    # No tariff formula of today was in force then.
    Mistake("FR-D01", "point", _dated(_OLD), {**same("FR-D01"), TERMS: ("FR-C04", "FR-D01")}),
    Mistake("FR-D04", "point", put("Date_Mise_En_Service", _FAR), {TERMS: ("FR-D04", "FR-D05")}),
    Mistake("FR-D05", "point", put("Date_Debut_Num_Sequence", _FAR), {TERMS: ("FR-D05",)}),
    Mistake("FR-D07", "point", put("Date_Debut_Etat_Alimentation", _FAR), warnings={POINT: ("FR-D07",)}),
    Mistake("FR-P01", "point", number("Id_PRM", lambda prm: prm // 100), same("FR-P01")),
    Mistake("FR-P05", "point", put("Segment_Clientele", "C9"), {POINT: ("FR-P05",)}, error_class="product"),
    Mistake("FR-P06", "point", put("Segment_Clientele", "C3"), {POINT: ("FR-P06",)}),
    Mistake("FR-P08", "point", put("Periodicite_Releve", "3"), {POINT: ("FR-P08",)}),
    Mistake("FR-P09", "point", put("Jour_Fixe_Releve", "45"), {POINT: ("FR-P09",)}),
    Mistake("FR-P10", "point", put("Niveau_Ouverture_Services", "7"), {POINT: ("FR-P10",)}, error_class="product"),
    Mistake(
        "FR-P11",
        "point",
        both(put("Niveau_Ouverture_Services", "2"), put("Teleoperable", "0")),
        warnings={POINT: ("FR-P11",)},
    ),
    Mistake(
        "FR-P12",
        "point",
        add("Autoproducteur", "<Autoconsommation_Collective>9</Autoconsommation_Collective>"),
        {POINT: ("FR-P12",)},
        error_class="product",
    ),
    Mistake("FR-P13", "point", put("P_Raccordement_Soutirage", "400"), warnings={POINT: ("FR-P13",)}),
    Mistake("FR-P14", "point", put("Etat_Alimentation", "NALI"), warnings={POINT: ("FR-P14",)}),
    Mistake("FR-P15", "point", put("Code_Postal", "ABC"), warnings={POINT: ("FR-P15",)}),
    Mistake(
        "FR-P03",
        "point",
        put("Code_EIC_Fournisseur", STRANGER),
        {POINT: ("FR-P03",)},
        document=True,
    ),
    Mistake("FR-C02", "point", put("Ref_Situation_Contractuelle", "AB-12"), same("FR-C02")),
    Mistake("FR-C03", "point", drop("Formule_Tarifaire_Acheminement"), {TERMS: ("FR-C03",)}, error_class="missing"),
    Mistake(
        "FR-C04",
        "point",
        put("Formule_Tarifaire_Acheminement", "BTINFXX9"),
        {TERMS: ("FR-C04",)},
        error_class="product",
    ),
    Mistake("FR-C05", "point", drop("Puissance_Souscrite"), {TERMS: ("FR-C05",)}, error_class="missing"),
    Mistake("FR-C06", "point", put("Puissance_Souscrite", "600.0"), {TERMS: ("FR-C06",)}),
    Mistake("FR-C07", "point", put("Unite_Puissance_Souscrite", "kW"), {TERMS: ("FR-C07",)}),
    Mistake("FR-C08", "point", put("Id_Calendrier_Distributeur", "DN999999"), {TERMS: ("FR-C08",)}),
    Mistake("FR-C09", "point", put("Id_Calendrier_Distributeur", "DI000001"), warnings={TERMS: ("FR-C09",)}),
    Mistake("FR-C10", "point", put("Num_Sequence", "0"), {TERMS: ("FR-C10", "FR-C11")}),
    Mistake("FR-C11", "early-point", put("Num_Sequence", "1"), {TERMS: ("FR-C11",)}, error_class="ordering"),
    Mistake(
        "FR-C12",
        "point",
        put("Nature_Contrat", "XYZ"),
        warnings={TERMS: ("FR-C12",)},
        error_class="product",
        document=True,
    ),
    Mistake(
        "FR-U02",
        "point",
        _holder("RES", _physical("<Civilite>M</Civilite>")),
        {HOLDER: ("FR-U02",)},
        error_class="missing",
    ),
    Mistake(
        "FR-U03",
        "point",
        _holder("PRO", _physical("<Civilite>M</Civilite>")),
        {HOLDER: ("FR-U03",)},
        error_class="missing",
    ),
    Mistake(
        "FR-U04",
        "point",
        _holder("RES", _physical(f"<Civilite>Dr</Civilite>{_NAME}")),
        {HOLDER: ("FR-U04",)},
        error_class="product",
    ),
    Mistake(
        "FR-U05",
        "point",
        _holder("PRO", _moral(f"<Raison_Sociale>Exemple</Raison_Sociale>{_SIRET.format('12345678901234')}")),
        warnings={HOLDER: ("FR-U05",)},
    ),
    Mistake(
        "FR-U06",
        "point",
        _holder("RES", _physical(_NAME), _moral(_SIRET.format("73282932000074"))),
        warnings={HOLDER: ("FR-U06",)},
    ),
    Mistake("FR-U07", "point", put("Telephone1_Num", "12345"), warnings={HOLDER: ("FR-U07",)}),
    Mistake("FR-M01", "point", drop("Num_Serie"), {METER: ("FR-M01",)}, error_class="missing"),
    Mistake("FR-M02", "point", swap("<Type>CCB<", "<Type>XXX<"), {METER: ("FR-M02",)}, error_class="product"),
    Mistake("FR-M03", "point", put("Calibre", "7A"), warnings={METER: ("FR-M03",)}, error_class="product"),
    Mistake("FR-M04", "point", put("Nb_Cadrans", "40"), {METER: ("FR-M04",)}),
    Mistake("FR-M06", "point", put("Pas_Courbe_De_Charge_Soutirage", "7"), warnings={METER: ("FR-M06",)}),
    Mistake(
        "FR-M07", "point", add("Id_Affaire", _ODD_METER), warnings={f"{METER}/1": ("FR-M07",)}, error_class="missing"
    ),
    Mistake("FR-E05", "point", put("Id_Affaire", "-"), warnings=same("FR-E05")),
    Mistake("FR-S05", "customer", put("Etat_Contractuel", "RESILIE"), {POINT: ("FR-S05",), TERMS: ("FR-S05",)}),
    Mistake("FR-S06", "point", put("Nature_Evenement", "ZZZZ"), same("FR-S06"), error_class="product"),
    Mistake("FR-S07", "point", drop("Nature_Evenement"), same("FR-S07"), error_class="missing"),
    Mistake("FR-S12", "point", _with_reading, {READING: ("FR-S12",)}),
    Mistake(
        "CO-S05",
        "point",
        _other_reading_day,
        same("CO-S05", kinds=f"{POINT} {TERMS} {HOLDER}"),
        error_class="ordering",
        extra=True,
    ),
)

SPANS: tuple[Mistake, ...] = (
    Mistake(
        "CO-S01",
        "entry",
        both(
            drop("Releves"),
            shift("Date_Evenement", 5),
            copied("Date_Mise_En_Service", "Date_Evenement", day=True),
            copied("Date_Debut_Num_Sequence", "Date_Evenement", day=True),
        ),
        {"StartOfSupply": ("CO-S01",)},
        extra=True,
        later=5,
    ),
    Mistake(
        "CO-S02",
        "entry",
        number("Ref_Situation_Contractuelle", lambda reference: reference - 1),
        {"StartOfSupply": ("CO-S02",), **same("FR-S01"), READING: ("FR-S02",)},
        cascade="entry",
    ),
    Mistake(
        "CO-S03",
        "exit",
        both(drop("Releves"), shift("Date_Evenement", 1), shift("Date_Resiliation", 1)),
        {"EndOfSupply": ("CO-S03",)},
        extra=True,
    ),
    Mistake(
        "FR-S01",
        "exit",
        both(
            drop("Releves"),
            drop("Date_Resiliation"),
            put("Nature_Evenement", "MCT"),
            put("Etat_Contractuel", "EN SERVICE"),
            shift("Date_Evenement", 1),
        ),
        same("FR-S01"),
        extra=True,
    ),
    Mistake("FR-S03", "exit", put("Etat_Contractuel", "EN SERVICE"), {"EndOfSupply": ("FR-S03",)}, cascade="exit"),
    Mistake("FR-S04", "entry", put("Etat_Contractuel", "RESILIE"), {POINT: ("FR-S04",), TERMS: ("FR-S04",)}),
    Mistake(
        "FR-S09",
        "entry",
        drop("Code_EIC_Responsable_Equilibre"),
        {"StartOfSupply": ("FR-S09",)},
        error_class="missing",
        document=True,
        cascade="entry",
        rest="quarantined",
    ),
    Mistake("FR-S10", "entry", shift("Date_Mise_En_Service", -3), warnings={"StartOfSupply": ("FR-S10",)}),
    Mistake("FR-S11", "exit", shift("Date_Resiliation", 2), warnings={"EndOfSupply": ("FR-S11",)}),
)
