"""Requests to the market: refused here first, built once, sent until they are there, followed to their end."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from energycomm.eis.archive import archive
from energycomm.eis.database import writing
from energycomm.eis.datakeys import unlock
from energycomm.eis.requests import show_request
from energycomm.eis.store import StoreTransaction
from energycomm.engine.parallel import ParallelEngine
from energycomm.kernel.instants import now_micros
from energycomm.kernel.messages import KernelMessage, RequestAnswer, RequestStatus
from energycomm.kernel.parts import AnswerReason
from energycomm.kernel.requests import EndOfSupplyRequest, MoveInRequest
from energycomm.kernel.verdicts import Action, Refusal, Verdict
from energycomm.kernel.vocabulary import RequestState
from energycomm.market.contract import OutgoingMessage, Transaction
from energycomm.pipeline import delivery
from energycomm.pipeline.correlation import step_of
from energycomm.pipeline.outbound import Outbound
from energycomm.transport.channel import Outgoing, Sent, TechnicalError
from energycomm.transport.keys import StorageKey
from energycomm.transport.patience import ABOUT_ONE_ITEM
from tests.pipeline.desk import Desk, shipped_rules
from tests.pipeline.story import transaction

PRM = "99000000000017"
NOW = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)


class Rules(ParallelEngine):
    """Outgoing rules of the test: a customer must have agreed. What comes in is accepted, milestones are kept."""

    def __init__(self) -> None:
        super().__init__(shipped_rules())

    def judge(self, message: KernelMessage, history: Any) -> Verdict:
        """Accept, but for a move in without consent."""
        if isinstance(message, RequestStatus):
            return Verdict(label="accepted", actions=(Action(verb="follow-request", rule="test"),))
        if isinstance(message, MoveInRequest) and message.consent is False:
            return Verdict(label="rejected")
        if isinstance(message, EndOfSupplyRequest) and history.pending_requests:
            return Verdict(label="rejected")
        return Verdict(label="accepted")


class Market(SimpleNamespace):
    """A market that can be asked to begin and end a supply."""

    zone = "Europe/Paris"
    builds = frozenset(("MoveInRequest", "EndOfSupplyRequest"))
    answer_within: Mapping[str, timedelta] = MappingProxyType({})
    built = 0

    def build(self, message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
        """Text that differs at every building, so that a second building would be seen."""
        self.built += 1
        if message.contract_reference == "broken":
            return Refusal(code="BUILD_TEST", path="contract_reference", value="broken")
        content = f"<ask n='{self.built}' ref='{reference}'>{message.access_point}</ask>".encode()
        return OutgoingMessage(type="ASK", content=content, reference=reference, content_type="application/xml")


class Line:
    """A channel that answers as it is told."""

    name = "line"

    def __init__(self, *outcomes: str) -> None:
        self.outcomes, self.sent = list(outcomes), list[bytes]()

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        """One attempt."""
        self.sent.append(message.content)
        outcome = self.outcomes.pop(0) if self.outcomes else "ok"
        if outcome == "ok":
            return Sent(reference=message.reference, receipt="there")
        if outcome == "answers":
            return Sent(reference=message.reference, receipt="there", answer=b"<answer/>")
        return TechnicalError(code=outcome, channel=self.name, detail="the line is broken", item=message.reference)


class Batches(Market):
    """A market that takes two requests in one message."""

    def batches(self, messages: Sequence[OutgoingMessage]) -> list[list[int]]:
        """By twos, in their order."""
        return [list(range(n, min(n + 2, len(messages)))) for n in range(0, len(messages), 2)]

    def batch(self, messages: Sequence[OutgoingMessage], reference: str) -> bytes:
        """One behind the other."""
        return b"<both ref='%s'>%s</both>" % (reference.encode(), b"".join(one.content for one in messages))


def request(kind: type[KernelMessage] = MoveInRequest, **fields: Any) -> KernelMessage:
    """A request of a supplier."""
    values: dict[str, Any] = {
        "market": "FR",
        "market_type": kind.__name__,
        "reference": "r1",
        "created": NOW,
        "effective": NOW,
        "access_point": PRM,
        "requested_date": date(2026, 10, 1),
    }
    return kind(**values | fields)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An EIS with the rules of the test."""
    return Desk(f"sqlite:///{tmp_path}/eis.db", Rules())


