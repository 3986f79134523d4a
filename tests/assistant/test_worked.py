"""The gold of questions that are worked out is computed from the files, and the judge can say no."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant.evaluation.worked import (
    DEVELOPMENT,
    UNSEEN,
    VISITORS,
    Given,
    Question,
    catalogue,
    measure,
    questions,
    right,
)
from assistant.operations.house import House
from energycomm.config import Config
from energycomm.eis.database import opened
from energycomm.eis.migrations import upgrade

REFUSED = ("refusal", "unknown")


@pytest.fixture(scope="module")
def known(project_root: Path) -> Iterator[sqlite3.Connection]:
    connection = catalogue(project_root / "rules")
    yield connection
    connection.close()


RETIRED = next(path for path in DEVELOPMENT if path.stem == "worked_retired")


@pytest.fixture(scope="module")
def store(project_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """The store of the demonstration, over which the questions are asked."""
    place = tmp_path_factory.mktemp("worked")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ENERGYCOMM_")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    command = ["sh", "docs/demo.sh", str(place)]
    subprocess.run(command, cwd=project_root, env=environment, check=True, capture_output=True, timeout=240)
    connection = sqlite3.connect(place / "energycomm.db")
    yield connection
    connection.close()


@pytest.mark.parametrize("path", [UNSEEN, VISITORS], ids=["unseen", "visitors"])
def test_there_are_150_questions_of_every_kind_in_three_languages(
    path: Path, known: sqlite3.Connection, store: sqlite3.Connection
) -> None:
    asked = list(questions(path, known, store))
    assert len(asked) == len({one.text for one in asked}) == 150
    assert set(Counter(one.language for one in asked)) == {"en", "fr", "nl"}
    assert Counter(one.kind for one in asked)["refusal"] >= 20


@pytest.mark.parametrize("path", [UNSEEN, VISITORS, RETIRED], ids=["unseen", "visitors", "retired"])
def test_every_question_has_gold_and_those_to_refuse_have_none(
    path: Path, known: sqlite3.Connection, store: sqlite3.Connection
) -> None:
    for one in questions(path, known, store):
        assert bool(one.gold) == (one.form not in REFUSED), one.id
        assert one.empty or one.form in REFUSED or any(one.gold), one.id


def test_the_gold_is_what_a_person_counts_in_the_files(
    project_root: Path, known: sqlite3.Connection, store: sqlite3.Connection
) -> None:
    """Counted by searching the text of the files, without reading YAML."""
    named = {one.id: one for one in questions(RETIRED, known, store)}
    text = (project_root / "rules/be/charges.yaml").read_text(encoding="utf-8")
    assert named["field-16"].gold[0] == {text.split("code: be-tax-rate-known\n")[1].split("error_code: ")[1].split()[0]}
    every = "".join(path.read_text(encoding="utf-8") for path in (project_root / "rules").glob("*/*.yaml"))
    assert named["count-04"].gold[0] == {str(every.count("\n    error_class: missing\n"))}
    assert named["count-05"].gold[0] == {str(every.count("\n    ebix: E50\n"))}


def question(form: str, *gold: set[str], empty: bool = False) -> Question:
    return Question("x-01", "x", "en", "?", form, tuple(frozenset(one) for one in gold), empty)  # type: ignore[arg-type]


def said(text: str, *rows: tuple[str, ...], worked: bool = True) -> Given:
    return Given(worked, text, rows, "rules/fr/head.yaml:3")


@pytest.mark.parametrize(
    ("asked_for", "good", "bad"),
    [
        (question("number", {"12"}), said("12 rules of FR-R13 hold."), said("FR-R12 and 13 others.")),
        (question("number", {"0"}), said("No message waits."), said("Some wait.")),
        (question("number", {"1204"}), said("There are 1\u202f204."), said("There are 204.")),
        (question("set", {"A", "B"}), said("Two:", ("A", "x"), ("B", "y")), said("Three:", ("A",), ("B",), ("C",))),
        (question("set", {"A"}), said("It is A."), said("It is B.")),
        (question("set", set(), empty=True), said("None."), said("One:", ("A",))),
        (question("value", {"grid_operator"}), said("The grid operator."), said("The product.")),
        (question("parts", {"FR-R01", "FR-R02"}), said("FR-R01 and FR-R02."), said("FR-R01 and FR-R021.")),
        (question("yes", {"1"}), said("Yes, it does."), said("No.")),
        (question("state", {"rejected"}), said("It is rejected."), said("It is accepted, not rejected.")),
        (question("date", {"1767567600000000"}), said("Since 2026-01-05."), said("Since 2026-01-04.")),
        (question("unknown"), said("There is no rule FR-Z99."), said("FR-Z99 says that it rains.")),
        (question("refusal"), said("I cannot say.", worked=False), said("It will rain.")),
    ],
)
def test_the_judge_takes_what_is_right_and_nothing_else(asked_for: Question, good: Given, bad: Given) -> None:
    assert right(asked_for, good)
    assert not right(asked_for, bad)


def test_an_answer_without_its_proof_is_not_right() -> None:
    assert not right(question("number", {"12"}), said("12 rules.")._replace(proof=""))


def test_a_question_that_ends_in_an_exception_is_wrong_and_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(self: House, question: str, markets: tuple[str, ...] = ()) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(House, "reply", broken)
    url = f"sqlite:///{tmp_path / 'eis.db'}"
    with opened(url) as engine:
        upgrade(engine)
    asked = tmp_path / "questions.jsonl"
    asked.write_text('{"id": "r", "kind": "refusal", "form": "refusal", "asked": {"en": ["Is it warm?"]}}', "utf-8")
    settings: dict[str, Any] = {"database": url}
    ((_, given, well),) = measure(Config(**settings), asked)
    assert not well
    assert given.fault.startswith("IndexError in test_worked.py:")
