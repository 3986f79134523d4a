"""Questions on code lists, as operations: each form takes the words that its operation answers."""

from __future__ import annotations

import re
from datetime import date, timedelta

from msgspec.structs import replace

from assistant.operations.conditions import WHICH, as_of, bounds, ending, markets_of, mentions, of_several
from assistant.operations.days import Days
from assistant.operations.family import CodeLists
from assistant.operations.slots import UNTIL, Asking, Read, Slots, yes_no
from assistant.operations.topics import MOST_WORDS
from assistant.operations.understanding import TELLING
from assistant.operations.vocabulary import HOLDINGS, tokens_of

NEUTRAL = ("list", "filler", "word", "pointed", "intent", "fact", "english", "topic", "stored", "field", "group",
           "setting", "kept", "listed", "type", "scope", "command", "gateway_prefix", "dated", "each", "receiver",
           "event", "station", "checked", *HOLDINGS)  # fmt: skip
"""Slots whose words may be the name of a code list all the same."""

PLAIN = ("list", "liste", "lijst", "lists", "listes", "lijsten")
_DEFINED = re.compile(r"(?:what is an?|wat is een|qu est ce qu une?) \w+(?: \w+)?$")
_SENTENCE = re.compile(r"(?<=[.!])\s+(?=\w)")
NEXT = 2
"""Words between the name of a code list and the word for it, at most."""


def code_lists(slots: Slots) -> Read:
    """Which lists there are, the codes of one, how many, what a code means, where it stands, which has the most."""
    verb = slots.asked.tokens[:1] == ["list"] and slots.asked.tokens[1:2] not in (["of"], ["lists"])
    about_list = [one for one in slots.of("subject", "list") if not (verb and one.start == 0)]
    plain_list = [one for one in slots.asked.tokens[verb:] if one in PLAIN]
    slots.take("subject", "list")
    about = bool(about_list or plain_list or slots.take("subject", "code"))
    in_list = bool(about_list or plain_list)
    seen = slots.has("listed") and _of_a_code(slots, about_list=in_list)
    named = slots.has("list") or slots.has("subject", "code") or slots.has("group", "code")
    elsewhere = slots.has("thing", "envelope", "request", "ticket") and not (seen and named)
    if slots.has("code") or slots.has("unknown_code") or elsewhere:
        return None
    if of_several(slots):
        return None  # what several have, or one and not the other
    if slots.has("subject", "rule") and not about:
        return None  # rules about what the list is of
    if not about and not slots.has("listed") and _DEFINED.match(" ".join(slots.asked.tokens)):
        return None  # what a word means, and not its codes
    if slots.has("listed"):
        slots.take("number")
    name = _list_name(slots, about)
    listed = _listed(slots, name)
    if seen:
        _take_where_seen(slots)
    lasting = _asks_how_long(slots, listed)
    slots.take("intent", "list", "exists", "use", "distinct")
    slots.take("group", "code")
    slots.take("field", "sentence", "validity")
    slots.take("subject", "code")
    if name:
        slots.take("thing", "message")
    unknown = slots.values("unknown_name")
    if unknown and about:
        slots.take("unknown_name")
        slots.take("intent", "count")
        markets_of(slots)
        return Asking("no_list", (), unknown[0])
    often = {"common", "frequent", "often", "frequents", "souvent", "vaakst", "voorkomende"} & set(slots.asked.tokens)
    if often and slots.has("intent", "top") and not about_list:
        return None  # what is frequent is in the store
    if name or about_list:
        spread = _spread(slots, name)
        if spread is not None:
            return spread
    count = bool(slots.take("intent", "count"))
    markets = markets_of(slots)
    if name:
        found = _of_list(slots, name, listed, markets, count=count)
        return _lasting(found) if lasting else found
    if listed and lasting and not in_list:
        return (CodeLists(how="validity", code=listed, markets=markets),)
    if listed:
        return _of_code(slots, listed, markets, about_list=in_list, count=count)
    if about_list:
        return (CodeLists(how="count_lists" if count else "lists", markets=markets),)
    coded = any(one in ("code", "codes") for one in slots.asked.tokens) and not slots.has("group", "access_point")
    words = _told(slots) if coded and markets and not count else ()
    return (CodeLists(markets=markets, words=words),) if words else None


def _asks_how_long(slots: Slots, listed: str | None) -> bool:
    """Whether it is asked since when or until when codes are valid; the words for it are taken where one is named."""
    asked = slots.has("intent", "since", "when") or slots.has("until") or slots.has("dated")
    lasting = asked and slots.has("field", "validity") and not slots.asked.days.known
    lasting = lasting and _circumstance(slots) is None
    if lasting and listed:
        slots.take("intent", "since", "when")
        slots.take("until")
        slots.take("dated")
    return lasting


def _lasting(found: Read) -> Read:
    """When a code is valid, in place of what it means or whether it is there."""
    if not isinstance(found, tuple):
        return found
    return tuple(
        replace(one, how="validity") if getattr(one, "how", "") in ("meaning", "exists") else one for one in found
    )


