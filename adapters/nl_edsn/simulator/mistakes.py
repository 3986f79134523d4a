"""The mistakes that the simulated Dutch market makes: one for each rule that a message of its can break, and some of
broken content. What a row foretells follows from the sentence of the rule and from what the market publishes."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import Any

from adapters.nl_edsn.simulator.documents import OTHER, SUPPLIER
from energycomm.simulation.edits import Edit, add, both, copied, drop, inside, number, put, repeated, rewrite, shift
from energycomm.simulation.expectation import Outcome
from energycomm.simulation.people import with_check_digit
from energycomm.simulation.staging import Codes, Draft, Market, Mistake, Stage, by_name, same

START, STOP = "StartOfSupply", "EndOfSupply"
POINT, TERMS, HOLDER, METER, READING = "AccessPointData", "ContractTerms", "CustomerData", "MeterData", "MeterReading"
VOLUME, SERIES, STATUS, ANSWER = "MeteredVolume", "MeasureSeries", "RequestStatus", "RequestAnswer"
EVERYTHING = f"{POINT} {TERMS} {HOLDER} {METER}"
GAIN, LOSS, UPDATE = "GainResultResponse", "LossResultResponse", "MasterDataUpdateResponse"
P4, EXCHANGE, MOVE = "P4CollectedDataBatchResultResponse", "MeterReadingExchangeResponse", "MoveInResponse"
INTERVALS = "P4Intervals"
"""The simulation's name of P4 results that tell intervals."""
FIRST_READ, OPENED = "P4FirstReading", "OpeningReading"
"""Its names of the first readings after a change of meter of which an index is not told."""
_PIECE, _P4 = "Portaal_MeteringPoint", "P4MeteringPoint"


# --- edits ------------------------------------------------------------------------------------------------------------


def _party(role: str, code: str) -> Edit:
    return inside(f"{role}_Company", put("ID", code))


def _elsewhere(edit: Edit) -> Edit:
    """The same of another point, of which nothing else is told."""
    return both(rewrite("EANID", lambda ean: with_check_digit(f"87199997{ean[8:17]}")), edit)


def _second(edit: Edit) -> Edit:
    """Change the second register of a P4 result, and leave the first one."""

    def change(xml: str) -> str:
        first, tag, second = xml.rpartition("<P4Register>")
        return first + edit(tag + second)

    return change


def _quarters(change: Callable[[int, str], str]) -> Edit:
    """Change the readings of every register of a P4 result."""

    def register(xml: str) -> str:
        numbers = count()
        return re.sub("<P4Reading>.*?</P4Reading>", lambda found: change(next(numbers), found[0]), xml)

    return inside("P4Register", register, every=True)


def _raised(at: int, more: int, only: bool = False) -> Edit:
    """Indexes that are higher from one quarter on, or in that quarter only."""
    raised = number("Reading", lambda index: index + more)
    return _quarters(lambda n, xml: raised(xml) if n == at or (n > at and not only) else xml)


def _first_volume_twice(xml: str) -> str:
    return re.sub("<Volume><.*?</Register></Volume>", lambda found: found[0] * 2, xml, count=1)


# --- rows -------------------------------------------------------------------------------------------------------------


def _gain(name: str, edit: Edit, *more: str, **told: Any) -> Mistake:
    """A mistake in the gain of a point of which nothing else is told."""
    return Mistake(name, "start", _elsewhere(edit), {START: (name, *more)}, type=GAIN, extra=True, **told)


def _loss(name: str, edit: Edit) -> Mistake:
    """A mistake in the loss of a point of which nothing else is told."""
    return Mistake(name, "stop", _elsewhere(edit), STOP, type=LOSS, extra=True, kinds=(STOP,))


