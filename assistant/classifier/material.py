"""Judged messages with the history they were judged with, read from the EIS; nothing is written there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from energycomm.correction.cases import content_of
from energycomm.eis.bulk import Driver, driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.eis.tables import ALL_CHANGES
from energycomm.engine.port import RuleEngine
from energycomm.kernel.family import is_incoming
from energycomm.kernel.history import NO_HISTORY, History
from energycomm.kernel.messages import KernelMessage
from energycomm.market.installed import Markets
from energycomm.pipeline.fold import APPLIED
from energycomm.pipeline.history import histories

REFUSED = frozenset(("rejected", "delegated", "ticketed"))
"""States of a message that rules refused."""

Origin: TypeAlias = Literal["eis", "simulated", "rule"]

_STORED = (
    "SELECT k.id, k.access_point_id, k.market, k.kind, k.effective, k.state, k.waits_for, k.received_at "
    "FROM kernel_message k"
)
_CODE = "SELECT message_id, error_code FROM finding"
_CODES = f"{_CODE} WHERE \"current\" AND severity = 'error' ORDER BY id"
_COMMENTS = (
    "SELECT error_code, comment FROM finding WHERE \"current\" AND severity = 'error' AND message_id = ? ORDER BY id"
)
_VERSION = (
    f"SELECT s.message_id, v.hash FROM ({ALL_CHANGES}) AS s "  # noqa: S608 - our own words
    "JOIN rules_version v ON v.id = s.rules_version_id"
)
_VERSIONS = f"{_VERSION} ORDER BY s.id"


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored message that was accepted or refused, without its content.

    Attributes:
      id, market, kind, effective: the message; microseconds since the epoch.
      point: row of its access point, None where none is concerned.
      codes: error codes of the verdict that holds, sorted.
      rules_version: the rules that gave it.
      received_at: when it arrived, microseconds since the epoch.
      judged: rules accepted or refused it; not what waits, was given up or met a broken rule.
    """

    id: int
    market: str
    kind: str
    effective: int
    point: int | None
    codes: tuple[str, ...]
    rules_version: str
    received_at: int
    judged: bool = True


@dataclass(frozen=True)
class Case:
    """A message as it was judged.

    Attributes:
      stored: what the EIS says of it.
      message: its content.
      history: what was known of its access point.
      earlier: accepted messages of its access point before it, the latest last.
      comments: the rules' sentences, by error code.
      length: how many accepted messages came before it.
      access_point: pseudonym.
      origin: where it comes from.
    """

    stored: Stored
    message: KernelMessage
    history: History
    earlier: tuple[KernelMessage, ...] = ()
    comments: dict[str, str] = field(default_factory=dict)
    length: int = 0
    access_point: str = ""
    origin: Origin = "eis"


def stored_verdicts(store: Store) -> tuple[list[Stored], dict[str, int]]:
    """Every incoming message with a verdict, and how many were left out for which state.

    Messages in quarantine, broken rules, messages given up after a wait and withdrawn versions have no verdict of the
    rules: they are neither accepted nor refused.
    """
    found: list[Stored] = []
    left: dict[str, int] = {}
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        codes = _codes(driver)
        versions: dict[int, str] = dict(driver.rows(_VERSIONS))  # the last one wins: it gave the verdict that holds
        for number, point, market, kind, effective, state, waits_for, received in driver.rows(_STORED):
            if not is_incoming(kind):
                continue
            own = codes.get(number, ())
            refused = state in REFUSED and own and waits_for is None
            if state not in APPLIED and not refused:
                word = "given up" if state in REFUSED else state
                left[word] = left.get(word, 0) + 1
                continue
            version = versions.get(number, "")
            found.append(Stored(number, market, kind, effective, point, own if refused else (), version, received))
    return found, left


def stored_messages(store: Store, ids: Sequence[int]) -> list[Stored]:
    """Incoming messages by id, with or without a verdict; ids of no such message are left out."""
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        rows = driver.matching(f"{_STORED} WHERE 1 = 1", list(ids), "k.id")
        found = driver.matching(f"{_CODE} WHERE \"current\" AND severity = 'error'", list(ids), "message_id")
        changes = driver.matching(f"{_VERSION} WHERE 1 = 1", list(ids), "s.message_id", "ORDER BY s.id")
    versions: dict[int, str] = dict(changes)
    codes: dict[int, set[str]] = {}
    for number, code in found:
        codes.setdefault(number, set()).add(code)
    stored = []
    for number, point, market, kind, effective, state, waits_for, received in rows:
        if is_incoming(kind):
            own = tuple(sorted(codes.get(number, ())))
            refused = state in REFUSED and bool(own) and waits_for is None
            judged = refused or state in APPLIED
            version = versions.get(number, "")
            told = own if refused else ()
            stored.append(Stored(number, market, kind, effective, point, told, version, received, judged))
    return sorted(stored, key=lambda one: one.id)


def cases(store: Store, engine: RuleEngine, markets: Markets, wanted: Sequence[Stored]) -> Iterator[Case]:
    """The wanted messages with their histories, access point by access point.

    Args:
      store: the EIS.
      engine: rules of today, which say what the accepted messages before did.
      markets: the installed ones.
      wanted: of `stored_verdicts`.
    """
    by_point: dict[int | None, dict[int, Stored]] = {}
    for one in wanted:
        by_point.setdefault(one.point, {})[one.id] = one
    for point, members in sorted(by_point.items(), key=lambda pair: pair[0] or 0):
        if point is None:
            yield from _alone(store, members)
        else:
            yield from _walk(store, engine, markets, point, members)


def pseudonym(market: str, identifier: str) -> str:
    """A name for an access point that is equal for equal points and does not tell its number: 32 bits of a hash."""
    return hashlib.blake2b(f"{market} {identifier}".encode(), digest_size=4).hexdigest()


def _codes(driver: Driver) -> dict[int, tuple[str, ...]]:
    found: dict[int, set[str]] = {}
    for number, code in driver.rows(_CODES):
        found.setdefault(number, set()).add(code)
    return {number: tuple(sorted(codes)) for number, codes in found.items()}


def _alone(store: Store, members: dict[int, Stored]) -> Iterator[Case]:
    for number, stored in members.items():
        with reading(store.engine) as connection:
            driver = driver_of(connection)
            (row,) = driver.rows("SELECT xml FROM kernel_message WHERE id = ?", (number,))
            comments = _comments(driver, stored)
        message = content_of(driver.vault.text("kernel_message", number, row[0]))
        name = pseudonym(message.market, f"{message.sender} {message.reference}")
        yield Case(stored, message, NO_HISTORY, (), comments, 0, name)


def _walk(store: Store, engine: RuleEngine, markets: Markets, point: int, members: dict[int, Stored]) -> Iterator[Case]:
    with reading(store.engine) as connection:
        told = {number: _comments(driver_of(connection), stored) for number, stored in members.items()}
    zone = markets.zone(next(iter(members.values())).market)
    for one in histories(store, engine, zone, point, members):
        name = pseudonym(one.message.market, one.message.access_point or str(point))
        yield Case(members[one.id], one.message, one.history, one.earlier, told[one.id], one.accepted, name)


def _comments(driver: Driver, stored: Stored) -> dict[str, str]:
    comments: dict[str, str] = {}
    if stored.codes:
        for code, comment in driver.rows(_COMMENTS, (stored.id,)):
            comments.setdefault(code, comment)
    return comments
