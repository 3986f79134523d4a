"""Questions on the store, as operations: messages, requests, tickets, access points and the rest."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import get_args

from msgspec.structs import replace

from assistant.operations.conditions import (
    BY,
    by_each_rule,
    markets_of,
    of_several,
    refusing,
    rules_asked,
    rules_counted,
)
from assistant.operations.family import (
    DayOf,
    Plan,
    PointLife,
    RequestLife,
    RuleField,
    Stored,
    StoreGroup,
    Thing,
    Versions,
    WhyMessage,
)
from assistant.operations.held_forms import of_values
from assistant.operations.slots import UNTIL, WHO, Read, Slots, ranks, yes_no
from assistant.operations.vocabulary import Match
from energycomm.eis.states import (
    ACKNOWLEDGEMENT_STATES,
    ENVELOPE_STATES,
    MESSAGE_STATES,
    NOTIFICATION_STATES,
    REQUEST_STATES,
    STUCK,
    TICKET_STATES,
)
from energycomm.kernel.verdicts import Severity

UNANSWERED = ("built", "sent", "acknowledged", "in-course")
"""States of a request that the market has not answered for good."""

STATES: dict[str, tuple[str, ...]] = {
    "message": MESSAGE_STATES, "finding": MESSAGE_STATES, "freed": MESSAGE_STATES, "envelope": ENVELOPE_STATES,
    "request": REQUEST_STATES, "ticket": TICKET_STATES, "notification": NOTIFICATION_STATES,
    "acknowledgement": ACKNOWLEDGEMENT_STATES,
}  # fmt: skip

SAID: dict[tuple[str, str], str] = {
    ("request", "rejected"): "refused", ("ticket", "quarantined"): "waiting",
    ("notification", "quarantined"): "pending",
    ("notification", "open"): "pending", ("acknowledgement", "pending"): "built", ("envelope", "accepted"): "done",
    ("request", "accepted"): "done", ("request", "pending"): "built",
}  # fmt: skip
"""What a word for a state means of another thing than messages."""

BIGGEST = (1 << 63) - 1

_IS_NUMBER = re.compile(r"(?i)\b(?:is|est)\s+\d{1,18}\s*\??$")
ALLOWED = frozenset(("may", "must", "peut", "doit", "mag", "moet"))
"""Words that ask what is allowed, and not what is in the store."""

BRIEF = 5
"""Words of a question that asks what is wrong with a number: it can only be that of a message."""


SEVERAL = frozenset(("are", "were", "have", "sont", "etaient", "ont", "zijn", "werden", "hebben"))
"""Verbs of several things: a number behind them is how many."""
NEAR = 2
"""Words from the beginning of a question to its lone number: is number 121 accepted."""
OTHERS = ("ticket", "request", "envelope", "notification")
"""Things that have numbers, too."""
NUMBERED = frozenset(("number", "numero", "nummer"))
"""Words before the number of a message that stands alone."""


EXPLAINED = ("explain", "explique", "expliquez", "expliquer", "leg", "verklaar")
"""Beginnings of a wish to be told why."""


FREES = frozenset(("free", "unblock", "release", "resolve", "solve"))
"""Verbs of a message that frees another."""


def message(slots: Slots) -> Read:
    """One message by its number: why it is as it is, what freed it, its history, its access point."""
    id_ = _numbered(slots)
    if any(
        slots.asked.word(one.start - 2) == "did" and slots.asked.word(one.end) in FREES for one in slots.of("message")
    ):
        return None  # what a message freed is not known; what freed it is
    if id_ is not None and slots.has("state") and not {*EXPLAINED}.isdisjoint(slots.asked.tokens):
        slots.take("field", "sentence")
        slots.take("state")
        slots.take("severity")
        slots.take("thing", "message")
        slots.take("intent", "why", "list")
        return (WhyMessage(message=id_),)
    return None if id_ is None else _of_its_past(slots, id_) or _of_its_state(slots, id_)


def _numbered(slots: Slots) -> int | None:
    """The number of a message, also where it stands alone and only a message can be meant."""
    number = slots.one("message")
    if number is None:
        counted = {one.start for one in slots.of_all(("thing", "subject"))}
        lone = [one for one in slots.of("number") if one.end not in counted]  # 12 messages
        named = slots.has("thing", "message") or slots.has("subject", "kind")
        if len(lone) == 1 and named and _IS_NUMBER.search(slots.asked.text):
            return int(slots.one("number") or 0) or None  # what kind of message is 494
        asks = slots.has("intent", "why") or slots.has("group", "waits_for")
        judged = slots.has("state") and (
            slots.has("subject", "rule") or not {*EXPLAINED}.isdisjoint(slots.asked.tokens)
        )
        one = len(lone) == 1 and 0 < lone[0].start <= NEAR and slots.asked.word(0) not in SEVERAL
        asks = asks or (yes_no(slots) and slots.has("state") and one)
        first = len(lone) == 1 and lone[0].start == 0  # 415, in which state is it?
        asks = asks or (first and (slots.has("intent", "state") or (slots.has("state") and slots.has("group", "code"))))
        freed = slots.has("intent", "freed") and slots.has("intent", "when") and not slots.has("thing", *OTHERS)
        asks = asks or freed or (slots.has("until") and slots.has("state", "quarantined"))
        asks = asks or (judged and len(lone) == 1 and not slots.has("intent", "top") and _of_one(slots, lone[0]))
        if len(lone) != 1 or not asks or slots.has("code") or slots.has("number_is"):
            return None
        brief = len(slots.asked.tokens) <= BRIEF
        brief = brief or first or freed
        if not (brief or slots.has("state") or slots.has("severity") or slots.has("group", "waits_for")):
            return None
        slots.used |= {one.start - 1 for one in lone if slots.asked.word(one.start - 1) in NUMBERED}
        number = slots.one("number")
    return int(number) if number is not None and 0 < int(number) <= BIGGEST else None


def _of_one(slots: Slots, number: Match) -> bool:
    """Whether a number is that of one thing: nothing is counted, and it ends the question or is called a number."""
    called = slots.asked.word(number.start - 1) in NUMBERED
    counted = any(slots.asked.word(one.start) not in NUMBERED for one in slots.of("intent", "count"))
    return not counted and (called or number.end == len(slots.asked.tokens))


def _of_its_past(slots: Slots, id_: int) -> Read:
    """What became of a message: its states, until when it waits, what freed it, and where it belongs."""
    waits = slots.of("until")
    if waits and slots.has("state", "quarantined"):
        slots.mark(waits)
        slots.take("state")
        slots.take("ever")
        slots.take("keeps")
        slots.take("thing", "message")
        slots.take("field", "validity")
        slots.take("intent", "since")
        told = slots.asked.word(waits[0].start) in UNTIL
        return (WhyMessage(message=id_, about="until" if told else "history"),)
    if slots.take("ever"):
        slots.take("state")
        slots.take("thing", "message")
        slots.take("intent", "freed")
        return (WhyMessage(message=id_, about="history"),)
    slots.take("thing", "message")
    slots.take("intent", "list", "exists", "today")
    slots.take("field", "sentence")
    _settled(slots)
    changed = slots.has("intent", "when") and not slots.has("intent", "occurred")
    loose = slots.has("intent", "freed") and slots.has("intent", "when")
    if (slots.has("intent", "since") or changed) and slots.has("state") and not loose:
        slots.take("intent", "since", "when")
        slots.take("state")
        slots.take("field", "validity")
        return (WhyMessage(message=id_, about="history"),)
    if slots.take("intent", "freed") or slots.has("group", "by"):
        slots.take("state")
        slots.take("group", "by")
        slots.take("intent", "occurred", "when")
        slots.take("late")
        return (WhyMessage(message=id_, about="freed"),)
    if slots.has("thing", "access_point") and not slots.has("intent", "why"):
        slots.take("thing", "access_point")
        slots.take("group", "access_point")
        slots.take("field", "kinds", "field")
        slots.take("topic")
        return (WhyMessage(message=id_, about="point"),)
    if not slots.has("intent", "why") and slots.take("intent", "life"):
        return (WhyMessage(message=id_, about="history"),)
    return None


def _of_its_state(slots: Slots, id_: int) -> Read:
    """What a message is: why, what it says, its state, its codes."""
    if slots.take("any_severity"):
        slots.take("severity")
        slots.take("thing", "finding")
        slots.take("state", "rejected")
        slots.take("intent", "occurred")
        return _its_codes(slots, id_)
    if slots.has("intent", "why") or slots.has("group", "waits_for"):
        slots.take("intent", "why", "life", "occurred")
        if not yes_no(slots):  # a series from Denmark, message 415: the answer says what it is
            slots.take("kind")
            slots.take("market")
            slots.take("english", "pause")
        slots.take("not")
        slots.take("group", "waits_for")
        slots.take("state")
        slots.take("severity")
        slots.take("subject", "ebix")
        slots.take("field", "ebix")
        return (WhyMessage(message=id_),)
    came = slots.has("intent", "when") and slots.has("intent", "occurred")
    if came or (slots.take("fact") and not slots.has("state")):
        return _its_facts(slots, id_)
    if slots.has("subject", "rule") and (slots.has("severity", "error") or slots.has("state")):
        refusing = slots.has("state", "rejected") and not yes_no(slots)  # what only warns refuses nothing
        if any(slots.denied(one, "without") for one in slots.of("severity", "warning")):
            slots.take("intent", "without")
        slots.take("subject", "rule")
        slots.take("severity")
        slots.take("state")
        slots.take("group", "rule")
        return (WhyMessage(message=id_, about="codes", severity="error" if refusing else None),)
    if slots.has("state") and not WHO.isdisjoint(slots.asked.tokens[:1]):
        slots.take("state")
        slots.take("severity")
        return (WhyMessage(message=id_, about="history"),)
    coded = slots.has("subject", "code") or slots.has("group", "code")
    warned = slots.has("severity", "warning")
    if coded and slots.has("state", "rejected") and not warned and not yes_no(slots):
        slots.take("state", "rejected")
        slots.take("severity")
        slots.take("intent", "state")
        return _its_codes(slots, id_)
    if coded and warned and not yes_no(slots):
        slots.take("state")
        excepted = [one for one in slots.of("severity", "warning") if slots.denied(one, "without", "except")]
        if excepted:
            slots.mark(excepted)
            slots.take("only")
            return _its_codes(slots, id_, "error")
    elif slots.take("intent", "state") or slots.has("state"):
        asked = slots.take("state")
        is_ = asked[0] if yes_no(slots) and len(asked) == 1 and not slots.has("not") else None
        return (WhyMessage(message=id_, about="state", equals=is_),)
    if slots.has("subject", "code", "rule") or slots.has("group", "code"):
        slots.take("intent", "count", "occurred")
        slots.take("state", "accepted")
        return _its_codes(slots, id_, slots.one("severity"))
    return (WhyMessage(message=id_),)


def _its_facts(slots: Slots, id_: int) -> Read:
    """When a message came and in which envelope, and what it is."""
    slots.take("fact")
    slots.take("state")  # it is stuck: on what date did it come
    slots.take("thing", "envelope")
    slots.take("group")
    slots.take("field", "markets", "kinds")
    slots.take("subject", "kind")
    slots.take("intent", "when", "occurred", "since")
    slots.take("market", "all")
    return (WhyMessage(message=id_, about="facts"),)


def _its_codes(slots: Slots, id_: int, severity: str | None = None) -> Read:
    """The codes of a message, of its rules, or of those of a severity."""
    heads = {one.start for one in slots.of("subject", "code", "rule")}
    slots.mark(one for one in slots.of("number") if one.end in heads)  # which two rules
    slots.take("subject", "code", "rule")
    slots.take("group", "code", "rule")
    slots.take("field", "error_code", "sentence")
    return (WhyMessage(message=id_, about="codes", severity=severity),)  # type: ignore[arg-type]


THEN = frozenset(
    ("before", "after", "then", "later", "avant", "apres", "puis", "ensuite", "daarna", "voordat", "nadat")
)
"""Words for one state of a message behind another."""
STATES_ASKED = frozenset(("states", "etats", "toestanden"))
"""States themselves are asked for."""
MEANING = frozenset(("mean", "means", "meaning", "signifie", "signification", "betekent", "betekenis"))
"""What a word means is asked for, and not what has it."""


_OURS = re.compile(r"\b(?:with us|chez nous|bij ons)\b")


def point_life(slots: Slots) -> Read:
    """What happened at an access point."""
    point = slots.one("point")
    events = slots.has("intent", "life")
    if point is None or (slots.has("intent", "count", "top", "average") and not events):
        return None
    if events:
        slots.take("intent", "count")
    slots.take("thing", "access_point")
    ours = yes_no(slots) and _OURS.search(" ".join(slots.asked.tokens)) is not None
    ended = slots.take("ended")
    if slots.take("supplied") or ours or ended:
        if ended:
            slots.take("intent", "when", "occurred", "list")
            slots.take("topic")
            slots.take("fact")
        slots.take("intent", "today", "exists")
        slots.take("field", "validity")
        if len(slots.of("days")) > 1:
            return None  # of which day it is asked is not known
        day = slots.days()
        return (
            PointLife(access_point=point, about="supplied", since=day.day or day.since, market=slots.one("market")),
        )
    if yes_no(slots) and not events and not slots.has("intent", "exists", "list"):
        return None  # is it this or that: what happened there is no answer
    slots.take("intent", "life", "list")
    slots.take("topic")
    slots.take("field", "sentence")
    market = slots.one("market")
    days = slots.days()
    return (PointLife(access_point=point, since=days.since, until=days.until, market=market),)


LONGEST_NUMBER = 6
"""Digits of a request's number; more of them are a reference."""