HEADS: tuple[Mistake, ...] = (
    Mistake("NL-E01", "change", None, EVERYTHING, document=put("SenderID", "8712423010209")),
    Mistake("NL-E02", "change", None, EVERYTHING, {POINT: ("NL-P19",)}, document=put("ReceiverID", "8719999100105")),
    Mistake("NL-E03", "change", _party("GridOperator", "8719999100402"), EVERYTHING),
    Mistake("NL-E05", "change", inside("Dossier", put("ID", "700200010000")), EVERYTHING),
    Mistake("NL-E06", "change", None, EVERYTHING, document=inside("Source", put("ContactTypeIdentifier", "DDM"))),
    Mistake(
        "NL-E07", "change", warnings=EVERYTHING, document=inside("Receiver", put("ContactTypeIdentifier", "DDK_O"))
    ),
    Mistake("CO-E03", "change", None, EVERYTHING, document=put("SenderID", SUPPLIER)),
)
"""Mistakes in who speaks to whom."""

POINTS: tuple[Mistake, ...] = (
    Mistake("NL-P01", "change", rewrite("EANID", lambda ean: ean[:17]), EVERYTHING),
    Mistake("NL-P02", "change", rewrite("EANID", lambda ean: f"{ean[:17]}{(int(ean[17]) + 1) % 10}"), EVERYTHING),
    Mistake("NL-P04", "change", put("MarketSegment", "C5"), POINT),
    Mistake("NL-P05", "change", put("InvoiceMonth", "13"), POINT),
    Mistake("NL-P06", "change", put("MeteringMethod", "XXX"), warnings=POINT, error_class="product"),
    Mistake("NL-P07", "change", put("AllocationMethod", "XXX"), warnings=POINT, error_class="product"),
    Mistake("NL-P08", "change", put("ProfileCategory", "E9Z"), warnings=POINT, error_class="product"),
    Mistake("NL-P09", "change", put("ProfileCategory", "G1A"), POINT),
    Mistake("NL-P10", "change", put("ProductType", "GAS"), POINT),
    Mistake("NL-P11", "change", put("GridArea", "871999990000000013"), POINT),
    Mistake("NL-P12", "change", put("CapTarCode", "8719999910001"), {POINT: ("NL-P12",), TERMS: ("NL-C01",)}),
    Mistake("NL-P13", "change", _party("BalanceResponsibleParty", "8719999100303"), POINT),
    Mistake("NL-P14", "change", _party("MeteringResponsibleParty", "8719999100501"), POINT),
    Mistake("NL-P15", "change", put("EACPeak", "-1"), POINT),
    Mistake(
        "NL-P16",
        "change",
        add(
            "Portaal_Mutation",
            "<EDSN_AddressSearch><ZIPCode>99999</ZIPCode><CityName>Testdorp</CityName></EDSN_AddressSearch>",
        ),
        POINT,
    ),
    Mistake("NL-P17", "change", put("PhysicalStatus", "IAL"), POINT),
    Mistake("NL-P18", "change", both(put("AllocationMethod", "SMA"), put("MarketSegment", "GVB")), warnings=POINT),
    Mistake("NL-P19", "change", _party("BalanceSupplier", OTHER), warnings=POINT, error_class="ordering"),
    Mistake("NL-C01", "change", put("CapTarCode", "BTINFCU4"), {POINT: ("NL-P12",), TERMS: ("NL-C01",)}),
    Mistake("NL-C02", "change", put("ContractedCapacity", "-1"), TERMS),
    Mistake("NL-C03", "change", put("ContractedCapacity", "170"), warnings=TERMS),
    Mistake("NL-U01", "change", drop("Surname"), HOLDER, error_class="missing"),
    Mistake("NL-U03", "change", add("Surname", "<IBANKey>NL48</IBANKey>"), HOLDER),
    Mistake(
        "NL-U04",
        "change",
        add("MeteringResponsibleParty_Company", "<ChamberOfCommerceID>9000001</ChamberOfCommerceID>"),
        HOLDER,
    ),
    Mistake("NL-M02", "change", put("NrOfRegisters", "9"), METER),
    Mistake("NL-M03", "change", put("NrOfDigits", "12", every=True), METER),
    Mistake(
        "NL-M04",
        "reading",
        both(put("MutationReason", "MTREND"), inside("Portaal_EnergyMeter", put("ID", "E99"))),
        warnings=METER,
        error_class="ordering",
        type=UPDATE,
    ),
    Mistake(
        "NL-M05",
        "reading",
        inside("Portaal_EnergyMeter", put("ID", "E99")),
        warnings=METER,
        error_class="missing",
        type=UPDATE,
    ),
    Mistake(
        "NL-D01", "change", put("MutationDate", "1999-02-01"), EVERYTHING, same("CO-S13", "NL-D02", kinds=EVERYTHING)
    ),
    Mistake("CO-D01", "change", put("MutationDate", "2199-02-01"), EVERYTHING),
    Mistake(
        "CO-S05",
        "change",
        both(put("ProfileCategory", "E1A"), put("ContractedCapacity", "16"), put("Surname", "Anders")),
        f"{POINT} {TERMS} {HOLDER}",
        error_class="ordering",
        extra=True,
    ),
)
"""Mistakes in master data: point, tariff, customer and meter."""

