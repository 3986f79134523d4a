"""Judging terms directly, without generated code: for explanations, and as a second opinion on the compiled form."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from energycomm.engine import terms
from energycomm.engine.codes import CodeLists
from energycomm.engine.particulars import particular
from energycomm.kernel.history import History, RegisterFacts
from energycomm.kernel.messages import KernelMessage

NO_FACTS = RegisterFacts()

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


@dataclass(frozen=True)
class Context:
    """What a rule sees: the message, its history, and in an ``each`` rule one item with its facts."""

    message: KernelMessage
    history: History
    codes: CodeLists
    errors: frozenset[str] = frozenset()
    item: Any = None
    previous: RegisterFacts = NO_FACTS


def contexts(
    message: KernelMessage, history: History, codes: CodeLists, errors: frozenset[str], each: str | None
) -> list[tuple[int | None, Context]]:
    """The contexts a rule is judged in: one, or one an item, with the item's index."""
    if each is None:
        return [(None, Context(message, history, codes, errors))]
    facts = history.registers
    return [
        (index, Context(message, history, codes, errors, item, facts[index] if index < len(facts) else NO_FACTS))
        for index, item in enumerate(getattr(message, each))
    ]


def value_of(value: terms.Value, context: Context) -> Any:
    """The value of a term, None where it is absent or unknown."""
    match value:
        case terms.Constant(value=constant):
            return constant
        case terms.Read(path=path):
            return _read(path, context)
        case terms.Count(operand=operand):
            found = _read(operand.path, context)
            return None if found is None else len(found)
        case terms.Arithmetic(operator=sign, left=left, right=right):
            one, other = value_of(left, context), value_of(right, context)
            return None if one is None or other is None else _ARITHMETIC[sign](one, other)
        case terms.Call(predicate=predicate, arguments=arguments):
            read: list[Any] = [context.message] if predicate.needs_message else []
            for argument, (_, wanted) in zip(arguments, predicate.parameters, strict=False):
                found = value_of(argument, context)
                if found is None and not wanted.optional:
                    return None
                read.append(found)
            return predicate.function(*read)


def _read(path: tuple[str, ...], context: Context) -> Any:
    match path:
        case ("history", fact):
            return getattr(context.history, fact)
        case ("particular", kind, called):
            return particular(context.message.particulars, kind, called)
        case ("item", field):
            return getattr(context.item, field)
        case ("previous", fact):
            return getattr(context.previous, fact)
        case (owner, field):
            whole = getattr(context.message, owner)
            return None if whole is None else getattr(whole, field)
    return getattr(context.message, path[0])


def is_true(condition: terms.Condition, context: Context) -> bool:
    """Whether a condition is definitely true."""
    return _is(condition, context, True)


def is_false(condition: terms.Condition, context: Context) -> bool:
    """Whether a condition is definitely false."""
    return _is(condition, context, False)


def _is(condition: terms.Condition, context: Context, wanted: bool) -> bool:
    match condition:
        case terms.Not(operand=inner):
            return _is(inner, context, not wanted)
        case terms.And(operands=parts):
            return (all if wanted else any)(_is(part, context, wanted) for part in parts)
        case terms.Or(operands=parts):
            return (any if wanted else all)(_is(part, context, wanted) for part in parts)
        case _:
            return atom(condition, context) is wanted


def atom(condition: terms.Condition, context: Context) -> bool | None:
    """A condition on values: true, false, or None for unknown."""
    match condition:
        case terms.Presence(operand=value):
            return value_of(value, context) is not None
        case terms.HasError(error_code=code):
            return code in context.errors
        case terms.Truth(operand=value):
            found = value_of(value, context)
            return None if found is None else bool(found)
        case terms.Comparison(operator=sign, left=left, right=right):
            one, other = value_of(left, context), value_of(right, context)
            return None if one is None or other is None else COMPARISONS[sign](one, other)
        case terms.Membership(operand=value, constants=constants):
            found = value_of(value, context)
            return None if found is None else found in constants
        case terms.InList(list=name, operand=value, day=day):
            code = value_of(value, context)
            on = context.message.effective.date() if day is None else value_of(day, context)
            if code is None or on is None:
                return None
            return context.codes.get(context.message.market, name, code, on) is not None
    raise AssertionError(condition)
