"""What models of the verdicts learn from: facts that the rules read, written out without names, split without leaks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assistant.classifier.comments import Comments, values_of
from assistant.classifier.dataset import MOST_REFUSED, Amounts, Builder, balanced
from assistant.classifier.facts import Reader, atom_name, atoms
from assistant.classifier.material import Case, Stored, cases, pseudonym, stored_messages, stored_verdicts
from assistant.classifier.port import (
    LEAST_ACCEPTED,
    Card,
    Example,
    Prediction,
    Split,
    dataset_hash,
    read_card,
    read_dataset,
    write_dataset,
)
from assistant.classifier.robustness import shortened, shuffled, without_history
from assistant.classifier.serialisation import Serialiser, shape_of
from assistant.classifier.splits import splitter
from assistant.classifier.variation import Variations, judging
from energycomm.engine.parallel import ParallelEngine
from energycomm.errors import UserError
from energycomm.kernel.messages import CustomerData, MeterReading
from energycomm.kernel.parts import Address
from tests.pipeline.desk import Desk, shipped_rules
from tests.pipeline.story import day, head, reading, story, transaction

PRM = "99000000000017"
OTHER = "99000000000103"


@pytest.fixture(autouse=True)
def _close_desks() -> Iterator[None]:
    yield
    while Desk.open:
        Desk.open.pop().database.dispose()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An EIS with two access points; one has a customer, both an index that goes back."""
    return _lived(f"sqlite:///{tmp_path / 'eis.db'}")


def _lived(url: str) -> Desk:
    desk = Desk(url)
    customer = CustomerData(
        **head(PRM, day(0), "C15", "MES", "customer"),
        contract_reference="123456789",
        category="residential",
        surname="Lindqvist",
        first_name="Astrid",
        phone="+33612345678",
        address=Address(street="4 rue des Glycines", postal_code="31000", city="Toulouse"),
    )
    desk.deliver([*story(PRM)[:1], transaction([customer]), *story(PRM)[1:]])
    desk.deliver(story(OTHER))
    return desk


def _micro(year: int, month: int, day_: int) -> int:
    return int(datetime(year, month, day_, tzinfo=UTC).timestamp() * 1e6)


def _cases(desk: Desk) -> list[Case]:
    stored, _ = stored_verdicts(desk.store)
    return list(cases(desk.store, desk.engine, desk.markets, stored))


def _builder(desk: Desk, *without: str) -> Builder:
    serialiser = Serialiser(shipped_rules(), left_out=frozenset(without))
    return Builder(shipped_rules(), desk.engine, desk.markets, serialiser, Amounts(per_code=3, accepted=20, near=2))


def test_every_failing_example_of_a_rule_has_a_fact_that_speaks_against_it() -> None:
    catalogue = shipped_rules()
    reader = Reader(catalogue)
    silent = []
    for rule in judging(catalogue):
        for example in (one for one in rule.examples if one.judged == "fails"):
            kind = type(example.message).__name__
            whole, items = reader.spoken(example.message, example.history)
            spoken = {*whole, *(name for names in items for name in names)}
            own = {atom_name(*one) for one in atoms(rule.conditions[kind][1])}
            if not own & spoken:
                silent.append(f"{rule.error_code} line {example.line}")
    assert silent == []


def test_a_rule_that_is_left_out_has_no_facts_of_its_own() -> None:
    catalogue = shipped_rules()
    (rule,) = catalogue.find("FR-C07")
    (example,) = [one for one in rule.examples if one.judged == "fails"][:1]
    names = {atom_name(*one) for one in atoms(rule.conditions[type(example.message).__name__][1])}
    known, _ = Reader(catalogue).spoken(example.message, example.history)
    left, _ = Reader(catalogue, frozenset({"FR-C07"})).spoken(example.message, example.history)
    assert names & set(known)
    assert not names & set(left)


def test_verdicts_are_read_with_the_history_that_they_were_given_with(database_url: str) -> None:
    desk = _lived(database_url)
    (case,) = [one for one in _cases(desk) if one.stored.codes and one.message.access_point == PRM][:1]
    assert case.stored.codes == ("CO-R05",)
    assert isinstance(case.message, MeterReading)
    assert case.history.registers[0].index_wh == 1_240_000
    assert case.message.registers[0].value == 1200
    assert case.stored.rules_version == desk.engine.version
    assert "1200" in case.comments["CO-R05"]


def test_messages_that_wait_have_no_verdict_to_learn(database_url: str) -> None:
    desk = _lived(database_url)
    desk.deliver([reading("99000000000215", day(10), 5_000_000)])
    stored, left = stored_verdicts(desk.store)
    ((waiting,),) = desk.rows("SELECT id FROM kernel_message WHERE state = 'quarantined'")
    assert left == {"quarantined": 1}
    assert waiting not in [one.id for one in stored]
    (one,) = stored_messages(desk.store, [waiting])
    assert not one.judged


