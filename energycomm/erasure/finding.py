"""Customers found by what they are called or reached by, by an access point, a contract, or a register number."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from energycomm.eis.erasures import FOREVER
from energycomm.eis.store import Store, StoreReader
from energycomm.erasure.persons import Stay, stays
from energycomm.erasure.traces import DIGITS, SHORTEST, Traces
from energycomm.kernel.codec import decode
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.personal import ERASED, PersonalValue, personal_kinds, personal_values
from energycomm.kernel.requests import OUTGOING

PIECE = 5_000
"""Rows that are read at a time."""

MOST = 1_000
"""Access points that are shown: more are no search for somebody."""


def find(store: Store, words: str, market: str | None = None) -> list[Stay]:
    """The customers who are called so, are reached so, or were at such an access point.

    Every row of customers is read, every request that names one, and every message that was refused or waits: an
    officer must not miss anybody, and asks seldom.

    Args:
      store: the EIS.
      words: a name, or several words or parts of words of it; an e-mail address, a telephone number, a street; the
        identifier of an access point, a contract's reference, a company's register number, or a part of one.
      market: only of this one.

    Returns:
      By market and access point; at most `MOST` access points. Of an access point that is named by its identifier or a
      contract all customers, else those who are meant.
    """
    wanted = " ".join(words.split())
    parts = [Traces([PersonalValue("", "contact", part)]) for part in (wanted, *wanted.split())]
    whole, single = parts[0], parts[1:]

    begun, within = [folded(part) for part in wanted.split()], _within(wanted)

    def meant(text: str) -> bool:
        if whole.in_text(text) or (bool(single) and all(one.in_text(text) for one in single)) or within(text):
            return True
        plain = folded(text)
        return all(len(part) >= SHORTEST and part in plain for part in begun)

    found: list[Stay] = []
    with store.reading() as reader:
        named = set(reader.driver.rows(_NAMED, (wanted, wanted, wanted)))
        told = set(_told(reader, meant))
        points = sorted(one for one in named | told if market in (None, one[0]))
        for of_market, identifier in points[:MOST]:
            among = stays(reader, of_market, identifier)
            if (of_market, identifier) not in named:
                among = [one for one in among if _meant(reader, one, meant)] or among
            found += among
    return found


def folded(text: str) -> str:
    """A text in small letters without accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in apart if not unicodedata.combining(sign))


def _within(wanted: str) -> Callable[[str], bool]:
    """Whether a number of a text holds the digits that were typed; never, where letters or too few digits were."""
    digits = "".join(sign for sign in wanted if sign.isdigit()).lstrip("0")
    if len(digits) < DIGITS or any(sign.isalpha() for sign in wanted):
        return lambda _: False
    return lambda text: any(digits in re.sub(r"\D", "", number) for number in _NUMBERS.findall(text))


_NUMBERS = re.compile(r"[0-9][0-9 ().\-/]*")


def _told(reader: StoreReader, meant: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Access points of customers, of requests, and of messages that were not taken over, in whose content the words
    are."""
    after = 0
    while rows := reader.driver.rows(_CUSTOMERS, (after, PIECE)):
        after = rows[-1][0]
        for _, name, content, market, identifier in rows:
            if meant(f"{name or ''} {content}"):
                yield market, identifier
    sent = {cls.__name__ for cls in OUTGOING} & personal_kinds()
    lists = (", ".join(repr(kind) for kind in sorted(kinds)) for kinds in (sent, personal_kinds() - sent))
    sql = _MESSAGES.format(*lists)
    after = 0
    while rows := reader.driver.rows(sql, (after, PIECE)):
        after = rows[-1][0]
        for number, xml, market, identifier in rows:
            message = decode(reader.driver.vault.text("kernel_message", number, xml))
            if isinstance(message, KernelMessage) and meant(_text_of(message)):
                yield market, identifier


def _meant(reader: StoreReader, stay: Stay, meant: Callable[[str], bool]) -> bool:
    for row in reader.messages_of([stay.point_id]).get(stay.point_id, []):
        message = decode(row.xml) if row.kind in personal_kinds() else None
        if isinstance(message, KernelMessage) and meant(_text_of(message)):
            names = {str(one.value) for one in personal_values(message) if one.personal == "name"}
            if stay.since <= row.effective < min(stay.until, FOREVER) or names & set(stay.names):
                return True
    return False


def _text_of(message: KernelMessage) -> str:
    return " ".join(re.sub(r"\s+", " ", str(one.value)) for one in personal_values(message) if one.value != ERASED)


_NAMED = (
    "SELECT market, identifier FROM access_point WHERE identifier = ? UNION "
    "SELECT p.market, p.identifier FROM contract c JOIN access_point p ON p.id = c.access_point_id "
    "WHERE c.reference = ? UNION "
    "SELECT p.market, p.identifier FROM supply_period s JOIN access_point p ON p.id = s.access_point_id "
    "WHERE s.reference = ?"
)
_CUSTOMERS = (
    "SELECT c.id, c.name, c.content, p.market, p.identifier FROM customer c "
    "JOIN access_point p ON p.id = c.access_point_id WHERE c.id > ? ORDER BY c.id LIMIT ?"
)
_MESSAGES = (
    "SELECT k.id, k.xml, p.market, p.identifier FROM kernel_message k JOIN access_point p ON p.id = k.access_point_id "
    "WHERE (k.kind IN ({0}) OR (k.kind IN ({1}) AND k.state NOT IN ('accepted', 'treated'))) AND k.id > ? "
    "ORDER BY k.id LIMIT ?"
)
