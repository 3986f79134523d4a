"""Jobs run once for a key, tell how far they are, stop when they are told to, and fail in words."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from energycomm.console.jobs import MOST_JOBS, Job, Workbench
from energycomm.errors import UserError
from tests.console.conftest import until


@pytest.fixture
def bench() -> Iterator[Workbench]:
    """A workbench whose jobs need no services."""
    made = Workbench(cast("Any", SimpleNamespace()))
    yield made
    made.close()


def test_a_second_click_finds_the_job_of_the_first(bench: Workbench) -> None:
    """While it works; afterwards the same key is a new job."""
    gate = threading.Event()
    first = bench.start("k", "one", "anna", lambda _: gate.wait(20))
    assert bench.start("k", "two", "ben", lambda _: None) is first
    gate.set()
    until(lambda: first.over)
    assert bench.start("k", "three", "anna", lambda _: None) is not first


def test_a_job_tells_how_far_it_is_and_what_it_came_to(bench: Workbench) -> None:
    def work(job: Job) -> str:
        job.step(3, 7)
        return "result"

    job = bench.start("k", "count", "anna", work)
    until(lambda: job.over)
    assert (job.state, job.done, job.total, job.result) == ("done", 3, 7, "result")
    assert bench.find(job.id) is job
    assert bench.latest("k") is job


def test_a_job_stops_at_its_next_step_when_it_is_cancelled(bench: Workbench) -> None:
    begun, gate, after = threading.Event(), threading.Event(), []

    def work(job: Job) -> None:
        begun.set()
        gate.wait(20)
        job.step(1)
        after.append("went on")

    job = bench.start("k", "long", "anna", work)
    begun.wait(20)
    job.cancel()
    gate.set()
    until(lambda: job.over)
    assert (job.state, after) == ("cancelled", [])


def test_a_job_that_waits_is_cancelled_before_it_begins(bench: Workbench) -> None:
    gate, done = threading.Event(), []
    for number in range(2):
        bench.start(f"busy {number}", "busy", "anna", lambda _: gate.wait(20))
    job = bench.start("k", "waits", "anna", lambda _: done.append(1))
    job.cancel()
    gate.set()
    bench.close()
    assert (job.state, done) == ("cancelled", [])


def test_a_mistake_of_the_user_is_told_and_one_of_ours_is_not(bench: Workbench) -> None:
    """The log has the traceback, the page does not."""

    def wrong(_: Job) -> None:
        raise UserError("There is no such script.", "Choose another.")

    def broken(_: Job) -> None:
        raise ValueError("secret of the house")

    user, ours = bench.start("a", "a", "anna", wrong), bench.start("b", "b", "anna", broken)
    until(lambda: user.over and ours.over)
    assert (user.state, user.trouble) == ("failed", "There is no such script. Choose another.")
    assert ours.state == "failed"
    assert "secret" not in ours.trouble


def test_a_look_at_a_job_stays_as_it_was(bench: Workbench) -> None:
    """A page that began while the job worked says so to its end, and asks again."""
    gate = threading.Event()
    job = bench.start("k", "one", "anna", lambda _: gate.wait(20))
    until(lambda: job.state == "working")
    seen = job.look()
    gate.set()
    until(lambda: job.over)
    assert (seen.state, seen.over) == ("working", False)
    assert (job.look().state, job.look().result) == ("done", True)


def test_old_jobs_are_forgotten(bench: Workbench) -> None:
    first = bench.start("first", "x", "anna", lambda _: None)
    until(lambda: first.over)
    for number in range(MOST_JOBS + 5):
        job = bench.start(f"{number}", "x", "anna", lambda _: None)
        until(lambda job=job: job.over)  # type: ignore[misc]
    assert bench.find(first.id) is None
    assert bench.find(job.id) is job
