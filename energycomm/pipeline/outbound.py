"""The path of a request to the market: judged, built once, stored, and sent by the delivery.

What the market would refuse is refused here first, with its code. What passes is built into the market's own bytes in
the transaction that stores it; every attempt to send it sends the same bytes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from zoneinfo import ZoneInfo

from msgspec import Struct, structs

from energycomm.eis import tables
from energycomm.eis.particulars import store_particulars
from energycomm.eis.received_requests import state_of
from energycomm.eis.store import AccessPointRow, Store, StoreTransaction
from energycomm.kernel.check import KernelChecker
from energycomm.kernel.codec import encode
from energycomm.kernel.family import is_incoming
from energycomm.kernel.history import History
from energycomm.kernel.instants import micros, now_micros
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.requests import ReceivedRequestAnswer
from energycomm.kernel.verdicts import Finding, Refusal, Verdict
from energycomm.market.contract import Adapter, OutgoingMessage
from energycomm.pipeline.facts import history_of
from energycomm.pipeline.fold import Judge
from energycomm.pipeline.rows import change_row, finding_row, message_row, notification_rows, verdict_why
from energycomm.pipeline.state import RequestMemory, load_state

ANSWER_WITHIN = timedelta(days=10)
"""How long an answer may take where the market's adapter does not say (`answer_within`: kind -> time)."""

OPEN_STATES = frozenset(("built", "sent", "acknowledged", "in-course"))
"""States of a request that is under way."""

QUERIES = frozenset(
    (
        *("MasterDataRequest", "ContractDataRequest", "SearchRequest", "MeteredDataRequest"),
        *("AggregatedDataRequest", "SettlementRequest", "ReceivedRequestAnswer", "EndOfSupplyNotice"),
    )
)
"""What we send that changes nothing at the access point, or answers, and so crosses with no request."""


