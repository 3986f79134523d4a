"""Buckets worked on by a cluster of Ray: the same task as in the processes of one machine.

Whoever asks reads the buckets and writes the results; they travel through the cluster's object store. Its hosts need
neither the store, nor its keys, nor a shared folder, but the same version of EnergyComm. Ray does a task again whose
host or process died. Where its head is lost, the run joins the cluster again and hands in what has no result.
"""

from __future__ import annotations

import logging
import socket
import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from energycomm.bulk.workers import AHEAD, Bucket, Lost, Processes, Task, Workers
from energycomm.errors import UserError

RETRIES = 3
"""How often Ray does a task again whose host or process died."""

PATIENCE = 5.0
"""Seconds in which the head's host must answer; Ray's own handshake takes up to 30 more."""

_ONE_VERSION = "Install one version of Python, Ray and EnergyComm on this host and on all hosts of the cluster."


def workers(address: str | None, processes: int | None) -> Workers:
    """Who works on buckets.

    Args:
      address: of a cluster; None where there is none.
      processes: how many processes of this machine; they go before the cluster.

    Raises:
      UserError: see `Cluster`.
    """
    return Processes(processes) if address is None or processes is not None else Cluster(address)


class Cluster:
    """A cluster of Ray; see `energycomm.bulk.workers.Workers`. It is joined at once, so that a mistake is told at once.

    Args:
      address: of its client server, `ray://host:10001`. A driver within the cluster would die with the head.

    Raises:
      UserError: Ray is not installed, the cluster does not answer, or has another version of Python or Ray.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        try:
            import grpc  # noqa: F401 - Ray's client needs it, and tells of it only when it connects
            import ray
        except ImportError:
            raise UserError(
                "`[cluster] address` is set, and Ray is not installed here.",
                "Install energycomm[cluster], or ask for --processes.",
            ) from None
        # What Ray tells of itself; what it raises is told by us.
        logging.getLogger("ray").setLevel(logging.CRITICAL)
        self._ray: Any = ray
        try:
            self._join()
        except Lost as lost:
            raise UserError(
                f"No Ray cluster answers: {lost}.",
                "Start its head (`ray start --head`), or mend `[cluster] address`; where the cluster asks for a token, "
                "set RAY_AUTH_MODE and RAY_AUTH_TOKEN to its own.",
            ) from None

    def results(self, task: Task, question: bytes, buckets: Iterable[Bucket]) -> Iterator[Bucket]:
        """Do a task on buckets, see `Workers`."""
        waiting = iter(buckets)
        running: dict[Any, int] = {}
        try:
            self._join()
            remote, asked = self._on_cluster(task, question)
            while True:
                room = self._room() - len(running)
                for number, content in islice(waiting, max(0, room)):
                    running[self._handed_in(remote, asked, content)] = number
                if not running:
                    return
                for number, result in self._finished(running):
                    yield number, result
        finally:
            running.clear()
            self._leave()

    def _join(self) -> None:
        """Connect to the cluster, unless it is connected.

        Raises:
          Lost: it does not answer.
          UserError: it has another version.
        """
        if self._ray.is_initialized():
            return
        place = urlsplit(self.address)
        try:
            socket.create_connection((place.hostname or "", place.port or 0), PATIENCE).close()
        except OSError as error:
            raise Lost(f"{self.address}: {error.strerror or error}") from error
        with warnings.catch_warnings():
            # It warns that it does not answer, and raises it as well.
            warnings.simplefilter("ignore")
            try:
                self._ray.init(address=self.address, configure_logging=False, log_to_driver=False)
            except RuntimeError as error:
                if "ersion" in str(error):
                    raise UserError(f"{self.address} has other versions: {_line(error)}", _ONE_VERSION) from None
                raise Lost(f"{self.address}: {_line(error)}") from error
            except Exception as error:
                raise Lost(f"{self.address}: {_line(error)}") from error

    def _leave(self) -> None:
        try:
            self._ray.shutdown()
        except Exception as error:
            # The connection is gone already.
            logging.getLogger(__name__).debug("ray.shutdown: %s", error)

    def _on_cluster(self, task: Task, question: bytes) -> tuple[Any, Any]:
        """The task and its question, where the cluster finds them."""
        with self._told():
            return self._ray.remote(num_cpus=1, max_retries=RETRIES)(task), self._ray.put(question)

    def _room(self) -> int:
        """Buckets that may wait or be worked on: hosts come and go."""
        with self._told():
            return AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def _handed_in(self, remote: Any, asked: Any, content: bytes) -> Any:
        with self._told():
            return remote.remote(asked, self._ray.put(content))

    def _finished(self, running: dict[Any, int]) -> list[Bucket]:
        with self._told():
            done, _ = self._ray.wait(list(running), num_returns=1)
            return [(running.pop(one), self._ray.get(one)) for one in done]

    def _told(self) -> _Told:
        return _Told(self._ray, self.address)


class _Told:
    """Raises what Ray raises as what a run knows: a mistake of the user, a fault of the task, a lost cluster."""

    def __init__(self, ray: Any, address: str) -> None:
        self._ray, self._address = ray, address

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        if not isinstance(error, Exception):
            return
        cause = error.cause if isinstance(error, self._ray.exceptions.RayTaskError) else error
        if isinstance(cause, UserError):
            raise cause from None
        if isinstance(cause, ImportError) or "ModuleNotFoundError" in str(error):
            raise UserError(
                f"A host of {self._address} has no EnergyComm that does this: {_line(cause)}", _ONE_VERSION
            ) from None
        if isinstance(error, self._ray.exceptions.RayTaskError):
            raise error
        # A lost head is told in the words of the transport below, or as not being connected any more.
        raise Lost(f"{self._address}: {_line(error)}") from error


def _line(error: BaseException) -> str:
    """What an error says, in one line; of a traceback from another host its end."""
    told = str(error).strip()
    words = " ".join((told.splitlines()[-1] if "Traceback" in told else told).split())
    return f"{type(error).__name__}: {words[:300]}"
