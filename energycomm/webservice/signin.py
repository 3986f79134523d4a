"""Signing in to the pages: with the identity provider, or with an API token where that is allowed; signing out.

The console may put its own page in the place of the plain one: `app.state.login_page(request, SignIn) -> Response`.
With its pages people also sign in by name and password (`energycomm.console.entering`).
"""

from __future__ import annotations

import hmac
from html import escape
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from msgspec import Struct, structs
from starlette.concurrency import run_in_threadpool

from energycomm.texts import wording
from energycomm.webservice import accounts, audit, sessions, tokens, underway
from energycomm.webservice.identity import (
    address_of,
    check_form,
    check_origin,
    check_rate,
    cookie_name,
    count_guess,
    identify,
    set_cookie,
)
from energycomm.webservice.problems import Problem
from energycomm.webservice.provider import Arrived, Provider, ProviderBusy, SignInRefused
from energycomm.webservice.roles import Person
from energycomm.webservice.services import Services, services

router = APIRouter(include_in_schema=False)

LOGIN = "login"
"""Purpose of the cookie while somebody is on their way through the provider."""


class SignIn(Struct, frozen=True):
    """What the sign-in page shows.

    Attributes:
      then: path of the page to come back to; the form sends it along as `then`.
      provider: whether there is an identity provider to sign in with: a link to /login/provider?then=...
      token: whether a token may be pasted: a form to POST /login with the field `token`.
      password: whether people sign in by name and password: a form to POST /login/password.
      trouble: what went wrong the last time; empty at first.
      values: what the sentence of the trouble names.
      name: the name that was typed, to be kept.
    """

    then: str
    provider: bool
    token: bool
    password: bool = False
    trouble: str = ""
    values: dict[str, object] = {}
    name: str = ""


def local(then: str) -> str:
    """A path of ours to go on with; the front page instead of anything that leads elsewhere."""
    plain = then.startswith("/") and not then.startswith("//") and "\\" not in then
    return then if plain and then.isprintable() else "/"


@router.get("/login")
def page(
    request: Request,
    shared: Annotated[Services, Depends(services)],
    person: Annotated[Person | None, Depends(identify)],
    then: str = "/",
) -> Response:
    """The sign-in page; who is signed in, on the way back or in another tab, is led on."""
    back = local(then)
    if person is None:
        return show(request, shared, back)
    return RedirectResponse("/" if back.startswith("/login") else back, 303)


def passwords_count(shared: Services) -> bool:
    """Whether people may sign in by name and password: as it is set, else where no identity provider is."""
    wanted = shared.config.web.password_sign_in
    return shared.config.oidc.issuer is None if wanted is None else wanted


def show(
    request: Request,
    shared: Services,
    then: str,
    trouble: str = "",
    status: int = 200,
    *,
    name: str = "",
    **values: object,
) -> Response:
    """The sign-in page, with what went wrong and the name that was typed."""
    made: Any = getattr(request.app.state, "login_page", None)
    content = SignIn(
        then,
        shared.config.oidc.issuer is not None,
        shared.config.web.token_sign_in,
        made is not None and passwords_count(shared) and accounts.any_password(shared.store),
        trouble,
        values,
        name,
    )
    response: Response = made(request, content) if made is not None else HTMLResponse(_plain(content))
    response.status_code = status
    return response


@router.get("/login/provider")
def with_provider(request: Request, shared: Annotated[Services, Depends(services)], then: str = "/") -> Response:
    """Send the browser to the identity provider; what was begun is remembered by the browser alone."""
    provider = shared.provider
    if provider is None:
        raise Problem("API_NOT_FOUND", "No identity provider is set up.", advice="Sign in with a token.")
    try:
        address, cookie = provider.begin(_callback(request, shared), local(then))
    except SignInRefused as refused:
        return show(request, shared, local(then), str(refused), 503)
    response = RedirectResponse(address, 303)
    set_cookie(request, response, cookie, underway.MINUTES * 60, LOGIN)
    return response


