"""The table-driven adapter: documents of an invented market in XML, JSON and CSV, read by a table; and wrong tables."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.common import jsonform, shapes
from adapters.common.codes import Unreadable
from adapters.common.edifact import syntax
from adapters.common.table import Document, TableFault, read_table
from adapters.common.tableadapter import TableAdapter
from adapters.common.views import PLAIN, View
from energycomm.kernel.check import explain
from energycomm.kernel.codec import encode, encode_json
from energycomm.kernel.messages import AccessPointData, CustomerData, KernelMessage, MeasureSeries, StartOfSupply
from energycomm.kernel.parts import Address, Position
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import MemberHead, Sniff, Transaction

SUMMER = timezone(timedelta(hours=2))

TABLE = """
market: QQ
zone: Europe/Copenhagen
entry: {market_type: Start, event: E03}
exit: {market_type: Start, event: E20}
types:
  stamp: {base: instant, format: "%Y%m%d%H%M"}
codes:
  quality: {A03: as-read, A04: estimated}
  reason: {E03: supplier-switch}
  unit: {KWH: kWh}
open: [reason]
blocks:
  participants:
    sender.mRID: [sender, text, needed]
    receiver.mRID: [receiver]
documents:
  Series:
    about: series of values
    forms: [xml, json]
    root: Measures_MarketDocument
    versions: {"0.1": "urn:qq:measures:0:1"}
    fixed: {sender_role: clearing-house}
    header:
      - participants
      - mRID: [left-out, number of the file]
        version: [particular, number]
        createdDateTime: [created, needed]
        process.type: [market_reason, text, entering]
    pieces:
      Series:
        makes: MeasureSeries
        leaves:
          mRID: [reference, needed]
          point.mRID: [access_point, needed]
          point.mRID@codingScheme: [left-out, always A10]
          unit.name: [unit, "code:unit", needed]
          Period/resolution: [resolution resolution_months, step, needed]
          seen: [particular, flag]
          area.mRID: [particular]
          area.mRID@codingScheme: [particular]
          Period/interval/start: [effective, needed]
          Period/interval/end: [end, needed]
          Period/Point:
            each: positions
            leaves:
              position: [position, position, needed]
              quantity: [value]
              quality: [quality, "code:quality"]
  Start:
    about: starts of supply with their customers
    root: Start
    versions: {"1": null}
    header:
      Head/From: [sender, needed]
      Head/At: [created, stamp, needed]
    pieces:
      Entry:
        makes: [StartOfSupply, AccessPointData, CustomerData]
        leaves:
          Id: [reference, needed]
          Point: [access_point, needed]
          Day: [effective contract_start, day, needed]
          Why: [reason =market_reason, "code:reason"]
          City: [AccessPointData.address.city]
          Name: [surname]
          Home: [CustomerData.address.city]
  Table:
    about: starts of supply, a row for each
    form: csv
    columns: [point, day, from]
    separator: ";"
    name: starts_(?P<stamp>[0-9]{12})\\.csv
    versions: {"1": null}
    fixed: {sender: QQ-OPERATOR}
    header:
      name/stamp: [created, stamp, needed]
    pieces:
      row:
        makes: StartOfSupply
        leaves:
          point: [access_point reference, needed]
          day: [effective, day, needed]
          from: [left-out, always the same]
unread: {Order: what we send ourselves}
"""

XML = """<?xml version="1.0" encoding="UTF-8"?>
<m:Measures_MarketDocument xmlns:m="urn:qq:measures:0:1">
  <m:mRID>1</m:mRID>
  <m:process.type>E23</m:process.type>
  <m:sender.mRID codingScheme="A10">5790001330552</m:sender.mRID>
  <m:createdDateTime>2026-07-30T07:30:54Z</m:createdDateTime>
  <m:Series>
    <m:mRID>S-1</m:mRID>
    <m:point.mRID codingScheme="A10">571313000000002000</m:point.mRID>
    <m:unit.name>KWH</m:unit.name>
    <m:Period>
      <m:resolution>PT1H</m:resolution>
      <m:interval><m:start>2026-06-28T22:00Z</m:start><m:end>2026-06-29T00:00Z</m:end></m:interval>
      <m:Point><m:position>1</m:position><m:quantity>56.25</m:quantity><m:quality>A03</m:quality></m:Point>
      <m:Point><m:position>2</m:position><m:quality>A04</m:quality></m:Point>
    </m:Period>
  </m:Series>
