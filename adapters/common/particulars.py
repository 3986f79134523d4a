"""What a market says and no Kernel field has a place for: a table of a market says which elements are kept with a
message under their own names."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from lxml import etree
from msgspec import Struct, field, structs

from adapters.common.codes import refusal
from adapters.common.reading import TEXT, Fields, local, read_with_attributes
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import MOST_PARTICULARS, Particular, particulars_of
from energycomm.kernel.verdicts import Refusal

COLUMNS = ["document", "path", "type"]
LONGEST_NAME = 120
"""Characters that the name of a particular can have."""
_NO_NAME = re.compile(r"[=\s]")
_LONGEST_TEXT = 400
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


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
    "text": str,
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


Collector: TypeAlias = Callable[[Fields], tuple[Particular, ...]]
"""Makes the particulars of one document, in the order of their names. Raises `_Unusual`."""


class _Unusual(Exception):
    """A name or a text is too long, or there are too many: `with_particulars` knows what to do."""


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
        self._collectors: dict[str, Collector] = {}
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
        self, messages: tuple[KernelMessage, ...], document: str, content: Fields | etree._Element
    ) -> tuple[tuple[KernelMessage, ...], tuple[Refusal, ...]]:
        """The messages of a CH message with what its content says beside, and a note where that is too much.

        Args:
          messages: the first of them takes the particulars.
          document: label of the document.
          content: of the CH message, as it was read; an element is read with its attributes.
        """
        table = self.documents.get(document)
        if table is None or not messages:
            return messages, ()
        if not isinstance(content, dict):
            return with_particulars(messages, _values(_named_ones(content, table), table, "", []))
        first, *others = messages
        if not first.particulars:
            try:
                made = self._collector(document)(content)
            except _Unusual:
                pass
            else:
                return (structs.replace(first, particulars=made) if made else first, *others), ()
        return with_particulars(messages, _values(content, table, "", []))

    def _collector(self, document: str) -> Collector:
        if document not in self._collectors:
            self._collectors[document] = _compiled(self.documents[document])
        return self._collectors[document]


def with_particulars(
    messages: tuple[KernelMessage, ...], values: Mapping[str, Any] | Iterable[tuple[str, Any]]
) -> tuple[tuple[KernelMessage, ...], tuple[Refusal, ...]]:
    """The messages of a CH message with particulars on the first of them, and a note where these are too many.

    Args:
      messages: in their business order.
      values: name and value, in the order in which they are kept.
    """
    if not messages:
        return messages, ()
    first, *others = messages
    told = values.items() if isinstance(values, Mapping) else values
    made, notes = kept(told, MOST_PARTICULARS - len(first.particulars))
    return (structs.replace(first, particulars=(*first.particulars, *made)) if made else first, *others), notes


def kept(
    values: Iterable[tuple[str, Any]], most: int = MOST_PARTICULARS
) -> tuple[tuple[Particular, ...], tuple[Refusal, ...]]:
    """The particulars of a message, and a note where the market says more than a message holds.

    Args:
      values: name and value; None and empty texts are left out. The second of a name is called ``name[2]``, a name that
        is too long loses its first steps. A text that is too long goes on in a second of its name.
      most: particulars that the message has room for.
    """
    named: dict[str, Any] = {}
    left: list[str] = []
    for told, value in values:
        if value is None or value == "":
            continue
        for part in _parts(value):
            if len(named) >= most:
                left.append(told)
                continue
            key = _name(told)
            number = 1
            while key in named:
                number += 1
                key = _name(f"{told}[{number}]")
            named[key] = part
    notes = (
        [refusal("NOTE_PARTICULARS", left[0], str(len(named) + len(left)), f"at most {MOST_PARTICULARS}")]
        if left
        else []
    )
    return particulars_of(named), tuple(notes)


def _parts(value: Any) -> tuple[Any, ...]:
    """A value as one particular or, of a long text, several."""
    if not isinstance(value, str) or len(value) <= _LONGEST_TEXT:
        return (value,)
    return tuple(value[start : start + _LONGEST_TEXT] for start in range(0, len(value), _LONGEST_TEXT))


@lru_cache(maxsize=4096)
def _name(told: str) -> str:
    name = _NO_NAME.sub("_", told)
    return name if len(name) <= LONGEST_NAME else name[-LONGEST_NAME:].partition("/")[2] or name[-LONGEST_NAME:]


def _compiled(table: _Step) -> Collector:
    """A function that collects what a table says, without a walk through it."""
    lines = ["def collect(fields):", "    found, more = [], []"]
    steps: list[_Step] = []
    _collecting(table, "fields", "", lines, steps)
    lines.append("    return finished(found, more)")
    names: dict[str, Any] = {"made": _made, "rest": _rest, "finished": _finished, "steps": steps}
    # The code is made of the names in our own table: no input reaches it.
    exec(compile("\n".join(lines), "<particulars>", "exec"), names)  # noqa: S102 - our own words
    collector: Collector = names["collect"]
    return collector


def _collecting(table: _Step, fields: str, above: str, lines: list[str], steps: list[_Step]) -> None:
    """The lines that collect what stands below an element, by name."""
    indent = "    " * (fields.count("_") + 1)
    for name in sorted(table.below, key=lambda name: name if table.below[name].type else f"{name}/"):
        step, path, held = table.below[name], above + name, f"held_{len(steps)}"
        steps.append(step)
        lines.append(f"{indent}{held} = {fields}.get({name!r})")
        lines.append(f"{indent}if {held}:")
        if step.type is not None:
            lines.append(f"{indent}    if type({held}) is str: found.append(made({path!r}, {step.type!r}, {held}))")
            lines.append(f"{indent}    else: rest(steps[{len(steps) - 1}], {path!r}, {held}, 0, more)")
            continue
        inner = f"{fields}_{len(steps)}"
        lines.append(f"{indent}    if type({held}) is str: {held} = [{{}}]")
        lines.append(f"{indent}    {inner} = {held}[0]")
        lines.append(f"{indent}    if len({held}) > 1: rest(steps[{len(steps) - 1}], {path!r}, {held}, 1, more)")
        _collecting(step, inner, f"{path}/", lines, steps)


@lru_cache(maxsize=8192)  # the points of a file share most of them
def _made(name: str, kind: str, written: str) -> Particular:
    if len(written) > _LONGEST_TEXT or _name(name) != name:
        raise _Unusual
    return particulars_of({name: _read(written, kind)})[0]


def _rest(step: _Step, path: str, held: list[Fields], since: int, into: list[tuple[str, Any]]) -> None:
    """What the elements of one name hold, from one of them on."""
    for number, inner in enumerate(held[since:], since + 1):
        _of_one(inner, step, path if number == 1 else f"{path}[{number}]", into)


def _finished(found: list[Particular], more: list[tuple[str, Any]]) -> tuple[Particular, ...]:
    for name, value in more:
        if value is None or value == "":
            continue
        if (type(value) is str and len(value) > _LONGEST_TEXT) or _name(name) != name:
            raise _Unusual
        found += particulars_of({name: value})
    if more:
        found.sort(key=lambda particular: particular.name)
    if len(found) > MOST_PARTICULARS or (more and len({one.name for one in found}) < len(found)):
        raise _Unusual
    return tuple(found)


def _values(fields: Fields, table: _Step, above: str, into: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    for name, step in table.below.items():
        held = fields.get(name)
        if held is None:
            continue
        if type(held) is str:
            if step.type is not None:
                into.append((above + name, _read(held, step.type)))
            continue
        _rest(step, above + name, held, 0, into)
    return into


def _of_one(inner: Fields, step: _Step, path: str, into: list[tuple[str, Any]]) -> None:
    if step.type is None:
        _values(inner, step, f"{path}/", into)
    elif TEXT in inner:
        into.append((path, _read(inner[TEXT], step.type)))
    else:
        everything(inner, path, into)


def _named_ones(element: etree._Element, table: _Step) -> Fields:
    """The content of an element with its attributes, as far as a table names it."""
    fields: Fields = {f"@{name!s}": str(value) for name, value in element.attrib.items()}
    for child in element:
        name = local(str(child.tag))
        step = table.below.get(name)
        if step is not None:
            held = read_with_attributes(child) if step.type is not None else _named_ones(child, step)
            fields.setdefault(name, []).append(held)
    return fields


def everything(fields: Fields, path: str, into: list[tuple[str, Any]]) -> None:
    """All that an element holds, as texts.

    Args:
      fields: of the element.
      path: of the element, which their names begin with.
      into: takes name and value of each.
    """
    for name, held in fields.items():
        if type(held) is str:
            own = "" if name == TEXT else f"/@{local(name[1:])}" if name[0] == "@" else f"/{name}"
            into.append((path + own, held))
            continue
        for number, inner in enumerate(held, 1):
            everything(inner, f"{path}/{name}" if number == 1 else f"{path}/{name}[{number}]", into)


def _read(written: str, kind: str) -> Any:
    try:
        return _READ[kind](written)
    except (ValueError, KeyError, InvalidOperation):
        return written
