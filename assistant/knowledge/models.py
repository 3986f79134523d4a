"""The embedder that the configuration names, and one that remembers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistant.config import BUNDLED, AssistantConfig, EmbedderSetting
from assistant.extras import CORE, need
from assistant.kept import FOLDER, Kept
from assistant.knowledge.bundled import BundledEmbedder
from assistant.knowledge.embedding import Concatenated, Embedder, SentenceTransformerEmbedder
from assistant.knowledge.projection import Projection

if TYPE_CHECKING:
    from assistant.knowledge.embedding import Vectors


def open_embedder(config: AssistantConfig) -> Embedder:
    """The embedder, or several as one; a model is loaded once a process.

    Raises:
      UserError: a package is missing.
    """
    need(*CORE)
    opened = [
        _open(setting, config.threads, config.device, config.folder / FOLDER, tokens=config.interaction > 0)
        for setting in config.embedders
    ]
    if len(opened) == 1:
        return opened[0]
    return Concatenated(opened, [setting.weight for setting in config.embedders])


@lru_cache(maxsize=4)
def _open(setting: EmbedderSetting, threads: int, device: str | None, kept: Path, *, tokens: bool) -> Embedder:
    if setting.model == BUNDLED:
        return BundledEmbedder(threads, Projection.load() if tokens else None, Kept(kept))
    return SentenceTransformerEmbedder(
        setting.model,
        query_prefix=setting.query_prefix,
        passage_prefix=setting.passage_prefix,
        threads=threads,
        device=device,
    )


class Remembering:
    """An embedder that remembers the vectors of the texts that it embedded last: questions and sentences come again."""

    def __init__(self, embedder: Embedder, size: int = 20_000) -> None:
        self.inner = embedder
        self._size = size
        self._known: dict[tuple[str, str], Any] = {}
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.max_tokens = embedder.max_tokens

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of passages."""
        return self._vectors("passage", texts, self.inner.embed_passages)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of questions."""
        return self._vectors("query", texts, self.inner.embed_queries)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text."""
        return self.inner.count_tokens(text)

    def _vectors(self, role: str, texts: Sequence[str], embed: Callable[[Sequence[str]], Vectors]) -> Vectors:
        import numpy as np

        new = [text for text in dict.fromkeys(texts) if (role, text) not in self._known]
        if new:
            self._known.update(zip(((role, text) for text in new), embed(new), strict=True))
        rows = [self._known[role, text] for text in texts]
        while len(self._known) > self._size:
            self._known.pop(next(iter(self._known)))
        return np.asarray(rows, dtype=np.float32).reshape(len(texts), self.dimensions)
