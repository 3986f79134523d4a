"""The mistakes that the simulated Belgian market makes: one for each rule that a message of its can break, and some of
broken content. What a row foretells follows from the sentence of the rule and from what the market publishes."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from adapters.be_atrias.simulator.documents import OTHER, SUPPLIER
from energycomm.simulation.edits import Edit, add, both, cents, copied, drop, inside, number, put, repeated, shift, swap
from energycomm.simulation.people import with_check_digit
from energycomm.simulation.staging import (
    LATE,
    LATE_ORIGINAL,
    LOST,
    LOST_ORIGINAL,
    Codes,
    Draft,
    Market,
    Mistake,
    by_name,
    same,
)

START, STOP = "StartOfSupply", "EndOfSupply"
POINT, TERMS, HOLDER, METER = "AccessPointData", "ContractTerms", "CustomerData", "MeterData"
READING, VOLUME, SERIES = "MeterReading", "MeteredVolume", "MeasureSeries"
CHARGE, INVOICE = "GridCharge", "GridInvoice"
STATUS, ANSWER, ERROR, CALORIFIC = "RequestStatus", "RequestAnswer", "ErrorReport", "CalorificValue"
EVERYTHING = f"{POINT} {TERMS} {HOLDER} {METER}"
MEASURES = f"{READING} {VOLUME}"
FIRST_READ, OPENED = "FirstReading", "OpeningReading"
"""The simulation's names of the first readings after a change of meter of which an index is not told."""
COUNTED = "CountedReading"
"""Its name of a reading that ends a day whose hours are told."""


# --- edits ------------------------------------------------------------------------------------------------------------


def _reference(xml: str) -> str:
    """A reference of its own: the first identification of a payload."""
    return re.sub(r"<Identification>([^<]*)<", r"<Identification>\1-2<", xml, count=1)


def _elsewhere(*edits: Edit) -> Edit:
    """The same of another point, of which nothing else is told."""

    def moved(xml: str) -> str:
        return re.sub(r">54144900(\d{9})\d<", lambda found: f">{with_check_digit('54144901' + found[1])}<", xml)

    return both(_reference, inside("MeteringPointDomainLocation", moved), *edits)


def _abroad(xml: str) -> str:
    """A point of the Netherlands."""
    return re.sub(r">54144901(\d{9})\d<", lambda found: f">{with_check_digit('87199990' + found[1])}<", xml)


def _at(moment: str, *also: str) -> Edit:
    """Another instant of the event, its day in other elements too."""
    return both(put("StartOfOccurrence", moment), *(put(tag, moment[:10]) for tag in also))


def _clock(tag: str, time: str) -> Edit:
    """The same day at another time of the clock."""
    return lambda xml: re.sub(rf"(<{tag}>[0-9-]*T)[0-9:]{{8}}", rf"\g<1>{time}", xml)


def _holder(*elements: str) -> Edit:
    """Another customer."""
    block = "".join(elements)
    return lambda xml: re.sub(r"(<Consumer\w*>).*(</Consumer\w*>)", rf"\g<1>{block}\g<2>", xml, flags=re.DOTALL)


def _party(role: str, identification: str) -> Edit:
    """Another party in the header."""
    return inside(f"{role}EnergyParty", put("Identification", identification))


def _request(*elements: str) -> Edit:
    """References to a request."""
    return add("Function", "".join(elements))


def _correction(*elements: str, function: str = "5") -> Edit:
    """A correction of the message itself."""

    def edit(xml: str) -> str:
        found = re.search(r"<Identification>([^<]*)<", xml)
        assert found is not None
        named = f"<OriginalBusinessDocument>{found[1]}</OriginalBusinessDocument>"
        return both(_reference, put("Function", function), _request(named), *(add("ReadingTime", e) for e in elements))(
            xml
        )

    return edit


def _registers(change: Edit) -> Edit:
    return inside("RegisterReading", change, every=True)


def _index(change: int) -> Edit:
    return _registers(number("MeterReading", lambda value: value + change))


def _gas(frame: str, unit: str) -> Edit:
    """One register of a gas meter instead of two of electricity, and no energies."""
    gas = both(put("MeterTimeFrame", frame), put("UnitType", unit))
    return both(drop("RegisterReading"), drop("EnergyVolume", every=True), _registers(gas))


