"""The mistakes that the simulated Dutch market makes: one for each rule that a message of its can break, and some of
broken content. What a row foretells follows from the sentence of the rule and from what the market publishes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from adapters.nl_edsn.simulator.documents import OTHER, SUPPLIER, Content, with_check_digit
from energycomm.simulation.edits import Edit, drop, inside, put, repeated, shift
from energycomm.simulation.staging import NONE, Codes, Market, Mistake

START, STOP = "StartOfSupply", "EndOfSupply"
POINT, TERMS, HOLDER, METER, READING = "AccessPointData", "ContractTerms", "CustomerData", "MeterData", "MeterReading"
VOLUME, SERIES, STATUS, ANSWER = "MeteredVolume", "MeasureSeries", "RequestStatus", "RequestAnswer"
EVERYTHING = (POINT, TERMS, HOLDER, METER)
GAIN, LOSS, UPDATE = "GainResultResponse", "LossResultResponse", "MasterDataUpdateResponse"
P4, EXCHANGE = "P4CollectedDataBatchResultResponse", "MeterReadingExchangeResponse"
INTERVALS = "P4Intervals"
"""The simulation's name of P4 results that tell intervals."""
_PIECE, _P4 = "Portaal_MeteringPoint", "P4MeteringPoint"
Change: TypeAlias = Callable[[Content], Content]


def _same(*codes: str, kinds: tuple[str, ...] = EVERYTHING) -> Codes:
    """The same codes for each of several kinds."""
    return dict.fromkeys(kinds, codes)


# --- edits ------------------------------------------------------------------------------------------------------------


def _put(path: str, text: str | None) -> Change:
    """Give every element of a path another text; None takes it out."""
    return _changed(path, lambda _: text)


def _changed(path: str, change: Callable[[Any], Any]) -> Change:
    first, _, rest = path.partition("/")

    def edit(content: Content) -> Content:
        inner = _changed(rest, change) if rest else change
        return [(tag, inner(value) if tag == first else value) for tag, value in content]

    return edit


def _with(path: str, *more: tuple[str, Any]) -> Change:
    """More elements in every element of a path."""
    return _changed(path, lambda content: [*content, *more])


def _both(*edits: Change) -> Change:
    def edit(content: Content) -> Content:
        for one in edits:
            content = one(content)
        return content

    return edit


def _elsewhere(*edits: Change) -> Change:
    """The same of another point, of which nothing else is told."""
    return _both(_changed("EANID", lambda ean: with_check_digit(f"87199997{ean[8:17]}")), *edits)


def _second(change: Change) -> Change:
    """Change the second register of a P4 result, and leave the first one."""

    def edit(meter: Content) -> Content:
        last = max(number for number, (tag, _) in enumerate(meter) if tag == "P4Register")
        return [(tag, change(value) if number == last else value) for number, (tag, value) in enumerate(meter)]

    return _changed("P4EnergyMeter", edit)


def _first_volume(change: Callable[[Any], Content]) -> Change:
    """Put other volumes in the place of the first one."""

    def edit(content: Content) -> Content:
        first = next(number for number, (tag, _) in enumerate(content) if tag == "Volume")
        return [*content[:first], *(("Volume", one) for one in change(content[first][1])), *content[first + 1 :]]

    return edit


def _of_volume(path: str, text: str) -> Change:
    return _first_volume(lambda volume: [_put(path, text)(volume)])  # type: ignore[list-item]


def _quarters(change: Callable[[list[Content]], list[Content]]) -> Change:
    """Change the readings of every register of a P4 result."""

    def edit(register: Content) -> Content:
        head = [each for each in register if each[0] != "P4Reading"]
        return [
            *head,
            *(("P4Reading", one) for one in change([value for tag, value in register if tag == "P4Reading"])),
        ]

    return _changed("P4EnergyMeter/P4Register", edit)


def _raised(at: int, more: int, only: bool = False) -> Change:
    """Indexes that are higher from one quarter on, or in that quarter only."""

    def change(readings: list[Content]) -> list[Content]:
        raised = _changed("Reading", lambda index: index + more)
        return [raised(one) if n == at or (n > at and not only) else one for n, one in enumerate(readings)]

    return _quarters(change)


