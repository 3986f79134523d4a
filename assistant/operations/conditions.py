"""What restricts the rules that a question is about: values, what is there, what is absent, what is denied, days.

Any attribute of a rule can be a condition ("without an ebIX reason", "class missing"), or what is asked for itself
("which ebIX reasons", "per class"). A mention of an attribute beside one of its values belongs to the value; one behind
the rules, or behind "with" and "without", is a condition; what is left is the head of the question.
"""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assistant.knowledge.language import is_question_word
from assistant.operations.family import Attribute, RuleFilter, Unlike
from assistant.operations.slots import BUT, Asking, Slots
from assistant.operations.topics import rests_on_reason, source_of, topic_of
from assistant.operations.understanding import Understood
from assistant.operations.vocabulary import BETWEEN, Match
from energycomm.kernel.family import KINDS

MENTIONS: dict[tuple[str, str], Attribute] = {
    ("subject", "ebix"): "ebix", ("field", "ebix"): "ebix", ("group", "ebix"): "ebix",
    ("subject", "script"): "repair", ("field", "repair"): "repair",
    ("repair", ""): "repair",
    ("subject", "kind"): "kind", ("group", "kind"): "kind",
    ("subject", "set"): "set", ("field", "set"): "set", ("group", "set"): "set",
    ("subject", "class"): "class", ("field", "class"): "class", ("group", "class"): "class",
    ("subject", "file"): "file", ("field", "file"): "file", ("group", "file"): "file",
    ("field", "severity"): "severity", ("group", "severity"): "severity",
    ("field", "source"): "source", ("group", "source"): "source",
    ("subject", "field"): "field", ("group", "field"): "field",
    ("field", "title"): "title",
    ("field", "market_code"): "market_code",
    ("subject", "code"): "error_code", ("field", "error_code"): "error_code",
    ("subject", "market"): "market", ("field", "markets"): "market", ("group", "market"): "market",
}  # fmt: skip
"""Words of the vocabulary -> the attribute of a rule that they speak of."""

VALUES: dict[Attribute, tuple[str, ...]] = {
    "ebix": ("ebix_reason",), "class": ("class",), "severity": ("severity",), "set": ("set", "stage", "direction"),
    "repair": ("script",), "file": ("file",), "field": ("pointed",), "error_code": ("prefix",), "kind": ("kind",),
    "market": ("market",), "source": (), "title": (), "market_code": (),
}  # fmt: skip
"""The slots that hold values of an attribute."""

OPTIONAL: frozenset[Attribute] = frozenset(("ebix", "repair", "market_code"))
"""Attributes that a rule may lack: to have one is a condition."""
ABSENT = OPTIONAL | {"field", "error_code", "class"}
"""Attributes that may be denied: rules without an error code."""

BESIDE = 2
"""Words between a value and the word for its attribute, at most."""

ADJECTIVES = (
    "fixed", "fixable", "mended", "repaired", "repairable", "repair", "corrig", "repar", "herstel", "correctable",
    "corrected", "reparable",
)  # fmt: skip
"""Beginnings of words that tell that a script is there without naming one."""


ERRORS = (["errors"], ["erreurs"], ["fouten"])
"""Beside the word for rules: those that reject."""
ERROR = (["error"], ["erreur"], ["fout"])
"""Beside it even when there is one: error rules, règles d'erreur."""
DATA = (["data"], ["donnees"], ["gegevens"], ["file"], ["files"])
"""Behind a message type: R15 data."""
ARTICLES = ("a", "an", "un", "une", "een")
"""By a script: one of them, not each."""


class Mention(Struct, frozen=True):
    """Where a question speaks of an attribute; `each` where it asks for every value of it by itself."""

    attribute: Attribute
    start: int
    end: int
    each: bool = False


class Restricted(Struct, frozen=True):
    """What was found: the filter, and the attribute that is asked for itself, or what has to be asked back."""

    where: RuleFilter
    head: Mention | None = None
    asking: Asking | None = None


