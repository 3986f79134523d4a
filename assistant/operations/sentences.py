"""How many it is that a rule allows: the rules whose title and sentence say all that a question says, and a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from assistant.knowledge.language import is_question_word
from assistant.operations.attributes import Texts
from assistant.operations.family import RuleField
from assistant.operations.plaintext import contains, plain, stem
from assistant.operations.understanding import Understood
from assistant.operations.vocabulary import BETWEEN, tokens_of
from energycomm.engine.codes import COMMON
from energycomm.engine.rule import Rule

_ELSEWHERE = ("code", "unknown_code", "prefix", "point", "message", "envelope", "request", "reference", "days",
              "period", "not", "without", "except", "opinion")  # fmt: skip
"""What names something else, or restricts: no sentence is looked for."""
_SPARE = ("filler", "market", "amount", "severity", "state")
"""Slots whose words ask, or tell that something is wrong: above how many kVA it is refused."""
FEWEST_WORDS = 3
MOST_RULES = 3
_NUMBER = re.compile(
    r"\b(?:\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty|"
    r"seventy|eighty|ninety|hundred|thousand|deux|trois|quatre|cinq|sept|huit|neuf|dix|onze|douze|treize|quatorze|"
    r"quinze|seize|vingt|trente|quarante|cinquante|soixante|cent|mille|twee|drie|vier|vijf|zes|zeven|acht|negen|tien|"
    r"elf|twaalf|\w+tien|twintig|\w+tig|honderd|duizend)\b"
)


def said_number(
    asked: Understood, rules: Iterable[Rule], texts: Callable[[], Texts]
) -> tuple[RuleField, ...]:  # fmt: skip
    """What a question on a number asks of rules whose text has all its words; nothing where none has, or too many.

    Args:
      asked: the question, taken apart.
      rules: of the catalogue.
      texts: gives what the titles and sentences are in other languages.
    """
    counts = [one for one in asked.found if (one.slot, one.value) == ("intent", "count")]
    if not (counts or asked.has("amount")) or any(map(asked.has, _ELSEWHERE)) or asked.has("subject", "rule"):
        return ()
    spare = {place for one in asked.found if one.slot in _SPARE for place in range(one.start, one.end)}
    spare |= {place for one in asked.found if (one.slot, one.value) == ("intent", "why")
              for place in range(one.start, one.end)}  # fmt: skip
    first = min(counts, default=None)
    spare |= set(range(first.start, first.end)) if first is not None else set()
    names = {one.start: one.value for one in asked.found if asked.word(one.start)[:1] == "§"}
    words = [
        names.get(place, token) for place, token in enumerate(asked.tokens)
        if place not in spare and token not in BETWEEN and not is_question_word(token) and len(token) > 1
    ]  # fmt: skip
    if len(words) < FEWEST_WORDS:
        return ()
    markets = [*(one for one in asked.values("market") if one != "all"), COMMON]
    there = texts().get(asked.language, {}) if asked.language != "en" else {}
    judging = [rule for rule in rules if rule.judges and (len(markets) == 1 or rule.market in markets)]
    said = {rule.code: " ".join(there.get(one, one) for one in (rule.title, rule.sentence)) for rule in judging}
    found = [
        rule for rule in judging
        if contains(said[rule.code], words) and set(_NUMBER.findall(plain(said[rule.code]))) - set(asked.tokens)
    ]  # fmt: skip
    stems = {stem(plain(one)) for one in words}
    whole = [rule for rule in found if stems <= set(map(stem, tokens_of(said[rule.code])))]
    found = whole or found  # a meter, and no metering point
    if not 0 < len(found) <= MOST_RULES:
        return ()
    return tuple(RuleField(code=rule.error_code or rule.code, fields=("sentence",)) for rule in found)
