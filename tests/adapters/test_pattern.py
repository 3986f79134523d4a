"""Messages that an expression reads give what they give when they are read as trees, whatever the document holds."""

from __future__ import annotations

import importlib
import io
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from adapters.common.codes import Unreadable
from adapters.common.pattern import Pattern
from adapters.common.reading import read
from adapters.common.runs import Runs
from adapters.fr_enedis.types import FLUXES, FOLDER, Flux
from energycomm.kernel import safexml

module = importlib.import_module("adapters.fr_enedis.adapter")  # the package has an object of this name
FIXTURES = Path(__file__).parents[2] / "fixtures" / "fr"
FILES = {
    "c15_contract_change.xml": "C15",
    "c15_entries.xml": "C15",
    "c15_meter_change.xml": "C15",
    "c15_mistakes.xml": "C15",
    "c15_version_5.xml": "C15",
    "r151_daily.xml": "R151",
    "r151_rogue.xml": "R151",
    "r15_corrections.xml": "R15",
    "r17_corrected.xml": "R17",
    "r171_daily.xml": "R171",
    "r50_curve.xml": "R50",
    "f15_interest_detail.xml": "F15-detail",
    "f12_detail.xml": "F12-detail",
}
READ_AT_ONCE = [row for row in FLUXES if module._pattern(row.label) is not None]
VALUES = (
    "", " ", " 1 ", "-1", "+5", "1.5", "1e3", "007", "9" * 19, "2024-02-30", "2024-02-29", "0000-01-01",
    "2024-13-01", "2024-01-01T24:00:00Z", "2024-06-30T23:59:60Z", "2024-01-01T00:00:00+15:00", "2024-01-01T00:00:00",
    "true", "TRUE", "x" * 64, "x" * 65, "é" * 401, "a  b", "&amp;", "&#233;", "&#x7;", "<![CDATA[1]]>", "<!-- -->1",
    "1<?x y?>", "<a/>", "<b>1</b>", "\u00a0x\u00a0", "a\nb", "a\tb", "\ufffe", "]]&gt;", "]]>", "INCONNU", "\u0085",
)  # fmt: skip


def parts(label: str, document: bytes, *, trees: bool) -> list[Any]:
    """What the adapter makes of a document, with the refusal that ends it."""
    found: list[Any] = []
    member = module._Member(module.BY_LABEL[label])
    pattern = None if trees else module._pattern(label)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_pattern", lambda _: pattern)
        try:
            found.extend(member.parts(io.BytesIO(document)))
        except (Unreadable, safexml.Unreadable) as unreadable:
            found.append(unreadable.refusal)
    return found


def same(label: str, document: bytes) -> None:
    assert parts(label, document, trees=False) == parts(label, document, trees=True), document


def taken(label: str, document: bytes) -> int:
    """How many CH messages of a document are read at once."""
    row = module.BY_LABEL[label]
    pattern = module._pattern(label)
    assert pattern is not None
    runs = Runs(io.BytesIO(document), pattern)
    try:
        found = [runs.taken(element) for element in safexml.iterate(runs, row.piece)]
    except safexml.Unreadable:
        return -1
    return sum(len(run) for run in found if run)


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_messages_of_a_file_are_the_same_either_way(name: str) -> None:
    document = (FIXTURES / name).read_bytes()
    same(FILES[name], document)
    if name not in ("c15_mistakes.xml", "f12_detail.xml"):  # of an element of F12 no expression is made
        assert taken(FILES[name], document) == document.count(f"<{module.BY_LABEL[FILES[name]].piece}>".encode())


def test_the_published_samples_are_read_at_once(shared: Path) -> None:
    for name, label in (("r151.xml", "R151"), ("c15_avec_releves.xml", "C15")):
        document = (shared / "markets" / "fr" / "samples" / name).read_bytes()
        assert taken(label, document) == document.count(b"<PRM>") > 0
        same(label, document)


def _changed(text: str, chance: random.Random) -> Iterator[str]:
    """A document with another value in a leaf, or a leaf removed, doubled, moved, or written in another way."""
    leaves = list(re.finditer(r"[ \n]*<(\w+)>([^<]*)</\1>", text[text.index("</") :]))
    for value in VALUES:
        leaf = chance.choice(leaves)
        name = leaf[1]
        yield text.replace(leaf[0], f"<{name}>{value}</{name}>", 1)
    for _ in range(3):
        one, other = chance.choice(leaves), chance.choice(leaves)
        name = one[1]
        yield text.replace(one[0], "", 1)
        yield text.replace(one[0], one[0] * 2, 1)
        yield text.replace(one[0], f"<{name} a='1'>{one[2]}</{name}>", 1)
        yield text.replace(one[0], f"<{name}\n>{one[2]}</{name} >", 1)
        yield text.replace(one[0], f"<{name}/>", 1)
        yield text.replace(one[0], one[0] + "text", 1)
        yield text.replace(one[0], f"{one[0]}<Inconnu>1</Inconnu>", 1)
        yield text.replace(one[0], one[0] + other[0], 1)
        yield text.replace(one[0], other[0], 1).replace(other[0], one[0], 1)
        cut = chance.randrange(len(text))
        yield text[:cut]
        yield text[:cut] + text[cut + 1 :]


