"""The predicates that rules may call, by subject: text, days, energy, registers, money.

A predicate is pure and total over its declared types: it answers for every value that a message may hold and raises
nothing. An absent value never reaches it, unless its parameter says that it may be ``None``.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import cache, lru_cache
from typing import TypeAlias
from zoneinfo import ZoneInfo

from energycomm.kernel.parts import ChargeLine, Position, Register, Tax, Volume
from energycomm.kernel.predicate import predicate

Day: TypeAlias = date | datetime

_NOON = timedelta(hours=12)
_DAY = 24 * 60
_HOUR, _NOTHING = timedelta(hours=1), timedelta()
_EIC = re.compile("[0-9]{2}[0-9A-Z-]{14}")
WH_OF_UNIT = {"Wh": 1, "kWh": 1_000, "MWh": 1_000_000, "dm3": 1, "m3": 1_000, "VArh": 1, "kVArh": 1_000}
"""Unit of an index -> how many of the finest unit of its kind it counts: Wh and VArh for energy, litres for gas."""


# --- text ----------------------------------------------------------------------------------------------------------


@predicate
def digits(text: str, count: int) -> bool:
    """Whether a text is made of exactly `count` digits.

    >>> digits("99660599682036", 14), digits("9966059968203A", 14)
    (True, False)
    """
    return len(text) == count and text.isascii() and text.isdigit()


@predicate
def told_by_opening(facts: str | None, name: str) -> bool:
    """Whether the last value of a fact is that of the opening balance, by `history.opening_facts`.

    >>> told_by_opening("subscribed_power tariff", "tariff"), told_by_opening(None, "tariff")
    (True, False)
    """
    return facts is not None and name in facts.split()


@predicate
def digits_between(text: str, least: int, most: int) -> bool:
    """Whether a text is made of digits only, at least `least` and at most `most` of them.

    >>> digits_between("248912973", 1, 20), digits_between("RSC-1", 1, 20)
    (True, False)
    """
    return least <= len(text) <= most and text.isascii() and text.isdigit()


@predicate
def letters_digits(text: str, least: int, most: int) -> bool:
    """Whether a text is made of ASCII letters and digits only, at least `least` and at most `most` of them.

    >>> letters_digits("AFF0000001", 4, 12), letters_digits("38 233", 4, 12)
    (True, False)
    """
    return least <= len(text) <= most and text.isascii() and text.isalnum()


@predicate
def eic_form(text: str) -> bool:
    """Whether a text has the form of an EIC: 16 capitals, digits or hyphens, the first two of them digits.

    The check character is not judged: the market's own anonymised identifiers do not respect it.

    >>> eic_form("17XFICTIFD235F9X"), eic_form("ERDF")
    (True, False)
    """
    return _EIC.fullmatch(text) is not None


@predicate
def gs1_ok(text: str) -> bool:
    """Whether a GLN (13 digits), GTIN (8, 12, 13, 14) or GSRN (18) ends in its GS1 check digit.

    >>> gs1_ok("8712423010208"), gs1_ok("579999993331812345")
    (True, False)
    """
    if not (text.isascii() and text.isdigit() and len(text) in (8, 12, 13, 14, 18)):
        return False
    return _gs1_digit(text[:-1]) == int(text[-1])


@lru_cache(maxsize=4096)
def _gs1_digit(body: str) -> int:
    """The GS1 check digit of a number: from its end, each second figure counts three times. Few parties are named in
    many messages."""
    total = 3 * sum(map(int, body[-1::-2])) + sum(map(int, body[-2::-2]))
    return -total % 10


@predicate
def gsrn_ok(text: str) -> bool:
    """Whether a text is an EAN-GSRN: 18 digits with a right GS1 check digit.

    >>> gsrn_ok("541440010000000001"), gsrn_ok("541440010000000002"), gsrn_ok("8712423010208")
    (True, False, False)
    """
    return len(text) == 18 and gs1_ok(text)


@predicate
def siren_form(text: str) -> bool:
    """Whether a text is a French company number: SIREN (9 digits) or SIRET (14), with a right Luhn digit.

    >>> siren_form("444608442"), siren_form("444608443"), siren_form("4446")
    (True, False, False)
    """
    if not (text.isascii() and text.isdigit() and len(text) in (9, 14)):
        return False
    doubled = [int(figure) * (2 if place % 2 else 1) for place, figure in enumerate(reversed(text))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


@predicate
def shorter(text: str, most: int) -> bool:
    """Whether a text has `most` characters or fewer.

    >>> shorter("Voorbeeld", 24), shorter("Voorbeeld", 8)
    (True, False)
    """
    return len(text) <= most


@predicate
def dutch_postal_code(text: str) -> bool:
    """Whether a text is a Dutch postal code: four digits, the first of them no 0, and two letters, with a space or not.

    >>> dutch_postal_code("9999AB"), dutch_postal_code("9999 ab"), dutch_postal_code("0999AB")
    (True, True, False)
    """
    plain = text.replace(" ", "")
    figures, letters = plain[:4], plain[4:]
    return digits(figures, 4) and figures[0] != "0" and len(letters) == 2 and letters.isascii() and letters.isalpha()


@predicate
def email_form(text: str) -> bool:
    """Whether a text has the form of an e-mail address: a name, one @, and a domain with a dot.

    >>> email_form("eau.douce@lumine.example"), email_form("lumine"), email_form("a@b@c.example")
    (True, False, False)
    """
    name, _, domain = text.partition("@")
    plain = text.isascii() and not any(character.isspace() for character in text)
    inside = domain.strip(".")
    return plain and bool(name) and "@" not in domain and "." in inside and inside == domain


@predicate
def decimal_form(text: str) -> bool:
    """Whether a text is a decimal number without sign: figures, perhaps a point and figures.

    >>> decimal_form("20.000"), decimal_form("NS")
    (True, False)
    """
    whole, _, fraction = text.partition(".")
    return whole.isascii() and whole.isdigit() and (fraction == "" or (fraction.isascii() and fraction.isdigit()))


@predicate
def decimals(number: Decimal) -> int:
    """Digits after the point of a number, without zeros at its end.

    >>> decimals(Decimal("0.125")), decimals(Decimal("7.50")), decimals(Decimal("1E+3"))
    (3, 1, 0)
    """
    told = number.normalize().as_tuple().exponent
    return -told if isinstance(told, int) and told < 0 else 0


@predicate
def starts_with(text: str, beginning: str) -> bool:
    """Whether a text begins with another one.

    >>> starts_with("541449000000001017", "54"), starts_with("871999900000000011", "54")
    (True, False)
    """
    return text.startswith(beginning)


@predicate
def enterprise_number_ok(text: str) -> bool:
    """Whether a text is a Belgian enterprise number: ten digits, 0 or 1 first, the last two 97 less the others mod 97.

    >>> enterprise_number_ok("0123456749"), enterprise_number_ok("0123456748"), enterprise_number_ok("BE0123456749")
    (True, False, False)
    """
    if not (len(text) == 10 and text.isascii() and text.isdigit() and text[0] in "01"):
        return False
    return 97 - int(text[:8]) % 97 == int(text[8:])


# --- days ----------------------------------------------------------------------------------------------------------


def _civil(moment: Day) -> date:
    return moment.date() if isinstance(moment, datetime) else moment


@predicate
def civil_day(instant: datetime) -> date:
    """The civil day of an instant, in the offset that the market wrote it with.

    >>> civil_day(datetime.fromisoformat("2024-10-04T00:01:00+02:00"))
    datetime.date(2024, 10, 4)
    """
    return instant.date()


@predicate
def days_between(first: Day, last: Day) -> int:
    """Civil days from `first` to `last`: negative when `last` is before `first`.

    >>> days_between(date(2024, 3, 30), datetime.fromisoformat("2024-04-01T00:00:00+02:00"))
    2
    """
    return last.toordinal() - first.toordinal()


@predicate
def same_civil_day(one: datetime, other: datetime) -> bool:
    """Whether an instant falls on the civil day of the first, by the offset that the first is written with.

    >>> paris, utc = datetime.fromisoformat("2026-01-05T00:01:00+01:00"), datetime.fromisoformat("2026-01-04T23:00:00Z")
    >>> same_civil_day(paris, utc), same_civil_day(paris, utc - timedelta(hours=1))
    (True, False)
    """
    return one.date() == other.astimezone(one.tzinfo).date()


@predicate
def same_day(first: Day, last: Day) -> bool:
    """Whether two days or instants fall on one civil day.

    >>> same_day(date(2024, 10, 4), datetime.fromisoformat("2024-10-04T00:01:00+02:00"))
    True
    """
    return _civil(first) == _civil(last)


@predicate
def year(day: Day) -> int:
    """The year of a day or instant.

    >>> year(date(2024, 10, 4))
    2024
    """
    return day.year


@predicate
def local_midnight(instant: datetime) -> bool:
    """Whether an instant is midnight in the offset that the market wrote it with.

    >>> local_midnight(datetime.fromisoformat("2024-04-05T00:00:00+02:00"))
    True
    """
    return (instant.hour, instant.minute, instant.second, instant.microsecond) == (0, 0, 0, 0)


@predicate
def minutes_between(first: datetime, last: datetime) -> int:
    """Whole minutes from one instant to another; a day of a clock change has 1380 or 1500.

    >>> minutes_between(datetime.fromisoformat("2026-03-29T00:00:00+01:00"),
    ...                 datetime.fromisoformat("2026-03-30T00:00:00+02:00"))
    1380
    """
    return int((last - first).total_seconds() // 60)


@predicate
def on_step(instant: datetime, minutes: int) -> bool:
    """Whether an instant lies a whole number of steps after the full hour.

    >>> at = datetime.fromisoformat("2026-02-10T00:30:00+01:00")
    >>> on_step(at, 30), on_step(at, 60)
    (True, False)
    """
    return (instant.minute * 60 + instant.second) % max(minutes * 60, 1) == 0 and instant.microsecond == 0


@predicate
def midnight_in(instant: datetime, zone: str) -> bool:
    """Whether an instant is midnight in a zone of the world, whatever the offset it was written with.

    >>> midnight_in(datetime.fromisoformat("2026-03-09T23:00:00+00:00"), "Europe/Amsterdam")
    True
    """
    return instant.astimezone(_zone(zone)).timetz().replace(tzinfo=None) == time()


@predicate
def day_in(instant: datetime, zone: str) -> date:
    """The civil day of an instant in a zone, whatever the offset it was written with: facts of the past are in UTC.

    >>> day_in(datetime.fromisoformat("2026-03-09T23:00:00+00:00"), "Europe/Amsterdam")
    datetime.date(2026, 3, 10)
    """
    return instant.astimezone(_zone(zone)).date()


@predicate
def whole_day(start: datetime, end: datetime, zone: str) -> bool:
    """Whether a period is one civil day of a zone: from midnight to the next, be it 23, 24 or 25 hours.

    >>> start, end = "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"
    >>> whole_day(datetime.fromisoformat(start), datetime.fromisoformat(end), "Europe/Amsterdam")
    True
    """
    first, last = start.astimezone(_zone(zone)), end.astimezone(_zone(zone))
    return midnight_in(start, zone) and midnight_in(end, zone) and (last.date() - first.date()).days == 1


@predicate
def calendar_month(start: datetime, end: datetime, zone: str) -> bool:
    """Whether a period is one month of the calendar in a zone: from midnight of a first day to that of the next.

    >>> start = datetime.fromisoformat("2026-03-01T00:00:00+01:00")
    >>> end = datetime.fromisoformat("2026-04-01T00:00:00+02:00")
    >>> calendar_month(start, end, "Europe/Brussels"), calendar_month(start, start, "Europe/Brussels")
    (True, False)
    """
    first, last = day_in(start, zone), day_in(end, zone)
    apart = (last.year - first.year) * 12 + last.month - first.month
    return midnight_in(start, zone) and midnight_in(end, zone) and first.day == last.day == 1 and apart == 1


@predicate
def month_day(text: str) -> bool:
    """Whether a text is a day of a month without year, in the form of an xs:gMonthDay: --04-17.

    >>> month_day("--02-29"), month_day("--02-30"), month_day("04-17")
    (True, False, False)
    """
    if len(text) != 7 or not text.startswith("--"):
        return False
    try:
        date.fromisoformat(f"2000-{text[2:]}")
    except ValueError:
        return False
    return True


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


# --- energy --------------------------------------------------------------------------------------------------------


@predicate
def unit_wh(unit: str) -> int:
    """Wh that one unit counts: Wh 1, kWh 1000, MWh 1000000; 1 for any other, which the rules on units refuse.

    >>> unit_wh("kWh")
    1000
    """
    return WH_OF_UNIT.get(unit, 1)


@predicate
def wh(value: int | Decimal, unit: str) -> int:
    """A value in whole Wh; one of gas in m3 in whole dm3, which compares with indexes in m3 and dm3 alone.

    >>> wh(15276, "kWh"), wh(Decimal("0.5"), "kWh"), wh(15276608, "Wh")
    (15276000, 500, 15276608)
    """
    return int(value * WH_OF_UNIT.get(unit, 1))


@predicate
def in_unit(value_wh: int, unit: str) -> Decimal:
    """Wh (for gas dm3) in another unit, so that a comment shows the two indexes that it compares in one unit.

    >>> in_unit(15276608, "kWh"), in_unit(15276000, "kWh"), in_unit(500, "Wh")
    (Decimal('15276.608'), Decimal('15276'), Decimal('500'))
    """
    whole, rest = divmod(value_wh, WH_OF_UNIT.get(unit, 1))
    return Decimal(whole) if not rest else Decimal(value_wh) / WH_OF_UNIT[unit]


@predicate
def rounding_wh(unit: str, previous_unit_wh: int) -> int:
    """Wh that an index may seem to lose by being written in a coarser unit than the one before it.

    15276 kWh after 15276608 Wh is no step back: up to 999 Wh are the rounding. Between equal units nothing is.

    >>> rounding_wh("kWh", 1), rounding_wh("kWh", 1000), rounding_wh("Wh", 1)
    (999, 0, 0)
    """
    own = WH_OF_UNIT.get(unit, 1)
    return 0 if own == previous_unit_wh else max(own, previous_unit_wh) - 1


@predicate
def most_wh(power: Decimal, days: float) -> int:
    """The most energy in Wh that a point of `power` kVA can take in `days` days: kVA x 24 a day, one day at least.

    >>> most_wh(Decimal(3), 1.0), most_wh(Decimal(3), 0.5)
    (72000, 72000)
    """
    energy = float(power) * 24_000 * (days if days > 1.0 else 1.0)
    return int(energy if energy < 1e18 else 1e18)


@predicate
def watts(value: Decimal, unit: str) -> int:
    """A power in whole watts: W and VA as they are, kW and kVA a thousandfold.

    >>> watts(Decimal("8.9"), "kW"), watts(Decimal(8900), "W")
    (8900, 8900)
    """
    return int(value * 1000 if unit in ("kW", "kVA") else value)


@predicate
def kilo(value: int | Decimal) -> Decimal:
    """A thousandth of a value, exactly: VA in kVA, for comments.

    >>> kilo(54000), kilo(8900)
    (Decimal('54'), Decimal('8.9'))
    """
    return Decimal(value).scaleb(-3).normalize() + 0


@predicate
def thousandfold(value_wh: int, previous_wh: int) -> bool:
    """Whether an index is about a thousand times the one before (or a thousandth of it): Wh read as kWh, or back.

    Indexes below 100 kWh are too small to tell.

    >>> thousandfold(15_276_000_000, 15_270_000), thousandfold(15_276_000, 15_270_000), thousandfold(15_276, 15_270_000)
    (True, False, True)
    """
    if 0 < previous_wh <= value_wh < 500 * previous_wh:
        return False  # what an index mostly is
    large, small = abs(value_wh), abs(previous_wh)
    if large < small:
        large, small = small, large
    return large > 100_000 and small > 0 and 500 * small <= large <= 2000 * small


@predicate
def fits_digits(value: int, count: int) -> bool:
    """Whether an index can be shown by a register of `count` digits.

    >>> fits_digits(999999, 6), fits_digits(1000000, 6)
    (True, False)
    """
    return count > 18 or value < 10 ** max(count, 0)


# --- registers and volumes -----------------------------------------------------------------------------------------


@predicate
def rolled_over(rollover: bool | None) -> bool:
    """Whether the market says that the register passed through zero; no word about it means that it did not.

    >>> rolled_over(True), rolled_over(None)
    (True, False)
    """
    return rollover is True


@predicate
def pair(first: str, second: str) -> str:
    """Two codes as one, for lists of pairs: `in_list('calendar_class', pair(calendar, register.time_class))`.

    >>> pair("DI000002", "HP")
    'DI000002/HP'
    """
    return f"{first}/{second}"


@predicate
def classes(registers: tuple[Register, ...], grid: str) -> str | None:
    """The time classes of a reading's registers of active energy of one grid, in alphabetical order; unknown where
    there are none.

    >>> hp = Register(grid="distributor", time_class="HP", value=1, unit="kWh")
    >>> hc = Register(grid="distributor", time_class="HC", value=1, unit="kWh")
    >>> classes((hp, hc), "distributor"), classes((hp, hc), "supplier")
    ('HC+HP', None)
    """
    found = {register.time_class for register in registers if register.grid == grid and register.product is None}
    return "+".join(sorted(found)) or None


_CLASSES = {"DI000001": ("BASE",), "DI000002": ("HP", "HC"), "DI000003": ("HPH", "HCH", "HPB", "HCB")}


@predicate
def classes_missing(calendar: str, registers: tuple[Register, ...]) -> str | None:
    """The time classes of a French distributor's calendar that a reading does not give; absent where it gives all, or
    no register of the distributor at all.

    >>> hp = Register(grid="distributor", time_class="HP", value=1, unit="kWh")
    >>> classes_missing("DI000003", (hp,)), classes_missing("DI000002", (hp,)), classes_missing("DI000002", ())
    ('HPH, HCH, HPB, HCB', 'HC', None)
    """
    given = {one.time_class for one in registers if one.grid == "distributor" and one.product is None}
    wanted = _CLASSES.get(calendar, ())
    if not given or given.issuperset(wanted):
        return None
    told = "+".join(given).split("+")  # a class may be the sum of others
    return ", ".join(one for one in wanted if one not in told) or None


@predicate
def registers_distinct(registers: tuple[Register, ...]) -> bool:
    """Whether no register (grid, time class, direction, meter, product) is given twice in one reading."""
    if len({(r.grid, r.time_class) for r in registers}) == len(registers):
        return True  # mostly these tell them apart
    return len({(r.grid, r.time_class, r.direction, r.meter, r.product) for r in registers}) == len(registers)


@predicate
def volumes_distinct(volumes: tuple[Volume, ...]) -> bool:
    """Whether no volume (grid, time class, direction, purpose, product) is given twice in one message."""
    return len({(v.grid, v.time_class, v.direction, v.purpose, v.product) for v in volumes}) == len(volumes)


# --- interval series -----------------------------------------------------------------------------------------------


@predicate
def intervals(start: datetime, end: datetime, minutes: int) -> int:
    """Whole intervals of so many minutes from `start` to `end`; 92, 96 or 100 quarters in a civil day.

    >>> summer = datetime.fromisoformat("2026-10-25T00:00:00+02:00")
    >>> winter = datetime.fromisoformat("2026-10-26T00:00:00+01:00")
    >>> intervals(summer, winter, 15), intervals(summer, winter, 1440)
    (100, 1)
    """
    return int((end - start + _shift(minutes)).total_seconds() // (60 * max(minutes, 1)))


@predicate
def calendar_intervals(start: datetime, end: datetime, months: int) -> int:
    """Intervals of so many months of the calendar from `start` to `end`; a month of which a part is covered counts.

    The offset that the instants were written with does not matter: the months are those of noon of the first day and
    of noon of the last.

    >>> start = datetime.fromisoformat("2025-12-31T23:00:00+00:00")
    >>> end = datetime.fromisoformat("2026-04-01T00:00:00+02:00")
    >>> calendar_intervals(start, end, 1), calendar_intervals(start, end.replace(year=2027, month=1), 12)
    (3, 1)
    """
    try:
        first, last = start + _NOON, end - _NOON
    except OverflowError:
        return 0
    touched = (last.year - first.year) * 12 + last.month - first.month + 1
    return max(-(-touched // max(months, 1)), 0)


@predicate
def whole_intervals(start: datetime, end: datetime, minutes: int) -> bool:
    """Whether a period is made of whole intervals of so many minutes.

    >>> start = datetime.fromisoformat("2026-03-01T00:00:00+01:00")
    >>> whole_intervals(start, start.replace(hour=1), 15), whole_intervals(start, start.replace(minute=20), 15)
    (True, False)
    """
    tolerance = _shift(minutes)
    return (end - start + tolerance).total_seconds() % (60 * max(minutes, 1)) <= 2 * tolerance.total_seconds()


def _shift(minutes: int) -> timedelta:
    """By how much a period of steps of whole days may be shorter or longer: by the hour of a change of clock."""
    return _HOUR if minutes >= _DAY and minutes % _DAY == 0 else _NOTHING


@predicate
def numbered(positions: tuple[Position, ...]) -> bool:
    """Whether the values of a series are numbered from 1 on, one after the other.

    >>> numbered((Position(position=1), Position(position=2))), numbered((Position(position=1), Position(position=3)))
    (True, False)
    """
    return all(item.position == place for place, item in enumerate(positions, 1))


@predicate
def without_value(positions: tuple[Position, ...]) -> int:
    """How many values of a series are missing.

    >>> without_value((Position(position=1, value=Decimal(2)), Position(position=2, quality="missing")))
    1
    """
    return sum(1 for item in positions if item.value is None)


@predicate
def percent_apart(first_wh: int, second_wh: int) -> Decimal:
    """By how many percent of the second two energies differ.

    >>> percent_apart(105000, 100000), percent_apart(1, 0)
    (Decimal('5'), Decimal('100'))
    """
    return Decimal(abs(first_wh - second_wh) * 100) / Decimal(max(abs(second_wh), 1))


@predicate
def values_missing(positions: tuple[Position, ...], start: datetime, end: datetime, minutes: int) -> int:
    """How many intervals of a period have no value, be their places left out or empty.

    >>> at = datetime.fromisoformat("2026-02-10T00:00:00+01:00")
    >>> values_missing((Position(position=2, value=Decimal(2)),), at, at + timedelta(hours=2), 30)
    3
    """
    return intervals(start, end, minutes) - sum(1 for item in positions if item.value is not None)


@predicate
def hole_start(positions: tuple[Position, ...], start: datetime, end: datetime, minutes: int) -> datetime:
    """Where the first hole of a series begins: the first interval of the period without a value; its end without one.

    >>> at = datetime.fromisoformat("2026-02-10T00:00:00+01:00")
    >>> hole_start((Position(position=1, value=Decimal(2)),), at, at + timedelta(hours=2), 30).isoformat()
    '2026-02-10T00:30:00+01:00'
    """
    return start + _hole(positions, start, end, minutes)[0] * timedelta(minutes=minutes)


@predicate
def hole_end(positions: tuple[Position, ...], start: datetime, end: datetime, minutes: int) -> datetime:
    """Where the first hole of a series ends: the next interval with a value, else the end of the period.

    >>> at = datetime.fromisoformat("2026-02-10T00:00:00+01:00")
    >>> hole_end((Position(position=1, value=Decimal(2)),), at, at + timedelta(hours=2), 30).isoformat()
    '2026-02-10T02:00:00+01:00'
    """
    return start + _hole(positions, start, end, minutes)[1] * timedelta(minutes=minutes)


def _hole(positions: tuple[Position, ...], start: datetime, end: datetime, minutes: int) -> tuple[int, int]:
    """The first hole of a series as numbers of intervals before its start and before its end."""
    there = {item.position for item in positions if item.value is not None}
    last = intervals(start, end, minutes)
    first = next((place for place in range(1, last + 1) if place not in there), last + 1)
    after = next((place for place in range(first, last + 1) if place in there), last + 1)
    return first - 1, after - 1


@predicate
def estimates(positions: tuple[Position, ...]) -> int:
    """How many values of a series are estimates.

    >>> estimates((Position(position=1, value=Decimal(2)), Position(position=2, value=Decimal(1), quality="estimated")))
    1
    """
    return sum(1 for item in positions if item.quality == "estimated")


# --- money ---------------------------------------------------------------------------------------------------------


@predicate
def lines_total(lines: tuple[ChargeLine, ...]) -> Decimal:
    """The sum of the lines' amounts, without tax.

    >>> lines_total((ChargeLine(code="A", amount=Decimal("32.74")), ChargeLine(code="B", amount=Decimal("-13.71"))))
    Decimal('19.03')
    """
    return sum((line.amount for line in lines), Decimal(0))


@predicate
def cents_apart(first: Decimal, second: Decimal) -> int:
    """Cents between two amounts, rounded to whole ones: what rounding on an invoice may explain is 1 at most.

    >>> cents_apart(Decimal(30) * Decimal("1.09148"), Decimal("32.74")), cents_apart(Decimal("1.00"), Decimal("1.02"))
    (0, 2)
    """
    return int((abs(first - second) * 100).to_integral_value(ROUND_HALF_UP))


@predicate
def taxes_total(taxes: tuple[Tax, ...]) -> Decimal:
    """The sum of taxes.

    >>> taxes_total((Tax(rate=Decimal(20), amount=Decimal("21.00")), Tax(rate=Decimal("5.5"), amount=Decimal("1.10"))))
    Decimal('22.10')
    """
    return sum((tax.amount for tax in taxes if tax.amount is not None), Decimal(0))


@predicate
def tax_bases(taxes: tuple[Tax, ...]) -> Decimal:
    """The sum of what is taxed.

    >>> tax_bases((Tax(code="S", base=Decimal("105.00")), Tax(code="O", base=Decimal("-24.00"))))
    Decimal('81.00')
    """
    return sum((tax.base for tax in taxes if tax.base is not None), Decimal(0))


@predicate
def tax_named(taxes: tuple[Tax, ...], code: str) -> Decimal | None:
    """The amount of the tax with a code; absent where there is none.

    >>> tax_named((Tax(code="TVA", amount=Decimal("21.00")),), "TVA")
    Decimal('21.00')
    """
    return next((tax.amount for tax in taxes if tax.code == code and tax.amount is not None), None)


@predicate
def tax_apart(base: Decimal, rate: Decimal, amount: Decimal) -> int:
    """Cents between a tax and its rate in percent of its base, beyond what the rounding of each line explains: a tenth
    of a percent of the tax.

    >>> tax_apart(Decimal("105.00"), Decimal(20), Decimal("99.00"))
    7798
    >>> tax_apart(Decimal("9999.00"), Decimal(20), Decimal("1999.85"))
    0
    """
    expected = base * rate / 100
    apart = max(abs(expected - amount) - abs(expected) / 1000, Decimal(0)) * 100
    return int(apart.to_integral_value(ROUND_HALF_UP))


@predicate
def rate_of(tax: str) -> Decimal | None:
    """The rate of a tax in percent; absent where it is a word.

    >>> rate_of("20.000") == 20, rate_of("NS") is None
    (True, True)
    """
    whole, _, fraction = tax.partition(".")
    if len(tax) > 12 or not (whole + fraction).isdigit() or not tax.isascii() or not whole:
        return None
    return Decimal(tax)


@predicate
def lines_tax(lines: tuple[ChargeLine, ...]) -> Decimal:
    """The tax of the lines by their rates; a line whose tax is a word bears none.

    >>> taxed, other = ChargeLine(code="A", amount=Decimal(105), tax="20.00"), ChargeLine(code="B", amount=Decimal(9))
    >>> lines_tax((taxed, other))
    Decimal('21.00')
    """
    bases: dict[str, Decimal] = {}
    for line in lines:
        if line.tax is not None:
            bases[line.tax] = bases.get(line.tax, Decimal(0)) + line.amount
    taxes = (base * (rate_of(tax) or Decimal(0)) / 100 for tax, base in bases.items())
    return sum((tax.quantize(Decimal("0.01"), ROUND_HALF_UP) for tax in taxes), Decimal("0.00"))


def _spans(lines: tuple[ChargeLine, ...]) -> list[list[tuple[date, date]]]:
    """The periods of the lines that charge the same, in order: of one code, label and unit, and of one sign. Where all
    are of a single day they are events, no periods."""
    found: dict[tuple[object, ...], list[tuple[date, date]]] = {}
    for line in lines:
        if line.start is not None and line.end is not None:
            key = line.code, line.label, line.unit, line.amount < 0
            found.setdefault(key, []).append((line.start, line.end))
    return [sorted(spans) for spans in found.values() if any(start < end for start, end in spans)]


@predicate
def days_twice(lines: tuple[ChargeLine, ...]) -> int:
    """Days that lines of one code charge more than once.

    >>> days_twice((
    ...     ChargeLine(code="A", amount=Decimal(1), start=date(2026, 1, 1), end=date(2026, 1, 20)),
    ...     ChargeLine(code="A", amount=Decimal(1), start=date(2026, 1, 18), end=date(2026, 1, 31)),
    ... ))
    3
    """
    twice = 0
    for spans in _spans(lines):
        reached = spans[0][1]
        for start, end in spans[1:]:
            twice += max((min(end, reached) - start).days + 1, 0)
            reached = max(reached, end)
    return twice


@predicate
def days_left_out(lines: tuple[ChargeLine, ...]) -> int:
    """Days between the periods of lines of one code that none of them charges.

    >>> days_left_out((
    ...     ChargeLine(code="A", amount=Decimal(1), start=date(2026, 1, 1), end=date(2026, 1, 10)),
    ...     ChargeLine(code="A", amount=Decimal(1), start=date(2026, 1, 18), end=date(2026, 1, 31)),
    ... ))
    7
    """
    missing = 0
    for spans in _spans(lines):
        reached = spans[0][1]
        for start, end in spans[1:]:
            missing += max((start - reached).days - 1, 0)
            reached = max(reached, end)
    return missing
