"""What a trained language model was made of, written beside it as `model.json`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assistant.classifier.answers import AnswerForm, Decoding
from assistant.classifier.calibration import Calibration
from assistant.classifier.port import Example, Form
from assistant.classifier.recipe import Recipe
from assistant.classifier.training import Mark
from assistant.trust import remember
from energycomm.errors import UserError

RECORD_FILE = "model.json"
KIND = "language"


class Record(Struct, frozen=True, kw_only=True):
    """Everything a model used.

    Attributes:
      kind: what can open it.
      form: of the texts that it reads.
      recipe: how it was made; the base model is named there.
      comments: error code -> template of its sentence.
      answers: how it writes its answers, and the closed list of codes.
      decoding: how its answers are found: what was right more often on the messages that it is calibrated on.
      places: market and kind -> codes that its messages can have.
      calibration: of its probabilities, with its threshold and calibration error.
      data: hash of the data set it was trained on.
      rules_versions: rules that judged its examples.
      examples: how many it was trained on, how many chosen by.
      seconds: of all trainings.
      marks: the loss curve.
      version: hash of everything above.
      packages: versions of the packages it was trained with.
    """

    kind: str = KIND
    form: Form = "facts"
    recipe: Recipe = Recipe()
    comments: dict[str, str] = {}
    answers: AnswerForm = AnswerForm(form="token", names={})
    decoding: Decoding = "labels"
    places: dict[str, tuple[str, ...]] = {}
    calibration: Calibration = Calibration()
    data: str = ""
    rules_versions: tuple[str, ...] = ()
    examples: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    marks: tuple[Mark, ...] = ()
    version: str = ""
    packages: dict[str, str] = {}

    def after(
        self,
        marks: Sequence[Mark],
        calibration: Calibration,
        train: Sequence[Example],
        valid: Sequence[Example],
        seconds: float,
    ) -> Record:
        """The record after a training."""
        versions = sorted({*self.rules_versions, *(example.rules_version for example in train)} - {""})
        found = replace(
            self,
            marks=(*self.marks, *marks),
            calibration=calibration,
            rules_versions=tuple(versions),
            examples=(len(train), len(valid)),
            seconds=round(self.seconds + seconds, 1),
            packages=packages(),
            version="",
        )
        return replace(found, version=hashlib.sha256(msgspec.json.encode(found)).hexdigest()[:8])


def write_record(folder: Path, record: Record) -> None:
    """Write the record beside the weights."""
    content = msgspec.json.format(msgspec.json.encode(record, order="deterministic"), indent=1)
    (folder / RECORD_FILE).write_bytes(content)
    remember(folder)


def read_record(folder: Path) -> Record:
    """The record of a folder.

    Raises:
      UserError: the folder holds no trained language model.
    """
    try:
        record = msgspec.json.decode((folder / RECORD_FILE).read_bytes(), type=Record)
    except (OSError, msgspec.MsgspecError) as error:
        raise UserError(
            f"{folder} holds no trained language model: {error}.", "`energycomm assistant train` makes one."
        ) from None
    if record.kind != KIND:
        raise UserError(f"{folder} holds a model of another kind: {record.kind}.", "Name another folder.")
    return record


def packages() -> dict[str, str]:
    """Versions of the packages that a training depends on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("torch", "transformers", "tokenizers", "peft", "accelerate", "bitsandbytes"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def draw_curve(marks: Sequence[Mark], path: Path) -> None:
    """The loss curve as a picture.

    Raises:
      UserError: matplotlib is missing.
    """
    from assistant.extras import need

    need("matplotlib")
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure: Any
    figure, axes = pyplot.subplots(figsize=(7, 4))
    seconds = [mark.seconds for mark in marks]
    axes.plot(seconds, [mark.loss for mark in marks], label="training loss")
    axes.plot(seconds, [mark.valid_loss for mark in marks], label="validation loss")
    axes.set_xlabel("seconds")
    axes.set_yscale("log")
    axes.set_ylabel("loss per token")
    share = axes.twinx()
    share.plot(seconds, [mark.exact for mark in marks], color="black", linestyle=":", label="exactly right")
    share.set_ylim(0, 1)
    share.set_ylabel("validation messages answered exactly")
    figure.legend(loc="upper center", ncol=3)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
