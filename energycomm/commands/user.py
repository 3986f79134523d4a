"""`energycomm user`: people who sign in: their accounts, passwords, second factors and sessions."""

from __future__ import annotations

from typing import Annotated

import typer

from energycomm.commands.output import Form, Json, listed, print_json, say
from energycomm.commands.recording import recorded, system_user
from energycomm.config import load
from energycomm.errors import UserError
from energycomm.kernel.counting import counted
from energycomm.masking import disclosing
from energycomm.pipeline.listsearch import AuditSearch
from energycomm.pipeline.opening import open_store
from energycomm.webservice import accounts, audit, sessions, tokens
from energycomm.webservice.people import known_people
from energycomm.webservice.roles import Person, Role

app = typer.Typer(no_args_is_help=True, help="People and programs that use the web services.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the person, as in the list.")]
Roles = Annotated[
    list[Role],
    typer.Option("--role", help="back_office, consultant, operator, administrator or officer; may be repeated."),
]


@app.command()
@recorded("user add", changing=True)
def add(name: Name, role: Roles, json: Json = False) -> None:
    """Make an account, and print its initial password; it is shown only once and not stored.

    The person signs in with it within three days, and then chooses a password.

    Example: energycomm user add anna --role consultant --role back_office
    """
    with open_store(load()) as store:
        password = accounts.add(store, name, frozenset(role), system_user())
    _hand_over(name, password, json=json)


@app.command()
@recorded("user password", changing=True)
def password(name: Name, json: Json = False) -> None:
    """Give a person a new initial password, and end their sessions.

    Example: energycomm user password anna
    """
    with open_store(load()) as store:
        made, ended = accounts.reset_password(store, name)
    _hand_over(name, made, json=json)
    _tell(ended)


@app.command()
@recorded("user roles", changing=True)
def roles(name: Name, role: Roles) -> None:
    """Give a person other roles in place of those that they have, and end their sessions.

    Example: energycomm user roles anna --role operator
    """
    with open_store(load()) as store:
        ended = accounts.set_roles(store, name, frozenset(role))
    _tell(ended)


@app.command()
@recorded("user unlock", changing=True)
def unlock(name: Name) -> None:
    """Forget the wrong passwords and codes of a person: they may try again at once.

    Example: energycomm user unlock anna
    """
    with open_store(load()) as store:
        found = accounts.unlock(store, name)
    say(f"{name} may sign in" if found else f"{name} may sign in; nothing was counted")


@app.command("second-factor")
@recorded("user second-factor", changing=("remove",))
def second_factor(
    name: Name,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove it, for who lost device and recovery codes; sessions end.")
    ] = False,
) -> None:
    """Show whether a person has a second factor, or remove it. People set theirs up themselves, on their account page.

    Example: energycomm user second-factor anna --remove
    """
    with open_store(load()) as store:
        if remove:
            _tell(accounts.remove_factor(store, name))
            return
        found = accounts.find(store, name)
        if found is None:
            raise UserError(f"There is no account of {name}.", "`energycomm user list` lists them.")
        left = accounts.codes_left(store, found)
    say(f"second factor, {counted(left, 'recovery code')} left" if found.second_factor else "no second factor")


@app.command()
@recorded("user disable", changing=True)
def disable(name: Name) -> None:
    """Let a person sign in no more, by password or identity provider; their sessions and tokens end at once.

    Example: energycomm user disable anna
    """
    with open_store(load()) as store:
        ended = accounts.disable(store, name, system_user())
    _tell(ended)


@app.command()
@recorded("user enable", changing=True)
def enable(name: Name) -> None:
    """Let a person sign in again.

    Example: energycomm user enable anna
    """
    with open_store(load()) as store:
        accounts.enable(store, name)
    say(f"{name} may sign in")


@app.command("list")
@recorded("user list")
@listed
def list_(form: Form) -> None:
    """List the people who have an account or a token or are signed in, with their roles.

    Example: energycomm user list
    """
    with open_store(load()) as store:
        found = known_people(store)
    form.show(
        found,
        ("person", "roles", "password", "second factor", "tokens", "sessions", "last seen"),
        [
            (p.name, p.roles, p.password, "yes" if p.second_factor else "", p.tokens, p.sessions, p.seen_at)
            for p in found
        ],
    )


@app.command("sessions")
@recorded("user sessions")
@listed
def sessions_(
    form: Form,
    person: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only of this person.")] = None,
) -> None:
    """List who is signed in: since when, from where, with which browser.

    Example: energycomm user sessions anna
    """
    with open_store(load()) as store:
        found = sessions.list_sessions(store, person)
        if not found:
            AuditSearch(person=person).known(store.engine)
    form.show(
        found,
        ("session", "person", "via", "address", "device", "began", "last use", "ends"),
        [(s.id, s.person, s.via, s.address, s.device, s.created_at, s.seen_at, s.expires_at) for s in found],
    )


@app.command("sign-out")
def sign_out(
    person: Name,
    revoke: Annotated[
        bool, typer.Option("--revoke", help="Also revoke the person's tokens and those made with them.")
    ] = False,
    session: Annotated[
        str | None, typer.Option("--session", help="End only this session, as `user sessions` names it.")
    ] = None,
) -> None:
    """End all sessions of a person, or one.

    Example: energycomm user sign-out anna --revoke
    """
    by = system_user()
    if session is not None and revoke:
        raise UserError("--session ends one session, --revoke everything.", "Choose one of them.")
    with open_store(load()) as store:
        if session is not None:
            ended = int(sessions.end_one(store, session, person) is not None)
            if not ended:
                raise UserError(
                    f"{person} has no session {session}.", f"`energycomm user sessions {person}` lists them."
                )
        else:
            ended = sessions.end_all(store, person)
        taken = [one.id for one in tokens.list_tokens(store) if one.person == person] if revoke else []
        if not ended and not taken:
            raise UserError(f"{person} is not signed in.", "`energycomm user list` lists who is.")
        revoked = {one for number in taken for one in tokens.revoke(store, number, by)}
        who = Person(by, frozenset({Role.ADMINISTRATOR}), "command")
        subject = person if session is None else f"{person} session {session}"
        audit.record(store, who, "change", "energycomm user sign-out", subject=subject)
    say(f"{counted(ended, 'session')} ended, {counted(len(revoked), 'token')} revoked")


def _hand_over(name: str, password: str, *, json: bool) -> None:
    with disclosing():
        if json:
            print_json({"name": name, "password": password})
            return
        say(password)
    days = counted(accounts.INITIAL_DAYS, "day")
    say(f"initial password of {name} for {days}; it is not shown again", err=True)


def _tell(ended: accounts.SignedOut) -> None:
    say(f"{counted(ended.sessions, 'session')} ended, {counted(len(ended.tokens), 'token')} revoked", err=True)
