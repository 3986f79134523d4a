"""The dashboard and the rules that are shipped, held against a running daemon, a Prometheus and Grafana's own types."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from energycomm.daemon.alarms import CODES
from energycomm.eis import migrations
from energycomm.eis.database import opened
from tests.daemon.test_daemon import COMMAND, get, running_daemon, until
from tests.machine import lacks, program
from tests.servers.gateway import free_port

pytestmark = pytest.mark.thorough

OF_THE_SCRAPE = {"job", "instance"}
"""Labels that Prometheus adds."""

SETTINGS = """
database = "sqlite:///eis.db"
[daemon]
poll_seconds = 0.2
send_seconds = 0.2
port = 0
heartbeat = "beat.json"
[notify]
url = "http://127.0.0.1:9/nobody-listens"
secret_file = "webhook.secret"
[[channels]]
name = "drop"
market = "FR"
direction = "in"
kind = "folder"
path = "in"
settle = 0
[[channels]]
name = "missing"
market = "FR"
direction = "in"
kind = "folder"
path = "no-such-folder"
[[channels]]
name = "portal"
market = "FR"
direction = "out"
kind = "folder"
path = "out"
"""


class Watched(NamedTuple):
    """A daemon that has worked, and a Prometheus that watches it.

    Attributes:
      series: of one scrape: name -> label -> its values.
      address: of the Prometheus.
    """

    series: dict[str, dict[str, set[str]]]
    address: str

    def ask(self, expression: str) -> list[dict[str, str]]:
        """The labels of what an expression gives now."""
        answer = httpx.get(f"{self.address}/api/v1/query", params={"query": expression}).json()
        assert answer["status"] == "success", answer
        return [one["metric"] for one in answer["data"]["result"]]


@pytest.fixture(scope="module")
def watched(project_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """The daemon takes in envelopes, sends a request and finds nobody to tell; one of its channels has no folder."""
    prometheus = program("prometheus", "prometheus")
    place = tmp_path_factory.mktemp("watched")
    for name in ("in", "out"):
        (place / name).mkdir()
    (place / "energycomm.toml").write_text(SETTINGS)
    (place / "webhook.secret").write_text("a secret of this test")
    with opened(f"sqlite:///{place}/eis.db") as engine:
        migrations.upgrade(engine)
    fixtures = project_root / "fixtures"
    with running_daemon(place) as daemon:
        port = until(lambda: _port(place, daemon))
        rules = project_root / "deploy" / "prometheus-rules.yaml"
        (place / "prometheus.yaml").write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": "500ms", "evaluation_interval": "500ms"},
                    "rule_files": [str(rules)],
                    "scrape_configs": [
                        {"job_name": "energycomm", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
                    ],
                }
            )
        )
        address = f"127.0.0.1:{free_port()}"
        words = ["--config.file=prometheus.yaml", "--storage.tsdb.path=data", f"--web.listen-address={address}"]
        with (place / "prometheus.log").open("wb") as log:
            process = subprocess.Popen([prometheus, *words], cwd=place, stdout=log, stderr=log)
        try:
            found = Watched({}, f"http://{address}")
            until(lambda: httpx.get(f"{found.address}/-/ready").status_code == 200)
            until(lambda: found.ask("energycomm_ready == 1"))
            for name in ("c15_entries.xml", "r151_rogue.xml", "r151_daily.xml"):
                shutil.copy(fixtures / "fr" / name, place / "in" / name)
            request = [sys.executable, "-c", COMMAND, "request", "submit", str(fixtures / "requests" / "fr.json")]
            subprocess.run(request, cwd=place, check=True, capture_output=True)
            (place / "in" / "junk.xml").write_bytes(b"<unknown/>")
            until(lambda: (place / "in" / "failed" / "junk.xml").exists())
            until(lambda: found.ask("sum(increase(energycomm_envelopes_total[1m])) >= 4"))
            for seen in ("alarm == 1", "requests_in_state", "notifications_total", "channel_errors_total"):
                until(lambda seen=seen: found.ask(f"energycomm_{seen}"))  # type: ignore[misc]
            yield found._replace(series=_series(get(port, "/metrics")[1]))
        finally:
            process.terminate()
            process.wait(20)


def _port(place: Path, daemon: subprocess.Popen[bytes]) -> int | None:
    """Of the health server, once the daemon is ready."""
    assert daemon.poll() is None, (place / "log").read_text()
    beat = json.loads((place / "beat.json").read_text())
    return int(beat["port"]) if beat["ready"] else None


def _series(text: str) -> dict[str, dict[str, set[str]]]:
    found: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return found


def rules(project_root: Path) -> list[dict[str, Any]]:
    content = yaml.safe_load((project_root / "deploy" / "prometheus-rules.yaml").read_text("utf-8"))
    return [rule for group in content["groups"] for rule in group["rules"]]


def dashboard(project_root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project_root / "deploy" / "grafana-dashboard.json").read_text("utf-8"))
    return found


def wrong(series: dict[str, dict[str, set[str]]], expression: str, legend: str = "") -> Iterator[str]:
    """What an expression or its words name that a scrape does not have."""
    named = re.findall(r"\b(energycomm_\w+|up)\b(?:\{([^}]*)\})?", expression)
    if not named:
        yield f"no metric in {expression}"
    there: set[str] = set()
    for name, matchers in named:
        if name != "up" and name not in series:
            yield name
            continue
        labels = series.get(name, {})
        there |= {*labels, *OF_THE_SCRAPE}
        for label, sign, value in re.findall(r"(\w+)\s*(=~|=|!=|!~)\s*\"([^\"]*)\"", matchers):
            if label not in {*labels, *OF_THE_SCRAPE}:
                yield f"{name} by {label}"
            if label in labels and sign in ("=", "!=") and value not in labels[label]:
                yield value
    kept = {
        label.strip() for group in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expression) for label in group.split(",")
    }
    yield from sorted(kept - there)
    shown = set(re.findall(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}", legend))
    yield from sorted(shown - (kept or there))


def test_the_check_finds_what_is_not_there(watched: Watched) -> None:
    """Names, labels and values of matchers, labels of groups and of words."""
    series = watched.series
    assert [*wrong(series, "energycomm_envelopes")] == ["energycomm_envelopes"], "a counter is asked for by its total"
    assert [*wrong(series, 'energycomm_alarm{kode="X"} == 1')] == ["energycomm_alarm by kode"]
    assert [*wrong(series, 'energycomm_alarm{code="NO_SUCH"}')] == ["NO_SUCH"]
    assert [*wrong(series, "sum by (market) (energycomm_alarm)", "{{ $labels.code }}")] == ["market", "code"]


def test_a_scrape_has_the_alarms_and_what_can_be_known_before_anything_happens(watched: Watched) -> None:
    """Prometheus sees no increase in a series that begins with what has happened."""
    assert watched.series["energycomm_alarm"] == {"code": set(CODES)}
    labels = {"accepted", "rejected", "quarantined", "engine_error"}
    assert watched.series["energycomm_messages_total"] == {"market": {"FR"}, "label": labels}
    assert watched.series["energycomm_envelopes_total"]["channel"] == {"drop", "missing", "portal"}
    assert watched.series["energycomm_requests_overdue"] == {"market": {"FR"}}


def test_every_rule_asks_for_what_there_is(project_root: Path, watched: Watched) -> None:
    found = rules(project_root)
    assert len({rule["alert"] for rule in found}) == len(found) >= 9
    for rule in found:
        words = " ".join(rule["annotations"].values())
        assert [*wrong(watched.series, rule["expr"], words)] == [], rule["alert"]


def test_prometheus_runs_every_rule_over_the_daemon(project_root: Path, watched: Watched) -> None:
    """Loaded from the file that is shipped, and evaluated without a mistake."""
    groups = httpx.get(f"{watched.address}/api/v1/rules").json()["data"]["groups"]
    states = {rule["name"]: (rule["health"], rule.get("lastError")) for group in groups for rule in group["rules"]}
    assert states == {rule["alert"]: ("ok", None) for rule in rules(project_root)}


def test_every_alert_fires_when_it_is_to_and_not_else(project_root: Path, watched: Watched) -> None:
    """The cases of alerts.yaml, by Prometheus' own tool; their series are those of the daemon."""
    file = project_root / "tests" / "deploy" / "alerts.yaml"
    cases = yaml.safe_load(file.read_text("utf-8"))["tests"]
    for case in cases:
        for one in case["input_series"]:
            name, _, matchers = one["series"].partition("{")
            labels = set(re.findall(r"(\w+)=", matchers))
            known = watched.series.get(name, {}) if name != "up" else {"job": set()}
            assert name == "up" or name in watched.series, name
            assert labels - OF_THE_SCRAPE == set(known) - OF_THE_SCRAPE, one["series"]
    tested = [(one["alertname"], bool(one["exp_alerts"])) for case in cases for one in case["alert_rule_test"]]
    assert set(tested) == {(rule["alert"], fires) for rule in rules(project_root) for fires in (True, False)}
    promtool = program("promtool", "prometheus")
    for words in (["check", "rules", "deploy/prometheus-rules.yaml"], ["test", "rules", str(file)]):
        done = subprocess.run([promtool, *words], cwd=project_root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_panel_shows_something_of_the_daemon(project_root: Path, watched: Watched) -> None:
    """Prometheus answers each query with series that have the labels of the legend."""
    empty: list[str] = []
    for panel in dashboard(project_root)["panels"]:
        for target in panel["targets"]:
            expression = re.sub(r"\$(job|market)", ".*", target["expr"])
            assert [*wrong(watched.series, expression, target["legendFormat"])] == [], panel["title"]
            found = watched.ask(expression)
            shown = set(re.findall(r"\{\{\s*(\w+)\s*\}\}", target["legendFormat"]))
            assert all(shown <= set(labels) for labels in found), panel["title"]
            if not found:
                empty.append(expression)
    assert empty == []


def test_variables_of_the_dashboard_have_values(project_root: Path, watched: Watched) -> None:
    found = dashboard(project_root)
    variables = {variable["name"]: variable for variable in found["templating"]["list"]}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(found["panels"]))) <= set(variables)
    for name in ("job", "market"):
        ((metric, label),) = re.findall(r"^label_values\((\w+), (\w+)\)$", variables[name]["query"])
        assert {one.get(label) for one in watched.ask(metric)} == {"energycomm" if name == "job" else "FR"}


