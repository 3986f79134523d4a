"""One factor at a time: form of the text and form of the labels, with several seeds, all else equal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Annotated, get_args

import typer
from msgspec import Struct

from assistant.classifier.answers import LABEL_FORMS, LabelForm
from assistant.classifier.port import FORMS, Example, Form
from energycomm.commands.output import Json, print_json, print_rows


class Trial(Struct, frozen=True, kw_only=True):
    """One training.

    Attributes:
      form, labels, seed: what was varied.
      klass, exact: shares of unseen messages whose class, and whose codes, were right.
      loss: on the validation messages.
      examples: messages read in the time.
    """

    form: Form
    labels: LabelForm
    seed: int
    klass: float
    exact: float
    loss: float
    examples: int


def ablation(
    data: Annotated[Path | None, typer.Option(help="The data set; that of `dataset build` by default.")] = None,
    budget: Annotated[str, typer.Option(help="CPU time for each training: 20s, 5m.")] = "60s",
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of each combination.")] = 3,
    json: Json = False,
) -> None:
    """Train the language model with each form of text and of labels, one factor at a time, and compare.

    Example: energycomm assistant evaluate ablation --budget 60s --seeds 3
    """
    from assistant.classifier.port import read_dataset
    from assistant.classifier.storage import dataset_file
    from assistant.classifier.training_commands import seconds_of
    from assistant.config import load_config

    config = load_config()
    examples = read_dataset(data or dataset_file(config))
    trials = []
    for trial in run(examples, seconds_of(budget), range(seeds)):
        print(trial, file=sys.stderr)
        trials.append(trial)
    if json:
        print_json(trials)
    else:
        print_rows(("text", "labels", "seeds", "class", "error codes", "± (seeds)", "loss", "messages"), _rows(trials))


def run(examples: Sequence[Example], seconds: float, seeds: Sequence[int]) -> Iterator[Trial]:
    """Every combination: each form of text with labels of one token, each form of labels with facts, and raw in words.

    Args:
      examples: a data set, all its splits.
      seconds: of CPU, for each training.
      seeds: of weights and order.
    """
    from assistant.classifier.language import LanguageModel
    from assistant.classifier.notes import notes_of
    from assistant.classifier.recipe import Recipe
    from assistant.classifier.training import Course, best_of
    from energycomm.config import load
    from energycomm.pipeline.gateway import open_catalogue

    catalogue = open_catalogue(load().rules_folder)
    codes = {code for one in examples for code in one.codes}
    notes = notes_of(catalogue, sorted({one.market for one in examples}), codes)
    titles = {rule.error_code: rule.title for rule in catalogue.rules if rule.error_code}
    parts: dict[str, list[Example]] = {}
    for one in examples:
        parts.setdefault("test" if one.split in ("points", "months") else one.split, []).append(one)
    for (form, labels), seed in product(combinations(), seeds):
        # Cards and told rules are written in facts: they would be a second factor beside the form of the text.
        recipe = Recipe(
            form=form,
            labels=labels,
            seed=seed,
            cards=False,
            told=0,
            threads=1,
            evaluations=2,
        )
        model = LanguageModel(recipe, titles=titles, notes=notes, course=Course(budget=0, clock=time.process_time))
        model.fit(parts["train"], parts["valid"], seconds)
        found = model.predict([one.text(form) for one in parts["test"]])
        pairs = list(zip(found, parts["test"], strict=True))
        mark = best_of(model.record.marks)
        yield Trial(
            form=form,
            labels=labels,
            seed=seed,
            klass=mean(a.klass == b.klass for a, b in pairs),
            exact=mean(a.codes == b.codes for a, b in pairs),
            loss=mark.valid_loss,
            examples=model.record.marks[-1].examples,
        )


def combinations() -> list[tuple[Form, LabelForm]]:
    """Form of text and of labels; one of the two is always that of the default, but for raw texts in words."""
    texts: list[tuple[Form, LabelForm]] = [(form, "token") for form in FORMS]
    assert set(LABEL_FORMS) == set(get_args(LabelForm))
    return [*texts, *(("facts", labels) for labels in LABEL_FORMS if labels != "token"), ("raw", "words")]


def _rows(trials: Sequence[Trial]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for form, labels in combinations():
        own = [trial for trial in trials if (trial.form, trial.labels) == (form, labels)]
        exact = [trial.exact for trial in own]
        spread = f"{stdev(exact):.3f}" if len(exact) > 1 else ""
        rows.append(
            (
                form,
                labels,
                len(own),
                f"{mean(trial.klass for trial in own):.3f}",
                f"{mean(exact):.3f}",
                spread,
                f"{mean(trial.loss for trial in own):.3f}",
                round(mean(trial.examples for trial in own)),
            )
        )
    return rows
