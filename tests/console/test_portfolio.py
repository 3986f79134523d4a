"""The page of the portfolio: a file against the store."""

from __future__ import annotations

import re
from typing import Any

from tests.console.scene import Visitor
from tests.portfolio.tables import HEAD, csv_of, french


def upload(anna: Visitor, content: str | None, **fields: str) -> Any:
    """The form of the page, with its CSRF token and a file."""
    token = re.search(r'name="csrf" value="([^"]+)"', anna.get("/portfolio").text)
    assert token
    files = None if content is None else {"file": ("p.csv", content.encode(), "text/csv")}
    return anna.client.post("/portfolio", data={"csrf": token.group(1), **fields}, files=files)


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
