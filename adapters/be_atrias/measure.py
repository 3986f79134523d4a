"""Digesters of the domains Measure and Bill: indexes, energies, interval series, grid fee."""

from __future__ import annotations

from typing import Any

from adapters.be_atrias.reading import Values
from adapters.be_atrias.structure import Head, carried_out, common
from adapters.be_atrias.times import midnight
from energycomm.kernel.messages import (
    GridCharge,
    GridInvoice,
    KernelMessage,
    MeasureSeries,
    MeteredVolume,
    MeterReading,
)
from energycomm.kernel.parts import ChargeLine, Position, Register, Volume
from energycomm.kernel.vocabulary import Quality, VolumeNature

_VOLUME_NATURE: dict[str, VolumeNature] = {"read": "measured", "self-read": "measured", "estimated": "estimated"}


def meter_readings(values: Values, head: Head) -> list[KernelMessage]:
    """The indexes at one instant and the energies since the reading before."""
    made = common(values, head)
    nature, cancelled = values["nature"], values.get("function") == "cancel"
    messages: list[KernelMessage] = []
    if values.get("registers") or not values.get("volumes"):
        messages.append(
            MeterReading(
                **made,
                reading_reference=values["reference"],
                qualification=values.get("qualification", "periodic"),
                nature=nature,
                calendar=values.get("calendar"),
                meter=values.get("meter"),
                previous_date=values.get("previous_date"),
                correction_reason=values.get("correction_reason"),
                registers=() if cancelled else tuple(_register(item) for item in values.get("registers", ())),
            )
        )
    if values.get("volumes"):
        messages.append(
            MeteredVolume(
                **made,
                reading_reference=values["reference"],
                start=values.get("previous_date"),
                nature=_VOLUME_NATURE.get(nature, "unknown"),
                calendar=values.get("calendar"),
                correction_reason=values.get("correction_reason"),
                volumes=() if cancelled else tuple(_volume(item) for item in values["volumes"]),
            )
        )
    return [*messages, *carried_out(values, made)]


def _register(item: Values) -> Register:
    return Register(**{"grid": "distributor", "direction": "consumption", **item})


def _volume(item: Values) -> Volume:
    return Volume(**{"grid": "distributor", "direction": "consumption", **item})


def metered_series(values: Values, head: Head) -> list[KernelMessage]:
    """One interval series."""
    made = common(values, head)
    series = MeasureSeries(
        **made,
        end=values["end"],
        resolution=values["resolution"],
        unit=values["unit"],
        product=values.get("product"),
        direction=values.get("direction"),
        register=values.get("register"),
        positions=tuple(_position(item) for item in values.get("positions", ())),
    )
    return [series, *carried_out(values, made)]


def _position(item: Values) -> Position:
    quality: Quality | None = "missing" if item.get("missing") else item.get("quality")
    return Position(position=item["position"], value=item.get("value"), quality=quality)


def grid_fee_invoice(values: Values, head: Head) -> list[KernelMessage]:
    """The head and totals of an invoice; it takes effect on its date."""
    made = common(values, head) | {"effective": midnight(values["invoice_date"])}
    names = (
        "invoice", "invoice_type", "invoice_date", "due_date", "currency", "frequency", "total_excluding_tax",
        "total_tax", "total_including_tax", "charges",
    )  # fmt: skip
    return [GridInvoice(**made, **{name: values[name] for name in names if name in values})]


def grid_fee(values: Values, head: Head) -> list[KernelMessage]:
    """What one access point is charged."""
    names = (
        "invoice", "invoice_date", "charge_reference", "billing_type", "currency", "total_excluding_tax",
        "original_invoice",
    )  # fmt: skip
    taken: dict[str, Any] = {name: values[name] for name in names if name in values}
    lines = tuple(ChargeLine(**item) for item in values.get("lines", ()))
    return [GridCharge(**common(values, head), **taken, lines=lines)]
