"""`energycomm assistant dataset`: what models of the verdicts learn from, built and described."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from energycomm.commands.output import Json, print_facts, print_heading, print_json, print_rows, say
from energycomm.commands.recording import recorded

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from assistant.classifier.material import Origin
    from assistant.classifier.port import Card, Example
    from energycomm.eis.store import Store

app = typer.Typer(no_args_is_help=True, help="What models of the verdicts learn from.")

Dataset = Annotated[Path | None, typer.Option("--data", help="The data set; the one built last by default.")]


@app.callback()
def dataset() -> None:
    """What models of the verdicts learn from."""


@app.command()
@recorded("assistant dataset build")
def build(
    out: Annotated[Path | None, typer.Option(help="File to write; that of the assistant's folder by default.")] = None,
    eis: Annotated[bool, typer.Option("--eis/--no-eis", help="Take messages of the EIS.")] = True,
    simulate: Annotated[
        int, typer.Option(min=0, help="Access points to simulate in each market, with faults; 0 for none.")
    ] = 250,
    months: Annotated[int, typer.Option(min=6, help="For how many months they are simulated.")] = 14,
    first: Annotated[
        datetime,
        typer.Option(
            formats=["%Y-%m-%d"], help="First day of the simulation; 2024-09-01 by default.", show_default=False
        ),
    ] = datetime(2024, 9, 1),
    market: Annotated[list[str] | None, typer.Option(help="Simulate only this market; may be repeated.")] = None,
    per_code: Annotated[int, typer.Option(min=1, help="Messages with one error code at most.")] = 100,
    tokens: Annotated[int, typer.Option(min=32, help="Maximum number of words of a text.")] = 160,
    without: Annotated[
        list[str] | None, typer.Option(help="Error code whose rule is left out of the data set; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all chance.")] = 1,
    json: Json = False,
) -> None:
    """Build a data set from the EIS, from simulations with faults, and from messages generated around every rule.

    Example: energycomm assistant dataset build --simulate 300
    """
    from assistant.classifier.dataset import Amounts, Builder
    from assistant.classifier.serialisation import Serialiser
    from assistant.classifier.simulated import Lives, simulated_store
    from assistant.classifier.storage import dataset_file
    from assistant.config import load_config
    from energycomm import logs
    from energycomm.config import load
    from energycomm.market.installed import installed_adapters
    from energycomm.pipeline.gateway import open_catalogue, open_engine
    from energycomm.pipeline.opening import open_store

    config = load()
    logs.configure(config.log_format, config.log_level)
    catalogue = open_catalogue(config.rules_folder)
    held_out = known_codes_only(catalogue, without or [])
    serialiser = Serialiser(catalogue, tokens, held_out)
    builder = Builder(
        catalogue,
        open_engine(catalogue, config.engine, config.curve_tolerance),
        installed_adapters(config.mapping_files),
        serialiser,
        Amounts(per_code=per_code, accepted=3 * per_code, near=max(3, per_code // 8), seed=seed),
        _told,
    )
    sources: dict[Origin, AbstractContextManager[Store]] = {"eis": open_store(config)} if eis else {}
    if simulate:
        markets = tuple(one.lower() for one in market or ())
        sources["simulated"] = simulated_store(config, Lives(markets, simulate, months, first.date(), seed))
    builder.take(sources)
    builder.vary()
    arguments = {"eis": eis, "simulate": simulate, "months": months, "first": first.date().isoformat()}
    arguments |= {"per_code": per_code, "seed": seed, "without": sorted(held_out)}
    card, examples = builder.result({"arguments": arguments})
    _written(out or dataset_file(load_config()), card, examples, json)


@app.command("show")
def show(data: Dataset = None, json: Json = False) -> None:
    """Describe a data set: origin, parts, frequency of each code.

    Example: energycomm assistant dataset show
    """
    _answer(chosen(data), json)


def chosen(dataset: Path | None) -> Path:
    """The data set that is meant."""
    from assistant.classifier.storage import dataset_file
    from assistant.config import load_config

    return dataset or dataset_file(load_config())


def known_codes_only(catalogue: object, codes: list[str]) -> frozenset[str]:
    """Error codes, each of them that of a rule.

    Raises:
      UserError: no rule has one of them.
    """
    from assistant.classifier.variation import judging
    from energycomm.engine.catalogue import Catalogue
    from energycomm.errors import UserError

    assert isinstance(catalogue, Catalogue)
    known = {rule.error_code for rule in judging(catalogue)}
    for code in codes:
        if code not in known:
            raise UserError(f"No rule of incoming messages gives the error {code}.", "`energycomm rules list`")
    return frozenset(codes)


def _written(file: Path, card: Card, examples: Iterable[Example], json: bool) -> None:
    from assistant.classifier.port import write_dataset

    write_dataset(file, card, examples)
    _answer(file, json)


def _answer(file: Path, json: bool) -> None:
    from assistant.classifier.port import read_card

    if json:
        print_json({"file": str(file), "card": read_card(file)})
    else:
        _describe(file)


def _describe(file: Path) -> None:
    from assistant.classifier.port import dataset_hash, read_card

    card = read_card(file)
    made = card.made
    print_facts(
        [
            ("data set", file),
            ("hash", dataset_hash(file)),
            ("rules", list(card.rules_versions)),
            ("words of a text", card.tokens),
            ("months kept from", made.get("months_from")),
            ("held out", made.get("held_out")),
            ("without example", made.get("no_example")),
        ]
    )
    for title, counts in (("Parts", card.counts), *((k.capitalize(), made.get(k)) for k in ("origins", "markets"))):
        print_heading(title)
        print_rows(("what", "examples"), sorted((counts or {}).items()))
    print_heading("Error codes")
    often = sorted(card.codes, key=lambda code: (-card.codes[code], code))
    print_rows(("code", "examples"), [(code, card.codes[code]) for code in often])


def _told(line: str) -> None:
    say(line, err=True)
