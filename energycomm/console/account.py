"""A person's own account: their password, their second factor, where they are signed in; and for administrators all
people and all sessions.

Password and second factor are changed only by who gives the present password, and each change ends the person's
sessions everywhere else.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from energycomm.console.entering import (
    BUSY,
    VIA,
    WAIT,
    WRONG_CODE,
    enrolment,
    password_bounds,
    person_by_password,
    told_to_wait,
)
from energycomm.console.view import page
from energycomm.texts import wording
from energycomm.webservice import accounts, attempts, passwords, sessions
from energycomm.webservice.accounts import Account
from energycomm.webservice.identity import cookie_name, require
from energycomm.webservice.parameters import Anyone, Shared, Words
from energycomm.webservice.people import known_people
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute, about
from energycomm.webservice.roles import Person, Role, Scope
from energycomm.webservice.services import Services
from energycomm.webservice.signin import renew

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

Administrator = Annotated[Person, Depends(require(Role.ADMINISTRATOR, scope=Scope.ADMINISTER))]
Text = Annotated[str, Form()]


@router.get("/account", openapi_extra=UNRECORDED)
def show(request: Request, person: Anyone, shared: Shared, done: str = "") -> HTMLResponse:
    """Password, second factor and sessions of who asks."""
    return _page(request, shared, person, done=done)


@router.post("/account/password")
def change_password(
    request: Request, person: Anyone, shared: Shared, present: Text = "", new: Text = "", repeated: Text = ""
) -> Response:
    """Change one's password; sessions elsewhere end, this one goes on under a new cookie."""
    about(request, "password")
    account = _own(shared, person)
    refused = _present(request, shared, person, account, present)
    if refused is not None:
        return refused
    try:
        wrong = accounts.trouble_of(shared.store, account, new, repeated, shared.config.web.password_length)
        if wrong:
            words = passwords.TROUBLES[wrong]
            return _page(request, shared, person, words, 422, **password_bounds(shared))
        accounts.change_password(shared.store, account, new)
    except passwords.Busy:
        return told_to_wait(_page(request, shared, person, BUSY, 503), 1)
    return _again(request, shared, account, "password")


@router.get("/account/second-factor", openapi_extra=UNRECORDED)
def enrol(request: Request, person: Anyone, shared: Shared) -> Response:
    """Show the key of a second factor."""
    return _enrolment(request, shared, person)


@router.post("/account/second-factor")
def confirm(request: Request, person: Anyone, shared: Shared, present: Text = "", code: Text = "") -> Response:
    """Put a second factor into force; the answer shows the recovery codes once."""
    about(request, "second factor")
    account = _own(shared, person)
    refused = _present(request, shared, person, account, present, enrolling=True)
    if refused is not None:
        return refused
    codes = accounts.confirm_factor(shared.store, account, code)
    if codes is None:
        return _enrolment(request, shared, person, WRONG_CODE, 422)
    return _codes(request, shared, account, codes)


@router.post("/account/second-factor/remove")
def remove(request: Request, person: Anyone, shared: Shared, present: Text = "") -> Response:
    """Take one's second factor away, where no role demands it."""
    about(request, "second factor removed")
    account = _own(shared, person)
    if _demanded(shared, account):
        raise Problem("API_FORBIDDEN", "Your role needs a second factor.", advice="Set up another one in its place.")
    refused = _present(request, shared, person, account, present)
    if refused is not None:
        return refused
    accounts.drop_factor(shared.store, account)
    return _again(request, shared, account, "removed")


@router.post("/account/recovery-codes")
def renew_codes(request: Request, person: Anyone, shared: Shared, present: Text = "") -> Response:
    """New recovery codes in place of the former ones."""
    about(request, "recovery codes")
    account = _own(shared, person)
    if not account.second_factor:
        raise Problem("API_CONFLICT", "There is no second factor.", advice="Set one up first.")
    refused = _present(request, shared, person, account, present)
    if refused is not None:
        return refused
    return page(request, "recovery-codes.html", codes=accounts.renew_codes(shared.store, account), then="/account")


@router.post("/account/sessions/{session}/end")
def end_own(request: Request, person: Anyone, shared: Shared, session: Words) -> Response:
    """End one of one's own sessions."""
    about(request, f"session {session}")
    if sessions.end_one(shared.store, session, person.name) is None:
        raise not_found("session", "session", session, "It may be over already.")
    return RedirectResponse("/account", 303)


@router.post("/account/sign-out-elsewhere")
def end_others(request: Request, person: Anyone, shared: Shared) -> Response:
    """End all of one's own sessions but this one."""
    about(request, f"sessions of {person.name}")
    sessions.end_all(shared.store, person.name, but=request.cookies.get(cookie_name(request)))
    return RedirectResponse("/account", 303)


