"""Fixtures that every test may ask for: the databases, the checkout, the shared material beside it."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from anyio.from_thread import start_blocking_portal
from starlette.testclient import TestClient

from energycomm.masking import forget_secrets
from tests.machine import lacks
from tests.once import made_once
from tests.postgres import PostgresServer, running
from tests.stores import MADE, make_store

ROOT = Path(__file__).resolve().parent.parent
ASSISTANT = ROOT / "tests" / "assistant"

MEMORY = Path("/dev/shm")
ROOM = 6 * 2**30
"""Bytes that must be free in memory for the files of a whole run, twice over."""


def pytest_configure() -> None:
    """Nobody chose a language. Files of tests lie in memory where there is room: each commit of a store waits for a
    disk otherwise."""
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES"):
        os.environ.pop(name, None)
    os.environ["LANG"] = "C.UTF-8"
    if "TMPDIR" in os.environ or not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK):
        return
    if shutil.disk_usage(MEMORY).free > ROOM and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"], tempfile.tempdir = str(MEMORY), None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The assistant's tests need its packages and run when they are named: `make test-assistant`."""
    if collection_path != ASSISTANT:
        return None
    named = [Path(word.partition("::")[0]).resolve() for word in config.args]
    return None if any(path.is_relative_to(ASSISTANT) for path in named) else True


LONGEST = ("faults", "daemon", "docs", "correction", "simulation", "pipeline")
"""Folders of the files that take longest: begun first, so that no process waits for another's last file."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first; with `--no-loadscope-reorder` they are dealt out in this order."""
    order = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.parent.name, len(order)))


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the collector of garbage need not walk through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


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
    """The log is set up, and secrets are known, by the command line: no test depends on the one before.

    Until then tracebacks are plain, as the program's own are: structlog would draw every variable of every frame, which
    takes seconds for each.
    """
    structlog.reset_defaults()
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], plain])
    forget_secrets()


@pytest.fixture(scope="session", autouse=True)
def _made_once() -> Iterator[None]:
    """What is the same for all tests."""
    with made_once():
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_event_loop() -> Iterator[None]:
    """Web services that are asked in this process answer in one event loop; each request would begin one otherwise."""
    with start_blocking_portal() as portal, pytest.MonkeyPatch.context() as patch:
        patch.setattr(TestClient, "portal", portal)
        yield


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
    """A running PostgreSQL server of this session: its databases are gone before a vacuum or a compiled query pays."""
    with running({"autovacuum": "off", "jit": "off"}) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_url(postgres: PostgresServer) -> str:
    """SQLAlchemy URL of the maintenance database of this session's PostgreSQL."""
    return postgres.url()


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> str:
    """A database of this version on PostgreSQL, to copy."""
    name = postgres.create_database()
    make_store(postgres.url(name))
    return name


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """SQLAlchemy URL of a store of this test's own, with its tables: once on SQLite, once on PostgreSQL."""
    if request.param == "sqlite":
        yield make_store(f"sqlite:///{tmp_path / 'eis.db'}")
        return
    template = request.getfixturevalue("postgres_template")
    for url in _postgres_database(request.getfixturevalue("postgres"), template):
        MADE.add(url)
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """SQLAlchemy URL of a fresh, empty database of this test's own: once on SQLite, once on PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'eis.db'}"
        return
    yield from _postgres_database(request.getfixturevalue("postgres"), "template0")


def _postgres_database(server: PostgresServer, template: str) -> Iterator[str]:
    name = server.create_database(template)
    try:
        yield server.url(name)
    finally:
        server.drop_database(name)
