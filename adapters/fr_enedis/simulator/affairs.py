"""Affaires of a life: the requests behind its steps, milestone after milestone, for the X12 and X13 snapshots."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.fr_enedis.simulator import codes
from adapters.fr_enedis.simulator.drafting import chance
from adapters.fr_enedis.simulator.drafts import MilestoneDraft, RequestDraft
from adapters.fr_enedis.simulator.mistakes import MISTAKES
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.lives import Life, Step

OBJECT = {
    "first-connection": "PMS",
    "move-in": "MES",
    "supplier-switch": "CFN",
    "move-out": "CST",
    "master-data-change": "AME",
}
"""Reason of a step -> code of what was asked; steps of other reasons have no affaire."""

SEEN = 8
"""Days that a closed affaire stays in the snapshots."""


@dataclass(frozen=True, slots=True)
class Affair:
    """One affaire and the days on which its milestones are reached.

    Attributes:
      identifier: Id_Affaire, 8 characters.
      life: running number of the access point.
      object: code of what was asked.
      received: made by another supplier (X13).
      milestones: (day, minute, state) in order of time.
      effect: day on which it takes effect.
      fault: name of the mistake that is played on it.
    """

    identifier: str
    life: int
    object: str
    received: bool
    milestones: tuple[tuple[int, int, str], ...]
    effect: int
    fault: str | None = None

    @property
    def last(self) -> int:
        """Day of the last milestone."""
        return self.milestones[-1][0]


def _identifier(number: int, running: int) -> str:
    return f"S{(number * 37 + running) % 10**7:07d}"


def affairs_of(life: Life) -> dict[int, Affair]:
    """The affaires of a life by the index of their step; index -1 is a request that came to nothing."""
    found: dict[int, Affair] = {}
    for index, step in enumerate(life.steps):
        code = OBJECT.get(step.reason)
        if code is not None:
            received = step.leaves and step.reason == "supplier-switch"
            found[index] = Affair(
                _identifier(life.number, index), life.number, code, received, _course(life, step), step.day
            )
    if life.fault in MISTAKES and MISTAKES[life.fault].target == "request":
        found[-2] = _faulty(life)
    if life.fault is None and life.steps and chance(life.number, 0, 5, 20) == 0:
        day = life.steps[0].day + 2
        milestones = ((day, 600, "DMTR"), (day + 1, 660, "CPNR"))
        found[-1] = Affair(_identifier(life.number, 36), life.number, "CFN", False, milestones, day + 5)
    return found


def _faulty(life: Life) -> Affair:
    """An affaire of its own, on which a fault is played, in the middle of the life."""
    day = (life.steps[0].day + life.steps[-1].day) // 2
    milestones = [(day, 600, "DMTR"), (day, 640, "DMREC"), (day + 9, 447, "CPRE")]
    if life.fault == "CO-A03":
        milestones.append((day + 9, 507, "INPL"))
    return Affair(_identifier(life.number, 35), life.number, "AME", False, tuple(milestones), day + 9, life.fault)


def _course(life: Life, step: Step) -> tuple[tuple[int, int, str], ...]:
    minute = 540 + chance(life.number, step.day, 4, 400)
    asked = step.day - 5 - chance(life.number, step.day, 6, 10)
    course = [(asked, minute, "DMTR"), (asked, minute + 4, "DMREC")]
    if step.reason in ("first-connection", "move-in"):
        course.append((asked + 2, minute, "INPL"))
    course.append((step.day, 447, "CPRE"))
    return tuple(course)


def snapshot(affair: Affair, almanac: Almanac, day: int, minute: int) -> RequestDraft | None:
    """The affaire as a snapshot of a moment shows it; None when it is not open yet or closed for long."""
    reached = [each for each in affair.milestones if (each[0], each[1]) <= (day, minute)]
    if not reached or day - affair.last > SEEN:
        return None
    closed = any(state in ("CPRE", "CPNR") for _, _, state in reached)
    drafts = []
    for number, (when, at, state) in enumerate(reached, 1):
        offset = almanac.instant(affair.effect)[-6:]
        written = almanac.instant(when, at, "13.128")
        drafts.append(MilestoneDraft(number, written, f"{almanac.iso(affair.effect)}{offset}", state))
    prm = codes.prm_of(affair.life)
    status = "TERMN" if closed else "COURS"
    row = MISTAKES[affair.fault] if affair.fault else None
    return RequestDraft(
        prm,
        affair.life,
        affair.identifier,
        affaire=affair.identifier,
        object=affair.object,
        milestones=drafts,
        status=None if not closed and chance(affair.life, 1, 7, 30) == 0 else status,
        received=affair.received,
        outcome=row.outcome() if row else None,
        edit=row.edit if row else None,
        wrong=row.milestones if row else (),
    )
