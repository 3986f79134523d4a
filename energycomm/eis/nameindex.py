"""Customers found by their names and contacts, whole, by the beginning of a word or with one sign wrong, from an index
that holds none of them.

A name is kept as keyed hashes: of each word, of its first letters, and of the word with one letter left out. Two words
that differ by one letter, or by two neighbours in the wrong order, have one of these in common. So are a telephone
number, an e-mail address and a company's register number, which are found by their ends too. Whoever reads the index
without the key sees which customers share a word, and nothing of the word. The key is made by chance, once for a store,
and is sealed like its content (`energycomm.eis.sealing`). What is found is compared with the customers themselves.

A row of the index belongs to a row of customers, and goes with it: triggers of the database see to that, whoever
deletes a customer or changes its name.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

import msgspec
from sqlalchemy import Connection, Engine, select

from energycomm.eis import findable, tables
from energycomm.eis.bulk import Driver, driver_of
from energycomm.eis.database import is_sqlite, reading, writing

MOST_WORDS: Final = 8
"""Words of a name that are kept: what comes after is found no more."""

BEGINNINGS: Final = (3, 5)
"""Letters of the beginnings that are kept."""

LETTERS: Final = 7
"""Letters of a word from which one may be missing: more would hardly tell words apart."""

SHORTEST_MISTYPED: Final = 4
BATCH: Final = 500

CONTACTS: Final = {"phone": "telephone", "email": "e-mail address", "company_id": "company number"}
"""Fields of a customer's content by which somebody is found -> what a value is, in words."""

SHORTEST_CONTACT: Final = 5
"""Signs of a part of a contact that is looked for: its beginning, or its end."""

ENDS: Final = (5, 9)
"""Signs of the beginnings and ends of contacts that are kept."""

NATIONAL: Final = (9, 8)
"""Digits that a telephone number may have without its country: it is found with and without that."""

LONGEST_CONTACT: Final = 40
MISTAKEN: Final = 14
"""Signs of a contact from which one may be missing."""

_PAIRS: Final = tuple(map("".join, product("abcdefghijklmnopqrstuvwxyz234567", repeat=2)))
"""Two signs of base 32 (RFC 4648, in small letters) for each number of ten bits."""

_WORD: Final = re.compile(r"[^\W_]+")
_NUMBER: Final = re.compile(r"[+(]?[0-9][0-9 ().\-/]*")
_REGISTERED: Final = re.compile(r"(?:[a-z]{2} ?)?[0-9][0-9 .\-]*[0-9]")


class Content(msgspec.Struct):
    """What a customer's content tells of contacts."""

    phone: str | None = None
    email: str | None = None
    company_id: str | None = None


_content = msgspec.json.Decoder(Content)


class Contact(NamedTuple):
    """A contact of a customer: its field, and the value as it is stored."""

    field: str
    value: str


def words_of(name: str) -> list[str]:
    """The words of a name, without accents and case: "Zoë Durand-Petit" -> zoe, durand, petit."""
    bare = name.casefold()
    if not bare.isascii():
        bare = unicodedata.normalize("NFKD", bare)
        bare = "".join(sign for sign in bare if not unicodedata.combining(sign))
    return _WORD.findall(bare)


def near(word: str) -> set[str]:
    """A word and what is left of its beginning when one letter is left out."""
    head = word[:LETTERS]
    if len(word) < SHORTEST_MISTYPED:
        return {word}
    return {word, head} | {head[:place] + head[place + 1 :] for place in range(len(head))}


def contacts_of(content: str | None) -> list[Contact]:
    """The contacts in a customer's content, JSON."""
    if not content:
        return []
    told = _content.decode(content)
    return [Contact(name, value) for name in CONTACTS if (value := getattr(told, name))]


