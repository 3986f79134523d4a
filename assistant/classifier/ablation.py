"""One factor at a time: the text, the labels, judging codes by themselves; several seeds, all else equal."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Annotated, TypeAlias, get_args

import typer
from msgspec import Struct

from assistant.classifier.answers import LABEL_FORMS, LabelForm
from assistant.classifier.port import FORMS, Example, Form
from energycomm.commands.output import Json, print_json, print_rows, say

Combination: TypeAlias = tuple[Form, LabelForm, bool]
"""Form of the text, form of the labels, whether codes are judged by themselves."""

TESTED = 1500
"""Messages of unseen access points and months that each training is measured on: the first, in an order by hash."""


class Trial(Struct, frozen=True, kw_only=True):
    """One training.

    Attributes:
      form, labels, judged, seed: what was varied.
      klass, exact: shares of unseen messages whose class, and whose codes, were right.
      loss: on the validation messages.
      examples: messages read in the time.
    """

    form: Form
    labels: LabelForm
    judged: bool
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
        say(trial, err=True)
        trials.append(trial)
    if json:
        print_json(trials)
    else:
        print_rows(
            ("text", "labels", "judged", "seeds", "class", "error codes", "± 95 %", "loss", "messages"), _rows(trials)
        )


def run(examples: Sequence[Example], seconds: float, seeds: Sequence[int]) -> Iterator[Trial]:
    """Train and measure every combination.

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
    for seed, (form, labels, judged) in product(seeds, combinations()):
        # Cards and told rules are written in facts: they would be a second factor beside the form of the text.
        recipe = Recipe(
            form=form,
            labels=labels,
            judged=judged,
            seed=seed,
            cards=False,
            told=0,
            threads=1,
            # Nothing is chosen by them here: the time is for learning.
            evaluations=1,
            checked=64,
        )
        model = LanguageModel(recipe, titles=titles, notes=notes, course=Course(budget=0, clock=time.process_time))
        model.fit(parts["train"], parts["valid"], seconds)
        tested = parts["test"][:TESTED]
        found = model.predict([one.text(form) for one in tested])
        pairs = list(zip(found, tested, strict=True))
        mark = best_of(model.record.marks)
        yield Trial(
            form=form,
            labels=labels,
            judged=judged,
            seed=seed,
            klass=mean(a.klass == b.klass for a, b in pairs),
            exact=mean(a.codes == b.codes for a, b in pairs),
            loss=mark.valid_loss,
            examples=model.record.marks[-1].examples,
        )


def combinations() -> list[Combination]:
    """What is trained: the default, and the default with one thing changed; and raw texts with labels in words."""
    assert set(LABEL_FORMS) == set(get_args(LabelForm))
    texts: list[Combination] = [(form, "token", True) for form in FORMS]
    return [*texts, *(("facts", labels, False) for labels in LABEL_FORMS), ("raw", "words", False)]


def _rows(trials: Sequence[Trial]) -> list[tuple[object, ...]]:
    from assistant.evaluation.intervals import mean_of

    rows: list[tuple[object, ...]] = []
    for form, labels, judged in combinations():
        own = [trial for trial in trials if (trial.form, trial.labels, trial.judged) == (form, labels, judged)]
        exact = mean_of([trial.exact for trial in own])
        rows.append(
            (
                form,
                labels,
                "yes" if judged else "",
                len(own),
                f"{mean(trial.klass for trial in own):.3f}",
                f"{exact.value:.3f}",
                f"{exact.half:.3f}" if len(own) > 1 else "",
                round(mean(trial.examples for trial in own)),
            )
        )
    return rows
