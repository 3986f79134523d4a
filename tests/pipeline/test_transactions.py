"""How many CH messages share a transaction: as many as the setting says, fewer where they are long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from energycomm.pipeline import inbound, writer
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.progress import total
from energycomm.transport.keys import KeyRing
from energycomm.transport.limits import Limits
from tests.pipeline.desk import Desk

FILE = Path(__file__).parents[2] / "fixtures" / "fr" / "c15_entries.xml"


def transactions(desk: Desk, batch_size: int) -> tuple[list[int], dict[str, int]]:
    """Process the file: CH messages after each transaction that stored some, and all by outcome."""
    stored: list[int] = []
    retried: Callable[..., Any] = desk.store.retried

    def counted(run: Callable[..., Any]) -> Any:
        done = retried(run)
        ((number,),) = desk.rows("SELECT count(*) FROM ch_message")
        if number > (stored[-1] if stored else 0):
            stored.append(number)
        return done

    desk.store.retried = counted  # type: ignore[method-assign]
    way = Inbound(desk.store, desk.writer, KeyRing(()), Limits(), batch_size)
    total(way.take([FILE], "test"))
    return stored, dict(desk.rows("SELECT outcome, count(*) FROM ch_message GROUP BY outcome"))


def test_what_is_read_together_is_less_than_what_is_stored_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three that are read one by one: stored in one transaction, in two where the setting says so, and each alone where
    one character of Kernel XML is too much. The same is stored."""
    monkeypatch.setattr(inbound, "TOGETHER", 1)
    together = transactions(Desk(f"sqlite:///{tmp_path}/together.db"), 2000)
    assert together == ([3], {"digested": 3})
    in_twos = transactions(Desk(f"sqlite:///{tmp_path}/twos.db"), 2)
    assert in_twos == ([2, 3], {"digested": 3})
    monkeypatch.setattr(writer, "MOST_TEXT", 1)
    alone = transactions(Desk(f"sqlite:///{tmp_path}/alone.db"), 2000)
    assert alone == ([1, 2, 3], {"digested": 3})