def mentions(slots: Slots) -> list[Mention]:
    """The attributes of rules that a question speaks of, in its order, those that overlap as one."""
    each = {place for one in slots.of("each") for place in range(one.start, one.end + 1)}
    found: list[Mention] = []
    for one in sorted(slots.asked.found):
        attribute = MENTIONS.get((one.slot, one.value))
        if attribute is None or (attribute == "file" and not _noun_of_file(slots, one)):
            continue
        if attribute == "set" and any(other.end == one.start for other in slots.of("market", "common")):
            continue  # the common set
        if any(
            name.start <= one.start and one.end <= name.end and name.end - name.start > one.end - one.start
            for name in slots.of("pointed")
        ):
            continue  # the responsible of the field balance responsible
        told = one.slot == "group" and one.end - one.start > 1 and not _asks(slots, one)
        before = slots.asked.tokens[one.start - 1] if one.start else ""
        by_each = one.start in each or (one.start - 1 in each and before not in ARTICLES)
        by_each = by_each and not (attribute == "repair" and _adjective_before(slots, one))
        by_each = by_each and not _named_behind(slots, attribute, one)
        said = Mention(attribute, one.start, one.end, told or by_each)
        last = next(
            (m for m in found if m.attribute == attribute and said.start <= m.end and m.start <= said.end), None
        )
        if last is not None:
            found.remove(last)
            said = Mention(attribute, min(last.start, said.start), max(last.end, said.end), last.each or said.each)
        found.append(said)
    longer = {(one.start, one.end): one.end - one.start for one in found}
    return [one for one in found if not _within(one, longer)]


def _named_behind(slots: Slots, attribute: Attribute, one: Match) -> bool:
    """Whether the value of an attribute follows it: by the script swapped-digits is by that one, not by each."""
    return any(value.start == one.end for slot in VALUES[attribute] for value in slots.of(slot))


INTO = frozenset(("to", "of", "in", "into", "under", "tot", "bij", "van", "onder", "de", "dans"))
"""Words before the article of a class or set to which rules belong."""


def described(slots: Slots, head: Mention, at: int | None) -> bool:
    """Whether the class or set to which rules are said to belong is described in words that name none: rules of the
    class for what was delivered twice."""
    before = slots.asked.tokens[max(head.start - 2, 0) : head.start]
    inside = len(before) == 2 and before[0] in INTO and before[1] in ("the", "la", "de", "het")
    return head.attribute in ("class", "set") and not head.each and at is not None and at < head.start and inside


def tells_of_rules(asked: Understood, by: str | None) -> bool:
    """Whether a question tells by which rules messages were refused, or describes the class or set by which rules are
    asked for: what is only like it tells nothing of that.

    Args:
      asked: the question, taken apart.
      by: the attribute by which rules are asked for.
    """
    slots = Slots(asked, date.min)
    at = rule_place(slots)
    return refusing(slots) is not None or (
        by is not None and any(one.attribute == by and described(slots, one, at) for one in mentions(slots))
    )


def _adjective_before(slots: Slots, one: Match) -> bool:
    """Whether it is said that something is repaired just before: repairable by script."""
    return any(0 <= one.start - other.end < BESIDE for other in slots.of("repair") + slots.of("field", "repair"))


def _within(one: Mention, others: dict[tuple[int, int], int]) -> bool:
    """Whether a mention is a part of a longer one: the code of an ebIX code."""
    return any(
        start <= one.start and one.end <= end and length > one.end - one.start
        for (start, end), length in others.items()
    )


def _asks(slots: Slots, one: Match) -> bool:
    """Whether a phrase of a group asks for one of them: which class, quelle classe."""
    return slots.asked.word(one.start) in ("which", "what", "in", "from", "quel", "quelle", "quels", "quelles", "de",
                                             "welke", "welk", "kind", "kinds", "soort", "error", "code", "country",
                                             "market", "type", "message", "where")  # fmt: skip


def _noun_of_file(slots: Slots, one: Match) -> bool:
    words = slots.asked.tokens[one.start : one.end]
    if not words:
        return True  # the other part of the question has the word
    named = any(word.startswith(("file", "fichier")) or "bestand" in word for word in words)
    return named or (one.slot != "field" and words[-1].startswith(("regels", "rules")))


