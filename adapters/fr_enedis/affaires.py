"""X12 to X15: the state of requests (affaires), ours (X12, X14) and those of others that concern us (X13, X15), version
2.0.0.

One milestone (``jalon``) is one CH message and one request status. The files are daily snapshots that repeat every
earlier milestone, so a milestone must have the same identity in each of them: reference ``affaire:number``, and only
what belongs to the milestone and never changes enters its identity and its message.

The whole affaire's ``statut`` does change from one snapshot to the next. It is therefore carried by a milestone that
closes the affaire, where it is final, and by no open one. An affaire whose statut is ANNUL was cancelled: its last
milestone becomes a status of its own (reference ``affaire:number:ANNUL``, state cancelled) and is not repeated as
what it was.

The segment of the point and the affaire's statut are kept beside every milestone as particulars, as the snapshot said
that told the milestone first; they enter no identity.

X14 and X15 replace X12 and X13, and tell complaints too. Their structure is not public: assumed is that of X12.

Codes stand in attributes (``<statut code="COURS"/>``), with or without words inside; ``<statut/>`` is seen in real
files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree

from adapters.common.codes import Unreadable
from adapters.common.outcome import Notes, Outcome, identity
from adapters.common.reading import Fields, read_with_attributes
from adapters.common.schemas import Findings, Schema
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.header import Context
from adapters.fr_enedis.times import civil_day, needed_instant
from energycomm.kernel.messages import RequestStatus
from energycomm.kernel.parts import particulars_of
from energycomm.kernel.verdicts import Refusal
from energycomm.kernel.vocabulary import RequestState

VERSIONS = ("2.0.0",)

STATES: dict[str, RequestState] = {
    "DMTR": "sent",
    "DMREC": "acknowledged",
    "INPL": "in-course",
    "CPRE": "done",
    "CPNR": "refused",
}
"""affaireEtat/@code of a milestone -> state: demande transmise, demande recevable, intervention planifiée, close
prestation réalisée, close prestation non réalisée."""

STATUSES: dict[str | None, RequestState] = {"COURS": "in-course", "TERMN": "done", "ANNUL": "cancelled"}
"""statut/@code of the affaire -> state of its last milestone, where that has no known code of its own. ANNUL always
holds; the code is unverified."""

OURS = ("X12", "X14")
"""Fluxes of the affaires that we opened."""
CANCELLED = "ANNUL"
CLOSED = ("done", "refused")
_PATH = "affaire/donneesGenerales/jalons/jalon"


class Common(NamedTuple):
    """What all milestones of an affaire share: no snapshot changes it, save what stands ``beside``, the requester's own
    label of a group, the segment and the statut."""

    access_point: str | None
    object_code: str | None
    medium: str | None
    requester_reference: str | None
    initiated_by_us: bool
    beside: dict[str, str | None]


def outcomes(element: etree._Element, context: Context, schema: Schema) -> Iterator[Outcome]:
    """One outcome per milestone of an affaire; one refusal where the affaire itself cannot be read.

    Args:
      element: the ``affaire``.
    """
    whole = schema.check(element)
    if not whole.refusals:
        yield from _milestones(element, context, [(jalon, Findings(notes=whole.notes)) for jalon in _jalons(element)])
        return
    checked = [(jalon, schema.check(jalon)) for jalon in _jalons(element)]
    common = tuple(found for found in whole.refusals if "/jalon" not in found.path)
    if common or not any(findings.refusals for _, findings in checked):
        yield _refused(element.get("id"), None, element, context, whole.refusals, whole.notes)
        return
    yield from _milestones(element, context, checked)


def _jalons(element: etree._Element) -> list[etree._Element]:
    return element.findall("donneesGenerales/jalons/jalon")


def _milestones(
    element: etree._Element, context: Context, checked: list[tuple[etree._Element, Findings]]
) -> Iterator[Outcome]:
    affaire = element.get("id") or ""
    common = _common(element, context)
    status = _code(element, "donneesGenerales/statut")
    readable = [jalon for jalon, findings in checked if not findings.refusals]
    last = max(readable, key=lambda jalon: int(jalon.findtext("num") or 0)) if readable else None
    for jalon, findings in checked:
        if findings.refusals:
            yield _refused(affaire, jalon.findtext("num"), jalon, context, findings.refusals, findings.notes)
            continue
        try:
            yield _milestone(jalon, affaire, status, jalon is last, common, context, list(findings.notes))
        except Unreadable as unreadable:
            yield _refused(affaire, jalon.findtext("num"), jalon, context, (unreadable.refusal,), findings.notes)


def _milestone(
    jalon: etree._Element,
    affaire: str,
    status: str | None,
    last: bool,
    common: Common,
    context: Context,
    notes: Notes,
) -> Outcome:
    fields: Fields = {str(child.tag): child.text.strip() for child in jalon if child.text and child.text.strip()}
    code = _code(jalon, "affaireEtat")
    state = STATES.get(code or "")
    if state is None:
        # Only the last milestone may take the affaire's status: the earlier ones must read alike in every snapshot.
        state = STATUSES.get(status, "in-course") if last else "in-course"
        notes.append(
            refusal("NOTE_CODE_UNKNOWN", path=f"{_PATH}/affaireEtat/@code", value=code, expected=", ".join(STATES))
        )
    number = int(fields["num"])
    reference = f"{affaire}:{number}"
    carried = status if last and state in CLOSED else None
    if last and status == CANCELLED:
        reference, state, carried = f"{reference}:{CANCELLED}", "cancelled", status
    message = RequestStatus(
        **context.head,
        market_reason=common.object_code,
        reference=reference,
        correlation=common.requester_reference if common.initiated_by_us else None,
        effective=needed_instant(fields, "dateHeure", _PATH, notes),
        access_point=common.access_point,
        request_reference=affaire,
        request=affaire,
        milestone=number,
        state=state,
        state_code=code,
        status_code=carried,
        object_code=common.object_code,
        effect_date=civil_day(fields, "affaireDateEffet", _PATH),
        initiated_by_us=common.initiated_by_us,
        requester_reference=common.requester_reference,
        medium=common.medium,
        particulars=particulars_of(common.beside),
    )
    content = (sorted(fields.items()), code, carried, list(common[:-1]))
    point = message.access_point
    return Outcome(reference, point, identity(context, reference, content), (message,), (), tuple(notes), VERSIONS[0])


def _common(element: etree._Element, context: Context) -> Common:
    """What all milestones of an affaire share and no snapshot changes."""
    return Common(
        access_point=_text(element, "donneesGenerales/donneesPoint/id")
        or _text(element, "demande/donneesGenerales/pointId"),
        object_code=_code(element, "demande/donneesGenerales/objet"),
        medium=_code(element, "demande/donneesGenerales/media"),
        requester_reference=_text(element, "donneesGenerales/referenceDemandeur"),
        initiated_by_us=context.flux in OURS,
        beside={
            "referenceRegroupement": _text(element, "donneesGenerales/referenceRegroupement"),
            "segment": _text(element, "donneesGenerales/segment")
            or _code(element, "donneesGenerales/donneesPoint/segmentClientele"),
            "statut": _code(element, "donneesGenerales/statut"),
        },
    )


def _refused(
    affaire: str | None,
    number: str | None,
    element: etree._Element,
    context: Context,
    refusals: tuple[Refusal, ...],
    notes: tuple[Refusal, ...],
) -> Outcome:
    reference = f"{affaire or '-'}:{(number or '-').strip()}"[:400]
    point = _text(element, "donneesGenerales/donneesPoint/id")
    content = read_with_attributes(element)
    return Outcome(reference, point and point[:40], identity(context, reference, content), (), refusals, notes)


def _text(element: etree._Element, path: str) -> str | None:
    text = element.findtext(path)
    return (text.strip() or None) if text else None


def _code(element: etree._Element, path: str) -> str | None:
    found = element.find(path)
    return None if found is None else (found.get("code") or None)
