"""F15 written: the general file of a grid invoice and its detail files."""

from __future__ import annotations

from itertools import groupby

from adapters.fr_enedis.simulator.codes import CONTRACT, GRD, OPERATOR, SUPPLIER
from adapters.fr_enedis.simulator.drafts import ChargeDraft, LineDraft

DETAIL_TAIL = "</F15_Detail_Facturation>\n"


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


def _line(line: LineDraft) -> str:
    power = f"            <Puissance_Souscrite>{line.power}</Puissance_Souscrite>\n" if line.power else ""
    tariff = (
        f"            <Formule_Tarifaire_Acheminement>{line.tariff}</Formule_Tarifaire_Acheminement>\n"
        if line.tariff
        else ""
    )
    return f"""         <Element_Valorise>
            <Id_EV>{line.code}</Id_EV>
            <Libelle_EV>{line.label}</Libelle_EV>
            <Date_Debut>{line.start}</Date_Debut>
            <Date_Fin>{line.end}</Date_Fin>
            <Quantite>{line.quantity}</Quantite>
            <Unite_Quantite>{line.unit}</Unite_Quantite>
            <Prix_Unitaire>{line.price}</Prix_Unitaire>
            <Montant_HT>{euros(line.cents)}</Montant_HT>
            <Taux_TVA_Applicable>{line.tax}</Taux_TVA_Applicable>
            <Date_TVA_Applicable>{line.end}</Date_TVA_Applicable>
{power}{tariff}         </Element_Valorise>
"""


def charge_xml(charge: ChargeDraft) -> str:
    """One Donnees_Valorisation: what one access point is charged."""
    groups = "".join(
        f"      <Groupe_Valorise>\n         <Nature_EV>{nature}</Nature_EV>\n{''.join(map(_line, lines))}"
        "      </Groupe_Valorise>\n"
        for nature, lines in groupby(charge.lines, key=lambda line: line.group)
    )
    return f"""   <Donnees_Valorisation>
      <Num_Valorisation>{charge.identifier}</Num_Valorisation>
      <Type_Facturation>{charge.billing}</Type_Facturation>
      <Total_Valorise_HT>{euros(charge.cents)}</Total_Valorise_HT>
      <Periode_Ante_Migration>0</Periode_Ante_Migration>
      <Donnees_PRM>
         <Id_PRM>{charge.prm}</Id_PRM>
         <Code_Commune>{charge.municipality}</Code_Commune>
         <Code_Departement>{charge.municipality[:2]}</Code_Departement>
         <Ref_Situation_Contractuelle>{charge.reference_contract}</Ref_Situation_Contractuelle>
         <Type_Compteur>{charge.meter_type}</Type_Compteur>
      </Donnees_PRM>
{groups}   </Donnees_Valorisation>
"""


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
