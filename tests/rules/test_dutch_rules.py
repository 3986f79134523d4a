"""Dutch messages judged by all rules together: what the fixtures tell is right, a fault gives its codes and no others;
and what the market would refuse of ours is refused before it is sent."""

from __future__ import annotations

import csv
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.parallel import ParallelEngine
from energycomm.engine.rule import RULE_SETS
from energycomm.kernel.family import KINDS, is_incoming, kind_of
from energycomm.kernel.history import History, RegisterFacts
from energycomm.kernel.messages import KernelMessage, MeasureSeries, RequestAnswer
from energycomm.kernel.parts import Address, AnswerReason, FoundPoint, Position, Register
from tests.adapters.dutch import BRP, EDSN, GRID, OTHER, REQUESTS, US, digested, fixture, request, transactions

START = datetime.fromisoformat("2026-02-01T00:00:00+01:00")
SUPPLIED: dict[str, Any] = {
    "known": True,
    "supplied": True,
    "supplied_until": True,
    "supply_start": START,
    "supplier": US,
    "segment": "KVB",
    "meter": "E0041005514782119",
    "connection_status": "connected",
}
ENDED: dict[str, Any] = {
    "known": True,
    "supply_start": START,
    "supply_end": datetime.fromisoformat("2026-02-03T00:00:00+01:00"),
    "days_since_end": 30,
}

SOURCES: dict[str, tuple[str, int]] = {
    "StartOfSupply": ("gains.xml", 0),
    "EndOfSupply": ("losses.xml", 0),
    "AccessPointData": ("mutations.xml", 0),
    "ContractTerms": ("mutations.xml", 0),
    "CustomerData": ("mutations.xml", 0),
    "MeterData": ("mutations.xml", 0),
    "MeterReading": ("p4_day.xml", 0),
    "MeteredVolume": ("volumes.xml", 0),
    "MeasureSeries": ("p4_interval_25_hours.xml", 0),
    "RequestStatus": ("gains.xml", 0),
    "RequestAnswer": ("move_in_taken.xml", 0),
}
"""Kind -> fixture and number of the CH message that brings a good one."""


def good(kind: str, past: dict[str, Any] | None = None, **changes: Any) -> tuple[KernelMessage, History]:
    """A good message of a fixture and its history, with changes."""
    name, number = SOURCES[kind]
    message = next(one for one in transactions(name)[number].messages if kind_of(one) == kind)
    facts = {} if kind in ("StartOfSupply", "RequestStatus") else SUPPLIED
    return structs.replace(message, **changes), History(**{**facts, **(past or {})})


def codes(engine: ParallelEngine, kind: str, past: dict[str, Any], **changes: Any) -> str:
    """Codes of all findings, in order, each once."""
    findings, fault = engine.validate(*good(kind, past, **changes))
    assert fault is None
    return " ".join(dict.fromkeys(finding.error_code for finding in findings))


@pytest.mark.parametrize("kind", SOURCES)
def test_a_good_message_breaks_no_rule_and_gives_no_warning(engine: ParallelEngine, kind: str) -> None:
    verdict = engine.judge(*good(kind))
    assert verdict.findings == ()
    assert verdict.label == "accepted"


def test_a_start_waits_for_the_loss_of_the_supply_that_runs(engine: ParallelEngine) -> None:
    verdict = engine.judge(*good("StartOfSupply", SUPPLIED))
    assert (verdict.label, verdict.waits_for) == ("quarantined", "EndOfSupply of the running supply (LossResult)")


SEVERAL = (AnswerReason(code="227"), AnswerReason(code="199"))


def registers(**changes: Any) -> tuple[Register, ...]:
    """The registers of a day answer with changes to the first."""
    first, *rest = good("MeterReading")[0].registers  # type: ignore[attr-defined]
    return (structs.replace(first, **changes), *rest)


def positions(**changes: Any) -> tuple[Position, ...]:
    """The intervals of the long day with changes to the first."""
    first, *rest = good("MeasureSeries")[0].positions  # type: ignore[attr-defined]
    return (structs.replace(first, **changes), *rest)


EARLY = datetime.fromisoformat("2026-10-25T22:00:00+00:00")

