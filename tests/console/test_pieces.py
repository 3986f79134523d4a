"""What the market sent of one message: its own piece of the member, whatever the form, and nothing of a neighbour."""

from __future__ import annotations

import json
from zoneinfo import ZoneInfo

import pytest

from energycomm.console.pieces import names_of, own_spans
from energycomm.console.raw import SHOWN, Leaves, Piece, broken, cut

POINTS = ("541449000000001017", "541449000000001024", "541449000000001031")
SECRETS = ("Peeters", "Janssens", "Maes")
ZONE = ZoneInfo("Europe/Brussels")


def xml(indent: str = "") -> str:
    rows = "".join(
        f"<Point><Party><Name>{name}</Name></Party><Id>{point}</Id><Start>2026-03-01T00:00:00+01:00</Start>"
        f"<Register><Value>{number}00.50</Value></Register><Register><Value>7</Value></Register></Point>{indent}"
        for number, (point, name) in enumerate(zip(POINTS, SECRETS, strict=True), 1)
    )
    return f"<?xml version='1.0'?><!-- {POINTS[0]} --><Doc><Head><Sender>5419999000031</Sender></Head>{rows}</Doc>"


def objects() -> str:
    rows = [
        {"customer": {"name": name}, "id": point, "values": [{"v": f"{number}00.50"}, {"v": "7"}]}
        for number, (point, name) in enumerate(zip(POINTS, SECRETS, strict=True), 1)
    ]
    return json.dumps({"header": {"sender": "5419999000031"}, "measures": rows})


def segments() -> str:
    """Three points in one message, as UTILMD has them, and a second message of the first point."""
    rows = "".join(
        f"IDE+24+TR-{number}'DTM+92:202603010000:203'LOC+172+{point}::9'NAD+UD+++{name}'QTY+220:{number}00.50'"
        for number, (point, name) in enumerate(zip(POINTS, SECRETS, strict=True), 1)
    )
    head = "UNA:+.? 'UNB+UNOC:3+5419999000031:14+5419999000024:14+260301:0500+I1'"
    return f"{head}UNH+1+UTILMD:D:02B:UN:E5BE01'BGM+E03+DOC?'1'{rows}UNT+9+1'UNZ+1+I1'"


def table() -> str:
    rows = "".join(f"{point};{name};{n}00.50\n" for n, (point, name) in enumerate(zip(POINTS, SECRETS, strict=True), 1))
    return f"id;name;value\n{rows}"


def piece(text: str, number: int, *values: str, reference: str = "", known: bool = True) -> Piece:
    """The piece of one of the points; its neighbours are known, or could not be read."""
    others = [("", point) for point in POINTS if point != POINTS[number]] if known else []
    return cut(text.encode(), reference or POINTS[number], POINTS[number], others, values, ZONE)


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize(
    "text", [xml(), xml("\n"), objects(), segments(), table()], ids=["xml", "lines", "json", "edi", "csv"]
)
def test_a_piece_is_ones_own_and_nobody_elses(text: str, number: int) -> None:
    """Its name, its customer and its value are in it, those of the others are not; the refused value is marked."""
    found = piece(text, number, f"{number + 1}00.5")
    assert found.trouble == ""
    for other in range(3):
        there = (POINTS[other] in found.text, SECRETS[other] in found.text, f"{other + 1}00.50" in found.text)
        assert there == ((True,) * 3 if other == number else (False,) * 3)
    assert [words for words, refused in found.parts if refused] == [f"{number + 1}00.50"]
    assert not found.whole


@pytest.mark.parametrize("text", [xml(), objects()], ids=["xml", "json"])
def test_a_neighbour_that_nobody_could_read_is_not_shown(text: str) -> None:
    """It has no name in the store; it stands beside the message all the same."""
    assert SECRETS[1] in piece(text, 1, known=False).text
    assert not {SECRETS[0], SECRETS[2]} & set(
        piece(text, 1, known=False).text.replace("<", ">").replace('"', ">").split(">")
    )


def test_no_message_is_all_of_a_member_that_has_others() -> None:
    """A neighbour of another kind, without any name, stands beside it."""
    text = f"<D><A><Id>{POINTS[0]}</Id></A><B><Name>{SECRETS[2]}</Name></B></D>"
    assert cut(text.encode(), "-", POINTS[0], [("-", None)]).text == f"<A><Id>{POINTS[0]}</Id></A>"


def test_the_place_is_found_deep_in_a_large_member() -> None:
    rows = "".join(f"<P><Id>{54_000_000_000_000 + number}</Id><V>{number}</V></P>\n" for number in range(60_000))
    found = cut(f"<D>{rows}</D>".encode(), "-", "54000000045000", [("-", "54000000044999")])
    assert found.text == "<P><Id>54000000045000</Id><V>45000</V></P>"
    assert found.line == 45_001


def test_a_document_that_breaks_off_shows_no_more() -> None:
    text = xml()[: xml().index(SECRETS[2]) + 40]
    assert SECRETS[1] in piece(text, 1).text
    assert SECRETS[2] not in piece(text, 1).text


