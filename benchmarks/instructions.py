"""The work in instructions instead of seconds: callgrind counts the same whatever else the machine does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks import daemon, table
from benchmarks.material import Material, bare_parse, flat
from benchmarks.whole_path import UrlOf, fresh_gateway
from benchmarks.workers import MARKETS, archived, material
from energycomm.eis.database import opened
from energycomm.eis.migrations import upgrade
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total

TOOLS = ("valgrind", "callgrind_control")
FLUXES = ("R151", "C15")
ZIPS = "FR"
"""The market whose envelopes are taken in one after the other, too."""
WARM = 100_000
"""Bytes of a file of the same kind that is taken in first: what comes once a process is not counted."""
DIGEST = "libcrypto"
"""In the path of the library that digests bytes: valgrind has none of the processor's instructions for SHA-256."""

_ACCESS_POINT = re.compile(rb"(?<=<Id_PRM>)[0-9]")
_TOTAL = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)
_OBJECT = re.compile(r"(c?)ob=\((\d+)\)(?: (.*))?")


class Count(NamedTuple):
    """What a process executed.

    Attributes:
      all: its instructions.
      digest: those of them that digest bytes by SHA-256, with what else its library does.
    """

    all: int
    digest: int

    @property
    def rest(self) -> int:
        """All but the digests."""
        return self.all - self.digest


class Subject(NamedTuple):
    """What is counted.

    Attributes:
      name: for the table.
      way: how envelopes are worked on, a name of `WAYS`.
      found: the envelopes, and those that warm the process up.
    """

    name: str
    way: str
    found: Material


def compare(folder: Path, databases: dict[str, UrlOf], size: int, access_points: int, months: int) -> list[str]:
    """A table in Markdown, or why there is none.

    Args:
      folder: where the files are made.
      databases: name -> what makes an empty one.
      size: bytes of each plain file.
      access_points, months: what is simulated of each market.
    """
    if lacking := [name for name in TOOLS if shutil.which(name) is None]:
        return [f"Not counted: {' and '.join(lacking)} not installed."]
    head = ["material", "documents, MB", "database", "bare parse, million", "all of it, million", "of it SHA-256"]
    head += ["times the bare parse", "without SHA-256"]
    rows, parses = [], dict[tuple[Path, ...], int]()
    for number, subject in enumerate(subjects(folder, size, access_points, months)):
        files = tuple(subject.found.files)
        for name, url_of in databases.items():
            ways = (*(() if files in parses else ("parse",)), subject.way)
            *parsed, spent = counted(folder / f"{number}-{name}", ways, subject.found, url_of())
            if parsed:
                parses[files] = parsed[0].all
            bare = parses[files]
            millions = [f"{instructions / 1e6:.0f}" for instructions in (bare, *spent)]
            ratios = [f"**{spent.all / bare:.1f}**", f"{spent.rest / bare:.1f}"]
            rows.append([subject.name, f"{subject.found.xml / 1e6:.1f}", name, *millions, *ratios])
    return table(head, rows)


def subjects(folder: Path, size: int, access_points: int, months: int) -> list[Subject]:
    """All that is counted; see `compare`."""
    found = [Subject(f"{flux}, one plain file", "take", plain(folder / flux, flux, size)) for flux in FLUXES]
    markets = {market: material(folder / market, market, access_points, months) for market in MARKETS}
    found.append(Subject("all types, small zips", "take", markets[ZIPS]))
    return found + [Subject(f"{market}, daemon", "work", made) for market, made in markets.items()]


def plain(folder: Path, flux: str, size: int) -> Material:
    """A plain file, and a small one about other access points that comes before it."""
    file, warm = flat(folder / "file", flux, size), _of_others(flat(folder / "warm", flux, WARM, seed=2))
    return file._replace(before=[*warm.before, *warm.files, *file.before])


def _of_others(material: Material) -> Material:
    """Files about other access points: those of two seeds have the same numbers, and would contradict each other."""
    for path in (*material.before, *material.files):
        path.write_bytes(_ACCESS_POINT.sub(b"7", path.read_bytes()))
    return material


def counted(folder: Path, ways: Sequence[str], found: Material, url: str) -> list[Count]:
    """Instructions of a process that works on envelopes; the server of PostgreSQL is another process and not counted.

    Args:
      folder: for what callgrind writes; it is made.
      ways: what is done with the envelopes, names of `WAYS`, each of them counted.
      found: the envelopes.
      url: an empty database.
    """
    folder.mkdir(parents=True)
    written = folder / "callgrind"
    (folder / "material").write_bytes(msgspec.msgpack.encode(found, enc_hook=str))
    with opened(url) as engine:
        upgrade(engine)  # before the process that is counted: there everything takes fifty times as long
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={written}", sys.executable]
    command += ["-m", "benchmarks.instructions", str(folder / "material"), url, *ways]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    texts = [Path(f"{written}.{number}").read_text() for number in range(1, len(ways) + 1)]
    return [Count(max(map(int, _TOTAL.findall(text))), inside(text, DIGEST)) for text in texts]


def inside(text: str, library: str) -> int:
    """Instructions in the functions of a library, without those of what they call elsewhere.

    Args:
      text: what callgrind wrote. A path stands beside its number where it comes first; the line after `calls=` is the
        cost of what was called.
      library: in its path.
    """
    paths, spent, counting, called = dict[str, str](), 0, False, False
    for line in text.splitlines():
        if found := _OBJECT.fullmatch(line):
            callee, number, path = found.groups()
            paths.setdefault(number, path or "")
            if not callee:
                counting = library in paths[number]
        elif line.startswith("calls="):
            called = True
        elif line[:1] in "0123456789+-*" and line:
            spent += int(line.split()[1]) if counting and not called else 0
            called = False
    return spent


@contextmanager
def _counting() -> Iterator[None]:
    """Between begin and end callgrind counts this process; then it writes what it counted, and begins at nothing."""
    control = shutil.which("callgrind_control") or "callgrind_control"
    for word in ("--instr=on", "--instr=off", "--dump"):
        subprocess.run([control, word, str(os.getpid())], check=True, capture_output=True)
        if word == "--instr=on":
            yield


def _parse(_: Gateway, files: list[Path]) -> Callable[[], object]:
    return lambda: bare_parse(files, 1)


def _take(gateway: Gateway, files: list[Path]) -> Callable[[], object]:
    return lambda: total(gateway.inbound.take(files, "bench"))


def _work(gateway: Gateway, files: list[Path]) -> Callable[[], object]:
    archived(gateway, files)
    return lambda: daemon.process(gateway)


WAYS = {"parse": _parse, "take": _take, "work": _work}
"""What is done with envelopes: what comes before the count, and returns what is counted."""


def _measured(found: Material, url: str, ways: Sequence[str]) -> None:
    """What is counted, in a process of its own."""
    with fresh_gateway(url) as gateway:
        for way in ways:
            WAYS[way](gateway, found.before)()
            begin = WAYS[way](gateway, found.files)
            with _counting():
                begin()


if __name__ == "__main__":
    packed, at, *done = sys.argv[1:]
    made = msgspec.msgpack.decode(Path(packed).read_bytes(), type=Material, dec_hook=lambda _, text: Path(text))
    _measured(made, at, done)