def request_life(slots: Slots) -> Read:
    """What became of one request, by its reference."""
    slot = "reference" if slots.has("reference") else "request"
    reference = slots.one(slot)
    if reference is None and slots.has("point"):
        return _requests_there(slots)
    if reference is None or (slot == "request" and len(reference) <= LONGEST_NUMBER) or slots.has("intent", "count"):
        return None
    about = "references" if _of_references(slots, slot) else "life"
    slots.take("thing", "request")
    slots.take("kept", "reference")
    slots.take("english", "reference")
    slots.mark(one for one in slots.of("kind") if one.value.endswith(("Request", "Order")))
    slots.take("market")
    _settled(slots)
    asked = slots.take("state")
    told = ["open"] if slots.take("unanswered") else [SAID.get(("request", one), one) for one in asked]
    is_ = told[0] if yes_no(slots) and len(told) == 1 and told[0] in (*REQUEST_STATES, "open") else None
    if asked and is_ is None and not slots.has("intent", "why", "when", "list", "state", "since"):
        return None
    slots.take("intent", "why", "when", "since", "state", "life", "list", "exists", "today", "last", "occurred")
    slots.take("field", "sentence", "ebix", "validity")
    slots.take("subject", "code", "ebix")
    _ended(slots)
    slots.take("group", "code", "state")
    slots.take("thing", "access_point")
    if about == "references":
        slots.take("fact")
        slots.take("subject", "market")
    return (RequestLife(about=about, reference=reference, equals=is_),)  # type: ignore[arg-type]


