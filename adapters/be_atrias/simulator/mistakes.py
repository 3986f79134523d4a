"""The mistakes that the simulated Belgian market makes: one for each rule that a message of its can break, and some of
broken content. What a row foretells follows from the sentence of the rule and from what the market publishes."""

from __future__ import annotations

import re
from typing import Any

from adapters.be_atrias.simulator.documents import OTHER, SUPPLIER, with_check_digit
from energycomm.simulation.edits import (
    Edit,
    add,
    both,
    cents,
    copied,
    drop,
    inside,
    number,
    put,
    repeated,
    shift,
    swap,
)
from energycomm.simulation.staging import NONE, Codes, Draft, Market, Mistake

START, STOP = "StartOfSupply", "EndOfSupply"
POINT, TERMS, HOLDER, METER = "AccessPointData", "ContractTerms", "CustomerData", "MeterData"
READING, VOLUME, SERIES = "MeterReading", "MeteredVolume", "MeasureSeries"
CHARGE, INVOICE = "GridCharge", "GridInvoice"
STATUS, ANSWER, ERROR, CALORIFIC = "RequestStatus", "RequestAnswer", "ErrorReport", "CalorificValue"
EVERYTHING = (POINT, TERMS, HOLDER, METER)
MEASURES = (READING, VOLUME)


def _same(*codes: str, kinds: tuple[str, ...] = EVERYTHING) -> Codes:
    """The same codes for each of several kinds."""
    return dict.fromkeys(kinds, codes)


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


def _start(
    name: str, edit: Edit, *kinds: str, warn: bool = False, document: Edit | None = None, **fault: Any
) -> Mistake:
    """A mistake in the start of a point of which nothing else is told: where it is refused, the data with it wait."""
    codes = _same(name, kinds=kinds or (START,))
    if warn:
        return Mistake(name, "start", _elsewhere(edit), warnings=codes, extra=True, document=document, **fault)
    return Mistake(name, "start", _elsewhere(edit), codes, extra=True, document=document, rest="quarantined", **fault)


def _stop(name: str, edit: Edit, document: Edit | None = None) -> Mistake:
    """A mistake in the stop of a point of which nothing else is told."""
    return Mistake(name, "stop", _elsewhere(edit), {STOP: (name,)}, extra=True, document=document)


HEADS: tuple[Mistake, ...] = (
    Mistake("BE-E01", "change", document=_party("Sender", "5419999000018"), errors=_same("BE-E01")),
    Mistake(
        "BE-E02",
        "change",
        document=_party("Recipient", "5419999000025"),
        errors=_same("BE-E02", "BE-P05"),
    ),
    Mistake(
        "BE-E04", "change", document=put("EnergyBusinessProcess", "E0Z"), errors=_same("BE-E04"), error_class="product"
    ),
    Mistake("BE-E05", "change", add("MeteringPointDomainLocation", _GRID.format("5419999000032")), _same("BE-E05")),
    Mistake("BE-E06", "change", document=put("EnergyBusinessProcessRole", "DDQ"), errors=_same("BE-E06")),
    Mistake("BE-E07", "reading", document=_party("Sender", SUPPLIER), errors={ANSWER: ("BE-E07",)}, type="Response"),
    Mistake("CO-E03", "change", document=_party("Sender", SUPPLIER), errors=_same("CO-E03")),
    Mistake("BE-P05", "change", document=_party("Recipient", OTHER), errors=_same("BE-P05")),
)
"""Mistakes in who speaks to whom, and why."""

