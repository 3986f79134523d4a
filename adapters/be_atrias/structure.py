"""Digesters of the domain Structure: start, stop and change of access, master data, cancellations, answers, errors.

* The start of an access becomes a start of supply, followed by the master data that came with it.
* A cancellation ends what it names: that of a start or stop which was announced takes the announcement back (function
  `cancel`), that of a request of ours closes the request.
* An answer repeats the reference of our request, which becomes the correlation. A pending answer is a status.
"""

from __future__ import annotations

from typing import Any

from adapters.be_atrias.reading import Values
from adapters.be_atrias.times import midnight
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

Head = dict[str, Any]
_TERMS = ("contract_status", "contract_start", "tariff", "subscribed_power", "power_unit", "calendar", "contract_kind")
_POINT = (
    "segment", "connection_status", "connection_since", "phases", "voltage", "connection_power", "service_level",
    "remote_readable", "reading_period", "self_producer", "direction", "profile", "metering_method",
    "allocation_method", "invoice_month", "switchable", "grid_area", "annual_peak", "annual_off_peak",
)  # fmt: skip
_CUSTOMER = (
    "category", "title", "surname", "first_name", "company", "company_id", "activity", "phone", "email",
    "main_residence",
)  # fmt: skip
_METER = ("meter", "meter_type", "registers", "digits", "purpose")


def common(values: Values, head: Head) -> Head:
    """The head of every Kernel message of one CH message."""
    made: Head = {
        **head,
        "reference": values["reference"],
        "effective": values.get("effective") or head["created"],
        "access_point": values.get("access_point"),
        "contract_reference": values.get("contract_reference"),
        "request_reference": values.get("request"),
        "function": values.get("function", "original"),
        "correlation": values.get("original"),
    }
    if values.get("grid_operator"):
        made["grid_operator"] = values["grid_operator"]
    return made


def _taken(values: Values, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def address(values: Values, prefix: str) -> Address | None:
    """The address whose fields begin with a prefix, None where none is given."""
    fields = {name: values.get(f"{prefix}_{name}") for name in Address.__struct_fields__}
    return Address(**fields) if any(fields.values()) else None


def start_of_access(values: Values, head: Head) -> list[KernelMessage]:
    """The start of supply and what is known of the point from then on."""
    made = common(values, head)
    start = StartOfSupply(
        **made,
        supplier=values.get("supplier") or head["receiver"],
        balance_responsible=values.get("balance_responsible"),
        contract_start=values.get("contract_start"),
    )
    return [start] if start.function == "cancel" else [start, *_data(values, made), *carried_out(values, made)]


def stop_of_access(values: Values, head: Head) -> list[KernelMessage]:
    """The end of supply."""
    made, last = common(values, head), values.get("contract_end")
    end = EndOfSupply(
        **made,
        contract_end=midnight(last) if last else None,
        contract_status=values.get("contract_status"),
        new_supplier=values.get("new_supplier"),
    )
    return [end, *carried_out(values, made)]


def change_of_access(values: Values, head: Head) -> list[KernelMessage]:
    """Other terms; another supplier or balance responsible party is data of the point."""
    made = common(values, head)
    parties = _taken(values, ("supplier", "balance_responsible"))
    messages: list[KernelMessage] = [AccessPointData(**made, **parties)] if parties else []
    return [*messages, ContractTerms(**made, **_taken(values, _TERMS)), *carried_out(values, made)]


def master_data(values: Values, head: Head) -> list[KernelMessage]:
    """Everything that the document says, as one message per subject."""
    made = common(values, head)
    return [*(_data(values, made) or [AccessPointData(**made)]), *carried_out(values, made)]


def carried_out(values: Values, made: Head) -> list[RequestStatus]:
    """The request of ours that an announcement or data carry out is done; nothing where they name none.

    Args:
      values: what was read: `request` is the market's number, `original` our reference.
      made: head of the Kernel messages.
    """
    ours = values.get("original")
    number = ours or values.get("request")
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
    if values["status"] != "accepted":
        return []
    made = common(values, head)
    return [RequestStatus(**made, request=values["original"], state="done", initiated_by_us=True)]


def _data(values: Values, made: Head) -> list[KernelMessage]:
    messages: list[KernelMessage] = []
    point = _taken(values, _POINT)
    parties = _taken(values, ("supplier", "balance_responsible"))
    where = address(values, "point")
    if point or where or parties:
        status = values.get("contract_status")
        messages.append(AccessPointData(**made, **point, **parties, contract_status=status, address=where))
    if terms := _taken(values, _TERMS):
        messages.append(ContractTerms(**made, **terms))
    customer, home = _taken(values, _CUSTOMER), address(values, "customer")
    if customer or home:
        messages.append(CustomerData(**made, **customer, address=home))
    for meter in values.get("meters", ()):
        messages.append(MeterData(**made, action=meter.get("action", "present"), **_taken(meter, _METER)))
    return messages


def cancellation(values: Values, head: Head) -> list[KernelMessage]:
    """What was announced or requested does not take place."""
    made = common(values, head) | {"reason": "cancellation"}
    cancelled = values["cancelled"]
    if cancelled == "start":
        return [StartOfSupply(**(made | {"function": "cancel"}), supplier=head["receiver"])]
    if cancelled == "stop":
        return [EndOfSupply(**(made | {"function": "cancel"}))]
    original = values["original"]
    made["request_reference"] = original
    return [RequestStatus(**made, request=original, state="cancelled", object_code=cancelled, initiated_by_us=True)]


def response(values: Values, head: Head) -> list[KernelMessage]:
    """The answer to a request of ours."""
    made = common(values, head)
    status, market = values["status"], values.get("request")
    if status == "pending":
        original = values["original"]
        made["request_reference"] = original
        return [
            RequestStatus(
                **made,
                request=market or original,
                state="acknowledged",
                state_code=values.get("code"),
                initiated_by_us=True,
            )
        ]
    accepted = status == "accepted"
    code, text = values.get("code"), values.get("text")
    codes = values.get("codes") or ([code] if code else [])
    # Words of an answer of several reasons are of none of them.
    reasons = tuple(AnswerReason(code=one, text=text if len(codes) == 1 else None) for one in codes)
    return [RequestAnswer(**made, accepted=accepted, code=code, text=text, reasons=reasons, request=market)]


def error_report(values: Values, head: Head) -> list[KernelMessage]:
    """The market could not process something we sent."""
    return [ErrorReport(**common(values, head), code=values["code"], text=values.get("text"))]
