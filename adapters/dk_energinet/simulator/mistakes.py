"""The mistakes that the simulated Danish hub makes: one for each rule that a message of its can break, and some of
broken content. What a row foretells follows from the sentence of the rule and from what the hub publishes."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from adapters.dk_energinet.simulator.documents import (
    ACCOUNT,
    AMOUNTS,
    ASK_AMOUNTS,
    ASK_MEASURES,
    ASK_POINT,
    ASK_SUMS,
    ASK_SWITCH,
    CUSTOMER,
    MEASURES,
    NO_MEASURES,
    NOTICE,
    OLD_RECEIVED,
    OTHER,
    POINT_CHANGED,
    POINT_KEPT,
    REJECTED,
    REMINDER,
    SUMS,
    SUPPLIER,
)
from energycomm.simulation.edits import Edit, add, both, drop, inside, put, repeated, rewrite, shift, swap
from energycomm.simulation.people import with_check_digit
from energycomm.simulation.staging import Codes, Market, Mistake, by_name

START, STOP, POINT, HOLDER, METER = "StartOfSupply", "EndOfSupply", "AccessPointData", "CustomerData", "MeterData"
RELATIONS, SERIES, STATUS, ANSWER = "PointRelations", "MeasureSeries", "RequestStatus", "RequestAnswer"
SUM, AMOUNT, ASKED = "AggregatedSeries", "SettlementAmounts", "ReceivedRequest"
DATA = f"{POINT} {METER} {RELATIONS}"
MONTHLY, UNCONNECTED = "MonthlyMeasures", "UnconnectedMeasures"
"""The simulation's names of measures of a month, and of a point that is not connected."""
WRONG_GLN = "5790009000014"
_POINT, _SENDER = "MarketEvaluationPoint", "sender_MarketParticipant"
_PLACE, _LINKED = "usagePointLocation.mainAddress", "linked_MarketEvaluationPoint.mRID"
_PLANT = f'<{_LINKED} codingScheme="A10">571313980000000043</{_LINKED}>'
"""A power plant whose check digit is wrong: 571313980000000049 is a right one."""
_REGISTERED = (
    "<usagePointLocation.geoInfoReference>0a3f50a1-7c52-32b8-e044-0003ba298018</usagePointLocation.geoInfoReference>"
)


# --- edits ------------------------------------------------------------------------------------------------------------


def _role(who: str, role: str) -> Edit:
    return put(f"{who}_MarketParticipant.marketRole.type", role)


def _process(code: str) -> Edit:
    return put("process.processType", code)


def _later(tag: str, minutes: int) -> Edit:
    """An instant that is so many minutes later."""

    def moved(text: str) -> str:
        at = datetime.fromisoformat(text) + timedelta(minutes=minutes)
        return at.isoformat().replace("+00:00", "Z") if text.count(":") == 2 else f"{at:%Y-%m-%dT%H:%MZ}"

    return rewrite(tag, moved)


def _same(tag: str, source: str) -> Edit:
    """An element gets the text of another one."""

    def change(xml: str) -> str:
        found = re.search(f"<{source}(?: [^>]*)?>([^<]*)<", xml)
        assert found is not None, source
        return put(tag, found[1])(xml)

    return change


def _own_child(xml: str) -> str:
    """The point is its own child."""
    found = re.search(f"<{_POINT}><mRID[^>]*>([^<]*)<", xml)
    assert found is not None
    return inside("Child_MarketEvaluationPoint", put("mRID", found[1]))(xml)


def _wrong_digit(gsrn: str) -> str:
    return f"{gsrn[:17]}{(int(gsrn[17]) + 1) % 10}"


def _point(change: Edit) -> Edit:
    return inside(_POINT, change)


def _last_point(change: Edit) -> Edit:
    """Change the last interval of a series."""

    def edit(xml: str) -> str:
        first, tag, last = xml.rpartition("<Point>")
        return first + change(tag + last)

    return edit


def _no_last_point(xml: str) -> str:
    return re.sub("<Point>(?:(?!<Point>).)*?</Point></Period>", "</Period>", xml, flags=re.DOTALL)


