"""A rule that is new is taught: its places are judged again, the rest is kept, and the model knows it afterwards."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.classifier.learning import Amounts, Lessons, Teacher, places_of, rules_named
from assistant.classifier.material import stored_verdicts
from assistant.classifier.port import Example
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import load_catalogue
from energycomm.engine.parallel import ParallelEngine
from energycomm.errors import UserError
from tests.pipeline.desk import Desk
from tests.pipeline.story import story

POINTS = [f"990000000{number:05d}" for number in range(10, 22)]

RULE = """
rule_set: validation_in
market: FR
rules:
  - code: fr-index-small
    error_code: FR-N01
    title: An index is small
    sentence: An index is below 1230.
    applies_to: [MeterReading]
    each: registers
    holds: register.value < 1230
    field: register.value
    comment:
      en: "The index of {access_point} is {register.value}."
      fr: "L'index de {access_point} est {register.value}."
    error_class: grid_operator
    source: "House rule"
    examples:
      - passes: {registers: [{grid: supplier, time_class: BASE, value: 1000, unit: kWh}]}
      - fails: {registers: [{grid: supplier, time_class: BASE, value: 1230, unit: kWh}]}
"""


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory, project_root: Path) -> Catalogue:
    """The shipped rules and a new one."""
    folder = tmp_path_factory.mktemp("new") / "rules"
    shutil.copytree(project_root / "rules", folder)
    (folder / "fr" / "new.yaml").write_text("# A new rule." + RULE, "utf-8")
    return load_catalogue(folder, check_examples=False)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """An EIS that was judged before the rule was there; it is only read."""
    desk = Desk(f"sqlite:///{tmp_path_factory.mktemp('judged') / 'eis.db'}")
    for prm in POINTS:
        desk.deliver(story(prm))
    yield desk
    while Desk.open:
        Desk.open.pop().database.dispose()


def old(number: int, kind: str) -> Example:
    forms = {"raw": "", "deltas": "", "facts": f"FR {kind} C15 | facts none"}
    split = random.Random(number).choice(("train", "valid", "points"))
    return Example(id=f"o-{number}", market="FR", kind=kind, access_point="a", at="", forms=forms, split=split)  # type: ignore[arg-type]


OLD = [old(number, kind) for number, kind in enumerate(["MeterReading", "CustomerData"] * 30)]


def lessons_of(desk: Desk, catalogue: Catalogue) -> Lessons:
    engine = ParallelEngine(catalogue)
    teacher = Teacher(catalogue, engine, desk.markets, desk.store, Amounts(stored=60, new=30, others=2, kept=10))
    return teacher.lessons(rules_named(catalogue, ["fr-index-small"]), OLD, ["FR"])


def test_what_the_rule_judges_is_made_anew_and_the_rest_is_kept(desk: Desk, catalogue: Catalogue) -> None:
    stored, _ = stored_verdicts(desk.store)
    readings = [one for one in stored if one.kind == "MeterReading"]
    assert not any("FR-N01" in one.codes for one in stored)
    lessons = lessons_of(desk, catalogue)
    assert {(one.market, one.kind) for one in lessons.fresh} == {("FR", "MeterReading")}
    assert {one.kind for one in lessons.kept} == {"CustomerData"}
    assert {one.split for one in lessons.kept} <= {"train", "valid"}
    # Each reading of the story with an index of 1230 kWh or more was accepted, and is refused now.
    assert 0 < lessons.relabelled <= len(readings)
    new = [one for one in lessons.fresh if "FR-N01" in one.codes]
    assert len(new) >= 30
    assert all("register.value>=1230" in one.text() for one in new)
    assert all("register.value>=1230" not in one.text() for one in lessons.fresh if "FR-N01" not in one.codes)
    # Other rules of the place are kept alive too.
    assert len({code for one in lessons.fresh for code in one.codes}) > 5
    assert lessons.notes["FR-N01"].facts["MeterReading"] == "register.value>=1230"


def test_the_same_store_and_rules_make_the_same_lessons(desk: Desk, catalogue: Catalogue) -> None:
    assert lessons_of(desk, catalogue) == lessons_of(desk, catalogue)


def test_a_rule_is_named_by_either_code_and_what_is_none_is_said(catalogue: Catalogue) -> None:
    (rule,) = rules_named(catalogue, ["FR-N01"])
    assert rules_named(catalogue, ["fr-index-small"]) == [rule]
    assert places_of([rule], ["FR", "NL"]) == [("FR", "MeterReading")]
    assert places_of([rule], ["NL"]) == []
    with pytest.raises(UserError, match="FR-X77"):
        rules_named(catalogue, ["FR-N01", "FR-X77"])


def test_a_taught_model_knows_the_rule_and_the_old_codes(desk: Desk, catalogue: Catalogue) -> None:
    from assistant.classifier.language import LanguageModel
    from assistant.classifier.learning_commands import teach
    from assistant.classifier.recipe import Recipe
    from assistant.classifier.training import Course

    # It ends with its epochs, not with the time: as much is learnt on a slow machine.
    recipe = Recipe(
        hidden=32, heads=2, vocabulary=500, evaluations=2, threads=1, learning_rate=0.01, epochs=8, checked=64
    )
    model = LanguageModel(recipe, course=Course(budget=0))
    before = [one for one in lessons_of(desk, catalogue).fresh if "FR-N01" not in one.codes]
    model.fit([one for one in before if one.split == "train"], [one for one in before if one.split == "valid"], 600)
    gain = teach(model, lessons_of(desk, catalogue), OLD, {"FR-N01"}, 600)
    assert gain.messages["new"] > 5
    assert gain.before["new"] == 0  # it had no word for it
    assert gain.after["new"] > 0.6
    assert gain.after["elsewhere"] > 0.9
    assert "FR-N01" in model.record.places["FR MeterReading"]
