"""Messages of the Danish hub, made of its own schemas: as many as are wanted, valid by them, in XML and in JSON.

Nothing here knows the adapter's table: elements, codes and what is mandatory are those of the schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import jsonschema_rs
from lxml import etree
from lxml.etree import QName

from adapters.common.schemaleaves import SchemaDocument, SchemaElement, documents_of

HUB, US, OTHER = "5790001330552", "5790000432752", "5799999933318"
POINTS = ("571313180000000005", "571313180000000012")
SHARED_SPACE = "un:unece:260:data:EEM"
TYPES = {
    "NotifyValidatedMeasureData": "E66",
    "NotifyAggregatedMeasureData": "E31",
    "NotifyWholesaleServices": "E31",
    "RequestValidatedMeasureData": "E73",
    "RequestAggregatedMeasureData": "E74",
    "RequestWholesaleSettlement": "D21",
    "RequestChangeOfSupplier": "392",
    "ConfirmRequestChangeOfSupplier": "414",
    "RejectRequestChangeOfSupplier": "414",
    "AccountingPointCharacteristics": "E07",
    "CharacteristicsOfACustomerAtAnAP": "E21",
    "GenericNotification": "E44",
    "DK_MeteredDataTimeSeries": "E66",
    "DK_RequestMeteredDataValidated": "E73",
    "DK_AggregatedMeteredDataTimeSeries": "E31",
    "DK_NotifyAggregatedWholesaleServices": "E31",
}
"""Document, without `_MarketDocument` -> its type, of the guides of the hub: the schemas allow any."""
PROCESSES = {
    "NotifyValidatedMeasureData": ("E23", "D42", "E30"),
    "NotifyAggregatedMeasureData": ("D03", "D04", "D05", "D32"),
    "NotifyWholesaleServices": ("D05", "D32"),
    "GenericNotification": ("E03", "E20", "E05", "E65"),
    "DK_AggregatedMeteredDataTimeSeries": ("D03", "D04", "D05", "D32"),
    "DK_NotifyAggregatedWholesaleServices": ("D05", "D32"),
    "DK_MeteredDataTimeSeries": ("E23", "D42"),
}
PERIODS = {
    "PT15M": ("2026-03-01", "2026-03-02", 96),
    "PT1H": ("2026-03-01", "2026-03-02", 24),
    "P1D": ("2026-02-01", "2026-03-01", 28),
    "P1M": ("2026-02-01", "2026-03-01", 1),
}
"""Resolution -> first day, the day after the last, and how many values there are (in winter: days begin at 23:00Z)."""


class Wanted(NamedTuple):
    """Which message is wanted.

    Attributes:
      full: with every optional element, or none.
      pieces: how many transactions.
      resolution: of its periods.
      turn: which code of a list.
    """

    full: bool = False
    pieces: int = 1
    resolution: str = "PT1H"
    turn: int = 0


class Made(NamedTuple):
    """An element that was made: its name, its text, attributes, what stands in it, and its declaration."""

    name: str
    text: str | None
    attributes: dict[str, str]
    parts: list[Made]
    declared: SchemaElement


class Message(NamedTuple):
    """A document of the hub.

    Attributes:
      label: of its root, without `_MarketDocument`.
      declared: by the schema.
      made: its root element.
    """

    label: str
    declared: SchemaDocument
    made: Made

    def xml(self) -> bytes:
        """It in XML."""
        space = self.declared.namespace
        root = etree.Element(f"{{{space}}}{self.made.name}", nsmap={"cim": space})  # type: ignore[dict-item]
        _write(root, self.made, f"{{{space}}}")
        return etree.tostring(root, encoding="UTF-8", xml_declaration=True)

    def json(self) -> bytes:
        """It in JSON."""
        return json.dumps({self.made.name: _plain(self.made)}, indent=1).encode()


LABELS = (
    *(f"{word}RequestChangeOfSupplier" for word in ("", "Confirm", "Reject")),
    *(f"{word}RequestChangeAccountingPointCharacteristics" for word in ("", "Confirm", "Reject")),
    *(f"{word}{what}" for word in ("Request", "RejectRequest") for what in (
        "AggregatedMeasureData", "ValidatedMeasureData", "WholesaleSettlement")),
    "Acknowledgement", "NotifyAggregatedMeasureData", "NotifyValidatedMeasureData", "NotifyWholesaleServices",
    "ReminderOfMissingMeasureData", "AccountingPointCharacteristics", "CharacteristicsOfACustomerAtAnAP",
    "GenericNotification", "RequestChangeCustomerCharacteristics", "DK_Acknowledgement", "DK_MeteredDataTimeSeries",
    "DK_AggregatedMeteredDataTimeSeries", "DK_NotifyAggregatedWholesaleServices", "DK_NotifyMissingData",
    "DK_RejectAggregatedBillingInformation", "DK_RejectRequestMeteredDataAggregated",
    "DK_RejectRequestMeteredDataValidated", "DK_RequestMeteredDataValidated",
)  # fmt: skip
"""The documents whose schemas are public."""


class Schema(NamedTuple):
    """A document of the hub, as its schema declares it, and what raises where bytes are not valid by it."""

    form: str
    declared: SchemaDocument
    check: Callable[[bytes], None]


@cache
def schemas(shared: Path, label: str) -> list[Schema]:
    """The schemas of a document, in XML and in JSON where that is public."""
    found = []
    if label.startswith("DK_"):
        return [_ebix(shared / "markets/ebix/xsd", label)]
    for file in (shared / "markets/dk/cim_xml").glob(f"urn-ediel-org-*-{label.lower()}-0-1.xsd"):
        (declared,) = documents_of(file)
        found.append(Schema("xml", declared, _xml_check(file)))
    for file in (shared / "markets/dk/cim_json").glob("*-assembly-model.schema.json"):
        if file.name.partition("-assembly")[0].replace("-", "").lower() == label.lower():
            (declared,) = documents_of(file)
            found.append(Schema("json", declared, _json_check(file)))
    return found


def fault(content: bytes, shared: Path) -> str | None:
    """What a schema of the hub says against a document, in XML or in JSON; nothing for a right one, and for one in JSON
    whose schema is public in XML alone.

    Raises:
      LookupError: there is no schema for a document in XML.
    """
    form = "json" if content.lstrip().startswith(b"{") else "xml"
    root = next(iter(json.loads(content))) if form == "json" else QName(etree.fromstring(content)).localname
    known = {one.form: one for one in schemas(shared, root.removesuffix("_MarketDocument"))}
    if "xml" not in known:
        raise LookupError(root)
    try:
        if form in known:
            known[form].check(content)
    except (etree.DocumentInvalid, jsonschema_rs.ValidationError) as wrong:
        return str(wrong)
    return None


def message(declared: SchemaDocument, wanted: Wanted) -> Message:
    """A valid message of a document."""
    label = _label(declared)
    (made,) = _Maker(label, wanted).elements(declared.root, ())
    return Message(label, declared, made)


def spoiled(content: bytes) -> Iterator[tuple[str, bytes]]:
    """A message with one thing changed, and what that is; a schema may allow some of it."""
    if content.startswith(b"{"):
        yield from _spoiled_json(content)
        return
    seen: set[str] = set()
    for at, one in enumerate(etree.fromstring(content).iter(etree.Element)):
        place = f"{'/'.join(QName(up).localname for up in one.iterancestors())}<{QName(one).localname}"
        if not at or place in seen:
            continue
        seen.add(place)
        changes: dict[str, Callable[[etree._Element], object]] = {
            "missing": lambda found: found.getparent().remove(found),  # type: ignore[union-attr]
            "twice": lambda found: found.addnext(deepcopy(found)),
            "behind the others": lambda found: found.getparent().append(found),  # type: ignore[union-attr]
            "before the others": lambda found: found.getparent().insert(0, found),  # type: ignore[union-attr]
            "before a stranger": lambda found: found.addnext(etree.Element(QName(found.tag, "strange"))),
            "before one of another namespace": lambda found: found.addnext(etree.Element(QName("urn:other", "mRID"))),
            "with a strange attribute": lambda found: found.set("strange", "1"),
        }
        if not len(one):
            for value in ("", "ZZ9", "x" * 40, "2026-13-45T00:00:00Z", "-1"):
                changes[f"= {value}"] = lambda found, value=value: setattr(found, "text", value)  # type: ignore[misc]
        for name in map(str, one.attrib):
            changes[f"@{name} missing"] = lambda found, name=name: found.attrib.pop(name)  # type: ignore[misc]
            changes[f"@{name} = ZZZ"] = lambda found, name=name: found.set(name, "ZZZ")  # type: ignore[misc]
        for what, change in changes.items():
            root = etree.fromstring(content)
            change(list(root.iter(etree.Element))[at])
            yield f"{place} {what}", etree.tostring(root)


def _spoiled_json(content: bytes) -> Iterator[tuple[str, bytes]]:
    for place in dict.fromkeys(_places(json.loads(content), ())):
        value = _at(json.loads(content), place)
        wrong: list[Any] = ["ZZ9", "", 7, True, [], {}, {"value": "ZZ9"}, "2026-13-45T00:00:00Z"]
        wrong += [str(value)] if isinstance(value, int | float) else []
        for other in [None, *wrong]:
            whole = json.loads(content)
            holder = _at(whole, place[:-1])
            if other is None:
                del holder[place[-1]]
            else:
                holder[place[-1]] = other
            yield f"{'/'.join(map(str, place))} = {other!r}", json.dumps(whole).encode()
        if isinstance(value, dict):
            whole = json.loads(content)
            _at(whole, place)["strange"] = "1"
            yield f"{'/'.join(map(str, place))} with a strange key", json.dumps(whole).encode()
    for beside in ("strange", "mRID"):
        yield f"{beside} beside the root", json.dumps(json.loads(content) | {beside: {}}).encode()


def _places(value: Any, above: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, inner in items:
        if len(above):  # the root's name tells which document it is
            yield (*above, name)
        yield from _places(inner, (*above, name))


def _at(value: Any, place: tuple[Any, ...]) -> Any:
    for name in place:
        value = value[name]
    return value


def _label(declared: SchemaDocument) -> str:
    return declared.root.name.removesuffix("_MarketDocument")


def _xml_check(file: Path) -> Callable[[bytes], None]:
    schema = etree.XMLSchema(etree.parse(file))
    return lambda content: schema.assertValid(etree.fromstring(content))


def _json_check(file: Path) -> Callable[[bytes], None]:
    lists = ("urn-entsoe-eu-local-extension-types.schema.json", "urn-entsoe-eu-wgedi-codelists.schema.json")
    schema: dict[str, Any] = json.loads(_inward(file, lists))
    held: dict[str, Any] = {}
    for name in lists:  # what the schema names in other files is put into it
        held |= json.loads(_inward(file.with_name(name), lists))["definitions"]
    schema["definitions"] = held | schema["definitions"]
    schema.pop("$id", None)  # a place on the disk of who wrote it
    validator = jsonschema_rs.Draft7Validator(schema)
    return lambda content: validator.validate(json.loads(content))


def _ebix(folder: Path, label: str) -> Schema:
    """A document of ebIX. Its public schema includes lists of another namespace, which no reader takes: it is read with
    one namespace for both."""
    with TemporaryDirectory() as place:
        for file in sorted(folder.glob("*/**/*.xsd")):
            copy = Path(place) / file.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            text = re.sub(rf"{SHARED_SPACE}-DK_[A-Za-z]+:v3", SHARED_SPACE, file.read_text("utf-8-sig"))
            copy.write_text(text.replace(f'<xsd:import namespace="{SHARED_SPACE}"', "<xsd:include"))
        (file,) = Path(place).glob(f"document*/*/ebIX_{label}-2.xsd")
        (declared,) = (one for one in documents_of(file) if one.root.name == label)
        declared.namespace = f"{SHARED_SPACE}-{label}:v3"
        return Schema("xml", declared, _ebix_check(file, declared.namespace))


def _ebix_check(file: Path, space: str) -> Callable[[bytes], None]:
    schema = etree.XMLSchema(etree.parse(file))
    return lambda content: schema.assertValid(etree.fromstring(content.replace(space.encode(), SHARED_SPACE.encode())))


def _inward(file: Path, lists: tuple[str, ...]) -> str:
    text = file.read_text("utf-8-sig")
    for name in lists:
        text = text.replace(f"{name}#", "#")
    return text


class _Maker:
    """Elements of one message, with identifiers of their own."""

    def __init__(self, label: str, wanted: Wanted) -> None:
        self.label, self.wanted, self.count = label, wanted, 0

    def elements(self, declared: SchemaElement, above: tuple[str, ...]) -> Iterator[Made]:
        """The elements of one declaration: none, one or several."""
        path = (*above, declared.name)
        start, end, values = PERIODS[self.wanted.resolution]
        del start, end
        times = 1
        if declared.many:
            point = declared.name in ("Point", "IntervalEnergyObservation")
            times = values if point else self.wanted.pieces if len(path) == 2 else 2 if self.wanted.full else 1
        for position in range(1, times + 1):
            self.count += 1
            attributes = {
                one.name[1:]: self.text(one, (*path, one.name), position)
                for one in declared.children
                if one.name.startswith("@") and (one.needed or self.wanted.full)
            }
            parts = [
                made
                for one in declared.children
                if not one.name.startswith("@") and self._wanted(one, path)
                for made in self.elements(one, path)
            ]
            text = self.text(declared, path, position) if declared.type is not None else None
            yield Made(declared.name, text, attributes, parts, declared)

    def _wanted(self, declared: SchemaElement, above: tuple[str, ...]) -> bool:
        missing = self.wanted.turn % 2 == 1  # the schemas of ebIX let a value stand, or that there is none
        told = {"EnergyQuantity": not missing, "QuantityMissing": missing}
        told |= {"EnergyPrice": self.wanted.full and not missing, "PriceMissing": self.wanted.full and missing}
        if declared.name in told:
            return told[declared.name]
        return declared.needed or self.wanted.full or self._kept(declared, above)

    def _kept(self, declared: SchemaElement, above: tuple[str, ...]) -> bool:
        """A message says something: it has its transactions, and a period its values."""
        if len(above) == 1 and declared.many and self.label not in ("Acknowledgement", "DK_Acknowledgement"):
            return True
        return declared.name in ("Point", "IntervalEnergyObservation", "Start")  # ebIX lets a period not begin

    def text(self, declared: SchemaElement, path: tuple[str, ...], position: int) -> str:
        """The text of a leaf."""
        name, above = path[-1], path[-2] if len(path) > 1 else ""
        start, end, _ = PERIODS[self.wanted.resolution]
        codes = [code for code in declared.codes if code]
        if name == "@codingScheme":
            return "NDK" if "Domain" in above or "Area" in above else "A10"
        if name == "@unit":
            return "AMP" if above == "ratedCurrent" else "KWT"
        told = self._header(name, above, path)
        if told is not None:
            return told
        if name.lower().endswith("position"):
            return str(position)
        if name in ("start", "Start", "start_DateAndOrTime.dateTime"):
            return _midnight(start, declared)
        if name in ("end", "End", "end_DateAndOrTime.dateTime"):
            return _midnight(end, declared)
        if name in ("resolution", "ResolutionDuration") or name.endswith("_Period.resolution"):
            return self.wanted.resolution
        if codes:
            return codes[self.wanted.turn % len(codes)]
        return self._plain(declared, name, path)

    def _header(self, name: str, above: str, path: tuple[str, ...]) -> str | None:
        if (len(path) == 2 and name == "type") or name == "DocumentType":
            return TYPES.get(self.label)
        if (len(path) == 2 and name == "process.processType") or name == "EnergyBusinessProcess":
            told = PROCESSES.get(self.label)
            return told[self.wanted.turn % len(told)] if told else None
        if (name.startswith("sender_") and name.endswith("mRID")) or ("SenderEnergyParty" in path and name[0] != "@"):
            return HUB
        if (name.startswith("receiver_") and name.endswith("mRID")) or (
            "RecipientEnergyParty" in path and name[0] != "@"
        ):
            return US
        return None

    def _plain(self, declared: SchemaElement, name: str, path: tuple[str, ...]) -> str:
        lower = "/".join(path[1:]).lower()
        if declared.type == "flag":
            return "true"
        if declared.type in ("number", "whole"):
            return "12" if declared.type == "whole" else "12.5"
        if declared.type == "instant" or lower.endswith("datetime") or name == "Creation":
            return "2026-03-02T09:30:47Z"
        if declared.type == "day":
            return "2026-03-02"
        if "participant" in lower or "party" in lower or ("supplier" in lower and "identification" in lower):
            return OTHER
        if "domain.mrid" in lower or "gridarea" in lower:
            return "244"
        if ("marketevaluationpoint" in lower and lower.endswith("mrid")) or "pointdomainlocation" in lower:
            return POINTS[self.count % 2]
        if name == "version":
            return "1"
        if "product" in lower:
            return "8716867000030"
        made = f"ID{self.count}"
        others = (made, "P1M", "--12-31", "2026-03-02", "1", "D01", "DK", "DKK")
        found = next((one for one in others if declared.allows(one)), None)
        assert found is not None, path
        return found


def _midnight(day: str, declared: SchemaElement) -> str:
    """The beginning of a day in the Danish winter: an hour before that of universal time."""
    before = date.fromisoformat(day) - timedelta(days=1)
    return f"{before}T23:00Z" if declared.name in ("start", "end") else f"{before}T23:00:00Z"


def _write(element: etree._Element, made: Made, space: str) -> None:
    element.text = made.text
    for name, value in made.attributes.items():
        element.set(name, value)
    for part in made.parts:
        _write(etree.SubElement(element, space + part.name), part, space)


def _plain(made: Made, within: str = "") -> Any:
    if made.text is not None:
        value: Any = made.text
        if made.declared.type == "flag":
            value = made.text == "true"
        elif made.declared.type == "whole":
            value = int(made.text)
        elif made.declared.type == "number":
            value = float(made.text)
        wrapped = made.attributes or _coded(made.declared) or (within, made.name) == ("Rejected_TimeSeries", "version")
        return {**made.attributes, "value": value} if wrapped else value
    held: dict[str, Any] = {}
    for part in made.parts:
        if part.declared.many:
            held.setdefault(part.name, []).append(_plain(part, made.name))
        else:
            held[part.name] = _plain(part, made.name)
    return held


def _coded(declared: SchemaElement) -> bool:
    """The schemas of JSON write a code as an object with its value, and some others too."""
    return bool(declared.codes) or declared.name in ("start", "end", "position", "price.amount")