_OF_GAS = put("EnergyIndustryClassification", "27")
_INDEXES_ONLY, _ENERGIES_ONLY = drop("EnergyVolume", every=True), drop("RegisterReading", every=True)
_REASON = "CorrectionReason"
_FAULTY_METER = f"<{_REASON}>METER_FAULT</{_REASON}>"
_ADDRESS = "<Address><Postcode>{}</Postcode><Country>BE</Country></Address>"
_PRIVATE, _TRADE = (f"<CustomerCategory>{code}</CustomerCategory>" for code in ("E01", "E02"))
_NAME, _COMPANY = "<FamilyName>VOORBEELD</FamilyName>", "<CompanyName>EXEMPLE SA</CompanyName>"
_NUMBER = "<EnterpriseNumber>{}</EnterpriseNumber>"
_GRID = (
    "<GridAccessProviderInvolvedEnergyParty><Identification>{}</Identification></GridAccessProviderInvolvedEnergyParty>"
)
_NEXT = (
    "<NewBalanceSupplierInvolvedEnergyParty><Identification>{}</Identification></NewBalanceSupplierInvolvedEnergyParty>"
)


def _next_supplier(identification: str) -> Edit:
    """Another supplier that follows, whoever followed before."""

    def edit(xml: str) -> str:
        plain = re.sub(r"<New(\w*)>.*?</New\1>", "", xml, flags=re.DOTALL)
        return add("GridAccessAgreement", _NEXT.format(identification))(plain)

    return edit


# --- rows -------------------------------------------------------------------------------------------------------------


def _start(name: str, edit: Edit, errors: str = START, warnings: str = "", **fault: Any) -> Mistake:
    """A mistake in the start of a point of which nothing else is told: where it is refused, the data with it wait."""
    fault["rest"] = "accepted" if warnings else "quarantined"
    return Mistake(name, "start", _elsewhere(edit), "" if warnings else errors, warnings, extra=True, **fault)


def _stop(name: str, edit: Edit, document: Edit | None = None) -> Mistake:
    """A mistake in the stop of a point of which nothing else is told."""
    return Mistake(name, "stop", _elsewhere(edit), STOP, extra=True, document=document)


HEADS: tuple[Mistake, ...] = (
    Mistake("BE-E01", "change", document=_party("Sender", "5419999000018"), errors=EVERYTHING),
    Mistake(
        "BE-E02",
        "change",
        document=_party("Recipient", "5419999000025"),
        errors=same("BE-E02", "BE-P05", kinds=EVERYTHING),
    ),
    Mistake("BE-E04", "change", document=put("EnergyBusinessProcess", "E0Z"), errors=EVERYTHING, error_class="product"),
    Mistake("BE-E05", "change", add("MeteringPointDomainLocation", _GRID.format("5419999000032")), EVERYTHING),
    Mistake("BE-E06", "change", document=put("EnergyBusinessProcessRole", "DDQ"), errors=EVERYTHING),
    Mistake("BE-E07", "reading", document=_party("Sender", SUPPLIER), errors=ANSWER, type="Response"),
    Mistake("CO-E03", "change", document=_party("Sender", SUPPLIER), errors=EVERYTHING),
    Mistake("BE-P05", "change", document=_party("Recipient", OTHER), errors=EVERYTHING),
)
"""Mistakes in who speaks to whom, and why."""

POINTS: tuple[Mistake, ...] = (
    Mistake(
        "BE-P01",
        "change",
        lambda xml: re.sub(r">(5414490\d{10})(\d)<", lambda m: f">{m[1]}{(int(m[2]) + 1) % 10}<", xml, count=1),
        EVERYTHING,
    ),
    _start("BE-P03", _abroad, warnings=f"{START} {EVERYTHING}"),
    _start("BE-P04", inside("BalanceSupplierInvolvedEnergyParty", put("Identification", OTHER)), f"{START} {POINT}"),
    Mistake("BE-P06", "change", put("NumberOfPhases", "2"), POINT),
    Mistake("BE-P07", "change", put("SettlementRegime", "SMR9"), POINT, error_class="product"),
    Mistake("BE-P08", "change", put("StandardLoadProfile", "X99"), POINT, error_class="product"),
    Mistake("BE-P09", "change", put("MeteringMethod", "E99"), POINT, error_class="product"),
    Mistake("BE-P10", "change", put("ReadingFrequency", "7"), POINT),
    Mistake("BE-P11", "change", put("ReadingMonth", "13"), POINT),
    Mistake("BE-P12", "change", both(put("SettlementRegime", "SMR3"), put("RemotelyReadable", "false")), POINT),
    Mistake(
        "BE-P13",
        "change",
        add(
            "MeteringGridArea",
            "<EstimatedAnnualVolumePeak>-1</EstimatedAnnualVolumePeak>"
            "<EstimatedAnnualVolumeOffPeak>800</EstimatedAnnualVolumeOffPeak>",
        ),
        POINT,
    ),
    Mistake("BE-P14", "change", put("ConnectionCapacity", "0"), POINT),
    Mistake("BE-P15", "change", add("MeteringGridArea", _ADDRESS.format("90000")), warnings=POINT),
    Mistake("BE-P16", "change", put("MeteringGridArea", "541449000000990015"), POINT),
    Mistake("BE-P17", "change", put("PhysicalStatus", "D03"), POINT),
    Mistake("BE-P18", "change", put("VoltageLevel", "E99"), POINT, error_class="product"),
)
"""Mistakes in the data of the point."""

