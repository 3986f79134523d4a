"""X12 and X13 written: cumulative snapshots of the affaires, made by us and received about us."""

from __future__ import annotations

from adapters.fr_enedis.simulator.codes import OPERATOR, SUPPLIER
from adapters.fr_enedis.simulator.drafts import MilestoneDraft, RequestDraft

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
    "RIC": "Réclamation",
}


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


def _labelled(tag: str, code: str) -> str:
    return f'<{tag} code="{code}"><libelle>{LABEL.get(code, code)}</libelle></{tag}>'


def _milestone(milestone: MilestoneDraft) -> str:
    return (
        f"        <jalon><num>{milestone.number}</num><dateHeure>{milestone.at}</dateHeure>"
        f"<affaireDateEffet>{milestone.effect}</affaireDateEffet>{_labelled('affaireEtat', milestone.state)}</jalon>\n"
    )


def request_xml(request: RequestDraft) -> str:
    """One affaire with its milestones so far."""
    own = "" if request.received else "      <referenceDemandeur>SIM</referenceDemandeur>\n"
    # Both rare forms are real: a status with its attribute only, and an empty one.
    if request.status is None:
        status = "<statut/>"
    elif request.number % 7 == 0:
        status = f'<statut code="{request.status}"/>'
    else:
        status = _labelled("statut", request.status)
    media = "" if request.received else f"\n        {_labelled('media', 'PTL')}"
    return f"""  <affaire id="{request.affaire}">
    <donneesGenerales>
{own}      {status}
      <jalons>
{"".join(map(_milestone, request.milestones))}      </jalons>
      <donneesPoint><id>{request.prm}</id>{_labelled("segmentClientele", "C5")}</donneesPoint>
      <segment>C5</segment>
    </donneesGenerales>
    <demande>
      <donneesGenerales>
        {_labelled("objet", request.object)}
        <pointId>{request.prm}</pointId>{media}
      </donneesGenerales>
    </demande>
  </affaire>
"""
