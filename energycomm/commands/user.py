"""`energycomm user`: list the users of the web services, and sign users out."""

from __future__ import annotations

from typing import Annotated

import typer

from energycomm.commands.output import Json, print_json, print_rows
from energycomm.commands.recording import recorded, system_user
from energycomm.config import load
from energycomm.errors import UserError
from energycomm.kernel.counting import counted
from energycomm.pipeline.gateway import open_store
from energycomm.webservice import audit, sessions, tokens
from energycomm.webservice.people import known_people
from energycomm.webservice.roles import Person, Role

app = typer.Typer(no_args_is_help=True, help="People and programs that use the web services.")


@app.command("list")
@recorded("user list")
def list_(json: Json = False) -> None:
    """List the people who have a token or are signed in, with their roles.

    Example: energycomm user list
    """
    with open_store(load()) as store:
        found = known_people(store)
    if json:
        print_json(found)
        return
    print_rows(
        ("person", "roles", "tokens", "sessions", "last seen"),
        [(one.name, one.roles, one.tokens, one.sessions, one.seen_at) for one in found],
    )


@app.command("sign-out")
def sign_out(
    person: Annotated[str, typer.Argument(help="Name of the person, as in the list.")],
    revoke: Annotated[
        bool, typer.Option("--revoke", help="Also revoke the person's tokens and those made with them.")
    ] = False,
) -> None:
    """End all sessions of a person.

    Example: energycomm user sign-out anna --revoke
    """
    by = system_user()
    with open_store(load()) as store:
        ended = sessions.end_all(store, person)
        taken = [one.id for one in tokens.list_tokens(store) if one.person == person] if revoke else []
        if not ended and not taken:
            raise UserError(f"{person} is not signed in.", "`energycomm user list` lists who is.")
        revoked = {one for number in taken for one in tokens.revoke(store, number, by)}
        who = Person(by, frozenset({Role.ADMINISTRATOR}), "command")
        audit.record(store, who, "change", "energycomm user sign-out", subject=person)
    typer.echo(f"{counted(ended, 'session')} ended, {counted(len(revoked), 'token')} revoked")
