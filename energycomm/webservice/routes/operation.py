"""How the gateway runs: counts of everything, envelopes and what could not be read of them; no content of messages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from msgspec import Struct
from pydantic import Field

from energycomm.daemon import operations
from energycomm.daemon.alarming import current
from energycomm.daemon.alarms import BY_CODE
from energycomm.daemon.operations import ChannelShown
from energycomm.daemon.survey import survey
from energycomm.eis import channels as stored
from energycomm.eis.channels import DaemonState, daemon_states
from energycomm.eis.database import shown
from energycomm.eis.envelopes import EnvelopeDetail, EnvelopePage, list_envelopes, show_envelope
from energycomm.eis.migrations import status
from energycomm.eis.statistics import Statistics, statistics
from energycomm.errors import UserError
from energycomm.kernel.instants import now_micros
from energycomm.pipeline.listsearch import EnvelopeSearch
from energycomm.webservice.answers import answer, described, tagged
from energycomm.webservice.parameters import Body, Number, Operator, Paged, Shared, Words, Worker
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute
from energycomm.webservice.routes.messages import bad_cursor
from energycomm.webservice.services import Services

router = APIRouter(tags=["operation"], route_class=RecordedRoute)


class AlarmShown(Struct, frozen=True, kw_only=True):
    """An alarm that is on.

    Attributes:
      alarm: its code.
      subject: what it is about.
      detail: what happened.
      meaning, advice: what the code means, and what to do.
      urgent: whether it is told in quiet hours, too.
    """

    alarm: str
    subject: str
    detail: str
    meaning: str
    advice: str
    urgent: bool


class Health(Struct, frozen=True, kw_only=True):
    """Health of the gateway, as known from the store, in which the daemons write what they know.

    Attributes:
      database: its address, without secrets.
      tables: version of its tables, and whether it is the program's.
      waiting: envelopes that are archived and not finished.
      oldest_notification: age in seconds of the oldest notification that is to be sent.
      alarms: what needs somebody, as `/alarms` says it.
    """

    database: str
    tables: str
    waiting: int
    oldest_notification: float
    alarms: tuple[AlarmShown, ...]


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
            alarms=_alarms(shared),
        ),
    )


@router.get("/alarms", summary="Alarms", responses=described(tuple[AlarmShown, ...]), openapi_extra=UNRECORDED)
def alarms(request: Request, shared: Shared, _: Operator) -> Response:
    """What is on, of the store and of the daemons of all hosts, with what to do."""
    return tagged(request, _alarms(shared))


def _alarms(shared: Services) -> tuple[AlarmShown, ...]:
    shown = []
    for (code, subject), detail in current(shared.store, shared.config, now_micros()).items():
        one = BY_CODE[code]
        words = {"detail": detail, "meaning": one.meaning, "advice": one.advice}
        shown.append(AlarmShown(alarm=code, subject=subject, urgent=one.urgent, **words))
    return tuple(shown)


@router.get("/statistics", summary="Counts", responses=described(Statistics), openapi_extra=UNRECORDED)
def counts(
    request: Request,
    shared: Shared,
    _: Worker,
    top: Annotated[int, Query(ge=0, le=100, description="How many error codes.")] = 10,
) -> Response:
    """Messages by market, type and state; the most frequent codes; envelopes; sizes; the oldest in quarantine."""
    return tagged(request, statistics(shared.store.engine, top=top))


class Search(EnvelopeSearch, Paged):
    """Envelopes, page by page."""


@router.get("/envelopes", summary="Envelopes", responses=described(EnvelopePage), openapi_extra=UNRECORDED)
def search(
    request: Request,
    shared: Shared,
    _: Worker,
    asked: Annotated[Search, Query()],
) -> Response:
    """Received envelopes, the newest first unless they are sorted otherwise."""
    engine = shared.store.engine
    try:
        return tagged(request, list_envelopes(engine, **asked.known(engine).model_dump()))
    except (ValueError, OverflowError):
        raise bad_cursor(asked.cursor) from None


@router.get("/envelopes/{number}", summary="One envelope", responses=described(EnvelopeDetail))
def show(request: Request, shared: Shared, _: Worker, number: Number) -> Response:
    """Its members, the number of its messages by state, and its incidents."""
    found = show_envelope(shared.store.engine, number)
    if found is None:
        raise not_found("envelope", "number", number, "GET /api/v1/envelopes lists them.")
    return tagged(request, found)


ChannelName = Annotated[Words, Path(max_length=80, description="Its name in the configuration; `back office` too.")]


class Pause(Body):
    """Why a channel is to rest."""

    why: Annotated[str, Field(max_length=400)] = Field(default="", description="For those who come after.")


@router.get("/channels", summary="Channels", responses=described(tuple[ChannelShown, ...]), openapi_extra=UNRECORDED)
def all_channels(request: Request, shared: Shared, _: Worker) -> Response:
    """Every channel of the configuration: state, backlog, when it worked last, how it failed, who paused it."""
    return tagged(request, tuple(operations.channels(shared.config, shared.store)))


@router.get("/daemons", summary="Daemons", responses=described(tuple[DaemonState, ...]), openapi_extra=UNRECORDED)
def all_daemons(request: Request, shared: Shared, _: Operator) -> Response:
    """What the daemon of each host said of itself: workers, alarms, and when."""
    return tagged(request, tuple(daemon_states(shared.store.engine, now_micros())))


@router.post("/channels/{name}/pause", summary="Pause a channel", responses=described(ChannelShown))
def pause(shared: Shared, person: Operator, name: ChannelName, body: Pause) -> Response:
    """Nothing is received or sent through it, on all hosts and across restarts, until it is resumed."""
    name = _configured(shared, name)
    stored.pause(shared.store, name, person.name, body.why.strip(), now_micros())
    return _channel(shared, name)


@router.post("/channels/{name}/resume", summary="Resume a channel", responses=described(ChannelShown))
def resume(shared: Shared, _: Operator, name: ChannelName) -> Response:
    """It goes on within about two seconds; resuming one that is not paused is allowed."""
    name = _configured(shared, name)
    stored.resume(shared.store, name)
    return _channel(shared, name)


@router.post("/channels/{name}/try", summary="Try a channel now", responses=described(ChannelShown))
def attempt(shared: Shared, _: Operator, name: ChannelName) -> Response:
    """The daemon that leads it tries at once, whatever it waits for; 409 where it is paused."""
    name = _configured(shared, name)
    try:
        operations.try_now(shared.store, name, now_micros())
    except UserError as error:
        raise Problem("API_CONFLICT", error.message, advice=error.advice) from None
    return _channel(shared, name)


def _configured(shared: Services, name: str) -> str:
    """The name as it is configured; a channel that there is not is not found."""
    try:
        return operations.one_channel(shared.config, name)
    except UserError as error:
        raise not_found("channel", "name", name, error.advice) from None


def _channel(shared: Services, name: str) -> Response:
    (found,) = (one for one in operations.channels(shared.config, shared.store) if one.name == name)
    return answer(found)
