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
    """Ruritania installed: its package and its metadata on the path, its rules beside the others.

    The package stays where it is: what was imported once is there for every later test.
    """
    site = tmp_path / "site"
    described = site / "energycomm_ruritania-1.0.0.dist-info"
    described.mkdir(parents=True)
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
    monkeypatch.syspath_prepend(FICTIVE)
    monkeypatch.syspath_prepend(site)
    installed_adapters.cache_clear()
    yield rules
    installed_adapters.cache_clear()


@pytest.mark.usefixtures("ruritania")
def test_every_path_of_the_gateway_is_taken_by_a_fictive_market(places: Place) -> None:
    answer = places.process(FICTIVE / "envelopes").json
    assert answer["ch_messages"] == {"digested": 15, "duplicate": 1, "refused": 1}
    assert answer["kernel_messages"] == {"accepted": 12, "quarantined": 1, "rejected": 2}
    assert answer["error_codes"] == {"ZZ-R01": 1, "CO-R05": 1}
    assert answer["warnings"] == {"ZZ-D01": 1}
    assert answer["incidents"] == {"NOTE_ELEMENT_UNKNOWN": 1, "SERIES_GAP": 1, "SYN_VALUE": 1}
    again = places.process(FICTIVE / "envelopes").json
    assert again["envelopes"]["duplicate"] == 5
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


@pytest.mark.thorough
@pytest.mark.usefixtures("ruritania")
def test_a_plea_is_owed_an_answer_until_it_is_given(places: Place) -> None:
    """Q-1 is late, Q-2 has time, Q-3 was taken back by Q-4; the times of Prague."""
    places.process(FICTIVE / "envelopes")
    owed = places("request", "owed", "--json").json
    assert [(one["reference"], one["answer_by"], one["late"]) for one in owed] == [
        ("Q-1", "2026-05-06T12:00:00+02:00", True),
        ("Q-2", "2099-05-06T12:00:00+02:00", False),
    ]
    assert {(one["market"], one["requester"], one["object_code"]) for one in owed} == {("ZZ", "OBSCURIA", "GIVE-BACK")}
    assert [one["reference"] for one in places("request", "owed", "--late", "--json").json] == ["Q-1"]
    assert places("request", "owed", "--market", "fr", "--json").json == []
    (line, _) = places("request", "owed").out.splitlines()
    assert line.split("\t")[1:] == [
        *("ZZ", "999000000000000014", "Q-1", "OBSCURIA", "GIVE-BACK", "2026-05-06 12:00", "late"),
    ]
    (given,) = places("request", "submit", FICTIVE / "requests" / "answer.json", "--json").json
    assert given["label"] == "accepted"
    sent = places("request", "show", given["request_id"], "--content").out
    assert (
        f"<Answer><Mark>{given['reference']}</Mark><Place>999000000000000014</Place><Plea>Q-1</Plea>"
        "<Granted>no</Granted><Why>N1</Why></Answer>"
    ) in sent
    assert [one["reference"] for one in places("request", "owed", "--json").json] == ["Q-2"]
    again = places("request", "submit", FICTIVE / "requests" / "answer.json", "--json")
    assert (again.code, [one["error_code"] for one in again.json[0]["findings"]]) == (1, ["CO-A52"])


@pytest.mark.thorough
@pytest.mark.usefixtures("ruritania")
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"correlation": "Q-9"}, "CO-A51"),
        ({"access_point": "999000000000000021"}, "CO-A51"),
        ({"correlation": "Q-3"}, "CO-A53"),
        ({"reasons": []}, "CO-A54"),
    ],
)
def test_an_answer_that_nobody_waits_for_is_not_sent(places: Place, changed: dict[str, object], code: str) -> None:
    places.process(FICTIVE / "envelopes" / "plea.xml")
    message = json.loads((FICTIVE / "requests" / "answer.json").read_text())
    wrong = places.folder / "wrong.json"
    wrong.write_text(json.dumps(message | changed))
    answer = places("request", "submit", wrong, "--json")
    assert answer.code == 1
    assert [one["error_code"] for one in answer.json[0]["findings"]] == [code]
    assert places.rows("SELECT count(*) FROM outgoing") == [(0,)]


def test_nothing_of_the_gateway_knows_the_fictive_market() -> None:
    files = [*ROOT.glob("energycomm/**/*.py"), *ROOT.glob("adapters/**/*.py"), *ROOT.glob("rules/**/*.yaml")]
    assert len(files) > 100
    assert [file for file in files if "ruritania" in file.read_text().lower()] == []


@pytest.fixture
def places(place: Places) -> Place:
    """A working place."""
    return place()
