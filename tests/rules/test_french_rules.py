"""French messages judged by all rules together: a good one breaks none, a fault gives its codes and no others."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from energycomm.engine.parallel import ParallelEngine
from energycomm.kernel.history import RegisterFacts
from energycomm.kernel.parts import Volume
from tests.rules.good import OWN, SUPPLIER, at, base, four, good, line, registers

ENDED: dict[str, Any] = {
    "supplied": False,
    "supplied_until": False,
    "supply_end": at("2024-09-20T00:01:00+02:00"),
    "reference_ended": True,
    "days_since_end": 14,
}
"""Our supply ended two weeks before."""

RUNNING: dict[str, Any] = {
    "supplied": True,
    "supply_start": at("2024-04-30T00:01:00+02:00"),
    "supply_reference": "248912973",
}
"""A supply period of ours runs."""


def energy(kwh: int) -> tuple[Volume, ...]:
    """The supplier's only energy."""
    return (Volume(grid="supplier", time_class="BASE", quantity=Decimal(kwh), unit="kWh"),)


@pytest.mark.parametrize("kind", OWN)
def test_a_good_message_breaks_no_rule_and_gives_no_warning(engine: ParallelEngine, kind: str) -> None:
    verdict = engine.judge(*good(kind))
    assert verdict.findings == ()
    assert verdict.label == "accepted"
    assert verdict.actions


def codes(engine: ParallelEngine, kind: str, past: dict[str, Any] | None = None, **changes: Any) -> str:
    """Codes of all findings, in order, each once."""
    findings, fault = engine.validate(*good(kind, past, **changes))
    assert fault is None
    return " ".join(dict.fromkeys(finding.error_code for finding in findings))


