"""`energycomm portfolio`: a supplier's points, taken over on the first day and compared at any time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import IO, Annotated

import typer

from energycomm import logs
from energycomm.commands.output import Json, print_facts, print_json, print_rows, say
from energycomm.commands.recording import recorded
from energycomm.config import load as load_config
from energycomm.eis.database import rehearsal
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.counting import counted
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.opening import open_store
from energycomm.pipeline.portfolio import Loaded, compare_portfolio, load_portfolio, wrong_header
from energycomm.portfolio.columns import fixed_columns
from energycomm.portfolio.comparison import HEAD
from energycomm.portfolio.files import write_table

app = typer.Typer(no_args_is_help=True, help="A supplier's points: taken over on the first day, compared at any time.")

MOST = 1_000_000
"""Differences that are kept one by one."""

SHOWN = 10_000
"""Mistakes that are told one by one; the others are counted."""

File = Annotated[Path, typer.Argument(help="CSV, XLSX or Parquet; or a list of points that a market sent.")]


@app.command()
def template(
    file: Annotated[Path, typer.Argument(help="File to write, .csv or .xlsx.")] = Path("portfolio.csv"),
) -> None:
    """Write an empty portfolio with every column; docs/portfolio.md says what they hold.

    Further columns: power.CLASS, index.GRID.CLASS, meter.2.serial, request.2.reference.

    Example: energycomm portfolio template portfolio.xlsx
    """
    if file.suffix.lower() not in (".csv", ".xlsx"):
        raise UserError(f"A template is no {file.suffix or 'file without a suffix'}.", "Name it .csv or .xlsx.")
    try:
        write_table(file, list(fixed_columns()), [])
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.", "Check the path.") from None
    say(f"{file}: {counted(len(fixed_columns()), 'column')}")


@app.command()
@recorded("portfolio load", changing=True)
def load(
    file: File,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Judge every row, store nothing.")] = False,
    json: Json = False,
) -> None:
    """Take over the points of a portfolio as opening balances.

    A row that was loaded before changes nothing; a row of a later file takes the place of what an earlier one told of
    the same columns' groups. Exit code 0: all rows were taken over; 1: some messages were rejected or wait; 2: the
    file or some rows cannot be read.

    Example: energycomm portfolio load portfolio.csv --dry-run
    """
    config = load_config()
    logs.configure(config.log_format, config.log_level)
    with _opened(file) as source:
        wrong = wrong_header(source, file.name)
        if wrong:
            lines = "\n  ".join(str(refusal) for refusal in wrong)
            raise UserError(f"{file}: nothing is stored.\n  {lines}", "See docs/portfolio.md.", ExitCode.UNREADABLE)
        with open_store(config, make=not dry_run) as store, rehearsal(store.engine) if dry_run else nullcontext():
            gateway = Gateway(config, store)
            done = load_portfolio(store, gateway.inbound, source, file.name, SHOWN)
    if json:
        print_json(done)
    else:
        print_loaded(done, dry_run=dry_run)
    raise typer.Exit(exit_code(done))


@app.command()
@recorded("portfolio compare")
def compare(
    file: File,
    on: Annotated[
        str | None, typer.Option("--on", help="Day whose supplies are compared, YYYY-MM-DD; now by default.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write the differences to this file, .xlsx or .csv.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare a portfolio, or a list of points that a market sent, with the points that we supply.

    It tells the points of one side alone, and the terms that differ: field, value there, value here. Terms that the
    file does not have are not compared. Nothing is stored. Exit code 0: no difference; 1: some; 2: the file, or a row
    of it, cannot be read.

    Example: energycomm portfolio compare portfolio.csv --output differences.xlsx
    """
    if output is not None and output.suffix.lower() not in (".xlsx", ".csv"):
        raise UserError(f"Differences are not written as {output.name}.", "Name the file .xlsx or .csv.")
    config = load_config()
    logs.configure(config.log_format, config.log_level)
    at = datetime.now(UTC) if on is None else _noon(on)
    with _opened(file) as source, open_store(config) as store:
        found = compare_portfolio(store, Gateway(config, store).inbound, source, file.name, at, MOST)
    if isinstance(found, Refusal):
        raise UserError(f"{file}: {found}", "See docs/portfolio.md.", ExitCode.UNREADABLE)
    if output is not None:
        try:
            write_table(output, HEAD, [line.cells for line in found.lines])
        except OSError as error:
            raise UserError(f"{output} cannot be written: {error.strerror}.", "Check the path.") from None
    if json:
        print_json(found)
    else:
        if output is None:
            print_rows(HEAD, [line.cells for line in found.lines[:SHOWN]])
        more = found.left_out + (max(0, len(found.lines) - SHOWN) if output is None else 0)
        if more:
            say(f"{more} more differences are not shown")
        print_facts(
            [
                ("points there", found.there),
                ("points here", found.here),
                ("equal", found.equal),
                ("only there", found.only_there),
                ("only here", found.only_here),
                ("terms differ", found.differing),
                ("unreadable rows", found.unreadable),
            ]
        )
    if found.unreadable:
        raise typer.Exit(ExitCode.UNREADABLE)
    raise typer.Exit(ExitCode.REJECTED if found.lines else ExitCode.OK)


def _noon(day: str) -> datetime:
    """An instant of a day, in every market."""
    try:
        return datetime.combine(date.fromisoformat(day), time(12), UTC)
    except ValueError:
        raise UserError(f"{day} is no day.", "Write it YYYY-MM-DD.") from None


@contextmanager
def _opened(file: Path) -> Iterator[IO[bytes]]:
    try:
        source = file.open("rb")
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.", "Check the path.", ExitCode.UNREADABLE) from None
    with source:
        yield source


def exit_code(done: Loaded) -> ExitCode:
    """The exit code of a load."""
    if done.refused or any(one.row is None for one in done.bad):
        return ExitCode.UNREADABLE
    fine = done.messages.get("accepted", 0) + done.messages.get("treated", 0) + done.messages.get("withdrawn", 0)
    return ExitCode.OK if fine == sum(done.messages.values()) else ExitCode.REJECTED


def print_loaded(done: Loaded, *, dry_run: bool = False) -> None:
    """Print what became of a portfolio for a person."""
    if done.bad:
        rows = [
            (one.row or "", one.access_point, one.column, one.value, one.code, one.expected, one.advice)
            for one in done.bad
        ]
        print_rows(("row", "access point", "column", "found", "code", "expected", "advice"), rows)
    if done.left_out:
        say(f"{done.left_out} more mistakes are not shown")
    if done.repeated:
        say("This very file was loaded before; nothing changes. At that time:")
    states = ", ".join(f"{number} {state}" for state, number in done.messages.items())
    print_facts(
        [
            ("rows", done.rows),
            ("taken over", done.new),
            ("loaded before", done.unchanged),
            ("refused", done.refused),
            ("Kernel messages", states),
            ("envelope", "none: dry run, nothing is stored" if dry_run else done.envelope),
        ]
    )
