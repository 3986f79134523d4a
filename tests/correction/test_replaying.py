"""Messages are judged again by the rules of today, of then, or of a version; what lies around them is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from energycomm import cli
from energycomm.correction import replaying
from energycomm.correction.replaying import Replaying, replay_messages
from energycomm.engine.folder import load_catalogue, rule_texts
from energycomm.engine.parallel import ParallelEngine
from energycomm.errors import ExitCode, UserError
from energycomm.pipeline.batch import BatchWriter
from tests.pipeline.desk import NOW, Desk
from tests.pipeline.story import day, reading, start

PRM, OTHER = "99000000000017", "99000000000033"


class Strict(NamedTuple):
    """Rules of another time: their folder, and the engine that was made of them."""

    folder: Path
    engine: ParallelEngine


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory, project_root: Path) -> Strict:
    """The shipped rules, but that an index may not be below 2 000 kWh."""
    folder = tmp_path_factory.mktemp("strict") / "rules"
    shutil.copytree(project_root / "rules", folder, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "common" / "readings.yaml"
    text = file.read_text("utf-8")
    assert text.count("    holds: register.value >= 0\n") == 1
    file.write_text(text.replace("    holds: register.value >= 0\n", "    holds: register.value >= 2000\n"), "utf-8")
    return Strict(folder, ParallelEngine(load_catalogue(folder, check_examples=False)))


def version(desk: Desk, strict: Strict) -> tuple[BatchWriter, str]:
    """A writer with other rules, which the store knows by their hash."""
    folder, engine = strict
    with desk.store.transaction() as tx:
        number = tx.rules_version(engine.version, engine.name, rule_texts(folder), NOW)
    return BatchWriter(engine, number, 30, desk.markets), engine.version


def judged_then(desk: Desk, strict: Strict) -> list[int]:
    """Two readings that the rules of then refused, and today's rules accept; ids of the two."""
    today = desk.writer
    desk.writer, _ = version(desk, strict)
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_200_000), reading(PRM, day(60), 1_300_000)])
    desk.writer = today
    return [row[0] for row in desk.rows("SELECT id FROM kernel_message WHERE state = 'rejected' ORDER BY id")]


def replayed(desk: Desk, ids: list[int], rules: str) -> Replaying:
    """A replay of some messages."""
    return replay_messages(desk.store, desk.writer, ids, by="anna", why="test", rules=rules, engine_of=ParallelEngine)


@pytest.mark.thorough
def test_the_rules_of_then_say_again_what_they_said(database_url: str, strict: Strict) -> None:
    """The first is sent back with the rules of then, its neighbour is judged by those of today."""
    desk = Desk(database_url)
    first, second = judged_then(desk, strict)
    digest = version(desk, strict)[1]
    done = replayed(desk, [first], "then")
    assert (done.states, done.rules) == ({first: "rejected"}, {first: digest})
    sql = "SELECT c.message_id, v.hash FROM state_change c JOIN rules_version v ON v.id = c.rules_version_id"
    last = dict(desk.rows(f"{sql} ORDER BY c.id"))
    assert last[first] == digest
    assert last[second] == desk.engine.version
    assert desk.rows(f"SELECT state FROM kernel_message WHERE id = {second}") == [("accepted",)]
    assert replayed(desk, [first], "today").states == {first: "treated"}


@pytest.mark.thorough
def test_a_version_is_named_by_the_beginning_of_its_hash(tmp_path: Path, strict: Strict, project_root: Path) -> None:
    """A message that today's rules accept stays what it is: only stuck messages are sent back."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    first, second = judged_then(desk, strict)
    with desk.store.transaction() as tx:
        tx.rules_version("feed0123", "parallel", rule_texts(project_root / "rules"), NOW)
    assert replayed(desk, [first, second], "feed").accepted == 2
    assert replayed(desk, [first], "then").marked == ()
    with pytest.raises(UserError, match="no version"):
        replayed(desk, [first], "beef")


def test_the_command_takes_the_rules_by_name(
    tmp_path: Path, strict: Strict, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/eis.db"
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    monkeypatch.chdir(tmp_path)
    desk = Desk(url)
    first, second = judged_then(desk, strict)
    capsys.readouterr()
    assert cli.main(["correct", "replay", str(first), "--rules", "then", "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert found["states"] == {str(first): "rejected"}
    assert set(found["rules"]) == {str(first)}
    assert cli.main(["correct", "replay", str(first), "--rules", "yesterday"]) == ExitCode.USAGE
    assert second


def test_a_replay_that_was_cut_off_goes_on_when_it_is_asked_for_again(
    database_url: str, strict: Strict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The messages were marked and not judged: the same words again judge them."""
    desk = Desk(database_url)
    ids = judged_then(desk, strict)

    def again() -> Replaying:
        return replay_messages(desk.store, desk.writer, ids, by="anna", why="x", engine_of=ParallelEngine)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(replaying, "judge_again", dies)
        with pytest.raises(KeyboardInterrupt):
            again()
    assert again().states == dict.fromkeys(ids, "treated")


@pytest.mark.thorough
def test_all_that_is_stuck_is_judged_in_bulk_and_only_what_changes_is_sent_back(
    database_url: str, strict: Strict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two readings that today's rules accept, one elsewhere that they refuse too; by the command, twice."""
    desk = Desk(database_url)
    freed = judged_then(desk, strict)
    desk.deliver([start(OTHER, day(0)), reading(OTHER, day(31), -1)])
    ((refused,),) = desk.rows("SELECT id FROM kernel_message WHERE state = 'rejected' ORDER BY id DESC LIMIT 1")
    before = desk.rows(f"SELECT * FROM state_change WHERE message_id = {refused}")
    monkeypatch.setenv("ENERGYCOMM_DATABASE", database_url)
    command = ["correct", "replay", "--stuck", "--by", "anna", "--why", "rule mended", "--work", str(tmp_path / "run")]
    assert cli.main(command) == ExitCode.OK
    states = dict(desk.rows("SELECT id, state FROM kernel_message"))
    assert {number: states[number] for number in (*freed, refused)} == {
        **dict.fromkeys(freed, "treated"),
        refused: "rejected",
    }
    assert desk.rows(f"SELECT * FROM state_change WHERE message_id = {refused}") == before
    sent = "SELECT message_id, \"by\", why FROM state_change WHERE after = 'to_replay' ORDER BY message_id"
    assert desk.rows(sent) == [(number, "anna", "rule mended") for number in freed]
    assert cli.main(command) == ExitCode.OK
    assert dict(desk.rows("SELECT id, state FROM kernel_message")) == states


@pytest.mark.parametrize("wrong", [["--stuck", "17"], ["--stuck", "--rules", "then"], ["17", "--work", "run"]])
def test_bulk_and_named_messages_are_not_mixed(
    wrong: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["correct", "replay", *wrong]) == ExitCode.USAGE
    assert "--stuck" in capsys.readouterr().err
