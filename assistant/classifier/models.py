"""The models by name: made, fitted, written and opened again, whatever is inside them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from assistant.classifier.comments import Comments
from assistant.classifier.port import Form, Predictor, dataset_hash, read_card, read_dataset
from assistant.classifier.storage import read_model, write_model
from assistant.extras import need
from assistant.trust import checked
from energycomm.errors import UserError

if TYPE_CHECKING:
    from assistant.classifier.baselines import Kind

KINDS: dict[str, str] = {
    "majority": "always the most frequent answer",
    "tfidf": "words weighted by TF-IDF, logistic regression for every code",
    "boosting": "boosted trees for every code",
    "language": "a causal language model",
}
"""Kind of model -> what it is."""


def make_model(kind: str, form: Form = "facts") -> Predictor:
    """A model that has learned nothing yet.

    Args:
      kind: one of `KINDS`.
      form: of the texts that it reads.

    Raises:
      UserError: there is no such kind.
    """
    makers: dict[str, Callable[[], Any]] = {
        "majority": lambda: _baseline("majority", form),
        "tfidf": lambda: _baseline("tfidf", form),
        "boosting": lambda: _baseline("boosting", form),
        "language": _language,
    }
    if kind not in makers:
        raise UserError(f"There is no model {kind!r}.", f"Models: {', '.join(KINDS)}.")
    found: Predictor = makers[kind]()
    return found


def open_model(folder: Path) -> Predictor:
    """The model of a folder.

    Raises:
      UserError: the folder holds none.
    """
    state = read_model(folder)
    model = make_model(str(state.get("kind", "")), state.get("form", "facts"))
    model.load(checked(folder))
    return model


def fit_model(
    kind: str, dataset: Path, folder: Path, *, form: Form = "facts", budget: float | None = None
) -> tuple[Predictor, dict[str, Any]]:
    """Fit a model to a data set and write it with everything it was made of.

    Args:
      kind: one of `KINDS`.
      dataset: the data set.
      folder: where to write.
      form: of the texts.
      budget: seconds at most.

    Returns:
      The model and what was written of it.
    """
    card = read_card(dataset)
    train, valid = read_dataset(dataset, "train"), read_dataset(dataset, "valid")
    if not train:
        raise UserError(f"The data set {dataset} has nothing to learn from.", "Build it with more access points.")
    model = make_model(kind, form)
    begun = time.monotonic()
    model.fit(train, valid, budget)
    about = {
        "data": dataset_hash(dataset),
        "rules_versions": list(card.rules_versions),
        "examples": [len(train), len(valid)],
        "seconds": round(time.monotonic() - begun, 1),
        "tokens": card.tokens,
        "comments": card.comments,
        "flows": card.flows,
    }
    version = hashlib.sha256(msgspec.json.encode([kind, form, about["data"], about["examples"]])).hexdigest()[:8]
    if hasattr(model, "version"):
        model.version = version
    if getattr(model, "unlearned", None):
        about["unlearned"] = model.unlearned  # type: ignore[attr-defined]
    model.save(folder)
    write_model(folder, {**about, "version": version, "kind": kind, "form": form})
    return model, about


def comments_of(folder: Path) -> Comments:
    """The comments that a model's codes go with."""
    return Comments(read_model(folder).get("comments") or {})


def _baseline(kind: str, form: Form) -> Any:
    need("numpy", "scipy")
    from assistant.classifier.baselines import Majority, PerCode

    return Majority() if kind == "majority" else PerCode(cast("Kind", kind), form)


def _language() -> Any:
    from assistant.classifier.language import LanguageModel

    return LanguageModel()  # its comments are filled in by code like those of all models
