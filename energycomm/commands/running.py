"""What commands that work by buckets have in common: where a run is kept, who works on it, how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from energycomm.commands.language import told
from energycomm.commands.output import Paper

Work = Annotated[
    Path | None, typer.Option(help="Folder that keeps the run: the same command with it continues a run that was cut.")
]
ProcessNumber = Annotated[
    int | None,
    typer.Option(
        "--processes", min=1, help="Processes of this machine; by default the cluster, or as many as there are cores."
    ),
]


@contextmanager
def told_buckets(words: str = "buckets") -> Iterator[Callable[[int, int], None]]:
    """A progress bar of buckets on standard error, where that is a terminal; gives a function (done, of)."""
    console = Paper(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(told(words), total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)
