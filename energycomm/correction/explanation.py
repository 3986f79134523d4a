"""The explanation of a message: schema errors, violated rules with values, what it waits for or what settled it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from energycomm.config import Config
from energycomm.correction.cases import APPLIED, Case, read_cases
from energycomm.correction.dating import Doubt, doubts
from energycomm.correction.evidence import Evidence, evidence_of
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.message_parts import FindingRecord
from energycomm.eis.messages import MessageDetail, show_message
from energycomm.eis.states import SETTLED
from energycomm.eis.store import Store
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.port import RuleEngine
from energycomm.engine.trace import RuleRun, trace
from energycomm.engine.wording import condition_in_words
from energycomm.errors import HistoryArchived
from energycomm.kernel.check import explain as schema_errors_of
from energycomm.kernel.family import KINDS, is_incoming
from energycomm.kernel.instants import micros, moment
from energycomm.kernel.verdicts import Refusal
from energycomm.market.installed import Markets
from energycomm.pipeline.history import Known, history_before
from energycomm.pipeline.rereading import reread

AROUND = 5
"""Messages before and after that are shown."""


class FoundError(FindingRecord, frozen=True, kw_only=True):
    """An error or warning of the verdict that holds; `still` when the rules of today find it too."""

    still: bool


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


class Waiting(Struct, frozen=True, kw_only=True):
    """The message that a message waits for, or waited for until it was given up.

    Attributes:
      what: the message that is missing.
      until: when it is given up; None when it was.
      doubts: what speaks for an error in its own date.
      misdated: an error in its date is likelier than a message still to come.
    """

    what: str
    until: datetime | None
    doubts: tuple[Doubt, ...]
    misdated: bool


class Settled(Struct, frozen=True, kw_only=True):
    """What freed a message that was stuck.

    Attributes:
      at, by, why: of its last change of state.
      message_id: the version that took its place, or the message that it had waited for.
    """

    at: datetime
    by: str
    why: str | None
    message_id: int | None


class Nearby(Struct, frozen=True, kw_only=True):
    """A neighbouring message; `offset` is its distance in business order: -1 is the one before."""

    offset: int
    id: int
    kind: str
    effective: datetime | None
    state: str
    reference: str


class Explanation(Struct, frozen=True, kw_only=True):
    """The whole answer, of a Kernel message or of a CH message that none was made of.

    Attributes:
      message_id: the Kernel message; None for a CH message.
      ch_message_id: the CH message that it came with; None for one that we made.
      market, type: the market's message type.
      kind, access_point, effective: of the Kernel message.
      state: of the Kernel message, or what became of the CH message.
      rules_version: of the rules that were asked: those of today.
      judged: how many rules judged it.
      schema_errors: what its schema, or kernel.xsd, refuses.
      verdict: the errors and warnings that hold.
      failed: each rule of today that fails or makes it wait.
      waiting: what it waits for.
      settled: what freed it.
      evidence: whose fault it seems to be.
      around: what lies before and after it.
      earlier: how many accepted messages of the access point come before it.
      supply_start, supply_end: the supply period that it was judged in.
      archived: why no rule was asked: part of the history before it is in an archive.
    """

    message_id: int | None
    ch_message_id: int | None
    market: str
    type: str
    kind: str | None = None
    access_point: str | None = None
    effective: datetime | None = None
    state: str
    rules_version: str = ""
    judged: int = 0
    schema_errors: tuple[Refusal, ...] = ()
    verdict: tuple[FoundError, ...] = ()
    failed: tuple[FailedRule, ...] = ()
    waiting: Waiting | None = None
    settled: Settled | None = None
    evidence: tuple[Evidence, ...] = ()
    around: tuple[Nearby, ...] = ()
    earlier: int = 0
    supply_start: datetime | None = None
    supply_end: datetime | None = None
    archived: str | None = None

    @property
    def faultless(self) -> bool:
        """Whether nothing is wrong with it: no schema error, nothing found, nothing missing."""
        return not (self.schema_errors or self.verdict or self.failed or self.waiting or self.archived)


def explain(
    store: Store, catalogue: Catalogue, engine: RuleEngine, markets: Markets, message_id: int
) -> Explanation | None:
    """The explanation of a Kernel message; None when there is none with this id. Nothing is locked or stored.

    Args:
      store: the EIS.
      catalogue: the rules of today.
      engine: that judges with them.
      markets: the installed ones.
      message_id: the message.

    Raises:
      UserError: its market is not installed.
    """
    detail = show_message(store.engine, message_id)
    if detail is None:
        return None
    wrong = tuple(schema_errors_of(detail.xml))
    if wrong:
        return _told(detail, catalogue, wrong)
    try:
        known = history_before(store, engine, markets, message_id)
    except HistoryArchived as error:
        return msgspec.structs.replace(_told(detail, catalogue, ()), archived=str(error))
    assert known is not None
    (case,) = read_cases(store.engine, markets, [message_id])
    runs, failed = _runs(catalogue, known) if is_incoming(detail.summary.kind) else ((), [])
    waiting = None
    if case.waits_for is not None:
        found = doubts(store, engine, case)
        waiting = Waiting(what=case.waits_for, until=detail.waits_until, doubts=found, misdated=bool(found))
    return msgspec.structs.replace(
        _told(detail, catalogue, (), {run.rule.code for run in runs if run.outcome == "violated"}),
        judged=len({run.rule.code for run in runs}),
        failed=tuple(failed),
        waiting=waiting,
        settled=_settled(store, detail, case),
        evidence=() if case.state in SETTLED else evidence_of(case),
        around=_around(case),
        earlier=known.accepted,
        supply_start=known.history.supply_start,
        supply_end=known.history.supply_end,
    )


def explain_ch_message(config: Config, store: Store, ch_message_id: int) -> Explanation | None:
    """Why a CH message was refused: its bytes are read again, and every error of its schema is listed.

    Args:
      config: the configuration: its keys open encrypted envelopes.
      store: the EIS.
      ch_message_id: the CH message.

    Returns:
      The explanation; None when there is no such CH message.
    """
    sql = "SELECT market, type, outcome, access_point FROM ch_message WHERE id = ?"
    told = "SELECT code, path, value, expected, advice FROM incident WHERE ch_message_id = ? AND severity = 'error'"
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        rows = driver.rows(sql, (ch_message_id,))
        recorded = driver.rows(f"{told} ORDER BY id", (ch_message_id,))
    if not rows:
        return None
    ((market, type_, outcome, point),) = rows
    errors = reread(config, store, ch_message_id)
    known = {(error.code, error.path) for error in errors}
    # What the gateway itself refused, a value out of its bounds, is no error of the market's schema.
    errors += [
        Refusal(code=code, path=path, value=value, expected=expected, advice=advice)
        for code, path, value, expected, advice in recorded
        if (code, path) not in known
    ]
    return Explanation(
        message_id=None,
        ch_message_id=ch_message_id,
        market=market,
        type=type_,
        access_point=point,
        state=outcome,
        schema_errors=tuple(errors),
    )


def _told(
    detail: MessageDetail, catalogue: Catalogue, wrong: tuple[Refusal, ...], violated: set[str] | None = None
) -> Explanation:
    """What the store alone says."""
    summary = detail.summary
    return Explanation(
        message_id=summary.id,
        ch_message_id=None if detail.origin is None else detail.origin.ch_message_id,
        market=summary.market,
        type=summary.type,
        kind=summary.kind,
        access_point=summary.access_point,
        effective=summary.effective,
        state=summary.state,
        rules_version=catalogue.version,
        schema_errors=wrong,
        verdict=tuple(
            FoundError(**msgspec.structs.asdict(one), still=one.rule in (violated or ()))
            for one in detail.findings
            if one.current
        ),
    )


def _runs(catalogue: Catalogue, known: Known) -> tuple[Sequence[RuleRun], list[FailedRule]]:
    """Every rule that judges it, and those that fail or make it wait."""
    runs = trace(catalogue, known.message, known.history)
    failed = [_failed(run, run.outcome) for run in runs if run.outcome in ("violated", "raised")]
    waiting = trace(catalogue, known.message, known.history, "qualification")
    return runs, failed + [_failed(run, "waits") for run in waiting if run.outcome == "applies" and run.rule.wait]


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


def _settled(store: Store, detail: MessageDetail, case: Case) -> Settled | None:
    """The last change of a message that was stuck and is no more, with the message that brought it."""
    last = detail.changes[-1]
    if case.state not in SETTLED or len(detail.changes) < 2:
        return None
    with reading(store.engine) as connection:
        sql = "SELECT max(id) FROM kernel_message WHERE corrects = ? AND state <> 'withdrawn'"
        ((freed_by,),) = driver_of(connection).rows(sql, (case.id,))
    waited = [change for change in detail.changes if change.after == "quarantined" and change.why]
    if freed_by is None and waited:
        kind = str(waited[-1].why).removeprefix("waits for ").split()[0]
        kind = kind if kind in KINDS else case.kind
        came = [
            one
            for one in case.around
            if one.kind == kind and one.state in APPLIED and one.at <= case.at
            if micros(waited[-1].at) < one.received_at <= micros(last.at)
        ]
        freed_by = max(came, key=lambda one: one.received_at).id if came else None
    return Settled(at=last.at, by=last.by, why=last.why, message_id=freed_by)


def _around(case: Case) -> tuple[Nearby, ...]:
    before = [one for one in case.around if (one.at, one.id) < (case.at, case.id)][-AROUND:]
    after = [one for one in case.around if (one.at, one.id) > (case.at, case.id)][:AROUND]
    places = [*range(-len(before), 0), *range(1, len(after) + 1)]
    return tuple(
        Nearby(
            offset=offset,
            id=one.id,
            kind=one.kind,
            effective=moment(one.at),
            state=one.state,
            reference=one.message.reference,
        )
        for offset, one in zip(places, [*before, *after], strict=True)
    )
