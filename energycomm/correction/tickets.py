"""Tickets: messages that no correction frees, grouped, with evidence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct
from sqlalchemy import select

from energycomm.correction.analysis import Judged
from energycomm.eis import tables
from energycomm.eis.bulk import Driver, driver_of
from energycomm.eis.database import reading
from energycomm.eis.states import TICKET_STATES
from energycomm.eis.store import Store, StoreTransaction
from energycomm.eis.structures import filled
from energycomm.errors import UserError
from energycomm.kernel.counting import counted
from energycomm.kernel.instants import micros, now_micros
from energycomm.links import fault_of_link
from energycomm.pipeline.listsearch import TICKET_ORDERS
from energycomm.pipeline.rows import change_row
from energycomm.texts.catalogues import translate

TICKETABLE = frozenset(("rejected", "engine_error", "delegated"))
"""States that become `ticketed`; a message in quarantine goes on waiting."""

MOST_EVIDENCE = 20
"""Kinds of evidence that a ticket tells, the most frequent first."""

MOST_POINTS = 200
"""Access points that a ticket names."""


class Ticket(Struct, frozen=True, kw_only=True):
    """A ticket and its state."""

    id: int
    title: str
    error_class: str
    codes: str
    market: str
    grid_operator: str | None
    evidence: dict[str, Any]
    state: str
    owner: str | None
    due: datetime | None
    by: str
    created_at: datetime
    closed_at: datetime | None
    link: str | None
    messages: tuple[int, ...]


class _Member(Struct, frozen=True):
    """What a ticket needs of a message: all that is kept of many."""

    id: int
    identifier: str | None
    access_point_id: int | None
    state: str
    waits_for: str | None
    evidence: tuple[tuple[str, str], ...]


def make_tickets(
    store: Store, cases: Iterable[Judged], by: str, *, owner: str | None = None, due_days: int | None = None
) -> list[int]:
    """One ticket for each (market, grid operator, error class, codes); messages that have an open one are left out.

    Args:
      store: the EIS.
      cases: what is left; they are asked for one after the other.
      by: who makes them.
      owner: who takes them up.
      due_days: days until they are due.

    Returns:
      The ids of the tickets that were made or got more messages.
    """
    ticketed = _in_open_tickets(store)
    groups: dict[tuple[str, str, str, str], list[_Member]] = defaultdict(list)
    told: dict[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = {}
    for one in cases:
        case = one.case
        if case.id not in ticketed:
            codes = " ".join(case.codes) or (case.waits_for or case.state)
            key = (case.message.market, case.grid_operator or "", one.error_class, codes[:200])
            evidence: tuple[tuple[str, str], ...] = tuple((each.error_class, each.words) for each in one.evidence)
            evidence = told.setdefault(evidence, evidence)
            member = _Member(case.id, case.identifier, case.access_point_id, case.state, case.waits_for, evidence)
            groups[key].append(member)
    with store.transaction() as tx:
        return [_make(tx, key, members, by, owner, due_days) for key, members in sorted(groups.items())]


def open_tickets(store: Store) -> set[int]:
    """The ids of the tickets that are not closed."""
    with reading(store.engine) as connection:
        return {row[0] for row in driver_of(connection).rows("SELECT id FROM ticket WHERE state <> 'closed'")}


def _in_open_tickets(store: Store) -> set[int]:
    sql = "SELECT m.message_id FROM ticket_message m JOIN ticket t ON t.id = m.ticket_id WHERE t.state <> 'closed'"
    with reading(store.engine) as connection:
        return {row[0] for row in driver_of(connection).rows(sql)}


def _make(
    tx: StoreTransaction,
    key: tuple[str, str, str, str],
    members: list[_Member],
    by: str,
    owner: str | None,
    due_days: int | None,
) -> int:
    market, grid_operator, error_class, codes = key
    now = now_micros()
    sql = (
        "SELECT id FROM ticket WHERE market = ? AND coalesce(grid_operator, '') = ? AND error_class = ? AND codes = ? "
        "AND state <> 'closed'"
    )
    known = tx.driver.rows(sql, key)
    points = {one.identifier for one in members if one.identifier}
    if known:
        ticket_id: int = known[0][0]
        _grow(tx, ticket_id, key, members)
    else:
        (ticket_id,) = tx.reserve(tables.ticket, 1)
        row = {
            "id": ticket_id,
            "title": _title(key, len(members), len(points)),
            "error_class": error_class,
            "codes": codes,
            "market": market,
            "grid_operator": grid_operator or None,
            "evidence": _evidence(members),
            "state": "open",
            "owner": owner,
            "due_at": None if due_days is None else now + due_days * 86_400_000_000,
            "by": by[:120],
            "created_at": now,
        }
        tx.insert(tables.ticket, [row])
    tx.insert(tables.ticket_message, [{"ticket_id": ticket_id, "message_id": one.id} for one in members])
    moved = [one for one in members if one.state in TICKETABLE]
    tx.set_states([(one.id, "ticketed", one.waits_for, None) for one in moved])
    why = f"ticket {ticket_id}"
    tx.insert(tables.state_change, [change_row(one.id, one.state, "ticketed", now, why, by) for one in moved])
    return ticket_id


def _title(key: tuple[str, str, str, str], messages: int, points: int) -> str:
    blamed = translate(key[2], "en")
    return f"{key[3]}: {counted(messages, 'message')} of {counted(points, 'access point')} ({blamed})"[:200]


def _grow(tx: StoreTransaction, ticket_id: int, key: tuple[str, str, str, str], members: list[_Member]) -> None:
    """An open ticket gets more messages: its title and evidence tell of all of them."""
    ((content,),) = tx.driver.rows("SELECT evidence FROM ticket WHERE id = ?", (ticket_id,))
    before, after = msgspec.json.decode(content), msgspec.json.decode(_evidence(members))
    found = Counter({(one["class"], one["found"]): one["messages"] for one in before["evidence"]})
    found.update({(one["class"], one["found"]): one["messages"] for one in after["evidence"]})
    evidence = [
        {"class": name, "found": text, "messages": count} for (name, text), count in found.most_common(MOST_EVIDENCE)
    ]
    points = sorted({*before["access_points"], *after["access_points"]})
    sql = (
        "SELECT k.id, k.access_point_id FROM ticket_message m JOIN kernel_message k ON k.id = m.message_id "
        "WHERE m.ticket_id = ?"
    )
    rows = tx.driver.rows(sql, (ticket_id,))
    there = {row[1] for row in rows} | {one.access_point_id for one in members}
    title = _title(key, len(rows) + len(members), len(there - {None}))
    content = msgspec.json.encode({"evidence": evidence, "access_points": points[:MOST_POINTS]}).decode()
    tx.driver.run("UPDATE ticket SET title = ?, evidence = ? WHERE id = ?", (title, content, ticket_id))


def _evidence(members: list[_Member]) -> str:
    words = Counter(told for one in members for told in one.evidence)
    shown = [
        {"class": name, "found": text, "messages": count} for (name, text), count in words.most_common(MOST_EVIDENCE)
    ]
    points = sorted({one.identifier for one in members if one.identifier})
    return msgspec.json.encode({"evidence": shown, "access_points": points[:MOST_POINTS]}).decode()


def tickets(
    store: Store,
    *,
    state: str | None = None,
    owner: str | None = None,
    sort: str | None = None,
    ticket_id: int | None = None,
) -> list[Ticket]:
    """Tickets, the newest first unless they are sorted otherwise.

    Args:
      store: the EIS.
      state: only in this state.
      owner: only of this person.
      sort: one of `TICKET_ORDERS`, from the end with - before it; those without a value come last, or first.
      ticket_id: only this one.
    """
    t = tables.ticket
    query = select(t, t.c.due_at.label("due")).order_by(t.c.id.desc())
    if state is not None:
        query = query.where(t.c.state == state)
    if owner is not None:
        query = query.where(t.c.owner == owner)
    if ticket_id is not None:
        query = query.where(t.c.id == ticket_id)
    with reading(store.engine) as connection:
        rows = connection.execute(query).mappings().all()
        messages: dict[int, list[int]] = defaultdict(list)
        sql = "SELECT ticket_id, message_id FROM ticket_message WHERE true"
        ids = [row["id"] for row in rows]
        for number, message_id in driver_of(connection).matching(sql, ids, "ticket_id", "ORDER BY 1, 2"):
            messages[number].append(message_id)
    found = [
        filled(Ticket, row, evidence=msgspec.json.decode(row["evidence"]), messages=tuple(messages[row["id"]]))
        for row in rows
    ]
    if sort is not None:
        attribute = TICKET_ORDERS[sort.removeprefix("-")]

        def key(one: Ticket) -> tuple[bool, Any]:
            value = getattr(one, attribute)
            return value is None, value

        found.sort(key=key, reverse=sort.startswith("-"))
    return found


_COLUMN_OF = {"due": "due_at"}


class Changed(Exception):
    """Somebody else changed it after it was read: nothing is changed."""


def change_ticket(
    store: Store,
    ticket_id: int,
    *,
    state: str | None = None,
    owner: str | None = None,
    due: datetime | None = None,
    link: str | None = None,
    emptied: Collection[Literal["owner", "due", "link"]] = (),
    seen: Ticket | None = None,
) -> Ticket:
    """Change what is given of a ticket.

    Args:
      store: the EIS.
      ticket_id: which.
      state, owner, due, link: what it is to have; None leaves what there is.
      emptied: what it is to have no more.
      seen: the ticket as it was read; None where that does not matter.

    Raises:
      UserError: there is none, no such state, or the link leads nowhere that a browser may go.
      Changed: its state, owner, due date or link is another than was seen.
    """
    if state is not None and state not in TICKET_STATES:
        raise UserError(f"{state!r} is no state of a ticket.", f"States: {', '.join(TICKET_STATES)}.")
    if not tickets(store, ticket_id=ticket_id):
        raise UserError(f"There is no ticket {ticket_id}.", "`energycomm correct tickets` lists them.")
    fault = None if link is None else fault_of_link(link)
    if fault is not None:
        found = f"{link[:60]}…" if link is not None and len(link) > 60 else link
        raise UserError(f"{found!r} is no link: {fault}.", "Write it as https://tracker.example/TICKET-1.")
    wanted: dict[str, Any] = {_COLUMN_OF.get(name, name): None for name in emptied}
    if state is not None:
        wanted |= {"state": state, "closed_at": now_micros() if state == "closed" else None}
    if owner is not None:
        wanted["owner"] = owner[:120]
    if due is not None:
        wanted["due_at"] = micros(due)
    if link is not None:
        wanted["link"] = link
    t = tables.ticket.c
    query = tables.ticket.update().where(t.id == ticket_id)
    if seen is not None:
        due_at = None if seen.due is None else micros(seen.due)
        query = query.where(
            t.state == seen.state,
            t.owner.is_not_distinct_from(seen.owner),
            t.due_at.is_not_distinct_from(due_at),
            t.link.is_not_distinct_from(seen.link),
        )
    with store.transaction() as tx:
        if wanted and tx.connection.execute(query.values(wanted)).rowcount == 0:
            raise Changed
    return tickets(store, ticket_id=ticket_id)[0]


def close_settled(store: Store) -> list[int]:
    """Close the tickets whose messages are all accepted or dealt with; their ids.

    Those that are freed close their ticket in the same transaction; here are tickets that were left open before.
    """
    sql = (
        "SELECT t.id FROM ticket t WHERE t.state <> 'closed' AND NOT EXISTS (SELECT 1 FROM ticket_message m "
        "JOIN kernel_message k ON k.id = m.message_id WHERE m.ticket_id = t.id "
        "AND k.state NOT IN ('accepted', 'treated', 'withdrawn')) ORDER BY t.id"
    )
    with store.transaction() as tx:
        ids = [row[0] for row in tx.driver.rows(sql)]
        now = now_micros()
        closing = "UPDATE ticket SET state = 'closed', closed_at = ? WHERE id = ?"
        tx.driver.many(closing, [(now, number) for number in ids])
    return ids


DELEGABLE = ("rejected", "engine_error", "delegated")
"""States of the messages that a colleague can be given."""


def latest_changes(driver: Driver, message_ids: Sequence[int]) -> dict[int, int]:
    """Message -> number of the latest change of its state: another one tells that something happened to it."""
    sql = "SELECT message_id, max(id) FROM state_change WHERE true"
    return dict(driver.matching(sql, message_ids, "message_id", "GROUP BY message_id"))


def delegate(
    store: Store, message_ids: Sequence[int], to: str, by: str, text: str, seen: Mapping[int, int] | None = None
) -> list[int]:
    """Give stuck messages to a colleague, with a note.

    Args:
      store: the EIS.
      message_ids: the messages.
      to: the colleague.
      by: who gives them.
      text: of the note.
      seen: their latest changes as they were read, see `latest_changes`; None where that does not matter.

    Returns:
      The ids that were given.

    Raises:
      Changed: something happened to one of them after it was read.
    """
    now = now_micros()
    with store.transaction() as tx:
        rows = tx.driver.matching("SELECT id, state, waits_for FROM kernel_message WHERE true", message_ids, "id")
        chosen = [row for row in rows if row[1] in DELEGABLE]
        # Whoever does the same at this moment waits here for the other.
        tx.set_states([(row[0], "delegated", row[2], None) for row in chosen])
        if seen is not None:
            latest = latest_changes(tx.driver, message_ids)
            if any(latest.get(number, 0) != seen.get(number, 0) for number in message_ids):
                raise Changed
        why = f"to {to}: {text}"
        tx.insert(tables.state_change, [change_row(row[0], row[1], "delegated", now, why, by) for row in chosen])
        told = {"at": now, "by": by[:120], "assignee": to[:120], "text": text}
        tx.insert(tables.note, [{"message_id": row[0], **told} for row in chosen])
    return [row[0] for row in chosen]
