"""Making a backup: the database as of one instant, then the files of the archives that it names.

The files of an archive are on the disk before the commit that names them, and stay when their rows come back; so those
that the copy of the database names are there. Each is checked against the SHA-256 that the database has of it.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec import Struct
from sqlalchemy import Engine, inspect, text

from energycomm.archive.files import File
from energycomm.backup import postgres
from energycomm.backup.backups import (
    ARCHIVES,
    HOLDS,
    MANIFEST,
    BackedFile,
    Backup,
    Kind,
    Manifest,
    name_of,
    on_disk,
    sha256_of,
    take,
)
from energycomm.eis import migrations
from energycomm.eis.database import is_sqlite, opened, reading, reporting, shown
from energycomm.eis.erasures import Order, erasures
from energycomm.errors import UserError
from energycomm.kernel.instants import instant, now_micros
from energycomm.private_files import private_file, private_folder, written_whole

Watch = Callable[[str], None]
"""Told what is done at present."""

_FILES = msgspec.json.Decoder(list[File])


class _Facts(Struct, frozen=True):
    """What a copied database says of itself.

    Attributes:
      revision: of its tables.
      store: its name.
      supplier: whose it is.
      audit_head: the last hash of its audit.
      archives: (archive, its folder, its files that hold rows).
      erasures: customers that were erased.
    """

    revision: str
    store: str | None
    supplier: str | None
    audit_head: str | None
    archives: tuple[tuple[str, Path, tuple[File, ...]], ...]
    erasures: tuple[Order, ...]


def make(engine: Engine, folder: Path, *, whole_server: bool = False, watch: Watch = lambda _: None) -> Backup:
    """Make a backup in a folder of its own; an interrupted one leaves nothing that counts.

    Args:
      engine: the database, of this version or an earlier one.
      folder: of the backups; made where it is not there.
      whole_server: copy the server of PostgreSQL, so that its log can be added up to a point in time.
      watch: told what is done at present.

    Raises:
      UserError: it is no store of ours; a file cannot be read or written; an archive's file is absent or was changed;
        a program of PostgreSQL failed.
    """
    kind: Kind = "sqlite" if is_sqlite(engine) else "postgresql-cluster" if whole_server else "postgresql"
    if whole_server and is_sqlite(engine):
        raise UserError("SQLite has no server to copy.", "Leave --whole-server out.")
    if migrations.current(engine) is None:
        raise UserError(f"The database {shown(engine)} has no tables of EnergyComm.", "There is nothing to back up.")
    begun = instant(now_micros())
    name = name_of(begun)
    hidden = folder / f".{name}.part"
    try:
        private_folder(folder)
        hidden.mkdir(mode=0o700)
        try:
            watch("copying the database")
            facts = _copy(engine, kind, hidden)
            files = [_hashed(hidden, path) for path in sorted(hidden.rglob("*")) if path.is_file()]
            for archive, place, parts in facts.archives:
                watch(f"copying the archive {archive}")
                files += [_archived(place, part, hidden / ARCHIVES / archive) for part in parts]
            manifest = Manifest(
                kind=kind,
                made_at=instant(now_micros()) if whole_server else begun,
                program=version("energycomm"),
                revision=facts.revision,
                store=facts.store,
                supplier=facts.supplier,
                audit_head=facts.audit_head,
                files=tuple(files),
                erasures=facts.erasures,
            )
            with written_whole(hidden / MANIFEST) as file:
                file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=2))
            on_disk(hidden)
            hidden.rename(folder / name)
            on_disk(folder)
        except BaseException:
            shutil.rmtree(hidden, ignore_errors=True)
            raise
    except OSError as error:
        raise UserError(
            f"The backup cannot be written: {error.filename or folder}: {error.strerror}.",
            "Name another folder, or make room.",
        ) from None
    return Backup(folder / name, manifest)


def _copy(engine: Engine, kind: Kind, folder: Path) -> _Facts:
    """Copy the database; what the copy says of itself, or, where a copy cannot be asked, what the store said before."""
    target = folder / HOLDS[kind]
    if kind == "sqlite":
        private_file(target)
        with reporting(engine), closing(sqlite3.connect(target)) as copy:
            source = engine.raw_connection()
            try:
                # In one step: it sees one instant, and whoever writes meanwhile goes on.
                source.driver_connection.backup(copy)  # type: ignore[union-attr]
            finally:
                source.close()
        with opened(f"sqlite:///{target}", create=False) as copied:
            facts = _facts(copied)
        with closing(sqlite3.connect(target)) as copy:
            # The log is for a store that is used: a copy is one file.
            copy.execute("PRAGMA journal_mode = DELETE")
        return facts
    # Archives only ever gain files, and those stay: what is named before the copy begins is named in it, too, or its
    # rows are back in the database.
    before = _facts(engine)
    if kind == "postgresql":
        postgres.dump(engine, target)
    else:
        postgres.copy_server(engine, target)
    after = _facts(engine)
    return msgspec.structs.replace(before, archives=_together(before, after))


def _together(before: _Facts, after: _Facts) -> tuple[tuple[str, Path, tuple[File, ...]], ...]:
    """The files that were named before or after a copy was made: those that it names are among them."""
    found = {name: (name, place, files) for name, place, files in before.archives}
    for name, place, files in after.archives:
        known = {file.name: file for file in (found[name][2] if name in found else ())}
        if any(known.get(file.name, file) != file for file in files):
            raise UserError(f"The archive {name} was written anew meanwhile.", "Repeat the backup.")
        found[name] = (name, place, tuple((known | {file.name: file for file in files}).values()))
    return tuple(found.values())


def _facts(engine: Engine) -> _Facts:
    there = set(inspect(engine).get_table_names())
    with reading(engine) as connection:

        def one(table: str, column: str) -> object:
            if table not in there:
                return None
            return connection.execute(text(f"SELECT {column} FROM {table}")).scalar()  # noqa: S608 - our own words

        archives: dict[str, tuple[str, Path, list[File]]] = {}
        if "archive" in there:
            sql = text(
                "SELECT a.name, a.folder, p.files FROM archive a JOIN archive_piece p ON p.archive_id = a.id "
                "WHERE p.away AND a.folder <> '' ORDER BY a.name, p.number"
            )
            for name, folder, files in connection.execute(sql):
                archives.setdefault(name, (name, Path(folder), []))[2].extend(_FILES.decode(files or "[]"))
        head = one("audit_head", "hash")
        store, supplier = one("change_head", "store"), one("store_owner", "supplier")
        return _Facts(
            revision=str(one("alembic_version", "version_num")),
            store=None if store is None else str(store),
            supplier=None if supplier is None else str(supplier),
            audit_head=bytes(head).hex() if isinstance(head, bytes | memoryview) else None,
            archives=tuple((name, place, tuple(files)) for name, place, files in archives.values()),
            erasures=tuple(one.order for one in erasures(connection)),
        )


def _hashed(folder: Path, path: Path) -> BackedFile:
    name = path.relative_to(folder).as_posix()
    return BackedFile(name=name, bytes=path.stat().st_size, sha256=sha256_of(path))


def _archived(place: Path, file: File, target: Path) -> BackedFile:
    """Copy a file of an archive.

    Raises:
      UserError: it is absent, or not what was written.
      OSError: the copy cannot be written.
    """
    source = place / file.name
    if not source.is_file():
        raise UserError(
            f"The file {source} of an archive is not there.", "Bring it back: its rows are nowhere else. Then repeat."
        )
    copied = take(source, target / file.name)
    if copied.sha256 != file.sha256:
        raise UserError(
            f"The file {source} of an archive was changed: its SHA-256 is not {file.sha256}.",
            "Bring back the one that was written, from an earlier backup. Then repeat.",
        )
    return BackedFile(name=f"{ARCHIVES}/{target.name}/{copied.name}", bytes=copied.bytes, sha256=copied.sha256)
