"""Mistakes in R15 and R151: indexes and energies."""

from __future__ import annotations

from adapters.fr_enedis.simulator.edits import classes, twice
from adapters.fr_enedis.simulator.mistakes.row import READING, STRANGER, VOLUME, Mistake, same
from energycomm.simulation.edits import add, both, copied, drop, number, put, shift, swap

BOTH = "MeterReading MeteredVolume"

BILLING: tuple[Mistake, ...] = (
    Mistake(
        "CO-R01",
        "reading",
        classes(None),
        {READING: ("CO-R01",)},
        error_class="missing",
    ),
    Mistake("CO-R02", "reading", classes(twice, measure="1", first=True), {READING: ("CO-R02",)}),
    Mistake(
        "CO-R03",
        "reading",
        classes(number("Valeur", lambda _: -400_000), measure="1", first=True),
        {READING: ("CO-R03", "CO-R05", "CO-R08")},
    ),
    Mistake(
        "CO-R04",
        "reading",
        classes(put("Nb_Chiffres_Cadran", "4"), measure="1", grid="Fournisseur", first=True),
        {READING: ("CO-R04",)},
        {READING: ("CO-R11",)},
    ),
    Mistake(
        "CO-R05",
        "reading",
        classes(
            both(number("Valeur", lambda value: value - 2000), drop("Valeur_Precedent")),
            measure="1",
            grid="Fournisseur",
            first=True,
        ),
        {READING: ("CO-R05",)},
    ),
    Mistake(
        "CO-R06",
        "last",
        classes(
            both(number("Valeur", lambda value: value - 2000), drop("Valeur_Precedent")),
            measure="1",
            grid="Fournisseur",
            first=True,
        ),
        warnings={READING: ("CO-R06",)},
        previous=put("Nature_Index", "ESTIME"),
    ),
    Mistake(
        "CO-R08",
        "reading",
        classes(number("Valeur_Precedent", lambda value: value + 2000), measure="1", grid="Fournisseur", first=True),
        {READING: ("CO-R08",)},
        {READING: ("FR-R18",)},
    ),
    Mistake(
        "CO-R09",
        "reading",
        both(classes(None, measure="2"), copied("Date_Releve_Precedent", "Date_Releve")),
        {READING: ("CO-R09",)},
    ),
    Mistake(
        "CO-R10",
        "last",
        classes(put("Indicateur_Passage_A_Zero", "1"), measure="1"),
        warnings={READING: ("CO-R10",)},
    ),
    Mistake("CO-R11", "last", classes(put("Nb_Chiffres_Cadran", "7"), measure="1"), warnings={READING: ("CO-R11",)}),
    Mistake("CO-D02", "last", shift("Date_Releve", 20), same("CO-D02", kinds=BOTH)),
    Mistake(
        "CO-D03",
        "reading",
        both(
            classes(None, measure="1"),
            put("Nature_Consommation", "REGULARISE"),
            copied("Date_Releve_Precedent", "Date_Releve"),
        ),
        {VOLUME: ("CO-D03",)},
    ),
    Mistake("CO-V02", "reading", classes(twice, measure="2", first=True), {VOLUME: ("CO-V02",)}),
    Mistake(
        "CO-V03", "reading", classes(number("Valeur", lambda _: -5), measure="2", first=True), {VOLUME: ("CO-V03",)}
    ),
    Mistake(
        "CO-E03", "reading", swap("17XSIMULATEUR01G", "17XSIMULATEUR02E"), same("CO-E03", kinds=BOTH), document=True
    ),
    Mistake("FR-E01", "reading", put("Identifiant_Emetteur", "ABC"), same("FR-E01", kinds=BOTH), document=True),
    Mistake(
        "CO-E02",
        "reading",
        drop("Identifiant_Destinataire"),
        same("CO-E02", kinds=BOTH),
        error_class="missing",
        document=True,
    ),
    Mistake(
        "FR-E02",
        "reading",
        put("Identifiant_Destinataire", "ABC"),
        same("FR-E02", "FR-P04", kinds=BOTH),
        document=True,
    ),
    Mistake("FR-E03", "reading", put("Instance_GRD", "XX"), warnings=same("FR-E03", kinds=BOTH), document=True),
    Mistake("FR-P04", "reading", put("Identifiant_Destinataire", STRANGER), same("FR-P04", kinds=BOTH), document=True),
    Mistake(
        "FR-C01", "reading", drop("Ref_Situation_Contractuelle"), same("FR-C01", kinds=BOTH), error_class="missing"
    ),
    Mistake("FR-D06", "last", put("Date_Theorique_Prochaine_Releve", "2004-01-01"), warnings={READING: ("FR-D06",)}),
    Mistake(
        "FR-M05", "reading", put("Nb_Chiffres_Cadran", "12", every=True), {READING: ("FR-M05",)}, {READING: ("CO-R11",)}
    ),
    Mistake(
        "FR-R01",
        "reading",
        classes(put("Unite_Mesure", "kVArh"), measure="1"),
        {READING: ("FR-R01", "CO-R05", "CO-R07")},
    ),
    Mistake(
        "FR-R10",
        "reading",
        put("Statut_Releve", "RECTIFICATIF"),
        same("FR-R10", kinds=BOTH),
        error_class="missing",
        extra=True,
    ),
    Mistake(
        "FR-R11",
        "reading",
        both(put("Statut_Releve", "RECTIFICATIF"), add("Nature_Index", "<Motif_Rectif>XXX</Motif_Rectif>")),
        same("FR-R11", kinds=BOTH),
        error_class="product",
        extra=True,
    ),
    Mistake(
        "CO-E05",
        "reading",
        both(put("Statut_Releve", "ANNULE"), add("Nature_Index", "<Motif_Rectif>DYSF_CPT</Motif_Rectif>")),
        same("CO-E05", kinds=BOTH),
        error_class="ordering",
        extra=True,
        before=both(put("Statut_Releve", "ANNULE"), add("Nature_Index", "<Motif_Rectif>CORR_IDX</Motif_Rectif>")),
    ),
    Mistake(
        "FR-R12",
        "last",
        add("Nature_Index", "<Motif_Rectif>CORR_IDX</Motif_Rectif>"),
        warnings=same("FR-R12", kinds=BOTH),
    ),
    Mistake("FR-R15", "reading", put("Coefficient_Lecture", "0.0"), {READING: ("FR-R15",)}),
    Mistake(
        "FR-R17",
        "last",
        put("Num_Serie", "00000000000002", every=True),
        warnings={READING: ("FR-R17",)},
        error_class="missing",
    ),
    Mistake(
        "FR-R18",
        "last",
        classes(number("Valeur_Precedent", lambda value: value - 5), measure="1", first=True),
        warnings={READING: ("FR-R18",)},
        error_class="missing",
    ),
    Mistake("FR-V01", "reading", classes(put("Unite_Mesure", "kVArh"), measure="2"), {VOLUME: ("FR-V01",)}),
    Mistake("FR-V02", "reading", classes(put("Valeur", "999999"), measure="2", first=True), {VOLUME: ("FR-V02",)}),
    Mistake(
        "FR-V03",
        "reading",
        classes(put("Id_Classe_Temporelle", "XYZ"), measure="2", grid="Distributeur", first=True),
        {VOLUME: ("FR-V03",)},
        error_class="product",
    ),
    Mistake("FR-V05", "last", shift("Date_Releve_Precedent", -600), warnings={VOLUME: ("FR-V05",)}),
    Mistake("FR-V06", "last", drop("Nature_Consommation"), warnings={VOLUME: ("FR-V06",)}),
)

