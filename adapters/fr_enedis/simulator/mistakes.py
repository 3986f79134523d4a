"""The mistakes that the simulator can play: one row for each error code that an Enedis file can bring about.

Codes that no Enedis file can bring about are listed in `UNREACHABLE` with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any

from msgspec.structs import replace

from adapters.fr_enedis.simulator import codes
from adapters.fr_enedis.simulator.edits import classes, twice
from adapters.fr_enedis.simulator.ordered import changed
from energycomm.simulation.edits import (
    Edit,
    NothingToEdit,
    add,
    both,
    cents,
    copied,
    drop,
    number,
    put,
    rewrite,
    shift,
    swap,
)
from energycomm.simulation.expectation import Outcome
from energycomm.simulation.lives import Life
from energycomm.simulation.staging import NOT_TOLD, Draft, Lost, Market, Mistake, Stage, by_name, same

START, STOP = "StartOfSupply", "EndOfSupply"
POINT, TERMS, HOLDER, METER = "AccessPointData", "ContractTerms", "CustomerData", "MeterData"
SERIES = "MeasureSeries"
READING, VOLUME, CHARGE, INVOICE, STATUS = "MeterReading", "MeteredVolume", "GridCharge", "GridInvoice", "RequestStatus"
EVERYTHING, BOTH = f"{POINT} {TERMS} {HOLDER} {METER}", f"{READING} {VOLUME}"
STRANGER = "17XSIMULATEUR09Z"
"""Another party than ours."""

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


def _worked_on(code: str) -> Edit:
    """Work on the meter in place, without an index."""

    def edit(xml: str) -> str:
        serial = xml.rpartition("<Num_Serie>")[2].split("<")[0]
        told = _ODD_METER.replace(">16<", f">{code}<").replace("00000000000001", serial)
        return add("Id_Affaire", told)(xml)

    return edit


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
    Mistake("CO-D01", "change", shift("Date_Evenement", 800), same("CO-D01", "FR-D03", kinds=EVERYTHING)),
    Mistake("FR-D03", "change", shift("Date_Evenement", 200), EVERYTHING),
    # No tariff formula of today was in force then.
    Mistake(
        "FR-D01",
        "change",
        _dated(_OLD),
        {**same("FR-D01", kinds=EVERYTHING), TERMS: ("FR-C04", "FR-D01")},
        same("CO-S06", kinds=EVERYTHING),
    ),
    Mistake("FR-D04", "change", put("Date_Mise_En_Service", _FAR), {TERMS: ("FR-D04", "FR-D05")}),
    Mistake("FR-D05", "change", put("Date_Debut_Num_Sequence", _FAR), TERMS),
    Mistake("FR-D07", "change", put("Date_Debut_Etat_Alimentation", _FAR), warnings=POINT),
    Mistake("FR-P01", "change", number("Id_PRM", lambda prm: prm // 100), EVERYTHING),
    Mistake("FR-P05", "change", put("Segment_Clientele", "C9"), POINT, error_class="product"),
    Mistake("FR-P06", "change", put("Segment_Clientele", "C3"), POINT),
    Mistake("FR-P08", "change", put("Periodicite_Releve", "3"), POINT),
    Mistake("FR-P09", "change", put("Jour_Fixe_Releve", "45"), POINT),
    Mistake("FR-P10", "change", put("Niveau_Ouverture_Services", "7"), POINT, error_class="product"),
    Mistake("FR-P11", "change", both(put("Niveau_Ouverture_Services", "2"), put("Teleoperable", "0")), warnings=POINT),
    Mistake(
        "FR-P12",
        "change",
        add("Autoproducteur", "<Autoconsommation_Collective>9</Autoconsommation_Collective>"),
        POINT,
        error_class="product",
    ),
    Mistake("FR-P13", "change", put("P_Raccordement_Soutirage", "400"), warnings=POINT),
    Mistake("FR-P14", "change", put("Etat_Alimentation", "NALI"), warnings=POINT),
    Mistake("FR-P15", "change", put("Code_Postal", "ABC"), warnings=POINT),
    Mistake("FR-P03", "change", None, POINT, document=put("Code_EIC_Fournisseur", STRANGER)),
    Mistake("FR-C02", "change", put("Ref_Situation_Contractuelle", "AB-12"), EVERYTHING),
    Mistake("FR-C03", "change", drop("Formule_Tarifaire_Acheminement"), TERMS, error_class="missing"),
    Mistake("FR-C04", "change", put("Formule_Tarifaire_Acheminement", "BTINFXX9"), TERMS, error_class="product"),
    Mistake("FR-C05", "change", drop("Puissance_Souscrite"), TERMS, error_class="missing"),
    Mistake("FR-C06", "change", put("Puissance_Souscrite", "600.0"), TERMS),
    Mistake("FR-C07", "change", put("Unite_Puissance_Souscrite", "kW"), TERMS),
    Mistake("FR-C08", "change", put("Id_Calendrier_Distributeur", "DN999999"), TERMS),
    Mistake("FR-C09", "change", put("Id_Calendrier_Distributeur", "DI000001"), warnings=TERMS),
    Mistake("FR-C10", "change", put("Num_Sequence", "0"), {TERMS: ("FR-C10", "FR-C11")}),
    Mistake("FR-C11", "early-change", put("Num_Sequence", "1"), TERMS, error_class="ordering"),
    Mistake("FR-C12", "change", None, warnings=TERMS, error_class="product", document=put("Nature_Contrat", "XYZ")),
    Mistake("FR-C13", "start", put("Formule_Tarifaire_Acheminement", "HTACU5"), TERMS),
    Mistake("FR-C16", "change", put("Formule_Tarifaire_Acheminement", "HTACU5"), TERMS),
    Mistake(
        "FR-C14",
        "change",
        both(put("Formule_Tarifaire_Acheminement", "BTSUPCU4"), put("Puissance_Souscrite", "60.0")),
        {TERMS: ("FR-C06", "FR-C14")},
    ),
    Mistake("FR-U02", "change", _holder("RES", _physical("<Civilite>M</Civilite>")), HOLDER, error_class="missing"),
    Mistake("FR-U03", "change", _holder("PRO", _physical("<Civilite>M</Civilite>")), HOLDER, error_class="missing"),
    Mistake(
        "FR-U04", "change", _holder("RES", _physical(f"<Civilite>Dr</Civilite>{_NAME}")), HOLDER, error_class="product"
    ),
    Mistake(
        "FR-U05",
        "change",
        _holder("PRO", _moral(f"<Raison_Sociale>Exemple</Raison_Sociale>{_SIRET.format('12345678901234')}")),
        warnings=HOLDER,
    ),
    Mistake(
        "FR-U06", "change", _holder("RES", _physical(_NAME), _moral(_SIRET.format("73282932000074"))), warnings=HOLDER
    ),
    Mistake("FR-U07", "change", put("Telephone1_Num", "12345"), warnings=HOLDER),
    Mistake("FR-M01", "change", drop("Num_Serie"), METER, error_class="missing"),
    Mistake("FR-M02", "change", swap("<Type>CCB<", "<Type>XXX<"), METER, error_class="product"),
    Mistake("FR-M03", "change", put("Calibre", "7A"), warnings=METER, error_class="product"),
    Mistake("FR-M04", "change", put("Nb_Cadrans", "40"), METER),
    Mistake("FR-M06", "change", put("Pas_Courbe_De_Charge_Soutirage", "7"), warnings=METER),
    Mistake(
        "FR-M07",
        "change",
        add("Id_Affaire", _ODD_METER),
        warnings={f"{METER}/1": ("FR-M07", "FR-M09")},
        error_class="missing",
    ),
    Mistake("FR-M08", "change", _worked_on("15"), warnings=METER, error_class="missing"),
    Mistake("FR-M09", "change", _worked_on("5"), warnings=f"{METER}/1", error_class="missing"),
    Mistake("FR-E05", "change", put("Id_Affaire", "-"), warnings=EVERYTHING),
    Mistake("FR-S05", "customer", put("Etat_Contractuel", "RESILIE"), {POINT: ("FR-S05",), TERMS: ("FR-S05",)}),
    Mistake("FR-S06", "change", put("Nature_Evenement", "ZZZZ"), f"{EVERYTHING} {READING}", error_class="product"),
    Mistake("FR-S07", "change", drop("Nature_Evenement"), f"{EVERYTHING} {READING}", error_class="missing"),
    Mistake("FR-S12", "change", _with_reading, READING),
    Mistake("CO-S05", "change", _other_reading_day, f"{POINT} {TERMS} {HOLDER}", error_class="ordering", extra=True),
)

SPANS: tuple[Mistake, ...] = (
    Mistake(
        "CO-S01",
        "start",
        both(
            drop("Releves"),
            shift("Date_Evenement", 5),
            copied("Date_Mise_En_Service", "Date_Evenement", day=True),
            copied("Date_Debut_Num_Sequence", "Date_Evenement", day=True),
        ),
        START,
        extra=True,
        later=5,
    ),
    Mistake(
        "CO-S02",
        "start",
        number("Ref_Situation_Contractuelle", lambda reference: reference - 1),
        {START: ("CO-S02",), **same("FR-S01", kinds=EVERYTHING), READING: ("FR-S02",)},
        cascade="start",
    ),
    Mistake(
        "CO-S03",
        "stop",
        both(drop("Releves"), shift("Date_Evenement", 1), shift("Date_Resiliation", 1)),
        STOP,
        extra=True,
    ),
    Mistake(
        "CO-S06",
        "stop",
        both(drop("Releves"), shift("Date_Evenement", -1200), shift("Date_Resiliation", -1200)),
        warnings=STOP,
        error_class="ordering",
        rest="quarantined",
        cascade="stop",
    ),
    Mistake(
        "FR-S01",
        "stop",
        both(
            drop("Releves"),
            drop("Date_Resiliation"),
            put("Nature_Evenement", "MCT"),
            put("Etat_Contractuel", "EN SERVICE"),
            shift("Date_Evenement", 1),
        ),
        EVERYTHING,
        extra=True,
    ),
    Mistake("FR-S03", "stop", put("Etat_Contractuel", "EN SERVICE"), STOP, cascade="stop"),
    Mistake("FR-S04", "start", put("Etat_Contractuel", "RESILIE"), {POINT: ("FR-S04",), TERMS: ("FR-S04",)}),
    Mistake(
        "FR-S09",
        "start",
        None,
        START,
        error_class="missing",
        cascade="start",
        rest="quarantined",
        document=drop("Code_EIC_Responsable_Equilibre"),
    ),
    Mistake("FR-S10", "start", shift("Date_Mise_En_Service", -3), warnings=START),
    Mistake("FR-S11", "stop", shift("Date_Resiliation", 2), warnings=STOP),
)


BILLING: tuple[Mistake, ...] = (
    Mistake("CO-R01", "original", classes(None), READING, error_class="missing"),
    Mistake("CO-R02", "original", classes(twice, measure="1", first=True), READING),
    Mistake(
        "CO-R03",
        "original",
        classes(number("Valeur", lambda _: -400_000), measure="1", first=True),
        {READING: ("CO-R03", "CO-R05", "CO-R08")},
    ),
    Mistake(
        "CO-R04",
        "original",
        classes(put("Nb_Chiffres_Cadran", "4"), measure="1", grid="Fournisseur", first=True),
        READING,
        {READING: ("CO-R11",)},
    ),
    Mistake(
        "CO-R05",
        "original",
        classes(
            both(number("Valeur", lambda value: value - 2000), drop("Valeur_Precedent")),
            measure="1",
            grid="Fournisseur",
            first=True,
        ),
        READING,
    ),
    Mistake(
        "CO-R06",
        "reading",
        classes(
            both(number("Valeur", lambda value: value - 2000), drop("Valeur_Precedent")),
            measure="1",
            grid="Fournisseur",
            first=True,
        ),
        warnings=READING,
        previous=put("Nature_Index", "ESTIME"),
    ),
    Mistake(
        "CO-R08",
        "original",
        classes(number("Valeur_Precedent", lambda value: value + 2000), measure="1", grid="Fournisseur", first=True),
        READING,
        {READING: ("FR-R18",)},
    ),
    Mistake(
        "CO-R09", "original", both(classes(None, measure="2"), copied("Date_Releve_Precedent", "Date_Releve")), READING
    ),
    Mistake("CO-R10", "reading", classes(put("Indicateur_Passage_A_Zero", "1"), measure="1"), warnings=READING),
    Mistake("CO-R11", "reading", classes(put("Nb_Chiffres_Cadran", "7"), measure="1"), warnings=READING),
    Mistake(
        "CO-R12",
        "original",
        classes(number("Valeur", lambda value: value + 5), measure="1", first=True),
        READING,
        error_class="ordering",
        extra=True,
    ),
    Mistake("CO-R13", "original", shift("Date_Releve", 1), BOTH, error_class="ordering", extra=True),
    Mistake(
        "CO-V09",
        "original",
        classes(number("Valeur", lambda value: value + 5), measure="2", first=True),
        VOLUME,
        error_class="ordering",
        extra=True,
    ),
    Mistake("CO-D02", "reading", shift("Date_Releve", 20), BOTH),
    Mistake(
        "CO-D03",
        "original",
        both(
            classes(None, measure="1"),
            put("Nature_Consommation", "REGULARISE"),
            copied("Date_Releve_Precedent", "Date_Releve"),
        ),
        VOLUME,
    ),
    Mistake("CO-V02", "original", classes(twice, measure="2", first=True), VOLUME),
    Mistake("CO-V03", "original", classes(number("Valeur", lambda _: -5), measure="2", first=True), VOLUME),
    Mistake("CO-E03", "original", None, BOTH, document=swap("17XSIMULATEUR01G", "17XSIMULATEUR02E")),
    Mistake("FR-E01", "original", None, BOTH, document=put("Identifiant_Emetteur", "ABC")),
    Mistake("CO-E02", "original", None, BOTH, error_class="missing", document=drop("Identifiant_Destinataire")),
    Mistake(
        "FR-E02",
        "original",
        None,
        same("FR-E02", "FR-P04", kinds=BOTH),
        document=put("Identifiant_Destinataire", "ABC"),
    ),
    Mistake("FR-E03", "original", None, warnings=BOTH, document=put("Instance_GRD", "XX")),
    Mistake("FR-P04", "original", None, BOTH, document=put("Identifiant_Destinataire", STRANGER)),
    Mistake("FR-C01", "original", drop("Ref_Situation_Contractuelle"), BOTH, error_class="missing"),
    Mistake("FR-D06", "reading", put("Date_Theorique_Prochaine_Releve", "2004-01-01"), warnings=READING),
    Mistake("FR-M05", "original", put("Nb_Chiffres_Cadran", "12", every=True), READING, {READING: ("CO-R11",)}),
    Mistake("FR-R01", "original", classes(put("Unite_Mesure", "kVArh"), measure="1"), READING),
    Mistake("FR-R10", "original", put("Statut_Releve", "RECTIFICATIF"), BOTH, error_class="missing", extra=True),
    Mistake(
        "FR-R11",
        "original",
        both(put("Statut_Releve", "RECTIFICATIF"), add("Nature_Index", "<Motif_Rectif>XXX</Motif_Rectif>")),
        BOTH,
        error_class="product",
        extra=True,
    ),
    Mistake(
        "CO-E05",
        "original",
        both(put("Statut_Releve", "ANNULE"), add("Nature_Index", "<Motif_Rectif>DYSF_CPT</Motif_Rectif>")),
        BOTH,
        error_class="ordering",
        extra=True,
        before=both(put("Statut_Releve", "ANNULE"), add("Nature_Index", "<Motif_Rectif>CORR_IDX</Motif_Rectif>")),
    ),
    Mistake("FR-R12", "reading", add("Nature_Index", "<Motif_Rectif>CORR_IDX</Motif_Rectif>"), warnings=BOTH),
    Mistake("FR-R15", "original", put("Coefficient_Lecture", "0.0"), READING),
    Mistake(
        "FR-R17", "reading", put("Num_Serie", "00000000000002", every=True), warnings=READING, error_class="missing"
    ),
    Mistake(
        "FR-R18",
        "reading",
        classes(number("Valeur_Precedent", lambda value: value - 5), measure="1", first=True),
        warnings=READING,
        error_class="missing",
    ),
    Mistake("FR-V01", "original", classes(put("Unite_Mesure", "kVArh"), measure="2"), VOLUME),
    Mistake("FR-V02", "original", classes(put("Valeur", "999999"), measure="2", first=True), VOLUME),
    Mistake(
        "FR-V03",
        "original",
        classes(put("Id_Classe_Temporelle", "XYZ"), measure="2", grid="Distributeur", first=True),
        VOLUME,
        error_class="product",
    ),
    Mistake("FR-V05", "reading", shift("Date_Releve_Precedent", -600), warnings=VOLUME),
    Mistake("FR-V06", "reading", drop("Nature_Consommation"), warnings=VOLUME),
)

DAILY: tuple[Mistake, ...] = (
    Mistake("FR-S02", "daily-end", shift("Date_Releve", 1), READING, extra=True),
    Mistake(
        "CO-S13",
        "daily",
        shift("Date_Releve", -400),
        warnings=READING,
        error_class="ordering",
        rest="quarantined",
    ),
    Mistake("FR-D02", "daily", put("Date_Releve", "2010-06-01"), READING, {READING: ("CO-S13",)}),
    Mistake(
        "CO-V10",
        "daily",
        number("V", lambda watts: watts + 200),
        {"MeasureSeries": ("CO-V10",)},
        error_class="ordering",
        extra=True,
        type="R50",
    ),
    Mistake("CO-R14", "daily", warnings=READING, type="R151"),
    Mistake("FR-R02", "daily", None, READING, document=put("Unite_Mesure_Index", "kVArh")),
    Mistake("FR-R03", "daily", classes(number("Valeur", lambda value: value + 44_000_000), first=True), READING),
    Mistake(
        "CO-R07",
        "daily",
        classes(number("Valeur", lambda value: value // 1000), grid="Fournisseur", first=True),
        {READING: ("CO-R05", "CO-R07")},
        error_class="product",
    ),
    Mistake(
        "FR-R04",
        "daily",
        classes(put("Id_Classe_Temporelle", "XYZ"), grid="Distributeur", first=True),
        READING,
        {READING: ("FR-R09",)},
        error_class="product",
    ),
    Mistake(
        "FR-R05",
        "daily-last",
        classes(put("Id_Classe_Temporelle", "INCONNU"), grid="Fournisseur", first=True),
        warnings=READING,
    ),
    Mistake("FR-R06", "daily", put("Id_Calendrier_Distributeur", "INCONNU"), READING),
    Mistake("FR-R07", "daily", put("Id_Calendrier_Distributeur", "DI000009"), READING, error_class="product"),
    Mistake("FR-R08", "daily", put("Id_Calendrier_Distributeur", "DI000002"), READING, {READING: ("FR-R09",)}),
    Mistake(
        "FR-R09", "daily-last", classes(None, grid="Distributeur", first=True), warnings=READING, error_class="missing"
    ),
    Mistake("FR-R14", "daily", classes(put("Indice_Vraisemblance", "1"), first=True), warnings=READING),
    Mistake("FR-R16", "daily", swap("<Puissance_Maximale><Valeur>", "<Puissance_Maximale><Valeur>9"), warnings=READING),
)


CURVES: dict[str, Edit] = {
    "CO-V10": both(),
    "CO-R14": rewrite("V", lambda watts: str(int(watts) // 2), every=True),
}
"""Mistake -> what is wrong with the curve (R50) that its day is told by, beside its indexes."""

_NO_TAX = drop("Total_Valorise_TVA"), drop("Total_Valorise_TTC")
"""A mistake in a line leaves the taxes of its charge alone."""

_LATE = """
      <Detail_Interets_Retard>
         <Num_Facture_Impayee>3100000000011</Num_Facture_Impayee>
         <Date_Facture_Impayee>2025-01-05</Date_Facture_Impayee>
         <Date_Echeance_Initiale>2025-01-20</Date_Echeance_Initiale>
         <Date_Calcul_Interets>2025-01-30</Date_Calcul_Interets>
         <Montant_Base>730.00</Montant_Base>
         <Nb_Jours>10</Nb_Jours>
         <Taux>10.000</Taux>
         <Montant_HT>20.00</Montant_HT>
         <Taux_TVA_Applicable>0</Taux_TVA_Applicable>
      </Detail_Interets_Retard>
