"""`energycomm audit`: who read personal data or changed something, and whether that record is whole."""

from __future__ import annotations

import re
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from energycomm.commands.options import options_of
from energycomm.commands.output import Form, Json, listed, print_facts, print_json, say
from energycomm.commands.recording import recorded
from energycomm.config import load
from energycomm.eis.auditchain import Flaw
from energycomm.eis.auditchain import verify as verify_chain
from energycomm.errors import ExitCode, UserError
from energycomm.pipeline.listsearch import AuditSearch
from energycomm.pipeline.opening import open_store
from energycomm.webservice.audit import list_audit

_HEAD = re.compile("[0-9a-fA-F]{64}")

app = typer.Typer(no_args_is_help=True, help="Who read personal data or changed something.")


@app.command("list")
@recorded("audit list")
@options_of(AuditSearch)
@listed
def list_(
    wanted: AuditSearch,
    form: Form,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue where a former list ended (its `next`).")] = None,
) -> None:
    """List the audit: who read personal data or changed something, the newest first.

    Example: energycomm audit list --person anna --action change
    """
    config = load()
    with open_store(config) as store:
        asked = wanted.known(store.engine).model_dump() | wanted.period(ZoneInfo(config.web.zone))
        try:
            page = list_audit(store, **asked, limit=form.taken(limit), cursor=cursor)
        except ValueError:
            raise UserError(f"{cursor!r} is no cursor of a list.", "Take `next` of the list before.") from None
    head = ("at", "person", "via", "action", "what", "subject", "status", "from", "line")
    rows = [(e.at, e.person, e.via, e.action, e.what, e.subject, e.status, e.address, e.position) for e in page.entries]
    form.show(page, head, rows, following=page.next, limit=limit)


@app.command()
def verify(
    head: Annotated[
        str | None,
        typer.Option(help="Head of a former check, kept elsewhere; the audit must still contain it."),
    ] = None,
    json: Json = False,
) -> None:
    """Check that no line of the audit was changed, removed, inserted or truncated.

    Keep the printed head where users of the database cannot write: with --head, the next check also detects an audit
    that was rewritten as a whole. Exit code 1: the audit was tampered with; the first wrong line is shown.

    Example: energycomm audit verify --head $(cat /mnt/vault/audit.head)
    """
    remembered = None if head is None else _digest(head)
    with open_store(load()) as store:
        found = verify_chain(store.engine, remembered)
    if json:
        print_json(found)
    else:
        print_facts([("lines that hold", found.checked), ("head", found.head)])
    if found.flaw is not None:
        if not json:
            say(f"error: {_words(found.flaw)}", err=True)
        raise typer.Exit(ExitCode.REJECTED)


def _digest(text: str) -> bytes:
    if not _HEAD.fullmatch(text.strip()):
        raise UserError(f"{text!r} is no head of an audit.", "Write the 64 hexadecimal digits that a check printed.")
    return bytes.fromhex(text.strip())


def _words(flaw: Flaw) -> str:
    if flaw.id is None:
        return f"The audit is not whole from line {flaw.position}: {flaw.kind}: {flaw.words}."
    return f"The audit is not whole from line {flaw.position}, id {flaw.id}: {flaw.kind}: {flaw.words}."
