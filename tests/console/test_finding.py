"""One search for everything: the command, the API and the page give what fits, by kind, the best first."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest

from energycomm import cli, finding
from energycomm.correction.library import Heading, load_script, script_headings
from energycomm.webservice.audit import list_audit
from energycomm.webservice.roles import Role
from tests.console.scene import CODE, ODD, WRONG, Visitor
from tests.pipeline.desk import shipped_rules
from tests.webservice.conftest import Site


def kinds(found: finding.Found) -> list[str]:
    return [group.kind for group in found.groups]


SCRIPTS = [*Path("energycomm/correction/scripts").glob("*.py"), *Path("adapters").glob("*/scripts/*.py")]
INDEX = Heading("replace-index", "Put right an index that was mistyped", ("rejected", "ticketed"))

Look: TypeAlias = Callable[..., finding.Found]


@pytest.fixture
def look(lite: Site) -> Look:
    """A search in the store after the morning's arrivals."""
    scripts = [Heading("create-missing-start", "Start of a supply that never came", ("quarantined",)), INDEX]
    return partial(finding.find, lite.store.engine, shipped_rules(), scripts)


def test_the_best_comes_first_by_kind(look: Look) -> None:
    found = look(ODD)
    assert kinds(found)[0] == "access point"
    (hit,) = found.groups[0].hits
    assert (hit.value, hit.how, hit.market, hit.page) == (ODD, "whole", "FR", f"/access-points/FR/{ODD}")
    assert not found.mistyped


def test_an_identifier_may_be_typed_in_pieces_and_with_a_mistake(look: Look) -> None:
    assert look(f"{ODD[:4]} {ODD[4:8]} {ODD[8:]}").groups[0].hits[0].value == ODD
    found = look(ODD[:5] + "7" + ODD[6:])
    assert found.mistyped
    assert found.groups[0].hits[0].value == ODD


def test_a_part_is_found_in_all_that_hold_it_and_no_more_than_asked(look: Look) -> None:
    found = look("9900000000", limit=2)
    group = next(group for group in found.groups if group.kind == "access point")
    assert len(group.hits) == 2
    assert group.more
    everyone = {hit.value for group in look("9900000000", limit=50).groups for hit in group.hits}
    assert {*WRONG, ODD} <= everyone


def test_a_number_finds_what_has_it_and_a_kind_before_it_chooses(look: Look) -> None:
    assert {"message", "file"} <= set(kinds(look("1")))
    assert kinds(look("message 1")) == ["message"]
    assert finding.opened(look("1")).page == "/messages/1"  # type: ignore[union-attr]


@pytest.mark.parametrize("typed", ["message 1", "bericht 1", "Message #1", "message no. 1", "BERICHT nr. 1"])
def test_a_kind_may_be_named_in_any_language(look: Look, typed: str) -> None:
    found = look(typed)
    assert kinds(found) == ["message"]
    assert finding.opened(found).page == "/messages/1"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "typed",
    [
        f"FR {ODD}",
        f"FR {ODD[:5]} {ODD[5:8]} {ODD[8:11]} {ODD[11:]}",
        f"fr{ODD}",
        f"PRM {ODD}",
        f"PRM: {ODD[:5]} {ODD[5:]}",
        f"point {ODD}",
        f"access point {ODD}",
        f"Toegangspunt {ODD}",
        f"access point FR {ODD}",
    ],
)
def test_a_name_before_an_identifier_is_no_part_of_it(look: Look, typed: str) -> None:
    found = look(typed)
    assert not found.mistyped
    assert found.groups[0].kind == "access point"
    assert found.groups[0].hits[0].value == ODD


def test_a_market_or_a_kind_before_words_leaves_out_the_others(look: Look) -> None:
    assert look(f"FR {ODD[:10]}").groups
    assert look(f"NL {ODD[:10]}").groups == ()
    assert kinds(look(f"contract {WRONG[0]}")) == []
    assert kinds(look(f"file {ODD[:10]}")) == []


@pytest.mark.parametrize("typed", ["distributor's calendar", "calendrier du distributeur", "KALENDER"])
def test_a_rule_is_found_by_words_of_its_title_in_any_language(look: Look, typed: str) -> None:
    found = look(typed, texts=(Path(__file__).parents[2] / "rules" / "texts",), limit=50)
    assert any(hit.page.startswith("/rules/") for group in found.groups for hit in group.hits)


def test_codes_rules_and_scripts_are_found(look: Look) -> None:
    (group,) = look(CODE.lower()).groups
    assert (group.kind, group.hits[0].page) == ("code", f"/messages?code={CODE}")
    assert look("replace-ind").groups[0].kind == "script"
    assert look("create-mising-start").groups[0].hits[0].value == "create-missing-start"


@pytest.mark.parametrize("typed", ["supply that never came", "script quarantined", "script NEVER"])
def test_a_script_is_found_by_its_title_and_by_the_state_of_what_it_takes(look: Look, typed: str) -> None:
    found = look(typed)
    assert [(hit.key, hit.command) for group in found.groups if group.kind == "script" for hit in group.hits] == [
        ("create-missing-start", "correct script show create-missing-start")
    ]


