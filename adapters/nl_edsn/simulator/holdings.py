"""What the register and the P4 portal of a simulation tell of a point when they are asked: the same of every point."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from adapters.nl_edsn.simulator import documents
from adapters.nl_edsn.simulator.documents import (
    GRID,
    REGISTERS,
    SUPPLIER,
    element,
    leaves,
    party,
    pointed,
    register,
)
from adapters.nl_edsn.times import minutes_of_day, start_of_day

METER = "E0041000000000001"
_HOME = element(
    "EDSN_AddressSearch", leaves(StreetName="Voorbeeldkade", BuildingNr="12", ZIPCode="9999AB", CityName="Testdorp")
)
_SHOWN = (Decimal("4210.118"), Decimal("3877.402"))
_QUARTER = timedelta(minutes=15)


def found(point: str) -> str:
    """The result of a search: one point and its address."""
    return element("Portaal_Content", element("Result", element("Portaal_MeteringPoint", leaves(EANID=point), _HOME)))


def contract(point: str, reference: str, dossier: str) -> str:
    """The end of a contract and its notice."""
    told = element("MPCommercialCharacteristics", leaves(EndDateContract="2027-12-31", NoticePeriod="30"))
    mutation = leaves(ExternalReference=reference) + element("Dossier", leaves(ID=dossier))
    return pointed(leaves(EANID=point) + told + element("Portaal_Mutation", mutation))


def notice(point: str, reference: str, day: str) -> str:
    """A notice of ours that a supply will end."""
    told = party("BalanceSupplier", SUPPLIER)
    ended = documents.mutation(day, "EOSUPPLY", f"4{reference[-10:].replace('-', '')}", reference)
    return pointed(
        leaves(EANID=point) + party("GridOperator", GRID) + element("MPCommercialCharacteristics", told) + ended
    )


def rejection(point: str, reference: str, day: str) -> str:
    """One request of a batch that was rejected."""
    told = leaves(EANID=point) + party("GridOperator", GRID)
    told += element("Portaal_Mutation", leaves(ExternalReference=reference, MutationDate=day))
    reason = element("Rejection", leaves(RejectionCode="210", RejectionText="Indientermijn onjuist."))
    return element("Portaal_Content", element("Portaal_Rejection", reason, element("Portaal_MeteringPoint", told)))


def master_data(point: str, reference: str) -> str:
    """Point, contract, customer and meter."""
    told = element("Portaal_Mutation", leaves(ExternalReference=reference))
    return pointed(documents.master_data(point, METER, told, ("T.", "Voorbeeld"), home=_HOME))


def collected(point: str, reference: str, day: str, reason: str) -> str:
    """A P4 result: the registers at the first instant of the day, or at every quarter of it (INT)."""
    begin = start_of_day(date.fromisoformat(day))
    quarters = minutes_of_day(date.fromisoformat(day)) // 15 if reason == "INT" else 0
    registers = []
    for (code, _), index in zip(REGISTERS, _SHOWN, strict=True):
        read: list[tuple[object, str]] = [
            (f"{index * 1000 + number * 40:.0f}" if quarters else index, (begin + number * _QUARTER).isoformat())
            for number in range(quarters + 1)
        ]
        registers.append(register(code, "WH" if quarters else "KWH", read))
    told = documents.collected(point, reference, day, reason, METER, *registers)
    return element("P4Content", element("P4MeteringPoint", told))
