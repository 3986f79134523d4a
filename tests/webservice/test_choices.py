"""A filter that names something that there is not is refused with what was meant, at every door."""

from __future__ import annotations

from pathlib import Path

import pytest

from energycomm import cli
from energycomm.choices import UnknownWord, one_of
from energycomm.errors import ExitCode
from energycomm.webservice.roles import Role
from tests.webservice.conftest import Site


@pytest.mark.parametrize(
    ("typed", "advice"),
    [
        ("message list --state rejectd", "Did you mean rejected?"),
        ("message list --kind MeterReadng", "MeterReading"),
        ("message list --market XX", "Known are: BE, FR, NL."),
        ("message list --type C51", "C15"),
        ("message list --code ZZ-99", "energycomm rules list"),
        ("message list --limit x", "a whole number was expected"),
        ("message list --since 2025-13-01", "2025-01-31"),
        ("rules list --market xx", "Known are: BE, FR, NL."),
        ("rules list --kind MeterReadng", "MeterReading"),
        ("rules list --set validation", "validation_in"),
        ("envelope list --state faild", "Did you mean failed?"),
        ("request list --state refusd", "Did you mean refused?"),
        ("request list --market xx", "Known are: BE, FR, NL."),
        ("outbox list --state ded", "Did you mean dead?"),
        ("acknowledgement list --state ded", "Did you mean dead?"),
        ("correct tickets --state opn", "Did you mean open?"),
        ("invoice list --market xx", "Known are: BE, FR, NL."),
        ("access-point overdue --market xx", "Known are: BE, FR, NL."),
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
