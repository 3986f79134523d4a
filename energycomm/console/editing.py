"""One stuck message edited by hand: checked against kernel.xsd and tried out with the rules before it is saved."""

from __future__ import annotations

import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from energycomm.console.view import page
from energycomm.correction.editing import Unfit, edit, editable, examine
from energycomm.eis.messages import MessageDetail
from energycomm.errors import UserError
from energycomm.webservice.bodies import EDITED
from energycomm.webservice.parameters import Corrector, Shared
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.routes.messages import find

router = APIRouter(prefix="/messages/{number}/edit", route_class=RecordedRoute, include_in_schema=False)

LONGEST = 2_000_000


@router.get("")
def form(request: Request, number: int, person: Corrector, shared: Shared) -> HTMLResponse:
    """The message in a form, one attribute a line."""
    found = find(shared, number)
    about(request, f"message {number} access point {found.summary.access_point or '-'}")
    xml = editable(shared.store, shared.gateway.markets, number)
    return _form(request, shared, found, xml=xml, key=secrets.token_urlsafe(12))


def _form(
    request: Request,
    shared: Any,
    found: MessageDetail,
    *,
    xml: str,
    key: str,
    why: str = "",
    trouble: UserError | None = None,
) -> HTMLResponse:
    """The form as it is, or as it was sent and why nothing of it is stored."""
    return page(
        request,
        "edit.html",
        status=200 if trouble is None else 422,
        one=found.summary,
        findings=[finding for finding in found.findings if finding.current],
        xml=xml,
        key=key,
        why=why,
        seen=trouble.seen if isinstance(trouble, Unfit) else None,
        trouble=trouble,
        four_eyes=shared.config.correction.four_eyes,
        changes=len(found.changes),
    )


@router.post("/check", openapi_extra=EDITED)
def check(
    request: Request,
    number: int,
    person: Corrector,
    shared: Shared,
    xml: Annotated[str, Form(max_length=LONGEST)] = "",
) -> HTMLResponse:
    """The result of a dry run of the edit; nothing is stored."""
    with shared.rehearsing() as store:
        seen = examine(store, shared.writer(), number, plain(xml))
    return page(request, "examined.html", seen=seen)


@router.post("", openapi_extra=EDITED)
def save(
    request: Request,
    number: int,
    person: Corrector,
    shared: Shared,
    xml: Annotated[str, Form(max_length=LONGEST)] = "",
    why: Annotated[str, Form(max_length=400)] = "",
    key: Annotated[str, Form(max_length=80)] = "",
) -> Response:
    """Store it as a new version and replay it; a form that is sent twice does it once."""
    try:
        with shared.rehearsing() as store:
            record = edit(
                store,
                shared.writer(),
                number,
                plain(xml),
                by=person.name,
                why=why,
                key=f"edit {number} {key}" if key else None,
                four_eyes=shared.config.correction.four_eyes,
            )
    except UserError as trouble:
        return _form(request, shared, find(shared, number), xml=plain(xml), key=key, why=why, trouble=trouble)
    return RedirectResponse(f"/campaigns/{record.id}", 303)


def plain(xml: str) -> str:
    """The text of a form with the line ends of the store."""
    return xml.replace("\r\n", "\n").strip()
