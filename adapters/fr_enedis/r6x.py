"""The measures of R63 to R67, one-off and recurrent, of all segments, in JSON and CSV (`adapters.fr_enedis.ondemand`).

===============  ===================================================  ================================================
Flux             Written                                              Read as
===============  ===================================================  ================================================
R63, R63A, R63B  mean powers; ``d`` is the START of the step for C1   one series for each quantity, direction and step;
                 to C4 and P1 to P3, its END for C5 and P4 (nature    where values of a recurrent file do not follow
                 B)                                                   one another, one for each run
R64, R64A, R64B  indexes by context and calendar                      one reading for each context and instant
R65              energies of civil days, all classes together         one volume for each day and direction
R66, R66B        highest power of each day and its instant            series of daily values
R67              energies that were invoiced                          one volume for each cause and period
===============  ===================================================  ================================================

* Times are naive Paris time. In the October night an hour comes twice: of one stamp that stands twice the later one in
  the file is the second pass (of a file that runs backwards, the earlier one).
* The step is that of each value: it may change within a file.
* Quantities keep the unit that was sent: guides contradict each other.
* A missing value is missing: nothing is put in its place.

Sources: Enedis.SGE.GUI.0503 (R6X) v1.5.2, sections 1 to 4; schemas 0510 to 0513, 0515, 0532 to 0534.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from msgspec import Meta, Struct, field, structs

from adapters.common.codes import Unreadable
from adapters.common.outcome import Notes
from adapters.common.particulars import kept
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.curves import PRODUCT, SENSE, stream_of
from adapters.fr_enedis.labels import plain
from adapters.fr_enedis.ondemand import Order, Point, Reader, Word, Words, instant
from adapters.fr_enedis.registers import DAILY, REASONS
from adapters.fr_enedis.times import again, here, instant_at, start_of_day
from energycomm.kernel.messages import KernelMessage, MeasureSeries, MeteredVolume, MeterReading
from energycomm.kernel.parts import Position, Register, Volume
from energycomm.kernel.vocabulary import Direction, Function, Grid, Qualification, Quality, VolumeNature

Inner = TypeVar("Inner", bound=Struct)
Index = Annotated[int, Meta(ge=-(10**12) + 1, lt=10**12)]
Doubt = Annotated[int, Meta(ge=-1, le=99)]
ACTIVE = "EA"
INDEXES = frozenset(("EA", "ER", "ERC", "ERI"))
"""grandeurPhysique that a register counts; the others (PMA, TF, DD, DE, DQ) are measured over a day."""
DAY = 1440
MOST = 100_000
"""Values of one series: what a message holds."""
_QUANTITY = "mesures/grandeur"
_POINT = f"{_QUANTITY}/points"
_SETTING = "mesures/contexte/grandeur"


class Period(Struct, frozen=True):
    """The period that was asked for, or in which the values reached Enedis."""

    dateDebut: Word  # noqa: N815
    dateFin: Word  # noqa: N815


# --- shared ---


def sense_of(written: str | None, notes: Notes, path: str) -> Direction:
    """Taken from the grid or fed into it; where nothing is told, taken from it is assumed and noted."""
    found = SENSE.get(written.upper() if written else None)
    if found is None:
        notes.append(refusal("NOTE_CODE_UNKNOWN", path, written, "CONS or PROD; CONS was assumed"))
    return found or "consumption"


def product_of(quantity: str) -> str | None:
    """The product of a register or volume: none for active energy."""
    return None if quantity == ACTIVE else PRODUCT.get(quantity, quantity)


def bounded(value: Decimal, path: str) -> Decimal:
    """A value that a meter could show.

    Raises:
      Unreadable: it is no number, or beyond eighteen digits or twelve decimals (SYN_VALUE).
    """
    if not value.is_finite() or value.adjusted() >= 18 or value.as_tuple().exponent < -12:  # type: ignore[operator]
        raise Unreadable(refusal("SYN_VALUE", path, str(value)[:64], "an energy or power that a grid could carry"))
    return value


def instants(written: Sequence[str], path: str) -> list[datetime]:
    """The instants of stamps, in the order of the file, which tells the two passes of the October hour apart.

    Raises:
      Unreadable: one is no date-time in 1900 to 2199 (SYN_VALUE).
    """
    read = [instant_at(stamp, path, or_day=True) for stamp in written]
    backwards = len(read) > 1 and read[0].at > read[-1].at
    seen: set[datetime] = set()
    found = []
    for moment in reversed(read) if backwards else read:
        at = moment.at
        if at in seen and moment.naive:
            at = again(at)
        seen.add(at)
        found.append(at)
    return found[::-1] if backwards else found


# --- R63: mean powers ---

QUALITY: dict[str | None, Quality | None] = {
    "B": "as-read",
    "R": "as-read",
    "S": "as-read",
    "T": "as-read",
    "F": "as-read",
    "G": "as-read",
    "H": "calculated",
    "P": "calculated",
    "C": "revised",
    "D": "revised",
    "E": "estimated",
    None: None,
}
"""n -> how the value was obtained. B read by a Linky, R by another meter; S, T, F, G read in and around a power cut; H,
P rebuilt at a change of the clock; D imported, C corrected, E estimated."""
END_STAMPED = "B"
"""The nature of Linky curves, whose stamps are the ends of steps."""
DOUBTFUL, SEE_STATE = 1, 2
"""iv: doubted after a check; the additional state tells more."""
REBUILT_STATES = frozenset((6, 7, 10))
UNSYNCHRONISED = frozenset((8, 9))
"""ec: clock corrected, powers added up; not synchronised. Others tell of power cuts: the value holds."""


class PowerPoint(Struct, frozen=True):
    """One mean power."""

    d: Word
    v: Decimal | None = None
    p: Word | None = None
    n: Word | None = None
    tc: Word | None = None
    iv: Doubt | None = None
    ec: Doubt | None = None


class Quantity(Struct, Generic[Inner], frozen=True):
    """One quantity of a point in one direction."""

    grandeurPhysique: Word  # noqa: N815
    unite: Word
    grandeurMetier: Word | None = None  # noqa: N815
    points: tuple[Inner, ...] = ()


class Measured(Struct, Generic[Inner], frozen=True, kw_only=True):
    """All that was measured of one point in R63, R65 or R66."""

    idPrm: Point  # noqa: N815
    periode: Period
    etapeMetier: Word | None = None  # noqa: N815
    typeValeur: Word | None = None  # noqa: N815
    modeCalcul: Word | None = None  # noqa: N815
    pas: Word | None = None
    grandeur: tuple[Quantity[Inner], ...]


class Curve(Struct, Generic[Inner], frozen=True, kw_only=True):
    """All that was measured of one point in R63."""

    idPrm: Point  # noqa: N815
    periode: Period
    etapeMetier: Word | None = None  # noqa: N815
    modeCalcul: Word | None = None  # noqa: N815
    grandeur: tuple[Quantity[Inner], ...]


class Peaks(Struct, Generic[Inner], frozen=True, kw_only=True):
    """All that was measured of one point in R66."""

    idPrm: Point  # noqa: N815
    periode: Period
    etapeMetier: Word | None = None  # noqa: N815
    modeCalcul: Word | None = None  # noqa: N815
    pas: Word | None = None
    grandeur: tuple[Quantity[Inner], ...]


class Timed(NamedTuple):
    """One value of a series: start and length of its interval, in minutes."""

    at: datetime
    minutes: int
    position: Position


def curves(measures: Curve[PowerPoint], order: Order, notes: Notes) -> list[KernelMessage]:
    """One series for each quantity, direction and step, or run of values.

    Raises:
      Unreadable: a stamp, a step or a value cannot be read, or there is no value.
    """
    head = {**order.head, "created": order.created(measures.periode.dateFin), "market_reason": measures.etapeMetier}
    found: dict[tuple[str, str, str | None], list[PowerPoint]] = {}
    for quantity in measures.grandeur:
        key = (quantity.grandeurPhysique, quantity.unite, quantity.grandeurMetier)
        found.setdefault(key, []).extend(quantity.points)
    messages: list[KernelMessage] = []
    for (measured, unit, sense), points in found.items():
        values = _timed(points, measures.periode, order, notes)
        fields = {
            "unit": unit,
            "product": PRODUCT.get(measured, measured),
            # A voltage flows in no direction, whatever the file says beside it.
            "direction": None if measured == "E" else sense_of(sense, notes, f"{_QUANTITY}/grandeurMetier"),
            "stream": stream_of(measures.etapeMetier) if order.recurrent else None,
        }
        told: list[tuple[str, Any]] = [("modeCalcul", measures.modeCalcul)]
        messages += _series(head, _once(values, notes), order, fields, told, measures.periode)
    if not messages:
        raise Unreadable(refusal("SYN_MISSING", path=_POINT, expected="a value"))
    return messages


def _timed(points: Sequence[PowerPoint], period: Period, order: Order, notes: Notes) -> list[Timed]:
    ends = order.flux == "R63B" or any(point.n == END_STAMPED for point in points)
    stamps = instants([point.d for point in points], f"{_POINT}/d")
    if not ends and order.flux != "R63A" and not any(point.n for point in points):
        # No nature is told: what begins after the start of the period and ends with it is stamped at its ends.
        asked = instant(period.dateDebut, "periode/dateDebut"), instant(period.dateFin, "periode/dateFin")
        ends = not order.recurrent and bool(stamps) and min(stamps) > asked[0] and max(stamps) == asked[1]
    found = []
    for stamp, point in zip(stamps, points, strict=True):
        minutes = _minutes(point.p)
        at = here(stamp - timedelta(minutes=minutes)) if ends else stamp
        found.append(Timed(at, minutes, _power(point, notes)))
    return found


def _power(point: PowerPoint, notes: Notes) -> Position:
    if point.n not in QUALITY:
        notes.append(refusal("NOTE_CODE_UNKNOWN", f"{_POINT}/n", point.n, ", ".join(filter(None, QUALITY))))
    quality = QUALITY.get(point.n)
    state = point.ec if point.iv == SEE_STATE else None
    if state in REBUILT_STATES:
        quality = "calculated"
    doubtful = point.iv == DOUBTFUL or state in UNSYNCHRONISED
    told = [("n", point.n), ("tc", point.tc), ("iv", point.iv or None), ("ec", point.ec or None)]
    more = point.n not in ("B", "R", None) or any(value is not None for _, value in told[1:])
    return Position(
        position=1,
        value=None if point.v is None else bounded(point.v, f"{_POINT}/v"),
        quality="missing" if point.v is None else quality,
        doubtful=True if doubtful else None,
        mark=",".join(f"{name}:{value}" for name, value in told if value is not None)[:64] if more else None,
    )


def _minutes(written: str | None) -> int:
    """The step of a value: PT5M to PT60M, PT1H, P1D.

    Raises:
      Unreadable: none is told, or none that a day could be cut into (SYN_VALUE).
    """
    text = (written or "").strip().upper()
    digits = "".join(one for one in text if one.isdecimal() and one.isascii())
    units = {f"PT{digits}M": 1, f"PT{digits}H": 60, f"P{digits}D": DAY, digits: 1}
    minutes = int(digits) * units[text] if digits and len(digits) <= 4 and text in units else 0
    if not 1 <= minutes <= DAY:
        raise Unreadable(refusal("SYN_VALUE", f"{_POINT}/p", written, "a step as PT30M, a day at most"))
    return minutes


def _once(values: Iterable[Timed], notes: Notes) -> list[Timed]:
    """The values in the order of time, one for each start and step: the later one of the file."""
    found: dict[tuple[datetime, int], Timed] = {}
    for value in values:
        before = found.get(value[:2])
        if before is not None and before != value:
            notes.append(refusal("NOTE_VALUE_TWICE", _POINT, value.at.isoformat()))
        found[value[:2]] = value
    return sorted(found.values(), key=lambda value: (value.at, value.minutes))


def _runs(values: Sequence[Timed], holes: bool) -> Iterator[list[Timed]]:
    """Values that make one series: of one step, on it, and without holes unless these are allowed."""
    run: list[Timed] = []
    for value in values:
        if run:
            step = timedelta(minutes=value.minutes)
            away, rest = divmod(value.at - run[0].at, step)
            follows = value.at == run[-1].at + step or (holes and value.at > run[-1].at)
            if value.minutes != run[-1].minutes or rest or not follows or away >= MOST:
                yield run
                run = []
        run.append(value)
    if run:
        yield run


def _series(
    head: dict[str, Any],
    values: Sequence[Timed],
    order: Order,
    fields: dict[str, Any],
    told: Sequence[tuple[str, Any]],
    period: Period,
) -> list[KernelMessage]:
    """Series of values in their order. The first and the last of an order bear the period that was asked for."""
    messages = []
    runs = list(_runs(values, holes=not order.recurrent))
    for number, run in enumerate(runs, 1):
        step = timedelta(minutes=run[0].minutes)
        beside = list(told)
        if not order.recurrent and number == 1:
            beside.append(("periode/dateDebut", instant(period.dateDebut, "periode/dateDebut")))
        if not order.recurrent and number == len(runs):
            beside.append(("periode/dateFin", instant(period.dateFin, "periode/dateFin")))
        start = run[0].at
        messages.append(
            MeasureSeries(
                **{**head, "effective": start},
                end=here(run[-1].at + step),
                resolution=run[0].minutes,
                registered=order.written if order.recurrent else None,
                positions=tuple(
                    structs.replace(value.position, position=(value.at - start) // step + 1) for value in run
                ),
                particulars=kept(beside)[0],
                **fields,
            )
        )
    return messages  # type: ignore[return-value]


# --- R66: highest powers ---

PEAKS = "power-maximum"
"""Stream of the highest powers of days that are published again and again: the newest publication holds."""


class DayPoint(Struct, frozen=True):
    """One value of a day."""

    d: Word
    v: Decimal | None = None


def peaks(measures: Peaks[DayPoint], order: Order, notes: Notes) -> list[KernelMessage]:
    """Series of the highest powers of days, each with its instant.

    Raises:
      Unreadable: a stamp or a value cannot be read, or there is no value.
    """
    head = {**order.head, "created": order.created(measures.periode.dateFin), "market_reason": measures.etapeMetier}
    told = [("modeCalcul", measures.modeCalcul), ("pas", measures.pas)]
    messages: list[KernelMessage] = []
    for quantity in measures.grandeur:
        stamps = instants([point.d for point in quantity.points], f"{_POINT}/d")
        values = []
        for at, point in zip(stamps, quantity.points, strict=True):
            value = None if point.v is None else bounded(point.v, f"{_POINT}/v")
            quality: Quality = "as-read" if value is not None else "missing"
            position = Position(position=1, value=value, quality=quality, at=at)
            values.append(Timed(start_of_day(here(at).date()), DAY, position))
        fields = {
            "unit": quantity.unite,
            "product": PRODUCT.get(quantity.grandeurPhysique, quantity.grandeurPhysique),
            "direction": sense_of(quantity.grandeurMetier, notes, f"{_QUANTITY}/grandeurMetier"),
            "stream": PEAKS if order.recurrent else None,
        }
        # Days of 23 and 25 hours are no whole steps away from the others: a series ends with them.
        messages += _series(head, _once(values, notes), order._replace(recurrent=True), fields, told, measures.periode)
    if not messages:
        raise Unreadable(refusal("SYN_MISSING", path=_POINT, expected="a value"))
    return messages


# --- R65: energies of days ---

COMPUTED: dict[str, VolumeNature] = {"diff index": "measured", "integ courbe": "measured"}
"""modeCalcul -> nature: the difference of two indexes, the integral of a curve. Readers spell it with a point and with
an underscore."""


def energies(measures: Measured[DayPoint], order: Order, notes: Notes) -> list[KernelMessage]:
    """One volume for each day and direction, of all time classes together.

    Raises:
      Unreadable: a day or a value cannot be read, or there is no value.
    """
    head = {**order.head, "created": order.created(measures.periode.dateFin), "market_reason": measures.etapeMetier}
    found: dict[tuple[Direction, datetime], list[Volume]] = {}
    for quantity in measures.grandeur:
        sense = sense_of(quantity.grandeurMetier, notes, f"{_QUANTITY}/grandeurMetier")
        for point in quantity.points:
            start = start_of_day(instant(point.d, f"{_POINT}/d").date())
            if point.v is None:
                notes.append(refusal("NOTE_VALUE_MISSING", f"{_POINT}/v", None, f"an energy of {point.d}"))
                continue
            volume = Volume(
                grid="distributor",
                time_class=WHOLE,
                quantity=bounded(point.v, f"{_POINT}/v"),
                unit=quantity.unite,
                direction=sense,
                product=product_of(quantity.grandeurPhysique),
            )
            volumes = found.setdefault((sense, start), [])
            same = next((n for n, one in enumerate(volumes) if one.product == volume.product), None)
            if same is None:
                volumes.append(volume)
            else:
                if volumes[same] != volume:
                    notes.append(refusal("NOTE_VALUE_TWICE", _POINT, point.d))
                volumes[same] = volume
    told = [(name, getattr(measures, name)) for name in ("modeCalcul", "typeValeur", "pas")]
    particulars, _ = kept(told)
    messages: list[KernelMessage] = []
    for (sense, start), volumes in found.items():
        end = start_of_day(start.date() + timedelta(days=1))
        messages.append(
            MeteredVolume(
                **{**head, "effective": end},
                start=start,
                nature=COMPUTED.get(plain(measures.modeCalcul or "").replace(".", " "), "unknown"),
                reading_reference=f"{measures.idPrm}:{sense}:{start.date()}..{end.date()}",
                volumes=tuple(volumes),
                particulars=particulars,
            )
        )
    if not messages:
        raise Unreadable(refusal("SYN_MISSING", path=_POINT, expected="a value"))
    return messages


# --- time classes of R64 and R67 ---

WHOLE = "BASE"
"""Time class of all hours."""
GRID: dict[str, Grid] = {
    "distributeur": "distributor",
    "fournisseur": "supplier",
    "turpe": "distributor",
    "d": "distributor",
    "f": "supplier",
}
"""libelleGrille, codeGrille or the bare letter of a calendar -> whose time classes they are."""
GRID_OF_CALENDAR: dict[str, Grid] = {"DI": "distributor", "FC": "supplier"}
"""First letters of a calendar's identifier -> the same."""
CLASS_OF_LABEL = {
    "base": "BASE",
    "heures pleines": "HP",
    "heures creuses": "HC",
    "pointe": "P",
    **{f"heures pleines {words}": "HPH" for words in ("saison haute", "hiver / saison haute", "hiver")},
    **{f"heures creuses {words}": "HCH" for words in ("saison haute", "hiver / saison haute", "hiver")},
    **{f"heures pleines {words}": "HPB" for words in ("saison basse", "ete / saison basse", "ete")},
    **{f"heures creuses {words}": "HCB" for words in ("saison basse", "ete / saison basse", "ete")},
}
"""libelleClasseTemporelle -> its code, where a file tells the label alone."""


