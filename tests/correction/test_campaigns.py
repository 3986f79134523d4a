"""A correction script is tried out, run, cancelled, resumed and undone; nothing is done twice."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import event

from energycomm.correction import campaign
from energycomm.correction.cases import stuck_ids
from energycomm.correction.library import LoadedScript, load_script, load_scripts
from energycomm.correction.planning import Preview, difference, plan, preview
from energycomm.correction.replaying import replay_messages
from energycomm.eis.database import rehearsal
from energycomm.engine.parallel import ParallelEngine
from energycomm.errors import UserError
from tests.pipeline.desk import Desk, shipped_rules
from tests.pipeline.story import day, end, reading, start
from tests.stores import make_store

PRM = "99000000000017"

VERDICTS = (
    "SELECT k.id, k.state, f.error_code FROM kernel_message k "
    'LEFT JOIN finding f ON f.message_id = k.id AND f."current" WHERE k.version = 1 ORDER BY k.id, f.error_code'
)

HALVE = '''
"""Halves an index that went back, for tests."""

from msgspec import structs

from energycomm.correction.script import Modify, Parameter, Script, Selection

SCRIPT = Script(
    title="Set the index",
    selection=Selection(codes=("CO-R05",), kinds=("MeterReading",){SQL}),
    parameters=(Parameter(name="value", help="the index in kWh"),),
)


def correct(case, parameters):
    register = structs.replace(case.message.registers[0], value=int(parameters["value"]))
    return Modify(structs.replace(case.message, registers=(register,)), "index typed wrong")
'''


@pytest.fixture
def script(tmp_path: Path) -> LoadedScript:
    """A script that replaces an index."""
    file = tmp_path / "set_index.py"
    file.write_text(HALVE.replace("{SQL}", ""))
    return load_script(file)


def spoilt(url: str, points: int = 1) -> Desk:
    """Access points with an index that goes back."""
    desk = Desk(url)
    for number in range(points):
        prm = prm_of(number)
        desk.deliver([start(prm, day(0)), reading(prm, day(31), 1_200_000), reading(prm, day(60), 1_100_000)])
    return desk


def prm_of(number: int) -> str:
    """The number of an access point."""
    return str(int(PRM) + 1000 * number)


def tried(desk: Desk, script: LoadedScript, parameters: Mapping[str, str]) -> Preview:
    """A dry run of a script."""
    return preview(desk.store, desk.writer, plan(desk.database, desk.markets, script, parameters))


def content(desk: Desk) -> list[object]:
    """What the store says of messages and readings."""
    return [
        desk.rows("SELECT id, state, xml FROM kernel_message ORDER BY id"),
        desk.rows("SELECT message_id, registers, status FROM reading ORDER BY message_id"),
        desk.rows("SELECT count(*) FROM state_change"),
    ]


def test_a_dry_run_says_what_would_be_freed_and_changes_nothing(database_url: str, script: LoadedScript) -> None:
    """The Kernel judges the corrected messages, then everything is undone."""
    desk = spoilt(database_url, 3)
    before = content(desk)
    found = tried(desk, script, {"value": "1300"})
    assert (found.selected, len(found.useful), len(found.freed), found.lost) == (3, 3, 3, ())
    assert content(desk) == before


def test_another_thread_sees_nothing_of_a_dry_run(database_url: str) -> None:
    """Else what it writes meanwhile would be undone with it."""
    desk = spoilt(database_url)
    seen: list[object] = []
    with rehearsal(desk.database):
        with desk.store.transaction() as tx:
            tx.driver.run("DELETE FROM finding", ())
        aside = threading.Thread(target=lambda: seen.extend(desk.rows("SELECT count(*) FROM finding")))
        aside.start()
        aside.join()
        assert desk.rows("SELECT count(*) FROM finding") == [(0,)]
    assert seen == desk.rows("SELECT count(*) FROM finding") != [(0,)]


def test_a_correction_that_frees_nothing_is_not_worth_doing(tmp_path: Path, script: LoadedScript) -> None:
    """The dry run says what the Kernel has against it."""
    desk = spoilt(f"sqlite:///{tmp_path}/eis.db")
    found = tried(desk, script, {"value": "900"})
    assert found.useful == ()
    assert "CO-R05" in found.tried[0].note


def test_the_difference_of_a_message_shows_the_changed_attribute_only(tmp_path: Path, script: LoadedScript) -> None:
    desk = spoilt(f"sqlite:///{tmp_path}/eis.db")
    (item,) = tried(desk, script, {"value": "1300"}).useful
    changed = [line.strip("+- ") for line in difference(item).splitlines()[2:] if line[0] in "+-"]
    assert changed == ['value="1100"', 'value="1300"']


def test_a_campaign_does_what_its_dry_run_said_and_is_undone(database_url: str, script: LoadedScript) -> None:
    """After the undo the verdicts are those of before; the versions stay on record as withdrawn."""
    desk = spoilt(database_url, 2)
    verdicts = desk.rows(VERDICTS)
    readings = desk.rows("SELECT message_id, registers FROM reading ORDER BY message_id")
    useful = tried(desk, script, {"value": "1300"}).useful
    number = campaign.start(desk.store, script, useful, by="anna", why="typed wrong", parameters={"value": "1300"})
    record = campaign.run(desk.store, desk.writer, number)
    assert (record.state, record.freed, record.items) == ("done", 2, {"done": 2})
    assert stuck_ids(desk.database) == []
    record = campaign.undo(desk.store, desk.writer, number, "anna")
    assert (record.state, record.items) == ("undone", {"undone": 2})
    versions = desk.rows("SELECT state FROM kernel_message WHERE version = 2")
    assert versions == [("withdrawn",), ("withdrawn",)]
    assert desk.rows("SELECT message_id, registers FROM reading ORDER BY message_id") == readings
    assert desk.rows(VERDICTS) == verdicts


def test_a_second_click_finds_the_first_campaign_and_a_second_run_does_nothing(
    database_url: str, script: LoadedScript
) -> None:
    """Same key, same campaign; nothing is stored twice."""
    desk = spoilt(database_url)
    useful = tried(desk, script, {"value": "1300"}).useful
    first = campaign.start(desk.store, script, useful, by="anna", why="x", key="click-1")
    assert campaign.start(desk.store, script, useful, by="anna", why="x", key="click-1") == first
    campaign.run(desk.store, desk.writer, first)
    after = content(desk)
    again = campaign.run(desk.store, desk.writer, first)
    other = campaign.start(desk.store, script, useful, by="ben", why="the same, planned before")
    late = campaign.run(desk.store, desk.writer, other)
    assert content(desk) == after
    assert (again.freed, late.freed, late.items) == (1, 0, {"skipped": 1})


def test_a_campaign_that_was_cut_off_after_it_judged_counts_what_it_freed(
    database_url: str, script: LoadedScript, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The messages are accepted already when it goes on; they are its own all the same."""
    desk = spoilt(database_url, 2)
    useful = tried(desk, script, {"value": "1300"}).useful
    number = campaign.start(desk.store, script, useful, by="anna", why="x")

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(campaign, "compared", dies)
        with pytest.raises(KeyboardInterrupt):
            campaign.run(desk.store, desk.writer, number)
    ended = campaign.run(desk.store, desk.writer, number)
    assert (ended.state, ended.items, ended.freed) == ("done", {"done": 2}, 2)


