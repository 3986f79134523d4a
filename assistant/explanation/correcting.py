"""A correction that would free a message: values that the point's own history bears out, each judged in a dry run.

A value that only the rules know, such as that of an example, is never proposed: the rules would accept it on any point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from typing import Any

import msgspec
from msgspec import Struct

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.port import RuleEngine
from energycomm.engine.trace import RuleRun, trace
from energycomm.kernel.messages import KernelMessage
from energycomm.pipeline.history import Known

MOST_TRIED = 24


class Correction(Struct, frozen=True, kw_only=True):
    """A change of one field after which the rules accept the message.

    Attributes:
      field: what is changed: registers[1].value; several where one cause explains them.
      before, after: the values.
      why: where the value comes from: the name of a fact, or the unit.
      evidence: what of the access point's history bears it out: names of facts and their values.
      outcome: the verdict of the dry run: accepted or quarantined.
      left: warnings that would stay.
    """

    field: str
    before: str
    after: str
    why: str
    outcome: str
    evidence: tuple[str, ...]
    left: tuple[str, ...] = ()


def propose(catalogue: Catalogue, engine: RuleEngine, known: Known) -> tuple[list[Correction], int]:
    """Corrections of one field that free a message of all its errors.

    Args:
      catalogue: the rules.
      engine: that judges by them only; nothing is stored.
      known: the rejected message with what was known before it.

    Returns:
      The corrections that were found, the most plausible first, and how many values were tried.
    """
    message, history = known.message, known.history
    violated = [
        run for run in trace(catalogue, message, history) if run.outcome == "violated" and run.rule.severity == "error"
    ]
    found: list[Correction] = []
    seen: set[str] = set()
    for field in dict.fromkeys(run.rule.field for run in violated):
        # Items of one message mostly have one cause: each gets its own value, all from the same fact.
        items = {run.item: run for run in violated if run.rule.field == field}
        offered = {item: dict(_by_origin(message, run, violated)) for item, run in items.items()}
        for why in dict.fromkeys(why for values in offered.values() for why in values):
            changed: KernelMessage | None = message
            before, after = [], []
            for item, run in items.items():
                if changed is not None and why in offered[item]:
                    before.append(str(_value(message, run)))
                    after.append(str(offered[item][why]))
                    changed = _changed(changed, run, offered[item][why])
            if changed is None or len(seen) >= MOST_TRIED or f"{field}={after}" in seen:
                continue
            seen.add(f"{field}={after}")
            verdict = engine.judge(changed, history)
            if verdict.label in ("accepted", "quarantined"):
                left = tuple(dict.fromkeys(finding.error_code for finding in verdict.findings))
                found.append(
                    Correction(
                        field=", ".join(_place(run) for run in items.values()),
                        before=", ".join(before),
                        after=", ".join(after),
                        why=why,
                        outcome=verdict.label,
                        evidence=_evidence(items.values(), violated, why),
                        left=left,
                    )
                )
    return found, len(seen)


def _by_origin(message: KernelMessage, run: RuleRun, violated: Sequence[RuleRun]) -> Iterator[tuple[str, Any]]:
    """Where a value comes from, and the value; of all rules that point at the same field of the same item."""
    seen: set[str] = set()
    for other in violated:
        if other.rule.field == run.rule.field and other.item == run.item:
            for value, why in _candidates(message, other):
                if why not in seen:
                    seen.add(why)
                    yield why, value


def _place(run: RuleRun) -> str:
    head, _, tail = run.rule.field.partition(".")
    return f"{run.rule.each}[{run.item}].{tail}" if run.rule.each and run.item and tail else head


def _item(message: KernelMessage, run: RuleRun) -> Any:
    """What holds the field: the message, or the item of it that was judged."""
    if run.rule.each and run.item and "." in run.rule.field:
        return getattr(message, run.rule.each)[run.item - 1]
    return message


def _value(message: KernelMessage, run: RuleRun) -> Any:
    return getattr(_item(message, run), run.rule.field.rpartition(".")[2], None)


def _candidates(message: KernelMessage, run: RuleRun) -> Iterator[tuple[Any, str]]:
    """Values for the field that the history bears out, with where each comes from; the most plausible first."""
    if not _of_history(run):
        return
    present = _value(message, run)
    unit = getattr(_item(message, run), "unit", None)
    factor = {"kWh": 1000, "MWh": 1_000_000}.get(str(unit), 1)
    if isinstance(present, int) and not isinstance(present, bool):
        # A wrong unit is the commonest mistake of a number.
        yield present // 1000, "unit, a thousandth"
        yield present * 1000, "unit, thousandfold"
    for name, fact in _of_history(run).items():
        if isinstance(fact, bool):
            continue
        if isinstance(present, int) and isinstance(fact, int | float) and name.endswith("_wh"):
            # Up to the unit above: an index in kWh counts whole ones.
            yield math.ceil(fact / factor), name
        elif type(fact) is type(present) and isinstance(fact, str | date | datetime):
            yield fact, name


def _of_history(run: RuleRun) -> dict[str, Any]:
    """The facts of the access point's history that a rule read: what was stated of it before."""
    return {
        name: fact
        for name, fact in run.read.items()
        if name.startswith(("history.", "previous.")) and fact is not None and fact != ()
    }


def _evidence(items: Iterable[RuleRun], violated: Sequence[RuleRun], why: str) -> tuple[str, ...]:
    """The facts of the history behind a value: the one it was taken from, or those that the rules compared it with."""
    fields = {(run.rule.field, run.item) for run in items}
    found: dict[str, None] = {}
    for run in violated:
        if (run.rule.field, run.item) in fields:
            facts = _of_history(run)
            taken = {why: facts[why]} if why in facts else {} if why in run.read else facts
            found.update(dict.fromkeys(f"{name} = {value}" for name, value in taken.items()))
    return tuple(found)


def _changed(message: KernelMessage, run: RuleRun, value: Any) -> KernelMessage | None:
    name = run.rule.field.rpartition(".")[2]
    item = _item(message, run)
    if name not in type(item).__struct_fields__ or getattr(item, name) == value:
        return None
    try:
        if item is message:
            changed: KernelMessage = msgspec.structs.replace(message, **{name: value})
            return changed
        items = list(getattr(message, str(run.rule.each)))
        items[(run.item or 1) - 1] = msgspec.structs.replace(item, **{name: value})
        changed = msgspec.structs.replace(message, **{str(run.rule.each): tuple(items)})
    except (TypeError, ValueError):
        return None
    return changed
