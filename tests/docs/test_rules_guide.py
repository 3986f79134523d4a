"""The guide to the rules names every key that a rule may have, and every predicate as it is called."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from energycomm.engine import rulefile
from energycomm.engine.folder import load_catalogue
from energycomm.kernel.verdicts import VERBS


@pytest.fixture(scope="module")
def guide(project_root: Path) -> str:
    """The text of rules/README.md."""
    return (project_root / "rules" / "README.md").read_text("utf-8")


@pytest.mark.thorough
def test_the_list_of_predicates_is_that_of_the_engine(guide: str, project_root: Path) -> None:
    table = guide.split("\n## Predicates\n")[1]
    told = re.findall(r"^\| `(\w+)\(([^)]*)\)` \|", table, re.MULTILINE)
    known = load_catalogue(project_root / "rules").predicates
    assert len(told) == len(dict(told))
    assert dict(told) == {name: ", ".join(name for name, _ in one.parameters) for name, one in known.items()}


def test_every_key_of_a_rule_is_explained(guide: str) -> None:
    """The example has the keys of a rule of validation; the text names those of files and of actions."""
    example = guide.split("```yaml\n")[1].split("```")[0]
    keys = set(re.findall(r"^ {5}[- ] (\w+):", example, re.MULTILINE))
    keys |= set(re.findall(r"or (\w+):$", example, re.MULTILINE))
    optional = set(re.findall(r"with (\w+): days", example))
    assert keys | optional == rulefile.VALIDATION_KEYS
    words = set(re.findall(r"`(\w+):`", guide))
    assert words >= rulefile.FILE_KEYS | (rulefile.ACTION_KEYS - rulefile.VALIDATION_KEYS)


def test_every_action_is_named(guide: str) -> None:
    assert set(VERBS) <= set(re.findall(r"`([a-z-]+):?`", guide))
