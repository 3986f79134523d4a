"""What is looked for and what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Literal

from msgspec import Struct, field

from assistant.knowledge.documents import Metadata, Passage

Method = Literal["dense", "sparse", "hybrid", "weighted"]


class Filters(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which passages may be found; what is None does not restrict.

    Attributes:
      markets: passages of these markets, and those of no market.
      on: passages that hold on this day.
      languages: passages in these languages.
      sources: passages of these sources; a source's name or its beginning up to a colon.
      versions: passages of these versions.
    """

    markets: tuple[str, ...] | None = None
    on: date | None = None
    languages: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None

    def allow(self, metadata: Metadata) -> bool:
        """Whether a passage with this metadata may be found."""
        return (
            (self.markets is None or metadata.market is None or metadata.market in self.markets)
            and (self.on is None or metadata.holds_on(self.on))
            and (self.languages is None or metadata.language in self.languages)
            and (
                self.sources is None
                or metadata.source in self.sources
                or metadata.source.partition(":")[0] in self.sources
            )
            and (self.versions is None or metadata.version in self.versions)
        )

    @property
    def empty(self) -> bool:
        """Whether nothing is restricted."""
        return self == Filters()


class Query(Struct, frozen=True, kw_only=True):
    """A search.

    Attributes:
      text: the question.
      language: its language; found from the text when None.
      filters: which passages may be found.
      limit: how many different texts at most; what repeats one of them word for word comes along.
      method: dense (embeddings), sparse (BM25), hybrid (reciprocal rank fusion), weighted (sum of scores).
      dense_weight: weight of the dense score in `weighted`, 0..1.
      expand: neighbours whose vectors are averaged into the question's (AQE, EKRAG eq. 10); 0 is off.
      hyde: a hypothetical answer whose vector is mixed into the question's (EKRAG eq. 11); None is off.
      hyde_weight: weight of the question's own vector beside `hyde`.
      interaction: whether the best are compared with the question token by token, where the embedder tells of tokens.
      rerank: whether the reranker orders the best candidates, where one is configured.
      codes: whether exact codes of the question put the rules that they name in front.
    """

    text: str
    language: str | None = None
    filters: Filters = field(default_factory=Filters)
    limit: int = 10
    method: Method = "weighted"
    dense_weight: float = 0.7
    expand: int = 0
    hyde: str | None = None
    hyde_weight: float = 0.5
    interaction: bool = True
    rerank: bool = True
    codes: bool = True


class Found(Struct, frozen=True, kw_only=True):
    """A passage that was found.

    Attributes:
      score: what the results are ordered by; comparable within one search only.
      dense: cosine of question and passage, None where not computed.
      sparse: BM25 score, None where not computed.
      by_code: whether a code of the question names this passage's document.
    """

    passage: Passage
    score: float
    dense: float | None = None
    sparse: float | None = None
    rerank: float | None = None
    by_code: bool = False


def firsts(found: Iterable[Found]) -> list[Found]:
    """What was found, each text once: two versions of a document repeat most of each other.

    Args:
      found: what was found, best first.
    """
    kept: dict[tuple[tuple[str, ...], str], Found] = {}
    for item in found:
        kept.setdefault(_said(item), item)
    return list(kept.values())


def best_of(found: Sequence[Found], most: int) -> list[Found]:
    """The best, so many different texts, each with the passages that repeat it.

    Args:
      found: what was found, best first.
      most: how many different texts.
    """
    kept = {_said(item) for item in firsts(found)[:most]}
    return [item for item in found if _said(item) in kept]


def _said(item: Found) -> tuple[tuple[str, ...], str]:
    return item.passage.metadata.codes, item.passage.embedded
