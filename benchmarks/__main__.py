"""Measures EnergyComm and prints the sections of docs/benchmarks.md, in its order and form.

Example: python -m benchmarks --only whole-path --size 5
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from lxml import etree

from benchmarks import (
    browsing,
    bulk,
    cluster,
    cpu_seconds,
    daemon,
    desk,
    growth,
    instructions,
    memory,
    processes,
    rules_alone,
    size,
    table,
    whole_path,
    workers,
)
from benchmarks.material import flat, mixed
from benchmarks.page import PAGE, fill, origin
from benchmarks.whole_path import UrlOf
from energycomm.eis.database import opened
from energycomm.eis.migrations import upgrade
from tests.postgres import DURABLE, NoPostgres, running

SECTIONS = (
    "whole-path",
    "instructions",
    "processes",
    "daemon",
    "workers",
    "rules",
    "growth",
    "browsing",
    "desk",
    "bulk",
    "cluster",
    "memory",
    "size",
)
"""In the order of the page."""

ASIDE = ("instructions", "cluster")
"""Sections that only `--only` measures: valgrind takes fifty times as long, and a cluster of Ray needs its package."""

LONG = ("--messages", "1000000", "--judged", "1000000", "--memory", "10", "100", "1000")
"""What `--long` stands for; what is typed besides counts more."""


def arguments() -> argparse.ArgumentParser:
    """What may be asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only",
        choices=SECTIONS,
        action="append",
        help=f"measure this alone; may be repeated; {' and '.join(ASIDE)} only so",
    )
    parser.add_argument("--size", type=float, default=10, help="MB of the plain files of the whole path")
    parser.add_argument("--counted", type=float, default=1, help="MB of the files whose instructions are counted")
    parser.add_argument("--large", type=float, default=10, help="MB of the files that several processes share")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2], help="numbers of them to compare")
    parser.add_argument("--access-points", type=int, default=150, help="of the small zips, which span six months")
    parser.add_argument("--worker-points", type=int, default=60, help="access points of each market for the workers")
    parser.add_argument("--worker-months", type=int, default=2, help="that these are simulated for, for one worker")
    parser.add_argument("--backlog-months", type=int, default=3, help="the same for several, who wait for each other")
    parser.add_argument("--many-points", type=int, default=1200, help="access points whose measures several share")
    parser.add_argument("--many-envelopes", type=int, default=256, help="of these measures")
    parser.add_argument("--rounds", type=int, default=1, help="the best of so many rounds counts; of workers two")
    parser.add_argument("--messages", type=int, default=20_000, help="that the growing store gets; 1000000 takes long")
    parser.add_argument("--judged", type=int, default=10_000, help="stored messages that are judged again")
    parser.add_argument("--memory", type=float, nargs="+", default=[5, 10], help="MB of the files; 1000 takes long")
    parser.add_argument("--types", nargs="+", default=["C15", "R151"], help="of these files")
    parser.add_argument("--readings", type=int, default=6_000, help="whose size in a store is measured")
    parser.add_argument("--folder", type=Path, help="work in this empty folder, and leave what was made")
    parser.add_argument("--no-postgres", action="store_true", help="SQLite alone")
    parser.add_argument("--no-sqlite", action="store_true", help="PostgreSQL alone")
    parser.add_argument("--long", action="store_true", help="a million messages, files of up to 1 GB: hours")
    parser.add_argument("--page", action="store_true", help="put the figures into docs/benchmarks.md too")
    return parser


@contextmanager
def databases(folder: Path, *, postgres: bool) -> Iterator[dict[str, UrlOf]]:
    """SQLite in a folder, and a PostgreSQL that keeps its promises (fsync) where one can be started."""
    found: dict[str, UrlOf] = {"SQLite": whole_path.sqlite_urls(folder)}
    if not postgres:
        yield found
        return
    try:
        with running(settings=DURABLE) as server:
            # The tables are made once: that takes seconds, and a section wants many databases.
            made = server.create_database()
            with opened(server.url(made)) as engine:
                upgrade(engine)
            yield found | {"PostgreSQL": lambda: server.url(server.create_database(made))}
    except NoPostgres:
        print("No PostgreSQL is installed here: SQLite alone.\n")
        yield found


