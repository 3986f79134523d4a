"""Where each request goes: the portal's service and the SOAPAction, as a channel needs them.

Addresses are relative to the base address that a licensee gets. ``synchroon`` answers at once; ``batch`` keeps
answers until they are polled.
"""

from __future__ import annotations

from typing import NamedTuple


class Service(NamedTuple):
    """One service.

    Attributes:
      path: behind the base address.
      action: SOAPAction, where it is known; empty else.
      signed: the body has to be signed (WS-Security) by the channel.
      answer: message type of the answer.
    """

    path: str
    action: str
    signed: bool
    answer: str


def _synchronous(name: str, answer: str) -> Service:
    return Service(f"synchroon/Responder{name}RespondingActivity", "", False, answer)


SERVICES: dict[str, Service] = {
    "MoveInRequest": _synchronous("MoveIn", "MoveInResponse"),
    "MoveOutRequest": _synchronous("MoveOut", "MoveOutResponse"),
    "ChangeOfSupplierRequest": _synchronous("ChangeOfSupplier", "ChangeOfSupplierResponse"),
    "EndOfSupplyRequest": _synchronous("EndOfSupply", "EndOfSupplyResponse"),
    "SearchMeteringPointsRequest": _synchronous("SearchMeteringPoints", "SearchMeteringPointsResponse"),
    "ContractDataRequest": _synchronous("ContractData", "ContractDataResponse"),
    "MasterDataRequest": _synchronous("MasterData", "MasterDataResponse"),
    "MeterReadingExchangeNotification": _synchronous("MeterReading", "MeterReadingExchangeAcknowledgement"),
    "P4CollectedDataBatchRequest": Service(
        "P4BatchVerzoekMeterstand/P4Port", "urn:P4CollectedDataBatchRequest", True, "P4CollectedDataBatchResponse"
    ),
    "P4CollectedDataBatchResultRequest": Service(
        "P4BatchVerzoekMeterstand/P4Port",
        "urn:P4CollectedDataBatchResultRequest",
        True,
        "P4CollectedDataBatchResultResponse",
    ),
    "GainResultRequest": _synchronous("LossGainRejectUpdate", "GainResultResponse"),
    "LossResultRequest": _synchronous("LossGainRejectUpdate", "LossResultResponse"),
    "MasterDataUpdateRequest": Service(
        "batch/ResponderMasterDataUpdateRespondingActivity", "", False, "MasterDataUpdateResponse"
    ),
    "MeterReadingExchangeRequest": Service(
        "batch/ResponderMeterReadingRespondingActivity", "", False, "MeterReadingExchangeResponse"
    ),
}
"""Message type that is sent -> its service. The paths of LossGainRejectUpdate, MasterDataUpdate, MeterReading,
MoveIn and ChangeOfSupplier and the actions of P4 were read in public sources, the others follow their pattern."""
