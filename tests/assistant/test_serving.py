"""The chat that stands alone: open on this machine, by the sign-in elsewhere; everybody has their own questions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from assistant.chat.log import Log
from assistant.web.pages import make_app
from assistant.web.serving import Local, door, is_loopback
from energycomm import cli
from energycomm.config import Config
from energycomm.eis.database import opened
from energycomm.errors import ExitCode, UserError
from energycomm.pipeline.opening import open_store
from energycomm.webservice import audit, sessions, tokens
from energycomm.webservice.roles import Role, Scope
from tests.webservice.conftest import PRM, configured, copied, told

QUESTION = "Why is a reading rejected when its index is below the one before?"
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:starlette.testclient")


def ask(client: Any, root: str = "/") -> str:
    client.headers["X-CSRF-Token"] = csrf_of(client.get(root).text)
    pending = client.post(f"{root}ask", data={"question": QUESTION})
    ticket = re.search(r"answers/([\w-]+)", pending.text)
    assert ticket, pending.text
    return str(client.get(f"{root}answers/{ticket.group(1)}").text)


def csrf_of(page: str) -> str:
    """What the page sends with each change; empty where nobody signed in."""
    found = re.search(r'"X-CSRF-Token":"([^"]+)"', page)
    return found.group(1) if found else ""


@pytest.fixture
def chat(tmp_path: Path, assistant: Any) -> Any:
    return make_app(assistant, Log(tmp_path / "log.db"), assistant.config)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A configuration with a store that holds a short life."""
    return configured(copied(told, tmp_path))


