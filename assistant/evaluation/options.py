"""What the commands of `energycomm assistant evaluate` share: options, the embedder, how a report is shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from assistant.extras import need
from energycomm.commands.output import say, say_text
from energycomm.errors import UserError

Data = Annotated[Path, typer.Option(help="Folder with the public sets (beir_scifact, wice, qed, xquad_r).")]
Out = Annotated[Path | None, typer.Option(help="Folder to write report.md, report.json and plots into.")]
Cache = Annotated[Path, typer.Option(help="Folder in which vectors are kept between runs.")]
CACHE = Path(".assistant") / "evaluation"


def told(line: str) -> None:
    """Say what is being done, beside the report."""
    say(line, err=True)


def configured(cache: Path = CACHE) -> tuple[Any, Any]:
    """Configuration, and an embedder that keeps its vectors between runs."""
    need("numpy", "scipy", "sklearn", "faiss", "bm25s")
    from assistant.config import load_config
    from assistant.evaluation.vector_cache import Keeping
    from assistant.knowledge.models import open_embedder

    config = load_config()
    return config, Keeping(open_embedder(config), cache, told)


def show_report(report: Any, out: Path | None) -> None:
    """Print a report, and write it to a folder where one is named.

    Raises:
      UserError: a promise was broken: something invented or misquoted came through.
    """
    from assistant.evaluation.report import write

    say_text(report.markdown())
    if out is not None:
        for path in write(report, out):
            told(str(path))
    if any(report.broken.values()):
        raise UserError(
            "A promise was broken: " + ", ".join(f"{k}: {v}" for k, v in report.broken.items()) + ".", "", 1
        )


def command_line() -> str:
    """What was typed, for the report."""
    return " ".join(["energycomm", *sys.argv[1:]])
