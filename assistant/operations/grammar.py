"""Which operation a question asks for. Each form takes the questions of one kind; the first that fits is taken.

A form that is not sure takes nothing: a question that no form takes goes to the passages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import get_args

from msgspec import Struct
from msgspec.structs import replace

from assistant.operations.family import (
    FIELDS,
    CodeLists,
    CompareRules,
    Field,
    Manual,
    Missing,
    OnlyThere,
    Plan,
    PointLife,
    RuleChanges,
    RuleField,
    RuleFilter,
    RuleGroup,
    Rules,
    Stored,
    StoreGroup,
    Versions,
    WhyMessage,
)
from assistant.operations.understanding import Understood
from energycomm.eis.states import (
    ACKNOWLEDGEMENT_STATES,
    ENVELOPE_STATES,
    MESSAGE_STATES,
    NOTIFICATION_STATES,
    REQUEST_STATES,
    STUCK,
    TICKET_STATES,
)

MOST_WORDS = 3
"""Words that rules are looked for by; more of them ask for a passage."""


class Asking(Struct, frozen=True):
    """What has to be asked back before anything can be worked out: a key of the wording, and the choices."""

    key: str
    choices: tuple[str, ...]


STRONG = ("kinds", "source", "severity", "class", "condition", "ebix", "file", "validity", "set", "reads", "todo")
"""Fields whose words are only said of a rule."""

Read = tuple[Plan, ...] | Asking | None
YES_NO = (
    "is", "are", "does", "do", "can", "may", "est", "la", "le", "les", "s", "wordt", "worden", "geldt", "gelden",
    "zijn", "heeft", "kan", "mag", "§",
)  # fmt: skip


def plans(asked: Understood, today: date) -> Read:
    """The readings of a question, what must be asked back, or None where it is no question to the house.

    Args:
      asked: the question, taken apart.
      today: the day it is asked.
    """
    for form in FORMS:
        read = form(asked, today)
        if read is not None:
            return read
    return None


def _message(asked: Understood, today: date) -> Read:
    number = asked.message
    if number is None and asked.has("intent", "why") and not asked.codes and asked.has("state"):
        alone = [token for token in asked.tokens if token.isdigit()]
        number = int(alone[0]) if len(alone) == 1 and len(asked.rest) <= 1 and len(alone[0]) < 19 else None
    if number is None or not 0 < number < 1 << 63:
        return None
    if asked.has("intent", "freed"):
        return (WhyMessage(message=number, about="freed"),)
    if asked.has("thing", "access_point") and not asked.has("intent", "why"):
        return (WhyMessage(message=number, about="point"),)
    if asked.has("intent", "life"):
        return (WhyMessage(message=number, about="history"),)
    if asked.has("intent", "why") or asked.has("group", "waits_for"):
        return (WhyMessage(message=number),)
    if asked.has("intent", "state") or asked.has("state"):
        return (WhyMessage(message=number, about="state"),)
    if asked.has("subject", "code") or asked.has("group", "code"):
        return (WhyMessage(message=number, about="codes"),)
    return (WhyMessage(message=number),) if len(asked.rest) <= 1 else None


def _point(asked: Understood, today: date) -> Read:
    if asked.point is None:
        return None
    market = _market(asked)
    if asked.has("intent", "count", "since", "last", "top") or asked.has("state"):
        read = _of_store(asked, today)
        if read is not None:
            return read
    days = asked.days
    return (PointLife(access_point=asked.point, since=days.since, until=days.until, market=market),)


def _compare(asked: Understood, today: date) -> Read:
    codes = list(dict.fromkeys([*asked.codes, *asked.unknown]))
    if len(codes) < 2 or asked.has("thing", "message") or asked.has("thing", "finding"):
        return None
    return (CompareRules(one=codes[0], other=codes[1]),)


def _changes(asked: Understood, today: date) -> Read:
    rules = asked.has("subject", "rule", "code", "list") or asked.has("thing", "rules_version")
    if len(asked.versions) == 2 and (rules or asked.has("intent", "changed", "compare")):
        return (RuleChanges(old=asked.versions[0], new=asked.versions[1]),)
    if asked.codes or asked.message is not None or asked.kinds or len(asked.rest) > 1:
        return None
    if asked.has("thing", "rules_version") and not asked.has("intent", "changed"):
        return (Versions(what="rules"),)
    if not (asked.has("intent", "changed") and rules):
        return None
    if asked.versions:
        return (RuleChanges(old=asked.versions[0]),)
    if asked.has("thing", "rules_version"):
        return (Versions(what="rules"),)
    if not asked.days.known:
        return (RuleChanges(markets=_markets(asked)),) if not asked.rest else None
    return (RuleChanges(since=asked.days.since, until=asked.days.until, markets=_markets(asked)),)


_DOCUMENT = re.compile(
    r"(?i)\bversions?\s+([\w.-]+)\s+(?:and|to|et|[àa]|en|naar)\s+(?:(?:de\s+)?(?:la\s+)?version\s+|versie\s+)?([\w.-]+)"
    r"\s+(?:of|de|du|van)\s+(?:the\s+|la\s+|le\s+|de\s+|het\s+|l['’])?([\w .-]{2,80}?)\s*\??$"
)


def _documents(asked: Understood, today: date) -> Read:
    named = _DOCUMENT.search(asked.text.replace("versie", "version"))
    if named is None or not asked.has("intent", "changed", "compare") or asked.has("subject", "rule"):
        return None
    return (Versions(what="documents", document=named[3], old=named[1], new=named[2]),)


def _manual(asked: Understood, today: date) -> Read:
    if asked.exit_code is not None:
        return (Manual(what="exit_code", name=asked.exit_code),)
    if asked.has("subject", "exit") and asked.has("intent", "list", "count"):
        return (Manual(what="exit_code", how="count" if asked.has("intent", "count") else "list"),)
    if asked.gateway and not asked.has("thing") and not asked.codes:
        return (Manual(what="code", name=asked.gateway[0]),)
    named = [*asked.settings, *(word for word in asked.rest if asked.has("subject", "setting"))]
    if asked.settings or (asked.has("subject", "setting") and len(asked.rest) == 1):
        how = "default" if asked.has("intent", "default") else "one"
        return (Manual(what="setting", how=how, name=named[0]),)  # type: ignore[arg-type]
    if asked.commands and asked.has("subject", "command") and not asked.has("intent", "count"):
        return (Manual(what="command", name=asked.commands[0]),)
    what = "setting" if asked.has("subject", "setting") else "command" if asked.has("subject", "command") else ""
    if what and not asked.rest and asked.has("intent", "count", "list"):
        return (Manual(what=what, how="count" if asked.has("intent", "count") else "list"),)  # type: ignore[arg-type]
    if asked.has("subject", "glossary"):
        if asked.glossary:
            return (Manual(what="word", name=asked.glossary[0]),)
        if asked.rest:
            return (Manual(what="word", name=" ".join(asked.rest)),)
        if asked.has("intent", "count", "list"):
            return (Manual(what="word", how="count" if asked.has("intent", "count") else "list"),)
    return None


def _only(asked: Understood, today: date) -> Read:
    denied = asked.has("intent", "without") or (asked.has("intent", "not") and len(asked.values("market")) > 1)
    if not denied or asked.codes or len(asked.rest) > 1:
        return None
    markets = [one for one in asked.values("market") if one != "common"]
    what = (
        "ebix" if asked.ebix or asked.has("subject", "ebix") or "ebix" in asked.tokens
        else "list" if asked.has("subject", "list") and not asked.lists
        else "code" if asked.lists
        else "kind" if asked.has("subject", "kind")
        else "rule" if asked.has("subject", "rule") or asked.has("subject", "code")
        else ""
    )  # fmt: skip
    if not what or not markets or asked.has("missing"):
        return None
    if len(markets) == 1 and not asked.has("intent", "without"):
        return None
    if len(markets) == 1:
        return Asking("ask_market", tuple(name for name in ("FR", "NL", "BE") if name != markets[0]))
    here, there = _direction(asked, markets)
    kind = asked.kinds[0] if asked.kinds and what in ("rule", "ebix") else None
    return (OnlyThere(what=what, here=here, there=there, list=asked.lists[0] if asked.lists else None, kind=kind),)  # type: ignore[arg-type]


def _direction(asked: Understood, markets: list[str]) -> tuple[str, str]:
    """Which market has it and which has not: the one behind the words for "not" has not, unless nothing is between.

    "Which rules does France have and Belgium not": where the word that denies follows both, the last one has not.
    "What is missing in Belgium that France has": what is denied first has not.
    """
    places = {market: asked.at("market", market) for market in markets}
    words = [one.start for one in asked.found if one.slot == "intent" and one.value in ("without", "not")]
    denied = min(words, default=0)
    behind = [market for market in markets if places[market] > denied]
    before = [market for market in markets if places[market] < denied]
    if len(before) == 1 and behind:
        return before[0], behind[0]
    if not before and len(behind) >= 2:
        only = any(token in ("only", "uniquement", "alleen") for token in asked.tokens)
        first, second = sorted(behind, key=lambda market: places[market])[:2]
        return (first, second) if only or asked.at("intent", "list") < denied - 6 else (second, first)
    first, second = sorted(markets, key=lambda market: places[market])[:2]
    return first, second


def _code_lists(asked: Understood, today: date) -> Read:
    markets = _markets(asked)
    on = asked.days.day
    lists = list(asked.lists)
    if asked.codes or asked.has("thing", "message") or asked.message is not None:
        return None
    if not lists and asked.has("subject", "list") and len(asked.rest) == 1:
        return None
    if lists:
        if asked.listed:
            return (CodeLists(how="meaning", list=lists[0], code=asked.listed[0], markets=markets, on=on),)
        how = "count" if asked.has("intent", "count") else "codes"
        return (CodeLists(how=how, list=lists[0], markets=markets, on=on),)  # type: ignore[arg-type]
    if asked.has("subject", "list") and not asked.rest:
        if asked.listed:
            return (CodeLists(how="meaning", code=asked.listed[0], markets=markets),)
        return (CodeLists(how="lists", markets=markets),)
    other = asked.ebix or asked.kinds or asked.rest or asked.has("subject", "rule") or asked.has("thing")
    if asked.listed and not other and asked.has("field", "sentence"):
        return (CodeLists(how="meaning", code=asked.listed[0], markets=markets, on=on),)
    return None


def _one_rule(asked: Understood, today: date) -> Read:
    codes = [*asked.codes, *asked.unknown]
    if not codes and len(asked.ebix) == 1 and not asked.has("subject", "rule") and not asked.has("thing"):
        return None
    if len(codes) != 1:
        return None
    code = codes[0]
    about_rule = asked.has("field", *STRONG)
    about_store = (
        (asked.has("thing", "message", "finding", "ticket", "access_point") and not about_rule)
        or asked.has("intent", "occurred", "freed", "top")
        or (asked.has("intent", "count", "since", "last") and not asked.has("field", "validity"))
        or (asked.has("state") and not asked.has("intent", "why") and not asked.has("field"))
    )
    if (about_store and not asked.has("subject", "rule")) or asked.has("intent", "freed"):
        read = _of_store(asked, today)
        if read is not None:
            return read
    wanted = _fields(asked)
    what = next(iter((*asked.kinds, *asked.types, *(m for m in asked.values("market") if m != "common"))), None)
    yes_no = asked.starts(*YES_NO) and not asked.has("intent", "list", "why", "count")
    if what and (yes_no or "kinds" in wanted or "markets" in wanted) and len(asked.rest) <= 1:
        own = code[:2].upper() == what
        if not own and (yes_no or not wanted):
            return (RuleField(code=code, applies=what),)
    if asked.days.day and ("validity" in wanted or yes_no):
        return (RuleField(code=code, on=asked.days.day),)
    if asked.has("intent", "today") and "validity" in wanted and yes_no:
        return (RuleField(code=code, on=today),)
    if wanted:
        return (RuleField(code=code, fields=wanted),)
    return (RuleField(code=code),) if len(asked.rest) <= 2 or asked.unknown else None


def _fields(asked: Understood) -> tuple[Field, ...]:
    """The fields that are asked for; the sentence of a rule only where nothing else is."""
    if asked.has("field", "todo"):
        return ("sentence", "class", "repair", "comment")
    named = [one for one in asked.values("field") if one in FIELDS]
    if len(named) > 1:
        named = [one for one in named if one != "sentence"]
    for weaker, stronger in (("field", "comment"), ("title", "comment"), ("set", "kinds"), ("error_code", "comment")):
        if weaker in named and stronger in named and weaker != "field":
            named.remove(weaker)
    return tuple(named)


def _freed(asked: Understood, today: date) -> Read:
    if not asked.has("intent", "freed") or asked.rest:
        return None
    return _of_store(asked, today)


def _store(asked: Understood, today: date) -> Read:
    if asked.has("subject", "rule", "list", "setting", "command", "glossary", "exit"):
        return None
    return _of_store(asked, today)


def _of_store(asked: Understood, today: date) -> Read:
    """A question about the store. Words that stand for nothing known mean that it is another one."""
    spare = [word for word in asked.rest if not word.isdigit()]
    if spare or asked.has("intent", "why", "default", "compare", "without") or asked.settings:
        return None
    thing = _thing(asked)
    if thing is None:
        return None
    by = _group(asked, thing)
    if thing == "incident" and (asked.gateway or by == "code"):
        by = by if not asked.gateway else None
    how = _how(asked, thing, by)
    if how is None:
        return None
    named = [*asked.codes, *asked.unknown, *(asked.ebix if thing == "message" else [])]
    code = named[0] if named else None
    if thing == "incident" and asked.gateway:
        code = asked.gateway[0]
    days = asked.days
    since, until = days.since, days.until
    if days.since is None and asked.has("intent", "today") and asked.has("period", "today"):
        since, until = today, today + timedelta(days=1)
    if (
        asked.has("intent", "today")
        and asked.has("period", "today")
        and asked.has("state")
        and not asked.has("intent", "occurred")
    ):
        # What waits today waits now, whenever it arrived.
        since = until = None
    cls = next(iter(asked.values("class")), None)
    if thing not in ("message", "ticket", "finding") or (
        cls == "missing" and asked.at("class", "missing") > 0 and asked.has("missing")
    ):
        cls = None
    if cls == "grid_operator" and by == "operator":
        cls = None
    severity = next(iter(asked.values("severity")), None)
    if severity is None and how == "top" and by in ("code", "rule"):
        severity = "error"  # a warning rejects nothing: it is counted apart
    plan = Stored(
        thing=thing,  # type: ignore[arg-type]
        how=how,  # type: ignore[arg-type]
        by=by,
        states=_states(asked, thing),
        market=_market(asked) if thing not in ("notification", "incident", "rules_version") else None,
        kind=asked.kinds[0] if asked.kinds and thing in ("message", "request", "freed", "finding") else None,
        type=asked.types[0] if asked.types and thing in ("message", "request", "freed", "finding") else None,
        code=code if thing in ("message", "finding", "incident", "freed") else None,
        error_class=cls if thing in ("message", "ticket", "finding") else None,  # type: ignore[arg-type]
        severity=severity if by in ("code", "rule", "class") and not asked.codes else None,  # type: ignore[arg-type]
        access_point=asked.point,
        envelope=asked.envelope if thing == "message" else None,
        since=since,
        until=until,
        late=asked.has("late") and thing == "request",
    )
    return _swapped(plan, asked)


def _swapped(plan: Stored, asked: Understood) -> tuple[Plan, ...]:
    """Both readings of a day like 3/4/2026."""
    other = asked.days.other
    if other is None:
        return (plan,)
    step = timedelta(days=1)
    since = None if plan.since is None else other
    until = None if plan.until is None else other + step if plan.since is not None else other
    return plan, replace(plan, since=since, until=until)


def _thing(asked: Understood) -> str | None:
    things = asked.values("thing")
    if asked.has("intent", "freed") and not {"ticket", "request", "envelope"} & set(things):
        return "freed"
    for one in ("ticket", "notification", "acknowledgement", "incident", "request"):
        if one in things and not (one == "request" and asked.has("state", "rejected") and "message" in things):
            return one
    if asked.gateway and asked.has("intent", "count", "since", "last", "list", "top"):
        return "incident"
    if "rules_version" in things:
        return "rules_version"
    if "message" in things:
        return "message"
    if "access_point" in things and (asked.has("state") or asked.codes or asked.has("class")):
        return "message"
    if "envelope" in things:
        return "message" if asked.envelope is not None and asked.kinds else "envelope"
    if "access_point" in things:
        return "message" if asked.has("intent", "top") else "access_point"
    if "finding" in things:
        return "finding"
    counted = asked.has("intent", "count", "since", "last", "list", "top")
    if (
        counted
        and (asked.has("state") or asked.has("intent", "occurred"))
        and (asked.kinds or asked.types or asked.codes)
    ):
        return "message"
    if counted and asked.has("state", "quarantined", "stuck", "rejected", "accepted", "treated", "delegated"):
        return "message"
    if asked.has("intent", "top") and (asked.has("severity") or asked.has("subject", "code")):
        return "message"
    if asked.has("intent", "top") and asked.has("group", "code", "type", "kind", "rule") and not asked.has("missing"):
        return "message"
    if asked.codes and counted:
        return "message"
    if counted and asked.types and asked.has("intent", "occurred", "count", "last"):
        return "message"
    return None


def _group(asked: Understood, thing: str) -> StoreGroup | None:
    groups = [one for one in asked.values("group") if one in get_args(StoreGroup)]
    if thing == "freed" and (asked.has("group", "by") or not groups):
        return "by" if asked.has("group", "by") or not asked.has("intent", "count", "list") else None
    top = asked.has("intent", "top")
    if asked.codes or asked.gateway:
        groups = [one for one in groups if one != "code"]
    if not top:
        # "which error codes do they have" groups; "messages with the error code X" does not.
        groups = [one for one in groups if one != "access_point" or "access_point" in asked.values("thing")]
    if not groups and top and asked.has("severity") and not asked.has("thing"):
        return "code"
    if not groups and top and asked.has("subject", "code", "rule"):
        return "rule" if asked.has("subject", "rule") else "code"
    if not groups and top and "access_point" in asked.values("thing"):
        return "access_point"
    if not groups and top and asked.has("subject", "flow"):
        return "type"
    if thing == "access_point":
        groups = [one for one in groups if one == "market"]
    order = ("month", "day", "market", "state", "access_point", "type", "kind", "rule", "class", "operator",
             "waits_for", "channel", "by", "code")  # fmt: skip
    return next((one for one in order if one in groups), None)  # type: ignore[misc]


def _how(asked: Understood, thing: str, by: StoreGroup | None) -> str | None:
    if asked.has("intent", "top") and (by is not None or thing == "message"):
        return "top"
    if asked.has("intent", "count"):
        return "count"
    if asked.has("intent", "since") and (
        asked.has("state") or asked.codes or asked.kinds or asked.types or asked.has("thing")
    ):
        return "first"
    if asked.has("intent", "last"):
        return "last"
    if thing == "freed":
        return "list" if by is None else "count"
    if asked.has("intent", "list") or asked.has("intent", "exists") or asked.has("late"):
        return "count" if by is not None else "list"
    if asked.has("group", "waits_for"):
        return "count"
    return None


def _states(asked: Understood, thing: str) -> tuple[str, ...]:
    known: dict[str, tuple[str, ...]] = {
        "message": MESSAGE_STATES,
        "finding": MESSAGE_STATES,
        "freed": MESSAGE_STATES,
        "envelope": ENVELOPE_STATES,
        "request": REQUEST_STATES,
        "ticket": TICKET_STATES,
        "notification": NOTIFICATION_STATES,
        "acknowledgement": ACKNOWLEDGEMENT_STATES,
    }
    if asked.has("state", "stuck") and thing in ("message", "finding"):
        return STUCK
    named = [one for one in asked.values("state") if one in known.get(thing, ())]
    if thing == "request" and asked.has("state", "rejected"):
        named.append("refused")
    if thing == "ticket" and asked.has("state", "quarantined"):
        named.append("waiting")
    if thing in ("message", "finding") and asked.has("group", "waits_for") and not named:
        named.append("quarantined")
    return tuple(dict.fromkeys(named))


def _rules(asked: Understood, today: date) -> Read:
    rule = asked.has("subject", "rule")
    code = asked.has("subject", "code") and not asked.lists
    if not (rule or code or asked.has("subject", "ebix")) or asked.codes or asked.has("intent", "why", "default"):
        return None
    if asked.has("thing", "message", "envelope", "ticket", "finding") and asked.has("intent", "top", "occurred"):
        return None
    kind_subject = asked.has("subject", "kind")
    if kind_subject and not rule:
        return None
    words = tuple(word for word in asked.rest if not word.isdigit())
    if words and (not rule or len(words) > MOST_WORDS):
        return None
    by = _rule_group(asked)
    where = _rule_filter(asked, today, words)
    if asked.has("intent", "count"):
        how = "codes" if code and not rule else "count"
    elif asked.has("intent", "exists") and not asked.has("intent", "list"):
        how = "exists"
    elif (
        asked.has("intent", "list")
        or by
        or asked.has("intent", "top")
        or (where != RuleFilter() and not words and len(asked.tokens) <= 8)
    ):
        how = "list"
    else:
        return None
    if code and not rule and where == RuleFilter() and how == "list":
        return None
    if how == "exists" and where == RuleFilter():
        return None
    plan = Rules(where=where, how=how, by=by)  # type: ignore[arg-type]
    if len(asked.ebix) == 1 and where == RuleFilter(ebix=asked.ebix[0]) and how == "list" and not rule:
        return (RuleField(code=asked.ebix[0]),)
    return (plan,)


def _rule_group(asked: Understood) -> RuleGroup | None:
    groups = asked.values("group")
    top = asked.has("intent", "top")
    if top and not groups and asked.has("field", "markets"):
        return "market"
    if top and "ebix" in asked.tokens:
        return "ebix"
    if not (asked.has("intent", "count") or top):
        groups = [one for one in groups if one in ("market", "set", "severity", "file")]
        return None if not groups or asked.has("market") else groups[0]  # type: ignore[return-value]
    for one in ("market", "severity", "class", "kind", "set", "file"):
        if one in groups and not (one == "market" and asked.has("market") and not top):
            return one
    return None


def _rule_filter(asked: Understood, today: date, words: tuple[str, ...]) -> RuleFilter:
    severity = next(iter(asked.values("severity")), None)
    if severity and len(asked.values("severity")) > 1:
        severity = (
            "warning" if "only" in asked.tokens or "seulement" in asked.tokens or "alleen" in asked.tokens else None
        )
    markets = _markets(asked)
    days = asked.days
    on = days.day or (today if asked.has("intent", "today") or asked.has("period", "today") else None)
    missing = next(iter(asked.values("missing")), None)
    cls = next(iter(asked.values("class")), None)
    if cls == "missing" and missing is not None:
        cls = None
    repairs = asked.values("repair")
    repair = asked.repairs[0] if asked.repairs else ("" if repairs and missing != "repair" else None)
    stage = next(iter(asked.values("stage")), None)
    direction = next(iter(asked.values("direction")), None)
    source = None
    if words and asked.has("field", "source"):
        source, words = " ".join(words), ()
    shared = bool(markets) and any(
        token in ("apply", "applies", "judge", "judges", "appliquent", "jugent", "gelden", "beoordelen")
        for token in asked.tokens
    )
    changing = asked.has("field", "validity") and not on and days.known and days.since is not None
    return RuleFilter(
        markets=markets,
        shared=shared and "common" not in markets,
        kinds=tuple(asked.kinds),
        flow=asked.types[0] if asked.types else None,
        direction=direction,  # type: ignore[arg-type]
        stage=stage,  # type: ignore[arg-type]
        severity=severity,  # type: ignore[arg-type]
        error_class=cls,  # type: ignore[arg-type]
        ebix=asked.ebix[0] if asked.ebix and not asked.types else None,
        missing=missing if missing in get_args(Missing) else None,  # type: ignore[arg-type]
        repair=repair,
        on=on,
        changes=changing,
        code=asked.prefixes[0] if asked.prefixes else None,
        words=words,
        source=source,
        field=asked.fields[0] if asked.fields else None,
    )


def _market(asked: Understood) -> str | None:
    return next((one for one in asked.values("market") if one != "common"), None)


def _markets(asked: Understood) -> tuple[str, ...]:
    return tuple(asked.values("market"))


FORMS: tuple[Callable[[Understood, date], Read], ...] = (
    _message, _point, _compare, _documents, _changes, _manual, _only, _code_lists, _one_rule, _freed, _store, _rules,
)  # fmt: skip