@router.get("/login/callback")
def from_provider(
    request: Request,
    shared: Annotated[Services, Depends(services)],
    code: str = "",
    state: str = "",
    error: str = "",
) -> Response:
    """The browser comes back from the identity provider."""
    provider = shared.provider
    if provider is None:
        raise Problem("API_NOT_FOUND", "No identity provider is set up.", advice="Sign in with a token.")
    try:
        arrived, then = _brought(request, shared, provider, state, "" if error else code)
    except ProviderBusy as busy:
        # The sign-in is not used up: its cookie stays.
        response = show(request, shared, "/", str(busy), 503)
        response.headers["Retry-After"] = "1"
        return response
    except SignInRefused as refused:
        count_guess(shared.failures, request, code or state)
        response = show(request, shared, "/", str(refused), 401)
    else:
        response = welcome(request, shared, arrived.person, then, provided=arrived.provided)
    set_cookie(request, response, "", 0, LOGIN)
    return response


def _brought(request: Request, shared: Services, provider: Provider, state: str, code: str) -> tuple[Arrived, str]:
    """Whom the provider brought back, and the page to show them.

    Raises:
      SignInRefused: it was not begun in this browser, or the provider did not let them in.
    """
    cookie = request.cookies.get(cookie_name(request, LOGIN))
    content = provider.underway(cookie) if cookie else None
    if content is None or not hmac.compare_digest(content.state.encode(), state.encode()):
        raise SignInRefused("This sign-in was not begun here, or took too long: begin it again.")
    if not code:
        raise SignInRefused("The identity provider did not let you in.")
    arrived = provider.finish(_callback(request, shared), content, code)
    if accounts.is_disabled(shared.store, arrived.person.name):
        audit.record(
            shared.store, arrived.person, "refused", "GET /login/callback", status=401, address=address_of(request)
        )
        raise SignInRefused("You may not sign in here any more: ask an administrator.")
    return arrived, local(content.then)


def _callback(request: Request, shared: Services) -> str:
    """Our address that the provider sends the browser back to."""
    return f"{_outside(request, shared)}/login/callback"


def _outside(request: Request, shared: Services) -> str:
    """Our address as the outside sees us."""
    return (shared.config.web.public_url or str(request.base_url)).rstrip("/")


@router.post("/login")
def with_token(
    request: Request,
    shared: Annotated[Services, Depends(services)],
    token: Annotated[str, Form()] = "",
    then: Annotated[str, Form()] = "/",
) -> Response:
    """Sign in with an API token: the session has its roles and scopes, and ends with it."""
    check_origin(request)
    offered = token.strip()
    person = tokens.person_of(shared.store, offered) if shared.config.web.token_sign_in else None
    if person is None:
        count_guess(shared.failures, request, offered)
        return show(request, shared, local(then), wording("The token is unknown, expired or revoked."), 401)
    return welcome(request, shared, structs.replace(person, via=f"session by {person.via}"), local(then))


def welcome(
    request: Request,
    shared: Services,
    person: Person,
    then: str,
    *,
    account: int | None = None,
    provided: sessions.Provided | None = None,
) -> Response:
    """Begin a session and redirect to a page; a session that the browser had is over.

    Args:
      request: the last of the sign-in.
      shared: the services.
      person: who.
      then: the page.
      account: number of their account, where they came with a password.
      provided: what the provider told of them.

    Raises:
      Problem: 429, they sign in too often.
    """
    response = RedirectResponse(then, 303)
    admit(request, response, shared, person, account=account, provided=provided)
    return response


def admit(
    request: Request,
    response: Response,
    shared: Services,
    person: Person,
    *,
    account: int | None = None,
    provided: sessions.Provided | None = None,
) -> None:
    """Begin a session with an answer, and record it. Arguments and refusal as of `welcome`."""
    check_rate(shared.requests, person.name)
    renew(request, response, shared, person, account=account, provided=provided)
    status, address = response.status_code, address_of(request)
    audit.record(
        shared.store, person, "sign-in", f"{request.method} {request.url.path}", status=status, address=address
    )


