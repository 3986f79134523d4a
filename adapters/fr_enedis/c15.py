"""C15: the situation of a point after each event (Enedis SGE, flux C15, versions 4.1.1 to 5.x).

One ``PRM`` is one CH message. What it becomes is decided by Nature_Evenement:

* an entry (PMES, MES, CFNE): start of supply, point, contract, customer, meters, readings;
* an exit (RES, CFNS): end of supply and the last readings only, since the rest describes a point that is no longer
  ours;
* any other, known (MCT, MDPRM, CMAT, MDACT, AUTRE) or not: the master data it carries, and its readings.

Assumed, since no public document says it:

* A meter was changed when the operations say so, and not because the event is a CMAT, which may be about a breaker or a
  calendar. An ``Operation`` of code 5 removes a meter, one of code 15 fits one. By another code it was removed if it is
  not in ``Dispositif_De_Comptage``, which shows the situation after the event; one named in both was installed when the
  event is a first commissioning or another meter was removed, and reconfigured otherwise. A meter named in the latter
  only is present. Work on other material (Categorie_Materiel) is no work on a meter.
* Readings carry no serial number. Where one meter is in place it is the readings' meter; where one was removed, the
  reading before the event is the removed meter's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from adapters.common.outcome import Digested, Notes
from adapters.common.reading import Fields, flag, leaf, need, need_node, node, nodes, number, whole
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.header import Context
from adapters.fr_enedis.outcome import digester, words
from adapters.fr_enedis.registers import ENTRIES, EXITS, GRIDS, NATURE, REASONS, register
from adapters.fr_enedis.times import civil_day, instant, needed_instant
from energycomm.kernel.family import RANK
from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    CustomerData,
    EndOfSupply,
    KernelMessage,
    MeterData,
    MeterReading,
    StartOfSupply,
)
from energycomm.kernel.parts import Address, particulars_of
from energycomm.kernel.vocabulary import (
    ConnectionStatus,
    ContractStatus,
    CustomerCategory,
    MeterAction,
    Qualification,
)

M = TypeVar("M", bound=KernelMessage)

VERSIONS = ("4.1.1", "5.0.0", "5.1.0", "5.2.0")

CONTRACT_STATUS: dict[str, ContractStatus] = {"EN SERVICE": "in-service", "RESILIE": "terminated"}
CONNECTION_STATUS: dict[str | None, ConnectionStatus] = {
    "ALIM": "connected",
    "COUP": "disconnected",
    "LIMI": "limited",
    "NALI": "not-connected",
}
CATEGORY: dict[str, CustomerCategory] = {"RES": "residential", "PRO": "professional"}
QUALIFICATION: dict[str, Qualification] = {"1": "before-event", "2": "after-event"}
PHASES = {"MONO": 1, "TRI": 3}
REMOVAL, FITTING = "5", "15"
"""Code_Operation of a meter that is taken down, and of one that is put up."""
METER = "COMPTEUR"
"""How Categorie_Materiel of an operation on a meter begins; the schema has no list of its values."""
_EVENT = "PRM/Evenement_Declencheur"
_CONTRACT = "PRM/Situation_Contractuelle"


def refer(fields: Fields, context: Context) -> tuple[str, str | None]:
    """``PRM:contract reference:date of the event:nature``; a missing part is ``-``."""
    event, contract = node(fields, "Evenement_Declencheur"), node(fields, "Situation_Contractuelle")
    point = leaf(fields, "Id_PRM")
    parts = (
        point,
        leaf(contract, "Ref_Situation_Contractuelle"),
        leaf(event, "Date_Evenement"),
        leaf(event, "Nature_Evenement"),
    )
    return ":".join(part or "-" for part in parts), point


def version(fields: Fields, declared: str | None) -> str:
    """5.1.0 or the later one declared where Plages_Heures_Creuses is there, also 5.0.0 where only Passage_Niveau is,
    4.1.1 where Point_Sensible is, else the declared one."""
    if "Plages_Heures_Creuses" in node(fields, "Situation_Contractuelle", "Structure_Tarifaire"):
        return declared if declared in VERSIONS[2:] else VERSIONS[2]
    if "Passage_Niveau" in fields:
        return declared if declared in VERSIONS[1:] else VERSIONS[2]
    if "Point_Sensible" in fields:
        return "4.1.1"
    return declared if declared in VERSIONS else VERSIONS[-1]


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """Kernel messages of one ``PRM``.

    Args:
      fields: content of the element, checked.
      context: header and ``Contrat``.
      notes: where to add what was noticed.

    Raises:
      Unreadable: a needed element is missing, or a date does not exist.
    """
    event = need_node(fields, "Evenement_Declencheur", "PRM")
    contract = need_node(fields, "Situation_Contractuelle", "PRM")
    reference, point = refer(fields, context)
    nature = event.get("Nature_Evenement")
    need(event, "Type_Evenement", _EVENT)
    effective = needed_instant(event, "Date_Evenement", _EVENT, notes)
    own = {
        "market_reason": nature,
        "reason": None if nature is None else REASONS.get(nature, "other"),
        "reference": reference,
        "effective": effective,
        "access_point": point,
        "contract_reference": contract["Ref_Situation_Contractuelle"],
        "request_reference": event.get("Id_Affaire"),
    }
    piece = _Piece(fields, contract, event, own, context, notes)
    status = CONTRACT_STATUS[" ".join(contract["Etat_Contractuel"].split())]
    messages: list[KernelMessage] = []
    if nature in EXITS:
        end = instant(contract, "Date_Resiliation", _CONTRACT, notes)
        messages.append(replace(piece.begun(EndOfSupply), contract_end=end, contract_status=status))
    else:
        if status == "terminated":
            notes.append(refusal("NOTE_TERMINATED_EVENT", path=f"{_CONTRACT}/Etat_Contractuel", value=nature))
        if nature in ENTRIES:
            messages.append(
                replace(
                    piece.begun(StartOfSupply),
                    supplier=context.facts.get("Code_EIC_Fournisseur"),
                    balance_responsible=context.facts.get("Code_EIC_Responsable_Equilibre"),
                    contract_start=civil_day(contract, "Date_Mise_En_Service", _CONTRACT),
                )
            )
        messages += _master_data(piece, status)
    releves = event.get("Releves")
    if releves:
        readings = _readings(nodes(releves[0], "Donnees_Releve"), piece)
        messages += readings
        if any(reading.effective < effective for reading in readings):
            messages.sort(key=lambda message: (message.effective, RANK[type(message).__name__]))
    return Digested(reference, point, tuple(messages))


class _Piece(NamedTuple):
    """One ``PRM``: its content, two elements of it, and the fields of the head that are its own."""

    fields: Fields
    contract: Fields
    event: Fields
    own: dict[str, Any]
    context: Context
    notes: Notes

    def begun(self, kind: type[M]) -> M:
        """A message of a kind that holds its head."""
        return replace(self.context.blank(kind), **self.own)


def _master_data(piece: _Piece, status: ContractStatus) -> Iterator[KernelMessage]:
    yield _point(piece, status)
    yield _terms(piece, status)
    if "Titulaire_Contrat" in piece.contract:
        yield _customer(piece.contract["Titulaire_Contrat"][0], piece)
    yield from _meters(piece)


def _point(piece: _Piece, status: ContractStatus) -> AccessPointData:
    fields, supply, facts = piece.fields, node(piece.fields, "Alimentation"), piece.context.facts
    return replace(
        piece.begun(AccessPointData),
        segment=fields.get("Segment_Clientele"),
        contract_status=status,
        connection_status=CONNECTION_STATUS.get(supply.get("Etat_Alimentation")),
        connection_since=civil_day(supply, "Date_Debut_Etat_Alimentation", "PRM/Alimentation"),
        phases=PHASES.get(supply.get("Mode_Alimentation", "")),
        voltage=supply.get("Tension_De_Livraison") or supply.get("Domaine_De_Tension"),
        connection_power=number(supply, "P_Raccordement_Soutirage"),
        service_level=fields.get("Niveau_Ouverture_Services"),
        remote_readable=flag(fields, "Teleoperable"),
        reading_day=whole(fields, "Jour_Fixe_Releve"),
        reading_period=whole(fields, "Periodicite_Releve"),
        self_producer=flag(fields, "Autoproducteur"),
        self_consumption=fields.get("Autoconsommation_Collective"),
        supplier=facts.get("Code_EIC_Fournisseur"),
        balance_responsible=facts.get("Code_EIC_Responsable_Equilibre"),
        address=_installation(node(fields, "Adresse_Installation"), piece.notes),
    )


def _terms(piece: _Piece, status: ContractStatus) -> ContractTerms:
    contract, notes = piece.contract, piece.notes
    tariff = node(contract, "Structure_Tarifaire")
    # A contract that runs may bear the day on which it is to end.
    end = instant(contract, "Date_Resiliation", _CONTRACT, notes)
    return replace(
        piece.begun(ContractTerms),
        particulars=particulars_of({"Situation_Contractuelle/Date_Resiliation": end}),
        contract_status=status,
        contract_start=civil_day(contract, "Date_Mise_En_Service", _CONTRACT),
        sequence=whole(contract, "Num_Sequence"),
        sequence_start=civil_day(contract, "Date_Debut_Num_Sequence", _CONTRACT),
        tariff=tariff.get("Formule_Tarifaire_Acheminement"),
        subscribed_power=number(tariff, "Puissance_Souscrite"),
        power_unit=tariff.get("Unite_Puissance_Souscrite"),
        calendar=tariff.get("Id_Calendrier_Distributeur"),
        supplier_calendar=tariff.get("Id_Calendrier"),
        off_peak=_off_peak(tariff, notes),
        contract_kind=piece.context.facts.get("Nature_Contrat"),
    )


def _off_peak(tariff: Fields, notes: Notes) -> str | None:
    """The off-peak hours in words: one label in version 4, a list of labels in version 5."""
    path = f"{_CONTRACT}/Structure_Tarifaire"
    label = words(tariff, "Libelle_Plage_Heures_Creuses", path, notes)
    if label is not None:
        return label
    spans = nodes(node(tariff, "Plages_Heures_Creuses"), "Plage_Heures_Creuses")
    labels = [words(span, "Libelle_Plage_Heures_Creuses", path, notes) for span in spans]
    return "; ".join(label for label in labels if label)[:400] or None


def _installation(address: Fields, notes: Notes) -> Address | None:
    if not address:
        return None
    path = "PRM/Adresse_Installation"
    parts = ("Batiment", "Etage", "Appartement", "Complement_Localisation", "Lieu_Dit")
    addition = ", ".join(part for part in (words(address, tag, path, notes) for tag in parts) if part)
    return Address(
        street=words(address, "Rue", path, notes),
        number=address.get("Num_Rue"),
        addition=addition[:400] or None,
        postal_code=address.get("Code_Postal"),
        municipality_code=address.get("Code_Commune"),
        city=words(address, "Libelle_Commune", path, notes),
        country=address.get("Pays"),
    )


def _customer(holder: Fields, piece: _Piece) -> CustomerData:
    path, notes = f"{_CONTRACT}/Titulaire_Contrat", piece.notes
    person, company = node(holder, "Personne_Physique"), node(holder, "Personne_Morale")
    contact, postal = node(holder, "Coordonnees_Contact"), node(holder, "Adresse_Postale")
    address = None
    if postal:
        # Postal norm: line 1 name, 2 and 3 place inside, 4 street, 5 locality, 6 postal code and town, 7 country.
        inside = ", ".join(line for line in (words(postal, f"Ligne_{n}", path, notes) for n in (2, 3, 5)) if line)
        address = Address(
            street=words(postal, "Ligne_4", path, notes),
            addition=inside[:400] or None,
            city=words(postal, "Ligne_6", path, notes),
            country=words(postal, "Ligne_7", path, notes),
        )
    return replace(
        piece.begun(CustomerData),
        category=CATEGORY[holder["Categorie"]],
        title=person.get("Civilite"),
        surname=words(person, "Nom", path, notes),
        first_name=words(person, "Prenom", path, notes),
        company=words(company, "Raison_Sociale", path, notes),
        company_id=company.get("Etablissement_Principal_Num_Siret"),
        activity=company.get("Activite"),
        main_residence=flag(holder, "Residence_Principale"),
        phone=contact.get("Telephone1_Num"),
        email=contact.get("Email"),
        external_reference=holder.get("Ref_Externe"),
        address=address,
    )


def _worked_on(event: Fields) -> dict[str | None, tuple[Fields, str]]:
    """Serial number -> meter and operation code, of the meters that the event's operations name; of one that is named
    twice the code that removes or fits it."""
    found: dict[str | None, tuple[Fields, str]] = {}
    for operation in nodes(event, "Operation"):
        if not operation.get("Categorie_Materiel", METER).upper().startswith(METER):
            continue
        code = operation["Code_Operation"]
        for meter in nodes(operation, "Compteur"):
            serial = meter.get("Num_Serie")
            if serial not in found or code in (REMOVAL, FITTING):
                found[serial] = (meter, code)
    return found


def _meters(piece: _Piece) -> Iterator[MeterData]:
    in_place = nodes(node(piece.fields, "Dispositif_De_Comptage"), "Compteur")
    worked_on = _worked_on(piece.event)
    if not worked_on and piece.own["market_reason"] != "PMES":
        for meter in in_place:
            yield _meter(meter, "present", None, piece)
        return
    serials = {meter.get("Num_Serie") for meter in in_place}
    qualified = {
        leaf(releve, "Code_Qualification")
        for releves in piece.event.get("Releves", ())
        for releve in nodes(releves, "Donnees_Releve")
    }
    removed = []
    for serial, (meter, code) in worked_on.items():
        if code == REMOVAL or (serial not in serials and code != FITTING):
            removed.append(serial)
            yield _meter(meter, "removed", code, piece, index_given="1" in qualified)
        elif serial not in serials:
            yield _meter(meter, "installed", code, piece, index_given="2" in qualified)
    changed = any(serial not in serials for serial in removed) or piece.own["market_reason"] == "PMES"
    for meter in in_place:
        serial = meter.get("Num_Serie")
        operation = None if serial in removed or serial not in worked_on else worked_on[serial][1]
        if operation == FITTING or (operation is not None and changed):
            yield _meter(meter, "installed", operation, piece, index_given="2" in qualified)
        else:
            yield _meter(meter, "present" if operation is None else "reconfigured", operation, piece)


def _meter(
    meter: Fields, action: MeterAction, operation: str | None, piece: _Piece, index_given: bool | None = None
) -> MeterData:
    step = meter.get("Pas_Courbe_De_Charge_Soutirage", "")
    return replace(
        piece.begun(MeterData),
        action=action,
        meter=meter.get("Num_Serie"),
        meter_type=meter.get("Type"),
        manufacturer=meter.get("Constructeur"),
        model=meter.get("Sous_Type"),
        rating=meter.get("Calibre"),
        registers=whole(meter, "Nb_Cadrans"),
        curve_step=int(step) if step.isdecimal() and len(step) <= 4 else None,
        purpose=meter.get("Finalite_Compteur"),
        operation=operation,
        index_given=index_given,
    )


def _readings(releves: list[Fields], piece: _Piece) -> list[MeterReading]:
    fields = piece.fields
    in_place = [meter.get("Num_Serie") for meter in nodes(node(fields, "Dispositif_De_Comptage"), "Compteur")]
    meter_after = in_place[0] if len(in_place) == 1 else None
    gone = [serial for serial in _worked_on(piece.event) if serial not in in_place] if in_place else []
    meter_before = gone[0] if len(gone) == 1 else None if gone else meter_after
    begun = replace(
        piece.begun(MeterReading),
        sequence=whole(piece.contract, "Num_Sequence"),
        service_level=fields.get("Niveau_Ouverture_Services"),
    )
    readings = []
    for releve in releves:
        path = f"{_EVENT}/Releves/Donnees_Releve"
        qualification = QUALIFICATION[need(releve, "Code_Qualification", path)]
        readings.append(
            replace(
                begun,
                effective=needed_instant(releve, "Date_Releve", path, piece.notes),
                qualification=qualification,
                nature=NATURE[releve.get("Nature_Index")],
                calendar=releve.get("Id_Calendrier_Distributeur"),
                supplier_calendar=releve.get("Id_Calendrier"),
                meter=meter_before if qualification == "before-event" else meter_after,
                registers=tuple([register(grid, item) for tag, grid in GRIDS for item in releve.get(tag, ())]),
            )
        )
    if len(readings) > 1:
        readings.sort(key=lambda reading: reading.effective)
    return readings


DIGESTER = digester(digest, refer, version)
