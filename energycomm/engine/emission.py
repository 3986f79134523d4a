"""Python code for the terms of rules, written so that an absent value never raises.

A condition is emitted in two forms: code that is true exactly when the condition is *definitely* true, and code that is
true exactly when it is *definitely* false. Neither is true for an unknown one. That keeps the generated code a plain
boolean expression, without any bookkeeping of unknowns at run time.

Rules of one kind ask the same things again and again: what several of them contain (`repeated`) is worked out once, in
a variable of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

from energycomm.engine import terms
from energycomm.engine.codes import CodeEntry, CodeLists
from energycomm.engine.particulars import particular
from energycomm.engine.predicates import Predicate

_CONTRARY = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

_NAME = re.compile(r"[A-Za-z_]\w*")

Guards = list[str]
Term: TypeAlias = terms.Value | terms.Condition


def repeated(conditions: Iterable[terms.Condition]) -> frozenset[Term]:
    """The comparisons and calls that occur several times in some conditions."""
    counts: Counter[Term] = Counter()
    stack: list[Term] = list(conditions)
    while stack:
        term = stack.pop()
        if isinstance(term, terms.Call | terms.Comparison | terms.Membership | terms.InList):
            counts[term] += 1
        stack.extend(terms.children(term))
    return frozenset(term for term, count in counts.items() if count > 1)


def listed(conditions: Iterable[terms.Condition]) -> frozenset[tuple[str, ...]]:
    """The paths of values that some conditions compare with constants, or look up in a list: a text among them is a
    code, of which there are few."""
    found: set[tuple[str, ...]] = set()
    stack: list[Term] = list(conditions)
    while stack:
        match term := stack.pop():
            case terms.Membership(operand=terms.Read(path=path)) | terms.InList(operand=terms.Read(path=path)):
                found.add(path)
            case terms.Comparison(left=terms.Read(path=path), right=terms.Constant()):
                found.add(path)
        stack.extend(terms.children(term))
    return frozenset(found)


MOST_REMEMBERED = 4096
"""Answers of one predicate that are remembered."""


def called(predicate: Predicate) -> Callable[..., Any]:
    """The function that answers for a predicate. What is asked about texts alone is remembered: few parties and points
    are named in many messages."""
    bases = [wanted.bases for _, wanted in predicate.parameters]
    texts = bases and bases[0] == {"str"} and all(one in ({"str"}, {"int"}) for one in bases)
    return _remembering(predicate.function) if texts and not predicate.needs_message else predicate.function


@cache
def _remembering(function: Callable[..., Any]) -> Callable[..., Any]:
    return lru_cache(maxsize=MOST_REMEMBERED)(function)


class Shared(NamedTuple):
    """Expressions that are computed once.

    Attributes:
      name: variable that holds it.
      code: what fills the variable.
      item: it depends on the item of an ``each`` rule.
    """

    name: str
    code: str
    item: bool


class Emitter:
    """Writes the code of conditions and values for one market, and collects what that code needs.

    Args:
      market: the market, upper case.
      codes: code lists.
      once: terms to work out once, before the conditions; code of a shared term must be run even where no condition
        would have come to it, so it may raise where the conditions alone would not.
      codes_at: paths of texts that are codes (`listed`).

    Attributes:
      locals: local variable -> code that fills it, for fields of the message and facts.
      item_locals: the same for the item of an ``each`` rule and its register's facts.
      shared: what is worked out once, in the order in which it must be.
      words: those of the local variables that hold one of few values: codes, words of closed lists, yes or no.
      names: global name -> object that the code refers to.
    """

    def __init__(
        self,
        market: str,
        codes: CodeLists,
        once: frozenset[Term] = frozenset(),
        codes_at: frozenset[tuple[str, ...]] = frozenset(),
    ) -> None:
        self.market = market
        self.codes = codes
        self.locals: dict[str, str] = {}
        self.item_locals: dict[str, str] = {}
        self.words: set[str] = set()
        self.names: dict[str, Any] = {}
        self._once, self._codes_at = once, codes_at
        self._held: dict[tuple[Term, bool], Shared] = {}
        self._temporaries = 0

    @property
    def shared(self) -> list[Shared]:
        """The expressions that are computed once, in order of dependency."""
        return list(self._held.values())

    # --- conditions ----------------------------------------------------------------------------------------------

    def code(self, condition: terms.Condition, *, positive: bool = True) -> str:
        """Code that is true when the condition is definitely true, or definitely false where not `positive`."""
        match condition:
            case terms.And(operands=parts) | terms.Or(operands=parts):
                codes = [self.code(part, positive=positive) for part in parts]
                return _join("and" if isinstance(condition, terms.And) == positive else "or", codes)
            case terms.Not(operand=inner):
                return self.code(inner, positive=not positive)
            case terms.Presence(operand=value):
                guards = self.presence(value)
                return _join("and", guards) if positive else f"not ({' and '.join(guards)})" if guards else "False"
            case terms.HasError(error_code=code):
                return f"{code!r} {'in' if positive else 'not in'} errors"
        return self.atom(condition, positive=positive)

    def atom(self, condition: terms.Condition, *, positive: bool) -> str:
        """A condition on values, guarded against absent ones."""
        if condition in self._once:
            held = self._held.get((condition, positive))
            return (held or self._hold(condition, positive, self._atom(condition, positive=positive))).name
        return self._atom(condition, positive=positive)

    def _atom(self, condition: terms.Condition, *, positive: bool) -> str:
        guards: Guards = []
        match condition:
            case terms.Truth(operand=value):
                code = self.value(value, guards)
                test = code if positive else f"not {code}"
            case terms.Comparison(operator=operator, left=left, right=right):
                left_code, right_code = self.value(left, guards), self.value(right, guards)
                test = f"{left_code} {operator if positive else _CONTRARY[operator]} {right_code}"
            case terms.Membership(operand=value, constants=constants):
                code = self.value(value, guards)
                test = f"{code} {'in' if positive else 'not in'} {self.constant(frozenset(constants))}"
            case terms.InList(list=name, operand=value, day=day):
                code = self.value(value, guards)
                test = self.looked_up(name, code, day, guards)
                test = test if positive else f"not {test}"
            case _:
                raise AssertionError(condition)
        return _join("and", [*guards, test])

    def _hold(self, term: Term, positive: bool, code: str) -> Shared:
        """A variable for a term that several conditions contain."""
        words = set(_NAME.findall(code))
        item = not words.isdisjoint(self.item_locals) or any(
            held.item and held.name in words for held in self._held.values()
        )
        held = self._held[term, positive] = Shared(f"s{len(self._held)}", code, item)
        return held

    def looked_up(self, name: str, code: str, day: terms.Value | None, guards: Guards) -> str:
        """Code that looks a code up in a list of the market."""
        entries = self.codes.codes(self.market, name)
        if all(entry.since is None and entry.until is None for periods in entries.values() for entry in periods):
            return f"({code} in {self.constant(frozenset(entries))})"
        when = self.value(day, guards) if day is not None else self.local("day", "message.effective.date()")
        self.names[f"L_{name}"] = _DatedList(dict(entries))
        return f"L_{name}.has({code}, {when})"

    def presence(self, value: terms.Value) -> Guards:
        """Conditions under which a value is there."""
        guards: Guards = []
        code = self.value(value, guards)
        if not guards and code != "None":
            return []
        return guards

    # --- values --------------------------------------------------------------------------------------------------

    def value(self, value: terms.Value, guards: Guards) -> str:
        """Code of a value; what must hold before it may be evaluated is appended to `guards`, in order."""
        match value:
            case terms.Constant(value=constant):
                return self.constant(constant)
            case terms.Read():
                return self.read(value, guards)
            case terms.Count(operand=operand):
                return f"len({self.read(operand, guards)})"
            case terms.Arithmetic(operator=operator, left=left, right=right):
                return f"({self.value(left, guards)} {operator} {self.value(right, guards)})"
            case terms.Call():
                return self.call(value, guards)

    def call(self, call: terms.Call, guards: Guards) -> str:
        """Code that calls a predicate."""
        if call in self._once:
            held = self._held.get((call, True))
            if held is None:
                inner: Guards = []
                code = self._call(call, inner)
                held = self._hold(call, True, f"{code} if {' and '.join(inner)} else None" if inner else code)
            if call.type.optional:
                guards.append(f"{held.name} is not None")
            return held.name
        return self._call(call, guards)

    def _call(self, call: terms.Call, guards: Guards) -> str:
        predicate = call.predicate
        arguments = ["message"] if predicate.needs_message else []
        for argument, (_, wanted) in zip(call.arguments, predicate.parameters, strict=False):
            if wanted.optional:
                arguments.append(self.optional(argument))
            else:
                arguments.append(self.value(argument, guards))
        self.names[f"P_{predicate.name}"] = called(predicate)
        code = f"P_{predicate.name}({', '.join(arguments)})"
        return self.kept(code, guards) if predicate.returns.optional else code

    def optional(self, value: terms.Value) -> str:
        """Code of a value that may be None, for parameters that take it."""
        if isinstance(value, terms.Read) and len(value.path) == 1:
            return self.read(value, [])
        guards: Guards = []
        code = self.value(value, guards)
        return f"({code} if {' and '.join(guards)} else None)" if guards else code

    def read(self, read: terms.Read, guards: Guards) -> str:
        """Code that reads a field or fact through a local variable."""
        path = read.path
        match path:
            case ("history", fact):
                name = self.local(f"h_{fact}", f"history.{fact}")
            case ("particular", kind, called):
                name = self.particular(f"particular(message.particulars, {kind!r}, {called!r})")
            case ("item", field):
                name = f"i_{field}"
                self.item_locals[name] = f"item.{field}"
            case ("previous", fact):
                name = f"p_{fact}"
                self.item_locals[name] = f"previous.{fact}"
            case (owner, field):
                whole = self.local(f"m_{owner}", f"message.{owner}")
                guards.append(f"{whole} is not None")
                code = f"{whole}.{field}"
                return self.kept(code, guards) if read.type.optional else code
            case _:
                name = self.local(f"m_{path[0]}", f"message.{path[0]}")
        if path[0] not in ("history", "previous", "particular") and self._is_word(read):
            self.words.add(name)
        if read.type.optional:
            guards.append(f"{name} is not None")
        return name

    def _is_word(self, read: terms.Read) -> bool:
        kind = read.type
        return kind.bases == {"bool"} or (kind.bases == {"str"} and (bool(kind.words) or read.path in self._codes_at))

    def variables(self, code: str) -> set[str]:
        """The local variables that code refers to, also through shared terms; `message` and `errors` among them."""
        shared = {held.name: held.code for held in self._held.values()}
        known = shared.keys() | self.locals.keys() | self.item_locals.keys() | {"message", "errors"}
        found: set[str] = set()
        left = [code]
        while left:
            for name in known.intersection(_NAME.findall(left.pop())) - found:
                found.add(name)
                if name in shared:
                    left.append(shared[name])
        return found

    def kept(self, code: str, guards: Guards) -> str:
        """A temporary that holds a result that may be None, guarded."""
        self._temporaries += 1
        name = f"t{self._temporaries}"
        guards.append(f"({name} := {code}) is not None")
        return name

    def local(self, name: str, code: str) -> str:
        """A local variable of the generated function, filled once a message."""
        self.locals[name] = code
        return name

    def particular(self, code: str) -> str:
        """The local variable of a particular: its name may be none that Python knows."""
        self.names["particular"] = particular
        known = (name for name, held in self.locals.items() if held == code)
        return self.local(next(known, f"v{len(self.locals)}"), code)

    def constant(self, constant: Any) -> str:
        """Code of a constant."""
        if isinstance(constant, bool | int | str):
            return repr(constant)
        if isinstance(constant, frozenset) and constant and all(isinstance(member, str | int) for member in constant):
            # A set display of constants is folded by the compiler into one frozenset.
            return "{" + ", ".join(sorted(repr(member) for member in constant)) + "}"
        kind = "D" if isinstance(constant, Decimal) else "C"
        for name, known in self.names.items():
            if name.startswith(kind + "_") and type(known) is type(constant) and known == constant:
                return name
        name = f"{kind}_{len(self.names)}"
        self.names[name] = constant
        return name


class _DatedList:
    """A code list whose codes are valid on some days only."""

    def __init__(self, entries: dict[str, tuple[CodeEntry, ...]]) -> None:
        self.entries = entries

    def has(self, code: str, day: Any) -> bool:
        """Whether the code is valid on the day."""
        return any(entry.valid_on(day) for entry in self.entries.get(code, ()))


def _join(word: str, parts: list[str]) -> str:
    empty, absorbing = ("True", "False") if word == "and" else ("False", "True")
    if absorbing in parts:
        return absorbing
    kept = list(dict.fromkeys(part for part in parts if part != empty))
    if not kept:
        return empty
    return kept[0] if len(kept) == 1 else "(" + f" {word} ".join(kept) + ")"
