"""The default engine: all rules of a set, compiled into one function per (rule set, market, kind, days of validity).

Every rule always runs, whatever the others say. A rule that raises is named in the fault and harms no other. Comments
are rendered for violated rules only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.compiling import Compiled, Hit, compile_rules
from energycomm.engine.port import EngineFault, Judgement, RuleEngine, actions_of, fault_of, sorted_findings
from energycomm.engine.rule import Rule, RuleSet
from energycomm.engine.validity import Segments
from energycomm.kernel.family import is_incoming
from energycomm.kernel.history import History
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Action, Finding

NO_ERRORS: frozenset[str] = frozenset()
NOTHING = Judgement((), None)


class ParallelEngine(RuleEngine):
    """Judges messages with the compiled rules of a catalogue. Compiles on first use; safe to share once warm."""

    name = "parallel"

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.version = catalogue.version
        self._segments: dict[tuple[str, type, str], Segments[Compiled]] = {}

    def compiled(self, stage: str, message: KernelMessage) -> Compiled:
        """The compiled rules of a stage (validation, qualification, rejection) that are in force for a message."""
        key = (stage, type(message), message.market)
        segments = self._segments.get(key)
        if segments is None:
            kind = type(message).__name__
            rule_set: RuleSet = f"{stage}_{'in' if is_incoming(kind) else 'out'}"  # type: ignore[assignment]
            rules = self.catalogue.rules_for(rule_set, message.market, kind)
            build = partial(compile_rules, kind=kind, market=message.market, codes=self.catalogue.codes)
            segments = self._segments[key] = Segments(rules, build)
        return segments.on(message)

    def rules_for(self, stage: str, message: KernelMessage) -> tuple[Rule, ...]:
        """The rules of a stage that run for a message."""
        return self.compiled(stage, message).rules

    def validate(self, message: KernelMessage, history: History) -> Judgement:
        """See `RuleEngine.validate`."""
        compiled = self.compiled("validation", message)
        hits: list[Hit] = []
        faults: list[tuple[int, Exception]] = []
        compiled.judge(message, history, NO_ERRORS, hits, faults)
        if not hits and not faults:
            return NOTHING
        found: list[tuple[int, Finding]] = []
        for position, index in hits:
            try:
                found.append((index or 0, compiled.reporters[position](message, history, index)))
            except Exception as error:  # a comment that cannot be rendered is a fault of its rule
                faults.append((position, error))
        return Judgement(
            sorted_findings(found), fault_of((compiled.rules[place].code, error) for place, error in faults)
        )

    def qualify(self, message: KernelMessage, history: History) -> tuple[Action, ...]:
        """See `RuleEngine.qualify`."""
        return self._act("qualification", message, history, NO_ERRORS)

    def reject(self, message: KernelMessage, history: History, errors: Sequence[Finding]) -> tuple[Action, ...]:
        """See `RuleEngine.reject`."""
        return self._act("rejection", message, history, frozenset(error.error_code for error in errors))

    def _act(self, stage: str, message: KernelMessage, history: History, errors: frozenset[str]) -> tuple[Action, ...]:
        compiled = self.compiled(stage, message)
        hits: list[Hit] = []
        faults: list[tuple[int, Exception]] = []
        compiled.judge(message, history, errors, hits, faults)
        if faults:
            raise EngineFault(fault_of((compiled.rules[place].code, error) for place, error in faults) or "")
        applied = tuple(dict.fromkeys(place for place, _ in hits))
        actions = compiled.actions.get(applied)
        if actions is None:
            actions = compiled.actions[applied] = actions_of(compiled.rules[place] for place in applied)
        return actions
