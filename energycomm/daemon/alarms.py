"""Alarms: one log line when an alarm begins, one when it ends.

An alarm ends when its cause has been gone for a while: what comes and goes is one alarm, not a hundred.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import structlog
from msgspec import Struct

from energycomm.masking import mask

log = structlog.get_logger()


class AlarmCode(NamedTuple):
    """One kind of alarm; docs/operating.md has a section for each."""

    code: str
    meaning: str


ALARMS: tuple[AlarmCode, ...] = (
    AlarmCode("DATABASE_LOST", "A worker, or the supervisor, cannot use the database."),
    AlarmCode("WORKER_DYING", "A worker died several times within a short time."),
    AlarmCode("WORKER_HUNG", "A worker gave no sign of life and was replaced."),
    AlarmCode("CHANNEL_FAILING", "A channel failed several times in a row, or needs a person."),
    AlarmCode("BACKLOG_FULL", "The backlog of envelopes has reached its limit; polling is paused."),
    AlarmCode("ENVELOPE_PUT_ASIDE", "An envelope was put aside because it killed workers repeatedly."),
    AlarmCode("DUTY_FAULT", "A duty of the daemon failed: a mistake of the program."),
    AlarmCode(
        "CLOCK_JUMPED", "The clock jumped; work that depends on the calendar is suspended until the clock is right."
    ),
    AlarmCode("ENGINE_ERROR", "Messages could not be judged because a rule failed."),
    AlarmCode("REQUEST_OVERDUE", "The market did not answer requests in time."),
    AlarmCode("RESULT_UNREPORTED", "Files of an order are there, but the report that ends it is not."),
    AlarmCode("RESULT_INCOMPLETE", "Files of an order that its report announces are missing."),
    AlarmCode("ANSWER_DUE", "An answer that we owe is late, or due soon."),
    AlarmCode("REQUEST_DEAD", "Requests could not be sent and were put aside."),
    AlarmCode("ACKNOWLEDGEMENT_DEAD", "Acknowledgements could not be sent and were put aside."),
    AlarmCode("OUTBOX_FAILING", "The back office cannot be notified."),
    AlarmCode("OUTBOX_DEAD", "Notifications were refused and put aside."),
)
CODES = frozenset(alarm.code for alarm in ALARMS)


class Alarm(Struct):
    """One that is on.

    Attributes:
      since: when it began, seconds that only go up.
      detail: in words, as of its beginning.
      sources: who says that it is so.
      clear_since: when the last of them said that it is over.
    """

    since: float
    detail: str
    sources: set[str]
    clear_since: float | None = None


class AlarmBook:
    """The alarms of a daemon.

    Args:
      quiet: seconds that a cause must be gone before its alarm ends.
      clock: seconds that only go up.
    """

    def __init__(self, quiet: float, clock: Callable[[], float]) -> None:
        self._quiet, self._clock = quiet, clock
        self.on: dict[tuple[str, str], Alarm] = {}

    def say(self, code: str, subject: str, source: str, on: bool, detail: str = "") -> None:
        """Note what somebody says.

        Args:
          code: one of `CODES`.
          subject: what it is about.
          source: who says it.
          on: whether it is so.
          detail: in words; secrets in it are masked.
        """
        assert code in CODES, code
        detail = mask(detail)
        alarm = self.on.get((code, subject))
        if on:
            if alarm is None:
                self.on[code, subject] = Alarm(self._clock(), detail, {source})
                log.error("alarm.started", alarm=code, subject=subject, detail=detail)
            else:
                alarm.sources.add(source)
                alarm.clear_since = None
        elif alarm is not None and source in alarm.sources:
            alarm.sources.discard(source)
            if not alarm.sources:
                alarm.clear_since = self._clock()

    def forget(self, source: str) -> None:
        """Remove a source; alarms that only it reported end."""
        for (code, subject), alarm in self.on.items():
            if source in alarm.sources:
                self.say(code, subject, source, False)

    def tick(self) -> None:
        """End the alarms whose causes have been gone for long enough."""
        now = self._clock()
        for (code, subject), alarm in list(self.on.items()):
            if alarm.clear_since is not None and now - alarm.clear_since >= self._quiet:
                del self.on[code, subject]
                log.warning("alarm.ended", alarm=code, subject=subject, seconds=round(now - alarm.since, 1))
