"""Checks one CH message against our schema, and explains what is wrong in it as refusals and notes.

The check itself is one call of libxml2. Only a message that fails is looked at closely, on a copy: unknown elements and
attributes are taken out and noted, elements in a wrong place are taken out and refused, and the rest is checked again
until nothing new is found, so that every error is listed and not only the first of each parent.

Our own schema files have no target namespace. Where a market gives each message a namespace of its own, with equal
content models inside, a file is included into an empty schema of the message's namespace and takes that on. What a type
asks for, in words, stands in the ``appinfo`` of the type.

A schema of the market itself has a target namespace, and mostly declares its document and not the CH messages in it:
the declaration of a CH message is then taken out of the document's and put beside it (`_with_piece`).
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
from msgspec import structs

from adapters.common.codes import refusal
from adapters.common.reading import local
from energycomm.kernel import safexml
from energycomm.kernel.demands import demanded
from energycomm.kernel.verdicts import Refusal

if TYPE_CHECKING:
    import xmlschema

_XS = "{http://www.w3.org/2001/XMLSchema}"
_MAX_PASSES = 50
_EXPECTED = re.compile(r"Expected is (?:one of )?\( (?P<names>[^)]*) \)")
_SET = re.compile(r"is not an element of the set \{(?P<values>.*)\}")
_TYPE = re.compile(r"(?:atomic|local atomic|union) type '?(?:\{[^}]*\})?(?P<type>[^'.]*)'?")
_ATTRIBUTE = re.compile(r"The attribute '(?P<name>[^']+)' is (?P<what>not allowed|required)")
_OF_ATTRIBUTE = re.compile(r"^Element '[^']*', attribute '(?P<name>[^']+)':")
_NAMED = re.compile(
    r"missing required attribute '(?P<required>[^']+)'|^'(?P<unknown>[^']+)' attribute|attribute (?P<wrong>[\w.:-]+)="
)
_PREFIX = re.compile(r"/[^/:{]+:|/\{[^}]*\}")
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
        self.target = _target_of(path)
        """Target namespace of the file; None for our own ones."""
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
        if self.target is not None:
            return self._check_targeted(element)
        compiled = self.compiled(namespace)
        if compiled.validate(element):
            return CLEAN
        trimmed = _trimmed(element)
        if compiled.validate(trimmed):
            return CLEAN
        copy = trimmed if namespace is None else bare(trimmed)
        found = _Examination(self.compiled(), known(self.path), words(self.path), copy).findings()
        if found == CLEAN:  # only the namespace was wrong
            path = f"/{local(str(element.tag))}"
            return Findings((refusal("SYN_UNEXPECTED", path=path, expected=f"elements of {namespace}"),))
        return found

    def _check_targeted(self, element: etree._Element) -> Findings:
        """Check an element against the declaration of its name, wherever in the document's the schema has it."""
        name = local(str(element.tag))
        held: dict[str, etree.XMLSchema] = self._local.__dict__.setdefault("pieces", {})
        if name not in held:
            source = _with_piece(self.path, name)
            held[name] = etree.XMLSchema(etree.fromstring(source, safexml.parser(), base_url=_beside(self.path)))
        compiled = held[name]
        # Attributes of another namespace (xsi:schemaLocation) belong to the document, not to the message.
        copy = _trimmed(element)
        if compiled.validate(copy):
            return CLEAN
        return _Examination(compiled, known(self.path), words(self.path), copy).findings()

    def explain(self, element: etree._Element) -> list[Refusal]:
        """Every schema error of an element, in the order of the document, for a person.

        Found by `xmlschema`, some hundred times slower than the check, which goes on where that stops.

        Args:
          element: a CH message.
        """
        found: dict[tuple[str, str], Refusal] = {}
        if self.target is None:
            thorough, shown = _thorough(self.path), _plain(element)
        else:
            thorough, shown = _thorough_piece(self.path, local(str(element.tag))), element
        for error in thorough.iter_errors(shown):
            explained = self._explained(error, element)
            kind = _kind(explained)
            # A value that breaks two facets of its type is one mistake; two elements too many are two.
            found.setdefault((explained.path, kind + ("" if kind == "value" else explained.value or "")), explained)
        return list(found.values())

    def _explained(self, error: xmlschema.XMLSchemaValidationError, element: etree._Element) -> Refusal:
        path = _PREFIX.sub("/", error.path or f"/{local(str(element.tag))}")
        reason = (error.reason or error.message or "").strip().splitlines()[0]
        invalid = getattr(error, "invalid_tag", None)
        expected = getattr(error, "expected", None)
        if invalid is not None:
            invalid = local(str(invalid))
            code = "SYN_UNEXPECTED" if invalid in known(self.path) else "NOTE_ELEMENT_UNKNOWN"
            wanted = _names(expected) or "no further element here"
            return refusal(code, path=f"{path}/{invalid}", value=str(invalid), expected=wanted)
        if expected is not None:
            return refusal("SYN_MISSING", path=path, expected=_names(expected) or "a further element")
        value = error.obj if isinstance(error.obj, str) else getattr(error.elem, "text", None)
        named = _NAMED.search(reason)
        if named is not None:
            path = f"{path}/@{named['required'] or named['unknown'] or named['wrong']}"
            if named["required"]:
                return refusal("SYN_MISSING", path=path, expected="an attribute with a value")
            if named["unknown"]:
                return refusal("NOTE_ELEMENT_UNKNOWN", path=path, expected="no such attribute here")
            return refusal("SYN_VALUE", path=path, value=value, expected=demanded(reason))
        enumeration = getattr(error.validator, "enumeration", None)
        if enumeration:
            return refusal("SYN_CODE", path=path, value=value, expected="one of " + ", ".join(map(str, enumeration)))
        name = getattr(error.validator, "prefixed_name", None) or getattr(error.validator, "local_name", None)
        expected = words(self.path).get(str(name)) or demanded(reason)
        return refusal("SYN_VALUE", path=path, value=value, expected=expected)


