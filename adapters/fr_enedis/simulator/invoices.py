"""F15: the charges of access points, the detail files that hold them, and the general file of a grid invoice."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from adapters.fr_enedis.simulator import codes
from adapters.fr_enedis.simulator.codes import CONTRACT, GRD, OPERATOR, SUPPLIER
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.lives import Life, Situation
from energycomm.simulation.staging import Draft

DETAIL_TAIL = "</F15_Detail_Facturation>\n"
PRICES = {3: 45, 6: 58, 9: 71, 12: 84, 15: 97, 18: 110, 24: 136, 36: 188}
"""Invented monthly price of the fixed part, in cents, by subscribed power."""


class Line(NamedTuple):
    """One `Element_Valorise` of a charge; `mills` is the price of a unit in ten thousandths of a euro."""

    group: str
    code: str
    label: str
    quantity: int
    unit: str
    mills: int
    tax: str

    @property
    def cents(self) -> int:
        """What the line costs without tax."""
        return (self.quantity * self.mills + 50) // 100

    @property
    def tax_cents(self) -> int:
        """The tax on it."""
        return (self.cents * int(self.tax.replace(".", "")) + 5000) // 10000


class Amounts(NamedTuple):
    """What an invoice adds up of a charge."""

    cents: int
    tax_cents: int


def euros(cents: int) -> str:
    """An amount with two decimals."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"


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
    almanac: Almanac, life: Life, situation: Situation, first: int, last: int, kwh: int, identifier: str
) -> Draft:
    """What an access point is charged for a month: management, metering, the fixed part, and the energy billed last."""
    terms, end = situation.terms, almanac.iso(last)
    lines = [
        Line("01", "CG", "Composante de gestion", 1, "MOIS", 13_100, "5.50"),
        Line("01", "CC", "Composante de comptage", 1, "MOIS", 16_500, "5.50"),
        Line(
            "01", "CSFIXE", "Composante de soutirage, part fixe", terms.power, "KVA", PRICES[terms.power] * 10, "5.50"
        ),
        Line("02", "CSVAR", "Composante de soutirage, part variable", kwh, "KWH", 478, "20.00"),
    ]

    def line(each: Line) -> str:
        return f"""         <Element_Valorise>
            <Id_EV>{each.code}</Id_EV>
            <Libelle_EV>{each.label}</Libelle_EV>
            <Date_Debut>{almanac.iso(first)}</Date_Debut>
            <Date_Fin>{end}</Date_Fin>
            <Quantite>{each.quantity}.0</Quantite>
            <Unite_Quantite>{each.unit}</Unite_Quantite>
            <Prix_Unitaire>{each.mills // 10000}.{each.mills % 10000:04d}</Prix_Unitaire>
            <Montant_HT>{euros(each.cents)}</Montant_HT>
            <Taux_TVA_Applicable>{each.tax}</Taux_TVA_Applicable>
            <Date_TVA_Applicable>{end}</Date_TVA_Applicable>
            <Puissance_Souscrite>{terms.power}.0</Puissance_Souscrite>
            <Formule_Tarifaire_Acheminement>{codes.tariff_of(terms)}</Formule_Tarifaire_Acheminement>
         </Element_Valorise>
"""

    groups = "".join(
        f"      <Groupe_Valorise>\n         <Nature_EV>{nature}</Nature_EV>\n{''.join(map(line, found))}"
        "      </Groupe_Valorise>\n"
        for nature, found in groupby(lines, key=lambda each: each.group)
    )
    prm, municipality, cents = codes.prm_of(life.number), life.place.municipality, sum(each.cents for each in lines)
    body = f"""   <Donnees_Valorisation>
      <Num_Valorisation>{identifier}</Num_Valorisation>
      <Type_Facturation>CYCL</Type_Facturation>
      <Total_Valorise_HT>{euros(cents)}</Total_Valorise_HT>
      <Periode_Ante_Migration>0</Periode_Ante_Migration>
      <Donnees_PRM>
         <Id_PRM>{prm}</Id_PRM>
         <Code_Commune>{municipality}</Code_Commune>
         <Code_Departement>{municipality[:2]}</Code_Departement>
         <Ref_Situation_Contractuelle>{codes.contract_of(life, situation)}</Ref_Situation_Contractuelle>
         <Type_Compteur>{codes.meter_type(situation.meter)}</Type_Compteur>
      </Donnees_PRM>
{groups}   </Donnees_Valorisation>
"""
    amounts, kinds = Amounts(cents, sum(each.tax_cents for each in lines)), ("GridCharge",)
    return Draft("F15", body, prm, f"F15 {identifier}", kinds, life=life.number, place=("charge", last), about=amounts)


def _party(tag: str, name: str, extra: str = "") -> str:
    return f"""      <{tag}>
{extra}         <Ligne_Adresse_1>{name}</Ligne_Adresse_1>
         <Ligne_Adresse_4>1 rue du Simulateur</Ligne_Adresse_4>
         <Ligne_Adresse_6>99001 EXEMPLEVILLE</Ligne_Adresse_6>
"""


def general_document(created: str, invoice: str, day: str, due: str, cents: int, tax_cents: int, charges: int) -> str:
    """The general file of an invoice.

    Args:
      created: instant the file was written.
      invoice: Num_Facture.
      day, due: dates of the invoice and of its payment.
      cents, tax_cents: total without tax, and tax, in cents.
      charges: number of Donnees_Valorisation in all detail files.
    """
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
      <Montant_Total_HT>{euros(cents)}</Montant_Total_HT>
      <Montant_Total_TVA>{euros(tax_cents)}</Montant_Total_TVA>
      <Montant_Total_TTC>{euros(cents + tax_cents)}</Montant_Total_TTC>
      <Nb_Donnees_Valorisation_Total>{charges}</Nb_Donnees_Valorisation_Total>
   </Fin_Message>
</F15_Donnees_Generales>
"""
