"""Messages: the browser, whose filters are in its address, and the page of one message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from msgspec.structs import replace
from sqlalchemy import Connection, Engine, select

from energycomm.choices import UnknownWord
from energycomm.console.raw import Leaves, Piece, piece_of
from energycomm.console.sheets import Column, Format, heads, sheet
from energycomm.console.view import Words, address, is_fragment, page, words_of
from energycomm.correction.explanation import explain as explain_message
from energycomm.correction.planning import spread
from energycomm.correction.tickets import latest_changes
from energycomm.eis import tables
from energycomm.eis.browsing import MessageFilter, number_of, orders_of
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.messages import MessageDetail, MessageSummary, list_messages, summaries
from energycomm.eis.states import STUCK
from energycomm.eis.tallies import code_frequencies, combinations
from energycomm.eis.views import views_of
from energycomm.engine.wording import condition_in_words
from energycomm.kernel.instants import instant
from energycomm.market.contract import Carrying
from energycomm.pipeline.messagesearch import MessageSearch
from energycomm.webservice.parameters import Reader, Shared
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.routes.messages import filter_of, find

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

PAGE = 50
SHEET_PAGE = 500

COLUMNS = (
    Column("No.", lambda one, _: one.id, right=True),
    Column("Received", lambda one, words: words.when(one.received_at), "received"),
    Column("Market", lambda one, _: one.market, "market"),
    Column("Type", lambda one, _: one.type, "type"),
    Column("Kind", lambda one, _: one.kind, "kind"),
    Column("Access point", lambda one, _: one.access_point),
    Column("Effective", lambda one, words: words.day(one.effective, one.market), "effective"),
    Column("State", lambda one, words: words.state(one.state), "state"),
    Column("Codes, or awaited message", lambda one, _: " ".join(one.codes) or one.waits_for),
)


NOTHING = MessageFilter(envelope=0)
"""The filter that no message passes."""


class Browsing(MessageSearch):
    """The filters as the address has them; days are civil days in the legal time of the pages."""

    id: str = ""
    cursor: str | None = None
    format: Format = ""


@router.get("/messages")
def browse(
    request: Request,
    person: Reader,
    shared: Shared,
    asked: Annotated[Browsing, Query()],
) -> Response:
    """The message browser; with `id`, as former links have it, whatever is named so."""
    if asked.id:
        return RedirectResponse(address("/find", q=asked.id, open="true"), 303)
    words = words_of(request)
    absent = None
    try:
        wanted = filter_of(shared, asked, words.taste.zone)
    except UnknownWord as unknown:
        if asked.format:
            raise
        # Of a kept view that outlives what it names, or comes before it: an empty list that says so.
        absent, wanted = unknown, NOTHING
    unsorted = None
    if wanted.order not in (possible := orders_of(wanted)):
        # A filter was added to a sorted list: it is shown as it can be, and says so.
        unsorted = next(column.title for column in COLUMNS if column.sort == wanted.order)
        wanted = replace(wanted, sort=None)
    if asked.format:
        return sheet(COLUMNS, words, all_messages(shared.store.engine, wanted), asked.format, "messages")
    try:
        found = list_messages(shared.store.engine, wanted, limit=PAGE, cursor=asked.cursor)
    except ValueError as error:
        raise Problem("API_INVALID", str(error), target="cursor", value=asked.cursor, advice="Begin anew.") from None
    typed = {name: request.query_params.get(name, "").strip() for name in MessageSearch.model_fields}
    kept = {name: value for name, value in typed.items() if value}
    values: dict[str, Any] = {
        "messages": found.messages,
        "more": address("/messages", **kept, cursor=found.next) if found.next else None,
        "heads": heads(COLUMNS, words, "/messages", kept, sort=wanted.sort or "-received", possible=possible),
        "sheets": {form: address("/messages", **kept, format=form) for form in ("csv", "xlsx")},
    }
    if is_fragment(request) and asked.cursor:
        return page(request, "message-rows.html", **values)
    with reading(shared.store.engine) as connection:
        values |= _choices(connection, words)
        values["number"] = 0 if absent is not None else number_of(connection, wanted)
    values |= {"unsorted": unsorted, "absent": absent}
    values["saved"] = views_of(shared.store.engine, person.name, "messages")
    return page(request, "messages.html", wanted=typed, kept=kept, **values)


def all_messages(engine: Engine, wanted: MessageFilter) -> Iterator[MessageSummary]:
    """All messages of a list, read page by page."""
    cursor: str | None = None
    while True:
        found = list_messages(engine, wanted, limit=SHEET_PAGE, cursor=cursor)
        yield from found.messages
        if found.next is None:
            return
        cursor = found.next


def _choices(connection: Connection, words: Words) -> dict[str, Any]:
    """What the filters offer: what there is."""
    there = combinations(connection)
    today = datetime.now(words.taste.zone).date()
    return {
        "states": sorted({one.state for one in there}),
        "markets": sorted({one.market for one in there}),
        "types": sorted({one.type for one in there}),
        "kinds": sorted({one.kind for one in there}),
        "known_codes": [one.name for one in code_frequencies(connection)],
        "spans": [
            (words.t("today"), today, None),
            (words.t("7 days"), today - timedelta(days=6), None),
            (words.t("30 days"), today - timedelta(days=29), None),
        ],
    }


@router.get("/messages/{number}")
def show(request: Request, number: int, person: Reader, shared: Shared) -> HTMLResponse:
    """One message: raw and Kernel XML, verdict, history of its states, causes and effects."""
    found = find(shared, number)
    about(request, f"message {number} access point {found.summary.access_point or '-'}")
    with reading(shared.store.engine) as connection:
        chain = _chain(connection, found)
        latest = latest_changes(driver_of(connection), [number]).get(number, 0)
    return page(
        request,
        "message.html",
        found=found,
        one=found.summary,
        xml=spread(found.xml),
        verdict=_verdict(found, shared.gateway.catalogue),
        former=[finding for finding in found.findings if not finding.current],
        chain=chain,
        stuck=found.summary.state in STUCK,
        corrected=any(later.state != "withdrawn" for later in chain["later"]),
        latest=latest,
    )


@router.get("/messages/{number}/explanation")
def explain(request: Request, number: int, person: Reader, shared: Shared) -> HTMLResponse:
    """The explanation of a message: schema errors, violated rules with the facts they read, what it waits for."""
    gateway = shared.gateway
    found = explain_message(shared.store, gateway.catalogue, gateway.engine, gateway.markets, number)
    if found is None:
        raise not_found("Kernel message", "id", number)
    language = words_of(request).taste.language

    def demanded(code: str) -> str:
        return condition_in_words(shared.gateway.catalogue.find(code)[0], language)

    return page(request, "explanation.html", found=found, demanded=demanded)


@router.get("/messages/{number}/raw")
def raw(request: Request, number: int, person: Reader, shared: Shared) -> HTMLResponse:
    """The market's text of the message: its own piece of the member, with what was refused."""
    found = find(shared, number)
    piece: Piece | None = None
    if found.origin is not None:
        fields = {one.value: one.field for one in found.findings if one.current and one.value}
        zone = words_of(request).taste.times.zone(found.summary.market)
        adapter: object = shared.gateway.markets.get(found.summary.market)

        def leaves(label: str, value: str) -> Leaves:
            """Where a field is read from: the market's code for its value may be another word."""
            if not isinstance(adapter, Carrying):
                return Leaves()
            place = re.search(r"\[(\d+)\]", fields[value])
            field = re.sub(r"\[\d+\]", "", fields[value])
            return Leaves(
                adapter.carriers(label, f"{found.summary.kind}.{field}"), int(place[1]) if place is not None else None
            )

        piece = piece_of(shared.config, shared.store, found.origin.ch_message_id, [*fields], zone, leaves)
    return page(request, "raw.html", piece=piece, origin=found.origin)


