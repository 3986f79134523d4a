"""The web services on a store that holds a short life of one access point, with a token for each role."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.testclient import TestClient

from energycomm.config import Config
from energycomm.eis.store import Store
from energycomm.web_settings import WebSettings
from energycomm.webservice import tokens
from energycomm.webservice.app import make_app
from energycomm.webservice.roles import Role, Scope
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start
from tests.postgres import PostgresServer

PRM = "99000000000017"


def configured(url: str, **settings: Any) -> Config:
    """A configuration with a store."""
    return Config(**{"database": SecretStr(url), **settings})


def ready(url: str) -> str:
    """An empty store of this version."""
    desk = Desk(url)
    desk.database.dispose()
    Desk.open.remove(desk)
    return url


def told(url: str) -> str:
    """A store with a start of supply, a reading, and one whose index went back."""
    desk = Desk(url)
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_200_000), reading(PRM, day(60), 1_100_000)])
    desk.database.dispose()
    Desk.open.remove(desk)
    return url


class Site:
    """The web services and callers of them.

    Args:
      url: the store.
      config: another configuration of it.
    """

    def __init__(self, url: str, config: Config | None = None) -> None:
        self.config = config or configured(url)
        self.app = make_app(self.config)
        self.store: Store = self.app.state.services.store

    def token(self, *roles: Role, scopes: frozenset[Scope] = frozenset(Scope), person: str = "anna") -> str:
        """A token of somebody with these roles."""
        made = tokens.create(self.store, person, frozenset(roles), scopes=scopes, days=1, label="test", by="test")
        return made[1]

    def caller(
        self,
        *roles: Role,
        scopes: frozenset[Scope] = frozenset(Scope),
        person: str = "anna",
        address: str = "192.0.2.1",
    ) -> TestClient:
        """A program with a token of these roles; nobody at all without any."""
        client = TestClient(
            self.app,
            base_url="http://gateway.test",
            follow_redirects=False,
            raise_server_exceptions=False,
            client=(address, 50_000),
        )
        if roles:
            client.headers["Authorization"] = f"Bearer {self.token(*roles, scopes=scopes, person=person)}"
        return client

    def close(self) -> None:
        """Close the connections."""
        if (workbench := getattr(self.app.state, "workbench", None)) is not None:
            workbench.close()
        self.app.state.services.close()


@cache
def _template(make: Callable[[str], str]) -> Path:
    """A SQLite store that was made once, to be copied: making one takes as long as most tests."""
    file = Path(tempfile.mkdtemp(prefix="energycomm-")) / "template.db"
    make(f"sqlite:///{file}")
    atexit.register(shutil.rmtree, file.parent, ignore_errors=True)
    return file


def copied(make: Callable[[str], str], folder: Path) -> str:
    """The address of a copy of a store on SQLite, made by `ready` or `told`."""
    shutil.copyfile(_template(make), folder / "eis.db")
    return f"sqlite:///{folder / 'eis.db'}"


@pytest.fixture
def lite_site(tmp_path: Path) -> Iterator[Site]:
    """The web services on a fresh store on SQLite, for what has nothing to do with the database."""
    made = Site(copied(ready, tmp_path))
    yield made
    made.close()


@pytest.fixture
def site(database_url: str) -> Iterator[Site]:
    """The web services on a fresh store, once on each database."""
    made = Site(ready(database_url))
    yield made
    made.close()


@pytest.fixture
def small_site(tmp_path: Path) -> Iterator[Site]:
    """The web services on SQLite with little patience."""
    url = copied(ready, tmp_path)
    web = WebSettings(requests_per_minute=5, failures_per_minute=3, body_bytes=1000)
    made = Site(url, configured(url, web=web))
    yield made
    made.close()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def story_site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The web services on a store with a story, for all tests of a file that change little; on each database."""
    if request.param == "sqlite":
        url = copied(told, tmp_path_factory.mktemp("story"))
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        name = server.create_database()
        url = told(server.url(name))
    made = Site(url)
    yield made
    made.close()
    if request.param == "postgresql":
        server.drop_database(name)
