"""One large file by one process and by several: wall time, CPU time of all of them, and the most memory of any."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks import table
from benchmarks.material import Material, bare_parse
from benchmarks.paced import peak_kilobytes
from benchmarks.stages import PARENT, PROCESSES, USER, process_statistics
from benchmarks.whole_path import UrlOf
from energycomm.eis.database import opened
from energycomm.eis.migrations import upgrade
from energycomm.errors import ExitCode

LOOK = 0.1
"""Seconds between two looks at the processes."""
COMMAND = "import sys; from energycomm.cli import main; sys.exit(main(sys.argv[1:]))"


class Run(NamedTuple):
    """What `energycomm process` took: seconds by the clock, CPU seconds of its processes together and of the one that
    took most, and the most kilobytes that one of them had."""

    wall: float
    cpu: float
    longest: float
    memory: int


def process(files: list[Path], url: str, number: int) -> Run:
    """Process files by the command line.

    Args:
      files: the envelopes.
      url: the database.
      number: of processes for one large file.
    """
    command = [sys.executable, "-c", COMMAND, "process", "--json", "--processes", str(number), *map(str, files)]
    begun = time.monotonic()
    running = subprocess.Popen(
        command,
        env=os.environ | {"ENERGYCOMM_DATABASE": url},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    cpu: dict[int, int] = {}
    memory = 0
    while not os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        for one in _of_session(running.pid):
            statistics = process_statistics(one)
            cpu[one] = sum(statistics[USER : USER + 2]) or cpu.get(one, 0)
            memory = max(memory, peak_kilobytes(one))
        time.sleep(LOOK)
    wall = time.monotonic() - begun
    _, status, used = os.wait4(running.pid, 0)  # of the process, and of those that it waited for
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode not in (ExitCode.OK, ExitCode.REJECTED):
        raise RuntimeError(f"energycomm process ended with {running.returncode}")
    return Run(wall, used.ru_utime + used.ru_stime, max(cpu.values()) / os.sysconf("SC_CLK_TCK"), memory)


def _of_session(leader: int) -> list[int]:
    """The processes that a process and those started by it are."""
    found = []
    for folder in PROCESSES.iterdir():
        statistics = process_statistics(int(folder.name)) if folder.name.isdigit() else []
        if statistics and statistics[PARENT + 2] == leader:
            found.append(int(folder.name))
    return found


def compare(materials: list[Material], databases: dict[str, UrlOf], numbers: list[int]) -> list[str]:
    """A table of each number of processes, in Markdown."""
    rows = []
    for material in materials:
        bare = bare_parse(material.files)
        for name, url_of in databases.items():
            alone: Run | None = None
            for number in numbers:
                url = url_of()
                with opened(url) as engine:
                    upgrade(engine)
                if material.before:
                    process(material.before, url, 1)
                run = process(material.files, url, number)
                alone = alone or run
                rows.append(
                    [
                        material.name,
                        f"{material.xml / 1e6:.0f}",
                        name,
                        str(number),
                        f"{run.wall / bare:.1f}",
                        f"{alone.wall / run.wall:.2f}",
                        f"{run.cpu / bare:.1f}",
                        f"{run.longest / bare:.1f}",
                        f"{run.memory / 1024:.0f}",
                    ]
                )
    head = ["material", "XML, MB", "database", "processes", "wall time, times the bare parse", "times as fast"]
    head += ["CPU, times the bare parse", "CPU of the process that took most", "MB of the largest process"]
    return table(head, rows)
