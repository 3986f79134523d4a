"""The second engine: the same rules judged by durable-rules, each engine being the other's oracle.

durable-rules holds when it is used in one way only, which is this one: its C core is driven directly, without its host
and threads; a rule set has one session; one fact is asserted, its results are collected as a set, and it is retracted
before the next; nothing is ever kept in it. A rule set stays below its limits (64 matches, 255 fields) by being split.
Absent values are left out of the fact: a test on a field that is not there does not match, which is the rules' own
"unknown".

The core decides what its language says: comparisons of two values or of a value with a constant, membership of few
constants, presence, errors found, ``and`` and ``or``. What it cannot say is worked out by
`energycomm.engine.interpretation` and handed over: calculations and the answers of predicates as values, code lists as
a yes or no. Instants, civil days and decimal numbers are handed over as whole numbers.
"""

from __future__ import annotations

import importlib
import json
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from energycomm.engine import terms
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.codes import CodeLists
from energycomm.engine.compiling import Compiled, Hit
from energycomm.engine.interpretation import Context, atom, contexts, is_true, value_of
from energycomm.engine.port import EngineFault, RuleEngine
from energycomm.engine.report import Reporter
from energycomm.engine.rule import Rule
from energycomm.kernel.history import History
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import KernelMessage

MATCHES = 48
"""Matches that one rule set may give at most; the core fails above 64."""
FIELDS = 200
"""Fields that one fact may have at most; the core fails above 255."""
ALTERNATIVES = 12
"""Ways in which one rule may match before it is judged as a whole instead."""
LARGEST = 2**63 - 1
"""The largest whole number of the core."""
_MILLIONTHS = 10**6
"""Decimal numbers are handed over as so many parts of one."""

_CONTRARY = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPERATORS = {"==": "$eq", "!=": "$neq", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}

Definition: TypeAlias = dict[str, Any]


class DurableRulesMissing(ImportError):
    """durable-rules is not installed; install energycomm[durable] (C, Python 3.11 or 3.12), or use `parallel`."""


def _core() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the module warns of an old C call when it is imported
            return importlib.import_module("durable_rules_engine")
    except ImportError as error:
        raise DurableRulesMissing(str(DurableRulesMissing.__doc__)) from error


class Beyond(ValueError):
    """A value that the core cannot represent."""


