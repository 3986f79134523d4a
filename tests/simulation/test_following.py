"""A simulated supplier that goes from R151, R50 and R4x to R64B, R63B and R63A on a day in November 2026."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from adapters.fr_enedis.simulator import simulator
from energycomm.eis.arrays import parts_of
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.simulation.expectation import read_truth
from energycomm.simulation.scenario import Scenario
from energycomm.simulation.truth import compare_truth, describe
from tests.simulation.conftest import process

CHANGE = date(2026, 11, 17)


@pytest.mark.thorough
def test_a_supplier_changes_its_daily_fluxes_without_a_gap_a_double_or_a_false_alarm(
    tmp_path: Path, database_url: str
) -> None:
    """All is accepted without a finding of contradiction, and each midnight and half hour has one current value: in the
    order of sending on one database, shuffled on the other. What the points of C2 and C4 are invoiced for is what their
    curves add up to."""
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
                "SELECT access_point_id, at, source, resolution, unit, positions FROM series WHERE status = 'current'",
                (),
            )
            invoiced = driver.rows(
                "SELECT access_point_id, at, status, registers FROM reading WHERE source = 'R17'", ()
            )
            volumes = driver.rows(
                "SELECT access_point_id, volumes FROM volume WHERE source = 'R17' AND status = 'current'", ()
            )
            findings = driver.rows("SELECT error_code FROM finding", ())
            incidents = driver.rows("SELECT code FROM incident", ())
    finally:
        database.dispose()
    assert findings == []
    # How R50 and R4x name their files is not public: each of them is noted. Nothing else is, above all no gap.
    unnamed = [file for file in (folder / "envelopes").iterdir() if "_R50_" in file.name or "_R4Q_" in file.name]
    assert incidents == [("NAME_UNKNOWN",)] * len(unnamed)
    midnights: dict[int, list[int]] = defaultdict(list)
    for point, at, _ in indexes:
        midnights[point].append(at)
    powers: dict[tuple[int, int], list[tuple[datetime, float]]] = defaultdict(list)
    for point, at, _, step, unit, positions in curves:
        begin, factor = datetime.fromtimestamp(at / 1e6, UTC), {"kW": 1, "W": 1000}[unit]
        powers[point, step] += [
            (begin + (one["position"] - 1) * timedelta(minutes=step), float(one["value"]) / factor)
            for one in parts_of(positions)
        ]
    assert {source for _, _, source in indexes} == {"R151", "R64B"}
    fluxes = {(source, step) for _, _, source, step, _, _ in curves}
    assert fluxes == {("R50", 30), ("R63B", 30), ("R4x", 10), ("R63A", 10)}
    assert len(midnights) == 3
    assert sorted(step for _, step in powers) == [10, 10, 10, 30, 30, 30]
    for told in midnights.values():
        assert len(told) == len(set(told))
        days = [datetime.fromtimestamp(at / 1e6, ZoneInfo("Europe/Paris")).date() for at in told]
        assert days == [days[0] + timedelta(days=n) for n in range(len(days))]
    for (_, step), values in powers.items():
        starts = sorted(at for at, _ in values)
        assert len(starts) == len(set(starts))
        assert starts[-1] - starts[0] == (len(starts) - 1) * timedelta(minutes=step)
    assert Counter(status for _, _, status, _ in invoiced) == {"current": 3, "cancelled": 1, "cancels": 1}
    energies = {point: sum(float(one["quantity"]) for one in active(told)) for point, told in volumes}
    for point, at, _, registers in (one for one in invoiced if one[2] == "current"):
        end = datetime.fromtimestamp(at / 1e6, UTC)
        assert energies[point] == sum(one["value"] - one["previous_value"] for one in active(registers))
        assert energies[point] == pytest.approx(sum(kw for when, kw in powers[point, 10] if when < end) / 6)


def active(written: str) -> list[dict[str, Any]]:
    """The registers or energies of active energy."""
    return [one for one in parts_of(written) if one.get("product") is None]
