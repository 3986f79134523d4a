"""People are told of alarms once, in time, at the right hours, by mail and webhook; secrets stay out of the log."""

from __future__ import annotations

import base64
import json
import socketserver
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from energycomm import cli
from energycomm.alarm_settings import AlarmSettings
from energycomm.config import Config
from energycomm.daemon import alarming
from energycomm.daemon.alarms import ALARMS
from energycomm.daemon.watching import watch_host, watch_store
from energycomm.eis.alarm_states import Known, claim, look, settle
from energycomm.eis.channels import note, pause, sign
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.instants import micros
from energycomm.transport.settings import FolderSetting
from tests.daemon.conftest import Office
from tests.servers.authority import Authority
from tests.servers.https import HttpsTestServer, Reply, https_server

MINUTE = 60_000_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
NOON = micros(datetime(2026, 3, 10, 11, 0, tzinfo=UTC))
"""12:00 in Paris."""
NIGHT = NOON + 11 * HOUR
FAILING, LOST = ("CHANNEL_FAILING", "inbox"), ("DATABASE_LOST", "database")


LOGIN = "anna:hunter2hunter2"


class Mails(socketserver.ThreadingTCPServer):
    """A mail server that keeps what it gets.

    Attributes:
      kept: the mails, each after how it came: "plain", "starttls" or "tls", and " login" where somebody signed in.
      refuses: it refuses each mail, repeating what it was told.
      strict: it takes mails of those only who signed in over TLS.
      context: of its certificate; without one it offers no encryption.
      tls: it speaks TLS from the start.
    """

    allow_reuse_address, daemon_threads = True, True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.kept: list[str] = []
        self.refuses, self.strict, self.tls = False, False, False
        self.context: ssl.SSLContext | None = None


class _Session(socketserver.StreamRequestHandler):
    server: Mails

    def handle(self) -> None:
        self.how = "plain"
        if self.server.tls:
            self._encrypt("tls")
        self._say("220 here")
        while line := self.rfile.readline():
            word, _, rest = line.decode().strip().partition(" ")
            if word.upper() == "QUIT":
                self._say("221 bye")
                break
            getattr(self, f"_{word.lower()}", self._fine)(rest)

    def finish(self) -> None:
        super().finish()
        self.request.close()  # the one over TLS; the other is closed by the server

    def _say(self, words: str) -> None:
        self.wfile.write(f"{words}\r\n".encode())

    def _fine(self, _: str) -> None:
        self._say("250 fine")

    def _ehlo(self, _: str) -> None:
        encrypted = self.how != "plain"
        offered = (["STARTTLS"] if self.server.context and not encrypted else []) + (
            ["AUTH PLAIN"] if encrypted else []
        )
        for word in ["here", *offered]:
            self._say(f"250{' ' if word == ['here', *offered][-1] else '-'}{word}")

    def _encrypt(self, how: str) -> None:
        assert self.server.context is not None
        self.request = self.server.context.wrap_socket(self.request, server_side=True)
        self.setup()
        self.how = how

    def _starttls(self, _: str) -> None:
        self._say("220 go on")
        self._encrypt("starttls")

    def _auth(self, rest: str) -> None:
        user, password = base64.b64decode(rest.split()[1]).decode().split("\0")[1:]
        good = f"{user}:{password}" == LOGIN
        self.how += " login" if good else ""
        self._say("235 welcome" if good else f"535 no: {password}")

    def _mail(self, _: str) -> None:
        refused = self.server.refuses or (self.server.strict and "login" not in self.how)
        self._say("550 refused: hunter2hunter2" if refused else "250 fine")

    def _rcpt(self, rest: str) -> None:
        self._say("550 left the house" if "gone@" in rest else "250 fine")

    def _data(self, _: str) -> None:
        self._say("354 go on")
        text = b""
        while (line := self.rfile.readline()) != b".\r\n":
            text += line
        self.server.kept.append(f"{self.how}\n{text.decode()}")
        self._say("250 kept")


@pytest.fixture
def mails() -> Iterator[Mails]:
    with Mails() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[HttpsTestServer]:
    authority = Authority(tmp_path / "authority")
    (tmp_path / "alarms.secret").write_text("a secret of some length")
    with https_server(authority.issue("hook"), None) as server:
        yield server


STORELESS: Any = SimpleNamespace(config=Config.model_validate({"database": "sqlite:///unused.db"}))
"""An office for what needs no store."""


