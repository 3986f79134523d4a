"""Messages made around the condition of a rule: just either side of it, from messages that the Kernel accepted.

What a rule reads is changed in an accepted message or in its history: to the values that the rule names and those
beside them, to what other messages hold there, to nothing, or to what the rule's own examples state. The Kernel judges
what comes out, so every label is its own; what no schema allows is thrown away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import msgspec
from msgspec import structs

from assistant.classifier.facts import RULE_SET, atoms, constants_of, reads_of
from assistant.classifier.material import Case
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.port import RuleEngine
from energycomm.engine.rule import Example as RuleExample
from energycomm.engine.rule import Rule
from energycomm.engine.terms import Condition, InList, Read
from energycomm.kernel.history import History, RegisterFacts
from energycomm.kernel.messages import KernelMessage

ATTEMPTS = 40
"""Changed messages that are tried for each one that is wanted."""
MOST_CODES = 4
"""A message that breaks more rules than this is no believable mistake."""
_YEAR = 364
STAND_INS = 20
"""Carriers of a kind that no life sent; those that break the fewest rules."""
_KEPT = frozenset(("market_reason", "reason", "function", "energy", "correlation"))
_NO_REGISTER = RegisterFacts()


class Variations:
    """Makes messages around the conditions of rules.

    Args:
      catalogue: the rules.
      engine: the same rules, to judge what is made.
      carriers: accepted messages to start from.
      seed: of all chance.
    """

    def __init__(self, catalogue: Catalogue, engine: RuleEngine, carriers: Sequence[Case], seed: int) -> None:
        self.catalogue, self.engine = catalogue, engine
        self.rng = Random(f"variations {seed}")  # noqa: S311 - no secret
        self.carriers: dict[tuple[str, str], list[Case]] = {}
        for case in carriers:
            self.carriers.setdefault((case.message.market, type(case.message).__name__), []).append(case)
        self._stand_ins(carriers)

    def _stand_ins(self, carriers: Sequence[Case]) -> None:
        """Carriers of kinds that no life sent: the rules' examples under the head of a message that was accepted."""
        heads: dict[str, list[Case]] = {}
        for case in carriers:
            heads.setdefault(case.message.market, []).append(case)
        missing = {
            (market, type(example.message).__name__): None
            for rule in judging(self.catalogue)
            for example in rule.examples
            for market in heads
            if rule.judges_market(market)
        }
        for market, kind in [place for place in missing if place not in self.carriers]:
            examples = [
                example
                for rule in judging(self.catalogue)
                if rule.judges_market(market)
                for example in rule.examples
                if type(example.message).__name__ == kind and example.judged == "passes"
            ]
            types = sorted({example.message.market_type for example in examples})
            found = []
            for _ in range(ATTEMPTS * STAND_INS if examples else 0):
                case, example = self.rng.choice(heads[market]), self.rng.choice(examples)
                named = [name for name in KernelMessage.__struct_fields__ if name not in _KEPT]
                head = {name: getattr(case.message, name) for name in named}
                message, history = overlaid(structs.replace(example.message, **head), case.history, example)
                message = structs.replace(message, market_type=self.rng.choice([*types, message.market_type]))
                made = self.judged(case, message, history)
                if made is not None:
                    found.append(made)
            if found:
                best = min(len(made.stored.codes) for made in found)
                self.carriers[market, kind] = [made for made in found if len(made.stored.codes) == best][:STAND_INS]

    def around(self, rule: Rule, failing: int, passing: int) -> Iterator[Case]:
        """Messages that violate a rule, and near ones that do not; fewer where none come out.

        Args:
          rule: a rule of validation.
          failing: how many that violate it.
          passing: how many that were changed where it looks and do not violate it.
        """
        places = [
            (market, kind)
            for market, kind in sorted(self.carriers)
            if kind in rule.triggers and rule.judges_market(market) and rule.market in (market, "common")
        ]
        seen: set[tuple[KernelMessage, History]] = set()
        for number, place in enumerate(places):
            # Every market and kind has its share: what is known of one is not known of the others.
            left = len(places) - number
            for made in self._at(rule, place, -(-failing // left), -(-passing // left), seen):
                fails = rule.error_code in made.stored.codes
                failing, passing = failing - fails, passing - (not fails)
                yield made

    def _at(
        self, rule: Rule, place: tuple[str, str], failing: int, passing: int, seen: set[tuple[KernelMessage, History]]
    ) -> Iterator[Case]:
        wanted = {True: failing, False: passing}
        for _ in range(ATTEMPTS * (failing + passing)):
            if not any(wanted.values()):
                return
            made = self.change(rule, self.rng.choice(self.carriers[place]))
            if made is None or (made.message, made.history) in seen:
                continue
            fails = rule.error_code in made.stored.codes
            if wanted[fails]:
                seen.add((made.message, made.history))
                wanted[fails] -= 1
                yield made

    def change(self, rule: Rule, case: Case) -> Case | None:
        """One message changed where a rule looks, with the Kernel's verdict; None when nothing usable came out."""
        if not rule.in_force(case.message.effective.date()):
            return None
        message, history = case.message, case.history
        kind = type(message).__name__
        own = [one for one in rule.examples if _fits(one, message)]
        if own and self.rng.random() < 0.5:
            message, history = overlaid(message, history, self.rng.choice(own))
        steps = self.rng.choice((0, 1, 1, 2)) if message is not case.message else self.rng.choice((1, 1, 2, 3))
        parts = [part for half in rule.conditions[kind] for part in atoms(half) if list(reads_of(part[0]))]
        for _ in range(steps if parts else 0):
            condition, _wanted = self.rng.choice(parts)
            message, history = self._step(rule, condition, message, history)
        if message == case.message and history == case.history:
            return None
        return self.judged(case, message, history)

    def judged(self, case: Case, message: KernelMessage, history: History) -> Case | None:
        """A changed message as the Kernel judges it; None when it is no message, or breaks too much."""
        try:
            message = msgspec.convert(msgspec.to_builtins(message), type(message), strict=False)
            history = msgspec.convert(msgspec.to_builtins(history), History, strict=False)
            judgement = self.engine.validate(message, history)
        except (msgspec.ValidationError, TypeError, ValueError, OverflowError):
            return None
        errors = [finding for finding in judgement.findings if finding.severity == "error"]
        codes = tuple(sorted({finding.error_code for finding in errors}))
        if judgement.fault is not None or len(codes) > MOST_CODES:
            return None
        comments: dict[str, str] = {}
        for finding in errors:
            comments.setdefault(finding.error_code, finding.comment)
        stored = replace(case.stored, codes=codes, rules_version=self.engine.version)
        return replace(case, stored=stored, message=message, history=history, comments=comments, origin="rule")

    def _step(
        self, rule: Rule, condition: Condition, message: KernelMessage, history: History
    ) -> tuple[KernelMessage, History]:
        read = self.rng.choice(list(reads_of(condition)))
        index = None
        if rule.each is not None and read.path[0] in ("item", "previous"):
            items = getattr(message, rule.each)
            if not items:
                return message, history
            index = self.rng.randrange(len(items))
        try:
            value = self._value(rule, condition, read, message, history, index)
            return put(message, history, read, value, rule.each, index)
        except (TypeError, ValueError, ArithmeticError, AttributeError):
            return message, history

    def _value(
        self, rule: Rule, condition: Condition, read: Read, message: KernelMessage, history: History, index: int | None
    ) -> Any:
        """A value to try: absent, one beside what is there or named, or that of another message."""
        rng = self.rng
        now = get(message, history, read, rule.each, index)
        choice = rng.random()
        if choice < 0.15 and read.type.optional:
            return None
        named = [one for one in constants_of(condition) if one is not None]
        if isinstance(condition, InList) and choice < 0.5:
            named = sorted(self.catalogue.codes.codes(message.market, condition.list))
        words = read.type.words
        if words:
            return rng.choice(sorted(words))
        if isinstance(now, bool) or read.type.bases == {"bool"}:
            return not now
        if isinstance(now, datetime):
            return now + rng.choice((-1, 1)) * rng.choice(
                (timedelta(hours=1), timedelta(days=1), timedelta(days=40), timedelta(days=400), timedelta(days=9000))
            )
        if isinstance(now, date):
            return now + rng.choice((-1, 1)) * timedelta(days=rng.choice((1, 2, 40, 400, 9000)))
        if isinstance(now, int | float | Decimal) and (choice < 0.7 or not named):
            return type(now)(rng.choice((now + 1, now - 1, -now, now * 1000, now * 10, 0, now + 100_000)))
        same = [one for one in named if now is None or isinstance(one, type(now))]
        if same and choice < 0.6:
            found = rng.choice(same)
            return found + rng.choice((-1, 0, 1)) if isinstance(found, int) and not isinstance(found, bool) else found
        if isinstance(now, str) and choice < 0.8:
            return _spoiled(now, rng)
        other = rng.choice(self.carriers[message.market, type(message).__name__])
        return get(other.message, other.history, read, rule.each, 0)


def overlaid(message: KernelMessage, history: History, example: RuleExample) -> tuple[KernelMessage, History]:
    """A message with the fields and facts that a rule's example states, its dates moved near the message's own.

    An example that states an effective instant after the message's is moved by whole years of 364 days, to the year
    before the message: the days of the week, and nearly always legal time, stay what they were.
    """
    apart = (message.effective - example.message.effective).days
    days = timedelta(days=min(0, apart // _YEAR * _YEAR) if "effective" in example.content else apart)
    stated = [name for name in example.content if name in message.__struct_fields__]
    changed = structs.replace(message, **{name: _moved(getattr(example.message, name), days) for name in stated})
    facts = example.content.get("history") or {}
    named = [name for name in facts if name in history.__struct_fields__]
    return changed, structs.replace(history, **{name: _moved(getattr(example.history, name), days) for name in named})


def _fits(example: RuleExample, message: KernelMessage) -> bool:
    """Whether a message has the fields that an example states, of whatever kind that is."""
    fields = [name for name in example.content if name not in ("kind", "history", "errors")]
    return type(example.message) is type(message) or all(name in message.__struct_fields__ for name in fields)


def _moved(value: Any, days: timedelta) -> Any:
    """A value with every date in it moved."""
    if isinstance(value, date):  # an instant is a date too
        return value + days
    if isinstance(value, tuple):
        return tuple(_moved(one, days) for one in value)
    if isinstance(value, msgspec.Struct):
        return structs.replace(value, **{name: _moved(getattr(value, name), days) for name in value.__struct_fields__})
    return value


def get(message: KernelMessage, history: History, read: Read, each: str | None, index: int | None) -> Any:
    """What stands where a rule reads; None where nothing does."""
    match read.path:
        case ("history", fact):
            return getattr(history, fact)
        case ("item", name):
            items = getattr(message, each or "")
            return getattr(items[index or 0], name) if len(items) > (index or 0) else None
        case ("previous", fact):
            known = history.registers
            return getattr(known[index or 0], fact) if len(known) > (index or 0) else None
        case (owner, name):
            whole = getattr(message, owner)
            return None if whole is None else getattr(whole, name)
    return getattr(message, read.path[0])


def put(
    message: KernelMessage, history: History, read: Read, value: Any, each: str | None, index: int | None
) -> tuple[KernelMessage, History]:
    """A message and history with another value where a rule reads."""
    place = index or 0
    match read.path:
        case ("history", fact):
            return message, structs.replace(history, **{fact: value})
        case ("item", name):
            items = list(getattr(message, each or ""))
            items[place] = structs.replace(items[place], **{name: value})
            return structs.replace(message, **{each or "": tuple(items)}), history
        case ("previous", fact):
            known = list(history.registers)
            known += [_NO_REGISTER] * (place + 1 - len(known))
            known[place] = structs.replace(known[place], **{fact: value})
            return message, structs.replace(history, registers=tuple(known))
        case (owner, name):
            whole = getattr(message, owner)
            if whole is None:
                return message, history
            return structs.replace(message, **{owner: structs.replace(whole, **{name: value})}), history
    return structs.replace(message, **{read.path[0]: value}), history


def _spoiled(text: str, rng: Random) -> str:
    """A text with one mistake of a keyboard: a sign changed, left out, doubled, or two exchanged."""
    at = rng.randrange(len(text))
    sign = rng.choice("0123456789" if text[at].isdigit() else "ABCXYZ")
    swapped = text[:at] + text[at + 1 : at + 2] + text[at] + text[at + 2 :]
    return rng.choice((text[:at] + sign + text[at + 1 :], text[:at] + text[at + 1 :], text + sign, swapped)) or sign


def judging(catalogue: Catalogue) -> list[Rule]:
    """The rules that a model learns: of incoming messages, of severity error."""
    return [rule for rule in catalogue.rules if rule.rule_set == RULE_SET and rule.severity == "error"]
