"""Commands that are recorded in the audit, as the routes of the web services are.

    @app.command()
    @recorded("message show", subject=of_message)
    def show(message_id: int) -> None: ...

The line is written when the command opens the store, before anything is read or done: where it cannot be written,
nothing is answered. Who asks is the user of the operating system. A command that opens no store leaves no line.
"""

from __future__ import annotations

import functools
import inspect
import os
import pwd
import socket
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeAlias, TypeVar

from energycomm.database_address import sqlite_file
from energycomm.errors import UserError

# The store and the gateway are imported where they are needed: the help shows commands, and opens nothing.
if TYPE_CHECKING:
    from energycomm.config import Config
    from energycomm.eis.store import Store

P = ParamSpec("P")
R = TypeVar("R")

Subject: TypeAlias = "Callable[[Store, Mapping[str, Any]], str]"
"""Of whom or what a command is, from the store and what was typed."""

MARK = "recorded_as"
"""Attribute of a recorded command: its name."""

POINT_COLUMNS = frozenset(("access point", "access_point"))
"""Columns of lists that name access points."""

_shown: ContextVar[dict[str, None] | None] = ContextVar("shown", default=None)

_FORM = frozenset(("json", "csv", "tsv", "no_header", "plain", "form"))
"""Options that say how to print: no part of what was asked."""


def recorded(
    name: str, *, changing: bool | Collection[str] = False, subject: Subject | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare that a command reads personal data, or changes something in a person's name.

    Args:
      name: the command, without the program's name.
      changing: whether it changes something; or the options that make it do so.
      subject: of whom or what it is; what was typed by default.
    """

    def declare(command: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(command)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            from energycomm.pipeline.opening import at_opening

            bound = inspect.signature(command).bind(*args, **kwargs)
            bound.apply_defaults()
            typed = bound.arguments
            changes = changing if isinstance(changing, bool) else any(typed[option] for option in changing)

            written: list[tuple[Store, int]] = []

            def write(store: Store) -> None:
                words = subject(store, typed) if subject is not None else as_typed(command, typed)
                written.append((store, record(store, "change" if changes else "read", name, words)))

            points: dict[str, None] = {}
            token = _shown.set(points)
            try:
                with at_opening(write):
                    return command(*args, **kwargs)
            finally:
                _shown.reset(token)
                if points and written:
                    _find_by(*written[0], points)

        setattr(run, MARK, name)
        return run

    return declare


def note_shown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Note the access points of rows that are about to be printed: the line of the command is found by them.

    Args:
      head: names of the columns.
      rows: the rows.
    """
    points = _shown.get()
    names = [place for place, name in enumerate(head) if name in POINT_COLUMNS]
    if points is not None and names:
        points.update(dict.fromkeys(str(row[place]) for row in rows for place in names if row[place]))


def _find_by(store: Store, number: int, points: Collection[str]) -> None:
    from energycomm.eis.auditchain import also_found_by

    try:
        also_found_by(store, number, points)
    finally:
        store.engine.dispose()


def record(store: Store, action: str, name: str, subject: str) -> int:
    """Write one line for the user of the system; its id.

    Args:
      store: the EIS.
      action: read or change.
      name: the command, without the program's name.
      subject: of whom or what.

    Raises:
      UserError: it cannot be written.
    """
    from energycomm.webservice import audit
    from energycomm.webservice.roles import Person

    person = Person(system_user(), frozenset(), "command")
    try:
        return audit.record(
            store, person, action, f"energycomm {name}", subject=subject, status=0, address=socket.gethostname()
        )
    except UserError as error:
        raise UserError(
            f"`energycomm {name}` was not done, because the audit cannot record it. {error.message}",
            error.advice,
            error.exit_code,
        ) from None


def announce(config: Config) -> None:
    """Open the EIS if there is one: a command that reads content copied from it is recorded like one that reads it.

    Args:
      config: says where it would be.

    Raises:
      UserError: there is one, and it cannot be used or does not record.
    """
    from energycomm.pipeline.opening import open_store

    if has_store(config):
        with open_store(config):
            pass


def has_store(config: Config) -> bool:
    """Whether there is an EIS: an absent SQLite file, or a database without our tables, is none.

    Raises:
      UserError: the database cannot be reached.
    """
    file = sqlite_file(config.database_url)
    if file is not None and not Path(file).exists():
        return False
    from energycomm.eis import migrations
    from energycomm.eis.database import absent, opened

    if absent(config.database_url):
        return False
    with opened(config.database_url) as engine:
        return migrations.status(engine).state != "empty"


def system_user() -> str:
    """The name of the operating system's user, not of the environment; its number where it has no name."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid {number}"


def as_typed(command: Callable[..., Any], typed: Mapping[str, Any]) -> str:
    """The arguments that differ from their defaults: `state=rejected market=FR`."""
    usual = {name: parameter.default for name, parameter in inspect.signature(command).parameters.items()}
    return " ".join(
        f"{name.rstrip('_')}={_word(value)}"
        for name, value in typed.items()
        if name not in _FORM and value not in (None, "", False) and value != usual[name]
    )


def of_message(store: Store, typed: Mapping[str, Any]) -> str:
    """The Kernel message that a command names, and its access point."""
    return _with_access_point(store, "message", str(typed.get("message_id", typed.get("message"))))


def of_request(store: Store, typed: Mapping[str, Any]) -> str:
    """The request that a command names, and its access point."""
    return _with_access_point(store, "request", str(typed["request_id"]))


def of_access_point(_store: Store, typed: Mapping[str, Any]) -> str:
    """The access point that a command names."""
    return f"access point {typed['identifier']}"


def of_question(_store: Store, _typed: Mapping[str, Any]) -> str:
    """A question to the assistant: its words are in the assistant's log, which forgets them in time, and not here."""
    return "question"


def of_answer(_store: Store, typed: Mapping[str, Any]) -> str:
    """The answer of the assistant that an opinion is about; all of them where it lists everybody's."""
    if typed["number"] is not None:
        return f"answer {typed['number']}"
    return "answers of everybody" if typed["everybody"] else "own answers"


def of_envelope(_store: Store, typed: Mapping[str, Any]) -> str:
    """The envelope that a command names."""
    return f"envelope {typed['envelope_id']}"


def _with_access_point(store: Store, what: Literal["message", "request"], number: str) -> str:
    from energycomm.webservice.audit import with_access_point

    return with_access_point(store, what, number)


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
