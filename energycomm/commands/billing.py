"""`energycomm billing`: what a contract consumed between two days, and whether it can be billed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from energycomm.billing.period import BillingPeriod, Consumption, billing_period
from energycomm.commands.export import day_of
from energycomm.commands.output import Json, legal_time, print_facts, print_heading, print_json, print_rows
from energycomm.commands.recording import recorded
from energycomm.config import load
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.opening import open_store


@recorded("billing")
def billing(
    contract: Annotated[
        str, typer.Argument(help="Reference of the contract, or its access point.", show_default=False)
    ],
    first: Annotated[str, typer.Option("--from", help="First day, YYYY-MM-DD, in legal time.", show_default=False)],
    last: Annotated[str, typer.Option("--to", help="Last day, YYYY-MM-DD, included.", show_default=False)],
    json: Json = False,
) -> None:
    """Show the billing period of a contract: consumption by time class, terms, what is estimated or missing.

    Example: energycomm billing 123456789 --from 2026-02-01 --to 2026-02-28
    """
    config = load()
    days = day_of("--from", first), day_of("--to", last)
    with open_store(config) as store:
        found = billing_period(store.engine, contract, *days, installed_adapters(config.mapping_files))
    if json:
        print_json(found)
    else:
        _show(found)
    if not found.ready:
        raise typer.Exit(1)


def _show(found: BillingPeriod) -> None:
    print_facts(
        [
            ("contract", found.contract),
            ("access point", f"{found.access_point} ({found.market})"),
            ("days", f"{found.first} to {found.last}, both included"),
            ("ready", "yes" if found.ready else "no"),
        ]
    )
    if found.remarks:
        rows = [("no" if one.blocks else "note", one.code, one.words) for one in found.remarks]
        print_rows(("bill", "code", "why"), rows)
    _consumption("Consumption", found.consumption)
    if found.beside:
        _consumption("Beside it, not to be added", found.beside)
    times = legal_time()
    print_heading("Terms")
    print_rows(
        ("since", "tariff", "power", "unit", "calendar"),
        [
            (times.when(one.since, found.market), one.tariff, one.subscribed_power, one.power_unit, one.calendar)
            for one in found.terms
        ],
    )
    if found.meter_changes:
        print_heading("Meter changes")
        print_rows(
            ("at", "before", "after"),
            [(times.when(one.at, found.market), one.before, one.after) for one in found.meter_changes],
        )


def _consumption(heading: str, several: Sequence[Consumption]) -> None:
    print_heading(heading)
    print_rows(
        ("grid", "direction", "time class", "product", "quantity", "unit", "from index", "to index", "source", "how"),
        [
            (
                one.grid,
                one.direction,
                f"{one.time_class} ({one.calendar})" if one.calendar else one.time_class,
                one.product,
                one.quantity,
                one.unit,
                "" if one.start is None else f"{one.start.index} {one.start.unit}",
                "" if one.end is None else f"{one.end.index} {one.end.unit}",
                ", ".join(one.sources),
                "estimated" if one.estimated else "",
            )
            for one in several
        ],
    )
