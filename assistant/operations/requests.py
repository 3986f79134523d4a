"""Operations on requests to the market: what became of one, by the reference that we or the market gave it, or of
those at an access point."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Engine, and_, func, or_, select

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
    reference: str
    object: str = ""


MOST_TOLD = 3
"""Requests of an access point whose states are told in the sentence; the table has them all."""


def request_answer(engine: Engine, catalogue: Catalogue, plan: RequestLife, language: str, times: LegalTime) -> Worked:
    """The state of a request or of those at an access point, since when it is so, and every step.

    Args:
      engine: the store.
      catalogue: the codes of the markets, for their meaning.
      plan: which requests, and what is asked of them.
      language: of the answer.
      times: legal time, in which instants are shown.
    """
    with reading(engine) as connection:
        names, own = _ours(connection, plan)
        steps = [] if plan.about == "references" else sorted((*_told(connection, plan, names), *own))
        pairs = _references(connection, plan) if plan.about == "references" else []
    wanted = f"reference {plan.reference}" if plan.reference else f"access point {plan.access_point}"
    proof = Proof(text=f"request: {wanted}", link="/requests", command="energycomm request list")
    if pairs:
        text = " ".join(say(language, "references", ours=ours, market=market or "-") for ours, market in pairs)
        given = tuple(one for pair in pairs for one in pair if one and one.lower() != str(plan.reference).lower())
        return Worked(sentence=text, proofs=(proof,), values=given)
    if plan.about == "references":
        text = say(language, "no_references", reference=plan.reference)
        return Worked(sentence=text, proofs=(proof,))
    if not steps:
        key = "no_request" if plan.reference else "no_request_there"
        text = say(language, key, reference=plan.reference, point=plan.access_point)
        return Worked(sentence=text, proofs=(proof,))
    # One reference may be that of several access points, and one access point has several requests.
    last = {step.access_point if plan.reference else step.reference: step for step in steps}
    latest = sorted(last.values())
    if plan.reference and len({step.state for step in latest}) == 1:
        latest = latest[-1:]
    told = [
        say(
            language, "request_state", reference=plan.reference or step.reference, state=step.state,
            code=_with_meaning(catalogue, step, language), at=times.day(instant(step.at), step.market),
        )
        for step in (latest if plan.reference else latest[-MOST_TOLD:])
    ]  # fmt: skip
    if not plan.reference and len(latest) > 1:
        told.insert(0, say(language, "requests_there", n=len(latest), point=plan.access_point))
    sentence = " ".join(told)
    states = tuple(dict.fromkeys(step.state for step in latest))
    values: tuple[str | bool, ...] = states
    if plan.equals:
        every = all if plan.reference else any  # of several requests at an access point one is enough
        holds = every(state in UNANSWERED if plan.equals == "open" else state == plan.equals for state in states)
        sentence, values = f"{say(language, 'yes' if holds else 'no')} {sentence}", (holds,)
    rows = tuple(
        (times.to_the_minute(instant(step.at), step.market), step.state, step.code,
         label_of(catalogue, step.code, step.market, language), step.message, step.access_point)
        + (() if plan.reference else (step.reference, step.object))
        for step in steps
    )  # fmt: skip
    columns: tuple[str, ...] = ("at", "state", "code", "meaning", "message", "access point")
    columns += () if plan.reference else ("reference", "object")
    return Worked(sentence=sentence, table=Table(columns=columns, rows=rows), proofs=(proof,), values=values)


def _with_meaning(catalogue: Catalogue, step: _Step, language: str) -> str:
    label = label_of(catalogue, step.code, step.market, language)
    told = f"{step.code}: {label}" if label else step.code
    return f" ({told})" if told else ""


def _ours(connection: Connection, plan: RequestLife) -> tuple[dict[str, str], list[_Step]]:
    """Every reference of the requests, ours and the market's, each with the one that names the request; and what we
    know of them ourselves."""
    o, point = tables.outgoing, tables.access_point
    reference = (plan.reference or "").lower()
    wanted = _named(reference) if plan.reference else point.c.identifier == plan.access_point
    if plan.kinds:
        wanted = and_(wanted, o.c.kind.in_(plan.kinds))
    query = select(o, point.c.identifier).outerjoin(point, point.c.id == o.c.access_point_id).where(wanted)
    rows = connection.execute(query).mappings().all()
    names = {
        name.lower(): row["reference"] for row in rows for name in (row["reference"], row["market_reference"]) if name
    }
    steps = [
        _Step(
            row["settled_at"] or row["sent_at"] or row["created_at"], 1 << 15, row["id"], row["state"],
            row["answer_code"] or "", row["market"], str(row["message_id"]), row["identifier"] or "", row["reference"],
            row["kind"],
        )
        for row in rows
    ]  # fmt: skip
    return names or ({reference: reference} if plan.reference else {}), steps


def _named(reference: str) -> ColumnElement[bool]:
    """Our requests of a reference, ours or the market's, or of a number."""
    o = tables.outgoing.c
    named = or_(*(func.lower(one) == reference for one in (o.reference, o.market_reference)))
    return or_(named, o.id == int(reference)) if reference.isdigit() else named


def _references(connection: Connection, plan: RequestLife) -> list[tuple[str, str]]:
    """Our reference and the market's of each request that has the one that is named."""
    o = tables.outgoing.c
    query = select(o.reference, o.market_reference).where(_named(str(plan.reference).lower())).order_by(o.id)
    return [(str(row[0]), str(row[1] or "")) for row in connection.execute(query)]


def _told(connection: Connection, plan: RequestLife, names: Mapping[str, str]) -> list[_Step]:
    """What the market told of the requests; of those at an access point all where none of ours is meant."""
    r, point, k = tables.request, tables.access_point, tables.kernel_message
    known = func.lower(r.c.reference).in_(names)
    there = point.c.identifier == plan.access_point
    query = (
        select(r, point.c.identifier, k.c.market)
        .join(k, k.c.id == r.c.message_id)
        .outerjoin(point, point.c.id == r.c.access_point_id)
        .where(known if plan.reference or (plan.kinds and names) else there)
    )
    return [
        _Step(
            row["at"], row["milestone"] or 0, row["id"], row["state"], row["state_code"] or "", row["market"],
            str(row["message_id"]), row["identifier"] or "", names.get(row["reference"].lower(), row["reference"]),
            row["object_code"] or "",
        )
        for row in connection.execute(query).mappings()
    ]  # fmt: skip
