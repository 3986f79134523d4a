"""F15: grid charges and grid invoices."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
import xmlschema

from energycomm.kernel.messages import GridCharge, GridInvoice
from tests.adapters.french import codes, digest, only

FIXTURES = Path(__file__).parents[2] / "fixtures/fr"


def test_a_line_group_is_a_charge_with_its_lines() -> None:
    found = digest("FL_1_2.xml")
    [charge] = only(found.transactions[0], GridCharge)
    assert (charge.invoice, charge.charge_reference) == ("3100000000017", "17000000000000101")
    assert charge.reference == "3100000000017:17000000000000101"
    assert (charge.access_point, charge.contract_reference) == ("99000000000101", "700000101")
    assert (charge.billing_type, charge.currency, charge.total_excluding_tax) == ("CYCL", "EUR", Decimal("11.90"))
    assert [(line.code, line.nature, line.amount) for line in charge.lines] == [
        ("CG", "01", Decimal("1.30")),
        ("CS_VAR", "02", Decimal("10.60")),
    ]
    assert charge.total_excluding_tax == sum(line.amount for line in charge.lines)


def test_a_charge_holds_on_its_effect_date_else_on_the_last_day_of_its_lines_else_on_the_invoice_date() -> None:
    by_effect = digest("FL_2_2.xml").transactions[0]
    assert only(by_effect, GridCharge)[0].effective.isoformat() == "2026-02-05T00:00:00+01:00"
    by_line = digest("FL_1_2.xml").transactions[0]
    assert only(by_line, GridCharge)[0].effective.isoformat() == "2026-01-31T00:00:00+01:00"
    bare = digest(
        "FL_2_2.xml",
        ("<Date_Effet>2026-02-05</Date_Effet>", ""),
        ("<Date_Fin>2026-01-17</Date_Fin>", ""),
        ("<Date_Facture>2026-02-05", "<Date_Facture>2026-02-04"),
    ).transactions[0]
    assert only(bare, GridCharge)[0].effective.isoformat() == "2026-02-04T00:00:00+01:00"


def test_a_label_that_was_encoded_twice_is_repaired_and_noted() -> None:
    transaction = digest("FL_2_2.xml").transactions[0]
    [charge] = only(transaction, GridCharge)
    assert charge.lines[0].label == "Pénalité pour coupure réseau"
    assert charge.lines[0].tax == "NS"
    assert codes(transaction) == ["NOTE_LABEL_REPAIRED"]


def test_elements_of_version_4_tell_the_version() -> None:
    found = digest("FL_2_2.xml", ("<Version_XSD>4.0.0", "<Version_XSD>3.3.2"))
    assert found.head is not None
    assert (found.head.version, [note.code for note in found.head.notes]) == ("4.0.0", ["NOTE_VERSION_DECLARED"])


def test_a_correcting_charge_names_the_invoice_and_charge_it_corrects() -> None:
    origin = (
        "<Facture_Origine><Origine_Facture>3100000000001</Origine_Facture>"
        "<Origine_Valorisation>170001</Origine_Valorisation></Facture_Origine></Donnees_Valorisation>"
    )
    found = digest(
        "FL_2_2.xml", ("</Donnees_Valorisation>", origin), ("<Periode", "<Origine_Rectif>2</Origine_Rectif><Periode")
    )
    [charge] = only(found.transactions[0], GridCharge)
    assert (charge.original_invoice, charge.correlation, charge.correction_origin) == ("3100000000001", "170001", "2")
    assert charge.function == "original"


def test_the_same_charge_of_another_invoice_is_another_transaction() -> None:
    one = digest("FL_1_2.xml").transactions[0]
    other = digest("FL_1_2.xml", ("<Num_Facture>3100000000017", "<Num_Facture>3100000000018")).transactions[0]
    assert one.identity != other.identity


@pytest.mark.parametrize(
    "edit",
    [
        ("<Devise>EUR<", "<Devise>euro<"),
        ("<Num_Facture>3100000000017</Num_Facture>", ""),
        ("<Date_Facture>2026-02-05<", "<Date_Facture>2026-02-31<"),
    ],
)
def test_a_broken_head_refuses_every_charge_with_its_reason(edit: tuple[str, str]) -> None:
    for transaction in digest("FL_1_2.xml", edit).transactions:
        assert codes(transaction) == ["SYN_VALUE"]
        assert transaction.refusals[0].path.startswith("Rappel_En_Tete/")


def test_a_general_file_is_one_invoice() -> None:
    [transaction] = digest("f15_general.xml").transactions
    [invoice] = only(transaction, GridInvoice)
    assert (invoice.reference, invoice.access_point) == ("3100000000017", None)
    assert (invoice.invoice_date, invoice.due_date) == (date(2026, 2, 5), date(2026, 2, 20))
    assert invoice.effective.isoformat() == "2026-02-05T00:00:00+01:00"
    totals = invoice.total_excluding_tax, invoice.total_tax, invoice.total_including_tax
    assert totals == (Decimal("7.90"), Decimal("6.38"), Decimal("14.28"))
    assert (invoice.charges, invoice.invoice_type, invoice.frequency) == (3, "C", "M")


DETAIL = """<Detail_TVA><Libelle>Taux normal</Libelle><Taux_TVA_Applicable>20.000</Taux_TVA_Applicable>
<Assiette>31.90</Assiette><Montant>6.38</Montant></Detail_TVA>
<Detail_TVA><Libelle>Hors champ</Libelle><Taux_TVA_Applicable>NS</Taux_TVA_Applicable>
<Assiette>-24.00</Assiette></Detail_TVA>
"""


def test_the_taxes_of_an_invoice_are_told_by_rate_and_base() -> None:
    [transaction] = digest("f15_general.xml", ("</Fin_Message>", DETAIL + "</Fin_Message>")).transactions
    [invoice] = only(transaction, GridInvoice)
    assert [(tax.label, tax.code, tax.rate, tax.base, tax.amount) for tax in invoice.taxes] == [
        ("Taux normal", None, Decimal("20.000"), Decimal("31.90"), Decimal("6.38")),
        ("Hors champ", "NS", None, Decimal("-24.00"), None),
    ]


def test_the_tax_totals_of_a_charge_are_under_the_names_of_the_market() -> None:
    told = ("<Total_Valorise_HT>11.90", "<Total_Valorise_TVA>2.38</Total_Valorise_TVA><Total_Valorise_HT>11.90")
    [charge] = only(digest("FL_1_2.xml", told).transactions[0], GridCharge)
    assert [(tax.code, tax.amount) for tax in charge.taxes] == [("TVA", Decimal("2.38"))]
    told = (
        "<Montant_HT>138.21</Montant_HT>\n    </Sous_Total>",
        "<Montant_HT>138.21</Montant_HT><Montant_CSPE>1.5</Montant_CSPE><Montant_TVA>27.64</Montant_TVA></Sous_Total>",
    )
    [charge] = only(digest("f12_detail.xml", told).transactions[0], GridCharge)
    assert [(tax.code, tax.amount) for tax in charge.taxes] == [("CSPE", Decimal("1.5")), ("TVA", Decimal("27.64"))]


def test_the_invoice_of_the_fixtures_adds_up() -> None:
    charges = [
        only(transaction, GridCharge)[0]
        for name in ("FL_1_2.xml", "FL_2_2.xml")
        for transaction in digest(name).transactions
    ]
    [invoice] = only(digest("f15_general.xml").transactions[0], GridInvoice)
    assert invoice.total_excluding_tax == sum(charge.total_excluding_tax for charge in charges)
    assert invoice.charges == len(charges)


def test_a_valuation_tells_its_gross_total_and_the_spans_of_its_parts() -> None:
    told = (
        "<Periode_Ante_Migration>0",
        "<Total_Valorise_TVA>2.38</Total_Valorise_TVA><Total_Valorise_TTC>14.28</Total_Valorise_TTC>"
        "<Date_Debut_Part_Fixe>2026-02-01</Date_Debut_Part_Fixe><Date_Fin_Part_Fixe>2026-02-28</Date_Fin_Part_Fixe>"
        "<Date_Debut_Part_Variable>2026-01-01</Date_Debut_Part_Variable>"
        "<Date_Fin_Part_Variable>2026-01-31</Date_Fin_Part_Variable><Periode_Ante_Migration>0",
    )
    [charge] = only(digest("FL_1_2.xml", told).transactions[0], GridCharge)
    assert charge.total_including_tax == Decimal("14.28")
    assert (charge.fixed_start, charge.fixed_end) == (date(2026, 2, 1), date(2026, 2, 28))
    assert (charge.variable_start, charge.variable_end) == (date(2026, 1, 1), date(2026, 1, 31))


def test_an_interest_invoice_of_no_point_is_a_charge_whose_lines_are_its_interests() -> None:
    found = digest("f15_interest_detail.xml")
    assert found.head is not None
    assert found.head.version == "4.0.4"
    [charge] = only(found.transactions[0], GridCharge)
    assert (charge.access_point, charge.total_excluding_tax) == (None, Decimal("2.00"))
    [interest] = charge.interests
    assert (interest.invoice, interest.base, interest.days) == ("3100000000011", Decimal("730.00"), 10)
    assert (interest.rate, interest.amount) == (Decimal("10.000"), Decimal("2.00"))
    assert (interest.due, interest.paid) == (date(2026, 2, 20), date(2026, 3, 2))
    assert [(line.label, line.amount) for line in charge.lines] == [("3100000000011", Decimal("2.00"))]


RECAPITULATED = """<Groupe_Recapitulatif><Nature_EV>01</Nature_EV><Element_Recapitulatif><Id_EV>CG</Id_EV>
<Libelle_EV>Gestion</Libelle_EV><Nb_EV>3</Nb_EV><Date_Debut_Prix>2026-01-01</Date_Debut_Prix>
<Date_Fin_Prix>2026-12-31</Date_Fin_Prix><Prix_Unitaire>1.3</Prix_Unitaire><Quantite>3</Quantite>
<Montant_HT>3.90</Montant_HT><Taux_TVA_Applicable>20.000</Taux_TVA_Applicable><Type_TVA_Applicable>N</Type_TVA_Applicable>
<Code_Type_TVA_Applicable>S</Code_Type_TVA_Applicable><Date_TVA_Applicable>2026-01-31</Date_TVA_Applicable>
<Categorie>G</Categorie></Element_Recapitulatif></Groupe_Recapitulatif></Fin_Message>"""


def test_the_recapitulation_of_an_invoice_are_sums_of_its_lines() -> None:
    [transaction] = digest("f15_general.xml", ("</Fin_Message>", RECAPITULATED)).transactions
    [invoice] = only(transaction, GridInvoice)
    [told] = invoice.sums
    assert (told.code, told.count, told.nature, told.amount, told.tax) == ("CG", 3, "01", Decimal("3.90"), "20.000")


def test_every_file_of_an_f12_is_a_part_of_one_invoice() -> None:
    names = ("f12_general.xml", "f12_recapitulation.xml", "f12_e_invoice.xml")
    found = {one.part: one for name in names for one in only(digest(name).transactions[0], GridInvoice)}
    assert {one.invoice for one in found.values()} == {"120000000017"}
    general, electronic = found["general"], found["e-invoice"]
    assert (general.charges, general.total_excluding_tax, general.total_tax) == (2, Decimal("132.01"), Decimal("26.40"))
    assert [(tax.code, tax.rate, tax.base, tax.amount) for tax in general.taxes] == [
        ("TVA", Decimal("20.000"), Decimal("132.01"), Decimal("26.40"))
    ]
    assert [(one.code, one.count, one.amount) for one in general.sums] == [
        ("1", 2, Decimal("132.01")),
        ("HT", None, Decimal("132.01")),
    ]
    sums = [("CGEST", "BTSUPLU4", Decimal("16.69")), ("CSF", "BTSUPLU4", Decimal("115.32"))]
    assert [(one.code, one.tariff, one.amount) for one in found["recapitulation"].sums] == sums
    assert [(one.nature, one.tariff, one.amount) for one in electronic.sums] == sums
    assert (electronic.total_including_tax, electronic.invoice_type) == (Decimal("158.41"), "380")


def test_the_contributions_of_an_f12_are_told_by_tax() -> None:
    [invoice] = only(digest("f12_taxes.xml").transactions[0], GridInvoice)
    assert (invoice.part, invoice.total_contributions) == ("taxes", Decimal("3.00"))
    [told] = invoice.contributions
    assert (told.code, told.rate, told.base, told.amount) == ("CTAX", Decimal("0.003"), Decimal(1000), Decimal("3.00"))


def test_a_part_of_an_f12_tells_powers_and_debit_or_credit_and_needs_no_currency() -> None:
    powers = "".join(
        f"<PS_Poste_Horosaisonnier><Nom_Poste_Horosaisonnier>{name}</Nom_Poste_Horosaisonnier>"
        f"<Puissance_Souscrite>{kva}</Puissance_Souscrite></PS_Poste_Horosaisonnier>"
        for name, kva in (("HPH", 60), ("HCH", 84))
    )
    edits = (("<Devise>EUR</Devise>", ""), ("<CSPE_Appliquee>", f"{powers}<CSPE_Appliquee>"))
    [charge] = only(digest("f12_detail.xml", *edits).transactions[0], GridCharge)
    assert charge.currency == "EUR"
    assert [(one.time_class, one.value, one.unit) for one in charge.powers] == [
        ("HPH", Decimal(60), "kVA"),
        ("HCH", Decimal(84), "kVA"),
    ]
    assert (charge.segment, charge.tariff) == ("C4", "BTSUPLU4")
    assert {line.side for line in charge.lines} == {"Y"}


OWN = {
    "f12_general.xml": "Enedis.SGE.XSD.0125.F12_Donnees_Generales_1.10.4.xsd",
    "f12_recapitulation.xml": "Enedis.SGE.XSD.0127.F12_Donnees_Recap_1.10.4.xsd",
    "f12_taxes.xml": "Enedis.SGE.XSD.0128.F12_Donnees_Taxes_1.10.4.xsd",
    "f15_interest_detail.xml": "GRD.XSD.0299.Flux_F15_Donnees_Detail_v4.0.4.xsd",
}
"""Fixture -> the operator's schema of it. That of the electronic form is no schema itself: an attribute has no name."""


@pytest.mark.parametrize("name", OWN)
def test_the_fixtures_are_valid_by_the_schemas_of_the_operator(name: str, shared: Path) -> None:
    schema = xmlschema.XMLSchema(shared / "markets/fr/xsd_2026" / OWN[name])
    assert [f"{one.path}: {one.reason}" for one in schema.iter_errors(FIXTURES / name)] == []
