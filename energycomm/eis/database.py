"""Opening the Energy Information Store: SQLite as the embedded default, PostgreSQL for production."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, NoSuchModuleError

from energycomm.database_address import WrongAddress, names_several, read_address, show_address
from energycomm.eis.sealing import VAULT, Vault
from energycomm.errors import UserError
from energycomm.masking import conceal_address, mask
from energycomm.private_files import BESIDE, private_file

EXIT_DATABASE = 4
"""Exit code of the command line when the database is the trouble."""

BUSY_SECONDS = 30
"""How long a SQLite connection waits for another writer."""

ADDRESS = (
    "Use sqlite:///path/to/file or postgresql://user:password@host:5432/name; several servers as host1:5432,host2:5432."
)

LINE = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
"""What a connection to PostgreSQL is opened with where its address says nothing else (libpq's parameters; seconds, the
last in milliseconds). A line that was cut ends after 10 + 3 * 5 seconds: here, and at the server, where the session
holds its locks until then. The system's own values are two hours and eleven minutes."""

_WRITES = "energycomm_writes"


class Conflict(Exception):
    """Another worker stored the same thing at the same time: nothing of the transaction is stored, do it again."""


def is_lost(error: BaseException) -> bool:
    """Whether an error means that the database cannot be used at present: down, full, locked or read-only."""
    return isinstance(error, UserError) and error.exit_code == EXIT_DATABASE


def absent(url: str) -> str | None:
    """The masked address of a SQLite store whose file is absent; None for every other store.

    Raises:
      UserError: the URL is of no such database.
    """
    address = _address(url)
    if address.get_backend_name() != "sqlite" or Path(str(address.database)).exists():
        return None
    return mask(show_address(address))


def connect(url: str, *, create: bool = True, check_references: bool = True) -> Engine:
    """Open a database; nothing is created in it but, for SQLite, its file.

    Args:
      url: ``sqlite:///path/to/file`` or ``postgresql://user:password@host:5432/name``.
      create: make the file of a SQLite store that is not there; else it is refused.
      check_references: let SQLite check foreign keys, as PostgreSQL always does; migrations that make a table anew
        cannot.

    Raises:
      UserError: the URL is of no such database, or the database cannot be reached.
    """
    address = _address(url)
    if not create and (missing := absent(url)) is not None:
        raise UserError(
            f"There is no store: the file of {missing} does not exist.",
            "`energycomm eis upgrade` makes it, and so do `process` and `serve`; or `database` names another file.",
            EXIT_DATABASE,
        )
    if address.get_backend_name() == "sqlite":
        engine = _sqlite(address, check_references)
    else:
        engine = _postgres(address)
    # Without a key ring only what is plain can be read: `energycomm.eis.datakeys.unlock` brings one.
    engine.update_execution_options(**{VAULT: Vault(engine)})
    try:
        with reporting(engine), engine.connect():
            pass
    except psycopg.ProgrammingError as error:
        # The driver refuses the address itself: a parameter that it does not know.
        words = str(error).strip().splitlines()[0]
        raise UserError(f"The database {shown(engine)} cannot be used: {words}.", ADDRESS, EXIT_DATABASE) from None
    return engine


@contextmanager
def opened(url: str, *, create: bool = True, check_references: bool = True) -> Iterator[Engine]:
    """A database that is open for the length of a block; see `connect`."""
    engine = connect(url, create=create, check_references=check_references)
    try:
        yield engine
    finally:
        engine.dispose()


def is_sqlite(engine: Engine) -> bool:
    """Whether the store is a SQLite file."""
    return engine.dialect.name == "sqlite"


