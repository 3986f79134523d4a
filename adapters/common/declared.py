"""Content of JSON as the elements of XML that a schema declares: one schema then judges both forms of a document.

A code, and a leaf with attributes, stands in JSON as an object with `value`, as the assembly models of CIM write it; a
number is a number. The schema declares every element where it stands, without references.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from adapters.common.codes import refusal
from adapters.common.simpletypes import SimpleTypes, Takes
from adapters.common.views import VALUE
from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal

_XS = "{http://www.w3.org/2001/XMLSchema}"
_NUMBERS = frozenset(("decimal", "integer", "positiveInteger", "nonNegativeInteger"))
_FORMS = {"text": "a text", "number": "a number", "flag": "true or false"}
_PLAIN_ELEMENT = frozenset(("name", "type", "minOccurs", "maxOccurs"))
_FORBIDDEN = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(55296, 57344), 65534, 65535))


class Attribute(NamedTuple):
    """An attribute: what takes its values, None where only the schema tells; whether it has to be there."""

    takes: Takes | None
    needed: bool


class Declared(NamedTuple):
    """An element of a schema.

    Attributes:
      children: by name, in their order; none of a leaf.
      attributes: by name.
      form: of a leaf in JSON: ``text``, ``number`` or ``flag``.
      wrapped: in JSON it is an object with `value`.
      blank: a leaf that may be empty.
      needed: it has to be there.
      many: it may stand several times: in JSON in an array.
      place: in its parent's content; the elements of a choice share one. None where only the schema tells what stands
        beside it.
      place_needed: something has to stand in that place.
      takes: what takes its values; None where only the schema tells.
    """

    children: dict[str, Declared]
    attributes: dict[str, Attribute]
    form: str
    wrapped: bool
    blank: bool
    needed: bool
    many: bool
    place: int | None
    place_needed: bool
    takes: Takes | None


@cache
def declared(path: Path, wrapped: frozenset[str]) -> Declared:
    """The document of a schema.

    Args:
      path: of the schema; it declares one element at its top.
      wrapped: types, besides those that the schema includes, whose leaves are objects with `value` in JSON.
    """
    root = etree.parse(path, safexml.parser()).getroot()
    restricted = {str(kind.get("name")): kind for kind in root.iterchildren(f"{_XS}simpleType")}
    bases = {name: kind.find(f"{_XS}restriction") for name, kind in restricted.items()}
    numbers = {name for name, base in bases.items() if base is not None and _is_number(base.get("base"))}
    (top,) = root.iterchildren(f"{_XS}element")
    return _Declaring(set(restricted) - wrapped, numbers, wrapped, SimpleTypes(path)).element(top, None, False)


def _is_number(name: str | None) -> bool:
    prefix, _, kind = (name or "").rpartition(":")
    return prefix == "xs" and kind in _NUMBERS


class _Declaring(NamedTuple):
    """Reads the elements of a schema.

    Attributes:
      own: simple types of the schema itself whose leaves are plain values in JSON.
      numbers: simple types of the schema itself that are numbers.
      filled: types whose leaves are never empty.
      types: all simple types.
    """

    own: set[str]
    numbers: set[str]
    filled: frozenset[str]
    types: SimpleTypes

    def element(self, element: etree._Element, place: int | None, place_needed: bool) -> Declared:
        """An element that stands in a place of its parent's content."""
        extension = element.find(f"{_XS}complexType/{_XS}simpleContent/{_XS}extension")
        named = element.get("type") or (extension.get("base") if extension is not None else "") or ""
        prefix, _, kind = named.rpartition(":")
        sequence = element.find(f"{_XS}complexType/{_XS}sequence")
        inner = [] if sequence is None else list(sequence.iter(f"{_XS}element"))
        nearest = [one for one in inner if next(one.iterancestors(f"{_XS}element")) is element]
        given = extension.iterchildren(f"{_XS}attribute") if extension is not None else ()
        attributes = {
            str(one.get("name")): Attribute(self.types.takes(one.get("type") or ""), one.get("use") == "required")
            for one in given
        }
        places = {} if sequence is None else _places(sequence)
        number = kind in self.numbers or _is_number(named)
        return Declared(
            children={str(one.get("name")): self.element(one, *places.get(one, (None, False))) for one in nearest},
            attributes=attributes,
            form="number" if number else "flag" if named == "xs:boolean" else "text",
            wrapped=bool(attributes) or (bool(kind) and prefix != "xs" and kind not in self.own),
            blank=bool(kind) and prefix != "xs" and kind not in self.filled,
            needed=element.get("minOccurs") != "0" and not any(True for _ in element.iterancestors(f"{_XS}choice")),
            many=element.get("maxOccurs", "1") != "1",
            place=place,
            place_needed=place_needed,
            takes=self.types.takes(named) if named else None,
        )


