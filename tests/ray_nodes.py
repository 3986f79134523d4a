"""A cluster of Ray on this machine: real nodes, as `ray start` makes them, on loopback addresses of their own."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HOSTS = ("127.0.0.2", "127.0.0.3")
"""Ray takes an outer address of the machine in the place of 127.0.0.1."""

STORE_BYTES = 200_000_000
"""Of a node's objects."""

ATTEMPTS = 8
"""How often a node is started: it gives up when an agent of its own takes longer than 15 s, whatever is set, which on
a loaded machine happens."""

_PATIENT = {
    "RAY_agent_register_timeout_ms": "300000",
    "RAY_raylet_start_wait_time_s": "60",
    "RAY_worker_register_timeout_seconds": "300",
}

# Several clusters on one machine would want the same ones.
_PORTS = ("dashboard-agent-grpc-port", "dashboard-agent-listen-port", "metrics-export-port", "runtime-env-agent-port")

TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
"""Environment of the nodes and of whoever asks them."""


class NoCluster(Exception):
    """A node did not start."""


class Node:
    """A node of a cluster, in a session of its own."""

    def __init__(self, folder: Path, host: str, *arguments: str) -> None:
        command = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start", "--block", *arguments]
        usual = (
            f"--node-ip-address={host}",
            "--num-cpus=1",
            "--disable-usage-stats",
            *(f"--{port}={free_port()}" for port in _PORTS),
            f"--object-store-memory={STORE_BYTES}",
        )
        more = {"RAY_TMPDIR": str(folder), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self.process = subprocess.Popen(
            [*command, *usual],
            env=os.environ | _PATIENT | TOKEN | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        seen = []
        for line in self.process.stdout:
            seen.append(line)
            if "Ray runtime started" in line:
                return
        self.kill()
        raise NoCluster("Ray did not start: " + "".join(seen[-3:]))

    def kill(self) -> None:
        """End it and all it started, at once."""
        for number in [self.process.pid, *_started_by(self.process.pid)]:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def cpu(self) -> float:
        """CPU seconds of its processes, and of those that these waited for."""
        return _cpu([self.process.pid, *_started_by(self.process.pid)])

    def judging(self) -> float:
        """CPU seconds of those of its processes that do tasks."""
        return _cpu([number for number in _started_by(self.process.pid) if _does_tasks(number)])


def _started_by(number: int) -> list[int]:
    """The processes below one: Ray gives some of them sessions of their own."""
    parents = {int(path.name): int((_stat(int(path.name)) or ["0", "0"])[1]) for path in Path("/proc").glob("[0-9]*")}
    found = [number]
    for one in found:  # grows
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def _cpu(numbers: list[int]) -> float:
    return sum(sum(map(int, _stat(number)[11:15])) for number in numbers) / os.sysconf("SC_CLK_TCK")


def _does_tasks(number: int) -> bool:
    """Ray gives such a process the name of its task, and its agents names of the same form."""
    try:
        name = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")[0]
        return name.startswith(b"ray::") and not name.endswith(b"Agent")
    except OSError:
        return False


def _stat(number: int) -> list[str]:
    """What the kernel says of a process, from its state on; nothing where it is gone."""
    try:
        return Path(f"/proc/{number}/stat").read_text("utf-8").rpartition(") ")[2].split()
    except OSError:
        return []


class Cluster:
    """Nodes on loopback; the first is the head.

    Attributes:
      address: of its client server.
      nodes: those that live.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port, self._client = free_port(), free_port()
        self.address = f"ray://{HOSTS[0]}:{self._client}"
        self.nodes: list[Node] = []
        self.start()

    def start(self) -> Node:
        """Start a node; the head, where there is none."""
        arguments = [f"--address={HOSTS[0]}:{self._port}"]
        if not self.nodes:
            arguments = ["--head", f"--port={self._port}", "--include-dashboard=false"]
            arguments.append(f"--ray-client-server-port={self._client}")
        for attempt in range(ATTEMPTS):
            try:
                self.nodes.append(Node(self._folder, HOSTS[len(self.nodes)], *arguments))
                break
            except NoCluster:
                if attempt == ATTEMPTS - 1:
                    raise
        return self.nodes[-1]

    def kill(self, node: Node) -> None:
        """End a node at once."""
        node.kill()
        self.nodes.remove(node)


@contextmanager
def cluster(nodes: int = 1) -> Iterator[Cluster]:
    """A cluster of some nodes of one core each.

    Raises:
      NoCluster: a node did not start.
    """
    # Its sockets allow short paths only.
    folder = Path(tempfile.mkdtemp(prefix="ec-ray-", dir="/tmp"))
    started: list[Node] = []
    try:
        found = Cluster(folder)
        started = found.nodes
        while len(found.nodes) < nodes:
            found.start()
        yield found
    finally:
        for node in reversed(started):
            node.kill()
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as asked:
        asked.bind((HOSTS[0], 0))
        return int(asked.getsockname()[1])
