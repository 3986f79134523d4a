"""The audit as a chain: each line holds the hash of its content and of the line before it.

    hash = SHA-256(previous + content)

`previous` is the hash of the line before, 32 zero bytes for the first. `content` is each column of `CONTENT` in turn,
numbers in decimal, as UTF-8 with its length before it: `2:17,` for 17. `position` counts the lines in the order of
their commits (ids come from blocks and say nothing of it). `audit_head` has one row, with the last position and hash;
who appends locks it until the end of the transaction, so the chain is one line however many processes write. It is
the only lock that an append takes: nobody waits in a circle.

Triggers refuse to change or delete lines (`energycomm.eis.triggers`). Who owns the database can drop them: then
`verify` shows what was changed, taken out or put in. Who writes all lines anew from some point on, and the head too,
is shown by a hash that was kept elsewhere.

Retention may cut the old end off (`cut`). A line of the chain itself says so, with the position and the hash of the
last line that was removed: the chain holds from there on. Lines that are missing without such a line were taken out.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from itertools import chain, islice, takewhile
from typing import Any, Literal

from msgspec import Struct
from sqlalchemy import Connection, Engine, select

from energycomm.eis import tables
from energycomm.eis.database import EXIT_DATABASE, Conflict, is_sqlite, reading
from energycomm.eis.store import Store, StoreTransaction
from energycomm.eis.triggers import unsealed
from energycomm.errors import UserError

CONTENT = ("id", "at", "person", "via", "action", "what", "subject", "status", "address")
"""The columns that the hash is made of, in their order."""

BEGINNING = bytes(32)
"""What stands for the hash of the line before the first."""

_WHAT, _SUBJECT = CONTENT.index("what"), CONTENT.index("subject")

_PARTS = re.compile(r"[\s=,;:&?]+")
_ALONE = 6
"""Characters of a word that says enough by itself."""
_WORD = 60
"""Characters of a word that are kept."""

CUTTING = "cut of the audit"
"""What the line is about that says which lines were removed."""
CUT = "lines up to {position} were removed, the last with the hash {hash}"
"""Its subject."""

MOST_SHOWN = 500
"""Access points of an answer by which its line is found: of longer lists the first."""

_PIECE = 5_000
"""Lines that are read at a time."""


class Flaw(Struct, frozen=True, kw_only=True):
    """The first place where the chain does not hold.

    Attributes:
      kind: changed: a line is not what was written; missing: lines were taken out before others; inserted: a line was
        put in; truncated: lines were taken away at the end; rewritten: the chain holds, but the hash that was
        remembered is not in it.
      position: of the line that it is about, or the first that is missing.
      id: of that line; None where it is not there.
      words: what was found.
    """

    kind: Literal["changed", "missing", "inserted", "truncated", "rewritten"]
    position: int
    id: int | None = None
    words: str


class Verification(Struct, frozen=True, kw_only=True):
    """The result of a check of the chain.

    Attributes:
      checked: lines that hold, from the first on that retention left.
      head: hash of the last line, hexadecimal: to be kept elsewhere, and compared with the next time; None where the
        chain does not hold.
      flaw: the first place where it does not hold; None where it does.
    """

    checked: int
    head: str | None
    flaw: Flaw | None


def hashed(previous: bytes, content: Sequence[int | str]) -> bytes:
    """The hash of a line.

    Args:
      previous: hash of the line before.
      content: the values of `CONTENT`.
    """
    parts = [str(value).encode() for value in content]
    return sha256(previous + b"".join(b"%d:%s," % (len(part), part) for part in parts)).digest()


def append(store: Store, content: Sequence[int | str], shown: Iterable[str] = ()) -> int:
    """Add a line at the end, in a transaction of its own.

    Args:
      store: the EIS.
      content: the values of `CONTENT` but the id, which is given here.
      shown: access points that were shown, by which the line is found too.

    Returns:
      The id of the line.

    Raises:
      UserError: it cannot be written, or the end of the chain is not what it should be.
    """
    try:
        with store.transaction() as tx:
            return _append(tx, content, shown)
    except Conflict:
        raise _headless() from None


def also_found_by(store: Store, number: int, shown: Iterable[str]) -> None:
    """Let a line be found by access points that were shown after it was written; the line itself is as it was.

    Args:
      store: the EIS.
      number: the id of the line.
      shown: the access points; `MOST_SHOWN` of them at most are kept.
    """
    sql = "INSERT INTO audit_word (word, audit_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
    with store.transaction() as tx:
        tx.driver.many(sql, [(word, number) for word in _shown_words(shown)])


def cut(tx: StoreTransaction, before: int, now: int, most: int) -> list[int]:
    """Remove the oldest lines of the chain, and say so in it. The last line always stays.

    Args:
      tx: the transaction; on PostgreSQL its user owns the table.
      before: lines from before this instant, microseconds since the epoch, up to the first that is younger.
      now: the present, microseconds since the epoch.
      most: how many at most.

    Returns:
      The positions of the lines that were removed.
    """
    sqlite = tx.connection.dialect.name == "sqlite"
    if not sqlite:
        tx.driver.rows("SELECT 1 FROM audit_head WHERE one = 1 FOR UPDATE")
    rows = tx.driver.rows('SELECT position, hash, "at" FROM audit ORDER BY position LIMIT ?', (most + 1,))
    old = list(takewhile(lambda row: row[2] < before, rows[:-1]))[:most]
    if not old:
        return []
    position, end, _ = old[-1]
    told = CUT.format(position=position, hash=bytes(end).hex())
    _append(tx, (now, "energycomm", "retention", "change", CUTTING, told, 0, ""), ())
    tx.driver.run("DELETE FROM audit_word WHERE audit_id IN (SELECT id FROM audit WHERE position <= ?)", (position,))
    with unsealed(tx.connection):
        tx.driver.run("DELETE FROM audit WHERE position <= ?", (position,))
    return [row[0] for row in old]


def _shown_words(shown: Iterable[str]) -> list[str]:
    return list(islice(dict.fromkeys(one.lower()[:_WORD] for one in shown if one.strip()), MOST_SHOWN))


def _append(tx: StoreTransaction, content: Sequence[int | str], shown: Iterable[str]) -> int:
    (number,) = tx.reserve(tables.audit, 1)
    lock = "" if tx.connection.dialect.name == "sqlite" else " FOR UPDATE"
    head = tx.driver.rows(f"SELECT position, hash FROM audit_head WHERE one = 1{lock}")  # noqa: S608 - no value
    if not head:
        raise _headless()
    position, previous = head[0][0] + 1, bytes(head[0][1])
    own = hashed(previous, (number, *content))
    line = dict(zip(CONTENT, (number, *content), strict=True))
    tx.insert(tables.audit, [{**line, "position": position, "previous": previous, "hash": own}])
    subject = str(line["subject"])
    words = dict.fromkeys((*words_of(subject), *_shown_words(shown)))
    tx.insert(tables.audit_word, [{"word": word, "audit_id": number} for word in words])
    tx.driver.run("UPDATE audit_head SET position = ?, hash = ? WHERE one = 1", (position, own))
    return number


def words_of(subject: str) -> list[str]:
    """What a line is found by: the identifiers in its subject, each alone where it is long and with the word before it.

    Args:
      subject: `message 17 access point 99000000000017`, `identifier=99000000000017`.

    Returns:
      `message 17`, `99000000000017`, `point 99000000000017`: each once, in small letters.
    """
    found: dict[str, None] = {}
    before = ""
    for word in _PARTS.split(subject.lower()):
        if any(sign.isdigit() for sign in word):
            if len(word) >= _ALONE:
                found[word[:_WORD]] = None
            if before:
                found[f"{before} {word}"[:_WORD]] = None
        before = word
    return list(found)


def _headless() -> UserError:
    return UserError(
        "The audit cannot be continued: its head is not that of its last line.",
        "`energycomm audit verify` shows the damage.",
        EXIT_DATABASE,
    )


def verify(engine: Engine, remembered: bytes | None = None) -> Verification:
    """Check every line, from the first to the head.

    Args:
      engine: the database.
      remembered: a hash that a former check told: the chain must still go through it.
    """
    with reading(engine) as connection:
        if not is_sqlite(engine):
            # One picture of both tables, however long it takes: others go on writing.
            connection.execution_options(isolation_level="REPEATABLE READ")
        head = connection.execute(select(tables.audit_head.c.position, tables.audit_head.c.hash)).first()
        with closing(_lines(connection)) as lines:
            first = next(lines, None)
            began = _Line(0, 0, True, b"", BEGINNING)
            if first is not None and first.position > 1:
                began = _Line(first.position - 1, 0, True, b"", first.previous)
            checked, last, flaw, found = began.position, began.hash, None, remembered in (None, began.hash)
            told = began.position == 0
            for line, flaw in _examined(began, chain(() if first is None else (first,), lines)):
                if flaw is not None:
                    break
                checked, last = line.position, line.hash
                found = found or last == remembered
                told = told or line.cut == CUT.format(position=began.position, hash=began.hash.hex())
    if not told and first is not None:
        gone = f"lines 1 to {began.position}" if began.position > 1 else "line 1"
        words = f"{gone} before line {first.position}, id {first.id}"
        flaw = Flaw(kind="missing", position=1, words=words)
    flaw = flaw or _end(checked, last, None if head is None else (head[0], bytes(head[1])))
    if flaw is None and not found:
        words = "no line has the given head: the audit was truncated or rewritten since"
        if began.position:
            words += f", or retention removed it, as it did all lines up to {began.position}"
        flaw = Flaw(kind="rewritten", position=1, words=words)
    if flaw is not None:
        return Verification(checked=max(min(checked, flaw.position - 1) - began.position, 0), head=None, flaw=flaw)
    return Verification(checked=checked - began.position, head=last.hex(), flaw=None)


class _Line(Struct, frozen=True):
    """A stored line: whether its hash is that of its content, how it is tied to the others, and what it says of lines
    that retention removed."""

    position: int
    id: int
    intact: bool
    previous: bytes
    hash: bytes
    cut: str | None = None


def _lines(connection: Connection) -> Generator[_Line]:
    t = tables.audit
    query = select(t.c.position, t.c.previous, t.c.hash, *(t.c[name] for name in CONTENT)).order_by(
        t.c.position, t.c.id
    )
    with connection.execute(query, execution_options={"yield_per": _PIECE}) as rows:
        for row in rows:
            position, previous, own = row[0], bytes(row[1]), bytes(row[2])
            content: Any = row[3:]
            about = content[_SUBJECT] if content[_WHAT] == CUTTING else None
            yield _Line(position, content[0], hashed(previous, content) == own, previous, own, about)


def _examined(began: _Line, lines: Iterator[_Line]) -> Iterator[tuple[_Line, Flaw | None]]:
    """Each line with what is wrong with it, or with the one before it; `began` stands for those that were removed."""
    before, last = _Line(-1, 0, True, BEGINNING, b""), began
    for line in lines:
        yield line, _flaw(before, last, line, lines)
        before, last = last, line


def _flaw(before: _Line, last: _Line, line: _Line, following: Iterator[_Line]) -> Flaw | None:
    if line.position <= last.position:
        return _inserted(line, "another line has its position")
    if not line.intact:
        after = next(following, None)
        if after is not None and after.previous == last.hash:
            return _inserted(line, "the line after it was written after the one before it")
        return Flaw(kind="changed", position=line.position, id=line.id, words="its hash is not that of its content")
    if line.position > last.position + 1:
        gone = last.position + 1
        words = f"lines {gone} to {line.position - 1}" if line.position - gone > 1 else f"line {gone}"
        return Flaw(kind="missing", position=gone, words=f"{words} before line {line.position}, id {line.id}")
    if line.previous == last.hash:
        return None
    if line.previous == before.hash:
        return _inserted(last, "the line after it was written after the one before it")
    words = f"line {line.position} was not written after it: it was replaced, or lines after it were taken out"
    return Flaw(kind="changed", position=last.position, id=last.id or None, words=words)


def _inserted(line: _Line, words: str) -> Flaw:
    return Flaw(kind="inserted", position=line.position, id=line.id, words=words)


def _end(checked: int, last: bytes, head: tuple[int, bytes] | None) -> Flaw | None:
    """What the head says of the end of the chain."""
    if head is None:
        return Flaw(
            kind="truncated", position=checked + 1, words="the head is missing: the end of the audit is unknown"
        )
    position, hash_ = head
    if position > checked:
        words = f"lines {checked + 1} to {position}" if position > checked + 1 else f"line {position}"
        return Flaw(kind="truncated", position=checked + 1, words=f"{words} at the end")
    if position < checked:
        return Flaw(kind="inserted", position=position + 1, words=f"by its head the audit ends at {position}")
    if hash_ != last:
        return Flaw(
            kind="changed", position=checked, words="the head has another hash: the line was replaced, or the head"
        )
    return None
