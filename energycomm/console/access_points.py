"""One access point: its life drawn over time, and everything that happened to it as a list."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import select

from energycomm.billing.period import BLOCKING, NOTED, billing_period
from energycomm.console.lifeline import LANES, draw, indexes, marks_of
from energycomm.console.sheets import Column, Format, heads, in_order, sorts
from energycomm.console.view import Words, address, page, words_of
from energycomm.eis import tables
from energycomm.eis.away import floor_of
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.domain import declarations
from energycomm.eis.timeline import Entry, Timeline, timelines
from energycomm.eis.views import views_of
from energycomm.errors import UserError
from energycomm.kernel.instants import instant
from energycomm.market.contract import Noticing
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.listsearch import OverdueSearch, by
from energycomm.texts import wording
from energycomm.webservice.parameters import Cursor, Reader, Shared
from energycomm.webservice.problems import not_found
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.routes.access_points import MOST as MOST_MISSED
from energycomm.webservice.routes.access_points import missed, missed_sheet

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

MOST = 1_000
"""Entries of each kind that are looked at, the latest."""

LISTED = 300
"""Entries that are listed; the drawing shows all."""

MISSED = 50
"""Points whose measures stay away, on a page."""


@router.get("/access-points")
def look_up(request: Request, person: Reader, shared: Shared, identifier: str = "") -> Response:
    """A form to look an access point up; with its identifier, its page."""
    identifier = identifier.strip()
    found: list[tuple[str, str]] = []
    if identifier:
        p = tables.access_point.c
        with reading(shared.store.engine) as connection:
            rows = connection.execute(select(p.market, p.identifier).where(p.identifier == identifier))
            found = [(row[0], row[1]) for row in rows]
        if len(found) == 1:
            return RedirectResponse(f"/access-points/{found[0][0]}/{identifier}", 303)
    return page(request, "access-points.html", identifier=identifier, known=found)


OVERDUE = (
    Column("Market", lambda one, _: one.market, "market", key=lambda one: one.market),
    Column("Access point", lambda one, _: one.access_point, "access_point", key=lambda one: one.access_point),
    Column("Supplied since", lambda one, _: one.supplied_since, "since", key=lambda one: one.supplied_since),
    Column("Measured until", lambda one, _: one.measured_until, "until", key=lambda one: one.measured_until),
    Column("Every (days)", lambda one, _: one.every, "every", right=True, key=lambda one: one.every),
    Column("Days without", lambda one, _: one.missing, "missing", right=True, key=lambda one: one.missing),
    Column("Days late", lambda one, _: one.late, "late", right=True, key=lambda one: one.late),
)
"""Heads of the page; its files have the columns of the command and of the API."""


class Overdue(OverdueSearch):
    """The points of the page, or all as a file."""

    sort: Annotated[str, *by(*sorts(OVERDUE))] | None = None
    cursor: Cursor = None
    format: Format = ""


@router.get("/access-points/overdue")
def overdue(
    request: Request,
    person: Reader,
    shared: Shared,
    asked: Annotated[Overdue, Query()],
) -> Response:
    """The points that we supply and whose measures stay away, those that are missed longest first; or all as a file."""
    about(request, "overdue access points")
    words = words_of(request)
    kept, path = asked.model_dump(exclude_defaults=True, exclude={"cursor", "format"}), "/access-points/overdue"
    if asked.format or asked.sort:
        found = in_order(OVERDUE, missed(shared, asked, MOST_MISSED).points, asked.sort)
        if asked.format:
            return missed_sheet(shared, found, asked.format)
        listed, more = found[:LISTED], ""
        number, cut = len(listed), len(found) > LISTED
    else:
        points = missed(shared, asked, MISSED, asked.cursor)
        listed, number, cut = points.points, len(points.points), bool(points.next)
        more = address(path, **kept, cursor=points.next) if points.next else ""
    markets = sorted(installed_adapters(shared.config.mapping_files))
    return page(
        request,
        "overdue.html",
        found=listed,
        number=number,
        cut=cut,
        more=more,
        further=asked.cursor is not None,
        asked=asked,
        markets=markets,
        saved=views_of(shared.store.engine, person.name, path[1:]),
        kept=kept,
        heads=heads(OVERDUE, words, path, kept, sort=asked.sort or "-late", possible=sorts(OVERDUE)),
        sheets={form: address(path, **kept, format=form) for form in ("csv", "xlsx")},
    )


@router.get("/access-points/{market}/{identifier}")
def show(
    request: Request,
    market: str,
    identifier: str,
    person: Reader,
    shared: Shared,
    contract: str = "",
    first: date | None = None,
    last: date | None = None,
) -> HTMLResponse:
    """The life of one access point; with two days, the billing period between them too."""
    about(request, f"access point {market} {identifier}")
    found = timelines(shared.store.engine, identifier, market=market, limit=MOST)
    if not found:
        raise not_found("access point", "identifier", identifier)
    (timeline,) = found
    period, refused = None, None
    markets = installed_adapters(shared.config.mapping_files)
    if first is not None and last is not None:
        try:
            period = billing_period(shared.store.engine, contract.strip() or identifier, first, last, markets, market)
        except UserError as error:
            refused = error
    words, now = words_of(request), datetime.now(UTC)
    labels = {lane: words.t(lane) for lane in LANES}
    name = words.t("Life of access point {identifier}", identifier=identifier)
    adapter = markets.get(timeline.market)
    with reading(shared.store.engine) as connection:
        floor = None if timeline.id is None else floor_of(driver_of(connection), timeline.id)
    notices = adapter.notices if isinstance(adapter, Noticing) else ()
    marks = marks_of(timeline, now, notices, None if floor is None else instant(floor))
    latest = list(reversed(timeline.entries))
    return page(
        request,
        "access-point.html",
        timeline=timeline,
        drawing=draw(marks, labels, name, words.taste.times.zone(timeline.market), now),
        gaps=[mark for mark in marks if mark.style == "gap"],
        facts=_facts(timeline, words),
        entries=[(entry, told(entry, words, timeline.market)) for entry in latest[:LISTED]],
        cut=len(latest) > LISTED or not timeline.complete,
        asked={"contract": contract, "first": first, "last": last},
        period=period,
        refused=refused,
        meanings=BLOCKING | NOTED,
        browse=address("/messages", access_point=identifier),
    )


UNDECLARED = {"reference": wording("reference"), "reason": wording("reason")}
"""Columns of the timeline that keep no declared field -> their words."""


def told(entry: Entry, words: Words, market: str) -> str:
    """An entry as one line, in the visitor's language."""
    content = entry.content
    if entry.what == "message":
        return " ".join([content["kind"], *content.get("codes", ()), content.get("waits_for") or ""]).strip()
    if entry.what == "refused":
        return " ".join([content["type"], *content.get("codes", ())])
    if entry.what == "reading":
        parts = (content.get("qualification"), content.get("nature"), content.get("status"), indexes(content))
        return " ".join(words.t(str(part)) for part in parts if part)
    hidden = ("content", "registers", "volumes", "positions", "lines", "end_message_id")
    shown = {name: value for name, value in content.items() if name not in hidden and value not in ([], ())}
    return ", ".join(
        f"{_label(entry.what, name, words)}: {_short(value, words, market)}" for name, value in shown.items()
    )


