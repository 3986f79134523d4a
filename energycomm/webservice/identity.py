"""Who asks, and whether they may: API tokens in the header, sessions in a cookie, roles and scopes on every route.

    @router.get("/messages")
    def messages(person: Annotated[Person, Depends(require(Role.CONSULTANT))]) -> ...

    @router.post("/tickets")
    def ticket(person: Annotated[Person, Depends(require(Role.CONSULTANT, scope=Scope.CORRECT))]) -> ...

Who comes with a cookie and changes something must also send the session's CSRF token (`person.csrf`): in the header
`X-CSRF-Token` or the form field `csrf`. Who is not signed in gets 401 under /api; elsewhere they are sent to /login.
"""

from __future__ import annotations

import hmac
from typing import Annotated
from urllib.parse import quote, urlsplit

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from energycomm.transport.allowances import Guesses, RateLimit
from energycomm.webservice import sessions, tokens
from energycomm.webservice.problems import Problem
from energycomm.webservice.roles import Person, Role, Scope, words_of
from energycomm.webservice.services import Services, services

COOKIE = "energycomm"
SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
CSRF_HEADER = "X-CSRF-Token"
CSRF_FIELD = "csrf"

_bearer = HTTPBearer(
    auto_error=False, scheme_name="token", description="An API token: `energycomm token create` makes one."
)


class ToLogin(Exception):
    """A page was requested without sign-in: the browser is redirected to the sign-in and back afterwards.

    Args:
      then: path to come back to.
    """

    def __init__(self, then: str) -> None:
        super().__init__(then)
        self.then = then


