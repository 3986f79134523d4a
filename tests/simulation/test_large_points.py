"""Points of C2 and C4 in the French simulator: valid files, and mistakes that the rules find and nothing else."""

from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import Path
from zipfile import ZipFile

import jsonschema_rs
import pytest
from lxml import etree
from msgspec import json

from adapters.fr_enedis.simulator import simulator
from energycomm.simulation.expectation import read_truth
from energycomm.simulation.faults import FaultRates, parse_faults
from energycomm.simulation.scenario import Scenario
from energycomm.simulation.truth import compare_truth, describe
from tests.simulation.conftest import process

CHANGE = date(2026, 11, 17)
SCHEMAS = {
    "C12": "xsd_2026/ENEDIS.SGE.XSD.0130.C12_v1.12.1.xsd",
    "R17": "xsd_2026/ENEDIS.SGE.XSD.0132.R17_v1.9.1.xsd",
    "R4Q": "xsd_2026/Enedis.SGE.XSD.0409.R4x_v1.1.1.xsd",
    "R63A": "json_schemas/Enedis.SGE.JSON.0532.Flux.R63Xv1.1.0.json",
}


@pytest.mark.thorough
@pytest.mark.parametrize("flux", SCHEMAS)
def test_what_the_points_of_c2_and_c4_are_told_is_valid_by_the_schema_of_the_operator(
    flux: str, tmp_path: Path, shared: Path
) -> None:
    simulator.simulate(Scenario(3, 2, 5, first=date(2026, 10, 1), daily_share=1.0, follow=CHANGE), tmp_path)
    contents = [
        archive.read(member)
        for file in sorted((tmp_path / "envelopes").glob(f"*_{flux}_*.zip"))
        for archive in [ZipFile(file)]
        for member in archive.namelist()
    ]
    assert contents
    path = shared / "markets/fr" / SCHEMAS[flux]
    if path.suffix == ".json":
        validator = jsonschema_rs.Draft4Validator(json.decode(path.read_text(encoding="utf-8-sig")))
        for content in contents:
            validator.validate(json.decode(content))
        return
    schema = etree.XMLSchema(etree.parse(path))
    for content in contents:
        schema.assertValid(etree.fromstring(content))
    if flux == "R17":
        statuses = Counter(
            element.text for content in contents for element in etree.fromstring(content).iter("Statut_Mesure")
        )
        assert statuses == {"INITIAL": 3, "ANNULE": 1, "RECTIFICATIF": 1}


@pytest.mark.thorough
@pytest.mark.parametrize("first", [date(2025, 1, 1), date(2025, 8, 1)])
def test_a_power_of_c4_and_an_energy_above_the_power_of_its_class_are_found(
    first: date, tmp_path: Path, database_url: str
) -> None:
    """With the last reading in summer and in winter; in the order of sending, and shuffled."""
    faults = parse_faults(["FR-C15=0.5", "FR-R21=0.5"], simulator.playable())
    assert isinstance(faults, FaultRates)
    simulator.simulate(Scenario(4, 6, 7, first=first, faults=faults), tmp_path / "simulated")
    truths = list(read_truth(tmp_path / "simulated" / "truth.jsonl"))
    assert {one.outcome.fault for one in truths} == {None, "FR-C15", "FR-R21"}
    database = process(tmp_path / "simulated", database_url, shuffle=4 if "sqlite" in database_url else None)
    try:
        differences = compare_truth(database, truths)
    finally:
        database.dispose()
    assert not differences, describe(differences)
