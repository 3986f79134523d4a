"""Reading rule files: YAML entries into rules, with every mistake reported by file and line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from energycomm.engine.codes import COMMON, CodeLists
from energycomm.engine.examples import ExampleError, example_history, example_message
from energycomm.engine.expressions import ExpressionError, Scope, check_syntax, lists_of, parse_condition, parse_value
from energycomm.engine.marketfile import MarketFile
from energycomm.engine.particulars import Declarations
from energycomm.engine.predicates import Predicate
from energycomm.engine.problems import Problem
from energycomm.engine.rule import LANGUAGES, RULE_SETS, Example, Language, Rule, RuleSet, Template
from energycomm.engine.terms import ALWAYS, And, Condition, Not, Value
from energycomm.engine.yamlfile import Cell, YamlError, read_yaml
from energycomm.kernel.family import KINDS, is_incoming
from energycomm.kernel.verdicts import VERBS, ErrorClass, Severity

T = TypeVar("T")

_SHARED_KEYS = frozenset(
    ["code", "title", "sentence", "applies_to", "each", "when", "since", "until", "source", "examples"]
)
VALIDATION_KEYS = _SHARED_KEYS | frozenset(
    [
        "error_code",
        "holds",
        "violated_when",
        "field",
        "comment",
        "severity",
        "error_class",
        "ebix",
        "market_code",
        "repair",
    ]
)
ACTION_KEYS = _SHARED_KEYS | frozenset(["do", "notify", "wait"])
FILE_KEYS = frozenset({"rule_set", "market", "pack", "rules"})

RENAMED = {"dno": "grid_operator"}
"""Word of an older version of rule files -> the word that took its place."""

_CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
_ERROR_CODE = re.compile(r"[A-Z][A-Z0-9]*-[A-Z][0-9]{2}")
_EBIX = re.compile(r"[A-Z][0-9A-Z]{2}")
_PACK = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_PLACE = re.compile(r"\{([^{}]*)\}")
_COUNTED = re.compile(r"[^|]+\|([^|]+)\|([^|]+)")


def counted(place: str) -> tuple[str, str] | None:
    """The words for one and for several in a place of a comment that counts.

    >>> counted("count(lines)|line|lines"), counted("line.code")
    (('line', 'lines'), None)
    """
    found = _COUNTED.fullmatch(place)
    return (found[1], found[2]) if found else None


class RuleFile:
    """Reads one rule file; problems are collected, a broken rule is left out and the others are read.

    Args:
      path: the file.
      shown: its name in problems.
      predicates: declared predicates.
      codes: code lists of every market.
      markets: what each market, upper case, says of itself.
      particulars: what each market declares of its particulars.
      examples: whether the examples of its rules are read.
      expressions: whether their conditions, fields and the places of their comments are.

    Attributes:
      pack: name of the pack that its rules are of; empty where every market has them.
      rules: the rules without problems.
      claimed: every rule, for its codes and days, also where it has problems.
    """

    def __init__(
        self,
        path: Path,
        shown: str,
        predicates: Mapping[str, Predicate],
        codes: CodeLists,
        markets: Mapping[str, MarketFile],
        particulars: Mapping[str, Declarations],
        *,
        examples: bool = True,
        expressions: bool = True,
    ) -> None:
        self.path = path
        self.examples = examples
        self.expressions = expressions
        self.shown = shown
        self.predicates = predicates
        self.codes = codes
        self.markets = markets
        self.pack = ""
        self.particulars = particulars
        self.problems: list[Problem] = []
        self.rules: list[Rule] = []
        self.claimed: list[Rule] = []
        self._rule = ""
        self._set: RuleSet = "validation_in"
        self._market = COMMON

    def report(self, line: int, reason: str, advice: str) -> None:
        """Note a problem of the rule that is being read."""
        self.problems.append(Problem(self.shown, line, self._rule, reason, advice))

    def attempt(self, read: Callable[[], T]) -> T | None:
        """What `read` returns; a mistake is noted and None returned."""
        try:
            return read()
        except YamlError as error:
            self.report(error.line, error.reason, error.advice)
        return None

    def read(self) -> None:
        """Read the whole file into `rules` and `problems`."""
        try:
            text = self.path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            return self.report(1, f"the file is not UTF-8: byte {error.start}", "Save it as UTF-8.")
        entries = self.attempt(lambda: read_yaml(text).entries())
        if entries is None:
            return None
        for name, cell in entries.items():
            if name not in FILE_KEYS:
                self.report(
                    cell.line,
                    f"unknown key {name!r}",
                    "A rule file has rule_set, market, pack and rules.",
                )
        missing = [name for name in ("rule_set", "market", "rules") if name not in entries]
        if missing:
            return self.report(
                1, f"{', '.join(missing)} is missing", "Begin the file with rule_set:, market: and rules:."
            )
        named = self.attempt(lambda: entries["rule_set"].text()) or ""
        known = {str(one): one for one in RULE_SETS}
        if named not in known:
            self.report(entries["rule_set"].line, f"unknown rule set {named!r}", f"Use one of {', '.join(RULE_SETS)}.")
            close = difflib.get_close_matches(named, RULE_SETS, n=1)
            if not close:  # it would not be known what its rules must have
                return None
            named = close[0]
        market = self.attempt(lambda: entries["market"].text()) or ""
        folder = self.path.parent.name
        self._set, self._market = known[named], market if market == COMMON else market.upper()
        if self._market.lower() != folder.lower():
            advice = f"Write market: {folder if folder == COMMON else folder.upper()}, or move the file."
            self.report(entries["market"].line, f"market {market!r} is in the folder {folder}", advice)
        if "pack" in entries:
            self.pack = self.attempt(entries["pack"].text) or ""
            line = entries["pack"].line
            if self._market != COMMON:
                self.report(line, "a pack is not in common", "Remove `pack:`: a market has its own rules anyway.")
            elif not _PACK.fullmatch(self.pack):
                self.report(line, f"pack {self.pack!r} is not kebab case", "Write it like interval-series.")
        for cell in self.attempt(lambda: entries["rules"].items()) or ():
            self._rule = ""
            rule = self.attempt(lambda cell=cell: _RuleReader(self, cell).rule())  # type: ignore[misc]
            if rule is not None and (rule.markets or not self.pack):  # a pack that nobody chose judges nobody
                self.rules.append(rule)
        return None


class _RuleReader:
    """Reads one rule of a file."""

    def __init__(self, file: RuleFile, cell: Cell) -> None:
        self.file = file
        self.cell = cell
        self.entries = cell.entries()
        if "code" in self.entries:
            file._rule = self.entries["code"].text()
        self.rule_set = file._set
        self.judges = self.rule_set.startswith("validation")
        self.before = len(file.problems)
        self.told: set[tuple[int, str]] = set()
        self.meant: tuple[str, ...] = ()

    def rule(self) -> Rule | None:
        """The rule, None if it has problems. Every part is read, so that all problems are reported at once."""
        self.check_keys()
        rule = self.scalars()
        rule = self.expressions(rule) if self.file.expressions else self.unread(rule)
        if self.file.examples:
            rule = replace(rule, examples=self.examples(rule))
        self.file.claimed.append(rule)
        return rule if len(self.file.problems) == self.before else None

    def report(self, line: int, reason: str, advice: str) -> None:
        self.file.report(line, reason, advice)

    def text(self, name: str, default: str = "") -> str:
        """A single text of the rule, with the white space of folded lines made single."""
        cell = self.entries.get(name)
        if cell is None:
            return default
        found = self.file.attempt(cell.text)
        return " ".join(found.split()) if found else default

    def words(self, name: str) -> tuple[str, ...]:
        """A list of texts of the rule."""
        cell = self.entries.get(name)
        if cell is None:
            return ()
        return tuple(self.file.attempt(lambda: [item.text().strip() for item in cell.items()]) or ())

    def line(self, name: str) -> int:
        """The line of a key's value, or of the rule."""
        cell = self.entries.get(name)
        return cell.line if cell else self.cell.line

    def check_keys(self) -> None:
        """Unknown and missing keys."""
        known = VALIDATION_KEYS if self.judges else ACTION_KEYS
        for name, cell in self.entries.items():
            if name not in known:
                what = "a validation" if self.judges else "an action"
                self.report(
                    cell.line, f"unknown key {name!r}", f"The keys of {what} rule are {', '.join(sorted(known))}."
                )
        needed = ["code", "title", "sentence", "applies_to", "source"]
        needed += ["error_code", "field", "comment", "examples"] if self.judges else []
        for name in needed:
            if name not in self.entries or self.entries[name].is_null:
                self.report(self.cell.line, f"{name} is missing", f"Add `{name}:` to the rule.")
        if self.judges and ("holds" in self.entries) == ("violated_when" in self.entries):
            self.report(self.cell.line, "a rule has either holds or violated_when", "Write exactly one of them.")
        if not self.judges and not {"do", "notify", "wait"} & set(self.entries):
            self.report(self.cell.line, "the rule asks for nothing", "Write do:, notify: or wait:.")
        if "wait" in self.entries and not self.rule_set.startswith("qualification"):
            self.report(self.line("wait"), "wait is not in a qualification set", "Move the rule to qualification_in.")

    def scalars(self) -> Rule:
        """Everything but expressions and examples."""
        rule = Rule(
            code=self.text("code"),
            rule_set=self.rule_set,
            market=self.file._market,
            title=self.text("title"),
            sentence=self.text("sentence"),
            source=self.text("source"),
            applies_to=self.kinds(),
            pack=self.file.pack,
            markets=self.markets(),
            error_code=self.text("error_code"),
            each=self.text("each") or None,
            when=self.text("when") or None,
            holds=self.text("holds") or None,
            violated_when=self.text("violated_when") or None,
            field=self.text("field"),
            severity=cast(Severity, self.chosen("severity", get_args(Severity), "error")),
            error_class=cast(ErrorClass, self.chosen("error_class", get_args(ErrorClass), "grid_operator")),
            ebix=self.text("ebix") or None,
            market_code=self.market_code(),
            repair=self.words("repair"),
            since=self.file.attempt(self.entries["since"].day) if "since" in self.entries else None,
            until=self.file.attempt(self.entries["until"].day) if "until" in self.entries else None,
            do=self.verbs(),
            notify=self.text("notify") or None,
            wait=self.text("wait") or None,
            file=self.file.shown,
            line=self.cell.line,
        )
        if rule.code and not _CODE.fullmatch(rule.code):
            self.report(self.line("code"), f"code {rule.code!r} is not kebab case", "Write it like fr-index-goes-back.")
        if rule.code and _CODE.fullmatch(rule.code) and not rule.code.startswith(f"{rule.market.lower()}-"):
            self.report(
                self.line("code"), f"code {rule.code!r} lacks its market", f"Begin it with {rule.market.lower()}-."
            )
        if rule.error_code and not _ERROR_CODE.fullmatch(rule.error_code):
            advice = "Write market, hyphen, letter and two digits: XX-R03."
            self.report(self.line("error_code"), f"error code {rule.error_code!r} has another form", advice)
        if rule.ebix and not _EBIX.fullmatch(rule.ebix):
            self.report(
                self.line("ebix"),
                f"ebix {rule.ebix!r} is no ebIX code",
                "Write a letter and two more signs.",
            )
        if rule.since and rule.until and rule.until < rule.since:
            self.report(self.line("until"), f"until {rule.until} is before since {rule.since}", "Exchange them.")
        return rule

    def kinds(self) -> tuple[str, ...]:
        """The kinds the rule applies to, each known and of the set's direction."""
        incoming = self.rule_set.endswith("_in")
        found = []
        for kind in self.words("applies_to"):
            if kind not in KINDS:
                close = difflib.get_close_matches(kind, KINDS, n=2)
                self.meant += tuple(close[:1])
                advice = f"Did you mean {' or '.join(close)}?" if close else f"Kinds are {', '.join(KINDS)}."
                self.report(self.line("applies_to"), f"unknown kind {kind!r}", advice)
            elif is_incoming(kind) != incoming:
                side = "outgoing" if incoming else "incoming"
                self.report(
                    self.line("applies_to"), f"{kind} is {side}, the set is {self.rule_set}", "Move it to another set."
                )
            elif kind in found:
                self.report(self.line("applies_to"), f"{kind} stands twice", "Remove one.")
            else:
                found.append(kind)
        if "applies_to" in self.entries and not self.words("applies_to"):
            self.report(self.line("applies_to"), "applies_to is empty", "Name at least one kind.")
        return tuple(found)

    def markets(self) -> tuple[str, ...]:
        """The markets the rule judges: its own, those that chose its pack; empty: all."""
        if self.file._market != COMMON:
            return (self.file._market,)
        pack = self.file.pack
        return tuple(sorted(name for name, market in self.file.markets.items() if pack in market.packs))

    def market_code(self) -> str | None:
        """The market's own error code, one of the list that its file names."""
        code = self.text("market_code")
        if not code:
            return None
        market = self.file._market
        named = self.file.markets[market].error_codes if market in self.file.markets else None
        line = self.line("market_code")
        if named is None:
            where = "a rule of common" if market == COMMON else market
            advice = "Write `error_codes:`, the name of a list of codes.csv, into the market's market.yaml."
            self.report(line, f"{where} has no list of own error codes", advice)
        elif not any(one.code == code for one in self.file.codes.entries if (one.market, one.list) == (market, named)):
            self.report(line, f"market_code {code!r} is not in the list {named} of {market}", "Correct it, or add it.")
        return code

    def chosen(self, name: str, words: tuple[str, ...], default: str) -> str:
        """One of some words."""
        found = self.text(name, default)
        if found not in words:
            advice = f"It is {RENAMED[found]} now." if found in RENAMED else f"Use one of {', '.join(words)}."
            self.report(self.line(name), f"{name} {found!r} is unknown", advice)
        return found

    def verbs(self) -> tuple[str, ...]:
        """What the rule does."""
        found = self.words("do")
        for verb in found:
            if verb in ("notify", "wait"):
                self.report(self.line("do"), f"{verb} needs words", f"Write `{verb}: ...` beside do.")
            elif verb not in VERBS:
                advice = f"Verbs are {', '.join(VERBS[:-2])}."
                self.report(self.line("do"), f"unknown verb {verb!r}", advice)
        return found

    def unread(self, rule: Rule) -> Rule:
        """The rule with its comments as they are written, and nothing of its expressions."""
        texts = {language: self.comment(language) for language in LANGUAGES} if "comment" in self.entries else {}
        return replace(rule, comment={language: Template(text, (), {}, ()) for language, text in texts.items() if text})

    def expressions(self, rule: Rule) -> Rule:
        """Read conditions, field and comments for every kind."""
        templates = self.templates(rule)
        conditions: dict[str, tuple[Condition, Condition]] = {}
        pointed: dict[str, Value] = {}
        shown: dict[Language, dict[str, tuple[Value, ...]]] = {language: {} for language in LANGUAGES}
        kinds = dict.fromkeys((*rule.applies_to, *self.meant))
        if not kinds:
            self.syntax(rule)
        for kind in kinds:
            scope = self.scope(rule, kind)
            when = self.condition("when", rule.when, scope)
            violation: Condition | None
            if rule.holds:
                holds = self.condition("holds", rule.holds, scope)
                violation = Not(holds) if holds is not None else None
            else:
                violation = self.condition("violated_when", rule.violated_when, scope)
            if when is not None and violation is not None and scope.each == rule.each:
                conditions[kind] = (when, violation)
            if rule.field:
                value = self.parsed(partial(parse_value, rule.field, scope), "field", self.line("field"))
                if value is not None:
                    pointed[kind] = value
            for language, (_, places) in templates.items():
                line = self.entries["comment"].entries()[language].line
                values = [self.shown_value(place, scope, line) for place in places]
                shown[language][kind] = tuple(value for value in values if value is not None)
        comment: dict[Language, Template] = {
            language: Template(self.comment(language), pieces, shown[language], tuple(counted(it) for it in places))
            for language, (pieces, places) in templates.items()
        }
        triggers = {
            kind: violation if when == ALWAYS else And((when, violation))
            for kind, (when, violation) in conditions.items()
        }
        return replace(rule, triggers=triggers, conditions=conditions, pointed=pointed, comment=comment)

    def shown_value(self, place: str, scope: Scope, line: int) -> Value | None:
        """A value of a comment; None where it is wrong."""
        words = counted(place)
        value = self.parsed(partial(parse_value, place.partition("|")[0] if words else place, scope), "comment", line)
        if words and value is not None and not value.type.is_number:
            self.report(
                line, f"comment: `{place}` counts {value.type}", "Count with a number: {count(lines)|line|lines}."
            )
            return None
        return value

    def condition(self, name: str, text: str | None, scope: Scope) -> Condition | None:
        """A condition of the rule; the one that always holds where none is written; None where it is wrong."""
        return self.parsed(lambda: parse_condition(text, scope), name, self.line(name)) if text else ALWAYS

    def parsed(self, read: Callable[[], T], name: str, line: int) -> T | None:
        """What is read; None, and a problem, where it is wrong."""
        try:
            return read()
        except ExpressionError as error:
            for one in error.all:
                if (line, one.reason) not in self.told:  # several kinds may share one mistake
                    self.told.add((line, one.reason))
                    self.report(line, f"{name}: {one.reason}", one.advice)
        return None

    def each(self, rule: Rule, kind: str) -> str | None:
        """The list whose items the rule judges; of a wrong name the list that is meant, None where none is like it."""
        lists = lists_of(kind)
        if rule.each is None or rule.each in lists:
            return rule.each
        advice = f"{kind} has {', '.join(lists) or 'no list'}."
        self.report(self.line("each"), f"{kind} has no list {rule.each!r}", advice)
        return next(iter(difflib.get_close_matches(rule.each, lists, n=1)), None)

    def syntax(self, rule: Rule) -> None:
        """The form of the conditions of a rule that names no kind: what their names are cannot be said."""
        for name, text in (("when", rule.when), ("holds", rule.holds), ("violated_when", rule.violated_when)):
            if text:
                self.parsed(partial(check_syntax, text), name, self.line(name))

    def scope(self, rule: Rule, kind: str) -> Scope:
        """What the rule's expressions may name."""
        markets = rule.markets or tuple(sorted(self.file.markets)) or (COMMON,)
        lists = self.file.codes.shared(markets)
        errors = self.rule_set.startswith("rejection")
        particulars = self.file.particulars.get(self.file._market)
        return Scope(
            kind, self.file.predicates, self.each(rule, kind), lists, errors, particulars or {}, self.file._market
        )

    def comment(self, language: str) -> str:
        """The comment template of a language as written."""
        cells = self.file.attempt(self.entries["comment"].entries) or {}
        return " ".join(cells[language].text().split()) if language in cells else ""

    def templates(self, rule: Rule) -> dict[Language, tuple[tuple[str, ...], tuple[str, ...]]]:
        """Language -> (literal pieces, expressions between them) of the comments."""
        cells = (
            self.file.attempt(self.entries["comment"].entries) if self.judges and "comment" in self.entries else None
        )
        if cells is None:
            return {}
        found: dict[Language, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        for name, cell in cells.items():
            if name not in LANGUAGES:
                self.report(cell.line, f"comment language {name!r} is unknown", "Write comments in en and fr.")
        for language in LANGUAGES:
            text = self.comment(language) if language in cells else ""
            if not text:
                self.report(
                    self.line("comment"), f"the comment in {language} is missing", f"Add `{language}:` under comment."
                )
                continue
            parts = _PLACE.split(text)
            if any("{" in part or "}" in part for part in parts):
                self.report(
                    cells[language].line, "a brace of the comment is not closed", "Write {name} around each value."
                )
                continue
            found[language] = (tuple(parts[0::2]), tuple(parts[1::2]))
        return found

    def examples(self, rule: Rule) -> tuple[Example, ...]:
        """The examples, as whole messages."""
        cell = self.entries.get("examples")
        found: list[Example] = []
        for item in (self.file.attempt(cell.items) or ()) if cell and (rule.applies_to or self.meant) else ():
            entries = self.file.attempt(item.entries) or {}
            for judged, content in entries.items():
                if judged not in ("passes", "fails"):
                    self.report(content.line, f"an example {judged!r}", "Write `- passes: {...}` or `- fails: {...}`.")
                    continue
                example = self.example(rule, judged, content)
                if example is not None:
                    found.append(example)
        if self.judges and cell is not None:
            for judged in ("passes", "fails"):
                if not any(judged in item.entries() for item in cell.items()):
                    self.report(self.line("examples"), f"no example that {judged}", f"Add `- {judged}: {{...}}`.")
        return tuple(found)

    def example(self, rule: Rule, judged: str, cell: Cell) -> Example | None:
        """One example."""
        try:
            content = cell.plain()
        except YamlError as error:
            self.report(error.line, error.reason, error.advice)
            return None
        if not isinstance(content, dict):
            self.report(cell.line, "an example is a mapping of fields", "Write `passes: {field: value}`.")
            return None
        stated = dict(content)
        kinds = (*rule.applies_to, *self.meant)
        kind = stated.pop("kind", kinds[0])
        history = stated.pop("history", None) or {}
        errors = stated.pop("errors", None) or []
        market = rule.markets[0] if rule.markets else min(self.file.markets, default="XX")
        if kind not in kinds:
            self.report(cell.line, f"the example is of kind {kind!r}", f"The rule applies to {', '.join(kinds)}.")
            return None
        try:
            message = example_message(stated, kind, market, rule.since, rule.until)
            facts = example_history(history)
        except ExampleError as error:
            self.report(cell.line, error.reason, error.advice)
            return None
        named = frozenset([errors] if isinstance(errors, str) else errors)
        return Example(cast(Any, judged), content, message, facts, named, cell.line)
