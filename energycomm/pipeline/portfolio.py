"""Taking over a portfolio: a file becomes an envelope of its own channel, each row an opening balance."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import datetime
from typing import IO

from msgspec import Struct, structs

from energycomm.eis.bulk import Row, driver_of
from energycomm.eis.database import Conflict, reading
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Transaction
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.records import TakenOver, look, to_process
from energycomm.portfolio.columns import refuse
from energycomm.portfolio.comparison import Comparison, compare_points
from energycomm.portfolio.files import Unreadable, rows_of, table_form
from energycomm.portfolio.opening import CHANNEL, header_of
from energycomm.portfolio.reading import Digesting, portfolio_reader
from energycomm.transport.envelopes import Envelope, Whole, open_envelope
from energycomm.transport.members import Member


class BadRow(Struct, frozen=True, kw_only=True):
    """Something wrong with a row.

    Attributes:
      row: its number in the file. In a table the names of the columns are row 1; in a market's list the first point is.
        None: the file as a whole.
      access_point: of the row.
      code: of the refusal, or of the rule that is not satisfied.
      column: the column, or the field of the message that the rule points at.
      value: the value found.
      expected: what was expected; of a rule its comment.
      advice: what to do.
    """

    row: int | None
    access_point: str | None = None
    code: str
    column: str = ""
    value: str | None = None
    expected: str = ""
    advice: str = ""


class Loaded(Struct, frozen=True, kw_only=True):
    """What became of a portfolio file.

    Attributes:
      envelope: number of the envelope that keeps its bytes.
      repeated: the very same file was loaded before; nothing else happened, and the rest is told of that time.
      rows: rows that were read.
      new: rows that were taken over.
      unchanged: rows that were loaded before with the same content.
      refused: rows that cannot be read.
      messages: Kernel messages by state.
      bad: everything that is wrong, by row, the first `most` of it.
      left_out: how many more there are.
    """

    envelope: int
    repeated: bool = False
    rows: int = 0
    new: int = 0
    unchanged: int = 0
    refused: int = 0
    messages: dict[str, int] = {}
    bad: tuple[BadRow, ...] = ()
    left_out: int = 0


def wrong_header(source: IO[bytes], name: str) -> list[Refusal]:
    """Everything that is wrong with the names of the columns of a table; nothing is asked of other files.

    Args:
      source: the bytes, seekable.
      name: file name.
    """
    source.seek(0)
    form = table_form(source.read(1 << 16), name)
    source.seek(0)
    if form is None:
        return []
    try:
        _, wrong = header_of(rows_of(source, form))
    except Unreadable as unreadable:
        wrong = [unreadable.refusal]
    source.seek(0)
    return wrong


def load_portfolio(store: Store, inbound: Inbound, source: IO[bytes], name: str, most: int) -> Loaded:
    """Take over a portfolio file: a table, or a list of points that a market sent.

    Args:
      store: the EIS.
      inbound: the path of envelopes.
      source: the bytes, seekable.
      name: file name.
      most: how many mistakes are told one by one.

    Raises:
      UserError: another process, a daemon, has begun with it.
    """
    source.seek(0)
    (archived,) = inbound.archive([(source, name)], CHANNEL)
    if archived.duplicate_of is not None:
        return structs.replace(loaded(store, archived.duplicate_of, most), repeated=True)
    try:
        for _ in inbound.process(to_process(archived, name, CHANNEL)):
            pass
    except (Conflict, TakenOver):
        raise UserError(
            f"Another process takes in {name}.", "Wait until it is done; then load it again, to see what became of it."
        ) from None
    return loaded(store, archived.envelope_id, most)


def compare_portfolio(
    store: Store, inbound: Inbound, source: IO[bytes], name: str, on: datetime, most: int
) -> Comparison | Refusal:
    """Compare a portfolio file, or a list that a market sent, with the store; nothing is stored.

    Args:
      store: the EIS.
      inbound: the path of envelopes: its keys, limits and markets.
      source: the bytes, seekable.
      name: file name.
      on: instant at which a supply must run to be ours.
      most: how many differences are told one by one.

    Returns:
      What differs; or why the file is neither a table nor a list of points.
    """
    source.seek(0)
    markets = inbound.adapters
    opened: Envelope | Whole
    if table_form(source.read(1 << 16), name) is not None:
        size = source.seek(0, io.SEEK_END)
        opened = Whole(name, size, inbound.limits, lambda: _anew(source))
    else:
        source.seek(0)
        opened = open_envelope(source, name, inbound.keys, inbound.limits)
    with opened:
        members: list[tuple[Digesting, str, Member]] = []
        for member in opened:
            seen = member if isinstance(member, Refusal) else look(member)
            if isinstance(member, Refusal) or isinstance(seen, Refusal):
                return seen if isinstance(seen, Refusal) else refuse("PORTFOLIO_FILE", name)
            if seen.cut is not None:
                return seen.cut
            route = portfolio_reader(markets, member.open, seen.sniff)
            if isinstance(route, Refusal):
                return route
            members.append((*route, member))
        found = {reader.market for reader, *_ in members}
        if len(found) != 1:
            expected = "the points of one market"
            return refuse("PORTFOLIO_FILE", name, ", ".join(sorted(found)), expected, "compare each market apart")
        (market,) = found
        try:
            return compare_points(store, market, markets.zone(market), _listed(members), on, most)
        except Unreadable as unreadable:
            return unreadable.refusal


def _listed(members: list[tuple[Digesting, str, Member]]) -> Iterator[Transaction]:
    """The points of all members.

    Raises:
      Unreadable: one of them cannot be read.
    """
    for reader, label, member in members:
        with member.open() as content:
            for item in reader.digest(label, content, member.name):
                if isinstance(item, Refusal):
                    raise Unreadable(item)
                if isinstance(item, Transaction):
                    yield item


def _anew(source: IO[bytes]) -> IO[bytes]:
    """The bytes of a source from its beginning, as a stream of its own that may be closed."""
    source.seek(0)
    return io.BufferedReader(_Lent(source))


class _Lent(io.RawIOBase):
    """A stream that leaves the one below open."""

    def __init__(self, below: IO[bytes]) -> None:
        super().__init__()
        self._below = below

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill a buffer; the number of bytes put there."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self._below.read(len(view))
        view[: len(data)] = data
        return len(data)


def loaded(store: Store, envelope: int, most: int) -> Loaded:
    """What became of a portfolio file that was loaded.

    Args:
      store: the EIS.
      envelope: the envelope that keeps it.
      most: how many mistakes are told one by one.
    """
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        sql = "SELECT outcome, count(*) FROM ch_message WHERE envelope_id = ? GROUP BY outcome"
        outcomes: dict[str, int] = {row[0]: row[1] for row in driver.rows(sql, (envelope,))}
        ((again,),) = driver.rows("SELECT count(*) FROM ch_duplicate WHERE envelope_id = ?", (envelope,))
        states = driver.rows(
            "SELECT k.state, count(*) FROM kernel_message k JOIN ch_message c ON c.id = k.ch_message_id "
            "WHERE c.envelope_id = ? GROUP BY k.state ORDER BY k.state",
            (envelope,),
        )
        ((refusals,),) = driver.rows(_NUMBER_OF_REFUSALS, (envelope,))
        ((findings,),) = driver.rows(_NUMBER_OF_FINDINGS, (envelope,))
        rows = [_bad(row) for row in driver.rows(_REFUSALS, (envelope, most))]
        rows += [_bad(row) for row in driver.rows(_FINDINGS, (envelope, most))]
    rows.sort(key=lambda one: (one.row or 0, one.column, one.code))
    counted = {state: int(number) for state, number in states}
    refused = sum(number for outcome, number in outcomes.items() if outcome != "digested")
    new = outcomes.get("digested", 0)
    return Loaded(
        envelope=envelope,
        rows=new + refused + int(again),
        new=new,
        unchanged=int(again),
        refused=refused,
        messages=counted,
        bad=tuple(rows[:most]),
        left_out=max(0, int(refusals) + int(findings) - most),
    )


def _bad(row: Row) -> BadRow:
    position, point, code, column, value, expected, advice = row
    return BadRow(
        row=position,
        access_point=point,
        code=code,
        column=column or "",
        value=value,
        expected=expected or "",
        advice=advice or "",
    )


_OF_REFUSALS = (
    "FROM incident i LEFT JOIN ch_message c ON c.id = i.ch_message_id WHERE i.envelope_id = ? AND i.severity = 'error'"
)
_OF_FINDINGS = (
    "FROM finding f JOIN kernel_message k ON k.id = f.message_id JOIN ch_message c ON c.id = k.ch_message_id "
    "WHERE c.envelope_id = ? AND f.\"current\" AND f.severity = 'error'"
)
_NUMBER_OF_REFUSALS = f"SELECT count(*) {_OF_REFUSALS}"
_ONCE = (  # several messages of a row have one mistake of it
    "SELECT DISTINCT c.position, c.access_point, f.error_code, f.field, f.value, f.comment, "
    f"'energycomm rules show ' || f.error_code AS advice {_OF_FINDINGS}"
)
_NUMBER_OF_FINDINGS = f"SELECT count(*) FROM ({_ONCE}) AS told"  # noqa: S608 - our own words
_REFUSALS = (
    f"SELECT c.position, c.access_point, i.code, i.path, i.value, i.expected, i.advice {_OF_REFUSALS} "
    "ORDER BY c.position, i.id LIMIT ?"
)
_FINDINGS = f"{_ONCE} ORDER BY c.position, f.error_code, f.field, f.comment LIMIT ?"
