"""Signing in by name and password, step by step: one-time code, a password of one's own, a second factor set up.

Nobody is signed in before the last step: until then the browser has a cookie that opens these pages and no others. A
wrong name and a wrong password are one and the same answer, and take as long.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup

from energycomm.console.view import page
from energycomm.eis.fitting import storable
from energycomm.texts import wording
from energycomm.webservice import accounts, attempts, audit, passwords, secondfactor, sessions
from energycomm.webservice.accounts import Account, Step
from energycomm.webservice.identity import address_of, check_origin, cookie_name, set_cookie
from energycomm.webservice.parameters import Shared
from energycomm.webservice.problems import Problem
from energycomm.webservice.roles import Person, roles_of
from energycomm.webservice.services import Services
from energycomm.webservice.sessions import Pending, SessionContent
from energycomm.webservice.signin import admit, local, passwords_count, show

router = APIRouter(include_in_schema=False)

STEP, DEVICE = "step", "device"
"""Purposes of the cookies of a sign-in under way, and of a browser that somebody signed in with before."""
DEVICE_SECONDS = 180 * 86_400
VIA = "session by password"

PAGES = {Step.CODE: "/login/code", Step.PASSWORD: "/login/new-password", Step.ENROL: "/login/second-factor"}

WRONG = wording("The name or the password is wrong.")
WAIT = wording("Too many wrong tries: wait {n} s, then try again.")
OVER = wording("This initial password is no longer valid: ask an administrator for a new one.")
BUSY = wording("Too many people sign in at this moment: try again.")
WRONG_CODE = wording("The code is wrong, was used before, or is no longer valid: wait for the next one.")

Text = Annotated[str, Form()]


def person_by_password(account: Account) -> Person:
    """The person of an account, as a session of theirs says."""
    return Person(account.name, roles_of(" ".join(account.roles)), VIA)


@router.post("/login/password")
def with_password(request: Request, shared: Shared, name: Text = "", password: Text = "", then: Text = "/") -> Response:
    """Look at a name and a password."""
    check_origin(request)
    if not passwords_count(shared):
        raise Problem("API_NOT_FOUND", "Nobody signs in with a password here.", advice="Sign in at /login.")
    typed, store, back = storable(name.strip(), accounts.LONGEST_NAME), shared.store, local(then)
    device = accounts.known_device(store, typed, request.cookies.get(cookie_name(request, DEVICE)))
    counted = attempts.of_password(typed, address_of(request), device)
    if wait := attempts.begin(store, counted):
        return told_to_wait(show(request, shared, back, WAIT, 429, name=typed, n=wait), wait)
    try:
        account = accounts.right_password(store, typed, password)
    except passwords.Busy:
        attempts.withdraw(store, counted)
        return told_to_wait(show(request, shared, back, BUSY, 503, name=typed), 1)
    if account is None:
        # What was typed as a name may be a password: only a name that there is goes into the audit.
        known = typed if accounts.find(store, typed) is not None else "unknown"
        _refused(request, shared, known)
        return show(request, shared, back, WRONG, 401, name=typed)
    attempts.succeeded(store, counted)
    if account.state == "expired":
        _refused(request, shared, account.name)
        return show(request, shared, back, OVER, 401)
    return _onward(request, shared, account, (), back)


@router.get("/login/code")
def code_page(request: Request, shared: Shared) -> Response:
    """Ask for a one-time code."""
    return _page(request, shared, Step.CODE)


@router.post("/login/code")
def with_code(request: Request, shared: Shared, code: Text = "", csrf: Text = "") -> Response:
    """Look at a one-time code, or a recovery code."""
    found = _checked(request, shared, Step.CODE, csrf)
    if isinstance(found, Response):
        return found
    underway, account = found
    counted = attempts.of_code(account.name)
    if wait := attempts.begin(shared.store, counted):
        return told_to_wait(_page(request, shared, Step.CODE, WAIT, 429, n=wait), wait)
    if not accounts.take_code(shared.store, account, code):
        _refused(request, shared, account.name)
        return _page(request, shared, Step.CODE, WRONG_CODE, 401)
    attempts.succeeded(shared.store, counted)
    return _onward(request, shared, account, (*underway.content.done, Step.CODE), underway.content.then)


@router.get("/login/new-password")
def password_page(request: Request, shared: Shared) -> Response:
    """Ask for a password of the person's own."""
    return _page(request, shared, Step.PASSWORD)


@router.post("/login/new-password")
def with_new_password(
    request: Request, shared: Shared, new: Text = "", repeated: Text = "", csrf: Text = ""
) -> Response:
    """Keep the password that a person chose in place of an initial one."""
    found = _checked(request, shared, Step.PASSWORD, csrf)
    if isinstance(found, Response):
        return found
    underway, account = found
    least = shared.config.web.password_length
    try:
        wrong = accounts.trouble_of(shared.store, account, new, repeated, least)
        if wrong:
            return _page(request, shared, Step.PASSWORD, passwords.TROUBLES[wrong], 422, **password_bounds(shared))
        accounts.change_password(shared.store, account, new)
    except passwords.Busy:
        return told_to_wait(_page(request, shared, Step.PASSWORD, BUSY, 503), 1)
    record(request, shared, person_by_password(account), "change", 303, "password")
    changed = accounts.find(shared.store, account.name)
    if changed is None:
        return RedirectResponse("/login", 303)
    return _onward(request, shared, changed, underway.content.done, underway.content.then)


