"""A correction comes from the access point's history and from nothing else: over every example of every rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.explanation.correcting import Correction, propose
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import load_catalogue
from energycomm.engine.rule import Example, Rule
from energycomm.kernel.history import History
from energycomm.pipeline.gateway import open_engine
from energycomm.pipeline.history import Known

FORMS = ("unit, a thousandth", "unit, thousandfold")
"""Proposals that are reckoned from the message's own number; the history bears them out."""


@pytest.fixture(scope="module")
def catalogue(project_root: Path) -> Catalogue:
    return load_catalogue(project_root / "rules", check_examples=False)


def failing(catalogue: Catalogue) -> Iterator[tuple[Rule, Example]]:
    """Every example that a rule which rejects refuses."""
    for rule in catalogue.rules:
        if rule.judges and rule.severity == "error":
            yield from ((rule, one) for one in rule.examples if one.judged == "fails")


def proposals(
    catalogue: Catalogue, *, known: bool = True, bare: bool = False
) -> dict[tuple[str, int], list[Correction]]:
    """What is proposed for each failing example where its rule alone judges, so that no other rule hides a proposal.

    Args:
      catalogue: the rules.
      known: with the history of the example; without, the point is new.
      bare: the rule has no examples.
    """
    found = {}
    for rule, example in failing(catalogue):
        alone = replace(catalogue, rules=(replace(rule, examples=()) if bare else rule,))
        past = example.history if known else History()
        message = Known(1, example.message, past)
        found[rule.code, example.line], _ = propose(alone, open_engine(alone, "parallel"), message)
    return {place: made for place, made in found.items() if made}


def test_a_correction_names_evidence_in_the_history_and_is_taken_from_it(catalogue: Catalogue) -> None:
    """The value is a fact that the evidence names, or the message's own number in another unit."""
    made = proposals(catalogue)
    assert len(made) > 20
    for place, corrections in made.items():
        for one in corrections:
            assert one.evidence, place
            assert all(told.startswith(("history.", "previous.")) for told in one.evidence), place
            taken = any(told.startswith(f"{one.why} = ") for told in one.evidence)
            assert taken or one.why in FORMS, place


def test_a_point_without_history_gets_no_proposal(catalogue: Catalogue) -> None:
    """The rules and their examples alone give no value: a person has to ask the operator."""
    assert proposals(catalogue, known=False) == {}


def test_the_examples_of_the_rules_change_no_correction(catalogue: Catalogue) -> None:
    """Without examples the same is proposed."""
    assert proposals(catalogue, bare=True) == proposals(catalogue)
