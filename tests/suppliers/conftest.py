"""An installation of two suppliers: nord has a full store, sud one short story of its own."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from energycomm.cli import main
from energycomm.errors import ExitCode
from energycomm.installation import load_apart
from energycomm.webservice import tokens
from energycomm.webservice.hosts import Hosts
from energycomm.webservice.roles import Role, Scope
from tests.webservice.conftest import told
from tests.webservice.matrix import Crowd

NORD, SUD = "17X100A100A0001A", "17X100A100A0002B"
PATIENT = "[web]\nrequests_per_minute = 1_000_000\nfailures_per_minute = 1_000_000\n"
SENT = ("c12_situation.xml", "c15_entries.xml", "c15_mistakes.xml", "r151_daily.xml", "r151_rogue.xml", "r50_curve.xml")
"""What nord's market sent: supplies, customers, contracts, readings, a curve; some of it refused, some of it waits."""
PERSON = "Wilhelmine Zephyrin"
"""Somebody of nord's, whom nobody of sud's may read of."""


class Installation:
    """Two suppliers in one process.

    Args:
      folder: of the configuration; the working directory.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        _, self.suppliers = load_apart()
        self.hosts = Hosts(self.suppliers)
        self.apps = {name: self.hosts.apps[f"{name}.gateway.test"] for name in self.suppliers}

    def __getitem__(self, name: str) -> Crowd:
        """Makes callers of a supplier, who knock at its host."""
        return Crowd(_At(self, name))  # type: ignore[arg-type]

    def client(self, name: str) -> TestClient:
        """Somebody at the host of a supplier, without anything in their hands."""
        return TestClient(
            self.hosts,
            base_url=f"http://{name}.gateway.test",
            follow_redirects=False,
            raise_server_exceptions=False,
            client=("192.0.2.1", 50_000),
        )

    def token(self, name: str, person: str = "anna") -> str:
        """A token of a supplier, with every right there."""
        store = self.apps[name].state.services.store
        made = tokens.create(store, person, frozenset(Role), scopes=frozenset(Scope), days=1, label="test", by="test")
        return made[1]

    def bearing(self, name: str, token: str) -> TestClient:
        """A program with a token at the host of a supplier."""
        made = self.client(name)
        made.headers["Authorization"] = f"Bearer {token}"
        return made

    def dump(self, name: str) -> list[str]:
        """All that a supplier's store holds."""
        with sqlite3.connect(self.folder / name / "energycomm.db") as connection:
            return list(connection.iterdump())

    def close(self) -> None:
        """Close the connections."""
        for app in self.apps.values():
            app.state.workbench.close()
            app.state.services.close()


class _At:
    """One supplier of an installation, as the crowd of callers knows a site."""

    def __init__(self, installation: Installation, name: str) -> None:
        self.installation, self.name = installation, name
        self.app: Any = installation.apps[name]
        self.store = self.app.state.services.store

    def caller(self) -> TestClient:
        return self.installation.client(self.name)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, project_root: Path) -> Iterator[Path]:
    """The folder of the installation, with what each supplier's market sent."""
    folder = tmp_path_factory.mktemp("suppliers")
    inbox = folder / "sent"
    inbox.mkdir()
    for name in SENT:
        shutil.copy(project_root / "fixtures" / "fr" / name, inbox)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, party in (("nord", NORD), ("sud", SUD)):
            url = f"http://{name}.gateway.test"
            assert main(["supplier", "add", name, "--party", party, "--url", url]) == ExitCode.OK
            with (folder / name / "energycomm.toml").open("a") as file:
                file.write(PATIENT)
        assert main(["process", str(inbox), "--supplier", "nord"]) == ExitCode.UNREADABLE  # one of them is a mistake
        told(f"sqlite:///{folder}/sud/energycomm.db")
        yield folder


@pytest.fixture(scope="module")
def installation(filled: Path) -> Iterator[Installation]:
    """The web services of both."""
    made = Installation(filled)
    yield made
    made.close()
