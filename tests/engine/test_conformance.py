"""Both engines give the same verdict on every example and on generated messages: each is the other's oracle."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.durable import DurableEngine
from energycomm.engine.parallel import ParallelEngine
from energycomm.kernel.family import KINDS
from energycomm.kernel.history import NO_HISTORY, History
from energycomm.kernel.messages import ContractTerms, KernelMessage, MeterReading
from energycomm.kernel.requests import MasterDataRequest
from tests.engine.build import reading, register, terms
from tests.engine.generated import histories, messages
from tests.machine import needs_durable_rules

Pair = tuple[ParallelEngine, DurableEngine]


def both(catalogue: Catalogue) -> Pair:
    needs_durable_rules()
    return ParallelEngine(catalogue), DurableEngine(catalogue)


@pytest.fixture(scope="module")
def small_pair(small: Catalogue) -> Pair:
    return both(small)


@pytest.fixture(scope="module")
def shipped_pair(shipped: Catalogue) -> Pair:
    return both(shipped)


@pytest.mark.parametrize("which", ["small", "shipped"])
def test_both_engines_agree_on_every_example(which: str, request: pytest.FixtureRequest) -> None:
    parallel, durable = request.getfixturevalue(f"{which}_pair")
    judged = 0
    for rule in parallel.catalogue.rules:
        for example in rule.examples:
            one = parallel.judge(example.message, example.history)
            assert one == durable.judge(example.message, example.history), f"{rule.code}, line {example.line}"
            if rule.judges:
                found = rule.error_code in [finding.error_code for finding in one.findings]
                assert found == (example.judged == "fails")
            judged += 1
    assert judged > 20


@settings(max_examples=400, deadline=None)
@given(message=messages(MeterReading, ContractTerms, MasterDataRequest), history=histories())
def test_both_engines_agree_on_generated_messages(small_pair: Pair, message: KernelMessage, history: History) -> None:
    parallel, durable = small_pair
    assert parallel.judge(message, history) == durable.judge(message, history)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data(), history=histories())
def test_both_engines_agree_on_the_shipped_rules(shipped_pair: Pair, data: st.DataObject, history: History) -> None:
    kind = data.draw(
        st.sampled_from(sorted({kind for rule in shipped_pair[0].catalogue.rules for kind in rule.applies_to}))
    )
    message = data.draw(messages(KINDS[kind]))
    one, other = (engine.judge(message, history) for engine in shipped_pair)
    assert one == other


@pytest.mark.parametrize("make", [lambda n: reading(register(n)), lambda n: terms(sequence=n, tariff="T9")])
def test_durable_rules_keeps_nothing_of_the_messages_before(
    small_pair: Pair, make: Callable[[int], KernelMessage]
) -> None:
    parallel, durable = small_pair
    for number in range(500):
        message = make(number % 3)
        history = History(supplied_until=number % 2 == 0, contract_sequence=1)
        assert parallel.judge(message, history) == durable.judge(message, history)


@pytest.mark.parametrize(
    "message",
    [
        reading(register(1), meter="BOOM"),
        reading(register(1), meter="BOOM", sequence=7, maximum_power=9000),
        terms(calendar="BOOM"),
        terms(calendar="BOOM", tariff="T9"),
    ],
)
def test_both_engines_name_the_rule_that_broke(small_pair: Pair, message: KernelMessage) -> None:
    parallel, durable = small_pair
    verdict = parallel.judge(message, NO_HISTORY)
    assert verdict == durable.judge(message, NO_HISTORY)
    assert "BOOM" in str(verdict.fault) or verdict.label == "rejected"


@pytest.mark.parametrize("text", ['C"', "a\\b", "é’œ", "line\nbreak", "", "{}", "null", "1"])
def test_texts_of_any_letters_reach_both_engines_unharmed(small_pair: Pair, text: str) -> None:
    parallel, durable = small_pair
    for message in (reading(register(1, "X"), calendar=text, market_type=text or "-"), terms(tariff=text)):
        assert parallel.judge(message, NO_HISTORY) == durable.judge(message, NO_HISTORY)


def test_rule_sets_larger_than_the_core_holds_are_split(small: Catalogue) -> None:
    from dataclasses import replace

    (rule,) = small.find("FR-C02")
    many = tuple(
        replace(rule, code=f"fr-copy-{n}", error_code=f"FR-{chr(65 + n // 100)}{n % 100:02d}") for n in range(150)
    )
    parallel, durable = both(replace(small, rules=many))
    message = terms(tariff="T9")
    assert len(parallel.validate(message, NO_HISTORY).findings) == 150
    assert parallel.validate(message, NO_HISTORY) == durable.validate(message, NO_HISTORY)


def test_both_engines_name_the_same_version(small_pair: Pair, small: Catalogue) -> None:
    assert [engine.version for engine in small_pair] == [small.version] * 2