def rule_place(slots: Slots) -> int | None:
    """Where a question names rules: the word itself, or the warnings or errors that are theirs."""
    named = slots.of("subject", "rule")
    if named:
        return named[0].start
    nouns = ("warning", "error", "avertissement", "erreur", "waarschuwing", "fout", "alert")
    severities = slots.of("severity") or [one for one in slots.of("group", "code") if slots.has("market")]
    tokens = slots.asked.tokens
    spoken = [one for one in severities if one.start == len(tokens) or slots.asked.word(one.start).startswith(nouns)]
    return spoken[0].start if spoken else None


def rules_counted(slots: Slots) -> int | None:
    """Where "how many rules" begins: the rules are what is counted, and nothing that was said before."""
    return _rules_behind(slots, slots.of("intent", "count"))


def rules_asked(slots: Slots) -> int | None:
    """Where "how many rules" or "which rules" begins."""
    which = [one for one in slots.of("intent", "list") if slots.asked.word(one.start) in WHICH]
    return _rules_behind(slots, [*slots.of("intent", "count"), *which])


WHICH = frozenset(("which", "what", "quels", "quelles", "quelle", "welke"))


def _rules_behind(slots: Slots, asking: list[Match]) -> int | None:
    named = slots.of("subject", "rule")
    return next((one.start for one in asking if any(0 <= rule.start - one.end < BESIDE for rule in named)), None)


BY = frozenset(("by", "par", "door"))
ANY = frozenset(("any", "some", "one", "of", "des", "d", "van", "common", "commune", "communes", "gemeenschappelijke"))
"""Words between one of these and the rules that did it, beside small ones and markets."""


def refusing(slots: Slots) -> Match | None:
    """The rules by which messages were refused, which are asked for: refused by a rule of the class ordering."""
    tokens = slots.asked.tokens
    markets = {place for one in slots.of_all(("market", "severity")) for place in range(one.start, one.end)}
    if not slots.has("state", "rejected") or slots.has("code") or rules_asked(slots) is not None:
        return None
    for one in slots.of("subject", "rule"):
        at = one.start - 1
        while at > 0 and tokens[at] not in BY and (tokens[at] in BETWEEN | ANY or at in markets):
            at -= 1
        behind = any(0 <= other.start - one.end <= NEAR_CLASS for other in slots.of("class"))
        if at > 0 and tokens[at] in BY and (at < one.start - 1 or behind):
            return one
    return None


def by_each_rule(slots: Slots) -> bool:
    """Whether messages are counted rule by rule: rejections per rule."""
    judged = slots.has("state") or slots.has("thing", "message", "finding") or slots.has("intent", "occurred")
    each = [one for one in slots.of("group", "rule") if slots.asked.word(one.start) in ("by", "per", "par")]
    rules = slots.of("subject", "rule")
    return judged and len(rules) == 1 and any(one.end == rules[0].end for one in each) and refusing(slots) is None


NEAR_CLASS = 4
"""Words between rules and the class that they are of, at most."""


def of_several(slots: Slots) -> bool:
    """Whether it is asked what several markets have, or one and not the other."""
    markets = [one for one in slots.values("market") if one != "common"]
    return len(markets) > 1 and (slots.has("intent", "both", "without") or slots.has("without"))


def markets_of(slots: Slots) -> tuple[str, ...]:
    """The markets that are named; all but those that are excepted; none where all are meant."""
    named = [one for one in slots.of("market") if one.value != "all" and one.start not in slots.used]
    slots.take("market")
    before = set(slots.used)
    excepted = [one.value for one in named if slots.denied(one, "except", "not")]
    kept = tuple(dict.fromkeys(one.value for one in named if one.value not in excepted))
    if excepted == ["common"] and kept:
        return kept  # those of a country are without the common ones anyway
    if excepted and kept:
        slots.used = before  # one that has it and one that has not: no list of rules
    elif excepted:
        return tuple(market for market in (*slots.asked.markets, "common") if market not in excepted)
    return tuple(dict.fromkeys(one.value for one in named))


