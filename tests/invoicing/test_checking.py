"""Findings of an invoice, by hand: both values and the euros; and what is rightful, where nothing is found."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from energycomm.invoicing.checking import Content, Metered, PointFacts, Terms, check
from energycomm.kernel.messages import GridCharge
from energycomm.kernel.parts import ChargeLine
from tests.invoicing.invoices import CG, OURS, POINT, PRICES, SERVICE, charge, general, line


def found(*lines: ChargeLine, facts: PointFacts = OURS) -> list[tuple[str, str, str, Decimal]]:
    content = Content("3100000000017", charges=[charge(*lines)])
    return [(one.check, one.charged, one.expected, one.euros) for one in check(content, {POINT: facts}, PRICES)]


def invoiced(*charges: GridCharge, **told: Any) -> list[tuple[str, str, str, Decimal]]:
    content = Content("3100000000017", parts=[general(**told)], charges=list(charges))
    return [(one.check, one.charged, one.expected, one.euros) for one in check(content, {POINT: OURS}, PRICES)]


def test_the_head_is_held_against_its_details() -> None:
    net = invoiced(charge(SERVICE), total_excluding_tax=Decimal(500), charges=1)
    assert net == [("net", "500 EUR", "105.00 EUR", Decimal("395.00"))]
    three = [charge(SERVICE, number=str(number)) for number in range(3)]
    count = invoiced(*three, total_excluding_tax=Decimal(945), charges=9)
    assert count == [("count", "9 charges", "3 charges", Decimal("630.00"))]
    tax = invoiced(charge(SERVICE), total_excluding_tax=Decimal(105), total_tax=Decimal(99), charges=1)
    assert tax == [("tax-sum", "99 EUR", "21.00 EUR", Decimal("78.00"))]
    right = {"total_excluding_tax": Decimal(105), "total_tax": Decimal(21), "charges": 1}
    assert invoiced(charge(SERVICE), **right) == []


def test_a_sum_of_the_recapitulation_is_that_of_its_lines() -> None:
    told = ChargeLine(code="F140", count=1, start=date(2025, 9, 1), amount=Decimal(95), tax="20")
    assert invoiced(charge(SERVICE), total_excluding_tax=Decimal(105), charges=1, sums=(told,)) == [
        ("recapitulation", "95 EUR", "105.00 EUR", Decimal(0))
    ]


def test_a_price_of_another_list_is_found_with_its_euros() -> None:
    """16.92 EUR a year were the price until July: 30 days of it are 1.39."""
    old = line("ASGBT-U", "2025-09-01", "2025-09-30", "30", "j", "0.060000", "1.80")
    assert found(old) == [("price", "0.06 EUR", "0.046027 EUR", Decimal("0.42"))]


@pytest.mark.parametrize("days", ["0.046027", "0.045902"])
def test_a_year_of_365_or_366_days_is_right_either_way(days: str) -> None:
    assert found(line("ASGBT-U", "2025-09-01", "2025-09-30", "30", "j", days, "1.38")) == []


def test_a_line_across_a_change_of_prices_is_right_by_its_days() -> None:
    """6 kVA of CU4: 31 days at 10.08 and 31 at 10.11 EUR a year each."""
    amount = (Decimal("10.08") + Decimal("10.11")) * 6 * 31 / 365
    whole = line(
        "ASSFCU4-U",
        "2025-07-01",
        "2025-08-31",
        "372",
        "j.kVA",
        "0.027658",
        format(amount, ".2f"),
        tax_date=date(2025, 8, 31),
    )
    assert found(whole) == []


def test_the_power_of_each_day_is_that_of_the_contract() -> None:
    """9 kVA in place of 6: a third of 30 x 9 x 10.11 / 365 = 7.48 too much."""
    nine = line(
        "ASSFCU4-U", "2025-09-01", "2025-09-30", "270", "j.kVA", "0.027699", "7.48", subscribed_power=Decimal(9)
    )
    assert found(nine) == [("power", "9", "6", Decimal("2.49"))]
    changed = PointFacts(
        terms=[Terms(date(2020, 1, 1), "BTINFCU4", Decimal(9)), Terms(date(2025, 10, 1), "BTINFCU4", Decimal(6))],
        supplied=OURS.supplied,
    )
    assert found(nine, facts=changed) == []


def test_the_tariff_is_that_of_the_contract() -> None:
    """6 kVA of MU4 at 12.12 in place of CU4 at 10.11, 30 days: 5.98 and 4.99."""
    other = line("ASSFMU4-U", "2025-09-01", "2025-09-30", "180", "j.kVA", "0.033205", "5.98", tariff="BTINFMU4")
    assert found(other) == [("tariff", "BTINFMU4", "BTINFCU4", Decimal("0.99"))]


def test_days_before_or_after_our_supply_are_not_ours() -> None:
    late = PointFacts(terms=OURS.terms, supplied=[(date(2025, 9, 16), None)])
    assert found(CG, facts=late) == [("supply", "30 days", "15 days", Decimal("0.69"))]
    assert found(CG, facts=PointFacts()) == []


def test_energy_is_that_between_the_readings() -> None:
    metered = PointFacts(
        terms=OURS.terms, supplied=OURS.supplied,
        metered=[Metered(date(2025, 9, 1), date(2025, 9, 30), {"HPB": Decimal(200)})],
    )  # fmt: skip
    billed = line("ASSVCU4-2-U", "2025-09-01", "2025-09-30", "250", "kWh", "0.0166", "4.15")
    assert found(billed, facts=metered) == [("consumption", "250 kWh", "200 kWh", Decimal("0.83"))]
    assert found(billed) == []
    parts = [
        line("ASSVCU4-2-U", "2025-09-01", "2025-09-10", "80", "kWh", "0.0166", "1.33"),
        line("ASSVCU4-2-U", "2025-09-11", "2025-09-30", "120", "kWh", "0.0166", "1.99"),
    ]
    assert found(*parts, facts=metered) == []


def test_a_rate_is_one_of_the_days_charged() -> None:
    def taxed(rate: str, first: str, last: str) -> list[tuple[str, str, str, Decimal]]:
        return found(line("ASEXTRA", first, last, "1", "UNITE", "100", "100.00", tax=rate))

    assert taxed("37.500", "2025-09-01", "2025-09-30") == [("tax", "37.500 %", "20 %", Decimal("17.50"))]
    assert taxed("NS", "2025-09-01", "2025-09-30") == taxed("20.000", "2025-09-01", "2025-09-30") == []
    fixed = ("ASGBT-E", "2025-07-15", "2025-08-14", "31", "j", "0.0461", "1.43")
    assert found(line(*fixed, tax="5.5")) == found(line(*fixed, tax="20")) == []
    after = line("ASGBT-U", "2025-09-01", "2025-09-30", "30", "j", "0.046027", "1.38", tax="5.50")
    assert found(after) == [("tax", "5.50 %", "20 %", Decimal("-0.20"))]


def test_what_was_charged_before_and_not_given_back_is_charged_twice() -> None:
    before = PointFacts(terms=OURS.terms, supplied=OURS.supplied, before=[("F15", (CG,))])
    assert found(CG, facts=before) == [("twice", "30 days", "0 days", Decimal("1.38"))]
    back = line("ASGBT-R", "2025-09-01", "2025-09-30", "30", "j", "-0.046027", "-1.38")
    assert found(back, CG, facts=before) == []
    assert found(back, facts=before) == []


def test_a_regularisation_of_energy_and_a_credit_that_is_negative_already_are_right() -> None:
    less = line("ASSVCU4-2-U", "2025-09-01", "2025-09-30", "-50", "kWh", "0.0166", "-0.83")
    assert found(less) == []
    credit = line("FCGUECHO", "2025-09-01", "2025-09-30", "30", "c.j", "-0.45694", "-13.71", nature="CGCU", side="Z")
    content = Content("1", charges=[charge(credit, market_type="F12")])
    assert check(content, {POINT: OURS}, PRICES) == []


def test_a_day_without_a_known_price_gets_no_verdict() -> None:
    """The revision of August 2026 is not known."""
    assert found(line("ASGBT-U", "2026-09-01", "2026-09-30", "30", "j", "0.5", "15.00")) == []


def test_management_of_high_voltage_is_recomputed_in_an_f12() -> None:
    """435.72 EUR a year: 30 days of 365 are 35.81."""
    stated = {"tariff": "HTACU5", "nature": "CGEST", "subscribed_power": None}
    right = line("FCGEECHO", "2025-09-01", "2025-09-30", "30", "c.j", "1.19375", "35.81", **stated)
    dear = line("FCGEECHO", "2025-09-01", "2025-09-30", "30", "c.j", "1.30000", "39.00", **stated)
    facts = PointFacts(terms=[Terms(date(2020, 1, 1), "HTACU5", None)], supplied=OURS.supplied)
    for one, euros in ((right, []), (dear, [Decimal("3.19")])):
        content = Content("1", charges=[charge(one, market_type="F12")])
        assert [each.euros for each in check(content, {POINT: facts}, PRICES)] == euros
