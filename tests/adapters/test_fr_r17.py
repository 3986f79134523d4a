"""R17: sets of indexes and consumptions of C2 to C4, cancelled and corrected."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from lxml import etree

from adapters.fr_enedis import adapter
from energycomm.kernel.messages import MeteredVolume, MeterReading
from energycomm.market.contract import Series
from tests.adapters.french import content, digest, only

NAME = "r17_corrected.xml"


def test_the_fixture_is_valid_by_the_schema_of_the_operator(shared: Path) -> None:
    schema = etree.XMLSchema(etree.parse(shared / "markets/fr/xsd_2026/ENEDIS.SGE.XSD.0132.R17_v1.9.1.xsd"))
    schema.assertValid(etree.fromstring(content(NAME)))


def test_a_set_is_one_reading_of_its_indexes_and_one_volume_of_its_consumptions() -> None:
    first = digest(NAME).transactions[0]
    [reading] = only(first, MeterReading)
    [volume] = only(first, MeteredVolume)
    assert (str(volume.start), str(volume.effective)) == ("2026-01-12 00:00:00+01:00", "2026-02-01 00:00:00+01:00")
    assert [(one.time_class, one.previous_value, one.value, one.unit, one.product) for one in reading.registers] == [
        ("HPH", 43770, 47890, "kWh", None),
        ("HCH", 18300, 19980, "kWh", None),
        ("HPH", 880_000, 905_250, "VArh", "reactive"),  # 905.25 kVArh
    ]
    told = [(one.grid, one.time_class, one.quantity, one.unit, one.product) for one in volume.volumes]
    assert told == [
        ("distributor", "HPH", Decimal(4120), "kWh", None),
        ("distributor", "HCH", Decimal(1680), "kWh", None),
        ("distributor", "HPH", Decimal(25), "kVArh", "reactive"),
        ("distributor", "NHDH", Decimal(3), "h", "DD"),
        ("distributor", "PAH", Decimal(112), "kW", "maximum-power"),
        ("supplier", "HPH", Decimal(4120), "kWh", None),
    ]


def test_a_cancelled_set_names_the_set_of_the_same_days_and_values() -> None:
    first, cancelled, right = digest(NAME).transactions
    kinds: tuple[type[MeterReading | MeteredVolume], ...] = (MeterReading, MeteredVolume)
    for kind in kinds:
        [before], [away], [after] = (only(one, kind) for one in (first, cancelled, right))
        assert [one.function for one in (before, away, after)] == ["original", "cancel", "replace"]
        assert away.correlation == before.reading_reference != after.reading_reference
        assert after.correlation == "2026-01-12..2026-02-01", "it replaces the set of these days"
    [lump] = [one for one in only(right, MeterReading)[0].particulars if one.name.endswith("Valeur_Forfait")]
    assert lump.value == Decimal(40)


@pytest.mark.parametrize(
    "other", [("<Index_Nouveau>47890<", "<Index_Nouveau>47891<"), ("2026-02-01</D", "2026-02-02</D")]
)
def test_a_set_of_other_values_or_days_is_another(other: tuple[str, str]) -> None:
    changed = digest(NAME, other).transactions
    assert only(changed[0], MeterReading)[0].reading_reference != only(changed[1], MeterReading)[0].correlation


def test_a_decimal_index_in_a_unit_without_a_finer_one_is_refused_with_the_place() -> None:
    refused = digest(NAME, ("<Unite_Mesure>kVArh<", "<Unite_Mesure>Nombre<")).transactions[0].refusals
    assert [(one.code, one.value, one.expected) for one in refused] == [
        ("SYN_VALUE", "905.25", "a whole number of Nombre")
    ]


def test_the_numbers_of_r17_run_on_in_its_contract() -> None:
    found = adapter.series("ENEDIS_R17_17XLUMINEFICT01X_GRD-F901_00012_20260205041000.zip")
    assert isinstance(found, Series)
    assert (found.key, found.number) == ("R17/GRD-F901", 12)
