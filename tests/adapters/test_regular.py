"""What is read without asking the schema is what the schema and the walk through the table make of it, whatever a
document holds: the oracle is the way that asks libxml2."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from adapters.common import jsonform, tableadapter
from adapters.common.codes import Unreadable
from adapters.common.conformance.subject import sniff
from adapters.common.schemas import CLEAN, Findings, Schema
from adapters.common.simpletypes import SimpleTypes
from adapters.dk_energinet import adapter
from tests.adapters.danish import LABELS, PERIODS, Wanted, message, schemas, spoiled

FIXTURES = Path(__file__).parents[2] / "fixtures" / "dk"
SCHEMAS = Path(__file__).parents[2] / "adapters" / "dk_energinet" / "schemas"
FILES = sorted(path for path in FIXTURES.glob("*.*") if not path.name.endswith("_sent.xml"))
VALUES = (
    "", " ", " 1 ", "1", "0", "-1", "+5", "1.5", ".5", "1.", "1e3", "007", "-0", "-0.0", "9" * 9, "9" * 10, "9" * 19,
    "999999", "1000000", "0." + "1" * 13, "2024-02-30", "2024-02-29", "0000-01-01", "2024-13-01",
    "2024-01-01T24:00:00Z",
    "2024-06-30T23:59:60Z", "2024-01-01T00:00:00+15:00", "2024-01-01T00:00:00", "2024-01-01T00:00Z", "2024-1-1T00:00Z",
    "true", "TRUE", "x" * 16, "x" * 17, "x" * 36, "x" * 37, "é" * 400, "é" * 401, "a  b", "a & b", "a < b", "P", "PT",
    "PT1H", "PT15M", "P1M", "P1Y2M3DT4H5M", "-P1D", "P1S", "P1DT", "--02-29", "--02-30", "--12-31", "DK", "dk", "D03",
    "\u00a0x\u00a0", "a\nb", "a\tb", "\u0085", "\u0661", "A01 ", "A 01",
)  # fmt: skip
STRANGE = ("a\x07b", "\ufffe", "\ud800", "\x1fA01\x1f")
"""Texts that JSON can say and XML cannot."""


def parts(label: str, content: bytes, name: str) -> list[Any]:
    """What the adapter makes of a document, with the refusal that ends it."""
    return list(adapter.digest(label, io.BytesIO(content), name))


def same(label: str, content: bytes, name: str) -> None:
    """Refusals, notes, identities, messages with their particulars: all is equal."""
    found = parts(label, content, name)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tableadapter._Member, "_content", lambda self, path: None)
        patched.setattr(jsonform, "_decoded", lambda data: None)
        asked = parts(label, content, name)
    assert found == asked, content
    assert repr(found) == repr(asked), content


def documents(shared: Path, wanted: Wanted, *, of: str) -> Iterator[tuple[str, bytes, str]]:
    """The adapter's label of a document of the hub, the document in each of its forms, and a name for it."""
    for schema in schemas(shared, of):
        made = message(schema.declared, wanted)
        content = made.xml() if schema.form == "xml" else made.json()
        label = adapter.dispatch(sniff(f"message.{schema.form}", content))
        assert isinstance(label, str)
        yield label, content, f"message.{schema.form}"


@pytest.mark.parametrize("of", LABELS)
def test_a_right_document_is_read_as_by_its_schema(of: str, shared: Path) -> None:
    for number, step in enumerate(PERIODS, start=1):
        for label, content, name in documents(shared, Wanted(number > 1, number, step, number), of=of):
            same(label, content, name)


def test_right_documents_are_read_without_asking_their_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def check(schema: Schema, element: etree._Element) -> Findings:
        asked.append(f"{schema.path.stem} about {element.tag!s}")
        return CLEAN

    monkeypatch.setattr(Schema, "check", check)
    right = 0
    for path in FILES:
        label = adapter.dispatch(sniff(path.name, path.read_bytes()))
        assert isinstance(label, str)
        found = parts(label, path.read_bytes(), path.name)
        if () in adapter.table.documents[label].pieces or any(one.refusals for one in found[1:]):
            asked.clear()  # a document that is one CH message, or one with mistakes: the walk reads it
        elif not any(one.notes for one in found):
            right += 1
        assert asked == []
    assert right >= 20


