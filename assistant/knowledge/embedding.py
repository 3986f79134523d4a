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

    from assistant.knowledge.projection import Projection

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
        projection: Projection | None = None,
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
        self._projection = projection
        self.tells_tokens = projection is not None

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of passages."""
        return self._encode([self._passage_prefix + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of questions."""
        return self._encode([self._query_prefix + text for text in texts])

    def count_tokens(self, text: str) -> int:
        """Tokens of a passage as the model reads it."""
        return len(self._model.tokenizer(self._passage_prefix + text, truncation=False, verbose=False)["input_ids"])

    def embed_tokens(self, texts: Sequence[str], *, question: bool = False) -> tuple[Vectors, list[Small]]:
        """Unit vectors of texts, and the tokens of each as the last layer but one has them: one reading for both.

        Args:
          texts: passages.
          question: whether they are questions instead.
        """
        assert self._projection is not None, "this model has no projection for its tokens"
        vectors, rows = self.read_tokens(texts, question=question)
        return vectors, [self._projection.small(some) for some in rows]

    def read_tokens(self, texts: Sequence[str], *, question: bool = False) -> tuple[Vectors, list[Vectors]]:
        """As `embed_tokens`, the tokens as wide as the model is."""
        import numpy as np

        prefix = self._query_prefix if question else self._passage_prefix
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        tokens = [np.zeros((0, self.dimensions), dtype=np.float32)] * len(texts)
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for at in range(0, len(order), BATCH):
            places = order[at : at + BATCH]
            vectors[places], rows = self._read([prefix + texts[place] for place in places], len(prefix))
            for place, some in zip(places, rows, strict=True):
                tokens[place] = some
        return vectors, tokens

    def _read(self, texts: list[str], prefix: int) -> tuple[Vectors, list[Vectors]]:
        """Unit vectors of texts, and their tokens behind the first `prefix` characters."""
        import torch

        reader, *others = self._model
        encoded = reader.tokenizer(
            texts, padding=True, truncation=True, max_length=self.max_tokens, return_offsets_mapping=True,
            return_tensors="pt",
        )  # fmt: skip
        offsets = encoded.pop("offset_mapping")
        encoded = encoded.to(self._model.device)
        with torch.inference_mode():
            read = reader.model(**encoded, output_hidden_states=True)
            features = {"token_embeddings": read.last_hidden_state, "attention_mask": encoded["attention_mask"]}
            for step in others:
                features = step(features)
            pooled = torch.nn.functional.normalize(features["sentence_embedding"], dim=-1).float().cpu().numpy()
            layer = read.hidden_states[-2].float().cpu().numpy()
        # Padding and the tokens around the text have no extent.
        own = ((offsets[..., 1] > offsets[..., 0]) & (offsets[..., 1] > prefix)).numpy()
        return pooled, [rows[mask] for rows, mask in zip(layer, own, strict=True)]

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
