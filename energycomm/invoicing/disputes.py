"""What an invoice is contested for, as a table to be sent to the grid operator."""

from __future__ import annotations

from energycomm.invoicing.checking import CHECKS, InvoiceFinding
from energycomm.invoicing.gathering import CheckedInvoice

HEAD = ("check", "access point", "charge", "line", "first day", "last day", "charged", "expected", "euros")
"""Columns of a finding."""

DISPUTES = ("invoice", *HEAD, "why")
"""Columns of the table."""


def cells(finding: InvoiceFinding) -> tuple[object, ...]:
    """A finding as the cells of `HEAD`."""
    values = (
        finding.check,
        finding.access_point,
        finding.charge,
        finding.code,
        finding.first,
        finding.last,
        finding.charged,
        finding.expected,
        finding.euros,
    )
    return tuple("" if value is None else value for value in values)


def disputes(invoice: CheckedInvoice) -> list[tuple[object, ...]]:
    """The findings of an invoice as the rows of `DISPUTES`."""
    return [(invoice.invoice, *cells(one), CHECKS[one.check]) for one in invoice.findings]