def _of_a_code(slots: Slots, *, about_list: bool) -> bool:
    """Whether it is asked what a code means, or where it stands; what else is told is where it was seen."""
    counted = slots.has("intent", "count", "top", "bottom", "since", "last") or slots.has("number_is")
    return not counted and not slots.has("subject", "rule") and (about_list or slots.has("field", "sentence", "file"))


SEEN = frozenset((
    "p4", "opvraging", "back", "returned", "read", "noticed", "meets", "renvoie", "renvoye", "retourne", "recois",
    "lis", "lit", "lisons", "vois", "voit", "gave", "answers", "repond", "donne", "geeft", "gaf", "antwoordt",
    "stuurden", "sturen", "voyons", "yeux", "tombe", "stuurt", "stuurde", "terug", "krijg", "lees", "lezen", "zie",
    "zien",
))  # fmt: skip
"""Words that say that a code came and was seen."""


def _take_where_seen(slots: Slots) -> None:
    """Take what carried a code, and that it came: a code means the same wherever it stands."""
    slots.used |= {place for place, token in enumerate(slots.asked.tokens) if token in SEEN}
    slots.take("thing")
    slots.take("kind")
    slots.take("type")
    slots.take("intent", "occurred", "state", "life")
    slots.take("state", "sent", "rejected")
    slots.take("class", "grid_operator")
    slots.take("fact")
    slots.take("kept")
    slots.take("subject", "flow", "ebix", "exit")
    slots.take("field", "ebix", "field", "repair")


def _listed(slots: Slots, name: str | None) -> str | None:
    """The code that is asked about: the one nearest to the name of its list, where there are several."""
    found = slots.of("listed")
    places = [one.start for one in slots.of("list") if one.value == name]
    if len(found) < 2 or not places:
        return slots.one("listed")
    types = slots.values("type")
    free = [one for one in found if one.value not in types] or found
    nearest = min(free, key=lambda one: min(abs(one.start - place) for place in places))
    slots.mark([nearest])
    return nearest.value


def _spread(slots: Slots, name: str | None) -> Read:
    """Lists by their codes, or the markets that have a list: the most, the fewest, so many of them, each."""
    sized = slots.has("number_is")
    top = bool(slots.take("intent", "top")) and not sized
    bottom = bool(slots.take("intent", "bottom", "fewer")) and not sized
    longest = bool(slots.take("longest"))
    markets = [one for one in mentions(slots) if one.attribute == "market"]
    asked = bool(markets) and bool(name) and not slots.has("market")
    if not (top or bottom or longest or sized or asked):
        return None
    for one in markets:
        slots.used |= set(range(one.start, one.end))
    slots.take("group", "market")
    slots.take("field", "markets")
    slots.take("each")
    slots.take("subject", "list")
    slots.take("intent", "count", "since", "more")
    least, most = bounds(slots)
    how = "bottom" if bottom else "top" if top or longest else "groups"
    by = "market" if asked else "list"
    wanted = markets_of(slots)
    return (CodeLists(how=how, by=by, list=name, markets=wanted, at_least=least, at_most=most),)  # type: ignore[arg-type]


def _of_list(slots: Slots, name: str, listed: str | None, markets: tuple[str, ...], *, count: bool) -> Read:
    """The codes of a list, all, those of a day or about something; or one of them."""
    days = slots.days()
    slots.take("percent")
    capitals = {word.casefold() for word in slots.asked.text.replace("?", " ").split() if word.isupper()}
    stranger = [
        place for place in slots.left()
        if (token := slots.asked.tokens[place]) in capitals or any(letter.isdigit() for letter in token)
    ]  # fmt: skip
    asks = (yes_no(slots) or slots.has("intent", "exists")) and slots.asked.word(0) not in WHICH
    among = listed if listed and listed.isdigit() and slots.left() and not _called(slots, listed, name) else None
    listed = None if among else listed  # a number among words of the meaning: low voltage up to 36 kVA
    called = [place for place in stranger if slots.asked.word(place - 1) in ("code", "codes")]
    if listed or (stranger and asks) or called:
        slots.used |= set(stranger)
        code = listed or slots.asked.tokens[(called or stranger)[0]].upper()
        how = "exists" if asks else "meaning"
        if how == "meaning" and listed and (begun := _circumstance(slots)) is not None:
            slots.take("intent", "when")
            slots.used |= {place for place in slots.left() if place > begun}
        return (CodeLists(how=how, list=name, code=code, markets=markets, on=days.day),)  # type: ignore[arg-type]
    on, since, until = _lasting_days(slots, days)
    if days.known and (on, since, until) == (None, None, None):
        return None
    dated = bool(slots.take("dated"))
    counted = count and not slots.has("topic")  # how many there are: other words tell of no code
    days_named = {one.start for one in slots.of("days")}
    about = [one for one in slots.of("topic") if one.end not in days_named]  # on a day is about nothing
    words = _labelled(slots) if about else () if counted else _told(slots)
    words = (*words, among) if words and among else words
    return (
        CodeLists(
            how="count" if count else "codes", list=name, markets=markets, on=on, since=since, until=until,
            dated=dated, words=words,
        ),
    )  # fmt: skip