def shown(engine: Engine) -> str:
    """The address of a database without its secrets, to show to people."""
    return mask(show_address(engine.url))


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One writing transaction: committed at the end, undone on an exception.

    SQLite takes its write lock at once (BEGIN IMMEDIATE): a transaction that reads first and writes later could else be
    refused in the middle because another one wrote in between.

    Raises:
      Conflict: the database refused it because of what another worker did meanwhile.
      UserError: the database was lost, is full or stays locked.
    """
    held = _rehearsals().get(engine)
    if held is not None:
        with reporting(engine), held.begin_nested():
            yield held
        return
    with reporting(engine), engine.connect().execution_options(**{_WRITES: True}) as connection, connection.begin():
        yield connection


@contextmanager
def writing_now(engine: Engine) -> Iterator[Connection]:
    """A writing transaction on SQLite for what may as well be done another time.

    Raises:
      UserError: somebody else writes at this moment, or the database was lost.
    """
    with reporting(engine), engine.connect().execution_options(**{_WRITES: True}) as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.execute("PRAGMA busy_timeout = 0")
        try:
            with connection.begin():
                yield connection
        finally:
            driver.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """One transaction that only reads.

    Raises:
      UserError: the database was lost.
    """
    held = _rehearsals().get(engine)
    if held is not None:
        with reporting(engine):
            yield held
        return
    with reporting(engine), engine.connect() as connection:
        yield connection


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """One transaction that only reads, and in which all queries see the store of one instant.

    Raises:
      UserError: the database was lost.
    """
    with reporting(engine), engine.connect() as connection:
        if not is_sqlite(engine):
            connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        with connection.begin():
            yield connection


_own = threading.local()


def _rehearsals() -> dict[Engine, Connection]:
    """The rehearsals of this thread: what another thread reads and writes meanwhile is none of theirs."""
    found: dict[Engine, Connection] | None = getattr(_own, "rehearsals", None)
    if found is None:
        found = _own.rehearsals = {}
    return found


def confirm(engine: Engine) -> None:
    """Wait until whatever can be read is on the standby too, where replication is synchronous.

    To be called before something that was read leads to an act outside (an acknowledgement, a sending). A primary shows
    commits that its standby lacks: of sessions that were ended while they waited for it, and all after a crash. Where
    it was replaced meanwhile, they are lost; a commit of our own is answered only when all before it are kept.

    Raises:
      UserError: the database was lost.
    """
    if not is_sqlite(engine):
        with writing(engine) as connection:
            connection.exec_driver_sql(_CONFIRM)


_CONFIRM = (
    "SELECT pg_logical_emit_message(true, 'energycomm', '') WHERE current_setting('synchronous_standby_names') <> ''"
)
"""Only a transaction that wrote something waits for the standby: one record of the log, in no table."""


@contextmanager
def rehearsal(engine: Engine) -> Iterator[None]:
    """A block whose writes are visible within and rolled back at its end: for dry runs.

    Other threads and processes see nothing of it; the database stays locked for other writers meanwhile (SQLite), or
    the access points do (PostgreSQL).
    """
    with writing(engine) as connection:
        rehearsals = _rehearsals()
        rehearsals[engine] = connection
        try:
            yield
        finally:
            del rehearsals[engine]
            connection.get_transaction().rollback()  # type: ignore[union-attr]


def rehearsing(engine: Engine) -> bool:
    """Whether this thread is in a rehearsal: what it does is undone, and others wait for it until then."""
    return engine in _rehearsals()


@contextmanager
def reporting(engine: Engine) -> Iterator[None]:
    """Turn the errors of the database that a user or a second try can put right into `UserError` and `Conflict`.

    Errors of a statement (a column that does not exist, a value too long) are ours and stay what they are.
    """
    try:
        yield
    except (sqlite3.Error, psycopg.Error) as error:
        raise _translated(engine, error) from error
    except DBAPIError as error:
        cause = error.orig
        if isinstance(cause, sqlite3.Error | psycopg.Error):
            raise _translated(engine, cause) from error
        raise


def _translated(engine: Engine, error: sqlite3.Error | psycopg.Error) -> Exception:
    ended = isinstance(error, psycopg.Error) and error.diag.severity_nonlocalized in ("FATAL", "PANIC")
    if not ended and isinstance(
        error, psycopg.errors.UniqueViolation | psycopg.errors.DeadlockDetected | psycopg.errors.SerializationFailure
    ):
        return Conflict(str(error))
    name = getattr(error, "sqlite_errorname", "") or ""
    if name in ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"):
        return Conflict(str(error))
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, psycopg.errors.UndefinedTable) or text.startswith("no such table"):
        return UserError(
            f"The database {shown(engine)} has not all the tables of this EnergyComm.",
            "Run `energycomm eis upgrade`.",
            EXIT_DATABASE,
        )
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        # After a switch-over this server may go on to answer, and only to be read: whoever comes next asks anew which
        # of them is written to.
        engine.dispose()
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction | psycopg.errors.InsufficientPrivilege):
        advice = "Name the server that is written to, with a user who may write to the tables; or wait for it."
        return UserError(f"The database {shown(engine)} cannot be written to: {text}.", advice, EXIT_DATABASE)
    # The server ended the session, whatever the class of the error: 57P01, 25P03, 40001 on a standby, and others.
    if ended or isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        advice = "Check that the server runs and that the address, user and password of `database` are right."
        return UserError(f"The database {shown(engine)} cannot be used: {text}.", advice, EXIT_DATABASE)
    if isinstance(error, sqlite3.OperationalError | sqlite3.DatabaseError) and name.startswith(_SQLITE_TROUBLE):
        return UserError(f"The database {shown(engine)} cannot be used: {text}.", _sqlite_advice(name), EXIT_DATABASE)
    return error


_SQLITE_TROUBLE = (
    "SQLITE_CANTOPEN",
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_READONLY",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_NOTADB",
    "SQLITE_CORRUPT",
    "SQLITE_PERM",
)


def _sqlite_advice(name: str) -> str:
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "Another process is writing to it: wait for it, or use PostgreSQL for several writers."
    if name.startswith("SQLITE_FULL"):
        return "The disk is full: make room and start again, nothing is lost."
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return "The file is no SQLite database or is damaged: check the path of `database`, or restore a backup."
    return "Check that the folder exists and that you may write to the file and its folder."


def _address(url: str) -> URL:
    conceal_address(url)
    try:
        address = read_address(url)
        backend = address.get_backend_name()
    except (WrongAddress, NoSuchModuleError):
        raise UserError("The address of the database cannot be read.", _meant(url), EXIT_DATABASE) from None
    if backend in ("postgresql", "postgres"):
        return address.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise UserError(f"EnergyComm stores in SQLite or PostgreSQL, not in {backend}.", ADDRESS, EXIT_DATABASE)
    if address.database in (None, "", ":memory:"):
        raise UserError("The SQLite database needs a file.", ADDRESS, EXIT_DATABASE)
    return address.set(drivername="sqlite+pysqlite")


def _meant(url: str) -> str:
    """What to write in place of an address that cannot be read; the file, where the path of one was given."""
    # A line with `=` or `@` may be of another form and hold a password.
    if "://" in url or not re.fullmatch(r"[^\s=@:]+", url):
        return ADDRESS
    return f"Of a file, write sqlite:///{url}; otherwise postgresql://user:password@host:5432/name."


def _postgres(address: URL) -> Engine:
    line: dict[str, Any] = LINE | ({"target_session_attrs": "read-write"} if names_several(address) else {})
    line = {name: value for name, value in line.items() if name not in address.query}
    # The values of a statement are data of customers: no error repeats them.
    engine = create_engine(address, pool_pre_ping=True, hide_parameters=True, connect_args=line)

    @event.listens_for(engine, "do_connect")
    def open_utf8(dialect: Any, _record: Any, arguments: Any, named: Any) -> Any:
        connection = dialect.connect(*arguments, **named)
        encoding = connection.info.parameter_status("server_encoding")
        if encoding not in ("UTF8", None):
            connection.close()
            raise UserError(
                f"The database {shown(engine)} has the encoding {encoding}, which does not hold every name.",
                "Make it anew: `createdb --encoding UTF8 --template template0 NAME`.",
                EXIT_DATABASE,
            )
        return connection

    @event.listens_for(engine, "connect")
    def prepare(connection: psycopg.Connection[Any], _record: Any) -> None:
        # The server is to notice the loss of the line as soon as we do: what the session locked is free then. As a
        # statement and not as `options` of the address, which poolers refuse. And a commit that waits for the standby
        # is not cut short: the server would count it as done.
        connection.autocommit = True
        connection.execute(
            "SELECT set_config('tcp_keepalives_idle', %(keepalives_idle)s, false), "
            "set_config('tcp_keepalives_interval', %(keepalives_interval)s, false), "
            "set_config('tcp_keepalives_count', %(keepalives_count)s, false), "
            "set_config('tcp_user_timeout', %(tcp_user_timeout)s, false), set_config('statement_timeout', '0', false)",
            {name: str(address.query.get(name, value)) for name, value in LINE.items()},
        )
        connection.autocommit = False

    return engine


def _sqlite(address: URL, check_references: bool) -> Engine:
    assert address.database is not None
    folder = Path(address.database).parent
    if not folder.is_dir():
        raise UserError(
            f"The folder of the database, {folder}, does not exist.", "Create it or change `database`.", EXIT_DATABASE
        )
    private_file(Path(address.database), BESIDE)
    arguments = {"timeout": BUSY_SECONDS, "cached_statements": 512}
    engine = create_engine(address, connect_args=arguments, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        # The driver would begin transactions by its own ideas (before INSERT only): we begin them ourselves, below.
        connection.isolation_level = None
        # WAL with NORMAL: what is committed survives the death of the process, and a reader never waits for a writer.
        # A loss of power may take the last commits with it, never more.
        connection.execute("PRAGMA page_size = 8192")  # of a new file
        _use_wal(connection)
        for pragma in (
            "synchronous = NORMAL",
            f"foreign_keys = {'ON' if check_references else 'OFF'}",
            "cache_size = -65536",
            "temp_store = MEMORY",
            "wal_autocheckpoint = 4000",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES, False)
        # Straight to the driver: SQLAlchemy's statement costs more than the transaction it begins.
        connection.connection.cursor().execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _use_wal(connection: sqlite3.Connection) -> None:
    """Turn the write-ahead log on. SQLite does not wait by itself when two processes do so to a new file at once."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


__all__ = [
    "BUSY_SECONDS",
    "EXIT_DATABASE",
    "Conflict",
    "confirm",
    "connect",
    "is_lost",
    "is_sqlite",
    "opened",
    "reading",
    "rehearsal",
    "rehearsing",
    "reporting",
    "shown",
    "writing",
]
