"""Reading the expressions of rules: a small, safe, typed subset of Python's.

Allowed: names of the message's fields, ``history.<fact>``, in an ``each`` rule the item by its singular and for
registers ``previous.<fact>``; comparisons, also chained; ``and``, ``or``, ``not``; ``in`` with constants; ``+ - *
/``; constants and tuples of constants; ``particular('name')`` in the rules of a market; calls of declared predicates.
Nothing else: no other call, attribute, subscript, lambda, comprehension, conditional, power or formatted text.
Nothing of an expression is ever evaluated as Python text of its author: it is read into `terms` first and code is
generated from those.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, TypeVar

import msgspec

from energycomm.engine import terms
from energycomm.engine.codes import COMMON
from energycomm.engine.particulars import Declarations
from energycomm.engine.predicates import BUILT_IN, Predicate
from energycomm.engine.valuetypes import BOOL, TEXT, WHOLE, ValueType, accepts, fields_of, one
from energycomm.kernel.family import KINDS
from energycomm.kernel.history import History, RegisterFacts
from energycomm.kernel.shape import items_of

T = TypeVar("T")

LONGEST = 2000
DEEPEST = 60

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


PARTICULARS = "particulars"
"""Field that no rule reads as it is: a market's own rules read what it declares, by `particular('name')`."""


def lists_of(kind: str) -> dict[str, str]:
    """List field of a kind that rules may judge item by item -> name of its item in expressions."""
    return {name: item for name, item in items_of(KINDS[kind]).items() if name != PARTICULARS}


