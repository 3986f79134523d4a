"""Rows of the store that hold what somebody typed: whole, as a beginning, as a part, or with one sign wrong.

Each question takes a bounded number of rows out of an index (`energycomm.eis.findable`), whatever the store holds. What
comes back is looked at here: the databases differ in what they take for a letter.
"""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from sqlalchemy import Connection, Engine

from energycomm.eis import nameindex, tables
from energycomm.eis.bulk import Driver, driver_of
from energycomm.eis.database import is_sqlite, reading, writing_now
from energycomm.eis.findable import (
    FINDABLE,
    INDEXED,
    NAMES,
    Findable,
    able,
    behind,
    catch_up,
    merge,
    segments,
    upto_of,
)
from energycomm.errors import UserError

How: TypeAlias = Literal["whole", "beginning", "part", "similar"]
HOW: Final[tuple[How, ...]] = ("whole", "beginning", "part", "similar")
"""How a value fits what was typed, the best first."""

SHORTEST: Final = 3
"""Signs that a part must have to be looked for: those of a trigram."""

SHORTEST_SIMILAR: Final = 6
DIFFERENT: Final = 3
"""Different signs that a mistyped word must have: one of zeros would be looked for in all that has zeros."""

MOST: Final = 60
"""Rows that one question takes out of an index."""

MOST_TRIGRAMS: Final = 8
"""Trigrams of a run of signs that are all looked for."""

SCATTERED: Final = 2
"""Pieces of an index of SQLite that are left as they are."""

CANDIDATES: Final = 300
"""Customers whose names are looked at."""


class FoundRow(NamedTuple):
    """A value of the store.

    Attributes:
      table, column: where it is.
      value: as it is stored.
      how: how it fits.
      market: ISO code, where it is of one market.
      key: what leads to it: identifier of an access point, number of a request, ...
    """

    table: str
    column: str
    value: str
    how: How
    market: str | None
    key: str


class _Place(NamedTuple):
    """What leads to a row: its market and key, as SQL, and the table that knows them."""

    market: str
    key: str
    join: str = ""


_POINT: Final = _Place("p.market", "p.identifier", "JOIN access_point p ON p.id = t.access_point_id")
_MESSAGE: Final = _Place("k.market", "t.message_id", "JOIN kernel_message k ON k.id = t.message_id")

_PLACES: Final = {
    "access_point": _Place("t.market", "t.identifier"),
    "supply_period": _POINT,
    "contract": _POINT,
    "meter": _POINT,
    "named_meter": _POINT,
    # A CH message of which nothing was made leads to its envelope.
    "ch_message": _Place(
        "t.market",
        "coalesce((SELECT 'message ' || min(k.id) FROM kernel_message k WHERE k.ch_message_id = t.id), "
        "'envelope ' || t.envelope_id)",
    ),
    "customer": _POINT,
    "outgoing": _Place("t.market", "t.id"),
    "request": _MESSAGE,
    "received_request": _MESSAGE,
    "grid_invoice": _Place("t.market", "t.invoice"),
    "envelope": _Place("t.market", "t.id"),
    "member": _Place("e.market", "t.envelope_id", "JOIN envelope e ON e.id = t.envelope_id"),
    "ticket": _Place("t.market", "t.id"),
}
"""Table -> where its rows lead."""


def refresh(engine: Engine) -> None:
    """Take what came since into the index of SQLite, if nobody writes at this moment: else a search reads it."""
    if not is_sqlite(engine):
        return
    with reading(engine) as connection:
        if not able(connection) or not behind(connection):
            return
    with contextlib.suppress(UserError), writing_now(engine) as connection:
        catch_up(connection)


def tidy(engine: Engine) -> None:
    """Merge the pieces that the index of SQLite lies in, a few pages at a time, until somebody else writes."""
    if not is_sqlite(engine):
        return
    with reading(engine) as connection:
        if not able(connection):
            return
        scattered = [one for one in INDEXED.values() if segments(connection, one) > SCATTERED]
    with contextlib.suppress(UserError):
        for one in scattered:
            begin = left = True
            while left:
                with writing_now(engine) as connection:
                    left = merge(connection, one, begin=begin)
                begin = False


