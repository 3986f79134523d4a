"""`energycomm assistant evaluate rationale`, `train-rationale`, `train-classifier`: sentences that carry an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assistant.evaluation.options import CACHE, Cache, Data, Out, command_line, configured, show_report, told
from assistant.rationale.folds import FOLDS, folds_of
from energycomm.commands.output import say
from energycomm.errors import UserError

Fold = Annotated[
    int | None,
    typer.Option(min=0, max=FOLDS - 1, help="A fold of the set: its contexts are not trained on, but measured."),
]


def rationale(
    data: Annotated[Path | None, typer.Option(help="Folder with the public sets.")] = None,
    set_: Annotated[str, typer.Option("--set", help="scifact, wice, qed, qed-answers, xquad-en, xquad-de.")] = "wice",
    file: Annotated[Path | None, typer.Option(help="Instead: a file of rationale items in JSON lines.")] = None,
    classifier: Annotated[
        list[Path] | None, typer.Option(help="Folder of a trained classifier; may be given again.")
    ] = None,
    attention: Annotated[
        list[str] | None, typer.Option(help="Folder of a causal model whose attention is read; may be given again.")
    ] = None,
    sweep: Annotated[
        int, typer.Option(help="Contexts of the other folds on which layer, head and rule are chosen; 0: no sweep.")
    ] = 0,
    fold: Fold = None,
    limit: Annotated[int, typer.Option(help="Only so many contexts, evenly picked; 0 takes all.")] = 0,
    out: Out = None,
    cache: Cache = CACHE,
) -> None:
    """Every rationale method on a set (the study's table 4.1).

    With --fold all rows use the contexts of that fold, which `train-classifier --fold` leaves out of the training.

    Example: energycomm assistant evaluate rationale --data sets --set wice
    """
    from assistant.evaluation import forms, public
    from assistant.evaluation.rationales import evaluate

    if sweep and fold is None:
        raise UserError("A sweep has to be tested on other contexts than it was made on.", "Name a --fold too.")
    if file is not None:
        items = forms.read(file, forms.RationaleItem)
    elif data is not None:
        items = _rationale_set(public, data, set_)
    else:
        raise UserError("Nothing to measure on.", "Name --data or --file.")
    if limit:
        items = items[:: max(len(items) // limit, 1)][:limit]
    _, embedder = configured(cache)
    others: list[Any] = []
    if classifier:
        from assistant.rationale.classifier import Classifier

        others += [Classifier.load(folder) for folder in classifier]
    if attention:
        from assistant.rationale.attention import AttentionRationale

        others += [AttentionRationale(model) for model in attention]
    report = evaluate(
        str(file) if file else set_, items, embedder, others=others, across=set_ == "xquad-de", fold=fold, sweep=sweep,
        command=command_line(), told=told,
    )  # fmt: skip
    show_report(report, out)


def _rationale_set(public: Any, data: Path, name: str) -> list[Any]:
    sets = {
        "scifact": lambda: public.scifact_rationales(data),
        "wice": lambda: public.wice(data),
        "qed": lambda: public.qed(data, with_answer=False),
        "qed-answers": lambda: public.qed(data, with_answer=True),
        "xquad-en": lambda: public.xquad_rationales(data),
        "xquad-de": lambda: public.xquad_rationales(data, "de", "en"),
    }
    if name not in sets:
        raise UserError(f"There is no set {name}.", f"Name one of {', '.join(sets)}.")
    found: list[Any] = sets[name]()
    return found


def train_rationale(
    data: Data,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("light.npz"),
    cache: Cache = CACHE,
) -> None:
    """Fit the light rationale model on the public sets and write it to a file.

    Example: energycomm assistant evaluate train-rationale --data sets --out light.npz
    """
    from assistant.evaluation.training_sets import train

    _, embedder = configured(cache)
    train(data, embedder).save(out)
    say(f"{out}: {out.stat().st_size // 1024} kB")


def train_classifier(
    data: Data,
    base: Annotated[str, typer.Option(help="Model folder.")],
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    set_: Annotated[str, typer.Option("--set", help="The set to learn from.")] = "scifact",
    fold: Fold = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the sentences, at most.")] = 20,
    budget: Annotated[float, typer.Option(help="Seconds of processor time, validation included; 0: no limit.")] = 0,
    negatives: Annotated[int, typer.Option(help="Sentences without the label for each one with it; 0 takes all.")] = 0,
    learning_rate: Annotated[float, typer.Option(help="Of AdamW.")] = 5e-5,
    batch: Annotated[int, typer.Option(min=1, help="Sentences in a step.")] = 16,
    max_tokens: Annotated[int, typer.Option(min=16, help="Windows are cut to so many tokens.")] = 256,
    rank: Annotated[int, typer.Option(min=1, help="Of LoRA.")] = 4,
    alpha: Annotated[int, typer.Option(min=1, help="Of LoRA.")] = 4,
    dropout: Annotated[float, typer.Option(min=0, max=1, help="Of LoRA.")] = 0.1,
    limit: Annotated[int, typer.Option(help="Only so many contexts, evenly picked; 0 takes all.")] = 0,
    four_bit: Annotated[bool, typer.Option(help="QLoRA: the base in 4 bits.")] = False,
    seed: Annotated[int, typer.Option(help="Of sampling, dropout and initial weights.")] = 0,
) -> None:
    """Fine-tune a sequence classifier with LoRA; the defaults are the study's.

    A tenth of the contexts is held out for validation and shares no text with the others. `rationale --fold` measures
    on the fold that --fold leaves out here.

    Example: energycomm assistant evaluate train-classifier --data sets --base models/roberta --out classifier
    """
    from assistant.evaluation import public
    from assistant.rationale.training import Training, train

    items = _rationale_set(public, data, set_)
    if fold is not None:
        place = folds_of([item.asked for item in items])
        items = [item for item, own in zip(items, place, strict=True) if own != fold]
    if limit:
        items = items[:: max(len(items) // limit, 1)][:limit]
    place = folds_of([item.asked for item in items], 10)
    kept = [item for item, own in zip(items, place, strict=True) if own]
    held = [item for item, own in zip(items, place, strict=True) if not own]
    how = Training(
        rank=rank, alpha=alpha, dropout=dropout, learning_rate=learning_rate, epochs=epochs, budget=budget, batch=batch,
        max_tokens=max_tokens, negatives=negatives, four_bit=four_bit, seed=seed,
    )  # fmt: skip
    told(f"{len(kept)} contexts to learn from, {len(held)} for validation")
    model = train(
        base, [i.asked for i in kept], [i.gold_sets for i in kept],
        ([i.asked for i in held], [i.gold_sets for i in held]), how, report=told,
    )  # fmt: skip
    model.save(out)
    say(str(out))
