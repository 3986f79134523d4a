"""What people name by a reference, a number or an event of its own is the thing itself, however the question is put."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, text

from assistant.operations.house import House
from assistant.operations.worked import Worked
from energycomm.config import Config
from energycomm.eis.database import opened
from energycomm.eis.migrations import upgrade
from energycomm.eis.store import Store
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total
from tests.pipeline.desk import NOW, Desk
from tests.pipeline.story import day, end, start

ROOT = Path(__file__).resolve().parents[2]
PRM = "99000000000017"


@pytest.fixture(scope="module")
def french(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, Engine]]:
    """A store of what the fixtures of Enedis deliver, with the shipped rules and documentation."""
    url = f"sqlite:///{tmp_path_factory.mktemp('french') / 'eis.db'}"
    settings: dict[str, Any] = {"database": SecretStr(url)}
    config = Config(rules=ROOT / "rules", **settings)
    with opened(url) as engine:
        upgrade(engine)
        files = sorted(file for file in (ROOT / "fixtures" / "fr").iterdir() if file.is_file())
        total(Gateway(config, Store(engine)).inbound.take(files, "test"))
        yield House(config, docs=ROOT / "docs", now=lambda: datetime(2030, 1, 1, tzinfo=UTC)), engine


def answer(house: House, question: str) -> Worked:
    reply = house.reply(question)
    assert reply is not None, f"{question}: {house.plan(question)}"
    (found,) = reply.answers
    assert found.proofs
    return found


def rows(engine: Engine, query: str) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def meaning(market: str, name: str, code: str, language: str = "en") -> str:
    """What a code of a list means, as the file has it."""
    with (ROOT / "rules" / market / "codes.csv").open(encoding="utf-8", newline="") as file:
        return next(row[language] for row in csv.DictReader(file) if (row["list"], row["code"]) == (name, code))


@pytest.mark.parametrize(
    "question",
    [
        "What became of request {}?",
        "Where do we stand with the request of reference {}?",
        "Où en est la demande {} ?",
        "Quel sort la demande {} a-t-elle connu ?",
        "Hoe is het afgelopen met verzoek {}?",
        "{}, où en est-on ?",
    ],
)
def test_a_request_is_told_by_its_reference_with_its_latest_state(french: tuple[House, Engine], question: str) -> None:
    house, engine = french
    last = "SELECT reference, state FROM request WHERE reference LIKE 'A%' ORDER BY at, milestone"
    for reference, state in dict(rows(engine, last)).items():
        assert answer(house, question.format(reference)).values == (state,)


def test_every_step_of_a_request_is_shown_with_what_its_code_means(french: tuple[House, Engine]) -> None:
    house, engine = french
    told = rows(engine, "SELECT state, state_code FROM request WHERE reference = 'A0000909' ORDER BY at, milestone")
    found = answer(house, "Why was request A0000909 refused?")
    assert found.table is not None
    assert [row[1:3] for row in found.table.rows] == told
    assert [row[3] for row in found.table.rows] == [meaning("fr", "milestone", code) for _, code in told]
    assert meaning("fr", "milestone", told[-1][1]) in found.sentence


@pytest.mark.parametrize(
    ("question", "states"),
    [
        ("Is request {} refused?", ("refused",)),
        ("La demande {} a-t-elle été refusée ?", ("refused",)),
        ("Is aanvraag {} geweigerd?", ("refused",)),
        ("Is request {} done?", ("done",)),
        ("Is request {} still unanswered?", ("built", "sent", "acknowledged", "in-course")),
    ],
)
def test_whether_a_request_has_a_state_is_answered_by_yes_or_no(
    french: tuple[House, Engine], question: str, states: tuple[str, ...]
) -> None:
    house, engine = french
    last = dict(rows(engine, "SELECT reference, state FROM request WHERE reference LIKE 'A%' ORDER BY at, milestone"))
    assert {state in states for state in last.values()} == {True, False}
    for reference, state in last.items():
        assert answer(house, question.format(reference)).values == (state in states,)


@pytest.mark.parametrize(
    "question",
    [
        "What became of the request for {}?",
        "What is the status of the request for metering point {}?",
        "La demande de mise en service du PDL {}, elle a donné quoi au final ?",
        "Où en est la demande du point {} ?",
        "Wat is er van de aanvraag voor {} geworden?",
        "Hoe staat het met het verzoek voor aansluiting {}?",
    ],
)
def test_requests_at_an_access_point_are_told_with_their_latest_state(
    french: tuple[House, Engine], question: str
) -> None:
    house, engine = french
    there = (
        "SELECT identifier, reference, request.state FROM request JOIN access_point a ON a.id = access_point_id"
        " ORDER BY request.at, milestone"
    )
    last: dict[str, dict[str, str]] = {}
    for point, reference, state in rows(engine, there):
        last.setdefault(point, {})[reference] = state
    alone = {point: known for point, known in last.items() if len(known) == 1}
    assert alone
    for point, known in alone.items():
        ((reference, state),) = known.items()
        assert f"{reference} " in (sentence := answer(house, question.format(point)).sentence)
        assert f" {state}" in sentence


@pytest.mark.parametrize("state", ["refused", "done"])
def test_whether_a_request_at_an_access_point_has_a_state(french: tuple[House, Engine], state: str) -> None:
    house, engine = french
    (point,) = rows(engine, "SELECT identifier FROM request JOIN access_point a ON a.id = access_point_id"
                            " WHERE reference = 'A0000909' LIMIT 1")[0]  # fmt: skip
    last = rows(engine, "SELECT state FROM request WHERE reference = 'A0000909' ORDER BY at, milestone")[-1]
    found = answer(house, f"Is the request for {point} {state}?")
    assert found.values == (last == (state,),)


def test_several_requests_at_an_access_point_are_counted_and_all_shown(french: tuple[House, Engine]) -> None:
    house, engine = french
    query = (
        "SELECT identifier, count(DISTINCT reference) FROM request JOIN access_point a ON a.id = access_point_id"
        " GROUP BY identifier ORDER BY 2 DESC LIMIT 1"
    )
    ((point, number),) = rows(engine, query)
    found = answer(house, f"What became of the requests at point {point}?")
    assert number > 1
    assert found.sentence.startswith(f"{number} requests ")
    assert found.table is not None
    assert len({row[-2] for row in found.table.rows}) == number


def test_a_point_without_requests_is_said_to_have_none(french: tuple[House, Engine]) -> None:
    assert "no request" in answer(french[0], "What became of the request for 99000000099999?").sentence


def test_a_request_that_there_is_not_is_said_to_be_none(french: tuple[House, Engine]) -> None:
    assert answer(french[0], "Où en est la demande Z9999999 ?").values == ()


@pytest.mark.parametrize(
    "question",
    [
        "Who at Enedis refused request A0000909?",
        "What does Enedis charge for request A0000909?",
        "Will request A0000202 be refused?",
        "Annule la demande A0000909.",
        "Moeten we aanvraag A0000909 herhalen?",
        "How many notifications does the back office like?",
        "What did message 470 free?",
        "Débloque le message 121.",
        "Unblock message 121.",
        "Which messages bounced only in Belgium?",
    ],
)
def test_what_is_not_known_of_a_thing_is_not_answered_by_what_is(french: tuple[House, Engine], question: str) -> None:
    assert french[0].reply(question) is None


@pytest.mark.parametrize(
    "question",
    [
        "How many notifications of the event {} are there?",
        "How many {} notifications are lined up for the back office?",
        "Combien de notifications {} y a-t-il ?",
        "Hoe dikwijls is er al een melding {} klaargezet voor de backoffice?",
        "Hoeveel meldingen van het type {} zijn er?",
    ],
)
def test_notifications_are_counted_by_their_event(french: tuple[House, Engine], question: str) -> None:
    house, engine = french
    told = rows(engine, "SELECT event, count(*) FROM outbox GROUP BY event")
    assert len(told) > 2
    for event, number in told:
        assert answer(house, question.format(event)).values == (number,)


def test_the_event_with_the_most_notifications_is_named(french: tuple[House, Engine]) -> None:
    house, engine = french
    ((event, number),) = rows(
        engine, "SELECT event, count(*) FROM outbox GROUP BY event ORDER BY 2 DESC LIMIT 1"
    )  # fmt: skip
    assert answer(house, "Which event has the most notifications?").values == (event, number)


@pytest.mark.parametrize(
    "question",
    [
        "Number {} hasn't budged since it came in. What is it waiting for?",
        "Comment se fait-il que le {} soit toujours en quarantaine ?",
        "Qu'est-ce qu'il attend, le {} ?",
        "Nummer {} komt niet vooruit: waarop wacht het?",
        "record {} is stuck, what does it wait for?",
    ],
)
def test_a_message_that_is_named_by_its_number_alone_is_that_message(
    french: tuple[House, Engine], question: str
) -> None:
    house, engine = french
    waiting = rows(engine, "SELECT id, waits_for FROM kernel_message WHERE state = 'quarantined'")
    assert waiting
    for number, waits_for in waiting:
        assert answer(house, question.format(number)).values == (waits_for,)


@pytest.mark.parametrize(
    "question",
    [
        "Why was number {} turned away?",
        "Which rule bounced {}?",
        "Pourquoi le numéro {} a-t-il été recalé ?",
        "Waarom is nummer {} tegengehouden?",
    ],
)
def test_why_a_message_was_turned_away_is_told_by_its_errors(french: tuple[House, Engine], question: str) -> None:
    house, engine = french
    for (number,) in rows(engine, "SELECT id FROM kernel_message WHERE state = 'rejected'"):
        errors = f"SELECT DISTINCT error_code FROM finding WHERE message_id = {number} AND severity = 'error'"
        assert {code for (code,) in rows(engine, errors)} <= set(answer(house, question.format(number)).values)


@pytest.mark.parametrize(
    "question",
    ["Give me the codes of the warnings of message {}.", "Welke waarschuwingscodes heeft bericht {}?"],
)
def test_the_codes_of_warnings_of_a_message_are_without_its_errors(french: tuple[House, Engine], question: str) -> None:
    house, engine = french
    warned = rows(engine, "SELECT DISTINCT message_id FROM finding WHERE current AND severity = 'warning'")
    assert warned
    for (number,) in warned:
        query = f"SELECT DISTINCT error_code FROM finding WHERE message_id = {number} AND severity = 'warning'"
        assert set(answer(house, question.format(number)).values) == {code for (code,) in rows(engine, query)}


@pytest.mark.parametrize(
    "question",
    [
        "When did record {} get here?",
        "À quelle heure le message {} nous est-il parvenu ?",
        "Hoe laat kwam bericht {} binnen?",
    ],
)
def test_when_a_message_came_is_asked_in_many_words(french: tuple[House, Engine], question: str) -> None:
    (plan,) = french[0].plan(question.format(1))["plans"]
    assert plan == {"do": "why_message", "message": 1, "about": "facts"}


def test_when_a_message_was_rejected_is_told_by_its_changes(french: tuple[House, Engine]) -> None:
    house, engine = french
    ((number,),) = rows(engine, "SELECT min(id) FROM kernel_message WHERE state = 'rejected'")
    found = answer(house, f"When was message {number} rejected?")
    assert found.table is not None
    assert found.table.columns[0] == "at"
    assert "rejected" in found.table.rows[-1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "question",
    [
        "Which message freed message {}?",
        "The arrival of which message unblocked message {}?",
        "C'est l'arrivée de quel message qui a débloqué le message {} ?",
        "Door de komst van welk bericht is bericht {} vrijgekomen?",
    ],
)
def test_the_late_message_whose_arrival_freed_another_is_named(database_url: str, question: str) -> None:
    """An end of supply that came before its start waits for it."""
    desk = Desk(database_url)
    desk.deliver([end(PRM, day(60))])
    desk.deliver([start(PRM, day(0))], now=NOW + 60_000_000)
    ends, starts = (
        [number for (number,) in desk.rows(f"SELECT id FROM kernel_message WHERE kind = '{kind}'")]
        for kind in ("EndOfSupply", "StartOfSupply")
    )
    values: dict[str, Any] = {"database": SecretStr(database_url)}
    house = House(Config(rules=ROOT / "rules", **values), docs=ROOT / "docs", store=desk.store)
    assert answer(house, question.format(ends[0])).values[2:] == tuple(starts)
    freed = answer(house, "Which messages were freed once a late one had arrived?")
    assert freed.values == tuple(ends)


@pytest.mark.parametrize(
    ("question", "market", "name", "code"),
    [
        ("We got a request back with rejection code 227 from EDSN. What does it mean?", "nl", "rejection", "227"),
        ("The operator answers our P4 request with code 040. What does that mean?", "nl", "p4_rejection", "040"),
        ("A C15 bears the event MCF. What does MCF mean?", "fr", "event", "MCF"),
        ("I read DYSF_CPT on a reading from Enedis; what does it stand for?", "fr", "correction_reason", "DYSF_CPT"),
        ("The Danes sent us E15 as a settlement method. What does it stand for?", "dk", "settlement_method", "E15"),
    ],
)
def test_a_code_means_the_same_wherever_it_was_seen(
    french: tuple[House, Engine], question: str, market: str, name: str, code: str
) -> None:
    assert meaning(market, name, code) in answer(french[0], question).values


def test_where_a_code_stands_is_told_whatever_carried_it(french: tuple[House, Engine]) -> None:
    found = answer(french[0], "I see YMR at a Belgian point. In which code list does it stand?")
    assert found.values == ("regime",)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Our nightly job ended with exit code 4. What does that mean?", "the database cannot be reached"),
        ("Which exit code does the command line return when the database cannot be reached?", "4"),
        ("Op welke poort luisteren de webdiensten als je niets instelt?", "8080"),
        ("Si on ne règle rien, sur quel port écoutent les services web ?", "8080"),
        ("Met welk commando leg ik een kanaal tijdelijk stil?", "channel pause"),
        ("ENV_BOMB came up for a file: what is it telling us?", "unpacks to far more than its size allows"),
    ],
)
def test_documentation_is_found_by_what_it_was_seen_at(french: tuple[House, Engine], question: str, said: str) -> None:
    assert said in answer(french[0], question).sentence


@pytest.mark.parametrize(
    "question",
    [
        "Message {} was refused: with which codes?",
        "Message {} was refused on two separate grounds. State the codes of both.",
        "Le message {} a sauté : quelles erreurs ?",
        "Bericht {} is gesneuveld. Op welke fouten?",
    ],
)
def test_the_codes_by_which_a_message_was_turned_away_are_asked_for(
    french: tuple[House, Engine], question: str
) -> None:
    house, engine = french
    for (number,) in rows(engine, "SELECT id FROM kernel_message WHERE state = 'rejected'"):
        errors = f"SELECT DISTINCT error_code FROM finding WHERE message_id = {number} AND severity = 'error'"
        assert {code for (code,) in rows(engine, errors)} <= set(answer(house, question.format(number)).values)


@pytest.mark.parametrize(
    "question",
    ["How many findings are warnings?", "n of findings with severity == warning", "Hoeveel bevindingen waarschuwen?"],
)
def test_findings_are_counted_where_they_are_asked_for_and_not_their_messages(
    french: tuple[House, Engine], question: str
) -> None:
    house, engine = french
    ((number,),) = rows(engine, "SELECT count(*) FROM finding WHERE current AND severity = 'warning'")
    assert answer(house, question).values == (number,)
