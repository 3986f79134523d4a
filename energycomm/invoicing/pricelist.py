"""The dated tables of a market's folder of rules: prices of the grid, tax rates, and what the lines of an invoice are.

``charge_lines.csv`` says of which component a line is, by its code, its nature or its label; ``grid_prices.csv`` what a
component costs, by tariff, time class and day; ``charge_units.csv`` which units count days; ``tax_rates.csv`` the rates
of value added tax that a line may bear. A market without these files has none of these checks, and a day without a
price gives no verdict.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NamedTuple

from energycomm.errors import UserError
from energycomm.kernel.parts import ChargeLine
from energycomm.texts import wording

PRICES, RATES, LINES = "grid_prices.csv", "tax_rates.csv", "charge_lines.csv"
UNITS = "charge_units.csv"
TABLES = (PRICES, RATES, LINES, UNITS)
CENTS = "cEUR/"
"""What the unit of a price in cents begins with."""


class Component(NamedTuple):
    """What a line charges: management, metering, fixed, energy, credit; of energy the time class."""

    name: str
    time_class: str = ""


class Dated(NamedTuple):
    """A value, the days it holds, `until` is the last of them, and who says so."""

    value: Decimal
    since: date
    until: date
    source: str = ""


class PriceList:
    """The tables of one market.

    Args:
      folder: the market's folder of rules.

    Raises:
      UserError: a table has a line that cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._prices: dict[tuple[str, str, str], list[Dated]] = {}
        for row, place in _rows(folder / PRICES):
            value = _number(row["price"], place) / (100 if row["unit"].startswith(CENTS) else 1)
            key = row["component"], row["tariff"], row["time_class"]
            self._prices.setdefault(key, []).append(_dated(value, row, place))
        self._rates: list[tuple[str, Decimal | None, Dated]] = []
        for row, place in _rows(folder / RATES):
            most = _number(row["power_up_to"], place) if row["power_up_to"] else None
            self._rates.append((row["component"], most, _dated(_number(row["rate"], place), row, place)))
        self._units = {row["unit"]: row["counts"] for row, _ in _rows(folder / UNITS)}
        self._lines = [
            (
                row["market_type"],
                row["field"],
                _pattern(row["pattern"], place),
                Component(row["component"], row["time_class"]),
            )
            for row, place in _rows(folder / LINES)
        ]

    def counts(self, unit: str | None) -> str | None:
        """What a unit counts: day, power-day (days of each unit of power); None for others."""
        return self._units.get(unit or "")

    def component(self, market_type: str, line: ChargeLine) -> Component | None:
        """What a line charges; None where no table tells."""
        told = {"code": line.code, "nature": line.nature, f"{line.nature} label": line.label}
        for flux, name, pattern, component in self._lines:
            text = told.get(name)
            if flux == market_type and text is not None and pattern.fullmatch(text):
                return component
        return None

    def price(self, component: Component, tariff: str | None, day: date) -> Decimal | None:
        """The price of a component on a day in euros, a year's or a unit's; None where none is known."""
        for one in self._prices.get((component.name, tariff or "", component.time_class), ()):
            if one.since <= day <= one.until:
                return one.value
        return None

    def source(self, component: Component, tariff: str | None, first: date, last: date) -> str:
        """Who says what a component costs on some days, with the days that each price holds."""
        several = self._prices.get((component.name, tariff or "", component.time_class), ())
        return "; ".join(_told(one) for one in several if one.since <= last and first <= one.until)

    def rate_source(self, component: Component | None, rate: Decimal, first: date, last: date) -> str:
        """Who says that a rate of tax holds on some days."""
        name = "" if component is None else component.name
        several = [one for concerned, _, one in self._rates if concerned in ("", name) and one.value == rate]
        return "; ".join(_told(one) for one in several if one.since <= last and first <= one.until)

    def rates(self, component: Component | None, power: Decimal | None, first: date, last: date) -> list[Decimal]:
        """The rates that a line may bear for the days from the first to the last, the normal one first; none where no
        table tells. A period that straddles a change may bear either."""
        name = "" if component is None else component.name
        return [
            one.value
            for concerned, most, one in self._rates
            if concerned in ("", name)
            and one.since <= last
            and first <= one.until
            and (most is None or power is None or power <= most)
        ]


def _rows(path: Path) -> Iterator[tuple[dict[str, str], str]]:
    if path.is_file():
        with path.open(newline="", encoding="utf-8") as lines:
            for number, row in enumerate(csv.DictReader(lines), 2):
                yield row, f"{path}, line {number}"


def _dated(value: Decimal, row: dict[str, str], place: str) -> Dated:
    try:
        since = date.fromisoformat(row["since"]) if row["since"] else date.min
        until = date.fromisoformat(row["until"]) if row["until"] else date.max
        return Dated(value, since, until, row["source"])
    except ValueError:
        raise UserError(f"{place}: a day is none.", "Write days YYYY-MM-DD; leave open ends empty.") from None


def _told(one: Dated) -> str:
    if one.until == date.max:
        return wording("{0}, from {1}").format(one.source, one.since)
    return wording("{0}, from {1} to {2}").format(one.source, one.since, one.until)


def _number(text: str, place: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise UserError(f"{place}: {text!r} is no number.", "Write it with a point: 16.80.") from None


def _pattern(text: str, place: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error:
        raise UserError(f"{place}: {text!r} is no pattern.", "Write a regular expression.") from None
