"""The portfolio: a file or a market's list compared with the points that we supply."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, Response

from energycomm.console.view import Reader, Shared, page, words_of
from energycomm.portfolio.comparison import Comparison
from energycomm.webservice.bodies import LARGE
from energycomm.webservice.problems import Problem
from energycomm.webservice.recording import UNRECORDED, RecordedRoute, about
from energycomm.webservice.routes.portfolio import compared, sheet

router = APIRouter(prefix="/portfolio", route_class=RecordedRoute, include_in_schema=False)

SHOWN = 500
"""Differences on the page; all of them are in the workbook."""


@router.get("", openapi_extra=UNRECORDED)
def show(request: Request, person: Reader, shared: Shared) -> HTMLResponse:
    """The form."""
    return page(request, "portfolio.html", found=None, trouble=(), file_name="", on="", shown=SHOWN)


@router.post("", openapi_extra=LARGE)
def compare(
    request: Request,
    person: Reader,
    shared: Shared,
    file: Annotated[UploadFile | None, File()] = None,
    on: Annotated[str, Form(max_length=10)] = "",
    form: Annotated[str, Form(max_length=8)] = "",
) -> Response:
    """The differences, as a page or as a workbook."""
    name = "" if file is None else (file.filename or "portfolio.csv")[:200]
    about(request, f"portfolio {name}")
    found: Comparison | None = None
    trouble: list[str] = []
    try:
        day = date.fromisoformat(on) if on else None
        if file is None or not name:
            trouble = [words_of(request).t("Choose a file.")]
        else:
            found = compared(shared, file.file.read(), name, day)
    except ValueError:
        trouble = [words_of(request).t("This is no day.")]
    except Problem as problem:
        trouble = [f"{one.target}: {one.detail}" for one in problem.errors]
    if found is not None and form == "xlsx":
        return sheet(found)
    status = 200 if found is not None else 422
    values = {"found": found, "trouble": trouble, "file_name": name, "on": on, "shown": SHOWN}
    return page(request, "portfolio.html", status=status, **values)