def readings(text: str) -> tuple[str, ...]:
    """The ways to read a contact, as it is stored or typed, whatever stands between its signs.

    A number is read without its first zeros; one that begins with a country, by its last digits too; a register number
    without the letters before it. Anything else is read in small letters, as an e-mail address.

    Returns:
      The likeliest first; none of what is too short, or is several words.
    """
    bare = " ".join(text.casefold().split())
    if _NUMBER.fullmatch(bare) or _REGISTERED.fullmatch(bare):
        digits = "".join(sign for sign in bare if sign.isascii() and sign.isdigit())
        found = [digits.lstrip("0")]
        if bare.startswith(("+", "00")):
            found = [digits[-length:].lstrip("0") for length in NATIONAL] + found
    else:
        found = [] if " " in bare else [bare]
    return tuple(dict.fromkeys(one[:LONGEST_CONTACT] for one in found if len(one) >= SHORTEST_CONTACT))


def _mistaken(one: str) -> Iterable[tuple[str, str]]:
    """A contact whole, its beginning, and what is left of that when one sign is left out."""
    head = one[:MISTAKEN]
    return [("contact", part) for part in (one, head, *[head[:at] + head[at + 1 :] for at in range(len(head))])]


def _parts(one: str) -> Iterable[tuple[str, str]]:
    """What the index keeps of a contact; of an e-mail address also how its domain begins."""
    yield from _mistaken(one)
    _, at, domain = one.partition("@")
    for length in ENDS:
        if len(one) >= length:
            yield "begins", one[:length]
            yield "ends", one[-length:]
        if at:
            yield "begins", f"@{domain}"[:length]


def asked_contact(text: str, secret: bytes, *, mistyped: bool) -> list[str]:
    """Hashes of which every customer has one who has such a contact: whole, by its beginning or its end; or with one
    sign wrong.

    Args:
      text: as it is typed.
      secret: key of the index.
      mistyped: one sign may be wrong.
    """
    found: dict[str, None] = {}
    for one in readings(text):
        length = max(length for length in ENDS if length <= len(one))
        ends = (("contact", one), ("begins", one[:length]), ("ends", one[-length:]))
        found |= dict.fromkeys(hash_of(*part, secret) for part in (_mistaken(one) if mistyped else ends))
    return list(found)


def kept(name: str, secret: bytes, contacts: Iterable[Contact] = ()) -> str:
    """What the index keeps of a name and of contacts: hashes with spaces between."""
    found = set[str]().union(*(_of_word(word, secret) for word in words_of(name)[:MOST_WORDS]))
    # What is left of a number without one of two equal neighbours is the same.
    parts = {part for one in contacts for read in readings(one.value) for part in _parts(read)}
    return " ".join(sorted(found.union(_hashed(parts, secret))))


@lru_cache(maxsize=1 << 12)  # many people share a name
def _of_word(word: str, secret: bytes) -> frozenset[str]:
    """The hashes of a word: all of it and of its beginnings, and of what is left without one letter."""
    beginnings = (hash_of("first", word[:letters], secret) for letters in BEGINNINGS if len(word) >= letters)
    return frozenset((*(hash_of("near", one, secret) for one in near(word)), *beginnings))


def beginning(word: str, secret: bytes) -> str:
    """The hash that every name has that holds a word which begins like this one."""
    if len(word) >= LETTERS:
        return hash_of("near", word[:LETTERS], secret)
    letters = max((n for n in BEGINNINGS if n <= len(word)), default=0)
    return hash_of("first", word[:letters], secret) if letters else hash_of("near", word, secret)


def likely(word: str, secret: bytes) -> list[str]:
    """Hashes of which every name has one that holds a word with at most one letter wrong."""
    return [hash_of("near", one, secret) for one in near(word)]


@lru_cache(maxsize=1 << 14)
def hash_of(what: str, word: str, secret: bytes) -> str:
    """A word under the store's key: 40 bits, as letters and digits that both databases take for one word."""
    (found,) = _hashed(((what, word),), secret)
    return found


def _hashed(parts: Iterable[tuple[str, str]], secret: bytes) -> list[str]:
    """`hash_of` of several, not remembered: hardly anybody shares a contact, of which the index keeps dozens."""
    begin, pairs, whole, found = _keyed(secret).copy, _PAIRS, int.from_bytes, []
    for what, word in parts:
        state = begin()
        state.update(f"{what} {word}".encode())
        number = whole(state.digest(), "big")
        found.append(
            f"{pairs[number >> 30]}{pairs[number >> 20 & 1023]}{pairs[number >> 10 & 1023]}{pairs[number & 1023]}"
        )
    return found


