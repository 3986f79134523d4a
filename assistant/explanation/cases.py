"""Similar cases of the past: messages with the same error that were freed, and what freed them."""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import Engine, distinct, func, select

from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.kernel.instants import instant

FREED = ("accepted", "treated")


class Case(Struct, frozen=True, kw_only=True):
    """A message that had an error and was freed.

    Attributes:
      at: the day it was freed.
      by, why: who or what freed it, as its last change of state tells.
      corrected: whether another version of it was put in its place.
    """

    message_id: int
    at: str
    state: str
    by: str
    why: str
    corrected: bool


class Past(Struct, frozen=True, kw_only=True):
    """What happened to messages with an error code."""

    code: str
    total: int
    still: int
    cases: tuple[Case, ...]


def past_cases(engine: Engine, code: str, kind: str, besides: int, limit: int = 3) -> Past:
    """What happened to other messages with an error code.

    Args:
      engine: the EIS.
      code: the error code.
      kind: kind of the message: those of the same kind come first.
      besides: the message that is not counted.
      limit: how many freed cases at most.
    """
    f, k, c = tables.finding.c, tables.kernel_message.c, tables.state_change.c
    having = select(f.message_id).where(f.error_code == code, f.message_id != besides)
    corrected = select(k.corrects).where(k.corrects.in_(having))
    with reading(engine) as connection:
        counted = select(func.count(distinct(f.message_id))).where(f.error_code == code, f.message_id != besides)
        total = connection.execute(counted).scalar_one()
        still = connection.execute(counted.where(f.current)).scalar_one()
        rows = connection.execute(
            select(k.id, k.kind, k.state)
            .where(k.id.in_(having), k.state.in_(FREED) | k.id.in_(corrected))
            .order_by((k.kind != kind), k.id.desc())
            .limit(limit)
        ).all()
        cases = []
        for message_id, _, state in rows:
            change = connection.execute(
                select(c.at, c.by, c.why).where(c.message_id == message_id).order_by(c.id.desc()).limit(1)
            ).first()
            newer = connection.execute(select(k.id).where(k.corrects == message_id).limit(1)).first()
            if change is not None:
                cases.append(
                    Case(
                        message_id=message_id,
                        at=instant(change[0]).date().isoformat(),
                        state=state,
                        by=change[1] or "",
                        why=change[2] or "",
                        corrected=newer is not None,
                    )
                )
    return Past(code=code, total=total, still=still, cases=tuple(cases))
