"""C15 written: the contractual situation of access points after each event."""

from __future__ import annotations

from adapters.fr_enedis.simulator.codes import (
    BALANCE_RESPONSIBLE,
    CONTRACT,
    GRD,
    OPERATOR,
    SUPPLIER,
    Calendar,
)
from adapters.fr_enedis.simulator.drafts import EventDraft, ReadingDraft, RegisterDraft

TAIL = "</C15>\n"


def head(created: str) -> str:
    """Start of a C15 document, up to its first PRM."""
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<C15>
   <En_Tete_Flux>
      <Identifiant_Flux>C15</Identifiant_Flux>
      <Libelle_Flux>Description de la situation contractuelle des PRM du segment C5</Libelle_Flux>
      <Version_XSD>4.1.1</Version_XSD>
      <Identifiant_Emetteur>{OPERATOR}</Identifiant_Emetteur>
      <Identifiant_Destinataire>{SUPPLIER}</Identifiant_Destinataire>
      <Date_Creation>{created}</Date_Creation>
      <Instance_GRD>{GRD}</Instance_GRD>
   </En_Tete_Flux>
   <Contrat>
      <Identifiant>{CONTRACT}</Identifiant>
      <Nature_Contrat>GRD-F</Nature_Contrat>
      <Code_EIC_Fournisseur>{SUPPLIER}</Code_EIC_Fournisseur>
      <Code_EIC_Responsable_Equilibre>{BALANCE_RESPONSIBLE}</Code_EIC_Responsable_Equilibre>
   </Contrat>
"""


def calendars(distributor: Calendar | None, supplier: Calendar, indent: str) -> str:
    """The two calendars, as C15 and R15 name them."""
    text = (
        f"{indent}<Id_Calendrier_Distributeur>{distributor.code}</Id_Calendrier_Distributeur>\n"
        f"{indent}<Libelle_Calendrier_Distributeur>{distributor.label}</Libelle_Calendrier_Distributeur>\n"
        if distributor
        else ""
    )
    return (
        f"{text}{indent}<Id_Calendrier>{supplier.code}</Id_Calendrier>\n"
        f"{indent}<Libelle_Calendrier>{supplier.label}</Libelle_Calendrier>\n"
    )


def _register(register: RegisterDraft, tag: str) -> str:
    return f"""               <{tag}>
                  <Id_Classe_Temporelle>{register.code}</Id_Classe_Temporelle>
                  <Libelle_Classe_Temporelle>{register.label}</Libelle_Classe_Temporelle>
                  <Rang_Cadran>{register.rank}</Rang_Cadran>
                  <Classe_Mesure>1</Classe_Mesure>
                  <Unite_Mesure>{register.unit}</Unite_Mesure>
                  <Sens_Mesure>0</Sens_Mesure>
                  <Valeur>{register.value}</Valeur>
                  <Nb_Chiffres_Cadran>{register.digits}</Nb_Chiffres_Cadran>
                  <Indicateur_Passage_A_Zero>{register.rollover}</Indicateur_Passage_A_Zero>
                  <Coefficient_Lecture>1.0</Coefficient_Lecture>
               </{tag}>
"""


def _reading(reading: ReadingDraft) -> str:
    indent = "               "
    nature = f"{indent}<Nature_Index>{reading.nature}</Nature_Index>\n" if reading.nature else ""
    distributor = "".join(_register(r, "Classe_Temporelle_Distributeur") for r in reading.distributor_registers)
    supplier = "".join(_register(r, "Classe_Temporelle") for r in reading.supplier_registers)
    return f"""            <Donnees_Releve>
               <Code_Qualification>{reading.qualification}</Code_Qualification>
               <Date_Releve>{reading.at}</Date_Releve>
{calendars(reading.distributor, reading.supplier, indent)}{nature}{distributor}{supplier}            </Donnees_Releve>
"""


def _holder(event: EventDraft) -> str:
    customer, place = event.customer, event.place
    if customer.company:
        person = f"""            <Personne_Morale>
               <Raison_Sociale>{customer.company}</Raison_Sociale>
               <Activite>4711F</Activite>
               <Etablissement_Principal_Num_Siret>{customer.company_id}</Etablissement_Principal_Num_Siret>
            </Personne_Morale>
"""
    else:
        person = f"""            <Personne_Physique>
               <Civilite>{customer.title}</Civilite>
               <Nom>{customer.surname}</Nom>
               <Prenom>{customer.first_name}</Prenom>
            </Personne_Physique>
"""
    category = event.category or ("PRO" if customer.company else "RES")
    residence = "" if customer.company else "            <Residence_Principale>1</Residence_Principale>\n"
    return f"""         <Titulaire_Contrat>
            <Categorie>{category}</Categorie>
{residence}{person}            <Coordonnees_Contact>
               <Telephone1_Num>{customer.phone}</Telephone1_Num>
            </Coordonnees_Contact>
            <Adresse_Postale>
               <Ligne_1>{customer.surname}</Ligne_1>
               <Ligne_4>{place.number} {place.street}</Ligne_4>
               <Ligne_6>{place.postal_code} {place.town}</Ligne_6>
            </Adresse_Postale>
         </Titulaire_Contrat>
