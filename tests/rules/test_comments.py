"""The comments of the rules as people get them, built from the examples that fail, in both languages."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.comments import BuiltComment, built_comments
from energycomm.kernel.family import KINDS
from energycomm.kernel.vocabulary import FRENCH
from energycomm.market.installed import installed_adapters

UNITS = (("Wh", "kWh", "MWh", "GWh"), ("W", "kW", "MW"), ("VA", "kVA", "MVA"), ("dm3", "m3"))
"""Units of one quantity: a comment has numbers in one of each line."""

BOTH_LANGUAGES = {"change", "part", "second", "parent", "tariff", "index", "production", "correction", "rectification"}
"""Words of the Kernel that are French words too."""

INVARIABLE = {
    "hors",
    "après",
    "mois",
    "fois",
    "sous",
    "dans",
    "pas",
    "plus",
    "puis",
    "sans",
    "is",
    "has",
    "was",
    "does",
    "times",
    "less",
}
"""Words that may follow a number and end in -s, whatever the number."""


@pytest.fixture(scope="module")
def built(rules: Catalogue) -> list[BuiltComment]:
    return list(built_comments(rules, rules.rules))


def _wrong(built: list[BuiltComment], pattern: str, *, en: bool = True, fr: bool = True) -> list[str]:
    texts = [(one.error_code, text) for one in built for text, asked in ((one.en, en), (one.fr, fr)) if asked]
    return [f"{code}: {text}" for code, text in texts if re.search(pattern, text)]


def test_each_rule_that_judges_has_its_comment_built(rules: Catalogue, built: list[BuiltComment]) -> None:
    assert {one.rule for one in built} == {rule.code for rule in rules.rules if rule.judges}


def test_an_instant_has_one_notation_and_no_offset(built: list[BuiltComment]) -> None:
    """But in the hour that comes twice, which is 02 in these markets."""
    assert _wrong(built, r"\d-\d\dT\d\d|\d\d:\d\d ?Z|\bUTC\b|(?<! 02):\d\d(:\d\d)?[+-]\d\d:\d\d") == []


def test_a_comment_has_one_unit_of_each_quantity(built: list[BuiltComment]) -> None:
    for one in built:
        for text in (one.en, one.fr):
            shown = set(re.findall(r"\d ([A-Za-z]+\d?)\b", text))
            for units in UNITS:
                assert len(shown & set(units)) <= 1, f"{one.error_code}: {text}"


def test_a_comment_is_whole_sentences_without_open_places(built: list[BuiltComment]) -> None:
    assert _wrong(built, r"[{}|]|None|\bTrue\b|\bFalse\b|  ") == []
    assert _wrong(built, r"[^.]$") == []
    assert _wrong(built, r"^[a-zà-ÿ]") == []


def test_french_has_its_spaces_and_quotes(built: list[BuiltComment]) -> None:
    assert _wrong(built, r"[^\s\d][;:?!](\s|$)|\"|“|«\S|\S»", en=False) == []
    assert _wrong(built, r"\s[;:?!.,](\s|$)|«|»", fr=False) == []


def test_french_has_no_word_of_the_kernel_in_english(built: list[BuiltComment]) -> None:
    foreign = sorted(word for word, french in FRENCH.items() if word != french and word not in BOTH_LANGUAGES)
    assert _wrong(built, rf"(?<![\w'-])({'|'.join(foreign)})(?![\w-])", en=False) == []


def test_a_number_that_counts_brings_its_words_for_one_and_for_several(rules: Catalogue) -> None:
    """Also where no example counts one."""
    wrong = []
    for rule in rules.rules:
        for language, template in rule.comment.items():
            for terms in template.values.values():
                for term, words, after in zip(terms, template.counted, template.pieces[1:], strict=True):
                    follows = re.match(r" ([a-zà-ÿ]+s)\b", after)
                    if term.type.is_number and words is None and follows and follows[1] not in INVARIABLE:
                        wrong.append(f"{rule.error_code} {language}: {template.text}")
    assert sorted(set(wrong)) == []


def test_each_word_of_the_kernel_has_french_words() -> None:
    words = {word for kind in KINDS.values() for word in _words(kind, set())}
    assert {"connected", "in-service", "regularised"} <= words
    assert words - set(FRENCH) == set()


def _words(hint: Any, seen: set[Any]) -> Iterator[str]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        if hint not in seen:
            seen.add(hint)
            for inner in get_type_hints(hint).values():
                yield from _words(inner, seen)
    elif get_origin(hint) is Literal:
        yield from get_args(hint)
    elif get_origin(hint) in (tuple, list, Annotated) or isinstance(hint, types.UnionType) or get_args(hint):
        for inner in get_args(hint):
            yield from _words(inner, seen)


def test_the_rules_and_the_adapter_of_a_market_have_one_legal_time(rules: Catalogue) -> None:
    adapters = installed_adapters()
    for market in rules.markets:
        assert str(rules.zone(market)) == adapters[market].zone
