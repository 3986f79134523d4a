"""Reads Kernel XML that stands as the encoder writes it, by regular expressions that are made of the shapes.

What is stored was written here: attributes in the order of their declarations, nothing between elements, no entity.
Such text needs no parser. Any other text is left to the parser, which finds what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from msgspec import Struct

from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.shape import NAMESPACE, Attribute, Child, Scalar, shape_of

Reader = Callable[[str], Any]

_VALUE = '[^"&<\x00-\x1f\ud800-\udfff\ufffe\uffff]*'
"""Text of an attribute that means what it says: no reference, and no white space that a parser turns into blanks."""
_NAME = re.compile(r"<(\w+)")


class _Form(NamedTuple):
    """An element as it is written.

    Attributes:
      cls: the kind or part.
      tag: its start tag; the groups are its attributes, and at last the sign that closes an element without children.
      attributes: field and reader of each group.
      required: fields of the attributes and children that must be there.
      children: element name -> its declaration and form.
      many: fields that hold a tuple of parts.
      end: its end tag.
    """

    cls: type[Struct]
    tag: re.Pattern[str]
    attributes: tuple[tuple[str, Reader], ...]
    required: frozenset[str]
    children: dict[str, tuple[Child, _Form]]
    many: tuple[str, ...]
    end: str


class _Unread(Exception):
    """The text does not stand as the encoder writes it, or does not hold what it must."""


class Written:
    """Kernel XML as it is written here.

    Args:
      reader: gives the function that turns the text of an attribute into its value; it raises KeyError or ValueError
        where the text is none.
    """

    def __init__(self, reader: Callable[[Scalar], Reader]) -> None:
        self._reader = reader
        self._form_of = cache(self._made)

    def message(self, xml: str) -> KernelMessage | None:
        """The message of a document; None where a parser has to look at it.

        Args:
          xml: the document.
        """
        begun = _NAME.match(xml)
        if begun is None or begun[1] not in KINDS:
            return None
        try:
            found, end = self._element(xml, 0, self._form_of(KINDS[begun[1]], begun[1], True))
        except (_Unread, KeyError, ValueError, TypeError):
            return None
        return found if end == len(xml) and isinstance(found, KernelMessage) else None

    def _element(self, xml: str, at: int, form: _Form) -> tuple[Struct, int]:
        """The value of the element at a place, and the place behind it."""
        tag = form.tag.match(xml, at)
        if tag is None:
            raise _Unread
        *texts, closed = tag.groups()
        values = {
            name: read(text) for (name, read), text in zip(form.attributes, texts, strict=True) if text is not None
        }
        at = tag.end()
        if not closed:
            at = self._children(xml, at, form, values)
        if not form.required <= values.keys():
            raise _Unread
        return form.cls(**values), at

    def _children(self, xml: str, at: int, form: _Form, values: dict[str, Any]) -> int:
        while not xml.startswith(form.end, at):
            begun = _NAME.match(xml, at)
            if begun is None:
                raise _Unread
            child, of_part = form.children[begun[1]]
            part, at = self._element(xml, at, of_part)
            if child.many:
                values.setdefault(child.field, []).append(part)
            elif child.field in values:
                raise _Unread
            else:
                values[child.field] = part
        for field in form.many:
            if field in values:
                values[field] = tuple(values[field])
        return at + len(form.end)

    def _made(self, cls: type[Struct], name: str, root: bool) -> _Form:
        shape = shape_of(cls)
        begun = f'<{name} xmlns="{NAMESPACE}"' if root else f"<{name}"
        tag = re.escape(begun) + "".join(map(_attribute, shape.attributes)) + "(?:(/)>|>)"
        return _Form(
            cls,
            re.compile(tag),
            tuple((one.field, self._reader(one.scalar)) for one in shape.attributes),
            frozenset(one.field for one in shape.attributes if one.required)
            | frozenset(one.field for one in shape.children if one.required),
            {one.name: (one, self._form_of(one.part, one.name, False)) for one in shape.children},
            tuple(one.field for one in shape.children if one.many),
            f"</{name}>",
        )


def _attribute(attribute: Attribute) -> str:
    return f'(?: {attribute.name}="({_VALUE})")?'
