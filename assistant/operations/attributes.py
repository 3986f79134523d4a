"""What a rule has: each attribute as its values, for conditions, groups and lists alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from assistant.operations.family import Attribute, RuleFilter, Unlike
from assistant.operations.plaintext import contains
from energycomm.engine.codes import COMMON
from energycomm.engine.rule import Rule

Texts = Mapping[str, Mapping[str, str]]
"""Language -> English text of a rule -> the same in the language."""

_OF: Mapping[Attribute, Callable[[Rule], tuple[str, ...]]] = {
    "market": lambda rule: (rule.market,),
    "kind": lambda rule: rule.applies_to,
    "set": lambda rule: (rule.rule_set,),
    "severity": lambda rule: (rule.severity,) if rule.judges else (),
    "class": lambda rule: (rule.error_class,) if rule.judges else (),
    "ebix": lambda rule: (rule.ebix,) if rule.ebix else (),
    "market_code": lambda rule: (rule.market_code,) if rule.market_code else (),
    "error_code": lambda rule: (rule.error_code,) if rule.error_code else (),
    "repair": lambda rule: rule.repair,
    "file": lambda rule: (f"rules/{rule.file}",),
    "source": lambda rule: (rule.source,),
    "field": lambda rule: (rule.field,) if rule.judges and rule.field else (),
    "title": lambda rule: (rule.title,),
}


def values(rule: Rule, attribute: Attribute) -> tuple[str, ...]:
    """What a rule has of an attribute; nothing where it has none."""
    return _OF[attribute](rule)


def applicable(rule: Rule, attribute: Attribute) -> bool:
    """Whether a rule could have an attribute: rules of actions carry no reason, class, code and script."""
    return rule.judges or attribute in ("market", "kind", "set", "file", "source", "title")


def is_one(rule: Rule, attribute: Attribute, wanted: str) -> bool:
    """Whether an attribute of a rule is what is wanted, in any case of letters.

    A file by its name, a source by words, a field by its last part, an error code by its beginning.
    """
    if attribute == "source":
        return contains(rule.source, wanted.split())
    low = wanted.lower()
    for value in map(str.lower, values(rule, attribute)):
        if value == low or (attribute == "file" and value.endswith(low)):
            return True
        if (attribute == "field" and value.rpartition(".")[2] == low) or (
            attribute == "error_code" and value.startswith(low)
        ):
            return True
    return False


def judges(rule: Rule, markets: Iterable[str]) -> bool:
    """Whether a rule of all markets judges the messages of one of these."""
    return rule.market == COMMON and any(rule.judges_market(market) for market in markets)


def names_flow(rule: Rule, flow: str) -> bool:
    """Whether a rule names a message type in its conditions or its source."""
    text = " ".join(text for text in (rule.when, rule.holds, rule.violated_when, rule.source) if text)
    return re.search(rf"(?<![\w]){re.escape(flow)}(?![\w])", text, re.IGNORECASE) is not None


def matches(rule: Rule, where: RuleFilter, texts: Texts) -> bool:
    """Whether a filter finds a rule; see `RuleFilter`."""
    return (
        _stands(rule, where)
        and _named(rule, where)
        and _holds(rule, where)
        and (not where.words or told(rule, where.words, texts.get(where.language, {})))
    )


def _stands(rule: Rule, where: RuleFilter) -> bool:
    """Markets, kinds and sets."""
    kinds = set(rule.applies_to)
    return (
        (not where.markets or rule.market in where.markets or (where.shared and judges(rule, where.markets)))
        and (not where.kinds or (all if where.every else any)(kind in kinds for kind in where.kinds))
        and (not where.alone or kinds == set(where.kinds))
        and (where.wide is None or len(kinds) >= where.wide)
        and (where.narrow is None or len(kinds) <= where.narrow)
        and (where.scripts is None or len(rule.repair) >= where.scripts)
        and (where.direction is None or rule.rule_set.endswith(f"_{where.direction}"))
        and (where.stage is None or rule.rule_set.startswith(where.stage))
        and (where.flow is None or names_flow(rule, where.flow))
    )


_TYPED: tuple[tuple[str, Attribute], ...] = (
    ("set", "set"), ("severity", "severity"), ("error_class", "class"), ("ebix", "ebix"), ("file", "file"),
    ("repair", "repair"), ("code", "error_code"), ("source", "source"), ("field", "field"),
)  # fmt: skip
"""Restrictions that name a value -> the attribute that has to be it."""


_TOLD = ("class", "field", "error_code", "severity")
"""What every rule that judges has: a rule without it is one that does not judge."""


def _named(rule: Rule, where: RuleFilter) -> bool:
    """Values, what has to be there, what has to be absent, and what is denied."""
    wanted = ((attribute, getattr(where, name)) for name, attribute in _TYPED)
    return (
        all(value is None or is_one(rule, attribute, value) for attribute, value in wanted)
        and all(values(rule, attribute) for attribute in where.having)
        and all((applicable(rule, one) or one in _TOLD) and not values(rule, one) for one in where.missing)
        and (not where.either or any(is_one(rule, one.attribute, one.value) for one in where.either))
        and all(applicable(rule, one.attribute) and not is_one(rule, one.attribute, one.value) for one in where.unlike)
    )


def _holds(rule: Rule, where: RuleFilter) -> bool:
    """Days."""
    began = rule.since is not None
    return (
        (where.on is None or rule.in_force(where.on))
        and (where.off is None or not rule.in_force(where.off))
        and (where.since is None or (rule.since is not None and rule.since >= where.since))
        and (where.until is None or (rule.since is not None and rule.since < where.until))
        and (not where.changes or began or rule.until is not None)
    )


def told(rule: Rule, words: Iterable[str], translated: Mapping[str, str]) -> bool:
    """Whether a rule says something: its title and sentence in English or in the language of the words."""
    wanted = tuple(words)
    said = f"{rule.title} {rule.sentence}"
    there = " ".join(translated.get(text, "") for text in (rule.title, rule.sentence))
    return contains(said, wanted) or contains(there, wanted)


def hinted(rule: Rule, words: Iterable[str]) -> bool:
    """Whether the name, the source or the comments of a rule have words: less telling than its sentence."""
    return contains(" ".join((rule.code, rule.source, *(one.text for one in rule.comment.values()))), words)


def translations(folder: Path) -> dict[str, Mapping[str, str]]:
    """What the catalogues of texts beside the rules say of their titles and sentences, by language.

    Args:
      folder: of the rules.
    """
    files = sorted((folder / "texts").glob("*.po"))
    return {file.stem: _translation(file, file.stat().st_mtime) for file in files}


@lru_cache(maxsize=8)
def _translation(file: Path, stamp: float) -> Mapping[str, str]:
    from babel.messages.pofile import read_po

    with file.open("rb") as lines:
        content = read_po(lines)
    return {one.id: str(one.string) for one in content if isinstance(one.id, str) and one.id and one.string}


__all__ = ["Texts", "Unlike", "applicable", "hinted", "is_one", "judges", "matches", "names_flow", "told",
           "translations", "values"]  # fmt: skip
