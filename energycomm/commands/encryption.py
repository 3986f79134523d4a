"""`energycomm eis encrypt`, `decrypt`, `compact` and `verify`: in which form content is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec
import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from sqlalchemy import Engine

from energycomm.commands.language import told
from energycomm.commands.output import Json, Paper, print_json, print_rows, say
from energycomm.config import load
from energycomm.eis.datakeys import current_data_key, switch_off
from energycomm.eis.resealing import Resealed, reseal, verify, wipe
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.counting import counted
from energycomm.pipeline.opening import open_store

Wipe = Annotated[
    bool,
    typer.Option(
        "--wipe", help="Then rewrite the database files, so that they contain no former content; other processes wait."
    ),
]


def encrypt(wipe_: Wipe = False, json: Json = False) -> None:
    """Encrypt all stored content under the data key; other processes may continue, and the run may be repeated.

    Example: energycomm eis encrypt --wipe
    """
    with open_store(load()) as store:
        number = current_data_key(store.engine)
        if number is None:
            raise UserError(
                "storage_key is not set: nothing is to be encrypted.",
                "`energycomm keys generate FILE` makes a key and shows its settings.",
            )
        done = resealed(store.engine)
        if wipe_:
            wipe(store.engine)
    if json:
        print_json({"data_key": number, **msgspec.to_builtins(done), "wiped": wipe_})
    print_resealed(done, f"under data key {number}", json=json)


def decrypt(wipe_: Wipe = False, json: Json = False) -> None:
    """Switch encryption off and decrypt all stored content; the keys must still be in the key ring.

    Example: energycomm eis decrypt
    """
    config = load()
    if config.storage_key is not None:
        raise UserError(
            f"storage_key is {config.storage_key!r}: the store would be encrypted again at once.",
            "Unset storage_key, restart what runs, and run the command again. The key stays in `keys`.",
        )
    with open_store(config) as store:
        switch_off(store.engine)
        done = resealed(store.engine)
        if wipe_:
            wipe(store.engine)
    if json:
        print_json({**msgspec.to_builtins(done), "wiped": wipe_})
    print_resealed(done, "in plain", json=json)


def compact(wipe_: Wipe = False, json: Json = False) -> None:
    """Compress what an earlier version stored; other processes may continue, and the run may be repeated.

    An interrupted run is continued by the next. --wipe gives the room that is saved back to the disk.

    Example: energycomm eis compact
    """
    with open_store(load()) as store:
        number = current_data_key(store.engine)
        done = resealed(store.engine)
        if wipe_:
            wipe(store.engine)
    if json:
        print_json({"data_key": number, **msgspec.to_builtins(done), "wiped": wipe_})
    print_resealed(done, "compressed" if number is None else f"compressed, under data key {number}", json=json)


def verify_(json: Json = False) -> None:
    """Decrypt every encrypted row as a check and list those that cannot be decrypted; exit code 2 if there are any.

    Plain rows in a store with a data key are counted; exit code 1 if there are any.

    Example: energycomm eis verify
    """
    with open_store(load()) as store:
        current = current_data_key(store.engine)
        with _watched() as watch:
            found = verify(store.engine, watch)
    plain = 0 if current is None else sum(counts.get("plain", 0) for counts in found.rows.values())
    if json:
        print_json({"data_key": current, "plain": plain, **msgspec.to_builtins(found)})
    else:
        rows = [(table, key, str(number)) for table, counts in found.rows.items() for key, number in counts.items()]
        print_rows(("table", "data key", "rows"), rows)
        _print_damaged(found.damaged, found.damaged_rows)
        if plain:
            say(f"{counted(plain, 'row is', 'rows are')} not encrypted: run `energycomm eis encrypt`")
    if found.damaged_rows:
        raise typer.Exit(ExitCode.UNREADABLE)
    if plain:
        raise typer.Exit(ExitCode.REJECTED)


def resealed(engine: Engine) -> Resealed:
    """Encrypt stored content under the current data key, with progress on standard error if that is a terminal."""
    with _watched() as watch:
        return reseal(engine, watch)


def print_resealed(done: Resealed, how: str, *, json: bool) -> None:
    """Print the number of rewritten rows; exit code 2 when rows could not be decrypted."""
    if not json:
        for table, number in done.rows.items():
            say(f"{table}: {counted(number, 'row was', 'rows were')} written {how}")
        if not done.rows:
            say(f"everything is {how} already")
        _print_damaged(done.damaged, done.damaged_rows)
    if done.damaged_rows:
        raise typer.Exit(ExitCode.UNREADABLE)


def _print_damaged(damaged: list[str], number: int) -> None:
    for line in damaged:
        say(line)
    if number:
        say(f"{counted(number, 'row does', 'rows do')} not open: restore what is broken from a backup")


@contextmanager
def _watched() -> Iterator[Callable[[str, int], None]]:
    console = Paper(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(told("looking"), total=None)
        counts: dict[str, int] = {}

        def watch(table: str, rows: int) -> None:
            counts[table] = counts.get(table, 0) + rows
            bar.update(task, description=f"{table}: {counts[table]} rows")

        yield watch
