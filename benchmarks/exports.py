"""How long exports take, how much memory they need, and what following a large portfolio costs.

Example: python -m benchmarks.exports --points 20000 --readings 12
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sqlalchemy import text

from benchmarks import cpu_seconds, table
from energycomm.eis import migrations
from energycomm.eis.database import connect, writing

CLASSES = ("HPH", "HCH", "HPB", "HCB")
MONTH = 30 * 86_400_000_000
REGISTERS = json.dumps(
    [
        {"grid": "distributor", "direction": "consumption", "time_class": name, "value": 1_234_567, "unit": "Wh"}
        for name in CLASSES
    ]
)

MESSAGES = """
WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)
INSERT INTO kernel_message
  (id, position, access_point_id, market, market_type, kind, effective, state, received_at, xml, version)
SELECT i, 1, i % :points + 1, 'FR', 'R15', 'MeterReading', (i / :points) * :month, 'accepted', 0, '', 1 FROM n
"""
READINGS = """
INSERT INTO reading (id, access_point_id, at, message_id, source, qualification, nature, registers, status)
SELECT id, access_point_id, effective, id, 'R15', 'periodic', 'read', :registers, 'current' FROM kernel_message
WHERE id BETWEEN :first AND :last
"""
POINTS = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :points)
INSERT INTO access_point (id, market, identifier, last_at, state, messages)
SELECT i, 'FR', substr('00000000000000' || i, -14), 0, '', 0 FROM n
"""


def main(typed: list[str] | None = None) -> int:
    """Fill a store on SQLite, export all of it in each format, add a month and correct some, and follow."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exports", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=20_000, help="access points")
    parser.add_argument("--readings", type=int, default=12, help="monthly readings of each, of four registers")
    asked = parser.parse_args(typed)
    points, first = asked.points, 1
    with tempfile.TemporaryDirectory(prefix="energycomm-bench-") as name:
        folder = Path(name)
        url = f"sqlite:///{folder / 'eis.db'}"
        engine = connect(url)
        migrations.upgrade(engine)

        def month(of: int) -> None:
            nonlocal first
            values = {"first": first, "last": first + of * points - 1, "points": points, "month": MONTH}
            with writing(engine) as connection:
                connection.execute(text(MESSAGES), values)
                within = {"first": values["first"], "last": values["last"], "registers": REGISTERS}
                connection.execute(text(READINGS), within)
            first += of * points

        with writing(engine) as connection:
            connection.execute(text(POINTS), {"points": points})
        month(asked.readings)
        rows = []
        cursor = ""
        for form in ("parquet", "csv", "jsonl"):
            found, row = _export(url, folder / f"all.{form}")
            cursor = found["cursor"]
            rows.append((f"all, {form}", *row))
        for processes in ("1", "2"):
            words = f"all, csv, --processes {processes}"
            rows.append((words, *_export(url, folder / "all.csv", "--processes", processes)[1]))
        month(1)
        with writing(engine) as connection:
            correct = "UPDATE reading SET status = 'replaced' WHERE id % 100 = 0 AND id <= :points"
            connection.execute(text(correct), {"points": points})
        rows.append(("a month and 1 % corrected, parquet", *_export(url, folder / "new.parquet", "--since", cursor)[1]))
        engine.dispose()
    print("\n".join(table(("export", "rows", "s", "rows/s", "CPU s", "peak MB"), rows)))
    return 0


def _export(url: str, to: Path, *more: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """An export in a process of its own: what it told; rows, seconds, rows a second, CPU seconds with those of its own
    processes, its peak memory in MB."""
    code = (
        "import sys; from pathlib import Path; from energycomm import cli; status = cli.main(sys.argv[1:]); "
        "told = Path('/proc/self/status').read_text(); print(told.split('VmHWM:')[1].split()[0], file=sys.stderr); "
        "sys.exit(status)"
    )
    command = [sys.executable, "-c", code, "export", "readings", "--to", str(to), "--json", *more]
    begin, cpu = time.perf_counter(), cpu_seconds()
    done = subprocess.run(
        command, capture_output=True, check=True, env={"ENERGYCOMM_DATABASE": url, "PYTHONPATH": ":".join(sys.path)}
    )
    seconds = time.perf_counter() - begin
    told = json.loads(done.stdout)
    peak = int(done.stderr.split()[-1]) // 1024
    figures = f"{seconds:.1f}", f"{told['rows'] / seconds:.0f}", f"{cpu_seconds() - cpu:.1f}", str(peak)
    return told, (str(told["rows"]), *figures)


if __name__ == "__main__":
    sys.exit(main())
