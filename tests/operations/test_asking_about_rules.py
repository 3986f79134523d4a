"""Questions on rules in the words of people who do not know the grammar: what is meant is held to the rules' files."""

from __future__ import annotations

import sqlite3
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from assistant.evaluation.worked import catalogue
from assistant.operations.days import days_of
from assistant.operations.house import House
from assistant.operations.vocabulary import meant
from assistant.operations.worked import Worked
from energycomm.config import Config

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """The shipped rules and documentation, and no store."""
    settings: dict[str, Any] = {"database": SecretStr(f"sqlite:///{tmp_path_factory.mktemp('house') / 'none.db'}")}
    return House(Config(rules=ROOT / "rules", **settings), docs=ROOT / "docs")


@pytest.fixture(scope="module")
def files() -> sqlite3.Connection:
    """The files of the rules in tables, read without the engine."""
    return catalogue(ROOT / "rules")


def answer(house: House, question: str) -> Worked:
    reply = house.reply(question)
    assert reply is not None, f"{question}: {house.plan(question)}"
    return reply.answers[0]


def column(files: sqlite3.Connection, query: str, *given: str) -> list[Any]:
    return [row[0] for row in files.execute(query, given)]


@pytest.mark.parametrize(
    "question",
    [
        "Liste-moi les règles françaises qui s'appuient sur le motif ebIX D16",
        "Which French rules rest on ebIX reason D16?",
        "Welke Franse regels steunen op ebIX-reden D16?",
    ],
)
def test_rules_that_rest_on_a_reason_have_it_and_no_source_of_its_name(
    house: House, files: sqlite3.Connection, question: str
) -> None:
    expected = column(files, "SELECT coalesce(error_code, code) FROM rule WHERE market = 'FR' AND ebix = 'D16'")
    assert sorted(answer(house, question).values) == sorted(expected)


def test_rules_that_rest_on_a_document_have_it_as_their_source(house: House) -> None:
    (plan,) = house.plan("Which French rules rest on the guide SGE?")["plans"]
    assert plan["where"]["source"]


@pytest.mark.parametrize(
    "question",
    [
        "How many Belgian rules amount to no more than a warning?",
        "How many Belgian rules never go further than a warning?",
        "How many Belgian rules warn instead of rejecting?",
        "Combien de règles belges ne sont rien de plus qu'un avertissement ?",
        "Combien de règles belges figurent comme avertissement et non comme erreur ?",
        "Hoeveel Belgische regels staan er als waarschuwing en niet als fout in de catalogus?",
        "Hoeveel Belgische regels zijn hooguit een waarschuwing?",
    ],
)
def test_no_more_than_a_warning_is_a_warning(house: House, files: sqlite3.Connection, question: str) -> None:
    expected = column(files, "SELECT count(*) FROM rule WHERE market = 'BE' AND severity = 'warning'")
    assert answer(house, question).values == tuple(expected)


@pytest.mark.parametrize(
    "question",
    [
        "How many Dutch checks bounce the message?",
        "Combien de contrôles néerlandais recalent le message ?",
        "Hoeveel Nederlandse controles wijzen het bericht terug?",
    ],
)
def test_checks_that_turn_a_message_away_are_rules_and_no_messages(
    house: House, files: sqlite3.Connection, question: str
) -> None:
    expected = column(files, "SELECT count(*) FROM rule WHERE market = 'NL' AND severity = 'error'")
    assert answer(house, question).values == tuple(expected)


@pytest.mark.parametrize(
    "question",
    [
        "Never mind the country: how many rules check requested_date?",
        "Over all the markets together, how many rules point at the field requested_date?",
        "Quel que soit le pays, combien de règles visent le champ requested_date ?",
        "Ongeacht het land, hoeveel regels wijzen naar het veld requested_date?",
    ],
)
def test_whatever_the_country_is_every_country(house: House, files: sqlite3.Connection, question: str) -> None:
    expected = column(files, "SELECT count(*) FROM rule WHERE field = 'requested_date'")
    assert answer(house, question).values == tuple(expected)


def test_what_stands_before_how_many_rules_is_not_what_is_counted(house: House, files: sqlite3.Connection) -> None:
    question = "I want one figure from the file: over all the markets together, how many rules point at requested_date?"
    assert answer(house, question).values == tuple(
        column(files, "SELECT count(*) FROM rule WHERE field = 'requested_date'")
    )


