"""Reads the text of one CH message at once: by a regular expression that is made from its schema.

The expression matches no text that the schema refuses, and by far not all that it accepts: elements stand in the order
in which the schema declares them, and no more than once where they are read once; there are no attributes, references
or comments, and nothing but plain characters in a value. What does not match is parsed, checked and read as a tree
(`adapters.common.schemas`, `adapters.common.reading`), which alone refuses. What does match gives the same `Fields` as
`reading.read`, several times faster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from adapters.common.reading import Fields
from adapters.common.simpletypes import PLAIN, TEXTS
from energycomm.kernel import safexml

_XS = "{http://www.w3.org/2001/XMLSchema}"
_BLANK = "[ \\t\\r\\n]*+"
_DEEPEST = 20


class _Unread(Exception):
    """A part of a schema that no expression is made for."""


class _Element(NamedTuple):
    """An element below a CH message.

    Attributes:
      name: its tag.
      value: expression of its values; None where it holds elements.
      children: elements in it, in the order in which they are declared.
      least, most: how often it stands; None: without end.
      may_be_empty: its value may be empty.
    """

    name: str
    value: str | None
    children: tuple[_Element, ...]
    least: int
    most: int | None
    may_be_empty: bool = False


class Leaf(NamedTuple):
    """An element with a value, and the expression of its values."""

    name: str
    value: str


Read = Callable[[Sequence[str | None]], Fields]


class Pattern:
    """The expression of the CH messages of one schema."""

    def __init__(self, path: Path, name: str) -> None:
        """Args:
          path: of the schema; it has no target namespace.
          name: of the element that is a CH message.

        Raises:
          ValueError: the schema has something for which no expression is made.
        """
        try:
            element = _Declarations(path).element(name)
            source, read, _ = _compiled(element, strict=True)
        except _Unread as unread:
            raise ValueError(f"{path.name}: {unread}") from None
        self.name, self._element = name, element
        self.opening, self.closing = f"<{name}>".encode(), f"</{name}>".encode()
        self._match, self._read = re.compile(source).match, read

    def leaves(self) -> Iterator[Leaf]:
        """Every element with a value below the CH message, and the expression of its values."""
        waiting = [self._element]
        while waiting:
            for child in waiting.pop().children:
                if child.value is None:
                    waiting.append(child)
                else:
                    yield Leaf(child.name, child.value)

    def match(self, text: str, start: int) -> tuple[Fields, int] | None:
        """What the CH message that begins at a place of a text holds, and where it ends with the white space after it;
        None where the expression does not match."""
        found = self._match(text, start)
        return None if found is None else (self._read(found.groups()), found.end())


def _compiled(element: _Element, *, strict: bool) -> tuple[str, Read, int]:
    """The expression of an element, the function that makes `Fields` of its groups, and how many these are."""
    lines: list[str] = []
    names: dict[str, Any] = {}
    groups = _Groups(strict, lines, names)
    source = f"<{element.name}>{groups.content(element, 'fields')}</{element.name}>{_BLANK}"
    variables = "".join(f"g{number}, " for number in range(groups.count))
    # The code is made of the names of our own schema's elements: no input reaches it.
    code = "\n    ".join(["def read(found):", "fields = {}", f"{variables or '()'} = found", *lines, "return fields"])
    exec(compile(code, f"<fields of {element.name}>", "exec"), names)  # noqa: S102 - our own words
    return source, names["read"], groups.count


class _Groups:
    """Makes the expression of an element's content, with a group for each value, and the code that reads the groups."""

    def __init__(self, strict: bool, lines: list[str], names: dict[str, Any]) -> None:
        self.count = 0
        self._strict, self._lines, self._names = strict, lines, names

    def content(self, element: _Element, into: str) -> str:
        """The expression of what stands in an element; the code fills the variable `into`."""
        return _BLANK + "".join(self._child(child, into) for child in element.children)

    def _child(self, child: _Element, into: str) -> str:
        name = child.name
        if child.value is not None:
            group = self._group()
            self._lines.append(f"if {group}: {into}[{name!r}] = {group}")
            inner = _leaf(child, f"({child.value if self._strict else '[^<]*'})")
        elif child.most == 1:
            inner, own = self._one(child)
            self._lines.append(f"if {own}: {into}[{name!r}] = [{own}]")
        elif all(below.value is not None for below in child.children):
            inner = self._several(child)
            self._lines.append(f"if held: {into}[{name!r}] = held")
        else:
            # Mostly one: it is read with what stands around it, and only further ones by themselves.
            first, own = self._one(child)
            further = self._several(child._replace(least=max(child.least - 1, 0), most=child.most and child.most - 1))
            self._lines.append(f"if {own}: {into}[{name!r}] = [{own}, *held]")
            self._lines.append(f"elif held: {into}[{name!r}] = held")
            inner = first + further
        return _settled(child, inner)

    def _one(self, child: _Element) -> tuple[str, str]:
        """The expression of an element that holds others, and the variable that the code fills."""
        own = f"held{len(self._lines)}"
        self._lines.append(f"{own} = {{}}")
        return f"<{child.name}>{self.content(child, own)}</{child.name}>{_BLANK}", own

    def _several(self, child: _Element) -> str:
        """Elements that stand several times are one group, whose text is read by an expression of its own: that they
        match is known by then. The code fills the variable `held`."""
        group = self._group()
        source, read, count = _compiled(child, strict=False)
        self._names[f"read_{group}"] = read
        self._find_later(f"find_{group}", source)
        values = [f"v{number}" for number in range(count)]
        each, item = ", ".join(values), f"read_{group}(({', '.join(values)},))"
        if all(below.value is not None for below in child.children):
            made = ", ".join(f"{below.name!r}: {value}" for below, value in zip(child.children, values, strict=True))
            item = f"{{{made}}} if {' and '.join(values)} else {item}"
        items = f"[one for {each} in find_{group}({group}) if (one := {item})]"
        self._lines.append(f"held = {items} if {group} else ()")
        most = "" if child.most is None else child.most
        return f"((?:{_without_groups(child, self._strict)}){{{child.least},{most}}})"

    def _find_later(self, name: str, source: str) -> None:
        """Have an expression compiled when it is first asked for: most elements never stand several times."""
        names = self._names

        def find(text: str) -> list[Any]:
            names[name] = found = re.compile(source).findall
            return found(text)

        names[name] = find

    def _group(self) -> str:
        self.count += 1
        return f"g{self.count - 1}"


