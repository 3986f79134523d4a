"""How the gateway runs: counts of everything, envelopes and what could not be read of them; no content of messages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response
from msgspec import Struct

from energycomm.choices import closed
from energycomm.daemon.survey import survey
from energycomm.eis.database import shown
from energycomm.eis.envelopes import EnvelopeDetail, EnvelopePage, list_envelopes, show_envelope
from energycomm.eis.migrations import status
from energycomm.eis.states import ENVELOPE_STATES
from energycomm.eis.statistics import Statistics, statistics
from energycomm.kernel.instants import now_micros
from energycomm.webservice.answers import described, tagged
from energycomm.webservice.identity import require
from energycomm.webservice.parameters import READERS, Cursor, Limit, Number, Shared, Words
from energycomm.webservice.problems import not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute
from energycomm.webservice.roles import Person, Role, Scope
from energycomm.webservice.routes.messages import bad_cursor

router = APIRouter(tags=["operation"], route_class=RecordedRoute)

Operator = Annotated[Person, Depends(require(Role.OPERATOR, Role.ADMINISTRATOR, scope=Scope.OPERATE))]
Onlooker = Annotated[Person, Depends(require(Role.OPERATOR, Role.ADMINISTRATOR, *READERS))]


class AlarmOn(Struct, frozen=True):
    """A state of the store that needs attention: code, object, number, description."""

    alarm: str
    subject: str
    number: int
    detail: str


class Health(Struct, frozen=True, kw_only=True):
    """Health of the gateway, as known from the store.

    Attributes:
      database: its address, without secrets.
      tables: version of its tables, and whether it is the program's.
      waiting: envelopes that are archived and not finished.
      oldest_notification: age in seconds of the oldest notification that is to be sent.
      alarms: what needs somebody.
    """

    database: str
    tables: str
    waiting: int
    oldest_notification: float
    alarms: tuple[AlarmOn, ...]


@router.get("/health", summary="Health of the gateway", responses=described(Health), openapi_extra=UNRECORDED)
def health(request: Request, shared: Shared, _: Operator) -> Response:
    """Alarms, backlog and database; without the content of any message."""
    engine = shared.store.engine
    found, tables = survey(engine, now_micros(), shared.config.daemon.answer_hours), status(engine)
    return tagged(
        request,
        Health(
            database=shown(engine),
            tables=f"{tables.current} ({tables.state})",
            waiting=found.waiting,
            oldest_notification=round(found.oldest_notification, 1),
            alarms=tuple(AlarmOn(*alarm) for alarm in found.alarms() if alarm[2]),
        ),
    )


@router.get("/statistics", summary="Counts", responses=described(Statistics), openapi_extra=UNRECORDED)
def counts(
    request: Request,
    shared: Shared,
    _: Onlooker,
    top: Annotated[int, Query(ge=0, le=100, description="How many error codes.")] = 10,
) -> Response:
    """Messages by market, type and state; the most frequent codes; envelopes; sizes; the oldest in quarantine."""
    return tagged(request, statistics(shared.store.engine, top=top))


@router.get("/envelopes", summary="Envelopes", responses=described(EnvelopePage), openapi_extra=UNRECORDED)
def search(
    request: Request,
    shared: Shared,
    _: Onlooker,
    state: Annotated[
        Annotated[Words, *closed("state of an envelope", ENVELOPE_STATES)] | None,
        Query(description="Only in this state: done, failed, ..."),
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Received envelopes, the newest first."""
    try:
        return tagged(request, list_envelopes(shared.store.engine, state=state, limit=limit, cursor=cursor))
    except (ValueError, OverflowError):
        raise bad_cursor(cursor) from None


@router.get("/envelopes/{number}", summary="One envelope", responses=described(EnvelopeDetail))
def show(request: Request, shared: Shared, _: Onlooker, number: Number) -> Response:
    """Its members, the number of its messages by state, and its incidents."""
    found = show_envelope(shared.store.engine, number)
    if found is None:
        raise not_found("envelope", "number", number, "GET /api/v1/envelopes lists them.")
    return tagged(request, found)