_METER, _BUILT, _HELD = "Portaal_EnergyMeter", "MPPhysicalCharacteristics", "MPCommercialCharacteristics"
_TOLD, _REGISTER = "Portaal_Mutation", "P4EnergyMeter/P4Register"
_READ, _READ_AT = f"{_REGISTER}/P4Reading/Reading", f"{_REGISTER}/P4Reading/ReadingDateTime"


def _moved(days: int) -> Change:
    """P4 readings of another day."""
    return _changed(_READ_AT, lambda at: shift("At", days)(f"<At>{at}</At>")[4:-5])


# --- rows -------------------------------------------------------------------------------------------------------------


def _gain(name: str, edit: Change, *more: str, **told: Any) -> Mistake:
    """A mistake in the gain of a point of which nothing else is told."""
    return Mistake(name, "start", _elsewhere(edit), {START: (name, *more)}, type=GAIN, extra=True, **told)


def _loss(name: str, edit: Change) -> Mistake:
    """A mistake in the loss of a point of which nothing else is told."""
    return Mistake(name, "stop", _elsewhere(edit), {STOP: (name,)}, type=LOSS, extra=True)


HEADS: tuple[Mistake, ...] = (
    Mistake("NL-E01", "change", document=put("SenderID", "8712423010209"), errors=_same("NL-E01")),
    Mistake(
        "NL-E02",
        "change",
        document=put("ReceiverID", "8719999100105"),
        errors=_same("NL-E02"),
        warnings={POINT: ("NL-P19",)},
    ),
    Mistake("NL-E03", "change", _put("GridOperator_Company/ID", "8719999100402"), _same("NL-E03")),
    Mistake("NL-E05", "change", _put(f"{_TOLD}/Dossier/ID", "700200010000"), _same("NL-E05")),
    Mistake("NL-E06", "change", document=inside("Source", put("ContactTypeIdentifier", "DDM")), errors=_same("NL-E06")),
    Mistake(
        "NL-E07", "change", document=inside("Receiver", put("ContactTypeIdentifier", "DDK_O")), warnings=_same("NL-E07")
    ),
    Mistake("CO-E03", "change", document=put("SenderID", SUPPLIER), errors=_same("CO-E03")),
)
"""Mistakes in who speaks to whom."""

