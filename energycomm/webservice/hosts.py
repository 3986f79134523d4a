"""The web services of several suppliers in one process: each has an application of its own, told apart by the host.

A browser keeps the pages, cookies and storage of two hosts apart by itself. Nothing here looks into a store: what the
application of one supplier answers comes from its own configuration, store, keys and caches.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import msgspec
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from energycomm.config import Config, choosing
from energycomm.errors import UserError
from energycomm.logs import Log
from energycomm.transport.listening import HEALTH
from energycomm.webservice.app import make_app
from energycomm.webservice.health import NO_STORE
from energycomm.webservice.middleware import harden
from energycomm.webservice.problems import MEDIA, Problem

log = Log()

_HOST = re.compile(r"([\w-]+(?:\.[\w-]+)*)\.?(?::\d*)?", re.ASCII)
"""A `Host` header (RFC 9110, section 7.2): a name or an IPv4 address, and a port."""

AGAIN_SECONDS = 5.0
"""Pause between two attempts at an application that could not be made: its database may be away."""


class Hosts:
    """Hands each request to the application of the supplier that its host names.

    Args:
      suppliers: name of a supplier -> its configuration, with a public address.

    Raises:
      UserError: a supplier has no public address, or none of them can be served.
    """

    def __init__(self, suppliers: Mapping[str, Config]) -> None:
        bare = [name for name, config in suppliers.items() if not host_of(config)]
        if bare:
            raise UserError(
                f"The supplier {bare[0]} has no public address, by which it would be known from the others.",
                f'Set `url` of [suppliers.{bare[0]}]: "https://{bare[0]}.example.org".',
            )
        self.configs = {host_of(config): config for config in suppliers.values()}
        self.apps: dict[str, FastAPI] = {}
        self.failures: dict[str, UserError] = {}
        self._tried: dict[str, float] = {}
        self._making = asyncio.Lock()
        self._open: AsyncExitStack | None = None
        for host in self.configs:
            self._make(host)
        if not self.apps:
            raise next(iter(self.failures.values()))

    def _make(self, host: str) -> None:
        """Make the application of a host, or remember why that is not possible."""
        config = self.configs[host]
        self._tried[host] = time.monotonic()
        name = config.supplier.name if config.supplier is not None else host
        try:
            with choosing(name):
                app = make_app(config)
                app.state.services.gateway  # noqa: B018 - broken rules are told now, not to the first caller
        except UserError as error:
            self.failures[host] = error
            log.error("supplier.unavailable", supplier=name, error=str(error))
            return
        self.failures.pop(host, None)
        self.apps[host] = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            return
        host = named(Headers(scope=scope).get("host", ""))
        app = await self._app(host)
        if app is None:
            response = await self._without(Request(scope), host)
            harden(scope, response.headers)
            await response(scope, receive, send)
            return
        supplier = self.configs[host].supplier
        # Whatever reads the configuration anew meanwhile finds that of this supplier.
        with choosing(supplier.name if supplier is not None else None):
            await app(scope, receive, send)

    async def _app(self, host: str) -> FastAPI | None:
        if host in self.failures and time.monotonic() - self._tried[host] > AGAIN_SECONDS:
            async with self._making:
                if host in self.failures and time.monotonic() - self._tried[host] > AGAIN_SECONDS:
                    await run_in_threadpool(self._make, host)
                    if host in self.apps and self._open is not None:
                        await self._enter(self.apps[host])
        return self.apps.get(host)

    async def _without(self, request: Request, host: str) -> Response:
        """The answer where no application is: a load balancer asks by address, without any supplier's name."""
        path = request.url.path
        if path in HEALTH and host not in self.configs:
            if path == "/health/live":
                return PlainTextResponse("live\n", headers=NO_STORE)
            looks = [app.state.looks.ready(app.state.services) for app in self.apps.values()]
            good = any(await asyncio.gather(*looks))
            return PlainTextResponse("ready\n" if good else "unavailable\n", 200 if good else 503, NO_STORE)
        if host in self.configs:
            if path in HEALTH:
                return PlainTextResponse("unavailable\n", 503, NO_STORE)
            # Why is in the log: it names the database's address.
            problem = Problem("API_DATABASE", advice="Try again.", headers={"Retry-After": "5"})
        else:
            problem = Problem("API_HOST", target="Host", value=host, advice="Use the address of your supplier.")
        return Response(msgspec.json.encode(problem.details(path)), problem.status, problem.headers, MEDIA)

    async def _enter(self, app: FastAPI) -> None:
        assert self._open is not None
        await self._open.enter_async_context(app.router.lifespan_context(app))

    async def _live(self, receive: Receive, send: Send) -> None:
        """Begin and end with the server; the applications with it."""
        await receive()
        async with AsyncExitStack() as self._open:
            for app in self.apps.values():
                await self._enter(app)
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def named(header: str) -> str:
    """The host of a `Host` header, in small letters; what is not a name or IPv4 address with or without a port is kept
    as it is, and is nobody's: a proxy before us may have read another host in it."""
    found = _HOST.fullmatch(header)
    return found[1].lower() if found else header


def host_of(config: Config) -> str:
    """The host of a supplier's public address; empty where it has none."""
    url = config.web.public_url
    return (urlsplit(url).hostname or "") if url else ""
