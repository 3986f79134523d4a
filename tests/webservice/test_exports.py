"""Exports over the API: the same rows as files, a cursor, refusals; nothing counts that came only in part."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest

from energycomm.client import Client, Refused, Unreachable
from energycomm.webservice.roles import Role
from energycomm.webservice.routes import exports
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start
from tests.webservice.conftest import PRM, Site


def test_a_stream_and_what_came_after_it(site: Site) -> None:
    desk = Desk(site.store.engine.url.render_as_string(hide_password=False))
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_200_000)])
    caller = site.caller(Role.BACK_OFFICE)
    first = caller.get("/api/v1/exports/readings")
    assert first.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line)["value"] for line in first.text.splitlines()] == [1200]
    desk.deliver([reading(PRM, day(59), 1_250_000), reading(PRM, day(31), 1_210_000, function="replace")])
    wanted = {"since": first.headers["x-cursor"], "format": "parquet"}
    after = caller.get("/api/v1/exports/readings", params=wanted)
    rows = pq.read_table(io.BytesIO(after.content)).to_pylist()
    assert [(row["op"], row["value"], row["status"]) for row in rows] == [
        ("correct", 1200, "replaced"),
        ("insert", 1250, "current"),
        ("insert", 1210, "current"),
    ]
    again = caller.get("/api/v1/exports/readings", params={"since": after.headers["x-cursor"], "format": "csv"})
    assert len(again.text.splitlines()) == 1
    assert again.headers["x-cursor"] == after.headers["x-cursor"]
    Desk.open.remove(desk)
    desk.database.dispose()


def test_refusals_say_what_is_wrong(story_site: Site) -> None:
    caller = story_site.caller(Role.CONSULTANT)
    for address, status, words in (
        ("exports/reading", 422, "readings"),
        ("exports/readings?since=17", 422, "is no cursor"),
        ("exports/readings?format=xlsx", 422, "parquet"),
        ("exports/readings?market=FX", 422, "Did you mean FR"),
        ("exports/readings?access_point=99000000000018", 422, "Did you mean 99000000000017"),
        ("exports/readings?first=9999-12-31", 422, "out of range"),
        ("billing-periods?contract=99&first=2026-01-05&last=2026-02-04", 422, "no contract 99"),
        ("billing-periods?contract=99&first=soon&last=2026-02-04", 422, "first"),
    ):
        answer = caller.get(f"/api/v1/{address}")
        assert answer.status_code == status, address
        assert words in answer.text, address
    assert story_site.caller(Role.OPERATOR).get("/api/v1/exports/readings").status_code == 403


def test_exports_that_nobody_reads_keep_no_one_out_for_ever(story_site: Site) -> None:
    """Each is given back when it was read, refused, or its reader went away."""
    caller = story_site.caller(Role.CONSULTANT)
    for _ in range(3 * exports.AT_ONCE):
        assert caller.get("/api/v1/exports/supply").status_code == 200
        assert caller.get("/api/v1/exports/supply?since=x").status_code == 422
    held = [exports._running.acquire(blocking=False) for _ in range(exports.AT_ONCE)]
    assert all(held)
    answer = caller.get("/api/v1/exports/supply")
    assert (answer.status_code, answer.json()["code"]) == (429, "API_RATE")
    for _ in held:
        exports._running.release()


def test_the_client_writes_a_file_and_tells_the_cursor(story_site: Site, tmp_path: Path) -> None:
    caller = story_site.caller(Role.BACK_OFFICE)
    gateway = Client("http://gateway.test", story_site.token(Role.BACK_OFFICE), http=caller)
    cursor = gateway.export("readings", tmp_path / "r.jsonl", access_point=[PRM], first=date(2026, 1, 1))
    assert json.loads((tmp_path / "r.jsonl").read_text("utf-8"))["value"] == 1200
    assert gateway.export("readings", tmp_path / "r.jsonl", since=cursor) == cursor
    assert (tmp_path / "r.jsonl").read_bytes() == b""
    with pytest.raises(Refused, match="is no cursor"):
        gateway.export("readings", tmp_path / "x.jsonl", since="x")
    period = gateway.billing_period(PRM, date(2026, 1, 5), date(2026, 2, 4))
    assert {one.code for one in period.remarks} >= {"READING_MISSING"}
    assert not period.ready


def test_a_stream_that_breaks_off_leaves_the_file_and_the_cursor_of_before(tmp_path: Path) -> None:
    class Broken(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b'{"op":"insert"}\n'
            raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")

    answer = httpx.Response(200, headers={"X-Cursor": "ec1-0000000000000000-1-1"}, stream=Broken())
    http = httpx.Client(transport=httpx.MockTransport(lambda request: answer))
    (tmp_path / "r.jsonl").write_bytes(b"before")
    with pytest.raises(Unreachable, match="peer closed"):
        Client("https://gateway.test", "ec_x", http=http).export("readings", tmp_path / "r.jsonl")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("r.jsonl", b"before")]
