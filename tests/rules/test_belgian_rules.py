"""Belgian messages judged by all rules together: good ones break none, a fault gives its codes and no others."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from msgspec import structs

from adapters.be_atrias import adapter
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.parallel import ParallelEngine
from energycomm.engine.rule import RULE_SETS
from energycomm.kernel.history import History
from energycomm.kernel.messages import KernelMessage, MeasureSeries
from energycomm.kernel.parts import AnswerReason, Register
from tests.adapters.belgian import OTHER, OWN, SUPPLIER, messages, request


def at(text: str) -> datetime:
    """An instant of its ISO text."""
    return datetime.fromisoformat(text)


def test_belgium_has_rules_in_both_directions(rules: Catalogue) -> None:
    sets = {rule.rule_set for rule in rules.rules if rule.market == "BE"}
    assert sets == set(RULE_SETS)


SUPPLIED: dict[str, Any] = {
    "known": True,
    "supplied": True,
    "supplied_until": True,
    "supply_start": at("2026-01-01T00:00:00+01:00"),
    "supply_reference": "AC-2026-0001",
    "reference_known": True,
    "supplier": SUPPLIER,
    "subscribed_power": Decimal("13.8"),
}
"""An access of ours runs."""

GOOD = [
    ("start_by_switch.xml", {}),
    ("start_by_move.xml", {}),
    ("start_by_combined_switch.xml", {}),
    ("stop_by_switch.xml", SUPPLIED),
    ("stop_by_move_out.xml", SUPPLIED),
    ("change_of_access.xml", SUPPLIED),
    ("master_data.xml", SUPPLIED),
    ("readings_march.xml", SUPPLIED),
    ("series_days.xml", SUPPLIED),
    ("series_25_hours.xml", SUPPLIED),
    ("grid_fee_invoice.xml", {}),
    ("grid_fee.xml", SUPPLIED),
    ("cancellation.xml", {}),
    ("responses.xml", {}),
    ("error_report.xml", {}),
    ("utilmd_stop_and_answers.edi", SUPPLIED | {"supply_start": at("2025-11-01T00:00:00+01:00")}),
    ("calorific_2026_05_preamble_order.csv", {}),
]
"""Fixtures without a mistake, and what is known of their points."""


@pytest.mark.parametrize(("name", "past"), GOOD, ids=[name for name, _ in GOOD])
def test_good_messages_break_no_rule(engine: ParallelEngine, name: str, past: dict[str, Any]) -> None:
    for message in messages(name):
        findings, fault = engine.validate(message, History(**past))
        assert fault is None
        assert [finding.error_code for finding in findings if finding.severity == "error"] == []


def codes(engine: ParallelEngine, message: KernelMessage, **past: Any) -> str:
    """Codes of all errors, in order, each once."""
    findings, fault = engine.validate(message, History(**past))
    assert fault is None
    return " ".join(dict.fromkeys(one.error_code for one in findings if one.severity == "error"))


FAULTS: list[tuple[str, str, int, dict[str, Any], dict[str, Any]]] = [
    ("BE-P01", "start_by_switch.xml", 0, {"access_point": "541449000000001018"}, {}),
    ("BE-P02", "start_by_switch.xml", 1, {"access_point": None}, {}),
    ("BE-P04", "start_by_switch.xml", 0, {"supplier": OTHER}, {}),
    ("BE-P05", "change_of_access.xml", 0, {"receiver": OTHER}, SUPPLIED),
    ("BE-P07", "master_data.xml", 0, {"service_level": "SMR9"}, SUPPLIED),
    ("BE-E01", "start_by_switch.xml", 0, {"sender": "CLEARINGHOUSE"}, {}),
    ("BE-E04", "start_by_switch.xml", 1, {"market_reason": "E0Z"}, {}),
    ("BE-S01", "start_by_switch.xml", 0, {"effective": at("2026-03-01T12:00:00+01:00")}, {}),
    ("BE-S03", "start_by_switch.xml", 0, {"balance_responsible": None}, {}),
    ("BE-S04", "start_by_switch.xml", 0, {"market_reason": "E66"}, {}),
    ("BE-S05", "stop_by_switch.xml", 0, {"market_reason": "E65"}, SUPPLIED),
    ("BE-S07", "stop_by_switch.xml", 0, {"new_supplier": SUPPLIER}, SUPPLIED),
    ("CO-S01", "start_by_switch.xml", 0, {}, SUPPLIED),
    ("BE-S06", "start_by_switch.xml", 0, {"contract_reference": None},
     SUPPLIED | {"supply_start": at("2026-03-01T00:00:00+01:00")}),
    ("BE-C01", "change_of_access.xml", 0, {"contract_kind": "E77"}, SUPPLIED),
    ("BE-C02", "change_of_access.xml", 0, {"subscribed_power": Decimal(0)}, SUPPLIED),
    ("BE-U04", "start_by_combined_switch.xml", 3, {"company_id": "0123456748"}, {}),
    ("BE-M04", "start_by_switch.xml", 4, {"meter_type": "SUNDIAL"}, {}),
    ("BE-R01", "readings_march.xml", 0,
     {"registers": (Register(grid="distributor", time_class="TH", value=1, unit="m3"),)}, SUPPLIED),
    ("BE-R03", "readings_march.xml", 0,
     {"registers": (Register(grid="distributor", time_class="XX", value=1, unit="kWh"),)}, SUPPLIED),
    ("BE-V05 CO-V05", "series_days.xml", 0, {"resolution": 30}, SUPPLIED),
    ("BE-V07", "series_days.xml", 0, {"product": "8716867000099"}, SUPPLIED),
    ("BE-V08", "series_days.xml", 0, {"product": "natural-gas"}, SUPPLIED),
    ("BE-G01", "grid_fee_invoice.xml", 0, {"currency": "USD"}, {}),
    ("BE-A01", "responses.xml", 2, {"code": None}, {}),
    ("BE-A02", "responses.xml", 2, {"reasons": (AnswerReason(code="E17"), AnswerReason(code="Q17"))}, {}),
    ("BE-A03", "error_report.xml", 0, {"correlation": None}, {}),
    ("BE-V13", "calorific_2026_05_preamble_order.csv", 0, {"value": Decimal("114.1")}, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "name", "number", "changes", "past"), FAULTS, ids=[fault[0] + fault[1] for fault in FAULTS]
)
def test_a_fault_gives_its_codes_and_no_others(
    engine: ParallelEngine, expected: str, name: str, number: int, changes: dict[str, Any], past: dict[str, Any]
) -> None:
    message = structs.replace(messages(name)[number], **changes)
    assert codes(engine, message, **past) == expected


def test_a_quarter_too_few_does_not_fit_the_day(engine: ParallelEngine) -> None:
    (series,) = messages("series_25_hours.xml")
    assert isinstance(series, MeasureSeries)
    assert codes(engine, structs.replace(series, positions=series.positions[:-1]), **SUPPLIED) == "CO-V05"
    assert codes(engine, structs.replace(series, positions=series.positions[1:]), **SUPPLIED) == "CO-V05 CO-V06"


PAST: dict[str, dict[str, Any]] = {
    "SupplierSwitchRequest": {},
    "MoveInRequest": {},
    "CombinedSwitchRequest": {},
    "CancellationRequest": {"request_known": True, "request_state": "sent"},
}


@pytest.mark.parametrize("kind", sorted(adapter.builds))
def test_a_whole_request_breaks_no_rule(engine: ParallelEngine, kind: str) -> None:
    message = request(kind)
    assert codes(engine, message, **PAST.get(kind, SUPPLIED)) == ""
    assert engine.judge(message, History(**PAST.get(kind, SUPPLIED))).label == "accepted"


OUT: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("BE-P52", "MoveInRequest", {"access_point": "541449000000001018"}, {}),
    ("BE-E54", "MoveInRequest", {"sender_role": "grid-operator"}, {}),
    ("BE-D51", "MoveInRequest", {"requested_date": None}, {}),
    ("BE-D52", "SupplierSwitchRequest", {"requested_date": date(2026, 2, 1)}, {}),
    ("BE-D53", "SupplierSwitchRequest", {"requested_date": date(2027, 3, 1)}, {}),
    ("BE-D54", "MoveInRequest", {"requested_date": date(2025, 12, 1)}, {}),
    ("BE-D55", "EndOfSupplyRequest", {"requested_date": date(2026, 2, 5)}, SUPPLIED),
    ("BE-S51", "SupplierSwitchRequest", {}, SUPPLIED),
    ("BE-S52", "CombinedSwitchRequest", {}, SUPPLIED),
    ("BE-S53", "MoveOutRequest", {}, {}),
    ("BE-S54", "ContractChangeRequest", {}, {}),
    ("BE-S55", "MoveOutRequest", {}, SUPPLIED | {"supply_start": at("2026-03-01T00:00:00+01:00")}),
    ("BE-A51", "MoveInRequest", {}, {"pending_requests": 1}),
    ("BE-A52", "CancellationRequest", {"correlation": None}, {}),
    ("BE-A53", "CancellationRequest", {"cancelled_kind": "MeteredDataRequest"}, {}),
    ("BE-A54", "CancellationRequest", {"requested_date": date(2026, 2, 1)}, {}),
    ("BE-A55", "CancellationRequest", {}, {"request_known": True, "request_state": "done"}),
    ("BE-U53", "MoveInRequest", {"company_id": None}, {}),
    ("BE-U54", "MoveInRequest", {"company_id": "0123456748"}, {}),
    ("BE-U55", "SupplierSwitchRequest", {"consent": None}, {}),
    ("BE-C51", "MoveInRequest", {"balance_responsible": None}, {}),
    ("BE-C52", "MoveInRequest", {"supplier": OTHER}, {}),
    ("BE-C54", "ContractChangeRequest", {"tariff": None, "calendar": None}, SUPPLIED),
    ("BE-V52", "MeteredDataRequest", {"start": date(2026, 1, 31), "end": date(2026, 1, 1)}, SUPPLIED),
    ("BE-V53", "MeteredDataRequest", {"start": date(2020, 1, 1)}, SUPPLIED),
    ("BE-V54", "MeteredDataRequest", {"end": date(2026, 2, 1)}, SUPPLIED),
    ("BE-V55", "MeteredDataRequest", {"consent": False}, {}),
    ("BE-R51", "MeterReadingSubmission", {"registers": ()}, SUPPLIED),
]


@pytest.mark.parametrize(
    ("expected", "kind", "changes", "past"), OUT, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_the_market_would_refuse_we_refuse_first(
    engine: ParallelEngine, expected: str, kind: str, changes: dict[str, Any], past: dict[str, Any]
) -> None:
    assert codes(engine, request(kind, **changes), **past) == expected


def test_every_kind_that_is_built_has_rules_and_is_told(rules: Catalogue) -> None:
    assert set(OWN) == set(adapter.builds)
    for kind in adapter.builds:
        assert len(rules.rules_for("validation_out", "BE", kind)) >= 7, kind
        assert rules.rules_for("rejection_out", "BE", kind), kind


CANCELLED = [("start_by_switch.xml", SUPPLIED | {"supply_start": at("2026-03-01T00:00:00+01:00")}),
             ("stop_by_switch.xml", SUPPLIED | {"supply_end": at("2026-06-01T00:00:00+02:00")})]  # fmt: skip


@pytest.mark.parametrize(("name", "past"), CANCELLED, ids=["start", "stop"])
def test_a_cancellation_is_accepted_after_what_it_takes_back_and_waits_before(
    engine: ParallelEngine, name: str, past: dict[str, Any]
) -> None:
    cancelled = structs.replace(messages(name)[0], function="cancel", correlation="X-1", market_reason="E05")
    verdict = engine.judge(cancelled, History(**past))
    assert verdict.findings == ()
    assert verdict.label == "accepted"
    assert [action.verb for action in verdict.actions] == ["close-supply", "notify"]
    assert engine.judge(cancelled, History()).label == "quarantined"
