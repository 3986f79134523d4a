"""Treats a correction whose original never arrived as the original.

A reading, or energies, that replace another carry all that is needed; when the original is lost, what the market says
now is what counts. A cancellation of something that never came is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from energycomm.correction.cases import Case
from energycomm.correction.script import Modify, Script, Selection
from energycomm.kernel.messages import MeteredVolume, MeterReading

SCRIPT = Script(
    title="A correction without original becomes the original",
    selection=Selection(kinds=("MeterReading", "MeteredVolume"), waits_for=("original",)),
    automatic=True,
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The same content as an original."""
    message = case.message
    if message.function != "replace" or not isinstance(message, MeterReading | MeteredVolume):
        return None
    original = structs.replace(message, function="original", correlation=None, correction_reason=None)
    return Modify(original, "the original that it corrects never came")
