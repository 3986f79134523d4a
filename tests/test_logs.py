"""The log: its library is imported with the first line, which has the form that was chosen before."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from energycomm import logs
logs.configure("json", "warning")
log = logs.Log()
print("structlog" in sys.modules)
log.info("unheard")
{line}
"""


@pytest.mark.parametrize(
    "line",
    ["log.warning('told', token='secret-value')", "import logging; logging.getLogger('lib').warning('told')"],
    ids=["ours", "of a library"],
)
def test_the_first_line_has_the_form_that_was_chosen_before(line: str) -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM.format(line=line)], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
    (told,) = map(json.loads, ran.stderr.splitlines())
    assert told["level"] == "warning"
    assert "told" in (told["event"], told.get("text"))
    assert "secret-value" not in ran.stderr
