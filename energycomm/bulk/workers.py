"""Where buckets are worked on: the port, and the processes of this machine.

    for number, result in workers.results(task, question, buckets): ...

`energycomm.bulk.cluster` has the same port on Ray.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import version
from itertools import islice
from typing import Protocol, TypeAlias

from energycomm.errors import UserError
from energycomm.processes import cores, helpers

AHEAD = 2
"""Buckets that wait at each process, so that none is idle while its result is written."""

Bucket: TypeAlias = tuple[int, bytes]
"""Number and content of a bucket, or of its result."""

Task: TypeAlias = Callable[[bytes, bytes], bytes]
"""A function of a module: (question, bucket) -> result. It asks no store and writes nothing, so it may be done
anywhere, and again."""


def refuse_other_program(asking: str) -> None:
    """Refuse a question of another version of EnergyComm, which may judge or write otherwise.

    Args:
      asking: the version that asks.

    Raises:
      UserError: it is not the one that is installed here.
    """
    here = version("energycomm")
    if asking != here:
        raise UserError(
            f"EnergyComm {asking} asks, and {here} is installed where its buckets are to be worked on.",
            "Install one version on all hosts.",
        )


class Lost(Exception):
    """Workers died, or the cluster does not answer: what is not finished is to be handed in again."""


class Workers(Protocol):
    """Whoever works on buckets."""

    def results(self, task: Task, question: bytes, buckets: Iterable[Bucket]) -> Iterator[Bucket]:
        """Do a task on buckets, few of which are in memory at a time.

        Args:
          task: what is done.
          question: the same for all of them.
          buckets: taken as they are needed.

        Yields:
          Number and result of each, as they are finished.

        Raises:
          Lost: the rest of them is to be handed in again.
        """


class Processes:
    """The processes of this machine; this one alone where a single one is asked for.

    Args:
      number: how many; as many as this process may use cores when None.
    """

    def __init__(self, number: int | None = None) -> None:
        self.number = number or cores()

    def results(self, task: Task, question: bytes, buckets: Iterable[Bucket]) -> Iterator[Bucket]:
        """Do a task on buckets, see `Workers`."""
        waiting = iter(buckets)
        first = list(islice(waiting, 2))
        if self.number == 1 or len(first) < 2:
            # Another process would read the rules once more for one bucket.
            yield from ((number, task(question, content)) for number, content in _both(first, waiting))
            return
        pool = helpers(self.number)
        try:
            yield from self._through(pool, task, question, _both(first, waiting))
        except BrokenProcessPool as broken:
            raise Lost(str(broken)) from broken
        finally:
            pool.shutdown(cancel_futures=True)

    def _through(
        self, pool: ProcessPoolExecutor, task: Task, question: bytes, buckets: Iterator[Bucket]
    ) -> Iterator[Bucket]:
        running: dict[Future[bytes], int] = {}
        while True:
            for number, content in islice(buckets, self.number * AHEAD - len(running)):
                running[pool.submit(task, question, content)] = number
            if not running:
                return
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(done), done.result()


def _both(first: list[Bucket], rest: Iterator[Bucket]) -> Iterator[Bucket]:
    yield from first
    yield from rest
