"""The supervisor: keeps the workers alive, collects their reports, raises alarms, serves health.

It holds no state that matters: when it dies its workers finish their batches and end, and the next one goes on.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Collection
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from msgspec import Struct

from energycomm.backoffice.targets import open_target
from energycomm.config import Config
from energycomm.daemon.alarming import OwnMemory, check_ways, is_told, turn
from energycomm.daemon.alarms import AlarmBook
from energycomm.daemon.channels import open_channels
from energycomm.daemon.duties import Pause
from energycomm.daemon.endpoint import listen, serve
from energycomm.daemon.health import JSON, METRICS, Doorkeeper, HealthServer, word
from energycomm.daemon.heartbeat import Heartbeat, tell_service_manager
from energycomm.daemon.metrics import Metrics
from energycomm.daemon.report import Alarming, Alive, Count, Timing, decode
from energycomm.daemon.survey import survey
from energycomm.daemon.watching import OF_THE_HOST, OF_THE_STORE, Found, watch_host, watch_store
from energycomm.daemon.worker import work
from energycomm.eis.channels import leave, sign
from energycomm.eis.database import Conflict, connect, is_lost, opened
from energycomm.eis.store import Store
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.instants import now_micros
from energycomm.logs import Log
from energycomm.masking import masked
from energycomm.pipeline.gateway import open_catalogue, open_engine, open_keys
from energycomm.pipeline.opening import open_store
from energycomm.transport.channel import Unseen
from energycomm.transport.credentials import Secret, SecretUnreadableError

log = Log()

TICK = 0.25
SURVEY_SECONDS = SIGN_SECONDS = 5.0
TELL_SECONDS = 15.0
YOUNG = 10.0
"""A worker that dies within so many seconds is started again after a growing pause, another one at once."""
DEATHS, DEATHS_WITHIN = 5, 60.0
"""So many deaths within so many seconds make an alarm."""
LIVE_SECONDS = 30.0


class Seat(Struct):
    """One process's place: the worker (or push endpoint) that sits there at present, and what is known of it.

    Attributes:
      number: of the worker, from 1; 0 for the push endpoint.
      pause: between two of them that die young.
      target: what the process does: called with number, configuration, line and `more`.
      more: further arguments of `target`.
    """

    number: int
    pause: Pause
    target: Callable[..., None] = work
    more: tuple[Any, ...] = ()
    process: BaseProcess | None = None
    line: Connection | None = None
    state: str = "gone"
    envelope: int | None = None
    leads: tuple[str, ...] = ()
    begun: float = 0.0
    seen: float = 0.0
    start_at: float = 0.0

    @property
    def source(self) -> str:
        """Its name in alarms."""
        return f"worker {self.number}" if self.number else "push endpoint"


class Supervisor:
    """One daemon.

    Args:
      config: the configuration.
      port: of metrics and health, where one process supervises several suppliers and serves these for all; None for
        one alone.

    Raises:
      UserError: the configuration, the rules, keys or channels are wrong, the database is not upgraded, or a port is
        taken.
    """

    def __init__(self, config: Config, port: int | None = None) -> None:
        self.config = config
        self.settings = config.daemon
        check(config)
        sqlite = config.database_url.startswith("sqlite")
        workers = 1 if sqlite else self.settings.workers
        if sqlite and self.settings.workers > 1:
            log.info("daemon.one_worker", why="SQLite has one writer")
        self.stop = threading.Event()
        self.seats = [Seat(number, Pause(0.5, 30.0)) for number in range(1, workers + 1)]
        self.metrics = Metrics({channel.name: channel.market for channel in config.channels})
        self.alarms = AlarmBook(self.settings.alarm_seconds, time.monotonic)
        self._guard = threading.RLock()
        self.listening = listen(config)
        self.endpoint = None if self.listening is None else Seat(0, Pause(0.5, 30.0), serve, (self.listening,))
        self._all = self.seats + ([self.endpoint] if self.endpoint is not None else [])
        # Workers are forked from a process that has read the program and nothing else: they begin in half the time.
        self._processes = multiprocessing.get_context("forkserver")
        self._processes.set_forkserver_preload(["energycomm.daemon.worker", "energycomm.daemon.endpoint"])
        self._deaths: list[float] = []
        self._ticked = time.monotonic()
        self._database_seen = 0.0
        self.health = self._health_server() if port is None else None
        self.port = self.health.port if self.health is not None else port
        file = config.folder / self.settings.heartbeat if self.settings.heartbeat else None
        self.heartbeat = Heartbeat(file)

    def _health_server(self) -> HealthServer:
        return HealthServer(
            self.settings.host,
            self.settings.port,
            {
                "/health/live": lambda: word(self.is_live(), "live"),
                "/health/ready": lambda: word(self.is_ready(), "ready"),
            },
            {"/metrics": lambda: (200, METRICS, self.measured().text()), "/health/details": self._details_page},
            Doorkeeper(health_token(self.config)),
        )

    def run(self) -> int:
        """Run until SIGTERM or SIGINT; the exit code."""
        assert self.health is not None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop.set())
        self.health.start()
        try:
            return self.supervise(tell_service_manager)
        finally:
            self.health.close()

    def supervise(self, tell: Callable[[str], bool]) -> int:
        """Supervise until the event that ends it; the exit code.

        Args:
          tell: is told what systemd is to know; answers whether it was heard.
        """
        if is_told(self.config):
            threading.Thread(target=self._tell_always, name="alarming", daemon=True).start()
        presence = threading.Thread(target=self._sign_always, name="presence", daemon=True)
        for thread in (threading.Thread(target=self._survey_always, name="survey", daemon=True), presence):
            thread.start()
        log.info("daemon.started", pid=os.getpid(), workers=len(self.seats), port=self.port)
        told = False
        try:
            while not self.stop.is_set():
                self._tick()
                tell("WATCHDOG=1")
                if not told and self.is_ready():
                    told = tell("READY=1")
        finally:
            self.stop.set()  # for our threads, where a fault ended the loop
            tell("STOPPING=1")
            clean = self._shut_down()
            presence.join(SIGN_SECONDS)
            if self.listening is not None:
                self.listening.close()
            self.heartbeat.remove()
        log.info("daemon.stopped", clean=clean)
        return ExitCode.OK if clean else ExitCode.INTERNAL

    # --- the loop ---

    def _tick(self) -> None:
        lines = {seat.line: seat for seat in self._all if seat.line is not None}
        if lines:
            for line in wait(list(lines), TICK):
                self._listen(lines[line])  # type: ignore[index]
        else:
            self.stop.wait(TICK)
        now = time.monotonic()
        for seat in self._all:
            self._look_after(seat, now)
        self._count_deaths(now)
        with self._guard:
            self.alarms.tick()
        self._ticked = now
        self.heartbeat.beat(self.facts)

    def _listen(self, seat: Seat) -> None:
        """Take in what a worker told."""
        assert seat.line is not None
        try:
            while seat.line is not None and seat.line.poll():
                report = decode(seat.line.recv_bytes())
                with self._guard:
                    if isinstance(report, Alive):
                        seat.state, seat.envelope, seat.leads = report.state, report.envelope, report.leads
                        seat.seen = time.monotonic()
                    elif isinstance(report, Alarming):
                        self.alarms.say(report.code, report.subject, seat.source, report.on, report.detail)
                    else:
                        self.metrics.take(report)
        except (EOFError, OSError):
            seat.line.close()
            seat.line = None

    def _look_after(self, seat: Seat, now: float) -> None:
        """Start a worker where none is; replace one that died or hangs."""
        process = seat.process
        if process is None:
            if now >= seat.start_at:
                self._start(seat)
            return
        if process.is_alive():
            if now - seat.seen > self.settings.hang_seconds:
                log.error("worker.hung", worker=seat.number, pid=process.pid, envelope=seat.envelope)
                with self._guard:
                    words = f"no sign of life for {self.settings.hang_seconds:g} s, envelope {seat.envelope}"
                    self.alarms.say("WORKER_HUNG", seat.source, "supervisor", True, words)
                process.kill()
                process.join()
            elif now - seat.begun > DEATHS_WITHIN:
                with self._guard:
                    self.alarms.say("WORKER_HUNG", seat.source, "supervisor", False)
                seat.pause.reset()
            return
        if seat.line is not None:
            self._listen(seat)
        self._bury(seat, now)

    def _bury(self, seat: Seat, now: float) -> None:
        process = seat.process
        assert process is not None
        process.join()
        young = now - seat.begun < YOUNG
        delay = seat.pause.next() if young else 0.0
        log.error("worker.died", worker=seat.number, pid=process.pid, code=process.exitcode, seconds=round(delay, 2))
        if seat.line is not None:
            seat.line.close()
        process.close()
        seat.process, seat.line, seat.state, seat.leads, seat.envelope = None, None, "gone", (), None
        seat.start_at = now + delay
        self._deaths.append(now)
        with self._guard:
            self.alarms.forget(seat.source)
            self.metrics.take(Count("energycomm_worker_deaths"))

    def _start(self, seat: Seat) -> None:
        ours, theirs = self._processes.Pipe(duplex=False)
        process = self._processes.Process(
            target=seat.target,
            args=(seat.number, self.config, theirs, *seat.more),
            name=f"energycomm-worker-{seat.number}" if seat.number else "energycomm-push",
        )
        process.start()
        theirs.close()
        seat.process, seat.line, seat.state = process, ours, "starting"
        seat.begun = seat.seen = time.monotonic()
        log.info("worker.started", worker=seat.number, pid=process.pid)

    def _count_deaths(self, now: float) -> None:
        self._deaths = [at for at in self._deaths if now - at < DEATHS_WITHIN]
        many = len(self._deaths) >= DEATHS
        with self._guard:
            words = f"{len(self._deaths)} deaths within {DEATHS_WITHIN:.0f} s"
            self.alarms.say("WORKER_DYING", "workers", "supervisor", many, words)

    def _shut_down(self) -> bool:
        """Let the workers finish their batches; True when none had to be killed."""
        for seat in self._all:
            if seat.process is not None and seat.process.is_alive():
                seat.process.terminate()
        deadline, clean = time.monotonic() + self.settings.stop_seconds, True
        for seat in self._all:
            if seat.process is None:
                continue
            while seat.process.is_alive() and time.monotonic() < deadline:
                if seat.line is not None:
                    self._listen(seat)  # nobody may wait to be heard
                seat.process.join(0.05)
            if seat.process.is_alive():
                log.error("worker.killed", worker=seat.number, why="it did not finish in time")
                seat.process.kill()
                seat.process.join()
                clean = False
        return clean

    # --- the store ---

    def _survey_always(self) -> None:
        """Look at the store every few seconds, through losses of the database."""
        while not self.stop.is_set():
            try:
                engine = connect(self.config.database_url, create=False)
                try:
                    self._survey_on(engine)
                finally:
                    engine.dispose()
            except Exception as error:
                if not is_lost(error):
                    log.error("survey.fault", exc_info=error)
                with self._guard:
                    self.alarms.say("DATABASE_LOST", "database", "supervisor", True, str(error))
            self.stop.wait(1.0)

    def _survey_on(self, engine: Any) -> None:
        while not self.stop.is_set():
            found = survey(engine, now_micros(), self.settings.answer_hours)
            with self._guard:
                self._database_seen = time.monotonic()
                self.alarms.say("DATABASE_LOST", "database", "supervisor", False)
                self.metrics.show_survey(found)
                for code, subject, number, words in found.alarms():
                    self.alarms.say(code, subject, "supervisor", number > 0, words)
            self._watch(watch_store(engine, self.config.alarms, now_micros()), OF_THE_STORE)
            self._watch(watch_host(self.config, now_micros()), OF_THE_HOST)
            self.stop.wait(SURVEY_SECONDS)

    def _watch(self, found: Found, codes: Collection[str]) -> None:
        """Say which alarms of these codes are on, and that all others of them are not."""
        with self._guard:
            for (code, subject), words in found.items():
                self.alarms.say(code, subject, "supervisor", True, words)
            for code, subject in self.alarms.on.keys() - found.keys():
                if code in codes:
                    self.alarms.say(code, subject, "supervisor", False)

    def _tell_always(self) -> None:
        """Tell people of alarms, through losses of the database."""
        own = OwnMemory(self.config)
        while not self.stop.wait(TELL_SECONDS):
            try:
                with opened(self.config.database_url, create=False) as engine:
                    while not self.stop.is_set():
                        turn(Store(engine), self.config)
                        # What was told while the database was lost ends here; the store knows the rest.
                        own.turn({}, now_micros())
                        self.stop.wait(TELL_SECONDS)
            except Exception as error:
                if not is_lost(error) and not isinstance(error, Conflict):
                    log.error("alarming.fault", exc_info=error)
                with self._guard:
                    lost = {key: one.detail for key, one in self.alarms.on.items() if key[0] == "DATABASE_LOST"}
                own.turn(lost, now_micros())

    def _sign_always(self) -> None:
        """Write into the store how we are, for those who look from elsewhere. Apart from the survey: on SQLite a write
        waits for other writers, and the database is not lost for that."""
        name, begun = f"{socket.gethostname()}:{self.port}", now_micros()
        while True:
            going = not self.stop.is_set()
            try:
                with opened(self.config.database_url, create=False) as engine:
                    store = Store(engine)
                    while going:
                        sign(store, name, begun, now_micros(), masked(self.facts()))
                        going = not self.stop.wait(SIGN_SECONDS)
                    leave(store, name)
                    return
            except Exception as error:
                # What is lost of it is missed by those who look; the survey says why.
                if not is_lost(error) and not isinstance(error, Conflict):
                    log.error("presence.fault", exc_info=error)
                if not going:
                    return
            self.stop.wait(SIGN_SECONDS)

    # --- how it is ---

    def is_live(self) -> bool:
        """The loop goes round."""
        return time.monotonic() - self._ticked < LIVE_SECONDS

    def is_ready(self) -> bool:
        """A worker works or could, and the database answered a moment ago."""
        working = any(seat.state in ("idle", "working") for seat in self.seats)
        return working and time.monotonic() - self._database_seen < 3 * SURVEY_SECONDS and not self.stop.is_set()

    def facts(self) -> dict[str, Any]:
        """How workers and alarms are, as JSON has it."""
        with self._guard:
            return {
                "at": now_micros() / 1e6,
                "pid": os.getpid(),
                "port": self.port,
                "ready": self.is_ready(),
                "workers": [
                    {
                        "number": seat.number,
                        "pid": seat.process.pid if seat.process else None,
                        "state": seat.state,
                        "envelope": seat.envelope,
                        "leads": list(seat.leads),
                    }
                    for seat in self.seats
                ],
                **self._endpoint_facts(),
                "alarms": [
                    {"alarm": code, "subject": subject, "detail": alarm.detail}
                    for (code, subject), alarm in sorted(self.alarms.on.items())
                ],
            }

    def _endpoint_facts(self) -> dict[str, Any]:
        """Where messages may be pushed to; nothing where none are."""
        seat = self.endpoint
        if seat is None or self.listening is None:
            return {}
        pid = seat.process.pid if seat.process else None
        return {"push": {"port": self.listening.getsockname()[1], "pid": pid, "state": seat.state}}

    def measured(self) -> Metrics:
        """The metrics, as things are now."""
        with self._guard:
            self.metrics.show_workers([seat.state for seat in self.seats], self.is_ready())
            self.metrics.show_alarms(code for code, _ in self.alarms.on)
            return self.metrics

    def _details_page(self) -> tuple[int, str, bytes]:
        facts = self.facts() | {"seconds_since_tick": round(time.monotonic() - self._ticked, 1)}
        return 200 if facts["ready"] else 503, JSON, json.dumps(masked(facts)).encode()


def health_token(config: Config) -> Secret | None:
    """The token for metrics and details; None if none is set.

    Raises:
      UserError: it cannot be read.
    """
    settings = config.daemon
    if settings.token_file is None and settings.token_env is None:
        return None
    file = config.folder / settings.token_file if settings.token_file is not None else None
    secret = Secret("token of [daemon]", file, settings.token_env)
    try:
        secret.read()
    except SecretUnreadableError as error:
        raise UserError(f"{error}.", "Correct `token_file` or `token_env` of [daemon].") from None
    return secret


def check(config: Config) -> None:
    """Refuse wrong settings at once; wait for a database that does not answer.

    Raises:
      UserError: rules, keys, channels or the target of notifications are wrong, or the database is not upgraded.
    """
    open_engine(open_catalogue(config.rules_folder), config.engine)
    open_keys(config)
    open_channels(config, threading.Event(), Unseen())
    open_target(config)
    check_ways(config)
    try:
        connect(config.database_url, create=False).dispose()
    except UserError as error:
        if config.database_url.startswith("sqlite"):
            raise
        log.warning("database.lost", error=str(error))
        return
    with open_store(config):
        pass


__all__ = ["Supervisor", "Timing", "check"]
