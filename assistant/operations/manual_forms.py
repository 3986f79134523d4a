"""Questions on the documentation's own structure and on versions of documents, as operations."""

from __future__ import annotations

import re

from assistant.knowledge.language import is_question_word
from assistant.operations.family import Manual, Versions
from assistant.operations.slots import Asking, Read, Slots
from assistant.operations.understanding import TELLING
from assistant.operations.vocabulary import english

PLURALS = frozenset(
    ("settings", "parametres", "reglages", "instellingen", "commands", "commandes", "commandos", "opdrachten")
)

PROGRAM = "energycomm"
ITSELF = frozenset(("program", "programme", "programma", "software", "logiciel", "application", "applicatie"))
"""What people call it of which a setting is asked for."""
TAKEN = frozenset((PROGRAM, "take", "takes", "accept", "accepts", "support", "supports", "know", "knows", "kent"))
"""Words that say that a command has an option."""

MOST_WORDS = 6
"""Words that an entry of the documentation is looked for by."""

_DOCUMENT = re.compile(
    r"(?i)\bversions?\s+([\w.-]+)\s+(?:and|to|et|[àa]|en|naar)\s+(?:(?:de\s+)?(?:la\s+)?version\s+|versie\s+)?([\w.-]+)"
    r"\s+(?:of|de|du|van)\s+(?:the\s+|la\s+|le\s+|de\s+|het\s+|l['’])?([\w .-]{2,80}?)\s*\??$"
)


def documents(slots: Slots) -> Read:
    """What changed between two versions of a document."""
    named = _DOCUMENT.search(slots.asked.text.replace("versie", "version"))
    if named is None or not slots.has("intent", "changed", "compare") or slots.has("subject", "rule"):
        return None
    slots.used |= set(range(len(slots.asked.tokens)))
    return (Versions(what="documents", document=named[3], old=named[1], new=named[2]),)


def codes(slots: Slots) -> Read:
    """An exit code or a code of the gateway, and what to do about it."""
    exit_code = slots.one("exit_code")
    gateway = slots.one("gateway")
    slots.take("field", "sentence")
    slots.take("intent", "list")
    slots.take("subject", "code")
    slots.take("group", "code")
    slots.take("field", "error_code")
    if exit_code is not None:
        _take_what_ended(slots)
        return (Manual(what="exit_code", name=exit_code),)
    meant = slots.has("field", "sentence") or slots.has("todo")
    if gateway is not None and (not slots.has("thing") or (meant and not slots.has("intent", "count"))):
        slots.take("thing")
        slots.take("field", "file")
        slots.take("intent", "occurred")
        slots.take("english", "alarm")
        slots.take("topic")
        return (Manual(what="code", how="todo" if slots.take("todo") else "one", name=gateway),)
    coded = slots.has("subject", "code", "gateway") and not slots.has("stored")
    prefix = slots.one("gateway_prefix") if coded else None
    if prefix:
        slots.take("subject", "code", "gateway")
        slots.take("intent", "began", "list")
        how = "count" if slots.take("intent", "count") else "list"
        return (Manual(what="code", how=how, name=prefix),)  # type: ignore[arg-type]
    if slots.take("subject", "gateway"):
        return (Manual(what="code", how="count"),) if slots.take("intent", "count") else _find(slots, "code")
    if slots.take("subject", "exit"):
        number = slots.one("number")
        _take_what_ended(slots)
        if not number and slots.left() and not _counted(slots, "exit"):
            slots.take("intent", "count")  # which number
            return _find(slots, "exit_code")
        if number:
            return (Manual(what="exit_code", name=number),)
        return (Manual(what="exit_code", how="count" if slots.take("intent", "count") else "list"),)
    return None


def _counted(slots: Slots, what: str) -> bool:
    """Whether things of the documentation are counted: in "the number of days, what is it called" none are."""
    counts = slots.of("intent", "count")
    return any(0 <= one.start - count.end < NEXT for one in slots.of("subject", what) for count in counts)


