"""What an invoice is contested for, as a table to be sent to the grid operator."""

from __future__ import annotations

from msgspec import structs

from energycomm.invoicing.checking import InvoiceFinding
from energycomm.invoicing.gathering import CheckedInvoice
from energycomm.invoicing.words import CHECKS, value_in
from energycomm.texts.catalogues import translate, translate_sentence

HEAD = ("check", "access point", "charge", "line", "first day", "last day", "charged", "expected", "euros")
"""Columns of a finding."""

DISPUTES = ("invoice", *HEAD, "why", "label", "source", "invoice date", "currency")
"""Columns of the table; `euros` is the difference, `source` where the expected value is from."""


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


def head(language: str) -> list[str]:
    """The columns of the table in a language: en, fr or nl."""
    return [translate(name, language) for name in DISPUTES]


def disputes(invoice: CheckedInvoice, language: str = "en") -> list[tuple[object, ...]]:
    """The findings of an invoice as the rows of `DISPUTES`, in a language: en, fr or nl."""
    dated, rows = invoice.invoice_date or "", []
    for one in invoice.findings:
        values = structs.replace(
            one, charged=value_in(one.charged, language), expected=value_in(one.expected, language)
        )
        why = translate(CHECKS[one.check], language)
        more = (why, one.label or "", translate_sentence(one.source or "", language), dated, invoice.currency)
        rows.append((invoice.invoice, *cells(values), *more))
    return rows
