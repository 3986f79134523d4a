"""CSV of Enedis as pieces: the lines of one point become what its JSON would be, so that one digester reads both.

A flux declares its columns: label -> path of the JSON leaf, an element that may stand several times marked with ``[]``
(``grandeur[]/points[]/d``). Lines may come in any order and mix points, directions and quantities: those that agree in
all that stands above a level share one item of it.

* Labels are compared as `adapters.fr_enedis.labels` has it; a column that no label names is left out.
* An empty cell and ``null`` are absent.
* A point that a spreadsheet has turned into a rounded number (9.9E+13) is refused: its digits are lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import IO, Any, NamedTuple

from adapters.common import csvform
from adapters.common.codes import Unreadable
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.labels import plain

SEPARATOR = ";"
MOST_ROWS = 200_000
"""Lines that are held while others of their points may follow: two years of a point in steps of ten minutes, and as
many again."""
_ROUNDED = re.compile(r"[0-9]([.,][0-9]+)?[eE]\+?[0-9]+")
Row = Mapping[str, str | None]


class Level(NamedTuple):
    """What one line says at one level: path of the items, and (column, path within the item) of its leaves."""

    steps: tuple[str, ...]
    leaves: tuple[tuple[str, tuple[str, ...]], ...]


def levels_of(columns: Mapping[str, str]) -> tuple[Level, ...]:
    """The levels that columns fill, the outermost first.

    Args:
      columns: plain label -> path of the leaf.
    """
    found: dict[tuple[str, ...], list[tuple[str, tuple[str, ...]]]] = {(): []}
    for label, path in columns.items():
        *lists, leaf = path.split("[]/")
        for depth in range(1, len(lists) + 1):
            found.setdefault(tuple(lists[:depth]), [])
        found[tuple(lists)].append((label, tuple(leaf.split("/"))))
    return tuple(Level(steps, tuple(leaves)) for steps, leaves in sorted(found.items(), key=lambda one: len(one[0])))


def names(beginning: str) -> frozenset[str]:
    """The plain labels of the columns, of the first characters of a file; the last one may be cut."""
    first = beginning.lstrip("\ufeff").splitlines()[:1]
    if not first:
        return frozenset()
    return frozenset(plain(name.strip('" ')) for name in first[0].split(separator_of(first[0])))


def separator_of(first: str) -> str:
    """What separates the columns: a semicolon, or what a spreadsheet has put in its place.

    Args:
      first: the line of the labels.
    """
    return max((SEPARATOR, "\t", ","), key=first.count)


class Lines(BytesIO):
    """A file whose first line was looked at.

    Attributes:
      labels: the plain labels of its columns.
      separator: of columns.
    """

    def __init__(self, content: IO[bytes], most: int = csvform.MAX_ROW + 1) -> None:
        """Args:
        content: of the file.
        most: bytes of the first line that are looked at.
        """
        first = content.readline(most)
        super().__init__(first)
        self._rest = content
        beginning = first.decode("utf-8", "replace") if _is_utf8(first) else first.decode("cp1252", "replace")
        self.labels = names(beginning)
        self.separator = separator_of(beginning)

    def read(self, size: int | None = -1) -> bytes:
        """Some bytes, none at the end."""
        return super().read(size) or self._rest.read(-1 if size is None else size)

    def readline(self, size: int | None = -1) -> bytes:
        """A line, or the beginning of one that is longer than `size`."""
        line = super().readline(size)
        return line if line.endswith(b"\n") else line + self._rest.readline(-1 if size is None else size - len(line))


def _is_utf8(first: bytes) -> bool:
    try:
        first.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def rows(content: IO[bytes], needed: Sequence[str]) -> Iterator[Row]:
    """The lines, as plain label -> text; ``null`` is None.

    Raises:
      Unreadable: needed columns are not there (CSV_COLUMNS), or a line is none (CSV_SYNTAX).
    """
    lines = content if isinstance(content, Lines) else Lines(content)
    for row in csvform.split(lines, needed, lines.separator, plain):
        yield {name: None if text is not None and text.lower() == "null" else text for name, text in row.items()}


def pieces(content: IO[bytes], columns: Mapping[str, str], needed: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What the lines of each point say, as its JSON would.

    Args:
      content: of the file.
      columns: plain label -> path of the leaf.
      needed: labels without which the file cannot be read.

    Raises:
      Unreadable: see `rows`.
    """
    held = _Held(levels_of(columns))
    for row in rows(content, needed):
        held.take(row)
        if held.rows >= MOST_ROWS:
            yield from held.leave()
    yield from held.all()


class _Held:
    """Pieces that further lines may belong to."""

    def __init__(self, levels: tuple[Level, ...]) -> None:
        self._levels = levels
        self._items: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._pieces: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._last: tuple[Any, ...] = ()
        self.rows = 0

    def take(self, row: Row) -> None:
        """Put a line into its piece."""
        self.rows += 1
        above: tuple[Any, ...] = ()
        holder: dict[str, Any] = {}
        for depth, level in enumerate(self._levels):
            told = tuple(row.get(label) for label, _ in level.leaves)
            key = (*above, level.steps, told)
            last = depth == len(self._levels) - 1
            item = None if last and depth else self._items.get(key)
            if item is None:
                item = _item(level, told)
                if depth:
                    holder.setdefault(level.steps[-1], []).append(item)
                else:
                    self._pieces[key] = item
                if not last or not depth:
                    self._items[key] = item
            if not depth:
                self._last = key
            holder, above = item, key

    def leave(self) -> Iterator[dict[str, Any]]:
        """Every piece but that of the last line, which may go on; that one too where it is alone."""
        going_on = self._last if len(self._pieces) > 1 else None
        for key in [key for key in self._pieces if key != going_on]:
            yield self._pieces.pop(key)
        size = len(going_on or ())
        self._items = {key: item for key, item in self._items.items() if going_on and key[:size] == going_on}
        self.rows = 0

    def all(self) -> Iterator[dict[str, Any]]:
        """Every piece that is left."""
        yield from self._pieces.values()


def _item(level: Level, told: Sequence[str | None]) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for (_, path), text in zip(level.leaves, told, strict=True):
        if text is None:
            continue
        holder = item
        for step in path[:-1]:
            holder = holder.setdefault(step, {})
        holder[path[-1]] = text
    return item


def whole_point(point: object, path: str) -> None:
    """Make sure that a spreadsheet did not round the identifier of a point.

    Raises:
      Unreadable: it did (CSV_DAMAGED).
    """
    if isinstance(point, str) and _ROUNDED.fullmatch(point):
        raise Unreadable(refusal("CSV_DAMAGED", path, point, "the 14 digits of the point"))