def _of_references(slots: Slots, slot: str) -> bool:
    """Whether another reference of a request is asked for: under which one the market knows ours."""
    named = {one.start for one in slots.of(slot)}
    words = [one for one in slots.of("english", "reference") if not named & {one.end, one.end + 1}]
    asked = slots.has("intent", "list") or slots.has("field", "sentence")
    return bool(words) and asked and not slots.has("state") and not slots.has("intent", "why", "when", "since", "state")


def _requests_there(slots: Slots) -> Read:
    """What became of the requests at an access point."""
    outcome = slots.has("intent", "state", "why", "life") or slots.has("group", "code", "state") or slots.has("state")
    kinds = [one for one in slots.of("kind") if one.value.endswith(("Request", "Order"))]
    meant = bool(kinds) or slots.has("thing", "request")
    if slots.has("kind", "RequestStatus") and not slots.has("intent", "list", "occurred", "when", "since"):
        outcome = meant = True  # the status of the request is no message about it
    asked = [SAID.get(("request", one), one) for one in slots.values("state")]
    yes = yes_no(slots)
    if not (outcome and meant) or slots.has("intent", "count") or (yes and len(asked) != 1):
        return None
    point = slots.one("point")
    slots.take("thing", "access_point", "request")
    slots.take("kind")  # of what the market tells no kind is known: its object is shown
    slots.take("market")
    slots.take("state")
    slots.take("fact")
    _settled(slots)
    slots.take("intent", "why", "when", "since", "state", "life", "list", "today", "last", "occurred")
    slots.take("field", "sentence", "ebix", "validity")
    slots.take("subject", "code")
    _ended(slots)
    slots.take("group", "code", "state")
    named = tuple(dict.fromkeys(one.value for one in kinds))
    return (RequestLife(access_point=point, kinds=named, equals=asked[0] if yes else None),)


def _ended(slots: Slots) -> None:
    """Take the words for the end of a request where its code is asked for."""
    if slots.has("group", "code"):
        slots.used |= {place for place, token in enumerate(slots.asked.tokens) if token in ENDING}


ENDING = frozenset((
    "reponse", "answer", "response", "antwoord", "cloturee", "cloture", "cloturees", "closed", "close", "afgesloten",
    "end", "ended", "finished", "terminee", "fini", "finie", "finies", "conclue", "afgerond", "geantwoord", "beeindigd",
    "geeindigd",
))  # fmt: skip
"""Words for the end of a request, where its code is asked for."""
AT_LAST = frozenset(("finally", "eventually", "ultimately", "finalement", "uiteindelijk", "ondertussen", "meanwhile"))
"""Words for the state that something has now."""


def _settled(slots: Slots) -> None:
    """Take the words for what became of it in the end: of one thing only its state now is known."""
    slots.used |= {place for place, token in enumerate(slots.asked.tokens) if token in AT_LAST}


def versions(slots: Slots) -> Read:
    """The versions of the rules that the store was judged by."""
    if not slots.take("thing", "rules_version") or slots.has("intent", "changed", "count", "compare"):
        return None
    slots.take("intent", "list", "today", "use")
    slots.take("field", "sentence", "kinds")
    return (Versions(what="rules"),)


