"""Restoring a backup: never over anything that is there.

A store that went back to an earlier moment gives out no number a second time: receivers of notifications, and whoever
noted the number of a message, know the former ones.
"""

from __future__ import annotations

import os
import re
import shlex
import tarfile
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, Engine, inspect, text

from energycomm.backup import postgres
from energycomm.backup.backups import ARCHIVES, HOLDS, Backup, flaws, sha256_of, take
from energycomm.eis.database import opened, shown, writing
from energycomm.eis.tables import SEQUENCES
from energycomm.errors import ExitCode, UserError
from energycomm.private_files import BESIDE, private_folder

LEAP = 10_000_000
"""Numbers of each table that are left out after a restore: more than were given since the backup."""


def restore(backup: Backup, url: str, sqlite_file: Path | None, archives: Path, supplier: str | None = None) -> None:
    """Restore a backup of a SQLite file, or of a database of PostgreSQL, with the files of the archives.

    Args:
      backup: the backup; it is checked before anything is written.
      url: address of the database, which holds nothing yet.
      sqlite_file: its file, absent as yet; None for PostgreSQL.
      archives: folder for the archives.
      supplier: for whom it is restored, where one installation has several.

    Raises:
      UserError: the backup is damaged, of another kind of database or of another supplier; something is there already;
        a file cannot be written; a program of PostgreSQL failed.
    """
    kind, theirs = backup.manifest.kind, backup.manifest.supplier
    if supplier is not None and theirs not in (None, supplier):
        raise UserError(
            f"This backup is of another supplier than {supplier}.", "Nothing was restored. Name one of its own backups."
        )
    if kind == "postgresql-cluster":
        raise UserError(
            "This backup is of a whole server of PostgreSQL.", "Name the new server's data folder with --data."
        )
    if (kind == "sqlite") != (sqlite_file is not None):
        there = "SQLite" if sqlite_file is not None else "PostgreSQL"
        raise UserError(f"This backup is of {kind}, and `database` names one of {there}.", "Set `database` to suit it.")
    _check(backup)
    places = _archive_places(backup, archives)
    try:
        if sqlite_file is not None:
            _refuse_files(sqlite_file)
            _put_archives(places)
            _restore_file(backup, sqlite_file, archives)
            return
        with opened(url) as engine:
            _refuse_tables(engine)
            _put_archives(places)
            postgres.restore(engine, backup.folder / HOLDS[kind])
            with writing(engine) as connection:
                settle(connection, archives)
    except OSError as error:
        raise _unwritable(error) from None


class Moment(NamedTuple):
    """Where a server comes back to.

    Attributes:
      until: the point in time, later than the backup; None for the end of the log.
      timeline: the life of the server that is meant. One begins each time it comes back to a point in time; None where
        there was but one, or for the latest at the end of the log.
    """

    until: datetime | None = None
    timeline: int | None = None


def prepare_server(backup: Backup, data: Path, log: Path | None, moment: Moment, archives: Path) -> None:
    """Lay a new data folder for PostgreSQL, which comes back as of a point in time when a server is started on it.

    Args:
      backup: of a whole server; it is checked before anything is written.
      data: the data folder, absent or empty as yet.
      log: folder to which the server archived its log; None for the state at the end of the backup.
      moment: where it comes back to.
      archives: folder for the archives.

    Raises:
      UserError: the backup is damaged or of something else; something is there already; a file cannot be written.
    """
    if backup.manifest.kind != "postgresql-cluster":
        raise UserError("This backup is not of a whole server of PostgreSQL.", "Leave --data, --log and --until out.")
    until = moment.until
    if log is None and moment != Moment():
        raise UserError("A point in time needs the archived log.", "Name its folder with --log.")
    if until is not None and until <= backup.manifest.made_at:
        made = backup.manifest.made_at.isoformat()
        raise UserError(f"The backup was made at {made}, after that point in time.", "Use an earlier backup.")
    if log is not None and not log.is_dir():
        raise UserError(f"The folder {log} is not there.", "--log names the folder of the server's archived log.")
    _check(backup)
    places = _archive_places(backup, archives)
    try:
        if data.exists() and any(data.iterdir()):
            raise _there(str(data))
        source = backup.folder / HOLDS["postgresql-cluster"]
        if log is not None:
            _check_timeline(source / "base.tar.gz", log, moment)
        spaces = sorted(path.name for path in source.glob("[0-9]*.tar.gz"))
        if spaces:
            raise UserError(
                f"The server has tablespaces: {', '.join(spaces)}.",
                "Unpack the backup by hand, as chapter 26.3 of PostgreSQL's documentation says.",
            )
        _put_archives(places)
        private_folder(data, ours=True)
        _unpack(source / "base.tar.gz", data)
        _unpack(source / "pg_wal.tar.gz", data / "pg_wal")
        if log is not None:
            _recover(data, log.resolve(), moment)
    except OSError as error:
        raise _unwritable(error) from None


def settle(connection: Connection, archives: Path | None = None) -> None:
    """Make a store that went back ready for use: no number is given again, and its archives are where their files are.

    Args:
      connection: a writing transaction on it.
      archives: folder of the archives' files; None where they are where they were.
    """
    if connection.dialect.name == "sqlite":
        connection.execute(text("UPDATE id_counter SET next = next + :leap"), {"leap": LEAP})
    else:
        sequences = text(
            "SELECT setval(c.oid, coalesce(pg_sequence_last_value(c.oid), 0) + :leap) FROM pg_class c "
            "WHERE c.relkind = 'S' AND c.relname = ANY(:names)"
        )
        names = [sequence.name for sequence in SEQUENCES]
        connection.execute(sequences, {"leap": LEAP, "names": names})
    if archives is not None and inspect(connection).has_table("archive"):
        named = connection.execute(text("SELECT id, name FROM archive WHERE folder <> ''")).all()
        for number, name in named:
            sql = text("UPDATE archive SET folder = :folder WHERE id = :id")
            connection.execute(sql, {"folder": str(archives.resolve() / name), "id": number})


