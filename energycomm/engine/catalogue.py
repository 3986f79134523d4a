"""The catalogue: every rule, predicate and code list that there is, checked and immutable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, timedelta, tzinfo
from difflib import get_close_matches
from typing import TYPE_CHECKING

from energycomm.engine.codes import CodeLists
from energycomm.engine.rule import RULE_ORDERS, Rule, RuleSet

if TYPE_CHECKING:
    from energycomm.engine.particulars import Declarations
    from energycomm.engine.predicates import Predicate


@dataclass(frozen=True)
class Catalogue:
    """Every rule that there is.

    Attributes:
      rules: the rules, common ones first, then by market, file and line.
      predicates: declared predicates by name.
      codes: the code lists.
      version: hash of the content of every file, 12 hexadecimal digits.
      markets: markets that have a folder, upper case.
      particulars: what each market declares of its particulars.
      zones: the legal time of each market.
    """

    rules: tuple[Rule, ...] = ()
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    codes: CodeLists = field(default_factory=CodeLists)
    version: str = ""
    markets: tuple[str, ...] = ()
    particulars: Mapping[str, Declarations] = field(default_factory=dict)
    zones: Mapping[str, tzinfo] = field(default_factory=dict)

    def zone(self, market: str) -> tzinfo:
        """The legal time of a market; UTC where its folder names none."""
        return self.zones.get(market, UTC)

    def rules_for(self, rule_set: RuleSet, market: str, kind: str) -> tuple[Rule, ...]:
        """The rules of a set that judge a kind of a market, whatever the day."""
        return tuple(
            rule
            for rule in self.rules
            if rule.rule_set == rule_set and kind in rule.triggers and rule.judges_market(market)
        )

    def of_market(self, market: str) -> tuple[Rule, ...]:
        """Every rule that judges messages of a market."""
        return tuple(rule for rule in self.rules if rule.judges_market(market))

    def matching(
        self,
        market: str | None = None,
        kind: str | None = None,
        rule_set: str | None = None,
        on: date | None = None,
        sort: str | None = None,
    ) -> tuple[Rule, ...]:
        """The rules of a market (in any case of letters), a kind, a set, in force on a day; None does not restrict.

        Sorted by one of `RULE_ORDERS`, from the end with - before it; else as they stand in their files.
        """
        found = tuple(
            rule
            for rule in self.rules
            if (market is None or rule.judges_market(market.upper()))
            and (kind is None or kind in rule.applies_to)
            and (rule_set is None or rule.rule_set == rule_set)
            and (on is None or rule.in_force(on))
        )
        if sort is None:
            return found
        attribute = RULE_ORDERS[sort.removeprefix("-")]
        return tuple(sorted(found, key=lambda rule: getattr(rule, attribute), reverse=sort.startswith("-")))

    def find(self, code: str) -> tuple[Rule, ...]:
        """The rules with a code, an error code, a market's own code or an ebIX reason, in any case of letters."""
        return tuple(rule for rule in self.rules if rule.named(code))

    def titles(self) -> dict[str, str]:
        """Error code -> title of the first rule that gives it."""
        return {rule.error_code: rule.title for rule in reversed(self.rules) if rule.error_code}

    def error_codes(self, code: str) -> tuple[str, ...]:
        """The error codes of the rules that a code names; none where no rule has it."""
        return tuple(dict.fromkeys(rule.error_code for rule in self.find(code) if rule.error_code))

    def like(self, code: str) -> tuple[str, ...]:
        """Codes similar to this one, as suggestions."""
        known = {
            name
            for rule in self.rules
            for name in (rule.code, rule.error_code, rule.market_code or "", rule.ebix or "")
            if name
        }
        close = {name.upper(): name for name in sorted(known)}
        return tuple(close[name] for name in get_close_matches(code.upper(), close, n=3))

    def in_force(self, day: date) -> tuple[Rule, ...]:
        """The rules in force on a day."""
        return tuple(rule for rule in self.rules if rule.in_force(day))

    def dates(self) -> tuple[date, ...]:
        """The days on which the rules in force change, in order."""
        found = {rule.since for rule in self.rules if rule.since}
        found |= {rule.until + timedelta(days=1) for rule in self.rules if rule.until and rule.until < date.max}
        return tuple(sorted(found))
