"""Search, master data, contract data and P4 queries: the requests that change nothing.

EDSN's schemas of all but the master data are public; what is written satisfies them.
"""

from __future__ import annotations

from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.measures import PRODUCTS
from adapters.nl_edsn.requests.document import (
    Content,
    Document,
    Unbuildable,
    external,
    message_id,
    needed,
    portaal,
    short,
)
from adapters.nl_edsn.types import cmf, nedu
from energycomm.kernel.parts import Address
from energycomm.kernel.requests import ContractDataRequest, MasterDataRequest, MeteredDataRequest, SearchRequest

QUERY_REASONS = {"day": "DAY", "interval": "INT", "month": "RCY", "DAY": "DAY", "INT": "INT", "RCY": "RCY"}
"""Resolution of a metered-data request -> QueryReason."""

NEWEST_SEARCH = "2.0"
"""`schema_version` of a search that shall be sent in the new family of messages; any other is sent in version 1.2."""


def search(message: SearchRequest, reference: str) -> Document:
    """SearchMeteringPointsRequest: by address or EAN. The portal repeats our MessageID, nothing else."""
    told = message_id(reference)
    newest = message.schema_version == NEWEST_SEARCH
    found_by = [("EANID", message.access_point), *_address(message.address, newest)]
    if all(value in (None, []) for _, value in found_by):
        raise Unbuildable(refusal("BUILD_MISSING", path="address", expected="an address or an access point"))
    product = next(code for code, energy in PRODUCTS.items() if energy == message.energy)
    if newest:
        operator: Content = [("ID", needed(message.grid_operator, "grid_operator"))]
        point: Content = [*found_by, ("ProductType", product), ("GridOperator_Company", operator)]
        content: Content = [("CAR_Content", [("CAR_MeteringPoint", point)])]
        return Document("SearchMeteringPointsRequest", cmf("searchmeteringpointsrequest"), content, told)
    return portaal("SearchMeteringPointsRequest", told, [*found_by, ("ProductType", product)])


def master_data(message: MasterDataRequest, reference: str) -> Document:
    """MasterDataRequest: what the register holds of a point, on a day."""
    told = external(reference)
    point: Content = [
        ("EANID", needed(message.access_point, "access_point")),
        ("GridOperator_Company", [("ID", message.grid_operator)]),
        ("Portaal_Mutation", [("ExternalReference", told), ("MutationDate", message.requested_date)]),
    ]
    return portaal("MasterDataRequest", told, point)


def contract_data(message: ContractDataRequest, reference: str) -> Document:
    """ContractDataRequest (CER): end and notice of a contract, by the keys that only the customer can tell."""
    told = external(reference)
    keys: Content = [("BirthDayKey", _birth_key(message.birth_key)), ("IBANKey", message.iban_key)]
    mutation: Content = [("ExternalReference", told), ("Initiator", needed(message.sender, "sender"))]
    point: Content = [
        ("EANID", needed(message.access_point, "access_point")),
        ("MPCommercialCharacteristics", [("GridContractParty", keys)]),
        ("Portaal_Mutation", mutation),
    ]
    return portaal("ContractDataRequest", told, point)


def collected_data(message: MeteredDataRequest, reference: str) -> Document:
    """P4CollectedDataBatchRequest: one query of smart-meter data.

    The portal wants a new MessageID when a query is repeated after a time-out (`requests.repeated`); the
    ExternalReference stays, so that two results of one query are known as one.
    """
    told = external(reference)
    resolution = needed(message.resolution, "resolution")
    if resolution not in QUERY_REASONS:
        expected = ", ".join(QUERY_REASONS)
        raise Unbuildable(refusal("BUILD_VALUE", path="resolution", value=resolution, expected=expected))
    needed(message.receiver, "receiver")
    query: Content = [
        ("EANID", needed(message.access_point, "access_point")),
        ("ExternalReference", told),
        ("QueryDate", needed(message.start, "start")),
        ("QueryReason", QUERY_REASONS[resolution]),
    ]
    content: Content = [("P4Content", [("P4MeteringPoint", query)])]
    return Document("P4CollectedDataBatchRequest", nedu("p4collecteddatabatchrequest", 2), content, told)


def _address(address: Address | None, newest: bool) -> Content:
    if address is None:
        return []
    number = address.number
    if number is not None and not (number.isascii() and number.isdigit() and 1 <= int(number) <= 99_999):
        expected = "a whole number of 1 to 99999; letters belong to the addition"
        raise Unbuildable(refusal("BUILD_VALUE", path="address.number", value=number, expected=expected))
    zip_code = address.postal_code.replace(" ", "") if address.postal_code is not None else None
    held: Content = [
        ("StreetName", short(address.street, "address.street", 24)),
        ("BuildingNr", number),
        ("ExBuildingNr", short(address.addition, "address.addition", 6)),
        ("ZIPCode", short(zip_code, "address.postal_code", 6)),
        ("CityName", short(address.city, "address.city", 24)),
        ("Country", address.country),
    ]
    given = [pair for pair in held if pair[1] is not None]
    return [("EDSN_AddressExtended" if newest else "EDSN_AddressSearch", given)]


def _birth_key(key: str | None) -> str | None:
    """Month and day as xs:gMonthDay: 06-10 and --06-10 are both taken."""
    return None if key is None else key if key.startswith("--") else f"--{key}"
