"""Arrivals: PostgreSQL wakes the workers of every process and host when envelopes were archived."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import psycopg

from energycomm.daemon.duties import Desk, Pause
from energycomm.eis.archive import ARRIVALS
from energycomm.eis.database import is_sqlite, reporting
from energycomm.logs import Log

log = Log()

LOOK_SECONDS = 1.0
"""Seconds between two looks whether the process is to stop."""


class Waking(threading.Thread):
    """Listens on a connection of its own; without one the worker looks for envelopes by itself, more often.

    Args:
      desk: whose event is set when envelopes were archived.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(name="waking", daemon=True)
        self._desk, self._engine = desk, desk.store.engine
        self.listens = False
        """Whether arrivals are told of at present."""

    def run(self) -> None:
        """Listen until the process stops."""
        if is_sqlite(self._engine):
            return  # one process archives and processes
        pause = Pause()
        while not self._desk.stop.is_set():
            try:
                with reporting(self._engine):
                    self._listen(pause)
            except Exception as error:
                log.info("waking.lost", error=str(error))
            self.listens = False
            self._desk.stop.wait(pause.next())

    def _listen(self, pause: Pause) -> None:
        pooled = self._engine.raw_connection()
        connection: Any = pooled.driver_connection
        pooled.detach()
        assert isinstance(connection, psycopg.Connection)
        with contextlib.closing(connection):
            connection.autocommit = True
            connection.execute(f"LISTEN {ARRIVALS}".encode())
            self.listens = True
            self._desk.arrived.set()  # what came before we listened
            pause.reset()
            while not self._desk.stop.is_set():
                for _ in connection.notifies(timeout=LOOK_SECONDS, stop_after=1):
                    self._desk.arrived.set()
