"""Administration: tokens, sign-out of people, and the audit."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from msgspec import Struct
from pydantic import Field

from energycomm.pipeline.listsearch import AuditSearch
from energycomm.webservice import sessions, tokens
from energycomm.webservice.answers import answer, described, tagged
from energycomm.webservice.audit import AuditPage, list_audit
from energycomm.webservice.parameters import Administrator, Anyone, Body, Number, Paged, Shared, Words
from energycomm.webservice.problems import Mistake, Problem, not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute, about
from energycomm.webservice.roles import Role, Scope, words_of
from energycomm.webservice.routes.messages import bad_cursor
from energycomm.webservice.sessions import Session
from energycomm.webservice.tokens import Token

router = APIRouter(tags=["administration"], route_class=RecordedRoute)


class Identity(Struct, frozen=True, kw_only=True):
    """The person or program that sent the request."""

    name: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    via: str


class NewToken(Body):
    """A token to create."""

    person: str = Field(min_length=1, max_length=120, description="Person or program in whose name it acts.")
    roles: list[Role] = Field(min_length=1, max_length=len(Role), description="Roles of the token.")
    scopes: list[Scope] | None = Field(
        default=None,
        min_length=1,
        max_length=len(Scope),
        description="What it may be used for; by default all your scopes.",
    )
    days: int | None = Field(
        default=None,
        ge=1,
        le=tokens.LONGEST_DAYS,
        description=f"How long it holds; by default {tokens.DAYS}, or until your own token ends where that is sooner.",
    )
    label: str = Field(min_length=1, max_length=120, description="Purpose of the token.")


class MadeToken(Struct, frozen=True, kw_only=True):
    """A created token; `token` is shown only once and not stored."""

    id: int
    token: str
    expires_at: datetime


class RevokedToken(Struct, frozen=True, kw_only=True):
    """A revoked token; `also` are the tokens made with it, at every level."""

    id: int
    state: str
    also: tuple[int, ...]


class EndedSession(Struct, frozen=True, kw_only=True):
    """A session that was ended, and whose it was."""

    id: str
    person: str


class SignedOut(Struct, frozen=True, kw_only=True):
    """Number of sessions that were ended."""

    person: str
    sessions: int


@router.get("/me", summary="The present user", responses=described(Identity), openapi_extra=UNRECORDED)
def me(request: Request, person: Anyone) -> Response:
    """Name, roles and scopes of the user of this request."""
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


@router.post("/tokens", summary="Create a token", status_code=201, responses=described(MadeToken, "Created.", 201))
def create(request: Request, shared: Shared, person: Administrator, body: NewToken) -> Response:
    """The answer shows it only once. It has no more roles and scopes than you, expires no later than your token, and
    is revoked with it. Users of the identity provider create tokens of at most 90 days."""
    roles, scopes = frozenset(body.roles), None if body.scopes is None else frozenset(body.scopes)
    about(request, f"token of {body.person}: {words_of(roles)}; {words_of(scopes or person.scopes)}")
    try:
        number, secret, ends = tokens.mint(
            shared.store, person, body.person, roles, scopes=scopes, days=body.days, label=body.label
        )
    except tokens.Outranked as outranked:
        raise _outranked(outranked) from None
    except tokens.TakenBack:
        raise Problem("API_NOT_SIGNED_IN", "Your own token was revoked meanwhile.") from None
    return answer(MadeToken(id=number, token=secret, expires_at=ends), 201)


def _outranked(outranked: tokens.Outranked) -> Problem:
    mistakes = [
        Mistake(
            code="outranked",
            target=f"/{one.target}",
            detail=f"{one.target}: {one.value} is more than you have yourself.",
            value=one.value,
            expected=f"at most {one.most} days" if one.target == "days" else f"some of: {one.most}",
        )
        for one in outranked.excesses
    ]
    return Problem(
        "API_FORBIDDEN",
        "A token cannot do more, or hold longer, than who makes it.",
        target=mistakes[0].target,
        value=mistakes[0].value,
        advice="Leave it out, or ask a user who has the right; `energycomm token create` can grant every right.",
        errors=mistakes,
    )


@router.delete("/tokens/{number}", summary="Revoke a token", responses=described(RevokedToken))
def revoke(request: Request, shared: Shared, person: Administrator, number: Number) -> Response:
    """The token, the sessions that began with it and the tokens made with it end at once."""
    known = {token.id: token for token in tokens.list_tokens(shared.store, everything=True)}
    if number not in known:
        raise not_found("token", "number", number)
    taken = tokens.revoke(shared.store, number, person.name)
    if not taken:
        raise Problem("API_CONFLICT", f"Token {number} was revoked before.", target="number")
    about(request, f"token {', '.join(map(str, taken))}")
    return answer(RevokedToken(id=number, state="revoked", also=taken[1:]))


@router.post("/people/{name}/sign-out", summary="Sign a person out", responses=described(SignedOut))
def sign_out(shared: Shared, _: Administrator, name: Words) -> Response:
    """Ends all sessions of a person; revoke their tokens one by one."""
    return answer(SignedOut(person=name, sessions=sessions.end_all(shared.store, name)))


@router.get("/sessions", summary="Sessions", responses=described(list[Session]))
def list_sessions(
    request: Request,
    shared: Shared,
    _: Administrator,
    person: Annotated[Words | None, Query(max_length=120, description="Only of this person.")] = None,
) -> Response:
    """Who is signed in to the pages, the newest first: since when, from where, with which browser."""
    return tagged(request, sessions.list_sessions(shared.store, person))


@router.delete("/sessions/{session}", summary="End a session", responses=described(EndedSession))
def end_session(
    request: Request,
    shared: Shared,
    _: Administrator,
    session: Annotated[Words, Path(max_length=40, description="Its `id` in the list.")],
) -> Response:
    """Effective at once."""
    whose = sessions.end_one(shared.store, session)
    if whose is None:
        raise not_found("session", "session", session, "It may be over already.")
    about(request, f"session {session} of {whose}")
    return answer(EndedSession(id=session, person=whose))


class Search(AuditSearch, Paged):
    """Lines of the audit, page by page."""


@router.get("/audit", summary="The audit", responses=described(AuditPage))
def audit(
    request: Request,
    shared: Shared,
    _: Administrator,
    asked: Annotated[Search, Query()],
) -> Response:
    """Who read personal data or changed something, the newest first; reading the audit is recorded too."""
    try:
        found = list_audit(shared.store, **asked.known(shared.store.engine).model_dump() | asked.period())
    except (ValueError, OverflowError):
        raise bad_cursor(asked.cursor) from None
    return tagged(request, found)