def office(desk: Desk) -> tuple[Outbound, Market]:
    """Where requests are handed in, and the market."""
    market = Market()
    return Outbound(desk.store, desk.engine, {"FR": market}, desk.version), market


def no_pause(desk: Desk) -> None:
    """Let the pause before the next attempt be over."""
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE outgoing SET next_at = 0 WHERE next_at IS NOT NULL", ())


def state(desk: Desk) -> str:
    """State of the only request."""
    ((found,),) = desk.rows("SELECT state FROM outgoing")
    return str(found)


def test_a_request_is_built_once_and_every_attempt_sends_the_same_bytes(desk: Desk) -> None:
    """Technical errors are tried again; nothing is built anew."""
    outbound, market = office(desk)
    assert outbound.submit(request(), "anna").label == "accepted"
    line = Line("CHANNEL_TIMEOUT", "CHANNEL_SERVER")
    for _ in range(3):
        delivery.deliver(desk.store, {"FR": line}, lambda *_: None)
        no_pause(desk)
    assert market.built == 1
    assert len(line.sent) == 3
    assert len(set(line.sent)) == 1
    assert state(desk) == "sent"


def test_what_a_rule_refuses_is_stored_and_not_sent(desk: Desk) -> None:
    """What the market would refuse we refuse first."""
    outbound, market = office(desk)
    answer = outbound.submit(request(consent=False), "anna")
    assert (answer.label, answer.request_id) == ("rejected", None)
    assert market.built == 0
    assert desk.rows("SELECT state, injected_by FROM kernel_message") == [("rejected", "anna")]


def test_what_cannot_be_built_leaves_nothing_behind(desk: Desk) -> None:
    """The builder's refusal is the answer."""
    outbound, _ = office(desk)
    answer = outbound.submit(request(contract_reference="broken"), "anna")
    assert [refusal.code for refusal in answer.refusals] == ["BUILD_TEST"]
    assert desk.rows("SELECT count(*) FROM kernel_message") == [(0,)]


def test_what_is_none_of_ours_to_send_is_refused(desk: Desk) -> None:
    """An incoming kind, an unknown market, a kind the market has no message for."""
    outbound, _ = office(desk)
    incoming = transaction([RequestAnswer(**_head(), accepted=True)]).messages[0]
    assert outbound.submit(incoming, "anna").refusals[0].code == "OUT_KIND"
    assert outbound.submit(request(market="XX"), "anna").refusals[0].code == "OUT_MARKET"


def test_the_same_key_again_has_no_second_effect(desk: Desk) -> None:
    """A double click makes one request."""
    outbound, market = office(desk)
    first = outbound.submit(request(), "anna", "k1")
    second = outbound.submit(request(), "anna", "k1")
    assert second.repeated
    assert second.request_id == first.request_id
    assert market.built == 1


def test_requests_under_way_are_known_to_the_rules(desk: Desk) -> None:
    """Two requests that cross on one access point: the second is refused here."""
    outbound, _ = office(desk)
    outbound.submit(request(), "anna")
    assert outbound.submit(request(EndOfSupplyRequest), "anna").label == "rejected"


def test_an_error_that_a_person_must_see_to_is_put_aside_and_can_be_taken_up(desk: Desk) -> None:
    """Dead with its reason; sent again with the same bytes on demand."""
    outbound, market = office(desk)
    answer = outbound.submit(request(), "anna")
    line = Line("CHANNEL_REFUSED")
    delivery.deliver(desk.store, {"FR": line}, lambda *_: None)
    assert state(desk) == "dead"
    ((reason,),) = desk.rows("SELECT last_error FROM outgoing")
    assert "the line is broken" in str(reason)
    assert answer.request_id is not None
    assert delivery.revive(desk.store, answer.request_id)
    delivery.deliver(desk.store, {"FR": line}, lambda *_: None)
    assert state(desk) == "sent"
    assert market.built == 1


