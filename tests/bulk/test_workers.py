"""Where bulk work is done: the configuration chooses, and says what is wrong with it before a message is read."""

from __future__ import annotations

import socket
import sys
from types import ModuleType

import pytest

from energycomm.bulk.cluster import Cluster, workers
from energycomm.bulk.workers import Processes
from energycomm.config import ClusterSettings
from energycomm.errors import UserError


def test_without_an_address_the_cores_of_this_machine_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 1, 2})
    found = workers(None, None)
    assert isinstance(found, Processes)
    assert found.number == 3


def test_processes_that_are_asked_for_go_before_the_cluster() -> None:
    found = workers("ray://nowhere:10001", 2)
    assert isinstance(found, Processes)
    assert found.number == 2


def test_a_cluster_without_ray_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"Ray is not installed here\. Install energycomm\[cluster\]"):
        Cluster("ray://127.0.0.1:10001")


def test_an_address_where_nobody_listens_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once: Ray itself would wait for half a minute."""
    ray = ModuleType("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False, raising=False)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "grpc", ModuleType("grpc"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        port = taken.getsockname()[1]
        # A machine that is busy enough notices its own patience first.
        said = rf"No Ray cluster answers: ray://127\.0\.0\.1:{port}: (Connection refused|timed out)\."
        with pytest.raises(UserError, match=said):
            Cluster(f"ray://127.0.0.1:{port}")


@pytest.mark.parametrize(
    "address", ["ray://head:10001", "ray://10.1.2.3:10001", "ray://[2001:db8::1]:10001", "ray://head.example.org:443"]
)
def test_an_address_is_that_of_a_client_server(address: str) -> None:
    assert ClusterSettings(address=address).address == address


@pytest.mark.parametrize("address", ["head:10001", "auto", "ray://head", "http://head:8265", "ray://head:99999", ""])
def test_another_address_is_refused(address: str) -> None:
    """`auto` and the port of the head itself would make this process a driver, which dies with the head."""
    with pytest.raises(ValueError, match="address"):
        ClusterSettings(address=address)
