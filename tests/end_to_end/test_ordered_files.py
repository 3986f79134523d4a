"""The files of an order against what the report that ends it announces, from the zips that the market delivers."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

from energycomm.daemon.survey import DAY, SECOND, Survey, survey
from energycomm.eis.database import opened
from energycomm.kernel.instants import now_micros
from tests.end_to_end.conftest import Place

FRENCH = Path(__file__).parents[2] / "fixtures/fr"
HOUR = 3600 * SECOND


def _zip(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return buffer.getvalue()


def _curve(order: str, number: int) -> tuple[str, bytes]:
    """One of the files of an order, as the market names it."""
    document = json.loads((FRENCH / "r63_curve.json").read_text(encoding="utf-8"))
    document["header"]["idDemande"] = order
    document["mesures"][0]["idPrm"] = f"990000000000{number:02}"
    name = f"ENEDIS_R63_P_CdC_{order}_{number:05}_20260305120000"
    return f"{name}.zip", _zip(**{f"{name}__json": json.dumps(document).encode()})


def _report(order: str, files: int) -> tuple[str, bytes]:
    said = {"header": {"codeFlux": "CR.M023", "idDemande": order}, "nbFichiers": files, "points": []}
    return f"ENEDIS_CR.M023_P_CR_{order}_00001_20260306090000.json", json.dumps(said).encode()


def _take(here: Place, *files: tuple[str, bytes]) -> None:
    inbox = here.folder / "inbox"
    inbox.mkdir(exist_ok=True)
    for name, content in files:
        (inbox / name).write_bytes(content)
    here.process(inbox)


def _look(here: Place, hours: float = 0) -> Survey:
    with opened(here.url) as engine:
        return survey(engine, now_micros() + round(hours * HOUR), 24)


def test_an_order_ends_with_a_report_and_all_the_files_that_it_announces(
    place: Callable[..., Place], database_url: str
) -> None:
    here = place(database_url)
    _take(here, _curve("M0000BB1", 1), _curve("M0000BB1", 3), _curve("M0000BB2", 1))
    # The file between the two is missing for certain.
    assert here.rows("SELECT value FROM incident WHERE code = 'SERIES_GAP'") == [("00002 never received",)]
    assert (_look(here, 71).unreported, sorted(_look(here, 73).unreported)) == ([], ["M0000BB1", "M0000BB2"])
    _take(here, _report("M0000BB1", 3), _report("M0000BB2", 1))
    found = _look(here, 73)
    assert (found.unreported, found.incomplete) == ([], {"M0000BB1": (2, 3)})
    alarms = {code: (number, told) for code, _, number, told in found.alarms()}
    assert alarms["RESULT_INCOMPLETE"] == (1, "M0000BB1: 2 of 3 files")
    assert alarms["RESULT_UNREPORTED"][0] == 0
    name, _ = _curve("M0000BB1", 2)
    _take(here, (name, b"PK\x03\x04 no zip"))
    assert _look(here).incomplete == {"M0000BB1": (2, 3)}, "a file that cannot be opened is not there"
    _take(here, _curve("M0000BB1", 2))
    assert _look(here).incomplete == {}
    assert _look(here, 61 * DAY / HOUR).incomplete == {}


def test_data_of_points_come_as_zips_within_a_zip(place: Callable[..., Place]) -> None:
    here = place()
    name = "ENEDIS_C68_P_ITC_M0000BC1"
    points = json.loads((FRENCH / "ENEDIS_C68_P_ITC_M0000AC1_00001_20260306080000.json").read_text(encoding="utf-8"))
    inner = {
        f"{name}_{number:05}_20260306080000__zip": _zip(
            **{f"{name}_{number:05}_20260306080000__json": json.dumps([point]).encode()}
        )
        for number, point in enumerate(points, 1)
    }
    _take(here, (f"{name}_00001_20260306080000.zip", _zip(**inner)), _report("M0000BC1", 1))
    assert here.rows("SELECT count(*) FROM ch_message WHERE type = 'C68'") == [(2,)]
    assert (_look(here, 73).unreported, _look(here, 73).incomplete) == ([], {})
