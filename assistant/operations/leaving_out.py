"""Whether a reading by likeness leaves out what changes the meaning of a question.

A known question that is like another may ask less: without its restriction, exclusion or size. Such a reading is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Any, get_args

import msgspec

from assistant.operations.conditions import MENTIONS, OPTIONAL, bounds, tells_of_rules
from assistant.operations.family import (
    ATTRIBUTES,
    CodeLists,
    OnlyThere,
    Plan,
    PointLife,
    RuleChanges,
    RuleFilter,
    Rules,
    Stored,
    Thing,
    WhyMessage,
)
from assistant.operations.slots import NEAR, Slots
from assistant.operations.understanding import Understood
from assistant.operations.vocabulary import Match, tokens_of

_DURATIONS = frozenset((
    "minute", "minutes", "minuten", "hour", "hours", "heure", "heures", "uur", "uren", "second", "seconds", "secondes",
    "seconden", "temps", "tijd", "long", "lang",
))  # fmt: skip
"""Words for what is no number of things."""
_SPELT = ("kind", "type", "listed")
"""Slots of names that are recognised by their form."""
_RESTRICTING = ("direction", "severity", "class", "state")
"""Slots of what restricts: a reading has it, or has another name of the same words."""
EITHER = frozenset(("or", "ou", "of"))
"""Words between two states of which one is enough."""
_OF_PAGES = ("setting", "variable", "command", "option", "exit")
"""What the store has none of."""
_THINGS = frozenset(get_args(Thing)) - {"message", "finding", "freed", "envelope", "access_point"}
"""Things that are no other thing: an incident is no finding."""


def says_less(plan: Plan, asked: Understood, today: date) -> bool:
    """Whether a reading leaves out what changes the meaning: what is lacking, that a duration is asked for, a warning,
    a size, a thing, what is compared, what restricts, the rules that refused messages, what a class is said to be, or a
    name that is spelt as it is.

    Args:
      plan: the reading.
      asked: the question, taken apart.
      today: the day it is asked.
    """
    if getattr(plan, "how", "") == "count" and not _DURATIONS.isdisjoint(asked.tokens):
        return True
    if asked.has("any_severity") and not (isinstance(plan, WhyMessage) and plan.about == "codes" and not plan.severity):
        return True
    counts = asked.has("intent", "count") or not asked.has("intent", "list", "why", "when")
    if isinstance(plan, Rules) and plan.how == "count" and not counts:
        return True
    if getattr(plan, "severity", None) == "error" and asked.has("severity", "warning"):
        return True
    if tells_of_rules(asked, plan.by if isinstance(plan, Rules) else None):
        return True
    if _left_out(plan, asked):
        return True
    denied = asked.has("severity", "warning") and any(map(asked.has, ("except", "without", "not")))
    if isinstance(plan, WhyMessage) and denied and plan.severity is None:
        return True  # its codes but for those that only warn
    told = repr(plan)
    if any(one.value not in told for one in asked.found if one.slot in _SPELT and asked.word(one.start)[:1] == "§"):
        return True
    days = [one for one in asked.found if one.slot == "days"]
    if isinstance(plan, PointLife) and plan.about == "supplied" and len(days) > 1:
        return True  # of which day it is asked is not known
    two = len(set(asked.days.named)) > 1 and not asked.has("intent", "began", "changed")
    dated = plan.where.on or plan.where.since if isinstance(plan, Rules) else isinstance(plan, RuleChanges)
    if two and dated:
        return True  # on the one day and on the other
    return (
        _of_a_stranger(asked)
        or _of_another(plan, asked)
        or _of_another_size(plan, asked, today)
        or _unrestricted(plan, asked)
    )


_NAMED = re.compile(r"(?<=[^\W\d_][ ,])\s?([A-Z][^\W\d_A-Z]{3,})\b")
"""A word that is written like the name of somebody: none of the three languages writes others so."""


def _of_a_stranger(asked: Understood) -> bool:
    """Whether it names somebody whom nothing knows: messages from Fluvius are not all messages."""
    known = {place for one in asked.found for place in range(one.start, one.end)}
    rest = {asked.tokens[place] for place in asked.telling() - known}
    return any(not rest.isdisjoint(tokens_of(one)) for one in _NAMED.findall(asked.text))


def _left_out(plan: Plan, asked: Understood) -> bool:
    """Whether it keeps the severity that is denied, one class where two are named, or not that none has it."""
    severity = getattr(plan, "severity", None) or getattr(getattr(plan, "where", None), "severity", None)
    before = [one.end for one in asked.found if one.slot in ("not", "without", "except")]
    behind = [one.start for one in asked.found if one.slot == "not"]
    denied = [
        one for one in asked.found
        if one.slot == "severity" and one.value == severity
        and (any(0 <= one.start - end < NEAR for end in before) or any(0 <= start - one.end < NEAR for start in behind))
    ]  # fmt: skip
    classes = len(asked.values("class")) > 1
    none = "none" in asked.tokens and not isinstance(plan, OnlyThere)
    return bool(denied) or none or (classes and isinstance(plan, Rules) and not plan.where.unlike)


def _of_another(plan: Plan, asked: Understood) -> bool:
    """Whether it asks for another thing than is named, or by another attribute."""
    things = _THINGS.intersection(asked.values("thing"))
    if isinstance(plan, Stored):
        return (bool(things) and plan.thing not in things) or asked.has("subject", *_OF_PAGES)
    by = plan.what if isinstance(plan, OnlyThere) else plan.by if isinstance(plan, Rules) else None
    named = {MENTIONS[key] for one in asked.found if (key := (one.slot, one.value)) in MENTIONS} - {"market"}
    return by in ATTRIBUTES and by != "market" and bool(named) and by not in named


def _of_another_size(plan: Plan, asked: Understood, today: date) -> bool:
    """Whether it has not the size that is named: more than one."""
    least, most = bounds(Slots(asked, today))
    if (least, most) in ((None, None), (1, None)) or not isinstance(plan, Rules | Stored | CodeLists):
        return False
    sizes = [(plan.at_least, plan.at_most)]
    sizes += [(plan.where.wide, plan.where.narrow)] if isinstance(plan, Rules) else []
    return (least, most) not in sizes


def _unrestricted(plan: Plan, asked: Understood) -> bool:
    """Whether it leaves out a value that restricts, or that something is denied."""
    if not isinstance(plan, Rules | Stored):
        return False
    denied = [one for one in asked.found if one.slot in ("without", "except") and not _inside(one, asked)]
    where = plan.where if isinstance(plan, Rules) else None
    if where is not None and plan.how != "lacking":
        optional = where.having or any(MENTIONS.get((one.slot, one.value)) in OPTIONAL for one in asked.found)
        denied += [one for one in asked.found if one.slot == "not" and optional and not _inside(one, asked)]
        if denied and not (where.missing or where.unlike or len(where.markets) > 1):
            return True
    if isinstance(plan, Stored):
        if denied and not (len(plan.states) > 1 or len(plan.markets) > 1 or plan.lacking):
            return True
        denials = [one for one in asked.found if one.slot in ("not", "except")]
        before = {place for one in denials for place in (one.end, one.end + 1)}
        if any(one.slot == "state" and one.start in before and one.value in plan.states for one in asked.found):
            return True  # what is not rejected is no rejected message
        if {"quarantined", "accepted"} <= set(plan.states) and not EITHER & set(asked.tokens):
            return True  # waited and is accepted now: no message is in both states
        if (plan.by is not None and plan.how != "list") or plan.thing == "freed":
            return False  # the most frequent of what was rejected
    told = set(_values(msgspec.to_builtins(plan)))
    kept = {place for one in asked.found if one.value in told for place in range(one.start, one.end)}
    restricting = [one for one in asked.found if one.slot in _RESTRICTING and not _is_said(one, plan, where)]
    return any(kept.isdisjoint(range(one.start, one.end)) for one in restricting)


def _values(node: Any) -> Iterator[str]:
    """Every value of a plan."""
    if isinstance(node, dict):
        for one in node.values():
            yield from _values(one)
    elif isinstance(node, (list, tuple)):
        for one in node:
            yield from _values(one)
    elif isinstance(node, str):
        yield node


def _is_said(one: Match, plan: Rules | Stored, where: RuleFilter | None) -> bool:
    """Whether a reading restricts by that slot, be it by another name: what is not accepted has all other states."""
    if where is not None:
        told = {"severity": where.severity, "class": where.error_class, "direction": where.direction}.get(one.slot)
        return one.slot == "state" or bool(told or where.set or where.unlike or where.missing)
    if not isinstance(plan, Stored) or one.slot == "direction" or one.value == "sent":
        return True
    if one.slot == "class":
        return bool(plan.error_class) or plan.thing == "request"  # we made it ourselves
    return bool(plan.states or plan.lacking or (plan.severity and (one.slot == "severity" or one.value == "rejected")))


def _inside(one: Match, asked: Understood) -> bool:
    """Whether a denial is a part of a name: without problems, no answer."""
    return any(
        other.slot in ("state", "unanswered", "severity", "class", "ended") and other.start <= one.start < other.end
        for other in asked.found
    )
