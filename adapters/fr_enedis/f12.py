"""F12: the grid invoice of points of C1 to C4 (Enedis, flux F12, version 1.10.3): the detail files.

One ``Sous_Lot`` is one CH message and one grid charge; each ``Acheminement`` of an ``Element_Valorise`` is one of its
lines. Business time is that of F15: midnight in Paris at the start of the last day of the lines, else of Date_Sous_Lot,
else of Date_Facture. A corrected part names what it corrects in Orig_Sous_Lot and Orig_Facture; it is an own charge
with own amounts. Its cause (MESURE_ERRONEE, PARAMETRE_CONTRACTUEL_ERRONE) is carried as the market's reason.

The general file and the recapitulative one of an F12 are known by name only; no digester reads them.
"""

from __future__ import annotations

from datetime import date

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Notes
from adapters.common.reading import Fields, decimal, leaf, need, node, nodes, number
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.f15 import billed_on, fact, tax_totals
from adapters.fr_enedis.header import Context
from adapters.fr_enedis.outcome import digester, words
from adapters.fr_enedis.times import civil_day, start_of_day
from energycomm.kernel.messages import GridCharge
from energycomm.kernel.parts import ChargeLine

VERSIONS = ("1.10.3",)
ENTERING = ("Num_Facture", "Date_Facture", "Devise")
PARTS = ("Acheminement", "Prestations", "Option", "Frais_Divers")
"""Elements that a line's amount stands in: the use of the grid, services, options, sundries."""
_PATH = "Sous_Lot"
_LINE = f"{_PATH}/Element_Valorise/Acheminement"


def refer(fields: Fields, context: Context) -> tuple[str, str | None]:
    """``invoice:part``."""
    invoice = context.facts.get("Num_Facture") or "-"
    return f"{invoice}:{leaf(fields, 'Num_Sous_Lot') or '-'}", leaf(fields, "Id_PRM")


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """One grid charge of one ``Sous_Lot``.

    Raises:
      Unreadable: a needed element is missing, or a date does not exist.
    """
    reference, point = refer(fields, context)
    number = need(fields, "Num_Sous_Lot", _PATH)
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
        charge_reference=number,
        billing_type=fields.get("Type_Facturation"),
        currency=fact(context, "Devise"),
        total_excluding_tax=total,
        original_invoice=fields.get("Orig_Facture"),
        lines=lines,
        taxes=tax_totals({"CSPE": totals.get("Montant_CSPE"), "TVA": totals.get("Montant_TVA")}),
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
    )


DIGESTER = digester(digest, refer, VERSIONS[-1])
