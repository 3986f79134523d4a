"""Questions on one rule, on two, and on what changed, as operations: each form takes the words that it answers."""

from __future__ import annotations

from difflib import get_close_matches

from assistant.operations.conditions import CLASS_NOUNS, markets_of
from assistant.operations.family import (
    FIELDS,
    Attribute,
    CompareRules,
    Field,
    RuleChanges,
    RuleField,
    RuleFilter,
    Rules,
)
from assistant.operations.slots import WHO, Read, Slots, yes_no
from assistant.operations.vocabulary import Match


def compare(slots: Slots) -> Read:
    """Two rules side by side."""
    codes = [*slots.take("code"), *slots.take("unknown_code")]
    if len(codes) != 2:
        return None
    _take_the_sides(slots, codes)
    slots.take("repair")
    slots.take("subject", "script")
    for value in ("ebix_reason", "script", "set"):
        slots.take(value)  # which of the two has it: the values of both are shown
    same = _same(slots)
    if same is not None:
        slots.take("same")
        slots.take("field")
        slots.take("severity")
        slots.take("only")
        slots.take("group", "code")  # or is one of them an error
        slots.take("severer")  # as severe
        slots.take("topic")
        slots.take("subject")
        slots.take("intent", "exists", "both", "why", "use", "list", "compare")
        slots.take("class")
        return (CompareRules(one=codes[0], other=codes[1], same=same),)
    unlike = _unlike(slots)
    if unlike is not None:
        slots.take("intent", "compare", "exists")
        slots.take("field")
        slots.take("subject")
        slots.take("topic")
        return (CompareRules(one=codes[0], other=codes[1], unlike=unlike),)
    how = {place for one in slots.of("field", "severity") for place in range(one.start, one.end)}
    if any(one.start not in how for one in slots.of("severer")):
        slots.take("severer")
        slots.take("field", "severity")
        slots.take("subject", "rule")
        slots.take("severity")
        slots.take("intent", "list", "exists", "compare", "both")
        slots.take("than")
        return (CompareRules(one=codes[0], other=codes[1], severer=True),)
    slots.take("severer")
    slots.take("topic")
    slots.take("intent", "compare", "list", "both", "exists")
    slots.take("each")
    slots.take("than")
    slots.take("field")
    slots.take("severity")
    slots.take("class")
    slots.take("only")
    slots.take("both")
    slots.take("subject", "ebix", "class")
    slots.take("subject", "rule", "code")
    slots.take("group", "code")
    slots.take("field", "sentence")
    return (CompareRules(one=codes[0], other=codes[1]),)


SHARING: dict[str, Attribute] = {
    "title": "title", "ebix": "ebix", "class": "class", "source": "source", "set": "set", "repair": "repair",
    "field": "field", "market_code": "market_code", "severity": "severity", "file": "file",
}  # fmt: skip
"""Fields of a rule by which others like it are found."""
ANOTHER = frozenset(("other", "another", "autre", "autres", "andere", "ander"))


def same_as(slots: Slots) -> Read:
    """Rules that have something in common with one that is named: which Danish rule has the same title as FR-P02."""
    same, codes, named = slots.of("same"), slots.of("code"), slots.of("subject", "rule")
    fields = list(dict.fromkeys(SHARING[one] for one in slots.values("field") if one in SHARING))
    if not (same and codes and named and len(fields) == 1) or slots.has("unknown_code"):
        return None
    if not named[0].start < same[0].start < min(one.start for one in codes):
        return None
    slots.take("code")
    slots.take("same")
    slots.take("field")
    slots.take("subject")
    slots.mark(one for one in slots.of("not") if slots.asked.word(one.start) in ANOTHER)
    slots.used |= {place for place, token in enumerate(slots.asked.tokens) if token in ANOTHER}
    count, exists = slots.take("intent", "count"), slots.take("intent", "exists")
    listed = slots.take("intent", "list")
    how = "count" if count else "exists" if (exists or yes_no(slots)) and not listed else "list"
    where = RuleFilter(markets=markets_of(slots), same=fields[0], to=tuple(one.value for one in codes))
    return (Rules(where=where, how=how),)  # type: ignore[arg-type]


COMMON = frozenset(("common", "share", "shared", "commun", "partagent", "gemeen", "delen", "gedeeld"))
AS = frozenset(("even", "aussi", "equally", "as"))


