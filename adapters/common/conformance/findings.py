"""What a check of the conformance suite is, and what it answers."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

from adapters.common.conformance.subject import Subject

Outcome: TypeAlias = Literal["passed", "failed", "not shown"]
Faults: TypeAlias = Generator[str, None, str]
"""What is wrong, one sentence each; at the end what was seen, in words."""
MOST = 5
"""Faults of one check that are told: more of the same help nobody."""


class NotShown(Exception):
    """Nothing is there that the check could be made on; the text says what is missing."""


class Check(NamedTuple):
    """One thing that an adapter owes the gateway.

    Attributes:
      name: short.
      about: what holds of every adapter.
      advice: what to do where it does not hold.
      over: the things of a subject that it is made on, by name.
      made: makes it on one of them.
    """

    name: str
    about: str
    advice: str
    over: Callable[[Subject], Iterable[tuple[str, Any]]]
    made: Callable[[Subject, Any], Faults]


class Finding(NamedTuple):
    """What a check answered.

    Attributes:
      check: its name.
      of: fixture, label or kind; empty for the adapter as a whole.
      outcome: passed, failed, or not shown: what it could be made on is not there.
      found: what is wrong, what is missing, or what was seen.
      advice: what to do, where something is wrong or missing.
    """

    check: str
    of: str
    outcome: Outcome
    found: str = ""
    advice: str = ""


def findings(subject: Subject, checks: Iterable[Check]) -> Iterator[Finding]:
    """The answers of checks, one for each thing that they are made on.

    Args:
      subject: the adapter and its fixtures.
      checks: to be made.
    """
    for check in checks:
        for of, thing in check.over(subject):
            yield _finding(check, subject, of, thing)


def _finding(check: Check, subject: Subject, of: str, thing: Any) -> Finding:
    faults: list[str] = []
    seen = ""
    try:
        running = check.made(subject, thing)
        while len(faults) < MOST:
            try:
                faults.append(next(running))
            except StopIteration as end:
                seen = end.value or ""
                break
    except NotShown as missing:
        if not faults:
            return Finding(check.name, of, "not shown", str(missing), check.advice)
    except Exception as fault:  # an adapter that raises is what the suite is for
        faults.append(_raised(fault))
    if faults:
        return Finding(check.name, of, "failed", "; ".join(faults), check.advice)
    return Finding(check.name, of, "passed", seen)


def _raised(fault: Exception) -> str:
    if isinstance(fault, AssertionError) and str(fault):
        return str(fault)
    last = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{type(fault).__name__}: {fault} ({last.filename}:{last.lineno})"


def all_of_it(subject: Subject) -> Iterator[tuple[str, None]]:
    """The adapter as a whole."""
    yield "", None


def each_member(subject: Subject) -> Iterator[tuple[str, str]]:
    """The fixtures, by name."""
    yield from ((name, name) for name in subject.members)


def each_type(subject: Subject) -> Iterator[tuple[str, str]]:
    """The labels of the adapter's types."""
    yield from ((label, label) for label in subject.adapter.types)


def each_built_kind(subject: Subject) -> Iterator[tuple[str, str]]:
    """The kinds of requests that the adapter says it builds."""
    yield from ((kind, kind) for kind in sorted(subject.adapter.builds))
