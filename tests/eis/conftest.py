"""An empty store with its tables on each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from energycomm.eis import tables
from energycomm.eis.database import connect, opened
from energycomm.eis.store import Store
from tests.postgres import PostgresServer


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> str:
    """A database with the tables, to copy: faster than to create them for each test."""
    name = postgres.create_database()
    with opened(postgres.url(name)) as engine:
        tables.metadata.create_all(engine)
    return name


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A database with the tables of the store; foreign keys are checked on both."""
    if request.param == "sqlite":
        engine = connect(f"sqlite:///{tmp_path / 'eis.db'}")
        tables.metadata.create_all(engine)
        yield engine
        engine.dispose()
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create_database(request.getfixturevalue("postgres_template"))
    engine = connect(server.url(name))
    yield engine
    engine.dispose()
    server.drop_database(name)


@pytest.fixture
def store(engine: Engine) -> Store:
    return Store(engine)
