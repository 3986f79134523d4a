"""The Belgian clearing house of a simulation: it reads our requests by their elements, and answers them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any

from lxml import etree

from adapters.be_atrias.simulator import documents
from adapters.be_atrias.simulator.documents import BALANCE, GRID, filled
from adapters.be_atrias.times import midnight
from energycomm.simulation.answering import Asked, Document

REASONS = (
    ("E10", "Metering point not identifiable"),
    ("E17", "Requested date not within time limits"),
    ("E16", "Unauthorised balance supplier"),
)
"""Why the market refuses."""
_STARTS = {"SupplierSwitchRequest", "MoveInRequest", "CombinedSwitchRequest"}
_STOPS = {"MoveOutRequest", "EndOfSupplyRequest"}
_CURVE = "E66"
"""Code of a load curve among the measures that are asked for."""


class BelgianClerk:
    """Satisfies `energycomm.simulation.answering.Clerk`."""

    def accept(self, asked: Asked, at: datetime) -> Sequence[Document]:
        """First that it is looked at, then that it is granted; then what was asked for is announced or sent."""
        request = _Request(asked)
        later = at + timedelta(minutes=1)
        answers = [request.response("42", at, 1), request.response("39", later, 2, request=request.number)]
        begins = request.text("StartOfOccurrence") or request.text("ReadingTime") or at.isoformat()
        values = {
            "reference": f"EV-{asked.reference[:32]}",
            "at": begins,
            "point": request.point,
            "contract": request.text("GridAccessAgreement/Identification") or f"AC-{asked.reference[:8]}",
            "request": request.number + f"<OriginalBusinessDocument>{asked.reference}</OriginalBusinessDocument>",
        }
        carried = _carried_out(asked.kind, request, values, begins[:10])
        if carried is not None:
            label, piece = carried
            answers.append(request.document(label, piece, later, 3))
        return answers

    def refuse(self, asked: Asked, at: datetime, choice: int) -> Sequence[Document]:
        """A negative answer with a reason of ebIX."""
        code, text = REASONS[choice % len(REASONS)]
        return [_Request(asked).response("41", at, 1, reason=filled(documents.REASON, code=code, text=text))]


class _Request:
    """A request as the market reads it."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.root = asked.root
        self.point = self.text("MeteringPointDomainLocation/Identification")
        self.number = f"<RequestReference>REQ-{asked.reference[:18]}</RequestReference>"
        """With the market's own number."""

    def text(self, path: str) -> str:
        """The text of the first element of a path, empty where there is none."""
        return (self.root.findtext(".//{*}" + path.replace("/", "/{*}")) or "").strip()

    def copy(self, tag: str) -> str:
        """The first element of a name as it was written, empty where there is none."""
        found = self.root.find(f".//{{*}}{tag}")
        if found is None:
            return ""
        inner = "".join(filled(f"<{etree.QName(leaf).localname}>{{text}}</{etree.QName(leaf).localname}>\n",
                               text=leaf.text or "") for leaf in found if not len(leaf))  # fmt: skip
        return f"<{tag}>{inner}</{tag}>"

    def response(self, status: str, at: datetime, number: int, **more: str) -> Document:
        """The answer with a status of ebIX list 260_000041."""
        place = filled(documents.PLACE, point=self.point) if self.point else ""
        values = {"reference": f"RS-{number}-{self.asked.reference[:36]}", "original": self.asked.reference}
        values |= {"status": status, "at": at.replace(microsecond=0).isoformat(), "place": place, "reason": "", **more}
        return self.document("Response", filled(documents.ANSWER, **values), at, number)

    def document(self, label: str, piece: str, at: datetime, number: int) -> Document:
        """A document of the clearing house to who asked."""
        content = documents.document(
            label,
            [piece],
            name=f"{number}-{self.asked.reference}"[:64],
            created=at.replace(microsecond=0).isoformat(),
            reason=self.text("EnergyBusinessProcess"),
            role="DDZ",
            sender=self.text("RecipientEnergyParty/Identification"),
            receiver=self.text("SenderEnergyParty/Identification"),
            energy=self.text("EnergyIndustryClassification"),
        )
        return Document(f"{number}_{label}", content)


def _carried_out(kind: str, request: _Request, values: dict[str, Any], day: str) -> tuple[str, str] | None:
    """The type and the payload of what carries a request out; None where its positive answer ends it."""
    if kind in _STARTS:
        terms = filled(documents.TERMS, contract=values["contract"], first=day, power="9.2")
        balance = request.text("BalanceResponsibleInvolvedEnergyParty/Identification") or BALANCE
        values |= {"supplier": request.text("SenderEnergyParty/Identification"), "balance": balance, "grid": GRID}
        data = terms + request.copy("ConsumerInvolvedCustomerParty")
        return "StartOfAccess", filled(documents.START, **values, data=data)
    if kind in _STOPS:
        return "StopOfAccess", filled(documents.STOP, **values, day=day, next="")
    if kind == "ContractChangeRequest":
        parts = [request.copy("ContractedCapacity")]
        parts += [f"<{tag}>{text}</{tag}>" for tag in ("TariffCode", "MeterTimeFrame") if (text := request.text(tag))]
        return "ChangeOfAccess", filled(documents.CHANGE, **values, terms="".join(parts))
    if kind == "MasterDataRequest":
        data = filled(documents.POINT, method="E14", remote="true")
        return "MasterData", filled(documents.MASTER_DATA, **values, data=data)
    if kind == "MeteredDataRequest":
        return _measures(request, values)
    return None


def _measures(request: _Request, values: dict[str, Any]) -> tuple[str, str]:
    """What measures are asked for: a day of a curve, or an index."""
    first = date.fromisoformat(request.text("RequestedPeriod/Start"))
    start, end = midnight(first), midnight(first + timedelta(days=1))
    if request.text("RequestedMeasure") != _CURVE:
        register = filled(documents.REGISTER, frame="E11", value=4210)
        told = {**values, "at": start.isoformat(), "registers": register}
        return "MeterReadings", filled(documents.ANSWERED_READING, **told)
    count = int((end - start).total_seconds()) // 3600
    hours = "".join(filled(documents.HOUR, number=hour, value="0.25") for hour in range(1, count + 1))
    told = {**values, "start": start.isoformat(), "end": end.isoformat(), "hours": hours}
    return "MeteredSeries", filled(documents.SERIES, **told)
