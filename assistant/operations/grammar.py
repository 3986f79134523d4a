"""Which operation a question asks for: each form takes the words that it answers, and the one that leaves none is it.

The forms do not depend on the order of words. A question of which every form leaves a word that tells something is not
understood: it goes to the passages, or what is not known is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from functools import lru_cache

from assistant.knowledge.language import is_question_word
from assistant.operations.catalogue_forms import only_there, rules
from assistant.operations.family import Plan
from assistant.operations.held_forms import held
from assistant.operations.list_forms import code_lists
from assistant.operations.manual_forms import (
    alarm,
    codes,
    command,
    documents,
    how_to_set,
    kernel_field,
    option,
    setting,
    word,
)
from assistant.operations.paraphrases import rephrased
from assistant.operations.plaintext import plain
from assistant.operations.rule_forms import changes, compare, one_rule, same_as
from assistant.operations.slots import TOLD_BY, WHO, Asking, Read, Slots
from assistant.operations.store_forms import message, point_life, request_life, stored, versions
from assistant.operations.understanding import Understood
from assistant.operations.vocabulary import Match, inflected, matches, phrases, tokens_of

_PARTS = re.compile(
    r"(?i)(?<=\w)\s*[,;]?\s+(?:and|et|en)\s+(?=(?:how\s+(?:many|often)|what|which|why|since when|combien|quel|quelle|"
    r"quels|quelles|pourquoi|depuis quand|hoeveel|wat|welke|welk|waarom|sinds wanneer)\b)|\?\s+(?=\w)"
)
_WHICH_ONES = re.compile(
    r"(?i)(?:and |et |en )?(?:(?:which|what)(?: ones?)?(?: are (?:they|those)| is it)?|quoi|wat|"
    r"(?:le|la|les)quel(?:le)?s?(?: est-ce| sont-ce| sont-(?:il|elle)s)?|"
    r"welke?(?: (?:dan|zijn (?:dat|het)))?|"
    r"(?:a |the )?(?:full |complete )?list,? please|"
    r"(?:une |la )?liste(?: compl[èe]te)?,? (?:svp|s'il (?:vous|te) pla[iî]t)|"
    r"(?:graag )?een (?:opsomming|lijstje?|overzicht)(?: graag)?)[ .!]*"
)
"""Asks for the names of what was asked about: no part of its own."""
_LEAVING = frozenset(("without", "sans", "zonder", "except", "sauf", "behalve", "only"))
"""Begin what leaves something out."""
_HOW_MANY_THEY = re.compile(
    r"(?i)(?:how many (?:are they|are there|is that|are those|does it have|has it)|"
    r"combien (?:sont-elles|sont-ils|y en a-t-il|en a-t-il|en a-t-elle|en compte-t-il)|"
    r"hoeveel (?:zijn (?:dat|het|er|ze)(?: er)?|heeft (?:die|dat|het|ze) er|telt (?:die|dat|het|ze) er))[ .!]*"
)
_JOINED = re.compile(r"(?i)\s+(?:and|et|en)\s+")


def plans(asked: Understood, today: date) -> Read:
    """The readings of a question, what must be asked back, or None where it is no question to the house.

    Args:
      asked: the question, taken apart.
      today: the day it is asked.
    """
    if is_none(asked):
        return None
    return next(readings(asked, today), None) or _stranger(asked)


def readings(asked: Understood, today: date) -> Iterator[tuple[Plan, ...] | Asking]:
    """Every way in which a question is read whole, the likeliest first.

    Args:
      asked: the question, taken apart.
      today: the day it is asked.
    """
    for form in FORMS:
        read = _whole(form, asked, today)
        if read is not None:
            other = _whole(rules, asked, today) if form is stored and _of_either(asked) else None
            yield (*read, *other) if isinstance(read, tuple) and isinstance(other, tuple) else read


def _whole(form: Callable[[Slots], Read], asked: Understood, today: date) -> Read:
    """What a form reads in a question; None where it leaves a word that tells something."""
    slots = Slots(asked, today)
    read = form(slots)
    return None if read is None or slots.left() else read


def _of_either(asked: Understood) -> bool:
    """Whether warnings and errors may be those of the rules as well as those of the messages in the store."""
    errors = [one for one in asked.found if (one.slot, one.value) == ("severity", "error")]
    refusing = {place for one in errors for place in range(one.start, one.end)}
    of_store = any(asked.has(slot) for slot in ("thing", "stored", "days", "period", "ever", "point"))
    of_store = of_store or any(one.slot == "state" and one.start not in refusing for one in asked.found)
    asking = asked.has("intent", "occurred", "top", "bottom", "since", "last", "when", "average", "today")
    return asked.has("severity") and not of_store and not asking


def is_none(asked: Understood) -> bool:
    """Whether a question is none that facts answer: an order, for which nothing is done, one for advice, one for a
    person who did what is not kept, for what another house has, or one that what is wanted behind it restricts.

    Args:
      asked: the question, taken apart.
    """
    found = _inquired(asked)
    told = {place for one in found if one.slot == "todo" for place in range(one.start, one.end)}
    opinion = any(one.slot == "opinion" and one.start not in told for one in found)
    coming = not _waits_until(asked) and (opinion or _of_the_future(asked, found))
    return asked.has("elsewhere") or is_order(asked) or coming or _of_a_reader(asked) or narrowed(asked.text)


_KEPT_OF_MESSAGES = ("state", "fact", "class", "late")
"""Slots of what the store has of a message."""


def _of_a_reader(asked: Understood) -> bool:
    """Whether it is asked who did something with a message that is not kept: who looked at it last."""
    kept = any(asked.has(slot) for slot in _KEPT_OF_MESSAGES) or asked.has("group", "by")
    kept = kept or asked.has("intent", "freed", "why", "occurred", "state") or asked.has("field", "class")
    return asked.has("message") and not kept and not WHO.isdisjoint(asked.tokens[:1])


_SENTENCES = re.compile(r"(?<=[.!])\s+(?=[^\W\d_])")


def _inquired(asked: Understood) -> list[Match]:
    """The phrases of a question but for those of the statements before it: "we must check them. Which rules ...?"."""
    *before, last = _SENTENCES.split(asked.text)
    inquired = [one for one in before if "?" in one]
    if len(inquired) == len(before):
        return asked.found
    if not (inquired or "?" in last or any(one.slot == "intent" for one in matches(tokens_of(last)))):
        return asked.found
    return matches(rephrased(tokens_of(" ".join((*inquired, last)))))


def _waits_until(asked: Understood) -> bool:
    """Whether it asks until which day a message will wait, which is known."""
    named = asked.has("message") or asked.has("number")
    return named and asked.has("until") and asked.has("state", "quarantined")


def _of_the_future(asked: Understood, found: list[Match]) -> bool:
    """Whether it asks what is to come: only of the validity of rules is that known."""
    of_rules = asked.has("subject", "rule") or asked.has("code")
    future = any(one.slot == "future" for one in found) or _WILL.search(asked.text) is not None
    files = asked.has("field", "file") and asked.values("thing") == ["envelope"]
    return future and not (of_rules and (files or not asked.has("thing")))


_WILL = re.compile(
    r"(?i)\w(?:er|[iuû]r|dr|vr|tr|rr)(?:(?<!vr)ons-nous|(?<=evr)ons-nous|ez-vous|a-t-(?:on|ils?|elles?)|ont-(?:ils|elles))\b"
)
"""The French future before its subject: recevrons-nous."""


_EXACT = ("code", "message", "point", "envelope", "request", "reference", "gateway", "ebix_reason", "script")
"""Slots of names that tell one thing of many: what else a statement says of it restricts nothing."""
_OF_ONE = tuple(slot for slot in _EXACT if slot not in ("ebix_reason", "script"))
"""Those of them that need nothing else to be known by."""
_RESTRICTING = ("days", "kind", "type", "set", "stage", "state", "severity", "class", "direction", "number", "not",
                "without", "except", "only", "than")  # fmt: skip
"""Slots of what may restrict the question behind a statement."""
_LEAD = re.compile(
    r"(?i)^(?P<before>\S.*?)[\s:,;–-]+(?P<last>"
    r"(?:(?:on|in|at|under|with|à|dans|sur|sous|avec|op|met|onder|uit) )?(?:which|what|how \w+|why|"
    r"since when|whether|quel|quels|quelle|quelles|combien|pourquoi|depuis quand|qu'est-ce|"
    r"(?:que |qu')(?:demande|exige|dit|veut dire|signifie|impose|prescrit|vérifie|contrôle)|"
    r"hoeveel|welke?|waarom|sinds wanneer)\b.*)$"
)
"""What is told before the question word of the same sentence."""
_ENDED = re.compile(r"(?:[:;]|\s[–—-])\s*$")
"""A colon, semicolon or dash ends what is told."""
_AMONG = re.compile(
    r"(?i)^(?P<before>(?:of|between|from among|among|de|entre|parmi|van|tussen)\b[^?]*),\s*"
    r"(?P<last>(?:which|quelle|laquelle|lequel|welke?)\b.*)$"
)
"""Of which things one is asked for, and what they are like: of BE-G08 and CO-D06, both on the due date, which."""
_BRACKETED = re.compile(r"(?i)^(?:if|when|where|si|lorsqu|quand|als|wanneer|indien)\b.*\([a-z]{2}-[a-z]+\d+\)\s*$")
"""What a rule says, with its code in brackets: if a point has not fourteen digits (FR-P01)."""
_COLON = re.compile(
    r"(?i)^(?P<before>[^:;]+?)(?:\s*[:;–]|\s+-)\s+(?P<last>(?:(?:is|are|do|does|did|has|have|was|were|est|ont|"
    r"sont|a|heeft|hebben|zijn|geldt|gelden|gold|golden)\b|(?:the |la |le |de |het )?(?:same|même|zelfde|dezelfde|"
    r"hetzelfde)\b|(?:(?:la|cette) )?(?:règle )?\S+ (?:\S*[^\W\d]'\s?)?\w+-(?:t-)?elle\b).*)$"
)
"""What is told of things that are named, before a question to be answered by yes or no."""
_GIVEN = re.compile(
    r"(?i)^(?P<before>(?:(?:given|knowing|considering|seeing) that|although|even though|sachant qu\w*|"
    r"étant donné qu\w*|vu qu\w*|bien qu\w*|gegeven dat|aangezien|gezien|hoewel|wetende dat)\b[^,?]+),"
    r"\s*(?P<last>\S.*)$"
)
"""What is told as known before the question of the same sentence: given that a loss was reported in March, was ..."""
_HEADING = re.compile(
    r"(?i)^(?P<before>[^:?]*\b(?:for|pour|voor)\s+(?:an?|the|my|our|un|une|le|la|les|mon|ma|mes|notre|nos|een|de|het|"
    r"mijn|onze?)\s+(?P<purpose>[^:?]+)):\s+(?P<last>\S.*)$"
)
"""What the answer is wanted for, with a colon: one figure for the board: how many."""
_FRAME = re.compile(
    r"(?i)^(?:(?:just |while |when )?(?:comparing|preparing|checking|reviewing|auditing|filling in|writing)|"
    r"in the (?:context|course|framework) of|as part of|for the purposes? of|dans le cadre d\w*|en vue d\w*|"
    r"pour les besoins d\w*|en (?:comparant|préparant|vérifiant|relisant|rédigeant)|in het kader van|"
    r"met het oog op|ten behoeve van|bij het (?:vergelijken|voorbereiden|nakijken|invullen))\b"
    r"(?P<purpose>[^,:;?]*)[,:]\s+(?P<last>\S.*)$"
)
"""What somebody is at, before the question: in the context of the internal audit, which rules ..."""
_FRAMING = frozenset(("filler", "times", "english", "topic", "subject", "field", "list", "pointed", "kept", "setting",
                      "intent", "word"))  # fmt: skip
_IDLE = frozenset(("filler", "intent", "times"))
"""Slots of words that name nothing that a question may be about."""
_LABEL = re.compile(r"^(?P<label>[^\W\d_][^:?!.;§]{2,80}?)\s*:\s+(?P<last>\S.*)$")
"""What it is about, who asks or in what haste, in a few words before a colon: postcodes: is NL-P16 an error."""
_LABELLING = frozenset(("filler", "times", "english", "list", "receiver", "pointed", "kept", "topic", "word", "number"))
_BY_NUMBER = re.compile(r"#?\d{1,9}\b")
"""A question that begins with the number of a message names it."""
_ASKING = ("field", "intent", "same", "severer", "severity", "state", "supplied", "group")
"""Of these a question that a label stands before has one: nicest wording: NL-R04 or CO-R01?"""
_TAIL = re.compile(
    r"(?i)(?:[,;–-]+\s+(?:and|but|because|since|so|as|et|mais|car|en|maar|want)\s+(?:i|we|my|our|je|j'|nous|on|mon|ik|wij|"
    r"mijn|onze)\b[^?]*|[.?!]\s+(?:can|could|would|peux|peut|pouvez|pourriez|kun|kunt|zou)\b[^.?!]*\b(?:name|list|show|"
    r"tell|give|nommer|lister|citer|montrer|donner|dire|noemen|tonen|geven|opnoemen)\b"
    r"(?![^.?!]*\b(?:what|which|why|how|when|whether|if|quel\w*|pourquoi|combien|quand|comment|si|wat|welke?|waarom|"
    r"hoe\w*|wanneer|of)\b)[^.?!]*)[.?!]*$"
)
"""What is told behind a question: and I have no idea where to look; can you name them?"""
_BACK = frozenset((
    "one", "ones", "them", "they", "those", "these", "it", "its", "such", "en", "ils", "elles", "celles", "ceux",
    "leur", "leurs", "er", "ze", "die", "deze", "hun", "hiervan", "daarvan", "ervan",
))  # fmt: skip
"""Words that point back into a statement."""


_BEGINS = (
    r"(?:(?:in|on|of|to|by|from|at|à|dans|sur|sous|de|pour|in|op|van|aan|uit|onder)\s+)?(?:which|what|whose|quel(?:le)?s?|"
    r"lequel|laquelle|welke?)\b|(?:how|why|since when|when|where|is|are|was|were|do|does|did|has|have|had|can|could|"
    r"please|give|tell|show|list|combien|pourquoi|depuis quand|quand|où|est-ce|donne\w*|peux|pouvez|pourriez|wat|hoe|"
    r"hoeveel|waarom|waar|wanneer|sinds|geef|toon|is|zijn|heeft|hebben|kan|kun|kunt|geldt|gelden|behoort|behoren)\b|"
    r"(?:ont|sont|est|a)(?:-t)?-(?:elles?|ils?)\b"
)
"""How a question begins."""
_APPOSITION = re.compile(
    r"(?i)^(?P<head>.*(?:\b[a-z]{2}-[a-z]\d{2}|\b(?:message|bericht)\s+\d{1,18}|(?<!\d)\d{12,18}))\s*,\s*"
    r"(?:(?:both|each|all) of )?(?:which|that|who|concerning|about|relating to|qui|qu'\w+|que|dont|lesquel\w+|"
    r"(?:selon|d'après) l[ae]s?quel\w*|relati(?:f|ve)s? (?:à|au|aux)|concernant|portant sur|au sujet d\w*|die|dat|"
    r"waarin|waarvan|volgens welke|over|betreffende|inzake)\s+[^,;:?]+(?:,\s*(?P<rest>\S.*)|[\s.?!]*)$"
)
"""What is told of a rule, message or point that is named: BE-R06 and NL-R08, which bear the same title, ..."""
_BEGINNING = re.compile(rf"(?i){_BEGINS}")


def without_apposition(text: str) -> str | None:
    """A question without what it tells, between commas, of the thing that it names; None where it tells nothing.

    Args:
      text: the question.
    """
    found = _APPOSITION.match(text)
    if found is None:
        return None
    head, rest = found["head"], found["rest"] or ""
    if not (_BEGINNING.match(head) or _BEGINNING.match(rest)):
        return None  # of A and B, which is the severer
    return " ".join((head, rest)).strip()


def inquiry(asked: Understood, taken: Callable[[str], Understood | None]) -> Understood | None:
    """A question without what is told before and behind it, of which only what it names is kept.

    *FR-G08 and FR-G09 are both about the power of a line. How severe are they?* asks about the two rules, whatever is
    said of them. None where there is no such statement, or where it may restrict what is asked.

    Args:
      asked: the question, taken apart.
      taken: takes a text apart.
    """
    if is_none(asked):
        return None
    framed = _unlabelled(asked, taken) or _unframed(asked, taken)
    if framed is not None:
        return framed
    text = wished(_TAIL.sub("", asked.text), taken)
    before, last = _split(text, taken)
    if any("?" in one for one in before) or (not before and text == asked.text):
        return None
    behind = taken(asked.text[len(text) :])
    if behind is not None and any(behind.has(slot) for slot in (*_EXACT, "market", "kind", "days", "severity")):
        return None
    if not before:
        return taken(last)
    told, question = taken(" ".join(before)), taken(last)
    if told is None or question is None or _asks_for_all(question):
        return None  # what that setting is called: the statement says which
    if told.days.day is not None and question.has("code") and _THAT_DAY.search(last):
        return taken(_THAT_DAY.sub(f"on {told.days.day}", last))
    again = [slot for slot in _EXACT if question.has(slot)]
    if again and all(set(question.values(slot)) <= set(told.values(slot)) for slot in again):
        return question if _BACK.isdisjoint(question.tokens) else None  # it names the thing itself once more
    meant = _meant(told, question)
    if meant:
        return taken(f"{meant}, {last}")
    named = _kept_of(told, question)
    short = None if named is None else taken(" ".join((", ".join(named), last)).strip())
    if short is not None:
        short.language = asked.language
    return short


def _unlabelled(asked: Understood, taken: Callable[[str], Understood | None]) -> Understood | None:
    """A question without a few words with a colon before it: postcodes: is NL-P16 an error."""
    label = _LABEL.match(asked.text)
    head = None if label is None else taken(label["label"])
    if label is None or head is None or not {one.slot for one in head.found} <= _LABELLING:
        return None
    short = taken(label["last"])
    own = short is not None and (any(map(short.has, _OF_ONE)) or _BY_NUMBER.match(short.text) is not None)
    return short if short is not None and own and any(map(short.has, _ASKING)) else None


def _unframed(asked: Understood, taken: Callable[[str], Understood | None]) -> Understood | None:
    """A question without what its answer is wanted for, or what somebody is at."""
    heading = _HEADING.match(asked.text)
    if heading is not None and _is_idle(heading["before"], heading["purpose"], asked):
        short = taken(heading["last"])
        if short is not None:
            short.language = asked.language
        return short
    frame = _FRAME.match(asked.text)
    told = None if frame is None else taken(frame["purpose"])
    if frame is None or told is None or not {one.slot for one in told.found} <= _FRAMING:
        return None
    short = taken(frame["last"])
    return short if short is not None and (short.has("code") or short.has("subject", "rule")) else None


def _kept_of(told: Understood, question: Understood) -> list[str] | None:
    """The names of a statement that the question behind it is about; None where it may restrict what is asked."""
    kept = {one.start for one in told.found if one.slot in _EXACT}
    if any(one.slot not in (*_EXACT, "market", "days") and one.start not in kept and told.word(one.start)[:1] == "§"
           for one in told.found):  # fmt: skip
        return None  # a script, a setting, a code of a list
    exact = {slot: told.values(slot) for slot in _EXACT if told.has(slot)}
    if exact:
        return None if _names(question) else [
            value if slot not in ("message", "envelope") else f"{slot} {value}"
            for slot, values in exact.items() for value in values
        ]  # fmt: skip
    number = _numbered(told, question)
    if number is not None:
        return [number]
    if _of_pages(question):
        return []
    if _restricts(told, question) or (_points_back(question) and not _only_market(told)):
        return None
    places = [place for one in told.found if one.slot == "market" for place in range(one.start, one.end)]
    return [] if question.has("market") else [told.tokens[place] for place in dict.fromkeys(places)]


def _points_back(question: Understood) -> bool:
    """Whether a word of a question points back into a statement; the one of *zijn er* does not."""
    there = {place for one in question.found if (one.slot, one.value) == ("intent", "exists")
             for place in range(one.start, one.end)}  # fmt: skip
    return any(token in _BACK and place not in there for place, token in enumerate(question.tokens))


_WISH = re.compile(
    r"(?i)(?<=\?)\s+(?P<wish>(?:the|my|our|some\w+|every\w+|i|we|he|she|they|le|la|les|l'|mon|ma|notre|quelqu'un|je|on|il|"
    r"elle|de|het|mijn|onze?|iemand|ik|we|wij|hij|ze|zij)\s?(?:\w+\s){0,3}?"
    r"(?:wants?|needs?|asks?|asked|insists?|claims?|says|swears?|veut|veulent|veux|demandent?|réclament?|insistent?|"
    r"prétend|attend|jure|wil|willen|vraagt|vroeg|beweert|zegt|zweert|eist)\b[^?]*)$"
)
"""Behind a question, who wants to hear the answer or says what it may be: the lawyer wants the reference."""
_IN_A_WISH = _IDLE | {"english", "pointed", "kept", "topic", "word", "setting", "than"}


def wished(text: str, taken: Callable[[str], Understood | None]) -> str:
    """A question without who wants to hear the answer, unless what is wanted may restrict it.

    Args:
      text: the question.
      taken: takes a text apart.
    """
    wish = _WISH.search(text)
    told = taken(wish["wish"]) if wish is not None else None
    if wish is None or told is None or narrowed(text) or not {one.slot for one in told.found} <= _IN_A_WISH:
        return text
    return text[: wish.start()]


_CLAIMS = frozenset(("insists", "claims", "says", "swears", "pretend", "jure", "beweert", "zegt", "zweert"))
"""Verbs of who only says what the answer may be."""
_THESE = frozenset(("those", "one", "ones", "ceux", "celles", "celui", "celle", "die", "degene"))


def narrowed(text: str) -> bool:
    """Whether what is wanted behind a question restricts it: the boss wants those of March.

    Args:
      text: the question.
    """
    wish = _WISH.search(text)
    tokens = [] if wish is None else tokens_of(wish["wish"])
    if not _CLAIMS.isdisjoint(tokens):
        return False
    return not _THESE.isdisjoint(tokens) or any(
        one.slot in (*_RESTRICTING, "period", "market") and one.slot != "than" for one in matches(tokens)
    )


_THAT_DAY = re.compile(
    r"(?i)\b(?:on )?that (?:day|date)\b|\b(?:(?:by|back|even|as early as) )?then\b|\bat that (?:time|moment)\b|"
    r"\b(?:à )?(?:ce jour(?:-là)?|cette date(?:-là)?|ce moment(?:-là)?)(?!\w)|\balors\b|"
    r"\b(?:op )?(?:die (?:dag|datum)|dat (?:ogenblik|moment))\b|\btoen\b"
)
"""Points back to a day."""

_FIRST_NUMBER = re.compile(
    r"(?i)^(?:(?:le|la|het|nr\.?|no\.?|n°|number|numéro|nummer)\s+)?#?(\d{1,9})\s*"
    r"(?:[,.–-]|(?:is|was|has|got|keeps|came|went|est|a|reste|s'est|werd|blijft|zit|staat|hangt|kwam|ging)\b)"
)
"""A lone number of which something is told."""
_OF_IT = frozenset(("it", "its", "that", "le", "lui", "il", "elle", "l", "het", "hem", "dat", "die", "eraan", "ermee"))


def _numbered(told: Understood, question: Understood) -> str | None:
    """The lone number that a statement begins with, where the question asks why it, a message, is so."""
    first = _FIRST_NUMBER.match(told.text)
    asks = question.has("intent", "why", "state", "freed") or question.has("group", "waits_for")
    named = any(question.has(slot) for slot in (*_EXACT, "thing", "subject", "number", "market"))
    if first is None or not asks or named or told.values("number") != [first[1]] or told.has("thing", "request"):
        return None
    return first[1] if len(question.tokens) == 1 or not _OF_IT.isdisjoint(question.tokens) else None


def _only_market(told: Understood) -> bool:
    """Whether a statement names a market and nothing else: what points back can only mean its people."""
    known = {place for one in told.found for place in range(one.start, one.end)}
    slots = {one.slot for one in told.found} - {"market", "english", "filler"}
    return not slots and len(told.values("market")) == 1 and not told.telling() - known


def _split(text: str, taken: Callable[[str], Understood | None]) -> tuple[list[str], str]:
    """What is told before a question, sentence by sentence, and the question."""
    *before, last = _SENTENCES.split(text)
    lead = None if before else _LEAD.match(text)
    if lead is not None and (
        _BRACKETED.search(lead["before"])
        or not TOLD_BY.isdisjoint(tokens_of(lead["before"]))
        or (
            _ENDED.search(text[: lead.start("last")])
            and (told := taken(lead["before"]))
            and (_names(told) or _asks_of_pages(lead["last"], taken))
        )
    ):
        return [lead["before"]], lead["last"]
    given = None if before else _GIVEN.match(text)
    if given is not None and (question := taken(given["last"])) and _names(question):
        return [given["before"]], given["last"]
    among = None if before else _AMONG.match(text)
    if among is not None and (told := taken(among["before"])) and len(told.values("code")) == 2:
        return [among["before"]], among["last"]
    colon = None if before else _COLON.match(text)
    if colon is not None and (told := taken(colon["before"])) and (_names(told) or _THAT_DAY.search(colon["last"])):
        return [colon["before"]], colon["last"]
    return before, last


def _names(told: Understood) -> bool:
    """Whether a statement names one thing of many."""
    return any(told.has(slot) for slot in _EXACT)


_REPEATED = ("state", "severity", "kind", "type", "class")
"""Of these a question that says the same again leaves nothing of the statement but how many there are."""


_NAMELESS = frozenset(("not", "filler", "english"))
"""Slots of words that name nothing."""


def _restricts(told: Understood, question: Understood) -> bool:
    """Whether a statement may restrict the question behind it: what the question itself says again does not.

    *Three files could not be read. Which envelopes failed?* asks for all that failed.
    """
    if {one.slot for one in told.found} <= _NAMELESS:
        return False  # he never agreed: no value is denied
    again = {slot for slot in _REPEATED if told.has(slot) and set(told.values(slot)) <= set(question.values(slot))}
    if told.has("period") or told.has("intent", "last", "since", "today"):
        again = set()  # so many of yesterday, and not all
    if question.has("days") and _names(question):
        again |= {"days"}  # it names the thing and the day itself
    inside = {place for one in told.found if one.slot in again for place in range(one.start, one.end)}
    return any(
        one.slot in _RESTRICTING and one.slot not in again and not (again and one.slot == "number")
        and one.start not in inside
        for one in told.found
    )  # fmt: skip


def _of_pages(question: Understood) -> bool:
    """Whether it asks for a setting or a command, which no day, kind or state of what is told restricts."""
    asked = question.has("intent", "default") or question.has("subject", "command", "setting", "variable")
    return asked and not question.has("subject", "rule")


def _asks_for_all(question: Understood) -> bool:
    """Whether it asks for a setting, a command or an exit code, and says nothing of it."""
    if not question.has("subject", "setting", "command", "exit"):
        return False
    asking = {place for one in question.found if one.slot in ("intent", "subject", "field")
              for place in range(one.start, one.end)}  # fmt: skip
    return not question.telling() - asking


def _asks_of_pages(last: str, taken: Callable[[str], Understood | None]) -> bool:
    question = taken(last)
    return question is not None and _of_pages(question)


_BEARING = ("gateway", "listed", "word")
"""Slots of names whose meaning may be asked for."""


def _meant(told: Understood, question: Understood) -> str:
    """The name in a statement whose meaning is all that is asked for: I see quality 46. What does that stand for?

    Args:
      told: the statement.
      question: what follows it.
    """
    said = {place for one in question.found if (one.slot, one.value) == ("field", "sentence")
            for place in range(one.start, one.end)}  # fmt: skip
    whose = {place for one in question.found if one.slot == "market" for place in range(one.start, one.end)}
    if not said or question.telling() - said - whose:
        return ""
    types = told.values("type")  # X12 says CPNR: what brought a code is not asked about
    names = {slot: [one for one in told.values(slot) if one not in types] or told.values(slot)
             for slot in _BEARING if told.has(slot)}  # fmt: skip
    slot, values = next(iter(names.items()), ("", []))
    if len(values) != 1 or any(told.has(one) for one in _EXACT):
        return ""
    if slot == "listed" and values[0].isdigit() and not (told.has("list") or told.has("subject", "code")):
        return ""  # a number is a code where it is called so
    if slot != "listed":
        return values[0]
    places = [place for one in told.found if one.slot == "market" for place in range(one.start, one.end)]
    markets = [told.tokens[place] for place in dict.fromkeys(places)]
    return " ".join((*markets, *told.values("list")[:1], "code", values[0]))


def _is_idle(before: str, purpose: str, asked: Understood) -> bool:
    """Whether what stands before a colon names nothing that a question may be about: no word of the rules' texts."""
    named = [one for one in matches(tokens_of(before)) if one.slot not in _IDLE]
    return not named and asked.spoken().isdisjoint(word for word in tokens_of(purpose) if not is_question_word(word))