POINTS: tuple[Mistake, ...] = (
    Mistake("NL-P01", "change", _changed("EANID", lambda ean: ean[:17]), _same("NL-P01")),
    Mistake("NL-P02", "change", _changed("EANID", lambda ean: f"{ean[:17]}{(int(ean[17]) + 1) % 10}"), _same("NL-P02")),
    Mistake("NL-P04", "change", _put("MarketSegment", "C5"), {POINT: ("NL-P04",)}),
    Mistake("NL-P05", "change", _put(f"{_BUILT}/InvoiceMonth", "13"), {POINT: ("NL-P05",)}),
    Mistake("NL-P06", "change", _put(f"{_BUILT}/MeteringMethod", "XXX"), warnings={POINT: ("NL-P06",)},
            error_class="product"),
    Mistake("NL-P07", "change", _put(f"{_BUILT}/AllocationMethod", "XXX"), warnings={POINT: ("NL-P07",)},
            error_class="product"),
    Mistake("NL-P08", "change", _put(f"{_BUILT}/ProfileCategory", "E9Z"), warnings={POINT: ("NL-P08",)},
            error_class="product"),
    Mistake("NL-P09", "change", _put(f"{_BUILT}/ProfileCategory", "G1A"), {POINT: ("NL-P09",)}),
    Mistake("NL-P10", "change", _put("ProductType", "GAS"), {POINT: ("NL-P10",)}),
    Mistake("NL-P11", "change", _put("GridArea", "871999990000000013"), {POINT: ("NL-P11",)}),
    Mistake("NL-P12", "change", _put(f"{_BUILT}/CapTarCode", "8719999910001"),
            {POINT: ("NL-P12",), TERMS: ("NL-C01",)}),
    Mistake("NL-P13", "change", _put(f"{_HELD}/BalanceResponsibleParty_Company/ID", "8719999100303"),
            {POINT: ("NL-P13",)}),
    Mistake("NL-P14", "change", _put(f"{_HELD}/MeteringResponsibleParty_Company/ID", "8719999100501"),
            {POINT: ("NL-P14",)}),
    Mistake("NL-P15", "change", _put(f"{_BUILT}/EACPeak", "-1"), {POINT: ("NL-P15",)}),
    Mistake("NL-P16", "change",
            lambda content: [*content, ("EDSN_AddressSearch", [("ZIPCode", "99999"), ("CityName", "Testdorp")])],
            {POINT: ("NL-P16",)}),
    Mistake("NL-P17", "change", _put(f"{_BUILT}/PhysicalStatus", "IAL"), {POINT: ("NL-P17",)}),
    Mistake("NL-P18", "change", _both(_put(f"{_BUILT}/AllocationMethod", "SMA"), _put("MarketSegment", "GVB")),
            warnings={POINT: ("NL-P18",)}),
    Mistake("NL-P19", "change", _put(f"{_HELD}/BalanceSupplier_Company/ID", OTHER), warnings={POINT: ("NL-P19",)},
            error_class="ordering"),
    Mistake("NL-C01", "change", _put(f"{_BUILT}/CapTarCode", "BTINFCU4"), {POINT: ("NL-P12",), TERMS: ("NL-C01",)}),
    Mistake("NL-C02", "change", _put(f"{_BUILT}/ContractedCapacity", "-1"), {TERMS: ("NL-C02",)}),
    Mistake("NL-C03", "change", _put(f"{_BUILT}/ContractedCapacity", "170"), warnings={TERMS: ("NL-C03",)}),
    Mistake("NL-U01", "change", _put(f"{_HELD}/GridContractParty/Surname", None), {HOLDER: ("NL-U01",)},
            error_class="missing"),
    Mistake("NL-U03", "change", _with(f"{_HELD}/GridContractParty", ("IBANKey", "NL48")), {HOLDER: ("NL-U03",)}),
    Mistake("NL-U04", "change", _with(_HELD, ("ChamberOfCommerceID", "9000001")), {HOLDER: ("NL-U04",)}),
    Mistake("NL-M02", "change", _put(f"{_METER}/NrOfRegisters", "9"), {METER: ("NL-M02",)}),
    Mistake("NL-M03", "change", _put(f"{_METER}/Register/NrOfDigits", "12"), {METER: ("NL-M03",)}),
    Mistake("NL-M04", "reading", _both(_put(f"{_TOLD}/MutationReason", "MTREND"), _put(f"{_METER}/ID", "E99")),
            warnings={METER: ("NL-M04",)}, error_class="ordering", type=UPDATE),
    Mistake("NL-D01", "change", _put(f"{_TOLD}/MutationDate", "1999-02-01"), _same("NL-D01"), _same("NL-D02")),
    Mistake("CO-D01", "change", _put(f"{_TOLD}/MutationDate", "2199-02-01"), _same("CO-D01")),
    Mistake(
        "CO-S05",
        "change",
        _both(_put(f"{_BUILT}/ProfileCategory", "E1A"), _put(f"{_BUILT}/ContractedCapacity", "16"),
              _put(f"{_HELD}/GridContractParty/Surname", "Anders")),
        _same("CO-S05", kinds=(POINT, TERMS, HOLDER)),
        error_class="ordering",
        extra=True,
    ),
)  # fmt: skip
"""Mistakes in master data: point, tariff, customer and meter."""

SUPPLY: tuple[Mistake, ...] = (
    _gain("NL-S01", _put(f"{_HELD}/BalanceResponsibleParty_Company", None), error_class="missing"),
    _gain("NL-S02", _put(f"{_HELD}/BalanceSupplier_Company/ID", OTHER)),
    _gain("NL-S03", _put(f"{_TOLD}/MutationReason", "MTRUPD")),
    _loss("NL-S04", _put(f"{_TOLD}/MutationReason", "MTRUPD")),
    _loss("NL-S05", _both(_put(f"{_TOLD}/MutationReason", "SWITCHLV"),
                          _put(f"{_HELD}/BalanceSupplier_Company/ID", SUPPLIER))),
    _gain("NL-S07", _put(f"{_TOLD}/Dossier", None), error_class="missing", kinds=(START,)),
    Mistake("NL-S08", "stop", lambda content: content, _same("NL-S08"), error_class="ordering", type=UPDATE),
    Mistake("NL-S09", "stop", lambda content: content, {READING: ("NL-S09",)}, type=P4),
    _gain("NL-S10", _put(f"{_HELD}/BalanceSupplier_Company/ID", "8719999100105"), "NL-S02"),
    Mistake("NL-D02", "start", _elsewhere(_put(f"{_TOLD}/MutationDate", "2021-02-01")), warnings={START: ("NL-D02",)},
            type=GAIN, extra=True),
)  # fmt: skip
"""Mistakes in gains and losses."""


