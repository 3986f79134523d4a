"""Code lists: the codes of a market as data, each with the days on which it is valid and its label."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from energycomm.engine.problems import Problem

FILE = "codes.csv"
COMMON = "common"
COLUMNS = ("list", "code", "since", "until", "en", "fr")


@dataclass(frozen=True)
class CodeEntry:
    """One code of one list.

    Attributes:
      market: market the list belongs to, upper case, or ``common``.
      list: name of the list.
      code: the code, as the market writes it.
      since: first day on which it is valid; None: always was.
      until: last day on which it is valid, inclusive; None: still is.
      labels: language -> label.
      line: line in the file.
    """

    market: str
    list: str
    code: str
    since: date | None = None
    until: date | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    line: int = 0

    def valid_on(self, day: date) -> bool:
        """Whether the code is valid on the day."""
        return (self.since is None or self.since <= day) and (self.until is None or day <= self.until)


class CodeLists:
    """Every code list of every market. A market without a list of its own reads the common one."""

    def __init__(self, entries: tuple[CodeEntry, ...] = ()) -> None:
        self.entries = entries
        self._lists: dict[tuple[str, str], dict[str, tuple[CodeEntry, ...]]] = {}
        for entry in entries:
            codes = self._lists.setdefault((entry.market, entry.list), {})
            codes[entry.code] = (*codes.get(entry.code, ()), entry)
        self._names = {
            owner: frozenset(name for market, name in self._lists if market == owner) for owner, _ in self._lists
        }

    def has(self, market: str, name: str) -> bool:
        """Whether the market, or all markets in common, have a list of that name."""
        return (market, name) in self._lists or (COMMON, name) in self._lists

    def shared(self, markets: Iterable[str]) -> frozenset[str]:
        """The names of the lists that each of these markets has."""
        own = [self._names.get(market, frozenset()) for market in markets]
        return frozenset.intersection(*own) | self._names.get(COMMON, frozenset())

    def codes(self, market: str, name: str) -> Mapping[str, tuple[CodeEntry, ...]]:
        """Code -> its entries, for one list of one market."""
        own = self._lists.get((market, name))
        return own if own is not None else self._lists.get((COMMON, name), {})

    def get(self, market: str, name: str, code: str, on: date) -> CodeEntry | None:
        """The entry of a code that is valid on the day, None where there is none."""
        for entry in self.codes(market, name).get(code, ()):
            if entry.valid_on(on):
                return entry
        return None

    def label(self, market: str, name: str, code: str, on: date, language: str = "en") -> str | None:
        """The label of a code in a language, None where the code or its label is not known."""
        entry = self.get(market, name, code, on)
        return entry.labels.get(language) if entry else None

    def names(self, market: str) -> tuple[str, ...]:
        """Names of the lists that a market has of its own, in alphabetical order."""
        return tuple(sorted(name for owner, name in self._lists if owner == market))


def read_codes(path: Path, market: str, shown: str) -> tuple[list[CodeEntry], list[Problem]]:
    """Read one ``codes.csv``.

    Args:
      path: the file; columns list, code, since, until, en, fr and further languages.
      market: market of its folder, upper case, or ``common``.
      shown: the file's name in problems.

    Returns:
      The entries and what is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        return [], [Problem(shown, 1, "", f"the file is not UTF-8: byte {error.start}", "Save it as UTF-8.")]
    try:
        return _read(text, market, shown)
    except csv.Error as error:
        return [], [Problem(shown, 1, "", f"this is not CSV: {error}", "Check quotes and commas.")]


def _read(text: str, market: str, shown: str) -> tuple[list[CodeEntry], list[Problem]]:
    entries: list[CodeEntry] = []
    problems: list[Problem] = []
    seen: dict[tuple[str, str], list[CodeEntry]] = {}
    with io.StringIO(text, newline="") as stream:
        reader = csv.DictReader(stream)
        missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
        if missing:
            advice = f"The first line must name {', '.join(COLUMNS)}."
            return [], [Problem(shown, 1, "", f"column {', '.join(missing)} is missing", advice)]
        for row in reader:
            line = reader.line_num
            try:
                entry = _entry(row, market, line)
            except ValueError as error:
                problems.append(Problem(shown, line, "", str(error), "Correct the row; days are written YYYY-MM-DD."))
                continue
            others = seen.setdefault((entry.list, entry.code), [])
            if any(_overlap(entry, other) for other in others):
                reason = f"code {entry.code} of list {entry.list} occurs twice for the same days"
                problems.append(Problem(shown, line, "", reason, "Remove one, or part their since/until."))
            others.append(entry)
            entries.append(entry)
    return entries, problems


def _entry(row: Mapping[str, str | None], market: str, line: int) -> CodeEntry:
    name, code = (row["list"] or "").strip(), (row["code"] or "").strip()
    if not name or not code:
        raise ValueError("list or code is empty")
    if None in row:
        raise ValueError("the row has more cells than the first line")
    since, until = (
        date.fromisoformat(text) if (text := (row[column] or "").strip()) else None for column in ("since", "until")
    )
    if since and until and until < since:
        raise ValueError(f"until {until} is before since {since}")
    labels = {
        column: text.strip() for column, text in row.items() if column not in COLUMNS[:4] and text and text.strip()
    }
    return CodeEntry(market, name, code, since, until, labels, line)


def _overlap(one: CodeEntry, other: CodeEntry) -> bool:
    return (one.until is None or other.since is None or other.since <= one.until) and (
        other.until is None or one.since is None or one.since <= other.until
    )
