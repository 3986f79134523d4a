"""What a market says and no Kernel field has a place for: a table of a market says which elements are kept with a
message under their own names."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any

from lxml import etree
from msgspec import Struct, field, structs

from adapters.common.codes import refusal
from adapters.common.reading import local
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import particulars_of
from energycomm.kernel.verdicts import Refusal

COLUMNS = ["document", "path", "type"]
MOST = 200
"""Particulars that a message can hold."""
_LONGEST_TEXT = 400
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


def _text(written: str) -> str:
    return written[:_LONGEST_TEXT]


def _number(written: str) -> Decimal:
    number = Decimal(written)
    if not number.is_finite():
        raise ValueError(written)
    return number


def _instant(written: str) -> datetime:
    at = datetime.fromisoformat(written)
    if at.tzinfo is None:
        raise ValueError(written)
    return at


_READ: Mapping[str, Callable[[str], Any]] = {
    "text": _text,
    "number": _number,
    "day": date.fromisoformat,
    "instant": _instant,
    "truth": _TRUTHS.__getitem__,
}
"""Type -> what reads a text of it; a text that is none of its type is kept as a text."""


class _Step(Struct):
    """An element of a table: what is kept of it, and of those below."""

    type: str | None = None
    below: dict[str, _Step] = field(default_factory=dict)


class Particulars:
    """The table of a market: document, path from the CH message's element, type.

    The path of an element that holds others keeps all that it holds, as texts.
    """

    def __init__(self, path: Path) -> None:
        """Args:
          path: of the file.

        Raises:
          ValueError: the table has other columns, or a type that is none.
        """
        self.documents: dict[str, _Step] = {}
        with path.open(newline="", encoding="utf-8") as lines:
            rows = csv.DictReader(lines)
            if rows.fieldnames != COLUMNS:
                raise ValueError(f"{path}: the columns are {', '.join(COLUMNS)}")
            for row in rows:
                if row["type"] not in _READ:
                    raise ValueError(f"{path}: {row['path']}: {row['type']!r} is none of {', '.join(_READ)}")
                step = self.documents.setdefault(row["document"], _Step())
                for name in row["path"].split("/"):
                    step = step.below.setdefault(name, _Step())
                step.type = row["type"]

    def added(
        self, messages: tuple[KernelMessage, ...], document: str, element: etree._Element
    ) -> tuple[tuple[KernelMessage, ...], tuple[Refusal, ...]]:
        """The messages of a CH message with what its element says beside, and a note where that is too much.

        Args:
          messages: the first of them takes the particulars.
          document: label of the document.
          element: of the CH message.
        """
        table = self.documents.get(document)
        return with_particulars(messages, dict(_values(element, table, "")) if table is not None and messages else {})


def with_particulars(
    messages: tuple[KernelMessage, ...], values: Mapping[str, Any]
) -> tuple[tuple[KernelMessage, ...], tuple[Refusal, ...]]:
    """The messages of a CH message with particulars on the first of them, and a note where these are too many.

    Args:
      messages: in their business order.
      values: name -> value, in the order in which they are kept.
    """
    if not messages or not values:
        return messages, ()
    first, *others = messages
    made = (structs.replace(first, particulars=particulars_of(dict(islice(values.items(), MOST)))), *others)
    if len(values) <= MOST:
        return made, ()
    left = next(islice(values, MOST, None))
    return made, (refusal("NOTE_PARTICULARS", path=left, value=str(len(values)), expected=f"at most {MOST}"),)


def _values(element: etree._Element, table: _Step, above: str) -> Iterator[tuple[str, Any]]:
    for name, child in _numbered(element):
        step = table.below.get(local(str(child.tag)))
        if step is None:
            continue
        if step.type is None:
            yield from _values(child, step, f"{above}{name}/")
        elif not len(child) and child.text and child.text.strip():
            yield f"{above}{name}", _read(child.text.strip(), step.type)
        else:
            yield from _everything(child, f"{above}{name}")


def _everything(element: etree._Element, path: str) -> Iterator[tuple[str, Any]]:
    for attribute, value in element.attrib.items():
        if value:
            yield f"{path}/@{local(str(attribute))}", _text(str(value))
    if not len(element) and element.text and element.text.strip():
        yield path, _text(element.text.strip())
    for name, child in _numbered(element):
        yield from _everything(child, f"{path}/{name}")


def _numbered(element: etree._Element) -> Iterator[tuple[str, etree._Element]]:
    """The elements in an element by name; the second of a name is ``name[2]``."""
    seen: dict[str, int] = {}
    for child in element.iterchildren(etree.Element):
        tag = local(str(child.tag))
        number = seen[tag] = seen.get(tag, 0) + 1
        yield (tag if number == 1 else f"{tag}[{number}]"), child


def _read(written: str, kind: str) -> Any:
    try:
        return _READ[kind](written)
    except (ValueError, KeyError, InvalidOperation):
        return _text(written)
