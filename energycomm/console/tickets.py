"""Tickets: the worklist of what no correction frees; taken up, dated, noted, closed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import select

from energycomm.choices import closed
from energycomm.console.sheets import Column, Format, absent_from, heads, sheet
from energycomm.console.view import Words as Shown
from energycomm.console.view import address, page, words_of
from energycomm.correction.tickets import Changed, Ticket, change_ticket, delegate, tickets
from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.messages import summaries
from energycomm.eis.states import TICKET_STATES
from energycomm.eis.views import views_of
from energycomm.kernel.instants import instant, now_micros
from energycomm.links import fault_of_link
from energycomm.pipeline.listsearch import TICKET_ORDERS, TicketSearch, Words
from energycomm.webservice.answers import tag_of
from energycomm.webservice.parameters import Corrector, Reader, Shared
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import RecordedRoute

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

SHOWN_MESSAGES = 50

EMPTIED: tuple[Literal["owner", "due", "link"], ...] = ("owner", "due", "link")
"""Fields of the form that may be emptied."""


COLUMNS = (
    Column("No.", lambda one, _: one.id, "id", right=True),
    Column("Ticket", lambda one, words: words.said(one.title)),
    Column("Class", lambda one, words: words.t(one.error_class), "class"),
    Column("Grid operator", lambda one, _: one.grid_operator, "operator"),
    Column("Messages", lambda one, _: len(one.messages), right=True),
    Column("Owner", lambda one, _: one.owner, "owner"),
    Column("Due", lambda one, words: words.day(one.due), "due"),
    Column("State", lambda one, words: words.t(one.state), "state"),
)


class Listing(TicketSearch):
    """The tickets of the page: open ones unless another state is asked for."""

    state: Annotated[Words, *closed("state of a ticket", (*TICKET_STATES, "all"))] | None = "open"
    format: Format = ""


@router.get("/tickets")
def listing(request: Request, person: Reader, shared: Shared, asked: Annotated[Listing, Query()]) -> Response:
    """The tickets in a state, those that are due first."""
    words, sort = words_of(request), asked.sort or "due"
    absent = absent_from(asked, shared.store.engine)
    found = tickets(shared.store, state=None if asked.state == "all" else asked.state, sort=sort)
    mine = [one for one in found if asked.owner in (None, one.owner)]
    if asked.format:
        return sheet(COLUMNS, words, mine, asked.format, "tickets")
    kept = {"state": asked.state, "owner": asked.owner, "sort": asked.sort}
    return page(
        request,
        "tickets.html",
        tickets=mine,
        absent=absent,
        state=asked.state,
        states=TICKET_STATES,
        tracked=bool(shared.config.trackers),
        owner=asked.owner,
        owners=sorted({one.owner for one in found if one.owner}),
        now=datetime.now(UTC),
        saved=views_of(shared.store.engine, person.name, "tickets"),
        kept={name: value for name, value in kept.items() if value},
        heads=heads(COLUMNS, words, "/tickets", kept, sort=sort, possible=TICKET_ORDERS),
        sheets={form: address("/tickets", **kept, format=form) for form in ("csv", "xlsx")},
    )


@router.get("/tickets/{number}")
def show(request: Request, number: int, person: Reader, shared: Shared) -> HTMLResponse:
    """One ticket: evidence, messages, notes."""
    return _shown(request, shared, number)


def _shown(
    request: Request, shared: Any, number: int, typed: Mapping[str, str] | None = None, status: int = 200
) -> HTMLResponse:
    """The page of a ticket; with what was typed, that it was changed meanwhile and nothing is saved."""
    one = _ticket(shared, number)
    n = tables.note.c
    notes = select(n.at, n.by, n.text).where(n.ticket_id == number).order_by(n.id)
    with reading(shared.store.engine) as connection:
        messages = summaries(connection, one.messages[:SHOWN_MESSAGES])
        told = [(instant(row[0]), row[1], row[2]) for row in connection.execute(notes)]
    return page(
        request,
        "ticket.html",
        status=status,
        ticket=one,
        messages=messages,
        notes=told,
        states=TICKET_STATES,
        now=datetime.now(UTC),
        form=typed or _form_of(one, words_of(request)),
        conflict=typed is not None,
        seen=version_of(one),
        written=f"{version_of(one)} {len(told)}",
    )


def version_of(one: Ticket) -> str:
    """What tells whether a form would overwrite what somebody else did: of all that a form changes."""
    return tag_of((one.state, one.owner, one.due, one.link)).strip('"')


def _form_of(one: Ticket, words: Shown) -> dict[str, str]:
    """The fields of the form as the ticket is."""
    due = words.taste.times.day(one.due)
    return {"state": one.state, "owner": one.owner or "", "due": due, "link": one.link or "", "note": ""}


def _ticket(shared: Any, number: int) -> Ticket:
    found = tickets(shared.store, ticket_id=number)
    if not found:
        raise not_found("ticket", "id", number)
    return found[0]


@router.post("/tickets/{number}")
def change(
    request: Request,
    number: int,
    person: Corrector,
    shared: Shared,
    state: Annotated[str | None, Form()] = None,
    owner: Annotated[str | None, Form(max_length=120)] = None,
    due: Annotated[str | None, Form()] = None,
    link: Annotated[str | None, Form(max_length=400)] = None,
    note: Annotated[str, Form(max_length=4000)] = "",
    seen: Annotated[str, Form(max_length=80)] = "",
) -> Response:
    """Change what is another than the form had it, and add a note; nothing where somebody else changed it meanwhile."""
    one = _ticket(shared, number)
    before = _form_of(one, words_of(request))
    given = {"state": state, "owner": owner, "due": due, "link": link}
    # A field that is empty comes as one that is absent; the form of the page has them all.
    typed = {name: (value or ("" if seen else before[name])).strip() for name, value in given.items()}
    if seen and seen != version_of(one):
        return _shown(request, shared, number, typed | {"note": note}, status=409)
    changes = {name: value for name, value in typed.items() if value != before[name]}
    link = changes.get("link")
    if link and (fault := fault_of_link(link)) is not None:
        raise Problem("API_INVALID", f"This is no link: {fault}.", target="link", value=link, advice="https://...")
    try:
        change_ticket(
            shared.store,
            number,
            state=changes.get("state"),
            owner=changes.get("owner") or None,
            due=_due(changes.get("due", ""), request),
            link=link or None,
            emptied=[name for name in EMPTIED if changes.get(name) == ""],
            seen=one,
        )
    except Changed:
        return _shown(request, shared, number, typed | {"note": note}, status=409)
    if note.strip():
        with shared.store.transaction() as tx:
            told = {"ticket_id": number, "at": now_micros(), "by": person.name[:120], "text": note.strip()}
            tx.insert(tables.note, [told])
    return RedirectResponse(f"/tickets/{number}", 303)


def _due(text: str, request: Request) -> datetime | None:
    """The end of a local day."""
    if not text:
        return None
    try:
        return datetime.combine(date.fromisoformat(text), time(23, 59, 59), words_of(request).taste.zone)
    except ValueError:
        raise Problem("API_INVALID", "This is no day.", target="due", value=text, advice="2026-03-31") from None


@router.post("/messages/{number}/delegate")
def give(
    request: Request,
    number: int,
    person: Corrector,
    shared: Shared,
    to: Annotated[str, Form(max_length=120)],
    note: Annotated[str, Form(max_length=4000)] = "",
    seen: Annotated[int | None, Form()] = None,
) -> Response:
    """Give a refused message to a colleague, with a note; not where something happened to it meanwhile."""
    if not to.strip():
        raise Problem("API_INVALID", "Whom is it given to?", target="to")
    known = None if seen is None else {number: seen}
    try:
        given = delegate(shared.store, [number], to.strip(), person.name, note.strip(), known)
    except Changed:
        words = "Somebody else changed the message meanwhile: it is given to nobody."
        raise Problem("API_CONFLICT", words, target="id", value=number, advice="Look at it again.") from None
    if not given:
        raise Problem("API_CONFLICT", "The message is not refused any more.", target="id", value=number)
    return RedirectResponse(address(f"/messages/{number}"), 303)
