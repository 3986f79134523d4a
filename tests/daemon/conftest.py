"""A desk for duties: a store of its own, locks that are always free, and a report that is written down."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from energycomm.config import Config
from energycomm.daemon.duties import Desk
from energycomm.daemon.locks import open_locks
from energycomm.daemon.report import Alarming, Count, Report, Reporter
from energycomm.eis import migrations
from energycomm.eis.database import opened
from energycomm.eis.store import Store
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.records import OpenEnvelope, unfinished


class Notes(Reporter):
    """Keeps what a worker tells."""

    def __init__(self) -> None:
        super().__init__(None)
        self.told: list[Report] = []

    def send(self, report: Report) -> None:
        """Keep it."""
        self.told.append(report)

    def alarms(self) -> list[tuple[str, bool]]:
        """The alarms, in order."""
        return [(one.code, one.on) for one in self.told if isinstance(one, Alarming)]

    def counted(self, name: str) -> dict[tuple[str, ...], float]:
        """What was counted under a name."""
        found: dict[tuple[str, ...], float] = {}
        for one in self.told:
            if isinstance(one, Count) and one.name == name:
                found[one.labels] = found.get(one.labels, 0) + one.value
        return found


class Office:
    """A desk, its gateway and its notes."""

    def __init__(self, config: Config, store: Store) -> None:
        self.config, self.store, self.notes = config, store, Notes()
        self.gateway = Gateway(config, store)
        self.desk = Desk(config, store, open_locks(store.engine), self.notes, threading.Event())

    def waiting(self) -> list[OpenEnvelope]:
        """The envelopes that are archived and not finished, in the order they came."""
        return unfinished(self.store)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self.store.engine.connect() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(sql)]


@pytest.fixture
def office(database_url: str, tmp_path: Path) -> Iterator[Office]:
    """On both databases."""
    config = Config.model_validate({"database": database_url, "daemon": {"backlog": 3}})
    with opened(database_url) as engine:
        migrations.upgrade(engine)
        made = Office(config, Store(engine))
        yield made
        made.desk.locks.close()
