"""An instance of each message that EDSN's schemas describe, with every optional element, repeated elements twice and a
value of its own in each leaf, loses nothing: the writer below knows the schemas alone."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
from lxml import etree

from adapters.common.coverage import matches, read_reasons
from adapters.nl_edsn import adapter
from adapters.nl_edsn.ledger import REASONS
from tests.adapters.dutch import digested

XSD = "{http://www.w3.org/2001/XMLSchema}"
FIXED = {
    "ContactTypeIdentifier": ("EDSN_O",),
    "MeasureUnit": ("KWH",),
    "MeteringDirection": ("LVR",),
    "ProductType": ("ELK",),
    "QueryReason": ("DAY", "INT"),
}
"""Elements whose codes decide how a message is read, with values that the schemas leave open."""
OTHERS = ("MTQ", "GAS", "TLV", "CMB", "false", "IBD", "ACT", "N01", "J", "200", "201", "2", "RCY", "MOVEIN", "WH")
"""Values that leaves of codes are changed to, in turn."""


class Writer:
    """Writes an instance of a schema.

    Args:
      path: of the schema.
      branch: which branch of a choice is taken.
    """

    def __init__(self, path: Path, branch: int) -> None:
        self.schema = etree.parse(path).getroot()
        self.types = {one.get("name"): one for one in self.schema if one.get("name") and one.tag != f"{XSD}element"}
        self.root = next(one for one in self.schema if one.tag == f"{XSD}element")
        self.branch, self.branches, self.numbers = branch, 1, itertools.count(1)

    def element(self, declared: etree._Element) -> etree._Element:
        """An element with all that it may hold."""
        made = etree.Element(f"{{{self.schema.get('targetNamespace')}}}{declared.get('name')}")
        named = self.types.get(str(declared.get("type")).rpartition(":")[2])
        kind = declared.find(f"{XSD}complexType") if named is None else named
        groups = [] if kind is None else [one for one in kind if one.tag in (f"{XSD}sequence", f"{XSD}choice")]
        if groups:
            for group in groups:
                self.fill(made, group)
        else:
            made.text = self.value(str(declared.get("type")), {})
        return made

    def fill(self, made: etree._Element, group: etree._Element) -> None:
        """Put what a group allows into an element, what may be repeated twice."""
        for _ in range(_times(group)):
            parts = [one for one in group if one.tag in (f"{XSD}element", f"{XSD}sequence", f"{XSD}choice")]
            if group.tag == f"{XSD}choice":
                self.branches = max(self.branches, len(parts))
                parts = [parts[self.branch % len(parts)]]
            for part in parts:
                if part.tag != f"{XSD}element":
                    self.fill(made, part)
                    continue
                for _ in range(_times(part)):
                    made.append(self.element(part))

    def value(self, name: str, facets: dict[str, list[str]]) -> str:
        """A value of a type that no other leaf has, where the type has so many."""
        declared = self.types.get(name.rpartition(":")[2])
        if declared is not None:
            (inner,) = declared.iter(f"{XSD}restriction", f"{XSD}extension")
            for facet in inner:
                facets.setdefault(etree.QName(facet).localname, []).append(str(facet.get("value")))
            return self.value(str(inner.get("base")), facets)
        return _value(name.rpartition(":")[2], facets, next(self.numbers))


def _times(part: etree._Element) -> int:
    most = part.get("maxOccurs", "1")
    return 2 if most == "unbounded" else min(int(most), 2)


def _value(name: str, facets: dict[str, list[str]], number: int) -> str:
    if "enumeration" in facets:
        return facets["enumeration"][number % len(facets["enumeration"])]
    day = f"20{10 + number % 15}-{1 + number % 12:02}-{1 + number % 28:02}"
    if name in ("date", "dateTime"):
        return day if name == "date" else f"{day}T{number % 24:02}:{number % 60:02}:00Z"
    if name == "boolean":
        return "true"
    (pattern,) = facets.get("pattern", [""])
    least = int(float(facets.get("minInclusive", ["1"])[0]))
    most = int(float(facets.get("maxInclusive", [str(10 ** int(facets.get("totalDigits", ["5"])[0]) - 1)])[0]))
    longest = int(facets.get("length", facets.get("maxLength", ["20"]))[0])
    shapes = {"[1-9]": str(1 + number % 9), "[0-9]": str(number % 10), "[0-1][0-9]": f"{1 + number % 12:02}"}
    if pattern in shapes:
        return shapes[pattern]
    if digits := re.fullmatch(r"\[0-9\](?:\{([0-9]+)\}|\*|(?:\[0-9\])*)", pattern):
        return str(10**17 + number * 7919)[-int(digits[1] or min(longest, 9)) :]
    if name in ("decimal", "integer", "int", "nonNegativeInteger", "positiveInteger"):
        return str(least + number * 37 % max(1, min(most - least, 9973)))
    letters = "".join(chr(65 + number // 26**place % 26) for place in (0, 1))
    return (
        f"{letters}Q"[:longest]
        if longest < 4
        else f"v{number:03}{'z' * (longest if 'length' in facets else 0)}"[:longest]
    )


def instances(path: Path) -> Iterator[etree._Element]:
    """An instance of a schema for each branch of its choices, valid by it."""
    for branch in itertools.count():
        writer = Writer(path, branch)
        document = writer.element(writer.root)
        for tag, values in FIXED.items():
            for place, one in enumerate(document.iter(f"{{*}}{tag}")):
                one.text = values[place % len(values)]
        for place, one in enumerate(document.iter("{*}ReadingDateTime")):  # of one register they lie on a grid
            one.text = f"2026-01-11T{place // 4:02}:{place % 4 * 15:02}:00+01:00"
        for meter in document.iter("{*}P4EnergyMeter"):
            for register, obis in zip(meter.iter("{*}P4Register"), ("1.8.1", "1.8.2"), strict=False):
                register[0].text = obis
        etree.XMLSchema(file=str(path)).assertValid(document)
        yield document
        if branch + 1 >= writer.branches:
            return


def told(document: etree._Element) -> str | None:
    """All that the Kernel messages of a document say; None where one of them is refused."""
    read = digested(etree.tostring(document), "m.xml")
    if read.refusal is not None or any(one.refusals for one in read.transactions):
        return None
    return msgspec.json.encode([one.messages for one in read.transactions]).decode()


def lost(document: etree._Element, schema: etree.XMLSchema) -> Iterator[str]:
    """The leaves of a document that no Kernel message knows and no reason leaves out."""
    label = etree.QName(document).localname.removesuffix("Envelope")
    reasons = [reason for reason in read_reasons(REASONS) if fnmatchcase(label, reason.document)]
    whole = told(document)
    assert whole is not None
    for leaf in document.iter(etree.Element):
        path = re.sub(r"\{[^}]*\}", "", document.getroottree().getelementpath(leaf))
        value = leaf.text
        if len(leaf) or value is None or any(matches(one.path, re.sub(r"\[\d+\]", "", path)) for one in reasons):
            continue
        if len(value) > 3 and re.search(rf"(?<![\w.]){re.escape(value)}(?!\w)", whole):
            continue
        for leaf.text in (f"{value[:-1]}{'2' if value[-1] == '1' else '1'}", *OTHERS):
            if leaf.text != value and schema.validate(document) and told(document) not in (whole, None):
                break
        else:
            yield f"{path} {value}"
        leaf.text = value


def test_an_instance_with_every_element_of_each_schema_loses_nothing(shared: Path) -> None:
    labels = set()
    for path in sorted((shared / "markets/nl").rglob("*.xsd")):
        label = path.name.partition("_")[0]
        if label in adapter.types:
            labels.add(label)
            schema = etree.XMLSchema(file=str(path))
            for document in instances(path):
                assert list(lost(document, schema)) == [], path.name
    assert len(labels) == 24
