"""`energycomm assistant`: index the house's documents, ask them, see why a message was rejected."""

from __future__ import annotations

from importlib.util import find_spec

import typer

from assistant.anomalies.commands import anomalies
from assistant.classifier import ablation, dataset_commands, learning_commands, training_commands
from assistant.classifier import commands as classifying
from assistant.commands import asking, indexing
from assistant.invariants.commands import rules_missing

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Answers from the rules and the house's documents, with their sources, or none.",
)


@app.callback()
def assistant() -> None:
    """Answers from the rules and the house's documents, with their sources, or none."""


app.command()(indexing.index)
app.command()(indexing.status)
app.command()(indexing.sources)
app.command()(asking.ask)
app.command()(asking.chat)
app.command()(asking.search)
app.command()(asking.feedback)
app.command()(asking.explain)
app.command()(asking.serve)
app.add_typer(dataset_commands.app, name="dataset")
app.command()(training_commands.train)
app.command()(learning_commands.learn)
app.command()(classifying.classify)
app.command()(classifying.shadow)
app.command()(classifying.disagreements)
app.command()(classifying.drift)
app.command()(anomalies)
app.command()(rules_missing)
if find_spec("assistant.evaluation.commands") is not None:
    from assistant.evaluation import rationale_commands, search_commands
    from assistant.evaluation.commands import app as evaluation

    evaluation.command()(rationale_commands.rationale)
    evaluation.command()(rationale_commands.train_rationale)
    evaluation.command()(rationale_commands.train_classifier)
    evaluation.command()(search_commands.train_projection)
    evaluation.command()(search_commands.release_vectors)
    evaluation.command()(search_commands.train_reranker)
    evaluation.command()(classifying.classifier)
    evaluation.command()(ablation.ablation)
    app.add_typer(evaluation, name="evaluate")