POINTS: tuple[Mistake, ...] = (
    Mistake(
        "BE-P01",
        "change",
        lambda xml: re.sub(r">(5414490\d{10})(\d)<", lambda m: f">{m[1]}{(int(m[2]) + 1) % 10}<", xml, count=1),
        _same("BE-P01"),
    ),
    _start("BE-P03", _abroad, START, *EVERYTHING, warn=True),
    _start("BE-P04", inside("BalanceSupplierInvolvedEnergyParty", put("Identification", OTHER)), START, POINT),
    Mistake("BE-P06", "change", put("NumberOfPhases", "2"), {POINT: ("BE-P06",)}),
    Mistake("BE-P07", "change", put("SettlementRegime", "SMR9"), {POINT: ("BE-P07",)}, error_class="product"),
    Mistake("BE-P08", "change", put("StandardLoadProfile", "X99"), {POINT: ("BE-P08",)}, error_class="product"),
    Mistake("BE-P09", "change", put("MeteringMethod", "E99"), {POINT: ("BE-P09",)}, error_class="product"),
    Mistake("BE-P10", "change", put("ReadingFrequency", "7"), {POINT: ("BE-P10",)}),
    Mistake("BE-P11", "change", put("ReadingMonth", "13"), {POINT: ("BE-P11",)}),
    Mistake(
        "BE-P12",
        "change",
        both(put("SettlementRegime", "SMR3"), put("RemotelyReadable", "false")),
        {POINT: ("BE-P12",)},
    ),
    Mistake(
        "BE-P13",
        "change",
        add(
            "MeteringGridArea",
            "<EstimatedAnnualVolumePeak>-1</EstimatedAnnualVolumePeak>"
            "<EstimatedAnnualVolumeOffPeak>800</EstimatedAnnualVolumeOffPeak>",
        ),
        {POINT: ("BE-P13",)},
    ),
    Mistake("BE-P14", "change", put("ConnectionCapacity", "0"), {POINT: ("BE-P14",)}),
    Mistake("BE-P15", "change", add("MeteringGridArea", _ADDRESS.format("90000")), warnings={POINT: ("BE-P15",)}),
    Mistake("BE-P16", "change", put("MeteringGridArea", "541449000000990015"), {POINT: ("BE-P16",)}),
    Mistake("BE-P17", "change", put("PhysicalStatus", "D03"), {POINT: ("BE-P17",)}),
    Mistake("BE-P18", "change", put("VoltageLevel", "E99"), {POINT: ("BE-P18",)}, error_class="product"),
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
        {START: ("BE-S06", "CO-S05"), **_same("CO-S05", kinds=(POINT, TERMS, HOLDER))},
        extra=True,
    ),
    _stop("BE-S07", _next_supplier(SUPPLIER)),
    _stop("BE-S08", _next_supplier("OTHER")),
    Mistake("BE-S09", "stop", both(), _same("BE-S09"), type="MasterData"),
    Mistake("BE-S10", "stop", both(), _same("BE-S10", kinds=MEASURES), type="MeterReadings"),
    Mistake("BE-S11", "stop", both(), {SERIES: ("BE-S11",)}, type="MeteredSeries"),
    _stop("BE-S12", put("AgreementStatus", "E13")),
    Mistake("BE-S13", "change", put("AgreementStatus", "E14"), {TERMS: ("BE-S13",)}),
    _start("BE-S14", shift("StartDate", -30), warn=True),
    Mistake("BE-S15", "stop", shift("EndDate", 10), warnings={STOP: ("BE-S15",)}),
    Mistake("BE-D01", "change", _at("1999-02-01T00:00:00+01:00", "StartDate"), _same("BE-D01")),
    _start("BE-D02", _at("2022-02-01T00:00:00+01:00", "StartDate"), warn=True),
    Mistake("BE-D03", "change", put("StartDate", "2199-01-01"), {TERMS: ("BE-D03",)}),
    Mistake("CO-D01", "change", _at("2199-02-01T00:00:00+01:00"), _same("CO-D01")),
    Mistake(
        "CO-S01",
        "start",
        both(_reference, shift("StartOfOccurrence", 3), shift("StartDate", 3)),
        {START: ("CO-S01",)},
        extra=True,
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
        {START: ("CO-S02",)},
        extra=True,
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
        _same("CO-S05", kinds=(POINT, TERMS, HOLDER)),
        error_class="ordering",
        extra=True,
    ),
)
"""Mistakes in when an access is ours."""

