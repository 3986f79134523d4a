"""What the back office and consultants read: messages, access points, rules, counts."""

from __future__ import annotations

from energycomm.webservice.roles import Role
from tests.webservice.conftest import PRM, Site


def test_messages_are_found_by_what_is_wrong_with_them(story_site: Site) -> None:
    found = story_site.caller(Role.CONSULTANT).get("/api/v1/messages?state=rejected&code=CO-R05").json()
    assert [(one["kind"], one["access_point"], one["codes"]) for one in found["messages"]] == [
        ("MeterReading", PRM, ["CO-R05"])
    ]
    assert found["next"] is None


def test_messages_are_found_by_the_ebix_reason_of_what_is_wrong_with_them(story_site: Site) -> None:
    caller = story_site.caller(Role.CONSULTANT)
    found = {code: caller.get(f"/api/v1/messages?code={code}").json()["messages"] for code in ("CO-R05", "E19", "e19")}
    assert found["E19"] == found["e19"] == found["CO-R05"] != []


def test_a_code_that_nothing_has_is_refused_with_one_like_it(story_site: Site) -> None:
    answer = story_site.caller(Role.CONSULTANT).get("/api/v1/messages?code=CO-RO5")
    assert (answer.status_code, answer.json()["target"], answer.json()["value"]) == (422, "code", "CO-RO5")
    assert "CO-R05" in answer.json()["advice"]


def test_a_list_is_walked_page_by_page_and_tells_each_message_once(story_site: Site) -> None:
    caller = story_site.caller(Role.CONSULTANT)
    seen, path = [], "/api/v1/messages?limit=2&market=fr"
    while path:
        answer = caller.get(path)
        seen += [one["id"] for one in answer.json()["messages"]]
        link = answer.headers.get("link")
        path = link.split(">")[0].removeprefix("<") if link else ""
    assert len(seen) == len(set(seen)) == 6
    assert seen == sorted(seen, reverse=True)


def test_a_cursor_that_is_none_is_refused_with_words(story_site: Site) -> None:
    answer = story_site.caller(Role.CONSULTANT).get("/api/v1/messages?cursor=tomorrow")
    assert (answer.status_code, answer.json()["target"], answer.json()["value"]) == (422, "cursor", "tomorrow")


def test_every_wrong_parameter_is_told_at_once(story_site: Site) -> None:
    answer = story_site.caller(Role.CONSULTANT).get("/api/v1/messages?limit=0&since=yesterday&market=FRANCE")
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert {one["target"] for one in answer.json()["errors"]} == {"limit", "since", "market"}


def test_one_message_is_shown_with_its_verdict_and_its_bytes(story_site: Site) -> None:
    caller = story_site.caller(Role.CONSULTANT)
    number = caller.get("/api/v1/messages?state=rejected").json()["messages"][0]["id"]
    detail = caller.get(f"/api/v1/messages/{number}").json()
    assert [one["error_code"] for one in detail["findings"]] == ["CO-R05"]
    assert [one["after"] for one in detail["changes"]] == ["rejected"]
    xml = caller.get(f"/api/v1/messages/{number}/kernel")
    assert xml.text == detail["xml"]
    as_json = caller.get(f"/api/v1/messages/{number}/kernel", headers={"Accept": "application/json"}).json()
    assert (as_json["kind"], as_json["access_point"]) == ("MeterReading", PRM)
    explained = caller.get(f"/api/v1/messages/{number}/explanation").json()
    assert explained["failed"][0]["code"] == "CO-R05"
    assert explained["failed"][0]["sentence"]
    causes = caller.get(f"/api/v1/messages/{number}/causes").json()
    assert (causes["envelope_id"], causes["corrects"], causes["tickets"]) == (1, None, [])
    assert {one["event"] for one in causes["notifications"]} >= {"message-rejected"}


def test_what_is_not_there_is_told_with_what_to_do(story_site: Site) -> None:
    for path in ("/api/v1/messages/999", "/api/v1/messages/999/explanation", "/api/v1/access-points/4711"):
        answer = story_site.caller(Role.CONSULTANT).get(path)
        problem = answer.json()
        assert (answer.status_code, problem["code"], problem["instance"]) == (404, "API_NOT_FOUND", path)


