"""The command line leaves a line in the audit wherever it shows personal data or changes something for a person."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from sqlalchemy import Engine, event, text

from energycomm import cli
from energycomm.commands.recording import MARK, of_message, recorded
from energycomm.eis.auditchain import verify
from energycomm.eis.database import connect, is_sqlite
from energycomm.eis.store import Store
from energycomm.errors import ExitCode
from energycomm.pipeline.opening import open_store
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start

PRM = "99000000000017"

RECORDED: dict[str, str] = {
    "access-point overdue": "--grace 0",
    "access-point show": PRM,
    "acknowledgement list": "",
    "acknowledgement retry": "--all",
    "audit list": "",
    "billing": f"{PRM} --from 2026-01-05 --to 2026-01-06",
    "channel pause": "in",
    "channel resume": "in",
    "channel try": "in",
    "correct analyse": "",
    "correct approve": "1",
    "correct cancel": "1",
    "correct delegate": "1 --to ben",
    "correct edit": "1 --print",
    "correct export": "",
    "correct history": "",
    "correct loop": "",
    "correct replay": "1",
    "correct resume": "1",
    "correct script run": "create-missing-start",
    "correct tickets": "",
    "correct undo": "1",
    "customer erase": PRM,
    "customer erasures": "",
    "customer evidence": "1",
    "customer export": f"{PRM} --to customer.zip",
    "customer find": PRM,
    "eis archive restore": "2026-01",
    "eis archive write": "2026-01",
    "eis backfill": "--dry-run",
    "eis compare": "{database}",
    "eis partition attach": "raw_chunk_p1",
    "eis partition create": "",
    "eis partition detach": "raw_chunk_p1",
    "eis restored": "",
    "eis retention": "",
    "envelope acknowledge": "1",
    "envelope extract": "1",
    "envelope put-aside": "1",
    "envelope retry": "1",
    "envelope show": "1",
    "export": "readings --to readings.csv",
    "find": PRM,
    "inject": "messages.json",
    "invoice disputes": "F-1 --to disputes.csv",
    "invoice list": "",
    "invoice show": "F-1",
    "message explain": "1",
    "message list": "",
    "message show": "1",
    "outbox list": "",
    "portfolio compare": "portfolio.csv",
    "portfolio load": "portfolio.csv",
    "outbox retry": "--all",
    "request list": "",
    "request owed": "",
    "request retry": "1",
    "request show": "1",
    "request submit": "messages.json",
    "rules apply": "--since 2026-01-01",
    "rules impact": "--since 2026-01-01",
    "simulate-answers": "answers",
    "token list": "",
    "user add": "ben --role operator",
    "user disable": "ben",
    "user enable": "ben",
    "user list": "",
    "user password": "ben",
    "user roles": "ben --role operator",
    "user second-factor": "ben --remove",
    "user sessions": "",
    "user unlock": "ben",
}
"""Commands that show what is known of points, customers or people, or change something, with arguments to try."""

TOLD_BY_THEMSELVES = {"token create", "token revoke", "user sign-out", "eis backup", "eis restore"}
"""Those recorded with what came of them (the number of the token, who was signed out), and those of stores that may be
of another version, or are not there before: tests/backup tries them."""

OF_THE_ASSISTANT = {
    "assistant anomalies",
    "assistant rules-missing",
    "assistant ask",
    "assistant chat",
    "assistant classify",
    "assistant dataset build",
    "assistant disagreements",
    "assistant explain",
    "assistant feedback",
    "assistant index",
    "assistant learn",
    "assistant search",
}
"""The same, of the assistant; tests/assistant tries those that show something."""

NOTHING_PERSONAL = {
    # What the machine does by itself, and its counts.
    "process", "daemon", "channel poll", "eis stats", "eis status", "eis upgrade", "assistant shadow",
    "eis archive list", "eis archive verify", "eis backups", "eis partition list", "eis index",
    "eis compact", "eis encrypt", "eis decrypt", "eis verify", "keys list", "keys generate", "keys rotate",
    "assistant drift",
    # The web services record by themselves.
    "serve", "assistant serve",
    # Names and states of files and settings.
    "envelope list", "channel list", "channel check", "workers", "alarm list",
    "alarm send", "alarm test", "config show", "supplier list", "supplier add", "audit verify", "correct script list",
    "correct script show", "assistant status", "assistant sources", "assistant dataset show",
    # Drafts of markets, whether they hold the contract, and what becomes of the leaves of their schemas.
    "adapter new", "adapter check", "adapter coverage",
    # Rules, calorific values, invented people.
    "rules list", "rules show", "rules comments", "rules check", "rules document", "rules diff",
    "rules versions", "gas values", "gas convert", "simulate", "portfolio template",
    # Models, on data sets that a recorded command built, and on public ones.
    "assistant train", "assistant evaluate retrieval", "assistant evaluate answers", "assistant evaluate judges",
    "assistant evaluate abstention", "assistant evaluate generate", "assistant evaluate review",
    "assistant evaluate cost", "assistant evaluate rationale", "assistant evaluate train-rationale",
    "assistant evaluate train-classifier",
    "assistant evaluate train-projection",
    "assistant evaluate release-vectors",
    "assistant evaluate train-reranker",
    "assistant evaluate classifier", "assistant evaluate ablation",
}  # fmt: skip
"""Commands that show nothing of any access point, customer or person."""


def commands(group: Any, *path: str) -> Iterator[tuple[str, Any]]:
    """Every command of the program, with its name."""
    if not hasattr(group, "commands"):
        yield " ".join(path), group
        return
    for name in list(group.commands):
        yield from commands(group.commands[name], *path, name)


@pytest.fixture
def engine(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A store with an index that went back, in the working directory's configuration."""
    monkeypatch.setenv("ENERGYCOMM_DATABASE", database_url)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "messages.json").write_text("[]")
    (tmp_path / "portfolio.csv").write_text("market;access_point;as_of;supply.start;supply.supplier\n")
    (tmp_path / "energycomm.toml").write_text(
        '[[trackers]]\nname = "hook"\nkind = "webhook"\nurl = "http://127.0.0.1:9/"\ntoken_env = "HOOK"\n'
        '[[channels]]\nname = "in"\nmarket = "FR"\ndirection = "in"\nkind = "folder"\npath = "in"\n'
    )
    monkeypatch.setenv("HOOK", "x" * 32)
    desk = Desk(database_url)
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_200_000), reading(PRM, day(60), 1_100_000)])
    engine = connect(database_url)
    yield engine
    engine.dispose()


