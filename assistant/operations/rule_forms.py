"""Questions on rules and code lists, as operations: each form takes the words that its operation answers."""

from __future__ import annotations

from datetime import timedelta
from difflib import get_close_matches
from typing import get_args

from msgspec.structs import replace

from assistant.operations.family import (
    FIELDS,
    CodeLists,
    CompareRules,
    Field,
    Missing,
    OnlyThere,
    RuleChanges,
    RuleField,
    RuleFilter,
    RuleGroup,
    Rules,
)
from assistant.operations.slots import Asking, Read, Slots, yes_no
from assistant.operations.understanding import TELLING
from assistant.operations.vocabulary import Match

NEUTRAL = ("list", "filler", "word", "pointed", "intent", "fact", "english", "topic", "stored", "field", "group",
           "setting", "listed", "type", "scope", "command", "gateway_prefix", "dated")  # fmt: skip
"""Slots whose words may be the name of a code list all the same."""

NEXT = 2
"""Words between the name of a code list and the word for it, at most."""

MOST_WORDS = 3
"""Words that rules are looked for by; more of them ask for a passage."""


def markets_of(slots: Slots) -> tuple[str, ...]:
    """The markets that are named; all but those that are excepted; none where all are meant."""
    named = [one for one in slots.of("market") if one.value != "all" and one.start not in slots.used]
    slots.take("market")
    before = set(slots.used)
    excepted = [one.value for one in named if slots.denied(one, "except")]
    if excepted and len(excepted) < len({one.value for one in named}):
        slots.used = before  # one that has it and one that has not: no list of rules
    elif excepted:
        return tuple(market for market in (*slots.asked.markets, "common") if market not in excepted)
    return tuple(dict.fromkeys(one.value for one in named))


def compare(slots: Slots) -> Read:
    """Two rules side by side."""
    codes = [*slots.take("code"), *slots.take("unknown_code")]
    if len(codes) != 2:
        return None
    slots.take("intent", "compare", "list", "both")
    slots.take("field"), slots.take("severity"), slots.take("class"), slots.take("only"), slots.take("both")
    slots.take("subject", "ebix", "class")
    slots.take("subject", "rule", "code")
    slots.take("field", "sentence")
    return (CompareRules(one=codes[0], other=codes[1]),)


def changes(slots: Slots) -> Read:
    """What changed in the rules."""
    about = slots.take("subject", "rule", "code", "list") or slots.take("thing", "rules_version")
    versions = slots.take("version")
    asked = slots.take("intent", "changed", "compare")
    slots.take("intent", "list")
    slots.take("field", "sentence")
    if versions and (about or asked):
        return (RuleChanges(old=versions[0], new=versions[1] if len(versions) > 1 else None),)
    if not asked or not (about or slots.has("days")):
        return None
    slots.take("topic")
    days = slots.days()
    return (RuleChanges(since=days.since, until=days.until, markets=markets_of(slots)),)


def one_rule(slots: Slots) -> Read:
    """A field of a rule, all of it, or whether something is so."""
    codes = [*slots.take("code"), *slots.take("unknown_code")]
    reasons = slots.values("ebix_reason")
    if not codes and len(reasons) == 1 and slots.has("field", "sentence") and not slots.has("list"):
        slots.take("ebix_reason"), slots.take("field", "sentence", "ebix"), slots.take("subject", "ebix", "code")
        return (RuleField(code=reasons[0]),)
    if len(codes) != 1:
        return None
    code = codes[0]
    slots.take("subject", "rule")
    asks = (yes_no(slots) and not slots.has("intent", "list")) or not slots.of("field")
    if slots.take("todo"):
        slots.take("intent", "list")
        return (RuleField(code=code, fields=("sentence", "class", "repair", "comment")),)
    in_force = _in_force(slots, code)
    if in_force is not None:
        return in_force
    applies = _applies(slots, code)
    if applies is not None:
        return applies
    equal = _equal(slots, code) if asks else None
    if equal is not None:
        return equal
    slots.take("intent", "list", "use")
    slots.take("subject", "kind")
    slots.take("missing")
    slots.take("subject", "script")
    if slots.take("repair") and not slots.has("field", "repair"):
        return (RuleField(code=code, fields=("repair",)),)
    return (RuleField(code=code, fields=_fields(slots)),)