def _verdict(found: MessageDetail, catalogue: Any) -> list[dict[str, Any]]:
    """The findings that hold now, each with the sentence of its rule."""
    told = []
    for finding in found.findings:
        if finding.current:
            rules = catalogue.find(finding.rule)
            told.append({"finding": finding, "rule": rules[-1] if rules else None})
    return told


def _chain(connection: Connection, found: MessageDetail) -> dict[str, Any]:
    """Versions, campaigns, tickets, notes and requests that have to do with a message."""
    k, i, m = tables.kernel_message.c, tables.campaign_item.c, tables.ticket_message.c
    n, o = tables.note.c, tables.outgoing.c
    number = found.summary.id
    # A version lies at the access point of what it corrects, or was made there: its messages are few.
    later: list[int] = []
    if found.summary.access_point is not None:
        point = select(k.access_point_id).where(k.id == number).scalar_subquery()
        versions = select(k.id).where(k.access_point_id == point, k.corrects == number)
        later = list(connection.execute(versions).scalars())
    campaigns = select(i.campaign_id, i.action, i.state, i.note, i.result_id).where(i.message_id == number)
    tickets = select(tables.ticket).join(tables.ticket_message, m.ticket_id == tables.ticket.c.id)
    notes = select(n.at, n.by, n.assignee, n.text).where(n.message_id == number).order_by(n.id)
    return {
        "earlier": summaries(connection, [found.corrects]) if found.corrects is not None else (),
        "later": summaries(connection, later),
        "campaigns": connection.execute(campaigns).all(),
        "tickets": connection.execute(tickets.where(m.message_id == number)).mappings().all(),
        "notes": [(instant(row[0]), row[1], row[2], row[3]) for row in connection.execute(notes)],
        "requests": connection.execute(select(o.id, o.kind, o.state).where(o.message_id == number)).all(),
    }