def restricted(slots: Slots, *, deny: bool = True) -> Restricted:
    """The filter of the rules that a question is about, and what it asks for itself.

    Args:
      slots: the question; what restricts is taken.
      deny: whether what is denied restricts; not where a denial stands between two markets.
    """
    spoken = mentions(slots)
    at = rule_place(slots)
    source = source_of(slots, at)
    stranger = _stranger(slots)
    if stranger is not None:
        return Restricted(RuleFilter(), asking=stranger)
    where: dict[str, Any] = {"source": source, "unlike": ()}
    slots.void |= {one.start for one in slots.of("class", "missing") if _counts_as(slots, one)}
    _take_values(slots, where, deny=deny)
    sized = where["wide"] is not None or where["narrow"] is not None or where["kinds"] == tuple(KINDS)
    told = {"kind"} if sized else set()
    told |= {"source"} if source or rests_on_reason(slots) else set()
    rest = [one for one in spoken if not _beside_value(slots, one) and one.attribute not in told]
    asked = rules_asked(slots)
    context = [
        one for one in rest
        if asked is not None and one.end <= asked and not (one.each or _asked_for(slots, one))
        and one.attribute in NOUNS
    ]  # fmt: skip
    blaming = [
        one for one in rest
        if where.get({"class": "error_class", "set": "set"}.get(one.attribute, ""))
        and not (one.each or _asked_for(slots, one))
    ]  # fmt: skip
    rest = [one for one in rest if one not in (*context, *blaming)]  # blaming: that impute it to our own software
    where["having"], where["missing"], head = _presence(slots, rest, at, where, deny=deny)
    where["missing"] += ("severity",) if where.pop("silent") else ()  # neither warns nor rejects
    _take_days(slots, where)
    if not source:
        where["words"] = topic_of(slots, at)
        where["language"] = slots.asked.language if where["words"] else "en"
    for one in spoken:
        slots.used |= set(range(one.start, one.end)) if one is not head or one.each else set()
    slots.used -= {place for one in context for place in range(one.start, one.end)}
    return Restricted(RuleFilter(**{name: value for name, value in where.items() if value is not None}), head)


CLASS_NOUNS = ("class", "klasse", "error", "erreur", "fout", "categor")
"""Beginnings of words for the class of an error; others only blame."""
NOUNS: frozenset[Attribute] = frozenset(("file", "source", "title"))
"""Attributes whose words are said of other things too: "for my audit file, how many rules"."""


def _asked_for(slots: Slots, one: Mention) -> bool:
    """Whether "which", "with" or "without" stands just before an attribute."""
    words = slots.asked.tokens[max(one.start - 1, 0) : one.end]
    listed = any(one.start - BESIDE < other.end <= one.start + 1 for other in slots.of("intent", "list"))
    return listed or not WITH.isdisjoint(words)


WITH = frozenset(("with", "without", "avec", "sans", "met", "zonder", "no", "any"))


def _stranger(slots: Slots) -> Asking | None:
    """A correction script that there is not."""
    named = slots.of("unknown_name")
    if not named or slots.has("script") or not (slots.has("repair") or slots.has("field", "repair")):
        return None
    slots.take("unknown_name")
    slots.take("repair")
    slots.take("field", "repair")
    slots.take("intent", "use", "list")
    return Asking("no_script", (), named[0].value)


