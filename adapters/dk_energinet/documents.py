"""The documents of the hub, as `table.yaml` has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adapters.common.table import read_table

TABLE = read_table(Path(__file__).with_name("table.yaml"), besides=("declares",))
"""The table of the hub."""


def declarable(label: str) -> Sequence[str]:
    """The types that the header of a document may declare; none where they are not known.

    Args:
      label: of the document.
    """
    return tuple(TABLE.raw["documents"][label].get("declares", ()))
