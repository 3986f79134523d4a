"""Builds a data set: judged messages of the EIS and of simulated lives, and messages made around each rule's condition.

Examples are drawn so that common codes do not drown rare ones; what is drawn depends on messages and seed alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from assistant.classifier.material import Case, Origin, Stored, cases, stored_verdicts
from assistant.classifier.port import LEAST_ACCEPTED, Card, Example, Split, flow_of
from assistant.classifier.serialisation import Serialiser
from assistant.classifier.splits import Splitter, splitter
from assistant.classifier.variation import Variations, judging
from energycomm.eis.store import Store
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.port import RuleEngine
from energycomm.kernel.instants import instant
from energycomm.market.installed import Markets

Told = Callable[[str], None]


MOST_REFUSED = 6
"""Refused messages of a flow to learn from, for each accepted one."""


@dataclass(frozen=True)
class Amounts:
    """How many examples are wanted.

    Attributes:
      per_code: with one error code, of all splits together.
      accepted: accepted ones of one market and kind.
      near: made around a rule's condition and not violating it, for each rule.
      seed: of all chance.
    """

    per_code: int = 100
    accepted: int = 250
    near: int = 12
    seed: int = 1


@dataclass
class Collected:
    """Examples on their way into a data set."""

    examples: list[Example] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    sources: list[dict[str, Any]] = field(default_factory=list)


class Builder:
    """Collects examples from stores, then around rules.

    Args:
      catalogue: the rules.
      engine: the same rules.
      markets: the installed ones.
      serialiser: writes messages out.
      amounts: how many are wanted.
      told: is told what is being done.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        engine: RuleEngine,
        markets: Markets,
        serialiser: Serialiser,
        amounts: Amounts,
        told: Told = lambda _: None,
    ) -> None:
        self.catalogue, self.engine, self.markets, self.serialiser = catalogue, engine, markets, serialiser
        self.amounts, self.told = amounts, told
        self.collected = Collected()
        self._carriers: list[Case] = []
        self._drawn: Counter[str] = Counter()
        self._splitter: Splitter | None = None
        self._held_out = serialiser.reader.left_out

    def take(self, sources: Mapping[Origin, AbstractContextManager[Store]]) -> None:
        """Draw examples from stores; the months that are kept are the latest of all of them together."""
        with ExitStack() as stack:
            opened = {origin: stack.enter_context(source) for origin, source in sources.items()}
            stored = {origin: stored_verdicts(store) for origin, store in opened.items()}
            self._splitter = splitter([one.effective for found, _ in stored.values() for one in found])
            for origin, (found, left) in stored.items():
                self.collected.left_out.update(left)
                self.collected.sources.append({"origin": origin, "messages": len(found)})
                wanted = self._draw(found)
                self.told(f"{origin}: {len(found)} judged messages, {len(wanted)} drawn")
                for case in cases(opened[origin], self.engine, self.markets, wanted):
                    self._keep(replace(case, origin=origin))

    def vary(self) -> None:
        """Make examples around every rule that has not enough, from the accepted messages that were drawn."""
        variations = Variations(self.catalogue, self.engine, self._carriers, self.amounts.seed)
        for rule in judging(self.catalogue):
            missing = max(0, self.amounts.per_code - self._drawn[rule.error_code])
            made = 0
            for case in variations.around(rule, missing, self.amounts.near):
                self._keep(case)
                made += rule.error_code in case.stored.codes
            if missing and not made:
                self.told(f"{rule.error_code}: no message that violates it could be made")

    def result(self, made: dict[str, Any]) -> tuple[Card, list[Example]]:
        """The card and the examples, in an order that depends on nothing but them."""
        examples = balanced(sorted(self.collected.examples, key=lambda one: _order(one.id)))
        flows = {flow_of(one.text()): 0 for one in examples}
        flows |= Counter(flow_of(one.text()) for one in examples if one.split == "train" and not one.codes)
        codes = Counter(code for one in examples for code in one.codes)
        counts: Counter[str] = Counter(one.split for one in examples)
        templates = {
            rule.error_code: rule.comment["en"].text for rule in judging(self.catalogue) if "en" in rule.comment
        }
        from_month = self._splitter.months_from if self._splitter else None
        card = Card(
            rules_versions=tuple(sorted({one.rules_version for one in examples})),
            codes=dict(sorted(codes.items())),
            counts=dict(counts),
            tokens=self.serialiser.budget,
            comments=templates,
            made={
                **made,
                "sources": self.collected.sources,
                "left_out": dict(self.collected.left_out),
                "months_from": from_month.date().isoformat() if from_month else None,
                "origins": dict(Counter(one.origin for one in examples)),
                "markets": dict(Counter(one.market for one in examples)),
                "classes": dict(Counter(one.klass for one in examples)),
                "no_example": sorted(set(templates) - set(codes)),
                "held_out": sorted(self._held_out),
            },
            flows=dict(sorted(flows.items())),
        )
        return card, examples

    def _draw(self, stored: Sequence[Stored]) -> list[Stored]:
        """Messages in an order by hash; refused ones while any of their codes is wanted, accepted ones by kind."""
        accepted: Counter[tuple[str, str]] = Counter()
        drawn: list[Stored] = []
        for one in sorted(stored, key=lambda one: _order(f"{self.amounts.seed} {one.market} {one.id}")):
            if one.codes:
                if any(self._drawn[code] < self.amounts.per_code for code in one.codes):
                    self._drawn.update(one.codes)
                    drawn.append(one)
            elif accepted[one.market, one.kind] < self.amounts.accepted:
                accepted[one.market, one.kind] += 1
                drawn.append(one)
        return drawn

    def _keep(self, case: Case) -> None:
        number = len(self.collected.examples) + 1
        if not case.stored.codes and case.origin != "rule":
            self._carriers.append(case)
        identifier = f"{case.origin}-{case.stored.id}" + (f"-{number}" if case.origin == "rule" else "")
        assert self._splitter is not None
        split = self._splitter.split(case.access_point, case.message.effective)
        if split in ("train", "valid") and self._held_out & set(case.stored.codes):
            return  # no model may be told of a rule that is held out
        if split != self._splitter.split(case.access_point, instant(case.stored.effective)):
            return  # made of a message of a kept month, or moved into one: it would leak, or make the month a fiction
        if case.origin == "rule":
            self._drawn.update(case.stored.codes)
        self.collected.examples.append(example_of(case, self.serialiser, identifier, split))


