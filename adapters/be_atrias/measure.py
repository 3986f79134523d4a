"""Digesters of the domain Measure: indexes, energies, interval series."""

from __future__ import annotations

from adapters.be_atrias.structure import Head, carried_out, common, taken
from adapters.common.pieces import Values
from energycomm.kernel.messages import KernelMessage, MeasureSeries, MeteredVolume, MeterReading
from energycomm.kernel.parts import Position, Register, Volume
from energycomm.kernel.vocabulary import Quality, VolumeNature

_VOLUME_NATURE: dict[str, VolumeNature] = {"read": "measured", "self-read": "measured", "estimated": "estimated"}


def meter_readings(values: Values, head: Head) -> list[KernelMessage]:
    """The indexes at one instant and the energies since the reading before."""
    made = common(values, head)
    registers, volumes = values.get("registers", ()), values.get("volumes", ())
    cancelled = made["function"] == "cancel"
    messages: list[KernelMessage] = []
    if registers or not volumes:
        told = {"qualification": "periodic", "reading_reference": values["reference"]} | taken(values, MeterReading)
        told["registers"] = () if cancelled else tuple(Register(**item) for item in registers)
        messages.append(MeterReading(**made, **told))
    if volumes:
        told = {"start": values.get("previous_date"), "reading_reference": values["reference"]}
        told |= taken(values, MeteredVolume) | {"nature": _VOLUME_NATURE.get(values["nature"], "unknown")}
        told["volumes"] = () if cancelled else tuple(Volume(**item) for item in volumes)
        messages.append(MeteredVolume(**made, **told))
    return [*messages, *carried_out(values, made)]


def metered_series(values: Values, head: Head) -> list[KernelMessage]:
    """One interval series."""
    made = common(values, head)
    positions = tuple(_position(item) for item in values.get("positions", ()))
    return [
        MeasureSeries(**made, **taken(values, MeasureSeries) | {"positions": positions}),
        *carried_out(values, made),
    ]


def _position(item: Values) -> Position:
    quality: Quality | None = "missing" if item.get("missing") else item.get("quality")
    return Position(position=item["position"], value=item.get("value"), quality=quality)
