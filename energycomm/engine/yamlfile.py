"""Reading YAML with the line of every value."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

LARGEST = 4_000_000
"""Characters of a rule file at most."""

DEEPEST = 30
"""Lists and mappings inside each other at most."""

NULL = frozenset(("", "~", "null", "Null", "NULL"))
"""What stands for nothing where it is written without quotes."""


class YamlError(Exception):
    """A file that is not the YAML it should be: line, reason, advice."""

    def __init__(self, line: int, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason
        self.advice = advice


class Cell(NamedTuple):
    """One value of a YAML file.

    Attributes:
      line: the line it begins on, from 1.
      value: a text; the cells of a list; key and value of each entry of a mapping.
      kind: which of them it is; `null` of a text that is empty, ``~`` or ``null`` without quotes, `merge` of ``<<``.
    """

    line: int
    value: Any
    kind: str

    @property
    def is_null(self) -> bool:
        """Whether it is empty or ``null``."""
        return self.kind == "null"

    def text(self) -> str:
        """A single value as written.

        Raises:
          YamlError: it is a list or a mapping.
        """
        if self.kind in ("list", "mapping"):
            raise YamlError(self.line, "a single value is expected, not a list or mapping", "Write one text.")
        return str(self.value)

    def day(self) -> date:
        """A civil day.

        Raises:
          YamlError: it is none.
        """
        text = self.text().strip()
        try:
            return date.fromisoformat(text)
        except ValueError:
            raise YamlError(self.line, f"{text!r} is no day", "Write it YYYY-MM-DD.") from None

    def items(self) -> list[Cell]:
        """The items of a list; a single value counts as a list of one.

        Raises:
          YamlError: it is a mapping.
        """
        if self.kind == "list":
            return list(self.value)
        if self.kind == "mapping":
            raise YamlError(self.line, "a list is expected, not a mapping", "Write it as [a, b].")
        return [] if self.is_null else [self]

    def entries(self) -> dict[str, Cell]:
        """Key -> value of a mapping.

        Raises:
          YamlError: it is none, or a key stands twice.
        """
        if self.kind != "mapping":
            raise YamlError(self.line, "a mapping is expected", "Write `key: value` lines.")
        found: dict[str, Cell] = {}
        for key, value in self.value:
            name = key.text()
            if name in found:
                raise YamlError(key.line, f"key {name!r} stands twice", "Remove one.")
            if key.kind == "merge":
                raise YamlError(key.line, "merge keys (<<) are not read", "Write the values out.")
            found[name] = value
        return found

    def plain(self) -> Any:
        """The value without lines: texts as written, None, lists and mappings."""
        if self.kind == "list":
            return [item.plain() for item in self.value]
        if self.kind == "mapping":
            return {name: cell.plain() for name, cell in self.entries().items()}
        return None if self.is_null else str(self.value)


def read_yaml(text: str) -> Cell:
    """The root of a YAML document.

    Raises:
      YamlError: it is no YAML, is empty, or repeats more than lists of texts by aliases.
    """
    if len(text) > LARGEST:
        raise YamlError(1, f"the file has more than {LARGEST} characters", "Split it.")
    try:
        found = _composed(_events(text))
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        reason = f"this is not YAML: {error.problem or error.context}"
        line = int(mark.line) + 1 if mark is not None else 1
        raise YamlError(line, reason, "Check indentation, colons and quotes.") from None
    except yaml.YAMLError as error:
        raise YamlError(1, f"this is not YAML: {error}", "Save the file as plain UTF-8 text.") from None
    if found is None:
        raise YamlError(1, "the file is empty", "Write rule_set, market and rules, or remove the file.")
    return found


def _events(text: str) -> Iterator[Any]:
    loader = _Loader(text)
    try:
        while (event := loader.get_event()) is not None:
            yield event
    finally:
        loader.dispose()


def _composed(events: Iterator[Any]) -> Cell | None:
    """The root that events make, in one pass; None where there is none.

    Aliases repeat single values and lists of them only: nothing can grow or contain itself.
    """
    cells: list[Cell] = []
    """Of the list or mapping that is open: its values, keys and values in turn. At the end: the root."""
    opened: list[tuple[int, list[Cell], str | None]] = []
    anchors: dict[str, Cell] = {}
    inside = False
    for event in events:
        kind = type(event)
        if kind is ScalarEvent:
            cell = Cell(event.start_mark.line + 1, event.value, _kind(event))
        elif kind is AliasEvent:
            line = event.start_mark.line + 1
            if inside:
                raise _grown(line)
            if event.anchor not in anchors:
                raise YamlError(line, f"this is not YAML: no anchor &{event.anchor} stands before", "Write it out.")
            cells.append(anchors[event.anchor])
            continue
        elif kind is SequenceStartEvent or kind is MappingStartEvent:
            line = event.start_mark.line + 1
            if inside or (event.anchor and kind is MappingStartEvent):
                raise _grown(line)
            opened.append((line, cells, event.anchor))
            cells, inside = [], bool(event.anchor)
            if len(opened) > DEEPEST:
                raise YamlError(1, f"the file is nested deeper than {DEEPEST}", "Check the brackets.")
            continue
        elif kind is SequenceEndEvent or kind is MappingEndEvent:
            line, before, anchor = opened.pop()
            if kind is MappingEndEvent:
                cell = Cell(line, list(zip(cells[::2], cells[1::2], strict=True)), "mapping")
            else:
                cell = Cell(line, cells, "list")
            cells, inside = before, False
            if anchor:
                anchors[anchor] = cell
        else:
            if kind is DocumentStartEvent and cells:
                raise YamlError(event.start_mark.line + 1, "a second document begins", "Write one in each file.")
            continue
        if kind is ScalarEvent and event.anchor:
            anchors[event.anchor] = cell
        cells.append(cell)
    return cells[0] if cells else None


def _kind(event: ScalarEvent) -> str:
    """What a single value is; quotes make a text of everything."""
    if event.implicit[0]:
        return "null" if event.value in NULL else "merge" if event.value == "<<" else "text"
    return "null" if event.tag == "tag:yaml.org,2002:null" else "text"


def _grown(line: int) -> YamlError:
    return YamlError(line, "an anchor (&name) names more than a list of texts", "Write the values out.")
