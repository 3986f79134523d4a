"""The life of a French request: sent, acknowledged, done or refused, from its first byte to its last milestone."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from adapters.common.conformance.subject import read
from adapters.fr_enedis import adapter
from energycomm.eis.archive import archive
from energycomm.eis.store import StoreTransaction
from energycomm.kernel.requests import DataAccessOrder, MeteringServiceStop, SearchRequest
from energycomm.market.contract import Transaction
from energycomm.pipeline import delivery
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.outbound import Outbound
from energycomm.pipeline.progress import total
from energycomm.transport.channel import Outgoing, Sent
from energycomm.transport.keys import read_keys
from energycomm.transport.limits import Limits
from tests.adapters.french import content
from tests.pipeline.desk import Desk

NOW = datetime(2026, 1, 3, 8, 0, tzinfo=UTC)
POINT = "99000000000101"


class Line:
    """A channel that takes everything, and gives the answer it is told to."""

    name = "sge"

    def __init__(self, answer: bytes | None = None) -> None:
        self.answer = answer

    def send(self, message: Outgoing) -> Sent:
        """One attempt."""
        return Sent(reference=message.reference, receipt="200", answer=self.answer)


def order(kind: Any = DataAccessOrder, **fields: Any) -> Any:
    """A request of a supplier that passes every rule."""
    head: dict[str, Any] = {
        "market": "FR",
        "market_type": "SGE",
        "reference": "LUM-1",
        "created": NOW,
        "effective": NOW,
        "access_point": POINT,
        "sender_role": "supplier",
        "receiver_role": "grid-operator",
        "requester_login": "eau.douce@lumine.example",
        "contract": "90000101",
    }
    access = {
        "action": "open",
        "measure": "index",
        "start": date(2026, 1, 5),
        "consent": True,
        "customer": "MARTIN",
    }
    return kind(**{**head, **(access if kind is DataAccessOrder else {}), **fields})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An EIS with the shipped rules."""
    return Desk(f"sqlite:///{tmp_path}/eis.db")


def sent(desk: Desk, message: Any) -> str:
    """Hand in a request and send it; our reference."""
    outbound = Outbound(desk.store, desk.engine, {"FR": adapter}, desk.version)
    submission = outbound.submit(message, "anna")
    assert submission.label == "accepted", submission
    delivery.deliver(desk.store, {"FR": Line()}, lambda *answer: None)
    assert state(desk) == "sent"
    assert submission.reference is not None
    return submission.reference


def state(desk: Desk) -> str:
    """State of the only request."""
    ((found,),) = desk.rows("SELECT state FROM outgoing")
    return str(found)


def transactions(name: str, *edits: tuple[str, str]) -> list[Transaction]:
    """What a fixture with edits is digested into."""
    return read(adapter, content(name, *edits), name).transactions


def milestones(reference: str) -> list[Transaction]:
    """The two milestones of the affaire A0000105, asked for under our reference."""
    edited = transactions("x12_day_2.xml", ("LUM-A0000105", reference))
    return [part for part in edited if part.reference.startswith("A0000105")]


def test_an_order_is_acknowledged_by_its_answer_and_done_with_its_last_milestone(desk: Desk) -> None:
    reference = sent(desk, order())
    desk.deliver(transactions("sge_order_accepted.xml", ("LUM-A0000105", reference)))
    assert state(desk) == "acknowledged"
    first, last = milestones(reference)
    desk.deliver([first])
    assert state(desk) == "acknowledged"
    desk.deliver([last])
    assert state(desk) == "done"


def test_milestones_that_come_before_the_answer_end_the_same_way(desk: Desk) -> None:
    reference = sent(desk, order())
    first, last = milestones(reference)
    desk.deliver([last])
    desk.deliver([first])
    desk.deliver(transactions("sge_order_accepted.xml", ("LUM-A0000105", reference)))
    assert state(desk) == "done"


def test_milestones_find_the_request_by_its_affaire_where_they_do_not_repeat_our_reference(desk: Desk) -> None:
    reference = sent(desk, order())
    desk.deliver(transactions("sge_order_accepted.xml", ("LUM-A0000105", reference)))
    desk.deliver(milestones("SOMETHING-ELSE"))
    assert state(desk) == "done"


def test_a_fault_of_business_refuses_the_request_with_its_code(desk: Desk) -> None:
    reference = sent(desk, order())
    desk.deliver(transactions("sge_order_refused.xml", ("LUM-A0000307", reference)))
    assert state(desk) == "refused"
    assert desk.rows("SELECT answer_code FROM outgoing") == [("SGT566",)]


def test_a_search_is_done_with_its_answer(desk: Desk) -> None:
    reference = sent(desk, order(SearchRequest, access_point=None, meter="02197600010101"))
    desk.deliver(transactions("sge_points_found.xml", ("LUM-S0000001", reference)))
    assert state(desk) == "done"


def test_two_requests_that_are_answered_by_the_same_bytes_both_end(desk: Desk) -> None:
    """A fault repeats no reference: each answer belongs to the call on which it was received. Twice to one is twice."""
    bare = content("sge_order_refused.xml", ("<referenceDemandeur>LUM-A0000307</referenceDemandeur>", ""))
    outbound = Outbound(desk.store, desk.engine, {"FR": adapter}, desk.version)
    for number in ("02197600010101", "02197600010102"):
        message = order(SearchRequest, access_point=None, meter=number, reference=number)
        assert outbound.submit(message, "anna").label == "accepted"

    def taken(tx: StoreTransaction, answer: bytes, name: str, channel: str, request: int) -> None:
        for again in ("", "x"):
            archive(tx, again + name, io.BytesIO(answer), channel, 1, request)

    delivery.deliver(desk.store, {"FR": Line(bare)}, taken)
    inbound = Inbound(desk.store, desk.writer, read_keys((), {}, Path())[0], Limits())
    total(inbound.resume())
    assert desk.rows("SELECT state FROM outgoing") == [("refused",), ("refused",)]
    assert desk.rows("SELECT state, count(*) FROM envelope GROUP BY state ORDER BY state") == [
        ("done", 2),
        ("duplicate", 2),
    ]
    assert desk.rows("SELECT count(*) FROM raw") == [(1,)]


def test_what_the_market_would_refuse_is_never_sent(desk: Desk) -> None:
    outbound = Outbound(desk.store, desk.engine, {"FR": adapter}, desk.version)
    submission = outbound.submit(order(consent=False), "anna")
    assert submission.label == "rejected"
    assert [finding.error_code for finding in submission.findings] == ["FR-U53"]
    assert "SGT566" in submission.findings[0].comment
    assert desk.rows("SELECT count(*) FROM outgoing") == [(0,)]


def test_a_second_order_does_not_cross_one_that_is_under_way(desk: Desk) -> None:
    sent(desk, order())
    outbound = Outbound(desk.store, desk.engine, {"FR": adapter}, desk.version)
    crossing = outbound.submit(order(MeteringServiceStop, service="47761068"), "anna")
    assert [finding.error_code for finding in crossing.findings] == ["FR-A51"]
