"""Questions on any table of the documentation, as operations: what no other form understood."""

from __future__ import annotations

from assistant.knowledge.language import is_question_word
from assistant.operations.family import Tables
from assistant.operations.understanding import TELLING, Understood
from assistant.operations.vocabulary import Match, english, matches, tokens_of

NOT_THERE = ("code", "unknown_code", "prefix", "point", "message", "envelope", "request", "days", "number_is")
"""What rules and store are asked by: a question with one of them is none on a table of the documentation."""

SPOKEN = ("filler", "intent", "howto", "todo", "amount")
"""Slots whose words ask, and are not looked for."""

NAMING = ("english", "state", "kind", "thing", "subject", "market")
"""Slots whose words are looked for in English: the pages are."""

ASKING = frozenset((
    "hold", "holds", "written", "stay", "stays", "called", "need", "needs", "needed", "comes", "come",
    "happens", "happen", "happened", "allowed", "used", "says", "say", "now", "already", "possible",
    "blijft", "blijven", "reste", "restent", "duurt", "dure", "keep", "keeps", "kept",
    "names", "name", "concerns", "concern", "http", "minstens", "minimaal", "minimum", "zo",
))  # fmt: skip
"""Words that ask, and are no words of the vocabulary."""

MOST_WORDS = 8


def in_tables(asked: Understood) -> tuple[Tables, ...]:
    """What a question may ask of a table, the first that has an answer counts; nothing where it cannot be one.

    Args:
      asked: the question, taken apart.
    """
    if any(asked.has(slot) for slot in NOT_THERE) or asked.has("subject", "rule", "exit"):
        return ()
    words, spare = _words(asked)
    if not words or len(set(words) - set(spare)) > MOST_WORDS:
        return ()
    told, spared = " ".join(words)[:200], " ".join(spare)[:200]
    count = asked.has("intent", "count")
    if (count or asked.has("amount")) and asked.has("market"):
        return ()  # what is counted of a market stands in its rules, and in no table
    measured = count and asked.has("english", "days", "hours", "minutes", "seconds", "connections", "attempts")
    default = asked.has("intent", "default") or measured or asked.has("amount")
    number = bool(measured) or asked.has("amount")
    row = Tables(words=told, spare=spared, default=default, number=number)
    if default:
        return (row, Tables(words=told, spare=spared)) if number else (row,)
    listed = Tables(words=told, spare=spared, how="count" if count else "list")
    if count:
        numbered = Tables(words=told, spare=spared, number=True)
        return listed, Tables(words=told, spare=spared, default=True, number=True), numbered
    one_word = len(set(words) - set(spare)) == 1
    defined = asked.has("field") or asked.has("intent", "use") or asked.has("subject", "glossary")
    return (listed, row) if defined or not one_word else (listed,)


def _words(asked: Understood) -> tuple[list[str], list[str]]:
    """The words that tell something, in English, and those of them that only ask."""
    tokens = [part for token in tokens_of(asked.text) for part in token.split("_") if part]
    phrased = [one for one in matches(tokens) if asked.language in one.languages or asked.language == "en"]
    found = {place: token for place, token in enumerate(tokens) if len(token) > 1 or token.isdigit()}
    spare = {place for one in phrased if one.slot in SPOKEN or _asks(one) for place in range(one.start, one.end)}
    spare -= {place for one in phrased if one.slot == "english" for place in range(one.start, one.end)}
    spare |= {place for place, token in found.items() if token in ASKING}
    spare |= {place for place, token in found.items() if token not in TELLING and is_question_word(token)}
    if asked.language != "en":
        for slot in reversed(NAMING):
            for one in phrased:
                if one.slot == slot and (told := _english(one)):
                    for place in range(one.start, one.end):
                        found.pop(place, None)
                    found[one.start] = told
                    spare -= set(range(one.start, one.end))
    return [found[place] for place in sorted(found)], [found[place] for place in sorted(spare & found.keys())]


def _asks(one: Match) -> bool:
    return (one.slot, one.value) in (("field", "sentence"), ("field", "validity"), ("subject", "gateway"))


def _english(one: Match) -> str:
    return one.value if one.slot == "english" else english().get((one.slot, one.value), "")