def _take_values(slots: Slots, where: dict[str, Any], *, deny: bool) -> None:
    """Every value that a question names."""
    where["shared"] = bool(slots.take("with_common"))
    where["severity"] = _severity(slots)
    both = {one.value for one in slots.of("severity")} == {"error", "warning"}
    where["silent"] = (
        both and where["severity"] is None and any(slots.denied(one, "not") for one in slots.of("severity"))
    )
    if where["severity"] is None and not slots.has("subject", "rule", "code") and rule_place(slots) is not None:
        where["severity"] = (
            None if slots.has("severity") else "error"
        )  # the errors of a market are its rules that reject
        slots.take("group", "code")
    nouns = [one for one in slots.of("group", "code") if _errors(slots, one)]
    if where["severity"] is None and nouns and not slots.has("severity"):
        unwanted = [one for one in nouns if slots.denied(one, "not", "without", "except")]
        where["severity"] = "warning" if unwanted else "error"
        slots.mark(nouns)
    together = where["shared"] or _together(slots)
    if len({*slots.values("market")} - {"all"}) > 1 and slots.has("market", "common") and not together:
        slots.take("intent", "both")  # of a market and of the common ones
    where["markets"] = tuple(one for one in markets_of(slots) if not (together and one == "common"))
    if len(where["markets"]) > 1 and slots.has("ebix_reason"):
        slots.take("intent", "both")  # what they share is named: rules of both with it
    _kinds(slots, where, deny=deny)
    _scripts(slots, where)
    named: tuple[tuple[str, str, Attribute | None], ...] = (
        ("error_class", "class", "class"), ("set", "set", "set"), ("repair", "script", "repair"),
        ("file", "file", "file"), ("code", "prefix", "error_code"), ("ebix", "ebix_reason", "ebix"),
        ("field", "pointed", "field"), ("direction", "direction", None), ("stage", "stage", None),
        ("flow", "type", None),
    )  # fmt: skip
    for name, slot, attribute in named:
        if name in ("ebix", "flow") and (where["source"] or (name == "flow" and where.get("ebix"))):
            continue
        one = next((match for match in slots.of(slot) if _counts_as(slots, match)), None)
        if one is None:
            continue
        several = _alternatives(slots, slot) if attribute in ("ebix", "class") else []
        if several:
            where["either"] = tuple(Unlike(attribute=attribute, value=value) for value in several)  # type: ignore[arg-type]
            slots.take(slot)
            continue
        if deny and attribute and slots.denied(one, "not"):
            where["unlike"] += (Unlike(attribute=attribute, value=one.value),)
        else:
            where[name] = one.value
        slots.take(slot, one.value)
        if name == "flow" and slots.asked.tokens[one.end : one.end + 1] in DATA:
            slots.used.add(one.end)
    slots.take("field", "kinds", "class", "severity", "sentence", "set", "field")
    slots.mark(one for one in slots.of("field", "reads") if slots.asked.word(one.start) not in ("facts", "faits"))
    if not slots.has("state") or where["kinds"] or where["markets"]:
        slots.take("thing", "message")


OR = frozenset(("or", "ou", "of"))
BETWEEN_VALUES = 3
"""Words between two values at most: E10 ou le motif E17."""


def _alternatives(slots: Slots, slot: str) -> list[str]:
    """The values of which one is enough: E49 or E51."""
    found = sorted(slots.of(slot))
    apart = [set(slots.asked.tokens[one.end : other.start]) for one, other in pairwise(found)]
    inside = {one.start for one in found}
    denied = any(one.start not in inside for one in slots.of_all(("not", "without", "except")))
    joined = apart and not denied and not OR.isdisjoint(apart[-1])
    return slots.values(slot) if joined and all(len(one) <= BETWEEN_VALUES for one in apart) else []


def _errors(slots: Slots, one: Match) -> bool:
    """Whether a word is for the rules that reject: errors, or an error beside the word for rules."""
    words = slots.asked.tokens[one.start : one.end]
    beside = any(0 <= one.start - rule.end < BESIDE or rule.start == one.end for rule in slots.of("subject", "rule"))
    return words in ERRORS or (beside and words in ERROR)


def _together(slots: Slots) -> bool:
    """Whether "common" is said of two kinds, and not of rules: common to the start and the end of supply."""
    common = slots.of("market", "common")
    both = {one.start for one in slots.of("intent", "both")}
    return len(slots.values("kind")) > 1 and len(common) == 1 and common[0].start in both


def _counts_as(slots: Slots, one: Match) -> bool:
    """Whether a value is meant: a field where the question says so, a class that is no word for what is absent."""
    if one.slot == "pointed":
        written = slots.asked.word(one.start).startswith("§")
        inside = any(
            other.start <= one.start and one.end <= other.end
            for other in (
                *slots.of("field", "field", "source", "error_code"),
                *slots.of("kind"),
                *slots.of("subject", "code"),
            )
        )
        beside = any(
            0 <= one.start - other.end < BESIDE or 0 <= other.start - one.end < BESIDE
            for other in (*slots.of("subject", "field"), *slots.of("field", "field"))
        )
        return not inside and (written or beside)
    if one.slot == "class" and one.value == "missing":
        after = slots.of("subject", "ebix", "script", "rule")
        named = any(
            0 <= one.start - other.end < BESIDE for other in slots.of("field", "class") + slots.of("subject", "class")
        )
        word = slots.asked.tokens[one.start : one.end] in (["missing"], ["manquant"], ["ontbreekt"], ["ontbrekend"])
        near = any(0 <= one.start - other.end < BESIDE or 0 <= other.start - one.end < BESIDE for other in after)
        return named or not (word and near) or slots.has("severity")
    return True


