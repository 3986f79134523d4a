"""C12: the contractual and technical situation of points of C2 to C4 (Enedis, flux C12, version 1.12.1).

One ``PRM`` is one CH message; it stands inside ``Contrat``. It tells one event or several (``Type_Evenement``), each
with one contractual situation or several. Nature_Evenement decides what an event becomes, as in C15: an entry, an exit,
or a change. An event without nature is a picture of the situation (Mode_Generation COMPLET): its master data and
nothing else.

* Date_Evenement is a day; its instant is midnight in Paris at the start of it.
* The flux names no contract span (Ref_Situation_Contractuelle). An exit ends the span that runs.
* Each time class has a subscribed power of its own, all of them are kept; the highest bounds the point. The flux names
  no unit: a tariff in high voltage (HTA) is in kW, one in low voltage (BT) in kVA.
* The addressee of the header is the supplier: the contractor (Client_Contractant) is named by another EIC in the
  published example.

Assumed: of several situations of one event the one that runs holds, the latest of them; those that ended tell what was.
A change of supplier (CFN, one nature for both sides) is an exit where no situation runs on, else an entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from lxml import etree

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Notes
from adapters.common.particulars import everything, with_particulars
from adapters.common.reading import Fields, decimal, flag, leaf, need, need_node, node, nodes, number, read
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.header import Context
from adapters.fr_enedis.outcome import digester, words
from adapters.fr_enedis.registers import ENTRIES, EXITS, REASONS, time_class
from adapters.fr_enedis.times import civil_day, start_of_day
from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    CustomerData,
    EndOfSupply,
    KernelMessage,
    StartOfSupply,
)
from energycomm.kernel.parts import Address, Power, particulars_of
from energycomm.kernel.vocabulary import ContractStatus

VERSIONS = ("1.12.1",)
ENTERING = ("Responsable_Equilibre/Code_EIC",)
SEGMENTS = {"HTA": "C2", "HTB": "C1", "BTSUP": "C4"}
"""Domaine_De_Tension -> the segment it implies, where there is one: a point in HTA may also be of C3."""
_EVENT = "PRM/Type_Evenement"
_CONTRACT = f"{_EVENT}/Situation_Contractuelle"


SWITCH = "CFN"
"""Nature_Evenement of a change of supplier, on both sides of it."""
SEVERAL = "+"
"""Stands between the natures of one event."""


def refer(fields: Fields, context: Context) -> tuple[str, str | None]:
    """``PRM:date of the event:nature``; a missing part is ``-``, and the dates and natures of several events follow one
    another."""
    point = leaf(fields, "Identifiant")
    parts = [point]
    for event in nodes(fields, "Type_Evenement") or [{}]:
        cause = node(event, "Situation_Contractuelle", "Evenement")
        parts += [leaf(event, "Date_Evenement"), leaf(cause, "Nature_Evenement")]
    return ":".join(part or "-" for part in parts), point


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """Kernel messages of one ``PRM``: see the module.

    Raises:
      Unreadable: a needed element is missing, or a date does not exist.
    """
    reference, _ = refer(fields, context)
    point = need(fields, "Identifiant", "PRM")
    need_node(fields, "Type_Evenement", "PRM")
    head = {**context.head, "reference": reference, "access_point": point}
    messages: list[KernelMessage] = []
    for event in fields["Type_Evenement"]:
        told, left = with_particulars(tuple(_event(event, fields, head, context, notes)), _beside(event))
        messages += told
        notes += left
    return Digested(reference, point, messages)


def _event(
    event: Fields, fields: Fields, head: dict[str, Any], context: Context, notes: Notes
) -> Iterator[KernelMessage]:
    need_node(event, "Situation_Contractuelle", _EVENT)
    need(event, "Date_Evenement", _EVENT)
    effective = civil_day(event, "Date_Evenement", _EVENT)
    if effective is None:
        raise Unreadable(refusal("SYN_MISSING", path=f"{_EVENT}/Date_Evenement", expected="a day"))
    contract, running = _contract(event, effective)
    cause = node(contract, "Evenement")
    natures = cause.get("Nature_Evenement", "").split(SEVERAL)
    leaving = EXITS.intersection(natures) or (SWITCH in natures and not running)
    entering = not leaving and (ENTRIES.intersection(natures) or SWITCH in natures)
    nature = next((one for one in natures if one in EXITS or one in ENTRIES or one == SWITCH), natures[0]) or None
    head = {
        **head,
        "market_reason": nature,
        "reason": None if nature is None else REASONS.get(nature, "other"),
        "effective": start_of_day(effective),
        "request_reference": cause.get("Numero_Affaire"),
    }
    if leaving:
        end = civil_day(contract, "Date_Fin", _CONTRACT)
        yield EndOfSupply(**head, contract_end=None if end is None else start_of_day(end))
        return
    if entering:
        yield StartOfSupply(
            **head,
            supplier=context.receiver,
            balance_responsible=context.facts.get("Responsable_Equilibre/Code_EIC"),
            contract_start=civil_day(contract, "Date_Debut", _CONTRACT),
        )
    yield from _master_data(fields, event, contract, head, context, notes)


def _contract(event: Fields, effective: date) -> tuple[Fields, bool]:
    """The contract that an event is about, and whether it runs after it: the last to begin of those that do."""
    told = sorted(event["Situation_Contractuelle"], key=lambda one: one.get("Date_Debut", ""))
    running = [one for one in told if one.get("Date_Fin", "9999") > effective.isoformat()]
    return (running or told)[-1], bool(running)


def _beside(event: Fields) -> list[tuple[str, Any]]:
    """The end of the contract that an event is about, and what it says of others where it has several."""
    effective = civil_day(event, "Date_Evenement", _EVENT)
    contract, _ = _contract(event, effective or date.max)
    found: list[tuple[str, Any]] = []
    for rank, told in enumerate(event["Situation_Contractuelle"], 1):
        place = "Situation_Contractuelle" + (f"[{rank}]" if rank > 1 else "")
        found.append((f"{place}/Date_Fin", civil_day(told, "Date_Fin", _CONTRACT)))
        if told is not contract:
            found.append((f"{place}/Date_Debut", civil_day(told, "Date_Debut", _CONTRACT)))
            for path in _OF_ANOTHER:
                everything(node(told, *path.split("/")), f"{place}/{path}", found)
    return found


_OF_ANOTHER = (
    "Evenement",
    "Option_Tarifaire_TURPE_Souscrite",
    "Utilisateur_Reseau/Personne_Morale",
    "Utilisateur_Reseau/Personne_Physique",
)
"""What of the contract of an event becomes fields, and of another one particulars."""


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
            country=node(address, "Pays").get("@Code") or leaf(address, "Pays"),
        )
        if address
        else None,
        particulars=particulars_of({"Evenement/Nature_Evenement": _natures(contract)}),
    )
    yield _terms(contract, domain, status, head)
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


def _terms(contract: Fields, domain: str | None, status: ContractStatus, head: dict[str, Any]) -> ContractTerms:
    option = node(contract, "Option_Tarifaire_TURPE_Souscrite")
    classes = nodes(option, "Classe_Temporelle_TURPE_Souscrite")
    powers = [decimal(item["Puissance_Souscrite"]) for item in classes if "Puissance_Souscrite" in item]
    tariff = node(option, "Option_Tarifaire_TURPE").get("Libelle")
    unit = "kVA" if (tariff or domain or "").startswith("BT") else "kW"
    return ContractTerms(
        **head,
        contract_status=status,
        contract_start=civil_day(contract, "Date_Debut", _CONTRACT),
        tariff=tariff,
        subscribed_power=max(powers) if powers else None,
        power_unit=unit if powers else None,
        powers=tuple(
            Power(time_class=time_class(item["Libelle"]), value=decimal(item["Puissance_Souscrite"]), unit=unit)
            for item in classes
            if "Puissance_Souscrite" in item and item.get("Libelle")
        ),
    )


def _natures(contract: Fields) -> str | None:
    """The natures of an event where it has several: the message's own reason is one of them."""
    told = node(contract, "Evenement").get("Nature_Evenement")
    return told if told is not None and SEVERAL in told else None


