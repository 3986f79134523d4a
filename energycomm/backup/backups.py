"""A backup: a folder with the database, the files of the archives, and `manifest.json`, which says what each must be.

Keys are in no backup: what is encrypted at rest stays so in it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from energycomm.eis.erasures import Order
from energycomm.errors import UserError
from energycomm.private_files import private_folder, written_whole

MANIFEST = "manifest.json"
ARCHIVES = "archives"
"""Folder, in a backup, of the files of the archives."""

PIECE = 1 << 20

Kind = Literal["sqlite", "postgresql", "postgresql-cluster"]
"""A SQLite file, the dump of a database of PostgreSQL, or a copy of the whole server to which its log is added."""

HOLDS: dict[Kind, str] = {"sqlite": "store.db", "postgresql": "store.dump", "postgresql-cluster": "cluster"}
"""The database in a backup: a file, or a folder of them."""


class BackedFile(Struct, frozen=True, kw_only=True):
    """A file of a backup.

    Attributes:
      name: in the backup, with `/` between folders.
      bytes: its size.
      sha256: of its content, hexadecimal.
    """

    name: str
    bytes: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """What a backup is.

    Attributes:
      kind: of database.
      made_at: the instant whose store it holds: when it began; of a copy of a server, when it ended.
      program: version of EnergyComm that made it.
      revision: of the tables.
      store: name of the store, by which its own backups are known; None for a store from before stores had names.
      supplier: whose store it is, where one installation has several.
      audit_head: hash of the last line of the audit (`energycomm audit verify --head`); None where there is none.
      files: all of them.
      erasures: the customers that were erased until then, by access points and times: a restore of an older backup
        erases them again.
    """

    kind: Kind
    made_at: datetime
    program: str
    revision: str
    store: str | None
    audit_head: str | None
    files: tuple[BackedFile, ...]
    erasures: tuple[Order, ...] = ()
    supplier: str | None = None

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(file.bytes for file in self.files)


class Backup(Struct, frozen=True):
    """One that is whole.

    Attributes:
      folder: where it is.
      manifest: what it is.
    """

    folder: Path
    manifest: Manifest


_decoder = msgspec.json.Decoder(Manifest)


def name_of(at: datetime) -> str:
    """The folder's name of a backup that is made at an instant: 2026-03-31T020000.123456Z."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H%M%S.%fZ")


def find(folder: Path) -> list[Backup]:
    """The backups in a folder, the earliest first. What is not whole is none.

    Raises:
      UserError: the folder cannot be read.
    """
    try:
        places = sorted(folder.iterdir())
    except OSError as error:
        raise UserError(f"The folder {folder} cannot be read: {error.strerror}.", "Name another one.") from None
    found = [read(place) for place in places if not place.name.startswith(".") and (place / MANIFEST).is_file()]
    return sorted(found, key=lambda backup: backup.manifest.made_at)


def read(folder: Path) -> Backup:
    """The backup of a folder.

    Raises:
      UserError: it is none, or not whole.
    """
    try:
        manifest = _decoder.decode((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise UserError(
            f"{folder} is no backup: it has no {MANIFEST}.", "`energycomm eis backups FOLDER` lists those of a folder."
        ) from None
    except OSError as error:
        raise UserError(f"{folder / MANIFEST} cannot be read: {error.strerror}.", "Check its permissions.") from None
    except msgspec.MsgspecError as error:
        raise UserError(
            f"{folder / MANIFEST} is no manifest of this version: {error}.", "Use another backup, or its program."
        ) from None
    for file in manifest.files:
        # The names lead to files that are read and written: never out of the folder.
        if Path(file.name).is_absolute() or ".." in Path(file.name).parts:
            raise UserError(f"{folder / MANIFEST} names {file.name}, which is not in the backup.", "Use another one.")
    return Backup(folder, manifest)


def erased_since(folder: Path, store: str | None) -> list[Order]:
    """The customers that were erased according to the backups of a store, each once.

    Args:
      folder: of the backups.
      store: its name.
    """
    found = {one for backup in find(folder) if backup.manifest.store == store for one in backup.manifest.erasures}
    return sorted(found, key=lambda one: (one.ordered_at, one.market, one.access_point, one.since))


def flaws(backup: Backup) -> Iterator[str]:
    """What is wrong with a backup, in words; nothing where it can be restored."""
    damaged = False
    for file in backup.manifest.files:
        path = backup.folder / file.name
        try:
            content = sha256_of(path)
        except OSError as error:
            yield f"{path}: {error.strerror}"
            damaged = True
            continue
        if content != file.sha256:
            yield f"{path} was changed: its SHA-256 is not {file.sha256}"
            damaged = True
    if backup.manifest.kind == "sqlite" and not damaged:
        yield from _inconsistencies(backup.folder / HOLDS["sqlite"])


def remove_older(folder: Path, store: str | None, kind: Kind, keep: int) -> list[Path]:
    """Remove the backups of a store but the latest ones of a kind.

    Args:
      folder: of the backups.
      store: whose; those of other stores stay.
      kind: those of other kinds stay.
      keep: how many stay.

    Returns:
      The folders that were removed.
    """
    ours = [one for one in find(folder) if (one.manifest.store, one.manifest.kind) == (store, kind)]
    gone = [one.folder for one in ours[:-keep]]
    for place in gone:
        # Without its manifest it is no backup: whoever looks meanwhile finds all of one, or none.
        (place / MANIFEST).unlink()
        shutil.rmtree(place)
    return gone


def take(source: Path, target: Path) -> BackedFile:
    """Copy a file; it is on the disk when this returns. Its name is that of the copy alone.

    Raises:
      OSError: it cannot be read or written.
    """
    private_folder(target.parent)
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as content, written_whole(target) as file:
        while piece := content.read(PIECE):
            digest.update(piece)
            size += file.write(piece)
    return BackedFile(name=target.name, bytes=size, sha256=digest.hexdigest())


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's content, hexadecimal.

    Raises:
      OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def on_disk(folder: Path) -> None:
    """The names in a folder survive a loss of power from now on."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def _inconsistencies(path: Path) -> Iterator[str]:
    # Immutable: nothing is made beside it, and its log, of which a copy has none, is not looked for.
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        try:
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)")]
        except sqlite3.Error as error:
            found = [str(error)]
    if found != ["ok"]:
        yield from (f"{path}: {line}" for line in found)
