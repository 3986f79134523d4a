"""Checking Kernel XML: fast for good batches, and exact about who is bad and why."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energycomm.kernel.check import KernelChecker, explain
from energycomm.kernel.codec import decode, encode
from energycomm.kernel.messages import EndOfSupply, KernelMessage, MeterReading
from energycomm.kernel.parts import Register
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
