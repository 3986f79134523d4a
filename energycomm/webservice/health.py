"""Whether the web services live and can do their work: one word for load balancers and monitors, who need not sign in.

What is known besides is for operators: `GET /api/v1/health`.
"""

from __future__ import annotations

from typing import Annotated

import structlog
from fastapi import APIRouter, Depends
from fastapi.responses import PlainTextResponse
from sqlalchemy import text

from energycomm.eis.database import reading
from energycomm.eis.migrations import require_current
from energycomm.errors import UserError
from energycomm.webservice.services import Services, services

router = APIRouter(tags=["health"], default_response_class=PlainTextResponse)
log = structlog.get_logger()

NO_STORE = {"Cache-Control": "no-store"}


@router.get("/health/live", summary="Whether the process answers")
def live() -> PlainTextResponse:
    """Always 200 and `live`: a process that does not answer is restarted by whoever asks."""
    return PlainTextResponse("live\n", headers=NO_STORE)


@router.get("/health", include_in_schema=False)
@router.get(
    "/health/ready",
    summary="Whether requests can be served",
    responses={503: {"description": "The database cannot be used, or is not of this version: `unavailable`."}},
)
def ready(shared: Annotated[Services, Depends(services)]) -> PlainTextResponse:
    """200 and `ready` while the database answers and has the tables of this version, else 503."""
    try:
        with reading(shared.store.engine) as connection:
            connection.execute(text("SELECT 1"))
        require_current(shared.store.engine)
    except UserError as error:
        log.error("web.health", error=error.message)
        return PlainTextResponse("unavailable\n", 503, NO_STORE)
    return PlainTextResponse("ready\n", headers=NO_STORE)
