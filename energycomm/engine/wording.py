"""Conditions in English words, for people who do not read expressions."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from energycomm.engine import terms
from energycomm.engine.expressions import lists_of
from energycomm.engine.rule import Rule

_COMPARED = {
    "==": "is",
    "!=": "is not",
    "<": "is below",
    "<=": "is at most",
    ">": "is above",
    ">=": "is at least",
}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_CALCULATED = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}


def condition_in_words(rule: Rule) -> str:
    """The condition of a rule (or when an action rule applies), as one English sentence.

    The words are those of the first kind it applies to.
    """
    kind = rule.applies_to[0]
    scope, violation = rule.conditions[kind]
    begin = f"For each {item_in_words(rule)}: " if rule.each else ""
    when = "" if scope == terms.ALWAYS else words(scope)
    if not rule.judges:
        text = when or "always"
    else:
        demanded = words(terms.Not(violation))
        text = f"when {when}, then {demanded}" if when else demanded
    sentence = f"{begin}{text}."
    return sentence[0].upper() + sentence[1:]


def item_in_words(rule: Rule) -> str:
    """What a rule judges one by one."""
    return _plain(lists_of(rule.applies_to[0])[rule.each]) if rule.each else ""


def words(condition: terms.Condition, wanted: bool = True, inside: bool = False) -> str:
    """A condition, or its contrary, in words."""
    match condition:
        case terms.Not(operand=inner):
            return words(inner, not wanted, inside)
        case terms.And(operands=parts) | terms.Or(operands=parts):
            if not parts:
                return "always" if isinstance(condition, terms.And) == wanted else "never"
            joint = " and " if isinstance(condition, terms.And) == wanted else " or "
            text = joint.join(words(part, wanted, True) for part in parts)
            return f"({text})" if inside and len(parts) > 1 else text
        case terms.Presence(operand=value):
            return f"{named(value)} is {'given' if wanted else 'absent'}"
        case terms.HasError(error_code=code):
            return f"the message {'has' if wanted else 'does not have'} the error {code}"
        case terms.Truth(operand=terms.Call() as call):
            return f"{named(call)} {'holds' if wanted else 'does not hold'}"
        case terms.Truth(operand=value):
            return f"{named(value)} is {'yes' if wanted else 'no'}"
        case terms.Comparison(operator=sign, left=left, right=right):
            return f"{named(left)} {_COMPARED[sign if wanted else _OPPOSITE[sign]]} {named(right)}"
        case terms.Membership(operand=value, constants=constants):
            shown = ", ".join(_constant(constant) for constant in constants)
            return f"{named(value)} is {'one' if wanted else 'none'} of {shown}"
        case terms.InList(list=name, operand=value, day=day):
            when = f" on {named(day)}" if day is not None else ""
            return f"{named(value)} {'stands' if wanted else 'does not stand'} in the code list `{name}`{when}"
    raise AssertionError(condition)


def named(value: terms.Value) -> str:
    """A value in words."""
    match value:
        case terms.Constant(value=constant):
            return _constant(constant)
        case terms.Read(path=("history", fact)):
            return f"{_plain(fact)} (history)"
        case terms.Read(path=("previous", fact)):
            return f"{_plain(fact)} (previous reading)"
        case terms.Read(path=("item", field), name=name):
            return f"the {name.partition('.')[0]}'s {_plain(field)}"
        case terms.Read(path=("particular", _, called)):
            return f"the market's `{called}`"
        case terms.Read(path=(owner, field)):
            return f"{_plain(field)} of the {_plain(owner)}"
        case terms.Read(path=path):
            return _plain(path[0])
        case terms.Count(operand=operand):
            return f"the number of {_plain(operand.path[0])}"
        case terms.Arithmetic(operator=sign, left=left, right=right):
            return f"{named(left)} {_CALCULATED[sign]} {named(right)}"
        case terms.Call(predicate=predicate, arguments=arguments):
            return f"`{predicate.name}`({'; '.join(named(argument) for argument in arguments)})"


def _plain(name: str) -> str:
    return name.replace("_", " ").removesuffix(" wh") + (" in Wh" if name.endswith("_wh") else "")


def _constant(constant: Any) -> str:
    if isinstance(constant, bool):
        return "yes" if constant else "no"
    if isinstance(constant, Decimal):
        return format(constant, "f")
    return f"“{constant}”" if isinstance(constant, str) else str(constant)
