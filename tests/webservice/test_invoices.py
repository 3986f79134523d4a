"""Grid invoices by the API and on the pages: listed, shown, disputed; in the client too."""

from __future__ import annotations

import csv
import io
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from energycomm.client import Client
from energycomm.webservice.roles import Role
from tests.console.scene import Visitor
from tests.invoicing.invoices import CG, SERVICE, charge, general
from tests.pipeline.desk import Desk
from tests.pipeline.story import transaction
from tests.webservice.conftest import Site

NUMBER = "3100000000017"
OTHER = "31/000-18"


@pytest.fixture
def invoiced(site: Site) -> Site:
    """A general file of 500 EUR with a charge of 105, and a right invoice whose number has a slash."""
    desk = Desk(site.config.database_url)
    desk.deliver([transaction([general(total_excluding_tax=Decimal(500), charges=1), charge(SERVICE)])])
    right = {"invoice": OTHER, "total_excluding_tax": Decimal("1.38"), "charges": 1}
    desk.deliver([transaction([general(**right | {"reference": "2"}), charge(CG, number="2", invoice=OTHER)])])
    desk.database.dispose()
    Desk.open.remove(desk)
    return site


def test_invoices_are_listed_shown_and_disputed(invoiced: Site) -> None:
    """Page by page; both values of a finding; the table of the disputes as CSV and as a workbook."""
    anna = invoiced.caller(Role.BACK_OFFICE)
    first = anna.get("/api/v1/invoices?limit=1").json()
    second = anna.get("/api/v1/invoices", params={"limit": 1, "cursor": first["next"], "market": "fr"}).json()
    told = [(one["invoice"], one["contested"], one["contradictions"]) for one in first["items"] + second["items"]]
    assert told == [(OTHER, "0.00", 0), (NUMBER, "395.00", 1)]
    assert second["next"] is None
    shown = anna.get(f"/api/v1/invoices/{NUMBER}").json()
    assert (shown["total"], shown["charged"], shown["contested"]) == ("500", "105.00", "395.00")
    (finding,) = shown["findings"]
    assert (finding["check"], finding["charged"], finding["expected"]) == ("net", "500 EUR", "105.00 EUR")
    sent = anna.get(f"/api/v1/invoices/{NUMBER}/disputes")
    assert sent.headers["content-disposition"] == f'attachment; filename="disputes-{NUMBER}.csv"'
    head, row = csv.reader(io.StringIO(sent.content.decode("utf-8-sig")))
    why = "the total without tax is not the sum of the charges"
    values = [NUMBER, "net", "", "", "", "", "", "500 EUR", "105.00 EUR", "395.00", why]
    source = "the charges of the detail files"
    assert (head[0], row) == ("invoice", [*values, "", source, "2025-10-05", "EUR"])
    sheet = anna.get(f"/api/v1/invoices/{NUMBER}/disputes?format=xlsx&language=fr")
    titles, french = load_workbook(io.BytesIO(sheet.content)).active.iter_rows(values_only=True)
    cells = dict(zip(titles, french, strict=True))
    assert (cells["euros"], cells["motif"]) == (395, "le total hors taxes n'est pas la somme des valorisations")


def test_the_client_reads_them(invoiced: Site, tmp_path: Path) -> None:
    http = invoiced.caller()
    with Client("http://gateway.test", invoiced.token(Role.CONSULTANT), http=http) as gateway:
        assert [one.invoice for one in gateway.invoices(page=1)] == [OTHER, NUMBER]
        assert gateway.invoice(NUMBER).findings[0].euros == Decimal("395.00")
        assert gateway.invoice(OTHER).findings == ()
        gateway.disputes(NUMBER, tmp_path / "d.xlsx")
        assert load_workbook(tmp_path / "d.xlsx").active["J2"].value == 395


def test_what_is_not_there_is_told_with_a_suggestion(invoiced: Site) -> None:
    anna = invoiced.caller(Role.CONSULTANT)
    near = anna.get("/api/v1/invoices/3100000000071")
    assert (near.status_code, near.json()["advice"]) == (404, f"Did you mean {NUMBER}?")
    assert anna.get(f"/api/v1/invoices/{NUMBER}?market=NL").status_code == 404
    assert anna.get(f"/api/v1/invoices/{NUMBER}?market=XX").json()["target"] == "market"
    assert anna.get(f"/api/v1/invoices/{NUMBER}/disputes?format=pdf").status_code == 422
    assert anna.get("/api/v1/invoices?cursor=x").status_code == 422


def test_the_pages_show_them_in_two_languages(invoiced: Site) -> None:
    anna = invoiced.caller()
    assert anna.post("/login", data={"token": invoiced.token(Role.CONSULTANT)}).status_code == 303
    page = anna.get("/invoices").text
    assert all(word in page for word in (NUMBER, "395.00", "31%2F000-18"))
    french = anna.get(f"/invoices/{NUMBER}?market=FR", headers={"Accept-Language": "fr"}).text
    assert "le total hors taxes n&#39;est pas la somme des valorisations" in french
    assert "500 EUR" in french
    assert anna.get(f"/invoices/{NUMBER}?format=csv").headers["content-type"].startswith("text/csv")
    assert anna.get("/invoices/31%2F000-18").status_code == 200
    assert anna.get("/invoices/1").status_code == 404


def test_chosen_invoices_are_taken_away_with_what_they_are_contested_for(invoiced: Site) -> None:
    anna = Visitor(invoiced, Role.BACK_OFFICE)
    page = anna.get("/invoices").text
    assert f'name="chosen" value="FR {OTHER}"' in page
    csrf = re.search(r'name="csrf" value="([^"]+)"', page)
    assert csrf

    def taken(form: str, *chosen: str) -> Any:
        return anna.client.post("/invoices/selected/file", data={"csrf": csrf[1], "form": form, "chosen": list(chosen)})

    _, *rows = csv.reader(io.StringIO(taken("csv", f"FR {OTHER}", f"FR {NUMBER}").content.decode("utf-8-sig")))
    assert [(row[1], row[-1]) for row in rows] == [(OTHER, "0.00"), (NUMBER, "395.00")]
    (disputed,) = list(
        csv.DictReader(io.StringIO(taken("disputes-csv", f"FR {OTHER}", f"FR {NUMBER}").content.decode("utf-8-sig")))
    )
    assert (disputed["invoice"], disputed["euros"]) == (NUMBER, "395.00")
    assert load_workbook(io.BytesIO(taken("disputes-xlsx", f"FR {NUMBER}").content)).active["J2"].value == 395
    assert taken("csv").status_code == 422
    assert taken("pdf", f"FR {NUMBER}").status_code == 422
    assert taken("csv", "FR 1").status_code == 404
