"""What a channel that leaves files where they are needs to know: which of them we have. The store remembers them."""

from __future__ import annotations

from typing import Protocol


class Seen(Protocol):
    """Remembers which files of a server we have; `energycomm.eis.seen_files.SeenFiles` does."""

    def seen(self, channel: str, key: str) -> bool:
        """Whether the channel's file was marked."""
        ...

    def mark(self, channel: str, key: str) -> None:
        """Remember the channel's file, for good."""
        ...


class Unseen:
    """For a channel that is only tried: no file is known, and none can be marked."""

    def seen(self, channel: str, key: str) -> bool:
        """Never."""
        return False

    def mark(self, channel: str, key: str) -> None:
        """Nothing may be marked.

        Raises:
          RuntimeError: always: whoever takes files in needs the store's memory.
        """
        raise RuntimeError(f"a file of {channel} was taken in without the store's memory")
