"""What a supplier asks of the Belgian market: one to one, always the same bytes, and read as it was meant."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.be_atrias import adapter
from adapters.be_atrias.times import midnight
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage
from tests.adapters.belgian import OWN, POINT, REFERENCE, messages, read_back, request


@pytest.mark.parametrize("kind", sorted(adapter.builds))
def test_every_kind_is_built_and_read_back_without_a_remark(kind: str) -> None:
    built = adapter.build(request(kind), REFERENCE)
    assert isinstance(built, OutgoingMessage)
    assert built.reference == REFERENCE
    found = read_back(built.content)
    assert found.refusals == []
    assert found.document.label == built.type
    (piece,) = found.pieces
    assert (piece["reference"], piece["access_point"]) == (REFERENCE, POINT)


def test_every_kind_has_a_request_here() -> None:
    assert set(OWN) == set(adapter.builds)


@pytest.mark.parametrize("kind", sorted(adapter.builds))
def test_the_same_message_and_reference_give_the_same_bytes(kind: str) -> None:
    assert adapter.build(request(kind), REFERENCE) == adapter.build(request(kind), REFERENCE)
    assert adapter.build(request(kind), REFERENCE) != adapter.build(request(kind), "another")


WORDS = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=60)
OPTIONAL = {
    "surname": st.none() | WORDS,
    "first_name": st.none() | WORDS,
    "company": st.none() | WORDS,
    "category": st.none() | st.sampled_from(("residential", "professional")),
    "consent": st.none() | st.booleans(),
    "subscribed_power": st.none() | st.decimals(Decimal("0.1"), Decimal(5000), places=1),
    "tariff": st.none() | st.sampled_from(("LS_TH", "LS_HILO", "MS")),
}


@given(
    kind=st.sampled_from(("SupplierSwitchRequest", "MoveInRequest", "CombinedSwitchRequest")),
    day=st.dates(date(2000, 1, 1), date(2190, 1, 1)),
    fields=st.fixed_dictionaries(OPTIONAL),
)
def test_what_the_market_reads_is_what_was_said(kind: str, day: date, fields: dict[str, Any]) -> None:
    built = adapter.build(request(kind, **fields, requested_date=day), REFERENCE)
    assert isinstance(built, OutgoingMessage)
    found = read_back(built.content)
    (piece,) = found.pieces
    assert {name: piece.get(name) for name in fields} == fields
    assert piece["effective"] == midnight(day)
    assert found.head["reason"] == {"S": "supplier-switch", "M": "move-in", "C": "combined-switch"}[kind[0]]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"receiver": None}, "BUILD_MISSING"),
        ({"access_point": None}, "BUILD_MISSING"),
        ({"surname": "bell \x07"}, "BUILD_VALUE"),
        ({"tariff": "T" * 65}, "BUILD_VALUE"),
    ],
)
def test_what_cannot_be_written_is_refused_with_its_place(changes: dict[str, Any], code: str) -> None:
    refused = adapter.build(request("SupplierSwitchRequest", **changes), REFERENCE)
    assert isinstance(refused, Refusal)
    assert refused.code == code
    assert refused.path


def test_a_kind_that_belgium_does_not_have_is_refused() -> None:
    start = messages("start_by_switch.xml")[0]
    refused = adapter.build(start, REFERENCE)
    assert isinstance(refused, Refusal)
    assert refused.code == "BUILD_KIND"


def test_an_answer_is_waited_for_some_days() -> None:
    assert set(adapter.answer_within) == set(adapter.builds)
    assert all(timedelta(days=1) <= within <= timedelta(days=31) for within in adapter.answer_within.values())
