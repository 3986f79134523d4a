"""Chaos: the daemon of four markets on PostgreSQL while everything around it fails, held against a quiet store.

    python -m tests.daemon.chaos --seconds 600 --workers 2
    python -m tests.daemon.chaos --seconds 600 --hosts 3

Simulated envelopes of France, the Netherlands, Belgium and Denmark arrive through a folder, an SFTP server, pushes, a
polled queue and queues over HTTP, some of them twice; requests go out through SOAP services, the queues and a folder,
and the markets answer them. Meanwhile workers and the push endpoint are killed, the database is restarted (every
second time without its shutdown), SFTP connections are cut, the services hang up before and after they did what they
were asked for, the folder goes away, and the whole daemon is stopped and killed. At the end everything must be as in a
store that took in the same in peace: every message, verdict and domain row, every request with what its market decided,
and everything that the back office was to be told must have been told. With `--hosts` there are several hosts and two
databases (`tests.daemon.chaos_hosts`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from energycomm import logs
from energycomm.eis import migrations
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import opened, reading
from energycomm.errors import UserError
from energycomm.simulation.faults import FaultRates, parse_faults
from energycomm.simulation.port import load_simulator
from energycomm.simulation.scenario import Scenario
from tests.daemon import chaos_judgement as judgement
from tests.daemon.chaos_markets import MARKETS, Envelope, Markets
from tests.daemon.chaos_requests import BackOffice, asks, fates, mistakes, one_answer_each
from tests.postgres import DURABLE, PostgresServer, running
from tests.replication import Pair
from tests.servers.sftp import PASSWORD, SftpTestServer, sftp_server

COMMAND = "import sys; from energycomm.cli import main; sys.exit(main(sys.argv[1:]))"
FAULTS = ("wrong-order=0.2", "duplicate-file=0.1", "grid_operator=0.1")
PATIENCE = "attempts = 8\nfirst_wait = 0.2\nlongest_wait = 1\nbreak_after = 20\nbreak_for = 0.5\n"


@dataclass
class Plan:
    """What is done to the daemon.

    Attributes:
      seconds: for how long envelopes arrive and things fail.
      workers, hosts: workers of each host, and hosts.
      points, months: size of each market's simulation.
      requests: how many requests are handed in, to the markets in turn.
      kill_every, restart_every, cut_every, away_every, stop_every: mean seconds between two kills of a worker,
        restarts of the database, cuts of the servers, absences of the folder, ends of the whole daemon.
      again: share of the envelopes that are sent a second time.
      drain: seconds that the rest may take.
    """

    seconds: float
    workers: int = 2
    hosts: int = 1
    points: int = 5
    months: int = 6
    requests: int = 24
    kill_every: float = 6
    restart_every: float = 12
    cut_every: float = 5
    away_every: float = 9
    stop_every: float = 25
    again: float = 0.1
    drain: float = 180
    seed: int = 1


@dataclass
class Outcome:
    """What was done, and how it ended."""

    envelopes: dict[str, int] = field(default_factory=dict)
    sent_again: int = 0
    documents_of_answers: int = 0
    ch_messages: int = 0
    kernel_messages: int = 0
    requests: dict[str, int] = field(default_factory=dict)
    requests_refused_by_markets: int = 0
    acknowledgements: int = 0
    requests_handed_in_again: int = 0
    requests_received_again: int = 0
    requests_ended_by_later_documents: int = 0
    pushed_again: int = 0
    told: int = 0
    told_twice_or_more: int = 0
    done: Counter[str] = field(default_factory=Counter)
    seconds_to_drain: float = 0
    differences: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Nothing lost, nothing twice, nothing left."""
        return not self.differences and not self.left