def _of_refusing_rules(slots: Slots) -> bool:
    """Whether the rules that refuse are counted, and no refused messages: how many checks bounce the message."""
    errors = {one.start for one in slots.of("severity", "error")}
    states = {one.start for one in slots.of("state")}
    return rules_counted(slots) is not None and bool(states) and states <= errors and not slots.has("days")


def stored(slots: Slots) -> Read:
    """Things of the store: how many, which, since when, the most frequent, the average."""
    if _elsewhere(slots):
        return None
    if slots.has("station"):
        return _of_stations(slots)
    if slots.has("checked") and not slots.has("thing"):
        return _of_invoices(slots)
    refused_by = refusing(slots)
    if refused_by is not None and not _take_refusing(slots, refused_by):
        return None
    unknown = slots.take("unknown_code")
    thing, sure = _thing(slots)
    if thing is None or _of_states(slots, thing) or _of_a_rule(slots) or _of_refusing_rules(slots):
        return None
    if thing == "access_point" and slots.has("point") and slots.has("days"):
        return None  # what was on a day with one point is told by its life
    events = _take_beside(slots, thing)
    supplied = _supplied(slots) if thing == "access_point" else None
    by = _spread_over(slots, thing)
    if by == "message" and not _so_many_codes(slots):
        return None
    day_of = _day_of(slots, thing)
    how = _how(slots, thing, by, sure=sure)
    if how is None:
        return None
    if unknown:
        return _unknown_rule(slots, unknown[0])
    coded = slots.has("field", "error_code")  # warnings have error codes too
    if len(slots.values("code")) > 1:
        return None
    code = _code(slots, thing, refused_by)
    least, most = _bounds(slots, by)
    if how == "list" and by is None:
        _take_so_many(slots)
    lacking = _lacking(slots, thing, by)
    every = bool(code) or thing == "finding" or (how == "top" and coded)
    severity = None if thing == "request" or lacking else _severity(slots, how, by, every=every)
    plan = Stored(
        thing=thing, how=how, by=by, states=_states(slots, thing), markets=_markets(slots),  # type: ignore[arg-type]
        kinds=tuple(slots.take("kind")), types=tuple(events or slots.take("type")),
        code=code,
        error_class=_class(slots, thing, by),  # type: ignore[arg-type]
        severity="error" if refused_by is not None else severity,  # type: ignore[arg-type]
        access_point=slots.one("point"), envelope=_number(slots, "envelope") if thing == "message" else None,
        day_of=day_of, lacking=lacking, late=thing in ("request", "freed") and bool(slots.take("late")),
        supplied=supplied, number=_number(slots, thing) if thing in ("request", "envelope") else None,
        at_least=least, at_most=most, ranks=ranks(slots) if how in ("top", "bottom") else None,
    )  # fmt: skip
    if plan.access_point or plan.by == "access_point" or thing != "access_point":
        slots.take("thing", "access_point")
    return _dated(plan, slots)


def _elsewhere(slots: Slots) -> bool:
    """Whether something is asked that no count or list of the store tells."""
    if slots.has("intent", "why", "default", "compare", "changed") or slots.has("stage"):
        return True
    if of_several(slots) and any(one.value != "message" for one in slots.of("list")):
        return True  # what is in the list of one market and not in that of another
    return of_values(slots) or _by_most_rules(slots)


def _spread_over(slots: Slots, thing: Thing) -> StoreGroup | None:
    """By what things are counted: messages by how many error codes they have, points by their messages."""
    by = "access_point" if thing == "message" and _points_counted(slots) else _group(slots, thing)
    messages, codes = slots.of("thing", "message"), slots.of("group", "code")
    sized = slots.has("number_is") and messages and codes and messages[0].start < codes[0].start
    return "message" if by == "code" and sized else by


def _code(slots: Slots, thing: Thing, refused_by: Match | None) -> str | None:
    """The code of what is asked for, or the beginning of its codes."""
    gateway = slots.one("gateway") if thing == "incident" else None
    codes = slots.take("code")
    if codes:
        slots.take("group", "code")
        slots.take("subject", "code", "rule")
        slots.take("severity", "error")
    if gateway or codes:
        return gateway or codes[0]
    prefix = slots.one("prefix") if thing in ("message", "finding", "freed") else None
    if prefix:
        _take_beside_prefix(slots)
    elif refused_by is not None:
        prefix = next((f"{RULES_OF.get(one, one)}-" for one in slots.values("market") if one != "all"), None)
    return prefix


def _so_many_codes(slots: Slots) -> bool:
    """Whether error codes are what there are so many of: messages with at least two error codes."""
    numbers = slots.of_all(("number", "times"))
    codes = slots.of("group", "code")
    counted = any(0 <= code.start - one.end < NEAR for one in numbers for code in codes)
    if counted:
        slots.take("group", "code")
        slots.take("subject", "code")
        slots.take("field", "error_code")
        slots.take("intent", "distinct")
    return counted


def _lacking(slots: Slots, thing: str, by: str | None) -> Severity | None:
    """The severity of which messages have no finding: accepted without a warning."""
    if thing != "message" or by is not None:
        return None
    told = [one for one in slots.of("severity") if slots.denied(one, "without")]
    if not told:
        return None
    slots.mark(told)
    return told[0].value  # type: ignore[return-value]


ANSWERING = frozenset((
    "answer", "answers", "answered", "reply", "respond", "repondre", "reponde", "antwoorden", "beantwoorden",
    "beantwoord", "moest", "moet", "moeten", "moesten", "due",
))  # fmt: skip
"""Words for the answer to a request, where its last day is asked for."""


def _day_of(slots: Slots, thing: str) -> DayOf | None:
    """Which day is meant, where it is not that of arrival."""
    if thing == "message" and slots.take("effect"):
        return "effective"
    if thing == "request" and slots.take("due"):
        slots.used |= {place for place, token in enumerate(slots.asked.tokens) if token in ANSWERING}
        return "due"
    return None


def _by_most_rules(slots: Slots) -> bool:
    """Whether messages are compared by how many rules refused them, which is not counted."""
    most = [one for one in slots.of("intent", "top", "bottom") if slots.asked.word(one.start - 1) in BY]
    return any(0 <= rule.start - one.end <= 1 for one in most for rule in slots.of("subject", "rule"))


