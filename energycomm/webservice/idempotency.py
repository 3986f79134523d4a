"""A change with an idempotency key is made once: a repetition gets the first answer, other content is refused.

A key belongs to one person and one route, and is remembered for a week.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from fastapi import Request
from fastapi.responses import Response
from sqlalchemy import delete, select, update

from energycomm.eis import tables
from energycomm.eis.database import Conflict, reading
from energycomm.eis.store import Store
from energycomm.kernel.instants import now_micros
from energycomm.webservice.answers import JSON
from energycomm.webservice.problems import Problem
from energycomm.webservice.roles import Person

MINUTE = 60_000_000
KEPT = 7 * 24 * 60 * MINUTE
STALE = 10 * MINUTE
"""What has been under way for so long was cut off: it may be tried again."""

REPLAYED = "Idempotency-Replayed"


def once(
    request: Request, store: Store, person: Person, key: str | None, content: bytes, do: Callable[[], Response]
) -> Response:
    """Make a change, or return the answer of the first time.

    Args:
      request: names the route.
      store: the EIS.
      person: who changes.
      key: their key; without one the change is simply made.
      content: what they sent, all that the change depends on.
      do: makes the change; what it refuses is not remembered.

    Raises:
      Problem: the key was used with other content, or the first try is still under way (409).
    """
    if key is None:
        return do()
    digest = hashlib.sha256("\0".join((person.name, request.method, request.url.path, key)).encode()).digest()
    sent = hashlib.sha256(content).digest()
    known = _claim(store, digest, sent)
    if known is not None:
        return known
    t = tables.idempotency
    try:
        response = do()
    except BaseException:
        with store.transaction() as tx:
            tx.connection.execute(delete(t).where(t.c.hash == digest))
        raise
    body = bytes(response.body).decode()
    with store.transaction() as tx:
        tx.connection.execute(update(t).where(t.c.hash == digest).values(status=response.status_code, answer=body))
    return response


def _claim(store: Store, digest: bytes, sent: bytes) -> Response | None:
    """Take a key, or what it came to before."""
    now, t = now_micros(), tables.idempotency
    try:
        with store.transaction() as tx:
            tx.connection.execute(delete(t).where(t.c.at < now - KEPT))
            tx.insert(t, [{"hash": digest, "content": sent, "at": now}])
        return None
    except Conflict:
        pass
    with reading(store.engine) as connection:
        row = connection.execute(select(t).where(t.c.hash == digest)).mappings().first()
    if row is None:
        raise Problem("API_CONFLICT", "The first try has just failed.", advice="Try again.")
    if bytes(row["content"]) != sent:
        raise Problem(
            "API_CONFLICT",
            "This key was used with other content.",
            target="Idempotency-Key",
            advice="Take a new key for a new change.",
        )
    if row["status"] is None:
        if row["at"] > now - STALE or not _take_over(store, digest, row["at"], now):
            words = "The first request with this key is still in progress."
            raise Problem("API_CONFLICT", words, target="Idempotency-Key", headers={"Retry-After": "2"})
        return None
    return Response(row["answer"], row["status"], {REPLAYED: "true"}, JSON)


def _take_over(store: Store, digest: bytes, at: int, now: int) -> bool:
    t = tables.idempotency
    with store.transaction() as tx:
        done = tx.connection.execute(update(t).where(t.c.hash == digest, t.c.at == at).values(at=now))
        return bool(done.rowcount)