def _read(
    name: str, edit: Change | None, errors: tuple[str, ...], warnings: tuple[str, ...] = (), **more: Any
) -> Mistake:
    """A mistake in the last P4 reading."""
    told: Codes = {READING: errors} if errors else NONE
    return Mistake(name, "reading", edit, told, {READING: warnings} if warnings else NONE, type=P4, **more)


def _established(
    name: str, edit: Change, errors: tuple[str, ...], warnings: tuple[str, ...] = (), **more: Any
) -> Mistake:
    """A mistake in the reading with which the second supply begins."""
    told: Codes = {READING: errors} if errors else NONE
    return Mistake(name, "start", edit, told, {READING: warnings} if warnings else NONE, type=EXCHANGE, **more)


READINGS: tuple[Mistake, ...] = (
    _read("NL-R01", _second(_put("MeasureUnit", "MTQ")), ("NL-R01",)),
    _established("NL-R02", _put("ProductType", "GAS"), ("NL-R02",)),
    _read("NL-R03", _second(_put("ID", "1.8.9")), ("NL-R03",)),
    _read("NL-R04", _changed(_READ_AT, lambda at: at.replace("T00:00:00", "T06:00:00")), ("NL-R04",)),
    _read("NL-R05", None, (), ("NL-R05",), document=shift("CreationTimestamp", 60)),
    _read("NL-R06", _put("QueryReason", "RCY"), (), ("NL-R06",), document=shift("CreationTimestamp", 400)),
    _read("NL-R07", None, ("NL-R07",), document=shift("CreationTimestamp", -2)),
    _read("NL-R08", _put("P4EnergyMeter/ID", "E9999999999999999"), (), ("NL-R08",), error_class="ordering"),
    _established("NL-R09", _both(_put("ProductType", "GAS"), _put(f"{_METER}/Register/MeasureUnit", "MTQ"),
                                 _put(f"{_METER}/Register/MeteringDirection", "TLV")), ("NL-R09",)),
    _established("NL-R10", _put(f"{_TOLD}/MutationReason", "XXXX"), ("NL-R10",), error_class="product"),
    _established("NL-R11", _put(f"{_TOLD}/MutationReason", None), ("NL-R11",), error_class="missing"),
    _established("NL-R12", _changed(f"{_METER}/Register/Reading/ReadingDate",
                                    lambda day: shift("At", 1)(f"<At>{day}</At>")[4:-5]), (), ("NL-R12",),
                 error_class="ordering"),
    _established("NL-R13", _put(f"{_METER}/Register/NrOfDigits", None), (), ("NL-R13",), error_class="missing"),
    _established("CO-R04", _put(f"{_METER}/Register/NrOfDigits", "2"), ("CO-R04",)),
    Mistake("CO-R02", "reading", document=repeated("P4Register"), errors={READING: ("CO-R02",)}, type=P4),
    _read("CO-R03", _put(_READ, "-400.000"), ("CO-R03", "CO-R05")),
    _read("CO-R05", _changed(_READ, lambda text: f"{float(text) - 2000:.3f}"), ("CO-R05",)),
    _read("CO-R07", _changed(_READ, lambda text: f"{float(text) / 1000:.3f}"), ("CO-R05", "CO-R07"),
          error_class="product"),
    _read("CO-D02", _moved(20), ("CO-D02", "NL-R07")),
)  # fmt: skip
"""Mistakes in indexes."""


def _energy(name: str, edit: Change, errors: bool = True, **more: Any) -> Mistake:
    """A mistake in the last volume that was established."""
    told = {VOLUME: (name,)}
    return Mistake(name, "reading", edit, told if errors else NONE, NONE if errors else told, type=EXCHANGE, **more)


