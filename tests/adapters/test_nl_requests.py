"""The requests to EDSN: what is written satisfies the market's own schemas, is always the same, and is found again."""

from __future__ import annotations

import io
import uuid
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from adapters.nl_edsn import adapter
from adapters.nl_edsn.requests import BUILDERS, POLLS, poll, repeated
from energycomm.kernel.messages import KernelMessage, MeterReading, RequestAnswer, RequestStatus
from energycomm.kernel.parts import Address
from energycomm.kernel.requests import CancellationRequest, MeteredDataRequest
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage
from tests.adapters.dutch import GRID, HEAD, REQUESTS, US, digested, fixture, only, request

REFERENCE = "0b7c9c1e-6d1f-4f5a-9b0e-2f7a4f0a1c55"

PUBLIC = {
    "SearchRequest": "xsd_portaal/car/SearchMeteringPointsRequest_1p2.xsd",
    "ContractDataRequest": "xsd_portaal/cer/ContractDataRequest_1p1.xsd",
    "MeteredDataRequest": "xsd_p4/P4CollectedDataBatchRequest_2p0.xsd",
    "MoveOutRequest": "found_2026/xsd/MoveOut_1p0/MoveOutRequest_1p0.xsd",
    "EndOfSupplyRequest": "found_2026/xsd/EndOfSupply_1p0/EndOfSupplyRequest_1p0.xsd",
}
"""Kind -> the market's own schema, where it is public."""


def built(message: KernelMessage, reference: str = REFERENCE) -> OutgoingMessage:
    """What the adapter writes."""
    found = adapter.build(message, reference)
    assert isinstance(found, OutgoingMessage), found
    return found


def body(content: bytes) -> etree._Element:
    """The business document in a SOAP envelope."""
    return etree.fromstring(content)[0][0]


def texts(content: bytes) -> dict[str, str]:
    """Local name -> text of every leaf."""
    leaves = (element for element in body(content).iter(etree.Element) if not len(element))
    return {etree.QName(element).localname: element.text or "" for element in leaves}


def answer_of(name: str) -> str:
    """The message that EDSN answers one of ours with."""
    return name.replace("Notification", "Acknowledgement").replace("Request", "Response")


def test_every_builder_is_announced_and_the_answer_to_what_it_writes_is_read() -> None:
    assert adapter.builds == frozenset(BUILDERS) == frozenset(REQUESTS) == frozenset(adapter.answer_within)
    for name in (*(built(request(kind)).type for kind in REQUESTS), *POLLS):
        assert answer_of(name) in adapter.types


@pytest.mark.parametrize("kind", PUBLIC)
def test_what_is_written_satisfies_the_markets_own_schema(kind: str, shared: Path) -> None:
    schema = etree.XMLSchema(file=str(shared / "markets" / "nl" / PUBLIC[kind]))
    schema.assertValid(body(built(request(kind)).content))


def test_a_search_of_the_new_generation_satisfies_its_schema(shared: Path) -> None:
    schema = etree.XMLSchema(file=str(shared / "markets/nl/xsd_portaal/car/SearchMeteringPointsRequest_2p0.xsd"))
    schema.assertValid(body(built(request("SearchRequest", schema_version="2.0")).content))


def test_the_poll_of_the_p4_portal_satisfies_its_schema(shared: Path) -> None:
    schema = etree.XMLSchema(file=str(shared / "markets/nl/xsd_p4/P4CollectedDataBatchResultRequest_2p0.xsd"))
    found = poll("P4CollectedDataBatchResultRequest", US, HEAD["created"], REFERENCE, GRID)
    assert isinstance(found, OutgoingMessage)
    schema.assertValid(body(found.content))


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("p4_day.xml", "xsd_p4/P4CollectedDataBatchResultResponse_2p0.xsd"),
        ("p4_interval_25_hours.xml", "xsd_p4/P4CollectedDataBatchResultResponse_2p0.xsd"),
        ("p4_interval_23_hours.xml", "xsd_p4/P4CollectedDataBatchResultResponse_2p0.xsd"),
        ("p4_month.xml", "xsd_p4/P4CollectedDataBatchResultResponse_2p0.xsd"),
        ("p4_taken.xml", "xsd_p4/P4CollectedDataBatchResponse_2p0.xsd"),
        ("p4_refused.xml", "xsd_p4/P4CollectedDataBatchResponse_2p0.xsd"),
        ("search_old.xml", "xsd_portaal/car/SearchMeteringPointsResponse_1p6.xsd"),
        ("search_refused.xml", "xsd_portaal/car/SearchMeteringPointsResponse_1p6.xsd"),
        ("search_new.xml", "xsd_portaal/car/SearchMeteringPointsResponse_2p1.xsd"),
        ("contract_data.xml", "xsd_portaal/cer/ContractDataResponse_1p2.xsd"),
        ("contract_data_refused.xml", "xsd_portaal/cer/ContractDataResponse_1p2.xsd"),
    ],
)
def test_the_fixtures_are_such_as_the_market_writes(name: str, schema: str, shared: Path) -> None:
    etree.XMLSchema(file=str(shared / "markets" / "nl" / schema)).assertValid(etree.fromstring(fixture(name)))