def test_a_request_whose_bytes_were_changed_is_never_sent_and_holds_up_no_other(desk: Desk) -> None:
    """Encrypted at rest; the bytes of another request were put in its place."""
    unlock(desk.database, {"k": StorageKey("k", b"k" * 32)}, "k")
    outbound, _ = office(desk)
    one, two = (outbound.submit(request(access_point=PRM[:-2] + end), "anna") for end in ("17", "28"))
    with writing(desk.database) as connection:
        copied = f"(SELECT content FROM outgoing WHERE id = {two.request_id})"
        connection.exec_driver_sql(f"UPDATE outgoing SET content = {copied} WHERE id = {one.request_id}")
    line = Line()
    delivery.deliver(desk.store, {"FR": line}, lambda *_: None)
    assert [content[:10] for content in line.sent] == [b"<ask n='2'"]
    ((state_of_one, reason),) = desk.rows(f"SELECT state, last_error FROM outgoing WHERE id = {one.request_id}")
    assert state_of_one == "dead"
    assert f"STORE_ROW_DAMAGED: row {one.request_id} of outgoing" in reason
    shown = show_request(desk.database, two.request_id or 0)
    assert shown is not None
    assert shown.content.startswith("<ask n='2'")


def test_an_answer_that_comes_at_once_is_taken_in(desk: Desk) -> None:
    """Synchronous services answer in the same breath."""
    outbound, _ = office(desk)
    handed = outbound.submit(request(), "anna")
    taken: list[tuple[bytes, str, str, int]] = []
    delivery.deliver(desk.store, {"FR": Line("answers")}, lambda _tx, *answer: taken.append(answer))
    ((content, name, channel, asked),) = taken
    assert (content, channel, asked) == (b"<answer/>", "line", handed.request_id)
    assert name.endswith(".xml")


class Overtaken(Line):
    """The market's answer arrives by another channel before the call that brought the request ends."""

    def __init__(self, desk: Desk) -> None:
        super().__init__("ok")
        self._desk = desk

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        answer = RequestAnswer(**_head(correlation=message.reference), accepted=True, code="SGT200", request="A1")
        self._desk.deliver([transaction([answer])])
        return super().send(message)


def test_an_answer_that_overtakes_the_end_of_the_sending_leaves_it_sent(desk: Desk) -> None:
    """The answer decides the state; when and by which channel it was sent is known all the same."""
    outbound, _ = office(desk)
    outbound.submit(request(), "anna")
    delivery.deliver(desk.store, {"FR": Overtaken(desk)}, lambda *_: None)
    assert state(desk) == "acknowledged"
    assert desk.rows("SELECT sent_at IS NOT NULL, channel, attempts FROM outgoing") == [(True, "line", 1)]


class SentMeanwhile(Line):
    """Another worker sends the same request before the call of the first one ends; the market answers both."""

    def __init__(self, desk: Desk, other: Line) -> None:
        super().__init__("answers")
        self._desk, self._other = desk, other

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        delivery.deliver(self._desk.store, {"FR": self._other}, _kept)
        time.sleep(0.001)
        return Sent(reference=message.reference, receipt="there", answer=b"<answer>known already</answer>")


def _kept(tx: StoreTransaction, content: bytes, name: str, channel: str, asked: int) -> None:
    archive(tx, name, BytesIO(content), channel, now_micros(), asked)


@pytest.mark.parametrize(("other", "stored"), [("answers", b"<answer/>"), ("ok", b"<answer>known already</answer>")])
def test_of_two_sendings_of_a_request_one_answer_is_stored(desk: Desk, other: str, stored: bytes) -> None:
    """The first that is there: what a worker that was cut off brings later is the same, said twice."""
    outbound, _ = office(desk)
    outbound.submit(request(), "anna")
    delivery.deliver(desk.store, {"FR": SentMeanwhile(desk, Line(other))}, _kept)
    assert desk.rows("SELECT sha256 FROM envelope WHERE answers IS NOT NULL") == [(sha256(stored).digest(),)]
    assert desk.rows("SELECT state FROM outgoing_event WHERE state = 'sent'") == [("sent",), ("sent",)]


def _head(**fields: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "market": "FR",
        "market_type": "ANSWER",
        "reference": "a1",
        "created": NOW,
        "effective": NOW,
        "access_point": PRM,
    }
    return values | fields


@pytest.mark.parametrize("backwards", [False, True])
def test_a_request_is_followed_to_its_end_whatever_the_order_of_the_answers(desk: Desk, backwards: bool) -> None:
    """Acknowledged, in course, done: told in any order it ends done, with every step kept."""
    outbound, _ = office(desk)
    reference = outbound.submit(request(), "anna").reference
    delivery.deliver(desk.store, {"FR": Line()}, lambda *_: None)
    told = [
        transaction([RequestAnswer(**_head(correlation=reference), accepted=True, code="SGT200", request="A1")]),
        transaction(
            [RequestStatus(**_head(reference="m", correlation=reference), request="A1", milestone=2, state="in-course")]
        ),
        transaction(
            [RequestStatus(**_head(reference="m3", correlation=reference), request="A1", milestone=3, state="done")]
        ),
    ]
    for one in reversed(told) if backwards else told:
        desk.deliver([one])
    assert state(desk) == "done"
    assert desk.rows("SELECT market_reference FROM outgoing") == [("A1",)]
    steps = {step for (step,) in desk.rows("SELECT state FROM outgoing_event")}
    assert steps == {"built", "sent", "acknowledged", "in-course", "done"}


