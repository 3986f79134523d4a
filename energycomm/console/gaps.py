"""Measures that are missing in the life of an access point: pauses longer than its rhythm, until now where none came.

The rhythm is that of the measures around a pause, so that a point whose meter was read by the month and is read by the
day now has two. Readings of an event, a change of meter or of contract, make none. While too few came, it is the period
that the market declares of the point, else a month.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

from msgspec import Struct

from energycomm.eis.timeline import Entry, Timeline

DAY = timedelta(days=1)
MONTH = 30.44
"""Days of a mean month."""

RHYTHMS = ((3, 1.6), (10, 11), (45, 49), (130, 122), (250, 230), (10_000, 426))
"""(longest usual pause, longest pause that is none too many), days: daily, weekly, monthly, quarterly, half-yearly and
yearly measures."""

AROUND = 4
"""Measures before and after a pause that tell its rhythm."""

ADJOINING = 0.8
"""Share of curves that begin where another one ended, above which a hole between them is missing: curves that were
asked for once leave holes."""

HOLE = timedelta(minutes=59)
"""What is missing between two curves is at least an hour."""


class Gap(Struct, frozen=True):
    """Measures that are missing: `lane` is readings or curves."""

    lane: str
    begin: datetime
    end: datetime

    @property
    def days(self) -> int:
        """Its length in days, at least one."""
        return max((self.end - self.begin).days, 1)


Span = tuple[datetime, datetime]


def gaps_of(
    timeline: Timeline, now: datetime, notices: Collection[str] = (), whole_since: datetime | None = None
) -> list[Gap]:
    """The gaps, by lane and time.

    Args:
      timeline: of one access point.
      now: the present, aware.
      notices: types of messages that tell which services run and stopped (`energycomm.market.contract.Noticing`).
      whole_since: before this instant measures are in an archive, and none is missing; None where none is.
    """
    entries = [entry for entry in timeline.entries if entry.at is not None]
    readings = _instants(entries, "reading")
    curves = _merged(entry for entry in entries if entry.what == "series")
    if not readings:  # energies alone are the measures of some points
        readings = _instants(entries, "volume")
    begin = whole_since
    if not timeline.complete:
        begin = max(filter(None, (begin, entries[0].at if entries else now)))
    supplied = [
        (max(start, begin) if begin else start, end)
        for start, end in _supplied(entries, now)
        if begin is None or end > begin
    ]
    known = supplied or ([(readings[0], readings[-1])] if readings else [])
    stops, declared = _stops(timeline, notices), _declared(entries)
    found = []
    for low, high in known:
        rhythmic = _rhythmic(entries, readings)
        holes = list(_holes(entries, curves, low, high, stops))
        for start, end in _pauses(readings, low, high):
            end = next((at for at in stops if start <= at < end), end)
            longest = _longest(rhythmic, start, end, declared, open_=bool(supplied) and (start == low or end == high))
            for left, right in _uncovered(start, end, curves):
                told = any(hole.begin <= left and right <= hole.end for hole in holes)
                if longest is not None and right - left > longest and not told:
                    found.append(Gap("readings", left, right))
        found += holes
    return found


def _instants(entries: Sequence[Entry], what: str) -> list[datetime]:
    """When there is something of a kind."""
    return sorted({entry.at for entry in entries if entry.what == what and entry.at is not None})


def _supplied(entries: Sequence[Entry], now: datetime) -> list[Span]:
    """The periods of supply, until now at most."""
    periods = []
    for entry in entries:
        if entry.what == "supply_period" and entry.at is not None and entry.at < now:
            periods.append((entry.at, min(entry.content.get("ended_at") or now, now)))
    return sorted(periods)


def _declared(entries: Sequence[Entry]) -> float | None:
    """Days between two periodic readings, as the market said last."""
    months = [entry.content.get("reading_period") for entry in entries if entry.what == "point_data"]
    return next((month * MONTH for month in reversed(months) if month), None)


def _rhythmic(entries: Sequence[Entry], measures: Sequence[datetime]) -> list[datetime]:
    """The measures that no event caused, one of those that lie less than half a day apart."""
    caused = {
        entry.at
        for entry in entries
        if entry.what == "reading" and entry.content.get("qualification") in ("before-event", "after-event")
    }
    found: list[datetime] = []
    for at in measures:
        if at not in caused and (not found or at - found[-1] > DAY / 2):
            found.append(at)
    return found


def _pauses(measures: Sequence[datetime], low: datetime, high: datetime) -> Iterator[Span]:
    """The times between measures within a period, from its beginning and until its end."""
    inside = [at for at in measures if low <= at <= high]
    yield from pairwise(sorted({low, *inside, high}))


def _longest(
    rhythmic: Sequence[datetime], begin: datetime, end: datetime, declared: float | None, *, open_: bool
) -> timedelta | None:
    """The longest pause at a place that is none too many; None where nothing tells.

    Args:
      rhythmic: the measures that make a rhythm.
      begin, end: the place.
      declared: days between two periodic readings, as the market says.
      open_: it is the pause after which, or before which, supply had no measure: some period has to be assumed.
    """
    sides = [at for at in rhythmic if at <= begin][-AROUND:], [at for at in rhythmic if at >= end][:AROUND]
    usual = [median((later - earlier) / DAY for earlier, later in pairwise(side)) for side in sides if len(side) > 1]
    if len(rhythmic) < AROUND and (declared is not None or not usual):
        usual = [declared] if declared is not None else [MONTH] if open_ else []
    if not usual:
        return None
    return timedelta(days=next(most for days, most in RHYTHMS if max(usual) <= days))


def _merged(series: Iterator[Entry]) -> list[Span]:
    """What curves cover, without overlaps."""
    found: list[Span] = []
    for start, end in sorted((one.at, one.content.get("end_at") or one.at) for one in series if one.at is not None):
        if found and start <= found[-1][1] + HOLE:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _uncovered(begin: datetime, end: datetime, covered: Sequence[Span]) -> Iterator[Span]:
    """What is left of a time when what curves cover is taken away."""
    for start, stop in covered:
        if stop <= begin or start >= end:
            continue
        if start > begin:
            yield begin, start
        begin = max(begin, stop)
    if begin < end:
        yield begin, end


def _holes(
    entries: Sequence[Entry], covered: Sequence[Span], low: datetime, high: datetime, stops: Sequence[datetime]
) -> Iterator[Gap]:
    """Holes between curves that follow one another, and the time after the last of them."""
    starts = _instants(entries, "series")
    if len(starts) < AROUND or len(covered) - 1 > (1 - ADJOINING) * (len(starts) - 1):
        return
    for (_, end), (start, _) in pairwise(covered):
        end, start = max(end, low), min(start, high)
        start = next((at for at in stops if end <= at < start), start)
        if start - end > HOLE:
            yield Gap("curves", end, start)
    last = max(covered[-1][1], low)
    until = next((at for at in stops if last <= at < high), high)
    longest = _longest(starts, starts[-1], high, None, open_=False)
    if longest is not None and covered[-1][1] >= low and until - last > longest:
        yield Gap("curves", last, until)


def _stops(timeline: Timeline, notices: Collection[str]) -> list[datetime]:
    """When services of the point stopped; none while a service of another kind runs, which may bring readings."""
    told = {entry.message_id for entry in timeline.entries if entry.content.get("type") in notices}
    stops: dict[object, datetime] = {}
    kinds: dict[object, object] = {}
    for entry in timeline.entries:
        if entry.what == "request" and entry.message_id in told and entry.at is not None:
            service = entry.content["reference"]
            kinds[service] = entry.content.get("object_code")
            if entry.content["state"] == "done":
                stops[service] = entry.at
    stopped = {kinds[service] for service in stops}
    return sorted(stops.values()) if stopped.issuperset(kinds.values()) else []
