"""What a question names: codes, kinds, markets, states, days, numbers of messages, resolved against the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from msgspec import Struct

from assistant.knowledge.language import detect
from assistant.operations.catalogue import plain
from assistant.operations.days import Days, days_of
from assistant.operations.vocabulary import Match, matches, rest_of, tokens_of
from energycomm.engine.catalogue import Catalogue
from energycomm.kernel.family import KINDS

LONGEST = 400
"""Letters of a question that is worked out; a longer one is a text to look passages up for."""

_ERROR_CODE = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{2})[-_ ]?([A-Za-z])[-_ ]?(\d{2})(?![A-Za-z0-9])")
_WORD = re.compile(r"(?<![\w-])[A-Za-z0-9][\w.-]*[A-Za-z0-9](?![\w-])|(?<![\w-])\w(?![\w-])")
_MESSAGE = re.compile(
    r"(?i)\b(?:kernel[ -]?)?(?:message|bericht)\s*(?:number|no\.?|nr\.?|n°|nº|num[ée]ro|nummer|id|#)?\s*#?(\d{1,18})\b"
    r"|(?<!\w)#(\d{1,18})\b"
)
_ENVELOPE = re.compile(
    r"(?i)\b(?:envelope|enveloppe|envelop)\s*(?:number|no\.?|nr\.?|n°|nummer|id|#)?\s*#?(\d{1,18})\b"
)
_POINT = re.compile(r"(?<![\d#])(\d{12,18})(?!\d)")
_GATEWAY_CODE = re.compile(r"\b[A-Z]{2,10}(?:_[A-Z0-9]+)+\b")
_EXIT = re.compile(
    r"(?i)\b(?:exit|return)[ -]?(?:code|status)\s*(\d{1,3})\b|\bcode\s+de\s+(?:sortie|retour)\s*(\d{1,3})\b"
    r"|\b(?:exit|afsluit)-?code\s*(\d{1,3})\b"
)
_VERSION = re.compile(r"(?<![\w-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,64}(?![\w-])")
_PREFIX = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{2}-[A-Za-z])(?![\w-]|\d)")


_MARKET = re.compile(r"(?<![\w-])(FR|NL|BE)(?![\w-])")
_COUNTRY = {"fr": "france", "nl": "nederland", "be": "belgium"}
_LIST_WORDS = frozenset(
    ("list", "lists", "liste", "listes", "lijst", "lijsten", "codelijst", "codelist", "code", "codes")
)


class Lexicon(Struct, frozen=True):
    """Names that only the catalogue and the documentation know, each in small letters -> as it is written.

    Attributes:
      rules: codes of rules.
      ebix: ebIX reasons.
      types: message types of the markets.
      lists: code lists.
      codes: codes of lists.
      repairs: correction scripts.
      settings, commands, glossary: of the documentation.
      fields: that rules point at.
    """

    rules: Mapping[str, str]
    ebix: Mapping[str, str]
    types: Mapping[str, str]
    lists: Mapping[str, str]
    codes: Mapping[str, str]
    repairs: Mapping[str, str]
    settings: Mapping[str, str]
    commands: Mapping[str, str]
    glossary: Mapping[str, str]
    fields: Mapping[str, str]


def lexicon_of(
    catalogue: Catalogue,
    types: Iterable[str] = (),
    settings: Iterable[str] = (),
    commands: Iterable[str] = (),
    glossary: Iterable[str] = (),
) -> Lexicon:
    """The names of a catalogue."""

    def named(words: Iterable[str | None]) -> dict[str, str]:
        return {word.lower(): word for word in words if word}

    rules, entries = catalogue.rules, catalogue.codes.entries
    known = {*types, *(entry.code for entry in entries if entry.list in ("flow", "message"))}
    return Lexicon(
        rules=named([one for rule in rules for one in (rule.code, rule.error_code, rule.market_code)]),
        ebix=named(rule.ebix for rule in rules),
        types=named(known),
        lists=named(entry.list for entry in entries),
        codes=named(entry.code for entry in entries),
        repairs=named(name for rule in rules for name in rule.repair),
        settings=named(settings),
        commands=named(commands),
        glossary=named(glossary),
        fields=named(one for rule in rules for one in (rule.field, rule.field.rpartition(".")[2])),
    )


class Understood(Struct, kw_only=True):
    """A question, taken apart.

    Attributes:
      text: as it was asked.
      language: en, fr or nl.
      tokens: its words; what was recognised by its form is §.
      found: phrases of the vocabulary.
      rest: words that carry meaning and stand for nothing known.
      codes: error codes and codes of rules.
      unknown: what looks like an error code and is none.
      prefixes: beginnings of error codes: FR-R.
      ebix, types, lists, listed, repairs, kinds: names of the catalogue; `listed` are codes of lists.
      gateway: codes of the gateway: ENV_NO_KEY.
      settings, glossary, commands: names of the documentation.
      message, envelope, exit_code: numbers.
      point: an access point.
      versions: hashes of rules.
      days: the days that are named.
    """

    text: str
    language: str
    tokens: list[str] = []
    found: list[Match] = []
    rest: tuple[str, ...] = ()
    codes: list[str] = []
    unknown: list[str] = []
    prefixes: list[str] = []
    ebix: list[str] = []
    types: list[str] = []
    lists: list[str] = []
    listed: list[str] = []
    repairs: list[str] = []
    kinds: list[str] = []
    fields: list[str] = []
    gateway: list[str] = []
    settings: list[str] = []
    glossary: list[str] = []
    commands: list[str] = []
    message: int | None = None
    envelope: int | None = None
    exit_code: str | None = None
    point: str | None = None
    versions: list[str] = []
    days: Days = Days()

    def values(self, slot: str) -> list[str]:
        """The values of a slot in the order in which the question has them, each once."""
        return list(dict.fromkeys(one.value for one in self.found if one.slot == slot))

    def has(self, slot: str, *values: str) -> bool:
        """Whether the question has one of these values of a slot, or any."""
        there = self.values(slot)
        return any(value in there for value in values) if values else bool(there)

    def at(self, slot: str, value: str) -> int:
        """The place of the first phrase for a value; far behind where there is none."""
        return min((one.start for one in self.found if (one.slot, one.value) == (slot, value)), default=10_000)

    def starts(self, *words: str) -> bool:
        """Whether the question begins with one of these words."""
        return bool(self.tokens) and self.tokens[0] in words


def understand(question: str, lexicon: Lexicon, today: date) -> Understood | None:
    """Take a question apart; None where it is empty or too long for one.

    Args:
      question: the question.
      lexicon: names of the catalogue and the documentation.
      today: the day it is asked.
    """
    text = " ".join(question.split())
    if not text or len(text) > LONGEST or not any(letter.isalpha() for letter in text):
        return None
    got = Understood(text=text, language="en")
    left = _numbers(got, text)
    left = _names(got, left, lexicon)
    # Codes are of no language: the BE of BE-P01 is no English word.
    spoken = detect(left)
    got.language = spoken if spoken in ("fr", "nl") else "en"
    periods = [one.value for one in matches(tokens_of(left)) if one.slot == "period"]
    got.days, left = days_of(left, periods[0] if periods else None, today, day_first=got.language != "en")
    got.tokens = tokens_of(left)
    got.found = _apart(matches(got.tokens))
    _find_list(got, lexicon)
    got.glossary = _longest(got.tokens, lexicon.glossary)
    got.commands = _longest(got.tokens, lexicon.commands)
    got.kinds = list(dict.fromkeys([*got.kinds, *got.values("kind")]))
    got.rest = rest_of(got.tokens, got.found)
    return got


def _find_list(got: Understood, lexicon: Lexicon) -> None:
    """The name of a code list beside the word for it: the list of metering methods is `metering_method`."""
    tokens, small = got.tokens, ("of", "de", "des", "du", "d", "la", "le", "les", "van", "the", "voor", "named")
    for at, token in enumerate(tokens):
        if got.lists or token not in _LIST_WORDS:
            continue
        after = at + 1
        while after < len(tokens) and (tokens[after] in small or tokens[after] in _LIST_WORDS):
            after += 1
        for start, end in [(after, after + n) for n in (3, 2, 1)] + [(at - n, at) for n in (3, 2, 1)]:
            # Beside the word `code` alone only a name in front is meant: event codes.
            if token in ("code", "codes") and start > at and "list" not in " ".join(tokens[max(0, at - 2) : after]):
                continue
            words = tokens[max(0, start) : end]
            for name in ("_".join(words), "_".join(words).removesuffix("s")):
                if start >= 0 and words and len(words) == end - start and name in lexicon.lists and not got.lists:
                    got.lists.append(lexicon.lists[name])
                    got.found = [one for one in got.found if one.end <= start or one.start >= end]
                    got.tokens[start:end] = ["§"] * (end - start)


def _longest(tokens: list[str], names: Mapping[str, str]) -> list[str]:
    """The longest name whose words stand one after the other."""
    text = f" {' '.join(tokens)} "
    found = [name for low, name in names.items() if f" {' '.join(tokens_of(low))} " in text]
    return sorted(found, key=len)[-1:]


def _numbers(got: Understood, text: str) -> str:
    """What is recognised by its form alone, taken out of the text."""

    def taken(pattern: re.Pattern[str], left: str) -> tuple[list[str], str]:
        there = [next(group for group in (*found.groups(), found.group()) if group) for found in pattern.finditer(left)]
        return there, pattern.sub(" § ", left) if there else left

    exits, left = taken(_EXIT, text)
    got.exit_code = exits[0] if exits else None
    points, left = taken(_POINT, left)
    got.point = points[0] if points else None
    envelopes, left = taken(_ENVELOPE, left)
    if envelopes:
        got.envelope = int(envelopes[0])
        left += " envelope"
    numbers, left = taken(_MESSAGE, left)
    got.message = int(numbers[0]) if numbers else None
    got.gateway, left = taken(_GATEWAY_CODE, left)
    return left


def _names(got: Understood, text: str, lexicon: Lexicon) -> str:
    """Names that the catalogue knows, taken out of the text."""

    def code(found: re.Match[str]) -> str:
        name = f"{found[1]}-{found[2]}{found[3]}".upper()
        if name.lower() in lexicon.rules:
            got.codes.append(name)
        elif "-" in found.group() or "_" in found.group():
            got.unknown.append(name)
        else:
            return found.group()
        return " § "

    def prefix(found: re.Match[str]) -> str:
        wanted = found[1].lower()
        if any(name.startswith(wanted) and name[len(wanted) : len(wanted) + 1].isdigit() for name in lexicon.rules):
            got.prefixes.append(found[1].upper())
            return " § "
        return found.group()

    def market(found: re.Match[str]) -> str:
        name = found[1].lower()
        return f" {_COUNTRY[name]} " if name in _COUNTRY else found.group()

    kinds = {name.lower(): name for name in KINDS}
    places: list[tuple[Mapping[str, str], list[str]]] = [
        (kinds, got.kinds), (lexicon.types, got.types), (lexicon.ebix, got.ebix),
    ]  # fmt: skip
    written: list[tuple[Mapping[str, str], list[str]]] = [
        (lexicon.rules, got.codes), (lexicon.lists, got.lists), (lexicon.repairs, got.repairs),
        (lexicon.settings, got.settings), (lexicon.fields, got.fields),
    ]  # fmt: skip

    def name(found: re.Match[str]) -> str:
        word, low = found.group(), found.group().lower()
        code_like = any(letter.isdigit() for letter in word) or word[1:] != word[1:].lower()
        joined = "_" in word or "-" in word or "." in word
        hit = False
        for known, kept in places if code_like or word[0].isupper() else ():
            if low in known and (code_like or known is kinds) and not word.isdigit():
                kept.append(known[low])
                hit = True
        for known, kept in written if joined or "`" in text else ():
            if low in known:
                kept.append(known[low])
                hit = True
        if low in lexicon.codes and (code_like or word.isupper()) and not word.isdigit():
            got.listed.append(lexicon.codes[low])
            hit = hit or len(word) > 2
        if not hit and _VERSION.fullmatch(word):
            got.versions.append(word)
            hit = True
        return " § " if hit else word

    text = _ERROR_CODE.sub(code, text)
    text = _MARKET.sub(market, text)
    text = _PREFIX.sub(prefix, text)
    return _WORD.sub(name, text)


def _apart(found: list[Match]) -> list[Match]:
    """A word of a longer name is not what it is alone: the list of `code list`, the request of `switch request`."""
    names = [one for one in found if one.slot in ("kind", "subject", "thing", "missing", "class")]

    def inside(one: Match) -> bool:
        return any(
            other.start <= one.start and one.end <= other.end and other.end - other.start > one.end - one.start
            for other in names
        )

    weak = ("thing", "subject", "kind", "intent", "state", "class", "group", "field", "missing", "severity")
    return [one for one in found if one.slot not in weak or not inside(one)]


def as_word(text: str) -> str:
    """A word as it is compared."""
    return plain(text)


def said(understood: Understood) -> dict[str, Any]:
    """What was recognised, for those who want to see it."""
    names = ("codes", "unknown", "prefixes", "ebix", "types", "lists", "listed", "kinds", "gateway", "versions")
    told: dict[str, Any] = {name: value for name in names if (value := getattr(understood, name))}
    slots = {one.slot for one in understood.found} - {"filler"}
    told.update({slot: understood.values(slot) for slot in sorted(slots)})
    if understood.rest:
        told["rest"] = list(understood.rest)
    return told