RULES_OF = {"common": "CO"}
"""Beginning of the codes of rules that are of no market."""


def _take_refusing(slots: Slots, rule: Match) -> bool:
    """Take the rules by which messages were refused; not where it is told of them what findings do not tell."""
    behind = any(one.start > rule.end for one in slots.of_all(("type", "ebix_reason", "set", "script")))
    if behind or len(slots.values("market")) > 1 or slots.has("not") or slots.has("severity", "warning"):
        return False
    slots.mark([rule])
    slots.mark(one for one in slots.of("group", "rule") if one.end == rule.end)
    slots.take("subject", "class")
    slots.take("market", "common")
    slots.take("each")
    slots.take("times")
    return True


def _of_stations(slots: Slots) -> Read:
    """The calorific values that are kept, and the stations of which they are."""
    gas = slots.has("english", "gas") or any(one.end - one.start > 1 for one in slots.of("station"))
    gas = gas or any("ontvangst" in slots.asked.word(one.start) for one in slots.of("station"))
    if not (gas or slots.has("kind", "CalorificValue")) or slots.has("subject", "rule", "code", "field", "command"):
        return None  # any other station is none of ours
    first = slots.of("station")[0].start
    counted = [one for one in slots.of("intent", "count", "distinct") if 0 <= first - one.end < NEAR]
    slots.take("station")
    count, distinct = slots.take("intent", "count"), slots.take("intent", "distinct")
    top, bottom = bool(slots.take("intent", "top")), bool(slots.take("intent", "bottom"))
    slots.take("intent", "list", "exists", "occurred")
    slots.take("kind", "CalorificValue")
    slots.take("stored")
    slots.take("fact")
    slots.take("thing", "message")
    slots.take("each")
    slots.take("times", "1")
    slots.take("english", "retention", "gas")
    how = "top" if top else "bottom" if bottom else "groups" if not count else "count"
    how = "count_groups" if how == "count" and (counted or distinct) else how
    plan = Stored(
        thing="calorific_value", how=how, by="station", markets=_markets(slots),  # type: ignore[arg-type]
        ranks=ranks(slots) if top or bottom else None,
    )  # fmt: skip
    return _dated(plan, slots)


INVOICE_FLAGS = ("contradictory", "contested", "complete", "incomplete")
"""What the check of grid invoices found of one."""


def _of_invoices(slots: Slots) -> Read:
    """What the check of grid invoices found of them: whether they contradict themselves, are contested, complete."""
    if not slots.has("kind", "GridInvoice") or slots.has("subject", "rule", "code", "command") or slots.has("code"):
        return None
    flags = tuple(slots.take("checked"))
    slots.take("kind", "GridInvoice")
    asks = yes_no(slots) or slots.has("intent", "exists")
    count, listed = slots.take("intent", "count"), slots.take("intent", "list", "exists", "occurred")
    slots.take("stored")
    slots.take("times", "1")
    how = "count" if count else "exists" if asks and listed != ["list"] else "list"
    return (Stored(thing="invoice", how=how, states=flags, markets=_markets(slots)),)  # type: ignore[arg-type]


def _take_so_many(slots: Slots) -> None:
    """Take how many things there are of which it is asked which: which two messages wait."""
    things = {one.start for one in slots.of("thing")}
    slots.mark(one for one in slots.of("number")
               if one.end in things and slots.asked.word(one.start - 1) in SO_MANY)  # fmt: skip


SO_MANY = frozenset(("which", "what", "the", "quels", "quelles", "les", "welke", "de"))
"""Words before the number of things that are known to be so many."""


def _take_beside(slots: Slots, thing: str) -> list[str]:
    """Take what is said beside requests and notifications; the events of notifications."""
    if thing == "notification":
        slots.mark(one for one in slots.of("receiver") if not TOWARDS.isdisjoint(slots.asked.tokens[: one.start][-2:]))
        slots.take("word", "outbox")
    if thing == "incident":
        slots.take("thing", "envelope")
        slots.take("fact")
    if thing == "request":
        slots.take("class", "product")  # we made it ourselves
        _ended(slots)
        slots.take("direction", "out")
        slots.take("english", "reference")
    events = slots.take("event") if thing == "notification" else []
    if events or slots.has("type"):
        slots.take("subject", "flow")
    if events:
        slots.take("intent", "life")
        slots.take("list", "event")
    return events


def _unknown_rule(slots: Slots, code: str) -> Read:
    """That no rule has a code, whatever was asked of it."""
    slots.take("severity")
    slots.take("state")
    slots.take("group", "code")
    slots.take("intent", "occurred", "list")
    return (RuleField(code=code),)


TOWARDS = frozenset(("to", "for", "au", "a", "vers", "pour", "naar", "voor", "aan"))
"""Before who receives notifications: there is one back office."""


def _take_beside_prefix(slots: Slots) -> None:
    """Take the words that name what begins so: the error codes beginning with FR-R."""
    slots.take("group", "code")
    slots.take("subject", "code")
    slots.take("severity", "error")
    slots.take("intent", "began")
    slots.take("field", "error_code")


def _of_a_rule(slots: Slots) -> bool:
    """Whether it asks from when a rule holds, what it rests on, or which rules reject: the store has none of that."""
    came = any(slots.has(slot) for slot in ("state", "stored", "days", "period", "ever", "code", "prefix", "point"))
    came = came or slots.has("intent", "occurred", "top", "bottom", "since", "last", "when", "average")
    if rules_asked(slots) is not None and slots.has("severity") and not came:
        return True
    there = any(slots.has(one) for one in ("state", "stored", "days", "period", "point")) or slots.has("thing")
    ranked = {one.end for one in slots.of("intent", "top", "bottom")}
    if any(one.start in ranked for one in slots.of("subject", "rule")) and not there and slots.has("subject", "market"):
        return True  # which market has the most rules that only warn
    if not slots.has("code") or slots.has("thing"):
        return False
    by_whom = slots.has("group", "by") and not slots.has("intent", "freed")  # who approved a rule
    return by_whom or slots.has("field", "validity", "source", "field", "repair")