def _same(slots: Slots) -> Field | None:
    """The field of which it is asked whether two rules have it in common: the one that stands nearest to "same"."""
    shared = [one for one in slots.of("intent", "both") if slots.asked.word(one.end - 1) in COMMON]
    said = [*slots.of("same"), *shared]
    fields = [one for one in slots.of("field") if one.value in FIELDS and one.value != "sentence"]
    fields += [Match(one.start, one.end, "field", "repair") for one in slots.of("repair")]
    as_severe = [one for one in fields if one.value == "severity" and slots.asked.word(one.start) in AS]
    if as_severe:
        return "severity"
    differing = [one.start for one in slots.of("intent", "compare")]
    if not (said and fields) or (differing and not yes_no(slots) and min(differing) > max(one.end for one in said)):
        return None  # they have the same title: wherein do they differ
    nearest = min(fields, key=lambda one: min(abs(one.start - other.start) for other in said))
    if slots.asked.word(nearest.start).startswith(("which", "what", "quel", "welk")):
        return None  # which fields are the same
    return nearest.value  # type: ignore[return-value]


def _unlike(slots: Slots) -> Field | None:
    """The one field of which it is asked whether two rules differ in it."""
    fields = [one for one in slots.values("field") if one in FIELDS and one != "sentence"]
    if len(fields) != 1 or not yes_no(slots) or not slots.has("intent", "compare"):
        return None
    return fields[0]


SIDES = frozenset(("ene", "andere", "other", "former", "latter", "autre", "beide", "two", "deux", "twee"))
"""Words for one of two rules, or both of them."""


COUNTERPARTS = ("counterpart", "equivalent", "tegenhanger")
"""Words by which the other one of two rules that are named is only told: A and its equivalent B."""


def _take_the_sides(slots: Slots, codes: list[str]) -> None:
    """Take what only tells of two rules once more: their markets, the one, the other, the two."""
    slots.mark(one for one in slots.of("market") if one.value in {code[:2].upper() for code in codes})
    slots.mark(one for one in slots.of("intent", "without") if slots.asked.word(one.start).startswith(COUNTERPARTS))
    slots.used |= {place for place, token in enumerate(slots.asked.tokens) if token in SIDES}


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
        slots.take("ebix_reason")
        slots.take("field", "sentence", "ebix")
        slots.take("subject", "ebix", "code")
        return (RuleField(code=reasons[0]),)
    if len(codes) != 1 or _of_a_person(slots) or _of_what_came(slots):
        return None
    if slots.has("same") and slots.has("subject", "rule") and slots.has("field"):
        return None  # which other rules have its reason: no operation finds those by a rule
    code = codes[0]
    slots.take("subject", "rule")
    slots.used |= {place for place, token in enumerate(slots.asked.tokens) if token in code.split("-")}
    slots.mark(one for one in slots.of("market") if one.value.lower() == code.partition("-")[0].lower())
    asks = (yes_no(slots) and not slots.has("intent", "list")) or not slots.of("field") or yes_no(slots)
    if slots.take("todo"):
        slots.take("intent", "list")
        return (RuleField(code=code, fields=("sentence", "class", "repair", "comment")),)
    if slots.has("intent", "count") and slots.has("field", "kinds") and not slots.has("kind"):
        slots.take("intent", "count")
        slots.take("field", "kinds")
        slots.take("subject", "kind")
        slots.take("group", "kind")
        slots.take("thing", "message")
        return (Rules(where=RuleFilter(code=code), how="count_groups", by="kind"),)
    in_force = _in_force(slots, code)
    if in_force is not None:
        return in_force
    applies = _applies(slots, code)
    if applies is not None:
        return applies
    if _either(slots):
        slots.take("severity")
        slots.take("field", "severity")
        slots.take("group", "code")
        slots.take("only")
        slots.take("intent", "list", "exists")
        return (RuleField(code=code, fields=("severity",)),)  # an error, or only a warning
    equal = _equal(slots, code) if asks else None
    if equal is not None:
        return equal
    slots.take("intent", "list", "use")
    slots.take("subject", "kind")
    if slots.has("field", "kinds", "field"):
        slots.take("thing", "message")  # a field of the message
    slots.take("intent", "today")
    if slots.has("field", "validity"):
        slots.take("intent", "since", "when", "began")
    slots.take("subject", "script")
    if slots.has("field", "source"):
        slots.take("topic")  # the source that it cites
    if slots.take("repair") and not slots.has("field", "repair"):
        return (RuleField(code=code, fields=("repair",)),)
    return (RuleField(code=code, fields=_fields(slots)),)


def _of_a_person(slots: Slots) -> bool:
    """Whether it is asked who did something with a rule: nothing tells that, only whose fault a violation is."""
    tokens = slots.asked.tokens
    whom = [place for place in range(min(len(tokens), 2)) if tokens[place] in WHO]
    blamed = [one for one in slots.of("field", "class") if not slots.asked.word(one.start).startswith(CLASS_NOUNS)]
    return bool(whom) and not blamed


PAST = frozenset(("was", "were", "did", "has", "have", "had", "werd", "werden", "heeft"))


def _of_what_came(slots: Slots) -> bool:
    """Whether it is asked what happened to a rule, which its text does not tell: when it was last violated."""
    told = slots.has("field") or slots.has("intent", "exists", "list") or slots.has("repair") or slots.has("severity")
    named = told or slots.asked.days.known or any(slots.has(one) for one in ("kind", "type", "class"))
    first = slots.asked.word(0)
    return not named and (first in PAST or slots.has("intent", "last"))


