"""Ways of asking that people use and a grammar easily drops: names turned round or in brackets, either-or."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from babel.messages.pofile import read_po
from pydantic import SecretStr

from assistant.operations.house import House
from assistant.operations.plaintext import plain
from assistant.operations.vocabulary import matches, phrases, tokens_of
from assistant.operations.worked import Worked
from energycomm.config import Config
from energycomm.texts.catalogues import translate

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """The shipped rules and documentation, and no store."""
    settings: dict[str, Any] = {"database": SecretStr(f"sqlite:///{tmp_path_factory.mktemp('house') / 'none.db'}")}
    return House(Config(rules=ROOT / "rules", **settings), docs=ROOT / "docs")


def rules_of(folder: str) -> list[dict[str, Any]]:
    """Rules as their files have them, with their set."""
    found = []
    for file in sorted((ROOT / "rules" / folder).glob("*.yaml")):
        content = yaml.safe_load(file.read_text("utf-8"))
        found += [{"rule_set": content["rule_set"], **rule} for rule in content.get("rules", ())]
    return found


def answers(house: House, question: str) -> tuple[Worked, ...]:
    reply = house.reply(question)
    assert reply is not None, f"{question}: {house.plan(question)}"
    assert all(one.proofs for one in reply.answers)
    return reply.answers


@pytest.mark.parametrize(
    ("question", "folder", "kind"),
    [
        ("How many rules does Belgium have for charges of the grid?", "be", "GridCharge"),
        ("How many Dutch rules look at the customer's data?", "nl", "CustomerData"),
        ("How many Belgian rules judge the meter's data?", "be", "MeterData"),
        ("Combien de règles belges visent les termes contractuels (ContractTerms) ?", "be", "ContractTerms"),
        ("How many rules do the Dutch have on what tells of a meter (MeterData)?", "nl", "MeterData"),
    ],
)
def test_a_name_is_known_turned_round_and_by_the_name_in_brackets(
    house: House, question: str, folder: str, kind: str
) -> None:
    expected = sum(kind in rule["applies_to"] for rule in rules_of(folder))
    assert answers(house, question)[0].values == (expected,)


@pytest.mark.parametrize(
    "question",
    [
        "Combien de codes de refus (rejection) la liste néerlandaise contient-elle ?",
        "How many ways of refusing (rejection) are in the Dutch list?",
    ],
)
def test_a_code_list_in_brackets_is_the_one_that_is_meant(house: House, question: str) -> None:
    lines = (ROOT / "rules/nl/codes.csv").read_text("utf-8").splitlines()
    assert answers(house, question)[0].values == (sum(line.startswith("rejection,") for line in lines),)


def test_rules_on_a_kind_are_listed_with_and_without_those_that_judge_nothing(house: House) -> None:
    """Both readings, as a rule of actions has no error code; and one where they do not differ."""
    on_kind = [rule for rule in rules_of("fr") if "EndOfSupply" in rule["applies_to"]]
    every, judging = answers(house, "Quelles règles françaises portent sur la fin de fourniture ?")
    assert set(every.values) == {rule.get("error_code") or rule["code"] for rule in on_kind}
    assert set(judging.values) == {rule["error_code"] for rule in on_kind if "error_code" in rule}
    assert len(answers(house, "Show me every Belgian rule about grid invoices")) == 1


def test_a_count_of_rules_says_how_many_of_them_judge(house: House) -> None:
    (found,) = answers(house, "How many rules does Belgium have?")
    judging = sum("error_code" in rule for rule in rules_of("be"))
    assert f"{judging} of them judge a message" in found.note


@pytest.mark.parametrize(
    "question",
    ["Welke regels gelden alleen in België voor meteropnamen?", "Which rules hold only in Belgium for meter readings?"],
)
def test_only_beside_a_market_is_said_of_the_market(house: House, question: str) -> None:
    """And not of the kind: rules that judge other kinds too are among them."""
    found = answers(house, question)[0]
    assert len(found.values) == sum("MeterReading" in rule["applies_to"] for rule in rules_of("be"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "question",
    [
        "What rules can be repaired by the script swapped-digits?",
        "Quelles règles sont corrigées par le script swapped-digits ?",
        "Welke regels worden door het script swapped-digits hersteld?",
    ],
)
def test_by_a_script_that_is_named_is_a_condition_and_no_grouping(house: House, question: str) -> None:
    folders = ("be", "common", "dk", "fr", "nl")
    wanted = {r["error_code"] for one in folders for r in rules_of(one) if "swapped-digits" in r.get("repair", ())}
    assert set(answers(house, question)[0].values) == wanted


@pytest.mark.thorough
@pytest.mark.parametrize(
    "question",
    ["Which rules hold only since 2026?", "Quelles règles valent depuis 2026 ?", "Welke regels gelden pas sinds 2026?"],
)
def test_what_holds_since_a_year_began_in_it_or_later(house: House, question: str) -> None:
    """And is not all that holds in it."""
    folders = ("be", "common", "dk", "fr", "nl")
    wanted = {r["error_code"] for one in folders for r in rules_of(one) if str(r.get("since", "")) >= "2026"}
    assert set(answers(house, question)[0].values) == wanted


@pytest.mark.thorough
def test_common_to_all_markets_are_the_common_rules(house: House) -> None:
    """And not those of every folder."""
    for question in (
        "Combien y a-t-il de règles communes à tous les marchés ?",
        "How many rules are shared by all the markets?",
        "Hoeveel regels gelden gemeenschappelijk voor alle landen?",
    ):
        assert answers(house, question)[0].values == (len(rules_of("common")),), question


@pytest.mark.parametrize(
    "question",
    [
        "Is BE-G05 an error or only a warning?",
        "BE-G05: error or just a warning?",
        "BE-G05 est-elle une erreur ou seulement un avertissement ?",
        "Is BE-G05 een fout of enkel een waarschuwing?",
    ],
)
def test_either_or_is_answered_by_which_it_is(house: House, question: str) -> None:
    (rule,) = [rule for rule in rules_of("be") if rule.get("error_code") == "BE-G05"]
    assert answers(house, question)[0].values == (rule["severity"],)


@pytest.mark.parametrize(
    ("question", "severer"),
    [
        ("Which has the higher severity, BE-G05 or BE-G04?", ("BE-G04",)),
        ("Laquelle est la plus grave, FR-P01 ou BE-G05 ?", ("FR-P01",)),
        ("Welke is strenger, BE-G05 of NL-P02?", ("NL-P02",)),
        ("Is FR-P01 or NL-P02 more severe?", ()),
    ],
)
def test_the_severer_of_two_rules_is_named(house: House, question: str, severer: tuple[str, ...]) -> None:
    """BE-G05 is the one that only warns in its file."""
    assert answers(house, question)[0].values == severer


@pytest.mark.parametrize(
    "question",
    [
        "How many messages will be rejected next month?",
        "Which customer is going to leave us?",
        "Combien de messages seront rejetés la semaine prochaine ?",
        "Quels clients vont nous quitter ?",
        "Hoeveel verzoeken zullen er volgende maand geweigerd worden?",
        "Which messages were rejected recently?",
        "What percent of the messages are rejected?",
        "Which messages were corrected manually?",
    ],
)
def test_what_is_to_come_and_what_no_operation_restricts_by_is_not_answered(house: House, question: str) -> None:
    """A condition that is dropped would give a wrong answer."""
    assert house.reply(question) is None


@pytest.mark.parametrize(
    ("question", "plan"),
    [
        ("How many French messages of type R151 came in?", {"markets": ("FR",), "types": ("R151",)}),
        (
            "How many contract terms arrived for the point 99000000000101?",
            {"kinds": ("ContractTerms",), "access_point": "99000000000101"},
        ),
        ("Combien de messages de type R15 sont arrivés ?", {"types": ("R15",)}),
    ],
)
def test_the_word_beside_a_value_belongs_to_it(house: House, question: str, plan: dict[str, Any]) -> None:
    """Messages are counted, of that type or point; they are not grouped by it."""
    assert house.plan(question)["plans"] == [{"do": "stored", "thing": "message", **plan}]


@pytest.mark.parametrize(
    "question",
    ["Explain the refusal of #77", "Expliquez-moi le rejet du message 77", "Leg de afkeuring van bericht 77 uit"],
)
def test_to_explain_a_refusal_is_to_say_why(house: House, question: str) -> None:
    assert house.plan(question)["plans"] == [{"do": "why_message", "message": 77}]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which environment variable names the database?", "ENERGYCOMM_DATABASE"),
        ("Quelle variable d'environnement désigne la base de données ?", "ENERGYCOMM_DATABASE"),
        ("Which command lists the rejected messages?", "message list"),
        ("Which command lists the open tickets?", "correct tickets"),
        ("How do I undo a correction?", "correct undo"),
        ("How many workers does the daemon start by default?", "2"),
        ("Wat is een GSRN?", "18 digits"),
        ("What does PRM stand for?", "point référence mesure"),
    ],
)
def test_the_documentation_answers_by_name_verb_and_abbreviation(house: House, question: str, said: str) -> None:
    assert said in answers(house, question)[0].sentence


@pytest.mark.parametrize("language", ["fr", "nl"])
def test_what_the_console_calls_a_thing_is_understood(language: str) -> None:
    """Whoever reads a word on a page asks with it: the translations of the pages are those of the questions."""
    english = {
        " ".join(phrase.words).replace("*", ""): (phrase.slot, phrase.value)
        for phrase in phrases()
        if "en" in phrase.languages and phrase.slot in ("kind", "thing", "state", "list")
    }
    shown = {one: (english[plain(one)], translate(one, language)) for one in texts() if plain(one) in english}
    assert len(shown) > 50
    unknown = {
        told: meant
        for meant, told in shown.values()
        if meant not in {(one.slot, one.value) for one in matches(tokens_of(told))}
    }
    assert unknown == {}


def texts() -> list[str]:
    """The English texts of the program."""
    with (ROOT / "energycomm/texts/fr.po").open("rb") as file:
        return [one.id for one in read_po(file) if isinstance(one.id, str)]


@pytest.mark.parametrize(
    ("question", "folder", "wanted"),
    [
        ("Which Dutch rules judge both the start and the end of supply?", "nl", all),
        ("Combien de règles françaises portent sur le début ou la fin de fourniture ?", "fr", any),
    ],
)
def test_two_names_may_share_their_rest(house: House, question: str, folder: str, wanted: Any) -> None:
    found = answers(house, question)[0].values
    expected = [
        rule.get("error_code") or rule["code"]
        for rule in rules_of(folder)
        if wanted(kind in rule["applies_to"] for kind in ("StartOfSupply", "EndOfSupply"))
    ]
    assert found == (len(expected),) if wanted is any else set(found) == set(expected)


@pytest.mark.thorough
def test_what_is_written_short_is_no_smaller_condition(house: House) -> None:
    """Without is not with; an error rule is no rule of any severity; what only one market has is not all it has."""
    judging = [rule for rule in rules_of("dk") if "error_code" in rule]
    lacking = {rule["error_code"] for rule in judging if "ebix" not in rule}
    assert set(answers(house, "rules w/o ebix dk")[0].values) == lacking
    errors = [r for r in rules_of("fr") if "error_code" in r and r.get("severity", "error") == "error"]
    assert answers(house, "FR error rules total")[0].values == (len(errors),)
    own = {rule["ebix"] for rule in rules_of("fr") if "ebix" in rule}
    others = {rule["ebix"] for folder in ("be", "dk", "nl") for rule in rules_of(folder) if "ebix" in rule}
    assert set(answers(house, "Which ebIX reasons are specific to France?")[0].values) == own - others


@pytest.mark.parametrize(
    "question", ["how many kinds does FR-P01 apply to", "Op hoeveel soorten is FR-P01 van toepassing?"]
)
def test_the_kinds_of_one_rule_are_counted(house: House, question: str) -> None:
    (rule,) = [rule for rule in rules_of("fr") if rule.get("error_code") == "FR-P01"]
    assert answers(house, question)[0].values == (len(rule["applies_to"]),)


@pytest.mark.parametrize(
    ("question", "state"),
    [
        ("Is message 85 accepted?", "accepted"),
        ("Is bericht 85 goedgekeurd?", "accepted"),
        ("Le message 85 est-il rejeté ?", "rejected"),
    ],
)
def test_whether_a_message_is_in_a_state_is_a_question_of_yes_or_no(house: House, question: str, state: str) -> None:
    (plan,) = house.plan(question)["plans"]
    assert plan == {"do": "why_message", "message": 85, "about": "state", "equals": state}