def test_a_cancelled_campaign_stops_between_access_points_and_goes_on_when_resumed(
    tmp_path: Path, script: LoadedScript
) -> None:
    desk = spoilt(f"sqlite:///{tmp_path}/eis.db", 3)
    useful = tried(desk, script, {"value": "1300"}).useful
    number = campaign.start(desk.store, script, useful, by="anna", why="x")
    cut = campaign.run(desk.store, desk.writer, number, watch=lambda _done, _freed: cancel(desk, number))
    assert (cut.state, cut.items) == ("cancelled", {"done": 1, "planned": 2})
    ended = campaign.run(desk.store, desk.writer, number)
    assert (ended.state, ended.items, ended.freed) == ("done", {"done": 3}, 3)


def cancel(desk: Desk, number: int) -> None:
    """Cancel a campaign from aside."""
    campaign.cancel(desk.store, number)


def test_four_eyes_means_that_somebody_else_agrees(tmp_path: Path, script: LoadedScript) -> None:
    desk = spoilt(f"sqlite:///{tmp_path}/eis.db")
    number = campaign.start(desk.store, script, tried(desk, script, {"value": "1300"}).useful, by="anna", why="x")
    with pytest.raises(UserError, match="second person"):
        campaign.run(desk.store, desk.writer, number, four_eyes=True)
    with pytest.raises(UserError, match="cannot approve"):
        campaign.approve(desk.store, number, "anna")
    campaign.approve(desk.store, number, "ben")
    assert campaign.run(desk.store, desk.writer, number, four_eyes=True).freed == 1