FAULTS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    # head and points
    ("NL-E01", "MeterReading", {"sender": "8719999100402"}, {}),
    ("NL-E02", "MeterReading", {"receiver": "87199991001"}, {}),
    ("NL-E03", "MeterData", {"grid_operator": "8719999100402"}, {}),
    ("NL-E04", "MeterData", {"market_type": "Nieuws"}, {}),
    ("NL-E05", "MeterData", {"request_reference": "700400010000"}, {}),
    ("NL-E06", "StartOfSupply", {"sender_role": "grid-operator"}, {}),
    ("NL-P01", "MeterReading", {"access_point": "87199991000000001"}, {}),
    ("NL-P02", "MeterReading", {"access_point": "871999910000000011"}, {}),
    ("NL-P03", "MeterReading", {"access_point": None}, {}),
    ("NL-P04", "AccessPointData", {"segment": "C5"}, {}),
    ("NL-P05", "AccessPointData", {"invoice_month": "13"}, {}),
    ("NL-P05", "AccessPointData", {"invoice_month": "00"}, {}),
    ("NL-P09", "AccessPointData", {"profile": "G1A"}, {}),
    ("NL-P11", "AccessPointData", {"grid_area": "871999990000000013"}, {}),
    ("NL-P16", "AccessPointData", {"address": Address(postal_code="44000", country="NL")}, {}),
    ("NL-P17", "AccessPointData", {"connection_status": "not-connected"}, {}),
    ("NL-P19", "AccessPointData", {"supplier": OTHER}, {}),
    # supply
    ("NL-S01", "StartOfSupply", {"balance_responsible": None}, {}),
    ("NL-S02", "StartOfSupply", {"supplier": OTHER}, {}),
    ("NL-S03", "StartOfSupply", {"market_reason": "MTRUPD"}, {}),
    ("NL-S04", "EndOfSupply", {"market_reason": "MTRUPD"}, {}),
    ("NL-S05", "EndOfSupply", {"market_reason": "SWITCHLV", "new_supplier": US}, {}),
    ("NL-S06", "EndOfSupply", {"effective": datetime.fromisoformat("2026-03-10T06:00:00+01:00")}, {}),
    ("NL-S08", "ContractTerms", {}, {**ENDED, "supplied": False, "supplied_until": False}),
    ("NL-S09", "MeterReading", {}, {**ENDED, "supplied": False, "supplied_until": False}),
    # contract, customer, meter
    ("NL-C01", "ContractTerms", {"tariff": "BTINFCU4"}, {}),
    ("NL-C03", "ContractTerms", {"subscribed_power": Decimal(170)}, {}),
    ("NL-U01", "CustomerData", {"surname": None}, {}),
    ("NL-U02", "CustomerData", {"birth_key": "--13-01"}, {}),
    ("NL-M01", "MeterData", {"meter": None}, {}),
    # readings and series
    ("NL-R01", "MeterReading", {"registers": registers(unit="m3")}, {}),
    ("NL-R03", "MeterReading", {"registers": registers(time_class="HP")}, {}),
    ("NL-R04", "MeterReading", {"effective": datetime.fromisoformat("2026-03-11T00:00:00+00:00")}, {}),
    ("NL-R05", "MeterReading", {"created": datetime.fromisoformat("2026-05-11T00:00:00+02:00")}, {}),
    ("NL-R07", "MeterReading", {"created": datetime.fromisoformat("2026-03-10T23:00:00+01:00")}, {}),
    ("CO-V05 CO-V06", "MeasureSeries", {"positions": positions()[1:]}, {}),
    ("CO-V05 NL-V12", "MeasureSeries", {"end": EARLY, "positions": positions()[:97]}, {}),
    ("NL-V13", "MeasureSeries", {"positions": positions(value=None, quality="missing")}, {}),
    ("NL-V14", "MeasureSeries", {"positions": positions(value=Decimal(55_000))}, {}),
    ("NL-V15", "MeasureSeries", {"unit": "kWh"}, {}),
    # answers
    ("NL-A01", "RequestAnswer", {"accepted": False}, {}),
    ("NL-A02", "RequestAnswer", {"accepted": False, "code": "227", "reasons": SEVERAL}, {}),
    ("NL-A04", "RequestAnswer", {"code": "227"}, {}),
    ("NL-A07", "RequestAnswer", {"found": (FoundPoint(access_point="871999910000000011"),)}, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "kind", "changes", "past"), FAULTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_fault_gives_its_codes_and_no_others(
    engine: ParallelEngine, expected: str, kind: str, changes: dict[str, Any], past: dict[str, Any]
) -> None:
    assert codes(engine, kind, past, **changes) == expected