def main(typed: list[str] | None = None) -> int:
    """Measure what was asked for and print it."""
    typed = sys.argv[1:] if typed is None else typed
    asked = arguments().parse_args([*LONG, *typed] if "--long" in typed else typed)
    print(machine(), end="\n\n")
    with tempfile.TemporaryDirectory(prefix="energycomm-bench-") as name:
        folder = asked.folder or Path(name)
        with databases(folder, postgres=not asked.no_postgres) as found:
            if asked.no_sqlite:
                del found["SQLite"]
            sections: dict[str, tuple[str, Callable[[], list[str]]]] = {
                "whole-path": ("The whole path", lambda: _whole_path(folder, found, asked)),
                "instructions": ("The whole path in instructions", lambda: _instructions(folder, found, asked)),
                "processes": ("Several processes for one file", lambda: _processes(folder, found, asked)),
                "daemon": ("What an envelope costs in the daemon", lambda: _daemon(folder, found, asked)),
                "workers": ("One worker and two, in each market", lambda: _workers(folder, found, asked)),
                "rules": ("Rules alone", lambda: table(*rules_alone.compare(5000, 0.05, asked.rounds)[:2])),
                "growth": ("A growing store", lambda: growth.grow(folder, found, asked.messages)),
                "browsing": ("Looking", lambda: _looking(found, asked)),
                "desk": ("The desk", lambda: desk.compare(folder / "desk", found, asked.messages, asked.rounds)),
                "bulk": ("Judging stored messages again", lambda: bulk.compare(folder, found, asked.judged)),
                "cluster": ("On a cluster of Ray", lambda: cluster.compare(folder / "cluster", found, asked.judged)),
                "memory": ("Memory", lambda: _memory(folder, found, asked)),
                "size": ("What a message takes", lambda: size.compare(folder / "size", found, asked.readings)),
            }
            for section in SECTIONS:
                if section in (asked.only or [one for one in SECTIONS if one not in ASIDE]):
                    _measure(section, *sections[section], typed, page=asked.page)
    return 0


def _measure(section: str, title: str, measure: Callable[[], list[str]], typed: list[str], *, page: bool) -> None:
    begun, spent = time.monotonic(), cpu_seconds()
    lines = [origin(typed, section), "", *measure()]
    print(f"## {title}\n\n" + "\n".join(lines), end="\n\n", flush=True)
    took, cpu = time.monotonic() - begun, cpu_seconds() - spent
    print(f"{section}: {took:.0f} s, CPU without the database server {cpu:.0f} s", file=sys.stderr, flush=True)
    if page:
        fill(PAGE, section, lines)


def _whole_path(folder: Path, found: dict[str, UrlOf], asked: argparse.Namespace) -> list[str]:
    size = int(asked.size * 1e6)
    materials = [flat(folder / flux, flux, size) for flux in ("R151", "C15")]
    materials.append(mixed(folder / "mixed", asked.access_points, 6))
    return whole_path.compare(materials, found, asked.rounds)


def _instructions(folder: Path, found: dict[str, UrlOf], asked: argparse.Namespace) -> list[str]:
    size, points, months = int(asked.counted * 1e6), asked.worker_points, asked.worker_months
    return instructions.compare(folder / "instructions", found, size, points, months)


def _processes(folder: Path, found: dict[str, UrlOf], asked: argparse.Namespace) -> list[str]:
    files = [flat(folder / f"large-{flux}", flux, int(asked.large * 1e6)) for flux in ("R151", "C15")]
    return processes.compare(files, found, asked.processes)


def _memory(folder: Path, found: dict[str, UrlOf], asked: argparse.Namespace) -> list[str]:
    return memory.grow(folder / "memory", found, [int(mb * 1e6) for mb in asked.memory], asked.types)


def _looking(found: dict[str, UrlOf], asked: argparse.Namespace) -> list[str]:
    if "PostgreSQL" not in found:
        return ["It is measured on PostgreSQL."]
    return browsing.grow(found["PostgreSQL"](), browsing.sizes(asked.messages))


def _daemon(folder: Path, found: dict[str, UrlOf], asked: argparse.Namespace) -> list[str]:
    url_of = found.get("PostgreSQL")
    return daemon.compare(folder / "daemon", url_of, asked.worker_points, asked.worker_months, asked.rounds)


def _workers(folder: Path, found: dict[str, UrlOf], asked: argparse.Namespace) -> list[str]:
    url_of = found.get("PostgreSQL")
    points, months, rounds = asked.worker_points, asked.backlog_months, min(asked.rounds, 2)
    return workers.compare(folder / "workers", url_of, points, months, rounds, asked.many_points, asked.many_envelopes)


def machine() -> str:
    """What it runs on, in words."""
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"lxml {version('lxml')} with libxml2 {'.'.join(map(str, etree.LIBXML_VERSION))}, "
        f"SQLAlchemy {version('SQLAlchemy')}, psycopg {version('psycopg')}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