class Calendar(Struct, Generic[Inner], frozen=True, kw_only=True):
    """One calendar of time classes; each flux names its ``identifier`` otherwise."""

    libelleGrille: Word | None = None  # noqa: N815
    codeGrille: Word | None = None  # noqa: N815
    libelleCalendrier: Words | None = None  # noqa: N815
    classeTemporelle: tuple[Inner, ...] = ()  # noqa: N815


class ClassQuantity(Struct, Generic[Inner], frozen=True):
    """One quantity by the calendars of a flux."""

    grandeurPhysique: Word  # noqa: N815
    unite: Word
    grandeurMetier: Word | None = None  # noqa: N815
    calendrier: tuple[Inner, ...] = ()


class Measures(Struct, Generic[Inner], frozen=True):
    """All that was measured of one point in R64 or R67."""

    idPrm: Point  # noqa: N815
    periode: Period
    contexte: tuple[Inner, ...]


class Classed(NamedTuple):
    """One time class of a quantity: its content, its grid and calendar, its direction, unit and product."""

    item: Any
    time_class: str
    grid: Grid
    calendar: str | None
    sense: Direction
    quantity: str
    unit: str


def classed(setting: Any, identifier: str, notes: Notes) -> Iterator[Classed]:
    """The time classes of all quantities, with what stands above them.

    Args:
      setting: of a piece.
      identifier: the field of a calendar that a refusal points at.
      notes: what was noticed.

    Raises:
      Unreadable: neither the name of a calendar nor its identifier tell whose it is (SYN_CODE), or nothing names a
        class (SYN_MISSING).
    """
    for quantity in setting.grandeur:
        sense = sense_of(quantity.grandeurMetier, notes, f"{_SETTING}/grandeurMetier")
        for calendar in quantity.calendrier:
            if is_total(calendar):
                continue
            name = calendar.codeGrille or calendar.libelleGrille or calendar.identifier or ""
            grid = GRID.get(plain(name)) or GRID_OF_CALENDAR.get((calendar.identifier or "")[:2].upper())
            if grid is None:
                path, value = f"{_SETTING}/calendrier/{identifier}", name or calendar.identifier
                raise Unreadable(refusal("SYN_CODE", path, value, "one of D, F"))
            bare = plain(calendar.identifier or "") in GRID
            for item in calendar.classeTemporelle:
                yield Classed(
                    item,
                    class_of(item),
                    grid,
                    None if bare else calendar.identifier,
                    sense,
                    quantity.grandeurPhysique,
                    quantity.unite,
                )


