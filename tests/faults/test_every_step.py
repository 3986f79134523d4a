"""A fault at every step: after the next run the store is that of a run in peace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.points import FAULTS


def harness(root: Path, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run it in a process of its own: its children are forked, and here other threads may run."""
    command = [sys.executable, "-m", "tests.faults", "--folder", str(tmp_path), *words]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ENERGYCOMM_")}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.thorough
@pytest.mark.parametrize("database", ["SQLite", "PostgreSQL"])
def test_a_fault_at_a_sample_of_the_steps_makes_no_difference(
    project_root: Path, tmp_path: Path, database: str
) -> None:
    """The first point of every kind, and of the many statements each so-manieth, one of the faults at each in turn."""
    done = harness(project_root, tmp_path, "--every", "120", "--database", database)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith(" 0 differences")


@pytest.mark.thorough
def test_the_harness_finds_a_store_that_differs(project_root: Path, tmp_path: Path) -> None:
    """Something that is changed behind its back is found: the comparison is no formality."""
    done = harness(project_root, tmp_path, "--every", "60", "--job", "request", "--database", "SQLite", "--break")
    assert done.returncode == 1, done.stderr
    assert "DIFFERENCE request on SQLite" in done.stderr


@pytest.mark.slow
def test_every_fault_at_every_step_makes_no_difference(project_root: Path, tmp_path: Path) -> None:
    done = harness(project_root, tmp_path, "--all")
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    assert all(fault in done.stdout for fault in FAULTS)
