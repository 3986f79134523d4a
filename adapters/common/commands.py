"""`energycomm adapter`: adapters of markets, begun from a schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    """Write the draft of a new market: package, table of its leaves, fixtures, rules, tests, entry point.

    Example: energycomm adapter new dk --schema measures.xsd --sample measures.xml --name dk_energinet
    """
    # Imported here: the help needs none of it.
    from adapters.common.draft import write_draft

    draft = write_draft(market, schema, sample or [], into, package=name, zone=zone)
    for path in draft.files:
        typer.echo(str(path))
    typer.echo(
        f"{draft.placed} leaves go to a field of a Kernel message, {draft.particulars} are kept as particulars, "
        f"{draft.unplaced} may stand several times and are to be placed"
    )
    for fixture, (found, refused) in draft.digested.items():
        typer.echo(f"{fixture}: {found} CH messages, {refused} refused")
    typer.echo(f"Go on in {draft.folder / 'table.yaml'}: docs/adapters.md says how.")
