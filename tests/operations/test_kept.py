"""What was read of rules and documentation is kept, is the same, and is never old."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from assistant.kept import Kept, state_of
from assistant.operations import tables
from assistant.operations.house import House
from assistant.operations.rulebook import read_rulebook, read_whole
from assistant.operations.wording import say
from energycomm.config import Config
from energycomm.engine.folder import load_catalogue

ROOT = Path(__file__).parents[2]
QUESTION = "What is the severity of FR-G02?"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """The shipped rules of two folders, to be changed."""
    for name in ("common", "fr", "predicates.py"):
        source = ROOT / "rules" / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / "rules" / name)
        (tmp_path / "rules").mkdir(exist_ok=True)
    return tmp_path / "rules"


def house(rules: Path, kept: Path) -> House:
    return House(Config.model_validate({"rules": rules}), docs=ROOT / "docs", kept=kept)


def severity(house: House) -> tuple[object, ...]:
    reply = house.reply(QUESTION)
    assert reply is not None
    return reply.answers[0].values


def never() -> str:
    pytest.fail("it was made anew")


@pytest.mark.thorough
def test_kept_rules_are_those_of_the_files(tmp_path: Path) -> None:
    folder = ROOT / "rules"
    told = load_catalogue(folder, check_examples=False, examples=False, expressions=False)
    read_rulebook(folder, Kept(tmp_path))
    again = read_rulebook(folder, Kept(tmp_path))
    assert again.rules == told.rules
    assert again.codes.entries == told.codes.entries
    assert (again.version, again.markets) == (told.version, told.markets)
    whole = read_whole(folder)
    assert [rule.code for rule in whole.rules] == [rule.code for rule in again.rules]
    assert all(rule.triggers for rule in whole.rules)


def test_kept_tables_are_those_of_the_pages(tmp_path: Path) -> None:
    read = tables.rows(ROOT / "docs", Kept())
    assert len(read) > 1000
    assert tables.rows(ROOT / "docs", Kept(tmp_path)) == tables.rows(ROOT / "docs", Kept(tmp_path)) == read


def test_a_question_after_a_rule_changed_is_answered_by_the_new_rule(rules: Path, tmp_path: Path) -> None:
    """Even where its file has the size and the time that it had."""
    kept = tmp_path / "kept"
    assert severity(house(rules, kept)) == ("error",)
    file = rules / "fr" / "charges.yaml"
    text, time = file.read_text("utf-8"), file.stat().st_mtime_ns
    begin = text.index("FR-G02")
    changed = text[:begin] + text[begin:].replace("each:", "severity: warning\n    each:", 1)
    assert changed != text
    file.write_text(changed, "utf-8")
    os.utime(file, ns=(time, time))
    assert severity(house(rules, kept)) == ("warning",)
    file.write_text(text, "utf-8")
    assert severity(house(rules, kept)) == ("error",)


def test_the_same_process_sees_a_file_that_was_taken_away(rules: Path, tmp_path: Path) -> None:
    asked = house(rules, tmp_path / "kept")
    assert severity(asked) == ("error",)
    (rules / "fr" / "charges.yaml").unlink()
    reply = asked.reply(QUESTION)
    assert reply is None or reply.answers[0].sentence.startswith(say("en", "no_code", code="FR-G02", like="")[:20])


def test_what_is_kept_is_read_and_not_made_again(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept")
    assert kept.value("word", b"1", lambda: "made", str) == "made"
    assert kept.value("word", b"1", never, str) == "made"
    assert kept.value("word", b"2", lambda: "anew", str) == "anew"
    assert kept.value("word", b"2", never, str) == "anew"


@pytest.mark.parametrize("content", [b"", b"1", b"1\xc1", b"1\xa9cut"])
def test_what_is_broken_is_made_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "word.msgpack").write_bytes(content)
    assert Kept(tmp_path).value("word", b"1", lambda: "made", str) == "made"
    assert Kept(tmp_path).value("word", b"1", never, str) == "made"


def test_where_nothing_can_be_written_it_is_made_each_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    kept = Kept(tmp_path / "file" / "kept")
    assert [kept.value("word", b"1", lambda: "made", str) for _ in range(2)] == ["made", "made"]


def test_what_is_kept_is_for_our_user_only(tmp_path: Path) -> None:
    Kept(tmp_path / "kept").value("word", b"1", lambda: "made", str)
    assert (tmp_path / "kept").stat().st_mode & 0o077 == 0
    assert (tmp_path / "kept" / "word.msgpack").stat().st_mode & 0o077 == 0


def test_another_name_another_content_and_other_code_are_another_state(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one", "two")]
    for file in files:
        file.write_text("same")
    states = [state_of((), files[:1]), state_of((), files[1:]), state_of((), files), state_of(("assistant",), files)]
    files[1].write_text("more")
    states += [state_of((), files), state_of((), files, "known")]
    assert len(set(states)) == 6
    assert state_of((), reversed(files)) == state_of((), files)
