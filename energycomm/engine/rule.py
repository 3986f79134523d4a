"""A rule, after its file was read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as kept
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, get_args

from energycomm.kernel.verdicts import ErrorClass, Severity

if TYPE_CHECKING:
    from energycomm.engine.terms import Condition, Value
    from energycomm.kernel.history import History
    from energycomm.kernel.messages import KernelMessage

RuleSet = Literal[
    "validation_in", "qualification_in", "rejection_in", "validation_out", "qualification_out", "rejection_out"
]
RULE_SETS: tuple[RuleSet, ...] = get_args(RuleSet)

RULE_ORDERS = {"code": "error_code", "rule": "title", "market": "market", "set": "rule_set", "severity": "severity"}
"""What rules are sorted by -> their attribute."""

Judged = Literal["passes", "fails"]

Language = Literal["en", "fr"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


@dataclass(frozen=True)
class Template:
    """A comment with values in it.

    Attributes:
      text: the template as written.
      pieces: literal texts, one more than the values.
      values: what stands between them, per message kind.
      counted: for each value the words for one and for several that follow it, where it counts something.
    """

    text: str
    pieces: tuple[str, ...]
    values: Mapping[str, tuple[Value, ...]]
    counted: tuple[tuple[str, str] | None, ...]


@dataclass(frozen=True)
class Example:
    """A message with its history, and the verdict that a rule must reach.

    Attributes:
      judged: what the rule says of it: ``passes`` or ``fails`` (for an action rule: it does not apply, it applies).
      content: the fields that the example states, as written.
      message: the whole message, other required fields filled neutrally.
      history: the facts.
      errors: error codes the message was rejected with, for rejection rules.
      line: line in the file.
    """

    judged: Judged
    content: Mapping[str, Any]
    message: KernelMessage
    history: History
    errors: frozenset[str]
    line: int


@dataclass(frozen=True)
class Rule:
    """One rule of one rule set, in force between two days.

    Attributes:
      code: identifier of the rule, kebab case with the market in front.
      error_code: stable code that operators and the market see; empty for action rules.
      title, sentence: the rule in a few words and in one sentence.
      rule_set: the set it belongs to.
      market: market of its file, ``FR``, or ``common``.
      pack: pack of common rules that it belongs to; empty: every market has it.
      markets: markets it judges; empty: all.
      applies_to: message kinds it judges.
      each: list field whose items it judges one by one.
      when, holds, violated_when: the expressions as written.
      field: what a finding points at.
      comment: templates by language.
      severity, error_class: as findings carry them.
      ebix: the ebIX reason code of the same mistake.
      market_code: the market's own error code of it, of the list that the market names.
      repair: names of correction scripts that are made for what it refuses.
      since, until: first and last day (inclusive) on which it is in force, by the message's effective day.
      source: where the market says so.
      do, notify, wait: what an action rule asks for.
      triggers: kind -> the condition that makes the rule speak: in scope and violated, or for an action rule in scope.
      conditions: kind -> (scope, violation) of that condition, for those who explain.
      pointed: kind -> the value at `field`.
      examples: its examples.
      file, line: where it stands.
    """

    code: str
    rule_set: RuleSet
    market: str
    title: str
    sentence: str
    source: str
    applies_to: tuple[str, ...]
    pack: str = ""
    markets: tuple[str, ...] = ()
    error_code: str = ""
    each: str | None = None
    when: str | None = None
    holds: str | None = None
    violated_when: str | None = None
    field: str = ""
    comment: Mapping[Language, Template] = kept(default_factory=dict)
    severity: Severity = "error"
    error_class: ErrorClass = "grid_operator"
    ebix: str | None = None
    market_code: str | None = None
    repair: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    do: tuple[str, ...] = ()
    notify: str | None = None
    wait: str | None = None
    triggers: Mapping[str, Condition] = kept(default_factory=dict)
    conditions: Mapping[str, tuple[Condition, Condition]] = kept(default_factory=dict)
    pointed: Mapping[str, Value] = kept(default_factory=dict)
    examples: tuple[Example, ...] = ()
    file: str = ""
    line: int = 0

    @property
    def judges(self) -> bool:
        """Whether it is a validation rule, not one that asks for actions."""
        return self.rule_set.startswith("validation")

    def named(self, code: str) -> bool:
        """Whether a code is one of its own: code, error code, that of the market, the ebIX reason."""
        return bool(code) and code.upper() in (
            name.upper() for name in (self.code, self.error_code, self.market_code, self.ebix) if name
        )

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the fields and facts that its conditions read, as rules write them."""
        # Who only looks a rule up needs no conditions, and these take long to import.
        from energycomm.engine.terms import reads

        found: dict[str, None] = {}
        for condition in self.triggers.values():
            found.update(dict.fromkeys(reads(condition)))
        return tuple(found)

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts of history among what it reads: ``history.known``, ``previous.index_wh``."""
        return tuple(name for name in self.reads if name.startswith(("history.", "previous.")))

    def calls(self) -> tuple[str, ...]:
        """Names of the declared predicates that its conditions call."""
        from energycomm.engine.terms import Call, children

        found: dict[str, None] = {}
        stack: list[Any] = list(self.triggers.values())
        while stack:
            term = stack.pop()
            if isinstance(term, Call):
                found[term.predicate.name] = None
            stack.extend(children(term))
        return tuple(sorted(found))

    @property
    def complete(self) -> bool:
        """Whether everything needed to judge was read: a rule of a broken file may lack parts."""
        kinds = set(self.applies_to)
        if not kinds or kinds != set(self.triggers):
            return False
        told = len(self.comment) == len(LANGUAGES) and all(
            len(values) == len(template.pieces) - 1
            for template in self.comment.values()
            for values in template.values.values()
        )
        return not self.judges or (told and kinds == set(self.pointed))

    def in_force(self, day: date) -> bool:
        """Whether the rule is in force on the day."""
        return (self.since is None or self.since <= day) and (self.until is None or day <= self.until)

    def judges_market(self, market: str) -> bool:
        """Whether the rule judges messages of the market."""
        return not self.markets or market in self.markets
