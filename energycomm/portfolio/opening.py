"""What the rows of a portfolio become: one CH message a row, of the Kernel messages of its opening balance.

The same is made of a list of our points that a market sends. Both are read as an adapter reads a member, so that the
path of every envelope holds for them: bytes kept, refusals as values, a repeated row recognised by its content.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from hashlib import blake2b
from typing import IO, Any
from zoneinfo import ZoneInfo

from msgspec import structs

from energycomm.kernel.family import RANK
from energycomm.kernel.instants import midnight
from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    EndOfSupply,
    KernelMessage,
    MeterData,
    MeterReading,
    RequestAnswer,
    RequestStatus,
    StartOfSupply,
)
from energycomm.kernel.opening import OPENING, OPENING_KINDS
from energycomm.kernel.parts import Power, Register
from energycomm.kernel.shape import shape_of
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Adapter, Listing, MemberHead, Transaction
from energycomm.market.installed import Markets
from energycomm.portfolio.columns import NEEDED, Column, read_cell, read_header, refuse
from energycomm.portfolio.files import LONGEST_CELL, Cells, Unreadable, rows_of

CHANNEL = "portfolio"
"""Channel of the envelopes that portfolio files are."""


class Row:
    """A row that was read.

    Attributes:
      number: in the file, from 1; that of the names is 1.
      cells: columns with what they hold; empty cells are left out.
      values: the same by the columns' names.
      wrong: what could not be read.
    """

    __slots__ = ("cells", "number", "values", "wrong")

    def __init__(self, number: int, cells: list[tuple[Column, Any]], wrong: list[Refusal]) -> None:
        self.number, self.cells, self.wrong = number, cells, wrong
        self.values: dict[str, Any] = {column.name: value for column, value in cells}


def header_of(rows: Iterator[tuple[int, Cells]]) -> tuple[list[Column], list[Refusal]]:
    """The columns of a table whose rows begin with their names."""
    _, names = next(rows, (1, []))
    return read_header(["" if name is None else str(name).strip() for name in names])


def read_row(columns: Sequence[Column], number: int, cells: Cells) -> Row:
    """Read the cells of a row."""
    values: list[tuple[Column, Any]] = []
    wrong: list[Refusal] = []
    for column, cell in zip(columns, cells, strict=False):
        if cell is None:
            continue
        if isinstance(cell, str | bytes) and len(cell) > LONGEST_CELL:
            expected = f"at most {LONGEST_CELL} characters"
            wrong.append(refuse("PORTFOLIO_VALUE", column.name, str(cell[:120]), expected, "shorten it"))
            continue
        try:
            values.append((column, read_cell(column, cell)))
        except ValueError as fault:
            wrong.append(refuse("PORTFOLIO_VALUE", column.name, cell, str(fault), "correct the cell"))
    if len(cells) > len(columns):
        found = f"{len(cells)} cells"
        wrong.append(
            refuse("PORTFOLIO_VALUE", "", found, f"{len(columns)}, one a column", "quote cells that hold the separator")
        )
    row = Row(number, values, wrong)
    told = {one.path for one in wrong}
    for name in NEEDED:
        if name not in row.values and name not in told:
            wrong.append(refuse("PORTFOLIO_VALUE", name, None, "a value in every row", "fill the cell"))
    return row


def market_of(content: IO[bytes], form: str, markets: Markets) -> str | Refusal:
    """The market of a table: that of its first row. All rows are of one market.

    Args:
      content: the bytes, seekable; read from their beginning.
      form: of the table.
      markets: the installed ones.
    """
    try:
        content.seek(0)
        rows = rows_of(content, form)
        columns, wrong = header_of(rows)
        if wrong:
            return wrong[0]
        number, cells = next(rows, (0, []))
    except Unreadable as unreadable:
        return unreadable.refusal
    if not number:
        expected = "one row an access point, below the names of the columns"
        return refuse("PORTFOLIO_FILE", "", "no row", expected, "fill in the points, and load it again")
    first = read_row(columns, number, cells)
    found = first.values.get("market")
    if found in markets:
        return str(found)
    found = next((one.value for one in first.wrong if one.path == "market"), found)
    advice = "name the market of the points, or install its adapter"
    return refuse("PORTFOLIO_VALUE", f"row {number}, market", found, f"one of {', '.join(markets)}", advice)


class Table:
    """Reads tables of one market; what the pipeline needs of an adapter.

    Args:
      market: the market.
      zone: its legal time.
      form: of the table: csv, xlsx, parquet.
    """

    def __init__(self, market: str, zone: ZoneInfo, form: str) -> None:
        self.market, self.zone, self.form = market, zone, form

    def digest(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        """One CH message a row. See `energycomm.market.contract.Adapter.digest`."""
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(content, copy, 1 << 20)
            try:
                repeated = self._repeated(copy)
                copy.seek(0)
                rows = rows_of(copy, self.form)
                columns, wrong = header_of(rows)
                if wrong:
                    yield wrong[0]
                    return
                yield MemberHead(type=OPENING)
                for number, cells in rows:
                    yield self.transaction(read_row(columns, number, cells), repeated)
            except Unreadable as unreadable:
                yield unreadable.refusal

    def _repeated(self, copy: IO[bytes]) -> set[int]:
        """Hashes of the access points that have several rows: none of these rows is the right one."""
        copy.seek(0)
        rows = rows_of(copy, self.form)
        columns, _ = header_of(rows)
        place = next((place for place, column in enumerate(columns) if column.name == "access_point"), None)
        seen: set[int] = set()
        repeated: set[int] = set()
        for _, cells in rows:
            if place is not None and place < len(cells) and cells[place] is not None:
                try:
                    key = hash(read_cell(columns[place], cells[place]))
                except ValueError:
                    continue
                (repeated if key in seen else seen).add(key)
        return repeated

    def transaction(self, row: Row, repeated: set[int] = frozenset()) -> Transaction:  # type: ignore[assignment]
        """The CH message of a row.

        Args:
          row: the row.
          repeated: hashes of the access points that have several rows.
        """
        point = row.values.get("access_point")
        wrong = list(row.wrong)
        if (market := row.values.get("market")) not in (None, self.market):
            wrong.append(
                refuse("PORTFOLIO_VALUE", "market", market, self.market, "load the points of each market apart")
            )
        if point is not None and hash(point) in repeated:
            advice = "leave one row of the point; a further meter or request has columns of its own"
            wrong.append(refuse("PORTFOLIO_POINT", "access_point", point, "one row an access point", advice))
        messages: tuple[KernelMessage, ...] = ()
        if not wrong:
            messages, wrong = self._messages(row)
        content = sorted((name, str(value)) for name, value in row.values.items())
        return Transaction(
            position=row.number,
            type=OPENING,
            version=None,
            reference=f"opening:{point}:{row.values.get('as_of')}",
            access_point=point,
            sender=row.values.get("supply.supplier"),
            identity=blake2b(repr(("opening", self.market, content)).encode(), digest_size=16).digest(),
            messages=() if wrong else messages,
            refusals=tuple(wrong),
        )

    def _messages(self, row: Row) -> tuple[tuple[KernelMessage, ...], list[Refusal]]:
        values = row.values
        supplier, start, as_of = values["supply.supplier"], values["supply.start"], values["as_of"]
        head: dict[str, Any] = {
            "market": self.market,
            "market_type": OPENING,
            "reference": f"opening:{values['access_point']}:{as_of}",
            "created": midnight(self.zone, as_of),
            "access_point": values["access_point"],
            "contract_reference": values.get("contract_reference"),
            "grid_operator": values.get("grid_operator"),
            "sender": supplier,
            "receiver": supplier,
            "sender_role": "supplier",
            "receiver_role": "supplier",
        }
        if (energy := values.get("energy")) is not None:
            head["energy"] = energy
        end = values.get("supply.end")
        if end is not None and end <= start:
            expected = f"a day after supply.start, {start}"
            return (), [refuse("PORTFOLIO_VALUE", "supply.end", end, expected, "correct one of the two")]
        held = max(start, as_of) if end is None else min(max(start, as_of), end)
        begins, holds = midnight(self.zone, start), midnight(self.zone, held)
        groups: dict[tuple[type[KernelMessage], int], dict[str, Any]] = {}
        for column, value in row.cells:
            if column.group is None:
                continue
            fields = groups.setdefault((column.group, column.number), {})
            if column.key:
                fields.setdefault(column.field, []).append((column, value))
            else:
                fields[column.field] = value
        wrong: list[Refusal] = []
        made: list[KernelMessage] = []
        for (kind, number), fields in groups.items():
            message = self._message(kind, number, fields, {**head, "effective": holds}, begins, wrong)
            if message is not None:
                made.append(message)
        serial = values.get("meter.serial")
        made = [
            structs.replace(one, meter=serial) if isinstance(one, MeterReading) and serial is not None else one
            for one in made
        ]
        made.sort(key=lambda one: (one.effective, RANK[type(one).__name__]))
        return tuple(made), wrong

    def _message(
        self,
        kind: type[KernelMessage],
        number: int,
        fields: dict[str, Any],
        head: dict[str, Any],
        begins: datetime,
        wrong: list[Refusal],
    ) -> KernelMessage | None:
        """A message of the columns of a group; None where something is wrong, which is added."""
        before = len(wrong)
        if kind is StartOfSupply:
            fields["contract_start"] = fields.pop("effective")
            head["effective"] = begins
        elif kind is EndOfSupply:
            head["effective"] = midnight(self.zone, fields.pop("effective"))
        elif kind is MeterData:
            fields["action"] = "present"
        elif kind is RequestStatus:
            if "request" not in fields:
                wrong.append(_lacking("request.reference", "the reference of the request"))
            fields.setdefault("state", "in-course")
        elif kind is ContractTerms and "powers" in fields:
            if "power_unit" not in fields:
                wrong.append(_lacking("contract.power_unit", "the unit of the powers: kW, kVA"))
            fields["powers"] = tuple(
                Power(time_class=column.key[0], value=value, unit=fields.get("power_unit", ""))
                for column, value in sorted(fields["powers"], key=lambda pair: pair[0].key)
            )
        elif kind is MeterReading:
            wrong += self._reading(fields, head, begins)
        return None if len(wrong) > before else kind(**head, **_with_parts(kind, fields))

    def _reading(self, fields: dict[str, Any], head: dict[str, Any], begins: datetime) -> list[Refusal]:
        """Make the fields of a reading of its columns; what is wrong with them."""
        at = fields.pop("effective", None)
        if at is None:
            return [_lacking("reading.at", "the day or instant at which the indexes were read")]
        head["effective"] = at if isinstance(at, datetime) else midnight(self.zone, at)
        as_of = head["created"].astimezone(self.zone).date()
        expected = None
        if head["effective"] < begins:
            expected = f"on or after supply.start, {begins.astimezone(self.zone).date()}"
        elif head["effective"].astimezone(self.zone).date() > as_of:
            expected = f"on or before as_of, {as_of}"
        if expected is not None:
            return [refuse("PORTFOLIO_VALUE", "reading.at", at, expected, "correct one of the two")]
        head["created"] = max(head["created"], head["effective"])  # during the day whose state the row tells
        unit, digits = fields.pop("registers.unit", "kWh"), fields.pop("registers.digits", None)
        fields["registers"] = tuple(
            Register(
                grid=column.key[0],
                time_class=column.key[1],
                direction=column.key[2],
                value=value,
                unit=unit,
                digits=digits,
            )
            for column, value in sorted(fields.get("registers", ()), key=lambda pair: pair[0].key)
        )
        fields.setdefault("nature", "read")
        fields["qualification"] = "periodic"
        return [] if fields["registers"] else [_lacking("index.GRID.CLASS", "an index of a register")]


def _lacking(name: str, expected: str) -> Refusal:
    return refuse("PORTFOLIO_VALUE", name, None, expected, "fill the cell")


def _with_parts(kind: type[KernelMessage], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a kind, those of parts (``address.city``) as parts."""
    whole: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for name, value in fields.items():
        part, _, inner = name.partition(".")
        if inner:
            parts.setdefault(part, {})[inner] = value
        else:
            whole[name] = value
    kinds = {child.field: child.part for child in shape_of(kind).children}
    return whole | {name: kinds[name](**inner) for name, inner in parts.items()}


