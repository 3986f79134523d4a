"""The whole path in instructions instead of seconds: callgrind counts the same whatever else the machine does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import table
from benchmarks.material import Material, bare_parse, flat
from benchmarks.whole_path import UrlOf, fresh_gateway
from energycomm.pipeline.progress import total

TOOLS = ("valgrind", "callgrind_control")
FLUXES = ("R151", "C15")
WARM = 100_000
"""Bytes of a file of the same kind that is taken in first: what comes once a process is not counted."""

_ACCESS_POINT = re.compile(rb"(?<=<Id_PRM>)[0-9]")
_TOTAL = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)


def compare(folder: Path, databases: dict[str, UrlOf], size: int) -> list[str]:
    """A table in Markdown, or why there is none.

    Args:
      folder: where the files are made.
      databases: name -> what makes an empty one.
      size: bytes of each file.
    """
    if lacking := [name for name in TOOLS if shutil.which(name) is None]:
        return [f"Not counted: {' and '.join(lacking)} not installed."]
    rows = []
    for flux in FLUXES:
        bare = counted(folder / flux / "parse", flux, size)
        for name, url_of in databases.items():
            spent = counted(folder / flux / name, flux, size, url_of())
            cells = [f"{flux}, one plain file", f"{size / 1e6:.1f}", name, f"{bare / 1e6:.0f}", f"{spent / 1e6:.0f}"]
            rows.append([*cells, f"**{spent / bare:.1f}**"])
    head = ["material", "XML, MB", "database", "bare parse, million", "whole path, million", "times the bare parse"]
    return table(head, rows)


def counted(folder: Path, flux: str, size: int, url: str = "") -> int:
    """Instructions of a process that takes a file in, or that parses it where no database is named.

    The server of PostgreSQL is another process, whose instructions are not counted.
    """
    folder.mkdir(parents=True)
    found = folder / "callgrind"
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={found}", sys.executable]
    command += ["-m", "benchmarks.instructions", str(folder), flux, str(size), url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return max(int(number) for number in _TOTAL.findall(found.read_text()))


@contextmanager
def _counting() -> Iterator[None]:
    """Between begin and end callgrind counts this process."""
    control = shutil.which("callgrind_control") or "callgrind_control"
    for word in ("on", "off"):
        subprocess.run([control, f"--instr={word}", str(os.getpid())], check=True, capture_output=True)
        if word == "on":
            yield


def _of_others(material: Material) -> Material:
    """Files about other access points: those of two seeds have the same numbers, and would contradict each other."""
    for path in (*material.before, *material.files):
        path.write_bytes(_ACCESS_POINT.sub(b"7", path.read_bytes()))
    return material


def _measured(folder: Path, flux: str, size: int, url: str) -> None:
    """What is counted, in a process of its own."""
    material, warm = flat(folder / "file", flux, size), _of_others(flat(folder / "warm", flux, WARM, seed=2))
    if not url:
        bare_parse(warm.files, 1)
        with _counting():
            bare_parse(material.files, 1)
        return
    with fresh_gateway(url) as gateway:
        total(gateway.inbound.take([*warm.before, *warm.files, *material.before], "bench"))
        with _counting():
            total(gateway.inbound.take(material.files, "bench"))


if __name__ == "__main__":
    _measured(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