def _one_point(xml: str) -> str:
    """The first interval alone."""
    return re.sub("(</Point>)<Point>.*</Point>", r"\1", xml, flags=re.DOTALL)


_month = both(put("resolution", "P1D"), _one_point)
_half_past = both(_later("start", 30), _later("end", 30))
_to_start = _same("end", "start")


# --- rows -------------------------------------------------------------------------------------------------------------


def _data(name: str, edit: Edit | None, errors: Codes = POINT, warnings: Codes = "", **more: Any) -> Mistake:
    """A mistake in the last change of a point."""
    return Mistake(name, "change", edit, errors, warnings, type=ACCOUNT, **more)


def _holder(name: str, edit: Edit | None, errors: Codes = HOLDER, warnings: Codes = "", **more: Any) -> Mistake:
    """A mistake in the change of a customer."""
    return Mistake(name, "customer", edit, errors, warnings, type=CUSTOMER, **more)


def _end(name: str, edit: Edit | None, errors: Codes = STOP, **more: Any) -> Mistake:
    """A mistake in an end of supply that is announced and does not come."""
    return Mistake(name, "reading", edit, errors, type=NOTICE, **more)


def _hours(name: str, edit: Edit | None, errors: Codes = SERIES, warnings: Codes = "", **more: Any) -> Mistake:
    """A mistake in the last measures."""
    return Mistake(name, "reading", edit, errors, warnings, type=MEASURES, **more)


def _sums(name: str, edit: Edit | None, errors: Codes = SUM, **more: Any) -> Mistake:
    """A mistake in sums of a grid area."""
    return Mistake(name, "reading", edit, errors, type=SUMS, **more)


def _amounts(name: str, edit: Edit | None, errors: Codes = AMOUNT, warnings: Codes = "", **more: Any) -> Mistake:
    """A mistake in amounts of a tariff by hours."""
    return Mistake(name, "reading", edit, errors, warnings, type=AMOUNTS, **more)


def _copy(
    name: str, label: str, edit: Edit | None, errors: Codes = STATUS, warnings: Codes = "", **more: Any
) -> Mistake:
    """A mistake in the copy of a request."""
    return Mistake(name, "reading", edit, errors, warnings, type=label, **more)


def _reply(name: str, label: str, edit: Edit | None, errors: Codes = ANSWER, **more: Any) -> Mistake:
    """A mistake in an answer."""
    return Mistake(name, "reading", edit, errors, type=label, **more)


HEADS: tuple[Mistake, ...] = (
    _data("DK-E01", None, DATA, document=put(f"{_SENDER}.mRID", "5790001330553")),
    _data("DK-E02", None, DATA, document=put("receiver_MarketParticipant.mRID", WRONG_GLN)),
    _data("DK-E04", None, DATA, document=_process("A01"), error_class="product"),
    _hours("DK-E05", None, document=_role("sender", "DDQ")),
    _sums("DK-E06", None, document=_role("sender", "DDM")),
    _data("DK-E07", None, DATA, document=_role("sender", "DDM")),
    _reply("DK-E08", NO_MEASURES, None, document=_role("sender", "DDM")),
    _holder("DK-E09", None, document=_role("receiver", "DDK")),
    _data("DK-E10", None, DATA, document=put("businessSector.type", "27")),
    _end("CO-E01", None, document=drop(f"{_SENDER}.mRID"), error_class="missing"),
    _end("CO-E02", None, document=drop("receiver_MarketParticipant.mRID"), error_class="missing"),
    _data("CO-E03", None, f"{POINT} {METER}", document=put(f"{_SENDER}.mRID", SUPPLIER)),
)
"""Mistakes in who speaks to whom."""