_NO_WISH = r"(?:(?!\b(?:that|which|what|came|come|got|me|us|qui|que|quels?|quelles?|die|welke?|zien|weten)\b)[^?])*"
_FREEING = re.compile(
    r"(?i)^(?:please\s+)?(?:débloque[rz]?|libère|libére[rz]|unblock|release|free|deblokkeer)\s+"
    r"(?:(?:le|la|les|the|het|de)\s+)?(?:message|bericht|number|num[ée]ro|nummer|demande|request|everything|all\b|"
    r"tou(?:t|te|s|tes)\b|alle|\d)|"
    rf"^(?:please\s+|just\s+)?(?:(?:let|take|get|pull|move|bring)\b{_NO_WISH}\bout of (?:the )?quarantine|"
    rf"(?:sors|sortez|sortir|retire[rz]?)\b{_NO_WISH}\bde (?:la )?quarantaine|"
    rf"(?:haal|laat|neem)\b{_NO_WISH}\b(?:uit (?:de )?quarantaine|vrij))\b"
)
"""To free something is an order; what was freed is asked for by the same words with an accent, or elsewhere."""


def is_order(asked: Understood) -> bool:
    """Whether a question begins as an order: accept message 121."""
    if _FREEING.match(asked.text):
        return True
    place = min(asked.telling(), default=-1)
    if place < 0 or not _TELLER.isdisjoint(asked.tokens[:place]):
        return False
    if any(one.slot == "intent" and one.start < place for one in asked.found):
        return False
    return any(phrase.words == (asked.tokens[place],) for phrase in phrases() if phrase.slot == "order")