class ExpressionError(Exception):
    """An expression that is not allowed: the reason, and what to change.

    Attributes:
      reason: what is wrong.
      advice: what to change.
      line: of the expression.
      further: mistakes in other parts of the same expression.
    """

    def __init__(self, reason: str, advice: str, line: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice
        self.line = line
        self.further: tuple[ExpressionError, ...] = ()

    @property
    def all(self) -> tuple[ExpressionError, ...]:
        """This mistake and those in other parts of the expression."""
        return (self, *self.further)


@dataclass(frozen=True)
class Scope:
    """What an expression may name.

    Attributes:
      kind: name of the message kind.
      predicates: declared predicates by name.
      each: list field whose items are judged.
      lists: names of the code lists that every market of the rule has.
      errors: ``has_error`` may be asked (rejection rules).
      particulars: the particulars that the market of the rule declares.
      market: the market whose folder holds the rule; ``common`` for those of all.
    """

    kind: str
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    each: str | None = None
    lists: frozenset[str] = frozenset()
    errors: bool = False
    particulars: Declarations = field(default_factory=dict)
    market: str = COMMON

    @property
    def item(self) -> type[msgspec.Struct] | None:
        """Structure of the items that are judged."""
        return fields_of(KINDS[self.kind])[self.each].struct if self.each else None

    @property
    def names(self) -> dict[str, type[msgspec.Struct]]:
        """Names that have attributes, with their structures."""
        found: dict[str, type[msgspec.Struct]] = {"history": History}
        if self.each and self.item is not None:
            found[lists_of(self.kind)[self.each]] = self.item
            if self.each in ("registers", "volumes"):
                found["previous"] = RegisterFacts
        return found


def parse_condition(text: str, scope: Scope) -> terms.Condition:
    """Read a condition.

    Raises:
      ExpressionError: it is not allowed, names something unknown, or mixes types.
    """
    return _Reader(scope).condition(_tree(text))


def check_syntax(text: str) -> None:
    """Look at the form of an expression alone, where nothing is known of its names.

    Raises:
      ExpressionError: it is none.
    """
    _tree(text)


def parse_value(text: str, scope: Scope) -> terms.Value:
    """Read a value, as comment templates show them.

    Raises:
      ExpressionError: it is not allowed, names something unknown, or mixes types.
    """
    return _Reader(scope).value(_tree(text))


@lru_cache(4096)  # a rule's expressions are read for each kind that it judges, most in both languages of its comment
def _tree(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise ExpressionError(f"the expression has more than {LONGEST} characters", "Split the rule in two.")
    try:
        tree = ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = getattr(error, "msg", None) or str(error)
        line = getattr(error, "lineno", None) or 1
        raise ExpressionError(f"`{text.strip()}` is no expression: {message}", "Correct its syntax.", line) from None
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > DEEPEST:
            raise ExpressionError(f"the expression is nested deeper than {DEEPEST}", "Split the rule in two.")
        stack.extend((child, depth + 1) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
    return tree


def _near(name: str, known: Any) -> str:
    """Advice that lists names close to a misspelt one."""
    import difflib

    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    if close:
        return f"Did you mean {', '.join(close)}?"
    names = sorted(known)
    return f"Known are {', '.join(names[:24])}" + (" and others." if len(names) > 24 else ".")


def _all_of(read: Callable[[ast.expr], T], nodes: Iterable[ast.expr]) -> list[T]:
    """What is read of each part of an expression; the mistakes of all parts are told together."""
    found: list[T] = []
    wrong: list[ExpressionError] = []
    for node in nodes:
        try:
            found.append(read(node))
        except ExpressionError as error:
            wrong += error.all
    if wrong:
        wrong[0].further = tuple(wrong[1:])
        raise wrong[0]
    return found


@cache
def _fields(kind: str) -> dict[str, ValueType]:
    """The fields of a kind that expressions name; its particulars are asked for by name."""
    return {name: found for name, found in fields_of(KINDS[kind]).items() if name != PARTICULARS}


class _Reader:
    """Turns one syntax tree into terms, checking names and types on the way."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.fields = _fields(scope.kind)

    # --- conditions ----------------------------------------------------------------------------------------------

    def condition(self, node: ast.expr) -> terms.Condition:
        """A condition from a syntax tree."""
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                return terms.And(tuple(_all_of(self.condition, values)))
            case ast.BoolOp(values=values):
                return terms.Or(tuple(_all_of(self.condition, values)))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return terms.Not(self.condition(operand))
            case ast.Compare():
                return self.compare(node)
            case ast.Call(func=ast.Name(id=name)) if name in ("present", "absent", "in_list", "has_error"):
                return self.asked(name, node)
        value = self.value(node)
        if value.type.bases != {"bool"}:
            raise ExpressionError(
                f"`{ast.unparse(node)}` is {value.type}, where a condition is needed",
                f"Compare it, or ask whether it is there: present({ast.unparse(node)}).",
                node.lineno,
            )
        return terms.Truth(value)

    def asked(self, name: str, node: ast.Call) -> terms.Condition:
        """A built-in condition."""
        if node.keywords:
            raise ExpressionError(f"{name} takes no named arguments", "Write the arguments in order.", node.lineno)
        arguments = node.args
        if name in ("present", "absent"):
            if len(arguments) != 1:
                raise ExpressionError(f"{name} takes one value", f"Write {name}(field).", node.lineno)
            there = terms.Presence(self.value(arguments[0]))
            return there if name == "present" else terms.Not(there)
        if not arguments or not isinstance(arguments[0], ast.Constant) or not isinstance(arguments[0].value, str):
            raise ExpressionError(f"{name} needs a text constant first", f"Write {name}('...').", node.lineno)
        word = arguments[0].value
        if name == "has_error":
            if not self.scope.errors:
                raise ExpressionError(
                    "has_error is asked outside a rejection rule", "Move the rule to a rejection set."
                )
            if len(arguments) != 1:
                raise ExpressionError("has_error takes one error code", "Write has_error('CODE').", node.lineno)
            return terms.HasError(word)
        if len(arguments) not in (2, 3):
            raise ExpressionError(
                "in_list takes a list, a code and perhaps a day", "Write in_list('list', field).", node.lineno
            )
        if word not in self.scope.lists:
            raise ExpressionError(
                f"no code list {word!r} in every market of the rule", "Add it to codes.csv, or correct the name: "
                + _near(word, self.scope.lists), node.lineno
            )  # fmt: skip
        code = self.value(arguments[1])
        if code.type.bases != {"str"}:
            raise ExpressionError(f"in_list looks up {code.type}, not a text", "Give it a code.", node.lineno)
        day = self.value(arguments[2]) if len(arguments) == 3 else None
        if day is not None and day.type.bases != {"date"}:
            raise ExpressionError(
                f"in_list is asked on {day.type}, not a civil day", "Give it a civil day.", node.lineno
            )
        return terms.InList(word, code, day)

    def compare(self, node: ast.Compare) -> terms.Condition:
        """A comparison; a chain becomes the conjunction of its pairs."""
        pairs: list[terms.Condition] = []
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            pairs.append(self.pair(left, operator, right))
            left = right
        return pairs[0] if len(pairs) == 1 else terms.And(tuple(pairs))

    def pair(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> terms.Condition:
        """One comparison of two values."""
        if isinstance(operator, (ast.Is, ast.IsNot)):
            if not (isinstance(right, ast.Constant) and right.value is None):
                raise ExpressionError("`is` compares with None only", "Write == instead.", left.lineno)
            there = terms.Presence(self.value(left))
            return terms.Not(there) if isinstance(operator, ast.Is) else there
        if isinstance(operator, (ast.In, ast.NotIn)):
            inside = self.membership(left, right)
            return inside if isinstance(operator, ast.In) else terms.Not(inside)
        for side in (left, right):
            if isinstance(side, ast.Constant) and side.value is None:
                raise ExpressionError("None is compared with ==", "Write `is None`, or absent(...).", left.lineno)
        word = _COMPARISONS[type(operator)]
        one_side, other_side = _all_of(self.value, (left, right))
        one_side, other_side = _suit(one_side, other_side), _suit(other_side, one_side)
        self.comparable(one_side, word, other_side, left.lineno)
        return terms.Comparison(word, one_side, other_side)

    def membership(self, left: ast.expr, right: ast.expr) -> terms.Condition:
        """A value in a tuple of constants."""
        if not isinstance(right, (ast.Tuple, ast.List, ast.Set)):
            raise ExpressionError(
                "`in` needs a tuple of constants", "Write x in ('A', 'B'), or in_list('list', x).", left.lineno
            )
        operand = self.value(left)
        constants = []
        for element in right.elts:
            constant = self.value(element)
            if not isinstance(constant, terms.Constant):
                raise ExpressionError("`in` needs constants", "Write x in ('A', 'B').", left.lineno)
            suited = _suit(constant, operand)
            self.comparable(operand, "==", suited, left.lineno)
            constants.append(suited.value if isinstance(suited, terms.Constant) else constant.value)
        return terms.Membership(operand, tuple(constants))

    def comparable(self, left: terms.Value, operator: str, right: terms.Value, line: int) -> None:
        """Check that two values can be compared."""
        one_type, other_type = left.type, right.type
        if "any" in one_type.bases or "any" in other_type.bases:
            return
        shown = f"{_shown(left)} ({one_type}) {operator} {_shown(right)} ({other_type})"
        numbers = one_type.is_number and other_type.is_number
        if not numbers and one_type.bases != other_type.bases:
            raise ExpressionError(f"{shown} compares different types", "Compare values of one type.", line)
        if one_type.bases & {"struct", "list"}:
            raise ExpressionError(f"{shown} compares structures", "Compare their fields.", line)
        if operator not in ("==", "!="):
            if not numbers and not one_type.bases <= {"date", "datetime"}:
                raise ExpressionError(
                    f"{shown} puts {one_type} in an order", "Only numbers, days and instants have one.", line
                )
            return
        for value, other in ((left, right), (right, left)):
            words = value.type.words
            if words is not None and isinstance(other, terms.Constant) and other.value not in words:
                raise ExpressionError(f"{_shown(value)} is never {other.value!r}", _near(str(other.value), words), line)

    # --- values --------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> terms.Value:
        """A value from a syntax tree."""
        match node:
            case ast.Constant(value=value):
                return _constant(value, node)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)) if not isinstance(
                number, bool
            ):
                return _constant(-number, node)
            case ast.Name(id=name):
                return self.name(name, node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.BinOp(op=operator) if type(operator) in _ARITHMETIC:
                return self.arithmetic(node, _ARITHMETIC[type(operator)])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                zero = ast.copy_location(ast.Constant(0), node)
                return self.arithmetic(ast.copy_location(ast.BinOp(zero, ast.Sub(), operand), node), "-")
            case ast.Call():
                return self.call(node)
        raise ExpressionError(
            f"`{ast.unparse(node)[:80]}` is not allowed in a rule",
            "Use comparisons, and/or/not, in, + - * /, constants and predicates; write the rest as a predicate.",
            node.lineno,
        )

    def name(self, name: str, node: ast.expr) -> terms.Value:
        """A field of the message."""
        if name in self.fields:
            return terms.Read((name,), name, self.fields[name])
        if name in self.scope.names:
            raise ExpressionError(
                f"`{name}` alone is no value", f"Name what is read of it: {name}.<name>.", node.lineno
            )
        if name in self.scope.predicates or name in BUILT_IN:
            raise ExpressionError(f"predicate `{name}` is not called", f"Write {name}(...).", node.lineno)
        elsewhere = any(name in fields_of(struct) for struct in KINDS.values())
        near = _near(name, [*self.fields, *self.scope.names])
        advice = f"Take {self.scope.kind} out of applies_to, or name another field." if elsewhere else near
        raise ExpressionError(f"{self.scope.kind} has no field `{name}`", advice, node.lineno)

    def attribute(self, node: ast.Attribute) -> terms.Value:
        """A fact, a field of the item, or a field of a structure in the message."""
        shown = ast.unparse(node)
        if not isinstance(node.value, ast.Name):
            raise ExpressionError(
                f"`{shown}` is not allowed", "Read at most one level: history.known, address.city.", node.lineno
            )
        owner = node.value.id
        if owner in self.scope.names:
            struct = self.scope.names[owner]
            path = (owner if owner in ("history", "previous") else "item", node.attr)
            optional = False
        elif owner in self.fields and self.fields[owner].struct and "struct" in self.fields[owner].bases:
            struct = self.fields[owner].struct  # type: ignore[assignment]
            path, optional = (owner, node.attr), self.fields[owner].optional
        else:
            singular = {item: name for name, item in lists_of(self.scope.kind).items()}
            advice = (
                f"Add `each: {singular[owner]}` to the rule." if owner in singular
                else "Write `each: registers` or `each: volumes`: each has previous facts." if owner == "previous"
                else _near(owner, [*self.scope.names, *self.fields])
            )  # fmt: skip
            raise ExpressionError(f"`{owner}` has no attributes here", advice, node.lineno)
        known = fields_of(struct)
        if node.attr not in known:
            what = "no fact is called" if owner in ("history", "previous") else f"{owner} has no field"
            raise ExpressionError(f"{what} `{node.attr}`", _near(node.attr, known), node.lineno)
        found = known[node.attr]
        return terms.Read(path, shown, replace(found, optional=True) if optional else found)

    def arithmetic(self, node: ast.BinOp, operator: str) -> terms.Value:
        """A calculation with two numbers."""
        left, right = _all_of(self.value, (node.left, node.right))
        left, right = _suit(left, right), _suit(right, left)
        for side in (left, right):
            if not side.type.is_number:
                days = side.type.bases & {"date", "datetime"}
                advice = "Use a predicate that counts days." if days else "Calculate with numbers only."
                raise ExpressionError(f"`{ast.unparse(node)}` calculates with {side.type}", advice, node.lineno)
        bases = left.type.bases | right.type.bases
        if {"decimal", "float"} <= bases:
            raise ExpressionError(
                f"`{ast.unparse(node)}` mixes decimal and floating numbers",
                "Compare them, or use a predicate.",
                node.lineno,
            )
        if operator == "/" and bases == {"int"}:
            bases = frozenset({"float"})
        return terms.Arithmetic(operator, left, right, ValueType(bases, left.type.optional or right.type.optional))

    def call(self, node: ast.Call) -> terms.Value:
        """A predicate applied to values."""
        if not isinstance(node.func, ast.Name):
            raise ExpressionError(
                f"`{ast.unparse(node)[:80]}` calls a method", "Call declared predicates only.", node.lineno
            )
        name = node.func.id
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise ExpressionError(
                f"{name} is called with named arguments", "Write the arguments in order.", node.lineno
            )
        if name == "count":
            return self.count(node)
        if name == "particular":
            return self.particular(node)
        if name in BUILT_IN:
            raise ExpressionError(
                f"{name}(...) is a condition, not a value", "Join it with and/or/not only.", node.lineno
            )
        predicate = self.scope.predicates.get(name)
        if predicate is None:
            advice = _near(name, [*self.scope.predicates, *BUILT_IN])
            raise ExpressionError(f"no predicate is called `{name}`", advice, node.lineno)
        if not predicate.required <= len(node.args) <= len(predicate.parameters):
            wanted = f"{predicate.required}" if predicate.required == len(predicate.parameters) else (
                f"{predicate.required} to {len(predicate.parameters)}"
            )  # fmt: skip
            raise ExpressionError(
                f"{name} takes {wanted} values, not {len(node.args)}", f"Write {predicate.signature}.", node.lineno
            )
        arguments: list[terms.Value] = []
        unknown = False
        values = _all_of(self.value, node.args)
        for written, value, (parameter, wanted_type) in zip(node.args, values, predicate.parameters, strict=False):
            if "float" not in wanted_type.bases:
                value = _exact(value)
            if not accepts(wanted_type, value.type):
                raise ExpressionError(
                    f"{name}: {parameter} is {wanted_type}, `{ast.unparse(written)}` is {value.type}",
                    f"Write {predicate.signature}.", node.lineno,
                )  # fmt: skip
            unknown = unknown or (value.type.optional and not wanted_type.optional)
            arguments.append(value)
        returns = predicate.returns
        return terms.Call(predicate, tuple(arguments), replace(returns, optional=returns.optional or unknown))

    def count(self, node: ast.Call) -> terms.Value:
        """The number of items of a list."""
        operand = self.value(node.args[0]) if len(node.args) == 1 else None
        if not isinstance(operand, terms.Read) or operand.type.bases != {"list"}:
            raise ExpressionError("count takes a list of the message", "Write count(registers).", node.lineno)
        return terms.Count(operand, WHOLE)

    def particular(self, node: ast.Call) -> terms.Value:
        """A particular that the market of the rule declares."""
        if len(node.args) != 1 or not isinstance(node.args[0], ast.Constant) or not isinstance(node.args[0].value, str):
            raise ExpressionError("particular takes one name", "Write particular('name').", node.lineno)
        name = node.args[0].value
        if self.scope.market == COMMON:
            raise ExpressionError(
                "particulars are read by the rules of their market only", "Move the rule to its folder.", node.lineno
            )
        declared = self.scope.particulars.get(name)
        if declared is None:
            near = _near(name, self.scope.particulars) if self.scope.particulars else "It declares none yet."
            raise ExpressionError(
                f"{self.scope.market} declares no particular {name!r}",
                f"Add it to particulars.csv. {near}",
                node.lineno,
            )
        return terms.Read(("particular", declared.type, name), f"particular({name!r})", declared.read)


def _constant(value: Any, node: ast.expr) -> terms.Constant:
    if isinstance(value, bool):
        return terms.Constant(value, BOOL)
    if isinstance(value, int):
        return terms.Constant(value, WHOLE)
    if isinstance(value, float):
        return terms.Constant(value, ValueType(frozenset({"decimal", "float"})))
    if isinstance(value, str):
        return terms.Constant(value, TEXT)
    raise ExpressionError(f"constant {value!r} is not allowed", "Use text, numbers, True and False.", node.lineno)


def _exact(value: terms.Value) -> terms.Value:
    """A written fraction as the exact decimal it says."""
    if isinstance(value, terms.Constant) and isinstance(value.value, float):
        return terms.Constant(Decimal(repr(value.value)), one("decimal"))
    return value


def _suit(value: terms.Value, other: terms.Value) -> terms.Value:
    """A value as it meets another: a written fraction stays floating where the other is, and is exact elsewhere."""
    if isinstance(value, terms.Constant) and isinstance(value.value, float) and other.type.bases == {"float"}:
        return terms.Constant(value.value, one("float"))
    return _exact(value)


def _shown(value: terms.Value) -> str:
    match value:
        case terms.Constant(value=constant):
            return repr(constant)
        case terms.Read(name=name):
            return f"`{name}`"
        case terms.Call(predicate=predicate):
            return f"`{predicate.name}(...)`"
        case terms.Count(operand=operand):
            return f"`count({operand.name})`"
        case _:
            return "the calculation"
