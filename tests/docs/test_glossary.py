"""The glossary names only what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from energycomm.engine.folder import load_catalogue
from energycomm.kernel.family import KINDS
from energycomm.kernel.history import History, RegisterFacts

CODE = re.compile(r"`([^`]+)`")
CALL = re.compile(r"([a-z_]+)\(([a-z_, ]*)\)")


def unknown_names(text: str, root: Path) -> list[str]:
    """What a text names in code that is no predicate, fact, field, word of a rule or path of the project."""
    catalogue = load_catalogue(root / "rules", check_examples=False)
    fields = {name for kind in KINDS.values() for name in kind.__struct_fields__}
    facts = {f"history.{name}" for name in History.__struct_fields__}
    facts |= {f"previous.{name}" for name in RegisterFacts.__struct_fields__}
    unknown = []
    for name in CODE.findall(text):
        call = CALL.fullmatch(name)
        if call is not None:
            known = call[1] in catalogue.predicates and set(call[2].split(", ")) <= fields
        else:
            known = name in facts or name in fields or name in KINDS or (root / name).exists()
        if not known:
            unknown.append(name)
    return unknown


def test_every_name_of_the_glossary_exists(project_root: Path) -> None:
    assert unknown_names((project_root / "docs" / "glossary.md").read_text("utf-8"), project_root) == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["check_digit_ok(access_point)", "gsrn_ok(point)", "history.supply", "docs/none.md"])
def test_a_name_that_does_not_exist_is_found(name: str, project_root: Path) -> None:
    assert unknown_names(f"| word | such as `{name}` |", project_root) == [name]