@pytest.mark.parametrize("backwards", [False, True])
def test_contradictory_steps_end_alike_whatever_the_order_of_the_answers(desk: Desk, backwards: bool) -> None:
    """Of two ends the earlier one holds, of two steps equally far the later one."""
    outbound, _ = office(desk)
    reference = outbound.submit(request(), "anna").reference
    delivery.deliver(desk.store, {"FR": Line()}, lambda *_: None)

    def told(hours: int, state: RequestState, code: str) -> Transaction:
        fields = _head(reference=f"m{hours}", correlation=reference) | {"effective": NOW + timedelta(hours=hours)}
        return transaction([RequestStatus(**fields, request="A1", milestone=hours, state=state, state_code=code)])

    known = "SELECT state, answer_code FROM outgoing"
    for one in (told(2, "in-course", "B"), told(1, "in-course", "A"))[:: -1 if backwards else 1]:
        desk.deliver([one])
    assert desk.rows(known) == [("in-course", "B")]
    for one in (told(3, "refused", "C"), told(4, "done", "D"))[:: -1 if backwards else 1]:
        desk.deliver([one])
    assert desk.rows(known) == [("refused", "C")]


def test_milestones_find_their_request_by_the_markets_reference(desk: Desk) -> None:
    """After the answer named the market's own reference, that is enough."""
    outbound, _ = office(desk)
    reference = outbound.submit(request(), "anna").reference
    delivery.deliver(desk.store, {"FR": Line()}, lambda *_: None)
    desk.deliver([transaction([RequestAnswer(**_head(correlation=reference), accepted=True, request="A7")])])
    desk.deliver([transaction([RequestStatus(**_head(reference="x"), request="A7", milestone=2, state="refused")])])
    assert state(desk) == "refused"


def test_a_milestone_that_came_before_its_number_was_known_counts(desk: Desk) -> None:
    """The market's own number is told by an answer that comes last."""
    outbound, _ = office(desk)
    reference = outbound.submit(request(), "anna").reference
    delivery.deliver(desk.store, {"FR": Line()}, lambda *_: None)
    desk.deliver([transaction([RequestStatus(**_head(reference="x"), request="A8", milestone=2, state="done")])])
    assert state(desk) == "sent"
    desk.deliver([transaction([RequestAnswer(**_head(correlation=reference), accepted=True, request="A8")])])
    assert state(desk) == "done"
    steps = [step for (step,) in desk.rows("SELECT state FROM outgoing_event ORDER BY id")]
    assert steps == ["built", "sent", "acknowledged", "done"]


def test_a_request_of_ours_that_was_refused_stands_in_the_way_of_none(desk: Desk) -> None:
    """The market had told that it looked at it; the refusal came as an answer, which is no milestone."""
    outbound, _ = office(desk)
    reference = outbound.submit(request(), "anna").reference
    assert reference is not None
    told = _head(reference="p", correlation=reference)
    desk.deliver([transaction([RequestStatus(**told, request=reference, state="acknowledged")])])
    assert outbound.submit(request(EndOfSupplyRequest), "anna").label == "rejected"
    desk.deliver([transaction([RequestAnswer(**_head(correlation=reference), accepted=False, code="E17")])])
    assert outbound.submit(request(EndOfSupplyRequest), "anna").label == "accepted"


def test_an_answer_that_does_not_come_is_overdue(desk: Desk) -> None:
    """The market's time is counted from the request."""
    outbound, _ = office(desk)
    outbound.submit(request(), "anna")
    delivery.deliver(desk.store, {"FR": Line()}, lambda *_: None)
    ((answer_by,),) = desk.rows("SELECT answer_by FROM outgoing")
    assert delivery.overdue(desk.store, answer_by - 1) == []
    assert len(delivery.overdue(desk.store, answer_by + 1)) == 1


