"""The programs of PostgreSQL that copy a server or a database and bring it back: pg_basebackup, pg_dump, pg_restore."""

from __future__ import annotations

import os
import shutil
import subprocess  # nosec B404 - the programs of PostgreSQL are started by list, without a shell
from pathlib import Path

from psycopg.conninfo import make_conninfo
from sqlalchemy import Engine

from energycomm.errors import ExitCode, UserError
from energycomm.private_files import private_files


def dump(engine: Engine, file: Path) -> None:
    """Write a database into a file, as of one instant; others go on reading and writing it.

    Raises:
      UserError: the program is not there, or failed.
    """
    _run("pg_dump", engine, "--format=custom", "--no-owner", "--no-privileges", f"--file={file}")


def restore(engine: Engine, file: Path) -> None:
    """Bring the content of a dump into a database, in one transaction.

    Raises:
      UserError: the program is not there, or failed; then the database is as it was.
    """
    whole = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges")
    _run("pg_restore", engine, *whole, str(file))


def copy_server(engine: Engine, folder: Path) -> None:
    """Copy a whole server, with the log that makes the copy consistent; others go on reading and writing it.

    Raises:
      UserError: the program is not there, or failed.
    """
    what = ("--format=tar", "--gzip", "--wal-method=stream", "--checkpoint=fast", "--no-password")
    _run("pg_basebackup", engine, *what, f"--pgdata={folder}")


def _run(program: str, engine: Engine, *arguments: str) -> None:
    path = shutil.which(program)
    if path is None:
        raise UserError(
            f"The program {program} is not installed.",
            "Install the client programs of PostgreSQL, of the server's version or a later one, and put them in PATH.",
        )
    _, line = engine.dialect.create_connect_args(engine.url)
    # The password is for the program alone: everybody may read arguments.
    password = line.pop("password", None)
    line.pop("context", None)  # the driver's own
    environment = dict(os.environ) | ({"PGPASSWORD": str(password)} if password else {})
    command = [path, f"--dbname={make_conninfo('', **line)}", *arguments]
    # One of three programs, and no shell.
    with private_files():
        done = subprocess.run(  # noqa: S603  # nosec B603 - fixed programs, no shell
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=environment
        )
    if done.returncode:
        words = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise UserError(f"{program} failed: {words[:2000]}.", _advice(done.stderr), ExitCode.DATABASE)


def _advice(told: str) -> str:
    if "server version mismatch" in told:
        return "Use the programs of the server's version or a later one: put their folder first in PATH."
    if "replication" in told:
        return "The user of `database` needs the right REPLICATION, and a line `replication` in pg_hba.conf."
    return "Check the address and the rights of its user, and the room on the disk."
