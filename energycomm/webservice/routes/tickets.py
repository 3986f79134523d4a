"""Tickets: messages that no correction frees."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response
from pydantic import Field, field_validator

from energycomm.correction.tickets import Changed, Ticket, change_ticket, tickets
from energycomm.eis.states import TicketState
from energycomm.links import LONGEST, fault_of_link
from energycomm.pipeline.listsearch import TicketSearch
from energycomm.webservice.answers import answer, described, tag_of, tagged, unchanged
from energycomm.webservice.parameters import Body, Consultant, Corrector, Number, Shared
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.services import Services

router = APIRouter(prefix="/corrections/tickets", tags=["corrections"], route_class=RecordedRoute)


class TicketChange(Body):
    """The changes of a ticket; absent fields do not change."""

    state: TicketState | None = Field(default=None, description="Its new state.")
    owner: str | None = Field(default=None, min_length=1, max_length=120, description="Owner of the ticket.")
    due: datetime | None = Field(default=None, description="When it is due; UTC where it names no offset.")
    link: str | None = Field(
        default=None,
        min_length=1,
        max_length=LONGEST,
        description="Its web address in another tracker.",
    )

    @field_validator("link")
    @classmethod
    def _followed(cls, value: str | None) -> str | None:
        if value is not None and (fault := fault_of_link(value)) is not None:
            raise ValueError(f"{fault}; expected https://tracker.example/TICKET-1")
        return value

    @field_validator("due")
    @classmethod
    def _aware(cls, value: datetime | None) -> datetime | None:
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


@router.get("", summary="Tickets", responses=described(list[Ticket]))
def search(
    request: Request,
    shared: Shared,
    _: Consultant,
    asked: Annotated[TicketSearch, Query()],
) -> Response:
    """The newest first unless they are sorted otherwise."""
    return tagged(request, tickets(shared.store, **asked.known(shared.store.engine).model_dump()))


@router.get("/{number}", summary="One ticket", responses=described(Ticket))
def show(request: Request, shared: Shared, _: Consultant, number: Number) -> Response:
    """With its messages and evidence; a change names its ETag in `If-Match`."""
    return tagged(request, find(shared, number))


@router.patch("/{number}", summary="Change a ticket", responses=described(Ticket))
def change(
    request: Request,
    shared: Shared,
    _: Corrector,
    number: Number,
    body: TicketChange,
    if_match: Annotated[
        str | None,
        Header(max_length=200, description="ETag of the ticket when it was read; refused if it has changed."),
    ] = None,
) -> Response:
    """Owner, due date, state, link. 412 if somebody else changed it after it was read."""
    seen = find(shared, number)
    about(request, f"ticket {number} {body.model_dump_json(exclude_none=True)}")
    changed = Problem("API_CHANGED", f"Ticket {number} was changed meanwhile.", advice="Look at it again.")
    if if_match is not None and not unchanged(request, seen):
        raise changed
    try:
        done = change_ticket(
            shared.store,
            number,
            state=body.state,
            owner=body.owner,
            due=body.due,
            link=body.link,
            seen=None if if_match is None else seen,
        )
    except Changed:
        raise changed from None
    return answer(done, 200, {"ETag": tag_of(done)})


def find(shared: Services, number: int) -> Ticket:
    """A ticket, or 404."""
    found = tickets(shared.store, ticket_id=number)
    if not found:
        raise not_found("ticket", "number", number, "GET /api/v1/corrections/tickets lists them.")
    return found[0]
