"""A simulated market that answers our requests: granted, refused, late, twice, in the wrong order, and followed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.common.conformance.subject import read
from energycomm.kernel.codec import decode_json
from energycomm.kernel.messages import KernelMessage
from energycomm.market.contract import OutgoingMessage
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.submissions import completed
from energycomm.simulation.answering import Asked, Delivery, Manners, answer
from energycomm.simulation.port import load_simulator, simulated_markets
from tests.adapters.belgian import request as belgian
from tests.adapters.dutch import REQUESTS
from tests.adapters.dutch import request as dutch
from tests.adapters.subjects import SUBJECTS
from tests.end_to_end.conftest import Place, place

__all__ = ["place"]

Places = Callable[..., Place]
MARKETS = ("be", "dk", "fr", "nl")
AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
each_market = pytest.mark.parametrize("market", MARKETS)


def shipped(root: Path, market: str) -> KernelMessage:
    """The request of fixtures/requests."""
    (told,) = json.loads((root / "fixtures" / "requests" / f"{market}.json").read_bytes())
    message = decode_json(json.dumps(completed(told)).encode())
    assert isinstance(message, KernelMessage)
    return message


def asked(message: KernelMessage, number: int) -> Asked:
    """A request, built."""
    built = installed_adapters()[message.market].build(message, f"1b4e28ba-2fa1-11d2-883f-{number:012d}")
    assert isinstance(built, OutgoingMessage), built
    return Asked(type(message).__name__, built.content, built.reference, AT)


def said(market: str, requests: list[Asked], manners: Manners | None = None) -> list[Delivery]:
    simulator = load_simulator(market)
    assert simulator is not None
    return answer(simulator.clerk, requests, manners)


@each_market
def test_equal_requests_get_equal_answers_in_order_of_arrival(market: str, project_root: Path) -> None:
    requests = [asked(shipped(project_root, market), number) for number in range(12)]
    manners = Manners(refuse=0.4, late=0.3, twice=0.3, disorder=0.3, seed=7)
    once = said(market, requests, manners)
    assert once == said(market, requests[::-1], manners)
    assert [delivery.at for delivery in once] == sorted(delivery.at for delivery in once)
    assert {delivery.reference for delivery in once} == {request.reference for request in requests}


@each_market
def test_manners_show_in_what_arrives(market: str, project_root: Path) -> None:
    request = asked(shipped(project_root, market), 1)
    plain = said(market, [request])
    assert len(plain) >= 2
    assert plain[0].at - AT < timedelta(minutes=2)
    late = said(market, [request], Manners(late=1))
    assert late[0].at - AT > timedelta(days=1)
    assert len(said(market, [request], Manners(twice=1))) == 2 * len(plain)
    turned = said(market, [request], Manners(disorder=1))
    assert [each.document for each in turned] == [each.document for each in plain][::-1]


BUILT = [("NL", kind) for kind in REQUESTS] + [("BE", kind) for kind in sorted(SUBJECTS["be_atrias"].adapter.builds)]


@pytest.mark.parametrize(("market", "kind"), BUILT)
@pytest.mark.parametrize("refuse", [0.0, 1.0])
def test_every_request_gets_an_answer_that_repeats_its_reference(market: str, kind: str, refuse: float) -> None:
    request = asked((dutch if market == "NL" else belgian)(kind), 3)
    adapter = installed_adapters()[market]
    answers = []
    for delivery in said(market, [request], Manners(refuse=refuse)):
        found = read(adapter, delivery.document.content, delivery.document.name + delivery.document.suffix)
        assert found.refusal is None
        for transaction in found.transactions:
            assert transaction.refusals == ()
            answers += [each for each in transaction.messages if type(each).__name__ == "RequestAnswer"]
    assert answers
    assert {each.correlation for each in answers} == {request.reference}
    if refuse:
        assert not any(getattr(each, "accepted", True) for each in answers)


@pytest.mark.parametrize(("market", "kind"), BUILT)
@pytest.mark.parametrize("disorder", [0.0, 1.0])
def test_a_request_that_is_granted_is_done(market: str, kind: str, disorder: float) -> None:
    """By what is announced or sent, which repeats its reference; where nothing is, by the positive answer."""
    request = asked((dutch if market == "NL" else belgian)(kind), 3)
    adapter = installed_adapters()[market]
    done = []
    for delivery in said(market, [request], Manners(disorder=disorder)):
        found = read(adapter, delivery.document.content, delivery.document.name + delivery.document.suffix)
        for transaction in found.transactions:
            assert transaction.refusals == ()
            done += [each for each in transaction.messages if getattr(each, "state", None) == "done"]
    assert [each.correlation for each in done] == [request.reference]


@pytest.mark.parametrize(
    ("manners", "state"), [(("--twice", "1", "--disorder", "1"), "done"), (("--refuse", "1"), "refused")]
)
def test_requests_of_every_market_are_followed_to_their_end(
    place: Places, project_root: Path, manners: tuple[str, ...], state: str
) -> None:
    here = place()
    for market in MARKETS:
        assert here("request", "submit", project_root / "fixtures" / "requests" / f"{market}.json").code == 0
    answers = here.folder / "answers"
    assert here("simulate-answers", answers, *manners).code == 0
    assert here.process(answers).code == 0
    states = dict(here.rows("SELECT market, state FROM outgoing"))
    assert states == dict.fromkeys((market.upper() for market in MARKETS), state)


def test_the_only_market_is_simulated_when_none_is_named(place: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    here = place()
    only = {"nl": simulated_markets()["nl"]}
    monkeypatch.setattr("energycomm.commands.simulate.simulated_markets", lambda: only)
    assert here("simulate", here.folder / "out", "--access-points", "2", "--months", "2").code == 0
    assert any("GainResultResponse" in path.name for path in (here.folder / "out" / "envelopes").iterdir())


def test_a_market_without_a_simulator_and_a_fault_it_does_not_play_are_told(place: Places) -> None:
    here = place()
    answer = here("simulate", here.folder / "out", "--market", "xx")
    assert answer.code != 0
    assert "Markets: be, dk, fr, nl" in answer.err
    answer = here("simulate", here.folder / "out")
    assert answer.code != 0
    assert "Give --market, one of: be, dk, fr, nl" in answer.err
    answer = here("simulate", here.folder / "out", "--market", "nl", "--fault", "FR-R03=0.1")
    assert answer.code != 0
    assert "no fault that can be simulated" in answer.err
    answer = here("simulate", here.folder / "out", "--market", "nl", "--flat-file", "1000")
    assert "none in this market" in answer.err
    assert here("simulate", here.folder / "out", "--market", "be", "--access-points", "2", "--months", "2").code == 0
