"""The language model of the verdicts: what it may write, how it learns, what it keeps; with networks made here."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from assistant.classifier.answers import OPEN, SLOTS, Decoding, answer_form
from assistant.classifier.constraint import Grammar, LabelTrie
from assistant.classifier.language import LanguageModel
from assistant.classifier.notes import Note
from assistant.classifier.port import Example
from assistant.classifier.recipe import Recipe, read_recipe
from assistant.classifier.record import read_record
from assistant.classifier.tokenizer import compact, encode, train_tokenizer
from assistant.classifier.training import Course, Mark
from assistant.classifier.training_commands import seconds_of
from assistant.trust import CHECKPOINT
from energycomm.errors import UserError

FACTS = {"FR-A01": "register.value<0", "FR-A02": "absent:meter", "CO-A03": "effective>created"}
NOTES = {
    code: Note(code=code, markets=("FR",), facts={"MeterReading": fact}, sentence=f"Rule {code}.")
    for code, fact in FACTS.items()
}
TINY = Recipe(
    hidden=32,
    layers=1,
    heads=2,
    vocabulary=400,
    batch=8,
    evaluations=3,
    threads=1,
    learning_rate=0.005,
    told=0,
    epochs=12,
)
LONG = 600.0
"""Seconds that no training here needs: it ends with its last epoch, after as many steps on every machine."""


def example(number: int, draw: random.Random) -> Example:
    """A message that breaks none to two rules, and says so in its facts."""
    codes = sorted(draw.sample(sorted(FACTS), draw.choice((0, 1, 1, 2))))
    facts = " ".join(FACTS[code] for code in codes) or "none"
    text = f"FR MeterReading R151 | facts {facts} | fields register.value={draw.randint(1, 99)}"
    forms: Any = {"raw": text, "deltas": text, "facts": text}
    return Example(
        id=str(number),
        market="FR",
        kind="MeterReading",
        access_point=str(number),
        at="",
        codes=tuple(codes),
        forms=forms,
    )


@pytest.fixture(scope="module")
def lessons() -> list[Example]:
    draw = random.Random(1)
    return [example(number, draw) for number in range(400)]


@pytest.fixture(scope="module")
def learnt(lessons: list[Example]) -> LanguageModel:
    """A model that learnt these three rules."""
    model = LanguageModel(TINY, notes=NOTES)
    model.fit(lessons[:340], lessons[340:], LONG)
    return model


def walk(constraint: Any, names: tuple[str, ...], tokenizer: Any, draw: random.Random) -> str:
    writer, tokens = constraint.begin(names), []
    while allowed := writer.allowed():
        tokens.append(draw.choice(allowed))
        writer.take(tokens[-1])
    text: str = tokenizer.decode(tokens)
    return OPEN + text


@pytest.mark.parametrize("form", ["token", "code", "words"])
@pytest.mark.parametrize("constraint", [LabelTrie, Grammar])
def test_whatever_is_chosen_the_answer_is_json_that_does_not_contradict_itself(form: Any, constraint: Any) -> None:
    titles = {"FR-A01": "Index is not below 0", "FR-A02": "Index is not below 0, ever", "CO-A03": 'A "sign"'}
    answers = answer_form(form, FACTS, titles)
    tokenizer = train_tokenizer(["some words"] * 3, list(FACTS) if form == "token" else [], 300)
    made, names = constraint(tokenizer), tuple(answers.names[code] for code in answers.codes)
    draw = random.Random(5)
    texts = {walk(made, names, tokenizer, draw) for _ in range(800)}
    labels = {answers.read(text) for text in texts}
    assert all(set(json.loads(text)) == {"class", "error_code"} for text in texts)
    # Every sorted set of the three codes can be written, accepted too; nothing else.
    assert len(labels) == 8
    assert all(json.loads(text)["class"] == ("rejected" if answers.read(text) else "accepted") for text in texts)


def test_only_the_codes_of_a_place_can_be_named() -> None:
    tokenizer = train_tokenizer(["some words"], list(FACTS), 300)
    for made in (LabelTrie(tokenizer), Grammar(tokenizer)):
        texts = {walk(made, ("FR-A02",), tokenizer, random.Random(number)) for number in range(30)}
        assert {json.loads(text)["error_code"] for text in texts} == {"", "FR-A02"}
        assert json.loads(walk(made, (), tokenizer, random.Random(1)))["class"] == "accepted"


def test_an_answer_that_contradicts_itself_is_no_answer() -> None:
    answers = answer_form("token", FACTS)
    for text in (
        '{"class": "accepted", "error_code": "FR-A01"}',
        '{"class": "rejected", "error_code": ""}',
        '{"class": "rejected", "error_code": "FR-A01, FR-A01"}',
        '{"class": "rejected", "error_code": "FR-Z99"}',
        "rejected",
    ):
        with pytest.raises(ValueError, match=r"answer|contradicts"):
            answers.read(text)


def test_any_text_goes_through_our_tokenizer_and_back() -> None:
    tokenizer = train_tokenizer(["FR MeterReading fields register.value=17"] * 5, list(FACTS), 300)
    for text in ("FR MeterReading 123456789", "été — <rule-1> {}", 'x"}y'):
        assert tokenizer.decode(encode(tokenizer, text)) == text
    assert len(encode(tokenizer, "FR-A01")) == 1


def test_a_frequent_word_is_one_token_and_a_rare_one_is_written_in_pieces() -> None:
    tokenizer = train_tokenizer(["FR MeterReading R151 | facts register.value<0"] * 4 + ["FR seldom"], size=400)
    assert tokenizer.tokenize(" register.value<0 |") == ["Ġregister.value<0", "Ġ|"]
    assert len(encode(tokenizer, " seldom")) > 1


def test_of_numbers_the_model_reads_the_sign_alone() -> None:
    text = "FR MeterReading R151 | facts index<0 | deltas days=-1.5e7..3 value=0 | fields at=2025-03-07 from=-3d"
    assert compact(text) == "FR MeterReading R151 | facts index<0 | deltas days=-+ value=0 | fields at=+ from=-"
    assert compact("access_point=9x18 energy=gas before MeterReading/DAY/-8d") == (
        "access_point=9x18 energy=gas before MeterReading/DAY"
    )


def test_the_model_learns_from_facts_and_answers_several_codes(learnt: LanguageModel, lessons: list[Example]) -> None:
    unseen = [example(number, random.Random(number)) for number in range(900, 960)]
    found = learnt.predict([one.text() for one in unseen])
    assert sum(a.codes == b.codes for a, b in zip(found, unseen, strict=True)) >= 57
    assert all(0 < one.probability <= 1 for one in found)
    assert learnt.record.marks[-1].loss < learnt.record.marks[0].loss
    assert learnt.record.examples == (340, 60)


def test_grammar_and_scoring_of_labels_agree_and_so_do_batches(learnt: LanguageModel, lessons: list[Example]) -> None:
    texts, chosen = [one.text() for one in lessons[:40]], learnt.decoding
    way: Decoding
    said = {}
    for way in ("labels", "grammar", "judged"):
        learnt.decoding = way
        together = learnt.predict(texts)
        alone = [learnt.predict([text])[0] for text in texts]
        said[way] = [one.codes for one in together]
        assert said[way] == [one.codes for one in alone]
        assert together[3].probability == pytest.approx(alone[3].probability, abs=1e-4)
    learnt.decoding = chosen
    assert said["labels"] == said["grammar"]
    # Codes that are judged one by one, by so small a network, are nearly always those that it writes.
    assert sum(a == b for a, b in zip(said["labels"], said["judged"], strict=True)) >= 36


def test_a_saved_model_answers_the_same(learnt: LanguageModel, lessons: list[Example], tmp_path: Path) -> None:
    learnt.save(tmp_path)
    again = LanguageModel()
    again.load(tmp_path)
    texts = [one.text() for one in lessons[:20]]
    assert again.decoding == learnt.decoding
    assert [one.codes for one in again.predict(texts)] == [one.codes for one in learnt.predict(texts)]
    assert read_record(tmp_path).places == {"FR MeterReading": ("CO-A03", "FR-A01", "FR-A02")}
    with pytest.raises(UserError, match="no trained language model"):
        read_record(tmp_path / "nowhere")


def test_a_rule_of_which_no_message_is_known_is_learnt_from_its_card(lessons: list[Example]) -> None:
    known = [one for one in lessons if "CO-A03" not in one.codes]
    model = LanguageModel(TINY, notes=NOTES)
    model.fit(known[:-40], known[-40:], LONG)
    text = "FR MeterReading R151 | facts effective>created | fields register.value=5"
    assert model.predict([text])[0].codes == ("CO-A03",)


def test_a_training_that_broke_off_goes_on_where_it_was(lessons: list[Example], tmp_path: Path) -> None:
    marks: list[Mark] = []

    def broken(mark: Mark) -> None:
        marks.append(mark)
        if len(marks) == 2:
            raise KeyboardInterrupt

    model = LanguageModel(TINY, notes=NOTES, course=Course(budget=0, folder=tmp_path, report=broken))
    with pytest.raises(KeyboardInterrupt):
        model.fit(lessons[:120], lessons[120:160], LONG)
    assert (tmp_path / CHECKPOINT).exists()
    again = LanguageModel(TINY, notes=NOTES, course=Course(budget=0, folder=tmp_path, resume=True))
    again.fit(lessons[:120], lessons[120:160], LONG)
    # The second mark was told before it was kept: what is kept is the first.
    assert again.record.marks[0] == marks[0]
    # The same steps are taken again, on the same messages.
    assert again.record.marks[1].step == marks[1].step
    assert again.record.marks[1].loss == pytest.approx(marks[1].loss, rel=1e-4)
    assert not (tmp_path / CHECKPOINT).exists()


def test_told_rules_are_answered_by_their_slots(lessons: list[Example]) -> None:
    from assistant.classifier.notes import draw_notes, retrieve, tell

    told = tell([NOTES["FR-A02"]], "MeterReading")
    assert told.named(("FR-A01", "FR-A02")) == ["FR-A01", SLOTS[0]]
    assert told.codes(["FR-A01", SLOTS[0]]) == ("FR-A01", "FR-A02")
    text = "FR MeterReading R151 | facts absent:meter"
    assert next(iter(retrieve(NOTES, text).slots.values())) == "FR-A02"
    assert retrieve(NOTES, "NL MeterReading x | facts absent:meter").slots == {}
    draws = [draw_notes(NOTES, text, ("FR-A02",), 0.5, random.Random(number)) for number in range(200)]
    assert 60 < sum(bool(one.slots) for one in draws) < 140
    assert {slot for one in draws for slot in one.slots} == set(SLOTS)


def test_settings_that_do_not_exist_are_named() -> None:
    assert read_recipe({"hidden": "64", "labels": "words"}) == Recipe(hidden=64, labels="words")
    with pytest.raises(UserError, match="hiden"):
        read_recipe({"hiden": "64"})
    with pytest.raises(UserError, match="recipe"):
        read_recipe({"hidden": "many"})


@pytest.mark.parametrize(("budget", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("1h", 3600)])
def test_times_are_read(budget: str, seconds: float) -> None:
    assert seconds_of(budget) == seconds


def test_what_is_no_time_is_refused() -> None:
    for budget in ("soon", "0m", "-5s"):
        with pytest.raises(UserError, match="no time"):
            seconds_of(budget)
