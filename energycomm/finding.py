"""Find anything: one question to everything that has a name or a number, for the command, the API and the console.

    found = find(store.engine, catalogue, scripts, "99000000000404")

Identifiers and references are found whole, by their beginning, by a part, and with one mistake; so are the names of
customers, but for parts, and their contacts, by the beginning and the end. Which columns of the store are searched is
declared in `energycomm.eis.findable`.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple
from urllib.parse import quote

from msgspec import Struct
from sqlalchemy import Connection, Engine

from energycomm.choices import UnknownWord
from energycomm.correction.library import Heading
from energycomm.eis.database import reading
from energycomm.eis.findable import EXTENSION, FINDABLE, able
from energycomm.eis.finding import (
    HOW,
    NUMBERED,
    SHORTEST,
    FoundRow,
    How,
    customers_named,
    customers_reached,
    fit,
    numbers_of,
    references_like,
    references_near,
    refresh,
    values_like,
    values_near,
)
from energycomm.eis.nameindex import CONTACTS, unfinished
from energycomm.eis.tallies import code_frequencies
from energycomm.engine.catalogue import Catalogue
from energycomm.texts import wording
from energycomm.texts.catalogues import LANGUAGES, Folders, translate

LONGEST: Final = 200
LONG: Final = 12
"""Digits of an identifier before which letters are no part of it."""

_LABEL: Final = re.compile(r"^[^\W\d_]{1,4}\W{0,3}(?=\d)")
_MARKET: Final = re.compile(r"([A-Za-z]{2})(?: |(?=\d{8}))(?=\S)")
SHOWN: Final = 8
"""Results of a kind, unless more are asked for."""


class _Way(NamedTuple):
    """How to come to what was found: the kind it is, what its value is, its page, and its command."""

    kind: str
    field: str
    page: str
    command: str


_POINT: Final = ("/access-points/{market}/{key}", "access-point show {key}")
_MESSAGE: Final = ("/messages/{key}", "message show {key}")
_REQUEST: Final = ("/requests/{key}", "request show {key}")
_FILE: Final = ("/envelopes/{key}", "envelope show {key}")
_TICKET: Final = ("/tickets/{key}", "correct tickets")

_LEADS: Final = {
    "access_point": _POINT,
    "supply_period": _POINT,
    "contract": _POINT,
    "meter": _POINT,
    "named_meter": _POINT,
    "ch_message": _MESSAGE,
    "outgoing": _REQUEST,
    "request": _MESSAGE,
    "received_request": _MESSAGE,
    "grid_invoice": ("/invoices/{key}", "invoice show {key}"),
    "envelope": _FILE,
    "member": _FILE,
    "ticket": _TICKET,
}
"""Table that is searched -> page and command of what its rows lead to."""

_WAYS: Final[Mapping[tuple[str, str], _Way]] = {
    **{
        (table, column): _Way(one.kind, words, *_LEADS[table])
        for table, one in FINDABLE.items()
        for column, words in one.columns.items()
    },
    ("customer", "name"): _Way("customer", "name", *_POINT),
    **{("customer", field): _Way("customer", words, *_POINT) for field, words in CONTACTS.items()},
    ("envelope", "reference"): _Way("message", "the market's reference", *_FILE),
    ("kernel_message", "id"): _Way("message", "number", *_MESSAGE),
    ("ticket", "id"): _Way("ticket", "number", *_TICKET),
    ("outgoing", "id"): _Way("request", "number", *_REQUEST),
    ("envelope", "id"): _Way("file", "number", *_FILE),
    ("campaign", "id"): _Way("campaign", "number", "/campaigns/{key}", "correct history"),
    ("rule", "code"): _Way("code", "code", "/rules/{key}", "rules show {key}"),
    ("rule", "title"): _Way("code", "rule", "/rules/{key}", "rules show {key}"),
    ("finding", "code"): _Way("code", "code of messages", "/messages?code={key}", "message list --code {key}"),
    ("script", "name"): _Way("script", "name", "", "correct script show {key}"),
    ("script", "title"): _Way("script", "title", "", "correct script show {key}"),
    ("script", "state"): _Way("script", "state", "", "correct script show {key}"),
}
"""(Table, column) -> what is found there."""

FIELDS: Final = frozenset(way.field for way in _WAYS.values())
"""What of it may fit: identifier, serial number, name, ..."""

KINDS: Final = (
    "access point",
    "contract",
    "meter",
    "customer",
    "message",
    "request",
    "ticket",
    "invoice",
    "file",
    "campaign",
    "code",
    "script",
)
"""What can be found, in the order in which equally good results are told."""


class Hit(Struct, frozen=True, kw_only=True):
    """Something that was found.

    Attributes:
      field: what of it fits: identifier, serial number, name, ...
      value: the value that fits.
      how: whole, beginning, part; similar for one with a mistake.
      market: ISO code, where it is of one market.
      key: what names it: identifier of the access point, number of the request, code of the rule.
      page: its page in the console; empty where it has none.
      command: what shows it on the command line, after `energycomm`.
    """

    field: str
    value: str
    how: How
    market: str | None
    key: str
    page: str
    command: str


class Group(Struct, frozen=True, kw_only=True):
    """What was found of a kind, the best first.

    Attributes:
      kind: one of `KINDS`.
      hits: the best of them.
      more: there are others.
    """

    kind: str
    hits: tuple[Hit, ...]
    more: bool


class Found(Struct, frozen=True, kw_only=True):
    """The answer to a search.

    Attributes:
      words: what was looked for.
      groups: by kind, the kind of the best result first; none where nothing fits.
      mistyped: nothing fits; the groups hold what would with one mistake less.
      searched: the kinds that were searched.
      notes: what this store cannot answer as it should, and what to do about it.
    """

    words: str
    groups: tuple[Group, ...]
    mistyped: bool
    searched: tuple[str, ...]
    notes: tuple[str, ...] = ()


def opened(found: Found) -> Hit | None:
    """What somebody means who wants to be led there at once: the only thing that is named so, or the message that has
    the number; None where they have to choose."""
    whole = [hit for group in found.groups for hit in group.hits if hit.how == "whole" and hit.page]
    number = next((hit for hit in whole if hit.page == f"/messages/{found.words}"), None)
    return number or (whole[0] if len(whole) == 1 else None)


def about(found: Found) -> str:
    """Whose data an answer shows, for the audit: what was found, not what was typed, which may be somebody's name."""
    told = dict.fromkeys(
        f"{group.kind} {hit.key}" for group in found.groups for hit in group.hits if group.kind not in _OPEN
    )
    return f"search: {', '.join(told) or 'nothing'}"


