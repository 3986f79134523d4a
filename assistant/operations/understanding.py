"""What a question names: codes, kinds, markets, states, days, numbers of messages, resolved against the catalogue."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from functools import cache, partial
from typing import Any, get_args

from msgspec import Struct

from assistant.knowledge.language import SMALL_WORDS, detect, is_question_word
from assistant.knowledge.scrubbing import METER, NUMBER_WORDS
from assistant.operations.days import DAY_MARK, Days, days_of
from assistant.operations.paraphrases import rephrased
from assistant.operations.plaintext import plain
from assistant.operations.vocabulary import Match, english, language_of, matches, meant, tokens_of
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.codes import COMMON
from energycomm.engine.rule import Rule, RuleSet
from energycomm.kernel.family import KINDS
from energycomm.kernel.verdicts import ErrorClass

LONGEST = 400
"""Letters of a question that is worked out; a longer one is a text to look passages up for."""

_ERROR_CODE = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{2})[-_ ]?([A-Za-z])[-_ ]?(\d{2})(?![A-Za-z0-9])")
_WORD = re.compile(r"(?<![\w-])[A-Za-z0-9][\w.-]*[A-Za-z0-9](?![\w-])|(?<![\w-])\w(?![\w-])")
_MESSAGE = re.compile(
    r"(?i)\b(?:kernel[ -]?)?(?:message|bericht|msg|record|enregistrement)(?:\s*,(?=\s*n))?\s*"
    r"(?:number|no\.?|nr\.?|n°|nº|num[ée]ro|nummer|id|#)?\s*#?(\d{1,18})\b|(?<!\w)#(\d{1,18})\b"
)
_ENVELOPE = re.compile(
    r"(?i)\b(?:envelope|enveloppe|envelop)\s*(?:number|no\.?|nr\.?|n°|nummer|id|#)?\s*#?(\d{1,18})\b"
)
_REQUEST = re.compile(
    r"(?i)\b(?:request|demande|verzoek|aanvraag)\s*(?:number|no\.?|nr\.?|n°|num[ée]ro|nummer|id|#)?\s*#?(\d{1,18})\b"
)
_UUID = re.compile(r"(?i)(?<![\w-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])")
_MATTER = re.compile(r"(?<![\w-])[A-Z]\d{7}(?![\w-])")
"""How Enedis writes the reference of a request."""
_REFERENCE = re.compile(
    r"(?i)\b(request|demande|verzoek|aanvraag|affaire|r[ée]f[ée]rence|referentie|kenmerk)\s+"
    r"(?:(?:with|bearing|of|avec|portant|sous|met|onder|van)\s+)?(?:(?:the|la|le|de|het)\s+)?"
    r"(?:(?:reference|r[ée]f[ée]rence|referentie|kenmerk|number|no\.?|nr\.?|n°|nº|num[ée]ro|nummer)\s*)?"
    r"((?=[\w:-]*\d)(?=[\w:-]*[A-Za-z])[A-Za-z0-9][\w:-]{4,}[A-Za-z0-9])(?![\w:-])"
)
"""A reference has letters and digits."""
_NUMBERED = re.compile(r"(?i)\b(r[ée]f[ée]rence|referentie|kenmerk)\s+(?:(?:no\.?|nr\.?|n°|nº)\s*)?(\d{6,11})(?!\d)")
"""Or it is a number, and the question says that it is one."""
_EAN = re.compile(r"\d{18}")
_INVOICE = re.compile(
    rf"(?i)\b((?:grid\s+)?invoices?|(?:grid\s+)?bill|factures?(?:\s+de\s+r[ée]seau|\s+d['’]acheminement)?|"
    rf"(?:net)?factuur|(?:net)?facturen)\s+(?:(?:with|avec|met)\s+)?(?:(?:the|le|la|het)\s+)?(?:{NUMBER_WORDS}\s*)?"
    r"((?=[\w/-]*\d{3})[A-Za-z0-9][\w/-]{4,}[A-Za-z0-9])(?![\w-])"
)
"""A grid invoice by its number."""
_DAY_LIKE = re.compile(r"\d{4}-\d{2}(?:-\d{2})?|\d{1,2}[/-]\d{1,2}[/-]\d{2,4}")
_POINT = re.compile(r"(?i)(?:\b(?:connection|ean(?:[ -]code)?|gsrn)\s+)?(?<![\d#])(\d{12,18})(?!\d)")
_GATEWAY_CODE = re.compile(r"\b[A-Z]{2,10}(?:_[A-Z0-9]+)+\b")
_EXIT = re.compile(
    r"(?i)\b(?:exit|return)[ -]?(?:code|status)\s*(\d{1,3})\b|\bcode\s+(?:de\s+)?(?:sortie|retour)\s*(\d{1,3})\b"
    r"|\b(?:exit|afsluit)-?code\s*(\d{1,3})\b"
    r"|\b(?:scripts?|cron\w*|jobs?|tâche|taak)\b[^.?!;:]{0,30}?\b(?:with|avec|sur|met|op)\s+"
    r"(?:(?:an?|un|een|code|status)\s+)*(\d{1,3})(?=\s*(?:[.,;:?!]|$|(?:and|et|en)\b))"
)
_FILE = re.compile(r"(?<![\w/])(?:rules/)?((?:[a-z]{2,6}/)?[a-z_]+\.(?:yaml|csv))\b")
_VERSION = re.compile(r"(?<![\w-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,64}(?![\w-])")
_PREFIX = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{2}-[A-Za-z])(?![\w-]|\d)")
_SCRIPT = re.compile(r"(?<![\w-])[a-z]+(?:-[a-z]+)+(?![\w-])")
_LIST = re.compile(r"(?<![\w-])[a-z]+(?:_[a-z0-9]+)+(?![\w-])")

_SMALL = {language: frozenset(map(plain, words)) for language, words in SMALL_WORDS.items()}
_QUESTION_WORDS = frozenset().union(*_SMALL.values())
TELLING = frozenset(
    (
        "many", "often", "combien", "hoeveel",
        "not", "no", "more", "most", "less", "fewer", "without", "except", "never", "both", "why",
        "pas", "non", "sans", "moins", "sauf", "jamais", "aucun", "aucune", "pourquoi",
        "neither", "nor", "ni", "noch", "niet", "geen", "zonder", "meer", "minder", "behalve", "nooit", "waarom",
    )
)  # fmt: skip
"""Small words that change what is asked: an operation has to take them."""


SHORTHAND = {"w/o": "without", "w/": "with", "excl.": "excluding", "incl.": "including"}
"""What is written short, and means a condition."""
_SHORT = re.compile(r"(?i)(?<![\w/])(?:w/o|w/|excl\.|incl\.)(?!\w)")

_MODAL = frozenset(("may", "must", "can", "should", "shall", "will", "would", "could", "might", "to"))
"""Words with which a last "be" is a verb, and no country."""

TYPE_LISTS = ("flow", "message", "document")
"""Code lists that name the message types of a market."""


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
      kept: fields of the Kernel messages, as the documentation lists them.
      scopes: sections of the settings.
      prefixes: beginnings of the gateway's codes.
      gateway: codes of the gateway.
      events: of which rules notify the back office.
      markets: those that have rules.
      spoken: gives the words of the rules' own texts in all their languages: they are spelt as they are meant.
      titled: gives the rules that have a title, in a language or in any where it is empty: market and code of each.
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
    kept: Mapping[str, str]
    scopes: Mapping[str, str]
    prefixes: Mapping[str, str]
    gateway: Mapping[str, str]
    events: Mapping[str, str]
    markets: tuple[str, ...]
    spoken: Callable[[], frozenset[str]]
    titled: Callable[[str, str], tuple[tuple[str, str], ...]]


def lexicon_of(
    catalogue: Catalogue,
    settings: Iterable[str] = (),
    commands: Iterable[str] = (),
    glossary: Iterable[str] = (),
    scopes: Iterable[str] = (),
    gateway: Iterable[str] = (),
    texts: Callable[[], Iterable[str]] = tuple,
    kept: Iterable[str] = (),
    translated: Callable[[], Iterable[Mapping[str, str]]] = tuple,
) -> Lexicon:
    """The names of a catalogue."""

    @cache
    def titles(language: str) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        others = () if language else tuple(translated())
        for rule in catalogue.rules:
            said = {_bare(rule.title), *(_bare(one[rule.title]) for one in others if rule.title in one)}
            for title in said:
                found.setdefault(title, []).append((rule.market, rule.error_code or rule.code))
        return found

    def named(words: Iterable[str | None]) -> dict[str, str]:
        return {word.lower(): word for word in words if word}

    rules, entries = catalogue.rules, catalogue.codes.entries
    known = {entry.code for entry in entries if entry.list in TYPE_LISTS}
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
        kept=named(kept),
        scopes=named(scopes),
        prefixes={code.partition("_")[0].lower(): f"{code.partition('_')[0]}_" for code in gateway},
        gateway=named(gateway),
        events=named(rule.notify for rule in rules),
        markets=tuple(catalogue.markets) or tuple(dict.fromkeys(r.market for r in rules if r.market != COMMON)),
        spoken=cache(lambda: frozenset(token for text in _texts_of(rules, texts()) for token in tokens_of(text))),
        titled=lambda title, language: tuple(titles(language).get(_bare(title), ())),
    )


def _bare(title: str) -> str:
    return " ".join(tokens_of(title))


def _texts_of(rules: Iterable[Rule], translated: Iterable[str]) -> Iterator[str]:
    for rule in rules:
        yield f"{rule.title} {rule.sentence}"
    yield from translated


class Understood(Struct, kw_only=True):
    """A question, taken apart.

    Attributes:
      text: as it was asked.
      language: en, fr or nl.
      tokens: its words; a name that was recognised by its form or in the catalogue is §.
      found: what stands where: phrases of the vocabulary and names, each with its slot.
      days: the days that are named.
      markets: the markets that there are.
      corrected: misspelt words and what was read for them.
      spoken: words of the rules' own texts, in all their languages.
    """

    text: str
    language: str
    tokens: list[str] = []
    found: list[Match] = []
    days: Days = Days()
    markets: tuple[str, ...] = ()
    corrected: dict[str, str] = {}
    spoken: Callable[[], frozenset[str]] = frozenset

    def values(self, slot: str) -> list[str]:
        """The values of a slot in the order in which the question has them, each once."""
        return list(dict.fromkeys(one.value for one in self.found if one.slot == slot))

    def has(self, slot: str, *values: str) -> bool:
        """Whether the question has one of these values of a slot, or any."""
        there = self.values(slot)
        return any(value in there for value in values) if values else bool(there)

    def word(self, place: int) -> str:
        """The word at a place; empty behind the last one, where the phrases of the other part of a question stand."""
        return self.tokens[place] if place < len(self.tokens) else ""

    def at(self, slot: str, value: str) -> int:
        """The place of the first phrase for a value; far behind where there is none."""
        return min((one.start for one in self.found if (one.slot, one.value) == (slot, value)), default=10_000)

    def telling(self) -> set[int]:
        """The places of the words that an operation has to take: all but small ones and fillers."""
        filled = {place for one in self.found if one.slot == "filler" for place in range(one.start, one.end)}
        denied = [one for one in self.found if one.slot == "not" and self.tokens[one.end - 1 : one.end] == ["t"]]
        filled -= {one.start for one in denied}  # can't is no can
        return {
            place
            for place, token in enumerate(self.tokens)
            if token in TELLING
            or (place not in filled and token not in _QUESTION_WORDS and (len(token) > 1 or token.isdigit()))
        }


def understand(question: str, lexicon: Lexicon, today: date) -> Understood | None:
    """Take a question apart; None where it is empty or too long for one.

    Args:
      question: the question.
      lexicon: names of the catalogue and the documentation.
      today: the day it is asked.
    """
    text = _SHORT.sub(lambda one: SHORTHAND[one[0].casefold()], " ".join(question.split()))
    if not text or len(text) > LONGEST or not any(letter.isalpha() for letter in text):
        return None
    got = Understood(text=text, language="en", markets=lexicon.markets, spoken=lexicon.spoken)
    names: list[list[tuple[str, str]]] = []
    left = _names(_numbers(_glossed(_titled(text, lexicon), names, lexicon), names, lexicon), names, lexicon)
    # Codes are of no language: the BE of BE-P01 is no English word.
    day_first = detect(left) in ("fr", "nl")
    periods = [one.value for one in matches(tokens_of(left)) if one.slot == "period"]
    if periods:  # yesterday's call is no day that is asked about
        periods = [one.value for one in matches(rephrased(tokens_of(left))) if one.slot == "period"]
    got.days, left = days_of(left, periods[0] if periods else None, today, day_first=day_first)
    got.tokens = rephrased(tokens_of(left))
    _spell(got, lexicon)
    if got.corrected:
        got.tokens = rephrased(got.tokens)
    _decompose(got, lexicon)
    phrased = _apart(_sized(_undenied(matches(got.tokens), got.tokens), got.tokens), got.tokens)
    named = [*phrased, *_placed(got.tokens, names), *_named(got.tokens, phrased, lexicon)]
    got.found = _by_kind(_unglossed(named, got.tokens), got.tokens)
    spoken, said = got.tokens, got.found
    if any(got.has(slot) for slot in ("message", "envelope", "request")):
        spoken = tokens_of(text)  # bericht 6 was taken out as a number with an English word beside it
        said = matches(spoken)
    got.language = language_of(spoken, said, _SMALL)
    return got


def _spell(got: Understood, lexicon: Lexicon) -> None:
    """Put what is meant for words that nothing knows."""
    known = {place for one in matches(got.tokens) for place in range(one.start, one.end)}
    named = {word for names in (lexicon.glossary, lexicon.settings, lexicon.commands, lexicon.lists, lexicon.scopes)
             for name in names for word in tokens_of(name.replace("_", " "))}  # fmt: skip
    for place, token in enumerate(got.tokens):
        if place in known or token in _QUESTION_WORDS or token in named:
            continue
        word = meant(token)
        if word not in (None, token) and token not in lexicon.spoken() and _tells(str(word), token):
            got.corrected[token] = word
            got.tokens[place] = word


def _tells(word: str, token: str) -> bool:
    """Whether a word tells something, or has the letters of what was written in another order: else what nothing knows
    is not read as one that is left out."""
    return sorted(word) == sorted(token) or any(one.slot != "filler" for one in matches([word]))


SHORTEST_PART = 4
STANDARD = "standaard"
"""Dutch joins it to the word for what it is the default of: standaardpoort."""


def _decompose(got: Understood, lexicon: Lexicon) -> None:
    """Put the two parts of a compound word that nothing knows: productwaarschuwingen, meterstandregels."""
    known = {place for one in matches(got.tokens) for place in range(one.start, one.end)}
    tokens: list[str] = []
    for place, token in enumerate(got.tokens):
        parts: tuple[str, ...] = ()
        if place not in known and len(token) > 2 * SHORTEST_PART and token.isalpha() and token not in lexicon.spoken():
            parts = _parts_of(token)
        elif token.startswith(STANDARD) and len(token) > len(STANDARD) + SHORTEST_PART - 1:
            parts = (STANDARD, token.removeprefix(STANDARD).removeprefix("waarde") or "waarde")
        tokens += parts or (token,)
    got.tokens = tokens


def _parts_of(token: str) -> tuple[str, ...]:
    for at in range(SHORTEST_PART, len(token) - SHORTEST_PART + 1):
        for first in dict.fromkeys((token[:at], token[:at].removesuffix("s"))):
            parts = (first, token[at:])
            found = [one for one in matches(parts) if one.slot not in ("filler", "english", "fact")]
            if {one.start for one in found} == {0, 1}:
                return parts
    return ()


def _placed(tokens: list[str], names: list[list[tuple[str, str]]]) -> list[Match]:
    """Names that were taken out of the text, where they stood; lone numbers."""
    found = []
    for place, token in enumerate(tokens):
        if token == DAY_MARK:
            found.append(Match(place, place + 1, "days", "days"))
        elif token.startswith("§"):
            found += [Match(place, place + 1, slot, value) for slot, value in names[int(token[1:])]]
        elif token.isdigit() and len(token) < 19:
            found.append(Match(place, place + 1, "number", token))
    return found


NUMBERING = frozenset(("number", "numbered", "no", "nr", "numero", "nummer", "genummerd"))
"""Words between the kind of a message and its number."""
MOST_SMALL = 2
"""Small words between a kind and the word for its number: with the number."""
MOST_DIGITS = 9
"""Digits of the number of a message, at most: an invoice has its own number."""


def _by_kind(found: list[Match], tokens: list[str]) -> list[Match]:
    """What was found, a message that is named by its kind and number put as its number: a reading numbered 121."""
    kinds = [one for one in found if one.slot == "kind" and not one.value.endswith(("Request", "Order"))]
    for number in [one for one in found if one.slot == "number" and len(one.value) <= MOST_DIGITS]:
        place = number.start - 1
        said = place > 0 and tokens[place] in NUMBERING
        kind = next((one for one in kinds if said and is_small(tokens[one.end : place])), None)
        if kind is not None and kind.end <= place:
            found = [one for one in found if not kind.start <= one.start < number.end]
            found.append(Match(kind.start, number.end, "message", number.value))
    return found


def is_small(tokens: list[str]) -> bool:
    """Whether words tell nothing: the reading with the number 121."""
    return len(tokens) <= MOST_SMALL and all(map(is_question_word, tokens))


FIELD_WORDS = ("field", "champ", "veld")
"""Before a small word that is the name of a field: look at is none, the field at is one."""


def _named(tokens: list[str], phrased: list[Match], lexicon: Lexicon) -> list[Match]:
    """Names that are written as words: a code list, a setting, a command, a word of the glossary."""
    covered = {place for one in phrased for place in range(one.start, one.end)}
    found = [
        Match(place, place + 1, "listed", lexicon.codes[token])
        for place, token in enumerate(tokens)
        if token in lexicon.codes
        and (token.isdigit() or (place not in covered and len(token) > 2 and token not in lexicon.spoken())
             or (place and tokens[place - 1] in ("code", "codes") and token not in _QUESTION_WORDS))
    ]  # fmt: skip
    for one in phrased:
        setting = lexicon.settings.get(one.value.replace(" ", "_")) if one.slot == "english" else None
        if setting and "_".join(tokens[one.start : one.end]) != setting:
            found.append(Match(one.start, one.end, "setting", setting))  # base de données is the setting database
    for one in phrased:
        # An envelope is the same in every language.
        name = (
            lexicon.glossary.get(english().get((one.slot, one.value), "")) if one.slot in ("thing", "state") else None
        )
        if name:
            found.append(Match(one.start, one.end, "word", name))
    places: tuple[tuple[str, Mapping[str, str], str], ...] = (
        ("list", lexicon.lists, "_"), ("setting", lexicon.settings, "_"), ("scope", lexicon.scopes, "_"),
        ("command", lexicon.commands, " "), ("script", lexicon.repairs, "-"),
        ("word", lexicon.glossary, " "), ("gateway_prefix", lexicon.prefixes, " "), ("pointed", lexicon.fields, "_"),
        ("kept", lexicon.kept, "_"), ("event", lexicon.events, "-"),
    )  # fmt: skip
    for slot, names, glue in places:
        taken: set[int] = set()
        for length in (4, 3, 2, 1):
            for at in range(len(tokens) - length + 1):
                words = glue.join(token.rstrip("_") for token in tokens[at : at + length])
                name = names.get(words) or names.get(words.removesuffix("s")) or names.get(words + "s")
                small = slot == "kept" and words in _QUESTION_WORDS and tokens[at - 1] not in FIELD_WORDS
                if name and not taken & set(range(at, at + length)) and not (words.isdigit() or small):
                    taken |= set(range(at, at + length))
                    found.append(Match(at, at + length, slot, name))
    return found


_QUOTED = re.compile(r"(?<![\w])[\"'«“‘„]\s*([^\"«»“”„]{6,120}?)\s*[\"'»”’“](?!\w)")


SHORTEST_TITLE, LONGEST_TITLE = 4, 14
"""Words of a title that is known without quotation marks."""


def _titled(text: str, lexicon: Lexicon) -> str:
    """The titles of rules, put as their codes; where several rules have one, by the market that is named."""

    def code(found: re.Match[str]) -> str:
        rules = lexicon.titled(found[1], "")
        if len(rules) > 1:
            rest = tokens_of(text[: found.start()] + text[found.end() :])
            named = {one.value for one in matches(rest) if one.slot == "market"}
            rules = tuple(one for one in rules if one[0] in named)
        return rules[0][1] if len(rules) == 1 else found.group()

    text = _QUOTED.sub(code, text)
    tokens = tokens_of(text)
    for length in range(min(LONGEST_TITLE, len(tokens)), SHORTEST_TITLE - 1, -1):
        for at in range(len(tokens) - length + 1):
            words = tokens[at : at + length]
            if lexicon.titled(" ".join(words), "en"):
                joined = r"\W+".join(words)
                return re.sub(rf"(?i)(?<!\w)({joined})(?!\w)", code, text, count=1)
    return text


_GLOSS = re.compile(
    r"(?i)\(\s*(?P<noun>(?:the\s+|la\s+|le\s+|de\s+|het\s+)?(?:list|liste|codelijst|lijst|field|champ|veld|set)\s+)?"
    r"`?(?P<name>[\w.-]+)`?\s*\)"
)
"""A name in brackets says what the words before it mean: unité de courbe (curve_unit), the postcode (field x.y)."""


def _glossed(text: str, names: list[list[tuple[str, str]]], lexicon: Lexicon) -> str:
    """Names in brackets, taken out of the text."""
    known = (("list", lexicon.lists), ("kind", _KINDS), ("setting", lexicon.settings), ("set", _SETS),
             ("class", _CLASSES), ("script", lexicon.repairs))  # fmt: skip

    def name(found: re.Match[str]) -> str:
        low, noun = found["name"].lower(), "".join((found["noun"] or "").lower().split()[-1:])
        there = (("pointed", lexicon.fields),) if noun in FIELD_WORDS else known
        hit = next(((slot, words[low]) for slot, words in there if low in words), None)
        if hit is None:
            return found.group()
        names.append([hit, ("gloss", hit[1])])
        return f" §{len(names) - 1} "

    return _GLOSS.sub(name, text.replace("§", " "))


LONGEST_GLOSSED = 4
"""Words before a name in brackets that may be what it names."""
JOINING = frozenset(
    ("of", "for", "de", "d", "du", "des", "la", "l", "van", "the", "voor", "a", "an", "un", "une", "een")
)
HEADS = frozenset(("intent", "subject", "thing", "market", "code", "days", "number"))
"""Slots whose words ask, and are not what a name in brackets names."""


def _unglossed(found: list[Match], tokens: list[str]) -> list[Match]:
    """What was found, but for the words just before a name in brackets: they are what it names."""
    asking = [one for one in found if one.slot in HEADS and one.value != "glossary"]
    ruled = {place for one in asking if one.value == "rule" for place in range(one.start, one.end)}
    heads = {place for one in asking for place in range(one.start, one.end)}
    told: set[int] = set()
    for end in {one.start for one in found if one.slot == "gloss"}:
        glosses = {one.value for one in found if one.slot == "gloss" and one.start == end}
        same = [one for one in found if one.end == end and one.value in glosses]
        if same:  # refuse a curve (MeasureSeries): the curve is what it names, and nothing before it
            told |= {place for one in same for place in range(one.start, one.end)}
            continue
        within = {p for one in found if one.end == end and one.slot not in HEADS for p in range(one.start, end)}
        for place in range(end - 1, max(end - 1 - LONGEST_GLOSSED, -1), -1):
            small = tokens[place] not in JOINING and is_question_word(tokens[place])
            if place in ruled or (place not in within and (place in heads or small)):
                break
            told.add(place)
    kept = [one for one in found if one.slot != "gloss" and not told & set(range(one.start, one.end))]
    return [*kept, *(Match(place, place + 1, "filler", "") for place in sorted(told))]


def _numbers(text: str, names: list[list[tuple[str, str]]], lexicon: Lexicon) -> str:
    """What is recognised by its form, taken out of the text."""

    def taken(slot: str, pattern: re.Pattern[str], left: str, beside: str = "") -> str:
        def name(found: re.Match[str]) -> str:
            names.append([(slot, next(group for group in (*found.groups(), found.group()) if group))])
            return f" {beside} §{len(names) - 1} "

        return pattern.sub(name, left)

    def reference(found: re.Match[str]) -> str:
        word = found[2]
        known = (lexicon.types, _KINDS, lexicon.codes, lexicon.rules, lexicon.lists, lexicon.repairs)
        if _ERROR_CODE.fullmatch(word) or any(word.lower() in one for one in known):
            return found.group()
        names.append([("reference", word)])
        return f"{found[1]} §{len(names) - 1} "

    def thing(slot: str, found: re.Match[str]) -> str:
        word = found[2]
        known = (lexicon.types, lexicon.codes, lexicon.rules, lexicon.lists, lexicon.repairs, lexicon.settings)
        if any(word.lower() in one for one in known) or _ERROR_CODE.fullmatch(word) or _DAY_LIKE.fullmatch(word):
            return found.group()
        if slot == "meter" and _EAN.fullmatch(word):
            return found.group()  # who says meter may mean its access point
        names.append([(slot, word), *([("point", word)] if slot == "meter" and _POINT.fullmatch(word) else [])])
        return f"{found[1]} §{len(names) - 1} "

    def code(found: re.Match[str]) -> str:
        word = found.group()
        if word.lower() in lexicon.codes and word.lower() not in lexicon.gateway:
            return word  # a code of a market is written so too: DYSF_CPT
        names.append([("gateway", word)])
        return f"  §{len(names) - 1} "

    left = taken("file", _FILE, text)
    left = taken("exit_code", _EXIT, left)
    left = _NUMBERED.sub(reference, _REFERENCE.sub(reference, left))
    left = taken("reference", _UUID, left)
    left = taken("reference", _MATTER, left)
    left = METER.sub(partial(thing, "meter"), left)
    left = _INVOICE.sub(partial(thing, "invoice_number"), left)
    left = taken("point", _POINT, left)
    left = taken("envelope", _ENVELOPE, left, "envelope")
    left = taken("request", _REQUEST, left, "request")
    left = taken("message", _MESSAGE, left, "message")
    return _GATEWAY_CODE.sub(code, left)


_TICKED = re.compile(r"`[^`]*`")
"""What is written as code: its words are names, those around it are not."""
_FIELD_BEFORE = re.compile(r"(?i)\b(?:fields?|champs?|veld(?:en)?)\W*$")
_FIELD_BEHIND = re.compile(r"(?i)\W*(?:fields?|champs?|veld(?:en)?)\b")
"""A name beside one of these is a field that rules point at, though a code list has it too."""


def _names(text: str, names: list[list[tuple[str, str]]], lexicon: Lexicon) -> str:
    """Names that the catalogue knows, taken out of the text."""

    def put(*found: tuple[str, str]) -> str:
        names.append(list(found))
        return f" §{len(names) - 1} "

    def code(found: re.Match[str]) -> str:
        name = f"{found[1]}-{found[2]}{found[3]}".upper()
        if name.lower() in lexicon.rules:
            return put(("code", name))
        if "-" in found.group() or "_" in found.group() or _of_a_market(name, lexicon):
            return put(("unknown_code", name))
        return found.group()

    def prefix(found: re.Match[str]) -> str:
        wanted = found[1].lower()
        there = any(name.startswith(wanted) and name[len(wanted) : len(wanted) + 1].isdigit() for name in lexicon.rules)
        return put(("prefix", found[1].upper())) if there else found.group()

    def name(found: re.Match[str]) -> str:
        word = found.group()
        code_like = _is_code_like(word)
        hits = _known_as(found, lexicon, ticked=any(start <= found.start() < end for start, end in spans))
        head, _, tail = word.partition("-")
        if tail.isalpha() and head.lower() in _SETS:
            return put(("set", _SETS[head.lower()])) + tail  # rejection_in-regels
        if not hits and _VERSION.fullmatch(word):
            hits.append(("version", word))
        if not hits and (_LIST.fullmatch(word) or _SCRIPT.fullmatch(word)):
            hits += [("unknown_name", word)] if "_" in word or not _spoken(word) else []
        if not hits and code_like and any(letter.isdigit() for letter in word):
            # R15-berichten, C15s: what follows the name of a type.
            shorter = head if tail.isalpha() else word.removesuffix("s")
            if shorter != word and shorter.lower() in lexicon.types:
                return put(("type", lexicon.types[shorter.lower()])) + tail
        return put(*hits) if hits else word

    text = _ERROR_CODE.sub(code, text)
    text = _PREFIX.sub(prefix, text)
    spans = [one.span() for one in _TICKED.finditer(text)]
    return _WORD.sub(name, text)


def _is_code_like(word: str) -> bool:
    """Whether a word is written as names are: with a digit, or with a capital inside."""
    return any(letter.isdigit() for letter in word) or word[1:] != word[1:].lower()


def _known_as(found: re.Match[str], lexicon: Lexicon, *, ticked: bool) -> list[tuple[str, str]]:
    """What the catalogue and the documentation know by a word, as slots and values."""
    places = (("kind", _KINDS), ("type", lexicon.types), ("ebix_reason", lexicon.ebix), ("listed", lexicon.codes))
    written = (("code", lexicon.rules), ("list", lexicon.lists), ("script", lexicon.repairs),
               ("setting", lexicon.settings), ("set", _SETS), ("class", _CLASSES),
               ("pointed", lexicon.fields), ("kept", lexicon.kept), ("event", lexicon.events))  # fmt: skip
    word, low, text = found.group(), found.group().lower(), found.string
    code_like = _is_code_like(word)
    hits: list[tuple[str, str]] = []
    for slot, known in places if (code_like or word[0].isupper()) and not word.isdigit() else ():
        if len(word) > 1 and low in known and (code_like or slot == "kind" or (slot == "listed" and word.isupper())):
            hits.append((slot, known[low]))
    for slot, known in written if "_" in word or "-" in word or "." in word or ticked else ():
        beside = _FIELD_BEFORE.search(text[: found.start()]) or _FIELD_BEHIND.match(text, found.end())
        if low in known and not (slot == "pointed" and hits and not beside):
            hits.append((slot, known[low]))
    if word in lexicon.markets or (word.upper() in lexicon.markets and _names_market(found)):
        hits.append(("market", word.upper()))
    return hits


def _names_market(found: re.Match[str]) -> bool:
    """Whether a word that is like the code of a market, but not written like one, is it: "be" is a verb, too."""
    text = found.string
    ended = found.start() == 0 or found.end() == len(text.rstrip(" ?.!"))
    return not is_question_word(found.group().lower()) or (ended and _MODAL.isdisjoint(text.lower().split()))


_KINDS = {name.lower(): name for name in KINDS}
_SETS = {name: name for name in get_args(RuleSet)}
_CLASSES = {name: name for name in get_args(ErrorClass) if "_" in name}


def _of_a_market(name: str, lexicon: Lexicon) -> bool:
    """Whether a code that no rule has begins as those of a market, and its rest is no other name: FR R15."""
    rest = name[3:].lower()
    return name[:2] in lexicon.markets and not any(rest in n for n in (lexicon.types, lexicon.ebix, lexicon.codes))


def _spoken(word: str) -> bool:
    """Whether a word with a hyphen is one of the language: a verb with its subject, or of the vocabulary."""
    parts = tokens_of(word)
    return not _QUESTION_WORDS.isdisjoint(parts) or bool(matches(parts))


BEHIND_DONT = frozenset((
    "le", "la", "les", "l", "un", "une", "aucun", "aucune", "on", "il", "elle", "ils", "elles", "je", "nous", "vous",
    "notre", "nos", "votre", "vos", "chaque", "tous", "toutes", "certains", "certaines",
))  # fmt: skip
"""Words behind the French dont, which denies nothing: les enveloppes dont le traitement a échoué."""


def _undenied(found: list[Match], tokens: list[str]) -> list[Match]:
    """Without the don't that is no English one."""
    return [
        one for one in found
        if one.slot != "not" or tokens[one.start : one.end] != ["dont"] or BEHIND_DONT.isdisjoint(tokens[one.end :][:1])
    ]  # fmt: skip


