"""Reading YAML with the line of every value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

LARGEST = 4_000_000
"""Characters of a rule file at most."""

DEEPEST = 30
"""Lists and mappings inside each other at most."""


class YamlError(Exception):
    """A file that is not the YAML it should be: line, reason, advice."""

    def __init__(self, line: int, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason
        self.advice = advice


@dataclass(frozen=True)
class Cell:
    """One value of a YAML file."""

    node: Node

    @property
    def line(self) -> int:
        """The line it begins on, from 1."""
        return int(self.node.start_mark.line) + 1

    @property
    def is_null(self) -> bool:
        """Whether it is empty or ``null``."""
        return isinstance(self.node, ScalarNode) and self.node.tag == "tag:yaml.org,2002:null"

    def text(self) -> str:
        """A single value as written.

        Raises:
          YamlError: it is a list or a mapping.
        """
        if not isinstance(self.node, ScalarNode):
            raise YamlError(self.line, "a single value is expected, not a list or mapping", "Write one text.")
        return str(self.node.value)

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
        if isinstance(self.node, SequenceNode):
            return [Cell(item) for item in self.node.value]
        if isinstance(self.node, ScalarNode):
            return [] if self.is_null else [self]
        raise YamlError(self.line, "a list is expected, not a mapping", "Write it as [a, b].")

    def entries(self) -> dict[str, Cell]:
        """Key -> value of a mapping.

        Raises:
          YamlError: it is none, or a key stands twice.
        """
        if not isinstance(self.node, MappingNode):
            raise YamlError(self.line, "a mapping is expected", "Write `key: value` lines.")
        found: dict[str, Cell] = {}
        for key, value in self.node.value:
            name = str(key.value)
            if name in found:
                raise YamlError(int(key.start_mark.line) + 1, f"key {name!r} stands twice", "Remove one.")
            if key.tag == "tag:yaml.org,2002:merge":
                raise YamlError(int(key.start_mark.line) + 1, "merge keys (<<) are not read", "Write the values out.")
            found[name] = Cell(value)
        return found

    def plain(self) -> Any:
        """The value without lines: texts as written, None, lists and mappings."""
        if isinstance(self.node, SequenceNode):
            return [Cell(item).plain() for item in self.node.value]
        if isinstance(self.node, MappingNode):
            return {name: cell.plain() for name, cell in self.entries().items()}
        return None if self.is_null else str(self.node.value)


def read_yaml(text: str) -> Cell:
    """The root of a YAML document.

    Raises:
      YamlError: it is no YAML, is empty, or repeats more than lists of texts by aliases.
    """
    if len(text) > LARGEST:
        raise YamlError(1, f"the file has more than {LARGEST} characters", "Split it.")
    try:
        _check_anchors(text)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        reason = f"this is not YAML: {error.problem or error.context}"
        line = int(mark.line) + 1 if mark is not None else 1
        raise YamlError(line, reason, "Check indentation, colons and quotes.") from None
    except yaml.YAMLError as error:
        raise YamlError(1, f"this is not YAML: {error}", "Save the file as plain UTF-8 text.") from None
    if node is None:
        raise YamlError(1, "the file is empty", "Write rule_set, market and rules, or remove the file.")
    return Cell(node)


def _check_anchors(text: str) -> None:
    """Aliases repeat single values and lists of them only: nothing can grow or contain itself."""
    inside = False
    depth = 0
    events: Iterator[yaml.Event] = yaml.parse(text, Loader=_Loader)
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise YamlError(1, f"the file is nested deeper than {DEEPEST}", "Check the brackets.")
        plain = isinstance(event, yaml.ScalarEvent | yaml.SequenceEndEvent)
        if (inside and not plain) or (isinstance(event, yaml.MappingStartEvent) and event.anchor):
            mark: Any = event.start_mark
            line = int(mark.line) + 1
            raise YamlError(line, "an anchor (&name) names more than a list of texts", "Write the values out.")
        if isinstance(event, yaml.SequenceStartEvent) and event.anchor:
            inside = True
        elif isinstance(event, yaml.SequenceEndEvent):
            inside = False
