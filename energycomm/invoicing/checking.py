"""What an invoice charges that its own parts, the price lists or the store contradict, in euros.

A pure function of an invoice with what is known of its access points: the order in which files came does not matter.
The difference between what a line charges and what it should is divided by causes, one after the other: its price, its
quantity, the tariff, the power, and the days that we did not supply. What is not known gives no finding. A finding is
positive where too much is charged.
"""

from __future__ import annotations

from calendar import isleap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise

from msgspec import Struct, field

from energycomm.invoicing.pricelist import Component, PriceList
from energycomm.kernel.messages import GridCharge, GridInvoice
from energycomm.kernel.parts import ChargeLine

CENT = Decimal("0.01")
DAY = timedelta(days=1)
ZERO = Decimal(0)
POWER_DAY = "power-day"
DAILY = ("management", "metering", "fixed")
"""Components that a day bears once."""

CHECKS: dict[str, str] = {
    "count": "the invoice announces another number of charges than there are",
    "net": "the total without tax is not the sum of the charges",
    "tax-sum": "the tax of the invoice is not that of its lines",
    "recapitulation": "a sum of the recapitulation is not that of its lines",
    "price": "the price is not that of the list of the days charged",
    "quantity": "the quantity is not that of the days charged",
    "tariff": "the tariff is not that of the contract",
    "power": "the power is not that of the contract",
    "supply": "days are charged on which we did not supply",
    "consumption": "the energy is not that between the readings",
    "tax": "the tax rate was not in force on the days charged",
    "twice": "the same days or the same energy are charged again",
}
"""Check -> what it found."""


class InvoiceFinding(Struct, frozen=True, kw_only=True):
    """One contradiction.

    Attributes:
      check: which of `CHECKS`.
      access_point, charge, code: whose, and the line; None of the invoice as a whole.
      first, last: days of the line.
      charged, expected: both values, as words with their unit.
      euros: what is charged too much, negative where too little.
    """

    check: str
    access_point: str | None = None
    charge: str | None = None
    code: str | None = None
    first: date | None = None
    last: date | None = None
    charged: str
    expected: str
    euros: Decimal


class Terms(Struct, frozen=True):
    """Tariff and power of a contract from a day on; a market tells the power of a class in `powers`."""

    since: date
    tariff: str | None
    power: Decimal | None


class Metered(Struct, frozen=True):
    """Energy between two readings, in kWh: the first and last day, and what each time class counts."""

    first: date
    last: date
    energies: dict[str, Decimal]


class PointFacts(Struct):
    """What the store knows of an access point.

    Attributes:
      terms: of its contracts, in order.
      supplied: first and last day of each supply; the last is None while it goes on.
      metered: its energies.
      before: charges of earlier invoices.
    """

    terms: list[Terms] = field(default_factory=list)
    supplied: list[tuple[date, date | None]] = field(default_factory=list)
    metered: list[Metered] = field(default_factory=list)
    before: list[tuple[str, tuple[ChargeLine, ...]]] = field(default_factory=list)

    def terms_on(self, day: date) -> Terms | None:
        """The terms of a day."""
        return next((one for one in reversed(self.terms) if one.since <= day), None)

    def supplies(self, day: date) -> bool | None:
        """Whether the point was ours on a day; None where no supply is known at all."""
        if not self.supplied:
            return None
        return any(first <= day and (last is None or day <= last) for first, last in self.supplied)


class Content(Struct):
    """An invoice as far as it is there."""

    number: str
    parts: list[GridInvoice] = field(default_factory=list)
    charges: list[GridCharge] = field(default_factory=list)

    @property
    def general(self) -> GridInvoice | None:
        """Its general file."""
        return next((one for one in self.parts if one.part == "general"), None)

    @property
    def net(self) -> Decimal:
        """The sum of the charges."""
        return sum((one.total_excluding_tax for one in self.charges), ZERO)


def check(content: Content, facts: dict[str, PointFacts], prices: PriceList) -> list[InvoiceFinding]:
    """Everything that an invoice is contradicted in.

    Args:
      content: the invoice.
      facts: access point -> what is known of it.
      prices: the tables of its market.
    """
    found = list(_totals(content))
    known: dict[str, list[GridCharge]] = {}
    for charge in content.charges:
        known.setdefault(charge.access_point or "", []).append(charge)
    for point, charges in known.items():
        told = facts.get(point, PointFacts())
        for charge in charges:
            for line in charge.lines:
                found += _line(charge, line, told, prices)
        found += _consumption(charges, told, prices)
        found += _twice(charges, told, prices)
    return found


# --- the invoice against its parts ------------------------------------------------------------------------------------


