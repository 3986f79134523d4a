"""The trace of a verdict: every rule that ran, the values it read, its result and its time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.interpretation import Context, contexts, is_false, is_true, value_of
from energycomm.engine.rule import Rule, RuleSet
from energycomm.engine.terms import Condition, Read, Value, children
from energycomm.kernel.family import is_incoming
from energycomm.kernel.history import History
from energycomm.kernel.messages import KernelMessage

Outcome = Literal["holds", "violated", "applies", "out-of-scope", "unknown", "raised"]


@dataclass(frozen=True)
class RuleRun:
    """One rule judging one message, or one item of it.

    Attributes:
      rule: the rule.
      item: number of the item, from 1, in a rule that judges items.
      outcome: holds or violated; for action rules applies; out-of-scope when its scope does not hold; unknown when a
        value that it needs is absent; raised when it broke.
      read: name -> value of every field and fact its conditions read.
      microseconds: time it took, interpreted: slower than compiled, but comparable between rules.
      error: what it raised.
    """

    rule: Rule
    item: int | None
    outcome: Outcome
    read: dict[str, Any]
    microseconds: float
    error: str | None = None


def trace(
    catalogue: Catalogue,
    message: KernelMessage,
    history: History,
    stage: Literal["validation", "qualification"] = "validation",
) -> tuple[RuleRun, ...]:
    """Run every rule in force for a message separately, and return the results.

    Args:
      catalogue: the rules.
      message: the message.
      history: its history, as it was judged with.
      stage: which rule sets.
    """
    kind = type(message).__name__
    rule_set: RuleSet = f"{stage}_{'in' if is_incoming(kind) else 'out'}"  # type: ignore[assignment]
    runs: list[RuleRun] = []
    for rule in catalogue.rules_for(rule_set, message.market, kind):
        if rule.in_force(message.effective.date()):
            for index, context in contexts(message, history, catalogue.codes, frozenset(), rule.each):
                runs.append(_run(rule, kind, None if index is None else index + 1, context))
    return tuple(runs)


def _run(rule: Rule, kind: str, item: int | None, context: Context) -> RuleRun:
    scope, violation = rule.conditions[kind]
    read = {term.name: value_of(term, context) for term in _reads(rule.triggers[kind])}
    outcome: Outcome = "raised"
    error = None
    begun = time.perf_counter()
    try:
        outcome = _outcome(rule, scope, violation, context)
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    return RuleRun(rule, item, outcome, read, (time.perf_counter() - begun) * 1e6, error)


def _outcome(rule: Rule, scope: Condition, violation: Condition, context: Context) -> Outcome:
    if not is_true(scope, context):
        return "out-of-scope" if is_false(scope, context) else "unknown"
    if not rule.judges:
        return "applies"
    if is_true(violation, context):
        return "violated"
    return "holds" if is_false(violation, context) else "unknown"


def _reads(condition: Condition) -> list[Read]:
    found: dict[str, Read] = {}
    stack: list[Value | Condition] = [condition]
    while stack:
        term = stack.pop()
        if isinstance(term, Read):
            found[term.name] = term
        stack.extend(reversed(children(term)))
    return list(found.values())
