"""R15 and R151 written: billing readings in kWh, daily indexes in Wh."""

from __future__ import annotations

from adapters.fr_enedis.simulator.codes import CONTRACT, GRD, OPERATOR, SUBSCRIPTION, SUPPLIER
from adapters.fr_enedis.simulator.contract_events import calendars
from adapters.fr_enedis.simulator.drafts import BillingReadingDraft, DailyReadingDraft, RegisterDraft

BILLING_TAIL = "</R15>\n"
DAILY_TAIL = "</R151>\n"


def billing_head(created: str) -> str:
    """Start of an R15 document."""
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<R15>
   <En_Tete_Flux>
      <Identifiant_Flux>R15</Identifiant_Flux>
      <Libelle_Flux>Index et énergies des PRM des segments C5 et P4</Libelle_Flux>
      <Version_XSD>2.3.2</Version_XSD>
      <Identifiant_Emetteur>{OPERATOR}</Identifiant_Emetteur>
      <Identifiant_Destinataire>{SUPPLIER}</Identifiant_Destinataire>
      <Date_Creation>{created}</Date_Creation>
      <Nature_Contrat>GRD-F</Nature_Contrat>
      <Identifiant_Contrat>{CONTRACT}</Identifiant_Contrat>
      <Instance_GRD>{GRD}</Instance_GRD>
   </En_Tete_Flux>
"""


def _register(register: RegisterDraft, tag: str, meter: str) -> str:
    before = (
        "" if register.previous is None else f"            <Valeur_Precedent>{register.previous}</Valeur_Precedent>\n"
    )
    index = f"""         <{tag}>
            <Id_Classe_Temporelle>{register.code}</Id_Classe_Temporelle>
            <Libelle_Classe_Temporelle>{register.label}</Libelle_Classe_Temporelle>
            <Rang_Cadran>{register.rank}</Rang_Cadran>
            <Classe_Mesure>1</Classe_Mesure>
            <Unite_Mesure>{register.unit}</Unite_Mesure>
            <Sens_Mesure>0</Sens_Mesure>
            <Valeur>{register.value}</Valeur>
{before}            <Nb_Chiffres_Cadran>{register.digits}</Nb_Chiffres_Cadran>
            <Indicateur_Passage_A_Zero>{register.rollover}</Indicateur_Passage_A_Zero>
            <Coefficient_Lecture>1.0</Coefficient_Lecture>
            <Num_Serie>{meter}</Num_Serie>
         </{tag}>
"""
    if register.energy is None:
        return index
    return f"""{index}         <{tag}>
            <Id_Classe_Temporelle>{register.code}</Id_Classe_Temporelle>
            <Libelle_Classe_Temporelle>{register.label}</Libelle_Classe_Temporelle>
            <Classe_Mesure>2</Classe_Mesure>
            <Unite_Mesure>{register.unit}</Unite_Mesure>
            <Sens_Mesure>0</Sens_Mesure>
            <Valeur>{register.energy}</Valeur>
         </{tag}>
