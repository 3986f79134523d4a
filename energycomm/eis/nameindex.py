"""Customers found by their names, whole, by the beginning of a word or with one letter wrong, from an index that holds
no name.

A name is kept as keyed hashes: of each word, of its first letters, and of the word with one letter left out. Two words
that differ by one letter, or by two neighbours in the wrong order, have one of these in common. Whoever reads the index
without the key sees which customers share a word, and nothing of the word. The key is made by chance, once for a store,
and is sealed like its content (`energycomm.eis.sealing`). What is found is compared with the names themselves.

A row of the index belongs to a row of customers, and goes with it: triggers of the database see to that, whoever
deletes a customer or changes its name.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

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

_WORD: Final = re.compile(r"[^\W_]+")


def words_of(name: str) -> list[str]:
    """The words of a name, without accents and case: "Zoë Durand-Petit" -> zoe, durand, petit."""
    bare = unicodedata.normalize("NFKD", name.casefold())
    return _WORD.findall("".join(sign for sign in bare if not unicodedata.combining(sign)))


def near(word: str) -> set[str]:
    """A word and what is left of its beginning when one letter is left out."""
    head = word[:LETTERS]
    if len(word) < SHORTEST_MISTYPED:
        return {word}
    return {word, head} | {head[:place] + head[place + 1 :] for place in range(len(head))}


def kept(name: str, secret: bytes) -> str:
    """What the index keeps of a name: hashes with spaces between."""
    found = {
        hashed
        for word in words_of(name)[:MOST_WORDS]
        for hashed in (
            *(hash_of("near", one, secret) for one in near(word)),
            *(hash_of("first", word[:letters], secret) for letters in BEGINNINGS if len(word) >= letters),
        )
    }
    return " ".join(sorted(found))


def beginning(word: str, secret: bytes) -> str:
    """The hash that every name has that holds a word which begins like this one."""
    letters = max((n for n in BEGINNINGS if n <= len(word)), default=0)
    return hash_of("first", word[:letters], secret) if letters else hash_of("near", word, secret)


def likely(word: str, secret: bytes) -> list[str]:
    """Hashes of which every name has one that holds a word with at most one letter wrong."""
    return [hash_of("near", one, secret) for one in near(word)]


@lru_cache(maxsize=1 << 14)
def hash_of(what: str, word: str, secret: bytes) -> str:
    """A word under the store's key: 40 bits, as letters and digits that both databases take for one word."""
    digest = hashlib.blake2b(f"{what} {word}".encode(), key=secret, digest_size=5).digest()
    return base64.b32encode(digest).decode().lower()


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


def keep(driver: Driver, names: Iterable[tuple[int, str | None]]) -> None:
    """Put customers into the index.

    Args:
      driver: in the transaction that stores them.
      names: id of the row of customers, and its name.
    """
    told = [(number, name) for number, name in names if name]
    if told:
        secret = secret_of(driver, make=True)
        assert secret is not None
        rows = [{"customer_id": number, "words": kept(name, secret)} for number, name in told]
        driver.insert(tables.customer_words, rows)


def unfinished(connection: Connection) -> int:
    """How many numbers of customers are still to be looked at whose names were stored before there was an index."""
    gap = tables.name_gap.c
    row = connection.execute(select(gap.upto, gap.target)).first()
    return 0 if row is None else max(row.target - row.upto, 0)


def fill(engine: Engine, watch: Callable[[int], object] = lambda _: None) -> int:
    """Put the customers into the index whose names were stored before there was one.

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
        keep(driver, [(row[0], row[1]) for row in found])
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
            keep(driver, [(row[0], row[1]) for row in found])
            if is_sqlite(engine):
                for number, _ in found:
                    findable.take_in(connection, findable.NAMES, number, number)
            done += len(found)
    return done


_NOT_KEPT = (
    "SELECT c.id, c.name FROM customer c WHERE c.name IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM customer_words w WHERE w.customer_id = c.id)"
)

_NEXT = (
    "SELECT c.id, c.name FROM customer c JOIN name_gap g ON c.id > g.upto AND c.id <= g.target ORDER BY c.id LIMIT ?"
)
