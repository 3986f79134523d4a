"""What an invoice charges that its own parts, the price lists or the store contradict, in euros.

A pure function of an invoice with what is known of its access points: the order in which files came does not matter.
The difference between what a line charges and what it should is divided by causes, one after the other: its price, its
quantity, the tariff, the power, and the days that we did not supply. What is not known gives no finding. A finding is
positive where too much is charged.
"""

from __future__ import annotations

from calendar import isleap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise

from msgspec import Struct, field, structs

from energycomm.invoicing.counting import Counts
from energycomm.invoicing.pricelist import Component, PriceList
from energycomm.invoicing.settlement import Charge, Entry, Place, correcting, settled
from energycomm.kernel.counting import counted
from energycomm.kernel.messages import GridCharge, GridInvoice
from energycomm.kernel.parts import ChargeLine
from energycomm.texts import wording

CENT = Decimal("0.01")
DAY = timedelta(days=1)
ZERO = Decimal(0)
POWER_DAY = "power-day"
DAILY = ("management", "metering", "fixed")
"""Components that a day bears once."""


class InvoiceFinding(Struct, frozen=True, kw_only=True):
    """One contradiction.

    Attributes:
      check: which of `energycomm.invoicing.words.CHECKS`.
      access_point, charge, code, label: whose, and the line; None of the invoice as a whole.
      first, last: days of the line.
      charged, expected: both values, as words with their unit.
      euros: what is charged too much, negative where too little.
      source: where the expected value is from: the price list, the law, or what the store knows.
    """

    check: str
    access_point: str | None = None
    charge: str | None = None
    code: str | None = None
    label: str | None = None
    first: date | None = None
    last: date | None = None
    charged: str
    expected: str
    euros: Decimal
    source: str | None = None


