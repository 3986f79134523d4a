"""`energycomm adapter`: adapters of markets, begun from a schema, and what becomes of each leaf that a market sends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from energycomm.commands.output import Json, print_json, print_rows, say
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.counting import counted
from energycomm.market.installed import installed_adapters

if TYPE_CHECKING:
    from adapters.common.coverage import Entry

OUTCOMES = ("carried", "particular", "left-out", "missing")

app = typer.Typer(no_args_is_help=True, help="Adapters of markets.")


@app.callback()
def adapter() -> None:
    """Adapters of markets."""


@app.command()
def new(
    market: Annotated[str, typer.Argument(help="Code of the market: the two letters of its country.")],
    schema: Annotated[list[Path], typer.Option(help="XML Schema or JSON Schema of what the market sends.")],
    sample: Annotated[list[Path] | None, typer.Option(help="A message that becomes a fixture.")] = None,
    into: Annotated[Path, typer.Option(help="Folder to write to.")] = Path(),
    name: Annotated[str | None, typer.Option(help="Name of the package: dk_energinet.")] = None,
    zone: Annotated[str | None, typer.Option(help="Legal time; that of the country's capital by default.")] = None,
) -> None:
    """Write the draft of an adapter for a new market: package, table, fixtures, rules, tests, entry point.

    Example: energycomm adapter new dk --schema measures.xsd --sample measures.xml --name dk_energinet
    """
    # Imported here: the help needs none of it.
    from adapters.common.draft import write_draft

    draft = write_draft(market, schema, sample or [], into, package=name, zone=zone)
    for path in draft.files:
        say(str(path))
    say(
        f"{counted(draft.placed, 'leaf goes', 'leaves go')} to a field of a Kernel message, "
        f"{draft.particulars} are kept as particulars, "
        f"{draft.unplaced} may stand several times and are to be placed"
    )
    for fixture, (found, refused) in draft.digested.items():
        say(f"{fixture}: {counted(found, 'CH message')}, {refused} refused")
    say(f"Go on in {draft.folder / 'table.yaml'}: docs/adapters.md says how.")
    if (draft.folder.parent / "pyproject.toml").is_file():
        say(f"Install it: pip install -e {draft.folder.parent}")
    say(f"Then: energycomm adapter check {market.lower()}; energycomm adapter coverage {market.lower()}")


@app.command()
def check(
    market: Annotated[str, typer.Argument(help="Code of the market.")],
    fixtures: Annotated[
        Path | None, typer.Option(help="Folder of its fixtures; the one beside its package by default.")
    ] = None,
    requests: Annotated[
        Path | None, typer.Option(help="Folder of its example requests; `requests` beside the fixtures by default.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show the checks that passed too.")] = False,
    json: Json = False,
) -> None:
    """Hold an installed market to the contract: the conformance suite, on its fixtures and on complete requests.

    What has no fixture is told as not shown. The exit code is 1 where a check failed.

    Example: energycomm adapter check dk --fixtures fixtures
    """
    # Imported here: the help needs none of it.
    from adapters.common.conformance.findings import findings
    from adapters.common.conformance.subject import subject_of
    from adapters.common.conformance.suite import CHECKS

    found = list(findings(subject_of(market, fixtures, requests), CHECKS))
    counts = {outcome: sum(one.outcome == outcome for one in found) for outcome in ("passed", "failed", "not shown")}
    if json:
        print_json([one._asdict() for one in found])
    else:
        for one in found:
            if every or one.outcome != "passed":
                say(f"{one.outcome}: {' '.join((one.check, one.of)).strip()}{one.found and ': ' + one.found}")
                if one.outcome == "failed":
                    say(f"    {one.advice}")
        say(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    if counts["failed"]:
        raise typer.Exit(ExitCode.REJECTED)


@app.command()
def coverage(
    market: Annotated[str | None, typer.Argument(help="Code of the market; every installed one by default.")] = None,
    leaves: Annotated[bool, typer.Option("--leaves", help="Show every leaf.")] = False,
    json: Json = False,
) -> None:
    """Count the leaves that a market sends: carried by a Kernel field, kept as particulars, left out with a reason.

    Each leaf is measured: another value of it gives other Kernel messages, or it does not.

    Example: energycomm adapter coverage fr --leaves
    """
    # Imported here: the help needs none of it.
    from adapters.common.coverage import Ledger, LedgerFault, entries, ledgered
    from adapters.common.schemaleaves import SchemaFault

    installed = installed_adapters()
    chosen = [installed[market.upper()]] if market else list(installed.values())
    found: list[tuple[str, str, Entry]] = []
    for adapter in chosen:
        try:
            ledger = ledgered(adapter) or Ledger((), Path())
            if market and not ledger.documents:
                raise UserError(
                    f"No schema of what {adapter.market} sends is known: its leaves cannot be counted.",
                    "Name the schema of each document in table.yaml, or give the adapter a ledger: docs/adapters.md.",
                )
            reasons = ledger.reasoned() if ledger.documents else ()
            for document in ledger.documents:
                found += [(adapter.market, document.label, one) for one in entries(adapter, document, reasons)]
        except (LedgerFault, SchemaFault) as fault:
            raise UserError(str(fault), "Correct the adapter's ledger, see docs/adapters.md.") from None
        unknown = ledger.unknown or (() if ledger.documents else ("what it sends",))
        if unknown:
            say(f"{adapter.market}: no schema is known of {', '.join(unknown)}", err=True)
    documents = list(dict.fromkeys((code, label) for code, label, _ in found))
    if json:
        print_json(
            [
                {"market": code, "document": label, **_counted(found, code, label)}
                | ({"each": [one._asdict() for *of, one in found if of == [code, label]]} if leaves else {})
                for code, label in documents
            ]
        )
        return
    if leaves:
        rows = [(label, one.path, one.outcome, ", ".join(one.fields) or one.reason) for _, label, one in found]
        print_rows(("document", "leaf", "outcome", "field or reason"), rows, counted(len(rows), "leaf", "leaves"))
        return
    counts = [(code, label, *_counted(found, code, label).values()) for code, label in documents]
    markets = list(dict.fromkeys(code for code, _ in documents))
    counts += [(code, "all", *_counted(found, code).values()) for code in markets]
    print_rows(("market", "document", "leaves", *OUTCOMES), counts, counted(len(found), "leaf", "leaves"))


def _counted(found: list[tuple[str, str, Entry]], market: str, label: str | None = None) -> dict[str, int]:
    """Of one document, or of all of a market: its leaves, and how many have each outcome."""
    outcomes: list[str] = [one.outcome for code, of, one in found if code == market and label in (None, of)]
    return {"leaves": len(outcomes)} | {name: outcomes.count(name) for name in OUTCOMES}