def told_to(office: Office, mails: Mails, hook: HttpsTestServer, folder: Path, **settings: Any) -> Config:
    ways: dict[str, Any] = {
        "email_to": ["ops@house.example"],
        "email_from": "gateway@house.example",
        "smtp_host": "127.0.0.1",
    }
    ways |= {"smtp_port": mails.server_address[1], "smtp_security": "none", "url": hook.url}
    ways |= {"secret_file": folder / "alarms.secret", "ca_file": folder / "authority" / "ca.pem"}
    return office.config.model_copy(update={"alarms": AlarmSettings.model_validate(ways | settings)})


def daemon_says(office: Office, now: int, *alarms: tuple[str, str]) -> None:
    """The sign of life of a daemon with these alarms."""
    facts = {
        "workers": [],
        "alarms": [{"alarm": code, "subject": about, "detail": "as told"} for code, about in alarms],
    }
    sign(office.store, "host:9464", now, now, facts)


def due(at: int, settings: dict[str, Any], **known: Any) -> list[str]:
    config = Config.model_validate({"database": "sqlite:///x.db", "alarms": settings})
    one = msgspec.convert({"since": NOON, "detail": ""} | known, Known)
    return [f"{key[0]}: {what}" for key, what in alarming.due(config, {FAILING: one, LOST: one}, at)]


BOTH_ON = ["CHANNEL_FAILING: on", "DATABASE_LOST: on"]
NIGHTS = {"quiet": "22:00-06:30"}


@pytest.mark.parametrize(
    ("at", "settings", "known", "expected"),
    [
        (NOON + 2 * MINUTE - 1, {}, {}, []),
        (NOON + 2 * MINUTE, {}, {}, BOTH_ON),
        (NOON + 2 * MINUTE, {"leave_out": ["CHANNEL_FAILING"]}, {}, BOTH_ON[1:]),
        (NIGHT, NIGHTS, {}, BOTH_ON[1:]),
        (NIGHT - HOUR - 1, NIGHTS, {}, BOTH_ON),
        (NIGHT + 7 * HOUR + 30 * MINUTE - 1, NIGHTS, {}, BOTH_ON[1:]),
        (NIGHT + 7 * HOUR + 30 * MINUTE, NIGHTS, {}, BOTH_ON),
        (NOON, {"quiet": "11:59-12:01"}, {"since": 0}, BOTH_ON[1:]),
        (NOON + DAY - 1, {}, {"told_at": NOON}, []),
        (NOON + DAY, {}, {"told_at": NOON}, ["CHANNEL_FAILING: goes on", "DATABASE_LOST: goes on"]),
        (NOON + HOUR, {}, {"told_at": NOON, "over": True}, ["CHANNEL_FAILING: over", "DATABASE_LOST: over"]),
        (NIGHT, NIGHTS, {"told_at": NOON, "over": True}, ["DATABASE_LOST: over"]),
    ],
)
def test_what_is_due(at: int, settings: dict[str, Any], known: dict[str, Any], expected: list[str]) -> None:
    assert due(at, settings, **known) == expected


def test_an_alarm_is_told_once_reminded_and_ended(
    office: Office, mails: Mails, hook: HttpsTestServer, tmp_path: Path
) -> None:
    config, told = told_to(office, mails, hook, tmp_path), []
    for minutes, on in (
        (0, True),
        (1, True),
        (3, True),
        (4, True),
        (24 * 60 + 3, True),
        (24 * 60 + 4, False),
        (9999, False),
    ):
        now = NOON + minutes * MINUTE
        daemon_says(office, now, *([FAILING] if on else []))
        told.append(alarming.turn(office.store, config, now))
    assert told == [0, 0, 1, 0, 1, 1, 0]
    posted = [json.loads(request.content)["alarms"] for request in hook.requests]
    assert [[one["what"] for one in alarms] for alarms in posted] == [["on"], ["goes on"], ["over"]]
    assert posted[0][0]["advice"].startswith("Run `energycomm channel check")
    assert [request.headers["EnergyComm-Signature"][:2] for request in hook.requests] == ["t="] * 3
    assert len(mails.kept) == 3
    assert "Subject: EnergyComm: CHANNEL_FAILING inbox" in mails.kept[0]
    assert "Do: Run `energycomm channel check NAME`" in mails.kept[0]
    assert office.rows("SELECT count(*) FROM alarm_state") == [(0,)]


