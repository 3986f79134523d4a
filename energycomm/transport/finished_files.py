"""Selection of finished files: the name matches, and the file has not changed for a while."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Callable, Collection, Sequence

from energycomm.transport.intake import UNFINISHED

Look = tuple[int, ...]
"""What tells whether a file changed: its size in bytes, the time of its last change in nanoseconds, its number."""


class QuietFiles:
    """Remembers size and time of files, to decide by their age or by two observations whether they are finished.

    Args:
      settle: seconds that a file must not have changed; 0 takes every file at once.
      clock: seconds that only go up.
    """

    def __init__(self, settle: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._settle, self._clock = settle, clock
        self._looks: dict[str, tuple[Look, float]] = {}

    def keep(self, names: Collection[str]) -> None:
        """Forget the files that are gone."""
        kept = set(names)
        self._looks = {name: look for name, look in self._looks.items() if name in kept}

    def is_quiet(self, name: str, look: Look) -> bool:
        """Whether a file that looks so now has not changed for long enough.

        Args:
          name: names the file.
          look: its look now; the second number is the time of its last change in nanoseconds.
        """
        if self._settle <= 0 or time.time() - look[1] / 1e9 >= self._settle:
            return True
        before = self._looks.get(name)
        if before is None or before[0] != look:
            self._looks[name] = (look, self._clock())
            return False
        # The file's time lies in the future, or the other side's clock differs from ours: our own looks decide.
        return self._clock() - before[1] >= self._settle


def wanted(name: str, include: Sequence[str]) -> bool:
    """Whether a file of that name is to be taken: it fits a pattern and is not hidden or still being written."""
    lower = name.lower()
    if any(fnmatch.fnmatchcase(lower, pattern) for pattern in UNFINISHED):
        return False
    return any(fnmatch.fnmatchcase(lower, pattern.lower()) for pattern in include)
