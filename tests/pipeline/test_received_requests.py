"""Requests to us: owed until they are answered or taken back, in whatever order all of it comes, on both databases."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from itertools import permutations
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from energycomm.daemon.survey import survey
from energycomm.eis.comparison import canonical
from energycomm.eis.received_requests import list_owed, place_of
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import AggregatedSeries, ErrorReport, KernelMessage, ReceivedRequest, RequestAnswer
from energycomm.kernel.parts import AnswerReason, Position
from energycomm.kernel.requests import AggregatedDataRequest, ReceivedRequestAnswer, SettlementRequest
from energycomm.market.contract import OutgoingMessage
from energycomm.market.installed import installed_adapters
from energycomm.pipeline import delivery
from energycomm.pipeline.outbound import Outbound, Submission
from energycomm.transport.channel import Outgoing, Sent, TechnicalError
from tests.pipeline.desk import Desk
from tests.pipeline.story import transaction

PRM, OTHER = "99000000000017", "99000000000024"
NOW = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
PARIS = {"FR": ZoneInfo("Europe/Paris")}
OVER, FAR = datetime(2026, 9, 1, 10, 0, tzinfo=UTC), datetime(2099, 9, 1, 10, 0, tzinfo=UTC)


class Market(SimpleNamespace):
    """A market that takes answers, and requests of sums."""

    zone = "Europe/Paris"
    builds = frozenset(("ReceivedRequestAnswer", "AggregatedDataRequest", "SettlementRequest"))
    answer_within: Mapping[str, timedelta] = MappingProxyType({})

    def build(self, message: KernelMessage, reference: str) -> OutgoingMessage:
        """Some bytes."""
        return OutgoingMessage(type="ANSWER", content=b"<a/>", reference=reference, content_type="application/xml")


class Line:
    """A channel that takes what it is given, or refuses it for good."""

    name = "line"

    def __init__(self, broken: bool = False) -> None:
        self.broken = broken

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        """One attempt."""
        if self.broken:
            return TechnicalError(code="CHANNEL_REFUSED", channel=self.name, detail="no", item=message.reference)
        return Sent(reference=message.reference, receipt="there")


def head(**fields: Any) -> dict[str, Any]:
    """What each message says."""
    return {
        "market": "FR",
        "market_type": "ASK",
        "created": NOW,
        "effective": NOW,
        "access_point": PRM,
        "sender": "17X100A100A0001A",
        "receiver": "17X100A100F0009Q",
    } | fields


def asked(reference: str = "Q-1", by: datetime | None = OVER, **fields: Any) -> ReceivedRequest:
    """A request of another party."""
    return ReceivedRequest(**head(reference=reference, answer_by=by, requester="17XOTHER") | fields)


def taken_back(reference: str = "Q-1", own: str = "W-1", **fields: Any) -> ReceivedRequest:
    """Its cancellation."""
    return ReceivedRequest(**head(reference=own, correlation=reference, function="cancel") | fields)


def answer(reference: str | None = "Q-1", **fields: Any) -> ReceivedRequestAnswer:
    """Our answer."""
    return ReceivedRequestAnswer(**head(reference="a", correlation=reference, accepted=True) | fields)


@pytest.fixture
def desk(database_url: str) -> Desk:
    """A store with the shipped rules."""
    return Desk(database_url)


def office(desk: Desk) -> Outbound:
    """Where answers are handed in."""
    return Outbound(desk.store, desk.engine, {"FR": Market()}, desk.version)


def bring(desk: Desk, *messages: KernelMessage) -> None:
    """Let messages come in, each by itself."""
    for message in messages:
        desk.deliver([transaction([message])])


def owed(desk: Desk, **asked_for: Any) -> list[str]:
    """References of what is owed, in the order of the list."""
    return [one.reference for one in list_owed(desk.database, PARIS, **asked_for)]


def codes(done: Submission) -> list[str]:
    """Error codes of an answer that was not sent."""
    assert done.label == "rejected"
    return [found.error_code for found in done.findings]


def test_what_is_owed_is_listed_with_the_most_urgent_first(desk: Desk) -> None:
    bring(desk, asked("Q-3", None), asked("Q-2", FAR), asked("Q-1", OVER), asked("Q-4", FAR, access_point=None))
    first, *others = list_owed(desk.database, PARIS)
    assert (first.reference, first.market, first.access_point, first.late) == ("Q-1", "FR", PRM, True)
    assert first.answer_by is not None
    assert first.answer_by.isoformat() == "2026-09-01T12:00:00+02:00"  # the legal time of the market
    assert [(one.reference, one.late) for one in others] == [("Q-2", False), ("Q-4", False), ("Q-3", False)]
    assert others[-1].answer_by is None
    assert owed(desk, late=True) == ["Q-1"]
    assert (owed(desk, market="NL"), owed(desk, market="FR", limit=2)) == ([], ["Q-1", "Q-2"])
    assert owed(desk, after=place_of(others[0])) == ["Q-4", "Q-3"]


def test_an_answer_takes_a_request_off_the_list_and_is_done_when_it_is_sent(desk: Desk) -> None:
    bring(desk, asked("Q-1"), asked("Q-1", access_point=OTHER), asked("Q-2"))
    assert office(desk).submit(answer(), "anna").label == "accepted"
    assert owed(desk) == ["Q-1", "Q-2"]
    assert [one.access_point for one in list_owed(desk.database, PARIS)] == [OTHER, PRM]
    assert desk.rows("SELECT answers, state FROM outgoing") == [("Q-1", "built")]
    delivery.deliver(desk.store, {"FR": Line()}, lambda *_: None)
    ((state, settled, by),) = desk.rows("SELECT state, settled_at IS NOT NULL, answer_by FROM outgoing")
    assert (state, bool(settled)) == ("done", True)
    assert delivery.overdue(desk.store, by + 1) == []  # nobody answers an answer
    assert len(owed(desk)) == 2


def test_an_answer_to_nothing_a_second_one_and_one_to_what_was_taken_back_are_rejected(desk: Desk) -> None:
    bring(desk, asked("Q-1"), asked("Q-2"), taken_back("Q-2"), asked("Q-5", access_point=None))
    outbound = office(desk)
    assert codes(outbound.submit(answer("Q-9"), "anna")) == ["CO-A51"]
    assert codes(outbound.submit(answer(None), "anna")) == ["CO-A51"]
    assert codes(outbound.submit(answer("Q-1", access_point=OTHER), "anna")) == ["CO-A51"]
    assert codes(outbound.submit(answer("Q-1", access_point=None), "anna")) == ["CO-A51"]
    assert codes(outbound.submit(answer("W-1"), "anna")) == ["CO-A51"]
    assert codes(outbound.submit(answer("Q-2"), "anna")) == ["CO-A53"]
    assert codes(outbound.submit(answer("Q-1", accepted=False), "anna")) == ["CO-A54"]
    refusal = answer("Q-1", accepted=False, reasons=(AnswerReason(code="E16"),))
    for given in (refusal, answer("Q-5", access_point=None)):
        assert outbound.submit(given, "anna", given.correlation).label == "accepted"
        assert codes(outbound.submit(given, "anna")) == ["CO-A52"]
        assert outbound.submit(given, "anna", given.correlation).repeated
    assert desk.rows("SELECT count(*) FROM outgoing") == [(2,)]
    assert owed(desk) == []


def test_an_answer_that_the_market_refuses_is_owed_again(desk: Desk) -> None:
    bring(desk, asked())
    outbound = office(desk)
    reference = outbound.submit(answer(), "anna").reference
    delivery.deliver(desk.store, {"FR": Line()}, lambda *_: None)
    bring(desk, ErrorReport(**head(reference="e", correlation=reference), code="E10"))
    assert desk.rows("SELECT state FROM outgoing") == [("refused",)]
    assert owed(desk) == ["Q-1"]
    assert outbound.submit(answer(), "anna").label == "accepted"
    assert owed(desk) == []


def test_an_answer_whose_receipt_comes_first_is_done(desk: Desk) -> None:
    """A synchronous market confirms an answer before it counts as sent."""
    bring(desk, asked())
    reference = office(desk).submit(answer(), "anna").reference
    bring(desk, RequestAnswer(**head(reference="r", correlation=reference), accepted=True, code="OK"))
    assert desk.rows("SELECT state, answer_code FROM outgoing") == [("done", "OK")]


def test_an_answer_that_cannot_be_sent_is_owed_again_and_is_not_revived_beside_another(desk: Desk) -> None:
    bring(desk, asked())
    outbound = office(desk)
    dead = outbound.submit(answer(), "anna").request_id
    assert dead is not None
    delivery.deliver(desk.store, {"FR": Line(broken=True)}, lambda *_: None)
    assert owed(desk) == ["Q-1"]
    assert delivery.revive(desk.store, dead)
    assert owed(desk) == []
    delivery.deliver(desk.store, {"FR": Line(broken=True)}, lambda *_: None)
    assert outbound.submit(answer(), "anna").label == "accepted"
    assert not delivery.revive(desk.store, dead)
    assert sorted(state for (state,) in desk.rows("SELECT state FROM outgoing")) == ["built", "dead"]


def test_a_replaced_request_is_owed_in_its_last_form(desk: Desk) -> None:
    again = {"function": "replace", "correlation": "Q-1"}
    bring(desk, asked("Q-1"), asked("Q-1", FAR, **again, effective=NOW + timedelta(hours=1)))
    assert [one.answer_by for one in list_owed(desk.database, PARIS)] == [FAR]
    bring(desk, asked("Q-2", OVER, **again, effective=NOW + timedelta(hours=2)))
    assert owed(desk) == ["Q-2"]
    assert codes(office(desk).submit(answer("Q-1"), "anna")) == ["CO-A53"]
    assert office(desk).submit(answer("Q-2"), "anna").label == "accepted"
    assert owed(desk) == []


def test_what_takes_nothing_back_is_rejected_and_what_is_told_of_each(desk: Desk) -> None:
    bring(desk, asked(), taken_back(), ReceivedRequest(**head(reference="W-2", function="cancel")))
    assert desk.rows("SELECT error_code FROM finding") == [("CO-A04",)]
    told = [event for (event,) in desk.rows("SELECT event FROM outbox ORDER BY id")]
    assert told == ["request-received", "request-withdrawn"]


def test_any_order_of_arrival_owes_the_same(tmp_path: Path) -> None:
    """A cancellation that comes first, at the instant of its request; one store, one list."""
    messages = (asked("Q-1"), taken_back("Q-1"), asked("Q-2"), asked("Q-3", FAR))
    meanings = []
    for number, order in enumerate(permutations(messages)):
        desk = Desk(f"sqlite:///{tmp_path / f'{number}.db'}")
        bring(desk, *order)
        assert owed(desk) == ["Q-2", "Q-3"]
        meanings.append(canonical(desk.database, carriers=False)["access_points"])
    assert all(meaning == meanings[0] for meaning in meanings)


def test_stores_that_answered_otherwise_differ(desk: Desk, tmp_path: Path) -> None:
    other = Desk(f"sqlite:///{tmp_path / 'other.db'}")
    for one, reference in ((desk, "Q-1"), (other, "Q-2")):
        bring(one, asked("Q-1"), asked("Q-2"))
        outbound = office(one)
        outbound.new_reference = lambda: "ours"
        outbound.submit(answer(reference), "anna")
    told = [canonical(one.database)["requests"]["ours"]["answers"] for one in (desk, other)]
    assert told == ["Q-1", "Q-2"]


def test_the_alarm_is_of_answers_that_are_late_or_due_soon(desk: Desk) -> None:
    """Not of what has time or none, what was answered, and what was taken back."""
    now, hour = micros(NOW), timedelta(hours=1)
    bring(
        desk,
        asked("late", NOW - hour),
        asked("soon", NOW + 5 * hour),
        asked("later", NOW + 30 * hour),
        asked("never", None),
        asked("answered", NOW - hour),
        asked("withdrawn", NOW - hour),
        taken_back("withdrawn"),
    )
    assert office(desk).submit(answer("answered"), "anna").label == "accepted"

    def alarmed(hours: float) -> tuple[dict[str, int], int]:
        found = survey(desk.database, now, hours)
        (number,) = [number for code, _, number, _ in found.alarms() if code == "ANSWER_DUE"]
        return found.answers_due, number

    assert alarmed(0) == ({"FR": 1}, 1)
    assert alarmed(6) == ({"FR": 2}, 2)
    assert alarmed(48) == ({"FR": 3}, 3)
    for name in ("late", "soon", "later"):
        office(desk).submit(answer(name), "anna")
    assert alarmed(48) == ({}, 0)


@pytest.mark.parametrize("kind", [AggregatedDataRequest, SettlementRequest])
def test_sums_and_amounts_are_asked_for_without_a_point(desk: Desk, kind: type[KernelMessage]) -> None:
    period = {"start": date(2026, 8, 1), "end": date(2026, 8, 31)}
    outbound = office(desk)
    done = outbound.submit(kind(**head(reference="r", access_point=None) | period), "anna")
    assert done.label == "accepted"
    turned = {"start": period["end"], "end": period["start"]}
    assert codes(outbound.submit(kind(**head(reference="r", access_point=None) | turned), "anna")) == ["CO-D51"]


def test_a_request_of_sums_is_done_when_the_sums_come(desk: Desk) -> None:
    period = {"start": date(2026, 8, 1), "end": date(2026, 8, 31)}
    outbound = office(desk)
    done = outbound.submit(AggregatedDataRequest(**head(reference="r", access_point=None) | period), "anna")
    delivery.deliver(desk.store, {"FR": Line()}, lambda *_: None)
    assert desk.rows("SELECT state FROM outgoing") == [("sent",)]
    fields = head(reference="s", correlation=done.reference, access_point=None)
    sums = AggregatedSeries(
        **fields,
        end=NOW + timedelta(hours=1),
        resolution=60,
        unit="kWh",
        grid_area="804",
        positions=(Position(position=1),),
    )
    bring(desk, sums)
    assert desk.rows("SELECT state FROM kernel_message WHERE kind = 'AggregatedSeries'") == [("accepted",)]
    assert desk.rows("SELECT state FROM outgoing") == [("done",)]


@pytest.mark.parametrize("market", ["BE", "FR", "NL"])
@pytest.mark.parametrize("kind", [AggregatedDataRequest, SettlementRequest, ReceivedRequestAnswer])
def test_a_market_without_a_form_for_a_kind_says_so(tmp_path: Path, market: str, kind: type[KernelMessage]) -> None:
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    outbound = Outbound(desk.store, desk.engine, installed_adapters(), desk.version)
    own: dict[str, Any] = {"start": date(2026, 8, 1), "end": date(2026, 8, 31)}
    if kind is ReceivedRequestAnswer:
        own = {"accepted": True, "correlation": "Q-1"}
    done = outbound.submit(kind(**head(reference="r", market=market) | own), "anna")
    (refusal,) = done.refusals
    assert (done.label, refusal.code, refusal.path, refusal.value) == (
        "refused",
        "OUT_NOT_BUILT",
        "kind",
        kind.__name__,
    )
    assert f"the market {market} has no form for it" in refusal.advice
    assert kind.__name__ not in refusal.expected
    assert "MeteredDataRequest" in refusal.expected
    assert desk.rows("SELECT count(*) FROM kernel_message") == [(0,)]
