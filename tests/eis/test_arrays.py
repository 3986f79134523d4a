"""Parts of messages are read as they were written, in whichever form they are kept."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energycomm.eis.arrays import array_text, json_text, parts_as, parts_json, parts_of
from energycomm.kernel.parts import Position, Register

DECIMALS = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**6), max_value=10**6),
    st.sampled_from([Decimal(text) for text in ("0", "-0.0", "1.50", "1.5", "-0.05", "99999999999999999999.5")]),
)
POSITIONS = st.builds(
    Position,
    position=st.integers(1, 10**9),
    value=st.none() | DECIMALS,
    quality=st.none() | st.sampled_from(["as-read", "estimated"]),
    doubtful=st.none() | st.booleans(),
    mark=st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8),
    at=st.none() | st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),
)


def stated(part: Any) -> dict[str, Any]:
    """What a part states, as JSON tells it: decimal numbers and instants as texts."""
    found = {name: getattr(part, name) for name in part.__struct_fields__ if getattr(part, name) is not None}
    return {name: value if isinstance(value, int | str) else _text(value) for name, value in found.items()}


def _text(value: Decimal | datetime) -> str:
    return str(value) if isinstance(value, Decimal) else value.isoformat().replace("+00:00", "Z")


@settings(max_examples=150, deadline=None)
@given(st.lists(POSITIONS, max_size=40))
def test_any_parts_come_back(parts: list[Position]) -> None:
    kept = array_text(parts)
    assert parts_as(kept, Position) == parts
    assert parts_of(kept) == [stated(part) for part in parts]
    former = json.dumps([stated(part) for part in parts])
    assert parts_of(former) == parts_of(kept)
    assert parts_json(former) == parts_json(kept)
    assert json.loads(json_text(parts)) == json.loads(former)


def test_a_curve_takes_a_few_bytes_a_value() -> None:
    """96 values of three digits after the point, with their numbers; their instants are each of their own."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    values = [Decimal(1000 + number * 37 % 500).scaleb(-3) for number in range(96)]
    plain = [Position(position=n, value=value, quality="as-read") for n, value in enumerate(values, 1)]
    dated = [
        Position(position=one.position, value=one.value, quality=one.quality, at=begin + timedelta(minutes=15 * n))
        for n, one in enumerate(plain)
    ]
    assert len(array_text(plain)) < 96 * 4
    assert len(array_text(dated)) < len(json.dumps([stated(part) for part in dated])) / 6


def test_registers_take_a_ninth_of_their_json() -> None:
    parts = [
        Register(grid=grid, time_class=name, value=1_000_000 + 12_345 * rank, unit="Wh", rank=rank, doubtful=False)
        for grid in ("distributor", "supplier")
        for rank, name in enumerate(("HP", "HC"), 1)
    ]
    assert len(array_text(parts)) * 9 < len(json.dumps([stated(part) for part in parts]))


def test_equal_numbers_that_are_written_otherwise_stay_as_they_are() -> None:
    parts = [Position(position=n, value=Decimal(text)) for n, text in enumerate(("1.0", "1.00", "1"), 1)]
    assert [one["value"] for one in parts_of(array_text(parts))] == ["1.0", "1.00", "1"]


def test_a_form_of_a_newer_version_is_refused() -> None:
    with pytest.raises(ValueError, match="form"):
        parts_of("2abc")