def _kinds(slots: Slots, where: dict[str, Any], *, deny: bool) -> None:
    """The kinds that are judged: one of them, every one, no other, or not these."""
    at = rule_place(slots)
    every = [
        one for one in slots.of("every_kind") if at is not None and at < one.start and not slots.has("intent", "count")
    ]
    slots.mark(every)
    named = slots.of("kind")
    denied = [one for one in named if deny and slots.denied(one, "not", "except", "without")]
    slots.mark(named)
    where["unlike"] += tuple(Unlike(attribute="kind", value=one.value) for one in denied)
    kinds = tuple(dict.fromkeys(one.value for one in named if one not in denied))
    where["kinds"] = tuple(KINDS) if every else kinds
    where["every"] = bool(every) or (len(kinds) > 1 and bool(slots.take("intent", "both")))
    if where["markets"]:
        slots.mark(_only_there(slots) if kinds else slots.of("only"))
    said = {"ne", "qu"} <= set(slots.asked.tokens) or {"ne", "que"} <= set(slots.asked.tokens)
    where["wide"] = where["narrow"] = None
    alone = [one for one in slots.of("only") if one.start not in slots.used]
    where["alone"] = bool(kinds) and not where["severity"] and (bool(alone) or said)
    slots.mark(alone)
    size, number = slots.of("number_is"), slots.of("number")
    counted = [one for one in slots.of("subject", "kind") if number and 0 <= one.start - number[0].end < BESIDE]
    single = [
        one for one in slots.of("times", "1")
        if slots.has("only") and any(other.start == one.end for other in slots.of("subject", "kind"))
    ]  # fmt: skip
    if single and at is not None and at < single[0].start:
        where["wide"] = where["narrow"] = 1
        slots.mark([*single, *slots.of("subject", "kind")])
        slots.take("only")
    if size and number and counted and at is not None and at < size[0].start:
        least, most = bounds(slots)
        where["wide"], where["narrow"] = least, most
        slots.mark(counted)


def _scripts(slots: Slots, where: dict[str, Any]) -> None:
    """How many correction scripts the rules have at least: rules with more than one script."""
    where["scripts"] = None
    at, size = rule_place(slots), slots.of("number_is")
    named = [*slots.of("subject", "script"), *slots.of("repair"), *slots.of("field", "repair")]
    numbers = [one for one in slots.of_all(("number", "times")) if size and one.start >= size[0].start]
    counted = [one for one in named if any(0 <= one.start - number.end < BESIDE for number in numbers)]
    if not counted or at is None or at > size[0].start or size[0].value not in ("more", "least"):
        return
    slots.mark([*counted, *numbers])
    where["scripts"], _ = bounds(slots)


def _only_there(slots: Slots) -> list[Match]:
    """Where "only" stands just before a market, with a small word between at most: alleen in België."""
    markets = [one.start for one in slots.of("market")]
    tokens = slots.asked.tokens
    return [
        one for one in slots.of("only")
        if one.end in markets or (one.end + 1 in markets and is_question_word(tokens[one.end]))
    ]  # fmt: skip


def bounds(slots: Slots) -> tuple[int | None, int | None]:
    """How many at least and at most: more than, at least, less than, exactly."""
    compared = slots.one("number_is")
    if compared is None:
        return None, None
    number = slots.one("number") or slots.one("times")
    if number is None:
        return None, None
    n = int(number)
    return {
        "more": (n + 1, None), "least": (n, None), "less": (None, max(n - 1, 0)), "most": (None, n), "equal": (n, n),
    }[compared]  # fmt: skip


def _severity(slots: Slots) -> str | None:
    """The severity; of two the one that is not denied."""
    staged = {place for one in slots.of("stage") for place in range(one.start, one.end)}
    named = [one for one in slots.of("severity") if one.start not in staged]
    denied = {one.value for one in named if _denied_behind(slots, one)}
    denied |= {one.value for one in named if slots.denied(one, "not", "without", "except")}
    meant = {one.value for one in named} - denied or {"error", "warning"} - denied if named else set()
    slots.take("severity")
    if named:
        slots.take("only")
        slots.take("group", "code")
    return next(iter(meant)) if len(meant) == 1 else None


