"""A duty: something that one worker in all does at a time, in a thread of its own, until the process stops."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import structlog

from energycomm.config import Config
from energycomm.daemon.locks import Locks
from energycomm.daemon.report import Reporter
from energycomm.daemon.switches import Switches
from energycomm.eis.database import Conflict, is_lost
from energycomm.eis.store import Store
from energycomm.logs import Log

log = Log()

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
LOOK_SECONDS = 2.0
"""Longest pause before a duty that another worker leads is tried for again."""
FAILURES = 3
"""Failures in a row that make an alarm and let another worker try; what needs a person alarms at once."""
ELSEWHERE_SECONDS = 60.0
"""Whoever has led for so long, and for the time that failures take, leads what works."""


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
        self.switches = Switches(store)
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
        self._steps_down = False

    def turn(self) -> float | None:
        """Do the due work; seconds to the next turn if they differ from the usual ones."""
        raise NotImplementedError

    def rest(self) -> None:
        """Release resources: the lock was lost, an error occurred, or the process stops."""

    def going(self) -> bool:
        """Whether to go on within a turn: we still lead and are not to stop."""
        return not self.desk.stop.is_set() and not self._steps_down and self.desk.locks.holds(self.key)

    def step_down(self) -> None:
        """After this turn another worker may lead: it does where it wants to, else we do so again."""
        self._steps_down = True

    def led_by_another(self) -> None:
        """Another worker leads."""

    def run(self) -> None:
        """Lead when nobody else does, turn after turn."""
        structlog.contextvars.bind_contextvars(worker=self.desk.worker, duty=self.key)
        while not self.desk.stop.is_set():
            self.sleep(self._try(self._lead))
        self._leave()

    def sleep(self, seconds: float) -> None:
        """Wait for the next turn, or for the end."""
        self.desk.stop.wait(seconds)

    def _lead(self) -> float:
        leads, locks = self.desk.leads, self.desk.locks
        if self.key in leads and not locks.holds(self.key):
            # The lock went with its connection. Whoever led since may have done what we have at hand: begin anew, also
            # where the lock is free again.
            self._leave()
        if self.key not in leads:
            if not locks.take(self.key):
                self.led_by_another()
                return min(self.every, LOOK_SECONDS)
            leads.add(self.key)
            log.info("duty.leads")
        wait = self.turn()
        wait = self.every if wait is None else wait
        if self._steps_down:
            log.info("duty.steps_down")
            self._leave()
            # Each of the others looks once meanwhile.
            return max(wait, 2 * min(self.every, LOOK_SECONDS))
        return wait

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
        self._steps_down = False
        self.desk.leads.discard(self.key)
        self.desk.locks.release(self.key)


class OutsideDuty(Duty):
    """A duty that needs something outside: a channel, the back office. Where that fails again and again, another worker
    tries: its host may reach what ours does not.

    Args:
      desk: what the worker shares.
      key: name of the duty and of its lock.
      every: seconds between two turns.
      subject: name of what is outside.
      alarm: code of the alarm when it fails.
    """

    def __init__(self, desk: Desk, key: str, every: float, subject: str, alarm: str = "CHANNEL_FAILING") -> None:
        super().__init__(desk, key, every)
        self._subject, self._alarm = subject, alarm
        self._failures = 0
        self._elsewhere: float | None = None
        self._rests = False
        self._served = 0

    def turn(self) -> float | None:
        """Do the due work, unless a person paused it."""
        known = self.desk.switches.of(self._subject)
        if known.paused_at is not None:
            if not self._rests:
                self._rests, self._failures, self._elsewhere = True, 0, None
                self.desk.report.alarm(self._alarm, self._subject, False)
                log.info("duty.paused", subject=self._subject, by=known.paused_by, why=known.why)
            return self.rested()
        if self._rests:
            self._rests = False
            log.info("duty.resumed", subject=self._subject)
        if known.asked_at > self._served:
            self._served = known.asked_at
            self.at_once()
        return self.work()

    def work(self) -> float | None:
        """Do the due work; seconds to the next turn if they differ from the usual ones."""
        raise NotImplementedError

    def rested(self) -> float | None:
        """What goes on while it is paused; seconds to the next turn."""
        return None

    def at_once(self) -> None:
        """Somebody asked for an attempt: make it in this turn, whatever was waited for."""

    def sleep(self, seconds: float) -> None:
        """Wait for the next turn, or until somebody asks for one or pauses it."""
        deadline = time.monotonic() + seconds
        while not self.desk.stop.is_set() and (left := deadline - time.monotonic()) > 0:
            self.desk.stop.wait(min(left, LOOK_SECONDS))
            known = self.desk.switches.of(self._subject)
            if known.asked_at > self._served or (known.paused_at is not None) != self._rests:
                break

    def going(self) -> bool:
        """Whether to go on within a turn: nobody paused it meanwhile, either."""
        return super().going() and self.desk.switches.of(self._subject).paused_at is None

    def works(self) -> None:
        """Note that what is outside did what was asked."""
        self._failures, self._elsewhere = 0, None
        self.desk.report.alarm(self._alarm, self._subject, False)
        self.desk.switches.note(self._subject, None)

    def fails(self, why: str, *, for_a_person: bool = False) -> None:
        """Note that it failed.

        Args:
          why: what happened, in words.
          for_a_person: it does not pass by itself.
        """
        self._failures += 1
        self.desk.switches.note(self._subject, why)
        if self._failures >= FAILURES or for_a_person:
            self.desk.report.alarm(self._alarm, self._subject, True, why)
        if self._failures >= FAILURES:
            self._failures = 0
            # Our alarm stands until a successor has had the time to fail as often.
            self._elsewhere = time.monotonic() + FAILURES * self.every + ELSEWHERE_SECONDS
            self.step_down()

    def led_by_another(self) -> None:
        """The alarm ends when others have led for longer than they would if it failed for them."""
        if self._elsewhere is not None and time.monotonic() > self._elsewhere:
            self._failures, self._elsewhere = 0, None
            self.desk.report.alarm(self._alarm, self._subject, False)
