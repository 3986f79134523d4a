"""The XML shape of Kernel messages and parts, read once from their Struct definitions.

The codec and the XML Schema are both generated from here, so they cannot disagree: scalars are attributes in
lowerCamelCase, a part is one child element, a tuple of parts is the same child element repeated, named by the singular.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec.inspect as types
from msgspec import NODEFAULT, Struct

from energycomm.kernel.declaration import Declared, declared_in

NAMESPACE = "urn:energycomm:kernel:1"
"""Namespace of Kernel XML. Its last part is the version of the family."""

UNIQUE = ("particular", "name")
"""Element of a kind, and the attribute in which no two of them are equal."""

ScalarName = Literal["text", "word", "integer", "decimal", "truth", "instant", "day"]

INTEGER_PATTERN = r"-?[0-9]{1,18}"
"""Every whole number that was ever written; a field's own bounds are narrower."""
DECIMAL_PATTERN = r"-?[0-9]{1,24}(\.[0-9]{1,18})?"
"""Every decimal number that was ever written; a field's own bounds are narrower."""
DAY_PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
INSTANT_PATTERN = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
    r"(Z|[+\-](0[0-9]|1[0-3]):[0-5][0-9]|[+\-]14:00)"
)


class Scalar(NamedTuple):
    """What one attribute may hold.

    Attributes:
      name: which of the seven scalars.
      shortest, longest: bounds of a text's length in characters.
      pattern: regular expression that the whole text matches, without anchors.
      least, most: bounds of a whole number, or of a day or an instant as a day (ISO 8601), both allowed values.
      whole, fraction: digits that a decimal number may have before and after the point.
      words: every word of a closed list.
    """

    name: ScalarName
    shortest: int | None = None
    longest: int | None = None
    pattern: str | None = None
    least: int | str | None = None
    most: int | str | None = None
    whole: int | None = None
    fraction: int | None = None
    words: tuple[str, ...] = ()

    def expected(self) -> str:
        """Description of the values of this scalar."""
        if self.words:
            return "one of " + ", ".join(self.words)
        if self.name == "text":
            parts = [f"matching {self.pattern}" if self.pattern else ""]
            if self.shortest is not None or self.longest is not None:
                parts.append(f"{self.shortest or 0} to {self.longest or 'any number of'} characters")
            return "text, " + ", ".join(part for part in parts if part) if any(parts) else "text"
        words = {
            "integer": "a whole number",
            "decimal": "a decimal number without exponent",
            "truth": "true or false",
            "instant": "date and time with offset, YYYY-MM-DDThh:mm:ss+hh:mm",
            "day": "a date, YYYY-MM-DD",
        }[self.name]
        bounds = [
            f"{word} {bound}" for word, bound in zip(self._limits(), (self.least, self.most), strict=True) if bound
        ]
        if self.name == "decimal":
            bounds.append(f"at most {self.whole} digits before and {self.fraction} after the point")
        return ", ".join((words, *bounds))

    def holds(self, value: Any) -> bool:
        """Whether a value of the right type is within the bounds."""
        if self.name == "text":
            return (self.shortest or 0) <= len(str(value)) <= (self.longest if self.longest is not None else len(value))
        if self.name == "decimal":
            return self.whole is None or re.fullmatch(self.digits(), format(value, "f")) is not None
        if self.least is None or self.most is None:
            return True
        if self.name == "integer":
            return bool(self.least <= value <= self.most)
        if self.name == "day":
            return bool(str(self.least) <= value.isoformat() <= str(self.most))
        if self.name == "instant":
            try:
                day = (value.replace(tzinfo=None) - value.utcoffset()).date()
            except OverflowError:  # in UTC it lies beyond the calendar
                return False
            return bool(str(self.least) <= day.isoformat() <= str(self.most))
        return True

    def _limits(self) -> tuple[str, str]:
        return ("at least", "at most") if self.name == "integer" else ("from", "to")

    def digits(self) -> str:
        """The pattern of a decimal number with the digits that are allowed."""
        return rf"-?[0-9]{{1,{self.whole}}}(\.[0-9]{{1,{self.fraction}}})?"


class Attribute(NamedTuple):
    """One scalar field and the attribute it is written as."""

    field: str
    name: str
    scalar: Scalar
    required: bool
    default: Any
    """None where the field is required or absent by default."""
    declared: Declared


class Child(NamedTuple):
    """One field that holds a part, or a tuple of at most `most` parts, and the element it is written as."""

    field: str
    name: str
    part: type[Struct]
    many: bool
    required: bool
    declared: Declared
    most: int | None = None


