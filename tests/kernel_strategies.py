"""Hypothesis strategies for Kernel messages, made from their definitions: any message that the schema allows."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import cache
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import PARTICULAR_TYPES, Particular
from energycomm.kernel.shape import Attribute, Child, Scalar, shape_of

XML_CHARACTERS = st.characters(
    exclude_categories=["Cs"],
    exclude_characters=[chr(n) for n in range(32) if n not in (9, 10, 13)] + ["\ufffe", "\uffff"],
)
"""Every character that XML 1.0 can hold."""

OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
OLDEST, LATEST = datetime(1900, 1, 2, 14), datetime(9999, 12, 30)
INSTANTS: st.SearchStrategy[datetime] = st.one_of(
    st.datetimes(OLDEST, LATEST, timezones=OFFSETS),
    st.datetimes(datetime(2015, 1, 1), datetime(2035, 1, 1), timezones=OFFSETS).map(
        lambda at: at.replace(microsecond=0)
    ),
)
DECIMALS: st.SearchStrategy[Decimal] = st.one_of(
    st.decimals(-(10**12) + 1, 10**12 - 1, allow_nan=False, allow_infinity=False, places=6),
    st.decimals(0, 1, allow_nan=False, allow_infinity=False, places=10),
    st.integers(-999, 999).map(lambda number: Decimal(number).scaleb(-2)),
    st.integers(-9, 9).map(lambda number: Decimal(number).scaleb(7)),
    st.sampled_from([Decimal("-0.00"), Decimal("0E-10"), Decimal("1E+3"), Decimal("1.50")]),
)


def scalars(scalar: Scalar) -> st.SearchStrategy[Any]:
    """Every value that an attribute may hold."""
    if scalar.words:
        return st.sampled_from(scalar.words)
    if scalar.pattern:
        return st.from_regex(scalar.pattern.replace(r"\d", "[0-9]"), fullmatch=True)
    if scalar.name == "text":
        shortest, longest = scalar.shortest or 0, scalar.longest or 400
        plain = st.from_regex(rf"[A-Za-z0-9]{{1,{min(longest, 14)}}}", fullmatch=True)
        return st.one_of(plain, st.text(XML_CHARACTERS, min_size=shortest, max_size=min(longest, 12)))
    if scalar.name == "integer":
        return st.integers(int(scalar.least or 0), int(scalar.most or 0))
    days = st.dates(OLDEST.date(), LATEST.date())
    return {"truth": st.booleans(), "decimal": DECIMALS, "instant": INSTANTS, "day": days}[scalar.name]


@cache
def structs(cls: type[Struct]) -> st.SearchStrategy[Any]:
    """Every value of a kind or part."""
    shape = shape_of(cls)
    if cls is Particular:
        return _particulars()
    required = {one.field: _attribute(one) for one in shape.attributes if one.required}
    required |= {one.field: _child(one) for one in shape.children if one.required}
    optional = {one.field: _attribute(one) for one in shape.attributes if not one.required}
    optional |= {one.field: _child(one) for one in shape.children if not one.required}
    # Few of the optional fields at a time, as in a real message; which ones is drawn anew for each message.
    some = st.lists(st.sampled_from(sorted(optional)), unique=True, max_size=8) if optional else st.just([])
    return some.flatmap(lambda names: st.builds(cls, **required, **{name: optional[name] for name in names}))


def messages(kind: str) -> st.SearchStrategy[KernelMessage]:
    """Every message of a kind."""
    return structs(KINDS[kind])


ANY_MESSAGE: st.SearchStrategy[KernelMessage] = st.sampled_from(sorted(KINDS)).flatmap(messages)
"""Every message of every kind."""


def _attribute(attribute: Attribute) -> st.SearchStrategy[Any]:
    return scalars(attribute.scalar)


def _child(child: Child) -> st.SearchStrategy[Any]:
    part = structs(child.part)
    unique = (lambda one: one.name) if child.part is Particular else None
    return st.lists(part, max_size=3, unique_by=unique).map(tuple) if child.many else part


def _particulars() -> st.SearchStrategy[Particular]:
    """Every particular: a name without white space and `=`, and a value of one type."""
    names = st.from_regex(r"[A-Za-z_@][\w./@:-]{0,20}", fullmatch=True)
    held = {one.field: scalars(one.scalar) for one in shape_of(Particular).attributes if one.field != "name"}
    assert set(held) == set(PARTICULAR_TYPES)
    return st.one_of([st.builds(Particular, name=names, **{field: values}) for field, values in held.items()])
