"""The second opinion in the product: kept beside verdicts by a process of its own, listed where it differs, watched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from assistant.classifier.dataset import Amounts, Builder
from assistant.classifier.drift import LEAST, Pair, drift, read_pairs
from assistant.classifier.models import fit_model
from assistant.classifier.opinion import Adviser, shadow
from assistant.classifier.port import LEAST_ACCEPTED, NO_OPINION, Example, write_dataset
from assistant.classifier.samples import measured
from assistant.classifier.serialisation import Serialiser
from assistant.commands import app
from energycomm.eis.messages import show_message
from energycomm.eis.predictions import disagreements
from energycomm.errors import UserError
from tests.pipeline.desk import Desk, shipped_rules
from tests.pipeline.story import day, reading, story
from tests.stored import clear_xml

PRM = "99000000000017"
MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that learned from six lives and from what is made around two rules."""
    folder = tmp_path_factory.mktemp("model")
    desk = Desk(f"sqlite:///{folder / 'eis.db'}")
    for number in range(6):
        desk.deliver(story(f"990000000{number:05d}"))
    serialiser = Serialiser(shipped_rules())
    builder = Builder(
        shipped_rules(), desk.engine, desk.markets, serialiser, Amounts(per_code=30, accepted=60, near=10)
    )
    builder.take({"eis": nullcontext(desk.store)})
    card, examples = builder.result({})
    write_dataset(folder / "set.jsonl", card, [*examples, *(_as_valid(one) for one in examples[:20])])
    fit_model("tfidf", folder / "set.jsonl", folder / "few")
    enough = replace(card, flows=dict.fromkeys(card.flows, LEAST_ACCEPTED))
    write_dataset(folder / "set.jsonl", enough, [*examples, *(_as_valid(one) for one in examples[:20])])
    fit_model("tfidf", folder / "set.jsonl", folder / "tfidf")
    while Desk.open:
        Desk.open.pop().database.dispose()
    return folder / "tfidf"


def _as_valid(example: Example) -> Example:
    return replace(example, split="valid", id=f"{example.id}-v")


@pytest.fixture(autouse=True)
def _close_desks() -> Iterator[None]:
    yield
    while Desk.open:
        Desk.open.pop().database.dispose()


def test_shadow_keeps_what_the_model_says_of_every_message_and_changes_nothing_else(
    database_url: str, model: Path
) -> None:
    desk = Desk(database_url)
    desk.deliver(story(PRM))
    before = desk.states()
    adviser = Adviser(model, shipped_rules(), desk.engine, desk.markets)
    batches = list(shadow(desk.store, adviser))
    ((messages,),) = desk.rows("SELECT COUNT(*) FROM kernel_message")
    assert sum(asked for asked, _ in batches) == messages
    assert desk.states() == before
    ((rejected,), *_) = desk.rows("SELECT id FROM kernel_message WHERE state = 'rejected' ORDER BY id")
    shown = show_message(desk.database, rejected)
    assert shown is not None
    (said,) = shown.predictions
    assert said.codes == ("CO-R05",)
    assert said.agrees or said.abstained
    assert "1200" in said.comment
    assert said.rules == desk.engine.version
    assert list(shadow(desk.store, adviser)) == []
    desk.deliver([reading(PRM, day(240), 1_700_000, contract="987654321")])
    assert list(shadow(desk.store, adviser)) == [(1, 0)]


def test_a_model_has_no_opinion_of_a_flow_of_which_it_saw_too_few_accepted_messages(
    tmp_path: Path, model: Path
) -> None:
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    desk.deliver(story(PRM))
    numbers = [row[0] for row in desk.rows("SELECT id FROM kernel_message")]
    few = Adviser(model.parent / "few", shipped_rules(), desk.engine, desk.markets)
    said = few.opinions(desk.store, numbers)
    assert {one.klass for one in said} == {NO_OPINION}
    assert all(one.abstained and one.error_code == "" and one.agrees is None for one in said)
    assert "accepted messages of FR " in said[0].comment
    whole = measured(desk.store, few)[-1]
    assert (whole.flow, whole.no_opinion, whole.answered) == ("all", whole.messages, 0)
    enough = measured(desk.store, Adviser(model, shipped_rules(), desk.engine, desk.markets))[-1]
    assert enough.no_opinion == 0
    assert enough.answered_right <= enough.answered <= enough.messages == whole.messages