def audited(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        query = text("SELECT person, via, action, what, subject, status, address FROM audit ORDER BY position")
        return list(connection.execute(query).all())


def test_every_command_says_whether_it_is_recorded() -> None:
    """A new command is not in the tables: whoever adds it decides, here and by its declaration."""
    found = dict(commands(typer.main.get_command(cli.app)))
    known = set(RECORDED) | TOLD_BY_THEMSELVES | NOTHING_PERSONAL
    ours = {name for name in found if not name.startswith("assistant ")}
    assert ours == {name for name in known if not name.startswith("assistant ")}
    declared = {getattr(found[name].callback, MARK, None) for name in ours} - {None}
    assert declared == set(RECORDED)
    for name in ours:
        assert getattr(found[name].callback, MARK, name) == name


@pytest.mark.thorough
def test_every_recorded_command_leaves_one_line(engine: Engine, database_url: str) -> None:
    """Who is asked of the system, not of the environment; whether the command then succeeds or not."""
    wrong = []
    for name, arguments in RECORDED.items():
        before = len(audited(engine))
        cli.main([*name.split(), *arguments.format(database=database_url).split()])
        lines = audited(engine)[before:]
        if [line.what for line in lines] != [f"energycomm {name}"]:
            wrong.append((name, lines))
    assert wrong == []
    me = pwd.getpwuid(os.getuid()).pw_name
    assert {(line.person, line.via, line.status) for line in audited(engine)} == {(me, "command", 0)}
    assert verify(engine).checked == len(RECORDED)


ASKED = (
    (f"access-point show {PRM}", "read", f"access point {PRM}"),
    ("message show 3", "read", f"message 3 access point {PRM}"),
    ("message show 999", "read", "message 999"),
    ("message show 99999999999999999999999", "read", "message 99999999999999999999999"),
    ("message explain ch:1", "read", "message ch:1"),
    ("message list --state rejected --market fr --json", "read", "state=rejected market=fr"),
    ("envelope extract 7", "read", "envelope 7"),
    ("request show 4", "read", "request 4"),
    ("correct edit 3 --print", "read", f"message 3 access point {PRM}"),
    ("correct tickets --state open", "read", "state=open"),
    ("correct tickets 1 --owner ben", "change", "number=1 owner=ben"),
    ("correct script run create-missing-start", "read", "name=create-missing-start"),
    ("correct script run create-missing-start --yes --why lost", "change",
     "name=create-missing-start yes=True why=lost"),
    ("correct replay 1 2", "change", "ids=1,2"),
)  # fmt: skip


@pytest.mark.thorough
def test_a_line_says_what_was_asked(engine: Engine) -> None:
    for typed, _, _ in ASKED:
        cli.main(typed.split())
    found = [(line.action, line.subject) for line in audited(engine)]
    assert found == [(action, subject) for _, action, subject in ASKED]


def test_what_shows_nothing_personal_leaves_no_line(engine: Engine) -> None:
    for typed in ("envelope list", "eis stats", "eis status", "correct script list", "gas values", "audit verify"):
        assert cli.main(typed.split()) == ExitCode.OK
    assert cli.main(["message", "show", "--help"]) == ExitCode.OK
    assert audited(engine) == []


def test_the_environment_does_not_say_who_asks(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "somebody-else")
    cli.main(["message", "list"])
    assert [line.person for line in audited(engine)] == [pwd.getpwuid(os.getuid()).pw_name]


def test_what_the_audit_cannot_hold_is_replaced_not_refused(engine: Engine) -> None:
    """A byte of the command line that is no UTF-8, and an identifier longer than the column."""
    cli.main(["access-point", "show", "a\udce9b" + "9" * 1000])
    (line,) = audited(engine)
    assert line.subject == ("access point a?b" + "9" * 1000)[:400]


@pytest.fixture
def read_only(engine: Engine, database_url: str) -> Iterator[None]:
    """The store can be read and not be written to, by the word of the database itself."""
    if not is_sqlite(engine):
        with engine.connect() as connection:
            connection.execute(text(f"ALTER DATABASE {engine.url.database} SET default_transaction_read_only = on"))
            connection.commit()
        engine.dispose()
        yield
        return

    def only_read(connection: Any, _record: Any) -> None:
        connection.execute("PRAGMA query_only = ON")

    event.listen(Engine, "connect", only_read)
    engine.dispose()
    yield
    event.remove(Engine, "connect", only_read)


def test_what_cannot_be_recorded_is_not_answered(
    engine: Engine, read_only: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """No content, the reason, and the exit code of the database; what is not personal can still be read."""
    assert cli.main(["access-point", "show", PRM]) == ExitCode.DATABASE
    told = capsys.readouterr()
    assert told.out == ""
    assert "the audit cannot record it" in told.err
    assert "Traceback" not in told.err
    assert cli.main(["envelope", "list"]) == ExitCode.OK


def test_a_head_that_was_tampered_with_stops_reading(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["message", "list"]) == ExitCode.OK
    with engine.connect() as connection:
        if is_sqlite(engine):
            connection.execute(text("DROP TRIGGER audit_head_deleted"))
        else:
            connection.execute(text("ALTER TABLE audit_head DISABLE TRIGGER ALL"))
        connection.execute(text("DELETE FROM audit_head"))
        connection.commit()
    capsys.readouterr()
    assert cli.main(["message", "list"]) == ExitCode.DATABASE
    told = capsys.readouterr()
    assert (told.out, "audit verify" in told.err) == ("", True)


def test_a_line_is_written_once_before_anything_is_done(engine: Engine) -> None:
    """A command that opens the store twice, or fails after it, has left its line all the same."""
    seen: list[int] = []

    @recorded("a trial", subject=of_message)
    def trial(message_id: int) -> None:
        from energycomm.config import load

        for _ in range(2):
            with open_store(load()) as store:
                assert isinstance(store, Store)
                seen.append(len(audited(engine)))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        trial(3)
    assert seen == [1, 1]
    assert [line.subject for line in audited(engine)] == [f"message 3 access point {PRM}"]


def test_a_check_tells_the_head_and_what_is_wrong(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["message", "list"])
    capsys.readouterr()
    assert cli.main(["audit", "verify"]) == ExitCode.OK
    head = capsys.readouterr().out.split()[-1]
    cli.main(["message", "list"])
    assert cli.main(["audit", "verify", "--head", head]) == ExitCode.OK
    assert cli.main(["audit", "verify", "--head", "0123"]) == ExitCode.USAGE
    capsys.readouterr()
    assert cli.main(["audit", "verify", "--head", "ab" * 32, "--json"]) == ExitCode.REJECTED
    assert '"rewritten"' in capsys.readouterr().out
    with engine.connect() as connection:
        for statement in (
            ("DROP TRIGGER audit_changed",) if is_sqlite(engine) else ("ALTER TABLE audit DISABLE TRIGGER ALL",)
        ):
            connection.execute(text(statement))
        connection.execute(text("UPDATE audit SET person = 'otto' WHERE position = 2"))
        connection.commit()
    assert cli.main(["audit", "verify"]) == ExitCode.REJECTED
    told = capsys.readouterr()
    assert "not whole from line 2" in told.err
    assert "changed" in told.err
    assert told.out.split() == ["lines", "that", "hold:", "1"]
