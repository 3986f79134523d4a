"""Pages that other packages add to the console, found by the entry point group `energycomm.console`.

The gateway imports no assistant; an installed one names a function there:

    [project.entry-points."energycomm.console"]
    assistant = "assistant.web.console:addition"

The function takes the configuration and answers an `Addition`, or None where it cannot work here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

from fastapi import FastAPI, Request
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from energycomm.config import Config
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.logs import Log
from energycomm.texts.catalogues import Folders
from energycomm.webservice import audit
from energycomm.webservice.bodies import LARGE, set_bound
from energycomm.webservice.identity import (
    CSRF_HEADER,
    SAFE,
    address_of,
    check_origin,
    check_token,
    identify,
    login_address,
)
from energycomm.webservice.parameters import READERS
from energycomm.webservice.problems import Problem, answer
from energycomm.webservice.roles import Person

GROUP = "energycomm.console"
HTMX = "HX-Request"
"""Header of a request of htmx."""
log = Log()


class Addition(Struct, frozen=True, kw_only=True):
    """A page beside ours.

    Attributes:
      name: part of its address: /NAME/.
      title: words of its link, in English.
      texts: folders of the catalogues that translate the title.
      ready: tells whether its first page works; the link to it is shown only then.
      make: makes its application; called at the first request.
      explain: address, below its own, that explains a Kernel message, with `{id}` for its number; empty for none.
      read: other addresses below its own that show personal data.
      large: addresses below its own that take bodies as large as [web] `body_bytes`.
    """

    name: str
    title: str
    make: Callable[[], ASGIApp]
    explain: str = ""
    read: tuple[str, ...] = ()
    large: tuple[str, ...] = ()
    texts: Folders = ()
    ready: Callable[[], bool] = lambda: True

    def about(self, message_id: int) -> str:
        """Where it explains a message."""
        return f"/{self.name}/{self.explain.format(id=message_id)}"

    def subject(self, store: Store, path: str) -> str | None:
        """The subject of a path, for the audit; None if it shows no personal data."""
        below = path.removeprefix(f"/{self.name}/")
        before = self.explain.partition("{")[0]
        if before and below.startswith(before):
            return audit.with_access_point(store, "message", below.removeprefix(before))
        return next((address for address in self.read if below.startswith(address)), None)


def mount(app: FastAPI) -> None:
    """Mount the installed additions; those that fail are left out and logged."""
    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        try:
            make: Callable[[Config], Addition | None] = entry.load()
            addition = make(app.state.services.config)
        except (ImportError, UserError) as error:
            log.warning("console.addition", name=entry.name, error=str(error))
            continue
        if addition is not None:
            app.mount(f"/{addition.name}", Guarded(addition, app), name=addition.name)
            found.append(addition)
    app.state.additions = tuple(found)


class Guarded:
    """Restricts an addition to readers of the console, and creates it on first use.

    Who comes with a session and changes something sends its CSRF token in the header `X-CSRF-Token`.

    The addition finds who asks in `request.state.person`.

    Args:
      addition: what is guarded.
      app: the application with the sessions.
    """

    def __init__(self, addition: Addition, app: FastAPI) -> None:
        self.addition, self.app = addition, app
        self._made: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            asked = await self._admitted(request)
        except Problem as problem:
            scope["app"] = self.app
            asked = answer(request, problem)
        await asked(scope, receive, send)

    async def _admitted(self, request: Request) -> ASGIApp:
        """The addition, for whoever may see it; the way to the sign-in for whoever is not signed in.

        Raises:
          Problem: not allowed, forged, or the addition cannot be made.
        """
        shared = self.app.state.services
        person = await identify(request, shared, None)
        if person is None:
            return self._to_login(request)
        if not person.may(frozenset(READERS)):
            raise Problem("API_FORBIDDEN")
        if request.method not in SAFE:
            check_origin(request)
            if person.csrf:
                check_token(request.headers.get(CSRF_HEADER), person.csrf)
        if request.url.path.removeprefix(f"/{self.addition.name}/") in self.addition.large:
            set_bound(request, LARGE)
        await run_in_threadpool(self._record, request, person, shared.store)
        if self._made is None:
            try:
                self._made = await run_in_threadpool(self.addition.make)
            except UserError as error:
                raise Problem("API_REFUSED", error.message, advice=error.advice) from None
        return self._made

    def _to_login(self, request: Request) -> Response:
        """To the sign-in and back; htmx, which asks for a part of a page, is told to take the whole page there."""
        if HTMX not in request.headers:
            return RedirectResponse(login_address(request.url.path), 303)
        return Response(status_code=401, headers={"HX-Redirect": login_address(f"/{self.addition.name}/")})

    def _record(self, request: Request, person: Person, store: Store) -> None:
        subject = self.addition.subject(store, request.url.path)
        if subject is not None:
            what = f"{request.method} {request.url.path}"
            audit.record(store, person, "read", what, subject=subject, address=address_of(request))
