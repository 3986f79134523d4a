"""`energycomm token`: create, list and revoke API tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from energycomm.commands.output import Form, Json, listed, print_json, say
from energycomm.commands.recording import recorded, system_user
from energycomm.config import load
from energycomm.errors import UserError
from energycomm.kernel.counting import counted
from energycomm.masking import disclosing
from energycomm.pipeline.opening import open_store
from energycomm.webservice import audit, tokens
from energycomm.webservice.roles import Person, Role, Scope

LONGEST = 120
"""Characters of a name or label."""

app = typer.Typer(no_args_is_help=True, help="API tokens of the web services.")


@app.command()
def create(
    person: Annotated[str, typer.Argument(help="Person or program in whose name the token acts.")],
    role: Annotated[
        list[Role],
        typer.Option("--role", help="back_office, consultant, operator, administrator or officer; may be repeated."),
    ],
    scope: Annotated[
        list[Scope] | None,
        typer.Option(
            "--scope", help="What the token may be used for, everything by default: read, request, inject, ..."
        ),
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=tokens.LONGEST_DAYS, help="Days until it expires.")] = tokens.DAYS,
    label: Annotated[str, typer.Option(help="Purpose of the token.")] = "",
    json: Json = False,
) -> None:
    """Create a token and print it; it is shown only once and not stored.

    This command can grant every role; the API grants only rights that its user has.

    Example: energycomm token create billing --role back_office --scope read --scope notify --days 30
    """
    by = system_user()
    scopes = frozenset(scope or Scope)
    for what, value in (("name", person), ("label", label)):
        if len(value) > LONGEST or not value.isprintable() or (what == "name" and not value):
            raise UserError(
                f"The {what} {value[:LONGEST]!r} cannot be stored.", f"Choose 1 to {LONGEST} printable characters."
            )
    with open_store(load()) as store:
        number, secret = tokens.create(
            store, person, frozenset(role), scopes=scopes, days=days, label=label or person, by=by
        )
        subject = f"token {number} of {person}: {' '.join(sorted(role))}; {' '.join(sorted(scopes))}"
        audit.record(store, _operator(by), "change", "energycomm token create", subject=subject)
    with disclosing():
        if json:
            print_json({"id": number, "token": secret})
            return
        say(secret)
        say(f"token {number} of {person}; keep it, it is not shown again", err=True)


@app.command("list")
@recorded("token list")
@listed
def list_(
    form: Form,
    everything: Annotated[bool, typer.Option("--all", help="Expired and revoked ones too.")] = False,
) -> None:
    """List tokens, without the tokens themselves.

    Example: energycomm token list --all
    """
    with open_store(load()) as store:
        found = tokens.list_tokens(store, everything=everything)
    head = ("id", "person", "state", "roles", "scopes", "expires", "used", "for", "made by", "with token")
    form.show(
        found,
        head,
        [
            (t.id, t.person, t.state, t.roles, t.scopes, t.expires_at, t.used_at, t.label, t.created_by, t.made_with)
            for t in found
        ],
    )


@app.command()
def revoke(
    ids: Annotated[list[int], typer.Argument(metavar="ID", help="Numbers of tokens.")], json: Json = False
) -> None:
    """Revoke tokens, with the sessions and tokens that were made with them; effective at once.

    Example: energycomm token revoke 3
    """
    by = system_user()
    taken: set[int] = set()
    with open_store(load()) as store:
        for number in ids:
            if number in taken:
                continue
            done = tokens.revoke(store, number, by)
            if not done:
                raise UserError(f"There is no token {number} that holds.", "`energycomm token list --all` lists them.")
            taken.update(done)
            subject = f"token {', '.join(map(str, done))}"
            audit.record(store, _operator(by), "change", "energycomm token revoke", subject=subject)
    made = taken - set(ids)
    if json:
        print_json({"revoked": sorted(taken), "made_with_others": sorted(made)})
        return
    words = f"{counted(len(taken), 'token')} revoked"
    say(f"{words}, {len(made)} of them made with the others" if made else words)


def _operator(by: str) -> Person:
    return Person(by, frozenset({Role.ADMINISTRATOR}), "command")