def renew(
    request: Request,
    response: Response,
    shared: Services,
    person: Person,
    *,
    account: int | None = None,
    provided: sessions.Provided | None = None,
) -> None:
    """Give the browser a new session in place of the one that it has: what a thief may know of that is of no use."""
    before = request.cookies.get(cookie_name(request))
    if before:
        sessions.end(shared.store, before)
    origin = sessions.Origin(address_of(request), request.headers.get("user-agent", ""))
    hours = shared.config.web.session_hours
    begun = sessions.begin(shared.store, person, hours, origin, account=account, provided=provided)
    set_cookie(request, response, begun.cookie, begun.seconds)


@router.post("/logout")
async def logout(
    request: Request,
    shared: Annotated[Services, Depends(services)],
    person: Annotated[Person | None, Depends(identify)],
) -> Response:
    """End the session, at the provider too where it began there; the form carries the CSRF token."""
    cookie = request.cookies.get(cookie_name(request))
    farewell = None
    if person is not None and person.csrf and cookie:
        await check_form(request, person.csrf)
        farewell = await run_in_threadpool(_ended, request, shared, person, cookie)
    response: Response = RedirectResponse("/login", 303) if farewell is None else _leaving(request, farewell)
    set_cookie(request, response, "", 0)
    return response


def _ended(request: Request, shared: Services, person: Person, cookie: str) -> str | None:
    """End a session; the provider's address to end the one there, if it has one."""
    content = sessions.content_of(shared.store, cookie)
    sessions.end(shared.store, cookie)
    audit.record(shared.store, person, "sign-out", "POST /logout", status=303, address=address_of(request))
    provider = shared.provider
    if provider is None or content is None or not content.id_token:
        return None
    return provider.farewell(f"{_outside(request, shared)}/login", content.id_token)


def _leaving(request: Request, address: str) -> Response:
    """The page that leads on to the provider: a form of ours may not, by our own policy for browsers."""
    made: Any = getattr(request.app.state, "leaving_page", None)
    if made is not None:
        response: Response = made(request, address)
        return response
    there = escape(address, quote=True)
    return HTMLResponse(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="refresh" content="0;url={there}"><title>EnergyComm</title></head><body><main>'
        f'<p>You are signed out here. <a href="{there}">Sign out at your organisation too</a></p></main></body></html>'
    )


@router.post("/logout/provider")
def logged_out_there(
    request: Request, shared: Annotated[Services, Depends(services)], logout_token: Annotated[str, Form()] = ""
) -> Response:
    """The identity provider says that a person signed out there: their sessions here are over."""
    provider = shared.provider
    if provider is None:
        raise Problem("API_NOT_FOUND", "No identity provider is set up.")
    headers = {"Cache-Control": "no-store"}
    try:
        subject, session = provider.ended(logout_token)
    except ProviderBusy:
        return Response(status_code=503, headers={**headers, "Retry-After": "1"})
    except SignInRefused:
        count_guess(shared.failures, request, logout_token)
        return Response(status_code=400, headers=headers)
    for name in sessions.end_provided(shared.store, subject, session):
        person = Person(name, frozenset(), "provider")
        what = "POST /logout/provider"
        audit.record(shared.store, person, "sign-out", what, status=200, address=address_of(request))
    return Response(headers=headers)


def _plain(content: SignIn) -> str:
    then = escape(content.then, quote=True)
    parts = [f'<p role="alert">{escape(content.trouble)}</p>'] if content.trouble else []
    if content.provider:
        parts.append(f'<p><a href="/login/provider?then={then}">Sign in with your organisation</a></p>')
    if content.token:
        parts.append(
            '<form method="post" action="/login"><label>API token '
            '<input name="token" type="password" autocomplete="off" required></label>'
            f'<input type="hidden" name="then" value="{then}"><button>Sign in</button></form>'
        )
    if not content.provider and not content.token:
        parts.append("<p>Sign-in is not possible: neither an identity provider nor tokens are set up.</p>")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>EnergyComm: sign in</title></head>'
        f"<body><main><h1>EnergyComm</h1>{''.join(parts)}</main></body></html>"
    )
