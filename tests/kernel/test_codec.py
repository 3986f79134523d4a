"""Kernel XML and JSON: what is written can be read, and what cannot be read is refused with a reason."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energycomm.kernel.codec import decode, decode_json, decode_several, encode, encode_json, encode_several
from energycomm.kernel.decoder import WRITTEN
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage, MeterReading, StartOfSupply
from energycomm.kernel.parts import Register
from energycomm.kernel.verdicts import Refusal
from tests.kernel_strategies import ANY_MESSAGE, messages

WINTER = timezone(timedelta(hours=1))


def start(**fields: Any) -> StartOfSupply:
    head: dict[str, Any] = {
        "market": "FR",
        "market_type": "C15",
        "reference": "C15-1",
        "created": datetime(2024, 1, 3, 4, 5, 6, tzinfo=WINTER),
        "effective": datetime(2024, 1, 2, tzinfo=WINTER),
    }
    return StartOfSupply(**{**head, **fields})


def reading(*registers: Register) -> MeterReading:
    head = {name: getattr(start(), name) for name in ("market", "market_type", "reference", "created", "effective")}
    return MeterReading(**head, qualification="periodic", nature="read", registers=registers)


REGISTER = Register(grid="distributor", time_class="HP", value=12345, unit="kWh", coefficient=Decimal("1.0"))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_message_that_is_written_is_read_back_equal_and_written_again_the_same(kind: str) -> None:
    @settings(max_examples=30, deadline=None)
    @given(messages(kind))
    def round_trip(message: KernelMessage) -> None:
        xml = encode(message)
        again = decode(xml)
        assert again == message
        assert isinstance(again, KernelMessage)
        assert encode(again) == xml
        assert (WRITTEN.message(xml) is None) == ("&" in xml)  # a parser reads references
        assert decode(xml.encode()) == message
        assert again.effective.utcoffset() == message.effective.utcoffset()
        assert decode_json(encode_json(message)) == message
        assert [encode(one) for one in decode_several(encode_several([message, message]))] == [xml, xml]

    round_trip()


def test_kernel_xml_is_compact_and_in_the_order_of_the_definition() -> None:
    assert encode(start(access_point="30001234567890", function="cancel")) == (
        '<StartOfSupply xmlns="urn:energycomm:kernel:1" market="FR" marketType="C15" reference="C15-1"'
        ' function="cancel" created="2024-01-03T04:05:06+01:00" effective="2024-01-02T00:00:00+01:00"'
        ' accessPoint="30001234567890"/>'
    )
    assert encode(reading(REGISTER)).endswith(
        ' qualification="periodic" nature="read"><register grid="distributor" timeClass="HP" value="12345" unit="kWh"'
        ' coefficient="1.0"/></MeterReading>'
    )


def test_markup_quotes_and_control_white_space_in_a_text_survive() -> None:
    text = "a & b <c> \"d\" 'e'\tf\ng\rh  é €"
    message = start(reference=text)
    assert "&#9;f&#10;g&#13;h" in encode(message)
    assert decode(encode(message)) == message


def test_the_words_null_and_none_are_texts_like_others() -> None:
    message = start(reference="null", market_reason="None")
    assert decode(encode(message)) == message


@pytest.mark.parametrize("character", ["\x00", "\x08", "\x0b", "\x1f", "\ud800", "\ufffe", "\uffff"])
def test_a_character_that_xml_cannot_hold_is_refused_by_name(character: str) -> None:
    with pytest.raises(ValueError, match=r"/StartOfSupply/@reference: .* XML cannot hold the character U\+[0-9A-F]{4}"):
        encode(start(reference=f"a{character}b"))


def test_a_decimal_is_never_written_with_an_exponent() -> None:
    register = msgspec.structs.replace(REGISTER, coefficient=Decimal("1E+3"))
    assert 'coefficient="1000"' in encode(reading(register))
    register = msgspec.structs.replace(REGISTER, coefficient=Decimal("1E-7"))
    assert 'coefficient="0.0000001"' in encode(reading(register))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1E+999999", "1E-999999", "1E+24", "0.1E-18"])
def test_a_decimal_that_the_schema_cannot_hold_is_an_error(number: str) -> None:
    with pytest.raises(ValueError, match=r"/register\[1\]/@coefficient"):
        encode(reading(msgspec.structs.replace(REGISTER, coefficient=Decimal(number))))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"effective": datetime(2024, 1, 1)}, "/StartOfSupply/@effective: .* its offset is missing"),
        ({"effective": date(2024, 1, 1)}, "/StartOfSupply/@effective: found"),
        (
            {"contract_start": datetime(2024, 1, 1, tzinfo=WINTER)},
            "/StartOfSupply/@contractStart: .* it is an instant",
        ),
        ({"reason": "moved"}, "/StartOfSupply/@reason: found 'moved', expected one of "),
        ({"access_point": 12}, "/StartOfSupply/@accessPoint: found '12', expected text"),
        ({"market": None}, "/StartOfSupply/@market: found 'None', expected text"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_the_field(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        encode(start(**fields))


def test_what_is_no_kind_of_message_is_an_error() -> None:
    with pytest.raises(ValueError, match="found 'Register', expected a kind"):
        encode(REGISTER)  # type: ignore[arg-type]


def test_equal_instants_keep_each_its_own_offset() -> None:
    """Two instants may be equal and yet written with different offsets: remembering must not mix them up."""
    for zone in (WINTER, UTC, ZoneInfo("Europe/Paris"), WINTER):
        at = datetime(2024, 1, 2, tzinfo=WINTER).astimezone(zone)
        assert f'effective="{at.isoformat()}"' in encode(start(effective=at))


def test_both_hours_of_the_autumn_change_are_kept_apart() -> None:
    paris = ZoneInfo("Europe/Paris")
    first, second = (datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=paris) for fold in (0, 1))
    assert 'effective="2024-10-27T02:30:00+02:00"' in encode(start(effective=first))
    assert 'effective="2024-10-27T02:30:00+01:00"' in encode(start(effective=second))


def test_defaults_that_are_written_out_are_read_and_left_out_again() -> None:
    xml = encode(start())
    assert decode(xml.replace(' reference="', ' energy="electricity" function="original" reference="')) == start()


GOOD = encode(reading(REGISTER, REGISTER))


@pytest.mark.parametrize(
    ("old", "new", "code", "path", "value", "expected"),
    [
        ("kernel:1", "kernel:2", "NAMESPACE", "/MeterReading", "urn:energycomm:kernel:2", "urn:energycomm:kernel:1"),
        ("MeterReading", "MeterRating", "KIND", "/MeterRating", "MeterRating", "MeterReading"),
        (' market="FR"', ' market="fr"', "VALUE", "/MeterReading/@market", "fr", "[A-Z]{2}"),
        (' market="FR"', ' market="FR&#10;"', "VALUE", "/MeterReading/@market", "FR\n", "[A-Z]{2}"),
        (' market="FR"', ' market="FR" bogus="1"', "ATTRIBUTE", "/MeterReading/@bogus", "1", "no such attribute"),
        (' nature="read"', "", "MISSING", "/MeterReading/@nature", None, "one of estimated"),
        (' nature="read"', ' nature="red"', "VALUE", "/MeterReading/@nature", "red", "one of estimated"),
        (
            "2024-01-02T",
            "2024-02-30T",
            "VALUE",
            "/MeterReading/@effective",
            "2024-02-30T00:00:00+01:00",
            "date and time",
        ),
        ("06+01:00", "06", "VALUE", "/MeterReading/@created", "2024-01-03T04:05:06", "offset"),
        ('value="12345"', 'value="1e3"', "VALUE", "/MeterReading/register[1]/@value", "1e3", "whole number"),
        ('value="12345"', 'value=" 5"', "VALUE", "/MeterReading/register[1]/@value", " 5", "whole number"),
        (
            'value="12345"',
            f'value="{"9" * 19}"',
            "VALUE",
            "/MeterReading/register[1]/@value",
            "9" * 19,
            "at most 999999999999",
        ),
        ('value="12345"', 'value="١"', "VALUE", "/MeterReading/register[1]/@value", "١", "whole number"),
        ('coefficient="1.0"', 'coefficient="NaN"', "VALUE", "/MeterReading/register[1]/@coefficient", "NaN", "decimal"),
        ('unit="kWh"', 'unit=""', "VALUE", "/MeterReading/register[1]/@unit", "", "1 to 16 characters"),
        ('unit="kWh"', 'unit="kWh" rollover="1"', "VALUE", "/MeterReading/register[1]/@rollover", "1", "true or false"),
        ("<register ", "<registre/><register ", "ELEMENT", "/MeterReading/registre", "registre", "register"),
        ("<register ", '<x xmlns="urn:o"/><register ', "NAMESPACE", "/MeterReading/x", "urn:o", "register"),
        ("<register ", "words<register ", "TEXT", "/MeterReading", "words", "no text"),
        ("</MeterReading>", "words</MeterReading>", "TEXT", "/MeterReading", "words", "no text"),
    ],
)
def test_what_is_not_exactly_a_kernel_message_is_refused_with_place_value_and_expectation(
    old: str, new: str, code: str, path: str, value: str | None, expected: str
) -> None:
    assert old in GOOD
    limit = -1 if "Meter" in old and "<" not in old else 1
    refused = decode(GOOD.replace(old, new, limit), bounded=True)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.path, refused.value) == (f"KERNEL_XML_{code}", path, value)
    assert expected in refused.expected


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "XML_EMPTY"),
        (b"\n", "XML_EMPTY"),
        ("hello", "XML_SYNTAX"),
        (GOOD[:-4], "XML_TRUNCATED"),
        ('<!DOCTYPE a [<!ENTITY e "x">]>' + GOOD, "XML_DOCTYPE"),
        (('<!DOCTYPE a [<!ENTITY e "x">]>' + GOOD).encode("utf-16"), "XML_DOCTYPE"),
        (GOOD.replace("HP", "H\xe9").encode("latin-1"), "XML_ENCODING"),
        ("\ud800", "KERNEL_XML_SYNTAX"),
    ],
)
def test_what_is_no_xml_is_refused(content: str | bytes, code: str) -> None:
    refused = decode(content)
    assert isinstance(refused, Refusal)
    assert refused.code == code


def test_an_element_may_be_closed_by_an_end_tag() -> None:
    register = GOOD[GOOD.index("<register") : GOOD.index("/>") + 2]
    assert decode(GOOD.replace(register, register[:-2] + "></register>")) == decode(GOOD)
    assert decode(encode(start())[:-2] + "></StartOfSupply>") == start()


def test_white_space_and_comments_between_elements_are_not_minded() -> None:
    assert decode(GOOD.replace("<register", "\n <!-- one --> <register")) == decode(GOOD)


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(ANY_MESSAGE, st.data())
def test_damaged_kernel_xml_gives_a_message_or_a_refusal_and_never_an_exception(
    message: KernelMessage, data: st.DataObject
) -> None:
    content = encode(message).encode()
    first = data.draw(st.integers(0, len(content)))
    last = data.draw(st.integers(first, min(len(content), first + 20)))
    assert isinstance(
        decode(content[:first] + data.draw(st.binary(max_size=8)) + content[last:]), KernelMessage | Refusal
    )


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(ANY_MESSAGE, st.data())
def test_damaged_text_is_read_or_refused_as_a_parser_reads_or_refuses_it(
    message: KernelMessage, data: st.DataObject
) -> None:
    text = encode(message)
    first = data.draw(st.integers(0, len(text)))
    last = data.draw(st.integers(first, min(len(text), first + 20)))
    put = data.draw(
        st.sampled_from(
            ["", " ", "\n", "&amp;", "x", '"', ">", "/>", "<!---->", "\x01", "\x7f", "\xa0", "é", text[first:last] * 2]
        )
    )
    damaged = text[:first] + put + text[last:]
    assert decode(damaged) == decode(damaged.encode())


@pytest.mark.parametrize(
    ("content", "code", "path"),
    [
        (b"", "SYNTAX", ""),
        (b"{", "SYNTAX", ""),
        (b"\xff", "SYNTAX", ""),
        (b'{"kind": "StartOfSupply", "odd": ' + b"[" * 100_000, "SYNTAX", ""),
        (b"[]", "VALUE", ""),
        (b'{"kind": "Nothing"}', "VALUE", "kind"),
        (b'{"kind": "StartOfSupply", "market": 1}', "VALUE", "market"),
        (encode_json(reading(REGISTER)).replace(b"12345", b'"x"'), "VALUE", "registers[0].value"),
        (encode_json(start()).replace(b"+01:00", b""), "VALUE", "created"),
    ],
)
def test_json_that_is_no_message_is_refused_with_its_place(content: bytes, code: str, path: str) -> None:
    refused = decode_json(content)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.path) == (f"KERNEL_JSON_{code}", path)
    assert refused.expected