FAULTS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    # points and heads
    ("FR-P01", "StartOfSupply", {"access_point": "996605996820"}, {}),
    ("FR-P02", "MeterReading", {"access_point": None}, {}),
    ("FR-P03", "StartOfSupply", {"supplier": "17XFICTIF97FC48X"}, {}),
    ("FR-P04", "MeterReading", {"receiver": "17XFICTIF97FC48X"}, {}),
    ("FR-P06", "AccessPointData", {"segment": "C4"}, {}),
    ("FR-P10", "AccessPointData", {"service_level": "9"}, {}),
    ("CO-E03 FR-P04", "CustomerData", {"receiver": "17XFICTIFA42DFAX"}, {}),
    ("FR-E01", "MeterReading", {"sender": "ENEDIS"}, {}),
    # supply periods
    ("CO-S01", "StartOfSupply", {}, RUNNING),
    ("CO-S02", "StartOfSupply", {}, ENDED),
    ("CO-S03", "EndOfSupply", {}, ENDED),
    ("CO-S05", "ContractTerms", {}, {"event_repeated": True}),
    ("FR-S01", "ContractTerms", {}, ENDED),
    ("FR-S02", "MeterReading", {}, ENDED),
    ("FR-S03", "EndOfSupply", {"contract_status": "in-service"}, {}),
    ("FR-S04", "AccessPointData", {"market_reason": "MES", "contract_status": "terminated"}, {}),
    ("FR-S05", "AccessPointData", {"contract_status": "terminated"}, {}),
    ("FR-S06", "CustomerData", {"market_reason": "ZZZZ"}, {}),
    ("FR-S07", "MeterData", {"market_reason": None}, {}),
    ("FR-S12", "MeterReading", {"market_type": "C15", "market_reason": "MDPRM"}, {}),
    # contract
    ("FR-C01", "CustomerData", {"contract_reference": None}, {}),
    ("FR-C02", "CustomerData", {"contract_reference": "RSC-1"}, {}),
    ("FR-C03", "ContractTerms", {"tariff": None}, {}),
    ("FR-C04", "ContractTerms", {"tariff": "BTINFXX9"}, {}),
    ("FR-C06", "ContractTerms", {"subscribed_power": Decimal(6000)}, {}),
    ("FR-C07", "ContractTerms", {"power_unit": "kW"}, {}),
    ("FR-C08", "ContractTerms", {"calendar": "INCONNU"}, {}),
    ("FR-C11", "ContractTerms", {}, {"contract_sequence": 3}),
    # days
    ("CO-D01 FR-D03", "CustomerData", {"effective": at("2026-10-04T00:01:00+02:00")}, {}),
    ("FR-D01", "CustomerData", {"effective": at("1999-10-04T00:01:00+02:00")}, {}),
    ("FR-D04 FR-D05", "ContractTerms", {"contract_start": date(2024, 10, 5)}, {}),
    # customer and meter
    ("FR-U01", "CustomerData", {"category": None}, {}),
    ("FR-U02", "CustomerData", {"surname": None}, {}),
    ("FR-U04", "CustomerData", {"title": "Dr"}, {}),
    ("FR-M01", "MeterData", {"meter": None}, {}),
    ("FR-M02", "MeterData", {"meter_type": "XXX"}, {}),
    # readings
    ("CO-R01", "MeterReading", {"registers": ()}, {}),
    ("CO-R02", "MeterReading", {"registers": (base(), *four(), base())}, {}),
    ("CO-R03 CO-R05", "MeterReading", {"registers": registers(value=-1, previous_value=None)}, {}),
    ("CO-R05", "MeterReading", {"registers": registers(value=15_269, previous_value=None)}, {}),
    ("CO-R04 CO-R07 FR-R03", "MeterReading", {"registers": registers(value=15_276_608)}, {}),
    ("CO-R08", "MeterReading", {"registers": registers(previous_value=15_277)}, {}),
    ("FR-R03", "MeterReading", {"registers": registers(value=15_276 + 44_000)}, {}),
    ("FR-R01", "MeterReading", {"registers": registers(value=15_276_608, unit="Wh", digits=8)}, {}),
    ("FR-R06", "MeterReading", {"calendar": "DN999999"}, {}),
    ("FR-R07", "MeterReading", {"calendar": "DI000009"}, {}),
    ("FR-R08 FR-R09", "MeterReading", {"calendar": "DI000002"}, {}),
    ("FR-R10", "MeterReading", {"function": "replace", "correlation": "1"}, {"original_found": True}),
    ("FR-R15", "MeterReading", {"registers": registers(coefficient=Decimal(0))}, {}),
    # volumes
    ("CO-D03", "MeteredVolume", {"start": at("2024-10-04T00:01:00+02:00")}, {}),
    ("CO-V01", "MeteredVolume", {"volumes": ()}, {}),
    ("CO-V03", "MeteredVolume", {"volumes": energy(-1)}, {}),
    ("FR-V02", "MeteredVolume", {"volumes": energy(100_000)}, {}),
    # charges
    ("CO-G01", "GridCharge", {"lines": ()}, {}),
    ("CO-G02", "GridCharge", {"total_excluding_tax": Decimal("32.76")}, {}),
    ("CO-G03", "GridCharge", {"lines": (line(amount=Decimal(33)),), "total_excluding_tax": Decimal(33)}, {}),
    ("CO-G04", "GridCharge", {}, {"charge_repeated": True}),
    ("CO-G05", "GridInvoice", {"total_including_tax": Decimal("121.00")}, {}),
    ("FR-G01", "GridInvoice", {"currency": "USD"}, {}),
    ("FR-G08 FR-G09", "GridCharge", {"lines": (line(subscribed_power=Decimal(600), end=date(2024, 10, 4)),)}, {}),
    # requests
    ("CO-A02", "RequestStatus", {"milestone": 2}, {}),
    ("CO-A03", "RequestStatus", {"milestone": 5}, {"request_state": "done", "request_milestone": 4}),
    ("FR-A03", "RequestStatus", {"state_code": "ZZZZ"}, {}),
    ("FR-A06", "RequestStatus", {"state_code": "CPRE", "status_code": "COURS"}, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "kind", "changes", "past"), FAULTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_fault_gives_its_codes_and_no_others(
    engine: ParallelEngine, expected: str, kind: str, changes: dict[str, Any], past: dict[str, Any]
) -> None:
    assert codes(engine, kind, past, **changes) == expected


def test_real_life_passes(engine: ParallelEngine) -> None:
    """What looks odd and is right: the traps of the published formats."""
    rounded = (
        RegisterFacts(index_wh=15_276_608, unit_wh=1, at=at("2024-10-03T00:00:00+02:00"), days=1.0, estimated=False),
    )
    assert codes(engine, "MeterReading", {"registers": rounded}, registers=(base(15_276),), calendar=None) == ""
    zero = (
        RegisterFacts(
            index_wh=999_990_000, unit_wh=1000, at=at("2024-09-04T00:00:00+02:00"), days=30.0, estimated=False
        ),
    )
    assert codes(engine, "MeterReading", {"registers": zero}, registers=(base(12, rollover=True),), calendar=None) == ""
    other = (
        RegisterFacts(
            index_wh=90_000_000, unit_wh=1000, at=at("2024-01-04T00:00:00+01:00"), days=300.0, estimated=False
        ),
    )
    assert codes(engine, "MeterReading", {"registers": other}, registers=(base(12),), calendar=None) == "", (
        "another supplier's time"
    )
    daily = {
        "market_type": "R151",
        "market_reason": None,
        "contract_reference": None,
        "sender": "ERDF",
        "registers": (),
    }
    wh = (base(15_670_608, unit="Wh", digits=None),)
    midnight = at("2024-10-05T00:00:00+02:00")
    assert codes(engine, "MeterReading", {"registers": ()}, **(daily | {"registers": wh, "effective": midnight})) == ""


