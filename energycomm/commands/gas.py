"""`energycomm gas`: calorific values, and volumes of gas turned into energy."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

import typer

from energycomm.choices import advice_of
from energycomm.commands.output import Form, Json, listed, print_facts, print_json
from energycomm.config import load
from energycomm.eis.calorific import energy, published
from energycomm.errors import UserError
from energycomm.kernel.counting import counted
from energycomm.pipeline.opening import open_store

app = typer.Typer(no_args_is_help=True, help="Calorific values, and volumes of gas as energy.")

Station = Annotated[str | None, typer.Option("--station", help="EAN-GSRN of the receiving station.")]
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
_VOLUME = re.compile(r"[0-9]{1,12}([.,][0-9]{1,6})?")


@app.command()
@listed
def values(
    form: Form,
    month: Annotated[str | None, typer.Option("--month", help="Only this month, YYYY-MM.")] = None,
    station: Station = None,
) -> None:
    """List the calorific values in force: for each month the latest publication.

    Example: energycomm gas values --month 2026-03
    """
    with open_store(load()) as store:
        found = published(store.engine, None if month is None else _month(month), station)
        if not found and station is not None and not published(store.engine, None, station):
            there = {one.station for one in published(store.engine)}
            raise UserError(f"{station!r} is no station with a calorific value.", advice_of(station, sorted(there)))
    rows = [(one.market, one.month, one.station, one.name, one.value, one.message_id) for one in found]
    head = ("market", "month", "station", "name", "kWh/m3", "message")
    form.show(found, head, rows, counted(len(rows), "calorific value"))


@app.command()
def convert(
    volume: Annotated[str, typer.Argument(help="Volume in m3 under normal conditions.", show_default=False)],
    month: Annotated[str, typer.Option("--month", help="Month of the volume, YYYY-MM.")],
    station: Annotated[str, typer.Option("--station", help="EAN-GSRN of the receiving station.")],
    json: Json = False,
) -> None:
    """Convert a volume of gas into energy with the calorific value of its month and station.

    Example: energycomm gas convert 125.3 --month 2026-03 --station 541450000000000016
    """
    cubic_metres = _volume(volume)
    with open_store(load()) as store:
        found = published(store.engine, _month(month), station)
    if not found:
        raise UserError(
            f"No calorific value of {station} in {month} is published.",
            "`energycomm gas values` lists those that are; take in the file of the month.",
        )
    (value,) = found[:1]
    if not value.value:
        raise UserError(
            f"The station {station} was out of use in {month}.",
            "Ask the grid operator for the station of the access point.",
        )
    result = energy(cubic_metres, value.value)
    if json:
        print_json({"volume": cubic_metres, "value": value.value, "energy": result, "message": value.message_id})
        return
    print_facts(
        [("volume", f"{cubic_metres} m3"), ("calorific value", f"{value.value} kWh/m3"), ("energy", f"{result} kWh")]
    )


def _month(text: str) -> str:
    if not _MONTH.fullmatch(text):
        raise UserError(f"{text} is no month.", "Write it YYYY-MM.")
    return text


def _volume(text: str) -> Decimal:
    if not _VOLUME.fullmatch(text):
        raise UserError(f"{text} is no volume.", "Write cubic metres, at most six decimals: 125.3.")
    return Decimal(text.replace(",", "."))
