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
from adapters.common.views import VALUE
from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal

_XS = "{http://www.w3.org/2001/XMLSchema}"
_NUMBERS = frozenset(("decimal", "integer", "positiveInteger", "nonNegativeInteger"))
_FORMS = {"text": "a text", "number": "a number", "flag": "true or false"}
_FORBIDDEN = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(55296, 57344), 65534, 65535))


class Declared(NamedTuple):
    """An element of a schema.

    Attributes:
      children: by name, in their order; none of a leaf.
      attributes: names of its attributes.
      form: of a leaf in JSON: ``text``, ``number`` or ``flag``.
      wrapped: in JSON it is an object with `value`.
      blank: a leaf that may be empty.
      needed: it has to be there.
      many: it may stand several times: in JSON in an array.
    """

    children: dict[str, Declared]
    attributes: tuple[str, ...]
    form: str
    wrapped: bool
    blank: bool
    needed: bool
    many: bool


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
    return _declared(top, set(restricted) - wrapped, numbers, wrapped)


def _is_number(name: str | None) -> bool:
    prefix, _, kind = (name or "").rpartition(":")
    return prefix == "xs" and kind in _NUMBERS


def _declared(element: etree._Element, own: set[str], numbers: set[str], filled: frozenset[str]) -> Declared:
    extension = element.find(f"{_XS}complexType/{_XS}simpleContent/{_XS}extension")
    named = element.get("type") or (extension.get("base") if extension is not None else "") or ""
    prefix, _, kind = named.rpartition(":")
    sequence = element.find(f"{_XS}complexType/{_XS}sequence")
    inner = [] if sequence is None else list(sequence.iter(f"{_XS}element"))
    nearest = [one for one in inner if next(one.iterancestors(f"{_XS}element")) is element]
    attributes = extension.iterchildren(f"{_XS}attribute") if extension is not None else ()
    names = tuple(str(one.get("name")) for one in attributes)
    wrapped = bool(names) or (bool(kind) and prefix != "xs" and kind not in own)
    children = {str(one.get("name")): _declared(one, own, numbers, filled) for one in nearest}
    number = kind in numbers or _is_number(named)
    form = "number" if number else "flag" if named == "xs:boolean" else "text"
    needed = element.get("minOccurs") != "0" and not any(True for _ in element.iterancestors(f"{_XS}choice"))
    blank = bool(kind) and prefix != "xs" and kind not in filled
    return Declared(children, names, form, wrapped, blank, needed, element.get("maxOccurs", "1") != "1")


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
