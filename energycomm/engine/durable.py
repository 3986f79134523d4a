"""The second engine: the same rules judged by durable-rules, each engine being the other's oracle.

durable-rules holds when it is used in one way only, which is this one: its C core is driven directly, without its host
and threads; a rule set has one session; one fact is asserted, its results are collected as a set, and it is retracted
before the next; nothing is ever kept in it. A rule set stays below its limits (64 matches, 255 fields) by being split.
Absent values are left out of the fact: a test on a field that is not there does not match, which is the rules' own
"unknown".

Comparisons of a field with a constant, membership of few constants, ``and`` and ``or`` are translated into its
language. What that language cannot say (predicates, calculations, code lists, comparisons of two fields, decimals,
instants, absence) is judged before and handed over as a yes or no.
"""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.codes import CodeLists
from energycomm.engine.interpretation import Context, atom, contexts, is_true, value_of
from energycomm.engine.port import EngineFault, Judgement, RuleEngine, actions_of, fault_of, sorted_findings
from energycomm.engine.report import Reporter
from energycomm.engine.rule import Rule, RuleSet
from energycomm.engine.terms import (
    And,
    Comparison,
    Condition,
    Constant,
    Membership,
    Not,
    Or,
    Read,
    Truth,
)
from energycomm.engine.validity import Segments
from energycomm.kernel.family import is_incoming
from energycomm.kernel.history import History
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Action, Finding

MATCHES = 48
"""Matches that one rule set may give at most; the core fails above 64."""
FIELDS = 200
"""Fields that one fact may have at most; the core fails above 255."""
ALTERNATIVES = 12
"""Ways in which one rule may match before it is judged as a whole instead."""
LARGEST = 2**53
"""Whole numbers beyond are handed over as this: on the same side of every constant that is translated."""

_CONTRARY = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_OPERATORS = {"!=": "$neq", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}

Definition: TypeAlias = dict[str, Any]
Hit: TypeAlias = tuple[int, int | None]


class DurableRulesMissing(ImportError):
    """durable-rules is not installed; install energycomm[durable] (C, Python 3.11 or 3.12), or use `parallel`."""


def _core() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the module warns of an old C call when it is imported
            return importlib.import_module("durable_rules_engine")
    except ImportError as error:
        raise DurableRulesMissing(str(DurableRulesMissing.__doc__)) from error


class _Translation:
    """One rule in the language of durable-rules, with what must be known to judge it.

    Attributes:
      definition: the expression.
      plain: field of the fact -> the term that is handed over as it is.
      judged: field of the fact -> the condition that is judged before.
      alternatives: number of ways in which the rule can match at once.
    """

    def __init__(self, rule: Rule, kind: str, position: int) -> None:
        self.rule = rule
        self.trigger = rule.triggers[kind]
        self.prefix = f"r{position}"
        self.plain: dict[str, Read] = {}
        self.judged: dict[str, Condition] = {}
        self.definition, self.alternatives = self.normal(self.trigger, True)
        if self.alternatives > ALTERNATIVES:
            self.plain = {}
            self.judged = {}
            self.definition, self.alternatives = self.whole(self.trigger, True), 1

    def normal(self, condition: Condition, wanted: bool) -> tuple[Definition, int]:
        """A condition that must be definitely true (or definitely false), and the number of its alternatives."""
        match condition:
            case Not(operand=inner):
                return self.normal(inner, not wanted)
            case And(operands=()) | Or(operands=()):
                always = isinstance(condition, And) == wanted
                return {"on": 1 if always else 2}, 1
            case And(operands=parts) | Or(operands=parts):
                translated = [self.normal(part, wanted) for part in parts]
                if len(translated) == 1:
                    return translated[0]
                together = isinstance(condition, And) == wanted
                count = 1 if together else 0
                for _, ways in translated:
                    count = count * ways if together else count + ways
                return {"$and" if together else "$or": [part for part, _ in translated]}, count
            case Truth(operand=Read() as read):
                return {self.field(read): int(wanted)}, 1
            case Comparison(operator=sign, left=Read() as read, right=Constant() as constant) if _native(
                read, constant
            ):
                return self.compared(read, sign if wanted else _CONTRARY[sign], constant.value), 1
            case Membership(operand=Read() as read, constants=constants) if 0 < len(constants) <= ALTERNATIVES and all(
                isinstance(constant, str) for constant in constants
            ):
                tests = [self.compared(read, "==" if wanted else "!=", constant) for constant in constants]
                if len(tests) == 1:
                    return tests[0], 1
                return {"$or" if wanted else "$and": tests}, 1  # a value is one constant at a time: one way at once
        return self.whole(condition, wanted), 1

    def field(self, read: Read) -> str:
        """The fact's field that holds a value as it is."""
        *owner, last = read.path
        name = "_".join(("f", *owner, last if last.isidentifier() else last.encode().hex()))
        self.plain[name] = read
        return name

    def compared(self, read: Read, sign: str, constant: Any) -> Definition:
        """A field against a constant."""
        name = self.field(read)
        return {name: constant} if sign == "==" else {_OPERATORS[sign]: {name: constant}}

    def whole(self, condition: Condition, wanted: bool) -> Definition:
        """A condition that is judged before."""
        name = f"{self.prefix}_{len(self.judged)}"
        self.judged[name] = condition
        return {name: int(wanted)}


