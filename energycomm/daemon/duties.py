"""A duty: something that one worker in all does at a time, in a thread of its own, until the process stops."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import structlog

from energycomm.config import Config
from energycomm.daemon.locks import Locks
from energycomm.daemon.report import Reporter
from energycomm.eis.database import Conflict, is_lost
from energycomm.eis.store import Store

log = structlog.get_logger()

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
LOOK_SECONDS = 2.0
"""Longest pause before a duty that another worker leads is tried for again."""


class Pause:
    """Growing pauses between failures, with chance, so that workers do not all come back at once."""

    def __init__(self, first: float = FIRST_PAUSE, longest: float = LONGEST_PAUSE) -> None:
        self._first, self._longest = first, longest
        self.failures = 0

    def next(self) -> float:
        """Seconds to wait after one more failure."""
        whole = min(self._longest, self._first * 2.0 ** min(self.failures, 20))
        self.failures += 1
        return whole * random.uniform(0.5, 1)  # noqa: S311 - spreads the attempts

    def reset(self) -> None:
        """It worked."""
        self.failures = 0


class Desk:
    """What the parts of a worker share.

    Args:
      config: the configuration.
      store: the EIS.
      locks: who does what.
      report: the line to the supervisor.
      stop: set when the process is to stop.
      worker: name of the worker, for the log.
    """

    def __init__(
        self, config: Config, store: Store, locks: Locks, report: Reporter, stop: threading.Event, worker: str = "1"
    ) -> None:
        self.config, self.store, self.locks, self.report, self.stop = config, store, locks, report, stop
        self.worker = worker
        self.leads: set[str] = set()
        self.arrived = threading.Event()
        """Set when an envelope was archived: whoever waits for work looks at once."""

    def database_lost(self, error: BaseException) -> None:
        """Tell that the database cannot be used."""
        self.report.alarm("DATABASE_LOST", "database", True, str(error))

    def database_found(self) -> None:
        """Tell that it can."""
        self.report.alarm("DATABASE_LOST", "database", False)


class Duty(threading.Thread):
    """One duty.

    Args:
      desk: what the worker shares.
      key: name of the duty and of its lock.
      every: seconds between two turns.
    """

    def __init__(self, desk: Desk, key: str, every: float) -> None:
        super().__init__(name=key, daemon=True)
        self.desk, self.key, self.every = desk, key, every
        self._pause = Pause()

    def turn(self) -> float | None:
        """Do the due work; seconds to the next turn if they differ from the usual ones."""
        raise NotImplementedError

    def rest(self) -> None:
        """Release resources: the lock was lost, an error occurred, or the process stops."""

    def going(self) -> bool:
        """Whether to go on within a turn: we still lead and are not to stop."""
        return not self.desk.stop.is_set() and self.desk.locks.holds(self.key)

    def run(self) -> None:
        """Lead when nobody else does, turn after turn."""
        structlog.contextvars.bind_contextvars(worker=self.desk.worker, duty=self.key)
        while not self.desk.stop.is_set():
            self.desk.stop.wait(self._try(self._lead))
        self._leave()

    def _lead(self) -> float:
        if not self.desk.locks.take(self.key):
            self._leave()
            return min(self.every, LOOK_SECONDS)
        if self.key not in self.desk.leads:
            self.desk.leads.add(self.key)
            log.info("duty.leads")
        wait = self.turn()
        return self.every if wait is None else wait

    def _try(self, work: Callable[[], float]) -> float:
        """Work; a failure is told and followed by a pause, never by the end of the thread."""
        try:
            wait = work()
        except Conflict:
            return self._pause.next()
        except Exception as error:
            self._leave()
            wait = self._pause.next()
            if is_lost(error):
                self.desk.database_lost(error)
                # The alarm has said it once, for all.
                log.info("database.lost", error=str(error), seconds=round(wait, 2))
            else:
                log.error("duty.fault", exc_info=error, seconds=round(wait, 2))
                self.desk.report.alarm("DUTY_FAULT", self.key, True, f"{type(error).__name__}: {error}")
            return wait
        self._pause.reset()
        self.desk.database_found()
        self.desk.report.alarm("DUTY_FAULT", self.key, False)
        return wait

    def _leave(self) -> None:
        """Let another worker lead."""
        try:
            self.rest()
        except Exception as error:
            log.error("duty.fault", exc_info=error)
        self.desk.leads.discard(self.key)
        self.desk.locks.release(self.key)
