"""GainResult and LossResult: the lists of points that come into our supply or leave it (namespace number 1).

One ``Portaal_MeteringPoint`` is one CH message. A gain is the start of our supply on the mutation date and closes the
request that it came of; a loss is the end of our supply, by the supplier that follows. A loss closes a request where it
bears our ExternalReference, or where its reason is one that the supplier asks for himself: then its dossier is that of
the answer to our request. A loss to another supplier closes none. Neither bears a reference of a contract span: the
connection register counts transactions (dossiers), and a loss has another dossier than the gain it ends.
"""

from __future__ import annotations

from functools import partial

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Digester, Notes
from adapters.common.reading import Fields, leaf, node
from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import Context
from adapters.nl_edsn.mutations import MUTATION, point, refer, status
from energycomm.kernel.messages import EndOfSupply, KernelMessage, StartOfSupply

ENDS_ASKED = frozenset(("MOVEOUT", "EOSUPPLY"))
"""Reasons of a loss that the supplier asks for himself, by MoveOut and EndOfSupply."""


def _changed(begins: bool, fields: Fields, context: Context, notes: Notes) -> Digested:
    """The start or the end of supply, and the request done where it was ours.

    Raises:
      Unreadable: point or mutation date is missing.
    """
    found = point(fields, context, notes)
    if found.on is None:
        raise Unreadable(refusal("SYN_MISSING", path=f"{MUTATION}/MutationDate", expected="the day of the change"))
    reference, _ = refer(fields, context)
    head = {**found.head, "reference": reference, "effective": found.on}
    parties = node(fields, "MPCommercialCharacteristics")
    supplier = leaf(node(parties, "BalanceSupplier_Company"), "ID")
    message: KernelMessage = EndOfSupply(**head, new_supplier=supplier)
    if begins:
        responsible = leaf(node(parties, "BalanceResponsibleParty_Company"), "ID")
        first = found.on.date()
        message = StartOfSupply(**head, supplier=supplier, balance_responsible=responsible, contract_start=first)
    ours = begins or found.external is not None or found.reason in ENDS_ASKED
    told = status(found, reference, "done", context.head["created"]) if ours else None
    return Digested(reference, found.ean, (message,) if told is None else (message, told))


GAIN = Digester(partial(_changed, True), refer)
LOSS = Digester(partial(_changed, False), refer)
