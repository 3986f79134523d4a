"""`energycomm correct edit`: one stuck message changed in an editor, tried out, and stored as a new version."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from energycomm.commands.language import told
from energycomm.commands.output import Json, hand_over, print_heading, print_json, say, say_text
from energycomm.commands.recording import of_message, recorded, system_user
from energycomm.config import load
from energycomm.correction.campaign import CampaignRecord, rivals
from energycomm.correction.editing import Examined, edit, editable, examine
from energycomm.errors import UserError
from energycomm.kernel.counting import counted
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.opening import open_store

LARGEST = 4 << 20
"""Bytes of an edited message that are read."""


@recorded("correct edit", changing=("yes",), subject=of_message)
def edit_(
    message: Annotated[int, typer.Argument(metavar="ID", help="The stuck message.")],
    file: Annotated[
        Path | None, typer.Option(help="Take the new content from this file (- for standard input); no editor.")
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="Only print the content that would be edited.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Store it; without, only the dry run is shown.")] = False,
    key: Annotated[str | None, typer.Option(help="A second edit with the same key does nothing.")] = None,
    by: Annotated[str | None, typer.Option("--by", help="Who does it; the user of the system by default.")] = None,
    why: Annotated[str, typer.Option("--why", help="Reason, for the record.")] = "",
    json: Json = False,
) -> None:
    """Edit one stuck message; it is checked and tried out before it is stored as a new version.

    Example: energycomm correct edit 17 --yes --why "index typed wrong, confirmed by telephone"
    """
    config = load()
    if show and (file is not None or yes):
        other = "--yes" if yes else "--file"
        raise UserError(f"--print and {other} contradict each other.", "Choose one of them.")
    if yes and not why.strip():
        raise UserError("Give a reason; it is recorded with the edit.", 'Add --why "...".')
    with open_store(config) as store:
        stored = editable(store, installed_adapters(config.mapping_files), message)
        if show:
            hand_over(stored)
            return
        content = _read(file) if file is not None else _edited(stored)
        gateway = Gateway(config, store)
        seen = examine(store, gateway.writer, message, content)
        if not json:
            _print(seen)
        if file is None and not yes and seen.fit and sys.stdin.isatty() and not json:
            why = typer.prompt(told("Reason (nothing: do not store it)"), default="", show_default=False)
            yes = bool(why.strip())
        draft = _kept(message, content) if file is None and not yes and content != stored else None
        record = None
        if yes:
            record = edit(
                store,
                gateway.writer,
                message,
                content,
                by=by or system_user(),
                why=why,
                key=key,
                four_eyes=config.correction.four_eyes,
            )
        others = [] if record is None else rivals(store, record.id)
    if json:
        facts = msgspec.structs.asdict(seen)
        print_json({"edit": {**facts, "fit": seen.fit, "words": seen.words}, "campaign": record, "rivals": others})
    else:
        _print_outcome(message, seen, record, draft)
        for one in others:
            say(one.words)
    if not seen.fit and not yes:
        raise typer.Exit(1)


def _print_outcome(message: int, seen: Examined, record: CampaignRecord | None, draft: Path | None) -> None:
    """What became of an edit, and what to type to go on."""
    if record is not None and record.state == "planned":
        say(f"campaign {record.id} waits for another person: energycomm correct approve {record.id}")
    elif record is not None:
        say(f"campaign {record.id} is {record.state}; it freed {counted(record.freed, 'message')}")
    elif draft is not None:
        say(f"Nothing is stored yet. What you wrote is in {draft}. To go on with it, and to store it:")
        stored = ' --yes --why "..."' if seen.fit else ""
        say(f"  energycomm correct edit {message} --file {shlex.quote(str(draft))}{stored}")
    elif seen.fit:
        say('Nothing is stored yet; --yes --why "..." stores it.')


def _read(file: Path) -> str:
    try:
        content = sys.stdin.buffer.read(LARGEST + 1) if str(file) == "-" else file.read_bytes()
        if len(content) > LARGEST:
            raise UserError(f"{file} is larger than any Kernel message.", f"At most {LARGEST} bytes are read.")
        return content.decode("utf-8")
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.", "Name a file with Kernel XML.") from None
    except UnicodeDecodeError:
        raise UserError(f"{file} is not UTF-8.", "Write it as UTF-8.") from None


def _edited(content: str) -> str:
    """What the user's editor leaves."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise UserError("No editor is named.", "Set EDITOR, or pass the content with --file.")
    with tempfile.TemporaryDirectory(prefix="energycomm-edit-") as folder:
        path = Path(folder) / "message.xml"
        path.write_text(content, "utf-8")
        path.chmod(0o600)
        try:
            done = subprocess.run([*shlex.split(editor), str(path)], check=False)  # noqa: S603 - the user's own editor
        except (OSError, ValueError) as error:
            raise UserError(f"The editor {editor!r} cannot be started: {error}.", "Set EDITOR.") from None
        if done.returncode:
            raise UserError(f"The editor ended with {done.returncode}; nothing was stored.")
        return _read(path)


def _kept(message: int, content: str) -> Path:
    """A file that only this user may read, with what was written; it stays."""
    handle, name = tempfile.mkstemp(prefix=f"energycomm-edit-{message}-", suffix=".xml")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(content)
    return Path(name)


def _print(seen: Examined) -> None:
    if seen.difference:
        say_text(seen.difference)
        print_heading("Dry run")
    say(seen.words, err=bool(seen.refusals))
    for found in seen.findings:
        if found.severity == "error":
            say(f"  {found.code} {found.field}: {found.value or ''}".rstrip())