def _totals(content: Content) -> Iterator[InvoiceFinding]:
    general = content.general
    lines = [line for charge in content.charges for line in charge.lines]
    if general is None:
        return
    net, there = general.total_excluding_tax, len(content.charges)
    interest = sum((one.amount for one in general.interests), ZERO)
    over = ZERO if net is None else min((net - content.net, net - content.net - interest), key=abs)
    complete = general.charges is None or general.charges == there
    if not complete:
        yield InvoiceFinding(
            check="count", charged=f"{general.charges} charges", expected=f"{there} charges", euros=over
        )
    elif abs(over) > CENT:
        yield InvoiceFinding(check="net", charged=f"{net} EUR", expected=f"{content.net} EUR", euros=over)
    if complete and general.total_tax is not None:
        tax = _tax(lines)
        if tax is not None and abs(general.total_tax - tax) > CENT * max(len(lines), 1) + abs(tax) / 1000:
            yield InvoiceFinding(
                check="tax-sum",
                charged=f"{general.total_tax} EUR",
                expected=f"{tax} EUR",
                euros=general.total_tax - tax,
            )
    if complete:
        for part in content.parts:
            yield from _recapitulated(part, lines)


def _tax(lines: Iterable[ChargeLine]) -> Decimal | None:
    """Value added tax of the lines; None where one bears a rate that is unknown."""
    bases: Counter[str] = Counter()
    for line in lines:
        if line.tax is None:
            return None
        bases[line.tax] += line.amount  # type: ignore[assignment]
    return sum((_cents(Decimal(base) * (_rate(tax) or ZERO) / 100) for tax, base in bases.items()), ZERO)


def _recapitulated(part: GridInvoice, lines: Sequence[ChargeLine]) -> Iterator[InvoiceFinding]:
    """Sums of the recapitulation, by what groups the lines: code and rate in F15, nature, tariff and rate in F12."""
    sums: dict[tuple[str, ...], Decimal] = {}
    there: dict[tuple[str, ...], Decimal] = {}
    told = [
        one for one in part.sums if (one.count is not None and one.start is not None) or part.part == "recapitulation"
    ]
    by_nature = part.part == "recapitulation"
    for into, group in ((sums, told), (there, lines)):
        for line in group:
            rate = _rate(line.tax)
            key = ((line.nature or "", line.tariff or "") if by_nature else (line.code,)) + (
                format(rate.normalize(), "f") if rate is not None else line.tax or "",
            )
            into[key] = into.get(key, ZERO) + line.amount
    for key in sums.keys() | there.keys() if sums else ():
        over = sums.get(key, ZERO) - there.get(key, ZERO)
        if abs(over) > CENT:
            yield InvoiceFinding(
                check="recapitulation",
                code=key[0],
                charged=f"{sums.get(key, ZERO)} EUR",
                expected=f"{there.get(key, ZERO)} EUR",
                euros=ZERO,  # the sums are not paid: their difference from the lines is
            )


# --- a line against the lists and the contract ------------------------------------------------------------------------


def _line(charge: GridCharge, line: ChargeLine, facts: PointFacts, prices: PriceList) -> Iterator[InvoiceFinding]:
    component = prices.component(charge.market_type, line)
    if line.start is None or line.end is None or line.end < line.start:
        return
    yield from _rate_of(charge, line, component, prices)
    if component is None or line.quantity is None or not line.amount:
        return
    if component.name == "energy":
        expected = _energy_price(line, component, prices)
        if expected is not None and abs(line.amount - expected) > _tolerance(line):
            yield _finding(
                charge,
                line,
                "price",
                f"{line.price} EUR",
                f"{_exact(expected / line.quantity)} EUR",
                line.amount - expected,
            )
    elif component.name in DAILY and prices.counts(line.unit):
        yield from _daily(charge, line, component, facts, prices)


