"""Digests INVOIC: the head and totals of a grid invoice, and what it charges each access point.

The segments are those of the directory (UN/EDIFACT D.96A); no guide of the market is public. Amounts of a credit note
(BGM 381) are positive there and become negative: an amount of a Kernel message is negative when credited. Where the
total of a credit note is negative already, its amounts are taken as they are written.

The summary tells the totals: MOA+79 without tax, MOA+176 the tax, MOA+77 with tax. A group that begins with TAX tells
one rate: MOA+125 what is taxed, MOA+124 the tax. Without MOA+176 the tax is the sum of the rates.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timezone
from decimal import Decimal
from typing import Any, NamedTuple

from adapters.be_atrias.codes import refusal
from adapters.be_atrias.edifact.facts import Facts, named, number, short
from adapters.common.codes import Unreadable
from adapters.common.edifact.syntax import Segment, groups
from adapters.common.table import Table
from energycomm.kernel.messages import GridCharge, GridInvoice
from energycomm.kernel.parts import ChargeLine, Tax


class Invoice(NamedTuple):
    """An INVOIC, split.

    Attributes:
      number: of the invoice.
      type: code of BGM: invoice or credit note.
      before: segments of its head.
      lines: access point -> the segments of each of its lines; None for lines that name no point.
      summary: segments after UNS.
    """

    number: str
    type: str
    before: list[Segment]
    lines: dict[str | None, list[list[Segment]]]
    summary: list[Segment]


def split(table: Table, segments: Sequence[Segment], bgm: Segment) -> Invoice:
    """The parts of an INVOIC. A line that names no access point is of the point of the line before it."""
    end = next((at for at, segment in enumerate(segments) if segment.tag == "UNS"), len(segments))
    before, runs = groups(segments[:end], lambda segment: segment.tag == "LIN")
    places = table.raw["edifact"]["places"]["access_point"]
    point = next((one.get(1) for one in before if one.tag == "LOC" and one.get(0) in places), "") or None
    lines: dict[str | None, list[list[Segment]]] = {}
    for run in runs:
        named_here = (one.get(1) for one in run if one.tag == "LOC" and one.get(0) in places)
        point = next(named_here, "") or point
        lines.setdefault(point, []).append(run)
    before = [segment for segment in before if segment.tag != "BGM"]
    return Invoice(bgm.get(1), bgm.get(0), before, lines, list(segments[end + 1 :]))


def head_of(table: Table, invoice: Invoice, head: dict[str, Any]) -> tuple[GridInvoice, dict[str, Any]]:
    """The head and totals of an invoice, and what is kept as particulars.

    Raises:
      Unreadable: a date, number or currency that cannot be read, or is missing.
    """
    summary, rates = groups(invoice.summary, lambda segment: segment.tag == "TAX")
    read = _Read(table, [*invoice.before, *summary], invoice, ("net", "base", "tax", "all_tax", "gross"), rated=False)
    taxes: list[Tax] = []
    beside: dict[str, Any] = {}
    for at, run in enumerate(rates, 1):
        of_rate = _Read(table, run, invoice, ("base", "tax"))
        amounts = of_rate.amounts
        rate = None if of_rate.rate is None else Decimal(of_rate.rate)
        taxes.append(Tax(code=of_rate.tax, rate=rate, base=amounts.get("base"), amount=amounts.get("tax")))
        beside |= {f"TAX[{at}]/{name}": value for name, value in of_rate.kept(head).items()}
    told = _totals(read.amounts, [one.amount for one in taxes])
    told |= {**head, **_numbered(invoice), "reason": "invoicing", "effective": read.written}
    made = GridInvoice(
        invoice_type=invoice.type or None,
        invoice_date=read.written.date(),
        due_date=read.day("due"),
        currency=read.currency(),
        charges=len([point for point in invoice.lines if point]) or None,
        taxes=tuple(taxes),
        **told,
    )
    return made, read.kept(head) | beside


def _totals(whole: dict[str, Decimal], by_rate: list[Decimal | None]) -> dict[str, Any]:
    """The totals by field, of the amounts of the summary and the tax by rate."""
    tax = whole.get("all_tax", whole.get("tax"))
    known = [amount for amount in by_rate if amount is not None]
    if tax is None and known and len(known) == len(by_rate):
        tax = sum(known, Decimal(0))
    told = {
        "total_excluding_tax": whole.get("net", whole.get("base")),
        "total_tax": tax,
        "total_including_tax": whole.get("gross"),
    }
    return {field: amount for field, amount in told.items() if amount is not None}


def charge_of(
    table: Table, invoice: Invoice, point: str | None, head: dict[str, Any]
) -> tuple[GridCharge, dict[str, Any]]:
    """What an invoice charges one access point, and what is kept as particulars of its lines.

    Raises:
      Unreadable: a date, number or currency that cannot be read, or is missing.
    """
    of_head = _Read(table, invoice.before, invoice, (), rated=False)
    lines: list[ChargeLine] = []
    kept: dict[str, Any] = {}
    contract = original = None
    for run in invoice.lines[point]:
        read = _Read(table, run, invoice, ("line",), zone=of_head.facts.zone)
        lines.append(_line(read, run[0]))
        contract = contract or read.facts.names.get("contract")
        original = original or read.facts.names.get("original_invoice")
        kept |= {f"{named(f'LIN+{run[0].get(0)}')}/{name}": value for name, value in read.kept(head).items()}
    told = {**head, **_numbered(invoice), "reason": "invoicing", "effective": of_head.written}
    told["reference"] = short(f"{told['invoice']}:{point or '-'}", 64, "BGM")
    made = GridCharge(
        access_point=None if point is None else short(point, 40, "LOC"),
        invoice_date=of_head.written.date(),
        charge_reference=told["reference"],
        currency=of_head.currency(),
        contract_reference=contract,
        original_invoice=original or of_head.facts.names.get("original_invoice"),
        total_excluding_tax=sum((line.amount for line in lines), Decimal(0)),
        lines=tuple(lines),
        **told,
    )
    return made, kept


def _numbered(invoice: Invoice) -> dict[str, Any]:
    text = short(invoice.number, 64, "BGM")
    return {"invoice": text, "reference": text}


def _line(read: _Read, lin: Segment) -> ChargeLine:
    if "line" not in read.amounts:
        raise Unreadable(refusal("SYN_MISSING", f"LIN {lin.get(0)}", expected="the amount of the line (MOA)"))
    return ChargeLine(
        code=short(lin.get(2) or read.article or "-", 64, "LIN"),
        label=read.label,
        start=read.day("charge_start"),
        end=read.day("charge_end"),
        quantity=read.quantity,
        unit=read.unit,
        price=read.price,
        amount=read.amounts["line"],
        tax=read.rate,
    )


class _Read:
    """What some segments of an INVOIC say; what no field takes is kept."""

    def __init__(
        self,
        table: Table,
        run: Sequence[Segment],
        invoice: Invoice,
        amounts: Collection[str],
        *,
        rated: bool = True,
        zone: timezone | None = None,
    ) -> None:
        self.table, self.edi = table, table.raw["edifact"]
        self._wanted, self._rated = amounts, rated
        sign = self._sign(invoice)
        self.amounts: dict[str, Decimal] = {}
        self.article: str | None = None
        self.label: str | None = None
        self.unit: str | None = None
        self.rate: str | None = None
        self.tax: str | None = None
        self._currency: str | None = None
        self.quantity: Decimal | None = None
        self.price: Decimal | None = None
        self._rest: list[Segment] = []
        for segment in run:
            if not self._taken(segment, sign):
                self._rest.append(segment)
        self.facts = Facts(table, zone).take(self._rest)

    def _sign(self, invoice: Invoice) -> int:
        """What an amount counts for: a credit note takes back, unless its total is negative already."""
        if self.edi["documents"].get(invoice.type) != "credit":
            return 1
        totals = [
            number(one.get(0, 1))
            for one in invoice.summary
            if one.tag == "MOA" and self.edi["amounts"].get(one.get(0)) in ("gross", "net")
        ]
        return 1 if totals and max(totals) < 0 else -1

    def _taken(self, segment: Segment, sign: int) -> bool:
        """Whether the segment fills a field that is still empty."""
        match segment.tag:
            case "LIN":
                return True
            case "MOA":
                known = self.edi["amounts"].get(segment.get(0))
                if known not in self._wanted or known in self.amounts:
                    return False
                self.amounts[known] = sign * number(segment.get(0, 1))
                self._currency = self._currency or segment.get(0, 2) or None
            case "QTY" if segment.get(0) in self.edi["invoiced"] and self.quantity is None:
                self.quantity = sign * number(segment.get(0, 1))
                unit = segment.get(0, 2)
                self.unit = short(self.table.codes["unit"].words.get(unit, unit), 64, "QTY") if unit else None
            case "PRI" if segment.get(0) in self.edi["prices"] and self.price is None:
                basis = number(segment.get(0, 4)) if segment.get(0, 4) else Decimal(1)
                if not basis:
                    raise Unreadable(refusal("SYN_VALUE", "PRI", segment.get(0, 4), "a basis above zero"))
                self.price = number(segment.get(0, 1)) / basis
                return basis == 1
            case "TAX" if self._rated and segment.get(4, 3) and self.rate is None:
                self.rate = format(number(segment.get(4, 3)).normalize(), "f")
                self.tax = short(segment.get(1), 64, "TAX") if segment.get(1) else None
                return not any(any(element) for element in segment.elements[5:])
            case "IMD" if segment.get(2, 3) and self.label is None:
                self.label = short(segment.get(2, 3), 400, "IMD")
            case "PIA" if segment.get(1) and self.article is None:
                self.article = segment.get(1)
            case "CUX" if segment.get(0, 1) and self._currency is None:
                self._currency = segment.get(0, 1)
            case _:
                return False
        return True

    @property
    def written(self) -> Any:
        """Midnight of the day of the invoice."""
        at = self.facts.dates.get("created")
        if at is None:
            raise Unreadable(refusal("SYN_MISSING", "DTM+137", expected="the date of the invoice"))
        return at.replace(hour=0, minute=0, second=0)

    def day(self, name: str) -> Any:
        """A civil day; None where it is not there."""
        at = self.facts.dates.get(name)
        return None if at is None else at.date()

    def currency(self) -> str:
        """The currency.

        Raises:
          Unreadable: it is missing, or no code of three capitals.
        """
        found = self._currency or ""
        if not (len(found) == 3 and found.isascii() and found.isalpha() and found.isupper()):
            raise Unreadable(refusal("SYN_VALUE" if found else "SYN_MISSING", "CUX", found or None, "EUR"))
        return found

    def kept(self, head: dict[str, Any]) -> dict[str, Any]:
        """What no field carries; the parties where they are not those of the interchange."""
        taken = ("created", "due", "charge_start", "charge_end", "access_point", "contract", "original_invoice")
        return self.facts.kept(lambda name, value: name in taken or (name in head and head[name] == value))