def _without_groups(element: _Element, strict: bool) -> str:
    if element.value is not None:
        return _leaf(element, element.value if strict else "[^<]*")
    inner = _BLANK + "".join(_repeated(child, strict) for child in element.children)
    return f"<{element.name}>{inner}</{element.name}>{_BLANK}"


def _settled(element: _Element, inner: str) -> str:
    """The expression of an element that may be missing, or is a value: once it matched, no other way to read it is
    tried. Each way that is left open costs memory and time until the end of the message. What repeats inside stays
    open: older versions of Python 3.11 do not close that well."""
    if not _closes(element):
        return inner if element.least else f"(?:{inner}|)"
    if element.least:
        return f"(?>{inner})" if element.value is not None else inner
    return f"(?>{inner}|)"


def _closes(element: _Element) -> bool:
    """Whether nothing in an element stands several times."""
    return element.value is not None or (element.most == 1 and all(map(_closes, element.children)))


def _leaf(element: _Element, value: str) -> str:
    """One element with a value; one that may be empty is written in two ways."""
    name = element.name
    rest = f">{value}</{name}>"
    return f"<{name}(?:{rest}|/>){_BLANK}" if element.may_be_empty else f"<{name}{rest}{_BLANK}"


def _repeated(child: _Element, strict: bool) -> str:
    inner = _without_groups(child, strict)
    if child.most == 1 or child.value is not None:
        return _settled(child, inner)
    return f"(?:{inner}){{{child.least},{'' if child.most is None else child.most}}}"


