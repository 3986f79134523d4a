"""Prices of the grid tariff up to 36 kVA as an invoice of the operator applies them.

Written down a second time, from the published price lists, and read by nothing but the simulator: what the rules expect
comes from the tables of ``rules/fr``, which are another text. A mistake in either shows in the tests.
"""

from __future__ import annotations

from calendar import isleap
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple


class Period(NamedTuple):
    """The prices from a day on: yearly ones of the contract and the meter in euros, by formula those of a kVA and, in
    cents per kWh, of each time class."""

    since: date
    management: str
    metering: str
    formulas: dict[str, tuple[str, dict[str, str]]]


def _four(power: str, *cents: str) -> tuple[str, dict[str, str]]:
    return power, dict(zip(("HPH", "HCH", "HPB", "HCB"), cents, strict=True))


PERIODS = (
    Period(
        date(2023, 8, 1),
        "15.48",
        "19.92",
        {
            "BTINFCU4": _four("9.00", "6.67", "4.56", "1.43", "0.88"),
            "BTINFMU4": _four("10.56", "6.12", "4.24", "1.39", "0.87"),
            "BTINFCUST": ("9.96", {"BASE": "4.37"}),
            "BTINFMUDT": ("12.24", {"HP": "4.47", "HC": "3.16"}),
        },
    ),
    Period(
        date(2024, 11, 1),
        "16.20",
        "20.88",
        {
            "BTINFCU4": _four("9.36", "6.96", "4.76", "1.48", "0.92"),
            "BTINFMU4": _four("11.04", "6.39", "4.43", "1.46", "0.91"),
            "BTINFCUST": ("10.44", {"BASE": "4.58"}),
            "BTINFMUDT": ("12.72", {"HP": "4.68", "HC": "3.31"}),
        },
    ),
    Period(
        date(2025, 2, 1),
        "16.92",
        "22.44",
        {
            "BTINFCU4": _four("10.08", "7.50", "5.13", "1.60", "1.00"),
            "BTINFMU4": _four("11.88", "6.89", "4.77", "1.57", "0.98"),
            "BTINFCUST": ("11.28", {"BASE": "4.93"}),
            "BTINFMUDT": ("13.80", {"HP": "5.04", "HC": "3.57"}),
        },
    ),
    Period(
        date(2025, 8, 1),
        "16.80",
        "22.00",
        {
            "BTINFCU4": _four("10.11", "7.49", "3.97", "1.66", "1.16"),
            "BTINFMU4": _four("12.12", "7.00", "3.73", "1.61", "1.11"),
            "BTINFCUST": ("11.07", {"BASE": "4.84"}),
            "BTINFMUDT": ("13.49", {"HP": "4.94", "HC": "3.50"}),
        },
    ),
)
"""The lists that an invoice of a simulated year may need; earlier days are charged as the first of them says."""

ONE_RATE = date(2025, 8, 1)
"""From here on the fixed part bears the normal rate of value added tax too."""


def prices_on(day: date) -> Period:
    """The list in force on a day."""
    return next((one for one in reversed(PERIODS) if one.since <= day), PERIODS[0])


def daily(yearly: str, day: date) -> Decimal:
    """The price of one day of a yearly price, six decimals as the flux allows."""
    return (Decimal(yearly) / (366 if isleap(day.year) else 365)).quantize(Decimal("0.000001"), ROUND_HALF_UP)


def spans(first: date, last: date) -> Iterator[tuple[date, date]]:
    """The days from the first to the last, cut where a price list begins and at the turn of a year."""
    start = first
    while start <= last:
        cuts = [one.since for one in PERIODS if one.since > start]
        end = min(last, date(start.year, 12, 31), *(cut - timedelta(days=1) for cut in cuts))
        yield start, end
        start = end + timedelta(days=1)


def fixed_rate(day: date) -> str:
    """Rate of value added tax of a fixed part that begins on a day, as the flux writes it."""
    return "20.00" if day >= ONE_RATE else "5.50"
