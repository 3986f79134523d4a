"""Wrong passwords and codes: who was wrong too often waits, ever longer, and nobody is locked out for good.

Counted are a name at an address, a name anywhere, and an address with any name. Some wrong ones are free; then the next
must wait: one second, two, four, ... up to a quarter of an hour, of an address up to a minute, as many people may share
one. A browser that the person signed in with before has a count of its own: whoever guesses at a name locks out other
browsers at most, and none for longer than that. With time wrong ones are forgiven, and after a day without one all is
forgotten; `energycomm user unlock` forgets at once. Known and unknown names are counted
alike. The counts are in the store: all processes share them, and a restart forgets none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from energycomm.eis.database import is_sqlite
from energycomm.eis.store import Store, StoreTransaction
from energycomm.kernel.instants import now_micros
from energycomm.transport.allowances import place_of

SECOND: Final = 1_000_000
FORGOTTEN: Final = 86_400 * SECOND
_SWEPT: Final = 500
_FEWER: Final = "UPDATE sign_in_attempt SET failures = failures - 1 WHERE hash = ? AND failures > 0"


class Measure(NamedTuple):
    """How long wrong ones of a kind make wait.

    Attributes:
      free: wrong ones without a wait.
      longest: seconds that the next one waits at most.
      forgiven: seconds after the last one for which one of them is forgiven.
    """

    free: int
    longest: int
    forgiven: int


HERE: Final = Measure(4, 900, 3600)
"""Of a name at an address, of a name in a known browser, of the codes of a person."""
ANYWHERE: Final = Measure(20, 900, 600)
"""Of a name, wherever from."""
PLACE: Final = Measure(30, 60, 60)
"""Of an address, with whatever names."""


class Counted(NamedTuple):
    """Something that wrong ones are counted of.

    Attributes:
      hash: stands for it.
      name: stands for the name that was tried; None where there is none.
      measure: how long it makes wait.
    """

    hash: bytes
    name: bytes | None
    measure: Measure


def of_password(name: str, address: str, device: str | None) -> list[Counted]:
    """What a wrong password counts against, first what a right one forgets.

    Args:
      name: that was tried.
      address: where it came from.
      device: the browser, where the person signed in with it before.
    """
    who, place = _hash("name", name), place_of(address)
    if device is not None:
        return [Counted(_hash("device", name, device), who, HERE)]
    return [
        Counted(_hash("here", name, place), who, HERE),
        Counted(_hash("anywhere", name), who, ANYWHERE),
        Counted(_hash("place", place), None, PLACE),
    ]


def of_code(name: str) -> list[Counted]:
    """What a wrong one-time code counts against: who is asked for one has the password."""
    return [Counted(_hash("code", name), _hash("name", name), HERE)]


def begin(store: Store, counted: Sequence[Counted]) -> int:
    """Count an attempt as a wrong one before it is looked at, so that many at once are no way around.

    Args:
      store: the EIS.
      counted: what it counts against.

    Returns:
      Seconds to wait, where it must not be looked at; it is not counted then.
    """
    now = now_micros()
    marks = ", ".join("?" * len(counted))
    lock = "" if is_sqlite(store.engine) else " FOR UPDATE"
    ordered = sorted(counted)  # one order, so that no two wait for each other

    def count(tx: StoreTransaction) -> int:
        for one in ordered:
            tx.driver.run(
                "INSERT INTO sign_in_attempt (hash, name, failures, at) VALUES (?, ?, 0, ?) ON CONFLICT DO NOTHING",
                (one.hash, one.name, now),
            )
        found = {
            bytes(row[0]): (int(row[1]), int(row[2]))
            for row in tx.driver.rows(
                f"SELECT hash, failures, at FROM sign_in_attempt WHERE hash IN ({marks}) ORDER BY hash{lock}",  # noqa: S608 - marks only
                [one.hash for one in ordered],
            )
        }
        wait = max(_wait(*found[one.hash], one.measure, now) for one in ordered)
        if wait == 0:
            for one in ordered:
                failures, at = found[one.hash]
                kept = _left(failures, at, one.measure, now)
                tx.driver.run(
                    "UPDATE sign_in_attempt SET failures = ?, at = ? WHERE hash = ?", (kept + 1, now, one.hash)
                )
        return wait

    return store.retried(count)[0]


def succeeded(store: Store, counted: Sequence[Counted]) -> None:
    """Take back the count of an attempt that was right; what it was about most closely is forgotten.

    Args:
      store: the EIS.
      counted: as given to `begin`.
    """

    def settle(tx: StoreTransaction) -> None:
        for one in sorted(counted):
            closest = one == counted[0]
            tx.driver.run("DELETE FROM sign_in_attempt WHERE hash = ?" if closest else _FEWER, (one.hash,))

    store.retried(settle)
    _sweep(store)


def withdraw(store: Store, counted: Sequence[Counted]) -> None:
    """Take back the count of an attempt that was not looked at after all."""

    def take(tx: StoreTransaction) -> None:
        for one in sorted(counted):
            tx.driver.run(_FEWER, (one.hash,))

    store.retried(take)


def forget(store: Store, name: str) -> int:
    """Forget all that was counted of a name; how many counts that were."""
    with store.transaction() as tx:
        return tx.driver.run("DELETE FROM sign_in_attempt WHERE name = ?", (_hash("name", name),))


def _left(failures: int, at: int, measure: Measure, now: int) -> int:
    """Wrong ones that still count."""
    since = max(0, now - at)  # of two at once the later may have looked at the clock before
    return 0 if since >= FORGOTTEN else max(0, failures - since // (measure.forgiven * SECOND))


def _wait(failures: int, at: int, measure: Measure, now: int) -> int:
    """Seconds until the next attempt."""
    over = _left(failures, at, measure, now) - measure.free
    if over < 0:
        return 0
    delay: int = min(measure.longest, 1 << min(over, 20))
    return max(0, -((now - at - delay * SECOND) // SECOND))


def _sweep(store: Store) -> None:
    """Remove what is forgotten; rows that somebody holds are left for the next."""
    held = "" if is_sqlite(store.engine) else " FOR UPDATE SKIP LOCKED"
    with store.transaction() as tx:
        tx.driver.run(
            "DELETE FROM sign_in_attempt WHERE hash IN "  # noqa: S608 - no value
            f"(SELECT hash FROM sign_in_attempt WHERE at < ? LIMIT {_SWEPT}{held})",
            (now_micros() - FORGOTTEN,),
        )


def _hash(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