POINTS: tuple[Mistake, ...] = (
    _data("DK-P01", _point(rewrite("mRID", _wrong_digit)), DATA),
    _data("DK-P02", _point(rewrite("mRID", lambda gsrn: with_check_digit(f"58{gsrn[2:17]}"))), DATA),
    _data("DK-P03", put("meteringGridArea_Domain.mRID", "99X")),
    _data("DK-P06", put("meteringMethod", "E13"), error_class="product"),
    _data("DK-P07", _point(put("type", "E18")), warnings={POINT: ("DK-P21",)}),
    _data("DK-P08", drop("settlementMethod"), "", POINT, error_class="missing"),
    _data("DK-P09", both(put("netSettlementGroup", "9"), put("meteringMethod", "D02")), error_class="product"),
    _data("DK-P10", inside("Child_MarketEvaluationPoint", rewrite("mRID", _wrong_digit)), RELATIONS),
    _data("DK-P11", _own_child, RELATIONS),
    _data("DK-P13", put("energySupplier_MarketParticipant.mRID", WRONG_GLN)),
    _data("DK-P14", put("meteringPointResponsible_MarketParticipant.mRID", WRONG_GLN)),
    _data("DK-P15", put("postalCode", "90000"), "", POINT),
    _data("DK-P16", inside("townDetail", put("code", "1851")), "", POINT),
    _data("DK-P17", rewrite("meter.mRID", lambda serial: f"MAALER-{serial}"), METER),
    _data("DK-P18", _point(both(put("type", "E20"), drop("settlementMethod")))),
    _data("DK-P19", put("netSettlementGroup", "6"), "", POINT),
    _data("DK-P20", add("meteringGridArea_Domain.mRID", _PLANT)),
    _data("DK-P22", swap(f"<{_PLACE}>", f"{_REGISTERED}<{_PLACE}>"), "", POINT, error_class="missing"),
    _data("DK-P23", add("number", "<floorIdentification>stuen</floorIdentification>"), "", POINT),
    _data("DK-P24", add("number", "<suiteNumber>bagest</suiteNumber>"), "", POINT),
    _data("DK-P25", swap("<streetDetail>", "<streetDetail><code>12</code>"), "", POINT),
    _data("DK-D03", _later("validityStart_DateAndOrTime.dateTime", 360)),
    _data("CO-D01", put("validityStart_DateAndOrTime.dateTime", "2199-01-31T23:00:00Z"), f"{POINT} {METER}"),
    _data("CO-S05", put("physicalConnectionCapacity", "99"), error_class="ordering", extra=True),
    _holder("DK-U01", put("firstCustomer_MarketParticipant.mRID", "1234567")),
    _holder("DK-U02", drop("firstCustomer_MarketParticipant.name"), error_class="missing"),
    _holder(
        "CO-S13",
        put("validityStart_DateAndOrTime.dateTime", "2024-01-31T23:00:00Z"),
        "",
        HOLDER,
        error_class="ordering",
        rest="quarantined",
        extra=True,
    ),
    _holder("DK-U03", put("email1", "kunde"), "", HOLDER),
)
"""Mistakes in data of points and customers."""

SUPPLY: tuple[Mistake, ...] = (
    Mistake(
        "DK-D01",
        "start",
        both(
            _point(rewrite("mRID", lambda gsrn: with_check_digit(f"57131397{gsrn[8:17]}"))),
            _later("supplyStart_DateAndOrTime.dateTime", 360),
            drop("meter.mRID"),
        ),
        START,
        type=ACCOUNT,
        extra=True,
        kinds=(POINT, RELATIONS, START),
    ),
    _end("DK-D02", _later("validityStart_DateAndOrTime.dateTime", 360)),
    Mistake(
        "DK-S03", "stop", None, "", STOP, document=both(_process("E03"), shift("createdDateTime", 12)), type=NOTICE
    ),
    _end("DK-S04", None, {STOP: ("CO-E04", "DK-S04")}, document=_process("E05"), error_class="missing"),
    _end("CO-E04", None, {STOP: ("CO-E04", "DK-S04")}, document=_process("E05"), error_class="missing"),
)
"""Mistakes in starts and ends of supply."""