def _lasting_days(slots: Slots, days: Days) -> tuple[date | None, date | None, date | None]:
    """The day on which codes are valid, or the span in which their validity begins: since a day it does on it or later.

    None of them where it is told when they cease to be valid: that is no condition.
    """
    if not days.known or UNTIL.intersection(slots.asked.tokens) or ending(slots):
        return None, None, None
    began = bool(slots.take("intent", "began", "since", "when"))
    if began or (days.since and days.until is None and not as_of(slots)):
        slots.take("only")
        slots.take("than")
        return None, days.since, days.until
    last = days.until - timedelta(days=1) if days.until else None
    return days.day or days.since or last, None, None


MEANS = frozenset(("mean", "means", "dire", "signifie", "betekent"))
WHEN = frozenset(("when", "if", "quand", "lorsque", "si", "wanneer", "als"))
"""Words before what goes on where a code is used."""


def _circumstance(slots: Slots) -> int | None:
    """Where it begins to be told when a code whose meaning is asked is used: it means the same whenever it is."""
    tokens = slots.asked.tokens
    meant = next((place for place, one in enumerate(tokens) if one in MEANS), None)
    return None if meant is None else next((p for p, one in enumerate(tokens) if one in WHEN and p > meant), None)


def _called(slots: Slots, listed: str, name: str) -> bool:
    """Whether a number stands behind the word for a code, or the name of its list: rejection code 227, quality 46."""
    places = [one.start for one in slots.of("listed", listed)]
    behind = {one.end for one in slots.of("list", name)} & set(places)
    return bool(behind) or any(slots.asked.word(place - 1) in ("code", "codes") for place in places if place)


def _labelled(slots: Slots) -> tuple[str, ...]:
    """Words that the meaning of a code has: those behind "about"."""
    first = min(one.end for one in slots.of("topic"))
    spare = ("pointed", "english", "kind", "fact", "word", "filler", "listed", "number", "kept", "setting", "scope",
             "command", "receiver", "event", *HOLDINGS)  # fmt: skip
    others = {p for one in slots.asked.found if one.slot not in spare for p in range(one.start, one.end)}
    places = [p for p in sorted(slots.asked.telling()) if p >= first and p not in others and p not in slots.used]
    slots.take("topic")
    if not 0 < len(places) <= MOST_WORDS:
        return ()
    slots.used |= set(places)
    return tuple(slots.asked.tokens[place] for place in places)


def _told(slots: Slots) -> tuple[str, ...]:
    """Words of the meaning of a code that is looked for: which quality code stands for estimated."""
    left, tokens = slots.left(), slots.asked.tokens
    elsewhere = slots.has("subject", "rule") or slots.has("thing") or slots.has("stored") or slots.has("severity")
    plain_words = all(tokens[place].isalpha() and tokens[place] not in TELLING for place in left)
    last = tokens_of(_SENTENCE.split(slots.asked.text)[-1])
    before = any(tokens[place] in slots.asked.text.casefold() and tokens[place] not in last for place in left)
    if not 0 < len(left) <= MOST_WORDS or elsewhere or before or not plain_words:
        return ()
    slots.used |= set(left)
    return tuple(tokens[place] for place in left)


def _of_code(slots: Slots, listed: str, markets: tuple[str, ...], *, about_list: bool, count: bool) -> Read:
    """What a code means, or in which lists it stands."""
    days = slots.days()
    meant = slots.has("field", "sentence") and markets and not count
    if about_list and not meant:
        return (CodeLists(how="where", code=listed, markets=markets),)
    if slots.has("field", "sentence", "file") and not count:
        slots.take("field", "file")
        return (CodeLists(how="meaning", code=listed, markets=markets, on=days.day),)
    return None


def _list_name(slots: Slots, about: bool) -> str | None:
    """The name of a code list; a word that means something else too needs the word for a list or a code beside it."""
    others = {place for one in slots.asked.found if one.slot not in NEUTRAL for place in range(one.start, one.end)}
    words = [one.start for one in slots.of("subject", "list")]
    words += [place for place, one in enumerate(slots.asked.tokens) if place and one in ("list", "liste", "lijst")]
    weaker = [one.start for one in slots.of("subject", "code")]
    sure = [one for one in slots.of("list") if "_" in one.value and one.start not in others]
    beside = [
        one for one in slots.of("list")
        if about and any(-NEXT <= word - one.end < NEXT or 0 < one.start - word <= NEXT
                         for word in (words if one.start in others else words + weaker))
    ]  # fmt: skip
    free = [one for one in slots.of("list") if one.start not in others]
    found = next(iter((*sure, *beside, *free)), None)
    if found is None:
        return None
    slots.mark(slots.of("list", found.value))
    return found.value
