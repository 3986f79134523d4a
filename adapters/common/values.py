"""The types that a leaf of a table may have: how its text becomes a value, and what is expected of it, in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from adapters.common.times import LegalTime, Moment

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,12})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
_INDEX = re.compile(r"(?P<whole>[+-]?[0-9]{1,18})(\.(?P<fraction>[0-9]{1,9}))?")
_DURATION = re.compile(r"P(?:(?P<days>[0-9]{1,3})D)?(?:T(?:(?P<hours>[0-9]{1,3})H)?(?:(?P<minutes>[0-9]{1,5})M)?)?")
_CALENDAR = re.compile(r"P(?:(?P<years>[0-9]{1,2})Y)?(?:(?P<months>[0-9]{1,3})M)?")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


class ValueType(NamedTuple):
    """One type of a leaf.

    Attributes:
      convert: the value of a text without outer blanks; raises `ValueError` where it is none.
      expected: what a text of the type looks like.
    """

    convert: Callable[[str], Any]
    expected: str


class Step(NamedTuple):
    """A step of a series: minutes, or months of the calendar; one of them is None."""

    minutes: int | None
    months: int | None


BASES = frozenset(
    ("text", "code", "instant", "day", "number", "whole", "position", "index", "flag", "duration", "step")
)
"""The types that every table knows."""


def value_types(legal: LegalTime) -> dict[str, ValueType]:
    """The types of `BASES` but ``code``, by name.

    Args:
      legal: the market's legal time.
    """
    return {
        "text": ValueType(_text, "a text"),
        "instant": ValueType(legal.moment, "a date-time like 2026-03-01T00:00:00+01:00"),
        "day": ValueType(legal.day, "a day like 2026-03-01"),
        "number": ValueType(_number, "a decimal number"),
        "whole": ValueType(_whole, "a whole number of at most 9 digits"),
        "position": ValueType(_position, "a whole number from 1"),
        "index": ValueType(_index, "a whole number of at most 18 digits"),
        "flag": ValueType(_flag, "true or false"),
        "duration": ValueType(_duration, "a duration like PT15M, PT1H or P1D"),
        "step": ValueType(_step, "a step like PT15M, P1D, P1M or P1Y"),
    }


def written_as(pattern: str, base: str, legal: LegalTime) -> ValueType:
    """An instant or a day that is not written in the international form.

    Args:
      pattern: as `datetime.strptime` knows it, ``%Y%m%d%H%M``.
      base: ``instant`` or ``day``.
      legal: the market's legal time.

    Raises:
      ValueError: the base is none of the two, or the pattern says nothing.
    """
    if base not in ("instant", "day") or "%" not in pattern:
        raise ValueError(f"a format belongs to an instant or a day, like %Y%m%d, not {pattern!r} to {base}")

    def instant(text: str) -> Moment:
        return legal.moment(datetime.strptime(text, pattern).isoformat())

    def day(text: str) -> date:
        return legal.day(datetime.strptime(text, pattern).date().isoformat())

    return ValueType(instant if base == "instant" else day, f"{base} written as {pattern}")


def has_fraction(text: str) -> bool:
    """Whether an index has decimals that are cut off."""
    return "." in text and bool(text.rpartition(".")[2].strip("0"))


def _text(text: str) -> str:
    return " ".join(text.split())


def _number(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return Decimal(text)


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _position(text: str) -> int:
    if (number := _whole(text)) < 1:
        raise ValueError(text)
    return number


def _index(text: str) -> int:
    found = _INDEX.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return int(found["whole"])


def _flag(text: str) -> bool:
    if text not in _FLAGS:
        raise ValueError(text)
    return _FLAGS[text]


def _duration(text: str) -> int:
    found = _DURATION.fullmatch(text)
    minutes = 0
    if found is not None:
        minutes = int(found["days"] or 0) * 1440 + int(found["hours"] or 0) * 60 + int(found["minutes"] or 0)
    if minutes < 1:
        raise ValueError(text)
    return minutes


def _step(text: str) -> Step:
    found = _CALENDAR.fullmatch(text)
    months = int(found["years"] or 0) * 12 + int(found["months"] or 0) if found is not None else 0
    return Step(None, months) if months else Step(_duration(text), None)
