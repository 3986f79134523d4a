"""One daemon for two suppliers: each takes in its own, and what breaks at one does not stop the other."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from energycomm.cli import main
from energycomm.daemon.metrics import Metrics, text_of_several
from energycomm.daemon.report import Count
from energycomm.errors import ExitCode
from tests.daemon.test_daemon import get, running_daemon, until

NORD, SUD = "17XNORDFICTIF01X", "17XLUMINEFICT01X"
"""The files of the fixtures are addressed to sud."""
OWN = """
[daemon]
poll_seconds = 0.2
heartbeat = "beat.json"
[notify]
folder = "told"
[[channels]]
name = "drop"
market = "FR"
direction = "in"
kind = "folder"
path = "in"
settle = 0
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation of two suppliers with a channel of the same name each."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "energycomm.toml").write_text('log_format = "json"\nlog_level = "info"\n[daemon]\nport = 0\n')
    for name, party in (("nord", NORD), ("sud", SUD)):
        assert main(["supplier", "add", name, "--party", party]) == ExitCode.OK
        with (tmp_path / name / "energycomm.toml").open("a") as file:
            file.write(OWN)
        for folder in ("in", "told"):
            (tmp_path / name / folder).mkdir()
    return tmp_path


def beat(place: Path, name: str) -> Any:
    return json.loads((place / name / "beat.json").read_text())


def rows(place: Path, name: str, sql: str) -> list[Any]:
    with sqlite3.connect(place / name / "energycomm.db") as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.thorough
def test_each_supplier_is_worked_for_and_what_fails_at_one_stops_no_other(place: Path, project_root: Path) -> None:
    """At first nord's store is damaged; when it is mended, its worker is killed again and again. Sud takes in its files
    meanwhile."""
    sent, file = project_root / "fixtures" / "fr", place / "nord" / "energycomm.db"
    file.rename(place / "away.db")
    file.write_bytes(b"no database" * 100)
    with running_daemon(place) as daemon:
        port = until(lambda: beat(place, "sud")["ready"] and beat(place, "sud")["port"])
        assert get(port, "/health/ready")[0] == 503
        metrics = get(port, "/metrics")[1]
        assert 'energycomm_ready{supplier="nord"} 0.0' in metrics
        assert 'energycomm_ready{supplier="sud"} 1.0' in metrics
        assert json.loads(get(port, "/health/details")[1])["suppliers"]["nord"]["ready"] is False
        (place / "away.db").rename(file)
        until(lambda: beat(place, "nord")["ready"])
        first = beat(place, "sud")["workers"][0]["pid"]
        for number in range(2):
            pid = until(lambda: beat(place, "nord")["workers"][0]["pid"])
            os.kill(pid, signal.SIGKILL)
            (place / "sud" / "in" / f"{number}.xml").write_bytes(
                (sent / "c15_entries.xml").read_bytes() + b" " * number
            )
            until(lambda: beat(place, "nord")["workers"][0]["pid"] not in (pid, None))  # noqa: B023
        until(lambda: len(rows(place, "sud", "SELECT 1 FROM envelope WHERE state = 'done'")) == 2)
        assert beat(place, "sud")["workers"][0]["pid"] == first, "the worker of the other lived on"
        measures, inbox = (sent / "r151_daily.xml").read_bytes(), place / "nord" / "in"
        (inbox / "theirs.xml").write_bytes(measures)
        (inbox / "r151.xml").write_bytes(measures.replace(SUD.encode(), NORD.encode()))
        until(lambda: (inbox / "failed" / "theirs.xml.reason.txt").exists())
        assert (
            f"ENV_OTHER_SUPPLIER at theirs.xml: receiver: found '{SUD}'"
            in (inbox / "failed" / "theirs.xml.reason.txt").read_text()
        )
        until(lambda: rows(place, "nord", "SELECT 1 FROM envelope WHERE state = 'done'"))
        until(lambda: list((place / "sud" / "told").glob("*.json")))
        assert get(port, "/health/ready")[0] == 200
        assert json.loads(get(port, "/health/details")[1])["suppliers"].keys() == {"nord", "sud"}
        metrics = get(port, "/metrics")[1]
        assert 'energycomm_envelopes_total{channel="drop",outcome="done",supplier="nord"} 1.0' in metrics
        assert 'energycomm_envelopes_total{channel="drop",outcome="done",supplier="sud"} 2.0' in metrics
        assert 'energycomm_worker_deaths_total{supplier="sud"} 0.0' in metrics
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(60) == 0
    assert rows(place, "nord", "SELECT name FROM envelope") == [("r151.xml",)]
    held = [rows(place, name, "SELECT DISTINCT type FROM member") for name in ("nord", "sud")]
    assert held == [[("R151",)], [("C15",)]]
    lines = [json.loads(line) for line in (place / "log").read_text().splitlines()]
    done = {(line["supplier"], line["name"]) for line in lines if line["event"] == "envelope.done"}
    assert ("nord", "r151.xml") in done
    assert {name for name, _ in done} == {"nord", "sud"}


def test_the_metrics_of_several_are_whole_and_each_sample_names_its_supplier() -> None:
    """Read back by Prometheus' own parser: one family of a name, with the samples of all."""
    made = {name: Metrics({"drop": "FR"}) for name in ("nord", "sud")}
    made["nord"].take(Count("energycomm_channel_errors", ("drop", "CHANNEL_LOST"), 2))
    families = list(text_string_to_metric_families(text_of_several(made).decode()))
    names = [family.name for family in families]
    assert len(names) == len(set(names))
    alone = list(text_string_to_metric_families(made["nord"].text().decode()))
    assert {family.name for family in alone} == set(names)
    assert all("supplier" in sample.labels for family in families for sample in family.samples)
    errors = next(family for family in families if family.name == "energycomm_channel_errors")
    found = {sample.labels["supplier"]: sample.value for sample in errors.samples if sample.name.endswith("_total")}
    assert found == {"nord": 2.0}


def test_nothing_runs_where_two_suppliers_share_something(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (place / "sud" / "energycomm.toml").open("a") as file:
        file.write(
            '[[channels]]\nname = "more"\nmarket = "FR"\ndirection = "in"\nkind = "folder"\npath = "../nord/in/done"\n'
        )
    for command in ("daemon", "serve"):
        assert main([command]) == ExitCode.USAGE
        assert re.search("channel drop of nord and channel more of sud", capsys.readouterr().err)


def test_a_port_that_is_taken_is_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        whole = place / "energycomm.toml"
        whole.write_text(whole.read_text().replace("port = 0", f"port = {taken.getsockname()[1]}"))
        assert main(["daemon"]) == ExitCode.USAGE
    assert "Metrics and health cannot be served" in capsys.readouterr().err
