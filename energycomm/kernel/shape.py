"""The XML shape of Kernel messages and parts, read once from their Struct definitions.

The codec and the XML Schema are both generated from here, so they cannot disagree: scalars are attributes in
lowerCamelCase, a part is one child element, a tuple of parts is the same child element repeated, named by the singular.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec.inspect as types
from msgspec import NODEFAULT, Struct

NAMESPACE = "urn:energycomm:kernel:1"
"""Namespace of Kernel XML. Its last part is the version of the family."""

SINGULAR: dict[str, str] = {
    "registers": "register",
    "volumes": "volume",
    "positions": "position",
    "lines": "line",
    "found": "foundPoint",
}
"""Field that holds a tuple of parts -> name of the repeated element."""

ScalarName = Literal["text", "word", "integer", "decimal", "truth", "instant", "day"]

INTEGER_PATTERN = r"-?[0-9]{1,18}"
DECIMAL_PATTERN = r"-?[0-9]{1,24}(\.[0-9]{1,18})?"
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
      least, most: bounds of a number, both allowed values.
      words: every word of a closed list.
    """

    name: ScalarName
    shortest: int | None = None
    longest: int | None = None
    pattern: str | None = None
    least: int | None = None
    most: int | None = None
    words: tuple[str, ...] = ()

    def expected(self) -> str:
        """In words, what a value of this scalar looks like."""
        if self.words:
            return "one of " + ", ".join(self.words)
        if self.name == "text":
            parts = [f"matching {self.pattern}" if self.pattern else ""]
            if self.shortest is not None or self.longest is not None:
                parts.append(f"{self.shortest or 0} to {self.longest or 'any number of'} characters")
            return "text, " + ", ".join(part for part in parts if part) if any(parts) else "text"
        words = {
            "integer": "a whole number of at most 18 digits",
            "decimal": "a decimal number without exponent, at most 24 digits before and 18 after the point",
            "truth": "true or false",
            "instant": "date and time with offset, YYYY-MM-DDThh:mm:ss+hh:mm",
            "day": "a date, YYYY-MM-DD",
        }[self.name]
        bounds = [f"at least {self.least}"] * (self.least is not None) + [f"at most {self.most}"] * (
            self.most is not None
        )
        return ", ".join((words, *bounds))


class Attribute(NamedTuple):
    """One scalar field and the attribute it is written as."""

    field: str
    name: str
    scalar: Scalar
    required: bool
    default: Any
    """None where the field is required or absent by default."""
    about: str


class Child(NamedTuple):
    """One field that holds a part, or a tuple of parts, and the element it is written as."""

    field: str
    name: str
    part: type[Struct]
    many: bool
    required: bool
    about: str


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
    attributes: list[Attribute] = []
    children: list[Child] = []
    described = types.type_info(cls)
    assert isinstance(described, types.StructType)
    for field in described.fields:
        kind, about = _plain(field.type)
        default = None if field.default is NODEFAULT else field.default
        if isinstance(kind, types.StructType):
            children.append(Child(field.name, camel(field.name), kind.cls, False, field.required, about))
        elif isinstance(kind, types.VarTupleType):
            item, _ = _plain(kind.item_type)
            if not isinstance(item, types.StructType) or field.name not in SINGULAR:
                raise TypeError(f"{cls.__name__}.{field.name}: a tuple must hold parts and have a name in SINGULAR")
            children.append(Child(field.name, SINGULAR[field.name], item.cls, True, field.required, about))
        else:
            scalar = _scalar(kind)
            if default is not None and not scalar.words:
                raise TypeError(f"{cls.__name__}.{field.name}: only a word may have a default other than None")
            attributes.append(Attribute(field.name, camel(field.name), scalar, field.required, default, about))
    return Shape(cls, inspect.getdoc(cls) or "", tuple(attributes), tuple(children))


def scalar_of(annotation: Any) -> Scalar:
    """The scalar of a type annotation, as a field with it would have."""
    return _scalar(_plain(types.type_info(annotation))[0])


def _plain(described: types.Type) -> tuple[types.Type, str]:
    """A type without its wrapping and without None, and its description."""
    about = ""
    if isinstance(described, types.Metadata):
        about = (described.extra_json_schema or {}).get("description", "")
        described = described.type
    if isinstance(described, types.UnionType):
        (described,) = (one for one in described.types if not isinstance(one, types.NoneType))
        inner, inner_about = _plain(described)
        return inner, about or inner_about
    return described, about


def _scalar(kind: types.Type) -> Scalar:
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
    return Scalar(names[type(kind)])
