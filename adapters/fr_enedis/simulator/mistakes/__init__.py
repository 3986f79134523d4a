"""The mistakes that the simulator can play: one row for each error code that an Enedis file can bring about.

Codes that no Enedis file can bring about are listed in `UNREACHABLE` with the reason.
"""

from __future__ import annotations

from adapters.fr_enedis.simulator.mistakes.affairs import AFFAIRS
from adapters.fr_enedis.simulator.mistakes.contract import CONTRACT_EVENTS, SPANS
from adapters.fr_enedis.simulator.mistakes.invoices import CHARGES, GENERAL
from adapters.fr_enedis.simulator.mistakes.readings import BILLING, DAILY
from adapters.fr_enedis.simulator.mistakes.row import Mistake

MISTAKES: dict[str, Mistake] = {
    row.name: row for table in (CONTRACT_EVENTS, SPANS, BILLING, DAILY, CHARGES, GENERAL, AFFAIRS) for row in table
}
"""Error code -> its mistake."""

UNREACHABLE: dict[str, str] = {
    "CO-D04": "a series is as long as its values",
    "CO-D07": "a digester gives a series one step",
    "CO-D08": "no simulated file brings sums of an area, settlement amounts or price lists",
    "CO-D09": "no simulated file brings a series of months or years",
    "CO-E01": "a header without its sender is refused before",
    "CO-E04": "a correction of R15 always names the reading it corrects: its own identifier",
    "CO-V01": "volumes are only made of energies that are there",
    "FR-A09": "a milestone without its number is refused before",
    "FR-E04": "the message type comes from the table of types",
    **dict.fromkeys(
        ("FR-L01", "FR-L02", "FR-L03", "FR-L04", "FR-L05", "FR-L06", "FR-L07"),
        "the simulated market publishes no curves (R50, R4x, R171); tests/adapters/test_fr_curves.py shows them",
    ),
    **dict.fromkeys(
        ("FR-R19", "FR-R20", "FR-V07", "FR-V08"),
        "the simulated market answers no orders on demand (R64, R67); tests/adapters/test_fr_on_demand.py shows them",
    ),
    "FR-P02": "a message without Id_PRM is refused before",
    "FR-P07": "the number of phases comes from a list of two words",
    "FR-R13": "the end of an R151 day is always midnight",
    "FR-S08": "an entry is told by its event",
    "FR-U01": "a holder without Categorie is refused before",
    "FR-V04": "the share comes from Classe_Mesure, a list",
}
"""Error code -> why no simulated Enedis file can bring it about; such messages come otherwise, or not at all."""

LOST = ("lost-entry", "lost-reentry", "lost-exit", "lost-original")
LATE = ("late-entry", "late-exit", "late-original")


def playable() -> dict[str, tuple[str, ...]]:
    """Class of faults or error code -> the names of the mistakes that belong to it.

    ``duplicate-file`` is not here: it befalls envelopes and not access points.
    """
    product = tuple(name for name, row in MISTAKES.items() if row.error_class == "product")
    operator = tuple(name for name, row in MISTAKES.items() if row.error_class != "product")
    single = {name: (name,) for name in (*MISTAKES, *LOST, *LATE)}
    return {"grid-operator": operator, "product": product, "lost-message": LOST, "wrong-order": LATE, **single}
