"""Whatever goes wrong is told as problem details: a code, where, what was found, what to do, and no secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from energycomm import logs
from energycomm.eis.database import Conflict
from energycomm.errors import ExitCode, UserError
from energycomm.webservice.problems import PROBLEMS
from energycomm.webservice.roles import Role
from energycomm.webservice.routes import messages
from tests.webservice.conftest import Site

PROBLEM = "application/problem+json"


def test_every_code_of_a_refusal_is_in_the_documents_with_its_status(project_root: Path) -> None:
    page = (project_root / "docs" / "api.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and "`API_" in line]
    for code, (status, _) in PROBLEMS.items():
        assert any(f"`{code}`" in row and str(status) in row.split("|")[1] for row in rows), code


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("method", "path", "content", "status", "code"),
    [
        ("GET", "/api/v1/nothing", b"", 404, "API_NOT_FOUND"),
        ("PUT", "/api/v1/messages", b"", 405, "API_METHOD"),
        ("POST", "/api/v1/corrections/replays", b"{", 400, "API_UNREADABLE"),
        ("POST", "/api/v1/corrections/replays", b"[]", 422, "API_INVALID"),
        ("POST", "/api/v1/corrections/replays", b'{"messages": [1], "why": "\\u0000"}', 422, "API_INVALID"),
        ("GET", "/api/v1/messages?code=%00", b"", 422, "API_INVALID"),
        ("GET", "/api/v1/messages/99999999999999999999999", b"", 422, "API_INVALID"),
        ("GET", "/api/v1/access-points/%00", b"", 422, "API_INVALID"),
        ("GET", "/api/v1/messages?cursor=9" + "9" * 50, b"", 422, "API_INVALID"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_a_code(
    story_site: Site, method: str, path: str, content: bytes, status: int, code: str
) -> None:
    caller = story_site.caller(Role.CONSULTANT)
    answer = caller.request(method, path, content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM), answer.text
    problem = answer.json()
    assert (problem["code"], problem["status"]) == (code, status)
    assert problem["title"]
    assert problem["type"].startswith("urn:energycomm:problem:")


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RuntimeError("the password is hunter2"), 500, "API_FAULT"),
        (UserError("The database postgresql://anna@db cannot be used.", "", ExitCode.DATABASE), 503, "API_DATABASE"),
        (Conflict("duplicate key"), 409, "API_CONFLICT"),
    ],
)
def test_what_breaks_inside_is_logged_and_not_shown(
    story_site: Site,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    status: int,
    code: str,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(messages, "list_messages", fail)
    logs.configure("json")
    answer = story_site.caller(Role.CONSULTANT).get("/api/v1/messages")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["x-content-type-options"] == "nosniff"
    for secret in ("hunter2", "anna@db", "duplicate key", "Traceback"):
        assert secret not in answer.text
    if status == 500:
        assert "RuntimeError" in capsys.readouterr().err
