"""What is not worth finding is dropped, with the reason: empty, doubled, boilerplate, chatter."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from assistant.knowledge.documents import Document, Passage

Reason = Literal["empty", "duplicate", "boilerplate", "chatter"]

LEAST_CHARACTERS = 15
BOILERPLATE_DOCUMENTS = 5
BOILERPLATE_SHARE = 0.3

_WORD = re.compile(r"\w+")
_CODE = re.compile(r"\b(?=\w*\d)\w*[A-Z]\w*\b|\b\d{2,}\b")
_CHATTER = re.compile(
    r"(?i)\W*(?:ok(?:ay|é)?|thanks?|thx|merci|bonjour|hello|hi|hallo|bedankt|dank je|danke|done|fait|\+1|1|up|"
    r"any (?:news|update)|"
    r"des nouvelles|fyi|pour info|cc|see above|voir (?:ci-dessus|plus haut)|noted|bien noté|bien reçu|je regarde|"
    r"i(?:'ll| will) (?:look|check)|assigned to|assigné à|moved to|en cours|in progress|ping|cordialement|best regards|"
    r"kind regards)\b"
)
MOST_CHATTER_WORDS = 8
"""Words after a greeting or thanks that still say nothing."""


class Dropped(Struct, frozen=True):
    """A passage that was left out: where it was, the reason, its first words."""

    document: str
    reason: Reason
    words: str


class Filter:
    """Decides passage by passage; what it has seen makes duplicates and boilerplate known."""

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        self._seen: set[str] = set()
        self._boilerplate = _repeated(list(documents))

    def know(self, passage: Passage) -> None:
        """What an unchanged passage says is known from now on: the same words elsewhere are a double."""
        self._seen.add(_key(passage))

    def reason(self, passage: Passage) -> Reason | None:
        """Why a passage is left out; None when it stays."""
        words = _WORD.findall(passage.text)
        if len(passage.text.strip()) < LEAST_CHARACTERS or not any(len(word) > 2 for word in words):
            return "empty"
        if is_chatter(passage.text):
            return "chatter"
        lines = [line for line in passage.text.split("\n") if line.strip()] if self._boilerplate else []
        if lines and all(_normal(line) in self._boilerplate for line in lines):
            return "boilerplate"
        key = _key(passage)
        if key in self._seen:
            return "duplicate"
        self._seen.add(key)
        return None


def is_chatter(text: str) -> bool:
    """Whether a comment says nothing that would help anyone later: thanks, pings, changes of hands."""
    if len(text) >= 200 or _CODE.search(text):
        return False
    begun = _CHATTER.match(text.strip())
    return begun is not None and len(_WORD.findall(text.strip()[begun.end() :])) <= MOST_CHATTER_WORDS


def _repeated(documents: Sequence[Document]) -> frozenset[str]:
    """Paragraphs that stand in many documents of one source, such as footers."""
    counts: dict[tuple[str, str | None], Counter[str]] = defaultdict(Counter)
    sizes: Counter[tuple[str, str | None]] = Counter()
    for document in documents:
        if document.metadata.codes:
            continue  # rules are alike by nature
        source = (document.metadata.source, document.metadata.version)
        sizes[source] += 1
        counts[source].update(
            {
                _normal(document.text[block.start : block.end])
                for block in document.blocks
                if block.kind in ("paragraph", "item") and block.end - block.start < 400
            }
        )
    return frozenset(
        line
        for source, lines in counts.items()
        for line, count in lines.items()
        if count >= BOILERPLATE_DOCUMENTS and count >= BOILERPLATE_SHARE * sizes[source]
    )


def _key(passage: Passage) -> str:
    """What makes two passages doubles: the same words in another version, market or period are what that one says."""
    facts = passage.metadata
    return _normal(passage.text) + f"/{facts.version}/{facts.market}/{facts.valid_from}/{' '.join(facts.codes)}"


def _normal(text: str) -> str:
    return hashlib.sha256(" ".join(_WORD.findall(text.lower())).encode()).hexdigest()[:20]
