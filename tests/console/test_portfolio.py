"""The page of the portfolio: a file against the store."""

from __future__ import annotations

import re
from typing import Any

from tests.console.scene import Visitor
from tests.portfolio.tables import HEAD, csv_of, french


def upload(anna: Visitor, content: str | None, path: str = "/portfolio", **fields: str) -> Any:
    """The form of the page, with its CSRF token and a file."""
    token = re.search(r'name="csrf" value="([^"]+)"', anna.get("/portfolio").text)
    assert token
    files = None if content is None else {"file": ("p.csv", content.encode(), "text/csv")}
    return anna.client.post(path, data={"csrf": token.group(1), **fields}, files=files)


def test_a_file_is_compared_on_the_page(anna: Visitor) -> None:
    """The form, the differences with the file's own words as text, and the workbook."""
    assert 'type="file"' in anna.get("/portfolio").text
    content = csv_of(HEAD, [french("99000000009999"), french("99000000009998", supply_start="<b>now</b>")])
    found = upload(anna, content)
    assert found.status_code == 200
    assert "only in the file" in found.text
    assert "99000000009999" in found.text
    assert "&lt;b&gt;now" in found.text
    workbook = upload(anna, content, form="xlsx")
    assert workbook.headers["content-type"].endswith("spreadsheetml.sheet")


def test_what_cannot_be_compared_is_told(anna: Visitor) -> None:
    """No file, no day, no table; a form of another site."""
    assert "tarif" in upload(anna, "market;tarif\nFR;1\n").text
    assert upload(anna, None).status_code == 422
    assert upload(anna, csv_of(HEAD, [french()]), on="tomorrow").status_code == 422
    assert anna.client.post("/portfolio", files={"file": ("p.csv", b"", "text/csv")}).status_code == 403


def test_a_file_is_tried_then_loaded(anna: Visitor) -> None:
    """The first upload stores nothing and gives the mark of the file; with it the same file is taken over, another one
    is tried anew; the row that cannot be read is named as text."""
    content = csv_of(HEAD, [french("99000000007777"), french("99000000007778", supply_start="<b>now</b>")])
    tried = upload(anna, content, "/portfolio/load")
    assert tried.status_code == 200
    assert "Tried: nothing is stored." in tried.text
    assert "&lt;b&gt;now" in tried.text
    assert anna.get("/access-points/FR/99000000007777").status_code == 404
    (mark,) = re.findall(r'name="tried" value="([0-9a-f]{64})"', tried.text)
    other = upload(anna, content.replace("7777", "7776"), "/portfolio/load", tried=mark)
    assert "not the file that was tried" in other.text
    assert anna.get("/access-points/FR/99000000007776").status_code == 404
    assert "Loaded." in upload(anna, content, "/portfolio/load", tried=mark).text
    assert anna.get("/access-points/FR/99000000007777").status_code == 200


def test_what_cannot_be_loaded_is_told(anna: Visitor) -> None:
    """No file, no table of ours; a form of another site."""
    assert upload(anna, None, "/portfolio/load").status_code == 422
    refused = upload(anna, "market;tarif\nFR;1\n", "/portfolio/load")
    assert (refused.status_code, "tarif" in refused.text) == (422, True)
    assert anna.client.post("/portfolio/load", files={"file": ("p.csv", b"", "text/csv")}).status_code == 403
