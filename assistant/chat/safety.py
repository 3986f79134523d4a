"""Retrieved text is data: sentences that try to give orders to the assistant are neither obeyed nor quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ORDERS = re.compile(
    r"""(?ix)
    \b(?:ignore|disregard|forget|override|oublie[sz]?|ignore[sz]?|negeer|vergeet|vergiss|ignoriere)\b
        .{0,40}\b(?:instructions?|prompts?|rules?\ (?:above|before)|above|previous|consignes?|pr[ée]c[ée]dentes?|
        instructies|vorige|anweisungen|system)\b
    | ^\W*(?:system|assistant|user|human)\s*(?:prompt|message)?\s*:\s
    | \b(?:system|assistant|user|human)\s*(?:prompt|message)\s*:\s
    | <\|[a-z_]+\|> | \[/?INST\] | <<SYS>> | </?(?:system|assistant|instructions?|passages?)>
    | \b(?:you\ are\ now\ (?:an?|the|in|my|our|called|named|no\ longer|free|unrestricted|acting|(?-i:[A-Z]{2,}))|
        pretend\ to\ be|from\ now\ on\ you|tu\ es\ (?:maintenant|d[ée]sormais)|
        vous\ [êe]tes\ d[ée]sormais|        je\ bent\ nu|du\ bist\ jetzt)\b
    # What a party or a program "can act as" is no order; what the reader is told to act as is.
    | (?:^\W*|[,;:]\s+|\band\s+|\bplease\s+|\byou\s+(?:must|should|shall|will|now|have\ to|are\ to)\s+)act\ as\b
    | \b(?:reveal|print|show|r[ée]v[èe]le|affiche)\b.{0,30}
        \b(?:system\ prompt|your\ instructions|tes\ instructions|api\ key|password)\b
    | \b(?:the\ assistant|l'assistant|de\ assistent|the\ (?:AI|model|chatbot)|l'IA)\b.{0,20}
        \b(?:must|should|shall|doit|moet|has\ to)\b.{0,20}
        \b(?:answer|reply|say|respond|r[ée]pondre|dire|antwoorden|zeggen|cite|quote)\b
    | \b(?:answer|reply|respond|r[ée]ponds|r[ée]pondez|antwoord)\b.{0,15}\b(?:only|always|every\ question|uniquement|
        toujours|        altijd|with\ the\ (?:word|sentence))\b
    """
)
_BRACKETED_ID = re.compile(r"\[([0-9a-z]{8})\]")


def gives_orders(sentence: str) -> bool:
    """Whether a sentence addresses the assistant rather than the reader."""
    return bool(_ORDERS.search(sentence))


def as_data(text: str) -> str:
    """Text as it may stand in a prompt: without sentences that give orders, and without ids in brackets."""
    from assistant.knowledge.sentences import split

    parts: list[str] = []
    at = 0
    for sentence in split(text):
        parts.append(text[at : sentence.start])
        if not gives_orders(sentence.text):
            parts.append(_BRACKETED_ID.sub(r"(\1)", sentence.text))
        at = sentence.end
    return "".join([*parts, text[at:]]).strip()


def orders_in(texts: Iterable[str]) -> bool:
    """Whether any text gives orders."""
    return any(gives_orders(line) for text in texts for line in text.split("\n"))
