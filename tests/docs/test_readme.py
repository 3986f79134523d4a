"""What the README shows is what happens when it is typed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = (
    pytest.param("README.md", marks=pytest.mark.thorough),
    "docs/index.md",
    "docs/architecture.md",
    "docs/reliability.md",
)
PATIENCE = 120


def sessions(page: str) -> list[list[tuple[str, str]]]:
    """The ```console blocks of a page, each a list of (what was typed, what was printed)."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        turns = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
        found.append([(turn.split("\n", 1)[0], turn.split("\n", 1)[1]) for turn in turns])
    return found


def matches(expected: str, printed: str) -> bool:
    """Whether the output is the one shown; `...` stands for anything, alone on a line for any lines."""
    pattern = re.escape(expected.strip("\n")).replace(re.escape("..."), ".*")
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    return re.fullmatch(pattern, "\n".join(lines), re.DOTALL) is not None


@pytest.mark.parametrize("page", PAGES)
def test_sessions_print_what_they_show(page: str, project_root: Path, tmp_path: Path) -> None:
    """Each session is typed in a fresh folder that has the shipped fixtures and rules."""
    for name in ("fixtures", "rules"):
        (tmp_path / name).symlink_to(project_root / name)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ENERGYCOMM_")}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "120",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    text = (project_root / page).read_text("utf-8")
    environment |= dict(re.findall(r"^export .*?(ENERGYCOMM_\w+)=(\S+)", text, re.MULTILINE))
    for session in sessions(text):
        for typed, expected in session:
            done = subprocess.run(
                typed,
                shell=True,
                cwd=tmp_path,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                timeout=PATIENCE,
            )
            assert matches(expected, done.stdout), f"$ {typed}\nshown:\n{expected}\nprinted:\n{done.stdout}"


@pytest.mark.thorough
@pytest.mark.parametrize("demo", [True, False], ids=["with-the-demo's-exports", "without"])
def test_the_session_begins_in_any_terminal(demo: bool, project_root: Path, tmp_path: Path) -> None:
    """Its first lines find the program and a store of their own, in a terminal that has typed nothing else."""
    text = (project_root / "README.md").read_text("utf-8")
    _, after = text.split("## A session")
    (before,) = re.findall(r"^```sh\n(.*?)^```$", after.split("```console")[0], re.MULTILINE | re.DOTALL)
    typed, expected = sessions(text)[0][0]
    (tmp_path / "rules").symlink_to(project_root / "rules")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"}
    if demo:
        taken = tmp_path / "demo"
        taken.mkdir()
        (taken / "energycomm.db").write_bytes(b"what the demo left")
        environment |= {
            "ENERGYCOMM_DATABASE": f"sqlite:///{taken / 'energycomm.db'}",
            "ENERGYCOMM_CONFIG": "demo/gone.toml",
        }
    done = subprocess.run(
        ["sh", "-c", f"{before}\n{typed}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert matches(expected, done.stdout), done.stdout + done.stderr
    assert (tmp_path / "session.db").stat().st_size > 0


def test_the_readme_has_a_session(project_root: Path) -> None:
    """A reader sees what EnergyComm does before installing it."""
    assert sessions((project_root / "README.md").read_text("utf-8"))


def test_an_output_that_differs_is_noticed() -> None:
    """The comparison itself is compared."""
    assert matches("a\n...\nz\n", "a\nb\nc\nz\n")
    assert matches("in ... s\n", "in 0.3 s\n")
    assert not matches("a\n...\nz\n", "a\nb\nc\n")
    assert not matches("a\n", "a\nb\n")


def test_links_between_pages_lead_somewhere(project_root: Path) -> None:
    """No link of the documentation points at a file or heading that is not there."""
    pages = [project_root / "README.md", project_root / "CHANGELOG.md", *(project_root / "docs").rglob("*.md")]
    dead = []
    for page in pages:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
            if target.startswith(("http://", "https://")):
                continue
            file, _, heading = target.partition("#")
            path = (page.parent / file).resolve() if file else page
            if not path.exists() or (heading and heading not in anchors(path)):
                dead.append(f"{page.relative_to(project_root)}: {target}")
    assert dead == []


def anchors(page: Path) -> set[str]:
    """The addresses of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
