"""Measures of several French fluxes in one store: what holds at the end, in whichever order they came."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

from tests.end_to_end.conftest import Place

Places = Callable[..., Place]


def test_of_a_cancelled_set_of_r17_and_its_correction_the_correction_holds(
    place: Places, project_root: Path, tmp_path: Path
) -> None:
    """The three bodies in three files, in every order; a second correction of the first, too."""
    fixtures = project_root / "fixtures" / "fr"
    text = (fixtures / "r17_corrected.xml").read_text("utf-8")
    head, bodies = text[: text.index("<Corps_PRM>")], re.findall(r"<Corps_PRM>.*?</Corps_PRM>", text, re.DOTALL)
    again = [
        bodies[2].replace("RECTIFICATIF", "ANNULE").replace("SL0000612", "SL0000701"),
        bodies[2].replace("47790", "47795").replace("SL0000612", "SL0000702"),
    ]
    meanings = []
    for number, order in enumerate([(0, 1, 2, 3, 4), (2, 0, 1, 4, 3), (4, 3, 2, 1, 0)]):
        here, inbox = place(name=f"place{number}"), tmp_path / f"inbox{number}"
        inbox.mkdir()
        (inbox / "0.xml").write_bytes((fixtures / "c12_situation.xml").read_bytes())
        for name, index in enumerate(order, start=1):
            written = head.replace("2026-02-05T04", f"2026-02-{5 + index // 3 * 20:02}T04")
            body = (bodies + again)[index]
            (inbox / f"{name}.xml").write_text(f"{written}{body}</Index_C2_C3_C4>", "utf-8")
        here.process(inbox)
        for table in ("reading", "volume"):
            held = here.rows(f"SELECT status, count(*) FROM {table} WHERE source = 'R17' GROUP BY status ORDER BY 1")
            assert held == [("cancelled", 2), ("cancels", 2), ("current", 1)], (order, table)
        [(registers,)] = here.rows("SELECT registers FROM reading WHERE source = 'R17' AND status = 'current'")
        assert "47795" in registers
        assert here.rows("SELECT count(*) FROM kernel_message WHERE state <> 'accepted'") == [(0,)]
        meanings.append(here.meaning(carriers=False))
    assert all(one == other for one, other in itertools.pairwise(meanings))