def test_no_name_address_telephone_number_or_identifier_of_a_customer_is_written(desk: Desk) -> None:
    builder = _builder(desk)
    builder.take({"eis": nullcontext(desk.store)})
    _, examples = builder.result({})
    assert any(one.kind == "CustomerData" for one in examples)
    written = "\n".join(msgspec.json.encode(one).decode() for one in examples)
    for private in ("Lindqvist", "Astrid", "612345678", "Glycines", "31000", "Toulouse", PRM, OTHER, "13451014311879"):
        assert private not in written


def test_the_shape_of_a_text_tells_signs_and_not_what_they_say() -> None:
    assert shape_of("Smith 1204") == "A.ax4._.9x4"
    assert shape_of("99000000000017") == "9x14"
    assert shape_of("a-b-c-d-e") == "a.-.a.-.a+"
    assert shape_of("") == "empty"


def test_equal_messages_are_written_alike_and_no_text_is_longer_than_its_budget(desk: Desk) -> None:
    short = Serialiser(shipped_rules(), budget=20)
    for case in _cases(desk):
        arguments = (case.message, case.history, case.earlier)
        forms = Serialiser(shipped_rules()).forms(*arguments)
        assert forms == Serialiser(shipped_rules()).forms(*arguments)
        assert all(len(text.split()) <= 20 for text in short.forms(*arguments).values())
        assert " facts " in forms["facts"]
        assert " facts " not in forms["deltas"]
        assert " deltas " not in forms["raw"]


def test_an_index_that_goes_back_is_told_as_fact_and_as_difference(desk: Desk) -> None:
    (case,) = [one for one in _cases(desk) if one.stored.codes and one.message.access_point == PRM][:1]
    forms = Serialiser(shipped_rules()).forms(case.message, case.history)
    assert "<previous.index_wh" in forms["facts"]
    assert "previous.index_wh=-4.00e4" in forms["deltas"]
    assert "register.value=1200" in forms["raw"]
    assert "previous.index_wh=1.24e6" in forms["raw"]


def test_an_access_point_is_on_one_side_only_and_a_kept_month_is_not_learned_from() -> None:
    instants = [int(datetime(2025, 1 + n % 10, 1 + n % 28, tzinfo=UTC).timestamp() * 1e6) for n in range(1000)]
    split = splitter(instants)
    assert split.months_from == datetime(2025, 10, 1, tzinfo=UTC)
    for number in range(300):
        point = pseudonym("FR", str(number))
        earlier = {split.split(point, datetime(2025, month, 3, tzinfo=UTC)) for month in range(1, 10)}
        assert len(earlier) == 1
        assert split.split(point, datetime(2025, 10, 3, tzinfo=UTC)) == "months"
    sides = [split.split(pseudonym("FR", str(n)), datetime(2025, 2, 1, tzinfo=UTC)) for n in range(2000)]
    assert 0.15 < sides.count("points") / 2000 < 0.25
    assert 0.07 < sides.count("valid") / 2000 < 0.13


def test_what_is_made_around_a_rule_has_the_verdict_of_the_kernel_on_both_sides(desk: Desk) -> None:
    carriers = [one for one in _cases(desk) if not one.stored.codes]
    variations = Variations(shipped_rules(), desk.engine, carriers, seed=1)
    (rule,) = shipped_rules().find("CO-R05")
    made = list(variations.around(rule, 5, 5))
    assert sum("CO-R05" in one.stored.codes for one in made) == 5
    assert sum("CO-R05" not in one.stored.codes for one in made) == 5
    for one in made:
        found = ParallelEngine(shipped_rules()).validate(one.message, one.history).findings
        assert tuple(sorted({f.error_code for f in found if f.severity == "error"})) == one.stored.codes
        assert one.origin == "rule"


def test_a_data_set_is_the_same_each_time_it_is_built_and_what_is_made_stays_with_its_access_point(desk: Desk) -> None:
    built = []
    for _ in range(2):
        builder = _builder(desk)
        builder.take({"eis": nullcontext(desk.store)})
        builder.vary()
        built.append(builder.result({"seed": 1}))
    assert built[0] == built[1]
    card, examples = built[0]
    assert len({one.id for one in examples}) == len(examples)
    assert sum(card.counts.values()) == len(examples)
    points = {one.access_point for one in examples if one.split == "points"}
    learned = {one.access_point for one in examples if one.split in ("train", "valid")}
    assert not points & learned
    assert all(list(one.codes) == sorted(set(one.codes)) for one in examples)