@pytest.mark.parametrize("typed", ["script fix-everything", "scripts"])
def test_whoever_asks_for_a_script_that_there_is_not_is_told_all(look: Look, typed: str) -> None:
    found = look(typed, limit=1)
    assert [[hit.value for hit in group.hits] for group in found.groups] == [["replace-index", "create-missing-start"]]
    assert not found.mistyped
    assert "these are all" in " ".join(found.notes)


def test_a_script_tells_its_title_without_being_run(tmp_path: Path) -> None:
    """As it does when it is run; one that is broken has its name."""
    (tmp_path / "no_python.py").write_text("SCRIPT = Script(title=", "utf-8")
    told = {one.name: one for one in script_headings(tmp_path)}
    assert told["no-python"] == Heading("no-python")
    for one in script_headings():
        declared = load_script(next(file for file in SCRIPTS if file.stem.replace("_", "-") == one.name)).declared
        assert one.title == declared.title
        assert one.states in ((), declared.selection.states)
    assert sum(bool(one.states) for one in told.values()) > 1


@pytest.mark.parametrize("typed", ["", "  ", "ab", "a b c", "#"])
def test_what_is_too_short_is_refused_in_words(look: Look, typed: str) -> None:
    with pytest.raises(finding.TooShort, match=r"too short|nothing to look for"):
        look(typed)


def test_nothing_found_says_what_was_searched(look: Look) -> None:
    found = look("hello world")
    assert found.groups == ()
    assert not found.mistyped
    assert {"access point", "contract", "meter", "customer", "request", "file", "ticket", "code"} <= set(found.searched)


@pytest.mark.thorough
def test_signs_of_every_sort_break_nothing(look: Look) -> None:
    for typed in (
        "%%%",
        "___",
        "'''",
        '"""',
        "\\\\\\",
        "abc OR b",
        "NEAR(abc)",
        "ééé",
        "(((",
        "[a-z]+",
        "x" * 300,
        "–––",
    ):
        look(typed)


# --- the API ---


def test_the_api_gives_the_same_and_refuses_what_is_too_short(lite: Site, look: Look) -> None:
    client = lite.caller(Role.BACK_OFFICE)
    answer = client.get("/api/v1/find", params={"q": ODD})
    assert answer.status_code == 200
    assert msgspec.convert(answer.json(), finding.Found) == look(ODD)
    refused = client.get("/api/v1/find", params={"q": "ab"})
    assert (refused.status_code, refused.json()["target"]) == (422, "q")
    assert client.get("/api/v1/find").status_code == 422


def test_the_audit_keeps_what_was_found_and_not_what_was_typed(lite: Site) -> None:
    client = lite.caller(Role.BACK_OFFICE)
    client.get("/api/v1/find", params={"q": ODD[2:]})
    client.get("/api/v1/find", params={"q": "Jeanne Durand"})
    lite.caller(Role.OPERATOR).get("/api/v1/find", params={"q": "Jeanne Durand"})
    lines = list_audit(lite.store, limit=10).entries
    told = [line.subject for line in lines if line.what.endswith("/find")]
    assert sorted(told) == ["", f"search: access point {ODD}", "search: nothing"]
    assert "Durand" not in str(lines)


# --- the console ---


def test_the_field_of_the_pages_opens_what_is_meant(anna: Visitor) -> None:
    assert str(anna.get(f"/find?q={ODD}&open=true").url).endswith(f"/access-points/FR/{ODD}")
    assert str(anna.get("/find?q=99000000&open=true").url).endswith("open=true")


def test_the_page_lists_what_fits_and_says_what_does_not(anna: Visitor) -> None:
    page = anna.get(f"/find?q={ODD[3:]}").text
    assert f'href="/access-points/FR/{ODD}"' in page
    assert "Nothing fits hello world, nor with one mistake." in anna.get("/find?q=hello world").text
    assert "too short" in anna.get("/find?q=ab").text
    assert "Type what you know" in anna.get("/find").text
    assert "<script>alert" not in anna.get("/find?q=<script>alert(1)</script>").text


def test_suggestions_are_a_list_to_choose_from(anna: Visitor) -> None:
    piece = anna.get(f"/find?q={ODD[3:]}", **{"HX-Request": "true"}).text
    assert "<h1>" not in piece
    assert 'role="option" id="suggestion-1"' in piece
    assert f'href="/access-points/FR/{ODD}"' in piece


# --- the command ---


def test_the_command_prints_what_shows_each_result(
    lite: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("ENERGYCOMM_DATABASE", f"sqlite:///{tmp_path / 'eis.db'}")
    assert cli.main(["find", ODD[:6], ODD[6:]]) == 0
    line = capsys.readouterr().out.splitlines()[0].split("\t")
    assert line == ["access point", "identifier", ODD, "whole", "FR", f"energycomm access-point show {ODD}"]
    assert cli.main(["find", ODD, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"][0]["hits"][0]["value"] == ODD
    assert cli.main(["find", "hello", "world"]) == 0
    assert "Nothing fits 'hello world'" in capsys.readouterr().err
    assert cli.main(["find", "ab"]) == 3
    assert "too short" in capsys.readouterr().err
