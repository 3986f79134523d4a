"""Move in, change of supplier, move out and end of supply: the requests that change who supplies a point.

EDSN's schemas of these four are not public. The structure of the move in was read in public software for this portal,
the change of supplier is written there with the same elements; the other two are told with the elements that any
mutation has.
"""

from __future__ import annotations

from adapters.nl_edsn.requests.document import Content, Document, external, needed, portaal
from energycomm.kernel.requests import CustomerRequest, Request

LONGEST_SURNAME = 24
"""Characters of a Surname; the portal refuses more, and suppliers send the first 24."""


def gaining(name: str, message: CustomerRequest, reference: str) -> Document:
    """MoveInRequest, ChangeOfSupplierRequest: a customer moves in, or stays, and is ours from the mutation date on."""
    surname = message.surname if message.surname is not None else message.company
    customer: Content = [
        ("BirthDayKey", message.birth_key),
        ("IBANKey", message.iban_key),
        ("Initials", message.first_name),
        ("Surname", surname[:LONGEST_SURNAME] if surname is not None else None),
    ]
    commercial: Content = [
        ("ChamberOfCommerceID", message.company_id),
        ("GridContractParty", customer),
        ("BalanceSupplier_Company", [("ID", needed(message.supplier or message.sender, "supplier"))]),
        ("BalanceResponsibleParty_Company", [("ID", needed(message.balance_responsible, "balance_responsible"))]),
    ]
    return _document(name, message, reference, commercial)


def losing(name: str, message: Request, reference: str) -> Document:
    """MoveOutRequest or EndOfSupplyRequest: our customer moves out, or our supply ends though the customer stays."""
    return _document(
        name, message, reference, [("BalanceSupplier_Company", [("ID", needed(message.sender, "sender"))])]
    )


def _document(name: str, message: Request, reference: str, commercial: Content) -> Document:
    told = external(reference)
    mutation: Content = [
        ("ExternalReference", told),
        ("MutationDate", needed(message.requested_date, "requested_date")),
    ]
    point: Content = [
        ("EANID", needed(message.access_point, "access_point")),
        ("GridOperator_Company", [("ID", needed(message.grid_operator, "grid_operator"))]),
        ("MPCommercialCharacteristics", commercial),
        ("Portaal_Mutation", mutation),
    ]
    return portaal(name, told, point)
