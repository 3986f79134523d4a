"""Why a message was judged as it was: each rule that failed, its sentence, the facts it read, what lies around."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from energycomm.correction.cases import read_cases
from energycomm.correction.evidence import Evidence, evidence_of
from energycomm.eis.store import Store
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.port import RuleEngine
from energycomm.engine.trace import RuleRun, trace
from energycomm.engine.wording import condition_in_words
from energycomm.kernel.instants import instant
from energycomm.market.installed import Markets
from energycomm.pipeline.history import history_before

AROUND = 5
"""Messages before and after that are shown."""


class FailedRule(Struct, frozen=True, kw_only=True):
    """A rule that a message violates, or that makes it wait, with the rules of today.

    Attributes:
      code: error code; of a rule of qualification its code.
      rule: code of the rule.
      title, sentence: what the market demands.
      demands: the condition in words.
      item: number of the item in a rule that judges items.
      outcome: violated, raised, or waits.
      severity: error or warning.
      read: name -> value of every field and fact that it read.
      error: what it raised.
      source: where the market says so.
    """

    code: str
    rule: str
    title: str
    sentence: str
    demands: str
    item: int | None
    outcome: str
    severity: str
    read: dict[str, Any]
    error: str | None
    source: str


class Nearby(Struct, frozen=True, kw_only=True):
    """A message before or after; `offset` tells how far in business time: -1 is the one before."""

    offset: int
    id: int
    kind: str
    effective: datetime
    state: str
    reference: str


class Why(Struct, frozen=True, kw_only=True):
    """The whole answer.

    Attributes:
      message_id, kind, state, access_point: the message.
      waits_for: what it waits for.
      rules_version: of the rules that were asked: those of today.
      failed: each rule that fails or makes it wait.
      judged: how many rules judged it.
      evidence: whose fault it seems to be.
      around: what lies before and after it.
    """

    message_id: int
    kind: str
    state: str
    access_point: str | None
    waits_for: str | None
    rules_version: str
    failed: tuple[FailedRule, ...]
    judged: int
    evidence: tuple[Evidence, ...]
    around: tuple[Nearby, ...]


def why(store: Store, catalogue: Catalogue, engine: RuleEngine, markets: Markets, message_id: int) -> Why | None:
    """Why a message was judged as it was; None when there is none with this id.

    Args:
      store: the EIS.
      catalogue: the rules of today.
      engine: that judges with them.
      markets: the installed ones.
      message_id: the message.
    """
    found = history_before(store, engine, markets, message_id)
    if found is None:
        return None
    message, history = found.message, found.history
    (case,) = read_cases(store.engine, markets, [message_id])
    runs = trace(catalogue, message, history)
    failed = [_failed(run, run.outcome) for run in runs if run.outcome in ("violated", "raised")]
    waiting = trace(catalogue, message, history, "qualification")
    failed += [_failed(run, "waits") for run in waiting if run.outcome == "applies" and run.rule.wait]
    before = [one for one in case.around if (one.at, one.id) < (case.at, case.id)][-AROUND:]
    after = [one for one in case.around if (one.at, one.id) > (case.at, case.id)][:AROUND]
    places = [*range(-len(before), 0), *range(1, len(after) + 1)]
    return Why(
        message_id=message_id,
        kind=case.kind,
        state=case.state,
        access_point=case.identifier,
        waits_for=case.waits_for,
        rules_version=catalogue.version,
        failed=tuple(failed),
        judged=len({run.rule.code for run in runs}),
        evidence=() if case.state in ("accepted", "treated", "withdrawn") else evidence_of(case),
        around=tuple(
            Nearby(
                offset=offset,
                id=one.id,
                kind=one.kind,
                effective=instant(one.at),
                state=one.state,
                reference=one.message.reference,
            )
            for offset, one in zip(places, [*before, *after], strict=True)
        ),
    )


def _failed(run: RuleRun, outcome: str) -> FailedRule:
    rule = run.rule
    return FailedRule(
        code=rule.error_code or rule.code,
        rule=rule.code,
        title=rule.title,
        sentence=rule.sentence,
        demands=condition_in_words(rule),
        item=run.item,
        outcome=outcome,
        severity=rule.severity,
        read={name: msgspec.to_builtins(value) for name, value in run.read.items()},
        error=run.error,
        source=rule.source,
    )
