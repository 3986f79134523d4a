"""What judging stored messages again costs: buckets written, judged in one process and in two."""

from __future__ import annotations

from pathlib import Path

import msgspec

from benchmarks import cpu_seconds, table
from benchmarks.material import READING, flat
from benchmarks.whole_path import UrlOf, fresh_gateway
from energycomm.bulk.buckets import write_buckets
from energycomm.bulk.judging import Question, opened
from energycomm.bulk.verdicts import judged_again
from energycomm.bulk.workers import Processes
from energycomm.correction.impact import question
from energycomm.eis.database import snapshot
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total

PROCESSES = (1, 2)


def compare(folder: Path, databases: dict[str, UrlOf], messages: int) -> list[str]:
    """A table of CPU time a message and messages a second, in Markdown.

    Args:
      folder: where envelopes and buckets are written.
      databases: name -> fresh databases.
      messages: daily readings to store.
    """
    material = flat(folder / "bulk", "R151", messages * READING)
    rows = []
    for name, url_of in databases.items():
        with fresh_gateway(url_of()) as gateway:
            total(gateway.inbound.take([*material.before, *material.files], "bench"))
            asked = question(gateway.config.rules_folder, gateway.markets, 0)
            rows += [[name, *row] for row in _rows(gateway, asked, folder / f"bulk-{name}")]
    return table(["database", "work", "messages", "CPU s", "CPU us a message", "messages a CPU second", "shifts"], rows)


def _rows(gateway: Gateway, asked: Question, folder: Path) -> list[list[str]]:
    folder.mkdir()
    engine, markets = gateway.store.engine, gateway.markets
    cpu = cpu_seconds()
    opened(msgspec.json.encode(asked))
    reading = cpu_seconds() - cpu
    cpu = cpu_seconds()
    with snapshot(engine) as connection:
        buckets = len(list(write_buckets(connection, folder, markets, 0)))
    writing = cpu_seconds() - cpu
    costs = []
    for number in PROCESSES:
        cpu = cpu_seconds()
        with judged_again(engine, markets, asked, folder / str(number), Processes(number)) as run:
            costs.append((number, run.judged, cpu_seconds() - cpu - writing, run.changed))
    judged = costs[0][1]
    rows = [
        _row("rules read in a process", judged, reading, None),
        _row(f"buckets written ({buckets})", judged, writing, None),
    ]
    for number, messages, cpu, changed in costs:
        words = "one process, rules read" if number == 1 else f"{number} processes, their start included"
        rows.append(_row(f"judged in {words}", messages, cpu, changed))
    return rows


def _row(words: str, messages: int, cpu: float, changed: int | None) -> list[str]:
    told = "-" if changed is None else str(changed)
    return [words, str(messages), f"{cpu:.1f}", f"{cpu / messages * 1e6:.0f}", f"{messages / cpu:.0f}", told]
