"""Searching an index: dense, sparse, hybrid; filters; codes; expansion; reranking."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import msgspec

from assistant.knowledge.documents import Passage
from assistant.knowledge.embedding import Embedder, token_embedder
from assistant.knowledge.index import Index
from assistant.knowledge.language import detect
from assistant.knowledge.lexical import CODE_MARK, code_form, rule_codes
from assistant.knowledge.vectors import VectorIndex
from assistant.retrieval.asking import Asked, plain
from assistant.retrieval.fusion import reciprocal_ranks, weighted_sum
from assistant.retrieval.interaction import COMPARED, WEIGHT, compared, interaction
from assistant.retrieval.query import Found, Query, best_of
from energycomm.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\w[\w.-]*\w|\w")

CANDIDATES = 100
"""How deep each ranking is before they are fused."""

RERANKED = 20
"""How many of the best the reranker orders."""

WORDS_ABROAD = 0.3
"""Weight of the words across languages, in `weighted`, where all of what is asked could be said in the other."""

LEAST_WORDS, TOO_SHORT = 9, 0.15
"""A passage of fewer words that is no sentence, such as the caption of a table, loses this share: it is near to every
question."""

FEW = 6
"""Passages that may have a code, such as ENV_CRC or log_level, for the code to name them."""

_CLOSING = " \n\"')]”»’"

_WRITTEN_CODE = re.compile(r"\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b")

OF_ONE_MARKET = 0.9
"""Share of the passages with a name that have to be of one market for the name to tell it."""

OTHER_MARKET, SOME_MARKET = 0.25, 0.05
"""What a passage of another market loses, as a share of the distance from the best to the worst candidate; and what one
of any market loses when none is meant: what holds everywhere goes first."""


class Reranker(Protocol):
    """Orders passages anew.

    Attributes:
      languages: languages in which question and passage may be; outside of them the order stays.
    """

    languages: frozenset[str]

    def scores(self, question: str, passages: Sequence[Passage], found: Sequence[Found]) -> list[float]:
        """A score between 0 and 1 for every passage."""
        ...


class Search:
    """Finds passages of an index."""

    def __init__(
        self, index: Index, embedder: Embedder, reranker: Reranker | None = None, interaction_weight: float = WEIGHT
    ) -> None:
        import numpy as np

        if index.embedder_name != embedder.name:
            raise UserError(
                f"The index was made with {index.embedder_name}, the configuration names {embedder.name}.",
                "Index again, or correct the configuration.",
            )
        self.index = index
        self.embedder = embedder
        self._reranker = reranker
        self._teller = token_embedder(embedder) if interaction_weight else None
        self._interaction_weight = interaction_weight
        self._languages = np.array([passage.metadata.language or "" for passage in index.passages])
        self._markets = np.array([passage.metadata.market or "" for passage in index.passages])
        self._slight = np.array([is_slight(passage.text) for passage in index.passages])
        self._by_code: dict[str, list[int]] = {}
        for number, passage in enumerate(index.passages):
            for code in passage.metadata.codes:
                self._by_code.setdefault(code_form(code), []).append(number)
        self._spoken = language_centres(index.vectors, self._languages)

    def search(self, query: Query) -> list[Found]:
        """The best passages, best first."""
        allowed = self._allowed(query)
        if len(allowed) == 0:
            return []
        language = query.language or detect(query.text)
        asked = Asked(query.text, language, self.index.bm25, self.index.lexicon)
        vector = self._vector(query, allowed)
        sparse = self._sparse(asked)
        numbers = self._candidates(query, asked, vector, sparse, allowed)
        cosines = self.index.vectors.vectors(numbers) @ vector
        dense_scores = self._with_twins(numbers, cosines)
        sparse_scores = sparse[numbers]
        level = self._with_twins(numbers, cosines - self._advantage(vector, numbers))
        # A question whose language is not known is compared in all.
        shared = (self._languages[numbers] == language) if language else (self._languages[numbers] != "?")
        if query.method == "dense":
            scores = level
        elif query.method == "sparse":
            scores = sparse_scores
        elif query.method == "weighted":
            abroad = 1 - WORDS_ABROAD * max((asked.sayable(spoken) for spoken in self._spoken if spoken != language),
                                            default=0.0)  # fmt: skip
            scores = weighted_sum(level, sparse_scores, shared, query.dense_weight, abroad)
        else:
            scores = reciprocal_ranks(level, sparse_scores, shared)
        scores = self._of_market(asked, numbers, scores)
        named = self._named(query, asked, allowed)
        found = [
            Found(
                passage=self.index.passages[number],
                score=float(score),
                dense=float(dense),
                sparse=float(lexical),
                by_code=int(number) in named,
            )
            for number, score, dense, lexical in zip(numbers, scores, dense_scores, sparse_scores, strict=True)
            if query.method != "sparse" or lexical > 0 or int(number) in named
        ]
        found.sort(key=lambda item: (-item.by_code, -item.score, item.passage.id))
        found = self._readable(found, language)
        if query.interaction and query.method != "sparse":
            found = self._compared(query.text, found)
        if self._reranker is not None and query.rerank:
            found = self._reranked(query.text, language, found)
        return self._with_rule(found, query.limit)

    def _readable(self, found: list[Found], language: str | None) -> list[Found]:
        """Rules in the question's language or in English; elsewhere their beginning there takes the passage's place."""
        kept: dict[str, Found] = {}
        for item in found:
            facts = item.passage.metadata
            if language and facts.codes and facts.language not in (language, "en"):
                heads = {head.passage.metadata.language: head for head in self.beginnings(facts.codes[0])}
                head = heads.get(language) or heads.get("en")
                if head is not None:
                    item = msgspec.structs.replace(item, passage=head.passage)
            kept.setdefault(item.passage.id, item)
        return list(kept.values())

    def _with_rule(self, found: list[Found], limit: int) -> list[Found]:
        """The best, and with a rule that comes first what it says at its beginning, in each of its languages."""
        best = best_of(found, limit)
        if not best or not best[0].passage.metadata.codes:
            return best
        code = best[0].passage.metadata.codes[0]
        heads: dict[str | None, Found] = {}
        for item in found:
            facts = item.passage.metadata
            if facts.codes[:1] == (code,):
                head = heads.get(facts.language)
                if head is None or item.passage.start < head.passage.start:
                    heads[facts.language] = item
        added = [item for item in heads.values() if item not in best]
        return best_of(best, max(1, limit - len(added))) + added[: max(0, limit - 1)]

    def beginnings(self, code: str) -> list[Found]:
        """The first passage of a rule in each of its languages: what the rule says."""
        heads: dict[str | None, Found] = {}
        for number in self._by_code.get(code_form(code), ()):
            passage = self.index.passages[number]
            head = heads.get(passage.metadata.language)
            if head is None or passage.start < head.passage.start:
                heads[passage.metadata.language] = Found(passage=passage, score=0.0)
        return list(heads.values())

    def after(self, passage: Passage) -> Passage | None:
        """The passage behind one in its document."""
        row = self._in_order.get(passage.document, [])
        return next((other for other in row if other.start > passage.start and other.end > passage.end), None)

    @cached_property
    def _in_order(self) -> dict[str, list[Passage]]:
        rows: dict[str, list[Passage]] = {}
        for passage in sorted(self.index.passages, key=lambda passage: passage.start):
            rows.setdefault(passage.document, []).append(passage)
        return rows

    def _allowed(self, query: Query) -> NDArray[np.int64]:
        import numpy as np

        passages = self.index.passages
        if query.filters.empty:
            return np.arange(len(passages), dtype=np.int64)
        allow = query.filters.allow
        return np.array([n for n, passage in enumerate(passages) if allow(passage.metadata)], dtype=np.int64)

    def _vector(self, query: Query, allowed: NDArray[np.int64]) -> NDArray[np.float32]:
        import numpy as np

        vector = self.embedder.embed_queries([query.text])[0]
        if query.hyde:
            other = self.embedder.embed_passages([query.hyde])[0]
            vector = query.hyde_weight * vector + (1 - query.hyde_weight) * other
        if query.expand:
            near, _ = self.index.vectors.nearest(vector, query.expand, self._among(allowed))
            vector = (vector + self.index.vectors.vectors(near).sum(axis=0)) / (len(near) + 1)
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), dtype=np.float32)

    def _sparse(self, asked: Asked) -> NDArray[np.float32]:
        """BM25 scores of all passages, each by what the question's words are in its language."""
        import numpy as np

        if len(self._spoken) < 2 or asked.language is None:
            return self.index.bm25.scores(asked.query(next(iter(self._spoken), asked.language)))
        scores = np.zeros(len(self.index.passages), dtype=np.float32)
        for spoken in self._spoken:
            scores += np.where(self._languages == spoken, self.index.bm25.scores(asked.query(spoken)), np.float32(0))
        return scores

    def _of_market(self, asked: Asked, numbers: NDArray[np.int64], scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores in which the passages of other markets stand back, where the question's names belong to one.

        PRM, R151 and SIRET are spoken of in France only: who asks about them does not ask about the Netherlands.
        """
        import numpy as np

        if len(scores) == 0:
            return scores
        meant = self._market_meant(asked)
        away = (self._markets[numbers] != (meant or "")) & (self._markets[numbers] != "")
        loss = (OTHER_MARKET if meant else SOME_MARKET) * float(scores.max() - scores.min())
        slight = TOO_SHORT * float(scores.max() - scores.min()) * self._slight[numbers]
        return np.asarray(scores - loss * away - slight, dtype=np.float32)

    def _market_meant(self, asked: Asked) -> str | None:
        """The market to which the codes and names of a question belong; None where they do not tell."""
        import numpy as np

        votes: set[str] = set()
        for token in asked.names():
            markets = self._markets[self.index.bm25.texts_with(token)]
            told, times = np.unique(markets[markets != ""], return_counts=True)
            if len(told) and times.max() >= OF_ONE_MARKET * times.sum():
                votes.add(str(told[times.argmax()]))
        return next(iter(votes)) if len(votes) == 1 else None

    def _candidates(
        self, query: Query, asked: Asked, vector: NDArray[np.float32], sparse: NDArray[np.float32],
        allowed: NDArray[np.int64],
    ) -> NDArray[np.int64]:  # fmt: skip
        import numpy as np

        depth = max(CANDIDATES, query.limit)
        chosen: set[int] = set()
        if query.method != "sparse":
            for part in self._by_language(allowed):
                near, _ = self.index.vectors.nearest(vector, depth, part)
                chosen.update(map(int, near))
        if query.method != "dense":
            scores = sparse[allowed]
            best = np.argpartition(-scores, min(depth, len(scores) - 1))[:depth]
            chosen.update(int(allowed[place]) for place in best if scores[place] > 0)
        chosen.update(self._named(query, asked, allowed))
        chosen.update(self._twins(chosen, allowed))
        return np.array(sorted(chosen), dtype=np.int64)

    def _advantage(self, vector: NDArray[np.float32], numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """What each passage gains by its language alone: how near the question is to the mean of that language."""
        import numpy as np

        if len(self._spoken) < 2:
            return np.zeros(len(numbers), dtype=np.float32)
        nearness = {language: float(centre @ vector) for language, centre in self._spoken.items()}
        return np.array([nearness.get(language, 0.0) for language in self._languages[numbers]], dtype=np.float32)

    def _by_language(self, allowed: NDArray[np.int64]) -> list[NDArray[np.int64] | None]:
        """The passages that may be found, each language apart: else those of one would crowd the others out."""
        spoken = self._languages[allowed]
        parts = [allowed[spoken == language] for language in self._spoken] if len(self._spoken) > 1 else []
        return [part for part in parts if len(part)] or [self._among(allowed)]

    def _among(self, allowed: NDArray[np.int64]) -> NDArray[np.int64] | None:
        return None if len(allowed) == len(self.index.passages) else allowed

    def _twins(self, chosen: set[int], allowed: NDArray[np.int64]) -> set[int]:
        """The other passages of the rules of which a passage was chosen: most are there in two languages."""
        codes = {code for number in chosen for code in self.index.passages[number].metadata.codes[:1]}
        numbers = {number for code in codes for number in self._by_code[code_form(code)]}
        return numbers if len(allowed) == len(self.index.passages) else numbers & set(map(int, allowed))

    def _with_twins(self, numbers: NDArray[np.int64], scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores in which the languages of a rule speak for each other.

        They say the same in other words: the mean of the best of each language is a steadier witness than one alone.
        """
        best: dict[str, dict[str, float]] = {}
        for number, score in zip(numbers, scores, strict=True):
            facts = self.index.passages[number].metadata
            for code in facts.codes[:1]:
                by_language = best.setdefault(code, {})
                language = facts.language or ""
                by_language[language] = max(by_language.get(language, -1.0), float(score))
        joined = scores.copy()
        for place, number in enumerate(numbers):
            for code in self.index.passages[number].metadata.codes[:1]:
                together = sum(best[code].values()) / len(best[code])
                joined[place] = (scores[place] + together) / 2
        return joined

    def _named(self, query: Query, asked: Asked, allowed: NDArray[np.int64]) -> set[int]:
        """Passages of the rules that the question names by their codes."""
        if not query.codes:
            return set()
        words = _WORD.findall(query.text)
        # A known code is recognised however it is written: fr_r03, FR R03.
        forms = {code_form(word) for word in words if len(word) > 3}
        forms |= {code_form(one + other) for one, other in pairwise(words) if other[-1].isdigit()}
        numbers = {number for code in forms | rule_codes(query.text) for number in self._by_code.get(code, ())}
        defining = self._defining.get(asked.subject, ()) if asked.subject and not numbers else ()
        if len(defining) <= FEW:
            numbers.update(defining)
        for code in () if numbers else _WRITTEN_CODE.findall(query.text):
            there = self.index.bm25.texts_with(CODE_MARK + code_form(code))
            if len(there) <= FEW:
                numbers.update(map(int, there))
        return numbers & set(map(int, allowed)) if numbers and not query.filters.empty else numbers

    @cached_property
    def _defining(self) -> dict[str, list[int]]:
        """What the first cells of tables name, such as the terms of a glossary -> the passages with their rows."""
        found: dict[str, list[int]] = {}
        for number, passage in enumerate(self.index.passages):
            if " | " in passage.text and not passage.metadata.codes:
                for line in passage.text.split("\n"):
                    found.setdefault(plain(line.partition(" | ")[0]), []).append(number)
        return found

    def _compared(self, question: str, found: list[Found]) -> list[Found]:
        """The best compared with the question token by token, where the embedder tells of tokens."""
        best = found[:COMPARED]
        if self._teller is None or len(best) < 2:
            return found
        rows = self._tokens([item.passage for item in best])
        _, (asked,) = self._teller.embed_tokens([question], question=True)
        return compared(found, interaction(asked, rows), self._interaction_weight)

    def _tokens(self, passages: Sequence[Passage]) -> list[NDArray[np.int8] | None]:
        """The vectors of the tokens of some passages; those that nobody has made yet are made, and kept."""
        rows = self.index.tokens(passages)
        new = [place for place, row in enumerate(rows) if row is None]
        if new and self._teller is not None:
            _, made = self._teller.embed_tokens([passages[place].embedded for place in new])
            self.index.keep_tokens([passages[place] for place in new], made)
            for place, row in zip(new, made, strict=True):
                rows[place] = row
        return rows

    def _reranked(self, question: str, language: str | None, found: list[Found]) -> list[Found]:
        assert self._reranker is not None
        able = self._reranker.languages
        places = [
            place
            for place, item in enumerate(found[:RERANKED])
            if language in able and item.passage.metadata.language == language and not item.by_code
        ]
        if len(places) < 2:
            return found
        items = [found[place] for place in places]
        scores = self._reranker.scores(question, [item.passage for item in items], items)
        ordered = sorted(
            (msgspec.structs.replace(item, rerank=score) for item, score in zip(items, scores, strict=True)),
            key=lambda item: -(item.rerank or 0.0),
        )
        # Passages in other languages keep their places between those that were ordered anew.
        for place, item in zip(places, ordered, strict=True):
            found[place] = item
        return found


def is_slight(text: str) -> bool:
    """Whether a passage is a few words that say nothing: no sentence stands in it."""
    return len(text.split()) < LEAST_WORDS and not text.rstrip(_CLOSING).endswith((".", "!", "?"))


def language_centres(vectors: VectorIndex, languages: NDArray[np.str_]) -> dict[str, NDArray[np.float32]]:
    """The mean vector of the passages of each language, about the mean of all.

    A question resembles passages of its own language for no other reason than the language. Without that share of the
    cosine, French questions find their English page: on our own 60 recall at 8 rose from .72 to .90 (hybrid).
    """
    import numpy as np

    centres: dict[str, NDArray[np.float32]] = {}
    total = np.zeros(0, dtype=np.float32)
    for language in sorted(set(languages.tolist())):
        numbers = np.flatnonzero(languages == language).astype(np.int64)
        part = np.zeros(0, dtype=np.float32)
        for at in range(0, len(numbers), 8192):
            rows = vectors.vectors(numbers[at : at + 8192]).sum(axis=0)
            part = rows if not part.size else part + rows
        centres[language] = np.asarray(part / len(numbers), dtype=np.float32)
        total = part if not total.size else total + part
    whole = total / max(len(languages), 1)
    return {language: np.asarray(centre - whole, dtype=np.float32) for language, centre in centres.items()}
