"""The page of the benchmarks: each section has its figures between two marks, which a run replaces.

The words around the marks are written by hand: what is measured, the target, what the figures mean.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from energycomm.errors import UserError

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
_MARKED = re.compile(r"(?<=<!-- figures: )([a-z-]+)( -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)


def sections(page: str) -> list[str]:
    """The sections of a page, in its order."""
    return [found[1] for found in _MARKED.finditer(page)]


def fill(path: Path, section: str, lines: Sequence[str]) -> None:
    """Put the figures of a section in the place of those that the page has.

    Raises:
      UserError: the page has no such section.
    """
    page = path.read_text(encoding="utf-8")
    if section not in sections(page):
        raise UserError(f"{path} has no figures of {section}.", f"Give them a place: <!-- figures: {section} -->")
    text = "\n".join(lines)

    def figures(found: re.Match[str]) -> str:
        return f"{found[1]}{found[2]}{text}\n" if found[1] == section else found[0]

    path.write_text(_MARKED.sub(figures, page), encoding="utf-8")


def origin(typed: Sequence[str], section: str) -> str:
    """The line above the figures: date, commit and command.

    Args:
      typed: the words of the command line.
      section: what was measured.
    """
    words = [word for word in typed if word != "--page"]
    if "--only" not in words:
        words = ["--only", section, *words]
    return f"{datetime.now(UTC):%Y-%m-%d}, commit {_commit()}: `python -m benchmarks {' '.join(words)}`"


def _commit() -> str:
    """The commit that is measured; with a word about what was changed since."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"`{commit}`{' with changes' if changed else ''}"


def _git(*words: str) -> str:
    done = subprocess.run([shutil.which("git") or "git", *words], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.strip()
