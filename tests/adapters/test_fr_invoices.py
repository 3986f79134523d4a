"""F15: grid charges and grid invoices."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from energycomm.kernel.messages import GridCharge, GridInvoice
from tests.adapters.french import codes, digest, only


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