NEXT = 2
"""Words between what counts and what is counted, less one."""
ENDED = frozenset((
    "job", "cron", "nightly", "batch", "run", "task", "night", "ended", "stopped", "exited", "finished", "tache",
    "nuit", "traitement", "taak", "nacht", "nachtelijke", "end", "fin", "einde", "gestopt", "geeindigd",
    "beeindigd", "eindigde", "stopte", "back", "came", "returned", "gave", "revenue", "revenu", "rendu", "renvoye",
    "terug", "kwam", "gaf", "arretee", "arrete", "died", "crashed", "bailed", "plante", "plantee", "gecrasht",
    "crashte", "viel", "stil", "stilgevallen", "uitgevallen", "tombe", "fell", "number", "nombre", "chiffre", "numero",
    "nummer", "getal", "cijfer", "stop", "stops", "stoppe", "stopt",
))  # fmt: skip
"""Words for what ends with an exit code, and that it did."""


def _take_what_ended(slots: Slots) -> None:
    """Take what ended with an exit code: the code means the same for all."""
    slots.take("subject", "command", "script")
    slots.take("command")
    slots.take("intent", "occurred")
    slots.take("field", "repair")
    slots.take("english", "script")
    slots.take("state", "done", "failed")
    slots.take("intent", "last", "when")
    words = slots.asked.tokens
    line = "command" in words or "commande" in words
    slots.used |= {place for place, one in enumerate(words) if one in ENDED or (line and one in ("line", "ligne"))}


def _find(slots: Slots, what: str, *, default: bool = False) -> Read:
    """An entry of the documentation that is about the words of a question, in English."""
    tokens = slots.asked.tokens
    sizes = {p for one in (*slots.of("amount"), *slots.of("english", "size")) for p in range(one.start, one.end)}
    left = [place for place in slots.left() if tokens[place] not in TELLING and place not in sizes]
    told = {p for one in slots.of("state") for p in range(one.start, one.end)} if what == "command" else set()
    told -= {p for one in slots.of("thing") for p in range(one.start, one.end)}
    if what == "setting":
        bounded = slots.has("amount") or slots.has("english", "tolerance")  # how many are admitted at most
        told |= {one.start for one in slots.of("state", "accepted") if bounded}
        told |= {place for place, token in enumerate(tokens) if token in ITSELF}
    left = [place for place in left if place not in told] or left  # which state of things it lists is an option
    translated = _english(slots)
    asked = [one for one in slots.of("subject") if one.value != "list"]
    asking = {place for one in asked for place in range(one.start, one.end)}
    hints = [place for place in range(len(tokens)) if place not in left and place not in asking]
    name = " ".join(filter(None, (translated.get(place, tokens[place]) for place in left)))
    hint = " ".join(filter(None, (translated.get(place, tokens[place]) for place in hints)))
    if not name or len(left) > MOST_WORDS or any(slots.has(slot) for slot in ("code", "unknown_code", "point")):
        return None
    slots.used |= set(slots.left())
    how = "find_default" if default else "find"
    return (Manual(what=what, how=how, name=name, hints=hint.replace("§", "")[:200]),)  # type: ignore[arg-type]


ASKING = frozenset(("quel", "quelle", "quels", "quelles", "welk", "welke"))


def _english(slots: Slots) -> dict[int, str]:
    """English words for those of a question in another language, by their places; the pages are in English."""
    found: dict[int, str] = {}
    foreign = ("intent", "subject", "severity", "state", "kind", "thing") if slots.asked.language != "en" else ()
    for one in slots.of_all((*foreign, "english")):
        if one.value == "list" and slots.asked.word(one.start) in ASKING:
            continue  # quelle commande: which is no word of a page
        told = one.value if one.slot == "english" else english().get((one.slot, one.value), "")
        if told:
            found.update(dict.fromkeys(range(one.start, one.end), ""))
            found[one.start] = told
    return found


