"""A gateway with an empty store on each database, and files to load into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from energycomm.config import Config
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.opening import open_store
from tests.portfolio.tables import HEAD, csv_of
from tests.stores import make_store


def make_gateway(url: str, project_root: Path) -> Iterator[Gateway]:
    """A gateway of the shipped rules on an empty database."""
    make_store(url)
    settings: dict[str, Any] = {"database": SecretStr(url), "rules": project_root / "rules"}
    config = Config(**settings)
    with open_store(config) as store:
        yield Gateway(config, store)


@pytest.fixture
def gateway(database_url: str, project_root: Path) -> Iterator[Gateway]:
    """On SQLite and on PostgreSQL."""
    yield from make_gateway(database_url, project_root)


@pytest.fixture
def small(tmp_path: Path, project_root: Path) -> Iterator[Gateway]:
    """On SQLite alone."""
    yield from make_gateway(f"sqlite:///{tmp_path / 'small.db'}", project_root)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes rows as a CSV file: those of the columns of `HEAD` unless others are named."""

    def made(*rows: dict[str, str], name: str = "portfolio.csv", head: tuple[str, ...] = HEAD) -> Path:
        path = tmp_path / name
        path.write_text(csv_of(head, rows), "utf-8")
        return path

    return made
