"""`energycomm eis backup`, `backups`, `restore` and `restored`: the whole store, kept elsewhere and brought back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from sqlalchemy import Engine, make_url

from energycomm.backup import backups as backed
from energycomm.backup import making, restoring
from energycomm.commands.language import told
from energycomm.commands.output import Form, Json, Paper, listed, print_json, say
from energycomm.commands.recording import record, recorded
from energycomm.config import Config, load
from energycomm.eis import migrations
from energycomm.eis.database import opened, reading, writing
from energycomm.eis.ownership import require_owner
from energycomm.eis.store import Store
from energycomm.erasure.erasing import again, means_of
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.counting import counted
from energycomm.pipeline.listsearch import placed
from energycomm.pipeline.opening import open_store

Archives = Annotated[
    Path | None, typer.Option("--archives", help="Folder for the files of the archives, instead of the setting.")
]


def backup(
    folder: Annotated[Path, typer.Argument(help="Folder of the backups; each has a folder of its own there.")],
    keep: Annotated[
        int | None, typer.Option("--keep", min=1, help="Then remove the older ones of this store but so many.")
    ] = None,
    whole_server: Annotated[
        bool,
        typer.Option(
            "--whole-server", help="PostgreSQL: copy the server, so that its archived log can be added to a moment."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Back up the whole store: database, raw bytes, archives. Other processes continue. Keys are not in it.

    Example: energycomm eis backup /mnt/backups --keep 14
    """
    config = load()
    with opened(config.database_url, create=False) as engine:
        # One of an earlier version is backed up before its upgrade: its audit is not ours to write yet.
        if migrations.status(engine).state == "ready":
            if config.supplier is not None:
                require_owner(engine, config.supplier.name)
            record(Store(engine), "read", "eis backup", f"folder={folder}")
        with _watched() as watch:
            made = making.make(engine, folder, whole_server=whole_server, watch=watch)
        loose = whole_server and _no_log(engine)
    removed = [] if keep is None else backed.remove_older(folder, made.manifest.store, made.manifest.kind, keep)
    if json:
        print_json({**_facts(made), "removed": [str(place) for place in removed]})
    else:
        files = counted(len(made.manifest.files), "file")
        say(f"{made.folder}: {files}, {made.manifest.bytes / 1_000_000:.1f} MB")
        for place in removed:
            say(f"{place} was removed")
    if loose:
        say("archive_mode is off: unless pg_receivewal keeps the log, only this moment can be restored", err=True)


@listed
def backups(
    form: Form,
    folder: Annotated[Path, typer.Argument(help="Folder of the backups.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every file; exit code 2 if one is absent or was changed.")
    ] = False,
) -> None:
    """List the backups of a folder, the earliest first, and check them with --verify.

    Example: energycomm eis backups /mnt/backups --verify
    """
    found = backed.find(folder)
    flaws = {one.folder: list(backed.flaws(one)) if verify else [] for one in found}
    head = ("backup", "made", "of", "revision", "MB", "store", "flaws")
    rows = [(*_row(one), len(flaws[one.folder]) if verify else "") for one in found]
    form.show([{**_facts(one), "flaws": flaws[one.folder]} for one in found], head, rows)
    if not form.json:
        for lines in flaws.values():
            for line in lines:
                say(line, err=True)
    if any(flaws.values()):
        raise typer.Exit(ExitCode.UNREADABLE)


