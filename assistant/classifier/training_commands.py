"""`energycomm assistant train`: make a model of the verdicts, write it with everything it was made of."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from energycomm.commands.output import Json, Paper, print_json, print_rows, say
from energycomm.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from assistant.classifier.language import LanguageModel
    from assistant.classifier.recipe import Recipe
    from assistant.classifier.training import Mark

Budget = Annotated[str, typer.Option(help="Time for all of it: 90s, 20m, 1h.")]
Data = Annotated[Path | None, typer.Option(help="The data set; that of `dataset build` by default.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the training; may be repeated.")
]
Cpu = Annotated[bool, typer.Option("--cpu-clock", help="Count CPU seconds: for a machine that others use too.")]


def train(
    model: Annotated[str, typer.Option(help="What to train: language, or one of the simpler models.")] = "language",
    data: Data = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write into; the assistant's own by default.")] = None,
    budget: Budget = "20m",
    base: Annotated[str, typer.Option(help="own: trained from scratch; else the folder of a causal model.")] = "own",
    four_bit: Annotated[bool, typer.Option("--four-bit", help="QLoRA: the base in 4 bits.")] = False,
    seed: Annotated[int, typer.Option(help="Of weights, order and dropout.")] = 0,
    settings: Settings = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint in the folder.")] = False,
    cpu: Cpu = False,
    json: Json = False,
) -> None:
    """Train a model that predicts the Kernel's verdicts, and write it with its data and settings.

    Example: energycomm assistant train --budget 20m
    """
    from assistant.classifier.models import KINDS, fit_model
    from assistant.classifier.storage import dataset_file, model_folder
    from assistant.config import load_config

    config = load_config()
    if model not in KINDS:
        raise UserError(f"There is no model {model!r}.", f"Models: {', '.join(KINDS)}.")
    seconds = seconds_of(budget)
    dataset, folder = data or dataset_file(config), out or model_folder(config, model)
    if model != "language":
        _, about = fit_model(model, dataset, folder, budget=seconds)
        print_json(about) if json else say(f"{model}: trained in {about['seconds']} s, written to {folder}")
        return
    recipe = _recipe({"base": base, "four_bit": four_bit, "seed": seed, "threads": config.threads}, settings)
    trained = _train(recipe, dataset, folder, seconds, resume=resume, cpu=cpu)
    _tell(trained, folder, json)


def _recipe(given: dict[str, Any], settings: list[str] | None) -> Recipe:
    from assistant.classifier.recipe import read_recipe

    content = dict(given)
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals:
            raise UserError(f"{setting!r} is no setting.", "Write NAME=VALUE.")
        content[name.strip()] = value.strip()
    return read_recipe(content)


def _train(recipe: Recipe, dataset: Path, folder: Path, seconds: float, *, resume: bool, cpu: bool) -> LanguageModel:
    from msgspec.structs import replace

    from assistant.classifier.comments import Comments
    from assistant.classifier.language import LanguageModel
    from assistant.classifier.notes import notes_of
    from assistant.classifier.port import dataset_hash, read_card, read_dataset
    from assistant.classifier.storage import write_model
    from assistant.classifier.training import Course
    from energycomm.config import load
    from energycomm.pipeline.gateway import open_catalogue

    card = read_card(dataset)
    examples, valid = read_dataset(dataset, "train"), read_dataset(dataset, "valid")
    if not examples or not valid:
        raise UserError(f"The data set {dataset} has nothing to learn from.", "Build it with more access points.")
    catalogue = open_catalogue(load().rules_folder)
    notes = notes_of(catalogue, sorted({example.market for example in examples}), card.codes)
    titles = {rule.error_code: rule.title for rule in catalogue.rules if rule.error_code}
    with progress() as (tick, report):
        course = Course(
            budget=seconds,
            clock=time.process_time if cpu else time.monotonic,
            folder=folder,
            resume=resume,
            report=report,
            tick=tick,
        )
        model = LanguageModel(recipe, titles=titles, notes=notes, comments=Comments(card.comments), course=course)
        model.fit(examples, valid, seconds)
    model.record = replace(model.record, data=dataset_hash(dataset))
    write_model_folder(model, folder)
    write_model(folder, {"flows": card.flows})
    return model


def write_model_folder(model: LanguageModel, folder: Path) -> None:
    """Write a trained model and its loss curve."""
    from assistant.classifier.record import draw_curve
    from assistant.extras import installed

    model.save(folder)
    if installed("matplotlib"):
        draw_curve(model.record.marks, folder / "loss.png")


def _tell(model: LanguageModel, folder: Path, json: bool) -> None:
    """The end of a training."""
    from assistant.classifier.training import best_of

    record = model.record
    best = best_of(record.marks)
    told = {
        "folder": str(folder),
        "version": record.version,
        "codes": len(record.answers.names),
        "examples": record.examples[0],
        "examples_seen": record.marks[-1].examples,
        "seconds": record.seconds,
        "validation_exact": round(best.exact, 4),
        "validation_loss": round(best.valid_loss, 4),
        "calibration_error": round(record.calibration.error_after, 4),
        "threshold": round(record.calibration.threshold, 4),
    }
    if json:
        print_json(told)
    else:
        print_rows(("", ""), list(told.items()), aligned=True)


@contextmanager
def progress() -> Iterator[tuple[Callable[[float], None], Callable[[Mark], None]]]:
    """A bar on a terminal, and a line for every evaluation, both on standard error."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Paper(stderr=True, highlight=False)
    with Progress(
        TextColumn("training"), BarColumn(), TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("training", total=1.0)

        def tick(share: float) -> None:
            bar.update(task, completed=share)

        def report(mark: Mark) -> None:
            say(
                f"{mark.seconds:7.0f} s  step {mark.step:6d}  loss {mark.loss:.4f}  "
                f"validation {mark.valid_loss:.4f}  exactly right {mark.exact:.4f}",
                err=True,
            )

        yield tick, report


_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def seconds_of(budget: str) -> float:
    """Seconds of a time as commands take it.

    Raises:
      UserError: it is none.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", budget.strip())
    if found is None or float(found[1]) == 0:
        raise UserError(f"{budget!r} is no time.", "Write 90s, 20m or 1h.")
    return float(found[1]) * _UNITS[found[2]]