def _denied_behind(slots: Slots, one: Match) -> bool:
    """Whether the "not" that follows a verb denies it, and nothing behind: ne rejettent pas, mais avertissent."""
    tokens = slots.asked.tokens
    french = one.start > 0 and tokens[one.start - 1] in ("ne", "n")
    contrasted = not BUT.isdisjoint(tokens[one.end + 1 : one.end + 2])
    behind = [other for other in slots.of("not") if other.start == one.end and (french or contrasted)]
    slots.mark(behind)
    slots.void |= {other.start for other in behind}
    return bool(behind)


def _beside_value(slots: Slots, one: Mention) -> bool:
    """Whether a mention belongs to a value beside it: reason E17, the class missing, the Danish market."""
    if one.each:
        return False
    gap = 0 if one.attribute in ("market", "kind") else BESIDE
    return any(
        0 <= value.start - one.end <= gap or 0 <= one.start - value.end <= gap
        or (value.start <= one.start and one.end <= value.end)
        for slot in VALUES[one.attribute]
        for value in slots.of(slot)
        if value.start in slots.used
    )  # fmt: skip


def _presence(
    slots: Slots, rest: list[Mention], at: int | None, where: dict[str, Any], *, deny: bool
) -> tuple[tuple[Attribute, ...], tuple[Attribute, ...], Mention | None]:
    """What has to be there, what has to be absent, and what is asked for."""
    having: list[Attribute] = []
    missing: list[Attribute] = []
    head: Mention | None = None
    for one in rest:
        place = Match(one.start, one.end, "", "")
        optional = one.attribute in OPTIONAL
        said = slots.asked.tokens[one.start - 1] if one.start else ""
        none = deny and one.attribute in ABSENT and said in ("any", "aucun", "enig", "enkel") and _no(slots, one)
        if one.each and head is None and not none:
            head = one
        elif none:
            missing.append(one.attribute)
        elif deny and one.attribute in ABSENT and (slots.denied(place, "not", "without") or _denied_after(slots, one)):
            missing.append(one.attribute)
            slots.take("intent", "without")
            slots.take("without")
            slots.take("not")
        elif (one.attribute == "repair" and _adjective(slots, one)) or (
            optional and at is not None and at < one.start and one.attribute not in missing
        ):
            having.append(one.attribute)
        elif head is None or head.attribute == one.attribute:
            head = head or one
    same = [one for one in having if one not in missing and (head is None or head.attribute != one)]
    known = {"ebix": where.get("ebix"), "repair": where.get("repair")}
    kept = tuple(dict.fromkeys(one for one in same if not known.get(one)))
    if len(kept) > 1:
        slots.take("intent", "both")
    return kept, tuple(dict.fromkeys(missing)), head


def _no(slots: Slots, one: Mention) -> bool:
    """Whether what stands before "any" denies it: cannot be repaired by any script."""
    before = [other for other in slots.of_all(("not", "without")) if other.end <= one.start]
    slots.mark(before[-1:])
    return bool(before)


def _denied_after(slots: Slots, one: Mention) -> bool:
    """Whether something behind a mention denies it: ebIX reason missing."""
    others = [other.start for other in mentions(slots) if other.start > one.start]
    behind = [
        other
        for other in slots.of("without")
        if 0 <= other.start - one.end < BESIDE and not any(0 <= at - other.end < BESIDE for at in others)
    ]  # error codes without an ebIX reason: what follows is lacking
    behind += [
        other for other in slots.of("not")
        if other.start == one.end and slots.asked.word(other.start) in ("nobody", "personne", "niemand", "no")
    ]  # fmt: skip
    slots.mark(behind)
    return bool(behind)


def _adjective(slots: Slots, one: Mention) -> bool:
    words = slots.asked.tokens[one.start : one.end]
    return not any("script" in word for word in words) and any(word.startswith(ADJECTIVES) for word in words)


