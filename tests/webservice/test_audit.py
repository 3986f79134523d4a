"""Reads of personal data are found again: who read what of an access point, when, and by which way."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from energycomm import cli
from energycomm.eis import migrations
from energycomm.eis.auditchain import verify, words_of
from energycomm.eis.database import connect, writing
from energycomm.eis.store import Store
from energycomm.webservice import audit
from energycomm.webservice.roles import Person, Role
from tests.webservice.conftest import PRM, Site, copied, told


def _bring_the_words(connection: Connection) -> None:
    """Run the migration that brought the words, alone."""
    found = importlib.import_module("alembic.script").ScriptDirectory(str(migrations.scripts()))
    (script,) = [one for one in found.walk_revisions() if one.path.endswith("words_of_the_audit.py")]
    context = importlib.import_module("alembic.migration").MigrationContext.configure(connection)
    with importlib.import_module("alembic.operations").Operations.context(context):
        script.module.upgrade()


def seen(site: Site, question: str) -> list[tuple[str, str, str]]:
    found = site.caller(Role.ADMINISTRATOR, person="root").get(f"/api/v1/audit?{question}&limit=500").json()["entries"]
    return [(one["person"], one["action"], one["what"]) for one in found]


def test_who_read_of_an_access_point_is_found_whichever_way_they_came(story_site: Site) -> None:
    """API, export, raw bytes, page: each leaves one line, found by the access point alone."""
    for person, path in (
        ("ada", f"/api/v1/access-points/{PRM}"),
        ("ben", "/api/v1/messages/1/raw"),
        ("cleo", f"/api/v1/messages?access_point={PRM}"),
        ("dan", "/messages/1"),
        ("eve", f"/access-points/FR/{PRM}"),
        ("fay", "/messages/1/raw"),
        ("gil", f"/api/v1/exports/readings?access_point={PRM}"),
    ):
        assert story_site.caller(Role.CONSULTANT, person=person).get(path).status_code == 200, path
    story_site.caller(Role.CONSULTANT, person="hal").get("/api/v1/messages?market=NL")  # shows nothing of it
    found = seen(story_site, f"subject={PRM}")
    people = [person for person, _, _ in found]
    assert sorted(people) == ["ada", "ben", "cleo", "dan", "eve", "fay", "gil"], found
    assert {action for _, action, _ in found} == {"read"}
    assert [person for person, _, _ in seen(story_site, "subject=message%201")] == ["fay", "dan", "ben"]
    assert seen(story_site, f"subject={PRM[:-1]}") == [], "whole words only"
    assert [person for person, _, _ in seen(story_site, f"subject={PRM}&person=ben")] == ["ben"]
    assert seen(story_site, f"subject={PRM}&until=2020-01-01") == []
    assert story_site.caller(Role.ADMINISTRATOR, person="root").get("/api/v1/audit?subjekt=1").status_code == 422


@pytest.mark.parametrize("path", ["/api/v1/messages", "/messages", "/api/v1/messages?limit=1"])
def test_a_list_is_found_by_each_access_point_that_it_showed(story_site: Site, path: str) -> None:
    """Whatever was asked for; the chain holds, as the words are beside it."""
    person = f"reader of {path}"
    answer = story_site.caller(Role.CONSULTANT, person=person).get(path)
    assert answer.status_code == 200
    assert PRM in answer.text
    assert person in [one for one, _, _ in seen(story_site, f"subject={PRM}")]
    assert verify(story_site.store.engine).flaw is None


def test_administrators_search_on_a_page(story_site: Site) -> None:
    story_site.caller(Role.CONSULTANT, person="ada").get(f"/api/v1/access-points/{PRM}")
    page = story_site.caller(Role.ADMINISTRATOR, person="root").get(f"/audit?subject={PRM}&action=read&person=ada")
    assert page.status_code == 200
    assert f"/api/v1/access-points/{PRM}" in page.text
    assert "No line matches" in story_site.caller(Role.ADMINISTRATOR).get("/audit?subject=nothing-17").text
    assert story_site.caller(Role.CONSULTANT).get("/audit").status_code == 403


def test_the_command_searches_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ENERGYCOMM_DATABASE", copied(told, tmp_path))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["access-point", "show", PRM]) == 0
    assert cli.main(["message", "list", "--market", "FR"]) == 0
    assert cli.main(["message", "list", "--state", "to_replay"]) == 0  # shows none
    capsys.readouterr()
    assert cli.main(["audit", "list", "--subject", PRM, "--action", "read", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["entries"]
    # Of whom the search itself is, is in its own line.
    assert [one["what"] for one in found] == [
        "energycomm audit list",
        "energycomm message list",
        "energycomm access-point show",
    ]


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (f"message 17 access point {PRM}", ["message 17", PRM, f"point {PRM}"]),
        (f"identifier={PRM}", [PRM, f"identifier {PRM}"]),
        ("state=rejected market=FR", []),
        ("access points 541453180000000017 541453180000000024", [
            "541453180000000017", "points 541453180000000017", "541453180000000024",
            "541453180000000017 541453180000000024",
        ]),
        ("invoice F-2026/17", ["f-2026/17", "invoice f-2026/17"]),
        ("9" * 400, ["9" * 60]),
    ],
)  # fmt: skip
def test_a_line_is_found_by_the_identifiers_in_its_subject(subject: str, words: list[str]) -> None:
    assert words_of(subject) == words


@pytest.mark.thorough
def test_lines_of_before_are_found_after_an_upgrade(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the chain holds as it did."""
    engine = connect(empty_url)
    migrations.upgrade(engine)
    store = Store(engine)
    for number in range(3):
        audit.record(store, Person("ada", frozenset(), "command"), "read", "x", subject=f"access point {PRM} {number}")
    words = text("SELECT word, audit_id FROM audit_word ORDER BY word, audit_id")
    with engine.connect() as connection:
        before = connection.execute(words).all()
    with writing(engine) as connection:
        connection.execute(text("DROP TABLE audit_word"))
        _bring_the_words(connection)
    with engine.connect() as connection:
        assert connection.execute(words).all() == before
    assert len(audit.list_audit(store, subject=PRM).entries) == 3
    assert verify(engine).checked == 3
    engine.dispose()
