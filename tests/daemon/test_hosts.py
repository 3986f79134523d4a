"""Several hosts over one database: one is cut off, and the others take its work over."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from energycomm.daemon.locks import open_locks
from energycomm.eis.database import opened
from tests.daemon import chaos_hosts
from tests.daemon.chaos import Plan
from tests.namespaces import Network, network, why_not
from tests.postgres import PostgresServer, prepared

LIVES = 3.0
"""Seconds that a line lives here after a cut: 1 + 2 * 1. The default is 25."""
SHORT = "?keepalives_idle=1&keepalives_interval=1&keepalives_count=2&tcp_user_timeout=3000&connect_timeout=2"

LEADER = """
import sys
from energycomm.daemon.locks import open_locks
from energycomm.eis.database import opened
with opened(sys.argv[1]) as engine:
    locks = open_locks(engine)
    print(locks.take("poll/enedis"), flush=True)
    for _ in sys.stdin:
        print(locks.holds("poll/enedis"), flush=True)
"""


@pytest.fixture
def net() -> Iterator[Network]:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with network(1) as made:
        yield made


@pytest.fixture
def server(net: Network) -> Iterator[PostgresServer]:
    with prepared(host=net.address) as made:
        made.start()
        yield made


@pytest.mark.thorough
def test_a_host_that_is_cut_off_loses_its_lead_when_its_line_dies(net: Network, server: PostgresServer) -> None:
    """The server lets go of what it held, and it knows itself when it can ask again."""
    (host,) = net.hosts
    url = server.url() + SHORT
    command = host.command(sys.executable, "-c", LEADER, url)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as leader:
        assert leader.stdin is not None
        assert leader.stdout is not None
        assert leader.stdout.readline() == "True\n"
        with opened(url) as engine:
            ours = open_locks(engine)
            assert not ours.take("poll/enedis")
            host.cut()
            begun = time.monotonic()
            while not ours.take("poll/enedis") and time.monotonic() - begun < 60:
                time.sleep(0.05)
            assert LIVES - 1.5 < time.monotonic() - begun < LIVES + 15
            host.mend()
            leader.stdin.write("\n")
            leader.stdin.flush()
            assert leader.stdout.readline() == "False\n"
            assert ours.holds("poll/enedis")
            ours.close()
        leader.stdin.close()


@pytest.mark.slow
def test_two_minutes_of_chaos_on_three_hosts_leave_no_trace(tmp_path: Path) -> None:
    """Hosts are cut off and come back, the primary dies, workers and daemons are killed."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    plan = Plan(120, 1, 3, points=4, months=4, requests=24, kill_every=15, restart_every=40, stop_every=50, drain=300)
    outcome = chaos_hosts.run(plan, tmp_path)
    assert outcome.left == []
    assert outcome.differences == []
    for what in ("failovers", "hosts cut off", "of them for long", "workers killed", "daemon restarts"):
        assert outcome.done[what] > 0, outcome
    assert outcome.told > 0
