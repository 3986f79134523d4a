"""The assistant's index at 100 000 passages: build rate, memory, query time.

Embedding is by far the slowest part and depends on the machine alone, so the index is built with vectors made from
words (384 dimensions, as multilingual-e5-small has them); the real embedder's rate is measured on a sample.

Example: python -m benchmarks.assistant_index --passages 100000
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from assistant.config import AssistantConfig
from assistant.evaluation.cost import percentile
from assistant.knowledge.documents import Block, Document, Metadata
from assistant.knowledge.index import open_index, update
from assistant.knowledge.models import open_embedder
from assistant.knowledge.vectors import VectorIndex
from assistant.retrieval.query import Filters, Query
from assistant.retrieval.search import Search
from benchmarks import table

Result = TypeVar("Result")
PER_DOCUMENT = 50
WORDS = 60
MARKETS = ("FR", "BE", "NL", None)


class WordVectors:
    """An embedder that adds up one random direction a word: quick, and texts with words in common are near."""

    name = "words-384"
    dimensions = 384
    max_tokens = 512

    def __init__(self) -> None:
        self._directions = np.random.default_rng(0).standard_normal((4096, self.dimensions)).astype(np.float32)

    def embed_passages(self, texts: Sequence[str]) -> Any:
        rows = np.stack(
            [self._directions[[zlib.crc32(w.encode()) % 4096 for w in text.split()]].sum(0) for text in texts]
        )
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    embed_queries = embed_passages

    def count_tokens(self, text: str) -> int:
        return len(text.split()) + 2


class Library:
    """A loader of documents made up of frequent and rare words, the same for the same seed.

    Args:
      passages: how many passages the documents have in all.
      changed: how many documents have another text than with 0.
    """

    source = "library"

    def __init__(self, passages: int, changed: int = 0) -> None:
        self._documents = -(-passages // PER_DOCUMENT)
        self._changed = changed

    def ids(self) -> Iterable[str]:
        return [f"doc{number}" for number in range(self._documents)]

    def load(self, ids: Iterable[str] | None = None) -> Iterator[Document]:
        for number in range(self._documents):
            yield self._document(number)

    def poll(self, since: datetime) -> Iterable[str]:
        return self.ids()

    def _document(self, number: int) -> Document:
        draw = random.Random(number if number >= self._changed else -number - 1)
        text, blocks = "", []
        for section in range(PER_DOCUMENT):
            words = [f"w{int(draw.paretovariate(0.6)) % 40_000}" for _ in range(WORDS)]
            paragraph = " ".join(words).capitalize() + f" E{number % 90 + 10}.\n"
            blocks.append(Block(start=len(text), end=len(text) + len(paragraph) - 1, headings=(f"Section {section}",)))
            text += paragraph
        metadata = Metadata(
            source=self.source, address=f"doc{number}", title=f"Document {number}", language="en",
            market=MARKETS[number % len(MARKETS)],
        )  # fmt: skip
        return Document(id=f"doc{number}", metadata=metadata, text=text, blocks=tuple(blocks))


def megabytes() -> float:
    """Peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Seconds(NamedTuple):
    """What something took: by the clock, which depends on what else the machine does, and of the processor."""

    clock: float
    processor: float

    def __str__(self) -> str:
        return f"{self.clock:.1f} s, {self.processor:.1f} s of the processor"


def _timed(work: Callable[[], Result]) -> tuple[Result, Seconds]:
    began = time.perf_counter(), time.process_time()
    result = work()
    return result, Seconds(time.perf_counter() - began[0], time.process_time() - began[1])


