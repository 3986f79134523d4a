"""Desks are closed at the end of a test; there is a second database, and the programs that copy one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.desk import Desk
from tests.postgres import find_binaries


@pytest.fixture(autouse=True)
def _close_desks() -> Iterator[None]:
    yield
    while Desk.open:
        Desk.open.pop().database.dispose()


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of PostgreSQL are those of the server that the tests start."""
    monkeypatch.setenv("PATH", f"{find_binaries()}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def elsewhere(database_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """Address of a second database of the same kind that holds nothing."""
    if database_url.startswith("sqlite"):
        yield f"sqlite:///{tmp_path / 'elsewhere.db'}"
        return
    server = request.getfixturevalue("postgres")
    name = server.create_database()
    yield server.url(name)
    server.drop_database(name)