SUPPLY: tuple[Mistake, ...] = (
    _gain("NL-S01", drop("BalanceResponsibleParty_Company"), error_class="missing"),
    _gain("NL-S02", _party("BalanceSupplier", OTHER)),
    _gain("NL-S03", put("MutationReason", "MTRUPD")),
    _loss("NL-S04", put("MutationReason", "MTRUPD")),
    _loss("NL-S05", both(put("MutationReason", "SWITCHLV"), _party("BalanceSupplier", SUPPLIER))),
    _gain("NL-S07", drop("Dossier"), error_class="missing", kinds=(START,)),
    Mistake("NL-S08", "stop", None, EVERYTHING, error_class="ordering", type=UPDATE),
    Mistake("NL-S09", "stop", None, READING, type=P4),
    _gain("NL-S10", _party("BalanceSupplier", "8719999100105"), "NL-S02"),
    Mistake("NL-D02", "start", _elsewhere(put("MutationDate", "2021-02-01")), warnings=START, type=GAIN, extra=True),
)
"""Mistakes in gains and losses."""


def _read(name: str, edit: Edit | None, errors: Codes = READING, warnings: Codes = "", **more: Any) -> Mistake:
    """A mistake in the last P4 reading."""
    return Mistake(name, "reading", edit, errors, warnings, type=P4, **more)


def _established(name: str, edit: Edit, errors: Codes = READING, warnings: Codes = "", **more: Any) -> Mistake:
    """A mistake in the reading with which the second supply begins."""
    return Mistake(name, "start", edit, errors, warnings, type=EXCHANGE, **more)


READINGS: tuple[Mistake, ...] = (
    _read("NL-R01", _second(put("MeasureUnit", "MTQ"))),
    _established("NL-R02", put("ProductType", "GAS")),
    _read("NL-R03", _second(put("ID", "1.8.9"))),
    _read("NL-R04", rewrite("ReadingDateTime", lambda at: at.replace("T00:00:00", "T06:00:00"), every=True)),
    _read("NL-R05", None, "", READING, document=shift("CreationTimestamp", 60)),
    _read("NL-R06", put("QueryReason", "RCY"), "", READING, document=shift("CreationTimestamp", 400)),
    _read("NL-R07", None, document=shift("CreationTimestamp", -2)),
    _read("NL-R08", inside("P4EnergyMeter", put("ID", "E9999999999999999")), "", READING, error_class="ordering"),
    _established(
        "NL-R09",
        both(
            put("ProductType", "GAS"),
            put("MeasureUnit", "MTQ", every=True),
            put("MeteringDirection", "TLV", every=True),
        ),
    ),
    _established("NL-R10", put("MutationReason", "XXXX"), "", READING, error_class="product"),
    _established("NL-R11", drop("MutationReason"), error_class="missing"),
    _established("NL-R12", shift("ReadingDate", 1, every=True), "", READING, error_class="ordering"),
    _established(
        "CO-S13",
        shift("ReadingDate", -400, every=True),
        "",
        READING,
        error_class="ordering",
        rest="quarantined",
        extra=True,
    ),
    _established("NL-R13", drop("NrOfDigits", every=True), "", READING, error_class="missing"),
    _established("CO-R04", put("NrOfDigits", "2", every=True), READING, {READING: ("CO-R11",)}),
    _established("CO-R11", put("NrOfDigits", "7", every=True), "", READING),
    _read("CO-R02", None, document=repeated("P4Register")),
    _read("CO-R03", put("Reading", "-400.000", every=True), {READING: ("CO-R03", "CO-R05")}),
    _read("CO-R05", rewrite("Reading", lambda index: f"{float(index) - 2000:.3f}", every=True)),
    _read(
        "CO-R07",
        rewrite("Reading", lambda index: f"{float(index) / 1000:.3f}", every=True),
        {READING: ("CO-R05", "CO-R07")},
        error_class="product",
    ),
    _read(
        "CO-R12",
        rewrite("Reading", lambda index: f"{float(index) + 1:.3f}", every=True),
        error_class="ordering",
        extra=True,
    ),
    Mistake("CO-R15", "reading", warnings=READING, error_class="missing", type=FIRST_READ),
    Mistake("CO-R16", "reading", warnings=READING, error_class="missing", type=OPENED),
    _read("CO-D02", shift("ReadingDateTime", 20, every=True), {READING: ("CO-D02", "NL-R07")}),
)
"""Mistakes in indexes."""