def _trimmed(element: etree._Element) -> etree._Element:
    """A copy whose values have no white space around them: it is none of a day's or a number's, and libxml2 refuses
    it there. Digesters read values without it."""
    copy = deepcopy(element)
    for one in copy.iter(etree.Element):
        if one.text and not len(one):
            one.text = one.text.strip()
    return copy


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

    # libxml2 has compiled it: it is not held against the schema of schemas once more.
    return xmlschema.XMLSchema(str(path), allow="local", defuse="always", validation="skip")


def _target_of(path: Path) -> str | None:
    return etree.parse(path, safexml.parser()).getroot().get("targetNamespace")


def _beside(path: Path) -> str:
    """The name of a schema that is made of another: what it includes lies beside that."""
    return str(path.with_name("of-a-piece.xsd"))


@cache
def _with_piece(path: Path, name: str) -> bytes:
    """A schema that includes another and declares, at the top, the element that the other declares inside its own.

    Raises:
      ValueError: the schema, or one that it includes, declares no element of the name.
    """
    root = etree.parse(path, safexml.parser()).getroot()
    wrapper = etree.Element(f"{_XS}schema", dict(root.attrib), nsmap=root.nsmap)  # type: ignore[arg-type]
    for imported in root.iterchildren(f"{_XS}import"):
        wrapper.append(deepcopy(imported))
    etree.SubElement(wrapper, f"{_XS}include", schemaLocation=path.name)
    if not any(found.get("name") == name for found in root.iterchildren(f"{_XS}element")):
        declared = [found for found in _elements(path) if found.get("name") == name]
        if not declared:
            raise ValueError(f"{path.name} declares no element {name}")
        inner = deepcopy(min(declared, key=lambda found: sum(1 for _ in found.iterancestors())))
        for attribute in ("minOccurs", "maxOccurs", "form"):
            inner.attrib.pop(attribute, "")
        inner.tail = None
        wrapper.append(inner)
    return etree.tostring(wrapper)


def _elements(path: Path) -> list[etree._Element]:
    tree = etree.parse(path, safexml.parser())
    found = list(tree.iter(f"{_XS}element"))
    return found + [element for included in _included(path, tree) for element in _elements(included)]


@cache
def _thorough_piece(path: Path, name: str) -> xmlschema.XMLSchema:
    import xmlschema

    source = _with_piece(path, name).decode("utf-8")
    return xmlschema.XMLSchema(source, base_url=str(path.parent), allow="local", defuse="always", validation="skip")


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
    if _target_of(path) is not None:  # a market's own types say nothing in words: what they restrict does
        bases = _of_base(path)
        for name in bases:
            base = name
            for _ in bases:
                base = bases.get(base, base)
            if f"xs:{base}" in _BUILT_IN:
                found.setdefault(name, _BUILT_IN[f"xs:{base}"])
    return found


def _included(path: Path, tree: etree._ElementTree) -> list[Path]:
    return [path.with_name(element.get("schemaLocation", "")) for element in tree.iter(f"{_XS}include")]


