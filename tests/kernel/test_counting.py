"""A noun agrees with its number."""

from __future__ import annotations

import re
from pathlib import Path

from energycomm.kernel.counting import counted

WRITTEN_OUT = re.compile(
    r"\{len\([^{}]*\)\} (messages|actions|rules|invoices|envelopes|rows|mistakes|requests|tokens?\(s\))"
)


def test_one_is_singular_and_none_and_many_are_plural() -> None:
    assert [counted(number, "message") for number in (0, 1, 2)] == ["0 messages", "1 message", "2 messages"]
    assert [counted(number, "leaf", "leaves") for number in (1, 2)] == ["1 leaf", "2 leaves"]


def test_no_sentence_of_a_command_writes_a_plural_beside_a_number_of_things(project_root: Path) -> None:
    """`counted` does; a noun that is written beside a length is wrong for one."""
    files = [path for part in ("commands", "correction", "daemon", "webservice") for path in
             sorted((project_root / "energycomm" / part).rglob("*.py"))]  # fmt: skip
    assert len(files) > 100
    assert [path.name for path in files if WRITTEN_OUT.search(path.read_text())] == []
