"""Work that takes longer than a page may: done in threads of the process, watched from any page, at most once.

Dry runs, proposals and campaigns are jobs. A job has a key: a second click finds the first one's job. What a campaign
does is in the store, so that it goes on record whatever becomes of the process; a job only tells how far it is.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any

from energycomm.eis.database import reading
from energycomm.eis.tallies import MANY_LOOSE, loose, settle
from energycomm.errors import UserError
from energycomm.logs import Log
from energycomm.webservice.services import Services

log = Log()

MOST_JOBS = 40
"""Jobs remembered; the oldest that are over are forgotten."""

THREADS = 2
SETTLE_EVERY = 60.0


class Cancelled(Exception):
    """A user stopped the job."""


class Job:
    """One piece of work.

    Attributes:
      id: what its page's address names.
      key: a job with the same key is this one, while it is waiting or at work.
      title: what it does, in words.
      by: who asked.
      state: waiting, working, done, failed, cancelled.
      done, total: how far it is; total 0 while that is not known.
      result: what it came to.
      trouble: why it failed, in words.
    """

    def __init__(self, key: str, title: str, by: str) -> None:
        self.id = secrets.token_urlsafe(9)
        self.key, self.title, self.by = key, title, by
        self.state = "waiting"
        self.done = self.total = 0
        self.result: Any = None
        self.trouble = ""
        self.started = time.monotonic()
        self._stop = threading.Event()

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in ("done", "failed", "cancelled")

    @property
    def seconds(self) -> int:
        """Since it was asked for."""
        return int(time.monotonic() - self.started)

    def look(self) -> Job:
        """A snapshot of the job, for a page: the job continues meanwhile."""
        state = self.state  # set last, when the result is there
        seen = copy(self)
        seen.state = state
        return seen

    def cancel(self) -> None:
        """Ask it to stop at the next step."""
        self._stop.set()
        if self.state == "waiting":
            self.state = "cancelled"

    def step(self, done: int, total: int | None = None) -> None:
        """Report progress; ends the job if a user cancelled it.

        Raises:
          Cancelled: to be let through.
        """
        self.done = done
        if total is not None:
            self.total = total
        if self._stop.is_set():
            raise Cancelled


class Workbench:
    """The jobs of a process.

    Args:
      shared: the services.
    """

    def __init__(self, shared: Services) -> None:
        self.shared = shared
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._settled = 0.0

    def start(self, key: str, title: str, by: str, work: Callable[[Job], Any]) -> Job:
        """Begin a job, or find the one that has the key and is not over.

        Args:
          key: what it is about; equal keys are one job.
          title: in words.
          by: who asks.
          work: does it; gets the job to tell how far it is, and answers the result.
        """
        with self._lock:
            for job in self._jobs.values():
                if job.key == key and not job.over:
                    return job
            job = Job(key, title, by)
            self._jobs[job.id] = job
            over = [one for one in self._jobs.values() if one.over]
            for one in over[: max(0, len(self._jobs) - MOST_JOBS)]:
                del self._jobs[one.id]
            if self._pool is None:
                self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="workbench")
            self._pool.submit(self._do, job, work)
        return job

    def find(self, job_id: str) -> Job | None:
        """A job by its id."""
        return self._jobs.get(job_id)

    def latest(self, key: str) -> Job | None:
        """The last job with a key, over or not."""
        return next((job for job in reversed(list(self._jobs.values())) if job.key == key), None)

    def tidy(self) -> None:
        """Settle the tallies now and then, in a job; a reader need not wait for it."""
        if time.monotonic() - self._settled < SETTLE_EVERY:
            return
        self._settled = time.monotonic()
        self.start("settle", "settle the tallies", "console", self._settle)

    def close(self) -> None:
        """Ask every job to stop and wait for them."""
        with self._lock:
            for job in self._jobs.values():
                job.cancel()
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def _settle(self, _: Job) -> int:
        with reading(self.shared.store.engine) as connection:
            many = loose(connection)
        return settle(self.shared.store.engine) if many >= MANY_LOOSE else 0

    def _do(self, job: Job, work: Callable[[Job], Any]) -> None:
        if job.over:
            return
        job.state = "working"
        try:
            job.step(0)
            job.result = work(job)
        except Cancelled:
            job.state = "cancelled"
        except UserError as error:
            job.trouble, job.state = str(error), "failed"
        except Exception:
            log.exception("console.job", job=job.title, by=job.by)
            job.trouble, job.state = "EnergyComm itself failed; details are in the log.", "failed"
        else:
            job.state = "done"
