"""What the connection register tells: gains, losses, master data, answers, rejections, faults, in SOAP or without."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from adapters.common.conformance.subject import read
from adapters.nl_edsn import adapter
from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    CustomerData,
    EndOfSupply,
    ErrorReport,
    MeterData,
    PointRelations,
    RequestAnswer,
    RequestStatus,
    StartOfSupply,
)
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Sniff
from tests.adapters.dutch import BRP, FOURTH, GRID, OTHER, POINT, THIRD, US, digested, fixture, only, transactions

SOAP, NEDU = "http://schemas.xmlsoap.org/soap/envelope/", "urn:nedu:edsn:data"
NAMED = "answer_5f1d2c3a-1111-4000-8000-000000000020_20260310T040000Z.xml"


def test_a_gain_is_the_start_of_our_supply_and_settles_its_request() -> None:
    transaction = transactions("gains.xml")[0]
    start, status = only(transaction, StartOfSupply), only(transaction, RequestStatus)
    assert start.effective == datetime.fromisoformat("2026-02-01T00:00:00+01:00")
    assert (start.supplier, start.balance_responsible, start.grid_operator) == (US, BRP, GRID)
    assert (start.reason, start.market_reason, start.contract_reference) == ("supplier-switch", "SWITCHLV", None)
    assert (status.state, status.request, status.correlation) == ("done", "70020001", "lum-cos-0001")


def test_gains_of_gas_are_gas() -> None:
    assert only(transactions("gains.xml")[1], StartOfSupply).energy == "gas"


def test_a_loss_ends_our_supply_and_settles_a_request_only_where_it_was_ours() -> None:
    by_another, by_us = transactions("losses.xml")
    end = only(by_another, EndOfSupply)
    assert (end.access_point, end.new_supplier, end.reason) == (THIRD, OTHER, "move-in")
    assert [type(message) for message in by_another.messages] == [EndOfSupply]
    assert only(by_us, RequestStatus).request == "70030002"
    assert only(by_us, EndOfSupply).access_point == FOURTH


def test_a_mutation_becomes_point_contract_customer_and_meter() -> None:
    transaction = transactions("mutations.xml")[0]
    point, terms = only(transaction, AccessPointData), only(transaction, ContractTerms)
    assert (point.segment, point.invoice_month, point.profile, point.phases) == ("KVB", "04", "E1B", 3)
    assert (point.annual_peak, point.annual_off_peak) == (Decimal(1320), Decimal(1480))
    assert (point.contract_status, point.connection_status, point.switchable) == ("in-service", "connected", True)
    assert (terms.tariff, terms.subscribed_power, terms.power_unit) == ("8719999910000", Decimal(17), "kW")
    customer = only(transaction, CustomerData)
    assert (customer.surname, customer.birth_key, customer.iban_key) == ("Voorbeeld", "--04-17", "482")
    meter = only(transaction, MeterData)
    assert (meter.action, meter.meter, meter.registers, meter.digits) == ("present", "E0041005514782119", 4, 6)


def test_a_placed_meter_was_installed() -> None:
    assert only(transactions("mutations.xml")[2], MeterData).action == "installed"


def test_every_mutation_of_a_point_is_kept_and_one_of_them_tells_what_happened_to_the_meter() -> None:
    other = (
        b"<Portaal_Mutation><MutationDate>2026-02-19</MutationDate><MutationReason>MTREND</MutationReason>"
        b"<Dossier><ID>70099999</ID></Dossier></Portaal_Mutation></Portaal_MeteringPoint>"
    )
    content = fixture("mutations.xml").replace(b"</Portaal_MeteringPoint>", other, 1)
    transaction = transactions(content)[0]
    assert only(transaction, MeterData).action == "removed"
    kept = {one.name: one.value for one in transaction.messages[0].particulars}
    assert kept["Portaal_Mutation[2]/Dossier/ID"] == "70099999"
    assert kept["Portaal_Mutation[2]/MutationDate"] == date(2026, 2, 19)
    assert kept["Portaal_Mutation/Dossier/ID"] == only(transaction, AccessPointData).request_reference


def test_allocation_points_of_a_group_are_related_points() -> None:
    group = (
        f"<MeteringPointGroup><SAP><EANID>{THIRD}</EANID></SAP><SAP><EANID>{FOURTH}</EANID></SAP></MeteringPointGroup>"
    )
    content = fixture("mutations.xml").replace(b"<GridArea>", group.encode() + b"<GridArea>", 1)
    relations = only(transactions(content)[0], PointRelations)
    assert [(one.access_point, one.nature, one.code) for one in relations.relations] == [
        (THIRD, "child", "SAP"),
        (FOURTH, "child", "SAP"),
    ]


def test_what_no_field_has_a_place_for_is_kept_under_the_markets_name() -> None:
    transaction = transactions("mutations.xml")[0]
    kept = {one.name: one.value for one in transaction.messages[0].particulars}
    assert kept["MPCommercialCharacteristics/Residential"] == "J"
    assert kept["Portaal_EnergyMeter/Register/ID"] == "1.8.1"
    assert kept["Portaal_EnergyMeter/Register[4]/ID"] == "2.8.2"


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("MasterDataUpdateResponse_two_points_two_mutations.xml", 2),
        ("MeterReadingExchangeResponse.xml", 1),
        ("MoveInResponse_accept.xml", 1),
        ("MoveInResponse_reject_two_reasons.xml", 1),
        ("ChangeOfSupplierResponse_accept.xml", 1),
    ],
)
def test_what_has_the_structure_of_edsns_own_messages_is_read(name: str, points: int, shared: Path) -> None:
    found = transactions((shared / "markets/nl/found_2026/samples" / name).read_bytes())
    assert len(found) == points
    assert all(one.messages for one in found)


def test_month_thirteen_is_carried_as_it_is_for_a_rule_to_judge() -> None:
    assert only(transactions("mutations.xml")[1], AccessPointData).invoice_month == "13"


def test_master_data_that_we_asked_for_settle_the_question() -> None:
    (transaction,) = transactions("master_data.xml")
    assert only(transaction, RequestAnswer).accepted
    status = only(transaction, RequestStatus)
    assert (status.state, status.correlation) == ("done", "lum-mdr-0001")


def test_a_move_in_that_was_taken_is_acknowledged_with_its_dossier() -> None:
    (transaction,) = transactions("move_in_taken.xml")
    answer, status = only(transaction, RequestAnswer), only(transaction, RequestStatus)
    assert (answer.accepted, answer.request, answer.correlation) == (True, "70020003", "lum-mvi-0001")
    assert (status.state, status.effect_date) == ("acknowledged", date(2026, 2, 15))


def test_a_crossing_request_is_refused_with_227() -> None:
    (transaction,) = transactions("move_in_crossing.xml")
    answer = only(transaction, RequestAnswer)
    assert (answer.accepted, answer.code, answer.text) == (False, "227", "Kruisend bericht")
    assert answer.correlation == "5f1d2c3a-1111-4000-8000-000000000013"


def test_a_rejection_of_several_reasons_is_one_answer_with_them_all() -> None:
    (transaction,) = transactions("search_refused.xml")
    answer = only(transaction, RequestAnswer)
    assert (answer.accepted, answer.code) == (False, "209")
    assert [reason.code for reason in answer.reasons] == ["209", "200"]


@pytest.mark.parametrize(("name", "points"), [("search_old.xml", 2), ("search_new.xml", 2)])
def test_both_generations_of_a_search_are_read(name: str, points: int) -> None:
    answer = only(transactions(name)[0], RequestAnswer)
    assert len(answer.found) == points
    assert answer.found[0].city == "Testdorp"


def test_a_search_that_found_too_much_says_so() -> None:
    assert only(transactions("search_new.xml")[0], RequestAnswer).text == "2 of 40 points: narrow the search"
    assert only(transactions("search_old.xml")[0], RequestAnswer).text is None


def test_the_end_of_a_contract_is_told() -> None:
    answer = only(transactions("contract_data.xml")[0], RequestAnswer)
    assert (answer.contract_end, answer.notice, answer.request) == (date(2026, 12, 31), 30, "70010001")
    refused = only(transactions("contract_data_refused.xml")[0], RequestAnswer)
    assert (refused.code, refused.correlation) == ("201", "lum-cer-0002")


def test_what_stands_in_a_soap_envelope_is_the_same_as_without() -> None:
    wrapped = fixture("gain_in_soap.xml")
    start = wrapped.index(b"<GainResultResponseEnvelope>")
    bare = wrapped[start : wrapped.index(b"</soap:Body>")].replace(
        b"<GainResultResponseEnvelope>",
        b'<GainResultResponseEnvelope xmlns="urn:nedu:edsn:data:gainresultresponse:1:standard">',
    )
    assert [one.identity for one in transactions(wrapped)] == [one.identity for one in transactions(bare)]


def test_a_security_header_before_the_body_is_passed_over() -> None:
    header = (
        b"<soap:Header><x:Security xmlns:x='urn:x'>"
        + b"<x:Token>AAAA</x:Token>" * 2000
        + b"</x:Security></soap:Header>"
    )
    content = fixture("gain_in_soap.xml").replace(b"<soap:Body>", header + b"<soap:Body>")
    assert only(transactions(content)[0], StartOfSupply).supplier == US


def test_a_fault_kept_under_a_name_is_the_answer_to_that_request() -> None:
    found = digested(fixture("fault.xml"), NAMED)
    report = only(found.transactions[0], ErrorReport)
    assert report.correlation == "5f1d2c3a-1111-4000-8000-000000000020"
    assert report.created == datetime(2026, 3, 10, 4, tzinfo=UTC)
    assert (report.code, found.head.notes if found.head else None) == ("003", ())


def test_equal_faults_of_two_requests_are_two() -> None:
    first = digested(fixture("fault.xml"), NAMED).transactions[0]
    second = digested(fixture("fault.xml"), NAMED.replace("000020", "000021")).transactions[0]
    assert first.identity != second.identity


def test_the_time_of_a_fault_is_taken_from_its_soap_header() -> None:
    stamp = b"<t:Timestamp xmlns:t='urn:t'><t:Created>2026-03-10T04:00:07Z</t:Created></t:Timestamp>"
    found = digested(fixture("fault.xml").replace(b"<soap:Body>", b"<soap:Header>%s</soap:Header><soap:Body>" % stamp))
    assert only(found.transactions[0], ErrorReport).created == datetime(2026, 3, 10, 4, 0, 7, tzinfo=UTC)


def test_a_fault_of_soap_alone_bears_the_code_of_soap() -> None:
    content = fixture("fault.xml")
    start, end = content.index(b"<detail>"), content.index(b"</detail>") + len(b"</detail>")
    report = only(digested(content[:start] + content[end:]).transactions[0], ErrorReport)
    assert (report.code, report.text) == ("soap:Client", "SOAPFault")


def test_a_fault_of_soap_1_2_bears_its_code_and_reason() -> None:
    space = "http://www.w3.org/2003/05/soap-envelope"
    said = "<Code><Value>Sender</Value><Subcode><Value>m:Timeout</Value></Subcode></Code>"
    fault = f"<Fault>{said}<Reason><Text>Slow</Text></Reason></Fault>"
    content = f'<Envelope xmlns="{space}"><Body>{fault}</Body></Envelope>'.encode()
    found = read(adapter, content, NAMED, label="SOAP")
    report = only(found.transactions[0], ErrorReport)
    assert (report.code, report.text) == ("Sender", "Slow m:Timeout")


def test_a_numeric_fault_code_has_three_figures() -> None:
    content = fixture("fault.xml").replace(b">003<", b">3<")
    assert only(digested(content).transactions[0], ErrorReport).code == "003"


@pytest.mark.parametrize(
    ("sniff", "code"),
    [
        (Sniff("f.xml", "xml", "MeasureCorrectionResponseEnvelope", f"{NEDU}:measure:1:standard"), "TYPE_UNKNOWN"),
        (Sniff("g.xml", "xml", "GainResultResponseEnvelope", f"{NEDU}:gain:2:standard"), "VERSION_UNKNOWN"),
        (Sniff("e.xml", "xml", "Envelope", SOAP, ("http://www.enedis.fr/sge/b2b/x",)), "TYPE_NOT_OURS"),
        (Sniff("e.xml", "xml", "Envelope", SOAP), "TYPE_NOT_OURS"),
    ],
)  # fmt: skip
def test_what_no_digester_reads_is_told_apart(sniff: Sniff, code: str) -> None:
    refused = adapter.dispatch(sniff)
    assert isinstance(refused, Refusal)
    assert refused.code == code


@pytest.mark.parametrize(
    ("root", "namespace", "code"),
    [
        (b"GainResultResponseEnvelope", b"urn:nedu:edsn:data:gainresultresponse:9:standard", "VERSION_UNKNOWN"),
        (b"FileExchangeNotificationEnvelope", b"urn:nedu:edsn:data:x:1:standard", "TYPE_UNKNOWN"),
        (b"Letter", b"urn:nobody", "ROOT_UNEXPECTED"),
    ],
)
def test_a_stranger_in_a_soap_envelope_is_refused(root: bytes, namespace: bytes, code: str) -> None:
    body = b"<s:Body><%s xmlns='%s'/></s:Body>" % (root, namespace)
    content = b"<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'>%s</s:Envelope>" % body
    found = read(adapter, content, label="SOAP")
    assert found.refusal is not None
    assert found.refusal.code == code


def test_a_date_that_no_calendar_has_is_refused_and_its_neighbours_are_read() -> None:
    content = fixture("gains.xml").replace(b">2026-02-01<", b">2026-02-30<", 1)
    first, second = digested(content).transactions
    assert [refused.code for refused in first.refusals] == ["SYN_VALUE"]
    assert (first.access_point, second.refusals) == (POINT, ())


def test_an_unknown_element_is_noted_and_harms_nothing() -> None:
    content = fixture("gains.xml").replace(b"<ProductType>", b"<Novelty>1</Novelty><ProductType>", 1)
    first = digested(content).transactions[0]
    assert [note.code for note in first.notes] == ["NOTE_ELEMENT_UNKNOWN"]
    assert only(first, StartOfSupply).supplier == US


def test_a_refused_message_is_explained_with_its_place() -> None:
    content = fixture("gains.xml").replace(b">2026-02-01<", b">soon<", 1)
    errors = adapter.explain("GainResultResponse", io.BytesIO(content), "gains.xml", 1)
    assert [(error.code, error.value) for error in errors] == [("SYN_VALUE", "soon")]
    assert errors[0].path.endswith("/MutationDate")
    assert adapter.explain("GainResultResponse", io.BytesIO(content), "gains.xml", 2) == []


def test_a_test_message_is_noted() -> None:
    content = fixture("gains.xml").replace(b"<Destination>", b"<TestRequest>true</TestRequest><Destination>", 1)
    head = digested(content).head
    assert head is not None
    assert [note.code for note in head.notes] == ["NOTE_TEST"]
