"""The correction loop on simulated messages with faults of all classes, held against the truth of the simulation.

    python -m benchmarks.correction --market fr --access-points 2000 --folder FOLDER

simulates, processes, runs `energycomm correct loop`, and tells what was freed, what was not, and how the rest was
ticketed. The exit code says whether what was lost was found, nothing was freed whose right content nothing tells, and
the rest was ticketed under the class that the truth file foretells.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from pathlib import Path

import structlog

from energycomm.eis.database import connect
from tests.correction.score import FAULTS, processed, run


def main() -> int:
    """Run it and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--market", default="fr")
    parser.add_argument("--access-points", type=int, default=2000)
    parser.add_argument("--folder", type=Path, required=True, help="an empty folder for envelopes and store")
    parser.add_argument("--database", help="an empty database; SQLite in the folder by default")
    parser.add_argument("--processed", action="store_true", help="the folder holds a processed simulation already")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    folder: Path = arguments.folder
    url = arguments.database or f"sqlite:///{folder / 'eis.db'}"
    if arguments.processed:
        engine = connect(url)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        begun = time.monotonic()
        engine = processed(arguments.market, arguments.access_points, folder / "sim", url, FAULTS)
        print(f"simulated and processed in {time.monotonic() - begun:.0f} s", flush=True)
    score = run(engine, folder / "sim", lambda words: print(words, flush=True))
    engine.dispose()
    found = {name: getattr(score, name) for name in score.__struct_fields__}
    for name in ("wrongly", "unticketed"):
        found[name] = f"{len(found[name])} {found[name][:10]}"
    print(json.dumps(found, indent=2, ensure_ascii=False))
    return 0 if score.right else 1


if __name__ == "__main__":
    sys.exit(main())
