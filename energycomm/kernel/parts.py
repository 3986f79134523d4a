"""The parts that Kernel messages are made of: registers, addresses, charge lines, positions."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from energycomm.kernel.vocabulary import (
    Amount,
    CivilDay,
    Code,
    Direction,
    Grid,
    Index,
    Number,
    Ordinal,
    Quality,
    Text,
    Unit,
    WholeNumber,
)


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of a Kernel message that means nothing by itself."""


class Register(Part, frozen=True, kw_only=True):
    """One register of a meter at one instant: an index, never a consumption."""

    grid: Annotated[Grid, Meta(description="Whose time classes the register follows.")]
    time_class: Annotated[Code, Meta(description="Time class of the register: BASE, HP, HC, HPH, L, N, T, ...")]
    value: Annotated[Index, Meta(description="The index, in `unit`.")]
    unit: Annotated[Unit, Meta(description="Unit of the index as the market gave it: Wh, kWh, m3.")]
    direction: Annotated[Direction, Meta(description="Energy taken from the grid or fed into it.")] = "consumption"
    rank: Annotated[WholeNumber | None, Meta(description="Position of the register on the meter, from 1.")] = None
    digits: Annotated[WholeNumber | None, Meta(description="Number of digits of the register.")] = None
    rollover: Annotated[bool | None, Meta(description="The index passed through zero since the previous one.")] = None
    coefficient: Annotated[Number | None, Meta(description="Factor from index to energy.")] = None
    previous_value: Annotated[Index | None, Meta(description="The index before, as the market repeats it.")] = None
    doubtful: Annotated[bool | None, Meta(description="The market's own plausibility mark.")] = None
    meter: Annotated[Code | None, Meta(description="Serial number of the meter that holds the register.")] = None


class Volume(Part, frozen=True, kw_only=True):
    """The energy of one time class over a period."""

    grid: Annotated[Grid, Meta(description="Whose time classes the volume follows.")]
    time_class: Annotated[Code, Meta(description="Time class of the volume.")]
    quantity: Annotated[Number, Meta(description="The energy, in `unit`; negative in a regularisation.")]
    unit: Annotated[Unit, Meta(description="Unit of the quantity: Wh, kWh, m3.")]
    direction: Annotated[Direction, Meta(description="Energy taken from the grid or fed into it.")] = "consumption"
    purpose: Annotated[
        Code | None,
        Meta(description="Share in collective self-consumption: autoproduced, alloproduced, autoconsumed, surplus."),
    ] = None


class Position(Part, frozen=True, kw_only=True):
    """One value of an interval series."""

    position: Annotated[Ordinal, Meta(description="Number of the interval, from 1.")]
    value: Annotated[Number | None, Meta(description="Value of the interval, in the unit of the series.")] = None
    quality: Annotated[Quality | None, Meta(description="How the value was obtained.")] = None


class ChargeLine(Part, frozen=True, kw_only=True):
    """One line of a grid charge."""

    code: Annotated[Code, Meta(description="The grid operator's code of what is charged.")]
    label: Annotated[Text | None, Meta(description="The grid operator's words for it.")] = None
    nature: Annotated[Code | None, Meta(description="Group of the line.")] = None
    start: Annotated[CivilDay | None, Meta(description="First day charged.")] = None
    end: Annotated[CivilDay | None, Meta(description="Last day charged, inclusive.")] = None
    quantity: Annotated[Number | None, Meta(description="Quantity charged, in `unit`.")] = None
    unit: Annotated[Code | None, Meta(description="Unit of the quantity.")] = None
    price: Annotated[Number | None, Meta(description="Price of one unit, without tax.")] = None
    amount: Annotated[Amount, Meta(description="Amount of the line without tax; negative when credited.")]
    tax: Annotated[Code | None, Meta(description="Tax rate in percent, or the market's word where no tax applies.")] = (
        None
    )
    tax_date: Annotated[CivilDay | None, Meta(description="Day whose tax rate applies.")] = None
    subscribed_power: Annotated[Number | None, Meta(description="Subscribed power the line was computed with.")] = None
    tariff: Annotated[Code | None, Meta(description="Tariff formula the line was computed with.")] = None


class Address(Part, frozen=True, kw_only=True):
    """A postal address."""

    street: Annotated[Text | None, Meta(description="Street with number.")] = None
    number: Annotated[Text | None, Meta(description="House number where the market keeps it apart.")] = None
    addition: Annotated[Text | None, Meta(description="Building, floor, flat, place.")] = None
    postal_code: Annotated[Text | None, Meta(description="Postal code.")] = None
    municipality_code: Annotated[Text | None, Meta(description="Code of the municipality.")] = None
    city: Annotated[Text | None, Meta(description="Name of the municipality.")] = None
    country: Annotated[Text | None, Meta(description="Country.")] = None


class FoundPoint(Part, frozen=True, kw_only=True):
    """One access point of an answer to a search."""

    access_point: Annotated[Code, Meta(description="Identifier of the access point.")]
    city: Annotated[Text | None, Meta(description="Municipality.")] = None
    customer: Annotated[Text | None, Meta(description="Customer's name as the market shows it.")] = None
    meter: Annotated[Code | None, Meta(description="Serial number of the meter.")] = None