@pytest.mark.parametrize("of", LABELS)
def test_a_document_with_one_change_is_judged_as_by_its_schema(of: str, shared: Path) -> None:
    some = random.Random(of)
    for label, content, name in documents(shared, Wanted(full=True, resolution="P1M"), of=of):
        for _, changed in some.sample(list(spoiled(content)), 60):
            same(label, changed, name)


@pytest.mark.thorough
@pytest.mark.parametrize("of", LABELS)
def test_a_document_with_any_change_is_judged_as_by_its_schema(of: str, shared: Path) -> None:
    for label, content, name in documents(shared, Wanted(full=True, pieces=2, resolution="P1M"), of=of):
        for _, changed in spoiled(content):
            same(label, changed, name)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_any_values_and_any_order_are_judged_as_by_the_schema(path: Path, seed: int) -> None:
    some, content = random.Random(seed), path.read_bytes()
    label = adapter.dispatch(sniff(path.name, content))
    if isinstance(label, str):
        change = _changed_json if path.suffix == ".json" else _changed_xml
        same(label, change(content, some), path.name)


def _changed_xml(content: bytes, some: random.Random) -> bytes:
    root = etree.fromstring(content)
    elements = list(root.iter(etree.Element))
    for _ in range(some.randrange(1, 4)):
        one = some.choice(elements[1:])
        above = one.getparent()
        what = some.randrange(9)
        if what < 4 and not len(one):
            one.text = some.choice(VALUES).replace("\x1f", " ")
        elif what == 4:
            one.tail = some.choice(("\n  ", "x", "\u00a0", None))
        elif what == 5:
            one.append(some.choice((etree.Comment("x"), etree.ProcessingInstruction("x", "y"), etree.Element("x"))))
        elif what == 6:
            one.set(some.choice(("codingScheme", "unit", "{urn:x}y")), some.choice(("A10", "NDK", "9", "A1 ", "")))
        elif what == 7 and above is not None:
            above.insert(some.randrange(len(above) + 1), one)
        elif above is not None and some.random() < 0.5:
            above.remove(one)
    if some.random() < 0.3:
        etree.indent(root)
    return etree.tostring(root, encoding="UTF-8")


def _changed_json(content: bytes, some: random.Random) -> bytes:
    whole = json.loads(content, parse_float=lambda text: Decimal(text) if some.random() < 0.9 else text)
    for _ in range(some.randrange(1, 4)):
        held: Any = next(iter(whole.values()))
        for _ in range(some.randrange(1, 7)):
            inner = held.get(some.choice(list(held))) if isinstance(held, dict) and held else None
            inner = some.choice(inner) if isinstance(inner, list) and inner else inner
            if not isinstance(inner, dict) or not inner:
                break
            held = inner
        if not held:
            continue
        name = some.choice(list(held))
        other: Any = some.choice(
            (*VALUES, *STRANGE, 1, 0, -3, True, None, [], {}, Decimal("1E+2"), Decimal("0.250"), 10**12)
        )
        what = some.randrange(5)
        if what == 0:
            del held[name]
        elif what == 1:
            held[some.choice(("value", "codingScheme", "strange"))] = other
        elif what == 2:
            held[name] = [held[name]] if some.random() < 0.5 else {"value": held[name]}
        elif what == 3:
            held[name] = held.pop(name)
        else:
            held[name] = other
    text = re.sub(r'"<([^"<>]*)>"', r"\1", json.dumps(whole, default=lambda number: f"<{number}>"))
    if some.random() < 0.2:
        text = text.replace('"value":', '"value": "A10", "value":', some.randrange(3))
    return text.encode()


