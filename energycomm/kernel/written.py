"""Reads Kernel XML that stands as the encoder writes it.

What is stored was written here: attributes in the order of their declarations, nothing between elements, no entity.
Such text needs no parser: a start tag is cut at its quotes, and what stands around the values, its *layout*, says what
to make of them. There are few layouts; of each a function is generated when it is first met. Any other text is left to
the parser, which finds what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple, TypeVar

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields as fields_of

from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.shape import NAMESPACE, Attribute, Child, Scalar, shape_of

Reader = Callable[[str], Any]

MOST_LAYOUTS = 1024
"""Layouts that are remembered of the kinds, and of the children of each kind and part."""

_CHANGED = re.compile("[\x00-\x1f\ud800-\udfff\ufffe\uffff]")
"""White space that a parser turns into blanks, and what no XML document can hold."""
_NAME = re.compile(r"\w+")


class _Form(NamedTuple):
    """An element as it is written.

    Attributes:
      cls: the kind or part.
      tag: the layout of its start tag; the groups are its attributes, and at last the sign that closes an element
        without children.
      attributes: field of each group, its scalar and reader.
      children: element name -> its declaration and form.
      many: fields that hold a tuple of parts.
      end: its end tag.
      layouts: the layouts of children that were met.
    """

    cls: type[Struct]
    tag: re.Pattern[str]
    attributes: tuple[tuple[str, Scalar, Reader], ...]
    children: dict[str, tuple[Child, _Form]]
    many: tuple[str, ...]
    end: str
    layouts: dict[str, tuple[Child, _Layout]]


class _Layout(NamedTuple):
    """A start tag without its values: `register grid=" value="/>`.

    Attributes:
      form: the element.
      make: makes the value of the texts of the attributes, in their order, and of the children by field.
      closed: the element has no children.
    """

    form: _Form
    make: Callable[..., Struct]
    closed: bool


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
        self._roots: dict[str, _Layout] = {}

    def message(self, xml: str) -> KernelMessage | None:
        """The message of a document; None where a parser has to look at it.

        Args:
          xml: the document.
        """
        begun, *elements = xml.split("<")
        if begun or not elements or "&" in xml:
            return None
        tags = iter(elements)
        try:
            found = self._root(next(tags), tags)
        except (_Unread, KeyError, ValueError, TypeError):  # TypeError: a field is missing that must be there
            return None
        return found if next(tags, None) is None and isinstance(found, KernelMessage) else None

    def _root(self, tag: str, tags: Iterator[str]) -> Struct:
        pieces = tag.split('"')
        outline = '"'.join(pieces[::2])
        layout = self._roots.get(outline)
        if layout is None:
            name = _name(outline)
            layout = _remember(self._roots, outline, _layout(outline, self._form_of(KINDS[name], name, True)))
        if pieces[1] != NAMESPACE:
            raise _Unread
        texts = pieces[3::2]
        return layout.make(*texts) if layout.closed else layout.make(*texts, **self._children(layout.form, tags))

    def _children(self, form: _Form, tags: Iterator[str]) -> dict[str, Any]:
        """The children of an element by field, up to its end.

        Args:
          form: the element.
          tags: what comes behind its start tag; what is the element's own is taken.
        """
        found: dict[str, Any] = {}
        layouts, end = form.layouts, form.end
        for tag in tags:
            if tag == end:
                break
            pieces = tag.split('"')
            outline = '"'.join(pieces[::2])
            known = layouts.get(outline)
            if known is None:
                child, of_part = form.children[_name(outline)]
                known = _remember(layouts, outline, (child, _layout(outline, of_part)))
            child, (inner, make, closed) = known
            part = make(*pieces[1::2]) if closed else make(*pieces[1::2], **self._children(inner, tags))
            if child.field not in found:
                found[child.field] = [part] if child.many else part
            elif child.many:
                found[child.field].append(part)
            else:
                raise _Unread
        else:
            raise _Unread
        for field in form.many:
            if field in found:
                found[field] = tuple(found[field])
        return found

    def _made(self, cls: type[Struct], name: str, root: bool) -> _Form:
        shape = shape_of(cls)
        begun = f'{name} xmlns="' if root else name
        return _Form(
            cls,
            re.compile(begun + "".join(map(_attribute, shape.attributes)) + "(/?)>"),
            tuple((one.field, one.scalar, self._reader(one.scalar)) for one in shape.attributes),
            {one.name: (one, self._form_of(one.part, one.name, False)) for one in shape.children},
            tuple(one.field for one in shape.children if one.many),
            f"/{name}>",
            {},
        )


def _attribute(attribute: Attribute) -> str:
    return f'( {attribute.name}=")?'


def _name(outline: str) -> str:
    found = _NAME.match(outline)
    if found is None:
        raise _Unread
    return found[0]


T = TypeVar("T")


def _remember(known: dict[str, T], outline: str, layout: T) -> T:
    if len(known) >= MOST_LAYOUTS:
        known.clear()
    known[outline] = layout
    return layout


def _layout(outline: str, form: _Form) -> _Layout:
    """How an element is read whose start tag stands like this."""
    found = form.tag.fullmatch(outline)
    if found is None:
        raise _Unread
    *groups, closed = found.groups()
    there = [one for one, group in zip(form.attributes, groups, strict=True) if group is not None]
    names: dict[str, Any] = {"cls": form.cls, "unchanged": _unchanged}
    parameters, values = [field for field, _, _ in there], []
    for field, _, read in there:
        names[f"read_{field}"] = read
        values.append(f"{field}={field}" if read is str else f"{field}=read_{field}({field})")
    if form.children and not closed:
        defaults = {field.name: field.default for field in fields_of(form.cls)}
        parameters.append("*")
        for child, _ in form.children.values():
            default = defaults[child.field]
            parameters.append(child.field if default is NODEFAULT else f"{child.field}={default!r}")
            values.append(f"{child.field}={child.field}")
    made = f"cls({', '.join(values)})"
    if texts := [field for field, scalar, _ in there if scalar.name == "text"]:
        text = texts[0] if len(texts) == 1 else 'f"' + "".join(f"{{{field}}}" for field in texts) + '"'
        made = f"({text}.isprintable() or unchanged({text})) and {made}"
    # The source is made of nothing but names of our own fields: no input reaches it.
    make: Callable[..., Struct] = eval(f"lambda {', '.join(parameters)}: {made}", names)  # noqa: S307 - as above
    return _Layout(form, make, bool(closed))


def _unchanged(text: str) -> bool:
    """True: a parser would read a text as it stands; few texts hold anything unprintable.

    Raises:
      ValueError: it would not.
    """
    if _CHANGED.search(text):
        raise ValueError(text)
    return True
