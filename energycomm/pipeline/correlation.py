"""Answers meet their requests: by the reference that the market repeats, then by the market's own, then by the call on
which they were received. A supply that begins or ends as we asked, on the day that we asked for, ends the request for
it, whatever the market calls it.

A request's state is that of the furthest step told of it, whatever the order in which the steps arrive: `done` and
`refused` end it, and nothing that comes after takes it back to being under way. Of two ends the earlier one holds, by
the instants that the market gave them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from energycomm.eis import tables
from energycomm.eis.database import Conflict
from energycomm.eis.store import StoreTransaction
from energycomm.errors import DamagedRow
from energycomm.kernel.codec import decode
from energycomm.kernel.messages import (
    AggregatedSeries,
    ErrorReport,
    KernelMessage,
    RequestAnswer,
    RequestStatus,
    SettlementAmounts,
)
from energycomm.kernel.verdicts import Refusal

PROGRESS: dict[str, int] = {
    "built": 0,
    "sent": 1,
    "acknowledged": 2,
    "in-course": 3,
    "done": 9,
    "refused": 9,
    "dead": 8,
}
"""How far each state of a request is."""

ENDED = frozenset(("done", "refused"))

ASKED: dict[str, tuple[str, str]] = {
    "move-in": ("MoveInRequest", "StartOfSupply"),
    "supplier-switch": ("SupplierSwitchRequest", "StartOfSupply"),
    "move-out": ("MoveOutRequest", "EndOfSupply"),
    "end-of-contract": ("EndOfSupplyRequest", "EndOfSupply"),
}
"""Reason of a change of supply that none but its supplier asks for -> the request for it, and what tells that it
happened."""

Step = tuple[str, str | None, str | None, str | None]
"""(state, code, text, the market's reference) that a message tells of a request."""

_ANSWERS = (RequestAnswer, ErrorReport)
_TELLING = (*_ANSWERS, AggregatedSeries, SettlementAmounts, RequestStatus)
"""The kinds that may report a step: most messages are of none."""


def step_of(message: KernelMessage) -> Step | None:
    """The step of our request that a message reports; None when it reports none."""
    if not isinstance(message, _TELLING):
        return None
    if isinstance(message, RequestAnswer):
        code, text = message.code, message.text
        told = "; ".join(" ".join(filter(None, (one.code, one.text))) for one in message.reasons)
        if message.reasons and code is None:
            code, text = message.reasons[0].code, text or told
        elif len(message.reasons) > 1 and code == message.reasons[0].code:
            # The first reason is the answer's code; its words, if they are not the reason's, are told too.
            text = told if text in (None, message.reasons[0].text) else f"{text} ({told})"
        return ("acknowledged" if message.accepted else "refused", code, text, message.request)
    if isinstance(message, ErrorReport):
        return ("refused", message.code, message.text, None)
    if isinstance(message, RequestStatus):
        state = "refused" if message.state == "cancelled" else message.state
        return (state, message.state_code, None, message.request)
    return ("done", None, None, None) if message.correlation is not None else None


def correlate(tx: StoreTransaction, messages: Iterable[tuple[int, KernelMessage]], now: int) -> int:
    """Follow the requests that accepted messages are about.

    Args:
      tx: the transaction of the batch.
      messages: (id, message) of the accepted messages.
      now: the present, microseconds since the epoch.

    Returns:
      How many requests moved on.
    """
    told = [(number, message, step) for number, message in messages if (step := step_of(message)) is not None]
    if not told:
        return 0
    moved, named = 0, _named(tx, told)
    near = _near(tx, [number for number, *_ in told])
    for message_id, message, step in told:
        if message_id not in near and not any((message.market, name) in named for name in _names(message, step)):
            continue
        for found in (
            _requests(tx, message, step[3]) or _called(tx, message, message_id) or _happened(tx, message, message_id)
        ):
            moved += _follow(tx, found, step, message_id, message, now)
            if step[3] is not None:
                named.add((message.market, step[3]))
    return moved


def _names(message: KernelMessage, step: Step) -> set[str]:
    """The references by which a message may name a request."""
    return {name for name in (message.correlation, step[3], message.request_reference) if name is not None}


def _named(tx: StoreTransaction, told: Sequence[tuple[int, KernelMessage, Step]]) -> set[tuple[str, str]]:
    """Those of the references that messages name which are of requests of ours, each with its market: most are not,
    and are asked about no further."""
    names = sorted(set().union(*(_names(message, step) for _, message, step in told)))
    return set(tx.driver.matching(_NAMED, names, "name"))


def _near(tx: StoreTransaction, ids: Sequence[int]) -> set[int]:
    """The messages that may be about a request of ours without naming it: they came on its call, or are of its access
    point."""
    return {number for sql in (_ON_A_CALL, _AT_A_POINT) for (number,) in tx.driver.matching(sql, ids, "k.id")}


def _requests(tx: StoreTransaction, message: KernelMessage, market_reference: str | None) -> list[int]:
    """The request a message is about; all of a batch where it is about that."""
    for column, value in (
        ("reference", message.correlation),
        ("market_reference", market_reference or message.request_reference),
    ):
        if value is not None:
            # The column is one of the two above.
            sql = f"SELECT id FROM outgoing WHERE {column} = ? AND market = ?"  # noqa: S608 - our columns
            rows = tx.driver.rows(sql, (value, message.market))
            if rows:
                return [int(rows[0][0])]
    return _of_batch(tx, message.correlation, message.market)


def _of_batch(tx: StoreTransaction, batch: str | None, market: str) -> list[int]:
    """The requests that went out in one message, by its reference."""
    if batch is None:
        return []
    sql = "SELECT id FROM outgoing WHERE batch = ? AND market = ? ORDER BY id"
    return [int(number) for (number,) in tx.driver.rows(sql, (batch, market))]


def _called(tx: StoreTransaction, message: KernelMessage, message_id: int) -> list[int]:
    """The request on whose call an answer was received, where it repeats nothing that we know; all of a batch."""
    if not isinstance(message, _ANSWERS):
        return []
    sql = (
        "SELECT o.id, o.batch FROM kernel_message k JOIN ch_message c ON c.id = k.ch_message_id "
        "JOIN envelope e ON e.id = c.envelope_id JOIN outgoing o ON o.id = e.answers WHERE k.id = ? AND o.market = ?"
    )
    rows = tx.driver.rows(sql, (message_id, message.market))
    if not rows:
        return []
    return _of_batch(tx, rows[0][1], message.market) or [int(rows[0][0])]


def _happened(tx: StoreTransaction, message: KernelMessage, message_id: int) -> list[int]:
    """The only request of ours, of which the market told no reference yet, for the supply that began or ended with the
    same CH message: of the same point, for the same reason, on the day that was asked for."""
    if not isinstance(message, RequestStatus) or message.state != "done" or message.reason not in ASKED:
        return []
    kind, told = ASKED[message.reason]
    sql = (
        "SELECT o.id, r.id, r.xml FROM kernel_message m JOIN kernel_message s ON s.ch_message_id = m.ch_message_id "
        "JOIN outgoing o ON o.access_point_id = m.access_point_id JOIN kernel_message r ON r.id = o.message_id "
        "WHERE m.id = ? AND s.kind = ? AND s.state IN ('accepted', 'treated') AND o.market = ? AND o.kind = ? "
        "AND o.market_reference IS NULL AND o.state IN ('sent', 'acknowledged')"
    )
    found = []
    for request_id, number, xml in tx.driver.rows(sql, (message_id, told, message.market, kind)):
        asked = _decoded(tx, number, xml)
        if asked is not None and getattr(asked, "requested_date", None) == message.effect_date:
            found.append(int(request_id))
    return found if len(found) == 1 else []


def _follow(
    tx: StoreTransaction, request_id: int, step: Step, message_id: int, message: KernelMessage, now: int
) -> int:
    state, code, text, market_reference = step
    known = "SELECT id FROM outgoing_event WHERE outgoing_id = ? AND message_id = ?"
    if tx.driver.rows(known, (request_id, message_id)):
        return 0
    event = {"outgoing_id": request_id, "at": now, "state": state, "code": code, "text": text, "message_id": message_id}
    tx.insert(tables.outgoing_event, [event])
    moved = 0
    if market_reference not in (None, message.correlation):
        sql = "UPDATE outgoing SET market_reference = ? WHERE id = ? AND market_reference IS NULL"
        if tx.driver.run(sql, (market_reference, request_id)):
            moved = _follow_earlier(tx, request_id, str(market_reference), now)
    return moved + _move(tx, request_id, now)


def _follow_earlier(tx: StoreTransaction, request_id: int, market_reference: str, now: int) -> int:
    """Milestones under the market's own number that came before it was known whose request that is: of its point, and
    of no point where a report of the order tells of it as a whole."""
    moved = 0
    told = {
        number: xml
        for sql in (_OF_POINT, _OF_ORDER)
        for number, xml in tx.driver.rows(sql, (request_id, market_reference))
    }
    for message_id, xml in sorted(told.items()):
        message = _decoded(tx, message_id, xml)
        step = None if message is None else step_of(message)
        if message is not None and step is not None and step[3] == market_reference:
            moved += _follow(tx, request_id, step, message_id, message, now)
    return moved


def _decoded(tx: StoreTransaction, message_id: int, xml: str) -> KernelMessage | None:
    """A stored message; None where it is damaged: `energycomm eis verify` tells of it, and the others count."""
    try:
        message = decode(tx.driver.vault.text("kernel_message", message_id, xml))
    except DamagedRow:
        return None
    return None if isinstance(message, Refusal) else message


def _move(tx: StoreTransaction, request_id: int, now: int) -> int:
    """Bring a request to the furthest step told of it. Of several such steps the latest counts, by their instants; of
    several ends the first."""
    told = sorted(
        (PROGRESS[state], effective, state, code or "")
        for state, code, effective in tx.driver.rows(_TOLD, (request_id,))
    )
    furthest = [one for one in told if one[0] == told[-1][0]]
    _, _, state, code = furthest[0] if furthest[0][2] in ENDED else furthest[-1]
    sql = "SELECT state, answer_code, answers FROM outgoing WHERE id = ?"
    ((before, known, answers),) = tx.driver.rows(sql, (request_id,))
    if answers is not None and state not in ENDED:  # nothing follows the receipt of an answer of ours
        state = "done"
    if PROGRESS[state] < PROGRESS[before] or (state, code) == (before, known or ""):
        return 0
    values = (state, code or None, now if state in ENDED and before not in ENDED else None, request_id, before)
    # A request that ended otherwise than it seemed ended when it was first known.
    settled = "coalesce(?, settled_at)" if before in ENDED else "?"
    sql = f"UPDATE outgoing SET state = ?, answer_code = ?, settled_at = {settled}, next_at = NULL "  # noqa: S608 - our own names
    if not tx.driver.run(f"{sql} WHERE id = ? AND state = ?", values):
        raise Conflict(f"request {request_id} moved on meanwhile")
    return int(state != before)


_NAMED = (
    "SELECT market, name FROM (SELECT market, reference AS name FROM outgoing WHERE reference IS NOT NULL "
    "UNION ALL SELECT market, market_reference FROM outgoing WHERE market_reference IS NOT NULL "
    "UNION ALL SELECT market, batch FROM outgoing WHERE batch IS NOT NULL) AS named WHERE true"
)
_ON_A_CALL = (
    "SELECT k.id FROM kernel_message k JOIN ch_message c ON c.id = k.ch_message_id "
    "JOIN envelope e ON e.id = c.envelope_id WHERE e.answers IS NOT NULL"
)
_AT_A_POINT = (
    "SELECT k.id FROM kernel_message k WHERE EXISTS "
    "(SELECT 1 FROM outgoing o WHERE o.access_point_id = k.access_point_id)"
)
_APPLIED = "k.state IN ('accepted', 'treated')"
_OF_POINT = (
    "SELECT k.id, k.xml FROM request r JOIN outgoing o ON o.access_point_id = r.access_point_id "  # noqa: S608 - our words
    f"JOIN kernel_message k ON k.id = r.message_id WHERE o.id = ? AND r.reference = ? AND {_APPLIED}"
)
_OF_ORDER = (
    "SELECT k.id, k.xml FROM outgoing o JOIN envelope e ON e.market = o.market "  # noqa: S608 - our words
    "JOIN ch_message c ON c.envelope_id = e.id JOIN kernel_message k ON k.ch_message_id = c.id "
    f"WHERE o.id = ? AND e.request = ? AND k.kind = 'RequestStatus' AND k.access_point_id IS NULL AND {_APPLIED}"
)
_TOLD = (
    "SELECT e.state, e.code, k.effective FROM outgoing_event e JOIN kernel_message k ON k.id = e.message_id "
    "JOIN outgoing o ON o.id = e.outgoing_id WHERE e.outgoing_id = ? AND k.id <> o.message_id"
)