"""


def _again(xml: str, code: str, days: int) -> str:
    """The first line of a code once more, at no cost, on the same days (`days` 0) or so many days before them."""
    found = re.search(rf"[ ]*<Element_Valorise>\s*<Id_EV>{code}</Id_EV>.*?</Element_Valorise>\n", xml, re.DOTALL)
    if found is None:
        raise NothingToEdit(code)
    changes = [put("Quantite", "0.0"), put("Montant_HT", "0.00")]
    if days:
        changes += [shift("Date_Debut", -days), shift("Date_Fin", -days)]
    return xml.replace(found[0], both(*changes)(found[0]) + found[0], 1)


CHARGES: tuple[Mistake, ...] = (
    Mistake("CO-G01", "charge", drop("Groupe_Valorise", every=True), CHARGE, error_class="missing"),
    Mistake("CO-G02", "charge", both(cents("Total_Valorise_HT", 1000), drop("Total_Valorise_TTC")), CHARGE),
    Mistake("CO-G03", "charge", both(cents("Montant_HT", 500), cents("Total_Valorise_HT", 500), *_NO_TAX), CHARGE),
    Mistake("CO-G10", "charge", lambda xml: _again(xml, "ASGBT-U", 0), CHARGE),
    Mistake("CO-G11", "charge", lambda xml: _again(xml, "ASGBT-U", 60), warnings=CHARGE, error_class="missing"),
    Mistake(
        "FR-G13",
        "charge",
        both(put("Taux_TVA_Applicable", "37.50", every=True), *_NO_TAX),
        CHARGE,
    ),
    Mistake("FR-G14", "charge", both(cents("Total_Valorise_TVA", 9900), cents("Total_Valorise_TTC", 9900)), CHARGE),
    Mistake("FR-G15", "charge", cents("Total_Valorise_TTC", 1000), CHARGE),
    Mistake("FR-G16", "charge", add("Groupe_Valorise", _LATE), warnings=CHARGE),
    Mistake("CO-G04", "early-charge", both(), CHARGE, extra=True),
    Mistake("CO-D05", "charge", put("Date_Debut", "2199-01-01"), CHARGE),
    Mistake("FR-G02", "charge", put("Nature_EV", "09"), CHARGE, error_class="product"),
    Mistake("FR-G03", "charge", both(put("Taux_TVA_Applicable", "XX"), *_NO_TAX), CHARGE, error_class="product"),
    Mistake(
        "FR-G04", "charge", add("Type_Facturation", "<Origine_Rectif>9</Origine_Rectif>"), CHARGE, error_class="product"
    ),
    Mistake("FR-G07", "charge", put("Formule_Tarifaire_Acheminement", "XYZ"), CHARGE, error_class="product"),
    Mistake("FR-G08", "charge", put("Puissance_Souscrite", "600.0", every=True), CHARGE, {CHARGE: ("FR-G09",)}),
    Mistake("FR-G09", "charge", put("Puissance_Souscrite", "33.0", every=True), warnings=CHARGE, error_class="missing"),
    Mistake("FR-G10", "charge", shift("Date_Fin", 300), CHARGE),
)

_TAXED = """
      <Detail_TVA>
         <Libelle>TVA 20.00</Libelle>
         <Taux_TVA_Applicable>20.00</Taux_TVA_Applicable>
         <Assiette>105.00</Assiette>
         <Montant>21.00</Montant>
      </Detail_TVA>
