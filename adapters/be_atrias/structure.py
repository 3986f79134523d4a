"""Digesters of the domain Structure: start, stop and change of access, master data, cancellations, answers, errors.

* The start of an access becomes a start of supply, followed by the master data that came with it.
* A cancellation ends what it names: that of a start or stop which was announced takes the announcement back (function
  `cancel`), that of a request of ours closes the request.
* An answer repeats the reference of our request, which becomes the correlation. A pending answer is a status.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from adapters.common.pieces import Values
from adapters.common.places import HEAD, places
from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    CustomerData,
    EndOfSupply,
    ErrorReport,
    KernelMessage,
    MeterData,
    RequestAnswer,
    RequestStatus,
    StartOfSupply,
)
from energycomm.kernel.parts import Address, AnswerReason

Head = Values
"""Fields of the header, which every Kernel message of a document has."""


def common(values: Values, head: Head) -> Head:
    """The head of every Kernel message of one CH message."""
    made = {name: value for name, value in head.items() if name in HEAD}
    made |= {name: value for name, value in values.items() if name in HEAD and value is not None}
    return {"effective": head["created"], "function": "original", **made}


def taken(values: Values, kind: type[Struct]) -> dict[str, Any]:
    """What stands in values for the fields of a kind beside its head, and its address where it has one."""
    found = {name: values[name] for name in places(kind) if name not in HEAD and name in values}
    address = values.get(kind.__name__, {})
    return found | {name: Address(**fields) for name, fields in address.items()}


def start_of_access(values: Values, head: Head) -> list[KernelMessage]:
    """The start of supply and what is known of the point from then on."""
    made = common(values, head)
    start = StartOfSupply(**made, **{"supplier": head["receiver"]} | taken(values, StartOfSupply))
    return [start] if start.function == "cancel" else [start, *_data(values, made), *carried_out(values, made)]


def stop_of_access(values: Values, head: Head) -> list[KernelMessage]:
    """The end of supply."""
    made = common(values, head)
    return [EndOfSupply(**made, **taken(values, EndOfSupply)), *carried_out(values, made)]


def change_of_access(values: Values, head: Head) -> list[KernelMessage]:
    """Other terms; another supplier or balance responsible party is data of the point."""
    made = common(values, head)
    parties = {name: values[name] for name in ("supplier", "balance_responsible") if name in values}
    messages: list[KernelMessage] = [AccessPointData(**made, **parties)] if parties else []
    return [*messages, ContractTerms(**made, **taken(values, ContractTerms)), *carried_out(values, made)]


def master_data(values: Values, head: Head) -> list[KernelMessage]:
    """Everything that the document says, as one message per subject."""
    made = common(values, head)
    return [*(_data(values, made) or [AccessPointData(**made)]), *carried_out(values, made)]


def carried_out(values: Values, made: Head) -> list[RequestStatus]:
    """The request of ours that an announcement or data carry out is done; nothing where they name none.

    Args:
      values: what was read: `request_reference` is the market's number, `correlation` our reference.
      made: head of the Kernel messages.
    """
    ours = values.get("correlation")
    number = ours or values.get("request_reference")
    if made["function"] != "original" or number is None:
        return []
    # What holds from a day that is past was done when it was told, not before it was asked for.
    when = max(made["effective"], made["created"])
    return [
        RequestStatus(
            **(made | {"effective": when}),
            request=number,
            state="done",
            effect_date=made["effective"].date(),
            initiated_by_us=True if ours else None,
        )
    ]


def answered(values: Values, head: Head) -> list[RequestStatus]:
    """A positive answer after which nothing more comes: the request is done with it."""
    if values["state"] != "done":
        return []
    made = common(values, head)
    return [RequestStatus(**made, request=values["correlation"], state="done", initiated_by_us=True)]


def _data(values: Values, made: Head) -> list[KernelMessage]:
    messages: list[KernelMessage] = []
    point, terms, customer = (taken(values, kind) for kind in (AccessPointData, ContractTerms, CustomerData))
    if point.keys() - {"contract_status"}:  # of the contract, which says more of it
        messages.append(AccessPointData(**made, **point))
    if terms:
        messages.append(ContractTerms(**made, **terms))
    if customer:
        messages.append(CustomerData(**made, **customer))
    for meter in values.get("MeterData", ()):
        messages.append(MeterData(**made, **{"action": "present"} | meter))
    return messages


def cancellation(values: Values, head: Head) -> list[KernelMessage]:
    """What was announced or requested does not take place."""
    made = common(values, head) | {"reason": "cancellation"}
    cancelled = values["cancelled"]
    if cancelled == "start":
        return [StartOfSupply(**(made | {"function": "cancel"}), supplier=head["receiver"])]
    if cancelled == "stop":
        return [EndOfSupply(**(made | {"function": "cancel"}))]
    original = values["correlation"]
    made["request_reference"] = original
    return [RequestStatus(**made, request=original, state="cancelled", object_code=cancelled, initiated_by_us=True)]


def response(values: Values, head: Head) -> list[KernelMessage]:
    """The answer to a request of ours."""
    made = common(values, head)
    state, market = values["state"], values.get("request_reference")
    if state == "acknowledged":
        original = values["correlation"]
        made["request_reference"] = original
        return [
            RequestStatus(
                **made,
                request=market or original,
                state=state,
                state_code=values.get("code"),
                initiated_by_us=True,
            )
        ]
    code, text = values.get("code"), values.get("text")
    codes = values.get("codes") or ([code] if code else [])
    # Words of an answer of several reasons are of none of them.
    reasons = tuple(AnswerReason(code=one, text=text if len(codes) == 1 else None) for one in codes)
    return [RequestAnswer(**made, accepted=state == "done", code=code, text=text, reasons=reasons, request=market)]


def error_report(values: Values, head: Head) -> list[KernelMessage]:
    """The market could not process something we sent."""
    return [ErrorReport(**common(values, head), code=values["code"], text=values.get("text"))]
