"""`energycomm eis`: the Energy Information Store itself: its tables, its counts, comparison with another store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Annotated

import msgspec
import typer
from sqlalchemy import Engine

from energycomm.commands.archiving import app as archive
from energycomm.commands.archiving import retention
from energycomm.commands.backfilling import backfill
from energycomm.commands.backup import backup, backups, restore, restored
from energycomm.commands.encryption import compact, decrypt, encrypt, verify_
from energycomm.commands.output import Json, legal_time, print_json, print_rows, say
from energycomm.commands.partitioning import app as partition
from energycomm.commands.recording import recorded
from energycomm.config import Config, load
from energycomm.eis import findable, migrations
from energycomm.eis.away import missing_words
from energycomm.eis.comparison import compare as differing
from energycomm.eis.database import absent, opened, reading, shown, writing
from energycomm.eis.nameindex import fill, unfinished
from energycomm.eis.ownership import claim
from energycomm.eis.statistics import Statistics, statistics
from energycomm.errors import ExitCode
from energycomm.pipeline.opening import make_ready, open_store

app = typer.Typer(no_args_is_help=True, help="The Energy Information Store.")
app.add_typer(archive, name="archive")
app.add_typer(partition, name="partition")
app.command()(backfill)
app.command()(compact)
app.command()(encrypt)
app.command()(decrypt)
app.command(name="verify")(verify_)
app.command()(retention)
app.command()(backup)
app.command()(backups)
app.command()(restore)
app.command()(restored)

STATES = {
    "absent": "{0} is not there: `energycomm eis upgrade` makes it, and so do `process` and `serve`",
    "empty": "{0} has no tables yet: run `energycomm eis upgrade`",
    "old": "{0} is older than this program: run `energycomm eis upgrade`",
    "ready": "{0} is ready",
    "newer": "{0} is newer than this program: install the newer EnergyComm",
}


@app.command()
def upgrade(json: Json = False) -> None:
    """Create the tables, or upgrade those of an older version; safe to repeat.

    Example: energycomm eis upgrade
    """
    config = load()
    with opened(config.database_url) as engine:
        before, now = migrations.upgrade(engine)
        if config.supplier is not None:
            claim(engine, config.supplier.name)
        address = shown(engine)
        _index_names(engine, config)
    if json:
        print_json({"database": address, "before": before, "now": now})
    elif before == now:
        say(f"{address} is at revision {now} already")
    elif before is None:
        say(f"{address}: from nothing to revision {now}")
    else:
        say(f"{address}: from {before} to revision {now}")


def _index_names(engine: Engine, config: Config) -> None:
    """Put the customers of a store of before into the index of names; what was begun is gone on with."""
    with reading(engine) as connection:
        left = unfinished(connection)
    if left:
        from energycomm.commands.correct_script import progress  # it brings what corrections need

        make_ready(engine, config)
        with progress(left, "customers") as tell:
            fill(engine, tell)


@app.command()
def index(json: Json = False) -> None:
    """Make the index of searches anew: after pg_trgm was installed, or where something is not found.

    Example: energycomm eis index
    """
    config = load()
    with opened(config.database_url, create=False) as engine:
        make_ready(engine, config)
        with writing(engine) as connection:
            able = findable.install(connection)
        _index_names(engine, config)
        address = shown(engine)
    if json:
        print_json({"database": address, "trigrams": able})
        return
    say(f"{address}: the index is made")
    if not able:
        say(f"without trigrams: {findable.EXTENSION} is not installed, each search reads the tables", err=True)


@app.command()
def status(json: Json = False) -> None:
    """Show whether this version can use the database; exit code 4 if not.

    Example: energycomm eis status
    """
    url = load().database_url
    if address := absent(url):
        found = migrations.Status(None, migrations.head(), "absent")
    else:
        with opened(url) as engine:
            found = migrations.status(engine)
            address = shown(engine)
    if json:
        print_json({"database": address, **found._asdict()})
    else:
        say(STATES[found.state].format(address))
        needed = f"this program needs {found.head}"
        say(f"revision none, {needed}" if found.current is None else f"revision {found.current}, {needed}")
    if found.state != "ready":
        raise typer.Exit(ExitCode.DATABASE)


@app.command()
def stats(
    json: Json = False,
    top: Annotated[int, typer.Option("--top", min=1, help="How many error codes to show.")] = 10,
) -> None:
    """Count messages by market, type and state, error codes, envelopes, and the rows of every table.

    Example: energycomm eis stats --json
    """
    with _ready() as engine:
        counted = statistics(engine, top=top)
        address = shown(engine)
    if json:
        print_json({"database": address, **msgspec.to_builtins(counted)})
    else:
        _print_statistics(counted)


@app.command()
@recorded("eis compare")
def compare(
    other: Annotated[str, typer.Argument(help="Address of the other database: sqlite:///path or postgresql://...")],
    limit: Annotated[int, typer.Option(help="How many differences to show.", min=1)] = 100,
    json: Json = False,
) -> None:
    """Compare with another store, regardless of order and time of arrival; exit code 1 if they differ.

    Compared are access points with their domain rows, messages with Kernel XML, state, findings and what they wait for,
    notifications, CH messages with their arrivals, refusals and notes, envelopes, and requests. Not compared are ids,
    times of arrival and numbers of attempts.

    Example: energycomm eis compare sqlite:///backup.db
    """
    with open_store(load()) as first, _ready(other) as second:
        found = list(islice(differing(first.engine, second), limit + 1))
        away = [
            (name, line)
            for name, engine in (("first", first.engine), ("second", second))
            for line in missing_words(engine)
        ]
    more, found = len(found) > limit, found[:limit]
    if json:
        print_json({"equal": not found, "differences": found, "more": more})
    else:
        for line in found or ["both stores have the same content"]:
            say(line)
        for name, line in away:
            say(f"{name} store: {line}", err=True)
        if more:
            say(f"and more: --limit {10 * limit} shows them")
    if found:
        raise typer.Exit(ExitCode.REJECTED)


@contextmanager
def _ready(url: str | None = None) -> Iterator[Engine]:
    """The store of the configuration, or another one that its key ring opens."""
    config = load()
    with opened(url or config.database_url, create=False) as engine:
        # What the configuration wants of its own store is not wanted of another.
        make_ready(engine, config if url is None else config.model_copy(update={"storage_key": None}))
        yield engine


def _print_statistics(counted: Statistics) -> None:
    messages = [(row.market, row.type, row.state, str(row.messages)) for row in counted.messages]
    _print_part("Kernel messages", ("market", "type", "state", "messages"), messages)
    for title, what, codes in (
        ("most frequent error codes", "error code", counted.codes),
        ("most frequent warnings", "warning", counted.warnings),
    ):
        shown = [(row.code, str(row.messages), row.comment) for row in codes]
        _print_part(title, (what, "messages", "for example"), shown)
    for title, found in (
        ("envelopes", counted.envelopes),
        ("incidents and notes", counted.incidents),
        ("notifications", counted.notifications),
    ):
        _print_part(title, (title, "number"), [(name, str(number)) for name, number in found.items()])
    oldest = counted.oldest_waiting
    if oldest is not None:
        since = legal_time().to_the_minute(oldest.received_at)
        if oldest.waits_for:
            say(f"longest in quarantine: message {oldest.message_id}, since {since}, for {oldest.waits_for}")
        else:
            say(f"longest in quarantine: message {oldest.message_id}, since {since}")
    sizes = [
        (row.table, str(row.rows), "" if row.bytes is None else _size(row.bytes)) for row in counted.tables if row.rows
    ]
    _print_part("tables", ("table", "rows", "size"), sizes)
    say(f"the database takes {_size(counted.bytes)}")


def _size(number: int) -> str:
    return f"{number / 1_000_000:.1f} MB"


def _print_part(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """A part of the answer, under its title for a person, each line beginning with it for a program."""
    if rows:
        print_rows(head, rows, title, led=True)
