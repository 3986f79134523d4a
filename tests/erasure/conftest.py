"""Every desk of a test is closed at its end; places are those of the command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.end_to_end.conftest import place as place
from tests.erasure.left import desk as desk
from tests.erasure.left import french as french
from tests.pipeline.desk import Desk


@pytest.fixture(autouse=True)
def _close_desks() -> Iterator[None]:
    yield
    while Desk.open:
        Desk.open.pop().database.dispose()
