"""Kernel messages handed straight to the Kernel: the same validation, flagged, and with no second effect."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from energycomm.eis.messages import show_message
from energycomm.kernel.codec import encode, encode_json
from energycomm.kernel.parts import particulars_of
from energycomm.webservice.roles import Role
from tests.pipeline.story import day, reading, start
from tests.webservice.conftest import PRM, Site, told

END: dict[str, Any] = {
    "kind": "EndOfSupply",
    "market": "FR",
    "market_type": "mail",
    "access_point": PRM,
    "effective": "2026-06-01T00:00:00+02:00",
    "reason": "termination",
}


def messages(*transactions: Any) -> list[Any]:
    return [message for one in transactions for message in one.messages]


def as_json(*transactions: Any) -> bytes:
    return b"[" + b",".join(encode_json(message) for message in messages(*transactions)) + b"]"


def as_xml(*transactions: Any) -> bytes:
    inner = "".join(encode(message) for message in messages(*transactions))
    return f'<batch xmlns="urn:energycomm:kernel:1">{inner}</batch>'.encode()


def test_many_messages_are_judged_like_those_of_the_market_and_bear_who_injected_them(site: Site) -> None:
    caller = site.caller(Role.CONSULTANT)
    answer = caller.post(
        "/api/v1/injections", content=as_json(start(PRM, day(0)), reading(PRM, day(30), 1000), reading(PRM, day(60), 5))
    )
    assert answer.status_code == 201
    done = answer.json()
    assert [one["message"]["state"] for one in done["messages"]] == ["accepted"] * 5 + ["rejected"]
    assert done["messages"][-1]["message"]["codes"] == ["CO-R05"]
    detail = show_message(site.store.engine, done["messages"][0]["message"]["id"])
    assert detail is not None
    assert detail.injected_by == "anna"
    assert detail.origin is not None
    assert (detail.origin.channel, detail.origin.sender) == ("injection", "anna")
    raw = caller.get(f"/api/v1/messages/{detail.summary.id}/raw").content
    assert raw == as_json(start(PRM, day(0)), reading(PRM, day(30), 1000), reading(PRM, day(60), 5))


def test_kernel_xml_and_json_are_the_same_to_the_kernel(lite_site: Site) -> None:
    caller = lite_site.caller(Role.BACK_OFFICE)
    first = caller.post("/api/v1/injections", content=as_xml(start(PRM, day(0))))
    assert [one["message"]["state"] for one in first.json()["messages"]] == ["accepted"] * 4
    one = caller.post("/api/v1/injections", content=encode(messages(reading(PRM, day(30), 1000))[0]))
    assert one.json()["messages"][0]["message"]["state"] == "accepted"


def test_every_mistake_of_every_message_is_told_and_nothing_is_stored(story_site: Site) -> None:
    caller = story_site.caller(Role.CONSULTANT)
    wrong: list[Any] = [
        {"kind": "MeterReading", "market": "FR", "qualification": "guess", "registers": "none", "access_point": 7},
        {"kind": "Nonsense"},
        "no message",
        END,
        END | {"market": "XX"},
        END | {"kind": "EndOfSupplyRequest", "requested_date": "2026-06-01"},
    ]
    before = story_site.caller(Role.CONSULTANT).get("/api/v1/messages").json()
    answer = caller.post("/api/v1/injections", json=wrong)
    assert answer.status_code == 422
    found = {(one["target"], one["code"]) for one in answer.json()["errors"]}
    assert found >= {
        ("/0/qualification", "KERNEL_JSON_VALUE"),
        ("/0/registers", "KERNEL_JSON_VALUE"),
        ("/0/access_point", "KERNEL_JSON_VALUE"),
        ("/1/kind", "KERNEL_JSON_VALUE"),
        ("/2/", "KERNEL_JSON_SYNTAX"),
        ("/4/market", "INJECT_MARKET"),
        ("/5/kind", "INJECT_KIND"),
    }
    assert not any(target.startswith("/3/") for target, _ in found), "nothing is wrong with that one"
    assert caller.get("/api/v1/messages").json() == before


def test_xml_is_refused_with_every_attribute_that_is_wrong(story_site: Site) -> None:
    attributes = 'market="France" created="yesterday" marketType="x" reference="1"'
    xml = f'<EndOfSupply xmlns="urn:energycomm:kernel:1" {attributes}/>'
    answer = story_site.caller(Role.CONSULTANT).post("/api/v1/injections", content=xml)
    targets = {one["target"] for one in answer.json()["errors"]}
    assert targets >= {"/0//EndOfSupply/@market", "/0//EndOfSupply/@created", "/0//EndOfSupply/@effective"}


@pytest.mark.parametrize(
    "content", [b"", b"{", b"<a", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', b"\xff\xfe", b"[" * 100_000]
)
def test_what_is_neither_json_nor_xml_is_refused(story_site: Site, content: bytes) -> None:
    answer = story_site.caller(Role.CONSULTANT).post("/api/v1/injections", content=content)
    assert (answer.status_code, answer.json()["code"]) in ((400, "API_UNREADABLE"), (422, "API_INVALID"))


@pytest.mark.parametrize("media", ["text/csv", "image/png", "application/x-www-form-urlencoded"])
def test_a_body_of_another_form_is_refused_as_such(story_site: Site, media: str) -> None:
    """Whatever it holds: 415, with the forms that are read; a body that says nothing is looked at."""
    caller = story_site.caller(Role.BACK_OFFICE, Role.CONSULTANT)
    for path in ("/api/v1/injections", "/api/v1/requests", "/api/v1/corrections/replays"):
        refused = caller.post(path, content=b"{}", headers={"Content-Type": media})
        assert (refused.status_code, refused.json()["code"], refused.json()["value"]) == (415, "API_MEDIA", media)
        assert "application/json" in refused.json()["advice"]
    assert caller.post("/api/v1/injections", content=b"{}").status_code == 422
    broken = caller.post("/api/v1/injections", content=b"<x", headers={"Content-Type": "text/xml"})
    assert broken.json()["code"] == "API_UNREADABLE"


def test_broken_json_is_told_in_a_sentence(story_site: Site) -> None:
    detail = story_site.caller(Role.BACK_OFFICE).post("/api/v1/injections", content=b"{nope").json()["detail"]
    assert detail.startswith(
        "KERNEL_JSON_SYNTAX: found 'JSON is malformed: object keys must be strings (byte 1)', expected"
    )


def test_none_and_too_many_messages_are_refused(story_site: Site) -> None:
    caller = story_site.caller(Role.CONSULTANT)
    assert caller.post("/api/v1/injections", json=[]).json()["errors"][0]["code"] == "INJECT_NUMBER"
    many = caller.post("/api/v1/injections", json=[END | {"reference": str(n)} for n in range(1001)])
    assert (many.status_code, many.json()["errors"][0]["expected"]) == (422, "1 to 1000 messages")


def test_a_second_try_gets_the_first_answer_and_other_content_under_the_key_is_refused(lite_site: Site) -> None:
    caller = lite_site.caller(Role.CONSULTANT)
    sent, headers = as_json(start(PRM, day(0))), {"Idempotency-Key": "mail-17"}
    first = caller.post("/api/v1/injections", content=sent, headers=headers)
    again = caller.post("/api/v1/injections", content=sent, headers=headers)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    other = caller.post("/api/v1/injections", content=as_json(reading(PRM, day(30), 1)), headers=headers)
    assert (other.status_code, other.json()["target"]) == (409, "Idempotency-Key")
    berta = lite_site.caller(Role.CONSULTANT, person="berta")
    mine = berta.post("/api/v1/injections", content=as_json(reading(PRM, day(30), 1)), headers=headers)
    assert mine.status_code == 201, "a key is of one person"


def test_the_same_messages_without_a_key_are_duplicates_of_the_first(site: Site) -> None:
    caller = site.caller(Role.CONSULTANT)
    first = caller.post("/api/v1/injections", json=END).json()
    again = caller.post("/api/v1/injections", json=END)
    assert (again.status_code, again.json()["code"]) == (409, "API_CONFLICT")
    assert again.json()["errors"][0]["value"] == str(first["messages"][0]["message"]["id"])
    mixed = caller.post("/api/v1/injections", json=[END, END | {"effective": "2026-07-01T00:00:00+02:00"}]).json()
    assert [one["duplicate"] for one in mixed["messages"]] == [True, False]
    assert len(caller.get("/api/v1/messages").json()["messages"]) == 2


def test_an_injected_message_releases_what_waited_for_it(database_url: str) -> None:
    """It is put into its place of the fold, like one of the market's."""
    site = Site(told(database_url))
    try:
        caller = site.caller(Role.CONSULTANT)
        other = "99000000000025"
        waiting = caller.post("/api/v1/injections", content=as_json(reading(other, day(30), 1000))).json()
        assert waiting["messages"][0]["message"]["state"] == "quarantined"
        caller.post("/api/v1/injections", content=as_json(start(other, day(0))))
        number = waiting["messages"][0]["message"]["id"]
        assert caller.get(f"/api/v1/messages/{number}").json()["summary"]["state"] == "accepted"
    finally:
        site.close()


