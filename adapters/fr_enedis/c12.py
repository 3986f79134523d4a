"""C12: the contractual and technical situation of points of C2 to C4 (Enedis, flux C12, version 1.12.1).

One ``PRM`` is one CH message; it stands inside ``Contrat``. Nature_Evenement decides what it becomes, as in C15: an
entry, an exit, or a change. A ``PRM`` without event is a picture of the situation (Mode_Generation COMPLET): its master
data and nothing else.

* Date_Evenement is a day; its instant is midnight in Paris at the start of it.
* The flux names no contract span (Ref_Situation_Contractuelle). An exit ends the span that runs.
* Each time class has a subscribed power of its own. The Kernel keeps the highest, in kW, which is what bounds the
  point; the others stay in the archived message.
* The addressee of the header is the supplier: the contractor (Client_Contractant) is named by another EIC in the
  published example.

No schema of the flux is public: the structure is that of one published instance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lxml import etree

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Notes
from adapters.common.reading import Fields, decimal, flag, leaf, need, need_node, node, nodes, number, read
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.header import Context
from adapters.fr_enedis.outcome import digester, words
from adapters.fr_enedis.registers import ENTRIES, EXITS, REASONS
from adapters.fr_enedis.times import civil_day, start_of_day
from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    CustomerData,
    EndOfSupply,
    KernelMessage,
    StartOfSupply,
)
from energycomm.kernel.parts import Address, Power
from energycomm.kernel.vocabulary import ContractStatus

VERSIONS = ("1.12.1",)
ENTERING = ("Responsable_Equilibre/Code_EIC",)
SEGMENTS = {"HTA": "C2", "HTB": "C1", "BTSUP": "C4"}
"""Domaine_De_Tension -> the segment it implies, where there is one: a point in HTA may also be of C3."""
_EVENT = "PRM/Type_Evenement"
_CONTRACT = f"{_EVENT}/Situation_Contractuelle"


def refer(fields: Fields, context: Context) -> tuple[str, str | None]:
    """``PRM:date of the event:nature``; a missing part is ``-``."""
    event = node(fields, "Type_Evenement")
    cause = node(node(event, "Situation_Contractuelle"), "Evenement")
    point = leaf(fields, "Identifiant")
    parts = (point, leaf(event, "Date_Evenement"), leaf(cause, "Nature_Evenement"))
    return ":".join(part or "-" for part in parts), point


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """Kernel messages of one ``PRM``: see the module.

    Raises:
      Unreadable: a needed element is missing, or a date does not exist.
    """
    reference, _ = refer(fields, context)
    point = need(fields, "Identifiant", "PRM")
    event = need_node(fields, "Type_Evenement", "PRM")
    contract = need_node(event, "Situation_Contractuelle", _EVENT)
    need(event, "Date_Evenement", _EVENT)
    effective = civil_day(event, "Date_Evenement", _EVENT)
    if effective is None:
        raise Unreadable(refusal("SYN_MISSING", path=f"{_EVENT}/Date_Evenement", expected="a day"))
    cause = node(contract, "Evenement")
    nature = cause.get("Nature_Evenement")
    head: dict[str, Any] = {
        **context.head,
        "market_reason": nature,
        "reason": None if nature is None else REASONS.get(nature, "other"),
        "reference": reference,
        "effective": start_of_day(effective),
        "access_point": point,
        "request_reference": cause.get("Numero_Affaire"),
    }
    if nature in EXITS:
        end = civil_day(contract, "Date_Fin", _CONTRACT)
        ended = EndOfSupply(**head, contract_end=None if end is None else start_of_day(end))
        return Digested(reference, point, (ended,))
    messages: list[KernelMessage] = []
    if nature in ENTRIES:
        messages.append(
            StartOfSupply(
                **head,
                supplier=context.receiver,
                balance_responsible=context.facts.get("Responsable_Equilibre/Code_EIC"),
                contract_start=civil_day(contract, "Date_Debut", _CONTRACT),
            )
        )
    messages += _master_data(fields, event, contract, head, context, notes)
    return Digested(reference, point, tuple(messages))


def _master_data(
    fields: Fields, event: Fields, contract: Fields, head: dict[str, Any], context: Context, notes: Notes
) -> Iterator[KernelMessage]:
    supply = node(node(event, "Alimentation"), "Alimentation_Principale")
    address = node(event, "Adresse_Postale")
    status: ContractStatus = "in-service"
    domain = supply.get("Domaine_De_Tension")
    place = f"{_EVENT}/Adresse_Postale"
    yield AccessPointData(
        **head,
        segment=SEGMENTS.get(domain or ""),
        contract_status=status,
        voltage=supply.get("Tension_De_Livraison") or domain,
        connection_power=number(supply, "P_Raccordement_Soutirage"),
        self_producer=flag(fields, "Autoproducteur"),
        profile=contract.get("Profil"),
        supplier=context.receiver,
        balance_responsible=context.facts.get("Responsable_Equilibre/Code_EIC"),
        address=Address(
            street=words(address, "Nom_Voie", place, notes),
            number=address.get("Numero_Voie"),
            addition=words(address, "Complement", place, notes),
            postal_code=address.get("Code_Postal"),
            municipality_code=address.get("@Commune"),
            city=words(address, "Commune", place, notes) or words(address, "Libelle_Du_Bureau_CEDEX", place, notes),
        )
        if address
        else None,
    )
    option = node(contract, "Option_Tarifaire_TURPE_Souscrite")
    classes = nodes(option, "Classe_Temporelle_TURPE_Souscrite")
    powers = [decimal(item["Puissance_Souscrite"]) for item in classes if "Puissance_Souscrite" in item]
    yield ContractTerms(
        **head,
        contract_status=status,
        contract_start=civil_day(contract, "Date_Debut", _CONTRACT),
        tariff=node(option, "Option_Tarifaire_TURPE").get("Libelle"),
        subscribed_power=max(powers) if powers else None,
        power_unit="kW" if powers else None,
        powers=tuple(
            Power(time_class=item["Libelle"], value=decimal(item["Puissance_Souscrite"]), unit="kW")
            for item in classes
            if "Puissance_Souscrite" in item and item.get("Libelle")
        ),
    )
    user = node(contract, "Utilisateur_Reseau")
    company, person = node(user, "Personne_Morale"), node(user, "Personne_Physique")
    if company or person:
        path = f"{_CONTRACT}/Utilisateur_Reseau"
        yield CustomerData(
            **head,
            category="professional" if company else "residential",
            title=person.get("Civilite"),
            surname=words(person, "Nom", path, notes),
            first_name=words(person, "Prenom", path, notes),
            company=words(company, "Raison_Sociale", path, notes),
            company_id=company.get("Num_Siret"),
            activity=company.get("Code_APE"),
        )


def _read(element: etree._Element) -> Fields:
    """The content of a ``PRM``; the municipality's code stands in an attribute and becomes a field."""
    fields = read(element)
    commune = element.find("Type_Evenement/Adresse_Postale/Commune")
    if commune is not None and commune.get("Code_INSEE"):
        event = fields["Type_Evenement"][0]
        event.setdefault("Adresse_Postale", [{}])[0]["@Commune"] = str(commune.get("Code_INSEE"))
    return fields


DIGESTER = digester(digest, refer, VERSIONS[-1], _read)
