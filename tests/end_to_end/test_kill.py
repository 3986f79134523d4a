"""`kill -9` at any point loses nothing and does nothing twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from energycomm.eis.comparison import differences
from tests.end_to_end.conftest import Place

Places = Callable[..., Place]


COMMAND = "import sys; from energycomm.cli import main; sys.exit(main(sys.argv[1:]))"


def run_killed(inbox: Path, folder: Path, kills: int, seed: int) -> int:
    """Start `energycomm process` again and again and kill it at random points; how often it was killed in time."""
    rng = random.Random(seed)
    killed = 0
    for _ in range(kills):
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "process", str(inbox), "--json"],
            cwd=folder,
            env=os.environ | {"ENERGYCOMM_BATCH_SIZE": "3"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # Most of a run is start-up: the interesting part begins when the database grows.
        time.sleep(rng.uniform(0.6, 2.2))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.wait()
    return killed


def check(place: Places, url: str, kills: int, points: int) -> None:
    """Compare a run that was killed again and again with one that was left alone."""
    quiet = place(name="quiet")
    assert quiet("simulate", "--market", "fr", "--access-points", points, "--months", 4, quiet.folder / "sim").code == 0
    inbox = quiet.folder / "sim" / "envelopes"
    assert quiet.process(inbox).code == 0
    wanted = quiet.meaning()
    here = place(url, name="disturbed")
    assert run_killed(inbox, here.folder, kills, seed=kills) > 0
    assert here.process(inbox).code == 0
    assert differences(wanted, here.meaning()) == []
    assert here.rows("SELECT count(*) FROM envelope WHERE state IN ('archived', 'processing')") == [(0,)]


@pytest.mark.thorough
def test_a_run_that_is_killed_ends_in_the_same_eis(place: Places, database_url: str) -> None:
    """A few kills, on both databases."""
    check(place, database_url, kills=4, points=8)


@pytest.mark.slow
def test_fifty_kills_end_in_the_same_eis(place: Places, database_url: str) -> None:
    """Fifty kills at random points; run with `make test ARGS="-m slow"`."""
    check(place, database_url, kills=50, points=60)