def _of_states(slots: Slots, thing: str) -> bool:
    """Whether it asks about files of rules, a limit, states themselves, or two states of a message after each other."""
    if slots.has("amount") and not ALLOWED.isdisjoint(slots.asked.tokens):
        return True  # how long a name may be
    if thing == "envelope" and slots.has("subject", "rule") and slots.has("field", "file"):
        return True  # files of rules
    tokens = set(slots.asked.tokens)
    one_by_one = len(slots.values("state")) > 1 and bool(THEN & tokens) and not {"or", "ou", "of"} & tokens
    if one_by_one and thing == "message":
        return True  # rejected before they were accepted
    excepted = {one.end for one in slots.of("except")}
    meant = {one.value for one in slots.of("state") if one.start not in excepted}
    waited = {"quarantined", "accepted"} <= meant
    meaning = slots.has("state") and bool(MEANING & tokens)
    which = thing == "request" and bool(STATES_ASKED & tokens) and not slots.has("number_is")
    return (waited and thing != "freed" and not {"or", "ou", "of"} & tokens) or meaning or which


def _supplied(slots: Slots) -> bool | None:
    """Whether access points are meant that we supply, or that we no longer do; a denial of anything else is left."""
    if slots.take("ended"):
        slots.take("supplied")
        return False
    return bool(slots.take("supplied")) or None


def _number(slots: Slots, slot: str) -> int | None:
    number = slots.one(slot)
    return int(number) if number is not None and 0 < int(number) <= BIGGEST else None


def _markets(slots: Slots) -> tuple[str, ...]:
    """The markets that are named, or all but those that are excepted."""
    if slots.has("market", "common"):
        return ()
    named = markets_of(slots)
    return tuple(one for one in named if one != "common")


def _thing(slots: Slots) -> tuple[Thing | None, bool]:
    """What is counted or listed, and whether the question says so."""
    things = slots.values("thing")
    if "message" in things and all(_is_file(slots, one) for one in slots.of("thing", "envelope")):
        things = [one for one in things if one != "envelope"]  # a file for which messages are counted
    freed = slots.has("intent", "freed") and not {"ticket", "request", "envelope"} & set(things)
    if freed:
        slots.take("intent", "freed")
        slots.take("thing", "message")
        slots.take("state", "quarantined", "stuck")
        slots.take("subject", "script")
        slots.take("field", "repair")
        slots.take("repair")
        return "freed", True
    first = {one: slots.asked.at("thing", one) for one in ("finding", "message")}
    if "finding" in things and first["finding"] < first["message"] < 10_000 and slots.has("intent", "count"):
        slots.take("thing", "message", "finding")
        return "finding", True  # the number of findings on messages
    if things == ["envelope"] and slots.has("gateway") and not slots.has("intent", "count"):
        return "incident", True  # which envelope had an incident: its list names the envelope
    for one in ("ticket", "notification", "acknowledgement", "incident", "request", "envelope"):
        of_envelope = one == "envelope" and slots.has("envelope") and (slots.has("kind") or "message" in things)
        if one in things and not of_envelope:
            slots.take("thing", one)
            return one, True
    if slots.has("gateway"):
        slots.take("thing", "message")
        return "incident", False
    at_point = slots.has("point") and any(slots.has(slot) for slot in ("kind", "type", "state"))
    if "access_point" in things and "message" not in things and at_point:
        slots.take("thing", "access_point")
        return "message", True  # the point is named: what came for it is counted
    grouped = slots.has("number_is") or slots.has("intent", "top", "bottom", "average")
    if "message" in things or ("access_point" in things and (slots.has("state") or slots.has("code") or grouped)):
        slots.take("thing", "message")
        slots.take("thing", "finding")
        slots.take("thing", "envelope")
        return "message", "message" in things
    if "access_point" in things:
        slots.take("thing", "access_point")
        return "access_point", True
    if "finding" in things:
        slots.take("thing", "finding")
        return "finding", True
    return _unnamed_thing(slots)


def _unnamed_thing(slots: Slots) -> tuple[Thing | None, bool]:
    """What is counted or listed where no thing is named: messages, or requests, by what is said of them."""
    counted = slots.has("intent", "count", "since", "last", "when", "occurred") or slots.has("number_is")
    spread = slots.has("intent", "top", "bottom", "average") or slots.has("number_is")
    about = any(slots.has(slot) for slot in ("state", "type", "kind", "severity"))
    about = about or (slots.has("code") and (counted or spread))
    there = slots.has("stored") or slots.has("intent", "occurred")
    coded = (spread or there) and (slots.has("group", "code") or slots.has("subject", "code"))
    told = coded or there or slots.has("state") or slots.has("code")
    if (slots.has("subject", "code") or slots.has("class")) and not told:
        return None, False  # codes of the rules, not of messages
    if (there or slots.has("intent", "distinct")) and slots.has("group", "type"):
        return "message", True
    of_kinds = slots.has("intent", "distinct", "top", "bottom") or (there and not slots.has("subject", "rule"))
    if (there or spread) and of_kinds and slots.has("group", "kind"):
        return "message", True
    ruled = slots.has("subject", "rule") and not slots.has("intent", "top")
    ruled = ruled and refusing(slots) is None and not by_each_rule(slots)
    asked_for = (slots.has("intent", "state") or slots.has("english", "reference")) and bool(slots.values("kind"))
    if slots.has("unanswered") or slots.has("late"):
        return "request", False
    if asked_for and all(kind.endswith("Request") for kind in slots.values("kind")):
        return "request", True  # the state of our switch request
    return ("message", False) if (about or coded) and not ruled else (None, False)


def _is_file(slots: Slots, one: Match) -> bool:
    """Whether a word for an envelope is that for any file."""
    return slots.asked.word(one.start) in ("file", "fichier")


