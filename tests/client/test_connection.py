"""The connection of the client: second tries where nothing was done, refusals with their words, no token in errors."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from energycomm.client import Client, Refused, Unreachable
from energycomm.kernel.codec import encode_json
from tests.pipeline.story import day, start

TOKEN = "ec_secret"


def connected(*answers: httpx.Response | Exception) -> tuple[Client, list[httpx.Request], list[float]]:
    """A client of a server that gives these answers; what it was asked, and how long was waited."""
    asked: list[httpx.Request] = []
    waited: list[float] = []
    left = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    http = httpx.Client(transport=httpx.MockTransport(answer))
    return Client("https://gateway.test/", TOKEN, http=http, sleep=waited.append), asked, waited


def problem(status: int, **headers: str) -> httpx.Response:
    body: dict[str, Any] = {
        "type": "urn:x",
        "title": "t",
        "status": status,
        "code": "API_X",
        "detail": "words",
        "instance": "/",
    }
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


ME = {"name": "anna", "roles": ["operator"], "scopes": ["read"], "via": "token 1"}


def test_a_server_that_has_no_time_is_asked_again_when_it_says() -> None:
    gateway, asked, waited = connected(problem(429, Retry_After="7"), problem(503), httpx.Response(200, json=ME))
    assert gateway.me().name == "anna"
    assert waited == [7.0, 4.0]
    assert len(asked) == 3
    assert asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert str(asked[0].url) == "https://gateway.test/api/v1/me"


def test_a_server_that_never_has_time_is_told_at_last() -> None:
    gateway, asked, _ = connected(*[problem(503)] * 4)
    with pytest.raises(Refused, match="503 API_X: words"):
        gateway.me()
    assert len(asked) == 4


def test_a_refusal_is_not_tried_again() -> None:
    gateway, asked, waited = connected(problem(409))
    with pytest.raises(Refused) as refused:
        gateway.inject(start("99000000000017", day(0)).messages, key="one")
    assert (refused.value.status, refused.value.details.code, waited) == (409, "API_X", [])
    assert asked[0].headers["idempotency-key"] == "one"
    first = start("99000000000017", day(0)).messages[0]
    assert asked[0].content.startswith(b"[" + encode_json(first))


def test_a_proxy_that_answers_in_its_own_words_is_quoted() -> None:
    gateway, _, _ = connected(httpx.Response(502, text="<html>bad gateway</html>"))
    with pytest.raises(Refused, match="bad gateway"):
        gateway.me()


def test_a_server_that_is_not_there_is_told_without_the_token() -> None:
    gateway, _, _ = connected(httpx.ConnectError("refused"))
    with pytest.raises(Unreachable) as unreachable:
        gateway.me()
    assert "ConnectError" in str(unreachable.value)
    assert TOKEN not in repr(unreachable.value)


def test_messages_are_fetched_page_by_page_as_they_are_taken() -> None:
    line = {
        "id": 2,
        "market": "FR",
        "type": "R15",
        "kind": "MeterReading",
        "access_point": None,
        "effective": "2026-01-01T00:00:00Z",
        "state": "accepted",
        "waits_for": None,
        "received_at": "2026-01-01T00:00:00Z",
        "version": 1,
    }
    pages = [{"messages": [line], "next": "7-2"}, {"messages": [line | {"id": 1}], "next": None}]
    gateway, asked, _ = connected(*(httpx.Response(200, json=page) for page in pages))
    found = gateway.messages(state="rejected", page=1)
    assert next(found).id == 2
    assert len(asked) == 1, "the second page is not asked for before it is needed"
    assert [one.id for one in found] == [1]
    assert dict(asked[1].url.params) == {"state": "rejected", "limit": "1", "cursor": "7-2"}
