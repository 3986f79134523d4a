"""A worker process: claims archived envelopes and processes them; its threads have the duties."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.connection import Connection

import structlog

from energycomm import logs
from energycomm.backoffice.targets import open_target
from energycomm.config import Config
from energycomm.daemon.asking import asking_duties
from energycomm.daemon.channels import open_channels, open_places
from energycomm.daemon.claims import Claimed, claim, others_ahead, put_off, release, turn_is_over, unfinished
from energycomm.daemon.duties import Desk, Duty, Pause
from energycomm.daemon.housekeeping import Housekeeping
from energycomm.daemon.locks import open_locks
from energycomm.daemon.polling import Polling
from energycomm.daemon.report import Alive, Reporter
from energycomm.daemon.sending import Delivering, Notifying
from energycomm.daemon.waking import Waking
from energycomm.eis.database import Conflict, is_lost
from energycomm.eis.seen_files import SeenFiles
from energycomm.errors import UserError
from energycomm.logs import Log
from energycomm.masking import mask_output
from energycomm.pipeline.delivery import Bundles, repetition
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.opening import open_store
from energycomm.pipeline.progress import Progress
from energycomm.pipeline.records import OpenEnvelope, TakenOver, put_aside

log = Log()

IDLE = 0.5
"""Seconds between two looks for envelopes, unless one arrives in this process."""
LISTENING = 2.0
"""The same where the database tells of arrivals: what a dead worker held is found after so long."""
TURN_SECONDS = 0.5
TURNS_SECONDS = 10.0
"""How long another worker's turn is waited for before it is asked again who is before us, and how long in all."""
SIGN_EVERY = 1.0
JOIN_SECONDS = 20.0
LONGEST_WAIT = 60.0


class Stopped(Exception):
    """The process is to stop; the batch at hand was committed."""


def work(number: int, config: Config, connection: Connection) -> None:
    """The main function of a worker process.

    Args:
      number: of the worker, from 1.
      config: the configuration.
      connection: the line to the supervisor.
    """
    logs.configure(config.log_format, config.log_level)
    mask_output()
    structlog.contextvars.bind_contextvars(worker=str(number))
    if config.supplier is not None:
        structlog.contextvars.bind_contextvars(supplier=config.supplier.name)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    # A key press at the terminal reaches the whole group; the supervisor says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Worker(str(number), config, Reporter(connection, stop.set), stop).run()