def test_what_nobody_heard_of_is_tried_again_and_ends_in_silence(
    office: Office, mails: Mails, hook: HttpsTestServer, tmp_path: Path
) -> None:
    config = told_to(office, mails, hook, tmp_path, after_minutes=0)
    mails.refuses = True
    hook.replies.append(Reply(status=503))
    daemon_says(office, NOON, FAILING)
    with capture_logs() as lines:
        assert alarming.turn(office.store, config, NOON) == 0
    assert {line["way"] for line in lines if line["event"] == "alarm.not_told"} == {"mail", "webhook"}
    assert "hunter2" not in json.dumps(lines)
    assert alarming.turn(office.store, config, NOON + MINUTE // 4) == 1
    silent = told_to(office, mails, hook, tmp_path, after_minutes=10)
    daemon_says(office, NOON, LOST)
    alarming.turn(office.store, silent, NOON + MINUTE // 2)
    daemon_says(office, NOON)
    alarming.turn(office.store, silent, NOON + MINUTE // 2)
    codes = {alarm["code"] for one in hook.requests for alarm in json.loads(one.content)["alarms"]}
    assert codes == {"CHANNEL_FAILING"}
    assert office.rows("SELECT count(*) FROM alarm_state") == [(0,)]


def with_login(mails: Mails, folder: Path, *, expired: bool = False) -> dict[str, Any]:
    """The server has a certificate, and takes mails from those only who signed in; settings that fit."""
    authority = Authority(folder / "post")
    certificate, key = authority.issue("post", expired=expired)
    mails.context, mails.strict = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), True
    mails.context.load_cert_chain(certificate, key)
    (folder / "smtp.secret").write_text(LOGIN.partition(":")[2])
    return {
        "smtp_security": "starttls",
        "smtp_ca_file": authority.file,
        "smtp_user": "anna",
        "smtp_password_file": folder / "smtp.secret",
        "url": None,
    }


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_mail_goes_encrypted_and_signed_in(security: str, mails: Mails, hook: HttpsTestServer, tmp_path: Path) -> None:
    ways = with_login(mails, tmp_path) | {"smtp_security": security}
    mails.tls = security == "tls"
    config = told_to(STORELESS, mails, hook, tmp_path, **ways)
    one = alarming.told(LOST, "on", Known(since=NOON, detail=""))
    assert alarming.Ways(config).send([one])
    assert [mail.splitlines()[0] for mail in mails.kept] == [f"{security} login"]


WRONG_WAYS: list[tuple[dict[str, Any], str]] = [
    ({"smtp_user": "ben"}, "refuses the login: see smtp_user and the password (535)"),
    ({"smtp_ca_file": None}, "certificate is not trusted for this name: see smtp_host and smtp_ca_file"),
    ({"smtp_host": "localhost"}, "certificate is not trusted for this name: see smtp_host and smtp_ca_file"),
    ({"smtp_security": "tls"}, "no encryption could be agreed: see smtp_security and smtp_port"),
    ({"smtp_port": 9}, "cannot be reached: see smtp_host and smtp_port"),
    ({"smtp_host": "no-such-host.invalid"}, "cannot be reached: see smtp_host and smtp_port"),
    ({"smtp_user": None, "smtp_password_file": None}, "refuses email_from (550)"),
    ({"email_to": ["gone@house.example"]}, "refuses every address of email_to (550)"),
]


@pytest.mark.parametrize(("changes", "words"), WRONG_WAYS, ids=[words[:40] for _, words in WRONG_WAYS])
def test_what_is_wrong_with_the_way_is_said_and_what_to_look_at(
    changes: dict[str, Any], words: str, mails: Mails, hook: HttpsTestServer, tmp_path: Path
) -> None:
    config = told_to(STORELESS, mails, hook, tmp_path, **(with_login(mails, tmp_path) | changes))
    with capture_logs() as lines:
        assert not alarming.Ways(config).send([alarming.told(LOST, "on", Known(since=NOON, detail=""))])
    (line,) = lines
    assert (line["event"], line["way"]) == ("alarm.not_told", "mail")
    assert words in line["why"]
    assert "hunter2" not in json.dumps(lines)
    assert mails.kept == []


def test_an_expired_certificate_and_a_server_without_encryption_get_no_mail(
    mails: Mails, hook: HttpsTestServer, tmp_path: Path
) -> None:
    ways, said = with_login(mails, tmp_path, expired=True), []
    for context in (mails.context, None):
        mails.context = context
        with capture_logs() as lines:
            one = alarming.told(LOST, "on", Known(since=NOON, detail=""))
            assert not alarming.Ways(told_to(STORELESS, mails, hook, tmp_path, **ways)).send([one])
        said.append(lines[0]["why"])
    assert "certificate is not trusted" in said[0]
    assert "offers no STARTTLS" in said[1]


def test_an_address_that_is_refused_brings_the_others_no_second_mail(
    office: Office, mails: Mails, hook: HttpsTestServer, tmp_path: Path
) -> None:
    """Before, a mail that one address could not get went to all others again at every turn."""
    to = ["ops@house.example", "gone@house.example"]
    config = told_to(office, mails, hook, tmp_path, after_minutes=0, email_to=to, url=None)
    daemon_says(office, NOON, FAILING)
    with capture_logs() as lines:
        assert [alarming.turn(office.store, config, NOON + second * 1_000_000) for second in (0, 20)] == [1, 0]
    assert [(line["event"], line.get("to")) for line in lines] == [("mail.refused", "gone@house.example")]
    assert len(mails.kept) == 1


def test_what_would_keep_people_from_being_told_is_refused_before_it_is_needed(
    office: Office, mails: Mails, hook: HttpsTestServer, tmp_path: Path
) -> None:
    good = told_to(office, mails, hook, tmp_path)
    alarming.check_ways(good)
    for changes, words in (
        ({"leave_out": ["CHANEL_FAILING"]}, "CHANNEL_FAILING"),
        ({"secret_file": tmp_path / "nowhere"}, "nowhere"),
        ({"smtp_user": "a", "smtp_password_env": "NO_SUCH_VARIABLE", "smtp_security": "tls"}, "NO_SUCH_VARIABLE"),
    ):
        with pytest.raises(UserError) as refused:
            alarming.check_ways(told_to(office, mails, hook, tmp_path, **changes))
        assert words in f"{refused.value} {refused.value.advice}"


def test_one_of_many_processes_tells(office: Office) -> None:
    look(office.store, {FAILING: "x"}, NOON)
    assert [claim(office.store, FAILING, NOON + second) for second in (0, 1, 2)] == [True, False, False]
    assert claim(office.store, FAILING, NOON + 121_000_000), "whoever claimed it died"


def test_a_daemon_that_is_silent_is_missed_until_another_gives_a_sign(office: Office) -> None:
    assert alarming.current(office.store, office.config, NOON) == {}
    daemon_says(office, NOON)
    assert alarming.current(office.store, office.config, NOON + 29_000_000) == {}
    for later in (31_000_000, 40 * DAY):
        assert list(alarming.current(office.store, office.config, NOON + later)) == [("NO_DAEMON", "daemon")]
    sign(office.store, "other:9464", NOON + DAY, NOON + DAY, {"workers": [], "alarms": []})
    assert alarming.current(office.store, office.config, NOON + DAY) == {}


def test_what_still_fails_is_not_over_because_the_daemon_is_a_new_one(office: Office, tmp_path: Path) -> None:
    inbox = FolderSetting(name="inbox", market="FR", direction="in", kind="folder", path=str(tmp_path))
    config = office.config.model_copy(update={"channels": [inbox]})

    def on(minutes: int, *alarms: tuple[str, str]) -> list[tuple[str, str]]:
        now = NOON + minutes * MINUTE
        daemon_says(office, now, *alarms)
        known = look(office.store, alarming.current(office.store, config, now), now)
        for key in known:
            claim(office.store, key, now)
            settle(office.store, key, now, over=known[key].over)
        return [key for key, one in known.items() if not one.over]

    note(office.store, "inbox", "host", NOON, "the folder is not there")
    assert on(0) == [], "one attempt that failed is no alarm"
    assert on(1, FAILING) == [FAILING]
    assert on(2) == [FAILING], "the daemon was started anew, and has not tried it yet"
    note(office.store, "inbox", "host", NOON + 3 * MINUTE, None)
    assert on(3) == []
    note(office.store, "inbox", "host", NOON + 4 * MINUTE, "the folder is not there")
    assert on(4) == [], "it was over"
    assert on(5, FAILING) == [FAILING]
    pause(office.store, "inbox", "anna", "maintenance", NOON + 6 * MINUTE)
    assert on(6) == []
    other = ("CHANNEL_FAILING", "gone")
    note(office.store, "gone", "host", NOON, "the folder is not there")
    assert on(7, other) == [other]
    assert on(8) == [], "it is no channel of the configuration any more"


def test_thresholds_of_the_store(office: Office) -> None:
    pause(office.store, "inbox", "anna", "maintenance", NOON)
    settings = AlarmSettings()
    assert watch_store(office.store.engine, settings, NOON + DAY - 1) == {}
    found = watch_store(office.store.engine, settings, NOON + DAY + 1)
    assert "anna" in found["CHANNEL_PAUSED", "inbox"]
    office.gateway.inbound.archive([(BytesIO(b"<x/>"), "x.xml")], "inbox")
    ((received,),) = office.rows("SELECT received_at FROM envelope")
    assert ("BACKLOG_OLD", "envelopes") not in watch_store(office.store.engine, settings, received + HOUR)
    assert ("BACKLOG_OLD", "envelopes") in watch_store(office.store.engine, settings, received + HOUR + 1)


def test_thresholds_of_the_host(tmp_path: Path) -> None:
    certificate, key = Authority(tmp_path).issue("push")
    """It ends ten days from now."""
    push = {"certificate_file": certificate, "key_file": key}
    config = Config.model_validate(
        {"database": f"sqlite:///{tmp_path}/x.db", "push": push, "spool": str(tmp_path / "s")}
    )
    now = micros(datetime.now(UTC))
    assert list(watch_host(config, now)) == [("CERTIFICATE_ENDS", certificate.name)]
    assert " ends at " in watch_host(config, now)["CERTIFICATE_ENDS", certificate.name]
    assert " ended at " in watch_host(config, now + 11 * DAY)["CERTIFICATE_ENDS", certificate.name]
    web = Config.model_validate({"database": config.database_url, "web": push, "spool": str(tmp_path / "s")})
    assert list(watch_host(web, now)) == [("CERTIFICATE_ENDS", certificate.name)]
    patient = config.model_copy(update={"alarms": AlarmSettings(certificate_days=9, disk_percent=0)})
    assert watch_host(patient, now) == {}
    assert watch_host(patient, now + micros(datetime.fromtimestamp(0, UTC) + timedelta(days=1, minutes=1))) != {}
    full = config.model_copy(update={"alarms": AlarmSettings(certificate_days=0, disk_percent=99.999999)})
    assert {code for code, _ in watch_host(full, now)} == {"DISK_LOW"}
    inbox = {"name": "in", "market": "FR", "direction": "in", "kind": "folder", "path": "/dev/shm"}
    here = Config.model_validate(
        {"database": config.database_url, "spool": str(tmp_path), "alarms": {"disk_percent": 99.999999}}
    )
    there = Config.model_validate(
        here.model_dump(include={"spool", "alarms"}) | {"database": config.database_url, "channels": [inbox]}
    )
    assert len(watch_host(here, now)) == 1, "one alarm for one disk, though the store and the spool are on it"
    assert len(watch_host(there, now)) == len({one.stat().st_dev for one in (tmp_path, Path("/dev/shm"))})


@pytest.mark.parametrize(
    "settings",
    [
        {"email_to": ["ops@house.example"]},
        {"email_to": ["ops"], "email_from": "a@b"},
        {"email_to": ["ops@house.example\nBcc: x@y"], "email_from": "a@b"},
        {"smtp_user": "a"},
        {"smtp_user": "a", "smtp_password_env": "X", "smtp_security": "none"},
        {"url": "https://hook.example/"},
        {"quiet": "22-6"},
        {"quiet": "24:00-06:00"},
        {"quiet": "06:00-06:00"},
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"email|@|password|secret|hours|smtp"):
        AlarmSettings.model_validate(settings)


def test_every_alarm_says_what_it_is_and_what_to_do() -> None:
    for alarm in ALARMS:
        assert alarm.meaning.endswith("."), alarm.code
        assert alarm.advice.endswith((".", ").")), alarm.code


def test_the_commands(
    office: Office,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", database_url)
    daemon_says(office, NOON, FAILING)
    assert cli.main(["alarm", "list", "--json"]) == ExitCode.OK
    (alarm,) = json.loads(capsys.readouterr().out)
    assert (alarm["alarm"], "energycomm daemon" in alarm["do"]) == ("NO_DAEMON", True)
    assert cli.main(["alarm", "send"]) == ExitCode.USAGE
    assert "email_to" in capsys.readouterr().err
