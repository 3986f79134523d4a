"""Writes the market's side of EDSN's documents: the header as EDSN writes it, and the elements inside."""

from __future__ import annotations

from html import escape
from uuid import UUID, uuid5

from energycomm.simulation.people import with_check_digit

EDSN = "8712423010208"
_SECOND = ("P4CollectedDataBatchResponse", "P4CollectedDataBatchResultResponse")
"""Messages in the second version of their namespace."""
SUPPLIER, OTHER, BALANCE, GRID = "8719999100104", "8719999100203", "8719999100302", "8719999100401"
METERING = "8719999100500"
_MESSAGES = UUID("b6d7f0a2-4a25-5c36-9c0e-0d9f2a6f4d11")
"""Name space of the identifiers of simulated messages."""
REGISTERS = (("1.8.1", "L"), ("1.8.2", "N"))
"""Registers of a meter with their tariff: low, normal."""


AREA = with_check_digit("87199999000000001")


def access_point(number: int) -> str:
    """EAN of the simulation's n-th access point."""
    return with_check_digit(f"87199998{number:09d}")


def element(tag: str, *inner: str) -> str:
    """An element of written elements."""
    return f"<{tag}>{''.join(inner)}</{tag}>" if inner else f"<{tag}/>"


def leaves(**texts: object) -> str:
    """Elements of texts in their order; None leaves an element out."""
    return "".join(
        f"<{tag}>{escape(str(text), quote=False)}</{tag}>" for tag, text in texts.items() if text is not None
    )


def party(role: str, code: str | None) -> str:
    """A party of a point, nothing where there is none."""
    return "" if code is None else element(f"{role}_Company", leaves(ID=code))


def document(
    label: str, content: str, *, created: str, name: str, receiver: str = SUPPLIER, sender: str = EDSN
) -> bytes:
    """A document of the market.

    Args:
      label: the market's message type.
      content: what stands beside the header, written.
      created: instant with offset.
      name: what its MessageID is made of.
      receiver, sender: parties.
    """
    to = leaves(Authority="EAN.UCC", ContactTypeIdentifier="DDQ_O", ReceiverID=receiver)
    by = leaves(Authority="EAN.UCC", ContactTypeIdentifier="EDSN" if sender == EDSN else "DDM", SenderID=sender)
    head = leaves(CreationTimestamp=created, MessageID=uuid5(_MESSAGES, f"{label} {name}"))
    head += element("Destination", element("Receiver", to)) + element("Source", by)
    namespace = f"urn:nedu:edsn:data:{label.lower()}:{2 if label in _SECOND else 1}:standard"
    whole = f'<{label}Envelope xmlns="{namespace}">{element("EDSNBusinessDocumentHeader", head)}{content}'
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{whole}</{label}Envelope>".encode()


def pointed(content: str) -> str:
    """What the register tells of one point."""
    return element("Portaal_Content", element("Portaal_MeteringPoint", content))


def parties(supplier: str, old: str | None = None, balance: str = BALANCE) -> str:
    """Supplier, balance responsible party and the supplier before."""
    told = party("BalanceSupplier", supplier) + party("BalanceResponsibleParty", balance)
    return told + party("OldBalanceSupplier", old)


def mutation(day: str, reason: str, dossier: str, external: str | None = None) -> str:
    """A mutation of a point."""
    told = leaves(ExternalReference=external, MutationDate=day, MutationReason=reason)
    return element("Portaal_Mutation", told, element("Dossier", leaves(ID=dossier)))


def master_data(
    point: str,
    meter: str,
    told: str,
    customer: tuple[str, str],
    *,
    home: str = "",
    residential: bool | None = None,
    yearly: tuple[str, str] | None = None,
) -> str:
    """Point, contract, customer and meter.

    Args:
      point, meter: EAN and number.
      told: the mutation, written.
      customer: initials and surname.
      home: the address, written.
      residential: of the customer; with it what else a list tells.
      yearly: expected energy, low and normal.
    """
    listed = residential is not None
    held = leaves(DeterminationComplex="N", Residential="J" if residential else "N") if listed else ""
    held += element("GridContractParty", leaves(Initials=customer[0], Surname=customer[1])) + parties(SUPPLIER)
    low, normal = yearly or (None, None)
    built = leaves(
        AllocationMethod="PRF", CapTarCode="8719999910000", ContractedCapacity="17", EACOffPeak=low, EACPeak=normal,
        EnergyDeliveryStatus="ACT", EnergyFlowDirection="LVR", InvoiceMonth="04", MeteringMethod="MND",
        PhysicalCapacity="3x25", PhysicalStatus="IBD", ProfileCategory="E1B", Switchability="J" if listed else None,
    )  # fmt: skip
    registers = (
        leaves(ID=code, MeasureUnit="KWH", MeteringDirection="LVR", NrOfDigits=6, TariffType=tariff)
        for code, tariff in REGISTERS
    )
    return "".join(
        (
            leaves(EANID=point, GridArea=AREA, MarketSegment="KVB", ProductType="ELK"),
            party("GridOperator", GRID),
            home,
            element("MPCommercialCharacteristics", held, party("MeteringResponsibleParty", METERING)),
            element("MPPhysicalCharacteristics", built),
            element(
                "Portaal_EnergyMeter",
                leaves(ID=meter, NrOfRegisters=2, Type="SLM"),
                *(element("Register", register) for register in registers),
            ),
            told,
        )
    )


def collected(point: str, reference: str, day: str, reason: str, meter: str, *registers: str) -> str:
    """A P4 result of a day and its registers, written."""
    asked = leaves(EANID=point, ExternalReference=reference, QueryDate=day, QueryReason=reason)
    return asked + element("P4EnergyMeter", leaves(ID=meter), *registers)


def register(code: str, unit: str, readings: list[tuple[object, str]]) -> str:
    """A register of a P4 result: each index with its instant."""
    read = (element("P4Reading", leaves(Reading=index, ReadingDateTime=at)) for index, at in readings)
    return element("P4Register", leaves(ID=code, MeasureUnit=unit), *read)