def _hours(name: str, edit: Change | None, errors: Codes, warnings: Codes = NONE, **more: Any) -> Mistake:
    """A mistake in the last series."""
    return Mistake(name, "reading", edit, errors, warnings, type=INTERVALS, **more)


MEASURES: tuple[Mistake, ...] = (
    _energy("NL-V01", _of_volume("MeasureUnit", "KWT")),
    _energy("NL-V02", _of_volume("Register/TariffType", "HP")),
    _energy("NL-V04", _put("Volume/ValidFromDate", "2016-02-01"), errors=False),
    _energy("CO-V02", _first_volume(lambda volume: [volume, volume])),
    _energy("CO-V03", _of_volume("Volume", "-5")),
    _energy("CO-D03", _changed("Volume", lambda volume: [*volume[:2], ("ValidFromDate", dict(volume)["ValidToDate"]),
                                                         *volume[3:]])),
    _hours("NL-V12", _quarters(lambda readings: readings[:-1]), {SERIES: ("NL-V12",)}),
    _hours("NL-V13", _quarters(lambda readings: [_put("Reading", None)(one) if n == 9 else one
                                                 for n, one in enumerate(readings)]),
           NONE, {SERIES: ("NL-V13",)}, error_class="missing"),
    _hours("NL-V14", _raised(50, 20_000), {SERIES: ("NL-V14",)}),
    _hours("NL-V15", _put(f"{_REGISTER}/MeasureUnit", "KWT"), {SERIES: ("NL-V15",), READING: ("NL-R01",)}),
    _hours("NL-V16", None, NONE, {SERIES: ("NL-V16",)}, document=shift("CreationTimestamp", 15)),
    _hours("CO-V08", _raised(50, -5_000, only=True), {SERIES: ("CO-V08",)}),
)  # fmt: skip
"""Mistakes in volumes and intervals."""


def _reply(name: str, label: str, edit: Edit, errors: Codes = NONE, warnings: Codes = NONE, **more: Any) -> Mistake:
    """A mistake in an answer of the register."""
    return Mistake(name, "reading", None, errors, warnings, document=edit, type=label, **more)


_ACKNOWLEDGED = "MeterReadingExchangeAcknowledgement"

ANSWERS: tuple[Mistake, ...] = (
    _reply("NL-A02", "ChangeOfSupplierResponse", put("RejectionCode", "199"), warnings={ANSWER: ("NL-A02",)},
           error_class="product"),
    _reply("NL-A03", "P4CollectedDataBatchResponse", put("RejectionCode", "099"), warnings={ANSWER: ("NL-A03",)},
           error_class="product"),
    _reply("NL-A05", "ChangeOfSupplierResponse", drop("MessageID"), warnings={ANSWER: ("NL-A05",)},
           error_class="missing"),
    _reply("NL-A07", "SearchMeteringPointsResponse", put("EANID", "871999910000000011"), {ANSWER: ("NL-A07",)}),
    _reply("NL-A08", "ContractDataResponse", put("NoticePeriod", "365"), {ANSWER: ("NL-A08",)}),
    _reply("NL-A09", _ACKNOWLEDGED, drop("MessageID"), warnings={ANSWER: ("NL-A05",), STATUS: ("NL-A09",)},
           error_class="missing"),
    Mistake("CO-A03", "start", lambda content: content, {STATUS: ("CO-A03",)}, type="MoveInResponse"),
)  # fmt: skip
"""Mistakes in answers to requests."""

UNREADABLE: tuple[Mistake, ...] = (
    Mistake("SYN_MISSING", "change", document=inside(_PIECE, drop("EANID")), refused=True),
    Mistake("SYN_VALUE", "change", document=inside(_PIECE, put("MutationDate", "2025-02-30")), refused=True),
    Mistake("SYN_CODE", "change", document=inside(_PIECE, put("ProductType", "WATER")), refused=True),
    Mistake("SYN_UNEXPECTED", "reading", document=inside(_P4, repeated("QueryDate")), refused=True),
)
"""Content that cannot be read."""