def test_the_market_s_samples_of_requests_have_the_elements_that_we_write(shared: Path) -> None:
    """The published move in: every element of it stands in ours, in the same order."""
    sample = etree.parse(shared / "markets/nl/samples/MoveInRequest.xml").getroot()[0][0]
    names = [etree.QName(element).localname for element in sample.iter(etree.Element)]
    ours = [
        etree.QName(element).localname for element in body(built(request("MoveInRequest")).content).iter(etree.Element)
    ]
    rest = iter(ours)
    assert [name for name in names if name not in rest] == []
    assert etree.QName(sample).namespace == etree.QName(body(built(request("MoveInRequest")).content)).namespace


@pytest.mark.parametrize("kind", REQUESTS)
def test_the_same_request_gives_the_same_bytes_and_another_reference_others(kind: str) -> None:
    assert built(request(kind)) == built(request(kind))
    assert built(request(kind)).content != built(request(kind), str(uuid.uuid4())).content


@pytest.mark.parametrize("kind", REQUESTS)
def test_the_reference_is_the_message_id_and_what_the_market_repeats(kind: str) -> None:
    message = built(request(kind))
    found = texts(message.content)
    assert found["MessageID"] == REFERENCE == message.reference
    if kind != "SearchRequest":
        assert found["ExternalReference"] == REFERENCE
    assert message.content_type.startswith("text/xml")


def test_a_reference_that_is_no_uuid_becomes_always_the_same_one() -> None:
    first, second = (texts(built(request("MoveInRequest"), "order-17").content) for _ in "ab")
    assert first == second
    assert (str(uuid.UUID(first["MessageID"])), first["ExternalReference"]) == (first["MessageID"], "order-17")


def test_a_repeated_query_has_a_new_message_id_and_nothing_else_new() -> None:
    message = built(request("MeteredDataRequest"))
    attempts = [repeated(message, number) for number in (1, 2, 3)]
    assert attempts[0] == message.content
    assert attempts == [repeated(message, number) for number in (1, 2, 3)]
    found = [texts(content) for content in attempts]
    assert len({one.pop("MessageID") for one in found}) == 3
    assert found[0] == found[1] == found[2]


def test_every_request_is_repeated_under_a_new_message_id_and_the_same_reference() -> None:
    """The portal takes a second message of one id for the first: a transport fault is repeated with a new one."""
    message = built(request("MoveInRequest"))
    first, second = texts(message.content), texts(repeated(message, 2))
    assert first.pop("MessageID") != second.pop("MessageID")
    assert first == second


def test_a_surname_is_cut_to_what_the_register_keeps() -> None:
    long = built(request("MoveInRequest", surname="Van den Voorbeeldenberghe-Testema"))
    assert texts(long.content)["Surname"] == "Van den Voorbeeldenbergh"


def test_a_company_without_surname_is_named_by_its_name() -> None:
    message = built(request("MoveInRequest", surname=None, first_name=None, company="Testbakkerij"))
    assert texts(message.content)["Surname"] == "Testbakkerij"


def test_a_disputed_reading_says_so() -> None:
    found = texts(built(request("MeterReadingSubmission", dispute=True)).content)
    assert (found["MutationReason"], found["ID"], found["NrOfRegisters"]) == ("DISPUTE", "70020001", "2")


BAD: list[tuple[str, dict[str, Any], str, str]] = [
    ("MoveInRequest", {"access_point": None}, "BUILD_MISSING", "access_point"),
    ("MoveInRequest", {"sender": None, "supplier": None}, "BUILD_MISSING", "supplier"),
    ("MoveInRequest", {"balance_responsible": None}, "BUILD_MISSING", "balance_responsible"),
    ("MoveOutRequest", {"requested_date": None}, "BUILD_MISSING", "requested_date"),
    ("MoveOutRequest", {"access_point": "not a point"}, "BUILD_SCHEMA", "EANID"),
    ("SupplierSwitchRequest", {"company_id": "KvK 1"}, "BUILD_SCHEMA", "ChamberOfCommerceID"),
    ("SupplierSwitchRequest", {"surname": "Bel\x07"}, "BUILD_VALUE", "Surname"),
    ("SearchRequest", {"address": None}, "BUILD_MISSING", "address"),
    ("SearchRequest", {"address": Address(number="12a", postal_code="9999AB")}, "BUILD_VALUE", "address.number"),
    ("SearchRequest", {"address": Address(street="x" * 25, number="1")}, "BUILD_VALUE", "address.street"),
    ("SearchRequest", {"schema_version": "2.0", "grid_operator": None}, "BUILD_MISSING", "grid_operator"),
    ("MeteredDataRequest", {"resolution": "week"}, "BUILD_VALUE", "resolution"),
    ("MeteredDataRequest", {"start": None}, "BUILD_MISSING", "start"),
    ("MeteredDataRequest", {"receiver": None}, "BUILD_MISSING", "receiver"),
    ("ContractDataRequest", {"iban_key": "4829"}, "BUILD_SCHEMA", "IBANKey"),
    ("MeterReadingSubmission", {"registers": ()}, "BUILD_MISSING", "registers"),
    ("MeterReadingSubmission", {"reason": None}, "BUILD_MISSING", "reason"),
    ("MeterReadingSubmission", {"reason": "tariff-change"}, "BUILD_VALUE", "reason"),
]


