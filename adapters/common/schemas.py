"""Checks one CH message against our schema, and explains what is wrong in it as refusals and notes.

The check itself is one call of libxml2. Only a message that fails is looked at closely, on a copy: unknown elements and
attributes are taken out and noted, elements in a wrong place are taken out and refused, and the rest is checked again
until nothing new is found, so that every error is listed and not only the first of each parent.

The schema files have no target namespace. Where a market gives each message a namespace of its own, with equal content
models inside, a file is included into an empty schema of the message's namespace and takes that on. What a type asks
for, in words, stands in the ``appinfo`` of the type.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from adapters.common.codes import refusal
from adapters.common.reading import local
from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal

if TYPE_CHECKING:
    import xmlschema

_XS = "{http://www.w3.org/2001/XMLSchema}"
_MAX_PASSES = 50
_EXPECTED = re.compile(r"Expected is (?:one of )?\( (?P<names>[^)]*) \)")
_SET = re.compile(r"is not an element of the set \{(?P<values>.*)\}")
_TYPE = re.compile(r"(?:atomic|local atomic|union) type '?(?P<type>[^'.]*)'?")
_ATTRIBUTE = re.compile(r"The attribute '(?P<name>[^']+)' is (?P<what>not allowed|required)")
_BUILT_IN = {
    "xs:dateTime": "a date-time like 2024-10-04T00:01:00+02:00",
    "xs:date": "a day like 2024-10-04",
    "xs:gMonthDay": "a month and day like --06-10",
    "xs:boolean": "0, 1, true or false",
    "xs:integer": "a whole number",
    "xs:decimal": "a decimal number",
}


class Findings(NamedTuple):
    """What a check found: refusals forbid digestion, notes do not."""

    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Refusal, ...] = ()


CLEAN = Findings()


class Schema:
    """One schema file, compiled once per thread and namespace: the error log of a compiled schema is its last
    check's."""

    def __init__(self, path: Path) -> None:
        """Args:
        path: the file; what it includes lies beside it.
        """
        self.path = path
        self._local = threading.local()

    def compiled(self, namespace: str | None = None) -> etree.XMLSchema:
        """The schema as it holds for elements of a namespace."""
        held: dict[str | None, etree.XMLSchema] | None = getattr(self._local, "held", None)
        if held is None:
            held = self._local.held = {}
        if namespace not in held:
            held[namespace] = _compile(self.path, namespace)
        return held[namespace]

    def check(self, element: etree._Element, namespace: str | None = None) -> Findings:
        """Check one element against the global element of its name.

        Args:
          element: left as it is.
          namespace: of the message.
        """
        if self.compiled(namespace).validate(element):
            return CLEAN
        copy = deepcopy(element) if namespace is None else bare(element)
        found = _Examination(self, copy).findings()
        if found == CLEAN:  # only the namespace was wrong
            path = f"/{local(str(element.tag))}"
            return Findings((refusal("SYN_UNEXPECTED", path=path, expected=f"elements of {namespace}"),))
        return found

    def explain(self, element: etree._Element) -> list[Refusal]:
        """Every schema error of an element, in the order of the document, for a person.

        Found by `xmlschema`, some hundred times slower than the check, which goes on where that stops.

        Args:
          element: a CH message.
        """
        found: dict[tuple[str, str], Refusal] = {}
        for error in _thorough(self.path).iter_errors(_plain(element)):
            explained = self._explained(error, element)
            kind = _kind(explained)
            # A value that breaks two facets of its type is one mistake; two elements too many are two.
            found.setdefault((explained.path, kind + ("" if kind == "value" else explained.value or "")), explained)
        return list(found.values())

    def _explained(self, error: xmlschema.XMLSchemaValidationError, element: etree._Element) -> Refusal:
        path = error.path or f"/{local(str(element.tag))}"
        reason = (error.reason or error.message or "").strip().splitlines()[0]
        invalid = getattr(error, "invalid_tag", None)
        expected = getattr(error, "expected", None)
        if invalid is not None:
            code = "SYN_UNEXPECTED" if invalid in known(self.path) else "NOTE_ELEMENT_UNKNOWN"
            return refusal(code, path=f"{path}/{invalid}", value=str(invalid), expected=_names(expected) or reason)
        if expected is not None:
            return refusal("SYN_MISSING", path=path, expected=_names(expected) or reason)
        value = error.obj if isinstance(error.obj, str) else getattr(error.elem, "text", None)
        if "attribute" in reason:
            return refusal("SYN_MISSING" if "missing" in reason else "NOTE_ELEMENT_UNKNOWN", path=path, expected=reason)
        enumeration = getattr(error.validator, "enumeration", None)
        if enumeration:
            return refusal("SYN_CODE", path=path, value=value, expected="one of " + ", ".join(map(str, enumeration)))
        name = getattr(error.validator, "prefixed_name", None) or getattr(error.validator, "local_name", None)
        return refusal("SYN_VALUE", path=path, value=value, expected=words(self.path).get(str(name)) or reason)


def _compile(path: Path, namespace: str | None) -> etree.XMLSchema:
    if namespace is None:
        return etree.XMLSchema(etree.parse(path, safexml.parser()))
    wrapper = etree.Element(f"{_XS}schema", targetNamespace=namespace, elementFormDefault="qualified")
    etree.SubElement(wrapper, f"{_XS}include", schemaLocation=path.name)
    beside = str(path.with_name("of-a-namespace.xsd"))
    return etree.XMLSchema(etree.fromstring(etree.tostring(wrapper), safexml.parser(), base_url=beside))


