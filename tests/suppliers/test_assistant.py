"""Each supplier of an installation has an assistant of its own: index, log of questions, settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.config import load_config
from energycomm.config import choosing
from energycomm.errors import UserError
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


def test_who_is_alone_has_it_in_the_working_directory_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "energycomm.toml").write_text("wrong = 1\n")
    assert load_config().folder == Path(".assistant")
