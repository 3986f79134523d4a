"""The places of a Kernel message that a leaf of a table can fill: what the Kernel's own declaration says of each."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import fields as struct_fields

from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage

BY_THE_KIT = frozenset(("market", "market_type", "particulars"))
"""Fields that the kit fills itself."""


class Place(NamedTuple):
    """What one field may hold.

    Attributes:
      form: ``text``, ``instant``, ``day``, ``number``, ``whole``, ``flag``, ``word``, or ``part`` and ``parts``.
      words: the words of a closed list.
      part: class of a part, or of each of several.
      many: it holds several values.
      longest: of a text.
      pattern: that a text has to have.
      least, most: of a whole number.
    """

    form: str
    words: frozenset[str] = frozenset()
    part: type[Struct] | None = None
    many: bool = False
    longest: int | None = None
    pattern: re.Pattern[str] | None = None
    least: float | None = None
    most: float | None = None

    def fault(self, value: Any) -> str | None:
        """What is expected, in words, of a value that the place cannot hold; None where it can."""
        if type(value) is str:
            if self.longest is not None and len(value) > self.longest:
                return f"at most {self.longest} characters"
            if self.pattern is not None and not self.pattern.search(value):
                return _SAID.get(self.pattern.pattern, f"a text like {self.pattern.pattern}")
        elif type(value) is int:
            if self.least is not None and value < self.least:
                return f"at least {self.least}"
            if self.most is not None and value > self.most:
                return f"at most {self.most}"
        return None


_SAID = {"^[A-Z]{3}$": "three capitals like EUR"}
"""Pattern -> what it asks for, in words."""
_TYPES: dict[Any, str] = {
    str: "text",
    datetime: "instant",
    date: "day",
    Decimal: "number",
    int: "whole",
    bool: "flag",
}


@cache
def places(cls: type[Struct]) -> dict[str, Place]:
    """The places of a kind or a part, by name of the field."""
    return {name: _place(hint) for name, hint in get_type_hints(cls, include_extras=True).items() if name[0] != "_"}


@cache
def required(cls: type[Struct]) -> frozenset[str]:
    """The fields that a kind or a part cannot be made without."""
    return frozenset(
        field.name
        for field in struct_fields(cls)
        if field.default is NODEFAULT and field.default_factory is NODEFAULT and field.name not in BY_THE_KIT
    )


def kind_named(name: str) -> type[KernelMessage] | None:
    """The class of a kind, None where there is none of the name."""
    return KINDS.get(name)


def _place(hint: Any) -> Place:
    metas: list[Meta] = []
    bare = _stripped(hint, metas)
    limits: dict[str, Any] = {}
    for meta in metas:
        if meta.max_length is not None:
            limits["longest"] = meta.max_length
        if meta.pattern is not None:
            limits["pattern"] = re.compile(meta.pattern)
        if meta.ge is not None:
            limits["least"] = meta.ge
        if meta.le is not None:
            limits["most"] = meta.le
    if get_origin(bare) is Literal:
        return Place("word", words=frozenset(get_args(bare)))
    if get_origin(bare) is tuple:
        item = get_args(bare)[0]
        inner = _place(item)
        if inner.form == "part":
            return Place("parts", part=inner.part, many=True)
        return inner._replace(many=True)
    if isinstance(bare, type) and issubclass(bare, Struct):
        return Place("part", part=bare)
    return Place(_TYPES.get(bare, "text"), **limits)


def _stripped(hint: Any, metas: list[Meta]) -> Any:
    """A hint without None and annotations; what the annotations say is added to `metas`, inner ones last."""
    while True:
        if get_origin(hint) is Annotated:
            metas.extend(meta for meta in hint.__metadata__ if isinstance(meta, Meta))
            hint = hint.__origin__
        elif get_origin(hint) in (Union, types.UnionType):
            hint = next(arm for arm in _arms(hint) if arm is not type(None))
        else:
            return hint


def _arms(hint: Any) -> Iterable[Any]:
    return get_args(hint)


HEAD = frozenset(places(KernelMessage))
"""Fields that every Kernel message has."""