"""


def _optional(tag: str, value: str | None) -> str:
    return f"         <{tag}>{value}</{tag}>\n" if value is not None else ""


def billing_xml(reading: BillingReadingDraft) -> str:
    """One PRM with one reading."""
    distributor = "".join(
        _register(r, "Classe_Temporelle_Distributeur", reading.meter) for r in reading.distributor_registers
    )
    supplier = "".join(_register(r, "Classe_Temporelle", reading.meter) for r in reading.supplier_registers)
    return f"""   <PRM>
      <Id_PRM>{reading.prm}</Id_PRM>
      <Donnees_Releve>
         <Id_Releve>{reading.identifier}</Id_Releve>
         <Date_Releve>{reading.at}</Date_Releve>
         <Ref_Situation_Contractuelle>{reading.reference_contract}</Ref_Situation_Contractuelle>
         <Num_Sequence>{reading.sequence}</Num_Sequence>
{calendars(reading.distributor, reading.supplier, "         ")}         <Type_Client>{reading.client}</Type_Client>
         <Niveau_Ouverture_Services>{reading.level}</Niveau_Ouverture_Services>
         <Type_Compteur>{reading.meter_type}</Type_Compteur>
         <Statut_Releve>{reading.status}</Statut_Releve>
         <Nature_Consommation>{reading.consumption}</Nature_Consommation>
         <Origine_Evenement>0</Origine_Evenement>
         <Motif_Releve>{reading.motive}</Motif_Releve>
{_optional("Nature_Index", reading.nature)}{_optional("Motif_Rectif", reading.correction)}\
{_optional("Id_Releve_Precedent", reading.previous_identifier)}\
{_optional("Date_Releve_Precedent", reading.previous_at)}\
{_optional("Nature_Index_Precedent", reading.previous_nature)}\
{_optional("Date_Theorique_Prochaine_Releve", reading.next_reading)}\
{distributor}{supplier}      </Donnees_Releve>
   </PRM>
"""


def daily_head(created: str) -> str:
    """Start of an R151 document."""
    return (
        "<?xml version='1.0' encoding='UTF-8'?>\n<R151><En_Tete_Flux><Identifiant_Flux>R151</Identifiant_Flux>"
        "<Libelle_Flux>Puissances maximales et index des PRM du segment C5 sur abonnement</Libelle_Flux>"
        "<Version_XSD>V1</Version_XSD>"
        "<Identifiant_Emetteur>ERDF</Identifiant_Emetteur>"  # the old name, which the schema still demands here
        f"<Identifiant_Destinataire>{SUPPLIER}</Identifiant_Destinataire>"
        f"<Date_Creation>{created}</Date_Creation><Identifiant_Contrat>{CONTRACT}</Identifiant_Contrat>"
        f"<Numero_Abonnement>{SUBSCRIPTION}</Numero_Abonnement><Unite_Mesure_Index>Wh</Unite_Mesure_Index>"
        "<Unite_Mesure_Puissance>VA</Unite_Mesure_Puissance></En_Tete_Flux>\n"
    )


def _daily_register(register: RegisterDraft, tag: str) -> str:
    return (
        f"<{tag}><Id_Classe_Temporelle>{register.code}</Id_Classe_Temporelle>"
        f"<Libelle_Classe_Temporelle>{register.label}</Libelle_Classe_Temporelle>"
        f"<Rang_Cadran>{register.rank}</Rang_Cadran><Valeur>{register.value}</Valeur>"
        f"<Indice_Vraisemblance>{register.doubtful}</Indice_Vraisemblance></{tag}>\n"
    )


def daily_xml(reading: DailyReadingDraft) -> str:
    """One PRM with the indexes at the END of one day."""
    distributor = "".join([_daily_register(r, "Classe_Temporelle_Distributeur") for r in reading.distributor_registers])
    supplier = "".join([_daily_register(r, "Classe_Temporelle") for r in reading.supplier_registers])
    power = ""
    if reading.maximum_power is not None:
        power = f"<Puissance_Maximale><Valeur>{reading.maximum_power}</Valeur></Puissance_Maximale>\n"
    return f"""<PRM><Id_PRM>{reading.prm}</Id_PRM>
<Donnees_Releve><Date_Releve>{reading.day}</Date_Releve>
<Id_Calendrier_Fournisseur>{reading.supplier.code}</Id_Calendrier_Fournisseur>
<Libelle_Calendrier_Fournisseur>{reading.supplier.label}</Libelle_Calendrier_Fournisseur>
<Id_Calendrier_Distributeur>{reading.distributor.code}</Id_Calendrier_Distributeur>
<Libelle_Calendrier_Distributeur>{reading.distributor.label}</Libelle_Calendrier_Distributeur>
{distributor}{supplier}{power}</Donnees_Releve>
</PRM>
"""
