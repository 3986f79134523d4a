"""The monthly file of gross calorific values per receiving station, in the variants that were published.

A line is one CH message. The files differ from month to month: a byte-order mark, a line of words before the columns,
columns under misspelt names and in another order, decimal comma or point, 0 for a station out of use, an empty value
where none is published yet. Columns are found by their names, which stand in the mapping table; a name that is nearly
one of them counts as it. The file names neither sender nor date of writing: the first day of the following month stands
for the date, for values are published when their month is over.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from difflib import get_close_matches
from hashlib import blake2b
from typing import IO

from adapters.be_atrias.codes import refusal
from adapters.be_atrias.mapping import MARKET
from adapters.be_atrias.times import midnight
from adapters.common.codes import Unreadable
from adapters.common.table import Table
from energycomm.kernel.messages import CalorificValue
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import MemberHead, Transaction

LABEL = "CalorificValues"
ABOUT = "monthly gross calorific values of gas per receiving station; one CH message per line"
_LONGEST_LINE = 4_096
_PREAMBLE = 10
"""Lines among which the line of columns is looked for."""
_NEEDED = ("month", "station", "value")
_MONTHS = (
    re.compile(r"(?P<year>\d{4})[-/.]?(?P<month>\d{2})(?:[-/.]?01)?"),
    re.compile(r"(?P<month>\d{2})[-/.](?P<year>\d{4})"),
)
_VALUE = re.compile(r"-?\d{1,6}(?:[.,]\d{1,12})?")


def recognised(text: str, table: Table) -> bool:
    """Whether the first characters of a text hold the line of columns."""
    return any(len(_columns(line, table)[0]) >= len(_NEEDED) for line in text.splitlines()[:_PREAMBLE])


def parts(table: Table, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction]:
    """The head and one transaction per line.

    Raises:
      Unreadable: no line names the columns (CSV_HEADER), or a line is too long (CSV_LIMIT).
    """
    lines = _lines(content)
    columns: dict[str, int] = {}
    notes: tuple[Refusal, ...] = ()
    delimiter, width = ",", 0
    for number, line in zip(range(_PREAMBLE), lines, strict=False):
        columns, delimiter, exact = _columns(line, table)[:3]
        if all(needed in columns for needed in _NEEDED):
            width = len(next(csv.reader([line], delimiter=delimiter)))
            if number or not exact:
                notes = (refusal("NOTE_CSV_COLUMNS", f"line {number + 1}", line.strip(), ",".join(_usual(table))),)
            break
    else:
        raise Unreadable(refusal("CSV_HEADER", expected=", ".join(_usual(table))))
    yield MemberHead(type=LABEL, version="1", notes=notes)
    position = 0
    for line in lines:
        if not line.strip():
            continue
        position += 1
        row = next(csv.reader([line], delimiter=delimiter), [])
        if len(row) == width + 1 and columns["value"] == width - 1:
            row[-2:] = [f"{row[-2]},{row[-1]}"]  # a decimal comma without quotes
        cells = {column: row[at].strip() if at < len(row) else "" for column, at in columns.items()}
        yield _transaction(position, cells)


def _lines(content: IO[bytes]) -> Iterator[str]:
    """The lines, decoded; a line without end is refused before it fills the memory."""
    left = b""
    first = True
    while chunk := content.read(1 << 16):
        *whole, left = (left + chunk).replace(b"\r\n", b"\n").split(b"\n")
        for line in whole:
            yield _decoded(line, first=first)
            first = False
        if len(left) > _LONGEST_LINE:
            raise Unreadable(refusal("CSV_LIMIT", value=repr(left[:60]), expected=f"lines of {_LONGEST_LINE} bytes"))
    if left:
        yield _decoded(left, first=first)


def _decoded(line: bytes, *, first: bool) -> str:
    if len(line) > _LONGEST_LINE:
        raise Unreadable(refusal("CSV_LIMIT", value=repr(line[:60]), expected=f"lines of {_LONGEST_LINE} bytes"))
    line = line.removeprefix(codecs.BOM_UTF8) if first else line
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        text = line.decode("cp1252", "replace")
    return "".join(figure if figure.isprintable() or figure == "\t" else " " for figure in text)


def _columns(line: str, table: Table) -> tuple[dict[str, int], str, bool]:
    """The columns that a line names -> their places, the delimiter, and whether names and order are the usual ones."""
    delimiter = ";" if line.count(";") > line.count(",") else "\t" if line.count("\t") > line.count(",") else ","
    try:
        cells = next(csv.reader([line.lstrip("\ufeff")], delimiter=delimiter), [])
    except csv.Error:
        return {}, delimiter, False
    names = {_plain(name): column for column, listed in table.raw["calorific"].items() for name in listed}
    found: dict[str, int] = {}
    for at, cell in enumerate(cells):
        near = get_close_matches(_plain(cell), list(names), n=1, cutoff=0.85)
        if near:
            found.setdefault(names[near[0]], at)
    return found, delimiter, [cell.strip() for cell in cells] == _usual(table)


def _usual(table: Table) -> list[str]:
    return [table.raw["calorific"][column][0] for column in ("month", "station_name", "station", "value")]


def _plain(text: str) -> str:
    return "".join(figure for figure in text.casefold() if figure.isalnum())


def _transaction(position: int, cells: dict[str, str]) -> Transaction:
    refusals: list[Refusal] = []
    notes: list[Refusal] = []
    path = f"data line {position}"
    month = _month(cells["month"])
    if month is None:
        refusals.append(refusal("SYN_VALUE", f"{path}/month", cells["month"], "a month like 2026-08"))
    station = cells["station"]
    if not 1 <= len(station) <= 40:
        code = "SYN_VALUE" if station else "SYN_MISSING"
        refusals.append(refusal(code, f"{path}/station", station, "an EAN-GSRN"))
    text, value = cells["value"].replace(" ", ""), None
    if not text:
        notes.append(refusal("NOTE_VALUE_EMPTY", f"{path}/value"))
    elif not _VALUE.fullmatch(text):
        refusals.append(refusal("SYN_VALUE", f"{path}/value", text, "a decimal number in kWh/m3"))
    else:
        value = Decimal(text.replace(",", "."))
        if value == 0:
            notes.append(refusal("NOTE_VALUE_ZERO", f"{path}/value", text))
    label = " ".join(cells.get("station_name", "").split())[:400] or None
    state = blake2b(digest_size=16)
    state.update(repr((MARKET, LABEL, station, month or cells["month"], label)).encode("utf-8", "surrogatepass"))
    state.update(repr(value.normalize() if value is not None else text).encode())
    reference = f"{station[:40] or '-'}:{month.isoformat()[:7] if month else '-'}"
    messages: tuple[CalorificValue, ...] = ()
    if month is not None and not refusals:
        following = (month + timedelta(days=32)).replace(day=1)
        messages = (
            CalorificValue(
                market=MARKET,
                energy="gas",
                market_type=LABEL,
                reference=reference,
                created=midnight(following),
                effective=midnight(month),
                station=station,
                station_name=label,
                month=month.isoformat()[:7],
                value=value,
            ),
        )
    return Transaction(
        position=position,
        type=LABEL,
        version="1",
        reference=reference,
        access_point=None,
        sender=None,
        identity=state.digest(),
        messages=messages,
        refusals=tuple(refusals),
        notes=tuple(notes),
    )


def _month(text: str) -> date | None:
    for pattern in _MONTHS:
        found = pattern.fullmatch(text)
        if found is not None and 1 <= int(found["month"]) <= 12 and 1900 <= int(found["year"]) <= 2198:
            return date(int(found["year"]), int(found["month"]), 1)
    return None
