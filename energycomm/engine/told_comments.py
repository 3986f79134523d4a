"""What a rule found, in a language of readers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.report import OPENING_WORDS
from energycomm.texts.catalogues import Folders, translate
from energycomm.texts.sentences import refilled


class Commented(Protocol):
    """A finding: its rule, and its comment in English and French."""

    @property
    def rule(self) -> str:
        """Code of the rule."""

    @property
    def comment(self) -> str:
        """In English."""

    @property
    def comment_fr(self) -> str:
        """In French."""


def comment_in(
    finding: Commented,
    catalogue: Catalogue,
    language: str,
    folders: Folders,
    value: Callable[[str], str] = str,
) -> str:
    """What a rule found, as it is kept, or by the translated comment of the rule.

    Args:
      finding: what was found.
      catalogue: the rules of today.
      language: en, fr or nl.
      folders: catalogues that count beside those of the program.
      value: how a value of the sentence is written in the language.
    """
    if language == "en":
        return finding.comment
    if language == "fr" and finding.comment_fr:
        return finding.comment_fr
    more = OPENING_WORDS["en"] if finding.comment.endswith(OPENING_WORDS["en"]) else ""
    for rule in catalogue.find(finding.rule):
        template = rule.comment["en"].text if rule.comment else ""
        if (translated := translate(template, language, folders)) != template:
            found = refilled(finding.comment.removesuffix(more), template, translated, value)
            if found is not None:
                return f"{found} {translate(more.strip(), language, folders)}".strip()
    return finding.comment