@lru_cache(maxsize=8)
def _keyed(secret: bytes) -> hashlib.blake2b:
    """The hash that goes on from the store's key; left as it is."""
    return hashlib.blake2b(key=secret, digest_size=5)


def secret_of(driver: Driver, *, make: bool) -> bytes | None:
    """The key of the index.

    Args:
      driver: the store's; in a writing transaction where it is to be made.
      make: make it where there is none.
    """
    rows = driver.rows("SELECT one, secret FROM name_key")
    if rows:
        ((one, stored),) = rows
        return driver.vault.content("name_key", (one,), bytes(stored))
    if not make:
        return None
    secret = secrets.token_bytes(32)
    driver.insert(tables.name_key, [{"one": 1, "secret": secret}])
    return secret


def keep(driver: Driver, customers: Iterable[tuple[int, str | None, str | None]]) -> None:
    """Put customers into the index.

    Args:
      driver: in the transaction that stores them.
      customers: id of the row of customers, its name, and its content, JSON.
    """
    told = [
        (number, name or "", contacts)
        for number, name, content in customers
        if (contacts := contacts_of(content)) or name
    ]
    if told:
        secret = secret_of(driver, make=True)
        assert secret is not None
        rows = [{"customer_id": number, "words": kept(name, secret, contacts)} for number, name, contacts in told]
        driver.insert(tables.customer_words, rows)


def unfinished(connection: Connection) -> int:
    """How many numbers of customers are still to be looked at whose names were stored before there was an index."""
    gap = tables.name_gap.c
    row = connection.execute(select(gap.upto, gap.target)).first()
    return 0 if row is None else max(row.target - row.upto, 0)


def fill(engine: Engine, watch: Callable[[int], object] = lambda _: None) -> int:
    """Put the customers into the index who were stored before there was one, or before it held as much.

    In transactions of a few hundred; others may work meanwhile. A run that is ended is gone on with by the next.

    Args:
      engine: the store, unlocked.
      watch: told after each transaction how many were put in so far.

    Returns:
      How many were put in.
    """
    done = 0
    while (written := _fill_some(engine)) is not None:
        done += written
        watch(done)
    return done


def _fill_some(engine: Engine) -> int | None:
    """One transaction; how many were put in, None when there is nothing left."""
    with reading(engine) as connection:
        if connection.execute(select(tables.name_gap.c.one)).first() is None:
            return None
    with writing(engine) as connection:
        driver = driver_of(connection)
        # Whoever fills too waits for the row.
        driver.run("UPDATE name_gap SET upto = upto")
        found = driver.rows(_NEXT, (BATCH,))
        if not found:
            driver.run("DELETE FROM name_gap")
            return 0
        sql = "DELETE FROM customer_words WHERE customer_id BETWEEN ? AND ?"
        driver.run(sql, (found[0][0], found[-1][0]))
        keep(driver, [(row[0], row[1], row[2]) for row in found])
        if is_sqlite(engine):
            findable.take_in(connection, findable.NAMES, found[0][0], found[-1][0])
        driver.run("UPDATE name_gap SET upto = ?", (found[-1][0],))
        return len(found)


def complete(engine: Engine, customer_ids: Sequence[int]) -> int:
    """Put customers into the index that are not in it; how many were put in.

    Args:
      engine: the store, unlocked.
      customer_ids: their rows; those that are in it already, or are gone, are left out.
    """
    done = 0
    for start in range(0, len(customer_ids), BATCH):
        with writing(engine) as connection:
            driver = driver_of(connection)
            found = driver.matching(_NOT_KEPT, customer_ids[start : start + BATCH], "c.id")
            keep(driver, [(row[0], row[1], row[2]) for row in found])
            if is_sqlite(engine):
                for number, _, _ in found:
                    findable.take_in(connection, findable.NAMES, number, number)
            done += len(found)
    return done


_NOT_KEPT = (
    "SELECT c.id, c.name, c.content FROM customer c WHERE c.name IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM customer_words w WHERE w.customer_id = c.id)"
)

_NEXT = (
    "SELECT c.id, c.name, c.content FROM customer c "
    "JOIN name_gap g ON c.id > g.upto AND c.id <= g.target ORDER BY c.id LIMIT ?"
)
