"""What is left aside, what there are so many of, and on which of two days: a restriction is read, or nothing is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from assistant.operations.house import House
from energycomm.config import Config

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """The shipped rules and documentation, and no store."""
    settings: dict[str, Any] = {"database": SecretStr(f"sqlite:///{tmp_path_factory.mktemp('house') / 'none.db'}")}
    return House(Config(rules=ROOT / "rules", **settings), docs=ROOT / "docs")


ERRORS_OF_CODES = {"do": "stored", "thing": "message", "how": "top", "by": "code", "severity": "error"}
OFF_AND_ON = {"do": "rules", "where": {"markets": ("BE",), "on": "2026-02-01", "off": "2025-11-30"}}
MORE_THAN_ONE = {"do": "rules", "where": {"scripts": 2, "having": ("repair",)}}
ONLY_WARNING = {"do": "rules", "where": {"markets": ("FR",), "direction": "out", "severity": "warning"}}
WITH_A_WARNING = {"do": "stored", "thing": "message", "states": ("accepted",), "markets": ("BE",),
                  "severity": "warning"}  # fmt: skip
WITHOUT_WARNING = {"do": "stored", "thing": "message", "states": ("accepted",), "markets": ("BE",),
                   "lacking": "warning"}  # fmt: skip
SO_MANY_CODES = {"do": "stored", "thing": "message", "how": "list", "by": "message", "states": ("rejected",),
                 "severity": "error", "at_least": 2}  # fmt: skip
OF_EFFECT = {"do": "stored", "thing": "message", "markets": ("NL",), "since": "2026-03-01", "until": "2026-04-01",
             "day_of": "effective"}  # fmt: skip
DUE = {"do": "stored", "thing": "request", "how": "list", "markets": ("DK",), "day_of": "due"}


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("Warnings excluded, which error code is the most frequent?", ERRORS_OF_CODES),
        ("Avertissements exclus, quel code d'erreur est le plus fréquent ?", ERRORS_OF_CODES),
        ("Waarschuwingen niet meegerekend, welke foutcode komt het vaakst voor?", ERRORS_OF_CODES),
        ("Which Belgian rules are in force on 1 February 2026 but were not yet on 30 November 2025?", OFF_AND_ON),
        ("Quelles règles belges sont en vigueur le 1er février 2026 mais pas encore le 30 novembre 2025 ?", OFF_AND_ON),
        ("Welke Belgische regels golden op 30 november 2025 nog niet maar wel op 1 februari 2026?", OFF_AND_ON),
        ("Which rules have more than one repair script?", MORE_THAN_ONE),
        ("Quelles règles disposent de plus d'un script de correction ?", MORE_THAN_ONE),
        ("Welke regels hebben minstens twee herstelscripts?", MORE_THAN_ONE),
        ("Which French rules for outgoing requests lead not to an error but only to a warning?", ONLY_WARNING),
        ("Welke Franse regels voor uitgaande aanvragen leiden niet tot een fout maar slechts tot een waarschuwing?",
         ONLY_WARNING),
        ("How many Belgian messages were accepted in spite of a warning?", WITH_A_WARNING),
        ("Combien de messages belges ont été acceptés malgré un avertissement ?", WITH_A_WARNING),
        ("Hoeveel Belgische berichten werden ondanks een waarschuwing aanvaard?", WITH_A_WARNING),
        ("How many Belgian messages were accepted without a warning?", WITHOUT_WARNING),
        ("Combien de messages belges ont été acceptés sans avertissement ?", WITHOUT_WARNING),
        ("Hoeveel Belgische berichten zijn zonder waarschuwing aanvaard?", WITHOUT_WARNING),
        ("Which rejected messages have more than one error code?", SO_MANY_CODES),
        ("Quels messages rejetés présentent au moins deux codes d'erreur différents ?", SO_MANY_CODES),
        ("How many Dutch messages have an effective date between the 1st and the 31st of March 2026?", OF_EFFECT),
        ("Combien de messages néerlandais prennent effet entre le 1er et le 31 mars 2026 ?", OF_EFFECT),
        ("Hoeveel Nederlandse berichten hebben een ingangsdatum tussen 1 en 31 maart 2026?", OF_EFFECT),
        ("By what date was the Danish market to answer our request?", DUE),
        ("Avant quelle date le marché danois doit-il répondre à notre demande ?", DUE),
        ("Tegen welke datum moest de Deense markt antwoorden op onze aanvraag?", DUE),
    ],
)  # fmt: skip
def test_a_restriction_is_read(house: House, question: str, operation: dict[str, Any]) -> None:
    assert house.plan(question)["plans"][0] == operation


@pytest.mark.parametrize(
    ("question", "states"),
    [
        ("Leaving aside those that were accepted, how many French messages are there?", "accepted"),
        ("Hormis ceux qui ont été rejetés, combien de messages français y a-t-il ?", "rejected"),
        ("Afgezien van de aanvaarde berichten, hoeveel Franse berichten zijn er?", "accepted"),
        ("Apart from those that were rejected, how many French messages are there?", "rejected"),
    ],
)
def test_messages_that_are_left_aside_are_not_counted(house: House, question: str, states: str) -> None:
    plan = house.plan(question)["plans"][0]
    assert plan["markets"] == ("FR",)
    assert plan["states"]
    assert states not in plan["states"]


@pytest.mark.parametrize(
    ("question", "severity"),
    [
        ("How many Dutch rules are more than mere warnings?", "error"),
        ("Combien de règles néerlandaises sont plus que de simples avertissements ?", "error"),
        ("Hoeveel Nederlandse regels zijn meer dan louter waarschuwingen?", "error"),
        ("Hoeveel Nederlandse regels dragen reden E17 zonder dat het om een fout gaat?", "warning"),
    ],
)
def test_what_is_more_or_less_than_a_warning_is_a_severity(house: House, question: str, severity: str) -> None:
    assert house.plan(question)["plans"][0]["where"]["severity"] == severity


@pytest.mark.parametrize(
    ("question", "plan"),
    [
        ("Do BE-R06 and NL-R08, which bear the same title, also belong to the same error class?", {"same": "class"}),
        ("BE-U04 et FR-U05, qui portent sur un numéro, ont-elles la même gravité ?", {"same": "severity"}),
        ("Hebben BE-U04 en FR-U05, die over hetzelfde veld gaan, dezelfde ernst?", {"same": "severity"}),
        ("Of BE-R06 and NL-R08, which is the severer?", {"severer": True}),
    ],
)
def test_what_is_told_between_commas_of_rules_that_are_named_is_not_what_is_asked(
    house: House, question: str, plan: dict[str, Any]
) -> None:
    found = house.plan(question)["plans"][0]
    assert {name: found.get(name) for name in plan} == plan


@pytest.mark.parametrize(
    "question",
    [
        "Which Belgian rules hold on 1 February 2026 and also held on 30 November 2025?",
        "Was point 871999910000000041 supplied on 1 March 2026 and on 1 May 2026?",
    ],
)
def test_one_of_two_days_is_not_left_out(house: House, question: str) -> None:
    assert house.plan(question)["plans"] == []


def test_a_day_that_is_told_before_a_question_is_not_the_day_that_is_asked(house: House) -> None:
    told = "Given that a loss was reported in March 2026, was point 871999910000000041 supplied on 1 April 2026?"
    assert house.plan(told)["plans"][0]["since"] == "2026-04-01"


@pytest.mark.parametrize(
    "question",
    [
        "Apart from quarantined and rejected ones, how many Danish messages are accepted?",
        "Hors quarantaine et hors rejets, combien de messages danois le magasin compte-t-il comme acceptés ?",
        "Buiten quarantaine en buiten afkeuringen, hoeveel Deense berichten zijn geaccepteerd?",
    ],
)
def test_states_that_are_excepted_are_not_counted_beside_the_one_that_is_named(house: House, question: str) -> None:
    (plan,) = house.plan(question)["plans"]
    assert (plan["thing"], plan["states"], plan["markets"]) == ("message", ("accepted",), ("DK",))


@pytest.mark.parametrize(
    "question",
    [
        "How many messages are neither rejected nor in quarantine?",
        "Combien de messages ne sont ni rejetés ni en quarantaine ?",
    ],
)
def test_a_denial_holds_for_the_second_state_too(house: House, question: str) -> None:
    (plan,) = house.plan(question)["plans"]
    assert "accepted" in plan["states"]
    assert not {"rejected", "quarantined"} & set(plan["states"])


@pytest.mark.parametrize(
    "question",
    [
        "How many of the files we were sent turned out to be copies of one that was already here?",
        "Combien de fichiers étaient des copies d'un fichier déjà reçu ?",
        "Hoeveel enveloppen waren kopieën van een eerder bestand?",
    ],
)
def test_copies_of_what_was_there_are_duplicates(house: House, question: str) -> None:
    (plan,) = house.plan(question)["plans"]
    assert (plan["thing"], plan["states"]) == ("envelope", ("duplicate",))


@pytest.mark.parametrize(
    "question",
    [
        "Message 345 was turned down. On the strength of which codes, setting aside those that only warn?",
        "Le message 345 a été refusé. En vertu de quels codes, hors avertissements ?",
        "Bericht 345 is afgekeurd. Op grond van welke codes, waarschuwingen niet meegerekend?",
    ],
)
def test_codes_of_a_message_but_for_warnings_are_its_errors(house: House, question: str) -> None:
    (plan,) = house.plan(question)["plans"]
    assert plan == {"do": "why_message", "message": 345, "about": "codes", "severity": "error"}


@pytest.mark.parametrize(
    ("question", "markets"),
    [
        ("Were there Belgian messages that sat in quarantine first and were let through afterwards? Which?", ("BE",)),
        ("Quels messages belges ont d'abord été en quarantaine et en sont sortis depuis ?", ("BE",)),
        ("Which messages came out of quarantine and are now accepted?", ()),
    ],
)
def test_what_waited_and_was_let_through_was_freed(house: House, question: str, markets: tuple[str, ...]) -> None:
    (plan,) = house.plan(question)["plans"]
    assert (plan["thing"], plan["how"], plan.get("markets", ())) == ("freed", "list", markets)


@pytest.mark.parametrize(
    "question",
    [
        "Liste-moi les points de livraison français dont au moins un message a été refusé.",
        "Show me the French access points on which a message was rejected.",
    ],
)
def test_points_with_a_message_in_a_state_are_listed_and_not_the_messages(house: House, question: str) -> None:
    (plan,) = house.plan(question)["plans"]
    assert (plan["by"], plan["states"], plan["markets"]) == ("access_point", ("rejected",), ("FR",))


@pytest.mark.parametrize(
    "question",
    [
        "Has any UTILTS come in yet?",
        "Un UTILTS est-il déjà arrivé ?",
        "Is er al een UTILTS binnengekomen?",
    ],
)
def test_whether_a_type_has_come_in_is_answered_by_yes_or_no(house: House, question: str) -> None:
    (plan,) = house.plan(question)["plans"]
    assert (plan["thing"], plan["how"], plan["types"]) == ("message", "exists", ("UTILTS",))
