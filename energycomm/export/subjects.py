"""The subjects of an export and their columns, from the one declaration of fields.

A row is one part of what a Kernel message left in the store: one register of a reading, one line of a charge. Parts
that are not the rows themselves (the taxes of a charge, the powers of a contract) are one column of JSON.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Any, NamedTuple

from msgspec import Struct

from energycomm.eis import tables
from energycomm.eis.domain import kept_fields
from energycomm.kernel.family import KINDS
from energycomm.kernel.shape import Scalar, shape_of

SCHEMA = 1
"""Version of the columns: it rises where one is renamed or removed or changes its type, not where one is new."""


class Column(NamedTuple):
    """One column of an export.

    Attributes:
      name: its name.
      type: text, integer, decimal, truth, instant, day; json is a text with JSON.
      filled: every row has a value, but those that take something back.
      about: what it holds.
      unit: unit of the values; in backquotes the column that tells it.
      digits: of a decimal, how many it has at most before and after the point.
      source: where the value is: head, row, part, made.
      key: the column of the domain table, or the field of the part.
    """

    name: str
    type: str
    filled: bool
    about: str
    unit: str = ""
    digits: tuple[int, int] | None = None
    source: str = "head"
    key: str = ""


class Subject(NamedTuple):
    """What can be exported.

    Attributes:
      name: as people type it.
      about: what one row is.
      table: its table in the store.
      parts: the column of the table that holds the parts, one row each; empty: the row of the table is the row.
      columns: in their order.
      starts, ends: columns of the table between which it holds, where that is not the one instant `at`.
    """

    name: str
    about: str
    table: str
    parts: str
    columns: tuple[Column, ...]
    starts: str = "at"
    ends: str | None = None


Row = tuple[Any, ...]
"""The values of a row in the order of the subject's columns."""


class Selection(Struct, frozen=True, kw_only=True):
    """Which rows are wanted.

    Attributes:
      markets: of these markets; of all when empty.
      access_points: of these access points.
      segments: of access points that are in one of these segments now.
      first: that hold on or after this civil day, in the legal time of their market.
      last: that hold on or before this civil day.
    """

    markets: tuple[str, ...] = ()
    access_points: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()
    first: date | None = None
    last: date | None = None


INSERT, CORRECT, WITHDRAW = "insert", "correct", "withdraw"

HEAD = (
    Column("op", "text", True, "`insert`, `correct` or `withdraw`: what to do with the rows of the message."),
    Column("message", "integer", True, "The key: number of the Kernel message that the row comes from."),
    Column("item", "integer", True, "Number of the row among those of its message, from 1."),
    Column("market", "text", True, "Market, by its code."),
    Column("access_point", "text", False, "Identifier of the access point; empty where none is concerned."),
    Column("at", "instant", True, "Business time: the instant from which the content holds."),
)

_INTERVAL = (
    Column("interval_start", "instant", True, "Start of the interval.", source="made"),
    Column("interval_end", "instant", True, "End of the interval.", source="made"),
)


def _scalar(name: str, scalar: Scalar, filled: bool, about: str, unit: str | None, source: str, key: str) -> Column:
    kind = {"word": "text"}.get(scalar.name, scalar.name)
    digits = (scalar.whole or 0, scalar.fraction or 0) if kind == "decimal" else None
    return Column(name, kind, filled, about, unit or "", digits, source, key)


def _of_kind(kind: str, parts: str) -> tuple[Column, ...]:
    """The columns of a kind: what its table keeps, and the fields of the parts that are the rows."""
    cls = KINDS[kind]
    columns: list[Column] = []
    for one in kept_fields(cls):
        # The market, which the table of an invoice keeps, stands in the head of every row.
        if one.column == parts or one.column in {column.name for column in HEAD}:
            continue
        about, unit = one.declared.english, one.declared.unit
        if one.scalar is None:
            columns.append(Column(one.column, "json", one.required, about, unit or "", None, "row", one.column))
        else:
            columns.append(_scalar(one.column, one.scalar, one.required, about, unit, "row", one.column))
    assert cls.kept is not None
    # Computed where it stands beside the declared columns; the status of a contract is the market's own.
    if "status" in tables.DOMAIN[cls.kept.table].columns and all(column.name != "status" for column in columns):
        about = "`current`, `replaced`, `cancelled`, or `cancels`: only what is current holds."
        columns.append(Column("status", "text", True, about, source="row", key="status"))
    if not parts:
        return tuple(columns)
    (child,) = (child for child in shape_of(cls).children if child.declared.kept == parts)
    taken = {column.name for column in (*HEAD, *columns)}
    for attribute in shape_of(child.part).attributes:
        name = attribute.field if attribute.field not in taken else f"{child.declared.item}_{attribute.field}"
        filled = attribute.required or attribute.default is not None
        declared = attribute.declared
        columns.append(
            _scalar(name, attribute.scalar, filled, declared.english, declared.unit, "part", attribute.field)
        )
    return tuple(columns)