class Chaos:
    """One run.

    Args:
      plan: what is done.
      folder: to work in.
      server: the database server, the run's own.
      sftp: the SFTP server, which serves `folder`/served.
      markets: everybody else around the daemon.
    """

    def __init__(
        self, plan: Plan, folder: Path, server: PostgresServer | Pair, sftp: SftpTestServer, markets: Markets
    ) -> None:
        self.plan, self.folder, self.server, self.sftp, self.markets = plan, folder, server, sftp, markets
        self.inbox, self.told = folder / "in", folder / "told"
        self.outcome = Outcome()
        self.rng = random.Random(plan.seed)
        self.over = threading.Event()
        self.daemon: subprocess.Popen[bytes] | None = None
        self._daemon_guard = threading.Lock()

    def run(self) -> Outcome:
        """Do it all."""
        logs.configure(level="error")
        self._simulate()
        self._configure()
        self.asks = asks(self.plan.requests, self.markets.registers)
        self.office = BackOffice(self.url, self.plan.seed)
        log = (self.folder / "daemon.log").open("ab")
        with log:
            self._start(log)
            try:
                self._wait_for_workers()
                self.markets.start()
                self._disturb(log)
                self._drain()
            finally:
                self.markets.stop()
                self._stop(signal.SIGTERM)
        self._judge()
        return self.outcome

    # --- before ---

    def _simulate(self) -> None:
        """The envelopes of the markets, by market, in the order in which each made them."""
        self.envelopes: list[tuple[str, Path]] = []
        for market in MARKETS:
            simulator = load_simulator(market)
            assert simulator is not None
            playable = simulator.playable()
            words = [word for word in FAULTS if word.partition("=")[0] in {*playable, "duplicate-file"}]
            faults = parse_faults(words if self.plan.months >= simulator.fault_months else (), playable)
            assert isinstance(faults, FaultRates)
            scenario = Scenario(self.plan.points, self.plan.months, self.plan.seed, faults=faults, per_file=20)
            simulator.simulate(scenario, self.folder / "sim" / market)
            files = sorted((self.folder / "sim" / market / "envelopes").iterdir())
            self.envelopes += [(market, path) for path in files]
            self.outcome.envelopes[market] = len(files)

    def _configure(self) -> None:
        self.told.mkdir()
        (self.folder / "password").write_text(PASSWORD)
        self.url = self.server.url(self.server.create_database())
        with opened(self.url) as engine:
            migrations.upgrade(engine)
        (self.folder / "energycomm.toml").write_text(
            f'database = "{self.url}"\nbatch_size = 20\nlog_level = "info"\nlog_format = "json"\n'
            f"[daemon]\nworkers = {self.plan.workers}\npoll_seconds = 0.3\nsend_seconds = 0.3\ntidy_seconds = 2\n"
            'port = 0\nheartbeat = "beat.json"\nbacklog = 60\nattempts = 1000\nalarm_seconds = 5\n'
            f'[notify]\nfolder = "told"\n{self.markets.settings(PATIENCE)}'
        )

    # --- the daemon ---

    def _start(self, log: Any) -> None:
        with self._daemon_guard:
            (self.folder / "beat.json").unlink(missing_ok=True)
            self.daemon = subprocess.Popen(
                [sys.executable, "-c", COMMAND, "daemon"], cwd=self.folder, stdout=log, stderr=log, env=_environment()
            )

    def _stop(self, how: signal.Signals) -> None:
        with self._daemon_guard:
            if self.daemon is None:
                return
            wait_for_life(self.daemon, self.folder / "beat.json")
            self.daemon.send_signal(how)
            code = self.daemon.wait(90)
            self.daemon = None
        if how is signal.SIGTERM and code != 0:
            self.outcome.left.append(f"the daemon ended with {code}")

    def _facts(self) -> dict[str, Any]:
        try:
            facts: dict[str, Any] = json.loads((self.folder / "beat.json").read_text())
        except (OSError, ValueError):
            return {"workers": []}
        self.markets.push_port = facts["push"]["port"]
        return facts

    def _workers(self) -> list[int]:
        facts = self._facts()
        # One that only begins holds nothing: its death would show nothing.
        return [worker["pid"] for worker in facts["workers"] if worker["state"] in ("idle", "working", "waiting")]

    def _wait_for_workers(self) -> None:
        deadline = time.monotonic() + 60
        while len(self._workers()) < self.plan.workers and time.monotonic() < deadline:
            time.sleep(0.2)

    # --- what happens to it ---

    def _disturb(self, log: Any) -> None:
        plan = self.plan
        threads = [threading.Thread(target=self._again_and_again, args=act) for act in self._acts(log)]
        threads.append(threading.Thread(target=self._feed))
        asking = (self.asks, 0.9 * plan.seconds, self.over)
        threads.append(threading.Thread(target=self.office.hand_in, args=asking))
        for thread in threads:
            thread.start()
        time.sleep(plan.seconds)
        self.over.set()
        for thread in threads:
            thread.join()

    def _acts(self, log: Any) -> list[tuple[float, Callable[[], None]]]:
        """What happens, each with its mean seconds between two times."""
        plan = self.plan
        return [
            (plan.kill_every, self._kill),
            (plan.restart_every, self._restart_database),
            (plan.cut_every, self._cut),
            (plan.away_every, self._away),
            (plan.stop_every, lambda: self._end(log)),
        ]

    def _again_and_again(self, every: float, act: Callable[[], None]) -> None:
        rng = random.Random(f"{self.plan.seed} {every}")
        while not self.over.wait(every * rng.uniform(0.5, 1.5)):
            act()

    def _feed(self) -> None:
        """Let the envelopes arrive in any order, evenly over the time, some of them again."""
        sendings = self.rng.sample(self.envelopes, len(self.envelopes))
        again = self.rng.sample(sendings, int(len(sendings) * self.plan.again))
        self.outcome.sent_again = len(again)
        begun = time.monotonic()
        for number, (market, path) in enumerate(sendings + again):
            due = begun + 0.9 * self.plan.seconds * number / (len(sendings) + len(again))
            self.over.wait(max(0.0, due - time.monotonic()))
            self.markets.send(market, Envelope(path.name, path.read_bytes()))

    def _kill(self) -> None:
        deadline = time.monotonic() + 5
        while not (workers := self._workers()) and time.monotonic() < deadline and not self.over.wait(0.2):
            pass
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.rng.choice(workers), signal.SIGKILL)
                self.outcome.done["workers killed"] += 1
        endpoint = self._facts().get("push", {}).get("pid")
        if endpoint and self.rng.random() < 0.3:
            with contextlib.suppress(ProcessLookupError):
                os.kill(endpoint, signal.SIGKILL)
                self.outcome.done["push endpoints killed"] += 1

    def _restart_database(self) -> None:
        assert isinstance(self.server, PostgresServer)
        crash = self.outcome.done["database restarts"] % 2 == 1
        self.server.restart(signal.SIGQUIT if crash else signal.SIGINT)
        self.outcome.done["database restarts"] += 1
        self.outcome.done["of them crashes"] += crash

    def _cut(self) -> None:
        self.sftp.faults.refuse = self.rng.randint(0, 3)
        self.sftp.faults.break_after = self.rng.randint(100, 3000)
        self.sftp.cut()
        self.outcome.done["sftp cuts"] += 1
        self.markets.trouble.begin(self.rng.uniform(0.5, 2))

    def _away(self) -> None:
        with self.markets.folder_guard:
            away = self.folder / "away"
            self.inbox.rename(away)
            time.sleep(self.rng.uniform(0.2, 1.0))
            while True:
                try:
                    away.rename(self.inbox)
                    break
                except OSError:  # a poll that began before made its lock's folder anew
                    shutil.rmtree(self.inbox)
        self.outcome.done["folder absences"] += 1

    def _end(self, log: Any) -> None:
        """End the daemon, every second time without a word, and start it again."""
        kill = self.outcome.done["daemon restarts"] % 2 == 1
        self._stop(signal.SIGKILL if kill else signal.SIGTERM)
        self._start(log)
        self.outcome.done["daemon restarts"] += 1
        self.outcome.done["of them kills"] += kill

    # --- the end ---

    def _drain(self) -> None:
        """In peace again, everything must come to its end by itself."""
        self.sftp.faults.refuse, self.sftp.faults.break_after = 0, None
        self.markets.trouble.end()
        begun = time.monotonic()
        while time.monotonic() - begun < self.plan.drain:
            self._facts()
            self.outcome.left = self._left()
            if not self.outcome.left:
                break
            time.sleep(0.5)
        self.outcome.seconds_to_drain = round(time.monotonic() - begun, 1)

    def _left(self) -> list[str]:
        left = self.markets.waiting()
        queries = {
            "envelopes not finished": "SELECT count(*) FROM envelope WHERE state IN ('archived', 'processing')",
            "notifications not sent": "SELECT count(*) FROM outbox WHERE state <> 'sent'",
            "requests not sent": "SELECT count(*) FROM outgoing WHERE state = 'built'",
            "acknowledgements not sent": "SELECT count(*) FROM acknowledgement WHERE state <> 'sent'",
        }
        try:
            with opened(self.url) as engine, reading(engine) as connection:
                driver = driver_of(connection)
                for words, query in queries.items():
                    number = driver.rows(query)[0][0]
                    left += [f"{number} {words}"] if number else []
                stored = {bytes(row[0]) for row in driver.rows("SELECT sha256 FROM envelope")}
        except UserError as error:
            return [*left, str(error)]
        return left + [f"not stored: {one.name}" for digest, one in self.markets.sent.items() if digest not in stored]

    def _judge(self) -> None:
        """Hold what there is against what a quiet store has, and count."""
        outcome, markets, office = self.outcome, self.markets, self.office
        given = judgement.Given(self.folder, [path for _, path in self.envelopes], self.asks, markets)
        at_once, outcome.differences, outcome.requests_ended_by_later_documents = one_answer_each(
            self.url, markets.registers, self.folder / "at_once"
        )
        quiet, ends = judgement.in_peace(given, at_once)
        outcome.differences += mistakes(fates(self.url), ends, markets.registers) + office.refused
        found = judgement.compare(self.url, quiet, self.told)
        outcome.differences += found.differences
        outcome.told, outcome.told_twice_or_more = found.told, found.told_twice_or_more
        outcome.ch_messages, outcome.kernel_messages = found.ch_messages, found.kernel_messages
        registers = markets.registers
        outcome.requests = {market: len(register.received) for market, register in registers.items()}
        decisions = [decision for register in registers.values() for decision in register.decided.values()]
        outcome.requests_refused_by_markets = decisions.count("refused")
        times = [number for register in registers.values() for number in register.times.values()]
        outcome.requests_received_again = sum(times) - len(times)
        outcome.acknowledgements = len(markets.acknowledged)
        with opened(self.url) as engine, reading(engine) as connection:
            owed = {row[0] for row in driver_of(connection).rows("SELECT reference FROM acknowledgement")}
        outcome.differences += [f"acknowledgement {one}" for one in sorted(owed ^ markets.acknowledged.keys())]
        outcome.requests_handed_in_again, outcome.pushed_again = office.repeated, markets.pushed_again
        outcome.documents_of_answers = len(given.later()) + len(at_once)
        outcome.done.update({f"calls of services, {what}": n for what, n in markets.trouble.happened.items() if what})


