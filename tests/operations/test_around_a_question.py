"""What people tell around a question is no part of it, and what changes its meaning is never left out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

from assistant.operations.family import OnlyThere, Plan, RuleFilter, Rules, Stored
from assistant.operations.house import House
from assistant.operations.leaving_out import says_less
from assistant.operations.worked import Worked
from energycomm.config import Config

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """The shipped rules and documentation, and no store."""
    settings: dict[str, Any] = {"database": SecretStr(f"sqlite:///{tmp_path_factory.mktemp('house') / 'none.db'}")}
    return House(Config(rules=ROOT / "rules", **settings), docs=ROOT / "docs")


@pytest.fixture(scope="module")
def ask(house: House) -> Callable[[str], Worked]:
    def asked(question: str) -> Worked:
        reply = house.reply(question)
        assert reply is not None, f"{question}: {house.plan(question)}"
        return reply.answers[0]

    return asked


@cache
def rules() -> list[dict[str, Any]]:
    """The rules as their files have them; errors do not say so."""
    files = (yaml.load(file.read_text("utf-8"), yaml.CSafeLoader) for file in sorted(ROOT.glob("rules/*/*.yaml")))
    return [{"severity": "error", **one} for content in files for one in content.get("rules", ())]


def in_folder(market: str) -> list[dict[str, Any]]:
    """The rules in the folder of a market."""
    files = (yaml.load(file.read_text("utf-8"), yaml.CSafeLoader) for file in ROOT.glob(f"rules/{market}/*.yaml"))
    return [one for content in files for one in content.get("rules", ())]


def rule(error_code: str) -> dict[str, Any]:
    """A rule by its code."""
    return next(one for one in rules() if one.get("error_code") == error_code)


@pytest.mark.parametrize(
    "question",
    [
        "We had a long morning at the desk. How severe is FR-G08?",
        "My boss wants to hear from me how severe FR-G08 is, and I have no idea where to look.",
        "FR-G08 keeps coming back on invoices of a colleague. How severe is it?",
    ],
)
def test_what_is_told_around_a_question_is_left_out(ask: Callable[[str], Worked], question: str) -> None:
    assert rule("FR-G08")["severity"] in ask(question).sentence


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("On a Belgian grid bill I see 381 as the invoice type. What sort of paper is that?", "Credit note"),
        ("A Danish series gives me quality 46 on a position, what does that stand for?", "Does not exist"),
        ("Ik zie in een Deens bericht kwaliteit 46. Wat betekent dat?", "Does not exist"),
        ("People around me keep saying affaire. What do they mean by it?", "a request at Enedis"),
        ("In my log I read ENV_CRC. What does it stand for?", "checksum"),
        ("I am completing the annex. After how many hours must a person sign in again by default?", "session_hours"),
        ("On which port does `energycomm serve` listen by default?", "8080"),
        ("Before I send it to my client: how many Dutch rules are there?", f"{len(in_folder('nl'))} rule"),
        ("Which French rules invoke the Code de la consommation?", "1 rule"),
        ("There are dead notifications; what do I type so they are sent again?", "outbox retry"),
        ("Que dois-je taper pour annuler une campagne de correction ?", "correct undo"),
        ("Met welk commando draai ik een correctiecampagne terug?", "correct undo"),
    ],
)
def test_what_a_statement_names_is_what_the_question_behind_it_is_about(
    ask: Callable[[str], Worked], question: str, said: str
) -> None:
    assert said in ask(question).sentence


@pytest.mark.parametrize(
    "question",
    [
        "My log has the line `CO-S13 effective 99000000000404`. How severe is CO-S13?",
        "CO-S13 et CO-S12 parlent de la fourniture. Quelle est la gravité de CO-S13 ?",
    ],
)
def test_a_rule_that_a_question_names_once_more_is_the_one_that_is_meant(
    ask: Callable[[str], Worked], question: str
) -> None:
    assert rule("CO-S13")["severity"] in ask(question).sentence


@pytest.mark.parametrize(
    ("question", "yes"),
    [
        ("BE-P15 et BE-U06 traitent toutes deux du code postal : ont-elles la même gravité ?", "Oui"),
        ("NL-P16 en BE-P15 gaan allebei over de postcode: hebben ze dezelfde ernst?", "Nee"),
    ],
)
def test_two_rules_told_of_before_a_colon_are_compared(ask: Callable[[str], Worked], question: str, yes: str) -> None:
    assert ask(question).sentence.startswith(yes)


@pytest.mark.parametrize(
    "question",
    [
        "My bill says 381 euro. What does that mean?",
        "Our boss wants 10 percent. What does that mean for us?",
        "Atrias sent us ZZ9. What does that mean?",
        "Would you know who wrote FR-R06?",
        "FR-R06 was written in 2019: is it the work of Pierre?",
    ],
)
def test_what_a_statement_does_not_name_is_not_guessed(house: House, question: str) -> None:
    assert house.reply(question) is None


@pytest.mark.parametrize("code", ["ZZ9", "QX7"])
def test_a_code_that_a_list_does_not_have_is_said_to_be_none_of_it(ask: Callable[[str], Worked], code: str) -> None:
    found = ask(f"What does code {code} of the Danish quality list mean?")
    assert found.values == ()
    assert code in found.sentence


def test_the_days_of_a_code_are_those_of_its_file(ask: Callable[[str], Worked]) -> None:
    assert ask("From which date is the French tariff code BTINFMU4 valid?").values == ("2017-08-01",)


def test_two_rules_of_a_statement_are_compared(ask: Callable[[str], Worked]) -> None:
    found = ask("FR-G08 and FR-G09 are both about the power on a grid fee line. How severe is each of the two?")
    assert all(f"({rule(one)['severity']})" in found.sentence for one in ("FR-G08", "FR-G09"))


@pytest.mark.parametrize(
    "question",
    [
        "I noticed that not every rule has an error code. How many rules are without one?",
        "I'd like to tell you about warnings. How many of them are there among the rules of Belgium?",
        "I'm about to paint drop-repeated-register - for which rules is it?",
    ],
)
def test_a_statement_that_the_question_needs_is_not_left_out(house: House, question: str) -> None:
    reply = house.reply(question)
    told = "" if reply is None else " ".join(one.sentence for one in reply.answers)
    assert str(len(rules())) not in told


@pytest.mark.parametrize(
    ("question", "one", "other", "field"),
    [
        ("Do FR-R03 and FR-R04 differ in severity?", "FR-R03", "FR-R04", "severity"),
        ("Verschillen BE-P15 en NL-P16 in ernst?", "BE-P15", "NL-P16", "severity"),
    ],
)
def test_two_rules_differ_in_a_field_or_do_not(
    ask: Callable[[str], Worked], question: str, one: str, other: str, field: str
) -> None:
    differ = rule(one)[field] != rule(other)[field]
    assert ask(question).sentence.split(".")[0] in (("Yes", "Ja") if differ else ("No", "Nee"))


@pytest.mark.parametrize("code", ["FR-P08", "FR-M05"])
def test_a_rule_has_an_ebix_reason_or_none(ask: Callable[[str], Worked], code: str) -> None:
    assert ask(f"Does {code} have an ebIX reason?").sentence.startswith("Yes" if rule(code).get("ebix") else "No")


def test_codes_of_one_list_that_another_lacks_are_those_of_the_files(ask: Callable[[str], Worked]) -> None:
    lists = {
        folder: {
            line.split(",")[1]
            for line in (ROOT / f"rules/{folder}/codes.csv").read_text("utf-8").splitlines()
            if line.startswith("rejection,")
        }
        for folder in ("be", "dk")
    }
    assert all(lists.values())
    found = ask("Which rejection codes are in the Belgian rejection list and missing from the Danish?")
    assert set(found.values) == lists["be"] - lists["dk"]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Our batch script has to notice that the database is unreachable. What exit code stands for that?", "4"),
        ("Op welke poort luistert de webdienst als je er zelf niets voor instelt?", "8080"),
        ("On which port does the web service listen when nothing is configured?", "8080"),
    ],
)
def test_the_documentation_is_found_with_one_word_that_it_does_not_have(
    ask: Callable[[str], Worked], question: str, said: str
) -> None:
    assert said in ask(question).sentence


def test_what_is_to_come_and_what_a_fine_costs_is_not_known(house: House) -> None:
    assert house.reply("Combien de messages recevrons-nous en 2027 ?") is None
    assert house.reply("What is the fine for a grid operator that breaks FR-V05?") is None


@pytest.mark.parametrize(
    ("question", "plan"),
    [
        ("How many of my rules are without a script?", Rules(how="count")),
        ("Combien de minutes un analyste met-il ?", Stored(thing="message")),
        ("Which warnings are the most frequent?", Stored(thing="message", how="top", by="code", severity="error")),
        ("What is DMREC?", Rules(where=RuleFilter(markets=("FR",)))),
        ("AccessPointData: dump the rules", Rules(where=RuleFilter(severity="warning"))),
        ("How many incidents had severity error?", Stored(thing="finding", severity="error")),
        ("Which scripts are named by more than one rule?", Rules(how="groups", by="repair", at_least=1)),
        ("Welke uitgaande regels waarschuwen alleen?", Rules(where=RuleFilter(severity="warning"))),
        ("How many French messages were accepted?", Stored(thing="message", markets=("FR",))),
        ("How many French messages were not accepted?", Stored(thing="message", states=("accepted",))),
        ("Which rules do not give any ebIX reason?", Rules(where=RuleFilter(having=("ebix",)))),
        ("Quels types de messages la France a-t-elle ?", OnlyThere(what="ebix", here="FR", there="BE")),
        ("Welke regels gelden op 1 mei 2025 en op 1 mei 2026?", Rules(where=RuleFilter(on=date(2025, 5, 1)))),
    ],
)
def test_a_guess_that_says_less_than_the_question_is_none(house: House, question: str, plan: Plan) -> None:
    asked = house.read(question).asked
    assert asked is not None
    assert says_less(plan, asked, date(2026, 11, 28))


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        ("If a French point is not made of fourteen digits (FR-P01), what ebIX reason goes with it?", {"E10"}),
        ("Als een Deens punt geen achttien cijfers heeft (DK-P01), welke ebIX-reden hoort daarbij?", {"E10"}),
    ],
)
def test_what_a_rule_says_with_its_code_in_brackets_only_names_it(
    ask: Callable[[str], Worked], question: str, answered: set[str]
) -> None:
    assert set(ask(question).values) == answered


def test_a_statement_that_the_question_says_again_restricts_nothing(house: House) -> None:
    told = "Three files could not be read in my test, it seems. Which envelopes failed?"
    reading = house.read(told).read
    assert reading == house.read("Which envelopes failed?").read
    assert reading is not None
    assert house.read("Two files could not be processed last night. Which envelopes failed?").read is None


def test_a_question_behind_a_wish_to_be_told_is_the_question(house: House) -> None:
    told = "A customer insists that message 390 is fine. Could you please tell me on what ground it was turned down?"
    assert house.plan(told)["plans"] == house.plan("Why was message 390 rejected?")["plans"]


def test_what_goes_on_where_a_code_is_used_does_not_change_its_meaning(ask: Callable[[str], Worked]) -> None:
    plain = ask("What does code E66 mean in Belgium (list stop_reason)?")
    assert ask("What does code E66 mean when a move ends in Belgium (list stop_reason)?").values == plain.values


def test_a_field_in_brackets_is_what_the_words_before_it_mean(ask: Callable[[str], Worked]) -> None:
    pointing = ask("Which Belgian rules look at the field address.postal_code?")
    glossed = (
        "Which of our checks look at the postcode of an address (field address.postal_code) in what Belgium sends us?"
    )
    assert ask(glossed).values == pointing.values


@pytest.mark.parametrize(
    "question",
    [
        "Wie van de klantenservice heeft bericht 291 het laatst bekeken?",
        "Who from the help desk looked at message 291 last?",
        "Who approved message 291?",
        "Qui du service client a consulté le message 291 en dernier ?",
    ],
)
def test_who_did_what_is_not_kept_with_a_message_is_not_answered(house: House, question: str) -> None:
    assert house.reply(question) is None


def test_a_denial_of_nothing_that_is_known_restricts_nothing(ask: Callable[[str], Worked]) -> None:
    told = "A caller insists he never agreed. I need the Dutch rules that look at the field consent, please."
    assert ask(told).values == ask("Which Dutch rules look at the field consent?").values


def test_a_small_word_names_a_field_only_beside_the_word_for_one(house: House) -> None:
    looking = house.read("Which Dutch rules look at the field consent?").asked
    assert looking is not None
    assert not looking.has("kept", "at")
    assert house.plan("What is the field at of a message?")["plans"][0]["name"] == "at"


def test_the_day_that_a_statement_speaks_of_is_told_once_more_by_the_question(house: House) -> None:
    told = "I am checking the end of last year: how many Belgian rules were in force on 31 December 2025?"
    assert house.read(told).read == house.read("How many Belgian rules were in force on 31 December 2025?").read


@pytest.mark.parametrize(
    ("told", "short"),
    [
        ("CO-R05 and CO-R06 are both about indexes; which of the two is only a warning?", "Compare CO-R05 and CO-R06"),
        (
            "Since the customer at 571313199900000022 complains about a bill: on which day did our supply there end?",
            "Until when do we supply 571313199900000022?",
        ),
        (
            "Our order at 99000000000909 failed, they say; in what state did that request end?",
            "In what state is the request at 99000000000909?",
        ),
        (
            "Two letters quote ebIX reason E81. Name the Belgian rules that carry it, please.",
            "List the Belgian rules with ebIX reason E81",
        ),
        ("For my test plan I need every Danish rule that reads the field allocation_method.",
         "List the Danish rules that read the field allocation_method"),
        ("Leaving the common rules aside, which ebIX reasons occur in Danish rules but in none of the Belgian ones?",
         "Which ebIX reasons occur in Danish rules but not in Belgian ones?"),
    ],
)  # fmt: skip
def test_of_what_stands_before_a_question_only_the_thing_that_it_names_is_kept(
    house: House, told: str, short: str
) -> None:
    read, wanted = house.plan(told), house.plan(short)
    assert read is not None
    assert wanted is not None
    assert read["plans"] == wanted["plans"]


@pytest.mark.parametrize(
    "order",
    [
        "Release everything that sits in quarantine now, please.", "Please let message 121 out of quarantine.",
        "Sortez le message 121 de quarantaine.", "Libérez tous les messages.", "Haal bericht 121 uit quarantaine.",
        "Laat bericht 121 vrij.",
    ],
)  # fmt: skip
def test_to_let_out_of_quarantine_is_an_order(house: House, order: str) -> None:
    assert house.reply(order) is None


@pytest.mark.parametrize(
    "wish", ["Get me the messages that came out of quarantine.", "Laat zien welke berichten zijn vrijgegeven."]
)
def test_to_see_what_left_quarantine_is_no_order(house: House, wish: str) -> None:
    plan = house.plan(wish)
    assert plan is not None
    assert "freed" in str(plan)


@pytest.mark.parametrize(
    ("question", "plan"),
    [
        (
            "E17, again E17... which Danish rules dish out that code?",
            {"do": "rules", "where": {"markets": ("DK",), "ebix": "E17", "having": ("error_code",)}},
        ),
        (
            "D07 dus, weer die. Hoeveel Nederlandse regels delen die reden uit?",
            {"do": "rules", "where": {"markets": ("NL",), "ebix": "D07"}, "how": "count"},
        ),
        (
            "E86 encore. Combien de règles balancent ce motif, tous pays confondus ?",
            {"do": "rules", "where": {"ebix": "E86"}, "how": "count"},
        ),
        ("121, a Dutch one. Somebody downstairs asks what was wrong with it.", {"do": "why_message", "message": 121}),
        ("Le 85 a été recalé. Qu'est-ce qu'on lui reproche ?", {"do": "why_message", "message": 85}),
        ("Het 390 werd afgewezen. Wat wordt het verweten?", {"do": "why_message", "message": 390}),
        (
            "Now that message 85 came back - which two rule codes?",
            {"do": "why_message", "message": 85, "about": "codes"},
        ),
        ("A0000909 bij Enedis. Hoe is dat afgelopen?", {"do": "request_life", "reference": "A0000909"}),
        (
            "Belgium now. Which kind do they send us most?",
            {"do": "stored", "thing": "message", "how": "top", "by": "kind", "markets": ("BE",)},
        ),
        (
            "België dan. Hoeveel berichten hebben ze ons gestuurd?",
            {"do": "stored", "thing": "message", "markets": ("BE",)},
        ),
    ],
)  # fmt: skip
def test_what_points_back_means_what_was_named(house: House, question: str, plan: dict[str, Any]) -> None:
    assert house.plan(question)["plans"][:1] == [plan]


@pytest.mark.parametrize(
    "question",
    [
        "390 messages came from Denmark. What was wrong with them?",
        "The suppliers of Belgium complain. How many of them do we know?",
    ],
)
def test_what_points_back_to_nothing_that_is_known_is_not_guessed(house: House, question: str) -> None:
    assert not house.plan(question)["plans"]


@pytest.mark.parametrize(
    "question",
    [
        "Auditor's question: a Belgian switch of 31 December 2025 - was BE-D11 already in force that day, yes or no?",
        "Un changement du 31 décembre 2025 : BE-D11 était-elle en vigueur ce jour-là, oui ou non ?",
        "Een Belgische switch van 31 december 2025 - gold BE-D11 die dag al, ja of nee?",
    ],
)
def test_that_day_is_the_one_of_the_statement(house: House, question: str) -> None:
    assert [plan["on"] for plan in house.plan(question)["plans"]] == ["2025-12-31"]


def test_a_label_before_a_colon_restricts_nothing_unless_it_names_something(house: House) -> None:
    labelled = "Postcodes: are DK-P15 and NL-P16 equally strict?"
    assert house.plan(labelled)["plans"] == [
        {"do": "compare_rules", "one": "DK-P15", "other": "NL-P16", "same": "severity"}
    ]
    assert not house.plan("FR-R03 and FR-R04: is NL-P16 an error?")["plans"]


@pytest.mark.parametrize(
    "question",
    [
        "BE-D11, taken from which law? Legal needs the reference.",
        "BE-D11, on l'a pris dans quel texte ? Le juriste veut la référence.",
        "BE-D11, uit welke tekst hebben we die gehaald? De jurist wil de verwijzing.",
    ],
)
def test_who_wants_to_hear_the_answer_changes_nothing(ask: Callable[[str], Worked], question: str) -> None:
    assert "2019/944" in ask(question).sentence


@pytest.mark.parametrize(
    "question",
    [
        "How many messages were rejected? The boss wants yesterday's.",
        "Combien de messages rejetés ? Le chef veut ceux de mars.",
        "Hoeveel regels heeft Nederland? De chef wil alleen de fouten.",
    ],
)
def test_a_wish_behind_a_question_that_restricts_it_is_not_left_out(house: House, question: str) -> None:
    assert not house.plan(question)["plans"]


@pytest.mark.parametrize(
    "question",
    [
        "NL-V12 annoys me every morning. Which of my colleagues came up with it?",
        "FR-R03 m'énerve. Lequel de mes collègues l'a inventée ?",
        "E50 all day. Welke collega deelt die reden het meest uit?",
    ],
)
def test_which_colleague_did_something_is_not_known(house: House, question: str) -> None:
    assert not house.plan(question)["plans"]


@pytest.mark.parametrize(
    "question",
    [
        "Which employee is responsible for maintaining rule NL-P05?",
        "Quelle personne est responsable de la maintenance de FR-R03 ?",
        "Who is responsible for maintaining rule NL-P05?",
        "Welke medewerker is verantwoordelijk voor het onderhoud van BE-D11?",
        "What is the financial damage if message 345 stays rejected?",
        "Combien nous coûte le message 415 en quarantaine ?",
        "Wat is de financiële schade als bericht 291 tot het einde van het jaar afgekeurd blijft?",
    ],
)
def test_who_keeps_a_rule_and_what_something_costs_are_not_known(house: House, question: str) -> None:
    plan = house.plan(question)
    assert not plan["plans"]
    assert {"opinion"} <= set(plan["named"])  # is read like no known question either


@pytest.mark.parametrize(
    "question",
    [
        "So a reading numbered 121 is not moving. On what date did it reach us?",
        "When did the reading numbered 121 arrive?",
        "Le relevé numéro 121 est arrivé quel jour ?",
        "Op welke dag is de meterstand met nummer 121 binnengekomen?",
    ],
)
def test_a_message_is_named_by_its_kind_and_number_too(house: House, question: str) -> None:
    (plan,) = house.plan(question)["plans"]
    assert plan == {"do": "why_message", "message": 121, "about": "facts"}


@pytest.mark.parametrize(
    "question",
    [
        "le client râle, je pars dans cinq minutes : 291 rejeté pourquoi",
        "boss is on the phone, two minutes left: 291 rejected why",
        "even haast, nog vijf minuten: 291 afgekeurd waarom",
    ],
)
def test_in_what_haste_somebody_asks_is_left_out_before_the_number_of_a_message(house: House, question: str) -> None:
    (plan,) = house.plan(question)["plans"]
    assert plan["message"] == 291


@pytest.mark.parametrize(
    ("question", "name"),
    [
        (
            "Quelqu'un m'a parlé d'un pourcentage d'écart admis entre une courbe et les index des mêmes jours. "
            "Comment s'appelle ce réglage ?",
            "curve_tolerance",
        ),
        (
            "Iemand had het over het aantal dagen waarna wachtende berichten opgegeven zijn. Hoe heet die instelling?",
            "quarantine_days",
        ),
        ("Someone mentioned a largest depth of nested zips. What is that setting called?", "depth"),
    ],
)
def test_a_setting_of_which_only_the_statement_tells_is_found_by_it(
    ask: Callable[[str], Worked], question: str, name: str
) -> None:
    assert ask(question).sentence.startswith(name)


@pytest.mark.parametrize(
    ("question", "on"),
    [
        ("Suppose a Belgian switch arrived on 31 December 2025: was BE-D11 in force by then?", "2025-12-31"),
        ("Stel dat een wissel op 31 december 2025 binnenkwam: gold BE-D11 toen al?", "2025-12-31"),
    ],
)
def test_then_is_the_day_of_the_statement(house: House, question: str, on: str) -> None:
    (plan,) = house.plan(question)["plans"]
    assert (plan["code"], plan["on"]) == ("BE-D11", on)
