"""Grid invoices by hand, for tests that check them."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from energycomm.invoicing.checking import PointFacts, Terms
from energycomm.invoicing.pricelist import PriceList
from energycomm.kernel.messages import GridCharge, GridInvoice
from energycomm.kernel.parts import ChargeLine

PRICES = PriceList(Path(__file__).parents[2] / "rules" / "fr")
POINT = "99000000000101"
AT = datetime(2025, 9, 30, tzinfo=ZoneInfo("Europe/Paris"))
HEAD: dict[str, Any] = {
    "market": "FR", "market_type": "F15", "reason": "invoicing", "created": AT, "effective": AT,
    "sender": "17XGRIDFICTIF01X", "receiver": "17XLUMINEFICT01X", "sender_role": "grid-operator",
    "receiver_role": "supplier", "currency": "EUR", "invoice": "3100000000017", "invoice_date": date(2025, 10, 5),
}  # fmt: skip
C5 = {"tariff": "BTINFCU4", "subscribed_power": Decimal(6), "tax": "20.00", "nature": "01"}
OURS = PointFacts(terms=[Terms(date(2020, 1, 1), "BTINFCU4", Decimal(6))], supplied=[(date(2020, 1, 1), None)])


def line(
    code: str, first: str, last: str, quantity: str, unit: str, price: str, amount: str, **more: Any
) -> ChargeLine:
    values = {"quantity": Decimal(quantity), "price": Decimal(price), "amount": Decimal(amount), "unit": unit}
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    return ChargeLine(**{"code": code, "start": start, "end": end, **values, **C5, **more})


def charge(*lines: ChargeLine, number: str = "1", **more: Any) -> GridCharge:
    net = sum((one.amount for one in lines), Decimal(0))
    stated = {"access_point": POINT, "reference": number, "charge_reference": number, "total_excluding_tax": net}
    return GridCharge(**{**HEAD, **stated, "lines": lines, **more})


def general(**more: Any) -> GridInvoice:
    return GridInvoice(**{**HEAD, "reference": HEAD["invoice"], **more})


SERVICE = line("F140", "2025-09-10", "2025-09-10", "1", "UNITE", "105", "105.00")
CG = line("ASGBT-U", "2025-09-01", "2025-09-30", "30", "j", "0.046027", "1.38")
"""16.80 EUR a year, 30 of 365 days: 1.3808."""
