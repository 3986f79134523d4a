"""One big plain file of many distinct messages, for measuring."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from random import Random
from typing import BinaryIO

from adapters.fr_enedis.simulator import contract_events, readings
from adapters.fr_enedis.simulator.drafting import Drafter
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.consumption import Shape
from energycomm.simulation.lives import Life, plan_life
from energycomm.simulation.scenario import Scenario

ZONE = "Europe/Paris"
POINTS = 500
LONGEST = 4000
"""Days that the almanac of a big R151 file reaches at most."""


def write_flat_file(folder: Path, flux: str, size: int, seed: int) -> list[Path]:
    """Write one plain XML file of about a size, in constant memory.

    Args:
      folder: made when it does not exist.
      flux: ``C15`` (entries of ever new access points), or ``R151`` (daily indexes of access points whose
        entries are in a small C15 file beside it).
      size: of the big file, in bytes.
      seed: of all chance.

    Returns:
      The files in the order in which they are to be taken in; the last one is the big one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scenario = Scenario(POINTS, LONGEST // 31, seed, daily_share=1.0)
    almanac = Almanac(ZONE, scenario.first, LONGEST)
    shape = Shape(almanac, Random(f"weather {seed}"))  # noqa: S311 - simulated weather
    drafter = Drafter(almanac)
    created = almanac.instant(2, 310)
    if flux == "C15":
        path = folder / "flat_C15.xml"
        with path.open("wb") as file:
            _entries(file, scenario, shape, drafter, created, size)
        return [path]
    entries, path = folder / "flat_1_entries_C15.xml", folder / "flat_2_R151.xml"
    with entries.open("wb") as file:
        lives = _entries(file, scenario, shape, drafter, created, None)
    with path.open("wb") as file:
        file.write(readings.daily_head(almanac.instant(LONGEST, 189)).encode())
        for day in range(1, LONGEST):
            if file.tell() >= size:
                break
            for life in lives:
                draft = drafter.daily(life, life.steps[0].after, day)
                file.write(readings.daily_xml(draft).encode())
                if file.tell() >= size:
                    break
        file.write(readings.DAILY_TAIL.encode())
    return [entries, path]


def _entries(
    file: BinaryIO, scenario: Scenario, shape: Shape, drafter: Drafter, created: str, size: int | None
) -> list[Life]:
    """Entries on the first day: until the file has its size, or of all access points of the scenario."""
    lives = []
    file.write(contract_events.head(created).encode())
    for number in count():
        if file.tell() >= size if size is not None else number >= scenario.access_points:
            break
        life = plan_life(scenario, number, shape, supplied_from=0)
        file.write(contract_events.event_xml(drafter.event(life, life.steps[0], None)).encode())
        drafter.forget(number)
        if size is None:
            lives.append(life)
    file.write(contract_events.TAIL.encode())
    return lives
