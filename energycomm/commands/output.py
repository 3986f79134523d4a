"""How commands print: tables for a person at a terminal, tab-separated lines for a pipe, JSON for a script.

A command whose answer is a list is declared as one, and prints by its form alone:

    @app.command("list")
    @listed
    def list_(form: Form) -> None:
        form.show(found, ("id", "state"), [(one.id, one.state) for one in found])
"""

from __future__ import annotations

import functools
import inspect
import io
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from operator import getitem
from typing import IO, Annotated, Any, get_type_hints
from zoneinfo import ZoneInfo

import msgspec
import typer
from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from energycomm.cells import STEERING, on_one_line, plain_cell, write_csv
from energycomm.choices import one_of
from energycomm.commands.language import named, told, told_value
from energycomm.commands.recording import note_shown
from energycomm.errors import UserError
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


_CONTROLS = re.compile(f"[{STEERING}]")

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


def say(*lines: object, err: bool = False, bold: bool = False, dim: bool = False) -> None:
    """Print lines, in the reader's language. Whatever stored values they hold, each stays one line and steers no
    terminal.

    Args:
      lines: each is printed on a line of its own.
      err: on standard error.
      bold, dim: brighter or less bright than what stands beside it.
    """
    for line in (on_one_line(told(str(one))) for one in lines):
        typer.echo(typer.style(line, bold=bold or None, dim=dim or None) if bold or dim else line, err=err)


def say_text(text: str, *, err: bool = False) -> None:
    """Print a text that has lines of its own, such as a difference or Kernel XML; they stay, and nothing steers a
    terminal.

    Args:
      text: with or without the end of its last line.
      err: on standard error.
    """
    for line in text.removesuffix("\n").split("\n"):
        typer.echo("\t".join(map(on_one_line, line.split("\t"))), err=err)


def say_piece(text: str) -> None:
    """Print a piece of what is still being written, on standard error, so that it is read while it comes."""
    typer.secho("\n".join(map(on_one_line, text.split("\n"))), err=True, dim=True, nl=False)


def hand_over(content: str | bytes | IO[bytes]) -> None:
    """Write a document to standard output as it is, for a file or another program; in a text, secrets are masked."""
    if isinstance(content, str):
        typer.echo(content, nl=False)
        return
    shutil.copyfileobj(io.BytesIO(content) if isinstance(content, bytes) else content, sys.stdout.buffer)


class Paper(Console):
    """What tables and bars are drawn on: no text in them steers the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """The pieces of what is drawn, each text of which is plain but for the ends of lines."""
        for one in super().render(renderable, options):
            yield one if one.control else one._replace(text="\n".join(map(on_one_line, one.text.split("\n"))))


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


class Form(Struct, frozen=True, kw_only=True):
    """How the list of a command is printed; at most one of the first three.

    Attributes:
      json, csv, tsv: as such; else as a table on a terminal and as tab-separated lines without a head in a pipe.
      no_header: without the names of the columns.
      sort: the column to sort by, with - before it from the end; of lists that the store does not sort itself.
    """

    json: bool = False
    csv: bool = False
    tsv: bool = False
    no_header: bool = False
    sort: str | None = None

    def taken(self, limit: int) -> int:
        """How many rows to read of a list that shows so many at most: all of them where they are to be sorted."""
        return limit if self.sort is None else max(limit, MOST_SORTED + 1)

    @property
    def asked(self) -> bool:
        """Whether one form of the rows is asked for: else a command may say more than they hold."""
        return self.json or self.csv or self.tsv or self.no_header or self.sort is not None

    def show(
        self,
        content: Any,
        head: Sequence[str],
        rows: Iterable[Sequence[object]],
        title: str | None = None,
        *,
        following: str | None = None,
        limit: int | None = None,
    ) -> None:
        """Print a list. Secrets are masked, and no cell is a formula for the spreadsheet that may read it.

        Args:
          content: what JSON shows.
          head: names of the columns.
          rows: the rows.
          title: words above the table.
          following: the cursor of the page after it, which is told on standard error.
          limit: rows at most, where more were read to be sorted (`taken`).

        Raises:
          UserError: the list has no such column to sort by, or too many rows for it.
        """
        if self.sort is not None:
            rows = list(rows)
            order = _order(head, rows, self.sort)[:limit]
            content, rows, following = _ordered(content, order, len(rows)), [rows[number] for number in order], None
        rows = list(rows)
        note_shown(head, rows)
        if self.json:
            print_json(content)
            return
        if self.csv or self.tsv:
            lines = ([mask(_cell(value)) for value in row] for row in rows)
            named = () if self.no_header else head
            print_tsv(named, lines) if self.tsv else print_csv(named, lines)
        else:
            print_rows(head, rows, title, headed=not self.no_header)
        if following:
            say(f"more: --cursor {following}", err=True)


FORMS: dict[str, str] = {
    "json": "Print JSON.",
    "csv": "Print CSV, with a head.",
    "tsv": "Print tab-separated lines, with a head.",
    "no_header": "Without the head.",
}
"""The switches of a list -> their help."""

SORT = "Sorted by this column, with - before it from the end."

MOST_SORTED = 10_000
"""Rows that a command sorts by itself; longer lists are to be narrowed first."""


def listed(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a list, in place of its parameter `form`."""

    @functools.wraps(command)
    def run(**typed: Any) -> None:
        form = Form(**{name: typed.pop(name) for name in (*FORMS, *sort)})
        chosen = [f"--{name}" for name in ("json", "csv", "tsv") if getattr(form, name)]
        if len(chosen) > 1:
            one, another = chosen[:2]
            raise UserError(f"{one} and {another} contradict each other.", "Choose one of them.")
        command(form=form, **typed)

    own = inspect.signature(command, eval_str=True)
    others = [one for name, one in own.parameters.items() if name != "form"]
    # What the store sorts has the option among its filters.
    first = get_type_hints(command).get(next(iter(own.parameters)))
    sort = [] if "sort" in getattr(first, "model_fields", ()) else ["sort"]
    options = [*map(_switch, FORMS), *map(_column, sort)]
    run.__signature__ = own.replace(parameters=[*others, *options])  # type: ignore[attr-defined]
    return run


