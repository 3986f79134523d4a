"""What the documentation says of commands, settings and codes is what the program says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from energycomm.cli import app
from energycomm.config import Config, KeySetting
from energycomm.documentation.commands import all_commands
from energycomm.documentation.pages import generated, with_block
from energycomm.engine.folder import load_catalogue
from energycomm.errors import ExitCode
from energycomm.transport.limits import Limits
from energycomm.transport.settings import KINDS


def test_every_generated_page_is_up_to_date(project_root: Path) -> None:
    """`make docs` was run after the last change of a command, setting, code or rule."""
    docs = project_root / "docs"
    expected = generated(docs, load_catalogue(project_root / "rules", check_examples=False))
    stale = [name for name, text in expected.items() if (docs / name).read_text("utf-8") != text]
    assert stale == [], "run `make docs`"


@pytest.mark.parametrize(
    ("path", "command"), list(all_commands(app)), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_command_says_what_it_does_in_one_sentence_and_shows_an_example(path: str, command: object) -> None:
    """Help is a sentence, then an example that can be typed."""
    words = getattr(command, "help", None) or ""
    first = words.strip().split("\n\n")[0].replace("\n", " ")
    assert first.endswith("."), f"{path}: {first!r}"
    assert "Example" not in first
    assert f"Example: {path.rsplit(' ', 1)[0]}" in " ".join(words.split()), path


@pytest.mark.parametrize(
    ("path", "command"), list(all_commands(app)), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_option_and_argument_of_a_command_is_explained(path: str, command: object) -> None:
    """No option stands in the help without words."""
    unexplained = [p.name for p in getattr(command, "params", []) if not getattr(p, "help", None)]
    assert unexplained == [], path


def test_every_setting_is_explained() -> None:
    """A setting without words could not stand in the table."""
    fields = {**Config.model_fields, **Limits.model_fields, **KeySetting.model_fields}
    fields |= {f"{kind.__name__}.{name}": field for kind in KINDS for name, field in kind.model_fields.items()}
    assert [name for name, field in fields.items() if not field.description] == []


def test_every_exit_code_is_documented(project_root: Path) -> None:
    """Scripts may rely on each."""
    rows = re.findall(r"^\| (\d+) \|", (project_root / "docs" / "cli.md").read_text("utf-8"), re.MULTILINE)
    assert {int(row) for row in rows} == {*map(int, ExitCode), 130, 141}


def test_a_block_is_replaced_and_what_people_wrote_stays() -> None:
    """Only what stands between the marks is generated."""
    page = "before\n<!-- x: made -->\nold\n<!-- end of x -->\nafter\n"
    assert with_block(page, "x", "new\n") == "before\n<!-- x: made -->\nnew\n<!-- end of x -->\nafter\n"
    with pytest.raises(ValueError, match="no block y"):
        with_block(page, "y", "new")