def example_of(case: Case, serialiser: Serialiser, identifier: str, split: Split = "train") -> Example:
    """A judged message as an example."""
    message, history = case.message, case.history
    sentences = [
        serialiser.masked(case.comments[code], message, history) for code in case.stored.codes if code in case.comments
    ]
    return Example(
        id=identifier,
        market=message.market,
        kind=type(message).__name__,
        access_point=case.access_point,
        at=message.effective.astimezone(instant(0).tzinfo).isoformat().replace("+00:00", "Z"),
        codes=case.stored.codes,
        comment=" ".join(sentences),
        forms=serialiser.forms(message, history, case.earlier),
        values=serialiser.values(message, history),
        history_length=case.length,
        rules_version=case.stored.rules_version,
        split=split,
        origin=case.origin,
    )


def balanced(examples: Iterable[Example]) -> list[Example]:
    """The examples without those refused ones of a flow that would make a model believe that the flow is refused.

    Args:
      examples: in an order by chance; the first ones stay. What is kept for measuring stays whole.
    """
    found = list(examples)
    accepted = Counter(flow_of(one.text()) for one in found if one.split == "train" and not one.codes)
    refused: Counter[str] = Counter()
    kept = []
    for one in found:
        flow = flow_of(one.text())
        if one.split == "train" and one.codes:
            refused[flow] += 1
            if refused[flow] > MOST_REFUSED * max(accepted[flow], LEAST_ACCEPTED):
                continue
        kept.append(one)
    return kept


def _order(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
