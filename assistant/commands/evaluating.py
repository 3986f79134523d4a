"""`energycomm assistant evaluate`: what is measured of the assistant, and what is trained to be measured."""

from __future__ import annotations

from assistant.classifier import ablation
from assistant.classifier import commands as classifying
from assistant.evaluation import rationale_commands, search_commands
from assistant.evaluation.commands import app

for command in (
    rationale_commands.rationale,
    rationale_commands.train_rationale,
    rationale_commands.train_classifier,
    search_commands.train_projection,
    search_commands.release_vectors,
    search_commands.train_reranker,
    classifying.classifier,
    ablation.ablation,
):
    app.command()(command)
