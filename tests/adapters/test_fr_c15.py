"""C15: what each event of a point becomes."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

import pytest

from energycomm.engine.parallel import ParallelEngine
from energycomm.kernel.history import NO_HISTORY, History
from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    CustomerData,
    EndOfSupply,
    MeterData,
    MeterReading,
    StartOfSupply,
)
from tests.adapters.french import codes, content, digest, kinds, only
from tests.pipeline.desk import shipped_rules

ENTRY = ["StartOfSupply", "AccessPointData", "ContractTerms", "CustomerData", "MeterData", "MeterReading"]


@pytest.mark.parametrize("nature", ["PMES", "MES", "CFNE"])
def test_an_entry_gives_everything_that_is_known_of_the_point(nature: str) -> None:
    entry = digest("c15_entries.xml", ("CFNE", nature)).transactions[0]
    assert kinds(entry) == ENTRY
    [start] = only(entry, StartOfSupply)
    assert (start.supplier, start.balance_responsible) == ("17XLUMINEFICT01X", "17XBALANCEFIC01X")
    assert start.contract_start == date(2026, 1, 5)
    assert (start.market_reason, start.contract_reference, start.request_reference) == (nature, "700000101", "A0000101")
    assert entry.reference == f"99000000000101:700000101:2026-01-05T00:00:00+01:00:{nature}"


def test_an_entry_carries_point_contract_customer_meter_and_reading() -> None:
    entry = digest("c15_entries.xml").transactions[1]
    [point], [terms], [customer] = only(entry, AccessPointData), only(entry, ContractTerms), only(entry, CustomerData)
    assert (point.segment, point.connection_status, point.phases, point.service_level) == ("C5", "connected", 1, "2")
    assert point.address is not None
    assert point.address.city == "SAINT-FICTIF"
    assert (terms.tariff, terms.subscribed_power, terms.power_unit) == ("BTINFMUDT", Decimal("9.0"), "kVA")
    assert (terms.calendar, terms.off_peak, terms.contract_kind) == ("DI000002", "HC (22H00-6H00)", "GRD-F")
    assert (customer.category, customer.company, customer.activity) == (
        "professional",
        "BOULANGERIE DU MARCHE",
        "1071C",
    )
    [meter], [reading] = only(entry, MeterData), only(entry, MeterReading)
    assert (meter.action, meter.meter) == ("present", "02197600020202")
    assert (reading.qualification, reading.nature, reading.meter) == ("after-event", "read", "02197600020202")
    assert [(register.grid, register.time_class, register.value, register.unit) for register in reading.registers] == [
        ("distributor", "HP", 4500, "kWh"),
        ("distributor", "HC", 2300, "kWh"),
        ("supplier", "HP", 4500, "kWh"),
        ("supplier", "HC", 2300, "kWh"),
    ]


@pytest.mark.parametrize("nature", ["RES", "CFNS"])
def test_an_exit_gives_the_end_of_supply_and_the_last_readings_only(nature: str) -> None:
    leaving = digest("c15_exit.xml", ("RES<", f"{nature}<")).transactions[0]
    assert kinds(leaving) == ["EndOfSupply", "MeterReading"]
    [end] = only(leaving, EndOfSupply)
    assert end.effective.isoformat() == "2026-03-15T00:00:00+01:00"
    assert (end.contract_end, end.contract_status) == (end.effective, "terminated")


def test_a_data_event_flagged_resilie_on_the_day_of_the_exit_is_noted() -> None:
    event = digest("c15_exit.xml").transactions[1]
    assert "EndOfSupply" not in kinds(event)
    assert codes(event) == ["NOTE_TERMINATED_EVENT"]
    assert only(event, ContractTerms)[0].contract_status == "terminated"


@pytest.mark.parametrize("nature", ["MCT", "MDPRM", "CMAT", "MDACT", "AUTRE", "NEVER_SEEN"])
def test_any_other_event_gives_the_master_data_it_carries(nature: str) -> None:
    event = digest("c15_contract_change.xml", ("MCT", nature)).transactions[0]
    assert kinds(event) == [
        "AccessPointData",
        "ContractTerms",
        "CustomerData",
        "MeterData",
        "MeterReading",
        "MeterReading",
    ]
    assert {message.market_reason for message in event.messages} == {nature}
    before, after = only(event, MeterReading)
    assert (before.qualification, after.qualification) == ("before-event", "after-event")
    assert before.effective < after.effective
    assert only(event, MeterData)[0].action == "reconfigured"


def test_an_event_without_nature_is_digested_as_master_data() -> None:
    event = digest("c15_contract_change.xml", ("<Nature_Evenement>MCT</Nature_Evenement>", "")).transactions[0]
    assert only(event, ContractTerms)[0].market_reason is None
    assert event.reference.endswith(":-")


def test_a_meter_change_tells_the_removed_from_the_installed_meter() -> None:
    event = digest("c15_meter_change.xml").transactions[0]
    assert [(meter.action, meter.meter, meter.operation) for meter in only(event, MeterData)] == [
        ("removed", "01190300030303", "20"),
        ("installed", "02197600030304", "10"),
    ]
    assert [(reading.meter, reading.registers[0].value) for reading in only(event, MeterReading)] == [
        ("01190300030303", 45612),
        ("02197600030304", 0),
    ]


BEFORE, AFTER = "<Code_Qualification>1</Code_Qualification>", "<Code_Qualification>2</Code_Qualification>"
OLD, NEW = "01190300030303", "02197600030304"


def meters(*edits: tuple[str, str]) -> list[tuple[str, str | None, bool | None]]:
    """What an edited meter change says of each meter, and whether it brings its index."""
    [event] = digest("c15_meter_change.xml", *edits).transactions[:1]
    return [(told.action, told.meter, told.index_given) for told in only(event, MeterData)]


def test_a_meter_is_changed_where_the_operations_say_so() -> None:
    """Code 5 takes a meter down, code 15 puts one up, whatever is in place; work on a breaker changes no meter."""
    by_code = ("<Code_Operation>20<", "<Code_Operation>5<"), ("<Code_Operation>10<", "<Code_Operation>15<")
    assert meters(*by_code) == [("removed", OLD, True), ("installed", NEW, True)]
    breaker = ("<Categorie_Materiel>COMPTEUR", "<Categorie_Materiel>DISJONCTEUR")
    assert meters(breaker, breaker) == [("present", NEW, None)]
    other = (f"<Num_Serie>{NEW}<", "<Num_Serie>09999900030304<")
    assert meters(*by_code, other) == [
        ("removed", OLD, True),
        ("installed", "09999900030304", True),
        ("present", NEW, None),
    ]


@pytest.mark.parametrize(
    ("gone", "told"), [(BEFORE, {"FR-M09"}), (AFTER, {"FR-M08"}), ("", set()), ("both", {"FR-M08", "FR-M09"})]
)
def test_a_meter_change_without_an_index_is_said(gone: str, told: set[str]) -> None:
    edits = {
        BEFORE: [(BEFORE, AFTER)],
        AFTER: [(AFTER, BEFORE)],
        "": [],
        "both": [("<Releves>", "<!--"), ("</Releves>", "-->")],
    }[gone]
    event = digest("c15_meter_change.xml", *edits).transactions[0]
    engine = ParallelEngine(shipped_rules())
    found = {
        finding.error_code
        for message in only(event, MeterData)
        for finding in engine.validate(message, NO_HISTORY).findings
    }
    assert found & {"FR-M08", "FR-M09"} == told


def test_a_cmat_that_names_another_meter_without_work_on_it_is_said() -> None:
    text = content("c15_meter_change.xml").decode()
    operations = re.findall(r" *<Operation>.*?</Operation>\n", text, re.DOTALL)
    [event] = digest("c15_meter_change.xml", *((one, "") for one in operations[:2])).transactions[:1]
    [meter] = only(event, MeterData)
    engine = ParallelEngine(shipped_rules())
    for known, codes_of in ((OLD, ["FR-M10"]), (NEW, [])):
        found = engine.validate(meter, History(supplied=True, meter=known)).findings
        assert [finding.error_code for finding in found if finding.error_code == "FR-M10"] == codes_of


def test_version_5_is_read_where_its_elements_are_whatever_the_header_says() -> None:
    found = digest("c15_version_5.xml")
    assert found.transactions[0].version == "5.1.0"
    assert only(found.transactions[0], ContractTerms)[0].off_peak == "HC (22H00-6H00)"
    found = digest("c15_version_5.xml", ("<Version_XSD>5.1.0", "<Version_XSD>4.1.1"))
    assert found.head is not None
    assert [note.code for note in found.head.notes] == ["NOTE_VERSION_DECLARED"]
    assert found.transactions[0].version == "5.1.0"


def test_a_declared_version_that_nobody_knows_is_noted_when_the_content_can_be_read() -> None:
    found = digest("c15_entries.xml", ("<Version_XSD>4.1.1", "<Version_XSD>9.0.0"))
    assert found.head is not None
    assert [note.code for note in found.head.notes] == ["VERSION_UNKNOWN"]
    assert all(transaction.messages for transaction in found.transactions)


def test_a_declared_version_that_nobody_knows_is_told_when_the_content_cannot_be_read() -> None:
    found = digest("c15_mistakes.xml", ("<Version_XSD>4.1.1", "<Version_XSD>9.0.0"))
    assert codes(found.transactions[1]) == ["VERSION_UNKNOWN", "SYN_VALUE", "SYN_VALUE"]


def test_a_naive_date_is_kept_as_paris_time_with_a_note() -> None:
    edit = ("<Date_Evenement>2026-01-05T00:00:00+01:00", "<Date_Evenement>2026-01-05T00:00:00")
    entry = digest("c15_entries.xml", edit).transactions[0]
    assert codes(entry) == ["NOTE_TIME_NAIVE"]
    assert entry.messages[0].effective.isoformat() == "2026-01-05T00:00:00+01:00"


def test_readings_taken_before_the_event_come_before_its_messages() -> None:
    edit = ("<Date_Releve>2026-02-10T00:01:00+01:00", "<Date_Releve>2026-02-09T23:00:00+01:00")
    event = digest("c15_contract_change.xml", edit).transactions[0]
    assert kinds(event)[0] == "MeterReading"
    assert kinds(event)[-1] == "MeterReading"


def test_a_name_that_was_encoded_twice_is_repaired() -> None:
    entry = digest("c15_entries.xml", ("<Prenom>Étienne<", "<Prenom>Ã‰tienne<")).transactions[2]
    assert only(entry, CustomerData)[0].first_name == "Étienne"
    assert codes(entry) == ["NOTE_LABEL_REPAIRED"]


def test_accents_that_are_right_are_left_alone() -> None:
    entry = digest("c15_entries.xml", ("<Prenom>Étienne<", "<Prenom>Ângela Ção<")).transactions[2]
    assert only(entry, CustomerData)[0].first_name == "Ângela Ção"
    assert codes(entry) == []


def test_white_space_inside_values_changes_nothing() -> None:
    plain = digest("c15_entries.xml").transactions[0]
    spaced = digest(
        "c15_entries.xml",
        ("<Etat_Contractuel>EN SERVICE<", "<Etat_Contractuel>\n EN SERVICE <"),
        ("<Valeur>12340<", "<Valeur> 12340\n<"),
    ).transactions[0]
    assert spaced.messages == plain.messages
    assert spaced.identity == plain.identity
