"""Operations on the catalogue: rules listed, counted, shown, compared; what holds and what changed; code lists."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from assistant.operations.family import (
    FIELDS,
    CodeLists,
    CompareRules,
    Field,
    OnlyThere,
    RuleChanges,
    RuleField,
    RuleFilter,
    RuleGroup,
    Rules,
)
from assistant.operations.wording import market_name, say
from assistant.operations.worked import MOST_ROWS, Proof, Table, Worked
from energycomm.correction.difference import differences
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.codes import COMMON, CodeEntry
from energycomm.engine.document import asked, validity
from energycomm.engine.rule import Rule
from energycomm.engine.wording import condition_in_words
from energycomm.kernel.family import KINDS
from energycomm.pipeline.listsearch import RuleSearch

MOST_PROOFS = 12
"""Files and lines below an answer; the rows of a table name theirs each."""


def matching(catalogue: Catalogue, where: RuleFilter) -> list[Rule]:
    """The rules that a filter finds, in the order of the catalogue."""
    return [rule for rule in catalogue.rules if _matches(rule, where)]


def _matches(rule: Rule, where: RuleFilter) -> bool:
    checks = (
        not where.markets or rule.market in where.markets or (where.shared and _judges(rule, where.markets)),
        not where.kinds or (all if where.every else any)(kind in rule.applies_to for kind in where.kinds),
        where.file is None or rule.file.endswith(where.file),
        where.flow is None or _names_flow(rule, where.flow),
        where.set is None or rule.rule_set == where.set,
        where.direction is None or rule.rule_set.endswith(f"_{where.direction}"),
        where.stage is None or rule.rule_set.startswith(where.stage),
        where.severity is None or (rule.judges and rule.severity == where.severity),
        where.error_class is None or (rule.judges and rule.error_class == where.error_class),
        where.other_class is None or (rule.judges and rule.error_class != where.other_class),
        not where.having or (rule.judges and all(getattr(rule, name) for name in where.having)),
        not where.alone or set(rule.applies_to) == set(where.kinds),
        where.ebix is None or (rule.ebix or "").upper() == where.ebix.upper(),
        where.missing is None or (rule.judges and not getattr(rule, where.missing)),
        where.repair is None or (where.repair in rule.repair if where.repair else bool(rule.repair)),
        where.on is None or rule.in_force(where.on),
        where.off is None or not rule.in_force(where.off),
        where.since is None or (rule.since is not None and rule.since >= where.since),
        where.until is None or (rule.since is not None and rule.since < where.until),
        not where.changes or rule.since is not None or rule.until is not None,
        where.code is None or rule.error_code.upper().startswith(where.code.upper()),
        where.source is None or contains(rule.source, where.source.split()),
        not where.words or contains(_told(rule), where.words),
        where.field is None or where.field in (rule.field, rule.field.rpartition(".")[2]),
    )
    return all(checks)


def _judges(rule: Rule, markets: Iterable[str]) -> bool:
    return rule.market == COMMON and any(rule.judges_market(market) for market in markets)


def _names_flow(rule: Rule, flow: str) -> bool:
    text = " ".join(text for text in (rule.when, rule.holds, rule.violated_when, rule.source) if text)
    return re.search(rf"(?<![\w]){re.escape(flow)}(?![\w])", text, re.IGNORECASE) is not None


def _told(rule: Rule) -> str:
    return " ".join((rule.code, rule.title, rule.sentence, *(one.text for one in rule.comment.values())))


def plain(text: str) -> str:
    """A text without accents, in small letters."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def contains(text: str, words: Iterable[str]) -> bool:
    """Whether a text has every word, as the beginning of one of its own; a plural finds the singular."""
    there = plain(text)
    return all(re.search(rf"(?<!\w){re.escape(_stem(plain(word)))}", there) for word in words)


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def where_in_words(where: RuleFilter, language: str) -> str:
    """A filter of rules as people read it: the names of its fields and their values."""
    parts = []
    if where.markets:
        names = ", ".join(market_name(market, language) for market in where.markets)
        parts.append(f"market {names}" + (" + common" if where.shared else ""))
    pairs: list[tuple[str, Any]] = [
        ("kind", (" and " if where.every else ", ").join(where.kinds)),
        ("file", where.file),
        ("names the flow", where.flow),
        ("set", where.set),
        ("set ends with", where.direction and f"_{where.direction}"),
        ("set begins with", where.stage),
        ("severity", where.severity),
        ("error_class", where.error_class),
        ("error_class is not", where.other_class),
        ("with", " and ".join(where.having)),
        ("judges no other kind", "yes" if where.alone else None),
        ("ebix", where.ebix),
        ("without", where.missing),
        ("repair", None if where.repair is None else where.repair or "any"),
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
    market = one if one != COMMON else None
    chosen: dict[str, str] = {}
    if one:
        chosen["market"] = one
    if where.set:
        chosen["rule_set"] = where.set
    if where.words:
        chosen["q"] = " ".join(where.words)
    search = RuleSearch.model_construct(
        market=market, kind=where.kinds[0] if len(where.kinds) == 1 else None, rule_set=where.set, on=where.on
    )
    options = {"rule_set": "set"}
    command = ["energycomm rules list"]
    for name, value in search.model_dump(exclude_none=True).items():
        command.append(f"--{options.get(name, name)} {str(value).lower() if name == 'market' else value}")
    return Proof(
        text=f"rules: {where_in_words(where, language)}",
        link="/rules?" + urlencode({"rule_set": "", **chosen}),
        command=" ".join(command),
    )


def rule_proof(rule: Rule) -> Proof:
    """File and line of a rule, its page and its command."""
    name = rule.error_code or rule.code
    return Proof(
        text=f"rules/{rule.file}:{rule.line}", link=f"/rules/{quote(name)}", command=f"energycomm rules show {name}"
    )


def rules_answer(catalogue: Catalogue, plan: Rules, language: str) -> Worked:
    """Rules listed, counted or by a group."""
    found = matching(catalogue, plan.where)
    where = where_in_words(plan.where, language)
    proofs = (rule_list_proof(plan.where, language), *(rule_proof(rule) for rule in found[: MOST_PROOFS - 1]))
    note = _note(catalogue, plan.where, found, language)
    if plan.by is not None:
        return _groups_answer(found, plan, language, proofs, note)
    if plan.how == "codes":
        codes = tuple(dict.fromkeys(rule.error_code for rule in found if rule.error_code))
        return Worked(
            sentence=say(language, "codes", n=len(codes), where=where),
            table=rule_table([rule for rule in found if rule.error_code]),
            proofs=proofs,
            values=(len(codes),),
            note=note,
        )
    key = {"exists": "yes_rules" if found else "no_rules"}.get(plan.how, "rules")
    names = tuple(dict.fromkeys(rule.error_code or rule.code for rule in found))
    values: tuple[Any, ...] = {"count": (len(found),), "exists": (bool(found),)}.get(plan.how, names)
    return Worked(
        sentence=say(language, key, n=len(found), where=where),
        table=rule_table(found) if found else None,
        proofs=proofs,
        values=values,
        note=note,
    )


def _groups_answer(found: list[Rule], plan: Rules, language: str, proofs: tuple[Proof, ...], note: str) -> Worked:
    """Rules by a group, the groups alone, how many there are, or those with the most or fewest rules."""
    by, where = plan.by or "market", where_in_words(plan.where, language)
    counts = Counter(value for rule in found for value in _grouped(rule, by))
    if plan.how in ("groups", "count_groups"):
        counts.pop("-", None)
    ordered = counts.most_common() if plan.how != "bottom" else sorted(counts.items(), key=lambda one: one[1])
    table = Table(columns=(by, "rules"), rows=tuple((name, str(number)) for name, number in ordered))
    values: tuple[Any, ...] = tuple(ordered)
    sentence = say(language, "by", n=len(found), by=by, where=where)
    if plan.how in ("groups", "count_groups"):
        sentence = say(language, "groups", n=len(counts), by=by, where=where)
        values = (len(counts),) if plan.how == "count_groups" else tuple(counts)
    elif plan.how in ("top", "bottom") and ordered:
        best = [name for name, number in ordered if number == ordered[0][1]]
        named = [market_name(name, language) for name in best] if by == "market" else best
        sentence = say(
            language, "top", name=", ".join(named), n=ordered[0][1], thing=say(language, "what_rule"), where=where
        )
        values = (*best, ordered[0][1])
    return Worked(sentence=sentence, table=table if ordered else None, proofs=proofs, values=values, note=note)


def _note(catalogue: Catalogue, where: RuleFilter, found: Sequence[Rule], language: str) -> str:
    from msgspec.structs import replace

    markets = [market for market in where.markets if market != COMMON]
    if not markets:
        return ""
    if where.shared:
        common = sum(rule.market == COMMON for rule in found)
        return say(language, "with_shared", own=len(found) - common, n=common)
    common = sum(_judges(rule, markets) for rule in matching(catalogue, replace(where, markets=(COMMON,))))
    return say(language, "shared", n=common) if common else ""


def _grouped(rule: Rule, by: RuleGroup) -> tuple[str, ...]:
    if by == "kind":
        return rule.applies_to
    if by == "repair":
        return rule.repair
    if by == "file":
        return (f"rules/{rule.file}",)
    if by in ("severity", "class") and not rule.judges:
        return ()
    names = {"class": "error_class", "set": "rule_set"}
    return (str(getattr(rule, names.get(by, by)) or "-"),)


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
        "class": "error_class", "set": "rule_set", "title": "title", "sentence": "sentence", "severity": "severity",
        "ebix": "ebix", "market_code": "market_code", "source": "source", "field": "field", "error_code": "error_code",
    }  # fmt: skip
    if field in plain_fields:
        return str(getattr(rule, plain_fields[field]) or "")
    if field == "comment":
        return " / ".join(rule.comment[one].text for one in sorted(rule.comment, key=lambda one: one != spoken))
    made = {
        "condition": lambda: condition_in_words(rule),
        "kinds": lambda: ", ".join(rule.applies_to),
        "markets": lambda: ", ".join(rule.markets) or "all",
        "repair": lambda: ", ".join(rule.repair),
        "validity": lambda: validity(rule),
        "file": lambda: f"rules/{rule.file}:{rule.line}",
        "reads": lambda: ", ".join(rule.reads),
        "asks": lambda: "" if rule.judges else asked(rule),
    }
    return made[field]()


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
    name = rule.error_code or rule.code
    if plan.applies is not None:
        judges = [one for one in found if _applies(catalogue, one, plan.applies)]
        key = "applies" if judges else "applies_not"
        kinds = ", ".join(dict.fromkeys(kind for one in found for kind in one.applies_to))
        text = say(language, key, code=name, what=plan.applies, kinds=f"{kinds} ({rule.market})")
        condition = value_of(rule, "condition")
        return Worked(sentence=f"{text} {condition}", proofs=proofs, values=(bool(judges),))
    if plan.on is not None:
        holds = any(one.in_force(plan.on) for one in found)
        text = say(language, "in_force" if holds else "in_force_not", code=name, on=plan.on, validity=validity(rule))
        return Worked(sentence=text, proofs=proofs, values=(holds,))
    if plan.equals is not None and plan.fields:
        return _equal_answer(rule, plan.fields[0], plan.equals, proofs, language)
    if len(found) > 1:
        rows = tuple(
            (one.error_code or one.code, *(value_of(one, field, language) for field in plan.fields or ("title",)),
             value_of(one, "file"))
            for one in found
        )  # fmt: skip
        return Worked(
            sentence=say(language, "several", n=len(found), code=plan.code),
            table=Table(columns=("code", *(plan.fields or ("title",)), "file"), rows=rows),
            proofs=proofs,
            values=tuple(row[1] for row in rows) if plan.fields else tuple(row[0] for row in rows),
        )
    if not plan.fields:
        rows = tuple((field, value) for field in FIELDS if (value := value_of(rule, field, language)))
        return Worked(
            sentence=say(language, "rule", code=name, title=rule.title, sentence=rule.sentence),
            table=Table(columns=("field", "value"), rows=rows),
            proofs=proofs,
            values=(rule.sentence,),
        )
    none = say(language, "none")
    told = [(field, value_of(rule, field, language) or none) for field in plan.fields]
    sentence = " ".join(say(language, "field", code=name, field=f, value=v.rstrip(".")) for f, v in told)
    return Worked(sentence=sentence, proofs=proofs, values=tuple(value for _, value in told))


