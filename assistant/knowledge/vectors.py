"""Nearest vectors with FAISS: exact while that is quick, HNSW past a size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistant.extras import need

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

FLAT_UP_TO = 200_000
"""Vectors that are compared one by one: some 30 ms a question; beyond, HNSW finds nearly the same in one."""

NEIGHBOURS = 32
EF_BUILD, EF_SEARCH = 120, 128


class VectorIndex:
    """Unit vectors, numbered from 0 in their order; scores are cosines."""

    def __init__(self, index: Any) -> None:
        self._index = index

    @classmethod
    def build(cls, vectors: Vectors, flat_up_to: int = FLAT_UP_TO) -> VectorIndex:
        """Index vectors.

        Args:
          vectors: shape (count, dimensions), float32, unit length.
          flat_up_to: past this many HNSW is used.
        """
        need("faiss")
        import faiss

        count, dimensions = vectors.shape
        if count <= flat_up_to:
            index: Any = faiss.IndexFlatIP(dimensions)
        else:
            index = faiss.IndexHNSWFlat(dimensions, NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
            index.hnsw.efConstruction = EF_BUILD
        index.add(vectors)
        return cls(index)

    @classmethod
    def load(cls, path: Path) -> VectorIndex:
        """Read what `save` wrote."""
        need("faiss")
        import faiss

        return cls(faiss.read_index(str(path)))

    def save(self, path: Path) -> None:
        """Write the index to a file."""
        import faiss

        faiss.write_index(self._index, str(path))

    @property
    def size(self) -> int:
        """How many vectors."""
        return int(self._index.ntotal)

    @property
    def kind(self) -> str:
        """flat or hnsw."""
        return "hnsw" if hasattr(self._index, "hnsw") else "flat"

    def nearest(
        self, query: Vectors, limit: int, among: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The nearest vectors of one query, best first.

        Args:
          query: shape (dimensions,).
          limit: how many at most.
          among: numbers of the vectors that may be found; all when None.

        Returns:
          Numbers and cosines.
        """
        import faiss as untyped
        import numpy as np

        faiss: Any = untyped  # its stubs lag behind
        limit = min(limit, self.size if among is None else len(among))
        if limit == 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        selector = None if among is None else faiss.IDSelectorBatch(among)
        if self.kind == "hnsw":
            parameters = faiss.SearchParametersHNSW(sel=selector, efSearch=max(EF_SEARCH, 2 * limit))
        else:
            parameters = faiss.SearchParameters(sel=selector)
        scores, numbers = self._index.search(query.reshape(1, -1), limit, params=parameters)
        there = numbers[0] >= 0
        return numbers[0][there], scores[0][there]

    def vectors(self, numbers: NDArray[np.int64]) -> Vectors:
        """The vectors of some numbers."""
        import numpy as np

        if len(numbers) == 0:
            return np.empty((0, self._index.d), np.float32)
        return np.asarray(self._index.reconstruct_batch(numbers), dtype=np.float32)