def _label(table: str, column: str, words: Words) -> str:
    """What a column of a domain table holds: in the words of its declaration, where it keeps a field."""
    declared = declarations(table).get(column)
    if declared is None:
        return words.t(UNDECLARED.get(column, column.replace("_", " ")))
    language = words.taste.language
    label = declared.label(language) if language in ("en", "fr") else words.t(declared.label("en"))
    return label if label[:2].isupper() else label[:1].lower() + label[1:]


def _short(value: Any, words: Words, market: str) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(_short(one, words, market) for one in value)
    if isinstance(value, dict):
        return " ".join(_short(one, words, market) for one in value.values() if one is not None)
    if isinstance(value, bool):
        return words.t("yes") if value else words.t("no")
    return words.day(value, market) if isinstance(value, datetime) else words.t(str(value))


def _facts(timeline: Timeline, words: Words) -> list[tuple[str, str]]:
    """What holds now, each with its label: what rules see as stated last, of the latest message that stated it."""
    last: dict[str, Entry] = {}
    market = timeline.market
    for entry in timeline.entries:
        last[entry.what] = entry
    found: list[tuple[str, str]] = []
    period = last.get("supply_period")
    if period is not None:
        ended = period.content.get("ended_at")
        found.append((words.t("supply since"), _short(period.at, words, market)))
        if ended is not None:
            found.append((words.t("ended"), _short(ended, words, market)))
    for what, entry in last.items():
        for name, declared in declarations(what).items():
            value = entry.content.get(name)
            if declared.known_as is not None and value is not None:
                unit = entry.content.get(declared.unit or "", "")
                found.append((_label(what, name, words), f"{_short(value, words, market)} {unit}".strip()))
    if "reading" in last:
        found.append(
            (words.t("last reading"), f"{_short(last['reading'].at, words, market)} {indexes(last['reading'].content)}")
        )
    return found
