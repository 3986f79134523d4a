"""`energycomm assistant`: index the house's documents, ask them, see why a message was rejected."""

from __future__ import annotations

from importlib.util import find_spec

import typer

from energycomm.commands.loading import Place, program

COMMANDS: dict[str, Place] = {
    "index": Place("commands.indexing", "index"),
    "status": Place("commands.indexing", "status"),
    "sources": Place("commands.indexing", "sources"),
    "ask": Place("commands.asking", "ask"),
    "chat": Place("commands.asking", "chat"),
    "search": Place("commands.asking", "search"),
    "feedback": Place("commands.asking", "feedback"),
    "explain": Place("commands.asking", "explain"),
    "serve": Place("commands.asking", "serve"),
    "train": Place("classifier.training_commands", "train"),
    "learn": Place("classifier.learning_commands", "learn"),
    "classify": Place("classifier.commands", "classify"),
    "shadow": Place("classifier.commands", "shadow"),
    "disagreements": Place("classifier.commands", "disagreements"),
    "drift": Place("classifier.commands", "drift"),
    "anomalies": Place("anomalies.commands", "anomalies"),
    "rules-missing": Place("invariants.commands", "rules_missing"),
    "dataset": Place("classifier.dataset_commands", "app"),
}
"""Every command, in the order of the help. A command that is not asked for is not imported."""

if find_spec("assistant.evaluation") is not None:
    COMMANDS["evaluate"] = Place("commands.evaluating", "app")

app = typer.Typer(
    cls=program(COMMANDS, "assistant", group=""),  # type: ignore[arg-type]
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Answers from the rules and the house's documents, with their sources, or none.",
)


@app.callback()
def assistant() -> None:
    """Answers from the rules and the house's documents, with their sources, or none."""
