"""Routes that are recorded in the audit: reads of personal data before they are answered, changes after they are done.

They also bound their body, see `energycomm.webservice.bodies`.

    router = APIRouter(prefix="/messages", route_class=RecordedRoute)

Every route of such a router is recorded, with who, the route, the subject and the status; so is everybody who was
refused for want of a right. A route that reads nothing personal is declared with `openapi_extra=UNRECORDED`; changes
are always recorded. A route may name its subject better than its path does: `about(request, "access point 123")`.

Who may not use a route is refused before its body is read.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from energycomm.webservice import audit
from energycomm.webservice.bodies import JsonRequest, is_json, read_json, set_bound
from energycomm.webservice.identity import SAFE, address_of, guard_of
from energycomm.webservice.problems import Problem
from energycomm.webservice.roles import Person

UNRECORDED: dict[str, Any] = {"x-audit": "none"}
"""Marks a route that shows nothing personal."""


def about(request: Request, subject: str) -> None:
    """Set the subject of a request, for the audit."""
    request.state.subject = subject


class RecordedRoute(APIRoute):
    """A route whose use is recorded."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler with the record around it."""
        handle = super().get_route_handler()
        reads_nothing = (self.openapi_extra or {}).get("x-audit") == "none"

        guard = guard_of(self.dependant)

        async def recorded(request: Request) -> Response:
            request = JsonRequest(request.scope, request.receive)
            set_bound(request, self.openapi_extra)
            try:
                if guard is not None:
                    await guard.admit(request)
                if self.body_field is not None and is_json(request):
                    request.parsed = await run_in_threadpool(read_json, await request.body())
                response = await handle(request)
            except Problem as problem:
                if problem.status == 403 or request.method not in SAFE:
                    await self._record(request, problem.status)
                raise
            if request.method not in SAFE or not reads_nothing:
                await self._record(request, response.status_code)
            return response

        return recorded

    async def _record(self, request: Request, status: int) -> None:
        person: Person | None = getattr(request.state, "person", None)
        if person is None:
            return
        action = "refused" if status == 403 else "read" if request.method in SAFE else "change"
        subject = getattr(request.state, "subject", None) or _subject(request)
        await run_in_threadpool(
            audit.record,
            request.app.state.services.store,
            person,
            action,
            f"{request.method} {request.url.path}",
            subject=subject,
            status=status,
            address=address_of(request),
        )


def _subject(request: Request) -> str:
    """What the address says of the subject: its parts and its filter."""
    parts = [f"{name}={value}" for name, value in request.path_params.items()]
    parts += [f"{name}={value}" for name, value in request.query_params.multi_items() if name != "cursor"]
    return " ".join(parts)
