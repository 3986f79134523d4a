"""The example of docs/suppliers.md, followed line by line, and the file that it shows."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from energycomm.cli import main
from energycomm.errors import ExitCode


@pytest.mark.thorough
def test_the_example_does_what_the_page_says(
    project_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every line in turn; the last one, which serves until it is stopped, is the matter of test_walk.py."""
    page = (project_root / "docs" / "suppliers.md").read_text("utf-8")
    block = re.search(r"<!-- example -->\n```sh\n(.*?)```", page, re.DOTALL)
    assert block
    monkeypatch.chdir(tmp_path)
    *lines, last = block[1].splitlines()
    assert last == "energycomm serve"
    for line in lines:
        words = shlex.split(line.partition(" > ")[0])
        assert words[0] == "energycomm"
        assert main(words[1:]) == ExitCode.OK, line
    assert (tmp_path / "nord" / "energycomm.db").exists()
    assert "nord\tÉnergie du Nord\t17X100A100A0001A\thttp://nord.localhost:8080" in capsys.readouterr().out
    shown = re.search(r"```toml\n(# energycomm.toml\n.*?)```", page, re.DOTALL)
    assert shown
    written, told = tomllib.loads((tmp_path / "energycomm.toml").read_text()), tomllib.loads(shown[1])
    assert written["suppliers"]["nord"] == told["suppliers"]["nord"]
    (tmp_path / "energycomm.toml").write_text(shown[1])
    assert main(["supplier", "list"]) == ExitCode.OK, "the file as the page shows it is one that works"
