"""The port of rules engines: `RuleEngine`, and the code that all engines share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.compiling import Compiled, Hit
from energycomm.engine.rule import Rule, RuleSet
from energycomm.engine.validity import Segments
from energycomm.kernel.family import is_incoming
from energycomm.kernel.history import History
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.tolerance import CURVE_TOLERANCE
from energycomm.kernel.verdicts import VERBS, Action, Finding, Verdict


class Judgement(NamedTuple):
    """The result of validation of a message.

    Attributes:
      findings: every violated rule, sorted by error code, field and item.
      fault: which rules broke and how; None when none did.
    """

    findings: tuple[Finding, ...]
    fault: str | None

    @property
    def accepted(self) -> bool:
        """Whether nothing of the severity error was found and no rule broke."""
        return self.fault is None and not any(finding.severity == "error" for finding in self.findings)


class EngineFault(Exception):
    """A rule that decides on actions broke; nothing may be done with the message."""


NO_ERRORS: frozenset[str] = frozenset()
NOTHING = Judgement((), None)


class RuleEngine(ABC):
    """Judges Kernel messages. Incoming kinds meet the ``*_in`` rule sets, outgoing kinds the ``*_out`` sets.

    Every rule always runs, whatever the others say. A rule that raises is named in the fault and harms no other.
    Comments are rendered for violated rules only.

    Args:
      catalogue: the rules. They are compiled on first use; an engine is safe to share once warm.
    """

    name: str
    """``parallel`` or ``durable-rules``."""
    curve_tolerance: Decimal = CURVE_TOLERANCE
    """Percent by which a curve may differ from the indexes of the same days: a setting."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.version = catalogue.version
        """Content version of the rules; verdicts name it."""
        self._segments: dict[tuple[str, type, str], Segments[Compiled]] = {}

    @abstractmethod
    def compile(self, rules: Sequence[Rule], kind: str, market: str) -> Compiled:
        """Make rules ready to judge messages of one kind and market."""

    def compiled(self, stage: str, message: KernelMessage) -> Compiled:
        """The compiled rules of a stage (validation, qualification, rejection) that are in force for a message."""
        segments = self._segments.get((stage, type(message), message.market)) or self._of_kind(stage, message)
        return segments.only or segments.on(message)

    def _of_kind(self, stage: str, message: KernelMessage) -> Segments[Compiled]:
        """The rules of a stage for the kind and market of a message, from now on at hand."""
        kind = type(message).__name__
        rule_set: RuleSet = f"{stage}_{'in' if is_incoming(kind) else 'out'}"  # type: ignore[assignment]
        rules = self.catalogue.rules_for(rule_set, message.market, kind)
        build = partial(self.compile, kind=kind, market=message.market)
        found = self._segments[stage, type(message), message.market] = Segments(rules, build)
        return found

    def validate(self, message: KernelMessage, history: History) -> Judgement:
        """Run all validation rules in force for the message (`Validate_in`, `Validate_out`)."""
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
        """The actions of the qualification rules, in the order of `VERBS`.

        Raises:
          EngineFault: a rule broke.
        """
        return self._act("qualification", message, history, NO_ERRORS)

    def reject(self, message: KernelMessage, history: History, errors: Sequence[Finding]) -> tuple[Action, ...]:
        """The actions of the rejection rules for a message with these findings.

        Raises:
          EngineFault: a rule broke.
        """
        return self._act("rejection", message, history, frozenset(error.error_code for error in errors))

    def _act(self, stage: str, message: KernelMessage, history: History, errors: frozenset[str]) -> tuple[Action, ...]:
        compiled = self.compiled(stage, message)
        hits: list[Hit] = []
        faults: list[tuple[int, Exception]] = []
        compiled.judge(message, history, errors, hits, faults)
        if faults:
            raise EngineFault(fault_of((compiled.rules[place].code, error) for place, error in faults) or "")
        if len(hits) > 1:
            hits.sort()  # the first rule that asks for something is named
        applied = tuple(dict.fromkeys([place for place, _ in hits]))
        actions = compiled.actions.get(applied)
        if actions is None:
            actions = compiled.actions[applied] = actions_of(compiled.rules[place] for place in applied)
        return actions

    def judge(self, message: KernelMessage, history: History) -> Verdict:
        """The Kernel's whole judgement (`Kernel_in`): validate, then qualify or reject.

        A ``wait`` action quarantines the message and nothing else is done with it. A rule that breaks gives
        ``engine_error``: neither accepted nor rejected.
        """
        findings, fault = self.validate(message, history)
        if fault is not None:
            return Verdict(label="engine_error", findings=findings, fault=fault)
        errors = [finding for finding in findings if finding.severity == "error"] if findings else ()
        try:
            if errors:
                return Verdict(label="rejected", findings=findings, actions=self.reject(message, history, errors))
            actions = self.qualify(message, history)
        except EngineFault as error:
            return Verdict(label="engine_error", findings=findings, fault=str(error))
        if actions and actions[-1].verb == "wait":
            waits = tuple(action for action in actions if action.verb == "wait")
            return Verdict(label="quarantined", findings=findings, actions=waits, waits_for=waits[0].argument)
        return Verdict(label="accepted", findings=findings, actions=actions)


_VERB_RANK = {verb: rank for rank, verb in enumerate(VERBS)}


def actions_of(rules: Iterable[Rule]) -> tuple[Action, ...]:
    """The actions of some rules, each once, in the order of `VERBS`, with the first rule that has each."""
    asked: dict[tuple[str, str | None], Action] = {}
    for rule in rules:
        for verb in rule.do:
            asked.setdefault((verb, None), Action(verb=verb, rule=rule.code))
        if rule.notify:
            asked.setdefault(("notify", rule.notify), Action(verb="notify", argument=rule.notify, rule=rule.code))
        if rule.wait:
            asked.setdefault(("wait", rule.wait), Action(verb="wait", argument=rule.wait, rule=rule.code))
    return tuple(sorted(asked.values(), key=lambda action: (_VERB_RANK[action.verb], action.argument or "")))


def sorted_findings(found: list[tuple[int, Finding]]) -> tuple[Finding, ...]:
    """Findings in the order of their error codes, then by field and item.

    Args:
      found: (index of the item, finding) pairs.
    """
    if len(found) > 1:
        found.sort(key=lambda pair: (pair[1].error_code, pair[0], pair[1].field, pair[1].rule))
    return tuple(finding for _, finding in found)


def fault_of(faults: Iterable[tuple[str, Exception]]) -> str | None:
    """One line that names every rule that broke, and how."""
    lines = dict.fromkeys(f"rule {code} raised {type(error).__name__}: {error}" for code, error in faults)
    return "; ".join(sorted(lines)) if lines else None
