"""Nearest vectors: one by one while that is quick, by FAISS's graph (HNSW) past a size."""

from __future__ import annotations

from abc import ABC, abstractmethod
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

ROWS, GRAPH = "vectors.npy", "vectors.faiss"
"""The file of vectors alone, and that of FAISS, in which indexes of before have them all."""


class VectorIndex(ABC):
    """Unit vectors, numbered from 0 in their order; scores are cosines."""

    kind: str
    """flat or hnsw."""

    @staticmethod
    def build(vectors: Vectors, flat_up_to: int = FLAT_UP_TO) -> VectorIndex:
        """Index vectors.

        Args:
          vectors: shape (count, dimensions), float32, unit length.
          flat_up_to: past this many HNSW is used.
        """
        return _Rows(vectors) if len(vectors) <= flat_up_to else _Graph.of(vectors)

    @staticmethod
    def load(folder: Path) -> VectorIndex:
        """Read what `save` wrote into a folder."""
        import numpy as np

        # FAISS takes longer to import than few vectors take to be compared.
        return _Rows(np.load(folder / ROWS, mmap_mode="r")) if (folder / ROWS).is_file() else _Graph.read(folder)

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the index into a folder."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many vectors."""

    @abstractmethod
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

    @abstractmethod
    def vectors(self, numbers: NDArray[np.int64]) -> Vectors:
        """The vectors of some numbers."""


class _Rows(VectorIndex):
    """Every vector is compared."""

    kind = "flat"

    def __init__(self, rows: Vectors) -> None:
        self._rows = rows

    def save(self, folder: Path) -> None:
        import numpy as np

        np.save(folder / ROWS, self._rows)

    @property
    def size(self) -> int:
        return len(self._rows)

    def nearest(
        self, query: Vectors, limit: int, among: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        import numpy as np

        scores = self._rows @ query if among is None else self._rows[among] @ query
        limit = min(limit, len(scores))
        best = np.argpartition(-scores, limit - 1)[:limit] if 0 < limit < len(scores) else np.arange(len(scores))
        best = best[np.argsort(-scores[best], kind="stable")][:limit]
        numbers = best if among is None else among[best]
        return np.asarray(numbers, dtype=np.int64), np.asarray(scores[best], dtype=np.float32)

    def vectors(self, numbers: NDArray[np.int64]) -> Vectors:
        import numpy as np

        return np.asarray(self._rows[numbers], dtype=np.float32)


class _Graph(VectorIndex):
    """An index of FAISS."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self.kind = "hnsw" if hasattr(index, "hnsw") else "flat"

    @classmethod
    def of(cls, vectors: Vectors) -> _Graph:
        """Index vectors by HNSW."""
        need("faiss")
        import faiss

        index: Any = faiss.IndexHNSWFlat(vectors.shape[1], NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = EF_BUILD
        index.add(vectors)
        return cls(index)

    @classmethod
    def read(cls, folder: Path) -> _Graph:
        """Read an index from a folder."""
        need("faiss")
        import faiss

        return cls(faiss.read_index(str(folder / GRAPH)))

    def save(self, folder: Path) -> None:
        import faiss

        faiss.write_index(self._index, str(folder / GRAPH))

    @property
    def size(self) -> int:
        return int(self._index.ntotal)

    def nearest(
        self, query: Vectors, limit: int, among: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
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
        import numpy as np

        if len(numbers) == 0:
            return np.empty((0, self._index.d), np.float32)
        return np.asarray(self._index.reconstruct_batch(numbers), dtype=np.float32)