@pytest.mark.parametrize(
    "path", sorted(path for path in SCHEMAS.glob("*.xsd") if path.stem != "codes"), ids=lambda path: path.stem
)
def test_no_type_takes_a_value_that_its_schema_refuses(path: Path) -> None:
    tree = etree.parse(path)
    used = {name for one in tree.iter() for name in (one.get("type"), one.get("base")) if name}
    types = SimpleTypes(path)
    known = 0
    for name in sorted(used):
        takes = types.takes(name)
        if takes is None:
            continue
        known += 1
        codes = [one.get("value", "") for one in _type(path, name).iter("{*}enumeration")]
        validates = _validator(path, name)
        for value in (*VALUES, *STRANGE, *codes):
            text = value.strip()
            if text and takes(text):
                element = etree.Element("value")
                element.text = text
                assert validates(element), (name, text)
        assert all(takes(code) for code in codes)
    assert known >= len(used) * 0.8


def _type(path: Path, name: str) -> etree._Element:
    """The declaration of a type; an empty element for one of XML Schema itself."""
    for file in (path, path.with_name("codes.xsd")):
        for found in etree.parse(file).iter("{*}simpleType"):
            if found.get("name") == name.rpartition(":")[2] and not name.startswith("xs:"):
                return found
    return etree.Element("none")


def _validator(path: Path, name: str) -> Any:
    kind = name if name.startswith("xs:") else "value"
    wrapper = etree.fromstring(
        f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="value" type="{kind}"/></xs:schema>'
    )
    if kind == "value":
        declared = etree.fromstring(etree.tostring(_type(path, name)))
        declared.set("name", "value")
        wrapper.append(declared)
    return etree.XMLSchema(wrapper).validate


KEYS = st.sampled_from(("a", "b", 'c"', "d:"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False).map(str) | st.text()
    | st.sampled_from(('":', "{", "[]", "\\", ": ")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(whole=JSON, seed=st.integers(0, 2**32))
def test_a_small_document_is_decoded_as_it_is_read_piece_by_piece(whole: Any, seed: int) -> None:
    some = random.Random(seed)
    text = json.dumps({"r": whole}, ensure_ascii=some.random() < 0.5, indent=some.choice((None, 1)))
    for _ in range(some.randrange(3)):  # keys that stand twice, signs that are too many
        at = some.randrange(len(text) + 1)
        text = (
            text[:at] + some.choice(('"a":', "{", "}", "[", "]", ",", "1", "0", ".", "e", " ", "\n", "\t")) + text[at:]
        )
    text = text.replace('"b"', '"a"') if some.random() < 0.3 else text
    data = text.encode("utf-8", "surrogatepass")
    every: list[list[tuple[str, ...]]] = [[()], [("r",)], [("r", "a")], [("r", "a"), ("r", "b", "a")]]
    for pieces in every:
        quick, slow = _split(data, pieces), _split(data, pieces, piecewise=True)
        assert repr(quick) == repr(slow), data


@pytest.mark.parametrize("depth", [1, 49, 50, 51, 99, 100, 101, 199, 200, 201, 400])
def test_a_document_may_be_as_deep_as_before(depth: int) -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        data = ('{"a":' + opening * depth + "1" + closing * depth + "}").encode()
        assert _split(data, [("b",)]) == _split(data, [("b",)], piecewise=True)


def _split(data: bytes, pieces: list[tuple[str, ...]], *, piecewise: bool = False) -> list[Any]:
    found: list[Any] = []
    with pytest.MonkeyPatch.context() as patched:
        if piecewise:
            patched.setattr(jsonform, "_decoded", lambda data: None)
        try:
            found.extend(jsonform.split(io.BytesIO(data), pieces))
        except (Unreadable, UnicodeDecodeError) as wrong:
            found = [wrong.refusal if isinstance(wrong, Unreadable) else "no UTF-8"]
    return found
