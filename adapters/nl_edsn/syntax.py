"""Checks XML against our schemas, and explains what is wrong in it as refusals and notes.

The schema files have no target namespace. Each message of EDSN has a namespace of its own, with equal content models
inside; so a file is included into an empty schema of the message's namespace and takes that on. Only a message that
fails is looked at closely, on a copy without namespaces: unknown elements are taken out and noted, elements in a wrong
place are taken out and refused, and the rest is checked again until nothing new is found.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.reading import local
from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal

if TYPE_CHECKING:
    import xmlschema

FOLDER = Path(__file__).parent / "schemas"
_XS = "{http://www.w3.org/2001/XMLSchema}"
_MAX_PASSES = 50
_EXPECTED = re.compile(r"Expected is (?:one of )?\( (?P<names>[^)]*) \)")
_SET = re.compile(r"is not an element of the set \{(?P<values>.*)\}")
_TYPE = re.compile(r"(?:atomic|local atomic|union) type '?(?P<type>[^'.]*)'?")
_WORDS = {
    "xs:dateTime": "a date-time like 2024-06-10T00:00:00+02:00",
    "xs:date": "a day like 2024-06-10",
    "xs:gMonthDay": "a month and day like --06-10",
    "xs:integer": "a whole number",
    "xs:decimal": "a decimal number",
    "point": "an identifier of 1 to 40 characters",
    "party": "an identifier of 1 to 40 characters",
    "key": "a value of 1 to 64 characters",
    "code": "a value of at most 64 characters",
    "text": "a text of at most 400 characters",
    "reading": "a number of at most 15 digits",
    "whole": "a whole number of at most 15 digits",
    "small": "a whole number of at most 4 digits",
}


class Findings(NamedTuple):
    """What a check found: refusals forbid digestion, notes do not."""

    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Refusal, ...] = ()


CLEAN = Findings()


class Schema:
    """One schema file, compiled once per thread and namespace: the error log of a compiled schema is its last
    check's."""

    def __init__(self, name: str) -> None:
        """Args:
        name: file name in the folder ``schemas``.
        """
        self.name = name
        self._local = threading.local()

    def compiled(self, namespace: str | None) -> etree.XMLSchema:
        """The schema as it holds for elements of a namespace."""
        held: dict[str | None, etree.XMLSchema] | None = getattr(self._local, "held", None)
        if held is None:
            held = self._local.held = {}
        if namespace not in held:
            held[namespace] = _compile(self.name, namespace)
        return held[namespace]

    def check(self, element: etree._Element, namespace: str | None) -> Findings:
        """Check one element against the global element of its name.

        Args:
          element: left as it is.
          namespace: of the message.
        """
        if self.compiled(namespace).validate(element):
            return CLEAN
        found = _explain(self.compiled(None), bare(element), known(self.name))
        if found == CLEAN:  # only the namespace was wrong
            path = f"/{local(str(element.tag))}"
            return Findings((refusal("SYN_UNEXPECTED", path=path, expected=f"elements of {namespace}"),))
        return found


def _compile(name: str, namespace: str | None) -> etree.XMLSchema:
    path = FOLDER / name
    if namespace is None:
        return etree.XMLSchema(etree.parse(path, safexml.parser()))
    wrapper = etree.Element(f"{_XS}schema", targetNamespace=namespace, elementFormDefault="qualified")
    etree.SubElement(wrapper, f"{_XS}include", schemaLocation=path.name)
    document = etree.fromstring(etree.tostring(wrapper), safexml.parser(), base_url=str(FOLDER / "of-a-namespace.xsd"))
    return etree.XMLSchema(document)


@cache
def known(name: str) -> frozenset[str]:
    """Names of all elements that a schema file and the files it includes declare."""
    tree = etree.parse(FOLDER / name, safexml.parser())
    names = {element.get("name", "") for element in tree.iter(f"{_XS}element")}
    for included in tree.iter(f"{_XS}include"):
        names |= known(included.get("schemaLocation", ""))
    return frozenset(names)


def bare(element: etree._Element) -> etree._Element:
    """A copy of an element and all below it without namespaces, comments and attributes."""
    copy = etree.Element(local(str(element.tag)))
    copy.text = element.text
    for child in element.iterchildren(etree.Element):
        copy.append(bare(child))
    return copy


def _explain(compiled: etree.XMLSchema, copy: etree._Element, names: frozenset[str]) -> Findings:
    refusals: dict[tuple[str, str], Refusal] = {}
    notes: dict[str, Refusal] = {}
    for _ in range(_MAX_PASSES):
        if compiled.validate(copy):
            break
        taken_out = False
        log: Iterable[etree._LogEntry] = tuple(compiled.error_log)  # type: ignore[arg-type]
        for error in log:
            found = _locate(copy, error.path)
            if "is not expected" in error.message and found is not None and (parent := found.getparent()) is not None:
                strangers = [child for child in parent if child.tag not in names]
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
                key = "value" if translated.code in ("SYN_VALUE", "SYN_CODE") else translated.code
                refusals.setdefault((key, error.path), translated)
        if not taken_out:
            break
    return Findings(tuple(refusals.values()), tuple(notes.values()))


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
    return refusal("SYN_UNEXPECTED", path=error.path or "", value=_text(found) or str(found.tag), expected=expected)


def _translate(error: etree._LogEntry, found: etree._Element | None) -> Refusal:
    message, path = error.message, error.path or ""
    if "Missing child element" in message:
        names = _EXPECTED.search(message)
        return refusal("SYN_MISSING", path=path, expected=names["names"] if names else "a further element")
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


@cache
def _thorough(name: str) -> xmlschema.XMLSchema:
    # Imported only when a person asks: it takes longer than digesting a whole message.
    import xmlschema

    return xmlschema.XMLSchema(str(FOLDER / name), allow="local", defuse="always")


def explain(schema: Schema, element: etree._Element) -> list[Refusal]:
    """Every schema error of an element, in the order of the document, found by a slower validator that goes on where
    the quick one stops.

    Args:
      schema: our schema of the element.
      element: a CH message.
    """
    found: dict[tuple[str, str], Refusal] = {}
    for error in _thorough(schema.name).iter_errors(bare(element)):
        path = error.path or f"/{local(str(element.tag))}"
        reason = (error.reason or error.message or "").strip().splitlines()[0]
        invalid = getattr(error, "invalid_tag", None)
        if invalid is not None:
            code = "SYN_UNEXPECTED" if invalid in known(schema.name) else "NOTE_ELEMENT_UNKNOWN"
            explained = refusal(code, path=f"{path}/{invalid}", value=str(invalid), expected=reason)
        elif getattr(error, "expected", None) is not None:
            explained = refusal("SYN_MISSING", path=path, expected=reason)
        else:
            value = error.obj if isinstance(error.obj, str) else getattr(error.elem, "text", None)
            kind = str(getattr(error.validator, "prefixed_name", None) or getattr(error.validator, "local_name", None))
            explained = refusal("SYN_VALUE", path=path, value=value, expected=_WORDS.get(kind, reason))
        found.setdefault((explained.path, explained.code), explained)
    return list(found.values())
