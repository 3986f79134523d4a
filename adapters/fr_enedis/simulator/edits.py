"""Edits of one written CH message (or of one document): what a mistake changes in the XML."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Literal, TypeAlias

Edit: TypeAlias = Callable[[str], str]
Measure = Literal["1", "2"]
"""Classe_Mesure: 1 is an index, 2 an energy."""

_CLASS = re.compile(r"[ ]*<(Classe_Temporelle(?:_Distributeur)?)>.*?</\1>\n", re.DOTALL)


class NothingToEdit(LookupError):
    """The XML has no place for the edit: the mistake was aimed at the wrong message."""


def _replace(pattern: str, by: str | Callable[[re.Match[str]], str], xml: str, count: int) -> str:
    changed, times = re.subn(pattern, by, xml, count=count, flags=re.DOTALL)
    if not times:
        raise NothingToEdit(pattern)
    return changed


def put(tag: str, value: str, *, every: bool = False) -> Edit:
    """Give the first element of a tag (every one) another text."""

    def edit(xml: str) -> str:
        return _replace(rf"<{tag}>[^<]*</{tag}>", lambda _: f"<{tag}>{value}</{tag}>", xml, 0 if every else 1)

    return edit


def drop(tag: str, *, every: bool = False) -> Edit:
    """Leave out the first element of a tag (every one), with all that is in it."""

    def edit(xml: str) -> str:
        return _replace(rf"[ ]*<{tag}(?: [^>]*)?>.*?</{tag}>\n?", "", xml, 0 if every else 1)

    return edit


def add(after: str, text: str) -> Edit:
    """Write XML behind the first element of a tag."""

    def edit(xml: str) -> str:
        return _replace(rf"</{after}>", lambda _: f"</{after}>{text}", xml, 1)

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


def number(tag: str, change: Callable[[int], int]) -> Edit:
    """Change the whole number in the first element of a tag."""

    def edit(xml: str) -> str:
        return _replace(rf"<{tag}>(-?\d+)</{tag}>", lambda m: f"<{tag}>{change(int(m[1]))}</{tag}>", xml, 1)

    return edit


def classes(change: Edit | None, *, measure: Measure | None = None, grid: str = "", first: bool = False) -> Edit:
    """Change time classes of a reading.

    Args:
      change: applied to the XML of each class; None leaves it out.
      measure: only classes of this Classe_Mesure; None for all, and for R151, which has none.
      grid: ``Distributeur`` or ``Fournisseur`` for the classes of one grid.
      first: only the first of those.
    """

    def edit(xml: str) -> str:
        found = 0

        def one(match: re.Match[str]) -> str:
            nonlocal found
            text = match[0]
            ours = not match[1].endswith("Distributeur")
            if (measure and f"<Classe_Mesure>{measure}<" not in text) or (grid and ours != (grid == "Fournisseur")):
                return text
            found += 1
            if first and found > 1:
                return text
            return change(text) if change else ""

        changed = _CLASS.sub(one, xml)
        if not found:
            raise NothingToEdit(f"classes of measure {measure}, grid {grid}")
        return changed

    return edit


def twice(xml: str) -> str:
    """Write something two times."""
    return xml * 2


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


def _text(xml: str, tag: str) -> str:
    found = re.search(rf"<{tag}>([^<]*)<", xml)
    if found is None:
        raise NothingToEdit(tag)
    return found[1]


def cents(tag: str, more: int) -> Edit:
    """Add cents to the amount in the first element of a tag."""

    def edit(xml: str) -> str:
        return put(tag, f"{(round(float(_text(xml, tag)) * 100) + more) / 100:.2f}")(xml)

    return edit
