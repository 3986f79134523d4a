"""How much of a store a question touches, which no busy machine changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from sqlalchemy import Engine

from energycomm.eis.bulk import Driver, driver_of
from energycomm.eis.database import is_sqlite, reading


class Watched:
    """Counts the rows that questions touch.

    Attributes:
      worst: of the question that touched most, `sql`.
      all: of all questions.
    """

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.worst, self.sql, self.all = 0, "", 0
        self._sqlite = is_sqlite(engine)
        with reading(engine) as connection:
            kind = type(driver_of(connection))
        plain = kind.rows

        def rows(driver: Driver, sql: str, values: Sequence[Any] = ()) -> list[Any]:
            self._note(sql, *(self._steps if self._sqlite else self._planned)(driver, sql, values, plain))
            return plain(driver, sql, values)

        monkeypatch.setattr(kind, "rows", rows)

    def _note(self, sql: str, touched: int) -> None:
        self.all += touched
        if touched > self.worst:
            self.worst, self.sql = touched, sql

    def _steps(self, driver: Any, sql: str, values: Sequence[Any], plain: Any) -> tuple[int]:
        """SQLite: a row that is looked at takes some instructions, five at least."""
        counted = [0]

        def step() -> int:
            counted[0] += 1
            return 0

        driver._connection.set_progress_handler(step, 10)
        try:
            plain(driver, sql, values)
        finally:
            driver._connection.set_progress_handler(None, 0)
        return (counted[0] * 2,)

    def _planned(self, driver: Any, sql: str, values: Sequence[Any], plain: Any) -> tuple[int]:
        # A table of this size is read though there is an index: whether there is one that serves is what is asked.
        plain(driver, "SELECT set_config('enable_seqscan', 'off', false)")
        ((told,),) = plain(driver, f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", values)
        plan = json.loads(told) if isinstance(told, str) else told
        return (max(_touched(plan[0]["Plan"])),)


def _touched(plan: dict[str, Any]) -> Iterator[int]:
    left_out = ("Rows Removed by Filter", "Rows Removed by Index Recheck", "Rows Removed by Join Filter")
    yield int(plan["Actual Rows"] + sum(plan.get(name, 0) for name in left_out)) * int(plan["Actual Loops"] or 1)
    for below in plan.get("Plans", ()):
        yield from _touched(below)
