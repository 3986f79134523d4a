"""The console on a store with a morning's messages, for tests that ask for pages and for tests in a browser."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api as playwright

from energycomm.webservice.roles import Role
from tests.console.onlooker import launched
from tests.console.scene import Visitor, morning
from tests.webservice.conftest import Site, configured


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--pictures FOLDER`, when the tests of the console are asked for by their folder."""
    parser.addoption("--pictures", metavar="FOLDER", help="leave pictures of the console's pages in this folder")


@pytest.fixture(scope="session")
def arrived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite store after the morning's arrivals, to copy: faster than to make one for each test."""
    file = tmp_path_factory.mktemp("morning") / "eis.db"
    morning(f"sqlite:///{file}")
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return file


@pytest.fixture
def lite(arrived: Path, tmp_path: Path) -> Iterator[Site]:
    """The web services on SQLite, after the morning's arrivals."""
    shutil.copy(arrived, tmp_path / "eis.db")
    url = f"sqlite:///{tmp_path / 'eis.db'}"
    made = Site(url, configured(url))
    yield made
    _close(made)


@pytest.fixture
def site(database_url: str) -> Iterator[Site]:
    """The same, once on each database."""
    morning(database_url)
    made = Site(database_url, configured(database_url))
    yield made
    _close(made)


def _close(made: Site) -> None:
    made.app.state.workbench.close()
    made.app.state.services.close()


@pytest.fixture
def anna(lite: Site) -> Visitor:
    """A consultant."""
    return Visitor(lite, Role.CONSULTANT)


@pytest.fixture
def served(lite: Site) -> Iterator[str]:
    """Address of the console, served on a free port."""
    with serving(lite.app) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for all tests of a file."""
    with playwright.sync_playwright() as running:
        made = launched(running)
        yield made
        made.close()


@pytest.fixture(scope="session")
def pictures(request: pytest.FixtureRequest) -> Path | None:
    """The folder that pictures of the pages are wanted in."""
    wanted = request.config.getoption("--pictures", default=None)
    if wanted is None:
        return None
    folder = Path(wanted)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an application on a free port; its address."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)


def until(happened: Callable[[], object], seconds: float = 20) -> None:
    """Wait for something to happen."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