def is_total(calendar: Any) -> bool:
    """Whether a calendar is none: the line of a CSV of the register that counts in all classes."""
    told = (calendar.identifier, calendar.codeGrille, calendar.libelleGrille)
    return not any(told) and not any(item.idClasseTemporelle for item in calendar.classeTemporelle)


def class_of(item: Any) -> str:
    """The code of a time class, else the register that counts it, else the code of its label, else the label.

    Raises:
      Unreadable: nothing names it (SYN_MISSING).
    """
    label = item.libelleClasseTemporelle
    found = item.idClasseTemporelle or getattr(item, "codeCadran", None) or CLASS_OF_LABEL.get(plain(label or ""))
    if not (found or label):
        path = f"{_SETTING}/calendrier/classeTemporelle/idClasseTemporelle"
        raise Unreadable(refusal("SYN_MISSING", path, expected="a time class or the register of it"))
    return str(found or label)[:64]


# --- R64: indexes ---

QUALIFICATION: dict[str | None, Qualification] = {"AV": "before-event", "AP": "after-event"}
"""typeReleve -> qualification: before and after a reprogramming. AS, at it, lists registers that are not in use too: it
closes nothing and opens nothing."""
_ORDER = {"AV": 0, "AS": 1, "AP": 3}
"""Sets of one instant: the new calendar's indexes hold from then on."""


