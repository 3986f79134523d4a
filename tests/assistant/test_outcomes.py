"""Which accepted messages turned out to be wrong: single charges that are contested or given back."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

from assistant.invariants.outcomes import taken_back
from energycomm.invoicing.gathering import InvoiceCheck
from energycomm.invoicing.keeping import check_changed
from tests.invoicing.invoices import CG, POINT, SERVICE, charge, general, line
from tests.pipeline.desk import Desk
from tests.pipeline.story import start, transaction

RULES = Path(__file__).parents[2] / "rules"
DEAR = line("ASGBT-U", "2025-09-01", "2025-09-30", "30", "j", "0.060000", "1.80")
"""The price list has 1.38 for these days."""
BACK = line("ASGBT-A", "2025-09-01", "2025-09-30", "30", "j", "-0.060000", "-1.80")
LATER = {"invoice": "3100000000018"}


def supplied(database_url: str) -> Desk:
    """A store in which the access point is ours since the summer."""
    desk = Desk(database_url)
    desk.deliver([start(POINT, datetime(2025, 8, 1, tzinfo=ZoneInfo("Europe/Paris")))])
    return desk


def labelled(desk: Desk) -> dict[str, str]:
    """Reference of a charge -> how it turned out to be wrong."""
    check_changed(InvoiceCheck(desk.store, RULES, desk.markets.zones))
    found = taken_back(desk.store, RULES, desk.markets.zones)
    rows = desk.rows("SELECT message_id, reference FROM grid_charge")
    return {reference: found[number] for number, reference in rows if number in found}


def test_of_an_invoice_only_the_charge_that_is_contradicted_is_contested(database_url: str) -> None:
    desk = supplied(database_url)
    desk.deliver([transaction([general(charges=2, total_excluding_tax=Decimal("106.80"))])])
    desk.deliver([transaction([charge(DEAR, number="1"), charge(SERVICE, number="2")])])
    assert labelled(desk) == {"1": "contested"}


def test_a_charge_that_was_given_back_is_credited_under_whatever_code(database_url: str) -> None:
    desk = supplied(database_url)
    desk.deliver([transaction([charge(DEAR, number="1"), charge(SERVICE, number="2")])])
    desk.deliver([transaction([charge(BACK, number="3", **LATER), charge(CG, number="4", **LATER)])])
    assert labelled(desk) == {"1": "credited"}


def test_a_charge_that_names_the_invoice_gives_back_a_part(database_url: str) -> None:
    less = line("ASGBT-R", "2025-09-01", "2025-09-30", "30", "j", "-0.014", "-0.42")
    desk = supplied(database_url)
    desk.deliver([transaction([charge(DEAR, number="1"), charge(SERVICE, number="2")])])
    desk.deliver([transaction([charge(less, number="3", original_invoice="3100000000017", **LATER)])])
    assert labelled(desk) == {"1": "credited"}
