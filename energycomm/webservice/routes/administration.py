"""Administration: tokens made and taken back, people signed out, and the audit."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from msgspec import Struct
from pydantic import Field

from energycomm.kernel.instants import instant, now_micros
from energycomm.webservice import sessions, tokens
from energycomm.webservice.answers import answer, described, tagged
from energycomm.webservice.audit import AuditPage, list_audit
from energycomm.webservice.pages import Acted
from energycomm.webservice.parameters import Administrator, Anyone, Body, Cursor, Limit, Number, Shared, Since, Words
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute, about
from energycomm.webservice.roles import Role, Scope
from energycomm.webservice.routes.messages import bad_cursor
from energycomm.webservice.tokens import Token

router = APIRouter(tags=["administration"], route_class=RecordedRoute)


class Identity(Struct, frozen=True, kw_only=True):
    """Who asks, as the gateway knows them."""

    name: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    via: str


class NewToken(Body):
    """A token to be made."""

    person: str = Field(min_length=1, max_length=120, description="In whose name it acts.")
    roles: list[Role] = Field(min_length=1, max_length=4, description="What it is.")
    scopes: list[Scope] = Field(
        default=list(Scope), min_length=1, max_length=7, description="What it may be used for; everything by default."
    )
    days: int = Field(default=90, ge=1, le=tokens.LONGEST_DAYS, description="How long it holds.")
    label: str = Field(min_length=1, max_length=120, description="What it is for.")


class MadeToken(Struct, frozen=True, kw_only=True):
    """A token that was made; `token` is shown this once and kept nowhere."""

    id: int
    token: str
    expires_at: datetime


class SignedOut(Struct, frozen=True, kw_only=True):
    """How many sessions of a person were ended."""

    person: str
    sessions: int


@router.get("/me", summary="Who I am", responses=described(Identity), openapi_extra=UNRECORDED)
def me(request: Request, person: Anyone) -> Response:
    """Name, roles and scopes of whoever asks."""
    roles, scopes = tuple(sorted(map(str, person.roles))), tuple(sorted(map(str, person.scopes)))
    return tagged(request, Identity(name=person.name, roles=roles, scopes=scopes, via=person.via))


@router.get("/tokens", summary="Tokens", responses=described(list[Token]))
def search(
    request: Request,
    shared: Shared,
    _: Administrator,
    everything: Annotated[bool, Query(alias="all", description="Expired and revoked ones too.")] = False,
) -> Response:
    """The newest first; without the tokens themselves."""
    return tagged(request, tokens.list_tokens(shared.store, everything=everything))


@router.post("/tokens", summary="Make a token", status_code=201, responses=described(MadeToken, "Made.", 201))
def create(request: Request, shared: Shared, person: Administrator, body: NewToken) -> Response:
    """It is answered once. Who may administer may give any role: the audit says who did."""
    about(request, f"token of {body.person}: {' '.join(body.roles)}; {' '.join(body.scopes)}")
    number, secret = tokens.create(
        shared.store,
        body.person,
        frozenset(body.roles),
        scopes=frozenset(body.scopes),
        days=body.days,
        label=body.label,
        by=person.name,
    )
    ends = instant(now_micros() + body.days * tokens.DAY)
    return answer(MadeToken(id=number, token=secret, expires_at=ends), 201)


@router.delete("/tokens/{number}", summary="Take a token back", responses=described(Acted))
def revoke(shared: Shared, person: Administrator, number: Number) -> Response:
    """It lets nobody in from now on."""
    known = {token.id: token for token in tokens.list_tokens(shared.store, everything=True)}
    if number not in known:
        raise not_found("token", "number", number)
    if not tokens.revoke(shared.store, number, person.name):
        raise Problem("API_CONFLICT", f"Token {number} was taken back before.", target="number")
    return answer(Acted(id=number, state="revoked"))


@router.post("/people/{name}/sign-out", summary="Sign a person out", responses=described(SignedOut))
def sign_out(shared: Shared, _: Administrator, name: Words) -> Response:
    """Ends the sessions of a person, wherever they are; their tokens are taken back one by one."""
    return answer(SignedOut(person=name, sessions=sessions.end_all(shared.store, name)))


@router.get("/audit", summary="The audit", responses=described(AuditPage))
def audit(
    request: Request,
    shared: Shared,
    _: Administrator,
    person: Annotated[Words | None, Query(max_length=120, description="Only of this person.")] = None,
    action: Annotated[Literal["read", "change", "refused", "sign-in"] | None, Query(description="Only this.")] = None,
    since: Since = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Who read personal data or changed something, the newest first; reading it is recorded too."""
    try:
        found = list_audit(shared.store, person=person, action=action, since=since, limit=limit, cursor=cursor)
    except (ValueError, OverflowError):
        raise bad_cursor(cursor) from None
    return tagged(request, found)