class Submission(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of one submitted request.

    Attributes:
      message_id: the Kernel message; None when it was not even stored.
      label: accepted (it will be sent), rejected by our rules, or refused (it cannot be built or is none of ours to
      send).
      request_id: the request, when it will be sent; it is followed under this number.
      reference: our reference, which the market repeats.
      findings: violated rules.
      refusals: why it was refused.
      repeated: the same idempotency key had been handed in before: this is what became of it then.
    """

    label: str
    message_id: int | None = None
    request_id: int | None = None
    reference: str | None = None
    findings: tuple[Finding, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    repeated: bool = False


class Outbound:
    """Takes in messages for the market.

    Args:
      store: the EIS.
      engine: the rules.
      adapters: installed markets.
      rules_version_id: version of the rules, for the record.
      new_reference: makes our reference of a request, another one each time; random by default.
    """

    def __init__(
        self,
        store: Store,
        engine: Judge,
        adapters: Mapping[str, Adapter],
        rules_version_id: int | None,
        new_reference: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self.store, self.engine, self.adapters, self.new_reference = store, engine, adapters, new_reference
        self.rules_version_id = rules_version_id
        self.checker = KernelChecker()

    def submit(self, message: KernelMessage, by: str, idempotency_key: str | None = None) -> Submission:
        """Judge a message, build it and keep it for delivery.

        Args:
          message: a message of an outgoing kind.
          by: who hands it in.
          idempotency_key: the same key again has no second effect.
        """
        refusal = self._unfit(message)
        if refusal is not None:
            return Submission(label="refused", refusals=(refusal,))
        with self.store.transaction() as tx:
            if idempotency_key is not None:
                known = _repeated(tx, idempotency_key)
                if known is not None:
                    return known
            return self._store(tx, message, by, idempotency_key)

    def _unfit(self, message: KernelMessage) -> Refusal | None:
        kind = type(message).__name__
        adapter = self.adapters.get(message.market)
        if is_incoming(kind):
            return Refusal(
                code="OUT_KIND",
                path="kind",
                value=kind,
                expected="a kind that a supplier sends",
                advice="incoming messages are injected, not sent",
            )
        if adapter is None:
            return Refusal(
                code="OUT_MARKET",
                path="market",
                value=message.market,
                expected=", ".join(self.adapters),
                advice="install the market's adapter",
            )
        if kind not in adapter.builds:
            return Refusal(
                code="OUT_NOT_BUILT",
                path="kind",
                value=kind,
                expected=", ".join(sorted(adapter.builds)),
                advice=f"the market {message.market} has no form for it; make the request in another way",
            )
        (written,) = self.checker.write([message])
        return written if isinstance(written, Refusal) else None

    def _store(self, tx: StoreTransaction, message: KernelMessage, by: str, key: str | None) -> Submission:
        now = now_micros()
        point: AccessPointRow | None = None
        if message.access_point is not None:
            point = tx.access_points(message.market, [message.access_point])[message.access_point]
        verdict = self.engine.judge(message, self._history(tx, message, point, now))
        reference = self.new_reference()
        built: OutgoingMessage | Refusal | None = None
        if verdict.label == "accepted":
            built = self.adapters[message.market].build(message, reference)
            if isinstance(built, Refusal):
                return Submission(label="refused", refusals=(built,))
        message_id = self._message(tx, message, point, verdict, by, now)
        if built is None:
            return Submission(label=verdict.label, message_id=message_id, findings=verdict.findings)
        assert not isinstance(built, Refusal)
        request_id = self._request(tx, message, point, built, message_id, now, by, key)
        return Submission(
            label="accepted",
            message_id=message_id,
            request_id=request_id,
            reference=built.reference,
            findings=verdict.findings,
        )

    def _history(self, tx: StoreTransaction, message: KernelMessage, point: AccessPointRow | None, now: int) -> History:
        """What is known of the access point at present, requests of ours that are under way among it; of an answer
        also the request that it answers."""
        answered = _request_answered(tx, message, point)
        if point is None:
            return History(**answered)
        state = load_state(point.state)
        if now > state.at:
            state.advance(now)
        columns = "reference, market_reference, kind, state, created_at"
        sql = f"SELECT {columns} FROM outgoing WHERE access_point_id = ? ORDER BY id"  # noqa: S608 - constant
        for reference, market_reference, kind, own_state, created_at in tx.driver.rows(sql, (point.id,)):
            # What became of our own requests is known better than by the milestones that the market told.
            for known in (reference, market_reference):
                state.requests.pop(known, None)
            if kind not in QUERIES and own_state in OPEN_STATES:
                state.requests[reference] = RequestMemory(own_state, None, created_at)
        found = history_of(state, message, now, ZoneInfo(self.adapters[message.market].zone))
        return structs.replace(found, **answered) if answered else found

    def _message(
        self,
        tx: StoreTransaction,
        message: KernelMessage,
        point: AccessPointRow | None,
        verdict: Verdict,
        by: str,
        now: int,
    ) -> int:
        (message_id,) = tx.reserve(tables.kernel_message, 1)
        (change_id,) = tx.reserve(tables.state_change, 1)
        row = message_row(message, message_id, micros(message.effective), encode(message), verdict.label, now)
        row |= {"access_point_id": None if point is None else point.id, "injected_by": by[:120]}
        tx.insert(tables.kernel_message, [{**row, "waits_for": verdict.waits_for}])
        store_particulars(tx, [(message_id, message)])
        change = change_row(message_id, "received", verdict.label, now, verdict_why(verdict))
        tx.insert(tables.state_change, [{**change, "id": change_id, "rules_version_id": self.rules_version_id}])
        tx.insert(tables.finding, [finding_row(found, message_id, change_id) for found in verdict.findings])
        tx.insert(tables.outbox, notification_rows(verdict, message_id, now))
        return message_id

    def _request(
        self,
        tx: StoreTransaction,
        message: KernelMessage,
        point: AccessPointRow | None,
        built: OutgoingMessage,
        message_id: int,
        now: int,
        by: str,
        key: str | None,
    ) -> int:
        kind = type(message).__name__
        within = self.adapters[message.market].answer_within
        (request_id,) = tx.reserve(tables.outgoing, 1)
        row = {
            "id": request_id,
            "message_id": message_id,
            "access_point_id": None if point is None else point.id,
            "market": message.market,
            "kind": kind,
            "type": built.type,
            "reference": built.reference,
            "content": built.content,
            "content_type": built.content_type,
            "state": "built",
            "created_at": now,
            "answer_by": now + int(within.get(kind, ANSWER_WITHIN).total_seconds() * 1_000_000),
            "idempotency_key": key,
            "submitted_by": by[:120],
            "answers": message.correlation if isinstance(message, ReceivedRequestAnswer) else None,
        }
        tx.insert(tables.outgoing, [row])
        event = {"outgoing_id": request_id, "at": now, "state": "built", "message_id": message_id}
        tx.insert(tables.outgoing_event, [event])
        return request_id


def _request_answered(tx: StoreTransaction, message: KernelMessage, point: AccessPointRow | None) -> dict[str, object]:
    """The facts of the request to us that a message answers; none where it is no answer, or no such request came."""
    if not isinstance(message, ReceivedRequestAnswer) or message.correlation is None:
        return {}
    state = state_of(tx, message.market, None if point is None else point.id, message.correlation)
    return {} if state is None else {"request_known": True, "request_state": state}


def _repeated(tx: StoreTransaction, key: str) -> Submission | None:
    rows = tx.driver.rows("SELECT id, message_id, reference FROM outgoing WHERE idempotency_key = ?", (key,))
    if not rows:
        return None
    request_id, message_id, reference = rows[0]
    return Submission(
        label="accepted", message_id=message_id, request_id=request_id, reference=reference, repeated=True
    )
