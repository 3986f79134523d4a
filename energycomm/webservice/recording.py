"""Routes that are recorded in the audit: reads of personal data before they are answered, changes after they are done.

They also bound their body, see `energycomm.webservice.bodies`, and refuse parameters that they do not have.

    router = APIRouter(prefix="/messages", route_class=RecordedRoute)

Every route of such a router is recorded, with who, the route, the subject and the status; so is everybody who was
refused for want of a right. A route that reads nothing personal is declared with `openapi_extra=UNRECORDED`; changes
are always recorded. A route may name its subject better than its path does: `about(request, "access point 123")`.

Who may not use a route is refused before its body is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any
from urllib.parse import unquote

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from energycomm.choices import UnknownWord, advice_of
from energycomm.webservice import audit
from energycomm.webservice.bodies import JsonRequest, check_media, is_json, read_json, set_bound
from energycomm.webservice.identity import SAFE, address_of, guard_of
from energycomm.webservice.parameters import LARGEST
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.roles import Person

UNRECORDED: dict[str, Any] = {"x-audit": "none"}
"""Marks a route that shows nothing personal."""

READS: dict[str, Any] = {"x-audit": "read"}
"""Marks a route that changes nothing although it is sent a form: what it shows is recorded as read."""


_NUMBERED = re.compile(r"/([a-z]+)s/\{number(?::\w+)?\}")
"""A part of a path that says what a number is of."""


_POINT_NAMED = re.compile(rb'"access_point":\s*"([^"\\]{1,60})"|/access-points/[A-Za-z]{2}/([^"/?#\s<>]{1,60})')
"""Where answers and pages name an access point: a field of JSON, the address of its page."""


def about(request: Request, subject: str) -> None:
    """Set the subject of a request, for the audit."""
    request.state.subject = subject


class RecordedRoute(APIRoute):
    """A route whose use is recorded."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler with the record around it."""
        handle = super().get_route_handler()
        marked = (self.openapi_extra or {}).get("x-audit")
        reads_nothing, self._reads = marked == "none", marked == "read"

        guard, known = guard_of(self.dependant), _parameters(self.dependant)
        # One with a bound of its own is refused by that, as an invalid parameter.
        numbers = [
            one.alias
            for one in self.dependant.path_params
            if one.field_info.annotation is int and not one.field_info.metadata
        ]

        async def recorded(request: Request) -> Response:
            request = JsonRequest(request.scope, request.receive)
            set_bound(request, self.openapi_extra)
            try:
                if guard is not None:
                    await guard.admit(request)
                _refuse_unknown(request, known)
                _refuse_too_large(request, numbers)
                check_media(request, self.openapi_extra, of_json=self.body_field is not None and self.include_in_schema)
                if self.body_field is not None and is_json(request):
                    request.parsed = await run_in_threadpool(read_json, await request.body())
                response = await handle(request)
            except Problem as problem:
                if problem.status == 403 or request.method not in SAFE:
                    await self._record(request, problem.status)
                raise
            if request.method not in SAFE or not reads_nothing:
                await self._record(request, response.status_code, shown_in(response))
            return response

        return recorded

    async def _record(self, request: Request, status: int, shown: Collection[str] = ()) -> None:
        person: Person | None = getattr(request.state, "person", None)
        if person is None:
            return
        action = "refused" if status == 403 else "read" if request.method in SAFE or self._reads else "change"
        subject = getattr(request.state, "subject", None) or _subject(request, "" if status == 403 else self.path)
        await run_in_threadpool(
            audit.record,
            request.app.state.services.store,
            person,
            action,
            f"{request.method} {request.url.path}",
            subject=subject,
            status=status,
            address=address_of(request),
            shown=shown,
        )


def shown_in(response: Response) -> list[str]:
    """The access points that an answer shows, each once; none of one that is sent piece by piece."""
    body = getattr(response, "body", b"")
    if not isinstance(body, bytes) or _POINT_NAMED.search(body) is None:
        return []
    found = (match[1] or match[2] for match in _POINT_NAMED.finditer(body))
    return list(dict.fromkeys(unquote(one.decode("utf-8", "replace")) for one in found))


def _parameters(dependant: Any) -> tuple[str, ...]:
    """The parameters of a route's address; a model of several is one field."""
    found: list[str] = []
    for one in dependant.query_params:
        fields = getattr(one.field_info.annotation, "model_fields", None)
        found += [one.alias] if fields is None else [field.alias or name for name, field in fields.items()]
    return (*found, *(name for one in dependant.dependencies for name in _parameters(one)))


def _refuse_unknown(request: Request, known: Sequence[str]) -> None:
    """Refuse a parameter that the route has not: a filter with a typing error would find everything.

    Raises:
      UnknownWord: there is one.
    """
    for name, value in request.query_params.multi_items():
        if name not in known:
            advice = advice_of(name, known) if known else "This address has none."
            raise UnknownWord(name, value, f"There is no parameter {name!r} here.", advice)


def _refuse_too_large(request: Request, numbers: Sequence[str]) -> None:
    """Refuse a number in the address that nothing of a store can have: its databases count to 2^63 - 1.

    Raises:
      Problem: there is one.
    """
    for name in numbers:
        value = str(request.path_params[name])
        if re.fullmatch(r"-?\d{19,}", value) and abs(int(value[:40])) > LARGEST:
            raise not_found("number", name, value[:40])


def _subject(request: Request, route: str = "") -> str:
    """What the address says of the subject: its parts and its filter; words of a search may be a name.

    Args:
      request: names the parts.
      route: its template: a number in it is that of a message, a ticket, ...
    """
    numbered = _NUMBERED.search(route)
    nouns = {"number": f"{numbered[1]} "} if numbered else {}
    parts = [f"{nouns.get(name, f'{name}=')}{value}" for name, value in request.path_params.items()]
    parts += [f"{name}={value}" for name, value in request.query_params.multi_items() if name not in ("cursor", "q")]
    return " ".join(parts)