OR = frozenset(("or", "ou", "of"))
ERRORS = frozenset((
    "error", "erreur", "fout", "rejects", "reject", "rejette", "weigert",
    "serious", "severe", "grave", "bad", "serieux", "ernstig", "zwaar", "erg",
))  # fmt: skip
"""What a rule that rejects is, beside one that warns."""


def _either(slots: Slots) -> bool:
    """Whether it is asked which of error and warning a rule is."""
    tokens = set(slots.asked.tokens)
    said = [place for place, token in enumerate(slots.asked.tokens) if token in ERRORS]
    refuses = slots.has("severity", "error") or bool(said)
    either = slots.has("severity", "warning") and refuses and bool(tokens & OR) and not slots.has("class")
    slots.used |= set(said) if either else set()
    return either


BEGINS = frozenset(("quand", "when", "wanneer"))
"""Words that ask for the day on which something begins to hold."""


def _in_force(slots: Slots, code: str) -> Read:
    days = slots.asked.days
    asks = yes_no(slots)
    today = slots.has("intent", "today") and (asks or not slots.has("field", "sentence"))  # wat eist ze nu precies
    named = slots.has("kind") or any(one not in ("all", "common", code[:2].upper()) for one in slots.values("market"))
    begins = not BEGINS.isdisjoint(slots.asked.tokens) or slots.has("intent", "since", "when")  # since when
    now = today or (asks and slots.has("field", "validity") and not named and not begins)
    day = days.day or days.since or (slots.today if now else None)
    if day is None:
        return None
    slots.days()
    slots.take("intent", "today", "notyet", "list")
    slots.take("field", "validity", "kinds")
    slots.take("not")
    return (RuleField(code=code, on=day),)


def _applies(slots: Slots, code: str) -> Read:
    named = [*slots.of("kind"), *slots.of("type"), *(one for one in slots.of("market") if one.value != "common")]
    if not named or slots.has("thing", "access_point") or code[:2].upper() == named[0].value:
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
        if slots.asked.word(0) not in PAST and not slots.asked.days.known:
            slots.take("thing", "message")  # does it reject a message; whether it has rejected one is in the store
        slots.take("severity")
        slots.take("only")
        slots.take("intent", "exists")
        return (RuleField(code=code, fields=("severity",), equals=severities[0]),)
    if len(classes) == 1 and not severities:
        slots.take("class")
        slots.take("field", "class", "sentence")
        slots.take("intent", "exists")
        return (RuleField(code=code, fields=("class",), equals=classes[0]),)
    named = _named_value(slots)
    if named is not None and yes_no(slots):
        field, value = named
        slots.take("intent", "exists")
        slots.take("subject", "field", "ebix", "set", "script", "code")
        slots.take("field", field, "field", "kinds", "sentence")
        slots.take("intent", "why")
        return (RuleField(code=code, fields=(field,), equals=value),)
    listed = slots.has("intent", "list") or len([one for one in slots.values("field") if one != "repair"]) > 0
    if (slots.has("repair") or (slots.has("field", "repair") and not listed)) and yes_no(slots):
        slots.take("repair")
        slots.take("field", "repair")
        slots.take("intent", "exists", "list")
        slots.take("subject", "script")
        return (RuleField(code=code, fields=("repair",), equals=""),)
    if slots.values("field") == ["ebix"] and yes_no(slots) and not slots.has("intent", "list"):
        slots.take("field", "ebix")
        slots.take("subject", "ebix")
        slots.take("intent", "exists")
        return (RuleField(code=code, fields=("ebix",), equals=""),)
    return None


def _named_value(slots: Slots) -> tuple[Field, str] | None:
    """An attribute that a question names a value of: its ebIX reason, field, set or script."""
    names: tuple[tuple[str, Field], ...] = (
        ("ebix_reason", "ebix"), ("set", "set"), ("script", "repair"), ("pointed", "field")
    )  # fmt: skip
    for slot, field in names:
        said = slots.has("subject", "field") or slots.has("field", "field")
        found = [
            one for one in slots.of(slot)
            if slot != "pointed" or (said and not any(one.start == other.start for other in slots.of("field")))
        ]  # fmt: skip
        if found:
            slots.take(slot, found[0].value)
            return field, found[0].value
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
    if "validity" in named and "kinds" in named and slots.has("intent", "since") and not slots.has("subject", "kind"):
        named.remove("kinds")  # since when it applies
    slots.take("subject", "code")
    if slots.take("field", "rule") and not named:
        named.append("rule")
    return tuple(named)


def near(name: str, names: list[str]) -> tuple[str, ...]:
    """The names that a name is like."""
    return tuple(get_close_matches(name, names, n=3, cutoff=0.5))
