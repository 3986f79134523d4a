"""The portfolio: a file or a market's list compared with the points that we supply, tried, and loaded."""

from __future__ import annotations

from datetime import date
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, Response

from energycomm.console.view import page, words_of
from energycomm.errors import UserError
from energycomm.pipeline.portfolio import Loaded
from energycomm.portfolio.comparison import Comparison
from energycomm.webservice.bodies import LARGE
from energycomm.webservice.parameters import Injector, Reader, Shared
from energycomm.webservice.problems import Problem
from energycomm.webservice.recording import UNRECORDED, RecordedRoute, about
from energycomm.webservice.routes.portfolio import compared, sheet, taken_over, wrong_names

router = APIRouter(prefix="/portfolio", route_class=RecordedRoute, include_in_schema=False)

SHOWN = 500
"""Differences on the page; all of them are in the workbook."""


@router.get("", openapi_extra=UNRECORDED)
def show(request: Request, person: Reader, shared: Shared) -> HTMLResponse:
    """The form."""
    return shown_page(request)


def shown_page(request: Request, *, status: int = 200, **told: Any) -> HTMLResponse:
    """The page with what is told of a file."""
    empty = {"found": None, "loaded": None, "dry_run": True, "tried": "", "trouble": (), "file_name": "", "on": ""}
    return page(request, "portfolio.html", status=status, **(empty | {"shown": SHOWN} | told))


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
    return shown_page(request, status=status, found=found, trouble=trouble, file_name=name, on=on)


@router.post("/load", openapi_extra=LARGE)
def load(
    request: Request,
    person: Injector,
    shared: Shared,
    file: Annotated[UploadFile | None, File()] = None,
    tried: Annotated[str, Form(max_length=64)] = "",
) -> Response:
    """What would become of the rows; with the mark of the file that was tried, they are taken over."""
    name = "" if file is None else (file.filename or "portfolio.csv")[:200]
    about(request, f"portfolio {name}")
    if file is None or not name:
        return shown_page(request, status=422, trouble=[words_of(request).t("Choose a file.")])
    sent = file.file.read()
    mark = sha256(name.encode() + b"\0" + sent).hexdigest()
    trouble: list[str] = []
    loaded: Loaded | None = None
    if tried and tried != mark:
        trouble = [words_of(request).t("This is not the file that was tried: nothing is stored. Here it is tried.")]
    dry_run = tried != mark
    try:
        wrong_names(sent, name)
        loaded = taken_over(shared, sent, name, dry_run=dry_run)
    except Problem as problem:
        trouble += [f"{one.target}: {one.detail}" for one in problem.errors]
    except UserError as taken:
        trouble += [str(taken)]
    again = mark if dry_run and loaded is not None and loaded.new else ""
    return shown_page(
        request,
        status=422 if loaded is None else 200,
        loaded=loaded,
        dry_run=dry_run,
        tried=again,
        trouble=trouble,
        file_name=name,
    )
