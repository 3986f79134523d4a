"""One access point: its life drawn over time, and everything that happened to it as a list."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import select

from energycomm.console.lifeline import LANES, draw, indexes, marks_of
from energycomm.console.view import Reader, Shared, address, page, words_of
from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.timeline import Entry, timelines
from energycomm.webservice.problems import not_found
from energycomm.webservice.recording import RecordedRoute, about

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

MOST = 1_000
"""Entries of each kind that are looked at, the latest."""

LISTED = 300
"""Entries that are listed; the drawing shows all."""


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


@router.get("/access-points/{market}/{identifier}")
def show(request: Request, market: str, identifier: str, person: Reader, shared: Shared) -> HTMLResponse:
    """The life of one access point."""
    about(request, f"access point {market} {identifier}")
    found = timelines(shared.store.engine, identifier, market=market, limit=MOST)
    if not found:
        raise not_found("access point", "identifier", identifier)
    (timeline,) = found
    words, now = words_of(request), datetime.now(UTC)
    labels = {lane: words.t(lane) for lane in LANES}
    name = words.t("Life of access point {identifier}", identifier=identifier)
    marks = marks_of(timeline, now)
    latest = list(reversed(timeline.entries))
    return page(
        request,
        "access-point.html",
        timeline=timeline,
        drawing=draw(marks, labels, name, words.taste.zone, now),
        gaps=[mark for mark in marks if mark.style == "gap"],
        facts=_facts(timeline.entries),
        entries=[(entry, told(entry)) for entry in latest[:LISTED]],
        cut=len(latest) > LISTED or not timeline.complete,
        browse=address("/messages", access_point=identifier),
    )


def told(entry: Entry) -> str:
    """What an entry says, in a line."""
    content = entry.content
    if entry.what == "message":
        return " ".join([content["kind"], *content.get("codes", ()), content.get("waits_for") or ""]).strip()
    if entry.what == "refused":
        return " ".join([content["type"], *content.get("codes", ())])
    if entry.what == "reading":
        parts = (content.get("qualification"), content.get("nature"), content.get("status"), indexes(content))
        return " ".join(str(part) for part in parts if part)
    hidden = ("content", "registers", "volumes", "positions", "lines", "end_message_id")
    facts = [f"{name.replace('_', ' ')} {_short(value)}" for name, value in content.items() if name not in hidden]
    return ", ".join(facts)


def _short(value: Any) -> str:
    return f"{value:%Y-%m-%d}" if isinstance(value, datetime) else str(value)


def _facts(entries: tuple[Entry, ...]) -> list[tuple[str, str]]:
    """What holds now: the latest of what describes the point; words are translated by the page."""
    last: dict[str, Entry] = {}
    for entry in entries:
        last[entry.what] = entry
    found: list[tuple[str, str]] = []
    period = last.get("supply_period")
    if period is not None:
        ended = period.content.get("ended_at")
        found.append(("supply since", _short(period.at)))
        if ended is not None:
            found.append(("ended", _short(ended)))
    for what, names in (
        ("contract", ("tariff", "subscribed_power", "power_unit", "calendar", "status")),
        ("point_data", ("segment", "connection_status")),
        ("meter", ("serial", "type")),
    ):
        if what in last:
            shown = [str(last[what].content[name]) for name in names if last[what].content.get(name)]
            found.append((what.replace("_", " "), " ".join(shown)))
    if "reading" in last:
        found.append(("last reading", f"{_short(last['reading'].at)} {indexes(last['reading'].content)}"))
    return found