def _check(backup: Backup) -> None:
    found = list(flaws(backup))
    if found:
        raise UserError("The backup is damaged.\n  " + "\n  ".join(found[:10]), "Use another one.", ExitCode.UNREADABLE)


def _refuse_files(file: Path) -> None:
    for path in (file, *(file.with_name(file.name + ending) for ending in BESIDE)):
        if path.exists():
            raise _there(str(path))
    if not file.parent.is_dir():
        raise UserError(f"The folder {file.parent} does not exist.", "Create it, or change `database`.")


def _refuse_tables(engine: Engine) -> None:
    names = inspect(engine).get_table_names()
    if names:
        raise _there(f"the table {sorted(names)[0]} of {shown(engine)}")


def _archive_places(backup: Backup, archives: Path) -> list[tuple[Path, Path]]:
    """Which file of the backup is to be where; not those that are there already.

    Raises:
      UserError: another file is there.
    """
    places = []
    for file in backup.manifest.files:
        source = Path(file.name)
        if source.parts[0] != ARCHIVES:
            continue
        target = archives.joinpath(*source.parts[1:])
        if not target.exists():
            places.append((backup.folder / source, target))
        elif sha256_of(target) != file.sha256:
            raise _there(str(target))
    return places


def _put_archives(places: list[tuple[Path, Path]]) -> None:
    for source, target in places:
        take(source, target)


def _restore_file(backup: Backup, file: Path, archives: Path) -> None:
    """Bring a SQLite file back; it appears when all of it is right."""
    with tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as folder:
        hidden = Path(folder) / file.name
        take(backup.folder / HOLDS["sqlite"], hidden)
        with opened(f"sqlite:///{hidden}", create=False) as engine, writing(engine) as connection:
            settle(connection, archives)
        try:
            # Refuses a file that came to be meanwhile.
            os.link(hidden, file)
        except FileExistsError:
            raise _there(str(file)) from None


def _unpack(file: Path, folder: Path) -> None:
    private_folder(folder)
    with tarfile.open(file, "r:gz") as content:
        content.extractall(folder, filter="data")


def _check_timeline(base: Path, log: Path, moment: Moment) -> None:
    """Refuse a point in time that may be in several lives of the server: left alone it goes by the latest one, which
    lacks what was written after the moment that it began from."""
    own = _timeline_of(base)
    began = {int(path.stem, 16): path for path in sorted(log.glob("[0-9A-F]" * 8 + ".history"))}
    later = {life: path for life, path in began.items() if life > own}
    lives = {own: "that of the backup"} | {life: _history(path) for life, path in later.items()}
    if moment.timeline is not None and moment.timeline not in lives:
        raise UserError(f"The log has no timeline {moment.timeline} after the backup.", f"It has: {_listed(lives)}.")
    if moment.timeline is None and moment.until is not None and later:
        raise UserError(
            "The server came back to a point in time before, and went on from there: its log has several timelines.",
            f"Say with --timeline in which of them the moment is: {_listed(lives)}.",
        )


def _timeline_of(base: Path) -> int:
    """The timeline that a backup was made in, as its label says."""
    with tarfile.open(base, "r:gz") as content:
        for member in content:
            if member.name == "backup_label" and (file := content.extractfile(member)) is not None:
                found = re.search(rb"^START TIMELINE: (\d+)", file.read(), re.MULTILINE)
                return int(found[1]) if found else 1
    return 1


def _history(path: Path) -> str:
    """Where a timeline began, from the last line of its history: the one before, a place in the log, why."""
    lines = [line.split("\t") for line in path.read_text("utf-8").splitlines() if line[:1].isdigit()]
    parent, _, why = lines[-1] if lines and len(lines[-1]) == 3 else ("?", "", "")
    return f"from {parent}, {why}".rstrip(", ")


def _listed(lives: Mapping[int, str]) -> str:
    return "; ".join(f"{life} ({words})" for life, words in sorted(lives.items()))


def _recover(data: Path, log: Path, moment: Moment) -> None:
    """Tell the server to take in the archived log when it starts, up to the point in time."""
    # The server gives the command to a shell, after it put file names in place of %f and %p; a literal % is %%.
    command = f"cp {shlex.quote(str(log)).replace('%', '%%')}/%f %p"
    lines = ["", "# Written by `energycomm eis restore`.", f"restore_command = {_quoted(command)}"]
    if moment.timeline is not None:
        lines.append(f"recovery_target_timeline = '{moment.timeline}'")
    if moment.until is not None:
        at = moment.until.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f+00")
        lines += [f"recovery_target_time = '{at}'", "recovery_target_action = 'promote'"]
    settings = data / "postgresql.auto.conf"
    kept = re.sub(r"(?m)^\s*(restore_command|recovery_target\w*|primary_\w+)\s*=.*\n?", "", settings.read_text("utf-8"))
    settings.write_text(kept + "\n".join(lines) + "\n", "utf-8")
    (data / "recovery.signal").touch()


def _quoted(value: str) -> str:
    """A value as PostgreSQL's configuration writes it."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _there(what: str) -> UserError:
    return UserError(
        f"{what} is there already: nothing was restored.",
        "A restore writes over nothing: stop what uses it, and put it aside.",
    )


def _unwritable(error: OSError) -> UserError:
    return UserError(
        f"The backup cannot be restored: {error.filename or 'disk'}: {error.strerror}.", "Make room, or check rights."
    )