def test_proposals_for_the_same_message_know_of_one_another(database_url: str, script: LoadedScript) -> None:
    """On both databases; one that is over is no rival any more."""
    desk = spoilt(database_url, points=2)
    both = tried(desk, script, {"value": "1300"}).useful
    first = campaign.start(desk.store, script, both, by="anna", why="x")
    assert campaign.rivals(desk.store, first) == []
    second = campaign.start(desk.store, script, both[:1], by="ben", why="x")
    assert campaign.rivals(desk.store, second) == [campaign.Rival(campaign=first, by="anna", messages=1)]
    assert campaign.rivals(desk.store, first) == [campaign.Rival(campaign=second, by="ben", messages=1)]
    campaign.cancel(desk.store, first)
    assert campaign.rivals(desk.store, second) == []


def test_a_selection_in_sql_only_reads(database_url: str, tmp_path: Path) -> None:
    """A query selects; anything else is refused and changes nothing."""
    desk = spoilt(database_url, 2)
    file = tmp_path / "by_sql.py"
    query = "SELECT max(id) FROM kernel_message WHERE state = 'rejected'"
    file.write_text(HALVE.replace("{SQL}", f', sql="{query}"'))
    assert plan(desk.database, desk.markets, load_script(file), {"value": "1300"}).selected == 1
    before = content(desk)
    file.write_text(HALVE.replace("{SQL}", ', sql="WITH x AS (SELECT 1) DELETE FROM finding"'))
    with pytest.raises(UserError, match="SQL"):
        plan(desk.database, desk.markets, load_script(file), {"value": "1300"})
    assert content(desk) == before


def test_a_lost_entry_is_made_and_what_waited_for_it_is_freed(database_url: str) -> None:
    """The made message is attributed; undoing it sends the others back to quarantine."""
    desk = Desk(database_url)
    desk.deliver([reading(PRM, day(31), 1_100_000), reading(PRM, day(60), 1_200_000), end(PRM, day(90))])
    script = load_scripts(shipped_rules().rules)["create-missing-start"]
    useful = tried(desk, script, {}).useful
    assert len(useful) == 1
    number = campaign.start(desk.store, script, useful, by="anna", why="the entry was lost")
    assert campaign.run(desk.store, desk.writer, number).freed == 3
    made = desk.rows("SELECT kind, state, injected_by FROM kernel_message WHERE ch_message_id IS NULL")
    assert made == [("StartOfSupply", "treated", "anna")]
    assert desk.rows("SELECT count(*) FROM supply_period") == [(1,)]
    campaign.undo(desk.store, desk.writer, number, "ben")
    assert set(desk.states().values()) == {"quarantined"}
    assert desk.rows("SELECT count(*) FROM supply_period") == [(0,)]