CONTRACTS: tuple[Mistake, ...] = (
    Mistake("BE-C01", "change", put("AgreementType", "E99"), {TERMS: ("BE-C01",)}, error_class="product"),
    Mistake("BE-C02", "change", inside("ContractedCapacity", put("Quantity", "0")), {TERMS: ("BE-C02",)}),
    Mistake("BE-C03", "change", inside("ContractedCapacity", put("UnitType", "MVA")), {TERMS: ("BE-C03",)}),
    Mistake(
        "BE-C04", "change", inside("ContractedCapacity", drop("UnitType")), {TERMS: ("BE-C04",)}, error_class="missing"
    ),
    Mistake("BE-C05", "change", put("MeterTimeFrame", "WEEKEND"), {TERMS: ("BE-C05",)}, error_class="product"),
    Mistake("BE-C06", "change", drop("TariffCode"), warnings={TERMS: ("BE-C06",)}, error_class="missing"),
    Mistake("BE-U01", "change", drop("CustomerCategory"), {HOLDER: ("BE-U01",)}, error_class="missing"),
    Mistake("BE-U02", "change", _holder(_PRIVATE), {HOLDER: ("BE-U02",)}, error_class="missing"),
    Mistake("BE-U03", "change", _holder(_TRADE), {HOLDER: ("BE-U03",)}, error_class="missing"),
    Mistake("BE-U04", "change", _holder(_TRADE, _COMPANY, _NUMBER.format("0123456748")), {HOLDER: ("BE-U04",)}),
    Mistake("BE-U05", "change", _holder(_PRIVATE, _NAME, _NUMBER.format("0123456749")), warnings={HOLDER: ("BE-U05",)}),
    Mistake("BE-U06", "change", _holder(_PRIVATE, _NAME, _ADDRESS.format("90000")), warnings={HOLDER: ("BE-U06",)}),
    Mistake("BE-M02", "change", put("NumberOfRegisters", "99"), {METER: ("BE-M02",)}),
    Mistake("BE-M03", "change", put("NumberOfDigits", "2"), {METER: ("BE-M03",)}),
    Mistake("BE-M04", "change", put("MeterType", "SUNDIAL"), {METER: ("BE-M04",)}, error_class="product"),
)
"""Mistakes in terms, customer and meter."""


def _read(
    name: str, edit: Edit, errors: Codes = NONE, warnings: Codes = NONE, *, only: str | None = None, **more: Any
) -> Mistake:
    """A mistake in the last reading; `only` names the kind that is left of indexes and energies."""
    if only is not None:
        edit = both(_INDEXES_ONLY if only == READING else _ENERGIES_ONLY, edit)
        more["kinds"] = (only,)
    return Mistake(name, "reading", edit, errors, warnings, type="MeterReadings", **more)


