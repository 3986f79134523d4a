"""Processes that help this one: how they are started, in one place, and that none outlives who started it.

A helper is spawned, never forked: a forked process would share the connections to the store and the locks of threads.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from typing import Any


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def helpers(number: int, begin: Callable[..., None] | None = None, *arguments: Any) -> ProcessPoolExecutor:
    """Processes that do work for this one; each is started when there is work for it.

    Args:
      number: how many.
      begin: called first in each of them; its arguments are pickled.
      *arguments: of `begin`.
    """
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(number, mp_context=context, initializer=_begin, initargs=(begin, arguments))


def _begin(begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    # A key press at the terminal reaches the whole group; who started us says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    if begin is not None:
        begin(*arguments)


def _end_with_parent() -> None:
    """End this process as soon as the one that started it has ended, however it did: nobody waits for its work."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
