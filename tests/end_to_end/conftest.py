"""A working place of its own for each test, with an EIS, and the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from energycomm import cli
from energycomm.eis.comparison import canonical
from energycomm.eis.database import opened
from tests.stores import make_store


class Answer(NamedTuple):
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output as JSON."""
        return json.loads(self.out)


class Place:
    """A working place: runs commands, and tells what its EIS means."""

    def __init__(self, folder: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.url, self._capsys = folder, url, capsys

    def __call__(self, *arguments: object) -> Answer:
        """Run a command."""
        self._capsys.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        captured = self._capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    def process(self, *arguments: object) -> Answer:
        """Run `energycomm process --json`."""
        return self("process", *arguments, "--json")

    def meaning(self, *, carriers: bool = True) -> dict[str, Any]:
        """What the EIS means, without ids and clocks; without the files that brought it too."""
        with opened(self.url) as engine:
            return canonical(engine, carriers=carriers)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with opened(self.url) as engine, engine.connect() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(sql)]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Place]:
    """Make a working place; `place(url)` on another database than the embedded one."""

    def make(url: str | None = None, name: str = "place") -> Place:
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        url = url or f"sqlite:///{folder}/eis.db"
        monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
        make_store(url)
        return Place(folder, url, capsys)

    return make