class Value(Struct, frozen=True):
    """One index: instant, value, doubt."""

    d: Word
    v: Index | None = None
    iv: Doubt | None = None


class TimeClass(Struct, frozen=True):
    """One register."""

    idClasseTemporelle: Word | None = None  # noqa: N815
    libelleClasseTemporelle: Words | None = None  # noqa: N815
    valeur: tuple[Value, ...] = ()
    codeCadran: Word | None = None  # noqa: N815


class IndexCalendar(Calendar[TimeClass], frozen=True, kw_only=True):
    """One calendar of registers."""

    identifier: Word | None = field(default=None, name="idCalendrier")


class Total(Struct, frozen=True):
    """The register of no time class."""

    valeur: tuple[Value, ...] = ()
    codeCadran: Word | None = None  # noqa: N815


class IndexQuantity(ClassQuantity[IndexCalendar], frozen=True, kw_only=True):
    """One quantity, with its total."""

    cadranTotalisateur: Total | None = None  # noqa: N815

    def totals(self) -> Iterator[Total]:
        """The totals: of JSON, and of CSV, where they stand in no calendar."""
        if self.cadranTotalisateur is not None:
            yield self.cadranTotalisateur
        for calendar in self.calendrier:
            if is_total(calendar):
                yield from (Total(item.valeur, item.codeCadran) for item in calendar.classeTemporelle)


