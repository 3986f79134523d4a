"""Particulars are kept apart from the XML: messages are found by them, on both databases, by an index."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from energycomm.eis.particulars import read_wanted, value_text, ways
from energycomm.kernel.check import KernelChecker
from energycomm.kernel.codec import decode, decode_json, encode, encode_json
from energycomm.kernel.messages import ErrorReport
from energycomm.kernel.parts import Particular, particulars_of
from energycomm.kernel.verdicts import Refusal

PARIS = timezone(timedelta(hours=1))


def report(**fields: Any) -> ErrorReport:
    at = datetime(2026, 1, 1, tzinfo=PARIS)
    head: dict[str, Any] = {"market": "FR", "market_type": "X", "reference": "1", "created": at, "effective": at}
    return ErrorReport(**{**head, "code": "E1", **fields})


def test_a_particular_is_one_of_five_types_and_is_written_and_read_as_it_is() -> None:
    values: dict[str, Any] = {
        "Nature_Evenement": "MES",
        "Poids/Net": Decimal("1.50"),
        "Depuis": date(2026, 1, 2),
        "Vu": datetime(2026, 1, 2, 3, tzinfo=PARIS),
        "@oui": False,
        "Nombre": 7,
        "Rien": None,
    }
    message = report(particulars=particulars_of(values))
    assert [one.name for one in message.particulars] == sorted(set(values) - {"Rien"})
    assert {one.name: one.value for one in message.particulars} == {n: v for n, v in values.items() if v is not None}
    xml = encode(message)
    assert '<particular name="Nature_Evenement" text="MES"/>' in xml
    assert '<particular name="Poids/Net" number="1.50"/>' in xml
    assert KernelChecker().check(xml) is None
    assert decode(xml) == message == decode_json(encode_json(message))


@pytest.mark.parametrize(
    ("inside", "code"),
    [
        ('<particular name="A" text="1"/><particular name="A" text="2"/>', "KERNEL_XML_SCHEMA"),
        ('<particular name="A B" text="1"/>', "KERNEL_XML_VALUE"),
        ('<particular name="A=B" text="1"/>', "KERNEL_XML_VALUE"),
        ('<particular name="A" day="1/1/2026"/>', "KERNEL_XML_VALUE"),
        (f'<particular name="A" text="{"x" * 401}"/>', "KERNEL_XML_VALUE"),
        (f'<particular name="{"x" * 121}" text="x"/>', "KERNEL_XML_VALUE"),
        ("".join(f'<particular name="A{n}" text="x"/>' for n in range(1001)), "KERNEL_XML_ELEMENT"),
    ],
)
def test_what_is_no_map_of_bounded_particulars_is_refused_before_any_store(inside: str, code: str) -> None:
    xml = encode(report()).removesuffix("/>") + f">{inside}</ErrorReport>"
    refusal = KernelChecker().check(xml)
    assert refusal is not None
    assert refusal.code == code


@pytest.mark.parametrize("inside", ['<particular name="A"/>', '<particular name="A" text="1" number="1"/>'])
def test_a_particular_with_no_value_or_two_is_no_particular(inside: str) -> None:
    refusal = decode(encode(report()).removesuffix("/>") + f">{inside}</ErrorReport>")
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.path) == ("KERNEL_XML_VALUE", "/ErrorReport/particular[1]")
    with pytest.raises(ValueError, match="holds one of"):
        Particular(name="A")
    refused = decode_json(encode_json(report())[:-1] + b',"particulars":[{"name":"A"}]}')
    assert isinstance(refused, Refusal)
    assert refused.code == "KERNEL_JSON_VALUE"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1.50", "1.50"),
        (Decimal("1.50"), "1.5"),
        (Decimal("-0.00"), "0"),
        (Decimal("1E+3"), "1000"),
        (True, "true"),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, 0, 30, tzinfo=PARIS), "2026-01-01T23:30:00Z"),
    ],
)
def test_equal_values_are_kept_as_equal_texts(value: Any, text: str) -> None:
    assert value_text(value) == text


def test_a_searched_value_is_read_as_a_text_a_number_and_an_instant() -> None:
    assert ways("MES") == ("MES",)
    assert ways("1.50") == ("1.50", "1.5")
    assert ways("2026-01-02T00:30:00+01:00") == ("2026-01-02T00:30:00+01:00", "2026-01-01T23:30:00Z")
    assert value_text(datetime(2026, 1, 1, 23, 30, tzinfo=UTC)) in ways("2026-01-02T00:30:00+01:00")
    assert ways("1E999999") == ("1E999999",)
    assert read_wanted("a/b=c=d") == ("a/b", "c=d")
    for wrong in ("abc", "=c", "a="):
        with pytest.raises(ValueError, match="NAME=VALUE"):
            read_wanted(wrong)
