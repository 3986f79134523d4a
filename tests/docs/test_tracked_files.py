"""What every file of the project must and must not hold."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

LEAST, MOST = 50, 450
"""Lines of a Python file: less is no subject of its own, more is two."""

EXCEPTIONS: dict[str, str] = {
    "adapters/be_atrias/times.py": "one market's legal time",
    "adapters/fr_enedis/simulator/mistakes/invoices.py": "the mistakes of one subject, beside those of the others",
    "adapters/nl_edsn/times.py": "one market's legal time",
    "assistant/evaluation/intervals.py": "one formula",
    "assistant/rationale/folds.py": "one division, which measuring and training share",
    "assistant/rationale/port.py": "one port, which methods and answers share",
    "energycomm/commands/daemon.py": "one command",
    "energycomm/eis/tables.py": "the tables are read together, as one list",
    "energycomm/engine/expressions.py": "the grammar of conditions: every kind of node beside the others",
    "energycomm/engine/problems.py": "one value and one exception that all of the engine imports",
    "energycomm/engine/validity.py": "one check",
    "energycomm/links.py": "one check",
    "energycomm/kernel/family.py": "one table",
    "energycomm/simulation/scenario.py": "one value",
    "energycomm/webservice/api.py": "one list of subjects",
    "rules/predicates.py": "analysts find every predicate in one file",
}
"""File -> why it may be shorter or longer."""

# Written in pieces, so that this file does not hold what it looks for.
MACHINE = re.compile(r"(?<![\w.])/(?:ho" + r"me|ro" + r"ot|wo" + r"rk|Use" + r"rs)/\w")
REGISTRY = re.compile(
    r"\b(?:py" + r"pi\.org|pythonho" + r"sted|crates\.i" + r"o|npm" + r"js|artifac" + r"tory)", re.IGNORECASE
)

GENERATED_TREES = ("fixtures/",)
VENDORED = (".min.js",)


@pytest.fixture(scope="module")
def tracked(project_root: Path) -> list[Path]:
    """Every file that git knows."""
    if shutil.which("git") is None or not (project_root / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=project_root, capture_output=True, text=True, check=True)
    return [project_root / name for name in listed.stdout.split("\0") if name and (project_root / name).is_file()]


def texts(files: list[Path]) -> list[tuple[Path, str]]:
    found = []
    for path in files:
        try:
            found.append((path, path.read_bytes().decode("utf-8")))
        except UnicodeDecodeError:
            continue
    return found


def test_no_file_names_a_place_of_one_machine(tracked: list[Path], project_root: Path) -> None:
    """A path below somebody's home is of no use to anybody else."""
    found = [
        f"{path.relative_to(project_root)}:{number}"
        for path, text in texts(tracked)
        for number, line in enumerate(text.splitlines(), 1)
        if MACHINE.search(line)
    ]
    assert found == []


def test_no_file_names_a_package_registry(tracked: list[Path], project_root: Path) -> None:
    """Where packages come from is each site's own affair."""
    found = [
        f"{path.relative_to(project_root)}:{number}"
        for path, text in texts(tracked)
        for number, line in enumerate(text.splitlines(), 1)
        if REGISTRY.search(line)
    ]
    assert found == []


def test_the_checks_find_what_they_look_for() -> None:
    """A pattern that matches nothing would let everything pass."""
    assert MACHINE.search('path = "/ho' + 'me/anna/x"')
    assert not MACHINE.search("tests/home/x and https://example.org/root/x")
    assert REGISTRY.search("https://py" + "pi.org/simple")


SHORT = ("alembic/", "tests/", "benchmarks/", "energycomm/correction/scripts/")
"""Folders whose files are as long as what they do: a correction script may be a few lines."""


def test_a_python_file_is_one_subject(tracked: list[Path], project_root: Path) -> None:
    """Files have 50 to 450 lines; packages' openings may be shorter, and exceptions have their reason."""
    odd = {}
    for path in tracked:
        name = path.relative_to(project_root).as_posix()
        if path.suffix != ".py" or name.startswith(SHORT) or name in EXCEPTIONS:
            continue
        lines = len(path.read_text("utf-8").splitlines())
        least = 0 if path.name in ("__init__.py", "__main__.py") else LEAST
        if not least <= lines <= MOST:
            odd[name] = lines
    assert odd == {}


def test_exceptions_are_still_needed(project_root: Path) -> None:
    """An exception for a file that is gone or has grown into the rule is removed."""
    for name, reason in EXCEPTIONS.items():
        lines = len((project_root / name).read_text("utf-8").splitlines())
        assert reason
        assert not LEAST <= lines <= MOST, name


def test_text_files_end_with_a_line_and_have_unix_line_ends(tracked: list[Path], project_root: Path) -> None:
    """Fixtures excepted, whose bytes are the market's, and what others wrote and we ship."""
    wrong = [
        path.relative_to(project_root).as_posix()
        for path, text in texts(tracked)
        if not path.relative_to(project_root).as_posix().startswith(GENERATED_TREES)
        and not path.name.endswith(VENDORED)
        and text
        and ("\r" in text or not text.endswith("\n"))
    ]
    assert wrong == []