def test_a_change_of_point_data_may_come_on_the_day_of_the_exit(engine: ParallelEngine) -> None:
    same_day = {**ENDED, "supply_end": at("2024-10-04T00:00:30+02:00"), "days_since_end": 0}
    late = {"market_reason": "MDPRM", "contract_status": "terminated"}
    assert codes(engine, "AccessPointData", same_day, **late) == ""
    assert codes(engine, "AccessPointData", {**same_day, "days_since_end": 1}, **late) == "FR-S01"
    assert codes(engine, "AccessPointData", same_day, market_reason="CMAT") == "FR-S01"


def test_the_index_at_the_exit_is_ours_and_the_next_is_not(engine: ParallelEngine) -> None:
    final = {**ENDED, "supply_end": at("2024-10-04T00:01:00+02:00"), "supplied_until": True, "reference_ended": False}
    assert codes(engine, "MeterReading", final) == ""
    assert codes(engine, "MeterReading", {**final, "supplied_until": False}) == "FR-S02"


UNKNOWN: dict[str, Any] = {
    "supplied": False,
    "supplied_until": False,
    "supply_start": None,
    "supply_reference": None,
    "reference_known": False,
    "supplier": None,
}
"""An access point that nothing is known of."""

STRANGE = {**ENDED, "reference_known": False, "reference_ended": False}
"""Our supply ended, and the contract reference of the message is not one of ours."""

WAITS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("EndOfSupply of the running contract", "StartOfSupply", {"contract_reference": "310000001"}, RUNNING),
    ("StartOfSupply of the contract", "EndOfSupply", {}, UNKNOWN),
    ("StartOfSupply of the contract", "EndOfSupply", {"contract_reference": "310000001"}, {"reference_known": False}),
    ("StartOfSupply of the contract", "ContractTerms", {}, UNKNOWN),
    ("StartOfSupply of the contract", "AccessPointData", {}, UNKNOWN),
    ("StartOfSupply of the contract", "CustomerData", {}, UNKNOWN),
    ("StartOfSupply of the contract", "MeterData", {}, UNKNOWN),
    ("StartOfSupply of the contract", "MeterReading", {}, UNKNOWN),
    ("StartOfSupply of the contract", "MeterReading", {"contract_reference": "310000001"}, STRANGE),
    ("StartOfSupply of the contract", "MeteredVolume", {}, UNKNOWN),
    ("StartOfSupply of the access point", "GridCharge", {}, UNKNOWN),
    ("original reading", "MeterReading", {"function": "cancel", "correlation": "1", "registers": ()}, {}),
    ("original volume", "MeteredVolume", {"function": "cancel", "correlation": "1"}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "kind", "changes", "past"), WAITS)
def test_a_message_whose_predecessor_is_missing_waits(
    engine: ParallelEngine, words: str, kind: str, changes: dict[str, Any], past: dict[str, Any]
) -> None:
    verdict = engine.judge(*good(kind, past, **changes))
    assert (verdict.label, verdict.waits_for, verdict.findings) == ("quarantined", words, ())


@pytest.mark.parametrize("kind", ["GridInvoice", "RequestStatus", "StartOfSupply"])
def test_what_needs_no_supply_does_not_wait(engine: ParallelEngine, kind: str) -> None:
    assert engine.judge(*good(kind, {**UNKNOWN, "request_known": False})).label == "accepted"


def test_a_code_is_judged_on_the_day_of_the_message(engine: ParallelEngine) -> None:
    early = {"created": at("2017-07-02T05:00:00+02:00"), "effective": at("2017-07-01T00:01:00+02:00")}
    days = {"contract_start": date(2017, 7, 1), "sequence_start": date(2017, 7, 1)}
    assert (
        codes(engine, "ContractTerms", {"supply_start": at("2017-01-01T00:00:00+01:00")}, **early, **days) == "FR-C04"
    )


def test_a_refused_supply_event_is_told_at_once(engine: ParallelEngine) -> None:
    verdict = engine.judge(*good("EndOfSupply", ENDED))
    assert verdict.label == "rejected"
    assert [action.argument for action in verdict.actions] == ["supply-event-rejected"]


def test_a_suspected_unit_stops_invoicing(engine: ParallelEngine) -> None:
    verdict = engine.judge(*good("MeterReading", registers=registers(value=15_276_608)))
    assert {action.argument for action in verdict.actions} == {"message-rejected", "unit-suspected", "index-to-claim"}


def test_comments_show_the_values_in_both_languages(engine: ParallelEngine) -> None:
    (finding,) = engine.validate(*good("StartOfSupply", supplier="17XFICTIF97FC48X")).findings
    assert "17XFICTIF97FC48X" in finding.comment
    assert SUPPLIER in finding.comment_fr
    assert finding.comment != finding.comment_fr