def _equal_answer(rule: Rule, field: Field, wanted: str, proofs: tuple[Proof, ...], language: str) -> Worked:
    """Whether a field of a rule is what was asked, or is there at all."""
    value = value_of(rule, field, language)
    holds = value == wanted if wanted else bool(value)
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
    return bool(named) or _names_flow(rule, what) or (what.upper() != "OPENINGBALANCE" and rule.market in of)


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
    key = "compared" if differing else "compared_same"
    told = f"{names[0]}: {one.sentence} ({one.severity}) {names[1]}: {other.sentence} ({other.severity})"
    return Worked(
        sentence=say(language, key, one=names[0], other=names[1], fields=", ".join(differing)) + f" {told}",
        table=Table(columns=("field", *names, ""), rows=tuple(rows)),
        proofs=(rule_proof(one), rule_proof(other)),
        values=tuple(differing),
    )


def changes_answer(
    catalogue: Catalogue, plan: RuleChanges, language: str, stored: tuple[Catalogue, Catalogue] | None = None
) -> Worked:
    """What changed: by validity between two days, or between two versions that the store keeps."""
    if stored is not None:
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


def _had(catalogue: Catalogue, plan: OnlyThere, market: str) -> dict[str, str]:
    """What a market has of what is compared -> the file and line where it has it first."""
    found: dict[str, str] = {}
    if plan.what in ("ebix", "kind", "repair"):
        for rule in _judging(catalogue, plan, market):
            for name in {"ebix": (rule.ebix,), "kind": rule.applies_to, "repair": rule.repair}[plan.what]:
                found.setdefault(name or "", f"rules/{rule.file}:{rule.line}")
    else:
        for entry in catalogue.codes.entries:
            if entry.market == market and plan.list in (None, entry.list):
                found.setdefault(entry.list if plan.what == "list" else entry.code, code_place(entry))
    found.pop("", None)
    return found


