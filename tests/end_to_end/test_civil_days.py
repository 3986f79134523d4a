"""Days are counted in the legal time of the market, whatever the process has loaded before."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from energycomm.errors import UserError
from energycomm.kernel.messages import AccessPointData
from energycomm.market.installed import Markets
from energycomm.pipeline.history import history_before
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, end, head, start, transaction

PRM = "99000000000017"
EXIT = datetime.fromisoformat("2026-10-04T00:01:00+02:00")
SAME_DAY = datetime.fromisoformat("2026-10-04T10:00:00+02:00")


def changed_on_the_day_of_the_exit(desk: Desk) -> int:
    """A change of point data at ten, after an exit at 00:01 in Paris, which is 22:01 UTC of the day before."""
    desk.deliver([start(PRM, day(0)), end(PRM, EXIT)])
    common = head(PRM, SAME_DAY, "C15", "MDPRM", "MDPRM") | {"contract_reference": "123456789"}
    desk.deliver([transaction([AccessPointData(**common, reason="master-data-change", segment="C5")])])
    number, kind, state = desk.rows("SELECT id, kind, state FROM kernel_message ORDER BY id")[-1]
    assert (kind, state) == ("AccessPointData", "accepted")
    return int(number)


def in_a_process_of_its_own(folder: Path, url: str, *arguments: str) -> str:
    """What a command prints that finds nothing loaded."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from energycomm.cli import main; sys.exit(main())", *arguments],
        cwd=folder,
        env={"ENERGYCOMM_DATABASE": url, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["message explain", "assistant explain"])
def test_an_event_on_the_day_of_the_exit_is_explained_as_it_was_accepted(tmp_path: Path, command: str) -> None:
    """No rule has anything against it: in UTC the exit lies a day earlier, and FR-S01 would be told as violated."""
    url = f"sqlite:///{tmp_path}/eis.db"
    number = changed_on_the_day_of_the_exit(Desk(url))
    told: dict[str, Any] = json.loads(in_a_process_of_its_own(tmp_path, url, *command.split(), str(number), "--json"))
    assert told.get("explanation", told)["state"] == "accepted"
    assert "FR-S01" not in json.dumps(told)
    assert "fr-event-after-exit" not in json.dumps(told)


def test_no_day_lies_between_two_instants_of_a_civil_day_in_paris(tmp_path: Path) -> None:
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    seen = history_before(desk.store, desk.engine, desk.markets, changed_on_the_day_of_the_exit(desk))
    assert seen is not None
    assert seen.history.days_since_end == 0


def test_a_market_that_is_not_installed_is_told_not_taken_for_greenwich(tmp_path: Path) -> None:
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    number = changed_on_the_day_of_the_exit(desk)
    others = Markets({code: adapter for code, adapter in desk.markets.items() if code != "FR"})
    with pytest.raises(UserError, match="FR is not installed"):
        history_before(desk.store, desk.engine, others, number)