def _daily(
    charge: GridCharge, line: ChargeLine, component: Component, facts: PointFacts, prices: PriceList
) -> Iterator[InvoiceFinding]:
    """The difference of a line that charges days, cause by cause; `rest` is what the causes before leave."""
    assert line.start is not None
    assert line.end is not None
    assert line.quantity is not None
    days = list(_days(line.start, line.end))
    sign = -1 if line.amount < 0 else 1
    quantity, by_power = abs(line.quantity), prices.counts(line.unit) == POWER_DAY
    amount = abs(line.amount)
    listed = [prices.price(component, line.tariff, day) for day in days]
    paid = amount / quantity if quantity else ZERO
    known = all(one is not None for one in listed)
    length, each = 1, [paid] * len(days)
    if known:
        length, each = _years(days, [one or ZERO for one in listed], quantity, amount)
    rest = sum(each, ZERO) / len(days) * quantity
    if known and abs(amount - rest) > _tolerance(line):
        told = f"{_exact(abs(line.price) if line.price is not None else paid)} EUR"
        yield _finding(charge, line, "price", told, f"{_exact(rest / quantity)} EUR", sign * (amount - rest))
    elif not known or abs(amount - rest) <= _tolerance(line):
        each = [one * amount / rest if rest else one for one in each]  # rounding stays with the price
        rest = amount
    power = line.subscribed_power if by_power else Decimal(1)
    if power is None:
        power = quantity / len(days)
    due = sum(each, ZERO) * power
    if abs(rest - due) > CENT:
        unit = line.unit or ""
        yield _finding(
            charge, line, "quantity", f"{quantity} {unit}", f"{power * len(days)} {unit}", sign * (rest - due)
        )
    rest = due
    contracts = [facts.terms_on(day) for day in days]
    if line.tariff is not None and known and all(one is not None and one.tariff is not None for one in contracts):
        others = [
            prices.price(component, one.tariff, day) if one is not None else None
            for one, day in zip(contracts, days, strict=True)
        ]
        tariffs = sorted({one.tariff or "" for one in contracts if one is not None})
        if tariffs != [line.tariff] and all(one is not None for one in others):
            each = [(one or ZERO) / _length(length, day) for one, day in zip(others, days, strict=True)]
            due = sum(each, ZERO) * power
            if abs(rest - due) > CENT:
                yield _finding(charge, line, "tariff", line.tariff, ", ".join(tariffs), sign * (rest - due))
            rest = due
    powers = [power] * len(days)
    if by_power and all(one is not None and one.power is not None for one in contracts):
        powers = [one.power for one in contracts if one is not None and one.power is not None]
        due = sum((a * b for a, b in zip(each, powers, strict=True)), ZERO)
        if abs(rest - due) > CENT:
            shown = ", ".join(dict.fromkeys(format(one.normalize(), "f") for one in powers))
            yield _finding(charge, line, "power", format(power.normalize(), "f"), shown, sign * (rest - due))
        rest = due
    strange = [facts.supplies(day) is False for day in days]
    due = sum((a * b for a, b, out in zip(each, powers, strange, strict=True) if not out), ZERO)
    if sign > 0 and any(strange) and abs(rest - due) > ZERO:
        yield _finding(charge, line, "supply", f"{len(days)} days", f"{strange.count(False)} days", rest - due)


def _years(
    days: Sequence[date], yearly: Sequence[Decimal], quantity: Decimal, amount: Decimal
) -> tuple[int, list[Decimal]]:
    """The price of each day, by a year of its own length, of 365 or of 366 days: whichever the amount is nearest to.
    Which of them the operator takes is not said. The length is 0 for that of the calendar."""
    made = [
        (length, [one / _length(length, day) for one, day in zip(yearly, days, strict=True)])
        for length in (0, 365, 366)
    ]
    return min(made, key=lambda one: abs(amount - sum(one[1], ZERO) / len(days) * quantity))


def _length(length: int, day: date) -> int:
    return length or (366 if isleap(day.year) else 365)


def _energy_price(line: ChargeLine, component: Component, prices: PriceList) -> Decimal | None:
    assert line.start is not None
    assert line.end is not None
    assert line.quantity is not None
    days = list(_days(line.start, line.end))
    listed = [prices.price(component, line.tariff, day) for day in days]
    if line.unit != "kWh" or any(one is None for one in listed):
        return None
    return line.quantity * sum((one or ZERO for one in listed), ZERO) / len(days)


def _rate_of(
    charge: GridCharge, line: ChargeLine, component: Component | None, prices: PriceList
) -> Iterator[InvoiceFinding]:
    """The tax rate against those in force on the days charged, or on the day that the line names for it."""
    assert line.start is not None
    assert line.end is not None
    rate = _rate(line.tax)
    first, last = min(line.start, line.tax_date or line.start), max(line.end, line.tax_date or line.end)
    allowed = prices.rates(component, line.subscribed_power, first, last)
    if line.tax_date is not None and component is not None and first < line.start:
        allowed = prices.rates(component, line.subscribed_power, line.start, line.end)
    if rate is None or not rate or not allowed or rate in allowed:
        return
    yield _finding(charge, line, "tax", f"{rate} %", f"{allowed[0]} %", line.amount * (rate - allowed[0]) / 100)


# --- energy and repetition --------------------------------------------------------------------------------------------