def test_the_dashboard_shows_every_metric(project_root: Path, watched: Watched) -> None:
    asked = " ".join(target["expr"] for panel in dashboard(project_root)["panels"] for target in panel["targets"])
    beside = ("_sum", "_count", "_created")
    missing = [name for name in watched.series if not name.endswith(beside) and not re.search(rf"\b{name}\b", asked)]
    assert missing == []


def test_panels_have_their_places(project_root: Path) -> None:
    found = dashboard(project_root)
    assert len({panel["id"] for panel in found["panels"]}) == len(found["panels"])
    for one, other in combinations((panel["gridPos"] for panel in found["panels"]), 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in found["panels"])


TYPES = """
import type { Dashboard } from '@grafana/schema';
// Values of enumerations are written as their words in JSON.
type Plain<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T
  : T extends (infer U)[] ? Plain<U>[] : { [K in keyof T]: Plain<T[K]> };
export const board: Plain<Dashboard> = """


def _compiled(folder: Path, content: str) -> str:
    """What Grafana's types say against a dashboard."""
    modules = Path(__file__).parent / "grafana" / "node_modules"
    if not (modules / ".bin" / "tsc").exists():
        lacks("Grafana's types are not installed (npm ci --prefix tests/deploy/grafana)", "tsc")
    (folder / "node_modules").symlink_to(modules)
    (folder / "board.ts").write_text(TYPES + content)
    words = [
        str(modules / ".bin" / "tsc"),
        "--noEmit",
        "--strict",
        "--module",
        "nodenext",
        "--skipLibCheck",
        "board.ts",
    ]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False).stdout


def test_grafana_knows_everything_that_the_dashboard_says(project_root: Path, tmp_path: Path) -> None:
    """Held against the types that Grafana publishes for its dashboards; a mistake in it is found."""
    content = (project_root / "deploy" / "grafana-dashboard.json").read_text("utf-8")
    for name, text in (("right", content), ("wrong", content.replace('"gridPos"', '"gridPosition"'))):
        (tmp_path / name).mkdir()
        said = _compiled(tmp_path / name, text)
        assert (said == "") == (name == "right"), said
        assert name == "right" or "gridPosition" in said
