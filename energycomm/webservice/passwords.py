"""Passwords: kept as Argon2id (RFC 9106), with rules of NIST SP 800-63B.

Length is what makes a password hard to guess; kinds of characters are not asked for. What many people choose, and what
is made of the person's or the program's name, is refused however long it is.
"""

from __future__ import annotations

import re
import secrets
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from energycomm.texts import wording

LONGEST: Final = 200
"""Characters of a password; longer ones are refused before they cost anything."""
SHORTEST_INITIAL: Final = 20
ALPHABET: Final = "abcdefghijkmnpqrstuvwxyz23456789"
"""Of initial passwords: nothing that looks like something else."""
COMMON: Final = Path(__file__).with_name("common_passwords.txt")
AT_ONCE: Final = 2
"""Passwords that are checked at once: each takes `Cost.memory`."""
PATIENCE: Final = 10.0
"""Seconds that a check waits for its turn."""


class Busy(Exception):
    """Too many passwords are being checked."""


class Cost(NamedTuple):
    """What it takes to check a password, and so to guess one.

    Attributes:
      memory: KiB.
      rounds: passes over the memory.
      lanes: threads.
    """

    memory: int
    rounds: int
    lanes: int


COST = Cost(65_536, 3, 4)
"""The second recommended option of RFC 9106, section 4."""

_PHC = re.compile(r"\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$")
_turns = threading.BoundedSemaphore(AT_ONCE)
_TAIL = re.compile(r"^[\W\d_]+|[\W\d_]+$")
_SEQUENCES = (
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890",
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "azertyuiop",
    "qsdfghjklm",
)


def hashed(password: str) -> str:
    """A password as it is kept.

    Raises:
      Busy: too many are being checked.
    """
    with _turn():
        made = Argon2id(
            salt=secrets.token_bytes(16),
            length=32,
            iterations=COST.rounds,
            lanes=COST.lanes,
            memory_cost=COST.memory,
        )
        return made.derive_phc_encoded(_bytes(password))


def fits(password: str, kept: str | None) -> bool:
    """Whether a password is the one that is kept; it takes as long where none is.

    Args:
      password: what was typed.
      kept: what `hashed` made; None where there is no such person, or none with a password.

    Raises:
      Busy: too many are being checked.
    """
    if len(password) > LONGEST:
        password, kept = "", None
    with _turn():
        try:
            Argon2id.verify_phc_encoded(_bytes(password), kept or _nobodys(COST))
        except InvalidKey:
            return False
        return kept is not None


def grown(kept: str) -> bool:
    """Whether a password is kept at less cost than new ones are."""
    found = _PHC.match(kept)
    return found is None or tuple(map(int, found.groups())) != tuple(COST)


def initial() -> str:
    """A password for the first sign-in: 100 bits of chance, in groups of five."""
    letters = "".join(secrets.choice(ALPHABET) for _ in range(SHORTEST_INITIAL))
    return "-".join(letters[n : n + 5] for n in range(0, SHORTEST_INITIAL, 5))


def trouble(password: str, name: str, least: int) -> str:
    """What is wrong with a new password, one of `TROUBLES`; empty where nothing is.

    Args:
      password: what was chosen.
      name: of the person.
      least: characters that it must have.
    """
    plain = unicodedata.normalize("NFKC", password)
    if len(plain) < least:
        return "short"
    if len(plain) > LONGEST:
        return "long"
    folded = plain.casefold()
    stem, words = _repeated(_TAIL.sub("", folded)), _common()
    # Taken away what is common, as often as it is there, something must be left that nobody else would choose.
    for part in (name.casefold(), "energycomm", "energy"):
        if len(part) > 2:
            folded = folded.replace(part, "")
    if folded in words or stem in words or _TAIL.sub("", folded) in words:
        return "common"
    if len(set(folded)) < 6 or _runs(folded) * 2 > len(folded):
        return "simple"
    return "" if len(folded) >= least // 2 else "named"


TROUBLES: Final = {
    "short": wording("The new password is too short: at least {least} characters; a few words are easy to remember."),
    "long": wording("The new password is too long: at most {longest} characters."),
    "common": wording("Many people use this password, and programs that guess try it first: choose other words."),
    "simple": wording("The new password repeats or counts: choose something that is less regular."),
    "named": wording("The new password is made of your name or of the program's: choose something else."),
    "same": wording("The new password is the one that you have: choose another one."),
    "differs": wording("The new password and its repetition differ."),
    "wrong": wording("The present password is wrong."),
}
"""What may be wrong with a change of password -> its sentence."""


def _repeated(text: str) -> str:
    """The piece that a text is made of again and again; the text where there is none."""
    length = (text + text).find(text, 1)
    return text[:length] if length > 0 else text


def _runs(text: str) -> int:
    """Characters that go on with the one before: the same, or the next of a row of keys."""
    pairs = {pair for row in _SEQUENCES for one in (row, row[::-1]) for pair in pairwise(one)}
    return sum(a == b or (a, b) in pairs for a, b in pairwise(text))


@cache
def _common() -> frozenset[str]:
    return frozenset(COMMON.read_text("utf-8").split())


@cache
def _nobodys(cost: Cost) -> str:
    """What a password is checked against where there is none to check it against."""
    made = Argon2id(salt=bytes(16), length=32, iterations=cost.rounds, lanes=cost.lanes, memory_cost=cost.memory)
    return made.derive_phc_encoded(secrets.token_bytes(32))


@contextmanager
def _turn() -> Iterator[None]:
    if not _turns.acquire(timeout=PATIENCE):
        raise Busy
    try:
        yield
    finally:
        _turns.release()


def _bytes(password: str) -> bytes:
    return unicodedata.normalize("NFKC", password).encode("utf-8", "replace")
