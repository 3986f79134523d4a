"""Generated Kernel messages and histories: any kind, with values that rules care about."""

from __future__ import annotations

import types
import typing
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal, Union

import msgspec
from hypothesis import strategies as st

from energycomm.kernel.history import History
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import Particular

TEXTS = st.sampled_from(
    [
        "T1",
        "T2",
        "HP",
        "HC",
        "X",
        "A",
        "FREE",
        'C"',
        "kWh",
        "Wh",
        "BOOM",
        "BAD",
        "30001234567890",
        "9",
        "é’œ",
        "a\\b\n",
        "",
        "C5",
    ]
)
WHOLES = st.one_of(st.integers(-3, 12), st.integers(8990, 9010), st.sampled_from([10**6, 2**53 + 1, -(2**60), 10**12]))
INSTANTS = st.builds(
    lambda days, hours: datetime(2023, 12, 30, tzinfo=timezone(timedelta(hours=hours))) + timedelta(days=days),
    st.integers(-2, 5) | st.integers(-900, 900),
    st.sampled_from([1, 2, 0]),
)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: WHOLES,
    float: st.floats(0, 400),
    Decimal: st.decimals(-50, 50, places=2) | st.sampled_from([Decimal(36), Decimal("36.5")]),
    str: TEXTS,
    date: st.dates(date(2023, 12, 1), date(2024, 2, 1)),
    datetime: INSTANTS,
}


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of an annotated type."""
    if annotation in VALUES:
        return VALUES[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return values_of(arguments[0])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of(*(st.none() if argument is type(None) else values_of(argument) for argument in arguments))
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=4).map(tuple)
    if annotation is Particular:
        return particulars()
    return built(annotation)


def particulars() -> st.SearchStrategy[Particular]:
    """A particular of one type, under a name that the tests' own rules declare or another."""
    names = st.sampled_from(["Nature_Evenement", "Puissance/Atteinte", "Depuis", "Vu", "Oui", "Autre"])
    kinds = {"text": str, "number": Decimal, "day": date, "instant": datetime, "truth": bool}
    return st.one_of([st.builds(Particular, name=names, **{field: VALUES[kind]}) for field, kind in kinds.items()])


def built(struct: type[msgspec.Struct], **fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A structure of any values."""
    hints = typing.get_type_hints(struct)
    return st.builds(struct, **{name: values_of(hints[name]) for name in struct.__struct_fields__} | fixed)


def messages(*kinds: type[KernelMessage]) -> st.SearchStrategy[KernelMessage]:
    """A French message of one of the kinds."""
    return st.one_of(*(built(kind, market=st.just("FR")) for kind in kinds))


def histories() -> st.SearchStrategy[History]:
    """Any history."""
    return built(History)