"""

GENERAL: tuple[Mistake, ...] = (
    Mistake("CO-G05", "invoice", cents("Montant_Total_TTC", 1000), INVOICE),
    Mistake(
        "CO-G06",
        "invoice",
        both(
            cents("Montant_Total_TTC", 1000),
            add("Montant_Total_HT", "<Montant_Total_Contributions>5.00</Montant_Total_Contributions>"),
        ),
        INVOICE,
    ),
    Mistake(
        "CO-G07",
        "invoice",
        both(
            cents("Montant_Total_TVA", 9900),
            cents("Montant_Total_TTC", 9900),
            add("Nb_Donnees_Valorisation_Total", _TAXED),
        ),
        INVOICE,
        {INVOICE: ("CO-G09",)},
    ),
    Mistake(
        "CO-G08",
        "invoice",
        both(
            cents("Montant_Total_TVA", 9900),
            cents("Montant_Total_TTC", 9900),
            add("Nb_Donnees_Valorisation_Total", _TAXED.replace("21.00", "99.00")),
        ),
        INVOICE,
        {INVOICE: ("CO-G09",)},
    ),
    Mistake(
        "CO-G09",
        "invoice",
        both(
            cents("Montant_Total_TVA", 2100),
            cents("Montant_Total_TTC", 2100),
            add("Nb_Donnees_Valorisation_Total", _TAXED),
        ),
        warnings=INVOICE,
    ),
    Mistake("CO-D06", "invoice", shift("Date_Reglement", -60), INVOICE),
    Mistake("FR-G01", "invoice", put("Devise", "USD"), INVOICE),
    Mistake("FR-G05", "invoice", put("Type_Facture", "Q"), INVOICE, error_class="product"),
    Mistake("FR-G06", "invoice", put("Frequence_Facturation", "W"), INVOICE, error_class="product"),
    Mistake("FR-G11", "invoice", number("Num_Facture", lambda number: number // 10), warnings=INVOICE),
    Mistake("FR-G12", "invoice", shift("Date_Facture", 20), INVOICE),
)


def _named(identifier: str) -> Edit:
    """Give the affaire another identifier, made of its own; `{}` stands for its digits."""

    def edit(xml: str) -> str:
        return re.sub(r'<affaire id="S(\d+)"', lambda m: f'<affaire id="{identifier.format(m[1])}"', xml)

    return edit


def _dated_ahead(xml: str) -> str:
    """The third milestone bears a year that is yet to come."""
    changed, times = re.subn(r"(<num>3</num><dateHeure>)\d{4}", r"\g<1>2099", xml)
    if not times:
        raise NothingToEdit("third milestone")
    return changed


AFFAIRS: tuple[Mistake, ...] = (
    Mistake("CO-A01", "request", swap("<num>1</num>", "<num>0</num>"), STATUS, parts=(1,)),
    Mistake("CO-A02", "request", swap("<num>3</num>", "<num>2</num>"), STATUS, parts=(3,)),
    Mistake("CO-A03", "request", lambda xml: xml, STATUS, parts=(4,)),
    Mistake("FR-A01", "request", _named("S/{}"), STATUS),
    Mistake("FR-A02", "request", _named("SX{}X"), warnings=STATUS),
    Mistake("FR-A03", "request", swap('code="DMREC"', 'code="ZZZZ"'), STATUS, error_class="product", parts=(2,)),
    Mistake(
        "FR-A04",
        "request",
        swap('<affaireEtat code="DMREC">', "<affaireEtat>"),
        STATUS,
        error_class="missing",
        parts=(2,),
    ),
    Mistake("FR-A05", "request", swap('code="TERMN"', 'code="XXXX"'), STATUS, error_class="product", parts=(3,)),
    Mistake("FR-A06", "request", swap('code="TERMN"', 'code="COURS"'), STATUS, parts=(3,)),
    Mistake(
        "FR-A07", "request", swap('<objet code="AME">', '<objet code="ZZZ">'), warnings=STATUS, error_class="product"
    ),
    Mistake("FR-A08", "request", swap('code="DMTR"', 'code="DMREC"'), warnings=STATUS, parts=(1,)),
    Mistake("FR-D08", "request", _dated_ahead, STATUS, parts=(3,)),
)


def _points(change: Callable[[list[Any]], object]) -> Edit:
    """Change the values of a curve."""
    return changed(lambda said: change(said["grandeur"][0]["points"]))


ORDERED: tuple[Mistake, ...] = (
    Mistake(
        "FR-L30",
        "ordered",
        _points(lambda points: points.__delitem__(slice(10))),
        warnings=SERIES,
        error_class="missing",
    ),
    Mistake(
        "FR-L31",
        "ordered",
        _points(lambda points: points.__delitem__(slice(-10, None))),
        warnings=SERIES,
        error_class="missing",
    ),
    Mistake("FR-L32", "ordered", _points(lambda points: points[7].update(iv=1)), warnings=SERIES),
    Mistake(
        "FR-A19", "notice", swap('"motifFinCode": 4', '"motifFinCode": 77'), warnings=STATUS, error_class="product"
    ),
    Mistake(
        "FR-A20", "report", swap('"OK"', '"REFUSE", "codeMotif": "SGT570"'), warnings=STATUS, error_class="missing"
    ),
)


def _above_its_class(xml: str) -> str:
    """Let the peak hours of R17 take 125 kVA all the time: more than their class may, and less than the highest."""
    first, last = (date.fromisoformat(xml.split(f"<Date_{end}_Mesure>")[1][:10]) for end in ("Debut", "Fin"))
    taken = 125 * 24 * (last - first).days
    indexes = re.compile(r"(<Classe_Temporelle>HP.</Classe_Temporelle>\s*<Index><Index_Precedent>)(\d+)(.*?>)\d+(?=<)")
    return indexes.sub(lambda found: f"{found[1]}{found[2]}{found[3]}{int(found[2]) + taken}", xml)


LARGE = (
    Mistake("FR-C15", "large-terms", put("Puissance_Souscrite", "18", every=True), warnings=TERMS),
    Mistake("FR-R21", "large-reading", _above_its_class, errors=READING),
)
"""Mistakes at points of C2 to C4."""

TOLD_BY: dict[str, str] = {
    **dict.fromkeys(("CO-R02", "CO-V02"), "itself: one value is given twice"),
    **dict.fromkeys(
        (
            *("CO-S01", "CO-S03", "CO-S05", "FR-S01", "FR-S02", "CO-E05", "CO-G04", "FR-R10", "FR-R11"),
            *("CO-R12", "CO-R13", "CO-V09"),
        ),
        "the right message, which came before",
    ),
    **dict.fromkeys(("CO-E02", "CO-E03", "FR-E01", "FR-E02", "FR-P03", "FR-P04"), "the headers of the other documents"),
    **dict.fromkeys(("FR-R01", "FR-R02", "FR-V01"), "the unit in the readings before"),
    **dict.fromkeys(("CO-R04", "FR-M05"), "the digits of the register in the readings before"),
    **dict.fromkeys(("FR-R06", "FR-R07", "FR-R08"), "the calendar in the readings before"),
    **dict.fromkeys(("CO-R08", "CO-R09", "CO-D03"), "the reading before"),
    **dict.fromkeys(("FR-C01", "FR-C02", "FR-D04"), "the start of the supply"),
    **dict.fromkeys(("FR-S03", "FR-S04", "FR-S05"), "itself: the nature of its event"),
    **dict.fromkeys(("FR-U02", "FR-U03"), "the holder in the start of the supply"),
    **dict.fromkeys(
        ("CO-G02", "CO-G05", "CO-G06", "CO-G07", "CO-G08", "FR-G14", "FR-G15"),
        "itself: the amounts that it adds up",
    ),
    **dict.fromkeys(("CO-A01", "CO-A02"), "the milestones around it"),
    "CO-S02": "the messages of the supply, which bear its reference",
    "FR-P01": "its contract reference, which the start of the supply bears too",
    "FR-M01": "the meter in the messages before",
    "FR-C07": "the unit in the terms before",
    "FR-G01": "the other invoices",
}
"""Error code -> what else that arrives tells the right content, see `Outcome`; nothing does for the other mistakes."""

MISTAKES = {
    name: row if row.refused else row._replace(kinds=NOT_TOLD)
    for name, row in by_name(
        TOLD_BY, CONTRACT_EVENTS, SPANS, BILLING, DAILY, CHARGES, GENERAL, AFFAIRS, ORDERED, LARGE
    ).items()
}
"""Error code -> its mistake; what an edit leaves of a message is not foretold."""

UNREACHABLE: dict[str, str] = {
    **dict.fromkeys(
        ("CO-S10", "CO-S11", "CO-S12", "CO-C01", "CO-C02", "CO-C03", "CO-C11", "CO-C12", "CO-C13"),
        "a simulated supplier has no opening balance: its history begins with the market's entries",
    ),
    "CO-A04": "this market brings no requests of others to a supplier",
    "CO-D04": "a series is as long as its values",
    "CO-D07": "a digester gives a series one step",
    "CO-D08": "no simulated file brings sums of an area, settlement amounts or price lists",
    "CO-D09": "no simulated file brings a series of months or years",
    "CO-E01": "a header without its sender is refused before",
    "CO-E04": "a correction of R15 always names the reading it corrects: its own identifier",
    "CO-V01": "volumes are only made of energies that are there",
    "FR-A09": "a milestone without its number is refused before",
    "FR-E04": "the message type comes from the table of types",
    **dict.fromkeys(
        ("FR-L01", "FR-L02", "FR-L03", "FR-L04", "FR-L05", "FR-L06", "FR-L07"),
        "curves (R50) are simulated where fluxes follow one another, and without mistakes; "
        "tests/adapters/test_fr_curves.py shows them",
    ),
    **dict.fromkeys(
        ("FR-R19", "FR-R20", "FR-V07", "FR-V08"),
        "lives are written in the fluxes of invoicing, R63B and R64B without mistakes; what is measured on demand "
        "answers orders, and tests/adapters/test_fr_measures.py shows it",
    ),
    "FR-M10": "in the simulation every reading after it would be of the meter before; tests/adapters/test_fr_c15.py "
    "shows it",
    "FR-P02": "a message without Id_PRM is refused before",
    "FR-P07": "the number of phases comes from a list of two words",
    "FR-R13": "the end of an R151 day is always midnight",
    "FR-S08": "an entry is told by its event",
    "FR-U01": "a holder without Categorie is refused before",
    "FR-V04": "the share comes from Classe_Mesure, a list",
}
"""Error code -> why no simulated Enedis file can bring it about; such messages come otherwise, or not at all."""

_RECTIFIED = both(put("Statut_Releve", "RECTIFICATIF"), add("Nature_Index", "<Motif_Rectif>CORR_IDX</Motif_Rectif>"))
_NAMED = "what names the contract, from its first message on"
_ALL = frozenset("*")


def _corrected(draft: Draft) -> Draft:
    return draft._replace(body=_RECTIFIED(draft.body), reference=f"{draft.reference} RECTIFICATIF", kinds=None)


def _orphan(stage: Stage, draft: Draft) -> Outcome | None:
    """A daily index names no contract: all that is known says that the supply has ended."""
    if draft.type != "R151" or stage.missing != "start":
        return None
    return replace(stage.waiting(stage.freed_by, ()), state={"*": "rejected"}, errors={READING: ("FR-S02",)})


def _freed_by(life: Life, missing: str) -> str:
    kind, supply = (STOP if missing == "stop" else START), (2 if missing == "start" else 1)
    return f"{kind} of contract {codes.contract_reference(life.number, supply)}"


FAULTS = Market(
    MISTAKES,
    named={"C15": _ALL, "R15": _ALL},
    anchored={"R151": _ALL, "F15": _ALL},
    lost={
        "lost-entry": Lost("first", _NAMED),
        "lost-reentry": Lost("start", _NAMED),
        "lost-exit": Lost("stop", "the entry of the next contract"),
        "lost-original": Lost("original", "its correction, which says all of it anew"),
    },
    late={"late-entry": "first", "late-exit": "stop", "late-original": "original"},
    delay=10,
    original="R15",
    corrected=_corrected,
    corrected_after=3,
    orphan=_orphan,
    freed_by=_freed_by,
    daily=frozenset(("daily", "daily-end", "daily-last")),
)
