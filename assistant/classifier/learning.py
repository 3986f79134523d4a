"""Teaching a model a rule that is new or was changed: what it judges is judged again, the rest is kept in mind.

A rule judges messages of some markets and kinds, its *places*. In its places every example is made anew under the rules
of today: the messages of the EIS are replayed through the Kernel, and messages are made just either side of the
condition of this rule and of every other rule there. Elsewhere nothing changed: the old data set is replayed as it is.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from assistant.classifier.dataset import example_of
from assistant.classifier.material import Case, Stored, cases, stored_verdicts
from assistant.classifier.notes import Note, notes_of
from assistant.classifier.port import Example
from assistant.classifier.serialisation import Serialiser
from assistant.classifier.splits import splitter
from assistant.classifier.variation import Variations, judging
from energycomm.eis.store import Store
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.port import RuleEngine
from energycomm.engine.rule import Rule
from energycomm.errors import UserError
from energycomm.kernel.history import History
from energycomm.kernel.instants import instant
from energycomm.kernel.messages import KernelMessage
from energycomm.market.installed import Markets

Place = tuple[str, str]
"""Market and kind."""


@dataclass(frozen=True)
class Amounts:
    """How many examples are made in the places of a new rule.

    Attributes:
      stored: messages of the EIS that are replayed, for each place.
      new: messages that violate the new rule, and as many near it that do not.
      others: messages around every other rule of the place, each side.
      kept: old examples of other places that are replayed.
      seed: of all chance.
    """

    stored: int = 150
    new: int = 120
    others: int = 12
    kept: int = 4000
    seed: int = 1


@dataclass(frozen=True)
class Lessons:
    """What a rule is taught with.

    Attributes:
      fresh: examples of its places under the rules of today.
      kept: old examples of other places.
      relabelled: stored messages whose verdict is another one now.
      notes: the rules as prompts tell them.
    """

    fresh: list[Example]
    kept: list[Example]
    relabelled: int
    notes: dict[str, Note]

    def split(self, *names: str) -> list[Example]:
        """Everything of the splits named."""
        return [one for one in (*self.fresh, *self.kept) if one.split in names]


def rules_named(catalogue: Catalogue, names: Iterable[str]) -> list[Rule]:
    """The rules of a model that are named by rule code or error code.

    Raises:
      UserError: there is no such rule of incoming messages with the severity error.
    """
    found: list[Rule] = []
    known = judging(catalogue)
    for name in names:
        chosen = [rule for rule in known if name in (rule.code, rule.error_code)]
        if not chosen:
            raise UserError(
                f"{name!r} is no rule that a model learns.",
                "Name a validation rule of incoming messages with the severity error: `energycomm rules list`.",
            )
        found += chosen
    return found


def places_of(rules: Iterable[Rule], markets: Sequence[str]) -> list[Place]:
    """Markets and kinds that rules judge, sorted."""
    return sorted(
        {
            (market, kind)
            for rule in rules
            for market in markets
            if rule.market in (market, "common") and rule.judges_market(market)
            for kind in rule.applies_to
        }
    )


class Teacher:
    """Makes the examples of places under a catalogue.

    Args:
      catalogue, engine: the rules of today.
      markets: the installed ones.
      store: messages to replay and to start from.
      amounts: how many.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        engine: RuleEngine,
        markets: Markets,
        store: Store,
        amounts: Amounts | None = None,
    ) -> None:
        self.catalogue, self.engine, self.markets, self.store = catalogue, engine, markets, store
        self.amounts = amounts or Amounts()
        self._serialiser = Serialiser(catalogue)
        self._draw = random.Random(f"learning {self.amounts.seed}")  # noqa: S311 - a sample, not a secret

    def lessons(self, rules: Sequence[Rule], old: Sequence[Example], markets: Sequence[str]) -> Lessons:
        """Everything that rules are taught with.

        Args:
          rules: the new and changed ones.
          old: the data set that the model was trained on.
          markets: markets of the model.
        """
        places = places_of(rules, markets)
        fresh, relabelled = self.fresh(places, {rule.code for rule in rules})
        elsewhere = [one for one in old if (one.market, one.kind) not in places and one.split in ("train", "valid")]
        kept = self._draw.sample(elsewhere, min(len(elsewhere), self.amounts.kept))
        return Lessons(fresh=fresh, kept=kept, relabelled=relabelled, notes=notes_of(self.catalogue, markets))

    def fresh(self, places: Sequence[Place], new: Iterable[str]) -> tuple[list[Example], int]:
        """The examples of places under the rules of today, and how many stored verdicts are others now.

        Args:
          places: markets and kinds.
          new: codes of the rules of which most examples are wanted.
        """
        stored, _ = stored_verdicts(self.store)
        splits = splitter([one.effective for one in stored])
        wanted = [one for place in places for one in self._drawn(stored, place)]
        replayed = [self._judged(case) for case in cases(self.store, self.engine, self.markets, wanted)]
        relabelled = sum(case.stored.codes != old for case, old in replayed)
        made = [case for case, _ in replayed]
        made += self._around(places, [case for case in made if not case.stored.codes], set(new))
        found = []
        for number, case in enumerate(made):
            at = max(case.message.effective, instant(case.stored.effective))
            split = splits.split(case.access_point, at)
            found.append(example_of(case, self._serialiser, f"learn-{case.stored.id}-{number}", split))
        return found, relabelled

    def _drawn(self, stored: Sequence[Stored], place: Place) -> list[Stored]:
        there = [one for one in stored if (one.market, one.kind) == place]
        refused = [one for one in there if one.codes]
        accepted = [one for one in there if not one.codes]
        half = self.amounts.stored // 2
        chosen = self._draw.sample(refused, min(len(refused), half))
        return chosen + self._draw.sample(accepted, min(len(accepted), self.amounts.stored - len(chosen)))

    def _judged(self, case: Case) -> tuple[Case, tuple[str, ...]]:
        """A stored message as the Kernel judges it today, and the codes it had."""
        judgement = self.engine.validate(case.message, case.history)
        errors = [finding for finding in judgement.findings if finding.severity == "error"]
        codes = tuple(sorted({finding.error_code for finding in errors}))
        comments = {finding.error_code: finding.comment for finding in reversed(errors)}
        now = replace(case.stored, codes=codes, rules_version=self.engine.version)
        return replace(case, stored=now, comments=comments), case.stored.codes

    def _around(self, places: Sequence[Place], carriers: Sequence[Case], new: set[str]) -> list[Case]:
        """Messages either side of every rule of the places; most around the new ones, their own examples among them."""
        variations = Variations(self.catalogue, self.engine, carriers, self.amounts.seed)
        found: list[Case] = []
        markets = sorted({market for market, _ in places})
        for rule in judging(self.catalogue):
            if not set(places_of([rule], markets)) & set(places):
                continue
            count = self.amounts.new if rule.code in new else self.amounts.others
            made = variations.around(rule, count, count)
            found += [case for case in made if (case.message.market, type(case.message).__name__) in places]
            if rule.code in new and carriers:
                found += self._own(rule, variations, carriers, places)
        return found

    def _own(self, rule: Rule, variations: Variations, carriers: Sequence[Case], places: Sequence[Place]) -> list[Case]:
        """The rule's own examples, as the Kernel judges them, each kept with the access point of some carrier."""
        found = []
        for example in rule.examples:
            message, history = example.message, example.history
            if (message.market, type(message).__name__) in places:
                made = self._example(message, history, variations, self._draw.choice(list(carriers)))
                found += [] if made is None else [made]
        return found

    @staticmethod
    def _example(message: KernelMessage, history: History, variations: Variations, carrier: Case) -> Case | None:
        return variations.judged(replace(carrier, earlier=(), length=0), message, history)
