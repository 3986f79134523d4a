"""Time classes of meters as registers, and the words that readings of all fluxes share."""

from __future__ import annotations

from adapters.common.reading import Fields, flag, number, whole
from energycomm.kernel.parts import Register
from energycomm.kernel.vocabulary import Direction, Grid, ReadingNature, Reason

NATURE: dict[str | None, ReadingNature] = {
    "REEL": "read",
    "ESTIME": "estimated",
    "AUTO-RELEVE": "self-read",
    None: "unknown",
}
"""Nature_Index -> how the indexes were obtained. It is missing in some real R15 records."""

DIRECTION: dict[str, Direction] = {"0": "consumption", "1": "production"}
"""Sens_Mesure -> direction: soutirage (taken from the grid), injection (fed into it)."""

GRIDS: tuple[tuple[str, Grid], ...] = (
    ("Classe_Temporelle_Distributeur", "distributor"),
    ("Classe_Temporelle", "supplier"),
)
"""Element of a time class -> whose classes it follows."""

REASONS: dict[str, Reason] = {
    "PMES": "first-connection",
    "MES": "move-in",
    "CFNE": "supplier-switch",
    "RES": "termination",
    "CFNS": "supplier-switch",
    "MCT": "contract-change",
    "MDPRM": "master-data-change",
    "MDACT": "customer-change",
    "CMAT": "meter-change",
    "AUTRE": "other",
    "MDCTR": "contract-change",
    "MCF": "tariff-change",
    "PHC": "tariff-change",
    "MDBRA": "master-data-change",
    "COU": "master-data-change",
    "RET": "master-data-change",
    "CFN": "supplier-switch",
    "CPS": "contract-change",
    "CTF": "contract-change",
    "CTU": "contract-change",
    "CCF": "tariff-change",
    "CGF": "tariff-change",
    "CGPM": "tariff-change",
    "RELSPE": "on-demand",
    "ENT_ACC": "contract-change",
    "SOR_ACC": "contract-change",
}
"""Nature_Evenement (C15, C12) and the Motif_Releve (R15) of readings that belong to an event -> reason. MDACT, and what
the natures of C12 from CPS on stand for, are unverified."""

DAILY = "daily"
"""Stream of the readings of midnight that R151 told until R64B took its place."""

CLASSES = {"Pointe": "P", "Base": "BASE"}
"""Time class of C2 to C4 as C12 and R17 write it -> as the other fluxes do."""


def time_class(written: str) -> str:
    """The time class of C2 to C4 by the code that all fluxes share."""
    return CLASSES.get(written, written)


ENTRIES = frozenset(("PMES", "MES", "CFNE"))
"""Events by which a point enters our perimeter."""

EXITS = frozenset(("RES", "CFNS"))
"""Events by which a point leaves it."""


def register(grid: Grid, fields: Fields, previous: str | None = None, meter: str | None = None) -> Register:
    """A time class of C15 or R15 as a register, value and unit as written.

    Args:
      grid: whose time class it is.
      fields: content of the time class.
      previous: the index before, where the flux repeats it.
      meter: serial number, where the reading holds registers of several meters.
    """
    return Register(
        grid=grid,
        time_class=fields["Id_Classe_Temporelle"],
        value=int(fields["Valeur"]),
        unit=fields["Unite_Mesure"],
        direction=DIRECTION[fields["Sens_Mesure"]],
        rank=whole(fields, "Rang_Cadran"),
        digits=whole(fields, "Nb_Chiffres_Cadran"),
        rollover=flag(fields, "Indicateur_Passage_A_Zero"),
        coefficient=number(fields, "Coefficient_Lecture"),
        previous_value=None if previous is None else int(previous),
        meter=meter,
    )
