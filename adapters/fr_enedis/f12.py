"""F12: the grid invoice of points of C1 to C4 (Enedis, flux F12, versions 1.10.3 and 1.10.4).

Detail file: one ``Sous_Lot`` is one CH message and one grid charge; each ``Acheminement`` of an ``Element_Valorise`` is
one of its lines. Business time is that of F15: midnight in Paris at the start of the last day of the lines, else of
Date_Sous_Lot, else of Date_Facture. A corrected part names what it corrects in Orig_Sous_Lot and Orig_Facture, or,
where the original was not cancelled, in Donnees_Rectif; it is an own charge with own amounts. Its cause
(MESURE_ERRONEE, PARAMETRE_CONTRACTUEL_ERRONE) is carried as the market's reason.

The other files are one CH message and one grid invoice each, of a part of its own, at midnight in Paris at the start of
Date_Facture: the general file (``Donnees_Generales``), the recapitulation (``Detail_Recapitulatif``), the taxes
(``Detail_Taxes``) and the electronic invoice (``Detail_Facturation_Demat``, 1.20.1). The general file excludes the
contributions from its net total and states them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Notes
from adapters.common.reading import Fields, decimal, leaf, need, need_node, node, nodes, number, whole
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.f15 import billed_on, fact, late_interest, tax_totals
from adapters.fr_enedis.header import Context
from adapters.fr_enedis.outcome import digester, words
from adapters.fr_enedis.registers import time_class
from adapters.fr_enedis.times import civil_day, start_of_day
from energycomm.kernel.messages import GridCharge, GridInvoice
from energycomm.kernel.parts import ChargeLine, Power, Tax
from energycomm.kernel.vocabulary import InvoicePart

VERSIONS = ("1.10.3", "1.10.4")
E_INVOICE_VERSIONS = ("1.20.1",)
ENTERING = ("Num_Facture", "Date_Facture", "Devise")
PARTS = ("Acheminement", "Prestations", "Option", "Frais_Divers")
"""Elements that a line's amount stands in: the use of the grid, services, options, sundries."""
CURRENCY = "EUR"
"""The one currency of the flux; its element may be left out."""
VAT = "TVA"
FILE = "FILE"
"""Nature of the sum of one detail file; a name of ours."""
NET = "HT"
"""Code of the net total of one tax rate."""
_PATH = "Sous_Lot"
_LINE = f"{_PATH}/Element_Valorise/Acheminement"


def refer(fields: Fields, context: Context) -> tuple[str, str | None]:
    """``invoice:part``."""
    invoice = context.facts.get("Num_Facture") or "-"
    return f"{invoice}:{leaf(fields, 'Num_Sous_Lot') or '-'}", leaf(fields, "Id_PRM")


def version(fields: Fields, declared: str | None) -> str:
    """The declared one: the versions that are read differ in lists of codes only."""
    return declared if declared in VERSIONS else VERSIONS[-1]


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """One grid charge of one ``Sous_Lot``.

    Raises:
      Unreadable: a needed element is missing, or a date does not exist.
    """
    reference, point = refer(fields, context)
    named = need(fields, "Num_Sous_Lot", _PATH)
    totals = node(fields, "Sous_Total")
    total = decimal(need(totals, "Montant_HT", f"{_PATH}/Sous_Total"))
    tariff = fields.get("Tarif_Souscrit")
    lines = tuple(
        _line(item, transport, tariff, notes)
        for item in nodes(fields, "Element_Valorise")
        for part in PARTS
        for transport in nodes(item, part)
    )
    billed = billed_on(context)
    effective = _effective(lines, civil_day(fields, "Date_Sous_Lot", _PATH), billed)
    charge = GridCharge(
        **context.head,
        market_reason=fields.get("Motif_Rectif"),
        reason="invoicing",
        reference=reference,
        correlation=fields.get("Orig_Sous_Lot"),
        effective=start_of_day(effective),
        access_point=point,
        invoice=fact(context, "Num_Facture"),
        invoice_date=billed,
        charge_reference=named,
        billing_type=fields.get("Type_Facturation"),
        currency=fact(context, "Devise") if context.facts.get("Devise") else CURRENCY,
        total_excluding_tax=total,
        total_including_tax=number(totals, "Montant_TTC"),
        segment=fields.get("Code_Segmentation_ERDF"),
        tariff=tariff,
        powers=tuple(_power(item, tariff) for item in nodes(fields, "PS_Poste_Horosaisonnier")),
        weighted_power=number(fields, "Puissance_Ponderee"),
        original_invoice=fields.get("Orig_Facture") or leaf(node(fields, "Donnees_Rectif"), "Facture_Originale"),
        lines=lines,
        taxes=tax_totals({"CSPE": totals.get("Montant_CSPE"), VAT: totals.get("Montant_TVA")}),
    )
    return Digested(reference, point, (charge,))


def _effective(lines: tuple[ChargeLine, ...], part: date | None, billed: date | None) -> date:
    ends = [line.end for line in lines if line.end is not None]
    found = max(ends) if ends else part or billed
    if found is None:
        raise Unreadable(refusal("SYN_MISSING", path="Rappel_En_Tete/Date_Facture", expected="a day"))
    return found


