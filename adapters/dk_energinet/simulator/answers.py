"""The Danish hub of a simulation: it receives our requests, in XML or in JSON, says so, and grants or refuses them.

It reads a request by the names of its elements, and answers in the form in which it was asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from lxml import etree

from adapters.dk_energinet.simulator import documents as hub
from adapters.dk_energinet.simulator.documents import (
    ACCOUNT,
    AMOUNTS,
    AREAS,
    CONFIRMED,
    CUSTOMER,
    JSON,
    MEASURES,
    NO_AMOUNTS,
    NO_MEASURES,
    NO_SUMS,
    NOTICE,
    RECEIVED,
    REJECTED,
    SUMS,
    Amount,
    Charge,
    Home,
    Span,
)
from energycomm.simulation.answering import Asked, Document

REASONS = (
    (("E10", "Målepunktet findes ikke"),),
    (("E17", "Datoen ligger uden for fristen"), ("E16", "Elleverandøren er ikke berettiget")),
    (("D27", "Anmodningen er ikke tilladt"),),
)
"""Why the hub refuses, now and then for two reasons."""
_REFUSED_AT_ONCE = 3
"""Every so many refusals are told when the request is received, with the acknowledgement."""
_LEGAL = ZoneInfo("Europe/Copenhagen")
_STARTS = frozenset(("SupplierSwitchRequest", "MoveInRequest", "CombinedSwitchRequest"))
_STOPS = frozenset(("EndOfSupplyRequest", "MoveOutRequest"))
_REJECTIONS = {
    "MeteredDataRequest": NO_MEASURES,
    "AggregatedDataRequest": NO_SUMS,
    "SettlementRequest": NO_AMOUNTS,
    **dict.fromkeys((*_STARTS, *_STOPS), REJECTED),
}
"""Kind -> the document that refuses it; what is not here is refused by an acknowledgement with reasons."""
_VARIANT = {"D32": "D01"}
"""Run -> number of a correction."""


class DanishClerk:
    """Satisfies `energycomm.simulation.answering.Clerk`."""

    def accept(self, asked: Asked, at: datetime) -> Sequence[Document]:
        """First that it is received; then, of a change, that it is granted; then what was asked for."""
        request = _Request(asked)
        told = [request.received(at)]
        if asked.kind in _STARTS | _STOPS:
            confirmed = hub.confirmation(f"A-{request.short}", asked.reference, request.gsrn)
            told.append(request.document(2, CONFIRMED, confirmed, at))
        told += request.granted(at)
        return told

    def refuse(self, asked: Asked, at: datetime, choice: int) -> Sequence[Document]:
        """It is received and then refused, or refused when it is received."""
        request, why = _Request(asked), REASONS[choice % len(REASONS)]
        label = _REJECTIONS.get(asked.kind)
        if label is None or choice % _REFUSED_AT_ONCE == 0:
            return [request.received(at, hub.not_received(asked.reference, why))]
        refused = hub.rejection(label, f"A-{request.short}", asked.reference, request.gsrn, why)
        return [request.received(at), request.document(2, label, refused, at)]


class _Request:
    """A request as the hub reads it."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.in_json = asked.content.lstrip().startswith(b"{")
        leaves = _of_json(json.loads(asked.content)) if self.in_json else _of_xml(asked.root)
        self.texts: dict[str, list[str]] = {}
        for name, text in leaves:
            self.texts.setdefault(name, []).append(text)
        self.process = self.text("process.processType") or "E32"
        self.sender = self.text("sender_MarketParticipant.mRID") or hub.SUPPLIER
        # The identifiers of the document and of the transaction are the first two of this name, the point the third.
        points = [text for text in self.texts.get("mRID", ()) if len(text) == 18 and text.isdigit()]
        self.gsrn = self.text("marketEvaluationPoint.mRID") or next(iter(points), None)
        self.start = self.text("start_DateAndOrTime.dateTime")
        self.end = self.text("end_DateAndOrTime.dateTime")
        self.short = asked.number("1") + asked.reference.replace("-", "")[:20]

    def text(self, name: str) -> str | None:
        """The text of the first element of a name."""
        return next(iter(self.texts.get(name, ())), None)

    def received(self, at: datetime, refused: str = "") -> Document:
        """The acknowledgement, with what is refused at once."""
        about = hub.received(self.asked.reference, self.text("type") or "392", self.process)
        return self.document(1, RECEIVED, refused, at, about=about)

    def document(self, number: int, label: str, piece: str, at: datetime, about: str = "") -> Document:
        """The document of a label in the form of the request."""
        created = (at + timedelta(minutes=number - 1)).astimezone(UTC).replace(microsecond=0)
        content = hub.document(
            f"{label}{JSON}" if self.in_json else label,
            [piece],
            created=_instant(created),
            name=f"M{number}-{self.short}",
            process=self.process,
            receiver=self.sender,
            about=about,
        )
        part: Any = "data" if label in (MEASURES, SUMS, AMOUNTS) else "answer"
        return Document(f"{number}_{label}", content, ".json" if self.in_json else ".xml", part)

    def granted(self, at: datetime) -> Iterator[Document]:
        """What becomes of the request."""
        kind, original = self.asked.kind, self.asked.reference
        if kind in _STARTS:
            yield self.document(3, ACCOUNT, self._point(), at)
            yield self.document(4, CUSTOMER, self._customer(), at)
        elif kind in _STOPS:
            ended = hub.notice(f"E-{self.short}", self.start or _instant(at), str(self.gsrn), original)
            yield self.document(3, NOTICE, ended, at)
        elif kind == "MasterDataUpdate":
            yield self.document(2, CUSTOMER, self._customer(), at)
        elif kind == "MeteredDataRequest":
            span = self._span(at, "PT1H")
            values = ["0.250"] * _intervals(span)
            told = hub.measures(f"S-{self.short}", str(self.gsrn), span, values, _instant(at), original)
            yield self.document(2, MEASURES, told, at)
        elif kind == "AggregatedDataRequest":
            span = self._span(at, "PT1H")
            told = hub.sums(f"S-{self.short}", self._area(), span, ["12.500"] * _intervals(span), **self._asked())
            yield self.document(2, SUMS, told, at)
        elif kind == "SettlementRequest":
            yield self.document(2, AMOUNTS, self._amounts(at), at)

    def _asked(self) -> dict[str, Any]:
        return {"original": self.asked.reference, "variant": _VARIANT.get(self.process), "supplier": self.sender}

    def _area(self) -> str:
        return self.text("meteringGridArea_Domain.mRID") or AREAS[0]

    def _span(self, at: datetime, step: str) -> Span:
        """The period that was asked for; the day before where none was."""
        today = at.astimezone(_LEGAL).replace(hour=0, minute=0, second=0, microsecond=0)
        start = self.start or _instant(today - timedelta(days=1))
        return Span(_minute(start), _minute(self.end or _instant(today)), step)

    def _amounts(self, at: datetime) -> str:
        """The charge that was asked for, a tariff else, by hours or in one amount for a month."""
        by_month = self.text("aggregationSeries_Period.resolution") == "P1M"
        types = self.texts.get("type", [])[1:]
        kind = types[0] if types else hub.TARIFF_CHARGE.type
        known = hub.TARIFF_CHARGE if kind == hub.TARIFF_CHARGE.type else hub.SUBSCRIPTION
        codes = self.texts.get("mRID", [])[2:]
        charge = Charge(codes[0] if codes else known.code, kind, known.unit, known.price)
        one = Amount("5.0625", "40.5", "0.125") if known is hub.TARIFF_CHARGE else Amount("7.00", "4", "1.75")
        daily = known is not hub.TARIFF_CHARGE
        span = self._span(at, "P1M" if by_month else "P1D" if daily else "PT1H")
        values = [Amount("3402.25")] if by_month else [one] * (_days(span) if daily else _intervals(span))
        return hub.amounts(f"S-{self.short}", self._area(), span, charge, values, **self._asked())

    def _home(self) -> Home:
        return Home("Solsikkevej", 14, self.text("postalCode") or "9990", "Eksempelby", "0851")

    def _point(self) -> str:
        start = self.start or _instant(self.asked.at)
        return hub.characteristics(
            f"P-{self.short}",
            start,
            str(self.gsrn),
            meter=self.asked.number("9"),
            home=self._home(),
            grid_area=AREAS[0],
            original=self.asked.reference,
            supplied_from=start,
            supplier=self.sender,
        )

    def _customer(self) -> str:
        name = self.text("marketEvaluationPoint.customer_MarketParticipant.name")
        number = self.text("marketEvaluationPoint.customer_MarketParticipant.mRID")
        return hub.customer(
            f"C-{self.short}",
            self.start or _instant(self.asked.at.replace(microsecond=0)),
            str(self.gsrn),
            number=number or self.text("firstCustomer_MarketParticipant.mRID"),
            name=name or self.text("firstCustomer_MarketParticipant.name"),
            home=self._home(),
            phone=self.text("ituPhone"),
            email=self.text("email1"),
            original=self.asked.reference,
        )


def _of_xml(root: etree._Element) -> Iterator[tuple[str, str]]:
    """The values of a request in XML, by the names of their elements, in their order."""
    for leaf in root.iter(etree.Element):
        if not len(leaf):
            yield etree.QName(leaf).localname, (leaf.text or "").strip()


def _of_json(content: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The same of a request in JSON."""
    if isinstance(content, list):
        for item in content:
            yield from _of_json(item, name)
    elif isinstance(content, dict) and "value" in content:
        yield name, str(content["value"])
    elif isinstance(content, dict):
        for key, value in content.items():
            yield from _of_json(value, key)
    else:
        yield name, str(content)


def _instant(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _minute(instant: str) -> str:
    return f"{datetime.fromisoformat(instant).astimezone(UTC):%Y-%m-%dT%H:%MZ}"


def _seconds(span: Span) -> float:
    return (datetime.fromisoformat(span.end) - datetime.fromisoformat(span.start)).total_seconds()


def _intervals(span: Span) -> int:
    """Hours of a period."""
    return int(_seconds(span)) // 3600


def _days(span: Span) -> int:
    """Days of a period; one of them may have 23 or 25 hours."""
    return round(_seconds(span) / 86400)
