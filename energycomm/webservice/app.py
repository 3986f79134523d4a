"""The application: the API, the sign-in, and the console where it is there, in one process.

A console is a module `energycomm.console` with a function `mount(app)`. It adds its routers and static files, and may
set `app.state.error_page(request, problem) -> Response` and `app.state.login_page(request, sign_in) -> Response`. It
finds the store and the Kernel with the dependency `energycomm.webservice.services.services`, guards its routes with
`energycomm.webservice.identity.require`, and makes its routers with `energycomm.webservice.recording.RecordedRoute`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version
from threading import Lock

import msgspec
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from energycomm.config import Config
from energycomm.webservice import api, health, problems, signin
from energycomm.webservice.answers import JSON, document
from energycomm.webservice.identity import ToLogin, login_address
from energycomm.webservice.middleware import Shield
from energycomm.webservice.services import Services

CONSOLE = "energycomm.console"
THREADS = 12
"""Threads that work on requests. With those of the background and of health they have the store's 15 connections."""


def make_app(config: Config) -> FastAPI:
    """Put the web services together.

    Args:
      config: the configuration.

    Raises:
      UserError: the database cannot be reached or is not of this version.
    """
    shared = Services(config)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = THREADS
        yield
        if (workbench := getattr(app.state, "workbench", None)) is not None:
            await run_in_threadpool(workbench.close)
        shared.close()

    app = FastAPI(
        title="EnergyComm",
        version=version("energycomm"),
        summary="Back-office web services of the gateway between an energy supplier and the markets.",
        lifespan=life,
        # The pages that FastAPI brings along load their scripts from elsewhere; the document is enough.
        docs_url=None,
        redoc_url=None,
        # Ours is made and written in a thread, once.
        openapi_url=None,
    )
    app.state.services = shared
    app.state.looks = health.Looks()
    problems.install(app)

    @app.exception_handler(ToLogin)
    async def _to_login(_: Request, error: ToLogin) -> Response:
        return RedirectResponse(login_address(error.then), 303)

    app.add_middleware(Shield)
    app.include_router(health.router)
    app.include_router(signin.router)
    app.include_router(api.router)
    app.openapi = lambda: document(app)  # type: ignore[method-assign]
    written, writing = cache(lambda: msgspec.json.encode(app.openapi())), Lock()

    @app.get("/api/v1/openapi.json", include_in_schema=False)
    def openapi() -> Response:
        with writing:
            return Response(written(), media_type=JSON)

    if importlib.util.find_spec(CONSOLE) is not None:
        mount = getattr(importlib.import_module(CONSOLE), "mount", None)
        if mount is not None:
            mount(app)
    return app
