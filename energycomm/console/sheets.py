"""Lists as tables: their columns, declared once for the heads that sort them and for the file of what is shown."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from threading import BoundedSemaphore
from typing import Any, Literal, Protocol

from fastapi.responses import Response, StreamingResponse
from msgspec import Struct
from sqlalchemy import Engine

from energycomm.cells import write_csv
from energycomm.choices import UnknownWord
from energycomm.console.view import Words, address
from energycomm.portfolio.files import workbook
from energycomm.webservice.problems import Problem
from energycomm.webservice.routes.portfolio import XLSX

Format = Literal["", "csv", "xlsx"]
"""The form of a list: a page, or a file of all that it shows."""

MOST_ROWS = 50_000
"""Rows of a file; after them it says that it was cut."""

AT_ONCE = 2
"""Workbooks that are made at a time: each is kept in memory until it is whole."""

_making = BoundedSemaphore(AT_ONCE)


class Column(Struct, frozen=True):
    """A column of a list.

    Attributes:
      title: its words, in English.
      cell: what stands there, for a file.
      sort: name of the column for `sort`; None where the list is not sorted by it.
      right: whether its values are numbers.
      key: what a list that is read whole is sorted by (`in_order`); None where the store sorts it.
    """

    title: str
    cell: Callable[[Any, Words], object]
    sort: str | None = None
    right: bool = False
    key: Callable[[Any], Any] | None = None


def sorts(columns: Sequence[Column]) -> tuple[str, ...]:
    """What a list can be sorted by."""
    return tuple(one.sort for one in columns if one.sort is not None)


def in_order(columns: Sequence[Column], rows: Iterable[Any], sort: str | None) -> list[Any]:
    """The rows of a list that is read whole, by one of its columns; those with nothing there are last.

    Args:
      columns: of the list.
      rows: in the order that holds without another, and among equals.
      sort: name of the column, from the end with - before it.
    """
    rows = list(rows)
    key = next((one.key for one in columns if sort is not None and one.sort == sort.removeprefix("-")), None)
    if sort is None or key is None:
        return rows
    there = [row for row in rows if key(row) is not None]
    there.sort(key=key, reverse=sort.startswith("-"))
    return there + [row for row in rows if key(row) is None]


class Listed(Protocol):
    """The filters of a list that is a page or a file."""

    @property
    def format(self) -> Format:
        """The form that is asked for."""

    def absent(self, engine: Engine) -> UnknownWord | None:
        """What they name and the store has not."""


class Head(Struct, frozen=True):
    """The head of a column on a page: words, the address that sorts by it, and its order now, for `aria-sort`."""

    title: str
    link: str | None
    order: str
    right: bool


def heads(
    columns: Sequence[Column],
    words: Words,
    path: str,
    kept: Mapping[str, object],
    *,
    sort: str | None,
    possible: Collection[str],
) -> list[Head]:
    """The heads of a list.

    Args:
      columns: of the list.
      words: of the visitor.
      path: of the page.
      kept: its other filters.
      sort: the order of the list now, from the end with - before it.
      possible: the columns that it can be sorted by with these filters.
    """
    by, falling = (sort or "").removeprefix("-"), (sort or "").startswith("-")
    found = []
    for one in columns:
        here = one.sort is not None and one.sort == by
        other = f"-{one.sort}" if here and not falling else one.sort
        link = address(path, **{**kept, "sort": other}) if one.sort in possible else None
        order = ("descending" if falling else "ascending") if here else ""
        found.append(Head(words.t(one.title), link, order, one.right))
    return found


def absent_from(asked: Listed, engine: Engine) -> UnknownWord | None:
    """What the filters of a page name and the store has not: the page says so; None where all is there.

    Raises:
      UnknownWord: a file is asked for: it would hold nothing, and could not say why.
    """
    absent = asked.absent(engine)
    if absent is not None and asked.format:
        raise absent
    return absent


def sheet(columns: Sequence[Column], words: Words, rows: Iterable[Any], form: Format, name: str) -> Response:
    """A list as a file: all its pages, in its order.

    Args:
      columns: of the list.
      words: of the visitor.
      rows: what it lists; read while the file is sent.
      form: csv or xlsx.
      name: of the file, without its ending.

    Raises:
      Problem: too many workbooks are made at this moment.
    """
    head = [words.t(one.title) for one in columns]
    lines = ([one.cell(row, words) for one in columns] for row in rows)
    # The first row tells whether it can be read at all, while a refusal can still be answered.
    begun = list(islice(lines, 1))
    bounded = _bounded(chain(begun, lines), words)
    headers = {"Content-Disposition": f'attachment; filename="{name}.{form}"', "Cache-Control": "private, no-store"}
    if form == "csv":
        return StreamingResponse(_csv(head, bounded), 200, headers, "text/csv; charset=utf-8")
    if not _making.acquire(blocking=False):
        advice = "Take CSV, or ask again in a minute."
        raise Problem("API_RATE", "Other workbooks are made now.", advice=advice, headers={"Retry-After": "60"})
    try:
        return Response(workbook(head, bounded, name), 200, headers, XLSX)
    finally:
        _making.release()


def _bounded(lines: Iterator[Sequence[object]], words: Words) -> Iterator[Sequence[object]]:
    yield from islice(lines, MOST_ROWS)
    if next(lines, None) is not None:
        yield [words.t("Cut after {n} rows: narrow the filters.", n=words.many(MOST_ROWS))]


def _csv(head: Sequence[str], lines: Iterable[Sequence[object]]) -> Iterator[bytes]:
    """CSV in pieces of some hundred rows, with the mark by which spreadsheets know UTF-8."""
    yield "\ufeff".encode()
    rest = iter(lines)
    piece: list[Sequence[object]] = []
    while piece or head:
        text = io.StringIO(newline="")
        write_csv(text, head, piece)
        yield text.getvalue().encode()
        head, piece = (), list(islice(rest, 500))