def setting(slots: Slots) -> Read:
    """A setting, its default, its environment variable; how many there are."""
    about = bool(slots.take("subject", "setting"))
    default = bool(slots.take("intent", "default"))
    slots.take("intent", "began")
    variable = bool(slots.take("subject", "variable"))
    slots.take("field", "set" if variable else "sentence")
    use = bool(slots.take("intent", "use"))
    meant = bool(slots.take("field", "sentence"))
    slots.take("intent", "list")
    scopes = slots.of("scope")
    several = any(token in PLURALS for token in slots.asked.tokens)
    if about and several and scopes and not default:
        slots.mark(scopes[:1])
        slots.take("group")
        slots.take("topic")
        how = "count" if slots.take("intent", "count") else "list"
        return (Manual(what="setting", how=how, section=scopes[0].value),)  # type: ignore[arg-type]
    tokens = slots.asked.tokens
    program = {place for place, token in enumerate(tokens) if token == PROGRAM}
    names = [one for one in slots.of("setting") if one.start - 1 not in program]  # energycomm serve is a command
    if len(names) < len(slots.of("setting")):
        slots.used |= program | {place + 1 for place in program}
    sure = [one for one in names if "_" in one.value]
    lone = [] if sure else [one for one in names if about or default or variable]
    if sure or lone:
        scopes = slots.of("scope")
        places = {one.start for one in scopes}
        verbs = {place for one in slots.of("filler") for place in range(one.start, one.end)}
        lone = sorted(lone, key=lambda one: -one.start if one.start in verbs else -1000)  # names the database
        name = next((one for one in (*sure, *lone) if one.start not in places), (sure or lone)[0])
        scopes = [one for one in scopes if one.start != name.start]
        before = set(slots.used)
        slots.mark([name, *scopes[:1]])
        slots.take("english", "unit")
        if lone and slots.left():
            slots.used = before
            return _find(slots, "setting", default=default)
        how = "default" if default else "variable" if variable else "one"
        section = scopes[0].value if scopes else ""
        return (Manual(what="setting", how=how, name=name.value, section=section),)  # type: ignore[arg-type]
    if slots.has("unknown_name") and (about or default or variable or use or meant):
        return Asking("no_setting", (), slots.take("unknown_name")[0])
    count = about and bool(slots.take("intent", "count"))
    if count and (_counted(slots, "setting") or not slots.left()):
        return (Manual(what="setting", how="count"),)
    if about and not default and not slots.left():
        return (Manual(what="setting", how="list"),)
    return _find(slots, "setting", default=default) if about or default or variable else None


SEES = frozenset(("zie", "zien", "ziet", "bekijk", "bekijken", "vois", "voit", "voyons", "voient"))
"""What people do with what a command tells them."""


def command(slots: Slots) -> Read:
    """A command of the command line; how many there are."""
    about = bool(slots.take("subject", "command"))
    program = PROGRAM in slots.asked.tokens
    if not (about or program) and slots.take("howto") and not slots.has("code") and not slots.has("message"):
        return _find(slots, "command")
    if not (about or program):
        long = [one for one in slots.of("command") if one.end - one.start > 1]
        asks = slots.take("field", "sentence") or slots.take("intent", "use")
        if long and asks:
            slots.mark(long[:1])
            slots.take("intent", "use")
            slots.take("field", "sentence")
            return (Manual(what="command", name=long[0].value),)
        return None
    slots.used |= {place for place, one in enumerate(slots.asked.tokens) if one == PROGRAM or one in SEES}
    slots.take("intent", "list", "use")
    slots.take("field", "sentence")
    before = set(slots.used)
    count = bool(slots.take("intent", "count"))
    several = any(token in PLURALS for token in slots.asked.tokens)
    beginning = slots.take("intent", "began")
    left = slots.left()
    if about and several and len(left) == 1 and (count or beginning or not slots.has("topic")):
        slots.used |= set(left)
        how = "count" if count else "list"
        return (Manual(what="command", how=how, name=slots.asked.tokens[left[0]]),)  # type: ignore[arg-type]
    name = slots.one("command")
    if name is not None and not count:
        if about and slots.left():
            slots.used = before  # the name is a word of what the command does
            return _find(slots, "command")
        return (Manual(what="command", name=name),)
    if not about:
        return None
    return (
        _find(slots, "command")
        if slots.left() and not count
        else (Manual(what="command", how="count" if count else "list"),)
    )


