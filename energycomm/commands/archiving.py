"""`energycomm eis archive` and `energycomm eis retention`: what leaves the store, for files or for good."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from energycomm.archive import archiving
from energycomm.commands.language import told
from energycomm.commands.output import Form, Json, Paper, listed, print_json, say
from energycomm.commands.recording import recorded, system_user
from energycomm.config import load
from energycomm.eis.away import archives
from energycomm.eis.database import reading
from energycomm.eis.partitions import Partitions
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.counting import counted
from energycomm.kernel.instants import now_micros
from energycomm.pipeline.opening import open_store
from energycomm.pipeline.retention import CLASSES, due, policies, purge

app = typer.Typer(no_args_is_help=True, help="Settled measures and raw bytes, out of the store into files and back.")

Name = Annotated[str, typer.Argument(metavar="MONTH", help="The archive: a month like 2026-01.")]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Folder of its files, if they are not where they were written.")
]


@app.command()
@recorded("eis archive write", changing=True)
def write(
    month: Name,
    to: Annotated[Path | None, typer.Option("--to", help="Folder of the archives, instead of the setting.")] = None,
    json: Json = False,
) -> None:
    """Move what arrived up to the end of a month to Parquet files: settled indexes, energies and curves, raw bytes.

    Other processes may continue. An interrupted run is continued by the next one; a further run adds what was settled
    since.
    Messages that are refused, wait or are worked on stay, and so do contracts, supplies and states of access points.

    Example: energycomm eis archive write 2026-01
    """
    config = load()
    folder = to if to is not None else config.archive_folder
    with open_store(config) as store, _watched() as watch:
        done = archiving.write(store, folder, month, system_user(), now_micros(), watch)
    if json:
        print_json({"archive": month, "folder": str(folder / month), **_fields(done)})
        return
    say(
        f"{counted(done.messages, 'message')} and the bytes of {counted(done.envelopes, 'envelope')} left for "
        f"{folder / month} ({done.bytes / 1_000_000:.1f} MB)"
    )
    for words, number in sorted(done.stays.items()):
        say(f"{counted(number, 'message stays', 'messages stay')}: {words}")


@app.command("list")
@listed
def list_(form: Form) -> None:
    """List the archives: what of each is away, and where its files are.

    Example: energycomm eis archive list
    """
    with open_store(load()) as store, reading(store.engine) as connection:
        found = archives(connection)
    head = ("archive", "messages away", "envelopes away", "from", "to", "state", "folder")
    form.show(
        found,
        head,
        [
            (
                one.name,
                one.messages,
                one.envelopes,
                one.first,
                one.last,
                ("away" if one.messages or one.envelopes else "in the store") if one.written else "not whole",
                one.folder,
            )
            for one in found
        ],
    )


@app.command()
@recorded("eis archive restore", changing=True)
def restore(name: Name, folder: Folder = None, json: Json = False) -> None:
    """Bring an archive back into the store; each file is checked before. The files stay.

    Other processes may continue, and the run may be repeated. Afterwards `energycomm envelope retry` judges late
    messages that were put aside for it.

    Example: energycomm eis archive restore 2026-01
    """
    with open_store(load()) as store, _watched() as watch:
        messages, envelopes = archiving.restore(store, name, folder, watch)
    if json:
        print_json({"archive": name, "messages": messages, "envelopes": envelopes})
        return
    words = f"{counted(messages, 'message')} and the bytes of {counted(envelopes, 'envelope')} are back"
    say(words if messages or envelopes else f"everything of {name} is in the store already")


@app.command()
def verify(name: Name, folder: Folder = None, json: Json = False) -> None:
    """Check the files of an archive against their SHA-256; exit code 2 if one is absent or was changed.

    Example: energycomm eis archive verify 2026-01
    """
    with open_store(load()) as store:
        found = list(archiving.check(store, name, folder))
    if json:
        print_json({"archive": name, "flaws": found})
    else:
        for line in found or [f"every file of {name} is as it was written"]:
            say(line)
    if found:
        raise typer.Exit(ExitCode.UNREADABLE)


@recorded("eis retention", changing=("apply",))
@listed
def retention(
    form: Form,
    apply: Annotated[bool, typer.Option("--apply", help="Remove it, as the daemon does every hour.")] = False,
) -> None:
    """Show what `[retention]` removes by class of data, and remove it with --apply. Nothing is removed by default.

    Example: energycomm eis retention
    """
    config, now = load(), now_micros()
    wanted = policies(config.retention)
    with open_store(config) as store:
        if apply:
            if not wanted:
                raise UserError(
                    "No days are set in [retention]: nothing is removed.", "See docs/operating.md#retention."
                )
            rows = {name: purge(store, name, days, now, system_user())[0] for name, days in wanted.items()}
            Partitions(store.engine).tend()
        else:
            rows = {name: due(store, name, days, now) for name, days in wanted.items()}
    found = [
        {"class": one.name, "setting": one.setting, "days": wanted.get(one.name), "rows": rows.get(one.name, 0)}
        for one in CLASSES
    ]
    form.show(
        {"applied": apply, "classes": found},
        ("class", "days", "removed" if apply else "would be removed", "what it is"),
        [(one.name, wanted.get(one.name, "for ever"), rows.get(one.name, 0), one.holds) for one in CLASSES],
    )


def _fields(done: archiving.Written) -> dict[str, object]:
    return {"messages": done.messages, "envelopes": done.envelopes, "bytes": done.bytes, "stays": dict(done.stays)}


@contextmanager
def _watched() -> Iterator[Callable[[str, int], None]]:
    """Progress on standard error, if that is a terminal."""
    console = Paper(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(told("looking"), total=None)
        counts: dict[str, int] = {}

        def watch(what: str, rows: int) -> None:
            counts[what] = counts.get(what, 0) + rows
            bar.update(task, description=", ".join(f"{number} {name}" for name, number in counts.items()))

        yield watch
