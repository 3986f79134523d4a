"""What is asked of refusing rules, of dated codes, of a request's references, of stations and of checked invoices."""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import insert, text

from assistant.operations.house import House
from assistant.operations.worked import Worked
from energycomm.config import Config
from energycomm.eis import tables
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start

ROOT = Path(__file__).resolve().parents[2]
PRM = "99000000000017"
NOW = datetime(2026, 10, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """The shipped rules and documentation, and no store."""
    settings: dict[str, Any] = {"database": SecretStr(f"sqlite:///{tmp_path_factory.mktemp('house') / 'none.db'}")}
    return House(Config(rules=ROOT / "rules", **settings), docs=ROOT / "docs", now=lambda: NOW)


@pytest.fixture
def living(database_url: str) -> tuple[House, Desk]:
    """A store with a start of supply, a reading, and one whose index went back."""
    desk = Desk(database_url)
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_200_000), reading(PRM, day(60), 1_100_000)])
    settings: dict[str, Any] = {"database": SecretStr(database_url)}
    return House(Config(**settings), docs=ROOT / "docs", store=desk.store, now=lambda: NOW), desk


def plan(house: House, question: str) -> dict[str, Any]:
    """The one operation that a question is read as."""
    plans = house.plan(question)["plans"]
    assert len(plans) == 1, f"{question}: {plans}"
    return dict(plans[0])


def only(house: House, question: str) -> Worked:
    reply = house.reply(question)
    assert reply is not None, f"{question}: {house.plan(question)}"
    (answer,) = reply.answers
    return answer


@pytest.mark.parametrize(
    "question",
    [
        "Show me whatever was bounced by a rule of the class missing.",
        "Quels messages ont été rejetés par une règle de la classe missing ?",
        "Welke berichten werden afgekeurd door een regel van de klasse missing?",
    ],
)
def test_what_rules_refused_is_no_list_of_rules(house: House, question: str) -> None:
    refused = {"states": ("rejected",), "error_class": "missing", "severity": "error"}
    assert plan(house, question) == {"do": "stored", "thing": "message", "how": "list", **refused}


@pytest.mark.parametrize(
    ("question", "code"),
    [("How many messages were rejected by a common rule?", "CO-"),
     ("Combien de messages ont été refusés par une règle belge ?", "BE-")],
)  # fmt: skip
def test_messages_refused_by_the_rules_of_a_market_have_an_error_of_theirs(
    house: House, question: str, code: str
) -> None:
    assert plan(house, question)["code"] == code


@pytest.mark.parametrize(
    "question",
    ["How many messages were rejected by a warning rule?",
     "How many messages were not rejected by a rule of class missing?"],
)  # fmt: skip
def test_what_no_finding_tells_of_the_rules_that_refused_is_not_left_out(house: House, question: str) -> None:
    assert house.plan(question)["plans"] == []


def test_rejections_are_counted_per_rule_by_their_errors(living: tuple[House, Desk]) -> None:
    """Also where the word for rules is the only one beside them."""
    house, desk = living
    with desk.database.connect() as connection:
        errors = "SELECT rule FROM finding WHERE severity = 'error' AND current"
        rules = {row[0] for row in connection.execute(text(errors))}
    for question in ("rejections by rule", "Combien de rejets par règle ?", "Aantal afkeuringen per regel"):
        assert {name for name, _ in only(house, question).values} == rules


def test_messages_that_were_not_rejected_are_all_others(living: tuple[House, Desk]) -> None:
    """Of those of a word that is one for errors of rules too."""
    house, desk = living
    with desk.database.connect() as connection:
        others = connection.execute(text("SELECT count(*) FROM kernel_message WHERE state <> 'rejected'")).scalar_one()
    for question in ("How many messages were not rejected?", "Combien de messages n'ont pas été refusés ?"):
        found = only(house, question)
        assert found.values == (others,)
        assert "any but rejected" in found.sentence


