"""An empty store with its tables on each database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from energycomm.eis.database import connect
from energycomm.eis.store import Store


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """A database with the tables of the store; foreign keys are checked on both."""
    engine = connect(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def store(engine: Engine) -> Store:
    return Store(engine)
