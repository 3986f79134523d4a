"""Rate limits: requests of a client per minute, and guesses of credentials.

Who comes with a right credential is never held up by those who guess: a credential is looked at first, and only a wrong
one is counted.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

MOST_CALLERS = 10_000
"""Callers remembered; the least recently seen are forgotten first, which only ever forgives."""
LONGEST_NAME = 64
"""Characters of an address or account that are remembered."""
NETWORK_BITS = 64


class Allowance(NamedTuple):
    """The rest of a client's allowance.

    Attributes:
      granted: whether this request may go on.
      left: requests that may follow at once.
      wait: seconds until one more may; 0 when it may now.
    """

    granted: bool
    left: int
    wait: float


class RateLimit:
    """A bucket a caller that fills evenly and holds one minute's requests; kept in this process only.

    Args:
      per_minute: requests of one caller in a minute.
      clock: seconds, never going back.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute, self._clock = per_minute, clock
        self._rate = per_minute / 60
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}

    def spend(self, caller: str) -> Allowance:
        """Take one request from a caller's allowance."""
        now = self._clock()
        with self._lock:
            level, seen = self._buckets.pop(caller, (float(self.per_minute), now))
            level = min(float(self.per_minute), level + (now - seen) * self._rate)
            granted = level >= 1.0
            if granted:
                level -= 1.0
            self._buckets[caller] = (level, now)
            while len(self._buckets) > MOST_CALLERS:
                del self._buckets[next(iter(self._buckets))]
        return Allowance(granted, int(level), 0.0 if level >= 1.0 else (1.0 - level) / self._rate)


class Guesses:
    """Counts of wrong credentials by address and by account; kept in this process only.

    Args:
      per_minute: wrong ones in a minute, from one place or on one account.
      clock: seconds, never going back.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        # Two limits, so that a flood of made-up accounts does not make us forget where it comes from.
        self._places, self._accounts = RateLimit(per_minute, clock), RateLimit(per_minute, clock)

    def wrong(self, address: str, account: str) -> float:
        """Count a wrong credential.

        Args:
          address: where it came from.
          account: what it was tried on.

        Returns:
          Seconds to wait before the next one; 0 while there are not too many.
        """
        spent = (self._places.spend(place_of(address)), self._accounts.spend(account[:LONGEST_NAME]))
        return max((one.wait for one in spent if not one.granted), default=0.0)


def place_of(address: str) -> str:
    """What counts as one place: an address; of IPv6 its network, as one host has all the addresses of that."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:LONGEST_NAME]
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found), NETWORK_BITS), strict=False))
