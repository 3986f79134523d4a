"""The older EDIFACT generation: strict in its counters, and each message answered for itself."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.be_atrias import adapter
from adapters.be_atrias.edifact.control import control_answer
from adapters.be_atrias.mapping import table
from adapters.common.codes import Unreadable
from adapters.common.edifact.syntax import Interchange, Message, Segment, Trailer, read, segments
from energycomm.kernel import check
from energycomm.kernel.codec import encode
from energycomm.kernel.family import kind_of
from energycomm.kernel.messages import (
    CustomerData,
    EndOfSupply,
    ErrorReport,
    GridCharge,
    GridInvoice,
    MeasureSeries,
    MeteredVolume,
    MeterReading,
    RequestAnswer,
    RequestStatus,
    StartOfSupply,
)
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage, Sniff, Transaction
from tests.adapters.belgian import SUPPLIER, content, digested, messages, stream

UNB = "UNB+UNOC:3+5419999000031:14+5419999000024:14+251015:0930+I1'"
AT = datetime.fromisoformat("2025-10-15T10:00:00+02:00")


def interchange(*bodies: str, unz: str | None = None) -> str:
    """An interchange with messages of the given segments, right in all of its counters."""
    whole = [UNB]
    for number, body in enumerate(bodies, 1):
        whole.append(f"UNH+{number}+UTILMD:D:02B:UN:E5BE01'{body}UNT+{body.count(chr(39)) + 2}+{number}'")
    return "".join([*whole, unz or f"UNZ+{len(bodies)}+I1'"])


def parts(text: str) -> list[Interchange | Message | Trailer]:
    """What is read of an interchange."""
    return list(read(stream(text)))


def test_separators_are_those_of_una() -> None:
    usual = interchange("BGM+E07+1'FTX+AAA+++a?+b?:c??'")
    other = "UNA|*.! ~" + usual.replace("?+", "\0").replace("?:", ":").replace("??", "?").replace(":", "\1").replace(
        "+", "*"
    ).replace("'", "~").replace("\0", "+")
    (message,) = (part for part in parts(usual) if isinstance(part, Message))
    assert message.segments[1].elements == (("AAA",), ("",), ("",), ("a+b:c?",))
    (first, *_) = parts(other.replace("\1", "|"))
    assert isinstance(first, Interchange)
    assert (first.sender, first.receiver, first.reference) == ("5419999000031", SUPPLIER, "I1")


@given(st.lists(st.text(st.sampled_from("aé+:'?. 1"), max_size=8), min_size=1, max_size=5), st.integers(1, 40))
def test_whatever_is_released_is_read_as_it_was(texts: list[str], size: int) -> None:
    released = ["".join(f"?{figure}" if figure in "?+:'" else figure for figure in text) for text in texts]

    class Drops:
        """A stream that gives a few bytes at a time."""

        def __init__(self) -> None:
            self.left = (UNB + "\r\n" + "FTX+" + "+".join(released) + "'").encode("latin-1")

        def read(self, _: int = -1) -> bytes:
            given, self.left = self.left[:size], self.left[size:]
            return given

    if len(UNB) and size < 9:
        return  # UNA has to be seen whole
    (_, found) = segments(Drops())  # type: ignore[arg-type]
    assert [element[0] for element in found.elements] == texts


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "EDI_SYNTAX"),
        ("UNH+1+UTILMD'", "EDI_SYNTAX"),
        (UNB, "EDI_TRUNCATED"),
        (interchange("BGM+E07'")[:-3], "EDI_TRUNCATED"),
        (interchange("bgm+E07'"), "EDI_SYNTAX"),
        (interchange("BGM+E07'") + "UNZ+1+I1'", "EDI_SYNTAX"),
        (UNB + "BGM+E07'UNZ+0+I1'", "EDI_SYNTAX"),
        ("UNA::::::" + interchange("BGM+E07'"), "EDI_SYNTAX"),
        (UNB.replace("+I1", ""), "EDI_SYNTAX"),
        (interchange("FTX+" + "x" * 70_000 + "'"), "EDI_SYNTAX"),
    ],
    ids=range(10),
)
def test_what_is_no_interchange_is_refused(text: str, code: str) -> None:
    with pytest.raises(Unreadable) as caught:
        parts(text)
    assert caught.value.refusal.code == code


@pytest.mark.parametrize(
    ("unt", "fault"), [("UNT+9+1'", "29"), ("UNT+3+2'", "28"), ("", "13")], ids=["count", "reference", "missing"]
)
def test_a_message_that_does_not_add_up_is_refused_alone(unt: str, fault: str) -> None:
    good = "BGM+414+7'DTM+137:202510150930:203'IDE+24+T1'STS+E01++39'RFF+TN:R1'"
    whole = interchange(good, good)
    assert whole.count("UNT+7+1'") == 1
    broken = whole.replace("UNT+7+1'", unt)
    found = digested(broken.encode())
    assert found.refusal is None
    assert [[one.code for one in transaction.refusals] for transaction in found.transactions] == [["EDI_MESSAGE"], []]
    answer = control_answer(stream(broken), "C1", AT)
    assert isinstance(answer, OutgoingMessage)
    assert f"UCM+1+UTILMD:D:02B:UN:E5BE01+4+{fault}'UCM+2+UTILMD:D:02B:UN:E5BE01+7'" in answer.content.decode()


@pytest.mark.parametrize(("unz", "fault"), [("UNZ+2+I1'", "29"), ("UNZ+1+I2'", "28")], ids=["count", "reference"])
def test_an_interchange_that_does_not_add_up_ends_in_a_refusal(unz: str, fault: str) -> None:
    body = "BGM+414+7'DTM+137:202510150930:203'IDE+24+T1'STS+E01++39'RFF+TN:R1'"
    broken = interchange(body, unz=unz)
    found = digested(broken.encode())
    assert found.refusal is not None
    assert found.refusal.code == "EDI_CONTROL"
    assert len(found.transactions) == 1
    answer = control_answer(stream(broken), "C1", AT)
    assert isinstance(answer, OutgoingMessage)
    assert f"UCI+I1+5419999000031:14+5419999000024:14+4+{fault}'" in answer.content.decode()
    assert b"UCM" not in answer.content


def test_an_interchange_with_two_wrong_ends_ends_in_one_refusal() -> None:
    broken = interchange("BGM+E07'", unz="UNZ+2+I1'") + "UNZ+1+I1'"
    found = [one for one in adapter.digest("EDIFACT", stream(broken), "a.edi") if isinstance(one, Refusal)]
    assert [one.code for one in found] == ["EDI_SYNTAX"]


def test_the_answer_to_a_good_interchange_accepts_it_and_adds_up_itself() -> None:
    answer = control_answer(stream(content("utilmd_start_and_data.edi")), "C1", AT)
    assert isinstance(answer, OutgoingMessage)
    head, control, trailer = parts(answer.content.decode())
    assert isinstance(head, Interchange)
    assert (head.sender, head.receiver, head.reference) == (SUPPLIER, "5419999000031", "C1")
    assert isinstance(control, Message)
    assert (control.type, control.fault) == ("CONTRL", "")
    assert [segment.tag for segment in control.segments] == ["UCI", "UCM", "UCM"]
    assert trailer == Trailer("", "")


def test_a_control_message_is_never_answered_and_a_stranger_neither() -> None:
    control = control_answer(stream(content("utilmd_start_and_data.edi")), "C1", AT)
    assert isinstance(control, OutgoingMessage)
    assert control_answer(stream(control.content), "C2", AT) is None
    refused = control_answer(stream("hello"), "C2", AT)
    assert isinstance(refused, Refusal)


def test_a_truncated_interchange_is_answered_with_a_refusal() -> None:
    answer = control_answer(stream(content("utilmd_start_and_data.edi")[:-30]), "C1", AT)
    assert isinstance(answer, OutgoingMessage)
    assert b"+4+18'" in answer.content


def test_transactions_of_master_data_are_read_in_their_offset() -> None:
    start, point, other, data, customer, meter = messages("utilmd_start_and_data.edi")
    assert isinstance(start, StartOfSupply)
    assert start.effective == datetime.fromisoformat("2025-11-01T00:00:00+01:00")
    assert (start.supplier, start.market_reason, start.contract_reference) == (SUPPLIER, "E03", "AC-2025-0005")
    assert isinstance(other, StartOfSupply)
    assert other.reason == "move-in"
    assert [kind_of(one) for one in (point, data, meter)] == ["AccessPointData", "AccessPointData", "MeterData"]
    assert isinstance(customer, CustomerData)
    assert customer.surname == "Exemple D+E Fils"


def test_answers_bear_the_reference_of_our_request() -> None:
    end, refused, accepted = messages("utilmd_stop_and_answers.edi")
    assert isinstance(end, EndOfSupply)
    assert end.effective == datetime.fromisoformat("2026-01-01T00:00:00+01:00")
    assert isinstance(refused, RequestAnswer)
    assert (refused.accepted, refused.code, refused.correlation) == (False, "E17", "EC-REQ-0010")
    assert isinstance(accepted, RequestAnswer)
    assert (accepted.accepted, accepted.correlation) == (True, "EC-REQ-0011")


def test_a_refusal_of_several_reasons_tells_them_all() -> None:
    text = content("utilmd_stop_and_answers.edi").decode()
    one, two = "STS+E01++41::260+E17'", "STS+E01++41::260+E10'"
    assert one in text
    several = text.replace(one, f"{one}\n{two}").replace("UNT+16+2'", "UNT+17+2'")
    (refused,) = (
        message
        for transaction in digested(several.encode()).transactions
        for message in transaction.messages
        if isinstance(message, RequestAnswer) and not message.accepted
    )
    assert (refused.code, [reason.code for reason in refused.reasons]) == ("E17", ["E17", "E10"])


def test_measures_are_indexes_and_series() -> None:
    reading, series = messages("mscons_readings.edi")
    assert isinstance(reading, MeterReading)
    assert [(one.time_class, one.value, one.unit) for one in reading.registers] == [
        ("HI", 4711, "kWh"),
        ("LO", 3822, "kWh"),
    ]
    assert (reading.meter, reading.nature) == ("33445566", "read")
    assert isinstance(series, MeasureSeries)
    assert (series.resolution, [one.value for one in series.positions]) == (
        15,
        [Decimal("0.25"), Decimal("1.25"), Decimal("2.25"), Decimal("3.25")],
    )


def test_acknowledgements_and_errors_are_told_apart() -> None:
    error, acknowledged, accepted, refused = messages("aperak_and_contrl.edi")
    assert isinstance(error, ErrorReport)
    assert (error.code, error.correlation, error.text) == ("E10", "EC-REQ-0012", "Metering point not identifiable")
    assert isinstance(acknowledged, RequestStatus)
    assert (acknowledged.state, acknowledged.correlation) == ("acknowledged", "EC-REQ-0013")
    assert isinstance(accepted, RequestStatus)
    assert isinstance(refused, ErrorReport)
    assert refused.code == "12"


def test_the_nearest_public_relatives_are_read_as_interchanges(shared: Path) -> None:
    """Danish messages of the same generation: every segment is read, and the counters agree where the samples do."""
    found = {}
    for path in sorted((shared / "markets" / "ebix" / "edifact_legacy").glob("*.edi")):
        _, message, trailer = read(stream(path.read_bytes().strip()))
        assert isinstance(message, Message)
        assert isinstance(trailer, Trailer)
        found[path.name.partition("_")[0]] = message.type
        assert message.segments[0].tag == "BGM"
        assert trailer.fault == ""
    assert found == {"mscons": "MSCONS", "utilmd": "UTILMD"}


LEFT = {
    "UNB": {(0, 0), (0, 1), (1, 1), (2, 1), (4, 0), (6, 0), (8, 0), (9, 0)},
    "UNH": {(0, 0), (1, 1), (1, 2), (1, 3)},
    "BGM": {(0, 2), (1, 0)},
    "DTM": {(0, 2)},
    "MKS": {(1, 2)},
    "NAD": {(1, 2)},
    "IDE": {(0, 0)},
    "LOC": {(1, 2)},
    "STS": {(2, 2)},
    "CCI": {(2, 2)},
    "CAV": {(0, 2)},
    "SEQ": {(1, 0)},
    "UNS": {(0, 0)},
    "LIN": {(0, 0), (2, 3)},
    "MEA": {(0, 0)},
}
"""By hand, from the directory of the United Nations: counters, technical references, who keeps a list, how a date is
written, what a measurement is for. Element and component are counted from 0."""


def another(text: str) -> str:
    """A text of the same form with another last character."""
    last = {"9": "8", "Z": "Y", "z": "y"}.get(text[-1]) or chr(ord(text[-1]) + 1)
    return text[:-1] + last


def written(run: list[Segment]) -> bytes:
    """The segments as an interchange; what they hold needs no release."""
    whole = ("+".join((one.tag, *(":".join(parts) for parts in one.elements))) for one in run)
    return ("'".join(whole) + "'").encode("latin-1")


def told(run: list[Segment]) -> list[object]:
    """What the adapter makes of an interchange: its head, Kernel messages and refusals."""
    found = digested(written(run), "EDIFACT")
    return [found.head, found.refusal, *((one.messages, one.refusals) for one in found.transactions)]


@pytest.mark.parametrize("name", ["mscons_E2DK02", "utilmd_E5DK02_432", "utilmd_E5DK02_E07"])
def test_no_data_element_of_a_public_message_is_lost(shared: Path, name: str) -> None:
    """Another value of any element gives other Kernel messages, or is refused, but for what is left out by hand."""
    (path,) = (shared / "markets" / "ebix" / "edifact_legacy").glob(f"{name}*.edi")
    # A request for an end of supply is answered as the end itself: the segments are the same.
    run = list(segments(stream(path.read_bytes().strip().replace(b"BGM+432", b"BGM+406"))))
    before = told(run)
    assert before[2:]
    lost = []
    for at, segment in enumerate(run):
        for element, parts in enumerate(segment.elements):
            for component, text in enumerate(parts):
                # NAD+XX names nobody.
                if not text or (segment.tag == "NAD" and segment.get(0) == "XX"):
                    continue
                changed = [list(one) for one in segment.elements]
                changed[element][component] = another(text)
                other = [*run[:at], Segment(segment.tag, tuple(map(tuple, changed))), *run[at + 1 :]]
                if told(other) == before and (element, component) not in LEFT.get(segment.tag, set()):
                    lost.append((segment, element, component))
    assert lost == []


def test_a_message_that_replaces_or_cancels_says_so() -> None:
    body = "BGM+E05+7+{}'DTM+137:202510150930:203'IDE+24+T1'DTM+92:202511010000:203'LOC+172+541449000000001017::9'"
    functions = {
        code: [
            message.function for message in digested(interchange(body.format(code)).encode()).transactions[0].messages
        ]
        for code in ("9", "5", "1")
    }
    assert functions == {"9": ["original"], "5": ["replace"], "1": ["cancel"]}


def test_what_a_message_says_beyond_the_table_is_kept_under_its_own_names() -> None:
    body = (
        "BGM+406+7+9'DTM+137:202510150930:203'NAD+MS+5419999000055::9'IDE+24+T1'DTM+93:202511010000:203'"
        "RFF+ZZZ:9876'LOC+172+541449000000001017::9'FTX+AAO+++Key at the neighbour:No 4'"
    )
    (message,) = digested(interchange(body).encode()).transactions[0].messages
    assert {one.name: one.text for one in message.particulars} == {
        "NAD+MS/3039": "5419999000055",
        "RFF+ZZZ": "9876",
        "FTX+AAO": "Key at the neighbour No 4",
    }


def test_quantities_of_two_periods_are_two_messages() -> None:
    text = content("mscons_readings.edi").decode().replace("UNT+14+3'", "UNT+17+3'")
    line = "LIN+2++1.8.2'MEA+AAZ++KWH'QTY+136:30'DTM+324:202509302200202510312300:Z13'"
    found = digested(text.replace("QTY+136:120,5'", f"QTY+136:120,5'{line}").encode()).transactions[2]
    volumes = [one for one in found.messages if isinstance(one, MeteredVolume)]
    assert [(f"{one.start:%d.%m.}", f"{one.effective:%d.%m.}", one.volumes[0].quantity) for one in volumes] == [
        ("01.10.", "01.11.", Decimal(30)),
        ("01.11.", "01.12.", Decimal("120.5")),
    ]


def test_what_is_kept_has_a_name_that_a_message_can_hold() -> None:
    text = content("mscons_readings.edi").decode().replace("LIN+1++1.8.1'", f"LIN+1++A = {'B' * 59}'RFF+Z = 1:x'", 1)
    text = text.replace("UNT+18+1'", "UNT+19+1'")
    (reading,) = digested(text.encode()).transactions[0].messages
    assert any("RFF" in one.name for one in reading.particulars)
    assert check.explain(encode(reading)) == []


def test_a_series_of_two_units_is_refused() -> None:
    text = content("mscons_readings.edi").decode().replace("QTY+136:1,25'", "QTY+136:1,25:MWH'")
    found = digested(text.encode()).transactions[1]
    assert [(one.code, one.value) for one in found.refusals] == [("SYN_VALUE", "MWh")]


def test_the_qualifiers_stand_in_the_mapping_table() -> None:
    assert table().raw["edifact"]["documents"]["406"] == "stop"


# --- UTILTS and INVOIC ---


def ch_messages(text: str) -> list[Transaction]:
    """The CH messages of an interchange."""
    return [part for part in adapter.parts("EDIFACT", stream(text), "x.edi") if isinstance(part, Transaction)]


def test_a_time_series_keeps_each_interval_with_its_quality() -> None:
    series = next(one for one in ch_messages(content("utilts_and_invoic.edi").decode()) if one.type == "UTILTS")
    (found,) = series.messages
    assert isinstance(found, MeasureSeries)
    assert (found.access_point, found.resolution, found.unit, found.product, found.direction) == (
        "541449000000001055", 60, "kWh", "active-energy", "consumption",
    )  # fmt: skip
    assert (found.effective.isoformat(), found.end.isoformat()) == (
        "2025-12-10T00:00:00+01:00",
        "2025-12-11T00:00:00+01:00",
    )
    assert [(one.position, one.value, one.quality) for one in found.positions[:6]] == [
        (1, Decimal("1.25"), "as-read"),
        (2, Decimal("2.25"), "as-read"),
        (3, Decimal("3.25"), "as-read"),
        (4, Decimal("0.25"), "as-read"),
        (5, None, "missing"),
        (6, Decimal("2.25"), "estimated"),
    ]


def test_an_invoice_becomes_its_head_and_what_each_point_is_charged() -> None:
    head, charge = (one for one in ch_messages(content("utilts_and_invoic.edi").decode()) if one.type == "INVOIC")
    (invoice,), (charged,) = head.messages, charge.messages
    assert isinstance(invoice, GridInvoice)
    assert isinstance(charged, GridCharge)
    assert (invoice.total_excluding_tax, invoice.total_tax, invoice.total_including_tax, invoice.charges) == (
        Decimal("15.70"), Decimal("0.94"), Decimal("16.64"), 1,
    )  # fmt: skip
    assert (invoice.invoice_date.isoformat(), str(invoice.due_date), invoice.currency) == (
        "2026-04-10", "2026-05-10", "EUR",
    )  # fmt: skip
    assert (charge.access_point, charged.contract_reference, charged.total_excluding_tax) == (
        "541449000000001055", "C-1055", Decimal("15.70"),
    )  # fmt: skip
    first = charged.lines[0]
    assert (first.code, first.label, first.quantity, first.unit, first.price, first.amount, first.tax) == (
        "E210", "Distribution", Decimal(112), "kWh", Decimal("0.1"), Decimal("11.20"), "6",
    )  # fmt: skip
    assert (str(first.start), str(first.end)) == ("2026-03-01", "2026-03-31")


def test_a_credit_note_takes_its_amounts_back() -> None:
    text = content("utilts_and_invoic.edi").decode().replace("BGM+380", "BGM+381")
    head, charge = (one.messages[0] for one in ch_messages(text) if one.type == "INVOIC")
    assert isinstance(head, GridInvoice)
    assert isinstance(charge, GridCharge)
    assert (head.total_excluding_tax, charge.total_excluding_tax) == (Decimal("-15.70"), Decimal("-15.70"))
    line = charge.lines[0]
    assert (line.quantity, line.price, line.amount) == (Decimal(-112), Decimal("0.1"), Decimal("-11.20"))


@pytest.mark.parametrize(
    ("old", "new", "code", "path"),
    [
        ("CUX+2:EUR:4'", "FTX+AAI'", "SYN_MISSING", "CUX"),
        ("MOA+203:11.20'", "FTX+AAI'", "SYN_MISSING", "LIN 1"),
        ("BGM+380+GF", "BGM+999+GF", "EDI_UNREAD", "BGM"),
        ("DTM+354:60:806'", "DTM+354:60:999'", "SYN_VALUE", "DTM+354"),
        ("DTM+354:60:806'", "FTX+AAI'", "SYN_MISSING", "DTM+354"),
        ("QTY+99:", "QTY+77:", "SYN_CODE", "QTY"),
    ],
)
def test_what_an_invoice_or_a_series_lacks_is_told_with_its_place(old: str, new: str, code: str, path: str) -> None:
    text = content("utilts_and_invoic.edi").decode()
    assert old in text
    refusals = [one.refusals[0] for one in ch_messages(text.replace(old, new)) if one.refusals]
    assert {(one.code, one.path) for one in refusals} == {(code, path)}


@pytest.mark.parametrize(
    ("unit", "text", "told_as"),
    [
        ("KWH", "4711", ("kWh", 4711)),
        ("KWH", "4711,5", ("Wh", 4_711_500)),
        ("KWH", "4711.000", ("kWh", 4711)),
        ("MWH", "4,7115", ("Wh", 4_711_500)),
        ("MTQ", "12,345", ("dm3", 12_345)),
    ],
)
def test_nothing_of_an_index_is_cut_off(unit: str, text: str, told_as: tuple[str, int]) -> None:
    text = (
        content("mscons_readings.edi")
        .decode()
        .replace("MEA+AAZ++KWH'\nQTY+220:4711'", f"MEA+AAZ++{unit}'\nQTY+220:{text}'")
    )
    reading = ch_messages(text)[0].messages[0]
    assert isinstance(reading, MeterReading)
    assert (reading.registers[0].unit, reading.registers[0].value) == told_as


def test_an_index_that_no_unit_holds_is_refused() -> None:
    text = content("mscons_readings.edi").decode().replace("QTY+220:4711'", "QTY+220:4711,00005'")
    (found,) = ch_messages(text)[0].refusals
    assert (found.code, found.value) == ("SYN_VALUE", "4711.00005")


@pytest.mark.parametrize(
    ("guide", "ours"),
    [("E5BE01", True), ("E2BE02", True), ("E5DK02", False), ("E2DK02", False), ("E5SE5A", False), ("", True)],
)
def test_an_interchange_of_another_countrys_guide_is_another_markets(guide: str, ours: bool) -> None:
    """Though a party of it is Belgian: who supplies in both countries has one number."""
    text = interchange("BGM+E07+1'").replace("E5BE01", guide)
    found = adapter.dispatch(Sniff(name="x.edi", form="other", root=text))
    assert (found == "EDIFACT") is ours


def of_guide(kind: str, *bodies: str) -> str:
    """An interchange of messages of one type."""
    return interchange(*bodies).replace("UTILMD:D:02B:UN:E5BE01", f"{kind}:D:96A:UN:E2BE01")


POINT, OTHER = "541449000000001055", "541449000000001062"


def measured(body: str) -> Transaction:
    """The one CH message of an MSCONS about a point."""
    (found,) = ch_messages(of_guide("MSCONS", f"BGM+E66+M1+9'DTM+137:202512010500:203'LOC+90+{POINT}'{body}"))
    return found


@pytest.mark.parametrize(
    ("dates", "read_at"),
    [
        ("DTM+597:202511302300:203'DTM+735:?+0000:406'", "2025-12-01T00:00:00+01:00"),
        ("DTM+735:?+0000:406'DTM+597:202511302300:203'", "2025-12-01T00:00:00+01:00"),
        ("DTM+ZZZ:0:805'DTM+597:202511302300:203'", "2025-12-01T00:00:00+01:00"),
        ("DTM+ZZZ:1:805'DTM+597:202512010000:203'", "2025-12-01T00:00:00+01:00"),
        ("DTM+597:202511302300?+00:303'", "2025-12-01T00:00:00+01:00"),
        ("DTM+597:202512010000CET:303'", "2025-12-01T00:00:00+01:00"),
        ("DTM+597:202506302200UTC:303'", "2025-07-01T00:00:00+02:00"),
        ("DTM+597:20251130230000?+0000:304'", "2025-12-01T00:00:00+01:00"),
        ("DTM+597:202511302400:203'", "2025-12-01T00:00:00+01:00"),
        ("DTM+597:202512010000:203'", "2025-12-01T00:00:00+01:00"),
        ("DTM+597:20251201:102'DTM+735:?+0000:406'", "2025-12-01T00:00:00+01:00"),
    ],
)
def test_one_instant_in_every_notation_of_its_zone(dates: str, read_at: str) -> None:
    """An offset of all times (735, ZZZ in hours), one of a single time (303, 304), none: legal time. A day is a day."""
    (found,) = measured(f"{dates}LIN+1++1.8.0'MEA+AAZ++KWH'QTY+220:4711'").messages
    assert isinstance(found, MeterReading)
    assert found.effective == datetime.fromisoformat(read_at)


@pytest.mark.parametrize("date", ["DTM+ZZZ:99:805", "DTM+ZZZ:x:805", "DTM+597:202511302300XYZ:303", "DTM+735:1:406"])
def test_a_zone_that_is_none_is_refused(date: str) -> None:
    body = f"DTM+597:202511302300:203'{date}'LIN+1++1.8.0'MEA+AAZ++KWH'QTY+220:4711'"
    assert [(one.code, one.path[:3]) for one in measured(body).refusals] == [("SYN_VALUE", "DTM")]


def test_index_and_energy_of_one_line_are_a_reading_with_both() -> None:
    body = (
        "DTM+597:20251201:102'LIN+1++1.8.0'MEA+AAZ++KWH'QTY+220:4711'QTY+136:120,5'DTM+163:20251101:102'"
        "DTM+164:20251201:102'"
    )
    reading, volume = measured(body).messages
    assert isinstance(reading, MeterReading)
    assert isinstance(volume, MeteredVolume)
    assert (reading.registers[0].value, volume.volumes[0].quantity) == (4711, Decimal("120.5"))


def quarters(*begins: str) -> str:
    """Quarters of an hour of a line, each with its number as its value."""
    told = "LIN+1++1.8.0'MEA+AAZ++KWH'"
    for number, begin in enumerate(begins, 1):
        end = f"{int(begin[:10]) + (begin[10:] == '45')}{(int(begin[10:]) + 15) % 60:02d}"
        told += f"QTY+136:{number}'DTM+324:{begin}{end}:719'"
    return told


def test_each_interval_stands_where_its_own_time_says() -> None:
    """In any order; one that is left out is a hole, and nothing moves into it."""
    (found,) = measured(quarters("202512010030", "202512010000", "202512010045")).messages
    assert isinstance(found, MeasureSeries)
    assert [(one.position, one.value) for one in found.positions] == [
        (1, Decimal(2)),
        (3, Decimal(1)),
        (4, Decimal(3)),
    ]
    assert (found.end - found.effective).total_seconds() == 3600
    odd = quarters("202512010000") + "QTY+136:1'DTM+324:202512010015202512010100:719'"
    assert [one.code for one in measured(odd).refusals] == ["SYN_VALUE"]


def test_a_transaction_with_several_places_is_a_series_of_each() -> None:
    """What stands before the first place is said of all; one transaction of a UTILMD is about one point."""
    series = "DTM+324:202512010000202512010100:719'SEQ++1'QTY+136:{}:KWH'SEQ++2'QTY+136:{}:KWH'"
    body = (
        "BGM+E66+TS+9'DTM+137:202512010500:203'IDE+24+T1'DTM+354:30:806'"
        f"LOC+172+{POINT}'{series.format('0,5', '1,5')}LOC+172+{OTHER}'{series.format('2', '3')}"
    )
    found = ch_messages(of_guide("UTILTS", body))
    told = [(one.access_point, [place.value for place in one.messages[0].positions]) for one in found]  # type: ignore[attr-defined]
    assert told == [(POINT, [Decimal("0.5"), Decimal("1.5")]), (OTHER, [2, 3])]
    mixed = ch_messages(of_guide("UTILTS", body.replace("QTY+136:3:KWH", "QTY+136:3:MWH")))
    assert [[one.code for one in each.refusals] for each in mixed] == [[], ["SYN_VALUE"]]
    two = interchange(
        f"BGM+E07+1+9'DTM+137:202512010500:203'IDE+24+T1'DTM+157:20251201:102'LOC+172+{POINT}'LOC+172+{OTHER}'"
    )
    assert [(one.refusals[0].code, one.refusals[0].value) for one in ch_messages(two)] == [("SYN_VALUE", OTHER)]


def test_what_is_said_twice_is_kept_beside_what_was_said_first() -> None:
    """References, dates and characteristics; what stands beside a quantity; a price that is not for one."""
    two = interchange(
        f"BGM+E07+1+9'DTM+137:202512010500:203'IDE+24+T1'DTM+157:20251201:102'DTM+157:20251202:102'LOC+172+{POINT}'"
        "RFF+TN:A1'RFF+ACW:B2'CCI+++E02'CAV+E17'CCI+++E02'CAV+E18'"
    )
    (message,) = ch_messages(two)
    first = message.messages[0]
    assert (first.correlation, first.effective.date().isoformat()) == ("A1", "2025-12-01")
    kept = {one.name: one.value for one in first.particulars}
    assert {name: kept.get(name) for name in ("RFF+ACW", "CCI+E02")} == {"RFF+ACW": "B2", "CCI+E02": "E18"}
    assert any(name.startswith("DTM+157") for name in kept)
    series = (
        content("utilts_and_invoic.edi")
        .decode()
        .replace("SEQ++4'\nQTY+136:0.25'", "SEQ++4'\nQTY+136:0.25'\nSTS+7++E99'\nRFF+AAA:Z1'")
    )
    (read,) = next(one for one in ch_messages(series.replace("UNT+65+1", "UNT+67+1")) if one.type == "UTILTS").messages
    assert {"SEQ+4/RFF+AAA": "Z1"}.items() <= {one.name: one.value for one in read.particulars}.items()


TWO_RATES = (
    "BGM+{}+GF-9+9'DTM+137:20260410:102'LOC+172+541449000000001055'CUX+2:EUR:4'RFF+IV:GF-8'"
    "LIN+1++E210'QTY+47:1500:KWH'MOA+203:67.50'PRI+CAL:45:::1000:KWH'TAX+7+VAT+++:::6'MOA+124:4.05'"
    "LIN+2++E211'QTY+47:1:MON'MOA+203:10.00'PRI+CAL:10'TAX+7+VAT+++:::21+S'MOA+124:2.10'"
    "UNS+S'MOA+79:77.50'MOA+125:77.50'{}MOA+77:83.65'"
    "TAX+7+VAT+++:::6'MOA+125:67.50'MOA+124:4.05'TAX+7+VAT+++:::21'MOA+125:10.00'MOA+124:2.10'"
)
"""An invoice of one point with two rates of tax, and a price for a thousand kWh."""


def invoiced(text: str) -> tuple[GridInvoice, GridCharge]:
    """Head and charge of an INVOIC."""
    head, charge = (one.messages[0] for one in ch_messages(of_guide("INVOIC", text)))
    assert isinstance(head, GridInvoice)
    assert isinstance(charge, GridCharge)
    return head, charge


@pytest.mark.parametrize("total", ["MOA+176:6.15'", ""])
def test_tax_by_rate_adds_up_to_the_tax_of_an_invoice(total: str) -> None:
    """MOA+124 of one rate is not the tax of all: 4.05 and 2.10 are 6.15, told by MOA+176 or added up."""
    head, charge = invoiced(TWO_RATES.format("380", total))
    assert (head.total_excluding_tax, head.total_tax, head.total_including_tax) == (
        Decimal("77.50"), Decimal("6.15"), Decimal("83.65"),
    )  # fmt: skip
    assert [(one.code, one.rate, one.base, one.amount) for one in head.taxes] == [
        ("VAT", Decimal(6), Decimal("67.50"), Decimal("4.05")),
        ("VAT", Decimal(21), Decimal("10.00"), Decimal("2.10")),
    ]
    assert (charge.access_point, charge.original_invoice) == (POINT, "GF-8")
    assert [(one.quantity, one.price, one.amount, one.tax) for one in charge.lines] == [
        (Decimal(1500), Decimal("0.045"), Decimal("67.50"), "6"),
        (Decimal(1), Decimal(10), Decimal("10.00"), "21"),
    ]
    kept = {one.name: one.value for one in charge.particulars}
    assert (kept["LIN+1/MOA+124"], kept["LIN+2/MOA+124"]) == ("4.05", "2.10")
    assert "1000" in str(kept["LIN+1/PRI+CAL"])


def test_a_credit_note_with_negative_amounts_is_not_turned_round() -> None:
    head, charge = invoiced(TWO_RATES.format("381", ""))
    assert (head.total_including_tax, charge.lines[0].amount) == (Decimal("-83.65"), Decimal("-67.50"))
    written = TWO_RATES.format("381", "").replace("MOA+79:", "MOA+79:-").replace("MOA+77:", "MOA+77:-")
    written = written.replace("MOA+203:", "MOA+203:-").replace("QTY+47:", "QTY+47:-")
    head, charge = invoiced(written)
    assert (head.total_including_tax, charge.lines[0].amount, charge.lines[0].quantity) == (
        Decimal("-83.65"), Decimal("-67.50"), Decimal(-1500),
    )  # fmt: skip
    assert all(one.refusals for one in ch_messages(of_guide("INVOIC", TWO_RATES.format("999", ""))))
