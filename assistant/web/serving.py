"""Who may come to the chat that stands alone: everybody on this machine, others by the sign-in of the web services."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from assistant.web.addresses import QUESTION
from assistant.web.console import guarded
from energycomm.commands.recording import has_store, system_user
from energycomm.config import Config
from energycomm.console.additions import Guarded
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.pipeline.opening import open_store
from energycomm.webservice import audit, problems, signin
from energycomm.webservice.identity import SAFE
from energycomm.webservice.middleware import Shield
from energycomm.webservice.roles import Person
from energycomm.webservice.services import Services

_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")


@contextmanager
def door(config: Config, host: str, chat: Callable[[], ASGIApp], *, sign_in: bool = False) -> Iterator[ASGIApp]:
    """What is served: the chat behind its door.

    Args:
      config: the gateway's configuration: its store, and who can sign in.
      host: address that is listened on.
      chat: opens the chat; called when the door stands.
      sign_in: ask for the sign-in on this machine too.

    Raises:
      UserError: a sign-in is needed and cannot be had, or the chat cannot be opened.
    """
    with ExitStack() as closing:
        if sign_in or not is_loopback(host):
            shared = _services(config, host)
            closing.callback(shared.close)
            yield signed_in(shared, chat())
        else:
            store = closing.enter_context(open_store(config)) if has_store(config) else None
            yield Local(chat(), host, store)


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone; a name is where all its addresses are."""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host or None, None, type=socket.SOCK_STREAM)}
        return bool(host) and all(ipaddress.ip_address(one.partition("%")[0]).is_loopback for one in found)
    except (OSError, ValueError):
        return False


def _services(config: Config, host: str) -> Services:
    advice = "Listen on 127.0.0.1, or set up what the sign-in needs: docs/assistant.md."
    why = ""
    if not config.web.token_sign_in and config.oidc.issuer is None:
        why = "neither tokens nor an identity provider are set up"
    elif not has_store(config):
        why = "there is no EIS yet, which holds the tokens and sessions"
    if why:
        raise UserError(f"No user could sign in to the assistant on {host}: {why}.", advice)
    return Services(config)


def signed_in(shared: Services, chat: ASGIApp) -> FastAPI:
    """The chat and the explanations for readers of the console, with the sign-in of the web services.

    Args:
      shared: the store and the configuration.
      chat: the chat.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.services = shared
    problems.install(app)
    app.add_middleware(Shield)
    app.include_router(signin.router)
    app.get("/")(_front)
    addition = guarded(shared.config, chat)
    app.mount(f"/{addition.name}", Guarded(addition, app))
    return app


def _front() -> Response:
    return RedirectResponse("/assistant/", 303)


class Local:
    """Lets in who is on this machine: a page of another site, whose name was made to mean this machine, is refused.

    Args:
      app: the chat.
      host: address that is listened on.
      store: the EIS, where there is one: questions are recorded in its audit, in the name of who serves.
    """

    def __init__(self, app: ASGIApp, host: str, store: Store | None) -> None:
        self.app, self.store = app, store
        self.names = {host.lower().strip("[]"), "localhost", "127.0.0.1", "::1"}
        self.person = Person(system_user(), frozenset(), "assistant serve")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        refusal = self._refused(request)
        if refusal is None and self.store is not None and request.url.path == f"/{QUESTION}":
            try:
                await run_in_threadpool(self._record, self.store, request)
            except UserError as error:
                refusal = PlainTextResponse(str(error), 503)
        await (refusal or self.app)(scope, receive, send)

    def _refused(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if _name(host) not in self.names:
            return PlainTextResponse("This is no name of this machine.", 421)
        origin = request.headers.get("origin")
        foreign = origin is not None and urlsplit(origin).netloc != host
        if request.method not in SAFE and (
            foreign or request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
        ):
            return PlainTextResponse("The request was sent from a page of another site.", 403)
        return None

    def _record(self, store: Store, request: Request) -> None:
        address = request.client.host if request.client else ""
        what = f"{request.method} {request.url.path}"
        audit.record(store, self.person, "read", what, subject="question", address=address)


def _name(host: str) -> str:
    """The name in a Host header, without its port; nothing where it is no such header."""
    found = _HOST.fullmatch(host)
    return found["name"].lower().strip("[]") if found else ""
