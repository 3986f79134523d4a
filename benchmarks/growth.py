"""Does a message cost more when the store is full? CPU time a message, memory and bytes while one store grows."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import size, table
from benchmarks.material import READING, Material, flat
from benchmarks.paced import BATCH, Paced, alone
from benchmarks.whole_path import UrlOf
from energycomm.eis.database import opened

WARM = 0.2
"""Share of the first span that is not counted: everything is done for the first time then."""


def milestones(most: int) -> list[int]:
    """Numbers of stored messages to look at: 10 000, 30 000, ... and the most; of a small most, a quarter of it."""
    found = [least * 10**power for power in range(4, 9) for least in (1, 3) if least * 10**power <= most // 3]
    return [*(found or [most // 4]), most]


def grow(folder: Path, databases: dict[str, UrlOf], most: int) -> list[str]:
    """A table of the cost of a message at each size of the store, in Markdown.

    Args:
      folder: where the envelopes are written.
      databases: name -> fresh databases.
      most: messages to store.
    """
    span = milestones(most)[0]
    material, first = flat(folder, "R151", most * READING), flat(folder / "first", "R151", span * READING)
    rows = []
    for name, url_of in databases.items():
        for row in _rows(material, first, url_of, most):
            rows.append([name, *row])
            print("|", " | ".join(rows[-1]), "|", file=sys.stderr, flush=True)
    head = ["database", "messages stored", "us a message", "server, us a message"]
    head += ["against the first, in the same minutes", "MB at the peak", "stored, bytes a message"]
    return table([*head, "write-ahead log, bytes a message"], rows)


def _rows(material: Material, first: Material, url_of: UrlOf, most: int) -> list[list[str]]:
    """A store that stands still before and after each part that is measured, for the beginning of another one."""
    span = milestones(most)[0]
    batch = max(min(BATCH, span // 4), 1)
    rows = []
    url = url_of()
    with opened(url) as engine, Paced(url, material, batch) as run:
        bytes_before, log_before = sum(size.measured(engine).values()), size.written(engine)
        for mark in milestones(most):
            run.until(mark - span if mark > span else span * WARM)
            beside = [alone(first, url_of, span * WARM, batch=batch).cost]
            part = run.until(mark)
            beside.append(alone(first, url_of, span * WARM, batch=batch).cost)
            row = [str(part.end.messages), f"{part.client:.0f}", f"{part.server:.0f}" if part.server else "-"]
            row += [f"{part.cost / (sum(beside) / 2):.2f}", f"{part.end.peak / 1024:.0f}"]
            rows.append([*row, "-", "-"])
        # The raw bytes of the whole file are stored before its first message.
        stored, log = sum(size.measured(engine).values()) - bytes_before, size.written(engine) - log_before
        rows[-1][-2] = f"{stored / part.end.messages:.0f}"
        rows[-1][-1] = f"{log / part.end.messages:.0f}" if log else "-"
    return rows
