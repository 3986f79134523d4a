"""What answers cost: seconds by step, memory, and the size of the index."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Sequence

from assistant.chat.assistant import Assistant
from assistant.evaluation.intervals import mean_of
from assistant.evaluation.report import Cell, Report, Table


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values lies; 0 of none."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


def peak_megabytes() -> float:
    """The most memory that this process has had, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def evaluate(assistant: Assistant, questions: Sequence[str], opened_seconds: float, command: str = "") -> Report:
    """Ask questions one after the other and time each step.

    Args:
      opened_seconds: how long opening index and models took.
    """
    steps: dict[str, list[float]] = {}
    for question in questions:
        began = time.perf_counter()
        answer = assistant.ask(question)
        steps.setdefault("whole answer", []).append(time.perf_counter() - began)
        for step, seconds in answer.seconds.items():
            steps.setdefault(step, []).append(seconds)
    rows: list[dict[str, Cell]] = [
        {
            "step": step, "mean s": mean_of(values), "median s": percentile(values, 0.5),
            "95 % s": percentile(values, 0.95), "longest s": max(values),
        }
        for step, values in steps.items()
    ]  # fmt: skip
    rows.append({"step": "opening index and models", "mean s": round(opened_seconds, 2)})
    times = Table(
        title=f"Latency over {len(questions)} questions, {len(assistant.index.passages)} passages",
        keys=("step",),
        measures=("mean s", "median s", "95 % s", "longest s"),
        rows=tuple(rows),
    )
    memory = Table(title="Memory", keys=(), measures=("peak MB",), rows=({"peak MB": round(peak_megabytes())},))
    return Report(title="Latency and memory", command=command, tables=(times, memory))