DAILY: tuple[Mistake, ...] = (
    Mistake("FR-S02", "daily-end", shift("Date_Releve", 1), {READING: ("FR-S02",)}, extra=True),
    Mistake("FR-D02", "daily", put("Date_Releve", "2010-06-01"), {READING: ("FR-D02",)}),
    Mistake("FR-R02", "daily", put("Unite_Mesure_Index", "kVArh"), {READING: ("FR-R02",)}, document=True),
    Mistake(
        "FR-R03",
        "daily",
        classes(number("Valeur", lambda value: value + 44_000_000), first=True),
        {READING: ("FR-R03",)},
    ),
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
        {READING: ("FR-R04",)},
        {READING: ("FR-R09",)},
        error_class="product",
    ),
    Mistake(
        "FR-R05",
        "daily-last",
        classes(put("Id_Classe_Temporelle", "INCONNU"), grid="Fournisseur", first=True),
        warnings={READING: ("FR-R05",)},
    ),
    Mistake("FR-R06", "daily", put("Id_Calendrier_Distributeur", "INCONNU"), {READING: ("FR-R06",)}),
    Mistake(
        "FR-R07", "daily", put("Id_Calendrier_Distributeur", "DI000009"), {READING: ("FR-R07",)}, error_class="product"
    ),
    Mistake(
        "FR-R08",
        "daily",
        put("Id_Calendrier_Distributeur", "DI000002"),
        {READING: ("FR-R08",)},
        {READING: ("FR-R09",)},
    ),
    Mistake(
        "FR-R09",
        "daily-last",
        classes(None, grid="Distributeur", first=True),
        warnings={READING: ("FR-R09",)},
        error_class="missing",
    ),
    Mistake("FR-R14", "daily", classes(put("Indice_Vraisemblance", "1"), first=True), warnings={READING: ("FR-R14",)}),
    Mistake(
        "FR-R16",
        "daily",
        swap("<Puissance_Maximale><Valeur>", "<Puissance_Maximale><Valeur>9"),
        warnings={READING: ("FR-R16",)},
    ),
)
