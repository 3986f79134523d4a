"""Operations on one request to the market: what became of it, by the reference that we or the market gave it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from sqlalchemy import Connection, Engine, func, or_, select

from assistant.operations.codelists import label_of
from assistant.operations.family import RequestLife
from assistant.operations.store_forms import UNANSWERED
from assistant.operations.wording import say
from assistant.operations.worked import Proof, Table, Worked
from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.engine.catalogue import Catalogue
from energycomm.kernel.instants import instant
from energycomm.market.legaltime import LegalTime


class _Step(Struct, frozen=True, order=True):
    """One step of a request; the market's milestones stand in its order."""

    at: int
    milestone: int
    id: int
    state: str
    code: str
    market: str
    message: str
    access_point: str


def request_answer(engine: Engine, catalogue: Catalogue, plan: RequestLife, language: str, times: LegalTime) -> Worked:
    """The state of a request, since when it is so, and every step.

    Args:
      engine: the store.
      catalogue: the codes of the markets, for their meaning.
      plan: which request, and what is asked of it.
      language: of the answer.
      times: legal time, in which instants are shown.
    """
    with reading(engine) as connection:
        names, own = _names(connection, plan.reference)
        steps = sorted((*_told(connection, names), *own))
    proof = Proof(text=f"request: reference {plan.reference}", link="/requests", command="energycomm request list")
    if not steps:
        return Worked(sentence=say(language, "no_request", reference=plan.reference), proofs=(proof,))
    last = {step.access_point: step for step in steps}  # one reference may be that of several access points
    latest = [max(last.values())] if len({step.state for step in last.values()}) == 1 else sorted(last.values())
    sentence = " ".join(
        say(
            language, "request_state", reference=plan.reference, state=step.state,
            code=_with_meaning(catalogue, step, language), at=times.day(instant(step.at), step.market),
        )
        for step in latest
    )  # fmt: skip
    states = tuple(dict.fromkeys(step.state for step in latest))
    values: tuple[str | bool, ...] = states
    if plan.equals:
        holds = all(state in UNANSWERED if plan.equals == "open" else state == plan.equals for state in states)
        sentence, values = f"{say(language, 'yes' if holds else 'no')} {sentence}", (holds,)
    rows = tuple(
        (times.to_the_minute(instant(step.at), step.market), step.state, step.code,
         label_of(catalogue, step.code, step.market, language), step.message, step.access_point)
        for step in steps
    )  # fmt: skip
    columns = ("at", "state", "code", "meaning", "message", "access point")
    return Worked(sentence=sentence, table=Table(columns=columns, rows=rows), proofs=(proof,), values=values)


def _with_meaning(catalogue: Catalogue, step: _Step, language: str) -> str:
    label = label_of(catalogue, step.code, step.market, language)
    told = f"{step.code}: {label}" if label else step.code
    return f" ({told})" if told else ""


def _names(connection: Connection, reference: str) -> tuple[list[str], list[_Step]]:
    """Every reference of a request, ours and the market's, and what we know of it ourselves."""
    o, point = tables.outgoing, tables.access_point
    known = or_(*(func.lower(one) == reference.lower() for one in (o.c.reference, o.c.market_reference)))
    mine = known if not reference.isdigit() else or_(known, o.c.id == int(reference))
    query = select(o, point.c.identifier).outerjoin(point, point.c.id == o.c.access_point_id).where(mine)
    rows = connection.execute(query).mappings().all()
    names = [name for row in rows for name in (row["reference"], row["market_reference"]) if name]
    steps = [
        _Step(
            row["settled_at"] or row["sent_at"] or row["created_at"], 1 << 15, row["id"], row["state"],
            row["answer_code"] or "", row["market"], str(row["message_id"]), row["identifier"] or "",
        )
        for row in rows
    ]  # fmt: skip
    return names or [reference], steps


def _told(connection: Connection, names: Sequence[str]) -> list[_Step]:
    """What the market told of a request."""
    r, point, k = tables.request, tables.access_point, tables.kernel_message
    query = (
        select(r, point.c.identifier, k.c.market)
        .join(k, k.c.id == r.c.message_id)
        .outerjoin(point, point.c.id == r.c.access_point_id)
        .where(func.lower(r.c.reference).in_([name.lower() for name in names]))
    )
    return [
        _Step(
            row["at"], row["milestone"] or 0, row["id"], row["state"], row["state_code"] or "", row["market"],
            str(row["message_id"]), row["identifier"] or "",
        )
        for row in connection.execute(query).mappings()
    ]  # fmt: skip