MEASURED: tuple[Mistake, ...] = (
    _hours("DK-V01", both(put("quantity_Measure_Unit.name", "KVT"), drop("product")), error_class="product"),
    _hours("DK-V02", put("product", "8716867000999"), error_class="product"),
    _hours("DK-V03", put("quantity_Measure_Unit.name", "K3")),
    _hours("DK-V04", put("resolution", "PT30M"), {SERIES: ("CO-V05", "DK-V04")}),
    _hours("DK-V05", both(put("marketEvaluationPoint.type", "E18"), _month), {SERIES: ("DK-V05", "DK-V16")}),
    _hours("DK-V06", _half_past, {SERIES: ("DK-V06", "DK-V07")}),
    _hours("DK-V07", _later("end", 30), {SERIES: ("CO-V07", "DK-V07")}),
    _hours("DK-V08", _to_start, {SERIES: ("CO-D04", "DK-V08")}),
    _hours("CO-D04", _to_start, {SERIES: ("CO-D04", "DK-V08")}),
    Mistake("DK-V09", "reading", shift("end", -1), SERIES, type=MONTHLY),
    Mistake("CO-D09", "reading", repeated("Point"), {SERIES: ("CO-D09", "CO-V06")}, type=MONTHLY),
    _hours("DK-V10", put("quantity", "-1.250"), {SERIES: ("CO-V08", "DK-V10")}),
    _hours("CO-V08", put("quantity", "-0.250"), {SERIES: ("CO-V08", "DK-V10")}),
    _hours("DK-V11", put("quantity", "1.2345")),
    _hours("DK-V12", put("quality", "A02")),
    _hours("DK-V13", drop("quantity"), error_class="missing"),
    Mistake("DK-V15", "reading", None, SERIES, type=UNCONNECTED),
    _hours("DK-V16", put("marketEvaluationPoint.type", "E18")),
    _hours("DK-V17", shift("registration_DateAndOrTime.dateTime", -3), "", SERIES),
    _hours("CO-V05", _no_last_point),
    _hours("CO-V06", put("position", "2")),
    _hours("CO-V07", _later("end", 30), {SERIES: ("CO-V07", "DK-V07")}),
)
"""Mistakes in measures."""

AREAS: tuple[Mistake, ...] = (
    _sums("DK-V21", put("quantity_Measure_Unit.name", "K3")),
    _sums("DK-V22", put("resolution", "PT30M"), {SUM: ("DK-V22", "DK-V23")}),
    _sums("DK-V23", _no_last_point),
    _sums("DK-V24", put("position", "2")),
    _sums("DK-V26", put("marketEvaluationPoint.type", "E18")),
    _sums("DK-V28", add("version", "<settlement_Series.version>D09</settlement_Series.version>"),
          document=_process("D32")),
    _sums("DK-V29", add("version", "<settlement_Series.version>D01</settlement_Series.version>")),
    _sums("DK-V30", put("meteringGridArea_Domain.mRID", "99X")),
    _sums("DK-V31", put("energySupplier_MarketParticipant.mRID", WRONG_GLN), {SUM: ("DK-V31", "DK-V33")}),
    _sums("DK-V32", put("balanceResponsibleParty_MarketParticipant.mRID", WRONG_GLN)),
    _sums("DK-V33", put("energySupplier_MarketParticipant.mRID", OTHER)),
    _sums("DK-V34", put("product", "8716867000047")),
    _sums("DK-V35", both(_later("start", 60), _later("end", 60))),
    _sums("DK-V36", shift("end", 40), {SUM: ("DK-V23", "DK-V36")}),
)  # fmt: skip
"""Mistakes in sums of grid areas."""

SETTLED: tuple[Mistake, ...] = (
    _amounts("DK-G01", put("currency_Unit.name", "SEK")),
    _amounts("DK-G02", drop("chargeType.type"), error_class="missing"),
    _amounts("DK-G03", put("chargeType.mRID", "NETTARIF-0001")),
    _amounts("DK-G04", put("chargeType.chargeTypeOwner_MarketParticipant.mRID", WRONG_GLN)),
    _amounts("DK-G05", put("resolution", "PT30M"), {AMOUNT: ("DK-G05", "DK-G09")}),
    _amounts("DK-G06", put("quantity_Measure_Unit.name", "H87")),
    _amounts("DK-G07", both(put("chargeType.type", "D02"), _month)),
    _amounts("DK-G08", both(put("chargeType.type", "D02"), put("quantity_Measure_Unit.name", "H87"))),
    _amounts("DK-G09", _no_last_point),
    _amounts("DK-G10", _last_point(put("position", "26"))),
    _amounts("DK-G11", put("energySum_Quantity.quantity", "999"), "", AMOUNT),
    _amounts("DK-G12", both(put("energy_Quantity.quantity", "-4"), put("energySum_Quantity.quantity", "-0.5"))),
)
"""Mistakes in settlements."""