</m:Measures_MarketDocument>
"""
SERIES: dict[str, Any] = {
    "mRID": "S-1",
    "point.mRID": {"codingScheme": "A10", "value": "571313000000002000"},
    "unit.name": {"value": "KWH"},
    "Period": {
        "resolution": "PT1H",
        "interval": {"start": "2026-06-28T22:00Z", "end": "2026-06-29T00:00Z"},
        "Point": [
            {"position": {"value": 1}, "quantity": 56.25, "quality": {"value": "A03"}},
            {"position": {"value": 2}, "quality": {"value": "A04"}},
        ],
    },
}
HEADER: dict[str, Any] = {
    "mRID": "1",
    "process.type": {"value": "E23"},
    "sender.mRID": {"codingScheme": "A10", "value": "5790001330552"},
    "createdDateTime": "2026-07-30T07:30:54Z",
}


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> TableAdapter:
    return TableAdapter(read_table(written(tmp_path_factory.mktemp("kit"))))


def written(folder: Path, text: str = TABLE) -> Path:
    path = folder / "table.yaml"
    path.write_text(text)
    return path


def as_json(document: dict[str, Any], series: list[Any], *, first: bool = False) -> bytes:
    body = {"Series": series, **document} if first else {**document, "Series": series}
    return json.dumps({"Measures_MarketDocument": body}).encode()


def digested(
    adapter: TableAdapter, label: str, content: bytes | str, name: str = "member"
) -> tuple[MemberHead | None, list[Transaction], Refusal | None]:
    head, found, refusal = None, [], None
    stream = io.BytesIO(content.encode() if isinstance(content, str) else content)
    for part in adapter.digest(label, stream, name):
        if isinstance(part, MemberHead):
            head = part
        elif isinstance(part, Transaction):
            found.append(part)
        else:
            refusal = part
    return head, found, refusal


def messages(found: list[Transaction]) -> list[KernelMessage]:
    for transaction in found:
        assert transaction.refusals == ()
        for message in transaction.messages:
            assert explain(encode(message)) == []
    return [message for transaction in found for message in transaction.messages]


def expected_series() -> MeasureSeries:
    """What a person reads in the document."""
    return MeasureSeries(
        market="QQ",
        market_type="Series",
        market_reason="E23",
        reference="S-1",
        created=datetime(2026, 7, 30, 9, 30, 54, tzinfo=SUMMER),
        effective=datetime(2026, 6, 29, tzinfo=SUMMER),
        access_point="571313000000002000",
        sender="5790001330552",
        sender_role="clearing-house",
        end=datetime(2026, 6, 29, 2, tzinfo=SUMMER),
        resolution=60,
        unit="kWh",
        positions=(
            Position(position=1, value=Decimal("56.25"), quality="as-read"),
            Position(position=2, quality="estimated"),
        ),
    )


def test_a_flat_header_and_a_series_in_xml(adapter: TableAdapter) -> None:
    head, found, refusal = digested(adapter, "Series", XML)
    assert refusal is None
    assert head is not None
    assert (head.sender, head.created, head.version) == ("5790001330552", "2026-07-30T07:30:54Z", "0.1")
    assert messages(found) == [expected_series()]


@pytest.mark.parametrize("first", [False, True])
def test_the_same_in_json_whatever_the_order_of_its_members(adapter: TableAdapter, first: bool) -> None:
    _, found, refusal = digested(adapter, "Series", as_json(HEADER, [SERIES], first=first))
    assert refusal is None
    assert messages(found) == [expected_series()]


def test_several_kinds_of_one_piece_take_what_is_theirs(adapter: TableAdapter) -> None:
    content = """<Start><Head><From>A</From><At>202603011200</At></Head><Entry><Id>1</Id><Point>P</Point>
      <Day>2026-03-01</Day><Why>E03</Why><City>Aarhus</City></Entry><Entry><Id>2</Id><Point>Q</Point>
      <Day>2026-03-02</Day><Why>E99</Why><Name>Holm</Name><Home>Ribe</Home></Entry></Start>"""
    start, data, other, customer = messages(digested(adapter, "Start", content)[1])
    assert isinstance(start, StartOfSupply)
    assert start.created == datetime(2026, 3, 1, 11, tzinfo=UTC)
    assert (start.contract_start, start.reason, start.market_reason) == (date(2026, 3, 1), "supplier-switch", "E03")
    assert isinstance(data, AccessPointData)
    assert data.address == Address(city="Aarhus")
    assert isinstance(other, StartOfSupply)
    assert (other.reason, other.market_reason) == (None, "E99")
    assert isinstance(customer, CustomerData)
    assert (customer.surname, customer.address) == ("Holm", Address(city="Ribe"))


ENTRY = "<Entry><Id>1</Id><Point>P</Point><Day>2026-03-01</Day><Why>E03</Why><Name>Holm</Name></Entry>"


@pytest.mark.parametrize(
    ("old", "new", "told", "names"),
    [
        (">Holm<", ">Bo 50%s<", [], ["Bo 50%s"]),
        (">Holm<", "> Bo\n<", [], ["Bo"]),
        (">Holm<", ">  <", [], []),
        ("<Id>1</Id><Point>P</Point>", "<Point>P</Point><Id>2</Id>", [], ["Holm"]),
        ("</Name>", "</Name><New>1</New>", [("NOTE_ELEMENT_UNKNOWN", "Entry/New")], ["Holm"]),
        ("<Id>1</Id>", "", [("SYN_MISSING", "Entry/Id")], []),
        (">1</Id>", "> </Id>", [("SYN_MISSING", "Entry/Id")], []),
        ("</Name>", "</Name><Name>Bo</Name>", [("SYN_UNEXPECTED", "Entry/Name")], []),
        (">Holm<", "><First>Bo</First><", [("SYN_UNEXPECTED", "Entry/Name")], []),
        (">2026-03-01<", ">2026-02-30<", [("SYN_VALUE", "Entry/Day")], []),
    ],
)
def test_an_element_is_read_alike_whether_its_shape_is_known_or_not(
    adapter: TableAdapter, monkeypatch: pytest.MonkeyPatch, old: str, new: str, told: list[Any], names: list[str]
) -> None:
    """The first of a shape, the second, and each as the walk through the table reads it: identities are stored."""
    other = ENTRY.replace(old, new)
    assert other != ENTRY
    content = f"<Start><Head><From>A</From><At>202603011200</At></Head>{ENTRY}{other}{ENTRY}{other}</Start>"
    _, found, _ = digested(adapter, "Start", content)
    for one in (found[1], found[3]):
        assert [(refusal.code, refusal.path) for refusal in (*one.refusals, *one.notes)] == told
        assert [message.surname for message in one.messages if isinstance(message, CustomerData)] == names
    assert [one.identity == found[0].identity for one in found] == [True, False, True, False]
    monkeypatch.setattr(shapes, "LARGEST", 0)
    assert digested(adapter, "Start", content)[1] == found


def test_a_row_of_a_table_is_a_message(adapter: TableAdapter) -> None:
    content = "point;day;from;more\n1;2026-03-01;x;\n\n2;2026-13-01;x;1\n"
    head, found, refusal = digested(adapter, "Table", content, "starts_202603011200.csv")
    assert refusal is None
    assert head is not None
    assert head.created == "202603011200"
    assert [message.access_point for message in messages(found[:1])] == ["1"]
    assert [(r.code, r.path, r.value) for r in found[1].refusals] == [("SYN_VALUE", "row/day", "2026-13-01")]
    assert digested(adapter, "Table", content, "other.csv")[2].code == "HEADER_MISSING"  # type: ignore[union-attr]
    assert digested(adapter, "Table", "a;b\n1;2\n", "starts_202603011200.csv")[2].code == "CSV_COLUMNS"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("old", "new", "code", "path", "value", "expected"),
    [
        ("2026-06-28T22:00Z", "2026-06-31T22:00Z", "SYN_VALUE", "Series/Period/interval/start", "2026-06-31T22:00Z",
         "a date-time like 2026-03-01T00:00:00+01:00"),
        ("PT1H", "P1W", "SYN_VALUE", "Series/Period/resolution", "P1W", "a step like PT15M, P1D, P1M or P1Y"),
        (">A03<", ">A99<", "SYN_CODE", "Series/Period/Point/quality", "A99", "one of A03, A04"),
        ("<m:mRID>S-1</m:mRID>", "", "SYN_MISSING", "Series/mRID", None, "an element with a value"),
        ("<m:mRID>S-1</m:mRID>", "<m:mRID><m:a/></m:mRID>", "SYN_UNEXPECTED", "Series/mRID", "a",
         "a value, no elements"),
        ("<m:mRID>S-1</m:mRID>", "<m:mRID>S</m:mRID><m:mRID>T</m:mRID>", "SYN_UNEXPECTED", "Series/mRID", "T",
         "this element once"),
        ("571313000000002000", "5" * 41, "SYN_VALUE", "Series/point.mRID", "5" * 41, "at most 40 characters"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_place_value_and_expectation(
    adapter: TableAdapter, old: str, new: str, code: str, path: str, value: str | None, expected: str
) -> None:
    wrong = XML.replace(old, new)
    assert wrong != XML
    _, found, _ = digested(adapter, "Series", wrong)
    (refused,) = found[0].refusals
    assert (refused.code, refused.path, refused.expected) == (code, path, expected)
    assert (refused.value or "").rpartition("}")[2] == (value or "")
    assert list(adapter.explain("Series", io.BytesIO(wrong.encode()), "x", 1)) == [refused]
    assert found[0].identity != digested(adapter, "Series", XML)[1][0].identity


def test_one_bad_message_harms_no_neighbour_and_what_is_unknown_is_noted(adapter: TableAdapter) -> None:
    bad = {**SERIES, "mRID": None}
    more = {**SERIES, "novelty": "1"}
    _, found, refusal = digested(adapter, "Series", as_json(HEADER, [bad, SERIES, more, 5, "\ufffe", [SERIES]]))
    assert refusal is None
    assert [bool(one.messages) for one in found] == [False, True, True, False, False, False]
    assert [(note.code, note.path) for note in found[2].notes] == [("NOTE_ELEMENT_UNKNOWN", "Series/novelty")]


@pytest.mark.parametrize("text", ["\ud800", "a\udc00b", "\x00", "\uffff"])
def test_a_text_that_no_message_can_hold_is_refused_where_it_stands(adapter: TableAdapter, text: str) -> None:
    content = as_json(HEADER, [{**SERIES, "mRID": f"S{text}"}, {**SERIES, "mRID": "\\ud800"}])
    _, found, refusal = digested(adapter, "Series", content)
    assert refusal is None
    assert [(one.code, one.path) for one in found[0].refusals] == [("SYN_VALUE", "Series/mRID")]
    assert found[1].reference == "\\ud800"  # a backslash and five letters: nothing is wrong with it


def test_a_header_that_is_not_whole_is_refused(adapter: TableAdapter) -> None:
    short = {key: value for key, value in HEADER.items() if key != "sender.mRID"}
    refused = digested(adapter, "Series", as_json(short, [SERIES]))[2]
    assert refused is not None
    assert (refused.code, refused.path) == ("HEADER_MISSING", "member: Measures_MarketDocument/sender.mRID")
    refused = digested(adapter, "Series", as_json({**HEADER, "createdDateTime": "now"}, [SERIES]))[2]
    assert refused is not None
    assert (refused.code, refused.value) == ("HEADER_INVALID", "now")


def test_the_form_is_that_of_the_content(adapter: TableAdapter) -> None:
    """JSON under a name of XML, and the reverse, is read and said; a form that the type does not have is refused."""
    for content, name, said in ((as_json(HEADER, [SERIES]), "a.xml", "JSON"), (XML.encode(), "a.json", "XML")):
        head, found, refusal = digested(adapter, "Series", content, name)
        assert refusal is None
        assert head is not None
        assert messages(found) == [expected_series()]
        assert [(note.code, note.value) for note in head.notes] == [("NOTE_FORM", said)]
    refused = digested(adapter, "Start", b'{"Start": {}}', "start.xml")[2]
    assert refused is not None
    assert (refused.code, refused.value, refused.expected) == ("FORM_UNEXPECTED", "JSON", "XML")


def test_dispatch_tells_types_versions_and_what_is_not_ours(adapter: TableAdapter) -> None:
    root = "Measures_MarketDocument"
    told: list[tuple[Sniff, str]] = [
        (Sniff("x", "xml", root, "urn:qq:measures:0:1"), "Series"),
        (Sniff("x", "json", root), "Series"),
        (Sniff("x", "other", "point;day;from\n1;2;3"), "Table"),
        (Sniff("x", "xml", root, "urn:qq:measures:0:2"), "VERSION_UNKNOWN"),
        (Sniff("x", "xml", "Order", "urn:qq:orders"), "TYPE_UNKNOWN"),
        (Sniff("x", "xml", "Other", "urn:qq:measures:0:1"), "TYPE_UNKNOWN"),
        (Sniff("x", "json", "a,b"), "TYPE_NOT_OURS"),
        (Sniff("x", "other", "point;day"), "TYPE_NOT_OURS"),
    ]
    for sniff, expected in told:
        found = adapter.dispatch(sniff)
        assert (found.code if isinstance(found, Refusal) else found) == expected


def test_what_is_left_out_may_hold_anything(adapter: TableAdapter) -> None:
    odd = {**HEADER, "mRID": {"a": [1, {"b": 2}]}}
    point = {"value": "571313000000002000", "codingScheme": {"a": 1}}
    _, found, refusal = digested(adapter, "Series", as_json(odd, [{**SERIES, "point.mRID": point}]))
    assert refusal is None
    assert messages(found) == [expected_series()]
    many = XML.replace("<m:mRID>1</m:mRID>", "<m:mRID>1</m:mRID><m:mRID><m:x/></m:mRID>")
    assert messages(digested(adapter, "Series", many)[1]) == [expected_series()]


@pytest.mark.parametrize(("written_", "minutes", "months"), [("PT15M", 15, None), ("P1M", None, 1), ("P1Y", None, 12)])
def test_a_step_is_minutes_or_months(adapter: TableAdapter, written_: str, minutes: int, months: int) -> None:
    series = {**SERIES, "Period": {**SERIES["Period"], "resolution": written_}}
    (message,) = messages(digested(adapter, "Series", as_json(HEADER, [series]))[1])
    assert isinstance(message, MeasureSeries)
    assert (message.resolution, message.resolution_months) == (minutes, months)


def test_what_has_no_field_is_kept_as_a_particular_under_its_path(adapter: TableAdapter) -> None:
    series = {**SERIES, "seen": True, "area.mRID": {"value": "DK1", "codingScheme": "NDK"}}
    (message,) = messages(digested(adapter, "Series", as_json({**HEADER, "version": 2}, [series]))[1])
    assert {one.name: one.value for one in message.particulars} == {
        "version": Decimal(2),
        "seen": True,
        "area.mRID": "DK1",
        "area.mRID@codingScheme": "NDK",
    }


def test_identity_is_that_of_content_sender_and_what_enters(adapter: TableAdapter) -> None:
    def identity(document: dict[str, Any], series: dict[str, Any]) -> bytes:
        return digested(adapter, "Series", as_json(document, [series]))[1][0].identity

    plain = identity(HEADER, SERIES)
    assert identity({**HEADER, "createdDateTime": "2026-07-31T07:30:54Z", "mRID": "2"}, SERIES) == plain
    assert identity(HEADER, dict(reversed(SERIES.items()))) == plain
    assert identity({**HEADER, "process.type": {"value": "E24"}}, SERIES) != plain
    assert identity({**HEADER, "sender.mRID": {"value": "5790000432752"}}, SERIES) != plain
    assert identity(HEADER, {**SERIES, "mRID": "S-2"}) != plain


@given(cut=st.integers(0, 400), junk=st.binary(max_size=6))
def test_damaged_json_ends_in_a_refusal_and_never_raises(cut: int, junk: bytes) -> None:
    content = as_json(HEADER, [SERIES])
    damaged = content[:cut] + junk
    _, _, refusal = digested(_ADAPTER, "Series", damaged)
    if json_fault(damaged):
        assert refusal is not None


def json_fault(content: bytes) -> bool:
    """Whether Python's own reader refuses a text; of what it takes, nothing is said here."""
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return True
    return False


