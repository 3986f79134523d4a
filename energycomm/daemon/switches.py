"""What people want of the channels, and what the channels did: in the store, so that every host obeys and tells."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

from energycomm.eis.channels import NEW, ChannelState, channel_states, note
from energycomm.eis.database import Conflict, is_lost
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.kernel.instants import now_micros

LOOK_EVERY = 1.0
"""Seconds for which what was read counts."""
NOTE_EVERY = 15.0
"""Seconds between two notes that say the same."""


class Switches:
    """Those of one worker; safe for its threads.

    Args:
      store: the EIS.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._host = store, socket.gethostname()
        self._lock = threading.Lock()
        self._known: dict[str, ChannelState] = {}
        self._read_at = float("-inf")
        self._noted: dict[str, tuple[float, str | None]] = {}

    def of(self, name: str) -> ChannelState:
        """What is wanted and known of a channel; what was known before, while the database is lost."""
        with self._lock:
            if time.monotonic() - self._read_at >= LOOK_EVERY:
                try:
                    self._known = channel_states(self._store.engine)
                except UserError as error:
                    if not is_lost(error):
                        raise
                self._read_at = time.monotonic()
            return self._known.get(name, NEW)

    def note(self, name: str, error: str | None) -> None:
        """Note that a channel worked (None), or how it failed; what is lost of it does no harm."""
        at, before = self._noted.get(name, (float("-inf"), ""))
        now = time.monotonic()
        if error == before and now - at < NOTE_EVERY:
            return
        self._noted[name] = (now, error)
        # Whatever keeps the database from being written to is told by who has to write to it.
        with contextlib.suppress(UserError, Conflict):
            note(self._store, name, self._host, now_micros(), error)
