"""Reads elements of XML that are built as others before them: the way through the table is found once for each shape.

A shape is what stands in an element and where: the names, and how many elements stand in each, without the texts.
Whatever is unusual (an element that the table does not know, one too many, one that is missing) has no way here and is
read by the walk that tells it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from adapters.common.table import Leaf, Node

LARGEST = 2000
"""Elements of a shape; larger ones hardly come twice."""
MOST_KNOWN = 1024


class Step(NamedTuple):
    """A leaf of a shape.

    Attributes:
      at: which of its elements it is.
      leaf: of the table.
      slot: what it is stored in: 0 for the piece itself, else a group.
      path: for refusals.
    """

    at: int
    leaf: Leaf
    slot: int
    path: str


class Group(NamedTuple):
    """An item of a list: its name, what it stands in (0 for the piece, else a group), and what it always holds."""

    name: str
    within: int
    fixed: dict[str, Any]


class Way(NamedTuple):
    """The way through the table for elements of one shape.

    Attributes:
      groups: in the order of their beginnings.
      steps: the leaves.
      needed: elements that have to have a text.
      identity: what `views.XmlView.identity` hashes, with a place for each text.
    """

    groups: tuple[Group, ...]
    steps: tuple[Step, ...]
    needed: tuple[int, ...]
    identity: str


Ways = dict[tuple[int, tuple[str, ...], tuple[int, ...]], Way | None]
"""Node of a table, by its `id`, and shape -> the way through it; None where there is none."""


def way(ways: Ways, node: Node, tags: Sequence[str], counts: Sequence[int]) -> Way | None:
    """The way through a table for elements of a shape.

    Args:
      ways: those that are known; gains this one.
      node: of the table, for the first of the elements.
      tags: names of the elements in their order, the first one's first.
      counts: how many elements stand in each.
    """
    if len(tags) > LARGEST:
        return None
    shape = id(node), tuple(tags), tuple(counts)
    try:
        return ways[shape]
    except KeyError:
        finder = _Finder(tags, counts)
        found = finder.way() if finder.below(node, 0, node.tag) else None
        if len(ways) >= MOST_KNOWN:
            ways.clear()
        ways[shape] = found
        return found


class _Finder:
    """Goes through the elements of a shape as `pieces.Reading` does through those of a content."""

    def __init__(self, tags: Sequence[str], counts: Sequence[int]) -> None:
        self.tags, self.counts = tags, counts
        self.at = 0
        self.groups: list[Group] = []
        self.steps: list[Step] = []
        self.needed: list[int] = []

    def way(self) -> Way:
        texts = (f"{tag}\x1f{count}\x1f%s\x1e" for tag, count in zip(self.tags, self.counts, strict=True))
        return Way(tuple(self.groups), tuple(self.steps), tuple(self.needed), "".join(texts))

    def below(self, node: Node, slot: int, path: str) -> bool:
        """Go through what stands in an element; whether all of it is usual."""
        tag = self.tags[self.at]
        space = tag[: tag.rindex("}") + 1] if tag.startswith("{") else ""
        seen: set[str] = set()
        if node.attributes:
            return False
        for _ in range(self.counts[self.at]):
            self.at += 1
            child = self.tags[self.at]
            name = child[len(space) :] if child.startswith(space) else child
            known = node.children.get(name)
            if known is None or known.attributes:
                return False
            if known.leaf is not None and known.leaf.left_out is not None:
                self._pass()
                continue
            if name in seen and not known.many and known.group is None:
                return False
            seen.add(name)
            here = f"{path}/{name}"
            if known.leaf is not None:
                if self.counts[self.at] or known.group is not None:
                    return False
                if known.needed:
                    self.needed.append(self.at)
                self.steps.append(Step(self.at, known.leaf, slot, here))
                continue
            within = slot
            if known.group is not None:
                self.groups.append(Group(known.group, slot, known.fixed))
                within = len(self.groups)
            if not self.below(known, within, here):
                return False
        return all(name in seen for name, known in node.children.items() if known.needed)

    def _pass(self) -> None:
        """Go to the last of the elements in this one."""
        for _ in range(self.counts[self.at]):
            self.at += 1
            self._pass()
