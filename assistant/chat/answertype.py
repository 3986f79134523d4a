"""The type of answer that a question asks for, and whether a text holds one.

A sentence on the right topic is no answer to "how long" where it names no duration. The words are those of English,
French and Dutch; a question of none of these types is answered by any sentence.
"""

from __future__ import annotations

import re
from typing import Literal

Type = Literal["money", "duration", "time", "size", "count", "code", "person", "list"]


def _any(words: str) -> str:
    """A pattern for one of some words, as they are written between spaces; `_` stands for a space within one."""
    return "(?:" + "|".join(word.replace("_", r"\s") for word in words.split()) + ")"


NUMBER = r"(?:\d[\d  .,]*|\b" + _any(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen eighteen "
    "twenty thirty forty sixty un une deux trois quatre cinq sept huit neuf dix onze douze treize "
    "quatorze quinze seize "
    "vingt trente quarante soixante een één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien "
    "vijftien twintig dertig veertig zestig"
) + r"\b)"  # fmt: skip
UNIT = r"(?:(?:working|calendar|business)\s)?" + _any(
    "seconds? minutes? hours? days? weeks? months? quarters? years? secondes? heures? jours? semaines? "
    "mois trimestres? "
    "ans? années? seconden? minuut minuten uur uren (?:werk)?dag(?:en)? week weken maand(?:en)? kwartaal jaar jaren"
) + r"\b"  # fmt: skip
SPAN = rf"{NUMBER}\s*(?:-|–|to|à|tot)?\s*(?:{NUMBER})?\s*{UNIT}|\bP(?:T?\d+[YMWDHS])+"
MONTH = _any(
    "january february march april (?-i:May) june july august september october november december "
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre "
    "januari februari maart mei juni juli augustus oktober"
)
DAY = (
    r"\b\d{4}-\d{2}(?:-\d{2})?\b|\b\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?\b|\b\d{1,2}:\d{2}\b|\b(?:19|20)\d{2}\b|"
    rf"\b{MONTH}\b"
)
WHEN = r"\b" + _any(
    "when whenever where only next then at_the_(?:start|end|beginning) once before after until till upon during since "
    "from_the_(?:day|date|moment) as_soon_as daily weekly monthly every midnight noon immediately today "
    "morning day date "
    "month year if quand lorsqu dès avant après jusqu depuis chaque tous_les minuit midi immédiatement jour mois si "
    "prochain wanneer zodra voor na tot sinds elke dagelijks middernacht onmiddellijk dag datum maand als volgende"
)  # fmt: skip
OFTEN = r"\b" + _any(
    "hourly daily nightly weekly monthly yearly every_(?:second|minute|hour|day|night|week|month|year) once_an? "
    "chaque_(?:heure|jour|nuit|semaine|mois|année) tous_les_(?:jours|mois|ans) quotidien\\w* "
    "dagelijks wekelijks maandelijks elke_(?:minuut|dag|nacht|week|maand) elk_(?:uur|jaar)"
) + r"\b"  # fmt: skip
FOR_EVER = r"\b" + _any("midnight permanent indefinite forever unlimited illimité onbeperkt")
ACTOR = _any(
    "supplier operator provider party parties user customer consumer compan(?:y|ies) organi[sz]ation person people "
    "authorit(?:y|ies) regulator administrator officer manager analyst owner consultant reader team "
    "developer responsible "
    "agent tso dso fournisseur opérateur gestionnaire client utilisateur responsable personne autorité leverancier "
    "beheerder klant gebruiker persoon partij"
)  # fmt: skip

NAMED = (
    r"\b(?!(?:The|This|That|These|Those|It|There|They|He|She|We|You|If|What|Which|Cela|Il|Elle|Dit|Dat|Het)\b)"
    r"[A-Z]\w+ (?:is|are|has|does|will|can|may|must|shall|est|peut|doit|kan|mag|moet)\b"
)
"""A name that does something."""

