"""Edits of written XML: what a mistake changes in one CH message, or in the document that holds it alone.

Tags are local names; prefixes and attributes stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
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


def put(tag: str, value: str, *, every: bool = False) -> Edit:
    """Give the first element of a tag (every one) another text."""

    def edit(xml: str) -> str:
        return _replace(rf"({_opened(tag)})[^<]*</", lambda m: f"{m[1]}{value}</", xml, 0 if every else 1)

    return edit


def drop(tag: str, *, every: bool = False) -> Edit:
    """Leave out the first element of a tag (every one), with all that is in it."""

    def edit(xml: str) -> str:
        return _replace(rf"[ ]*{_opened(tag)}.*?</(?:\w+:)?{tag}>\n?", "", xml, 0 if every else 1)

    return edit


def add(after: str, text: str) -> Edit:
    """Write XML behind the first element of a tag."""

    def edit(xml: str) -> str:
        return _replace(rf"</(?:\w+:)?{after}>", lambda m: f"{m[0]}{text}", xml, 1)

    return edit


def swap(old: str, new: str) -> Edit:
    """Write other text in the place of the first occurrence of a text."""

    def edit(xml: str) -> str:
        return _replace(re.escape(old), lambda _: new, xml, 1)

    return edit


def both(*edits: Edit) -> Edit:
    """One edit after the other."""

    def edit(xml: str) -> str:
        for each in edits:
            xml = each(xml)
        return xml

    return edit


def inside(tag: str, change: Edit, *, every: bool = False) -> Edit:
    """Edit within the first element of a tag (every one) only."""

    def edit(xml: str) -> str:
        whole = rf"{_opened(tag)}.*?</(?:\w+:)?{tag}>"
        return _replace(whole, lambda found: change(found[0]), xml, 0 if every else 1)

    return edit


def repeated(tag: str) -> Edit:
    """Write the first element of a tag two times."""
    return inside(tag, lambda xml: xml * 2)


def number(tag: str, change: Callable[[int], int]) -> Edit:
    """Change the whole number in the first element of a tag."""

    def edit(xml: str) -> str:
        return _replace(rf"({_opened(tag)})(-?\d+)</", lambda m: f"{m[1]}{change(int(m[2]))}</", xml, 1)

    return edit


def shift(tag: str, days: int) -> Edit:
    """Move the day of a date or date-time; the clock and the offset stay."""

    def edit(xml: str) -> str:
        old = _text(xml, tag)
        return put(tag, (date.fromisoformat(old[:10]) + timedelta(days=days)).isoformat() + old[10:])(xml)

    return edit


def copied(tag: str, source: str, *, day: bool = False) -> Edit:
    """Give an element the text of another one, or the day of its text."""

    def edit(xml: str) -> str:
        value = _text(xml, source)
        return put(tag, value[:10] if day else value)(xml)

    return edit


def cents(tag: str, more: int) -> Edit:
    """Add cents to the amount in the first element of a tag."""

    def edit(xml: str) -> str:
        return put(tag, f"{(round(float(_text(xml, tag)) * 100) + more) / 100:.2f}")(xml)

    return edit