_OPEN: Final = ("code", "script")
"""Kinds that say nothing of anybody."""


class TooShort(UnknownWord):
    """What was typed would be found everywhere."""

    def __init__(self, words: str) -> None:
        what = f"{words!r} is too short to be looked for." if words else "There is nothing to look for."
        super().__init__("q", words, what, f"Type at least {SHORTEST} signs of a word, or a number: ticket 7.")


def find(
    engine: Engine,
    catalogue: Catalogue,
    scripts: Iterable[Heading],
    text: str,
    *,
    limit: int = SHOWN,
    texts: Folders = (),
) -> Found:
    """Everything that fits what somebody typed.

    Args:
      engine: the store, unlocked.
      catalogue: the rules.
      scripts: the correction scripts.
      text: words, a number, or a kind and a number: ``ticket 7``.
      limit: results of a kind at most.
      texts: folders of catalogues in which the titles of rules are translated.

    Raises:
      TooShort: nothing of it is long enough to be looked for.
    """
    text, declared = plain(text), _Declared(catalogue, tuple(scripts), texts)
    readings = _readings(text, catalogue.markets) if text else []
    if len(readings) > 1 and readings[-1].market:
        readings[0] = _Asked(text, market=readings[-1].market)
    asked = [one for one in readings if _forms(one.text)]
    refresh(engine)
    with reading(engine) as connection:
        found = [row for one in readings for row in _numbered(connection, one) if one.wants(row)]
        if not found and not asked:
            raise TooShort(text)
        found += [row for one in asked for row in _fitting(connection, declared, one.text) if one.wants(row)]
        mistyped = not found
        if mistyped:
            found = [row for one in asked for row in _similar(connection, declared, one.text) if one.wants(row)]
        notes = tuple(_notes(connection))
    if not found and (found := declared.all_scripts(readings)):
        mistyped, limit, notes = False, len(found), (*notes, _ALL_SCRIPTS)
    return Found(
        words=text, groups=_grouped(found, limit), mistyped=mistyped and bool(found), searched=KINDS, notes=notes
    )


_SCRIPT: Final = "script"
_ALL_SCRIPTS: Final = wording("No correction script is called so; these are all.")