class IndexSetting(Struct, frozen=True):
    """How the indexes were obtained."""

    grandeur: tuple[IndexQuantity, ...]
    etapeMetier: Word | None = None  # noqa: N815
    contexteReleve: Word | None = None  # noqa: N815
    typeReleve: Word | None = None  # noqa: N815
    motifReleve: Words | None = None  # noqa: N815


class _Reading(Struct):
    """What belongs to one instant."""

    registers: list[Register] = field(default_factory=list)
    calendars: dict[Grid, str | None] = field(default_factory=dict)
    beside: list[tuple[str, Any]] = field(default_factory=list)


def indexes(measures: Measures[IndexSetting], order: Order, notes: Notes) -> list[KernelMessage]:
    """One meter reading per context and instant; what is no index is a series of one value over the day before.

    Raises:
      Unreadable: a date does not exist, a calendar belongs to nobody, or there is no index.
    """
    head = {**order.head, "created": order.created(measures.periode.dateFin)}
    messages: list[KernelMessage] = []
    for setting in sorted(measures.contexte, key=lambda one: _ORDER.get(one.typeReleve or "", 2)):
        own = {**head, "market_reason": setting.etapeMetier}
        told = [(name, getattr(setting, name)) for name in ("contexteReleve", "typeReleve", "motifReleve")]
        for (at, _), found in _readings(setting, notes).items():
            particulars, left = kept([*told, *found.beside])
            notes += left
            messages.append(
                MeterReading(
                    **own,
                    effective=at,
                    qualification=QUALIFICATION.get(setting.typeReleve, "periodic"),
                    nature="read",
                    stream=DAILY if order.recurrent and setting.typeReleve == "AQ" else None,
                    calendar=found.calendars.get("distributor"),
                    supplier_calendar=found.calendars.get("supplier"),
                    registers=tuple(found.registers),
                    particulars=particulars,
                )
            )
        messages += _quantities(setting, own, told, notes)
    if not messages:
        raise Unreadable(refusal("SYN_MISSING", _SETTING, expected="an index"))
    return messages


