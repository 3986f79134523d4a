"""Expressions are a safe, typed subset; absent values make conditions unknown, and unknown never violates."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.codes import CodeLists
from energycomm.engine.emission import Emitter
from energycomm.engine.expressions import ExpressionError, Scope, parse_condition
from energycomm.engine.interpretation import Context, is_false, is_true
from energycomm.engine.terms import reads
from energycomm.kernel.history import History
from energycomm.kernel.messages import ContractTerms
from tests.engine.build import terms


@pytest.fixture
def scope(small: Catalogue) -> Scope:
    """What rules on contract terms may name."""
    return Scope("ContractTerms", small.predicates)


def judged(text: str, scope: Scope, message: ContractTerms, history: History) -> bool | None:
    """True, false or unknown, by the generated code; the interpreter must say the same."""
    condition = parse_condition(text, scope)
    said = []
    for positive in (True, False):
        emitter = Emitter("FR", CodeLists())
        code = emitter.code(condition, positive=positive)
        names: dict[str, Any] = {**emitter.names, "message": message, "history": history}
        for name, read in emitter.locals.items():
            names[name] = eval(read, names)
        said.append(eval(code, names))
    context = Context(message, history, CodeLists())
    assert said == [is_true(condition, context), is_false(condition, context)]
    assert said != [True, True]
    return True if said[0] else False if said[1] else None


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "message.__class__",
        "tariff.__class__ == 'x'",
        "history.__class__ == 'x'",
        "tariff.upper() == 'X'",
        "open('x')",
        "(lambda: True)()",
        "[x for x in (1, 2)] == 1",
        "{x: 1 for x in (1, 2)} == 1",
        "f'{tariff}' == 'x'",
        "sequence ** 9 > 1",
        "sequence % 2 == 0",
        "sequence // 2 == 0",
        "sequence << 3 > 1",
        "'a' * 999999999 == tariff",
        "tariff[0] == 'B'",
        "(tariff if known else 'x') == 'x'",
        "(x := tariff) == 'x'",
        "sequence",
        "sequence and tariff",
        "tariff == None",
        "tariff is 'x'",
        "tariff in 'abc'",
        "tariff in tariff",
        "'a' == b'a'",
        "sequence == 1j",
        "even(number=3)",
        "even(*tariff)",
        "even(tariff)",
        "even()",
        "even",
        "history",
        "history.registers.index",
        "present(1, 2)",
        "contract_start < effective",
        "reason < 'x'",
        "address.city == 'x'",
        "previous.index_wh > 1",
        "register.value > 1",
        "has_error(tariff)",
        "in_list(tariff, tariff)",
        "subscribed_power + 1 > history.known",
        "effective - created > 1",
        "(" * 300 + "True" + ")" * 300,
        "not " * 100 + "True",
        "tariff == '" + "x" * 3000 + "'",
        "",
        "True; False",
    ],
)
def test_what_is_not_allowed_is_refused_with_advice(text: str, scope: Scope) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse_condition(text, scope)
    assert refused.value.reason
    assert refused.value.advice


TRUE, FALSE, UNKNOWN = True, False, None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sequence == 3", TRUE),
        ("sequence != 3", FALSE),
        ("1 < sequence < 3", FALSE),
        ("1 < sequence <= 3", TRUE),
        ("subscribed_power <= 36", UNKNOWN),
        ("not subscribed_power <= 36", UNKNOWN),
        ("subscribed_power <= 36 or sequence == 3", TRUE),
        ("subscribed_power <= 36 and sequence == 4", FALSE),
        ("sequence == 4 and subscribed_power <= 36", FALSE),
        ("subscribed_power <= 36 or sequence == 4", UNKNOWN),
        ("subscribed_power <= 36 and sequence == 3", UNKNOWN),
        ("not (subscribed_power <= 36 or sequence == 3)", FALSE),
        ("present(subscribed_power)", FALSE),
        ("absent(subscribed_power)", TRUE),
        ("subscribed_power is None", TRUE),
        ("subscribed_power is not None and subscribed_power < 3", FALSE),
        ("subscribed_power in (3, 6)", UNKNOWN),
        ("subscribed_power not in (3, 6)", UNKNOWN),
        ("tariff in ('A', 'B')", TRUE),
        ("tariff not in ('A', 'B')", FALSE),
        ("tariff in ()", FALSE),
        ("history.subscribed_power == 0.1", TRUE),
        ("history.subscribed_power * 3 == 0.3", TRUE),
        ("history.contract_sequence + sequence > 0", UNKNOWN),
        ("-sequence == -3", TRUE),
        ("sequence / 2 == 1.5", TRUE),
        ("present(contract_start)", FALSE),
        ("contract_start == contract_start", UNKNOWN),
        ("effective <= created", TRUE),
        ("even(sequence)", FALSE),
        ("not even(sequence)", TRUE),
        ("even(history.contract_sequence)", UNKNOWN),
        ("half_of_even(sequence) > 0", UNKNOWN),
        ("half_of_even(sequence + 1) == 2", TRUE),
        ("present(half_of_even(sequence))", FALSE),
        ("even(half_of_even(sequence))", UNKNOWN),
        ("stated(calendar) == '-'", TRUE),
        ("stated(tariff) == 'A'", TRUE),
        ("of_type('C15')", TRUE),
        ("history.supplied", FALSE),
        ("not history.supplied", TRUE),
        ("history.supplied == False", TRUE),
    ],
)
def test_conditions_are_judged_in_three_values(text: str, expected: bool | None, scope: Scope) -> None:
    message = terms(sequence=3, tariff="A")
    assert judged(text, scope, message, History(subscribed_power=Decimal("0.1"))) is expected


def test_the_fields_and_facts_that_a_condition_reads_are_told(scope: Scope) -> None:
    condition = parse_condition("tariff == 'A' and history.known and not even(sequence) or tariff == 'B'", scope)
    assert reads(condition) == ("tariff", "history.known", "sequence")


def test_advice_names_what_was_perhaps_meant(scope: Scope) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse_condition("subscribed_powr < 3", scope)
    assert "subscribed_power" in refused.value.advice
    with pytest.raises(ExpressionError) as refused:
        parse_condition("register.value < 3", Scope("MeterReading"))
    assert refused.value.advice == "Add `each: registers` to the rule."