@pytest.mark.parametrize(
    "question",
    [
        "Which Danish rules belong to the class about things that come out of sequence?",
        "Quelles règles danoises relèvent de la classe des choses dans le désordre ?",
        "Welke Deense regels zitten in de klasse van berichten die uit volgorde komen?",
    ],
)
def test_a_class_is_known_by_what_it_means(house: House, question: str) -> None:
    assert plan(house, question)["where"] == {"markets": ("DK",), "error_class": "ordering"}


def test_a_class_that_is_described_in_unknown_words_is_not_every_class(house: House) -> None:
    assert house.plan("Welke Nederlandse regels zitten in de klasse voor wat dubbel geleverd is?")["plans"] == []


@pytest.mark.parametrize(
    "question",
    [
        "Hoeveel controles doen wij op wat we zelf naar de Nederlandse markt sturen (validation_out)?",
        "How many checks do we run on what we ourselves send to the Dutch market (validation_out)?",
        "Combien de contrôles faisons-nous sur ce que nous envoyons nous-mêmes aux Pays-Bas (validation_out) ?",
    ],
)
def test_what_we_send_ourselves_is_no_fault_of_ours(house: House, question: str) -> None:
    where = plan(house, question)["where"]
    assert (where["set"], where["markets"]) == ("validation_out", ("NL",))
    assert "error_class" not in where


def tariffs() -> list[dict[str, str]]:
    with (ROOT / "rules/fr/codes.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["list"] == "tariff"]


@pytest.mark.parametrize(
    "question",
    [
        "Quels tarifs de la liste française ne sont valables que depuis août 2017 ?",
        "Which French tariff codes are only valid since August 2017?",
        "Welke Franse tariefcodes gelden pas vanaf augustus 2017?",
        "Which French tariff codes began in August 2017?",
    ],
)
def test_codes_are_restricted_by_when_their_validity_begins(house: House, question: str) -> None:
    expected = {row["code"] for row in tariffs() if row["since"] and date.fromisoformat(row["since"]).year == 2017}
    assert expected
    assert set(only(house, question).values) == expected


def test_codes_of_a_year_are_those_that_are_valid_and_of_an_end_are_not_guessed(house: House) -> None:
    always = [row for row in tariffs() if not row["since"]]
    assert only(house, "How many codes of the French tariff list were valid in 2016?").values == (len(always),)
    assert house.plan("Quels codes de la liste tariff sont valables jusqu'au 31 juillet 2017 ?")["plans"] == []


@pytest.mark.parametrize("question", ["size of the DK rejection list?", "omvang van de Deense afkeurcodelijst"])
def test_the_size_of_a_list_is_the_number_of_its_codes(house: House, question: str) -> None:
    assert plan(house, question) == {"do": "code_lists", "how": "count", "list": "rejection", "markets": ("DK",)}


@pytest.mark.parametrize(
    "question",
    [
        "Les enveloppes dont le traitement a échoué, s'il te plaît, par numéro.",
        "Which envelopes failed processing, by id?",
        "Welke enveloppen zijn in de verwerking mislukt, op nummer?",
    ],
)
def test_envelopes_whose_processing_failed_are_those_that_failed(house: House, question: str) -> None:
    """The French dont denies nothing."""
    assert plan(house, question) == {"do": "stored", "thing": "envelope", "how": "list", "states": ("failed",)}


@pytest.mark.parametrize(
    ("question", "severer"),
    [
        ("Of BE-G08 and CO-D06, both on the due date of invoices, which one is the graver?", "CO-D06"),
        ("De BE-G08 et CO-D06, toutes deux sur l'échéance, laquelle est la plus grave ?", "CO-D06"),
        ("Van BE-G08 en CO-D06, allebei over de vervaldatum, welke is de zwaarste?", "CO-D06"),
    ],
)
def test_what_is_told_of_two_rules_restricts_not_which_of_them_is_severer(
    house: House, question: str, severer: str
) -> None:
    assert only(house, question).values == (severer,)


@pytest.mark.parametrize(
    "question",
    ["Waarop is bericht 390 gestrand?", "Sur quoi le message 390 a-t-il buté ?", "What did message 390 founder on?"],
)
def test_what_a_message_foundered_on_is_why_it_was_rejected(house: House, question: str) -> None:
    assert plan(house, question) == {"do": "why_message", "message": 390}


@pytest.mark.parametrize(
    "question",
    ["IN_NOT_XML occurrences in the database", "Combien d'occurrences de IN_NOT_XML dans la base ?",
     "Aantal keer IN_NOT_XML in de opslag"],
)  # fmt: skip
def test_occurrences_of_a_code_of_the_gateway_are_its_incidents(house: House, question: str) -> None:
    assert plan(house, question) == {"do": "stored", "thing": "incident", "code": "IN_NOT_XML"}


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Met welke opdracht zie ik de punten waarvan de meetwaarden uitblijven?", "access-point overdue"),
        ("Quelle commande liste les points dont les mesures ne viennent pas ?", "access-point overdue"),
        ("Met welke opdracht speel ik een bericht opnieuw af?", "correct replay"),
        ("Avec quelle commande met-on un canal en pause ?", "channel pause"),
    ],
)
def test_a_command_is_found_by_what_it_does(house: House, question: str, name: str) -> None:
    assert only(house, question).sentence.startswith(name)


