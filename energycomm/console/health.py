"""Health of the gateway: backlog, alarms, incidents; without the content of any message."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import select

from energycomm.console.front import stuck_by_state
from energycomm.console.view import Anybody, Shared, page
from energycomm.daemon.survey import survey
from energycomm.eis import tables
from energycomm.eis.database import reading, shown
from energycomm.eis.migrations import status
from energycomm.eis.tallies import combinations
from energycomm.kernel.instants import instant, now_micros
from energycomm.webservice.recording import UNRECORDED, RecordedRoute

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

LATEST = 20


@router.get("/state", openapi_extra=UNRECORDED)
def show(request: Request, person: Anybody, shared: Shared) -> HTMLResponse:
    """The state of the gateway."""
    engine = shared.store.engine
    found = survey(engine, now_micros(), shared.config.daemon.answer_hours)
    e, i = tables.envelope.c, tables.incident.c
    with reading(engine) as connection:
        everything = combinations(connection)
        latest = select(e.id, e.name, e.channel, e.state, e.received_at).order_by(e.received_at.desc()).limit(LATEST)
        envelopes = [(*row[:4], instant(row[4])) for row in connection.execute(latest)]
        query = select(i.code, i.severity, i.path, i.expected, i.at, i.envelope_id).order_by(i.id.desc()).limit(LATEST)
        incidents = [(*row[:4], instant(row[4]), row[5]) for row in connection.execute(query)]
    return page(
        request,
        "health.html",
        alarms=[alarm for alarm in found.alarms() if alarm[2]],
        quiet=[alarm[0] for alarm in found.alarms() if not alarm[2]],
        survey=found,
        stuck=stuck_by_state(everything),
        total=sum(one.messages for one in everything),
        envelopes=envelopes,
        incidents=incidents,
        facts=_facts(shared),
        now=datetime.now(UTC),
    )


def _facts(shared: Any) -> list[tuple[str, str]]:
    """Facts of this process; the page translates the words."""
    engine = shared.store.engine
    tables_state = status(engine)
    return [
        ("version", version("energycomm")),
        ("database", shown(engine) if engine.dialect.name != "sqlite" else "SQLite"),
        ("tables", f"{tables_state.current} ({tables_state.state})"),
        ("rules", shared.gateway.catalogue.version),
        ("engine", shared.config.engine),
    ]
