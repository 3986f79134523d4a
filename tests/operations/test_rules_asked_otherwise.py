"""Rules by one of two values, by what they share with a rule, by a number that they name; what is not wanted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from assistant.operations.family import RuleFilter, Rules
from assistant.operations.house import House
from assistant.operations.leaving_out import says_less
from energycomm.config import Config

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """The shipped rules and documentation, and no store."""
    settings: dict[str, Any] = {"database": SecretStr(f"sqlite:///{tmp_path_factory.mktemp('house') / 'none.db'}")}
    return House(Config(rules=ROOT / "rules", **settings), docs=ROOT / "docs")


@pytest.fixture(scope="module")
def values(house: House) -> Callable[[str], set[Any]]:
    def asked(question: str) -> set[Any]:
        reply = house.reply(question)
        assert reply is not None, f"{question}: {house.plan(question)}"
        return set(reply.answers[0].values)

    return asked


Values = Callable[[str], set[Any]]


def written(files: str, *lines: str) -> set[str]:
    """Error codes of the rules of some files that have one of these lines, told by their text alone."""
    found = set[str]()
    for path in (ROOT / "rules").glob(files):
        for block in path.read_text("utf-8").split("\n  - code: ")[1:]:
            kept = [one.strip() for one in block.split("\n")]
            code = next((one.removeprefix("error_code: ") for one in kept if one.startswith("error_code: ")), "")
            found |= {code} if code and not set(lines).isdisjoint(kept) else set()
    return found


@pytest.mark.parametrize(
    "question",
    [
        "Which Danish rules have the reason E49 or E51?",
        "Danemark, vite : les règles dont le motif ebIX est E49 ou le motif E51 ?",
        "Welke Deense regels hebben reden E49 of E51?",
    ],
)
def test_rules_of_one_of_two_reasons_are_those_of_both(values: Values, question: str) -> None:
    assert values(question) == written("dk/*.yaml", "ebix: E49", "ebix: E51") != set()


def test_rules_of_neither_of_two_reasons_are_not_those_of_one(house: House) -> None:
    assert house.reply("Which Danish rules have neither reason E49 nor reason E51?") is None


def test_rules_of_one_of_two_classes_are_those_of_both(values: Values) -> None:
    each = written("nl/*.yaml", "error_class: ordering", "error_class: missing")
    assert values("Which Dutch rules are of the class ordering or missing?") == each


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Which Danish rule has the very same title as FR-P02 or BE-A02?", {"DK-A02"}),
        ("Welke Deense regels delen de titel van BE-A02?", {"DK-A02"}),
        ("Quelle règle danoise porte le même titre que BE-A02 ?", {"DK-A02"}),
        ("Which Danish rules share the title of FR-P02?", set()),
    ],
)
def test_rules_are_found_by_what_they_have_in_common_with_one(values: Values, question: str, found: set[str]) -> None:
    assert values(question) == found


def test_two_rules_of_which_it_is_asked_whether_they_share_something_are_compared(house: House) -> None:
    (plan,) = house.plan("Do the rules BE-S01 and BE-S02 have the same ebIX reason?")["plans"]
    assert plan["do"] == "compare_rules"


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("How many characters may the number of a meter have at most in Denmark?", "fifteen"),
        ("Pendant combien de jours le portail P4 garde-t-il les relevés journaliers ?", "forty"),
        ("Above how many kVA is a subscribed power wrong for segment C5?", "36"),
        ("How many days ahead may a change of access be asked in Belgium?", "183"),
        ("How many digits does a French postal code have?", "five digits"),
    ],
)
def test_the_number_that_a_rule_allows_stands_in_its_sentence(values: Values, question: str, number: str) -> None:
    assert any(number in str(one) for one in values(question))


def test_a_number_that_no_rule_names_is_not_told(house: House) -> None:
    assert house.reply("How many customers have a meter in Denmark?") is None
    assert house.reply("How many days ahead may a change of weather be asked in Belgium?") is None


@pytest.mark.parametrize(
    "question",
    [
        "opening.yaml: geef even de regels daaruit die een fout opleveren, de waarschuwingen hoef ik niet",
        "I don't need the warnings, just list the rules in opening.yaml",
        "Which rules does opening.yaml have? Spare me the warnings.",
        "Donne les règles de opening.yaml, je n'ai pas besoin des avertissements",
    ],
)
def test_what_is_not_wanted_is_left_out(values: Values, question: str) -> None:
    assert values(question) == values("Which rules in opening.yaml are errors?")


def test_errors_that_are_not_wanted_leave_the_warnings(values: Values) -> None:
    left = values("I don't need the errors, just list the rules in be/readings.yaml")
    assert left == written("be/readings.yaml", "severity: warning") != set()


def test_a_reading_that_keeps_the_severity_that_is_denied_says_less(house: House) -> None:
    asked = house.read("opening.yaml: de waarschuwingen zijn niet nodig").asked
    assert asked is not None
    assert says_less(Rules(where=RuleFilter(severity="warning", file="opening.yaml")), asked, date(2026, 11, 1))


@pytest.mark.parametrize(
    "question",
    [
        "Is there any ebIX reason that the Danish rules use and none of the Dutch rules does? If so, which?",
        "Welke ebIX-redenen gebruiken de Deense regels en geen enkele van de Nederlandse regels?",
        "Quels motifs ebIX les règles danoises utilisent-elles alors qu'aucune règle néerlandaise ne les utilise ?",
    ],
)
def test_what_none_of_the_others_has_is_what_one_market_has_alone(values: Values, question: str) -> None:
    assert values(question) == values("Which ebIX reasons are used in Denmark but not in the Netherlands?")


@pytest.mark.parametrize(
    "question",
    [
        "FR error codes without an ebIX code: how many?",
        "Codes d'erreur français sans motif ebIX : combien ?",
        "Foutcodes van Frankrijk zonder ebIX-reden: hoeveel?",
    ],
)
def test_error_codes_without_a_reason_lack_the_reason_and_not_the_code(values: Values, question: str) -> None:
    assert values(question) == values("How many French rules have no ebIX reason?")


@pytest.mark.parametrize(
    "question", ["Does FR-L05 make us reject a message?", "Doet FR-L05 een bericht afkeuren?",
                 "FR-L05 fait-elle rejeter un message ?"],
)  # fmt: skip
def test_whether_a_rule_rejects_is_its_severity(values: Values, question: str) -> None:
    assert values(question) == {True}


@pytest.mark.parametrize(
    "question",
    [
        "Y a-t-il davantage de règles de la classe missing en France qu'aux Pays-Bas ?",
        "Are there more rules of the class missing in France than in the Netherlands?",
        "Zijn er meer regels van klasse ontbrekend in Frankrijk dan in Nederland?",
    ],
)
def test_the_class_of_what_is_missing_denies_nothing(values: Values, question: str) -> None:
    assert True in values(question)


@pytest.mark.parametrize(
    ("question", "plain"),
    [
        ("As part of the yearly audit, which Belgian rules only warn?", "Which Belgian rules only warn?"),
        ("In het kader van de interne audit: welke Belgische regels waarschuwen alleen?",
         "Which Belgian rules only warn?"),
        ("In the context of a change of supplier, which Dutch rules only warn?",
         "Which Dutch rules on a change of supplier only warn?"),
        ("Quelles règles françaises peuvent faire rejeter une courbe (MeasureSeries) ?",
         "Which French rules on MeasureSeries are errors?"),
        ("Before we send something to Belgium we check it ourselves. Which of those checks are on missing information?",
         "Which outgoing Belgian rules are of the class missing?"),
        ("What must be true of a message so that CO-V07 is satisfied?", "What does CO-V07 require?"),
        ("twee meldingen, BE-V04 en BE-V09, allebei over te veel vermogen - zelfde ebIX-reden?",
         "Do BE-V04 and BE-V09 have the same ebIX reason?"),
        ("Un changement de fournisseur daté du 15 novembre 2025 : la règle BE-D11 s'appliquait-elle déjà ce jour-là ?",
         "Was BE-D11 in force on 15 November 2025?"),
        ("There is a thing called swapped-digits. How many rules use it?",
         "How many rules have the script swapped-digits?"),
        ("Hoeveel Belgische regels berusten volgens hun eigen bron op een aanname ('Assumption')?",
         "How many Belgian rules have the source Assumption?"),
        ("last thing before I log off, French rules for GridCharge, common ones not inlcuded, how many",
         "How many French rules for GridCharge?"),
    ],
)  # fmt: skip
def test_told_otherwise_it_is_the_same(values: Values, question: str, plain: str) -> None:
    assert values(question) == values(plain)


@pytest.mark.parametrize(
    "question",
    [
        "Quelles options tarifaires BTINF étaient valables en France le 15 mai 2016 ?",
        "Which French tariff options BTINF were valid on 15 May 2016?",
        "Welke Franse tariefopties BTINF golden op 15 mei 2016?",
    ],
)
def test_codes_are_found_by_their_beginning(values: Values, question: str) -> None:
    found = values(question)
    assert found
    assert all(code.startswith("BTINF") for code in found)
