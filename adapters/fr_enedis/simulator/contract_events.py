"""C15: the contractual situation of access points after each event."""

from __future__ import annotations

from adapters.fr_enedis.simulator import codes
from adapters.fr_enedis.simulator.codes import BALANCE_RESPONSIBLE, CONTRACT, GRD, OPERATOR, SUPPLIER
from adapters.fr_enedis.simulator.drafting import Drafter, calendars, register_xml
from energycomm.simulation.lives import Life, Situation, Step
from energycomm.simulation.people import Customer, Place
from energycomm.simulation.staging import Draft

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


def _reading(drafter: Drafter, life: Life, situation: Situation, day: int, minute: int, qualification: str) -> str:
    """A reading at an event."""
    registers, _ = drafter.read(life, situation, day, minute, "REEL", event=True)
    indent = "               "
    shown = "".join(register_xml(key, register, indent) for key, register in registers.items())
    return f"""            <Donnees_Releve>
               <Code_Qualification>{qualification}</Code_Qualification>
               <Date_Releve>{drafter.almanac.instant(day, minute)}</Date_Releve>
{calendars(situation, indent)}{indent}<Nature_Index>REEL</Nature_Index>
{shown}            </Donnees_Releve>
"""


def _readings(drafter: Drafter, life: Life, step: Step) -> list[str]:
    """The readings of a step: before and after a change of registers, at an end, at a start."""
    if step.reason in ("contract-change", "meter-change"):
        assert step.before is not None
        before = _reading(drafter, life, step.before, step.day, step.minute, "1")
        return [before, _reading(drafter, life, step.after, step.day, step.minute + 1, "2")]
    if step.enters:
        drafter.memory(life.number).indexes = {}
    if step.enters or step.leaves:
        return [_reading(drafter, life, step.after, step.day, step.minute, "2" if step.enters else "1")]
    return []


def _installation(place: Place) -> str:
    return f"""      <Adresse_Installation>
         <Num_Rue>{place.number}</Num_Rue>
         <Rue>{place.street}</Rue>
         <Code_Postal>{place.postal_code}</Code_Postal>
         <Code_Commune>{place.municipality}</Code_Commune>
         <Libelle_Commune>{place.town}</Libelle_Commune>
         <Pays>FRANCE</Pays>
      </Adresse_Installation>
"""


def _holder(customer: Customer, place: Place) -> str:
    if customer.company:
        category, residence = "PRO", ""
        person = f"""            <Personne_Morale>
               <Raison_Sociale>{customer.company}</Raison_Sociale>
               <Activite>4711F</Activite>
               <Etablissement_Principal_Num_Siret>{customer.company_id}</Etablissement_Principal_Num_Siret>
            </Personne_Morale>
"""
    else:
        category, residence = "RES", "            <Residence_Principale>1</Residence_Principale>\n"
        person = f"""            <Personne_Physique>
               <Civilite>{customer.title}</Civilite>
               <Nom>{customer.surname}</Nom>
               <Prenom>{customer.first_name}</Prenom>
            </Personne_Physique>
"""
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


def _meter(situation: Situation, indent: str) -> str:
    """The meter in place after the event."""
    smart = situation.meter.smart
    linky = f"{indent}   <Pas_Courbe_De_Charge_Soutirage>30</Pas_Courbe_De_Charge_Soutirage>\n" if smart else ""
    return f"""{indent}<Compteur>
{indent}   <Type>{codes.meter_type(situation.meter)}</Type>
{indent}   <Tension_Fonctionnement>230V</Tension_Fonctionnement>
{indent}   <Constructeur>SIMULATION</Constructeur>
{indent}   <Num_Serie>{situation.meter.serial}</Num_Serie>
{indent}   <Calibre>60A</Calibre>
{indent}   <Nb_Cadrans>{14 if smart else 2}</Nb_Cadrans>
{indent}   <Accessibilite>1</Accessibilite>
{indent}   <Finalite_Compteur>consommation</Finalite_Compteur>
{linky}{indent}</Compteur>
"""


def _operations(removed: str | None, after: Situation) -> str:
    """The work on meters: one taken down, one put up; or the one in place set anew."""
    gone = f"""            <Compteur>
               <Type>CEB</Type>
               <Tension_Fonctionnement>230V</Tension_Fonctionnement>
               <Num_Serie>{removed}</Num_Serie>
            </Compteur>
"""
    return "".join(
        "         <Operation>\n            <Code_Operation>16</Code_Operation>\n"
        f"            <Categorie_Materiel>COMPTEUR</Categorie_Materiel>\n{meter}         </Operation>\n"
        for meter in (*((gone,) if removed else ()), _meter(after, "            "))
    )


