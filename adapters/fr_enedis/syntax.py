"""Checks one CH message against our schema, and explains what is wrong in it as refusals and notes.

The check itself is one call of libxml2. Only a message that fails is looked at closely, on a copy: unknown elements
are taken out and noted, elements in a wrong place are taken out and refused, and the rest is checked again until
nothing new is found, so that every error is listed and not only the first of each parent.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from adapters.fr_enedis.codes import refusal
from energycomm.kernel.verdicts import Refusal

FOLDER = Path(__file__).parent / "schemas"
_XS = "{http://www.w3.org/2001/XMLSchema}"
_MAX_PASSES = 50
_EXPECTED = re.compile(r"Expected is (?:one of )?\( (?P<names>[^)]*) \)")
_SET = re.compile(r"is not an element of the set \{(?P<values>.*)\}")
_TYPE = re.compile(r"(?:atomic|local atomic|union) type '?(?P<type>[^'.]*)'?")
_ATTRIBUTE = re.compile(r"The attribute '(?P<name>[^']+)' is (?P<what>not allowed|required)")
_WORDS = {
    "xs:dateTime": "a date-time like 2024-10-04T00:01:00+02:00",
    "xs:date": "a day like 2024-10-04",
    "xs:boolean": "0, 1, true or false",
    "xs:integer": "a whole number",
    "xs:decimal": "a decimal number",
    "index": "a whole number of at most 18 digits",
    "small": "a whole number of at most 10 digits",
    "number": "a decimal number",
    "direction": "0 (taken from the grid) or 1 (fed into it)",
    "key": "a value of 1 to 64 characters",
    "code": "a value of at most 64 characters",
    "text": "a text of at most 400 characters",
    "point": "an identifier of 1 to 40 characters",
}


def in_words(name: str | None) -> str | None:
    """What a schema type asks for, None where nothing better than its name is known."""
    return _WORDS.get(name or "")


class Findings(NamedTuple):
    """What a check found: refusals forbid digestion, notes do not."""

    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Refusal, ...] = ()


CLEAN = Findings()


class Schema:
    """One schema file, compiled once per thread: the error log of a compiled schema belongs to its last check."""

    def __init__(self, name: str) -> None:
        """Args:
        name: file name in the folder ``schemas``.
        """
        self.name = name
        self._local = threading.local()

    def check(self, element: etree._Element) -> Findings:
        """Check one element against the global element of its name.

        Args:
          element: left as it is.
        """
        try:
            compiled: etree.XMLSchema = self._local.compiled
        except AttributeError:
            compiled = self._local.compiled = etree.XMLSchema(file=str(FOLDER / self.name))
        if compiled.validate(element):
            return CLEAN
        return _explain(compiled, element, self.known())

    def known(self) -> frozenset[str]:
        """Names of all elements that the schema declares."""
        try:
            return self._local.known  # type: ignore[no-any-return]
        except AttributeError:
            tree = etree.parse(str(FOLDER / self.name))
            self._local.known = frozenset(e.get("name", "") for e in tree.iter(f"{_XS}element"))
            return self._local.known  # type: ignore[no-any-return]


def _explain(compiled: etree.XMLSchema, element: etree._Element, known: frozenset[str]) -> Findings:
    copy = deepcopy(element)
    refusals: dict[tuple[str, str], Refusal] = {}
    notes: dict[str, Refusal] = {}
    for _ in range(_MAX_PASSES):
        if compiled.validate(copy):
            break
        taken_out = False
        log: Iterable[etree._LogEntry] = tuple(compiled.error_log)  # type: ignore[arg-type]
        for error in log:
            found = _locate(copy, error.path)
            attribute = _ATTRIBUTE.search(error.message)
            if attribute is not None and attribute["what"] == "not allowed" and found is not None:
                path = f"{error.path}/@{attribute['name']}"
                notes[path] = refusal("NOTE_ELEMENT_UNKNOWN", path=path, value=found.get(attribute["name"]))
                del found.attrib[attribute["name"]]
                taken_out = True
            elif "is not expected" in error.message and found is not None and (parent := found.getparent()) is not None:
                strangers = [child for child in parent if child.tag not in known]
                for stranger in strangers:
                    path = f"{copy.getroottree().getpath(stranger)}"
                    notes[path] = refusal("NOTE_ELEMENT_UNKNOWN", path=path, value=_text(stranger))
                    parent.remove(stranger)
                if not strangers:
                    refusals.setdefault(("SYN_UNEXPECTED", error.path), _unexpected(error, found))
                    parent.remove(found)
                taken_out = True
            else:
                # A facet is reported together with its type: the first, more exact one stands.
                translated = _translate(error, found)
                refusals.setdefault((_key(translated), error.path), translated)
        if not taken_out:
            break
    return Findings(tuple(refusals.values()), tuple(notes.values()))


def _key(translated: Refusal) -> str:
    return "value" if translated.code in ("SYN_VALUE", "SYN_CODE") else translated.code


def _locate(copy: etree._Element, path: str | None) -> etree._Element | None:
    if not path:
        return None
    try:
        found = copy.getroottree().xpath(path)
    except etree.XPathError:
        return None
    return found[0] if isinstance(found, list) and found and isinstance(found[0], etree._Element) else None


def _unexpected(error: etree._LogEntry, found: etree._Element) -> Refusal:
    names = _EXPECTED.search(error.message)
    expected = f"one of {names['names']}" if names else "no further element here"
    return refusal("SYN_UNEXPECTED", path=error.path or "", value=_text(found) or found.tag, expected=expected)


def _translate(error: etree._LogEntry, found: etree._Element | None) -> Refusal:
    message, path = error.message, error.path or ""
    if "Missing child element" in message:
        names = _EXPECTED.search(message)
        return refusal("SYN_MISSING", path=path, expected=names["names"] if names else "a further element")
    attribute = _ATTRIBUTE.search(message)
    if attribute is not None:
        return refusal("SYN_MISSING", path=f"{path}/@{attribute['name']}", expected="an attribute with a value")
    value = None if found is None else found.text or ""
    allowed = _SET.search(message)
    if allowed is not None:
        return refusal("SYN_CODE", path=path, value=value, expected="one of " + allowed["values"].replace("'", ""))
    kind = _TYPE.search(message)
    if kind is not None:
        return refusal("SYN_VALUE", path=path, value=value, expected=_WORDS.get(kind["type"], kind["type"]))
    return refusal("SYN_VALUE", path=path, value=value, expected=message.split(": ", 1)[-1])


def _text(element: etree._Element) -> str | None:
    return element.text.strip() if element.text and element.text.strip() else None