@pytest.mark.parametrize("question", ["How big is our rule catalogue, all countries combined?",
                                      "Quelle est la taille du catalogue de règles ?",
                                      "Hoe groot is de hele regelcatalogus?"])  # fmt: skip
def test_the_size_of_the_catalogue_is_how_many_rules_it_has(
    house: House, files: sqlite3.Connection, question: str
) -> None:
    (expected,) = column(files, "SELECT count(*) FROM rule")
    assert answer(house, question).sentence.startswith(f"{expected} ")


@pytest.mark.parametrize(
    ("question", "code", "field"),
    [
        ("Spell out for me, in the rule's own words, what CO-S02 demands.", "CO-S02", "sentence"),
        ("Que dit CO-S02, mot pour mot ?", "CO-S02", "sentence"),
        ("Wat zegt CO-S02 letterlijk?", "CO-S02", "sentence"),
        ("DK-P03 porte sur quel champ du message, au juste ?", "DK-P03", "field"),
        ("Which field of the message does DK-P03 point at?", "DK-P03", "field"),
        ("Op welk veld van het bericht slaat DK-P03?", "DK-P03", "field"),
        ("De quelle classe d'erreur relève FR-R13 ?", "FR-R13", "class"),
        ("NL-V14 how bad?", "NL-V14", "severity"),
        ("NL-V14, c'est sérieux ou juste un avertissement ?", "NL-V14", "severity"),
        ("Regel NL-V14, hoe zwaar weegt die?", "NL-V14", "severity"),
        ("On what does BE-D12 rest?", "BE-D12", "source"),
        ("Sur quoi la règle BE-D12 se fonde-t-elle ?", "BE-D12", "source"),
        ("Waarop steunt BE-D12?", "BE-D12", "source"),
        ("NL-P05 points at what feild?", "NL-P05", "field"),
        ("When did BE-D11 come into force?", "BE-D11", "since"),
        ("Quand BE-D11 est-elle entrée en vigueur ?", "BE-D11", "since"),
        ("Wanneer is BE-D11 in werking getreden?", "BE-D11", "since"),
        ("What is the severity of the French rule 'No point takes more than its power'?", "FR-R03", "severity"),
        ("Quelle est la gravité de la règle française « Aucun point ne soutire plus que sa puissance » ?", "FR-R03",
         "severity"),
    ],
)  # fmt: skip
def test_a_field_of_a_rule_is_told_however_it_is_asked_for(
    house: House, files: sqlite3.Connection, question: str, code: str, field: str
) -> None:
    (expected,) = column(files, f"SELECT {field} FROM rule WHERE error_code = ?", code)
    given = answer(house, question)
    assert code in given.sentence
    assert expected.rstrip(".") in given.sentence


def test_a_title_that_two_markets_have_needs_one_of_them(house: House, files: sqlite3.Connection) -> None:
    title = "No point takes more than its power"
    assert len(column(files, "SELECT code FROM rule WHERE title = ?", title)) == 2
    assert house.plan(f"What is the severity of '{title}'?")["plans"] == []


@pytest.mark.parametrize(
    ("question", "one", "other", "field"),
    [
        ("Kijken DK-P15 en FR-P15 naar hetzelfde veld?", "DK-P15", "FR-P15", "field"),
        ("DK-P15 and FR-P15: is the field the same in both?", "DK-P15", "FR-P15", "field"),
        ("A reading of the market: do NL-R08 and BE-R06 give the same ebIX reason for it?", "NL-R08", "BE-R06", "ebix"),
        ("Klopt het dat BE-U06 en NL-P16 even ernstig zijn?", "BE-U06", "NL-P16", "severity"),
        ("Is it true that BE-R05 and NL-V14 are equally severe?", "BE-R05", "NL-V14", "severity"),
        ("BE-U06 est-elle aussi sévère que NL-P16 ?", "BE-U06", "NL-P16", "severity"),
        ("BE-R05 et FR-R14 relèvent-elles de la même classe ?", "BE-R05", "FR-R14", "class"),
        ("Are BE-R05 and BE-R06 in the same file?", "BE-R05", "BE-R06", "file"),
        ("Are BE-R05 and FR-R03 in the same file?", "BE-R05", "FR-R03", "market || file"),
    ],
)
def test_whether_two_rules_have_something_in_common(
    house: House, files: sqlite3.Connection, question: str, one: str, other: str, field: str
) -> None:
    first, second = (column(files, f"SELECT {field} FROM rule WHERE error_code = ?", code) for code in (one, other))
    assert answer(house, question).values == (first == second,)