HOLDS: dict[Type, re.Pattern[str]] = {
    "money": re.compile(
        r"(?i)[€$£]\s?\d|\d\s?(?:[€$£%]|(?:eur|euros?|nok|dkk|sek|usd|cents?|kroner)\b)|\b"
        + _any("free_of_charge gratuit gratis")
    ),
    "duration": re.compile(rf"(?i){SPAN}|{DAY}|{FOR_EVER}|{OFTEN}"),
    "time": re.compile(rf"(?i){SPAN}|{DAY}|{WHEN}"),
    "size": re.compile(
        r"\d[\d  .,]*\s?(?:%|[kMGT]?i?(?:B|W|Wh|V|VA|A)\b|(?i:bytes?|bits?|characters?|digits?|octets?|tekens?)\b)|"
        r"(?i:max\w*|min\w*|length|size|than|to|<=?|≤|taille|groot)\W+(?:\w+\W+){0,2}?\d"
    ),
    "count": re.compile(rf"(?i){NUMBER}|\b" + _any("no none any each every exactly single aucun geen elk") + r"\b"),
    "code": re.compile(
        r"\b(?=[\w.-]*\d)[A-Z][\w.-]*\b|\b[A-Z]{2,}[\w-]*\b|\b[a-z]+(?:_[a-z0-9]+)+\b|\b\d{2,}\b|\b[A-Z]\w*-[A-Z]\w*\b|"
        r"\b[a-z]\w*(?::\w+)+\b"
    ),
    "person": re.compile(
        rf"(?i:\b\w*{ACTOR}s?\b)|\b(?:by|par|door) (?:the |le |la |de |het )?[A-Z]\w+|{NAMED}|"
        r"(?<=[a-z,] )[A-Z][a-z]\w+|(?<=\| )[A-Z]\w+|\b[A-Z]{2,5}\b"
    ),
}
"""Type -> what a text of it has."""

_OPENS = (
    r"(?i)(?:^|[,;]\s|\b" + _any("and et en since until from by to depuis jusqu'à par à sinds tot door aan") + r"\s)"
)
_WHICH = r"(?i)\b(?:which|what|quel(?:le)?s?|welke?)\s"
_NO_VERB = r"(?:(?!" + _any("does do is are did was has says means est sont zijn") + r"\b)\w+\s)"

_ASKS: tuple[tuple[Type, re.Pattern[str]], ...] = (
    (
        "money",
        re.compile(
            r"(?i)\b(?:how much (?:does|do|is|must)\b.*\b(?:costs?|pay|paid)|what does .* cost|"
            r"combien co[uû]te|quel(?:le)? (?:prix|montant)|hoeveel kost|wat kost|"
            r"(?:which|what) (?:fee|price|amount)\b.*\b(?:charge|cost|pay)|"
            r"(?:which|what|quel|welk) (?:\w+ )?(?:rate|percentage|share|taux|pourcentage|tarief)\b)"
        ),
    ),
    (
        "duration",
        re.compile(
            r"(?i)\b(?:how long|how often|how far ahead|for how|within how|"
            rf"(?:how many|combien de|hoeveel) {UNIT}|"
            r"(?:what|which) (?:delay|deadline|time limit|(?:time )?resolution)|"
            r"combien de temps|pendant combien|à quelle fréquence|quel délai|hoe lang|hoe vaak|welke termijn)\b"
        ),
    ),
    (
        "time",
        re.compile(
            rf"{_OPENS}(?:when|quand|wanneer)\b|\b(?:on|by|from|until|à|op|vanaf) (?:which|what|quel(?:le)?|welke) "
            r"(?:day|date|jour|moment|dag|datum)"
        ),
    ),
    ("size", re.compile(r"(?i)\b(?:how (?:large|big|high)|hoe (?:groot|hoog)|quelle est la taille)\b")),
    (
        "count",
        re.compile(
            r"(?i)\b(?:how many|what is the (?:maxim\w+|minim\w+|largest|smallest)|combien d|"
            r"hoeveel|"
            r"quelle est la (?:longueur|taille)|on (?:which|what) port|sur quel port|op welke poort)"
        ),
    ),
    (
        "code",
        re.compile(
            rf"{_WHICH}{_NO_VERB}{{0,2}}(?:codes?|value|identifiers?|ids?|scopes?|parameters?|rule numbers?|"
            rf"(?:validation|policy) rule|http (?:response|status|method)|foutcodes?|header)\b|"
            r"(?i:\bwhat is the (?:\w+ )?(?:code|id|identifier)\b)"
        ),
    ),
    ("person", re.compile(rf"{_OPENS}(?:who|whom|qui|wie)\b")),
    (
        "list",
        re.compile(
            rf"{_WHICH}(?:\w+\s)?(?!{_any('does is was has says means this process')}\b)\w{{3,}}(?:[^s\W]s|en)\b|"
            r"(?i:\b(?:what are|quels? sont|wat zijn|what can trigger)\b)"
        ),
    ),
)  # fmt: skip
"""Types in the order in which a question is held against them."""

