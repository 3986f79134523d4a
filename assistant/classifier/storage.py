"""Where data sets and models are kept, and the `model.json` of a model: read without any package of the extra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from assistant.config import AssistantConfig
from assistant.trust import remember
from energycomm.errors import UserError

DEFAULT = "tfidf"
"""The best one measured (docs/classifier-results.md): what classifies unless another is named."""


def classifier_folder(config: AssistantConfig) -> Path:
    """Folder of the data sets and models."""
    return config.folder / "classifier"


def model_folder(config: AssistantConfig, kind: str = DEFAULT) -> Path:
    """Folder of a trained model."""
    return classifier_folder(config) / kind


def dataset_file(config: AssistantConfig) -> Path:
    """The data set that is built and learned from when no other is named."""
    return classifier_folder(config) / "dataset.jsonl"


def write_model(folder: Path, state: dict[str, Any]) -> None:
    """Write `model.json`, readable; what stands there and is not written anew is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "model.json"
    kept = msgspec.json.decode(path.read_bytes()) if path.is_file() else {}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(kept | state, order="sorted"), indent=1))
    remember(folder)


def read_model(folder: Path) -> dict[str, Any]:
    """The `model.json` of a folder.

    Raises:
      UserError: there is none, or it is none.
    """
    try:
        found: dict[str, Any] = msgspec.json.decode((folder / "model.json").read_bytes())
    except OSError:
        raise UserError(f"{folder} holds no model.", "`energycomm assistant train` makes one.") from None
    except msgspec.DecodeError as error:
        raise UserError(f"{folder / 'model.json'} is no model: {error}.", "Train again.") from None
    return found