def values_like(connection: Connection, words: Sequence[str]) -> list[FoundRow]:
    """Values that hold all of some words, in any case of letters.

    Args:
      connection: to the store.
      words: at least one has `SHORTEST` signs.
    """
    asked = _Questions(connection)
    return [row for one in FINDABLE.values() for column in one.columns for row in asked.like(one, column, words)]


def values_near(connection: Connection, word: str) -> list[FoundRow]:
    """Values that hold a word but for one sign that is wrong, missing or too many, or two that are in the wrong order.

    Args:
      connection: to the store.
      word: with at least `SHORTEST_SIMILAR` signs, some of them different; nothing is found by fewer.
    """
    if len(word) < SHORTEST_SIMILAR or len(set(word)) < DIFFERENT:
        return []
    asked = _Questions(connection)
    return [row for one in FINDABLE.values() for column in one.columns for row in asked.near(one, column, word)]


def points_like(connection: Connection, text: str) -> list[str]:
    """Identifiers of access points that hold a text, or with one sign wrong; a few of them, the best first.

    Args:
      connection: to the store.
      text: what somebody typed for an identifier.
    """
    points = FINDABLE["access_point"]
    asked = _Questions(connection)
    near = len(text) >= SHORTEST_SIMILAR and len(set(text)) >= DIFFERENT
    found = asked.like(points, "identifier", [text]) or (asked.near(points, "identifier", text) if near else [])
    return [row.value for row in sorted(found, key=lambda row: (HOW.index(row.how), row.value))[:3]]


def customers_named(connection: Connection, text: str, *, mistyped: bool) -> list[FoundRow]:
    """Customers whose names hold all words of a text, or words that begin like them.

    Args:
      connection: to the store.
      text: words of a name.
      mistyped: one letter of each may be wrong.
    """
    words = nameindex.words_of(text)[: nameindex.MOST_WORDS]
    if not any(word.isalpha() and len(word) > 1 for word in words):
        return []
    return _Questions(connection).customers(words, mistyped=mistyped)


def customers_reached(connection: Connection, text: str, *, mistyped: bool) -> list[FoundRow]:
    """Customers by a telephone number, an e-mail address or a company's register number: whole, by the beginning or
    the end of it.

    Args:
      connection: to the store.
      text: the number or the address, whatever stands between its signs.
      mistyped: one sign may be wrong.
    """
    if not nameindex.readings(text):
        return []
    return _Questions(connection).reached(text, mistyped=mistyped)


def references_like(connection: Connection, text: str) -> list[FoundRow]:
    """CH messages by a reference that begins with their access point, for whom types that whole and a colon: those that
    tell nothing but its days are in no index, since there are as many as readings."""
    point, colon, _ = text.partition(":")
    if not colon:
        return []
    rows = driver_of(connection).rows(_REFERENCES_OF_POINT, (point, len(text), text))
    fitting = ((reference, market, key, fit(reference, (text,))) for reference, market, key in rows)
    return [
        FoundRow("ch_message", "reference", reference, how, market, str(key))
        for reference, market, key, how in fitting
        if how is not None
    ]


def references_near(connection: Connection, text: str) -> list[FoundRow]:
    """The same with one mistake behind the access point."""
    point, colon, rest = text.partition(":")
    whole = point + colon
    asked = _Questions(connection)
    patterns = [
        f"{asked.escaped(whole + left)}%{asked.escaped(right)}%"
        for left, right in holes(rest)
        if colon and len(rest) >= SHORTEST_SIMILAR
    ]
    if not patterns:
        return []
    sql = _OF_POINT.format(" OR ".join(["c.reference LIKE ?"] * len(patterns)))
    return [
        FoundRow("ch_message", "reference", reference, "similar", market, str(key))
        for reference, market, key in driver_of(connection).rows(sql, (point, *patterns))
        if one_mistake(reference[len(whole) :], rest)
    ]


_OF_POINT: Final = (
    "SELECT c.reference, c.market, min(k.id) FROM access_point p "
    "JOIN kernel_message k ON k.access_point_id = p.id JOIN ch_message c ON c.id = k.ch_message_id "
    f"WHERE p.identifier = ? AND ({{0}}) GROUP BY c.id, c.reference, c.market LIMIT {MOST}"
)
_REFERENCES_OF_POINT: Final = _OF_POINT.format("substr(c.reference, 1, ?) = ?")