def test_both_references_of_a_request_are_told(living: tuple[House, Desk]) -> None:
    house, desk = living
    ours, market = "9b19fce6-db94-4ff9-a392-94d8cd643c67", "81414242"
    with desk.database.begin() as connection:
        message = connection.execute(text("SELECT min(id) FROM kernel_message")).scalar_one()
        connection.execute(
            insert(tables.outgoing).values(
                id=1, message_id=message, market="NL",
                kind="SupplierSwitchRequest", type="X", reference=ours, market_reference=market,
                content=b"", content_type="application/xml", state="done", created_at=0, answer_by=0,
                submitted_by="test", channel="edsn",
            )
        )  # fmt: skip
    for question in (f"Sous quelle référence le marché a-t-il enregistré notre demande {ours} ?",
                     f"Under which reference does the market know our request {ours}?",
                     f"Onder welk kenmerk kent EDSN ons verzoek {ours}?"):  # fmt: skip
        assert only(house, question).values == (market,)
    assert only(house, f"Quelle est notre référence de la demande {market} ?").values == (ours,)
    assert only(house, "What is the market's reference of request A0000909?").values == ()


def test_stations_are_those_of_which_a_calorific_value_is_kept(living: tuple[House, Desk]) -> None:
    house, desk = living
    with desk.database.begin() as connection:
        message = connection.execute(text("SELECT min(id) FROM kernel_message")).scalar_one()
        for number, station in enumerate(("A", "A", "B")):
            connection.execute(
                insert(tables.calorific_value).values(
                    id=number + 1, market="BE", at=number, message_id=message, station=station, name=station,
                    month=f"2026-0{number + 1}", value="11.4",
                )
            )  # fmt: skip
    for question in ("Van hoeveel verschillende gasontvangststations hebben we een calorische waarde bewaard?",
                     "How many gas receiving stations do we have a calorific value of?",
                     "Pour combien de stations avons-nous un pouvoir calorifique ?"):  # fmt: skip
        assert only(house, question).values == (2,)
    assert only(house, "Welk station heeft de meeste calorische waarden?").values == ("A", 2)
    assert house.plan("Which station serves the nearest village?")["plans"] == []


def test_invoices_that_contradict_themselves_are_told(living: tuple[House, Desk]) -> None:
    house, desk = living
    with desk.database.begin() as connection:
        for invoice, contested, found in (("1", "0.00", 0), ("2", "-0.02", 1), ("3", "0.00", 2)):
            connection.execute(
                insert(tables.invoice_check).values(
                    market="FR", invoice=invoice, currency="EUR", contested=contested, contradictions=found,
                    complete=True, messages=1, checked_at=0,
                )
            )  # fmt: skip
    assert set(only(house, "Which grid invoices contradict themselves?").values) == {"2", "3"}
    assert set(only(house, "Quelles factures se contredisent ?").values) == {"2", "3"}
    assert only(house, "Hoeveel facturen zijn betwist?").values == (1,)