@pytest.mark.parametrize(("kind", "changes", "code", "path"), BAD)
def test_what_cannot_be_written_is_refused_where_it_is_wrong(
    kind: str, changes: dict[str, Any], code: str, path: str
) -> None:
    refused = adapter.build(request(kind, **changes), REFERENCE)
    assert isinstance(refused, Refusal)
    assert refused.code == code
    assert path in refused.path


def test_a_kind_that_the_market_has_no_message_for_is_refused() -> None:
    refused = adapter.build(CancellationRequest(**HEAD), REFERENCE)
    assert isinstance(refused, Refusal)
    assert refused.code == "BUILD_KIND"


@pytest.mark.parametrize("reference", ["", "x" * 61])
def test_a_reference_that_the_market_cannot_repeat_is_refused(reference: str) -> None:
    refused = adapter.build(request("MoveInRequest"), reference)
    assert isinstance(refused, Refusal)
    assert refused.code in ("BUILD_VALUE", "BUILD_SCHEMA")


def test_an_unknown_poll_is_refused() -> None:
    refused = poll("Everything", US, HEAD["created"], REFERENCE)
    assert isinstance(refused, Refusal)


# --- round trips: what the market repeats is what was asked ---------------------------------------------------------


def answered(query: bytes) -> bytes:
    """What the P4 portal makes of a query: its own words repeated, and a reading."""
    asked = texts(query)
    content = fixture("p4_month.xml").decode()
    for old, new in (
        ("871999910000000010", asked["EANID"]),
        ("lum-rcy-0001", asked["ExternalReference"]),
        ("<QueryDate>2026-03-01<", f"<QueryDate>{asked['QueryDate']}<"),
        ("<QueryReason>RCY<", f"<QueryReason>{asked['QueryReason']}<"),
        ("2026-03-01T00:00:00+01:00", f"{asked['QueryDate']}T00:00:00+01:00"),
    ):
        content = content.replace(old, new)
    return content.encode()


@given(
    day=st.dates(date(2024, 1, 1), date(2026, 12, 31)),
    resolution=st.sampled_from(("day", "month")),
    reference=st.uuids().map(str) | st.text("abcdefghij-0123456789", min_size=1, max_size=60),
    seconds=st.integers(0, 86_399),
)
def test_the_answer_to_a_query_comes_back_to_it(day: date, resolution: str, reference: str, seconds: int) -> None:
    created = datetime(2026, 1, 12, tzinfo=UTC) + timedelta(seconds=seconds)
    message = request("MeteredDataRequest", start=day, resolution=resolution, created=created)
    assert isinstance(message, MeteredDataRequest)
    sent = built(message, reference)
    (transaction,) = digested(answered(sent.content)).transactions
    reading, status = only(transaction, MeterReading), only(transaction, RequestStatus)
    assert (reading.access_point, reading.effective.date(), status.state) == (message.access_point, day, "done")
    assert reading.correlation == status.correlation == sent.reference


def test_the_answer_to_a_move_in_comes_back_to_it() -> None:
    sent = built(request("MoveInRequest"))
    content = fixture("move_in_taken.xml").replace(b"lum-mvi-0001", texts(sent.content)["ExternalReference"].encode())
    assert only(digested(content).transactions[0], RequestAnswer).correlation == sent.reference


def test_an_answer_that_names_nothing_belongs_to_the_request_it_was_kept_for() -> None:
    content = fixture("move_in_crossing.xml")
    start, end = content.index(b"<CorrelationID>"), content.index(b"</CorrelationID>") + len(b"</CorrelationID>")
    bare = content[:start] + content[end:]
    found = digested(bare, f"answer_{REFERENCE}_20260210T130002Z.xml").transactions[0]
    assert only(found, RequestAnswer).correlation == REFERENCE


def test_what_is_built_is_read_by_no_digester_of_ours() -> None:
    """A request of ours that comes back by mistake is no message of the market to us."""
    content = built(request("MoveInRequest")).content
    refused = list(adapter.digest("SOAP", io.BytesIO(content), "echo.xml"))[-1]
    assert isinstance(refused, Refusal)
    assert refused.code == "TYPE_UNKNOWN"
