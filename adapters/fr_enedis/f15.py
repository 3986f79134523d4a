"""F15: the grid invoice of C5 points (Enedis, flux F15, versions 3.3.2 to 4.0.4): one general file, and detail files.

Detail file (``FL_<n>_<m>.xml``): one ``Donnees_Valorisation`` is one CH message and one grid charge with its lines.
Its business time is midnight in Paris at the start of Date_Effet, or of the last day of its lines, or of
Date_Facture, whichever is there first in this order: an invoice is written after the point may have left, its lines
lie inside the supply. Interest on late payment (Detail_Interets_Retard) is carried as such. An interest invoice has no
Element_Valorise: then each interest is a line, so that its total is made of lines as every other. A charge outside any
point (invoices of type H) names no access point.

General file: the whole file is one CH message and one grid invoice, at midnight in Paris at the start of Date_Facture.

A charge that corrects an earlier one (Facture_Origine) is an own charge with own amounts, not a replacement:
``function`` stays original and ``correlation`` names the charge corrected where the file does.
"""

from __future__ import annotations

import re
from datetime import date

from msgspec import structs

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Notes
from adapters.common.reading import Fields, decimal, leaf, need, need_node, node, nodes, number, whole
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.header import Context
from adapters.fr_enedis.outcome import digester, words
from adapters.fr_enedis.times import civil_day, day, start_of_day
from energycomm.kernel.messages import GridCharge, GridInvoice
from energycomm.kernel.parts import ChargeLine, LateInterest, Tax

VERSIONS = ("3.3.2", "4.0.0", "4.0.4")
INTEREST = "INTERETS_RETARD"
"""Code of the line that an interest makes where nothing else charges it; a name of ours."""
ENTERING = ("Num_Facture", "Date_Facture", "Devise")
_NEW_IN_4_POINT = ("Date_Dernier_Releve_Reel", "Motif_Exemption_Releve_Residuel")
_NEW_IN_4_LINE = ("Type_TVA_Applicable", "Code_Type_TVA_Applicable", "Categorie")
_PATH = "Donnees_Valorisation"
_LINE = f"{_PATH}/Groupe_Valorise/Element_Valorise"
_HEAD = "F15_Donnees_Generales/En_Tete_Message"
_TOTALS = "F15_Donnees_Generales/Fin_Message"
_INTEREST = f"{_PATH}/Detail_Interets_Retard"
_SUM = f"{_TOTALS}/Groupe_Recapitulatif/Element_Recapitulatif"
_RATE = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3})?")
_CORRECTED = "Origine_Valorisation"


def refer_charge(fields: Fields, context: Context) -> tuple[str, str | None]:
    """``invoice:line group``."""
    invoice = context.facts.get("Num_Facture") or "-"
    return f"{invoice}:{leaf(fields, 'Num_Valorisation') or '-'}", leaf(node(fields, "Donnees_PRM"), "Id_PRM")


def version_charge(fields: Fields, declared: str | None) -> str:
    """The declared one; 4.0.0 where an element is there that 4.0.0 brought and an earlier version is declared."""
    point, group = node(fields, "Donnees_PRM"), node(fields, "Groupe_Valorise")
    line = node(group, "Element_Valorise")
    if any(tag in point for tag in _NEW_IN_4_POINT) or any(tag in line for tag in _NEW_IN_4_LINE):
        return declared if declared in VERSIONS[1:] else VERSIONS[1]
    return declared if declared in VERSIONS else VERSIONS[-1]


