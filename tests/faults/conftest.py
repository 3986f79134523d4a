"""The store that every disturbed one is held against."""

from __future__ import annotations

import pytest

from tests.faults.gateway import Gateway, until
from tests.faults.stores import Facts


@pytest.fixture(scope="session")
def in_peace(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """What a daemon on SQLite that nothing disturbs ends up with, everything told."""
    folder = tmp_path_factory.mktemp("peace")
    quiet = Gateway(folder / "quiet", f"sqlite:///{folder}/eis.db")
    quiet.drop()
    with quiet.daemon():
        until(quiet.quiet, "the quiet daemon has done everything")
    return quiet.facts()