_POLAR = re.compile(
    r"(?i)^\W*" + _any(
        "is are was were does do did can could may must should will has have peut-on doit-on faut-il est-ce est sont "
        "peut doit a-t-on zijn kan kunnen mag mogen moet moeten heeft hebben wordt worden"
    ) + r"\b"
)  # fmt: skip
_SETTLES = re.compile(
    r"(?i)\b" + _any(
        "not never cannot can may must always only no none nor without ne pas jamais peut peuvent doit doivent "
        "toujours seulement aucun sans niet nooit geen kan kunnen mag mogen moet moeten altijd alleen zonder"
    ) + r"\b"
)  # fmt: skip
"""Words by which a sentence says what is so and what is not."""

_ENUMERATED = re.compile(
    r"(?i)\b(?:one of|any of|either|l'un de|une? des|een van):?\s[^.;]*,|"
    r"[^,.;:]+,[^,.;:]+,? (?:and|or|et|ou) [^,.;:]+"
)
"""Things that are told one after the other within a sentence."""

_THINGS = re.compile(
    r"(?i)\b(?:which|what are|quel(?:le)?s?(?: sont)?|welke|wat zijn)\s(?:the\s|les\s|de\s)?"
    r"(?:\w+\s){0,2}?(\w{3,}(?:[^s\W]s|en))\b"
)
"""The things of which a list is asked for."""

_NEGATED = re.compile(
    r"(?i)\b(?:not|never|cannot|doesn't|don't|without|ne|pas|jamais|sans|niet|nooit|geen|zonder)\b(?:\s+(?:be|been|yet))?"
    r"\s+([^\W\d_]{3,})"
)
"""A word that is denied."""

CHARACTERS, LENGTH = r"(?i)charact|lette|caract|lettr|teken", r"length|longueur|lengte"
"""What a text is counted in, and how a table tells how much of it there may be."""

_COUNTED = re.compile(r"(?i)\b(?:how many|combien (?:de |d')|hoeveel)\s*([^\W\d_]+)(?:\s([^\W\d_]+))?")


def asked_type(question: str) -> Type | None:
    """The type of answer that a question asks for; None for any sentence."""
    return next((name for name, pattern in _ASKS if pattern.search(question)), None)


_IS = _any("is are was were be at may must of max maximum minimum est sont de maximal zijn")
_UPPER = re.compile(r"(?i)\b(?:max\w*|longest|largest|highest|at most|au plus|hoogstens)\b")
_LOWER = re.compile(r"(?i)\b(?:min|minim\w+|at least|au moins|minstens)\b")


def _other_bound(question: str, text: str) -> bool:
    """Whether a text tells the other bound than the one that is asked for."""
    return any(
        asked.search(question) and not other.search(question) and other.search(text) and not asked.search(text)
        for asked, other in ((_UPPER, _LOWER), (_LOWER, _UPPER))
    )


_AT_END = re.compile(
    r"(?i)\b(?:go(?:es)? away|no longer|stops?|ends?|expires?|disappears?|removed|"
    r"dispara\w+|expire|prend fin|n'est plus|verdwijn\w*|vervalt|eindigt)\b"
)
_ENDS = re.compile(
    r"(?i)\b(?:until|till|remov\w+|clear\w+|expir\w+|delet\w+|ends?|ended|stop\w*|jusqu\w*|supprim\w+|tot|verwijder\w+)\b"
)
"""When something is over, and how a text says that it is."""

