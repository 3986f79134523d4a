"""Making the vectors of tokens small: centred, on the axes along which they differ most, a byte for each.

A passage has a hundred tokens and more. As the model gives them they are 150 kB; so they are 13 kB, and questions find
as well as before.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.trust import checked, remember, shipped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]
    Small = NDArray[np.int8]

DIMENSIONS = 128
SHIPPED = "projection.npz"
LARGEST = 127
"""A component of 1 as it is kept."""


class Projection:
    """What to take off a token's vector and the axes to look at it along.

    Args:
      mean: the mean of the tokens it was fitted on, shape (wide,).
      axes: orthonormal columns, shape (wide, dimensions).
    """

    def __init__(self, mean: Rows, axes: Rows) -> None:
        self._mean = mean
        self._axes = axes

    @classmethod
    def fit(cls, rows: Rows, dimensions: int = DIMENSIONS) -> Projection:
        """The axes along which tokens differ most (principal components).

        Args:
          rows: vectors of tokens, shape (tokens, wide).
          dimensions: how many axes.
        """
        import numpy as np

        mean = rows.mean(axis=0)
        _, axes = np.linalg.eigh(np.cov((rows - mean).T))
        return cls(mean, np.asarray(axes[:, ::-1][:, :dimensions], dtype=np.float32))

    @classmethod
    def load(cls, path: Path | None = None) -> Projection:
        """Read what `save` wrote; the one shipped for multilingual-e5-small when no file is named."""
        import numpy as np

        with (
            resources.as_file(resources.files("assistant.knowledge") / SHIPPED) as packed,
            np.load(checked(path) if path else shipped(packed), allow_pickle=False) as arrays,
        ):
            return cls(arrays["mean"].astype(np.float32), arrays["axes"].astype(np.float32))

    def save(self, path: Path) -> None:
        """Write it to a file."""
        import numpy as np

        np.savez_compressed(path, mean=self._mean.astype(np.float16), axes=self._axes.astype(np.float16))
        remember(path)

    def small(self, rows: Rows) -> Small:
        """Tokens as they are kept: unit length before they are rounded, shape (tokens, dimensions)."""
        import numpy as np

        seen = (rows - self._mean) @ self._axes
        seen /= np.maximum(np.linalg.norm(seen, axis=1, keepdims=True), 1e-9)
        return np.asarray(np.rint(seen * LARGEST), dtype=np.int8)
