"""Gives a message the energy, or the product, that its access point has.

A gas point whose reading says electricity, or a series of a gas point with the product of electricity: the carrier is
what all accepted messages of the access point agree on. Where they do not agree, nothing is done.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from energycomm.correction.cases import APPLIED, Case
from energycomm.correction.script import Modify, Script, Selection
from energycomm.kernel.messages import KernelMessage, MeasureSeries

GAS = "natural-gas"
ELECTRICITY = "active-energy"

SCRIPT = Script(
    title="The wrong energy or product",
    selection=Selection(
        by_rules=True,
    ),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The message with the energy of its access point."""
    known = {one.message.energy for one in case.around if one.state in APPLIED}
    if len(known) != 1:
        return None
    (energy,) = known
    message: KernelMessage = structs.replace(case.message, energy=energy)
    if isinstance(message, MeasureSeries) and message.product is not None:
        wrong = (message.product == GAS) != (energy == "gas")
        message = structs.replace(
            message, product=(GAS if energy == "gas" else ELECTRICITY) if wrong else message.product
        )
    if message == case.message:
        return None
    return Modify(message, f"{energy}, as all that was accepted of the access point")