def numbers_of(connection: Connection, number: int) -> list[str]:
    """The tables that have a row of this number, of those whose numbers people know."""
    driver = driver_of(connection)
    asked = (f"SELECT 1 FROM {table} WHERE id = ?" for table in NUMBERED)  # by the primary key
    return [table for table, sql in zip(NUMBERED, asked, strict=True) if driver.rows(sql, (number,))]


NUMBERED: Final = ("kernel_message", "ticket", "outgoing", "envelope", "campaign")


class _Questions:
    """Questions to one store."""

    def __init__(self, connection: Connection) -> None:
        self._sqlite = connection.dialect.name == "sqlite"
        self._driver: Driver = driver_of(connection)
        self._indexed = able(connection)
        self._upto = upto_of(connection) if self._sqlite and self._indexed else {}

    def like(self, one: Findable, column: str, words: Sequence[str]) -> list[FoundRow]:
        """What holds all words. What fits better is asked for apart where there is more than is taken."""
        found: dict[tuple[str, str], FoundRow] = {}
        if not any(indexed(word) for word in words) or max(map(len, words)) > _longest(one.table, column):
            return []
        for before, after in (("%", "%"), ("", "%"), ("", "")):
            first, *others = words
            patterns = [f"{before}{self.escaped(first)}{after}", *(f"%{self.escaped(word)}%" for word in others)]
            rows = self._rows(one, column, patterns)
            for value, part, market, key in rows:
                how = fit(part, words)
                if how is not None:
                    found[value, key] = _led(one, column, value, how, market, key)
            if len(rows) < MOST:
                break
        return list(found.values())

    def near(self, one: Findable, column: str, word: str) -> list[FoundRow]:
        """What holds a word but for one mistake."""
        found: dict[tuple[str, str], FoundRow] = {}
        for left, right in holes(word):
            if not (indexed(left) or indexed(right)) or len(word) > _longest(one.table, column) + 1:
                continue
            pattern = f"%{self.escaped(left)}%{self.escaped(right)}%".replace("%%", "%")
            for value, part, market, key in self._rows(one, column, [pattern]):
                if one_mistake(part, word):
                    found[value, key] = _led(one, column, value, "similar", market, key)
        return list(found.values())

    def customers(self, words: Sequence[str], *, mistyped: bool) -> list[FoundRow]:
        """Customers with names like these words."""
        secret = nameindex.secret_of(self._driver, make=False)
        if secret is None:
            return []
        # Each word is one of some hashes, and all words must be there. Short ones are only compared with the names.
        long = [word for word in words if len(word) >= SHORTEST] or words
        wanted = [nameindex.likely(word, secret) if mistyped else [nameindex.beginning(word, secret)] for word in long]
        found: dict[tuple[str, str], FoundRow] = {}
        fitting: dict[int, tuple[str, How]] = {}
        for number, name in self._candidates("id, name", wanted):
            how = fit_of_name(name or "", words, mistyped=mistyped)
            if how is not None:
                fitting[number] = (name, how)
        for number, market, key in self._customers(fitting):
            name, how = fitting[number]
            found[name, key] = FoundRow("customer", "name", name, how, market, key)
        return list(found.values())

    def reached(self, text: str, *, mistyped: bool) -> list[FoundRow]:
        """Customers with contacts like this text."""
        secret = nameindex.secret_of(self._driver, make=False)
        if secret is None:
            return []
        found: dict[tuple[str, str], FoundRow] = {}
        fitting: dict[int, list[tuple[str, str, How]]] = {}
        for number, content in self._candidates(
            "id, content", [nameindex.asked_contact(text, secret, mistyped=mistyped)]
        ):
            for field, value in nameindex.contacts_of(content):
                how = fit_of_contact(value, text, mistyped=mistyped)
                if how is not None:
                    fitting.setdefault(number, []).append((field, value, how))
        for number, market, key in self._customers(fitting):
            for field, value, how in fitting[number]:
                found[value, key] = FoundRow("customer", field, value, how, market, key)
        return list(found.values())

    def _candidates(self, columns: str, wanted: Sequence[Sequence[str]]) -> list[Any]:
        """Customers who have one of the hashes of each."""
        condition, values = self._hashes(wanted)
        likely = f"SELECT customer_id FROM customer_words WHERE {condition} LIMIT {CANDIDATES}"
        return self._driver.rows(f"SELECT {columns} FROM customer WHERE id IN ({likely})", values)

    def _customers(self, some: Iterable[int]) -> list[Any]:
        """(id, market, access point) of customers."""
        place = _PLACES["customer"]
        sql = f"SELECT t.id, {place.market}, {place.key} FROM customer t {place.join} WHERE true"
        return self._driver.matching(sql, list(some), "t.id")

    def _hashes(self, wanted: Sequence[Sequence[str]]) -> tuple[str, list[object]]:
        if not self._sqlite:
            # One condition for all, so that one walk of the index serves it.
            return " AND ".join(["string_to_array(words, ' ') && ?::text[]"] * len(wanted)), list(wanted)
        read = " AND ".join(f"({' OR '.join(['words LIKE ?'] * len(some))})" for some in wanted)
        values: list[object] = [f"%{one}%" for some in wanted for one in some]
        if not self._indexed:
            return read, values
        asked = " AND ".join(f"({' OR '.join(some)})" for some in wanted)
        match = f"SELECT rowid FROM {NAMES.stem} WHERE {NAMES.stem} MATCH ? LIMIT {CANDIDATES}"
        return f"customer_id IN ({match}) OR customer_id > ? AND {read}", [asked, self._upto[NAMES.table], *values]

    def _rows(self, one: Findable, column: str, patterns: Sequence[str]) -> list[tuple[str, str, str | None, str]]:
        """(value, the part of it that is searched, market, key) of what fits patterns."""
        place = _PLACES[one.table]
        like = f"{one.part(column)} LIKE ?" if self._sqlite else f"{one.text(column)} ILIKE ?"
        condition = " AND ".join([like] * len(patterns))
        condition = f"{condition} AND {one.where}" if one.where else condition
        values: list[object] = list(patterns)
        some = f"SELECT * FROM {one.table} WHERE {condition} LIMIT {MOST}"
        if self._sqlite and self._indexed:
            # Row by row, so that what is found often is not gathered first.
            index = f"SELECT rowid AS found FROM {one.stem} WHERE {one.stem} MATCH ?"
            walk = f"SELECT t.* FROM ({index}) CROSS JOIN {one.table} t ON t.{one.key} = found WHERE {condition}"
            new = f"SELECT * FROM {one.table} WHERE {one.key} > ? AND {condition} LIMIT {MOST}"
            some = f"SELECT * FROM ({walk} LIMIT {MOST}) UNION ALL SELECT * FROM ({new})"
            values = [telling(patterns), *patterns, self._upto[one.table], *patterns]
        shown = f"t.{column}, {one.part(column, 't')}, {place.market}, CAST({place.key} AS TEXT)"
        rows = self._driver.rows(f"SELECT {shown} FROM ({some}) AS t {place.join}", values)
        return [(row[0], row[1], row[2], row[3]) for row in rows]

    def escaped(self, word: str) -> str:
        """A word as a pattern. SQLite takes an index only for patterns without escapes, and neither database surely
        knows the case of more than ASCII: `_` finds more than it should, which is left out afterwards."""
        if self._sqlite:
            return _FOREIGN.sub("_", word)
        return re.sub(r"[^\x00-\x7f]", "_", re.sub(r"([\\%_])", r"\\\1", word))