def _energy(name: str, edit: Edit, errors: Codes = VOLUME, warnings: Codes = "", **more: Any) -> Mistake:
    """A mistake in the last volume that was established."""
    return Mistake(name, "reading", edit, errors, warnings, type=EXCHANGE, **more)


def _hours(name: str, edit: Edit | None, errors: Codes = SERIES, warnings: Codes = "", **more: Any) -> Mistake:
    """A mistake in the last series."""
    return Mistake(name, "reading", edit, errors, warnings, type=INTERVALS, **more)


MEASURES: tuple[Mistake, ...] = (
    _energy("NL-V01", put("MeasureUnit", "KWT")),
    _energy("NL-V02", put("TariffType", "HP")),
    _energy("NL-V04", put("ValidFromDate", "2016-02-01", every=True), "", VOLUME),
    _energy("CO-V02", _first_volume_twice),
    _energy("CO-V03", put("Volume", "-5")),
    _energy("CO-D03", copied("ValidFromDate", "ValidToDate", every=True)),
    _energy("CO-V09", number("Volume", lambda value: value + 5), error_class="ordering", extra=True),
    _hours("CO-V10", _raised(50, 5, only=True), error_class="ordering", extra=True),
    _hours("NL-V12", inside("P4Register", lambda xml: xml[: xml.rindex("<P4Reading>")] + "</P4Register>", every=True)),
    _hours(
        "NL-V13", _quarters(lambda n, xml: drop("Reading")(xml) if n == 9 else xml), "", SERIES, error_class="missing"
    ),
    _hours("NL-V14", _raised(50, 20_000)),
    _hours("NL-V15", put("MeasureUnit", "KWT", every=True), {SERIES: ("NL-V15",), READING: ("NL-R01",)}),
    _hours("NL-V16", None, "", SERIES, document=shift("CreationTimestamp", 15)),
    _hours("CO-V08", _raised(50, -5_000, only=True)),
)
"""Mistakes in volumes and intervals."""


def _reply(name: str, label: str, edit: Edit, errors: Codes = "", warnings: Codes = "", **more: Any) -> Mistake:
    """A mistake in an answer of the register."""
    return Mistake(name, "reading", None, errors, warnings, document=edit, type=label, **more)


_SWITCHED = "ChangeOfSupplierResponse"

