"""Simple models of the verdicts: what they learn, that they know what they do not know, and how they are measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.classifier.baselines import Majority, PerCode
from assistant.classifier.comments import Comments
from assistant.classifier.evaluation import evaluate
from assistant.classifier.features import Columns, WordCounts
from assistant.classifier.measures import by_code, confusions, scores
from assistant.classifier.models import fit_model, make_model, open_model
from assistant.classifier.port import Card, Example, Prediction, Split, write_dataset
from assistant.classifier.storage import read_model
from energycomm.errors import UserError

COMMENT = {"CO-R05": "The index {register.value} is too low.", "FR-R03": "The unit is {register.unit}."}


def _example(number: int, split: Split = "train") -> Example:
    """A reading; every third has an index that goes back, every fourth a wrong unit."""
    low, unit = number % 3 == 0, number % 4 == 0
    facts = [*(["register.value<previous"] if low else []), *(["not:unit"] if unit else [])] or ["none"]
    codes = tuple(code for code, holds in (("CO-R05", low), ("FR-R03", unit)) if holds)
    values = {"register.value": str(number), "register.unit": "MWh"}
    text = (
        f"FR MeterReading R15 - - original | facts {' '.join(facts)} | fields register.value={number} | before nothing"
    )
    return Example(
        id=f"t-{number}",
        market="FR",
        kind="MeterReading",
        access_point=str(number % 20),
        at="2025-01-01T00:00:00Z",
        codes=codes,
        comment=Comments(COMMENT).of_values(codes, values),
        forms={"raw": text, "deltas": text, "facts": text},
        values=values,
        history_length=number % 30,
        rules_version="r1",
        split=split,
    )


TRAIN = [_example(number) for number in range(240)]
VALID = [_example(number, "valid") for number in range(240, 300)]
POINTS = [_example(number, "points") for number in range(300, 400)]
MONTHS = [_example(number, "months") for number in range(400, 450)]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    file = tmp_path / "set.jsonl"
    card = Card(rules_versions=("r1",), tokens=160, comments=COMMENT, made={"held_out": ["FR-R03"]})
    write_dataset(file, card, [*TRAIN, *VALID, *POINTS, *MONTHS])
    return file


@pytest.mark.parametrize("kind", ["tfidf", "boosting"])
def test_a_model_of_every_code_learns_several_codes_at_once_and_is_the_same_when_it_is_opened_again(
    kind: str, tmp_path: Path
) -> None:
    model = make_model(kind)
    model.fit(TRAIN, VALID)
    texts = [one.text() for one in POINTS]
    said = model.predict(texts)
    assert [one.codes for one in said] == [one.codes for one in POINTS]
    assert any(len(one.codes) == 2 for one in said)
    assert min(one.probability for one in said) > 0.9
    model.save(tmp_path / "model")
    again = open_model(tmp_path / "model")
    assert again.predict(texts) == said
    assert not [path for path in (tmp_path / "model").iterdir() if path.suffix in (".pkl", ".joblib", ".pickle")]


def test_a_model_does_not_answer_about_a_kind_of_message_it_never_saw() -> None:
    model = PerCode("tfidf")
    model.fit(TRAIN, VALID)
    (known, other) = model.predict([POINTS[0].text(), "NL GridInvoice F15 - - original | facts none"])
    assert not known.abstained
    assert other.abstained
    assert other.probability == 0.0


def test_the_majority_says_always_the_same() -> None:
    model = Majority()
    model.fit(TRAIN, VALID)
    (said,) = model.predict([POINTS[0].text()])
    assert said.codes == ()
    assert said.probability == pytest.approx(0.5)


def test_numbers_are_columns_and_what_is_not_there_is_told_apart_from_zero() -> None:
    columns = Columns(least=1)
    columns.fit(["FR A B - - original | fields x=2..5d y=word"])
    rows = columns.rows(["FR A B - - original | fields x=0", "FR A B - - original | fields y=word"]).toarray()
    at = columns.columns
    assert rows[0, at["fields:x?"]] == 1
    assert rows[1, at["fields:x?"]] == 0
    assert rows[1, at["fields:y=word"]] == 1
    assert {"fields:x", "fields:x^"} <= set(at)


def test_of_a_number_words_keep_the_sign() -> None:
    words = WordCounts(least=1)
    words.fit(["a=-3 b=0 c=1.5e3 d=4..9 e=f"])
    assert set(words.columns) == {"a=-", "b=0", "c=+", "d=+", "e=f"}


def test_measures_tell_exact_codes_from_overlapping_ones_and_fill_the_comment_in() -> None:
    examples = [one for one in POINTS if len(one.codes) == 2][:1] + [one for one in POINTS if not one.codes][:1]
    said = [Prediction(codes=("CO-R05",), probability=0.9), Prediction(probability=0.9, abstained=True)]
    found = scores(examples, said, Comments(COMMENT))
    assert (found.klass.value, found.exact.value, found.overlap.value) == (1.0, 0.5, 0.75)
    assert 0 < found.rouge.value < 1
    assert found.triplet.value == 0.5
    assert (found.coverage, found.answered) == (0.5, 0.0)
    assert found.calibration == pytest.approx(0.5)
    assert confusions(examples, said) == {("CO-R05, FR-R03", "CO-R05"): 1}
    assert {row.code: (row.precision, row.recall) for row in by_code(examples, said)} == {
        "CO-R05": (1.0, 1.0),
        "FR-R03": (0.0, 0.0),
    }


def test_the_report_holds_every_model_on_both_kept_parts_and_on_spoilt_texts(dataset: Path, tmp_path: Path) -> None:
    report, measured = evaluate(dataset, tmp_path / "models", ["majority", "tfidf", "language"], "the command")
    assert [one.kind for one in measured] == ["majority", "tfidf"]
    main = report.tables[0]
    assert [(row["model"], row["on"]) for row in main.rows] == [
        ("majority", "access points"),
        ("majority", "months"),
        ("TF-IDF + LR", "access points"),
        ("TF-IDF + LR", "months"),
    ]
    text = report.markdown()
    assert "history missing" in text
    assert "Messages that break a rule unknown to the models (FR-R03)" in text
    assert read_model(tmp_path / "models" / "tfidf")["examples"] == [240, 60]


def test_a_model_is_fitted_again_when_the_data_set_is_another(dataset: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models" / "tfidf"
    fit_model("tfidf", dataset, folder)
    before = read_model(folder)["version"]
    write_dataset(dataset, Card(comments=COMMENT), [*TRAIN[:200], *VALID, *POINTS])
    evaluate(dataset, tmp_path / "models", ["tfidf"], "")
    assert read_model(folder)["version"] != before


def test_what_is_no_model_is_said_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no model"):
        open_model(tmp_path)
    with pytest.raises(UserError, match="no model 'oracle'"):
        make_model("oracle")
    write_dataset(tmp_path / "empty.jsonl", Card(), [])
    with pytest.raises(UserError, match="nothing to learn from"):
        fit_model("tfidf", tmp_path / "empty.jsonl", tmp_path / "model")


def test_codes_that_the_time_was_too_short_for_are_named() -> None:
    model = PerCode("boosting")
    model.fit(TRAIN, VALID, budget=0.000001)
    assert model.unlearned == ["CO-R05", "FR-R03"]
