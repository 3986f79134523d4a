"""`energycomm process`: the main job. Envelopes in, verdicts in the Energy Information Store, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import convert, to_builtins
from rich import progress as drawing

from energycomm import logs
from energycomm.commands.language import told
from energycomm.commands.output import Paper, print_json, print_rows, say
from energycomm.config import load
from energycomm.eis.database import rehearsal
from energycomm.errors import ExitCode
from energycomm.invoicing.gathering import InvoiceCheck
from energycomm.invoicing.keeping import check_changed
from energycomm.kernel.counting import counted
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.batch import ASIDE
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.opening import open_store
from energycomm.pipeline.progress import Progress
from energycomm.pipeline.records import note, report_gaps
from energycomm.transport.codes import ADVICE
from energycomm.transport.intake import collect

TOP_CODES = 10
TOP_REFUSALS = 20
TOP_GAPS = 6
"""Gaps of one series that a line names."""


def process(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders with envelopes.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Count notes and gaps like rejections.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Judge everything, store nothing.")] = False,
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes", min=1, max=64, help="Processes for one large file; those of the setting by default."
        ),
    ] = None,
) -> None:
    """Process envelopes: archive, digest, judge and store every message in them.

    Exit code 0: every message was accepted; 1: some were rejected or wait in quarantine; 2: something could not be
    read.

    Example: energycomm process inbox/
    """
    config = load()
    # What is only rehearsed is seen by no other process.
    if (wanted := 1 if dry_run else processes) is not None:
        config = config.model_copy(update={"processes": wanted})
    logs.configure(config.log_format, config.log_level)
    with open_store(config, make=not dry_run) as store, rehearsal(store.engine) if dry_run else nullcontext():
        summary = run(Gateway(config, store), paths, show=not json)
    if json:
        print_json(summary)
    else:
        print_summary(summary, dry_run=dry_run)
    raise typer.Exit(exit_code(summary, strict=strict))


def run(gateway: Gateway, paths: list[Path], *, show: bool = True) -> dict[str, Any]:
    """Process files and folders.

    Args:
      gateway: the gateway, put together.
      paths: what to take in.
      show: draw a progress bar where standard error is a terminal.

    Returns:
      The summary: see docs/cli.md.
    """
    intake = collect(paths)
    inbound = gateway.inbound
    console = Paper(stderr=True)
    bar = drawing.Progress(
        drawing.SpinnerColumn(),
        drawing.TextColumn("{task.description}"),
        drawing.BarColumn(),
        drawing.MofNCompleteColumn(),
        drawing.TimeElapsedColumn(),
        console=console,
        disable=not (show and console.is_terminal),
    )
    with bar:
        task = bar.add_task(told("envelopes"), total=len(intake.files))

        done = Progress(unreadable=len(intake.refusals))
        for refusal in intake.refusals:
            note(gateway.store, done.tally, None, refusal, "error")
        for step in chain(inbound.resume(), inbound.take(inbound.in_order(intake.files), "folder")):
            done.add(step)
            bar.update(
                task, completed=done.files, description=told(counted(sum(done.tally.messages.values()), "message"))
            )
        return summarise(done, gateway)


def summarise(done: Progress, gateway: Gateway) -> dict[str, Any]:
    """End a run: look for gaps in the series that it touched, and give up what waited too long.

    Args:
      done: what the run did.
      gateway: the gateway.

    Returns:
      The summary in plain values.
    """
    tally = done.tally
    gaps = report_gaps(gateway.store, tally, done.series)
    messages: Counter[str] = Counter()
    for (_, _, label), number in tally.messages.items():
        if number:
            messages[label] += number
    rows: dict[tuple[str, str], Counter[str]] = {}
    for (market, kind, outcome), number in tally.transactions.items():
        rows.setdefault((market, kind), Counter())[f"ch_{outcome}"] += number
    for (market, kind, label), number in tally.messages.items():
        rows.setdefault((market, kind), Counter())[label] += number
    return {
        "rules_version": gateway.engine.version,
        "engine": gateway.engine.name,
        "envelopes": {
            "taken_in": done.files,
            "resumed": done.resumed,
            "duplicate": done.duplicates,
            "unreadable": done.unreadable,
            "left": done.left,
        },
        "ch_messages": _count(tally.transactions),
        "kernel_messages": dict(sorted(messages.items())),
        "by_type": [
            {"market": market, "type": kind, **dict(sorted(values.items()))}
            for (market, kind), values in sorted(rows.items())
        ],
        "error_codes": {code: number for code, number in tally.codes.most_common() if number},
        "warnings": dict(tally.warnings.most_common()),
        "incidents": dict(sorted(tally.incidents.items())),
        "refusals": [{"file": place, **to_builtins(refusal)} for place, refusal in tally.told],
        "gaps": [str(gap) for gap in gaps],
        "series": _by_series(gaps),
        "judged_again": tally.reassessed,
        "given_up": gateway.give_up_overdue(),
        "invoices": [
            {
                "market": one.market,
                "invoice": one.invoice,
                "contradictions": one.contradictions,
                "contested": str(one.contested),
                "currency": one.currency,
            }
            for one in check_changed(
                InvoiceCheck(gateway.store, gateway.config.rules_folder, dict(gateway.markets.zones))
            )
        ],
    }


def _by_series(gaps: list[Refusal]) -> dict[str, list[str]]:
    """Series -> its gaps, in words."""
    found: dict[str, list[str]] = {}
    for gap in gaps:
        found.setdefault(gap.path, []).append(gap.value or "")
    return found


def _gaps(series: dict[str, list[str]]) -> Iterator[str]:
    """The gaps in a line for each series: its first missing numbers and the last, and what to do, once."""
    for name, found in series.items():
        shown = found if len(found) <= TOP_GAPS else [*found[: TOP_GAPS - 1], "...", found[-1]]
        yield f"gaps: {name}: {', '.join(shown)} ({counted(len(found), 'gap')})"
    if series:
        yield f"SERIES_GAP: {ADVICE['SERIES_GAP']}"


def _count(transactions: Counter[tuple[str, str, str]]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for (_, _, outcome), number in transactions.items():
        counted[outcome] += number
    return dict(sorted(counted.items()))


def exit_code(summary: dict[str, Any], *, strict: bool = False) -> ExitCode:
    """The exit code of a run."""
    of_ch = summary["ch_messages"]
    if summary["envelopes"]["unreadable"] or summary["envelopes"]["left"] or of_ch.get("refused") or of_ch.get(ASIDE):
        return ExitCode.UNREADABLE
    messages = summary["kernel_messages"]
    if summary["given_up"] or any(number for label, number in messages.items() if label != "accepted"):
        return ExitCode.REJECTED
    if strict and (summary["incidents"] or summary["gaps"] or summary["error_codes"] or summary["warnings"]):
        return ExitCode.REJECTED
    return ExitCode.OK


def print_summary(summary: dict[str, Any], *, dry_run: bool = False) -> None:
    """Print the summary for a person."""
    envelopes = summary["envelopes"]
    parts = [counted(envelopes["taken_in"], "envelope"), f"{counted(envelopes['duplicate'], 'duplicate')} among them"]
    if envelopes["resumed"]:
        parts.append(f"{envelopes['resumed']} taken up again")
    if envelopes["unreadable"]:
        parts.append(f"{envelopes['unreadable']} with something unreadable")
    if envelopes["left"]:
        parts.append(f"{envelopes['left']} left to another process")
    words = ", ".join(parts)
    say(f"{words} (dry run: nothing is stored)" if dry_run else words)
    if summary["by_type"]:
        outcomes = ("accepted", "rejected", "quarantined", "engine_error", "ch_duplicate", "ch_refused", "ch_put-aside")
        shown = [name for name in outcomes if any(row.get(name) for row in summary["by_type"])]
        head = ("market", "type", "CH messages", *(name.removeprefix("ch_").replace("_", " ") for name in shown))
        rows = []
        for row in summary["by_type"]:
            total = sum(number for name, number in row.items() if name.startswith("ch_"))
            rows.append((row["market"], row["type"], total, *(row.get(name, 0) for name in shown)))
        print_rows(head, rows, aligned=True)
    for title, name in (("error code", "error_codes"), ("warning", "warnings"), ("incident or note", "incidents")):
        counts = summary[name]
        if counts:
            print_rows((title, "times"), list(counts.items())[:TOP_CODES], aligned=True)
    for one in summary["refusals"][:TOP_REFUSALS]:
        say(f"{one['file']}: {convert({**one, 'file': ''}, Refusal)}")
    if len(summary["refusals"]) > TOP_REFUSALS:
        say("and more: `energycomm envelope show NUMBER` lists those of one envelope")
    for words in _gaps(summary["series"]):
        say(words)
    if summary["judged_again"]:
        say(
            f"{counted(summary['judged_again'], 'earlier message was', 'earlier messages were')} "
            "judged otherwise after a late one came"
        )
    if summary["invoices"]:
        wrong = [one for one in summary["invoices"] if one["contradictions"]]
        say(f"{counted(len(summary['invoices']), 'grid invoice')} checked, {len(wrong)} contested")
        for one in wrong[:TOP_REFUSALS]:
            found = f"{counted(one['contradictions'], 'finding')}, {one['contested']} {one['currency']} contested"
            advice = f"`energycomm invoice show {one['invoice']}`"
            say(f"{one['invoice']}: {found}: {advice}")
    if summary["given_up"]:
        say(f"{counted(summary['given_up'], 'message')} waited too long: given up")