class Translation:
    """One rule in the language of durable-rules, with what must be known to judge it.

    Attributes:
      definition: the expression.
      fields: field of the fact -> the term that is worked out and handed over.
      alternatives: number of ways in which the rule can match at once.
      tests: how many of the rule's tests are ``decided`` by the core, how many are the answer of a ``predicate``, how
        many are ``judged`` before.
    """

    def __init__(self, rule: Rule, kind: str, position: int) -> None:
        self.rule = rule
        self.trigger = rule.triggers[kind]
        self.prefix = f"r{position}"
        self._start()
        self.definition, self.alternatives = self.normal(self.trigger, True)
        if self.alternatives > ALTERNATIVES:
            self._start()
            self.definition, self.alternatives = self.whole(self.trigger, True), 1

    def _start(self) -> None:
        self.fields: dict[str, terms.Value | terms.Condition] = {}
        self.tests: Counter[str] = Counter()

    def normal(self, condition: terms.Condition, wanted: bool) -> tuple[Definition, int]:
        """A condition that must be definitely true (or definitely false), and the number of its alternatives."""
        match condition:
            case terms.Not(operand=inner):
                return self.normal(inner, not wanted)
            case terms.And(operands=()) | terms.Or(operands=()):
                always = isinstance(condition, terms.And) == wanted
                return {"on": 1 if always else 2}, 1
            case terms.And(operands=parts) | terms.Or(operands=parts):
                translated = [self.normal(part, wanted) for part in parts]
                if len(translated) == 1:
                    return translated[0]
                together = isinstance(condition, terms.And) == wanted
                count = 1 if together else 0
                for _, ways in translated:
                    count = count * ways if together else count + ways
                return {"$and" if together else "$or": [part for part, _ in translated]}, count
        definition = self.test(condition, wanted)
        return self.whole(condition, wanted) if definition is None else definition, 1

    def test(self, condition: terms.Condition, wanted: bool) -> Definition | None:
        """A condition on values; None if the core's language cannot express it."""
        match condition:
            case terms.Truth(operand=value) if _base(value) == "bool":
                self.tests["predicate" if isinstance(value, terms.Call) else "decided"] += 1
                return {self.field(value): int(wanted)}
            case terms.Presence(operand=term) | (terms.HasError() as term):
                self.tests["decided"] += 1
                return {"$ex" if wanted else "$nex": {self.field(term): 1}}
            case terms.Comparison(left=terms.Constant(), right=terms.Constant()):
                return None
            case terms.Comparison(operator=sign, left=terms.Constant() as constant, right=right):
                return self.test(terms.Comparison(_MIRRORED[sign], right, constant), wanted)
            case terms.Comparison(operator=sign, left=left, right=right):
                return self.compared(left, sign if wanted else _CONTRARY[sign], right)
            case terms.Membership(operand=value, constants=constants) if 0 < len(constants) <= ALTERNATIVES:
                literals = [_literal(constant, _base(value)) for constant in constants]
                if None in literals:
                    return None
                self.tests["decided"] += 1
                name, sign = self.field(value), "$eq" if wanted else "$neq"
                # A value is one constant at a time: one way at once.
                return {"$or" if wanted else "$and": [{sign: {name: literal}} for literal in literals]}
        return None

    def compared(self, left: terms.Value, sign: str, right: terms.Value) -> Definition | None:
        """A value against a constant or another value."""
        base = _base(left)
        if isinstance(right, terms.Constant):
            literal = _literal(right.value, base)
            if literal is None:
                return None
            self.tests["decided"] += 1
            return {_OPERATORS[sign]: {self.field(left): literal}}
        if base not in _COMPARED or _base(right) != base:
            return None
        self.tests["decided"] += 1
        # The core takes a comparison with a field that is not there for true.
        there = self.field(right)
        return {"$and": [{"$ex": {there: 1}}, {_OPERATORS[sign]: {self.field(left): {"$m": there}}}]}

    def field(self, term: terms.Value | terms.HasError) -> str:
        """The fact's field that holds a value, or says that an error was found."""
        match term:
            case terms.Read(path=(*owner, last)):
                name = "_".join(("f", *owner, last if last.isidentifier() else last.encode().hex()))
            case terms.HasError(error_code=code):
                name = f"e_{code}"
            case _:
                name = f"{self.prefix}_{len(self.fields)}"
        self.fields[name] = term
        return name

    def whole(self, condition: terms.Condition, wanted: bool) -> Definition:
        """A condition that is judged before."""
        self.tests["judged"] += _tests(condition)
        name = f"{self.prefix}_{len(self.fields)}"
        self.fields[name] = condition
        return {name: int(wanted)}


_COMPARED = frozenset({"bool", "int", "decimal", "str", "date", "datetime"})
"""Types whose values the core compares."""


def _base(value: terms.Value) -> str:
    """The type of a value; empty where it may be of several."""
    return next(iter(value.type.bases)) if len(value.type.bases) == 1 else ""


def _tests(condition: terms.Condition) -> int:
    """How many tests of values a condition is made of."""
    match condition:
        case terms.Not(operand=inner):
            return _tests(inner)
        case terms.And(operands=parts) | terms.Or(operands=parts):
            return sum(_tests(part) for part in parts)
    return 1


def _literal(constant: Any, base: str) -> Any:
    """A constant as the core compares it with values of a type; None where it cannot."""
    if base not in _COMPARED or (base == "str" and not _plain_text(constant)):
        return None
    return _handed(constant, base)


def _plain_text(text: str) -> bool:
    """Texts whose JSON form is the text itself: the core compares them as they are written."""
    return json.dumps(text, ensure_ascii=False) == f'"{text}"'


def _handed(value: Any, base: str) -> Any:
    """A value as the core holds it.

    Raises:
      Beyond: the core has no such number.
    """
    if base == "str":
        return value
    number: Any = 1  # of other types only the presence is asked for
    match base:
        case "bool" | "int":
            number = value
        case "decimal":
            number = value * _MILLIONTHS
        case "date":
            number = value.toordinal()
        case "datetime":
            number = micros(value)
    if abs(number) > LARGEST or number != int(number):
        raise Beyond(value)
    return int(number)


