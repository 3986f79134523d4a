"""What grid invoices are contested for, as rows of an export: checked when they are read, so that they hold now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from zoneinfo import ZoneInfo

from energycomm.eis.away import Archive, missing
from energycomm.eis.changelog import Place
from energycomm.eis.database import reading
from energycomm.export.subjects import INSERT, Row, Selection, Subject
from energycomm.invoicing.checking import InvoiceFinding
from energycomm.invoicing.disputes import DISPUTES, disputes
from energycomm.invoicing.gathering import CheckedInvoice, InvoiceCheck
from energycomm.kernel.instants import midnight


class Disputes:
    """The findings of every invoice, by market and number of the invoice.

    Args:
      checker: checks invoices.
      subject: its columns.
      selection: which are wanted, but for the segments.
      points: the access points that are wanted; None: all.
      zones: market -> its legal time.
      place: the place in the history of the store at which it was begun.

    Attributes:
      told: how many rows were read so far.
    """

    def __init__(
        self,
        checker: InvoiceCheck,
        subject: Subject,
        selection: Selection,
        points: frozenset[str] | None,
        zones: Mapping[str, ZoneInfo],
        place: Place,
    ) -> None:
        self.checker, self.subject, self.selection, self.points = checker, subject, selection, points
        self.zones, self.place, self.told = zones, place, 0

    def lacks(self) -> tuple[Archive, ...]:
        """The archives that hold measures which the invoices would be held against, had they not left the store."""
        with reading(self.checker.store.engine) as connection:
            return missing(connection)

    def rows(self) -> Iterator[Row]:
        """The rows, in a fixed order; those of one invoice are in memory at a time."""
        for market, number in sorted(self.checker.numbers(limit=1 << 31)):
            if self.selection.markets and market not in self.selection.markets:
                continue
            invoice = self.checker.checked(market, number)
            why = DISPUTES.index("why")
            english, french = ([cells[why] for cells in disputes(invoice, language)] for language in ("en", "fr"))
            for item, (finding, *words) in enumerate(zip(invoice.findings, english, french, strict=True), 1):
                if self._wanted(invoice, finding):
                    self.told += 1
                    yield self._row(invoice, item, finding, words)

    def _wanted(self, invoice: CheckedInvoice, finding: InvoiceFinding) -> bool:
        first, last = finding.first or invoice.invoice_date, finding.last or invoice.invoice_date
        chosen = self.selection
        return (
            (self.points is None or finding.access_point in self.points)
            and (chosen.first is None or last is None or last >= chosen.first)
            and (chosen.last is None or first is None or first <= chosen.last)
        )

    def _row(self, invoice: CheckedInvoice, item: int, finding: InvoiceFinding, words: Sequence[object]) -> Row:
        day: date | None = finding.first or invoice.invoice_date
        at = None if day is None else midnight(self.zones[invoice.market], day)
        told = {
            "op": INSERT,
            "message": invoice.latest,
            "item": item,
            "market": invoice.market,
            "access_point": finding.access_point,
            "at": at,
            "invoice": invoice.invoice,
            "invoice_date": invoice.invoice_date,
            "currency": invoice.currency,
            "check": finding.check,
            "charge": finding.charge,
            "line": finding.code,
            "start": finding.first,
            "end": finding.last,
            "charged": finding.charged,
            "expected": finding.expected,
            "amount": finding.euros,
            "label": finding.label,
            "source": finding.source,
            "why": words[0],
            "why_fr": words[1],
        }
        return tuple(told[column.name] for column in self.subject.columns)
