"""`energycomm keys`: the key ring: which keys there are, which the store needs, a new one in place of an old one."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from energycomm.commands.encryption import print_resealed, resealed
from energycomm.commands.output import Form, Json, listed, print_json, say
from energycomm.config import Config, load
from energycomm.eis.database import opened
from energycomm.eis.datakeys import data_keys, switch_on, wrap_anew
from energycomm.eis.migrations import require_current
from energycomm.eis.sealing import Vault
from energycomm.errors import ExitCode, UserError
from energycomm.pipeline.opening import open_store
from energycomm.transport.keys import STORAGE, read_keys

app = typer.Typer(no_args_is_help=True, help="The key ring: keys of envelopes and of the store.")

HEAD = ("label", "for", "state", "data keys")
_Row = tuple[str, str, str, list[str]]


@app.command(name="list")
@listed
def list_(form: Form) -> None:
    """List the keys of the key ring and those that the store needs; exit code 4 if a needed key is missing.

    Example: energycomm keys list
    """
    config = load()
    rows, needed = _ring_rows(config)
    told = [dict(zip(("label", "for", "state", "data_keys"), row, strict=True)) for row in rows]
    form.show(told, HEAD, [(*row[:3], ", ".join(row[3])) for row in rows])
    if needed and any(row[3] and row[2] != "usable" for row in rows):
        raise typer.Exit(ExitCode.DATABASE)


@app.command()
def generate(
    file: Annotated[Path, typer.Argument(help="File to write the key to; it must not exist.", show_default=False)],
    label: Annotated[str | None, typer.Option("--label", help="Name of the key; the file's by default.")] = None,
) -> None:
    """Write a new random key to a file that only its owner may read, and show the settings for it.

    Example: energycomm keys generate storage-2026.key
    """
    try:
        file.touch(0o600, exist_ok=False)
        with file.open("w", encoding="ascii") as written:
            written.write(secrets.token_hex(32) + "\n")
            written.flush()
            os.fsync(written.fileno())
    except FileExistsError:
        raise UserError(f"{file} exists.", "A key that is in use must not be lost: name another file.") from None
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.", "Check the folder and its rights.") from None
    name = label or file.stem
    say("# before the first table of energycomm.toml")
    say(f"storage_key = {_quoted(name)}")
    say("")
    say("# at its end")
    say("[[keys]]")
    say(f"label = {_quoted(name)}")
    say(f'scheme = "{STORAGE}"')
    say(f"key_file = {_quoted(str(file.resolve()))}")


@app.command()
def rotate(
    deep: Annotated[
        bool, typer.Option("--deep", help="Also encrypt all stored content again, under a new data key.")
    ] = False,
    json: Json = False,
) -> None:
    """Wrap the data keys with the key named by `storage_key`; other processes may continue.

    An interrupted run of --deep is completed by `energycomm eis encrypt`.

    Example: energycomm keys rotate
    """
    config = load()
    label = config.storage_key
    if label is None:
        raise UserError("storage_key is not set.", "Set it to the label of the new key, then run the command again.")
    with open_store(config) as store:
        wrapped = wrap_anew(store.engine, label)
        found: dict[str, Any] = {"key": label, "wrapped": wrapped}
        if deep:
            found["data_key"] = switch_on(store.engine, label, anew=True)
            done = resealed(store.engine)
            found |= msgspec.to_builtins(done)
    if json:
        print_json(found)
    else:
        say(f"{wrapped} data keys were wrapped with {label}")
    if deep:
        print_resealed(done, f"under data key {found['data_key']}", json=json)


def _ring_rows(config: Config) -> tuple[list[_Row], bool]:
    """What there is to say of each key, those that only the store knows last; and whether the store is encrypted."""
    rows: dict[str, _Row] = {}
    ring: dict[str, Any] = {}
    for entry in config.key_entries:
        read, refusals = read_keys([entry], os.environ, config.folder)
        ring |= {key.label: key for key in read.storage}
        use = "store" if entry["scheme"] == STORAGE else "envelopes"
        rows[entry["label"]] = (entry["label"], use, str(refusals[0].value) if refusals else "usable", [])
    with opened(config.database_url) as engine:
        require_current(engine)
        vault = Vault(engine, ring)
        kept = data_keys(engine)
        for key in kept:
            row = rows.setdefault(key.label, (key.label, "store", "missing", []))
            row[3].append(f"{key.number} (current)" if key.current else str(key.number))
            try:
                if row[2] == "usable":
                    vault.check_one(key.number)
            except UserError:
                rows[key.label] = (*row[:2], "another key of this name is needed", row[3])
    return [*rows.values()], any(key.current for key in kept)


def _quoted(words: str) -> str:
    """Words as TOML writes them."""
    return msgspec.json.encode(words).decode()
