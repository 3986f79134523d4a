"""F15: the charges of access points, the detail files that hold them, and the general file of a grid invoice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from itertools import groupby
from typing import NamedTuple

from adapters.fr_enedis.simulator import codes, tariffs
from adapters.fr_enedis.simulator.codes import CONTRACT, GRD, OPERATOR, SUPPLIER
from adapters.fr_enedis.simulator.drafting import Consumed
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.lives import Life, Situation, Terms
from energycomm.simulation.staging import Draft

DETAIL_TAIL = "</F15_Detail_Facturation>\n"
CENT = Decimal("0.01")
CLASS_NUMBER = {"HCB": 1, "HPB": 2, "HCH": 3, "HPH": 4, "HC": 1, "HP": 2, "BASE": 1}
"""Time class -> its number at the end of the code of an energy line."""


class Line(NamedTuple):
    """One `Element_Valorise` of a charge."""

    code: str
    label: str
    first: date
    last: date
    quantity: int
    unit: str
    price: Decimal
    tax: str
    power: int
    tariff: str

    @property
    def amount(self) -> Decimal:
        """What the line costs without tax."""
        return (self.quantity * self.price).quantize(CENT, ROUND_HALF_UP)


def tax_of(lines: Iterable[Line]) -> dict[str, tuple[Decimal, Decimal]]:
    """Rate of value added tax -> what is taxed, and the tax of it."""
    bases: dict[str, Decimal] = {}
    for line in lines:
        bases[line.tax] = bases.get(line.tax, Decimal(0)) + line.amount
    return {
        rate: (base, (base * Decimal(rate) / 100).quantize(CENT, ROUND_HALF_UP)) for rate, base in sorted(bases.items())
    }


def fixed_lines(terms: Terms, first: date, last: date) -> Iterator[Line]:
    """Management, metering and power of some days under the same terms."""
    tariff = codes.tariff_of(terms)
    for start, end in tariffs.spans(first, last):
        list_, days, rate = tariffs.prices_on(start), (end - start).days + 1, tariffs.fixed_rate(start)
        power = list_.formulas[tariff][0]
        common = (rate, terms.power, tariff)
        yield Line(
            "ASGBT-U", "Composante de gestion", start, end, days, "j", tariffs.daily(list_.management, start), *common
        )
        yield Line(
            "ASCLBT-U", "Composante de comptage", start, end, days, "j", tariffs.daily(list_.metering, start), *common
        )
        yield Line(
            f"ASSF{tariff[5:]}-U", "Composante de soutirage, part fixe", start, end, days * terms.power, "j.kVA",
            tariffs.daily(power, start), *common,
        )  # fmt: skip


def energy_lines(consumed: Consumed) -> Iterator[Line]:
    """The energy between two readings; where the prices change in between it is divided by the days."""
    tariff, spans = codes.tariff_of(consumed.terms), list(tariffs.spans(consumed.first, consumed.last))
    whole = (consumed.last - consumed.first).days + 1
    for name, energy in sorted(consumed.energies.items()):
        left = energy
        for start, end in spans:
            part = left if end == consumed.last else energy * ((end - start).days + 1) // whole
            left -= part
            cents = tariffs.prices_on(start).formulas[tariff][1].get(name)
            if cents is not None:
                yield Line(
                    f"ASSV{tariff[5:]}-{CLASS_NUMBER[name]}-U", f"Composante de soutirage, {name}", start, end, part,
                    "kWh", Decimal(cents) / 100, "20.00", consumed.terms.power, tariff,
                )  # fmt: skip


def _head(created: str) -> str:
    return f"""   <En_Tete_Flux>
      <Identifiant_Flux>F15</Identifiant_Flux>
      <Libelle_Flux>Donnees de facturation des PRM</Libelle_Flux>
      <Version_XSD>3.3.2</Version_XSD>
      <Identifiant_Emetteur>{OPERATOR}</Identifiant_Emetteur>
      <Identifiant_Destinataire>{SUPPLIER}</Identifiant_Destinataire>
      <Date_Creation>{created}</Date_Creation>
      <Identifiant_Contrat>{CONTRACT}</Identifiant_Contrat>
      <Instance_GRD>{GRD}</Instance_GRD>
   </En_Tete_Flux>
"""


def detail_head(created: str, invoice: str, day: str) -> str:
    """Start of a detail document."""
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<F15_Detail_Facturation>
{_head(created)}   <Rappel_En_Tete>
      <Num_Facture>{invoice}</Num_Facture>
      <Date_Facture>{day}</Date_Facture>
      <Devise>EUR</Devise>
   </Rappel_En_Tete>
"""