def _take_days(slots: Slots, where: dict[str, Any]) -> None:
    """In force on a day, not in force, begun in a span, limited in time."""
    days = slots.asked.days
    if days.known and ending(slots):
        where.update(on=None, off=None, since=None, until=None, changes=False)
        return  # when they cease to hold is no condition: the days are left, and it is not understood
    about = slots.has("topic") and not days.known  # rules on a change of meter: the change is what they say
    began = bool(slots.take("intent", "began") if about else slots.take("intent", "began", "changed"))
    if days.since and days.until is None and slots.has("days") and not as_of(slots):
        slots.take("only")
        began = True  # those that hold since a day began on it or later
    apart = _apart_on(slots)
    if apart is not None:
        slots.days()
        slots.take("field", "validity")
        slots.take("intent", "began", "today")
        where["on"], where["off"] = apart
        where.update(since=None, until=None, changes=False)
        return
    if len(set(days.named)) > 1 and not (began or _spanned(slots)):
        return  # on both days: no filter has two
    off, dated = bool(slots.take("intent", "notyet")), bool(slots.take("dated"))
    today = bool(slots.take("intent", "today"))
    slots.take("field", "validity")
    if days.known or today:
        slots.days()
        if off:
            slots.take("not")
    last = days.until - timedelta(days=1) if days.until else None
    day = days.day or days.since or last or (slots.today if today else None)
    where["on"] = day if not began and not off else None
    where["off"] = day if off else None
    where["since"], where["until"] = (days.since, days.until) if began else (None, None)
    where["changes"] = (began and not where.get("code")) or dated


CLAUSE = BUT | frozenset(("and", "et", "en", "yet", "though", "while", "terwijl", "alors", "doch", "of", "that"))
"""Words between two days of which only one is denied."""


def _apart_on(slots: Slots) -> tuple[date, date] | None:
    """The day on which rules hold and that on which they do not: valid on the one, but not yet on the other."""
    places, days = [one.start for one in slots.of("days")], slots.asked.days.named
    if len(places) != 2 or len(days) != 2 or days[0] == days[1]:
        return None
    tokens = slots.asked.tokens
    joints = [place for place in range(places[0] + 1, places[1]) if tokens[place] in BUT] or [
        place for place in range(places[0] + 1, places[1]) if tokens[place] in CLAUSE
    ]
    denials = [*slots.of("intent", "notyet"), *slots.of_all(("not", "without"))]
    sides = {one.start > joints[0] for one in denials} if joints else set()
    if len(sides) != 1:
        return None
    slots.mark(denials)
    first, second = days
    return (first, second) if sides == {True} else (second, first)


SPANS = frozenset((
    "between", "entre", "tussen", "from", "du", "van", "des", "since", "sinds", "depuis", "vanaf", "after",
))  # fmt: skip
"""Words before the first day of a span."""


def _spanned(slots: Slots) -> bool:
    """Whether two days are the ends of a span."""
    first = min(one.start for one in slots.of("days")) if slots.has("days") else 0
    return not SPANS.isdisjoint(slots.asked.tokens[max(first - 2, 0) : first])


def as_of(slots: Slots) -> bool:
    """Whether it is asked what is in force as of a day, and not what begins on it."""
    tokens = slots.asked.tokens
    said = any(tokens[one.start - 2 : one.start] in (["as", "of"], ["as", "at"]) for one in slots.of("days"))
    return said and slots.has("field", "validity") and not slots.has("intent", "began")


ENDING = frozenset((
    "end", "ends", "ended", "ending", "expire", "expires", "expired", "lapse", "lapses", "cease", "ceases", "finissent",
    "expirent", "cessent", "eindigen", "eindigt", "verlopen", "vervallen", "aflopen", "vervalt",
))  # fmt: skip
"""Words for what ceases to hold."""


def ending(slots: Slots) -> bool:
    """Whether it is asked what ceases to hold; the end of a supply is none of it."""
    named = {place for one in slots.of("kind") for place in range(one.start, one.end)}
    return any(token in ENDING and place not in named for place, token in enumerate(slots.asked.tokens))


def without_markets(where: RuleFilter) -> RuleFilter:
    """The same filter for every market."""
    return replace(where, markets=())