_UNTIL_WHEN = re.compile(r"(?i)\b(?:until when|by when|jusqu'à quand|tot wanneer)\b")
_UNTIL = re.compile(
    r"(?i)\b(?:until|till|before|no later|at the latest|avant|au plus tard|jusqu\w*|tot|voor|voordat|uiterlijk)\b"
)
"""Up to when something is so, and how a text says it."""

_AT_ONCE = re.compile(
    r"(?i)\b(?:(?:more than one|several|multiple|plusieurs|meerdere)((?:\s+[^\W\d_]+){1,3})|"
    r"at (?:once|a time|the same time)\b|à la fois\b|tegelijk\b)"
)
_AS_MANY = re.compile(
    r"(?i)\b(?:multiple|several|more than one|one or more|only (?:\w+ )?one|exactly one|just one|single|each|"
    r"at (?:once|a time)|same time|plusieurs|un(?:e)? seule?|chaque|à la fois|meerdere|één enkele?|elke?|tegelijk)\b"
)
"""Whether there may be several, and how a text says so."""

_HAPPENED = re.compile(r"(?i)^\W*(?:when|in which year) (?:did|was|were)\b")

_STRONG_TIME = re.compile(
    rf"(?i){SPAN}|{DAY}|\b" + _any(
        "when whenever if once before after until till upon as_soon_as during at_the_(?:start|end|beginning|time) "
        "from_the_(?:day|date|moment) from_then_on daily weekly monthly every midnight noon immediately not_until "
        "quand lorsqu dès avant après jusqu chaque tous_les minuit midi immédiatement si "
        "wanneer zodra voordat nadat tot elke dagelijks middernacht onmiddellijk als"
    ) + r"\b"
)  # fmt: skip

_WHO_DOES = re.compile(
    r"(?i)\b(?:who|whom)\s+(?:(?:can|may|must|should|will|has to|have to|is|are|does|do)\s+)*(?:be\s+)?"
    r"(?:(?:the|an?|responsible|allowed)\s+)*([^\W\d_]{4,})"
)
_PARTY = rf"(?:\b\w*(?i:{ACTOR})s?\b|\b[A-Z]{{2,5}}s?\b|(?<=[a-z,(] )\b[A-Z][a-z]\w+)"
"""Somebody: an actor, an abbreviation, a name within a sentence."""


def things_of(question: str) -> str:
    """The beginning of the word for the things of which a list is asked for; empty where it names none."""
    found = _THINGS.search(question)
    word = found.group(1).casefold() if found else ""
    return word[: max(4, len(word) - 2)]


def settles(question: str, text: str) -> bool:
    """Whether a text may settle what is asked; one that is asked for yes or no says what may be or is not."""
    return _POLAR.match(question) is None or _SETTLES.search(text) is not None or _as_many(question, text)


def enumerates(text: str) -> bool:
    """Whether a sentence tells several things one after the other."""
    return _ENUMERATED.search(text) is not None


def denies_alike(question: str, text: str) -> bool | None:
    """Whether a text denies what a question denies: "does not exist" is not answered by what exists.

    Args:
      question: the question.
      text: a sentence.

    Returns:
      None where the question denies nothing.
    """
    asked = {word.casefold()[:5] for word in _NEGATED.findall(question)}
    return bool(asked & {word.casefold()[:5] for word in _NEGATED.findall(text)}) if asked else None


WEAKLY = 0.4
"""How well a text fits that holds an answer of the type, which need not be what is asked."""

_TYPICAL_CODE = re.compile(
    r"\b(?=[\w.-]*\d)[A-Z][\w.-]*\b|\b[a-z]+(?:_[a-z0-9]+)+\b|\b\w+(?::\w+)+\b|\b[1-5]\d\d\b|\b[A-Z]\w*-[A-Z]\w*\b|"
    r"\b(?:GET|PUT|POST|PATCH|DELETE)\b"
)
"""What is a code beyond doubt: an abbreviation may be anything."""

WORD_END = {False: r"\w{0,3}\b", True: r"\w*"}
"""How the word of a stem may go on, by whether the stem is long."""