def _native(read: Read, constant: Constant) -> bool:
    if isinstance(constant.value, str):
        return read.type.bases == {"str"} and _plain_text(constant.value)
    return (
        read.type.bases == {"int"}
        and isinstance(constant.value, int)
        and not isinstance(constant.value, bool)
        and abs(constant.value) < LARGEST
    )


def _plain_text(text: str) -> bool:
    """Texts whose JSON form is the text itself: the core compares them as they are written."""
    return json.dumps(text, ensure_ascii=False) == f'"{text}"'


@dataclass
class _Part:
    """One rule set of the core: some rules that share facts."""

    handle: Any
    translations: dict[str, tuple[int, _Translation]]
    plain: dict[str, Read]


class _DurableRules:
    """The rules in force of one (rule set, market, kind), in as many rule sets of the core as its limits need."""

    def __init__(self, rules: Sequence[Rule], kind: str, market: str, codes: CodeLists, core: Any) -> None:
        self.rules = tuple(rules)
        self.reporters = tuple(Reporter(rule, kind, market, codes) for rule in rules)
        self.codes = codes
        self._core = core
        self.parts: dict[str | None, list[_Part]] = {}
        waiting: dict[str | None, list[tuple[int, _Translation]]] = {}
        for position, rule in enumerate(rules):
            waiting.setdefault(rule.each, []).append((position, _Translation(rule, kind, position)))
        for each, translations in waiting.items():
            self.parts[each] = [self._part(chunk) for chunk in _chunks(translations)]

    def _part(self, chunk: list[tuple[int, _Translation]]) -> _Part:
        definitions: Definition = {}
        plain: dict[str, Read] = {}
        by_name: dict[str, tuple[int, _Translation]] = {}
        for position, translation in chunk:
            name = f"rule{position}"
            # `on` is in every fact: no rule of the core may rest on negative tests alone.
            definitions[name] = {"all": [{"m": {"$and": [{"on": 1}, translation.definition]}}]}
            plain.update(translation.plain)
            by_name[name] = (position, translation)
        handle = self._core.create_ruleset(
            f"rules{id(self)}-{chunk[0][0]}", json.dumps(definitions, ensure_ascii=False)
        )
        return _Part(handle, by_name, plain)

    def judge(
        self, message: KernelMessage, history: History, errors: frozenset[str]
    ) -> tuple[list[Hit], list[tuple[int, Exception]]]:
        """Which rules speak, of which items, and which broke."""
        hits: list[Hit] = []
        faults: list[tuple[int, Exception]] = []
        for each, parts in self.parts.items():
            for index, context in contexts(message, history, self.codes, errors, each):
                for part in parts:
                    for position in self._run(part, context, faults):
                        hits.append((position, index))
        return sorted(hits, key=lambda hit: (hit[0], hit[1] or 0)), faults

    def _run(self, part: _Part, context: Context, faults: list[tuple[int, Exception]]) -> set[int]:
        fact: dict[str, Any] = {"id": "1", "sid": "1", "on": 1}
        alone: set[int] = set()
        for name, read in part.plain.items():
            value = value_of(read, context)
            if value is not None:
                fact[name] = _handed(value)
        for position, translation in part.translations.values():
            for name, condition in translation.judged.items():
                try:
                    known = atom_or_whole(condition, context)
                except Exception:  # the rule may not need what broke: it is judged in its own order below
                    alone.add(position)
                    break
                if known is not None:
                    fact[name] = int(known)
        found = {position for position in self._fired(part, fact) if position not in alone}
        for position in sorted(alone):
            try:
                if is_true(next(t.trigger for p, t in part.translations.values() if p == position), context):
                    found.add(position)
            except Exception as error:
                faults.append((position, error))
        return found

    def _fired(self, part: _Part, fact: dict[str, Any]) -> set[int]:
        """Positions of the rules that match the fact."""
        core = self._core
        text = json.dumps(fact, ensure_ascii=False)
        fired: set[int] = set()
        outcome, state = core.assert_fact(part.handle, text)
        if outcome == 2:
            raise EngineFault("durable-rules took a fact for one it had seen")
        if outcome == 0:
            started = core.start_action_for_state(part.handle, state)
            told = started[1] if started else None
            while told:
                fired.update(part.translations[name][0] for name in json.loads(told))
                told = core.complete_and_start_action(part.handle, state)
        core.retract_fact(part.handle, text)
        return fired


