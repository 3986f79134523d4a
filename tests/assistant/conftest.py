"""A small world for the assistant's tests: an embedder without a model, a few documents, an index of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

DOCUMENTS = {
    "readings.md": """# Readings

## Index that goes back

An index is not below the one before it. A reading that breaks this is rejected with the code FR-R90.
The grid operator corrects it within five working days.

## Units

| code | unit | flow |
| --- | --- | --- |
| E17 | Wh | R151 |
| E18 | kWh | R15 |
""",
    "supplier.md": """# Changing supplier

A switch request is answered within two working days. A request without a date is refused.
""",
    "factures.md": """---
language: fr
market: FR
---
# Factures

La facture d'acheminement arrive chaque mois. Une facture sans total est rejetée.
""",
}


class WordEmbedder:
    """Words hashed to directions: texts with words in common are near. It counts what it embeds."""

    name = "words"
    dimensions = 128
    max_tokens = 64

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Any:
        self.embedded += texts
        return self._embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> Any:
        return self._embed(texts)

    def count_tokens(self, text: str) -> int:
        return len(text.split()) + 2

    def _embed(self, texts: Sequence[str]) -> Any:
        import numpy

        rows = numpy.full((len(texts), self.dimensions), 1e-3, dtype=numpy.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                digest = hashlib.sha256(word.strip(".,:;?!").encode()).digest()
                row[digest[0] % self.dimensions] += 1
        return rows / numpy.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="session", autouse=True)
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Models that tests make are written down in a folder of the tests."""
    file = tmp_path_factory.mktemp("registry") / "models.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assistant.trust._own_registry", lambda: file)
        yield file


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """A folder with a few pages."""
    folder = tmp_path / "handbook"
    folder.mkdir()
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def indexed(tmp_path: Path, documents: Path, embedder: WordEmbedder) -> Path:
    """The folder of an index of these pages."""
    from assistant.knowledge.index import update
    from assistant.knowledge.loaders.folder import FolderLoader

    root = tmp_path / "index"
    update(root, [FolderLoader(documents)], embedder)
    return root


@pytest.fixture
def assistant(tmp_path: Path, indexed: Path, embedder: WordEmbedder) -> Any:
    """An assistant over them that answers by the plain scorer."""

    from assistant.chat.assistant import Assistant
    from assistant.chat.confidence import Confidence
    from assistant.chat.scorer import PlainScorer
    from assistant.config import AssistantConfig
    from assistant.knowledge.index import open_index

    # The tests' embedder has other cosines than a real one: only words decide.
    weights = {
        "bias": -4.1,
        "coverage": 4.0,
        "rarest": 1.6,
        "dense": 0.0,
        "support": 1.0,
        "code": 3.0,
        "foreign": -0.3,
        "unfit": -6.0,
    }
    sure = Confidence(weights=weights, dense_centre=0.8, threshold=0.5)
    config = AssistantConfig(folder=tmp_path)
    return Assistant(config, open_index(indexed), embedder, PlainScorer(None), confidence=sure)


@pytest.fixture
def app(tmp_path: Path, assistant: Any) -> Any:
    """The chat over them, with a log."""
    from assistant.chat.log import Log
    from assistant.web.pages import make_app

    return make_app(assistant, Log(tmp_path / "log.db"), assistant.config)
