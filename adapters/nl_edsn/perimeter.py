"""GainResult and LossResult: the lists of points that come into our supply or leave it (namespace number 1).

One ``Portaal_MeteringPoint`` is one CH message. A gain is the start of our supply on the mutation date and closes the
request that it came of; a loss is the end of our supply, by the supplier that follows. A loss closes a request only
where it bears an ExternalReference: then it was our own request. Neither bears a reference of a contract span: the
connection register counts transactions (dossiers), and a loss has another dossier than the gain it ends.
"""

from __future__ import annotations

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Digester, Notes
from adapters.common.reading import Fields, leaf, node
from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import Context
from adapters.nl_edsn.mutations import MUTATION, Point, point, refer, status
from energycomm.kernel.messages import EndOfSupply, KernelMessage, StartOfSupply


def gain(fields: Fields, context: Context, notes: Notes) -> Digested:
    """The start of supply, and the request done.

    Raises:
      Unreadable: point or mutation date is missing.
    """
    found, reference = _read(fields, context, notes)
    assert found.on is not None
    parties = node(fields, "MPCommercialCharacteristics")
    start = StartOfSupply(
        **{**found.head, "reference": reference},
        effective=found.on,
        supplier=leaf(node(parties, "BalanceSupplier_Company"), "ID"),
        balance_responsible=leaf(node(parties, "BalanceResponsibleParty_Company"), "ID"),
        contract_start=found.on.date(),
    )
    return _with_status(start, found, reference, context)


def loss(fields: Fields, context: Context, notes: Notes) -> Digested:
    """The end of supply, and the request done where it was ours.

    Raises:
      Unreadable: point or mutation date is missing.
    """
    found, reference = _read(fields, context, notes)
    assert found.on is not None
    parties = node(fields, "MPCommercialCharacteristics")
    end = EndOfSupply(
        **{**found.head, "reference": reference},
        effective=found.on,
        new_supplier=leaf(node(parties, "BalanceSupplier_Company"), "ID"),
    )
    if found.external is None:
        return Digested(reference, found.ean, (end,))
    return _with_status(end, found, reference, context)


def _read(fields: Fields, context: Context, notes: Notes) -> tuple[Point, str]:
    found = point(fields, context, notes)
    if found.on is None:
        raise Unreadable(refusal("SYN_MISSING", path=f"{MUTATION}/MutationDate", expected="the day of the change"))
    return found, refer(fields, context)[0]


def _with_status(message: KernelMessage, found: Point, reference: str, context: Context) -> Digested:
    told = status(found, reference, "done", context.head["created"])
    return Digested(reference, found.ean, (message,) if told is None else (message, told))


GAIN = Digester(gain, refer)
LOSS = Digester(loss, refer)
