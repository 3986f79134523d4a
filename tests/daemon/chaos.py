"""Chaos: the daemon on PostgreSQL while everything around it fails, held against a store that was left alone.

    python -m tests.daemon.chaos --seconds 600 --workers 2

Simulated envelopes arrive through a folder and an SFTP server, some of them twice, while workers are killed, the
database is restarted (every second time without its shutdown), the SFTP connections are cut, the folder goes away,
and the whole daemon is stopped and killed. At the end everything must be as in a store that took in the same
envelopes in peace, and everything that the back office was to be told must have been told.
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

from adapters.fr_enedis.simulator import FAULT_MONTHS, playable, simulate_market
from energycomm import logs
from energycomm.config import Config
from energycomm.eis import migrations
from energycomm.eis.bulk import driver_of
from energycomm.eis.comparison import canonical, differences
from energycomm.eis.database import opened, reading
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.pipeline.gateway import Gateway
from energycomm.simulation.faults import FaultRates, parse_faults
from energycomm.simulation.scenario import Scenario
from tests.postgres import DURABLE, PostgresServer, running
from tests.servers.sftp import PASSWORD, USER, SftpTestServer, sftp_server

COMMAND = "import sys; from energycomm.cli import main; sys.exit(main(sys.argv[1:]))"
FAULTS = ("wrong-order=0.2", "duplicate-file=0.1", "grid-operator=0.1")


@dataclass
class Plan:
    """What is done to the daemon.

    Attributes:
      seconds: for how long envelopes arrive and things fail.
      points, months: size of the simulation.
      kill_every, restart_every, cut_every, away_every, stop_every: mean seconds between two kills of a worker,
        restarts of the database, cuts of the SFTP server, absences of the folder, ends of the whole daemon.
      again: share of the envelopes that are sent a second time.
      drain: seconds that the rest may take.
    """

    seconds: float
    workers: int = 2
    points: int = 10
    months: int = 4
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

    envelopes: int = 0
    sent_again: int = 0
    ch_messages: int = 0
    kernel_messages: int = 0
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
    """

    def __init__(self, plan: Plan, folder: Path, server: PostgresServer, sftp: SftpTestServer) -> None:
        self.plan, self.folder, self.server, self.sftp = plan, folder, server, sftp
        self.inbox, self.remote, self.told = folder / "in", folder / "served" / "out", folder / "told"
        self.outcome = Outcome()
        self.rng = random.Random(plan.seed)
        self.over = threading.Event()
        self.daemon: subprocess.Popen[bytes] | None = None
        self._folder_guard = threading.Lock()
        self._daemon_guard = threading.Lock()

    def run(self) -> Outcome:
        """Do it all."""
        logs.configure(level="error")
        self._simulate()
        peace = self._in_peace()
        self._configure()
        log = (self.folder / "daemon.log").open("ab")
        with log:
            self._start(log)
            try:
                self._wait_for_workers()
                self._disturb(log)
                self._drain(log)
            finally:
                self._stop(signal.SIGTERM)
        self._judge(peace)
        return self.outcome

    # --- before ---

    def _simulate(self) -> None:
        faults = parse_faults(FAULTS if self.plan.months >= FAULT_MONTHS else (), playable())
        assert isinstance(faults, FaultRates)
        scenario = Scenario(self.plan.points, self.plan.months, self.plan.seed, faults=faults, per_file=20)
        simulate_market(scenario, self.folder / "sim", None)
        self.files = sorted((self.folder / "sim" / "envelopes").iterdir())
        self.rng.shuffle(self.files)

    def _in_peace(self) -> dict[str, Any]:
        """The meaning of a store that takes in the same envelopes and is left alone."""
        config = Config.model_validate({"database": f"sqlite:///{self.folder}/peace.db"})
        with opened(config.database_url) as engine:
            migrations.upgrade(engine)
            gateway = Gateway(config, Store(engine))
            gateway.inbound.take(gateway.inbound.in_order(self.files), "folder")
            return canonical(engine)

    def _configure(self) -> None:
        for place in (self.inbox, self.remote, self.told):
            place.mkdir(parents=True, exist_ok=True)
        self.sftp.known_hosts(self.folder / "known_hosts")
        (self.folder / "password").write_text(PASSWORD)
        self.url = self.server.url(self.server.create_database())
        with opened(self.url) as engine:
            migrations.upgrade(engine)
        patience = "attempts = 2\nfirst_wait = 0.2\nlongest_wait = 1\nbreak_after = 20\nbreak_for = 0.5\nsettle = 0\n"
        (self.folder / "energycomm.toml").write_text(
            f'database = "{self.url}"\nbatch_size = 20\nlog_level = "info"\nlog_format = "json"\n'
            f"[daemon]\nworkers = {self.plan.workers}\npoll_seconds = 0.3\nsend_seconds = 0.3\ntidy_seconds = 2\n"
            'port = 0\nheartbeat = "beat.json"\nbacklog = 60\nattempts = 1000\nalarm_seconds = 5\n'
            '[notify]\nfolder = "told"\n'
            f'[[channels]]\nname = "drop"\nmarket = "FR"\ndirection = "in"\nkind = "folder"\npath = "in"\n{patience}'
            f'[[channels]]\nname = "enedis"\nmarket = "FR"\ndirection = "in"\nkind = "sftp"\nhost = "127.0.0.1"\n'
            f'port = {self.sftp.port}\nuser = "{USER}"\npassword_file = "password"\nknown_hosts = "known_hosts"\n'
            f'path = "out"\nafter = "delete"\ntimeout = 5\nconnect_timeout = 5\n{patience}'
        )

    # --- the daemon ---

    def _start(self, log: Any) -> None:
        with self._daemon_guard:
            self.daemon = subprocess.Popen(
                [sys.executable, "-c", COMMAND, "daemon"], cwd=self.folder, stdout=log, stderr=log, env=_environment()
            )

    def _stop(self, how: signal.Signals) -> None:
        with self._daemon_guard:
            if self.daemon is None:
                return
            self.daemon.send_signal(how)
            code = self.daemon.wait(90)
            self.daemon = None
        if how is signal.SIGTERM and code != 0:
            self.outcome.left.append(f"the daemon ended with {code}")

    def _workers(self) -> list[int]:
        try:
            facts = json.loads((self.folder / "beat.json").read_text())
        except (OSError, ValueError):
            return []
        # One that only begins holds nothing: its death would show nothing.
        return [worker["pid"] for worker in facts["workers"] if worker["state"] in ("idle", "working", "waiting")]

    def _wait_for_workers(self) -> None:
        deadline = time.monotonic() + 60
        while len(self._workers()) < self.plan.workers and time.monotonic() < deadline:
            time.sleep(0.2)

    # --- what happens to it ---

    def _disturb(self, log: Any) -> None:
        plan = self.plan
        acts: list[tuple[float, Callable[[], None]]] = [
            (plan.kill_every, self._kill),
            (plan.restart_every, self._restart_database),
            (plan.cut_every, self._cut),
            (plan.away_every, self._away),
            (plan.stop_every, lambda: self._end(log)),
        ]
        threads = [threading.Thread(target=self._again_and_again, args=act) for act in acts]
        threads.append(threading.Thread(target=self._feed))
        for thread in threads:
            thread.start()
        time.sleep(plan.seconds)
        self.over.set()
        for thread in threads:
            thread.join()

    def _again_and_again(self, every: float, act: Callable[[], None]) -> None:
        rng = random.Random(f"{self.plan.seed} {every}")
        while not self.over.wait(every * rng.uniform(0.5, 1.5)):
            act()

    def _feed(self) -> None:
        """Let the envelopes arrive evenly over the time, some of them again."""
        sendings = [(path, path.name) for path in self.files]
        again = self.rng.sample(self.files, int(len(self.files) * self.plan.again))
        sendings += [(path, path.name) for path in again]
        self.outcome.envelopes, self.outcome.sent_again = len(self.files), len(again)
        begun = time.monotonic()
        for number, (path, name) in enumerate(sendings):
            due = begun + 0.9 * self.plan.seconds * number / len(sendings)
            self.over.wait(max(0.0, due - time.monotonic()))
            if number % 2:
                _drop(path, self.remote / name)
                continue
            with self._folder_guard:
                _drop(path, self.inbox / name)

    def _kill(self) -> None:
        deadline = time.monotonic() + 5
        while not (workers := self._workers()) and time.monotonic() < deadline and not self.over.wait(0.2):
            pass
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.rng.choice(workers), signal.SIGKILL)
                self.outcome.done["workers killed"] += 1

    def _restart_database(self) -> None:
        crash = self.outcome.done["database restarts"] % 2 == 1
        self.server.restart(signal.SIGQUIT if crash else signal.SIGINT)
        self.outcome.done["database restarts"] += 1
        self.outcome.done["of them crashes"] += crash

    def _cut(self) -> None:
        self.sftp.faults.refuse = self.rng.randint(0, 3)
        self.sftp.faults.break_after = self.rng.randint(100, 3000)
        self.sftp.cut()
        self.outcome.done["sftp cuts"] += 1

    def _away(self) -> None:
        with self._folder_guard:
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

    def _drain(self, log: Any) -> None:
        """In peace again, everything must come to its end by itself."""
        self.sftp.faults.refuse, self.sftp.faults.break_after = 0, None
        begun = time.monotonic()
        while time.monotonic() - begun < self.plan.drain:
            self.outcome.left = self._left()
            if not self.outcome.left:
                break
            time.sleep(0.5)
        self.outcome.seconds_to_drain = round(time.monotonic() - begun, 1)

    def _left(self) -> list[str]:
        left = [f"not taken: {path}" for path in _files(self.inbox)]
        left += [f"not acknowledged: {path}" for path in _files(self.inbox / "processing")]
        left += [f"not taken from SFTP: {path}" for path in _files(self.remote)]
        queries = {
            "envelopes not finished": "SELECT count(*) FROM envelope WHERE state IN ('archived', 'processing')",
            "notifications not sent": "SELECT count(*) FROM outbox WHERE state <> 'sent'",
        }
        try:
            with opened(self.url) as engine, reading(engine) as connection:
                for words, query in queries.items():
                    number = driver_of(connection).rows(query)[0][0]
                    left += [f"{number} {words}"] if number else []
        except UserError as error:
            left.append(str(error))
        return left

    def _judge(self, peace: dict[str, Any]) -> None:
        with opened(self.url) as engine, reading(engine) as connection:
            found = canonical(engine)
            driver = driver_of(connection)
            rows = driver.rows("SELECT id, attempts FROM outbox WHERE state = 'sent'")
            self.outcome.ch_messages = driver.rows("SELECT count(*) FROM ch_message")[0][0]
            self.outcome.kernel_messages = driver.rows("SELECT count(*) FROM kernel_message")[0][0]
            twice = "SELECT sha256 FROM envelope WHERE duplicate_of IS NULL GROUP BY sha256 HAVING count(*) > 1"
            self.outcome.differences += [f"twice: {row[0].hex()}" for row in driver.rows(twice)]
            self.outcome.differences += _untold(engine, peace["notifications"])
        # Those of the store in peace are pending, ours are sent.
        self.outcome.differences += differences(peace | {"notifications": []}, found | {"notifications": []})
        files = {path.name for path in self.told.iterdir()}
        wanted = {f"energycomm-{row[0]}.json" for row in rows}
        self.outcome.differences += [f"not told: {name}" for name in sorted(wanted - files)]
        self.outcome.told = len(wanted)
        self.outcome.told_twice_or_more = sum(1 for row in rows if row[1] > 1)


