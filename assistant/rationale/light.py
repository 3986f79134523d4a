"""The default rationale model: boosted trees and logistic regression over lexical and embedding features.

It is a small file of plain arrays that goes along with EnergyComm (`models/light.npz`, its card beside it). One file
holds three models: `full` reads words and vectors; `words` does without an embedder, or beside another one than it was
fitted with; `across` reads vectors only, for a question in another language than its passages.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
from msgspec import Struct

from assistant.knowledge.embedding import Embedder
from assistant.knowledge.language import detect
from assistant.rationale import features
from assistant.rationale.choosing import Choice
from assistant.rationale.port import Question
from assistant.rationale.trees import Forest, Linear, probability
from assistant.trust import checked, remember, shipped
from energycomm.errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Variant = Literal["full", "words", "across"]

FORMAT = 1
ADVICE = "Train it again: energycomm assistant evaluate train-rationale."


class Pair(Struct, frozen=True, kw_only=True):
    """Two models over the same columns, their log-odds averaged."""

    columns: tuple[str, ...]
    forest: Forest
    linear: Linear

    def probabilities(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Probability of every row that the sentence carries the answer."""
        return probability((self.forest.log_odds(rows) + self.linear.log_odds(rows)) / 2)


class Card(Struct, frozen=True, kw_only=True):
    """What a model file says about itself.

    Attributes:
      embedder: name of the embedder that it was fitted with.
      trained_on: the sets, with their licences.
      measured: figures by cross-validation, as text.
    """

    format: int
    embedder: str
    choice: Choice
    trained_on: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    licence: str = ""


class Light:
    """The light model behind the rationale port.

    Args:
      card: what the file says.
      models: the models by variant.
      embedder: where vectors come from; without one, or with another than the card names, only words are read.
    """

    name = "light"

    def __init__(self, card: Card, models: dict[Variant, Pair], embedder: Embedder | None = None) -> None:
        self.card = card
        self.models = models
        self.choice = card.choice
        self._embedder = embedder if embedder is not None and embedder.name == card.embedder else None

    def score(self, items: Sequence[Question]) -> list[list[float]]:
        """Probability for every sentence of every item that it carries the answer."""
        scores: list[list[float]] = [[] for _ in items]
        for variant, numbers in self._by_variant(items).items():
            model = self.models[variant]
            rows = features.matrix(
                [items[number] for number in numbers],
                self._embedder if variant != "words" else None,
                lexical=variant != "across",
            )
            if not sum(len(part) for part in rows):
                continue
            together = model.probabilities(np.concatenate(rows))
            at = 0
            for number, part in zip(numbers, rows, strict=True):
                scores[number] = [float(value) for value in together[at : at + len(part)]]
                at += len(part)
        return scores

    def choose(self, items: Sequence[Question]) -> list[tuple[int, ...]]:
        """Indexes of the chosen sentences of every item; never empty where there are sentences."""
        return [
            self.choice(scores, [len(sentence) for sentence in item.sentences])
            for item, scores in zip(items, self.score(items), strict=True)
        ]

    def _by_variant(self, items: Sequence[Question]) -> dict[Variant, list[int]]:
        found: dict[Variant, list[int]] = {}
        for number, item in enumerate(items):
            variant: Variant = "words" if self._embedder is None else "across" if across(item) else "full"
            found.setdefault(variant, []).append(number)
        return found

    def save(self, path: Path) -> None:
        """Write the model to one file of arrays (npz, no pickle)."""
        arrays: dict[str, Any] = {"card": np.frombuffer(msgspec.json.encode(self.card), dtype=np.uint8)}
        for variant, pair in self.models.items():
            arrays[f"{variant}.columns"] = np.frombuffer(json.dumps(pair.columns).encode(), dtype=np.uint8)
            for part in ("forest", "linear"):
                model = getattr(pair, part)
                for field in model.__struct_fields__:
                    arrays[f"{variant}.{part}.{field}"] = np.asarray(getattr(model, field))
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            np.savez_compressed(file, **arrays)
        remember(path)

    @classmethod
    def load(cls, path: Path | None = None, embedder: Embedder | None = None) -> Light:
        """Read a model file.

        Args:
          path: the file; the one that goes along with EnergyComm when None.
          embedder: the embedder in use.

        Raises:
          UserError: the file is missing, damaged, or was made by another version.
        """
        if path is None:
            with as_file(files("assistant.rationale") / "models" / "light.npz") as packed:
                return cls._read(shipped(packed), embedder)
        if not path.is_file():
            raise UserError(f"There is no rationale model {path}.", ADVICE)
        return cls._read(checked(path), embedder)

    @classmethod
    def _read(cls, path: Path, embedder: Embedder | None) -> Light:
        try:
            with np.load(path, allow_pickle=False) as arrays:
                card = msgspec.json.decode(arrays["card"].tobytes(), type=Card)
                if card.format != FORMAT:
                    raise UserError(
                        f"{path} is a rationale model of form {card.format}; this version reads {FORMAT}.", ADVICE
                    )
                models = {variant: _pair(arrays, variant) for variant in _variants(arrays)}
        except (ValueError, KeyError, OSError, EOFError, msgspec.DecodeError) as error:
            raise UserError(f"{path} is not a rationale model: {error}.", ADVICE) from None
        return cls(card, models, embedder)


def across(item: Question) -> bool:
    """Whether question and sentences are in different languages: their words then say nothing of each other."""
    asked, read = detect(item.question or item.answer or ""), detect(" ".join(item.sentences))
    return asked is not None and read is not None and asked != read


def _variants(arrays: Any) -> list[Variant]:
    known: tuple[Variant, ...] = ("full", "words", "across")
    return [variant for variant in known if f"{variant}.columns" in arrays]


def _pair(arrays: Any, variant: Variant) -> Pair:
    columns = tuple(json.loads(arrays[f"{variant}.columns"].tobytes()))
    expected = features.names(lexical=variant != "across", embedded=variant != "words")
    if columns != expected:
        raise ValueError(f"the columns of {variant} are not those of this version")

    def part(kind: type[Any], name: str) -> Any:
        values = {field: arrays[f"{variant}.{name}.{field}"] for field in kind.__struct_fields__}
        return kind(**{field: value if value.ndim else value.item() for field, value in values.items()})

    return Pair(columns=columns, forest=part(Forest, "forest"), linear=part(Linear, "linear"))