def _stranger(asked: Understood) -> Read:
    """A country that is no market here, where the question is one to the house otherwise."""
    if not (asked.has("subject", "rule", "list", "code") or asked.has("thing", "message", "request", "access_point")):
        return None
    known = {place for one in asked.found for place in range(one.start, one.end)}
    for place in sorted(asked.telling() - known):
        name = _country(asked.tokens[place])
        if name:
            return Asking("no_market", asked.markets, name)
    return None


@lru_cache(maxsize=64)
def _country(token: str) -> str:
    """The country that a word names, or whose language or people it is; empty where it is none."""
    from babel import Locale

    for language in ("en", "fr", "nl"):
        locale = Locale(language)
        for names in (locale.territories, locale.languages):
            for name in names.values():
                if len(token) > 3 and (token == plain(name) or inflected(plain(name), token)):
                    return str(name)
    return ""


def parts_of(question: str, asked: Understood) -> tuple[str, ...]:
    """The parts of a question in two parts, as they were asked; one where it is a whole.

    Args:
      question: the question.
      asked: the same, taken apart.
    """
    if "whose" in asked.tokens:
        return (question,)  # the rules whose class is ordering and which only warn
    parts = [part.strip(" ?") for part in _PARTS.split(question) if part and part.strip(" ?")]
    if len(parts) == 2 and _WHICH_ONES.fullmatch(parts[1]):
        return (question,)
    if len(parts) == 2 and not _LEAVING.isdisjoint(rephrased(tokens_of(parts[1]))[:1]):
        return (question,)  # which rules has Belgium? Spare me the warnings.
    if len(parts) == 2 and asked.has("intent", "top", "bottom") and _HOW_MANY_THEY.fullmatch(parts[1]):
        return (question,)  # which has the most, and how many: both are told
    together = asked.has("intent", "compare") or asked.has("same")
    if len(parts) == 1 and len(asked.values("code")) == 2 and not together:
        halves = _JOINED.split(parts[0])
        fields = len([one for one in asked.values("field") if one != "sentence"])
        if len(halves) == 2 and fields > 1 and " " in halves[0].strip():
            parts = halves
    return tuple(parts) if len(parts) == 2 else (question,)


