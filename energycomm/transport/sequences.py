"""Numbered series: which files were never received, as far as that can be proven.

A number is missing for certain only between two received numbers of one series. The latest number received proves
nothing of the ones after it, and a number that goes back (00001 again, when the sender changed a system) is a legal
restart. Files arrive in any order; the stamps in their names say in which order they were made.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from msgspec import Struct

from energycomm.kernel.verdicts import Refusal
from energycomm.transport.codes import refuse


class Received(Struct, frozen=True):
    """One received file of a series.

    Attributes:
      number: its number.
      stamp: time stamp in its name, as written; stamps of one series compare as text. None where the name has none.
      name: its name, for reports.
    """

    number: int
    stamp: str | None = None
    name: str = ""


class Gap(Struct, frozen=True, kw_only=True):
    """Numbers `first` to `last` that were never received, between two that were."""

    first: int
    last: int
    after: Received
    before: Received


class SeriesAudit(Struct, frozen=True, kw_only=True):
    """What can be said of one series.

    Attributes:
      gaps: every provable gap, in the order of the series.
      restarts: the first file after each restart.
      duplicates: files whose number was received before in the same run.
      latest: the last file of the series, after which nothing can be proven.
    """

    gaps: tuple[Gap, ...] = ()
    restarts: tuple[Received, ...] = ()
    duplicates: tuple[Received, ...] = ()
    latest: Received | None = None


class _Run:
    """Files whose numbers follow each other without a restart."""

    def __init__(self, first: Received) -> None:
        self.files = {first.number: first}
        self.low = self.high = first.number

    def add(self, file: Received) -> None:
        """Add a file; of two with one number the first stays."""
        self.files.setdefault(file.number, file)
        self.low = min(self.low, file.number)
        self.high = max(self.high, file.number)


def audit_series(received: Iterable[Received]) -> SeriesAudit:
    """Find the provable gaps of one series.

    Args:
      received: every received file of one key, in order of arrival.

    Returns:
      The audit. Where every file has a stamp the result does not depend on the order of arrival.
    """
    files = list(received)
    if all(file.stamp is not None for file in files):
        # The number settles files of one stamp; arrival settles nothing.
        files.sort(key=lambda file: (file.stamp or "", file.number, file.name))
    runs: list[_Run] = []
    restarts: list[Received] = []
    duplicates: list[Received] = []
    seen: set[tuple[int, str]] = set()
    for file in files:
        if file.stamp is not None:
            if (file.number, file.stamp) in seen:
                duplicates.append(file)
                continue
            seen.add((file.number, file.stamp))
        _place(file, runs, restarts, duplicates)
    gaps = tuple(gap for run in runs for gap in _holes(run))
    latest = runs[-1].files[runs[-1].high] if runs else None
    return SeriesAudit(gaps=gaps, restarts=tuple(restarts), duplicates=tuple(duplicates), latest=latest)


def _place(file: Received, runs: list[_Run], restarts: list[Received], duplicates: list[Received]) -> None:
    """Put a file into the run it belongs to, or begin a new run with it."""
    number = file.number
    if not runs:
        runs.append(_Run(file))
        return
    run = runs[-1]
    if number > run.high:
        before = runs[-2] if len(runs) > 1 else None
        if before is not None and number != run.high + 1 and number == before.high + 1:
            # The number goes on where the series was before it went back: that was a file sent again or late and no
            # restart, and nothing is proven to be missing.
            runs.pop()
            duplicates.append(restarts.pop())
            for late in run.files.values():
                before.add(late)
            before.add(file)
        else:
            run.add(file)
    elif number == run.high or (number in run.files and file.stamp is None and number != 1):
        duplicates.append(file)
    elif number not in run.files and number > run.low:
        run.add(file)
    else:
        restarts.append(file)
        runs.append(_Run(file))


def _holes(run: _Run) -> list[Gap]:
    return [
        Gap(first=low + 1, last=high - 1, after=run.files[low], before=run.files[high])
        for low, high in itertools.pairwise(sorted(run.files))
        if high > low + 1
    ]


def gap_refusal(key: str, gap: Gap) -> Refusal:
    """A gap as a line of the report, with the code ``SERIES_GAP``."""
    span = f"{gap.first:05d}" if gap.first == gap.last else f"{gap.first:05d} to {gap.last:05d}"
    between = f"every number between {gap.after.name or gap.after.number} and {gap.before.name or gap.before.number}"
    return refuse("SERIES_GAP", key, f"{span} never received", between)
