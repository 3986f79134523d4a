"""Numbers and days as a language writes them, by the tables of Unicode's CLDR."""

from __future__ import annotations

from datetime import date
from decimal import Decimal


def local_number(number: float | Decimal, language: str, *, decimals: int = 0) -> str:
    """A number, its thousands and its fraction apart: 1 234,5 or 1.234,5.

    Args:
      number: the number.
      language: fr or nl.
      decimals: digits of the fraction at most.
    """
    # Babel takes 40 ms to load, and the command line needs it seldom.
    from babel.numbers import format_decimal

    return format_decimal(number, format=f"#,##0.{'#' * decimals}", locale=language)


def local_date(day: date, language: str) -> str:
    """A day: 31/03/2026 or 31-03-2026.

    Args:
      day: the day.
      language: fr or nl.
    """
    from babel.dates import format_date

    return format_date(day, "short", locale=language)