def test_month_thirteen_of_the_mutation_list_is_rejected_alone(engine: ParallelEngine) -> None:
    verdicts = {
        kind_of(message): engine.judge(message, History(**SUPPLIED))
        for message in transactions("mutations.xml")[1].messages
    }
    assert {kind: verdict.label for kind, verdict in verdicts.items()} == {
        "AccessPointData": "rejected",
        "ContractTerms": "accepted",
        "CustomerData": "accepted",
    }
    asked = {action.argument for action in verdicts["AccessPointData"].actions}
    assert "invoice-month-to-correct" in asked


@pytest.mark.parametrize(
    ("name", "number", "event"),
    [
        ("move_in_crossing.xml", 0, "request-crossed"),
        ("p4_day.xml", 2, "mandate-ended"),
        ("p4_day.xml", 3, "query-again-later"),
        ("search_old.xml", 0, "points-found"),
        ("contract_data.xml", 0, "contract-end-known"),
        ("files_waiting.xml", 0, "files-waiting"),
    ],
)
def test_what_an_answer_means_is_told(engine: ParallelEngine, name: str, number: int, event: str) -> None:
    message = next(one for one in transactions(name)[number].messages if isinstance(one, RequestAnswer))
    verdict = engine.judge(message, History(**SUPPLIED))
    assert verdict.label == "accepted"
    assert event in {action.argument for action in verdict.actions}


@pytest.mark.parametrize(
    ("name", "positions"),
    [
        ("p4_interval.xml", [4 * 24, 4 * 24, 24]),
        ("p4_interval_23_hours.xml", [4 * 23]),
        ("p4_interval_25_hours.xml", [4 * 25, 25]),
    ],
)
def test_days_of_every_length_are_accepted(engine: ParallelEngine, name: str, positions: list[int]) -> None:
    """Quarters of an hour for electricity, hours for gas: as many as the day has."""
    messages = [message for transaction in digested(fixture(name)).transactions for message in transaction.messages]
    series = [message for message in messages if isinstance(message, MeasureSeries)]
    assert [len(one.positions) for one in series] == positions
    assert {engine.judge(one, History(**SUPPLIED)).label for one in series} == {"accepted"}


def test_a_day_with_holes_at_its_end_is_queried_again(engine: ParallelEngine) -> None:
    (transaction,) = transactions("p4_interval_holes.xml")
    series = next(one for one in transaction.messages if isinstance(one, MeasureSeries))
    verdict = engine.judge(series, History(**SUPPLIED))
    assert [finding.error_code for finding in verdict.findings] == ["NL-V12", "NL-V13"]
    assert "query-again-later" in {action.argument for action in verdict.actions}


# --- what is ours is judged before it is sent -----------------------------------------------------------------------

LONG = Register(grid="distributor", time_class="L", value=1_234_567, unit="kWh", digits=6)
HIGHER = RegisterFacts(index_wh=10_102_000, unit_wh=1000)
NEXT_DAY = datetime.fromisoformat("2026-02-01T23:00:00+00:00")

DAY = date(2026, 3, 1)

