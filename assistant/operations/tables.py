"""Any table of the documentation: the row that a question names or tells of, one of its cells, or all its rows.

A question is looked up by all of its words that tell something. Each has to stand in the row, in the heads of its
table, or in the headings above it: the key that is named counts most, then words of the row. Nothing is guessed: a
question of which more than a quarter of the words is found nowhere has no row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from assistant.kept import Kept, state_of
from assistant.operations.family import Tables
from assistant.operations.plaintext import plain, stem
from assistant.operations.vocabulary import inflected
from assistant.operations.wording import say
from assistant.operations.worked import Proof, Table, Worked

NO_SOURCE = "<!-- assistant: no source -->"
"""A page with this line is none that questions are answered from."""
APART = ("decisions", "index.md", "examples", "licences.md", "benchmarks.md", "CHANGELOG.md")
"""Pages on what was decided and measured, and folders of such: no place to look up what holds."""

ENOUGH = 0.75
"""Share of a question's words that a row, with its heads and headings, has to have."""
NO_DEFAULT = ("none", "see below", "required")
"""What a column of defaults says where there is no value."""

MOST_FOUND = 3
"""Rows that may be meant equally; more are no answer."""

_SPLIT = re.compile(r"(?<!\\)\|")
_WORD = re.compile(r"[a-z0-9]+")
_QUOTED = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


class Row(Struct, frozen=True, kw_only=True):
    """A row of a table of the documentation.

    Attributes:
      keys: names that the row is known by: those of its first cell, and quoted ones that fill another.
      cells: head of a column -> what stands there, the first column too.
      words: of the cells.
      heads: words of the heads; the words of the first one alone are `first`.
      above: words of the headings above and of the page's name.
      table: number of the table, counted over all pages.
      file, line: where.
    """

    keys: tuple[tuple[str, ...], ...]
    cells: tuple[tuple[str, str], ...]
    words: frozenset[str]
    heads: frozenset[str]
    first: frozenset[str]
    above: frozenset[str]
    table: int
    file: str
    line: int


@lru_cache(maxsize=20_000)
def words_of(text: str) -> tuple[str, ...]:
    """The words of a text as they are compared, in their order: without accents, a plural as its singular."""
    return tuple(stem(word) for word in _WORD.findall(plain(text)))


def rows(folder: Path | None, kept: Kept) -> tuple[Row, ...]:
    """Every row of the pages that questions are answered from.

    Args:
      folder: of the documentation.
      kept: holds what was read before.
    """
    if folder is None:
        return ()
    pages = tuple(page for page in sorted(folder.rglob("*.md")) if page.relative_to(folder).parts[0] not in APART)
    return _rows(folder, tuple((page, page.stat().st_mtime_ns) for page in pages), kept)


@lru_cache(maxsize=4)
def _rows(folder: Path, pages: tuple[tuple[Path, int], ...], kept: Kept) -> tuple[Row, ...]:
    files = [page for page, _ in pages]
    return kept.value(
        "tables", state_of(("assistant.operations",), files), lambda: _read(folder, files), tuple[Row, ...]
    )


def _read(folder: Path, pages: Iterable[Path]) -> tuple[Row, ...]:
    found: list[Row] = []
    for page in pages:
        text = page.read_text("utf-8")
        if NO_SOURCE not in text:
            found += _of_page(text.splitlines(), page.relative_to(folder).as_posix(), len(found))
    return tuple(found)


def _of_page(lines: list[str], file: str, table: int) -> Iterator[Row]:
    """The rows of a page; a line `[section]` just above a table is a heading of it."""
    title = section = scope = ""
    name = Path(file).stem
    columns: list[str] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith("#"):
            section, scope, columns = line.strip("# "), "", []
            title = section if line.startswith("# ") else title
        elif not line.startswith("|"):
            columns = []
            scope = line if line.startswith("`[") else scope
        else:
            cells = [_LINK.sub(r"\1", cell.strip().replace("\\|", "|")) for cell in _SPLIT.split(line)[1:-1]]
            if not columns:
                columns, table = cells, table + 1
            elif set(line) - set("|-: ") and columns[0]:
                yield _row(columns, cells, f"{title} {section} {scope} {name}", file, number, table)


def _row(columns: list[str], cells: list[str], above: str, file: str, line: int, table: int) -> Row:
    quoted = [one for cell in cells for one in _QUOTED.findall(cell) if not _QUOTED.sub("", cell).strip(" ,*")]
    names = [*re.split(r",(?![^()]*\))", cells[0].replace("`", "")), *quoted]
    return Row(
        keys=tuple(dict.fromkeys(filter(None, map(words_of, names)))),
        cells=tuple(zip(columns, cells, strict=False)),
        words=frozenset(words_of(" ".join(cells))),
        heads=frozenset(words_of(" ".join(columns))),
        first=frozenset(words_of(columns[0])),
        above=frozenset(words_of(above)),
        table=table,
        file=file,
        line=line,
    )


def table_answer(known: tuple[Row, ...], plan: Tables, language: str) -> Worked | None:
    """What the tables of the documentation say to a question; None where none does.

    Args:
      known: their rows.
      plan: what is asked.
      language: of the answer.
    """
    asked, spare = words_of(plan.words), frozenset(words_of(plan.spare))
    if plan.how != "row":
        return _listed(known, frozenset(asked), spare, plan.how, language)
    numbered = plan.number and plan.default
    found = _meant(_numbered(known) if numbered else known, asked, spare, plan.default)
    if not found:
        return None
    lines, values = [], []
    for one in found:
        head, value = _cell(one, asked, plan.default)
        told = value or "; ".join(cell for _, cell in one.cells[1:] if cell)
        if plan.number and not any(sign.isdigit() for sign in told):
            return None  # how many: without a number it is no answer
        lines.append(say(language, "entry", name=one.cells[0][1] + (f", {head}" if head else ""), about=told))
        values.append(told.strip("`"))
    table = Table(columns=("", ""), rows=found[0].cells) if len(found) == 1 else None
    proofs = tuple(Proof(text=f"docs/{one.file}:{one.line}") for one in found)
    return Worked(sentence=" ".join(lines), table=table, proofs=proofs, values=tuple(values))


