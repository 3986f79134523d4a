"""The documentation of the API, made from its OpenAPI document: every route with what it takes and an example.

It is a page like the others: nothing is loaded from elsewhere, and no script of a documentation tool is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse

from energycomm.console.view import page
from energycomm.pipeline.listsearch import Words
from energycomm.webservice.examples import Example, examples
from energycomm.webservice.parameters import Anyone
from energycomm.webservice.recording import UNRECORDED, RecordedRoute

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)


@router.get("/documentation", openapi_extra=UNRECORDED)
def manual(request: Request, person: Anyone, q: Words = "") -> HTMLResponse:
    """Every route with its example; only those that have all words that are looked for."""
    words = q.lower().split()
    subjects: dict[str, list[Example]] = {}
    for one in _examples(request.app):
        if all(word in one.sought for word in words):
            subjects.setdefault(one.tag, []).append(one)
    return page(request, "manual.html", subjects=subjects, q=q)


@cache
def _examples(app: FastAPI) -> tuple[Example, ...]:
    made: Callable[[], dict[str, Any]] = app.openapi
    return tuple(examples(made()))
