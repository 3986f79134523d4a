"""The Dutch services against EDSN's own schemas, the outline of all of them and the samples: what we write is valid,
every root is read or refused with a clear word, versions and batches are settings."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from adapters.nl_edsn import adapter
from adapters.nl_edsn.adapter import NlEdsn
from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    MeterReading,
    RequestAnswer,
    RequestStatus,
)
from energycomm.kernel.parts import Address
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage, Sniff
from tests.adapters.dutch import (
    ADDRESS,
    BRP,
    GRID,
    HEAD,
    OTHER,
    POINT,
    THIRD,
    US,
    digested,
    every,
    fixture,
    only,
    request,
    transactions,
)
from tests.adapters.subjects import FIXTURES

REFERENCE = "0b7c9c1e-6d1f-4f5a-9b0e-2f7a4f0a1c55"
PERSON: dict[str, Any] = {
    "surname": "Voorbeeldenberghe-van Testema tot Proef",
    "name_prefix": "van der",
    "first_name": "Thomas Jan Pieter",
    "address": Address(
        street="Burgemeester van Voorbeeldensingel", number="12", addition="A", postal_code="9999 AB", city="Testdorp"
    ),
}
"""Names that are longer than the portal's fields."""
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("MoveInRequest", {}),
    ("MoveInRequest", {**PERSON, "company_id": "90000013", "birth_date": date(1980, 1, 31)}),
    ("MoveInRequest", {"market_type": "MoveInBatchRequest"}),
    ("SupplierSwitchRequest", {}),
    ("SupplierSwitchRequest", {"surname": None, "first_name": None, "birth_date": None, "address": None}),
    ("SupplierSwitchRequest", {"market_type": "ChangeOfSupplierBatchRequest"}),
    ("MoveOutRequest", {}),
    ("MoveOutRequest", {"market_type": "MoveOutBatchRequest"}),
    ("EndOfSupplyRequest", {}),
    ("EndOfSupplyRequest", {"market_type": "EndOfSupplyBatchRequest"}),
    ("MasterDataUpdate", {}),
    ("MasterDataUpdate", PERSON),
    (
        "MasterDataUpdate",
        {"surname": None, "name_prefix": None, "balance_responsible": BRP, "requested_date": date(2026, 3, 1)},
    ),
    (
        "MasterDataUpdate",
        {"market_type": "ChangeOfPVBatchRequest", "balance_responsible": BRP, "requested_date": date(2026, 3, 1)},
    ),
    ("EndOfSupplyNotice", {}),
    ("EndOfSupplyNotice", {**PERSON, "phone": "0201234567", "email": "t@example.org"}),
    ("MasterDataRequest", {}),
    ("MasterDataRequest", {"market_type": "MasterDataBatchRequest"}),
    ("MasterDataRequest", {"market_type": "GetSCMPInformationRequest"}),
    ("MasterDataRequest", {"market_type": "GetMeteringPointRequest"}),
    ("SearchRequest", {}),
    ("SearchRequest", {"schema_version": "2.0"}),
    ("SearchRequest", {"schema_version": "3.0"}),
    ("ContractDataRequest", {}),
    ("MeteredDataRequest", {}),
]
"""Requests in all the forms that we write, with their fields."""


def built(message: Any, by: NlEdsn = adapter) -> OutgoingMessage:
    """What an adapter writes."""
    found = by.build(message, REFERENCE)
    assert isinstance(found, OutgoingMessage), found
    return found


def body(content: bytes) -> etree._Element:
    """The business document in a SOAP envelope."""
    return etree.fromstring(content)[-1][0]


@pytest.fixture(scope="module")
def schemas(shared: Path) -> Mapping[str, Path]:
    """EDSN's schemas by their namespace."""
    files = [path for path in sorted((shared / "markets/nl").rglob("*.xsd")) if "SOAPFault" not in path.name]
    found = {etree.parse(path).getroot().get("targetNamespace") or "": path for path in files}
    assert len(found) > 40
    return found


