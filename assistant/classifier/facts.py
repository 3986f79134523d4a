"""What the rules read of a message, taken from the catalogue: no rule is written out here by hand.

The condition of a rule is a tree of comparisons, the *atoms*: `gsrn_ok(access_point)`, `register.value < 0`. An atom
*speaks against* a message when it has the value that the rule needs to be violated. Atoms that speak against a message
are its facts; the differences that atoms are about are its deltas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias

from energycomm.engine import terms
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.interpretation import Context, atom, contexts, value_of
from energycomm.engine.rule import Rule, RuleSet
from energycomm.kernel.history import History
from energycomm.kernel.messages import KernelMessage

RULE_SET: RuleSet = "validation_in"
SHOWN = 2
"""Constants of a list that are named; of the others the number is told."""

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_PAST = ("history", "previous")
_DATES = frozenset(("date", "datetime"))

Wanted: TypeAlias = tuple[terms.Condition, bool]
"""An atom and the value with which it speaks against a message."""


@dataclass(frozen=True)
class Question:
    """One atom as the rules ask it.

    Attributes:
      atom, wanted: speaks against a message when the atom has this value.
      name: the atom with that value, without blanks: `not:gsrn_ok(access_point)`.
      each: list whose items it is asked of, None for the whole message.
      told: it is written out when it speaks: it is part of a violation, or asks the history.
    """

    atom: terms.Condition
    wanted: bool
    name: str
    each: str | None
    told: bool


@dataclass(frozen=True)
class Inventory:
    """What the rules in force ask of messages of one market and kind.

    Attributes:
      rules: the rules of severity error, in order.
      questions: every atom, once.
      reads: every field and fact that they read, once, by the list whose items it belongs to.
      deltas: comparisons of two values that are numbers or dates, neither of them written in the rule.
    """

    rules: tuple[Rule, ...]
    questions: tuple[Question, ...]
    reads: tuple[tuple[str | None, terms.Read], ...]
    deltas: tuple[tuple[str | None, terms.Comparison], ...]


class Reader:
    """Knows what the rules of a catalogue ask.

    Args:
      catalogue: the rules.
      left_out: codes of rules that it shall not know, to see what a model makes of a rule it was never told of.
    """

    def __init__(self, catalogue: Catalogue, left_out: frozenset[str] = frozenset()) -> None:
        self.catalogue, self.left_out = catalogue, left_out
        self._inventory = lru_cache(maxsize=512)(self._made)
        self._dates = catalogue.dates()

    def inventory(self, message: KernelMessage) -> Inventory:
        """What is asked of a message on its day."""
        day = message.effective.date()
        span = max((since for since in self._dates if since <= day), default=date.min)
        return self._inventory(message.market, type(message).__name__, span)

    def _made(self, market: str, kind: str, day: date) -> Inventory:
        rules = tuple(
            rule
            for rule in self.catalogue.rules_for(RULE_SET, market, kind)
            if rule.severity == "error" and rule.in_force(day) and rule.error_code not in self.left_out
        )
        questions: dict[tuple[str | None, str], Question] = {}
        reads: dict[tuple[str | None, str], terms.Read] = {}
        deltas: dict[tuple[str | None, str], terms.Comparison] = {}
        for rule in rules:
            for part, violating in zip(rule.conditions[kind], (False, True), strict=True):
                for one, wanted in atoms(part):
                    found = list(reads_of(one))
                    each = rule.each if any(read.path[0] in ("item", "previous") for read in found) else None
                    told = violating or any(read.path[0] in _PAST for read in found)
                    question = Question(one, wanted, atom_name(one, wanted), each, told)
                    earlier = questions.get((each, question.name))
                    if earlier is None or (told and not earlier.told):
                        questions[each, question.name] = question
                    for read in found:
                        reads.setdefault((each if read.path[0] in ("item", "previous") else None, read.name), read)
                    if isinstance(one, terms.Comparison) and _measurable(one):
                        deltas.setdefault((each, value_name(one.left)), one)
        return Inventory(
            rules,
            tuple(questions.values()),
            tuple((each, read) for (each, _), read in reads.items()),
            tuple((each, one) for (each, _), one in deltas.items()),
        )

    def spoken(self, message: KernelMessage, history: History) -> tuple[list[str], list[list[str]]]:
        """Names of the atoms that speak against a message: of the whole, and of each item against which any does.

        Items with equal facts are told once.
        """
        inventory = self.inventory(message)
        whole: list[str] = []
        by_item: list[list[str]] = []
        lists = dict.fromkeys(question.each for question in inventory.questions)
        for each in lists:
            asked = [question for question in inventory.questions if question.each == each and question.told]
            for _, context in contexts(message, history, self.catalogue.codes, frozenset(), each):
                names = [one.name for one in asked if ask(one.atom, context) is one.wanted]
                if each is None:
                    whole = names
                elif names and names not in by_item:
                    by_item.append(names)
        return whole, by_item

    def deltas(self, message: KernelMessage, history: History) -> dict[str, tuple[float, float]]:
        """Name of a difference -> the smallest and the largest among the items; days between dates, else numbers."""
        found: dict[str, tuple[float, float]] = {}
        for each, one in self.inventory(message).deltas:
            for _, context in contexts(message, history, self.catalogue.codes, frozenset(), each):
                difference = _difference(one, context)
                if difference is not None:
                    name = delta_name(one)
                    low, high = found.get(name, (difference, difference))
                    found[name] = (min(low, difference), max(high, difference))
        return found


def ask(condition: terms.Condition, context: Context) -> bool | None:
    """The truth of an atom; None when it is unknown, or broke."""
    try:
        return atom(condition, context)
    except Exception:  # a predicate may break on what no rule guards it from; that is the engine's to report
        return None


def atoms(condition: terms.Condition, wanted: bool = True) -> Iterator[Wanted]:
    """The atoms of a condition, each with the value that helps it to be true."""
    match condition:
        case terms.Not(operand=inner):
            yield from atoms(inner, not wanted)
        case terms.And(operands=parts) | terms.Or(operands=parts):
            for part in parts:
                yield from atoms(part, wanted)
        case _:
            yield condition, wanted


def reads_of(term: terms.Value | terms.Condition) -> Iterator[terms.Read]:
    """The fields and facts that a term reads."""
    if isinstance(term, terms.Read):
        yield term
    for child in terms.children(term):
        yield from reads_of(child)


def constants_of(term: terms.Value | terms.Condition) -> Iterator[Any]:
    """The values that a term names."""
    if isinstance(term, terms.Constant):
        yield term.value
    elif isinstance(term, terms.Membership):
        yield from term.constants
    for child in terms.children(term):
        yield from constants_of(child)


def atom_name(condition: terms.Condition, wanted: bool) -> str:
    """An atom with its value, as one word."""
    sign = "" if wanted else "not:"
    match condition:
        case terms.Presence(operand=value):
            return f"{'given' if wanted else 'absent'}:{value_name(value)}"
        case terms.Comparison(operator=operator, left=left, right=right):
            shown = operator if wanted else _OPPOSITE[operator]
            return f"{value_name(left)}{shown}{value_name(right)}"
        case terms.Truth(operand=value):
            return f"{sign}{value_name(value)}"
        case terms.Membership(operand=value, constants=constants):
            more = f"+{len(constants) - SHOWN}" if len(constants) > SHOWN else ""
            shown = "|".join(_written(constant) for constant in constants[:SHOWN])
            return f"{sign}in({value_name(value)},{shown}{more})"
        case terms.InList(list=name, operand=value):
            return f"{sign}in({value_name(value)},list.{name})"
        case terms.HasError(error_code=code):
            return f"{sign}error.{code}"
    raise AssertionError(condition)


def value_name(value: terms.Value) -> str:
    """A value as one word, as a rule writes it."""
    match value:
        case terms.Constant(value=constant):
            return _written(constant)
        case terms.Read(name=name):
            return name
        case terms.Count(operand=operand):
            return f"count({operand.name})"
        case terms.Arithmetic(operator=sign, left=left, right=right):
            return f"{value_name(left)}{sign}{value_name(right)}"
        case terms.Call(predicate=predicate, arguments=arguments):
            return f"{predicate.name}({','.join(value_name(one) for one in arguments)})"


def delta_name(comparison: terms.Comparison) -> str:
    """A difference as one word: the left side alone where the right one is a constant."""
    if isinstance(comparison.right, terms.Constant):
        return value_name(comparison.left)
    if isinstance(comparison.left, terms.Constant):
        return value_name(comparison.right)
    return f"{value_name(comparison.left)}~{value_name(comparison.right)}"


def _written(constant: Any) -> str:
    if isinstance(constant, Decimal):
        return format(constant, "f")
    return str(constant).replace(" ", "_")


def _measurable(comparison: terms.Comparison) -> bool:
    """Whether a comparison is of numbers or dates, and about more than a field and a value that the rule names."""
    sides = (comparison.left, comparison.right)
    if not all(side.type.is_number or side.type.bases <= _DATES for side in sides):
        return False
    worked_out = any(not isinstance(side, terms.Constant | terms.Read) for side in sides)
    return worked_out or not any(isinstance(side, terms.Constant) for side in sides)


def _difference(comparison: terms.Comparison, context: Context) -> float | None:
    """Left minus right; the value alone where it is compared with a constant."""
    try:
        left, right = (
            None if isinstance(side, terms.Constant) else value_of(side, context)
            for side in (comparison.left, comparison.right)
        )
    except Exception:  # a predicate broke: there is no difference to tell
        return None
    if isinstance(comparison.left, terms.Constant):
        return None if right is None else float(right)
    if isinstance(comparison.right, terms.Constant):
        return None if left is None else float(left)
    if left is None or right is None:
        return None
    if isinstance(left, date):  # an instant is a date too
        return (_instant(left) - _instant(right)).total_seconds() / 86_400
    return float(left) - float(right)


def _instant(day: date) -> datetime:
    if isinstance(day, datetime):
        return day.replace(tzinfo=None) - (day.utcoffset() or timedelta())
    return datetime(day.year, day.month, day.day)
