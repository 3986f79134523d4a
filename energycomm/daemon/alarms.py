"""Alarms: one log line when an alarm begins, one when its cause is another, one when it ends.

An alarm ends when its cause has been gone for a while: what comes and goes is one alarm, not a hundred.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from energycomm.logs import Log
from energycomm.masking import mask

log = Log()


class AlarmCode(NamedTuple):
    """One kind of alarm; docs/operating.md has a section for each.

    Attributes:
      code: its name.
      meaning: what is so, one sentence.
      advice: what to do.
      urgent: it is told in quiet hours, too: nothing works, or each minute makes it worse.
    """

    code: str
    meaning: str
    advice: str
    urgent: bool = False


ALARMS: tuple[AlarmCode, ...] = (
    AlarmCode(
        "DATABASE_LOST",
        "A worker, or the supervisor, cannot use the database.",
        "Check that the server runs, has room and connections left, and that its address is right.",
        urgent=True,
    ),
    AlarmCode(
        "WORKER_DYING",
        "A worker died several times within a short time.",
        "Look at `worker.died` in the log: code -9 is a lack of memory; a positive code follows a traceback.",
        urgent=True,
    ),
    AlarmCode(
        "WORKER_HUNG",
        "A worker gave no sign of life and was replaced.",
        "Look at the envelope that the detail names; raise hang_seconds if it is only large.",
    ),
    AlarmCode(
        "CHANNEL_FAILING",
        "A channel failed several times in a row, or needs a person.",
        "Run `energycomm channel check NAME`; docs/codes.md explains its code.",
    ),
    AlarmCode(
        "BACKLOG_FULL",
        "The backlog of envelopes has reached its limit; polling is paused.",
        "Wait if the backlog falls; else see that workers work (`energycomm workers`), or add some.",
    ),
    AlarmCode(
        "ENVELOPE_PUT_ASIDE",
        "An envelope was put aside because it killed workers repeatedly.",
        "Run `energycomm envelope list --state failed`, and `energycomm envelope retry NUMBER` after an upgrade.",
    ),
    AlarmCode(
        "DUTY_FAULT",
        "A duty of the daemon failed: a mistake of the program.",
        "Report the traceback in the log line `duty.fault`.",
    ),
    AlarmCode(
        "CLOCK_JUMPED",
        "The clock jumped; work that depends on the calendar is suspended until the clock is right.",
        "Set the clock of the host right (`timedatectl`, the time service).",
        urgent=True,
    ),
    AlarmCode(
        "ENGINE_ERROR",
        "Messages could not be judged because a rule failed.",
        "Run `energycomm message list --state engine_error`, and correct the rule.",
    ),
    AlarmCode(
        "REQUEST_OVERDUE",
        "The market did not answer requests in time.",
        "Run `energycomm request list`, and ask the market with our reference.",
    ),
    AlarmCode(
        "RESULT_UNREPORTED",
        "Files of an order are there, but the report that ends it is not.",
        "Look at the order on the market's portal, and take the report from there.",
    ),
    AlarmCode(
        "RESULT_INCOMPLETE",
        "Files of an order that its report announces are missing.",
        "Ask the market for the missing files; `energycomm envelope list` shows those that could not be opened.",
    ),
    AlarmCode(
        "ANSWER_DUE",
        "An answer that we owe is late, or due soon.",
        "Run `energycomm request owed`, and answer the most urgent first.",
    ),
    AlarmCode(
        "REQUEST_DEAD",
        "Requests could not be sent and were put aside.",
        "Run `energycomm request list --state dead`, then `energycomm request retry ID`.",
    ),
    AlarmCode(
        "ACKNOWLEDGEMENT_DEAD",
        "Acknowledgements could not be sent and were put aside.",
        "Run `energycomm acknowledgement list --state dead`, then `energycomm acknowledgement retry --all`.",
    ),
    AlarmCode(
        "OUTBOX_FAILING",
        "The back office cannot be notified.",
        "Check that the receiver runs, and compare the secret.",
    ),
    AlarmCode(
        "OUTBOX_DEAD",
        "Notifications were refused and put aside.",
        "Run `energycomm outbox list --state dead`, then `energycomm outbox retry --all`.",
    ),
    AlarmCode(
        "NO_DAEMON",
        "No daemon gives a sign: nothing is received, processed or sent.",
        "Start `energycomm daemon` (`systemctl status energycomm`); its log says why it ended.",
        urgent=True,
    ),
    AlarmCode(
        "BACKLOG_OLD",
        "An envelope has waited for long to be processed.",
        "See what the workers do (`energycomm workers`); restart the daemon if they do nothing.",
    ),
    AlarmCode(
        "CHANNEL_PAUSED",
        "A channel has been paused for long.",
        "Run `energycomm channel resume NAME` if the reason is gone.",
    ),
    AlarmCode(
        "DISK_LOW",
        "A disk that the daemon writes to is nearly full.",
        "Make room: older backups, archived log of PostgreSQL, raw bytes (`[retention]`).",
        urgent=True,
    ),
    AlarmCode(
        "CERTIFICATE_ENDS",
        "A certificate of the configuration ends soon, or has ended.",
        "Order a new one and put it in place of the file: it is read again without a restart.",
    ),
    AlarmCode(
        "KEY_OLD",
        "The key that wraps the data key has been in use for long.",
        "Run `energycomm keys generate`, then `energycomm keys rotate` (docs/operating.md, encryption at rest).",
    ),
)
BY_CODE = {alarm.code: alarm for alarm in ALARMS}
CODES = frozenset(BY_CODE)


_NUMBERS = re.compile(r"\d+")


class Alarm(Struct):
    """One that is on.

    Attributes:
      since: when it began, seconds that only go up.
      detail: in words, as last said.
      sources: who says that it is so.
      logged: the words that the log has, without their numbers.
      clear_since: when the last of them said that it is over.
    """

    since: float
    detail: str
    sources: set[str]
    logged: set[str]
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
                self.on[code, subject] = Alarm(self._clock(), detail, {source}, {_NUMBERS.sub("", detail)})
                log.error("alarm.started", alarm=code, subject=subject, detail=detail)
            else:
                alarm.sources.add(source)
                alarm.clear_since = None
                alarm.detail = detail
                if (words := _NUMBERS.sub("", detail)) not in alarm.logged:
                    alarm.logged.add(words)
                    log.error("alarm.changed", alarm=code, subject=subject, detail=detail)
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
