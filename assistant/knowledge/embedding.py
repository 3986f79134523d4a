"""The embedder port, and sentence-transformers behind it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from assistant.extras import need
from assistant.trust import checked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Small = NDArray[np.int8]

BATCH = 16
"""Texts that go through a model together."""


class Embedder(Protocol):
    """Turns texts into unit vectors.

    Attributes:
      name: tells embeddings of different models apart: it is part of the key under which vectors are kept.
      dimensions: length of a vector.
      max_tokens: tokens of a text that are read; what is longer is cut, so passages are never longer.
    """

    name: str
    dimensions: int
    max_tokens: int

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of passages, shape (len(texts), dimensions), float32."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of questions, shape (len(texts), dimensions), float32."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a text as this model reads it, prefix and special tokens counted."""
        ...


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that tells of the single tokens of a text too."""

    def embed_tokens(self, texts: Sequence[str], *, question: bool = False) -> tuple[Vectors, list[Small]]:
        """Unit vectors of texts, and of each text its tokens, shape (tokens, dimensions of `Projection.small`)."""
        ...


def token_embedder(embedder: Embedder) -> TokenEmbedder | None:
    """The embedder, or the one that it wraps as `inner`, where that tells of tokens; else None."""
    inner = getattr(embedder, "inner", embedder)
    return inner if isinstance(inner, TokenEmbedder) and getattr(inner, "tells_tokens", True) else None


class SentenceTransformerEmbedder:
    """A model folder opened with sentence-transformers, on the CPU or what `device` names."""

    def __init__(
        self,
        model: str,
        *,
        name: str | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        threads: int = 2,
        device: str | None = None,
    ) -> None:
        need("sentence_transformers", "torch")
        # Where bitsandbytes is installed it is imported along and tells of kernels that nobody asked for.
        logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as spoken

        spoken.set_verbosity_error()
        spoken.disable_progress_bar()
        torch.set_num_threads(threads)
        self._model: Any = SentenceTransformer(
            str(checked(model)),
            device=device or ("cuda" if torch.cuda.is_available() else "cpu"),
            local_files_only=True,
            trust_remote_code=False,
        )
        self._model.eval()
        self.name = name or model
        self.max_tokens = int(self._model.max_seq_length or 512)
        self.dimensions = int(self._model.get_embedding_dimension())
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of passages."""
        return self._encode([self._passage_prefix + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of questions."""
        return self._encode([self._query_prefix + text for text in texts])

    def count_tokens(self, text: str) -> int:
        """Tokens of a passage as the model reads it."""
        return len(self._model.tokenizer(self._passage_prefix + text, truncation=False, verbose=False)["input_ids"])

    def _encode(self, texts: list[str]) -> Vectors:
        import numpy as np

        vectors = self._model.encode(
            texts, batch_size=BATCH, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32).reshape(len(texts), self.dimensions)


class Concatenated:
    """Several embedders as one: their unit vectors side by side, weighted, so that cosines add up (EKRAG, eq. 8)."""

    def __init__(self, embedders: Sequence[Embedder], weights: Sequence[float] | None = None) -> None:
        self._embedders = tuple(embedders)
        self._weights = tuple(weights or [1.0] * len(self._embedders))
        if len(self._weights) != len(self._embedders):
            raise ValueError("one weight per embedder is needed")
        self.name = "+".join(
            f"{e.name}*{w:g}" if w != 1 else e.name for e, w in zip(self._embedders, self._weights, strict=True)
        )
        self.dimensions = sum(embedder.dimensions for embedder in self._embedders)
        self.max_tokens = min(embedder.max_tokens for embedder in self._embedders)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of passages."""
        return self._joined([embedder.embed_passages(texts) for embedder in self._embedders])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of questions."""
        return self._joined([embedder.embed_queries(texts) for embedder in self._embedders])

    def count_tokens(self, text: str) -> int:
        """The most tokens that any of the models makes of the text."""
        return max(embedder.count_tokens(text) for embedder in self._embedders)

    def _joined(self, parts: list[Vectors]) -> Vectors:
        import numpy as np

        joined = np.concatenate([part * w for part, w in zip(parts, self._weights, strict=True)], axis=1)
        norms = np.linalg.norm(joined, axis=1, keepdims=True)
        return np.asarray(joined / np.maximum(norms, 1e-12), dtype=np.float32)
