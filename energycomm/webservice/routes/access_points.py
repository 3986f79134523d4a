"""Access points: how they stand, what happened, and their contracts, readings and charges."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import Field

from energycomm.cells import write_csv
from energycomm.eis.message_parts import Effect
from energycomm.eis.overdue import HEAD, OverduePoint, cells, overdue_page
from energycomm.eis.overdue import Page as MissedPoints
from energycomm.eis.timeline import Timeline, timelines
from energycomm.market.contract import notices_of
from energycomm.market.installed import installed_adapters
from energycomm.market.legaltime import LegalTime
from energycomm.pipeline.listsearch import OverdueSearch
from energycomm.portfolio.files import workbook
from energycomm.webservice.answers import described, tagged
from energycomm.webservice.domain import AccessPointView, Subject, access_points, rows_of
from energycomm.webservice.pages import Page
from energycomm.webservice.parameters import Cursor, Identifier, Limit, Market, Reader, Shared, Since, Until
from energycomm.webservice.problems import not_found
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.routes.messages import bad_cursor
from energycomm.webservice.routes.portfolio import XLSX
from energycomm.webservice.services import Services

MOST = 10_000

router = APIRouter(prefix="/access-points", tags=["access points"], route_class=RecordedRoute)


class Search(OverdueSearch):
    """Points whose measures stay away, the first of them."""

    limit: int = Field(default=50, ge=1, le=MOST, description="How many at most.")


@router.get("/overdue", summary="Access points whose measures stay away", responses=described(list[OverduePoint]))
def overdue(
    request: Request,
    shared: Shared,
    _: Reader,
    asked: Annotated[Search, Query()],
) -> Response:
    """Points that we supply, those that are missed longest first; each against the rhythm of its own measures."""
    about(request, "overdue access points")
    return tagged(request, missed(shared, asked, asked.limit).points)


def missed(shared: Services, wanted: OverdueSearch, limit: int, cursor: str | None = None) -> MissedPoints:
    """The points whose measures stay away."""
    markets = installed_adapters(shared.config.mapping_files)
    try:
        return overdue_page(
            shared.store.engine,
            datetime.now(UTC),
            notices=notices_of(markets),
            market=wanted.market,
            usual=wanted.usual,
            grace=wanted.grace,
            limit=limit,
            cursor=cursor,
        )
    except ValueError:
        raise bad_cursor(cursor) from None


def missed_sheet(shared: Services, found: list[OverduePoint], form: str) -> Response:
    """The points as CSV or as a workbook."""
    times = LegalTime(installed_adapters(shared.config.mapping_files).zones, UTC)
    rows = [cells(one, times.day) for one in found]
    headers = {"Content-Disposition": f'attachment; filename="overdue-access-points.{form}"'}
    if form == "xlsx":
        return Response(workbook(HEAD, rows, "overdue"), 200, headers, XLSX)
    text = io.StringIO(newline="")
    write_csv(text, HEAD, rows)
    return Response(text.getvalue().encode("utf-8-sig"), 200, headers, "text/csv; charset=utf-8")


@router.get("/{identifier}", summary="State of an access point", responses=described(list[AccessPointView]))
def show(request: Request, shared: Shared, _: Reader, identifier: Identifier, market: Market = None) -> Response:
    """One entry for each market that has the identifier."""
    about(request, f"access point {identifier}")
    found = access_points(shared.store, identifier, market)
    if not found:
        raise not_found("access point", "identifier", identifier)
    return tagged(request, found)


@router.get("/{identifier}/timeline", summary="Timeline of an access point", responses=described(list[Timeline]))
def timeline(
    request: Request,
    shared: Shared,
    _: Reader,
    identifier: Identifier,
    market: Market = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, Query(ge=1, le=5000, description="How many of each kind, the latest.")] = 500,
) -> Response:
    """Messages, refused CH messages and their effects, in order of time; one timeline for each market."""
    about(request, f"access point {identifier}")
    found = timelines(
        shared.store.engine,
        identifier,
        market=market,
        since=since,
        until=until,
        limit=limit,
    )
    if not found:
        raise not_found("access point", "identifier", identifier)
    return tagged(request, found)


@router.get("/{identifier}/{subject}", summary="Contracts, readings, charges, ...", responses=described(Page[Effect]))
def subject_rows(
    request: Request,
    shared: Shared,
    _: Reader,
    identifier: Identifier,
    subject: Annotated[Subject, Path(description="Subject of the rows.")],
    market: Market = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The rows of one subject, the latest instant first. A series is given with the number of its values."""
    about(request, f"access point {identifier} {subject}")
    try:
        found = rows_of(
            shared.store,
            identifier,
            subject,
            market=market,
            since=since,
            until=until,
            limit=limit,
            cursor=cursor,
        )
    except (ValueError, OverflowError):
        raise bad_cursor(cursor) from None
    if found is None:
        raise not_found("access point", "identifier", identifier)
    return tagged(request, found)
