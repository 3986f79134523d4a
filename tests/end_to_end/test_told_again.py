"""A reading that is told again with another index, in files of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from energycomm.eis.arrays import parts_json
from tests.end_to_end.conftest import Place

Places = Callable[..., Place]


def test_the_same_reading_with_another_index_is_refused_in_any_order(
    place: Places, project_root: Path, tmp_path: Path, database_url: str
) -> None:
    """C15 entry, R15, the same Id_Releve as INITIAL with 30 kWh more, and an R151 whose first day is told twice."""
    fixtures = project_root / "fixtures" / "fr"
    r15 = (fixtures / "r15_periodic.xml").read_text("utf-8")
    r151 = (fixtures / "r151_daily.xml").read_text("utf-8")
    r151 = r151[: r151.index("<PRM>", r151.index("</PRM>"))] + "</R151>"
    later = r15.replace("12640", "12670").replace(">300<", ">330<").replace("2026-02-02T05", "2026-02-03T05")
    told = {
        "entry": (fixtures / "c15_entries.xml").read_text("utf-8"),
        "reading": r15,
        "again": later,
        "day": r151,
        "day-again": r151.replace("12352410", "12353410").replace("2026-01-23T03", "2026-01-24T03"),
    }
    assert later.count("12670") == 2
    meanings = []
    orders = [list(told), ["day-again", "again", "day", "reading", "entry"]]
    for number, (url, order) in enumerate(zip([database_url, None], orders, strict=True)):
        here = place(url, name=f"place{number}")
        for name in order:
            (here.folder / f"{name}.xml").write_text(told[name], "utf-8")
            here.process(here.folder / f"{name}.xml")
        sql = "SELECT registers FROM reading WHERE source = 'R15' AND status = 'current'"
        [(registers,)] = here.rows(sql)
        assert "12640" in parts_json(registers)
        assert "12670" not in parts_json(registers)
        assert here.rows("SELECT count(*) FROM volume WHERE source = 'R15' AND status = 'current'") == [(1,)]
        codes = here.rows('SELECT DISTINCT error_code FROM finding WHERE "current" ORDER BY 1')
        assert {("CO-R12",), ("CO-V09",)} <= set(codes)
        days = here.rows("SELECT registers FROM reading WHERE source = 'R151' AND status = 'current'")
        assert sum("1235" in parts_json(one) for (one,) in days) == 1
        meanings.append(here.meaning(carriers=False))
    assert meanings[0] == meanings[1]
