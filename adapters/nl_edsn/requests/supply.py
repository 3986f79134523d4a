"""Move in, change of supplier, move out, end of supply, change of balance responsible party, change of name and the
notice that a supply will end: the requests that change who supplies a point, for whom and how, by EDSN's schemas.
"""

from __future__ import annotations

import re

from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.requests.document import Content, Document, Unbuildable, external, needed, portaal, short
from adapters.nl_edsn.settings import Settings
from energycomm.kernel.parts import Address
from energycomm.kernel.requests import CustomerRequest, EndOfSupplyNotice, MasterDataUpdate, Request

LONGEST_NAME = 24
"""Characters of a surname, a street, a city: the portal has no longer field, and the sender shortens what is longer."""
LONGEST_INITIALS, LONGEST_PREFIX = 5, 4


def gaining(name: str, message: CustomerRequest, reference: str, settings: Settings) -> Document:
    """MoveInRequest, ChangeOfSupplierRequest: a customer moves in, or stays, and is ours from the mutation date on."""
    party = [("Contact", contact(message.address)), *names(message), ("BirthDate", message.birth_date)]
    if name == "MoveInRequest":
        needed(message.surname or message.company, "surname")
    commercial: Content = [
        ("ChamberOfCommerceID", message.company_id),
        ("GridContractParty", party),
        ("BalanceSupplier_Company", [("ID", needed(message.supplier or message.sender, "supplier"))]),
        ("BalanceResponsibleParty_Company", [("ID", needed(message.balance_responsible, "balance_responsible"))]),
    ]
    return _document(name, message, reference, commercial, settings)


def losing(name: str, message: Request, reference: str, settings: Settings) -> Document:
    """MoveOutRequest or EndOfSupplyRequest: our customer moves out, or our supply ends though the customer stays."""
    return _document(name, message, reference, [_supplier(message)], settings)


def changed(message: MasterDataUpdate, reference: str, settings: Settings) -> Document:
    """NameChangeRequest where the customer's name is told, ChangeOfPVRequest where another balance responsible party
    is; `market_type` decides where both are.

    Raises:
      Unbuildable: both are told, or none: each is a message of its own (BUILD_VALUE, BUILD_MISSING).
    """
    named = message.surname is not None or message.company is not None
    asked = message.market_type
    if asked.startswith("ChangeOfPV") or (not asked.startswith("NameChange") and message.balance_responsible):
        if named and not asked.startswith("ChangeOfPV"):
            expected = "a name or a balance responsible party: each is a request of its own"
            found = message.balance_responsible
            raise Unbuildable(refusal("BUILD_VALUE", path="balance_responsible", value=found, expected=expected))
        responsible: Content = [("ID", needed(message.balance_responsible, "balance_responsible"))]
        commercial: Content = [_supplier(message), ("BalanceResponsibleParty_Company", responsible)]
        return _document("ChangeOfPVRequest", message, reference, commercial, settings)
    if not named:
        expected = "the customer's name, or the balance responsible party"
        raise Unbuildable(refusal("BUILD_MISSING", path="surname", expected=expected))
    commercial = [("GridContractParty", names(message)), _supplier(message)]
    return _document("NameChangeRequest", message, reference, commercial, settings, dated=False)


def notice(message: EndOfSupplyNotice, reference: str, settings: Settings) -> Document:
    """NoticeEOSNotification: our supply will end on a day; whom the grid operator can tell."""
    party: Content = [
        ("Contact", contact(message.address)),
        *names(message),
        ("Phone", short(message.phone, "phone", 20)),
        ("Email", short(message.email, "email", 100)),
    ]
    commercial: Content = [("GridContractParty", party), _supplier(message)]
    return _document("NoticeEOSNotification", message, reference, commercial, settings)


def names(message: CustomerRequest) -> Content:
    """The name of the customer as the portal has room for it.

    First names that are longer than its initials become initials; words before the name that are longer than its
    prefix stand in front of the name; a name that is longer is cut.
    """
    surname = message.surname if message.surname is not None else message.company
    prefix = message.name_prefix
    if prefix is not None and len(prefix) > LONGEST_PREFIX:
        surname, prefix = f"{prefix} {surname or ''}".strip(), None
    return [
        ("Initials", initials(message.first_name)),
        ("Surname", surname[:LONGEST_NAME].rstrip() if surname is not None else None),
        ("SurnamePrefix", prefix),
    ]


def initials(first_name: str | None) -> str | None:
    """First names as the portal has room for them: as they are, else the first letter of each."""
    if first_name is None or len(first_name) <= LONGEST_INITIALS:
        return first_name
    return "".join(word[0] for word in re.split(r"[\s.\-]+", first_name) if word)[:LONGEST_INITIALS] or None


def contact(address: Address | None) -> Content:
    """Where the customer gets mail, streets and cities cut to what the portal has room for.

    Raises:
      Unbuildable: the house number is none, or a part is too long (BUILD_VALUE).
    """
    if address is None:
        return []
    return [
        ("StreetName", address.street and address.street[:LONGEST_NAME].rstrip()),
        ("BuildingNr", house_number(address.number)),
        ("ExBuildingNr", short(address.addition, "address.addition", 6)),
        ("ZIPCode", postal_code(address.postal_code)),
        ("CityName", address.city and address.city[:LONGEST_NAME].rstrip()),
        ("Country", address.country),
    ]


def house_number(number: str | None) -> str | None:
    """A house number as the portal takes it.

    Raises:
      Unbuildable: it is none (BUILD_VALUE).
    """
    if number is not None and not (number.isascii() and number.isdigit() and 1 <= int(number) <= 99_999):
        expected = "a whole number of 1 to 99999; letters belong to the addition"
        raise Unbuildable(refusal("BUILD_VALUE", path="address.number", value=number, expected=expected))
    return number


def postal_code(code: str | None) -> str | None:
    """A postal code without its blank.

    Raises:
      Unbuildable: it is too long (BUILD_VALUE).
    """
    return short(code.replace(" ", ""), "address.postal_code", 6) if code is not None else None


def _supplier(message: Request) -> tuple[str, Content]:
    return ("BalanceSupplier_Company", [("ID", needed(message.sender, "sender"))])


def _document(
    name: str, message: Request, reference: str, commercial: Content, settings: Settings, *, dated: bool = True
) -> Document:
    told = external(reference)
    mutation: Content = [("ExternalReference", told)]
    if dated:
        mutation.append(("MutationDate", needed(message.requested_date, "requested_date")))
    point: Content = [
        ("EANID", needed(message.access_point, "access_point")),
        ("GridOperator_Company", [("ID", needed(message.grid_operator, "grid_operator"))]),
        ("MPCommercialCharacteristics", commercial),
        ("Portaal_Mutation", mutation),
    ]
    return portaal(name, told, point, settings, message.market_type)
