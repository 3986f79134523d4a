"""The days that a question names, in three languages: a day, a month, a year, this month; since, before, between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

from msgspec import Struct

from assistant.operations.plaintext import plain

DAY_MARK = "§d"
"""Stands in a question where it names days."""

MONTHS = (
    ("january", "janvier", "januari", "jan"), ("february", "fevrier", "februari", "feb"),
    ("march", "mars", "maart", "mar"), ("april", "avril", "april", "apr"), ("may", "mai", "mei", "may"),
    ("june", "juin", "juni", "jun"), ("july", "juillet", "juli", "jul"), ("august", "aout", "augustus", "aug"),
    ("september", "septembre", "september", "sep"), ("october", "octobre", "oktober", "oct"),
    ("november", "novembre", "november", "nov"), ("december", "decembre", "december", "dec"),
)  # fmt: skip
_MONTH = {name: number for number, names in enumerate(MONTHS, start=1) for name in names}
_WHOLE = "|".join(
    sorted({name for names in MONTHS for name in names if len(name) > 3 or name in ("may", "mai", "mei")})
)
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_DAYS = re.compile(
    rf"\b(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})\b"
    rf"|\b(?P<d1>\d{{1,2}})[/.-](?P<m1>\d{{1,2}})[/.-](?P<y1>\d{{4}})\b"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th|er|e)?\s+(?:of\s+)?(?P<m2>{_NAMES})\.?,?\s+(?P<y2>\d{{4}})\b"
    rf"|\b(?P<m3>{_NAMES})\.?\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>\d{{4}})\b"
    rf"|\b(?P<ym>(?:19|20)\d{{2}}-\d{{2}})\b"
    rf"|\b(?P<m4>{_NAMES})\.?\s+(?P<y4>\d{{4}})\b"
    rf"|(?<![\d.-])(?P<y5>(?:19|20)\d{{2}})(?![\d-]|/\d)"
    rf"|\b(?:(?P<d6>\d{{1,2}})(?:st|nd|rd|th|er|e)?\s+(?:of\s+)?)?(?P<m6>{_WHOLE})\b"
)
_SHARING = re.compile(
    rf"\b(?P<lead>(?:between|from|entre|du|de|tussen|van)\s+(?:the\s+|le\s+)?)(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|e)?"
    rf"(?P<join>\s+(?:and|to|until|till|et|au|en|tot(?:\s+en\s+met)?)\s+(?:the\s+|le\s+|de\s+)?)"
    rf"(?P<last>\d{{1,2}})(?:st|nd|rd|th|er|e)?\s+(?:of\s+)?(?P<rest>(?:{_NAMES})(?:\s+\d{{4}})?)\b"
)
"""Two days of a month that is said once: between the 1st and the 31st of March 2026."""
_IN = re.compile(
    r"\b(in|since|during|before|after|until|from|en|depuis|avant|apres|mois de|sinds|vanaf|tot|maand)"
    r"\s*(?:the|last|le|het|de)?\s*$"
)
"""What stands before a month without its year: march is a word as well."""
_LATELY = re.compile(
    r"\b(?:(?:last|past|previous|laatste|afgelopen|voorbije)\s+(?P<n1>\d{1,3})|(?P<n2>\d{1,3})\s+derni?er(?:e)?s|"
    r"past|afgelopen)\s+(?P<unit>days?|weeks?|months?|jours?|semaines?|mois|dag|dagen|week|weken|maand|maanden)\b"
)
_UNITS = {"d": 1, "j": 1, "w": 7, "s": 7, "m": 30}
"""Days of a unit by its first letter, in all three languages."""
_SINCE = re.compile(
    r"\b(since|from|as of|starting|after|depuis|a partir d\w*|apres|des|sinds|vanaf|na)\s*(?:the|le|de|l|het)?\s*$"
)
_AFTER = re.compile(r"\b(after|apres|na)\s*(?:the|le|de|l|het)?\s*$")
_BEFORE = re.compile(r"\b(before|avant|voor|until|up to|jusqu\W?a\w*|jusqu\W?en|tot)\s*(?:the|le|de|l|het|au)?\s*$")


_BY_NAME = re.compile(
    r"\b(?:(?:(?P<first>new year(?:.?s)?(?: day)?|nouvel an|jour de l.an|nieuwjaar(?:sdag)?)"
    r"|(?:christmas(?: day)?|noel|kerstmis|kerstdag)),?(?: of| de| van)? )(?P<year>(?:19|20)\d{2})\b"
)
"""Days that people know by their names."""


class Days(Struct, frozen=True, kw_only=True):
    """Days of a question.

    Attributes:
      since: the first; None where there is no beginning.
      until: the first day after; None where there is no end.
      day: one single day, where it names just one.
      named: the single days, where it names two.
      other: the day if month and day of the month are swapped, where both readings are possible.
    """

    since: date | None = None
    until: date | None = None
    day: date | None = None
    named: tuple[date, ...] = ()
    other: date | None = None

    @property
    def known(self) -> bool:
        """Whether the question names days."""
        return self.since is not None or self.until is not None


class _Span(Struct, frozen=True):
    at: int
    first: date
    end: date
    other: date | None = None


def days_of(text: str, period: str | None, today: date, *, day_first: bool = True) -> tuple[Days, str]:
    """The days that a question names, and the question without them.

    Args:
      text: the question.
      period: this month, last year, ...; a value of the slot `period`.
      today: the day it is asked.
      day_first: whether 3/4/2026 can only be the third of April; otherwise both readings are given.
    """
    flat = _BY_NAME.sub(lambda one: f"{'1 january' if one['first'] else '25 december'} {one['year']}", plain(text))
    flat = _SHARING.sub(r"\g<lead>\g<day> \g<rest>\g<join>\g<last> \g<rest>", flat)
    lately = _LATELY.search(flat)
    if lately:
        length = int(lately["n1"] or lately["n2"] or 1) * _UNITS[lately["unit"][0]]
        since = today - timedelta(days=length)
        return Days(since=since, until=today + timedelta(days=1)), _LATELY.sub(f" {DAY_MARK} ", flat)
    spans = list(_spans(flat, today, day_first=day_first))
    without = _DAYS.sub(lambda one: f" {DAY_MARK} " if _is_day(one) else one[0], flat) if spans else flat
    if not spans:
        return (_period(period, today) if period else Days()), without
    spans = [one for one in spans if not any(_holds(one, other) for other in spans)] or spans[:1]
    first, last = spans[0], spans[-1]
    if len(spans) > 1 and not all((one.first, one.end) == (first.first, first.end) for one in spans):
        begin, end = min(first.first, last.first), max(first.end, last.end)
        alone = all(one.end == one.first + timedelta(days=1) for one in spans)
        return Days(since=begin, until=end, named=tuple(one.first for one in spans) if alone else ()), without
    single = first.first if first.end == first.first + timedelta(days=1) else None
    before = flat[: first.at]
    if _BEFORE.search(before):
        return Days(until=first.first, day=single, other=first.other), without
    if _AFTER.search(before):
        return Days(since=first.end, day=single, other=first.other), without
    if _SINCE.search(before):
        return Days(since=first.first, day=single, other=first.other), without
    return Days(since=first.first, until=first.end, day=single, other=first.other), without


def _holds(one: _Span, other: _Span) -> bool:
    """Whether a span has another one within: New Year 2026 and the first of January 2026."""
    longer = one.end - one.first > other.end - other.first
    return longer and one.first <= other.first and other.end <= one.end


def _is_day(found: re.Match[str]) -> bool:
    """Whether it is a day or month: one without a year stands behind a day, or behind a word like "in"."""
    return not found["m6"] or bool(found["d6"]) or bool(_IN.search(found.string[: found.start()]))


def _latest(parts: dict[str, str | None], today: date) -> tuple[date, date]:
    """The latest day or month of a name that has begun."""
    month, day = _MONTH[parts["m6"] or ""], int(parts["d6"] or 1)
    year = today.year - ((month, day) > (today.month, today.day))
    first = date(year, month, day)
    return first, first + timedelta(days=1) if parts["d6"] else _next_month(first)


def _spans(flat: str, today: date, *, day_first: bool) -> Iterator[_Span]:
    for found in filter(_is_day, _DAYS.finditer(flat)):
        parts = found.groupdict()
        other = None
        try:
            if parts["iso"]:
                first = date.fromisoformat(parts["iso"])
                end = first + timedelta(days=1)
            elif parts["y1"]:
                day, month, year = int(parts["d1"]), int(parts["m1"]), int(parts["y1"])
                if month > 12:
                    day, month = month, day
                elif not day_first and day <= 12 and day != month:
                    other = date(year, day, month)
                first = date(year, month, day)
                end = first + timedelta(days=1)
            elif parts["y2"] or parts["y3"]:
                sign = "2" if parts["y2"] else "3"
                first = date(int(parts[f"y{sign}"]), _MONTH[parts[f"m{sign}"]], int(parts[f"d{sign}"]))
                end = first + timedelta(days=1)
            elif parts["ym"] or parts["y4"]:
                year, month = (
                    map(int, parts["ym"].split("-")) if parts["ym"] else (int(parts["y4"]), _MONTH[parts["m4"]])
                )
                first, end = date(year, month, 1), _next_month(date(year, month, 1))
            elif parts["m6"]:
                first, end = _latest(parts, today)
            else:
                first = date(int(parts["y5"]), 1, 1)
                end = date(first.year + 1, 1, 1)
        except (ValueError, OverflowError):
            continue  # the 31st of February is no day
        yield _Span(found.start(), first, end, other)


def _next_month(first: date) -> date:
    return date(first.year + first.month // 12, first.month % 12 + 1, 1)


def _period(period: str, today: date) -> Days:
    month, monday = today.replace(day=1), today - timedelta(days=today.weekday())
    one, week = timedelta(days=1), timedelta(days=7)
    last_month = (month - one).replace(day=1)
    spans = {
        "today": (today, today + one),
        "yesterday": (today - one, today),
        "week": (monday, monday + week),
        "last_week": (monday - week, monday),
        "month": (month, _next_month(month)),
        "last_month": (last_month, month),
        "year": (date(today.year, 1, 1), date(today.year + 1, 1, 1)),
        "last_year": (date(today.year - 1, 1, 1), date(today.year, 1, 1)),
    }
    since, until = spans[period]
    return Days(since=since, until=until, day=since if until - since == one else None)