def _of_base(path: Path, seen: frozenset[Path] = frozenset()) -> dict[str, str]:
    """Named simple type -> the local name of what it restricts, of a schema and all that it includes or imports."""
    tree = etree.parse(path, safexml.parser())
    found: dict[str, str] = {}
    for other in tree.iter(f"{_XS}include", f"{_XS}import"):
        file = path.with_name(other.get("schemaLocation") or "")
        if file.is_file() and file not in seen and file != path:
            found |= _of_base(file, seen | {path})
    for kind in tree.iter(f"{_XS}simpleType"):
        base = kind.find(f"{_XS}restriction")
        if kind.get("name") and base is not None and base.get("base"):
            found[kind.get("name", "")] = base.get("base", "").rpartition(":")[2]
    return found


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

    def __init__(
        self, compiled: etree.XMLSchema, names: frozenset[str], said: dict[str, str], copy: etree._Element
    ) -> None:
        self.compiled, self.known, self.words, self.copy = compiled, names, said, copy
        self.targeted = str(copy.tag).startswith("{")
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
            path = f"{self._place(error.path)}/@{attribute['name']}"
            value = found.get(attribute["name"])
            self.notes[path] = refusal("NOTE_ELEMENT_UNKNOWN", path=path, value=value)
            del found.attrib[attribute["name"]]
            return True
        if "is not expected" in error.message and found is not None and (parent := found.getparent()) is not None:
            strangers = [child for child in parent if local(str(child.tag)) not in self.known]
            for stranger in strangers:
                path = self._place(self.copy.getroottree().getpath(stranger))
                self.notes[path] = refusal("NOTE_ELEMENT_UNKNOWN", path=path, value=_text(stranger))
                parent.remove(stranger)
            missing = _missing(error, parent) if self.targeted and not strangers else None
            if missing is not None:  # what follows is not expected only because of that
                path = f"{self._place(self.copy.getroottree().getpath(parent))}/{missing}"
                self.refusals.setdefault(("SYN_MISSING", path), refusal("SYN_MISSING", path, expected=missing))
                return False
            if not strangers:
                refused = structs.replace(_unexpected(error, found), path=self._place(error.path))
                self.refusals.setdefault(("SYN_UNEXPECTED", error.path or ""), refused)
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
            named = {prefix: space for prefix, space in self.copy.nsmap.items() if prefix}
            found = self.copy.getroottree().xpath(path, namespaces=named)
        except etree.XPathError:
            return None
        return found[0] if isinstance(found, list) and found and isinstance(found[0], etree._Element) else None

    def _place(self, path: str | None) -> str:
        """A path by the local names of elements, where the document has a namespace."""
        found = self._locate(path)
        if found is None or not str(found.tag).startswith("{"):
            return path or ""
        names: list[str] = []
        step: etree._Element | None = found
        while step is not None:
            parent = step.getparent()
            alike = [] if parent is None else [child for child in parent if child.tag == step.tag]
            number = f"[{alike.index(step) + 1}]" if len(alike) > 1 else ""
            names.append(local(str(step.tag)) + number)
            step = parent
        return "/" + "/".join(reversed(names))

    def _translate(self, error: etree._LogEntry, found: etree._Element | None) -> Refusal:
        message, path = error.message, self._place(error.path)
        if "Missing child element" in message:
            names = _EXPECTED.search(message)
            return refusal(
                "SYN_MISSING", path=path, expected=_bare_names(names["names"]) if names else "a further element"
            )
        attribute = _ATTRIBUTE.search(message)
        if attribute is not None:
            return refusal("SYN_MISSING", path=f"{path}/@{attribute['name']}", expected="an attribute with a value")
        value = None if found is None else found.text or ""
        of_attribute = _OF_ATTRIBUTE.search(message)
        if of_attribute is not None and found is not None:
            path, value = f"{path}/@{of_attribute['name']}", found.get(of_attribute["name"])
        allowed = _SET.search(message)
        if allowed is not None:
            return refusal("SYN_CODE", path=path, value=value, expected="one of " + allowed["values"].replace("'", ""))
        kind = _TYPE.search(message)
        if kind is not None:
            return refusal("SYN_VALUE", path=path, value=value, expected=self.words.get(kind["type"], kind["type"]))
        return refusal("SYN_VALUE", path=path, value=value, expected=demanded(message))


def _kind(found: Refusal) -> str:
    return "value" if found.code in ("SYN_VALUE", "SYN_CODE") else found.code


def _unexpected(error: etree._LogEntry, found: etree._Element) -> Refusal:
    names = _EXPECTED.search(error.message)
    expected = f"one of {_bare_names(names['names'])}" if names else "no further element here"
    value = _text(found) or local(str(found.tag))
    return refusal("SYN_UNEXPECTED", path=error.path or "", value=value, expected=expected)


def _missing(error: etree._LogEntry, parent: etree._Element) -> str | None:
    """The one element that is expected in place of another, where it stands nowhere in the parent."""
    names = _EXPECTED.search(error.message)
    name = _bare_names(names["names"]).strip() if names else ""
    there = {local(str(child.tag)) for child in parent}
    return name if name and "," not in name and name not in there else None


def _bare_names(names: str) -> str:
    """The names of elements without their namespaces."""
    return re.sub(r"\{[^}]*\}", "", names)


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