class Shape(NamedTuple):
    """The XML shape of one kind or part."""

    cls: type[Struct]
    about: str
    attributes: tuple[Attribute, ...]
    children: tuple[Child, ...]


def camel(name: str) -> str:
    """`access_point` -> `accessPoint`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@cache
def shape_of(cls: type[Struct]) -> Shape:
    """The XML shape of a kind or part.

    Raises:
      TypeError: a field has a type that Kernel XML has no form for; a mistake in the definition of the Struct.
    """
    return shapes_of((cls,))[0]


def shapes_of(classes: Iterable[type[Struct]]) -> tuple[Shape, ...]:
    """The XML shapes of several kinds or parts: the parts that they share are read once, for all of them.

    Raises:
      TypeError: as `shape_of`.
    """
    return tuple(map(_shape, types.multi_type_info(classes)))


def _shape(described: types.Type) -> Shape:
    attributes: list[Attribute] = []
    children: list[Child] = []
    assert isinstance(described, types.StructType)
    cls = described.cls
    for field in described.fields:
        kind, declared, bounds = _plain(field.type)
        default = None if field.default is NODEFAULT else field.default
        place = f"{cls.__name__}.{field.name}"
        if isinstance(kind, types.StructType):
            children.append(Child(field.name, camel(field.name), kind.cls, False, field.required, declared))
        elif isinstance(kind, types.VarTupleType):
            item, *_ = _plain(kind.item_type)
            if not isinstance(item, types.StructType):
                raise TypeError(f"{place}: a tuple must hold parts")
            if kind.max_length is None or not declared.item:
                raise TypeError(f"{place}: a tuple must say how many parts it may hold (`longest`) and `item`")
            name = camel(declared.item)
            children.append(Child(field.name, name, item.cls, True, field.required, declared, kind.max_length))
        else:
            scalar = _scalar(kind, bounds)
            if not _bounded(scalar):
                raise TypeError(f"{place}: a {scalar.name} must say within which bounds it is")
            if default is not None and not scalar.words:
                raise TypeError(f"{place}: only a word may have a default other than None")
            attributes.append(Attribute(field.name, camel(field.name), scalar, field.required, default, declared))
    return Shape(cls, inspect.getdoc(cls) or "", tuple(attributes), tuple(children))


def items_of(cls: type[Struct]) -> dict[str, str]:
    """Field that holds a tuple of parts -> what rules and findings call one of them (`registers` -> `register`)."""
    return {child.field: child.declared.item for child in shape_of(cls).children if child.many}


def scalar_of(annotation: Any) -> Scalar:
    """The scalar of a type annotation, as a field with it would have."""
    kind, _, bounds = _plain(types.type_info(annotation))
    return _scalar(kind, bounds)


def _plain(described: types.Type) -> tuple[types.Type, Declared, dict[str, Any]]:
    """A type without its wrapping and without None, its declaration, and bounds that msgspec has no words for."""
    declared, bounds = Declared(), {}
    if isinstance(described, types.Metadata):
        bounds = dict(described.extra or {})
        declared = declared_in(bounds)
        described = described.type
    if isinstance(described, types.UnionType):
        (described,) = (one for one in described.types if not isinstance(one, types.NoneType))
    if isinstance(described, types.Metadata):
        inner, _, inner_bounds = _plain(described)
        return inner, declared, inner_bounds | bounds
    return described, declared, bounds


def _bounded(scalar: Scalar) -> bool:
    """Whether a scalar says how much it may hold: no value is without end."""
    if scalar.name == "text":
        return scalar.longest is not None or scalar.pattern is not None
    if scalar.name == "decimal":
        return scalar.whole is not None and scalar.fraction is not None
    if scalar.name in ("integer", "day", "instant"):
        return scalar.least is not None and scalar.most is not None
    return True


def _scalar(kind: types.Type, bounds: dict[str, Any]) -> Scalar:
    if isinstance(kind, types.StrType):
        pattern = kind.pattern.removeprefix("^").removesuffix("$") if kind.pattern else None
        return Scalar("text", shortest=kind.min_length, longest=kind.max_length, pattern=pattern)
    if isinstance(kind, types.LiteralType):
        return Scalar("word", words=tuple(str(word) for word in kind.values))
    if isinstance(kind, types.IntType):
        return Scalar("integer", least=kind.ge, most=kind.le)
    names: dict[type[types.Type], ScalarName] = {
        types.BoolType: "truth",
        types.DecimalType: "decimal",
        types.DateTimeType: "instant",
        types.DateType: "day",
    }
    if type(kind) not in names:
        raise TypeError(f"Kernel XML has no form for {kind}")
    return Scalar(names[type(kind)], **bounds)
