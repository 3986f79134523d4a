"""Findings of an invoice, by hand: both values and the euros; and what is rightful, where nothing is found."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from energycomm.invoicing.checking import Content, Metered, PointFacts, Terms, check
from energycomm.invoicing.counting import Counts, Index
from energycomm.invoicing.words import value_in
from energycomm.kernel.messages import GridCharge
from energycomm.kernel.parts import ChargeLine, Power
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
    assert found(nine) == [("power", "9 kVA", "6 kVA", Decimal("2.49"))]
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

    assert taxed("37.500", "2025-09-01", "2025-09-30") == [("tax", "37.5 %", "20 %", Decimal("17.50"))]
    assert taxed("NS", "2025-09-01", "2025-09-30") == taxed("20.000", "2025-09-01", "2025-09-30") == []
    fixed = ("ASGBT-E", "2025-07-15", "2025-08-14", "31", "j", "0.0461", "1.43")
    assert found(line(*fixed, tax="5.5")) == found(line(*fixed, tax="20")) == []
    after = line("ASGBT-U", "2025-09-01", "2025-09-30", "30", "j", "0.046027", "1.38", tax="5.50")
    assert found(after) == [("tax", "5.5 %", "20 %", Decimal("-0.20"))]


def test_what_was_charged_before_and_not_given_back_is_charged_twice() -> None:
    before = PointFacts(terms=OURS.terms, supplied=OURS.supplied, others=[charge(CG, invoice="3100000000016")])
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


# --- corrections ------------------------------------------------------------------------------------------------------

DEAR = line("ASGBT-U", "2025-09-01", "2025-09-30", "30", "j", "0.060000", "1.80")
"""0.42 too much."""
DEAR_BACK = line("ASGBT-A", "2025-09-01", "2025-09-30", "30", "j", "-0.060000", "-1.80")


def of(number: int, *charges: GridCharge) -> list[tuple[str, str, str, Decimal]]:
    """What is found in one of several invoices of a point."""
    ours = [one for one in charges if one.invoice == str(number)]
    others = [one for one in charges if one.invoice != str(number)]
    told = PointFacts(terms=OURS.terms, supplied=OURS.supplied, others=list(others))
    found = check(Content(str(number), charges=ours), {POINT: told}, PRICES)
    return [(one.check, one.charged, one.expected, one.euros) for one in found]


@pytest.mark.parametrize("named", [None, "1"])
def test_what_is_annulled_and_charged_rightly_is_no_dispute(named: str | None) -> None:
    """Neither of the original, nor of its annulment, nor of the rectification; the second is a finding while it has the
    old price."""
    original = charge(DEAR, invoice="1")
    back = charge(DEAR_BACK, invoice="2", number="2", original_invoice=named)
    right = charge(CG, invoice="2", number="3", original_invoice=named)
    assert of(1, original) == [("price", "0.06 EUR", "0.046027 EUR", Decimal("0.42"))]
    assert of(1, original, back, right) == of(2, original, back, right) == []
    again = charge(DEAR, invoice="2", number="3", original_invoice=named)
    assert of(1, original, back, again) == []
    assert of(2, original, back, again) == [("price", "0.06 EUR", "0.046027 EUR", Decimal("0.42"))]


def test_a_correction_by_the_difference_leaves_what_it_does_not_give_back() -> None:
    original = charge(DEAR, invoice="1")

    def less(amount: str) -> GridCharge:
        return charge(
            line("ASGBT-R", "2025-09-01", "2025-09-30", "30", "j", str(Decimal(amount) / 30), amount), invoice="2"
        )

    assert of(1, original, less("-0.42")) == of(2, original, less("-0.42")) == []
    assert of(1, original, less("-0.20")) == []
    assert of(2, original, less("-0.20")) == [("price", "1.60 EUR", "1.38 EUR", Decimal("0.22"))]


def test_a_rectification_without_an_annulment_is_charged_twice() -> None:
    first, second = charge(CG, invoice="1"), charge(CG, invoice="2", number="2", original_invoice="1")
    assert of(1, first, second) == []
    assert of(2, first, second) == [("twice", "30 days", "0 days", Decimal("1.38"))]
    wrong = charge(DEAR, invoice="1")
    assert of(2, wrong, second) == [("price", "3.18 EUR", "1.38 EUR", Decimal("1.80"))]


def test_what_is_charged_twice_is_no_dispute_once_a_later_invoice_gave_it_back() -> None:
    three = [
        charge(CG, invoice="1"),
        charge(CG, invoice="2"),
        charge(line("ASGBT-R", "2025-09-01", "2025-09-30", "30", "j", "-0.046027", "-1.38"), invoice="3"),
    ]
    assert of(2, *three[:2]) == [("twice", "30 days", "0 days", Decimal("1.38"))]
    assert [of(number, *three) for number in (1, 2, 3)] == [[], [], []]


# --- what registers counted -------------------------------------------------------------------------------------------


Read = tuple[str, int, dict[str, Any]]
"""Day of an index, its value, and what else is told of it."""


def counted(*indexes: Read, changes: tuple[str, ...] = ()) -> PointFacts:
    """Facts with the indexes of the class HPB: day, value, and what else is told."""

    def at(day: str) -> int:
        return (date.fromisoformat(day) - date(1970, 1, 1)).days

    counts = Counts()
    told = []
    for day, value, more in indexes:
        plain: dict[str, Any] = {
            "at": at(day),
            "turn": 1,
            "day": date.fromisoformat(day),
            "value": Decimal(value),
            "unit": "kWh",
        }
        told.append(Index(**{**plain, **more}))
    counts.add("HPB", told, [at(day) for day in changes])
    return PointFacts(terms=OURS.terms, supplied=OURS.supplied, counts=counts)


ENERGY = line("ASSVCU4-2-U", "2025-09-01", "2025-09-30", "250", "kWh", "0.0166", "4.15")


def test_energy_is_that_between_two_indexes() -> None:
    """250 kWh are charged: 4.15 EUR; 50 of them are 0.83."""
    less = [("consumption", "250 kWh", "200 kWh", Decimal("0.83"))]
    assert found(ENERGY, facts=counted(("2025-09-01", 1000, {}), ("2025-10-01", 1200, {}))) == less
    assert found(ENERGY, facts=counted(("2025-09-01", 1000, {}), ("2025-10-01", 1250, {}))) == []
    between: list[Read] = [("2025-09-01", 1000, {}), ("2025-09-11", 1100, {}), ("2025-10-01", 1200, {})]
    assert found(ENERGY, facts=counted(*between)) == less
    # Without an index of the first or the last day nothing is known.
    assert found(ENERGY, facts=counted(("2025-09-02", 1000, {}), ("2025-10-01", 1200, {}))) == []


def test_indexes_in_wh_are_cut_off_to_whole_kwh() -> None:
    wh = {"unit": "Wh"}
    assert found(ENERGY, facts=counted(("2025-09-01", 1000900, wh), ("2025-10-01", 1250100, wh))) == []
    assert len(found(ENERGY, facts=counted(("2025-09-01", 1000900, wh), ("2025-10-01", 1200100, wh)))) == 1


def test_a_register_passes_its_last_digit_and_an_index_has_a_coefficient() -> None:
    """From 99900 to 150 with five digits are 250; 50 steps of 5 kWh are 250."""
    over = {"digits": 5, "rollover": True}
    assert found(ENERGY, facts=counted(("2025-09-01", 99900, {}), ("2025-10-01", 150, over))) == []
    assert len(found(ENERGY, facts=counted(("2025-09-01", 99900, {}), ("2025-10-01", 100, over)))) == 1
    assert found(ENERGY, facts=counted(("2025-09-01", 99900, {}), ("2025-10-01", 100, {}))) == []
    five = {"coefficient": Decimal(5)}
    assert found(ENERGY, facts=counted(("2025-09-01", 10, five), ("2025-10-01", 60, {}))) == []
    assert len(found(ENERGY, facts=counted(("2025-09-01", 10, five), ("2025-10-01", 50, {})))) == 1


def test_a_change_of_meter_is_bridged_by_both_its_indexes() -> None:
    """100 kWh on the old meter, 150 on the new one."""
    old, new = ("2025-09-10", 1100, {"turn": 0}), ("2025-09-10", 0, {"turn": 2})
    ends: list[Read] = [("2025-09-01", 1000, {}), ("2025-10-01", 150, {})]
    change = ("2025-09-10",)
    assert found(ENERGY, facts=counted(ends[0], old, new, ends[1], changes=change)) == []
    short = line("ASSVCU4-2-U", "2025-09-01", "2025-09-30", "200", "kWh", "0.0166", "3.32")
    assert found(short, facts=counted(ends[0], old, new, ends[1], changes=change)) == [
        ("consumption", "200 kWh", "250 kWh", Decimal("-0.83"))
    ]
    assert found(short, facts=counted(ends[0], new, ends[1], changes=change)) == []
    assert found(short, facts=counted(ends[0], ("2025-10-01", 1250, {}), changes=change)) == []


def test_energy_of_two_invoices_is_held_against_the_indexes_together() -> None:
    """What a later invoice gives back counts; what is left is a finding of the later one."""
    facts = counted(("2025-09-01", 1000, {}), ("2025-10-01", 1200, {}))
    first = charge(ENERGY, invoice="1")
    for back, amount, left in (
        ("-50", "-0.83", []),
        ("-20", "-0.33", [("consumption", "230 kWh", "200 kWh", Decimal("0.50"))]),
    ):
        less = charge(line("ASSVCU4-2-R", "2025-09-01", "2025-09-30", back, "kWh", "0.0166", amount), invoice="2")
        for ours, other, expected in ((first, less, []), (less, first, left)):
            facts.others = [other]
            told = check(Content(ours.invoice, charges=[ours]), {POINT: facts}, PRICES)
            assert [(one.check, one.charged, one.expected, one.euros) for one in told] == expected


def test_energy_of_days_that_were_not_ours_is_not_due() -> None:
    late = PointFacts(terms=OURS.terms, supplied=[(date(2025, 9, 16), None)])
    assert found(ENERGY, facts=late) == [("supply", "30 days", "15 days", Decimal("2.08"))]


def test_one_is_told_as_one_in_both_languages() -> None:
    assert [value_in(text, "en") for text in ("1 day", "2 days", "0 days", "5 EUR")] == [
        "1 day", "2 days", "0 days", "5 EUR",
    ]  # fmt: skip
    assert [value_in(text, "fr") for text in ("1 day", "2 days", "0 days", "1 charge", "9 charges", "5 EUR")] == [
        "1 jour", "2 jours", "0 jour", "1 valorisation", "9 valorisations", "5 EUR",
    ]  # fmt: skip
    one_day = line("ASGBT-U", "2025-09-01", "2025-09-01", "1", "j", "0.046027", "0.05")
    gone = PointFacts(terms=OURS.terms, supplied=[(date(2025, 1, 1), date(2025, 8, 31))])
    assert found(one_day, facts=gone) == [("supply", "1 day", "0 days", Decimal("0.05"))]


def test_a_finding_names_its_source() -> None:
    content = Content("1", charges=[charge(DEAR, invoice="1")])
    (told,) = check(content, {POINT: OURS}, PRICES)
    assert told.source is not None
    assert "TURPE 7" in told.source
    assert "2025-08-01" in told.source


# --- what an outsider would send --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "told",
    [
        # 15.48 EUR a year, 29 of the 366 days of 2024.
        line("ASGBT-U", "2024-02-01", "2024-02-29", "29", "j", "0.042295", "1.23", tax="5.50"),
        # 16.20 EUR a year: 16 days of 2024 and 15 of 2025.
        line("ASGBT-U", "2024-12-16", "2025-01-15", "31", "j", "0.044321", "1.37", tax="5.50"),
        # 20.88 EUR a year for 17 days, 22.44 for 14.
        line("ASCLBT-U", "2025-01-15", "2025-02-14", "31", "j", "0.059136", "1.83", tax="5.50"),
        # Given back at the rate of its days, after that rate had ended.
        line("ASGBT-R", "2025-07-01", "2025-07-31", "31", "j", "-0.046356", "-1.44", tax="5.50"),
        # 7.50 ct for 31 days, 7.49 for 31: 100 kWh.
        line("ASSVCU4-4-U", "2025-07-01", "2025-08-31", "100", "kWh", "0.07495", "7.50"),
    ],
)
def test_right_lines_of_special_days_are_free_of_findings(told: ChargeLine) -> None:
    assert found(told) == []


def test_a_change_of_power_and_of_tariff_inside_a_month_is_right_by_its_days() -> None:
    """14 days of 6 kVA CU4 at 10.11 EUR a year, 16 days of 9 kVA MU4 at 12.12."""
    changed = PointFacts(
        terms=[Terms(date(2020, 1, 1), "BTINFCU4", Decimal(6)), Terms(date(2025, 9, 15), "BTINFMU4", Decimal(9))],
        supplied=OURS.supplied,
    )
    new = {"tariff": "BTINFMU4", "subscribed_power": Decimal(9)}
    lines = [
        line("ASSFCU4-U", "2025-09-01", "2025-09-14", "84", "j.kVA", "0.027699", "2.33"),
        line("ASSFMU4-U", "2025-09-15", "2025-09-30", "144", "j.kVA", "0.033205", "4.78", **new),
        line("ASSVCU4-2-U", "2025-09-01", "2025-09-14", "100", "kWh", "0.0166", "1.66"),
        line("ASSVMU4-2-U", "2025-09-15", "2025-09-30", "100", "kWh", "0.0161", "1.61", **new),
    ]
    assert found(*lines, facts=changed) == []
    late = line("ASSFMU4-U", "2025-09-10", "2025-09-30", "189", "j.kVA", "0.033205", "6.28", **new)
    assert {one[0] for one in found(lines[0], late, facts=changed)} == {"tariff", "power", "twice"}


def test_the_tariff_of_the_energy_is_that_of_the_contract_too() -> None:
    """1000 kWh of HPH: 7.00 ct of MU4 in place of 7.49 of CU4 are 4.90 too little."""
    other = line("ASSVMU4-4-U", "2025-11-01", "2025-11-30", "1000", "kWh", "0.07", "70.00", tariff="BTINFMU4")
    assert found(other) == [("tariff", "BTINFMU4", "BTINFCU4", Decimal("-4.90"))]


def test_meters_of_two_kinds_are_charged_beside_each_other() -> None:
    lines = [line(code, "2025-09-01", "2025-09-30", "30", "j", "0.060274", "1.81") for code in ("ASCLBT-U", "ASCPBT-U")]
    assert found(*lines) == []


def test_a_line_is_its_quantity_times_its_price_whatever_it_charges() -> None:
    """50 EUR once are 50 EUR; 105 EUR are 55 too much. The price is right, so that it is not found besides."""
    visit = line("F140", "2025-09-10", "2025-09-10", "1", "UNITE", "50", "105.00", tariff=None, subscribed_power=None)
    management = line("ASGBT-U", "2025-09-01", "2025-09-30", "30", "j", "0.046027", "9.38")
    assert found(visit, management) == [
        ("amount", "105.00 EUR", "50.00 EUR", Decimal("55.00")),
        ("amount", "9.38 EUR", "1.38 EUR", Decimal("8.00")),
    ]


def test_the_total_with_tax_is_that_of_the_others() -> None:
    totals = {"total_excluding_tax": Decimal("1.38"), "total_tax": Decimal("0.28"), "charges": 1}
    wrong = invoiced(charge(CG), **totals, total_including_tax=Decimal("11.66"))
    assert wrong == [("gross", "11.66 EUR", "1.66 EUR", Decimal("10.00"))]
    assert invoiced(charge(CG), **totals, total_including_tax=Decimal("1.66")) == []


def test_an_energy_that_is_charged_twice_is_contested_once() -> None:
    """100 kWh were read in September and charged on both invoices: the second charges 1.66 EUR too much, not 3.32.
    Two lines of 50 kWh each are right where 100 kWh were read."""
    first, last = date(2025, 9, 1), date(2025, 9, 30)
    facts = PointFacts(terms=OURS.terms, supplied=OURS.supplied, metered=[Metered(first, last, {"HPB": Decimal(100)})])
    energy = line("ASSVCU4-2-U", "2025-09-01", "2025-09-30", "100", "kWh", "0.0166", "1.66")
    facts.others = [charge(energy, invoice="3100000000009")]
    (again,) = check(Content("3100000000017", charges=[charge(energy)]), {POINT: facts}, PRICES)
    assert (again.check, again.charged, again.expected, again.euros) == ("twice", "100 kWh", "0 kWh", Decimal("1.66"))
    half = line("ASSVCU4-2-U", "2025-09-01", "2025-09-30", "50", "kWh", "0.0166", "0.83")
    facts.others = [charge(half, invoice="3100000000009")]
    assert check(Content("3100000000017", charges=[charge(half)]), {POINT: facts}, PRICES) == []


F12_FIXED = line(
    "FSOUECHO", "2025-09-01", "2025-09-30", "210", "kW.j", "0.1", "21.00",
    tariff="HTACU5", subscribed_power=None, nature="CSF",
)  # fmt: skip


def high_voltage(powers: dict[str, int], weighted: int, **contract: int) -> list[tuple[str, str, str, Decimal]]:
    """Findings of a month of an F12: 7 kW on 30 days are 210 kW.j for 21.00 EUR."""
    told = {name: Decimal(value) for name, value in contract.items()}
    facts = PointFacts(terms=[Terms(date(2020, 1, 1), "HTACU5", Decimal(9), told)], supplied=OURS.supplied)
    named = tuple(Power(time_class=name, value=Decimal(value), unit="kW") for name, value in powers.items())
    one = charge(F12_FIXED, market_type="F12", powers=named, weighted_power=Decimal(weighted))
    return [
        (each.check, each.charged, each.expected, each.euros)
        for each in check(Content("120000000017", charges=[one]), {POINT: facts}, PRICES)
    ]


def test_the_powers_of_time_classes_are_those_of_the_contract() -> None:
    """One power in all classes is the weighted one: 1 kW of 7 is 3.00 of 21.00 EUR. Else the weights are not known."""
    assert high_voltage({"HPH": 7, "HPB": 7}, 7, HPH=7, HPB=7) == []
    assert high_voltage({"HPH": 7, "HPB": 7}, 7, HPH=6, HPB=6) == [("power", "7 kW", "6 kW", Decimal("3.00"))]
    assert high_voltage({"HPH": 7, "HPB": 9}, 7, HPH=7, HPB=8) == [("power", "HPB 9 kW", "HPB 8 kW", Decimal("0.00"))]
    assert high_voltage({"HPH": 7, "HPB": 7}, 7) == []  # nothing is known of the contract


def test_the_quantity_is_the_weighted_power_on_the_days_charged() -> None:
    """6 kW on 30 days are 180 kW.j: of 210 for 21.00 EUR, 3.00 are too much."""
    found = high_voltage({"HPH": 7, "HPB": 9}, 6, HPH=7, HPB=9)
    assert found == [("quantity", "210 kW.j", "180 kW.j", Decimal("3.00"))]
