"""`energycomm eis partition`: the parts of the tables that grow by time, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from energycomm.choices import one_of
from energycomm.commands.output import Form, Json, legal_time, listed, print_json, say
from energycomm.commands.recording import recorded
from energycomm.config import load
from energycomm.eis.partitions import END, LEAST, Partition, Partitions
from energycomm.kernel.instants import instant
from energycomm.pipeline.opening import open_store

app = typer.Typer(no_args_is_help=True, help="Parts of the tables that grow by time (PostgreSQL).")

Name = Annotated[str, typer.Argument(metavar="NAME", help="As `energycomm eis partition list` shows it.")]


@app.command("list")
@listed
def list_(form: Form) -> None:
    """List the partitions: their ranges, what is in them and since when.

    A row count with ~ is PostgreSQL's estimate. SQLite has none.

    Example: energycomm eis partition list
    """
    with _opened() as store:
        found = [(one, store.content(one)) for one in store.known()]
        built = store.built
    fields = [
        {
            **_fields(one),
            "rows": content.rows,
            "counted": content.counted,
            "first_at": None if content.first is None else instant(content.first),
            "last_at": None if content.last is None else instant(content.last),
        }
        for one, content in found
    ]
    if not built:
        say("a SQLite store has no partitions: its tables are whole", err=True)
    shown = legal_time().to_the_minute
    form.show(
        {"partitioned": built, "partitions": fields},
        ("partition", "from", "before", "rows", "MB", "first row", "last row", "state"),
        [
            (
                one.name,
                "" if one.first in (LEAST, END) else one.first,
                "" if one.end == END else one.end,
                content.rows if content.counted else f"~{content.rows}",
                f"{one.bytes / 1_000_000:.1f}",
                "" if content.first is None else shown(instant(content.first)),
                "" if content.last is None else shown(instant(content.last)),
                "attached" if one.attached else "detached",
            )
            for one, content in found
        ],
    )


@app.command()
@recorded("eis partition create", changing=True)
def create(
    rows: Annotated[
        int | None, typer.Option("--rows", min=1000, help="Make the next range of each table, for that many rows.")
    ] = None,
    json: Json = False,
) -> None:
    """Make the next range of each table that has used up half of its last one, as the daemon does by itself.

    A range is as wide as a month at the present pace takes.

    Example: energycomm eis partition create
    """
    with _opened() as store:
        store.require()
        made = store.make_ahead(rows)
    if json:
        print_json({"made": [_fields(one) for one in made]})
        return
    for one in made:
        say(f"{one.name}: from {one.first} to before {one.end}")
    if not made:
        say("every table has room ahead: nothing was made")


@app.command()
@recorded("eis partition detach", changing=True)
def detach(name: Name, json: Json = False) -> None:
    """Take a partition out of its table: it stays in the database, and nothing reads it.

    Raw bytes of processed envelopes may be detached. Partitions of other tables hold what verdicts and cursors rest on:
    they are detached only when they are empty.

    Example: energycomm eis partition detach raw_chunk_p1
    """
    with _opened() as store:
        store.detach(_named(store, name))
        found = _named(store, name)
    if json:
        print_json({"detached": _fields(found)})
    else:
        say(f"{name} is detached; `energycomm eis partition attach {name}` brings it back")


@app.command()
@recorded("eis partition attach", changing=True)
def attach(name: Name, json: Json = False) -> None:
    """Bring a detached partition back into its table.

    Example: energycomm eis partition attach raw_chunk_p1
    """
    with _opened() as store:
        store.attach(_named(store, name))
        found = _named(store, name)
    if json:
        print_json({"attached": _fields(found)})
    else:
        say(f"{name} is attached again")


@contextmanager
def _opened() -> Iterator[Partitions]:
    with open_store(load()) as store:
        yield Partitions(store.engine)


def _named(store: Partitions, name: str) -> Partition:
    store.require()
    known = {one.name: one for one in store.known()}
    return known[one_of("partition", name, known, "partition", "`energycomm eis partition list` shows them.")]


def _fields(one: Partition) -> dict[str, object]:
    return {
        "name": one.name,
        "table": one.table,
        "from": None if one.first in (LEAST, END) else one.first,
        "before": None if one.end == END else one.end,
        "bytes": one.bytes,
        "attached": one.attached,
    }
