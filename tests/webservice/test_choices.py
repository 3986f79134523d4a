"""A filter that names something that there is not is refused with what was meant, at every door."""

from __future__ import annotations

from pathlib import Path

import pytest

from energycomm import cli
from energycomm.choices import UnknownWord, one_of
from energycomm.errors import ExitCode
from energycomm.webservice.roles import Role
from tests.webservice.conftest import Site


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("typed", "advice"),
    [
        ("message list --state rejectd", "Did you mean rejected?"),
        ("message list --kind MeterReadng", "MeterReading"),
        ("message list --market XX", "Known are: BE, DK, FR, NL."),
        ("message list --type C51", "C15"),
        ("message list --code ZZ-99", "energycomm rules list"),
        ("message list --limit x", "a whole number was expected"),
        ("message list --since 2025-13-01", "2025-01-31"),
        ("rules list --market xx", "Known are: BE, DK, FR, NL."),
        ("rules list --kind MeterReadng", "MeterReading"),
        ("rules list --set validation", "validation_in"),
        ("envelope list --state faild", "Did you mean failed?"),
        ("request list --state refusd", "Did you mean refused?"),
        ("request list --market xx", "Known are: BE, DK, FR, NL."),
        ("outbox list --state ded", "Did you mean dead?"),
        ("acknowledgement list --state ded", "Did you mean dead?"),
        ("correct tickets --state opn", "Did you mean open?"),
        ("invoice list --market xx", "Known are: BE, DK, FR, NL."),
        ("access-point overdue --market xx", "Known are: BE, DK, FR, NL."),
        ("message list --access-point 99000000000018", "is no access point of this store"),
        ("message list --envelope 99", "is no envelope of this store"),
        ("message list --since 99999", "2025-01-31"),
        ("message list --until -3", "2025-01-31"),
        ("message list --state=", "The word after --state is empty"),
        ("envelope list --series nothing", "is no numbered series"),
        ("request list --access-point nobody", "is no access point of this store"),
        ("correct tickets --of nobody", "is no person with a ticket"),
        ("audit list --person nobody", "is no person of this store"),
        ("audit list --since 0", "2025-01-31"),
        ("rules list --on 0", "2025-01-31"),
        ("user sessions nobody", "is no person of this store"),
        ("gas values --station nobody", "is no station"),
        ("outbox retry 99", "there is none that is dead"),
        ("acknowledgement retry 99", "there is none that is dead"),
        ("correct edit 1 --print --yes", "contradict each other"),
    ],
)
def test_a_command_refuses_a_filter_that_nothing_can_fit(
    typed: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", f"sqlite:///{tmp_path / 'store.db'}")
    assert cli.main(["eis", "upgrade"]) == ExitCode.OK
    assert cli.main(typed.split()) == ExitCode.USAGE
    shown = " ".join(capsys.readouterr().err.split())
    assert advice in shown
    assert "Input should" not in shown


def test_a_word_is_known_in_any_case_of_letters() -> None:
    assert one_of("market", " fr", ["BE", "FR"], "market") == "FR"
    with pytest.raises(UnknownWord) as refused:
        one_of("market", "zz", ["BE", "FR"], "market")
    assert (refused.value.field, refused.value.value) == ("market", "zz")


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("messages?state=rejectd", "state"),
        ("messages?kind=Reading", "kind"),
        ("messages?market=XX", "market"),
        ("messages?type=C51", "type"),
        ("requests?state=x", "state"),
        ("requests?market=XX", "market"),
        ("rules?market=XX", "market"),
        ("rules?kind=x", "kind"),
        ("rules?rule_set=x", "rule_set"),
        ("access-points/overdue?market=XX", "market"),
        ("invoices?market=XX", "market"),
        ("corrections/tickets?state=x", "state"),
        ("corrections/tickets?owner=nobody", "owner"),
        ("messages?access_point=nobody", "access_point"),
        ("messages?envelope=99999", "envelope"),
        ("messages?since=99999", "since"),
        ("requests?access_point=nobody", "access_point"),
        ("envelopes?series=nothing", "series"),
        ("exports/readings?from=0", "from"),
    ],
)
def test_the_interface_refuses_a_filter_that_nothing_can_fit(story_site: Site, path: str, target: str) -> None:
    answer = story_site.caller(Role.CONSULTANT).get(f"/api/v1/{path}")
    assert (answer.status_code, answer.json()["target"]) == (422, target)


@pytest.mark.parametrize("path", ["/tickets?state=x", "/requests?state=x", "/requests?market=XX", "/rules?rule_set=x"])
def test_a_page_refuses_a_filter_that_nothing_can_fit(story_site: Site, path: str) -> None:
    assert story_site.caller(Role.CONSULTANT).get(path).status_code == 422


