"""`energycomm assistant learn`: teach the language model a rule that is new or was changed, and say what it gained."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from assistant.classifier.training_commands import Budget, Cpu, Data, progress, seconds_of, write_model_folder
from energycomm.commands.output import Json, print_json, print_rows
from energycomm.commands.recording import recorded
from energycomm.errors import UserError

if TYPE_CHECKING:
    from assistant.classifier.language import LanguageModel
    from assistant.classifier.learning import Lessons, Place
    from assistant.classifier.port import Example
    from energycomm.config import Config
    from energycomm.eis.store import Store

ENOUGH = 200
"""Messages that the EIS has to hold of each place; with fewer, lives are simulated."""


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """What the model says rightly, exactly, of messages that it was not taught with.

    Attributes:
      messages: how many messages there are of each sort: new (they violate a taught rule), near (of its places, they do
        not), elsewhere (old examples of other places).
      before, told, after: sort -> share; as the model was, with the rules' sentences in its prompts, after the update.
      examples: what it was taught with: made anew, kept from the old data set.
      relabelled: stored messages whose verdict is another one under the rules of today.
      seconds: of the update alone.
    """

    messages: dict[str, int]
    before: dict[str, float]
    told: dict[str, float]
    after: dict[str, float]
    examples: dict[str, int]
    relabelled: int
    seconds: float


@recorded("assistant learn")
def learn(
    rules: Annotated[list[str], typer.Argument(metavar="RULE", help="Rules by their code or error code.")],
    folder: Annotated[
        Path | None, typer.Option("--model", help="Folder of the model; the assistant's own by default.")
    ] = None,
    data: Data = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the updated model; that of the model by default.")
    ] = None,
    budget: Budget = "5m",
    lives: Annotated[int, typer.Option(min=10, help="Access points to simulate if the EIS has too few messages.")] = 60,
    cpu: Cpu = False,
    json: Json = False,
) -> None:
    """Train the language model on new or changed rules, and show its accuracy on their messages before and after.

    Example: energycomm assistant learn fr-energy-above-power --budget 5m
    """
    from assistant.classifier.language import LanguageModel
    from assistant.classifier.learning import Teacher, places_of, rules_named
    from assistant.classifier.port import read_dataset
    from assistant.classifier.storage import dataset_file, model_folder
    from assistant.config import load_config
    from energycomm.config import load
    from energycomm.market.installed import installed_adapters
    from energycomm.pipeline.gateway import open_catalogue, open_engine

    own, config = load_config(), load()
    place, seconds = folder or model_folder(own, "language"), seconds_of(budget)
    catalogue = open_catalogue(config.rules_folder)
    chosen = rules_named(catalogue, rules)
    model = LanguageModel()
    model.load(place)
    old = read_dataset(data or dataset_file(own))
    markets = sorted({example.market for example in old})
    with _material(config, places_of(chosen, markets), lives) as store:
        engine = open_engine(catalogue, "parallel")
        lessons = Teacher(catalogue, engine, installed_adapters(config.mapping_files), store).lessons(
            chosen, old, markets
        )
    codes = {rule.error_code for rule in chosen}
    gain = teach(model, lessons, old, codes, seconds, cpu=cpu)
    write_model_folder(model, out or place)
    if json:
        print_json(gain)
    else:
        sorts = [sort for sort, count in gain.messages.items() if count]
        rows = [
            (s, gain.messages[s], *(f"{part[s]:.3f}" for part in (gain.before, gain.told, gain.after))) for s in sorts
        ]
        print_rows(("messages", "number", "before", "with the sentence", "after"), rows, aligned=True)


def teach(
    model: LanguageModel,
    lessons: Lessons,
    old: Sequence[Example],
    codes: set[str],
    seconds: float,
    *,
    cpu: bool = False,
) -> Gain:
    """Update a model and measure what that brought, on access points and months that it is not taught with.

    Args:
      model: it is changed.
      lessons: what to teach.
      old: the data set that the model was trained on.
      codes: error codes of the taught rules.
      seconds: for the update.
      cpu: they are CPU seconds.
    """
    from assistant.classifier.training import Course

    clock = time.process_time if cpu else time.monotonic
    unseen = lessons.split("points", "months")
    places = {(one.market, one.kind) for one in lessons.fresh}
    sorts = {
        "new": [one for one in unseen if codes & set(one.codes)],
        "near": [one for one in unseen if not codes & set(one.codes)],
        "elsewhere": [one for one in old if one.split == "points" and (one.market, one.kind) not in places][:1500],
    }
    before = _agreement(model, sorts)
    model.told = {code: note for code, note in lessons.notes.items() if code in codes}
    told = _agreement(model, sorts)
    model.told = {}
    model.notes = lessons.notes
    with progress() as (tick, report):
        model.course = Course(budget=seconds, clock=clock, tick=tick, report=report)
        began = clock()
        model.update(lessons.split("train"), lessons.split("valid"), seconds)
        spent = clock() - began
    return Gain(
        messages={sort: len(examples) for sort, examples in sorts.items()},
        before=before,
        told=told,
        after=_agreement(model, sorts),
        examples={"new": len(lessons.fresh), "kept": len(lessons.kept)},
        relabelled=lessons.relabelled,
        seconds=round(spent, 1),
    )


def _agreement(model: LanguageModel, sorts: dict[str, list[Example]]) -> dict[str, float]:
    found = {}
    for sort, examples in sorts.items():
        answers = model.predict([one.text(model.form) for one in examples]) if examples else []
        right = sum(answer.codes == one.codes for answer, one in zip(answers, examples, strict=True))
        found[sort] = right / len(examples) if examples else 0.0
    return found


@contextmanager
def _material(config: Config, places: Sequence[Place], lives: int) -> Iterator[Store]:
    """The EIS where it holds enough messages of the places, else simulated lives."""
    from assistant.classifier.simulated import Lives, simulated_store
    from energycomm.pipeline.opening import open_store

    if not places:
        raise UserError("The rules judge no messages of the model's markets.", "Name rules of its markets.")
    if _there(config, places) >= ENOUGH:
        with open_store(config) as store:
            yield store
        return
    markets = tuple(sorted({market.lower() for market, _ in places}))
    with simulated_store(config, Lives(markets=markets, access_points=lives)) as store:
        yield store


def _there(config: Config, places: Sequence[Place]) -> int:
    """Judged messages in the EIS of the place with fewest; none where there is no EIS yet."""
    from assistant.classifier.material import stored_verdicts
    from energycomm.pipeline.opening import open_store

    try:
        with open_store(config) as store:
            found = Counter((one.market, one.kind) for one in stored_verdicts(store)[0])
            return min(found[place] for place in places)
    except UserError:
        return 0
