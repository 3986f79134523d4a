"""Scripts and the loop hold a slice of what is stuck, however much it is: each access point with its history once."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from energycomm.console.trials import Ticketed, ticket_rest
from energycomm.correction import campaign, cases
from energycomm.correction.analysis import judging
from energycomm.correction.cases import Case, Neighbour, by_point, read_cases, stuck_ids
from energycomm.correction.library import LoadedScript, load_script
from energycomm.correction.loop import loop
from energycomm.correction.planning import Planned, plan, preview, trials
from tests.correction.test_campaigns import HALVE, prm_of, spoilt
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start

POINTS = 40
"""Access points, each with one message that is stuck and two around it."""


@pytest.fixture
def script(tmp_path: Path) -> LoadedScript:
    """A script that replaces an index, and is run by the loop."""
    file = tmp_path / "set_index.py"
    text = HALVE.replace("{SQL}", "").replace('help="the index in kWh"', 'help="kWh", default="1300"')
    file.write_text(text.replace('title="Set the index",', 'title="Set the index", automatic=True,'))
    return load_script(file)


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of a few messages, so that a test has many."""
    monkeypatch.setattr("energycomm.correction.planning.MOST", 8)
    monkeypatch.setattr("energycomm.correction.analysis.SLICE", 8)
    monkeypatch.setattr(campaign, "_PIECE", 5)


class Held:
    """The greatest number of neighbours that are alive at once, looked at whenever an access point was read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = 0
        real = cases.neighbours

        def counted(*given: object) -> object:
            found = real(*given)  # type: ignore[arg-type]
            self.most = max(self.most, sum(isinstance(one, Neighbour) for one in gc.get_objects()))
            return found

        monkeypatch.setattr(cases, "neighbours", counted)


def in_slices(desk: Desk, script: LoadedScript) -> None:
    assert sum(len(part.useful) for part in trials(desk.store, desk.writer, script, {})) == POINTS


def whole_loop(desk: Desk, script: LoadedScript) -> None:
    assert loop(desk.store, desk.writer, [script], by="anna", why="x").freed >= POINTS


def whole_analysis(desk: Desk, _script: LoadedScript) -> None:
    assert sum(1 for _ in judging(desk.database, desk.markets)) >= POINTS


def tickets_of_a_group(desk: Desk, _script: LoadedScript) -> None:
    """As the console makes them, without its thread."""
    shared = SimpleNamespace(store=desk.store, gateway=SimpleNamespace(markets=desk.markets))
    job = SimpleNamespace(step=lambda *_: None)
    bench = SimpleNamespace(shared=shared, start=lambda _key, _title, _by, work: work(job))
    made = cast("Ticketed", ticket_rest(cast("Any", bench), "CO-R05", "anna", None, 14))
    assert (made.messages, len(made.tickets)) == (POINTS, 1)
    assert desk.rows("SELECT count(*) FROM ticket_message") == [(POINTS,)]


@pytest.mark.thorough
@pytest.mark.parametrize("work", [in_slices, whole_loop, whole_analysis, tickets_of_a_group])
@pytest.mark.usefixtures("small_slices")
def test_only_the_histories_of_a_slice_are_held(
    tmp_path: Path, script: LoadedScript, monkeypatch: pytest.MonkeyPatch, work: Callable[[Desk, LoadedScript], None]
) -> None:
    """Each has three messages; two slices may be alive while one takes the place of the other."""
    desk = spoilt(f"sqlite:///{tmp_path}/eis.db", POINTS)
    held = Held(monkeypatch)
    work(desk, script)
    assert 8 <= held.most <= 2 * 3 * 16


@pytest.mark.thorough
@pytest.mark.usefixtures("small_slices")
def test_slices_come_to_the_same_as_all_at_once(database_url: str, script: LoadedScript) -> None:
    desk = spoilt(database_url, 20)
    whole = preview(desk.store, desk.writer, plan(desk.database, desk.markets, script, {}))
    parts = list(trials(desk.store, desk.writer, script, {}))
    assert len(parts) > 1
    assert sorted(number for part in parts for number in part.freed) == sorted(whole.freed)
    assert sum(part.selected for part in parts) == whole.selected == 20
    assert [item.case.id for part in parts for item in part.useful] == [item.case.id for item in whole.useful]
    some = list(trials(desk.store, desk.writer, script, {}, limit=7))
    assert sum(len(part.tried) for part in some) == 7
    assert sum(part.selected for part in some) == 20


@pytest.mark.usefixtures("small_slices")
def test_a_campaign_is_planned_with_its_last_item(database_url: str, script: LoadedScript) -> None:
    """Until then nobody can approve it; one that is cut off is there to be run as far as it was recorded."""
    desk = spoilt(database_url, 12)
    useful = preview(desk.store, desk.writer, plan(desk.database, desk.markets, script, {})).useful
    seen: list[tuple[str, int]] = []

    def coming(break_at: int) -> Iterator[Planned]:
        for number, item in enumerate(useful):
            if number == break_at:
                raise KeyboardInterrupt
            yield item
            if number == 8:
                (found,) = campaign.campaigns(desk.store, limit=1)
                seen.append((found.state, sum(found.items.values())))

    number = campaign.start(desk.store, script, coming(99), by="anna", why="x", selected=lambda: 12)
    assert seen == [("cancelled", 5)]
    record = campaign.show(desk.store, number)
    assert (record.state, record.selected, record.items) == ("planned", 12, {"planned": 12})
    with pytest.raises(KeyboardInterrupt):
        campaign.start(desk.store, script, coming(7), by="anna", why="x")
    (cut,) = campaign.campaigns(desk.store, limit=1)
    assert (cut.state, cut.items) == ("cancelled", {"planned": 5})
    assert campaign.run(desk.store, desk.writer, cut.id).freed == 5


def test_a_slice_ends_between_access_points_and_holds_each_message_once(tmp_path: Path) -> None:
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    for number in range(9):
        prm = prm_of(number)
        readings = [reading(prm, day(60 + later), 1_100_000 - later) for later in range(3)]
        desk.deliver([start(prm, day(0)), reading(prm, day(31), 1_200_000), *readings])
    ids = stuck_ids(desk.database)
    slices = list(by_point(desk.database, ids, 2, 5))
    assert sorted(number for one in slices for number in one) == ids
    points = [{case.identifier for case in read_cases(desk.database, desk.markets, one)} for one in slices]
    assert [len(one) for one in points] == [2, 2, 2, 2, 1]
    assert len(set().union(*points)) == 9


def test_the_neighbours_of_a_message_are_all_but_itself(tmp_path: Path) -> None:
    """They are one list for all messages of an access point: what is held does not grow with their square."""
    desk = spoilt(f"sqlite:///{tmp_path}/eis.db")
    found: list[Case] = list(read_cases(desk.database, desk.markets, [2, 3]))
    for case in found:
        ids = [one.id for one in case.around]
        assert len(case.around) == len(ids)
        assert case.id not in ids
        assert [one.id for one in case.around[-1:]] == ids[-1:] == [case.around[-1].id]