def test_the_description_of_the_interface_names_the_states(story_site: Site) -> None:
    answer = story_site.caller(Role.CONSULTANT).get("/api/v1/openapi.json").json()
    parameters = {one["name"]: one["schema"] for one in answer["paths"]["/api/v1/messages"]["get"]["parameters"]}
    assert "quarantined" in str(parameters["state"])


LISTED = {
    "messages": {"state", "kind", "market", "sort"},
    "envelopes": {"state", "sort"},
    "requests": {"state", "market", "sort"},
    "requests/owed": {"market", "sort"},
    "notifications": {"state"},
    "corrections/tickets": {"state", "sort"},
    "invoices": {"market"},
    "access-points/overdue": {"market"},
    "rules": {"market", "kind", "rule_set", "sort"},
    "audit": {"action"},
}


@pytest.mark.parametrize("path", list(LISTED))
def test_the_description_names_the_words_of_every_list(story_site: Site, path: str) -> None:
    answer = story_site.caller(Role.CONSULTANT).get("/api/v1/openapi.json").json()
    parameters = {one["name"]: one["schema"] for one in answer["paths"][f"/api/v1/{path}"]["get"]["parameters"]}
    named = {name for name, schema in parameters.items() if "enum" in str(schema)}
    assert named == LISTED[path]
    if "market" in LISTED[path]:
        assert "'BE', 'DK', 'FR', 'NL'" in str(parameters["market"])


@pytest.mark.parametrize(
    ("path", "wrong", "meant"),
    [
        ("messages?stat=rejected", "stat", "state"),
        ("messages?State=rejected", "State", "state"),
        ("messages?state=rejected&acess_point=1", "acess_point", "access_point"),
        ("requests?before=7", "before", ""),
        ("requests/owed?lates=true", "lates", "late"),
        ("rules?ruleset=validation_in", "ruleset", "rule_set"),
        ("access-points/overdue?grac=3", "grac", "grace"),
        ("health?detail=1", "detail", "has none"),
        ("corrections/groups?be=code", "be", "by"),
    ],
)
def test_the_interface_refuses_a_parameter_that_it_does_not_have(
    lite_site: Site, path: str, wrong: str, meant: str
) -> None:
    """A filter with a typing error would find everything."""
    answer = lite_site.caller(Role.CONSULTANT, Role.OPERATOR).get(f"/api/v1/{path}")
    assert (answer.status_code, answer.json()["target"]) == (422, wrong)
    assert meant in answer.json()["advice"]


def test_a_change_with_a_wrong_parameter_changes_nothing(lite_site: Site) -> None:
    """`dryrun` for `dry_run` would load the portfolio."""
    caller = lite_site.caller(Role.CONSULTANT)
    headers = {"Content-Type": "text/csv"}
    answer = caller.post("/api/v1/portfolio?dryrun=true", content=b"market;access_point\n", headers=headers)
    assert (answer.status_code, answer.json()["advice"]) == (422, "Did you mean dry_run?")


@pytest.mark.parametrize("sort", ["received", "-received", "state", "-kind", "market"])
def test_pages_of_a_sorted_list_make_up_the_whole(story_site: Site, sort: str) -> None:
    caller = story_site.caller(Role.CONSULTANT)
    whole = [one["id"] for one in caller.get(f"/api/v1/messages?sort={sort}&limit=500").json()["messages"]]
    seen: list[int] = []
    following: str | None = f"/api/v1/messages?sort={sort}&limit=3"
    while following:
        answer = caller.get(following)
        seen += [one["id"] for one in answer.json()["messages"]]
        following = answer.links["next"]["url"] if "next" in answer.links else None
    assert len(whole) > 3
    assert seen == whole


def test_a_cursor_of_another_order_is_refused(story_site: Site) -> None:
    caller = story_site.caller(Role.CONSULTANT)
    following = caller.get("/api/v1/messages?limit=1").json()["next"]
    assert caller.get(f"/api/v1/messages?limit=1&sort=state&cursor={following}").status_code == 422


def test_a_mistyped_point_is_refused_with_the_one_that_is_there(story_site: Site) -> None:
    listed = story_site.caller(Role.CONSULTANT).get("/api/v1/messages?limit=1").json()
    there = listed["messages"][0]["access_point"]
    mistyped = f"{there[:5]}{(int(there[5]) + 1) % 10}{there[6:]}"
    answer = story_site.caller(Role.CONSULTANT).get(f"/api/v1/messages?access_point={mistyped}")
    assert answer.status_code == 422
    assert there in answer.json()["advice"]


@pytest.mark.parametrize("typed", ["process ", "eis compare  ", "rules list --market "])
def test_an_empty_word_is_refused(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Of a variable that is not set: it would be the folder one is in, the store itself, or every row.
    monkeypatch.chdir(tmp_path)
    words = [*typed.split(), typed[len(typed.rstrip()) + 1 :]]
    assert cli.main(words) == ExitCode.USAGE
    assert f"The word after {words[-2]} is empty" in capsys.readouterr().err
