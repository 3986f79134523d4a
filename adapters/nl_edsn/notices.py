"""NoticeEOS: a supplier announces that its supply of a point will end, so that the customer can be told.

One ``Portaal_MeteringPoint`` is one CH message: a request that is settled when it is told, for it ends nothing. Its day
is the one on which the supply will end. The customer's name and address are those that the announcing supplier wrote;
they are kept beside it and change nothing of the customer that we know.
"""

from __future__ import annotations

from adapters.common.outcome import Digested, Digester, Notes
from adapters.common.reading import Fields, leaf, node
from adapters.nl_edsn.header import EDSN, Context
from adapters.nl_edsn.mutations import LONGEST_REQUEST, point, refer
from energycomm.kernel.messages import RequestStatus


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """The announcement of one point.

    Raises:
      Unreadable: the point is missing, or a date does not exist.
    """
    found = point(fields, context, notes)
    reference, ean = refer(fields, context)
    supplier = leaf(node(fields, "MPCommercialCharacteristics", "BalanceSupplier_Company"), "ID")
    us = context.head["sender"] if context.head["receiver"] == EDSN else context.head["receiver"]
    head = {**found.head, "reference": reference, "reason": "end-of-contract"}
    told = RequestStatus(
        **head,
        effective=found.on or context.head["created"],
        request=(found.dossier or found.external or reference)[:LONGEST_REQUEST],
        state="done",
        object_code="NoticeEOS",
        effect_date=None if found.on is None else found.on.date(),
        initiated_by_us=supplier == us,
        requester_reference=found.external,
    )
    return Digested(reference, ean, [told])


def addressed(context: Context) -> str:
    """Who the notice is told to: it decides whether the notice is ours."""
    return repr(context.head["receiver"])


DIGESTER = Digester(digest, refer, salt=addressed)