def alarm(slots: Slots) -> Read:
    """An alarm by what it tells of; all of them, how many."""
    others = slots.has("subject", "setting", "command", "variable", "gateway", "option", "rule") or slots.has("howto")
    if not slots.has("subject", "alarm") or others or slots.has("intent", "default"):
        return None
    slots.take("subject", "alarm", "code")
    slots.take("intent", "list", "exists")
    slots.take("group", "code")
    slots.take("field", "sentence")
    if slots.take("intent", "count"):
        return (Manual(what="alarm", how="count"),)
    return _find(slots, "alarm") if slots.left() else (Manual(what="alarm", how="list"),)


def option(slots: Slots) -> Read:
    """The options of a command: all, how many, or one by what it does."""
    named = [one for one in slots.of("command") if one.end - one.start > 1] or slots.of("command")
    if not slots.has("subject", "option") or slots.has("subject", "setting", "rule") or not named:
        return None
    section = f"energycomm {named[0].value}"
    slots.mark(named)
    slots.take("subject", "option", "command")
    slots.take("intent", "list", "exists", "use")
    slots.take("field", "sentence")
    if slots.take("intent", "count"):
        return (Manual(what="option", how="count", section=section),)
    translated = _english(slots)
    told = [
        translated.get(place, token) for place, token in enumerate(slots.asked.tokens)
        if place not in slots.used and len(token) > 1 and token not in TAKEN | TELLING
        and (place in translated or not is_question_word(token))
    ]  # fmt: skip
    words = list(filter(None, told))
    slots.used |= set(slots.left())
    if not words:
        return (Manual(what="option", how="list", section=section),)
    return (Manual(what="option", how="find", name=" ".join(words)[:200], section=section),)


def how_to_set(slots: Slots) -> Read:
    """A setting by what it does, where no command does it."""
    asks = slots.take("howto") and not slots.has("code") and not slots.has("message")
    return _find(slots, "setting") if asks else None


def word(slots: Slots) -> Read:
    """A word of the glossary."""
    about = bool(slots.take("subject", "glossary"))
    meant = bool(slots.take("field", "sentence"))
    names = slots.of("word")
    inside = any(slots.asked.tokens[one.start - 1] in ("in", "en") for one in names if one.start)
    if names and (about or (meant and not inside)):
        # As it is written before what it is called elsewhere: PRM.
        longest = max(names, key=lambda one: (one.end - one.start, slots.asked.word(one.start) in one.value.casefold()))
        slots.mark([longest])
        slots.take("intent", "list")
        return (Manual(what="word", name=longest.value),)
    if meant and not names and (short := _abbreviation(slots)):
        return (Manual(what="word", how="find", name=short),)
    if about and not names:
        slots.take("intent", "list")
        return (Manual(what="word", how="count" if slots.take("intent", "count") else "list"),)
    return None


def _abbreviation(slots: Slots) -> str:
    """The only word that is left, written in capitals: it may stand in the glossary beside another word."""
    left = slots.left()
    capitals = {token.casefold() for token in re.findall(r"\b[A-Z]{3,6}\b", slots.asked.text)}
    if len(left) != 1 or slots.asked.tokens[left[0]] not in capitals:
        return ""
    slots.used |= set(left)
    return slots.asked.tokens[left[0]]


def kernel_field(slots: Slots) -> Read:
    """A field of the Kernel messages: what it is, its type and unit."""
    asked = slots.has("subject", "field") or slots.has("list", "unit")
    if not asked or slots.has("subject", "rule") or slots.has("code") or slots.has("unknown_code"):
        return None
    names = [one for one in slots.of("kept") if slots.asked.word(one.start) not in ("unit", "field")]
    if not names:
        return None
    longest = max(names, key=lambda one: one.end - one.start)
    slots.mark([longest])
    slots.take("subject", "field")
    slots.take("field", "field", "sentence")
    slots.take("intent", "list", "use")
    slots.take("list", "unit")
    slots.take("thing", "message")
    slots.take("group", "type", "kind")
    return (Manual(what="field", name=longest.value),)
