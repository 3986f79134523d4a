"""Channels and workers: how each is, with pause, resume and an attempt at once for those who operate the gateway."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from energycomm.console.view import address, fresh, page
from energycomm.daemon import operations
from energycomm.eis import channels as stored
from energycomm.eis.channels import daemon_states
from energycomm.errors import UserError
from energycomm.kernel.instants import now_micros
from energycomm.webservice.parameters import Operator, Shared, Worker
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute
from energycomm.webservice.roles import Role, Scope
from energycomm.webservice.services import Services

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)


@router.get("/channels", openapi_extra=UNRECORDED)
def show(request: Request, person: Worker, shared: Shared, asked: str = "") -> Response:
    """Every channel of the configuration, and every daemon that gave a sign; the page renews itself."""
    channels = operations.channels(shared.config, shared.store)
    made = page(
        request,
        "channels.html",
        channels=channels,
        asked=asked if any(one.name == asked for one in channels) else "",
        daemons=daemon_states(shared.store.engine, now_micros()),
        may_operate=person.may(frozenset((Role.OPERATOR, Role.ADMINISTRATOR)), Scope.OPERATE),
        now=datetime.now(UTC),
    )
    return fresh(request, made)


@router.post("/channels/{name}/pause")
def pause(person: Operator, shared: Shared, name: str, why: Annotated[str, Form(max_length=400)] = "") -> Response:
    """Let a channel rest."""
    stored.pause(shared.store, _configured(shared, name), person.name, why.strip(), now_micros())
    return RedirectResponse("/channels", 303)


@router.post("/channels/{name}/resume")
def resume(person: Operator, shared: Shared, name: str) -> Response:
    """Let a paused channel go on."""
    stored.resume(shared.store, _configured(shared, name))
    return RedirectResponse("/channels", 303)


@router.post("/channels/{name}/try")
def attempt(person: Operator, shared: Shared, name: str) -> Response:
    """Have a channel tried at once."""
    try:
        operations.try_now(shared.store, _configured(shared, name), now_micros())
    except UserError as error:
        raise Problem("API_CONFLICT", error.message, advice=error.advice) from None
    return RedirectResponse(address("/channels", asked=name), 303)


def _configured(shared: Services, name: str) -> str:
    try:
        return operations.one_channel(shared.config, name)
    except UserError as error:
        raise not_found("channel", "name", name, error.advice) from None
