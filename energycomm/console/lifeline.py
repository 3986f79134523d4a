"""The life of an access point drawn over time: supply, contract, measures, gaps, events, what waits or was refused.

lanes   supply      ▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬      periods that supply ran
        contract    ▏      ▏              changes
        readings    • • •   ░░░ • •       indexes, and gaps between them
        curves      ▬▬▬▬▬▬▬▬▬             what series and volumes cover
        ...
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta, tzinfo
from html import escape

from markupsafe import Markup
from msgspec import Struct

from energycomm.console.gaps import gaps_of
from energycomm.eis.timeline import Entry, Timeline

WIDTH = 1000
LABEL = 104
LANE = 26
AXIS = 22
MOST_MARKS = 1500
"""Marks of a lane; of more, the latest are drawn."""

LANES = ("supply", "contract", "meter", "readings", "curves", "charges", "requests", "waiting", "refused")
"""The lanes from the top, by the words that are translated for their labels."""

_LANE_OF = {
    "supply_period": "supply",
    "contract": "contract",
    "point_data": "contract",
    "customer": "contract",
    "meter": "meter",
    "reading": "readings",
    "volume": "curves",
    "series": "curves",
    "grid_charge": "charges",
    "request": "requests",
    "received_request": "requests",
    "point_parties": "contract",
    "point_relations": "contract",
}


class Mark(Struct, frozen=True):
    """Something in a lane: an instant, or a span when `end` is given.

    Attributes:
      lane: which.
      begin, end: when; of a span that still runs, the end is that of the drawing.
      title: what it is, for whoever points at it.
      style: dot, tick, span, gap, wait or bad.
      link: where it leads.
    """

    lane: str
    begin: datetime
    end: datetime | None
    title: str
    style: str
    link: str = ""


def marks_of(
    timeline: Timeline, now: datetime, notices: Collection[str] = (), whole_since: datetime | None = None
) -> list[Mark]:
    """What is drawn of a timeline.

    Args:
      timeline: of one access point.
      now: the present.
      notices: types of messages that tell which services run and stopped (`energycomm.market.contract.Noticing`).
      whole_since: before this instant measures are in an archive; None where none is.
    """
    marks: list[Mark] = []
    for entry in timeline.entries:
        if entry.at is None:  # what bears no time has no place on the axis
            continue
        mark = _message(entry, entry.at) if entry.what in ("message", "refused") else _effect(entry, entry.at, now)
        if mark is not None:
            marks.append(mark)
    gaps = gaps_of(timeline, now, notices, whole_since)
    return [*marks, *(Mark(gap.lane, gap.begin, gap.end, f"{gap.days} d", "gap") for gap in gaps)]


def _message(entry: Entry, at: datetime) -> Mark | None:
    """Messages that were accepted are drawn by what they did."""
    content, link = entry.content, f"/messages/{entry.message_id}"
    codes = " ".join(content.get("codes", ()))
    if entry.what == "refused":
        link = f"/messages?envelope={content['envelope_id']}"
        return Mark("refused", at, None, f"{content['type']} {codes}", "bad", link)
    state = content["state"]
    if state == "quarantined":
        words = f"{content['kind']} {content.get('waits_for', '')}"
        return Mark("waiting", at, None, words, "wait", link)
    if state in ("rejected", "engine_error", "delegated", "ticketed", "to_replay"):
        return Mark("refused", at, None, f"{content['kind']} {codes}", "bad", link)
    return None


def _effect(entry: Entry, at: datetime, now: datetime) -> Mark | None:
    lane = _LANE_OF.get(entry.what)
    if lane is None:
        return None
    content = entry.content
    link = f"/messages/{entry.message_id}"
    if entry.what == "supply_period":
        words = " ".join(str(content[name]) for name in ("reference", "supplier", "reason") if content.get(name))
        return Mark(lane, at, content.get("ended_at") or now, words, "span", link)
    if entry.what == "series":
        return Mark(lane, at, content.get("end_at"), f"{content.get('source')} {content.get('unit')}", "span", link)
    if entry.what == "volume" and content.get("start_at"):
        return Mark(lane, content["start_at"], at, str(content.get("source")), "span", link)
    if entry.what == "reading":
        words = f"{content.get('qualification')} {content.get('nature')} {content.get('status')} {indexes(content)}"
        return Mark(lane, at, None, words, "dot" if content.get("status") == "current" else "old", link)
    shown = ("action", "serial", "tariff", "status", "segment", "category", "total", "currency", "invoice", "state")
    words = " ".join(str(content[name]) for name in shown if content.get(name) not in (None, ""))
    return Mark(lane, at, None, f"{entry.what.replace('_', ' ')} {words}".strip(), "tick", link)


def indexes(content: dict[str, object]) -> str:
    """The indexes of a reading in a few words."""
    found = []
    registers = content.get("registers")
    for one in registers if isinstance(registers, list) else ():
        if isinstance(one, dict):
            name = one.get("time_class", "")
            found.append(f"{name} {one.get('value', '')} {one.get('unit', '')}".strip())
    return ", ".join(found)


def draw(marks: Sequence[Mark], labels: dict[str, str], name: str, zone: tzinfo, now: datetime) -> Markup:
    """The drawing.

    Args:
      marks: what is drawn.
      labels: lane -> its words.
      name: what it shows, for those who do not see it.
      zone: legal time of the axis.
      now: the present, drawn as a line when it is in the picture.
    """
    if not marks:
        return Markup("")
    begin, end = _extent(marks)
    lanes = [lane for lane in LANES if any(mark.lane == lane for mark in marks)]
    height = AXIS + LANE * len(lanes) + 6
    scale = (WIDTH - LABEL) / (end - begin).total_seconds()

    def x(at: datetime) -> float:
        return LABEL + (min(max(at, begin), end) - begin).total_seconds() * scale

    drawn = [_axis(begin.astimezone(zone), end.astimezone(zone), x, height)]
    for number, lane in enumerate(lanes):
        y = AXIS + LANE * number
        drawn.append(f'<text class="lane" x="0" y="{y + 17}">{escape(labels[lane])}</text>')
        drawn.append(f'<line class="grid" x1="{LABEL}" y1="{y + LANE}" x2="{WIDTH}" y2="{y + LANE}"/>')
        mine = sorted((mark for mark in marks if mark.lane == lane), key=lambda mark: mark.style != "gap")
        drawn += [_mark(mark, x(mark.begin), x(mark.end or mark.begin), y, zone) for mark in mine[-MOST_MARKS:]]
    if begin < now < end:
        drawn.append(f'<line class="now" x1="{x(now):.1f}" y1="{AXIS - 4}" x2="{x(now):.1f}" y2="{height}"/>')
    return Markup(  # noqa: S704 - every text in it is escaped
        f'<svg class="life" viewBox="0 0 {WIDTH} {height}" role="group" aria-label="{escape(name, quote=True)}">'
        f"{''.join(drawn)}</svg>"
    )


def _extent(marks: Sequence[Mark]) -> tuple[datetime, datetime]:
    """From when to when is drawn: the life as the store knows it. What was refused may bear any date; marks beyond
    stand at the edge.
    """
    known = [mark for mark in marks if mark.style not in ("bad", "wait")] or marks
    begin = min(mark.begin for mark in known)
    end = max(mark.end or mark.begin for mark in known)
    wide = max(end - begin, timedelta(days=60))
    for mark in marks:
        if begin - wide <= mark.begin <= end + wide / 2:
            begin, end = min(begin, mark.begin), max(end, mark.begin)
    margin = max((end - begin) * 0.02, timedelta(days=2))
    return begin - margin, end + margin


def _mark(mark: Mark, left: float, right: float, y: float, zone: tzinfo) -> str:
    when = f"{mark.begin.astimezone(zone):%Y-%m-%d}"
    if mark.end is not None:
        when += f" – {mark.end.astimezone(zone):%Y-%m-%d}"
    words = f"{when} {mark.title}"
    title = f"<title>{escape(words)}</title>"
    if mark.style in ("span", "gap"):
        tall = 12 if mark.style == "span" else 16
        shape = (
            f'<rect class="m-{mark.style} l-{mark.lane}" x="{left:.1f}" y="{y + (LANE - tall) / 2:.1f}" '
            f'width="{max(right - left, 1.5):.1f}" height="{tall}" rx="2">{title}</rect>'
        )
    elif mark.style in ("dot", "old"):
        shape = f'<circle class="m-{mark.style}" cx="{left:.1f}" cy="{y + LANE / 2:.1f}" r="3.2">{title}</circle>'
    elif mark.style == "tick":
        shape = f'<rect class="m-tick" x="{left - 1:.1f}" y="{y + 6}" width="2.5" height="14">{title}</rect>'
    else:
        middle = y + LANE / 2
        points = f"{left:.1f},{middle - 5:.1f} {left + 5:.1f},{middle:.1f} {left:.1f},{middle + 5:.1f} "
        points += f"{left - 5:.1f},{middle:.1f}"
        shape = f'<polygon class="m-{mark.style}" points="{points}">{title}</polygon>'
    if not mark.link:
        return shape
    return f'<a href="{escape(mark.link, quote=True)}" aria-label="{escape(words, quote=True)}">{shape}</a>'


def _axis(begin: datetime, end: datetime, x: object, height: float) -> str:
    """Months, or years when there are many."""
    assert callable(x)
    months = (end.year - begin.year) * 12 + end.month - begin.month
    step = next((one for one in (1, 2, 3, 6, 12) if months / one <= 14), 24)
    drawn = []
    for number in range(months + 2):
        year, month = divmod(begin.year * 12 + begin.month - 1 + number, 12)
        if month % min(step, 12) or (step > 12 and year % (step // 12)):
            continue
        at = begin.replace(year=year, month=month + 1, day=1, hour=0, minute=0, second=0, microsecond=0)
        if begin <= at <= end:
            words = f"{at:%Y}" if month == 0 or step >= 12 else f"{at:%m.%Y}" if number < step else f"{at:%m}"
            drawn.append(f'<line class="grid" x1="{x(at):.1f}" y1="{AXIS - 4}" x2="{x(at):.1f}" y2="{height}"/>')
            drawn.append(f'<text class="tick" x="{x(at):.1f}" y="{AXIS - 8}" text-anchor="middle">{words}</text>')
    return "".join(drawn)
