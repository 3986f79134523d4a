"""What every metering point of the connection register says beside its subject: product, grid operator, and the
mutation that it is told for."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from adapters.common.outcome import Notes
from adapters.common.reading import Fields, leaf, need, node
from adapters.nl_edsn.codes import known_meaning, meaning
from adapters.nl_edsn.header import Context
from adapters.nl_edsn.measures import PRODUCTS
from adapters.nl_edsn.times import needed_day
from energycomm.kernel.messages import RequestStatus
from energycomm.kernel.vocabulary import Reason, RequestState

POINT = "Portaal_MeteringPoint"
MUTATION = f"{POINT}/Portaal_Mutation"
LONGEST_REQUEST = 64

REASONS: dict[str, Reason] = {
    "MOVEIN": "move-in",
    "MOVEOUT": "move-out",
    "SWITCHLV": "supplier-switch",
    "EOSUPPLY": "end-of-contract",
    "SWITCHPV": "master-data-change",
    "BULKPV": "master-data-change",
    "SWITCHMV": "master-data-change",
    "ENDOFMV": "master-data-change",
    "SWTCHUPD": "master-data-change",
    "NAMECHG": "customer-change",
    "NMCRSCMP": "customer-change",
    "RESCOMP": "customer-change",
    "MTRINST": "meter-change",
    "MTREND": "meter-change",
    "MTRUPD": "meter-change",
    "CONNCRE": "first-connection",
    "CONNEND": "termination",
    "CONNACT": "master-data-change",
    "CONNDACT": "master-data-change",
    "CONNCHG": "master-data-change",
    "CONNUPD": "master-data-change",
    "DSTRCONN": "master-data-change",
    "DSTRMSTR": "master-data-change",
    "MDMD": "master-data-change",
    "MDPPMD": "master-data-change",
    "ALLMTCHG": "master-data-change",
    "INDHSE": "event",
    "INDHSH": "event",
    "PERMTR": "periodic",
    "MONTHMTR": "periodic",
    "PHYSMTR": "periodic",
    "CONSMTR": "periodic",
    "HISTMTR": "historical",
    "ONRQST": "on-demand",
    "DISPUTE": "correction",
}
"""MutationReason -> business reason. The codes were read in public software for this portal, CONNACT apart, which
follows from CONNDACT; what they stand for was inferred from their names where docs/markets/nl.md says so."""


class Point(NamedTuple):
    """What a metering point says beside its subject.

    Attributes:
      ean: the point.
      on: midnight of the mutation date, None where there is none.
      reason: code of the mutation.
      dossier: number that the register gave the transaction.
      external: reference that the party who asked gave it.
      head: keyword arguments of its Kernel messages, without reference and effective.
    """

    ean: str
    on: datetime | None
    reason: str | None
    dossier: str | None
    external: str | None
    head: dict[str, Any]


def point(fields: Fields, context: Context, notes: Notes) -> Point:
    """Read what all metering points have.

    Raises:
      Unreadable: the point is missing, the product is unknown, or a date does not exist.
    """
    ean = need(fields, "EANID", POINT)
    mutation = node(fields, "Portaal_Mutation")
    reason, dossier = leaf(mutation, "MutationReason"), leaf(node(mutation, "Dossier"), "ID")
    external = leaf(mutation, "ExternalReference")
    on = needed_day(mutation, "MutationDate", MUTATION)[1] if "MutationDate" in mutation else None
    product = leaf(fields, "ProductType")
    energy = "electricity" if product is None else meaning(PRODUCTS, product, f"{POINT}/ProductType")
    known = known_meaning(REASONS, mutation, "MutationReason", MUTATION, notes)
    head = {
        **context.head,
        "energy": energy,
        "market_reason": reason,
        "reason": known if reason is None else known or "other",
        "access_point": ean,
        "request_reference": dossier,
        "correlation": external,
        "grid_operator": leaf(node(fields, "GridOperator_Company"), "ID"),
    }
    return Point(ean, on, reason, dossier, external, head)


def refer(fields: Fields, context: Context) -> tuple[str, str | None]:
    """``dossier:point:reason:day``, with what there is of it."""
    ean, mutation = leaf(fields, "EANID"), node(fields, "Portaal_Mutation")
    dossier = leaf(node(mutation, "Dossier"), "ID")
    day = leaf(mutation, "MutationDate") or leaf(fields, "ValidToDate") or leaf(fields, "ValidFromDate")
    return ":".join(part or "-" for part in (dossier, ean, leaf(mutation, "MutationReason"), day)), ean


def settled(head: dict[str, Any], at: datetime, request: str | None = None) -> RequestStatus:
    """A question of ours was answered: nothing more will come.

    Args:
      head: of the answer, with reference and correlation.
      at: when it was answered.
      request: the register's number of it, where it has one; our reference else.
    """
    known = request or head["correlation"] or head["reference"]
    return RequestStatus(**head, effective=at, request=known[:LONGEST_REQUEST], state="done", initiated_by_us=True)


def status(found: Point, reference: str, state: RequestState, at: datetime) -> RequestStatus | None:
    """The state of a request as far as the metering point tells it; None where no dossier was opened.

    It holds from the mutation date on, so that it is the same whenever it is told; from `at` where there is no date.
    """
    if found.dossier is None:
        return None
    head = {**found.head, "reference": reference}
    return RequestStatus(
        **head,
        effective=found.on or at,
        request=found.dossier,
        state=state,
        object_code=found.reason,
        effect_date=None if found.on is None else found.on.date(),
        initiated_by_us=True if found.external is not None else None,
        requester_reference=found.external,
    )
