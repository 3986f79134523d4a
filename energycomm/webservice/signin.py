"""Signing in to the pages: with the identity provider, or with an API token where that is allowed; signing out.

The console may put its own page in the place of the plain one: `app.state.login_page(request, SignIn) -> Response`.
"""

from __future__ import annotations

import hmac
from html import escape
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from msgspec import Struct, structs
from starlette.concurrency import run_in_threadpool

from energycomm.webservice import audit, sessions, tokens, underway
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
from energycomm.webservice.provider import Provider, ProviderBusy, SignInRefused
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
      trouble: what went wrong the last time; empty at first.
    """

    then: str
    provider: bool
    token: bool
    trouble: str = ""


def local(then: str) -> str:
    """A path of ours to go on with; the front page instead of anything that leads elsewhere."""
    plain = then.startswith("/") and not then.startswith("//") and "\\" not in then
    return then if plain and then.isprintable() else "/"


@router.get("/login")
def page(request: Request, shared: Annotated[Services, Depends(services)], then: str = "/") -> Response:
    """The sign-in page."""
    return show(request, shared, local(then))


def show(request: Request, shared: Services, then: str, trouble: str = "", status: int = 200) -> Response:
    """The sign-in page, with what went wrong."""
    content = SignIn(then, shared.config.oidc.issuer is not None, shared.config.web.token_sign_in, trouble)
    made: Any = getattr(request.app.state, "login_page", None)
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
        person, then = _brought(request, shared, provider, state, "" if error else code)
    except ProviderBusy as busy:
        # The sign-in is not used up: its cookie stays.
        response = show(request, shared, "/", str(busy), 503)
        response.headers["Retry-After"] = "1"
        return response
    except SignInRefused as refused:
        count_guess(shared.failures, request, code or state)
        response = show(request, shared, "/", str(refused), 401)
    else:
        response = welcome(request, shared, person, then)
    set_cookie(request, response, "", 0, LOGIN)
    return response


def _brought(request: Request, shared: Services, provider: Provider, state: str, code: str) -> tuple[Person, str]:
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
    return provider.finish(_callback(request, shared), content, code), local(content.then)


def _callback(request: Request, shared: Services) -> str:
    """Our address that the provider sends the browser back to: as the outside sees us."""
    base = shared.config.web.public_url or str(request.base_url)
    return f"{base.rstrip('/')}/login/callback"


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
        return show(request, shared, local(then), "The token is unknown, expired or revoked.", 401)
    return welcome(request, shared, structs.replace(person, via=f"session by {person.via}"), local(then))


def welcome(request: Request, shared: Services, person: Person, then: str) -> Response:
    """Begin a session and redirect to a page.

    Raises:
      Problem: 429, they sign in too often.
    """
    check_rate(shared.requests, person.name)
    begun = sessions.begin(shared.store, person, shared.config.web.session_hours)
    audit.record(
        shared.store, person, "sign-in", f"{request.method} {request.url.path}", status=303, address=address_of(request)
    )
    response = RedirectResponse(then, 303)
    set_cookie(request, response, begun.cookie, begun.seconds)
    return response


@router.post("/logout")
async def logout(
    request: Request,
    shared: Annotated[Services, Depends(services)],
    person: Annotated[Person | None, Depends(identify)],
) -> Response:
    """End the session; the form carries the CSRF token."""
    response = RedirectResponse("/login", 303)
    cookie = request.cookies.get(cookie_name(request))
    if person is not None and person.csrf and cookie:
        await check_form(request, person.csrf)
        await run_in_threadpool(sessions.end, shared.store, cookie)
    set_cookie(request, response, "", 0)
    return response


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
