"""The duty of an incoming channel: what arrives is archived, and acknowledged when it has been processed."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from energycomm.daemon.claims import backlog, reasons, states
from energycomm.daemon.duties import Desk, OutsideDuty
from energycomm.eis.database import Conflict, confirm, is_lost
from energycomm.logs import Log
from energycomm.pipeline.addressee import Misdirected
from energycomm.pipeline.batch import Tally
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.records import note
from energycomm.transport.channel import Arrival, Incoming, Outcome, TechnicalError
from energycomm.transport.patience import try_now

log = Log()

HURRY = 0.2
"""Seconds between two looks while something that was archived is not acknowledged."""
SETTLE_EVERY = 0.5
BURST = 64
"""Arrivals that are archived in one transaction; a large one is the last of its."""
SMALL = 1 << 20
"""Bytes up to which an arrival is small."""


def _key(desk: Desk, channel: str) -> str:
    """Name of the duty. What is pushed lies on the host that it was pushed to: each polls its own."""
    pushed = any(setting.name == channel and setting.kind == "push" for setting in desk.config.channels)
    return f"poll/{channel}@{socket.gethostname()}" if pushed else f"poll/{channel}"


class Polling(OutsideDuty):
    """Polls one channel.

    Args:
      desk: what the worker shares.
      channel: the channel.
      inbound: archives envelopes; a different one for each thread.
    """

    def __init__(self, desk: Desk, channel: Incoming, inbound: Inbound) -> None:
        super().__init__(desk, _key(desk, channel.name), desk.config.daemon.poll_seconds, channel.name)
        self.channel, self.inbound = channel, inbound
        self._pending: dict[int, list[Arrival]] = {}
        self._untold: list[tuple[Arrival, Outcome, str]] = []
        """What was processed and the channel could not be told of."""
        self._due = 0.0

    def rested(self) -> float | None:
        """Acknowledge what is done."""
        self._settle()
        self._due = 0.0
        return HURRY if self._pending else None

    def at_once(self) -> None:
        """Poll in this turn, also where the channel is left alone after failures."""
        self._due = 0.0
        try_now(self.channel)

    def work(self) -> float | None:
        """Acknowledge what is done; poll when it is time to."""
        self._settle()
        more = bool(getattr(self.channel, "more", False))
        if time.monotonic() >= self._due or (more and not self._pending):
            self._tell_again()
            room = self._room()
            if room > 0:
                self._poll(room)
                self._settle()
            self._due = time.monotonic() + self.every
            more = bool(getattr(self.channel, "more", False))
        left = self._due - time.monotonic()
        return min(HURRY, left) if self._pending or more else max(left, 0.01)

    def rest(self) -> None:
        """What is not acknowledged comes again, here or in another worker."""
        for arrivals in self._pending.values():
            for arrival in arrivals:
                arrival.give_back()
        self._pending.clear()
        self._untold.clear()
        self.desk.report.alarm("BACKLOG_FULL", "envelopes", False)
        self._due = 0.0
        self.channel.close()

    def _room(self) -> int:
        """How many envelopes may be taken in before too many wait."""
        most = self.desk.config.daemon.backlog
        waiting = backlog(self.desk.store, most)
        full = waiting >= most
        self.desk.report.alarm("BACKLOG_FULL", "envelopes", full, f"{most} envelopes wait; polling pauses")
        return most - waiting

    def _poll(self, room: int) -> None:
        settled, failed = time.monotonic(), False
        burst: list[Arrival] = []
        items: Iterator[Arrival | TechnicalError] = self.channel.poll()
        try:
            for item in items:
                if isinstance(item, TechnicalError):
                    self._note(item)
                    failed = failed or item.item is None
                    continue
                burst.append(item)
                if not self.going():
                    break
                late = time.monotonic() - settled > SETTLE_EVERY
                if late or item.size > SMALL or len(burst) >= min(room, BURST):
                    taken, burst = burst, []
                    room -= self._take(taken)
                if late:
                    self._settle()
                    settled = time.monotonic()
                if room <= 0:
                    break
            if self.going():
                taken, burst = burst, []
                self._take(taken)
        finally:
            for arrival in burst:
                arrival.give_back()
            close = getattr(items, "close", None)
            if close is not None:
                close()
        if not failed:
            self.works()
        self.desk.report.timing("energycomm_channel_last_poll", self.channel.name, value=time.time())

    def _note(self, error: TechnicalError) -> None:
        """Count an error."""
        self.desk.report.count("energycomm_channel_errors", self.channel.name, error.code)
        # Each turn of a channel that is left alone says so; the log has the failures, and not every look at the clock.
        write = log.debug if error.code == "CHANNEL_OPEN" else log.warning
        write("channel.error", channel=error.channel, code=error.code, item=error.item, detail=error.detail)
        if error.item is None and error.code != "CHANNEL_BUSY":
            self.fails(str(error), for_a_person=not error.transient)

    def _take(self, arrivals: Sequence[Arrival]) -> int:
        """Archive arrivals, in one transaction; how many of them are to be processed."""
        if not arrivals:
            return 0
        try:
            with ExitStack() as opened:
                sources = [(opened.enter_context(arrival.open()), arrival.name) for arrival in arrivals]
                kept = self.inbound.archive(sources, self.channel.name)
        except Misdirected as found:
            return self._refuse(arrivals, found)
        except BaseException as fault:
            if len(arrivals) > 1 and isinstance(fault, Exception) and not is_lost(fault):
                return self._take_each(list(arrivals))
            for arrival in arrivals:
                arrival.give_back()
            if not isinstance(fault, OSError | Conflict):
                raise
            if isinstance(fault, OSError):
                words, name = fault.strerror or str(fault), self.channel.name
                self._note(TechnicalError(code="CHANNEL_LOCAL", channel=name, detail=words, item=arrivals[0].name))
            return 0
        waiting = 0
        for arrival, archived in zip(arrivals, kept, strict=True):
            if archived.duplicate_of is not None:
                self.desk.report.count("energycomm_envelopes", self.channel.name, "duplicate")
                self._acknowledge(arrival, "duplicate")
                continue
            self._pending.setdefault(archived.envelope_id, []).append(arrival)
            waiting += 1
        if waiting:
            self.desk.arrived.set()
        return waiting

    def _refuse(self, arrivals: Sequence[Arrival], found: Misdirected) -> int:
        """Give back to the channel, as failed, what is addressed to another supplier; take in the others."""
        for place, refusal in found.refusals.items():
            log.error("envelope.misdirected", channel=self.channel.name, name=arrivals[place].name, code=refusal.code)
            note(self.desk.store, Tally(), None, refusal, "error", arrivals[place].name)
            self.desk.report.count("energycomm_envelopes", self.channel.name, "failed")
            self._acknowledge(arrivals[place], "failed", str(refusal))
        return self._take([one for place, one in enumerate(arrivals) if place not in found.refusals])

    def _take_each(self, arrivals: list[Arrival]) -> int:
        """Archive arrivals one by one: one of them must not keep the others from being taken in."""
        waiting = 0
        try:
            while arrivals:
                waiting += self._take([arrivals.pop(0)])
        finally:
            for arrival in arrivals:
                arrival.give_back()
        return waiting

    def _settle(self) -> None:
        """Acknowledge the arrivals whose envelopes were processed."""
        if not self._pending:
            return
        found = states(self.desk.store, list(self._pending))
        ended = {number: state for number, state in found.items() if state not in ("archived", "processing")}
        if ended:
            confirm(self.desk.store.engine)
        for envelope_id, state in ended.items():
            outcome: Outcome = "failed" if state == "failed" else "done"
            reason = reasons(self.desk.store, envelope_id) if outcome == "failed" else ""
            for arrival in self._pending.pop(envelope_id):
                self._acknowledge(arrival, outcome, reason)

    def _acknowledge(self, arrival: Arrival, outcome: Outcome, reason: str = "") -> None:
        error = arrival.acknowledge(outcome, reason)
        if error is not None:
            self._note(error)
            # Of our own disk: a channel with another side tells it again by itself, or yields the arrival again.
            if error.code == "CHANNEL_LOCAL":
                self._untold.append((arrival, outcome, reason))

    def _tell_again(self) -> None:
        """Acknowledge what could not be acknowledged; one attempt a poll."""
        untold, self._untold = self._untold, []
        for arrival, outcome, reason in untold:
            self._acknowledge(arrival, outcome, reason)
