"""Consultants correct by way of the web what they correct on the command line; here with the typed client."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.examples.morning import morning
from energycomm.client import Client, Refused
from energycomm.config import CorrectionSettings
from energycomm.correction.analysis import judged_cases
from energycomm.correction.campaign import CampaignRecord
from energycomm.correction.tickets import make_tickets
from energycomm.market.installed import installed_adapters
from energycomm.webservice.roles import Role, Scope
from tests.webservice.conftest import PRM, Site, configured, copied, told

SCRIPT = '''
"""Sets an index that went back, for tests."""

from msgspec import structs

from energycomm.correction.script import Modify, Parameter, Script, Selection

SCRIPT = Script(
    title="Set the index",
    selection=Selection(codes=("CO-R05",), kinds=("MeterReading",)),
    parameters=(Parameter(name="value", help="the index in kWh"),),
)


def correct(case, parameters):
    register = structs.replace(case.message.registers[0], value=int(parameters["value"]))
    return Modify(structs.replace(case.message, registers=(register,)), "index typed wrong")
'''


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "set_index.py").write_text(SCRIPT)
    return folder


@pytest.fixture
def house(database_url: str, scripts: Path) -> Iterator[Site]:
    made = Site(told(database_url), configured(database_url, correction=CorrectionSettings(scripts=scripts)))
    yield made
    made.close()


@pytest.fixture
def lite_house(tmp_path: Path, scripts: Path) -> Iterator[Site]:
    url = copied(told, tmp_path)
    made = Site(url, configured(url, correction=CorrectionSettings(scripts=scripts)))
    yield made
    made.close()


@pytest.fixture
def strict_house(tmp_path: Path, scripts: Path) -> Iterator[Site]:
    """Two pairs of eyes are asked for."""
    url = copied(told, tmp_path)
    settings = CorrectionSettings(scripts=scripts, four_eyes=True)
    made = Site(url, configured(url, correction=settings))
    yield made
    made.close()


def client(site: Site, person: str = "anna", **settings: Any) -> Client:
    """The typed client of a consultant, connected without a network."""
    token = site.token(Role.CONSULTANT, person=person, **settings)
    return Client("http://gateway.test", token, http=site.caller(), sleep=lambda _: None)


def finished(gateway: Client, number: int) -> CampaignRecord:
    """A campaign once it is over."""
    for _ in range(200):
        record = gateway.campaign(number).campaign
        if record.state not in ("planned", "running"):
            return record
        time.sleep(0.05)
    pytest.fail("the campaign does not end")


def stuck(gateway: Client) -> int:
    """The number of the message that is stuck."""
    (found,) = gateway.messages(state="rejected")
    return found.id


def test_a_group_is_looked_at_previewed_corrected_and_taken_back(house: Site) -> None:
    gateway = client(house)
    (group,) = gateway.groups()
    assert (group.key, group.messages, group.examples) == ("CO-R05", 1, (stuck(gateway),))
    assert "set-index" in {script.name for script in gateway.scripts()}
    seen = gateway.preview("set-index", parameters={"value": "1300"})
    assert (seen.selected, seen.freed, len(seen.items)) == (1, (stuck(gateway),), 1)
    assert 'value="1300"' in seen.items[0].difference
    assert gateway.message(stuck(gateway)).summary.state == "rejected", "a preview changes nothing"
    number = stuck(gateway)
    begun = gateway.run("set-index", "typed wrong", parameters={"value": "1300"}, key="morning")
    assert finished(gateway, begun.id).freed == 1
    assert gateway.run("set-index", "typed wrong", parameters={"value": "1300"}, key="morning").id == begun.id
    assert gateway.message(number).summary.state == "treated"
    causes = gateway.causes(number)
    assert (len(causes.corrected_by), causes.campaigns) == (1, (begun.id,))
    assert gateway.undo(begun.id).state == "undone"
    assert gateway.message(number).summary.state == "rejected"


def test_a_campaign_that_frees_nothing_is_refused_and_so_are_wrong_parameters(lite_house: Site) -> None:
    gateway = client(lite_house)
    with pytest.raises(Refused) as nothing:
        gateway.run("set-index", "typed wrong", parameters={"value": "1"})
    assert (nothing.value.status, nothing.value.details.code) == (409, "API_CONFLICT")
    with pytest.raises(Refused, match="needs the parameter 'value'"):
        gateway.preview("set-index")
    with pytest.raises(Refused, match="There is no script nonsense"):
        gateway.preview("nonsense")
    with pytest.raises(Refused, match="There is no campaign 99"):
        gateway.campaign(99)


def test_an_edit_by_hand_is_checked_before_it_is_stored(house: Site) -> None:
    gateway = client(house)
    number = stuck(gateway)
    xml = gateway.message(number).xml
    better = xml.replace('value="1100"', 'value="1300"')
    assert better != xml
    with pytest.raises(Refused) as refused:
        gateway.edit(number, xml.replace('value="1100"', 'value="many"'), "typed wrong")
    assert refused.value.status == 422
    assert {one.code for one in refused.value.details.errors} == {"KERNEL_XML_VALUE"}
    assert gateway.examine(number, better).freed == (number,)
    assert gateway.message(number).summary.state == "rejected"
    record = gateway.edit(number, better, "typed wrong", key="edit-1")
    assert (record.by, record.freed) == ("anna", 1)
    assert gateway.edit(number, better, "typed wrong", key="edit-1").id == record.id
    assert gateway.message(number).summary.state == "treated"


def test_with_four_eyes_a_colleague_approves_what_was_proposed(strict_house: Site) -> None:
    gateway, colleague = client(strict_house), client(strict_house, "berta")
    begun = gateway.run("set-index", "typed wrong", parameters={"value": "1300"})
    assert begun.state == "planned"
    for path, status in (("run", 409), ("approve", 403)):
        with pytest.raises(Refused) as refused:
            gateway.raw("POST", f"/corrections/campaigns/{begun.id}/{path}")
        assert refused.value.status == status
    colleague.raw("POST", f"/corrections/campaigns/{begun.id}/approve")
    assert (finished(gateway, begun.id).freed, finished(gateway, begun.id).approved_by) == (1, "berta")
    for path in ("approve", "run", "cancel"):
        with pytest.raises(Refused, match="is done"):
            colleague.raw("POST", f"/corrections/campaigns/{begun.id}/{path}")


def test_messages_are_replayed_and_delegated_by_their_numbers(lite_house: Site) -> None:
    gateway = client(lite_house)
    number = stuck(gateway)
    after = gateway.ask(list[dict[str, Any]], "POST", "/corrections/replays", body={"messages": [number], "why": "x"})
    assert [(one["id"], one["state"]) for one in after] == [(number, "rejected")]
    with pytest.raises(Refused) as refused:
        gateway.raw("POST", "/corrections/replays", body={"messages": [number, 998, 999], "why": "x"})
    assert [one.target for one in refused.value.details.errors] == ["998", "999"]
    body = {"messages": [number], "to": "ben", "note": "call the grid operator"}
    given = gateway.ask(dict[str, Any], "POST", "/corrections/delegations", body=body)
    assert given == {"asked": 1, "done": [number]}
    assert gateway.message(number).changes[-1].by == "anna"


def test_a_ticket_that_somebody_else_changed_meanwhile_is_not_overwritten(house: Site) -> None:
    (made,) = make_tickets(house.store, judged_cases(house.store.engine, installed_adapters()), "loop")
    gateway, caller = client(house), house.caller(Role.CONSULTANT)
    (ticket,) = gateway.tickets("open")
    assert ticket.id == made
    seen = caller.get(f"/api/v1/corrections/tickets/{made}")
    path, tag = f"/api/v1/corrections/tickets/{made}", seen.headers["etag"]
    first = caller.patch(path, json={"owner": "ben", "due": "2026-12-24T12:00:00"}, headers={"If-Match": tag})
    assert (first.status_code, first.json()["owner"], first.json()["due"]) == (200, "ben", "2026-12-24T12:00:00Z")
    late = caller.patch(path, json={"owner": "anna"}, headers={"If-Match": tag})
    assert (late.status_code, late.json()["code"]) == (412, "API_CHANGED")
    assert caller.patch(path, json={"state": "closed"}, headers={"If-Match": first.headers["etag"]}).status_code == 200
    wrong = caller.patch(path, json={"state": "gone", "colour": "red", "owner": ""})
    assert {one["target"] for one in wrong.json()["errors"]} == {"/state", "/colour", "/owner"}


def test_who_may_only_read_previews_nothing_into_the_store(lite_house: Site) -> None:
    gateway = client(lite_house, scopes=frozenset({Scope.READ}))
    assert gateway.preview("set-index", parameters={"value": "1300"}).freed
    with pytest.raises(Refused, match="API_FORBIDDEN"):
        gateway.run("set-index", "typed wrong", parameters={"value": "1300"})


def test_what_is_proposed_was_tried_out(lite_house: Site) -> None:
    proposals = client(lite_house).proposals()
    assert {one.group for one in proposals} == {"CO-R05"}
    assert proposals[-1].words


def test_every_change_is_in_the_audit_with_what_it_was_about(lite_house: Site) -> None:
    gateway = client(lite_house, "carla")
    number = stuck(gateway)
    gateway.run("set-index", "typed wrong", parameters={"value": "1300"}, messages=[number])
    page = lite_house.caller(Role.ADMINISTRATOR).get("/api/v1/audit?person=carla&action=change").json()
    assert [(one["what"], one["subject"], one["status"]) for one in page["entries"]] == [
        ("POST /api/v1/corrections/campaigns", "script set-index", 202)
    ]


def test_the_morning_round_runs_what_may_run_alone_until_nothing_moves(lite_house: Site, scripts: Path) -> None:
    """The example of the client: a script of one's own that may run alone, whose parameter has a default."""
    alone = SCRIPT.replace('title="Set the index",', 'title="Set the index", automatic=True,')
    (scripts / "set_index.py").write_text(alone.replace('help="the index in kWh"', 'help="the index", default="1300"'))
    gateway = client(lite_house)
    told_: list[str] = []
    (record,) = morning(gateway, pause=0.05, watch=told_.append)
    assert (record.script, record.state, record.freed) == ("set-index", "done", 1)
    assert told_ == [f"set-index: campaign {record.id} is done and freed 1"]
    assert gateway.groups() == []
    assert morning(gateway, pause=0.05) == []


def test_an_access_point_and_the_rules_come_as_the_types_of_the_server(lite_house: Site) -> None:
    gateway = client(lite_house)
    assert gateway.access_point(PRM)[0].supplied
    assert [one.content["tariff"] for one in gateway.rows(PRM, "contracts", page=1)] == ["BTINFCU4"]
    assert gateway.timeline(PRM)[0].complete
    assert PRM in {one.access_point for one in gateway.overdue(market="fr")}
    assert gateway.overdue(grace=3660) == []
    assert gateway.kernel(1).access_point == PRM
    assert gateway.rules(kind="MeterReading").rules
    assert gateway.explanation(stuck(gateway)).failed[0].code == "CO-R05"
    assert gateway.me().roles == ("consultant",)
