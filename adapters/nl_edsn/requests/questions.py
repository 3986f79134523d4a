"""Search, master data, contract data and P4 queries: the requests that change nothing, by EDSN's schemas."""

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
from adapters.nl_edsn.requests.supply import house_number, postal_code
from adapters.nl_edsn.settings import Settings
from adapters.nl_edsn.types import namespace
from energycomm.kernel.parts import Address
from energycomm.kernel.requests import ContractDataRequest, MasterDataRequest, MeteredDataRequest, SearchRequest

QUERY_REASONS = {"day": "DAY", "interval": "INT", "month": "RCY", "DAY": "DAY", "INT": "INT", "RCY": "RCY"}
"""Resolution of a metered-data request -> QueryReason."""

SCMP, METERING_POINT = "GetSCMPInformationRequest", "GetMeteringPointRequest"
"""Market types that a master data request may name in place of MasterDataRequest."""


def search(message: SearchRequest, reference: str, settings: Settings) -> Document:
    """SearchMeteringPointsRequest: by address or EAN. The portal repeats our MessageID, nothing else.

    The `schema_version` of the message counts before the setting.
    """
    told, name = message_id(reference), "SearchMeteringPointsRequest"
    version = message.schema_version if message.schema_version in KNOWN_SEARCHES else settings.sent[name]
    space, newest = namespace(name, version), int(version.partition(".")[0]) > 1
    found_by = [("EANID", message.access_point), *_address(message.address, newest)]
    if all(value in (None, []) for _, value in found_by):
        raise Unbuildable(refusal("BUILD_MISSING", path="address", expected="an address or an access point"))
    product = next(code for code, energy in PRODUCTS.items() if energy == message.energy)
    if newest:
        operator: Content = [("ID", needed(message.grid_operator, "grid_operator"))]
        point: Content = [*found_by, ("ProductType", product), ("GridOperator_Company", operator)]
        return Document(name, space, [("CAR_Content", [("CAR_MeteringPoint", point)])], told)
    content: Content = [("Portaal_Content", [("Portaal_MeteringPoint", [*found_by, ("ProductType", product)])])]
    return Document(name, space, content, told)


KNOWN_SEARCHES = ("1.2", "2.0", "3.0")
"""Versions of a search that a message can ask for."""


def master_data(message: MasterDataRequest, reference: str, settings: Settings) -> Document:
    """MasterDataRequest: what the register holds of a point that we supply; with `market_type`
    GetSCMPInformationRequest of one that we do not, with GetMeteringPointRequest all of it.

    The register tells what holds when it answers; the newer GetMeteringPointRequest takes a day.
    """
    told = external(reference)
    ean: Content = [("EANID", needed(message.access_point, "access_point"))]
    if message.market_type == METERING_POINT:
        space, told = settings.namespace(METERING_POINT), message_id(reference)
        if settings.number(METERING_POINT) == 1:
            content: Content = [("Portaal_Content", [("Portaal_MeteringPoint", ean)])]
            return Document(METERING_POINT, space, content, told)
        asked: Content = [*ean, _operator(message), ("Query", [("SetDate", message.requested_date)])]
        return Document(METERING_POINT, space, [("CAR_Content", [("CAR_MeteringPoint", asked)])], told)
    us: Content = [("Organisation", needed(message.sender, "sender"))]
    mutation: Content = [("ExternalReference", told), ("Portaal_UserInformation", us)]
    if message.market_type == SCMP:
        return portaal(SCMP, told, [*ean, ("Portaal_Mutation", mutation)], settings)
    point: Content = [*ean, _operator(message), ("Portaal_Mutation", mutation)]
    return portaal("MasterDataRequest", told, point, settings, message.market_type)


def _operator(message: MasterDataRequest) -> tuple[str, Content]:
    return ("GridOperator_Company", [("ID", needed(message.grid_operator, "grid_operator"))])


def contract_data(message: ContractDataRequest, reference: str, settings: Settings) -> Document:
    """ContractDataRequest (CER): end and notice of a contract, by the keys that only the customer can tell."""
    told = external(reference)
    keys: Content = [("BirthDayKey", _birth_key(message.birth_key)), ("IBANKey", message.iban_key)]
    mutation: Content = [("ExternalReference", told), ("Initiator", needed(message.sender, "sender"))]
    point: Content = [
        ("EANID", needed(message.access_point, "access_point")),
        ("MPCommercialCharacteristics", [("GridContractParty", keys)]),
        ("Portaal_Mutation", mutation),
    ]
    return portaal("ContractDataRequest", told, point, settings)


def collected_data(message: MeteredDataRequest, reference: str, settings: Settings) -> Document:
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
    name = "P4CollectedDataBatchRequest"
    return Document(name, settings.namespace(name), content, told)


def _address(address: Address | None, newest: bool) -> Content:
    if address is None:
        return []
    held: Content = [
        ("StreetName", short(address.street, "address.street", 24)),
        ("BuildingNr", house_number(address.number)),
        ("ExBuildingNr", short(address.addition, "address.addition", 6)),
        ("ZIPCode", postal_code(address.postal_code)),
        ("CityName", short(address.city, "address.city", 24)),
        ("Country", address.country),
    ]
    given = [pair for pair in held if pair[1] is not None]
    return [("EDSN_AddressExtended" if newest else "EDSN_AddressSearch", given)]


def _birth_key(key: str | None) -> str | None:
    """Month and day as xs:gMonthDay: 06-10 and --06-10 are both taken."""
    return None if key is None else key if key.startswith("--") else f"--{key}"