class Worker:
    """One worker.

    Args:
      name: for the log.
      config: the configuration.
      report: the line to the supervisor.
      stop: set when it is to stop.
    """

    def __init__(self, name: str, config: Config, report: Reporter, stop: threading.Event) -> None:
        self.name, self.config, self.report, self.stop = name, config, report, stop
        self._left: list[tuple[float, tuple[int, int, bool]]] = []
        """Claims to be given back, each at its time."""
        self._signed = 0.0

    def run(self) -> None:
        """Wait for the database, then serve until stopped."""
        self.report.send(Alive("starting"))
        pause = Pause()
        while not self.stop.is_set():
            try:
                with open_store(self.config) as store:
                    locks = open_locks(store.engine)
                    desk = Desk(self.config, store, locks, self.report, self.stop, self.name)
                    try:
                        self._serve(desk, Gateway(self.config, store))
                    finally:
                        locks.close()
            except Exception as error:
                if not is_lost(error):
                    raise
                wait = pause.next()
                self.report.alarm("DATABASE_LOST", "database", True, str(error))
                self.report.send(Alive("waiting"))
                log.info("database.lost", error=str(error), seconds=round(wait, 2))
                self.stop.wait(wait)
        log.info("worker.stopped")

    def _serve(self, desk: Desk, gateway: Gateway) -> None:
        log.info("worker.ready", rules=gateway.engine.version, database=self.config.database_shown)
        duties = self._duties(desk, gateway)
        for duty in duties:
            duty.start()
        waking = Waking(desk)
        waking.start()
        pause = Pause()
        while not self.stop.is_set():
            state, wait = "idle", IDLE
            try:
                if self._pass(desk, gateway.inbound):
                    wait = 0.0
                elif waking.listens and not self._left:
                    wait = LISTENING
                desk.database_found()
                pause.reset()
            except Conflict:
                desk.locks.renounce()
            except Exception as error:
                if not is_lost(error):
                    raise
                # A claim may have been committed whose answer did not reach us.
                desk.locks.renounce()
                state, wait = "waiting", pause.next()
                desk.database_lost(error)
                log.info("database.lost", error=str(error), seconds=round(wait, 2))
            self._sign(desk, state)
            self._wait(desk, wait)
        self.report.send(Alive("stopping"))
        with contextlib.suppress(UserError, Conflict):  # else they come free with our lock
            self._release(desk, all_of_them=True)
        deadline = time.monotonic() + JOIN_SECONDS
        for duty in duties:
            duty.join(max(0.0, deadline - time.monotonic()))
        waking.join(max(0.0, deadline - time.monotonic()))

    def _wait(self, desk: Desk, seconds: float) -> None:
        """Wait for work, a stop, or the end of the time."""
        deadline = time.monotonic() + seconds
        while not self.stop.is_set() and (left := deadline - time.monotonic()) > 0:
            if desk.arrived.wait(min(left, 0.1)):
                break
        desk.arrived.clear()

    def _duties(self, desk: Desk, gateway: Gateway) -> list[Duty]:
        incoming, outgoing = open_channels(self.config, self.stop, SeenFiles(desk.store.engine))
        duties: list[Duty] = [Housekeeping(desk, gateway.rules_version_id)]
        duties += [Polling(desk, channel, gateway.inbound) for channel in incoming]
        again, bundles = repetition(gateway.markets), Bundles(gateway.markets)
        duties += [Delivering(desk, route.channel, route.takes, route.share, again, bundles) for route in outgoing]
        places = open_places(self.config)
        duties += asking_duties(desk, self.config, gateway.markets, places, self.stop)
        target = open_target(self.config)
        if target is not None:
            duties.append(Notifying(desk, target))
        return duties

    # --- envelopes ---

    def _pass(self, desk: Desk, inbound: Inbound) -> bool:
        """Process what nobody else does, group after group; False when there was nothing to do."""
        worked = False
        while not self.stop.is_set():
            self._release(desk)
            holder = desk.locks.holder()
            if holder is None:
                break
            desk.locks.line_up()
            try:
                group = claim(desk.store, holder, self.config.daemon.attempts)
                if not group:
                    break
                worked = True
                desk.database_found()
                self._claimed(desk, inbound, group)
            finally:
                desk.locks.give_way()
                structlog.contextvars.unbind_contextvars("envelope", "name")
        return worked

    def _claimed(self, desk: Desk, inbound: Inbound, group: Sequence[Claimed]) -> None:
        """Process a group. Where the program breaks on it, or another process is in the way, what is left of it is
        halved, until the envelope that is the matter stands alone."""
        if group[0].attempt > self.config.daemon.attempts:
            self._put_aside(desk, group)
            return
        begun = time.monotonic()
        progress = Progress()
        error: Exception | None = None
        try:
            envelopes = [one.envelope for one in group]
            turn = _Turn(desk, group, partial(self._between, desk))
            steps = inbound.process_together(envelopes, partial(self._at_hand, desk), turn)
            for step in steps:
                progress.add(step)
                self._between(desk)
        except Exception as fault:
            error = fault
        self._count(group, progress, time.monotonic() - begun)
        if error is None:
            return
        left = [one for one in group if one.envelope.id not in progress.ended]
        if isinstance(error, Stopped) or is_lost(error):
            self._leave(desk, left, 0.0, counts=False)
            log.info("envelope.interrupted", envelopes=len(left))
            if is_lost(error):
                raise error
        elif len(group) == 1:
            self._failed(desk, left, error)
        else:
            left = unfinished(desk.store, left)
            middle = len(left) // 2
            for half in (left[:middle], left[middle:]):
                if half:
                    self._claimed(desk, inbound, half)

    def _put_aside(self, desk: Desk, group: Sequence[Claimed]) -> None:
        for envelope, attempt, _ in group:
            log.error("envelope.put_aside", envelope=envelope.id, name=envelope.name, attempts=attempt - 1)
            with desk.store.transaction() as tx:
                put_aside(tx, envelope, f"{attempt - 1} attempts")

    def _failed(self, desk: Desk, left: Sequence[Claimed], error: Exception) -> None:
        """Keep an envelope that could not be processed for a while."""
        if isinstance(error, Conflict | TakenOver):
            # Another worker has it, or the same content: it is looked at again in a moment.
            self._leave(desk, left, 0.5, counts=False)
            log.info("envelope.left", why=str(error).splitlines()[0][:200])
            return
        for one in left:
            wait = min(LONGEST_WAIT, 2.0**one.attempt)
            self._leave(desk, [one], wait, counts=True)
            log.error("envelope.fault", attempt=one.attempt, seconds=wait, exc_info=error)
            self.report.count("energycomm_envelope_faults", one.envelope.channel)

    def _leave(self, desk: Desk, left: Sequence[Claimed], seconds: float, *, counts: bool) -> None:
        """Give claims back after some time: until then nobody else tries these envelopes."""
        at = time.monotonic() + seconds
        claims = [(one.envelope.id, one.envelope.holder) for one in left if one.envelope.holder is not None]
        self._left += [(at, (number, holder, counts)) for number, holder in claims]
        if seconds:
            put_off(desk.store, claims)

    def _release(self, desk: Desk, *, all_of_them: bool = False) -> None:
        """Give back the claims whose time has come."""
        now = time.monotonic()
        due = [one for one in self._left if all_of_them or one[0] <= now]
        if due:
            release(desk.store, [claimed for _, claimed in due])
            self._left = [one for one in self._left if one not in due]

    def _at_hand(self, desk: Desk, envelope: OpenEnvelope) -> None:
        if self.stop.is_set():
            raise Stopped
        structlog.contextvars.bind_contextvars(envelope=envelope.id, name=envelope.name)
        self._sign(desk, "working", envelope.id)

    def _count(self, group: Sequence[Claimed], progress: Progress, seconds: float) -> None:
        report, tally = self.report, progress.tally
        for envelope, _, _ in group:
            state = progress.ended.get(envelope.id)
            if state is not None:
                report.count("energycomm_envelopes", envelope.channel, state)
                report.timing("energycomm_envelope_seconds", value=seconds / len(progress.ended))
        report.count("energycomm_batch_conflicts", value=progress.conflicts)
        report.count("energycomm_reassessed", value=tally.reassessed)
        messages: Counter[tuple[str, str]] = Counter()
        for (market, _, label), number in tally.messages.items():
            messages[market, label] += number
        for labels, number in messages.items():
            report.count("energycomm_messages", *labels, value=max(number, 0))
        outcomes: Counter[tuple[str, str]] = Counter()
        for (market, _, outcome), number in tally.transactions.items():
            outcomes[market, outcome] += number
        for labels, number in outcomes.items():
            report.count("energycomm_ch_messages", *labels, value=number)

    # --- signs of life ---

    def _between(self, desk: Desk) -> None:
        """Called after each committed batch."""
        self._sign(desk, "working", None)
        if self.stop.is_set():
            raise Stopped

    def _sign(self, desk: Desk, state: str, envelope: int | None = None) -> None:
        now = time.monotonic()
        if now - self._signed >= SIGN_EVERY:
            self._signed = now
            self.report.send(Alive(state, envelope, tuple(sorted(desk.leads))))


class _Turn:
    """The turn of a group: what comes before it in its market locks its access points first, since messages that come
    late are judged again, with all that follow. What needs no store is done by then.

    Args:
      desk: of the worker.
      group: the group.
      between: called now and then; raises when the process is to stop.
    """

    def __init__(self, desk: Desk, group: Sequence[Claimed], between: Callable[[], None]) -> None:
        self._desk, self._group, self._between = desk, group, between

    def wait(self) -> None:
        """Wait for those before us, for a while."""
        deadline = time.monotonic() + TURNS_SECONDS
        while time.monotonic() < deadline:
            # Whoever claimed another group since we asked is not before us any more, and may wait for us.
            ahead = others_ahead(self._desk.store, self._group)
            if all(turn_is_over(self._desk.store, holder, TURN_SECONDS) for holder in ahead):
                break
            self._between()

    def over(self) -> None:
        """Let those behind us go on."""
        self._desk.locks.give_way()