def _judging(catalogue: Catalogue, plan: OnlyThere, market: str) -> list[Rule]:
    wanted = (rule for rule in catalogue.rules if rule.market == market and rule.judges)
    return [rule for rule in wanted if plan.kind is None or plan.kind in rule.applies_to]


def only_answer(catalogue: Catalogue, plan: OnlyThere, language: str) -> Worked:
    """What one market has and another has not, or what they have in common."""
    here, there = (_judging(catalogue, plan, market) for market in (plan.here, plan.there))
    both = plan.how == "both"
    names = (market_name(plan.here, language), market_name(plan.there, language))
    note = ""
    if plan.what == "rule":
        left = [rule for rule in here if rule.ebix and any(_alike(rule, other) for other in there) == both]
        note = say(language, "counterpart", n=sum(not rule.ebix for rule in here))
        table = rule_table(left)
        values: tuple[str, ...] = tuple(rule.error_code for rule in left)
        proofs = tuple(rule_proof(rule) for rule in left[: MOST_PROOFS - 1])
    else:
        others = [_had(catalogue, plan, market) for market in (plan.there, *plan.others)]
        rows = [
            (name, place)
            for name, place in sorted(_had(catalogue, plan, plan.here).items())
            if (all(name in other for other in others) if both else not any(name in other for other in others))
        ]
        table = Table(columns=("name", "file"), rows=tuple(rows[:MOST_ROWS]))
        values = tuple(row[0] for row in rows)
        proofs = tuple(Proof(text=row[1]) for row in rows[: MOST_PROOFS - 1])
    what = say(language, f"what_{plan.what}")
    if both:
        names = (names[0], ", ".join(market_name(market, language) for market in (plan.there, *plan.others)))
    query = f"{plan.what} of {plan.here} and {'' if both else 'not '}of {' and '.join((plan.there, *plan.others))}"
    return Worked(
        sentence=say(language, plan.how, n=len(values), what=what, here=names[0], there=names[1]),
        table=table if values else None,
        proofs=(Proof(text=query, link="/rules?" + urlencode({"market": plan.here, "rule_set": ""})), *proofs),
        values=values,
        note=note,
    )


