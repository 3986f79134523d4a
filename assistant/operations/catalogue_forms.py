"""Questions on many rules, as operations: listed, counted, grouped, compared between markets."""

from __future__ import annotations

from msgspec.structs import replace

from assistant.operations.conditions import (
    CLASS_NOUNS,
    MENTIONS,
    Mention,
    bounds,
    by_each_rule,
    described,
    mentions,
    refusing,
    restricted,
    rule_place,
    rules_counted,
    without_markets,
)
from assistant.operations.family import Attribute, OnlyThere, RuleFilter, Rules
from assistant.operations.slots import Asking, Read, Slots, ranks, yes_no
from assistant.operations.vocabulary import Match

ELSEWHERE = (
    "request", "ticket", "notification", "acknowledgement", "incident", "envelope", "finding", "rules_version",
)  # fmt: skip
"""Things of the store that no question on rules names."""


PAST = ("top", "occurred", "since", "last")
"""What is asked of what came, and not of rules."""


def rules(slots: Slots) -> Read:
    """Rules listed, counted, by an attribute, or the values of an attribute themselves."""
    if slots.has("code") or slots.has("unknown_code") or slots.has("intent", "freed") or _why(slots):
        return None
    if refusing(slots) is not None or by_each_rule(slots):
        return None  # what they refused is asked for
    at = rule_place(slots)
    if not _of_rules(slots, at):
        return None
    markets = [one for one in slots.values("market") if one not in ("all", "common")]
    slots.take("subject", "rule")
    slots.take("intent", "distinct", "why", "life")
    if slots.has("subject", "ebix"):
        slots.take("intent", "occurred")
    if slots.has("set"):
        slots.take("thing", "request")  # the set tells what is judged
    if slots.has("prefix"):
        slots.take("subject", "list")
    if slots.has("field", "field"):
        slots.take("thing", "finding")  # whose finding points at a field
    if at is not None:
        slots.take("stored")
    if len(markets) == 2:
        against = _against(slots, markets)
        if against is not None:
            return against
    lacking = _lacking(slots, at)
    found = restricted(slots)
    if found.asking is not None:
        return found.asking
    where, head = found.where, found.head
    if head is not None and head.each and head.attribute == "market" and slots.has("market", "all"):
        whole = not slots.has("group", "market") and not slots.has("intent", "count", "top", "bottom")
        head = None if whole else head  # rules of every market
    if head is not None and head.attribute == "repair" and where.repair and not head.each:
        slots.used |= set(range(head.start, head.end))
        head = None  # what a script that is named mends are its rules
    if head is not None and described(slots, head, at):
        return None
    if at is None and where == RuleFilter() and (head is None or _blaming(slots, head)):
        return None
    plan = _asked(slots, where, head, at, lacking=lacking, two=len(markets) > 1)
    return None if plan is None else _with_judging(plan)


def _blaming(slots: Slots, head: Mention) -> bool:
    """Whether it is asked who is responsible for something that is no rule: for the gateway."""
    words = slots.asked.tokens[head.start : head.end]
    return head.attribute == "class" and not any(word.startswith(CLASS_NOUNS) for word in words)


SAID_BY_JUDGES = ("set", "stage", "severity", "error_class", "ebix", "repair", "field", "code", "source")
"""Restrictions that decide by themselves whether rules that judge nothing are meant."""


def _with_judging(plan: Rules) -> tuple[Rules, ...]:
    """A list of the rules on kinds of message is also given without those that judge nothing, and only say what is
    done with a verdict."""
    where = plan.where
    named = where.having or where.missing or where.unlike or where.either
    decided = named or any(getattr(where, one) for one in SAID_BY_JUDGES)
    if plan.how != "list" or plan.by is not None or not where.kinds or decided:
        return (plan,)
    return plan, replace(plan, where=replace(where, having=("error_code",)))


def _why(slots: Slots) -> bool:
    """Whether a cause is asked for; a reason may be an ebIX reason."""
    reasons = {place for one in slots.of("subject", "ebix") for place in range(one.start, one.end)}
    return any(one.start not in reasons for one in slots.of("intent", "why"))