def _consumption(charges: Sequence[GridCharge], facts: PointFacts, prices: PriceList) -> Iterator[InvoiceFinding]:
    """The energy of the lines of one class against that between the readings of the same days."""
    lines: dict[str, list[tuple[GridCharge, ChargeLine]]] = {}
    for charge in charges:
        for line in charge.lines:
            component = prices.component(charge.market_type, line)
            if component is None or component.name != "energy" or line.unit != "kWh" or line.start is None:
                continue
            if line.end is not None and line.quantity is not None and line.quantity > 0:
                lines.setdefault(component.time_class, []).append((charge, line))
    for name, told in lines.items():
        for metered in facts.metered:
            within = [
                (charge, line)
                for charge, line in told
                if line.start and line.end and metered.first <= line.start and line.end <= metered.last
            ]
            energy = metered.energies.get(name)
            if energy is None or not within or not _covers([line for _, line in within], metered):
                continue
            charged = sum((line.quantity or ZERO for _, line in within), ZERO)
            if abs(charged - energy) > 1 and charged:
                charge, line = within[0]
                euros = sum((line.amount for _, line in within), ZERO) * (charged - energy) / charged
                yield _finding(charge, line, "consumption", f"{_exact(charged)} kWh", f"{_exact(energy)} kWh", euros)


def _covers(lines: Sequence[ChargeLine], metered: Metered) -> bool:
    """Whether lines follow one another over just the days of a measurement."""
    spans = sorted((line.start, line.end) for line in lines if line.start and line.end)
    follows = all(after[0] == before[1] + DAY for before, after in pairwise(spans))
    return follows and spans[0][0] == metered.first and spans[-1][1] == metered.last


def _twice(charges: Sequence[GridCharge], facts: PointFacts, prices: PriceList) -> Iterator[InvoiceFinding]:
    """Days of a component, or energies, that were charged before, on an earlier invoice or this, and not given back."""
    days: Counter[tuple[str, date]] = Counter()
    energies: Counter[tuple[object, ...]] = Counter()
    for market_type, earlier in facts.before:
        for line in earlier:
            _count(days, energies, prices, market_type, line)
    given = [(charge, line) for charge in charges for line in charge.lines if line.amount < 0]
    charged = [(charge, line) for charge in charges for line in charge.lines if line.amount > 0]
    for charge, line in given:
        _count(days, energies, prices, charge.market_type, line)
    for charge, line in charged:
        component = prices.component(charge.market_type, line)
        if component is None or line.start is None or line.end is None:
            continue
        span = list(_days(line.start, line.end))
        if component.name in DAILY and prices.counts(line.unit):
            again = [day for day in span if days[component.name, day] >= 1]
            if again:
                told, euros = f"{len(span)} days", line.amount * len(again) / len(span)
                yield _finding(charge, line, "twice", told, f"{len(span) - len(again)} days", euros)
        elif component.name == "energy" and energies[_key(component, line)] >= 1:
            yield _finding(charge, line, "twice", f"{_exact(line.quantity or ZERO)} kWh", "0 kWh", line.amount)
        _count(days, energies, prices, charge.market_type, line)


def _count(
    days: Counter[tuple[str, date]],
    energies: Counter[tuple[object, ...]],
    prices: PriceList,
    market_type: str,
    line: ChargeLine,
) -> None:
    component = prices.component(market_type, line)
    if component is None or line.start is None or line.end is None:
        return
    sign = -1 if line.amount < 0 else 1
    if component.name == "energy":
        energies[_key(component, line)] += sign
    elif component.name in DAILY and prices.counts(line.unit) and line.amount:
        for day in _days(line.start, line.end):
            days[component.name, day] += sign


def _key(component: Component, line: ChargeLine) -> tuple[object, ...]:
    return component, line.start, line.end, abs(line.quantity or ZERO)


# --- words and numbers ------------------------------------------------------------------------------------------------


def _finding(
    charge: GridCharge, line: ChargeLine, name: str, charged: str, expected: str, euros: Decimal
) -> InvoiceFinding:
    return InvoiceFinding(
        check=name,
        access_point=charge.access_point,
        charge=charge.charge_reference,
        code=line.code,
        first=line.start,
        last=line.end,
        charged=charged,
        expected=expected,
        euros=_cents(euros),
    )


def _days(first: date, last: date) -> Iterator[date]:
    return (first + DAY * number for number in range(min((last - first).days, 3660) + 1))


def _tolerance(line: ChargeLine) -> Decimal:
    """A cent, and what the rounding of the unit price makes of the quantity: five decimals at least."""
    exponent = line.price.as_tuple().exponent if line.price is not None else 0
    decimals = max(-exponent if isinstance(exponent, int) else 0, 5)
    return CENT + abs(line.quantity or ZERO) * Decimal(5).scaleb(-decimals - 1)


def _rate(tax: str | None) -> Decimal | None:
    if tax is None or len(tax) > 12 or not tax.isascii() or not tax.replace(".", "", 1).isdigit():
        return None
    return Decimal(tax)


def _cents(amount: Decimal) -> Decimal:
    return amount.quantize(CENT, ROUND_HALF_UP)


def _exact(number: Decimal) -> str:
    return format(number.quantize(Decimal("0.000001"), ROUND_HALF_UP).normalize(), "f")