OUT: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("NL-P51", "MoveInRequest", {"access_point": None}, {}),
    ("NL-P52", "MoveInRequest", {"access_point": "871999910000000011"}, {}),
    ("NL-P53", "MoveInRequest", {"grid_operator": None}, {}),
    ("NL-E51", "SearchRequest", {"sender": None}, {}),
    ("NL-E53", "MoveInRequest", {"receiver": GRID}, {}),
    ("NL-E54", "MoveInRequest", {"sender_role": "balance-responsible"}, {}),
    ("NL-E55", "MoveInRequest", {"supplier": OTHER}, {}),
    ("NL-E56", "MeteredDataRequest", {"receiver": EDSN}, SUPPLIED),
    ("NL-U51", "MoveInRequest", {"surname": None}, {}),
    ("NL-P53", "EndOfSupplyNotice", {"grid_operator": None}, SUPPLIED),
    ("NL-P54", "MasterDataRequest", {"grid_operator": None}, SUPPLIED),
    ("NL-D64", "MasterDataUpdate", {"balance_responsible": BRP}, SUPPLIED),
    ("NL-D65", "EndOfSupplyNotice", {"requested_date": date(2026, 1, 12)}, SUPPLIED),
    ("NL-U60", "MasterDataUpdate", {"balance_responsible": "8719999100303", "requested_date": DAY}, SUPPLIED),
    ("NL-S52", "MasterDataUpdate", {}, {"known": True}),
    ("NL-S53", "MasterDataUpdate", {}, {**SUPPLIED, "pending_requests": 1}),
    ("NL-U53", "MoveInRequest", {"balance_responsible": None}, {}),
    ("NL-U57", "ContractDataRequest", {"birth_key": None, "iban_key": None}, {}),
    ("NL-U58", "MeteredDataRequest", {"consent": False}, {}),
    ("NL-U59", "MeteredDataRequest", {}, {}),
    ("NL-D51", "MoveInRequest", {"requested_date": None}, {}),
    ("NL-D52", "SupplierSwitchRequest", {"requested_date": date(2026, 1, 12)}, {}),
    ("NL-D53", "MoveInRequest", {"requested_date": date(2025, 11, 1)}, {}),
    ("NL-D54", "MoveInRequest", {"requested_date": date(2027, 2, 1)}, {}),
    ("NL-D56", "MeteredDataRequest", {"start": date(2026, 1, 13)}, SUPPLIED),
    ("NL-D57", "MeteredDataRequest", {"start": date(2026, 1, 12), "resolution": "interval"}, SUPPLIED),
    ("NL-D58", "MeteredDataRequest", {"start": date(2025, 12, 1)}, SUPPLIED),
    ("NL-D59", "MeteredDataRequest", {"start": date(2026, 1, 1), "resolution": "interval"}, SUPPLIED),
    ("NL-D60", "MeteredDataRequest", {"start": date(2024, 12, 1), "resolution": "month"}, SUPPLIED),
    ("NL-S51", "SupplierSwitchRequest", {}, SUPPLIED),
    ("NL-S52", "MoveOutRequest", {}, {"known": True}),
    ("NL-S53", "MoveInRequest", {}, {"pending_requests": 1}),
    ("NL-S54", "EndOfSupplyRequest", {"requested_date": date(2026, 2, 1)}, SUPPLIED),
    ("NL-S55", "MoveInRequest", {}, {"connection_status": "not-connected"}),
    ("NL-R51 NL-S56", "MeterReadingSubmission", {"registers": ()}, {}),
    ("NL-R52", "MeterReadingSubmission", {"registers": (LONG,)}, SUPPLIED),
    ("NL-R53", "MeterReadingSubmission", {}, {**SUPPLIED, "registers": (HIGHER, RegisterFacts())}),
    ("NL-R54", "MeterReadingSubmission", {}, {**SUPPLIED, "segment": "GVB"}),
    ("NL-R55", "MeterReadingSubmission", {}, {**SUPPLIED, "last_reading_at": NEXT_DAY}),
    ("NL-R56", "MeterReadingSubmission", {"meter": "E2"}, SUPPLIED),
    ("NL-A51", "SearchRequest", {"address": Address(city="Testdorp")}, {}),
    ("NL-A52", "SearchRequest", {"address": Address(postal_code="44000", number="1")}, {}),
    ("NL-A54", "MeteredDataRequest", {"resolution": "week"}, SUPPLIED),
]  # fmt: skip