ANSWERS: tuple[Mistake, ...] = (
    _reply("NL-A02", _SWITCHED, put("RejectionCode", "199"), warnings=ANSWER, error_class="product"),
    _reply(
        "NL-A03", "P4CollectedDataBatchResponse", put("RejectionCode", "099"), warnings=ANSWER, error_class="product"
    ),
    _reply("NL-A05", _SWITCHED, drop("MessageID"), warnings=ANSWER, error_class="missing"),
    _reply("NL-A07", "SearchMeteringPointsResponse", put("EANID", "871999910000000011"), ANSWER),
    _reply("NL-A08", "ContractDataResponse", put("NoticePeriod", "365"), ANSWER),
    _reply(
        "NL-A09",
        "ContractDataResponse",
        both(drop("MessageID"), drop("ExternalReference")),
        warnings={ANSWER: ("NL-A05",), STATUS: ("NL-A09",)},
        error_class="missing",
    ),
    _reply("NL-A15", "NoticeEOSResponse", _party("BalanceSupplier", OTHER), warnings=STATUS, error_class="ordering"),
    _reply(
        "NL-A16",
        "RejectionResultResponse",
        drop("ExternalReference"),
        ANSWER,
        {ANSWER: ("NL-A05",)},
        error_class="missing",
    ),
    Mistake("CO-A03", "start", None, STATUS, type=MOVE),
)
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
    **dict.fromkeys(("CO-S05", "CO-R12", "CO-V09", "CO-V10"), "the right message, which came before"),
    "CO-R04": "the digits of the register in the start of the supply",
    "CO-R07": "the readings around it: every digit is there, the decimal point is moved",
    "CO-D03": "the volume before, which ends where this one begins",
    "NL-R04": "itself: a reading of a day is of its midnight",
}
"""Mistake -> what else that arrives tells the right content, see `Outcome`; nothing does for the others."""

MISTAKES = by_name(TOLD_BY, HEADS, POINTS, SUPPLY, READINGS, MEASURES, ANSWERS, UNREADABLE)
"""Each mistake with the codes that it must get."""

_BEFORE = "refused before"
_NO_REFERENCE = "a supply has no reference in this market"
_NO_PREVIOUS = "messages of this market do not repeat the reading before"
_NO_FEE = "this market sends no grid fee to a supplier"
_ON_THE_GRID = "the adapter makes a series of indexes that lie on the grid of intervals"

UNREACHABLE: dict[str, str] = {
    **dict.fromkeys(
        ("CO-S10", "CO-S11", "CO-S12", "CO-C01", "CO-C02", "CO-C03", "CO-C11", "CO-C12", "CO-C13"),
        "a simulated supplier has no opening balance: its history begins with the market's entries",
    ),
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
    **dict.fromkeys(("CO-D05", "CO-D06", *(f"CO-G{number:02d}" for number in range(1, 12))), _NO_FEE),
    "CO-E01": f"a header without its sender is {_BEFORE}",
    "CO-E02": f"a header without its addressee is {_BEFORE}",
    "CO-E04": "a disputed reading names the one of its day",
    "CO-E05": "nothing is cancelled in this market",
    "CO-R01": "a reading is only made of indexes that are there",
    "CO-R14": "the intervals of a day are made of its own indexes",
    "CO-R13": "the adapter names an established reading by its day, and no other one has an identifier",
    "CO-R06": "what comes after an established reading in the simulation is never lower",
    **dict.fromkeys(("CO-R08", "CO-R09", "CO-R10"), _NO_PREVIOUS),
    **dict.fromkeys(("CO-S01", "CO-S02", "CO-S03", "CO-S06"), _NO_REFERENCE),
    "CO-V01": "volumes are only made of energies that are there",
    **dict.fromkeys(("CO-V04", "CO-V05", "CO-V06", "CO-V07"), _ON_THE_GRID),
}
"""Error code -> why no message of the simulated market can bring it about."""


def _orphan(stage: Stage, draft: Draft) -> Outcome | None:
    """The reading that comes with a start that waits is accepted, without its start."""
    if draft.type != EXCHANGE or draft.place[1] != stage.restarted:
        return None
    return Outcome(warnings={READING: ("NL-R12",)}, fault=stage.name)


FAULTS = Market(
    MISTAKES,
    named={GAIN: frozenset((START,))},
    anchored={"*": frozenset((*EVERYTHING.split(), START, STOP, READING))},
    orphan=_orphan,
)
