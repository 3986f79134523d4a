"""Checking Kernel XML: fast for good batches, and exact about who is bad and why."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct, structs

from energycomm.kernel.check import KernelChecker, explain
from energycomm.kernel.codec import Unwritable, decode, encode, encode_bounded
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import EndOfSupply, KernelMessage, MeterReading
from energycomm.kernel.parts import Particular, Register
from energycomm.kernel.shape import Child, Scalar, shape_of
from energycomm.kernel.verdicts import Refusal
from tests.kernel_strategies import ANY_MESSAGE

CHECKER = KernelChecker()
AT = datetime(2024, 1, 2, tzinfo=UTC)
END = encode(EndOfSupply(market="FR", market_type="C15", reference="1", created=AT, effective=AT))
READING = encode(
    MeterReading(
        market="FR",
        market_type="R15",
        reference="2",
        created=AT,
        effective=AT,
        qualification="periodic",
        nature="read",
        registers=tuple(Register(grid="supplier", time_class=name, value=1, unit="Wh") for name in ("HP", "HC")),
    )
)


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(st.lists(ANY_MESSAGE, max_size=5))
def test_whatever_the_codec_writes_passes_the_schema_and_has_nothing_to_explain(batch: list[KernelMessage]) -> None:
    xmls = [encode(message) for message in batch]
    assert CHECKER.check_batch(xmls) == [None] * len(batch)
    assert [explain(xml) for xml in xmls] == [[]] * len(batch)


def test_one_bad_message_does_not_harm_its_neighbours() -> None:
    bad = READING.replace('value="1"', 'value="x"', 1)
    before, found, after = CHECKER.check_batch([END, bad, READING])
    assert before is None
    assert after is None
    assert isinstance(found, Refusal)
    assert (found.code, found.path, found.value) == ("KERNEL_XML_VALUE", "/MeterReading/register[1]/@value", "x")


@pytest.mark.parametrize(
    "pair",
    [
        [READING[:60], READING[60:]],
        [END + END, ""],
        [END + "<!--", "-->" + END],
        [END.replace("/>", ">"), END.replace("/>", "></EndOfSupply></EndOfSupply>")],
        [READING.replace("</MeterReading>", ""), END + "</MeterReading>"],
        [END + "</batch:batch><batch:batch>", END],
        [END.replace(' xmlns="urn:energycomm:kernel:1"', ""), END.replace(' xmlns="urn:energycomm:kernel:1"', "")],
        [f"{END}<!-- {END[:12]}", f"{END} --> {END}"],
    ],
)
def test_broken_texts_do_not_mend_each_other(pair: list[str]) -> None:
    assert isinstance(decode(pair[0]), Refusal)
    for xml, found in zip(pair, CHECKER.check_batch(pair), strict=True):
        assert (found is None) == isinstance(decode(xml), KernelMessage)


def test_an_empty_batch_is_good() -> None:
    assert CHECKER.check_batch([]) == []


def test_a_declaration_or_comment_before_the_message_is_allowed() -> None:
    assert CHECKER.check_batch(['<?xml version="1.0"?><!-- by hand -->' + END, END]) == [None, None]


def test_a_message_that_came_as_bytes_is_checked_in_its_own_encoding() -> None:
    xml = '<?xml version="1.0" encoding="ISO-8859-1"?>' + END.replace('reference="1"', 'reference="é"')
    assert CHECKER.check(xml.encode("latin-1")) is None


@pytest.mark.parametrize("xml", ["", "<a/>", "<", END[:-1], "\ud800", END.replace("kernel:1", "kernel:2")])
def test_what_is_no_kernel_xml_is_refused_by_check_and_explain_alike(xml: str) -> None:
    found = CHECKER.check(xml)
    assert isinstance(found, Refusal)
    assert [one.code for one in explain(xml)] == [found.code]


def test_explain_lists_every_error_with_place_value_and_expectation() -> None:
    xml = READING.replace('market="FR"', 'market="fr"').replace(' nature="read"', "").replace('unit="Wh"', 'unit=""', 1)
    xml = xml.replace("<register ", "<registre/><register ", 1).replace('value="1"', 'value="x" odd="1"', 1)
    found = {(one.code, one.path, one.value): one.expected for one in explain(xml)}
    assert set(found) == {
        ("KERNEL_XML_VALUE", "/MeterReading/@market", "fr"),
        ("KERNEL_XML_MISSING", "/MeterReading/@nature", None),
        ("KERNEL_XML_VALUE", "/MeterReading/register[1]/@unit", ""),
        ("KERNEL_XML_VALUE", "/MeterReading/register[1]/@value", "x"),
        ("KERNEL_XML_ATTRIBUTE", "/MeterReading/register[1]/@odd", "1"),
        ("KERNEL_XML_ELEMENT", "/MeterReading/registre", "{urn:energycomm:kernel:1}registre"),
    }
    assert found["KERNEL_XML_MISSING", "/MeterReading/@nature", None] == "one of estimated, read, self-read, unknown"
    assert "1 to 16 characters" in found["KERNEL_XML_VALUE", "/MeterReading/register[1]/@unit", ""]


@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(ANY_MESSAGE, st.data())
def test_schema_decoder_and_explanation_agree_on_what_is_good(message: KernelMessage, data: st.DataObject) -> None:
    xml = encode(message)
    spot = data.draw(st.integers(0, len(xml)))
    xml = xml[:spot] + data.draw(st.sampled_from(["", "0", "-", " ", "+", "a", '"', "<", "&", "é"])) + xml[spot + 1 :]
    good = isinstance(decode(xml, bounded=True), KernelMessage)
    # XML Schema forgives blanks around a number, a date or a truth; the codec, which never writes them, does not.
    assert (CHECKER.check(xml) is None) == good or xml.count(" ") > encode(message).count(" ")
    assert CHECKER.check_batch([END, xml]) == [None, CHECKER.check(xml)]
    assert (explain(xml) == []) == (CHECKER.check(xml) is None)


def _schema_says(message: KernelMessage) -> str | Refusal:
    """What kernel.xsd itself makes of a message, without the generated checks."""
    try:
        xml = encode(message)
    except Unwritable as unwritable:
        return unwritable.refusal
    return CHECKER.check(xml) or xml


@settings(max_examples=40, deadline=None)
@given(ANY_MESSAGE)
def test_the_generated_checks_are_sure_of_what_the_schema_accepts(message: KernelMessage) -> None:
    assert CHECKER.write([message]) == [_schema_says(message)]
    near_a_bound = any(at.year in (1900, 9999) for at in _calendar(message))
    assert near_a_bound or encode_bounded(message) == encode(message)


def test_equal_instants_of_other_offsets_are_written_as_they_are() -> None:
    told = [AT.astimezone(timezone(timedelta(hours=hours))) for hours in (0, 1, 0, 2)]
    end = EndOfSupply(market="FR", market_type="C15", reference="1", created=AT, effective=AT)
    messages = [structs.replace(end, created=at, effective=other) for at in told for other in told]
    assert CHECKER.write(messages) == [_schema_says(message) for message in messages]


def _calendar(held: Any) -> Iterator[date]:
    for value in (getattr(held, name) for name in held.__struct_fields__):
        if isinstance(value, date):
            yield value
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Struct):
                yield from _calendar(part)


def _beyond(scalar: Scalar) -> Iterator[Any]:
    """Values at the bounds of a scalar and beyond them, and of other types."""
    yield from (None, True, 1, 0, -1, "", " ", "x", "é" * 4, '<&>"\t\r\n', "\x07", "\ud800", "\uffff", 1.5, [], b"x")
    yield from (Decimal("1.0"), Decimal("NaN"), Decimal("1E+30"), Decimal("1E-13"), Decimal("-0"), Decimal("9" * 25))
    yield from (date(1899, 12, 31), date(1900, 1, 1), date(2024, 2, 29), date(9999, 12, 31))
    for hours in (0, 14, 20, -14):
        for day in (datetime(1900, 1, 1), datetime(2024, 2, 29, 1, 2, 3, 40), datetime(9999, 12, 30, 23)):
            yield day.replace(tzinfo=timezone(timedelta(hours=hours)))
    yield from (datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=timezone(timedelta(seconds=90))))
    if scalar.name == "integer":
        yield from (int(scalar.least or 0) - 1, scalar.least, scalar.most, int(scalar.most or 0) + 1, 10**19)
    if scalar.name == "decimal":
        whole, fraction = int(scalar.whole or 0), int(scalar.fraction or 0)
        for before, after in ((whole, 1), (whole + 1, 0), (1, fraction), (1, fraction + 1), (whole, fraction)):
            yield Decimal(f"-{'9' * before}.{'9' * after}")
    if scalar.longest is not None:
        yield from ("a" * scalar.longest, "é" * scalar.longest, "a" * (scalar.longest + 1))
    yield from scalar.words[:2]
    if scalar.pattern:
        yield from ("FR", "FRA", "2024-01", "2024-13", "a" * 64, "A=", "A\n", "٣٣")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_whatever_a_field_holds_the_generated_checks_answer_as_the_schema(kind: str) -> None:
    shape = shape_of(KINDS[kind])
    good = _least(KINDS[kind])
    head = {one.field for one in shape_of(KernelMessage).attributes} if kind != "EndOfSupply" else set()
    own = [one for one in shape.attributes if one.field not in head]
    tried = [structs.replace(good, **{one.field: value}) for one in own for value in _beyond(one.scalar)]
    for child in (
        shape.children if kind == "EndOfSupply" else (one for one in shape.children if one.part is not Particular)
    ):
        part, inner = _least(child.part), shape_of(child.part)
        parts = [
            held for one in inner.attributes for value in _beyond(one.scalar) for held in _with(part, one.field, value)
        ]
        for below in inner.children:
            parts += [structs.replace(part, **{below.field: held}) for held in _crowds(below)]
        tried += [structs.replace(good, **{child.field: (one,) if child.many else one}) for one in parts]
        tried += [structs.replace(good, **{child.field: held}) for held in _crowds(child)]
    expected = [_schema_says(message) for message in tried]
    assert CHECKER.write(tried) == expected
    # Whatever the generated checks are sure of, the schema accepts, alone and letter by letter.
    assert all(sure in (None, said) for sure, said in zip(map(encode_bounded, tried), expected, strict=True))


def _with(part: Any, field: str, value: Any) -> Iterator[Any]:
    """A part with another value in a field; a particular holds one value alone."""
    alone = {"text": None} if isinstance(part, Particular) and field not in ("name", "text") else {}
    if alone and value is None:
        return
    if not (isinstance(part, Particular) and field == "text" and value is None):
        yield structs.replace(part, **alone, **{field: value})


def _crowds(child: Child) -> Iterator[Any]:
    """Too many parts, none, two that are equal, and what is no part."""
    part = _least(child.part)
    yield from (None, (), "x", 1)
    if child.many:
        yield from ((part, part), (None,), (part,) * int(child.most or 0) if int(child.most or 0) <= 100 else ())
        yield (part,) * (int(child.most or 0) + 1) if int(child.most or 0) <= 1000 else ()


def _least(cls: type[Struct]) -> Any:
    """A kind or part with nothing but what it must have."""
    shape = shape_of(cls)
    values = {one.field: _value(one.scalar) for one in shape.attributes if one.required}
    if cls is Particular:
        return Particular(name="A", text="x")
    for child in shape.children:
        if child.required:
            values[child.field] = (_least(child.part),) if child.many else _least(child.part)
    return cls(**values)


def _value(scalar: Scalar) -> Any:
    if scalar.words:
        return scalar.words[0]
    if scalar.name == "text":
        return {r"[A-Z]{2}": "FR", r"[A-Z]{3}": "EUR", r"[0-9]{4}-[0-9]{2}": "2024-01", r"[0-9a-f]{64}": "a" * 64}.get(
            scalar.pattern or "", "x"
        )
    day = date(2024, 1, 2)
    return {"integer": scalar.most, "decimal": Decimal("1.5"), "truth": True, "instant": AT, "day": day}[scalar.name]
