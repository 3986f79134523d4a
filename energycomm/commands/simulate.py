"""`energycomm simulate` and `simulate-answers`: simulated envelopes of a market, and answers to our requests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from msgspec import to_builtins

from energycomm.commands.output import Json, print_json, say
from energycomm.commands.recording import recorded
from energycomm.config import load
from energycomm.eis.requests import list_requests, show_request
from energycomm.errors import UserError
from energycomm.kernel.counting import counted
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.opening import open_store
from energycomm.simulation.answering import Asked, Manners, answer
from energycomm.simulation.faults import FaultRates, parse_faults
from energycomm.simulation.playing import Count
from energycomm.simulation.port import Simulator, load_simulator, simulated_markets
from energycomm.simulation.scenario import Scenario

AWAITING = ("built", "sent")
"""States of the requests that a simulated market answers."""


def _simulator(market: str | None) -> Simulator:
    """The simulator of a market, by default of the only one."""
    markets = list(simulated_markets())
    if market is None and len(markets) == 1:
        (market,) = markets
    known = ", ".join(markets) or "none is installed"
    if market is None:
        raise UserError("Which market is simulated is not said.", f"Give --market, one of: {known}.")
    found = load_simulator(market)
    if found is None:
        raise UserError(f"There is no simulator of the market {market!r}.", f"Markets: {known}.")
    return found


MONTHS = 6


def _faults(simulator: Simulator, words: Sequence[str], months: int | None) -> FaultRates:
    """The faults that options name, as far as the market plays them in so many months; with None, in any."""
    playable = simulator.playable()
    faults = parse_faults(words, playable)
    if isinstance(faults, Refusal):
        raise UserError(f"{faults.value!r} is no fault that can be simulated.", f"Expected: {faults.expected}.")
    unplayed = sorted(kind for kind in faults.rates if kind not in {*playable, "duplicate-file"})
    if unplayed:
        raise UserError(f"{unplayed[0]!r} is not played in this market.", f"Played: {', '.join(playable)}.")
    if faults.rates and months is not None and months < simulator.fault_months:
        raise UserError("Faults need a longer simulation.", f"Take --months {simulator.fault_months} or more.")
    return faults


def _summary(counts: Count) -> str:
    each = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.by_type.items()))
    envelopes, messages = counted(counts.envelopes, "envelope"), counted(counts.messages, "CH message")
    return f"{envelopes}, {messages} ({each}), {counted(counts.bytes, 'byte')}"


def _write_plain(simulator: Simulator, out: Path, named: str | None, size: int, seed: int, *, json: bool) -> None:
    """One plain file of about a size in bytes instead of envelopes, and what it refers to."""
    kind = named or next(iter(simulator.flat_types), "")
    if kind not in simulator.flat_types:
        known = ", ".join(simulator.flat_types) or "none in this market"
        raise UserError(f"A plain file cannot be of type {kind!r}.", f"Types: {known}.")
    written = {str(path): path.stat().st_size for path in simulator.flat_file(out, kind, size, seed)}
    if json:
        print_json({"out": str(out), "files": [{"file": name, "bytes": length} for name, length in written.items()]})
        return
    for name, length in written.items():
        say(f"{name}  {counted(length, 'byte')}")


def simulate(
    out: Annotated[Path, typer.Argument(help="Folder to write into.", show_default=False)],
    market: Annotated[
        str | None, typer.Option(help="Market to simulate, by its ISO code; by default the only one that is installed.")
    ] = None,
    access_points: Annotated[int, typer.Option(min=1, help="How many access points.")] = 100,
    months: Annotated[
        int | None,
        typer.Option(min=1, max=120, help=f"For how many months: {MONTHS}, or as many as the market's faults need."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers; equal arguments give equal bytes.")] = 1,
    first: Annotated[
        datetime, typer.Option(formats=["%Y-%m-%d"], help="First day; 2025-01-01 by default.", show_default=False)
    ] = datetime(2025, 1, 1),
    daily_share: Annotated[float, typer.Option(min=0, max=1, help="Share of points with an index every day.")] = 0.1,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=RATE",
            help="Kind of fault and its rate: wrong-order, lost-message, duplicate-file, grid_operator, product, or "
            "a single mistake by its error code.",
        ),
    ] = None,
    follow: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            help="Day from which other fluxes follow those of daily measures; adds curves. Without faults.",
        ),
    ] = None,
    encrypt: Annotated[
        str | None,
        typer.Option(help="Encrypt the envelopes: aes-128-fixed-iv or aes-256-iv-in-file."),
    ] = None,
    flat_file: Annotated[
        int | None, typer.Option(min=1, help="Instead write one plain XML file of about this many bytes.")
    ] = None,
    flat_type: Annotated[str | None, typer.Option(help="Type of the plain file; the market's first.")] = None,
    json: Json = False,
) -> None:
    """Write realistic envelopes of a market, and a truth file with the expected outcome of each message.

    Envelopes go to OUT/envelopes, the truth to OUT/truth.jsonl.

    Example: energycomm simulate --market fr --access-points 50 --months 6 --fault grid_operator=0.2 demo/
    """
    simulator = _simulator(market)
    if flat_file is not None:
        _write_plain(simulator, out, flat_type, flat_file, seed, json=json)
        return
    faults = _faults(simulator, fault or (), months)
    _check(simulator, encrypt, follow, faults)
    day = None if follow is None else follow.date()
    months = months or (max(MONTHS, simulator.fault_months) if faults.rates else MONTHS)
    scenario = Scenario(access_points, months, seed, first.date(), daily_share, faults, follow=day)
    counts = _played(simulator, scenario, out, encrypt)
    if json:
        print_json({"out": str(out), **to_builtins(counts)})
    else:
        say(f"{_summary(counts)} in {out}")


def _played(simulator: Simulator, scenario: Scenario, out: Path, encrypt: str | None) -> Count:
    try:
        return simulator.simulate(scenario, out, encrypt)
    except FileExistsError as error:
        raise UserError(f"{error}.", "Use another folder, or empty this one.") from None


def _check(simulator: Simulator, encrypt: str | None, follow: datetime | None, faults: FaultRates) -> None:
    """Refuse what a market does not play."""
    if encrypt is not None and encrypt not in simulator.schemes:
        known = ", ".join(simulator.schemes) or "none"
        raise UserError(f"{encrypt!r} is no encryption of this market.", f"Schemes: {known}.")
    if follow is not None and not simulator.follows:
        raise UserError("In this market no flux of daily measures follows another.", "Leave out --follow.")
    if follow is not None and faults.rates:
        raise UserError("Faults are not played while fluxes follow one another.", "Leave out --fault or --follow.")


@recorded("simulate-answers")
def simulate_answers(
    out: Annotated[Path, typer.Argument(help="Folder to write into.", show_default=False)],
    refuse: Annotated[float, typer.Option(min=0, max=1, help="Share of the requests that are refused.")] = 0.0,
    late: Annotated[float, typer.Option(min=0, max=1, help="Share that is answered days later.")] = 0.0,
    twice: Annotated[float, typer.Option(min=0, max=1, help="Share that is answered twice.")] = 0.0,
    disorder: Annotated[float, typer.Option(min=0, max=1, help="Share that is answered in the wrong order.")] = 0.0,
    unreported: Annotated[float, typer.Option(min=0, max=1, help="Share of orders whose report never comes.")] = 0.0,
    incomplete: Annotated[float, typer.Option(min=0, max=1, help="Share of orders of which a file never comes.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Of all chance.")] = 1,
) -> None:
    """Write the markets' answers to the built and sent requests of the EIS.

    File names give the order of arrival. Process the files like other envelopes.

    Example: energycomm simulate-answers answers/ --refuse 0.2 --twice 0.5
    """
    with open_store(load()) as store:
        found = [row for state in AWAITING for row in list_requests(store.engine, state=state, limit=10_000)]
        details = [show_request(store.engine, row.id) for row in found]
    by_market: dict[str, list[Asked]] = {}
    for detail in details:
        if detail is not None:
            row = detail.summary
            asked = Asked(row.kind, detail.content.encode(), row.reference, row.created_at)
            by_market.setdefault(row.market, []).append(asked)
    out.mkdir(parents=True, exist_ok=True)
    manners = Manners(refuse, late, twice, disorder, unreported, incomplete, seed)
    for market, requests in sorted(by_market.items()):
        deliveries = answer(_simulator(market).clerk, requests, manners)
        for number, delivery in enumerate(deliveries, 1):
            folder = out / market.lower() / f"{number:06d}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{delivery.document.name}{delivery.document.suffix}").write_bytes(delivery.document.content)
        say(
            f"{market}: {counted(len(requests), 'request')}, "
            f"{counted(len(deliveries), 'document')} in {out / market.lower()}"
        )