def _of_rules(slots: Slots, at: int | None) -> bool:
    """Whether a question is about rules: it names them, or what only rules have, and nothing of the store."""
    tokens = slots.asked.tokens
    spoken = mentions(slots)
    things = [] if slots.has("set") and slots.has("subject", "rule") else slots.of("thing", *ELSEWHERE)
    if any(not slots.asked.word(one.start).startswith(("file", "fichier")) for one in things):
        return False
    if slots.has("subject", "rule") or slots.has("stage"):
        return True
    if at is None and slots.has("kept") and slots.has("subject", "field"):
        return False  # a field of the messages themselves
    refused = {place for one in slots.of("severity", "error") for place in range(one.start, one.end)}
    judged = [one for one in slots.of("state") if one.start not in refused]
    if not judged and not slots.has("stored") and slots.has("ebix_reason") and slots.has("subject", "kind"):
        slots.take("state", "rejected")
        return True  # kinds that may be rejected with a reason
    if not (judged or things or slots.has("stored") or slots.has("thing", "message", "access_point")) and (
        slots.has("file")
        or (slots.has("class") and slots.has("market") and slots.has("kind") and not slots.has("intent", *PAST))
        or (slots.has("english", "check") and slots.has("market") and slots.has("kind"))
        or (slots.has("prefix") and not slots.has("intent", *PAST))
    ):
        return True
    if slots.has("state") or slots.has("stored") or (slots.has("number_is") and not spoken):
        return False
    if slots.has("thing", "access_point") or (slots.has("thing", "message") and not _kind_named(slots)):
        return False
    of_rules = slots.has("field", "source") or slots.has("subject", "ebix", "class", "set", "script")
    if slots.has("intent", "occurred") and not of_rules:
        return False
    if at is not None:
        conditions = ("market", "kind", "class", "ebix_reason", "set", "stage", "direction", "file")
        spread = slots.has("intent", "top", "bottom") and not slots.has("market") and not slots.has("group", "market")
        return (any(slots.has(one) for one in conditions) and not spread) or slots.has("group", "market", "set", "file")
    heads = [one for one in spoken if one.attribute not in ("market", "severity")]
    only = [
        one for one in heads if one.attribute in ("ebix", "repair", "set", "class", "file", "source", "field", "kind")
    ]
    if at is None and slots.has("intent", "top", "bottom") and {one.attribute for one in heads} == {"kind"}:
        return any(slots.has(one) for one in ("class", "ebix_reason", "severity", "set"))  # most messages are of it
    restricting = ("market", "class", "ebix_reason", "prefix", "severity", "set", "stage", "direction")
    return bool(
        tokens and (only or slots.has("set") or ((heads or spoken) and any(slots.has(one) for one in restricting)))
    )


def _kind_named(slots: Slots) -> bool:
    """Whether "message" belongs to the words for a kind: kinds of message."""
    kinds = slots.of("subject", "kind") + slots.of("group", "kind")
    return all(
        any(other.start <= one.start < other.end or 0 <= one.start - other.end < 2 for other in kinds)
        for one in slots.of("thing", "message")
    )


def _lacking(slots: Slots, at: int | None) -> bool:
    """Whether it asks for what no rule has: the markets without a rule on invoices."""
    named = slots.of("subject", "rule")
    first = next(iter(mentions(slots)), None)
    if first is None or not named or at is None or first.start > at:
        return False
    for one in slots.of_all(("not", "without")):
        if first.end <= one.start and any(0 <= rule.start - one.end <= 2 for rule in named):
            slots.mark([one])
            slots.void |= {other.start for other in slots.of_all(("not", "without", "except"))}
            slots.take("intent", "without")
            slots.take("not")
            slots.take("without")
            return True
        if first.end <= one.start < at and len(mentions(slots)) == 1:
            slots.mark([one])
            slots.void.add(one.start)
            return True
    return False


def _against(slots: Slots, markets: list[str]) -> Read:
    """How many more rules one market has than another, or whether it has more."""
    more = slots.has("intent", "more", "fewer")
    than = [one for one in slots.of("than") if any(m.start >= one.end for m in slots.of("market"))]
    if not (more and than):
        return None
    count = bool(slots.take("intent", "count"))
    if not (count or yes_no(slots) or slots.has("intent", "exists")):
        return None
    fewer = bool(slots.take("intent", "fewer"))
    slots.take("intent", "more", "exists", "top", "bottom", "fewer")
    slots.take("than")
    found = restricted(slots)
    ordered = tuple(reversed(markets)) if fewer else tuple(markets)
    how = "difference" if count else "outnumbers"
    return (Rules(where=_of(found.where, ordered), how=how),)  # type: ignore[arg-type]


def _of(where: RuleFilter, markets: tuple[str, ...]) -> RuleFilter:
    return replace(where, markets=markets)


