"""What a sentence needs beside it: a lead-in its list, an item its lead-in, "this" the sentence before."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from assistant.knowledge.documents import Passage
from assistant.knowledge.sentences import Sentence, split

ROW = " | "
"""Between the cells of a table's row."""

MOST_ITEMS = 12
"""Items of a list that are quoted at most."""

NEXT = 3
"""Sentences after one that names what is asked for, among which the lead-in of a list belongs to it."""

_ITEM = re.compile(r"^(?:-|\d{1,2}\.) +\S")
_POINTS = re.compile(
    r"^(?:\W*)(?:(?:when|if|once|after|before|until|unless|because of|quand|si|après|avant|als|wanneer|na)\s"
    r"(?:this|that|these|those|cela|ceci|dit|dat)|"
    r"this|these|those|that|it|its|they|their|such|in (?:this|that|such|these) cases?|"
    r"the (?:latter|former|same)|"
    r"otherwise|cela|ceci|ce|cet|cette|ces|il|elle|ils|elles|celui-ci|celle-ci|sinon|dit|dat|deze|die|hij|"
    r"zij|ze|het|anders)\b",
    re.IGNORECASE,
)  # fmt: skip
_ELIDED = re.compile(
    r"^(?!(?:Based|Provided|Compared|Related|Speed|Indeed)\b)(?:[A-Z]\w{2,}ed|Used|Sent|Set|Made|Kept|Held|Shown|Written)\s+"
    r"(?:by|on|for|to|in|as|at|when|if|once|from|with|after|before|during)\b"
)
"""A sentence without a subject, such as `Approved by the operator.`: it speaks of what the one before it names."""

_PROMISES = re.compile(
    r"(?i)\b(?:following|below|as follows|two|three|four|five|six|suivant\w*|ci-dessous|deux|trois|quatre|volgende|"
    r"hieronder|twee|drie|vier)\b"
)

After = Callable[[Passage], "Passage | None"]
"""The passage of the same document behind one; None at its end."""


class Piece(Struct, frozen=True):
    """A sentence in its passage."""

    passage: Passage
    sentence: Sentence


class _Line(Struct, frozen=True):
    start: int
    text: str
    passage: Passage

    @property
    def item(self) -> bool:
        return _ITEM.match(self.text) is not None

    @property
    def row(self) -> bool:
        return ROW in self.text

    @property
    def piece(self) -> Piece:
        return Piece(self.passage, Sentence(self.start, self.start + len(self.text), self.text))

    @property
    def last(self) -> Piece | None:
        sentences = split(self.text, self.start)
        return Piece(self.passage, sentences[-1]) if sentences else None


def none_after(_: Passage) -> None:
    """For those who know of no other passages."""


def column_names(passage: Passage) -> str:
    """The names of the columns of a passage that holds rows of a table; empty for others."""
    last = passage.context.rpartition("\n")[2]
    return last if ROW in last else ""


def points_back(text: str) -> bool:
    """Whether a sentence begins with a word that stands for what the one before it speaks of, or has no subject."""
    return _POINTS.match(text) is not None or _ELIDED.match(text) is not None


def introduces(passage: Passage, sentence: Sentence, after: After = none_after) -> bool:
    """Whether a list follows a sentence."""
    return bool(_items(passage, sentence, after))


def beside(passage: Passage, sentence: Sentence, *, listed: bool, after: After = none_after) -> list[Piece]:
    """A sentence with what it cannot be read without, in the order of the document.

    Args:
      passage: the passage of the sentence.
      sentence: the sentence.
      listed: whether a list was asked for: an item or a row then brings the others, and a sentence before a list the
        list.
      after: the passage behind one.
    """
    own = Piece(passage, sentence)
    lines = _lines(passage)
    at = next((n for n, line in enumerate(lines) if line.start <= sentence.start < line.start + len(line.text)), None)
    if at is None:
        return [own]
    if ROW in sentence.text:
        return [line.piece for line in lines if line.row][:MOST_ITEMS] if listed else [own]
    line = lines[at]
    if line.item:
        lead = _lead_in(lines, at)
        if lead is not None and listed:
            return [lead, *_items(passage, lead.sentence, after)]
        return [lead, own] if lead is not None else [own]
    items = _items(passage, sentence, after)
    if items and (listed or sentence.text.endswith(":") or _PROMISES.search(sentence.text)):
        return [own, *items]
    if sentence.text.endswith(":"):
        return [own, *_continued(passage, lines, at, after)]
    if listed:
        announced = _announced(passage, sentence, after)
        if announced:
            return [own, *announced]
    if points_back(sentence.text):
        before = [one for one in split(line.text, line.start) if one.end <= sentence.start]
        if before:
            return [Piece(passage, before[-1]), own]
    return [own]


def _lines(passage: Passage) -> list[_Line]:
    found, at = [], passage.start
    for line in passage.text.split("\n"):
        if line.strip():
            found.append(_Line(at + len(line) - len(line.lstrip()), line.strip(), passage))
        at += len(line) + 1
    return found


def _announced(passage: Passage, sentence: Sentence, after: After) -> list[Piece]:
    """The list that comes next, with its lead-in, where that is no further than `NEXT` sentences."""
    following = [one for line in _lines(passage) for one in split(line.text, line.start) if one.start > sentence.start]
    for one in following[:NEXT]:
        items = _items(passage, one, after)
        if items:
            return [Piece(passage, one), *items]
    return []


def _lead_in(lines: list[_Line], at: int) -> Piece | None:
    """The sentence before the list in which a line stands; a title is none."""
    first = next((n for n in range(at, -1, -1) if not lines[n].item), None)
    if first is None:
        return None
    lead = lines[first].last
    return lead if lead is not None and lead.sentence.text.endswith((":", ".")) else None


def _items(passage: Passage, lead: Sentence, after: After) -> list[Piece]:
    """The items of the list, or the rows of the table, that follows a sentence, over the end of its passage."""
    lines = _lines(passage)
    at = next((n for n, line in enumerate(lines) if line.start <= lead.start < line.start + len(line.text)), None)
    if at is None or lines[at].item or lines[at].start + len(lines[at].text) > lead.end + 1:
        return []
    found: list[Piece] = []
    tabled = False
    for line in _onwards(passage, lines[at + 1 :], after):
        if not found:
            tabled = line.row and lead.text.endswith(":")
        if not (line.row if tabled else line.item) or len(found) == MOST_ITEMS:
            break
        found.append(line.piece)
    return found


def _continued(passage: Passage, lines: list[_Line], at: int, after: After) -> list[Piece]:
    """The line that a colon announces."""
    if lines[at].last is None or not lines[at].text.endswith(":"):
        return []
    following = next(iter(_onwards(passage, lines[at + 1 :], after)), None)
    return [following.piece] if following is not None else []


def _onwards(passage: Passage, rest: list[_Line], after: After) -> list[_Line]:
    """The lines that follow in a passage and in the one behind it, which may begin with the last ones again."""
    further = after(passage)
    if further is None or further.headings != passage.headings:
        return rest
    return [*rest, *(line for line in _lines(further) if line.start >= passage.end)]