def _led(one: Findable, column: str, value: str, how: How, market: str | None, key: str) -> FoundRow:
    """A row; one whose key says what it leads to leads there."""
    what, space, number = key.partition(" ")
    if one.table != "ch_message" or not space:
        return FoundRow(one.table, column, value, how, market, key)
    return FoundRow("envelope" if what == "envelope" else one.table, column, value, how, market, number)


def indexed(word: str) -> bool:
    """Whether an index of trigrams can look for a word: signs that stand for others in a pattern end a run of signs,
    and PostgreSQL keeps letters and digits alone."""
    return any(
        len(run) >= SHORTEST and sum(sign.isalnum() for sign in run) >= SHORTEST - 1 for run in _FOREIGN.split(word)
    )


def telling(patterns: Sequence[str]) -> str:
    """A question to FTS5 for what may fit patterns: few trigrams of a long run, since each that is common is read
    through, and of these the ones with digits, which tell names of files and references apart."""
    found: dict[str, None] = {}
    for run in (run for pattern in patterns for run in _FOREIGN.split(pattern) if len(run) >= SHORTEST):
        every = [run[at : at + SHORTEST] for at in range(len(run) - SHORTEST + 1)]
        if len(every) > MOST_TRIGRAMS:
            apart = dict.fromkeys((*every[::SHORTEST], every[-1]))
            numbered = [one for one in apart if any(sign.isdigit() for sign in one)]
            every = numbered if len(numbered) > 1 else list(apart)
        found |= dict.fromkeys(every)
    return " AND ".join('"' + one.replace('"', '""') + '"' for one in found)