def digest_charge(fields: Fields, context: Context, notes: Notes) -> Digested:
    """One grid charge of one ``Donnees_Valorisation``.

    Raises:
      Unreadable: a needed element is missing, or a date does not exist.
    """
    named = need(fields, "Num_Valorisation", _PATH)
    total = decimal(need(fields, "Total_Valorise_HT", _PATH))
    invoice = fact(context, "Num_Facture")
    reference, point = refer_charge(fields, context)
    point_data, origin = node(fields, "Donnees_PRM"), node(fields, "Facture_Origine")
    invoice_date = billed_on(context)
    lines = []
    for group in nodes(fields, "Groupe_Valorise"):
        nature = group.get("Nature_EV")
        lines += [_line(item, nature, notes) for item in group.get("Element_Valorise", ())]
    interests = tuple(late_interest(item) for item in nodes(fields, "Detail_Interets_Retard"))
    if not lines:
        lines = [interest_line(each) for each in interests]
    ends = [line.end for line in lines if line.end is not None]
    effective = civil_day(fields, "Date_Effet", _PATH) or (max(ends) if ends else invoice_date)
    if effective is None:
        raise Unreadable(refusal("SYN_MISSING", path="Rappel_En_Tete/Date_Facture", expected="a day"))
    charge = GridCharge(
        **context.head,
        market_reason=fields.get("Motif_Rectif_Facture"),
        reason="invoicing",
        reference=reference,
        correlation=origin.get(_CORRECTED),
        effective=start_of_day(effective),
        access_point=point,
        contract_reference=point_data.get("Ref_Situation_Contractuelle"),
        request_reference=fields.get("Id_Affaire"),
        invoice=invoice,
        invoice_date=invoice_date,
        charge_reference=named,
        billing_type=fields.get("Type_Facturation"),
        currency=fact(context, "Devise"),
        total_excluding_tax=total,
        total_including_tax=number(fields, "Total_Valorise_TTC"),
        fixed_start=civil_day(fields, "Date_Debut_Part_Fixe", _PATH),
        fixed_end=civil_day(fields, "Date_Fin_Part_Fixe", _PATH),
        variable_start=civil_day(fields, "Date_Debut_Part_Variable", _PATH),
        variable_end=civil_day(fields, "Date_Fin_Part_Variable", _PATH),
        correction_origin=fields.get("Origine_Rectif"),
        original_invoice=origin.get("Origine_Facture"),
        meter_type=point_data.get("Type_Compteur"),
        lines=tuple(lines),
        taxes=tax_totals({"TVA": fields.get("Total_Valorise_TVA"), "CSPE": fields.get("Total_Contributions_HT")}),
        interests=interests,
    )
    return Digested(reference, point, (charge,))


def late_interest(item: Fields) -> LateInterest:
    """One ``Detail_Interets_Retard``, of F15 or of the general file of F12."""
    return LateInterest(
        invoice=item["Num_Facture_Impayee"],
        invoice_date=civil_day(item, "Date_Facture_Impayee", _INTEREST),
        due=civil_day(item, "Date_Echeance_Initiale", _INTEREST),
        paid=civil_day(item, "Date_Paiement_Facture", _INTEREST),
        until=civil_day(item, "Date_Calcul_Interets", _INTEREST),
        base=number(item, "Montant_Base"),
        days=whole(item, "Nb_Jours"),
        rate=number(item, "Taux"),
        amount=decimal(item["Montant_HT"]),
        tax=item.get("Taux_TVA_Applicable"),
    )


def interest_line(interest: LateInterest) -> ChargeLine:
    """The line of an interest that no other line charges."""
    return ChargeLine(
        code=INTEREST, label=interest.invoice, end=interest.until, amount=interest.amount, tax=interest.tax
    )


def fact(context: Context, name: str) -> str:
    """A fact of the invoice's head that every charge repeats.

    Raises:
      Unreadable: it is missing or not of its type (SYN_VALUE).
    """
    value = context.facts.get(name)
    if (
        not value
        or len(value) > 64
        or (name == "Devise" and not (len(value) == 3 and value.isalpha() and value.isupper()))
    ):
        raise Unreadable(
            refusal("SYN_VALUE", path=f"Rappel_En_Tete/{name}", value=value, expected="a value of its type")
        )
    return value


def billed_on(context: Context) -> date | None:
    """The date of the invoice, as its head repeats it.

    Raises:
      Unreadable: a day that no calendar has (SYN_VALUE).
    """
    written = context.facts.get("Date_Facture")
    try:
        return None if written is None else day(written)
    except ValueError:
        raise Unreadable(
            refusal("SYN_VALUE", path="Rappel_En_Tete/Date_Facture", value=written, expected="a day")
        ) from None


def _line(item: Fields, nature: str | None, notes: Notes) -> ChargeLine:
    return structs.replace(
        _charged(item, nature, notes, _LINE, "Date_Debut", "Date_Fin"),
        subscribed_power=number(item, "Puissance_Souscrite"),
        tariff=item.get("Formule_Tarifaire_Acheminement"),
    )