def _listed(
    known: tuple[Row, ...], asked: frozenset[str], spare: frozenset[str], how: str, language: str
) -> Worked | None:
    """The keys of the table whose first head is asked for, the longest where several are."""
    tables: dict[int, list[Row]] = {}
    for one in known:
        tables.setdefault(one.table, []).append(one)
    fitting = [
        (len(asked & some[0].above), len(some), some)
        for some in tables.values()
        if some[0].first & (asked - spare) and asked <= some[0].first | some[0].above | spare
    ]
    if not fitting:
        return None
    _, _, best = max(fitting, key=lambda one: one[:2])
    shown = tuple(
        (name.strip(), "; ".join(cell for _, cell in one.cells[1:] if cell))
        for one in best
        for name in one.cells[0][1].replace("`", "").split(",")
    )
    names = [name for name, _ in shown]
    told = say(language, "entries", n=len(names), what=best[0].cells[0][0])
    proofs = (Proof(text=f"docs/{best[0].file}:{best[0].line}"),)
    values = (len(names),) if how == "count" else tuple(names)
    return Worked(sentence=told, table=Table(columns=("name", "about"), rows=shown), proofs=proofs, values=values)


def _meant(known: Iterable[Row], asked: tuple[str, ...], spare: frozenset[str], default: bool) -> list[Row]:
    """The rows that the words mean: those with the most of them, by what they are worth."""
    scored = []
    for one in known:
        if default and dict(one.cells).get("default", "none") in NO_DEFAULT:
            continue
        worth = _worth(one, asked, spare, default)
        if worth:
            scored.append((worth, one))
    best = max((worth for worth, _ in scored), default=0.0)
    found = [one for worth, one in scored if worth == best]
    if len(found) > MOST_FOUND:
        often = {one.line: _said(one, asked) for one in found}
        found = [one for one in found if often[one.line] == max(often.values())]
    return found if len(found) <= MOST_FOUND else []


def _numbered(known: Iterable[Row]) -> list[Row]:
    """The rows whose default is a number."""
    return [one for one in known if dict(one.cells).get("default", "").strip("`")[:1].isdigit()]


def _said(one: Row, asked: tuple[str, ...]) -> int:
    """How often a row says the words."""
    said = words_of(" ".join(cell for _, cell in one.cells))
    return sum(_has(frozenset(asked), word) for word in said)


def _worth(one: Row, asked: tuple[str, ...], spare: frozenset[str], default: bool) -> float:
    """How well a row fits; 0 where words are left, or where neither its key nor its table and some words are named."""
    key = max((key for key in one.keys if _within(key, asked)), key=len, default=())
    needed = set(asked) - spare
    rest = needed - set(key)
    heads = rest & one.heads
    if not (key or heads or default):
        return 0.0  # most rows: neither named nor told of by their table
    there = {word for word in rest if _has(one.words, word)}
    above = {word for word in rest - heads if _has(one.above, word)}
    told = {*key, *there, *heads, *above}
    own = there - one.heads - one.above
    quoted = bool(key) and _is_name(key, one)
    enough = len(needed & told) >= ENOUGH * len(needed)
    numbered = enough and any(word.isdigit() for word in key) and bool(heads)
    named = (
        bool(key)
        and (needed <= told or numbered)
        and not set(key) <= one.heads
        and bool(needed & set(key) or own or len(key) > 1)
        and bool(heads or above or quoted or (len(key) > 1 and not rest))
    )
    looked_up = (
        bool(heads)
        and needed <= told
        and any(words and words <= needed for words in (frozenset(words_of(cell)) for _, cell in one.cells[1:]))
    )
    described = enough and ((heads and len(own) > 1) or (default and own and len(own) + len(above) > 1))
    if not (named or described or looked_up):
        return 0.0
    first = bool(key) and _within(key, words_of(one.cells[0][1]))
    return 4 * first + 3 * len(key) + 2 * len(there) + len(heads) + 0.5 * len(above) + 0.25 * len(spare & one.words)


def _is_name(key: tuple[str, ...], one: Row) -> bool:
    """Whether a key is written as a name: quoted."""
    return any(words_of(quoted) == key for _, cell in one.cells for quoted in _QUOTED.findall(cell))


def _within(key: tuple[str, ...], asked: tuple[str, ...]) -> bool:
    # Most keys begin with a word that was not asked for.
    return key[0] in asked and any(asked[at : at + len(key)] == key for at in range(len(asked) - len(key) + 1))


def _has(words: frozenset[str], word: str) -> bool:
    return word in words or any(inflected(word, other) for other in words if other[:4] == word[:4])


def _cell(one: Row, asked: tuple[str, ...], default: bool) -> tuple[str, str]:
    """The column that a question asks for, and what stands there; empty where the row itself is asked for."""
    if default:
        return "default", dict(one.cells).get("default", "")
    for head, value in one.cells[1:]:
        words = words_of(head)
        if words and set(words) <= set(asked) and value:
            return head, value
    return "", ""