async def identify(
    request: Request,
    shared: Annotated[Services, Depends(services)],
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Person | None:
    """The person of a request; None without sign-in. A token takes precedence over a cookie.

    Raises:
      Problem: the token is not known, or the caller asks too often.
    """
    if hasattr(request.state, "person"):  # known since before the body was read
        found: Person | None = request.state.person
        return found
    request.state.person = None
    cookie = request.cookies.get(cookie_name(request))
    if bearer is not None:
        person = await run_in_threadpool(tokens.person_of, shared.store, bearer.credentials)
        if person is None:
            count_guess(shared.failures, request, bearer.credentials)
            raise _not_signed_in("The token is unknown, expired or revoked.", "Ask an administrator for a new one.")
    elif cookie is not None:
        person = await run_in_threadpool(sessions.person_of, shared.store, cookie)
        # Whose session is over comes with such a cookie too, and is to find the way to the sign-in.
        if person is None and not _is_page(request):
            count_guess(shared.failures, request, cookie)
    else:
        person = None
    if person is not None:
        check_rate(shared.requests, person.name)
    request.state.person = person
    return person


class Require:
    """Accepts a request if its person has one of some roles and its token the scope; returns the person.

    Args:
      roles: one of these is needed.
      scope: what the route is for.
    """

    def __init__(self, roles: frozenset[Role], scope: Scope) -> None:
        self.roles, self.scope = roles, scope

    def allows(self, person: Person | None) -> bool:
        """Whether somebody may do it."""
        return person is not None and person.may(self.roles, self.scope)

    def check(self, person: Person) -> None:
        """Refuse who may not do it.

        Raises:
          Problem: 403.
        """
        if not self.allows(person):
            raise Problem(
                "API_FORBIDDEN",
                f"This needs one of the roles: {words_of(self.roles)}; and the scope {self.scope}.",
                value=f"roles: {words_of(person.roles)}; scopes: {words_of(person.scopes)}",
                advice="Ask an administrator.",
            )

    async def admit(self, request: Request) -> None:
        """Check before anything of the body is read; the route's dependency then finds who it was.

        Raises:
          Problem: not signed in (401), not allowed or forged (403).
          ToLogin: not signed in, and a page was asked for.
        """
        await self(request, await identify(request, request.app.state.services, await _bearer(request)))

    async def __call__(self, request: Request, person: Annotated[Person | None, Depends(identify)]) -> Person:
        """Check.

        Raises:
          Problem: not signed in (401), not allowed or forged (403).
          ToLogin: not signed in, and a page was asked for.
        """
        if person is None:
            if _is_page(request):
                raise ToLogin(request.url.path + (f"?{request.url.query}" if request.url.query else ""))
            raise _not_signed_in("", "Send `Authorization: Bearer TOKEN`, or sign in.")
        self.check(person)
        if person.csrf and request.method not in SAFE:
            await check_form(request, person.csrf)
        return person


def guard_of(dependant: Dependant) -> Require | None:
    """The requirement of a route, found among its dependencies."""
    stack = [dependant]
    while stack:
        one = stack.pop()
        if isinstance(one.call, Require):
            return one.call
        stack.extend(one.dependencies)
    return None


def require(*roles: Role, scope: Scope = Scope.READ) -> Require:
    """The dependency of a route that only some may use.

    Args:
      roles: one of these is needed; any role at all when none is named.
      scope: what a token must be good for.
    """
    return Require(frozenset(roles) or frozenset(Role), scope)


async def check_form(request: Request, csrf: str) -> None:
    """Refuse a form that a page of another site made the browser send.

    Raises:
      Problem: 403.
    """
    check_origin(request)
    sent = request.headers.get(CSRF_HEADER)
    if sent is None and request.headers.get("content-type", "").startswith(
        ("application/x-www-form-urlencoded", "multipart/form-data")
    ):
        await request.body()  # kept, for a route that reads it again
        field = (await request.form()).get(CSRF_FIELD)
        sent = field if isinstance(field, str) else None
    try:
        check_token(sent, csrf)
    except Problem:
        await request.close()  # of the files that came with the form
        raise


def check_token(sent: str | None, csrf: str) -> None:
    """Refuse a CSRF token that is not that of the session.

    Raises:
      Problem: 403.
    """
    if sent is None or not hmac.compare_digest(sent.encode(), csrf.encode()):
        raise Problem("API_FORGED", "The CSRF token is missing or wrong.", advice="Load the page again.")


def check_origin(request: Request) -> None:
    """Refuse a request from a page of another site, as far as the browser reports it.

    Raises:
      Problem: 403.
    """
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site")
    # A proxy may have put its own name into Host: then public_url says how the browser sees us.
    public = request.app.state.services.config.web.public_url
    ours = {request.headers.get("host"), urlsplit(public).netloc if public else None}
    foreign = origin is not None and urlsplit(origin).netloc not in ours
    if foreign or site in ("cross-site", "same-site"):
        raise Problem("API_FORGED", "The request was sent from a page of another site.", target="Origin", value=origin)


def check_rate(limit: RateLimit, caller: str) -> None:
    """Refuse who asks too often.

    Raises:
      Problem: 429, with how long to wait.
    """
    allowance = limit.spend(caller)
    if not allowance.granted:
        raise _too_often(f"More than {limit.per_minute} in a minute.", allowance.wait)


def count_guess(failures: Guesses, request: Request, offered: str) -> None:
    """Count a wrong credential; a right one is never counted, nor held up by the wrong ones of others.

    Args:
      failures: the wrong ones so far.
      request: what it came with.
      offered: the credential.

    Raises:
      Problem: 429, with how long to wait, where there were too many.
    """
    wait = failures.wrong(address_of(request), offered[: tokens.ACCOUNT_LENGTH])
    if wait:
        raise _too_often(f"More than {failures.per_minute} wrong tokens or sign-ins in a minute.", wait)


def _too_often(detail: str, wait: float) -> Problem:
    seconds = max(1, round(wait + 0.5))
    return Problem("API_RATE", detail, advice=f"Wait {seconds} s.", headers={"Retry-After": str(seconds)})


def _is_page(request: Request) -> bool:
    return not request.url.path.startswith("/api") and request.method in SAFE


def address_of(request: Request) -> str:
    """Where a request came from; behind a proxy that is believed, who came to that."""
    return request.client.host if request.client else ""


def cookie_name(request: Request, purpose: str = "") -> str:
    """Name of a cookie: over TLS the browser itself sees to it that only we can set it (`__Host-`)."""
    name = COOKIE + (f"-{purpose}" if purpose else "")
    return f"__Host-{name}" if request.url.scheme == "https" else name


def set_cookie(request: Request, response: Response, value: str, seconds: int, purpose: str = "") -> None:
    """Give the browser a cookie that no script reads and no other site sends along with a change; 0 takes it away."""
    response.set_cookie(
        cookie_name(request, purpose),
        value,
        max_age=seconds,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )


def login_address(then: str) -> str:
    """Address of the sign-in that leads back to a path."""
    return f"/login?then={quote(then, safe='/')}"


def _not_signed_in(detail: str, advice: str) -> Problem:
    return Problem("API_NOT_SIGNED_IN", detail, advice=advice, headers={"WWW-Authenticate": "Bearer"})


__all__ = [
    "COOKIE",
    "CSRF_FIELD",
    "CSRF_HEADER",
    "Person",
    "Require",
    "Role",
    "Scope",
    "ToLogin",
    "address_of",
    "check_form",
    "check_origin",
    "check_rate",
    "check_token",
    "cookie_name",
    "count_guess",
    "guard_of",
    "identify",
    "login_address",
    "require",
    "set_cookie",
]
