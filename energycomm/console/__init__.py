"""The console: pages for consultants, rendered by the process that serves the API, with htmx and no build step."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from energycomm.console import (
    access_points,
    additions,
    campaigns,
    editing,
    failures,
    front,
    health,
    invoices,
    messages,
    portfolio,
    rules,
    tickets,
    worklists,
)
from energycomm.console.jobs import Workbench

STATIC = Path(__file__).parent / "static"

PARTS = (
    front,
    messages,
    editing,
    access_points,
    failures,
    campaigns,
    tickets,
    worklists,
    portfolio,
    invoices,
    rules,
    health,
)
"""The modules with pages, each with its router."""


def mount(app: FastAPI) -> None:
    """Add the pages to an application that `energycomm.webservice.app.make_app` puts together."""
    app.state.workbench = Workbench(app.state.services)
    app.mount("/static/console", StaticFiles(directory=STATIC), name="console-static")
    app.state.error_page = front.error_page
    app.state.login_page = front.login_page
    for part in PARTS:
        app.include_router(part.router)
    additions.mount(app)
