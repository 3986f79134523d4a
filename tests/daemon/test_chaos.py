"""Nothing is lost and nothing happens twice, whatever fails around the daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.chaos import Outcome, Plan, run
from tests.daemon.chaos_markets import MARKETS

HAPPENED = ("workers killed", "database restarts", "sftp cuts", "folder absences", "daemon restarts")


def check(plan: Plan, folder: Path) -> Outcome:
    """One run; everything that was planned must have happened, and nothing may show it."""
    outcome = run(plan, folder)
    log = (folder / "daemon.log").read_text(errors="replace")
    assert outcome.left == [], log[-4000:]
    assert outcome.differences == []
    assert "Traceback" not in log
    for what in HAPPENED:
        assert outcome.done[what] > 0, outcome
    assert outcome.told > 0
    assert all(number > 0 for number in outcome.envelopes.values())
    assert set(outcome.requests.values()) == {plan.requests // len(MARKETS)}
    return outcome


@pytest.mark.thorough
def test_half_a_minute_of_chaos_leaves_no_trace(tmp_path: Path) -> None:
    """Workers die, the database restarts, channels flap, the daemon is stopped; the store is that of a quiet run."""
    often = {"kill_every": 5, "restart_every": 9, "cut_every": 4, "away_every": 6, "stop_every": 13}
    check(Plan(24, points=2, months=2, requests=12, **often), tmp_path)


@pytest.mark.slow
def test_three_minutes_of_chaos_leave_no_trace(tmp_path: Path) -> None:
    """The same with more envelopes, every second end of the daemon a kill, and services that fail after the deed."""
    plan = Plan(180, points=12, months=8, requests=88, kill_every=10, restart_every=30, stop_every=40, drain=300)
    outcome = check(plan, tmp_path)
    assert outcome.done["of them kills"] > 0
    assert outcome.done["of them crashes"] > 0
    assert outcome.done["push endpoints killed"] > 0
    assert outcome.done["calls of services, after"] > 0
    assert outcome.requests_refused_by_markets > 0


@pytest.mark.soak
def test_an_hour_of_chaos_leaves_no_trace(tmp_path: Path) -> None:
    """An hour; run it alone with `make soak`."""
    plan = Plan(3600, points=80, months=12, requests=600, kill_every=15, restart_every=30, stop_every=180, drain=900)
    check(plan, tmp_path)
