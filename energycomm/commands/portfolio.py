"""`energycomm portfolio`: a supplier's points, taken over on the first day and compared at any time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Annotated

import typer

from energycomm import logs
from energycomm.commands.output import Json, print_facts, print_json, print_rows
from energycomm.commands.recording import recorded
from energycomm.config import load as load_config
from energycomm.eis.database import rehearsal
from energycomm.errors import ExitCode, UserError
from energycomm.pipeline.gateway import Gateway, open_store
from energycomm.pipeline.portfolio import Loaded, load_portfolio, wrong_header
from energycomm.portfolio.columns import fixed_columns
from energycomm.portfolio.files import write_table

app = typer.Typer(no_args_is_help=True, help="A supplier's points: taken over on the first day, compared at any time.")

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
    typer.echo(f"{file}: {len(fixed_columns())} columns")


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
        typer.echo(f"{done.left_out} more mistakes are not shown")
    if done.repeated:
        typer.echo("This very file was loaded before; nothing changes. At that time:")
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
