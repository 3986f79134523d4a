"""The power of the database's host goes in the middle: after the next run everything is as if it had not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from energycomm.eis.comparison import differences
from energycomm.eis.database import opened
from tests.faults.gateway import SECONDS, Gateway, until
from tests.faults.stores import Facts
from tests.postgres import DURABLE, PostgresServer, running


@pytest.fixture
def durable() -> Iterator[PostgresServer]:
    """A server of this test's own that keeps its promises."""
    with running(DURABLE) as server:
        yield server


def told(gateway: Gateway) -> int:
    """How much a run has said of its work."""
    return sum(len(gateway.events(name)) for name in ("envelope.archived", "batch.stored", "envelope.done"))


def cut_process(server: PostgresServer, gateway: Gateway, inbox: Path, rng: random.Random) -> bool:
    """One run of `process` that loses its database after some steps; whether it was in the middle."""
    begun, steps = told(gateway), rng.randrange(0, 12)
    process = gateway.start("process", str(inbox))
    until(lambda: told(gateway) - begun >= steps or process.poll() is not None, "the run gets on")
    cut = process.poll() is None
    server.lose_power()
    code = process.wait(SECONDS)
    assert code in ((4,) if cut and code not in (0, 1, 2) else (0, 1, 2)), gateway.said()
    server.start_again()
    return cut


def check_process(server: PostgresServer, tmp_path: Path, rounds: int, seed: int) -> None:
    quiet = Gateway(tmp_path / "quiet", server.url(server.create_database()))
    inbox = tmp_path / "files"
    inbox.mkdir()
    quiet.drop(inbox)
    assert quiet.run("process", str(inbox)) == 2
    rng, cuts = random.Random(seed), 0
    for number in range(0, rounds, 3):
        gateway = Gateway(tmp_path / f"cut{number}", server.url(server.create_database()))
        cuts += sum(cut_process(server, gateway, inbox, rng) for _ in range(min(3, rounds - number)))
        assert gateway.run("process", str(inbox)) in (0, 1, 2), gateway.said()  # it tells of what it did itself
        assert differences(quiet.facts(), gateway.facts()) == []
        # What was said to be committed is there: nothing of it was taken back by the recovery.
        assert "Traceback" not in gateway.said()
    assert cuts > 0


@pytest.mark.thorough
def test_process_goes_on_after_the_power_went(durable: PostgresServer, tmp_path: Path) -> None:
    """The run says what is wrong and ends with code 4; the next one takes up what is left."""
    check_process(durable, tmp_path, rounds=3, seed=1)


@pytest.mark.slow
def test_process_goes_on_after_the_power_went_fifty_times(durable: PostgresServer, tmp_path: Path) -> None:
    check_process(durable, tmp_path, rounds=51, seed=2)


def check_daemon(server: PostgresServer, tmp_path: Path, wanted: Facts, rounds: int, seed: int) -> None:
    rng = random.Random(seed)
    gateway = Gateway(tmp_path / "cut", server.url(server.create_database()))
    with gateway.daemon() as process:
        gateway.drop()
        for _ in range(rounds):
            begun, steps = told(gateway), rng.randrange(0, 6)
            until(lambda b=begun, s=steps: told(gateway) - b >= s or gateway.quiet(), "the daemon gets on")  # type: ignore[misc]
            lost = len(gateway.events("database.lost"))
            server.lose_power()
            until(lambda n=lost: len(gateway.events("database.lost")) > n, "the daemon says so")  # type: ignore[misc]
            server.start_again()
        until(gateway.quiet, "the daemon has done everything")
        assert process.poll() is None
    assert "DATABASE_LOST" in [code for code, _ in gateway.alarms()]
    assert differences(wanted, gateway.facts()) == []
    with opened(gateway.url) as engine, engine.connect() as connection:
        sent = connection.exec_driver_sql("SELECT count(*) FROM outbox").scalar()
    assert len(list((gateway.folder / "told").glob("*.json"))) == sent


@pytest.mark.thorough
def test_the_daemon_goes_on_after_the_power_went(durable: PostgresServer, tmp_path: Path, in_peace: Facts) -> None:
    """It lives, alarms, and does what is left when the database is back."""
    check_daemon(durable, tmp_path, in_peace, rounds=3, seed=3)


@pytest.mark.slow
def test_the_daemon_goes_on_after_the_power_went_forty_times(
    durable: PostgresServer, tmp_path: Path, in_peace: Facts
) -> None:
    check_daemon(durable, tmp_path, in_peace, rounds=40, seed=4)