def _charged(item: Fields, nature: str | None, notes: Notes, path: str, start: str, end: str) -> ChargeLine:
    """What a line and a sum of lines tell alike; their days bear other names."""
    return ChargeLine(
        code=item["Id_EV"],
        label=words(item, "Libelle_EV", path, notes),
        nature=nature,
        start=civil_day(item, start, path),
        end=civil_day(item, end, path),
        quantity=number(item, "Quantite"),
        unit=item.get("Unite_Quantite"),
        price=number(item, "Prix_Unitaire"),
        amount=decimal(item["Montant_HT"]),
        tax=item.get("Taux_TVA_Applicable"),
        tax_date=civil_day(item, "Date_TVA_Applicable", path),
    )


def tax_totals(amounts: dict[str, str | None]) -> tuple[Tax, ...]:
    """Taxes of a charge of which the market tells only the amount.

    Args:
      amounts: the market's name of the tax -> amount; None where it tells none.
    """
    return tuple(Tax(code=code, amount=decimal(amount)) for code, amount in amounts.items() if amount is not None)


def _tax(item: Fields, notes: Notes) -> Tax:
    """One ``Detail_TVA``; where its rate is a word, no tax applies and the word is the code."""
    written = item.get("Taux_TVA_Applicable")
    rated = written is not None and _RATE.fullmatch(written) is not None
    return Tax(
        code=item.get("Code_Type_TVA_Applicable") or (None if rated else written),
        label=words(item, "Libelle", f"{_TOTALS}/Detail_TVA", notes),
        rate=decimal(written) if written is not None and rated else None,
        base=number(item, "Assiette"),
        amount=number(item, "Montant"),
    )


def _sum(item: Fields, nature: str | None, notes: Notes) -> ChargeLine:
    return structs.replace(
        _charged(item, nature, notes, _SUM, "Date_Debut_Prix", "Date_Fin_Prix"),
        count=whole(item, "Nb_EV"),
        billing_type=item.get("Type_Facturation"),
    )


def refer_invoice(fields: Fields, context: Context) -> tuple[str, str | None]:
    """The number of the invoice; it concerns no single point."""
    return leaf(node(fields, "En_Tete_Message"), "Num_Facture") or "-", None


def version_invoice(fields: Fields, declared: str | None) -> str:
    """The declared one: nothing read of a general file changed between the versions."""
    return declared if declared in VERSIONS else VERSIONS[-1]


def digest_invoice(fields: Fields, context: Context, notes: Notes) -> Digested:
    """One grid invoice of one general file.

    Raises:
      Unreadable: a needed element is missing, or a date does not exist.
    """
    head = need_node(fields, "En_Tete_Message", "F15_Donnees_Generales")
    totals = node(fields, "Fin_Message")
    named = need(head, "Num_Facture", _HEAD)
    need(head, "Date_Facture", _HEAD)
    invoice_date = civil_day(head, "Date_Facture", _HEAD)
    assert invoice_date is not None  # needed above
    amounts = {tag: decimal(value) for tag, value in totals.items() if tag.startswith("Montant_Total_")}
    invoice = GridInvoice(
        **context.head,
        reason="invoicing",
        reference=named,
        effective=start_of_day(invoice_date),
        invoice=named,
        invoice_type=head.get("Type_Facture"),
        invoice_date=invoice_date,
        due_date=civil_day(head, "Date_Reglement", _HEAD),
        currency=need(head, "Devise", _HEAD),
        frequency=head.get("Frequence_Facturation"),
        total_excluding_tax=amounts.get("Montant_Total_HT"),
        total_contributions=amounts.get("Montant_Total_Contributions"),
        total_tax=amounts.get("Montant_Total_TVA"),
        total_including_tax=amounts.get("Montant_Total_TTC"),
        charges=whole(totals, "Nb_Donnees_Valorisation_Total"),
        taxes=tuple(_tax(item, notes) for item in nodes(totals, "Detail_TVA")),
        sums=tuple(
            _sum(item, group.get("Nature_EV"), notes)
            for group in nodes(totals, "Groupe_Recapitulatif")
            for item in nodes(group, "Element_Recapitulatif")
        ),
    )
    return Digested(named, None, (invoice,))


CHARGE = digester(digest_charge, refer_charge, version_charge)
INVOICE = digester(digest_invoice, refer_invoice, version_invoice)