def _group(slots: Slots, thing: str) -> StoreGroup | None:
    """By what things are counted, where it is said; None where they are not."""
    valued = _beside_value(slots)
    slots.mark(valued)
    kept = [one.value for one in slots.of("group") if one not in valued and one.value in get_args(StoreGroup)]
    groups = list(dict.fromkeys(kept))
    spread = slots.has("intent", "top", "bottom", "average") or slots.has("number_is")
    coded = slots.has("code") or slots.has("gateway")
    slots.take("stored")
    if slots.has("kind"):
        slots.take("group", "kind")
        slots.take("field", "kinds")
        slots.take("subject", "kind")
        groups = [one for one in groups if one != "kind"]
    shown = thing == "request" and len(groups) > 1 and not spread
    if shown and not slots.has("each") and not slots.has("intent", "count"):
        slots.take("group")  # what kind it was and in what state it is: the list shows it
        slots.take("field", "kinds")
        slots.take("subject", "kind", "code")
        slots.take("fact")
        return None
    phrases = {one.value for one in slots.of("group") if one.end - one.start > 1}
    if thing == "freed":
        slots.take("group", "by")
        return "by" if "by" in groups or not slots.has("intent", "count", "list") else None
    if coded:
        groups = [one for one in groups if one != "code"]
    if thing == "access_point":
        groups = [one for one in groups if one == "market"]
    if thing == "request" and slots.has("state", "sent") and not WHO.isdisjoint(slots.asked.tokens[:1]):
        return "by"
    if thing == "notification" and spread and (slots.has("list", "event") or slots.has("group", "type")):
        slots.take("list", "event")
        slots.take("intent", "life")
        groups = ["type"]
    if not spread and not slots.has("intent", "count"):
        groups = [one for one in groups if one in phrases or one == "waits_for"]
    if not spread:
        different = slots.has("intent", "distinct")
        groups = [one for one in groups if (one in phrases or different) and (one != "rule" or by_each_rule(slots))]
    order = ("month", "day", "market", "state", "access_point", "type", "kind", "rule", "class", "operator",
             "waits_for", "channel", "by", "code")  # fmt: skip
    found = next((one for one in order if one in groups), None)
    if found is None and spread and not coded:
        found = "type" if thing == "notification" else _top_of(slots)
    said = "message" in slots.values("thing")
    if found is None and thing == "message" and slots.has("subject", "code") and not coded and not said:
        found = "code"
    if found is not None:
        _take_group(slots, found)
    return found  # type: ignore[return-value]


def _take_group(slots: Slots, found: str) -> None:
    """Take the words for a group."""
    slots.take("group", found)
    slots.take("subject", "rule" if found == "rule" else "code")
    if found == "code":
        slots.take("field", "error_code")
        if not slots.has("thing"):
            slots.take("state", "rejected")
    if found in ("kind", "type"):
        slots.take("subject", "kind")
        slots.take("field", "kinds")
    slots.take("field", "markets", "class")


BESIDE: dict[str, tuple[str, ...]] = {
    "type": ("type", "kind", "event"), "kind": ("kind",), "state": ("state",), "class": ("class",),
    "market": ("market",),
}  # fmt: skip
"""Groups -> the slots of their values."""


def _beside_value(slots: Slots) -> list[Match]:
    """Words for a group whose value follows: of type R151 are those of that type, and not each type."""
    each = {place for one in slots.of("each") for place in (one.start, one.end)}
    return [
        one for one in slots.of("group")
        if one.start not in each
        and any(value.start == one.end for value in slots.of_all(BESIDE.get(one.value, ())))
    ]  # fmt: skip


def _points_counted(slots: Slots) -> bool:
    """Whether access points are counted by what their messages are: how many points have a rejected message."""
    counts = slots.of("intent", "count")
    points = slots.of("thing", "access_point")
    messages = slots.of("thing", "message")
    listed = [one for one in slots.of("intent", "list") if not any(said.start < one.start for said in messages)]
    of_market = {place for one in slots.of("market") for place in range(one.start, one.end)}
    telling = slots.asked.telling() - of_market  # the French access points
    near = any(
        one.end <= point.start and telling.isdisjoint(range(one.end, point.start))
        for point in points for one in (*counts, *listed)
    )  # fmt: skip
    if not near or slots.has("number_is") or slots.has("point"):
        return False
    slots.mark(points)
    slots.take("group", "access_point")
    slots.take("stored")
    return True


def _top_of(slots: Slots) -> str | None:
    """What the most frequent is of where the question does not say "by"."""
    if slots.has("thing", "access_point"):
        return "access_point"
    if slots.has("subject", "rule"):
        return "rule"
    if slots.has("severity") or slots.has("subject", "code"):
        return "code"
    return None


def _how(slots: Slots, thing: str, by: StoreGroup | None, *, sure: bool) -> str | None:
    slots.take("field", "sentence", "field", "validity")
    listed = slots.take("intent", "list")
    occurred = slots.take("intent", "occurred")
    asks = yes_no(slots)
    slots.take("topic")
    slots.take("intent", "exists", "use")
    count = slots.take("intent", "count")
    if slots.take("intent", "average"):
        slots.take("field", "validity")
        return "average" if by else None
    if slots.take("intent", "top"):
        return "top" if by is not None else None
    if slots.take("intent", "bottom"):
        return "bottom" if by is not None else None
    if slots.has("number_is"):
        return "list" if by else None
    distinct = slots.take("intent", "distinct")
    if by == "access_point" and listed and not count and slots.has("state"):
        return "groups"  # on which points something waits
    if by == "access_point" and count and not distinct and not slots.has("group", "access_point"):
        return "count_groups"
    if by is not None and (
        distinct
        or (by == "state" and listed and not count)
        or (by in ("code", "type") and not slots.has("thing") and (count or listed))
    ):
        return "groups"
    if count:
        return "count"
    dated = {place for one in slots.of_all(("effect", "due")) for place in range(one.start, one.end)}
    asked = {one.value for one in slots.of("intent") if dated.isdisjoint(range(one.start, one.end))}
    slots.take("intent", "when") if asked & {"last", "since"} else None
    if "last" in asked:
        slots.take("intent", "last")
        return "last"
    if "since" in asked:
        slots.take("intent", "since")
        return "first"
    if "when" in asked:
        slots.take("intent", "when")
        return "first"
    if thing == "freed":
        return "list" if by is None else "count"
    if by is not None:
        return "count"
    return _how_many(slots, thing, listed=bool(listed), occurred=bool(occurred), asks=asks, sure=sure)


DO = frozenset(("does", "do", "can", "may", "should", "peut", "kan", "mag"))
"""First words of questions about what comes in general, and not about what came."""