def _asked(
    slots: Slots, where: RuleFilter, head: Mention | None, at: int | None, *, lacking: bool, two: bool
) -> Rules | None:
    """What is asked of the rules: a list, a number, a yes, values of an attribute."""
    sized, first = slots.has("number_is"), ranks(slots)
    count, top = bool(slots.take("intent", "count")), bool(slots.take("intent", "top", "more")) and not sized
    bottom = bool(slots.take("intent", "bottom", "fewer")) and not sized
    if slots.take("longest"):
        top, count = True, False
    wide = where.wide is not None or where.narrow is not None or where.scripts is not None
    least, most = (None, None) if wide else bounds(slots)
    listed, exists = slots.take("intent", "list", "compare"), slots.take("intent", "exists", "use")
    slots.take("thing", "message")
    slots.take("each")
    if where != RuleFilter():
        slots.take("group", "code")
    slots.take("thing", "envelope")
    slots.take("fact")
    if head is None and two and (count or top or bottom or slots.has("group", "market")):
        head = Mention("market", 0, 0, each=True)
    if head is None:
        if top or bottom or least is not None or most is not None:
            return None
        asks = exists or yes_no(slots)
        how = "count" if count else "exists" if asks and not listed and where != RuleFilter() else "list"
        return Rules(where=where, how=how)  # type: ignore[arg-type]
    if head.attribute == "title" and at is not None and slots.asked.tokens[at + 1 : at + 2] == ["name"]:
        slots.used.add(at + 1)  # rules that name a script
        return Rules(where=where, how="count" if count else "list")
    _mark(slots, head)
    found = _grouped(where, head, count=count, top=top, bottom=bottom, lacking=lacking, bounded=(least, most))
    return replace(found, ranks=first) if found.how in ("top", "bottom") else None if first else found


def _mark(slots: Slots, head: Mention) -> None:
    """Take every word for what is asked for."""
    for one in slots.asked.found:
        if MENTIONS.get((one.slot, one.value)) == head.attribute:
            slots.mark([one])
    slots.used |= set(range(head.start, head.end))


def _grouped(
    where: RuleFilter, head: Mention, *, count: bool, top: bool, bottom: bool, lacking: bool,
    bounded: tuple[int | None, int | None],
) -> Rules:  # fmt: skip
    """Rules by an attribute, or its values themselves."""
    least, most = bounded
    by: Attribute = head.attribute
    if lacking:
        how = "lacking"
    elif top or bottom:
        how = "top" if top else "bottom"
    elif head.each or ((least is not None or most is not None) and not count):
        how = "list" if head.each else "groups"
    elif count:
        how = "count_groups"
    elif by == "error_code":
        return Rules(where=replace(where, having=(*where.having, by)))  # the rules, with their codes in front
    else:
        how = "groups"
    return Rules(where=where, how=how, by=by, at_least=least, at_most=most)  # type: ignore[arg-type]


def only_there(slots: Slots) -> Read:
    """What one market has and another has not, or what several have."""
    if slots.has("code") or slots.has("unknown_code"):
        return None
    named = [one for one in slots.of("market") if one.value not in ("common", "all")]
    markets = list(dict.fromkeys(one.value for one in named))
    alone, shared = _alone_there(slots, named), _but_for_shared(slots)
    denial = [*_denying(slots, shared), *alone]
    both = slots.has("intent", "both") or (slots.has("market", "all") and not markets)
    if both and not markets and slots.has("market", "all"):
        markets = list(slots.asked.markets)
    if not markets or not (denial or both) or (both and len(markets) < 2):
        return None
    what = _what(slots)
    if not what or (both and what == "rule") or (what == "ebix" and slots.has("ebix_reason") and not yes_no(slots)):
        return None  # who uses a reason that is named: its rules are asked for
    lists = slots.take("list") if what == "code" else []
    if both:
        slots.take("market", "common")
    if len(markets) == 1 and alone and what not in ("rule", "code"):
        return _alone(slots, what, markets[0])
    if len(markets) == 1:
        told = any(one.startswith(("counterpart", "equivalent", "tegenhanger")) for one in slots.asked.tokens)
        if what == "rule" and not told:
            return None
        slots.mark([*named, *denial])
        slots.take("intent", "without", "list", "exists")
        slots.take("subject", "rule")
        return Asking("ask_market", tuple(name for name in slots.asked.markets if name != markets[0]))
    sides = markets if both else _direction(slots, named, denial)
    if len(sides) != len(markets):
        return None  # a market of which it is not told whether it has it
    here, there, *others = sides
    slots.mark([*named, *denial, *shared])
    slots.take("market")
    slots.take("subject", "rule")
    slots.take("intent", "without", "both", "list", "exists", "more", "compare", "use", "occurred", "distinct")
    slots.take("group", "kind", "code")
    slots.take("thing", "message")
    slots.take("subject", "code")
    where = RuleFilter() if what in ("list", "code") else without_markets(restricted(slots, deny=False).where)
    count = bool(slots.take("intent", "count"))
    _mark(slots, Mention(what, 0, 0)) if what not in ("rule", "list", "code") else None  # type: ignore[arg-type]
    return (
        OnlyThere(
            what=what, here=here, there=there, how="both" if both else "only",  # type: ignore[arg-type]
            others=tuple(others), list=lists[0] if lists else None,
            where=_plain(where, what), count=count,
        ),
    )  # fmt: skip


