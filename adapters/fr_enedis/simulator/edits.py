"""Edits of the time classes of a French reading."""

from __future__ import annotations

import re
from typing import Literal

from energycomm.simulation.edits import Edit, NothingToEdit

Measure = Literal["1", "2"]
"""Classe_Mesure: 1 is an index, 2 an energy."""

_CLASS = re.compile(r"[ ]*<(Classe_Temporelle(?:_Distributeur)?)>.*?</\1>\n", re.DOTALL)


def classes(change: Edit | None, *, measure: Measure | None = None, grid: str = "", first: bool = False) -> Edit:
    """Change time classes of a reading.

    Args:
      change: applied to the XML of each class; None leaves it out.
      measure: only classes of this Classe_Mesure; None for all, and for R151, which has none.
      grid: ``Distributeur`` or ``Fournisseur`` for the classes of one grid.
      first: only the first of those.
    """

    def edit(xml: str) -> str:
        found = 0

        def one(match: re.Match[str]) -> str:
            nonlocal found
            text = match[0]
            ours = not match[1].endswith("Distributeur")
            if (measure and f"<Classe_Mesure>{measure}<" not in text) or (grid and ours != (grid == "Fournisseur")):
                return text
            found += 1
            if first and found > 1:
                return text
            return change(text) if change else ""

        changed = _CLASS.sub(one, xml)
        if not found:
            raise NothingToEdit(f"classes of measure {measure}, grid {grid}")
        return changed

    return edit


def twice(xml: str) -> str:
    """Write something two times."""
    return xml * 2
