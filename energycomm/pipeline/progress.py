"""The steps of a run as values, and their sum."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from energycomm.pipeline.batch import Tally


class Progress(Struct):
    """What one step did, or a whole run.

    Attributes:
      files: envelopes taken in.
      duplicates: envelopes that had arrived before.
      resumed: envelopes that an earlier run left behind.
      done: envelopes that ended well.
      failed: envelopes of which nothing could be read.
      unreadable: envelopes of which something could not be read.
      left: envelopes that another process holds.
      conflicts: batches that were run again because another worker stored the same at the same time.
      ended: envelopes that came to their end, with their state, by id.
      series: numbered series that the envelopes are of, for the search for gaps.
      tally: counts of messages.
    """

    files: int = 0
    duplicates: int = 0
    resumed: int = 0
    done: int = 0
    failed: int = 0
    unreadable: int = 0
    left: int = 0
    conflicts: int = 0
    ended: dict[int, str] = field(default_factory=dict)
    series: set[str] = field(default_factory=set)
    tally: Tally = field(default_factory=Tally)

    def add(self, step: Progress) -> None:
        """Count a step."""
        self.files += step.files
        self.duplicates += step.duplicates
        self.resumed += step.resumed
        self.done += step.done
        self.failed += step.failed
        self.unreadable += step.unreadable
        self.left += step.left
        self.conflicts += step.conflicts
        self.ended |= step.ended
        self.series |= step.series
        self.tally.add(step.tally)


def total(steps: Iterable[Progress]) -> Progress:
    """Run all steps; their sum."""
    run = Progress()
    for step in steps:
        run.add(step)
    return run
