"""The columns of a portfolio: one row is one access point, and a column is a field of the Kernel's.

The names follow from the declarations of the fields, so that a new field is a new column. A group of columns makes one
Kernel message; powers and indexes have a column for each time class; a point with several open requests or meters
numbers the further ones: ``request.2.state``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple, get_args

from msgspec import Struct

from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    CustomerData,
    EndOfSupply,
    KernelMessage,
    MeterData,
    MeterReading,
    RequestStatus,
    StartOfSupply,
)
from energycomm.kernel.parts import Power, Register
from energycomm.kernel.shape import Attribute, Scalar, scalar_of, shape_of
from energycomm.kernel.verdicts import Refusal
from energycomm.kernel.vocabulary import CivilDay, Direction, Grid

GROUPS: Mapping[type[KernelMessage], str] = {
    StartOfSupply: "supply",
    AccessPointData: "point",
    ContractTerms: "contract",
    CustomerData: "customer",
    MeterData: "meter",
    MeterReading: "reading",
    RequestStatus: "request",
}
"""Kind -> the first word of its columns."""

SEVERAL = ("meter", "request")
"""Groups of which a point may have several, numbered from 2."""

_LEFT_OUT = {
    "supply": {"contract_start"},  # the day of supply.start
    "point": {"supplier", "balance_responsible", "told_ahead"},  # those of the supply, which has begun
    "contract": {"contract_start"},
    "meter": {"action", "operation"},  # the meter is there
    "reading": {
        "qualification",
        "meter",
        "previous_reference",
        "previous_date",
        "previous_nature",
        "correction_reason",
        "maximum_power",
        "maximum_power_unit",
        "maximum_power_at",
    },
}
"""Fields of events, which a state does not have, and fields that other columns tell."""

_RENAMED = {"meter.meter": "meter.serial", "request.request": "request.reference"}

NEEDED = ("market", "access_point", "as_of", "supply.start", "supply.supplier")
"""Columns that every row fills."""

_HEAD = ("market", "access_point", "energy", "contract_reference", "grid_operator")
_CLASS = r"[A-Za-z0-9_+-]{1,64}"
_NUMBERED = re.compile(rf"({'|'.join(SEVERAL)})\.([2-9]|[1-9][0-9])\.(.+)")
MOST_COLUMNS = 500


class Column(NamedTuple):
    """A column.

    Attributes:
      name: as it stands in the file.
      group: kind that its values go to; None for those of every message.
      field: field of the kind, with a point before that of a part.
      scalar: what a cell holds.
      english: what it is.
      unit: unit of its values, or the column that says so.
      number: which of several meters or requests; 1 for the first.
      key: time class, of a power; grid, time class and direction, of an index.
    """

    name: str
    group: type[KernelMessage] | None
    field: str
    scalar: Scalar
    english: str
    unit: str | None = None
    number: int = 1
    key: tuple[str, ...] = ()


def _words(attribute: Attribute) -> str:
    return attribute.declared.english


@cache
def fixed_columns() -> Mapping[str, Column]:
    """The columns without a time class or a number, by name, in the order of the documentation."""
    head = {one.field: one for one in shape_of(StartOfSupply).attributes}
    columns = [Column(name, None, name, head[name].scalar, _words(head[name])) for name in _HEAD]
    columns.insert(2, Column("as_of", None, "as_of", scalar_of(CivilDay), "Day whose state the row tells."))
    common = set(KernelMessage.__struct_fields__)
    for kind, group in GROUPS.items():
        left_out = common | _LEFT_OUT.get(group, set())
        if kind is StartOfSupply:
            columns.append(
                Column("supply.start", kind, "effective", scalar_of(CivilDay), "First day of our supply of the point.")
            )
            columns.append(
                Column(
                    "supply.end",
                    EndOfSupply,
                    "effective",
                    scalar_of(CivilDay),
                    "First day without us, of a supply that has ended or will end; empty while its end is unknown.",
                )
            )
        if kind is MeterReading:
            columns.append(
                Column(
                    "reading.at",
                    kind,
                    "effective",
                    head["effective"].scalar,
                    "Day, at whose beginning, or instant, at which the indexes were read.",
                )
            )
            unit = {one.field: one for one in shape_of(Register).attributes}
            columns += [
                Column("reading.unit", kind, "registers.unit", unit["unit"].scalar, _words(unit["unit"])),
                Column("reading.digits", kind, "registers.digits", unit["digits"].scalar, _words(unit["digits"])),
            ]
        shape = shape_of(kind)
        for one in shape.attributes:
            if one.field not in left_out:
                name = f"{group}.{one.field}"
                name = _RENAMED.get(name, name)
                columns.append(Column(name, kind, one.field, one.scalar, _words(one), _unit(group, one)))
        for child in shape.children:
            if not child.many and child.field not in common:
                columns += [
                    Column(
                        f"{group}.{child.field}.{one.field}",
                        kind,
                        f"{child.field}.{one.field}",
                        one.scalar,
                        f"{child.declared.english.rstrip('.')}: {_words(one)[:1].lower()}{_words(one)[1:]}",
                    )
                    for one in shape_of(child.part).attributes
                ]
    return {column.name: column for column in columns}


def _unit(group: str, one: Attribute) -> str | None:
    unit = one.declared.unit
    return f"{group}.{unit}" if unit is not None and "_" in unit else unit


class Keyed(NamedTuple):
    """A family of columns with a time class in their names."""

    pattern: str
    shown: str
    english: str
    unit: str


KEYED: tuple[Keyed, ...] = (
    Keyed(
        rf"power\.({_CLASS})",
        "power.CLASS",
        "Subscribed power of a time class: power.HPH, power.P1.",
        "contract.power_unit",
    ),
    Keyed(
        rf"index\.({'|'.join(get_args(Grid))})\.({_CLASS})(?:\.({'|'.join(get_args(Direction))}))?",
        "index.GRID.CLASS",
        "Last index of a register: index.supplier.HP; of energy fed into the grid: index.supplier.HP.production.",
        "reading.unit",
    ),
)


def column_of(name: str) -> Column | None:
    """The column of a name; None if there is none. Small and capital letters are one, but in time classes."""
    found = fixed_columns().get(name) or fixed_columns().get(name.lower())
    if found is not None:
        return found
    if match := _NUMBERED.fullmatch(name):
        first = fixed_columns().get(f"{match[1]}.{match[3]}")
        return None if first is None else first._replace(name=name, number=int(match[2]))
    power, index = KEYED
    if match := re.fullmatch(power.pattern, name):
        value = {one.field: one for one in shape_of(Power).attributes}["value"]
        return Column(name, ContractTerms, "powers", value.scalar, power.english, power.unit, key=(match[1],))
    if match := re.fullmatch(index.pattern, name):
        value = {one.field: one for one in shape_of(Register).attributes}["value"]
        key = (match[1], match[2], match[3] or "consumption")
        return Column(name, MeterReading, "registers", value.scalar, index.english, index.unit, key=key)
    return None


def refuse(code: str, path: str, value: object = None, expected: str = "", advice: str = "") -> Refusal:
    """A refusal of a portfolio file, its value shortened."""
    shown = None if value is None else str(value)
    if shown is not None and len(shown) > 120:
        shown = shown[:119] + "…"
    return Refusal(code=code, path=path, value=shown, expected=expected, advice=advice)


def read_header(names: Sequence[str]) -> tuple[list[Column], list[Refusal]]:
    """The columns of a table by the names in its first row, and everything that is wrong with them."""
    columns: list[Column] = []
    wrong: list[Refusal] = []
    if len(names) > MOST_COLUMNS:
        names = names[:MOST_COLUMNS]
        wrong.append(
            refuse("PORTFOLIO_COLUMN", "row 1", f"more than {MOST_COLUMNS} columns", f"{MOST_COLUMNS} columns")
        )
    known = [*fixed_columns(), *(keyed.shown for keyed in KEYED)]
    seen: set[str] = set()
    for name in names:
        place = f"row 1, column {name[:60]}"
        column = column_of(name)
        if column is None:
            near = get_close_matches(name.lower(), known, 1, 0.5)
            expected = f"{near[0]}?" if near else "a column of docs/portfolio.md"
            wrong.append(
                refuse("PORTFOLIO_COLUMN", place, name, expected, "name it so, or take the column out of the file")
            )
        elif name in seen:
            wrong.append(refuse("PORTFOLIO_COLUMN", place, name, "each column once", "take one of the two out"))
        else:
            columns.append(column)
        seen.add(name)
    if missing := [name for name in NEEDED if name not in seen]:
        wrong.append(
            refuse(
                "PORTFOLIO_COLUMN",
                "row 1",
                None,
                ", ".join(missing),
                "add these columns; `energycomm portfolio template` writes a file with all of them",
            )
        )
    return columns, wrong


TRUE = frozenset(("true", "yes", "1", "oui", "ja", "vrai"))
FALSE = frozenset(("false", "no", "0", "non", "nee", "nein", "faux"))


def read_cell(column: Column, cell: Any) -> Any:
    """The value of a cell.

    Args:
      column: the column.
      cell: a text, or what a spreadsheet or Parquet file holds; not empty.

    Returns:
      The value: an instant may still be a day.

    Raises:
      ValueError: the column holds nothing like it; the text says what was expected.
    """
    scalar = column.scalar
    text = _text(cell)
    try:
        value = _value(scalar, cell, text)
    except (ValueError, InvalidOperation):
        raise ValueError(_expected(scalar)) from None
    bounds = scalar._replace(name="day") if type(value) is date else scalar
    if (scalar.words and value not in scalar.words) or not bounds.holds(value):
        raise ValueError(_expected(scalar))
    if scalar.pattern and not re.fullmatch(scalar.pattern, value):
        raise ValueError(_expected(scalar))
    return value


def _expected(scalar: Scalar) -> str:
    return "a day, YYYY-MM-DD, or " + scalar.expected() if scalar.name == "instant" else scalar.expected()


def _text(cell: Any) -> str:
    """A cell as text: spreadsheets make numbers of codes, and give whole numbers a fraction."""
    if isinstance(cell, float) and cell.is_integer():
        return format(cell, ".0f")
    return str(cell).strip()


def _value(scalar: Scalar, cell: Any, text: str) -> Any:
    if scalar.name in ("text", "word"):
        return text
    if scalar.name == "integer":
        if not re.fullmatch(r"-?\d{1,18}([.,]0+)?", text):
            raise ValueError
        return int(Decimal(_number(text)))
    if scalar.name == "decimal":
        return _plain(Decimal(_number(text)))
    if scalar.name == "truth":
        word = text.lower()
        if word not in TRUE and word not in FALSE:
            raise ValueError
        return word in TRUE
    if isinstance(cell, datetime):
        if scalar.name == "day" or cell.tzinfo is None:
            if (cell.hour, cell.minute, cell.second, cell.microsecond) != (0, 0, 0, 0):
                raise ValueError
            return cell.date()
        return cell
    if isinstance(cell, date):
        return cell
    if scalar.name == "day" or len(text) == len("2026-11-01"):
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            raise ValueError
        return date.fromisoformat(text)
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError
    return at


def _number(text: str) -> str:
    """A number with a point; a comma is taken for one where there is no point."""
    text = text.replace("\u00a0", "").replace("\u202f", "")
    text = text.replace(",", ".") if "." not in text else text
    if not re.fullmatch(r"[+-]?\d{1,30}(\.\d{1,30})?", text):
        raise ValueError
    return text


def _plain(number: Decimal) -> Decimal:
    """The number without needless zeros: 6.0 is 6."""
    return number.quantize(Decimal(1)) if number == number.to_integral_value() else number.normalize()


def columns_of(kind: type[KernelMessage]) -> Iterable[Column]:
    """The fixed columns of a kind."""
    return (column for column in fixed_columns().values() if column.group is kind)


def value_of(message: Struct, way: Iterable[str]) -> Any:
    """The value of a field, or of the field of a part, in a message; `way` holds the names that lead to it."""
    value: Any = message
    for name in way:
        value = None if value is None else getattr(value, name)
    return value
