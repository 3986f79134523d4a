"""Signs of life for monitoring: a file, and systemd's socket."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from energycomm.errors import UserError

BEAT_SECONDS = 1.0


class Heartbeat:
    """A file with the state of the daemon, replaced atomically. An old file means that the daemon hangs or is dead.

    Args:
      file: the file; None for none.

    Raises:
      UserError: its folder does not exist, or it cannot be written there.
    """

    def __init__(self, file: Path | None) -> None:
        if file is not None and not file.parent.is_dir():
            raise UserError(f"The folder of the heartbeat, {file.parent}, does not exist.", "Make it or change it.")
        self._file, self._last = file, 0.0
        if file is not None:
            try:
                self._hidden(file).touch()
                self._hidden(file).unlink()
            except OSError as error:
                raise UserError(
                    f"The heartbeat {file} cannot be written: {error.strerror}.",
                    "Make its folder writable, or change `heartbeat` of [daemon].",
                ) from None

    def beat(self, facts: Callable[[], dict[str, Any]]) -> None:
        """Write what is known, once in a while."""
        if self._file is None or time.monotonic() - self._last < BEAT_SECONDS:
            return
        self._last = time.monotonic()
        hidden = self._hidden(self._file)
        # A full disk must not stop the daemon; that the file grows old tells it.
        with contextlib.suppress(OSError):
            hidden.write_text(json.dumps(facts()), "utf-8")
            hidden.replace(self._file)

    @staticmethod
    def _hidden(file: Path) -> Path:
        return file.with_name(f".{file.name}.{os.getpid()}")

    def remove(self) -> None:
        """The daemon ends: no file is better than an old one."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)


def tell_service_manager(state: str) -> bool:
    """Notify systemd (``READY=1``, ``WATCHDOG=1``, ``STOPPING=1``); True when sent, or when there is no systemd."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return True
    # A leading @ names an abstract socket.
    target = "\0" + address[1:] if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
            line.sendto(state.encode(), target)
    except OSError:
        return False
    return True