def measure(root: Path, passages: int, queries: int, sample: int) -> list[str]:
    """The tables of the benchmark.

    Args:
      root: an empty folder.
      passages: how many passages are indexed.
      queries: how many questions are asked of each kind.
      sample: passages that the real embedder embeds to tell its rate; 0 leaves it out.
    """
    embedder = WordVectors()
    report, built = _timed(lambda: update(root, [Library(passages)], embedder))
    peak = megabytes()
    again, unchanged = _timed(lambda: update(root, [Library(passages)], embedder))
    some, edited = _timed(lambda: update(root, [Library(passages, changed=2)], embedder))
    index, opened = _timed(lambda: open_index(root))
    search = Search(index, embedder)
    _, making = _timed(lambda: sum(1 for _ in Library(passages).load()))
    on_disk = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) / 1e6
    rows = [
        ["passages", f"{report.passages}"],
        ["first build: read, scrub, filter, chunk, store, index (no embedding)", str(built)],
        ["passages a second of the processor", f"{report.passages / built.processor:.0f}"],
        [f"run again, nothing changed ({again.embedded} embedded)", str(unchanged)],
        [f"2 documents edited ({some.embedded} embedded)", str(edited)],
        ["of each run: making up the documents", str(making)],
        ["open", str(opened)],
        ["on disk, MB", f"{on_disk:.0f}"],
        ["peak memory of the first build, MB", f"{peak:.0f}"],
        ["peak memory of the whole run, MB", f"{megabytes():.0f}"],
    ]
    if sample:
        rows.append(["multilingual-e5-small, passages a second", f"{_real_rate(sample):.0f}"])
    return [*table(["what", "value"], rows), "", *_queries(search, queries), "", *_vectors(index.vectors, queries)]


def _queries(search: Search, queries: int) -> list[str]:
    draw = random.Random(7)
    rows = []
    kinds: dict[str, dict[str, Any]] = {
        "dense": {"method": "dense"}, "sparse": {"method": "sparse"}, "hybrid": {"method": "hybrid"},
        "hybrid, one market": {"method": "hybrid", "filters": Filters(markets=("FR",))},
    }  # fmt: skip
    for name, options in kinds.items():
        seconds = []
        for _ in range(queries):
            text = " ".join(f"w{int(draw.paretovariate(0.6)) % 40_000}" for _ in range(8))
            began = time.perf_counter()
            search.search(Query(text=text, language="en", **options))
            seconds.append(1000 * (time.perf_counter() - began))
        rows.append([name, *(f"{percentile(seconds, share):.1f}" for share in (0.5, 0.95))])
    return table(["query (the question's own embedding apart)", "median ms", "95 % ms"], rows)


def _vectors(flat: VectorIndex, queries: int) -> list[str]:
    """Exact comparison beside HNSW over the same vectors: time, and how much of the exact ten it finds."""
    vectors = flat.vectors(np.arange(flat.size, dtype=np.int64))
    began = time.perf_counter()
    graph = VectorIndex.build(vectors, flat_up_to=0)
    built = time.perf_counter() - began
    draw = np.random.default_rng(3)
    asked = vectors[draw.integers(0, len(vectors), queries)] + 0.05 * draw.standard_normal((queries, vectors.shape[1]))
    asked = (asked / np.linalg.norm(asked, axis=1, keepdims=True)).astype(np.float32)
    rows: list[list[str]] = []
    exact: list[set[int]] = []
    for name, index, build in (("flat", flat, 0.0), (graph.kind, graph, built)):
        seconds, found = [], []
        for vector in asked:
            began = time.perf_counter()
            numbers, _ = index.nearest(vector, 10)
            seconds.append(1000 * (time.perf_counter() - began))
            found.append(set(map(int, numbers)))
        exact = exact or found
        recall = sum(len(a.intersection(b)) for a, b in zip(exact, found, strict=True)) / (10 * len(found))
        rows.append([name, f"{build:.1f}", f"{percentile(seconds, 0.5):.2f}", f"{recall:.3f}"])
    return table(["vectors", "build, s", "median ms", "recall of the exact 10"], rows)


def _real_rate(sample: int) -> float:
    embedder = open_embedder(AssistantConfig(threads=2))
    texts = [
        f"Reading {n}: an index of the flow R151 that lies below the one before it is rejected, and the grid operator "
        f"is asked for a correction; what was invoiced on an estimate is looked at again." for n in range(sample)
    ]  # fmt: skip
    embedder.embed_passages(texts[:16])
    began = time.perf_counter()
    embedder.embed_passages(texts)
    return sample / (time.perf_counter() - began)


def main(typed: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.assistant_index", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--sample", type=int, default=300, help="passages for the real embedder; 0 leaves it out")
    asked = parser.parse_args(typed)
    with tempfile.TemporaryDirectory(prefix="energycomm-assistant-") as name:
        print("\n".join(measure(Path(name) / "index", asked.passages, asked.queries, asked.sample)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
