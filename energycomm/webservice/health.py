"""Whether the web services can do their work, for load balancers and monitors, who need not sign in."""

from __future__ import annotations

from typing import Annotated

import structlog
from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse
from sqlalchemy import text

from energycomm.eis.database import reading
from energycomm.eis.migrations import require_current
from energycomm.errors import UserError
from energycomm.webservice.services import Services, services

router = APIRouter(tags=["health"])
log = structlog.get_logger()


@router.get("/health/live", summary="Whether the process answers")
def live() -> JSONResponse:
    """Always 200: a process that does not answer is restarted by whoever asks."""
    return JSONResponse({"status": "live"})


@router.get(
    "/health",
    summary="Whether requests can be served",
    responses={503: {"description": "The database cannot be used, or is not of this version."}},
)
def ready(shared: Annotated[Services, Depends(services)]) -> JSONResponse:
    """200 while the database answers and has the tables of this version, else 503."""
    try:
        with reading(shared.store.engine) as connection:
            connection.execute(text("SELECT 1"))
        require_current(shared.store.engine)
    except UserError as error:
        log.error("web.health", error=error.message)
        # What the error says names the database's address: that stays in the log.
        return JSONResponse({"status": "unavailable", "database": "cannot be used"}, 503)
    return JSONResponse({"status": "ready", "database": "ready"})
