"""Operations on one access point: what happened there, and whether we supply it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from sqlalchemy import Engine

from assistant.operations.family import PointLife
from assistant.operations.stored import midnight
from assistant.operations.wording import say
from assistant.operations.worked import MOST_ROWS, Proof, Worked
from assistant.operations.worked import Table as Shown
from energycomm.eis.timeline import Timeline, timelines
from energycomm.market.legaltime import LegalTime


def life_answer(engine: Engine, plan: PointLife, language: str, times: LegalTime) -> Worked:
    """What happened at an access point; days are those of the legal time of its market."""
    since, until = (None if day is None else midnight(day, times, plan.market) for day in (plan.since, plan.until))
    found = timelines(engine, plan.access_point, market=plan.market, since=since, until=until)
    if not found:
        return _unknown(plan, language)
    rows = [
        (
            times.day(entry.at, line.market), entry.what, str(entry.message_id or ""),
            "; ".join(
                f"{name} {told}"
                for name, value in entry.content.items()
                if (told := _cell(value, times, line.market))
            ),
        )
        for line in found
        for entry in line.entries
    ]  # fmt: skip
    when = ""
    if plan.since or plan.until:
        when = " " + say(language, "between", since=plan.since or "…", until=plan.until or "…")
    return Worked(
        sentence=say(language, "life", n=len(rows), point=plan.access_point, when=when),
        table=Shown(columns=("day", "what", "message", "content"), rows=tuple(rows[-MOST_ROWS:])) if rows else None,
        proofs=_proofs(plan, found, when),
        values=(len(rows),),
    )


def supplied_answer(engine: Engine, plan: PointLife, language: str, times: LegalTime, now: datetime) -> Worked:
    """Whether we supply an access point, now or on a day: a period of its supply has begun and not ended."""
    found = timelines(engine, plan.access_point, market=plan.market)
    if not found:
        return _unknown(plan, language)
    periods = [(line, entry) for line in found for entry in line.entries if entry.what == "supply_period"]
    rows = []
    holds = False
    for line, entry in periods:
        at = midnight(plan.since, times, line.market) if plan.since else now
        end = entry.content.get("ended_at")
        holds = holds or (entry.at is not None and entry.at <= at and (end is None or end > at))
        rows.append((times.day(entry.at, line.market), _cell(end, times, line.market)))
    day = plan.since or times.day(now, found[0].market)
    key = "supplied" if holds else "not_supplied"
    return Worked(
        sentence=say(language, key, point=plan.access_point, on=day, n=len(rows)),
        table=Shown(columns=("since", "until"), rows=tuple(rows)) if rows else None,
        proofs=_proofs(plan, found, ", periods of supply"),
        values=(holds,),
    )


def _cell(value: Any, times: LegalTime, market: str) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return times.day(value, market)
    if isinstance(value, list | tuple):
        return " ".join(str(one) for one in value)
    return str(value)


def _unknown(plan: PointLife, language: str) -> Worked:
    """Nothing is known of the point."""
    proof = Proof(text=f"access point {plan.access_point}", link="/access-points", command=_command(plan))
    return Worked(sentence=say(language, "no_life", point=plan.access_point), proofs=(proof,))


def _proofs(plan: PointLife, found: Iterable[Timeline], what: str) -> tuple[Proof, ...]:
    """Where it can be looked up, in each market that has the point."""
    return tuple(
        Proof(
            text=f"access point {line.market} {line.identifier}{what}",
            link=f"/access-points/{line.market}/{quote(line.identifier)}", command=_command(plan),
        )
        for line in found
    )  # fmt: skip


def _command(plan: PointLife) -> str:
    return f"energycomm access-point show {plan.access_point}"
