"""Every promise of docs/reliability.md names a test that is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path


def test_every_promise_names_tests_that_exist(project_root: Path) -> None:
    """A promise whose test was renamed or removed is found here."""
    page = (project_root / "docs" / "reliability.md").read_text("utf-8")
    rows = re.findall(r"^\| \d+ \|.*$", page, re.MULTILINE)
    assert rows
    for row in rows:
        named = re.findall(r"`(tests/[^`]*)`", row)
        assert named, f"no test is named: {row}"
        for name in named:
            file, _, test = name.partition("::")
            path = project_root / file
            assert path.exists(), name
            if test:
                tree = ast.walk(ast.parse(path.read_text("utf-8")))
                assert test in {node.name for node in tree if isinstance(node, ast.FunctionDef)}, name
