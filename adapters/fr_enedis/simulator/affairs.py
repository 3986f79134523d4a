"""X12 and X13: cumulative snapshots of the affaires, the requests behind the steps of a life, milestone after
milestone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from adapters.fr_enedis.simulator import codes
from adapters.fr_enedis.simulator.codes import OPERATOR, SUPPLIER
from adapters.fr_enedis.simulator.drafting import chance
from adapters.fr_enedis.simulator.mistakes import MISTAKES
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.edits import NothingToEdit
from energycomm.simulation.expectation import Outcome
from energycomm.simulation.lives import Life, Step
from energycomm.simulation.staging import Draft

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
TAIL = "</affaires>\n"
LABEL = {
    "DMTR": "Demande transmise",
    "DMREC": "Demande recevable",
    "INPL": "Intervention planifiée",
    "CPRE": "Close, prestation réalisée",
    "CPNR": "Close, prestation non réalisée",
    "COURS": "En cours",
    "TERMN": "Terminé",
    "CFN": "Changement de fournisseur",
    "MES": "Mise en service",
    "PMS": "Première mise en service",
    "CST": "Cessation",
    "AME": "Transmission récurrente des index quotidiens",
}


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
    """The affaires of a life by the days of its steps; -1 is one with a fault played on it, or that came to nothing."""
    found: dict[int, Affair] = {}
    for index, step in enumerate(life.steps):
        code = OBJECT.get(step.reason)
        if code is not None:
            received = step.leaves and step.reason == "supplier-switch"
            identifier, course = _identifier(life.number, index), _course(life, step)
            found[step.day] = Affair(identifier, life.number, code, received, course, step.day)
    if life.fault in MISTAKES and MISTAKES[life.fault].target == "request":
        found[-1] = _faulty(life)
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


def snapshot(affair: Affair, almanac: Almanac, day: int, minute: int) -> Iterator[Draft]:
    """The affaire as a snapshot of a moment shows it, a draft for each milestone; the first one has the text of all.

    Nothing when it is not open yet or closed for long.
    """
    reached = [each for each in affair.milestones if (each[0], each[1]) <= (day, minute)]
    if not reached or day - affair.last > SEEN:
        return
    closed = any(state in ("CPRE", "CPNR") for _, _, state in reached)
    number, prm = affair.life, codes.prm_of(affair.life)
    effect = f"{almanac.iso(affair.effect)}{almanac.instant(affair.effect)[-6:]}"
    milestones = [(almanac.instant(when, at, "13.128"), effect, state) for when, at, state in reached]
    # Both rare forms are real: a status with its attribute only, and an empty one.
    status = labelled("statut", "TERMN" if closed else "COURS")
    if not closed and chance(number, 1, 7, 30) == 0:
        status = "<statut/>"
    elif number % 7 == 0:
        status = f'<statut code="{"TERMN" if closed else "COURS"}"/>'
    reference = None if affair.received else "SIM"
    body = affair_xml(affair.identifier, reference, prm, affair.object, status, milestones)
    flux, row = "X13" if affair.received else "X12", MISTAKES.get(affair.fault or "")
    if row is not None and row.edit is not None:
        with suppress(NothingToEdit):  # it may not have come so far yet that its mistake shows
            body = row.edit(body)
    for running in range(1, len(reached) + 1):
        right = row is None or (row.parts and running not in row.parts)
        name = f"{flux} {affair.identifier} {running}"
        kinds = None if row else ("RequestStatus",)
        outcome = Outcome() if right or row is None else row.outcome()
        yield Draft(flux, body, prm, name, kinds, life=number, place=("request", day), outcome=outcome, twin=name)
        body = ""


def head(flux: str, created: str, count: int) -> str:
    """Start of a snapshot. `created` is written without an offset, as Enedis does here."""
    words = "initiées par le fournisseur" if flux == "X12" else "reçues"
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<affaires>
  <enteteFlux>
    <idFlux>{flux}</idFlux>
    <libelle>Suivi des affaires {words}</libelle>
    <versionXsd>2.0.0</versionXsd>
    <idEmetteur>{OPERATOR}</idEmetteur>
    <idDestinataire>{SUPPLIER}</idDestinataire>
    <dateCreation>{created}</dateCreation>
  </enteteFlux>
  <nbAffaires>{count}</nbAffaires>
"""


def labelled(tag: str, code: str) -> str:
    """A code with its words."""
    return f'<{tag} code="{code}"><libelle>{LABEL.get(code, code)}</libelle></{tag}>'


def affair_xml(
    affaire: str, reference: str | None, prm: str, asked: str, status: str, milestones: Sequence[tuple[str, str, str]]
) -> str:
    """One affaire, written.

    Args:
      affaire, reference: its number, and ours, escaped; without one it is another supplier's.
      prm, asked: the point, and the code of what was asked.
      status: element of the status.
      milestones: instant, day of effect and code of each.
    """
    own = f"      <referenceDemandeur>{reference}</referenceDemandeur>\n" if reference else ""
    media = f"\n        {labelled('media', 'PTL')}" if reference else ""
    told = "".join(
        f"        <jalon><num>{number}</num><dateHeure>{at}</dateHeure>"
        f"<affaireDateEffet>{effect}</affaireDateEffet>{labelled('affaireEtat', state)}</jalon>\n"
        for number, (at, effect, state) in enumerate(milestones, 1)
    )
    return f"""  <affaire id="{affaire}">
    <donneesGenerales>
{own}      {status}
      <jalons>
{told}      </jalons>
      <donneesPoint><id>{prm}</id>{labelled("segmentClientele", "C5")}</donneesPoint>
      <segment>C5</segment>
    </donneesGenerales>
    <demande>
      <donneesGenerales>
        {labelled("objet", asked)}
        <pointId>{prm}</pointId>{media}
      </donneesGenerales>
    </demande>
  </affaire>
"""
