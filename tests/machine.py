"""What a test needs of its machine and may not find there: a reason to skip it, but not in CI."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import import_module
from typing import NoReturn

import pytest


def lacks(what: str) -> NoReturn:
    """End a test that this machine cannot run.

    Args:
      what: what the machine lacks, as a sentence for a person.

    Raises:
      pytest.skip.Exception: the test is skipped.
      pytest.fail.Exception: the tests run in CI (the environment says `CI`), where nothing may be left out unseen.
    """
    if os.environ.get("CI"):
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
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    return found or lacks("no Chromium is installed (apt-get install chromium)")
