"""What only shows when rules are seen together or run: doubles, error codes that no rule gives, examples misjudged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from energycomm.engine.codes import CodeLists
from energycomm.engine.compiling import compile_rules
from energycomm.engine.problems import Problem
from energycomm.engine.rule import Rule
from energycomm.engine.terms import Condition, HasError, Value, children


def misjudged(rule: Rule, codes: CodeLists) -> list[tuple[int, str, str]]:
    """The examples of a rule whose verdict differs from the stated one: (line, reason, advice)."""
    wrong: list[tuple[int, str, str]] = []
    compile_for = cache(lambda kind, market: compile_rules((rule,), kind, market, codes))
    for example in rule.examples:
        compiled = compile_for(type(example.message).__name__, example.message.market)
        hits: list[Any] = []
        faults: list[Any] = []
        compiled.judge(example.message, example.history, example.errors, hits, faults)
        try:
            if rule.judges:
                for _, index in hits:
                    compiled.reporters[0](example.message, example.history, index)
        except Exception as error:
            faults.append((0, error))
        if faults:
            broken = faults[0][1]
            reason = f"the rule raises {type(broken).__name__} on this example: {broken}"
            wrong.append((example.line, reason, "Guard the condition, or correct the predicate."))
        elif bool(hits) != (example.judged == "fails"):
            says = "violated" if rule.judges else "applied"
            reason = f"the example says {example.judged}, but the rule is {says if hits else 'not ' + says}"
            wrong.append(
                (example.line, reason, "Correct the condition or the example; an absent value never violates.")
            )
    return wrong


def _overlap(one: Rule, other: Rule) -> bool:
    """Whether some message of some market on some day meets both."""
    days = (one.until is None or other.since is None or other.since <= one.until) and (
        other.until is None or one.since is None or one.since <= other.until
    )
    markets = not one.markets or not other.markets or bool(set(one.markets) & set(other.markets))
    return days and markets


def doubles(rules: Sequence[Rule]) -> list[Problem]:
    """Codes and error codes that two rules share on the same days."""
    problems: list[Problem] = []
    for name, advice in (
        ("code", "Give one another code, or part their since/until."),
        ("error_code", "Give one another error code, or part their since/until."),
    ):
        seen: dict[str, list[Rule]] = {}
        for rule in rules:
            value = getattr(rule, name)
            if not value:
                continue
            for other in seen.get(value, ()):
                if _overlap(rule, other):
                    reason = f"{name} {value} is also that of {other.file}:{other.line}, for the same days"
                    problems.append(Problem(rule.file, rule.line, rule.code, reason, advice))
                    break
            seen.setdefault(value, []).append(rule)
    return problems


def unknown_errors(rules: Sequence[Rule], claimed: Sequence[Rule]) -> list[Problem]:
    """Error codes that rejection rules name and no validation rule has."""
    known = {rule.error_code for rule in claimed if rule.error_code}
    problems: list[Problem] = []
    for rule in rules:
        stack: list[Value | Condition] = list(rule.triggers.values())
        while stack:
            term = stack.pop()
            if isinstance(term, HasError) and term.error_code not in known:
                reason = f"has_error asks for {term.error_code}, which no rule gives"
                problems.append(Problem(rule.file, rule.line, rule.code, reason, "Correct the error code."))
            stack.extend(children(term))
    return problems
