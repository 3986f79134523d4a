"""One file taken in by a process of its own, which goes on as far as it is told: so the cost of a message in a large
file or a full store is held against that in a small one in the same minutes, whatever else the machine does meanwhile.

As a program it waits for numbers of messages: `python -m benchmarks.paced URL FILE BEFORE...`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from math import inf
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from sqlalchemy import make_url

from benchmarks.material import Material
from benchmarks.whole_path import Served, UrlOf, fresh_gateway
from energycomm.pipeline.progress import total

HERE = Path(__file__).parents[1]
BATCH = 2_000
"""CH messages a step, as the gateway takes them by itself."""


class Mark(NamedTuple):
    """How far a file was taken in.

    Attributes:
      messages: Kernel messages stored so far.
      peak: the most memory of the process so far, in kB.
      client, server: CPU seconds of the process and of the database server, since the file began.
    """

    messages: int
    peak: int
    client: float
    server: float


class Span(NamedTuple):
    """What was done between two marks."""

    begin: Mark
    end: Mark

    @property
    def messages(self) -> int:
        """Kernel messages that were stored."""
        return self.end.messages - self.begin.messages

    @property
    def client(self) -> float:
        """CPU microseconds a message of the process."""
        return (self.end.client - self.begin.client) / max(self.messages, 1) * 1e6

    @property
    def server(self) -> float:
        """The same of the database server."""
        return (self.end.server - self.begin.server) / max(self.messages, 1) * 1e6

    @property
    def cost(self) -> float:
        """Both."""
        return self.client + self.server


def peak_kilobytes(process: int | str = "self") -> int:
    """The most memory that a process ever had, in kB (Linux); 0 where there is no such process. `getrusage` would count
    what the process had that started it.

    Args:
      process: its number.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


class Paced:
    """A process that takes one file into a database, and stands still but when it is told to go on.

    Args:
      url: an empty database.
      material: the file, and what comes before it.
      batch: most CH messages a step; it stops at the end of one.

    Attributes:
      begin: before the file.
    """

    def __init__(self, url: str, material: Material, batch: int = BATCH) -> None:
        (file,) = material.files
        command = [sys.executable, "-m", "benchmarks.paced", url, str(batch), str(file), *map(str, material.before)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE)
        self.begin = self._answer()

    def until(self, messages: float) -> Span:
        """Go on until so many messages are stored, or the file ends; from now, whatever the server did since."""
        return Span(self._told(0), self._told(messages))

    def _told(self, messages: float) -> Mark:
        assert self._process.stdin is not None
        print(messages, file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> Mark:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the process that takes the file in ended with {self._process.wait()}"
        return Mark(*json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait()


def alone(material: Material, url_of: UrlOf, first: float = 0, last: float = inf, batch: int = BATCH) -> Span:
    """A file in a fresh database, from one number of messages to another."""
    with fresh(url_of) as url, Paced(url, material, batch) as run:
        run.until(first)
        return run.until(last)


@contextmanager
def fresh(url_of: UrlOf) -> Iterator[str]:
    """A database; a file of SQLite is removed afterwards."""
    url = url_of()
    try:
        yield url
    finally:
        address = make_url(url)
        if address.get_backend_name() == "sqlite":
            Path(str(address.database)).unlink()


def main(url: str, batch: int, file: Path, before: list[Path]) -> None:
    """Take a file in as far as each line of the standard input says, and print the mark."""
    with fresh_gateway(url) as gateway, closing(Served(url)) as served:
        way = gateway.inbound
        total(way.take(before, "bench"))
        way.batch_size = batch
        client, server = time.process_time(), served.seconds() or 0.0
        stored, ended, steps = 0, False, way.take([file], "bench")

        def tell() -> None:
            spent = time.process_time() - client, (served.seconds() or 0.0) - server
            print(json.dumps([stored, peak_kilobytes(), *spent]), flush=True)

        tell()
        for line in sys.stdin:
            while not ended and stored < float(line):
                step = next(steps, None)
                ended = step is None
                stored += sum(step.tally.messages.values()) if step is not None else 0
            tell()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), [Path(name) for name in sys.argv[4:]])