def test_an_answer_that_did_not_change_is_not_sent_again(story_site: Site) -> None:
    caller = story_site.caller(Role.CONSULTANT)
    first = caller.get("/api/v1/messages/1")
    again = caller.get("/api/v1/messages/1", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = caller.get("/api/v1/messages/2", headers={"If-None-Match": first.headers["etag"]})
    assert other.status_code == 200


def test_an_access_point_is_shown_as_it_stands_and_as_it_came_to_be(story_site: Site) -> None:
    caller = story_site.caller(Role.BACK_OFFICE)
    (point,) = caller.get(f"/api/v1/access-points/{PRM}").json()
    assert (point["supplied"], point["tariff"], point["subscribed_power"]) == (True, "BTINFCU4", "6")
    assert point["periods"] == [
        {
            "start": "2026-01-04T23:00:00Z",
            "end": None,
            "contract_reference": "123456789",
            "supplier": "17X000000000EC1B",
            "reason": "MES",
            "end_reason": None,
        }
    ]
    (timeline,) = caller.get(f"/api/v1/access-points/{PRM}/timeline").json()
    assert {entry["what"] for entry in timeline["entries"]} >= {"message", "supply_period", "contract", "reading"}
    contracts = caller.get(f"/api/v1/access-points/{PRM}/contracts").json()["items"]
    assert [one["content"]["tariff"] for one in contracts] == ["BTINFCU4"]


def test_the_rows_of_a_subject_are_walked_page_by_page(story_site: Site) -> None:
    caller = story_site.caller(Role.BACK_OFFICE)
    first = caller.get(f"/api/v1/access-points/{PRM}/meters?limit=1").json()
    readings = caller.get(f"/api/v1/access-points/{PRM}/readings").json()
    assert len(first["items"]) == len(readings["items"]) == 1, "the one whose index went back did nothing"
    everything = caller.get(f"/api/v1/access-points/{PRM}/readings?until=2026-01-01").json()
    assert everything == {"items": [], "next": None}


def test_rules_are_read_by_anybody_and_say_how_often_they_fire(story_site: Site) -> None:
    caller = story_site.caller(Role.OPERATOR)
    (rule,) = [one for one in caller.get("/api/v1/rules/CO-R05").json() if one["code"].startswith("common")][:1]
    assert rule["sentence"]
    assert rule["demands"]
    assert {"code": "CO-R05", "severity": "error", "messages": 1, "comment": ""} in caller.get(
        "/api/v1/rules/firing"
    ).json()
    assert caller.get("/api/v1/rules?kind=MeterReading&market=fr&on=2026-03-01").json()["rules"]


def test_an_operator_sees_counts_and_no_content(story_site: Site) -> None:
    caller = story_site.caller(Role.OPERATOR)
    counts = caller.get("/api/v1/statistics").json()
    assert {"market": "FR", "type": "R15", "state": "rejected", "messages": 1} in counts["messages"]
    assert caller.get("/api/v1/envelopes/1").json()["summary"]["market"] == "FR"
    assert caller.get("/api/v1/messages/1").status_code == 403


def test_every_read_of_personal_data_is_in_the_audit_with_whose_it_was(story_site: Site) -> None:
    story_site.caller(Role.CONSULTANT, person="berta").get("/api/v1/messages/1")
    story_site.caller(Role.CONSULTANT, person="berta").get(f"/api/v1/access-points/{PRM}/readings?limit=3")
    story_site.caller(Role.CONSULTANT, person="berta").get("/api/v1/rules")
    page = story_site.caller(Role.ADMINISTRATOR).get("/api/v1/audit?person=berta").json()
    assert [(one["action"], one["subject"]) for one in page["entries"]] == [
        ("read", f"access point {PRM} readings"),
        ("read", f"message 1 access point {PRM}"),
    ]


def test_points_whose_measures_stay_away_are_listed_by_age(story_site: Site) -> None:
    """Supplied, not ended, and nothing told since; none of them with enough grace."""
    caller = story_site.caller(Role.BACK_OFFICE)
    found = caller.get("/api/v1/access-points/overdue", params={"market": "fr"}).json()
    assert PRM in {one["access_point"] for one in found}
    assert [one["missing"] for one in found] == sorted((one["missing"] for one in found), reverse=True)
    assert {one["market"] for one in found} == {"FR"}
    assert caller.get("/api/v1/access-points/overdue", params={"grace": 3660}).json() == []
    assert caller.get("/api/v1/access-points/overdue", params={"grace": -1}).status_code == 422
    refused = caller.get("/api/v1/access-points/overdue", params={"market": "ZZ"})
    assert (refused.status_code, "BE, DK, FR" in refused.text) == (422, True)