def wait_for_life(daemon: subprocess.Popen[bytes], beat: Path) -> None:
    """Until a daemon that was started knows SIGTERM: before, it would end like any program, with another code."""
    deadline = time.monotonic() + 60
    while not beat.exists() and daemon.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)


def _environment() -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[2])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ENERGYCOMM_")}
    return kept | {"PYTHONPATH": root, "NO_COLOR": "1"}


def run(plan: Plan, folder: Path) -> Outcome:
    """One run on servers of its own, the database with all its promises."""
    (folder / "served").mkdir()
    with contextlib.ExitStack() as stack:
        server, sftp = stack.enter_context(running(DURABLE)), stack.enter_context(sftp_server(folder / "served"))
        return Chaos(plan, folder, server, sftp, Markets(folder, sftp, stack, plan.seed)).run()


@contextlib.contextmanager
def _workplace(keep: bool) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ec-chaos-"))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Run it from the command line; 0 when nothing was lost or done twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--hosts", type=int, default=1, help="With more than one: network namespaces, for root.")
    parser.add_argument("--points", type=int, default=12)
    parser.add_argument("--months", type=int, default=8)
    parser.add_argument("--requests", type=int, default=90)
    parser.add_argument("--kill-every", type=float, default=10)
    parser.add_argument("--restart-every", type=float, default=30)
    parser.add_argument("--stop-every", type=float, default=60)
    parser.add_argument("--drain", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="Keep the folder, with the daemon's log.")
    given = vars(parser.parse_args())
    with _workplace(given.pop("keep")) as folder:
        print(f"working in {folder}", file=sys.stderr)
        if given["hosts"] > 1:
            from tests.daemon import chaos_hosts

            outcome = chaos_hosts.run(Plan(**given), folder)
        else:
            outcome = run(Plan(**given), folder)
    print(json.dumps(vars(outcome) | {"good": outcome.good, "plan": given}, indent=2))
    return 0 if outcome.good else 1


if __name__ == "__main__":
    sys.exit(main())