@given(
    values=st.lists(st.decimals(min_value=-(10**9), max_value=10**9, places=3, allow_nan=False), max_size=20),
    size=st.integers(1, 50),
)
def test_numbers_come_out_of_json_as_they_stand_in_it(values: list[Decimal], size: int) -> None:
    """No value passes through a binary fraction, however the bytes arrive."""
    points = ",".join(f'{{"position": {number}, "quantity": {value}}}' for number, value in enumerate(values, 1))
    series = json.dumps(SERIES).replace(json.dumps(SERIES["Period"]["Point"]), f"[{points}]")
    content = json.dumps({"Measures_MarketDocument": HEADER}).encode()[:-2] + f', "Series": [{series}]}}}}'.encode()
    parts = list(_ADAPTER.digest("Series", Dripping(content, size), "x"))  # type: ignore[arg-type]
    transaction = parts[-1]
    assert isinstance(transaction, Transaction)
    message = transaction.messages[0]
    assert isinstance(message, MeasureSeries)
    assert [position.value for position in message.positions] == values


class Dripping:
    """A stream that gives a few bytes at a time."""

    def __init__(self, content: bytes, size: int) -> None:
        self._stream, self._size = io.BytesIO(content), size

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(self._size if size < 0 else min(size, self._size))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mRID: [reference, needed]", "mRID: [referense, needed]", "no field referense; did you mean reference?"),
        ("mRID: [reference, needed]", "mRID: [reference, texd]", "there is no type 'texd'; did you mean text?"),
        ("mRID: [reference, needed]", "mRID: {reference: x}", "'reference' is not known"),
        ("mRID: [reference, needed]", "mRID: [left-out]", "[left-out, why]"),
        ("mRID: [reference, needed]", "x: [market_reason]", "MeasureSeries cannot be made: no needed leaf or fixed"),
        ("position: [position, position, needed]", "position: [position]", "Position cannot be made"),
        ("position: [position, position, needed]", "position: [nummer, needed]", "Position has no field nummer"),
        ('[quality, "code:quality"]', '[quality, "code:kvality"]', "no code list 'kvality'; did you mean quality?"),
        ('[quality, "code:quality"]', "[quality]", "needs a code list"),
        ("A03: as-read", "A03: seen", "'seen' is none of as-read"),
        ("each: positions", "each: resolution", "resolution is no list of parts"),
        ("makes: MeasureSeries", "makes: MeasureSerie", "there is no Kernel kind 'MeasureSerie'"),
        ("form: csv", "form: cvs", "form 'cvs' is none of"),
        ("zone: Europe/Copenhagen", "zone: Europe/Kopenhagen", "is no time zone"),
        ("market: QQ", "market: qq", "two capitals"),
        ("- participants", "- participant", "there is no block 'participant'; did you mean participants?"),
        ("fixed: {sender_role: clearing-house}", "fixed: {sender_role: king}", "'king' is none of"),
        ("open: [reason]", "open: [raison]", "there is no code list 'raison'"),
        ('versions: {"0.1": "urn:qq:measures:0:1"}', "versions: {}", "versions is missing"),
        ("Period/resolution:", "mRID:", "'mRID' stands twice"),
        ("Period/interval/start:", "mRID/interval/start:", "is a leaf or a group itself"),
        ("base: instant, format:", "base: number, format:", "a format belongs to an instant or a day"),
        ("root: Start", "schema: none.xsd\n    root: Start", "there is no schema"),
        ("about: series of values", "abuot: series", "'abuot' is not known; did you mean about?"),
        ("market: QQ", "market: [QQ", "expected"),
        ("entry: {market_type: Start,", "entry: {market_type: Strat,", "market_type 'Strat' is no document"),
        ("exit: {market_type: Start,", "exit: {", "required field `market_type`"),
        ("  Start:\n    about", f"  {'S' * 41}:\n    about", "a label has at most 40 characters"),
        (
            '    root: Start\n    versions: {"1": null}',
            '    root: Measures_MarketDocument\n    versions: {"1": "urn:qq:measures:0:1"}',
            "documents/Start: nothing tells it from Series",
        ),
    ],
)
def test_a_mistake_in_a_table_is_told_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    wrong = TABLE.replace(old, new, 1)
    assert wrong != TABLE
    with pytest.raises(TableFault) as fault:
        read_table(written(tmp_path, wrong))
    text = str(fault.value)
    assert said in text
    line = int(text.removeprefix(f"{tmp_path / 'table.yaml'}:").partition(":")[0])
    assert 1 <= line <= len(wrong.splitlines())


