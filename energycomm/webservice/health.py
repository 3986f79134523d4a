"""Whether the web services live and can do their work: one word for load balancers and monitors, who need not sign in.

They are answered within a second whatever else goes on: without the threads that work on requests, by one look at the
database that all who ask meanwhile share. What is known besides is for operators: `GET /api/v1/health`.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse
from sqlalchemy import text

from energycomm.eis.database import reading
from energycomm.eis.migrations import require_current
from energycomm.errors import UserError
from energycomm.logs import Log
from energycomm.webservice.services import Services, services

router = APIRouter(tags=["health"], default_response_class=PlainTextResponse)
log = Log()

NO_STORE = {"Cache-Control": "no-store"}
LOOK_SECONDS = 0.7
"""Time that whoever asks waits for the look."""
TRUSTED_SECONDS = 30.0
"""How long the look before counts where the present one takes longer."""


class Looks:
    """One look at the database at a time, in a thread of its own."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="web-health")
        self._under_way: asyncio.Future[bool] | None = None
        self._seen = (float("-inf"), False)

    async def ready(self, shared: Services) -> bool:
        """Whether requests can be served."""
        if self._under_way is None or self._under_way.done():
            self._under_way = asyncio.get_running_loop().run_in_executor(self._thread, self._look, shared)
        await asyncio.wait({self._under_way}, timeout=LOOK_SECONDS)
        when, good = self._seen
        return good and time.monotonic() - when < TRUSTED_SECONDS

    def _look(self, shared: Services) -> bool:
        try:
            with reading(shared.store.engine) as connection:
                connection.execute(text("SELECT 1"))
            require_current(shared.store.engine)
            good = True
        except UserError as error:
            log.error("web.health", error=error.message)
            good = False
        self._seen = (time.monotonic(), good)
        return good


@router.get("/health/live", summary="Whether the process answers")
async def live() -> PlainTextResponse:
    """Always 200 and `live`: a process that does not answer is to be restarted."""
    return PlainTextResponse("live\n", headers=NO_STORE)


@router.get("/health", include_in_schema=False)
@router.get(
    "/health/ready",
    summary="Whether requests can be served",
    responses={503: {"description": "The database cannot be used, or is not of this version: `unavailable`."}},
)
async def ready(request: Request, shared: Annotated[Services, Depends(services)]) -> PlainTextResponse:
    """200 and `ready` while the database answers and has the tables of this version, else 503."""
    looks: Looks = request.app.state.looks
    if await looks.ready(shared):
        return PlainTextResponse("ready\n", headers=NO_STORE)
    # What the error says names the database's address: that stays in the log.
    return PlainTextResponse("unavailable\n", 503, NO_STORE)