def test_no_start_is_made_beside_one_that_was_refused(tmp_path: Path) -> None:
    """The second entry bears the reference of the contract that ended: it is to be corrected, not replaced."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([start(PRM, day(0)), end(PRM, day(90)), start(PRM, day(100))])
    desk.deliver([reading(PRM, day(120), 1_100_000, contract="987654321")])
    assert "quarantined" in desk.states().values()
    script = load_scripts(shipped_rules().rules)["create-missing-start"]
    assert plan(desk.database, desk.markets, script, {}).items == ()


def test_a_script_without_documentation_or_function_is_refused_in_words(tmp_path: Path) -> None:
    file = tmp_path / "silent.py"
    file.write_text("x = 1\n")
    with pytest.raises(UserError, match="not complete"):
        load_script(file)
    file.write_text("raise ValueError('no')\n")
    with pytest.raises(UserError, match="ValueError: no"):
        load_script(file)


def test_a_script_that_leaves_its_codes_to_the_rules_takes_nothing_that_no_rule_names_it_for(tmp_path: Path) -> None:
    """Its codes are those of the rules; without one it is for nothing, not for everything."""
    desk = spoilt(f"sqlite:///{tmp_path}/eis.db", 2)
    (tmp_path / "scripts").mkdir()
    file = tmp_path / "scripts" / "halve.py"
    body = HALVE.replace("{SQL}", "")
    file.write_text(re.sub(r"codes=\([^)]*\)", "by_rules=True", body))
    assert file.read_text() != body
    parameters = {"value": "1300"}
    found = load_scripts(shipped_rules().rules, file.parent)["halve"]
    assert found.declared.selection.codes == ()
    assert plan(desk.database, desk.markets, found, parameters).selected == 0
    naming = [replace(rule, repair=("halve",)) for rule in shipped_rules().rules if rule.error_code == "CO-R05"]
    found = load_scripts(naming, file.parent)["halve"]
    assert found.declared.selection.codes == ("CO-R05",)
    assert plan(desk.database, desk.markets, found, parameters).selected == 2


def test_a_script_that_breaks_on_one_message_does_not_stop_the_others(tmp_path: Path) -> None:
    """What it raised is told beside the message."""
    desk = spoilt(f"sqlite:///{tmp_path}/eis.db", 2)
    file = tmp_path / "breaking.py"
    body = HALVE.replace("{SQL}", "").replace(
        "    register =", f"    if case.identifier == '{prm_of(0)}':\n        raise KeyError('x')\n    register ="
    )
    file.write_text(body)
    found = plan(desk.database, desk.markets, load_script(file), {"value": "1300"})
    assert (len(found.items), list(found.faults.values())) == (1, ["KeyError: 'x'"])


def test_a_field_is_set_where_it_has_the_wrong_value(tmp_path: Path) -> None:
    """A reference of letters is put right by hand, one code at a time; what is no value of the field is told."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([start(PRM, day(0), "AB-12")])
    script = load_scripts(shipped_rules().rules)["set-field"]
    wanted = {"code": "FR-C02", "field": "contract_reference", "value": "123456789", "only_if": "AB-12"}
    found = tried(desk, script, wanted)
    assert len(found.freed) == len(found.useful) == 4
    assert tried(desk, script, wanted | {"only_if": "other"}).tried == ()
    broken = tried(desk, script, wanted | {"field": "market", "value": "France", "only_if": ""})
    assert set(broken.faults.values()) == {"ValueError: market cannot be 'France'"}


def steps_of(desk: Desk, work: Callable[[], object]) -> int:
    """Hundreds of instructions that SQLite does for some work."""
    counted = 0

    def step() -> int:
        nonlocal counted
        counted += 1
        return 0

    desk.database.dispose()

    def watched(connection: sqlite3.Connection, _record: object) -> None:
        connection.set_progress_handler(step, 100)

    event.listen(desk.database, "connect", watched)
    try:
        work()
    finally:
        event.remove(desk.database, "connect", watched)
        desk.database.dispose()
    return counted


def costs(desk: Desk, script: LoadedScript, points: int) -> list[float]:
    """Hundreds of instructions an access point: of a campaign, of its undoing, of a replay of its messages."""
    useful = tried(desk, script, {"value": "1300"}).useful
    number = campaign.start(desk.store, script, useful, by="anna", why="x", parameters={"value": "1300"})
    ids = stuck_ids(desk.database)
    assert len(ids) == points
    found = [steps_of(desk, lambda: campaign.run(desk.store, desk.writer, number))]
    assert campaign.show(desk.store, number).items == {"done": points}
    found.append(steps_of(desk, lambda: campaign.undo(desk.store, desk.writer, number, "anna")))
    again = partial(replay_messages, desk.store, desk.writer, ids, by="anna", why="x", engine_of=ParallelEngine)
    found.append(steps_of(desk, again))
    assert stuck_ids(desk.database) == ids
    return [cost / points for cost in found]


@pytest.mark.thorough
def test_an_access_point_costs_the_same_in_a_large_campaign(tmp_path: Path, script: LoadedScript) -> None:
    """What SQLite does for each does not grow with the campaign."""
    few, many = (
        costs(spoilt(make_store(f"sqlite:///{tmp_path}/{points}.db"), points), script, points) for points in (10, 80)
    )
    growth = [large / small for small, large in zip(few, many, strict=True)]
    assert max(growth) < 1.15, growth
