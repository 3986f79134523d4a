"""Measures of several French fluxes in one store: what holds at the end, in whichever order they came."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path

from energycomm.eis.arrays import parts_json, parts_of
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
        assert "47795" in parts_json(registers)
        assert here.rows("SELECT count(*) FROM kernel_message WHERE state <> 'accepted'") == [(0,)]
        meanings.append(here.meaning(carriers=False))
    assert all(one == other for one, other in itertools.pairwise(meanings))


INDEXES = {9: 14_000_000, 10: 14_010_000, 11: 14_021_000, 12: 14_030_500, 13: 14_041_000}
"""Day of November 2026 -> index in Wh of the midnight at its start."""


def r151(text: str, days: list[int], other: dict[int, int]) -> str:
    """An R151 of the midnights at the start of some days: each is dated by the day before."""
    block = text[text.index("<Donnees_Releve>") : text.index("</Donnees_Releve>") + len("</Donnees_Releve>")]
    told = "".join(
        block.replace("2026-01-05", f"2026-11-{day - 1:02}").replace("12352410", str(other.get(day, INDEXES[day])))
        for day in days
    )
    head = text[: text.index("<Donnees_Releve>")].replace("2026-01-23T03", f"2026-11-{days[-1]:02}T03")
    return f"{head}{told}</PRM></R151>"


def r64b(days: list[int]) -> str:
    """An R64B of midnights."""
    values = [{"d": f"2026-11-{day:02} 00:00:00", "v": INDEXES[day], "iv": 0} for day in days]
    time_class = {"idClasseTemporelle": "BASE", "codeCadran": "IDX_EAS_D1", "valeur": values}
    calendar = {"idCalendrier": "DI000001", "libelleGrille": "Distributeur", "classeTemporelle": [time_class]}
    quantity = {"grandeurMetier": "CONS", "grandeurPhysique": "EA", "unite": "Wh", "calendrier": [calendar]}
    setting = {"etapeMetier": "BRUT", "contexteReleve": "COL", "typeReleve": "AQ", "grandeur": [quantity]}
    period = {"dateDebut": "2026-11-13 00:00:00", "dateFin": "2026-11-14 00:00:00"}
    header = {"codeFlux": "R64B", "idDemande": "7100004", "modePublication": "Q", "idDestinataire": "GRD-F901"}
    piece = {"idPrm": "99000000000101", "periode": period, "contexte": [setting]}
    return json.dumps({"header": {**header, "idPublication": "CTR000000054"}, "mesures": [piece]})


def test_r64b_continues_r151_without_a_gap_a_double_or_a_false_alarm(
    place: Places, project_root: Path, tmp_path: Path
) -> None:
    """On 11 November 2026; both fluxes tell the midnights of the 11th and 12th, and R64B corrects one of them."""
    fixtures = project_root / "fixtures" / "fr"
    text = (fixtures / "r151_daily.xml").read_text("utf-8")
    written = {
        "r151": ("a.xml", r151(text, [9, 10, 11, 12], {12: 14_030_000})),
        "r64b": ("ENEDIS_R64B_Q_INDEX_7100004_GRD-F901_00001_20261113040000.json", r64b([11, 12, 13])),
    }
    meanings = []
    for order in (["r151", "r64b"], ["r64b", "r151"]):
        here = place(name="-".join(order))
        here.process(fixtures / "c15_entries.xml")
        for flux in order:
            name, content = written[flux]
            (tmp_path / name).write_text(content, "utf-8")
            here.process(tmp_path / name)
        told = here.rows(
            "SELECT r.source, r.registers, r.status FROM reading r JOIN access_point a ON a.id = r.access_point_id "
            "WHERE a.identifier = '99000000000101' AND r.source IN ('R151', 'R64B') ORDER BY r.at, r.source"
        )
        current = [
            (source, one["value"])
            for source, registers, status in told
            if status == "current"
            for one in parts_of(registers)
            if one["grid"] == "distributor"
        ]
        assert current == [
            ("R151", INDEXES[9]),
            ("R151", INDEXES[10]),
            *(("R64B", INDEXES[day]) for day in (11, 12, 13)),
        ]
        found = here.rows(
            "SELECT k.state, f.error_code FROM kernel_message k LEFT JOIN finding f ON f.message_id = k.id "
            "WHERE k.market_type IN ('R151', 'R64B') AND (k.state <> 'accepted' OR f.error_code IS NOT NULL)"
        )
        assert found == []
        meanings.append(here.meaning(carriers=False))
    assert meanings[0] == meanings[1]