def _untold(engine: Any, wanted: list[str]) -> list[str]:
    """What a store in peace tells, and this one did not."""
    with reading(engine) as connection:
        rows = driver_of(connection).rows(
            "SELECT c.identity, k.position, k.version, o.event FROM outbox o JOIN kernel_message k "
            "ON k.id = o.message_id JOIN ch_message c ON c.id = k.ch_message_id WHERE o.state = 'sent'"
        )
    told = {f"{row[0].hex()}/{row[1]}{'' if row[2] == 1 else f'/{row[2]}'} {row[3]}" for row in rows}
    return [f"nobody was told: {line}" for line in wanted if line not in told]


def _drop(source: Path, target: Path) -> None:
    """Let a file appear whole, as a careful sender does."""
    part = target.with_name(f".{target.name}.part")
    part.write_bytes(source.read_bytes())
    part.replace(target)


def _files(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*") if path.is_file() and not path.name.startswith(".")]


def _environment() -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[2])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ENERGYCOMM_")}
    return kept | {"PYTHONPATH": root, "NO_COLOR": "1"}


def run(plan: Plan, folder: Path) -> Outcome:
    """One run on servers of its own, the database with all its promises."""
    (folder / "served" / "out").mkdir(parents=True)
    with running(DURABLE) as server, sftp_server(folder / "served") as sftp:
        return Chaos(plan, folder, server, sftp).run()


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
    parser.add_argument("--points", type=int, default=40)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--kill-every", type=float, default=10)
    parser.add_argument("--restart-every", type=float, default=30)
    parser.add_argument("--stop-every", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="Keep the folder, with the daemon's log.")
    given = vars(parser.parse_args())
    with _workplace(given.pop("keep")) as folder:
        print(f"working in {folder}", file=sys.stderr)
        outcome = run(Plan(**given), folder)
    print(json.dumps(vars(outcome) | {"good": outcome.good, "plan": given}, indent=2))
    return 0 if outcome.good else 1


if __name__ == "__main__":
    sys.exit(main())
