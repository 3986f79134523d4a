"""What a supplier ordered of one point: the curve of two days (R63) and the report of the order (CR.M023); and a notice
(NASS) that a service of it stopped. The files are told for the sake of the mistakes that are played on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from adapters.fr_enedis.simulator import codes, subscriptions
from adapters.fr_enedis.simulator.drafting import Drafter
from energycomm.simulation.edits import Edit
from energycomm.simulation.lives import Life
from energycomm.simulation.staging import Draft

CURVE, REPORT, NOTICE = "R63", "CR.M023", "NASS"
TARGETS = frozenset(("ordered", "report", "notice"))
"""Places of what is told for the sake of a mistake."""
_NAMES = {CURVE: "P_CdC_M{0:07d}_00001", REPORT: "P_CR_M{0:07d}_00001", NOTICE: "Q_SERV_7100009_{0:05d}"}


def drafts(drafter: Drafter, life: Life, day: int) -> Iterator[Draft]:
    """The curve of the two days before a day, the report (the order as a whole, then the point), and the notice."""
    prm, iso = codes.prm_of(life.number), drafter.almanac.iso
    powers = [one for before in (day - 2, day - 1) for one in subscriptions.powers(drafter, life, before)]
    points = [
        {"v": str(watts), "d": f"{end:%Y-%m-%d %H:%M:%S}", "p": "PT30M", "n": "B", "iv": 0} for end, watts in powers
    ]
    quantity = {"grandeurMetier": "CONS", "grandeurPhysique": "PA", "unite": "W", "points": points}
    period = {"dateDebut": f"{iso(day - 2)} 00:00:00", "dateFin": f"{iso(day)} 00:00:00"}
    curve = {"idPrm": prm, "etapeMetier": "BRUT", "periode": period, "modeCalcul": "MESURE", "grandeur": [quantity]}
    service = {"typeServiceSouscrit": "PMAX", "typeService": "R66B", "etatService": "TERMINE", "motifFinCode": 4}
    service |= {"dateDebut": iso(day - 2), "dateFin": iso(day)}
    notice = {"idPrm": prm, "segments": [{"segment": "C5", "serviceSouscrits": [service]}]}

    def draft(flux: str, kind: str, place: str, body: object, point: str | None) -> Draft:
        text = json.dumps(body, ensure_ascii=False) if body else ""
        reference = f"{place} {prm} {iso(day)}"
        return Draft(flux, text, point, reference, (kind,), life=life.number, place=(place, day))

    yield draft(CURVE, "MeasureSeries", "ordered", curve, prm)
    yield draft(REPORT, "RequestStatus", "order", None, None)
    yield draft(REPORT, "RequestStatus", "report", {"idPrm": prm, "statut": "OK"}, prm)
    yield draft(NOTICE, "RequestStatus", "notice", notice, prm)


def document(flux: str, told: Sequence[Draft]) -> str:
    """A file with what is told of one order, or a notice."""
    pieces = ",\n".join(draft.body for draft in told if draft.body)
    head: dict[str, Any] = {"siDemandeur": "ACM", "typeDestinataire": "ACM", "idDestinataire": "GRD-F901"}
    if flux == NOTICE:
        return f'{{"header": {json.dumps(head)},\n"services": [\n{pieces}\n]}}\n'
    head |= {"codeFlux": flux, "idDemande": f"M{told[0].life:07d}"}
    if flux == REPORT:
        return f'{{"header": {json.dumps(head)},\n"nbFichiers": 1,\n"points": [\n{pieces}\n]}}\n'
    head |= {"modePublication": "P", "idCanalContact": "Interne", "format": "JSON", "publicationCrp": "oui"}
    return f'{{"header": {json.dumps(head)},\n"mesures": [\n{pieces}\n]}}\n'


def name(flux: str, told: Sequence[Draft], stamp: str) -> str:
    """Name of a file, without its ending."""
    return f"ENEDIS_{flux}_{_NAMES[flux].format(told[0].life)}_{stamp}"


def changed(change: Callable[[Any], object]) -> Edit:
    """An edit of a piece: what it says is changed in place."""

    def edit(body: str) -> str:
        said = json.loads(body)
        change(said)
        return json.dumps(said, ensure_ascii=False)

    return edit