def _line(item: Fields, transport: Fields, tariff: str | None, notes: Notes) -> ChargeLine:
    return ChargeLine(
        code=item["Id_EV"],
        label=words(item, "Libelle_EV", f"{_PATH}/Element_Valorise", notes),
        nature=item.get("Code_Recapitulatif"),
        start=civil_day(transport, "Date_Debut", _LINE) or civil_day(transport, "Date_Effet", _LINE),
        end=civil_day(transport, "Date_Fin", _LINE),
        quantity=number(transport, "Quantite"),
        unit=transport.get("Unite_Quantite"),
        price=number(transport, "Prix_Unitaire"),
        amount=decimal(transport["Montant_HT"]),
        tax=item.get("Taux_TVA_Applicable"),
        tariff=tariff,
        side=item.get("Code_Debit_Credit"),
    )


def _power(item: Fields, tariff: str | None) -> Power:
    """The subscribed power of a class; those of high voltage are in kW (tariff formulas HTA...), others in kVA."""
    unit = "kW" if tariff is not None and tariff.startswith("HTA") else "kVA"
    return Power(
        time_class=time_class(item["Nom_Poste_Horosaisonnier"]), value=decimal(item["Puissance_Souscrite"]), unit=unit
    )


# --- the files of the invoice as a whole ------------------------------------------------------------------------------


def refer_general(fields: Fields, context: Context) -> tuple[str, str | None]:
    """The number of the invoice; it concerns no single point."""
    return leaf(node(fields, "En_Tete_Message"), "Num_Facture") or "-", None


def digest_general(fields: Fields, context: Context, notes: Notes) -> Digested:
    """The grid invoice of a general file.

    Raises:
      Unreadable: a needed element is missing, or a date does not exist.
    """
    head = need_node(fields, "En_Tete_Message", "Donnees_Generales")
    listed, totals = node(fields, "Liste_Detail_Facturation"), node(fields, "Fin_Message")
    contributions = (
        *(
            _tax(item, item.get("Type_Taxe"), "Taux", "Assiette", "Montant_HT")
            for item in nodes(totals, "Detail_Taxes")
        ),
        *(_tax(item, "CSPE", "Prix_Unitaire", "Quantite", "Montant_HT") for item in nodes(totals, "CSPE")),
    )
    vat = node(totals, VAT)
    files = [
        ChargeLine(
            code=item["Num_Detail_Fact"],
            nature=FILE,
            count=whole(item, "Nb_Sous_Lot"),
            amount=decimal(item["Sous_Total_HT"]),
        )
        for item in nodes(listed, "Detail_Facturation")
    ]
    nets = [
        ChargeLine(code=NET, amount=decimal(item["Montant_HT"]), tax=item.get("Taux_TVA_Applicable"))
        for item in nodes(totals, "Montant_HT_Et_Hors_Contribution")
    ]
    invoice = _invoice(
        head,
        context,
        "general",
        invoice_type=head.get("Type_Facture"),
        due_date=civil_day(head, "Date_De_Reglement", "En_Tete_Message"),
        total_excluding_tax=number(totals, "Montant_Total_HT"),
        total_contributions=sum((one.amount or Decimal(0) for one in contributions), Decimal(0))
        if contributions
        else None,
        total_tax=number(vat, "Montant_Taxe"),
        total_including_tax=number(totals, "Montant_Total_TTC"),
        charges=whole(listed, "Nb_Sous_Lot_Total"),
        taxes=tuple(_tax(item, VAT, "Taux", "Montant_HT", "Montant_Taxe") for item in nodes(vat, "Detail_TVA")),
        contributions=contributions,
        sums=(*files, *nets),
        interests=tuple(
            late_interest(item)
            for group in nodes(totals, "Interets_Retard")
            for item in nodes(group, "Detail_Interets_Retard")
        ),
    )
    return Digested(invoice.invoice, None, (invoice,))


def refer_part(fields: Fields, context: Context) -> tuple[str, str | None]:
    """The number of the invoice; it concerns no single point."""
    return leaf(node(fields, "Rappel_En_Tete"), "Num_Facture") or "-", None


def digest_recapitulation(fields: Fields, context: Context, notes: Notes) -> Digested:
    """The sums of an invoice by tariff and kind of line.

    Raises:
      Unreadable: a needed element is missing, or a date does not exist.
    """
    head = need_node(fields, "Rappel_En_Tete", "Detail_Recapitulatif")
    groups = [*nodes(fields, "Type_Tarif"), *nodes(fields, "Autres_Montants")]
    sums = tuple(
        ChargeLine(
            code=item["Code_Recapitulatif"],
            label=item.get("Libelle_Recapitulatif"),
            nature=item["Code_Recapitulatif"],
            amount=decimal(item["Sous_Total_HT"]),
            tax=item.get("Taux_TVA_Applicable"),
            tariff=group.get("Tarif_Souscrit"),
        )
        for group in groups
        for item in nodes(group, "Recapitulatif")
    )
    totals = [decimal(group["Sous_Total_HT"]) for group in groups if "Sous_Total_HT" in group]
    total = sum(totals, Decimal(0)) if totals else None
    invoice = _invoice(head, context, "recapitulation", total_excluding_tax=total, sums=sums)
    return Digested(invoice.invoice, None, (invoice,))