@pytest.fixture(scope="module")
def outline(shared: Path) -> Mapping[str, dict[str, dict[str, str]]]:
    """Schema -> path below the root -> its row, of every service."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    with (shared / "markets/nl/found_2026/OUTLINE.csv").open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            found.setdefault(row["xsd"], {})[row["path"].partition("/")[2]] = row
    assert len(found) == 46
    return found


def faults(document: etree._Element, rows: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """What of a document is not as an outline says: elements, how many there are, their order, their facets."""
    order = list(rows)
    for element in document.iter(etree.Element):
        tree = element.getroottree().getelementpath(element) or ""
        path = re.sub(r"\[[0-9]+\]|\{[^}]*\}", "", tree).partition("Envelope/")[2].partition("Envelope/")[2]
        if "EDSNBusinessDocumentHeader" in path:
            continue
        if path not in rows:
            if element is not document:
                yield f"{path} is unknown"
            continue
        names = [etree.QName(child).localname for child in element]
        below = {name: f"{path}/{name}" for name in names}
        places = [order.index(one) for one in (below[name] for name in names) if one in rows]
        if places != sorted(places):
            yield f"{path} has its elements in another order"
        for child, row in rows.items():
            name = child.removeprefix(f"{path}/")
            if child.startswith(f"{path}/") and "/" not in name and row["choice"] == "":
                most = len(names) if row["max"] == "unbounded" else int(row["max"])
                if not int(row["min"]) <= names.count(name) <= most:
                    yield f"{child} stands {names.count(name)} times"
        facets = dict(one.split("=", 1) for one in rows[path]["facets"].split(";") if one)
        text = element.text or ""
        if "length" in facets and len(text) != int(facets["length"]):
            yield f"{path}: {text}"
        if "maxLength" in facets and not 1 <= len(text) <= int(facets["maxLength"]):
            yield f"{path}: {text}"


@pytest.mark.parametrize(("kind", "changes"), VARIANTS)
def test_every_request_is_valid_by_the_operators_schema(
    kind: str,
    changes: dict[str, Any],
    schemas: Mapping[str, Path],
    outline: Mapping[str, dict[str, dict[str, str]]],
) -> None:
    """By the XSD; of a message whose XSD is not here by the outline of it."""
    document = body(built(request(kind, **changes)).content)
    name = etree.QName(document)
    assert name.namespace is not None
    if name.namespace in schemas:
        etree.XMLSchema(file=str(schemas[name.namespace])).assertValid(document)
    label = name.localname.removesuffix("Envelope")
    number = name.namespace.split(":")[-2]
    rows = [
        rows for xsd, rows in outline.items()
        if re.search(rf"/{label}_{number}p", xsd) and ("_MP" in xsd or ":cmf:" not in name.namespace or number == "3")
    ]  # fmt: skip
    assert rows or name.namespace in schemas
    for one in rows[:1]:
        assert list(faults(document, one)) == []


@pytest.mark.parametrize("name", adapter.polls)
def test_every_poll_is_valid_by_the_operators_schema_where_one_is_public(
    name: str, schemas: Mapping[str, Path]
) -> None:
    found = adapter.poll(name, US, HEAD["created"], REFERENCE)
    assert isinstance(found, OutgoingMessage)
    document = body(found.content)
    path = schemas.get(str(etree.QName(document).namespace))
    if path is not None:
        etree.XMLSchema(file=str(path)).assertValid(document)
    assert f"{name.removesuffix('Request')}Response" in adapter.types


def test_every_fixture_is_such_as_the_market_writes(schemas: Mapping[str, Path]) -> None:
    checked = set()
    for path in sorted((FIXTURES / "nl").glob("*.xml")):
        root = etree.parse(path).getroot()
        schema = schemas.get(str(etree.QName(root).namespace))
        if schema is not None:
            etree.XMLSchema(file=str(schema)).assertValid(root)
            checked.add(schema.name.partition("_")[0])
    assert len(checked) >= 23


SAMPLES = {
    "ChangeOfSupplierRequest_minimal.xml": (
        "SupplierSwitchRequest",
        {"surname": None, "first_name": None, "birth_date": None, "address": None, "access_point": THIRD},
    ),
    "EndOfSupplyRequest.xml": ("EndOfSupplyRequest", {}),
    "MoveInRequest_1p2_full.xml": (
        "MoveInRequest",
        {"surname": "Voorbeeld", "name_prefix": "van", "first_name": "A", "company_id": None},
    ),
}
"""Sample of a request -> the request of ours with the same elements."""


def test_the_ten_samples_are_read_or_are_what_we_write(shared: Path) -> None:
    """What EDSN sends is read; what a party sends is refused with that word, and is what we write."""
    files = sorted((shared / "markets/nl/found_2026/samples").glob("*.xml"))
    assert len(files) == 10
    for path in files:
        found = digested(path.read_bytes(), path.name)
        if "Request" in path.name:
            assert found.refusal is not None
            assert found.refusal.code == "TYPE_UNKNOWN"
            assert found.refusal.expected is not None
            assert "parties send to EDSN" in found.refusal.expected
        else:
            assert found.refusal is None
            assert found.transactions
            assert all(one.messages and not one.refusals for one in found.transactions)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_of_a_request_has_the_elements_of_ours(name: str, shared: Path) -> None:
    kind, changes = SAMPLES[name]
    sample = etree.parse(shared / "markets/nl/found_2026/samples" / name).getroot()[-1][0]
    ours = body(built(request(kind, **changes)).content)
    assert sample.tag == ours.tag
    theirs, written = ([etree.QName(one).localname for one in root.iter(etree.Element)] for root in (sample, ours))
    if "ExternalReference" not in theirs:  # optional, and always written: it is how an answer is known
        written.remove("ExternalReference")
    assert written == theirs


def test_the_sample_of_a_poll_is_what_we_write(shared: Path) -> None:
    path = shared / "markets/nl/found_2026/samples/MasterDataUpdateRequest_poll.xml"
    sample = etree.parse(path).getroot()[-1][0]
    found = adapter.poll("MasterDataUpdateRequest", US, HEAD["created"], REFERENCE)
    assert isinstance(found, OutgoingMessage)
    assert [one.tag for one in sample.iter()] == [one.tag for one in body(found.content).iter()]


def test_every_root_of_the_given_schemas_is_read_or_refused_with_a_clear_word(
    schemas: Mapping[str, Path], outline: Mapping[str, Any]
) -> None:
    roots = {(path.name.partition("_")[0], space) for space, path in schemas.items()}
    roots |= {(xsd.rpartition("/")[2].partition("_")[0], "urn:nedu:edsn:data:x:1:standard") for xsd in outline}
    assert len({name for name, _ in roots}) > 55
    for name, space in sorted(roots):
        told = adapter.dispatch(Sniff(f"{name}.xml", "xml", f"{name}Envelope", space))
        if name.endswith(("Request", "Query")) or name in (
            "FileExchangeNotification", "FileExchangeSignOffNotification", "FileUploadNotification"
        ):  # fmt: skip
            assert isinstance(told, Refusal)
            assert told.code == "TYPE_UNKNOWN"
            assert "parties send to EDSN" in str(told.expected) or "grid operators" in str(told.expected)
        elif name.startswith("CreateMeteringPoint"):
            assert isinstance(told, Refusal)
            assert "grid operators" in str(told.expected)
        else:
            assert name in adapter.types
            if space in schemas:
                assert told == name


# --- names that are longer than the portal's fields


def test_a_name_that_is_too_long_is_shortened_as_documented() -> None:
    document = body(built(request("MoveInRequest", **PERSON)).content)
    told = {etree.QName(one).localname: one.text for one in document.iter(etree.Element)}
    assert (told["Initials"], told["Surname"]) == ("TJP", "van der Voorbeeldenbergh")
    assert "SurnamePrefix" not in told
    assert told["StreetName"] == "Burgemeester van Voorbee"


def test_keys_of_a_contract_query_stand_in_no_change_of_supply() -> None:
    document = body(built(request("MoveInRequest", birth_key="--04-17", iban_key="482")).content)
    assert not {"BirthDayKey", "IBANKey"} & {etree.QName(one).localname for one in document.iter(etree.Element)}


def test_a_name_and_a_balance_responsible_party_are_two_requests() -> None:
    refused = adapter.build(request("MasterDataUpdate", balance_responsible=BRP), REFERENCE)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.path) == ("BUILD_VALUE", "balance_responsible")
    refused = adapter.build(request("MasterDataUpdate", surname=None, name_prefix=None), REFERENCE)
    assert isinstance(refused, Refusal)
    assert refused.code == "BUILD_MISSING"


# --- versions and batches are settings


def mapped(tmp_path: Path, text: str) -> NlEdsn:
    """The adapter with settings."""
    path = tmp_path / "edsn.yaml"
    path.write_text(text, encoding="utf-8")
    return adapter.mapped(path)


def test_the_version_of_each_message_is_a_setting(tmp_path: Path) -> None:
    own = mapped(
        tmp_path,
        'versions: {GetMeteringPointRequest: "2.0", MoveInRequest: "2.0", MasterDataUpdateResponse: ["2.1", "3.0"]}\n',
    )
    asked = request("MasterDataRequest", market_type="GetMeteringPointRequest", requested_date=date(2026, 2, 5))
    document = body(built(asked, own).content)
    assert etree.QName(document).namespace == "urn:cmf:edsn:data:getmeteringpointrequest:2:standard"
    assert [one.text for one in document.iter("{*}SetDate")] == ["2026-02-05"]
    moved = etree.QName(body(built(request("MoveInRequest"), own).content)).namespace
    assert moved == "urn:nedu:edsn:data:moveinrequest:2:standard"
    answer = Sniff(
        "a.xml", "xml", "MasterDataUpdateResponseEnvelope", "urn:nedu:edsn:data:masterdataupdateresponse:3:standard"
    )
    assert own.dispatch(answer) == "MasterDataUpdateResponse"
    assert isinstance(adapter.dispatch(answer), Refusal)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("versions: {MoveInRequests: '1.2'}", "meant MoveInRequest?"),
        ("versions: {MoveInRequest: new}", "expected a version like 1.2"),
        ("batches: {NameChangeRequest: 5}", "no such message"),
        ("batches: {MoveInRequest: 0}", "expected 1 to 1000 points"),
        ("version: {}", "expected the sections versions and batches; meant versions?"),
        ("[]", "expected the sections versions and batches"),
    ],
)
def test_a_mistake_in_the_settings_is_named(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        mapped(tmp_path, text)


def test_requests_that_are_set_so_go_out_in_one_batch(tmp_path: Path, schemas: Mapping[str, Path]) -> None:
    own = mapped(tmp_path, "batches: {MoveInRequest: 2}\n")
    points = (POINT, THIRD, "871999910000000041")
    messages = [
        found
        for number, point in enumerate(points)
        if isinstance(
            found := own.build(request("MoveInRequest", access_point=point), f"order-{number}"), OutgoingMessage
        )
    ]
    assert [one.type for one in messages] == ["MoveInBatchRequest"] * 3
    assert own.batches(messages) == [[0, 1], [2]]
    whole = body(own.batch(messages[:2], REFERENCE))
    etree.XMLSchema(file=str(schemas["urn:nedu:edsn:data:moveinbatchrequest:1:standard"])).assertValid(whole)
    assert [one.text for one in whole.iter("{*}EANID")] == list(points[:2])
    assert [one.text for one in whole.iter("{*}ExternalReference")] == ["order-0", "order-1"]
    assert [one.text for one in whole.iter("{*}MessageID")] == [REFERENCE]
    single = built(request("EndOfSupplyRequest"), own)
    assert own.batches([single, single]) == [[0], [1]]


def test_requests_of_two_parties_are_never_in_one_batch(tmp_path: Path) -> None:
    own = mapped(tmp_path, "batches: {MoveInRequest: 9}\n")
    other = request("MoveInRequest", sender=OTHER, supplier=OTHER)
    assert own.batches([built(request("MoveInRequest"), own), built(other, own)]) == [[0], [1]]


# --- what the services answer


def test_a_polled_rejection_belongs_to_the_request_that_it_names() -> None:
    ours, by_dossier = (only(one, RequestAnswer) for one in transactions("rejections.xml"))
    assert (ours.accepted, ours.correlation) == (False, "lum-bat-0001")
    assert [reason.code for reason in ours.reasons] == ["210", "227"]
    assert (by_dossier.correlation, by_dossier.request, by_dossier.code) == (None, "70050003", "233")


def test_a_batch_that_is_taken_is_taken_and_one_that_is_refused_is_refused() -> None:
    taken = only(transactions("move_in_batch_taken.xml")[0], RequestAnswer)
    refused = only(transactions("move_out_batch_refused.xml")[0], RequestAnswer)
    assert (taken.accepted, refused.accepted, refused.code) == (True, False, "200")
    assert taken.correlation == "5f1d2c3a-1111-4000-8000-000000000806"


def test_a_content_that_takes_one_point_and_rejects_another_answers_both() -> None:
    content = fixture("name_change_taken.xml").decode()
    other = fixture("name_change_refused.xml").decode()
    rejection = other[other.index("<Portaal_Rejection>") : other.index("</Portaal_Content>")]
    found = every(
        transactions(content.replace("</Portaal_Content>", f"{rejection}</Portaal_Content>").encode())[0], RequestAnswer
    )
    assert sorted((one.correlation, one.accepted) for one in found) == [("lum-nam-0001", True), ("lum-nam-0002", False)]


def test_an_unknown_rejection_code_is_kept_with_its_words() -> None:
    answer = only(transactions("name_change_refused.xml")[0], RequestAnswer)
    assert [(one.code, one.text) for one in answer.reasons][1] == ("9Z9", "Nieuwe code")


def test_several_mutations_of_a_point_are_several_events_and_end_our_request() -> None:
    (transaction,) = transactions("mutations_of_one_day.xml")
    named, meter = every(transaction, RequestStatus)
    assert (named.request, named.state, named.correlation) == ("70050002", "done", "lum-nam-0001")
    assert (meter.request, meter.market_reason, meter.correlation) == ("70050006", "MTRUPD", None)


def test_an_unknown_code_of_master_data_is_noted_and_kept() -> None:
    (transaction,) = transactions("mutations_of_one_day.xml")
    data = only(transaction, AccessPointData)
    assert data.connection_status is None
    kept = {one.name: one.value for one in transaction.messages[0].particulars}
    assert kept["MPPhysicalCharacteristics/PhysicalStatus"] == "NEW"
    assert kept["unknown-code/Portaal_MeteringPoint/MPPhysicalCharacteristics/PhysicalStatus"] == "NEW"
    assert [(note.code, note.value) for note in transaction.notes] == [("NOTE_CODE_UNKNOWN", "NEW")]


@pytest.mark.parametrize("code", ["093", "E02", "22 "])
def test_a_reading_method_is_kept_and_one_of_no_list_is_called_unknown(code: str) -> None:
    content = re.sub(rb"(<ReadingMethod>)[^<]*", rb"\g<1>" + code.encode(), fixture("readings.xml"))
    for one in transactions(content):
        kept = {held.name: held.value for message in one.messages for held in message.particulars}
        name = "Portaal_EnergyMeter/Register/Reading/ReadingMethod"
        known = code == "22 "  # the customer's; white space means nothing
        assert kept[name] == code.strip()
        assert (f"unknown-code/Portaal_MeteringPoint/{name}" in kept) is not known
        assert every(one, MeterReading)[0].nature == ("self-read" if known else "unknown")


def test_points_just_won_come_with_their_least_data() -> None:
    (transaction,) = transactions("points_won.xml")
    data = only(transaction, AccessPointData)
    assert (data.access_point, data.balance_responsible, data.allocation_method) == (POINT, BRP, "SMA")
    assert (data.annual_peak, data.annual_off_peak) == (Decimal(1320), Decimal(1480))
    assert (data.told_ahead, data.contract_status, data.request_reference) == (True, None, "70020001")
    kept = {one.name: one.value for one in transaction.messages[0].particulars}
    assert kept["MPPhysicalCharacteristics/EnergyDeliveryStatus"] == "ACT"
    assert (kept["Portaal_Mutation/Dossier/ID"], kept["Portaal_Mutation[2]/Dossier/ID"]) == ("70020001", "70050005")
    assert [type(one) for one in transaction.messages] == [AccessPointData]  # a mutation without a day is no event


def test_a_notice_of_an_end_of_supply_ends_nothing_and_says_whose_it_is() -> None:
    ours, another = (only(one, RequestStatus) for one in transactions("notices.xml"))
    assert (ours.effect_date, ours.initiated_by_us, ours.correlation) == (date(2026, 4, 30), True, "lum-eos-0001")
    assert (another.initiated_by_us, another.request) == (False, "70050008")
    assert {type(one) for found in transactions("notices.xml") for one in found.messages} == {RequestStatus}
    (notice,) = transactions("notice_of_another.xml")
    kept = {one.name: one.value for one in notice.messages[0].particulars}
    assert kept["MPCommercialCharacteristics/BalanceSupplier_Company/ID"] == OTHER
    assert only(notice, RequestStatus).initiated_by_us is False


@pytest.mark.parametrize("name", ["metering_point.xml", "metering_point_new.xml"])
def test_both_generations_of_a_point_of_the_register_are_read(name: str) -> None:
    (transaction,) = transactions(name)
    data = only(transaction, AccessPointData)
    assert (data.access_point, data.grid_operator, data.allocation_method) == (POINT, GRID, "SMA")
    assert data.address is not None
    assert (data.address.street, data.address.city) == (ADDRESS.street, ADDRESS.city)
    kept = {one.name: one.value for one in transaction.messages[0].particulars}
    if name == "metering_point_new.xml":
        assert data.effective.date() == date(2026, 2, 5)
        terms = only(transaction, ContractTerms)
        assert (terms.contract_start, terms.effective.date()) == (date(2026, 2, 1), date(2026, 2, 5))
        another = fixture(name).replace(b"<ID>8719999100104</ID>", b"<ID>8719999100203</ID>")
        assert every(transactions(another)[0], ContractTerms) == []  # the day since which another supplies it
        since = "CAR_MeteringPoint/MPPhysicalCharacteristics/ValidFromDateElementsMPPhysicalCharacteristics"
        assert str(kept[f"{since}/AllocationMethod"]) == "2023-04-01"


def test_a_second_address_and_a_second_party_of_a_point_are_kept() -> None:
    content = fixture("metering_point.xml").decode()
    address = content[content.index("<EDSN_AddressExtended>") : content.index("<ValidFromDate>")]
    party = content[content.index("<GridContractParty>") : content.index("<BalanceSupplier_Company>")]
    second = address.replace("Testdorp", "Proefstad"), party.replace("Voorbeeld", "Ander")
    content = content.replace(address, address + second[0]).replace(party, party + second[1])
    (transaction,) = transactions(content.encode())
    kept = {one.name: one.value for one in transaction.messages[0].particulars}
    assert kept["Portaal_MeteringPoint/EDSN_AddressExtended[2]/CityName"] == "Proefstad"
    assert kept["Portaal_MeteringPoint/MPCommercialCharacteristics/GridContractParty[2]/Surname"] == "Ander"


def test_a_search_that_finds_a_hundred_points_loses_nothing_of_them() -> None:
    content = fixture("search_old.xml").decode()
    start, end = content.index("<Portaal_MeteringPoint>"), content.index("</Portaal_MeteringPoint>")
    point = content[start : end + len("</Portaal_MeteringPoint>")]
    (transaction,) = transactions(content.replace(point, point * 100, 1).encode())
    found = only(transaction, RequestAnswer).found
    assert len(found) == 101
    assert transaction.notes == ()
    assert {len(one.particulars) for one in found[:100]} == {len(found[0].particulars)}
    assert found[99].address is not None
    assert found[99].address.city == "Testdorp"


def test_files_that_wait_and_what_became_of_ours_are_told() -> None:
    waiting = only(transactions("files_waiting.xml")[0], RequestAnswer)
    assert [(one.name, one.reference) for one in waiting.attachments] == [("verbruik_202602.csv", "900001")]
    taken, refused = sorted(every(transactions("file_results.xml")[0], RequestAnswer), key=lambda one: not one.accepted)
    assert (taken.request, refused.request, refused.code) == ("900002", "900003", "246")


# --- registers and volumes without a value


def test_a_p4_register_without_a_reading_is_a_note_and_its_neighbour_is_read() -> None:
    content = fixture("p4_day.xml").decode()
    start = content.index("<Reading>")
    end = content.index("</Reading>") + len("</Reading>")
    (transaction, *_) = transactions((content[:start] + content[end:]).encode())
    assert [note.code for note in transaction.notes] == ["NOTE_READING_MISSING"]
    before = only(transactions("p4_day.xml")[0], MeterReading)
    assert len(only(transaction, MeterReading).registers) == len(before.registers) - 1
    assert only(transaction, RequestStatus).state == "done"


def test_a_day_of_which_no_register_has_a_reading_is_answered_and_noted() -> None:
    content = re.sub(rb"<Reading>[^<]*</Reading>", b"", fixture("p4_month.xml"))
    (transaction, *_) = transactions(content)
    assert {note.code for note in transaction.notes} == {"NOTE_READING_MISSING"}
    assert [type(one) for one in transaction.messages] == [RequestStatus]


def test_an_empty_volume_of_an_exchange_is_a_note() -> None:
    content = re.sub(rb"<Volume>[0-9.]+</Volume>", b"<Volume/>", fixture("volumes.xml"), count=1)
    found = digested(content).transactions
    assert [one.refusals for one in found] == [()] * len(found)
    assert "NOTE_VALUE_MISSING" in {note.code for one in found for note in one.notes}