@pytest.mark.parametrize(
    "question",
    [
        "Put BE-U06 beside NL-P16: how severe is each of the two?",
        "Mettez BE-U06 à côté de NL-P16 : quelle est la gravité de chacune ?",
        "BE-U06 tegenover NL-P16: hoe zwaar is de ene en hoe zwaar de andere?",
    ],
)
def test_a_field_of_each_of_two_rules_is_told_of_both(house: House, files: sqlite3.Connection, question: str) -> None:
    for code in ("BE-U06", "NL-P16"):
        (severity,) = column(files, "SELECT severity FROM rule WHERE error_code = ?", code)
        assert f"({severity})" in answer(house, question).sentence


_NO_FILE = """SELECT DISTINCT file FROM rule WHERE market = 'DK'
              EXCEPT SELECT file FROM rule WHERE market = 'BE'"""


@pytest.mark.parametrize(
    "question",
    [
        "Is there a rule file that Denmark has but Belgium does not? Which one?",
        "Y a-t-il un fichier de règles que le Danemark a et que la Belgique n'a pas ? Lequel ?",
        "Welke regelbestanden heeft Denemarken die België niet heeft?",
    ],
)
def test_files_of_markets_are_compared_by_their_names(house: House, files: sqlite3.Connection, question: str) -> None:
    assert sorted(answer(house, question).values) == sorted(column(files, _NO_FILE))


@pytest.mark.parametrize(
    ("question", "others"),
    [
        ("Which ebIX reasons does Belgium use that neither France nor Denmark uses?", ("FR", "DK")),
        ("Quels motifs ebIX trouve-t-on en Belgique, mais ni en France, ni aux Pays-Bas, ni au Danemark ?",
         ("FR", "NL", "DK")),
        ("Quels motifs ebIX la Belgique est-elle la seule à utiliser ?", ("FR", "NL", "DK")),
        ("Welke ebIX-redenen heeft België, maar Frankrijk, Nederland en Denemarken niet?", ("FR", "NL", "DK")),
    ],
)  # fmt: skip
def test_every_market_that_has_not_is_left_out(
    house: House, files: sqlite3.Connection, question: str, others: tuple[str, ...]
) -> None:
    marks = ",".join("?" * len(others))
    query = f"""SELECT DISTINCT ebix FROM rule WHERE market = 'BE' AND ebix IS NOT NULL
                EXCEPT SELECT ebix FROM rule WHERE market IN ({marks})"""
    assert sorted(answer(house, question).values) == sorted(column(files, query, *others))


def test_of_three_markets_it_has_to_be_told_which_has_not(house: House) -> None:
    assert house.plan("Which ebIX reasons do Belgium, France and Denmark not have?")["plans"] == []


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("BE-D11 s'appliquait-elle déjà le 15 décembre 2025 ?", "2025-12-15"),
        ("Did BE-D11 apply at Christmas 2025?", "2025-12-25"),
        ("Was BE-D11 op nieuwjaarsdag 2026 van kracht?", "2026-01-01"),
        ("Had BE-D11 come into force by 30 November 2025?", "2025-11-30"),
    ],
)
def test_whether_a_rule_was_in_force_on_a_day(house: House, files: sqlite3.Connection, question: str, day: str) -> None:
    (since,) = column(files, "SELECT since FROM rule WHERE error_code = 'BE-D11'")
    assert answer(house, question).values == (since <= day,)


def test_rules_in_force_as_of_a_day_are_those_that_hold_on_it(house: House, files: sqlite3.Connection) -> None:
    query = """SELECT count(*) FROM rule WHERE market = 'BE' AND (since IS NULL OR since <= '2025-06-15')
               AND (until IS NULL OR until >= '2025-06-15')"""
    given = answer(house, "How many rules were in force in Belgium as of 15 June 2025?")
    assert given.values == tuple(column(files, query))


