"""Lines of charges against the corrections of other invoices: what an operator gave back is charged no more.

An annulment repeats a line with its amount negated; a rectification charges the right one, or the difference. All lines
of an access point are looked at together, whichever invoice they are on, so that the order in which invoices came does
not matter: it is the order of their numbers, which grow.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import TypeAlias

from msgspec import Struct

from energycomm.invoicing.pricelist import Component, PriceList
from energycomm.kernel.messages import GridCharge
from energycomm.kernel.parts import ChargeLine


class StoredCharge(Struct, frozen=True, kw_only=True):
    """A charge of another invoice, as its domain row has it."""

    market_type: str
    access_point: str | None
    invoice: str
    charge_reference: str
    effective: datetime
    original_invoice: str | None
    lines: tuple[ChargeLine, ...]


Charge: TypeAlias = GridCharge | StoredCharge
Place: TypeAlias = tuple[int, str, int]
"""Place of a line among all lines of a point: by the number of the invoice, then within it."""


class Entry(Struct, frozen=True):
    """A line that some invoice charges.

    Attributes:
      order: its place.
      charge, line: which one.
      component: what it charges; None where no table tells.
      ours: it is on the invoice that is checked.
    """

    order: Place
    charge: Charge
    line: ChargeLine
    component: Component | None
    ours: bool

    @property
    def key(self) -> tuple[object, ...]:
        """What is charged, and its days: a correction has those of its original."""
        return self.component or self.line.code, self.line.start, self.line.end


def correcting(entry: Entry) -> bool:
    """Whether a line gives something back, or is of a charge that names the invoice that it corrects."""
    return entry.line.amount < 0 or entry.charge.original_invoice is not None


def settled(charges: Iterable[Charge], others: Iterable[Charge], prices: PriceList) -> list[Entry]:
    """The lines of an access point that stand: without annulled ones, and without their annulments.

    Args:
      charges: of one access point, on the invoice that is checked.
      others: of the same access point, on other invoices.
      prices: say what a line charges.

    Returns:
      What stands, in order.
    """
    every = [(charge, True) for charge in charges] + [(charge, False) for charge in others]
    every.sort(key=lambda one: (len(one[0].invoice), one[0].invoice, one[0].effective, one[0].charge_reference))
    entries = [
        Entry(
            (len(charge.invoice), charge.invoice, number),
            charge,
            line,
            prices.component(charge.market_type, line),
            ours,
        )
        for number, (charge, ours, line) in enumerate((*one, line) for one in every for line in one[0].lines)
    ]
    charged: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        if entry.line.amount > 0:
            charged.setdefault(_mirror(entry, entry.line.amount), []).append(entry)
    gone: set[int] = set()
    for entry in entries:
        there = charged.get(_mirror(entry, -entry.line.amount), []) if entry.line.amount < 0 else []
        named = entry.charge.original_invoice
        # The invoice that it names; else an earlier one; else what the same invoice charges.
        there = sorted(
            (one for one in there if one.charge.invoice == named or one.order[:2] <= entry.order[:2]),
            key=lambda one: (one.charge.invoice != named, one.order[:2] == entry.order[:2], one.order),
        )
        if there:
            charged[_mirror(entry, -entry.line.amount)].remove(there[0])
            gone |= {entry.order[2], there[0].order[2]}
    return [entry for entry in entries if entry.order[2] not in gone]


def _mirror(entry: Entry, amount: Decimal) -> tuple[object, ...]:
    """What a line and its annulment have in common."""
    line = entry.line
    return *entry.key, amount, None if line.quantity is None else abs(line.quantity), _rate(line.tax)


def _rate(tax: str | None) -> object:
    try:
        return None if tax is None else Decimal(tax).normalize()
    except ArithmeticError:
        return tax
