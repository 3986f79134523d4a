"""The mistakes that the simulator can play: one row for each error code that an Enedis file can bring about.

Codes that no Enedis file can bring about are listed in `UNREACHABLE` with the reason.
"""

from __future__ import annotations

from adapters.fr_enedis.simulator.mistakes.affairs import AFFAIRS
from adapters.fr_enedis.simulator.mistakes.contract import CONTRACT_EVENTS, SPANS
from adapters.fr_enedis.simulator.mistakes.invoices import CHARGES, GENERAL
from adapters.fr_enedis.simulator.mistakes.readings import BILLING, DAILY
from adapters.fr_enedis.simulator.mistakes.row import Mistake

TOLD_BY: dict[str, str] = {
    **dict.fromkeys(("CO-R02", "CO-V02"), "itself: one value is given twice"),
    **dict.fromkeys(
        ("CO-S01", "CO-S03", "CO-S05", "FR-S01", "FR-S02", "CO-E05", "CO-G04", "FR-R10", "FR-R11"),
        "the right message, which came before",
    ),
    **dict.fromkeys(("CO-E02", "CO-E03", "FR-E01", "FR-E02", "FR-P03", "FR-P04"), "the headers of the other documents"),
    **dict.fromkeys(("FR-R01", "FR-R02", "FR-V01"), "the unit in the readings before"),
    **dict.fromkeys(("CO-R04", "FR-M05"), "the digits of the register in the readings before"),
    **dict.fromkeys(("FR-R06", "FR-R07", "FR-R08"), "the calendar in the readings before"),
    **dict.fromkeys(("CO-R08", "CO-R09", "CO-D03"), "the reading before"),
    **dict.fromkeys(("FR-C01", "FR-C02", "FR-D04"), "the start of the supply"),
    **dict.fromkeys(("FR-S03", "FR-S04", "FR-S05"), "itself: the nature of its event"),
    **dict.fromkeys(("FR-U02", "FR-U03"), "the holder in the start of the supply"),
    **dict.fromkeys(("CO-G02", "CO-G05"), "itself: the amounts that it adds up"),
    **dict.fromkeys(("CO-A01", "CO-A02"), "the milestones around it"),
    "CO-S02": "the messages of the supply, which bear its reference",
    "FR-P01": "its contract reference, which the start of the supply bears too",
    "FR-M01": "the meter in the messages before",
    "FR-C07": "the unit in the terms before",
    "FR-G01": "the other invoices",
}
"""Error code -> what else that arrives tells the right content, see `Outcome`; nothing does for the other mistakes."""

MISTAKES: dict[str, Mistake] = {
    row.name: row._replace(told_by=TOLD_BY.get(row.name))
    for table in (CONTRACT_EVENTS, SPANS, BILLING, DAILY, CHARGES, GENERAL, AFFAIRS)
    for row in table
}
"""Error code -> its mistake."""

UNREACHABLE: dict[str, str] = {
    "CO-A04": "this market brings no requests of others to a supplier",
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

LOST: dict[str, str] = {
    "lost-entry": "what names the contract, from its first message on",
    "lost-reentry": "what names the contract, from its first message on",
    "lost-exit": "the entry of the next contract",
    "lost-original": "its correction, which says all of it anew",
}
"""Message that never arrives -> what else tells what it said."""
LATE = ("late-entry", "late-exit", "late-original")


def playable() -> dict[str, tuple[str, ...]]:
    """Class of faults or error code -> the names of the mistakes that belong to it.

    ``duplicate-file`` is not here: it befalls envelopes and not access points.
    """
    product = tuple(name for name, row in MISTAKES.items() if row.error_class == "product")
    grid_operator = tuple(name for name, row in MISTAKES.items() if row.error_class != "product")
    single = {name: (name,) for name in (*MISTAKES, *LOST, *LATE)}
    return {
        "grid_operator": grid_operator,
        "product": product,
        "lost-message": tuple(LOST),
        "wrong-order": LATE,
        **single,
    }
