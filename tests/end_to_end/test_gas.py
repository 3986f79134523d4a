"""Calorific values: taken in, kept, shown, and used to turn volumes of gas into energy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from energycomm.errors import ExitCode
from tests.end_to_end.conftest import Place

STATION = "541450000000000016"
FILE = f"GCVMonth,ARSName,ARSEanGSRN,GCVValue\r\n2026-03,NORD,{STATION},"


def published(folder: Path, name: str, value: str) -> Path:
    """A file that tells one value of March."""
    path = folder / name
    path.write_text(f'{FILE}"{value}"\r\n', "utf-8")
    return path


def test_the_value_that_was_published_last_turns_a_volume_into_energy(
    place: Callable[..., Place], database_url: str, tmp_path: Path
) -> None:
    here = place(database_url)
    assert here.process(published(tmp_path, "april.csv", "11,4187600000")).code == 0
    assert here.process(published(tmp_path, "may.csv", "11,5")).code == 0
    (value,) = here("gas", "values", "--month", "2026-03", "--json").json
    assert (value["station"], value["name"], value["value"]) == (STATION, "NORD", "11.5")
    answer = here("gas", "convert", "125,3", "--month", "2026-03", "--station", STATION, "--json")
    assert answer.json["energy"] == "1440.950"
    assert here("gas", "values", "--month", "2026-04", "--json").json == []


def test_a_volume_without_a_value_is_not_turned_into_anything(place: Callable[..., Place], tmp_path: Path) -> None:
    """Neither where nothing is published, nor where the station was out of use."""
    here = place()
    assert here.process(published(tmp_path, "april.csv", "0,0000000000")).code == 0
    convert = ("gas", "convert", "125.3", "--month")
    assert "out of use" in here(*convert, "2026-03", "--station", STATION).err
    missing = here(*convert, "2026-04", "--station", STATION)
    assert missing.code == ExitCode.USAGE
    assert "No calorific value" in missing.err
    assert "is no month" in here(*convert, "2026-13", "--station", STATION).err
    assert "is no volume" in here("gas", "convert", "1e9", "--month", "2026-03", "--station", STATION).err
