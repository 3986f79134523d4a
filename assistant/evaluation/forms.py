"""The forms in which test sets are read, one JSON object a line, and their meaning.

Rationales (`RationaleItem`): {"id", "question", "answer"?, "sentences": [...], "gold": [[0, 2], ...], "context"?}
Questions (`TestQuestion`): {"id", "twin", "kind", "language", "question", "answers": [[spelling, ...], ...],
"relevant": [{"rule": "fr-..."} | {"document": "docs/x.md", "headings": ["A", "B"], "contains"?}],
"on"?, "market"?, "version"?, "derived"?, "note"?}
Retrieval (`RetrievalSet`): as in BEIR, corpus.jsonl {"_id", "title"?, "text"}, queries.jsonl {"_id", "text"}, qrels.tsv
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct, structs

from assistant.rationale.port import Question
from energycomm.errors import UserError

Kind = Literal["regular", "version", "hard", "unanswerable"]


class RationaleItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A context whose sentences are to be marked.

    Attributes:
      gold: every set of sentence indexes that is a complete rationale.
    """

    id: str
    question: str
    sentences: tuple[str, ...]
    gold: tuple[tuple[int, ...], ...]
    answer: str | None = None
    context: str = ""

    @property
    def asked(self) -> Question:
        """The item as a method sees it."""
        return Question(question=self.question, sentences=self.sentences, answer=self.answer, context=self.context)

    @property
    def gold_sets(self) -> tuple[frozenset[int], ...]:
        """The gold sets."""
        return tuple(frozenset(found) for found in self.gold)


class Relevant(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Names relevant passages by what does not change when texts are cut anew.

    Attributes:
      rule: code of a rule: every passage of that rule's document.
      document: end of a document's address.
      headings: titles above the passage; the passage's own heading path has to contain them in this order.
      contains: words that the passage's text has to contain.
    """

    rule: str | None = None
    document: str | None = None
    headings: tuple[str, ...] = ()
    contains: str | None = None


class TestQuestion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question with what a right answer says.

    Attributes:
      id: name of the question; its twin in another language has the same `twin`.
      kind: regular (a phrase of one passage), version (what holds depends on the date), hard (count, compare, more than
        one passage), unanswerable (the sources do not say).
      answers: what the answer has to say: each inner tuple lists the accepted spellings of one statement.
      relevant: where it is said; empty for unanswerable questions.
      on: the day the question is about, for version questions.
      version: the version of the documents that is asked, where they have several.
      derived: whether the answer has to be counted or reckoned: no source says it in so many words.
      note: why the answer is right, for whoever reviews the set.
    """

    __test__ = False  # for pytest: not a test case

    id: str
    twin: str
    kind: Kind
    language: str
    question: str
    answers: tuple[tuple[str, ...], ...] = ()
    relevant: tuple[Relevant, ...] = ()
    on: date | None = None
    market: str | None = None
    version: str | None = None
    derived: bool = False
    note: str = ""


class RetrievalSet(Struct, frozen=True, kw_only=True):
    """Queries, a corpus and graded relevance.

    Attributes:
      relevant: query -> document -> grade above 0.
    """

    name: str
    corpus: dict[str, str]
    queries: dict[str, str]
    relevant: dict[str, dict[str, float]]
    query_language: str = "en"
    corpus_language: str = "en"

    def sampled(self, count: int) -> RetrievalSet:
        """The same with so many queries, evenly picked; the corpus stays whole."""
        keys = list(self.queries)
        kept = {keys[number * len(keys) // count] for number in range(min(count, len(keys)))}
        queries = {key: text for key, text in self.queries.items() if key in kept}
        return structs.replace(self, queries=queries, relevant={key: self.relevant[key] for key in queries})


Form = TypeVar("Form", RationaleItem, TestQuestion)


def read(path: Path, form: type[Form]) -> list[Form]:
    """Read a file of JSON lines; blank lines and lines that begin with # are skipped.

    Raises:
      UserError: the file is missing, or a line is not of the form: its number and what is wrong.
    """
    if not path.is_file():
        raise UserError(
            f"There is no {path}.", "Name a file of JSON lines; docs/assistant-evaluation.md shows the form."
        )
    decoder = msgspec.json.Decoder(form)
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        try:
            found.append(decoder.decode(line))
        except msgspec.DecodeError as error:
            raise UserError(
                f"{path}, line {number}: {error}.", "docs/assistant-evaluation.md shows the form."
            ) from None
    return found


def write(path: Path, items: Iterable[Struct]) -> None:
    """Write JSON lines."""
    encoder = msgspec.json.Encoder()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(encoder.encode(item) + b"\n" for item in items))