def _readings(setting: IndexSetting, notes: Notes) -> dict[tuple[datetime, bool], _Reading]:
    """What belongs to each instant: the classes of calendars, and totals that stand in no calendar, of which no classes
    are told."""
    found: dict[tuple[datetime, bool], _Reading] = {}
    for one in classed(setting, "libelleGrille", notes):
        if one.quantity not in INDEXES:
            continue
        product = product_of(one.quantity)
        for at, value in _dated(one.item.valeur):
            reading = found.setdefault((at, True), _Reading())
            reading.calendars.setdefault(one.grid, one.calendar)
            reading.registers.append(_register(one.grid, one.time_class, value, one.unit, one.sense, product))
            name = "/".join(filter(None, (one.calendar or one.grid, product, one.time_class)))
            reading.beside += [(f"{name}/codeCadran", one.item.codeCadran), (f"{name}/iv", value.iv or None)]
    for quantity in setting.grandeur:
        if quantity.grandeurPhysique not in INDEXES:
            continue
        sense = sense_of(quantity.grandeurMetier, notes, f"{_SETTING}/grandeurMetier")
        product = product_of(quantity.grandeurPhysique)
        for total in quantity.totals():
            for at, value in _dated(total.valeur):
                classes = found.get((at, True))
                beside = classes is not None and any(
                    register.product == product and register.direction == sense for register in classes.registers
                )
                reading = classes if classes is not None and beside else found.setdefault((at, False), _Reading())
                name = total.codeCadran or WHOLE
                if beside:
                    name = f"cadranTotalisateur/{total.codeCadran or quantity.grandeurMetier}"
                    reading.beside.append((name, value.v))
                else:
                    reading.registers.append(_register("distributor", name, value, quantity.unite, sense, product))
                reading.beside.append((f"{name}/iv", value.iv or None))
    return found


def _register(grid: Grid, time_class: str, value: Value, unit: str, sense: Direction, product: str | None) -> Register:
    assert value.v is not None  # the others were left out
    return Register(
        grid=grid,
        time_class=time_class,
        value=value.v,
        unit=unit,
        direction=sense,
        doubtful=None if value.iv is None else bool(value.iv),
        product=product,
    )


def _dated(values: Sequence[Value]) -> Iterator[tuple[datetime, Value]]:
    """The values that are there, with their instants."""
    path = f"{_SETTING}/calendrier/classeTemporelle/valeur/d"
    stamps = instants([value.d for value in values], path)
    return ((at, value) for at, value in zip(stamps, values, strict=True) if value.v is not None)


def _quantities(
    setting: IndexSetting, head: dict[str, Any], told: Sequence[tuple[str, Any]], notes: Notes
) -> Iterator[KernelMessage]:
    """Powers, times and overruns: no register counts them, and no unit of theirs is trusted but the one sent."""
    items = [
        (one.quantity, one.unit, one.sense, one.time_class, one.item.valeur)
        for one in classed(setting, "libelleGrille", [])
    ]
    for quantity in setting.grandeur:
        sense = sense_of(quantity.grandeurMetier, notes, f"{_SETTING}/grandeurMetier")
        items += [
            (quantity.grandeurPhysique, quantity.unite, sense, total.codeCadran or WHOLE, total.valeur)
            for total in quantity.totals()
        ]
    for measured, unit, sense, name, values in items:
        if measured in INDEXES:
            continue
        for at, value in _dated(values):
            assert value.v is not None
            yield MeasureSeries(
                **{**head, "effective": here(at - timedelta(minutes=DAY))},
                end=at,
                resolution=DAY,
                unit=unit,
                product=PRODUCT.get(measured, measured),
                direction=sense,
                register=name,
                positions=(Position(position=1, value=Decimal(value.v), doubtful=True if value.iv else None),),
                particulars=kept([*told, ("iv", value.iv or None)])[0],
            )


# --- R67: what was invoiced ---

NATURE: dict[str | None, VolumeNature] = {"R": "measured", "E": "estimated", "C": "regularised", "I": "unknown"}
"""codeNature -> how the energies were obtained."""
STATUS: dict[str | None, Function] = {"I": "original", "R": "replace", "A": "cancel"}
"""codeStatut -> function."""
NATURE_LABEL = {"reel": "R", "estime": "E", "regularise": "C", "inconnu": "I"}
STATUS_LABEL = {"initial": "I", "rectificatif": "R", "annule": "A"}
"""libelleNature, libelleStatut -> the code that it stands for."""
_AMOUNT = f"{_SETTING}/calendrier/classeTemporelle/quantite"


class Amount(Struct, frozen=True):
    """One energy of a period."""

    dbtMesure: Word  # noqa: N815
    finMesure: Word  # noqa: N815
    quantite: Decimal
    codeNature: Word | None = None  # noqa: N815
    codeStatut: Word | None = None  # noqa: N815
    libelleNature: Words | None = None  # noqa: N815
    libelleStatut: Words | None = None  # noqa: N815
    dateCreation: Word | None = None  # noqa: N815

    @property
    def nature(self) -> str | None:
        """Its code; where it is unknown or missing, that of its words."""
        return _coded(self.codeNature, self.libelleNature, NATURE, NATURE_LABEL)

    @property
    def status(self) -> str | None:
        """See `nature`."""
        return _coded(self.codeStatut, self.libelleStatut, STATUS, STATUS_LABEL)


