"""Rows of portfolios for tests: fictitious points, parties and customers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

HEAD = (
    "market",
    "access_point",
    "as_of",
    "supply.start",
    "supply.supplier",
    "supply.balance_responsible",
    "contract_reference",
    "contract.contract_status",
    "contract.tariff",
    "contract.subscribed_power",
    "contract.power_unit",
    "meter.serial",
    "reading.at",
    "reading.digits",
    "index.supplier.BASE",
    "customer.category",
    "customer.surname",
)
SUPPLIER, RESPONSIBLE = "17XFICTIFD235F9X", "17XFICTIF97FC48X"
POINT = "99000000000017"


def french(point: str = POINT, **other: str) -> dict[str, str]:
    """A row of a low-voltage point; other columns are named with ``_`` for the point: supply_start."""
    values = {
        "market": "FR",
        "access_point": point,
        "as_of": "2026-01-01",
        "supply.start": "2019-03-01",
        "supply.supplier": SUPPLIER,
        "supply.balance_responsible": RESPONSIBLE,
        "contract.contract_status": "in-service",
        "contract.tariff": "BTINFCUST",
        "contract.subscribed_power": "6",
        "contract.power_unit": "kVA",
        "meter.serial": "92518064058186",
        "reading.at": "2026-01-01",
        "reading.digits": "6",
        "index.supplier.BASE": "12000",
        "customer.category": "residential",
        "customer.surname": "VOORBEELD",
    }
    names = {name.replace(".", "_"): name for name in HEAD}
    return values | {names.get(name, name): value for name, value in other.items()}


def csv_of(head: Sequence[str], rows: Iterable[dict[str, str]], separator: str = ";") -> str:
    """The rows as CSV."""
    lines = [separator.join(head), *(separator.join(row.get(name, "") for name in head) for row in rows)]
    return "\n".join(lines) + "\n"