def test_a_digester_that_the_adapter_does_not_have_is_told(tmp_path: Path) -> None:
    text = TABLE.replace("makes: MeasureSeries", "digester: series", 1)
    with pytest.raises(ValueError, match="there is no digester 'series'"):
        TableAdapter(read_table(written(tmp_path, text)))


def test_a_digester_of_the_adapter_gets_the_values_by_their_names(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    def digest(values: dict[str, Any], head: dict[str, Any]) -> list[KernelMessage]:
        seen.append(values)
        return [StartOfSupply(**{**head, "access_point": values["point"], "effective": values["from"]})]

    text = TABLE.replace("makes: MeasureSeries", "digester: series", 1)
    text = text.replace("[access_point, needed]\n          point.mRID@", "[point, needed]\n          point.mRID@", 1)
    text = text.replace("interval/start: [effective, needed]", "interval/start: [from, instant, needed]", 1)
    adapter = TableAdapter(read_table(written(tmp_path, text)), {"series": digest})
    (message,) = messages(digested(adapter, "Series", XML)[1])
    assert (message.access_point, message.effective) == ("571313000000002000", datetime(2026, 6, 29, tzinfo=SUMMER))
    assert seen[0]["positions"][0]["position"] == 1


def _with_digester(tmp_path: Path, digest: Any, *changes: tuple[str, str]) -> TableAdapter:
    """The adapter of the table whose series a digester makes."""
    text = TABLE.replace("makes: MeasureSeries", "makes: MeasureSeries\n        digester: series", 1)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return TableAdapter(read_table(written(tmp_path, text)), {"series": digest})


def test_leaves_of_a_digester_are_checked_by_the_kinds_that_it_makes(tmp_path: Path) -> None:
    adapter = _with_digester(tmp_path, lambda values, head: [])
    (transaction,) = digested(adapter, "Series", XML.replace(">A03<", ">A99<"))[1]
    assert [(one.code, one.value, one.expected) for one in transaction.refusals] == [
        ("SYN_CODE", "A99", "one of A03, A04")
    ]
    with pytest.raises(TableFault, match="'guessed' is none of"):
        _with_digester(tmp_path, lambda values, head: [], ("A04: estimated", "A04: guessed"))


def test_what_a_digester_alone_knows_and_what_is_kept_come_with_its_messages(tmp_path: Path) -> None:
    def digest(values: dict[str, Any], head: dict[str, Any]) -> list[KernelMessage]:
        told = {**head, "effective": values["effective"]}
        return [StartOfSupply(**told, supplier=values["owner"]), CustomerData(**told)]

    adapter = _with_digester(
        tmp_path, digest, ("[access_point, needed]\n          point.mRID@", "[owner]\n          point.mRID@")
    )
    text = XML.replace("<m:unit.name>", "<m:seen>true</m:seen><m:unit.name>")
    start, customer = messages(digested(adapter, "Series", text)[1])
    assert isinstance(start, StartOfSupply)
    assert start.supplier == "571313000000002000"
    assert [(one.name, one.truth) for one in start.particulars if one.name == "seen"] == [("seen", True)]
    assert customer.particulars == ()


def test_a_fixed_word_that_is_the_default_is_left_out_of_a_message(tmp_path: Path) -> None:
    """A default is left out of JSON where it is the very object."""
    text = TABLE.replace("fixed: {sender_role: clearing-house}", "fixed: {energy: electricity}")
    (made,) = messages(digested(TableAdapter(read_table(written(tmp_path, text))), "Series", XML)[1])
    assert b'"energy"' not in encode_json(made)


def test_a_document_that_is_sent_is_known_and_not_read(tmp_path: Path) -> None:
    sent = """
sent:
  Request:
    about: asks for a start
    root: Request
    versions: {"1": "urn:qq:request:1"}
    header:
      From: [sender, needed]
    pieces:
      Wish:
        makes: {MoveInRequest: E65}
        leaves:
          Id: [reference, needed]
          Unit: [power_unit]
          Name: [surname]
"""
    table = read_table(written(tmp_path, TABLE + sent))
    assert [leaf.name for leaf in table.sent["Request"].pieces["Wish",].node.leaves()] == [
        "reference", "power_unit", "surname",
    ]  # fmt: skip
    adapter = TableAdapter(table)
    assert "Request" not in adapter.types
    refused = adapter.dispatch(Sniff("a.xml", "xml", "Request", "urn:qq:request:1"))
    assert isinstance(refused, Refusal)
    assert refused.code == "TYPE_UNKNOWN"
    with pytest.raises(TableFault, match="there is no Kernel kind 'Wishing'"):
        read_table(written(tmp_path, TABLE + sent.replace("MoveInRequest", "Wishing")))


EDIFACT = """
market: QQ
zone: Europe/Copenhagen
entry: {market_type: UTILMD, event: E03}
exit: {market_type: UTILMD, event: E20}
types:
  stamp: {base: instant, format: "%y%m%d%H%M"}
  date: {base: day, format: "%Y%m%d"}
documents:
  UTILMD:
    about: starts of supply; one CH message per transaction
    form: edifact
    versions: {D: null}
    header:
      UNB/sender: [sender, needed]
      UNB/prepared: [created, stamp, needed]
    pieces:
      IDE:
        makes: StartOfSupply
        leaves:
          IDE: [reference, needed]
          LOC: [access_point, needed]
          DTM: [effective, date, needed]
"""
INTERCHANGE = (
    "UNB+UNOC:3+5790001330552:14+5790000432752:14+260301:0600+REF1'UNH+1+UTILMD:D:02B:UN:E5DK02'"
    "IDE+24+T-1'LOC+172+571313000000002000'DTM+92:20260301:102'IDE+24+T-2'LOC+172+571313000000002000'"
    "DTM+92:20260231:102'UNT+8+1'UNZ+1+REF1'"
)


class OfEdifact(TableAdapter):
    """A market whose segments become dictionaries, which its table reads like any others."""

    def recognises(self, document: Document, beginning: str) -> bool:
        return beginning.startswith("UNB+")

    def split(self, document: Document, content: IO[bytes]) -> tuple[View, Iterator[Any]]:
        return PLAIN, self._parts(content)

    def _parts(self, content: IO[bytes]) -> Iterator[Any]:
        for part in syntax.read(content):
            if isinstance(part, syntax.Interchange):
                yield ("UNB",), {"sender": part.sender, "prepared": part.prepared}
            elif isinstance(part, syntax.Message):
                piece: dict[str, str] = {}
                for segment in part.segments:
                    if segment.tag == "IDE" and piece:
                        yield ("IDE",), piece
                        piece = {}
                    piece[segment.tag] = segment.get(0, 1) or segment.get(1)
                yield ("IDE",), piece


def test_edifact_plugs_in_as_dictionaries(tmp_path: Path) -> None:
    adapter = OfEdifact(read_table(written(tmp_path, EDIFACT)))
    assert adapter.dispatch(Sniff("x", "other", INTERCHANGE[:80])) == "UTILMD"
    head, found, refusal = digested(adapter, "UTILMD", INTERCHANGE)
    assert refusal is None
    assert head is not None
    assert head.sender == "5790001330552"
    (message,) = messages(found[:1])
    assert (message.reference, message.access_point) == ("T-1", "571313000000002000")
    assert message.effective == datetime(2026, 2, 28, 23, tzinfo=UTC)
    (refused,) = found[1].refusals
    assert (refused.code, refused.path, refused.value) == ("SYN_VALUE", "IDE/DTM", "20260231")
    assert refused.expected == "day written as %Y%m%d"


def test_messages_that_come_before_a_header_are_held_within_bounds(adapter: TableAdapter) -> None:
    many = as_json(HEADER, [SERIES] * 200, first=True)
    assert len(digested(adapter, "Series", many)[1]) == 200
    large = as_json(HEADER, [{**SERIES, "novelty": "x" * 1_000_000}] * 40, first=True)
    refused = digested(adapter, "Series", large)[2]
    assert refused is not None
    assert refused.code == "HEADER_MISSING"
    assert len(digested(adapter, "Series", as_json(HEADER, [{**SERIES, "novelty": "x" * 1_000_000}] * 40))[1]) == 40


def test_the_table_of_the_documentation_is_one(project_root: Path, tmp_path: Path) -> None:
    page = (project_root / "docs" / "adapters.md").read_text("utf-8")
    path = written(tmp_path, page.partition("### The table\n\n```yaml\n")[2].partition("```")[0])
    schema = (project_root / "fixtures" / "fictive" / "ruritania" / "dispatch.xsd").read_text("utf-8")
    (tmp_path / "dispatch.xsd").write_text(schema)
    adapter = TableAdapter(read_table(path))
    envelope = project_root / "fixtures" / "fictive" / "envelopes" / "RUR_LUMINARIA_00001_20260302060000.xml"
    head, found, refusal = digested(adapter, "Dispatch", envelope.read_bytes())
    assert (head is not None, refusal) == (True, None)
    assert [message.access_point for message in messages(found)] == [
        "999000000000000014",
        "999000000000000021",
        "999000000000000038",
    ]


def _module_adapter() -> TableAdapter:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return TableAdapter(read_table(written(Path(folder))))


_ADAPTER = _module_adapter()


@pytest.mark.parametrize("digits", [2000, 5000, 1_000_000])
def test_a_number_without_end_is_refused_before_it_is_read(digits: int) -> None:
    """One of more than 4300 digits brought the reader down, and the process with it."""
    content = b'{"a": [' + b'{"b": 1},' * 1000 + b'{"b": ' + b"9" * digits + b"}]}"
    with pytest.raises(Unreadable) as told:
        list(jsonform.split(io.BytesIO(content), {("a",)}))
    assert told.value.refusal.code == "JSON_LIMIT"


def test_a_long_number_is_read() -> None:
    content = b'{"a": [{"b": ' + b"9" * 900 + b"}]}"
    assert list(jsonform.split(io.BytesIO(content), {("a",)})) == [(("a",), {"b": int("9" * 900)})]
