"""One big plain file of many distinct messages, for measuring."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from random import Random
from typing import BinaryIO

from adapters.fr_enedis.simulator import contract_events, readings
from adapters.fr_enedis.simulator.drafting import Drafter
from adapters.fr_enedis.simulator.lives import ZONE
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.consumption import Shape
from energycomm.simulation.lives import Life, plan_life
from energycomm.simulation.scenario import Scenario

POINTS = 500
LONGEST = 4000
"""Days that the almanac of a big R151 file reaches at most."""


def entries_file(folder: Path, size: int, seed: int) -> list[Path]:
    """One C15 file of about so many bytes, in constant memory: entries of ever new access points.

    Args:
      folder: made when it does not exist.
      size: in bytes.
      seed: of all chance.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "flat_C15.xml"
    with path.open("wb") as file:
        _entries(file, _drafter(seed), seed, size)
    return [path]


def daily_file(folder: Path, size: int, seed: int) -> list[Path]:
    """One R151 file of about so many bytes, in constant memory: daily indexes.

    Args:
      folder: made when it does not exist.
      size: in bytes.
      seed: of all chance.

    Returns:
      A small C15 file with the entries of the access points, and the big file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries, path = folder / "flat_1_entries_C15.xml", folder / "flat_2_R151.xml"
    drafter = _drafter(seed)
    with entries.open("wb") as file:
        lives = _entries(file, drafter, seed, None)
    with path.open("wb") as file:
        file.write(readings.daily_head(drafter.almanac.instant(LONGEST, 189)).encode())
        for day, life in ((day, life) for day in range(1, LONGEST) for life in lives):
            if file.tell() >= size:
                break
            file.write(readings.daily(drafter, life, life.steps[0].after, day).body.encode())
        file.write(readings.DAILY_TAIL.encode())
    return [entries, path]


def _scenario(seed: int) -> Scenario:
    return Scenario(POINTS, LONGEST // 31, seed, daily_share=1.0)


def _drafter(seed: int) -> Drafter:
    return Drafter(Almanac(ZONE, _scenario(seed).first, LONGEST))


def _entries(file: BinaryIO, drafter: Drafter, seed: int, size: int | None) -> list[Life]:
    """Entries on the first day: until the file has its size, or of so many access points."""
    scenario = _scenario(seed)
    shape = Shape(drafter.almanac, Random(f"weather {seed}"))  # noqa: S311 - simulated weather
    lives = []
    file.write(contract_events.head(drafter.almanac.instant(2, 310)).encode())
    for number in count():
        if file.tell() >= size if size is not None else number >= POINTS:
            break
        life = plan_life(scenario, number, shape, supplied_from=0)
        file.write(contract_events.event(drafter, life, life.steps[0], None).body.encode())
        drafter.forget(number)
        if size is None:
            lives.append(life)
    file.write(contract_events.TAIL.encode())
    return lives
