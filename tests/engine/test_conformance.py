"""Both engines give the same verdict on every example and generated message; how much of it the second decides."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.durable import DurableEngine, Translation
from energycomm.engine.interpretation import contexts, is_true
from energycomm.engine.parallel import ParallelEngine
from energycomm.engine.port import actions_of
from energycomm.engine.terms import Comparison, Condition, Constant, Membership, Not, Presence, Read
from energycomm.engine.valuetypes import one
from energycomm.kernel.family import KINDS
from energycomm.kernel.history import NO_HISTORY, History
from energycomm.kernel.messages import ContractTerms, KernelMessage, MeterReading
from energycomm.kernel.requests import MasterDataRequest
from tests.engine.build import reading, register, terms
from tests.engine.generated import histories, messages
from tests.machine import needs_durable_rules

Pair = tuple[ParallelEngine, DurableEngine]
DECIDED = 0.68
"""Share of the tests in the shipped rules that the core of durable-rules decides; measured: 2 252 of 3 300."""
UNDECIDED = 0.29
"""Share of the rules, each counted for every kind, of which it decides nothing; measured: 379 of 1 338."""


def both(catalogue: Catalogue) -> Pair:
    needs_durable_rules()
    return ParallelEngine(catalogue), DurableEngine(catalogue)


@pytest.fixture(scope="module")
def small_pair(small: Catalogue) -> Pair:
    return both(small)


@pytest.fixture(scope="module")
def shipped_pair(shipped: Catalogue) -> Pair:
    return both(shipped)


@pytest.mark.thorough
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


@pytest.mark.thorough
@settings(max_examples=400, deadline=None)
@given(message=messages(MeterReading, ContractTerms, MasterDataRequest), history=histories())
def test_both_engines_agree_on_generated_messages(small_pair: Pair, message: KernelMessage, history: History) -> None:
    parallel, durable = small_pair
    assert parallel.judge(message, history) == durable.judge(message, history)


@pytest.mark.thorough
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data(), history=histories())
def test_both_engines_agree_on_the_shipped_rules(shipped_pair: Pair, data: st.DataObject, history: History) -> None:
    kind = data.draw(
        st.sampled_from(sorted({kind for rule in shipped_pair[0].catalogue.rules for kind in rule.applies_to}))
    )
    message = data.draw(messages(KINDS[kind]))
    one, other = (engine.judge(message, history) for engine in shipped_pair)
    assert one == other


@pytest.mark.thorough
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data(), history=histories(), market=st.sampled_from(["FR", "NL", "BE"]))
def test_compiled_rules_agree_with_their_interpretation(
    shipped: Catalogue, data: st.DataObject, history: History, market: str
) -> None:
    """`interpretation` judges each condition alone, without the code that is written for all rules together."""
    engine = ParallelEngine(shipped)
    kind = data.draw(st.sampled_from(sorted({kind for rule in shipped.rules for kind in rule.applies_to})))
    message = structs.replace(data.draw(messages(KINDS[kind])), market=market)
    judged = engine.validate(message, history)
    found, broke = Counter[str](), set[str]()
    for rule in engine.compiled("validation", message).rules:
        for _, context in contexts(message, history, shipped.codes, frozenset(), rule.each):
            try:
                found[rule.error_code or ""] += is_true(rule.triggers[kind], context)
            except Exception as error:
                broke.add(f"rule {rule.code} raised {type(error).__name__}: {error}")
    assert Counter(finding.error_code for finding in judged.findings) == +found
    assert judged.fault == ("; ".join(sorted(broke)) or None)
    errors = [finding for finding in judged.findings if finding.severity == "error"]
    codes = frozenset(finding.error_code for finding in errors)
    for stage, asked, known in (
        ("qualification", engine.qualify(message, history), frozenset[str]()),
        ("rejection", engine.reject(message, history, errors), codes),
    ):
        speaking = [
            rule
            for rule in engine.compiled(stage, message).rules
            for _, context in contexts(message, history, shipped.codes, known, rule.each)
            if is_true(rule.triggers[kind], context)
        ]
        assert asked == actions_of(speaking)


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


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
PARIS, NOON = timezone(timedelta(hours=1)), datetime(2024, 1, 1, 12, tzinfo=UTC)
VALUES: dict[str, tuple[str, list[Any]]] = {
    "int": ("sequence", [None, -1, 0, 7, 2**53, 2**53 + 1, -(2**60), 2**63 - 1, 2**63, -(2**70), 2**70]),
    "decimal": (
        "subscribed_power",
        [None, *map(Decimal, ("-0.5", "0", "0.5", "0.50", "36", "36.000001", "36.0000001", "1E+30"))],
    ),
    "str": ("tariff", [None, "", "T", "T1", "é", 'T"', "a\\b", "null", "7"]),
    "date": ("contract_start", [None, date(2024, 2, 29), date(2024, 3, 1), date.min, date.max]),
    "datetime": (
        "effective",
        [NOON, NOON.astimezone(PARIS), NOON + timedelta(microseconds=1), NOON.replace(year=9000)],
    ),
}
"""Type -> a field of contract terms and values of it: equal in another form, near to one another, beyond 64 bits."""
OTHERS = {
    "int": ("history", "contract_sequence"),
    "decimal": ("history", "subscribed_power"),
    "str": ("history", "tariff"),
    "date": ("sequence_start",),
    "datetime": ("created",),
}
"""Type -> a second value of it."""


@pytest.mark.parametrize("base", VALUES)
def test_durable_rules_compares_values_as_arithmetic_does(small: Catalogue, base: str) -> None:
    name, values = VALUES[base]
    left = Read((name,), name, one(base, optional=True))
    right = Read(OTHERS[base], ".".join(OTHERS[base]), one(base, optional=True))
    signs = ("==", "!=") if base == "str" else tuple(OPERATORS)
    (model,) = small.find("FR-C02")
    conditions: dict[str, Condition] = {"present": Presence(left), "absent": Not(Presence(left))}
    expected: dict[str, Callable[[Any, Any], bool]] = {
        "present": lambda one, _: one is not None,
        "absent": lambda one, _: one is None,
    }

    def expect(key: str, condition: Any, test: Callable[[Any, Any], bool], *needed: int) -> None:
        """Definitely true, and by its contrary definitely false, where the needed values are there."""
        conditions[key], conditions[f"not {key}"] = condition, Not(condition)
        expected[key] = lambda *both: all(both[n] is not None for n in needed) and test(*both)
        expected[f"not {key}"] = lambda *both: all(both[n] is not None for n in needed) and not test(*both)

    def against(sign: str, constant: Any) -> Callable[[Any, Any], bool]:
        return lambda x, _: OPERATORS[sign](x, constant)

    for sign in signs:
        expect(f"x {sign} y", Comparison(sign, left, right), OPERATORS[sign], 0, 1)
        for constant in values[1:4]:
            literal = Constant(constant, one(base))
            expect(f"x {sign} {constant!r}", Comparison(sign, left, literal), against(sign, constant), 0)
            expect(f"{constant!r} {sign} x", Comparison(sign, literal, left), against(_TURNED[sign], constant), 0)
    expect("x in", Membership(left, tuple(values[1:3])), lambda x, _: x in values[1:3], 0)
    rules = [
        replace(model, code=key, error_code=f"FR-X{number}", triggers={"ContractTerms": condition})
        for number, (key, condition) in enumerate(conditions.items())
    ]
    assert all(Translation(rule, "ContractTerms", 0).tests == {"decided": 1} for rule in rules)
    _, durable = both(replace(small, rules=tuple(rules)))
    names = {rule.error_code: rule.code for rule in rules}
    for x in values:
        for y in values:
            message = terms(**{name: x} | ({} if OTHERS[base][0] == "history" else {OTHERS[base][0]: y}))
            history = History(**{OTHERS[base][1]: y}) if OTHERS[base][0] == "history" else NO_HISTORY
            judged = durable.validate(message, history)
            assert judged.fault is None
            assert {names[finding.error_code] for finding in judged.findings} == {
                key for key, test in expected.items() if test(x, y)
            }, (x, y)


def test_the_core_decides_the_share_of_the_tests_that_it_decided_before(
    shipped: Catalogue, record_property: Callable[[str, object], None]
) -> None:
    """What a predicate answers and what a code list holds is the same code in both engines, so no engine checks it."""
    tests, rules = Counter[str](), Counter[str]()
    for rule in shipped.rules:
        for kind in rule.triggers:
            found = Translation(rule, kind, 0).tests
            tests += found
            rules["all" if found.keys() <= {"decided"} else "part" if found["decided"] else "none"] += 1
    record_property(
        "durable-rules",
        f"its core decides {tests['decided']} of {tests.total()} tests of the shipped rules; {tests['predicate']} are "
        f"the answer of a predicate, {tests['judged']} are judged before; of {rules.total()} rules by kind it decides "
        f"{rules['all']} alone, {rules['part']} in part, {rules['none']} not at all",
    )
    assert tests["decided"] / tests.total() >= DECIDED
    assert rules["none"] / rules.total() <= UNDECIDED
