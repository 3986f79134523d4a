"""Views of lists: kept by a person under a name, for that person alone."""

from __future__ import annotations

import pytest

from energycomm.eis import views
from energycomm.webservice.roles import Role
from tests.console.scene import CODE, Visitor
from tests.webservice.conftest import Site


def test_a_view_is_kept_shown_to_its_person_replaced_and_removed(site: Site) -> None:
    anna, ben = Visitor(site, Role.CONSULTANT), Visitor(site, Role.BACK_OFFICE, person="ben")
    asked = f"code={CODE}&sort=received&cursor=9-9&format=csv"
    shown = anna.send("/views", what="messages", name="Units & indexes", query=asked)
    assert shown.url.query.decode() == f"code={CODE}&sort=received"
    assert f'href="/messages?code={CODE}&amp;sort=received" aria-current="true">Units &amp; indexes</a>' in shown.text
    assert "Units" in anna.get("/messages").text
    assert "Units" not in anna.get("/tickets").text
    assert "Units" not in ben.get("/messages").text
    anna.send("/views", what="messages", name="Units & indexes", query="particular=Nature%3DMES+1")
    assert views.views_of(site.store.engine, "anna", "messages") == {"Units & indexes": "particular=Nature%3DMES+1"}
    assert ben.send("/views/remove", what="messages", name="Units & indexes").status_code == 404
    assert "Units" not in anna.send("/views/remove", what="messages", name="Units & indexes").text


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"what": "messages", "name": "x", "query": "stat=rejected"}, 422),
        ({"what": "messages", "name": "x", "query": "state=rejectd"}, 422),
        ({"what": "requests", "name": "x", "query": "sort=owner"}, 422),
        ({"what": "messages", "name": " ", "query": "state=rejected"}, 422),
        ({"what": "messages", "name": "x" * 81, "query": "state=rejected"}, 422),
        ({"what": "people", "name": "x", "query": ""}, 404),
        ({"what": "//elsewhere.example", "name": "x", "query": ""}, 404),
    ],
)
def test_a_view_that_no_list_has_is_refused(lite: Site, anna: Visitor, fields: dict[str, str], status: int) -> None:
    assert anna.send("/views", **fields).status_code == status
    assert views.views_of(lite.store.engine, "anna", "messages") == {}


def test_only_so_many_views_are_kept(lite: Site, anna: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MOST", 1)
    assert anna.send("/views", what="tickets", name="mine", query="state=all").status_code == 200
    assert anna.send("/views", what="tickets", name="mine", query="state=closed").status_code == 200
    assert "Remove one of them first" in anna.send("/views", what="tickets", name="more", query="state=all").text
