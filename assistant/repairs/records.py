"""The repairs that the store records: of each message that was stuck, what freed it, or that it went to a person."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, structs
from sqlalchemy import Engine

from energycomm.eis.bulk import Driver, driver_of
from energycomm.eis.database import reading
from energycomm.eis.states import APPLIED, STUCK
from energycomm.pipeline.rejudging import AFTER_CORRECTION, AFTER_LATE, BY_CHANGED_RULES

LATE = "a later message of the market"
RULES = "changed rules"
REPLAY = "judged again"
TICKET = "ticket"
DELEGATED = "delegated"

_FREED = frozenset((*APPLIED, "withdrawn"))
_WORDS = {AFTER_LATE: LATE, BY_CHANGED_RULES: RULES, AFTER_CORRECTION: REPLAY}

_MESSAGES = (
    "SELECT k.id, k.access_point_id, k.market, k.kind, k.market_type, k.state, k.effective FROM kernel_message k "
    "WHERE k.corrects IS NULL AND k.ch_message_id IS NOT NULL AND EXISTS (SELECT 1 FROM state_change s "
    "WHERE s.message_id = k.id AND s.after IN ({}))"
)
_CHANGES = (
    "SELECT s.message_id, s.id, s.after, s.at, s.why FROM state_change s JOIN kernel_message k ON k.id = s.message_id "
    "WHERE EXISTS (SELECT 1 FROM state_change o WHERE o.message_id = s.message_id AND o.after IN ({})) "
    "ORDER BY s.message_id, s.id"
)
_CODES = "SELECT DISTINCT message_id, error_code, field, error_class FROM finding WHERE severity = 'error'"
_DONE = (
    "SELECT i.message_id, i.access_point_id, c.script, c.id, c.created_at FROM campaign_item i "
    "JOIN campaign c ON c.id = i.campaign_id WHERE i.state = 'done' ORDER BY c.id"
)


class Stuck(Struct, frozen=True):
    """A message that is stuck, or was, as far as repairs are chosen by it.

    Attributes:
      id, point: the message, and the row of its access point.
      market, kind, market_type: of the message.
      codes: error codes that it ever had, sorted; of one that waits what it waits for.
      field, error_class: of its first error; empty for one that waits.
      root_kind, root_codes: kind and codes of the first message, in business order, that is or was stuck at its access
        point: the others mostly wait for that one.
    """

    id: int
    point: int | None
    market: str
    kind: str
    market_type: str
    codes: tuple[str, ...]
    field: str
    error_class: str
    root_kind: str = ""
    root_codes: tuple[str, ...] = ()


class Repair(Struct, frozen=True):
    """What freed a message, or that nothing of ours did.

    Attributes:
      stuck: the message.
      what: name of the script (`edit` for one by hand), or one of the words of this module.
      campaign: of a script: the campaign.
      freed: whether it is free.
    """

    stuck: Stuck
    what: str
    campaign: int | None
    freed: bool


class Records(Struct, frozen=True):
    """What a store records of stuck messages.

    Attributes:
      stuck: number -> every message that is stuck, or was.
      repairs: what became of them, by their numbers; those that are still stuck with nobody are left out.
    """

    stuck: dict[int, Stuck]
    repairs: list[Repair]


def recorded(engine: Engine) -> Records:
    """Every repair of a store.

    Args:
      engine: the store.
    """
    known, changes, done, tickets = _read(engine)
    by_message = {row[0]: row for row in done}
    by_point: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in done:
        by_point[row[1]].append(row)
    found = []
    for stuck, state in known:
        own = by_message.get(stuck.id)
        last = changes[stuck.id][-1]
        if own is not None and state in _FREED:
            found.append(Repair(stuck, own[2], own[3], True))
        elif state in _FREED:
            found.append(_freed(stuck, last, by_point.get(stuck.point or 0, [])))
        elif state == "delegated":
            found.append(Repair(stuck, DELEGATED, None, False))
        elif state == "ticketed" or stuck.id in tickets:  # what waits gets a ticket and waits on
            found.append(Repair(stuck, TICKET, None, False))
    found.sort(key=lambda one: one.stuck.id)
    return Records({stuck.id: stuck for stuck, _ in known}, found)


def _freed(stuck: Stuck, last: tuple[Any, ...], there: Iterable[tuple[Any, ...]]) -> Repair:
    """What freed a message to which nothing was done itself: what was done beside it, or what came."""
    _, _, _, at, why = last
    if why == AFTER_CORRECTION:
        before = [row for row in there if row[4] <= at]
        if before:
            return Repair(stuck, before[-1][2], before[-1][3], True)
    return Repair(stuck, _WORDS.get(why, REPLAY), None, True)


def _read(
    engine: Engine,
) -> tuple[list[tuple[Stuck, str]], Mapping[int, list[tuple[Any, ...]]], list[tuple[Any, ...]], frozenset[int]]:
    """The messages with their states, their changes of state, what campaigns did, and what tickets are about."""
    states = ", ".join(f"'{state}'" for state in STUCK)
    with reading(engine) as connection:
        driver = driver_of(connection)
        changes: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for row in driver.rows(_CHANGES.format(states)):
            changes[row[0]].append(tuple(row))
        codes = _codes(driver)
        tickets = frozenset(number for (number,) in driver.rows("SELECT message_id FROM ticket_message"))
        done = [tuple(row) for row in driver.rows(_DONE)]
        known = []
        roots: dict[int, tuple[int, int]] = {}
        for number, point, market, kind, market_type, state, effective in driver.rows(_MESSAGES.format(states)):
            own = codes.get(number, [])
            names = tuple(sorted({code for code, _, _ in own})) or _waits(changes[number])
            field, error_class = (own[0][1], own[0][2]) if own else ("", "")
            stuck = Stuck(number, point, market, kind, market_type, names, field, error_class)
            known.append((stuck, state))
            if point is not None:
                roots[point] = min(roots.get(point, (effective, number)), (effective, number))
    every = {stuck.id: stuck for stuck, _ in known}
    known = [(_rooted(stuck, every[roots[stuck.point][1]] if stuck.point else stuck), state) for stuck, state in known]
    return known, changes, done, tickets


def _rooted(stuck: Stuck, root: Stuck) -> Stuck:
    return structs.replace(stuck, root_kind=root.kind, root_codes=root.codes)


def _codes(driver: Driver) -> dict[int, list[tuple[str, str, str]]]:
    found: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    for number, code, field, error_class in driver.rows(_CODES):
        found[number].append((code, field, error_class))
    return {number: sorted(own) for number, own in found.items()}


def _waits(changes: Iterable[tuple[Any, ...]]) -> tuple[str, ...]:
    """What a message that had no error waited for."""
    return tuple(dict.fromkeys(str(why) for _, _, after, _, why in changes if after == "quarantined" and why))[:1]