SUPPLY: tuple[Mistake, ...] = (
    _start("BE-S01", _clock("StartOfOccurrence", "12:00:00")),
    _stop("BE-S02", _clock("StartOfOccurrence", "06:00:00")),
    _start("BE-S03", drop("BalanceResponsibleInvolvedEnergyParty"), error_class="missing"),
    _start("BE-S04", both(), document=put("EnergyBusinessProcess", "E66")),
    _stop("BE-S05", both(), document=put("EnergyBusinessProcess", "E65")),
    Mistake(
        "BE-S06",
        "start",
        both(_reference, inside("GridAccessAgreement", drop("Identification"))),
        {START: ("BE-S06", "CO-S05"), **same("CO-S05", kinds=f"{POINT} {TERMS} {HOLDER}")},
        extra=True,
    ),
    _stop("BE-S07", _next_supplier(SUPPLIER)),
    _stop("BE-S08", _next_supplier("OTHER")),
    Mistake("BE-S09", "stop", both(), EVERYTHING, type="MasterData"),
    Mistake("BE-S10", "stop", both(), MEASURES, type="MeterReadings"),
    Mistake("BE-S11", "stop", both(), SERIES, type="MeteredSeries"),
    _stop("BE-S12", put("AgreementStatus", "E13")),
    Mistake("BE-S13", "change", put("AgreementStatus", "E14"), TERMS),
    _start("BE-S14", shift("StartDate", -30), warnings=START),
    Mistake("BE-S15", "stop", shift("EndDate", 10), warnings=STOP),
    Mistake(
        "BE-D01",
        "change",
        _at("1999-02-01T00:00:00+01:00", "StartDate"),
        EVERYTHING,
        same("CO-S06", kinds=EVERYTHING),
    ),
    _start("BE-D02", _at("2022-02-01T00:00:00+01:00", "StartDate"), warnings=START),
    _start(
        "BE-D10",
        both(shift("StartOfOccurrence", 60), shift("StartDate", 60)),
        warnings=START,
        document=put("EnergyBusinessProcess", "E03"),
    ),
    _start(
        "BE-D11",
        _at("2026-02-01T00:00:00+01:00", "StartDate"),
        warnings=START,
        document=both(put("EnergyBusinessProcess", "E03"), put("Creation", "2026-02-10T06:00:00+01:00")),
    ),
    Mistake(
        "BE-D13",
        "change",
        put("MeterStatus", "23"),
        warnings=METER,
        document=shift("Creation", 30),
    ),
    Mistake("BE-D03", "change", put("StartDate", "2199-01-01"), TERMS),
    Mistake("CO-D01", "change", _at("2199-02-01T00:00:00+01:00"), EVERYTHING),
    Mistake(
        "CO-S01", "start", both(_reference, shift("StartOfOccurrence", 3), shift("StartDate", 3)), START, extra=True
    ),
    Mistake(
        "CO-S02",
        "start",
        both(
            _reference,
            shift("StartOfOccurrence", 3),
            shift("StartDate", 3),
            lambda xml: re.sub(r">(AC-\d+)-2<", r">\1-1<", xml),
        ),
        START,
        extra=True,
    ),
    Mistake(
        "CO-S06",
        "stop",
        both(shift("StartOfOccurrence", -364), shift("EndDate", -364)),
        warnings=STOP,
        error_class="ordering",
        rest="quarantined",
        cascade="stop",
    ),
    Mistake(
        "CO-S13",
        "reading",
        both(_reference, drop("GridAccessAgreement"), shift("ReadingTime", -400), shift("PreviousReadingTime", -400)),
        warnings=MEASURES,
        error_class="ordering",
        rest="quarantined",
        extra=True,
        type="MeterReadings",
    ),
    Mistake("CO-S03", "stop", _reference, {STOP: ("CO-S03", "CO-S05")}, extra=True),
    Mistake(
        "CO-S05",
        "change",
        both(
            _reference,
            put("StandardLoadProfile", "S22"),
            put("TariffCode", "LS_TM"),
            add("CustomerCategory", "<Telephone>025550100</Telephone>"),
        ),
        f"{POINT} {TERMS} {HOLDER}",
        error_class="ordering",
        extra=True,
    ),
)
"""Mistakes in when an access is ours."""