READINGS: tuple[Mistake, ...] = (
    _read("BE-R01", _registers(put("UnitType", "MTQ")), {READING: ("BE-R01",)}),
    _read("BE-R02", _gas("E29", "KWH"), {READING: ("BE-R02",)}, document=_OF_GAS, kinds=(READING,)),
    _read(
        "BE-R03",
        inside("RegisterReading", put("MeterTimeFrame", "XX")),
        {READING: ("BE-R03",)},
        {READING: ("BE-R04",)},
        error_class="product",
    ),
    _read("BE-R04", drop("RegisterReading"), warnings={READING: ("BE-R04",)}),
    _read("BE-R05", _index(90_000), {READING: ("BE-R05",)}),
    _read("BE-R06", inside("MeterFacility", put("Identification", "00000000000001")), warnings={READING: ("BE-R06",)}),
    _read("BE-R07", _correction(), warnings=_same("BE-R07", kinds=MEASURES), error_class="missing", extra=True),
    _read("BE-R08", put("MeterReadingOrigin", "ZZZ"), warnings={READING: ("BE-R08",)}, error_class="missing"),
    _read("BE-R09", drop("MeterFacility"), warnings={READING: ("BE-R09",)}, error_class="missing"),
    _read(
        "BE-R10", _gas("E10", "MTQ"), {READING: ("BE-R10",)}, {READING: ("BE-R04",)}, document=_OF_GAS, kinds=(READING,)
    ),
    _read(
        "CO-E04",
        both(put("Function", "5"), add("ReadingTime", _FAULTY_METER)),
        _same("CO-E04", kinds=MEASURES),
        error_class="missing",
    ),
    _read(
        "CO-E05",
        both(_correction(function="1"), put("Identification", "again")),
        _same("CO-E05", kinds=MEASURES),
        error_class="ordering",
        extra=True,
        before=_correction(function="1"),
    ),
    _read(
        "CO-R01",
        both(drop("RegisterReading", every=True), drop("EnergyVolume", every=True)),
        {READING: ("CO-R01",)},
        error_class="missing",
        kinds=(READING,),
    ),
    _read("CO-R02", repeated("RegisterReading"), {READING: ("CO-R02",)}),
    _read("CO-R03", inside("RegisterReading", put("MeterReading", "-400")), {READING: ("CO-R03", "CO-R05")}),
    _read("CO-R04", _registers(put("NumberOfDigits", "2")), {READING: ("CO-R04",)}, {READING: ("CO-R11",)}),
    _read("CO-R05", _index(-2000), {READING: ("CO-R05",)}),
    _read("CO-R06", _index(-2000), warnings={READING: ("CO-R06",)}, previous=put("MeterReadingOrigin", "56")),
    _read(
        "CO-R07",
        _registers(number("MeterReading", lambda value: value // 1000)),
        {READING: ("CO-R05", "CO-R07")},
        error_class="product",
    ),
    _read(
        "CO-R08",
        _registers(add("NumberOfDigits", "<PreviousMeterReading>999999</PreviousMeterReading>")),
        {READING: ("CO-R08",)},
    ),
    _read("CO-R09", copied("PreviousReadingTime", "ReadingTime"), {READING: ("CO-R09",)}, only=READING),
    _read(
        "CO-R10", _registers(add("NumberOfDigits", "<PassedZero>true</PassedZero>")), warnings={READING: ("CO-R10",)}
    ),
    _read("CO-R11", _registers(put("NumberOfDigits", "7")), warnings={READING: ("CO-R11",)}),
    _read("CO-D02", shift("ReadingTime", 20), _same("CO-D02", kinds=MEASURES)),
    _read("CO-D03", copied("PreviousReadingTime", "ReadingTime"), {VOLUME: ("CO-D03",)}, only=VOLUME),
    _read("BE-V01", inside("EnergyVolume", put("UnitType", "MTQ")), {VOLUME: ("BE-V01",)}),
    _read(
        "BE-V02",
        inside("EnergyVolume", put("UnitType", "K3"), every=True),
        {VOLUME: ("BE-V02",)},
        only=VOLUME,
        document=_OF_GAS,
    ),
    _read("BE-V03", inside("EnergyVolume", put("MeterTimeFrame", "XX")), {VOLUME: ("BE-V03",)}, error_class="product"),
    _read("BE-V04", inside("EnergyVolume", put("EnergyQuantity", "999999")), {VOLUME: ("BE-V04",)}),
    _read("CO-V02", repeated("EnergyVolume"), {VOLUME: ("CO-V02",)}),
    _read("CO-V03", inside("EnergyVolume", put("EnergyQuantity", "-5")), {VOLUME: ("CO-V03",)}),
    Mistake(
        "BE-P02", "reading", swap("LOC+90+", "LOC+90+:"), {READING: ("BE-P02",)}, error_class="missing", type="MSCONS"
    ),
)
"""Mistakes in indexes and energies."""


def _hours(name: str, edit: Edit, *errors: str, warnings: tuple[str, ...] = (), **more: Any) -> Mistake:
    """A mistake in the last series."""
    told: Codes = {SERIES: errors} if errors else NONE
    return Mistake(name, "reading", edit, told, {SERIES: warnings} if warnings else NONE, type="MeteredSeries", **more)


_EMPTY = both(drop("EnergyQuantity"), put("QuantityQuality", "46"))

SERIES_OF_HOURS: tuple[Mistake, ...] = (
    _hours("BE-V05", put("ResolutionDuration", "PT30M"), "BE-V05", "CO-V05"),
    _hours("BE-V06", put("UnitType", "H87"), "BE-V06", error_class="product"),
    _hours(
        "BE-V07",
        inside("IncludedProductCharacteristic", put("Identification", "8716867000099")),
        "BE-V07",
        error_class="product",
    ),
    _hours("BE-V08", inside("IncludedProductCharacteristic", put("Identification", "5410000100016")), "BE-V08"),
    _hours("BE-V09", put("EnergyQuantity", "99"), warnings=("BE-V09",)),
    _hours("BE-V10", both(_clock("Start", "06:00:00"), _clock("End", "06:00:00")), warnings=("BE-V10",)),
    _hours(
        "BE-V11", inside("IntervalEnergyObservation", _EMPTY, every=True), warnings=("BE-V11",), error_class="missing"
    ),
    _hours("CO-D04", copied("End", "Start"), "CO-D04"),
    _hours("CO-V04", drop("IntervalEnergyObservation", every=True), "CO-V04", error_class="missing"),
    _hours(
        "CO-V05",
        lambda xml: re.sub(
            r" *<IntervalEnergyObservation>(?:(?!<Interval).)*(?=  </Payload)", "", xml, flags=re.DOTALL
        ),
        "CO-V05",
    ),
    _hours("CO-V06", put("Position", "99"), "CO-V06"),
    _hours("CO-V07", _clock("End", "00:10:00"), "CO-V07", warnings=("BE-V10",)),
    _hours("CO-V08", put("EnergyQuantity", "-1"), "CO-V08"),
)
"""Mistakes in interval series."""


def _fee(name: str, edit: Edit, errors: Codes = NONE, warnings: Codes = NONE, **more: Any) -> Mistake:
    """A mistake in the last grid fee, or in its invoice."""
    label = "GridFeeInvoice" if INVOICE in {*errors, *warnings} else "GridFee"
    return Mistake(name, "reading", edit, errors, warnings, type=label, **more)


FEES: tuple[Mistake, ...] = (
    _fee("BE-G01", put("Currency", "USD"), {CHARGE: ("BE-G01",)}),
    _fee("BE-G02", put("InvoiceType", "GIFT"), {INVOICE: ("BE-G02",)}, error_class="product"),
    _fee("BE-G03", put("BillingType", "GIFT"), {CHARGE: ("BE-G03",)}, error_class="product"),
    _fee("BE-G04", put("TaxRate", "19"), {CHARGE: ("BE-G04",)}, error_class="product"),
    _fee("BE-G05", shift("PeriodEnd", 40), warnings={CHARGE: ("BE-G05",)}),
    _fee("BE-G06", put("NumberOfCharges", "0"), {INVOICE: ("BE-G06",)}),
    _fee("BE-G07", put("UnitType", "XYZ"), {CHARGE: ("BE-G07",)}, error_class="product"),
    _fee("BE-G08", copied("DueDate", "InvoiceDate"), warnings={INVOICE: ("BE-G08",)}),
    _fee("CO-G01", drop("ChargeLine", every=True), {CHARGE: ("CO-G01",)}, error_class="missing"),
    _fee("CO-G02", cents("TotalExcludingTax", 1000), {CHARGE: ("CO-G02",)}),
    _fee("CO-G03", both(cents("Amount", 500), cents("TotalExcludingTax", 500)), {CHARGE: ("CO-G03",)}),
    _fee("CO-G04", _reference, {CHARGE: ("CO-G04",)}, extra=True),
    _fee("CO-G05", cents("TotalIncludingTax", 1000), {INVOICE: ("CO-G05",)}),
    _fee("CO-D05", put("PeriodStart", "2199-01-01"), {CHARGE: ("CO-D05",)}),
    _fee("CO-D06", shift("DueDate", -60), {INVOICE: ("CO-D06",)}, {INVOICE: ("BE-G08",)}),
)
"""Mistakes in the grid fee."""

_DONE = both(put("StatusType", "39"), drop("ResponseReasonType"), drop("ResponseReasonText"))

_OURS = _request("<OriginalBusinessDocument>EC-REQ-1</OriginalBusinessDocument>")

ANSWERS: tuple[Mistake, ...] = (
    Mistake(
        "CO-A03",
        "change",
        both(_reference, _OURS, shift("StartOfOccurrence", 2)),
        {STATUS: ("CO-A03",)},
        extra=True,
        before=both(_reference, _OURS, shift("StartOfOccurrence", 1)),
        kinds=(*EVERYTHING, STATUS),
    ),
    Mistake(
        "BE-A01", "reading", drop("ResponseReasonType"), {ANSWER: ("BE-A01",)}, error_class="missing", type="Response"
    ),
    Mistake(
        "BE-A02",
        "reading",
        put("ResponseReasonType", "Q17"),
        {ANSWER: ("BE-A02",)},
        error_class="product",
        type="Response",
    ),
    Mistake(
        "BE-A03",
        "reading",
        drop("OriginalBusinessDocument"),
        {ERROR: ("BE-A03",)},
        error_class="missing",
        type="ErrorReport",
    ),
    Mistake("BE-A04", "reading", put("StatusType", "39"), warnings={ANSWER: ("BE-A04",)}, type="Response"),
    Mistake(
        "BE-A05",
        "change",
        _request("<RequestReference>REQ-1</RequestReference>"),
        warnings={STATUS: ("BE-A05",)},
        error_class="missing",
        kinds=(*EVERYTHING, STATUS),
    ),
    Mistake(
        "BE-V12",
        "reading",
        lambda text: re.sub(r"(\d)(?=,11)", lambda m: str((int(m[1]) + 1) % 10), text),
        {CALORIFIC: ("BE-V12",)},
        type="CalorificValues",
    ),
    Mistake("BE-V13", "reading", swap("11.4187", "114.187"), {CALORIFIC: ("BE-V13",)}, type="CalorificValues"),
    Mistake("BE-V14", "reading", swap("11.4187", "0"), warnings={CALORIFIC: ("BE-V14",)}, type="CalorificValues"),
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
        ("BE-S06", "CO-S01", "CO-S02", "CO-S03", "CO-S05", "CO-E05", "CO-G04", "CO-A03"),
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
    **dict.fromkeys(("CO-G02", "CO-G05"), "itself: the amounts that it adds up"),
    "BE-P01": "itself: the check digit counts from the other digits",
    "CO-R04": "the digits of the register in the readings before",
    "BE-G01": "the other invoices",
}
"""Mistake -> what else that arrives tells the right content, see `Outcome`; nothing does for the others."""

MISTAKES: tuple[Mistake, ...] = tuple(
    row._replace(told_by=TOLD_BY.get(row.name))
    for table in (HEADS, POINTS, SUPPLY, CONTRACTS, READINGS, SERIES_OF_HOURS, FEES, ANSWERS, UNREADABLE)
    for row in table
)
"""Each mistake with the codes that it must get."""

BY_NAME = {row.name: row for row in MISTAKES}

UNREACHABLE: dict[str, str] = {
    "BE-E03": "the document type comes from the mapping table",
    "BE-M01": "a meter without its number is refused before",
    "CO-A01": "the statuses of this market have no milestones",
    "CO-A02": "the statuses of this market have no milestones",
    "CO-A04": "this market brings no requests of others to a supplier",
    "CO-D07": "a digester gives a series one step",
    "CO-D08": "no simulated document brings sums of an area, settlement amounts or price lists",
    "CO-D09": "no simulated document brings a series of months or years",
    "CO-E01": "a header without its sender is refused before",
    "CO-E02": "a header without its addressee is refused before",
    "CO-V01": "volumes are only made of energies that are there",
}
"""Error code -> why no document of the simulated market can bring it about."""


def _corrected(draft: Draft) -> Draft:
    return draft._replace(body=_correction(_FAULTY_METER)(draft.body))


MARKET_FAULTS = Market(
    MISTAKES,
    frozenset((*EVERYTHING, *MEASURES, START, STOP)),
    by_contract=True,
    anchored=frozenset((SERIES, CHARGE)),
    corrected=_corrected,
)