@router.get("/login/second-factor")
def enrol_page(request: Request, shared: Shared) -> Response:
    """Show the key of a second factor that a role demands."""
    return _page(request, shared, Step.ENROL)


@router.post("/login/second-factor")
def with_second_factor(request: Request, shared: Shared, code: Text = "", csrf: Text = "") -> Response:
    """Put the second factor into force by its first code; the answer shows the recovery codes once."""
    found = _checked(request, shared, Step.ENROL, csrf)
    if isinstance(found, Response):
        return found
    underway, account = found
    counted = attempts.of_code(account.name)
    if wait := attempts.begin(shared.store, counted):
        return told_to_wait(_page(request, shared, Step.ENROL, WAIT, 429, n=wait), wait)
    codes = accounts.confirm_factor(shared.store, account, code)
    if codes is None:
        return _page(request, shared, Step.ENROL, WRONG_CODE, 401)
    attempts.succeeded(shared.store, counted)
    person = person_by_password(account)
    record(request, shared, person, "change", 200, "second factor")
    response = page(request, "recovery-codes.html", codes=codes, then=underway.content.then)
    _in(request, response, shared, account)
    return response


def password_bounds(shared: Services) -> dict[str, int]:
    """Numbers that the sentences about passwords name."""
    return {"least": shared.config.web.password_length, "longest": passwords.LONGEST}


def told_to_wait(response: Response, seconds: int) -> Response:
    """An answer that says after how many seconds to try again."""
    response.headers["Retry-After"] = str(seconds)
    return response


def record(request: Request, shared: Services, person: Person, action: str, status: int, subject: str = "") -> None:
    """A line in the audit about a step of a sign-in."""
    what, address = f"{request.method} {request.url.path}", address_of(request)
    audit.record(shared.store, person, action, what, subject=subject, status=status, address=address)


def _refused(request: Request, shared: Services, name: str) -> None:
    record(request, shared, Person(name, frozenset(), "password"), "refused", 401)


def _onward(request: Request, shared: Services, account: Account, done: Collection[str], then: str) -> Response:
    """The next step of a sign-in, or the page that it leads to; each step has a new cookie."""
    step = accounts.next_step(account, done, shared.config.web.second_factor_roles)
    if step is None:
        response = RedirectResponse(then, 303)
        _in(request, response, shared, account)
        return response
    _drop(request, shared)
    content = SessionContent("", "", VIA, step=step, done=tuple(done), then=then)
    begun = sessions.begin_pending(shared.store, account.name, content)
    response = RedirectResponse(PAGES[step], 303)
    set_cookie(request, response, begun.cookie, begun.seconds, STEP)
    return response


def _in(request: Request, response: Response, shared: Services, account: Account) -> None:
    """Sign a person in with an answer; the browser is a known one from now on."""
    _drop(request, shared)
    admit(request, response, shared, person_by_password(account), account=account.id)
    set_cookie(request, response, "", 0, STEP)
    set_cookie(request, response, accounts.device_mark(shared.store, account), DEVICE_SECONDS, DEVICE)


def _drop(request: Request, shared: Services) -> None:
    cookie = request.cookies.get(cookie_name(request, STEP))
    if cookie:
        sessions.end(shared.store, cookie)


def _underway(request: Request, shared: Services) -> tuple[Pending, Account] | None:
    """The sign-in that the browser is on; None where there is none, or the account is no more what it was."""
    cookie = request.cookies.get(cookie_name(request, STEP))
    found = sessions.pending(shared.store, cookie) if cookie else None
    account = accounts.find(shared.store, found.person) if found is not None else None
    if found is None or account is None or account.state not in ("valid", "initial"):
        return None
    return found, account


def _checked(request: Request, shared: Services, step: Step, csrf: str) -> tuple[Pending, Account] | Response:
    """The sign-in that a form is of; the way back to it where it is at another step.

    Raises:
      Problem: 403, the form is not ours.
    """
    check_origin(request)
    found = _underway(request, shared)
    if found is None or found[0].content.step != step:
        return RedirectResponse("/login" if found is None else PAGES[Step(found[0].content.step)], 303)
    if not hmac.compare_digest(found[0].content.csrf.encode(), csrf.encode("utf-8", "replace")):
        raise Problem("API_FORGED", "The CSRF token is missing or wrong.", advice="Load the page again.")
    return found


def _page(
    request: Request, shared: Services, step: Step, trouble: str = "", status: int = 200, **values: Any
) -> Response:
    """The page of a step; the way to another where the sign-in is not there."""
    found = _underway(request, shared)
    if found is None or found[0].content.step != step:
        return RedirectResponse("/login" if found is None else PAGES[Step(found[0].content.step)], 303)
    underway, account = found
    common: dict[str, Any] = {
        "csrf": underway.content.csrf,
        "trouble": trouble,
        "values": values,
        "name": account.name,
        "action": PAGES[step],
    }
    if step is Step.ENROL:
        return enrolment(request, accounts.factor_underway(shared.store, account), status=status, **common)
    if step is Step.PASSWORD:
        return page(request, "new-password.html", status=status, **common, **password_bounds(shared))
    return page(request, "code.html", status=status, **common)


def enrolment(request: Request, secret: bytes, *, status: int = 200, **common: Any) -> HTMLResponse:
    """The page that shows the key of a second factor, as text and as a QR code."""
    return page(
        request,
        "second-factor.html",
        status=status,
        key=secondfactor.shown(secret),
        drawing=Markup(secondfactor.drawn(secret, common["name"])),  # noqa: S704 - drawn by us, of a key
        address=secondfactor.address(secret, common["name"]),
        **common,
    )