def _column(name: str) -> inspect.Parameter:
    annotation = getitem(Annotated, (str | None, typer.Option(f"--{name}", metavar="COLUMN", help=SORT)))
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _order(head: Sequence[str], rows: Sequence[Sequence[object]], sort: str) -> list[int]:
    """The numbers of rows in the order of a column; empty cells are last, equal ones stay as they are.

    Raises:
      UserError: there is no such column, or there are too many rows.
    """
    if len(rows) > MOST_SORTED:
        raise UserError(f"More than {MOST_SORTED} rows are not sorted.", "Narrow the list by its filters.")
    named = {one.replace(" ", "-"): place for place, one in enumerate(head) if one}
    column = named[one_of("--sort", re.sub(r"[ _]", "-", sort.removeprefix("-")), named, "column to sort by")]
    filled = [number for number, row in enumerate(rows) if row[column] not in (None, "")]
    numbers = all(isinstance(rows[number][column], int | float | Decimal) for number in filled)
    times = {type(rows[number][column]) for number in filled} in ({datetime}, {date})

    def key(number: int) -> Any:
        cell = rows[number][column]
        return cell if numbers or times else _cell(cell).casefold()

    empty = [number for number, row in enumerate(rows) if row[column] in (None, "")]
    return [*sorted(filled, key=key, reverse=sort.startswith("-")), *empty]


def _ordered(content: Any, order: Sequence[int], number: int) -> Any:
    """What JSON shows, its one list of so many items in another order."""
    if isinstance(content, Struct):
        return _ordered({name: getattr(content, name) for name in content.__struct_fields__}, order, number)
    if isinstance(content, dict):
        return {name: _ordered(one, order, number) if _listing(one, number) else one for name, one in content.items()}
    return [content[place] for place in order] if _listing(content, number) else content


def _listing(content: Any, number: int) -> bool:
    return isinstance(content, list | tuple) and len(content) == number


def _switch(name: str) -> inspect.Parameter:
    kind, option = inspect.Parameter.KEYWORD_ONLY, typer.Option(f"--{name.replace('_', '-')}", help=FORMS[name])
    return inspect.Parameter(name, kind, default=False, annotation=getitem(Annotated, (bool, option)))


def print_csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table as CSV.

    Args:
      head: names of the columns; none for a table without a head.
      rows: the rows.
    """
    write_csv(sys.stdout, head, rows)


def print_tsv(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table as lines with tabs between; with no head where none is given."""
    for row in (*([head] if head else []), *rows):
        typer.echo("\t".join(plain_cell(_line(cell)) for cell in row))


def print_rows(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str | None = None,
    *,
    aligned: bool = False,
    led: bool = False,
    headed: bool = True,
) -> None:
    """Print rows: a table on a terminal; when piped one line a row with tabs between and no head.

    Secrets are masked. A piped cell is one line, and no formula for the spreadsheet that may read it.

    Args:
      head: names of the columns.
      rows: the rows.
      title: words above the table.
      aligned: for summaries that people read in logs: when piped, columns in line under their head.
      led: for answers of several tables: when piped, each line begins with the title.
      headed: whether a table on a terminal names its columns.
    """
    console = Paper(highlight=False)
    lines = [[mask(_cell(value)) for value in row] for row in rows]
    names = [*map(named, head)]
    if not console.is_terminal and aligned:
        widths = [max(len(line[column]) for line in [names, *lines]) for column in range(len(names))]
        for line in [names, *lines]:
            typer.echo("  ".join(_line(cell).ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        return
    if not console.is_terminal:
        print_tsv((), ([title, *line] if led and title else line for line in lines))
        return
    # Folded where a terminal is narrow: of an access point or a reference that is cut nobody can make use.
    columns = (Column(name, overflow="fold") for name in names)
    table = Table(*columns, title=title and told(title), title_justify="left", show_header=headed)
    for line in lines:
        table.add_row(*(Text(_shown(told_value(value)), style=STATE_COLOURS.get(value, "")) for value in line))
    console.print(table)


def print_facts(facts: Iterable[tuple[str, object]]) -> None:
    """Print names and values, one a line; absent values are left out."""
    for name, value in facts:
        if value is not None and value != "":
            # What goes on in a further line stands under the value, where no name of ours stands.
            lines = told_value(_cell(value)).splitlines() or [""]
            typer.echo(f"{named(name) + ':':<19} " + ("\n" + " " * 20).join(on_one_line(mask(line)) for line in lines))


def print_heading(words: str) -> None:
    """Print a heading between two parts of an answer."""
    typer.echo()
    typer.secho(told(words), bold=True)


def _line(text: str) -> str:
    """A text on one line, without signs that steer a terminal or begin a new cell."""
    return _CONTROLS.sub(" ", text)


def _shown(text: str) -> str:
    """A text of a table on a terminal, which keeps its lines."""
    return "\n".join(map(on_one_line, text.splitlines()))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return legal_time().when(value.replace(microsecond=0))  # nobody reads parts of a second; JSON has them
    if isinstance(value, tuple | list):
        return " ".join(str(item) for item in value)
    return str(value)
