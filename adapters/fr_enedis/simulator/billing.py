"""Grid invoices of a simulation: every month one, with a general file and detail files in one envelope."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adapters.fr_enedis.simulator import invoices
from adapters.fr_enedis.simulator.delivery import Member, Post, truths_of, written
from adapters.fr_enedis.simulator.drafting import Drafter
from adapters.fr_enedis.simulator.drafts import ChargeDraft, Draft
from adapters.fr_enedis.simulator.mistakes.row import Mistake
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.lives import Life
from energycomm.simulation.scenario import Scenario

INVOICE_DAY = 5
"""Day of the month on which the month before is invoiced."""

Played = Callable[[Life, int, int, ChargeDraft], list[ChargeDraft]]
"""Plays faults on a charge: life, number of its supply, last day charged, the charge."""


class Biller:
    """Writes the invoices.

    Attributes:
      charged: last day of each month that is invoiced within the simulation.
      later: charges that come with the next invoice.
    """

    def __init__(self, scenario: Scenario, almanac: Almanac, drafter: Drafter, post: Post) -> None:
        self.scenario, self.almanac, self.drafter, self.post = scenario, almanac, drafter, post
        days = (day for day in range(INVOICE_DAY, scenario.days) if almanac.civil(day).day == INVOICE_DAY)
        self.charged = tuple(day - INVOICE_DAY for day in days)
        self.later: list[ChargeDraft] = []
        self._numbers = 0

    def _number(self, day: int) -> str:
        """The next invoice number: 13 digits."""
        self._numbers += 1
        return f"{self.almanac.iso(day).replace('-', '')[:6]}{self._numbers:07d}"

    def invoice(self, day: int, lives: Sequence[Life], played: Played) -> None:
        """Write the invoice of a day: what every access point is charged for the month before."""
        last = day - INVOICE_DAY
        first = self.almanac.number(self.almanac.civil(last).replace(day=1))
        invoice = self._number(last)
        charges, self.later = self.later, []
        for life in lives:
            for step in life.steps:
                if not step.enters:
                    continue
                supply = step.after.supply
                start = max(first, supply.start)
                end = last if supply.end is None else min(last, supply.end - 1)
                if start > end:
                    continue
                # The terms of the last day charged, as they were when it began.
                situation = life.situation(end) if end > supply.start else life.supplied_through(end)
                assert situation is not None
                identifier = f"{invoice}{len(charges) + 1:06d}"
                charge = self.drafter.charge(life, situation, start, end, identifier)
                charges += played(life, supply.number, end, charge)
        if charges:
            self._send(invoice, day, charges)

    def _send(self, invoice: str, day: int, charges: list[ChargeDraft]) -> None:
        almanac, stamp = self.almanac, self.almanac.stamp(day + 1, 311)
        created, dated = almanac.instant(day + 1, 311), almanac.iso(day)
        envelope = self.post.name("F15", stamp)
        base = envelope.removesuffix(f"_{stamp}")
        members = [self._general(invoice, day, charges, envelope, Draft("", -1, f"F15 {invoice}"))]
        size = self.scenario.per_file
        parts = [charges[n : n + size] for n in range(0, len(charges), size)]
        for n, part in enumerate(parts, 1):
            name = f"{base}_{stamp}_FL_{n}_{len(parts)}.xml"
            bodies = written(part, invoices.charge_xml)
            content = invoices.detail_head(created, invoice, dated) + "".join(bodies) + invoices.DETAIL_TAIL
            members.append(Member(name, content.encode(), truths_of("F15", envelope, name, part)))
        self.post.send("F15", envelope, stamp, members)

    def _general(self, invoice: str, day: int, charges: Sequence[ChargeDraft], envelope: str, draft: Draft) -> Member:
        almanac = self.almanac
        cents = sum(charge.cents for charge in charges)
        tax = sum(
            (line.cents * int(line.tax.replace(".", "")) + 5000) // 10000 for each in charges for line in each.lines
        )
        created, dated, due = almanac.instant(day + 1, 311), almanac.iso(day), almanac.iso(day + 30)
        xml = invoices.general_document(created, invoice, dated, due, cents, tax, len(charges))
        if draft.edit is not None:
            xml = draft.edit(xml)
        name = f"{envelope}_FA.xml"
        return Member(name, xml.encode(), truths_of("F15", envelope, name, [draft]))

    def general_only(self, day: int, row: Mistake) -> None:
        """Write an envelope with nothing but a faulty general file."""
        invoice, stamp = self._number(day), self.almanac.stamp(day + 1, 312)
        envelope = self.post.name("F15", stamp)
        draft = Draft("", -1, f"F15 {invoice}", outcome=row.outcome(), edit=row.edit)
        self.post.send("F15", envelope, stamp, [self._general(invoice, day, (), envelope, draft)])
