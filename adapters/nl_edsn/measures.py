"""Units, registers and time classes: how EDSN writes a measure, and what the Kernel calls it."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from adapters.common.codes import Unreadable
from adapters.nl_edsn.codes import meaning, refusal
from energycomm.kernel.vocabulary import Direction, Energy


class Unit(NamedTuple):
    """A unit of the market.

    Attributes:
      name: in the Kernel's words.
      energy: carrier it measures.
      finer: unit of a thousandth of it, in which an index with decimals becomes whole.
    """

    name: str
    energy: Energy
    finer: str | None = None


UNITS: dict[str, Unit] = {
    "KWH": Unit("kWh", "electricity", "Wh"),
    "WH": Unit("Wh", "electricity"),
    "KWT": Unit("kW", "electricity"),
    "KVR": Unit("kVAR", "electricity"),
    "MTQ": Unit("m3", "gas", "dm3"),
    "DM3": Unit("dm3", "gas"),
    "M3N": Unit("m3n", "gas"),
    "MJ": Unit("MJ", "gas"),
    "M3N3517": Unit("m3n3517", "gas"),
    "M3N3517HR": Unit("m3n3517/h", "gas"),
    "MQH": Unit("m3/h", "gas"),
}
"""MeasureUnit -> unit; the list of the P4 schemas."""

DIRECTIONS: dict[str, Direction] = {"LVR": "consumption", "TLV": "production"}
"""MeteringDirection and EnergyFlowDirection -> direction. CMB (both) is none of them."""

PRODUCTS: dict[str, Energy] = {"ELK": "electricity", "GAS": "gas"}
"""ProductType -> energy carrier."""

SINGLE = "N"
"""Time class of a register without tariff: of a single-tariff meter, and of every gas meter."""

_OBIS_CLASSES = {"0": "T", "1": "L", "2": "N"}
"""Last figure of an electricity register's OBIS number -> TariffType: total, low, normal."""


def unit(code: str, path: str) -> Unit:
    """The unit of a code.

    Raises:
      Unreadable: the code is not in the list (SYN_CODE).
    """
    return meaning(UNITS, code, f"{path}/MeasureUnit")


def index(text: str, measured: Unit, path: str) -> tuple[int, str]:
    """An index as a whole number and its unit: 1234.567 kWh is 1234567 Wh, 1234 kWh stays 1234 kWh.

    Raises:
      Unreadable: more decimals than the finer unit has (SYN_VALUE).
    """
    value = Decimal(text)
    if value == value.to_integral_value():
        return int(value), measured.name
    finer = value.scaleb(3)
    if measured.finer is None or finer != finer.to_integral_value():
        expected = "three decimals at most" if measured.finer else "a whole number"
        raise Unreadable(refusal("SYN_VALUE", path=path, value=text, expected=expected))
    return int(finer), measured.finer


def fine(value: int, name: str, measured: Unit) -> int:
    """An index in the finest unit that the market's unit can bear, so that two of them can be subtracted."""
    return value * 1000 if measured.finer is not None and name == measured.name else value


def obis(register: str, energy: Energy) -> tuple[Direction, str]:
    """Direction and time class of an OBIS number: 1.8.1 is consumption in the low tariff, 2.8.0 all that was fed in.

    A number of another form is taken for consumption of its own class, under its own name.
    """
    parts = register.split(".")
    direction: Direction = "production" if parts[0] == "2" and energy == "electricity" else "consumption"
    if energy == "gas":
        return "consumption", SINGLE
    if len(parts) == 3 and parts[0] in "12" and parts[1] == "8" and parts[2] in _OBIS_CLASSES:
        return direction, _OBIS_CLASSES[parts[2]]
    return direction, register
