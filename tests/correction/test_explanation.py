"""Why a message was refused, and what other rules would say."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

from energycomm import cli
from energycomm.config import load
from energycomm.correction.difference import differences
from energycomm.correction.explanation import explain, explain_ch_message
from energycomm.correction.impact import catalogue_named, impact, question, versions_of
from energycomm.engine.folder import load_catalogue, rule_texts
from energycomm.engine.parallel import ParallelEngine
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import MeterReading
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.history import history_before
from energycomm.pipeline.replay import correct, replay
from tests.pipeline.desk import NOW, Desk, shipped_rules
from tests.pipeline.story import day, reading, start

PRM = "99000000000017"


def refused(desk: Desk) -> int:
    """An index that goes back, with a message before and one after it; its id."""
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_200_000), reading(PRM, day(60), 1_100_000)])
    desk.deliver([reading(PRM, day(90), 1_250_000)])
    ((number,),) = desk.rows("SELECT id FROM kernel_message WHERE state = 'rejected'")
    return int(number)


def test_the_failed_rule_is_told_with_the_facts_it_read(database_url: str) -> None:
    """The index before, in Wh, as the rule saw it; the neighbours in business time."""
    desk = Desk(database_url)
    found = explain(desk.store, shipped_rules(), ParallelEngine(shipped_rules()), desk.markets, refused(desk))
    assert found is not None
    (rule,) = [rule for rule in found.failed if rule.severity == "error"]
    assert (rule.code, rule.outcome, rule.item) == ("CO-R05", "violated", 1)
    assert rule.read["register.value"] == 1100
    assert rule.read["previous.index_wh"] == 1_200_000
    assert rule.sentence
    assert [(one.offset, one.kind) for one in found.around][-2:] == [(-1, "MeterReading"), (1, "MeterReading")]


def test_the_history_of_an_original_leaves_its_corrected_version_out(tmp_path: Path) -> None:
    """Else the version would stand beside the message it took the place of."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    number = refused(desk)
    engine = ParallelEngine(shipped_rules())
    seen = history_before(desk.store, engine, desk.markets, number)
    assert seen is not None
    assert isinstance(seen.message, MeterReading)
    with desk.store.transaction() as tx:
        correct(tx, number, seen.message, "anna", "again")
    replay(desk.store, desk.writer, "FR", [PRM])
    assert history_before(desk.store, engine, desk.markets, number) == seen


def test_a_waiting_message_tells_the_rule_that_makes_it_wait(tmp_path: Path) -> None:
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([reading(PRM, day(31), 1_200_000)])
    found = explain(desk.store, shipped_rules(), ParallelEngine(shipped_rules()), desk.markets, 1)
    assert found is not None
    assert [(rule.code, rule.outcome) for rule in found.failed if rule.outcome == "waits"] == [
        ("common-data-waits-for-supply", "waits")
    ]
    assert found.evidence[0].error_class == "missing"


def test_what_the_gateway_itself_refused_is_told_too(tmp_path: Path) -> None:
    """A value out of its bounds is no error of the market's schema: it was recorded when the message came."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    bounds = Refusal(code="CH_VALUE", path="type", value="x", expected="a code of 40 characters at most")
    desk.deliver([structs.replace(reading(PRM, day(31), 1), messages=(), refusals=(bounds,))])
    config = load(tmp_path, {"ENERGYCOMM_DATABASE": f"sqlite:///{tmp_path}/eis.db"})
    found = explain_ch_message(config, desk.store, 1)
    assert found is not None
    assert (found.message_id, found.ch_message_id, found.state, found.access_point) == (None, 1, "refused", PRM)
    assert bounds in found.schema_errors
    assert explain_ch_message(config, desk.store, 2) is None


def test_there_is_nothing_to_say_of_what_is_not_there(tmp_path: Path) -> None:
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    assert explain(desk.store, shipped_rules(), ParallelEngine(shipped_rules()), desk.markets, 99) is None


@pytest.fixture(scope="module")
def lenient(tmp_path_factory: pytest.TempPathFactory, project_root: Path) -> Path:
    """The shipped rules, but that an index which goes back is only warned of."""
    folder = tmp_path_factory.mktemp("lenient") / "rules"
    shutil.copytree(project_root / "rules", folder, ignore=shutil.ignore_patterns("__pycache__"))
    (rule,) = shipped_rules().find("CO-R05")
    file = folder / rule.file
    lines = file.read_text("utf-8").splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if "error_code: CO-R05" in line)
    lines.insert(place, "    severity: warning\n")
    file.write_text("".join(lines), "utf-8")
    return folder


@pytest.mark.thorough
def test_changed_rules_are_tried_on_stored_messages(database_url: str, lenient: Path) -> None:
    """The reading would be accepted; the one after it is compared with it then; nothing is stored."""
    desk = Desk(database_url)
    number = refused(desk)
    before = desk.rows("SELECT id, state FROM kernel_message ORDER BY id")
    with impact(desk.store, desk.markets, question(lenient, desk.markets, 0)) as found:
        assert found.judged == len(before)
        assert {shift.message_id: shift.words for shift in found.shifts()} == {number: "rejected CO-R05 -> accepted"}
        assert found.words == {"rejected CO-R05 -> accepted": 1}
    assert desk.rows("SELECT id, state FROM kernel_message ORDER BY id") == before


@pytest.mark.thorough
def test_the_rules_of_today_change_nothing(database_url: str, project_root: Path) -> None:
    """The second judgement agrees with the stored verdicts."""
    desk = Desk(database_url)
    refused(desk)
    with impact(desk.store, desk.markets, question(project_root / "rules", desk.markets, 0)) as found:
        assert found.judged > 0
        assert list(found.shifts()) == []


@pytest.mark.thorough
def test_two_versions_differ_in_words(tmp_path: Path, lenient: Path, project_root: Path) -> None:
    """A stored version by the beginning of its hash, the other by its folder."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    with desk.store.transaction() as tx:
        tx.rules_version("feed0123", "parallel", rule_texts(project_root / "rules"), NOW)
    found = differences(catalogue_named(desk.store, "feed"), catalogue_named(desk.store, str(lenient)))
    assert [(change, what.split()[0], how) for change, what, how in found] == [
        ("changed", "CO-R05", "severity: error -> warning")
    ]
    with pytest.raises(UserError, match="no version"):
        catalogue_named(desk.store, "beef")


