"""File names of Enedis envelopes and their numbered series."""

from __future__ import annotations

import pytest

from adapters.fr_enedis import adapter
from adapters.fr_enedis.names import is_ours, part_of
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Series

NUMBERED = {
    "17X1_C15_17X2_90000101_DIR_00007_20260226051012.zip": Series("C15/90000101/DIR", 7, "20260226051012"),
    "17X1_R15_17X2_90000101_DIR_00012_20260226051012.ZIP": Series("R15/90000101/DIR", 12, "20260226051012"),
    "17X1_F15_17X2_90000101_DIR_C_M_9_D_00003_20260206051122.zip": Series(
        "F15/17X2/90000101/DIR/C/M/9", 3, "20260206051122"
    ),
    "17X1_F12_17X2_90000101_DIR_00004_1_2_20260206051122.zip": Series("F12/17X2/90000101/DIR", 4, "20260206051122"),
    "ERDF_R151_17X2_90000101_500000101_00321_Q_00001_00002_20260109030931.zip": Series(
        "R151/500000101", 321, "20260109030931"
    ),
    "17X1_C12_17X2_90000101_00001_20260206051122.zip": Series("C12/90000101", 1, "20260206051122"),
    "17X1_X12_17X2_00045_20260104091712.zip": Series("X12/17X2", 45, "20260104091712"),
    "17X1_X13_17X2_00045_20260104091712": Series("X13/17X2", 45, "20260104091712"),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_a_numbered_name_gives_its_series_and_number(name: str) -> None:
    assert adapter.series(name) == NUMBERED[name]
    assert adapter.series(f"in/box/{name}") == NUMBERED[name]


MEASURES = {
    "ENEDIS_R63_P_CdC_M0ABCDEF_00002_20260602010203.zip": Series("R63/P/CDC/M0ABCDEF", 2, "20260602010203"),
    "Enedis_r64_p_Index_M0ABCDEF_00001_20260602010203.ZIP": Series("R64/P/INDEX/M0ABCDEF", 1, "20260602010203"),
    "ENEDIS_R64B_Q_INDEX_0012_GRD-F999_00321_20260602010203.zip": Series(
        "R64B/Q/INDEX/0012/GRD-F999", 321, "20260602010203"
    ),
    "ENEDIS_R63A_H_CdC_0012_123456789_00004_20260602010203.zip": Series(
        "R63A/H/CDC/0012/123456789", 4, "20260602010203"
    ),
    "Enedis_R65_P_Energie_M0ABCDEF_123456789_20260602010203.zip": Series("R65", None, "20260602010203"),
    "ENEDIS_C68_P_ITC_M0ABCDEF_00001_20260602010203.zip": Series("C68/P/ITC/M0ABCDEF", 1, "20260602010203"),
}
"""Names of the guide: with the order's own number; recurrent, with the contract; of a company's account, unnumbered."""


@pytest.mark.parametrize("name", MEASURES)
def test_files_of_measures_are_numbered_within_their_order_or_publication(name: str) -> None:
    assert adapter.series(name) == MEASURES[name]


def test_one_direction_more_is_another_series() -> None:
    one = adapter.series("17X1_C15_17X2_90000101_DIR1_00007_20260226051012.zip")
    other = adapter.series("17X1_C15_17X2_90000101_DIR2_00007_20260226051012.zip")
    assert isinstance(one, Series)
    assert isinstance(other, Series)
    assert one.key != other.key


@pytest.mark.parametrize(
    "name",
    [
        "x_C15_y_1_DIR_00001_2026_00001_00001.xml",
        "FL_1_2.xml",
        "c15_entries.xml",
        "ENEDIS_R64_P_x_00001_1.JSON",
        "a.json",
    ],
)
def test_a_plain_member_belongs_to_no_series(name: str) -> None:
    assert adapter.series(name) is None


@pytest.mark.parametrize("name", ["", "facture.zip", "17X1_Z99_17X2_1_00001_1.zip", "17X1_C15_17X2_1_DIR_0007_1.zip"])
def test_an_unknown_name_is_reported(name: str) -> None:
    refused = adapter.series(name)
    assert isinstance(refused, Refusal)
    assert refused.code == "NAME_UNKNOWN"
    assert "R151" in refused.expected


def test_a_member_says_which_part_of_how_many_it_is() -> None:
    assert part_of("17X1_C15_17X2_1_DIR_00007_20260226051012_00002_00005.xml") == (2, 5)
    assert part_of("ERDF_R151_17X2_1_5_00321_Q_00001_00002_20260109030931.zip") == (1, 2)
    assert part_of("FL_2_5.xml") == (2, 5)
    assert part_of("c15_entries.xml") is None


def test_an_unread_flux_is_recognised_by_its_name() -> None:
    assert is_ours("ENEDIS_R50_17X2_x_00001_20260602010203.zip")
    assert not is_ours("holiday.xml")
