"""Mistakes in F15: charges of access points, and the general file of an invoice."""

from __future__ import annotations

from adapters.fr_enedis.simulator.mistakes.row import CHARGE, INVOICE, Mistake
from energycomm.simulation.edits import add, both, cents, drop, number, put, shift

CHARGES: tuple[Mistake, ...] = (
    Mistake("CO-G01", "charge", drop("Groupe_Valorise", every=True), {CHARGE: ("CO-G01",)}, error_class="missing"),
    Mistake("CO-G02", "charge", cents("Total_Valorise_HT", 1000), {CHARGE: ("CO-G02",)}),
    Mistake("CO-G03", "charge", both(cents("Montant_HT", 500), cents("Total_Valorise_HT", 500)), {CHARGE: ("CO-G03",)}),
    Mistake("CO-G04", "early-charge", both(), {CHARGE: ("CO-G04",)}, extra=True),
    Mistake("CO-D05", "charge", put("Date_Debut", "2199-01-01"), {CHARGE: ("CO-D05",)}),
    Mistake("FR-G02", "charge", put("Nature_EV", "09"), {CHARGE: ("FR-G02",)}, error_class="product"),
    Mistake("FR-G03", "charge", put("Taux_TVA_Applicable", "XX"), {CHARGE: ("FR-G03",)}, error_class="product"),
    Mistake(
        "FR-G04",
        "charge",
        add("Type_Facturation", "<Origine_Rectif>9</Origine_Rectif>"),
        {CHARGE: ("FR-G04",)},
        error_class="product",
    ),
    Mistake(
        "FR-G07", "charge", put("Formule_Tarifaire_Acheminement", "XYZ"), {CHARGE: ("FR-G07",)}, error_class="product"
    ),
    Mistake("FR-G08", "charge", put("Puissance_Souscrite", "600.0"), {CHARGE: ("FR-G08",)}, {CHARGE: ("FR-G09",)}),
    Mistake(
        "FR-G09",
        "charge",
        put("Puissance_Souscrite", "33.0", every=True),
        warnings={CHARGE: ("FR-G09",)},
        error_class="missing",
    ),
    Mistake("FR-G10", "charge", shift("Date_Fin", 300), {CHARGE: ("FR-G10",)}),
)

GENERAL: tuple[Mistake, ...] = (
    Mistake("CO-G05", "invoice", cents("Montant_Total_TTC", 1000), {INVOICE: ("CO-G05",)}),
    Mistake("CO-D06", "invoice", shift("Date_Reglement", -60), {INVOICE: ("CO-D06",)}),
    Mistake("FR-G01", "invoice", put("Devise", "USD"), {INVOICE: ("FR-G01",)}),
    Mistake("FR-G05", "invoice", put("Type_Facture", "Q"), {INVOICE: ("FR-G05",)}, error_class="product"),
    Mistake("FR-G06", "invoice", put("Frequence_Facturation", "W"), {INVOICE: ("FR-G06",)}, error_class="product"),
    Mistake("FR-G11", "invoice", number("Num_Facture", lambda number: number // 10), warnings={INVOICE: ("FR-G11",)}),
    Mistake("FR-G12", "invoice", shift("Date_Facture", 20), {INVOICE: ("FR-G12",)}),
)
