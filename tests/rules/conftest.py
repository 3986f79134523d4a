"""The shipped rules, read once."""

from __future__ import annotations

from pathlib import Path

import pytest

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import load_catalogue
from energycomm.engine.parallel import ParallelEngine


@pytest.fixture(scope="session")
def rules(project_root: Path) -> Catalogue:
    """The catalogue of the shipped rules; refused when any of them is wrong."""
    return load_catalogue(project_root / "rules")


@pytest.fixture(scope="session")
def engine(rules: Catalogue) -> ParallelEngine:
    """The default engine with the shipped rules."""
    return ParallelEngine(rules)
