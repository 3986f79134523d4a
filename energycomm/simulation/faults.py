"""Faults that a simulation may play, by class, and how often.

Which single mistakes a class holds is the market's matter: a market's simulator lists its mistakes by error code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random

from energycomm.kernel.verdicts import Refusal

CLASSES: dict[str, str] = {
    "wrong-order": "messages and files that arrive late, after messages that depend on them",
    "lost-message": "an entry, an exit or an original that never arrives",
    "duplicate-file": "the same envelope again, and the same member in another envelope",
    "grid_operator": "mistakes of the grid operator, one for each rule",
    "product": "correct content that the rules do not know yet",
}
"""Class of faults -> what happens. A rate is the share of the access points (of the files for duplicate-file)."""


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often each class or single mistake (by error code) happens: shares from 0 to 1."""

    rates: Mapping[str, float] = field(default_factory=dict)

    def rate(self, kind: str) -> float:
        """The rate of a class or an error code, 0 when not asked for."""
        return self.rates.get(kind, 0.0)


def parse_faults(words: Iterable[str], codes: Iterable[str]) -> FaultRates | Refusal:
    """Read ``KIND=RATE`` words.

    Args:
      words: e.g. ``grid_operator=0.05``, ``FR-R03=0.01``, ``wrong-order=2%``.
      codes: error codes whose mistakes the market's simulator can play.

    Returns:
      The rates, or a refusal that names the word.
    """
    rates: dict[str, float] = {}
    playable = set(codes)
    known = ", ".join(CLASSES)
    for word in words:
        kind, _, rate = word.partition("=")
        if kind not in CLASSES and kind not in playable:
            return Refusal(
                code="FAULT_UNKNOWN", path="--fault", value=word, expected=f"{known}, or an error code", advice=""
            )
        try:
            share = float(rate[:-1]) / 100 if rate.endswith("%") else float(rate)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            return Refusal(
                code="FAULT_RATE", path="--fault", value=word, expected=f"{kind}=RATE, a share from 0 to 1", advice=""
            )
        rates[kind] = share
    return FaultRates(rates)


class FaultDraw:
    """Decides for each access point which fault befalls it, at most one."""

    def __init__(self, rates: FaultRates, mistakes: Mapping[str, tuple[str, ...]], seed: int) -> None:
        """Prepare the draw.

        Args:
          rates: what was asked for.
          mistakes: class or error code -> the names of the market's mistakes that belong to it.
          seed: of the simulation.
        """
        self._rng = Random(f"faults {seed}")  # noqa: S311 - simulated faults
        self._asked = [
            (kind, rate, mistakes[kind]) for kind, rate in rates.rates.items() if mistakes.get(kind) and rate > 0
        ]
        self._turn = dict.fromkeys(mistakes, 0)

    def draw(self) -> str | None:
        """The mistake of the next access point, or None. The mistakes of a class take turns, so that all are played."""
        chance = self._rng.random()
        for kind, rate, names in self._asked:
            if chance < rate:
                turn = self._turn[kind]
                self._turn[kind] = turn + 1
                return names[turn % len(names)]
            chance -= rate
        return None
