"""Tickets exported to other trackers: made once, changed afterwards, closed when they are settled."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, tzinfo
from typing import Any, Literal

import msgspec
from msgspec import Struct

from energycomm.correction.tickets import Ticket, change_ticket
from energycomm.correction.trackers import Issue, Place, Tracker, TrackerTrouble
from energycomm.eis import tables
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.kernel.counting import counted
from energycomm.kernel.instants import now_micros
from energycomm.texts.catalogues import translate

SHOWN = 50
"""Messages and access points that the words of an issue list; the ticket holds all."""

_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_MARKUP = re.compile(r"[\\`*\[\]{}|<>!#@~^]|(?<!\w)_|_(?!\w)|:(?=//)")

What = Literal["created", "changed", "unchanged", "failed"]


class Exported(Struct, frozen=True, kw_only=True):
    """The outcome of the export of one ticket.

    Attributes:
      ticket: its number.
      what: what was done.
      remote: what the tracker calls it.
      url: its address there.
      words: why it failed.
    """

    ticket: int
    what: What
    remote: str | None = None
    url: str | None = None
    words: str | None = None


def export(
    store: Store,
    tracker: Tracker,
    name: str,
    chosen: Iterable[Ticket],
    *,
    public_url: str | None = None,
    zone: tzinfo = UTC,
) -> list[Exported]:
    """Export tickets: create those that the tracker does not have, update the others if they changed here.

    A ticket that fails does not stop the next.

    Args:
      store: the EIS, which remembers what was exported.
      tracker: the tracker.
      name: its name in the configuration.
      chosen: the tickets.
      public_url: address of the console, for links.
      zone: legal time of this house, of whose days one is the day that a ticket is due.
    """
    return [_export(store, tracker, name, issue_of(ticket, public_url, zone), ticket) for ticket in chosen]


def _export(store: Store, tracker: Tracker, name: str, issue: Issue, ticket: Ticket) -> Exported:
    digest = hashlib.sha256(msgspec.json.encode(issue)).hexdigest()
    known = _known(store, ticket.id, name)
    if known is not None and known[1] == digest:
        return Exported(ticket=ticket.id, what="unchanged", remote=known[0], url=ticket.link)
    try:
        what, place = _done(tracker, issue, None if known is None else known[0])
    except TrackerTrouble as trouble:
        return Exported(ticket=ticket.id, what="failed", words=str(trouble))
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        words = f"the answer does not match the tracker's documentation: {type(error).__name__} {error}"
        return Exported(ticket=ticket.id, what="failed", words=words)
    _remember(store, ticket.id, name, place.remote, digest)
    if place.url is not None and place.url != ticket.link:
        change_ticket(store, ticket.id, link=place.url)
    return Exported(ticket=ticket.id, what=what, remote=place.remote, url=place.url)


def _done(tracker: Tracker, issue: Issue, remote: str | None) -> tuple[What, Place]:
    """Change the issue that is there, else make one."""
    if remote is None:
        found = tracker.find(issue.mark)  # an answer that was lost
        remote = None if found is None else found.remote
    if remote is not None and (place := tracker.change(remote, issue)) is not None:
        return "changed", place
    return "created", tracker.create(issue)


def _known(store: Store, ticket_id: int, name: str) -> tuple[str, str] | None:
    sql = "SELECT remote, digest FROM ticket_export WHERE ticket_id = ? AND tracker = ?"
    with reading(store.engine) as connection:
        rows = driver_of(connection).rows(sql, (ticket_id, name))
    return (rows[0][0], rows[0][1]) if rows else None


def _remember(store: Store, ticket_id: int, name: str, remote: str, digest: str) -> None:
    now, remote = now_micros(), remote[:200]
    with store.transaction() as tx:
        sql = "UPDATE ticket_export SET remote = ?, digest = ?, exported_at = ? WHERE ticket_id = ? AND tracker = ?"
        if not tx.driver.run(sql, (remote, digest, now, ticket_id, name)):
            row = {"ticket_id": ticket_id, "tracker": name, "remote": remote, "digest": digest, "exported_at": now}
            tx.insert(tables.ticket_export, [row])


def issue_of(ticket: Ticket, public_url: str | None = None, zone: tzinfo = UTC) -> Issue:
    """A ticket as an issue of another tracker.

    Args:
      ticket: the ticket.
      public_url: address of the console; without it there are no links.
      zone: legal time of this house.
    """
    link = None if public_url is None else f"{public_url.rstrip('/')}/tickets/{ticket.id}"
    points, evidence = ticket.evidence.get("access_points", []), ticket.evidence.get("evidence", [])
    lines = [
        f"{counted(len(ticket.messages), 'Kernel message')} cannot be accepted, and no correction frees them.",
        "",
        f"- error class: {translate(ticket.error_class, 'en')}",
        f"- codes: {plain(ticket.codes)}",
        f"- market: {ticket.market}",
        f"- grid operator: {plain(ticket.grid_operator or 'unknown')}",
        f"- owner: {plain(ticket.owner or 'nobody yet')}",
        f"- state: {ticket.state}",
        *([f"- in EnergyComm: {link}"] if link else []),
        "",
        "Evidence:",
        "",
        *(f"- {one['messages']} x {translate(one['class'], 'en')}: {plain(str(one['found']))}" for one in evidence),
        "",
        f"Access points: {_listed(points)}",
        f"Messages: {_listed(ticket.messages)}",
    ]
    facts: dict[str, Any] = msgspec.to_builtins(ticket)
    facts["url"] = link
    return Issue(
        mark=f"energycomm-ticket-{ticket.id}",
        title=f"[{ticket.market}] {ticket.title}"[:250],
        body="\n".join(lines),
        due=None if ticket.due is None else f"{ticket.due.astimezone(zone):%Y-%m-%d}",
        closed=ticket.state == "closed",
        facts={name: value for name, value in facts.items() if name != "link"},
    )


def plain(text: str) -> str:
    """What a market or a person wrote, as words in a tracker's markup (Markdown, Jira's): no link, mention or image."""
    return _MARKUP.sub(r"\\\g<0>", _BREAKS.sub(" ", text))


def _listed(values: Iterable[object]) -> str:
    shown = [plain(str(value)) for value in values]
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return (", ".join(shown[:SHOWN]) or "none") + more
