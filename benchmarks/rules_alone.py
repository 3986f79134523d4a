"""Rules alone: CPU time a message of the compiled engine and of durable-rules, with 60 and with 200 simple rules.

Example: python -m benchmarks.rules_alone --messages 5000
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

from benchmarks import table
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.durable import DurableEngine, DurableRulesMissing
from energycomm.engine.folder import load_catalogue
from energycomm.engine.parallel import ParallelEngine
from energycomm.engine.port import RuleEngine
from energycomm.kernel.history import History
from energycomm.kernel.messages import ContractTerms, KernelMessage

HEAD = "rule_set: validation_in\nmarket: FR\nrules:\n"
RULE = """  - code: fr-bench-{number}
    error_code: FR-{letter}{digits:02d}
    title: Rule {number}
    sentence: A simple rule of a benchmark.
    applies_to: [ContractTerms]
    {when}holds: {holds}
    field: tariff
    comment: {{en: "Rule {number}: {{tariff}}, {{subscribed_power}}", fr: "Règle {number} : {{tariff}}"}}
    source: benchmark
    examples:
      - passes: {{tariff: T1, subscribed_power: 6, sequence: 3, contract_status: in-service, calendar: A}}
      - fails: {{{fails}}}
"""

SHAPES: tuple[tuple[str, str, str], ...] = (
    ("", "subscribed_power <= {limit}", "subscribed_power: 99999"),
    ("", "sequence < {limit}", "sequence: 99999"),
    ("", "tariff != 'X{number}'", "tariff: X{number}"),
    ("contract_status == 'in-service'", "calendar not in ('P{number}', 'Q{number}')",
     "contract_status: in-service, calendar: P{number}"),
    ("history.supplied", "sequence >= 0 or tariff == 'Y{number}'",
     "sequence: -1, tariff: T1, history: {{supplied: true}}"),
    ("", "present(tariff) or sequence == {limit}", "sequence: 7"),
)  # fmt: skip
"""Scope, condition and failing example of the benchmark's rules, as templates."""


def catalogue_of(count: int) -> Catalogue:
    """A catalogue of some simple rules, all for one kind."""
    rules = []
    for number in range(count):
        when, holds, fails = (part.format(number=number, limit=1000 + number) for part in SHAPES[number % len(SHAPES)])
        scope = f"when: {when}\n    " if when else ""
        letter, digits = "ABC"[number // 100], number % 100
        rules.append(RULE.format(number=number, letter=letter, digits=digits, when=scope, holds=holds, fails=fails))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fr" / "bench.yaml"
        path.parent.mkdir()
        path.write_text(HEAD + "".join(rules), encoding="utf-8")
        return load_catalogue(Path(folder))


def messages_of(count: int, bad: float, seed: int = 1) -> list[KernelMessage]:
    """Messages of which a share violates one rule or two."""
    draw = random.Random(seed)
    begin = datetime.fromisoformat("2024-01-01T00:00:00+01:00")
    return [
        ContractTerms(
            market="FR",
            market_type="C15",
            reference=f"R{number}",
            created=begin + timedelta(days=number % 900),
            effective=begin + timedelta(days=number % 900),
            contract_status="in-service",
            tariff="X2" if draw.random() < bad else "BTINFCUST",
            subscribed_power=Decimal(draw.choice((3, 6, 9, 12))),
            sequence=draw.randrange(40),
            calendar="P3" if draw.random() < bad / 2 else "DI000002",
        )
        for number in range(count)
    ]


def microseconds(engine: RuleEngine, messages: Sequence[KernelMessage], rounds: int) -> float:
    """CPU microseconds a message: the best of some rounds."""
    history = History(supplied=True, known=True)
    engine.validate(messages[0], history)
    best = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        for message in messages:
            engine.validate(message, history)
        best = min(best, time.process_time() - begun)
    return best / len(messages) * 1e6


def compare(messages: int, bad: float, rounds: int) -> tuple[list[str], list[list[str]], bool]:
    """Head and rows of the table, and whether both engines judged alike.

    Args:
      messages: how many messages to judge.
      bad: share of them that violate a rule.
      rounds: the best of so many rounds counts.
    """
    judged = messages_of(messages, bad)
    head = ["rules", "parallel, us a message", "durable-rules, us a message", "times", "verdicts"]
    rows, alike = [], True
    for count in (60, 200):
        catalogue = catalogue_of(count)
        parallel = ParallelEngine(catalogue)
        one = microseconds(parallel, judged, rounds)
        try:
            durable = DurableEngine(catalogue)
        except DurableRulesMissing as missing:
            rows.append([str(count), f"{one:.1f}", str(missing), "-", "-"])
            continue
        history = History(supplied=True, known=True)
        same = all(parallel.judge(message, history) == durable.judge(message, history) for message in judged)
        alike = alike and same
        other = microseconds(durable, judged, rounds)
        rows.append([str(count), f"{one:.1f}", f"{other:.1f}", f"{other / one:.0f}", "equal" if same else "DIFFERENT"])
    return head, rows, alike


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bad", type=float, default=0.05, help="share of messages that violate a rule")
    asked = parser.parse_args()
    head, rows, alike = compare(asked.messages, asked.bad, asked.rounds)
    print("\n".join(table(head, rows)))
    return 0 if alike else 1


if __name__ == "__main__":
    sys.exit(main())