def test_the_months_that_are_kept_are_the_latest_of_all_stores_together(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = [Stored(n, "FR", "MeterReading", _micro(2025, 1 + n % 6, 3), None, (), "r", 0) for n in range(60)]
    late = [Stored(n, "FR", "MeterReading", _micro(2025, 1 + n % 10, 3), None, (), "r", 0) for n in range(400)]
    given: Iterator[tuple[list[Stored], dict[str, int]]] = iter([(old, {}), (late, {})])
    monkeypatch.setattr("assistant.classifier.dataset.stored_verdicts", lambda store: next(given))
    monkeypatch.setattr("assistant.classifier.dataset.cases", lambda *_: [])
    builder = _builder(desk)
    # A short EIS that ended in June kept all of June to October once, a third of what there was to learn from.
    builder.take({"eis": nullcontext(desk.store), "simulated": nullcontext(desk.store)})
    assert builder.result({})[0].made["months_from"] == "2025-09-01"


@pytest.mark.parametrize("command", ["dataset show", "train --model tfidf", "classify 17", "evaluate classifier"])
def test_without_its_packages_a_command_says_what_is_missing_and_does_not_break(command: str, tmp_path: Path) -> None:
    """As on a machine where only the gateway is installed."""
    absent = ["numpy", "scipy", "sklearn", "torch", "transformers"]
    program = f"""
import sys
sys.modules.update(dict.fromkeys({absent}))
from energycomm.cli import main
sys.exit(main(["assistant", *{command.split()}]))
"""
    found = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Traceback" not in found.stderr
    assert found.returncode in (2, 3)
    assert "dataset build" in found.stderr or "make assistant" in found.stderr


def test_a_rule_that_is_held_out_is_met_by_no_model_before_it_is_measured(desk: Desk) -> None:
    builder = _builder(desk, "CO-R05")
    builder.take({"eis": nullcontext(desk.store)})
    builder.vary()
    card, examples = builder.result({})
    assert card.made["held_out"] == ["CO-R05"]
    assert not [one for one in examples if "CO-R05" in one.codes and one.split in ("train", "valid")]
    assert [one for one in examples if "CO-R05" in one.codes]


def test_a_wrong_line_of_a_data_set_is_named(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    example = Example(id="a", market="FR", kind="MeterReading", access_point="p", at="2025", forms={"raw": "x"})
    write_dataset(file, Card(tokens=9), [example])
    assert read_dataset(file) == [example]
    assert read_card(file).tokens == 9
    assert len(dataset_hash(file)) == 16
    file.write_text(file.read_text() + json.dumps({"id": 4}) + "\n")
    with pytest.raises(UserError, match=r"Line 3 .*id"):
        read_dataset(file)
    with pytest.raises(UserError, match="cannot be read"):
        read_card(tmp_path / "none.jsonl")


def test_the_class_follows_from_the_codes_and_several_codes_are_one_string() -> None:
    said = Prediction(codes=("CO-R05", "FR-R03"), comment="Too low.")
    assert json.loads(said.answer()) == {"class": "rejected", "error_code": "CO-R05, FR-R03", "comment": "Too low."}
    assert json.loads(Prediction().answer())["class"] == "accepted"


def test_a_comment_is_filled_in_by_code_from_what_stands_in_the_text() -> None:
    text = "FR GridCharge F15 - - original | fields currency=USD invoice=A.9x4 | history tariff=X | before nothing"
    comments = Comments({"FR-G01": "Invoice {invoice} is in {currency}, not {other}."})
    assert values_of(text) == {"currency": "USD", "invoice": "A.9x4", "history.tariff": "X"}
    assert comments(["FR-G01", "unknown"], text) == "Invoice A.9x4 is in USD, not (absent)."


def test_texts_are_spoilt_without_losing_their_head() -> None:
    text = "FR MeterReading R15 | facts a<previous.b c | fields x=1 y=2 z=3 | history supplied=yes | before A/1d"
    other = shuffled(text)
    assert other != text
    assert sorted(other.split()) == sorted(text.split())
    assert other.startswith("FR MeterReading R15 | facts ")
    assert shortened(text) == "FR MeterReading R15 | facts a<previous.b c | fields"
    assert without_history(text) == "FR MeterReading R15 | facts c | fields x=1 y=2 z=3 | history | before nothing"


def test_refused_messages_of_a_flow_are_no_more_than_its_accepted_ones_bear_and_what_measures_stays_whole() -> None:
    def example(number: int, flow: str, refused: bool, split: Split = "train") -> Example:
        text = f"FR MeterReading {flow} - - original | facts"
        forms: Any = {"raw": text, "deltas": text, "facts": text}
        codes = ("FR-A01",) if refused else ()
        return Example(
            id=f"{flow}-{number}", market="FR", kind="MeterReading", access_point="", at="", codes=codes, forms=forms,
            split=split,
        )  # fmt: skip

    refused = [example(number, "R151", True) for number in range(400)]
    others = [example(number, "R15", True) for number in range(400)]
    accepted = [example(number, "R15", False) for number in range(400, 500)]
    kept = [example(number, "R151", True, "points") for number in range(500, 900)]
    found = balanced([*refused, *others, *accepted, *kept])
    left = Counter((one.text().split()[2], one.klass, one.split) for one in found)
    assert left["R151", "rejected", "train"] == MOST_REFUSED * LEAST_ACCEPTED
    assert left["R15", "rejected", "train"] == 400
    assert left["R151", "rejected", "points"] == 400
