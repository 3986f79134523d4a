"""The evidence of an erasure, as an auditor gets it: who ordered it, why, what went, what stays and by which law.

It names an access point and people who use the program, and never the customer.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from sqlalchemy import Connection

from energycomm.eis.erasures import FOREVER, REASONS, Erasure, Kept, Order, evidence, numbered
from energycomm.kernel.instants import instant


class Run(Struct, frozen=True, kw_only=True):
    """A run that took something out.

    Attributes:
      at: when.
      by: who did it; `via`: how they came.
      done: nothing was left to be done.
      counts: place -> values that were taken out there.
      kept: what stayed, why, by which law, until when.
      order_sha256: of the order that was done.
    """

    at: datetime
    by: str
    via: str
    done: bool
    counts: dict[str, int]
    kept: tuple[Kept, ...]
    order_sha256: str


class Proof(Struct, frozen=True, kw_only=True):
    """An erasure with its evidence.

    Attributes:
      erasure: its number.
      market, access_point: where the customer was.
      since, until: the customer's time there; None where there is no bound.
      ordered_at: when it was ordered.
      by: who ordered it.
      reference: number of the case.
      reason: why; `law`: by which law.
      done_at: when nothing was left to be done; None while something is.
      wiped_at: when the files of the database were written anew after that.
      waits: what is left to be done -> until when, or why.
      counts: place -> values that were taken out there, by all runs.
      order: the order, whose JSON with sorted keys and no blanks has the SHA-256 `order_sha256`.
      order_sha256: hexadecimal.
      runs: the first first.
    """

    erasure: int
    market: str
    access_point: str
    since: datetime | None
    until: datetime | None
    ordered_at: datetime
    by: str
    reference: str
    reason: str | None
    law: str | None
    done_at: datetime | None
    wiped_at: datetime | None
    waits: dict[str, str]
    counts: dict[str, int]
    order: Order
    order_sha256: str
    runs: tuple[Run, ...]


def proof_of(connection: Connection, number: int) -> Proof:
    """An erasure by its number, with its evidence.

    Raises:
      UserError: there is none.
    """
    return proof(connection, numbered(connection, number))


def proof(connection: Connection, one: Erasure) -> Proof:
    """An erasure with its evidence.

    Args:
      connection: to the store.
      one: the erasure.
    """
    order = one.order
    runs = tuple(
        Run(
            at=instant(run.at),
            by=run.by,
            via=run.via,
            done=run.done,
            counts=run.counts,
            kept=run.kept,
            order_sha256=run.order_sha256,
        )
        for run in evidence(connection, one.id)
    )
    return Proof(
        erasure=one.id,
        market=order.market,
        access_point=order.access_point,
        since=instant(order.since) if order.since else None,
        until=instant(order.until) if order.until < FOREVER else None,
        ordered_at=instant(order.ordered_at),
        by=order.by,
        reference=order.reference,
        reason=order.reason,
        law=None if order.reason is None else REASONS[order.reason],
        done_at=None if one.done_at is None else instant(one.done_at),
        wiped_at=None if one.wiped_at is None else instant(one.wiped_at),
        waits=one.kept,
        counts=one.counts,
        order=order,
        order_sha256=order.digest.hex(),
        runs=runs,
    )