@cache
def _longest(table: str, column: str) -> int:
    """Signs that a value of a column has at most."""
    kind = tables.metadata.tables[table].columns[column].type
    return getattr(kind, "length", None) or 1 << 30


_FOREIGN: Final = re.compile(r"[%_\\]|[^\x00-\x7f]")
"""Signs of a pattern that no trigram is made of."""


def fit(value: str, words: Sequence[str]) -> How | None:
    """How a value fits words, all of which it must hold; None where it does not."""
    told, asked = value.casefold(), [word.casefold() for word in words]
    if told == " ".join(asked):
        return "whole"
    if not all(word in told for word in asked):
        return None
    return "beginning" if told.startswith(asked[0]) else "part"


def fit_of_name(name: str, words: Sequence[str], *, mistyped: bool) -> How | None:
    """How the name of a customer fits words of a name; None where it does not."""
    there = nameindex.words_of(name)
    if sorted(there) == sorted(words):
        return "whole"
    if all(any(one.startswith(word) for one in there) for word in words):
        return "beginning"
    if mistyped and all(any(near_word(one, word) for one in there) for word in words):
        return "similar"
    return None


def fit_of_contact(value: str, typed: str, *, mistyped: bool) -> How | None:
    """How a contact of a customer fits one that is typed; None where it does not."""
    pairs = [(there, asked) for there in nameindex.readings(value) for asked in nameindex.readings(typed)]
    if any(there == asked for there, asked in pairs):
        return "whole"
    if any(there.startswith(asked) for there, asked in pairs):
        return "beginning"
    if any(there.endswith(asked) or (asked.startswith("@") and asked in there) for there, asked in pairs):
        return "part"
    return "similar" if mistyped and any(near_word(there, asked) for there, asked in pairs) else None


def near_word(one: str, other: str) -> bool:
    """Whether two words differ by at most one mistake."""
    return one == other or (one_mistake(one, other) and abs(len(one) - len(other)) <= 1)


def holes(word: str) -> Iterator[tuple[str, str]]:
    """A word cut around each place where a mistake may be: what stands before it and behind it.

    Each two neighbours are within one of the holes, so that a sign that is wrong, missing or too many, and two that
    are in the wrong order, are in one. What is left must hold a trigram.
    """
    width = 4 if len(word) >= 8 else 3 if len(word) == 7 else 2
    for start in range(0, len(word) - 1, width - 1):
        left, right = word[:start], word[start + width :]
        if max(len(left), len(right)) >= SHORTEST:
            yield left, right


def one_mistake(value: str, word: str) -> bool:
    """Whether a value holds a word with exactly one mistake, in any case of letters."""
    told, asked = value.casefold(), word.casefold()
    return any(
        re.search(pattern, told) is not None
        for place in range(len(asked) + 1)
        for pattern in _with_mistake(asked, place)
    )


def _with_mistake(word: str, place: int) -> Iterator[str]:
    before, after = re.escape(word[:place]), word[place:]
    yield f"{before}.{re.escape(after)}"  # one is missing
    if after:
        yield f"{before}.?{re.escape(after[1:])}"  # one is wrong, or too many
    if len(after) > 1:
        yield f"{before}{re.escape(after[1] + after[0] + after[2:])}"
