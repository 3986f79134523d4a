"""docs/codes.md lists every code that EnergyComm can answer with."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

MAKERS = {"Refusal", "refuse", "refusal", "_refusal"}
CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")


def written_codes(root: Path) -> set[str]:
    """Every code that stands as a literal where a refusal is made."""
    found = set()
    for folder in ("energycomm", "adapters"):
        for path in (root / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if (
                    not isinstance(node, ast.Call)
                    or getattr(node.func, "id", getattr(node.func, "attr", "")) not in MAKERS
                ):
                    continue
                values = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "code")]
                for value in values:
                    if isinstance(value, ast.Constant) and isinstance(value.value, str) and CODE.fullmatch(value.value):
                        found.add(value.value)
    return found


@pytest.mark.thorough
def test_every_code_that_a_refusal_is_made_with_is_documented(project_root: Path) -> None:
    """No operator meets a code that no page explains."""
    documented = set(
        re.findall(r"^\| `([^`]+)`", (project_root / "docs" / "codes.md").read_text("utf-8"), re.MULTILINE)
    )
    written = written_codes(project_root)
    assert written >= {"ENV_BOMB", "HEADER_INVALID", "ADAPTER_FAULT"}
    assert written - documented == set()


def test_every_code_has_a_meaning_and_an_advice(project_root: Path) -> None:
    """No cell of the tables is empty."""
    rows = re.findall(r"^\| `([^`]+)` \|(.*)\|$", (project_root / "docs" / "codes.md").read_text("utf-8"), re.MULTILINE)
    assert len(rows) > 50
    assert [code for code, cells in rows if any(not cell.strip() for cell in cells.split("|"))] == []
