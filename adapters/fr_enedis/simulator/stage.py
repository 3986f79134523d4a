"""The place of a fault in a simulated life, and its consequences for later messages.

The reasoning is the simulator's own: it knows what it left out or spoilt, and which messages build on that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from adapters.fr_enedis.simulator import codes
from adapters.fr_enedis.simulator.drafts import Draft
from adapters.fr_enedis.simulator.mistakes import LOST, MISTAKES
from adapters.fr_enedis.simulator.mistakes.row import Mistake
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.edits import Edit, add, both, put
from energycomm.simulation.expectation import Outcome
from energycomm.simulation.lives import Life

Flux = Literal["C15", "R15", "R151", "F15"]
Key: TypeAlias = tuple[Flux, int]
"""A message of a life: C15 by the index of its step, R15 and R151 by their day, F15 by the last day charged."""

FAULT_MONTHS = 6
"""Months that a simulation must have at least for faults to be told from each other."""
_DELAY = 10
_TOUCHED = {
    "lost-entry": "first",
    "lost-reentry": "entry",
    "lost-exit": "exit",
    "lost-original": "reading",
    "late-entry": "first",
    "late-exit": "exit",
    "late-original": "reading",
}
_D = TypeVar("_D", bound=Draft)

RECTIFIED: Edit = both(
    put("Statut_Releve", "RECTIFICATIF"), add("Nature_Index", "<Motif_Rectif>CORR_IDX</Motif_Rectif>")
)


class Late(NamedTuple):
    """A draft that is published some days after its time."""

    days: int
    draft: Draft


def wants_daily(fault: str) -> bool:
    """Whether the fault is played on a daily index."""
    return fault in MISTAKES and MISTAKES[fault].target.startswith("daily")


class Stage:
    """The faulty part of one life."""

    def __init__(self, life: Life, almanac: Almanac, charged: tuple[int, ...]) -> None:
        """Find the places.

        Args:
          life: with one of everything; its fault names a mistake.
          almanac: of the simulation.
          charged: last day of every month that is invoiced within the simulation.
        """
        assert life.fault is not None
        self.life = life
        self.name = life.fault
        self.row: Mistake | None = MISTAKES.get(self.name)
        steps = life.steps
        self.exit = next(index for index, step in enumerate(steps) if step.leaves)
        self.reentry = self.exit + 1
        self._start = steps[self.reentry].day
        self._places = self._find(almanac, charged)
        self.missing = self._missing()

    def _find(self, almanac: Almanac, charged: tuple[int, ...]) -> dict[str, Key]:
        steps = self.life.steps
        natures = [codes.NATURE.get(step.reason) for step in steps]
        end = steps[self.exit].day
        quiet = steps[natures.index("MDACT")].day
        read = [d for d in range(almanac.days) if almanac.civil(d).day == self.life.reading_day]
        places: dict[str, Key] = {
            "early-point": ("C15", natures.index("MDPRM")),
            "point": ("C15", len(natures) - 1 - natures[::-1].index("MDPRM")),
            "customer": ("C15", natures.index("MDACT")),
            "first": ("C15", 0),
            "entry": ("C15", self.reentry),
            "exit": ("C15", self.exit),
            "reading": ("R15", next(d for d in read if quiet < d < end)),
            "last": ("R15", [d for d in read if d > self._start][-1]),
            "daily": ("R151", (quiet + end) // 2),
            "daily-end": ("R151", end - 1),
            "daily-last": ("R151", almanac.days - 1),
            "charge": ("F15", charged[-1]),
            "early-charge": ("F15", next(d for d in charged if steps[0].day < d < end)),
        }
        before = [d for d in read if self._start < d < places["last"][1]]
        places["previous"] = ("R15", before[-1]) if before else places["entry"]
        return places

    def _missing(self) -> Literal["first", "entry", "exit"] | None:
        """What the rest of the life never gets to see."""
        lost: dict[str, Literal["first", "entry", "exit"]] = {
            "lost-entry": "first",
            "lost-reentry": "entry",
            "lost-exit": "exit",
        }
        return self.row.cascade if self.row else lost.get(self.name)

    def play(self, key: Key, draft: _D) -> tuple[_D | None, list[Late]]:
        """Play the fault on one message.

        Returns:
          The message as it is published in its time, None when it is not; and what is published later.
        """
        if self.row is not None:
            return self._spoil(self.row, key, draft)
        place = self._places
        if key != place[_TOUCHED[self.name]]:
            return draft, []
        if self.name.endswith("-original"):
            return self._original(draft)
        if self.name in LOST:
            return None, []
        return None, [Late(_DELAY, replace(draft, outcome=Outcome(fault=self.name, error_class="ordering")))]

    def _original(self, draft: _D) -> tuple[None, list[Late]]:
        """The correction comes, and its original never or later."""
        reference = f"{draft.reference} RECTIFICATIF"
        if self.name == "late-original":
            played = Outcome(fault=self.name, error_class="ordering")
            right = replace(draft, edit=RECTIFIED, reference=reference, outcome=played)
            return None, [Late(3, right), Late(_DELAY, replace(draft, outcome=played))]
        waits = Outcome(
            state={"*": "quarantined"},
            error_class="missing",
            fault=self.name,
            freed_by=f"the original of {draft.reference}",
            told_by=LOST[self.name],
        )
        return None, [Late(3, replace(draft, edit=RECTIFIED, reference=reference, outcome=waits))]

    def _spoil(self, row: Mistake, key: Key, draft: _D) -> tuple[_D | None, list[Late]]:
        if row.previous is not None and key == self._places["previous"]:
            return replace(draft, edit=row.previous), []
        if key != self._places.get(row.target):
            return draft, []
        wrong = replace(draft, edit=row.edit, alone=row.document, outcome=row.outcome())
        if not row.extra:
            return wrong, []
        late = [Late(row.later, replace(wrong, reference=f"{draft.reference} again"))]
        if row.before is not None:
            late.append(Late(row.later - 1, replace(draft, edit=row.before, reference=f"{draft.reference} before")))
        return draft, late

    def fate(self, flux: Flux, supply: int, day: int) -> Outcome | None:
        """What becomes of a message that is right, because of what is missing; None when it is accepted.

        Args:
          flux: of the message.
          supply: number of the supply it belongs to.
          day: on which it takes effect.
        """
        if self.missing is None:
            return None
        waits = Outcome(
            state={"*": "quarantined"},
            error_class="missing",
            fault=self.name,
            freed_by=self._freed_by(),
            told_by=self._told_by(),
        )
        if self.missing == "first":
            # Without any supply everything waits; from the second entry on only what names the first contract does.
            by_contract = flux in ("C15", "R15")
            return waits if (supply == 1 if by_contract else day < self._start) else None
        if flux in ("C15", "R15"):
            return waits if supply == 2 else None
        if flux == "R151" and self.missing == "entry" and supply == 2:
            # A daily index names no contract: all that is known says that the supply has ended.
            return Outcome(
                state={"*": "rejected"},
                errors={"MeterReading": ("FR-S02",)},
                error_class="missing",
                fault=self.name,
                freed_by=self._freed_by(),
                told_by=self._told_by(),
            )
        return None

    def _told_by(self) -> str | None:
        return self.row.told_by if self.row else LOST[self.name]

    def _freed_by(self) -> str:
        number = 1 if self.missing in ("first", "exit") else 2
        reference = codes.contract_reference(self.life.number, number)
        return f"{'EndOfSupply' if self.missing == 'exit' else 'StartOfSupply'} of contract {reference}"
