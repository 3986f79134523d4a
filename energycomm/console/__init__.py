"""The console: pages for consultants, rendered by the process that serves the API, with htmx and no build step."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from energycomm.console import (
    access_points,
    account,
    additions,
    arrivals,
    auditing,
    campaigns,
    customers,
    editing,
    entering,
    failures,
    finding,
    front,
    health,
    invoices,
    manual,
    messages,
    operations,
    portfolio,
    rules,
    selection,
    tickets,
    views,
    worklists,
)
from energycomm.console.jobs import Workbench

STATIC = Path(__file__).parent / "static"

PARTS = (
    front,
    finding,
    invoices,
    selection,
    messages,
    editing,
    access_points,
    failures,
    campaigns,
    tickets,
    worklists,
    arrivals,
    views,
    portfolio,
    rules,
    operations,
    health,
    customers,
    entering,
    account,
    auditing,
    manual,
)
"""The modules with pages, each with its router; chosen invoices have names, so theirs is before the one of numbers."""


def mount(app: FastAPI) -> None:
    """Add the pages to an application that `energycomm.webservice.app.make_app` puts together."""
    app.state.workbench = Workbench(app.state.services)
    app.mount("/static/console", StaticFiles(directory=STATIC), name="console-static")
    app.state.error_page = front.error_page
    app.state.login_page = front.login_page
    app.state.leaving_page = account.leaving_page
    for part in PARTS:
        app.include_router(part.router)
    additions.mount(app)