def _row(name: str, about: str, type_: str = "text", *, filled: bool = False) -> Column:
    return Column(name, type_, filled, about, source="row", key=name)


_SUPPLY = (
    _row("reference", "Reference of the contract span on the access point."),
    _row("supplier", "Supplier from the start on."),
    _row("reason", "Why it began, in the market's or the Kernel's word."),
    _row("ended_at", "The first instant without us; empty while the supply goes on.", "instant"),
    _row("end_reason", "Why it ended."),
    _row("end_message_id", "Number of the Kernel message that ended it.", "integer"),
)

_DISPUTE = (
    _row("invoice", "Number of the invoice; `message` is the one of it that came last.", filled=True),
    _row("invoice_date", "Its date.", "day"),
    _row("currency", "Currency, ISO 4217.", filled=True),
    _row("check", "What it is contested for: price, quantity, tariff, power, supply, ...", filled=True),
    _row("charge", "The market's number of the line group; empty where the invoice as a whole is meant."),
    _row("line", "The grid operator's code of what is charged."),
    _row("start", "First day charged.", "day"),
    _row("end", "Last day charged, inclusive.", "day"),
    _row("charged", "What is charged, with its unit.", filled=True),
    _row("expected", "What should be, with its unit.", filled=True),
    Column(
        "amount",
        "decimal",
        True,
        "What is charged too much without tax; negative where too little.",
        "currency",
        (12, 10),
        "row",
        "amount",
    ),
    _row("label", "The grid operator's words for what is charged."),
    _row("source", "Where the expected value is from: the price list, the law, or what the store knows."),
    _row("why", "What is contested, in English.", filled=True),
    _row("why_fr", "What is contested, in French.", filled=True),
)

_FINDING = (
    _row("kind", "Kind of the Kernel message.", filled=True),
    _row("market_type", "The market's own message type.", filled=True),
    _row("error_code", "Code of the rule.", filled=True),
    _row("rule", "Name of the rule.", filled=True),
    _row("severity", "error or warning.", filled=True),
    _row("error_class", "Who can put it right.", filled=True),
    _row("field", "Field of the message.", filled=True),
    _row("value", "Its value."),
    _row("comment", "What is wrong, in English.", filled=True),
    _row("comment_fr", "What is wrong, in French.", filled=True),
)


@cache
def subjects() -> dict[str, Subject]:
    """Every subject by name."""
    made = (
        Subject("readings", "one register of a meter reading", "reading", "registers", ()),
        Subject("volumes", "one energy of a period", "volume", "volumes", (), "start_at", "at"),
        Subject("curves", "one interval of a series", "series", "positions", (), "at", "end_at"),
        Subject("charges", "one line of a grid charge of an access point", "grid_charge", "lines", ()),
        Subject("invoices", "the head and totals of one file of a grid invoice", "grid_invoice", "", ()),
        Subject("supply", "one period of our supply", "supply_period", "", (), "at", "ended_at"),
        Subject("contracts", "one version of the terms of a contract", "contract", "", ()),
        Subject("findings", "one finding of the verdict that holds now", "finding", "", ()),
        Subject(DISPUTES, "one thing that a grid invoice is contested for", "", "", ()),
    )
    own = {"supply": _SUPPLY, "findings": _FINDING, DISPUTES: _DISPUTE}
    kinds = {
        "readings": "MeterReading",
        "volumes": "MeteredVolume",
        "curves": "MeasureSeries",
        "charges": "GridCharge",
        "invoices": "GridInvoice",
        "contracts": "ContractTerms",
    }
    found = {}
    for one in made:
        if one.name in kinds:
            columns = (*HEAD, *_of_kind(kinds[one.name], one.parts), *(_INTERVAL if one.name == "curves" else ()))
        else:
            columns = (*HEAD, *own[one.name])
        found[one.name] = one._replace(columns=columns)
    return found


FOLLOWED = ("readings", "volumes", "curves", "charges", "invoices", "supply", "contracts", "findings")
"""The names of the subjects whose changes can be followed."""

DISPUTES = "disputes"
"""The subject that is computed when it is read: what it tells may change with any price, term or reading."""

NAMES = (*FOLLOWED, DISPUTES)
"""The names of the subjects."""
