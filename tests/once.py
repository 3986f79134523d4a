"""What is the same for all tests of a run is made once: the shipped rules, what is compiled of them, the Kernel's
schema, and the list of what is installed.

Each test has its own stores, gateways and services; these would make all that anew, which takes longer than most tests.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, tzinfo
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path

import pytest

from energycomm.commands import language, loading
from energycomm.console import additions
from energycomm.engine import parallel
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.codes import CodeLists
from energycomm.engine.compiling import Compiled, compile_rules
from energycomm.engine.folder import load_catalogue
from energycomm.engine.rule import Rule
from energycomm.erasure import erasing
from energycomm.kernel.check import KernelChecker
from energycomm.market import installed
from energycomm.pipeline import gateway
from tests.pipeline.desk import shipped_rules

RULES = Path(__file__).resolve().parent.parent / "rules"


@contextmanager
def made_once() -> Iterator[None]:
    """What is made while this holds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gateway, "load_catalogue", _catalogue)
        patch.setattr(parallel, "compile_rules", _compiled)
        patch.setattr(KernelChecker, "__init__", _share_schema)
        for module in (additions, erasing, installed, language, loading):
            patch.setattr(module, "entry_points", _installed)
        yield


def _catalogue(folder: Path, *, check_examples: bool = True) -> Catalogue:
    """A gateway reads the rules and judges every example."""
    return shipped_rules() if folder.resolve() == RULES else load_catalogue(folder, check_examples=check_examples)


_functions: dict[tuple[object, ...], Compiled] = {}


def _compiled(rules: Sequence[Rule], kind: str, market: str, codes: CodeLists, zone: tzinfo = UTC) -> Compiled:
    """Functions of the shipped rules: their catalogue is held, so that its rules are known by where they are."""
    if codes is not shipped_rules().codes:
        return compile_rules(rules, kind, market, codes, zone)
    asked = (kind, market, *map(id, rules))
    if asked not in _functions:
        _functions[asked] = compile_rules(rules, kind, market, codes, zone)
    return _functions[asked]


_own = threading.local()
_make_checker = KernelChecker.__init__


def _share_schema(self: KernelChecker) -> None:
    """The schema of a thread: its list of errors belongs to the check that was made last."""
    held: KernelChecker | None = getattr(_own, "checker", None)
    if held is None:
        _make_checker(self)
        _own.checker = self
    else:
        self.__dict__.update(held.__dict__)


def _installed(*, group: str) -> EntryPoints:
    """What is installed in a group, as long as modules come from the same places."""
    return _points(group, tuple(sys.path))


@cache
def _points(group: str, _places: tuple[str, ...]) -> EntryPoints:
    return entry_points(group=group)
