"""Each supplier of an installation has an assistant of its own: index, log of questions, settings."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from assistant.chat.forgetting import keeper
from assistant.config import load_config
from energycomm.config import choosing
from energycomm.errors import UserError
from energycomm.installation import load_apart
from tests.suppliers.test_settings import WHOLE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation of two suppliers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "energycomm.toml").write_text(WHOLE)
    for name in ("nord", "sud"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "energycomm.toml").touch()
    return tmp_path


def test_index_and_log_are_in_the_folder_of_the_supplier(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "nord" / "assistant.toml").write_text('folder = "known"\nretention_days = 7\n')
    (folder / "assistant.toml").write_text("retention_days = 1\n")
    with choosing("nord"):
        assert (load_config().folder, load_config().retention_days) == (folder / "nord" / "known", 7)
    with choosing("sud"):
        assert (load_config().folder, load_config().retention_days) == (folder / "sud" / ".assistant", 90)
        monkeypatch.setenv("ASSISTANT_FOLDER", "/srv/assistant")
        with pytest.raises(UserError, match="of every supplier"):
            load_config()
    monkeypatch.delenv("ASSISTANT_FOLDER")
    with pytest.raises(UserError, match="none was chosen"):
        load_config()


def test_an_erasure_of_one_supplier_reaches_the_questions_of_no_other(folder: Path) -> None:
    """In a thread of the service, in which no supplier is chosen."""
    for name in ("nord", "sud"):
        (folder / name / ".assistant").mkdir()
        with closing(sqlite3.connect(folder / name / ".assistant" / "log.db")) as log, log:
            log.execute("CREATE TABLE title (title TEXT NOT NULL)")
            log.execute("INSERT INTO title VALUES ('About Camille Morel')")
    _, suppliers = load_apart()
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(lambda: keeper(suppliers["nord"])(lambda text: "Camille Morel" in text, False)).result()
    assert found == {"assistant_questions": 1}
    left = {name: b"Morel" in (folder / name / ".assistant" / "log.db").read_bytes() for name in ("nord", "sud")}
    assert left == {"nord": False, "sud": True}


def test_who_is_alone_has_it_in_the_working_directory_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "energycomm.toml").write_text("wrong = 1\n")
    assert load_config().folder == Path(".assistant")
