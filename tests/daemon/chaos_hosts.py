"""Chaos with several hosts: a daemon on each, one cut off and coming back, and a primary that dies.

Each host is a network namespace with a name of its own. The markets' servers and two PostgreSQL servers, of which one
follows the other, are outside. Hosts share what the operator's manual has them share: the folders of folder channels.
Spools are their own. A cut lasts shorter or longer than the lines live: after a short one the host goes on where it
was, during a long one the others take its work over.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.daemon.chaos import COMMAND, Chaos, Outcome, Plan, _environment, wait_for_life
from tests.daemon.chaos_markets import Markets
from tests.namespaces import Host, Network, network
from tests.replication import Pair, replicating
from tests.servers.sftp import SftpTestServer, sftp_server

NOT_SHARED = {"energycomm.toml", "sim", "served"}
"""Each host has settings of its own, and what is with the markets no host sees. Everything else is at the same place on
each: mounted folders, and files that the operator gave to all."""
SHORT, LONG = (2.0, 10.0), (28.0, 40.0)
"""Seconds that a cut lasts: lines live for 25 seconds."""
SPLIT = (3.0, 10.0)
"""Seconds that two primaries live beside each other."""


class HostsChaos(Chaos):
    """One run.

    Args:
      plan: what is done.
      folder: to work in.
      pair: the database servers.
      sftp: the SFTP server.
      markets: everybody else around the daemons.
      net: the hosts.
    """

    def __init__(
        self, plan: Plan, folder: Path, pair: Pair, sftp: SftpTestServer, markets: Markets, net: Network
    ) -> None:
        super().__init__(plan, folder, pair, sftp, markets)
        self.pair, self.net = pair, net
        self.daemons: dict[Host, subprocess.Popen[bytes]] = {}

    def _configure(self) -> None:
        super()._configure()
        text = (self.folder / "energycomm.toml").read_text()
        shared = [path for path in self.folder.iterdir() if path.name not in NOT_SHARED]
        for host in self.net.hosts:
            own = self.folder / host.name
            own.mkdir()
            for path in shared:
                (own / path.name).symlink_to(path)
            (own / "energycomm.toml").write_text(text.replace("[push]\n", f'[push]\nhost = "{host.address}"\n'))

    def _start(self, log: Any) -> None:
        for host in self.net.hosts:
            if host not in self.daemons:
                self._start_on(host, log)

    def _start_on(self, host: Host, log: Any) -> None:
        with self._daemon_guard:
            self._beat(host).unlink(missing_ok=True)
            self.daemons[host] = subprocess.Popen(
                host.command(sys.executable, "-c", COMMAND, "daemon"),
                cwd=self.folder / host.name,
                stdout=log,
                stderr=log,
                env=_environment(),
            )

    def _stop(self, how: signal.Signals) -> None:
        for host in list(self.daemons):
            self._stop_on(host, how)

    def _beat(self, host: Host) -> Path:
        return self.folder / host.name / "beat.json"

    def _stop_on(self, host: Host, how: signal.Signals) -> None:
        with self._daemon_guard:
            daemon, whole = self.daemons.pop(host), not host.is_cut
            cuts = host.cuts
            wait_for_life(daemon, self._beat(host))
            daemon.send_signal(how)
            code = daemon.wait(120)
        if how is signal.SIGTERM and code != 0 and whole and host.cuts == cuts:
            self.outcome.left.append(f"the daemon of {host.name} ended with {code}")

    def _facts(self) -> dict[str, Any]:
        """Those of a host that was not cut off, with the workers of all."""
        found: list[tuple[Host, dict[str, Any]]] = []
        for host in self.net.hosts:
            with contextlib.suppress(OSError, ValueError):
                found.append((host, json.loads(self._beat(host).read_text())))
        there = [(host, facts) for host, facts in found if not host.is_cut]
        if not there:
            return {"workers": []}
        host, facts = random.choice(there)
        self.markets.push_host, self.markets.push_port = host.address, facts["push"]["port"]
        return facts | {"workers": [worker for _, one in found for worker in one["workers"]]}

    def _wait_for_workers(self) -> None:
        deadline = time.monotonic() + 120
        while len(self._workers()) < self.plan.workers * len(self.net.hosts) and time.monotonic() < deadline:
            time.sleep(0.2)

    def _acts(self, log: Any) -> list[tuple[float, Callable[[], None]]]:
        plan = self.plan
        return [
            (plan.kill_every, self._kill),
            (plan.restart_every, self._fail_over),
            (plan.cut_every, self._cut),
            (plan.away_every, self._cut_off),
            (plan.stop_every, lambda: self._end(log)),
        ]

    def _fail_over(self) -> None:
        """Kill the primary; the standby takes its place, and the dead server follows it. Every second time the primary
        lives on beside its successor for a while."""
        if self.outcome.done["failovers"] % 2 == 1:
            self.pair.split()
            self.over.wait(self.rng.uniform(*SPLIT))
            self.pair.fence()
            self.outcome.done["of them with a primary that lived on"] += 1
        else:
            self.pair.fail_over()
        self.outcome.done["failovers"] += 1
        self.pair.heal()

    def _cut_off(self) -> None:
        """Cut a host off the others; every second time for longer than its lines live."""
        host, long = self.rng.choice(self.net.hosts), self.outcome.done["hosts cut off"] % 2 == 0
        host.cut()
        self._facts()
        self.over.wait(self.rng.uniform(*(LONG if long else SHORT)))
        host.mend()
        self.outcome.done["hosts cut off"] += 1
        self.outcome.done["of them for long"] += long

    def _end(self, log: Any) -> None:
        """End the daemon of one host, every second time without a word, and start it again."""
        kill = self.outcome.done["daemon restarts"] % 2 == 1
        host = self.rng.choice(self.net.hosts)
        self._stop_on(host, signal.SIGKILL if kill else signal.SIGTERM)
        self._start_on(host, log)
        self.outcome.done["daemon restarts"] += 1
        self.outcome.done["of them kills"] += kill

    def _judge(self) -> None:
        super()._judge()
        log = (self.folder / "daemon.log").read_text(errors="replace")
        self.outcome.differences += [f"in the log: {line[:4000]}" for line in _tracebacks(log)]
        led = {line["duty"].partition("@")[0] + " " + line["worker"] for line in _lines(log, "duty.leads")}
        self.outcome.done["duties led"] = len(led)


def _tracebacks(log: str) -> list[str]:
    """Each traceback of the log with what follows it, or the line of the log that holds it."""
    lines = log.splitlines()
    starts = [number for number, line in enumerate(lines) if "Traceback" in line]
    return [lines[at] if lines[at].startswith("{") else "\n".join(lines[at : at + 40]) for at in starts]


def _lines(log: str, event: str) -> list[dict[str, Any]]:
    found = []
    for line in log.splitlines():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return [line for line in found if line.get("event") == event]


def run(plan: Plan, folder: Path) -> Outcome:
    """One run on servers of its own.

    Raises:
      CalledProcessError: network namespaces cannot be made here.
    """
    (folder / "served").mkdir()
    with contextlib.ExitStack() as stack:
        net = stack.enter_context(network(plan.hosts))
        pair = stack.enter_context(replicating((net.address, net.address)))
        sftp = stack.enter_context(sftp_server(folder / "served", host=net.address))
        return HostsChaos(plan, folder, pair, sftp, Markets(folder, sftp, stack, plan.seed), net).run()
