"""Tickets: the worklist of what no correction frees; taken up, dated, noted, closed."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import select

from energycomm.choices import one_of
from energycomm.console.view import Consultant, Reader, Shared, address, page, words_of
from energycomm.correction.tickets import change_ticket, delegate, tickets
from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.messages import summaries
from energycomm.eis.states import TICKET_STATES
from energycomm.kernel.instants import instant, now_micros
from energycomm.links import fault_of_link
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import RecordedRoute

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

SHOWN_MESSAGES = 50


@router.get("/tickets")
def listing(request: Request, person: Reader, shared: Shared, state: str = "open", owner: str = "") -> HTMLResponse:
    """The tickets in a state, those that are due first."""
    state = one_of("state", state, (*TICKET_STATES, "all"), "state of a ticket")
    found = tickets(shared.store, state=None if state == "all" else state)
    mine = [one for one in found if owner in ("", one.owner)]
    far = datetime.max.replace(tzinfo=UTC)
    mine.sort(key=lambda one: (one.due or far, -one.id))
    owners = sorted({one.owner for one in found if one.owner})
    return page(
        request,
        "tickets.html",
        tickets=mine,
        state=state,
        states=TICKET_STATES,
        owner=owner,
        owners=owners,
        now=datetime.now(UTC),
    )


@router.get("/tickets/{number}")
def show(request: Request, number: int, person: Reader, shared: Shared) -> HTMLResponse:
    """One ticket: evidence, messages, notes."""
    one = _ticket(shared, number)
    n = tables.note.c
    notes = select(n.at, n.by, n.text).where(n.ticket_id == number).order_by(n.id)
    with reading(shared.store.engine) as connection:
        messages = summaries(connection, one.messages[:SHOWN_MESSAGES])
        told = [(instant(row[0]), row[1], row[2]) for row in connection.execute(notes)]
    now = datetime.now(UTC)
    return page(request, "ticket.html", ticket=one, messages=messages, notes=told, states=TICKET_STATES, now=now)


def _ticket(shared: Any, number: int) -> Any:
    found = tickets(shared.store, ticket_id=number)
    if not found:
        raise not_found("ticket", "id", number)
    return found[0]


@router.post("/tickets/{number}")
def change(
    request: Request,
    number: int,
    person: Consultant,
    shared: Shared,
    state: Annotated[str, Form()] = "",
    owner: Annotated[str, Form(max_length=120)] = "",
    due: Annotated[str, Form()] = "",
    link: Annotated[str, Form(max_length=400)] = "",
    note: Annotated[str, Form(max_length=4000)] = "",
) -> Response:
    """Change what is given, and add a note."""
    if link == _ticket(shared, number).link:
        link = ""
    if link and (fault := fault_of_link(link)) is not None:
        raise Problem("API_INVALID", f"This is no link: {fault}.", target="link", value=link, advice="https://...")
    change_ticket(
        shared.store,
        number,
        state=state or None,
        owner=owner.strip() or None,
        due=_due(due, request),
        link=link or None,
    )
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
    person: Consultant,
    shared: Shared,
    to: Annotated[str, Form(max_length=120)],
    note: Annotated[str, Form(max_length=4000)] = "",
) -> Response:
    """Give a refused message to a colleague, with a note."""
    if not to.strip():
        raise Problem("API_INVALID", "Whom is it given to?", target="to")
    if not delegate(shared.store, [number], to.strip(), person.name, note.strip()):
        raise Problem("API_CONFLICT", "The message is not refused any more.", target="id", value=number)
    return RedirectResponse(address(f"/messages/{number}"), 303)