def test_of_two_messages_of_one_point_the_one_with_the_reference_is_shown() -> None:
    text = "".join(f"<M><Id>{POINTS[0]}</Id><Ref>MS-000{n}</Ref></M>" for n in (1, 2, 3))
    found = cut(
        f"<D>{text}</D>".encode(), f"MS-0002:{POINTS[0]}", POINTS[0], [(f"MS-000{n}", POINTS[0]) for n in (1, 3)]
    )
    assert found.text == f"<M><Id>{POINTS[0]}</Id><Ref>MS-0002</Ref></M>"


def test_where_no_name_stands_nothing_is_shown() -> None:
    """The beginning of a member is somebody else's."""
    found = cut(xml().encode(), "UCM:1", None, [("UCM:2", None)])
    assert found.parts == ()
    assert "not found" in found.trouble
    assert own_spans("", names_of("X-00000001", None, ())) == []


def test_a_member_of_one_message_is_shown_whole() -> None:
    found = cut(b"<Fault>no reference</Fault>", "-", None, alone=True)
    assert (found.text, found.whole) == ("<Fault>no reference</Fault>", True)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2026-03-01T00:00:00+01:00", "2026-02-28T23:00:00Z"),
        ("202603010000", "2026-02-28T23:00:00Z"),
        ("2026-03-01", "2026-03-01T00:00:00+01:00"),
        ("20260301", "2026-03-01T00:00:00+01:00"),
        ("0,250", "0.25"),
        ("E0Z", "E0Z"),
    ],
)
def test_a_value_is_marked_as_the_market_wrote_it(written: str, value: str) -> None:
    """Another form of an instant or of a number is the same value; part of a longer word is not."""
    text = f"<D><A>1{written}9</A><V>{written}</V></D>"
    found = cut(text.encode(), "-", None, values=[value], zone=ZONE, alone=True)
    assert [words for words, refused in found.parts if refused] in ([written], [written[:19]])
    assert found.text == text


def test_of_a_long_piece_what_is_around_the_refused_value_is_shown() -> None:
    rows = "".join(f"<V>{number}</V>\n" for number in range(40_000))
    found = cut(f"<D>{rows}</D>".encode(), "-", None, values=["39000"], alone=True)
    assert "<V>39000</V>" in found.text.replace("\n", "")
    assert len(found.text) == SHOWN
    assert found.more == len(f"<D>{rows}</D>") - SHOWN


def test_long_lines_are_broken_between_elements_objects_and_segments() -> None:
    assert broken("<a><b/></a>") == "<a>\n<b/>\n</a>"
    assert broken('{"a":"x,{y","b":[1,2]}', "{") == '{\n"a":"x,{y",\n"b":[\n1,\n2]}'
    assert broken("BGM+1?'2'DTM+3'", "U") == "BGM+1?'2'\nDTM+3'"


def test_a_code_of_the_market_is_marked_where_the_field_is_read_from() -> None:
    """The market writes D03 where the Kernel says disconnected, and 1 where it says that a value is doubtful."""

    def marks(text: str, leaves: Leaves, value: str = "disconnected") -> list[str]:
        found = cut(text.encode(), "x", None, (), [value], ZONE, alone=True, leaves=lambda _label, _value: leaves)
        return [words for words, mark in found.parts if mark]

    status = Leaves(("PhysicalStatus",))
    assert marks("<a><b:PhysicalStatus x='1'> D03 </b:PhysicalStatus><Other>D03</Other></a>", status) == ["D03"]
    assert marks('{"PhysicalStatus": "D03", "Physical": "D03"}', status) == ["D03"]
    assert marks("<a PhysicalStatus='D03' z='D03'/>", Leaves(("@PhysicalStatus",))) == ["D03"]
    assert marks("<a><PhysicalStatus>disconnected</PhysicalStatus><q>disconnected</q></a>", status) == [
        "disconnected",
        "disconnected",
    ], "written as it is: it is found by its text"
    many = json.dumps([{"iv": number} for number in (0, 0, 2, 1, 0, 0)])
    assert marks(many, Leaves(("iv",), 4), "yes") == ["1"]
    assert marks(many, Leaves(("iv",), 1), "yes") == ["2", "1"], "what differs from most"
    assert marks(many, Leaves(("other",), 1), "yes") == []


def test_an_instant_of_a_finding_is_found_however_the_market_wrote_it() -> None:
    """Findings say instants in legal time: Brussels is an hour ahead of UTC in winter. EDIFACT: two are a period."""
    utc = "DTM+735:?+0000:406'"
    periods = (f"{utc}DTM+324:202511302300202512010000:Z13'", f"{utc}DTM+324:202510312300202511302300:719'")
    for written in ("2025-12-01T00:00:00+01:00", "2025-11-30T23:00:00Z", "202512010000", *periods):
        found = cut(f"<a><b>{written}</b></a>".encode(), "x", None, (), ["2025-12-01 00:00"], ZONE, alone=True)
        (marked,) = (words for words, mark in found.parts if mark)
        assert marked in written
        assert written not in periods or marked == "202511302300"