@cache
def _thorough(path: Path) -> xmlschema.XMLSchema:
    # Imported only when a person asks: it takes longer than digesting a whole file.
    import xmlschema

    return xmlschema.XMLSchema(str(path), allow="local", defuse="always")


@cache
def known(path: Path) -> frozenset[str]:
    """Names of all elements that a schema file and the files it includes declare."""
    tree = etree.parse(path, safexml.parser())
    names = {element.get("name", "") for element in tree.iter(f"{_XS}element")}
    return frozenset(names.union(*(known(included) for included in _included(path, tree))))


@cache
def words(path: Path) -> dict[str, str]:
    """What the simple types of a schema file and the files it includes ask for, by name of the type."""
    tree = etree.parse(path, safexml.parser())
    found = dict(_BUILT_IN)
    for included in _included(path, tree):
        found |= words(included)
    for kind in tree.iter(f"{_XS}simpleType"):
        said = kind.findtext(f"{_XS}annotation/{_XS}appinfo")
        if said:
            found[kind.get("name", "")] = said
    return found


def _included(path: Path, tree: etree._ElementTree) -> list[Path]:
    return [path.with_name(element.get("schemaLocation", "")) for element in tree.iter(f"{_XS}include")]


def bare(element: etree._Element) -> etree._Element:
    """A copy of an element and all below it without namespaces, comments and attributes."""
    copy = etree.Element(local(str(element.tag)))
    copy.text = element.text
    for child in element.iterchildren(etree.Element):
        copy.append(bare(child))
    return copy


def _plain(element: etree._Element) -> etree._Element:
    return bare(element) if str(element.tag).startswith("{") else element


class _Examination:
    """The close look at a copy of a message that failed; what is explained is taken out of it."""

    def __init__(self, schema: Schema, copy: etree._Element) -> None:
        self.compiled = schema.compiled()
        self.known = known(schema.path)
        self.words = words(schema.path)
        self.copy = copy
        self.refusals: dict[tuple[str, str], Refusal] = {}
        self.notes: dict[str, Refusal] = {}

    def findings(self) -> Findings:
        """All that is wrong, each place once."""
        for _ in range(_MAX_PASSES):
            if self.compiled.validate(self.copy):
                break
            log: Iterable[etree._LogEntry] = tuple(self.compiled.error_log)  # type: ignore[arg-type]
            taken_out = [self._take_out(error) for error in log]
            if not any(taken_out):
                break
        return Findings(tuple(self.refusals.values()), tuple(self.notes.values()))

    def _take_out(self, error: etree._LogEntry) -> bool:
        """Whether an error could be taken out of the copy; if not, it is refused as it stands."""
        found = self._locate(error.path)
        attribute = _ATTRIBUTE.search(error.message)
        if attribute is not None and attribute["what"] == "not allowed" and found is not None:
            path = f"{error.path}/@{attribute['name']}"
            value = found.get(attribute["name"])
            self.notes[path] = refusal("NOTE_ELEMENT_UNKNOWN", path=path, value=value)
            del found.attrib[attribute["name"]]
            return True
        if "is not expected" in error.message and found is not None and (parent := found.getparent()) is not None:
            strangers = [child for child in parent if child.tag not in self.known]
            for stranger in strangers:
                path = f"{self.copy.getroottree().getpath(stranger)}"
                self.notes[path] = refusal("NOTE_ELEMENT_UNKNOWN", path=path, value=_text(stranger))
                parent.remove(stranger)
            if not strangers:
                self.refusals.setdefault(("SYN_UNEXPECTED", error.path or ""), _unexpected(error, found))
                parent.remove(found)
            return True
        # A facet is reported together with its type: the first, more exact one stands.
        translated = self._translate(error, found)
        self.refusals.setdefault((_kind(translated), error.path or ""), translated)
        return False

    def _locate(self, path: str | None) -> etree._Element | None:
        if not path:
            return None
        try:
            found = self.copy.getroottree().xpath(path)
        except etree.XPathError:
            return None
        return found[0] if isinstance(found, list) and found and isinstance(found[0], etree._Element) else None

    def _translate(self, error: etree._LogEntry, found: etree._Element | None) -> Refusal:
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
            return refusal("SYN_VALUE", path=path, value=value, expected=self.words.get(kind["type"], kind["type"]))
        return refusal("SYN_VALUE", path=path, value=value, expected=message.split(": ", 1)[-1])


def _kind(found: Refusal) -> str:
    return "value" if found.code in ("SYN_VALUE", "SYN_CODE") else found.code


def _unexpected(error: etree._LogEntry, found: etree._Element) -> Refusal:
    names = _EXPECTED.search(error.message)
    expected = f"one of {names['names']}" if names else "no further element here"
    return refusal("SYN_UNEXPECTED", path=error.path or "", value=_text(found) or str(found.tag), expected=expected)


def _text(element: etree._Element) -> str | None:
    return element.text.strip() if element.text and element.text.strip() else None


def _names(expected: object) -> str:
    if expected is None or isinstance(expected, str):
        return expected or ""
    names = []
    for particle in expected if isinstance(expected, list | tuple) else [expected]:
        name = getattr(particle, "local_name", None) or getattr(particle, "name", None)
        names.append(str(name or particle))
    return ", ".join(names)
