"""Every case, on both databases: ``python -m tests.sweep [--part N/M]`` prints how many there were and what broke."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.postgres import running
from tests.sweep import fields, leaves
from tests.sweep.twins import Made, Twin, fixtures, form_of


def main() -> int:
    """Run the cases; the number of those that differ or break is the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="1/1", help="which share of the cases: 1/2 and 2/2 are all of them")
    parser.add_argument("--every", type=int, default=1, help="only each so many-th case")
    part, parts = map(int, parser.parse_args().part.split("/"))
    every = parser.parse_args().every
    begun, number, wrong = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as folder, running() as server:
        twins = (Twin(f"sqlite:///{folder}/eis.db"), Twin(server.url(server.create_database())))
        for name, said in verdicts(twins, part - 1, parts * every):
            number += 1
            for words in said:
                wrong += 1
                print(f"{name}: {words}", flush=True)
            if number % 1000 == 0:
                print(f"{number} cases, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    print(f"{number} cases on SQLite and PostgreSQL, {wrong} wrong, {time.monotonic() - begun:.0f} s")
    return min(wrong, 100)


def verdicts(twins: tuple[Twin, Twin], first: int = 0, step: int = 1) -> Iterator[tuple[str, list[str]]]:
    """What is wrong with each case, from the `first` on, each `step`-th: nothing, as it should be."""
    number = -1
    for path in fixtures():
        for make in leaves.cases(path.read_bytes(), form_of(path)):
            number += 1
            if number % step == first:
                case = make()
                yield f"{path.name} {case.name}", compared(*(_take(twin, case.content, path) for twin in twins))
    for field in fields.cases():
        number += 1
        if number % step == first:
            made = [_inject(twin, field.document) for twin in twins]
            said = compared(*made)
            refused = not isinstance(made[0], str) and any(row[0].startswith("KERNEL_") for row in made[0].incidents)
            if field.within == refused:
                told, bounds = "refused" if refused else "taken", "within" if field.within else "past"
                said.append(f"{told} though it is {bounds} its bounds: {made[0]}")
            yield field.name, said


def compared(one: Made | str, other: Made | str) -> list[str]:
    """What is wrong with what two stores made of one document."""
    if isinstance(one, str) or isinstance(other, str):
        return [f"broke: {one if isinstance(one, str) else other}"]
    said = [f"broke: {words}" for words in one.breaks]
    if one != other:
        said.append(f"SQLite {one} PostgreSQL {other}")
    if not (one.incidents or one.messages or one.outcomes):
        said.append("nothing is known of it")
    return said


def _take(twin: Twin, content: bytes, path: Path) -> Made | str:
    try:
        return twin.take(content, path.name)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:500]


def _inject(twin: Twin, document: bytes) -> Made | str:
    try:
        return twin.inject(document)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:500]


if __name__ == "__main__":
    sys.exit(main())