@dataclass
class _Part:
    """One rule set of the core: some rules that share facts."""

    handle: Any
    translations: dict[str, tuple[int, Translation]]
    fields: dict[str, terms.Value | terms.Condition]


class _DurableRules:
    """The rules in force of one (rule set, market, kind), in as many rule sets of the core as its limits need."""

    def __init__(self, rules: Sequence[Rule], kind: str, codes: CodeLists, core: Any) -> None:
        self.codes = codes
        self._core = core
        self.parts: dict[str | None, list[_Part]] = {}
        waiting: dict[str | None, list[tuple[int, Translation]]] = {}
        for position, rule in enumerate(rules):
            waiting.setdefault(rule.each, []).append((position, Translation(rule, kind, position)))
        for each, translations in waiting.items():
            self.parts[each] = [self._part(chunk) for chunk in _chunks(translations)]

    def _part(self, chunk: list[tuple[int, Translation]]) -> _Part:
        definitions: Definition = {}
        fields: dict[str, terms.Value | terms.Condition] = {}
        by_name: dict[str, tuple[int, Translation]] = {}
        for position, translation in chunk:
            name = f"rule{position}"
            # `on` is in every fact: no rule of the core may rest on negative tests alone.
            definitions[name] = {"all": [{"m": {"$and": [{"on": 1}, translation.definition]}}]}
            fields |= translation.fields
            by_name[name] = (position, translation)
        handle = self._core.create_ruleset(
            f"rules{id(self)}-{chunk[0][0]}", json.dumps(definitions, ensure_ascii=False)
        )
        return _Part(handle, by_name, fields)

    def judge(
        self,
        message: KernelMessage,
        history: History,
        errors: frozenset[str],
        hits: list[Hit],
        faults: list[tuple[int, Exception]],
    ) -> None:
        """See `Compiled`."""
        for each, parts in self.parts.items():
            for index, context in contexts(message, history, self.codes, errors, each):
                for part in parts:
                    for position in self._run(part, context, faults):
                        hits.append((position, index))
        hits.sort(key=lambda hit: (hit[0], hit[1] or 0))

    def _run(self, part: _Part, context: Context, faults: list[tuple[int, Exception]]) -> set[int]:
        fact: dict[str, Any] = {"id": "1", "sid": "1", "on": 1}
        broken: set[str] = set()
        for name, term in part.fields.items():
            try:
                known = _worked_out(term, context)
            except Exception:  # the rule may not need what broke: it is judged in its own order below
                broken.add(name)
                continue
            if known is not None:
                fact[name] = known
        alone = {
            position: translation.trigger
            for position, translation in part.translations.values()
            if not broken.isdisjoint(translation.fields)
        }
        found = self._fired(part, fact) - alone.keys()
        for position, trigger in sorted(alone.items()):
            try:
                if is_true(trigger, context):
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


def _worked_out(term: terms.Value | terms.Condition, context: Context) -> Any:
    """What a field of the fact holds; None where it is left out."""
    match term:
        case terms.HasError():
            return 1 if atom(term, context) else None
        case terms.And() | terms.Or() | terms.Not():
            return 1 if is_true(term, context) else None
        case terms.Truth() | terms.Comparison() | terms.Membership() | terms.InList() | terms.Presence():
            known = atom(term, context)
            return None if known is None else int(known)
    value = value_of(term, context)
    return None if value is None else _handed(value, _base(term))


def _chunks(translations: list[tuple[int, Translation]]) -> list[list[tuple[int, Translation]]]:
    """Rules in groups that stay below the limits of one rule set of the core."""
    chunks: list[list[tuple[int, Translation]]] = []
    matches, fields = MATCHES, set[str]()
    for entry in translations:
        own = entry[1].fields.keys()
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
        super().__init__(catalogue)
        self._core = _core()

    def compile(self, rules: Sequence[Rule], kind: str, market: str) -> Compiled:
        """See `RuleEngine.compile`."""
        codes = self.catalogue.codes
        zone = self.catalogue.zone(market)
        reporters = tuple(Reporter(rule, kind, market, codes, zone) for rule in rules)
        return Compiled(tuple(rules), _DurableRules(rules, kind, codes, self._core).judge, reporters)