def charge(
    almanac: Almanac,
    life: Life,
    situation: Situation,
    first: int,
    last: int,
    consumed: Iterable[Consumed],
    identifier: str,
) -> Draft:
    """What an access point is charged for a month: management, metering and power, under the terms of each day, and
    the energy between the readings that no invoice charged yet."""
    lines: list[Line] = []
    for _, days in groupby(range(first, last + 1), key=lambda day: _terms(life, situation, day)):
        on = list(days)
        lines += fixed_lines(_terms(life, situation, on[0]), almanac.civil(on[0]), almanac.civil(on[-1]))
    lines += [line for one in consumed for line in energy_lines(one)]
    taxes = tax_of(lines)
    net, tax = sum((line.amount for line in lines), Decimal(0)), sum((one[1] for one in taxes.values()), Decimal(0))

    def line(each: Line) -> str:
        return f"""         <Element_Valorise>
            <Id_EV>{each.code}</Id_EV>
            <Libelle_EV>{each.label}</Libelle_EV>
            <Date_Debut>{each.first}</Date_Debut>
            <Date_Fin>{each.last}</Date_Fin>
            <Quantite>{each.quantity}.0</Quantite>
            <Unite_Quantite>{each.unit}</Unite_Quantite>
            <Prix_Unitaire>{each.price:f}</Prix_Unitaire>
            <Montant_HT>{each.amount}</Montant_HT>
            <Taux_TVA_Applicable>{each.tax}</Taux_TVA_Applicable>
            <Date_TVA_Applicable>{each.last}</Date_TVA_Applicable>
            <Puissance_Souscrite>{each.power}.0</Puissance_Souscrite>
            <Formule_Tarifaire_Acheminement>{each.tariff}</Formule_Tarifaire_Acheminement>
         </Element_Valorise>
"""

    prm, municipality = codes.prm_of(life.number), life.place.municipality
    body = f"""   <Donnees_Valorisation>
      <Num_Valorisation>{identifier}</Num_Valorisation>
      <Type_Facturation>CYCL</Type_Facturation>
      <Total_Valorise_HT>{net}</Total_Valorise_HT>
      <Total_Valorise_TVA>{tax}</Total_Valorise_TVA>
      <Total_Valorise_TTC>{net + tax}</Total_Valorise_TTC>
      <Periode_Ante_Migration>0</Periode_Ante_Migration>
      <Donnees_PRM>
         <Id_PRM>{prm}</Id_PRM>
         <Code_Commune>{municipality}</Code_Commune>
         <Code_Departement>{municipality[:2]}</Code_Departement>
         <Ref_Situation_Contractuelle>{codes.contract_of(life, situation)}</Ref_Situation_Contractuelle>
         <Type_Compteur>{codes.meter_type(situation.meter)}</Type_Compteur>
      </Donnees_PRM>
      <Groupe_Valorise>
         <Nature_EV>01</Nature_EV>
{"".join(map(line, lines))}      </Groupe_Valorise>
   </Donnees_Valorisation>
"""
    place, kinds = ("charge", last), ("GridCharge",)
    return Draft("F15", body, prm, f"F15 {identifier}", kinds, life=life.number, place=place, about=tuple(lines))


def _terms(life: Life, situation: Situation, day: int) -> Terms:
    """The terms of a day: those that hold at its end."""
    found = life.supplied_through(day)
    return (found or situation).terms


def _party(tag: str, name: str, extra: str = "") -> str:
    return f"""      <{tag}>
{extra}         <Ligne_Adresse_1>{name}</Ligne_Adresse_1>
         <Ligne_Adresse_4>1 rue du Simulateur</Ligne_Adresse_4>
         <Ligne_Adresse_6>99001 EXEMPLEVILLE</Ligne_Adresse_6>
"""


def general_document(created: str, invoice: str, day: str, due: str, lines: Sequence[Line], charges: int) -> str:
    """The general file of an invoice.

    Args:
      created: instant the file was written.
      invoice: Num_Facture.
      day, due: dates of the invoice and of its payment.
      lines: of all charges.
      charges: number of Donnees_Valorisation in all detail files.
    """
    taxes = tax_of(lines)
    net, tax = sum((line.amount for line in lines), Decimal(0)), sum((one[1] for one in taxes.values()), Decimal(0))
    told = "".join(
        f"""      <Detail_TVA>
         <Libelle>TVA {rate}</Libelle>
         <Taux_TVA_Applicable>{rate}</Taux_TVA_Applicable>
         <Assiette>{base}</Assiette>
         <Montant>{amount}</Montant>
      </Detail_TVA>
"""
        for rate, (base, amount) in taxes.items()
    )
    operator = _party("Donnees_GRD_Legales", "GRD SIMULE")
    client = _party("Donnees_Client", "FOURNISSEUR SIMULE", f"         <Id_Contrat>{CONTRACT}</Id_Contrat>\n")
    receiver = _party("Donnees_Destinataire_Facture", "FOURNISSEUR SIMULE")
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<F15_Donnees_Generales>
{_head(created)}   <En_Tete_Message>
      <Num_Facture>{invoice}</Num_Facture>
      <Affectation>{invoice:0>19}</Affectation>
      <Date_Facture>{day}</Date_Facture>
      <Intitule_Facture>Facture mensuelle</Intitule_Facture>
      <Type_Facture>C</Type_Facture>
      <Devise>EUR</Devise>
      <Code_Mode_Reglement>V</Code_Mode_Reglement>
      <Date_Reglement>{due}</Date_Reglement>
      <Delai_Reglement>30</Delai_Reglement>
      <Frequence_Facturation>M</Frequence_Facturation>
      <Type_Client>9</Type_Client>
      <Dematerialisation>D</Dematerialisation>
{operator}         <SIREN>000000000</SIREN>
         <Code_TVA>FR00000000000</Code_TVA>
         <Registre_Commerce>RCS EXEMPLEVILLE</Registre_Commerce>
         <Capital>1000</Capital>
      </Donnees_GRD_Legales>
{client}         <Code_TVA>FR11000000000</Code_TVA>
      </Donnees_Client>
{receiver}      </Donnees_Destinataire_Facture>
   </En_Tete_Message>
   <Fin_Message>
      <Montant_Total_HT>{net}</Montant_Total_HT>
      <Montant_Total_TVA>{tax}</Montant_Total_TVA>
      <Montant_Total_TTC>{net + tax}</Montant_Total_TTC>
      <Nb_Donnees_Valorisation_Total>{charges}</Nb_Donnees_Valorisation_Total>
{told}   </Fin_Message>
</F15_Donnees_Generales>
"""
