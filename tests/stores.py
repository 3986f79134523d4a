"""Stores with the tables of this version and nothing in them, made once and copied.

The migrations take longer than most tests; `tests/eis/test_migrations.py` proves what they do.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from sqlalchemy import make_url

from energycomm.eis import migrations
from energycomm.eis.database import opened


@cache
def _empty_file() -> bytes:
    """A SQLite store of this version."""
    with tempfile.TemporaryDirectory(prefix="ec-store-") as folder:
        file = Path(folder) / "eis.db"
        with opened(f"sqlite:///{file}") as engine:
            migrations.upgrade(engine)
        return file.read_bytes()


MADE: set[str] = set()
"""Addresses of the stores that were copied for a test and are of this version."""


def make_store(url: str) -> str:
    """Bring a database to this version, as `energycomm eis upgrade` does; a SQLite file that is absent is copied.

    Returns:
      The address.
    """
    file = make_url(url).database
    if url.startswith("sqlite:") and file and not Path(file).exists():
        Path(file).touch(0o600)
        Path(file).write_bytes(_empty_file())
    elif url not in MADE:
        with opened(url) as engine:
            migrations.upgrade(engine)
    return url
