"""Writes Kernel XML: one function per kind and part, generated from the Struct definitions when first needed.

Every message passes here, so the generated code does the least that is correct: one f-string per run of attributes
that are always there, and an escape that costs one method call for a plain code. What many messages or parts have in
common (words, codes, the parties of an envelope) is written once and remembered.

A *bounded* function also minds the bounds that kernel.xsd sets. What it writes, kernel.xsd accepts; where it is not
sure, it raises, and kernel.xsd itself decides (`energycomm.kernel.check`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from operator import is_, itemgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from energycomm.kernel.prescan import shorten
from energycomm.kernel.shape import (
    DAY_PATTERN,
    DECIMAL_PATTERN,
    INSTANT_PATTERN,
    NAMESPACE,
    UNIQUE,
    Attribute,
    Child,
    Scalar,
    shape_of,
)
from energycomm.kernel.verdicts import Refusal

_SPECIAL = re.compile('[&<>"\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]')
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)
_INSTANT = re.compile(INSTANT_PATTERN).fullmatch
_DAY = re.compile(DAY_PATTERN).fullmatch
_DECIMAL = re.compile(DECIMAL_PATTERN).fullmatch
_PLAIN_INSTANT = len("2024-01-31T00:00:00+01:00")
_DAY_LENGTH = len("2024-01-31")


def escape(text: str) -> str:
    """Text as the value of an XML attribute in double quotes.

    Control white space becomes character references, since a parser would turn it into blanks.

    Raises:
      ValueError: a character that no XML document can hold.
    """
    if _SPECIAL.search(text) is None:
        return text
    if forbidden := _FORBIDDEN.search(text):
        raise ValueError(f"XML cannot hold the character U+{ord(forbidden.group()):04X}")
    return text.translate(_REFERENCES)


def decimal_text(value: Decimal) -> str:
    """A decimal number without exponent, with the digits it was given.

    Raises:
      ValueError: not finite, or more digits than Kernel XML allows.
    """
    text = str(value)
    if "E" in text or "N" in text or "n" in text or len(text) > 24:
        if not value.is_finite() or abs(value.adjusted()) > 24:
            raise ValueError("it is too long, or no number")
        text = format(value, "f")
        if not _DECIMAL(text):
            raise ValueError("it is too long, or no number")
    return text


OF_ENVELOPE = frozenset(("market_type", "market_reason", "sender", "receiver", "grid_operator", "schema_version"))
"""Fields of the head that the messages of an envelope mostly share."""
_SHORT, _CODE = 16, 120
_MOST_SHARED = 2048

_INSTANTS: dict[int, tuple[datetime, str]] = {}
_MOST_INSTANTS = 512


def instant_text(value: datetime) -> str:
    """An instant with its offset, ISO 8601.

    Messages of one envelope share their instants, and writing one costs as much as ten attributes: the last ones are
    remembered by identity (equal instants may have different offsets).

    Raises:
      ValueError: no offset, or one that XML cannot hold.
    """
    known = _INSTANTS.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    text = value.isoformat()
    if len(text) != _PLAIN_INSTANT and not _INSTANT(text):
        raise ValueError("its offset is missing or not in whole minutes")
    if len(_INSTANTS) >= _MOST_INSTANTS:
        _INSTANTS.clear()
    _INSTANTS[id(value)] = (value, text)
    return text


def day_text(value: date) -> str:
    """A civil day, ISO 8601.

    Raises:
      ValueError: an instant, not a day.
    """
    text = value.isoformat()
    if len(text) != _DAY_LENGTH:
        raise ValueError("it is an instant")
    return text


Encoder = Callable[[Any], str]
_TRUTH = {True: "true", False: "false"}


class Doubtful(ValueError):
    """A value that may be out of the bounds of its field; kernel.xsd decides."""


def encoder_of(
    cls: type[Struct], element: str, *, root: bool = False, bounded: bool = False, head: type[Struct] | None = None
) -> Encoder:
    """The generated function that writes a value of a kind or part as an element.

    Arguments:
      cls: the kind or part.
      element: name of the element.
      root: the element is a document's root and declares the namespace.
      bounded: the function raises `Doubtful`, or what the value's own type raises, unless kernel.xsd accepts the text.
      head: class whose fields the kind begins with; their last text is remembered. Of a bounded function only.
    """
    source, names = _source(cls, element, root, bounded, head)
    # The source is made of nothing but field names and words of our own definitions: no input reaches it.
    exec(compile(source, f"<encoder of {cls.__name__}>", "exec"), names)  # noqa: S102 - our own words
    encoder: Encoder = names["encode"]
    return encoder


_NAMES: dict[str, Any] = {
    "astuple": astuple,
    "escape": escape,
    "decimal_text": decimal_text,
    "instant_text": instant_text,
    "day_text": day_text,
    "truth": _TRUTH,
    "Doubtful": Doubtful,
    "Decimal": Decimal,
}


def _source(
    cls: type[Struct], element: str, root: bool, bounded: bool, head: type[Struct] | None
) -> tuple[str, dict[str, Any]]:
    shape = shape_of(cls)
    names = dict(_NAMES)
    fields = ", ".join(f"_{name}" for name in cls.__struct_fields__)
    lines = ["def encode(message):", "    values = astuple(message)", f"    {fields}, = values"]
    begun = f'<{element} xmlns="{NAMESPACE}"' if root else f"<{element}"
    if head is None:
        lines += _attributes(shape.attributes, [begun], "=", bounded, names)
    else:
        of_head = shape_of(head).attributes
        assert cls.__struct_fields__[: len(of_head)] == tuple(one.field for one in of_head)
        names["head_text"] = _head_text(head)
        lines.append(f"    text = '{begun}' + head_text(values[:{len(of_head)}])")
        lines += _attributes(shape.attributes[len(of_head) :], [], "+=", bounded, names)
    if not shape.children:
        lines.append("    return text + '/>'")
        return "\n".join(lines), names
    lines.append("    inside = ''")
    for child in shape.children:
        names[f"encode_{child.field}"] = encoder_of(child.part, child.name, bounded=bounded)
        lines.append(f"    if _{child.field}:" if child.many else f"    if _{child.field} is not None:")
        if bounded and child.many:
            lines += [f"        if {_crowd(child, root)}:", "            raise Doubtful"]
        value = (
            f"''.join(map(encode_{child.field}, _{child.field}))"
            if child.many
            else f"encode_{child.field}(_{child.field})"
        )
        lines.append(f"        inside += {value}")
        if bounded and child.required:
            lines += ["    else:", "        raise Doubtful"]
    lines.append(f"    return f'{{text}}>{{inside}}</{element}>' if inside else text + '/>'")
    return "\n".join(lines), names


def _attributes(
    attributes: Sequence[Attribute], always: list[str], sign: str, bounded: bool, names: dict[str, Any]
) -> list[str]:
    """The lines that write attributes after what is `always` there."""
    shared = [attribute for attribute in attributes if bounded and _is_shared(attribute)]
    if len(shared) > 1:
        return _with_shared(attributes, shared, always, sign, names)
    return _one_by_one(attributes, always, sign, bounded, names)


def _is_shared(attribute: Attribute) -> bool:
    """Whether few values of an attribute are to be expected: words, codes, parties. Equal ones are written alike, which
    numbers and instants are not."""
    scalar = attribute.scalar
    if scalar.name == "text":
        longest = scalar.longest or 0
        return attribute.field in OF_ENVELOPE or longest <= _SHORT or (attribute.required and longest <= _CODE)
    return scalar.name in ("word", "truth")


def _with_shared(
    attributes: Sequence[Attribute], shared: list[Attribute], always: list[str], sign: str, names: dict[str, Any]
) -> list[str]:
    """The lines that write attributes of which some are shared: their texts are looked up by all their values."""
    key = ", ".join(f"_{one.field}" for one in shared)
    pieces: list[list[Attribute]] = []
    written: list[Attribute | str] = []
    for attribute in attributes:
        if attribute not in shared:
            written.append(attribute)
            continue
        if not written or not isinstance(written[-1], str):
            pieces.append([])
            written.append(f"{{shared_{len(pieces)}}}")
        pieces[-1].append(attribute)
    texts = ", ".join(f"shared_{number}" for number in range(1, len(pieces) + 1))
    make = ["def make(key):", f"    {key} = key"]
    for number, piece in enumerate(pieces, 1):
        make += ["    text = ''", *_one_by_one(piece, [], "+=", True, names), f"    shared_{number} = text"]
    make += [f"    if len(known) >= {_MOST_SHARED}:", "        known.clear()"]
    make += [f"    known[key] = {texts},", "    return known[key]"]
    names["known"] = {}
    exec(compile("\n".join(make), "<shared attributes>", "exec"), names)  # noqa: S102 - our own words
    lines = [f"    key = {key}", f"    {texts}, = known.get(key) or make(key)"]
    return lines + _one_by_one(written, always, sign, True, names)


def _one_by_one(
    attributes: Sequence[Attribute | str], always: list[str], sign: str, bounded: bool, names: dict[str, Any]
) -> list[str]:
    """The lines that write attributes, and texts that are known, after what is `always` there."""
    lines = []
    for attribute in attributes:
        if isinstance(attribute, str):
            always.append(attribute)
            continue
        variable = f"_{attribute.field}"
        if attribute.scalar.words:
            names[f"words_{attribute.field}"] = _word_table(attribute)
            always.append(f"{{words_{attribute.field}[{variable}]}}")
            continue
        value = _expression(attribute.scalar, variable)
        doubt = None
        if bounded:
            doubt = _doubt(attribute, variable, names)
            value = _bounded_expression(attribute, variable, names) or value
        if attribute.required:
            if doubt:
                lines += [f"    if {doubt}:", "        raise Doubtful"]
            always.append(f' {attribute.name}="{{{value}}}"')
        else:
            if always:
                lines.append(f"    text {sign} f'{''.join(always)}'")
                always, sign = [], "+="
            lines.append(f"    if {variable} is not None:")
            if doubt:
                lines += [f"        if {doubt}:", "            raise Doubtful"]
            lines.append(f"        text += f' {attribute.name}=\"{{{value}}}\"'")
    if always:
        lines.append(f"    text {sign} f'{''.join(always)}'")
    return lines


@cache
def _head_text(head: type[Struct]) -> Callable[[tuple[Any, ...]], str]:
    """The function that writes the fields of a head, within their bounds. The messages of a CH message share most of
    them, so that the last text is remembered. Equal instants may have different offsets: they must be the same."""
    attributes = shape_of(head).attributes
    names = dict(_NAMES)
    lines = ["def write(values):", f"    {', '.join(f'_{one.field}' for one in attributes)} = values", "    text = ''"]
    lines += [*_attributes(attributes, [], "+=", True, names), "    return text"]
    exec(compile("\n".join(lines), f"<head of {head.__name__}>", "exec"), names)  # noqa: S102 - our own words
    write = names["write"]
    instants = itemgetter(*[place for place, one in enumerate(attributes) if one.scalar.name == "instant"])
    last: tuple[tuple[Any, ...], str] = (), ""

    def head_text(values: tuple[Any, ...]) -> str:
        nonlocal last
        known, text = last
        if known == values and all(map(is_, instants(known), instants(values))):
            return text
        text = str(write(values))
        last = values, text
        return text

    return head_text


def _expression(scalar: Scalar, variable: str) -> str:
    return {
        "text": f"{variable} if {variable}.isalnum() else escape({variable})",
        "integer": variable,
        "decimal": f"decimal_text({variable})",
        "truth": f"truth[{variable}]",
        "instant": f"instant_text({variable})",
        "day": f"day_text({variable})",
    }[scalar.name]


def _doubt(attribute: Attribute, variable: str, names: dict[str, Any]) -> str | None:
    """The condition under which a value may be out of bounds; None where its text tells."""
    scalar = attribute.scalar
    if scalar.name == "integer":
        return f"type({variable}) is not int or not {scalar.least} <= {variable} <= {scalar.most}"
    if scalar.name == "text":
        doubt = f"type({variable}) is not str"
        if scalar.shortest is not None or scalar.longest is not None:
            most = "" if scalar.longest is None else f" <= {scalar.longest}"
            doubt += f" or not {scalar.shortest or 0} <= len({variable}){most}"
        if scalar.pattern:
            names[f"matches_{attribute.field}"] = re.compile(scalar.pattern, re.ASCII).fullmatch
            doubt += f" or not matches_{attribute.field}({variable})"
        return doubt
    if scalar.name == "decimal":
        return f"type({variable}) is not Decimal"
    return None


def _bounded_expression(attribute: Attribute, variable: str, names: dict[str, Any]) -> str | None:
    """The text of a value that minds its bounds, where these are those of the text or of a part of it."""
    scalar, name = attribute.scalar, f"bounded_{attribute.field}"
    if scalar.name == "decimal":
        names[name] = _digits_text(scalar.digits())
    elif scalar.name in ("day", "instant"):
        names[name] = _calendar_text(scalar.name, int(str(scalar.least)[:4]), int(str(scalar.most)[:4]))
    else:
        return None
    return f"{name}({variable})"


def _crowd(child: Child, root: bool) -> str:
    """The condition under which there may be too many parts, or two of one name."""
    crowd = f"len(_{child.field}) > {child.most}"
    name, attribute = UNIQUE
    if root and child.name == name:
        crowd += f" or len({{part.{attribute} for part in _{child.field}}}) < len(_{child.field})"
    return crowd


_SURE_DIGITS = 24
"""Digits that libxml2 reads in a decimal number."""


def _digits_text(pattern: str) -> Callable[[Decimal], str]:
    matches = re.compile(pattern, re.ASCII).fullmatch

    def bounded_text(value: Decimal) -> str:
        text = decimal_text(value)
        if len(text) > _SURE_DIGITS or not matches(text):
            raise Doubtful(text)
        return text

    return bounded_text


@cache
def _calendar_text(name: str, first: int, last: int) -> Callable[[Any], str]:
    """The text of a day or instant; years at the bounds are in doubt. The last ones are remembered as in
    `instant_text`, but those with an offset that XML cannot hold are not among them."""
    wanted, matches = (datetime, _INSTANT) if name == "instant" else (date, _DAY)
    remembered: dict[int, tuple[Any, str]] = {}

    def bounded_text(value: Any) -> str:
        known = remembered.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        if type(value) is not wanted or not first < value.year < last:
            raise Doubtful(value)
        text = value.isoformat()
        if not matches(text):
            raise Doubtful(text)
        if len(remembered) >= _MOST_INSTANTS:
            remembered.clear()
        remembered[id(value)] = (value, text)
        return text

    return bounded_text


def _word_table(attribute: Attribute) -> dict[str | None, str]:
    """Word -> the attribute as written; nothing for the default."""
    table: dict[str | None, str] = {word: f' {attribute.name}="{word}"' for word in attribute.scalar.words}
    if not attribute.required:
        table[attribute.default] = ""
    return table


_WRITERS: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "text": (str, escape),
    "word": (str, str),
    "integer": (int, str),
    "decimal": (Decimal, decimal_text),
    "truth": (bool, str),
    "instant": (datetime, instant_text),
    "day": (date, day_text),
}


def fault_of(message: Struct, path: str) -> Refusal | None:
    """The reason why a message cannot be written: the first field whose value violates its declaration, or None."""
    shape = shape_of(type(message))
    for attribute in shape.attributes:
        value = getattr(message, attribute.field)
        if value is None and not attribute.required:
            continue
        scalar, where = attribute.scalar, f"{path}/@{attribute.name}"
        wanted, write = _WRITERS[scalar.name]
        if not isinstance(value, wanted) or (scalar.words and value not in scalar.words):
            return _refusal(where, value, scalar.expected())
        try:
            write(value)
        except ValueError as error:
            return _refusal(where, value, f"{scalar.expected()}: {error}")
    for child in shape.children:
        held = getattr(message, child.field)
        parts = held if child.many else () if held is None else (held,)
        if not isinstance(parts, (tuple, list)):
            return _refusal(f"{path}/{child.name}", parts, f"a tuple of {child.part.__name__}")
        for number, part in enumerate(parts, 1):
            where = f"{path}/{child.name}[{number}]" if child.many else f"{path}/{child.name}"
            if not isinstance(part, child.part):
                return _refusal(where, part, child.part.__name__)
            if fault := fault_of(part, where):
                return fault
    return None


def _refusal(path: str, value: object, expected: str) -> Refusal:
    shown = value if isinstance(value, str) else str(value) if isinstance(value, (Decimal, int)) else repr(value)
    return Refusal(code="KERNEL_XML_VALUE", path=path, value=shorten(shown), expected=expected)
