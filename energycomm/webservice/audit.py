"""The audit: who read personal data or changed something, on what, when, with what outcome.

A read is recorded before its content is answered: what cannot be recorded is not read. The lines are a chain
(`energycomm.eis.auditchain`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime
from typing import Literal

from msgspec import Struct
from sqlalchemy import BigInteger, literal, select, tuple_

from energycomm.eis import auditchain, tables
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.eis.structures import filled
from energycomm.kernel.instants import micros, now_micros
from energycomm.webservice.roles import Person

SUBJECT_LENGTH = 400

_NUMBERED = {"message": tables.kernel_message, "request": tables.request}
_NAMED = re.compile(r"\b(message|request) ([0-9]{1,18})\b")
_LONGEST_NUMBER = 18
"""Digits of a number that both databases can look for."""


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One line of the audit.

    Attributes:
      person: who.
      position: which line it is, in the order of writing.
      via: how they came: token 17, session, command.
      action: read, change, refused, sign-in or sign-out.
      what: method and path of the route, or the command.
      subject: of whom or what.
      status: HTTP status that was answered; 0 for a command.
      address: where the request came from, or the host of the command.
    """

    id: int
    position: int
    at: datetime
    person: str
    via: str
    action: str
    what: str
    subject: str
    status: int
    address: str


class AuditPage(Struct, frozen=True, kw_only=True):
    """A piece of the audit, the newest first, and where to go on; None at its end."""

    entries: tuple[AuditEntry, ...]
    next: str | None


def record(
    store: Store,
    person: Person,
    action: str,
    what: str,
    *,
    subject: str = "",
    status: int = 200,
    address: str = "",
    shown: Collection[str] = (),
) -> int:
    """Write one line.

    Args:
      store: the EIS.
      person: who.
      action: read, change, refused, sign-in or sign-out.
      what: method and path of the route, or the command.
      subject: of whom or what; the end is cut off where it is very long.
      status: HTTP status that is answered; 0 for a command.
      address: where the request came from, or the host of the command.
      shown: access points that the answer shows, by which the line is found too.

    Returns:
      The id of the line.

    Raises:
      UserError: it cannot be written.
    """
    return auditchain.append(
        store,
        (
            now_micros(),
            _storable(person.name, 120),
            _storable(person.via, 140),
            action,
            _storable(what, 200),
            _storable(_with_points(store, subject), SUBJECT_LENGTH),
            status,
            _storable(address, 64),
        ),
        [_storable(one, 60) for one in shown],
    )


def _with_points(store: Store, subject: str) -> str:
    """A subject with the access points of the messages and requests that it names, so that it is found by them."""
    if "access point" in subject:
        return subject
    named: dict[str, list[int]] = {}
    for what, number in _NAMED.findall(subject[:SUBJECT_LENGTH]):
        named.setdefault(what, []).append(int(number))
    point = tables.access_point
    found: dict[str, None] = {}
    for what, numbers in named.items():
        table = _NUMBERED[what]
        query = select(point.c.identifier).join(table, table.c.access_point_id == point.c.id)
        with reading(store.engine) as connection:
            rows = connection.execute(query.where(table.c.id.in_(numbers)).order_by(table.c.id)).scalars()
            found.update(dict.fromkeys(rows))
    return f"{subject} access point{'s' if len(found) > 1 else ''} {' '.join(found)}" if found else subject


def _storable(text: str, length: int) -> str:
    """What both databases can hold of a text: no NUL, no half of a surrogate pair, not longer than its column."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:length]


def with_access_point(store: Store, what: Literal["message", "request"], number: str) -> str:
    """The subject of a line about a message or request: its number, and its access point where it has one.

    Args:
      store: the EIS.
      what: which of them.
      number: as it was asked for; what is none stays as it is.
    """
    if not number.isdecimal() or len(number) > _LONGEST_NUMBER:
        return f"{what} {number}"
    table, point = _NUMBERED[what], tables.access_point
    query = select(point.c.identifier).join(table, table.c.access_point_id == point.c.id)
    with reading(store.engine) as connection:
        identifier = connection.execute(query.where(table.c.id == int(number))).scalar()
    return f"{what} {number}" if identifier is None else f"{what} {number} access point {identifier}"


def list_audit(
    store: Store,
    *,
    person: str | None = None,
    action: str | None = None,
    subject: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> AuditPage:
    """Lines of the audit, the newest first.

    Args:
      store: the EIS.
      person: only of this one.
      action: only this.
      subject: only about this, an identifier or `message 17`, whole; found by an index.
      since: not before this instant.
      until: before this instant.
      limit: how many at most.
      cursor: go on where a former page ended (its `next`).

    Raises:
      ValueError: the cursor is none of ours.
    """
    t = tables.audit
    query = select(t).order_by(t.c.at.desc(), t.c.id.desc()).limit(limit + 1)
    for column, value in ((t.c.person, person), (t.c.action, action)):
        if value is not None:
            query = query.where(column == value)
    if since is not None:
        query = query.where(t.c.at >= micros(since))
    if until is not None:
        query = query.where(t.c.at < micros(until))
    if subject is not None:
        w = tables.audit_word
        query = query.where(t.c.id.in_(select(w.c.audit_id).where(w.c.word == " ".join(subject.lower().split()))))
    if cursor is not None:
        at, _, number = cursor.partition("-")
        query = query.where(tuple_(t.c.at, t.c.id) < tuple_(literal(int(at), BigInteger), literal(int(number))))
    with reading(store.engine) as connection:
        rows = connection.execute(query).mappings().all()
    entries = tuple(filled(AuditEntry, row) for row in rows[:limit])
    following = f"{rows[limit - 1]['at']}-{rows[limit - 1]['id']}" if len(rows) > limit else None
    return AuditPage(entries=entries, next=following)