CONTRACTS: tuple[Mistake, ...] = (
    Mistake("BE-C01", "change", put("AgreementType", "E99"), TERMS, error_class="product"),
    Mistake("BE-C02", "change", inside("ContractedCapacity", put("Quantity", "0")), TERMS),
    Mistake("BE-C03", "change", inside("ContractedCapacity", put("UnitType", "MVA")), TERMS),
    Mistake("BE-C04", "change", inside("ContractedCapacity", drop("UnitType")), TERMS, error_class="missing"),
    Mistake("BE-C05", "change", put("MeterTimeFrame", "WEEKEND"), TERMS, error_class="product"),
    Mistake("BE-C06", "change", drop("TariffCode"), warnings=TERMS, error_class="missing"),
    Mistake("BE-U01", "change", drop("CustomerCategory"), HOLDER, error_class="missing"),
    Mistake("BE-U02", "change", _holder(_PRIVATE), HOLDER, error_class="missing"),
    Mistake("BE-U03", "change", _holder(_TRADE), HOLDER, error_class="missing"),
    Mistake("BE-U04", "change", _holder(_TRADE, _COMPANY, _NUMBER.format("0123456748")), HOLDER),
    Mistake("BE-U05", "change", _holder(_PRIVATE, _NAME, _NUMBER.format("0123456749")), warnings=HOLDER),
    Mistake("BE-U06", "change", _holder(_PRIVATE, _NAME, _ADDRESS.format("90000")), warnings=HOLDER),
    Mistake("BE-M02", "change", put("NumberOfRegisters", "99"), METER),
    Mistake("BE-M03", "change", put("NumberOfDigits", "2"), METER),
    Mistake("BE-M04", "change", put("MeterType", "SUNDIAL"), METER, error_class="product"),
    Mistake(
        "BE-M05",
        "reading",
        inside("MeterFacility", put("Identification", "00000000000001")),
        warnings=METER,
        error_class="missing",
        type="MasterData",
    ),
    Mistake(
        "BE-M06",
        "reading",
        inside("MeterFacility", both(put("Identification", "00000000000001"), put("MeterStatus", "24"))),
        warnings=METER,
        error_class="missing",
        type="MasterData",
    ),
)
"""Mistakes in terms, customer and meter."""


def _read(
    name: str, edit: Edit, errors: Codes = "", warnings: Codes = "", *, only: str | None = None, **more: Any
) -> Mistake:
    """A mistake in the last reading; `only` names the kind that is left of indexes and energies."""
    if only is not None:
        edit = both(_INDEXES_ONLY if only == READING else _ENERGIES_ONLY, edit)
        more["kinds"] = (only,)
    return Mistake(name, "reading", edit, errors, warnings, type="MeterReadings", **more)