def _coded(code: str | None, label: str | None, known: Any, labels: dict[str, str]) -> str | None:
    return code if code in known and code is not None else labels.get(plain(label or ""), code)


class AmountClass(Struct, frozen=True):
    """The energies of one time class."""

    idClasseTemporelle: Word | None = None  # noqa: N815
    libelleClasseTemporelle: Words | None = None  # noqa: N815
    quantite: tuple[Amount, ...] = ()


class AmountCalendar(Calendar[AmountClass], frozen=True, kw_only=True):
    """One calendar of energies."""

    identifier: Word | None = field(default=None, name="codeCalendrier")


class AmountSetting(Struct, frozen=True):
    """Why the energies were invoiced."""

    grandeur: tuple[ClassQuantity[AmountCalendar], ...]
    etapeMetier: Word | None = None  # noqa: N815
    idMotifReleve: Word | None = None  # noqa: N815
    libelleMotifReleve: Words | None = None  # noqa: N815


class _Key(NamedTuple):
    """What the energies of one volume share."""

    sense: Direction
    start: str
    end: str
    nature: str | None
    status: str | None


class _Invoiced(Struct):
    """What belongs to one volume."""

    volumes: list[Volume] = field(default_factory=list)
    calendar: str | None = None
    beside: list[tuple[str, str | None]] = field(default_factory=list)


def invoiced(measures: Measures[AmountSetting], order: Order, notes: Notes) -> list[KernelMessage]:
    """One metered volume per cause, direction, period, nature and status.

    * A negative energy takes back what was invoiced too much: the whole volume is then a regularisation.
    * An unknown nature is carried as unknown and noted; an unknown status is noted and taken as an original.
    * A correction is about the volume of the same point, direction and period.

    Raises:
      Unreadable: a date does not exist, a calendar belongs to nobody, or there is no energy.
    """
    head = {**order.head, "created": order.created(measures.periode.dateFin)}
    del head["reason"]
    messages: list[KernelMessage] = []
    for setting in measures.contexte:
        motive = setting.idMotifReleve or (setting.libelleMotifReleve or "")[:64] or None
        for key, found in _volumes(setting, notes).items():
            function = _function(key.status, notes)
            own = f"{measures.idPrm}:{key.sense}:{key.start[:10]}..{key.end[:10]}"
            particulars, left = kept([("etapeMetier", setting.etapeMetier), *dict.fromkeys(found.beside)])
            notes += left
            messages.append(
                MeteredVolume(
                    **head,
                    market_reason=motive,
                    reason=REASONS.get(motive or "", "invoicing"),
                    function=function,
                    correlation=None if function == "original" else own,
                    effective=instant(key.end, f"{_AMOUNT}/finMesure"),
                    start=instant(key.start, f"{_AMOUNT}/dbtMesure"),
                    nature=_nature(key.nature, found.volumes, notes),
                    reading_reference=own,
                    calendar=found.calendar,
                    volumes=tuple(found.volumes),
                    particulars=particulars,
                )
            )
    if not messages:
        raise Unreadable(refusal("SYN_MISSING", path=_AMOUNT, expected="an energy"))
    return messages


def _function(status: str | None, notes: Notes) -> Function:
    found = STATUS.get(status)
    if found is None:
        notes.append(
            refusal("NOTE_CODE_UNKNOWN", path=f"{_AMOUNT}/codeStatut", value=status, expected=", ".join("IRA"))
        )
    return found or "original"


def _nature(code: str | None, volumes: list[Volume], notes: Notes) -> VolumeNature:
    if any(volume.quantity < 0 for volume in volumes):
        return "regularised"
    found = NATURE.get(code)
    if found is None:
        notes.append(refusal("NOTE_CODE_UNKNOWN", path=f"{_AMOUNT}/codeNature", value=code, expected=", ".join("RECI")))
    return found or "unknown"


def _volumes(setting: AmountSetting, notes: Notes) -> dict[_Key, _Invoiced]:
    found: dict[_Key, _Invoiced] = {}
    for one in classed(setting, "codeGrille", notes):
        for amount in one.item.quantite:
            key = _Key(one.sense, amount.dbtMesure, amount.finMesure, amount.nature, amount.status)
            held = found.setdefault(key, _Invoiced())
            held.volumes.append(
                Volume(
                    grid=one.grid,
                    time_class=one.time_class,
                    quantity=bounded(amount.quantite, _AMOUNT),
                    unit=one.unit,
                    direction=one.sense,
                    product=product_of(one.quantity),
                )
            )
            held.beside.append(("dateCreation", amount.dateCreation))
            if one.grid == "distributor":
                held.calendar = one.calendar
            else:
                held.beside.append(("codeCalendrier", one.calendar))
    return found


# --- the family ---

_COMMON = {
    "identifiant prm": "idPrm",
    "date de debut": "periode/dateDebut",
    "date de fin": "periode/dateFin",
}


def _below(above: str, columns: dict[str, str]) -> dict[str, str]:
    return {label: above + path for label, path in columns.items()}