@pytest.fixture
def guarded(config: Config, chat: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The chat as others reach it."""
    monkeypatch.chdir(tmp_path)
    with door(config, "0.0.0.0", lambda: chat) as app:
        yield app


def token(config: Config, person: str, *roles: Role) -> str:
    with open_store(config) as store:
        return tokens.create(store, person, frozenset(roles), scopes=frozenset(Scope), days=1, label="x", by="test")[1]


def person(guarded: Any, config: Config, name: str, *roles: Role) -> Any:
    """Somebody with a browser who signs in with a token."""
    client = TestClient(guarded, base_url="http://gateway.test")
    answer = client.post("/login", data={"token": token(config, name, *roles), "then": "/"})
    assert answer.status_code in (200, 403), answer.text
    return client


def reads(config: Config) -> list[tuple[str, str, str]]:
    with open_store(config) as store:
        found = audit.list_audit(store, action="read").entries
    return [(one.person, one.what, one.subject) for one in reversed(found)]


def test_nobody_gets_in_without_a_sign_in(guarded: Any) -> None:
    """Not to one page; the static files neither."""
    client = TestClient(guarded, base_url="http://gateway.test", follow_redirects=False)
    for path in ("/assistant/", "/assistant/answers/x", "/assistant/document/x", "/assistant/explain/3",
                 "/assistant/static/chat.css", "/assistant/?open=x"):  # fmt: skip
        answer = client.get(path)
        assert (answer.status_code, answer.headers["location"][:7]) == (303, "/login?"), path
    for path in ("/assistant/ask", "/assistant/feedback/1"):
        assert client.post(path, data={"question": QUESTION, "good": "true"}).status_code == 303
    assert client.get("/").headers["location"] == "/assistant/"
    assert client.get("/ask").status_code == 404
    assert client.post("/login", data={"token": "ec_wrong", "then": "/"}).status_code == 401


def test_who_has_no_role_for_messages_is_refused(guarded: Any, config: Config) -> None:
    otto = person(guarded, config, "otto", Role.OPERATOR)
    assert otto.get("/assistant/").status_code == 403


def test_everybody_has_their_own_history(guarded: Any, config: Config) -> None:
    """By their name: on another browser it is there again, for a colleague it is not."""
    anna = person(guarded, config, "anna", Role.CONSULTANT)
    anna.get("/assistant/")
    assert "An index is not below" in ask(anna, "/assistant/")
    name = anna.cookies["conversation"]
    ben = person(guarded, config, "ben", Role.CONSULTANT)
    for path in ("/assistant/", f"/assistant/?open={name}"):
        assert QUESTION not in ben.get(path).text
    again = person(guarded, config, "anna", Role.CONSULTANT)
    assert QUESTION in again.get(f"/assistant/?open={name}").text


def test_a_visitors_cookie_is_worth_nothing_where_people_sign_in(guarded: Any, config: Config, chat: Any) -> None:
    alone = TestClient(chat)
    alone.get("/")
    ask(alone)
    anna = person(guarded, config, "anna", Role.CONSULTANT)
    anna.cookies.set("visitor", alone.cookies["visitor"])
    assert QUESTION not in anna.get(f"/assistant/?open={alone.cookies['conversation']}").text


def test_questions_and_explanations_are_in_the_audit(guarded: Any, config: Config) -> None:
    """With whose message it was; the words of a question are in the log, which forgets them."""
    anna = person(guarded, config, "anna", Role.CONSULTANT)
    anna.get("/assistant/")
    ask(anna, "/assistant/")
    assert anna.get("/assistant/explain/3").status_code == 200
    assert reads(config) == [
        ("anna", "POST /assistant/ask", "ask"),
        ("anna", "GET /assistant/explain/3", f"message 3 access point {PRM}"),
    ]


def test_a_page_of_another_site_asks_nothing(guarded: Any, config: Config) -> None:
    anna = person(guarded, config, "anna", Role.CONSULTANT)
    csrf = csrf_of(anna.get("/assistant/").text)
    foreign = {"Origin": "https://evil.example", "X-CSRF-Token": csrf}
    for headers in (foreign, {}, {"X-CSRF-Token": "wrong"}):
        for path in ("ask", "attachments", "conversations/delete"):
            answer = anna.post(f"/assistant/{path}", data={"question": "who?"}, headers=headers)
            assert answer.status_code == 403, (path, headers)
    assert reads(config) == []


def test_a_document_may_be_larger_than_a_form_and_not_larger_than_the_bound(guarded: Any, config: Config) -> None:
    anna = person(guarded, config, "anna", Role.CONSULTANT)
    anna.headers["X-CSRF-Token"] = csrf_of(anna.get("/assistant/").text)

    def attach(name: str, content: bytes) -> Any:
        return anna.post("/assistant/attachments", files={"document": (name, content)})

    assert "notes.txt" in attach("notes.txt", b"The levy is 42 euros a year. " + b" " * (1 << 20)).text
    assert attach("large.txt", b"w" * (11 << 20)).status_code == 413
    assert anna.post("/assistant/ask", data={"question": "w" * (1 << 20)}).status_code in (400, 413)


def test_a_session_that_was_ended_is_over_here_too(guarded: Any, config: Config) -> None:
    anna = person(guarded, config, "anna", Role.CONSULTANT)
    assert anna.get("/assistant/", follow_redirects=False).status_code == 200
    with open_store(config) as store:
        sessions.end_all(store, "anna")
    assert anna.get("/assistant/", follow_redirects=False).status_code == 303


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.7", "no-such-host.invalid"])
def test_without_a_store_nobody_else_is_served(host: str, tmp_path: Path) -> None:
    """The models are not even opened, and no empty database is left behind."""
    opened_: list[int] = []
    missing = configured(f"sqlite:///{tmp_path / 'none.db'}")
    with pytest.raises(UserError, match="No user could sign in"), door(missing, host, lambda: opened_.append(1)):  # type: ignore[arg-type,return-value]
        pass
    assert opened_ == []
    assert list(tmp_path.glob("*.db")) == []


def test_where_nobody_may_sign_in_nobody_else_is_served(tmp_path: Path, chat: Any) -> None:
    closed = configured(copied(told, tmp_path), web={"token_sign_in": False})
    with pytest.raises(UserError, match="neither tokens nor"), door(closed, "0.0.0.0", lambda: chat):
        pass


def test_the_command_refuses_before_anything_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["assistant", "serve", "--host", "0.0.0.0"]) == ExitCode.USAGE
    assert "No user could sign in to the assistant on 0.0.0.0" in capsys.readouterr().err


def test_on_this_machine_the_sign_in_can_be_asked_for(config: Config, chat: Any) -> None:
    with door(config, "127.0.0.1", lambda: chat, sign_in=True) as app:
        client = TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)
        assert client.get("/assistant/").status_code == 303


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
     ("", False), ("192.0.2.1", False), ("::ffff:192.0.2.1", False), ("not a host", False)],
)  # fmt: skip
def test_which_addresses_are_this_machine(host: str, here: bool) -> None:
    assert is_loopback(host) is here


@pytest.fixture
def local(chat: Any) -> Local:
    """The chat on this machine, without a store."""
    return Local(chat, "127.0.0.1", None)


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:8765", 200), ("localhost:8765", 200), ("[::1]:8765", 200), ("LOCALHOST", 200),
     ("evil.example:8765", 421), ("127.0.0.1.evil.example", 421), ("localhost.evil.example:8765", 421),
     ("evil.example@127.0.0.1", 421), ("127.0.0.1:8765@evil.example", 421), ("", 421), ("[::1", 421),
     ("192.0.2.1:8765", 421), ("localhost/evil", 421)],
)  # fmt: skip
def test_a_name_that_was_made_to_mean_this_machine_is_refused(local: Local, host: str, status: int) -> None:
    """What a browser sends when a page rebinds its own name to 127.0.0.1."""
    client = TestClient(local, base_url="http://127.0.0.1:8765")
    assert client.get("/", headers={"Host": host}).status_code == status
    assert client.post("/ask", data={"question": "who?"}, headers={"Host": host}).status_code == status


def test_a_page_of_another_site_asks_nothing_on_this_machine(local: Local) -> None:
    client = TestClient(local, base_url="http://127.0.0.1:8765")
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert client.post("/ask", data={"question": "who?"}, headers=headers).status_code == 403
    good = {"Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/ask", data={"question": "who?"}, headers=good).status_code == 200


def test_on_this_machine_questions_are_in_the_audit_of_the_store_that_is_there(config: Config, chat: Any) -> None:
    from energycomm.commands.recording import system_user

    with door(config, "127.0.0.1", lambda: chat) as app:
        client = TestClient(app, base_url="http://127.0.0.1:8765")
        client.get("/")
        ask(client)
        assert reads(config) == [(system_user(), "POST /ask", "question")]
        with opened(config.database_url) as engine, engine.connect() as connection:
            connection.exec_driver_sql("DROP TRIGGER audit_head_deleted")
            connection.exec_driver_sql("DELETE FROM audit_head")
            connection.commit()
        refused = client.post("/ask", data={"question": "who?"})
    assert (refused.status_code, "audit verify" in refused.text) == (503, True)


def test_without_a_store_this_machine_is_served_and_none_is_made(tmp_path: Path, chat: Any) -> None:
    with door(configured(f"sqlite:///{tmp_path / 'none.db'}"), "127.0.0.1", lambda: chat) as app:
        assert TestClient(app, base_url="http://127.0.0.1").get("/").status_code == 200
    assert not (tmp_path / "none.db").exists()


def test_commands_that_show_answers_or_messages_leave_a_line(
    config: Config,
    assistant: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without the words of a question; and a list is of one's own questions, unless everybody's are asked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", config.database_url)
    monkeypatch.setattr("assistant.chat.assistant.Assistant.open", lambda *_: assistant)
    monkeypatch.setattr("assistant.extras.need", lambda *_: None)
    log = Log(tmp_path / ".assistant" / "log.db")
    theirs = log.write(assistant.ask("How often is a meter read?"), "c", "person anna")
    assert cli.main(["assistant", "ask", QUESTION]) == ExitCode.OK
    assert cli.main(["assistant", "search", "index"]) == ExitCode.OK
    assert cli.main(["assistant", "explain", "3"]) == ExitCode.OK
    capsys.readouterr()
    assert cli.main(["assistant", "feedback", "--json"]) == ExitCode.OK
    own = capsys.readouterr().out
    assert (QUESTION in own, "How often" in own) == (True, False)
    assert cli.main(["assistant", "feedback", "--all", "--json"]) == ExitCode.OK
    assert "How often" in capsys.readouterr().out
    assert cli.main(["assistant", "feedback", str(theirs), "--bad"]) == ExitCode.USAGE
    assert [(what, subject) for _, what, subject in reads(config)] == [
        ("energycomm assistant ask", "question"),
        ("energycomm assistant search", "question"),
        ("energycomm assistant explain", f"message 3 access point {PRM}"),
        ("energycomm assistant feedback", "own answers"),
        ("energycomm assistant feedback", "answers of everybody"),
    ]
    with open_store(config) as store:
        assert [one.subject for one in audit.list_audit(store, action="change").entries] == [f"answer {theirs}"]


def test_commands_without_a_store_answer_and_make_none(
    assistant: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", "sqlite:///none.db")
    monkeypatch.setattr("assistant.chat.assistant.Assistant.open", lambda *_: assistant)
    monkeypatch.setattr("assistant.extras.need", lambda *_: None)
    assert cli.main(["assistant", "ask", QUESTION]) == ExitCode.OK
    assert not (tmp_path / "none.db").exists()
