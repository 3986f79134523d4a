"""Peak memory of the process for files of growing size, each in a process of its own.

As a program it processes one file: `python -m benchmarks.memory URL FILE`, and prints kilobytes before and after.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from benchmarks import table
from benchmarks.material import flat
from benchmarks.whole_path import UrlOf, fresh_gateway
from energycomm.pipeline.progress import total

HERE = Path(__file__).parents[1]


def peak_kilobytes() -> int:
    """The most memory that this process ever had, in kB (Linux; other systems count in other units)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(url: str, files: list[Path]) -> tuple[int, int]:
    """Peak memory in kB before and after processing files into an empty database."""
    with fresh_gateway(url) as gateway:
        before = peak_kilobytes()
        total(gateway.inbound.take(files, "bench"))
    return before, peak_kilobytes()


def grow(folder: Path, databases: dict[str, UrlOf], sizes: list[int]) -> list[str]:
    """A table of the peak for each size, in Markdown.

    Args:
      folder: where the files are written; each is removed when it was measured.
      databases: name -> fresh databases.
      sizes: of the files, in bytes.
    """
    rows = []
    for size in sizes:
        for flux in ("C15", "R151"):
            material = flat(folder, flux, size)
            for name, url_of in databases.items():
                command = [sys.executable, "-m", "benchmarks.memory", url_of()]
                command += [str(path) for path in (*material.before, *material.files)]
                done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE)
                before, after = (int(word) / 1024 for word in done.stdout.split())
                rows.append([flux, f"{material.xml / 1e6:.0f}", name, f"{before:.0f}", f"{after:.0f}"])
            for path in (*material.before, *material.files):
                path.unlink()
    return table(["type", "file, MB", "database", "MB at the start", "MB at the most"], rows)


if __name__ == "__main__":
    print(*measure(sys.argv[1], [Path(name) for name in sys.argv[2:]]))
