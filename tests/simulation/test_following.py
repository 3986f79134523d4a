"""A simulated supplier that goes from R151 and R50 to R64B and R63B on a day in November 2026."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from msgspec import json

from adapters.fr_enedis.simulator import simulator
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.simulation.expectation import read_truth
from energycomm.simulation.scenario import Scenario
from energycomm.simulation.truth import compare_truth, describe
from tests.simulation.conftest import process

CHANGE = date(2026, 11, 17)


def test_a_supplier_changes_its_daily_fluxes_without_a_gap_a_double_or_a_false_alarm(
    tmp_path: Path, database_url: str
) -> None:
    """All is accepted without a finding of contradiction, and each midnight and half hour has one current value: in the
    order of sending on one database, shuffled on the other."""
    folder = tmp_path / "simulated"
    simulator.simulate(Scenario(3, 2, 5, first=date(2026, 10, 1), daily_share=1.0, follow=CHANGE), folder)
    database = process(folder, database_url, shuffle=4 if "sqlite" in database_url else None)
    try:
        differences = compare_truth(database, read_truth(folder / "truth.jsonl"))
        assert not differences, describe(differences)
        with reading(database) as connection:
            driver = driver_of(connection)
            indexes = driver.rows(
                "SELECT access_point_id, at, source FROM reading "
                "WHERE status = 'current' AND source IN ('R151', 'R64B') ORDER BY 1, 2",
                (),
            )
            curves = driver.rows(
                "SELECT access_point_id, at, source, positions FROM series WHERE status = 'current'", ()
            )
            incidents = driver.rows("SELECT code FROM incident", ())
    finally:
        database.dispose()
    # How R50 names its files is not public: each of them is noted. Nothing else is, above all no gap.
    assert incidents == [("NAME_UNKNOWN",)] * len(list((folder / "envelopes").glob("*_R50_*")))
    midnights: dict[int, list[int]] = defaultdict(list)
    for point, at, _ in indexes:
        midnights[point].append(at)
    starts: dict[int, list[datetime]] = defaultdict(list)
    for point, at, _, positions in curves:
        begin = datetime.fromtimestamp(at / 1e6, UTC)
        starts[point] += [begin + timedelta(minutes=30 * (one["position"] - 1)) for one in json.decode(positions)]
    assert {source for _, _, source in indexes} == {"R151", "R64B"}
    assert {source for _, _, source, _ in curves} == {"R50", "R63B"}
    assert len(midnights) == len(starts) == 3
    for point, told in midnights.items():
        assert len(told) == len(set(told))
        days = [datetime.fromtimestamp(at / 1e6, ZoneInfo("Europe/Paris")).date() for at in told]
        assert days == [days[0] + timedelta(days=n) for n in range(len(days))]
        halves = sorted(starts[point])
        assert len(halves) == len(set(halves))
        assert halves[-1] - halves[0] == (len(halves) - 1) * timedelta(minutes=30)