def _how_many(slots: Slots, thing: str, *, listed: bool, occurred: bool, asks: bool, sure: bool) -> str | None:
    """A list, or whether there is one; nothing where too little is said of what is meant."""
    state = slots.take("intent", "state") and thing in ("request", "envelope", "ticket")
    told = (
        slots.has("code")
        or slots.has("state")
        or slots.has("late")
        or slots.has("unanswered")
        or slots.has("days")
        or slots.has("period")
    )
    came = occurred and asks and thing == "message" and slots.asked.tokens[0] not in DO
    came = came and not told and len((*slots.values("kind"), *slots.values("type"))) == 1  # has any UTILTS come in
    if came:
        slots.take("ever")
    told = told or came
    numbered = slots.has(thing)
    if numbered:
        slots.take("intent", "life")
    if (
        listed
        or told
        or state
        or numbered
        or (sure and (slots.has("market") or slots.has("kind") or slots.has("type")))
    ):
        if (asks or slots.has("intent", "exists")) and not listed and not numbered:
            return "exists"
        return "list" if sure or told or numbered or occurred else None
    return None


ALSO = frozenset(("and", "or", "nor", "et", "ou", "ni", "en", "of", "noch", "the", "les", "des", "de", "in", "from"))
"""Words between two states of which both are denied: neither rejected nor in quarantine."""
TOLD = ("notification", "acknowledgement")
"""Things that are sent or wait for it: the word for it is none for what arrived."""


def _states(slots: Slots, thing: str) -> tuple[str, ...]:
    """The states that are meant; of a denied one all others."""
    known = STATES.get(thing, ())
    if thing == "request" and (slots.take("unanswered") or slots.take("state", "open")):
        slots.take("state")
        slots.take("not")
        slots.take("without")
        return UNANSWERED
    if thing in ("message", "finding") and slots.take("state", "stuck"):
        waiting = slots.take("state", "quarantined")
        return tuple(waiting) or STUCK
    if slots.has("group", "waits_for"):
        slots.take("group", "waits_for")
        slots.take("state", "quarantined")
        return ("quarantined",) if thing in ("message", "finding") else ()
    ours = {"we", "nous", "wij"} & set(slots.asked.tokens)
    by_whom = slots.has("group", "by") or not WHO.isdisjoint(slots.asked.tokens[:1])
    if thing == "request" and (ours or by_whom):
        slots.take("state", "sent")  # all of them: those that we have sent
    if thing == "freed":
        slots.take("state", "accepted")  # what was freed is so
    named: list[str] = []
    denied: list[str] = []
    last: Match | None = None  # the denied state before
    for one in slots.of("state"):
        if one.start in slots.used and one.value == ("accepted" if thing == "freed" else "sent") and thing not in TOLD:
            continue
        state = one.value if one.value in known else SAID.get((thing, one.value), "")
        if not state:
            continue
        slots.mark([one])
        joined = last is not None and set(slots.asked.tokens[last.end : one.start]) <= ALSO
        last = one if slots.denied(one, "not", "except") or joined else None
        (named if last is None else denied).append(state)
    if (
        slots.has("severity", "error")
        and thing in ("message", "finding")
        and not (named or denied)
        and not slots.has("group", "code")
    ):
        slots.take("severity", "error")
        named += [] if denied else ["rejected"]
    if thing in TOLD and "pending" in named:
        named = [state for state in named if state != "sent"]  # what still waits to be sent
    if denied and not set(named) - set(denied):
        named = [state for state in known if state not in denied]
    return tuple(dict.fromkeys(named))


def _class(slots: Slots, thing: str, by: str | None) -> str | None:
    if thing not in ("message", "ticket", "finding") or by == "operator":
        if by == "operator":
            slots.take("class", "grid_operator")
        return None
    slots.take("field", "class")
    return slots.one("class")


def _severity(slots: Slots, how: str, by: str | None, *, every: bool) -> str | None:
    """A warning rejects nothing: it is counted apart from errors, but where findings of every severity are meant."""
    refused = {place for one in slots.of("state") for place in range(one.start, one.end)}
    told = [one for one in slots.of("severity") if one.start not in refused]
    slots.mark(one for one in told if one.value == told[0].value)
    if told and by is not None:
        slots.take("only")
    ends = {one.start for one in told if one.value == told[0].value}
    slots.mark(one for one in slots.of("field", "severity") if one.end in ends or one.start in ends)
    named = told[0].value if told else None
    if by in ("code", "rule", "class") and told and slots.denied(told[0], "not", "without", "except"):
        named = "error" if named == "warning" else "warning"  # warnings excluded, which code is the most frequent
    if by not in ("code", "rule", "class", "message") or every:
        return named
    by_errors = how == "top" or by in ("code", "message") or (by == "rule" and slots.has("state", "rejected"))
    return named or ("error" if by_errors else None)


def _bounds(slots: Slots, by: str | None) -> tuple[int | None, int | None]:
    """How many a group has at least and at most."""
    compared = slots.one("number_is")
    if compared is None or by is None:
        return None, None
    number = slots.one("number") or slots.one("times")
    if number is None:
        return None, None
    slots.take("times")
    n = int(number)
    if compared in ("less", "most"):
        return None, max(n - 1, 1) if compared == "less" else n
    if compared == "equal":
        return n, n
    return (n + 1 if compared == "more" else n), None


def _dated(plan: Stored, slots: Slots) -> tuple[Plan, ...]:
    """The plan with its days; both readings of a day like 3/4/2026."""
    days = slots.days()
    since, until = days.since, days.until
    waits = slots.has("period", "today") and bool(plan.states) and not slots.has("intent", "occurred")
    stands = plan.thing == "request" and slots.has("intent", "state") and not slots.has("intent", "occurred")
    waits = waits or (stands and slots.has("period", "today"))
    if waits and plan.thing in ("message", "request"):
        since = until = None  # what waits today waits now, whenever it arrived
    if slots.take("intent", "today") and since is None and slots.has("period", "today") and not waits:
        since, until = slots.today, slots.today + timedelta(days=1)
    plan = replace(plan, since=since, until=until)
    if days.other is None:
        return (plan,)
    step = timedelta(days=1)
    other_since = None if since is None else days.other
    other_until = None if until is None else days.other + step if since is not None else days.other
    return plan, replace(plan, since=other_since, until=other_until)


__all__ = ["message", "point_life", "request_life", "stored", "versions", "yes_no"]