_PHYSICAL = {
    "grandeur physique": "grandeur[]/grandeurPhysique",
    "grandeur metier": "grandeur[]/grandeurMetier",
    "unite": "grandeur[]/unite",
}
_FLAT = {**_COMMON, **_PHYSICAL, "etape metier": "etapeMetier"}
_CALENDARS = "contexte[]/grandeur[]/calendrier[]/"
_CLASSES = f"{_CALENDARS}classeTemporelle[]/"
_CLASSED = {
    **_COMMON,
    **_below("contexte[]/", _PHYSICAL),
    "etape metier": "contexte[]/etapeMetier",
    "grille": f"{_CALENDARS}codeGrille",
    "libelle grille": f"{_CALENDARS}libelleGrille",
    "libelle calendrier": f"{_CALENDARS}libelleCalendrier",
    "identifiant classe temporelle": f"{_CLASSES}idClasseTemporelle",
    "libelle classe temporelle": f"{_CLASSES}libelleClasseTemporelle",
    "classe temporelle": f"{_CLASSES}libelleClasseTemporelle",
}

FAMILY: tuple[Reader, ...] = (
    Reader(
        ("R63", "R63A", "R63B"),
        Curve[PowerPoint],
        curves,
        {
            **_FLAT,
            "mode de calcul": "modeCalcul",
            "horodate": "grandeur[]/points[]/d",
            "valeur": "grandeur[]/points[]/v",
            "nature": "grandeur[]/points[]/n",
            "pas": "grandeur[]/points[]/p",
            "type de correction": "grandeur[]/points[]/tc",
            "indice de vraisemblance": "grandeur[]/points[]/iv",
            "etat complementaire": "grandeur[]/points[]/ec",
        },
        ("identifiant prm", "grandeur physique", "horodate", "valeur", "nature", "pas"),
        "load curves",
    ),
    Reader(
        ("R64", "R64A", "R64B"),
        Measures[IndexSetting],
        indexes,
        {
            **_CLASSED,
            "contexte de releve": "contexte[]/contexteReleve",
            "type de releve": "contexte[]/typeReleve",
            "motif de releve": "contexte[]/motifReleve",
            "identifiant calendrier": f"{_CALENDARS}idCalendrier",
            "cadran": f"{_CLASSES}codeCadran",
            "horodate": f"{_CLASSES}valeur[]/d",
            "valeur": f"{_CLASSES}valeur[]/v",
            "indice de vraisemblance": f"{_CLASSES}valeur[]/iv",
        },
        ("identifiant prm", "grandeur physique", "horodate", "valeur", "cadran"),
        "indexes",
    ),
    Reader(
        ("R65",),
        Measured[DayPoint],
        energies,
        {
            **_FLAT,
            "mode de calcul": "modeCalcul",
            "type de valeur": "typeValeur",
            "pas": "pas",
            "date": "grandeur[]/points[]/d",
            "valeur": "grandeur[]/points[]/v",
        },
        ("identifiant prm", "grandeur physique", "date", "valeur", "pas"),
        "energies of days",
    ),
    Reader(
        ("R66", "R66B"),
        Peaks[DayPoint],
        peaks,
        {
            **_FLAT,
            "mode de calcul": "modeCalcul",
            "pas": "pas",
            "horodate": "grandeur[]/points[]/d",
            "valeur": "grandeur[]/points[]/v",
        },
        ("identifiant prm", "grandeur physique", "horodate", "valeur", "pas"),
        "highest powers of days",
    ),
    Reader(
        ("R67",),
        Measures[AmountSetting],
        invoiced,
        {
            **_CLASSED,
            "identifiant motif de releve": "contexte[]/idMotifReleve",
            "motif de releve": "contexte[]/libelleMotifReleve",
            "libelle motif de releve": "contexte[]/libelleMotifReleve",
            "identifiant calendrier": f"{_CALENDARS}codeCalendrier",
            "calendrier": f"{_CALENDARS}libelleCalendrier",
            "date de creation": f"{_CLASSES}quantite[]/dateCreation",
            "date de debut de mesure": f"{_CLASSES}quantite[]/dbtMesure",
            "debut de mesure": f"{_CLASSES}quantite[]/dbtMesure",
            "date debut mesure": f"{_CLASSES}quantite[]/dbtMesure",
            "date de fin de mesure": f"{_CLASSES}quantite[]/finMesure",
            "fin de mesure": f"{_CLASSES}quantite[]/finMesure",
            "date fin mesure": f"{_CLASSES}quantite[]/finMesure",
            "quantite": f"{_CLASSES}quantite[]/quantite",
            "valeur": f"{_CLASSES}quantite[]/quantite",
            "nature": f"{_CLASSES}quantite[]/libelleNature",
            "libelle nature": f"{_CLASSES}quantite[]/libelleNature",
            "statut": f"{_CLASSES}quantite[]/libelleStatut",
            "libelle statut": f"{_CLASSES}quantite[]/libelleStatut",
        },
        ("identifiant prm", "grandeur physique", "statut", "nature"),
        "energies that were invoiced",
    ),
)
"""Every family of fluxes, in the order in which the columns of a CSV are compared. The columns of R67 are those of the
guide's list of fields; the guide does not print their labels, so several spellings are taken."""

READERS: dict[str, Reader] = {flux: reader for reader in FAMILY for flux in reader.fluxes}
"""By the code of the flux."""
