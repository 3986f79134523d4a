"""Peak memory of the process, and cost of a message, for files of growing size, each in a process of its own."""

from __future__ import annotations

import sys
from math import inf
from pathlib import Path

from benchmarks import table
from benchmarks.material import Material, flat
from benchmarks.paced import Paced, Span, alone, fresh
from benchmarks.whole_path import UrlOf

STOPS = 4
"""How often the smallest file is taken in while a larger one stands still."""


def grow(folder: Path, databases: dict[str, UrlOf], sizes: list[int], types: list[str]) -> list[str]:
    """A table of the peak and of the cost of a message for each size, in Markdown.

    Args:
      folder: where the files are written; each is removed when it was measured.
      databases: name -> fresh databases.
      sizes: of the files, in bytes; the others are held against the first.
      types: of the files.
    """
    rows = []
    for flux in types:
        least = flat(folder / "least", flux, sizes[0])
        for size in sizes:
            material = flat(folder, flux, size)
            for name, url_of in databases.items():
                rows.append([flux, f"{material.xml / 1e6:.0f}", name, *_row(material, least, url_of)])
                print("|", " | ".join(rows[-1]), "|", file=sys.stderr, flush=True)
            _remove(material)
        _remove(least)
        (folder / "least").rmdir()
    head = ["type", "file, MB", "database", "MB at the start", "MB at the peak", "messages", "us a message"]
    return table([*head, "server, us a message", "against the first, in the same minutes"], rows)


def _row(material: Material, least: Material, url_of: UrlOf) -> list[str]:
    """A file, held up on the way for the smallest one, whose cost just before and after each part is what the messages
    of that part should have cost."""
    first = beside = alone(least, url_of)
    stops = STOPS if material.xml > 2 * least.xml else 1
    length = first.messages * material.xml / least.xml / stops
    spans: list[Span] = []
    foretold = 0.0
    with fresh(url_of) as url, Paced(url, material) as run:
        for stop in range(1, stops + 1):
            spans.append(run.until(length * stop if stop < stops else inf))
            earlier, beside = beside, alone(least, url_of)
            foretold += spans[-1].messages * (earlier.cost + beside.cost) / 2
    end = spans[-1].end
    client, server = (sum(getattr(one, who) * one.messages for one in spans) for who in ("client", "server"))
    found = [f"{run.begin.peak / 1024:.0f}", f"{end.peak / 1024:.0f}", str(end.messages)]
    found += [f"{client / end.messages:.0f}", f"{server / end.messages:.0f}" if server else "-"]
    return [*found, f"{(client + server) / foretold:.2f}"]


def _remove(material: Material) -> None:
    for path in (*material.before, *material.files):
        path.unlink()
