"""Conditions in words, for people who do not read expressions: in English, or in a reader's language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from energycomm.engine import terms
from energycomm.engine.expressions import lists_of
from energycomm.engine.rule import Rule
from energycomm.kernel.declaration import Declared
from energycomm.kernel.family import KINDS
from energycomm.kernel.history import stated_facts
from energycomm.kernel.shape import shape_of
from energycomm.texts import wording
from energycomm.texts.catalogues import translate

_COMPARED = {
    "==": wording("{left} is {right}"),
    "!=": wording("{left} is not {right}"),
    "<": wording("{left} is below {right}"),
    "<=": wording("{left} is at most {right}"),
    ">": wording("{left} is above {right}"),
    ">=": wording("{left} is at least {right}"),
}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_CALCULATED = {
    "+": wording("{left} plus {right}"),
    "-": wording("{left} minus {right}"),
    "*": wording("{left} times {right}"),
    "/": wording("{left} divided by {right}"),
}


def condition_in_words(rule: Rule, language: str = "en") -> str:
    """The condition of a rule (or when an action rule applies), as one sentence.

    The words are those of the first kind it applies to.

    Args:
      rule: the rule.
      language: en, fr or nl.
    """
    kind = rule.applies_to[0]
    tongue = Tongue(language, kind)
    scope, violation = rule.conditions[kind]
    when = "" if scope == terms.ALWAYS else tongue.words(scope)
    if not rule.judges:
        text = when or tongue.t(wording("always"))
    else:
        demanded = tongue.words(terms.Not(violation))
        text = tongue.t(wording("when {when}, then {then}"), when=when, then=demanded) if when else demanded
    if rule.each:
        text = tongue.t(wording("For each {item}: {condition}"), item=item_in_words(rule, language), condition=text)
    return f"{text[0].upper()}{text[1:]}."


def item_in_words(rule: Rule, language: str = "en") -> str:
    """What a rule judges one by one."""
    return Tongue(language, rule.applies_to[0]).item(lists_of(rule.applies_to[0])[rule.each]) if rule.each else ""


def plain(name: str) -> str:
    """A name of the Kernel as plain English words."""
    return name.replace("_", " ").removesuffix(" wh") + (" in Wh" if name.endswith("_wh") else "")


Names = Mapping[str, Declared]


@cache
def _fields(kind: str) -> Names:
    """Field of a kind -> its declaration."""
    shape = shape_of(KINDS[kind])
    found = {one.field: one.declared for one in shape.attributes}
    return found | {one.field: one.declared for one in shape.children}


@cache
def _parts(kind: str) -> Mapping[str, Names]:
    """What a kind calls one of its parts, or the field that holds it -> fields of the part, with their declarations."""
    found: dict[str, Names] = {}
    for child in shape_of(KINDS[kind]).children:
        names = {one.field: one.declared for one in shape_of(child.part).attributes}
        found |= {child.field: names, child.declared.item: names}
    return found


@cache
def _facts() -> Names:
    """Fact that a field states -> the declaration of the field."""
    return {fact.name: fact.declared for fact in stated_facts()}


def declarations() -> Iterator[Declared]:
    """The declaration of every field that a condition may name."""
    for kind in KINDS:
        yield from _fields(kind).values()
        for names in _parts(kind).values():
            yield from names.values()


class Tongue:
    """Conditions in a language.

    Args:
      language: en, fr or nl.
      kind: of the messages that they are about.
    """

    def __init__(self, language: str, kind: str) -> None:
        self.language, self.kind = language, kind

    def t(self, text: str, **values: str) -> str:
        """A text of ours with its values."""
        return translate(text, self.language).format(**values)

    def name(self, name: str, names: Names | None = None) -> str:
        """The name of a field or fact.

        Args:
          name: as rules write it.
          names: the declarations it may have; without one its plain name is translated.
        """
        if self.language == "en":
            return plain(name)
        declared = (names or {}).get(name, Declared())
        found = declared.label(self.language)
        if self.language != "fr" or not found:
            found = translate(declared.label("en") or plain(name), self.language)
        return self.t(wording("“{name}”"), name=f"{found[:1].lower()}{found[1:]}")

    def item(self, name: str) -> str:
        """What a rule judges one by one."""
        return translate(plain(name), self.language)

    def words(self, condition: terms.Condition, wanted: bool = True, inside: bool = False) -> str:
        """A condition, or its contrary, in words."""
        match condition:
            case terms.Not(operand=inner):
                return self.words(inner, not wanted, inside)
            case terms.And(operands=parts) | terms.Or(operands=parts):
                both = isinstance(condition, terms.And) == wanted
                if not parts:
                    return self.t(wording("always") if both else wording("never"))
                joint = self.t(wording("and") if both else wording("or"))
                text = f" {joint} ".join(self.words(part, wanted, True) for part in parts)
                return f"({text})" if inside and len(parts) > 1 else text
            case terms.Presence(operand=value):
                form = wording("{value} is given") if wanted else wording("{value} is absent")
                return self.t(form, value=self.named(value))
            case terms.HasError(error_code=code):
                form = wording("the message has the error {code}")
                return self.t(form if wanted else wording("the message does not have the error {code}"), code=code)
            case terms.Truth(operand=terms.Call() as call):
                form = wording("{value} holds") if wanted else wording("{value} does not hold")
                return self.t(form, value=self.named(call))
            case terms.Truth(operand=value):
                form = wording("{value} is yes") if wanted else wording("{value} is no")
                return self.t(form, value=self.named(value))
            case terms.Comparison(operator=sign, left=left, right=right):
                form = _COMPARED[sign if wanted else _OPPOSITE[sign]]
                return self.t(form, left=self.named(left), right=self.named(right))
            case terms.Membership(operand=value, constants=constants):
                shown = ", ".join(self._constant(constant) for constant in constants)
                form = wording("{value} is one of {list}") if wanted else wording("{value} is none of {list}")
                return self.t(form, value=self.named(value), list=shown)
            case terms.InList(list=name, operand=value, day=day):
                form = wording("{value} stands in the code list `{list}`")
                form = form if wanted else wording("{value} does not stand in the code list `{list}`")
                text = self.t(form, value=self.named(value), list=name)
                return (
                    text
                    if day is None
                    else self.t(wording("{condition} on {day}"), condition=text, day=self.named(day))
                )
        raise AssertionError(condition)

    def named(self, value: terms.Value) -> str:
        """A value in words."""
        fields = _fields(self.kind)
        match value:
            case terms.Constant(value=constant):
                return self._constant(constant)
            case terms.Read(path=("history", fact)):
                return self.t(wording("{name} (history)"), name=self.name(fact, _facts()))
            case terms.Read(path=("previous", fact)):
                return self.t(wording("{name} (previous reading)"), name=self.name(fact))
            case terms.Read(path=("item", field), name=name):
                item = name.partition(".")[0]
                told = self.name(field, _parts(self.kind).get(item))
                return self.t(wording("the {item}'s {name}"), item=self.item(item), name=told)
            case terms.Read(path=("particular", _, called)):
                return self.t(wording("the market's `{name}`"), name=called)
            case terms.Read(path=(owner, field)):
                told = self.name(field, _parts(self.kind).get(owner))
                return self.t(wording("{name} of the {owner}"), name=told, owner=self.name(owner, fields))
            case terms.Read(path=path):
                return self.name(path[0], fields)
            case terms.Count(operand=operand):
                return self.t(wording("the number of {name}"), name=self.name(operand.path[0], fields))
            case terms.Arithmetic(operator=sign, left=left, right=right):
                return self.t(_CALCULATED[sign], left=self.named(left), right=self.named(right))
            case terms.Call(predicate=predicate, arguments=arguments):
                return f"`{predicate.name}`({'; '.join(self.named(argument) for argument in arguments)})"

    def _constant(self, constant: Any) -> str:
        if isinstance(constant, bool):
            return self.t(wording("yes") if constant else wording("no"))
        if isinstance(constant, Decimal):
            return format(constant, "f")
        return (
            self.t("“{name}”", name=translate(constant, self.language)) if isinstance(constant, str) else str(constant)
        )
