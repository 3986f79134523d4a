"""What rules say, and what they are based on: words of a question that nothing else explains."""

from __future__ import annotations

import re

from assistant.operations.slots import TOLD_BY, Slots
from assistant.operations.understanding import TELLING
from assistant.operations.vocabulary import HOLDINGS, tokens_of

MOST_WORDS = 3
"""Words that rules are looked for by; more of them ask for a passage."""

ISSUERS = ("enedis", "atrias", "edsn", "energinet", "ebix")
"""Who issues documents: behind a word for a source they are of its name, and not the market."""

_GLOSSED = re.compile(r"(?P<word>[^\W\d]+)\s+\(\W*[^\W\d]+\W*\)")
"""A word that another one in brackets says as the source has it: een aanname ('Assumption')."""

SPARE = ("word", "pointed", "kept", "list", "english", "setting", "command", "scope", "fact", "ever", "until",
         "receiver", "event", "station", "checked", *HOLDINGS)  # fmt: skip
"""Slots whose words may be words of rules all the same."""


def source_of(slots: Slots, rule: int | None) -> str | None:
    """The words that a source has to have: those behind the word for a source, names of types and issuers too.

    It comes before the markets and types are taken. Where the source stands before the rules, it is asked for itself.

    Args:
      slots: the question.
      rule: where it names rules.
    """
    sources = slots.of("field", "source")
    if not sources or rule is None or not slots.has("subject", "rule"):
        return None
    tokens = slots.asked.tokens
    if rests_on_reason(slots):
        return None
    first = min(one.start for one in sources)
    if first < rule and first and tokens[first - 1] in ("which", "what", "quelle", "quelles", "welke", "welk"):
        return None  # the sources themselves are asked for
    said = {place for one in (*sources, *slots.of("topic")) for place in range(one.start, one.end)}
    apart = ("market", "kind", "severity", "class", "intent", "subject", "each")
    others = {place for one in slots.asked.found if one.slot in apart for place in range(one.start, one.end)}
    names = {one.start: one.value for slot in ("listed", "ebix_reason", "type", "version") for one in slots.of(slot)}
    asked = slots.asked.telling()
    words = [
        place for place, token in enumerate(tokens)
        if place not in said and token not in TELLING
        and (token in ISSUERS or (place in asked and place not in others) or place in names)
        and (place > first or place in asked - others)
    ]  # fmt: skip
    glossed = {token for one in _GLOSSED.finditer(slots.asked.text) for token in tokens_of(one["word"])}
    words = [place for place in words if tokens[place] not in glossed] if glossed else words
    slots.used |= {place for place, token in enumerate(tokens) if token in glossed and place > first}
    begun = min((one.start for one in slots.of("intent", "list", "count") if one.start < rule), default=0)
    if any(place > first for place in words):
        words = [place for place in words if place >= begun]  # what stands before "which rules" is of no source
    if not words or len(words) > MOST_WORDS + 1 or (first < rule and max(words) < rule and not names):
        return None
    slots.mark(sources)
    slots.take("topic")
    slots.take("subject", "flow")
    slots.used |= set(words)
    return " ".join(names.get(place, tokens[place]) for place in words)


NOUNS = ("source", "document", "bron", "norm", "basis", "welk", "which", "quel")
"""Beginnings of words that name a source; others say that something rests on it."""


def rests_on_reason(slots: Slots) -> bool:
    """Whether rules are said to rest on an ebIX reason: then it is no source that has the words "ebIX D16"."""
    named = {one.start for one in slots.of_all(("subject", "field")) if one.value == "ebix"}
    verbs = [one for one in slots.of("field", "source") if not slots.asked.word(one.start).startswith(NOUNS)]
    return len(verbs) == len(slots.of("field", "source")) > 0 and any(
        any(verb.end <= place < reason.start for place in named) for verb in verbs for reason in slots.of("ebix_reason")
    )


def topic_of(slots: Slots, rule: int | None) -> tuple[str, ...]:
    """Words that rules are looked for by: those behind "about", or beside the rules, that nothing else explains.

    Args:
      slots: the question.
      rule: where it names rules.
    """
    topics = slots.of("topic")
    left = slots.left()
    slots.mark(topics)
    coded = {place for one in slots.of("subject", "code") for place in range(one.start, one.end)}
    counted = {place for one in slots.of("intent", "count") for place in range(one.start, one.end)}
    left = [place for place in left if place not in slots.used | coded | counted]
    if not left or len(left) > MOST_WORDS or rule is None:
        return ()
    tokens = slots.asked.tokens
    lead, colon, _ = slots.asked.text.partition(":")
    told = tokens_of(lead) if colon else []
    if not TOLD_BY.isdisjoint(told) and all(tokens[place] in told for place in left):
        return ()  # before I quote it to my client: how many rules
    spare = [one for one in slots.asked.found if one.slot in SPARE or (one.slot, one.value) == ("intent", "changed")]
    fields = {one.start for one in slots.asked.found if one.slot == "pointed"}
    others = [
        one
        for one in slots.asked.found
        if one not in spare and not (one.slot in ("intent", "order") and one.start in fields)
    ]
    if any(one.start <= place < one.end for one in others for place in left):
        return ()
    first = min((one.end for one in topics), default=None)
    together = left[-1] - left[0] <= len(left) + 1
    beside = together and rule - left[-1] == 1 and _spoken(slots, left)
    behind = first is not None and min(left) >= first
    ended = first is not None and together and any(0 < one.start - left[-1] <= 2 for one in topics)
    if not (behind or beside or ended):
        return ()
    left = sorted({*left, *(place for place in coded if place - 1 in left or place + 1 in left)})
    ends = {place for one in topics for place in range(one.start, one.end)}
    while (
        left[-1] + 1 < len(tokens)
        and left[-1] + 1 not in ends
        and (len(tokens[left[-1] + 1]) == 1 or _filled(slots, left[-1] + 1))
    ):
        left.append(left[-1] + 1)  # l'heure d'été: a small word within the phrase
    left = [place for place in left if len(tokens[place]) > 1]
    known = {
        place
        for one in slots.asked.found
        if one.slot in ("state", "not", "without")
        for place in range(one.start, one.end)
    }
    if not left or known & set(left) or any(tokens[place].isdigit() for place in left):
        return ()
    slots.used |= set(left)
    return tuple(tokens[place] for place in left)


def _spoken(slots: Slots, places: list[int]) -> bool:
    """Whether rules say every one of these words, in some language."""
    spoken = slots.asked.spoken()
    return all(slots.asked.tokens[place] in spoken for place in places)


def _filled(slots: Slots, place: int) -> bool:
    return any(one.start <= place < one.end for one in slots.of("filler"))
