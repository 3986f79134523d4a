"""Lists of the pages: sorted by their heads, and taken away as files of all that they show."""

from __future__ import annotations

import csv
import io
import re
from html import unescape

import pytest
from openpyxl import load_workbook

from energycomm.console import sheets
from energycomm.eis.database import writing
from tests.console.scene import CODE, FAILING, MESSAGES, WAITING, Visitor
from tests.webservice.conftest import Site


def table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))


def numbers(text: str) -> list[int]:
    """The messages of a page, in their order."""
    return [int(found) for found in re.findall(r'<tr data-href="/messages/(\d+)"', text)]


def test_the_heads_of_messages_sort_them(anna: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("energycomm.console.messages.PAGE", 5_000)
    page = anna.get("/messages?sort=kind").text
    kinds = re.findall(r'<tr data-href="/messages/\d+">(?:\s*<td.*?</td>){5}\s*<td>(\w+)', page)
    assert len(kinds) == MESSAGES
    assert kinds == sorted(kinds)
    assert 'aria-sort="ascending"' in page
    assert "sort=-kind" in page
    first, last = numbers(anna.get("/messages?sort=received").text), numbers(anna.get("/messages").text)
    assert first == list(reversed(last))


def test_a_list_with_a_code_is_sorted_by_arrival_only(anna: Visitor) -> None:
    page = anna.get(f"/messages?code={CODE}").text
    assert "sort=received" in page
    assert "sort=kind" not in page
    other = anna.get(f"/messages?code={CODE}&sort=kind").text
    assert "cannot be sorted by Kind" in other
    assert numbers(other) == numbers(page)


@pytest.mark.parametrize("filters", ["", "state=rejected", f"code={CODE}", "sort=kind", "sort=-state&market=FR"])
def test_the_file_holds_what_the_page_shows_on_all_its_pages(
    anna: Visitor, filters: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("energycomm.console.messages.PAGE", 5_000)
    monkeypatch.setattr("energycomm.console.messages.SHEET_PAGE", 7)
    shown = numbers(anna.get(f"/messages?{filters}").text)
    answer = anna.get(f"/messages?{filters}&format=csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="messages.csv"'
    head, *rows = table(answer.text)
    assert head[:3] == ["No.", "Received", "Market"]
    assert [int(row[0]) for row in rows] == shown
    book = load_workbook(io.BytesIO(anna.get(f"/messages?{filters}&format=xlsx").content), read_only=True)
    assert [[str(cell or "") for cell in row] for row in book.active.values] == [head, *rows]


def test_a_long_list_is_cut_and_says_so(anna: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MOST_ROWS", FAILING - 1)
    *_, before, last = table(anna.get(f"/messages?code={CODE}&format=csv").text)
    assert len(before) > 1
    assert last == [f"Cut after {FAILING - 1} rows: narrow the filters."]


def test_no_cell_of_a_file_is_a_formula(lite: Site, anna: Visitor) -> None:
    with writing(lite.store.engine) as connection:
        connection.exec_driver_sql("UPDATE kernel_message SET waits_for = '=1+cmd' WHERE state = 'quarantined'")
    rows = table(anna.get("/messages?state=quarantined&format=csv").text)[1:]
    assert rows
    assert {row[-1][0] for row in rows} == {"'"}
    book = load_workbook(io.BytesIO(anna.get("/messages?state=quarantined&format=xlsx").content))
    assert {book.active.cell(number, 9).data_type for number in range(2, len(rows) + 2)} == {"s"}


def test_only_so_many_workbooks_are_made_at_a_time(anna: Visitor) -> None:
    for _ in range(sheets.AT_ONCE):
        assert sheets._making.acquire(blocking=False)
    try:
        refused = anna.get("/messages?format=xlsx")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
        assert anna.get("/messages?format=csv").status_code == 200
    finally:
        for _ in range(sheets.AT_ONCE):
            sheets._making.release()


@pytest.mark.parametrize(
    ("path", "sort"),
    [
        ("/tickets?state=all", "-owner"),
        ("/requests?state=all", "state"),
        ("/requests?state=to+answer", "-received"),
        ("/messages", "-market"),
        ("/quarantine", "kind"),
        ("/envelopes", "-name"),
    ],
)
def test_worklists_are_sorted_and_taken_away(anna: Visitor, path: str, sort: str) -> None:
    between = "&" if "?" in path else "?"
    assert anna.get(f"{path}{between}sort={sort}").status_code == 200
    assert anna.get(f"{path}{between}sort=nothing").status_code == 422
    assert len(table(anna.get(f"{path}{between}sort={sort}&format=csv").text)[0]) >= 8


LISTS = {
    "/messages": "?state=accepted",
    "/tickets": "?state=all",
    "/requests": "?state=all",
    "/quarantine": "?market=FR",
    "/envelopes": "?state=done",
    "/rules": "?market=FR",
    "/campaigns": "?sort=script",
    "/access-points/overdue": "?grace=0",
    "/invoices": "?market=FR",
}


@pytest.mark.parametrize("path", LISTS)
def test_every_list_is_a_file_and_a_view_that_can_be_kept(anna: Visitor, path: str) -> None:
    shown = anna.get(path + LISTS[path]).text
    links = [unescape(link) for link in re.findall(r'href="([^"]*format=(?:csv|xlsx))"', shown)]
    assert [link.rpartition("=")[2] for link in links] == ["csv", "xlsx"]
    columns = len(re.findall(r'<th(?: class="r")? scope="col"', shown))
    head, *rows = table(anna.get(links[0]).text)
    assert columns in (0, len(head)), "no head where nothing is listed"
    assert anna.get(links[1]).content[:2] == b"PK"
    (query,) = re.findall(r'name="query" value="([^"]+)"', shown)
    kept = anna.send("/views", what=path[1:], name="mine", query=unescape(query))
    assert kept.status_code == 200
    assert 'aria-current="true">mine</a>' in kept.text
    if rows:  # the scene has no invoice, request, campaign or ticket
        assert len(re.findall(r'class="sorts" href="([^"]+)"', anna.get(path).text)) >= 3


def test_points_that_are_overdue_are_sorted(anna: Visitor) -> None:
    def shown(sort: str) -> list[str]:
        return [row[1] for row in table(anna.get(f"/access-points/overdue?sort={sort}&format=csv").text)[1:]]

    assert len(shown("access_point")) > 1
    assert shown("access_point") == sorted(shown("late"))
    assert shown("-access_point") == sorted(shown("late"), reverse=True)
    assert anna.get("/access-points/overdue?sort=nothing").status_code == 422


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/messages?access_point=99000000000018", "99000000000017"),
        ("/messages?code=ZZ-99", "ZZ-99"),
        ("/messages?type=R15x", "R15"),
        ("/messages?envelope=4711", "4711"),
        ("/envelopes?series=nothing", "nothing"),
        ("/tickets?owner=nobody", "nobody"),
        ("/requests?access_point=99000000000018", "99000000000017"),
    ],
)
def test_a_view_of_what_the_store_has_not_is_an_empty_list_that_says_so(anna: Visitor, path: str, says: str) -> None:
    """A kept view outlives what it names, and may be kept before that comes; a file of it, and the API, are refused."""
    what, _, query = path[1:].partition("?")
    kept = anna.send("/views", what=what, name="later", query=query)
    assert kept.status_code == 200
    assert kept.url.path + "?" + kept.url.query.decode() == path
    (notice,) = re.findall(r'<p class="block wait" role="status">(.*?)</p>', kept.text, re.DOTALL)
    assert says in notice
    assert "<tbody>" not in kept.text
    assert '<p class="count">0 ' in kept.text or what in ("envelopes", "requests")
    assert anna.get(f"{path}&format=csv").status_code == 422


def test_rules_are_sorted_and_taken_away(anna: Visitor) -> None:
    rows = table(anna.get("/rules?market=FR&sort=-code&format=csv").text)[1:]
    codes = [row[0] for row in rows]
    assert len(codes) > 50
    assert codes == sorted(codes, reverse=True)
    often = [int(row[3]) for row in table(anna.get("/rules?rule_set=all&sort=-messages&format=csv").text)[1:]]
    assert often == sorted(often, reverse=True)
    assert often[0] == FAILING
    assert 'aria-sort="descending"' in anna.get("/rules").text
    assert anna.get("/rules?sort=nothing").status_code == 422


def test_the_quarantine_says_until_when_in_its_file_too(anna: Visitor) -> None:
    page = anna.get("/quarantine").text
    head, *rows = table(anna.get("/quarantine?format=csv").text)
    assert head == ["No.", "Market", "Type", "Kind", "Access point", "Effective", "Waits for", "Received", "Given up"]
    assert [row[4] for row in rows] == [WAITING]
    assert rows[0][8] in page


def test_an_envelope_has_a_page(anna: Visitor) -> None:
    numbers_ = re.findall(r'<tr data-href="/envelopes/(\d+)"', anna.get("/envelopes?sort=received").text)
    assert len(numbers_) == 5, "one a delivery"
    assert [row[0] for row in table(anna.get("/envelopes?sort=received&format=csv").text)[1:]] == numbers_
    page = anna.get(f"/envelopes/{numbers_[0]}").text
    assert f"/messages?envelope={numbers_[0]}" in page
    assert anna.get("/envelopes/999999").status_code == 404


def test_a_page_refuses_a_parameter_that_it_does_not_have(anna: Visitor) -> None:
    refused = anna.get("/messages?stat=rejected")
    assert refused.status_code == 422
    assert "Did you mean state" in refused.text


def test_today_is_sent_again_only_when_it_has_changed(lite: Site, anna: Visitor) -> None:
    first = anna.get("/")
    assert anna.get("/", **{"If-None-Match": first.headers["etag"]}).status_code == 304
    with writing(lite.store.engine) as connection:
        connection.exec_driver_sql("UPDATE ticket SET state = 'closed'")
        connection.exec_driver_sql("UPDATE kernel_message SET state = 'withdrawn' WHERE state = 'quarantined'")
    assert anna.get("/", **{"If-None-Match": first.headers["etag"]}).status_code == 200


def test_a_day_that_is_over_does_not_renew_itself(anna: Visitor) -> None:
    assert "data-renews" in anna.get("/").text
    assert "data-renews" not in anna.get("/?day=2026-01-05").text
