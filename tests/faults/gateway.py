"""A gateway in a folder of its own, as its operator runs it: commands and the daemon are processes, logs are read."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from energycomm.eis.database import opened
from tests.faults.jobs import FIXTURES
from tests.faults.stores import Facts, facts
from tests.stores import make_store

COMMAND = "import sys; from energycomm.cli import main; sys.exit(main(sys.argv[1:]))"
ROOT = Path(__file__).resolve().parents[2]
SECONDS = 180

FILES = (
    "fr/c15_entries.xml",
    "fr/c15_mistakes.xml",
    "fr/r15_periodic.xml",
    "nl/gains.xml",
    "nl/readings.xml",
    "be/start_by_move.xml",
    "be/readings_march.xml",
)

SETTINGS = """
database = "{url}"
log_format = "json"
log_level = "info"
batch_size = 2
[daemon]
workers = 1
poll_seconds = 0.2
send_seconds = 0.2
tidy_seconds = 1
alarm_seconds = 1
attempts = 1000
port = 0
[notify]
folder = "told"
[[channels]]
name = "drop"
market = "FR"
direction = "in"
kind = "folder"
path = "in"
settle = 0
first_wait = 0.1
longest_wait = 0.5
break_after = 100
break_for = 0.5
"""


class Gateway:
    """One gateway.

    Args:
      folder: its folder.
      url: its database.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url, self.log = folder, url, folder.parent / f"{folder.name}.log"
        for name in ("in", "told"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "energycomm.toml").write_text(SETTINGS.format(url=url))
        make_store(url)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a command; what it says goes to the log."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ENERGYCOMM_")}
        environment["PYTHONPATH"] = str(ROOT)
        with self.log.open("ab") as log:
            command = [sys.executable, "-c", COMMAND, *words]
            return subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)

    def run(self, *words: str) -> int:
        """Run a command to its end; its exit code."""
        return self.start(*words).wait(SECONDS)

    @contextlib.contextmanager
    def daemon(self) -> Iterator[subprocess.Popen[bytes]]:
        """A daemon, stopped in order at the end; it must end well."""
        process = self.start("daemon")
        try:
            yield process
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0, self.said()
        finally:
            process.kill()
            process.wait()

    def drop(self, folder: Path | None = None) -> None:
        """Put the envelopes where they are taken from."""
        place = self.folder / "in" if folder is None else folder
        for name in FILES:
            shutil.copy(FIXTURES / name, place / Path(name).name)

    def said(self) -> str:
        """The whole log."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def events(self, name: str) -> list[dict[str, Any]]:
        """The lines of the log that tell of an event."""
        found = []
        for line in self.said().splitlines():
            with contextlib.suppress(ValueError):
                told = json.loads(line)
                if isinstance(told, dict) and told.get("event") == name:
                    found.append(told)
        return found

    def alarms(self) -> list[tuple[str, str]]:
        """The alarms that began, and those whose words changed: code and words."""
        told = self.events("alarm.started") + self.events("alarm.changed")
        return [(one["alarm"], one["detail"]) for one in told]

    def quiet(self) -> bool:
        """Everything that was dropped is processed, acknowledged and told."""
        left = [
            path for name in ("in", "in/processing") for path in (self.folder / name).glob("[!.]*") if path.is_file()
        ]
        if left:
            return False
        with opened(self.url) as engine, engine.connect() as connection:
            waiting = "SELECT count(*) FROM envelope WHERE state IN ('archived', 'processing')"
            untold = "SELECT count(*) FROM outbox WHERE state <> 'sent'"
            done = "SELECT count(*) FROM envelope WHERE duplicate_of IS NULL"
            numbers = [connection.exec_driver_sql(sql).scalar() for sql in (waiting, untold, done)]
        return numbers == [0, 0, len(FILES)]

    def facts(self) -> Facts:
        """What the store holds."""
        return facts(self.url)


def until(good: Callable[[], Any], what: str, seconds: float = SECONDS) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(Exception):  # the database may be away
            if good():
                return
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s: {what}")