def plain(text: str) -> str:
    """What was typed or pasted, without signs that nobody sees: marks of direction, of no width, controls; cut."""
    kinds = ((sign, unicodedata.category(sign)) for sign in text[: LONGEST * 4])
    seen = ("" if kind == "Cf" else " " if kind in ("Cc", "Cs", "Cn", "Co") else sign for sign, kind in kinds)
    return " ".join("".join(seen).split())[:LONGEST].strip()


class _Asked(NamedTuple):
    """What was typed, read in one way: the words to look for, and the kind or the market that is named before them."""

    text: str
    kind: str = ""
    market: str = ""

    def wants(self, row: FoundRow) -> bool:
        """Whether a row is of the kind, and of no other market."""
        way = _WAYS[row.table, row.column]
        return self.kind in ("", way.kind) and (self.market == "" or row.market in (None, self.market))


def _readings(text: str, markets: Iterable[str]) -> list[_Asked]:
    """The ways to read what was typed: as it is, and without the kind and the market that it begins with: `ticket 7`,
    `compteur 021976`, `FR 3000123`."""
    found, kind, market = [_Asked(text)], "", ""
    rest, known = text, set(markets)
    while True:
        words = rest.split()
        if not market and (code := _MARKET.match(rest)) and code[1].upper() in known:
            market, rest = code[1].upper(), rest[code.end() :]
        else:
            named = next((one for one in _beginnings(words) if folded(one) in _kind_words()), "")
            meant = _kind_words().get(folded(named))
            if meant is None or (kind and meant):
                return found
            kind, rest = kind or meant, rest[len(named) :].strip()
        found.append(_Asked(rest, kind, market))


def _beginnings(words: Sequence[str]) -> list[str]:
    """What a text begins with, the longest first: one to three words, and others behind them."""
    return [" ".join(words[:number]) for number in range(min(3, len(words) - 1), 0, -1)]


@cache
def _kind_words() -> dict[str, str]:
    """The words for a kind, in all languages, without accents -> the kind; it is empty for a word that says nothing."""
    tables = {table.replace("_", " "): _WAYS[table, "id"].kind for table in NUMBERED}
    names = [(name, kind) for name, kind in (*((kind, kind) for kind in KINDS), *tables.items())]
    told = {folded(translate(name, language)): kind for language in LANGUAGES for name, kind in names}
    told |= {f"{word}s": kind for word, kind in told.items() if kind == _SCRIPT}
    return told | dict.fromkeys(("no.", "nr.", "n°"), "")


def folded(text: str) -> str:
    """A text in small letters without accents."""
    return "".join(sign for sign in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(sign))


def _numbered(connection: Connection, asked: _Asked) -> Iterator[FoundRow]:
    """What has a number: of any kind, or of the one that is named before it."""
    number = asked.text.removeprefix("#")
    if not (number.isascii() and number.isdigit()) or len(number) > 18 or number.startswith("0") or asked.market:
        return
    for table in numbers_of(connection, int(number)):
        yield FoundRow(table, "id", number, "whole", None, number)


def _fitting(connection: Connection, declared: _Declared, text: str) -> Iterator[FoundRow]:
    for words in _forms(text):
        yield from values_like(connection, words)
    for form in _forms(text):
        if len(form) == 1:
            yield from references_like(connection, form[0])
    yield from customers_named(connection, text, mistyped=False)
    yield from customers_reached(connection, text, mistyped=False)
    asked = folded(text).split()
    for table, column, value, key in declared.names(connection):
        how = fit(folded(value), asked)
        if how is not None:
            yield FoundRow(table, column, value, how, None, key)


def _similar(connection: Connection, declared: _Declared, text: str) -> Iterator[FoundRow]:
    for words in _forms(text):
        if len(words) == 1:
            yield from values_near(connection, words[0])
            yield from references_near(connection, words[0])
    yield from customers_named(connection, text, mistyped=True)
    yield from customers_reached(connection, text, mistyped=True)
    names = {
        value.casefold(): (table, column, value, key)
        for table, column, value, key in declared.names(connection)
        if column not in ("title", "state")
    }
    for close in difflib.get_close_matches(text.casefold(), names, n=3, cutoff=0.75):
        table, column, value, key = names[close]
        yield FoundRow(table, column, value, "similar", None, key)


