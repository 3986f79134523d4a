"""`energycomm correct analyse`: what is stuck, in groups, with what would free it; printed or written as a report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from datetime import datetime, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, cast
from zoneinfo import ZoneInfo

import msgspec
import typer

from energycomm.commands.language import language
from energycomm.commands.options import choice
from energycomm.commands.output import Paper, hand_over, print_csv, print_json, print_rows, say
from energycomm.commands.recording import recorded
from energycomm.config import Config, load
from energycomm.correction.analysis import (
    DIMENSIONS,
    Change,
    Dimension,
    Group,
    Judged,
    compare,
    groups,
    judged_cases,
    judging,
)
from energycomm.correction.cases import stuck_ids
from energycomm.correction.library import load_scripts
from energycomm.correction.proposals import SAMPLE, SECONDS, Proposal, propose
from energycomm.correction.report import COMMAND, Report, Sheet, change_sheet, group_sheet, proposal_sheet, report
from energycomm.correction.webpage import webpage
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.kernel.instants import micros
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.opening import open_store


class Form(StrEnum):
    """The form of an answer."""

    table = "table"
    json = "json"
    csv = "csv"
    xlsx = "xlsx"
    html = "html"


@recorded("correct analyse")
def analyse(
    by: Annotated[str, choice("--group", DIMENSIONS, "thing to group by", "What groups have in common")] = "code",
    at: Annotated[str | None, typer.Option(help="State at the end of this day, YYYY-MM-DD.")] = None,
    against: Annotated[str | None, typer.Option(help="Compare with the end of this earlier day.")] = None,
    propose_: Annotated[
        bool, typer.Option("--propose", help="Try the scripts on the groups and show what each would free.")
    ] = False,
    only: Annotated[str | None, typer.Option(help="Try the scripts on this group alone.")] = None,
    sample: Annotated[int, typer.Option(min=1, help="How many messages of a group the scripts are tried on.")] = SAMPLE,
    seconds: Annotated[float, typer.Option(min=1, help="Time limit of the trial.")] = SECONDS,
    limit: Annotated[int, typer.Option(min=1, help="How many groups at most.")] = 50,
    form: Annotated[Form, typer.Option("--format", help="table, json, csv, xlsx or html.")] = Form.table,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, as --format json does.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to write instead of printing.")] = None,
) -> None:
    """Group the stuck messages: number, first date, invoices that wait, error class and evidence.

    Example: energycomm correct analyse --group class --propose
    """
    if json:
        form = Form.json
    if form is Form.xlsx and out is None:
        raise UserError("A workbook cannot be printed.", "Name its file: --out stuck.xlsx.")
    config = load()
    zone = ZoneInfo(config.web.zone)
    day, earlier = end_of(at, zone), end_of(against, zone)
    if (propose_ or only) and day is not None:
        raise UserError("Scripts are tried on the store of today.", "Leave --at out.")
    made = datetime.now(zone)
    what = cast(Dimension, by)
    with open_store(config) as store:
        markets = installed_adapters(config.mapping_files)
        kept = form in (Form.xlsx, Form.html) or propose_ or only or day is not None
        cases = judged_cases(store.engine, markets, day) if kept else []
        found = groups(cases if kept else judging(store.engine, markets), what, micros(day or made))
        number = len(cases) if kept else len(stuck_ids(store.engine))
        before = None if earlier is None else judged_cases(store.engine, markets, earlier)
        tried = None
        if propose_ or only:
            tried = _tried(config, store, cases, what, micros(made), limit, sample, seconds, only)
    if form in (Form.xlsx, Form.html):
        made_of = report(cases, what, made=made, at=day, before=before, against=earlier, proposals=tried, limit=limit)
        _write(made_of, form, out)
        return
    changes = None if before is None or earlier is None else compare(groups(before, what, micros(earlier)), found)
    with _output(out):
        if form is Form.json:
            print_json(_content(number, found[:limit], changes, tried, limit))
            return
        sheets = [_groups(found, what, limit, zone) if changes is None else change_sheet(changes, what, limit)]
        sheets += [] if tried is None else [proposal_sheet(tried, what)]
        if form is Form.csv:
            _csv(sheets[-1])
            return
        for sheet in sheets:
            _print(sheet, led=len(sheets) > 1)
            if sheet.left_out:
                say(f"{sheet.title}: {sheet.cap}", err=True)


def _tried(
    config: Config,
    store: Store,
    cases: list[Judged],
    by: Dimension,
    now: int,
    limit: int,
    sample: int,
    seconds: float,
    only: str | None,
) -> list[Proposal]:
    gateway = Gateway(config, store)
    scripts = load_scripts(gateway.catalogue.rules, config.scripts_folder).values()
    return propose(
        store,
        gateway.writer,
        scripts,
        cases,
        by,
        now=now,
        groups=limit,
        sample=sample,
        seconds=seconds,
        only=only,
    )


def _content(
    number: int, found: list[Group], changes: list[Change] | None, tried: list[Proposal] | None, limit: int
) -> Any:
    if changes is not None:
        return changes[:limit]
    content: dict[str, Any] = {"messages": number, "groups": found}
    if tried is not None:
        content["proposals"] = [
            {**msgspec.structs.asdict(one), "expected": one.expected, "words": one.words, "command": one.command}
            for one in tried
        ]
    return content


def _groups(found: list[Group], by: str, limit: int, zone: ZoneInfo) -> Sheet:
    """The groups; in a pipe and a file they are the same in every language."""
    return group_sheet(found, by, limit, zone, language() if Paper().is_terminal else "en")


def _print(sheet: Sheet, *, led: bool) -> None:
    """A sheet. On a terminal its commands stand below it, each in one line, so that no cell wraps or cuts it."""
    if COMMAND not in sheet.head or not Paper().is_terminal:
        print_rows(sheet.head, sheet.rows, led=led, title=sheet.title)
        return
    place = sheet.head.index(COMMAND)
    rows = [(*row[:place], *row[place + 1 :]) for row in sheet.rows]
    print_rows((*sheet.head[:place], *sheet.head[place + 1 :]), rows, title=sheet.title)
    for row in sheet.rows:
        say(f"{row[0]}: {row[place]}")


def _csv(sheet: Sheet) -> None:
    print_csv(sheet.head, sheet.rows)
    if sheet.left_out:
        say(f"{sheet.title}: {sheet.cap}", err=True)


def _write(made: Report, form: Form, out: Path | None) -> None:
    try:
        if form is Form.html:
            with _output(out):
                hand_over(webpage(made))
        elif out is not None:
            from energycomm.correction.spreadsheet import write_workbook  # slow to import, and seldom needed

            write_workbook(made, out)
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}.", "Name another file.") from None
    if out is not None:
        say(f"{out}: {'; '.join(f'{sheet.title}: {sheet.cap}' for sheet in made.sheets)}", err=True)


@contextmanager
def _output(out: Path | None) -> Iterator[None]:
    """What is printed within goes to a file, where one is named."""
    if out is None:
        yield
        return
    try:
        stream = out.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}.", "Name another file.") from None
    with stream, redirect_stdout(stream):
        yield


def end_of(day: str | None, zone: tzinfo) -> datetime | None:
    """The end of a typed day in legal time; None for None.

    Raises:
      UserError: it is no day.
    """
    if day is None:
        return None
    try:
        return datetime.fromisoformat(day).replace(hour=23, minute=59, second=59, tzinfo=zone)
    except ValueError:
        raise UserError(f"{day!r} is no day.", "Write it as 2026-03-31.") from None