def _sized(found: list[Match], tokens: list[str]) -> list[Match]:
    """Without the words for more and less that no number follows."""
    numbers = {one.start for one in found if one.slot in ("number", "times")}
    numbers |= {place for place, token in enumerate(tokens) if token.isdigit()}

    def sized(one: Match) -> bool:
        behind = tokens[one.start] in ("or", "and", "ou", "et", "of", "en")  # 20 rules or more
        return bool(numbers & ({one.start - 1, one.start - 2} if behind else {one.end, one.end + 1}))

    return [one for one in found if one.slot != "number_is" or sized(one)]


def _apart(found: list[Match], tokens: list[str]) -> list[Match]:
    """A word of a longer name is not what it is alone: the list of `code list`, the request of `switch request`."""
    names = [
        one for one in found
        if one.slot in ("kind", "subject", "thing", "class", "unanswered", "list", "number_is")
        or (one.slot, one.value) in (("field", "field"), ("intent", "top"), ("intent", "count"))
    ]  # fmt: skip

    def inside(one: Match) -> bool:
        return any(
            (one.slot == "severity" and other.slot == "subject" and one.start < other.start < one.end < other.end)
            or (
                other.start <= one.start
                and one.end <= other.end
                and (
                    other.end - other.start > one.end - one.start
                    or (other.slot == "list" and one.slot in ("severity", "state") and len(tokens[one.start]) > 9)
                )
            )
            for other in names
        )

    weak = (
        "thing", "subject", "kind", "intent", "state", "class", "group", "field", "severity", "direction", "market",
        "supplied", "howto",
    )  # fmt: skip
    return [one for one in found if one.slot not in weak or not inside(one)]


def said(understood: Understood) -> dict[str, Any]:
    """What was recognised, for those who want to see it."""
    slots = sorted({one.slot for one in understood.found} - {"filler"})
    told: dict[str, Any] = {slot: understood.values(slot) for slot in slots}
    if understood.corrected:
        told["corrected"] = understood.corrected
    covered = {place for one in understood.found for place in range(one.start, one.end)}
    rest = [understood.tokens[place] for place in sorted(understood.telling() - covered)]
    if rest:
        told["rest"] = rest
    return told
