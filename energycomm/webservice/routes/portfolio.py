"""A supplier's portfolio: loaded as opening balances, compared with the store."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from energycomm.eis.database import rehearsal
from energycomm.eis.store import Store
from energycomm.kernel.counting import counted
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.listsearch import CivilDay
from energycomm.pipeline.portfolio import Loaded, compare_portfolio, load_portfolio, wrong_header
from energycomm.portfolio.comparison import HEAD, Comparison
from energycomm.portfolio.files import workbook
from energycomm.webservice.answers import answer, described
from energycomm.webservice.bodies import LARGE
from energycomm.webservice.idempotency import once
from energycomm.webservice.parameters import Injector, Key, Reader, Shared, Words
from energycomm.webservice.problems import Problem, mistake_of
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.services import Services

router = APIRouter(prefix="/portfolio", tags=["portfolio"], route_class=RecordedRoute)

MOST = 10_000
"""Mistakes and differences that are told one by one."""

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
BYTES = "application/octet-stream"


async def body_of(request: Request) -> bytes:
    """The bytes of the request; a dependency, since routes that use the store are plain functions."""
    return await request.body()


Sent = Annotated[bytes, Depends(body_of)]
Name = Annotated[
    Words, Query(max_length=200, description="File name: of a zip it says whether it is a workbook (.xlsx).")
]
On = Annotated[CivilDay | None, Query(description="Day whose supplies are compared; now by default.")]
_BODY: dict[str, Any] = LARGE | {
    "requestBody": {
        "required": True,
        "description": "The file: CSV, XLSX, Parquet, or a list of points that a market sent.",
        "content": {BYTES: {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post(
    "",
    summary="Load a portfolio",
    status_code=201,
    responses=described(Loaded, "What became of its rows.", 201),
    openapi_extra=_BODY,
)
def load(
    request: Request,
    shared: Shared,
    person: Injector,
    sent: Sent,
    name: Name = "portfolio.csv",
    dry_run: Annotated[bool, Query(description="Judge every row, store nothing.")] = False,
    key: Key = None,
) -> Response:
    """Each row is taken over or refused by itself; the answer names what is wrong with it. 422: the file is none that
    can be read, and nothing is stored.
    """
    about(request, f"portfolio {name}")
    wrong_names(sent, name)
    if dry_run:
        return answer(taken_over(shared, sent, name, dry_run=True), 201)

    def do() -> Response:
        return answer(taken_over(shared, sent, name, dry_run=False), 201)

    return once(request, shared.store, person, key, sent, do)


@router.post(
    "/comparison", summary="Compare a portfolio", responses=described(Comparison, "What differs."), openapi_extra=_BODY
)
def compare(
    request: Request,
    shared: Shared,
    _: Reader,
    sent: Sent,
    name: Name = "portfolio.csv",
    on: On = None,
    form: Annotated[str, Query(pattern="^(json|xlsx)$", description="json, or xlsx for a workbook.")] = "json",
) -> Response:
    """Points of one side alone, and terms that differ. Nothing is stored."""
    about(request, f"portfolio {name}")
    found = compared(shared, sent, name, on)
    return sheet(found) if form == "xlsx" else answer(found)


def wrong_names(sent: bytes, name: str) -> None:
    """Refuse a file whose columns are not those of a portfolio.

    Raises:
      Problem: with every mistake in their names.
    """
    wrong = wrong_header(io.BytesIO(sent), name)
    if wrong:
        mistakes = [mistake_of(refusal) for refusal in wrong]
        raise Problem("API_INVALID", f"{counted(len(mistakes), 'mistake')}; nothing is stored.", errors=mistakes)


def taken_over(shared: Services, sent: bytes, name: str, *, dry_run: bool) -> Loaded:
    """What became of the rows of a file, or what would become of them.

    Args:
      shared: what all requests share.
      sent: the bytes of the file.
      name: its name.
      dry_run: judge every row, store nothing.
    """
    shared.writer()  # the rules' version is stored before a rehearsal holds the store
    if dry_run:
        with shared.rehearsing() as store, rehearsal(store.engine):
            return load_portfolio(store, inbound_of(shared, store), io.BytesIO(sent), name, MOST)
    return load_portfolio(shared.store, inbound_of(shared, shared.store), io.BytesIO(sent), name, MOST)


def inbound_of(shared: Services, store: Store) -> Inbound:
    """The path of envelopes for the thread that asks."""
    gateway = shared.gateway
    return Inbound(store, shared.writer(), gateway.inbound.keys, gateway.inbound.limits, gateway.inbound.batch_size)


def compared(shared: Services, sent: bytes, name: str, on: date | None) -> Comparison:
    """What differs between a file and the store.

    Raises:
      Problem: the file is neither a table nor a list of points.
    """
    at = datetime.now(UTC) if on is None else datetime.combine(on, time(12), UTC)
    found = compare_portfolio(shared.store, inbound_of(shared, shared.store), io.BytesIO(sent), name, at, MOST)
    if isinstance(found, Refusal):
        raise Problem("API_INVALID", "The file cannot be compared.", errors=[mistake_of(found)])
    return found


def sheet(found: Comparison) -> Response:
    """The differences as a workbook."""
    content = workbook(HEAD, [line.cells for line in found.lines])
    return Response(content, 200, {"Content-Disposition": 'attachment; filename="differences.xlsx"'}, XLSX)