def _in_force(slots: Slots, code: str) -> Read:
    days = slots.asked.days
    day = days.day or days.since or (slots.today if slots.has("intent", "today") else None)
    if day is None:
        return None
    slots.days()
    slots.take("intent", "today", "notyet", "list")
    slots.take("field", "validity")
    slots.take("not")
    return (RuleField(code=code, on=day),)


def _applies(slots: Slots, code: str) -> Read:
    named = [*slots.of("kind"), *slots.of("type"), *(one for one in slots.of("market") if one.value != "common")]
    if not named or slots.has("thing", "access_point") or code[:2] == named[0].value:
        return None
    slots.mark(named[:1])
    slots.take("field", "kinds", "markets", "field", "sentence", "validity")
    slots.take("intent", "list", "use")
    slots.take("thing", "message")
    return (RuleField(code=code, applies=named[0].value),)


def _equal(slots: Slots, code: str) -> Read:
    """Whether the severity or class of a rule is one, or whether it has a script or an ebIX reason."""
    severities, classes = slots.values("severity"), slots.values("class")
    if len(severities) == 1 and not classes and not slots.has("field", "severity"):
        slots.take("severity"), slots.take("only"), slots.take("intent", "exists")
        return (RuleField(code=code, fields=("severity",), equals=severities[0]),)
    if len(classes) == 1 and not severities:
        slots.take("class"), slots.take("field", "class", "sentence"), slots.take("intent", "exists")
        return (RuleField(code=code, fields=("class",), equals=classes[0]),)
    if slots.has("repair") and yes_no(slots):
        slots.take("repair"), slots.take("missing", "repair"), slots.take("field", "repair")
        slots.take("intent", "exists", "list"), slots.take("subject", "script")
        return (RuleField(code=code, fields=("repair",), equals=""),)
    return None


def _fields(slots: Slots) -> tuple[Field, ...]:
    """The fields that are asked for; the sentence of a rule only where nothing else is."""
    named = [one for one in slots.values("field") if one in FIELDS]
    slots.take("field", *named)
    if slots.take("subject", "ebix") and "ebix" not in named:
        named.append("ebix")
    if "error_code" in named and set(named) - {"error_code", "sentence"}:
        named.remove("error_code")
    if "comment" in named and slots.has("market"):
        slots.take("market")  # the French comment: both languages are told
    slots.take("subject", "script", "set", "class")
    for weak in ("sentence", "field", "kinds"):
        strong = [one for one in named if one != weak]
        if weak in named and strong and (weak == "sentence" or "comment" in strong):
            named.remove(weak)
    slots.take("subject", "code")
    return tuple(named)


def only_there(slots: Slots) -> Read:
    """What one market has and another has not, or what several have."""
    named = [one for one in slots.of("market") if one.value not in ("common", "all")]
    markets = list(dict.fromkeys(one.value for one in named))
    denial = [*slots.of_all(("not", "without", "except", "only")), *slots.of("intent", "without")]
    both = slots.has("intent", "both") or (slots.has("market", "all") and not markets)
    if both and not markets and slots.has("market", "all"):
        markets = list(slots.asked.markets)
    what = _what(slots)
    if not what or not markets or not (denial or both) or (both and (len(markets) < 2 or what == "rule")):
        return None
    kinds = slots.take("kind")
    lists = slots.take("list") if what == "code" else []
    slots.mark([*named, *denial])
    slots.take("market")
    slots.take("intent", "without", "both", "list", "exists", "more", "compare", "use", "occurred")
    slots.take("both"), slots.take("only"), slots.take("field", "kinds", "sentence"), slots.take("thing", "message")
    slots.take("group", "kind", "code")
    kind = kinds[0] if kinds and what in ("rule", "ebix") else None
    listed = lists[0] if lists else None
    if both:
        here, there, *others = markets
        return (OnlyThere(what=what, here=here, there=there, how="both", others=tuple(others), list=listed, kind=kind),)  # type: ignore[arg-type]
    if len(markets) == 1:
        told = any(one.startswith(("counterpart", "equivalent", "tegenhanger")) for one in slots.asked.tokens)
        if what == "rule" and not told:
            return None
        return Asking("ask_market", tuple(name for name in slots.asked.markets if name != markets[0]))
    here, there = _direction(slots, named, denial)
    return (OnlyThere(what=what, here=here, there=there, list=listed, kind=kind),)  # type: ignore[arg-type]