TOLD_BY: dict[str, str] = {
    **dict.fromkeys(("CO-R02", "CO-V02"), "itself: one value is given twice"),
    **dict.fromkeys(("NL-E01", "NL-E02", "NL-E03", "NL-E06", "CO-E03"), "the headers of the other documents"),
    **dict.fromkeys(("NL-P01", "NL-P02"), "itself: the check digit counts from the other digits"),
    **dict.fromkeys(("NL-R01", "NL-V01", "NL-V15"), "the unit in the readings before"),
    **dict.fromkeys(("NL-P10", "NL-R02"), "the energy in the other messages of the point"),
    "CO-S05": "the right message, which came before",
    "CO-R04": "the digits of the register in the start of the supply",
    "CO-R07": "the readings around it: every digit is there, the decimal point is moved",
    "CO-D03": "the volume before, which ends where this one begins",
    "NL-R04": "itself: a reading of a day is of its midnight",
}
"""Mistake -> what else that arrives tells the right content, see `Outcome`; nothing does for the others."""

MISTAKES: tuple[Mistake, ...] = tuple(
    row._replace(told_by=TOLD_BY.get(row.name))
    for table in (HEADS, POINTS, SUPPLY, READINGS, MEASURES, ANSWERS, UNREADABLE)
    for row in table
)
"""Each mistake with the codes that it must get."""

BY_NAME = {row.name: row for row in MISTAKES}

_BEFORE = "refused before"
_NO_REFERENCE = "a supply has no reference in this market"
_NO_PREVIOUS = "messages of this market do not repeat the reading before"
_NO_FEE = "this market sends no grid fee to a supplier"
_ON_THE_GRID = "the adapter makes a series of indexes that lie on the grid of intervals"

UNREACHABLE: dict[str, str] = {
    "CO-A04": "this market brings no requests of others to a supplier",
    "CO-D07": "a digester gives a series one step",
    "CO-D08": "no simulated message brings sums of an area, settlement amounts or price lists",
    "CO-D09": "no simulated message brings a series of months or years",
    "NL-A01": f"a rejection without its code is {_BEFORE}",
    "NL-A04": "an answer is read as a content or as a rejection",
    "NL-A06": "the simulated market sends no SOAP faults",
    "NL-E04": "the message type comes from the table of types",
    "NL-M01": f"a meter without its number is {_BEFORE}",
    "NL-P03": f"a message without its point is {_BEFORE}",
    "NL-R14": f"a register without its meter is {_BEFORE}",
    "NL-S06": "gains and losses are told with a day",
    "NL-U02": f"a key that is no day of the year is {_BEFORE}",
    "NL-V03": "volumes are told with days",
    "NL-V10": _ON_THE_GRID,
    "NL-V11": _ON_THE_GRID,
    **dict.fromkeys(("CO-A01", "CO-A02"), "the statuses of this market have no milestones"),
    "CO-D04": _ON_THE_GRID,
    **dict.fromkeys(("CO-D05", "CO-D06", "CO-G01", "CO-G02", "CO-G03", "CO-G04", "CO-G05"), _NO_FEE),
    "CO-E01": f"a header without its sender is {_BEFORE}",
    "CO-E02": f"a header without its addressee is {_BEFORE}",
    "CO-E04": "a disputed reading names the one of its day",
    "CO-E05": "nothing is cancelled in this market",
    "CO-R01": "a reading is only made of indexes that are there",
    "CO-R06": "what comes after an established reading in the simulation is never lower",
    "CO-R11": "P4 readings stand between two established ones, and tell no digits",
    **dict.fromkeys(("CO-R08", "CO-R09", "CO-R10"), _NO_PREVIOUS),
    **dict.fromkeys(("CO-S01", "CO-S02", "CO-S03"), _NO_REFERENCE),
    "CO-V01": "volumes are only made of energies that are there",
    **dict.fromkeys(("CO-V04", "CO-V05", "CO-V06", "CO-V07"), _ON_THE_GRID),
}
"""Error code -> why no message of the simulated market can bring it about."""

MARKET_FAULTS = Market(
    MISTAKES,
    frozenset((*EVERYTHING, START, STOP, READING)),
    by_contract=False,
    orphans={EXCHANGE: {READING: ("NL-R12",)}},
)
