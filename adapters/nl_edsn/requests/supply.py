"""Move in, change of supplier, move out and end of supply: the requests that change who supplies a point.

EDSN's schemas of these four are not public. The structure of the move in was read in public software for this portal,
the change of supplier is written there with the same elements; the other two are told with the elements that any
mutation has.
"""

from __future__ import annotations

from adapters.nl_edsn.requests.document import Content, Document, Unbuildable, external, needed
from adapters.nl_edsn.types import nedu
from energycomm.kernel.requests import CustomerRequest, Request

LONGEST_SURNAME = 24
"""Characters of a Surname; the portal refuses more, and suppliers send the first 24."""


def move_in(message: CustomerRequest, reference: str) -> tuple[Document, str]:
    """MoveInRequest: a customer moves in and is ours from the mutation date on."""
    return _gaining("MoveInRequest", message, reference)


def change_of_supplier(message: CustomerRequest, reference: str) -> tuple[Document, str]:
    """ChangeOfSupplierRequest: the customer stays and is ours from the mutation date on."""
    return _gaining("ChangeOfSupplierRequest", message, reference)


def move_out(message: Request, reference: str) -> tuple[Document, str]:
    """MoveOutRequest: our customer moves out."""
    return _losing("MoveOutRequest", message, reference)


def end_of_supply(message: Request, reference: str) -> tuple[Document, str]:
    """EndOfSupplyRequest: our supply ends though the customer stays."""
    return _losing("EndOfSupplyRequest", message, reference)


def _gaining(name: str, message: CustomerRequest, reference: str) -> tuple[Document, str]:
    surname = message.surname if message.surname is not None else message.company
    commercial: Content = [
        ("ChamberOfCommerceID", message.company_id),
        (
            "GridContractParty",
            [
                ("BirthDayKey", message.birth_key),
                ("IBANKey", message.iban_key),
                ("Initials", message.first_name),
                ("Surname", surname[:LONGEST_SURNAME] if surname is not None else None),
            ],
        ),
        ("BalanceSupplier_Company", [("ID", needed(message.supplier or message.sender, "supplier"))]),
        ("BalanceResponsibleParty_Company", [("ID", needed(message.balance_responsible, "balance_responsible"))]),
    ]
    return _document(name, message, reference, [("MPCommercialCharacteristics", commercial)])


def _losing(name: str, message: Request, reference: str) -> tuple[Document, str]:
    supplier: Content = [("BalanceSupplier_Company", [("ID", needed(message.sender, "sender"))])]
    return _document(name, message, reference, [("MPCommercialCharacteristics", supplier)])


def _document(name: str, message: Request, reference: str, parties: Content) -> tuple[Document, str]:
    told = external(reference)
    point: Content = [
        ("EANID", needed(message.access_point, "access_point")),
        ("GridOperator_Company", [("ID", needed(message.grid_operator, "grid_operator"))]),
        *parties,
        (
            "Portaal_Mutation",
            [("ExternalReference", told), ("MutationDate", needed(message.requested_date, "requested_date"))],
        ),
    ]
    return Document(name, nedu(name), [("Portaal_Content", [("Portaal_MeteringPoint", point)])]), told


__all__ = ["Unbuildable", "change_of_supplier", "end_of_supply", "move_in", "move_out"]
