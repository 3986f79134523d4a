"""Rules as data: for programs that ask for them, by the command line or the API."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

from msgspec import Struct

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.rule import Rule


class RuleDescription(Struct, frozen=True, kw_only=True):
    """One rule; see `Rule`.

    Attributes:
      error_code: what a message that violates it gets; None for a rule that asks for actions.
      demands: its conditions, as analysts wrote them.
      reads: fields and facts that it reads.
    """

    code: str
    error_code: str | None
    rule_set: str
    title: str
    sentence: str
    applies_to: tuple[str, ...]
    markets: tuple[str, ...]
    demands: dict[str, str]
    each: str | None
    when: str | None
    holds: str | None
    violated_when: str | None
    field: str | None
    comment: dict[str, str]
    severity: str | None
    error_class: str | None
    ebix: str | None
    market_code: str | None
    pack: str | None
    repair: tuple[str, ...]
    since: date | None
    until: date | None
    source: str
    do: tuple[str, ...]
    notify: str | None
    wait: str | None
    reads: tuple[str, ...]
    file: str
    line: int


class RuleBook(Struct, frozen=True, kw_only=True):
    """The rules of one version: its hash, and those that were asked for."""

    version: str
    rules: tuple[RuleDescription, ...]


def described(rule: Rule) -> RuleDescription:
    """A rule as data; what it does not have is None."""
    conditions = {name: getattr(rule, name) for name in ("when", "holds", "violated_when", "each")}
    told: dict[str, Any] = {
        "demands": {name: words for name, words in conditions.items() if words},
        "comment": {str(language): template.text for language, template in rule.comment.items()},
        "severity": rule.severity if rule.judges else None,
        "error_class": rule.error_class if rule.judges else None,
        "error_code": rule.error_code or None,
        "field": rule.field or None,
        "pack": rule.pack or None,
    }
    plain: dict[str, Any] = {name: getattr(rule, name, None) for name in RuleDescription.__struct_fields__}
    return RuleDescription(**plain | told)


def rule_book(catalogue: Catalogue, rules: Iterable[Rule]) -> RuleBook:
    """Rules of a catalogue as data."""
    return RuleBook(version=catalogue.version, rules=tuple(described(rule) for rule in rules))