"""


def _meter(event: EventDraft, indent: str) -> str:
    """The meter in place after the event."""
    linky = f"{indent}   <Pas_Courbe_De_Charge_Soutirage>30</Pas_Courbe_De_Charge_Soutirage>\n" if event.smart else ""
    return f"""{indent}<Compteur>
{indent}   <Type>{event.meter_type}</Type>
{indent}   <Tension_Fonctionnement>230V</Tension_Fonctionnement>
{indent}   <Constructeur>SIMULATION</Constructeur>
{indent}   <Num_Serie>{event.meter}</Num_Serie>
{indent}   <Calibre>60A</Calibre>
{indent}   <Nb_Cadrans>{14 if event.smart else 2}</Nb_Cadrans>
{indent}   <Accessibilite>1</Accessibilite>
{indent}   <Finalite_Compteur>consommation</Finalite_Compteur>
{linky}{indent}</Compteur>
"""


def _operations(event: EventDraft) -> str:
    """The work on meters: one taken down, one put up; or the one in place set anew."""
    gone = ""
    if event.removed:
        gone = f"""            <Compteur>
               <Type>CEB</Type>
               <Tension_Fonctionnement>230V</Tension_Fonctionnement>
               <Num_Serie>{event.removed}</Num_Serie>
            </Compteur>
"""
    return "".join(
        "         <Operation>\n            <Code_Operation>16</Code_Operation>\n"
        f"            <Categorie_Materiel>COMPTEUR</Categorie_Materiel>\n{meter}         </Operation>\n"
        for meter in (gone, _meter(event, "            "))
        if meter
    )


def event_xml(event: EventDraft) -> str:
    """One PRM with its event, readings, contract and meter."""
    place = event.place
    affaire = f"         <Id_Affaire>{event.affaire}</Id_Affaire>\n" if event.affaire else ""
    operation = _operations(event) if event.nature == "CMAT" else ""
    readings = ""
    if event.readings:
        readings = f"         <Releves>\n{''.join(map(_reading, event.readings))}         </Releves>\n"
    end = f"         <Date_Resiliation>{event.terminated}</Date_Resiliation>\n" if event.terminated else ""
    return f"""   <PRM>
      <Id_PRM>{event.prm}</Id_PRM>
      <Segment_Clientele>{event.segment}</Segment_Clientele>
      <Point_Sensible>0</Point_Sensible>
      <Num_Depannage>0972675099</Num_Depannage>
      <Jour_Fixe_Releve>{event.reading_day}</Jour_Fixe_Releve>
      <Periodicite_Releve>1</Periodicite_Releve>
      <Rang_Releve>1</Rang_Releve>
      <Niveau_Ouverture_Services>{event.level}</Niveau_Ouverture_Services>
      <Teleoperable>{int(event.smart)}</Teleoperable>
      <Refus_Pose_AMM>0</Refus_Pose_AMM>
      <Autoproducteur>0</Autoproducteur>
      <Evenement_Declencheur>
         <Type_Evenement>{event.kind}</Type_Evenement>
         <Date_Evenement>{event.at}</Date_Evenement>
         <Origine_Evenement>0</Origine_Evenement>
         <Nature_Evenement>{event.nature}</Nature_Evenement>
{affaire}{operation}{readings}      </Evenement_Declencheur>
      <Adresse_Installation>
         <Num_Rue>{place.number}</Num_Rue>
         <Rue>{place.street}</Rue>
         <Code_Postal>{place.postal_code}</Code_Postal>
         <Code_Commune>{place.municipality}</Code_Commune>
         <Libelle_Commune>{place.town}</Libelle_Commune>
         <Pays>FRANCE</Pays>
      </Adresse_Installation>
      <Situation_Contractuelle>
         <Etat_Contractuel>{event.status}</Etat_Contractuel>
         <Ref_Situation_Contractuelle>{event.reference_contract}</Ref_Situation_Contractuelle>
         <Date_Mise_En_Service>{event.in_service}</Date_Mise_En_Service>
{end}         <Num_Sequence>{event.sequence}</Num_Sequence>
         <Date_Debut_Num_Sequence>{event.sequence_start}</Date_Debut_Num_Sequence>
         <Structure_Tarifaire>
            <Formule_Tarifaire_Acheminement>{event.tariff}</Formule_Tarifaire_Acheminement>
            <Puissance_Souscrite>{event.power}</Puissance_Souscrite>
            <Unite_Puissance_Souscrite>{event.power_unit}</Unite_Puissance_Souscrite>
{calendars(event.distributor, event.supplier, "            ")}         </Structure_Tarifaire>
{_holder(event)}      </Situation_Contractuelle>
      <Alimentation>
         <Tension_De_Livraison>230_400V</Tension_De_Livraison>
         <P_Raccordement_Soutirage>36</P_Raccordement_Soutirage>
         <Domaine_De_Tension>BT</Domaine_De_Tension>
         <Etat_Alimentation>{event.supply_state}</Etat_Alimentation>
         <Date_Debut_Etat_Alimentation>{event.in_service}</Date_Debut_Etat_Alimentation>
         <Mode_Alimentation>MONO</Mode_Alimentation>
      </Alimentation>
      <Dispositif_De_Comptage>
{_meter(event, "         ")}      </Dispositif_De_Comptage>
   </PRM>
"""
