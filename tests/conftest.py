"""Fixtures that every test may ask for: the databases, the checkout, the shared material beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from energycomm.masking import forget_secrets
from tests.machine import lacks
from tests.postgres import PostgresServer, running

ROOT = Path(__file__).resolve().parent.parent
ASSISTANT = ROOT / "tests" / "assistant"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The assistant's tests need its packages and run when they are named: `make test-assistant`."""
    if collection_path != ASSISTANT:
        return None
    named = [Path(word.partition("::")[0]).resolve() for word in config.args]
    return None if any(path.is_relative_to(ASSISTANT) for path in named) else True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests measured and recorded is shown at the end of the run."""
    reports = [report for report in terminalreporter.getreports("passed") if report.user_properties]
    if reports:
        terminalreporter.section("measured")
    for report in reports:
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{report.location[0]}: {name}: {value}")


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
    """The folder beside the checkout of what the markets publish: their schemas and samples."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        lacks("the schemas and samples that the markets publish are not beside the checkout, in ../shared")
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running PostgreSQL server of this session."""
    with running() as server:
        yield server


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
