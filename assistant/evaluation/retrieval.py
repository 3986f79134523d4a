"""Retrieval measured on a set: methods, several embedders as one, expansion, HyDE, reranking (EKRAG's grid)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from assistant.evaluation.corpus import MemoryIndex, passages_of
from assistant.evaluation.forms import RetrievalSet
from assistant.evaluation.metrics import ranking_scores
from assistant.evaluation.report import Cell, Report, Table, summarise
from assistant.knowledge.embedding import Embedder
from assistant.retrieval.query import Method, Query
from assistant.retrieval.search import Reranker, Search

MEASURES = ("recall@1", "recall@3", "recall@5", "recall@10", "recall@100", "MRR", "nDCG@10", "MAP")


class Setting(Struct, frozen=True, kw_only=True):
    """One cell of the grid.

    Attributes:
      embedder: name of the embedder, a key of what `evaluate` is given.
      expand: neighbours averaged into the question (AQE), 0..4 in EKRAG.
      hyde: whether the question's hypothetical answer is mixed in, where one is given.
      interaction: whether the best are compared token by token.
      rerank: whether the reranker orders the best.
    """

    method: Method = "hybrid"
    embedder: str = ""
    expand: int = 0
    hyde: bool = False
    interaction: bool = False
    rerank: bool = False


def grid(
    embedders: Iterable[str], *, methods: Sequence[Method] = ("sparse", "dense", "hybrid", "weighted"),
    expand: Sequence[int] = (0,), hyde: bool = False, rerank: bool = False, tokens: Collection[str] = (),
) -> list[Setting]:  # fmt: skip
    """The settings worth a row: what makes no difference to a method is not varied.

    Args:
      embedders: their names.
      methods: how to search.
      expand: numbers of neighbours averaged into the question.
      hyde: also with hypothetical answers.
      rerank: also with a reranker.
      tokens: the embedders that tell of tokens: also compared token by token.
    """
    found: list[Setting] = []
    names = list(embedders)
    for method in methods:
        for name in names[:1] if method == "sparse" else names:
            base = Setting(method=method, embedder=name)
            found.append(base)
            if method == "sparse":
                continue
            if name in tokens:
                found.append(Setting(method=method, embedder=name, interaction=True))
            found += [Setting(method=method, embedder=name, expand=count) for count in expand if count]
            if hyde:
                found.append(Setting(method=method, embedder=name, hyde=True))
            if rerank:
                found.append(Setting(method=method, embedder=name, rerank=True))
    return found


def evaluate(
    found: RetrievalSet,
    embedders: Mapping[str, Embedder],
    settings: Sequence[Setting],
    *,
    reranker: Reranker | None = None,
    hypothetical: Mapping[str, str] | None = None,
    most_tokens: int | None = None,
    command: str = "",
    told: Callable[[str], None] = lambda line: None,
) -> Report:
    """Measure every setting on every query.

    A text longer than a passage is found by its best passage. Rankings are over whole documents of the set.

    Args:
      found: the set.
      embedders: by name.
      settings: the cells to be measured.
      reranker: for settings with `rerank`.
      hypothetical: query -> hypothetical answer, for settings with `hyde`.
      most_tokens: longest passage; what the embedder reads when None.
    """
    searches = {
        name: search_over(found, embedder, reranker, most_tokens, told)
        for name, embedder in embedders.items()
        if any(setting.embedder == name for setting in settings)
    }
    rows = []
    for setting in settings:
        search = searches[setting.embedder]
        began = time.perf_counter()
        scores = []
        for key, text in found.queries.items():
            query = Query(
                text=text, language=found.query_language, method=setting.method, limit=200, expand=setting.expand,
                hyde=(hypothetical or {}).get(key) if setting.hyde else None, rerank=setting.rerank,
                interaction=setting.interaction, codes=False,
            )  # fmt: skip
            ranking = list(dict.fromkeys(item.passage.document for item in search.search(query)))
            scores.append(ranking_scores(ranking, found.relevant[key]))
        milliseconds = 1000 * (time.perf_counter() - began) / max(len(scores), 1)
        told(f"{setting}: nDCG@10 {np.mean([row['nDCG@10'] for row in scores]):.3f}, {milliseconds:.0f} ms a query")
        rows.append({**_keys(setting), **summarise(scores, MEASURES), "ms/query": round(milliseconds, 1)})
    table = Table(
        title=f"{found.name}: {len(found.queries)} queries, {len(found.corpus)} texts",
        keys=("method", "embedder", "switches"),
        measures=(*MEASURES, "ms/query"),
        rows=tuple(rows),
        plot=("nDCG@10", "MRR"),
    )
    return Report(title=f"Retrieval: {found.name}", command=command, tables=(table,))


def _keys(setting: Setting) -> dict[str, Cell]:
    switches = [f"AQE {setting.expand}"] * bool(setting.expand) + ["HyDE"] * setting.hyde + ["rerank"] * setting.rerank
    switches += ["late interaction"] * setting.interaction
    return {
        "method": setting.method,
        "embedder": "" if setting.method == "sparse" else setting.embedder,
        "switches": " ".join(switches),
    }


def search_over(
    found: RetrievalSet, embedder: Embedder, reranker: Reranker | None = None, most: int | None = None,
    told: Callable[[str], None] = lambda line: None,
) -> Search:  # fmt: skip
    """A search over the texts of a set."""
    passages = passages_of(found, embedder, most)
    told(f"{found.name}: {len(passages)} passages, embedding with {embedder.name}")
    index = MemoryIndex(passages, embedder)
    return Search(index.as_index, embedder, reranker)
