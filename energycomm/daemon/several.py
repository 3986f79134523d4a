"""The daemon of an installation of several suppliers: each has a supervisor and workers of its own.

No worker process knows more than one supplier: its settings, keys and store. What breaks or dies there ends there. In
common is what is looked at from outside: one port with metrics and health.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Mapping

import structlog

from energycomm.config import Config, choosing
from energycomm.daemon.duties import Pause
from energycomm.daemon.health import JSON, METRICS, Doorkeeper, HealthServer, word
from energycomm.daemon.heartbeat import tell_service_manager
from energycomm.daemon.metrics import Metrics, text_of_several
from energycomm.daemon.supervisor import Supervisor, health_token
from energycomm.errors import ExitCode, UserError
from energycomm.logs import Log
from energycomm.masking import masked

log = Log()

TICK = 0.5
AGAIN, LONGEST = 1.0, 30.0
"""First and longest pause before a supplier that could not be supervised is tried again."""


class Supervisors:
    """One daemon for several suppliers.

    Args:
      installation: the configuration of the installation.
      suppliers: the configuration of each supplier, by name.

    Raises:
      UserError: a port is taken, or no supplier can be worked for.
    """

    def __init__(self, installation: Config, suppliers: Mapping[str, Config]) -> None:
        self.suppliers = suppliers
        self.stop = threading.Event()
        self.on: dict[str, Supervisor] = {}
        self.failures: dict[str, UserError] = {}
        self._clean = dict.fromkeys(suppliers, True)
        settings = installation.daemon
        self.health = HealthServer(
            settings.host,
            settings.port,
            {
                "/health/live": lambda: word(all(one.is_live() for one in self._those_on().values()), "live"),
                "/health/ready": lambda: word(self.is_ready(), "ready"),
            },
            {"/metrics": self._metrics_page, "/health/details": self._details_page},
            Doorkeeper(health_token(installation)),
        )
        for name in suppliers:
            self._begin(name)
        if not self.on:
            self.health.close()
            raise next(iter(self.failures.values()))

    def run(self) -> int:
        """Run until SIGTERM or SIGINT; the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop.set())
        self.health.start()
        threads = [threading.Thread(target=self._keep, args=(name,), name=name) for name in self.suppliers]
        for thread in threads:
            thread.start()
        told = False
        try:
            while not self.stop.wait(TICK):
                if all(one.is_live() for one in self._those_on().values()):
                    tell_service_manager("WATCHDOG=1")
                # One that cannot be worked for does not keep systemd waiting for the others.
                if not told and any(one.is_ready() for one in self._those_on().values()):
                    told = tell_service_manager("READY=1")
        finally:
            self.stop.set()
            tell_service_manager("STOPPING=1")
            for one in self._those_on().values():
                one.stop.set()
            for thread in threads:
                thread.join()
            self.health.close()
        return ExitCode.OK if all(self._clean.values()) else ExitCode.INTERNAL

    def is_ready(self) -> bool:
        """Whether envelopes of every supplier can be processed."""
        on = self._those_on()
        return on.keys() == self.suppliers.keys() and all(one.is_ready() for one in on.values())

    def _those_on(self) -> dict[str, Supervisor]:
        return dict(self.on)

    def _begin(self, name: str) -> Supervisor | None:
        """Make the supervisor of a supplier, or remember why that is not possible."""
        try:
            with choosing(name):
                made = Supervisor(self.suppliers[name], self.health.port)
        except UserError as error:
            self.failures[name] = error
            log.error("supplier.unavailable", supplier=name, error=str(error))
            return None
        self.failures.pop(name, None)
        self.on[name] = made
        return made

    def _keep(self, name: str) -> None:
        """Supervise the workers of one supplier; again, after a pause, where that failed."""
        structlog.contextvars.bind_contextvars(supplier=name)
        pause = Pause(AGAIN, LONGEST)
        while not self.stop.is_set():
            supervisor = self.on.get(name) or self._begin(name)
            if supervisor is not None:
                begun = time.monotonic()
                if self.stop.is_set():
                    supervisor.stop.set()  # it began after all others were told
                try:
                    self._clean[name] = supervisor.supervise(lambda _: True) == ExitCode.OK
                except Exception as error:
                    self._clean[name] = False
                    log.error("supplier.broke", exc_info=error)
                self.on.pop(name, None)
                if time.monotonic() - begun > LONGEST:
                    pause.reset()
            self.stop.wait(pause.next())

    def _metrics_page(self) -> tuple[int, str, bytes]:
        on = self._those_on()
        found = {name: on[name].measured() if name in on else _nothing() for name in self.suppliers}
        return 200, METRICS, text_of_several(found)

    def _details_page(self) -> tuple[int, str, bytes]:
        on = self._those_on()
        facts = {
            name: on[name].facts() if name in on else {"ready": False, "error": str(self.failures.get(name, ""))}
            for name in self.suppliers
        }
        ready = self.is_ready()
        return 200 if ready else 503, JSON, json.dumps(masked({"ready": ready, "suppliers": facts})).encode()


def _nothing() -> Metrics:
    """The metrics of a supplier that is not worked for: it has no worker and is not ready."""
    made = Metrics({})
    made.show_workers([], ready=False)
    return made