_HISTORIES = ("SI_Contractuel", "SI_Comptage")
"""Elements that have an attribute and no content."""


def _read(element: etree._Element) -> Fields:
    """The content of a ``PRM``, with the attributes that say something; the natures of an event become one field."""
    for cause in element.iterfind("Type_Evenement/Situation_Contractuelle/Evenement"):
        natures = cause.findall("Nature_Evenement")
        if len(natures) > 1:
            first, *others = natures
            first.text = SEVERAL.join((one.text or "").strip() for one in (first, *others))
            for other in others:
                cause.remove(other)
    fields = read(element)
    for tag in _HISTORIES:
        _add_attributes(element.find(tag), fields, tag)
    for told, event in zip(element.iterfind("Type_Evenement"), nodes(fields, "Type_Evenement"), strict=False):
        address = event.setdefault("Adresse_Postale", [{}])[0]
        commune = told.find("Adresse_Postale/Commune")
        if commune is not None and commune.get("Code_INSEE"):
            address["@Commune"] = str(commune.get("Code_INSEE"))
        _add_attributes(told.find("Adresse_Postale/Pays"), address, "Pays")
        if not address:
            del event["Adresse_Postale"]
    return fields


def _add_attributes(element: etree._Element | None, fields: Fields, tag: str) -> None:
    """An element that has attributes alone becomes a node of them."""
    if element is not None and element.attrib and tag not in fields:
        fields[tag] = [{f"@{name!s}": str(value) for name, value in element.attrib.items()}]


DIGESTER = digester(digest, refer, VERSIONS[-1], _read)
