"""Fixtures of the engine's tests: a small folder of rules of their own, and the rules that are shipped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import load_catalogue, read_catalogue
from energycomm.engine.parallel import ParallelEngine
from energycomm.engine.problems import Problem

SMALL = Path(__file__).parent / "small"


@pytest.fixture(scope="session")
def small() -> Catalogue:
    """The catalogue of the tests' own rules."""
    return load_catalogue(SMALL)


@pytest.fixture(scope="session")
def shipped(project_root: Path) -> Catalogue:
    """The catalogue of the rules that are shipped."""
    return load_catalogue(project_root / "rules")


@pytest.fixture(scope="session")
def engine(small: Catalogue) -> ParallelEngine:
    """The compiled engine on the tests' own rules."""
    return ParallelEngine(small)


@pytest.fixture
def problems_of(tmp_path: Path) -> Callable[..., tuple[Problem, ...]]:
    """What is wrong with a rule file (and predicates, and codes) given as text."""

    def read(
        text: str, *, predicates: str = "", codes: str = "", market: str = "fr", particulars: str = ""
    ) -> tuple[Problem, ...]:
        (tmp_path / market).mkdir(exist_ok=True)
        (tmp_path / market / "a.yaml").write_text(text, encoding="utf-8")
        if predicates:
            (tmp_path / "predicates.py").write_text(predicates, encoding="utf-8")
        if codes:
            (tmp_path / market / "codes.csv").write_text(codes, encoding="utf-8")
        if particulars:
            (tmp_path / market / "particulars.csv").write_text(particulars, encoding="utf-8")
        return read_catalogue(tmp_path)[1]

    return read
