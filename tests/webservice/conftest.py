"""The web services on a store that holds a short life of one access point, with a token for each role."""

from __future__ import annotations

from collections.abc import Iterator
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


@pytest.fixture
def url(database_url: str) -> str:
    """A store of this version, once on each database."""
    desk = Desk(database_url)
    desk.database.dispose()
    Desk.open.remove(desk)
    return database_url


def configured(url: str, **settings: Any) -> Config:
    """A configuration with a store."""
    return Config(**{"database": SecretStr(url), **settings})


class Site:
    """The web services and callers of them.

    Args:
      url: the store.
    """

    def __init__(self, url: str, config: Config | None = None) -> None:
        self.config = config or configured(url)
        self.app = make_app(self.config)
        self.store: Store = self.app.state.services.store

    def token(self, *roles: Role, scopes: frozenset[Scope] = frozenset(Scope), person: str = "anna") -> str:
        """A token of somebody with these roles."""
        made = tokens.create(self.store, person, frozenset(roles), scopes=scopes, days=1, label="test", by="test")
        return made[1]

    def caller(self, *roles: Role, scopes: frozenset[Scope] = frozenset(Scope), person: str = "anna") -> TestClient:
        """A program with a token of these roles; nobody at all without any."""
        client = TestClient(self.app, base_url="http://gateway.test", follow_redirects=False)
        if roles:
            client.headers["Authorization"] = f"Bearer {self.token(*roles, scopes=scopes, person=person)}"
        return client


@pytest.fixture
def site(url: str) -> Iterator[Site]:
    """The web services on a fresh store."""
    made = Site(url)
    yield made
    made.app.state.services.close()


@pytest.fixture
def small_site(tmp_path: Path) -> Iterator[Site]:
    """The web services on SQLite with little patience."""
    url = f"sqlite:///{tmp_path / 'small.db'}"
    desk = Desk(url)
    desk.database.dispose()
    Desk.open.remove(desk)
    web = WebSettings(requests_per_minute=5, failures_per_minute=3, body_bytes=1000)
    made = Site(url, configured(url, web=web))
    yield made
    made.app.state.services.close()