def test_a_message_that_is_judged_again_is_asked_about_again(database_url: str, model: Path) -> None:
    desk = Desk(database_url)
    parts = story(PRM)
    desk.deliver([parts[0], parts[4]])
    adviser = Adviser(model, shipped_rules(), desk.engine, desk.markets)
    list(shadow(desk.store, adviser))
    ((number, state),) = desk.rows("SELECT id, state FROM kernel_message WHERE kind = 'MeterReading'")
    assert state == "accepted"
    desk.deliver([parts[2]], now=int(datetime.now(UTC).timestamp() * 1e6) + 60_000_000)
    assert desk.rows(f"SELECT state FROM kernel_message WHERE id = {number}") == [("rejected",)]
    assert len(list(shadow(desk.store, adviser))) == 2, "it ends although the other clock runs ahead"
    shown = show_message(desk.database, number)
    assert shown is not None
    assert shown.predictions[0].codes == ("CO-R05",)


def _pairs(number: int, right: int, rules: str, since: datetime, code: str = "CO-R05") -> list[Pair]:
    said = [(code,)] * right + [()] * (number - right)
    return [
        Pair("m 1", "r1", "FR", (code,), one, False, rules, since + timedelta(hours=n)) for n, one in enumerate(said)
    ]


def test_agreement_that_falls_when_rules_move_and_the_model_does_not_is_an_alarm() -> None:
    old = _pairs(200, 198, "r1", MONDAY)
    found = drift(old + _pairs(60, 30, "r2", MONDAY + timedelta(days=14)), "r2")
    assert {(alarm.what, alarm.rules) for alarm in found.alarms} == {("CO-R05", "r2"), ("FR", "r2")}
    assert found.alarms[0].before == 0.99
    assert found.alarms[0].after == 0.5
    assert found.outdated == ("m 1",)
    assert [share.group for share in found.weeks][:2] == ["2026-03-02", "2026-03-09"]
    assert found.codes[0].agreed < 1


def test_rules_that_move_without_the_model_being_wrong_and_few_messages_are_no_alarm() -> None:
    old = _pairs(200, 198, "r1", MONDAY)
    assert drift(old + _pairs(60, 60, "r2", MONDAY), "r2").alarms == ()
    assert drift(old + _pairs(LEAST - 1, 0, "r2", MONDAY), "r2").alarms == ()
    assert drift(old + _pairs(60, 30, "r1", MONDAY), "r1").alarms == ()


def test_what_shadow_kept_is_held_against_the_verdicts_as_they_are_now(database_url: str, model: Path) -> None:
    desk = Desk(database_url)
    desk.deliver(story(PRM))
    adviser = Adviser(model, shipped_rules(), desk.engine, desk.markets)
    list(shadow(desk.store, adviser))
    pairs = read_pairs(desk.store)
    ((judged,),) = desk.rows("SELECT COUNT(*) FROM kernel_message WHERE state IN ('accepted', 'rejected')")
    assert len(pairs) == judged
    assert {pair.rules for pair in pairs} == {desk.engine.version}
    assert read_pairs(desk.store, "another") == []
    wrong = [one for one in disagreements(desk.database) if one.codes]
    assert all(not one.abstained for one in wrong)


def test_the_commands_speak_of_a_message_a_file_and_all_that_were_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'eis.db'}"
    desk = Desk(url)
    desk.deliver(story(PRM))
    ((number, xml), *_) = desk.rows("SELECT id, xml FROM kernel_message WHERE state = 'rejected' ORDER BY id")
    (tmp_path / "message.xml").write_text(clear_xml(xml))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)

    def run(*words: str) -> tuple[int, str]:
        found = CliRunner().invoke(app, [*words])
        if found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception
        return found.exit_code, found.stdout

    of_model = ("--model", str(model))
    code, out = run("classify", str(number), "--json", *of_model)
    told = json.loads(out)
    assert code == int(told["abstained"])
    assert (told["klass"], told["error_code"], told["verdict"]) == ("rejected", "CO-R05", "CO-R05")
    _, out = run("classify", str(number), *of_model)
    assert "CO-R05" in out
    assert "What it read" in out
    _, out = run("classify", "message.xml", "--json", *of_model)
    assert json.loads(out)["verdict"] is None
    code, out = run("classify", "--rejected", *of_model)
    assert code == 0
    assert out.startswith(f"{number}\tFR\tMeterReading\tCO-R05\t") or f"\n{number}\t" in out
    code, out = run("shadow", "--once", *of_model)
    assert code == 0
    code, out = run("drift", "--json")
    assert code == 0
    assert json.loads(out)["outdated"] == []
    code, out = run("disagreements", "--json")
    assert code == 0
    assert isinstance(json.loads(out), list)
    for words, message in (
        (("classify",), "Name a message, a file, or --rejected"),
        (("classify", "999", *of_model), "no incoming Kernel message 999"),
        (("classify", "nothing.xml", *of_model), "cannot be read"),
        (("classify", "1"), "holds no model"),
    ):
        with pytest.raises(UserError, match=message):
            run(*words)
