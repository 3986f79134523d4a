"""Health of the gateway: backlog, alarms, incidents; without the content of any message."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from msgspec import Struct, structs
from sqlalchemy import select

from energycomm.console.front import stuck_by_state
from energycomm.console.view import page
from energycomm.daemon.alarming import current
from energycomm.daemon.alarms import BY_CODE
from energycomm.daemon.survey import survey
from energycomm.eis import tables
from energycomm.eis.database import reading, shown
from energycomm.eis.migrations import status
from energycomm.eis.tallies import combinations
from energycomm.kernel.instants import instant, now_micros
from energycomm.texts import wording
from energycomm.webservice.parameters import Shared, Worker
from energycomm.webservice.recording import UNRECORDED, RecordedRoute

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

LATEST = 20
SEARCHED = 20 * LATEST
"""Incidents that are looked through for the latest: those of one place, the gaps of a series, are told once."""


@router.get("/state", openapi_extra=UNRECORDED)
def show(request: Request, person: Worker, shared: Shared) -> HTMLResponse:
    """The state of the gateway."""
    engine = shared.store.engine
    found = survey(engine, now_micros(), shared.config.daemon.answer_hours)
    e, i = tables.envelope.c, tables.incident.c
    with reading(engine) as connection:
        everything = combinations(connection)
        latest = select(e.id, e.name, e.channel, e.state, e.received_at).order_by(e.received_at.desc()).limit(LATEST)
        envelopes = [(*row[:4], instant(row[4])) for row in connection.execute(latest)]
        query = select(i.code, i.severity, i.path, i.at, i.envelope_id).order_by(i.id.desc()).limit(SEARCHED)
        incidents = _by_place(connection.execute(query))
    return page(
        request,
        "health.html",
        alarms=[
            (code, subject, detail, BY_CODE[code])
            for (code, subject), detail in current(shared.store, shared.config, now_micros()).items()
        ],
        survey=found,
        stuck=stuck_by_state(everything),
        total=sum(one.messages for one in everything),
        envelopes=envelopes,
        incidents=incidents,
        facts=_facts(shared),
        now=datetime.now(UTC),
    )


class Incident(Struct, frozen=True, kw_only=True):
    """Incidents of one code and place: how many, and when and with which envelope the latest was noticed."""

    code: str
    severity: str
    place: str
    times: int
    at: datetime
    envelope: int | None


def _by_place(rows: Iterable[Any]) -> list[Incident]:
    """The latest incidents, of each code and place once.

    Args:
      rows: code, severity, place, instant and envelope, the latest first.
    """
    found: dict[tuple[str, str, str], Incident] = {}
    for code, severity, place, at, envelope in rows:
        key = (code, severity, place)
        if key in found:
            found[key] = structs.replace(found[key], times=found[key].times + 1)
        elif len(found) < LATEST:
            found[key] = Incident(code=code, severity=severity, place=place, times=1, at=instant(at), envelope=envelope)
    return list(found.values())


def _facts(shared: Any) -> list[tuple[str, str]]:
    """Facts of this process; the page translates the words."""
    engine = shared.store.engine
    tables_state = status(engine)
    return [
        (wording("version"), version("energycomm")),
        (wording("database"), shown(engine) if engine.dialect.name != "sqlite" else "SQLite"),
        (wording("tables"), f"{tables_state.current}"),
        (wording("rules"), shared.gateway.catalogue.version),
        (wording("engine"), shared.config.engine),
    ]