def digest_taxes(fields: Fields, context: Context, notes: Notes) -> Digested:
    """The contributions of an invoice in detail.

    Raises:
      Unreadable: a needed element is missing, or a date does not exist.
    """
    head = need_node(fields, "Rappel_En_Tete", "Detail_Taxes")
    groups = nodes(fields, "Autres_Taxes")
    totals = [decimal(group["Sous_Total"]) for group in groups if "Sous_Total" in group]
    contributions = tuple(
        _tax(item, group.get("Type_Taxe"), "Taux", "Assiette", "Montant_HT")
        for group in groups
        for item in nodes(group, "Detail")
    )
    total = sum(totals, Decimal(0)) if totals else None
    invoice = _invoice(head, context, "taxes", total_contributions=total, contributions=contributions)
    return Digested(invoice.invoice, None, (invoice,))


def digest_e_invoice(fields: Fields, context: Context, notes: Notes) -> Digested:
    """The electronic form of an invoice.

    Raises:
      Unreadable: a needed element is missing, or a date does not exist.
    """
    head = need_node(fields, "Rappel_En_Tete", "Detail_Facturation_Demat")
    detail = node(fields, "Detail_Recapitulatif_Demat")
    totals = node(detail, "Montant_Total")
    vat = node(totals, VAT)
    invoice = _invoice(
        head,
        context,
        "e-invoice",
        invoice_type=leaf(node(fields, "Donnees_Generales_Demat"), "Code_Type_Facture"),
        total_excluding_tax=number(totals, "Montant_Total_HT"),
        total_tax=number(vat, "Montant_Taxe"),
        total_including_tax=number(totals, "Montant_Total_TTC"),
        taxes=tuple(
            _tax(item, item.get("Code_Type_TVA"), "Taux_TVA_Applicable", "Montant_HT", "Montant_Taxe")
            for item in nodes(vat, "Detail_TVA")
        ),
        sums=tuple(_electronic(node(detail, "Recapitulatif_Demat"), None)),
    )
    return Digested(invoice.invoice, None, (invoice,))


def _electronic(fields: Fields, tariff: str | None) -> Iterator[ChargeLine]:
    """The sums of an electronic invoice, wherever they stand; amounts that are no numbers are left to particulars."""
    tariff = leaf(fields, "Tarif_Souscrit") or tariff
    for name, held in fields.items():
        for item in held if type(held) is list else ():
            if name != "Element_Valorise_Demat":
                yield from _electronic(item, tariff)
            elif leaf(item, "Id_EV_Demat") and leaf(item, "Sous_Total_HT"):
                yield ChargeLine(
                    code=item["Id_EV_Demat"],
                    label=item.get("Libelle_EV_Demat"),
                    nature=item.get("Code_Recapitulatif"),
                    quantity=_amount(item, "Quantite"),
                    unit=item.get("Unite_Quantite"),
                    price=_amount(item, "Prix_Unitaire_Affichage"),
                    amount=_amount(item, "Sous_Total_HT") or Decimal(0),
                    tax=item.get("Taux_TVA_Applicable"),
                    tariff=tariff,
                )


def _amount(item: Fields, tag: str) -> Decimal | None:
    """A number of content that no schema checked.

    Raises:
      Unreadable: it is none (SYN_VALUE).
    """
    try:
        found = number(item, tag)
    except ArithmeticError:
        found = Decimal("NaN")
    if found is not None and not found.is_finite():
        raise Unreadable(refusal("SYN_VALUE", path=tag, value=item[tag], expected="a decimal number"))
    return found


def _tax(item: Fields, code: str | None, rate: str, base: str, amount: str) -> Tax:
    return Tax(code=code, rate=number(item, rate), base=number(item, base), amount=number(item, amount))


def _invoice(head: Fields, context: Context, part: InvoicePart, **told: Any) -> GridInvoice:
    """The grid invoice of one file.

    Raises:
      Unreadable: its number or date is missing, or the date does not exist.
    """
    named = need(head, "Num_Facture", "Rappel_En_Tete")
    need(head, "Date_Facture", "Rappel_En_Tete")
    dated = civil_day(head, "Date_Facture", "Rappel_En_Tete")
    assert dated is not None  # needed above
    return GridInvoice(
        **context.head,
        reason="invoicing",
        reference=named,
        effective=start_of_day(dated),
        invoice=named,
        part=part,
        invoice_date=dated,
        currency=head.get("Devise") or CURRENCY,
        **told,
    )


CHARGE = digester(digest, refer, version)
GENERAL = digester(digest_general, refer_general, version)
RECAPITULATION = digester(digest_recapitulation, refer_part, version)
TAXES = digester(digest_taxes, refer_part, version)
E_INVOICE = digester(digest_e_invoice, refer_part, E_INVOICE_VERSIONS[-1])