@pytest.mark.thorough
def test_the_rules_of_a_day_are_those_that_were_used_last_before_its_end(
    database_url: str, lenient: Path, project_root: Path
) -> None:
    desk = Desk(database_url)
    with desk.store.transaction() as tx:
        tx.rules_version(
            "feed01", "parallel", rule_texts(project_root / "rules"), micros(datetime(2025, 1, 1, tzinfo=UTC))
        )
        tx.rules_version("beef01", "parallel", rule_texts(lenient), micros(datetime(2025, 3, 1, 12, tzinfo=UTC)))
    assert [one.version for one in versions_of(desk.store)][-2:] == ["beef01", "feed01"], "the newest first"
    assert catalogue_named(desk.store, "2025-03-01").find("CO-R05")[0].severity == "warning"
    assert catalogue_named(desk.store, "2025-02-28").find("CO-R05")[0].severity == "error"
    with pytest.raises(UserError, match=r"no version") as refused_:
        catalogue_named(desk.store, "2024-12-31")
    assert "beef01 since 2025-03-01" in refused_.value.advice


@pytest.mark.thorough
def test_the_commands_say_it_too(
    tmp_path: Path, lenient: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`message explain` and `rules impact`, for scripts and for people."""
    url = f"sqlite:///{tmp_path}/eis.db"
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    monkeypatch.chdir(tmp_path)
    desk = Desk(url)
    number = refused(desk)
    with desk.store.transaction() as tx:
        tx.rules_version("beef01", "parallel", rule_texts(lenient), NOW)
    capsys.readouterr()
    assert cli.main(["message", "explain", str(number)]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "CO-R05" in shown
    assert "previous.index_wh" in shown
    assert cli.main(["rules", "impact", "--since", "2020-01-01", "--rules", str(lenient), "--json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["changes"] == {"rejected CO-R05 -> accepted": 1}
    assert cli.main(["message", "explain", "99"]) == ExitCode.USAGE
    assert cli.main(["rules", "versions", "--json"]) == ExitCode.OK
    assert "beef01" in {one["version"] for one in json.loads(capsys.readouterr().out)}
    assert cli.main(["rules", "impact", "--since", "2020-01-01", "--rules", "beef", "--json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["changes"] == {"rejected CO-R05 -> accepted": 1}


@pytest.mark.thorough
def test_a_changed_function_is_told_with_the_rules_that_call_it(tmp_path: Path, project_root: Path) -> None:
    """Its code, a constant that it uses; a rewritten comment or docstring of more than its first line is no change."""
    changed = tmp_path / "rules"
    shutil.copytree(project_root / "rules", changed, ignore=shutil.ignore_patterns("__pycache__"))
    file = changed / "predicates.py"
    text = file.read_text("utf-8")
    for old, new in (
        ("large > 100_000 and small > 0", "large > 200_000 and small > 0"),
        ('"m3": 1_000,', '"m3": 1_001,'),
        ("    return len(text) == 18 and gs1_ok(text)", "    # the same\n    return len(text) == 18 and gs1_ok(text)"),
    ):
        assert old in text
        text = text.replace(old, new)
    file.write_text(text, "utf-8")
    found = differences(shipped_rules(), load_catalogue(changed, check_examples=False))
    told = {what: how for change, what, how in found if change == "changed"}
    assert "gsrn_ok" not in str(told)
    assert "100000" in told["predicate thousandfold"]
    assert "called by CO-R07" in told["predicate thousandfold"]
    assert "WH_OF_UNIT, which it uses" in told["predicate wh"]
    assert all(change == "changed" and what.startswith("predicate ") for change, what, _ in found)
    (changed / "predicates.py").write_text(text + "\n\nALONE = 1\n", "utf-8")
    assert (
        differences(load_catalogue(changed, check_examples=False), load_catalogue(changed, check_examples=False)) == []
    )