def _alike(rule: Rule, other: Rule) -> bool:
    return rule.ebix == other.ebix and bool(set(rule.applies_to) & set(other.applies_to))


def codes_answer(catalogue: Catalogue, plan: CodeLists, language: str) -> Worked:
    """Code lists, their codes and what they mean."""
    entries = [
        entry for entry in catalogue.codes.entries
        if (not plan.markets or entry.market in plan.markets)
        and (plan.list is None or entry.list == plan.list)
        and (plan.code is None or entry.code.upper() == plan.code.upper())
        and (plan.on is None or entry.valid_on(plan.on))
    ]  # fmt: skip
    of = say(language, "of", market=", ".join(market_name(m, language) for m in plan.markets)) if plan.markets else ""
    asked_ = "; ".join(
        f"{name} {value}"
        for name, value in (
            ("list", plan.list),
            ("code", plan.code),
            ("markets", " ".join(plan.markets)),
            ("on", plan.on),
        )
        if value
    )
    proofs = (
        Proof(text=f"codes.csv: {asked_ or 'all'}"),
        *(Proof(text=code_place(entry)) for entry in entries[: MOST_PROOFS - 1]),
    )
    if plan.how in ("lists", "count_lists", "where"):
        counts = Counter((entry.list, entry.market) for entry in entries)
        rows = tuple((name, market, str(number)) for (name, market), number in sorted(counts.items()))
        names = tuple(dict.fromkeys(row[0] for row in rows))
        return Worked(
            sentence=say(language, "lists", n=len(names), of=of),
            table=Table(columns=("list", "market", "codes"), rows=rows),
            proofs=proofs,
            values=(len(names),) if plan.how == "count_lists" else names,
        )
    if plan.how == "exists":
        text = say(language, "in_list" if entries else "not_in_list", code=plan.code, list=plan.list, of=of)
        label = f" {_label(entries[0], language)}." if entries else ""
        return Worked(sentence=text + label, proofs=proofs, values=(bool(entries),))
    if plan.how == "meaning" and not entries:
        text = say(language, "not_in_list", code=plan.code, list=plan.list or "-", of=of)
        return Worked(sentence=text, proofs=proofs)
    if plan.how == "meaning" and len(entries) == 1:
        (entry,) = entries
        return Worked(
            sentence=say(
                language,
                "meaning",
                code=entry.code,
                label=_label(entry, language),
                list=entry.list,
                market=entry.market,
            ),
            proofs=proofs,
            values=(_label(entry, language),),
        )
    rows_ = tuple(
        (entry.code, _label(entry, language), entry.list, entry.market, _days(entry), code_place(entry))
        for entry in entries[:MOST_ROWS]
    )
    table = Table(columns=("code", "meaning", "list", "market", "valid", "file"), rows=rows_) if rows_ else None
    if plan.how == "meaning":
        text = say(language, "meanings", code=plan.code, n=len(entries))
        return Worked(sentence=text, table=table, proofs=proofs, values=tuple(row[1] for row in rows_))
    number = len({(entry.market, entry.list, entry.code) for entry in entries})
    values: tuple[Any, ...] = (number,) if plan.how == "count" else tuple(dict.fromkeys(row[0] for row in rows_))
    return Worked(
        sentence=say(language, "list", list=plan.list or "", of=of, n=number), table=table, proofs=proofs, values=values
    )


def _label(entry: CodeEntry, language: str) -> str:
    return entry.labels.get(language) or entry.labels.get("en", "")


def _days(entry: CodeEntry) -> str:
    return f"{entry.since or ''}..{entry.until or ''}" if entry.since or entry.until else ""
