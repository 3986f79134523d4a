"""Edits of written XML: what a mistake changes in one CH message, or in the document that holds it alone.

Tags are local names; prefixes and attributes stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import reduce
from typing import TypeAlias

Edit: TypeAlias = Callable[[str], str]


class NothingToEdit(LookupError):
    """The XML has no place for the edit: the mistake was aimed at the wrong message."""


def _replace(pattern: str, by: str | Callable[[re.Match[str]], str], xml: str, count: int) -> str:
    changed, times = re.subn(pattern, by, xml, count=count, flags=re.DOTALL)
    if not times:
        raise NothingToEdit(pattern)
    return changed


def _opened(tag: str) -> str:
    return rf"<(?:\w+:)?{tag}(?:\s[^>]*)?>"


def _text(xml: str, tag: str) -> str:
    found = re.search(rf"{_opened(tag)}([^<]*)<", xml)
    if found is None:
        raise NothingToEdit(tag)
    return found[1]


def rewrite(tag: str, change: Callable[[str], str], *, every: bool = False) -> Edit:
    """Change the text of the first element of a tag (every one)."""
    pattern = rf"({_opened(tag)})([^<]*)</"
    return lambda xml: _replace(pattern, lambda found: f"{found[1]}{change(found[2])}</", xml, 0 if every else 1)


def put(tag: str, value: str, *, every: bool = False) -> Edit:
    """Give the first element of a tag (every one) another text."""
    return rewrite(tag, lambda _: value, every=every)


def drop(tag: str, *, every: bool = False) -> Edit:
    """Leave out the first element of a tag (every one), with all that is in it."""
    pattern = rf"[ ]*{_opened(tag)}.*?</(?:\w+:)?{tag}>\n?"
    return lambda xml: _replace(pattern, "", xml, 0 if every else 1)


def add(after: str, text: str) -> Edit:
    """Write XML behind the first element of a tag."""
    return lambda xml: _replace(rf"</(?:\w+:)?{after}>", lambda found: f"{found[0]}{text}", xml, 1)


def swap(old: str, new: str) -> Edit:
    """Write other text in the place of the first occurrence of a text."""
    return lambda xml: _replace(re.escape(old), lambda _: new, xml, 1)


def both(*edits: Edit) -> Edit:
    """One edit after the other."""
    return lambda xml: reduce(lambda text, edit: edit(text), edits, xml)


def inside(tag: str, change: Edit, *, every: bool = False) -> Edit:
    """Edit within the first element of a tag (every one) only."""
    whole = rf"{_opened(tag)}.*?</(?:\w+:)?{tag}>"
    return lambda xml: _replace(whole, lambda found: change(found[0]), xml, 0 if every else 1)


def repeated(tag: str) -> Edit:
    """Write the first element of a tag two times."""
    return inside(tag, lambda xml: xml * 2)


def number(tag: str, change: Callable[[int], int], *, every: bool = False) -> Edit:
    """Change the whole number in the first element of a tag (every one)."""
    return rewrite(tag, lambda text: str(change(int(text))), every=every)


def shift(tag: str, days: int, *, every: bool = False) -> Edit:
    """Move the day of a date or date-time; the clock and the offset stay."""

    def moved(text: str) -> str:
        return (date.fromisoformat(text[:10]) + timedelta(days=days)).isoformat() + text[10:]

    return rewrite(tag, moved, every=every)


def copied(tag: str, source: str, *, day: bool = False, every: bool = False) -> Edit:
    """Give an element (every one of its tag) the text of another one, or the day of its text."""
    return lambda xml: put(tag, _text(xml, source)[: 10 if day else None], every=every)(xml)


def cents(tag: str, more: int) -> Edit:
    """Add cents to the amount in the first element of a tag."""
    return rewrite(tag, lambda amount: f"{(round(float(amount) * 100) + more) / 100:.2f}")
