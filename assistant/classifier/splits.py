"""Which examples are learned from and which are kept to measure by: whole access points, and whole months.

An access point belongs to one side by a hash of its name, whatever else is in the data set: a later build puts it on
the same side. A month that is kept is one that no example for learning reaches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from assistant.classifier.port import Split

POINTS = 0.2
"""Share of the access points that are never learned from."""
VALID = 0.1
"""Share of the access points to choose and calibrate by."""
MONTHS = 0.12
"""Share of the messages, the latest, about which whole months are kept."""


@dataclass(frozen=True)
class Splitter:
    """Says what an example may be used for.

    Attributes:
      months_from: first day of the months that are kept; None keeps none.
    """

    months_from: datetime | None

    def split(self, access_point: str, at: datetime) -> Split:
        """The split of a message of an access point at an instant."""
        share = int.from_bytes(hashlib.blake2b(access_point.encode(), digest_size=6).digest()) / 2**48
        if self.months_from is not None and at >= self.months_from:
            return "months"
        if share < POINTS:
            return "points"
        return "valid" if share < POINTS + VALID else "train"


def splitter(effective: Sequence[int]) -> Splitter:
    """A splitter that keeps the latest whole months of messages.

    Args:
      effective: effective instants of all messages, microseconds since the epoch. Instants far from the others are
        mistakes, and make no month.
    """
    if not effective:
        return Splitter(None)
    ordered = sorted(effective)
    edge = datetime.fromtimestamp(ordered[int(len(ordered) * (1 - MONTHS))] / 1e6, UTC)
    month = edge.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    if edge - month > timedelta(days=15):  # the nearer border
        month = (month + timedelta(days=32)).replace(day=1)
    first = datetime.fromtimestamp(ordered[len(ordered) // 20] / 1e6, UTC)
    return Splitter(month if month > first else None)
