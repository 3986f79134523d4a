"""What a test needs of its machine and may not find there: a reason to skip it, but not in CI."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import import_module
from typing import NoReturn

import pytest


def lacks(what: str, program: str | None = None) -> NoReturn:
    """End a test that this machine cannot run.

    Args:
      what: what the machine lacks, as a sentence for a person.
      program: that is lacking; where `.ci/run` could not install it, it has said so and names it in `TESTS_WITHOUT`.

    Raises:
      pytest.skip.Exception: the test is skipped.
      pytest.fail.Exception: the tests run in CI (the environment says `CI`), where nothing may be left out unseen.
    """
    if os.environ.get("CI") and program not in os.environ.get("TESTS_WITHOUT", "").split():
        pytest.fail(f"{what}; in CI every test must run", pytrace=False)
    pytest.skip(what)


def needs_durable_rules() -> None:
    """Durable-rules, which must be compiled; from Python 3.13 on it cannot be had, and no machine is to blame."""
    if sys.version_info >= (3, 13):
        pytest.skip("durable-rules does not load in Python 3.13 and later")
    try:
        import_module("durable_rules_engine")
    except ImportError as missing:
        lacks(f"durable-rules did not compile here: {missing}")


def chromium() -> str:
    """The program of Chromium; the test ends here where none is installed, see `lacks`."""
    return shutil.which("chromium-browser") or program("chromium", "chromium")


def program(name: str, package: str) -> str:
    """Where a program is; the test ends here where it is not installed, see `lacks`.

    Args:
      name: of the program.
      package: of Debian that has it; `.ci/run` installs it.
    """
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"  # where not every user looks
    return shutil.which(name, path=path) or lacks(f"{name} is not installed (apt-get install {package})", name)
