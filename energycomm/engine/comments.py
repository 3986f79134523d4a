"""Comments as people get them: those of every rule, built from the examples that fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.compiling import compile_rules
from energycomm.engine.rule import Rule


class BuiltComment(NamedTuple):
    """A comment with the values of an example.

    Attributes:
      error_code, rule: codes of the rule.
      place: where the example stands: file and line.
      en, fr: the comment in both languages.
    """

    error_code: str
    rule: str
    place: str
    en: str
    fr: str


def built_comments(catalogue: Catalogue, rules: Iterable[Rule]) -> Iterator[BuiltComment]:
    """What rules say of each of their examples that fails, for those who read comments: each once.

    Args:
      catalogue: the rules with their code lists.
      rules: those whose comments are wanted; rules that ask for actions have none.
    """
    for rule in rules:
        told: set[tuple[str, str]] = set()
        for example in rule.examples if rule.judges else ():
            message, kind = example.message, type(example.message).__name__
            zone = catalogue.zone(message.market)
            compiled = compile_rules((rule,), kind, message.market, catalogue.codes, zone)
            hits: list[Any] = []
            compiled.judge(message, example.history, example.errors, hits, [])
            for _, index in hits:
                found = compiled.reporters[0](message, example.history, index)
                if (found.comment, found.comment_fr) not in told:
                    told.add((found.comment, found.comment_fr))
                    place = f"{rule.file}:{example.line}"
                    yield BuiltComment(rule.error_code, rule.code, place, found.comment, found.comment_fr)