_TELLER = frozenset(("we", "i", "nous", "on", "je", "wij", "ik", "before", "avant"))
"""Before a verb they say who does it: before we send."""

_HEADS = ("subject", "thing", "code", "unknown_code", "message", "point", "setting", "list", "gateway")
_VERDICTS = ("severity", "class", "state")
"""Where a part says one of them, it needs none of the other part."""
_SHARED = ("subject", "thing", "kind", "point", "type", "gateway", "message", "set", "stage", "direction",
           "ebix_reason", "list", *_VERDICTS)  # fmt: skip


def share(first: Understood, second: Understood) -> None:
    """Give each part of a question what only the other says: "how many rules has Denmark and how many of them warn".

    Args:
      first, second: its parts; what is added stands behind their words.
    """

    def give(one: Understood, other: Understood, slots: tuple[str, ...]) -> None:
        end = len(other.tokens)
        if any(other.has(slot) for slot in _VERDICTS):
            slots = tuple(slot for slot in slots if slot not in _VERDICTS)
        other.found += [
            Match(end, end, match.slot, match.value)
            for match in one.found
            if match.slot in slots and not other.has(match.slot)
        ]

    if not any(second.has(slot) for slot in _HEADS):
        give(first, second, _SHARED)
    about_rules = second.has("subject") == first.has("subject")
    if about_rules and not (first.has("code") or second.has("code")):
        give(first, second, ("market",))
        give(second, first, ("market",))


FORMS: tuple[Callable[[Slots], Read], ...] = (
    message, request_life, point_life, same_as, compare, documents, changes, codes, alarm, option, setting, command,
    how_to_set, word, code_lists, one_rule, versions, held, stored, only_there, rules, kernel_field,
)  # fmt: skip
