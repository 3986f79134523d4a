"""Bringing the tables of a database to the version of this program.

The migrations are scripts of Alembic in the folder `alembic`: at the top of the checkout, and inside this package where
it is installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from sqlalchemy import Connection, Engine, inspect, text

from energycomm.eis.database import EXIT_DATABASE, is_sqlite, opened, reading, shown, writing
from energycomm.errors import UserError

# Alembic is imported where it is needed: most commands never do, and the import takes as long as a small envelope.
if TYPE_CHECKING:
    from alembic.config import Config


_LOCK = 0x656E657267790001
"""Key of the lock that processes hold on PostgreSQL while they migrate: the letters of `energy`."""


def scripts() -> Path:
    """The folder of the migrations.

    Raises:
      FileNotFoundError: the program is not installed whole.
    """
    here = Path(__file__).resolve()
    for folder in (here.parent / "alembic", here.parents[2] / "alembic"):
        if (folder / "env.py").is_file():
            return folder
    raise FileNotFoundError(f"no migrations beside {here.parent} or at the top of the checkout")


HEAD = max(path.name.partition("_")[0] for path in (scripts() / "versions").glob("[0-9]*.py"))
"""The revision that this program works with: that of the newest script."""


class Status(NamedTuple):
    """How far a database is upgraded.

    Attributes:
      current: revision of the database; None when it has no tables of ours.
      head: revision of this program.
      state: `absent` (a SQLite file that is not there), `empty` (no tables), `old` (to be upgraded), `ready`, or
        `newer` than this program.
    """

    current: str | None
    head: str
    state: Literal["absent", "empty", "old", "ready", "newer"]


def head() -> str:
    """The revision that this program works with."""
    return HEAD


def current(engine: Engine) -> str | None:
    """The revision of a database; None when it was never upgraded."""
    with reading(engine) as connection:
        return _current(connection)


def status(engine: Engine) -> Status:
    """How far a database is upgraded."""
    found = current(engine)
    if found is None:
        return Status(None, HEAD, "empty")
    if found == HEAD:
        return Status(found, HEAD, "ready")
    return Status(found, HEAD, "old" if found in revisions() else "newer")


def require_current(engine: Engine) -> None:
    """Refuse a database that this program cannot work with.

    Raises:
      UserError: the database has no tables of ours, is older than the program, or newer.
    """
    found = status(engine)
    if found.state == "empty":
        message, advice = "has no tables of EnergyComm yet.", "Run `energycomm eis upgrade`."
    elif found.state == "old":
        message = f"is at revision {found.current}, older than this EnergyComm ({found.head})."
        advice = "Stop what works on it, and run `energycomm eis upgrade`."
    elif found.state == "newer":
        raise _newer(engine, found)
    else:
        return
    raise UserError(f"The database {shown(engine)} {message}", advice, EXIT_DATABASE)


def upgrade(engine: Engine) -> tuple[str | None, str]:
    """Bring a database to the revision of this program, in one transaction; (revision before, revision now).

    Processes that do this at the same time wait for one another; the later ones find nothing to do.

    Raises:
      UserError: the database is newer than the program, or cannot be reached.
    """
    found = status(engine)
    if found.state == "newer":
        raise _newer(engine, found)
    if found.state == "ready":
        return HEAD, HEAD
    if not is_sqlite(engine):
        return _upgrade(engine)
    # A table that is made anew is dropped in between, which SQLite forbids while it checks references.
    with opened(str(engine.url), check_references=False) as unchecked:
        return _upgrade(unchecked)


def _upgrade(engine: Engine) -> tuple[str | None, str]:
    from alembic import command

    with writing(engine) as connection:  # on SQLite this is the lock: there is one writer at a time
        if not is_sqlite(engine):
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        before = _current(connection)
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, HEAD)
        return before, HEAD


def revisions() -> list[str]:
    """The revisions of this program, the newest first."""
    from alembic.script import ScriptDirectory

    return [script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()]


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return found


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(scripts()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _newer(engine: Engine, found: Status) -> UserError:
    return UserError(
        f"The database {shown(engine)} is at revision {found.current}, newer than this EnergyComm ({found.head}).",
        "Install the newer EnergyComm, or use another database.",
        EXIT_DATABASE,
    )
