"""Every incoming kind, handed in as Kernel XML and as JSON: judged, kept in its domain table, shown and found again."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from energycomm.client import Client
from energycomm.eis.domain import row_of
from energycomm.eis.meaning import canonical
from energycomm.kernel.codec import decode, decode_json, encode, encode_json
from energycomm.kernel.instants import instant
from energycomm.kernel.messages import ContractTerms, KernelMessage
from energycomm.kernel.parts import Power
from energycomm.webservice.roles import Role
from tests.console.scene import Visitor
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, start, transaction
from tests.webservice.conftest import PRM, Site

AREA: dict[str, Any] = {
    "market": "FR",
    "market_type": "WS",
    "reference": "S-1",
    "created": "2026-02-02T10:00:00+01:00",
    "effective": "2026-01-01T00:00:00+01:00",
    "reason": "invoicing",
    "sender": "17X000000000FR1A",
    "sender_role": "grid-operator",
    "receiver": "17X000000000EC1B",
}
POINT = {**AREA, "access_point": PRM, "effective": "2026-02-01T00:00:00+01:00"}

CASES: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "AggregatedSeries": (
        {
            **AREA,
            "end": "2026-01-01T02:00:00+01:00",
            "resolution": 60,
            "unit": "kWh",
            "grid_area": "804",
            "settlement": "D01",
            "version": "correction",
            "supplier": "5790000432752",
            "balance_responsible": "5790000432769",
            "positions": [{"position": 1, "value": "1.5"}, {"position": 2, "quality": "missing"}],
        },
        "aggregated_series",
        {
            "market": "FR",
            "source": "WS",
            "reason": "invoicing",
            "resolution": 60,
            "grid_area": "804",
            "settlement": "D01",
            "version": "correction",
            "supplier": "5790000432752",
            "balance_responsible": "5790000432769",
            "positions": 2,
        },
    ),
    "SettlementAmounts": (
        {
            **AREA,
            "end": "2026-02-01T00:00:00+01:00",
            "resolution_months": 1,
            "unit": "kWh",
            "currency": "DKK",
            "charge_type": "tariff",
            "charge_owner": "5790000432752",
            "charge_code": "40000",
            "version": "first",
            "total": "12.50",
            "positions": [{"position": 1, "quantity": "100", "price": "0.125", "amount": "12.50"}],
        },
        "settlement",
        {
            "resolution_months": 1,
            "currency": "DKK",
            "charge_type": "tariff",
            "charge_owner": "5790000432752",
            "charge_code": "40000",
            "version": "first",
            "total": "12.50",
            "positions": 1,
        },
    ),
    "PriceList": (
        {
            **AREA,
            "resolution": 60,
            "currency": "DKK",
            "charge_type": "fee",
            "charge_owner": "5790000432752",
            "charge_code": "F1",
            "name": "Reading fee",
            "taxed": True,
            "prices": [{"position": 1, "price": "0.1"}, {"position": 2, "price": "0.2"}],
        },
        "price_list",
        {"charge_type": "fee", "charge_code": "F1", "name": "Reading fee", "taxed": True, "prices": 2},
    ),
    "ReceivedRequest": (
        {
            **POINT,
            "requester": "5790000432752",
            "object_code": "E03",
            "requested_date": "2026-03-01",
            "answer_by": "2026-02-03T11:00:00+01:00",
            "reasons": [{"code": "Z01"}, {"code": "Z02", "text": "why"}],
            "attachments": [{"name": "a.pdf", "media_type": "application/pdf", "size": 7, "digest": "0" * 64}],
        },
        "received_request",
        {
            "reference": "S-1",
            "function": "original",
            "object_code": "E03",
            "requester": "5790000432752",
            "requested_date": "2026-03-01",
            "answer_by_at": "2026-02-03T10:00:00Z",
            "reasons": [{"code": "Z01"}, {"code": "Z02", "text": "why"}],
            "attachments": [{"name": "a.pdf", "media_type": "application/pdf", "size": 7, "digest": "0" * 64}],
        },
    ),
    "PointParties": (
        {**POINT, "parties": [{"role": "supplier", "party": "5790000432752", "start": "2026-02-01"}]},
        "point_parties",
        {"parties": [{"role": "supplier", "party": "5790000432752", "start": "2026-02-01"}]},
    ),
    "PointRelations": (
        {**POINT, "relations": [{"access_point": "571313180400014077", "nature": "child"}]},
        "point_relations",
        {"relations": [{"access_point": "571313180400014077", "nature": "child"}]},
    ),
    "GridInvoice": (
        {
            **AREA,
            "market_type": "F15",
            "invoice": "F-1",
            "invoice_date": "2026-01-31",
            "currency": "EUR",
            "taxes": [{"rate": "5.5", "base": "100", "amount": "5.50"}, {"rate": "20", "base": "10", "amount": "2"}],
        },
        "grid_invoice",
        {"taxes": [{"rate": "5.5", "base": "100", "amount": "5.50"}, {"rate": "20", "base": "10", "amount": "2"}]},
    ),
}
POWERS = (
    Power(time_class="P1", value=Decimal("10"), unit="kW"),
    Power(time_class="P2", value=Decimal("15.5"), unit="kW", nature="limit"),
)
SUBJECTS = {
    "received_request": "received-requests",
    "point_parties": "parties",
    "point_relations": "relations",
}
AREA_SUBJECTS = {"aggregated_series": "aggregated-series", "settlement": "settlements", "price_list": "price-lists"}


def built(kind: str) -> KernelMessage:
    message = decode_json(msgspec.json.encode({**CASES[kind][0], "kind": kind}))
    assert isinstance(message, KernelMessage), message
    assert decode(encode(message)) == message == decode_json(encode_json(message))
    return message


@pytest.mark.parametrize("form", ["xml", "json"])
def test_each_kind_is_judged_kept_shown_and_found(site: Site, form: str) -> None:
    caller = site.caller(Role.CONSULTANT)
    opening = [
        structs.replace(one, powers=POWERS) if isinstance(one, ContractTerms) else one
        for one in start(PRM, day(0)).messages
    ]
    begun = b"[" + b",".join(encode_json(message) for message in opening) + b"]"
    assert caller.post("/api/v1/injections", content=begun).status_code == 201
    (terms,) = caller.get(f"/api/v1/access-points/{PRM}/contracts").json()["items"]
    assert terms["content"]["powers"] == [
        {"time_class": "P1", "value": "10", "unit": "kW", "nature": "subscribed"},
        {"time_class": "P2", "value": "15.5", "unit": "kW", "nature": "limit"},
    ]
    for kind, (_, table, wanted) in CASES.items():
        message = built(kind)
        body = encode(message).encode() if form == "xml" else encode_json(message)
        answer = caller.post("/api/v1/injections", content=body).json()
        (done,) = answer["messages"]
        number = done["message"]["id"]
        shown = caller.get(f"/api/v1/messages/{number}").json()
        assert done["message"]["state"] == "accepted", (kind, [one["comment"] for one in shown["findings"]])
        (effect,) = [one for one in shown["effects"] if one["table"] == table]
        assert {name: effect["content"][name] for name in wanted} == wanted
        caller.post("/api/v1/injections", content=body)  # once more: nothing is kept twice
        listed = caller.get("/api/v1/messages", params={"kind": kind, "type": message.market_type}).json()["messages"]
        assert [one["id"] for one in listed if one["id"] >= number] == [number]
        if subject := SUBJECTS.get(table) or AREA_SUBJECTS.get(table):
            place = "markets/fr" if table in AREA_SUBJECTS else f"access-points/{PRM}"
            rows = caller.get(f"/api/v1/{place}/{subject}").json()["items"]
            (row,) = [one for one in rows if one["content"]["message_id"] == number]
            assert {name: row["content"][name] for name in wanted} == wanted


def test_what_belongs_to_no_point_is_listed_by_market_time_and_page(lite_site: Site) -> None:
    caller = lite_site.caller(Role.CONSULTANT)
    for month in ("01", "02", "03"):
        at = f"2026-{month}-01T00:00:00+01:00"
        told = {**CASES["PriceList"][0], "kind": "PriceList", "effective": at, "reference": f"P-{month}"}
        (done,) = caller.post("/api/v1/injections", content=msgspec.json.encode(told)).json()["messages"]
        assert done["message"]["state"] == "accepted"

    def months(query: str, market: str = "FR") -> list[str]:
        answer = caller.get(f"/api/v1/markets/{market}/price-lists?{query}").json()
        return [one["at"][:10] for one in answer["items"]]

    assert months("") == ["2026-02-28", "2026-01-31", "2025-12-31"]
    assert months("until=2026-02-01T00:00:00Z&since=2026-01-01") == ["2026-01-31"]
    assert months("", "NL") == []
    first = caller.get("/api/v1/markets/FR/price-lists?limit=2").json()
    assert months(f"cursor={first['next']}") == ["2025-12-31"]
    assert caller.get("/api/v1/markets/FR/price-lists?cursor=x").status_code in (400, 422)
    assert caller.get("/api/v1/markets/FR/readings").status_code == 422
    other = lite_site.caller(Role.OPERATOR)
    assert other.get("/api/v1/markets/FR/price-lists").status_code == 403


def test_what_we_owe_an_answer_to_is_listed_by_page_for_programs_and_people(lite_site: Site) -> None:
    """In the legal time of the market; a late one is marked. Who may not read messages sees none of it."""
    caller = lite_site.caller(Role.CONSULTANT)
    for name, by in (("O-1", "2026-02-03T10:00:00Z"), ("O-2", "2099-07-03T10:00:00Z"), ("O-3", None)):
        told = {**CASES["ReceivedRequest"][0], "kind": "ReceivedRequest", "reference": name, "answer_by": by}
        (done,) = caller.post("/api/v1/injections", content=msgspec.json.encode(told)).json()["messages"]
        assert done["message"]["state"] == "accepted"
    path = "/api/v1/requests/owed"
    ours = [one for one in caller.get(path).json()["items"] if one["reference"].startswith("O-")]
    assert [(one["reference"], one["answer_by"], one["late"]) for one in ours] == [
        ("O-1", "2026-02-03T11:00:00+01:00", True),
        ("O-2", "2099-07-03T12:00:00+02:00", False),
        ("O-3", None, False),
    ]
    late = caller.get(f"{path}?late=true&market=fr").json()["items"]
    assert "O-1" in {one["reference"] for one in late}
    assert all(one["late"] for one in late)
    assert caller.get(f"{path}?market=NL").json()["items"] == []
    seen, query = [], "limit=1"
    while query:
        page = caller.get(f"{path}?{query}").json()
        seen += [one["reference"] for one in page["items"]]
        query = f"limit=1&cursor={page['next']}" if page["next"] else ""
    assert seen == [one["reference"] for one in caller.get(path).json()["items"]]
    assert caller.get(f"{path}?cursor=x").status_code == 422
    assert lite_site.caller(Role.OPERATOR).get(path).status_code == 403
    token = lite_site.token(Role.BACK_OFFICE)
    found = Client("http://gateway.test", token, http=lite_site.caller()).owed(late=True)
    assert [one.reference for one in found] == [one["reference"] for one in late]
    shown = Visitor(lite_site, Role.CONSULTANT).get("/requests?state=to+answer").text
    assert '<span class="alarm">2026-02-03 11:00</span>' in shown
    assert "<span>2099-07-03 12:00</span>" in shown


@pytest.mark.parametrize(
    ("kind", "change", "code"),
    [
        ("AggregatedSeries", {"resolution_months": 1}, "CO-D07"),
        ("SettlementAmounts", {"resolution_months": None}, "CO-D07"),
        ("PriceList", {"access_point": PRM}, "CO-D08"),
        ("SettlementAmounts", {"end": "2026-04-01T00:00:00+02:00"}, "CO-D09"),
        ("SettlementAmounts", {"resolution_months": 12, "end": "2028-01-01T00:00:00+01:00"}, "CO-D09"),
    ],
)
def test_a_series_has_one_step_and_an_area_no_point(
    lite_site: Site, kind: str, change: dict[str, Any], code: str
) -> None:
    caller = lite_site.caller(Role.CONSULTANT)
    body = msgspec.json.encode({**CASES[kind][0], "kind": kind, **change})
    (done,) = caller.post("/api/v1/injections", content=body).json()["messages"]
    assert (done["message"]["state"], done["message"]["codes"]) == ("rejected", [code])


def test_a_curve_by_months_is_kept_with_its_step_point_type_and_registration() -> None:
    """No installed market sends one yet: the row that its declaration makes."""
    content = {
        **POINT,
        "kind": "MeasureSeries",
        "end": "2026-04-01T00:00:00+02:00",
        "resolution_months": 1,
        "unit": "kWh",
        "point_type": "production",
        "registered": "2026-04-02T00:00:00+02:00",
        "positions": [{"position": 1, "value": "7"}, {"position": 2, "value": "8"}],
    }
    message = decode_json(msgspec.json.encode(content))
    assert isinstance(message, KernelMessage)
    row = row_of(message)
    assert (row["resolution"], row["resolution_months"], row["point_type"]) == (None, 1, "production")
    assert instant(row["registered_at"]).isoformat() == "2026-04-01T22:00:00+00:00"


def test_a_version_that_comes_first_ends_in_the_same_store_as_one_that_comes_last(tmp_path: Path) -> None:
    """What concerns an area and what concerns a point, in three orders and once twice: one meaning."""
    told = [transaction([built(kind)]) for kind in CASES]
    later = transaction([structs.replace(built("PointParties"), reference="S-2", parties=(), market_reason="later")])
    story = [start(PRM, day(0)), *told, later]
    meanings = []
    for number, order in enumerate((story, story[::-1], [*story[3:], *story[:5]])):
        desk = Desk(f"sqlite:///{tmp_path / f'{number}.db'}")
        for one in order:
            desk.deliver([one])
        meanings.append(canonical(desk.database, carriers=False))
    assert meanings[0] == meanings[1] == meanings[2]
    assert sum(len(meanings[0][table]) for table in ("aggregated_series", "settlement", "price_list")) == 3
