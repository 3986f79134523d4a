"""Codes are data, keyed by market, list and code, and valid on days."""

from __future__ import annotations

from datetime import date

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.codes import CodeEntry, CodeLists


def test_a_code_is_found_on_the_days_it_is_valid(small: Catalogue) -> None:
    codes = small.codes
    assert codes.get("FR", "tariff", "T2", date(2019, 12, 31)) is None
    assert codes.get("FR", "tariff", "T2", date(2020, 1, 1)) is not None
    assert codes.get("FR", "tariff", "T2", date(2023, 12, 31)) is not None
    assert codes.get("FR", "tariff", "T2", date(2024, 1, 1)) is None


def test_a_code_has_labels_in_languages(small: Catalogue) -> None:
    day = date(2024, 1, 1)
    assert small.codes.label("FR", "tariff", "T1", day) == "First tariff"
    assert small.codes.label("FR", "tariff", "T1", day, "fr") == "Premier tarif"
    assert small.codes.label("FR", "tariff", "T1", day, "nl") is None
    assert small.codes.label("FR", "tariff", "T9", day) is None


def test_a_market_without_a_list_reads_the_common_one() -> None:
    codes = CodeLists((CodeEntry("common", "unit", "kWh"), CodeEntry("NL", "unit", "MTQ")))
    day = date(2024, 1, 1)
    assert codes.get("FR", "unit", "kWh", day) is not None
    assert codes.get("NL", "unit", "kWh", day) is None
    assert codes.has("FR", "unit")
    assert not codes.has("FR", "tariff")