def _forms(text: str) -> list[tuple[str, ...]]:
    """The ways to look for words: as they are; as an identifier that was typed in pieces, 9900 0000 0004 04, or behind
    the name that a market has for it, EAN 541449000000001017."""
    words = tuple(text.split())
    forms = [words] if any(len(word) >= SHORTEST for word in words) else []
    joined, bare = (re.sub(r"[\s./-]", "", one) for one in (text, _LABEL.sub("", text)))
    if joined != text and joined.isalnum() and sum(sign.isdigit() for sign in joined) * 2 > len(joined) >= 8:
        forms.append((joined,))
    if bare not in (text, joined) and bare.isdigit() and len(bare) >= LONG:
        forms.append((bare,))
    return [tuple(sorted(form, key=len, reverse=True)) if len(form) > 1 else form for form in forms]


class _Declared(NamedTuple):
    """What has a name and is in no table: rules, codes that messages have, scripts."""

    catalogue: Catalogue
    scripts: tuple[Heading, ...]
    texts: Folders

    def names(self, connection: Connection) -> Iterator[tuple[str, str, str, str]]:
        """(table, column, value, key) of each name; the titles of rules in all languages."""
        found = {one.name for one in code_frequencies(connection)}
        for code in found:
            yield "finding", "code", code, code
        for rule in self.catalogue.rules:
            for name in dict.fromkeys((rule.error_code, rule.code, rule.market_code, rule.ebix)):
                if name and name not in found:
                    yield "rule", "code", name, rule.code
            for title in dict.fromkeys(translate(rule.title, language, self.texts) for language in LANGUAGES):
                yield "rule", "title", title, rule.code
        for one in self.scripts:
            yield "script", "name", one.name, one.name
            for column, told in (("title", (one.title,)), ("state", one.states)):
                for word in dict.fromkeys(
                    translate(each, language, self.texts) for each in told for language in LANGUAGES
                ):
                    yield "script", column, word, one.name

    def all_scripts(self, asked: Iterable[_Asked]) -> list[FoundRow]:
        """Every script, for whom asks for a script of a name that none has, or for scripts at all."""
        named = [one for one in asked if one.kind == _SCRIPT or _kind_words().get(folded(one.text)) == _SCRIPT]
        return [FoundRow("script", "name", one.name, "similar", None, one.name) for one in self.scripts if named]


def _notes(connection: Connection) -> Iterator[str]:
    if not able(connection):
        yield _NO_TRIGRAMS.format(EXTENSION)
    left = unfinished(connection)
    if left:
        yield _UNFINISHED.format(left)


_NO_TRIGRAMS: Final = wording(
    "This database has no index of trigrams, so each search reads the tables. "
    "Install {0} (PostgreSQL: CREATE EXTENSION {0}), then run `energycomm eis index`."
)
_UNFINISHED: Final = wording(
    "Names and contacts of about {0} customers are not in the index yet: run `energycomm eis index`."
)


def _grouped(rows: Iterable[FoundRow], limit: int) -> tuple[Group, ...]:
    """By kind, each thing once by its best value; the best first, then the shortest value, which fits most of it."""
    best: dict[tuple[str, str, str], tuple[FoundRow, _Way]] = {}
    for row in sorted(rows, key=_worth):
        way = _WAYS[row.table, row.column]
        # A file is told once though its member is named like it, a request once though each milestone names it.
        told = {"code": row.key, "file": row.key, "request": row.value}.get(way.kind, f"{row.key} {row.value}")
        best.setdefault((way.kind, row.market or "", told), (row, way))
    kinds: dict[str, list[tuple[FoundRow, _Way]]] = {}
    for row, way in best.values():
        kinds.setdefault(way.kind, []).append((row, way))
    ranked = sorted(kinds.items(), key=lambda item: (HOW.index(item[1][0][0].how), KINDS.index(item[0])))
    return tuple(
        Group(kind=kind, hits=tuple(_hit(row, way) for row, way in found[:limit]), more=len(found) > limit)
        for kind, found in ranked
    )


def _worth(row: FoundRow) -> tuple[int, int, str, str]:
    return HOW.index(row.how), len(row.value), row.value, row.key


def _hit(row: FoundRow, way: _Way) -> Hit:
    place = {"market": quote(row.market or "", safe=""), "key": quote(row.key, safe="")}
    return Hit(
        field=way.field,
        value=row.value,
        how=row.how,
        market=row.market,
        key=row.key,
        page=way.page.format(**place),
        command=way.command.format(key=row.key),
    )