@pytest.mark.parametrize("name", sorted(FILES))
def test_whatever_stands_in_a_leaf_the_messages_and_refusals_are_the_same(name: str) -> None:
    text = (FIXTURES / name).read_text(encoding="utf-8")
    for changed in _changed(text, random.Random(name)):
        same(FILES[name], changed.encode("utf-8", "surrogatepass"))


PRM = re.compile(r"<PRM>.*?</PRM>", re.DOTALL)


def test_whatever_surrounds_the_messages_they_are_the_same() -> None:
    text = (FIXTURES / "r151_daily.xml").read_text(encoding="utf-8")
    found = PRM.search(text)
    assert found is not None
    piece = found[0]
    other = piece.replace("99000000000101", "99000000000999")
    for put in (
        f"<!-- {other} -->{piece}",
        f"<!-- > {piece}",
        f"<![CDATA[{other}]]>{piece}",
        f"<?x {other}?>{piece}",
        f"<PRM run='1'/>{other}{piece}",
        f"<x>{other}</x>{piece}",
        f"<x xmlns='urn:x'>{other}</x>{piece}",
        f"<x xmlns:y='urn:x'>{other}</x>{piece}",
        piece.replace("<PRM>", f"<PRM>{other}"),
        f"{piece}text{other}",
        f"{piece}\ufeff{other}",
        f"{piece}</R151>{other}",
        f"{piece}<PRM>{other}",
        f"{piece}</PRM>{other}",
        f"{piece}{other}<PRM><Id_PRM>1</Id_PRM>",
    ):
        same("R151", text.replace(piece, put, 1).encode())
    plain = re.sub(r"^<\?xml[^>]*>\s*(<!--.*?-->)?\s*", "", text, flags=re.DOTALL)
    for head, encoding in (
        ("", "utf-8"), ("\ufeff", "utf-8"), ("\n", "utf-8"), ("<!DOCTYPE R151>", "utf-8"),
        ("<?xml version='1.0'?>", "utf-8"), ("<?xml version='1.0' encoding='UTF-8'?>", "latin-1"),
        ("<?xml version='1.0' encoding='ISO-8859-1'?>", "latin-1"),
        ("<?xml version='1.0' encoding='UTF-16'?>", "utf-16"), ("", "utf-16"),
        ("<?xml version='1.1'?>", "utf-8"),
        ("<?xml version='1.0' encoding='EBCDIC'?>", "utf-8"),
        ("<?xml version='1.0' encoding='US-ASCII'?>", "utf-8"),
    ):  # fmt: skip
        same("R151", (head + plain).encode(encoding))
    same("R151", plain.replace("<R151>", "<R151 xmlns='urn:x'>").encode())
    same("R151", plain.replace("<R151>", "<Other>").replace("</R151>", "</Other>").encode())
    same("R151", plain.replace("<En_Tete_Flux>", f"{other}<En_Tete_Flux>").encode())
    same("R151", f"{plain}{other}".encode())
    same("R151", b"")