def _what(slots: Slots) -> str:
    if slots.has("code"):
        return ""
    if slots.has("subject", "script") and not slots.has("subject", "rule"):
        slots.take("subject", "script"), slots.take("repair"), slots.take("missing"), slots.take("field", "repair")
        return "repair"
    if slots.has("missing", "repair"):
        return ""
    for slot, values, what in (
        ("subject", ("ebix",), "ebix"), ("subject", ("list",), "list"), ("subject", ("kind",), "kind"),
        ("subject", ("rule",), "rule"), ("list", (), "code"),
    ):  # fmt: skip
        if slots.has(slot, *values):
            slots.take(slot, *values)
            if what == "ebix":
                slots.take("field", "ebix"), slots.take("subject", "code"), slots.take("missing")
            if what in ("code", "list"):
                slots.take("subject", "code")
            if what == "kind":
                slots.take("subject", "rule"), slots.take("field", "kinds")
            return what
    return ""


def _direction(slots: Slots, named: list[Match], denial: list[Match]) -> tuple[str, str]:
    """Which market has it and which has not: the one behind the words for "not" has not, unless nothing is between.

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
        return before[0], behind[0]
    if not before and len(behind) >= 2:
        only = any(one.slot == "only" for one in denial)
        near = places[first] - denied <= 3
        return (first, second) if only or not near else (second, first)
    return first, second


def code_lists(slots: Slots) -> Read:
    """Which lists there are, the codes of one, how many, what a code means, where it stands."""
    about_list = slots.take("subject", "list")
    plain_list = [one for one in slots.asked.tokens if one in ("list", "liste", "lijst")]
    about = bool(about_list or plain_list or slots.take("subject", "code"))
    if slots.has("code") or slots.has("unknown_code") or slots.has("thing", "envelope", "request", "ticket"):
        return None
    if slots.has("listed"):
        slots.take("number")
    name, listed = _list_name(slots, about), slots.one("listed")
    (
        slots.take("intent", "list", "exists", "use"),
        slots.take("group", "code"),
        slots.take("field", "sentence", "validity"),
    )
    slots.take("subject", "code"), slots.take("thing", "message") if name else None
    count = bool(slots.take("intent", "count"))
    unknown = slots.values("unknown_name")
    if unknown and about:
        slots.take("unknown_name"), markets_of(slots)
        return Asking("no_list", (), unknown[0])
    markets = tuple(one for one in markets_of(slots))
    days = slots.days()
    if name:
        stranger = [place for place in slots.left() if any(letter.isdigit() for letter in slots.asked.tokens[place])]
        if listed or (stranger and yes_no(slots)):
            slots.used |= set(stranger)
            code = listed or slots.asked.tokens[stranger[0]].upper()
            how = "exists" if yes_no(slots) and not slots.has("intent", "list") else "meaning"
            return (CodeLists(how=how, list=name, code=code, markets=markets, on=days.day),)  # type: ignore[arg-type]
        return (CodeLists(how="count" if count else "codes", list=name, markets=markets, on=days.day),)
    if listed:
        if about_list:
            return (CodeLists(how="where", code=listed, markets=markets),)
        if slots.has("field", "sentence", "file") and not count:
            slots.take("field", "file")
            return (CodeLists(how="meaning", code=listed, markets=markets, on=days.day),)
        return None
    if about_list:
        return (CodeLists(how="count_lists" if count else "lists", markets=markets),)
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
    slots.mark([found])
    return found.value


HEADS: tuple[tuple[str, RuleGroup], ...] = (
    ("ebix", "ebix"), ("script", "repair"), ("kind", "kind"), ("set", "set"), ("class", "class"), ("file", "file"),
)  # fmt: skip
"""What rules have that can be listed and counted itself."""


def rule_groups(slots: Slots) -> Read:
    """What rules have: which ebIX reasons, kinds, scripts, sets, classes and files there are, and which most often."""
    head = next(((one, by) for name, by in HEADS for one in slots.of("subject", name)), None)
    if head is None or slots.has("code") or slots.has("unknown_code") or slots.has("ebix_reason"):
        return None
    noun, by = head
    if slots.has("script"):
        return None
    if any(one.start < noun.start for one in slots.of("subject", "rule")) or slots.has("thing", "request", "ticket"):
        return None
    slots.mark([noun])
    slots.take("subject"), slots.take("field", "ebix", "repair", "kinds", "set", "class", "file"), slots.take("repair")
    slots.take("missing"), slots.take("group", "kind", "class", "set", "ebix", "file")
    slots.take("thing", "message")
    if slots.take("intent", "changed", "freed", "why"):
        return None
    where, odd = _rule_filter(slots)
    if odd is not None:
        return odd
    count, top = slots.take("intent", "count"), slots.take("intent", "top")
    bottom = slots.take("intent", "bottom")
    slots.take("intent", "list", "exists", "use", "compare", "occurred", "distinct")
    if where.repair == "":
        where = replace(where, repair=None)
    how = "top" if top else "bottom" if bottom else "count_groups" if count else "groups"
    return (Rules(where=where, how=how, by=by),)  # type: ignore[arg-type]


def rules(slots: Slots) -> Read:
    """Rules listed, counted, counted by a group, or whether there are some."""
    if slots.has("code") or slots.has("unknown_code") or slots.has("intent", "freed"):
        return None
    rule = bool(slots.take("subject", "rule"))
    code = bool(slots.take("subject", "code")) and not rule
    if not rule and not code and slots.has("class") and not slots.has("thing") and not slots.has("stored"):
        code = bool(slots.take("group", "code"))
    warned = (
        slots.has("severity", "warning") and slots.has("market") and not slots.has("thing") and not slots.has("state")
    )
    if not (rule or code or warned):
        return None
    if code and slots.has("group", "code") and (slots.has("intent", "top") or slots.has("number_is")):
        return None
    if code and (slots.has("stored") or slots.has("intent", "occurred") or slots.has("state")):
        return None  # those of messages are in the store
    slots.take("intent", "distinct")
    slots.take("group", "code") if code else None
    two = len([m for m in slots.values("market") if m != "all"]) > 1
    group = _rule_group(slots, two)
    where, odd = _rule_filter(slots)
    if odd is not None:
        return odd
    count = bool(slots.take("intent", "count"))
    top = bool(slots.take("intent", "top", "more"))
    bottom = bool(slots.take("intent", "bottom"))
    slots.take("subject", "script", "class", "set", "ebix") if where != RuleFilter() or group else None
    listed, exists = slots.take("intent", "list"), slots.take("intent", "exists", "use")
    if ((top or bottom) and group is None) or (not rule and where == RuleFilter()):
        return None
    if group and (top or bottom):
        how = "top" if top else "bottom"
    elif count:
        how = "codes" if code and not rule else "count"
    elif (exists or yes_no(slots)) and not listed and not group and where != RuleFilter():
        how = "exists"
    else:
        how = "list"
    return (Rules(where=where, how=how, by=group),)  # type: ignore[arg-type]


def _rule_group(slots: Slots, two: bool) -> RuleGroup | None:
    known = get_args(RuleGroup)
    counted = slots.has("intent", "count", "top", "bottom", "more") or any(
        one.end - one.start > 1 for one in slots.of("group") if one.value in known
    )
    for one in slots.of("group"):
        if one.value in known and counted and (one.value != "kind" or not slots.has("kind")):
            slots.take("group", one.value), slots.take("field", "markets", "class", "kinds", "severity")
            slots.take("subject", "kind"), slots.take("thing", "message")
            return one.value  # type: ignore[return-value]
    if two and slots.has("intent", "count", "more", "top", "bottom") and not slots.has("except"):
        return "market"
    if slots.has("field", "markets") and slots.has("intent", "top", "more", "bottom"):
        slots.take("field", "markets")
        return "market"
    return None


def _rule_filter(slots: Slots) -> tuple[RuleFilter, Read]:
    """The filter, and what must be asked back where a name is not known."""
    source = _source(slots)
    shared = bool(slots.take("with_common"))
    severity = _severity(slots)
    missing = _missing(slots)
    markets = tuple(one for one in markets_of(slots) if not (shared and one == "common"))
    kinds = slots.take("kind")
    if kinds or markets:
        slots.take("thing", "message")
    if slots.has("direction") or slots.has("stage") or not slots.has("state"):
        slots.take("thing", "message")
    error_class, other_class = _class(slots, missing)
    slots.take("field", "kinds", "class", "severity", "sentence", "set")
    if error_class or other_class or severity:
        slots.take("group", "code"), slots.take("group", "class")
    script = slots.one("script")
    if not script and slots.has("unknown_name") and (slots.has("repair") or slots.has("field", "repair")):
        names = slots.take("unknown_name")
        slots.take("repair"), slots.take("field", "repair"), slots.take("intent", "use", "list")
        return RuleFilter(), Asking("no_script", (), names[0])
    repair = script
    if script is not None or (slots.has("repair") and missing != "repair"):
        (
            slots.take("repair"),
            slots.take("missing", "repair"),
            slots.take("field", "repair"),
            slots.take("intent", "use"),
        )
        repair = script or ""
    flow = None if source else slots.one("type")
    reason = slots.one("ebix_reason") if not flow else None
    if reason or missing == "ebix":
        (
            slots.take("subject", "ebix"),
            slots.take("field", "ebix"),
            slots.take("missing", "ebix"),
            slots.take("intent", "why"),
        )
        slots.take("subject", "code")
    having: tuple[Missing, ...] = ()
    rule_at = min((one.start for one in slots.of("subject", "rule")), default=10_000)
    behind = any(one.start > rule_at for one in slots.of("subject", "ebix"))
    if not reason and missing != "ebix" and behind and not source:
        slots.take("subject", "ebix"), slots.take("field", "ebix"), slots.take("missing", "ebix")
        having = ("ebix",)
        if repair == "":
            having, repair = ("ebix", "repair"), None
            slots.take("intent", "both")
    if markets and not kinds:
        slots.take("only")
    alone = bool(kinds) and not severity and (bool(slots.take("only")) or {"ne", "qu"} <= set(slots.asked.tokens))
    pointed = None
    written = [one for one in slots.of("pointed") if slots.asked.tokens[one.start].startswith("§")]
    if slots.has("field", "field") or written:
        pointed = slots.one("pointed")
        slots.take("field", "field"), slots.take("topic")
    days, began = slots.asked.days, bool(slots.take("intent", "began", "changed"))
    off = bool(slots.take("intent", "notyet"))
    slots.take("field", "validity")
    dated = bool(slots.take("dated"))
    prefix = slots.one("prefix")
    today = bool(slots.take("intent", "today"))
    if days.known or today:
        slots.days()
        slots.take("not") if off else None
    day = (
        days.day
        or days.since
        or (days.until - timedelta(days=1) if days.until else None)
        or (slots.today if today else None)
    )
    file = slots.one("file")
    if file:
        slots.take("field", "file"), slots.take("subject", "file")
    every = len(kinds) > 1 and bool(slots.take("intent", "both"))
    words = () if source else _topic(slots)
    where = RuleFilter(
        markets=markets,
        shared=shared,
        kinds=tuple(kinds),
        every=every,
        file=file,
        flow=flow,
        set=slots.one("set"),  # type: ignore[arg-type]
        direction=slots.one("direction"),  # type: ignore[arg-type]
        stage=slots.one("stage"),  # type: ignore[arg-type]
        severity=severity,  # type: ignore[arg-type]
        error_class=error_class,  # type: ignore[arg-type]
        other_class=other_class,  # type: ignore[arg-type]
        having=having,
        alone=alone,
        ebix=reason,
        missing=missing,
        repair=repair,
        on=day if not began and not off else None,
        off=day if off else None,
        since=days.since if began else None,
        until=days.until if began else None,
        changes=(began and not prefix) or dated,
        code=prefix,
        words=words,
        source=source,
        field=pointed,
    )
    return where, None


def _severity(slots: Slots) -> str | None:
    """The severity; of two the one that is not denied."""
    staged = {place for one in slots.of("stage") for place in range(one.start, one.end)}
    named = [one for one in slots.of("severity") if one.start not in staged]
    denied = {one.value for one in named if slots.denied(one, "not", "without")}
    meant = {one.value for one in named} - denied or {"error", "warning"} - denied if named else set()
    slots.take("severity")
    if named:
        slots.take("only")
    return next(iter(meant)) if len(meant) == 1 else None


def _class(slots: Slots, missing: Missing | None) -> tuple[str | None, str | None]:
    """The error class that is meant, and the one that is denied."""
    for one in slots.of("class"):
        if one.value == "missing" and missing:
            continue
        denied = slots.denied(one, "not")
        slots.take("class", one.value)
        return (None, one.value) if denied else (one.value, None)
    return None, None


def _missing(slots: Slots) -> Missing | None:
    """What rules lack, where something is denied beside a word for it."""
    if not (slots.has("without") or slots.has("not")):
        return None
    for one in slots.of("missing"):
        near = [
            other for other in slots.of_all(("without", "not"))
            if abs(other.end - one.start) <= 4 or abs(other.start - one.end) <= 2
        ]  # fmt: skip
        if near and one.value in get_args(Missing):
            slots.mark(near)
            slots.take("missing", one.value)
            slots.take("not"), slots.take("without"), slots.take("intent", "without")
            if one.value == "repair":
                slots.take("repair"), slots.take("field", "repair")
            return one.value  # type: ignore[return-value]
    return None


ISSUERS = ("enedis", "atrias", "edsn", "energinet", "ebix")
"""Who issues documents: behind a word for a source they are of its name, and not the market."""


def _source(slots: Slots) -> str | None:
    """The words that a source has to have: those behind the word for a source, names of types and issuers too.

    It comes before the markets and types are taken.
    """
    sources = slots.of("field", "source")
    if not sources or not slots.has("subject", "rule"):
        return None
    tokens = slots.asked.tokens
    first = min(one.start for one in sources)
    said = {place for one in (*sources, *slots.of("topic")) for place in range(one.start, one.end)}
    apart = ("market", "kind", "severity", "class", "intent", "subject")
    others = {
        place for one in slots.asked.found if one.slot in apart for place in range(one.start, one.end)
    }  # fmt: skip
    names = {one.start: one.value for slot in ("listed", "ebix_reason", "type", "version") for one in slots.of(slot)}
    told = slots.asked.telling()
    words = [
        place for place, token in enumerate(tokens)
        if place not in said and token not in TELLING
        and (token in ISSUERS or (place in told and place not in others) or place in names)
        and (place > first or place in told - others)
    ]  # fmt: skip
    if not words or len(words) > MOST_WORDS + 1:
        return None
    slots.mark(sources)
    slots.take("topic")
    slots.used |= set(words)
    return " ".join(names.get(place, tokens[place]) for place in words)


def _topic(slots: Slots) -> tuple[str, ...]:
    """Words that rules are looked for by: those behind "about" that nothing else explains."""
    topics = slots.of("topic")
    left = slots.left()
    slots.mark(topics)
    left = [place for place in left if place not in slots.used]
    if not topics or not left or len(left) > MOST_WORDS:
        return ()
    first = min(one.end for one in topics)
    tokens = slots.asked.tokens
    spare = ("word", "pointed", "list", "english", "setting", "command", "scope")
    if any(one.start <= place < one.end for one in slots.asked.found if one.slot not in spare for place in left):
        return ()
    while left[-1] + 1 < len(tokens) and (len(tokens[left[-1] + 1]) == 1 or _filled(slots, left[-1] + 1)):
        left.append(left[-1] + 1)  # l'heure d'été: a small word within the phrase
    left = [place for place in left if len(tokens[place]) > 1]
    known = {
        place
        for one in slots.asked.found
        if one.slot in ("state", "not", "without")
        for place in range(one.start, one.end)
    }
    if min(left) < first or known & set(left) or any(tokens[place].isdigit() for place in left):
        return ()
    slots.used |= set(left)
    return tuple(tokens[place] for place in left)


def _filled(slots: Slots, place: int) -> bool:
    return any(one.start <= place < one.end for one in slots.of("filler"))


def near(name: str, names: list[str]) -> tuple[str, ...]:
    """The names that a name is like."""
    return tuple(get_close_matches(name, names, n=3, cutoff=0.5))