READINGS: tuple[Mistake, ...] = (
    _read("BE-R01", _registers(put("UnitType", "MTQ")), READING),
    _read("BE-R02", _gas("E29", "KWH"), READING, document=_OF_GAS, kinds=(READING,)),
    _read(
        "BE-R03",
        inside("RegisterReading", put("MeterTimeFrame", "XX")),
        READING,
        {READING: ("BE-R04",)},
        error_class="product",
    ),
    _read("BE-R04", drop("RegisterReading"), warnings=READING),
    _read("BE-R05", _index(90_000), READING),
    _read("BE-R06", inside("MeterFacility", put("Identification", "00000000000001")), warnings=READING),
    _read("BE-R07", _correction(), warnings=MEASURES, error_class="missing", extra=True),
    _read("BE-R08", put("MeterReadingOrigin", "ZZZ"), warnings=READING, error_class="missing"),
    _read("BE-R09", drop("MeterFacility"), warnings=READING, error_class="missing"),
    _read(
        "BE-S22",
        inside("EnergyVolume", add("UnitType", "<Purpose>SHARED</Purpose>")),
        warnings={VOLUME: ("BE-S22", "BE-S23")},
    ),
    _read(
        "BE-S23",
        both(inside("EnergyVolume", add("UnitType", "<Purpose>SHARED</Purpose>")), shift("PreviousReadingTime", 1)),
        warnings={VOLUME: ("BE-S22", "BE-S23")},
        only=VOLUME,
    ),
    _read("BE-R10", _gas("E10", "MTQ"), READING, {READING: ("BE-R04",)}, document=_OF_GAS, kinds=(READING,)),
    _read("CO-E04", both(put("Function", "5"), add("ReadingTime", _FAULTY_METER)), MEASURES, error_class="missing"),
    _read(
        "CO-E05",
        both(_correction(function="1"), put("Identification", "again")),
        MEASURES,
        error_class="ordering",
        extra=True,
        before=_correction(function="1"),
    ),
    _read(
        "CO-R01",
        both(drop("RegisterReading", every=True), drop("EnergyVolume", every=True)),
        READING,
        error_class="missing",
        kinds=(READING,),
    ),
    _read("CO-R02", repeated("RegisterReading"), READING),
    _read("CO-R03", inside("RegisterReading", put("MeterReading", "-400")), {READING: ("CO-R03", "CO-R05")}),
    _read("CO-R04", _registers(put("NumberOfDigits", "2")), READING, {READING: ("CO-R11",)}),
    _read("CO-R05", _index(-2000), READING),
    _read("CO-R06", _index(-2000), warnings=READING, previous=put("MeterReadingOrigin", "56")),
    _read(
        "CO-R07",
        _registers(number("MeterReading", lambda value: value // 1000)),
        {READING: ("CO-R05", "CO-R07")},
        error_class="product",
    ),
    _read("CO-R08", _registers(add("NumberOfDigits", "<PreviousMeterReading>999999</PreviousMeterReading>")), READING),
    _read("CO-R09", copied("PreviousReadingTime", "ReadingTime"), READING, only=READING),
    _read("CO-R10", _registers(add("NumberOfDigits", "<PassedZero>true</PassedZero>")), warnings=READING),
    _read("CO-R11", _registers(put("NumberOfDigits", "7")), warnings=READING),
    _read("CO-R12", both(_reference, _index(5)), READING, error_class="ordering", extra=True),
    Mistake("CO-R14", "reading", _index(30), warnings=READING, type=COUNTED),
    Mistake("CO-R15", "reading", warnings=READING, error_class="missing", type=FIRST_READ),
    Mistake("CO-R16", "reading", warnings=READING, error_class="missing", type=OPENED),
    _read("CO-R13", shift("ReadingTime", 1), MEASURES, error_class="ordering", extra=True),
    _read("CO-D02", shift("ReadingTime", 20), MEASURES),
    _read(
        "CO-D03",
        both(copied("PreviousReadingTime", "ReadingTime"), put("EnergyQuantity", "1", every=True)),
        VOLUME,
        only=VOLUME,
    ),
    _read("BE-V01", inside("EnergyVolume", put("UnitType", "MTQ")), VOLUME),
    _read("BE-V02", inside("EnergyVolume", put("UnitType", "K3"), every=True), VOLUME, only=VOLUME, document=_OF_GAS),
    _read("BE-V03", inside("EnergyVolume", put("MeterTimeFrame", "XX")), VOLUME, error_class="product"),
    _read("BE-V04", inside("EnergyVolume", put("EnergyQuantity", "999999")), VOLUME),
    _read("CO-V02", repeated("EnergyVolume"), VOLUME),
    _read(
        "CO-V09",
        both(_reference, inside("EnergyVolume", put("EnergyQuantity", "7"))),
        VOLUME,
        error_class="ordering",
        extra=True,
    ),
    _read("CO-V03", inside("EnergyVolume", put("EnergyQuantity", "-5")), VOLUME),
    Mistake("BE-P02", "reading", swap("LOC+90+", "LOC+90+:"), READING, error_class="missing", type="MSCONS"),
)
"""Mistakes in indexes and energies."""


def _hours(name: str, edit: Edit, errors: Codes = SERIES, warnings: Codes = "", **more: Any) -> Mistake:
    """A mistake in the last series."""
    return Mistake(name, "reading", edit, errors, warnings, type="MeteredSeries", **more)


_EMPTY = both(drop("EnergyQuantity"), put("QuantityQuality", "46"))

SERIES_OF_HOURS: tuple[Mistake, ...] = (
    _hours("BE-V05", put("ResolutionDuration", "PT30M"), {SERIES: ("BE-V05", "CO-V05")}),
    _hours("BE-V06", put("UnitType", "H87"), error_class="product"),
    _hours(
        "BE-V07", inside("IncludedProductCharacteristic", put("Identification", "8716867000099")), error_class="product"
    ),
    _hours("BE-V08", inside("IncludedProductCharacteristic", put("Identification", "5410000100016"))),
    _hours("BE-V09", put("EnergyQuantity", "99"), "", SERIES),
    _hours("BE-D12", put("QuantityQuality", "56"), "", SERIES, document=shift("Creation", 60)),
    _hours("BE-V10", both(_clock("Start", "06:00:00"), _clock("End", "06:00:00")), "", SERIES),
    _hours("BE-V11", inside("IntervalEnergyObservation", _EMPTY, every=True), "", SERIES, error_class="missing"),
    _hours("CO-D04", copied("End", "Start")),
    _hours("CO-V04", drop("IntervalEnergyObservation", every=True), error_class="missing"),
    _hours(
        "CO-V05",
        lambda xml: re.sub(
            r" *<IntervalEnergyObservation>(?:(?!<Interval).)*(?=  </Payload)", "", xml, flags=re.DOTALL
        ),
    ),
    _hours("CO-V06", put("Position", "99")),
    _hours("CO-V07", _clock("End", "00:10:00"), SERIES, {SERIES: ("BE-V10",)}),
    _hours("CO-V10", both(_reference, put("EnergyQuantity", "0.001")), error_class="ordering", extra=True),
    _hours("CO-V08", put("EnergyQuantity", "-1")),
)
"""Mistakes in interval series."""


def _fee(name: str, edit: Edit, errors: Codes = "", warnings: Codes = "", **more: Any) -> Mistake:
    """A mistake in the last grid fee, or in its invoice."""
    label = "GridFeeInvoice" if INVOICE in (errors, warnings) else "GridFee"
    return Mistake(name, "reading", edit, errors, warnings, type=label, **more)


def _line_again(days: int) -> Edit:
    """The first line of a fee once more, at no cost, so many days earlier."""
    changes = both(put("Quantity", "0"), put("Amount", "0.00"), shift("PeriodStart", -days), shift("PeriodEnd", -days))
    return inside("ChargeLine", lambda xml: changes(xml) + xml)


FEES: tuple[Mistake, ...] = (
    _fee("BE-G01", put("Currency", "USD"), CHARGE),
    _fee("BE-G02", put("InvoiceType", "GIFT"), INVOICE, error_class="product"),
    _fee("BE-G03", put("BillingType", "GIFT"), CHARGE, error_class="product"),
    _fee("BE-G04", put("TaxRate", "19"), CHARGE, error_class="product"),
    _fee("BE-G05", shift("PeriodEnd", 40), warnings=CHARGE),
    _fee("BE-G06", put("NumberOfCharges", "0"), INVOICE),
    _fee("BE-G07", put("UnitType", "XYZ"), CHARGE, error_class="product"),
    _fee("BE-G08", copied("DueDate", "InvoiceDate"), warnings=INVOICE),
    _fee("CO-G01", drop("ChargeLine", every=True), CHARGE, error_class="missing"),
    _fee("CO-G02", cents("TotalExcludingTax", 1000), CHARGE),
    _fee("CO-G03", both(cents("Amount", 500), cents("TotalExcludingTax", 500)), CHARGE),
    _fee("CO-G04", _reference, CHARGE, extra=True),
    _fee("CO-G05", cents("TotalIncludingTax", 1000), INVOICE),
    _fee("CO-G10", _line_again(0), CHARGE),
    _fee("CO-G11", _line_again(400), warnings=CHARGE, error_class="missing"),
    _fee("CO-D05", put("PeriodStart", "2199-01-01"), CHARGE),
    _fee("CO-D06", shift("DueDate", -60), INVOICE, {INVOICE: ("BE-G08",)}),
)
"""Mistakes in the grid fee."""


def _older(name: str, edit: Edit, errors: Codes = "", warnings: Codes = "", **more: Any) -> Mistake:
    """A mistake in the older generation: in the last hours (UTILTS), or in the last invoice (INVOIC), whose text
    holds its head and its charge."""
    told = errors or warnings
    label = "UTILTS" if SERIES in told else "INVOIC"
    return Mistake(name, "reading", lambda text: edit(text) if text else text, errors, warnings, type=label, **more)


def _amount(qualifier: str, more: int) -> Edit:
    """The last amount of a qualifier, by so many cents more."""

    def edit(text: str) -> str:
        before, sign, rest = text.rpartition(f"MOA+{qualifier}:")
        assert sign
        amount, mark, after = rest.partition("'")
        return f"{before}{sign}{Decimal(amount) + Decimal(more) / 100}{mark}{after}"

    return edit


_STRANGE_UNITS = (swap("MEA+AAZ++KWH", "MEA+AAZ++H87"), swap("QTY+47:1:MON", "QTY+47:1:XYZ"))

OLDER: tuple[Mistake, ...] = (
    _older("UTILTS with an unknown unit", _STRANGE_UNITS[0], {SERIES: ("BE-V06",)}, error_class="product"),
    _older("UTILTS with a negative value", swap("QTY+136:", "QTY+136:-"), {SERIES: ("CO-V08",)}),
    _older("UTILTS with an implausible value", swap("QTY+136:", "QTY+136:99"), warnings={SERIES: ("BE-V09",)}),
    _older("INVOIC in another currency", swap("CUX+2:EUR", "CUX+2:USD"), {CHARGE: ("BE-G01",), INVOICE: ("BE-G01",)}),
    _older("INVOIC with an unknown unit", _STRANGE_UNITS[1], {CHARGE: ("BE-G07",)}, error_class="product"),
    _older("INVOIC with another price", swap("PRI+CAL:1.50", "PRI+CAL:1.70"), {CHARGE: ("CO-G03",)}),
    _older("INVOIC with another total", _amount("77", 1000), {INVOICE: ("CO-G05",)}),
    _older("CO-G07", both(_amount("176", 100), _amount("77", 100)), {INVOICE: ("CO-G07",)}),
    _older("CO-G08", both(_amount("124", 500), _amount("176", 500), _amount("77", 500)), {INVOICE: ("CO-G08",)}),
)
"""Mistakes of the older generation."""

_DONE = both(put("StatusType", "39"), drop("ResponseReasonType"), drop("ResponseReasonText"))

_OURS = _request("<OriginalBusinessDocument>EC-REQ-1</OriginalBusinessDocument>")

ANSWERS: tuple[Mistake, ...] = (
    Mistake(
        "CO-A03",
        "change",
        both(_reference, _OURS, shift("StartOfOccurrence", 2)),
        STATUS,
        extra=True,
        before=both(_reference, _OURS, shift("StartOfOccurrence", 1)),
        kinds=(*EVERYTHING.split(), STATUS),
    ),
    Mistake("BE-A01", "reading", drop("ResponseReasonType"), ANSWER, error_class="missing", type="Response"),
    Mistake("BE-A02", "reading", put("ResponseReasonType", "Q17"), ANSWER, error_class="product", type="Response"),
    Mistake("BE-A03", "reading", drop("OriginalBusinessDocument"), ERROR, error_class="missing", type="ErrorReport"),
    Mistake("BE-A04", "reading", put("StatusType", "39"), warnings=ANSWER, type="Response"),
    Mistake(
        "BE-A05",
        "change",
        _request("<RequestReference>REQ-1</RequestReference>"),
        warnings=STATUS,
        error_class="missing",
        kinds=(*EVERYTHING.split(), STATUS),
    ),
    Mistake(
        "BE-V12",
        "reading",
        lambda text: re.sub(r"(\d)(?=,11)", lambda m: str((int(m[1]) + 1) % 10), text),
        CALORIFIC,
        type="CalorificValues",
    ),
    Mistake("BE-V13", "reading", swap("11.4187", "114.187"), CALORIFIC, type="CalorificValues"),
    Mistake("BE-V14", "reading", swap("11.4187", "0"), warnings=CALORIFIC, type="CalorificValues"),
)
"""Mistakes in answers to requests and in calorific values."""

_PIECE = "PayloadMasterDataMPEvent"

UNREADABLE: tuple[Mistake, ...] = (
    Mistake("SYN_MISSING", "change", inside(_PIECE, drop("StartOfOccurrence")), refused=True),
    Mistake("SYN_VALUE", "change", inside(_PIECE, put("NumberOfPhases", "one")), refused=True),
    Mistake("SYN_CODE", "change", inside(_PIECE, put("PhysicalStatus", "E99")), refused=True),
    Mistake("SYN_UNEXPECTED", "reading", repeated("MeterReadingOrigin"), refused=True, type="MeterReadings"),
)
"""Content that cannot be read."""

TOLD_BY: dict[str, str] = {
    **dict.fromkeys(("CO-R02", "CO-V02"), "itself: one value is given twice"),
    **dict.fromkeys(
        (
            *("BE-S06", "CO-S01", "CO-S02", "CO-S03", "CO-S05", "CO-E05", "CO-G04", "CO-A03"),
            *("CO-R12", "CO-R13", "CO-V09", "CO-V10"),
        ),
        "the right message, which came before",
    ),
    **dict.fromkeys(
        ("BE-E01", "BE-E02", "BE-E05", "BE-E06", "BE-E07", "BE-P05", "CO-E03"), "the headers of the other documents"
    ),
    **dict.fromkeys(("BE-S01", "BE-S02"), "itself: a supply begins and ends at midnight"),
    **dict.fromkeys(("BE-R01", "BE-V01"), "the unit in the readings before"),
    **dict.fromkeys(("BE-V05", "CO-D04", "CO-V06", "CO-V07"), "itself: the number of its values and its other times"),
    **dict.fromkeys(("BE-C03", "BE-C04"), "the unit in the terms before"),
    **dict.fromkeys(("CO-R08", "CO-R09", "CO-D03"), "the reading before"),
    **dict.fromkeys(
        ("CO-G02", "CO-G05", "CO-G07", "CO-G08", "INVOIC with another total"), "itself: the amounts that it adds up"
    ),
    "BE-P01": "itself: the check digit counts from the other digits",
    "CO-R04": "the digits of the register in the readings before",
    **dict.fromkeys(("BE-G01", "INVOIC in another currency"), "the other invoices"),
}
"""Mistake -> what else that arrives tells the right content, see `Outcome`; nothing does for the others."""

MISTAKES = by_name(
    TOLD_BY, HEADS, POINTS, SUPPLY, CONTRACTS, READINGS, SERIES_OF_HOURS, FEES, OLDER, ANSWERS, UNREADABLE
)
"""Each mistake with the codes that it must get."""

UNREACHABLE: dict[str, str] = {
    **dict.fromkeys(
        ("CO-S10", "CO-S11", "CO-S12", "CO-C01", "CO-C02", "CO-C03", "CO-C11", "CO-C12", "CO-C13"),
        "a simulated supplier has no opening balance: its history begins with the market's entries",
    ),
    "BE-E03": "the document type comes from the mapping table",
    "BE-M01": "a meter without its number is refused before",
    "CO-A01": "the statuses of this market have no milestones",
    "CO-A02": "the statuses of this market have no milestones",
    "CO-A04": "this market brings no requests of others to a supplier",
    "CO-D07": "a digester gives a series one step",
    "CO-D08": "no simulated document brings sums of an area, settlement amounts or price lists",
    "CO-D09": "no simulated document brings a series of months or years",
    **dict.fromkeys(("CO-G06", "CO-G09"), "the head of a grid fee tells no contributions, and is no general file"),
    "CO-E01": "a header without its sender is refused before",
    "CO-E02": "a header without its addressee is refused before",
    "CO-V01": "volumes are only made of energies that are there",
}
"""Error code -> why no document of the simulated market can bring it about."""


def _corrected(draft: Draft) -> Draft:
    body = _correction(_FAULTY_METER)(draft.body)
    return draft._replace(body=body, reference=f"{draft.reference} corrected")


FAULTS = Market(
    MISTAKES,
    named={"*": frozenset((*EVERYTHING.split(), *MEASURES.split(), START, STOP))},
    anchored={"*": frozenset((SERIES, CHARGE))},
    lost={**LOST, **LOST_ORIGINAL},
    late={**LATE, **LATE_ORIGINAL},
    original="MeterReadings",
    corrected=_corrected,
)
