"""Whether a message that waits is misdated: what speaks for an error in its date, against a message still to come."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from msgspec import Struct

from energycomm.correction.cases import APPLIED, Case
from energycomm.eis.store import Store
from energycomm.kernel.instants import local_day
from energycomm.pipeline.fold import Judge
from energycomm.pipeline.history import judged_at

FAR = timedelta(days=3 * 366)
"""A market corrects some years back; what it writes further from its day is hardly of that day."""


OTHER_DATES = (
    "with day and month the other way round",
    "a year later",
    "a year earlier",
    "in the year it was written",
    "in the year before it was written",
)
"""Mistakes in a date, in words."""


class Doubt(Struct, frozen=True, kw_only=True):
    """One thing that speaks for an error in the date of a message.

    Attributes:
      words: what was found.
      message_id: the message that shows it, where there is one.
      instead: the instant at which rules would accept the message, where one was found.
    """

    words: str
    message_id: int | None = None
    instead: datetime | None = None


def doubts(store: Store, engine: Judge, case: Case) -> tuple[Doubt, ...]:
    """What speaks for an error in the date of a message that waits; empty where a message to come is likelier.

    Args:
      store: the EIS.
      engine: the rules; they judge the message at other dates, nothing is stored.
      case: the message.
    """
    found = [*_before_all(case), *_far(case)]
    others = dict(_other_dates(case.message.effective, case.message.created, case.zone))
    if others and case.access_point_id is not None:
        verdicts = judged_at(store, engine, case.zone, case.access_point_id, case.id, others)
        for at, words in others.items():
            if at in verdicts and verdicts[at].label == "accepted":
                found.append(Doubt(words=f"on {at:%Y-%m-%d}, {words}, no rule refuses it", instead=at))
    return tuple(found)


def _before_all(case: Case) -> Iterator[Doubt]:
    """It is dated before everything that is known of its contract; of its access point where it names none."""
    reference = case.message.contract_reference
    known = [
        one
        for one in case.around
        if one.state in APPLIED and (reference is None or one.message.contract_reference == reference)
    ]
    first = min(known, key=lambda one: (one.at, one.id), default=None)
    if first is not None and case.at < first.at:
        day = local_day(case.zone, first.at)
        days = (day - local_day(case.zone, case.at)).days
        if days > 0:
            what = f"contract {reference}" if reference else "the access point"
            earlier = "1 day" if days == 1 else f"{days} days"
            words = f"it is dated {earlier} before everything known of {what}, which begins on {day}"
            yield Doubt(words=words, message_id=first.id)


def _far(case: Case) -> Iterator[Doubt]:
    """It was written years from the day that it is about."""
    message = case.message
    apart = message.created - message.effective
    if abs(apart) > FAR:
        years = abs(apart).days // 365
        before = apart > timedelta()
        words = (
            f"it is dated {years} years before the day it was written"
            if before
            else f"it is dated {years} years after the day it was written"
        )
        yield Doubt(words=words)


def _other_dates(at: datetime, created: datetime, zone: ZoneInfo) -> Iterator[tuple[datetime, str]]:
    """Dates that may have been meant, nearer to the day that the message was written, with the mistake of each."""
    local = at.astimezone(zone)
    written = created.astimezone(zone).year
    guesses = [
        (local.year, local.day, local.month),
        (local.year + 1, local.month, local.day),
        (local.year - 1, local.month, local.day),
        (written, local.month, local.day),
        (written - 1, local.month, local.day),
    ]
    seen = {local.date()}
    for (year, month, day), words in zip(guesses, OTHER_DATES, strict=True):
        try:
            other = local.replace(year=year, month=month, day=day, fold=0)
        except ValueError:
            continue  # no such day
        other = other.replace(tzinfo=timezone(other.utcoffset() or timedelta()))
        if other.date() not in seen and abs(created - other) < abs(created - at):
            seen.add(other.date())
            yield other, words
