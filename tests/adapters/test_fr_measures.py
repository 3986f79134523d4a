"""R63 to R67, one-off and recurrent, in JSON and CSV: which instant, which register, which series."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from adapters.common.conformance.subject import Read, read
from adapters.fr_enedis import adapter, csvpieces
from energycomm.kernel.check import explain
from energycomm.kernel.codec import encode
from energycomm.kernel.messages import MeasureSeries, MeteredVolume, MeterReading
from energycomm.market.contract import Sniff
from energycomm.transport.forms import text_root
from tests.adapters.french import codes, content, digest, only
from tests.adapters.subjects import FIXTURES

FRENCH = FIXTURES / "fr"
SCHEMAS = {"R63": "0510", "R64": "0511", "R65": "0512", "R66": "0513", "R67": "0515"}
SCHEMAS |= {"R63A": "0532", "R63B": "0532", "R64A": "0533", "R64B": "0533", "R66B": "0534"}
OF_MEASURES = sorted(FRENCH.glob("r6*.json"))
TABLES = sorted(FRENCH.glob("ENEDIS_R6*.csv"))


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize("path", OF_MEASURES, ids=lambda path: path.name)
def test_fixtures_are_valid_by_the_operators_schemas(shared: Path, path: Path) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    for document in found if isinstance(found, list) else [found]:
        number = SCHEMAS[document["header"]["codeFlux"]]
        (schema,) = (shared / "markets/fr/json_schemas").glob(f"Enedis.SGE.JSON.{number}.*")
        jsonschema_rs.Draft4Validator(json.loads(schema.read_text(encoding="utf-8-sig"))).validate(document)


@pytest.mark.parametrize("path", [*OF_MEASURES, *TABLES], ids=lambda path: path.name)
def test_every_message_is_valid(path: Path) -> None:
    found = read(adapter, path.read_bytes(), path.name)
    assert found.transactions
    for transaction in found.transactions:
        assert not transaction.refusals
        assert all(not explain(encode(message)) for message in transaction.messages)


# --- R63 ---


def _curve(flux: str, stamps: list[str], *, n: str, p: str = "PT30M", **more: Any) -> bytes:
    """A curve of one point with the values 1, 2, 3, ..."""
    points = [{"v": str(v), "d": d, "p": p, "n": n} for v, d in enumerate(stamps, 1)]
    period = more.pop("periode", {"dateDebut": "2026-01-01 00:00:00", "dateFin": "2026-12-31 00:00:00"})
    grandeur = {"grandeurMetier": "CONS", "grandeurPhysique": "PA", "unite": "W", "points": points} | more
    mode = "P" if flux == "R63" else "Q"
    header = {"codeFlux": flux, "idDemande": "M0000AB1", "idDestinataire": "GRD-F901", "modePublication": mode}
    measures = [{"idPrm": "99000000000404", "periode": period, "grandeur": [grandeur]}]
    return json.dumps({"header": header, "mesures": measures}).encode()


def _series(data: bytes) -> list[MeasureSeries]:
    [transaction] = read(adapter, data, "r63.json").transactions
    return only(transaction, MeasureSeries)


def test_a_linky_curve_is_stamped_at_the_ends_and_others_at_the_starts() -> None:
    day = ["2026-02-20 00:30:00", "2026-02-20 01:00:00"]
    [linky], [other] = _series(_curve("R63", day, n="B")), _series(_curve("R63", day, n="R"))
    assert (linky.effective, linky.end) == (_at("2026-02-20T00:00+01:00"), _at("2026-02-20T01:00+01:00"))
    assert (other.effective, other.end) == (_at("2026-02-20T00:30+01:00"), _at("2026-02-20T01:30+01:00"))


@pytest.mark.parametrize("backwards", [False, True])
def test_the_hour_that_comes_twice_in_october_is_told_by_the_order_of_the_file(backwards: bool) -> None:
    """The night of 25 October 2026 has 25 hours: 02:00 to 02:59 comes twice."""
    stamps = [f"2026-10-25 {hour:02}:{minute:02}:00" for hour in (1, 2, 2, 3) for minute in (0, 30)]
    [series] = _series(_curve("R63", stamps[::-1] if backwards else stamps, n="R"))
    assert series.effective == _at("2026-10-25T01:00+02:00")
    assert series.end == _at("2026-10-25T04:00+01:00")
    values = [int(position.value or 0) for position in series.positions]
    assert values == (list(range(8, 0, -1)) if backwards else list(range(1, 9)))


def test_a_linky_day_in_october_has_25_hours_and_one_in_march_23() -> None:
    def day(first: str, last: str, passes: tuple[int, ...]) -> MeasureSeries:
        stamps = [f"{first} {hour:02}:{minute:02}:00" for hour in passes for minute in (0, 30)]
        [series] = _series(_curve("R63", [*stamps[1:], f"{last} 00:00:00"], n="B"))
        return series

    october = day("2026-10-25", "2026-10-26", (0, 1, 2, 2, *range(3, 24)))
    assert (october.effective, len(october.positions)) == (_at("2026-10-25T00:00+02:00"), 50)
    assert october.end == _at("2026-10-26T00:00+01:00")
    march = day("2026-03-29", "2026-03-30", (0, 1, *range(3, 24)))
    assert (march.effective, march.end) == (_at("2026-03-29T00:00+01:00"), _at("2026-03-30T00:00+02:00"))
    assert [position.position for position in march.positions] == list(range(1, 47))


def test_a_step_that_changes_within_a_file_makes_two_series() -> None:
    series = only(digest("r63a_curve.json").transactions[0], MeasureSeries)
    active = [one for one in series if one.product == "active"]
    assert [(one.resolution, len(one.positions)) for one in active] == [(10, 6), (30, 2)]
    assert active[0].end == active[1].effective == _at("2026-03-02T01:00+01:00")
    assert [position.quality for position in active[1].positions] == ["revised", "estimated"]
    assert [position.mark for position in active[1].positions] == ["n:C,tc:F", "n:E,tc:A"]


def test_a_recurrent_file_says_nothing_of_holes_and_an_ordered_one_does() -> None:
    stamps = ["2026-02-20 00:00:00", "2026-02-20 06:00:00"]
    assert [len(one.positions) for one in _series(_curve("R63A", stamps, n="R"))] == [1, 1]
    [ordered] = _series(_curve("R63", stamps, n="R"))
    assert [position.position for position in ordered.positions] == [1, 13]
    told = {one.name: one.value for one in ordered.particulars}
    assert told == {
        "periode/dateDebut": _at("2026-01-01T00:00+01:00"),
        "periode/dateFin": _at("2026-12-31T00:00+01:00"),
    }


def test_likelihood_marks_a_value_and_refuses_none() -> None:
    [series] = only(digest("r63_curve.json").transactions[0], MeasureSeries)
    cut, doubted, right = series.positions[13], series.positions[14], series.positions[15]
    assert (int(cut.value or 0), cut.doubtful, cut.mark) == (0, None, "n:B,iv:2,ec:1")
    assert (doubted.doubtful, doubted.mark) == (True, "n:B,iv:1")
    assert (right.doubtful, right.mark, right.quality) == (None, None, "as-read")


def test_quantities_keep_their_unit_and_a_voltage_has_no_direction() -> None:
    stamps = ["2026-02-20 00:00:00"]
    [voltage] = _series(_curve("R63", stamps, n="R", grandeurPhysique="E", unite="V"))
    assert (voltage.product, voltage.unit, voltage.direction) == ("voltage", "V", None)


@pytest.mark.parametrize("value", ["1e400", "NaN", "9" * 25, "1e-30", "many"])
def test_a_value_beyond_all_bounds_is_refused(value: str) -> None:
    data = _curve("R63", ["2026-02-20 00:00:00"], n="R").replace(b'"v": "1"', f'"v": "{value}"'.encode())
    [transaction] = read(adapter, data, "r63.json").transactions
    assert [refused.code for refused in transaction.refusals] == ["SYN_VALUE"]


def test_of_two_values_of_one_step_the_later_one_of_the_file_is_carried_and_noted() -> None:
    [transaction] = read(adapter, _curve("R63", ["2026-02-20 00:00:00"] * 2, n="R"), "r63.json").transactions
    [series] = only(transaction, MeasureSeries)
    assert ([int(one.value or 0) for one in series.positions], codes(transaction)) == ([2], ["NOTE_VALUE_TWICE"])


# --- R64 ---


def test_before_at_and_after_a_reprogramming_are_three_readings() -> None:
    readings = only(digest("r64b_indexes.json").transactions[0], MeterReading)
    event = [one for one in readings if one.effective == _at("2026-02-25T10:12:40+01:00")]
    assert [one.qualification for one in event] == ["before-event", "periodic", "after-event"]


def test_a_total_alone_is_a_reading_and_beside_classes_a_particular() -> None:
    readings = only(digest("r64b_indexes.json").transactions[0], MeterReading)
    midnight = [one for one in readings if one.effective == _at("2026-02-26T00:00+01:00")]
    fed_in = next(one for one in midnight if len(one.registers) == 1)
    assert (fed_in.registers[0].time_class, fed_in.registers[0].value) == ("IDX_EAI_T", 1204)
    assert fed_in.registers[0].direction == "production"
    whole = next(one for one in midnight if len(one.registers) == 5)
    told = {one.name: one.value for one in whole.particulars}
    assert (int(told["cadranTotalisateur/IDX_EAS_T"]), int(told["DI000003/HPH/iv"])) == (338300, 8)  # type: ignore[arg-type]
    assert [register.doubtful for register in whole.registers] == [True, False, False, False, False]


def test_a_register_without_a_time_class_is_named_by_its_register() -> None:
    messages = digest("r64a_indexes.json").transactions[0].messages
    [reading] = [one for one in messages if isinstance(one, MeterReading)]
    assert [(one.time_class, one.product, one.unit) for one in reading.registers] == [
        ("EA1", None, "Wh"),
        ("EA2", None, "Wh"),
        ("EA1", "reactive-inductive", "VArh"),
    ]
    assert reading.calendar is None  # the bare letter D names none
    others = [(one.product, one.unit) for one in messages if isinstance(one, MeasureSeries)]
    assert others == [("maximum-power", "VA"), ("DD", "s")]


# --- R65, R66, R67 ---


def test_an_energy_is_that_of_its_civil_day() -> None:
    first, second = digest("r65_energies.json").transactions
    volumes = only(first, MeteredVolume)
    assert [(one.start, one.effective) for one in volumes] == [
        (_at("2026-02-20T00:00+01:00"), _at("2026-02-21T00:00+01:00")),
        (_at("2026-02-21T00:00+01:00"), _at("2026-02-22T00:00+01:00")),
    ]
    [both] = only(second, MeteredVolume)
    assert [(one.product, one.unit, int(one.quantity)) for one in both.volumes] == [
        (None, "Wh", 912000),
        ("reactive-inductive", "VArh", 40100),
    ]


def test_a_day_of_a_change_of_the_clock_is_a_series_of_its_own() -> None:
    days = [{"v": str(day), "d": f"2026-10-{day} 12:00:00"} for day in (23, 24, 25, 26)]
    data = json.loads(content("r66_peaks.json"))
    data["mesures"][0]["grandeur"][0]["points"] = days
    [transaction] = read(adapter, json.dumps(data).encode(), "r66.json").transactions
    found = only(transaction, MeasureSeries)
    assert [[int(one.value or 0) for one in series.positions] for series in found] == [[23, 24, 25], [26]]
    assert found[1].effective == _at("2026-10-26T00:00+01:00")
    assert found[0].positions[0].at == _at("2026-10-23T12:00+02:00")


def test_of_the_highest_powers_that_are_published_again_the_newest_holds() -> None:
    """They are of one stream; what an order brings is not."""
    for name, streams in (("r66_peaks.json", {None}), ("r66b_peaks.json", {"power-maximum"})):
        found = [one for transaction in digest(name).transactions for one in only(transaction, MeasureSeries)]
        assert {one.stream for one in found} == streams


@pytest.mark.parametrize("nothing", [None, ""])
def test_null_and_empty_say_no_more_than_what_is_not_there(nothing: object) -> None:
    """Of a value, of its marks, of a whole list: the rest of the point is read."""
    data = json.loads(_curve("R63", ["2026-02-20 00:30:00", "2026-02-20 01:00:00"], n="B"))
    grandeur = data["mesures"][0]["grandeur"]
    grandeur[0]["points"][0] |= {"v": nothing, "tc": nothing, "iv": nothing, "ec": nothing}
    grandeur.append({"grandeurMetier": "CONS", "grandeurPhysique": "PRI", "unite": "VAr", "points": nothing})
    [series] = _series(json.dumps(data).encode())
    assert [(one.value, one.quality) for one in series.positions] == [(None, "missing"), (2, "as-read")]
    index = json.loads(content("r64_indexes.json"))
    quantity = index["mesures"][0]["contexte"][0]["grandeur"][0]
    total = {"codeCadran": "IDX_EAS_T", "valeur": [{"d": "2026-02-20 00:00:00", "v": 9, "iv": nothing}]}
    quantity |= {"calendrier": nothing, "cadranTotalisateur": total}
    first, *_ = read(adapter, json.dumps(index).encode(), "r64.json").transactions
    assert [int(one.value) for reading in only(first, MeterReading) for one in reading.registers] == [9]


# --- CSV ---


def _table(name: str, *edits: tuple[str, str]) -> Read:
    (path,) = FRENCH.glob(f"ENEDIS_{name}_*.csv")
    data = path.read_bytes()
    text = data.decode("cp1252" if name == "R64" else "utf-8-sig")
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return read(adapter, text.encode(), path.name)


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_a_table_is_recognised_by_its_columns(path: Path) -> None:
    sniff = Sniff("export.csv", "other", text_root(path.read_bytes()[:1024]))
    assert adapter.dispatch(sniff) == "R6X-CSV"


def test_a_table_that_mixes_quantities_is_one_series_each() -> None:
    [transaction] = _table("R63").transactions
    series = only(transaction, MeasureSeries)
    assert [(one.product, one.unit, [int(p.value or 0) for p in one.positions]) for one in series] == [
        ("active", "W", [40000, 40001, 40002, 40003]),
        ("reactive-inductive", "VAr", [800, 801, 802, 803]),
    ]
    assert (series[0].request_reference, series[0].created) == ("M0000AB5", _at("2026-03-05T12:00+01:00"))


def test_json_and_table_of_one_reading_say_the_same() -> None:
    [reading] = only(_table("R64").transactions[0], MeterReading)
    assert [(one.grid, one.time_class, one.value, one.unit) for one in reading.registers] == [
        ("distributor", "HPH", 234500, "Wh"),
        ("distributor", "HCH", 112700, "Wh"),
        ("distributor", "HPB", 0, "Wh"),
        ("distributor", "HCB", 0, "Wh"),
        ("supplier", "BASE", 347200, "Wh"),
    ]
    assert (reading.calendar, reading.supplier_calendar) == ("DI000003", "FC010001")
    assert {one.name: one.value for one in reading.particulars}["cadranTotalisateur/IDX_EAS_T"] == 347200


def test_the_labels_of_invoiced_energies_stand_for_codes() -> None:
    [volume] = only(_table("R67").transactions[0], MeteredVolume)
    assert (volume.nature, volume.function, volume.market_reason) == ("measured", "original", "Cyclique")
    assert [(one.time_class, int(one.quantity)) for one in volume.volumes] == [("HPH", 84000), ("HCH", 31000)]


def test_columns_are_known_whatever_their_accents_case_and_blanks() -> None:
    edits = ("Identifiant PRM", "IDENTIFIANT  PRM"), ("Date de début", "date de debut"), ("Unité", "UNITE")
    assert [codes(one) for one in _table("R65", *edits).transactions] == [[]]


def test_a_point_that_a_spreadsheet_rounded_is_refused_with_advice() -> None:
    [transaction] = _table("R65", ("99000000000404", "9,9E+13")).transactions
    [refused] = transaction.refusals
    assert (refused.code, refused.value, refused.path) == ("CSV_DAMAGED", "9,9E+13", "mesures/idPrm")
    assert "spreadsheet" in refused.advice


def test_a_table_without_its_columns_is_refused() -> None:
    found = _table("R63", ("Horodate", "Heure"))
    assert found.refusal is not None
    assert found.refusal.code == "CSV_COLUMNS"


def test_lines_of_points_that_alternate_make_one_message_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many lines are held."""
    head = "Identifiant PRM;Grandeur physique;Unité;Date;Valeur;Pas;Date de début;Date de fin\n"
    lines = "".join(
        f"9900000000010{point};EA;Wh;2026-02-{day:02};{day};P1D;2026-02-01 00:00:00;2026-03-01 00:00:00\n"
        for day in range(1, 21)
        for point in (1, 2)
    )
    found = read(adapter, (head + lines).encode(), "r65.csv", "R6X-CSV").transactions
    assert [(one.access_point, len(one.messages)) for one in found] == [
        ("99000000000101", 20),
        ("99000000000102", 20),
    ]
    monkeypatch.setattr(csvpieces, "MOST_ROWS", 8)
    parts = read(adapter, (head + lines).encode(), "r65.csv", "R6X-CSV").transactions
    assert sum(len(one.messages) for one in parts) == 40
