"""What every file of the project must and must not hold."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.machine import lacks

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
        lacks("this is no git checkout")
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
