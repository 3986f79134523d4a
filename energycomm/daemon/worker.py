"""A worker process: claims archived envelopes and processes them; its threads have the duties."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from multiprocessing.connection import Connection

import structlog

from energycomm import logs
from energycomm.backoffice.targets import open_target
from energycomm.config import Config
from energycomm.daemon.asking import asking_duties
from energycomm.daemon.channels import open_channels, open_places
from energycomm.daemon.claims import Waiting, quietly_forgive, waiting
from energycomm.daemon.duties import Desk, Duty, Pause
from energycomm.daemon.housekeeping import Housekeeping
from energycomm.daemon.locks import open_locks
from energycomm.daemon.polling import Polling
from energycomm.daemon.report import Alive, Reporter
from energycomm.daemon.sending import Delivering, Notifying
from energycomm.eis.database import Conflict, is_lost
from energycomm.eis.seen_files import SeenFiles
from energycomm.masking import mask_output
from energycomm.pipeline.delivery import Bundles, repetition
from energycomm.pipeline.gateway import Gateway, open_store
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.progress import Progress
from energycomm.pipeline.records import OpenEnvelope, TakenOver, begin, put_aside

log = structlog.get_logger()

IDLE = 0.5
"""Seconds between two looks for envelopes, unless one arrives in this process."""
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
        self._later: dict[int, float] = {}
        self._forgive: list[int] = []
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
        pause = Pause()
        while not self.stop.is_set():
            state, wait = "idle", IDLE
            try:
                self._forgive = quietly_forgive(desk.store, self._forgive)
                if self._pass(desk, gateway.inbound):
                    wait = 0.0
                desk.database_found()
                pause.reset()
            except Exception as error:
                if not is_lost(error):
                    raise
                state, wait = "waiting", pause.next()
                desk.database_lost(error)
                log.info("database.lost", error=str(error), seconds=round(wait, 2))
            self._sign(desk, state)
            self._wait(desk, wait)
        self.report.send(Alive("stopping"))
        quietly_forgive(desk.store, self._forgive)
        deadline = time.monotonic() + JOIN_SECONDS
        for duty in duties:
            duty.join(max(0.0, deadline - time.monotonic()))

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
        """Process what nobody else does; False when there was nothing to do."""
        worked = False
        for item in waiting(desk.store):
            if self.stop.is_set():
                break
            if self._later.get(item.id, 0.0) > time.monotonic():
                continue
            key = f"envelope/{item.id}"
            if not desk.locks.take(key):
                continue
            try:
                worked = self._claimed(desk, inbound, item) or worked
            finally:
                desk.locks.release(key)
                structlog.contextvars.unbind_contextvars("envelope", "name")
        return worked

    def _claimed(self, desk: Desk, inbound: Inbound, item: Waiting) -> bool:
        structlog.contextvars.bind_contextvars(envelope=item.id, name=item.name)
        attempt = begin(desk.store, item.id)
        if attempt is None:
            return False
        envelope = OpenEnvelope(item.id, item.name, item.sha256, item.state == "archived", item.channel)
        if attempt > self.config.daemon.attempts:
            log.error("envelope.put_aside", attempts=attempt - 1)
            with desk.store.transaction() as tx:
                put_aside(tx, envelope, f"{attempt - 1} attempts")
            return True
        self._sign(desk, "working", item.id)
        begun = time.monotonic()
        progress = Progress()
        try:
            for step in inbound.process(envelope):
                progress.add(step)
                self._between(desk)
        except Stopped:
            self._forgive.append(item.id)
            log.info("envelope.interrupted")
            return False
        except (Conflict, TakenOver) as other:
            # Another worker has it, or the same content: it is looked at again in a moment.
            self._forgive.append(item.id)
            self._later[item.id] = time.monotonic() + 0.5
            log.info("envelope.left", why=str(other).splitlines()[0][:200])
            return False
        except Exception as error:
            if is_lost(error):
                self._forgive.append(item.id)
                raise
            wait = min(LONGEST_WAIT, 2.0**attempt)
            self._later[item.id] = time.monotonic() + wait
            log.error("envelope.fault", attempt=attempt, seconds=wait, exc_info=error)
            self.report.count("energycomm_envelope_faults", item.channel)
            return False
        self._later.pop(item.id, None)
        self._count(item, progress, time.monotonic() - begun)
        return True

    def _count(self, item: Waiting, progress: Progress, seconds: float) -> None:
        report, tally = self.report, progress.tally
        report.count("energycomm_envelopes", item.channel, "failed" if progress.failed else "done")
        report.timing("energycomm_envelope_seconds", value=seconds)
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
