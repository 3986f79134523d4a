"""What is sent to the Danish hub: valid by its own schemas in XML and in JSON; its answers find their requests."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lxml import etree

from adapters.common.conformance.subject import read
from adapters.dk_energinet import adapter
from adapters.dk_energinet.requests import KINDS, build
from energycomm.kernel.family import KINDS as KERNEL
from energycomm.kernel.messages import KernelMessage, RequestAnswer, RequestStatus
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage
from tests.adapters.danish import fault

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {row["kind"]: row for row in json.loads((ROOT / "fixtures/requests/kinds/dk.json").read_text("utf-8"))}
each_kind = pytest.mark.parametrize("kind", sorted(KINDS))


def _request(kind: str, **changed: Any) -> KernelMessage:
    return msgspec.convert({"market_type": "request", **EXAMPLES[kind], **changed}, KERNEL[kind], strict=False)


def _built(kind: str, form: Any = "xml", **changed: Any) -> OutgoingMessage:
    made = build(_request(kind, **changed), "OUR-1", form)
    assert isinstance(made, OutgoingMessage), made
    return made


@each_kind
@pytest.mark.parametrize("form", ["xml", "json"])
def test_a_request_is_valid_by_the_hubs_schema(kind: str, form: str, shared: Path) -> None:
    """The schema of the data of a customer is public in XML alone; the next test reads both forms."""
    assert fault(_built(kind, form).content, shared) is None


@each_kind
def test_both_forms_of_a_request_say_the_same(kind: str) -> None:
    told = []
    for form in ("xml", "json"):
        made = _built(kind, form)
        (transaction,) = read(adapter, made.content, f"request.{form}", made.type).transactions
        (copy,) = transaction.messages
        assert isinstance(copy, RequestStatus)
        assert (copy.correlation, copy.state, copy.initiated_by_us) == ("OUR-1", "sent", True)
        told.append(copy)
    assert told[0] == told[1]


def test_days_are_written_as_midnights_in_denmark() -> None:
    """In March the clock is changed: the month begins at 23:00 and ends at 22:00 in universal time."""
    made = _built("AggregatedDataRequest", start="2026-03-01", end="2026-03-31").content
    assert b"dateTime>2026-02-28T23:00:00Z<" in made
    assert b"dateTime>2026-03-31T22:00:00Z<" in made


@pytest.mark.parametrize(("run", "process"), [("first", "D04"), ("second", "D05"), ("correction", "D32")])
def test_a_run_of_the_settlement_is_its_process(run: str, process: str) -> None:
    assert f"processType>{process}<".encode() in _built("SettlementRequest", version=run).content


def test_what_the_hub_has_no_code_for_is_not_written() -> None:
    refused = build(_request("SettlementRequest", charge_type="other"), "OUR-1")
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.path, refused.value) == ("BUILD_VALUE", "charge_type", "other")


def test_a_request_without_its_point_is_not_written() -> None:
    refused = build(_request("MoveInRequest", access_point=None), "OUR-1")
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.path) == ("BUILD_MISSING", "access_point")


def test_an_identifier_that_the_hub_does_not_take_is_not_written() -> None:
    refused = build(_request("MoveInRequest"), "x" * 37)
    assert isinstance(refused, Refusal)
    assert refused.code == "BUILD_SCHEMA"


@pytest.mark.parametrize(
    ("file", "correlation", "accepted", "codes"),
    [
        ("supplier_confirmed.xml", "OUR-2001", True, []),
        ("supplier_confirmed.json", "OUR-2002", True, []),
        ("supplier_refused.xml", "OUR-2003", False, ["E17", "D17"]),
        ("sums_refused.xml", "OUR-0001", False, ["E17", "E86"]),
        ("measures_refused.xml", "OUR-0002", False, ["E10"]),
        ("settlement_refused.json", "OUR-0003", False, ["D14"]),
    ],
)
def test_an_answer_finds_its_request_with_every_reason(
    file: str, correlation: str, accepted: bool, codes: list[str]
) -> None:
    path = ROOT / "fixtures" / "dk" / file
    (transaction,) = read(adapter, path.read_bytes(), file).transactions
    (answer,) = transaction.messages
    assert isinstance(answer, RequestAnswer)
    assert (answer.correlation, answer.accepted) == (correlation, accepted)
    assert [reason.code for reason in answer.reasons] == codes


def test_an_acknowledgement_without_reasons_is_one_message() -> None:
    """It says nothing but that the hub received a document: the document is the CH message."""
    for file in ("received.xml", "received.json"):
        content = (ROOT / "fixtures" / "dk" / file).read_bytes()
        (transaction,) = read(adapter, content, file).transactions
        (status,) = transaction.messages
        assert isinstance(status, RequestStatus)
        assert status.state == "acknowledged"
        assert status.request == status.correlation
        assert adapter.explain("CIM_Acknowledgement", io.BytesIO(content), file, 1) == []


def test_an_acknowledgement_with_reasons_refuses_what_it_names() -> None:
    content = (ROOT / "fixtures" / "dk" / "not_received.xml").read_bytes()
    (transaction,) = read(adapter, content, "not_received.xml").transactions
    found = [(one.correlation, one.code) for one in transaction.messages if isinstance(one, RequestAnswer)]
    assert sorted(found) == [("OUR-2007", "A02"), ("OUR-2007", "E10"), ("OUR-2008", "E86")]


@pytest.mark.parametrize(
    ("file", "process", "told"),
    [
        ("point.xml", "E03", ["done"]),
        ("point.xml", "D29", ["done"]),
        ("point.xml", "E32", []),
        ("measures.xml", "E30", ["done"]),
        ("measures.xml", "E23", []),
        ("customer.xml", "E34", ["done"]),
        ("customer.xml", "E03", []),
        ("supply_ended.xml", "E20", ["done"]),
        ("supply_ended.xml", "D38", ["done"]),
        ("supply_ended.xml", "E05", []),
    ],
)
def test_a_request_is_done_by_what_carries_it_out_and_names_it(file: str, process: str, told: list[str]) -> None:
    """The start or the end of a supply, historical measures, the new data of a customer; what a process of another kind
    tells under the same reference does not end it."""
    root = etree.fromstring((ROOT / "fixtures" / "dk" / file).read_bytes())
    piece = next(element for element in root if len(element))
    for other in piece.itersiblings():
        root.remove(other)
    space = etree.QName(root).namespace
    name = "Series" if etree.QName(piece).localname == "Series" else "MktActivityRecord"
    original = piece.find(f"{{{space}}}originalTransactionIDReference_{name}.mRID")
    if original is None:
        original = etree.Element(f"{{{space}}}originalTransactionIDReference_{name}.mRID")
        piece.insert(1 + (file == "supply_ended.xml"), original)
    original.text = "OUR-77"
    (head,) = root.iter(f"{{{space}}}process.processType")
    head.text = process
    found = read(adapter, etree.tostring(root), file)
    states = [
        (each.state, each.correlation, each.request)
        for transaction in found.transactions
        for each in transaction.messages
        if isinstance(each, RequestStatus)
    ]
    assert states == [(state, "OUR-77", "OUR-77") for state in told]


def test_a_licensee_chooses_the_form_of_requests_once(tmp_path: Path) -> None:
    """The setting `mappings` names the file; the content is the same, and so is everything that is read."""
    file = tmp_path / "dk.yaml"
    file.write_text("form: json\nservice: {peek: 'v2/peek/{queue}'}\n")
    theirs = adapter.mapped(file)
    made = theirs.build(_request("AggregatedDataRequest"), "OUR-1")
    assert isinstance(made, OutgoingMessage)
    assert made.content_type == "application/json"
    assert made.content == _built("AggregatedDataRequest", "json").content
    assert theirs.service == {"known": "00101", "peek": "v2/peek/{queue}"}
    written = adapter.build(_request("AggregatedDataRequest"), "OUR-1")
    assert isinstance(written, OutgoingMessage)
    assert written.content_type == "application/xml"


@pytest.mark.parametrize(
    ("text", "words"),
    [("form: yaml", "'yaml'"), ("shape: json", "shape"), ("service: {peak: x}", "peak"), ("form: [", "(?i)yaml|flow")],
)
def test_a_mistake_in_these_choices_is_told(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "dk.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=words):
        adapter.mapped(file)
    with pytest.raises(ValueError, match="cannot be read"):
        adapter.mapped(tmp_path / "none.yaml")