def test_what_a_person_need_not_write_is_filled_in(story_site: Site) -> None:
    caller = story_site.caller(Role.CONSULTANT)
    bare = {name: value for name, value in END.items() if name != "market_type"}
    done = caller.post("/api/v1/injections", json=bare | {"effective": "2026-08-01T00:00:00+02:00"}).json()
    number = done["messages"][0]["message"]["id"]
    kernel = caller.get(f"/api/v1/messages/{number}/kernel", headers={"Accept": "application/json"})
    written = msgspec.json.decode(kernel.content)
    assert written["market_type"] == "EndOfSupply"
    assert written["reference"]
    assert "sender_role" not in written


def test_the_example_of_the_documents_is_accepted(lite_site: Site, project_root: Path) -> None:
    page = (project_root / "docs" / "api.md").read_text("utf-8")
    (example,) = re.findall(r"injections -d '\n(.*?)'\n", page, re.DOTALL)
    caller = lite_site.caller(Role.BACK_OFFICE)
    caller.post("/api/v1/injections", content=as_json(start(PRM, day(0))))
    done = caller.post("/api/v1/injections", content=example)
    assert done.json()["messages"][0]["message"]["state"] == "accepted", done.text


def test_messages_are_found_by_their_particulars_and_show_them(site: Site) -> None:
    """The text, the number however it is written, and the instant in any offset; nothing else is found."""
    caller = site.caller(Role.CONSULTANT)
    seen = datetime(2026, 3, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    values: dict[str, Any] = {"Nature_Evenement": "MES", "Poids/Net": Decimal("1.50"), "Vu": seen}
    opening = messages(start(PRM, day(0)))
    opening[1] = structs.replace(opening[1], particulars=particulars_of(values))
    opening[2] = structs.replace(opening[2], particulars=particulars_of({"Nature_Evenement": "CFNE"}))
    body = b"[" + b",".join(encode_json(message) for message in opening) + b"]"
    ids = [one["message"]["id"] for one in caller.post("/api/v1/injections", content=body).json()["messages"]]

    def found(particular: str, **more: str) -> list[int]:
        answer = caller.get("/api/v1/messages", params={"particular": particular, **more})
        return [one["id"] for one in answer.json()["messages"]]

    for wanted in ("Nature_Evenement=MES", "Poids/Net=1.5", "Poids/Net=1.500", "Vu=2026-03-01T00:00:00Z"):
        assert found(wanted) == [ids[1]], wanted
        assert found(wanted, access_point=PRM) == [ids[1]]
        assert found(wanted, kind=type(opening[1]).__name__) == [ids[1]]
        assert found(wanted, kind=type(opening[2]).__name__) == []
    assert found("Nature_Evenement=CFNE") == [ids[2]]
    assert found("Nature_Evenement=cfne") == []
    assert found("Poids/Net=MES") == []
    shown = caller.get(f"/api/v1/messages/{ids[1]}").json()
    assert shown["particulars"] == {"Nature_Evenement": "MES", "Poids/Net": "1.5", "Vu": "2026-03-01T00:00:00Z"}
    refused = caller.get("/api/v1/messages", params={"particular": "MES"})
    assert (refused.status_code, refused.json()["target"]) == (422, "particular")