def restore(
    folder: Annotated[Path, typer.Argument(metavar="BACKUP", help="The backup: one folder of `eis backups`.")],
    archives: Archives = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Of a whole server: its new data folder, absent or empty.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--log", help="Of a whole server: folder to which it archived its log.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="INSTANT", help="The moment to go back to: 2026-03-31T14:05, legal time."),
    ] = None,
    timeline: Annotated[
        int | None,
        typer.Option("--timeline", help="The life of the server that is meant, where it came back to a moment before."),
    ] = None,
    json: Json = False,
) -> None:
    """Restore a backup into the store of the configuration, which must hold nothing yet; nothing is written over.

    With --data, lay a new data folder for a server of PostgreSQL instead: it takes in its log when it is started.

    Example: energycomm eis restore /mnt/backups/2026-03-31T020000.000000Z
    """
    config = load()
    found = backed.read(folder)
    place = archives if archives is not None else config.archive_folder
    if data is not None:
        moment = restoring.Moment(_instant(config, until), timeline)
        restoring.prepare_server(found, data, log, moment, place)
        words = (
            f"{data} is ready: start PostgreSQL on it, wait until it takes writes, then run `energycomm eis restored` "
            f"and `energycomm customer erasures --again --backups {folder.resolve().parent}`"
        )
    elif (log, until, timeline) != (None, None, None):
        raise UserError("--log, --until and --timeline are of a whole server.", "Name its new data folder with --data.")
    else:
        supplier = config.supplier.name if config.supplier is not None else None
        restoring.restore(found, config.database_url, _sqlite_file(config), place, supplier)
        with opened(config.database_url, create=False) as engine:
            state = migrations.status(engine).state
            if state == "ready":
                record(Store(engine), "change", "eis restore", f"backup={folder}")
        since = backed.erased_since(folder.resolve().parent, found.manifest.store)
        if state == "ready" and since:
            with open_store(config) as store:
                again(means_of(config, store), since)
        words = "run `energycomm eis upgrade`" if state == "old" else "it is ready"
        if state == "old" and since:
            erasures = f"energycomm customer erasures --again --backups {folder.resolve().parent}"
            words = f"run `energycomm eis upgrade`, and `{erasures}`"
        words = f"{config.database_shown} holds the store of {found.manifest.made_at:%Y-%m-%d %H:%M:%S} UTC: {words}"
    if json:
        print_json(_facts(found))
    else:
        say(words)


@recorded("eis restored", changing=True)
def restored(archives: Archives = None, json: Json = False) -> None:
    """Make a store ready that went back to an earlier moment by other means: a point in time, a copy, a lost commit.

    The numbers that it gave since then, which others may know, are not given again.

    Example: energycomm eis restored
    """
    with open_store(load()) as store, writing(store.engine) as connection:
        restoring.settle(connection, archives)
    if json:
        print_json({"left_out": restoring.LEAP})
    else:
        say(f"the next number of every table is {restoring.LEAP} further on")


def _row(one: backed.Backup) -> tuple[object, ...]:
    manifest = one.manifest
    size = f"{manifest.bytes / 1_000_000:.1f}"
    return one.folder, manifest.made_at, manifest.kind, manifest.revision, size, manifest.store


def _facts(one: backed.Backup) -> dict[str, Any]:
    manifest = one.manifest
    return {
        "backup": str(one.folder),
        "kind": manifest.kind,
        "made_at": manifest.made_at,
        "program": manifest.program,
        "revision": manifest.revision,
        "store": manifest.store,
        "audit_head": manifest.audit_head,
        "files": len(manifest.files),
        "bytes": manifest.bytes,
    }


def _sqlite_file(config: Config) -> Path | None:
    address = make_url(config.database_url) if config.database_url.startswith("sqlite") else None
    return None if address is None or address.database is None else Path(address.database)


def _instant(config: Config, written: str | None) -> datetime | None:
    if written is None:
        return None
    try:
        at = datetime.fromisoformat(written)
    except ValueError:
        raise UserError(f"--until: {written!r} is no instant.", "Write it like 2026-03-31T14:05:00.") from None
    return placed("--until", at, ZoneInfo(config.web.zone))


def _no_log(engine: Engine) -> bool:
    """Whether the server archives nothing of its log."""
    with reading(engine) as connection:
        return connection.exec_driver_sql("SHOW archive_mode").scalar() == "off"


@contextmanager
def _watched() -> Iterator[Callable[[str], None]]:
    """What is done at present, on standard error, if that is a terminal."""
    console = Paper(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(told("looking"), total=None)
        yield lambda what: bar.update(task, description=what)