_END = "end_DateAndOrTime.dateTime"

ANSWERS: tuple[Mistake, ...] = (
    _reply("DK-A01", OLD_RECEIVED, drop("ResponseReasonType"), error_class="missing"),
    _reply("DK-A02", POINT_KEPT, inside("Reason", put("code", "A44")), error_class="product"),
    _reply("DK-A03", REJECTED, drop("originalTransactionIDReference_MktActivityRecord.mRID"), error_class="missing"),
    _reply("DK-A05", POINT_CHANGED, None, document=put("reason.code", "A02")),
    _reply("DK-A06", REJECTED, None, document=put("reason.code", "A01")),
    _copy("DK-A11", ASK_MEASURES, _same(_END, "start_DateAndOrTime.dateTime")),
    _copy("DK-A12", ASK_SUMS, drop(_END), error_class="missing"),
    _copy("DK-A13", ASK_SUMS, shift(_END, 3)),
    _copy("DK-A14", ASK_AMOUNTS, shift(_END, -1)),
    _copy("DK-A15", ASK_MEASURES, _later("start_DateAndOrTime.dateTime", 60)),
    _copy("DK-A16", ASK_MEASURES, _later(_END, 60)),
    _copy("DK-A17", ASK_SUMS, put("meteringGridArea_Domain.mRID", "99X")),
    _copy("DK-A18", ASK_SUMS, drop("meteringGridArea_Domain.mRID"), document=_role("sender", "MDR"),
          error_class="missing"),
    _copy("DK-A19", ASK_SUMS, put("marketEvaluationPoint.type", "E18")),
    _copy("DK-A20", ASK_SUMS, both(put("marketEvaluationPoint.type", "D06"),
                                   drop("marketEvaluationPoint.settlementMethod"))),
    _copy("DK-A21", ASK_SUMS, put("energySupplier_MarketParticipant.mRID", OTHER)),
    _copy("DK-A22", ASK_SUMS, drop("energySupplier_MarketParticipant.mRID"), error_class="missing"),
    _copy("DK-A23", ASK_AMOUNTS, None, document=_role("sender", "DDK")),
    _copy("DK-A28", ASK_SUMS, put("marketEvaluationPoint.type", "E20"), {STATUS: ("DK-A19", "DK-A28")}),
    _copy("DK-A24", ASK_AMOUNTS, put("aggregationSeries_Period.resolution", "P1D"), "", STATUS),
    _copy("DK-A25", ASK_SWITCH, None, document=_role("sender", "DDM")),
    _copy("DK-A26", ASK_POINT, None, document=_role("sender", "DDQ")),
    Mistake("DK-A27", "reading", _point(rewrite("mRID", _wrong_digit)), ASKED, type=REMINDER),
)  # fmt: skip
"""Mistakes in answers, copies of requests and reminders."""

UNREADABLE: tuple[Mistake, ...] = (
    _data("SYN_MISSING", _point(drop("mRID")), "", refused=True),
    _data("SYN_VALUE", put("validityStart_DateAndOrTime.dateTime", "2025-02-30T23:00:00Z"), "", refused=True),
    _hours("SYN_UNEXPECTED", add("product", "<strange>1</strange>"), "", refused=True),
    _end("SYN_CODE", None, "", document=_process("E23"), refused=True),
)
"""Content that cannot be read."""