class Terms(Struct, frozen=True):
    """Tariff and power of a contract from a day on, and the power of each time class where it has one for each."""

    since: date
    tariff: str | None
    power: Decimal | None
    powers: dict[str, Decimal] = {}


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
      metered: its energies, as they were told.
      counts: what its registers counted.
      others: charges of other invoices: corrections of this one's, what this one corrects, what it charges again.
    """

    terms: list[Terms] = field(default_factory=list)
    supplied: list[tuple[date, date | None]] = field(default_factory=list)
    metered: list[Metered] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    others: list[Charge] = field(default_factory=list)

    def terms_on(self, day: date) -> Terms | None:
        """The terms of a day."""
        return next((one for one in reversed(self.terms) if one.since <= day), None)

    def terms_words(self, days: Sequence[date]) -> str:
        """Since when the terms of some days hold."""
        since = {one.since for day in days if (one := self.terms_on(day)) is not None}
        return wording("contract since {0}").format(", ".join(one.isoformat() for one in sorted(since)))

    @property
    def supply_words(self) -> str:
        """When the point was ours."""
        return ", ".join(
            wording("supply from {0}").format(first)
            if last is None
            else wording("supply from {0} to {1}").format(first, last)
            for first, last in self.supplied
        )

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
                found += _rate_of(charge, line, prices.component(charge.market_type, line), prices)
        standing = settled(charges, told.others, prices)
        for charge in charges:
            found += _class_powers(charge, [one.line for one in standing if one.charge is charge], told, prices)
        corrected = _corrected(standing, told, prices)
        for entry in standing:
            if entry.ours:
                found += corrected[entry.order] if entry.order in corrected else _line(entry, told, prices)
        once = [entry for entry in standing if not (entry.order in corrected and correcting(entry))]
        again = _again(once, prices)
        energies, read = _consumption(standing, {entry.order for entry, days in again if days is None}, told)
        found += energies
        found += [_twice(entry, days, standing) for entry, days in again if entry.ours and entry.order not in read]
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
            check="count",
            charged=counted(general.charges or 0, "charge"),
            expected=counted(there, "charge"),
            euros=over,
            source=wording("the detail files"),
        )
    elif abs(over) > CENT:
        words = f"{net} EUR", f"{content.net} EUR"
        yield InvoiceFinding(
            check="net",
            charged=words[0],
            expected=words[1],
            euros=over,
            source=wording("the charges of the detail files"),
        )
    gross = general.total_including_tax
    if net is not None and general.total_tax is not None and gross is not None:
        due = net + general.total_tax
        due = min((due, due + (general.total_contributions or ZERO)), key=lambda one: abs(gross - one))
        if abs(gross - due) > CENT:
            yield InvoiceFinding(
                check="gross",
                charged=f"{gross} EUR",
                expected=f"{due} EUR",
                euros=gross - due,
                source=wording("its totals without tax and of the tax"),
            )
    if complete and general.total_tax is not None:
        tax = _tax(lines)
        if tax is not None and abs(general.total_tax - tax) > CENT * max(len(lines), 1) + abs(tax) / 1000:
            yield InvoiceFinding(
                check="tax-sum",
                charged=f"{general.total_tax} EUR",
                expected=f"{tax} EUR",
                euros=general.total_tax - tax,
                source=wording("the lines by their tax rates"),
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
                source=wording("the lines of the detail files"),
            )


# --- a line against the lists and the contract ------------------------------------------------------------------------


def _corrected(standing: Sequence[Entry], facts: PointFacts, prices: PriceList) -> dict[Place, list[InvoiceFinding]]:
    """Where a line with findings has corrections that do not annul it: what they leave of the findings, which is that
    of the last correction; by the place of each of these lines."""
    ours = {entry.key for entry in standing if entry.ours}
    alike: dict[tuple[object, ...], list[Entry]] = {}
    for entry in standing:
        if entry.key in ours and entry.component is not None:
            alike.setdefault(entry.key, []).append(entry)
    left: dict[Place, list[InvoiceFinding]] = {}
    for several in alike.values():
        originals = [entry for entry in several if not correcting(entry)]
        corrections = [entry for entry in several if correcting(entry)]
        found = [each for entry in originals for each in _line(entry, facts, prices)] if corrections else []
        if not found:
            continue
        charged = sum((entry.line.amount for entry in several), ZERO)
        rest = sum((each.euros for each in found), sum((entry.line.amount for entry in corrections), ZERO))
        left |= {entry.order: [] for entry in several}
        if abs(rest) > CENT * len(several):
            last, words = corrections[-1], (f"{charged} EUR", f"{_cents(charged - rest)} EUR")
            left[last.order] = [_finding(last.charge, last.line, found[0].check, *words, rest, found[0].source)]
    return left


def _line(entry: Entry, facts: PointFacts, prices: PriceList) -> Iterator[InvoiceFinding]:
    charge, line, component = entry.charge, entry.line, entry.component
    if line.quantity is not None and line.price is not None:
        product = _cents(line.quantity * line.price)
        if abs(line.amount - product) > _tolerance(line):
            words = f"{line.amount} EUR", f"{product} EUR"
            yield _finding(charge, line, "amount", *words, line.amount - product, "its quantity times its price")
            line = structs.replace(line, amount=product)  # the other causes are of what the line itself says
    if line.start is None or line.end is None or line.end < line.start:
        return
    if component is None or line.quantity is None or not line.amount:
        return
    if component.name == "energy":
        expected = _energy_price(line, component, prices)
        if expected is not None and abs(line.amount - expected) > _tolerance(line):
            yield _finding(
                charge,
                line,
                "price",
                f"{_exact(line.price if line.price is not None else line.amount / line.quantity)} EUR",
                f"{_exact(expected / line.quantity)} EUR",
                line.amount - expected,
                prices.source(component, line.tariff, line.start, line.end),
            )
        days = list(_days(line.start, line.end))
        due = line.amount if expected is None else expected
        contracts = [facts.terms_on(day) for day in days]
        tariffs = {one.tariff if one is not None else None for one in contracts}
        if expected is not None and line.tariff is not None and None not in tariffs and tariffs != {line.tariff}:
            others = [
                prices.price(component, one.tariff, day) if one is not None else None
                for one, day in zip(contracts, days, strict=True)
            ]
            if all(one is not None for one in others):
                told = ", ".join(sorted(one for one in tariffs if one is not None))
                other = line.quantity * sum((one or ZERO for one in others), ZERO) / len(days)
                if abs(due - other) > CENT:
                    source = facts.terms_words(days)
                    yield _finding(charge, line, "tariff", line.tariff, told, due - other, source)
                due = other
        strange = [facts.supplies(day) is False for day in days].count(True)
        if line.amount > 0 and strange:
            yield _finding(
                charge,
                line,
                "supply",
                counted(len(days), "day"),
                counted(len(days) - strange, "day"),
                due * strange / len(days),
                facts.supply_words,
            )
    elif component.name in DAILY and prices.counts(line.unit):
        yield from _daily(charge, line, component, facts, prices)


def _daily(
    charge: Charge, line: ChargeLine, component: Component, facts: PointFacts, prices: PriceList
) -> Iterator[InvoiceFinding]:
    """The difference of a line that charges days, cause by cause; `rest` is what the causes before leave."""
    assert line.start is not None
    assert line.end is not None
    assert line.quantity is not None
    days = list(_days(line.start, line.end))
    sign = -1 if line.amount < 0 else 1
    quantity, by_power = abs(line.quantity), prices.counts(line.unit) == POWER_DAY
    amount = abs(line.amount)
    listed = _all_known(prices.price(component, line.tariff, day) for day in days)
    paid, known = amount / quantity if quantity else ZERO, listed is not None
    length, each = (1, [paid] * len(days)) if listed is None else _years(days, listed, quantity, amount)
    rest = sum(each, ZERO) / len(days) * quantity
    if known and abs(amount - rest) > _tolerance(line):
        told = f"{_exact(abs(line.price) if line.price is not None else paid)} EUR"
        source = prices.source(component, line.tariff, line.start, line.end)
        yield _finding(charge, line, "price", told, f"{_exact(rest / quantity)} EUR", sign * (amount - rest), source)
    elif not known or abs(amount - rest) <= _tolerance(line):
        each = [one * amount / rest if rest else one for one in each]  # rounding stays with the price
        rest = amount
    power = line.subscribed_power if by_power else Decimal(1)
    if power is None:
        power = quantity / len(days)
    due = sum(each, ZERO) * power
    if abs(rest - due) > CENT:
        unit = line.unit or ""
        told, due_words = f"{_exact(quantity)} {unit}", f"{_exact(power * len(days))} {unit}"
        source = f"days from {line.start} to {line.end}"
        yield _finding(charge, line, "quantity", told, due_words, sign * (rest - due), source)
    rest = due
    contracts = [facts.terms_on(day) for day in days]
    tariffs = sorted({one.tariff if one is not None and one.tariff is not None else "" for one in contracts})
    if line.tariff is not None and known and "" not in tariffs and tariffs != [line.tariff]:
        others = _prices_of_contracts(component, contracts, days, prices)
        if others is not None:
            each = [one / _length(length, day) for one, day in zip(others, days, strict=True)]
            due = sum(each, ZERO) * power
            if abs(rest - due) > CENT:
                source = facts.terms_words(days)
                yield _finding(charge, line, "tariff", line.tariff, ", ".join(tariffs), sign * (rest - due), source)
            rest = due
    powers = [power] * len(days)
    if by_power and all(one is not None and one.power is not None for one in contracts):
        powers = [one.power for one in contracts if one is not None and one.power is not None]
        due = sum((a * b for a, b in zip(each, powers, strict=True)), ZERO)
        if abs(rest - due) > CENT:
            unit = (line.unit or "").replace(".", "").removesuffix("j").removeprefix("j")
            shown = ", ".join(dict.fromkeys(f"{_exact(one)} {unit}" for one in powers))
            source = facts.terms_words(days)
            yield _finding(charge, line, "power", f"{_exact(power)} {unit}", shown, sign * (rest - due), source)
        rest = due
    strange = [facts.supplies(day) is False for day in days]
    due = sum((a * b for a, b, out in zip(each, powers, strange, strict=True) if not out), ZERO)
    if sign > 0 and any(strange) and abs(rest - due) > ZERO:
        told, ours = counted(len(days), "day"), counted(strange.count(False), "day")
        yield _finding(charge, line, "supply", told, ours, rest - due, facts.supply_words)


def _prices_of_contracts(
    component: Component, contracts: Sequence[Terms | None], days: Sequence[date], prices: PriceList
) -> list[Decimal] | None:
    """The prices of the tariffs that the contract has on each day; None where one is not known."""
    pairs = zip(contracts, days, strict=True)
    return _all_known(None if one is None else prices.price(component, one.tariff, day) for one, day in pairs)


def _all_known(found: Iterable[Decimal | None]) -> list[Decimal] | None:
    """Prices; None where one of them is not known."""
    listed = list(found)
    known = [one for one in listed if one is not None]
    return known if len(known) == len(listed) else None


def _class_powers(
    charge: GridCharge, standing: Sequence[ChargeLine], facts: PointFacts, prices: PriceList
) -> Iterator[InvoiceFinding]:
    """The powers by time class that a charge names against those of the contract, and its weighted power against the
    quantities. How the powers are weighted is not known: euros are told only where all classes have one power, which
    is then their weighted one. A correction, or a change of contract within the days charged, gets no verdict."""
    lines = [
        line
        for line in standing
        if line.start is not None and line.end is not None and line.quantity and line.amount > 0
        if line.start <= line.end and prices.counts(line.unit) == POWER_DAY
    ]
    days = sorted({day for line in lines if line.start and line.end for day in _days(line.start, line.end)})
    contracts = [facts.terms_on(day) for day in days]
    first = contracts[0] if contracts else None
    if charge.original_invoice is not None or first is None or not first.powers:
        return
    if any(one is None or one.powers != first.powers for one in contracts):
        return
    source = facts.terms_words(days)
    named = {power.time_class: power for power in charge.powers if power.nature == "subscribed"}
    differing = [name for name in named if first.powers.get(name, named[name].value) != named[name].value]
    one, other = {power.value for power in named.values()}, set(first.powers.values())
    if differing and len(one) == len(other) == 1:
        (paid,), (due,), unit = one, other, named[differing[0]].unit
        for line in lines if paid else ():
            words = f"{_exact(paid)} {unit}", f"{_exact(due)} {unit}"
            yield _finding(charge, line, "power", *words, line.amount * (paid - due) / paid, source)
    elif lines:
        for name in differing:
            paid, due, unit = named[name].value, first.powers[name], named[name].unit
            words = f"{name} {_exact(paid)} {unit}", f"{name} {_exact(due)} {unit}"
            yield _finding(charge, lines[0], "power", *words, ZERO, source)
    for line in lines if charge.weighted_power is not None else ():
        assert line.start is not None
        assert line.end is not None
        assert line.quantity is not None
        due = (charge.weighted_power or ZERO) * ((line.end - line.start).days + 1)
        if abs(line.quantity - due) > CENT:
            words = f"{_exact(line.quantity)} {line.unit}", f"{_exact(due)} {line.unit}"
            euros = line.amount * (line.quantity - due) / line.quantity
            yield _finding(
                charge, line, "quantity", *words, euros, f"weighted power {_exact(charge.weighted_power or ZERO)}"
            )


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
    charge: Charge, line: ChargeLine, component: Component | None, prices: PriceList
) -> Iterator[InvoiceFinding]:
    """The tax rate against those in force on the days charged, or on the day that the line names for it."""
    if line.start is None or line.end is None:
        return  # no days, no rate of theirs
    rate = _rate(line.tax)
    first, last = min(line.start, line.tax_date or line.start), max(line.end, line.tax_date or line.end)
    allowed = prices.rates(component, line.subscribed_power, first, last)
    if line.tax_date is not None and component is not None and first < line.start:
        allowed = prices.rates(component, line.subscribed_power, line.start, line.end)
    if rate is None or not rate or not allowed or rate in allowed:
        return
    euros, source = line.amount * (rate - allowed[0]) / 100, prices.rate_source(component, allowed[0], first, last)
    yield _finding(charge, line, "tax", f"{_exact(rate)} %", f"{_exact(allowed[0])} %", euros, source)


# --- energy and repetition --------------------------------------------------------------------------------------------


def _consumption(
    standing: Sequence[Entry], again: Set[Place], facts: PointFacts
) -> tuple[list[InvoiceFinding], set[Place]]:
    """The energy that the lines of one class charge for some days, on whatever invoices, against what was told of just
    these days, else against what the registers counted. It is a finding of the last invoice that charges them.

    Args:
      standing: the lines of a point.
      again: places of those that charge an energy again: their euros are found as such, once.
      facts: what is known of the point.

    Returns:
      What differs, and the places of the lines that the readings explain together: none of them is charged again.
    """
    lines: dict[str, dict[tuple[date, date], list[Entry]]] = {}
    for entry in standing:
        line = entry.line
        if entry.component is None or entry.component.name != "energy" or line.unit != "kWh" or line.quantity is None:
            continue
        if line.start is not None and line.end is not None and line.start <= line.end:
            lines.setdefault(entry.component.time_class, {}).setdefault((line.start, line.end), []).append(entry)
    found: list[InvoiceFinding] = []
    explained: set[Place] = set()
    for name, spans in lines.items():
        for run, energy, source in _measured(name, sorted(spans), facts):
            several = [entry for span in run for entry in spans[span]]
            if abs(sum((_signed(one.line) for one in several), ZERO) - energy) <= 1:
                explained |= {entry.order for entry in several}
                continue
            several = [entry for entry in several if entry.order not in again]
            charged = sum((_signed(entry.line) for entry in several), ZERO)
            if abs(charged - energy) <= 1 or not charged:
                continue
            entry = max(several, key=lambda one: one.order)
            if entry.ours:
                euros = sum((one.line.amount for one in several), ZERO) * (charged - energy) / charged
                words = f"{_exact(charged)} kWh", f"{_exact(energy)} kWh"
                found.append(_finding(entry.charge, entry.line, "consumption", *words, euros, source))
    return found, explained


def _signed(line: ChargeLine) -> Decimal:
    """The quantity of a line, negative where it is given back."""
    return (line.quantity or ZERO).copy_sign(-1 if line.amount < 0 else 1) if line.amount else line.quantity or ZERO


def _measured(
    name: str, spans: Sequence[tuple[date, date]], facts: PointFacts
) -> Iterator[tuple[list[tuple[date, date]], Decimal, str]]:
    """Spans of lines that follow one another, and the energy of just their days, the shortest runs first."""
    done: set[tuple[date, date]] = set()
    for metered in facts.metered:
        within = [one for one in spans if metered.first <= one[0] and one[1] <= metered.last]
        energy = metered.energies.get(name)
        if energy is not None and within and _covers(within, metered):
            done.update(within)
            words = wording("energy of the readings from {0} to {1}").format(metered.first, metered.last + DAY)
            yield within, energy, words
    run: list[tuple[date, date]] = []
    for span in spans:
        if run and span[0] != run[-1][1] + DAY:
            run = []
        if span in done:
            run = []
            continue
        if run or facts.counts.knows(name, span[0]):
            run.append(span)
        if run and facts.counts.knows(name, span[1] + DAY):
            charges = facts.counts.between(name, run[0][0], span[1] + DAY)
            if charges is not None:
                yield run, charges, wording("indexes of {0} and {1}").format(run[0][0], span[1] + DAY)
            run = []


def _covers(spans: Sequence[tuple[date, date]], metered: Metered) -> bool:
    """Whether spans follow one another over just the days of a measurement."""
    follows = all(after[0] == before[1] + DAY for before, after in pairwise(spans))
    return follows and spans[0][0] == metered.first and spans[-1][1] == metered.last


def _again(standing: Sequence[Entry], prices: PriceList) -> list[tuple[Entry, list[date] | None]]:
    """Lines whose days of a component, or whose energy, were charged before, on an earlier invoice or the same, and
    that no invoice gave back; with these days, None for an energy."""
    days: Counter[tuple[str, date]] = Counter()
    energies: Counter[tuple[object, ...]] = Counter()
    found: list[tuple[Entry, list[date] | None]] = []
    for entry in standing:
        if entry.line.amount < 0:
            _count(days, energies, prices, entry)
    for entry in standing:
        line, component = entry.line, entry.component
        if component is None or line.start is None or line.end is None or line.amount <= 0:
            continue
        if component.name in DAILY and prices.counts(line.unit):
            again = [day for day in _days(line.start, line.end) if days[_family(line, component), day] >= 1]
            if again:
                found.append((entry, again))
        elif component.name == "energy" and energies[_key(component, line)] >= 1:
            found.append((entry, None))
        _count(days, energies, prices, entry)
    return found


def _twice(entry: Entry, again: Sequence[date] | None, standing: Sequence[Entry]) -> InvoiceFinding:
    line = entry.line
    assert line.start is not None
    assert line.end is not None
    told, left, euros = f"{_exact(line.quantity or ZERO)} kWh", "0 kWh", line.amount
    if again is not None:
        span = len(list(_days(line.start, line.end)))
        told, left = counted(span, "day"), counted(span - len(again), "day")
        euros = line.amount * len(again) / span
    return _finding(entry.charge, line, "twice", told, left, euros, _charged_by(standing, entry))


def _charged_by(standing: Sequence[Entry], again: Entry) -> str:
    """The invoices that charged the same before."""
    start, end = again.line.start, again.line.end
    assert start is not None
    assert end is not None
    before = {
        entry.charge.invoice
        for entry in standing
        if entry.order < again.order
        and entry.component == again.component
        and entry.line.amount > 0
        and entry.line.start is not None
        and entry.line.end is not None
        and entry.line.start <= end
        and start <= entry.line.end
    }
    return "invoice " + ", ".join(sorted(before))


def _count(
    days: Counter[tuple[str, date]], energies: Counter[tuple[object, ...]], prices: PriceList, entry: Entry
) -> None:
    component, line = entry.component, entry.line
    if component is None or line.start is None or line.end is None:
        return
    sign = -1 if line.amount < 0 else 1
    if component.name == "energy":
        energies[_key(component, line)] += sign
    elif component.name in DAILY and prices.counts(line.unit) and line.amount:
        for day in _days(line.start, line.end):
            days[_family(line, component), day] += sign


def _family(line: ChargeLine, component: Component) -> str:
    """What a day bears once: a component of a family of codes; meters of several kinds are charged beside others."""
    return f"{component.name} {line.code[:4]}"


def _key(component: Component, line: ChargeLine) -> tuple[object, ...]:
    return component, line.start, line.end, abs(line.quantity or ZERO)


# --- words and numbers ------------------------------------------------------------------------------------------------


def _finding(
    charge: Charge,
    line: ChargeLine,
    name: str,
    charged: str,
    expected: str,
    euros: Decimal,
    source: str | None = None,
) -> InvoiceFinding:
    return InvoiceFinding(
        check=name,
        access_point=charge.access_point,
        charge=charge.charge_reference,
        code=line.code,
        label=line.label,
        first=line.start,
        last=line.end,
        charged=charged,
        expected=expected,
        euros=_cents(euros),
        source=source,
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