def _places(sequence: etree._Element) -> dict[etree._Element, tuple[int, bool]]:
    """The places of a sequence of elements and of choices between single elements, and whether one has to be filled;
    none of a content that is anything else: only the schema can judge that."""
    found: dict[etree._Element, tuple[int, bool]] = {}
    kind = sequence.getparent()
    if kind is None or len(kind) > 1 or kind.attrib or sequence.attrib:
        return {}
    for place, particle in enumerate(sequence.iterchildren(etree.Element)):
        choice = particle.tag == f"{_XS}choice"
        among = list(particle.iterchildren(etree.Element)) if choice else [particle]
        least, most = particle.get("minOccurs", "1"), particle.get("maxOccurs", "1")
        if least not in ("0", "1") or most not in (("1",) if choice else ("1", "unbounded")):
            return {}
        if choice and any(one.get("minOccurs") or one.get("maxOccurs") for one in among):
            return {}
        if any(one.tag != f"{_XS}element" or set(map(str, one.attrib)) - _PLAIN_ELEMENT for one in among):
            return {}
        found |= dict.fromkeys(among, (place, least == "1"))
    return found if len({one.get("name") for one in found}) == len(found) else {}


def _absent(content: Any, node: Declared) -> bool:
    """Whether a leaf is empty that may be: the table takes it for absent."""
    return node.blank and content == ({VALUE: ""} if node.wrapped else "")


def _form(value: Any) -> str:
    if isinstance(value, bool):
        return "flag"
    return "text" if isinstance(value, str) else "" if isinstance(value, dict | list) else "number"


class Writer:
    """Makes elements of content of JSON.

    Attributes:
      refusals: what JSON says in another way than the schema's document does.
    """

    def __init__(self, space: str | None) -> None:
        self._space = f"{{{space}}}" if space else ""
        self.refusals: list[Refusal] = []

    def element(self, name: str, content: Any, node: Declared, path: str) -> etree._Element:
        """The element of a name; keys that the schema does not know are refused and left out.

        Args:
          name: local.
          content: an object or a value.
          node: its declaration.
          path: of the content, for refusals.
        """
        made = etree.Element(self._space + name)
        if not node.children:
            self._fill(made, content, node, path)
        elif isinstance(content, dict):
            self._strange(content, node.children, path)
            for key, child in node.children.items():
                held = content.get(key)
                if held is not None and isinstance(held, list) != child.many:
                    self._refuse(f"{path}/{key}", held, "an array" if child.many else "one value")
                for one in held if isinstance(held, list) else [held]:
                    if one is not None and not _absent(one, child):
                        made.append(self.element(key, one, child, f"{path}/{key}"))
        else:
            self._refuse(path, content, "an object")
        return made

    def _strange(self, content: dict[str, Any], known: Collection[str], path: str) -> None:
        for key in content:
            if key not in known:
                expected = "a key that the schema knows"
                self.refusals.append(refusal("SYN_UNEXPECTED", f"{path}/{key}", str(content[key])[:80], expected))

    def _refuse(self, path: str, found: Any, expected: str) -> None:
        self.refusals.append(refusal("SYN_VALUE", path, str(found)[:80], expected))

    def _fill(self, made: etree._Element, content: Any, node: Declared, path: str) -> None:
        value = content
        if isinstance(content, dict):
            value = content.get(VALUE)
            self._strange(content, (VALUE, *node.attributes), path)
            for name in node.attributes:
                if content.get(name) is not None:
                    made.set(name, str(content[name]).translate(_FORBIDDEN))
        if isinstance(content, dict) != node.wrapped or (node.wrapped and VALUE not in content):
            self._refuse(path, content, "an object with a value" if node.wrapped else "a value")
        elif value not in (None, "") and _form(value) != node.form:
            self._refuse(path, value, _FORMS[node.form])
        if isinstance(value, bool):
            made.text = "true" if value else "false"
        elif value is not None and not isinstance(value, dict | list):
            made.text = f"{value:f}" if hasattr(value, "as_tuple") else str(value).translate(_FORBIDDEN)
