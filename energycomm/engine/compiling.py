"""Rules compiled into one function per rule set, market, kind and days of validity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from functools import cache
from typing import Any, TypeAlias

from energycomm.engine.codes import CodeLists
from energycomm.engine.emission import Emitter, listed, repeated
from energycomm.engine.report import Reporter
from energycomm.engine.rule import Rule
from energycomm.engine.terms import ALWAYS, Condition
from energycomm.kernel.history import History, RegisterFacts
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Action

Hit: TypeAlias = tuple[int, int | None]
"""Position of a rule in the compiled list, and the index of the item it speaks of."""

Judge: TypeAlias = Callable[[KernelMessage, History, frozenset[str], list[Any], list[Any]], None]

Test: TypeAlias = tuple[str, int]
"""Code of a condition, and the position of its rule."""

NO_FACTS = RegisterFacts()

WORTH_REMEMBERING = 4
"""Rules that read codes and words alone: from so many on, what they say is remembered by these."""
MOST_REMEMBERED = 1024
"""Combinations of codes and words that are remembered; beyond, they are asked anew."""


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
    text, names = _source(rules, triggers, Emitter(market, codes, repeated(triggers), listed(triggers)), apart=False)

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
    asked: dict[str | None, list[Test]] = {None: []}
    for position, (rule, trigger) in enumerate(zip(rules, triggers, strict=True)):
        test = emitter.code(trigger)
        if test != "False":
            asked.setdefault(rule.each, []).append((test, position))
    functions: list[str] = []
    parts: dict[str | None, list[str]] = {}
    for name, tests in asked.items():
        settled = [] if apart else _settled(tests, emitter)
        parts[name] = []
        if settled:
            function, parts[name] = _remembering(len(parts), settled, "index" if name else "None", emitter)
            functions += function
        for test, position in tests:
            if (test, position) not in settled:
                parts[name] += _rule(test, position, "index" if name else "None", apart=apart)
    used = emitter.variables("\n".join(line for lines in parts.values() for line in lines))
    body = [f"{name} = {code}" for name, code in emitter.locals.items() if name in used]
    body += [f"{name} = {code}" for name, code, item in emitter.shared if not item and name in used]
    body += parts.pop(None)
    for name, lines in parts.items():
        body += _loop(str(name), lines, emitter)
    if not apart:
        again = "judge_apart()(message, history, errors, hits, faults)"
        body = ["try:", *_indented(body or ["pass"]), "except Exception:", "    hits.clear()", f"    {again}"]
    head = "def judge(message, history, errors, hits, faults):"
    return "\n".join([*functions, head, *_indented(body or ["pass"])]) + "\n", emitter.names


def _settled(tests: Sequence[Test], emitter: Emitter) -> list[Test]:
    """The tests that read nothing but codes and words, if there are enough of them to remember what they say."""
    found = []
    for test in tests:
        variables = emitter.variables(test[0])
        if variables and variables <= emitter.words.union(held.name for held in emitter.shared):
            found.append(test)
    return found if len(found) >= WORTH_REMEMBERING else []


def _remembering(number: int, tests: Sequence[Test], index: str, emitter: Emitter) -> tuple[list[str], list[str]]:
    """A function that says which of some tests apply, by the codes and words that they read, and the lines that ask it
    where the answer is not known: messages differ in their values and instants, and seldom in their codes."""
    used = emitter.variables("\n".join(test for test, _ in tests))
    key = "".join(f"{name}, " for name in sorted(used & emitter.words))
    function = [f"known{number} = {{}}", f"def settle{number}(key):", f"    {key}= key", "    found = []"]
    function += [f"    {name} = {code}" for name, code, _ in emitter.shared if name in used]
    function += [f"    if {test}: found.append({position})" for test, position in tests]
    function += [
        f"    if len(known{number}) >= {MOST_REMEMBERED}: known{number}.clear()",
        f"    known{number}[key] = found = tuple(found)",
        "    return found",
    ]
    lines = [
        f"key = ({key})",
        f"found = known{number}.get(key)",
        f"if found is None: found = settle{number}(key)",
        "if found:",
        f"    for position in found: hits.append((position, {index}))",
    ]
    return function, lines


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
    variables = emitter.variables("\n".join(rules))
    used = {name: read for name, read in emitter.item_locals.items() if name in variables}
    lines = [f"{name} = {read}" for name, read in used.items()]
    if any(read.startswith("previous.") for read in used.values()):
        lines.insert(0, "previous = facts[index] if index < len(facts) else no_facts")
    shared = [f"{held.name} = {held.code}" for held in emitter.shared if held.item and held.name in variables]
    return [
        "facts = history.registers",
        f"for index, item in enumerate(message.{name}):",
        *_indented([*lines, *shared, *rules]),
    ]
