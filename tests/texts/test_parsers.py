"""What the parsers of XML and JSON say of a broken document is told in French and Dutch, with the place."""

from __future__ import annotations

import re
from collections.abc import Iterator

import ijson
import pytest

from energycomm.kernel.codec import decode_json
from energycomm.kernel.safexml import parse_bytes
from energycomm.kernel.verdicts import Refusal
from energycomm.texts.catalogues import translate_sentence
from energycomm.texts.parsers import is_saying

XML = (
    *(b"<a><b></a>", b"<a/><b/>", b"<a b></a>", b"<a b=1/>", b"<a b='1' b='2'/>", b"<a>&x;</a>", b"<a>& b</a>"),
    *(b"<a>&#0;</a>", b"<a>\x01</a>", b"<a>\xe9</a>", b"abc", b"<1/>", b"<a", b"<a>", b"<x:a/>", b"<a x:b='1'/>"),
    *(b" <?xml version='1.0'?><a/>", b"<?xml version='1.0'><a/>", b"<?xml version='1.0' encoding='nope'?><a/>"),
    *(b"<a><!-- -- --></a>", b"<a><!-- </a>", b"<a><![CDATA[x</a>", b"<a>]]></a>", b"<a b='<'/>", b"<a b='1'c='2'/>"),
    *(b"<a b='1/>", b"<?xml version='9.9'?><a/>", b"<a></a b>", b"<a xmlns:x='' />", b"<a>&amp</a>", b"<a\n b='1'"),
)
JSON = (
    *(b"{", b"{a}", b'{"a":1,}', b"[1,]", b'{"a" 1}', b'{"a":01}', b'{"a":"\\x"}', b'{"a":1}}', b"nul", b"\xff"),
    *(b'{"a":"\n"}', b'{"a":1e}', b'{"a":1.}', b'{"a":-}', b"[1 2]", b'{"kind":5}', b'{"kind":"X"}', b'{"a":"\xff"}'),
    *(b'{"kind":"MeterReading"}', b'{"kind":"EndOfSupply","market":7}'),
)
ENGLISH = re.compile(r"\b(the|not|found|expected|defined|allowed|invalid|line|error|missing|got|needed|finished)\b")


def said() -> Iterator[str]:
    for content in XML:
        refusal = parse_bytes(content)
        assert isinstance(refusal, Refusal)
        assert refusal.value, content
        yield refusal.value
    for content in JSON:
        refused = decode_json(content)
        assert isinstance(refused, Refusal)
        yield refused.value or refused.expected or ""
        try:
            list(ijson.basic_parse(content))
        except ijson.JSONError as error:
            words = error.args[0]
            yield (words.decode("utf-8", "replace") if isinstance(words, bytes) else words).split("\n")[0].strip()


@pytest.mark.parametrize("language", ["fr", "nl"])
def test_what_a_parser_says_is_told_in_the_readers_words(language: str) -> None:
    left = {}
    for sentence in said():
        told = translate_sentence(sentence, language)
        assert is_saying(sentence), sentence
        if told == sentence or ENGLISH.search(re.sub(r"`[^`]*`|'[^']*'", "", told)):
            left[sentence] = told
    assert left == {}


def test_the_place_and_the_names_stay() -> None:
    sentence = "line 2, column 8: Opening and ending tag mismatch: b line 2 and a"
    assert translate_sentence(sentence, "fr") == (
        "ligne 2, colonne 8 : les balises de début et de fin diffèrent : b à la ligne 2 et a"
    )
    reason = "XML_SYNTAX at m.xml: found 'line 1, column 5: Blank needed here', expected well-formed XML"
    assert "regel 1, kolom 5: hier is een spatie nodig" in translate_sentence(reason, "nl")


@pytest.mark.parametrize("value", ["12", "2025-01-31", "accepted", "Rue du Moulin 3", "FR-R06"])
def test_what_a_market_wrote_is_no_saying_of_a_parser(value: str) -> None:
    assert not is_saying(value)
