"""`energycomm assistant evaluate rationale`, `train-rationale`, `train-classifier`: sentences that carry an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assistant.evaluation.options import CACHE, Cache, Data, Out, command_line, configured, show_report, told
from energycomm.errors import UserError


def rationale(
    data: Annotated[Path | None, typer.Option(help="Folder with the public sets.")] = None,
    set_: Annotated[str, typer.Option("--set", help="scifact, wice, qed, qed-answers, xquad-en, xquad-de.")] = "wice",
    file: Annotated[Path | None, typer.Option(help="Instead: a file of rationale items in JSON lines.")] = None,
    classifier: Annotated[
        list[Path] | None, typer.Option(help="Folder of a trained classifier; may be given again.")
    ] = None,
    attention: Annotated[str, typer.Option(help="Folder of a causal model whose attention is read.")] = "",
    limit: Annotated[int, typer.Option(help="Only so many contexts, evenly picked; 0 takes all.")] = 0,
    out: Out = None,
    cache: Cache = CACHE,
) -> None:
    """Every rationale method on a set (the study's table 4.1).

    Example: energycomm assistant evaluate rationale --data sets --set wice
    """
    from assistant.evaluation import forms, public
    from assistant.evaluation.rationales import evaluate

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

        others.append(AttentionRationale(attention))
    name = str(file) if file else set_
    show_report(
        evaluate(name, items, embedder, others=others, across=set_ == "xquad-de", command=command_line(), told=told),
        out,
    )


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
    from assistant.evaluation.lessons import train

    _, embedder = configured(cache)
    train(data, embedder).save(out)
    typer.echo(f"{out}: {out.stat().st_size // 1024} kB")


def train_classifier(
    data: Data,
    base: Annotated[str, typer.Option(help="Model folder or hub name.")],
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    set_: Annotated[str, typer.Option("--set", help="The set to learn from.")] = "scifact",
    epochs: Annotated[int, typer.Option(help="Passes over the sentences.")] = 20,
    negatives: Annotated[int, typer.Option(help="Sentences without the label for each one with it; 0 takes all.")] = 0,
    learning_rate: Annotated[float, typer.Option(help="Of AdamW.")] = 5e-5,
    limit: Annotated[int, typer.Option(help="Only so many contexts; 0 takes all.")] = 0,
    four_bit: Annotated[bool, typer.Option(help="QLoRA: the base in 4 bits.")] = False,
) -> None:
    """Fine-tune a sequence classifier with LoRA; a tenth of the set is kept for validation.

    Example: energycomm assistant evaluate train-classifier --data sets --base roberta-base --out classifier
    """
    from assistant.evaluation import public
    from assistant.rationale.classifier import Training, train

    items = _rationale_set(public, data, set_)
    items = items[:limit] if limit else items
    kept, held = [i for n, i in enumerate(items) if n % 10], [i for n, i in enumerate(items) if n % 10 == 0]
    how = Training(epochs=epochs, negatives=negatives, learning_rate=learning_rate, four_bit=four_bit)
    model = train(
        base, [i.asked for i in kept], [i.gold_sets for i in kept],
        ([i.asked for i in held], [i.gold_sets for i in held]), how, report=told,
    )  # fmt: skip
    model.save(out)
    typer.echo(str(out))
