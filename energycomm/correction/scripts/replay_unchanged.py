"""Judges refused messages again without changes.

For rules that were mended and code lists that grew: nothing of the message is changed. The dry run says which of them
today's rules accept; only these are replayed.
"""

from __future__ import annotations

from collections.abc import Mapping

from energycomm.correction.cases import Case
from energycomm.correction.script import Replay, Script, Selection

SCRIPT = Script(
    title="Replay with the rules of today",
    selection=Selection(states=("rejected", "engine_error", "ticketed", "delegated")),
    automatic=True,
)


def correct(case: Case, parameters: Mapping[str, str]) -> Replay | None:
    """Judge it again without changes."""
    return Replay("judged again with the rules of today")
