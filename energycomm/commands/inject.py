"""`energycomm inject`: Kernel messages given directly to the Kernel, without an adapter."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from energycomm.commands.output import Json, print_json, print_rows, say
from energycomm.commands.recording import recorded, system_user
from energycomm.config import load
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.injection import inject as hand_over
from energycomm.pipeline.injection import unfit
from energycomm.pipeline.opening import open_store
from energycomm.pipeline.submissions import read_handed


@recorded("inject", changing=True)
def inject(
    file: Annotated[
        Path, typer.Argument(help="Kernel messages as JSON (one or a list) or XML; - reads from the pipe.")
    ],
    by: Annotated[str | None, typer.Option("--by", help="Who injects them; the user of the system by default.")] = None,
    json: Json = False,
) -> None:
    """Inject Kernel messages, such as those received by e-mail or from the TSO.

    Either all messages are stored or none; repeated messages are duplicates. Exit code 0: all were accepted; 1: some
    were rejected or wait; 2: a message cannot be read, nothing was stored.

    Example: energycomm inject mail.json --by anna
    """
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.", "Check the path.") from None
    handed = read_handed(content)
    if isinstance(handed, Refusal):
        raise UserError(f"{file}: {handed}", "See docs/api.md for the form.", ExitCode.UNREADABLE)
    config = load()
    with open_store(config) as store:
        gateway = Gateway(config, store)
        wrong = unfit(handed, gateway.markets.keys(), config.web.inject_messages, config.foreign)
        if wrong:
            lines = "\n  ".join(f"message {number + 1}: {refusal}" for number, refusal in wrong)
            raise UserError(f"Nothing is stored.\n  {lines}\n", "Correct the file.", ExitCode.UNREADABLE)
        who = by or system_user()
        done = hand_over(store, gateway.writer, handed, content, file.name if str(file) != "-" else "injection", who)
    if json:
        print_json(done)
    else:
        rows = [
            (one.message.id, one.message.kind, one.message.access_point, one.message.state, one.message.codes)
            for one in done.messages
        ]
        print_rows(("message", "kind", "access point", "state", "codes"), rows)
        again = sum(one.duplicate for one in done.messages)
        if again:
            say(f"{again} of {len(rows)} had been injected before", err=True)
    if any(one.message.state not in ("accepted", "treated") for one in done.messages):
        raise typer.Exit(ExitCode.REJECTED)
