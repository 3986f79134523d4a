"""Every desk of a test is closed at its end; commands read the shipped rules once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import load_catalogue
from energycomm.pipeline import gateway
from tests.pipeline.desk import Desk, shipped_rules


@pytest.fixture(autouse=True)
def _close_desks() -> Iterator[None]:
    yield
    while Desk.open:
        Desk.open.pop().database.dispose()


@pytest.fixture(autouse=True)
def _rules_read_once(monkeypatch: pytest.MonkeyPatch, project_root: Path) -> None:
    """A command reads the rules and judges every example: seconds, and the same for each of these tests."""

    def read(folder: Path, *, check_examples: bool = True) -> Catalogue:
        shipped = folder.resolve() == project_root / "rules"
        return shipped_rules() if shipped else load_catalogue(folder, check_examples=check_examples)

    monkeypatch.setattr(gateway, "load_catalogue", read)
