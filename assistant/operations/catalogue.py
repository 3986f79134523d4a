"""Operations on the catalogue: rules listed, counted, shown, compared; what holds and what changed; code lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from msgspec.structs import replace

from assistant.operations.attributes import Texts, hinted, judges, matches, names_flow, values
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
from assistant.operations.wording import market_name, say
from assistant.operations.worked import MOST_ROWS, Proof, Table, Worked, ranked
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.codes import COMMON, CodeEntry
from energycomm.engine.rule import Rule
from energycomm.errors import UserError
from energycomm.kernel.family import KINDS

FEW = 5
"""So many names stand in the sentence too."""

MOST_PROOFS = 12
"""Files and lines below an answer; the rows of a table name theirs each."""


def matching(catalogue: Catalogue, where: RuleFilter, texts: Texts | None = None) -> list[Rule]:
    """The rules that a filter finds, in the order of the catalogue.

    Words that no title and no sentence has are looked for in the rules' names and comments.

    Raises:
      UserError: a rule that others are held against does not exist.
    """
    known = texts or {}
    if where.same is not None:
        models = [rule for code in where.to for rule in _rules_of(catalogue, code)]
        wanted = {value for rule in models for value in values(rule, where.same)}
        rest = replace(where, same=None, to=())
        return [
            rule for rule in matching(catalogue, rest, texts)
            if rule not in models and wanted.intersection(values(rule, where.same))
        ]  # fmt: skip
    found = [rule for rule in catalogue.rules if matches(rule, where, known)]
    if where.words and not found:
        rest = replace(where, words=())
        found = [rule for rule in catalogue.rules if matches(rule, rest, known) and hinted(rule, where.words)]
    return found


def _rules_of(catalogue: Catalogue, code: str) -> tuple[Rule, ...]:
    found = catalogue.find(code)
    if not found:
        close = catalogue.like(code)
        raise UserError(f"No rule has the code {code!r}.", f"Like it: {', '.join(close)}." if close else "List rules.")
    return tuple(found)


def where_in_words(where: RuleFilter, language: str) -> str:
    """A filter of rules as people read it: the names of its fields and their values."""
    parts = []
    if where.markets:
        names = ", ".join(market_name(market, language) for market in where.markets)
        parts.append(f"market {names}" + (" + common" if where.shared else ""))
    kinds = (" and " if where.every else ", ").join(where.kinds)
    pairs: list[tuple[str, Any]] = [
        ("kind", "every one" if len(where.kinds) == len(KINDS) else kinds),
        ("judges no other kind", "yes" if where.alone else None),
        ("scripts at least", where.scripts),
        ("kinds at least", where.wide),
        ("kinds at most", where.narrow),
        ("file", where.file),
        ("names the flow", where.flow),
        ("set", where.set),
        ("set ends with", where.direction and f"_{where.direction}"),
        ("set begins with", where.stage),
        ("severity", where.severity),
        ("error_class", where.error_class),
        ("ebix", where.ebix),
        ("repair", where.repair),
        ("with", " and ".join(where.having)),
        ("without", " and ".join(where.missing)),
        ("not", "; ".join(f"{one.attribute} {one.value}" for one in where.unlike)),
        ("one of", "; ".join(f"{one.attribute} {one.value}" for one in where.either)),
        (f"same {where.same} as", " or ".join(where.to)),
        ("in force on", where.on),
        ("not in force on", where.off),
        ("begins on or after", where.since),
        ("begins before", where.until),
        ("validity", "begins or ends on a day" if where.changes else None),
        ("code begins with", where.code),
        ("source has", where.source),
        ("words", " ".join(where.words)),
        ("points at", where.field),
    ]
    parts += [f"{name} {value}" for name, value in pairs if value]
    return "; ".join(parts) or "all"


def rule_list_proof(where: RuleFilter, language: str) -> Proof:
    """The query in words, and the same list in the console and on the command line as far as their filters reach."""
    one = where.markets[0] if len(where.markets) == 1 else None
    chosen: dict[str, str] = {}
    if one:
        chosen["market"] = one
    if where.set:
        chosen["rule_set"] = where.set
    if where.words:
        chosen["q"] = " ".join(where.words)
    options = {
        "market": one.lower() if one and one != COMMON else None,
        "kind": where.kinds[0] if len(where.kinds) == 1 else None,
        "set": where.set,
        "on": where.on,
    }
    command = ["energycomm rules list", *(f"--{name} {value}" for name, value in options.items() if value)]
    return Proof(
        text=f"rules: {where_in_words(where, language)}",
        link="/rules?" + urlencode({"rule_set": "all", **chosen}),
        command=" ".join(command),
    )


def rule_proof(rule: Rule) -> Proof:
    """File and line of a rule, its page and its command."""
    name = rule.error_code or rule.code
    return Proof(
        text=f"rules/{rule.file}:{rule.line}", link=f"/rules/{quote(name)}", command=f"energycomm rules show {name}"
    )


def rules_answer(catalogue: Catalogue, plan: Rules, language: str, texts: Texts | None = None) -> Worked:
    """Rules listed, counted, by an attribute, or compared between markets."""
    found = matching(catalogue, plan.where, texts)
    where = where_in_words(plan.where, language)
    proofs = (rule_list_proof(plan.where, language), *(rule_proof(rule) for rule in found[: MOST_PROOFS - 1]))
    note = _note(catalogue, plan.where, found, language)
    if plan.how in ("difference", "outnumbers"):
        return _against(found, plan, language, proofs, note)
    if plan.by is not None:
        return _groups_answer(catalogue, found, plan, language, proofs, note)
    key = {"exists": "yes_rules" if found else "no_rules"}.get(plan.how, "rules")
    names = tuple(dict.fromkeys(rule.error_code or rule.code for rule in found))
    given: tuple[Any, ...] = {"count": (len(found),), "exists": (bool(found),)}.get(plan.how, names)
    return Worked(
        sentence=say(language, key, n=len(found), where=where),
        table=rule_table(found) if found else None,
        proofs=proofs,
        values=given,
        note=note,
    )


def _against(found: list[Rule], plan: Rules, language: str, proofs: tuple[Proof, ...], note: str) -> Worked:
    """How many more rules the first market has than the second, or whether it has more."""
    one, other = plan.where.markets[:2]
    here, there = (sum(rule.market == market for rule in found) for market in (one, other))
    told = {"here": market_name(one, language), "there": market_name(other, language), "n": here, "m": there}
    where = where_in_words(replace(plan.where, markets=()), language)
    if plan.how == "difference":
        sentence = say(language, "difference", d=abs(here - there), where=where, **told)
        given: tuple[Any, ...] = (here - there,)
    else:
        answer = say(language, "yes" if here > there else "no")
        sentence = f"{answer} {say(language, 'against', where=where, **told)}"
        given = (here > there,)
    table = Table(columns=("market", "rules"), rows=((one, str(here)), (other, str(there))))
    return Worked(sentence=sentence, table=table, proofs=proofs, values=given, note=note)


def _groups_answer(
    catalogue: Catalogue, found: list[Rule], plan: Rules, language: str, proofs: tuple[Proof, ...], note: str
) -> Worked:
    """Rules by an attribute, its values alone, how many there are, or those with the most, the fewest, or so many."""
    by, where = plan.by or "market", where_in_words(plan.where, language)
    counts = Counter(value for rule in found for value in values(rule, by))
    if plan.how == "lacking":
        counts = Counter({name: 0 for name in _every(catalogue, by) if name not in counts})
    least, most = plan.at_least or 0, plan.at_most
    counts = Counter({one: n for one, n in counts.items() if n >= least and (most is None or n <= most)})
    ordered = counts.most_common() if plan.how != "bottom" else sorted(counts.items(), key=lambda one: one[1])
    if by == "market" and plan.how in ("top", "bottom") and COMMON not in plan.where.markets:
        ordered = [one for one in ordered if one[0] != COMMON] or ordered  # the common rules are no market
    table = Table(columns=(by, "rules"), rows=tuple((name, str(number)) for name, number in ordered))
    given: tuple[Any, ...] = tuple(ordered)
    sentence = say(language, "by", n=len(found), by=by, where=where)
    if plan.how in ("groups", "count_groups", "lacking"):
        key = "lacking" if plan.how == "lacking" else "groups"
        listed = f" ({', '.join(counts)})" if 0 < len(counts) <= FEW else ""
        sentence = say(language, key, n=len(counts), by=f"{by}{listed}", where=where)
        given = (len(counts),) if plan.how == "count_groups" else tuple(counts)
    elif plan.how in ("top", "bottom") and ordered:
        best = [name for name, number in ordered if number == ordered[0][1]]
        named = [market_name(name, language) for name in best] if by == "market" else best
        ordered = ranked(ordered, plan.ranks)
        table = Table(columns=(by, "rules"), rows=tuple((name, str(number)) for name, number in ordered))
        sentence = say(
            language, "top", name=", ".join(named), n=ordered[0][1], thing=say(language, "what_rule"), where=where
        )
        if plan.ranks:
            sentence = say(language, "ranks", names=", ".join(f"{name} ({n})" for name, n in ordered), where=where)
        given = (*best, ordered[0][1])
    return Worked(sentence=sentence, table=table if ordered else None, proofs=proofs, values=given, note=note)


def _every(catalogue: Catalogue, by: Attribute) -> list[str]:
    """Everything that rules of the catalogue have of an attribute; the common rules are no market."""
    known = KINDS if by == "kind" else [value for rule in catalogue.rules for value in values(rule, by)]
    return [one for one in dict.fromkeys(known) if one != COMMON or by != "market"]


def _note(catalogue: Catalogue, where: RuleFilter, found: Sequence[Rule], language: str) -> str:
    markets = [market for market in where.markets if market != COMMON]
    judging = sum(rule.judges for rule in found)
    told = say(language, "judging", n=judging, m=len(found) - judging) if 0 < judging < len(found) else ""
    if not found and len(where.kinds) == len(KINDS):
        widest = max(catalogue.rules, key=lambda rule: len(rule.applies_to))
        return say(language, "widest", code=widest.error_code or widest.code, n=len(widest.applies_to), of=len(KINDS))
    if not markets:
        return told
    if where.shared:
        common = sum(rule.market == COMMON for rule in found)
        return f"{say(language, 'with_shared', own=len(found) - common, n=common)} {told}".strip()
    common = sum(judges(rule, markets) for rule in matching(catalogue, replace(where, markets=(COMMON,))))
    return f"{say(language, 'shared', n=common) if common else ''} {told}".strip()


def rule_table(rules: Sequence[Rule]) -> Table:
    """Rules as rows, each with its file and line."""
    rows = [
        (
            rule.error_code or rule.code, rule.code, rule.market, rule.severity if rule.judges else "",
            rule.error_class if rule.judges else "", rule.title, f"rules/{rule.file}:{rule.line}",
        )
        for rule in rules[:MOST_ROWS]
    ]  # fmt: skip
    return Table(columns=("code", "rule", "market", "severity", "class", "title", "file"), rows=tuple(rows))


def value_of(rule: Rule, field: Field, language: str = "en") -> str:
    """One field of a rule as people read it; empty where it has none."""
    if not rule.judges and field in ("severity", "class", "comment", "field"):
        return ""
    spoken = "fr" if language == "fr" else "en"
    plain_fields = {
        "rule": "code",
        "class": "error_class", "set": "rule_set", "title": "title", "sentence": "sentence", "severity": "severity",
        "ebix": "ebix", "market_code": "market_code", "source": "source", "field": "field", "error_code": "error_code",
    }  # fmt: skip
    if field in plain_fields:
        return str(getattr(rule, plain_fields[field]) or "")
    if field == "comment":
        return " / ".join(rule.comment[one].text for one in sorted(rule.comment, key=lambda one: one != spoken))
    made = {
        "condition": lambda: _condition(rule),
        "kinds": lambda: ", ".join(rule.applies_to),
        "markets": lambda: ", ".join(rule.markets) or "all",
        "repair": lambda: ", ".join(rule.repair),
        "validity": lambda: _validity(rule),
        "file": lambda: f"rules/{rule.file}:{rule.line}",
        "reads": lambda: ", ".join(rule.reads),
        "asks": lambda: "" if rule.judges else _asks(rule),
    }
    return made[field]()


# What words conditions and documents takes long to import, and few questions ask for it.


def _condition(rule: Rule) -> str:
    from energycomm.engine.wording import condition_in_words

    return condition_in_words(rule)


def _validity(rule: Rule) -> str:
    from energycomm.engine.document import validity

    return validity(rule)


def _asks(rule: Rule) -> str:
    from energycomm.engine.document import asked

    return asked(rule)


def unknown_code(catalogue: Catalogue, code: str, language: str) -> Worked:
    """That no rule has a code, with codes like it."""
    close = catalogue.like(code)
    like = say(language, "like", names=", ".join(close)) if close else ""
    return Worked(
        sentence=say(language, "no_code", code=code, like=like),
        proofs=(Proof(text=f"rules: version {catalogue.version}", link="/rules", command="energycomm rules list"),),
    )


def field_answer(catalogue: Catalogue, plan: RuleField, language: str) -> Worked:
    """A field of a rule, all of a rule, or whether it judges or holds."""
    found = catalogue.find(plan.code)
    if not found:
        return unknown_code(catalogue, plan.code, language)
    proofs = tuple(rule_proof(rule) for rule in found[:MOST_PROOFS])
    rule = found[0]
    if plan.applies is not None:
        return _applies_answer(catalogue, found, plan.applies, proofs, language)
    if plan.on is not None:
        holds = any(one.in_force(plan.on) for one in found)
        key = "in_force" if holds else "in_force_not"
        text = say(language, key, code=rule.error_code or rule.code, on=plan.on, validity=_validity(rule))
        return Worked(sentence=text, proofs=proofs, values=(holds,))
    if plan.equals is not None and plan.fields:
        return _equal_answer(rule, plan.fields[0], plan.equals, proofs, language)
    if len(found) > 1:
        return _several_answer(found, plan, proofs, language)
    return _fields_answer(rule, plan.fields, proofs, language)


def _applies_answer(
    catalogue: Catalogue, found: Sequence[Rule], what: str, proofs: tuple[Proof, ...], language: str
) -> Worked:
    """Whether rules judge a kind, a market or a message type."""
    judging = any(_applies(catalogue, one, what) for one in found)
    kinds = ", ".join(dict.fromkeys(kind for one in found for kind in one.applies_to))
    rule = found[0]
    text = say(
        language, "applies" if judging else "applies_not", code=rule.error_code or rule.code, what=what,
        kinds=f"{kinds} ({rule.market})",
    )  # fmt: skip
    return Worked(sentence=f"{text} {value_of(rule, 'condition')}", proofs=proofs, values=(judging,))


def _several_answer(found: Sequence[Rule], plan: RuleField, proofs: tuple[Proof, ...], language: str) -> Worked:
    """The fields of several rules that have one code."""
    fields = plan.fields or ("title",)
    rows = tuple(
        (one.error_code or one.code, *(value_of(one, field, language) for field in fields), value_of(one, "file"))
        for one in found
    )
    return Worked(
        sentence=say(language, "several", n=len(found), code=plan.code),
        table=Table(columns=("code", *fields, "file"), rows=rows),
        proofs=proofs,
        values=tuple(row[1] for row in rows) if plan.fields else tuple(row[0] for row in rows),
    )


def _fields_answer(rule: Rule, fields: Sequence[Field], proofs: tuple[Proof, ...], language: str) -> Worked:
    """Fields of one rule; without any, all of it."""
    name = rule.error_code or rule.code
    if not fields:
        rows = tuple((field, value) for field in FIELDS if (value := value_of(rule, field, language)))
        return Worked(
            sentence=say(language, "rule", code=name, title=rule.title, sentence=rule.sentence),
            table=Table(columns=("field", "value"), rows=rows),
            proofs=proofs,
            values=(rule.sentence,),
        )
    none = say(language, "none")
    told = [(field, value_of(rule, field, language) or none) for field in fields]
    sentence = " ".join(say(language, "field", code=name, field=f, value=v.rstrip(".")) for f, v in told)
    return Worked(sentence=sentence, proofs=proofs, values=tuple(value for _, value in told))


def _equal_answer(rule: Rule, field: Field, wanted: str, proofs: tuple[Proof, ...], language: str) -> Worked:
    """Whether a field of a rule is what was asked, or is there at all."""
    value = value_of(rule, field, language)
    parts = {value.casefold(), *value.casefold().split(", "), value.casefold().rpartition(".")[2]}
    holds = wanted.casefold() in parts if wanted else bool(value)
    told = say(language, "field", code=rule.error_code or rule.code, field=field, value=value or say(language, "none"))
    return Worked(sentence=f"{say(language, 'yes' if holds else 'no')} {told}", proofs=proofs, values=(holds,))


def _applies(catalogue: Catalogue, rule: Rule, what: str) -> bool:
    if what in KINDS:
        return what in rule.applies_to
    if what.upper() == rule.market or (len(what) == 2 and rule.market == COMMON):
        return rule.judges_market(what.upper())
    if len(what) == 2:
        return False
    # A message type: a rule whose condition names types judges only those.
    named = re.findall(r"market_type\s*(==|!=|in)\s*(\([^)]*\)|'[^']*')", rule.when or "")
    for sign, text in named:
        there = what.upper() in [one.upper() for one in re.findall(r"'([^']*)'", text)]
        if (sign == "!=") == there:
            return False
    of = {entry.market for entry in catalogue.codes.entries
          if entry.list in ("flow", "message") and entry.code.upper() == what.upper()}  # fmt: skip
    return bool(named) or names_flow(rule, what) or (what.upper() != "OPENINGBALANCE" and rule.market in of)


def compare_answer(catalogue: Catalogue, plan: CompareRules, language: str) -> Worked:
    """Two rules side by side."""
    sides = []
    for code in (plan.one, plan.other):
        found = catalogue.find(code)
        if not found:
            return unknown_code(catalogue, code, language)
        sides.append(found[0])
    one, other = sides
    rows = []
    for field in FIELDS:
        values = (value_of(one, field, language), value_of(other, field, language))
        if any(values):
            rows.append((field, *values, "" if values[0] == values[1] else "≠"))
    differing = [row[0] for row in rows if row[3]]
    names = [rule.error_code or rule.code for rule in sides]
    if plan.same is not None:
        return _same_answer(sides, plan.same, language)
    if plan.unlike is not None:
        return _same_answer(sides, plan.unlike, language, denied=True)
    if plan.severer and one.judges and other.judges:
        return _severer_answer(sides, language)
    key = "compared" if differing else "compared_same"
    told = f"{names[0]}: {one.sentence} ({one.severity}) {names[1]}: {other.sentence} ({other.severity})"
    return Worked(
        sentence=say(language, key, one=names[0], other=names[1], fields=", ".join(differing)) + f" {told}",
        table=Table(columns=("field", *names, ""), rows=tuple(rows)),
        proofs=(rule_proof(one), rule_proof(other)),
        values=tuple(differing),
    )


def _same_answer(sides: Sequence[Rule], field: Field, language: str, *, denied: bool = False) -> Worked:
    """Whether two rules have a field in common; denied, whether they have not."""
    values_ = [value_of(rule, field, language) for rule in sides]
    one, other = (value.rpartition(":")[0] if field == "file" else value for value in values_)  # not their lines
    parted = [set(filter(None, value.split(", "))) for value in (one, other)]
    # Of scripts one that both have is enough; what neither has, they do not have in common.
    same = bool(parted[0] & parted[1]) if field == "repair" else one == other != ""
    told = " ".join(
        say(language, "field", code=rule.error_code or rule.code, field=field, value=value or say(language, "none"))
        for rule, value in zip(sides, values_, strict=True)
    )
    return Worked(
        sentence=f"{say(language, 'no' if same is denied else 'yes')} {told}",
        proofs=tuple(rule_proof(rule) for rule in sides),
        values=(same,),
    )


def _severer_answer(sides: Sequence[Rule], language: str) -> Worked:
    """Which of two rules rejects where the other only warns."""
    first, second = sorted(sides, key=lambda rule: rule.severity != "error")
    key = "severe_alike" if first.severity == second.severity else "severer"
    sentence = say(
        language, key, one=first.error_code, other=second.error_code, here=first.severity, there=second.severity
    )
    given = () if key == "severe_alike" else (first.error_code,)
    return Worked(sentence=sentence, proofs=tuple(rule_proof(rule) for rule in sides), values=given)


def changes_answer(
    catalogue: Catalogue, plan: RuleChanges, language: str, stored: tuple[Catalogue, Catalogue] | None = None
) -> Worked:
    """What changed: by validity between two days, or between two versions that the store keeps."""
    if stored is not None:
        from energycomm.correction.difference import differences

        rows = [(how, what, told) for how, what, told in differences(*stored)]
        when = f"{plan.old} → {plan.new or 'today'}"
        return Worked(
            sentence=say(language, "changes", n=len(rows), when=when),
            table=Table(columns=("change", "what", "how"), rows=tuple(rows[:MOST_ROWS])),
            proofs=(
                Proof(
                    text=f"rules_version {plan.old}, {plan.new or catalogue.version}",
                    command=f"energycomm rules diff {plan.old} {plan.new or 'rules/'}",
                ),
            ),
            values=(len(rows),),
        )
    since, until = plan.since or date.min, plan.until or date.max
    found: list[tuple[date, str, str, str, str, str]] = []
    for rule in catalogue.rules:
        if plan.markets and rule.market not in plan.markets:
            continue
        place = f"rules/{rule.file}:{rule.line}"
        told = (rule.error_code, rule.code, rule.title)
        found += [(day, how, *told, place) for day, how in _turns(rule.since, rule.until)]
    for entry in catalogue.codes.entries:
        if not plan.markets or entry.market in plan.markets:
            told = (entry.code, entry.list, entry.labels.get("en", ""))
            found += [(day, how, *told, code_place(entry)) for day, how in _turns(entry.since, entry.until)]
    rows_ = sorted(one for one in found if since <= one[0] < until)
    when = say(language, "between", since=plan.since or "…", until=plan.until or "…")
    return Worked(
        sentence=say(language, "changes", n=len(rows_), when=when),
        table=Table(
            columns=("day", "change", "code", "rule or list", "what", "file"),
            rows=tuple((str(d), *rest) for d, *rest in rows_),
        ),
        proofs=(
            Proof(text=f"since and until of rules and codes, {when}; version {catalogue.version}", link="/rules"),
            *(Proof(text=row[5]) for row in rows_[: MOST_PROOFS - 1]),
        ),
        values=(len(rows_),),
    )


def _turns(since: date | None, until: date | None) -> list[tuple[date, str]]:
    turns = [(since, "begins")] if since else []
    return turns + ([(until + timedelta(days=1), "no longer holds")] if until and until < date.max else [])


def code_place(entry: CodeEntry) -> str:
    """File and line of a code."""
    return f"rules/{entry.market.lower()}/codes.csv:{entry.line}"
