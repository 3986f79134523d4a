"""Complete invoices are checked by themselves: whatever comes first, and once."""

from __future__ import annotations

import shutil
from datetime import date, datetime
from decimal import Decimal
from itertools import permutations
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from energycomm.eis.database import reading
from energycomm.invoicing.gathering import InvoiceCheck
from energycomm.invoicing.keeping import check_changed, contested
from energycomm.market.contract import Transaction
from tests.invoicing.invoices import CG, POINT, charge, general, line
from tests.pipeline.desk import Desk
from tests.pipeline.story import start, transaction

RULES = Path(__file__).parents[2] / "rules"
FIRST, SECOND = "3100000000017", "3100000000018"
DEAR = line("ASGBT-U", "2025-09-01", "2025-09-30", "30", "j", "0.060000", "1.80")
BACK = line("ASGBT-A", "2025-09-01", "2025-09-30", "30", "j", "-0.060000", "-1.80")


def sent() -> dict[str, Transaction]:
    """An invoice with 0.42 EUR too much, and a second one that annuls and rectifies it; in four files."""
    later = {"invoice": SECOND, "reference": "2", "invoice_date": date(2025, 11, 5)}
    return {
        "general": transaction([general(charges=1, total_excluding_tax=Decimal("1.80"))]),
        "charge": transaction([charge(DEAR)]),
        "second general": transaction([general(**later, charges=2, total_excluding_tax=Decimal("-0.42"))]),
        "corrections": transaction(
            [
                charge(BACK, number="2", **later | {"reference": "2"}, original_invoice=FIRST),
                charge(CG, number="3", **later | {"reference": "3"}, original_invoice=FIRST),
            ]
        ),
    }


def test_a_complete_invoice_is_checked_once_and_again_when_its_corrections_come(database_url: str) -> None:
    """In every order that files may come in: while the first is complete alone it is contested."""
    desk = Desk(database_url)
    checker = InvoiceCheck(desk.store, RULES, desk.markets.zones)
    files = sent()
    desk.deliver([files["charge"]])
    assert check_changed(checker) == []
    desk.deliver([files["general"]])
    (found,) = check_changed(checker)
    assert (found.invoice, found.contradictions, found.contested) == (FIRST, 1, Decimal("0.42"))
    assert check_changed(checker) == []
    with reading(desk.database) as connection:
        assert contested(connection) == [("EUR", 1, Decimal("0.42"))]
    desk.deliver([files["second general"], files["corrections"]])
    assert [(one.invoice, one.contradictions) for one in check_changed(checker)] == [(FIRST, 0), (SECOND, 0)]
    with reading(desk.database) as connection:
        assert contested(connection) == []


def test_the_order_of_the_files_does_not_matter(tmp_path: Path) -> None:
    ends = set()
    for number, order in enumerate(permutations(sent())):
        if number % 4:
            continue  # each file is first, and last, in some that are left
        desk = Desk(f"sqlite:///{tmp_path / f'{number}.db'}")
        checker = InvoiceCheck(desk.store, RULES, desk.markets.zones)
        for name in order:
            desk.deliver([sent()[name]])
            check_changed(checker)
        ends.add(tuple(desk.rows("SELECT market, invoice, contested, contradictions FROM invoice_check ORDER BY 2")))
    assert ends == {(("FR", FIRST, "0.00", 0), ("FR", SECOND, "0.00", 0))}


def test_what_an_invoice_depends_on_makes_it_be_checked_again(tmp_path: Path) -> None:
    """A supply that begins in the middle of the month; a price list that changes. A reading of later does not."""
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    rules = tmp_path / "rules"
    shutil.copytree(RULES / "fr", rules / "fr")
    checker = InvoiceCheck(desk.store, rules, desk.markets.zones)
    desk.deliver([transaction([charge(CG), general(charges=1, total_excluding_tax=Decimal("1.38"))])])
    assert [one.contradictions for one in check_changed(checker)] == [0]
    desk.deliver([start("99000000000999", datetime(2025, 9, 16, tzinfo=ZoneInfo("Europe/Paris")))])
    assert check_changed(checker) == []
    desk.deliver([start(POINT, datetime(2025, 9, 16, tzinfo=ZoneInfo("Europe/Paris")))])
    (found,) = check_changed(checker)
    assert (found.contradictions, found.contested) == (1, Decimal("0.69"))
    table = rules / "fr" / "grid_prices.csv"
    table.write_text(table.read_text("utf-8").replace(",16.80,", ",8.40,"), "utf-8")
    (found,) = check_changed(InvoiceCheck(desk.store, rules, desk.markets.zones))
    assert found.contradictions == 2
    assert check_changed(InvoiceCheck(desk.store, rules, desk.markets.zones)) == []


@pytest.mark.parametrize("charges", [2, 9])
def test_an_invoice_with_missing_charges_waits(tmp_path: Path, charges: int) -> None:
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    checker = InvoiceCheck(desk.store, RULES, desk.markets.zones)
    desk.deliver([transaction([charge(CG), general(charges=charges, total_excluding_tax=Decimal("1.38"))])])
    assert check_changed(checker) == []
