"""`energycomm export`: readings, curves, charges and more as files, whole or what changed since a cursor."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from energycomm.commands.output import Json, legal_time, print_facts, print_json, say
from energycomm.commands.recording import recorded
from energycomm.commands.running import ProcessNumber, Work, told_buckets
from energycomm.config import Config, load
from energycomm.eis.away import told_missing
from energycomm.errors import UserError
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.opening import open_store
from energycomm.private_files import written_whole

if TYPE_CHECKING:
    from energycomm.eis.away import Archive
    from energycomm.export.subjects import Selection

_ENDINGS = {".parquet": "parquet", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


@recorded("export")
def export(
    subject: Annotated[
        str,
        typer.Argument(
            help="readings, volumes, curves, charges, invoices, supply, contracts, findings, disputes.",
            show_default=False,
        ),
    ],
    to: Annotated[Path, typer.Option("--to", help="The file; replaced when it is whole.", show_default=False)],
    form: Annotated[
        str | None, typer.Option("--format", help="parquet, csv or jsonl; by the ending of the file by default.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Cursor of an earlier export: only what changed since.")
    ] = None,
    market: Annotated[list[str] | None, typer.Option("--market", help="Only of this market; several times.")] = None,
    access_point: Annotated[
        list[str] | None, typer.Option("--access-point", help="Only of this access point; several times.")
    ] = None,
    segment: Annotated[
        list[str] | None, typer.Option("--segment", help="Only of points in this segment now; several times.")
    ] = None,
    first: Annotated[str | None, typer.Option("--from", help="First day, YYYY-MM-DD, in legal time.")] = None,
    last: Annotated[str | None, typer.Option("--until", help="Last day, YYYY-MM-DD, included.")] = None,
    work: Work = None,
    processes: ProcessNumber = None,
    json: Json = False,
) -> None:
    """Export a subject to Parquet, CSV or JSON lines, and tell the cursor to go on from.

    With --work an export that was cut off goes on, of the store as it was when it began.

    Example: energycomm export readings --to readings.parquet --since ec1-5f0c6b7a9d3e1f20-1042-77120933
    """
    # Arrow takes a moment to load: no other command waits for it.
    from energycomm.export.rows import subject_of
    from energycomm.export.subjects import DISPUTES

    subject_of(subject)
    chosen = _format(form, to)
    selection = _selection(market, access_point, segment, first, last)
    config = load()
    _check_folder(to)
    # Small exports are made sooner by one process: docs/scaling.md has the figures.
    on_cluster = config.cluster.address is not None and subject != DISPUTES
    if work is not None or processes is not None or on_cluster:
        told, away = _by_buckets(config, subject, chosen, selection, since, to, work, processes)
    else:
        told, away = _at_once(config, subject, chosen, selection, since, to)
    for line in told_missing(away):
        say(line, err=True)
    if json:
        print_json({**told, "archived": [one.name for one in away]})
    else:
        print_facts(told.items())


def _selection(
    market: list[str] | None, access_point: list[str] | None, segment: list[str] | None, first: str | None,
    last: str | None,
) -> Selection:  # fmt: skip
    from energycomm.export.subjects import Selection

    return Selection(
        markets=tuple(name.upper() for name in market or ()),
        access_points=tuple(access_point or ()),
        segments=tuple(segment or ()),
        first=None if first is None else day_of("--from", first),
        last=None if last is None else day_of("--until", last),
    )


_Answer: TypeAlias = "tuple[dict[str, Any], tuple[Archive, ...]]"
"""What is told of an export, and the archives that hold rows which would be in it."""


def _at_once(config: Config, subject: str, form: str, selection: Selection, since: str | None, to: Path) -> _Answer:
    """Write the file row by row, in this process."""
    from energycomm.export.formats import pieces
    from energycomm.export.rows import opened_export
    from energycomm.invoicing.gathering import InvoiceCheck

    zones = installed_adapters(config.mapping_files).zones
    with open_store(config) as store:
        invoices = InvoiceCheck(store, config.rules_folder, zones)
        with opened_export(store.engine, subject, selection, zones, since, invoices) as found:
            _write(to, pieces(form, found))
            return {"file": str(to), "rows": found.told, "cursor": str(found.place)}, found.lacks()


def _by_buckets(
    config: Config,
    subject: str,
    form: str,
    selection: Selection,
    since: str | None,
    to: Path,
    work: Path | None,
    processes: int | None,
) -> _Answer:
    """Write the file from buckets that several processes, or a cluster, worked on."""
    from energycomm.bulk.cluster import workers
    from energycomm.bulk.exporting import exported, question

    asked = question(subject, form, selection, since, installed_adapters(config.mapping_files))
    with open_store(config) as store, ExitStack() as stack:
        place = work or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="energycomm-run-"))) / "run"
        with told_buckets() as watch:
            chosen = workers(config.cluster.address, processes)
            found = stack.enter_context(exported(store.engine, asked, place, chosen, watch=watch))
        if found.continued is not None:
            when = legal_time().to_the_minute(found.continued)
            say(f"goes on with the export that was begun at {when}: the store as it was then", err=True)
        _write(to, found.pieces())
        found.clear()
        return {"file": str(to), "rows": found.told, "cursor": found.cursor}, found.away


def _check_folder(to: Path) -> None:
    if not to.absolute().parent.is_dir():
        raise UserError(f"The folder {to.absolute().parent} does not exist.", "Create it, or name another file.")


def _write(to: Path, pieces: Iterable[bytes]) -> None:
    """Write the file, which takes its place when it is whole."""
    try:
        with written_whole(to) as file:
            for piece in pieces:
                file.write(piece)
    except OSError as error:
        raise UserError(f"{to} cannot be written: {error.strerror}.", "Name another file.") from None


def _format(form: str | None, to: Path) -> str:
    known = sorted(set(_ENDINGS.values()))
    if form is None:
        form = _ENDINGS.get(to.suffix.lower(), "")
        if not form:
            raise UserError(f"The ending of {to.name} names no format.", f"Add --format: {', '.join(known)}.")
    if form not in known:
        raise UserError(f"There is no format {form[:40]}.", f"There are: {', '.join(known)}.")
    return form


def day_of(option: str, written: str) -> date:
    """The civil day that an option names.

    Raises:
      UserError: it is none.
    """
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", written):
            return date.fromisoformat(written)
    except ValueError:
        pass
    raise UserError(f"{option}: {written[:40]} is no day.", "Write it YYYY-MM-DD.")