TOLD_BY: dict[str, str] = {
    **dict.fromkeys(
        ("DK-E01", "DK-E02", "DK-E04", "DK-E05", "DK-E06", "DK-E07", "DK-E08", "DK-E09", "DK-E10", "CO-E03"),
        "the headers of the other documents",
    ),
    **dict.fromkeys(("CO-E01", "CO-E02"), "the headers of the other documents"),
    **dict.fromkeys(("DK-P01", "DK-P10", "DK-A27"), "itself: the check digit counts from the other digits"),
    **dict.fromkeys(("DK-P03", "DK-P14"), "the data of the point before"),
    **dict.fromkeys(("DK-V03", "DK-V16"), "the measures of the point before"),
    **dict.fromkeys(("DK-V06", "DK-V07", "CO-V07", "DK-V35"), "itself: measures of a day go from midnight to midnight"),
    **dict.fromkeys(("CO-V06", "DK-V24"), "itself: its intervals stand in their order"),
    **dict.fromkeys(("DK-V31", "DK-V33"), "the header of the document: sums are the addressee's own"),
    "CO-S05": "the right message, which came before",
    "DK-D02": "itself: a supply ends at midnight",
}  # fmt: skip
"""Mistake -> what else that arrives tells the right content, see `Outcome`; nothing does for the others."""

MISTAKES = by_name(TOLD_BY, HEADS, POINTS, SUPPLY, MEASURED, AREAS, SETTLED, ANSWERS, UNREADABLE)
"""Each mistake with the codes that it must get."""

_BEFORE = "refused before"
_NO_REFERENCE = "a supply has no reference in this market"
_NO_INDEX = "this market sends energies and no indexes"
_NO_FEE = "this market sends settlements of grid areas and no grid fee of a point"
_NO_VOLUME = "this market sends series and no volumes"

UNREACHABLE: dict[str, str] = {
    "DK-A04": "a confirmation has no place for reasons",
    **dict.fromkeys(
        ("DK-P04", "DK-P05", "DK-P12", "DK-V14", "DK-V27"),
        f"the hub's schema has the codes of the list and no other: what it forbids is {_BEFORE}",
    ),
    "DK-P21": "it comes beside DK-P07: a point of consumption that became one of production has no right measures",
    "DK-E03": f"a document that is not in the list is {_BEFORE}",
    "DK-S01": "a start is told of points whose supplier is the addressee",
    "DK-S02": "an end before every start of its point waits for one, and after one it is not before it",
    "DK-V25": f"a document without its process is {_BEFORE}",
    **dict.fromkeys(
        ("CO-S10", "CO-S11", "CO-S12", "CO-C01", "CO-C02", "CO-C03", "CO-C11", "CO-C12", "CO-C13"),
        "a simulated supplier has no opening balance: its history begins with the market's starts",
    ),
    **dict.fromkeys(("CO-A01", "CO-A02"), "the statuses of this market have no milestones"),
    "CO-A03": "a copy of a request and its receipt are told before it is granted",
    "CO-A04": "a reminder is not replaced or taken back",
    "CO-D07": "a digester gives a series one step",
    "CO-D08": "documents of a grid area have no place for a point",
    "CO-E05": "of what is taken back readings alone are looked up, and this market has none",
    **dict.fromkeys(("CO-D05", "CO-D06", *(f"CO-G{number:02d}" for number in range(1, 12))), _NO_FEE),
    **dict.fromkeys(("CO-D02", *(f"CO-R{number:02d}" for number in range(1, 15))), _NO_INDEX),
    **dict.fromkeys(("CO-D03", "CO-V01", "CO-V02", "CO-V03", "CO-V09"), _NO_VOLUME),
    **dict.fromkeys(("CO-S01", "CO-S02", "CO-S03", "CO-S06"), _NO_REFERENCE),
    "CO-V04": f"a series without intervals is {_BEFORE}",
    "CO-V10": "of two publications of measures the newer one holds in this market",
}
"""Error code -> why no message of the simulated hub can bring it about."""


FAULTS = Market(
    MISTAKES,
    named={ACCOUNT: frozenset((START,))},
    anchored={"*": frozenset((POINT, HOLDER, METER, SERIES, START, STOP))},
)
