"""Worklists: the quarantine and the open requests, each with its page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError
from sqlalchemy import Engine, select

from energycomm.choices import closed
from energycomm.console.messages import PAGE, SHEET_PAGE, all_messages
from energycomm.console.sheets import Column, Format, absent_from, heads, sheet
from energycomm.console.trials import scripts_of
from energycomm.console.view import address, page, words_of
from energycomm.eis import tables
from energycomm.eis.browsing import ARRIVAL, number_of
from energycomm.eis.database import reading
from energycomm.eis.messages import MessageFilter, MessageSummary, list_messages
from energycomm.eis.received_requests import OWED_ORDERS, OwedAnswer, list_owed, place_of
from energycomm.eis.requests import REQUEST_ORDERS, RequestSummary, list_requests, show_request
from energycomm.eis.states import REQUEST_STATES
from energycomm.eis.views import views_of
from energycomm.kernel.instants import instant
from energycomm.pipeline.listsearch import ListSearch, Market, RequestSearch, Words, by
from energycomm.texts import wording
from energycomm.webservice.parameters import LARGEST, Reader, Shared
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import RecordedRoute
from energycomm.webservice.routes.messages import bad_cursor
from energycomm.webservice.services import Services

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

UNDER_WAY = ("built", "sent", "acknowledged", "in-course")
OWED = wording("to answer")


ORDERS = (ARRIVAL, "market", "type", "kind")
"""What waiting messages are sorted by."""

WAITING = (
    Column("No.", lambda one, _: one.message.id, right=True),
    Column("Market", lambda one, _: one.message.market, "market"),
    Column("Type", lambda one, _: one.message.type, "type"),
    Column("Kind", lambda one, _: one.message.kind, "kind"),
    Column("Access point", lambda one, _: one.message.access_point),
    Column("Effective", lambda one, words: words.day(one.message.effective, one.message.market)),
    Column("Waits for", lambda one, _: one.message.waits_for),
    Column("Received", lambda one, words: words.when(one.message.received_at), "received"),
    Column("Given up", lambda one, words: words.day(one.until)),
)


class Waiting(NamedTuple):
    """A message in quarantine and when it is given up."""

    message: MessageSummary
    until: datetime | None


class Quarantined(ListSearch):
    """The filters and the order of the quarantine."""

    market: Market = None
    sort: Annotated[Words, *by(*ORDERS)] | None = None
    cursor: str | None = None
    format: Format = ""

    @property
    def wanted(self) -> MessageFilter:
        """What is asked of the store."""
        return MessageFilter(state="quarantined", market=self.market, sort=self.sort)


@router.get("/quarantine")
def quarantine(request: Request, person: Reader, shared: Shared, asked: Annotated[Quarantined, Query()]) -> Response:
    """The waiting messages: what each waits for, and until when."""
    wanted, words, engine = asked.wanted, words_of(request), shared.store.engine
    if asked.format:
        return sheet(WAITING, words, _all_waiting(engine, wanted), asked.format, "quarantine")
    try:
        found = list_messages(engine, wanted, limit=PAGE, cursor=asked.cursor)
    except ValueError as error:
        raise Problem("API_INVALID", str(error), target="cursor", value=asked.cursor) from None
    with reading(engine) as connection:
        number = number_of(connection, wanted)
    scripts = scripts_of(shared)
    kept = {"market": asked.market, "sort": asked.sort}
    return page(
        request,
        "quarantine.html",
        rows=_waiting(engine, found.messages),
        more=address("/quarantine", **kept, cursor=found.next) if found.next else None,
        number=number,
        scripts=[one for one in scripts.values() if one.declared.selection.waits_for],
        now=datetime.now(UTC),
        saved=views_of(engine, person.name, "quarantine"),
        kept={name: value for name, value in kept.items() if value},
        market=asked.market,
        markets=sorted(shared.gateway.markets),
        heads=heads(WAITING, words, "/quarantine", kept, sort=asked.sort or f"-{ARRIVAL}", possible=ORDERS),
        sheets={form: address("/quarantine", **kept, format=form) for form in ("csv", "xlsx")},
    )


def _all_waiting(engine: Engine, wanted: MessageFilter) -> Iterator[Waiting]:
    messages = all_messages(engine, wanted)
    while some := list(islice(messages, SHEET_PAGE)):
        yield from _waiting(engine, some)


def _waiting(engine: Engine, messages: Sequence[MessageSummary]) -> list[Waiting]:
    k = tables.kernel_message.c
    with reading(engine) as connection:
        rows = connection.execute(select(k.id, k.waits_until).where(k.id.in_([one.id for one in messages])))
        until = {row[0]: None if row[1] is None else instant(row[1]) for row in rows}
    return [Waiting(one, until.get(one.id)) for one in messages]


COLUMNS = (
    Column("No.", lambda one, _: one.id, right=True),
    Column("Market", lambda one, _: one.market, "market"),
    Column("Kind", lambda one, _: one.kind, "kind"),
    Column("Access point", lambda one, _: one.access_point),
    Column("Reference", lambda one, _: one.reference),
    Column("State", lambda one, words: f"{words.t(one.state)} {one.answer_code or ''}".rstrip(), "state"),
    Column("Made", lambda one, words: words.when(one.created_at), "made"),
    Column("Answer until", lambda one, words: words.when(one.answer_by, one.market), "answer_by"),
)

OWED_COLUMNS = (
    Column("Message", lambda one, _: one.message_id, right=True),
    Column("Market", lambda one, _: one.market, "market"),
    Column("Access point", lambda one, _: one.access_point, "access_point"),
    Column("Reference", lambda one, _: one.reference),
    Column("Requester", lambda one, _: one.requester),
    Column("Code", lambda one, _: one.object_code),
    Column("Text", lambda one, _: one.text),
    Column("Received", lambda one, words: words.when(one.received_at), "received"),
    Column("Answer until", lambda one, words: words.when(one.answer_by, one.market), "answer_by"),
)


class Listing(RequestSearch):
    """The requests of the page: those under way unless a state is asked for; `after` goes on among those to us."""

    state: Annotated[Words, *closed("state of a request", (*REQUEST_STATES, "all", OWED))] | None = None
    sort: Annotated[Words, *by(*dict.fromkeys((*REQUEST_ORDERS, *OWED_ORDERS)))] | None = None
    before: int | None = Field(default=None, ge=1, le=LARGEST)
    after: str | None = None
    format: Format = ""

    @model_validator(mode="after")
    def _sortable(self) -> Listing:
        """The two lists of the page have columns of their own."""
        owed = self.state == OWED
        possible = OWED_ORDERS if owed else REQUEST_ORDERS
        if self.sort is not None and self.sort.removeprefix("-") not in possible:
            raise PydanticCustomError("sort", "This list is sorted by {columns}.", {"columns": ", ".join(possible)})
        return self

    @property
    def wanted(self) -> dict[str, Any]:
        """What is asked of the store."""
        states = {None: UNDER_WAY, "all": REQUEST_STATES}.get(self.state, (self.state,))
        return {"state": states, "market": self.market, "access_point": self.access_point, "sort": self.sort}


@router.get("/requests")
def requests(request: Request, person: Reader, shared: Shared, asked: Annotated[Listing, Query()]) -> Response:
    """Our requests to the markets, those under way unless a state is asked for; or those to us without an answer."""
    if asked.state == OWED:
        return _owed(request, shared, asked)
    words = words_of(request)
    absent = absent_from(asked, shared.store.engine)
    if asked.format:
        return sheet(COLUMNS, words, _all_requests(shared.store.engine, asked), asked.format, "requests")
    found = list_requests(shared.store.engine, **asked.wanted, cursor=asked.before, limit=PAGE)
    kept = asked.model_dump(include={"state", "market", "access_point", "sort"})
    more = address("/requests", **kept, before=found[-1].id) if len(found) == PAGE else None
    return _requests(
        request,
        asked.state or "",
        asked.market,
        requests=found,
        absent=absent,
        more=more,
        saved=views_of(shared.store.engine, person.name, "requests"),
        kept={name: value for name, value in kept.items() if value},
        heads=heads(COLUMNS, words, "/requests", kept, sort=asked.sort or "-made", possible=REQUEST_ORDERS),
        sheets={form: address("/requests", **kept, format=form) for form in ("csv", "xlsx")},
    )


def _all_requests(engine: Engine, asked: Listing) -> Iterator[RequestSummary]:
    last: int | None = None
    while found := list_requests(engine, **asked.wanted, cursor=last, limit=500):
        yield from found
        last = found[-1].id


def _owed(request: Request, shared: Services, asked: Listing) -> Response:
    words, kept = words_of(request), asked.model_dump(include={"state", "market", "sort"})
    if asked.format:
        return sheet(OWED_COLUMNS, words, _all_owed(shared, asked), asked.format, "requests-to-answer")
    try:
        found = _owed_page(shared, asked, asked.after, PAGE)
    except (ValueError, OverflowError):
        raise bad_cursor(asked.after) from None
    last = place_of(found[-1]) if len(found) == PAGE else None
    return _requests(
        request,
        OWED,
        asked.market,
        owed=found,
        more=address("/requests", **kept, after=last) if last else None,
        heads=heads(OWED_COLUMNS, words, "/requests", kept, sort=asked.sort or "answer_by", possible=OWED_ORDERS),
        sheets={form: address("/requests", **kept, format=form) for form in ("csv", "xlsx")},
    )


def _owed_page(shared: Services, asked: Listing, after: str | None, limit: int) -> list[OwedAnswer]:
    engine, zones = shared.store.engine, shared.gateway.markets.zones
    return list_owed(engine, zones, market=asked.market, sort=asked.sort, after=after, limit=limit)


def _all_owed(shared: Services, asked: Listing) -> Iterator[OwedAnswer]:
    after: str | None = None
    while found := _owed_page(shared, asked, after, SHEET_PAGE):
        yield from found
        after = place_of(found[-1])


def _requests(request: Request, state: str, market: str | None, **values: Any) -> HTMLResponse:
    chosen: dict[str, Any] = {"state": state, "states": (*REQUEST_STATES, "all", OWED), "market": market}
    none: dict[str, Any] = {"requests": (), "owed": (), "absent": None, "more": None}
    return page(request, "requests.html", **none | {"sheets": {}, "saved": {}, "kept": {}} | chosen | values)


@router.get("/requests/{number}")
def show(request: Request, number: int, person: Reader, shared: Shared) -> HTMLResponse:
    """One request: what was sent, every step, the answers."""
    found = show_request(shared.store.engine, number)
    if found is None:
        raise not_found("request", "id", number)
    return page(request, "request.html", found=found, one=found.summary)
