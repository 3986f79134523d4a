"""A customer who is erased: what was typed to the assistant, and attached, that names one goes with the rest."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from assistant.chat.forgetting import forget, keeper
from energycomm.config import Config
from energycomm.erasure.erasing import GROUP, do, place, plan
from tests.assistant.chatting import Chatter
from tests.erasure.left import filled, means, mine

NAME = "Aldegonde Quinquengrogne"
ASKED = f"Why was the message of {NAME} refused?"
LETTER = f"# A letter\n\nThe heat pump levy of {NAME} is 42 euros a year.\n".encode()
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:starlette.testclient")


@pytest.fixture
def chatted(app: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chatter:
    """Somebody asked about the customer and about a levy, in a conversation with two documents."""
    monkeypatch.setenv("ASSISTANT_FOLDER", str(tmp_path))
    anna = Chatter(app)
    anna.attach("letter.md", LETTER)
    anna.attach("levies.md", b"# Levies\n\nThe levy on coal is 17 euros a year.\n")
    anna.ask(ASKED)
    anna.ask("What is the levy on coal?")
    return anna


def held(folder: Path) -> list[str]:
    """The files in which the customer's name stands."""
    return sorted(one.name for one in folder.iterdir() if one.is_file() and b"Quinquengrogne" in one.read_bytes())


def test_an_erasure_reaches_questions_and_documents_of_the_assistant(
    chatted: Chatter, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "eis").mkdir()
    desk = filled(f"sqlite:///{tmp_path}/eis/eis.db")
    request.addfinalizer(desk.database.dispose)
    used, order = means(desk, keepers=(keeper(Config.model_validate({})),)), mine(desk)
    found = plan(used, order).goes
    assert (found["assistant_documents"], found["assistant_questions"] > 0) == (1, True)
    assert held(tmp_path) == ["attachments.db", "log.db"], "a plan changes nothing"
    number = place(used, order)
    counts = do(used, number, order)
    assert (counts["assistant_documents"], counts["assistant_questions"]) == (1, found["assistant_questions"])
    assert held(tmp_path) == []
    answer = chatted.ask("What is the heat pump levy?", source="attached")
    assert "42 euros" not in answer, "the service that runs has forgotten it as well"
    with closing(sqlite3.connect(tmp_path / "attachments.db")) as kept:
        assert kept.execute("SELECT name FROM attachment").fetchall() == [("levies.md",)]


def test_a_file_that_is_locked_is_waited_for(chatted: Chatter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr("assistant.chat.forgetting.sqlite3.connect", lambda path, **_: connect(path, timeout=0))
    with closing(connect(tmp_path / "log.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OSError, match="locked") as refused:
            forget(tmp_path, lambda text: "Quinquengrogne" in text, False)
    assert refused.value.filename == str(tmp_path / "log.db")


def test_without_an_assistant_there_is_nothing_to_forget(tmp_path: Path) -> None:
    assert forget(tmp_path / "none", lambda _: True, False) == {}


def test_the_gateway_finds_it() -> None:
    assert [entry.load() for entry in entry_points(group=GROUP)] == [keeper]