class _Declarations:
    """What a schema file and those that it includes declare."""

    def __init__(self, path: Path) -> None:
        self._types: dict[str, etree._Element] = {}
        self._elements: dict[str, etree._Element] = {}
        self._read(path)

    def _read(self, path: Path) -> None:
        root = etree.parse(path, safexml.parser()).getroot()
        if root.get("targetNamespace") is not None:
            raise _Unread("a target namespace")
        for child in root.iterchildren(etree.Element):
            if child.tag == f"{_XS}include":
                self._read(path.with_name(child.get("schemaLocation", "")))
            elif child.tag == f"{_XS}element":
                self._elements[child.get("name", "")] = child
            elif child.tag in (f"{_XS}simpleType", f"{_XS}complexType"):
                self._types[child.get("name", "")] = child
            elif child.tag != f"{_XS}annotation":
                raise _Unread(str(child.tag))

    def element(self, name: str) -> _Element:
        if name not in self._elements:
            raise _Unread(f"no element {name}")
        return self._element(self._elements[name], 0)

    def _element(self, declared: etree._Element, depth: int, *, loose: bool = False) -> _Element:
        """An element; in a `loose` group any number of each stands in any order."""
        known = {"name", "type", "minOccurs", "maxOccurs"}
        if set(map(str, declared.attrib)) - known or depth > _DEEPEST:
            raise _Unread(f"the declaration of {declared.get('name')}")
        name, named = declared.get("name", ""), declared.get("type")
        least = 0 if loose else int(declared.get("minOccurs", "1"))
        written = declared.get("maxOccurs", "1")
        most = None if loose or written == "unbounded" else int(written)
        inline = [child for child in declared.iterchildren(etree.Element) if child.tag != f"{_XS}annotation"]
        if named is not None and not inline:
            kind = named if ":" in named else self._types.get(named)
        elif named is None and len(inline) == 1:
            kind = inline[0]
        else:
            kind = None
        if kind is None:
            raise _Unread(f"the type of {name}")
        if isinstance(kind, str) or kind.tag == f"{_XS}simpleType":
            if least > 1:
                raise _Unread(f"{name} several times")
            value, may_be_empty = self._value(kind, {})
            # A value that stands twice is read as a tree.
            return _Element(name, value, (), least, 1, may_be_empty)
        return _Element(name, None, self._content(kind, depth), least, most)

    def _content(self, kind: etree._Element, depth: int) -> tuple[_Element, ...]:
        inner = [child for child in kind.iterchildren(etree.Element) if child.tag != f"{_XS}annotation"]
        if len(inner) != 1 or set(map(str, kind.attrib)) - {"name"}:
            raise _Unread(f"the content of {kind.get('name')}")
        (group,) = inner
        occurs = group.get("minOccurs", "1"), group.get("maxOccurs", "1")
        loose = group.tag == f"{_XS}choice" and occurs == ("0", "unbounded")
        if not loose and (group.tag not in (f"{_XS}all", f"{_XS}sequence") or occurs != ("1", "1")):
            raise _Unread(f"a group {group.tag}")
        found = []
        for child in group.iterchildren(etree.Element):
            if child.tag == f"{_XS}annotation":
                continue
            if child.tag != f"{_XS}element":
                raise _Unread(str(child.tag))
            try:
                found.append(self._element(child, depth + 1, loose=loose))
            except _Unread:
                if not loose and child.get("minOccurs") != "0":
                    raise
        if not found:
            raise _Unread(f"nothing in {kind.get('name')}")
        return tuple(found)

    def _value(self, kind: str | etree._Element, facets: dict[str, list[str]]) -> tuple[str, bool]:
        """The expression of a simple type, whose facets narrow those of the type that it restricts; and whether its
        values may be empty."""
        if isinstance(kind, str):
            return _expression(kind.rpartition(":")[2], facets)
        inner = [child for child in kind.iterchildren(etree.Element) if child.tag != f"{_XS}annotation"]
        if len(inner) != 1 or inner[0].tag != f"{_XS}restriction":
            raise _Unread(f"the type {kind.get('name')}")
        narrower = {name: list(values) for name, values in facets.items()}
        for facet in inner[0].iterchildren(etree.Element):
            name = str(facet.tag).removeprefix(_XS)
            if name in facets and name != "enumeration":
                raise _Unread(f"{name} twice")
            if name not in facets:
                narrower.setdefault(name, []).append(facet.get("value", ""))
        base = inner[0].get("base", "")
        above = base if ":" in base else self._types.get(base)
        if above is None:
            raise _Unread(f"the type {base}")
        return self._value(above, narrower)


def _expression(base: str, facets: dict[str, list[str]]) -> tuple[str, bool]:
    """The expression of a built-in type with facets, and whether its values may be empty. What it matches has no white
    space around it."""
    names = set(facets)
    if base in PLAIN and not names:
        return PLAIN[base], False
    if base == "token" and names == {"enumeration"} and all(facets["enumeration"]):
        return f"(?:{'|'.join(map(re.escape, facets['enumeration']))})", False
    if base in TEXTS and names in ({"minLength", "maxLength"}, {"maxLength"}):
        least, most = int(facets.get("minLength", ["0"])[0]), int(facets["maxLength"][0])
        if least <= 1 <= most:
            text = rf"(?=\S)[^<>&\x00-\x1f]{{1,{most}}}+(?<=\S)"
            return (text, False) if least else (f"(?:{text}|)", True)
    if base == "integer" and names == {"totalDigits"}:
        return f"-?[0-9]{{1,{int(facets['totalDigits'][0])}}}+", False
    if base == "decimal" and names and names <= {"totalDigits", "fractionDigits"}:
        total = min(int(facets.get("totalDigits", ["24"])[0]), 24)
        after = min(total // 2, int(facets.get("fractionDigits", ["24"])[0]))
        if after:
            return rf"-?[0-9]{{1,{total - after}}}+(?:\.[0-9]{{1,{after}}}+|)", False
    raise _Unread(f"{base} with {', '.join(sorted(names)) or 'no facet'}")
