"""All rules always run; a verdict lists every error with its comment; actions follow from it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.compiling import MOST_REMEMBERED
from energycomm.engine.parallel import ParallelEngine
from energycomm.engine.port import EngineFault
from energycomm.engine.trace import trace
from energycomm.kernel.history import NO_HISTORY, History, RegisterFacts
from energycomm.kernel.requests import MasterDataRequest
from tests.engine.build import HEAD, reading, register, terms

C5 = History(segment="C5", subscribed_power=Decimal("9.50"), contract_sequence=4)


def test_a_message_collects_every_error_in_the_order_of_the_codes(engine: ParallelEngine) -> None:
    message = terms(subscribed_power=Decimal(40), tariff="T9", sequence=3, sender=None)
    verdict = engine.judge(message, C5)
    assert verdict.label == "rejected"
    assert [finding.error_code for finding in verdict.findings] == ["CO-E01", "FR-C01", "FR-C02", "FR-C03"]


def test_a_comment_shows_the_values_that_were_read_in_both_languages(engine: ParallelEngine) -> None:
    (finding,) = engine.validate(terms(subscribed_power=Decimal("36.5")), C5).findings
    assert finding.comment == "Power 36.5 kVA of tariff (absent), before 9.50."
    assert finding.comment_fr == "Puissance 36,5 kVA au tarif (absent), avant 9,50."
    assert (finding.field, finding.value, finding.rule) == ("subscribed_power", "36.5", "fr-power-at-most-36")


def test_an_absent_value_rejects_nothing(engine: ParallelEngine) -> None:
    assert engine.validate(terms(), C5).findings == ()


def test_each_register_is_judged_against_its_own_facts(engine: ParallelEngine) -> None:
    facts = (RegisterFacts(index_wh=1), RegisterFacts(index_wh=90_001), RegisterFacts(index_wh=5_000))
    message = reading(register(9), register(90, "HC"), register(4, "X"))
    found = engine.validate(message, History(registers=facts)).findings
    assert [(finding.error_code, finding.field, finding.value) for finding in found] == [
        ("FR-R01", "registers[2].value", "90"),
        ("FR-R01", "registers[3].value", "4"),
    ]
    assert found[0].comment == "Index 90 kWh of HC after 90001 Wh."


def test_items_are_sorted_by_number_and_not_as_text(engine: ParallelEngine) -> None:
    registers = [register(0) for _ in range(12)]
    history = History(registers=tuple(RegisterFacts(index_wh=9) for _ in registers))
    fields = [finding.field for finding in engine.validate(reading(*registers), history).findings]
    assert fields == [f"registers[{number}].value" for number in range(1, 13)]


def test_what_rules_say_of_codes_is_right_however_many_codes_there_are(shipped: Catalogue) -> None:
    """What rules that read nothing but codes said is remembered, of so many combinations; the trace asks each anew."""
    engine = ParallelEngine(shipped)
    codes = [f"S{number}" for number in range(MOST_REMEMBERED + 3)]
    messages = [reading(register(9, code), register(9), sender=code, calendar="DN999999") for code in codes]
    for message in messages:
        engine.validate(message, NO_HISTORY)
    wrong = {("fr-sender-eic", "sender"), ("fr-supplier-time-class-known", "registers[1].time_class")}
    for message, expected in (
        (messages[0], wrong),
        (messages[-1], wrong),
        (reading(register(9), sender="ERDF"), set()),
    ):
        found = {(finding.rule, finding.field) for finding in engine.validate(message, NO_HISTORY).findings}
        assert found & wrong == expected
        runs = trace(shipped, message, NO_HISTORY)
        assert {rule for rule, _ in found} == {run.rule.code for run in runs if run.outcome == "violated"}


def test_a_register_without_facts_is_not_judged_by_them(engine: ParallelEngine) -> None:
    history = History(registers=(RegisterFacts(index_wh=1),))
    assert engine.validate(reading(register(1), register(0)), history).findings == ()


def test_a_rule_that_breaks_harms_no_other_and_gives_engine_error(engine: ParallelEngine) -> None:
    message = reading(register(0), meter="BOOM")
    history = History(registers=(RegisterFacts(index_wh=9),), supplied_until=True)
    judgement = engine.validate(message, history)
    assert [finding.error_code for finding in judgement.findings] == ["FR-R01"]
    assert judgement.fault == "rule common-breaks raised ValueError: cannot judge BOOM"
    verdict = engine.judge(message, history)
    assert (verdict.label, verdict.actions) == ("engine_error", ())
    assert verdict.fault == judgement.fault


def test_an_action_rule_that_breaks_gives_engine_error_and_no_action(engine: ParallelEngine) -> None:
    message = terms(calendar="BOOM")
    with pytest.raises(EngineFault, match="fr-contract raised ValueError"):
        engine.qualify(message, NO_HISTORY)
    verdict = engine.judge(message, NO_HISTORY)
    assert (verdict.label, verdict.actions) == ("engine_error", ())


def test_warnings_are_told_and_never_reject(engine: ParallelEngine) -> None:
    verdict = engine.judge(terms(sender=None), NO_HISTORY)
    assert verdict.label == "accepted"
    assert [(finding.error_code, finding.severity) for finding in verdict.findings] == [("CO-E01", "warning")]
    assert [action.verb for action in verdict.actions] == ["store"]


def test_actions_are_asked_for_once_and_in_the_order_of_the_verbs(engine: ParallelEngine) -> None:
    verdict = engine.judge(reading(register(1)), History(supplied_until=True))
    assert verdict.label == "accepted"
    assert [(action.verb, action.argument, action.rule) for action in verdict.actions] == [
        ("store-meter", None, "fr-store-reading"),
        ("store-reading", None, "fr-store-reading"),
        ("notify", "reading", "fr-store-reading"),
    ]


def test_a_message_that_waits_does_nothing_else(engine: ParallelEngine) -> None:
    verdict = engine.judge(reading(register(1)), NO_HISTORY)
    assert (verdict.label, verdict.waits_for) == ("quarantined", "start of supply")
    assert [action.verb for action in verdict.actions] == ["wait"]


def test_rejection_rules_may_ask_for_the_errors(engine: ParallelEngine) -> None:
    back = engine.judge(reading(register(0)), History(registers=(RegisterFacts(index_wh=9),)))
    assert [action.argument for action in back.actions] == ["index-went-back", "rejected"]
    other = engine.judge(reading(register(0, "X"), calendar="A"), NO_HISTORY)
    assert (other.label, [action.argument for action in other.actions]) == ("rejected", ["rejected"])


@pytest.mark.parametrize(
    ("effective", "sequence", "codes"),
    [
        ("2023-12-31T23:59:59+01:00", 4, ["FR-C03"]),
        ("2023-12-31T23:59:59+01:00", 5, []),
        ("2024-01-01T00:00:00+01:00", 4, []),
        ("2024-01-01T00:00:00+01:00", 3, ["FR-C03"]),
        ("2023-12-31T23:30:00+00:00", 4, ["FR-C03"]),
    ],
)
def test_the_rule_in_force_is_chosen_by_the_messages_civil_day(
    engine: ParallelEngine, effective: str, sequence: int, codes: list[str]
) -> None:
    message = terms(effective=datetime.fromisoformat(effective), sequence=sequence)
    assert [finding.error_code for finding in engine.validate(message, C5).findings] == codes


def test_outgoing_kinds_meet_the_outgoing_rules(engine: ParallelEngine) -> None:
    verdict = engine.judge(MasterDataRequest(**HEAD, consent=False), NO_HISTORY)
    assert [finding.error_code for finding in verdict.findings] == ["FR-U01"]
    assert verdict.findings[0].comment == "Consent: no."
    assert engine.judge(MasterDataRequest(**HEAD, consent=True), NO_HISTORY).label == "accepted"


def test_rules_of_another_market_do_not_run(engine: ParallelEngine) -> None:
    message = terms(market="NL", subscribed_power=Decimal(40), sender=None)
    assert [finding.error_code for finding in engine.validate(message, C5).findings] == ["CO-E01"]


def test_a_rule_says_what_it_reads(small: Catalogue) -> None:
    (rule,) = small.find("FR-R01")
    assert rule.facts == ("previous.meter_changed", "previous.index_wh")
    assert rule.reads == ("previous.meter_changed", "register.rollover", "register.value", "previous.index_wh")


def test_a_trace_tells_of_every_rule_what_it_read_and_said(small: Catalogue) -> None:
    message = reading(register(9), register(1), meter="BOOM", sender=None)
    history = History(registers=(RegisterFacts(index_wh=9_001),))
    runs = {(run.rule.code, run.item): run for run in trace(small, message, history)}
    assert runs["common-sender-named", None].outcome == "violated"
    assert runs["common-breaks", None].outcome == "raised"
    assert runs["common-breaks", None].error == "ValueError: cannot judge BOOM"
    assert runs["fr-index-not-back", 1].outcome == "violated"
    assert runs["fr-index-not-back", 1].read["previous.index_wh"] == 9_001
    assert runs["fr-index-not-back", 2].outcome == "unknown"
    assert runs["fr-reading-is-plausible", None].outcome == "out-of-scope"
    assert runs["fr-class-known", 1].outcome == "holds"
    assert [run.outcome for run in trace(small, message, history, "qualification")] == ["applies"] * 3


@pytest.mark.thorough
def test_a_trace_finds_what_the_engine_finds(shipped: Catalogue) -> None:
    engine = ParallelEngine(shipped)
    for rule in shipped.rules:
        for example in rule.examples:
            found = {finding.error_code for finding in engine.validate(example.message, example.history).findings}
            runs = trace(shipped, example.message, example.history)
            assert found == {run.rule.error_code for run in runs if run.outcome == "violated"}
