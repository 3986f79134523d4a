"""How commands print: tables for a person at a terminal, tab-separated lines for a pipe, JSON for a script."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from energycomm.cells import plain_cell
from energycomm.market.installed import installed_adapters
from energycomm.market.legaltime import NO_TIME as NO_TIME
from energycomm.market.legaltime import LegalTime
from energycomm.masking import mask

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def legal_time() -> LegalTime:
    """How commands show instants: in the legal time of their market, or of this house (`[web] zone`)."""
    from energycomm.config import load  # it brings the store's library, which the help of the program does without

    config = load()
    return LegalTime(installed_adapters(config.mapping_files).zones, ZoneInfo(config.web.zone))


_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_encoder = msgspec.json.Encoder(decimal_format="string")

STATE_COLOURS = {
    "accepted": "green",
    "treated": "green",
    "rejected": "red",
    "quarantined": "yellow",
    "engine_error": "bold red",
    "refused": "red",
    "failed": "red",
    "duplicate": "dim",
}


def print_json(content: Any) -> None:
    """Print JSON, indented."""
    typer.echo(msgspec.json.format(_encoder.encode(content), indent=2).decode())


def print_json_list(facts: Mapping[str, Any], name: str, items: Iterable[Any]) -> None:
    """Print JSON with a list at its end that may be too long for memory, one item a line.

    Args:
      facts: what stands before the list.
      name: of the list.
      items: the list.
    """
    typer.echo(_encoder.encode({**facts, name: []}).decode().removesuffix("]}"), nl=False)
    for place, item in enumerate(items):
        typer.echo(("," if place else "") + f"\n{_encoder.encode(item).decode()}", nl=False)
    typer.echo("]}")


def print_rows(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str | None = None,
    *,
    aligned: bool = False,
    led: bool = False,
) -> None:
    """Print rows: a table on a terminal; when piped one line a row with tabs between and no head.

    Secrets are masked. A piped cell is one line, and no formula for the spreadsheet that may read it.

    Args:
      head: names of the columns.
      rows: the rows.
      title: words above the table.
      aligned: for summaries that people read in logs: when piped, columns in line under their head.
      led: for answers of several tables: when piped, each line begins with the title.
    """
    console = Console(highlight=False)
    lines = [[mask(_cell(value)) for value in row] for row in rows]
    if not console.is_terminal and aligned:
        widths = [max(len(line[column]) for line in [list(head), *lines]) for column in range(len(head))]
        for line in [list(head), *lines]:
            typer.echo("  ".join(_line(cell).ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        return
    if not console.is_terminal:
        for line in lines:
            typer.echo("\t".join(plain_cell(_line(cell)) for cell in ([title, *line] if led and title else line)))
        return
    table = Table(*head, title=title, title_justify="left")
    for line in lines:
        table.add_row(*(Text(value, style=STATE_COLOURS.get(value, "")) for value in line))
    console.print(table)


def print_facts(facts: Iterable[tuple[str, object]]) -> None:
    """Print names and values, one a line; absent values are left out."""
    for name, value in facts:
        if value is not None and value != "":
            typer.echo(f"{name + ':':<20}{_cell(value)}")


def print_heading(words: str) -> None:
    """Print a heading between two parts of an answer."""
    typer.echo()
    typer.secho(words, bold=True)


def _line(text: str) -> str:
    """A text on one line, without signs that steer a terminal or begin a new cell."""
    return _CONTROLS.sub(" ", text)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return legal_time().when(value)
    if isinstance(value, tuple | list):
        return " ".join(str(item) for item in value)
    return str(value)