SENT: dict[str, Any] = {"created": datetime.fromisoformat("2026-02-02T14:00:00+01:00")}
PAST: dict[str, dict[str, Any]] = {
    "MoveOutRequest": SUPPLIED,
    "EndOfSupplyRequest": SUPPLIED,
    "MasterDataUpdate": SUPPLIED,
    "EndOfSupplyNotice": SUPPLIED,
    "MeterReadingSubmission": SUPPLIED,
    "MeteredDataRequest": SUPPLIED,
    "ContractDataRequest": {},
}
"""What is known of the point of a good request."""


def outgoing(kind: str, **changes: Any) -> KernelMessage:
    """A good request; a reading is told after its day."""
    own = {"MeterReadingSubmission": SENT, "ContractDataRequest": {"birth_key": "--04-17"}}.get(kind, {})
    return request(kind, **{**own, **changes})


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_good_request_may_be_sent(engine: ParallelEngine, kind: str) -> None:
    verdict = engine.judge(outgoing(kind), History(**PAST.get(kind, {})))
    assert verdict.findings == ()
    assert verdict.label == "accepted"


@pytest.mark.parametrize(
    ("expected", "kind", "changes", "past"), OUT, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_the_market_would_refuse_is_refused_first(
    engine: ParallelEngine, expected: str, kind: str, changes: dict[str, Any], past: dict[str, Any]
) -> None:
    verdict = engine.judge(outgoing(kind, **changes), History(**past))
    errors = [finding for finding in verdict.findings if finding.severity == "error"]
    assert " ".join(dict.fromkeys(finding.error_code for finding in errors)) == expected
    assert verdict.label == "rejected"
    assert "request-not-sent" in {action.argument for action in verdict.actions}


def test_each_refusal_of_ours_names_the_code_of_the_market(rules: Catalogue) -> None:
    """In brackets at the end of the comment, and it is one of the lists."""
    for rule in rules.rules:
        if rule.market == "NL" and rule.rule_set == "validation_out":
            code = rule.comment["en"].text.rstrip(".")[-4:-1]
            known = {*rules.codes.codes("NL", "rejection"), *rules.codes.codes("NL", "p4_rejection")}
            assert code in known, rule.error_code
            assert code in rule.source or code in rule.comment["fr"].text, rule.error_code


def test_all_six_sets_of_the_netherlands_have_their_files(project_root: Path) -> None:
    files = (project_root / "rules" / "nl").glob("*.yaml")
    texts = [file.read_text() for file in files if file.name != "market.yaml"]
    assert {text.split("rule_set: ")[1].split()[0] for text in texts} == set(RULE_SETS)


def test_every_code_of_the_market_is_a_code_of_ours(rules: Catalogue, shared: Path) -> None:
    with (shared / "markets" / "nl" / "rejection_codes.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    portal = {row["code"] for row in rows if row["scope"].startswith("EDSN")}
    with (shared / "markets/nl/found_2026/codes.csv").open(encoding="utf-8", newline="") as stream:
        portal |= {row["code"] for row in csv.DictReader(stream) if row["list"] == "RejectionCode"}  # 233 is only here
    p4 = {row["code"] for row in rows if row["scope"].startswith("P4")}
    faults = {row["code"] for row in rows if "SOAPFault" in row["scope"]}
    assert set(rules.codes.codes("NL", "rejection")) == portal
    assert set(rules.codes.codes("NL", "p4_rejection")) == p4
    assert set(rules.codes.codes("NL", "fault")) == faults


def test_codes_have_labels_in_dutch_too(rules: Catalogue) -> None:
    of_nl = [entry for entry in rules.codes.entries if entry.market == "NL"]
    assert of_nl
    assert [f"{entry.list} {entry.code}" for entry in of_nl if not entry.labels.get("nl")] == []


def test_what_is_done_with_each_kind_of_a_dutch_message_is_said(rules: Catalogue) -> None:
    told = {"RequestAnswer", "ErrorReport"}  # these are told, and followed by the pipeline
    elsewhere = {"AggregatedSeries", "GridInvoice", "GridCharge", "CalorificValue"}  # no Dutch message brings them
    for kind in filter(is_incoming, KINDS):
        asked = [verb for rule in rules.rules_for("qualification_in", "NL", kind) for verb in rule.do]
        if kind not in told | elsewhere:
            assert len(asked) == 1, f"{kind}: {asked}"