@router.get("/people")
def people(request: Request, person: Administrator, shared: Shared) -> HTMLResponse:
    """Everybody who can sign in or is signed in, and every session."""
    return page(
        request,
        "people.html",
        people=known_people(shared.store),
        sessions=sessions.list_sessions(shared.store, cookie=request.cookies.get(cookie_name(request))),
    )


@router.post("/people/sessions/{session}/end")
def end_any(request: Request, person: Administrator, shared: Shared, session: Words) -> Response:
    """End a session of anybody."""
    whose = sessions.end_one(shared.store, session)
    about(request, f"session {session}" + (f" of {whose}" if whose else ""))
    if whose is None:
        raise not_found("session", "session", session, "It may be over already.")
    return RedirectResponse("/people", 303)


@router.post("/people/{name}/sign-out")
def sign_out(request: Request, person: Administrator, shared: Shared, name: Words) -> Response:
    """End all sessions of a person."""
    about(request, f"sessions of {name}")
    sessions.end_all(shared.store, name)
    return RedirectResponse("/people", 303)


def leaving_page(request: Request, address: str) -> Response:
    """The page after the sign-out that leads on to the identity provider."""
    return page(request, "leaving.html", address=address)


def _mine(shared: Services, person: Person) -> Account | None:
    """The account that a person signed in with; None where they came by another way."""
    return accounts.find(shared.store, person.name) if person.via == VIA else None


def _own(shared: Services, person: Person) -> Account:
    """The account that a person signed in with.

    Raises:
      Problem: they came by another way.
    """
    account = _mine(shared, person)
    if account is None:
        raise Problem(
            "API_CONFLICT", "You did not sign in with a password.", advice="Sign in by name and password first."
        )
    return account


def _demanded(shared: Services, account: Account) -> bool:
    return bool(set(account.roles) & set(shared.config.web.second_factor_roles))


def _present(
    request: Request, shared: Services, person: Person, account: Account, password: str, *, enrolling: bool = False
) -> Response | None:
    """The refusal of a change by who does not give the present password."""
    again = _enrolment if enrolling else _page
    counted = attempts.of_code(account.name)
    if wait := attempts.begin(shared.store, counted):
        return told_to_wait(again(request, shared, person, WAIT, 429, n=wait), wait)
    try:
        right = accounts.right_password(shared.store, account.name, password)
    except passwords.Busy:
        attempts.withdraw(shared.store, counted)
        return told_to_wait(again(request, shared, person, BUSY, 503), 1)
    if right is None:
        return again(request, shared, person, passwords.TROUBLES["wrong"], 422)
    attempts.succeeded(shared.store, counted)
    return None


def _again(request: Request, shared: Services, account: Account, done: str) -> Response:
    """Back to the account, in a new session: the change ended all."""
    response = RedirectResponse(f"/account?done={done}", 303)
    renew(request, response, shared, person_by_password(account), account=account.id)
    return response


def _codes(request: Request, shared: Services, account: Account, codes: list[str]) -> Response:
    response = page(request, "recovery-codes.html", codes=codes, then="/account?done=second-factor")
    renew(request, response, shared, person_by_password(account), account=account.id)
    return response


DONE = {
    "password": wording("Your password is changed, and your other sessions are over."),
    "second-factor": wording("Your second factor is set up."),
    "removed": wording("Your second factor is removed."),
}
"""What was done last -> its sentence."""


def _page(
    request: Request, shared: Services, person: Person, trouble: str = "", status: int = 200, **values: Any
) -> HTMLResponse:
    account = _mine(shared, person)
    return page(
        request,
        "account.html",
        status=status,
        account=account,
        demanded=account is not None and _demanded(shared, account),
        codes_left=accounts.codes_left(shared.store, account) if account is not None else 0,
        sessions=sessions.list_sessions(shared.store, person.name, request.cookies.get(cookie_name(request))),
        trouble=trouble,
        values={key: value for key, value in values.items() if key != "done"},
        done=DONE.get(str(values.get("done", "")), ""),
        **password_bounds(shared),
    )


def _enrolment(
    request: Request, shared: Services, person: Person, trouble: str = "", status: int = 200, **values: Any
) -> Response:
    account = _own(shared, person)
    if account.second_factor:
        return RedirectResponse("/account", 303)
    return enrolment(
        request,
        accounts.factor_underway(shared.store, account),
        status=status,
        csrf=person.csrf,
        trouble=trouble,
        values=values,
        name=account.name,
        action="/account/second-factor",
        asks_password=True,
    )
