"""What is measured: files of the simulator, and the bare parse of the same bytes."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from lxml import etree

from adapters.fr_enedis.simulator import simulator
from adapters.fr_enedis.types import FLUXES
from energycomm.simulation.scenario import Scenario

_SAFE = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
READING = 1_760
"""XML of one daily reading in the simulator's plain R151 file."""
PIECES = frozenset(flux.piece for flux in FLUXES)
"""Elements after which the bare parse lets go of what it has read."""


class Material(NamedTuple):
    """Envelopes to process.

    Attributes:
      name: for the table.
      before: what is processed first, unmeasured: later messages refer to it.
      files: what is measured.
      xml: bytes of XML in the files.
    """

    name: str
    before: list[Path]
    files: list[Path]
    xml: int


def flat(folder: Path, flux: str, size: int, seed: int = 1) -> Material:
    """One plain file of about a size in bytes."""
    *before, big = simulator.flat_file(folder, flux, size, seed)
    return Material(f"{flux}, one plain file", before, [big], big.stat().st_size)


def mixed(folder: Path, access_points: int, months: int, seed: int = 1) -> Material:
    """Many small zips of every type, as a grid operator sends them, in the order in which they were made."""
    simulator.simulate(Scenario(access_points, months, seed), folder)
    files = sorted((folder / "envelopes").iterdir(), key=lambda path: path.stem[-14:])
    return Material("all types, small zips", [], files, sum(len(content) for content in contents(files)))


def contents(files: list[Path]) -> Iterator[bytes]:
    """The XML documents in plain files and zips."""
    for path in files:
        if path.suffix != ".zip":
            yield path.read_bytes()
            continue
        with zipfile.ZipFile(path) as opened:
            for name in opened.namelist():
                inner = opened.read(name)
                if inner[:2] == b"PK":
                    with zipfile.ZipFile(io.BytesIO(inner)) as deeper:
                        yield from (deeper.read(member) for member in deeper.namelist())
                else:
                    yield inner


def bare_parse(files: list[Path], rounds: int = 3) -> float:
    """CPU seconds of a bare streaming parse of the XML, the best of some rounds: `iterparse` of lxml over every
    element, letting go of each message. The bytes of zips are unpacked beforehand. EDIFACT is cut at its
    signs, JSON is read into objects."""
    return min(_parse(files, None) for _ in range(rounds))


def bare_parse_of_pieces(files: list[Path], rounds: int = 3) -> float:
    """The same, but Python sees one element a message only: the least that lxml can do. See `bare_parse`."""
    return min(_parse(files, sorted(PIECES)) for _ in range(rounds))


def _parse(files: list[Path], tags: list[str] | None) -> float:
    spent = 0.0
    for path in files:
        sources: list[IO[bytes]]
        sources = [io.BytesIO(content) for content in contents([path])] if path.suffix == ".zip" else [path.open("rb")]
        begun = time.process_time()
        for source in sources:
            with source:
                if path.suffix == ".edi":
                    _split(source.read())
                    continue
                if path.suffix == ".json":
                    json.loads(source.read())
                    continue
                for _, element in etree.iterparse(source, events=("end",), tag=tags, **_SAFE):
                    if element.tag in PIECES:
                        element.clear()
                        while element.getprevious() is not None:
                            del element.getparent()[0]
        spent += time.process_time() - begun
    return spent


def _split(interchange: bytes) -> None:
    """What a bare parse is to EDIFACT: each segment is cut into its elements, which pass Python one by one."""
    for segment in interchange.split(b"'"):
        for _ in segment.split(b"+"):
            pass
