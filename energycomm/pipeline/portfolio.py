"""Taking over a portfolio: a file becomes an envelope of its own channel, each row an opening balance."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO

from msgspec import Struct, structs

from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.records import to_process
from energycomm.portfolio.files import Unreadable, rows_of, table_form
from energycomm.portfolio.opening import CHANNEL, header_of


class BadRow(Struct, frozen=True, kw_only=True):
    """Something wrong with a row.

    Attributes:
      row: its number in the file, from 1; that of the names of the columns is 1. None: the file as a whole.
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
    messages: dict[str, int] = {}  # noqa: RUF012 - msgspec copies it
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


def load_portfolio(
    store: Store,
    inbound: Inbound,
    source: IO[bytes],
    name: str,
    most: int,
    told: Callable[[int], None] = lambda _: None,
) -> Loaded:
    """Take over a portfolio file: a table, or a list of points that a market sent.

    Args:
      store: the EIS.
      inbound: the path of envelopes.
      source: the bytes, seekable.
      name: file name.
      most: how many mistakes are told one by one.
      told: is called with the number of Kernel messages so far.
    """
    source.seek(0)
    (archived,) = inbound.archive([(source, name)], CHANNEL)
    if archived.duplicate_of is not None:
        return structs.replace(loaded(store, archived.duplicate_of, most), repeated=True)
    done = 0
    for step in inbound.process(to_process(archived, name, CHANNEL)):
        done += sum(step.tally.messages.values())
        told(done)
    return loaded(store, archived.envelope_id, most)


def loaded(store: Store, envelope: int, most: int) -> Loaded:
    """What became of a portfolio file that was loaded.

    Args:
      store: the EIS.
      envelope: the envelope that keeps it.
      most: how many mistakes are told one by one.
    """
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        outcomes = dict(
            driver.rows("SELECT outcome, count(*) FROM ch_message WHERE envelope_id = ? GROUP BY outcome", (envelope,))
        )
        ((again,),) = driver.rows("SELECT count(*) FROM ch_duplicate WHERE envelope_id = ?", (envelope,))
        states = driver.rows(
            "SELECT k.state, count(*) FROM kernel_message k JOIN ch_message c ON c.id = k.ch_message_id "
            "WHERE c.envelope_id = ? GROUP BY k.state ORDER BY k.state",
            (envelope,),
        )
        ((refusals,),) = driver.rows(_NUMBER_OF_REFUSALS, (envelope,))
        ((findings,),) = driver.rows(_NUMBER_OF_FINDINGS, (envelope,))
        rows = [BadRow(**_bad(row)) for row in driver.rows(_REFUSALS, (envelope, most))]
        rows += [BadRow(**_bad(row)) for row in driver.rows(_FINDINGS, (envelope, most))]
    rows.sort(key=lambda one: (one.row or 0, one.column, one.code))
    counted = {state: int(number) for state, number in states}
    refused = sum(int(number) for outcome, number in outcomes.items() if outcome != "digested")
    new = int(outcomes.get("digested", 0))
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


def _bad(row: tuple[object, ...]) -> dict[str, object]:
    position, point, code, column, value, expected, advice = row
    number = None if position is None else int(str(position)) + 1
    return {
        "row": number,
        "access_point": point,
        "code": code,
        "column": column or "",
        "value": value,
        "expected": expected or "",
        "advice": advice or "",
    }


_OF_REFUSALS = (
    "FROM incident i LEFT JOIN ch_message c ON c.id = i.ch_message_id WHERE i.envelope_id = ? AND i.severity = 'error'"
)
_OF_FINDINGS = (
    "FROM finding f JOIN kernel_message k ON k.id = f.message_id JOIN ch_message c ON c.id = k.ch_message_id "
    "WHERE c.envelope_id = ? AND f.\"current\" AND f.severity = 'error'"
)
_NUMBER_OF_REFUSALS = f"SELECT count(*) {_OF_REFUSALS}"  # noqa: S608 - our own words
_NUMBER_OF_FINDINGS = f"SELECT count(*) {_OF_FINDINGS}"  # noqa: S608 - our own words
_REFUSALS = (
    f"SELECT c.position, c.access_point, i.code, i.path, i.value, i.expected, i.advice {_OF_REFUSALS} "  # noqa: S608
    "ORDER BY c.position, i.id LIMIT ?"
)
_FINDINGS = (
    "SELECT c.position, c.access_point, f.error_code, f.field, f.value, f.comment, "  # noqa: S608 - our own words
    f"'energycomm rules show ' || f.error_code {_OF_FINDINGS} ORDER BY c.position, f.id LIMIT ?"
)


def as_source(content: bytes) -> IO[bytes]:
    """Bytes as a source."""
    return io.BytesIO(content)