def atom_or_whole(condition: Condition, context: Context) -> bool | None:
    """A condition judged before: true, false, or None for unknown."""
    if isinstance(condition, And | Or | Not):
        return True if is_true(condition, context) else None
    return atom(condition, context)


def _handed(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return max(-LARGEST, min(LARGEST, value))
    return value


def _chunks(translations: list[tuple[int, _Translation]]) -> list[list[tuple[int, _Translation]]]:
    """Rules in groups that stay below the limits of one rule set of the core."""
    chunks: list[list[tuple[int, _Translation]]] = []
    matches, fields = MATCHES, set[str]()
    for entry in translations:
        own = {*entry[1].plain, *entry[1].judged}
        if matches + entry[1].alternatives > MATCHES or len(fields | own) > FIELDS:
            chunks.append([])
            matches, fields = 0, set()
        chunks[-1].append(entry)
        matches += entry[1].alternatives
        fields |= own
    return chunks


class DurableEngine(RuleEngine):
    """Judges messages with durable-rules. One thread only.

    Raises:
      DurableRulesMissing: durable-rules is not installed.
    """

    name = "durable-rules"

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.version = catalogue.version
        self._core = _core()
        self._segments: dict[tuple[str, type, str], Segments[_DurableRules]] = {}

    def rules(self, stage: str, message: KernelMessage) -> _DurableRules:
        """The rules of a stage that are in force for a message."""
        key = (stage, type(message), message.market)
        segments = self._segments.get(key)
        if segments is None:
            kind = type(message).__name__
            rule_set: RuleSet = f"{stage}_{'in' if is_incoming(kind) else 'out'}"  # type: ignore[assignment]
            build = partial(
                _DurableRules, kind=kind, market=message.market, codes=self.catalogue.codes, core=self._core
            )
            rules = self.catalogue.rules_for(rule_set, message.market, kind)
            segments = self._segments[key] = Segments(rules, build)
        return segments.on(message)

    def rules_for(self, stage: str, message: KernelMessage) -> tuple[Rule, ...]:
        """The rules of a stage that run for a message."""
        return self.rules(stage, message).rules

    def validate(self, message: KernelMessage, history: History) -> Judgement:
        """See `RuleEngine.validate`."""
        held = self.rules("validation", message)
        hits, faults = held.judge(message, history, frozenset())
        found: list[tuple[int, Finding]] = []
        for position, index in hits:
            try:
                found.append((index or 0, held.reporters[position](message, history, index)))
            except Exception as error:
                faults.append((position, error))
        return Judgement(sorted_findings(found), fault_of((held.rules[place].code, error) for place, error in faults))

    def qualify(self, message: KernelMessage, history: History) -> tuple[Action, ...]:
        """See `RuleEngine.qualify`."""
        return self._act("qualification", message, history, frozenset())

    def reject(self, message: KernelMessage, history: History, errors: Sequence[Finding]) -> tuple[Action, ...]:
        """See `RuleEngine.reject`."""
        return self._act("rejection", message, history, frozenset(error.error_code for error in errors))

    def _act(self, stage: str, message: KernelMessage, history: History, errors: frozenset[str]) -> tuple[Action, ...]:
        held = self.rules(stage, message)
        hits, faults = held.judge(message, history, errors)
        if faults:
            raise EngineFault(fault_of((held.rules[place].code, error) for place, error in faults) or "")
        return actions_of(held.rules[place] for place, _ in hits)
