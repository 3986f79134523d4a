"""The default engine: all rules of a set, compiled into one function per (rule set, market, kind, days of validity)."""

from __future__ import annotations

from collections.abc import Sequence

from energycomm.engine.compiling import Compiled, compile_rules
from energycomm.engine.port import RuleEngine
from energycomm.engine.rule import Rule


class ParallelEngine(RuleEngine):
    """Judges messages with functions generated from the rules."""

    name = "parallel"

    def compile(self, rules: Sequence[Rule], kind: str, market: str) -> Compiled:
        """See `RuleEngine.compile`."""
        return compile_rules(rules, kind, market, self.catalogue.codes, self.catalogue.zone(market))