def test_of_a_day_and_the_year_that_holds_it_the_day_is_meant() -> None:
    days, _ = days_of("With 2026 something changed; what began on 1 January 2026?", None, date(2026, 11, 28))
    assert (days.since, days.until, days.day) == (date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 1))


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("Is there a remedy for CO-R07?", "CO-R07"),
        ("Can NL-V14 be put right by a script?", "NL-V14"),
        ("NL-V14 se répare-t-elle avec un script ?", "NL-V14"),
        ("Is er een script dat NL-V14 rechtzet?", "NL-V14"),
    ],
)
def test_whether_a_rule_has_a_script(house: House, files: sqlite3.Connection, question: str, code: str) -> None:
    scripts = column(files, "SELECT script FROM repair JOIN rule USING (code) WHERE error_code = ?", code)
    assert answer(house, question).values == (bool(scripts),)


def test_a_statement_before_a_question_asks_for_no_advice(house: House) -> None:
    (plan,) = house.plan("Die moeten we nog zien. Welke Belgische regels hebben ebIX-reden E98?")["plans"]
    assert plan["where"] == {"markets": ("BE",), "ebix": "E98"}
    assert house.plan("Moeten we de regels met ebIX-reden E98 zien?")["plans"] == []


@pytest.mark.parametrize(
    "question",
    [
        "Who booked FR-R14?",
        "Qui a classé FR-R14 dans cette classe ?",
        "Wie van het team heeft regel NL-V14 geschreven?",
        "Door wie werd CO-R07 goedgekeurd?",
        "Who is the author of rule FR-R06?",
        "Would you contest CO-R08 if you were us?",
        "How big will the rule catalogue be next year?",
        "On va recevoir combien de factures demain ?",
        "How big is the French grid?",
        "Waarop steunt de gasprijs in België?",
    ],
)
def test_who_did_something_advice_and_what_is_to_come_are_not_answered(house: House, question: str) -> None:
    assert house.plan(question)["plans"] == []


def test_a_word_with_two_letters_swapped_is_the_word_that_is_meant() -> None:
    assert meant("feild") == "field"
    assert meant("mesasge") == "message"


@pytest.mark.parametrize(
    "question",
    [
        "Quelles règles ne rejettent pas mais avertissent au Danemark ?",
        "Welke Deense regels weigeren niet maar waarschuwen?",
        "Which Danish rules do not reject but only warn?",
        "Combien de règles danoises ne rejettent pas ?",
    ],
)
def test_a_not_denies_the_verb_that_it_belongs_to_and_not_what_follows_a_but(
    house: House, files: sqlite3.Connection, question: str
) -> None:
    expected = column(files, "SELECT count(*) FROM rule WHERE market = 'DK' AND severity = 'warning'")
    given = answer(house, question)
    assert given.table is not None
    assert [len(given.table.rows)] == expected


@pytest.mark.parametrize(("one", "other"), [("BE-R05", "FR-R03"), ("CO-R05", "CO-R08"), ("CO-R08", "CO-R07")])
def test_two_rules_have_a_script_in_common_where_both_have_one(
    house: House, files: sqlite3.Connection, one: str, other: str
) -> None:
    query = "SELECT script FROM repair JOIN rule USING (code) WHERE error_code = ?"
    shared = set(column(files, query, one)) & set(column(files, query, other))
    assert answer(house, f"Do {one} and {other} have a script in common?").values == (bool(shared),)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Which rules lean on the Flemish energy decree?", "Flemish energy decree"),
        ("Which rules stem from the Flemish energy decree?", "Flemish energy decree"),
        ("List every rule whose source invokes the Flemish energy decree.", "Flemish energy decree"),
        ("Quelles règles s'adossent au décret flamand sur l'énergie ?", "Flemish energy decree"),
        ("Welke regels zijn ontleend aan het Vlaams energiedecreet?", "Flemish energy decree"),
        ("Which rules rest on Directive 2019/944?", "2019/944"),
        ("Welke regels steunen op richtlijn 2019/944?", "2019/944"),
    ],
)
def test_rules_that_lean_on_a_law_are_found_by_its_name(
    house: House, files: sqlite3.Connection, question: str, words: str
) -> None:
    expected = column(files, "SELECT error_code FROM rule WHERE source LIKE ?", f"%{words}%")
    assert sorted(answer(house, question).values) == sorted(expected)


@pytest.mark.parametrize(
    "question",
    [
        "Which Belgian rules cite reason E47?",
        "Belgian rules citing ebIX E47",
        "Quelles règles belges invoquent le motif ebIX E47 ?",
        "Welke Belgische regels beroepen zich op reden E47?",
        "Welke Belgische regels halen reden E47 aan?",
    ],
)
def test_a_reason_that_is_cited_is_that_of_the_rule(house: House, files: sqlite3.Connection, question: str) -> None:
    expected = column(files, "SELECT coalesce(error_code, code) FROM rule WHERE market = 'BE' AND ebix = 'E47'")
    assert sorted(answer(house, question).values) == sorted(expected)


