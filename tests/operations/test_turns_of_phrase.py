"""The same is understood however it is turned: indirect wishes, nouns for verbs, and what people say of messages."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from assistant.operations.house import House
from assistant.operations.paraphrases import may_stand_in, pattern_of, rephrased, turns
from assistant.operations.vocabulary import LANGUAGES, tokens_of
from energycomm.config import Config
from energycomm.eis.database import opened
from energycomm.eis.migrations import upgrade
from energycomm.eis.store import Store
from energycomm.eis.tables import access_point, supply_period
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """The shipped rules and documentation, and no store."""
    values: dict[str, Any] = {"database": SecretStr(f"sqlite:///{tmp_path_factory.mktemp('house') / 'none.db'}")}
    return House(Config(rules=ROOT / "rules", **values), docs=ROOT / "docs")


@pytest.mark.parametrize(
    ("turned", "operation"),
    [
        ("Hoe heet regel NL-S08 eigenlijk voluit?", {"do": "rule_field", "code": "NL-S08", "fields": ["title"]}),
        ("ebIX D07 - who uses it? all markets", {"do": "rules", "where": {"ebix": "D07"}}),
        ("FR-R06: hoe zwaar tilt ge daaraan?", {"do": "rule_field", "code": "FR-R06", "fields": ["severity"]}),
        (
            "BE-P01, à quel point on la prend au sérieux ?",
            {"do": "rule_field", "code": "BE-P01", "fields": ["severity"]},
        ),
        (
            "DK-V11: under what ebIX code does it go back to the hub",
            {"do": "rule_field", "code": "DK-V11", "fields": ["ebix"]},
        ),
        ("DK-V11 : sous quel motif repart le message ?", {"do": "rule_field", "code": "DK-V11", "fields": ["ebix"]}),
        (
            "DK-V11: onder welke reden gaat het terug naar de hub?",
            {"do": "rule_field", "code": "DK-V11", "fields": ["ebix"]},
        ),
        (
            "Welke ebIX-redenen komen in de Deense regels voor en in de Franse nergens?",
            {"do": "only_there", "what": "ebix", "here": "DK", "there": "FR", "where": {}},
        ),
        (
            "Quels motifs ebIX trouve-t-on dans les règles belges et nulle part chez les Français ?",
            {"do": "only_there", "what": "ebix", "here": "BE", "there": "FR", "where": {}},
        ),
        (
            "Which code lists has France, and nowhere in the Dutch ones?",
            {"do": "only_there", "what": "list", "here": "FR", "there": "NL", "where": {}},
        ),
        ("ONRQST, in welke codelijst moet ik dat zoeken?", {"do": "code_lists", "how": "where", "code": "ONRQST"}),
        ("Dans quelle liste dois-je chercher EOSUPPLY ?", {"do": "code_lists", "how": "where", "code": "EOSUPPLY"}),
        ("X12 says CPNR. Which means?", {"do": "code_lists", "how": "meaning", "code": "CPNR"}),
        (
            "Overal staat EOSUPPLY. Wat willen die Nederlanders daarmee zeggen?",
            {"do": "code_lists", "how": "meaning", "code": "EOSUPPLY", "markets": ["NL"]},
        ),
        (
            "p4_rejection in the Netherlands: how many codes on that list, roughly twenty?",
            {"do": "code_lists", "how": "count", "list": "p4_rejection", "markets": ["NL"]},
        ),
        ("my script died with 141. what does that mean", {"do": "manual", "what": "exit_code", "name": "141"}),
        ("Mijn script is gestopt met 2, wat betekent dat?", {"do": "manual", "what": "exit_code", "name": "2"}),
        (
            "ids of the Dutch notices that got bounced",
            {"do": "stored", "thing": "message", "how": "list", "states": ["rejected"], "markets": ["NL"]},
        ),
        (
            "Welke Franse aansluiting spant de kroon?",
            {"do": "stored", "thing": "message", "how": "top", "by": "access_point", "markets": ["FR"]},
        ),
        (
            "Les demandes vers la Hollande passent par combien de contrôles (validation_out) ?",
            {"do": "rules", "where": {"markets": ("NL",), "set": "validation_out"}, "how": "count"},
        ),
        ("DK-A13 written out as a full sentence", {"do": "rule_field", "code": "DK-A13", "fields": ["sentence"]}),
        (
            "What was the outcome of the request concerning meter point 99000000000606?",
            {"do": "request_life", "access_point": "99000000000606"},
        ),
        (
            "Wat was de afloop van het verzoek voor punt 99000000000606?",
            {"do": "request_life", "access_point": "99000000000606"},
        ),
        (
            "Are there message kinds with validation_in rules in Belgium whereas Denmark has none?",
            {"do": "only_there", "what": "kind", "here": "BE", "there": "DK", "where": {"set": "validation_in"}},
        ),
        (
            "Welke Belgische regel gold op 1 december 2025 nog niet, maar nu wel?",
            {"do": "rules", "where": {"markets": ("BE",), "off": "2025-12-01"}},
        ),
        (
            "Sur quels messages la règle NL-A05 a-t-elle trouvé à redire ?",
            {"do": "stored", "thing": "message", "how": "list", "code": "NL-A05"},
        ),
        (
            "Op welke berichten had NL-A05 iets aan te merken?",
            {"do": "stored", "thing": "message", "how": "list", "code": "NL-A05"},
        ),
        ("Show me the rules kept in meter.yaml", {"do": "rules", "where": {"file": "meter.yaml"}}),
        (
            "What is the most frequent notification in the outbox?",
            {"do": "stored", "thing": "notification", "how": "top", "by": "type"},
        ),
        ("What sets NL-R05 apart from NL-R06?", {"do": "compare_rules", "one": "NL-R05", "other": "NL-R06"}),
        ("Zet NL-R05 en NL-R06 naast elkaar.", {"do": "compare_rules", "one": "NL-R05", "other": "NL-R06"}),
        ("Which rule stopped message 88?", {"do": "why_message", "message": 88}),
        ("Qu'est-ce qui a fait échouer le message 88 ?", {"do": "why_message", "message": 88}),
        ("Welke regel hield bericht 88 tegen?", {"do": "why_message", "message": 88}),
        ("121 is in quarantine, what does it need?", {"do": "why_message", "message": 121}),
        (
            "When did we lose 871999910000000041?",
            {"do": "point_life", "access_point": "871999910000000041", "about": "supplied"},
        ),
        (
            "Depuis quel jour fournissons-nous le point 871999910000000041 ?",
            {"do": "point_life", "access_point": "871999910000000041", "about": "supplied"},
        ),
        ("D'où sort la règle NL-R05 ?", {"do": "rule_field", "code": "NL-R05", "fields": ["source"]}),
        ("Which data item does FR-R14 check?", {"do": "rule_field", "code": "FR-R14", "fields": ["field"]}),
        (
            "Is the ebIX reason of BE-M04 also that of FR-M02?",
            {"do": "compare_rules", "one": "BE-M04", "other": "FR-M02", "same": "ebix"},
        ),
        (
            "Which points of Belgium do we no longer supply?",
            {"do": "stored", "thing": "access_point", "how": "list", "markets": ["BE"], "supplied": False},
        ),
        (
            "Van welke Belgische aansluitingen is de levering beëindigd?",
            {"do": "stored", "thing": "access_point", "how": "list", "markets": ["BE"], "supplied": False},
        ),
        (
            "Combien de points belges fournissons-nous ?",
            {"do": "stored", "thing": "access_point", "markets": ["BE"], "supplied": True},
        ),
        (
            "When did our supply of 871999910000000041 come to an end?",
            {"do": "point_life", "access_point": "871999910000000041", "about": "supplied"},
        ),
        ("415, in welke staat zit dat bericht nu?", {"do": "why_message", "message": 415, "about": "state"}),
        ("A quelle heure est-ce que le 336 est sorti de quarantaine ?", {
            "do": "why_message", "message": 336, "about": "freed",
        }),
        (
            "Would you happen to know which code list GGV is taken from?",
            {"do": "code_lists", "how": "where", "code": "GGV"},
        ),
        ("Weet je toevallig in welke codelijst GGV staat?", {"do": "code_lists", "how": "where", "code": "GGV"}),
        (
            "Which kinds of message do the French rules deal with and the Dutch ones leave alone?",
            {"do": "only_there", "what": "kind", "here": "FR", "there": "NL", "where": {}},
        ),
        (
            "Welke ebIX-redenen gebruikt België die Frankrijk links laat liggen?",
            {"do": "only_there", "what": "ebix", "here": "BE", "there": "FR", "where": {}},
        ),
        (
            "Quels motifs ebIX la Belgique utilise et que les Pays-Bas ignorent ?",
            {"do": "only_there", "what": "ebix", "here": "BE", "there": "NL", "where": {}},
        ),
        (
            "Van de vier markten: welke heeft de meeste regels die alleen waarschuwen?",
            {"do": "rules", "where": {"severity": "warning"}, "how": "top", "by": "market"},
        ),
        (
            "Parmi les quatre pays, lequel a le plus de règles ?",
            {"do": "rules", "where": {}, "how": "top", "by": "market"},
        ),
        (
            "Quelles règles tapent sur le champ correction_reason ?",
            {"do": "rules", "where": {"field": "correction_reason"}},
        ),
        (
            "Which rules touch the `calendar` field?",
            {"do": "rules", "where": {"field": "calendar"}},
        ),
        (
            "Welke foutcodes kunnen optreden bij een CalorificValue?",
            {"do": "rules", "where": {"kinds": ("CalorificValue",), "having": ("error_code",)}},
        ),
        (
            "Rules with ebIX reason E36, every market",
            {"do": "rules", "where": {"ebix": "E36"}},
        ),
        (
            "Of the French rules (leave the common ones out), how many are warnings?",
            {"do": "rules", "where": {"markets": ("FR",), "severity": "warning"}, "how": "count"},
        ),
        (
            "Hoeveel Deense regels waarschuwen, de gemeenschappelijke niet meegerekend?",
            {"do": "rules", "where": {"markets": ("DK",), "severity": "warning"}, "how": "count"},
        ),
        ("Quote me the full sentence behind NL-V14.", {"do": "rule_field", "code": "NL-V14", "fields": ["sentence"]}),
        ("Vanaf welke dag is BE-D11 van toepassing?", {"do": "rule_field", "code": "BE-D11", "fields": ["validity"]}),
        (
            "From which date is the French tariff code BTINFMU4 valid?",
            {"do": "code_lists", "how": "validity", "list": "tariff", "code": "BTINFMU4", "markets": ["FR"]},
        ),
        (
            "Depuis quand le code tarif BTINFMU4 est-il valable ?",
            {"do": "code_lists", "how": "validity", "list": "tariff", "code": "BTINFMU4"},
        ),
        (
            "DK-G03 and DK-G51 carry the same title. In what respect do the two differ?",
            {"do": "compare_rules", "one": "DK-G03", "other": "DK-G51"},
        ),
        (
            "Size of the Danish rejection list?",
            {"do": "code_lists", "how": "count", "list": "rejection", "markets": ["DK"]},
        ),
        (
            "What is quarantine_days when nobody has changed it?",
            {"do": "manual", "what": "setting", "how": "default", "name": "quarantine_days"},
        ),
        ("My job crashed with exit code 4, meaning?", {"do": "manual", "what": "exit_code", "name": "4"}),
        ("Quels messages étaient en quarantaine et en sont sortis depuis ?", {
            "do": "stored", "thing": "freed", "how": "list",
        }),
        (
            "Hoe ver staat onze leverancierswissel in Nederland?",
            {
                "do": "stored", "thing": "request", "how": "list", "markets": ["NL"],
                "kinds": ["SupplierSwitchRequest"],
            },
        ),
        (
            "We put one request to the Danish market ourselves. What kind was it, and in what state is it today?",
            {"do": "stored", "thing": "request", "how": "list", "markets": ["DK"]},
        ),
        (
            "Quel code de réponse a eu notre demande française ?",
            {"do": "stored", "thing": "request", "by": "code", "markets": ["FR"]},
        ),
        (
            "We sent one supplier switch to the Danish hub; for which metering point was it?",
            {
                "do": "stored", "thing": "message", "how": "groups", "by": "access_point", "markets": ["DK"],
                "kinds": ["SupplierSwitchRequest"],
            },
        ),
        (
            "Which notification event goes out more than any other?",
            {"do": "stored", "thing": "notification", "how": "top", "by": "type"},
        ),
        (
            "Quel code d'erreur revient plus souvent que tous les autres ?",
            {"do": "stored", "thing": "message", "how": "top", "by": "code"},
        ),
        (
            "Which messages waited and then got through after all?",
            {"do": "stored", "thing": "freed", "how": "list", "states": ["quarantined"]},
        ),
        (
            "Welke berichten wachtten en zijn alsnog aanvaard?",
            {"do": "stored", "thing": "freed", "how": "list", "states": ["quarantined"]},
        ),
        ("Message 90 was stuck. Which message set it free?", {"do": "why_message", "message": 90, "about": "freed"}),
        (
            "There is a message, number 121, untouched. Is something else supposed to arrive first, and what?",
            {"do": "why_message", "message": 121},
        ),
        ("Bericht 415 doet niets. Moet er eerst nog iets anders binnenkomen?", {"do": "why_message", "message": 415}),
        (
            "Leaving the warnings aside, by which rules was message 345 turned down?",
            {"do": "why_message", "message": 345, "about": "codes", "severity": "error"},
        ),
        (
            "Sans compter les avertissements, quelles règles ont rejeté le message 345 ?",
            {"do": "why_message", "message": 345, "about": "codes", "severity": "error"},
        ),
        (
            "Total number of findings whose class is grid_operator, errors and warnings alike.",
            {"do": "stored", "thing": "finding", "error_class": "grid_operator"},
        ),
        (
            "How many Danish rules are there, leaving the common ones out?",
            {"do": "rules", "how": "count", "where": {"markets": ("DK",)}},
        ),
        (
            "Combien de règles danoises, en laissant de côté les règles communes ?",
            {"do": "rules", "how": "count", "where": {"markets": ("DK",)}},
        ),
        (
            "Hoeveel Deense regels zijn er, de gemeenschappelijke buiten beschouwing gelaten?",
            {"do": "rules", "how": "count", "where": {"markets": ("DK",)}},
        ),
        (
            "Which two messages are sitting in quarantine right now?",
            {"do": "stored", "thing": "message", "how": "list", "states": ["quarantined"]},
        ),
        (
            "ids in quarantaine right now",
            {"do": "stored", "thing": "message", "how": "list", "states": ["quarantined"]},
        ),
        (
            "On en a combien, des relevés français, enfin des MeterReading ?",
            {"do": "stored", "thing": "message", "markets": ["FR"], "kinds": ["MeterReading"]},
        ),
        (
            "In the log I met TYPE_DECLARED. Which envelope had it?",
            {"do": "stored", "thing": "incident", "how": "list", "code": "TYPE_DECLARED"},
        ),
        (
            "What does code ZZ9 mean in the Dutch rejection list?",
            {"do": "code_lists", "how": "meaning", "list": "rejection", "code": "ZZ9", "markets": ["NL"]},
        ),
        (
            "One figure for the board: how many messages are rejected?",
            {"do": "stored", "thing": "message", "states": ["rejected"]},
        ),
        ("Set FR-C06 beside FR-C15.", {"do": "compare_rules", "one": "FR-C06", "other": "FR-C15"}),
        ("Zet FR-C06 tegenover FR-C15.", {"do": "compare_rules", "one": "FR-C06", "other": "FR-C15"}),
        (
            "Leaving the common ones aside, how many rules were written for Denmark?",
            {"do": "rules", "where": {"markets": ("DK",)}, "how": "count"},
        ),
        (
            "Name the French rules that belong to the error class ordering.",
            {"do": "rules", "where": {"markets": ("FR",), "error_class": "ordering"}},
        ),
        (
            "Combien de règles danoises dont la gravité est erreur ?",
            {"do": "rules", "where": {"markets": ("DK",), "severity": "error"}, "how": "count"},
        ),
        (
            "Of the checks on what we ourselves send out in the Netherlands, how many are merely warnings?",
            {"do": "rules", "where": {"markets": ("NL",), "direction": "out", "severity": "warning"}, "how": "count"},
        ),
        (
            "Hoeveel meldingen supply-started staan er klaar voor de backoffice?",
            {"do": "stored", "thing": "notification", "states": ["pending"], "types": ["supply-started"]},
        ),
        (
            "Which connection has received the most messages of all?",
            {"do": "stored", "thing": "message", "how": "top", "by": "access_point"},
        ),
        (
            "How did our request to switch the supplier of 541449000000001079 end?",
            {"do": "request_life", "access_point": "541449000000001079", "kinds": ["SupplierSwitchRequest"]},
        ),
        (
            "Message 336 was on hold for a while. What let it go?",
            {"do": "why_message", "message": 336, "about": "freed"},
        ),
        (
            "The process command just came back with exit code 4. What is that telling me?",
            {"do": "manual", "what": "exit_code", "name": "4"},
        ),
    ],
)  # fmt: skip
def test_a_turn_of_phrase_asks_for_the_operation_that_a_person_meant(
    house: House, turned: str, operation: dict[str, Any]
) -> None:
    (plan,) = house.plan(turned)["plans"]
    assert {name: list(one) if isinstance(one, tuple) else one for name, one in plan.items()} == operation


@pytest.mark.parametrize(
    "question",
    [
        "Which points do we not supply on Mars?",
        "Which rule stopped the music?",
        "Wat mankeert er aan mijn auto?",
        "En quoi la pluie et la neige sont-elles différentes ?",
        "When did we lose the match?",
        "What does it need?",
        "Which Belgian points did we lose to a competitor?",
        "How long is the waiting list for a connection?",
        "For midnight: which rules?",
        "For the price of gas: how many rules are there?",
        "Which supplier is cheaper for connection 871999910000000041?",
        "What postage do I need on an envelope to Atrias?",
        "Zet regel BE-R04 voor mij uit.",
        "Turn off rule BE-R04, please.",
        "Désactive la règle BE-R04.",
        "Quelle est la taille de la liste d'attente pour un raccordement ?",
    ],
)
def test_a_turn_of_phrase_about_something_else_is_not_answered(house: House, question: str) -> None:
    assert house.plan(question)["plans"] == []


def test_what_a_turn_keeps_is_put_in_its_order() -> None:
    assert " ".join(rephrased(["is", "the", "source", "of", "§1", "also", "that", "of", "§0"])) == (
        "do §1 and §0 have the same source"
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_turns_and_none_is_there_twice(language: str) -> None:
    said = [one for known, one, _ in turns() if known == language]
    assert len(said) == len(set(said)) > 10


def test_points_that_are_supplied_and_those_that_no_longer_are_are_told_apart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'eis.db'}"
    settings: dict[str, Any] = {"database": SecretStr(url)}
    config = Config(rules=ROOT / "rules", **settings)
    with opened(url) as engine:
        upgrade(engine)
        files = sorted(file for file in (ROOT / "fixtures" / "be").iterdir() if file.is_file())
        total(Gateway(config, Store(engine)).inbound.take(files, "test"))
        periods = select(access_point.c.identifier, supply_period.c.ended_at).join(
            access_point, access_point.c.id == supply_period.c.access_point_id
        )
        with engine.connect() as connection:
            rows = connection.execute(periods).all()
    known = {row.identifier for row in rows}
    goes_on = {row.identifier for row in rows if row.ended_at is None}
    house = House(config, docs=ROOT / "docs", now=lambda: datetime(2030, 1, 1, tzinfo=UTC))

    def told(question: str) -> set[str]:
        reply = house.reply(question)
        assert reply is not None, question
        table = reply.answers[0].table
        return {row[-1] for row in table.rows} if table else set()

    assert goes_on
    assert known - goes_on
    assert told("Which Belgian points do we supply?") == goes_on
    assert told("Quels points belges ne sont plus fournis ?") == known - goes_on
    assert told("Welke Belgische aansluitingen leveren we niet meer?") == known - goes_on


def test_what_is_ruled_out_by_its_words_is_found_nowhere() -> None:
    """Of every known question the same is left when every turn of phrase is looked for, as when few of them are."""
    found = 0
    for file in sorted((ROOT / "assistant" / "evaluation" / "questions").glob("worked_*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            asked = json.loads(line).get("asked", {}) if line.startswith("{") else {}
            for question in (one for several in asked.values() for one in several):
                text = " ".join(tokens_of(question))
                for _, said, _ in turns():
                    if pattern_of(said).search(text):
                        assert may_stand_in(said, text), (said, question)
                        found += 1
    assert found > 100