def _alone_there(slots: Slots, named: list[Match]) -> list[Match]:
    """The words that say that only a market has it: n'existent qu'en Belgique."""
    alone = [one for one in slots.of("only") if _next_to(one, named)]
    return alone + [
        one for one in slots.of("than")
        if any(0 <= market.start - one.end <= 1 for market in named)
        and {"n", "ne"} & set(slots.asked.tokens[max(one.start - 3, 0) : one.start])
    ]  # fmt: skip


def _denying(slots: Slots, shared: list[Match]) -> list[Match]:
    """The words that deny that a market has it; the class missing denies nothing."""
    classes = {one.start for one in slots.of("class", "missing") if slots.has("field", "class")}
    denials = [*slots.of_all(("not", "without", "except")), *slots.of("intent", "without")]
    return [one for one in denials if one not in shared and one.start not in classes]


def _but_for_shared(slots: Slots) -> list[Match]:
    """What excepts the common rules: what two markets have of their own is compared without them anyway."""
    common = slots.of("market", "common")
    return [one for one in slots.of("except") if any(0 <= other.start - one.end <= 1 for other in common)]


def _next_to(one: Match, named: list[Match]) -> bool:
    return any(0 <= market.start - one.end <= 1 or 0 <= one.start - market.end <= 1 for market in named)


def _alone(slots: Slots, what: str, market: str) -> Read:
    """What one market has and no other."""
    first, *others = [name for name in slots.asked.markets if name != market]
    slots.take("market")
    slots.take("only")
    slots.take("subject", "rule")
    slots.take("not")
    slots.take("than")
    slots.take("intent", "list", "exists", "occurred", "use", "without", "distinct")
    slots.take("subject", "code")
    count = bool(slots.take("intent", "count"))
    where = RuleFilter() if what == "list" else without_markets(restricted(slots, deny=False).where)
    _mark(slots, Mention(what, 0, 0)) if what != "list" else None  # type: ignore[arg-type]
    plan = OnlyThere(
        what=what, here=market, there=first, others=tuple(others), where=_plain(where, what), count=count,  # type: ignore[arg-type]
    )  # fmt: skip
    return (plan,)


def _plain(where: RuleFilter, what: str) -> RuleFilter:
    """The filter without what only says what is compared."""
    return replace(where, having=tuple(one for one in where.having if one != what), alone=False, every=False)


def _what(slots: Slots) -> str:
    """What markets are compared by: rules, what rules have, code lists, codes."""
    if slots.take("subject", "list"):
        return "list"
    ruled = slots.has("subject", "rule")
    if rules_counted(slots) is not None:
        return "rule"
    asked = [one for one in mentions(slots) if one.attribute not in ("market", "severity", "title")]
    if slots.has("list") and not ruled and not [one for one in asked if one.attribute != "error_code"]:
        return "code"
    at = rule_place(slots)
    for one in asked:
        if one.attribute == "error_code" and (ruled or slots.has("list")):
            continue
        if at is None or one.start < at or not ruled:
            return one.attribute
    return "rule" if ruled else ""


APART = frozenset(("that", "which", "but", "while", "que", "qu", "mais", "die", "dat", "maar", "terwijl"))
"""Words between the market that has something and those that have not."""


def _direction(slots: Slots, named: list[Match], denial: list[Match]) -> tuple[str, ...]:
    """Which market has it and which have not: those behind the words for "not" have not, unless nothing is between.

    "Which rules does France have and Belgium not": where the word that denies follows both, the last one has not.
    "What is missing in Belgium that France has": what is denied first has not.
    """
    places: dict[str, int] = {}
    for one in named:
        places.setdefault(one.value, one.start)
    denied = min((one.start for one in denial), default=0)
    ordered = sorted(places, key=lambda market: places[market])
    before = [market for market in ordered if places[market] < denied]
    behind = [market for market in ordered if places[market] > denied]
    first, second = ordered[:2]
    if len(before) == 1 and behind:
        return before[0], *behind
    if len(before) > 2 and not behind:
        between = slots.asked.tokens[places[ordered[0]] : places[ordered[1]]]
        return () if APART.isdisjoint(between) else tuple(ordered)
    if not before and len(behind) >= 2:
        only = any(one.slot == "only" for one in denial)
        near = places[first] - denied <= 3
        return (first, *ordered[1:]) if only else (first, second) if not near else (second, first)
    return first, second
