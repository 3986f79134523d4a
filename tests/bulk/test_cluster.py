"""The same task on a cluster of Ray: real nodes on this machine, which are killed. `make test-cluster` runs these."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from msgspec import structs

from energycomm.bulk import runs
from energycomm.bulk.backfilling import BackfillQuestion
from energycomm.bulk.cluster import Cluster
from energycomm.bulk.judging import Question, Shift
from energycomm.bulk.verdicts import judged_again
from energycomm.bulk.workers import Processes
from energycomm.correction.impact import question
from energycomm.errors import UserError
from energycomm.market.installed import installed_adapters
from tests import ray_nodes
from tests.bulk.test_backfilling import look, spoil
from tests.bulk.test_exporting import asked as export_of
from tests.bulk.test_exporting import at_once, by_buckets
from tests.bulk.test_runs import filled, told
from tests.pipeline.desk import Desk
from tests.stores import make_store

pytestmark = pytest.mark.cluster

MARKETS = installed_adapters()

IMPATIENT = {
    "RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S": "2",
    "RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S": "2",
    "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "2",
}
"""Ray waits for half a minute for a head that is gone."""


@pytest.fixture(scope="module", autouse=True)
def _environment() -> Iterator[None]:
    """What Ray's client reads when it is loaded."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (ray_nodes.TOKEN | IMPATIENT).items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def two() -> Iterator[ray_nodes.Cluster]:
    """A cluster of two nodes; the last test to use it kills one."""
    with ray_nodes.cluster(2) as found:
        yield found


@pytest.fixture
def asked(project_root: Path) -> Question:
    return question(project_root / "rules", MARKETS, 0)


def spoilt(tmp_path: Path, asked: Question) -> tuple[Desk, tuple[int, list[Shift]]]:
    """A store with verdicts that no rule gives, and what one process says of it: judged by today's rules nothing else
    shifts, and the answer could not be wrong."""
    desk = filled(tmp_path)
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE kernel_message SET state = 'rejected' WHERE id % 7 = 0 AND state = 'accepted'")
    with judged_again(desk.database, MARKETS, asked, tmp_path / "whole", Processes(1), size=10) as run:
        expected = told(run)
    assert len(expected[1]) > 10
    return desk, expected


def test_a_mistake_that_a_host_finds_is_told_with_its_advice(
    two: ray_nodes.Cluster, tmp_path: Path, asked: Question
) -> None:
    desk = filled(tmp_path, 2)
    old = structs.replace(asked, program="0.0")
    with (
        pytest.raises(UserError, match=r"0\.0 asks.*Install one version on all hosts"),
        judged_again(desk.database, MARKETS, old, tmp_path / "run", Cluster(two.address)),
    ):
        pass


def test_a_host_without_the_program_is_told(
    two: ray_nodes.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is only installed here cannot be done there."""
    (tmp_path / "only_here.py").write_text("def task(question, bucket):\n    return bucket\n")
    monkeypatch.syspath_prepend(tmp_path)
    task = importlib.import_module("only_here").task
    with pytest.raises(UserError, match="Install one version of Python, Ray and EnergyComm"):
        list(Cluster(two.address).results(task, b"", [(1, b"one"), (2, b"two")]))


def test_a_cluster_that_does_not_know_the_token_is_told(two: ray_nodes.Cluster, tmp_path: Path) -> None:
    """By the command itself, before it reads the store."""
    settings = {
        "ENERGYCOMM_DATABASE": make_store(f"sqlite:///{tmp_path}/eis.db"),
        "ENERGYCOMM_CLUSTER__ADDRESS": two.address,
        "RAY_AUTH_TOKEN": "0" * 64,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    command = [sys.executable, "-c", "import sys; from energycomm.cli import main; sys.exit(main(sys.argv[1:]))"]
    done = subprocess.run(
        [*command, "rules", "impact", "--since", "2026-01-01", "--work", "run"],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "No Ray cluster answers" in done.stderr
    assert "RAY_AUTH_TOKEN" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_other_versions_are_told(two: ray_nodes.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    utils: ModuleType = importlib.import_module("ray._private.utils")
    monkeypatch.setattr(utils, "compute_version_info", lambda: ("1.0.0", "3.11.0"))
    with pytest.raises(UserError, match=r"other versions.*Install one version of Python, Ray and EnergyComm"):
        Cluster(two.address)


def test_an_export_and_a_backfill_are_those_of_one_process(
    two: ray_nodes.Cluster, tmp_path: Path, project_root: Path
) -> None:
    desk = filled(tmp_path)
    for form in ("parquet", "csv"):
        wanted = export_of("readings", form)
        expected = at_once(desk.database, wanted)
        assert by_buckets(desk.database, wanted, tmp_path / form, Cluster(two.address), rows=5) == expected
    spoil(desk.store, "DELETE FROM reading")
    lack = BackfillQuestion(**structs.asdict(question(project_root / "rules", MARKETS, 0)))
    expected_lack = look(desk.store, lack, tmp_path / "one")
    assert sum(expected_lack[0].values()) > 12
    assert look(desk.store, lack, tmp_path / "two", Cluster(two.address), size=15) == expected_lack


def test_a_killed_node_makes_no_difference(two: ray_nodes.Cluster, tmp_path: Path, asked: Question) -> None:
    """One of two dies when the first bucket is done: the answer is that of one process."""
    desk, expected = spoilt(tmp_path, asked)

    def kill(done: int, _of: int) -> None:
        if done == 1:
            two.kill(two.nodes[1])

    with judged_again(
        desk.database, MARKETS, asked, tmp_path / "run", Cluster(two.address), size=10, watch=kill
    ) as run:
        assert told(run) == expected
    assert len(two.nodes) == 1


def test_a_run_whose_head_was_killed_goes_on_with_the_next(
    tmp_path: Path, asked: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A head that comes back goes on where the other one ended; no finished bucket is judged again."""
    monkeypatch.setattr(runs, "PAUSE", 0)
    desk, expected = spoilt(tmp_path, asked)
    finished: dict[Path, int] = {}
    with ray_nodes.cluster() as one:

        def kill(done: int, _of: int) -> None:
            if done == 2 and not finished:
                one.kill(one.nodes[0])
                finished.update({path: path.stat().st_mtime_ns for path in (tmp_path / "run").glob("result-*")})
                one.start()

        with judged_again(
            desk.database, MARKETS, asked, tmp_path / "run", Cluster(one.address), size=10, watch=kill
        ) as run:
            assert told(run) == expected
    assert len(finished) == 2
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