@pytest.mark.parametrize("copies", [400])
def test_a_long_document_is_the_same_and_damage_is_found_on_its_line(copies: int) -> None:
    text = (FIXTURES / "r151_daily.xml").read_text(encoding="utf-8")
    found = PRM.search(text)
    assert found is not None
    many = text.replace(found[0], "\n".join(found[0].replace("0101<", f"{n:04}<") for n in range(copies)), 1)
    assert taken("R151", many.encode()) >= copies
    same("R151", many.encode())
    same("R151", many.encode()[: len(many) // 2])
    (*_, refusal) = parts("R151", (many + "<x>").encode(), trees=False)
    assert f"line {many.count(chr(10)) + 1}," in refusal.value


NL = Path(__file__).parents[2] / "fixtures" / "nl"
P4 = "P4CollectedDataBatchResultResponse"
dutch = importlib.import_module("adapters.nl_edsn.adapter")


def _dutch(document: str, name: str = "p4.xml") -> list[Any]:
    """What the Dutch adapter makes of a document; it must be the same where nothing is read at once."""
    label = P4 if "<soap:" not in document else dutch.SOAP
    found = []
    for pattern in (dutch._pattern, lambda row: None):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(dutch, "_pattern", pattern)
            found.append(list(dutch.adapter.digest(label, io.BytesIO(document.encode("utf-8", "surrogatepass")), name)))
    assert found[0] == found[1], document
    return found[0]


@pytest.mark.parametrize("name", ["p4_day.xml", "p4_interval.xml"])
def test_dutch_readings_are_the_same_either_way(name: str) -> None:
    text = (NL / name).read_text(encoding="utf-8")
    pattern = dutch._pattern(dutch.adapter.rows[P4])
    assert pattern is not None
    runs = Runs(io.BytesIO(text.encode()), pattern, dutch.adapter.rows[P4].namespaces)
    taken = [runs.taken(element) for element in safexml.iterate(runs, "{*}P4MeteringPoint")]
    assert sum(len(run or ()) for run in taken) == text.count("<P4MeteringPoint>") > 0
    assert len(_dutch(text)) > 1
    for changed in _changed(text, random.Random(name)):
        _dutch(changed)


def test_whatever_namespace_stands_where_dutch_readings_are_the_same() -> None:
    text = (NL / "p4_day.xml").read_text(encoding="utf-8")
    root = re.search(rf"<{P4}Envelope([^>]*)>", text)
    assert root is not None
    declared = re.search(r'xmlns="([^"]*)"', root[1])
    assert declared is not None
    other = declared[1].replace(":2:", ":3:")
    for old, new in (
        (declared[0], f"xmlns='{declared[1]}' xmlns:y='urn:y'"), (declared[0], f'xmlns="{other}"'), (declared[0], ""),
        ("<P4MeteringPoint>", f"<P4MeteringPoint {declared[0]}>"), ("<P4Content>", f'<P4Content xmlns="{other}">'),
        ("<P4MeteringPoint>", '<P4MeteringPoint xmlns="urn:y">'), ("<P4Content>", "<P4Content xmlns=''>"),
        ("<P4Content>", f"<P4Content {declared[0]}>"), ("<EDSNBusiness", f"<!-- {declared[0]} --><EDSNBusiness"),
        ("<P4Content>", '<P4Content><x xmlns="urn:y"><P4MeteringPoint><EANID>1</EANID></P4MeteringPoint></x>'),
    ):  # fmt: skip
        assert old in text
        _dutch(text.replace(old, new, 1))
    body = text.partition(root[0])[2]
    soap = "http://schemas.xmlsoap.org/soap/envelope/"
    _dutch(f'<soap:Envelope xmlns:soap="{soap}"><soap:Body>{root[0]}{body}</soap:Body></soap:Envelope>')


def _values(pattern: Pattern) -> list[tuple[str, str]]:
    return sorted({(leaf.name, leaf.value) for leaf in pattern.leaves()})


@pytest.mark.parametrize("row", READ_AT_ONCE, ids=lambda row: row.label)
def test_the_schema_accepts_whatever_value_the_expression_matches(row: Flux) -> None:
    """Values are drawn from the expressions, and asked of libxml2 one by one."""
    declared = _leaf_schema(row)
    pattern = module._pattern(row.label)
    assert pattern is not None
    by_value = {value: name for name, value in _values(pattern) if name in declared}
    drawings = [st.tuples(st.just(name), st.from_regex(value, fullmatch=True)) for value, name in by_value.items()]

    @settings(max_examples=80, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(drawings))
    def drawn(leaf: tuple[str, str]) -> None:
        name, text = leaf
        element = etree.Element(name)
        try:
            element.text = text
        except ValueError:  # no character of XML: the walk looks for the two that an expression lets through
            assert re.search("[\ufffe\uffff\ud800-\udfff]", text)
            return
        assert any(schema.validate(element) for schema in declared[name]), text
        assert text == text.strip()

    drawn()


def _leaf_schema(row: Flux) -> dict[str, list[etree.XMLSchema]]:
    """Name of a leaf -> schemas in which it stands alone, one for each way in which the row's schema declares it."""
    xs = "{http://www.w3.org/2001/XMLSchema}"
    tree = etree.parse(row.schema.path)
    found: dict[str, list[etree.XMLSchema]] = {}
    seen = set()
    for element in tree.iter(f"{xs}element"):
        for attribute in ("minOccurs", "maxOccurs"):
            element.attrib.pop(attribute, "")
        source = etree.tostring(element).decode()
        if element.find(f".//{xs}complexType") is None and source not in seen and element.get("type") != "whatever":
            seen.add(source)
            document = (
                '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'
                f'<xs:include schemaLocation="{row.schema.path}"/>'
                f"<xs:element{source.strip()[len('<xs:element') :]}</xs:schema>"
            )
            try:
                found.setdefault(element.get("name", ""), []).append(etree.XMLSchema(etree.fromstring(document)))
            except etree.XMLSchemaParseError:
                continue
    return found


def test_an_expression_is_made_for_every_flux_whose_messages_are_read_plainly() -> None:
    plainly = {row.label for row in FLUXES if row.digester and row.digester.read is read and row.piece != row.root}
    assert {row.label for row in READ_AT_ONCE} == plainly


def test_a_schema_for_which_no_expression_is_made_is_told() -> None:
    with pytest.raises(ValueError, match="no element Nothing"):
        Pattern(FOLDER / "r151.xsd", "Nothing")
