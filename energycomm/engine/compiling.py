"""Rules compiled into one function per rule set, market, kind and days of validity."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from functools import cache
from typing import Any, TypeAlias

from energycomm.engine.codes import CodeLists
from energycomm.engine.emission import Emitter, repeated
from energycomm.engine.report import Reporter
from energycomm.engine.rule import Rule
from energycomm.engine.terms import ALWAYS, Condition
from energycomm.kernel.history import History, RegisterFacts
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Action

Hit: TypeAlias = tuple[int, int | None]
"""Position of a rule in the compiled list, and the index of the item it speaks of."""

Judge: TypeAlias = Callable[[KernelMessage, History, frozenset[str], list[Any], list[Any]], None]

NO_FACTS = RegisterFacts()


@dataclass(frozen=True)
class Compiled:
    """Rules ready to judge, by one function.

    Attributes:
      rules: the rules, in the order in which the function numbers them.
      judge: the function; appends `Hit`s and (position, exception) pairs to the two empty lists it is given.
      reporters: one per rule, building its finding.
      text: the generated code, for those who want to look; empty where there is none.
      actions: what was asked for by rules that applied together, by their positions; grown as messages come.
    """

    rules: tuple[Rule, ...]
    judge: Judge
    reporters: tuple[Reporter, ...]
    text: str = ""
    actions: dict[tuple[int, ...], tuple[Action, ...]] = field(default_factory=dict)


def compile_rules(rules: Sequence[Rule], kind: str, market: str, codes: CodeLists, zone: tzinfo = UTC) -> Compiled:
    """Compile rules for one kind and market into one function.

    What several rules ask is worked out once. Should anything raise, the message is judged again by a second function,
    compiled then, in which each rule stands alone: so the rule that broke is named, and harms no other.

    Args:
      rules: rules that all judge the kind and market.
      kind: name of the message kind.
      market: the market, upper case.
      codes: code lists.
      zone: legal time of the market, for the comments.
    """
    triggers = [rule.triggers.get(kind, ALWAYS) for rule in rules]
    text, names = _source(rules, triggers, Emitter(market, codes, repeated(triggers)), apart=False)

    @cache
    def judge_apart() -> Judge:
        return _function(*_source(rules, triggers, Emitter(market, codes), apart=True), f"{market} {kind}")

    judge = _function(text, {**names, "judge_apart": judge_apart}, f"{market} {kind}")
    return Compiled(tuple(rules), judge, tuple(Reporter(rule, kind, market, codes, zone) for rule in rules), text)


def _function(text: str, names: dict[str, Any], title: str) -> Judge:
    namespace = {**names, "no_facts": NO_FACTS}
    exec(compile(text, f"<rules {title}>", "exec"), namespace)  # noqa: S102 - generated from checked terms only
    judge: Judge = namespace["judge"]
    return judge


def _source(
    rules: Sequence[Rule], triggers: Sequence[Condition], emitter: Emitter, *, apart: bool
) -> tuple[str, dict[str, Any]]:
    """The function's code and the names it refers to.

    Args:
      rules: the rules.
      triggers: when each of them applies.
      emitter: writes the conditions.
      apart: isolate each rule.
    """
    plain: list[str] = []
    loops: dict[str, list[str]] = {}
    for position, (rule, trigger) in enumerate(zip(rules, triggers, strict=True)):
        test = emitter.code(trigger)
        if test == "False":
            continue
        lines = loops.setdefault(rule.each, []) if rule.each else plain
        lines += _rule(test, position, "index" if rule.each else "None", apart=apart)
    body = [f"{name} = {code}" for name, code in emitter.locals.items()]
    body += [f"{name} = {code}" for name, code, item in emitter.shared if not item]
    body += plain
    for name, lines in loops.items():
        body += _loop(name, lines, emitter)
    if not apart:
        again = "judge_apart()(message, history, errors, hits, faults)"
        body = ["try:", *_indented(body or ["pass"]), "except Exception:", "    hits.clear()", f"    {again}"]
    head = "def judge(message, history, errors, hits, faults):"
    return "\n".join([head, *_indented(body or ["pass"])]) + "\n", emitter.names


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _rule(test: str, position: int, index: str, *, apart: bool) -> list[str]:
    """One rule. A ``try`` that does not raise costs nothing in Python 3.11."""
    line = f"if {test}: hits.append(({position}, {index}))"
    return (
        ["try:", f"    {line}", f"except Exception as error: faults.append(({position}, error))"] if apart else [line]
    )


def _loop(name: str, rules: list[str], emitter: Emitter) -> list[str]:
    """All rules of one list, judged item by item in one loop."""
    shared = [f"{held.name} = {held.code}" for held in emitter.shared if held.item]
    code = "\n".join([*shared, *rules])
    used = {name: read for name, read in emitter.item_locals.items() if _mentions(code, name)}
    lines = [f"{name} = {read}" for name, read in used.items()]
    if any(read.startswith("previous.") for read in used.values()):
        lines.insert(0, "previous = facts[index] if index < len(facts) else no_facts")
    return [
        "facts = history.registers",
        f"for index, item in enumerate(message.{name}):",
        *_indented([*lines, *shared, *rules]),
    ]


def _mentions(code: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", code) is not None