@pytest.mark.parametrize(
    "question",
    [
        "Which rules check the field meter_type?",
        "Quelles règles portent sur le champ meter_type ?",
        "Welke regels controleren het veld meter_type?",
    ],
)
def test_behind_the_word_field_a_name_is_a_field_though_a_code_list_has_it_too(
    house: House, files: sqlite3.Connection, question: str
) -> None:
    expected = column(files, "SELECT error_code FROM rule WHERE field = 'meter_type'")
    assert sorted(answer(house, question).values) == sorted(expected)


@pytest.mark.parametrize(
    "question",
    [
        "From when is BE-D11 in force?",
        "À partir de quand BE-D11 est-elle en vigueur ?",
        "Vanaf welke dag is BE-D11 actief?",
    ],
)
def test_when_a_rule_begins_to_hold_is_a_day_and_no_yes(house: House, files: sqlite3.Connection, question: str) -> None:
    (expected,) = column(files, "SELECT since FROM rule WHERE error_code = 'BE-D11'")
    assert expected in answer(house, question).sentence
    assert house.plan(question)["plans"][0].get("on") is None


@pytest.mark.parametrize(
    "question",
    [
        "ebIX reasons of Belgium minus those of the Netherlands",
        "Quels motifs ebIX les règles belges utilisent, moins ceux des règles néerlandaises ?",
        "ebIX-redenen van België min die van Nederland",
    ],
)
def test_what_one_market_has_minus_another_s_is_what_only_it_has(
    house: House, files: sqlite3.Connection, question: str
) -> None:
    reasons = "SELECT DISTINCT ebix FROM rule WHERE market = ? AND ebix IS NOT NULL"
    expected = column(files, f"{reasons} EXCEPT {reasons}", "BE", "NL")
    assert sorted(answer(house, question).values) == sorted(expected)


@pytest.mark.parametrize(
    "question",
    [
        "Welke codelijsten bestaan er én bij ons in België én bij de Nederlanders?",
        "Quelles listes de codes existent et en Belgique et aux Pays-Bas ?",
        "Which code lists exist both in Belgium and in the Netherlands?",
    ],
)
def test_and_said_twice_asks_for_what_both_have(house: House, files: sqlite3.Connection, question: str) -> None:
    of = "SELECT DISTINCT list FROM code WHERE market = ?"
    assert sorted(answer(house, question).values) == column(files, f"{of} INTERSECT {of} ORDER BY 1", "BE", "NL")


@pytest.mark.parametrize(
    "question",
    [
        "Op hoeveel soorten berichten slaat BE-E01 nu precies?",
        "How many kinds of message does BE-E01 concern?",
        "Sur combien de sortes de messages porte BE-E01 ?",
    ],
)
def test_the_kinds_that_a_rule_bears_on_are_counted_and_no_messages(
    house: House, files: sqlite3.Connection, question: str
) -> None:
    expected = column(files, "SELECT count(*) FROM applies JOIN rule USING (code) WHERE error_code = 'BE-E01'")
    assert answer(house, question).values == tuple(expected)


@pytest.mark.parametrize(
    "question",
    ["How many rules mention a calendar?", "How many rules contain the word calendar?"],
)
def test_rules_that_say_a_word_are_counted_as_they_are_listed(
    house: House, files: sqlite3.Connection, question: str
) -> None:
    expected = column(files, "SELECT count(*) FROM rule WHERE title LIKE '%calendar%' OR sentence LIKE '%calendar%'")
    assert answer(house, question).values == tuple(expected)


def test_who_is_responsible_for_what_is_no_rule_is_not_known(house: House) -> None:
    assert house.reply("Who is responsible for the gateway?") is None


def test_of_two_rules_it_is_shown_which_has_a_value(house: House, files: sqlite3.Connection) -> None:
    (expected,) = column(files, "SELECT error_code FROM rule WHERE error_code IN ('BE-M03', 'FR-M05') AND ebix = 'E62'")
    table = answer(house, "Which of BE-M03 and FR-M05 has reason E62?").table
    assert table is not None
    (row,) = [row for row in table.rows if row[0] == "ebix"]
    assert row[table.columns.index(expected)] == "E62"
