"""R15 and R151: billing readings in kWh, daily indexes in Wh."""

from __future__ import annotations

from adapters.fr_enedis.simulator import codes
from adapters.fr_enedis.simulator.codes import CONTRACT, GRD, OPERATOR, SUBSCRIPTION, SUPPLIER
from adapters.fr_enedis.simulator.drafting import Drafter, Registers, calendars, chance, register_xml
from energycomm.kernel.vocabulary import Grid
from energycomm.simulation.lives import Life, Situation
from energycomm.simulation.meters import Band
from energycomm.simulation.staging import Draft

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


def billing(
    drafter: Drafter, life: Life, situation: Situation, day: int, motive: str, *, corrected: bool = False
) -> list[Draft]:
    """The R15 message of a periodic reading (CYCL), or of the reading at an exit.

    Returns:
      It alone; or `corrected` what was published first, three kWh short, and the correction that gives the truth. The
      short reading is below nothing that was published before, as energies of a month are larger than that.
    """
    memory, meter = drafter.memory(life.number), situation.meter
    previous = {
        "Id_Releve_Precedent": memory.identifier,
        "Date_Releve_Precedent": memory.at,
        "Nature_Index_Precedent": memory.nature,
        "Date_Theorique_Prochaine_Releve": drafter.almanac.iso(day + 30) if motive == "CYCL" else None,
    }
    nature = "REEL"
    if not meter.smart and motive == "CYCL":
        nature = ("ESTIME", "ESTIME", "ESTIME", "REEL", "AUTO-RELEVE")[chance(life.number, day, 1, 5)]
    registers, identifier = drafter.read(life, situation, day, 0, nature)
    prm = codes.prm_of(life.number)
    told = None if nature == "ESTIME" and chance(life.number, day, 2, 20) == 0 else nature

    def draft(registers: Registers, status: str, consumption: str, correction: str | None, reference: str) -> Draft:
        optional = {"Nature_Index": told, "Motif_Rectif": correction, **previous}
        more = "".join(f"         <{tag}>{text}</{tag}>\n" for tag, text in optional.items() if text is not None)
        shown = "".join(register_xml(key, each, "         ", meter.serial) for key, each in registers.items())
        body = f"""   <PRM>
      <Id_PRM>{prm}</Id_PRM>
      <Donnees_Releve>
         <Id_Releve>{identifier}</Id_Releve>
         <Date_Releve>{drafter.almanac.instant(day)}</Date_Releve>
         <Ref_Situation_Contractuelle>{codes.contract_of(life, situation)}</Ref_Situation_Contractuelle>
         <Num_Sequence>{situation.sequence}</Num_Sequence>
{calendars(situation, "         ")}         <Type_Client>{0 if situation.customer.company else 1}</Type_Client>
         <Niveau_Ouverture_Services>{situation.level}</Niveau_Ouverture_Services>
         <Type_Compteur>{codes.meter_type(meter)}</Type_Compteur>
         <Statut_Releve>{status}</Statut_Releve>
         <Nature_Consommation>{consumption}</Nature_Consommation>
         <Origine_Evenement>0</Origine_Evenement>
         <Motif_Releve>{motive}</Motif_Releve>
{more}{shown}      </Donnees_Releve>
   </PRM>
"""
        energies = any(register.energy is not None for register in registers.values())
        kinds = ("MeterReading", *(("MeteredVolume",) if energies else ()))
        return Draft("R15", body, prm, reference, kinds, life=life.number, place=("reading", day))

    name, consumption = f"R15 {identifier}", "ESTIME" if nature == "ESTIME" else "REEL"
    if not corrected:
        return [draft(registers, "INITIAL", consumption, None, name)]
    short = {
        (grid, band): each._replace(value=each.value - 3, energy=(each.energy or 0) - 3) if grid == "supplier" else each
        for (grid, band), each in registers.items()
    }
    return [
        draft(short, "INITIAL", consumption, None, name),
        draft(registers, "RECTIFICATIF", "REGULARISE", "CORR_IDX", f"{name} RECTIFICATIF"),
    ]


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


def daily(drafter: Drafter, life: Life, situation: Situation, day: int) -> Draft:
    """The R151 message of a day: indexes at its END, in Wh."""
    meter, terms, energy = situation.meter, situation.terms, life.load.until(day + 1, 0)

    def registers(grid: Grid, bands: tuple[Band, ...], tag: str) -> str:
        return "".join(
            f"<{tag}><Id_Classe_Temporelle>{(each := codes.TIME_CLASS[band]).code}</Id_Classe_Temporelle>"
            f"<Libelle_Classe_Temporelle>{each.label}</Libelle_Classe_Temporelle><Rang_Cadran>{each.rank}</Rang_Cadran>"
            f"<Valeur>{meter.shown_wh(meter.index(grid, band, energy))}</Valeur>"
            f"<Indice_Vraisemblance>0</Indice_Vraisemblance></{tag}>\n"
            for band in bands
        )

    prm, iso = codes.prm_of(life.number), drafter.almanac.iso(day)
    supplier, distributor = codes.supplier_calendar(terms), codes.distributor_calendar(terms)
    power = terms.power * (400 + chance(life.number, day, 3, 500))
    body = f"""<PRM><Id_PRM>{prm}</Id_PRM>
<Donnees_Releve><Date_Releve>{iso}</Date_Releve>
<Id_Calendrier_Fournisseur>{supplier.code}</Id_Calendrier_Fournisseur>
<Libelle_Calendrier_Fournisseur>{supplier.label}</Libelle_Calendrier_Fournisseur>
<Id_Calendrier_Distributeur>{distributor.code}</Id_Calendrier_Distributeur>
<Libelle_Calendrier_Distributeur>{distributor.label}</Libelle_Calendrier_Distributeur>
{registers("distributor", terms.distributor_bands, "Classe_Temporelle_Distributeur")}\
{registers("supplier", terms.supplier_bands, "Classe_Temporelle")}\
<Puissance_Maximale><Valeur>{power}</Valeur></Puissance_Maximale>
</Donnees_Releve>
</PRM>
"""
    return Draft("R151", body, prm, f"R151 {prm} {iso}", ("MeterReading",), life=life.number, place=("daily", day))