def _does(question: str, text: str) -> bool:
    """Whether a text says of somebody that he does what a question asks who does."""
    found = _WHO_DOES.search(question)
    if found is None:
        return True
    verb = found.group(1).casefold()
    stem = re.escape(verb[: max(4, min(6, len(verb) - 2))])
    done = rf"(?<![\w-])(?i:{stem}){WORD_END[len(stem) > 4]}"
    does = rf"{_PARTY}[^.:;,|]{{0,40}}?{done}|{done}[^.;|]{{0,60}}?\b(?:by|from|par|door)\b[^.;|]{{0,40}}?{_PARTY}"
    return re.search(does, text) is not None


def fitness(question: str, text: str, *, alike: bool = True, heads: str = "") -> float:
    """How well a text holds an answer of the type that a question asks for, 0..1.

    Args:
      question: the question.
      text: a sentence or a table's row.
      alike: see `holds`.
      heads: see `holds`.

    Returns:
      0 where it holds none; `WEAKLY` where it holds one that need not be what is asked: somebody who does something
      else, a condition without a time, an abbreviation for a code.
    """
    if not holds(question, text, alike=alike, heads=heads):
        return 0.0
    wanted = asked_type(question)
    if wanted == "time" and _HAPPENED.match(question):
        return float(re.search(rf"(?i){DAY}", text) is not None)
    if wanted == "time":
        if _UNTIL_WHEN.search(question):
            return 1.0 if _UNTIL.search(text) else WEAKLY
        if _AT_END.search(question):
            return 1.0 if _ENDS.search(text) else WEAKLY
        return 1.0 if _STRONG_TIME.search(text) else WEAKLY
    if wanted == "person" and alike:
        return 1.0 if _does(question, text) else WEAKLY
    if wanted == "code":
        return 1.0 if _TYPICAL_CODE.search(text) else WEAKLY
    if alike and _POLAR.match(question) and _AT_ONCE.search(question):
        return 1.0 if _as_many(question, text) else WEAKLY
    return 1.0


def _as_many(question: str, text: str) -> bool:
    """Whether a text says of how many there may be, where a question asks whether there may be several."""
    several = _AT_ONCE.search(question)
    if several is None:
        return False
    words = (several.group(1) or "").split()
    things = [re.escape(word[: max(4, len(word) - 2)]) for word in words if len(word) > 3]
    noun = rf"\W+(?:\w+\W+){{0,2}}?(?:{'|'.join(things)})" if things else ""
    return re.search(_AS_MANY.pattern + noun, text) is not None


def holds(question: str, text: str, *, alike: bool = True, heads: str = "") -> bool:
    """Whether a text holds an answer of the type that a question asks for; any text does where it asks for none.

    Args:
      question: the question.
      text: a sentence or a table's row.
      alike: whether both are in one language: what is counted is then named beside its number, and who is asked for
        is somebody whom the question does not name itself.
      heads: the names of the columns, of a row: one of them may name what is counted.
    """
    wanted = asked_type(question)
    pattern = HOLDS.get(wanted) if wanted else None
    if pattern is None:
        return True
    if pattern.search(text) is None or (wanted == "count" and _other_bound(question, text)):
        return False
    if wanted == "person":
        known = question.casefold()
        return any(word.casefold().lstrip()[:6] not in known for word in pattern.findall(text))
    counted = _COUNTED.search(question) if wanted == "count" else None
    stems = [re.escape(word[: max(4, len(word) - 2)]) for word in (counted.groups() if counted else ()) if word]
    stems = [stem for stem in stems if len(stem) > 3]
    if not alike:  # a name that is the same in both languages
        stems = [stem for stem in stems if re.search(rf"(?i)\b{stem}", text)]
    stems += [LENGTH] if any(re.match(CHARACTERS, stem) for stem in stems) else []
    if not stems:
        return True
    noun = rf"(?:{'|'.join(stems)})\w*"
    if " | " in text:
        return re.search(f"(?i){noun}", f"{heads} {text}") is not None
    number = rf"(?:{NUMBER}|\bsingle\b)"
    beside = rf"{number}\W+(?:\w+\W+){{0,2}}?{noun}|{noun}(?:\s*[:=]|\s{_IS}\b)\W*(?:\w+\W+){{0,2}}?{NUMBER}"
    return re.search(f"(?i){beside}", text) is not None