# --- lists that a market sends ---


class List:
    """Reads the lists of points that a market sends as opening balances.

    Args:
      adapter: of the market.
      zone: its legal time.
    """

    def __init__(self, adapter: Adapter, zone: ZoneInfo) -> None:
        self.adapter, self.market, self.zone = adapter, adapter.market, zone

    def digest(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        """One CH message a point. See `energycomm.market.contract.Adapter.digest`."""
        lists = self.adapter.lists if isinstance(self.adapter, Listing) else frozenset()
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(content, copy, 1 << 20)
            repeated = self._repeated(label, copy, name)
            copy.seek(0)
            for item in self.adapter.digest(label, copy, name):
                if isinstance(item, MemberHead):
                    if not lists.intersection((label, item.type)):  # what a SOAP envelope holds is told by its head
                        expected = ", ".join(sorted(lists)) or "no document of this market is a list of points"
                        advice = "`energycomm process` takes the other documents"
                        yield refuse("PORTFOLIO_LIST", name, item.type, expected, advice)
                        return
                    yield structs.replace(item, type=OPENING)
                elif isinstance(item, Transaction):
                    yield self.transaction(item, repeated)
                else:
                    yield item

    def _repeated(self, label: str, copy: IO[bytes], name: str) -> set[int]:
        """Hashes of the access points that stand in the list more than once: none of their rows is the right one."""
        copy.seek(0)
        seen: set[int] = set()
        repeated: set[int] = set()
        for item in self.adapter.digest(label, copy, name):
            if isinstance(item, Transaction) and item.access_point is not None:
                key = hash(item.access_point)
                (repeated if key in seen else seen).add(key)
        return repeated

    def transaction(self, listed: Transaction, repeated: set[int] = frozenset()) -> Transaction:  # type: ignore[assignment]
        """A point of a list as an opening balance.

        Args:
          listed: what the list tells of it.
          repeated: hashes of the access points that stand in the list more than once.
        """
        point = listed.access_point
        if point is not None and hash(point) in repeated:
            advice = "load a list with one picture of the point; `energycomm process` takes several mutations"
            again = refuse("PORTFOLIO_POINT", listed.reference, point, "an access point once in a list", advice)
            listed = structs.replace(listed, messages=(), refusals=(*listed.refusals, again))
        seed = blake2b(b"opening list\0" + listed.identity, digest_size=16)
        listed = structs.replace(listed, type=OPENING, identity=seed.digest())
        if listed.refusals:
            return listed
        messages = opening_of(listed.messages, self.zone)
        if messages:
            return structs.replace(listed, messages=messages)
        kinds = ", ".join(type(message).__name__ for message in listed.messages)
        refusal = refuse("PORTFOLIO_LIST", listed.reference, kinds, "a point that we supply", "look at it by itself")
        return structs.replace(listed, messages=(), refusals=(refusal,))


def opening_of(messages: Sequence[KernelMessage], zone: ZoneInfo) -> tuple[KernelMessage, ...]:
    """The opening balance of a point by what a market's list tells of it; empty where it tells of no supply.

    A picture of the point without an event does not say that supply begins: it began on the first day of the contract
    that the picture names. Where it names none, the supply holds from the picture on, and its start has no
    `contract_start`: the day on which it began is not known.
    """
    kept = [one for one in messages if isinstance(one, OPENING_KINDS)]
    if any(isinstance(one, RequestAnswer) for one in messages):  # what was asked was the picture: it is no open request
        kept = [one for one in kept if not isinstance(one, RequestStatus)]
    if not kept or any(isinstance(one, EndOfSupply) for one in messages):
        return ()
    first = kept[0]
    if not any(isinstance(one, StartOfSupply) for one in kept):
        if all(isinstance(one, RequestStatus) for one in kept):
            return ()
        days = [one.contract_start for one in kept if isinstance(one, ContractTerms) and one.contract_start]
        data = next((one for one in kept if isinstance(one, AccessPointData)), None)
        kept.insert(0, _start(first, data, days[0] if days else None, zone))
    supplier = next((one.supplier for one in kept if isinstance(one, StartOfSupply) and one.supplier), first.receiver)
    made = [
        structs.replace(
            one,
            market_type=OPENING,
            market_reason=None,
            reason=None,
            function="original",
            correlation=None,
            sender=supplier,
            receiver=supplier,
            sender_role="supplier",
            receiver_role="supplier",
        )
        for one in kept
    ]
    made.sort(key=lambda one: (one.effective, RANK[type(one).__name__]))
    return tuple(made)


def _start(first: KernelMessage, data: AccessPointData | None, began: date | None, zone: ZoneInfo) -> StartOfSupply:
    begins = first.effective.astimezone(zone).date() if began is None else began
    return StartOfSupply(
        market=first.market,
        energy=first.energy,
        market_type=OPENING,
        reference=first.reference,
        created=first.created,
        effective=min(midnight(zone, begins), first.effective),
        access_point=first.access_point,
        contract_reference=first.contract_reference,
        grid_operator=first.grid_operator,
        supplier=first.receiver if data is None or data.supplier is None else data.supplier,
        balance_responsible=None if data is None else data.balance_responsible,
        contract_start=began,
    )
