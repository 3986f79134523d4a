"""Peak memory of the process, and cost of a message, for files of growing size, each in a process of its own.

As a program it processes one file: `python -m benchmarks.memory URL FILE BEFORE...`, and prints what it measured.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import make_url

from benchmarks import table
from benchmarks.material import flat
from benchmarks.whole_path import Served, UrlOf, fresh_gateway
from energycomm.pipeline.progress import total

HERE = Path(__file__).parents[1]


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


class Run(NamedTuple):
    """Peak memory in kB before and after, Kernel messages, and CPU seconds of the process and of the server."""

    before: int
    after: int
    messages: int
    client: float
    server: float


def measure(url: str, file: Path, before: list[Path]) -> Run:
    """Process a file into an empty database.

    Args:
      url: the database.
      file: the envelope.
      before: envelopes that are processed first, unmeasured.
    """
    with fresh_gateway(url) as gateway, closing(Served(url)) as served:
        total(gateway.inbound.take(before, "bench"))
        memory, client, server = peak_kilobytes(), time.process_time(), served.seconds() or 0.0
        done = total(gateway.inbound.take([file], "bench"))
        client, server = time.process_time() - client, (served.seconds() or 0.0) - server
    return Run(memory, peak_kilobytes(), sum(done.tally.messages.values()), client, server)


def grow(folder: Path, databases: dict[str, UrlOf], sizes: list[int]) -> list[str]:
    """A table of the peak and of the cost of a message for each size, in Markdown.

    Args:
      folder: where the files are written; each is removed when it was measured.
      databases: name -> fresh databases.
      sizes: of the files, in bytes.
    """
    rows = []
    first: dict[tuple[str, str], float] = {}
    for size in sizes:
        for flux in ("C15", "R151"):
            material = flat(folder, flux, size)
            for name, url_of in databases.items():
                command = [sys.executable, "-m", "benchmarks.memory", url := url_of(), *map(str, material.files)]
                command += map(str, material.before)
                done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE)
                run = Run(*json.loads(done.stdout))
                cost, server = (seconds / run.messages * 1e6 for seconds in (run.client, run.server))
                against = (cost + server) / first.setdefault((flux, name), cost + server)
                row = [flux, f"{material.xml / 1e6:.0f}", name, f"{run.before / 1024:.0f}", f"{run.after / 1024:.0f}"]
                row += [str(run.messages), f"{cost:.0f}", f"{server:.0f}" if server else "-", f"{against:.2f}"]
                rows.append(row)
                print("|", " | ".join(rows[-1]), "|", file=sys.stderr, flush=True)
                address = make_url(url)
                if address.get_backend_name() == "sqlite":
                    Path(str(address.database)).unlink()
            for path in (*material.before, *material.files):
                path.unlink()
    head = ["type", "file, MB", "database", "MB at the start", "MB at the most", "messages", "us a message"]
    return table([*head, "server, us a message", "against the first"], rows)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]])))