def test_an_answer_of_several_reasons_tells_them_all() -> None:
    reasons = (AnswerReason(code="E10", text="unknown point"), AnswerReason(code="E17"))
    answer = RequestAnswer(**_head(), accepted=False, reasons=reasons)
    assert step_of(answer) == ("refused", "E10", "E10 unknown point; E17", None)
    one = RequestAnswer(**_head(), accepted=False, code="X", text="said", reasons=reasons)
    assert step_of(one) == ("refused", "X", "said", None)
    first = RequestAnswer(**_head(), accepted=False, code="E10", text="unknown point", reasons=reasons)
    assert step_of(first) == ("refused", "E10", "E10 unknown point; E17", None)
    apart = RequestAnswer(**_head(), accepted=False, code="E10", text="see both", reasons=reasons)
    assert step_of(apart) == ("refused", "E10", "see both (E10 unknown point; E17)", None)


def batched(desk: Desk, count: int) -> tuple[Batches, list[str]]:
    """Requests for points of their own, to a market that takes batches."""
    market = Batches()
    outbound = Outbound(desk.store, desk.engine, {"FR": market}, desk.version)
    made = [outbound.submit(request(access_point=f"9900000000000{n}"), "anna").reference for n in range(count)]
    return market, [str(one) for one in made]


def test_requests_go_out_in_one_message_and_its_answer_is_theirs(desk: Desk) -> None:
    """Three requests, two in a batch: two messages; a refusal of the batch refuses its two, and the third goes on."""
    market, made = batched(desk, 3)
    line, taken = Line("answers", "ok"), list[Any]()
    bundles = delivery.Bundles({"FR": market})
    counts = delivery.deliver(desk.store, {"FR": line}, lambda _tx, *answer: taken.append(answer), bundles=bundles)
    assert counts == {"sent": 3, "put_off": 0, "dead": 0}
    assert len(line.sent) == 2
    assert all(one.encode() in line.sent[0] for one in made[:2])
    first, second, third = (batch for (batch,) in desk.rows("SELECT batch FROM outgoing ORDER BY id"))
    assert first == second is not None
    assert third is None
    assert len(taken) == 1
    assert str(first) in taken[0][1]
    refusal = transaction([RequestAnswer(**_head(correlation=str(first)), accepted=False, code="200")])
    desk.deliver([refusal])
    assert [one for (one,) in desk.rows("SELECT state FROM outgoing ORDER BY id")] == ["refused", "refused", "sent"]


def test_each_request_of_a_batch_has_an_end_of_its_own(desk: Desk) -> None:
    """The batch is taken; later one is done and the other refused, each by its own reference."""
    market, made = batched(desk, 2)
    delivery.deliver(desk.store, {"FR": Line()}, lambda *_: None, bundles=delivery.Bundles({"FR": market}))
    ((whole,),) = set(desk.rows("SELECT batch FROM outgoing"))
    desk.deliver([transaction([RequestAnswer(**_head(correlation=str(whole)), accepted=True)])])
    assert {one for (one,) in desk.rows("SELECT state FROM outgoing")} == {"acknowledged"}
    desk.deliver([transaction([RequestAnswer(**_head(correlation=made[0]), accepted=False, code="210")])])
    done = RequestStatus(**_head(reference="m", correlation=made[1]), request="7", state="done")
    desk.deliver([transaction([done])])
    assert [one for (one,) in desk.rows("SELECT state FROM outgoing ORDER BY id")] == ["refused", "done"]


def test_what_failed_in_a_batch_goes_out_alone(desk: Desk) -> None:
    """One request that the other side does not take makes only itself dead."""
    market, made = batched(desk, 2)
    line = Line("CHANNEL_REFUSED", "CHANNEL_REFUSED", "ok")
    bundles = delivery.Bundles({"FR": market})
    assert "CHANNEL_REFUSED" in ABOUT_ONE_ITEM
    delivery.deliver(desk.store, {"FR": line}, lambda *_: None, bundles=bundles)
    assert {one for (one,) in desk.rows("SELECT state FROM outgoing")} == {"built"}
    no_pause(desk)
    delivery.deliver(desk.store, {"FR": line}, lambda *_: None, bundles=bundles)
    assert [one for (one,) in desk.rows("SELECT state FROM outgoing ORDER BY id")] == ["dead", "sent"]
    assert [made[0].encode() in one for one in line.sent[1:]] == [True, False]
