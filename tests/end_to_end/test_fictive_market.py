"""A market joins without a change to EnergyComm: installed through its entry point, with its folder of rules."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from energycomm.market.installed import installed_adapters
from tests.end_to_end.conftest import Place

Places = Callable[..., Place]
ROOT = Path(__file__).resolve().parents[2]
FICTIVE = ROOT / "fixtures" / "fictive"


@pytest.fixture
def ruritania(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Ruritania installed: its package with its metadata on the path, its rules beside the others."""
    site = tmp_path / "site"
    shutil.copytree(FICTIVE / "ruritania", site / "ruritania", ignore=shutil.ignore_patterns("__pycache__"))
    described = site / "energycomm_ruritania-1.0.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: energycomm-ruritania\nVersion: 1.0.0\n")
    declared = (FICTIVE / "pyproject.toml").read_text().partition('[project.entry-points."energycomm.adapters"]\n')[2]
    name, _, target = declared.splitlines()[0].partition(" = ")
    (described / "entry_points.txt").write_text(f"[energycomm.adapters]\n{name} = {json.loads(target)}\n")
    rules = tmp_path / "rules"
    shutil.copytree(ROOT / "rules" / "common", rules / "common")
    shutil.copy(ROOT / "rules" / "predicates.py", rules)
    for other in ("be", "fr", "nl"):  # the common rules name them; their own rules would only cost time
        (rules / other).mkdir()
    shutil.copytree(FICTIVE / "rules" / "zz", rules / "zz")
    monkeypatch.setenv("ENERGYCOMM_RULES", str(rules))
    monkeypatch.syspath_prepend(site)
    installed_adapters.cache_clear()
    yield rules
    installed_adapters.cache_clear()


@pytest.mark.usefixtures("ruritania")
def test_every_path_of_the_gateway_is_taken_by_a_fictive_market(places: Place) -> None:
    answer = places.process(FICTIVE / "envelopes").json
    assert answer["ch_messages"] == {"digested": 11, "duplicate": 1, "refused": 1}
    assert answer["kernel_messages"] == {"accepted": 8, "quarantined": 1, "rejected": 2}
    assert answer["error_codes"] == {"ZZ-D01": 1, "ZZ-R01": 1, "CO-R05": 1}
    assert answer["incidents"] == {"NOTE_ELEMENT_UNKNOWN": 1, "SERIES_GAP": 1, "SYN_VALUE": 1}
    again = places.process(FICTIVE / "envelopes").json
    assert again["envelopes"]["duplicate"] == 4
    assert again["kernel_messages"] == {}


@pytest.mark.usefixtures("ruritania")
def test_what_waited_is_accepted_when_its_start_comes(places: Place) -> None:
    places.process(FICTIVE / "envelopes")
    waiting = "SELECT state FROM kernel_message WHERE kind = 'MeterReading' AND access_point_id = ({})".format(
        "SELECT id FROM access_point WHERE identifier = '999000000000000045'"
    )
    assert places.rows(waiting) == [("quarantined",)]
    first = (FICTIVE / "envelopes" / "RUR_LUMINARIA_00001_20260302060000.xml").read_text()
    late = places.folder / "RUR_LUMINARIA_00003_20260402070000.xml"
    late.write_text(first.replace("999000000000000014", "999000000000000045").replace("B-1001", "B-1004"))
    answer = places.process(late).json
    assert places.rows(waiting) == [("accepted",)]
    assert answer["gaps"] == []


@pytest.mark.usefixtures("ruritania")
def test_a_petition_is_judged_built_and_followed_to_its_verdict(places: Place) -> None:
    request = FICTIVE / "requests" / "switch.json"
    (submitted,) = places("request", "submit", request, "--json").json
    assert submitted["label"] == "accepted"
    sent = places("request", "show", submitted["request_id"], "--content").out
    assert f"<Take><Mark>{submitted['reference']}</Mark>" in sent
    reply = places.folder / "reply.xml"
    refused = (FICTIVE / "envelopes" / "reply.xml").read_text()
    reply.write_text(refused.replace("an-earlier-petition", submitted["reference"]))
    assert places.process(reply).code == 0
    shown = places("request", "show", submitted["request_id"], "--json").json
    assert (shown["summary"]["state"], shown["summary"]["answer_code"]) == ("refused", "P1")


@pytest.mark.usefixtures("ruritania")
def test_what_the_market_would_refuse_is_refused_first(places: Place) -> None:
    message = json.loads((FICTIVE / "requests" / "switch.json").read_text())
    short = places.folder / "short.json"
    short.write_text(json.dumps(message | {"requested_date": "2026-01-02", "created": "2026-01-01T10:00:00+01:00"}))
    answer = places("request", "submit", short, "--json")
    assert answer.code == 1
    assert [finding["error_code"] for finding in answer.json[0]["findings"]] == ["ZZ-D51"]
    unknown = places.folder / "unknown.json"
    unknown.write_text(json.dumps(message | {"kind": "MoveOutRequest"}))
    assert places("request", "submit", unknown, "--json").json[0]["refusals"][0]["code"] == "OUT_NOT_BUILT"


def test_nothing_of_the_gateway_knows_the_fictive_market() -> None:
    files = [*ROOT.glob("energycomm/**/*.py"), *ROOT.glob("adapters/**/*.py"), *ROOT.glob("rules/**/*.yaml")]
    assert len(files) > 100
    assert [file for file in files if "ruritania" in file.read_text().lower()] == []


@pytest.fixture
def places(place: Places) -> Place:
    """A working place."""
    return place()
