"""`python -m tests.faults --all`: every fault at every point of every job, on both databases; a table at the end."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.faults.harness import Harness, Result, prepare
from tests.faults.jobs import JOBS
from tests.faults.points import FAULTS
from tests.faults.stores import Database, PostgresDatabases, SqliteFiles
from tests.postgres import DURABLE, running


def main() -> int:
    """Run it; 1 where anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--all", action="store_true", help="every point with every fault, not a sample")
    parser.add_argument("--every", type=int, default=10, help="of a sample: each so-manieth point of a kind, one fault")
    parser.add_argument("--job", action="append", choices=[job.name for job in JOBS], help="these jobs only")
    parser.add_argument("--database", choices=["SQLite", "PostgreSQL"], help="this database only")
    parser.add_argument("--break", action="store_true", dest="broken", help="change a state after each fault")
    parser.add_argument("--folder", type=Path, help="to work in; a temporary one by default")
    chosen = parser.parse_args()
    jobs = [job for job in JOBS if not chosen.job or job.name in chosen.job]
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="ec-faults-", dir=chosen.folder) as folder, running(DURABLE) as server:
        databases: list[Database] = [SqliteFiles(), PostgresDatabases(server)]
        prepare(Path(folder), jobs)
        for job in jobs:
            for database in databases:
                if chosen.database in (None, database.name):
                    harness = Harness(job, database, Path(folder), broken=chosen.broken)
                    results.append(harness.run() if chosen.all else harness.run(chosen.every, turns=True))
                    _tell(results[-1])
    _table(results)
    return 1 if any(result.differences for result in results) else 0


def _tell(result: Result) -> None:
    for difference in result.differences:
        print(f"DIFFERENCE {difference}", file=sys.stderr, flush=True)
    words = f"{result.job} on {result.database}: {result.points} points, {result.faults.total()} faults"
    print(f"{words}, {len(result.differences)} differences, {result.seconds:.0f} s", file=sys.stderr, flush=True)


def _table(results: list[Result]) -> None:
    kinds = sorted({kind for result in results for kind in result.kinds})
    print("| " + " | ".join(["job", "database", "points", *kinds, *FAULTS, "differences"]) + " |")
    print("|" + "---|" * (len(kinds) + len(FAULTS) + 4))
    for one in results:
        numbers = [one.points, *(one.kinds[kind] for kind in kinds), *(one.faults[fault] for fault in FAULTS)]
        print("| " + " | ".join([one.job, one.database, *map(str, numbers), str(len(one.differences))]) + " |")
    points, faults = sum(one.points for one in results), sum(one.faults.total() for one in results)
    print(f"\n{points} points, {faults} faults, {sum(len(one.differences) for one in results)} differences")


if __name__ == "__main__":
    sys.exit(main())