def _kinds(step: Step, readings: int, meters: int) -> tuple[str, ...]:
    """Kinds of the Kernel messages of a step."""
    read = ("MeterReading",) * readings
    if step.leaves:
        return "EndOfSupply", *read
    entry = ("StartOfSupply",) if step.enters else ()
    return *entry, *read, *("MeterData",) * meters, "AccessPointData", "ContractTerms", "CustomerData"


def event(drafter: Drafter, life: Life, step: Step, affaire: str | None) -> Draft:
    """One PRM with its event, readings, contract and meter."""
    after, almanac, place = step.after, drafter.almanac, life.place
    nature = codes.NATURE.get(step.reason) or ("CFNE" if step.enters else "CFNS")
    prm, at = codes.prm_of(life.number), almanac.instant(step.day, step.minute)
    removed = step.before.meter.serial if step.before and step.before.meter != after.meter else None
    readings = _readings(drafter, life, step)
    opened = f"         <Id_Affaire>{affaire}</Id_Affaire>\n" if affaire else ""
    operation = _operations(removed, after) if nature == "CMAT" else ""
    read = f"         <Releves>\n{''.join(readings)}         </Releves>\n" if readings else ""
    end = f"         <Date_Resiliation>{at}</Date_Resiliation>\n" if step.leaves else ""
    in_service = almanac.iso(after.supply.start)
    body = f"""   <PRM>
      <Id_PRM>{prm}</Id_PRM>
      <Segment_Clientele>C5</Segment_Clientele>
      <Point_Sensible>0</Point_Sensible>
      <Num_Depannage>0972675099</Num_Depannage>
      <Jour_Fixe_Releve>{life.reading_day}</Jour_Fixe_Releve>
      <Periodicite_Releve>1</Periodicite_Releve>
      <Rang_Releve>1</Rang_Releve>
      <Niveau_Ouverture_Services>{after.level}</Niveau_Ouverture_Services>
      <Teleoperable>{int(after.meter.smart)}</Teleoperable>
      <Refus_Pose_AMM>0</Refus_Pose_AMM>
      <Autoproducteur>0</Autoproducteur>
      <Evenement_Declencheur>
         <Type_Evenement>{"TECHNIQUE" if nature == "CMAT" else "CONTRAT"}</Type_Evenement>
         <Date_Evenement>{at}</Date_Evenement>
         <Origine_Evenement>0</Origine_Evenement>
         <Nature_Evenement>{nature}</Nature_Evenement>
{opened}{operation}{read}      </Evenement_Declencheur>
{_installation(place)}      <Situation_Contractuelle>
         <Etat_Contractuel>{"RESILIE" if step.leaves else "EN SERVICE"}</Etat_Contractuel>
         <Ref_Situation_Contractuelle>{codes.contract_of(life, after)}</Ref_Situation_Contractuelle>
         <Date_Mise_En_Service>{in_service}</Date_Mise_En_Service>
{end}         <Num_Sequence>{after.sequence}</Num_Sequence>
         <Date_Debut_Num_Sequence>{almanac.iso(after.sequence_start)}</Date_Debut_Num_Sequence>
         <Structure_Tarifaire>
            <Formule_Tarifaire_Acheminement>{codes.tariff_of(after.terms)}</Formule_Tarifaire_Acheminement>
            <Puissance_Souscrite>{after.terms.power}.0</Puissance_Souscrite>
            <Unite_Puissance_Souscrite>kVA</Unite_Puissance_Souscrite>
{calendars(after, "            ")}         </Structure_Tarifaire>
{_holder(after.customer, place)}      </Situation_Contractuelle>
      <Alimentation>
         <Tension_De_Livraison>230_400V</Tension_De_Livraison>
         <P_Raccordement_Soutirage>36</P_Raccordement_Soutirage>
         <Domaine_De_Tension>BT</Domaine_De_Tension>
         <Etat_Alimentation>ALIM</Etat_Alimentation>
         <Date_Debut_Etat_Alimentation>{in_service}</Date_Debut_Etat_Alimentation>
         <Mode_Alimentation>MONO</Mode_Alimentation>
      </Alimentation>
      <Dispositif_De_Comptage>
{_meter(after, "         ")}      </Dispositif_De_Comptage>
   </PRM>
"""
    kinds = _kinds(step, len(readings), 2 if removed else 1)
    return Draft("C15", body, prm, f"C15 {prm} {nature} {at}", kinds, life=life.number, place=("event", step.day))
