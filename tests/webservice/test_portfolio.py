"""A portfolio by the API: loaded, tried, compared, as JSON and as a workbook."""

from __future__ import annotations

import io

from openpyxl import load_workbook

from energycomm.webservice.roles import Role
from tests.portfolio.tables import HEAD, csv_of, french
from tests.webservice.conftest import Site

ROWS = [french(), french("99000000000018", supply_start="2019-33-01")]
FILE = csv_of(HEAD, ROWS).encode()


def test_a_portfolio_is_tried_loaded_and_compared(site: Site) -> None:
    """A dry run stores nothing; a load takes over the good rows; a repetition with the same key does it once."""
    anna = site.caller(Role.BACK_OFFICE)
    tried = anna.post("/api/v1/portfolio?dry_run=true", content=FILE).json()
    assert (tried["new"], tried["refused"], tried["bad"][0]["row"], tried["bad"][0]["column"]) == (
        1,
        1,
        3,
        "supply.start",
    )
    assert anna.post("/api/v1/portfolio/comparison", content=FILE).json()["here"] == 0
    for _ in range(2):
        loaded = anna.post("/api/v1/portfolio", content=FILE, headers={"Idempotency-Key": "first-day"})
        assert (loaded.status_code, loaded.json()["messages"]) == (201, {"accepted": 5})
    found = anna.post("/api/v1/portfolio/comparison?on=2026-06-01", content=FILE).json()
    assert (found["there"], found["here"], found["equal"], found["unreadable"]) == (2, 1, 1, 1)
    sheet = anna.post("/api/v1/portfolio/comparison?form=xlsx", content=FILE)
    rows = list(load_workbook(io.BytesIO(sheet.content)).active.iter_rows(values_only=True))
    assert rows[0] == ("access point", "difference", "column", "there", "here")
    assert rows[1][:4] == ("99000000000018", "unreadable", "supply.start", "2019-33-01")


def test_what_is_no_portfolio_is_refused_with_every_mistake(lite_site: Site) -> None:
    """Unknown and missing columns, a file of no market, a workbook that is a bomb in name alone."""
    anna = lite_site.caller(Role.CONSULTANT)
    answer = anna.post("/api/v1/portfolio", content=b"market;acces_point\nFR;1\n")
    assert answer.status_code == 422
    assert [one["value"] for one in answer.json()["errors"] if "value" in one] == ["acces_point"]
    assert anna.post("/api/v1/portfolio/comparison", content=b"<Rien/>").status_code == 422
    assert anna.post("/api/v1/portfolio/comparison?name=p.xlsx", content=b"PK\x03\x04rest").status_code == 422
    assert anna.post("/api/v1/portfolio/comparison", content=b"").status_code == 422
