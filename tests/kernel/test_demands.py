"""What a schema demands is said in words of ours, whichever of the two parsers refused."""

from __future__ import annotations

import re

import pytest
import xmlschema
from lxml import etree

from energycomm.kernel.check import explain
from energycomm.kernel.codec import encode
from energycomm.kernel.demands import OTHERWISE, demanded
from energycomm.texts.catalogues import translate_sentence
from tests.pipeline.story import day, reading

XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
FACETS = (
    ("xs:string", "pattern", "[0-9]{4}", "ab"),
    ("xs:string", "minLength", "3", "ab"),
    ("xs:string", "maxLength", "1", "ab"),
    ("xs:string", "length", "5", "ab"),
    ("xs:decimal", "minInclusive", "10", "9"),
    ("xs:decimal", "maxInclusive", "10", "11"),
    ("xs:decimal", "minExclusive", "10", "10"),
    ("xs:decimal", "maxExclusive", "10", "10"),
    ("xs:decimal", "totalDigits", "2", "123"),
    ("xs:decimal", "fractionDigits", "1", "1.23"),
)
CONTENT = f"""<xs:schema {XS}><xs:element name="a"><xs:complexType><xs:sequence>
<xs:element name="b" type="xs:int"/><xs:element name="c" type="xs:date" maxOccurs="2"/>
</xs:sequence><xs:attribute name="k" use="required"/></xs:complexType></xs:element></xs:schema>"""
WHOLE = '<a k="1"><b>1</b><c>2025-01-01</c></a>'
DOCUMENTS = (
    (WHOLE.replace("<b>", "t<b>"), "no text between elements"),
    (WHOLE.replace(' k="1"', ""), "the attribute k"),
    (WHOLE.replace("<b>1</b>", ""), "the element b"),
    (WHOLE.replace("<c>2025-01-01</c>", ""), "the element c"),
    (WHOLE.replace("<b>1</b>", "<b><d/></b>"), "a value and no elements"),
    (WHOLE.replace("</a>", "<c>2025-01-02</c><c>2025-01-03</c></a>"), "no further element here"),
)
ENGLISH = re.compile(r"\b(the|of|at|least|most|value|text|that|not|element|allowed|length)\b")


def said(schema: str, document: str) -> list[str]:
    """The first sentence of each parser."""
    root, compiled = etree.fromstring(document), etree.XMLSchema(etree.fromstring(schema))
    assert not compiled.validate(root)
    others = [str(one.reason) for one in xmlschema.XMLSchema(schema).iter_errors(root)]
    log: list[etree._LogEntry] = list(compiled.error_log)  # type: ignore[call-overload]
    return [str(log[0].message), others[0]]


@pytest.mark.parametrize(("base", "facet", "bound", "value"), FACETS, ids=[facet for _, facet, _, _ in FACETS])
def test_the_bound_of_a_facet_is_told_in_every_language(base: str, facet: str, bound: str, value: str) -> None:
    restricted = f'<xs:restriction base="{base}"><xs:{facet} value="{bound}"/></xs:restriction>'
    declared = f'<xs:element name="a"><xs:simpleType>{restricted}</xs:simpleType></xs:element>'
    schema = f"<xs:schema {XS}>{declared}</xs:schema>"
    told = {demanded(sentence) for sentence in said(schema, f"<a>{value}</a>")}
    (english,) = told
    for language in ("fr", "nl"):
        words = translate_sentence(english, language)
        assert bound in words
        assert not ENGLISH.search(words)


@pytest.mark.parametrize(("document", "words"), DOCUMENTS)
def test_the_content_that_is_demanded_is_told(document: str, words: str) -> None:
    assert [demanded(sentence) for sentence in said(CONTENT, document)] == [words, words]
    assert not ENGLISH.search(translate_sentence(words, "fr"))


def test_a_sentence_that_nobody_knows_stays_a_detail() -> None:
    (message,) = reading("99000000000017", day(1), 1200).messages
    text, empty = explain(encode(message).replace("<register", "x<register", 1)), demanded("Quite another sentence.")
    assert [one.expected for one in text] == ["no text between elements"]
    assert "character data" in str(text[0].value)
    assert empty == OTHERWISE
